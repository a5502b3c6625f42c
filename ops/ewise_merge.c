/* ewise_merge.c: the loops that merge two rows. They have no branch on what they compare, for which of two
 * rows comes next cannot be foretold. */
#include "ops/ewise_merge.h"

#define WORD    uint8_t
#define LOOP(x) x##_1
#include "ops/ewise_merge.inc"
#define WORD    uint16_t
#define LOOP(x) x##_2
#include "ops/ewise_merge.inc"
#define WORD    uint32_t
#define LOOP(x) x##_4
#include "ops/ewise_merge.inc"
#define WORD    uint64_t
#define LOOP(x) x##_8
#include "ops/ewise_merge.inc"

/* Columns alone. */
static void unite(dcsr_i_merge *merge, dcsr_i_meetings *meetings)
{
    const uint32_t *a = merge->a.columns, *b = merge->b.columns;
    uint32_t *z = merge->z.columns;
    uint64_t i = merge->i, j = merge->j, k = merge->k;
    (void)meetings;
    while (i < merge->a.n && j < merge->b.n) {
        uint32_t ca = a[i], cb = b[j];
        z[k++] = ca < cb ? ca : cb;
        i += ca <= cb;
        j += cb <= ca;
    }
    merge->i = i, merge->j = j, merge->k = k;
}

static void intersect(dcsr_i_merge *merge, dcsr_i_meetings *meetings)
{
    const uint32_t *a = merge->a.columns, *b = merge->b.columns;
    uint32_t *z = merge->z.columns;
    uint64_t i = merge->i, j = merge->j, k = merge->k;
    (void)meetings;
    while (i < merge->a.n && j < merge->b.n) {
        uint32_t ca = a[i], cb = b[j];
        z[k] = ca;
        k += ca == cb;
        i += ca <= cb;
        j += cb <= ca;
    }
    merge->i = i, merge->j = j, merge->k = k;
}

static dcsr_i_merge_loop *by_size(dcsr_i_merge_loop *const loops[5], size_t size)
{
    return loops[size == 8 ? 4 : size == 4 ? 3 : size];
}

dcsr_i_merge_loop *dcsr_i_union_loop(size_t size)
{
    static dcsr_i_merge_loop *const loops[5] = {unite, unite_1, unite_2, unite_4, unite_8};
    return by_size(loops, size);
}

dcsr_i_merge_loop *dcsr_i_intersection_loop(size_t size)
{
    static dcsr_i_merge_loop *const loops[5] = {intersect, intersect_1, intersect_2, intersect_4,
                                                intersect_8};
    return by_size(loops, size);
}

/* ewise_merge.c: the loops that merge two rows. They have no branch on what they compare, for which of two
 * rows comes next cannot be foretold. */
#include "ops/matrix/ewise_merge.h"

#define WORD    uint8_t
#define LOOP(x) x##_1
#include "ops/matrix/ewise_merge.inc"
#define WORD    uint16_t
#define LOOP(x) x##_2
#include "ops/matrix/ewise_merge.inc"
#define WORD    uint32_t
#define LOOP(x) x##_4
#include "ops/matrix/ewise_merge.inc"
#define WORD    uint64_t
#define LOOP(x) x##_8
#include "ops/matrix/ewise_merge.inc"

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

static void replace(dcsr_i_merge *merge, const uint64_t *bits)
{
    const uint32_t *a = merge->a.columns, *b = merge->b.columns;
    uint32_t *z = merge->z.columns;
    uint64_t i = merge->i, j = merge->j, k = merge->k;
    while (i < merge->a.n) {
        uint32_t ca = a[i], cb = j < merge->b.n ? b[j] : UINT32_MAX;
        bool from_b = cb <= ca;
        z[k] = from_b ? cb : ca;
        k += from_b | !(bits[ca / 64] >> ca % 64 & 1);
        i += ca <= cb;
        j += from_b;
    }
    merge->i = i, merge->j = j, merge->k = k;
}

static dcsr_i_merge_loop *by_size(dcsr_i_merge_loop *const loops[5], size_t size)
{
    return loops[size == 8 ? 4 : size == 4 ? 3 : size];
}

static dcsr_i_merge_loop *union_loop(size_t size)
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

static dcsr_i_merge_loop *overlay_loop(size_t size)
{
    static dcsr_i_merge_loop *const loops[5] = {unite, overlay_1, overlay_2, overlay_4, overlay_8};
    return by_size(loops, size);
}

/* ---- Whole rows ---- */

/* Applies the operator to the meetings; the results are scattered. */
bool dcsr_i_combine_union(dcsr_i_meetings *m, const dcsr_binary_op *op, size_t size, void *values)
{
    char *z = values;
    if (!m->n) return true;
    if (!dcsr_i_apply_binary(op, m->x, m->x, m->y, m->n)) return false;
    if (size == sizeof(uint64_t))
        for (size_t c = 0; c < m->n; c++) ((uint64_t *)z)[m->at[c]] = ((const uint64_t *)m->x)[c];
    else
        for (size_t c = 0; c < m->n; c++) memcpy(z + m->at[c] * size, m->x + c * size, size);
    m->n = 0;
    return true;
}

/* What is left of a row when the other has ended. */
static void append(dcsr_i_merge *merge, const dcsr_i_row *row, uint64_t from, size_t size)
{
    uint64_t n = row->n - from;
    if (!n) return;
    memcpy(merge->z.columns + merge->k, row->columns + from, n * sizeof *row->columns);
    if (size)
        memcpy((char *)merge->z.values + merge->k * size, (const char *)row->values + from * size, n * size);
    merge->k += n;
}

bool dcsr_i_unite_rows(dcsr_i_merge *merge, dcsr_i_meetings *m, const dcsr_binary_op *op, size_t size)
{
    dcsr_i_merge_loop *loop = union_loop(size);
    merge->i = merge->j = 0;
    while (merge->i < merge->a.n && merge->j < merge->b.n) {
        loop(merge, m);
        if (size && m->n == DCSR_I_MEETINGS && !dcsr_i_combine_union(m, op, size, merge->z.values))
            return false;
    }
    append(merge, &merge->a, merge->i, size);
    append(merge, &merge->b, merge->j, size);
    return true;
}

void dcsr_i_overlay_rows(dcsr_i_merge *merge, size_t size)
{
    merge->i = merge->j = 0;
    overlay_loop(size)(merge, NULL);
    append(merge, &merge->a, merge->i, size);
    append(merge, &merge->b, merge->j, size);
}

void dcsr_i_replace_rows(dcsr_i_merge *merge, const uint64_t *bits, size_t size)
{
    static void (*const loops[5])(dcsr_i_merge *, const uint64_t *) = {replace, replace_1, replace_2,
                                                                       replace_4, replace_8};
    merge->i = merge->j = 0;
    loops[size == 8 ? 4 : size == 4 ? 3 : size](merge, bits);
    append(merge, &merge->b, merge->j, size);
}

/* borders.c: where matrices and vectors are cut. */
#include "multi/multi_view.h"

dcsr_i_borders *dcsr_i_borders_create(uint64_t parts)
{
    dcsr_i_borders *created = dcsr_i_calloc(NULL, DCSR_I_MATRIX, 1, sizeof *created);
    if (!created) return NULL;
    atomic_init(&created->references, 1);
    created->parts = parts;
    return created;
}

dcsr_i_borders *dcsr_i_borders_even(uint64_t parts, uint64_t n)
{
    dcsr_i_borders *created = dcsr_i_borders_create(parts);
    for (uint64_t k = 0; created && k <= parts; k++)
        created->begin[k] = n * k / parts; /* n is 2^32 at most */
    return created;
}

/* The k-th border is at the row before which as near to k shares of the entries are as may be: two bisections in the
 * offsets, which ascend. */
dcsr_i_borders *dcsr_i_borders_by_entries(uint64_t parts, uint64_t rows, const uint64_t *offsets)
{
    dcsr_i_borders *created = dcsr_i_borders_create(parts);
    if (!created) return NULL;
    const uint64_t nnz = rows ? offsets[rows] : 0;
    for (uint64_t k = 1; k < parts; k++) {
        const uint64_t wanted = nnz / parts * k + nnz % parts * k / parts;
        uint64_t low = created->begin[k - 1], high = rows;
        while (low < high) { /* the first row before which there are so many */
            const uint64_t middle = low + (high - low) / 2;
            if (offsets[middle] < wanted)
                low = middle + 1;
            else
                high = middle;
        }
        const bool before = low > created->begin[k - 1] && wanted - offsets[low - 1] < offsets[low] - wanted;
        created->begin[k] = low - before;
    }
    created->begin[parts] = rows;
    return created;
}

dcsr_i_borders *dcsr_i_borders_hold(dcsr_i_borders *borders)
{
    atomic_fetch_add(&borders->references, 1);
    return borders;
}

void dcsr_i_borders_release(dcsr_i_borders *borders)
{
    if (borders && dcsr_i_give_up(&borders->references))
        dcsr_i_free(NULL, DCSR_I_MATRIX, borders, 1, sizeof *borders);
}

bool dcsr_i_borders_equal(const dcsr_i_borders *a, const dcsr_i_borders *b)
{
    if (a->parts != b->parts) return false;
    for (uint64_t k = 0; k <= a->parts; k++)
        if (a->begin[k] != b->begin[k]) return false;
    return true;
}

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

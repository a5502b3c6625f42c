/* assign_region.c: looking for indices in the lists of an assignment. */
#include "ops/matrix/assign_region.h"
#include "dcsr/base/search.h"

bool dcsr_i_index_list_is_range(const dcsr_i_index_list *list)
{
    return !list->indices || !list->n || list->indices[list->n - 1] - list->indices[0] == list->n - 1;
}

/* Whether a bit of the words is set from `first` to end - 1. */
static bool any_bit(const uint64_t *bits, uint64_t first, uint64_t end)
{
    uint64_t last = end - 1, from = UINT64_MAX << first % 64, to = UINT64_MAX >> (63 - last % 64);
    for (uint64_t w = first / 64; w < last / 64; w++, from = UINT64_MAX)
        if (bits[w] & from) return true;
    return bits[last / 64] & from & to;
}

bool dcsr_i_index_list_meets(const dcsr_i_index_list *list, uint64_t first, uint64_t end)
{
    uint64_t n = list->n;
    if (!list->indices) return true;
    if (list->bits) return any_bit(list->bits, first, end < list->size ? end : list->size);
    if (n && dcsr_i_index_list_is_range(list)) return first <= list->indices[n - 1] && end > list->indices[0];
    uint64_t at = dcsr_i_list_find(list->indices, 0, n, first);
    return at < n && list->indices[at] < end;
}

uint64_t dcsr_i_region_rows(const dcsr_i_region *region, uint64_t first, unsigned count)
{
    const dcsr_i_index_list *list = region ? &region->rows : NULL;
    uint64_t bits = 0, end = first + count;
    if (!list || !list->indices) return UINT64_MAX >> (64 - count);
    if (list->bits) return list->bits[first / 64] & UINT64_MAX >> (64 - count);
    for (uint64_t at = dcsr_i_list_find(list->indices, 0, list->n, first);
         at < list->n && list->indices[at] < end; at++)
        bits |= (uint64_t)1 << (list->indices[at] - first);
    return bits;
}

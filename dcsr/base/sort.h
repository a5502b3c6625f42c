/* sort.h: stable sorting of entries by some bits of their keys (internal). */
#ifndef DCSR_SORT_H
#define DCSR_SORT_H

#include <stdint.h>

/* Sorts n entries of `stride` words (1 or 2) by the bits [low, low + bits) of their first word, stably;
 * `spare` has the same size. Returns which of the two arrays holds the result. */
uint64_t *dcsr_i_sort(uint64_t *entries, uint64_t *spare, uint64_t n, int stride, int low, int bits,
                      int threads);

/* Bits that numbers below `count` take. */
static inline int dcsr_i_bits_for(uint64_t count)
{
    return count > 1 ? 64 - __builtin_clzll(count - 1) : 0;
}

#endif

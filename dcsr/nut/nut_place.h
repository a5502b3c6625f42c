/* nut_place.h: which element of a tile its items become (internal; for C and for kernels).
 *
 * Items are what is dealt out to the lanes: markers of rows and entries, in their order. Of n items a lane gets n /
 * lanes, the first n % lanes of them one more, below its head. */
#ifndef DCSR_NUT_PLACE_H
#define DCSR_NUT_PLACE_H

#include "dcsr/base/search.h"
#include <stdbool.h>

/* The element that item i of n becomes; `first` says whether it is the first of its lane, whose head is element %
 * lanes. */
static inline DCSR_CUDA_BOTH_SIDES uint64_t dcsr_i_nut_place(uint64_t lanes, uint64_t n, uint64_t i,
                                                             bool *first)
{
    const uint64_t height = n / lanes, higher = n % lanes, low = higher * (height + 1);
    const uint64_t lane = i < low ? i / (height + 1) : higher + (i - low) / height,
                   row = i < low ? i % (height + 1) : (i - low) % height;
    *first = !row;
    return (row + 1) * lanes + lane;
}

#endif

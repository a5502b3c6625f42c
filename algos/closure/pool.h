/* pool.h: many small arrays of uint32_t that double in size (internal).
 *
 * Rooms are of 2^k numbers, cut from large blocks; what is given back is kept in a list for each k. All of them
 * go with the memory of the call. */
#ifndef DCSR_CLOSURE_POOL_H
#define DCSR_CLOSURE_POOL_H

#include "algos/closure/work.h"

enum { DCSR_I_POOL_CLASSES = 40 };

typedef struct dcsr_i_words {
    dcsr_i_work *work;
    uint32_t *next; /* of the last block, what is left */
    uint64_t left;
    void *freed[DCSR_I_POOL_CLASSES]; /* rooms by k, each holds the next */
} dcsr_i_words;

/* Room for 2^k numbers, k at least 2, with any contents; NULL on failure. */
uint32_t *dcsr_i_words_take(dcsr_i_words *pool, int k);
void dcsr_i_words_give(dcsr_i_words *pool, uint32_t *words, int k);

#endif

/* reduce_block.h: adding up values with a monoid (internal).
 *
 * Arrays are added to one another, value by value, by the block loop of the monoid's operator, which the
 * compiler has made vector code of; so there is no code per type or monoid. */
#ifndef DCSR_REDUCE_BLOCK_H
#define DCSR_REDUCE_BLOCK_H

#include "ops/rows/row_block.h"

enum { DCSR_I_LANES = DCSR_I_VALUES_AT_ONCE };

/* A sum in the making: lane k has the sum of values k, k + DCSR_I_LANES, ... */
typedef struct dcsr_i_sum {
    _Alignas(64) char lanes[DCSR_I_LANES * sizeof(dcsr_i_scalar)];
    size_t used; /* lanes that have a value */
} dcsr_i_sum;

/* Adds n values of the monoid's type, DCSR_I_LANES at most. False: a user's function said so. */
bool dcsr_i_sum_add(dcsr_i_sum *sum, const dcsr_monoid *monoid, const void *values, size_t n);
/* The sum of all that was added to *total; one value at least was. The lanes are used up. */
bool dcsr_i_sum_total(dcsr_i_sum *sum, const dcsr_monoid *monoid, void *total);
/* The sum of n values of `type`, one at least, which are cast to the monoid's. */
bool dcsr_i_sum_of(const dcsr_monoid *monoid, dcsr_type type, const void *values, uint64_t n, void *total);
/* The sum of n ones, n > 0: by doubling. */
bool dcsr_i_sum_of_ones(const dcsr_monoid *monoid, uint64_t n, void *total);

/* The same for the usual monoids, without calls: of n > 0 values to *total; of each of the rows that `rows`
 * has bits for, length[r] > 0 values from begin[r] on to totals[r]; and each of n values to the sum of its
 * column, or as that where none is present yet. NULL for other monoids. */
typedef struct dcsr_i_sum_loops {
    void (*row)(void *total, const void *values, uint64_t n);
    void (*rows)(void *totals, const void *values, const uint64_t *begin, const uint32_t *length,
                 uint64_t rows);
    void (*scatter)(void *sums, uint8_t *present, const uint32_t *columns, const void *values, uint64_t n);
} dcsr_i_sum_loops;
const dcsr_i_sum_loops *dcsr_i_sum_loops_of(const dcsr_monoid *monoid);

#endif

/* spmv_internal.h: dcsr_spmv()'s kernels for other operations (internal). */
#ifndef DCSR_SPMV_INTERNAL_H
#define DCSR_SPMV_INTERNAL_H

#include "dcsr/store/rowtable.h"

/* y = A x as dcsr_spmv(), for rows in host memory. present[i / 64] gets bit i % 64 set where row i has
 * entries; it may be NULL. Returns how many rows have (0 without `present`). */
uint64_t dcsr_i_spmv_rows(void *y, uint64_t *present, const dcsr_i_rows *rows, const void *x, int threads);
/* A bit for each row of a block of 64 that has entries. */
uint64_t dcsr_i_rows_in_use(const dcsr_i_rows *rows, uint64_t block);

#endif

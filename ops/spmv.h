/* spmv.h: sparse matrix times dense vector.
 *
 *      y = A x         y[i] = sum over the entries (i, j, a) of A of a * x[j]
 */
#ifndef DCSR_SPMV_H
#define DCSR_SPMV_H

#include "dcsr/view.h"

#ifdef __cplusplus
extern "C" {
#endif

/* y = A x over the ordinary plus and times, for a view of any layout: segments are walked in place.
 *
 * x has cols, y rows elements; they may not overlap, and may be NULL where they have none. Their type is that
 * of the matrix; fp64 for a pattern-only matrix, each of whose entries counts as 1; for bool, plus is "or"
 * and times is "and"; integers wrap around. An entry that stands more than once in the view counts as often
 * as it stands.
 *
 * Parallel over rows; any number of threads may use one view. Each y[i] is summed by one thread in a pattern
 * of partial sums that depends on the order in which the entries of the row are stored and on nothing else:
 * the same bits for any number of threads, and before and after a defragmentation that only moves entries.
 *
 * Errors: INVALID_ARGUMENT (NULL), CONTEXT_DESTROYED; y is then as it was. Takes no memory. Moves nnz x (4 +
 * value) bytes, the row table, x and y once each at best. */
DCSR_API dcsr_status dcsr_spmv(void *y, dcsr_view *A, const void *x);

#ifdef __cplusplus
}
#endif
#endif

/* reduce.h: summing the entries of a matrix with a monoid, and counting those of some rows.
 *
 *      to a scalar     total = sum of all entries          or, with accum, accum(total, that)
 *      to a vector     w<mask> = accum(w, T)               T[i] = sum of row i of A, none if that is empty;
 *                                                          with desc->transpose_a, of column i
 *
 * Values are cast to the monoid's type; the entries of a pattern-only matrix are 1. The order of additions is
 * not that of the entries, but it is always the same for the same number of threads; except for sums of rows
 * or columns on a device, which agree only up to rounding.
 *
 * A matrix on a device is summed there, unless the descriptor asks for the host, or an operator is a user's.
 *
 * Errors: INVALID_ARGUMENT (an argument is NULL, or of another context), DIMENSION_MISMATCH, OUT_OF_MEMORY,
 * CALLBACK (a user's monoid returned false), CONTEXT_DESTROYED, DEVICE; the output is then as it was. Cost:
 * O(nnz(A)), shared among threads; for columns also O(cols), unless there are far more columns than entries.
 * On a device up to 40 bytes of memory per entry; none for the sum of all entries if the rows are contiguous.
 * Threads: any number may use one view. */
#ifndef DCSR_REDUCE_H
#define DCSR_REDUCE_H

#include <dcsr/desc.h>

#ifdef __cplusplus
extern "C" {
#endif

/* *total is of the monoid's type; the sum of no entries is the identity. */
DCSR_API dcsr_status dcsr_matrix_reduce(void *total, const dcsr_binary_op *accum, const dcsr_monoid *monoid,
                                        dcsr_view *A);
DCSR_API dcsr_status dcsr_matrix_reduce_rows(dcsr_vector *w, const dcsr_vector *mask,
                                             const dcsr_binary_op *accum, const dcsr_monoid *monoid,
                                             dcsr_view *A, const dcsr_desc *desc);

/* *entries becomes how many entries A has in the rows at which the vector has an element: as the view shows
 * them, so that each duplicate counts. No entry is read. `rows` has as many elements as A has rows.
 * Cost: O(elements of the vector), of a dense one also size / 64; O(1) if it has all. */
DCSR_API dcsr_status dcsr_view_count(dcsr_view *A, const dcsr_vector *rows, uint64_t *entries);

#ifdef __cplusplus
}
#endif
#endif

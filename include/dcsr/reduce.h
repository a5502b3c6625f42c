/* reduce.h: the entries of a matrix added up with a monoid.
 *
 *      to a scalar     total = sum of all entries          or, with accum, accum(total, that)
 *      to a vector     w<mask> = accum(w, T)               T[i] = sum of row i of A, none where it has no
 * entries; with desc->transpose_a, of column i
 *
 * Values are cast to the monoid's type; the entries of a pattern-only matrix are 1. The order of additions is
 * not that of the entries, but for one number of threads it is always the same; of sums that a device makes
 * of rows or columns not even that, so they agree up to rounding.
 *
 * A matrix on a device is added up there, unless the description wants the host, or an operator is a user's.
 *
 * Errors: INVALID_ARGUMENT (an argument is NULL, or of another context), DIMENSION_MISMATCH, OUT_OF_MEMORY,
 * CALLBACK (a user's monoid returned false), CONTEXT_DESTROYED, DEVICE; the output is then as it was. Cost:
 * O(nnz(A)), shared out among threads; of columns O(cols) besides, unless they are far more than entries. On
 * a device up to 40 bytes of memory an entry; of the sum of all none where rows lie one behind the other. */
#ifndef DCSR_REDUCE_H
#define DCSR_REDUCE_H

#include <dcsr/desc.h>

#ifdef __cplusplus
extern "C" {
#endif

/* *total is of the monoid's type; without entries the sum is the identity. */
DCSR_API dcsr_status dcsr_matrix_reduce(void *total, const dcsr_binary_op *accum, const dcsr_monoid *monoid,
                                        dcsr_view *A);
DCSR_API dcsr_status dcsr_matrix_reduce_rows(dcsr_vector *w, const dcsr_vector *mask,
                                             const dcsr_binary_op *accum, const dcsr_monoid *monoid,
                                             dcsr_view *A, const dcsr_desc *desc);

#ifdef __cplusplus
}
#endif
#endif

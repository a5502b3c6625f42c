/* mxm.h: sparse matrix times sparse matrix, over any semiring.
 *
 *      C<mask> = accum(C, A B)         (A B)[i][j] = sum over k of A[i][k] * B[k][j], where both have an
 * entry
 */
#ifndef DCSR_MXM_H
#define DCSR_MXM_H

#include <dcsr/desc.h>

#ifdef __cplusplus
extern "C" {
#endif

/* C<mask> = accum(C, A B), with A^T for A where desc->transpose_a, and B^T for B where desc->transpose_b says
 * so.
 *
 * Values of A and B are cast to the types of the multiplication's operands, its result to that of C; a
 * pattern-only C gets the pattern of the product, and no value is computed. What stands more than once in a
 * view is combined before, by its matrix's policy (DCSR_POLICY_KEEP: summed). The result has an entry
 * wherever there is a product, be its value what it may.
 *
 * Order of sums: on the host products are added in the order of the columns of A; the result is the same for
 * any number of threads, as each row is computed by one. On a device the order is not fixed, so that sums of
 * floating-point numbers agree up to rounding.
 *
 * Where: of matrices on a device, there, unless the description wants the host or an operator is a user's;
 * then they are brought to the host.
 *
 * C may be the matrix of A, of B or of the mask. The call returns when the result is published, as one
 * version of C, after what was queued on C before.
 *
 * A mask that is not complemented saves work: products that it does not let through are not computed; on a
 * device they are looked up in it.
 *
 * Errors: INVALID_ARGUMENT (NULL, objects of different contexts), DIMENSION_MISMATCH (the message names both
 * shapes), OUT_OF_MEMORY, CALLBACK, CONTEXT_DESTROYED, DEVICE; C is then as it was.
 *
 * Cost on the host: O(products + entries of A and of the result), log(products) of a row more where they are
 * few and far between; what sorting or transposing an input costs where its view has not been sorted or
 * transposed yet. Memory: the result, with room for a row's products while it is computed; and for each
 * thread one value for each column between the first and the last of a row. Rows are computed after Gustavson
 * (1978): each is the sum of rows of B.
 *
 * Cost on a device: products are written down, sorted, and added up where they meet, in portions of rows with
 * some 2^26 products, or those of one row if that has more: O(products). Memory: up to 40 bytes for each of a
 * portion's products that the mask lets through; and as lists, 8 bytes and a value an entry, A, twice, the
 * mask's places, and twice what C holds and gets. */
DCSR_API dcsr_status dcsr_mxm(dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum,
                              const dcsr_semiring *semiring, dcsr_view *A, dcsr_view *B,
                              const dcsr_desc *desc);

#ifdef __cplusplus
}
#endif
#endif

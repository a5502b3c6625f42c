/* mxm.h: sparse matrix times sparse matrix, over any semiring.
 *
 *      C<mask> = accum(C, A B)     (A B)[i][j] = sum of A[i][k] * B[k][j] over all k where both have entries
 */
#ifndef DCSR_MXM_H
#define DCSR_MXM_H

#include <dcsr/desc.h>

#ifdef __cplusplus
extern "C" {
#endif

/* C<mask> = accum(C, A B), with A^T for A if desc->transpose_a, and B^T for B if desc->transpose_b is set.
 *
 * Values of A and B are cast to the types of the multiplication's operands, its result to that of C; a
 * pattern-only C gets the pattern of the product, and no value is computed. Duplicates in a view are combined
 * first, by its matrix's policy (DCSR_POLICY_KEEP: summed). The result has an entry wherever there is a
 * product, even if its value is 0.
 *
 * Order of sums: on the host products are added in the order of the columns of A; the result is the same for
 * any number of threads, as each row is computed by one. On a device the order is not fixed, so sums of
 * floating-point numbers agree only up to rounding.
 *
 * Where it runs: if the matrices are on a device, there, unless the descriptor asks for the host or an
 * operator is a user's; the matrices are then copied to the host.
 *
 * C may be the matrix of A, of B or of the mask. The call returns when the result is published, as one
 * version of C, after the changes queued on C before. Any number of threads may use one view.
 *
 * A mask that is not complemented saves work: products that it excludes are not computed; on a device each
 * product is looked up in it.
 *
 * Errors: INVALID_ARGUMENT (NULL, objects of different contexts), DIMENSION_MISMATCH (the message names both
 * shapes), OUT_OF_MEMORY, CALLBACK, CONTEXT_DESTROYED, DEVICE; C is then as it was.
 *
 * Cost on the host: O(products + entries of A and of the result), for rows with few products far apart times
 * log(products of the row); and what sorting or transposing an input costs if its view has not been sorted or
 * transposed yet. Memory: the result, with room for a row's products while it is computed; and for each
 * thread one value for each column between the first and the last of a row. Rows are computed after Gustavson
 * (1978): each is a sum of rows of B.
 *
 * Cost on a device: O(products). They are expanded, sorted and summed, in portions of rows with some 2^26
 * products, or of one row if that has more. Memory: up to 40 bytes for each of a portion's products that the
 * mask lets through; and, as lists of 8 bytes and a value per entry, A twice, the mask's positions, and twice
 * what C holds and what it gets. */
DCSR_API dcsr_status dcsr_mxm(dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum,
                              const dcsr_semiring *semiring, dcsr_view *A, dcsr_view *B,
                              const dcsr_desc *desc);

#ifdef __cplusplus
}
#endif
#endif

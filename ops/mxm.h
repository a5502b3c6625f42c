/* mxm.h: sparse matrix times sparse matrix, over any semiring.
 *
 *      C<mask> = accum(C, A B)         (A B)[i][j] = sum over k of A[i][k] * B[k][j], where both have an
 * entry
 */
#ifndef DCSR_MXM_H
#define DCSR_MXM_H

#include "ops/desc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* C<mask> = accum(C, A B), with A^T for A where desc->transpose_a, and B^T for B where desc->transpose_b says
 * so.
 *
 * Values of A and B are cast to the types of the multiplication's operands, its result to that of C; a
 * pattern-only C gets the pattern of the product, and no value is computed. What stands more than once in a
 * view is combined before, by its matrix's policy (DCSR_POLICY_KEEP: summed). The order in which products are
 * added is that of the columns of A; the sum begins with the identity. The result has an entry wherever there
 * is a product, be its value what it may.
 *
 * C may be the matrix of A, of B or of the mask. The call returns when the result is published, as one
 * version of C, after what was queued on C before. Each row is computed by one thread; the result is the same
 * for any number of them.
 *
 * A mask that is not complemented saves work: only products that it lets through are computed.
 *
 * Errors: INVALID_ARGUMENT (NULL, objects of different contexts), DIMENSION_MISMATCH (the message names both
 * shapes), OUT_OF_MEMORY, CALLBACK, CONTEXT_DESTROYED; C is then as it was.
 *
 * Cost: O(products + entries of A and of the result), log(products) of a row more where they are few and far
 * between; what sorting or transposing an input costs where its view has not been sorted or transposed yet.
 * Memory: the result, with room for a row's products while it is computed; and for each thread one value for
 * each column between the first and the last of a row. Rows are computed after Gustavson (1978): each is the
 * sum of rows of B. */
DCSR_API dcsr_status dcsr_mxm(dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum,
                              const dcsr_semiring *semiring, dcsr_view *A, dcsr_view *B,
                              const dcsr_desc *desc);

#ifdef __cplusplus
}
#endif
#endif

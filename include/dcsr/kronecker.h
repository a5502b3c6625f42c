/* kronecker.h: the Kronecker product.
 *
 *      C<mask> = accum(C, T)     T[i m + k, j n + l] = op(A[i,j], B[k,l]), where B is m x n
 *
 * C is (rows of A) m x (columns of A) n. dcsr/desc.h says what mask and accum do; desc->transpose_a and
 * transpose_b take transposes. If C is pattern-only the operator is not applied.
 *
 * Errors and threads as in dcsr/apply.h; TOO_LARGE if the product has more rows or columns than a matrix can
 * have. Cost: O(nnz(A) nnz(B)). */
#ifndef DCSR_KRONECKER_H
#define DCSR_KRONECKER_H

#include <dcsr/desc.h>

#ifdef __cplusplus
extern "C" {
#endif

DCSR_API dcsr_status dcsr_kronecker(dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum,
                                    const dcsr_binary_op *op, dcsr_view *A, dcsr_view *B,
                                    const dcsr_desc *desc);

#ifdef __cplusplus
}
#endif
#endif

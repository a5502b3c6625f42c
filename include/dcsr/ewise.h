/* ewise.h: two matrices, entry by entry.
 *
 *      add     C<mask> = accum(C, A + B)     where both have an entry op(A[i,j], B[i,j]); where one has, that
 * one mult    C<mask> = accum(C, A * B)     op(A[i,j], B[i,j]) where both have an entry; elsewhere none
 *
 * "+" and "*" are any binary operator: they say at which places there is a result (desc.h: mask, accum). In a
 * sum an entry that stands alone is cast to the operator's result, without applying it.
 *
 * Where C stores a pattern alone the operator is not applied.
 *
 * The function waits for what is queued on C, and returns when C has its new version (ops are described by
 * what they do to C as a whole: changes that others queue meanwhile come after).
 * Errors: INVALID_ARGUMENT (an argument is NULL, or of another context than C), DIMENSION_MISMATCH,
 * OUT_OF_MEMORY, CALLBACK (a user's operator returned false), CONTEXT_DESTROYED; C is then as it was.
 * Cost: O(nnz(A) + nnz(B)), and nnz(C) with accum or a mask; rows are shared out among threads.
 * Views whose columns do not ascend are sorted first, once per view; so is a transposed one transposed. */
#ifndef DCSR_EWISE_H
#define DCSR_EWISE_H

#include <dcsr/desc.h>

#ifdef __cplusplus
extern "C" {
#endif

DCSR_API dcsr_status dcsr_matrix_ewise_add(dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum,
                                           const dcsr_binary_op *op, dcsr_view *A, dcsr_view *B,
                                           const dcsr_desc *desc);
DCSR_API dcsr_status dcsr_matrix_ewise_mult(dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum,
                                            const dcsr_binary_op *op, dcsr_view *A, dcsr_view *B,
                                            const dcsr_desc *desc);

#ifdef __cplusplus
}
#endif
#endif

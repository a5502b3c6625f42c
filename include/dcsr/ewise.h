/* ewise.h: two matrices, entry by entry.
 *
 *      add     C<mask> = accum(C, A + B)     op(A[i,j], B[i,j]) where both have an entry; else that of one
 *      mult    C<mask> = accum(C, A * B)     op(A[i,j], B[i,j]) where both have an entry; else none
 *
 * "+" and "*" stand for any binary operator: they tell which positions have a result (for mask and accum see
 * dcsr/desc.h). In a sum, an entry that only one matrix has is cast to the type of the operator's result,
 * without applying the operator.
 *
 * If C is pattern-only the operator is not applied.
 *
 * The call waits for what is queued on C, and returns when C has its new version; changes that others queue
 * meanwhile come after it.
 * Errors: INVALID_ARGUMENT (an argument is NULL, or of another context than C's), DIMENSION_MISMATCH,
 * OUT_OF_MEMORY, CALLBACK (a user's operator returned false), CONTEXT_DESTROYED; C is then as it was.
 * Cost: O(nnz(A) + nnz(B)), and O(nnz(C)) with accum or a mask; rows are shared among threads.
 * A view whose columns do not ascend is first sorted, and one to be transposed is transposed, once per
 * view. */
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

/* apply.h: an operator on every entry of a matrix.
 *
 *      apply           C<mask> = accum(C, f(A))            z = op(a)
 *      apply_first     C<mask> = accum(C, f(x, A))         z = op(x, a); *x is of op's first type
 *      apply_second    C<mask> = accum(C, f(A, y))         z = op(a, y); *y is of op's second type
 *      apply_index     C<mask> = accum(C, f(A, i, j, t))   z = op(a, row, column, t); *thunk is of op's
 *
 * dcsr/desc.h says what mask and accum do; desc->transpose_a takes A's transpose. If C is pattern-only the
 * operator is not applied.
 *
 * Errors: INVALID_ARGUMENT (an argument is NULL, or of another context than C's), DIMENSION_MISMATCH,
 * OUT_OF_MEMORY, CALLBACK (a user's operator returned false), CONTEXT_DESTROYED, DEVICE; C is then as it was.
 * Threads: any number may use one view; the call waits for what is queued on C. Cost: O(nnz(A)), and with accum or a
 * mask the entries of C's rows that can change, or of all where more than half can; shared among threads.
 *
 * In a cuda context this runs on the device, like the other operations whose result is a matrix, unless the
 * descriptor asks for the host (dcsr_desc.device) or an operator is a user's. All of C is then rewritten. */
#ifndef DCSR_APPLY_H
#define DCSR_APPLY_H

#include <dcsr/desc.h>

#ifdef __cplusplus
extern "C" {
#endif

DCSR_API dcsr_status dcsr_matrix_apply(dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum,
                                       const dcsr_unary_op *op, dcsr_view *A, const dcsr_desc *desc);
DCSR_API dcsr_status dcsr_matrix_apply_first(dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum,
                                             const dcsr_binary_op *op, const void *x, dcsr_view *A,
                                             const dcsr_desc *desc);
DCSR_API dcsr_status dcsr_matrix_apply_second(dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum,
                                              const dcsr_binary_op *op, dcsr_view *A, const void *y,
                                              const dcsr_desc *desc);
DCSR_API dcsr_status dcsr_matrix_apply_index(dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum,
                                             const dcsr_index_op *op, dcsr_view *A, const void *thunk,
                                             const dcsr_desc *desc);

#ifdef __cplusplus
}
#endif
#endif

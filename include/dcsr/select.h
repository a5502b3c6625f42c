/* select.h: the entries of a matrix for which an operator is true.
 *
 *      C<mask> = accum(C, T)     T[i,j] = A[i,j] where op(A[i,j], i, j, t) is true, else no entry
 *
 * *thunk is of the operator's thunk type. dcsr/desc.h says what mask and accum do; desc->transpose_a takes
 * A's transpose. Values are those of A, cast to C's type.
 *
 * Errors and threads as in dcsr/apply.h. Cost: O(nnz(A)), and O(nnz(C)) with accum or a mask. When selecting
 * by position (tril, triu, diag, row_le, col_le, ...) only the ends of what stays of each row are searched
 * for, and what stays is copied; on a device every entry is tested. */
#ifndef DCSR_SELECT_H
#define DCSR_SELECT_H

#include <dcsr/desc.h>

#ifdef __cplusplus
extern "C" {
#endif

DCSR_API dcsr_status dcsr_matrix_select(dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum,
                                        const dcsr_index_op *op, dcsr_view *A, const void *thunk,
                                        const dcsr_desc *desc);

#ifdef __cplusplus
}
#endif
#endif

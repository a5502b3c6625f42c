/* select.h: the entries of a matrix that an operator is true for.
 *
 *      C<mask> = accum(C, T)     T[i,j] = A[i,j] where op(A[i,j], i, j, t) is true, else no entry
 *
 * *thunk is of the operator's thunk type. desc.h says what mask and accum do; desc->transpose_a takes A's
 * transpose. Values are those of A, cast to C's type.
 *
 * Errors and threads as in apply.h. Cost: O(nnz(A)), and nnz(C) with accum or a mask. By position
 * (tril, triu, diag, row_le, col_le, ...) only the ends of each row are looked for, and what stays is copied;
 * on a device every entry is looked at. */
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

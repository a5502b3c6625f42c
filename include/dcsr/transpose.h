/* transpose.h: the transpose of a matrix.
 *
 *      C<mask> = accum(C, A^T)          with desc->transpose_a: A itself, that is a copy
 *
 * Errors and threads as in apply.h. Cost: O(nnz + cols): two passes over the entries, the first into buckets
 * of neighbouring columns; or where columns are far more than entries, O(nnz): these are sorted. Where A's
 * view has its transpose already (DCSR_LAYOUT_CSC, or a matrix that maintains it) that is copied; on a device
 * it is made for the view where it is not there, and kept. */
#ifndef DCSR_TRANSPOSE_H
#define DCSR_TRANSPOSE_H

#include <dcsr/desc.h>

#ifdef __cplusplus
extern "C" {
#endif

DCSR_API dcsr_status dcsr_matrix_transpose(dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum,
                                           dcsr_view *A, const dcsr_desc *desc);

#ifdef __cplusplus
}
#endif
#endif

/* transpose.h: the transpose of a matrix.
 *
 *      C<mask> = accum(C, A^T)          with desc->transpose_a: A itself, that is, a copy
 *
 * Errors and threads as in dcsr/apply.h. Cost: O(nnz + cols): two passes over the entries, the first into
 * buckets of neighbouring columns; or if there are far more columns than entries, O(nnz): the entries are
 * sorted. If A's view has its transpose already (DCSR_LAYOUT_CSC, or a matrix that maintains it), that is
 * copied; on a device it is made for the view if there is none, and kept. */
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

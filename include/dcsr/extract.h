/* extract.h: some rows and columns of a matrix.
 *
 *      extract           C<mask> = accum(C, T)     T[i,j] = A[rows.indices[i], cols.indices[j]]
 *      extract_row       w<mask> = accum(w, T)     T[j] = A[row, j]
 *      extract_column    w<mask> = accum(w, T)     T[i] = A[i, col]
 *
 * C is of rows.n x cols.n. The lists may be in any order and name an index more than once; NULL is all rows
 * or columns. dcsr/desc.h says what mask and accum do; desc->transpose_a takes A's transpose.
 *
 * Errors: INDEX_OUT_OF_RANGE naming the first offender; else, and for threads, as in dcsr/apply.h. Cost:
 * O(nnz of the chosen rows + rows.n + cols.n), and O(cols of A) if that is no more; if cols does not ascend,
 * rows are sorted again. On a device each entry is looked up in cols, O(log cols.n), unless these are
 * consecutive. extract_row costs O(length of the row); extract_column O(rows in use log(row length)), or the
 * column's length if A's view has its transpose. */
#ifndef DCSR_EXTRACT_H
#define DCSR_EXTRACT_H

#include <dcsr/desc.h>

#ifdef __cplusplus
extern "C" {
#endif

DCSR_API dcsr_status dcsr_matrix_extract(dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum,
                                         dcsr_view *A, const dcsr_index_list *rows,
                                         const dcsr_index_list *cols, const dcsr_desc *desc);
DCSR_API dcsr_status dcsr_matrix_extract_row(dcsr_vector *w, const dcsr_vector *mask,
                                             const dcsr_binary_op *accum, dcsr_view *A, uint64_t row,
                                             const dcsr_desc *desc);
DCSR_API dcsr_status dcsr_matrix_extract_column(dcsr_vector *w, const dcsr_vector *mask,
                                                const dcsr_binary_op *accum, dcsr_view *A, uint64_t col,
                                                const dcsr_desc *desc);

#ifdef __cplusplus
}
#endif
#endif

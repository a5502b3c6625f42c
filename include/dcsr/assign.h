/* assign.h: writing to some rows and columns of a matrix.
 *
 *      assign           C<mask>(rows, cols) = accum(C(rows, cols), A)     A is of nrows x ncols
 *      assign_scalar    the same with *value, of `type`, at every place of rows x cols
 *      assign_row       C<mask>(row, :) = accum(C(row, :), u)             mask and u: vectors of C's columns
 *      assign_column    C<mask>(:, col) = accum(C(:, col), u)             of C's rows
 *
 * Without accum, what C has at those places is replaced: where A has no entry, C has none. What stands at
 * other places stays (also duplicates: desc.h). mask is of C's shape and decides about all of C: with
 * `replace` whatever stands where it is not true is dropped, also outside of rows x cols. In assign_row and
 * assign_column it decides about that row or column alone.
 *
 * The lists may be in any order, but name no index twice; NULL is all of them (nrows, ncols are then
 * ignored). A value of DCSR_PATTERN is 1, and value may be NULL. Only where a mask says where, can a scalar
 * be assigned to large regions: otherwise every place of them gets an entry.
 *
 * Errors: INDEX_OUT_OF_RANGE naming the first offender, INVALID_ARGUMENT (an index stands twice), else as in
 * apply.h. Cost: O(nnz(C) + nnz(A)): C is written anew, as one version. To set single entries use
 * dcsr_matrix_insert(). On a device entries are sorted where a list does not ascend. */
#ifndef DCSR_ASSIGN_H
#define DCSR_ASSIGN_H

#include <dcsr/desc.h>

#ifdef __cplusplus
extern "C" {
#endif

DCSR_API dcsr_status dcsr_matrix_assign(dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum,
                                        dcsr_view *A, const uint64_t *rows, uint64_t nrows,
                                        const uint64_t *cols, uint64_t ncols, const dcsr_desc *desc);
DCSR_API dcsr_status dcsr_matrix_assign_scalar(dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum,
                                               const void *value, dcsr_type type, const uint64_t *rows,
                                               uint64_t nrows, const uint64_t *cols, uint64_t ncols,
                                               const dcsr_desc *desc);
DCSR_API dcsr_status dcsr_matrix_assign_row(dcsr_matrix *C, const dcsr_vector *mask,
                                            const dcsr_binary_op *accum, const dcsr_vector *u, uint64_t row,
                                            const dcsr_desc *desc);
DCSR_API dcsr_status dcsr_matrix_assign_column(dcsr_matrix *C, const dcsr_vector *mask,
                                               const dcsr_binary_op *accum, const dcsr_vector *u,
                                               uint64_t col, const dcsr_desc *desc);

#ifdef __cplusplus
}
#endif
#endif

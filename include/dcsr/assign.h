/* assign.h: writing to some rows and columns of a matrix.
 *
 *      assign           C<mask>(rows, cols) = accum(C(rows, cols), A)     A is of rows.n x cols.n
 *      assign_scalar    the same with *value, of `type`, at every position of rows x cols
 *      assign_row       C<mask>(row, :) = accum(C(row, :), u)             mask and u: vectors of C's columns
 *      assign_column    C<mask>(:, col) = accum(C(:, col), u)             of C's rows
 *      replace_rows     C(rows, :) = the rows of a CSR                    no mask, no accum
 *
 * Without accum, what C has at those positions is replaced: where A has no entry, C gets none. Entries at
 * other positions stay, duplicates too (dcsr/desc.h). mask has C's shape and applies to all of C: with
 * `replace` every entry where it is not true is dropped, even outside rows x cols. In assign_row and
 * assign_column it applies to that row or column alone.
 *
 * The lists may be in any order, but must not name an index twice; NULL is all rows or columns. A value of
 * type DCSR_PATTERN is 1, and value may then be NULL. Use a mask to assign a scalar to a large region:
 * without one, every position of the region gets an entry.
 *
 * Errors: INDEX_OUT_OF_RANGE naming the first offender, INVALID_ARGUMENT (an index is named twice); else, and
 * for threads, as in dcsr/apply.h. Cost: O(nnz(A)), and the entries of C's rows that are named, or of all
 * where more than half are: what can change is rewritten, as one version. To set single entries use
 * dcsr_matrix_insert(). On a device entries are sorted if a list does not ascend, and a column takes a look at all of
 * C. */
#ifndef DCSR_ASSIGN_H
#define DCSR_ASSIGN_H

#include <dcsr/desc.h>

#ifdef __cplusplus
extern "C" {
#endif

DCSR_API dcsr_status dcsr_matrix_assign(dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum,
                                        dcsr_view *A, const dcsr_index_list *rows,
                                        const dcsr_index_list *cols, const dcsr_desc *desc);
DCSR_API dcsr_status dcsr_matrix_assign_scalar(dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum,
                                               const void *value, dcsr_type type, const dcsr_index_list *rows,
                                               const dcsr_index_list *cols, const dcsr_desc *desc);
DCSR_API dcsr_status dcsr_matrix_assign_row(dcsr_matrix *C, const dcsr_vector *mask,
                                            const dcsr_binary_op *accum, const dcsr_vector *u, uint64_t row,
                                            const dcsr_desc *desc);
DCSR_API dcsr_status dcsr_matrix_assign_column(dcsr_matrix *C, const dcsr_vector *mask,
                                               const dcsr_binary_op *accum, const dcsr_vector *u,
                                               uint64_t col, const dcsr_desc *desc);

/* Replaces whole rows: row rows[i] gets row i of the CSR, which is in host memory and has n rows, the matrix's columns
 * and its type; what the row held is gone. The row numbers may come in any order; one that comes twice is refused.
 * Within a row of the CSR columns may come in any order, and entries of one position are combined by the matrix's
 * policy (of DCSR_POLICY_KEEP they are added). One version, all or nothing, published when the call returns; what is
 * queued before is applied first. A maintained transpose follows; of a durable matrix it is a result like any other,
 * which takes a snapshot (dcsr/persist.h).
 *
 * Errors: as above, and as dcsr_matrix_from_csr(); DIMENSION_MISMATCH, TYPE_MISMATCH. Cost: O(n log n) and the entries
 * of these rows before and after; where columns do not ascend strictly, and on a device, also a copy of the CSR. */
DCSR_API dcsr_status dcsr_matrix_replace_rows(dcsr_matrix *matrix, uint64_t n, const uint64_t *rows,
                                              const dcsr_csr *csr);

#ifdef __cplusplus
}
#endif
#endif

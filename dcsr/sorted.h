/* sorted.h: rows brought into ascending order of columns, each once (internal).
 *
 * Duplicates are combined by the matrix's policy; those of DCSR_POLICY_KEEP are summed. All rows at once, as
 * a CSR; or one row, of a version as it was published, in which tombstones may stand. */
#ifndef DCSR_SORTED_H
#define DCSR_SORTED_H

#include "dcsr/store.h"

/* The same entries as CSR in which columns ascend strictly. *sorted is NULL where that is what the rows,
 * which are in host memory and show no tombstones, show already. Errors: OUT_OF_MEMORY. */
dcsr_status dcsr_i_rows_sort(dcsr_i_csr **sorted, dcsr_context *context, const dcsr_i_rows *rows,
                             dcsr_policy policy);

/* Whether the columns of a row ascend strictly, and none is a tombstone. */
bool dcsr_i_row_ascends(const dcsr_i_rows *rows, uint64_t row);
/* How duplicates are combined. */
dcsr_i_combine dcsr_i_sorting_combiner(dcsr_type type, dcsr_policy policy);
/* Writes the row to columns and values; keys and spare have room for as many words as it has entries. Returns
 * how many entries are left. `keep`: entries of one column stay as they are, in their order. */
uint64_t dcsr_i_row_sort(uint64_t *keys, uint64_t *spare, const dcsr_i_rows *rows, uint64_t row, bool keep,
                         dcsr_i_combine combine, uint32_t *columns, void *values);

#endif

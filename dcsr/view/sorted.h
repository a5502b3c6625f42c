/* sorted.h: rows brought into ascending order of columns, each once (internal).
 *
 * Duplicates are combined by the matrix's policy; those of DCSR_POLICY_KEEP are summed. All rows at once; or
 * one row, of a version as it was published, in which tombstones may stand. */
#ifndef DCSR_SORTED_H
#define DCSR_SORTED_H

#include "dcsr/store/store.h"

/* A form in which entries are shown, and what keeps them: a CSR, or a hold on a version. Neither: it has not
 * been made, or shows what another form shows already. */
typedef struct dcsr_i_form {
    dcsr_i_csr *csr;
    dcsr_i_held_version *hold;
    dcsr_i_rows rows;
} dcsr_i_form;
static inline bool dcsr_i_form_is_made(const dcsr_i_form *form)
{
    return form->csr || form->hold;
}
void dcsr_i_form_release(dcsr_i_form *form);

/* The same entries with columns that ascend strictly: as CSR; or where rows are far more than entries in a
 * matrix of their own, kept by a hold. Not made where that is what the rows show already. */
/* Of rows that `matrix` shows, or its transpose, in host memory and without tombstones. Errors:
 * OUT_OF_MEMORY; *sorted is then all zero. */
dcsr_status dcsr_i_rows_sort(dcsr_i_form *sorted, dcsr_matrix *matrix, const dcsr_i_rows *rows);

/* Whether the columns of a row ascend strictly, and none is a tombstone. */
bool dcsr_i_row_ascends(const dcsr_i_rows *rows, uint64_t row);
/* How duplicates are combined. */
dcsr_i_combine dcsr_i_sorting_combiner(dcsr_type type, dcsr_policy policy);
/* Writes the row to columns and values; keys and spare have room for as many words as it has entries. Returns
 * how many entries are left. `keep`: entries of one column stay as they are, in their order. */
uint64_t dcsr_i_row_sort(uint64_t *keys, uint64_t *spare, const dcsr_i_rows *rows, uint64_t row, bool keep,
                         dcsr_i_combine combine, uint32_t *columns, void *values);
/* The same for n of a row's entries, all of some columns, whose keys column << 32 | position are sorted. */
uint64_t dcsr_i_keys_fold(const uint64_t *keys, uint64_t n, const dcsr_i_rows *rows,
                          const dcsr_i_piece *pieces, bool keep, dcsr_i_combine combine, uint32_t *columns,
                          void *values);

#endif

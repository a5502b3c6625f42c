/* prior_rows.h: what a matrix holds that is written (internal).
 *
 * In the matrix's turn nobody else changes it, so its current version is read as it is. Rows that do not
 * ascend strictly are resolved and sorted as they are read, since those that are not read stay as they are.
 */
#ifndef DCSR_PRIOR_ROWS_H
#define DCSR_PRIOR_ROWS_H

#include "ops/matrix/write_matrix.h"

typedef struct dcsr_i_old {
    const dcsr_i_rows *rows; /* in host memory */
    bool ascends;            /* strictly, in all rows */
    bool keep;               /* duplicates are kept: they are entries of their own (desc.h) */
    dcsr_i_combine combine;  /* entries of one column */
    dcsr_i_rows current;
    dcsr_view *view; /* where entries are on a device */
} dcsr_i_old;

/* In C's turn; to be closed in it too, also after a failure: OUT_OF_MEMORY, DEVICE. */
dcsr_status dcsr_i_old_open(dcsr_i_old *old, dcsr_matrix *C);
void dcsr_i_old_close(dcsr_i_old *old);

/* Of one thread. */
typedef struct dcsr_i_old_reader {
    const dcsr_i_old *old;
    dcsr_i_row_reader rows;
    dcsr_i_scratch keys, columns, values;   /* of a row that is sorted */
    dcsr_i_scratch all_columns, all_values; /* of one with its duplicates */
} dcsr_i_old_reader;

static inline dcsr_i_old_reader dcsr_i_old_reader_of(dcsr_context *context, const dcsr_i_old *old)
{
    return (dcsr_i_old_reader){.old = old, .rows = dcsr_i_row_reader_of(context, old->rows)};
}
void dcsr_i_old_reader_free(dcsr_i_old_reader *reader);
/* Reads a row, each column once; what it shows lasts until the next call with this reader. Where duplicates
 * are kept and the row has some, *all is the row with them, columns ascending; else all->n is 0. */
dcsr_status dcsr_i_old_row(dcsr_i_old_reader *reader, uint64_t number, dcsr_i_row *row, dcsr_i_row *all);

#endif

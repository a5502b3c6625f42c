/* merge_row.h: what C holds, read while it is written, and what becomes of one row of it: C<mask> = accum(C, T),
 * entry by entry (internal). */
#ifndef DCSR_MERGE_ROW_H
#define DCSR_MERGE_ROW_H

#include "ops/matrix/write_matrix.h"

/* ---- Regions ---- */

/* Whether one of first .. end - 1 is in the list. */
bool dcsr_i_index_list_meets(const dcsr_i_index_list *list, uint64_t first, uint64_t end);
/* Which rows of a page, first .. first + count - 1, are in the region: bit r for row first + r. Of no region,
 * NULL, all are. */
uint64_t dcsr_i_region_rows(const dcsr_i_region *region, uint64_t first, unsigned count);

/* ---- What C holds ---- */

/* In the matrix's turn nobody else changes it, so its current version is read as it is. Rows that do not ascend
 * strictly are resolved and sorted as they are read, since those that are not read stay as they are. */
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

/* ---- A row of C ---- */

/* What is the same for all rows. */
typedef struct dcsr_i_merging {
    const char *call;
    dcsr_context *context;
    dcsr_type type;   /* of C */
    dcsr_type source; /* of T */
    const dcsr_binary_op *accum;
    bool replace;
    const dcsr_i_region *region;
    bool one_type; /* of C, T, and all of the accumulator, if any */
} dcsr_i_merging;

/* Memory of one thread. */
typedef struct dcsr_i_merger {
    dcsr_i_scratch picks, cast, meetings;
    dcsr_i_scratch columns, values; /* of what is left of an old row, or of a merged one */
} dcsr_i_merger;
void dcsr_i_merger_free(dcsr_i_merger *merger, dcsr_context *context);

/* Merges a row into room for old->n + T->n entries; mask NULL: it is true everywhere. `outside`: it is none
 * of the region's rows. *length is how many entries were written. Fails with OUT_OF_MEMORY, or CALLBACK. */
dcsr_status dcsr_i_merge_row(dcsr_i_merger *merger, const dcsr_i_merging *merging, bool outside,
                             const dcsr_i_row_mask *mask, const dcsr_i_row *old, const dcsr_i_row *T,
                             dcsr_i_room room, uint32_t *length);
/* After that, in a matrix that keeps duplicates, with the old row as it was with them: those at places that
 * are not written take the place of their sum. Room is for all->n + T->n entries. */
dcsr_status dcsr_i_merge_duplicates(dcsr_i_merger *merger, const dcsr_i_merging *merging, bool outside,
                                    const dcsr_i_row_mask *mask, const dcsr_i_row *all, const dcsr_i_row *T,
                                    dcsr_i_room room, uint32_t *length);

#endif

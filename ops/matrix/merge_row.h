/* merge_row.h: what becomes of one row of C (internal): C<mask> = accum(C, T), entry by entry. */
#ifndef DCSR_MERGE_ROW_H
#define DCSR_MERGE_ROW_H

#include "ops/matrix/write_matrix.h"

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

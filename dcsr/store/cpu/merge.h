/* merge.h: merging entries that came later into a row that ascends (internal). */
#ifndef DCSR_MERGE_H
#define DCSR_MERGE_H

#include "dcsr/store/store.h"

/* n entries whose columns ascend, equal ones in order of time; DCSR_I_TOMBSTONE marks one that deletes. */
typedef struct dcsr_i_later {
    const uint32_t *columns;
    const char *values;
    uint64_t n;
} dcsr_i_later;

typedef struct dcsr_i_merge_job {
    const uint32_t *head_columns; /* `head` of them, which ascend; strictly, unless duplicates are kept */
    const char *head_values;
    uint64_t head;
    dcsr_i_later later;
    uint32_t *columns; /* the result: room for the head and for all later entries that do not delete */
    char *values;
    size_t size;            /* of a value: 0, 1, 2, 4 or 8 bytes */
    dcsr_i_combine combine; /* for two entries of one column; not used with `keep` or without values */
    bool keep;              /* duplicates stay, but for those that were deleted */
} dcsr_i_merge_job;

typedef struct dcsr_i_merge_result {
    uint64_t length;
    bool changed; /* the result is not the head, bit for bit */
} dcsr_i_merge_result;

/* Cost: the head is copied at the speed of memory; some nanoseconds for each later entry. */
dcsr_i_merge_result dcsr_i_merge(const dcsr_i_merge_job *m);

/* resolve.c: the same for a stored row, which is resolved on the way if it is not. From place `to` on there is
 * room for its entries and for those of `more` that do not delete; the resolver has room for all of these. */
dcsr_i_merge_result dcsr_i_resolve_with(dcsr_i_resolver *resolver, dcsr_matrix *matrix,
                                        const dcsr_i_stretch *stretch, const dcsr_i_later *more, uint64_t to);

#endif

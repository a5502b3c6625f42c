/* entries.h: the entries that a call gives to a matrix: checking and packing them (internal). */
#ifndef DCSR_ENTRIES_H
#define DCSR_ENTRIES_H

#include "dcsr/queue.h"

/* As the caller gave them. */
typedef struct dcsr_i_entries {
    const char *call;
    dcsr_i_kind kind;
    size_t n;
    const uint64_t *rows, *cols;
    const void *values; /* NULL: none to pack */
    bool on_device;     /* the arrays are there, to be read in the order of this stream: */
    void *stream;
} dcsr_i_entries;

/* Whether the arrays are given, fit the matrix's type, and are where the call expects them. */
dcsr_status dcsr_i_entries_check(const dcsr_matrix *matrix, const dcsr_i_entries *e);
/* Whether entries in host memory lie within the dimensions; INDEX_OUT_OF_RANGE names the first that does not.
 */
dcsr_status dcsr_i_entries_within(const dcsr_i_entries *e, uint64_t rows, uint64_t cols, int threads);
/* Says which entry of a batch lies outside. */
dcsr_status dcsr_i_fail_outside(const char *call, uint64_t i, uint64_t n, uint64_t row, uint64_t col,
                                uint64_t rows, uint64_t cols);
/* The same for a batch that was in order when it was queued, behind a resize that has failed since. */
dcsr_status dcsr_i_fail_outside_now(uint64_t i, uint64_t row, uint64_t col, uint64_t rows, uint64_t cols);
/* An operation for entries within rows x cols, with room for them unless they come from the device. */
dcsr_status dcsr_i_entries_operation(dcsr_i_operation **operation, dcsr_matrix *matrix,
                                     const dcsr_i_entries *e, uint64_t rows, uint64_t cols);
/* Gives an operation room for `capacity` entries, of which it has fewer now. */
dcsr_status dcsr_i_entries_room(dcsr_i_operation *operation, uint64_t capacity);
/* Writes the entries at the operation's end, which has room. */
void dcsr_i_entries_pack(dcsr_i_operation *operation, const dcsr_i_entries *e, int threads);

#endif

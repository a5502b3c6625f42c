/* entries.h: the entries that a call gives to a matrix: checking and packing them (internal). */
#ifndef DCSR_ENTRIES_H
#define DCSR_ENTRIES_H

#include "dcsr/store/queue.h"

/* As the caller gave them. */
typedef struct dcsr_i_entries {
    const char *call;
    dcsr_i_kind kind;
    size_t n;
    const uint64_t *rows, *cols;
    const void *values;  /* NULL: none to pack */
    const dcsr_tag *tag; /* NULL: none */
    bool on_device;      /* the arrays are there, to be read in the order of this stream: */
    void *stream;
    uint64_t rows_needed, cols_needed; /* of the matrix, which may grow for these entries; 0: it stays */
    const dcsr_i_agreement *agreement; /* NULL: none (agreement.h) */
} dcsr_i_entries;

/* Whether the arrays are given, fit the matrix's type, and are where the call expects them. */
dcsr_status dcsr_i_entries_check(const dcsr_matrix *matrix, const dcsr_i_entries *e);
/* The function that takes arrays where this call's does not. */
const char *dcsr_i_entries_counterpart(const dcsr_i_entries *e);
/* Whether the arrays that a matrix of the type wants are given: TYPE_MISMATCH, INVALID_ARGUMENT. */
dcsr_status dcsr_i_entries_check_arrays(dcsr_type type, const dcsr_i_entries *e);
/* Says which entry of a batch lies outside. */
dcsr_status dcsr_i_fail_outside(const char *call, uint64_t i, uint64_t n, uint64_t row, uint64_t col,
                                uint64_t rows, uint64_t cols);
/* The same for a batch that was in order when it was queued, behind a resize that has failed since. */
dcsr_status dcsr_i_fail_outside_now(uint64_t i, uint64_t row, uint64_t col, uint64_t rows, uint64_t cols);
/* The same for the first of them that lies outside of what the batch is checked against; there is one.
 */
dcsr_status dcsr_i_entries_fail(const dcsr_i_packed *batch, const dcsr_i_entries *e);
/* An operation for entries within rows x cols, without room for any. */
dcsr_status dcsr_i_entries_operation(dcsr_i_operation **operation, dcsr_matrix *matrix,
                                     const dcsr_i_entries *e, uint64_t rows, uint64_t cols);
/* Gives an operation room for `capacity` entries, of which it has fewer now. */
dcsr_status dcsr_i_entries_room(dcsr_i_operation *operation, uint64_t capacity);
/* The threads that bring so many entries to a device. The worker needs a core beside those that pack: OpenMP's spin for
 * milliseconds after they have worked, and with one thread more than there are cores, somebody would wait for as long.
 * Half of the context's threads pack about as much as the link takes. */
int dcsr_i_entries_threads(const dcsr_context *context, uint64_t n);
/* Appends the entries to the operation, which has room for them or none yet; INDEX_OUT_OF_RANGE names the
 * first that lies outside, and none is appended then. */
dcsr_status dcsr_i_entries_pack(dcsr_i_operation *operation, const dcsr_i_entries *e, int threads);

/* bulk.c: fills a matrix on the cpu that is empty, and that no other thread has access to, with all of a call's
 * entries, combined by its policy. *filled: false where that is not the way, because the matrix has far more rows
 * than entries, or is on a device. */
dcsr_status dcsr_i_fill_entries(dcsr_matrix *matrix, const dcsr_i_entries *e, bool *filled);

/* The number of entries in each slice when threads pack n of them, of some bytes each. */
uint64_t dcsr_i_entries_slice(uint64_t n, int threads, size_t bytes);
enum { DCSR_I_OUTSIDE = 1, DCSR_I_DESCENDS = 2 };
/* Writes entries first to end - 1 to `keys`, and to `values` where those stand apart; tells whether any lies
 * outside, and whether a key is not above the one before it, which for the first is that of entry
 * first - 1. */
unsigned dcsr_i_entries_pack_slice(uint64_t *keys, char *values, const dcsr_i_packed *batch,
                                   const dcsr_i_entries *e, size_t first, size_t end);

#endif

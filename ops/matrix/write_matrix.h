/* write_matrix.h: the one way in which operations write a matrix (internal).
 *
 *      C<mask, desc> = accum(C, T)          (desc.h)
 *
 * An operation says how rows of T are computed; the driver runs that over all rows in parallel, brings mask,
 * accumulator and what C holds to each, and writes the rows of the result where they stay (dcsr/store/result.h).
 * Then they are published as one version of C; after a failure C is as it was. Where region, mask or
 * accumulator say that few rows can change, the new version shares the others with the one before, and the
 * cost is that of the rows that are looked at. If nothing changes there is no new version.
 *
 * This takes C's turn in its queue: changes that were queued before the call are applied first, and what C
 * holds then is what is accumulated with and kept; changes that other threads queue meanwhile come after.
 * Views that are inputs show their own versions, also where they are of C.
 *
 * Rows are worked on by pages of 64, which threads take as they become free. */
#ifndef DCSR_WRITE_MATRIX_H
#define DCSR_WRITE_MATRIX_H

#include "dcsr/store/result.h"
#include "dcsr/view/sorted.h"
#include <dcsr/desc.h>
#include "ops/algebra/operator.h"
#include "ops/rows/row_reader.h"

/* Where a row may be written: at the columns given or, with complement, at all others. Columns ascend. */
typedef struct dcsr_i_row_mask {
    uint64_t n;
    const uint32_t *columns;
    bool complement;
} dcsr_i_row_mask;

/* Ascending indices without repeats; NULL: all there are. */
typedef struct dcsr_i_index_list {
    const uint32_t *indices;
    uint64_t n, size;     /* indices are below `size` */
    const uint64_t *bits; /* the same as bits by index; NULL: not made */
} dcsr_i_index_list;

/* The rows and columns that an assignment writes to. */
typedef struct dcsr_i_region {
    dcsr_i_index_list rows, cols;
} dcsr_i_region;

/* Where what an operation computes goes: C<mask, desc> = accum(C, T). */
typedef struct dcsr_i_matrix_output {
    const char *call; /* the function's name without dcsr_, for messages */
    dcsr_matrix *C;
    dcsr_view *mask;             /* may be NULL */
    const dcsr_binary_op *accum; /* may be NULL */
    const dcsr_desc *desc;       /* may be NULL */
    /* Of assignment: T has no entries outside these rows and columns, and what C has there is kept also
     * without an accumulator. NULL: T may have some everywhere. */
    const dcsr_i_region *region;
    /* On a device: T depends on what C holds, and is computed in C's turn, with C's stream. There is no mask
     * then. */
    bool in_turn;
    /* On a device: T has no entries where the mask is false, which is not complemented. */
    bool within_mask;
} dcsr_i_matrix_output;

/* By what the rows of C that can change are bounded, of an operation that keeps any of what C has: a row stays as it
 * is unless it is in all of these. None is true where every row may change. */
typedef struct dcsr_i_change {
    bool in_T;      /* those of which T has entries: what an accumulator gets nothing for stays */
    bool in_mask;   /* those in which the mask is true, which is not complemented */
    bool in_region; /* those that are assigned to */
} dcsr_i_change;
dcsr_i_change dcsr_i_change_of(const dcsr_i_matrix_output *out);
/* How many of C's rows may change at most for the others to be kept where they are. Where most do, writing all anew
 * leaves C in better order. */
static inline uint64_t dcsr_i_change_most(uint64_t rows)
{
    return rows / 2;
}

/* What is known of T before it is computed. */
typedef struct dcsr_i_rows_ahead {
    dcsr_type type;      /* of its values */
    uint64_t rows, cols; /* its shape, which must be C's */
    uint64_t work;       /* entries that are read or computed, about: decides about threads */
    /* Where each of these matrices has no entries in a row, T has none; NULLs at the end. All NULL: nothing
     * is known, and every row is asked for, unless there is next_page(). */
    const dcsr_i_rows *source[2];
} dcsr_i_rows_ahead;

/* How rows of T are computed. */
typedef struct dcsr_i_producer {
    void *user;
    /* Before and after the rows, by one thread: scratch memory for `threads` threads, numbered from 0. May be
     * NULL. end() is called after a begin() that succeeded. */
    dcsr_status (*begin)(void *user, int threads);
    void (*end)(void *user);
    /* The first page of 64 rows, from one on, in which T may have entries; at least the number of pages if
     * there is none. May be NULL. */
    uint64_t (*next_page)(void *user, uint64_t page);

    /* One of three ways to produce rows. By row: *T is valid until the thread's next call. `mask` is where
     * the row will be written, NULL: everywhere; what stands elsewhere is dropped, so it may be ignored.
     * Values may be NULL where none are wanted (below). Rows outside of the region are not asked for. */
    dcsr_status (*row)(void *user, int thread, uint64_t row, const dcsr_i_row_mask *mask, dcsr_i_row *T);
    /* By row, where a mask that is not complemented names the places: writes those of its entries that T has
     * to `room`, which is for as many. */
    dcsr_status (*masked)(void *user, int thread, uint64_t row, const dcsr_i_row_mask *mask, dcsr_i_room room,
                          uint32_t *length);
    /* The same of rows first to first + count - 1, of one page, where every entry of the mask is true. May be NULL. */
    dcsr_status (*masked_page)(void *user, int thread, uint64_t first, unsigned count,
                               const dcsr_i_rows *mask, dcsr_i_room room, uint32_t *lengths);
    /* By blocks of rows of one page: most() says how many entries rows first to first + count - 1 may have at
     * most; block() writes them to `room` one behind the other, and their lengths. room.values, of T's type, is
     * NULL where no values are wanted. */
    uint64_t (*most)(void *user, uint64_t first, unsigned count);
    /* In place of most(): *entries is how many entries they may have; or fewer rows, whose number becomes
     * *count, where all of them would need too much at once. The thread's next block is these rows. */
    dcsr_status (*plan)(void *user, int thread, uint64_t first, unsigned *count, uint64_t *entries);
    dcsr_status (*block)(void *user, int thread, uint64_t first, unsigned count, dcsr_i_room room,
                         uint32_t *lengths);

    /* Of the assignment of a scalar to all rows and columns: the value, of T's type, that row() hands out
     * wherever T may be written. NULL: rows differ. */
    const void *scalar;
} dcsr_i_producer;

/* What an operation does. */
typedef struct dcsr_i_rowwise {
    dcsr_i_matrix_output out;
    dcsr_i_rows_ahead T;
    dcsr_i_producer make;
} dcsr_i_rowwise;

/* Checks C, mask and desc, and the shapes: C must have rows x cols, and so must the mask. */
dcsr_status dcsr_i_rowwise_run(const dcsr_i_rowwise *op);

/* Whether values of T are wanted: not where C stores a pattern alone. */
bool dcsr_i_rowwise_wants_values(const dcsr_i_rowwise *op);

/* ---- For operations that write in their own way ---- */

/* INVALID_ARGUMENT when a view is NULL (`what` names it), CONTEXT_DESTROYED, or of another context. */
dcsr_status dcsr_i_check_view(const char *call, const char *what, const dcsr_view *view,
                              const dcsr_context *context);
/* C, and the mask and the description, which may be NULL. */
dcsr_status dcsr_i_check_output(const char *call, const dcsr_matrix *C, const dcsr_view *mask,
                                const dcsr_desc *desc);
/* Whether an operation is carried out on a device: where C's context has one, unless the description wants
 * the host, or an operator is a user's (`users`: one of the operation's own). Small ones are too: their
 * operands are on the device, and bringing them to the host takes as long. */
bool dcsr_i_runs_on_device(const dcsr_i_matrix_output *out, bool users);
/* Fails with INVALID_ARGUMENT for an operator, monoid, ... (`what`) that is NULL. */
dcsr_status dcsr_i_fail_operator(const char *call, const char *what);
/* DIMENSION_MISMATCH when the shapes differ, naming both: "C", "the result". */
dcsr_status dcsr_i_check_shape(const char *call, const char *what, uint64_t rows, uint64_t cols,
                               const char *other, uint64_t other_rows, uint64_t other_cols);
/* The shape that C has once what is queued has been applied. */
void dcsr_i_shape_queued(dcsr_matrix *C, uint64_t *rows, uint64_t *cols);
/* Fills desc->report, if there is one. */
void dcsr_i_report(const dcsr_desc *desc, uint64_t entries);

/* A matrix that is an input: its rows in host memory with columns that ascend strictly, of the transpose if
 * `transposed`. To be freed with dcsr_i_input_free(), also after a failure. */
typedef struct dcsr_i_input {
    const dcsr_i_rows *rows;
    dcsr_i_form own; /* a copy that is the input's alone, if there is one */
    size_t value_size;
} dcsr_i_input;
dcsr_status dcsr_i_input_of(dcsr_i_input *input, dcsr_view *view, bool transposed);
void dcsr_i_input_free(dcsr_i_input *input);

#endif

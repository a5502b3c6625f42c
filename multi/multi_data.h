/* multi_data.h: what a partitioned matrix is made of (internal).
 *
 *      caller                       queue                  coordinator, a thread of the matrix
 *      split by owner and packed -> change, change, ... --> hold the version; have the parts' queues apply their
 *      into the last that waits                            shares, all or none, and split the next change meanwhile;
 *      (split.c)                                           let go of it: the next version (coordinator.c); move
 *                                                          borders (balance.c)
 *
 * The coordinator alone changes what the parts hold. So while it changes nothing, their current versions together are
 * the matrix's version; while it does, that is what it holds. Both are asked under the lock. */
#ifndef DCSR_MULTI_DATA_H
#define DCSR_MULTI_DATA_H

#include "dcsr/store/agreement.h"
#include "dcsr/store/store.h"
#include "multi/multi_view.h"

/* Batches split by owner: an operation for each part, whose entries are packed for its store, in the order in which
 * they were given, their rows counted from its border. Or chunks, until the coordinator splits them (split_cuda.h). */
typedef struct dcsr_i_split {
    dcsr_i_borders *borders; /* held; NULL: there are no operations */
    uint64_t n, calls;       /* entries, and the calls that gave them */
    size_t entry_bytes;
    dcsr_i_operation *operation[DCSR_MAX_DEVICES]; /* NULL once a part has taken it */
    dcsr_i_operation *chunks, *last_chunk;         /* linked by `next`, on any of the devices; NULL: none */
} dcsr_i_split;

/* The most entries of chunks that are applied together, for each device. */
enum { DCSR_I_JOINED_BY_GPU = 1 << 23 };

/* A requested change. */
typedef struct dcsr_i_multi_change {
    struct dcsr_i_multi_change *next;
    dcsr_i_kind kind; /* DCSR_I_REPLACE: borders are moved */
    dcsr_defragment_scope scope;
    bool open; /* its batch is being packed */
    dcsr_i_split batch;
    dcsr_i_operation *operation; /* for tickets: what becomes of it */
    struct dcsr_i_multi_change
        *with; /* the next one whose chunks were put behind its own when it was taken */
} dcsr_i_multi_change;

/* Nanoseconds that the coordinator has spent: splitting, waiting for the parts to apply their shares, moving borders.
 * What it splits meanwhile counts as splitting. */
typedef struct dcsr_i_multi_times {
    uint64_t splitting, applying, balancing;
} dcsr_i_multi_times;

struct dcsr_multi_matrix {
    dcsr_i_member member; /* of home */
    dcsr_multi *devices;
    dcsr_context *home; /* of the devices, for what belongs to none */
    uint64_t parts, rows, cols;
    dcsr_type type;
    size_t value_size;
    dcsr_matrix_options options; /* of each part */
    bool refuse_when_full;
    uint64_t queue_limit; /* bytes */

    /* Batches are packed one at a time: under this lock, not the other, so that readers need not wait. */
    pthread_mutex_t packing;
    pthread_mutex_t lock;   /* for all that follows */
    pthread_cond_t filled;  /* there is a change, or the matrix stops */
    pthread_cond_t changed; /* one has been applied */
    dcsr_i_multi_change *first, *last;
    uint64_t queued, applied, pending_bytes;
    pthread_t coordinator;
    bool runs, stopping;

    dcsr_matrix *part[DCSR_MAX_DEVICES];
    dcsr_i_borders *row_borders, *col_borders; /* the same for a square matrix */
    uint64_t version, balances;
    uint64_t staging,
        staged; /* the device on which chunks are staged now; entries there since the last change */
    bool changing;
    dcsr_i_held_version *held[DCSR_MAX_DEVICES]; /* the version, while changing */
    uint64_t batches, inserted, removed, changes, busy_nanoseconds;
    dcsr_i_multi_times times;
    uint64_t given; /* entries since borders were last looked at; the coordinator's */

    /* A device has failed when others had published a change: there are no further changes; the version before is held
     * for readers. */
    dcsr_status broken;
    dcsr_status unwatched; /* the first failure that no ticket reports */
    char broken_message[DCSR_I_MESSAGE], unwatched_message[DCSR_I_MESSAGE];
};

/* ---- multi_matrix.c ---- */
/* A matrix of these parts, one of each device with the rows that are its by the borders; it takes them, or on failure
 * none. */
dcsr_status dcsr_i_multi_matrix_of_parts(dcsr_multi_matrix **matrix, dcsr_multi *devices,
                                         dcsr_i_borders *borders, uint64_t cols, dcsr_type type,
                                         dcsr_matrix *const part[DCSR_MAX_DEVICES]);
dcsr_status dcsr_i_multi_matrix_check(const dcsr_multi_matrix *matrix);
/* Until all that is queued now has been applied, or has failed. */
void dcsr_i_multi_wait(dcsr_multi_matrix *matrix);

/* What is staged next goes to the next device, over its own link. With the lock. */
void dcsr_i_multi_stage_elsewhere(dcsr_multi_matrix *matrix);

/* ---- split.c ---- */
/* A split without entries, for those of the call, at the borders of today. With the lock, or by the coordinator,
 * which alone moves them. */
dcsr_status dcsr_i_split_open(dcsr_i_split *split, const dcsr_multi_matrix *matrix, const dcsr_i_entries *e);
/* Appends entries with rows of the whole matrix; INDEX_OUT_OF_RANGE names the first that is outside, and none is
 * appended then, nor after OUT_OF_MEMORY. Cost: two passes, in the threads of all devices. */
dcsr_status dcsr_i_split_add(dcsr_i_split *split, const dcsr_multi_matrix *matrix, const dcsr_i_entries *e);
/* Splits all anew, at the borders of today. */
dcsr_status dcsr_i_split_again(dcsr_i_split *split, dcsr_multi_matrix *matrix);
/* What is staged of it on GPUs. */
void dcsr_i_split_drop_chunks(dcsr_i_split *split);
/* Frees what no part has taken. */
void dcsr_i_split_free(dcsr_i_split *split);

/* ---- coordinator.c ---- */
/* Appends a change, which is the coordinator's then, and starts that if it does not run. With the lock. */
dcsr_status dcsr_i_multi_enqueue(dcsr_multi_matrix *matrix, dcsr_i_multi_change *change);
/* Ends the coordinator: with `finish` once the queue is empty, else after the running change, cancelling the rest. */
void dcsr_i_multi_stop(dcsr_multi_matrix *matrix, bool finish);
void dcsr_i_multi_change_free(dcsr_multi_matrix *matrix, dcsr_i_multi_change *change);
/* Puts the device's name before the thread's last failure. */
dcsr_status dcsr_i_multi_blame(const dcsr_multi_matrix *matrix, uint64_t k, dcsr_status status);

/* ---- fetch_rows.c ---- */
/* CSR in host memory that is being made: lengths of rows first, each behind its place in `offsets`, then entries. */
typedef struct dcsr_i_csr_buffer {
    dcsr_context *context;
    dcsr_type type;
    uint64_t rows, nnz;
    uint64_t *offsets;
    uint32_t *cols;
    char *values;
} dcsr_i_csr_buffer;
/* Offsets of 0; then sums them up, and makes room for the entries. After a failure it can be freed. */
dcsr_status dcsr_i_buffer_rows(dcsr_i_csr_buffer *buffer, dcsr_context *context, dcsr_type type,
                               uint64_t rows);
dcsr_status dcsr_i_buffer_entries(dcsr_i_csr_buffer *buffer);
/* A matrix of the buffer's context with what is in it. */
dcsr_status dcsr_i_buffer_to_matrix(dcsr_matrix **matrix, const dcsr_i_csr_buffer *buffer, uint64_t cols,
                                    const dcsr_matrix_options *options);
void dcsr_i_buffer_free(dcsr_i_csr_buffer *buffer);

/* Rows begin to end - 1; of them those in an ascending list of n, unless that is NULL. */
typedef struct dcsr_i_wanted_rows {
    uint64_t begin, end;
    const uint64_t *list;
    uint64_t n;
} dcsr_i_wanted_rows;
/* A matrix of the context with rows begin to end - 1 of a partitioned one, counted from the first; those that are not
 * wanted are empty. options NULL: the policy of where it comes from. Adds to *bytes what was copied of parts other than
 * number `mine`. To be called in a task, or by one thread. Cost: O(rows + entries that are wanted); memory: twice what
 * it makes. */
dcsr_status dcsr_i_multi_fetch_rows(dcsr_matrix **fetched, dcsr_context *context, dcsr_multi_view *view,
                                    const dcsr_i_wanted_rows *wanted, const dcsr_matrix_options *options,
                                    uint64_t mine, uint64_t *bytes);

/* Whether rows go from GPU to GPU (fetch_rows_cuda.h): the view is of GPUs, and shows no entry more than once. */
bool dcsr_i_multi_goes_by_gpus(const dcsr_multi_view *view);

/* ---- balance.c ---- */
/* A matrix in pieces, CSR in host memory. */
typedef struct dcsr_i_pieces {
    const dcsr_i_borders *borders;
    dcsr_csr csr[DCSR_MAX_DEVICES];
    uint64_t before[DCSR_MAX_DEVICES + 1]; /* entries before each */
} dcsr_i_pieces;
/* How many entries are in the rows before this one. */
typedef uint64_t dcsr_i_entries_before(const void *of, uint64_t row);
/* Borders where parts have equally many entries, as far as rows are not cut, and nodes of memory as many for each of
 * their devices. NULL: OUT_OF_MEMORY. */
dcsr_i_borders *dcsr_i_borders_by_entries(const dcsr_multi *devices, uint64_t rows,
                                          dcsr_i_entries_before *before, const void *of);
dcsr_i_borders *dcsr_i_borders_of_pieces(const dcsr_multi *devices, const dcsr_i_pieces *pieces);
/* Makes a matrix on each device of the rows that are its by the borders, all or none. */
dcsr_status dcsr_i_parts_build(dcsr_matrix **part, dcsr_multi *devices, const dcsr_i_borders *borders,
                               const dcsr_i_pieces *pieces, const dcsr_matrix_options *options);
/* Moves borders so that parts have equally many entries. By the coordinator, as a change. */
dcsr_status dcsr_i_multi_move_borders(dcsr_multi_matrix *matrix);
/* Whether one part has much more than its share, and enough has been given since that was last looked at. */
bool dcsr_i_multi_is_uneven(dcsr_multi_matrix *matrix);

#endif

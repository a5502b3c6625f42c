/* engine.h: what a device does in its own way (internal).
 *
 * Queue, versions, views and their caches are the same for all devices. An engine keeps the entries: where
 * they are, how a change is applied to them, how they are read. One for the cpu (insert.c, rewrite.c,
 * defragment.c, ...), one for cuda (files *_cuda.c with kernels in .cu).
 *
 * A change builds a new table beside the published one and publishes it (version.c) or leaves all as it was.
 * Changes are called by one thread at a time, which has the matrix's turn (queue.h); what reads is called by
 * any thread, beside a running change, with a version that is held. */
#ifndef DCSR_ENGINE_H
#define DCSR_ENGINE_H

#include "dcsr/store/queue.h"
#include "dcsr/store/rowtable.h"

struct dcsr_i_csr;
struct dcsr_i_entries;
struct dcsr_i_held_version;
struct dcsr_i_home;
struct dcsr_i_retired;
struct dcsr_i_rewritten;
struct dcsr_i_selection;

/* What is told of the rows of a version or of a CSR view. */
typedef struct dcsr_i_measures {
    uint64_t nnz;
    uint64_t rows_in_use; /* rows with entries */
    uint64_t longest;     /* row */
    uint64_t shortest;    /* of the rows with entries; 0 where there are none */
    double squares;       /* sum of the squared differences between row lengths and their mean */
    uint64_t max_segments, unresolved_rows; /* 0 for CSR */
} dcsr_i_measures;

/* Rows that may differ between two versions, in host memory: row i of `from` and of `to`, CSRs of the cpu's engine,
 * has the number numbers[i], which ascend; behind the last row of one that version has no more. */
typedef struct dcsr_i_candidates {
    struct dcsr_i_csr *from, *to;
    uint32_t *numbers;
    uint64_t count;
    uint64_t compared; /* rows at other places, of which these are what is left */
} dcsr_i_candidates;

/* A version, as published or a CSR, by which is known where rows are; and its rows as they are read, which may have
 * been resolved elsewhere. The latter have the same dimensions. */
typedef struct dcsr_i_compared {
    dcsr_i_rows rows, shown;
} dcsr_i_compared;

/* Two of them: rows that are at the same places do not differ, unless places tell nothing (`apart`), as rows are
 * resolved otherwise for one than for the other. */
typedef struct dcsr_i_comparison {
    dcsr_context *context;
    dcsr_i_compared from, to;
    bool apart;
} dcsr_i_comparison;

/* Rows that may differ, found on a device and there. */
typedef struct dcsr_i_changed_there {
    const dcsr_i_comparison *of;
    struct dcsr_i_cuda_stream *stream;       /* on which they are found; entered by the thread */
    struct dcsr_i_cuda_change_count *counts; /* of each share of the pages, there */
    uint64_t shares;
    uint64_t count;   /* rows */
    uint64_t entries; /* that to.shown has in them, at most */
    /* Once they are listed: their numbers, ascending; where the entries of each would begin if those of to.shown stood
     * one behind the other. The stream has to come to it. */
    uint32_t *list;
    uint64_t *offsets; /* count + 1 */
} dcsr_i_changed_there;

typedef struct dcsr_i_finds_changed {
    /* Counts them. What is compared must last until it is closed. On failure (OUT_OF_MEMORY, DEVICE) it is closed. */
    dcsr_status (*open)(dcsr_i_changed_there *changed, const dcsr_i_comparison *of);
    dcsr_status (*list)(dcsr_i_changed_there *changed);
    /* Compares the entries as they are shown, and leaves rows with others, or in another order: listed. */
    dcsr_status (*drop_moved)(dcsr_i_changed_there *changed);
    /* Copies the list to host memory, and waits. */
    dcsr_status (*bring)(uint64_t *rows, const dcsr_i_changed_there *changed);
    void (*close)(dcsr_i_changed_there *changed);
} dcsr_i_finds_changed;

typedef struct dcsr_i_engine {
    /* Makes matrix->current, an empty table of version 1, and the arena. close() frees both, and what else
     * the engine has hung on the matrix, also after an open() that failed. */
    dcsr_status (*open)(dcsr_matrix *matrix, uint64_t rows, uint64_t cols);
    void (*close)(dcsr_matrix *matrix);

    /* Batches that wait: the pool in which their entries are kept in host memory; whether their values stand
     * behind all keys, not each beside its key; how many entries one has at most; whether those that wait are
     * applied together. check_arrays(): whether a call's arrays are where the call reads them. */
    dcsr_i_pool entries_pool;
    bool values_apart, joins;
    bool in_place; /* entries are in host memory: one may be changed where it is (in_place.c) */
    uint64_t most_entries;
    uint64_t applied_here; /* a batch of so many from the host may be applied by the thread that gives it */
    dcsr_status (*check_arrays)(const dcsr_matrix *matrix, const struct dcsr_i_entries *e);
    /* Falling asleep and being woken takes some 50 microseconds, ten times what a small batch takes on the
     * cpu. So an idle worker, and a caller that waits for a change, spin for about as long as that before they
     * sleep; they pause between checks, and yield, so that the thread that is waited for may have this core if
     * it has no other. */
    uint64_t spin_nanoseconds;

    /* The way of a batch to the device, before it is applied. All are NULL where entries stay in host memory.
     * stage(): checks a large batch from the host, packs it and brings it there, without a lock; on failure
     * nothing is left behind; unstage() gives it back. expect() takes what a batch needs whose arrays are on
     * the device, which may be nothing where the caller is to apply it `here`, and they are ready to be read; arrive()
     * puts the work that reads them behind what the caller's stream holds, or gives all
     * back where the operation was not queued; both with the queue's lock. cancel() gives back what an
     * operation has there that will not be applied. */
    dcsr_status (*stage)(dcsr_i_operation *operation, const struct dcsr_i_entries *e, int threads);
    void (*unstage)(dcsr_i_operation *operation);
    dcsr_status (*expect)(dcsr_matrix *matrix, dcsr_i_operation *operation, const struct dcsr_i_entries *e,
                          bool here);
    void (*arrive)(dcsr_matrix *matrix, dcsr_i_operation *operation, const struct dcsr_i_entries *e,
                   bool queued);
    void (*cancel)(dcsr_matrix *matrix, dcsr_i_operation *operation);

    /* Changes. */
    dcsr_status (*apply_entries)(dcsr_matrix *matrix, dcsr_i_operation *operation);
    /* Inserts the entries of the rows of A into its transpose, by an operation that has all but the entries; NULL
     * where they are packed in host memory. TOO_LARGE, OUT_OF_MEMORY. */
    dcsr_status (*insert_transposed)(dcsr_matrix *transpose, dcsr_i_operation *operation,
                                     const dcsr_i_rows *rows);
    dcsr_status (*apply_resize)(dcsr_matrix *matrix, uint64_t rows, uint64_t cols);
    /* Moves all rows one behind the other; none is unresolved. */
    dcsr_status (*tighten)(dcsr_matrix *matrix);
    /* Makes an empty matrix that nobody else knows one that shows what a held version of another does; NULL: by way
     * of a CSR view. */
    dcsr_status (*clone)(dcsr_matrix *clone, struct dcsr_i_held_version *hold);
    /* Fills an empty matrix that nobody else knows from CSR in host memory that has been checked; *marked
     * says how many rows may hold duplicates. */
    dcsr_status (*fill)(dcsr_matrix *matrix, const dcsr_csr *csr, uint64_t *marked);
    /* The same of CSR whose rows ascend strictly, with its columns and values, which are not read only, as the first
     * places of the arena; on failure they are still the caller's. NULL: they have to be copied. */
    dcsr_status (*adopt)(dcsr_matrix *matrix, const dcsr_csr *csr, const struct dcsr_i_home *given);
    /* Fills the matrix from CSR in the device's memory, which is checked there, in the order of the caller's stream.
     * NULL where the device is the host. */
    dcsr_status (*fill_from_device)(dcsr_matrix *matrix, const dcsr_csr *csr, void *stream, uint64_t *marked);
    /* Makes what a CSR in host memory holds, whose rows ascend strictly, the content of a matrix of its
     * shape, and publishes it. NULL where results are written straight into the arena (result.c). */
    dcsr_status (*replace)(dcsr_matrix *matrix, const dcsr_csr *csr);
    /* Resolves rows where they are, before rewrite() looks for what is left (dcsr_i_settle()); NULL: it never does. */
    uint64_t (*settle)(dcsr_matrix *matrix, const struct dcsr_i_selection *selection);
    /* Builds a table of version `version` like `base` - which must be the current one, unless it is for a
     * view - in which the selected rows are resolved and stand in one segment each; columns of resolved rows
     * ascend. On failure nothing is left behind. */
    dcsr_status (*rewrite)(struct dcsr_i_rewritten *result, dcsr_matrix *matrix, const dcsr_i_table *base,
                           uint64_t version, const struct dcsr_i_selection *selection);
    /* Frees what `own` does not share with base, which may be NULL. */
    void (*free_unshared)(dcsr_matrix *matrix, dcsr_i_table *own, const dcsr_i_table *base);
    /* Frees what no version can see any more. Called with the lock of `spare`, by any thread. */
    void (*free_retired)(dcsr_matrix *matrix, const struct dcsr_i_retired *retired);
    /* Gives back what was kept for changes to come; the matrix is idle. */
    void (*trim)(dcsr_matrix *matrix);

    /* Reading. The accessor is made by rows_of() from a table, by rows_of_csr() from a CSR that is filled. */
    dcsr_i_rows (*rows_of)(const dcsr_matrix *matrix, const dcsr_i_table *table);
    dcsr_i_rows (*rows_of_csr)(const struct dcsr_i_csr *csr);
    dcsr_status (*measure)(dcsr_i_measures *result, dcsr_context *context, const dcsr_i_rows *rows);
    /* The entries of a version that are left once it is resolved; *unresolved gets how many are in rows that
     * are not. Cannot fail: where there is no memory, it takes longer. NULL: a view has to be made. */
    uint64_t (*count_live)(dcsr_matrix *matrix, const dcsr_i_table *table, uint64_t *unresolved);
    dcsr_status (*look_up)(dcsr_context *context, const dcsr_i_rows *rows, dcsr_policy policy, size_t n,
                           const uint64_t *row, const uint64_t *col, void *values, bool *stored);
    /* Up to `capacity` entries of a row to host memory; *length is the row's. */
    dcsr_status (*read_row)(dcsr_context *context, const dcsr_i_rows *rows, uint64_t row, uint64_t capacity,
                            uint32_t *columns, void *values, uint64_t *length);
    /* Fills the arrays of csr, whose sizes are set: offsets, and the gathered columns and values unless it
     * lends the store's (csr->hold). On failure csr_free() frees what was made. */
    dcsr_status (*csr_fill)(struct dcsr_i_csr *csr, dcsr_matrix *matrix, const dcsr_i_table *table);
    /* Frees the arrays that are the CSR's own. */
    void (*csr_free)(struct dcsr_i_csr *csr);
    /* The transpose of rows of this engine as CSR, where its memory is: row numbers ascend within each
     * column, equal ones stand as they stood in the row. */
    dcsr_status (*transpose)(struct dcsr_i_csr **csc, dcsr_context *context, const dcsr_i_rows *rows,
                             uint64_t version);
    /* Whether a page of rows first .. end-1, fewer than the table has, is in use and was made after a version. */
    bool (*touched)(dcsr_matrix *matrix, const dcsr_i_table *table, uint64_t first, uint64_t end,
                    uint64_t version);
    /* The same entries as a CSR in host memory, of the cpu's engine; NULL where the accessor's entries are in
     * host memory already. */
    dcsr_status (*download)(struct dcsr_i_csr **csr, dcsr_context *context, const dcsr_i_rows *rows);
    /* Of two versions of a matrix, each as published or as a CSR: the rows that do not hold the same entries in the
     * same order. NULL where the entries are in host memory, to be compared there. */
    dcsr_status (*find_candidates)(dcsr_i_candidates *candidates, dcsr_context *context,
                                   const dcsr_i_rows *from, const dcsr_i_rows *to);
    const dcsr_i_finds_changed *finds_changed; /* likewise */
} dcsr_i_engine;

extern const dcsr_i_engine dcsr_i_cpu_engine;
extern const dcsr_i_engine dcsr_i_cuda_engine; /* in builds with CUDA */

#endif

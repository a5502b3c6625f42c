/* matrix.h: the dynamic sparse matrix.
 *
 * A matrix of rows x cols changes through batches: inserting, deleting, resizing, defragmenting. Each such
 * call checks its arguments, copies what it needs, queues the change and returns; a worker thread of the
 * matrix applies the queue in order and publishes a new version after each step. Whoever needs to know when a
 * change is in asks for a ticket.
 *
 *      caller --insert--> [ queue ] --worker--> sort, combine, plan, allocate, scatter --> version v+1
 *                                                                                             |
 *      reader <--- dcsr_view_create(): the last published version, as long as it is held <----+
 *
 * A change is all or nothing: a batch with one index out of range is refused whole when it is queued; one
 * that runs out of memory leaves the matrix as it was, and its ticket says so.
 *
 * Threads: any number of threads may call any function here on the same matrix, except that
 * dcsr_matrix_destroy() must be the last call made on it. Changes queued by one thread are applied in its
 * order; those of several threads in the order in which their calls reached the queue. What waits for the
 * queue fails with DCSR_ERROR_DEADLOCK where an operator of an operation into the matrix calls it, since the
 * operation waits for the operator (dcsr/operators.h). */
#ifndef DCSR_MATRIX_H
#define DCSR_MATRIX_H

#include <dcsr/context.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dcsr_matrix dcsr_matrix;
typedef struct dcsr_ticket dcsr_ticket;

/* The type of the values. A pattern-only matrix stores no values; each entry then counts as 1. */
typedef enum dcsr_type {
    DCSR_PATTERN = 0,
#define DCSR_X(NAME, name, ctype, minimum, maximum) DCSR_##NAME,
#include <dcsr/types.def>
#undef DCSR_X
    DCSR_TYPE_COUNT
} dcsr_type;

/* Bytes of one value (0 for pattern), and the type's name ("fp64", "pattern"); 0 and NULL for anything else.
 */
DCSR_API size_t dcsr_type_size(dcsr_type type);
DCSR_API const char *dcsr_type_name(dcsr_type type);

/* What inserting means where an entry is stored already. Within a batch the same rule holds, in the order
 * given. For bool, sum and max are "or", min is "and". Of a number and NaN, min and max are the number.
 *
 * Batches that wait may be joined, and their entries combined with one another before they meet what is
 * stored. That changes no result but one: a sum of floating-point numbers is rounded in another order, so its
 * last bits depend on how batches were joined. */
typedef enum dcsr_policy {
    DCSR_POLICY_DEFAULT = 0, /* any for pattern-only matrices, last for the others */
    DCSR_POLICY_KEEP,        /* the new entry stands beside the old one; both count */
    DCSR_POLICY_SUM,
    DCSR_POLICY_MIN,
    DCSR_POLICY_MAX,
    DCSR_POLICY_LAST, /* the new value replaces the old one */
    DCSR_POLICY_ANY,  /* either value may stay (the one stored first does) */
    DCSR_POLICY_COUNT
} dcsr_policy;

DCSR_API const char *dcsr_policy_name(dcsr_policy policy);

typedef enum dcsr_defragmentation {
    /* The worker tidies by itself: it moves rows when reading their extra segments has cost more than moving
       would, resolves rows when views had to do it twice or a quarter of what is stored is tombstones, and
       moves everything when the arena holds three times what is stored. */
    DCSR_DEFRAGMENT_AUTO = 0,
    DCSR_DEFRAGMENT_OFF /* only when dcsr_matrix_defragment() is called */
} dcsr_defragmentation;

/* The largest matrix: a column is stored in 31 bits, a row number in 32. */
#define DCSR_MAX_ROWS ((uint64_t)1 << 32)
#define DCSR_MAX_COLS ((uint64_t)1 << 31)
/* Segments a row may have: the least, the default and the most. */
#define DCSR_MIN_SEGMENTS     2
#define DCSR_DEFAULT_SEGMENTS 4
#define DCSR_MAX_SEGMENTS     8

/* Zero-initialise, then set what should differ from the default. */
typedef struct dcsr_matrix_options {
    dcsr_policy policy;
    int segments; /* K: segments per row before the row is rewritten into one; 0: DCSR_DEFAULT_SEGMENTS */
    dcsr_defragmentation defragmentation;
    uint64_t
        queue_limit; /* bytes of batches that may be waiting before an insert waits for room; 0: 512 MiB */
    bool refuse_when_full; /* return DCSR_ERROR_BUSY instead of waiting for room */
    /* The matrix keeps its transpose beside itself, by the same batches, so that views have both at once and
       whatever needs columns (CSC views, products with the transpose) costs no transposition. Inserting and
       removing then take a little more than twice as long, and memory is twice as much. Where there is no
       memory for its part, a change is applied all the same; the transpose is given up then, and built again
       in the background once it is asked for. At most 2^31 rows. */
    bool maintain_transpose;
} dcsr_matrix_options;

/* Creates an empty matrix. rows and cols may be 0. options may be NULL. *matrix is NULL on failure.
 * Errors: TOO_LARGE (beyond DCSR_MAX_ROWS, DCSR_MAX_COLS), INVALID_ARGUMENT, OUT_OF_MEMORY. Cost: some
 * kilobytes, whatever the size; on a device 4 bytes there and on the host for each 1024 rows.
 *
 * Rows are kept by pages of 64, and pages without entries take neither memory nor time: a matrix of 2^32 rows
 * that holds three entries costs what a small one does, in all calls but those that say otherwise. */
DCSR_API dcsr_status dcsr_matrix_create(dcsr_matrix **matrix, dcsr_context *context, dcsr_type type,
                                        uint64_t rows, uint64_t cols, const dcsr_matrix_options *options);

/* Drops the caller's hold on the matrix. Changes that have not begun are cancelled: their tickets say
 * DCSR_ERROR_CANCELLED. (Call dcsr_matrix_wait() first to have them applied; it also tells what failed.)
 * Views of the matrix stay readable until they are destroyed. NULL does nothing, and so does a call by an
 * operator of an operation into the matrix (dcsr/operators.h). */
DCSR_API void dcsr_matrix_destroy(dcsr_matrix *matrix);

/* Queues n entries for insertion: (rows[i], cols[i]) with values[i]. values points to n values of the
 * matrix's type and must be NULL for a pattern-only matrix. All three arrays are copied before the call
 * returns. NaN and infinities are values like any other.
 *
 * ticket may be NULL; otherwise *ticket is the caller's, to be destroyed with dcsr_ticket_destroy(), and NULL
 * on failure. Errors: INDEX_OUT_OF_RANGE (the message names the first offender; nothing is queued),
 * TYPE_MISMATCH, BUSY, OUT_OF_MEMORY. The bounds are those the matrix has once the resizes queued before have
 * been applied. Cost: one copy here; O(n) radix passes and O(n + touched rows) later on the worker, whatever
 * the matrix's size (on a device its root is copied too: 4 bytes for each 1024 rows). */
DCSR_API dcsr_status dcsr_matrix_insert(dcsr_matrix *matrix, size_t n, const uint64_t *rows,
                                        const uint64_t *cols, const void *values, dcsr_ticket **ticket);

/* Queues n deletions. Deleting what is not stored is no error. Appends tombstones, so it costs what inserting
 * costs; an insertion that is queued later brings the entry back with its new value. Arguments and errors as
 * for insert. */
DCSR_API dcsr_status dcsr_matrix_remove(dcsr_matrix *matrix, size_t n, const uint64_t *rows,
                                        const uint64_t *cols, dcsr_ticket **ticket);

/* The same for arrays in the memory of the context's GPU. They are read in the order of the caller's `stream`
 * (a cudaStream_t, that no graph is being captured from; NULL is the legacy default stream): after what the
 * stream holds when the call is made, and before what is put on it later. So they need not be ready yet, and
 * may be overwritten or freed, in the order of the stream, as soon as the call returns. The call waits
 * neither for the stream nor for the device.
 *
 * An entry that is out of range is found on the device and told by the ticket, or by dcsr_matrix_wait() where
 * there is none: INDEX_OUT_OF_RANGE, naming the first offender; nothing of the batch is applied.
 * Errors of the call besides those above: INVALID_ARGUMENT (an array is NULL, in host memory, or in that of
 * another GPU; the matrix is on the cpu), NOT_BUILT (a library without CUDA), TOO_LARGE (2^32 entries: split
 * the batch). Memory: 8 bytes an entry and 8 for its value wait on the device with it, and count as
 * pending_bytes. dcsr_matrix_destroy() waits until the arrays have been read. */
DCSR_API dcsr_status dcsr_matrix_insert_device(dcsr_matrix *matrix, size_t n, const uint64_t *rows,
                                               const uint64_t *cols, const void *values, void *stream,
                                               dcsr_ticket **ticket);
DCSR_API dcsr_status dcsr_matrix_remove_device(dcsr_matrix *matrix, size_t n, const uint64_t *rows,
                                               const uint64_t *cols, void *stream, dcsr_ticket **ticket);

/* Queues a change of the dimensions, also while other work is pending. Entries outside the new bounds are
 * dropped. Errors: TOO_LARGE, OUT_OF_MEMORY. Growing costs some kilobytes; dropping rows the same, and the
 * time to go over what is dropped; dropping columns reads every entry, and moves the rows that reach beyond.
 */
DCSR_API dcsr_status dcsr_matrix_resize(dcsr_matrix *matrix, uint64_t rows, uint64_t cols,
                                        dcsr_ticket **ticket);

typedef enum dcsr_defragment_scope {
    DCSR_DEFRAGMENT_WHOLE =
        0, /* every row into one tight segment, rows in order: a CSR view then lends pointers */
    DCSR_DEFRAGMENT_SELECTED /* only rows of several segments, each into one segment with slack */
} dcsr_defragment_scope;

/* Queues a defragmentation: duplicates and deletions are resolved, then rows are moved, without sorting.
 * Views taken before keep reading the old places, which are given back when the last of them goes. Errors:
 * OUT_OF_MEMORY (through the ticket; all is as it was). Cost: O(nnz) moved for the whole matrix, and room for
 * all that is moved beside what is there. */
DCSR_API dcsr_status dcsr_matrix_defragment(dcsr_matrix *matrix, dcsr_defragment_scope scope,
                                            dcsr_ticket **ticket);

/* Waits until everything queued before the call has been applied - of a durable matrix (dcsr/persist.h):
 * is safe. Returns the first failure of a change that nobody held a ticket for since the last wait, or
 * DCSR_OK. */
DCSR_API dcsr_status dcsr_matrix_wait(dcsr_matrix *matrix);

/* Tickets. A ticket outlives its matrix and its context. */

/* Sets *done to whether the change has been applied (of a durable matrix: is safe) or has failed; never
 * waits. */
DCSR_API dcsr_status dcsr_ticket_poll(const dcsr_ticket *ticket, bool *done);
/* Waits for the change and returns what became of it, the same each time it is asked. On failure
 * dcsr_context_error() gives the sentence. */
DCSR_API dcsr_status dcsr_ticket_wait(dcsr_ticket *ticket);
/* Gives the ticket back, without waiting. NULL does nothing. */
DCSR_API void dcsr_ticket_destroy(dcsr_ticket *ticket);

/* Reading single entries. These wait for what the matrix has queued so far, so a thread reads what it wrote.
 * To read many without waiting, take a view. */

/* *stored tells whether (row, col) is stored. If it is and value is not NULL, *value gets its value (of the
 * matrix's type; nothing is written for a pattern-only matrix). Duplicates kept by DCSR_POLICY_KEEP give the
 * one stored last. Errors: INDEX_OUT_OF_RANGE. Cost: O(length of the row). */
DCSR_API dcsr_status dcsr_matrix_get(dcsr_matrix *matrix, uint64_t row, uint64_t col, void *value,
                                     bool *stored);
/* The same for n places at once; values may be NULL, else has room for n values (untouched where nothing is
 * stored). */
DCSR_API dcsr_status dcsr_matrix_get_many(dcsr_matrix *matrix, size_t n, const uint64_t *rows,
                                          const uint64_t *cols, void *values, bool *stored);

/* The matrix as it stands at its last published version. */
typedef struct dcsr_matrix_info {
    dcsr_type type;
    dcsr_policy policy;
    uint64_t rows, cols;
    uint64_t version;         /* counts published changes */
    uint64_t stored;          /* entries stored, with duplicates that are not combined yet and tombstones */
    uint64_t segments;        /* segments in use over all rows */
    uint64_t max_segments;    /* the most that one row has in use */
    uint64_t unresolved_rows; /* rows that may hold duplicates to combine, or tombstones */
    uint64_t arena_entries;   /* entries the arena has handed out and not got back, slack included */
    uint64_t bytes; /* memory of the matrix: arena, row table, retired versions, those of a transpose that it
                       maintains included. What a change has freed in
                       the arena is kept for the next one and given back to the system a tenth of a second
                       after the last */
    uint64_t pending_bytes;     /* bytes of batches that are queued, or not safe yet */
    uint64_t batches;           /* batches applied */
    uint64_t inserted, deleted; /* entries given to insert and remove so far */
    uint64_t row_rewrites;      /* rows moved because their segments ran out */
    uint64_t defragmentations;  /* whole and selected ones */
    uint64_t views;             /* versions that views hold */
    double busy_seconds;        /* time the worker has spent applying */
} dcsr_matrix_info;

/* Fills *info without waiting for pending work. Cost: O(rows in use), pages of 64 rows at a time. */
DCSR_API dcsr_status dcsr_matrix_get_info(dcsr_matrix *matrix, dcsr_matrix_info *info);

/* The number of live entries, after duplicates are combined and deletions taken out, of the last published
 * version. Cost: O(1) when no row is unresolved, else O(entries in those rows), without a copy of them; on a
 * device as for creating a view. */
DCSR_API dcsr_status dcsr_matrix_nnz(dcsr_matrix *matrix, uint64_t *nnz);

#ifdef __cplusplus
}
#endif
#endif

/* matrix.h: the dynamic sparse matrix.
 *
 * A matrix of rows x cols is changed by inserting, removing, resizing and defragmenting. Each such call
 * checks its arguments, copies what it needs, queues the change and returns; a worker thread of the matrix
 * applies the queue in order and publishes a new version after each step. A caller that needs to know when a
 * change has been applied asks for a ticket. (The calling thread itself applies a small change that finds the queue
 * empty, before it returns, but one with arrays on a device; what is promised is the same.)
 *
 *      caller --insert--> [ queue ] --worker--> sort, combine, plan, allocate, scatter --> version v+1
 *                                                                                             |
 *      reader <--- dcsr_view_create(): the last published version, as long as it is held <----+
 *
 * A change is all or nothing: a batch with an index out of range is refused as a whole when it is queued; one
 * that runs out of memory leaves the matrix as it was, and its ticket says so.
 *
 * Threads: any number of threads may call any function here on the same matrix, except that
 * dcsr_matrix_destroy() must be the last call made on it. Changes queued by one thread are applied in its
 * order; those of several threads in the order in which their calls reached the queue. A call that waits for
 * the queue fails with DCSR_ERROR_DEADLOCK when it is made by an operator of an operation into the matrix,
 * since the operation waits for the operator (dcsr/operators.h). */
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

/* Bytes of one value (0 for pattern), and the type's name ("fp64", "pattern"); 0 and NULL for what is no
 * type. */
DCSR_API size_t dcsr_type_size(dcsr_type type);
DCSR_API const char *dcsr_type_name(dcsr_type type);

/* What inserting does where an entry is already stored. The same rule holds within a batch, in the order
 * given. For bool, sum and max are "or", min is "and". The min and the max of a number and NaN are the
 * number.
 *
 * Waiting batches may be joined, and their entries combined with one another before they meet what is stored.
 * That changes only sums of floating-point numbers, which are rounded in another order, so that their last
 * bits depend on how batches were joined; on a GPU they are in any order, which may be another each time. */
typedef enum dcsr_policy {
    DCSR_POLICY_DEFAULT = 0, /* any for pattern-only matrices, last for the others */
    DCSR_POLICY_KEEP,        /* the new entry is stored beside the old one; both count */
    DCSR_POLICY_SUM,
    DCSR_POLICY_MIN,
    DCSR_POLICY_MAX,
    DCSR_POLICY_LAST, /* the new value replaces the old one */
    DCSR_POLICY_ANY,  /* either value may stay (the one stored first does) */
    DCSR_POLICY_COUNT
} dcsr_policy;

DCSR_API const char *dcsr_policy_name(dcsr_policy policy);

typedef enum dcsr_defragmentation {
    /* The matrix is maintained by itself: the worker moves rows when reading their extra segments has cost more than
       moving them would, and a portion of them behind each change where many tombstones are stored, or the arena
       holds much more than is stored; what a view has to resolve is resolved for later ones too. */
    DCSR_DEFRAGMENT_AUTO = 0,
    DCSR_DEFRAGMENT_OFF /* only when dcsr_matrix_defragment() is called */
} dcsr_defragmentation;

/* When entries that are stored more than once are combined, and deletions applied. Views show the same in all
 * cases; what differs is who pays for it, and when. */
typedef enum dcsr_resolution {
    /* With insertion while readers ask for views without duplicates after every few batches, else when somebody
       reads. */
    DCSR_RESOLVE_AUTO = 0,
    DCSR_RESOLVE_ON_INSERT, /* each batch is merged into the rows that it touches, so that any view is free */
    DCSR_RESOLVE_ON_READ    /* batches are appended, and views resolve the rows that they have touched */
} dcsr_resolution;

/* The largest matrix: a column is stored in 31 bits, a row number in 32. */
#define DCSR_MAX_ROWS ((uint64_t)1 << 32)
#define DCSR_MAX_COLS ((uint64_t)1 << 31)
/* Segments a row may have: the least, the default and the most. */
#define DCSR_MIN_SEGMENTS     2
#define DCSR_DEFAULT_SEGMENTS 4
#define DCSR_MAX_SEGMENTS     8

/* Of dcsr_matrix_options.slack. */
#define DCSR_SLACK_NONE (-1.0)

/* Zero-initialise, then set what should differ from the default. */
typedef struct dcsr_matrix_options {
    dcsr_policy policy;
    int segments; /* K: segments per row before the row is rewritten into one; 0: DCSR_DEFAULT_SEGMENTS */
    dcsr_defragmentation defragmentation;
    dcsr_resolution resolve;
    uint64_t
        queue_limit; /* bytes that waiting changes may take, each about 900 besides its entries; when they
                              are reached, the next call waits. 0: 512 MiB */
    bool refuse_when_full; /* return DCSR_ERROR_BUSY instead of waiting for room */
    /* The matrix also maintains its transpose, from the same batches, so that views have both at once and
       whatever needs columns (CSC views, products with the transpose) costs no transposition. Inserting and
       removing then take a little more than twice as long, and twice the memory. If there is no memory for
       the transpose, a change is applied all the same; the transpose is then given up, and built again in the
       background when something next needs it. At most 2^31 rows. */
    bool maintain_transpose;
    /* An insertion with indices outside makes the matrix larger, as dcsr_matrix_grow() does, to the largest row and
       column in it, plus one. Removing and reading outside stay errors, and so does inserting arrays on a device,
       whose indices the host does not see: grow first. */
    bool grow;
    /* Room for growth that a new segment gets, as a share of the row's length: more makes insertion faster, less saves
       memory and makes reading a matrix faster that has grown since it was defragmented. 0: the default, a half;
       DCSR_SLACK_NONE: none; else up to 1, in steps of 1/65536. */
    double slack;
} dcsr_matrix_options;

/* Creates an empty matrix. rows and cols may be 0. options may be NULL. *matrix is NULL on failure.
 * Errors: TOO_LARGE (beyond DCSR_MAX_ROWS, DCSR_MAX_COLS), INVALID_ARGUMENT, OUT_OF_MEMORY. Cost: some
 * kilobytes, whatever the size; on a device also 4 bytes for each 1024 rows, both there and on the host.
 *
 * Rows are kept in pages of 64, and pages without entries take neither memory nor time: a matrix of 2^32 rows
 * that holds three entries costs what a small one does, unless a call says otherwise. */
DCSR_API dcsr_status dcsr_matrix_create(dcsr_matrix **matrix, dcsr_context *context, dcsr_type type,
                                        uint64_t rows, uint64_t cols, const dcsr_matrix_options *options);

/* Creates a matrix with the same entries, of the same context, type and options (maintain_transpose included), to be
 * changed and destroyed independently: before or after the one it was made from, by other threads, and cloned again.
 * Waits for what has been queued so far, as a view with DCSR_VIEW_LATEST does, so that a thread finds in the clone what
 * it wrote; what other threads queue meanwhile may be in it or not. The clone has the tag of its version; it is not
 * durable, even where the matrix is. dcsr_view_diff() compares views of a matrix, its clones, and theirs.
 *
 * Cost on the cpu: O(1), some kilobytes: the two share entries and row table, and either copies pages of 64 rows and
 * rows when it changes them first. As long as they share anything
 *   - the matrix keeps the version that the clone was made from, as for a view (dcsr_matrix_info.views), and so changes
 *     nothing in place: dcsr_matrix_set() copies its row;
 *   - what dcsr_matrix_get_info() says of memory is what each has for itself: what is shared counts for the matrix that
 *     stored it.
 * Defragmenting the clone whole, or replacing all of it by a result, ends that. A clone keeps what it shares of its
 * origin also when that has been destroyed; so in a chain of clones, each made from the one before, the 64th is a copy.
 * A matrix of up to 512 entries' room is
 * copied at once, and so are arrays that dcsr_matrix_import_csr() has taken over and that are still in use; these
 * clones share nothing. So does one on a device: there the entries are copied at once, at the speed of memory, in about
 * the time of a CSR view and of dcsr_matrix_from_csr_device(), and the transpose is built anew.
 *
 * *clone is NULL on failure. Errors: OUT_OF_MEMORY, DEADLOCK (called by an operator of an operation into it). */
DCSR_API dcsr_status dcsr_matrix_clone(dcsr_matrix **clone, dcsr_matrix *matrix);

/* Releases the matrix. Changes that have not begun are cancelled: their tickets say DCSR_ERROR_CANCELLED.
 * (Call dcsr_matrix_wait() first to have them applied; it also tells what failed.) Views of the matrix stay
 * readable until they are destroyed. Does nothing when given NULL, or when called by an operator of an
 * operation into the matrix (dcsr/operators.h). */
DCSR_API void dcsr_matrix_destroy(dcsr_matrix *matrix);

/* Queues n entries for insertion: (rows[i], cols[i]) with values[i]. values points to n values of the
 * matrix's type and must be NULL for a pattern-only matrix. All three arrays are copied before the call
 * returns. NaN and infinities are values like any other.
 *
 * ticket may be NULL; otherwise *ticket is the caller's, to be destroyed with dcsr_ticket_destroy(), and is
 * NULL on failure. Errors: INDEX_OUT_OF_RANGE (the message names the first offender; nothing is queued),
 * TYPE_MISMATCH, BUSY, OUT_OF_MEMORY. The bounds are those that the matrix will have after the resizes queued
 * before; with dcsr_matrix_options.grow there are none but the largest matrix's, and what the matrix lacks is queued
 * just ahead of the batch, as a change of its own. Cost: one copy here; O(n) radix passes and O(n + touched rows)
 * later on the worker, whatever the matrix's size (on a device its root is copied too: 4 bytes for each 1024 rows). */
DCSR_API dcsr_status dcsr_matrix_insert(dcsr_matrix *matrix, uint64_t n, const uint64_t *rows,
                                        const uint64_t *cols, const void *values, dcsr_ticket **ticket);

/* Queues n deletions. Deleting what is not stored is not an error. Tombstones are appended, so a deletion
 * costs what an insertion costs; an entry that is inserted later is stored with its new value. Arguments and
 * errors: as dcsr_matrix_insert(). */
DCSR_API dcsr_status dcsr_matrix_remove(dcsr_matrix *matrix, uint64_t n, const uint64_t *rows,
                                        const uint64_t *cols, dcsr_ticket **ticket);

/* How far a caller has come in what it reads its batches from: two numbers of its own. */
typedef struct dcsr_tag {
    uint64_t position, mark;
} dcsr_tag;

/* The same with a tag, which the version that has the batch gets, and all after it until another is given. A
 * store keeps it with what it belongs to: in a durable matrix the log has batch and tag or neither, and each
 * snapshot has the tag of the version that it shows (dcsr_store_get_tag()). So who reads a file into a matrix
 * goes on, however it ended, behind the last batch that was kept. A batch that fails moves no tag, but a later
 * one may. Batches that are joined have the last one's tag. n may be 0: that moves the tag alone. tag may be
 * NULL: then these are the calls above. */
DCSR_API dcsr_status dcsr_matrix_insert_tagged(dcsr_matrix *matrix, uint64_t n, const uint64_t *rows,
                                               const uint64_t *cols, const void *values, const dcsr_tag *tag,
                                               dcsr_ticket **ticket);
DCSR_API dcsr_status dcsr_matrix_remove_tagged(dcsr_matrix *matrix, uint64_t n, const uint64_t *rows,
                                               const uint64_t *cols, const dcsr_tag *tag,
                                               dcsr_ticket **ticket);

/* The two without a tag for arrays in the memory of the context's GPU, read in the order of the caller's `stream`
 * (a cudaStream_t that is not being captured into a graph; NULL is the legacy default stream): after the work
 * that is on the stream when the call is made, and before work that is put on it later. So the arrays need
 * not be ready yet, and may be overwritten or freed, in the order of the stream, as soon as the call returns.
 * The call does not wait for the stream. Nor does it wait for the device, but for what it does itself: up to 260
 * thousand entries may be applied by the call, as few from the host are, if the stream has nothing left to do and no
 * other change is on its way; after eight of these that nobody has waited for, or read, batches are queued. (Of the
 * legacy default stream that is never assumed.)
 *
 * An entry out of range is found on the device and reported by the ticket, or without one by
 * dcsr_matrix_wait(): INDEX_OUT_OF_RANGE, naming the first offender; nothing of the batch is applied. Errors
 * of the call besides those above: INVALID_ARGUMENT (an array is NULL, in host memory, or in that of another
 * GPU; the matrix is on the cpu), NOT_BUILT (a library without CUDA), TOO_LARGE (2^32 entries: split the
 * batch). Memory: while a batch waits, it takes 8 bytes on the device for each entry and 8 for its value,
 * which count as pending_bytes. dcsr_matrix_destroy() waits until the arrays have been read. */
DCSR_API dcsr_status dcsr_matrix_insert_device(dcsr_matrix *matrix, uint64_t n, const uint64_t *rows,
                                               const uint64_t *cols, const void *values, void *stream,
                                               dcsr_ticket **ticket);
DCSR_API dcsr_status dcsr_matrix_remove_device(dcsr_matrix *matrix, uint64_t n, const uint64_t *rows,
                                               const uint64_t *cols, void *stream, dcsr_ticket **ticket);

/* Queues a change of the dimensions, even while other changes are pending. Entries outside the new bounds are
 * dropped. Errors: TOO_LARGE, BUSY, OUT_OF_MEMORY. Cost: growing, some kilobytes; dropping rows, the same and a
 * pass over what is dropped; dropping columns reads every entry, and moves the rows that reach beyond the new
 * bound. */
DCSR_API dcsr_status dcsr_matrix_resize(dcsr_matrix *matrix, uint64_t rows, uint64_t cols,
                                        dcsr_ticket **ticket);

/* Queues a change that makes the matrix at least this large: dimensions that are larger already stay. So threads may
 * grow a matrix at the same time, which resizing would shrink where one of them has seen it smaller. Errors and cost:
 * as resizing to larger dimensions. */
DCSR_API dcsr_status dcsr_matrix_grow(dcsr_matrix *matrix, uint64_t rows, uint64_t cols,
                                      dcsr_ticket **ticket);

typedef enum dcsr_defragment_scope {
    /* Every row into one segment without slack, rows in order: a CSR view then lends the store's arrays. */
    DCSR_DEFRAGMENT_WHOLE = 0,
    /* Only rows of several segments, each into one segment with slack. */
    DCSR_DEFRAGMENT_SELECTED
} dcsr_defragment_scope;

/* Queues a defragmentation: duplicates and tombstones are resolved, then rows are moved, without sorting.
 * Views created before keep reading the old entries, which are freed when the last of these views is
 * destroyed. Errors: BUSY; OUT_OF_MEMORY (through the ticket; the matrix is as it was). Cost: O(nnz) for the whole
 * matrix, and memory for a copy of everything that is moved. */
DCSR_API dcsr_status dcsr_matrix_defragment(dcsr_matrix *matrix, dcsr_defragment_scope scope,
                                            dcsr_ticket **ticket);

/* Waits until everything queued before the call has been applied or, in a durable matrix (dcsr/persist.h), is
 * safe on the disk. Returns the first failure since the last wait of a change that has no ticket, or
 * DCSR_OK. */
DCSR_API dcsr_status dcsr_matrix_wait(dcsr_matrix *matrix);

/* One entry, with an answer. These calls return when the change has been applied (in a durable matrix: when it is safe
 * on the disk), behind all that has been queued before, and report their own failures; a failed call leaves the
 * matrix as it was. They are for programs that set and get entries by turns: where no view or other reader holds a
 * version they change the entry where it is, which takes a fraction of a microsecond and no memory; where one does,
 * the row is copied as for any change. Each makes a version, like an insertion of one entry. On a device each takes a
 * turn of the matrix's queue, as long as a small batch: batches are for many entries. Any thread may call them. */

/* Makes the value at (row, col) `value` (of the matrix's type; NULL for a pattern-only matrix), whatever the policy:
 * what was stored there, duplicates kept by DCSR_POLICY_KEEP included, is replaced; where nothing was, the entry is
 * inserted. In a durable matrix of a policy other than LAST (or, without values, of KEEP), and on a device of KEEP, an
 * entry that is stored is removed and then inserted, which are two versions: where the second fails, the entry is gone.
 * Errors: INDEX_OUT_OF_RANGE, TYPE_MISMATCH, OUT_OF_MEMORY, DEADLOCK (called by an operator of an operation into this
 * matrix). Cost: O(length of the row). */
DCSR_API dcsr_status dcsr_matrix_set(dcsr_matrix *matrix, uint64_t row, uint64_t col, const void *value);
/* Removes the entry at (row, col), with all duplicates. *removed, unless NULL, gets whether there was one; where there
 * was none nothing happens. Errors and cost: as dcsr_matrix_set(), but for values. */
DCSR_API dcsr_status dcsr_matrix_remove_one(dcsr_matrix *matrix, uint64_t row, uint64_t col, bool *removed);

/* Tickets. A ticket outlives its matrix and its context. */

/* Sets *done to whether the change has been applied (in a durable matrix: is safe) or has failed; never
 * waits. */
DCSR_API dcsr_status dcsr_ticket_poll(const dcsr_ticket *ticket, bool *done);
/* Waits for the change and returns its status, the same in every call. On failure dcsr_thread_error() gives
 * the sentence. */
DCSR_API dcsr_status dcsr_ticket_wait(dcsr_ticket *ticket);
/* Destroys the ticket, without waiting. NULL does nothing. */
DCSR_API void dcsr_ticket_destroy(dcsr_ticket *ticket);

/* Reading single entries. These calls wait for what has been queued so far, so a thread reads what it wrote.
 * To read many entries create a view, which waits if it is asked to (DCSR_VIEW_LATEST). */

/* Sets *stored to whether (row, col) is stored. If it is and value is not NULL, *value gets its value (of the
 * matrix's type; nothing is written for a pattern-only matrix). Of duplicates kept by DCSR_POLICY_KEEP it is
 * the one stored last. Errors: INDEX_OUT_OF_RANGE. Cost: O(length of the row). */
DCSR_API dcsr_status dcsr_matrix_get(dcsr_matrix *matrix, uint64_t row, uint64_t col, void *value,
                                     bool *stored);
/* The same for n positions at once; values may be NULL, else it has room for n values (untouched where
 * nothing is stored). */
DCSR_API dcsr_status dcsr_matrix_get_many(dcsr_matrix *matrix, uint64_t n, const uint64_t *rows,
                                          const uint64_t *cols, void *values, bool *stored);

/* The matrix at its last published version. */
typedef struct dcsr_matrix_info {
    dcsr_type type;
    dcsr_policy policy;
    uint64_t rows, cols;
    uint64_t version;         /* counts published changes */
    uint64_t stored;          /* entries stored, uncombined duplicates and tombstones included */
    uint64_t segments;        /* segments in use over all rows */
    uint64_t max_segments;    /* the most that one row has in use */
    uint64_t unresolved_rows; /* rows that may hold duplicates to combine, or tombstones */
    uint64_t
        arena_entries; /* entries that the arena has room allocated for, slack included; of a clone those of its
                                 own */
    uint64_t bytes;    /* memory of the matrix: arena, row table, retired versions; those of a maintained
                               transpose included. What a change has freed in the arena is kept for the next
                               change, and returned to the system a tenth of a second after the last one */
    uint64_t pending_bytes;     /* bytes of batches that are queued, or not safe yet */
    uint64_t batches;           /* batches applied */
    uint64_t inserted, removed; /* entries given to dcsr_matrix_insert() and _remove() so far */
    uint64_t row_rewrites;      /* rows moved because their segments ran out */
    uint64_t defragmentations;  /* whole and selected ones */
    uint64_t views;             /* versions that views, or clones, hold */
    double busy_seconds;        /* time the worker has spent applying changes */
    double slack;               /* of new segments, a share of the row's length; 0: none */
} dcsr_matrix_info;

/* Fills *info without waiting for pending changes. Cost: O(rows in use), in pages of 64 rows. */
DCSR_API dcsr_status dcsr_matrix_get_info(dcsr_matrix *matrix, dcsr_matrix_info *info);

/* The number of live entries of the last published version: with duplicates combined and deleted entries left
 * out. Cost: O(1) if no row is unresolved, else O(entries in those rows), without copying them; on a device
 * as for creating a view. */
DCSR_API dcsr_status dcsr_matrix_get_nnz(dcsr_matrix *matrix, uint64_t *nnz);

#ifdef __cplusplus
}
#endif
#endif

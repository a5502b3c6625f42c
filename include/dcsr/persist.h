/* persist.h: matrices on disk: stores, snapshots of many versions, and the log of a durable matrix.
 *
 * A store is a folder with an LMDB environment. It holds named matrices, each with any number of versions
 * (docs/FORMAT.md describes every byte).
 *
 *      matrix --dcsr_store_snapshot()--> version 1, 2, 3 ...  --dcsr_store_restore()----> matrix, cpu or cuda
 *                                             |                --dcsr_store_open_view()--> view, from the map
 *                                             +-- chunks of whole rows, with a checksum each; versions
 *                                                 share those whose rows have not changed
 *
 *      durable matrix --each batch--> log, synced --> its ticket completes
 *                      newest version + log = the matrix, however the process ended:
 *                      dcsr_store_open_matrix() to go on with, dcsr_store_recover() to look at
 *
 *      store --dcsr_store_backup()--> another folder, checked      --dcsr_store_compact()--> itself, smaller
 *
 * A snapshot is taken of a view, so inserting goes on meanwhile. It is published by one transaction: whenever
 * the process is killed or the machine fails, the store holds either the old versions or the new one too.
 *
 * Processes: one writes at a time, any number read meanwhile. A process opens a store once; a second
 * dcsr_store_open() of it by the same process is refused. Reading needs only permission to read the file, and
 * works on a read-only mount and in a container other than the writer's. Writers never wait for readers that
 * can write lock.mdb and are in the same container (the same PID namespace); these can have 1022 transactions
 * and views at a time. Other readers lock what they read: as long as one of them holds a view that is older
 * than the last two changes, a process that begins to write waits (refuse_locked: BUSY). Network file systems
 * are not supported, as neither locks nor the map can be relied on there.
 *
 * Forks: a child of the process that opened a store cannot use it. Every call there is refused, except for
 * dcsr_store_close(), which frees the child's memory and leaves the parent's store alone. The lock for
 * writing ends when the parent closes the store. If the parent is killed its children hold the lock, until
 * they end or start another program.
 *
 * Free pages: the file never shrinks by itself. The pages of what is deleted are reused, except for those
 * that a reader may still see: whoever reads a state of the store - a view of dcsr_store_open_view(), a call
 * in progress, a backup - holds back every page that any process has freed since. While such a reader stays,
 * each snapshot and each batch of a log makes the file longer, however much gc deletes.
 * dcsr_store_get_readers() tells which process it is.
 *
 * Threads: any number may use one store; those that write take turns. dcsr_store_close() must be the last
 * call on it. Strings are copied. Every call that reads data compares its checksums, so that a damaged store
 * gives DCSR_ERROR_CORRUPT and never a wrong matrix. */
#ifndef DCSR_PERSIST_H
#define DCSR_PERSIST_H

#include <dcsr/names.h>
#include <dcsr/view.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dcsr_store dcsr_store;

/* The longest name of a matrix. A name consists of letters, digits, '.', '_', '-', '+' and '=' and does not
 * begin with '.'; other characters have other meanings on a command line. */
#define DCSR_STORE_MAX_NAME 255
/* Whether the first `length` characters of a text are such a name. */
DCSR_API bool dcsr_store_is_name(const char *text, size_t length);

/* The bytes of one chunk, compressed or not. */
#define DCSR_STORE_MIN_CHUNK ((uint64_t)4096)
#define DCSR_STORE_MAX_CHUNK ((uint64_t)1 << 30)

/* The largest store: 64 TiB, half of the address space of a process. */
#define DCSR_STORE_MAX_BYTES ((uint64_t)1 << 46)

/* Zero-initialise, then set what should differ from the default. */
typedef struct dcsr_store_options {
    bool read_only;       /* nothing is written, and the store must exist */
    bool must_exist;      /* do not create the store if there is none */
    bool refuse_locked;   /* return DCSR_ERROR_BUSY instead of waiting for another process */
    uint64_t max_bytes;   /* beyond which the file may not grow; as much address space is reserved; 0: a TiB,
                             or a share as of reserve_bytes (dcsr/context.h), or twice the file's size */
    uint64_t chunk_bytes; /* of a new store: the approximate size of chunks; 0: 1 MiB */
    int compression;      /* of a new store: zstd's level, 1 to 19; 0: data is not compressed */
} dcsr_store_options;

/* Opens the store in folder `path`, or creates it there, and the folder itself, but not those above it.
 * options may be NULL. *store is NULL on failure.
 * Errors: IO (the folder cannot be created, opened, read or written: the message has the system's reason),
 * FORMAT (it is not a store, or of a version that this library does not know), CORRUPT, NOT_FOUND (read_only,
 * must_exist), BUSY (refuse_locked; this process has it open; a reader in another container has the same
 * process number: the message says what to do), TOO_LARGE (max_bytes beyond DCSR_STORE_MAX_BYTES),
 * OUT_OF_MEMORY (also if the system does not have max_bytes of address space). */
DCSR_API dcsr_status dcsr_store_open(dcsr_store **store, const char *path, const dcsr_store_options *options);

/* Closes the store, once the log of its durable matrices is written; these should be destroyed before, and
 * views that dcsr_store_open_view() created must be. Does nothing when given NULL, or when called by an
 * operator of an operation into a durable matrix of the store (dcsr/operators.h). */
DCSR_API void dcsr_store_close(dcsr_store *store);

typedef struct dcsr_store_info {
    uint64_t matrices;   /* that have a version */
    uint64_t file_bytes; /* of the data file */
    uint64_t free_bytes; /* of these, in free pages, which are reused first */
    uint64_t chunk_bytes;
    int compression;
    bool read_only;
    uint32_t format; /* version of the format */
} dcsr_store_info;
DCSR_API dcsr_status dcsr_store_get_info(dcsr_store *store, dcsr_store_info *info);

/* The readers of the store in all processes, and what the one with the oldest state keeps from being reused.
 * Each transaction that writes makes a new state, and numbers it; each snapshot, gc and write of a log makes
 * some. */
typedef struct dcsr_store_readers {
    uint64_t count;        /* lent views, and calls in progress; 0: none */
    uint64_t process;      /* of the oldest; 0: it may only read the store, or is in another container */
    uint64_t state;        /* that it reads */
    uint64_t held_bytes;   /* in free pages of the file that cannot be reused because of it */
    uint64_t newest_state; /* the store's; always set */
} dcsr_store_readers;
/* Fills *readers, after freeing the slots of readers that have ended. Of the readers without a slot (other
 * containers, no permission to write) at most one is counted, with what the writer keeps for them; a process
 * that has no slot itself sees only such readers, of other processes.
 * Errors: IO. Cost: O(free pages / 1000). */
DCSR_API dcsr_status dcsr_store_get_readers(dcsr_store *store, dcsr_store_readers *readers);

/* ---- Snapshots ---- */

/* One version of one matrix. */
typedef struct dcsr_version_info {
    uint64_t version; /* 1 for the first, and so on */
    dcsr_type type;
    dcsr_policy policy;
    uint64_t rows, cols, nnz;
    uint64_t created;       /* seconds since 1970 */
    uint64_t chunks;        /* of which it consists */
    uint64_t stored_bytes;  /* of these chunks, shared ones included */
    uint64_t written_bytes; /* of those chunks that were written for it; 0 when all are shared */
    uint64_t log_position;  /* it contains the records of the log up to this one */
    uint64_t log_records;   /* of the newest version: later records, whose changes are in no version yet */
    double slack;           /* of new segments, as in dcsr_matrix_info */
} dcsr_version_info;

/* Writes the matrix's last published version as the next version of `name`, which is new or has the same
 * type. Only chunks whose rows have changed since the previous version are written. If that is a snapshot
 * which this process made of the same matrix, it is known without reading which rows may have changed, else
 * checksums are compared. *info (may be NULL) describes the version. If nothing has changed no version is
 * made, and *info describes the previous one, with written_bytes 0. dcsr_store_restore() restores type,
 * dimensions, policy and options too. Errors: INVALID_ARGUMENT (the name; a store that was opened read_only),
 * TYPE_MISMATCH, BUSY (`name` is open as a durable matrix, or its log has changes that are in no version yet,
 * and this is another matrix), IO (also a full disk, or the process's limit of file sizes: store and memory
 * are as they were), TOO_LARGE (max_bytes), OUT_OF_MEMORY, CORRUPT. Cost: O(rows in use / 64) and the changed
 * rows. Their bytes are written and synced in transactions of 128 MiB, or of 32 MiB if the store has durable
 * matrices open, whose log is written in between, so that their tickets wait for one transaction at most.
 * Memory: at most 192 MiB, or 96 MiB with durable matrices, or three times the largest chunk, in addition to
 * what a view takes. */
DCSR_API dcsr_status dcsr_store_snapshot(dcsr_store *store, const char *name, dcsr_matrix *matrix,
                                         dcsr_version_info *info);

/* Creates a matrix with the content of version `version` of `name` (0: the newest), on the context's device.
 * options NULL stands for those that it was created with. Later changes in its log are left out: see
 * dcsr_store_open_matrix() and dcsr_store_recover(). *matrix is NULL on failure.
 * Errors: NOT_FOUND (no such name or version; the message names those that exist), CORRUPT, OUT_OF_MEMORY, as
 * dcsr_matrix_create(). Cost: each byte is read, checked and copied once, by the context's threads. */
DCSR_API dcsr_status dcsr_store_restore(dcsr_matrix **matrix, dcsr_context *context, dcsr_store *store,
                                        const char *name, uint64_t version,
                                        const dcsr_matrix_options *options);

/* Creates a view (CSR) of a version, on the cpu. A version of a single uncompressed chunk is lent from the
 * map, without a copy (dcsr_view_info.lent): choose chunk_bytes accordingly. Others are copied into memory.
 * While a lent view exists no page is reused that any process frees, so the file grows with all that is
 * written. Destroy the view soon, and before the store is closed.
 * Errors: as for restoring; INVALID_ARGUMENT on a cuda context. */
DCSR_API dcsr_status dcsr_store_open_view(dcsr_view **view, dcsr_context *context, dcsr_store *store,
                                          const char *name, uint64_t version);

/* ---- Contents ---- */

/* Lists the names, ascending, as one block that the caller frees with dcsr_store_list_free(); likewise the
 * versions of a matrix, oldest first. */
DCSR_API dcsr_status dcsr_store_get_names(dcsr_store *store, char ***names, uint64_t *count);
DCSR_API dcsr_status dcsr_store_get_versions(dcsr_store *store, const char *name,
                                             dcsr_version_info **versions, uint64_t *count);
DCSR_API void dcsr_store_list_free(void *list);

/* Describes version `version` (0: the newest) of `name`. Errors: NOT_FOUND, CORRUPT. */
DCSR_API dcsr_status dcsr_store_find(dcsr_store *store, const char *name, uint64_t version,
                                     dcsr_version_info *info);

/* Called once for each damaged item; the text says what and where. */
typedef void (*dcsr_store_damage)(void *user, const char *text);
typedef struct dcsr_store_check {
    uint64_t matrices, versions, chunks, log_records, bytes; /* that were read */
    uint64_t corrupt;                                        /* damaged items */
    uint64_t names;                                          /* in dictionaries */
} dcsr_store_check;
/* Reads everything and compares every checksum. Returns DCSR_OK if that was possible; *check says what was
 * found. damage may be NULL. Errors: IO, OUT_OF_MEMORY; CORRUPT only if the damage is such that nothing can
 * be read at all. Cost: one read of the store. */
DCSR_API dcsr_status dcsr_store_verify(dcsr_store *store, dcsr_store_damage damage, void *user,
                                       dcsr_store_check *check);

typedef struct dcsr_store_freed {
    uint64_t versions, chunks; /* that were deleted */
    uint64_t bytes;            /* that they took */
} dcsr_store_freed;
/* Keeps the newest `keep` versions (at least 1) of each matrix, or of `name` alone if it is not NULL, deletes
 * the others, and frees what no version uses; also what killed processes have left: chunks that no version
 * names, slots of readers that have ended. The file does not shrink: freed pages are reused, once nobody
 * reads an older state (dcsr_store_get_readers()); dcsr_store_compact() makes it smaller. Errors:
 * INVALID_ARGUMENT, IO, TOO_LARGE (deleting needs some pages, too), NOT_FOUND, CORRUPT; the store is then as
 * it was. */
DCSR_API dcsr_status dcsr_store_gc(dcsr_store *store, const char *name, uint64_t keep,
                                   dcsr_store_freed *freed);

/* Deletes a matrix with all its versions and its log; their pages are reused. Errors: NOT_FOUND, BUSY (it is
 * open as a durable matrix), IO, TOO_LARGE. */
DCSR_API dcsr_status dcsr_store_delete(dcsr_store *store, const char *name);

/* ---- Copies ---- */

/* Called now and then by the calling thread: what it is doing ("copying", "checking the copy"), and how many
 * bytes of how many are done. It may not use the store. */
typedef void (*dcsr_store_progress)(void *user, const char *doing, uint64_t bytes, uint64_t of);
typedef struct dcsr_store_copied {
    uint64_t bytes_before, bytes_after; /* of the data file, and of the copy's */
    dcsr_store_check check;             /* what the copy holds; nothing of it is damaged */
} dcsr_store_copied;

/* Writes a copy of the store, as of one moment, to the folder `path`, which is created, or may exist if it is
 * empty: all matrices with all versions, and the log of durable matrices. Others, this process too, may write
 * to the store meanwhile; pages that they free are not reused before the copy is written. The copy is a store
 * of its own, with the same names and version numbers. It is read back, and every checksum is compared, so
 * that nothing damaged is backed up. It gets its name, data.mdb, when it is complete and synced: if the
 * process is killed, the folder is not a store, and may be given again. The store may be open read_only.
 * progress and copied may be NULL. Errors: IO (also a folder that is not empty; a full disk: the message has
 * the bytes that are needed), CORRUPT (the copy is then deleted), BUSY (another backup is writing there),
 * OUT_OF_MEMORY. Cost: what is in use is read, written, and read back. */
DCSR_API dcsr_status dcsr_store_backup(dcsr_store *store, const char *path, dcsr_store_progress progress,
                                       void *user, dcsr_store_copied *copied);

/* Makes the file of the store in folder `path` as small as possible: a copy as above replaces it, so there
 * has to be room on the disk for both. No process, including this one, may have the store open; those that
 * open it meanwhile wait. Whenever the process is killed or the machine fails, the store is either the old
 * one or the new one, which hold the same; an unfinished copy is deleted by whoever next opens the store for
 * writing. Errors: as above, and BUSY (the message names a process), NOT_FOUND, as dcsr_store_open(); the
 * store is then as it was. */
DCSR_API dcsr_status dcsr_store_compact(const char *path, dcsr_store_progress progress, void *user,
                                        dcsr_store_copied *copied);

/* ---- Durable matrices ---- */

/* What was found when a durable matrix was opened. */
typedef struct dcsr_recovery {
    bool created;         /* the name was new */
    uint64_t version;     /* the snapshot that was restored */
    uint64_t log_records; /* batches and resizes that were replayed on top of it */
    uint64_t log_entries; /* entries in these */
} dcsr_recovery;

/* What a new name becomes: an empty matrix of this type and shape, with these options. Zero-initialise. */
typedef struct dcsr_durable_options {
    dcsr_type type;
    uint64_t rows, cols;
    dcsr_matrix_options matrix;
} dcsr_durable_options;

/* Opens a durable matrix: its newest version is restored and its log replayed. A new name is created by the
 * options; a matrix that is there must be of their type, and keeps its shape and its own options. Without
 * options (NULL) the name must exist (else NOT_FOUND) and may be of any type. From then on every change of
 * the matrix is written to the log, and its ticket completes, and dcsr_matrix_wait() returns, once it is
 * synced to the disk. Concurrent changes share a sync.
 *
 * If the log cannot be written (a full disk), changes are still applied in memory and their tickets say
 * DCSR_ERROR_NOT_DURABLE, until a snapshot that was begun after them succeeds: dcsr_store_snapshot() under
 * the same name. Each snapshot also empties the log, which otherwise keeps growing.
 *
 * A change that replaces the whole content of the matrix (the result of an operation) takes a snapshot, after
 * any that is in progress; the log of this matrix waits for it, those of others do not. If the snapshot fails
 * the operation returns DCSR_ERROR_NOT_DURABLE. This is the only error after which the output of a call is
 * not as it was: memory holds the result, and the disk does not. Batches from arrays on a device
 * (dcsr_matrix_insert_device()) are refused. Destroy the matrix before the store is closed. report may be
 * NULL. *matrix is NULL on failure. Errors: as dcsr_store_restore() and dcsr_store_snapshot(); BUSY (it is
 * already open); CORRUPT (a record of the log: the message says which; the newest version can still be
 * restored with dcsr_store_restore()). */
DCSR_API dcsr_status dcsr_store_open_matrix(dcsr_matrix **matrix, dcsr_context *context, dcsr_store *store,
                                            const char *name, const dcsr_durable_options *options,
                                            dcsr_recovery *report);

/* Creates a matrix with what dcsr_store_open_matrix() would find under `name` now, on the context's device:
 * the newest version with the log replayed on top of it. It is in memory only: nothing is written, so the
 * store may be open read_only, and the name may be open as a durable matrix, in this process or in another.
 * Its content is then what was synced to the disk at one moment during the call: a prefix of the matrix's
 * changes, with all of those whose tickets said DCSR_OK before the call. options NULL stands for those that
 * it was created with. report may be NULL. *matrix is NULL on failure.
 * Errors: as dcsr_store_restore(); CORRUPT also for a record of the log (the message says which). Any thread
 * may call it. Cost: as dcsr_store_restore(), and inserting what the log holds. */
DCSR_API dcsr_status dcsr_store_recover(dcsr_matrix **matrix, dcsr_context *context, dcsr_store *store,
                                        const char *name, const dcsr_matrix_options *options,
                                        dcsr_recovery *report);

/* Sets *tag to that of the matrix which dcsr_store_open_matrix() and dcsr_store_recover() would give now: the
 * last that was given to dcsr_matrix_insert_tagged() or dcsr_matrix_remove_tagged() with a batch that is in it.
 * *known tells whether there was one. Who reads a file into the matrix goes on behind that position. Errors:
 * NOT_FOUND, CORRUPT. */
DCSR_API dcsr_status dcsr_store_get_tag(dcsr_store *store, const char *name, dcsr_tag *tag, bool *known);

/* ---- Names of rows and columns ---- */

/* Opens the dictionary (dcsr/names.h) that is kept beside the matrix of that name, which need not be there yet,
 * and reads it into memory. It is empty if there is none.
 *
 * What is added to it is written by the same transaction as the next batch of the durable matrix of that name
 * that is queued afterwards, or by the next snapshot under the name, even if that makes no version. So whenever
 * the process is killed, every id below the number of its names that the stored matrix holds has its name; of
 * names that no stored batch needs, the last may be missing. dcsr_names_add() itself writes nothing. Many
 * names (more than 32 MiB) are written by several transactions before the batch's.
 *
 * A dictionary that is open for writing is open once: every call gives the same one, which each caller
 * destroys. It lives in the first one's context. While it is open the matrix cannot be deleted. If it is
 * destroyed while batches of the durable matrix wait that need its names they are written still; a snapshot of
 * a matrix in memory finds only those of a dictionary that is open. In a store that is open read_only
 * nothing can be added to it, and it has the names of one state of the store; open it after the matrix
 * (dcsr_store_recover()), and it has all of its names. *names is NULL on failure. Errors: NOT_FOUND
 * (read_only, and there is no such matrix), CORRUPT, OUT_OF_MEMORY. Cost: its bytes are read once, in order;
 * some 100 ns a name. Snapshots wait meanwhile. */
DCSR_API dcsr_status dcsr_store_open_names(dcsr_names **names, dcsr_context *context, dcsr_store *store,
                                           const char *name);

/* Adds what other processes have written since to a dictionary that dcsr_store_open_names() has opened in this
 * store, which is read_only; in others there is nothing to be added. Errors: NOT_FOUND (the matrix was
 * deleted: open the dictionary of the new one), INVALID_ARGUMENT (it was opened otherwise), CORRUPT,
 * OUT_OF_MEMORY; the dictionary then has the names
 * that it had, or some more. Cost: what is added, and reading up to 1 MiB. */
DCSR_API dcsr_status dcsr_store_follow_names(dcsr_store *store, const char *name, dcsr_names *names);

/* Sets *names to the number of names that the store has for a matrix; 0: it has no dictionary. Errors:
 * NOT_FOUND, CORRUPT. */
DCSR_API dcsr_status dcsr_store_get_name_count(dcsr_store *store, const char *name, uint64_t *names);

#ifdef __cplusplus
}
#endif
#endif

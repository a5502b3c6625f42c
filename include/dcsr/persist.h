/* persist.h: matrices on disk: stores, snapshots of many versions, and the log of a durable matrix.
 *
 * A store is a folder with an LMDB environment. It holds named matrices, and of each any number of versions
 * (docs/FORMAT.md describes every byte).
 *
 *      matrix --dcsr_store_snapshot()--> version 1, 2, 3 ...  --dcsr_store_restore()--> matrix, cpu or cuda
 *                                             |                --dcsr_store_view()-----> view, from the map
 *                                             +-- chunks of whole rows, with a checksum each; versions
 *                                                 share those whose rows have not changed
 *
 *      durable matrix --each batch--> log, synced --> its ticket completes
 *                      newest version + log = the matrix, after whatever ended the process:
 *                      dcsr_store_open_matrix() to go on with, dcsr_store_recover() to look at
 *
 *      store --dcsr_store_backup()--> another folder, checked      --dcsr_store_compact()--> itself, smaller
 *
 * A snapshot is of a view, so inserting goes on meanwhile. It is published by one transaction: whenever the
 * process is killed or the machine fails, a store holds the old version or the new one.
 *
 * Processes: one writes at a time, any number read meanwhile. A process opens a store once; a second
 * dcsr_store_open() of it by the same process is refused. Reading takes the permission to read the file, no
 * more, and works on a read-only mount and in another container than the writer's. Readers that can write
 * lock.mdb and are in the same container as the writer (the same space of process numbers) are never waited
 * for; 1022 of their transactions and views are possible at a time. The others lock what they read: as long
 * as one of them holds a view that is older than the last two changes, a process that begins to write waits
 * (refuse_locked: BUSY). Not on network file systems, where neither locks nor the map can be relied on.
 *
 * Forks: a store is of no use in a child of the process that opened it. Every call there is refused, but for
 * dcsr_store_close(), which frees the child's memory and leaves the parent's store alone. The lock for
 * writing ends when the parent closes the store. A parent that is killed leaves it with its children, until
 * they end or start another program.
 *
 * Room: the file never shrinks by itself. What is deleted is room that is used next, but for what a reader
 * may still see: who reads a state of the store - a view of dcsr_store_view(), a call that is on its way, a
 * backup - holds back every page that any process has freed since. While one reader stays, each snapshot and
 * each batch of a log makes the file longer, however much gc deletes. dcsr_store_get_readers() tells who it
 * is.
 *
 * Threads: any number may use one store; those that write take turns. dcsr_store_close() is the last call.
 * Strings are copied. Every call that reads data checks its checksums, so that a damaged store gives
 * DCSR_ERROR_CORRUPT and never a wrong matrix. */
#ifndef DCSR_PERSIST_H
#define DCSR_PERSIST_H

#include <dcsr/view.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dcsr_store dcsr_store;

/* The longest name of a matrix. A name has letters, digits, '.', '_', '-', '+' and '=' and does not begin
 * with '.'; what else a file name may hold stands for other things on a command line. */
#define DCSR_STORE_MAX_NAME 255
/* Whether the first `length` characters of a text are such a name. */
DCSR_API bool dcsr_store_is_name(const char *text, size_t length);

/* What a store may hold of one chunk, compressed or not. */
#define DCSR_STORE_MIN_CHUNK ((uint64_t)4096)
#define DCSR_STORE_MAX_CHUNK ((uint64_t)1 << 30)

/* The largest store: 64 TiB, half of the addresses that a process has for all it maps. */
#define DCSR_STORE_MAX_BYTES ((uint64_t)1 << 46)

/* Zero-initialise, then set what should differ from the default. */
typedef struct dcsr_store_options {
    bool read_only;       /* nothing is written, and the store must be there */
    bool must_exist;      /* do not make a new store where there is none */
    bool refuse_locked;   /* DCSR_ERROR_BUSY where another process is to be waited for; else wait */
    uint64_t max_bytes;   /* the file may not grow beyond; so many addresses are set aside; 0: as far as the
                             disk allows */
    uint64_t chunk_bytes; /* of a new store: data goes into chunks of some so many bytes; 0: 1 MiB */
    int compression;      /* of a new store: zstd's level, 1 to 19; 0: data is stored as it is */
} dcsr_store_options;

/* Opens the store in folder `path`, or makes one there: the folder itself too, not those above. options may
 * be NULL. *store is NULL on failure.
 * Errors: IO (the folder cannot be made, opened, read or written: the message has the system's reason),
 * FORMAT (what is there is no store, or of a version that this library does not know), CORRUPT, NOT_FOUND
 * (read_only, must_exist), BUSY (refuse_locked; this process has it open; a reader in another container has
 * the number of this process: the message says what to do), TOO_LARGE (max_bytes beyond
 * DCSR_STORE_MAX_BYTES), OUT_OF_MEMORY (also where the system has no max_bytes of addresses). */
DCSR_API dcsr_status dcsr_store_open(dcsr_store **store, const char *path, const dcsr_store_options *options);

/* Closes it, once the log of its durable matrices is written; these should be destroyed before, and views
 * that dcsr_store_view() gave must be. NULL does nothing, and so does a call by an operator of an operation
 * into a durable matrix of the store (dcsr/operators.h). */
DCSR_API void dcsr_store_close(dcsr_store *store);

typedef struct dcsr_store_info {
    uint64_t matrices;   /* that have a version */
    uint64_t file_bytes; /* of the data file */
    uint64_t free_bytes; /* of these, in pages that hold nothing and are used next */
    uint64_t chunk_bytes;
    int compression;
    bool read_only;
    uint32_t format; /* version of the format */
} dcsr_store_info;
DCSR_API dcsr_status dcsr_store_get_info(dcsr_store *store, dcsr_store_info *info);

/* Who reads the store, of all processes, and what the one with the oldest state keeps from being used again.
 * A state is what a transaction has left, and has its number; each snapshot, gc and write of a log makes
 * some. */
typedef struct dcsr_store_readers {
    uint64_t count;        /* views that are lent, and calls on their way; 0: none */
    uint64_t process;      /* of the oldest; 0: it may only read the store, or is in another container */
    uint64_t state;        /* that it reads */
    uint64_t held_bytes;   /* pages of the file that could be used next, were it not for that */
    uint64_t newest_state; /* the store's; always set */
} dcsr_store_readers;
/* Slots of readers that are gone are given free first. Of readers that have no slot at most one counts, and
 * what the writer keeps in their place; a process that has none itself sees only such readers, of others.
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
    uint64_t chunks;        /* it consists of */
    uint64_t stored_bytes;  /* that these take up, shared ones included */
    uint64_t written_bytes; /* of these, in chunks that were written for it; 0 when they are all shared */
    uint64_t log_position;  /* records of the log up to this one are in it */
    uint64_t log_records;   /* of the newest version: those behind it, whose changes are in no version yet */
} dcsr_version_info;

/* Writes the matrix's last published version as the next version of `name`, which is new or has the same
 * type. Only chunks whose rows have changed since the version before are written; which may have, is known
 * without reading where that version is a snapshot of the same matrix that this process has made, else by
 * comparing checksums. *info (may be NULL) describes the version. Where nothing has changed at all no version
 * is made, and *info describes the one before, with written_bytes 0. Type, dimensions, policy and options
 * come back with dcsr_store_restore(). Errors: INVALID_ARGUMENT (the name; a store that was opened
 * read_only), TYPE_MISMATCH, BUSY (`name` is open as a durable matrix, or its log has changes that are in no
 * version yet, and this is another matrix), IO (also a full disk, or the process's limit of file sizes: the
 * store is as it was, and what is in memory too), TOO_LARGE (max_bytes), OUT_OF_MEMORY, CORRUPT. Cost: O(rows in
 * use / 64) and the changed rows; their bytes are written and synced, by transactions of 128 MiB, or of 32 MiB
 * where the store has durable matrices open, whose log is written in between: their tickets wait for one of
 * them at most. Memory: 192 MiB at most, or 96 MiB, or three times the largest chunk, beside what a view
 * takes. */
DCSR_API dcsr_status dcsr_store_snapshot(dcsr_store *store, const char *name, dcsr_matrix *matrix,
                                         dcsr_version_info *info);

/* A matrix that holds what version `version` of `name` holds (0: the newest), on the context's device. With
 * options NULL it has those it was created with. What its log holds beyond is not in it: see
 * dcsr_store_open_matrix() and dcsr_store_recover(). *matrix is NULL on failure.
 * Errors: NOT_FOUND (no such name or version; the message names those that are there), CORRUPT,
 * OUT_OF_MEMORY, as dcsr_matrix_create(). Cost: each byte is read, checked and copied once, by the context's
 * threads. */
DCSR_API dcsr_status dcsr_store_restore(dcsr_matrix **matrix, dcsr_context *context, dcsr_store *store,
                                        const char *name, uint64_t version,
                                        const dcsr_matrix_options *options);

/* A view (CSR) of a version, on the cpu. A version of a single chunk that is not compressed is lent from the
 * map, without a copy (dcsr_view_info.lent): choose chunk_bytes accordingly. Others are copied into memory.
 * While a lent view lives, nothing is used again that any process deletes: the file grows with all that is
 * written. Destroy it soon, and before the store is closed.
 * Errors: as for restoring; INVALID_ARGUMENT on a cuda context. */
DCSR_API dcsr_status dcsr_store_view(dcsr_view **view, dcsr_context *context, dcsr_store *store,
                                     const char *name, uint64_t version);

/* ---- What is there ---- */

/* The names, ascending, as one block that the caller frees with dcsr_store_free_list(); likewise the
 * versions of a matrix, oldest first. */
DCSR_API dcsr_status dcsr_store_list(dcsr_store *store, char ***names, uint64_t *count);
DCSR_API dcsr_status dcsr_store_versions(dcsr_store *store, const char *name, dcsr_version_info **versions,
                                         uint64_t *count);
DCSR_API void dcsr_store_free_list(void *list);

/* Version `version` (0: the newest) of `name`. Errors: NOT_FOUND, CORRUPT. */
DCSR_API dcsr_status dcsr_store_find(dcsr_store *store, const char *name, uint64_t version,
                                     dcsr_version_info *info);

/* Called once for each damaged thing; the text says what and where. */
typedef void (*dcsr_store_damage)(void *user, const char *text);
typedef struct dcsr_store_check {
    uint64_t matrices, versions, chunks, log_records, bytes; /* that were read */
    uint64_t corrupt;                                        /* damaged things */
} dcsr_store_check;
/* Reads everything and compares every checksum. DCSR_OK when that was possible, whatever it found: *check
 * says. damage may be NULL. Errors: IO, OUT_OF_MEMORY; CORRUPT only where the damage is such that nothing can
 * be read at all. Cost: one read of the store. */
DCSR_API dcsr_status dcsr_store_verify(dcsr_store *store, dcsr_store_damage damage, void *user,
                                       dcsr_store_check *check);

typedef struct dcsr_store_freed {
    uint64_t versions, chunks; /* that were deleted */
    uint64_t bytes;            /* that they took up */
} dcsr_store_freed;
/* Keeps the newest `keep` versions of each matrix (at least 1), or of `name` alone where it is not NULL, and
 * frees what no other version uses; also what killed processes have left: chunks that no version names, slots
 * of readers that are gone. The file gets no smaller: what is written next goes there, once nobody reads an
 * older state any more (dcsr_store_get_readers()); dcsr_store_compact() makes it smaller. Errors:
 * INVALID_ARGUMENT, IO, TOO_LARGE (deleting needs some pages, too), NOT_FOUND, CORRUPT; the store is as it was
 * then. */
DCSR_API dcsr_status dcsr_store_gc(dcsr_store *store, const char *name, uint64_t keep,
                                   dcsr_store_freed *freed);

/* Deletes a matrix with all its versions and its log. What is written next goes there. Errors: NOT_FOUND,
 * BUSY (it is open as a durable one), IO, TOO_LARGE. */
DCSR_API dcsr_status dcsr_store_delete(dcsr_store *store, const char *name);

/* ---- Copies ---- */

/* Called now and then by the thread that made the call: what it is doing ("copying", "checking the copy"),
 * and how many bytes of how many are done. It may not use the store. */
typedef void (*dcsr_store_progress)(void *user, const char *doing, uint64_t bytes, uint64_t of);
typedef struct dcsr_store_copied {
    uint64_t bytes_before, bytes_after; /* of the data file, and of the copy's */
    dcsr_store_check check;             /* what the copy has; nothing of it is damaged */
} dcsr_store_copied;

/* Writes a copy of the store, as one moment has it, to the folder `path`, which is made and may be there if
 * it is empty: all matrices with all versions, and what the log of durable matrices holds. Others write to
 * the store meanwhile, this process, too; what they free until the copy is written is not used again before.
 * The copy is a store by itself, with the same names and version numbers. It is read once more, and every
 * checksum is compared, so that nothing damaged is backed up. It gets its name, data.mdb, when it is whole
 * and synced: where the process is killed, the folder is no store, and may be given again. The store may be
 * open read_only. progress and copied may be NULL. Errors: IO (also a folder that is not empty; lack of room:
 * the message has the bytes that are needed), CORRUPT (nothing is kept then), BUSY (another backup goes
 * there), OUT_OF_MEMORY. Cost: reads what is in use, writes it, reads that. */
DCSR_API dcsr_status dcsr_store_backup(dcsr_store *store, const char *path, dcsr_store_progress progress,
                                       void *user, dcsr_store_copied *copied);

/* Makes the file of the store in folder `path` as small as it can be: a copy as above takes its place, so
 * there has to be room for it beside. No process may have the store open, this one neither; those that open
 * it meanwhile wait. Whenever the process is killed or the machine fails, the store is the old one or the new
 * one, which hold the same; a copy that was not finished is deleted by whoever opens the store for writing
 * next. Errors: as above, and BUSY (the message names a process), NOT_FOUND, as dcsr_store_open(); the store
 * is as it was then. */
DCSR_API dcsr_status dcsr_store_compact(const char *path, dcsr_store_progress progress, void *user,
                                        dcsr_store_copied *copied);

/* ---- Durable matrices ---- */

/* What was found when a durable matrix was opened. */
typedef struct dcsr_recovery {
    bool created;         /* it was new */
    uint64_t version;     /* the snapshot that was restored */
    uint64_t log_records; /* batches and resizes that were replayed on top of it */
    uint64_t log_entries; /* entries in these */
} dcsr_recovery;

/* Opens a matrix of the store for durable work: its newest version is restored and its log replayed; a name
 * that is not there yet becomes an empty matrix of this type, shape and options (for one that is there, type
 * must be the same and shape and options are its own; options may be NULL). From then on every change of the
 * matrix goes to the log, and its ticket - or dcsr_matrix_wait() - tells of it once it is synced to the disk.
 * Changes that are on their way at the same time share a sync.
 *
 * Where the log cannot be written (a full disk), changes are applied in memory all the same and their tickets
 * say DCSR_ERROR_NOT_DURABLE, until a snapshot of the matrix has succeeded: dcsr_store_snapshot() under the
 * same name, begun after them. Such a snapshot also empties the log, which otherwise grows.
 *
 * A change that replaces all the matrix holds (the result of an operation, ops/) makes a snapshot, once one
 * that is on its way is made; the log of this matrix waits for it, that of others does not. An operation
 * returns DCSR_ERROR_NOT_DURABLE where that fails. It is the one error after which the output of a call is
 * not as it was: it holds the result, and the disk does not. Batches from arrays on a device
 * (dcsr_matrix_insert_device()) are refused. Destroy the matrix before the store is closed. report may be
 * NULL. *matrix is NULL on failure. Errors: as dcsr_store_restore() and dcsr_store_snapshot(); BUSY (it is
 * open already); CORRUPT (a record of the log: the message says which; what was before it can still be
 * restored with dcsr_store_restore()). */
DCSR_API dcsr_status dcsr_store_open_matrix(dcsr_matrix **matrix, dcsr_context *context, dcsr_store *store,
                                            const char *name, dcsr_type type, uint64_t rows, uint64_t cols,
                                            const dcsr_matrix_options *options, dcsr_recovery *report);

/* A matrix that holds what dcsr_store_open_matrix() would find under `name` now, on the context's device: the
 * newest version with the log replayed on top of it. It is in memory only: nothing is written, so the store
 * may be open read_only, and the name may be open as a durable matrix, in this process or in another. What it
 * holds is then what was synced to the disk at one moment during the call: of each matrix a first part of its
 * changes, with all whose tickets said DCSR_OK before. With options NULL it has those it was created with.
 * report may be NULL. *matrix is NULL on failure.
 * Errors: as dcsr_store_restore(); CORRUPT also for a record of the log (the message says which). Any thread.
 * Cost: as dcsr_store_restore(), and inserting what the log holds. */
DCSR_API dcsr_status dcsr_store_recover(dcsr_matrix **matrix, dcsr_context *context, dcsr_store *store,
                                        const char *name, const dcsr_matrix_options *options,
                                        dcsr_recovery *report);

#ifdef __cplusplus
}
#endif
#endif

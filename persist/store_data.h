/* store_data.h: what a store is made of, and transactions on it (internal).
 *
 *      open.c       opens and closes: folder, locks, environment, databases; new_store.c makes them
 *      readers.c    readers that LMDB's table of them does not list
 *      txn.c        transactions, reading and writing records, LMDB's errors in our words
 *      room.c       room that is freed, and that is missing
 *      records.c    the records of docs/FORMAT.md; checksums
 *      store_iter.c       through all matrices, through all that belongs to one
 *      catalog.c    names, versions: listing, finding
 *      snapshot.c   a view becomes a version; chunks.c cuts and fills chunks, snapshot_chunks.c
 *                   writes them, writeback.c has the disk begin early
 *      restore.c    a version becomes a matrix; stored_view.c: a view; stored_chunk.c reads and checks
 *      journal.c    durable matrices, and the threads of their log; log_write.c writes it,
 *                   log_record.c has its records, recover.c replays it
 *      store_names.c   dictionaries: their records, and who has them open
 *      verify.c     reads everything; pages.c: LMDB's own pages
 *      copy.c       a checked copy of all that there is; backup.c puts it in place, or elsewhere
 *      store_info.c what a store tells about itself: size, readers
 *      gc.c         deletes versions, matrices, and what nobody names
 *
 * Locks, outermost first: `changing` (one snapshot, gc or deletion at a time), `writing` (one transaction
 * that writes: theirs, or the log's), LMDB's own for writers, then what a matrix has. A large snapshot gives
 * `writing` up between its transactions, so that the log has turns. A thread has at most one transaction that
 * writes at a time. */
#ifndef DCSR_STORE_DATA_H
#define DCSR_STORE_DATA_H

#include <dcsr/persist.h>
#include "persist/readers.h"
#include "persist/records.h"
#include "dcsr/base/error.h"
#include <lmdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/types.h>

typedef enum dcsr_i_database {
    DCSR_I_DB_STORE,
    DCSR_I_DB_MATRICES,
    DCSR_I_DB_VERSIONS,
    DCSR_I_DB_CHUNKS,
    DCSR_I_DB_LOG,
    DCSR_I_DATABASES
} dcsr_i_database;

/* The version of a matrix in memory that a version in the store shows: what makes the next snapshot quick. */
typedef struct dcsr_i_base {
    uint32_t number;          /* of the matrix in the store */
    uint64_t stored_version;  /* there */
    uint64_t serial, version; /* of the matrix in memory */
} dcsr_i_base;

/* The snapshot on its way, while its thread does not have `writing`: what the log writes meanwhile is in it
 * up to a version of its matrix, and the last record of that has a position. */
typedef struct dcsr_i_on_its_way {
    const char *name; /* NULL: none is */
    uint64_t version, position;
} dcsr_i_on_its_way;

struct dcsr_i_durable; /* durable.h */

struct dcsr_store {
    char *path;
    MDB_env *env;
    uint64_t addresses; /* of its map */
    MDB_dbi database[DCSR_I_DATABASES];
    int writer; /* descriptor that holds the lock of the writing process; -1 */
    int folder; /* that of the folder, locked, shared or alone; -1 */
    int alone;  /* that of lock.mdb, locked, so that no other process has the store open; -1 */
    pid_t process;
    dev_t device; /* of the data file: which store it is */
    ino_t inode;
    struct dcsr_store *next; /* of the process's open stores */
    bool read_only;
    bool unlisted;           /* its transactions are not in LMDB's table of readers */
    dcsr_i_readers *readers; /* readers.h */
    uint64_t max_bytes, chunk_bytes;
    int compression;
    atomic_uint_fast64_t views; /* that are lent */

    pthread_mutex_t changing;               /* dcsr_i_store_lock() */
    pthread_mutex_t writing, next_to_write; /* dcsr_i_store_begin_writing() */
    dcsr_i_base *bases;                     /* by ascending number; under `writing` */
    uint64_t base_count, base_capacity;
    bool names_are_whole;               /* each name and record of a matrix was; under `writing` */
    dcsr_i_on_its_way on_its_way;       /* under `writing` */
    struct dcsr_i_durable *durable;     /* matrices that are open for durable work; under `writing` */
    struct dcsr_i_kept_names *names;    /* dictionaries that are open; under `writing` */
    struct dcsr_i_log_writer *log;      /* its threads; NULL before the first durable matrix */
    struct dcsr_i_writeback *writeback; /* NULL before the first large snapshot */
};

/* DCSR_OK when it may be used: not NULL, in the process that opened it, and open for writing if `write`. */
dcsr_status dcsr_i_store_check(const char *call, const dcsr_store *store, bool write);

/* ---- open.c, new_store.c ---- */

/* Transactions that LMDB's table of readers lists at a time, of all processes. */
enum { DCSR_I_MOST_READERS = 1022 };

/* Files of the store, in its folder. The path is written to the buffer and returned; NULL when it is too
 * long, with errno. */
enum { DCSR_I_LONGEST_PATH = 4096, DCSR_I_STORE_FILE_MODE = 0666, DCSR_I_STORE_FOLDER_MODE = 0777 };
const char *dcsr_i_path_join(char path[DCSR_I_LONGEST_PATH], const char *folder, const char *name);
const char *dcsr_i_store_path(char path[DCSR_I_LONGEST_PATH], const dcsr_store *store, const char *name);
int dcsr_i_store_open_file(const dcsr_store *store, const char *name, int flags);
/* Whether the folder has the file of a store. */
dcsr_status dcsr_i_store_look(const dcsr_store *store, bool *there);
/* Opens LMDB's environment in a folder, with so many addresses for its map. */
dcsr_status dcsr_i_store_open_env(dcsr_store *store, const char *folder, uint64_t addresses);
extern const char *const dcsr_i_database_names[DCSR_I_DATABASES];
/* Makes the file of a new store, unless there is one. The process has the lock for writing. */
dcsr_status dcsr_i_store_make(dcsr_store *store);
/* The folder in which that is done, in that of the store. */
#define DCSR_I_UNFINISHED ".new"

/* Opens a store that is there for writing, so that no other process has it open, nor opens it until it is
 * closed: those wait. Errors: as dcsr_store_open(), BUSY (the message names a process that has it open). */
dcsr_status dcsr_i_store_open_alone(dcsr_store **store, const char *path);
/* Locks a folder, as flock() has it; the descriptor, or -1 with errno. */
int dcsr_i_folder_lock(const char *path, int how);
/* Whether there is anything in a folder but these names, of which the last is NULL. */
bool dcsr_i_folder_has_others(const char *path, const char *const *names);

/* ---- txn.c ---- */

/* Takes `changing`, and `writing`. */
void dcsr_i_store_lock(dcsr_store *store);
void dcsr_i_store_unlock(dcsr_store *store);
/* Takes `writing` alone, in turn: a mutex by itself would go to the log's thread again and again where the
 * log is busy, before who waits for it is awake. */
void dcsr_i_store_begin_writing(dcsr_store *store);
void dcsr_i_store_end_writing(dcsr_store *store);

/* To be ended by one of the two below: with LMDB's own calls the lock of an unlisted reader would stay. */
dcsr_status dcsr_i_txn_begin(MDB_txn **txn, const dcsr_store *store, bool write);
/* Commits; on failure nothing was written. */
dcsr_status dcsr_i_txn_commit(MDB_txn *txn, const dcsr_store *store);
/* Ends it; NULL does nothing. */
void dcsr_i_txn_abort(MDB_txn *txn, const dcsr_store *store);
/* One that reads and has a place in LMDB's table of readers; returns LMDB's code. */
int dcsr_i_txn_begin_listed(MDB_txn **txn, const dcsr_store *store);
/* LMDB's or the system's reason `code` in our words and status; `doing` says what was tried. */
dcsr_status dcsr_i_store_fail(const dcsr_store *store, int code, const char *doing);

/* ---- writeback.c ---- */

/* Commits a transaction that has written chunks; with the thread, if there is one. */
dcsr_status dcsr_i_txn_commit_early(MDB_txn *txn, const dcsr_store *store);
/* Starts the thread, where it can be started and is not there, before what is worth it; with `writing`. Ends
 * it. */
void dcsr_i_writeback_start(dcsr_store *store);
void dcsr_i_writeback_close(dcsr_store *store);

/* ---- room.c ---- */

/* The part of that which is about room. */
dcsr_status dcsr_i_store_fail_for_room(const dcsr_store *store, int code, const char *doing);
/* Adds the other way out to the sentence, if it was that, for what is not gc itself. Returns the status. */
dcsr_status dcsr_i_store_offer_gc(dcsr_status status);

/* Commits a transaction that may have freed something, so that the next one can use the room. */
dcsr_status dcsr_i_txn_commit_freed(MDB_txn *txn, const dcsr_store *store);

/* Does work that writes, with `writing`; once more where it has failed for lack of room, after the room that
 * was freed last, which it could not use yet, has been made usable. */
typedef dcsr_status (*dcsr_i_store_work)(dcsr_store *store, void *user);
dcsr_status dcsr_i_store_with_room(dcsr_store *store, dcsr_i_store_work work, void *user);

/* Between these, a write of the calling thread beyond the file-size limit of the process (ulimit -f) fails
 * with EFBIG, as it should in a library, and does not end the process by a signal. */
typedef struct dcsr_i_file_signal {
    sigset_t before;
    bool pending;
} dcsr_i_file_signal;
dcsr_i_file_signal dcsr_i_file_signal_hold(void);
void dcsr_i_file_signal_release(const dcsr_i_file_signal *held);

/* What a sequence of writing transactions does to test programs: called with a name at each point where being
 * killed should lose nothing. NULL but in tests. */
extern void (*dcsr_i_store_point)(const char *name);
#define DCSR_I_POINT(name)                                \
    do {                                                  \
        if (dcsr_i_store_point) dcsr_i_store_point(name); \
    } while (0)

/* The record of the store. Errors: FORMAT, CORRUPT. */
dcsr_status dcsr_i_store_record_get(const dcsr_store *store, MDB_txn *txn, dcsr_i_store_record *record);
dcsr_status dcsr_i_store_record_put(const dcsr_store *store, MDB_txn *txn, dcsr_i_store_record *record);

/* A sealed record, copied out; NOT_FOUND without a message, CORRUPT when it is not as it was written, or
 * older than the last of the matrix's versions or of its records in the log: that of a disk that has lost a
 * write. */
dcsr_status dcsr_i_matrix_record_get(const dcsr_store *store, MDB_txn *txn, const char *name,
                                     dcsr_i_matrix_record *record);
dcsr_status dcsr_i_matrix_record_put(const dcsr_store *store, MDB_txn *txn, const char *name,
                                     const dcsr_i_matrix_record *record);
/* The same of one that has to be there: CORRUPT when it is not. */
dcsr_status dcsr_i_matrix_record_again(const dcsr_store *store, MDB_txn *txn, const char *name,
                                       dcsr_i_matrix_record *record);

/* A version record with its chunks, checked; allocated, freed by dcsr_i_version_free(). version 0: the
 * newest. Errors: NOT_FOUND with the message that the public calls give, CORRUPT, OUT_OF_MEMORY. */
typedef struct dcsr_i_version {
    dcsr_i_matrix_record matrix;
    dcsr_i_version_record record;
    dcsr_i_chunk *chunks;
    size_t bytes; /* of the allocation */
} dcsr_i_version;
dcsr_status dcsr_i_version_get(const dcsr_store *store, MDB_txn *txn, const char *name, uint64_t version,
                               dcsr_i_version *result);
void dcsr_i_version_free(dcsr_i_version *version);

/* The name that a key of `matrices` is. Errors: CORRUPT. */
dcsr_status dcsr_i_name_of(const dcsr_store *store, const MDB_val *key, char name[DCSR_STORE_MAX_NAME + 1]);
/* CORRUPT where a name or record of a matrix is damaged, so that it cannot be told whether `name` is new.
 * Goes through all names, unless that was done since the store was opened. With `writing`. */
dcsr_status dcsr_i_store_check_new(dcsr_store *store, MDB_txn *txn, const char *name);
/* How many matrices have a version. */
dcsr_status dcsr_i_store_count(const dcsr_store *store, MDB_txn *txn, uint64_t *matrices);
/* Whether a matrix may have that name. */
dcsr_status dcsr_i_store_check_name(const char *call, const char *name);
dcsr_version_info dcsr_i_version_describe(const dcsr_i_matrix_record *matrix,
                                          const dcsr_i_version_record *record);

/* ---- gc.c ---- */

/* Deletes the things of a matrix in a database whose numbers are below `before`. */
dcsr_status dcsr_i_things_delete(const dcsr_store *store, MDB_txn *txn, dcsr_i_database database,
                                 uint32_t matrix, uint64_t before);
/* Deletes what a snapshot has left that failed or was killed: chunks that no version names, and the record of
 * a matrix that has no version. Of matrix `name`; NULL: of all. */
dcsr_status dcsr_i_store_sweep(dcsr_store *store, const char *name);

/* ---- stored_chunk.c ---- */

/* The data of a chunk, in the map or unpacked. */
typedef struct dcsr_i_chunk_data {
    const uint64_t *offsets;
    const uint32_t *columns;
    const void *values;
    void *unpacked; /* NULL, or what holds it: `bytes` */
    uint64_t bytes;
} dcsr_i_chunk_data;
/* Finds the value of a chunk in the map. Errors: CORRUPT. */
dcsr_status dcsr_i_chunk_find(const dcsr_store *store, MDB_txn *txn, const char *name,
                              const dcsr_i_version *version, uint64_t c, MDB_val *value);
/* Has the system read it, so that it is there when it is looked at in the map: DCSR_I_CHUNKS_AHEAD before. */
enum { DCSR_I_CHUNKS_AHEAD = 16 };
void dcsr_i_chunk_ask_for(const MDB_val *value);
/* Unpacks it; its offsets are then in order. Any thread; also the next. */
dcsr_status dcsr_i_chunk_open(const dcsr_store *store, const char *name, const dcsr_i_version *version,
                              uint64_t c, const MDB_val *value, dcsr_i_chunk_data *data);
/* Compares it with its checksum, and looks that columns are in range. Errors: CORRUPT. */
dcsr_status dcsr_i_chunk_check(const dcsr_store *store, const char *name, const dcsr_i_version *version,
                               uint64_t c, const dcsr_i_chunk_data *data);
void dcsr_i_chunk_close(dcsr_i_chunk_data *data);

/* ---- snapshot.c, snapshot_chunks.c ---- */

/* Bytes of chunks after which a snapshot commits what it has written, where a log may wait for its turn.
 * Tests lower it. */
extern uint64_t dcsr_i_store_transaction_bytes;

/* dcsr_store_snapshot() for a caller that has the store's lock and has checked the arguments. The last
 * transaction deletes the log records that the version holds. */
dcsr_status dcsr_i_store_write_version(dcsr_store *store, const char *name, dcsr_matrix *matrix,
                                       dcsr_version_info *info);
/* Of a matrix that is deleted. With `writing`. */
void dcsr_i_base_forget(dcsr_store *store, uint32_t number);

/* ---- store_names.c: all but the first with `writing` ---- */

/* Gives each record of a dictionary to `visit`, once it has been found to be in order: `first` is the id of
 * its first name. Errors: CORRUPT, also where there are more or fewer names than the matrix's record says. */
typedef dcsr_status (*dcsr_i_names_visitor)(void *user, const dcsr_i_names_record *record,
                                            const uint16_t *lengths, const char *bytes);
dcsr_status dcsr_i_each_names(const dcsr_store *store, MDB_txn *txn, const char *name,
                              const dcsr_i_matrix_record *matrix, dcsr_i_names_visitor visit, void *user);
/* Writes names that the open dictionary of that name has and the store does not, and notes them in the
 * matrix's record, which the caller writes: *all where they were not too many for one transaction, else the
 * caller commits, and calls it again. *put is how many. */
dcsr_status dcsr_i_names_put(const dcsr_store *store, MDB_txn *txn, const char *name,
                             dcsr_i_matrix_record *matrix, uint64_t *put, bool *all);
/* Whether a dictionary of that name is open. */
bool dcsr_i_names_are_open(const dcsr_store *store, const char *name);
/* A durable matrix has gone: its dictionary need not be kept any more where no caller has it. */
void dcsr_i_names_let_go(dcsr_store *store, const char *name);
/* The store is closed. */
void dcsr_i_names_close(dcsr_store *store);

/* ---- copy.c, verify.c ---- */

/* Tells a caller how far something long has come. Zero-initialise; without a `call` it tells nothing. */
typedef struct dcsr_i_progress {
    dcsr_store_progress call;
    void *user;
    const char *doing;
    uint64_t done, of, told; /* bytes */
} dcsr_i_progress;
void dcsr_i_progress_tell(dcsr_i_progress *progress, uint64_t bytes);

/* dcsr_store_verify(), with progress. */
dcsr_status dcsr_i_store_verify(dcsr_store *store, dcsr_store_damage damage, void *user,
                                dcsr_i_progress *progress, dcsr_store_check *check);

/* The file of a copy that is not finished, in a folder that is to have it as its data.mdb. */
#define DCSR_I_COPY ".copy.mdb"
/* Writes a dense copy of what the store holds to that file, checks it, and syncs it. On failure there is no
 * such file. Errors: CORRUPT, IO (also lack of room: the message has the bytes that are needed),
 * OUT_OF_MEMORY. */
dcsr_status dcsr_i_store_copy(dcsr_store *store, const char *folder, dcsr_store_progress progress, void *user,
                              dcsr_store_copied *copied);
/* Gives it its name, and syncs the folder and that above. */
dcsr_status dcsr_i_store_name_copy(const char *folder);
/* Syncs the folder `name` of a folder; whether that was possible, else errno. */
bool dcsr_i_sync_folder(const char *path, const char *name);

/* ---- journal.c: all with `writing` held ---- */

/* After that was committed, of a view that was taken with `writing` held: changes of the matrix up to that
 * version are safe, and the log is whole again. */
void dcsr_i_journal_trimmed(dcsr_store *store, const char *name, uint64_t version);
/* The matrix that `name` is open as for durable work; NULL when it is not. */
dcsr_matrix *dcsr_i_journal_matrix(const dcsr_store *store, const char *name);
/* Ends the threads of the log. Fails, and leaves all as it is, where a durable matrix waits for the caller. */
dcsr_status dcsr_i_journal_close(dcsr_store *store);

#endif

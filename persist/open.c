/* open.c: opening and closing stores: the folder, the lock of the process that writes, LMDB's environment,
 * the databases. */
#include "persist/pages.h"
#include "persist/store_data.h"
#include "dcsr/base/alloc.h"
#include "dcsr/base/mapping.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Addresses that are set aside for the map, or a share of what there is: no memory, and no room on the disk. Where so
 * many are not to be had, half of that, and so on. */
static const uint64_t most_addresses = (uint64_t)1 << 40, least_addresses = (uint64_t)1 << 26;
static const uint64_t default_chunk = (uint64_t)1 << 20;
enum { MOST_LEVEL = 19 };

const char *const dcsr_i_database_names[DCSR_I_DATABASES] = {"store", "matrices", "versions", "chunks",
                                                             "log"};

/* ---- The stores that this process has open: LMDB's locks do not bear two openings by one process ---- */

static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static dcsr_store *open_stores;

static dcsr_status enter(dcsr_store *store)
{
    struct stat folder;
    if (stat(store->path, &folder))
        return dcsr_i_fail(DCSR_ERROR_IO, "%s: looking at the folder: %s", store->path, strerror(errno));
    store->device = folder.st_dev;
    store->inode = folder.st_ino;
    dcsr_status status = DCSR_OK;
    pthread_mutex_lock(&open_lock);
    for (const dcsr_store *s = open_stores; s; s = s->next)
        if (s->process == store->process && s->device == store->device && s->inode == store->inode)
            status = dcsr_i_fail(DCSR_ERROR_BUSY,
                                 "%s: this process has the store open already; use that, or close it first",
                                 store->path);
    if (status == DCSR_OK) {
        store->next = open_stores;
        open_stores = store;
    }
    pthread_mutex_unlock(&open_lock);
    return status;
}

static void leave(const dcsr_store *store)
{
    pthread_mutex_lock(&open_lock);
    for (dcsr_store **s = &open_stores; *s; s = &(*s)->next)
        if (*s == store) {
            *s = store->next;
            break;
        }
    pthread_mutex_unlock(&open_lock);
}

/* ---- The folder ---- */

const char *dcsr_i_path_join(char path[DCSR_I_LONGEST_PATH], const char *folder, const char *name)
{
    int length = snprintf(path, DCSR_I_LONGEST_PATH, "%s/%s", folder, name);
    if (length > 0 && length < DCSR_I_LONGEST_PATH) return path;
    errno = ENAMETOOLONG;
    return NULL;
}

const char *dcsr_i_store_path(char path[DCSR_I_LONGEST_PATH], const dcsr_store *store, const char *name)
{
    return dcsr_i_path_join(path, store->path, name);
}

int dcsr_i_store_open_file(const dcsr_store *store, const char *name, int flags)
{
    char path[DCSR_I_LONGEST_PATH];
    if (!dcsr_i_store_path(path, store, name)) return -1;
    return open(path, flags | O_CLOEXEC, DCSR_I_STORE_FILE_MODE);
}

bool dcsr_i_folder_has_others(const char *path, const char *const *names)
{
    DIR *folder = opendir(path);
    bool others = false;
    if (!folder) return false;
    for (struct dirent *entry; (entry = readdir(folder));) {
        const char *const *n = names;
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        while (*n && strcmp(entry->d_name, *n)) n++;
        others |= !*n;
    }
    closedir(folder);
    return others;
}

dcsr_status dcsr_i_store_look(const dcsr_store *store, bool *there)
{
    struct stat data;
    int file = dcsr_i_store_open_file(store, "data.mdb", O_RDONLY);
    *there = file >= 0;
    if (file < 0 && errno == ENOENT) return DCSR_OK;
    int result = file < 0 ? -1 : fstat(file, &data), reason = errno;
    if (file >= 0) close(file);
    if (result)
        return dcsr_i_fail(DCSR_ERROR_IO, "%s/data.mdb: opening it: %s", store->path, strerror(reason));
    if (data.st_size) return DCSR_OK;
    return dcsr_i_fail(DCSR_ERROR_CORRUPT, "%s/data.mdb: the file is empty; restore it from a backup",
                       store->path);
}

/* A folder without the file of a store. */
static dcsr_status fail_without_file(const dcsr_store *store, bool make)
{
    char path[DCSR_I_LONGEST_PATH];
    if (dcsr_i_store_path(path, store, DCSR_I_COPY) && !access(path, F_OK))
        return dcsr_i_fail(
            DCSR_ERROR_FORMAT,
            "%s: this folder is no store: it has a backup that was never finished; make it again",
            store->path);
    return dcsr_i_fail(DCSR_ERROR_FORMAT, "%s: this folder is no store%s", store->path,
                       make ? ", and as there are files in it none is made there; name another" : "");
}

static dcsr_status find_folder(const dcsr_store *store, bool make)
{
    static const char *const our_names[] = {"writer", "lock.mdb", DCSR_I_UNFINISHED, NULL};
    if (make && mkdir(store->path, DCSR_I_STORE_FOLDER_MODE) && errno != EEXIST)
        return dcsr_i_fail(DCSR_ERROR_IO, "%s: making the folder of a store: %s", store->path,
                           strerror(errno));
    struct stat folder;
    if (stat(store->path, &folder)) {
        if (errno == ENOENT)
            return dcsr_i_fail(DCSR_ERROR_NOT_FOUND, "%s: there is no store of that name", store->path);
        return dcsr_i_fail(DCSR_ERROR_IO, "%s: %s", store->path, strerror(errno));
    }
    if (!S_ISDIR(folder.st_mode))
        return dcsr_i_fail(DCSR_ERROR_FORMAT, "%s: a store is a folder, and this is a file", store->path);
    /* In this order: another process may be making the store, and gives its file the name in between. */
    bool there, others = dcsr_i_folder_has_others(store->path, our_names);
    DCSR_TRY(dcsr_i_store_look(store, &there));
    if (!there && (!make || others)) return fail_without_file(store, make);
    return DCSR_OK;
}

static dcsr_status lock_for_writing(dcsr_store *store, bool refuse)
{
    store->writer = dcsr_i_store_open_file(store, "writer", O_RDWR | O_CREAT);
    if (store->writer < 0)
        return dcsr_i_fail(DCSR_ERROR_IO,
                           "%s/writer: %s; a store that may not be written can be opened read_only",
                           store->path, strerror(errno));
    int result;
    do result = flock(store->writer, LOCK_EX | (refuse ? LOCK_NB : 0));
    while (result && errno == EINTR);
    if (!result) {
        dcsr_i_readers_note_writer(store);
        return DCSR_OK;
    }
    if (errno == EWOULDBLOCK)
        return dcsr_i_fail(DCSR_ERROR_BUSY,
                           "%s: another process writes to the store; try again when it is done", store->path);
    return dcsr_i_fail(DCSR_ERROR_IO, "%s/writer: locking it: %s", store->path, strerror(errno));
}

int dcsr_i_folder_lock(const char *path, int how)
{
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), result;
    if (folder < 0) return -1;
    do result = flock(folder, how);
    while (result && errno == EINTR);
    if (!result) return folder;
    int reason = errno;
    close(folder);
    errno = reason;
    return -1;
}

/* Whoever has the store open has its folder locked, shared; who replaces its file has it alone. It is not
 * locked by who may not read it, nor where the file system has no such locks. */
static dcsr_status lock_folder(dcsr_store *store, bool refuse)
{
    store->folder = dcsr_i_folder_lock(store->path, LOCK_SH | (refuse ? LOCK_NB : 0));
    if (store->folder >= 0 || errno != EWOULDBLOCK) return DCSR_OK;
    return dcsr_i_fail(DCSR_ERROR_BUSY, "%s: another process compacts the store; try again when it is done",
                       store->path);
}

/* LMDB makes its table of readers as a file with a hole and writes it through a map: where the disk is full
 * that would kill the process. This takes the room before. Nobody has locks on the file yet that closing it
 * would drop. */
static dcsr_status make_room_for_readers(const dcsr_store *store, const char *name)
{
    enum { BYTES_A_READER = 64, BYTES_BEFORE = 256 };
    int file = dcsr_i_store_open_file(store, name, O_RDWR | O_CREAT);
    int reason =
        file < 0 ? errno : posix_fallocate(file, 0, DCSR_I_MOST_READERS * BYTES_A_READER + BYTES_BEFORE);
    if (file >= 0) close(file);
    if (!reason || reason == EOPNOTSUPP || reason == EINVAL) return DCSR_OK;
    return dcsr_i_store_fail(store, reason, "making room for its readers");
}

/* Nobody else has the store open, and who opens it waits. LMDB has a lock on its table of readers, of which
 * each process that has the file open has a share, and which tells who that is: it is taken as well, and
 * kept. LMDB's own use of the table would give it away, and is not needed by who is alone. */
static dcsr_status lock_alone(dcsr_store *store)
{
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    char who[40] = "another process";
    DCSR_TRY(make_room_for_readers(store, "lock.mdb"));
    store->alone = dcsr_i_store_open_file(store, "lock.mdb", O_RDWR);
    if (store->alone < 0) return dcsr_i_fail(DCSR_ERROR_IO, "%s/lock.mdb: %s", store->path, strerror(errno));
    bool failed = fcntl(store->alone, F_SETLK, &all);
    if (!failed) {
        store->folder = dcsr_i_folder_lock(store->path, LOCK_EX | LOCK_NB);
        if (store->folder >= 0) return DCSR_OK;
    }
    if (errno != EACCES && errno != EAGAIN && errno != EWOULDBLOCK)
        return dcsr_i_fail(DCSR_ERROR_IO, "%s: locking it: %s", store->path, strerror(errno));
    if (failed && !fcntl(store->alone, F_GETLK, &all) && all.l_type != F_UNLCK && all.l_pid > 0)
        snprintf(who, sizeof who, "process %ld", (long)all.l_pid);
    return dcsr_i_fail(DCSR_ERROR_BUSY, "%s: %s has the store open; try again when nobody has", store->path,
                       who);
}

/* ---- The environment ---- */

static dcsr_status fail_to_open(const dcsr_store *store, int code)
{
    if (code == ENOMEM && store->max_bytes)
        return dcsr_i_fail(
            DCSR_ERROR_OUT_OF_MEMORY,
            "%s: the system has no %llu addresses in one piece for the map of the file; open it with a "
            "lower max_bytes, or raise the limit of address space",
            store->path, (unsigned long long)store->max_bytes);
    if (code == MDB_INVALID || code == MDB_VERSION_MISMATCH)
        return dcsr_i_fail(DCSR_ERROR_FORMAT, "%s/data.mdb: %s, so this is no store", store->path,
                           mdb_strerror(code));
    if (!store->read_only && (code == EACCES || code == EPERM || code == EROFS))
        return dcsr_i_fail(DCSR_ERROR_IO, "%s: %s; a store that may not be written can be opened read_only",
                           store->path, mdb_strerror(code));
    return dcsr_i_store_fail(store, code, "opening the store");
}

static void close_env(dcsr_store *store)
{
    mdb_env_close(store->env);
    store->env = NULL;
}

/* LMDB's table of readers knows a process by its number, and that it lives by a lock on the byte of that
 * number, which is taken with the first transaction that reads. *taken: a process in another container has
 * it. */
static dcsr_status get_listed(const dcsr_store *store, bool *taken)
{
    MDB_txn *txn;
    int code = store->unlisted ? MDB_SUCCESS : dcsr_i_txn_begin_listed(&txn, store);
    if (!code && !store->unlisted) dcsr_i_txn_abort(txn, store);
    *taken = code == EAGAIN || code == EACCES;
    if (*taken)
        return dcsr_i_fail(
            DCSR_ERROR_BUSY,
            "%s: a process in another container reads the store and has the number of this one, %ld, by "
            "which LMDB tells them apart; try again when it has closed the store, or start this one so "
            "that it gets another number",
            store->path, (long)store->process);
    return code ? dcsr_i_store_fail(store, code, "getting a place in the table of readers") : DCSR_OK;
}

dcsr_status dcsr_i_store_open_env(dcsr_store *store, const char *folder, uint64_t addresses)
{
    if (!store->read_only && store->alone < 0)
        DCSR_TRY(
            make_room_for_readers(store, folder == store->path ? "lock.mdb" : DCSR_I_UNFINISHED "/lock.mdb"));
    int code = mdb_env_create(&store->env);
    if (code) return fail_to_open(store, code);
    mdb_env_set_maxdbs(store->env, DCSR_I_DATABASES);
    mdb_env_set_maxreaders(store->env, DCSR_I_MOST_READERS);
    mdb_env_set_mapsize(store->env, addresses);
    unsigned flags = MDB_NOTLS | MDB_NORDAHEAD | (store->read_only ? MDB_RDONLY : 0) |
                     (store->unlisted || store->alone >= 0 ? MDB_NOLOCK : 0);
    code = mdb_env_open(store->env, folder, flags, DCSR_I_STORE_FILE_MODE);
    if (!code) {
        bool taken;
        dcsr_status status = get_listed(store, &taken);
        if (status == DCSR_OK) return DCSR_OK;
        close_env(store);
        if (!taken || !store->read_only) return status;
        store->unlisted = true;
        return dcsr_i_store_open_env(store, folder, addresses);
    }
    close_env(store);
    if (code == ENOMEM && !store->max_bytes && addresses / 2 >= least_addresses)
        return dcsr_i_store_open_env(store, folder, addresses / 2);
    return fail_to_open(store, code);
}

/* Without max_bytes a share, and for a file that is there as much again as it has. */
static uint64_t addresses_for(const dcsr_store *store)
{
    char path[DCSR_I_LONGEST_PATH];
    struct stat data;
    if (store->max_bytes) return store->max_bytes;
    const uint64_t share = dcsr_i_mapping_share(most_addresses);
    const bool there = dcsr_i_store_path(path, store, "data.mdb") && !stat(path, &data);
    return there && 2 * (uint64_t)data.st_size > share ? 2 * (uint64_t)data.st_size : share;
}

static void count_addresses(dcsr_store *store)
{
    MDB_envinfo info;
    if (mdb_env_info(store->env, &info)) return;
    store->addresses = info.me_mapsize;
    dcsr_i_mapping_count((int64_t)store->addresses);
}

/* ---- The databases ---- */

static dcsr_status find_databases(dcsr_store *store, MDB_txn *txn)
{
    for (int d = 0; d < DCSR_I_DATABASES; d++) {
        int code = mdb_dbi_open(txn, dcsr_i_database_names[d], 0, &store->database[d]);
        if (code == MDB_NOTFOUND || code == MDB_INCOMPATIBLE)
            return dcsr_i_fail(DCSR_ERROR_FORMAT,
                               "%s: this is not a store of matrices: it has no database '%s'", store->path,
                               dcsr_i_database_names[d]);
        if (code) return dcsr_i_store_fail(store, code, "opening its databases");
    }
    dcsr_i_store_record record;
    DCSR_TRY(dcsr_i_store_record_get(store, txn, &record));
    store->chunk_bytes = record.chunk_bytes;
    store->compression = (int)record.compression;
    return DCSR_OK;
}

static dcsr_status open_databases(dcsr_store *store)
{
    MDB_txn *txn;
    DCSR_TRY(dcsr_i_txn_begin(&txn, store, !store->read_only));
    dcsr_status status = dcsr_i_pages_check(store, txn);
    if (status == DCSR_OK) status = find_databases(store, txn);
    if (status == DCSR_OK) return dcsr_i_txn_commit(txn, store);
    dcsr_i_txn_abort(txn, store);
    return status;
}

/* ---- Opening and closing ---- */

static dcsr_status check_options(const dcsr_store_options *options)
{
    if (options->chunk_bytes &&
        (options->chunk_bytes < DCSR_STORE_MIN_CHUNK || options->chunk_bytes > DCSR_STORE_MAX_CHUNK))
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "dcsr_store_open: chunks of %llu bytes; give %llu to %llu, or 0 for 1 MiB",
                           (unsigned long long)options->chunk_bytes, (unsigned long long)DCSR_STORE_MIN_CHUNK,
                           (unsigned long long)DCSR_STORE_MAX_CHUNK);
    if (options->max_bytes > DCSR_STORE_MAX_BYTES)
        return dcsr_i_fail(
            DCSR_ERROR_TOO_LARGE,
            "dcsr_store_open: max_bytes of %llu; a store has at most %llu (64 TiB), for its file is "
            "mapped as a whole; give that, or 0 for as much as the disk has",
            (unsigned long long)options->max_bytes, (unsigned long long)DCSR_STORE_MAX_BYTES);
    if (options->compression < 0 || options->compression > MOST_LEVEL)
        return dcsr_i_fail(
            DCSR_ERROR_INVALID_ARGUMENT,
            "dcsr_store_open: compression %d; give a level of zstd from 1 to %d, or 0 for none",
            options->compression, MOST_LEVEL);
    return DCSR_OK;
}

/* What was killed while it compacted the store has left the copy. */
static void remove_copy(const dcsr_store *store)
{
    char path[DCSR_I_LONGEST_PATH];
    if (dcsr_i_store_path(path, store, DCSR_I_COPY)) unlink(path);
}

static dcsr_status open_store(dcsr_store *store, const dcsr_store_options *options, bool alone)
{
    bool make = !options->read_only && !options->must_exist;
    DCSR_TRY(find_folder(store, make));
    DCSR_TRY(enter(store));
    if (!store->read_only) DCSR_TRY(lock_for_writing(store, options->refuse_locked));
    DCSR_TRY(alone ? lock_alone(store) : lock_folder(store, options->refuse_locked));
    if (!store->read_only) remove_copy(store);
    if (make) DCSR_TRY(dcsr_i_store_make(store));
    DCSR_TRY(dcsr_i_pages_check_file(store->path));
    store->unlisted = store->read_only && !dcsr_i_readers_can_be_listed(store);
    DCSR_TRY(dcsr_i_store_open_env(store, store->path, addresses_for(store)));
    count_addresses(store);
    if (!store->read_only) DCSR_TRY(dcsr_i_readers_wait(store, options->refuse_locked));
    DCSR_TRY(open_databases(store));
    if (store->read_only) return DCSR_OK;
    mdb_reader_check(store->env, NULL);
    /* What cannot be swept stays until it can: the matrices of a store on a full disk, or with a damaged
     * record, can be read, and old versions freed. */
    dcsr_status swept = dcsr_i_store_sweep(store, NULL);
    store->names_are_whole = swept == DCSR_OK;
    return swept == DCSR_ERROR_OUT_OF_MEMORY ? swept : DCSR_OK;
}

static dcsr_status make_handle(dcsr_store **store, const char *path, const dcsr_store_options *options,
                               bool alone)
{
    *store = NULL;
    dcsr_store *opened = dcsr_i_calloc(NULL, DCSR_I_MATRIX, 1, sizeof *opened);
    if (!opened) return DCSR_ERROR_OUT_OF_MEMORY;
    size_t length = strlen(path) + 1;
    opened->path = dcsr_i_alloc(NULL, DCSR_I_MATRIX, length, 1);
    opened->readers = dcsr_i_readers_create();
    opened->writer = opened->folder = opened->alone = -1;
    opened->process = getpid();
    opened->read_only = options->read_only;
    opened->max_bytes = options->max_bytes;
    opened->chunk_bytes = options->chunk_bytes ? options->chunk_bytes : default_chunk;
    opened->compression = options->compression;
    pthread_mutex_init(&opened->changing, NULL);
    pthread_mutex_init(&opened->writing, NULL);
    pthread_mutex_init(&opened->next_to_write, NULL);
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    if (opened->path && opened->readers) {
        memcpy(opened->path, path, length);
        dcsr_i_file_signal signal = dcsr_i_file_signal_hold();
        status = open_store(opened, options, alone);
        dcsr_i_file_signal_release(&signal);
    }
    if (status == DCSR_OK)
        *store = opened;
    else
        dcsr_store_close(opened);
    return status;
}

dcsr_status dcsr_store_open(dcsr_store **store, const char *path, const dcsr_store_options *options)
{
    static const dcsr_store_options defaults;
    if (!store || !path)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_store_open: %s is NULL",
                           store ? "path" : "store");
    *store = NULL;
    if (!options) options = &defaults;
    DCSR_TRY(check_options(options));
    return make_handle(store, path, options, false);
}

dcsr_status dcsr_i_store_open_alone(dcsr_store **store, const char *path)
{
    return make_handle(store, path, &(dcsr_store_options){.must_exist = true, .refuse_locked = true}, true);
}

void dcsr_store_close(dcsr_store *store)
{
    if (!store) return;
    bool ours = store->process == getpid();
    /* In a forked child the environment, its threads and its locks are the parent's. A lock that the parent
     * has belongs to its children as well, until it gives it up in so many words. */
    if (ours && dcsr_i_journal_close(store) != DCSR_OK) return;
    dcsr_i_names_close(store);
    if (ours) dcsr_i_writeback_close(store);
    dcsr_i_readers_free(store, ours);
    if (ours && store->env) mdb_env_close(store->env);
    dcsr_i_mapping_count(-(int64_t)store->addresses);
    if (store->alone >= 0) close(store->alone);
    if (ours && store->folder >= 0) flock(store->folder, LOCK_UN);
    if (store->folder >= 0) close(store->folder);
    if (ours && store->writer >= 0) flock(store->writer, LOCK_UN);
    if (store->writer >= 0) close(store->writer);
    leave(store);
    dcsr_i_free(NULL, DCSR_I_MATRIX, store->bases, store->base_capacity, sizeof *store->bases);
    pthread_mutex_destroy(&store->next_to_write);
    pthread_mutex_destroy(&store->writing);
    pthread_mutex_destroy(&store->changing);
    if (store->path) dcsr_i_free(NULL, DCSR_I_MATRIX, store->path, strlen(store->path) + 1, 1);
    dcsr_i_free(NULL, DCSR_I_MATRIX, store, 1, sizeof *store);
}

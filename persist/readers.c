/* readers.c: readers that LMDB's table does not list, and the pins of the writer for them. */
#include "persist/readers.h"
#include "persist/store_data.h"
#include "dcsr/base/alloc.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TRIES = 1000, MOST_SPACE = 128 };

dcsr_i_readers *dcsr_i_readers_create(void)
{
    dcsr_i_readers *readers = dcsr_i_calloc(NULL, DCSR_I_MATRIX, 1, sizeof *readers);
    if (readers) pthread_mutex_init(&readers->lock, NULL);
    return readers;
}

/* ---- Where process numbers are counted ---- */

/* When the first process of this space of process numbers began, in ticks of the system's clock; 0: it is not
 * known, as where /proc is that of another space. */
static unsigned long long first_began(void)
{
    enum { FIELDS_BEFORE = 19 }; /* behind the name, which is in brackets and may have any in it */
    char text[1024];
    ssize_t length = readlink("/proc/self", text, sizeof text - 1);
    if (length <= 0) return 0;
    text[length] = '\0';
    if (strtol(text, NULL, 10) != getpid()) return 0;
    int file = open("/proc/1/stat", O_RDONLY | O_CLOEXEC);
    length = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0) close(file);
    if (length <= 0) return 0;
    text[length] = '\0';
    const char *at = strrchr(text, ')');
    for (int field = 0; at && field <= FIELDS_BEFORE; field++) at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

/* What tells this process's space of process numbers from all others there have been: its name, which another
 * gets once it is gone, and when it began. That of the system itself is never gone. Returns the length; 0: it
 * is not known. */
static size_t describe_space(char text[MOST_SPACE])
{
    static const char systems[] = "pid:[4026531836]";
    char name[MOST_SPACE / 2];
    ssize_t length = readlink("/proc/self/ns/pid", name, sizeof name - 1);
    if (length <= 0) return 0;
    name[length] = '\0';
    unsigned long long began = strcmp(name, systems) != 0 ? first_began() : 0;
    if (!began && strcmp(name, systems) != 0) return 0;
    return (size_t)snprintf(text, MOST_SPACE, "%s %llu\n", name, began);
}

static bool is_space_of_writer(const dcsr_store *store, const char *space, size_t length)
{
    char writers[MOST_SPACE];
    int file = dcsr_i_store_open_file(store, "writer", O_RDONLY);
    ssize_t got = file < 0 ? 0 : pread(file, writers, sizeof writers, 0);
    if (file >= 0) close(file);
    return length && got == (ssize_t)length && !memcmp(space, writers, length);
}

/* Where it cannot be written, on a full disk, readers take it that they are elsewhere. */
void dcsr_i_readers_note_writer(const dcsr_store *store)
{
    char space[MOST_SPACE];
    size_t length = describe_space(space);
    if (is_space_of_writer(store, space, length)) return;
    if (pwrite(store->writer, space, length, 0) != (ssize_t)length || ftruncate(store->writer, (off_t)length))
        return;
}

/* Nobody has locks on lock.mdb yet that closing it would drop. */
bool dcsr_i_readers_can_be_listed(const dcsr_store *store)
{
    char space[MOST_SPACE];
    int file = dcsr_i_store_open_file(store, "lock.mdb", O_RDWR | O_CREAT);
    if (file < 0) return errno != EROFS && errno != EACCES && errno != EPERM;
    close(file);
    return is_space_of_writer(store, space, describe_space(space));
}

/* ---- Locks on what is read ---- */

/* `count` bytes of data.mdb from the offset on; LMDB's descriptor serves, on which it has no locks itself.
 * Returns 0 or the system's reason. */
static int lock_bytes(const dcsr_store *store, int command, int type, uint64_t offset, uint64_t count)
{
    struct flock lock = {
        .l_type = (short)type, .l_whence = SEEK_SET, .l_start = (off_t)offset, .l_len = (off_t)count};
    mdb_filehandle_t file;
    int result = mdb_env_get_fd(store->env, &file);
    if (result) return result;
    do result = fcntl(file, command, &lock);
    while (result && errno == EINTR);
    return result ? errno : 0;
}

/* The transaction that was committed last. */
static uint64_t newest(const dcsr_store *store)
{
    MDB_envinfo info = {0};
    mdb_env_info(store->env, &info);
    return info.me_last_txnid;
}

/* Gives up the lock of a transaction, unless another of this process needs it. With the readers' lock. */
static void unlock(const dcsr_store *store, uint64_t number)
{
    for (const dcsr_i_unlisted *u = store->readers->unlisted; u; u = u->next)
        if (u->number == number) return;
    lock_bytes(store, F_OFD_SETLK, F_UNLCK, number, 1);
}

/* Begins a transaction when its number is locked. LMDB copies the meta page that it begins with out of the
 * map, and the writer may be writing that page: not if the number was there before, and is the newest still.
 */
static dcsr_status begin_locked(MDB_txn **txn, const dcsr_store *store, uint64_t *number)
{
    for (int tries = 0; tries < TRIES; tries++) {
        *number = newest(store);
        int code = lock_bytes(store, F_OFD_SETLKW, F_RDLCK, *number, 1);
        if (code)
            return dcsr_i_fail(
                DCSR_ERROR_IO,
                "%s/data.mdb: who may only read a store needs locks on its file, and this file "
                "system gives none (%s); read a copy of the store",
                store->path, strerror(code));
        code = mdb_txn_begin(store->env, NULL, MDB_RDONLY, txn);
        if (!code && mdb_txn_id(*txn) == *number && newest(store) == *number) return DCSR_OK;
        if (!code) mdb_txn_abort(*txn);
        unlock(store, *number);
        if (code) return dcsr_i_store_fail(store, code, "beginning a transaction");
    }
    return dcsr_i_fail(DCSR_ERROR_IO, "%s/data.mdb: reading it: it changes all the time", store->path);
}

dcsr_status dcsr_i_unlisted_begin(MDB_txn **txn, const dcsr_store *store)
{
    dcsr_i_readers *readers = store->readers;
    dcsr_i_unlisted *begun = dcsr_i_alloc(NULL, DCSR_I_MATRIX, 1, sizeof *begun);
    if (!begun) return DCSR_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&readers->lock);
    dcsr_status status = begin_locked(txn, store, &begun->number);
    if (status == DCSR_OK) {
        begun->txn = *txn;
        begun->next = readers->unlisted;
        readers->unlisted = begun;
    }
    pthread_mutex_unlock(&readers->lock);
    if (status != DCSR_OK) dcsr_i_free(NULL, DCSR_I_MATRIX, begun, 1, sizeof *begun);
    return status;
}

int dcsr_i_unlisted_end(MDB_txn *txn, const dcsr_store *store, bool commit)
{
    dcsr_i_readers *readers = store->readers;
    int code = 0;
    pthread_mutex_lock(&readers->lock);
    dcsr_i_unlisted **link = &readers->unlisted, *ended;
    while ((ended = *link)->txn != txn) link = &ended->next;
    *link = ended->next;
    if (commit)
        code = mdb_txn_commit(txn);
    else
        mdb_txn_abort(txn);
    unlock(store, ended->number);
    pthread_mutex_unlock(&readers->lock);
    dcsr_i_free(NULL, DCSR_I_MATRIX, ended, 1, sizeof *ended);
    return code;
}

/* ---- The writer ---- */

/* The lowest number that is locked. The system tells of any lock in a range: below that one, until there is
 * none. */
bool dcsr_i_readers_find_lowest(const dcsr_store *store, uint64_t *number)
{
    mdb_filehandle_t file;
    bool found = false;
    off_t end = 0; /* no end */
    if (mdb_env_get_fd(store->env, &file)) return false;
    do {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = end};
        /* Where the file system has no locks, no reader has one. */
        if (fcntl(file, F_OFD_GETLK, &lock) || lock.l_type == F_UNLCK) break;
        found = true;
        end = lock.l_start;
    } while (end);
    *number = (uint64_t)end;
    return found;
}

dcsr_status dcsr_i_readers_wait(const dcsr_store *store, bool refuse)
{
    uint64_t last = newest(store);
    if (last < 2) return DCSR_OK;
    int code = lock_bytes(store, refuse ? F_OFD_SETLK : F_OFD_SETLKW, F_WRLCK, 0, last - 1);
    if (!code) lock_bytes(store, F_OFD_SETLK, F_UNLCK, 0, last - 1);
    if (code != EAGAIN && code != EACCES)
        return DCSR_OK; /* where there are no locks there is no such reader */
    return dcsr_i_fail(
        DCSR_ERROR_BUSY,
        "%s: a process that may only read the store, or is in another container, holds an older state "
        "of it, which writing might overwrite; try again when it has destroyed its view",
        store->path);
}

static void end_pin(dcsr_i_readers *readers)
{
    mdb_txn_abort(readers->pins[0]);
    readers->pins[0] = readers->pins[1];
    readers->pins[1] = NULL;
}

/* Two are enough for pages to become free as readers come and go: once those that the older is for are gone,
 * the younger takes its place, and a new one the younger's. */
dcsr_status dcsr_i_readers_pin(const dcsr_store *store)
{
    dcsr_i_readers *readers = store->readers;
    uint64_t lowest;
    if (!dcsr_i_readers_find_lowest(store, &lowest)) {
        dcsr_i_readers_unpin(store);
        return DCSR_OK;
    }
    if (readers->pins[1] && mdb_txn_id(readers->pins[1]) <= lowest + 1) end_pin(readers);
    for (int p = 0; p < 2; p++) {
        if (readers->pins[p]) continue;
        return dcsr_i_txn_begin(&readers->pins[p], store, false);
    }
    return DCSR_OK;
}

void dcsr_i_readers_unpin(const dcsr_store *store)
{
    while (store->readers->pins[0]) end_pin(store->readers);
}

void dcsr_i_readers_free(dcsr_store *store, bool ours)
{
    dcsr_i_readers *readers = store->readers;
    if (!readers) return;
    if (ours) dcsr_i_readers_unpin(store);
    if (ours && store->env) lock_bytes(store, F_OFD_SETLK, F_UNLCK, 0, 0);
    while (readers->unlisted) {
        dcsr_i_unlisted *unlisted = readers->unlisted;
        readers->unlisted = unlisted->next;
        dcsr_i_free(NULL, DCSR_I_MATRIX, unlisted, 1, sizeof *unlisted);
    }
    pthread_mutex_destroy(&readers->lock);
    dcsr_i_free(NULL, DCSR_I_MATRIX, readers, 1, sizeof *readers);
    store->readers = NULL;
}

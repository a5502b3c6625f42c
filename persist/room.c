/* room.c: room in the file of a store and on its disk: what is freed can be used, and what is told when there
 * is none.
 *
 * LMDB uses what a transaction has freed from the second one after it on, and one that fails does not count.
 * So where a transaction has freed something, a small one is committed behind it: else what would fit into
 * that room failed again and again. */
#include "persist/store_data.h"
#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- The limit of a process ---- */

/* A write beyond the limit sends a signal to its thread. One that was pending before is not ours. */
dcsr_i_file_signal dcsr_i_file_signal_hold(void)
{
    dcsr_i_file_signal held;
    sigset_t set;
    sigpending(&set);
    held.pending = sigismember(&set, SIGXFSZ) == 1;
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &set, &held.before);
    return held;
}

void dcsr_i_file_signal_release(const dcsr_i_file_signal *held)
{
    int error = errno;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    if (!held->pending)
        while (sigtimedwait(&set, NULL, &(struct timespec){0}) < 0 && errno == EINTR) continue;
    pthread_sigmask(SIG_SETMASK, &held->before, NULL);
    errno = error;
}

/* Whether the data file is as long as the process may make it. LMDB says EIO for a write that ended there. */
static bool file_is_at_limit(const dcsr_store *store)
{
    struct rlimit most;
    struct stat data;
    mdb_filehandle_t file;
    return !getrlimit(RLIMIT_FSIZE, &most) && most.rlim_cur != RLIM_INFINITY && store->env &&
           !mdb_env_get_fd(store->env, &file) && !fstat(file, &data) && (rlim_t)data.st_size >= most.rlim_cur;
}

/* ---- What is told ---- */

static _Thread_local bool lacked_room; /* since dcsr_i_store_with_room() has begun */

dcsr_status dcsr_i_store_fail_for_room(const dcsr_store *store, int code, const char *doing)
{
    const char *path = store->path;
    MDB_envinfo info;
    lacked_room = true;
    if (code == MDB_MAP_FULL && store->max_bytes)
        return dcsr_i_fail(DCSR_ERROR_TOO_LARGE,
                           "%s: %s: the store has reached its limit of %llu bytes, and is as it was; open it "
                           "with a higher max_bytes",
                           path, doing, (unsigned long long)store->max_bytes);
    if (code == MDB_MAP_FULL)
        return dcsr_i_fail(DCSR_ERROR_TOO_LARGE,
                           "%s: %s: the store has filled its map of %llu bytes, and is as it was; open it "
                           "under a higher limit of address space (ulimit -v)",
                           path, doing,
                           (unsigned long long)(mdb_env_info(store->env, &info) ? 0 : info.me_mapsize));
    if (code == EFBIG || (code == EIO && file_is_at_limit(store)))
        return dcsr_i_fail(
            DCSR_ERROR_IO,
            "%s: %s: it would exceed the file-size limit of this process (ulimit -f), and is as "
            "it was; raise the limit",
            path, doing);
    return dcsr_i_fail(DCSR_ERROR_IO, "%s: %s: the disk is full%s, and the store as it was; make room there",
                       path, doing, code == EIO ? " or failing" : "");
}

dcsr_status dcsr_i_store_offer_gc(dcsr_status status)
{
    if (status == DCSR_OK || !lacked_room) return status;
    return dcsr_i_fail(status, "%s, or free old versions (gc)", dcsr_i_error_text());
}

/* ---- Passing on ---- */

/* The small transaction. Where it fails there is no room for it either. */
static void pass_on(const dcsr_store *store)
{
    MDB_txn *txn;
    dcsr_i_store_record record;
    if (dcsr_i_txn_begin(&txn, store, true) != DCSR_OK) return;
    if (dcsr_i_store_record_get(store, txn, &record) == DCSR_OK &&
        dcsr_i_store_record_put(store, txn, &record) == DCSR_OK)
        dcsr_i_txn_commit(txn, store);
    else
        dcsr_i_txn_abort(txn, store);
}

dcsr_status dcsr_i_txn_commit_freed(MDB_txn *txn, const dcsr_store *store)
{
    MDB_envinfo info;
    size_t number = mdb_txn_id(txn);
    DCSR_TRY(dcsr_i_txn_commit(txn, store));
    DCSR_I_POINT("room: freed");
    if (!mdb_env_info(store->env, &info) && info.me_last_txnid == number) pass_on(store);
    return DCSR_OK;
}

dcsr_status dcsr_i_store_with_room(dcsr_store *store, dcsr_i_store_work work, void *user)
{
    lacked_room = false;
    dcsr_status status = work(store, user);
    if (status == DCSR_OK || !lacked_room) return status;
    pass_on(store);
    lacked_room = false;
    return work(store, user);
}

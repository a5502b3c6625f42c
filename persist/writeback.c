/* writeback.c: has the disk begin with what a large transaction writes before all of it is written.
 *
 *      LMDB's commit     pages -> system's cache ........... sync, meta page, sync
 *      this thread           |  whatever is there -> disk
 *
 * So the disk is not idle meanwhile, and the sync finds little to do. No meta page on the disk names these
 * pages yet: nothing depends on which of them are there when the power fails.
 *
 * The thread is there from the first large transaction on until the store is closed. */
#include "persist/store_data.h"
#include "dcsr/base/alloc.h"
#include <fcntl.h>
#include <time.h>

struct dcsr_i_writeback {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    mdb_filehandle_t file;
    bool active, ending; /* under `lock` */
};

static void *write_back(void *argument)
{
    static const struct timespec pause = {.tv_nsec = 500000};
    struct dcsr_i_writeback *w = argument;
    pthread_mutex_lock(&w->lock);
    while (!w->ending) {
        if (!w->active) {
            pthread_cond_wait(&w->changed, &w->lock);
            continue;
        }
        pthread_mutex_unlock(&w->lock);
        sync_file_range(w->file, 0, 0, SYNC_FILE_RANGE_WRITE);
        nanosleep(&pause, NULL);
        pthread_mutex_lock(&w->lock);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

void dcsr_i_writeback_start(dcsr_store *store)
{
    if (store->writeback) return;
    struct dcsr_i_writeback *w = dcsr_i_calloc(NULL, DCSR_I_MATRIX, 1, sizeof *w);
    if (!w) return;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
    if (!mdb_env_get_fd(store->env, &w->file) && !pthread_create(&w->thread, NULL, write_back, w)) {
        store->writeback = w;
        return;
    }
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    dcsr_i_free(NULL, DCSR_I_MATRIX, w, 1, sizeof *w);
}

static void tell(struct dcsr_i_writeback *w, bool active, bool ending)
{
    pthread_mutex_lock(&w->lock);
    w->active = active;
    w->ending = ending;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

dcsr_status dcsr_i_txn_commit_early(MDB_txn *txn, const dcsr_store *store)
{
    if (store->writeback) tell(store->writeback, true, false);
    dcsr_status status = dcsr_i_txn_commit(txn, store);
    if (store->writeback) tell(store->writeback, false, false);
    return status;
}

void dcsr_i_writeback_close(dcsr_store *store)
{
    struct dcsr_i_writeback *w = store->writeback;
    if (!w) return;
    tell(w, false, true);
    pthread_join(w->thread, NULL);
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    dcsr_i_free(NULL, DCSR_I_MATRIX, w, 1, sizeof *w);
    store->writeback = NULL;
}

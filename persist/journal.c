/* journal.c: durable matrices, the threads that keep their changes, and what snapshots have to do with them.
 */
#include "persist/durable.h"
#include "dcsr/base/alloc.h"
#include "dcsr/store/store.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- The threads ---- */

/* Takes the lock; lets a thread know. */
static void tell(dcsr_i_log_writer *log, bool *what)
{
    pthread_mutex_lock(&log->lock);
    *what = true;
    pthread_cond_broadcast(&log->changed);
    pthread_mutex_unlock(&log->lock);
}

/* Waits until there is something for a thread; false when there will be nothing any more. */
static bool is_told(dcsr_i_log_writer *log, bool *what)
{
    pthread_mutex_lock(&log->lock);
    while (!*what && !log->ending) pthread_cond_wait(&log->changed, &log->lock);
    bool told = *what;
    *what = false;
    pthread_mutex_unlock(&log->lock);
    return told;
}

static void write_once(dcsr_i_log_writer *log, dcsr_store *store)
{
    dcsr_i_store_begin_writing(store);
    dcsr_i_log_left left = dcsr_i_log_write(store);
    dcsr_i_store_end_writing(store);
    if (left.more) tell(log, &log->news);
    if (left.replaced) tell(log, &log->replaced);
}

static void snapshot_once(dcsr_i_log_writer *log, dcsr_store *store)
{
    dcsr_i_store_lock(store);
    bool any = dcsr_i_log_make_snapshots(store);
    dcsr_i_store_unlock(store);
    if (any) tell(log, &log->news); /* where one has failed, what waits is lost */
}

static void *write_log(void *argument)
{
    dcsr_i_log_writer *log = argument;
    dcsr_store *store = log->store;
    while (is_told(log, &log->news)) write_once(log, store);
    return NULL;
}

static void *make_snapshots(void *argument)
{
    dcsr_i_log_writer *log = argument;
    dcsr_store *store = log->store;
    while (is_told(log, &log->replaced)) snapshot_once(log, store);
    return NULL;
}

/* Once the threads have ended: whether something has come meanwhile. Else the log takes nothing any more. */
static bool takes_more(dcsr_i_log_writer *log)
{
    pthread_mutex_lock(&log->lock);
    bool more = log->news || log->replaced;
    log->news = log->replaced = false;
    if (!more) log->store = NULL;
    pthread_mutex_unlock(&log->lock);
    return more;
}

static void let_go(dcsr_i_log_writer *log)
{
    pthread_mutex_lock(&log->lock);
    bool last = !--log->holders;
    pthread_mutex_unlock(&log->lock);
    if (!last) return;
    pthread_cond_destroy(&log->changed);
    pthread_mutex_destroy(&log->lock);
    dcsr_i_free(NULL, DCSR_I_MATRIX, log, 1, sizeof *log);
}

static void end_thread(dcsr_i_log_writer *log, pthread_t thread)
{
    tell(log, &log->ending);
    pthread_join(thread, NULL);
}

static dcsr_status start_log(dcsr_store *store)
{
    if (store->log) return DCSR_OK;
    dcsr_i_log_writer *log = dcsr_i_calloc(NULL, DCSR_I_MATRIX, 1, sizeof *log);
    if (!log) return DCSR_ERROR_OUT_OF_MEMORY;
    pthread_mutex_init(&log->lock, NULL);
    pthread_cond_init(&log->changed, NULL);
    log->store = store;
    log->holders = 1;
    int error = pthread_create(&log->log_thread, NULL, write_log, log);
    if (!error) {
        error = pthread_create(&log->snapshot_thread, NULL, make_snapshots, log);
        if (error) end_thread(log, log->log_thread);
    }
    if (error) {
        let_go(log);
        return dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY, "%s: starting the thread of the log: %s", store->path,
                           strerror(error));
    }
    store->log = log;
    return DCSR_OK;
}

dcsr_status dcsr_i_journal_close(dcsr_store *store)
{
    dcsr_i_log_writer *log = store->log;
    if (!log) return DCSR_OK;
    for (const dcsr_i_durable *d = store->durable; d; d = d->next)
        if (d->matrix) DCSR_TRY(dcsr_i_queue_wait(d->matrix, "dcsr_store_close"));
    end_thread(log, log->snapshot_thread);
    end_thread(log, log->log_thread);
    while (takes_more(log)) {
        write_once(log, store);
        snapshot_once(log, store);
    }
    store->durable = NULL;
    store->log = NULL;
    let_go(log);
    return DCSR_OK;
}

/* ---- What waits ---- */

dcsr_i_operation *dcsr_i_durable_first(dcsr_i_durable *durable)
{
    pthread_mutex_lock(&durable->log->lock);
    dcsr_i_operation *operation = durable->first;
    pthread_mutex_unlock(&durable->log->lock);
    return operation;
}

dcsr_i_operation *dcsr_i_durable_take(dcsr_i_durable *durable)
{
    pthread_mutex_lock(&durable->log->lock);
    dcsr_i_operation *operation = durable->first;
    durable->first = operation->next;
    operation->next = NULL;
    pthread_mutex_unlock(&durable->log->lock);
    return operation;
}

void dcsr_i_durable_break(dcsr_i_durable *durable, const dcsr_store *store, const char *reason)
{
    durable->broken = true;
    dcsr_i_error_format(durable->reason, sizeof durable->reason,
                        "%s#%s: changes are in memory and not in the log, until a snapshot is made: %s",
                        store->path, durable->name, reason);
}

/* ---- What the matrix calls ---- */

static void record(dcsr_i_journal *journal, dcsr_i_operation *operation)
{
    const dcsr_i_durable *durable = (dcsr_i_durable *)journal;
    if (operation->kind != DCSR_I_REPLACE) dcsr_i_log_pack(operation, durable->matrix);
}

static dcsr_status applied(dcsr_i_journal *journal, dcsr_i_operation *operation)
{
    dcsr_i_durable *durable = (dcsr_i_durable *)journal;
    dcsr_i_log_writer *log = durable->log;
    dcsr_status status = DCSR_OK;
    pthread_mutex_lock(&log->lock);
    if (log->store) {
        operation->next = NULL;
        if (durable->first)
            durable->last->next = operation;
        else
            durable->first = operation;
        durable->last = operation;
        log->news = true;
        pthread_cond_broadcast(&log->changed);
    } else {
        status =
            dcsr_i_fail(DCSR_ERROR_NOT_DURABLE,
                        "the store of '%s' was closed before its matrix was destroyed: changes are in memory "
                        "alone",
                        durable->name);
    }
    pthread_mutex_unlock(&log->lock);
    return status;
}

static void close_durable(dcsr_i_journal *journal)
{
    dcsr_i_durable_close((dcsr_i_durable *)journal);
}

/* ---- Durable matrices ---- */

static dcsr_i_durable *find(const dcsr_store *store, const char *name)
{
    dcsr_i_durable *durable = store->durable;
    while (durable && strcmp(durable->name, name) != 0) durable = durable->next;
    return durable;
}

static dcsr_status open_durable(dcsr_i_durable **durable, dcsr_store *store, const char *name)
{
    if (find(store, name))
        return dcsr_i_fail(DCSR_ERROR_BUSY, "%s#%s: it is open as a durable matrix already; use that one",
                           store->path, name);
    DCSR_TRY(start_log(store));
    dcsr_i_durable *created = dcsr_i_calloc(NULL, DCSR_I_MATRIX, 1, sizeof *created);
    if (!created) return DCSR_ERROR_OUT_OF_MEMORY;
    created->journal = (dcsr_i_journal){.record = record, .applied = applied, .close = close_durable};
    snprintf(created->name, sizeof created->name, "%s", name);
    created->log = store->log;
    pthread_mutex_lock(&store->log->lock);
    store->log->holders++;
    pthread_mutex_unlock(&store->log->lock);
    created->next = store->durable;
    store->durable = created;
    *durable = created;
    return DCSR_OK;
}

dcsr_status dcsr_i_durable_open(dcsr_i_durable **durable, dcsr_store *store, const char *name)
{
    dcsr_i_store_lock(store);
    dcsr_status status = open_durable(durable, store, name);
    dcsr_i_store_unlock(store);
    return status;
}

dcsr_status dcsr_i_durable_attach(dcsr_i_durable *durable, dcsr_store *store, dcsr_matrix *matrix,
                                  const dcsr_i_matrix_record *record)
{
    dcsr_i_matrix_record now;
    MDB_txn *txn;
    dcsr_i_store_lock(store);
    dcsr_status status = dcsr_i_txn_begin(&txn, store, false);
    if (status == DCSR_OK) {
        status = dcsr_i_matrix_record_get(store, txn, durable->name, &now);
        dcsr_i_txn_abort(txn, store);
    }
    if (status == DCSR_ERROR_NOT_FOUND || (status == DCSR_OK && memcmp(record, &now, sizeof now) != 0))
        status =
            dcsr_i_fail(DCSR_ERROR_BUSY, "%s#%s: it was changed while it was being opened; open it again",
                        store->path, durable->name);
    if (status == DCSR_OK) {
        durable->matrix = matrix;
        pthread_mutex_lock(&matrix->queue.lock);
        matrix->queue.journal = &durable->journal;
        pthread_mutex_unlock(&matrix->queue.lock);
    }
    dcsr_i_store_unlock(store);
    return status;
}

void dcsr_i_durable_close(dcsr_i_durable *durable)
{
    pthread_mutex_lock(&durable->log->lock);
    dcsr_store *store = durable->log->store;
    pthread_mutex_unlock(&durable->log->lock);
    if (store) {
        dcsr_i_store_begin_writing(store);
        dcsr_i_durable **link = &store->durable;
        while (*link != durable) link = &(*link)->next;
        *link = durable->next;
        dcsr_i_names_let_go(store, durable->name);
        dcsr_i_store_end_writing(store);
    }
    let_go(durable->log);
    dcsr_i_free(NULL, DCSR_I_MATRIX, durable, 1, sizeof *durable);
}

/* ---- What snapshots call, with `writing` ---- */

dcsr_matrix *dcsr_i_journal_matrix(const dcsr_store *store, const char *name)
{
    const dcsr_i_durable *durable = find(store, name);
    return durable ? durable->matrix : NULL;
}

void dcsr_i_journal_trimmed(dcsr_store *store, const char *name, uint64_t version)
{
    dcsr_i_durable *durable = find(store, name);
    if (!durable || !durable->matrix) return; /* or is being opened, and another was stored under its name */
    durable->covered = version;
    if (durable->lost <= version) durable->broken = false;
    for (const dcsr_i_operation *o = dcsr_i_durable_first(durable); o && o->journal.version <= version;
         o = dcsr_i_durable_first(durable))
        dcsr_i_queue_report(durable->matrix, dcsr_i_durable_take(durable), DCSR_OK, NULL);
    tell(durable->log, &durable->log->news); /* what waited behind an operation that it has reported */
}

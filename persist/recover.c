/* recover.c: a matrix of a store as its newest version and the log on top of it make it: opened for durable
 * work, or only looked at. One transaction shows both, so that they belong together whatever is written
 * meanwhile. */
#include "persist/durable.h"
#include "persist/stored_rows.h"
#include "dcsr/store/entries.h"
#include "dcsr/store/store.h"

/* Batches are queued while earlier ones are applied, as far as that is no burden on memory. */
static const uint64_t most_queued = (uint64_t)64 << 20;

typedef struct recovery {
    const char *call;
    dcsr_store *store;
    const char *name;
    dcsr_matrix *matrix;
    MDB_txn *txn; /* that shows version and log */
    dcsr_i_matrix_record record;
    dcsr_i_operation *operation; /* that goes on in the next record; NULL: none does */
    uint64_t queued;             /* bytes since the last waiting */
    dcsr_recovery report;
} recovery;

/* ---- Replaying ---- */

static dcsr_status damaged(const recovery *r, uint64_t position, const char *why)
{
    return dcsr_i_fail(DCSR_ERROR_CORRUPT,
                       "%s#%s: record %llu of the log: %s; version %llu, which it was written after, can be "
                       "restored",
                       r->store->path, r->name, (unsigned long long)position, why,
                       (unsigned long long)r->report.version);
}

/* The dimensions that the matrix has once what is queued has been applied. */
static bool fits(const dcsr_matrix *matrix, const dcsr_i_log_record *record)
{
    return record->type == (uint32_t)matrix->type && record->rows == matrix->queue.rows &&
           record->cols == matrix->queue.cols;
}

static dcsr_status begin_batch(recovery *r, const dcsr_i_log_record *record)
{
    dcsr_i_entries entries = {.call = r->call,
                              .kind = record->kind == DCSR_I_LOG_INSERT ? DCSR_I_INSERT : DCSR_I_REMOVE,
                              .n = record->entries};
    return dcsr_i_entries_operation(&r->operation, r->matrix, &entries, record->rows, record->cols);
}

static dcsr_status queue_batch(recovery *r)
{
    dcsr_i_operation *operation = r->operation;
    r->operation = NULL;
    operation->batch.calls = 1;
    r->queued += dcsr_i_operation_bytes(operation);
    pthread_mutex_lock(&r->matrix->queue.lock);
    dcsr_status status = dcsr_i_enqueue_locked(r->matrix, operation);
    pthread_mutex_unlock(&r->matrix->queue.lock);
    if (status != DCSR_OK) dcsr_i_operation_release(operation);
    if (status != DCSR_OK || r->queued < most_queued) return status;
    r->queued = 0;
    return dcsr_matrix_wait(r->matrix);
}

static dcsr_status replay_entries(recovery *r, const dcsr_i_log_record *record, const MDB_val *value)
{
    if (!r->operation) DCSR_TRY(begin_batch(r, record));
    dcsr_i_operation *operation = r->operation;
    if ((operation->kind == DCSR_I_INSERT) != (record->kind == DCSR_I_LOG_INSERT))
        return damaged(r, record->position, "it does not go on with the batch before it");
    uint64_t n = operation->batch.n + record->entries;
    if (n > operation->batch.capacity)
        DCSR_TRY(dcsr_i_entries_room(operation, n > 2 * operation->batch.n ? n : 2 * operation->batch.n));
    if (!dcsr_i_log_unpack(operation, record, value->mv_data))
        return damaged(r, record->position, "an entry lies outside the matrix");
    r->report.log_entries += record->entries;
    return record->flags & DCSR_I_BATCH_GOES_ON ? DCSR_OK : queue_batch(r);
}

static dcsr_status replay_record(recovery *r, uint64_t position)
{
    dcsr_i_numbers number = dcsr_i_numbers_key(r->record.number, position);
    MDB_val key = {sizeof number, &number}, value;
    int code = mdb_get(r->txn, r->store->database[DCSR_I_DB_LOG], &key, &value);
    if (code == MDB_NOTFOUND) return damaged(r, position, "it is not there");
    if (code) return dcsr_i_store_fail(r->store, code, "reading the log");
    dcsr_i_log_record record;
    const char *why;
    if (dcsr_i_log_record_is_wrong(&record, value.mv_data, value.mv_size, r->record.number, position, &why))
        return damaged(r, position, why);
    if (record.kind == DCSR_I_LOG_RESIZE) {
        if (r->operation) return damaged(r, position, "it does not go on with the batch before it");
        r->report.log_records++;
        return dcsr_matrix_resize(r->matrix, record.rows, record.cols, NULL);
    }
    if (!fits(r->matrix, &record)) return damaged(r, position, "it is for a matrix of another shape or type");
    if (!r->operation) r->report.log_records++;
    return replay_entries(r, &record, &value);
}

/* The records after those that the version holds. */
static dcsr_status replay(recovery *r, uint64_t held)
{
    for (uint64_t position = held + 1; position < r->record.next_position; position++)
        DCSR_TRY(replay_record(r, position));
    if (r->operation)
        return damaged(r, r->record.next_position, "a batch goes on in it, and it is not there");
    return dcsr_matrix_wait(r->matrix);
}

/* Restores the newest version, which has been found, and replays the log. */
static dcsr_status restore(recovery *r, dcsr_context *context, dcsr_i_stored *newest,
                           const dcsr_matrix_options *options)
{
    r->txn = newest->txn;
    r->record = newest->version.matrix;
    r->report.version = newest->version.record.version;
    DCSR_TRY(dcsr_i_stored_restore(&r->matrix, r->call, context, newest, options));
    DCSR_I_POINT("recovery: restored");
    dcsr_status status = replay(r, newest->version.record.log_position);
    dcsr_i_operation_release(r->operation);
    if (status == DCSR_OK && r->record.more.flags & DCSR_I_MATRIX_TAGGED)
        dcsr_i_matrix_tag(r->matrix, &r->record.more.tag);
    DCSR_I_POINT("recovery: replayed");
    return status;
}

/* ---- Looking ---- */

dcsr_status dcsr_store_recover(dcsr_matrix **matrix, dcsr_context *context, dcsr_store *store,
                               const char *name, const dcsr_matrix_options *options, dcsr_recovery *report)
{
    if (!matrix) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_store_recover: matrix is NULL");
    *matrix = NULL;
    if (report) *report = (dcsr_recovery){0};
    DCSR_TRY(dcsr_i_context_check(context));
    DCSR_TRY(dcsr_i_store_check("dcsr_store_recover", store, false));
    DCSR_TRY(dcsr_i_store_check_name("dcsr_store_recover", name));
    recovery r = {.call = "dcsr_store_recover", .store = store, .name = name};
    dcsr_i_stored newest;
    DCSR_TRY(dcsr_i_stored_open(&newest, store, name, 0));
    dcsr_status status = restore(&r, context, &newest, options);
    dcsr_i_stored_close(&newest);
    if (status != DCSR_OK) {
        dcsr_matrix_destroy(r.matrix);
        return status;
    }
    *matrix = r.matrix;
    if (report) *report = r.report;
    return DCSR_OK;
}

/* ---- Opening ---- */

static dcsr_status check_type(const recovery *r, const dcsr_i_version *version,
                              const dcsr_durable_options *options)
{
    if (!options || version->record.type == (uint32_t)options->type) return DCSR_OK;
    return dcsr_i_fail(DCSR_ERROR_TYPE_MISMATCH, "%s#%s: the stored matrix is of type %s, not %s",
                       r->store->path, r->name, dcsr_type_name((dcsr_type)version->record.type),
                       (unsigned)options->type < DCSR_TYPE_COUNT ? dcsr_type_name(options->type)
                                                                 : "an unknown one");
}

/* The record of the matrix as it is now; whether it has a version. */
static dcsr_status read_record(recovery *r, bool *there)
{
    MDB_txn *txn;
    DCSR_TRY(dcsr_i_txn_begin(&txn, r->store, false));
    dcsr_status status = dcsr_i_matrix_record_get(r->store, txn, r->name, &r->record);
    dcsr_i_txn_abort(txn, r->store);
    *there = status == DCSR_OK && r->record.newest;
    return status == DCSR_ERROR_NOT_FOUND ? DCSR_OK : status;
}

static dcsr_status write_first(recovery *r, bool *there)
{
    dcsr_version_info info;
    bool written;
    DCSR_TRY(read_record(r, there));
    if (*there) return DCSR_OK;
    DCSR_TRY(dcsr_i_store_write_version(r->store, r->name, r->matrix, &info));
    r->report.created = true;
    r->report.version = info.version;
    return read_record(r, &written);
}

/* A new matrix begins with a version that is empty, so that there always is one. *there when another thread
 * has stored a matrix under the name since it was looked for: that one is to be opened. */
static dcsr_status make_new(recovery *r, dcsr_context *context, const dcsr_durable_options *options,
                            bool *there)
{
    DCSR_I_POINT("recovery: not there");
    DCSR_TRY(dcsr_i_matrix_create(&r->matrix, r->call, context, options->type, options->rows, options->cols,
                                  &options->matrix));
    dcsr_i_store_lock(r->store);
    dcsr_status status = write_first(r, there);
    dcsr_i_store_unlock(r->store);
    if (!*there) return status;
    dcsr_matrix_destroy(r->matrix);
    r->matrix = NULL;
    return status;
}

/* Whether the store has a matrix of that name: then it is opened. Without options it must. */
static dcsr_status open_stored(recovery *r, dcsr_context *context, const dcsr_durable_options *options,
                               bool *there)
{
    dcsr_i_stored newest;
    dcsr_status status = dcsr_i_stored_open(&newest, r->store, r->name, 0);
    *there = !options || status != DCSR_ERROR_NOT_FOUND;
    if (status != DCSR_OK) return *there ? status : DCSR_OK;
    status = check_type(r, &newest.version, options);
    if (status == DCSR_OK) status = restore(r, context, &newest, NULL);
    dcsr_i_stored_close(&newest);
    return status;
}

dcsr_status dcsr_store_open_matrix(dcsr_matrix **matrix, dcsr_context *context, dcsr_store *store,
                                   const char *name, const dcsr_durable_options *options,
                                   dcsr_recovery *report)
{
    if (!matrix) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_store_open_matrix: matrix is NULL");
    *matrix = NULL;
    if (report) *report = (dcsr_recovery){0};
    DCSR_TRY(dcsr_i_context_check(context));
    DCSR_TRY(dcsr_i_store_check("dcsr_store_open_matrix", store, true));
    DCSR_TRY(dcsr_i_store_check_name("dcsr_store_open_matrix", name));
    dcsr_i_durable *durable;
    DCSR_TRY(dcsr_i_durable_open(&durable, store, name));
    recovery r = {.call = "dcsr_store_open_matrix", .store = store, .name = name};
    dcsr_status status = DCSR_OK;
    for (bool there = true; status == DCSR_OK && there && !r.matrix;) {
        status = open_stored(&r, context, options, &there);
        if (status == DCSR_OK && !there) status = make_new(&r, context, options, &there);
    }
    if (status == DCSR_OK) status = dcsr_i_durable_attach(durable, store, r.matrix, &r.record);
    if (status != DCSR_OK) {
        dcsr_matrix_destroy(r.matrix);
        dcsr_i_durable_close(durable);
        return status;
    }
    *matrix = r.matrix;
    if (report) *report = r.report;
    return DCSR_OK;
}

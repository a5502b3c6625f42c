/* log_write.c: what waits for the log is written: one transaction for all matrices. */
#include "persist/durable.h"
#include <stdio.h>
#include <string.h>

/* What a transaction writes is in memory until it commits. Larger batches have one of their own. */
static const uint64_t most_in_group = (uint64_t)64 << 20;

/* ---- Taking ---- */

static void report_first(dcsr_i_durable *durable, dcsr_status status, const char *message)
{
    dcsr_i_queue_report(durable->matrix, dcsr_i_durable_take(durable), status, message);
}

static void add_to_group(dcsr_i_durable *durable, dcsr_i_operation *operation)
{
    if (durable->group)
        durable->group_last->next = operation;
    else
        durable->group = operation;
    durable->group_last = operation;
}

/* Takes what is to be written next, up to `most` bytes; reports what need not be written, or cannot be. Stops
 * before an operation that only a snapshot keeps. Returns whether there is something to write. */
static bool take_group(dcsr_i_durable *durable, const dcsr_store *store, uint64_t most)
{
    uint64_t bytes = 0;
    for (dcsr_i_operation *o = dcsr_i_durable_first(durable); o; o = dcsr_i_durable_first(durable)) {
        if (o->journal.version <= durable->covered) { /* by a snapshot that was made before it came here */
            report_first(durable, DCSR_OK, NULL);
            continue;
        }
        if (!durable->broken && o->kind != DCSR_I_REPLACE && !o->journal.record && !bytes)
            dcsr_i_durable_break(durable, store, "there was no memory for a copy of a batch");
        if (durable->broken) {
            durable->lost = o->journal.version;
            report_first(durable, DCSR_ERROR_NOT_DURABLE, durable->reason);
            continue;
        }
        if (o->kind == DCSR_I_REPLACE || !o->journal.record || (bytes && bytes + o->journal.bytes > most))
            break;
        bytes += o->journal.bytes;
        add_to_group(durable, dcsr_i_durable_take(durable));
    }
    return bytes > 0;
}

/* ---- Writing ---- */

static dcsr_status put_operation(const dcsr_store *store, MDB_txn *txn, dcsr_i_matrix_record *matrix,
                                 const dcsr_i_operation *operation)
{
    char *at = operation->journal.record, *end = at + operation->journal.bytes;
    while (at < end) {
        dcsr_i_log_record *record = (dcsr_i_log_record *)at;
        size_t bytes = dcsr_i_log_record_size(record);
        record->position = matrix->next_position++;
        dcsr_i_numbers number = dcsr_i_numbers_key(matrix->number, record->position);
        dcsr_i_seal(record, bytes, &number, sizeof number);
        MDB_val key = {sizeof number, &number}, value = {bytes, record};
        int code = mdb_put(txn, store->database[DCSR_I_DB_LOG], &key, &value, 0);
        if (code) return dcsr_i_store_fail(store, code, "writing the log");
        at += bytes;
    }
    return DCSR_OK;
}

static dcsr_status put_group(const dcsr_store *store, MDB_txn *txn, dcsr_i_durable *durable)
{
    const dcsr_i_on_its_way *snapshot = &store->on_its_way;
    bool seen = snapshot->name && !strcmp(snapshot->name, durable->name);
    dcsr_i_matrix_record matrix;
    DCSR_TRY(dcsr_i_matrix_record_again(store, txn, durable->name, &matrix));
    durable->group_seen = 0;
    for (const dcsr_i_operation *o = durable->group; o; o = o->next) {
        DCSR_TRY(put_operation(store, txn, &matrix, o));
        if (seen && o->journal.version <= snapshot->version) durable->group_seen = matrix.next_position - 1;
    }
    const dcsr_i_operation *last = durable->group_last;
    dcsr_i_matrix_record_tag(&matrix, last->journal.tagged ? &last->journal.tag : NULL);
    return dcsr_i_matrix_record_put(store, txn, durable->name, &matrix);
}

/* Writes names that the group may need; where they are many, by transactions of their own, of which *txn is
 * the last, still open. */
static dcsr_status put_names(const dcsr_store *store, MDB_txn **txn, const dcsr_i_durable *durable)
{
    for (bool all = false; !all;) {
        dcsr_i_matrix_record matrix;
        uint64_t put;
        DCSR_TRY(dcsr_i_matrix_record_again(store, *txn, durable->name, &matrix));
        DCSR_TRY(dcsr_i_names_put(store, *txn, durable->name, &matrix, &put, &all));
        if (put) DCSR_TRY(dcsr_i_matrix_record_put(store, *txn, durable->name, &matrix));
        if (all) break;
        MDB_txn *full = *txn;
        *txn = NULL;
        DCSR_TRY(dcsr_i_txn_commit_early(full, store));
        DCSR_I_POINT("log: names committed");
        DCSR_TRY(dcsr_i_txn_begin(txn, store, true));
    }
    return DCSR_OK;
}

static dcsr_status write_groups(dcsr_store *store, void *user)
{
    (void)user;
    MDB_txn *txn;
    DCSR_TRY(dcsr_i_txn_begin(&txn, store, true));
    dcsr_status status = DCSR_OK;
    /* All names first: what of the groups has been put may not be committed before the rest. */
    for (const dcsr_i_durable *d = store->durable; d && status == DCSR_OK; d = d->next)
        if (d->group && dcsr_i_names_are_open(store, d->name)) status = put_names(store, &txn, d);
    for (dcsr_i_durable *d = store->durable; d && status == DCSR_OK; d = d->next)
        if (d->group) status = put_group(store, txn, d);
    if (status != DCSR_OK) {
        dcsr_i_txn_abort(txn, store);
        return status;
    }
    DCSR_I_POINT("log: written");
    status = dcsr_i_txn_commit(txn, store);
    DCSR_I_POINT("log: committed");
    return status;
}

/* Tells what has become of those that were taken. */
static void report_group(dcsr_i_durable *durable, dcsr_store *store, dcsr_status status)
{
    if (status != DCSR_OK) {
        dcsr_i_durable_break(durable, store, dcsr_i_error_text());
        durable->lost = durable->group_last->journal.version;
    } else if (durable->group_seen) {
        store->on_its_way.position = durable->group_seen;
    }
    while (durable->group) {
        dcsr_i_operation *operation = durable->group;
        durable->group = operation->next;
        dcsr_i_queue_report(durable->matrix, operation, status == DCSR_OK ? DCSR_OK : DCSR_ERROR_NOT_DURABLE,
                            durable->reason);
    }
}

static bool needs_snapshot(dcsr_i_durable *durable)
{
    const dcsr_i_operation *first = dcsr_i_durable_first(durable);
    return first && first->kind == DCSR_I_REPLACE && !durable->broken;
}

dcsr_i_log_left dcsr_i_log_write(dcsr_store *store)
{
    uint64_t matrices = 0;
    bool any = false;
    for (const dcsr_i_durable *d = store->durable; d; d = d->next) matrices++;
    for (dcsr_i_durable *d = store->durable; d; d = d->next)
        any |= take_group(d, store, most_in_group / matrices);
    dcsr_status status =
        any ? dcsr_i_store_offer_gc(dcsr_i_store_with_room(store, write_groups, NULL)) : DCSR_OK;
    for (dcsr_i_durable *d = store->durable; d; d = d->next)
        if (d->group) report_group(d, store, status);
    dcsr_i_log_left left = {0};
    for (dcsr_i_durable *d = store->durable; d; d = d->next) {
        bool replaced = needs_snapshot(d);
        left.replaced |= replaced;
        left.more |= !replaced && dcsr_i_durable_first(d);
    }
    return left;
}

bool dcsr_i_log_make_snapshots(dcsr_store *store)
{
    bool any = false;
    for (dcsr_i_durable *d = store->durable; d; d = d->next) {
        dcsr_version_info info;
        if (!needs_snapshot(d)) continue;
        any = true;
        if (dcsr_i_store_write_version(store, d->name, d->matrix, &info) != DCSR_OK)
            dcsr_i_durable_break(d, store, dcsr_i_error_text());
    }
    return any;
}

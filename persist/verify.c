/* verify.c: reads everything that a store holds and compares every checksum. */
#include "persist/durable.h"
#include "persist/pages.h"
#include "persist/store_iter.h"

typedef struct checking {
    const dcsr_store *store;
    MDB_txn *txn;
    dcsr_store_damage damage;
    void *user;
    dcsr_store_check *check;
    dcsr_i_progress *progress;
    /* Of the matrix that is being looked at: */
    const char *name;
    dcsr_i_matrix_record record;
    dcsr_i_number_list seen; /* its chunks */
    bool has_newest;         /* its newest version is there */
    bool knows_held;         /* and says so of the log's records: */
    uint64_t held;
} checking;

/* Counts and tells what the library's last sentence is about; other failures than damage end the check. */
static dcsr_status note(checking *c, dcsr_status status)
{
    if (status != DCSR_ERROR_CORRUPT) return status;
    c->check->corrupt++;
    if (c->damage) c->damage(c->user, dcsr_i_error_text());
    return DCSR_OK;
}

static void count_bytes(checking *c, uint64_t bytes)
{
    c->check->bytes += bytes;
    dcsr_i_progress_tell(c->progress, bytes);
}

static bool is_new(const checking *c, const dcsr_i_chunk *chunk)
{
    return chunk->entries && !dcsr_i_number_list_has(&c->seen, chunk->number);
}

static void ask_for(const checking *c, const dcsr_i_version *version, uint64_t k)
{
    MDB_val value;
    if (k < version->record.chunks && is_new(c, &version->chunks[k]) &&
        dcsr_i_chunk_find(c->store, c->txn, c->name, version, k, &value) == DCSR_OK)
        dcsr_i_chunk_ask_for(&value);
}

/* The chunks of a version that no version before has. */
static dcsr_status check_chunks(checking *c, const dcsr_i_version *version)
{
    for (uint64_t k = 0; k < DCSR_I_CHUNKS_AHEAD; k++) ask_for(c, version, k);
    for (uint64_t k = 0; k < version->record.chunks; k++) {
        const dcsr_i_chunk *chunk = &version->chunks[k];
        ask_for(c, version, k + DCSR_I_CHUNKS_AHEAD);
        if (!is_new(c, chunk)) continue;
        MDB_val value;
        dcsr_i_chunk_data data = {0};
        dcsr_status status = dcsr_i_chunk_find(c->store, c->txn, c->name, version, k, &value);
        if (status == DCSR_OK) status = dcsr_i_chunk_open(c->store, c->name, version, k, &value, &data);
        if (status == DCSR_OK) status = dcsr_i_chunk_check(c->store, c->name, version, k, &data);
        dcsr_i_chunk_close(&data);
        c->check->chunks++;
        count_bytes(c, chunk->stored);
        DCSR_TRY(note(c, status));
        DCSR_TRY(dcsr_i_number_list_append(&c->seen, chunk->number));
    }
    dcsr_i_number_list_sort(&c->seen);
    return DCSR_OK;
}

static dcsr_status check_version(void *user, MDB_cursor *cursor, uint64_t number, const MDB_val *value)
{
    (void)cursor;
    checking *c = user;
    c->check->versions++;
    count_bytes(c, value->mv_size);
    c->has_newest |= number == c->record.newest;
    if (!number)
        return note(c, dcsr_i_fail(DCSR_ERROR_CORRUPT,
                                   "%s#%s: a version has the number 0, so its key is damaged", c->store->path,
                                   c->name));
    dcsr_i_version version;
    dcsr_status status = dcsr_i_version_get(c->store, c->txn, c->name, number, &version);
    if (status != DCSR_OK) return note(c, status);
    if (number == c->record.newest) {
        c->knows_held = true;
        c->held = version.record.log_position;
    }
    status = check_chunks(c, &version);
    dcsr_i_version_free(&version);
    return status;
}

static dcsr_status check_log(void *user, MDB_cursor *cursor, uint64_t number, const MDB_val *value)
{
    (void)cursor;
    checking *c = user;
    dcsr_i_log_record log;
    const char *why = "it is behind the last that was written";
    c->check->log_records++;
    count_bytes(c, value->mv_size);
    if (!dcsr_i_log_record_is_wrong(&log, value->mv_data, value->mv_size, c->record.number, number, &why) &&
        number < c->record.next_position)
        return DCSR_OK;
    return note(c, dcsr_i_fail(DCSR_ERROR_CORRUPT, "%s#%s: record %llu of the log is damaged: %s",
                               c->store->path, c->name, (unsigned long long)number, why));
}

static dcsr_status check_names(void *user, const dcsr_i_names_record *record, const uint16_t *lengths,
                               const char *bytes)
{
    (void)lengths, (void)bytes;
    checking *c = user;
    c->check->names += record->names;
    count_bytes(c, record->bytes);
    return DCSR_OK;
}

/* Whether what the record of the matrix counts is there. */
static dcsr_status check_counts(checking *c, uint64_t log_records)
{
    const dcsr_i_matrix_record *record = &c->record;
    if (record->newest && !c->has_newest)
        return note(c, dcsr_i_fail(DCSR_ERROR_CORRUPT, "%s#%s: the newest version, %llu, is not there",
                                   c->store->path, c->name, (unsigned long long)record->newest));
    if (!c->knows_held || log_records == record->next_position - 1 - c->held) return DCSR_OK;
    return note(c, dcsr_i_fail(DCSR_ERROR_CORRUPT,
                               "%s#%s: of %llu records of the log behind the newest version %llu are there",
                               c->store->path, c->name,
                               (unsigned long long)(record->next_position - 1 - c->held),
                               (unsigned long long)log_records));
}

static dcsr_status check_matrix(void *user, const dcsr_store *store, MDB_txn *txn, const char *name)
{
    checking *c = user;
    uint64_t log_before = c->check->log_records;
    c->name = name;
    c->seen.count = c->seen.sorted = 0;
    c->has_newest = c->knows_held = false;
    dcsr_status status = name ? dcsr_i_matrix_record_get(store, txn, name, &c->record) : DCSR_ERROR_CORRUPT;
    c->check->matrices += status != DCSR_OK || c->record.newest;
    if (status != DCSR_OK) return note(c, status);
    DCSR_TRY(dcsr_i_each_thing(store, txn, DCSR_I_DB_VERSIONS, c->record.number, 0, check_version, c));
    DCSR_TRY(dcsr_i_each_thing(store, txn, DCSR_I_DB_LOG, c->record.number, 0, check_log, c));
    DCSR_TRY(note(c, dcsr_i_each_names(c->store, c->txn, name, &c->record, check_names, c)));
    return check_counts(c, c->check->log_records - log_before);
}

/* What stands under the number of no matrix has not been counted. */
static dcsr_status check_for_strangers(checking *c)
{
    MDB_stat versions, log;
    int code = mdb_stat(c->txn, c->store->database[DCSR_I_DB_VERSIONS], &versions);
    if (!code) code = mdb_stat(c->txn, c->store->database[DCSR_I_DB_LOG], &log);
    if (code) return dcsr_i_store_fail(c->store, code, "counting records");
    if (versions.ms_entries == c->check->versions && log.ms_entries == c->check->log_records) return DCSR_OK;
    return note(
        c, dcsr_i_fail(DCSR_ERROR_CORRUPT,
                       "%s: there are %llu versions and %llu records of the log that belong to no matrix",
                       c->store->path, (unsigned long long)(versions.ms_entries - c->check->versions),
                       (unsigned long long)(log.ms_entries - c->check->log_records)));
}

static dcsr_status check_all(checking *c)
{
    DCSR_TRY(note(c, dcsr_i_pages_check_all(c->store, c->txn)));
    if (c->check->corrupt) return DCSR_OK; /* LMDB would stumble over it */
    DCSR_TRY(dcsr_i_each_matrix(c->store, c->txn, check_matrix, c));
    return check_for_strangers(c);
}

dcsr_status dcsr_i_store_verify(dcsr_store *store, dcsr_store_damage damage, void *user,
                                dcsr_i_progress *progress, dcsr_store_check *check)
{
    *check = (dcsr_store_check){0};
    checking c = {.store = store, .damage = damage, .user = user, .check = check, .progress = progress};
    DCSR_TRY(dcsr_i_txn_begin(&c.txn, store, false));
    dcsr_status status = check_all(&c);
    dcsr_i_txn_abort(c.txn, store);
    dcsr_i_number_list_free(&c.seen);
    return status;
}

dcsr_status dcsr_store_verify(dcsr_store *store, dcsr_store_damage damage, void *user,
                              dcsr_store_check *check)
{
    DCSR_TRY(dcsr_i_store_check("dcsr_store_verify", store, false));
    if (!check) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_store_verify: check is NULL");
    return dcsr_i_store_verify(store, damage, user, &(dcsr_i_progress){0}, check);
}

/* gc.c: deletes versions, matrices, and chunks that no version names. */
#include "persist/store_iter.h"
#include <string.h>

typedef struct deletion {
    const dcsr_store *store;
    const dcsr_i_number_list *kept; /* NULL: none */
    uint64_t before;                /* things from this number on are kept */
    uint64_t count, bytes;
} deletion;

static dcsr_status delete_unless_kept(void *user, MDB_cursor *cursor, uint64_t number, const MDB_val *value)
{
    deletion *d = user;
    if (number >= d->before || (d->kept && dcsr_i_number_list_has(d->kept, number))) return DCSR_OK;
    d->count++;
    d->bytes += value->mv_size;
    int code = mdb_cursor_del(cursor, 0);
    return code ? dcsr_i_store_fail(d->store, code, "deleting") : DCSR_OK;
}

static dcsr_status delete_from(const dcsr_store *store, MDB_txn *txn, dcsr_i_database database,
                               uint32_t matrix, uint64_t first, deletion *d)
{
    d->store = store;
    return dcsr_i_each_thing(store, txn, database, matrix, first, delete_unless_kept, d);
}

dcsr_status dcsr_i_things_delete(const dcsr_store *store, MDB_txn *txn, dcsr_i_database database,
                                 uint32_t matrix, uint64_t before)
{
    return delete_from(store, txn, database, matrix, 0, &(deletion){.before = before});
}

static dcsr_status delete_names(const dcsr_store *store, MDB_txn *txn, const dcsr_i_matrix_record *record)
{
    if (!record->more.dictionary) return DCSR_OK;
    return dcsr_i_things_delete(store, txn, DCSR_I_DB_CHUNKS, record->more.dictionary, UINT64_MAX);
}

/* ---- What snapshots have left ---- */

/* *record is that of the matrix, and says what it is then. */
static dcsr_status sweep_matrix(const dcsr_store *store, MDB_txn *txn, const char *name,
                                dcsr_i_matrix_record *record)
{
    if (record->named_chunks == record->next_chunk && record->newest) return DCSR_OK;
    deletion all = {.before = UINT64_MAX};
    DCSR_TRY(delete_from(store, txn, DCSR_I_DB_CHUNKS, record->number, record->named_chunks, &all));
    record->next_chunk = record->named_chunks;
    if (record->newest) return dcsr_i_matrix_record_put(store, txn, name, record);
    DCSR_TRY(delete_names(store, txn, record));
    MDB_val key = {strlen(name), (void *)name};
    int code = mdb_del(txn, store->database[DCSR_I_DB_MATRICES], &key, NULL);
    return code ? dcsr_i_store_fail(store, code, "deleting an unfinished matrix") : DCSR_OK;
}

static dcsr_status sweep_one(void *user, const dcsr_store *store, MDB_txn *txn, const char *name)
{
    (void)user;
    dcsr_i_matrix_record record;
    if (!name) return DCSR_ERROR_CORRUPT;
    dcsr_status status = dcsr_i_matrix_record_get(store, txn, name, &record);
    if (status == DCSR_ERROR_NOT_FOUND) return DCSR_OK;
    return status == DCSR_OK ? sweep_matrix(store, txn, name, &record) : status;
}

dcsr_status dcsr_i_store_sweep(dcsr_store *store, const char *name)
{
    MDB_txn *txn;
    DCSR_TRY(dcsr_i_txn_begin(&txn, store, true));
    dcsr_status status =
        name ? sweep_one(NULL, store, txn, name) : dcsr_i_each_matrix(store, txn, sweep_one, NULL);
    if (status == DCSR_OK) return dcsr_i_txn_commit_freed(txn, store);
    dcsr_i_txn_abort(txn, store);
    return status;
}

/* ---- Old versions ---- */

typedef struct collection {
    const char *only; /* NULL: all matrices */
    uint64_t keep;
    dcsr_store_freed freed;
} collection;

static dcsr_status note_version(void *user, MDB_cursor *cursor, uint64_t number, const MDB_val *value)
{
    (void)cursor;
    (void)value;
    return dcsr_i_number_list_append(user, number);
}

/* The chunks of the kept versions, ascending. */
static dcsr_status note_chunks(const dcsr_store *store, MDB_txn *txn, const char *name,
                               const dcsr_i_number_list *versions, uint64_t first, dcsr_i_number_list *chunks)
{
    for (uint64_t v = first; v < versions->count; v++) {
        dcsr_i_version version;
        DCSR_TRY(dcsr_i_version_get(store, txn, name, versions->numbers[v], &version));
        dcsr_status status = DCSR_OK;
        for (uint64_t c = 0; c < version.record.chunks && status == DCSR_OK; c++)
            status = dcsr_i_number_list_append(chunks, version.chunks[c].number);
        dcsr_i_version_free(&version);
        DCSR_TRY(status);
    }
    dcsr_i_number_list_sort(chunks);
    return DCSR_OK;
}

static dcsr_status free_versions(const dcsr_store *store, MDB_txn *txn, const char *name, uint32_t number,
                                 const dcsr_i_number_list *versions, collection *collected)
{
    uint64_t first = versions->count > collected->keep ? versions->count - collected->keep : 0;
    dcsr_i_number_list chunks = {0};
    dcsr_status status = note_chunks(store, txn, name, versions, first, &chunks);
    deletion old = {.before = versions->numbers[first]};
    deletion unnamed = {.kept = &chunks, .before = UINT64_MAX};
    if (status == DCSR_OK) status = delete_from(store, txn, DCSR_I_DB_VERSIONS, number, 0, &old);
    if (status == DCSR_OK) status = delete_from(store, txn, DCSR_I_DB_CHUNKS, number, 0, &unnamed);
    dcsr_i_number_list_free(&chunks);
    collected->freed.versions += old.count;
    collected->freed.chunks += unnamed.count;
    collected->freed.bytes += old.bytes + unnamed.bytes;
    return status;
}

static dcsr_status collect_one(void *user, const dcsr_store *store, MDB_txn *txn, const char *name)
{
    collection *collected = user;
    dcsr_i_matrix_record record;
    if (!name) return DCSR_ERROR_CORRUPT;
    if (collected->only && strcmp(collected->only, name) != 0) return DCSR_OK;
    DCSR_TRY(dcsr_i_matrix_record_get(store, txn, name, &record));
    DCSR_TRY(sweep_matrix(store, txn, name, &record));
    if (!record.newest) return DCSR_OK;
    dcsr_i_number_list versions = {0};
    dcsr_status status =
        dcsr_i_each_thing(store, txn, DCSR_I_DB_VERSIONS, record.number, 0, note_version, &versions);
    if (status == DCSR_OK && versions.count)
        status = free_versions(store, txn, name, record.number, &versions, collected);
    dcsr_i_number_list_free(&versions);
    return status;
}

static dcsr_status find_name(const dcsr_store *store, MDB_txn *txn, const char *name)
{
    dcsr_i_version newest;
    DCSR_TRY(dcsr_i_version_get(store, txn, name, 0, &newest));
    dcsr_i_version_free(&newest);
    return DCSR_OK;
}

static dcsr_status collect(dcsr_store *store, void *user)
{
    collection *collected = user;
    MDB_txn *txn;
    collected->freed = (dcsr_store_freed){0};
    DCSR_TRY(dcsr_i_txn_begin(&txn, store, true));
    dcsr_status status = collected->only ? find_name(store, txn, collected->only) : DCSR_OK;
    if (status == DCSR_OK) status = dcsr_i_each_matrix(store, txn, collect_one, collected);
    DCSR_I_POINT("gc: deleted");
    if (status == DCSR_OK)
        status = dcsr_i_txn_commit_freed(txn, store);
    else
        dcsr_i_txn_abort(txn, store);
    DCSR_I_POINT("gc: committed");
    return status;
}

dcsr_status dcsr_store_gc(dcsr_store *store, const char *name, uint64_t keep, dcsr_store_freed *freed)
{
    collection collected = {.only = name, .keep = keep};
    if (freed) *freed = (dcsr_store_freed){0};
    DCSR_TRY(dcsr_i_store_check("dcsr_store_gc", store, true));
    if (name) DCSR_TRY(dcsr_i_store_check_name("dcsr_store_gc", name));
    if (!keep)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "dcsr_store_gc: keep is 0; keep one version at least, or delete the matrix");
    mdb_reader_check(store->env, NULL);
    dcsr_i_store_lock(store);
    dcsr_status status = dcsr_i_store_with_room(store, collect, &collected);
    dcsr_i_store_unlock(store);
    if (status == DCSR_OK && freed) *freed = collected.freed;
    return status;
}

/* ---- A matrix ---- */

static dcsr_status delete_all(dcsr_store *store, MDB_txn *txn, const char *name)
{
    dcsr_i_matrix_record record;
    dcsr_status status = dcsr_i_matrix_record_get(store, txn, name, &record);
    if (status == DCSR_ERROR_NOT_FOUND)
        return dcsr_i_fail(DCSR_ERROR_NOT_FOUND, "%s: there is no matrix '%s'", store->path, name);
    DCSR_TRY(status);
    dcsr_i_base_forget(store, record.number);
    static const dcsr_i_database databases[] = {DCSR_I_DB_VERSIONS, DCSR_I_DB_CHUNKS, DCSR_I_DB_LOG};
    for (size_t d = 0; d < sizeof databases / sizeof *databases; d++)
        DCSR_TRY(dcsr_i_things_delete(store, txn, databases[d], record.number, UINT64_MAX));
    DCSR_TRY(delete_names(store, txn, &record));
    MDB_val key = {strlen(name), (void *)name};
    int code = mdb_del(txn, store->database[DCSR_I_DB_MATRICES], &key, NULL);
    return code ? dcsr_i_store_fail(store, code, "deleting a matrix") : DCSR_OK;
}

static dcsr_status delete_matrix(dcsr_store *store, void *user)
{
    MDB_txn *txn;
    DCSR_TRY(dcsr_i_txn_begin(&txn, store, true));
    dcsr_status status = delete_all(store, txn, user);
    if (status == DCSR_OK) return dcsr_i_txn_commit_freed(txn, store);
    dcsr_i_txn_abort(txn, store);
    return status;
}

dcsr_status dcsr_store_delete(dcsr_store *store, const char *name)
{
    DCSR_TRY(dcsr_i_store_check("dcsr_store_delete", store, true));
    DCSR_TRY(dcsr_i_store_check_name("dcsr_store_delete", name));
    dcsr_i_store_lock(store);
    dcsr_status status =
        dcsr_i_journal_matrix(store, name)
            ? dcsr_i_fail(DCSR_ERROR_BUSY, "%s#%s: it is open as a durable matrix; destroy that first",
                          store->path, name)
        : dcsr_i_names_are_open(store, name)
            ? dcsr_i_fail(DCSR_ERROR_BUSY, "%s#%s: its dictionary is open; destroy that first", store->path,
                          name)
            : dcsr_i_store_with_room(store, delete_matrix, (void *)name);
    dcsr_i_store_unlock(store);
    return status;
}

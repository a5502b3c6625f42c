/* gc.c: deletes versions, matrices, and chunks that no version names. */
#include "persist/store_data.h"
#include "dcsr/alloc.h"
#include <stdlib.h>
#include <string.h>

/* ---- Things of one matrix, by their numbers ---- */

/* Calls visit for each thing of the matrix in a database, from number `first` on, until it fails. The cursor
 * stands on the thing, which visit may delete. */
typedef dcsr_status (*visitor)(void *user, MDB_cursor *cursor, uint64_t number, const MDB_val *value);

static dcsr_status visit_all(const dcsr_store *store, MDB_txn *txn, dcsr_i_database database, uint32_t matrix,
                             uint64_t first, visitor visit, void *user)
{
    MDB_cursor *cursor;
    int code = mdb_cursor_open(txn, store->database[database], &cursor);
    if (code) return dcsr_i_store_fail(store, code, "looking for what can be freed");
    dcsr_i_numbers begin = dcsr_i_numbers_key(matrix, first);
    MDB_val key = {sizeof begin, &begin}, value;
    uint32_t owner;
    uint64_t number;
    dcsr_status status = DCSR_OK;
    for (code = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
         status == DCSR_OK && !code && dcsr_i_numbers_read(key.mv_data, key.mv_size, &owner, &number) &&
         owner == matrix;
         code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT))
        status = visit(user, cursor, number, &value);
    mdb_cursor_close(cursor);
    if (status == DCSR_OK && code && code != MDB_NOTFOUND)
        return dcsr_i_store_fail(store, code, "looking for what can be freed");
    return status;
}

typedef struct deletion {
    const dcsr_store *store;
    const uint64_t *kept; /* ascending; NULL: none */
    uint64_t kept_count;
    uint64_t before; /* things from this number on are kept */
    uint64_t count, bytes;
} deletion;

static int compare_numbers(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static dcsr_status delete_unless_kept(void *user, MDB_cursor *cursor, uint64_t number, const MDB_val *value)
{
    deletion *d = user;
    if (number >= d->before ||
        (d->kept && bsearch(&number, d->kept, d->kept_count, sizeof number, compare_numbers)))
        return DCSR_OK;
    d->count++;
    d->bytes += value->mv_size;
    int code = mdb_cursor_del(cursor, 0);
    return code ? dcsr_i_store_fail(d->store, code, "deleting") : DCSR_OK;
}

static dcsr_status delete_from(const dcsr_store *store, MDB_txn *txn, dcsr_i_database database,
                               uint32_t matrix, uint64_t first, deletion *d)
{
    d->store = store;
    return visit_all(store, txn, database, matrix, first, delete_unless_kept, d);
}

/* ---- What killed processes have left ---- */

dcsr_status dcsr_i_sweep_matrix(const dcsr_store *store, MDB_txn *txn, const char *name,
                                dcsr_i_matrix_record *record)
{
    if (record->named_chunks == record->next_chunk && record->newest) return DCSR_OK;
    deletion all = {.before = UINT64_MAX};
    DCSR_TRY(delete_from(store, txn, DCSR_I_DB_CHUNKS, record->number, record->named_chunks, &all));
    record->next_chunk = record->named_chunks;
    if (record->newest) return dcsr_i_matrix_record_put(store, txn, name, record);
    MDB_val key = {strlen(name), (void *)name};
    int code = mdb_del(txn, store->database[DCSR_I_DB_MATRICES], &key, NULL);
    return code ? dcsr_i_store_fail(store, code, "deleting an unfinished matrix") : DCSR_OK;
}

/* Calls work for each matrix of the store, in one transaction. */
typedef dcsr_status (*matrix_work)(void *user, const dcsr_store *store, MDB_txn *txn, const char *name);

static dcsr_status each_matrix(const dcsr_store *store, MDB_txn *txn, matrix_work work, void *user)
{
    MDB_cursor *cursor;
    int code = mdb_cursor_open(txn, store->database[DCSR_I_DB_MATRICES], &cursor);
    if (code) return dcsr_i_store_fail(store, code, "listing its matrices");
    dcsr_status status = DCSR_OK;
    MDB_val key = {0, NULL}, value;
    char name[DCSR_STORE_MAX_NAME + 1];
    /* work may write the record, or delete it: so the next one is looked up by name. */
    for (code = mdb_cursor_get(cursor, &key, &value, MDB_FIRST); status == DCSR_OK && !code;) {
        status = dcsr_i_name_of(store, &key, name);
        if (status == DCSR_OK) status = work(user, store, txn, name);
        key = (MDB_val){strlen(name), name};
        if (status == DCSR_OK) code = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
        if (status == DCSR_OK && !code && key.mv_size == strlen(name) &&
            !memcmp(key.mv_data, name, key.mv_size))
            code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    mdb_cursor_close(cursor);
    if (status == DCSR_OK && code && code != MDB_NOTFOUND)
        return dcsr_i_store_fail(store, code, "listing its matrices");
    return status;
}

static dcsr_status sweep_one(void *user, const dcsr_store *store, MDB_txn *txn, const char *name)
{
    (void)user;
    dcsr_i_matrix_record record;
    DCSR_TRY(dcsr_i_matrix_record_get(store, txn, name, &record));
    return dcsr_i_sweep_matrix(store, txn, name, &record);
}

/* A store with a damaged record is opened all the same: its other matrices can be read. */
dcsr_status dcsr_i_store_sweep(dcsr_store *store)
{
    MDB_txn *txn;
    DCSR_TRY(dcsr_i_txn_begin(&txn, store, true));
    dcsr_status status = each_matrix(store, txn, sweep_one, NULL);
    if (status == DCSR_OK) return dcsr_i_txn_commit(txn, store);
    mdb_txn_abort(txn);
    return status == DCSR_ERROR_CORRUPT ? DCSR_OK : status;
}

/* ---- Old versions ---- */

typedef struct collection {
    const char *only; /* NULL: all matrices */
    uint64_t keep;
    dcsr_store_freed freed;
} collection;

typedef struct listed {
    uint64_t *numbers, count, capacity;
} listed;

static dcsr_status append(listed *list, uint64_t number)
{
    if (list->count == list->capacity) {
        uint64_t capacity = list->capacity ? 2 * list->capacity : 64;
        uint64_t *larger =
            dcsr_i_realloc(NULL, DCSR_I_SCRATCH, list->numbers, list->capacity, capacity, sizeof *larger);
        if (!larger) return DCSR_ERROR_OUT_OF_MEMORY;
        list->numbers = larger;
        list->capacity = capacity;
    }
    list->numbers[list->count++] = number;
    return DCSR_OK;
}

static void empty(listed *list)
{
    dcsr_i_free(NULL, DCSR_I_SCRATCH, list->numbers, list->capacity, sizeof *list->numbers);
}

static dcsr_status note_version(void *user, MDB_cursor *cursor, uint64_t number, const MDB_val *value)
{
    (void)cursor;
    (void)value;
    return append(user, number);
}

/* The chunks of the kept versions, ascending. */
static dcsr_status note_chunks(const dcsr_store *store, MDB_txn *txn, const char *name,
                               const listed *versions, uint64_t first, listed *chunks)
{
    for (uint64_t v = first; v < versions->count; v++) {
        dcsr_i_version version;
        DCSR_TRY(dcsr_i_version_get(store, txn, name, versions->numbers[v], &version));
        dcsr_status status = DCSR_OK;
        for (uint64_t c = 0; c < version.record.chunks && status == DCSR_OK; c++)
            status = append(chunks, version.chunks[c].number);
        dcsr_i_version_free(&version);
        DCSR_TRY(status);
    }
    if (chunks->count) qsort(chunks->numbers, chunks->count, sizeof *chunks->numbers, compare_numbers);
    return DCSR_OK;
}

static dcsr_status free_versions(const dcsr_store *store, MDB_txn *txn, const char *name, uint32_t number,
                                 const listed *versions, collection *collected)
{
    uint64_t first = versions->count > collected->keep ? versions->count - collected->keep : 0;
    listed chunks = {0};
    dcsr_status status = note_chunks(store, txn, name, versions, first, &chunks);
    deletion old = {.before = versions->numbers[first]};
    deletion unnamed = {.kept = chunks.numbers, .kept_count = chunks.count, .before = UINT64_MAX};
    if (status == DCSR_OK) status = delete_from(store, txn, DCSR_I_DB_VERSIONS, number, 0, &old);
    if (status == DCSR_OK) status = delete_from(store, txn, DCSR_I_DB_CHUNKS, number, 0, &unnamed);
    empty(&chunks);
    collected->freed.versions += old.count;
    collected->freed.chunks += unnamed.count;
    collected->freed.bytes += old.bytes + unnamed.bytes;
    return status;
}

static dcsr_status collect_one(void *user, const dcsr_store *store, MDB_txn *txn, const char *name)
{
    collection *collected = user;
    dcsr_i_matrix_record record;
    if (collected->only && strcmp(collected->only, name) != 0) return DCSR_OK;
    DCSR_TRY(dcsr_i_matrix_record_get(store, txn, name, &record));
    DCSR_TRY(dcsr_i_sweep_matrix(store, txn, name, &record));
    if (!record.newest) return DCSR_OK;
    listed versions = {0};
    dcsr_status status = visit_all(store, txn, DCSR_I_DB_VERSIONS, record.number, 0, note_version, &versions);
    if (status == DCSR_OK && versions.count)
        status = free_versions(store, txn, name, record.number, &versions, collected);
    empty(&versions);
    return status;
}

/* LMDB uses what a transaction has freed from the second one after it on. This is one between, so that the
 * next snapshot finds the room. */
static dcsr_status pass_on_room(const dcsr_store *store)
{
    MDB_txn *txn;
    MDB_val key = {strlen("format"), "format"}, value;
    dcsr_i_store_record record;
    MDB_dbi database = store->database[DCSR_I_DB_STORE];
    DCSR_TRY(dcsr_i_txn_begin(&txn, store, true));
    int code = mdb_get(txn, database, &key, &value);
    if (!code) {
        memcpy(&record, value.mv_data, sizeof record);
        value = (MDB_val){sizeof record, &record};
        code = mdb_put(txn, database, &key, &value, 0);
    }
    if (!code) return dcsr_i_txn_commit(txn, store);
    mdb_txn_abort(txn);
    return dcsr_i_store_fail(store, code, "freeing");
}

static dcsr_status find_name(const dcsr_store *store, MDB_txn *txn, const char *name)
{
    dcsr_i_version newest;
    DCSR_TRY(dcsr_i_version_get(store, txn, name, 0, &newest));
    dcsr_i_version_free(&newest);
    return DCSR_OK;
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
    int dead;
    mdb_reader_check(store->env, &dead);
    MDB_txn *txn;
    dcsr_i_store_lock(store);
    dcsr_status status = dcsr_i_txn_begin(&txn, store, true);
    if (status == DCSR_OK) {
        if (name) status = find_name(store, txn, name);
        if (status == DCSR_OK) status = each_matrix(store, txn, collect_one, &collected);
        DCSR_I_POINT("gc: deleted");
        if (status == DCSR_OK)
            status = dcsr_i_txn_commit(txn, store);
        else
            mdb_txn_abort(txn);
        DCSR_I_POINT("gc: committed");
        if (status == DCSR_OK && collected.freed.bytes) status = pass_on_room(store);
    }
    dcsr_i_store_unlock(store);
    if (status == DCSR_OK && freed) *freed = collected.freed;
    return status;
}

/* ---- A matrix ---- */

static dcsr_status delete_matrix(const dcsr_store *store, MDB_txn *txn, const char *name)
{
    dcsr_i_matrix_record record;
    dcsr_status status = dcsr_i_matrix_record_get(store, txn, name, &record);
    if (status == DCSR_ERROR_NOT_FOUND)
        return dcsr_i_fail(DCSR_ERROR_NOT_FOUND, "%s: there is no matrix '%s'", store->path, name);
    DCSR_TRY(status);
    static const dcsr_i_database databases[] = {DCSR_I_DB_VERSIONS, DCSR_I_DB_CHUNKS, DCSR_I_DB_LOG};
    for (size_t d = 0; d < sizeof databases / sizeof *databases; d++) {
        deletion all = {.before = UINT64_MAX};
        DCSR_TRY(delete_from(store, txn, databases[d], record.number, 0, &all));
    }
    MDB_val key = {strlen(name), (void *)name};
    int code = mdb_del(txn, store->database[DCSR_I_DB_MATRICES], &key, NULL);
    return code ? dcsr_i_store_fail(store, code, "deleting a matrix") : DCSR_OK;
}

dcsr_status dcsr_store_delete(dcsr_store *store, const char *name)
{
    DCSR_TRY(dcsr_i_store_check("dcsr_store_delete", store, true));
    DCSR_TRY(dcsr_i_store_check_name("dcsr_store_delete", name));
    MDB_txn *txn;
    dcsr_i_store_lock(store);
    dcsr_status status =
        dcsr_i_journal_matrix(store, name)
            ? dcsr_i_fail(DCSR_ERROR_BUSY, "%s#%s: it is open as a durable matrix; destroy that first",
                          store->path, name)
            : dcsr_i_txn_begin(&txn, store, true);
    if (status == DCSR_OK) {
        status = delete_matrix(store, txn, name);
        if (status == DCSR_OK)
            status = dcsr_i_txn_commit(txn, store);
        else
            mdb_txn_abort(txn);
    }
    dcsr_i_store_unlock(store);
    return status;
}

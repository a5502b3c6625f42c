/* catalog.c: which matrices and versions a store has. */
#include "persist/store_data.h"
#include "dcsr/alloc.h"
#include <stdlib.h>
#include <string.h>

dcsr_status dcsr_i_store_check_name(const char *call, const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+=";
    if (!name) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: name is NULL", call);
    size_t length = strlen(name), good = strspn(name, allowed);
    if (length && length == good && length <= DCSR_STORE_MAX_NAME && *name != '.') return DCSR_OK;
    return dcsr_i_fail(
        DCSR_ERROR_INVALID_ARGUMENT,
        "%s: '%.80s' is no name of a matrix; it has 1 to %d letters, digits, '.', '_', '-', '+' or "
        "'=', and does not begin with '.'",
        call, name, DCSR_STORE_MAX_NAME);
}

dcsr_status dcsr_i_name_of(const dcsr_store *store, const MDB_val *key, char name[DCSR_STORE_MAX_NAME + 1])
{
    if (!key->mv_size || key->mv_size > DCSR_STORE_MAX_NAME || memchr(key->mv_data, '\0', key->mv_size))
        return dcsr_i_fail(DCSR_ERROR_CORRUPT, "%s: the name of a matrix is damaged", store->path);
    memcpy(name, key->mv_data, key->mv_size);
    name[key->mv_size] = '\0';
    return DCSR_OK;
}

dcsr_status dcsr_i_store_check_new(const dcsr_store *store, MDB_txn *txn, const char *name)
{
    MDB_cursor *cursor;
    MDB_val key, value;
    int code = mdb_cursor_open(txn, store->database[DCSR_I_DB_MATRICES], &cursor);
    if (code) return dcsr_i_store_fail(store, code, "listing its matrices");
    dcsr_status status = DCSR_OK;
    while (status == DCSR_OK && !mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
        char other[DCSR_STORE_MAX_NAME + 1];
        dcsr_i_matrix_record record;
        status = dcsr_i_name_of(store, &key, other);
        if (status == DCSR_OK) status = dcsr_i_matrix_record_get(store, txn, other, &record);
    }
    mdb_cursor_close(cursor);
    if (status != DCSR_ERROR_CORRUPT) return status;
    return dcsr_i_fail(
        DCSR_ERROR_CORRUPT,
        "%s: the name or record of a matrix is damaged, so it cannot be told whether '%s' is new; "
        "restore the store from a copy",
        store->path, name);
}

dcsr_version_info dcsr_i_version_describe(const dcsr_i_version_record *record)
{
    return (dcsr_version_info){.version = record->version,
                               .type = (dcsr_type)record->type,
                               .policy = (dcsr_policy)record->policy,
                               .rows = record->rows,
                               .cols = record->cols,
                               .nnz = record->nnz,
                               .created = record->created,
                               .chunks = record->chunks,
                               .stored_bytes = record->stored,
                               .written_bytes = record->written,
                               .log_position = record->log_position};
}

/* ---- Lists: one block each ---- */

/* The pointers, then the names that they point to. */
static dcsr_status make_names(char ***names, uint64_t *count, MDB_cursor *cursor)
{
    MDB_val key, value;
    uint64_t n = 0, bytes = 0;
    int code;
    for (code = mdb_cursor_get(cursor, &key, &value, MDB_FIRST); !code;
         code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
        n++;
        bytes += key.mv_size + 1;
    }
    char **list = malloc(n * sizeof *list + bytes + 1);
    if (!list) return dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY, "listing a store: out of memory");
    char *text = (char *)(list + n);
    uint64_t i = 0;
    for (code = mdb_cursor_get(cursor, &key, &value, MDB_FIRST); !code && i < n;
         code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
        dcsr_i_matrix_record record;
        list[i] = memcpy(text, key.mv_data, key.mv_size);
        text[key.mv_size] = '\0';
        text += key.mv_size + 1;
        if (value.mv_size == sizeof record) {
            memcpy(&record, value.mv_data, sizeof record);
            if (!record.newest) continue; /* its first snapshot was not finished */
        }
        i++;
    }
    *names = list;
    *count = i;
    return DCSR_OK;
}

dcsr_status dcsr_store_list(dcsr_store *store, char ***names, uint64_t *count)
{
    DCSR_TRY(dcsr_i_store_check("dcsr_store_list", store, false));
    if (!names || !count)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_store_list: %s is NULL",
                           names ? "count" : "names");
    *names = NULL;
    *count = 0;
    MDB_txn *txn;
    MDB_cursor *cursor;
    DCSR_TRY(dcsr_i_txn_begin(&txn, store, false));
    int code = mdb_cursor_open(txn, store->database[DCSR_I_DB_MATRICES], &cursor);
    dcsr_status status = code ? dcsr_i_store_fail(store, code, "listing its matrices") : DCSR_OK;
    if (status == DCSR_OK) {
        status = make_names(names, count, cursor);
        mdb_cursor_close(cursor);
    }
    mdb_txn_abort(txn);
    return status;
}

/* Versions of a matrix, oldest first, in a block of their own. */
static dcsr_status list_versions(const dcsr_store *store, MDB_txn *txn, const char *name,
                                 dcsr_version_info **versions, uint64_t *count)
{
    dcsr_i_version newest, one;
    DCSR_TRY(dcsr_i_version_get(store, txn, name, 0, &newest));
    uint32_t number = newest.matrix.number, matrix;
    dcsr_i_version_free(&newest);
    MDB_cursor *cursor;
    int code = mdb_cursor_open(txn, store->database[DCSR_I_DB_VERSIONS], &cursor);
    if (code) return dcsr_i_store_fail(store, code, "listing versions");
    dcsr_i_numbers first = dcsr_i_numbers_key(number, 0);
    MDB_val key = {sizeof first, &first}, value;
    uint64_t capacity = 0, version;
    dcsr_status status = DCSR_OK;
    for (code = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
         status == DCSR_OK && !code && dcsr_i_numbers_read(key.mv_data, key.mv_size, &matrix, &version) &&
         matrix == number;
         code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
        status = dcsr_i_version_get(store, txn, name, version, &one);
        if (status != DCSR_OK) break;
        if (*count == capacity) {
            capacity = capacity ? 2 * capacity : 16;
            dcsr_version_info *larger = realloc(*versions, capacity * sizeof *larger);
            if (larger)
                *versions = larger;
            else
                status = dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY, "listing versions: out of memory");
        }
        if (status == DCSR_OK) (*versions)[(*count)++] = dcsr_i_version_describe(&one.record);
        dcsr_i_version_free(&one);
    }
    mdb_cursor_close(cursor);
    return status;
}

dcsr_status dcsr_store_versions(dcsr_store *store, const char *name, dcsr_version_info **versions,
                                uint64_t *count)
{
    DCSR_TRY(dcsr_i_store_check("dcsr_store_versions", store, false));
    DCSR_TRY(dcsr_i_store_check_name("dcsr_store_versions", name));
    if (!versions || !count)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_store_versions: %s is NULL",
                           versions ? "count" : "versions");
    *versions = NULL;
    *count = 0;
    MDB_txn *txn;
    DCSR_TRY(dcsr_i_txn_begin(&txn, store, false));
    dcsr_status status = list_versions(store, txn, name, versions, count);
    mdb_txn_abort(txn);
    if (status != DCSR_OK) {
        free(*versions);
        *versions = NULL;
        *count = 0;
    }
    return status;
}

void dcsr_store_free_list(void *list)
{
    free(list);
}

dcsr_status dcsr_store_find(dcsr_store *store, const char *name, uint64_t version, dcsr_version_info *info)
{
    DCSR_TRY(dcsr_i_store_check("dcsr_store_find", store, false));
    DCSR_TRY(dcsr_i_store_check_name("dcsr_store_find", name));
    if (!info) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_store_find: info is NULL");
    MDB_txn *txn;
    dcsr_i_version found;
    DCSR_TRY(dcsr_i_txn_begin(&txn, store, false));
    dcsr_status status = dcsr_i_version_get(store, txn, name, version, &found);
    if (status == DCSR_OK) *info = dcsr_i_version_describe(&found.record);
    dcsr_i_version_free(&found);
    mdb_txn_abort(txn);
    return status;
}

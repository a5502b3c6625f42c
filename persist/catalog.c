/* catalog.c: which matrices and versions a store has. */
#include "persist/store_iter.h"
#include <stdlib.h>
#include <string.h>

bool dcsr_store_is_name(const char *text, size_t length)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+=";
    if (!text || !length || length > DCSR_STORE_MAX_NAME || *text == '.') return false;
    for (size_t i = 0; i < length; i++)
        if (!text[i] || !strchr(allowed, text[i])) return false;
    return true;
}

dcsr_status dcsr_i_store_check_name(const char *call, const char *name)
{
    if (!name) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: name is NULL", call);
    if (dcsr_store_is_name(name, strlen(name))) return DCSR_OK;
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

static dcsr_status check_record(void *user, const dcsr_store *store, MDB_txn *txn, const char *name)
{
    (void)user;
    dcsr_i_matrix_record record;
    return name ? dcsr_i_matrix_record_get(store, txn, name, &record) : DCSR_ERROR_CORRUPT;
}

dcsr_status dcsr_i_store_check_new(dcsr_store *store, MDB_txn *txn, const char *name)
{
    if (store->names_are_whole) return DCSR_OK;
    dcsr_status status = dcsr_i_each_matrix(store, txn, check_record, NULL);
    store->names_are_whole = status == DCSR_OK;
    if (status != DCSR_ERROR_CORRUPT) return status;
    return dcsr_i_fail(
        DCSR_ERROR_CORRUPT,
        "%s: the name or record of a matrix is damaged, so it cannot be told whether '%s' is new; "
        "restore the store from a backup",
        store->path, name);
}

/* Records behind a version; beyond an older one there are those, too, that the newer have taken up. */
static uint64_t records_behind(const dcsr_i_matrix_record *matrix, const dcsr_i_version_record *record)
{
    return record->version == matrix->newest ? matrix->next_position - 1 - record->log_position : 0;
}

dcsr_version_info dcsr_i_version_describe(const dcsr_i_matrix_record *matrix,
                                          const dcsr_i_version_record *record)
{
    return (dcsr_version_info){.version = record->version,
                               .type = (dcsr_type)record->type,
                               .policy = (dcsr_policy)record->policy,
                               .slack = dcsr_i_record_slack(record),
                               .rows = record->rows,
                               .cols = record->cols,
                               .nnz = record->nnz,
                               .created = record->created,
                               .chunks = record->chunks,
                               .stored_bytes = record->stored,
                               .written_bytes = record->written,
                               .log_position = record->log_position,
                               .log_records = records_behind(matrix, record)};
}

/* Of the others the first snapshot is on its way, or was not finished. */
static bool has_version(const MDB_val *value)
{
    dcsr_i_matrix_record record;
    if (value->mv_size < DCSR_I_SHORT_MATRIX_RECORD) return true; /* it is damaged, and there */
    memcpy(&record, value->mv_data, DCSR_I_SHORT_MATRIX_RECORD);
    return record.newest != 0;
}

dcsr_status dcsr_i_store_count(const dcsr_store *store, MDB_txn *txn, uint64_t *matrices)
{
    MDB_cursor *cursor;
    MDB_val key, value;
    *matrices = 0;
    int code = mdb_cursor_open(txn, store->database[DCSR_I_DB_MATRICES], &cursor);
    if (code) return dcsr_i_store_fail(store, code, "counting its matrices");
    while (!(code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT))) *matrices += has_version(&value);
    mdb_cursor_close(cursor);
    return code == MDB_NOTFOUND ? DCSR_OK : dcsr_i_store_fail(store, code, "counting its matrices");
}

/* ---- Lists: one block each ---- */

/* The pointers, then the names that they point to. */
static dcsr_status make_names(char ***names, uint64_t *count, const dcsr_store *store, MDB_cursor *cursor)
{
    MDB_val key, value;
    uint64_t n = 0, bytes = 0;
    int code;
    for (code = mdb_cursor_get(cursor, &key, &value, MDB_FIRST); !code;
         code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
        n++;
        bytes += key.mv_size + 1;
    }
    if (code != MDB_NOTFOUND) return dcsr_i_store_fail(store, code, "listing its matrices");
    char **list = malloc(n * sizeof *list + bytes + 1);
    if (!list) return dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY, "listing a store: out of memory");
    char *text = (char *)(list + n);
    uint64_t i = 0;
    for (code = mdb_cursor_get(cursor, &key, &value, MDB_FIRST); !code && i < n;
         code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
        if (!has_version(&value)) continue;
        list[i++] = memcpy(text, key.mv_data, key.mv_size);
        text[key.mv_size] = '\0';
        text += key.mv_size + 1;
    }
    if (code && code != MDB_NOTFOUND) {
        free(list);
        return dcsr_i_store_fail(store, code, "listing its matrices");
    }
    *names = list;
    *count = i;
    return DCSR_OK;
}

dcsr_status dcsr_store_get_names(dcsr_store *store, char ***names, uint64_t *count)
{
    DCSR_TRY(dcsr_i_store_check("dcsr_store_get_names", store, false));
    if (!names || !count)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_store_get_names: %s is NULL",
                           names ? "count" : "names");
    *names = NULL;
    *count = 0;
    MDB_txn *txn;
    MDB_cursor *cursor;
    DCSR_TRY(dcsr_i_txn_begin(&txn, store, false));
    int code = mdb_cursor_open(txn, store->database[DCSR_I_DB_MATRICES], &cursor);
    dcsr_status status = code ? dcsr_i_store_fail(store, code, "listing its matrices") : DCSR_OK;
    if (status == DCSR_OK) {
        status = make_names(names, count, store, cursor);
        mdb_cursor_close(cursor);
    }
    dcsr_i_txn_abort(txn, store);
    return status;
}

/* Versions of a matrix, oldest first, in a block of their own. */
typedef struct listing {
    const dcsr_store *store;
    MDB_txn *txn;
    const char *name;
    dcsr_version_info *versions;
    uint64_t count, capacity;
} listing;

static dcsr_status list_version(void *user, MDB_cursor *cursor, uint64_t number, const MDB_val *value)
{
    (void)cursor, (void)value;
    listing *l = user;
    if (l->count == l->capacity) {
        uint64_t capacity = l->capacity ? 2 * l->capacity : 16;
        dcsr_version_info *larger = realloc(l->versions, capacity * sizeof *larger);
        if (!larger) return dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY, "listing versions: out of memory");
        l->versions = larger;
        l->capacity = capacity;
    }
    dcsr_i_version version;
    DCSR_TRY(dcsr_i_version_get(l->store, l->txn, l->name, number, &version));
    l->versions[l->count++] = dcsr_i_version_describe(&version.matrix, &version.record);
    dcsr_i_version_free(&version);
    return DCSR_OK;
}

static dcsr_status list_versions(listing *l)
{
    dcsr_i_version newest;
    DCSR_TRY(dcsr_i_version_get(l->store, l->txn, l->name, 0, &newest));
    dcsr_i_version_free(&newest);
    return dcsr_i_each_thing(l->store, l->txn, DCSR_I_DB_VERSIONS, newest.matrix.number, 0, list_version, l);
}

dcsr_status dcsr_store_get_versions(dcsr_store *store, const char *name, dcsr_version_info **versions,
                                    uint64_t *count)
{
    DCSR_TRY(dcsr_i_store_check("dcsr_store_get_versions", store, false));
    DCSR_TRY(dcsr_i_store_check_name("dcsr_store_get_versions", name));
    if (!versions || !count)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_store_get_versions: %s is NULL",
                           versions ? "count" : "versions");
    *versions = NULL;
    *count = 0;
    listing l = {.store = store, .name = name};
    DCSR_TRY(dcsr_i_txn_begin(&l.txn, store, false));
    dcsr_status status = list_versions(&l);
    dcsr_i_txn_abort(l.txn, store);
    if (status != DCSR_OK) {
        free(l.versions);
        return status;
    }
    *versions = l.versions;
    *count = l.count;
    return DCSR_OK;
}

void dcsr_store_list_free(void *list)
{
    free(list);
}

dcsr_status dcsr_store_get_tag(dcsr_store *store, const char *name, dcsr_tag *tag, bool *known)
{
    DCSR_TRY(dcsr_i_store_check("dcsr_store_get_tag", store, false));
    DCSR_TRY(dcsr_i_store_check_name("dcsr_store_get_tag", name));
    if (!tag || !known)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_store_get_tag: %s is NULL",
                           tag ? "known" : "tag");
    MDB_txn *txn;
    dcsr_i_version newest;
    DCSR_TRY(dcsr_i_txn_begin(&txn, store, false));
    dcsr_status status = dcsr_i_version_get(store, txn, name, 0, &newest);
    *known = status == DCSR_OK && newest.matrix.more.flags & DCSR_I_MATRIX_TAGGED;
    *tag = *known ? newest.matrix.more.tag : (dcsr_tag){0};
    dcsr_i_version_free(&newest);
    dcsr_i_txn_abort(txn, store);
    return status;
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
    if (status == DCSR_OK) *info = dcsr_i_version_describe(&found.matrix, &found.record);
    dcsr_i_version_free(&found);
    dcsr_i_txn_abort(txn, store);
    return status;
}

/* txn.c: transactions on a store, its records, and LMDB's errors in our words. */
#include "persist/store_data.h"
#include "dcsr/base/alloc.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

void (*dcsr_i_store_point)(const char *name);

dcsr_status dcsr_i_store_check(const char *call, const dcsr_store *store, bool write)
{
    if (!store)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: the store is NULL; open one first", call);
    if (store->process != getpid())
        return dcsr_i_fail(
            DCSR_ERROR_INVALID_ARGUMENT,
            "%s: %s was opened by another process, which this one was forked from; open it here", call,
            store->path);
    if (write && store->read_only)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: %s is open for reading only", call, store->path);
    return DCSR_OK;
}

/* Who waits for `writing` has `next_to_write`, so that who has just given it up comes after. */
void dcsr_i_store_begin_writing(dcsr_store *store)
{
    pthread_mutex_lock(&store->next_to_write);
    pthread_mutex_lock(&store->writing);
    pthread_mutex_unlock(&store->next_to_write);
}

void dcsr_i_store_end_writing(dcsr_store *store)
{
    pthread_mutex_unlock(&store->writing);
}

void dcsr_i_store_lock(dcsr_store *store)
{
    pthread_mutex_lock(&store->changing);
    dcsr_i_store_begin_writing(store);
}

void dcsr_i_store_unlock(dcsr_store *store)
{
    dcsr_i_store_end_writing(store);
    pthread_mutex_unlock(&store->changing);
}

/* ---- Errors ---- */

dcsr_status dcsr_i_store_fail(const dcsr_store *store, int code, const char *doing)
{
    const char *path = store->path;
    unsigned most = 0;
    switch (code) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EIO:
    case MDB_MAP_FULL:
        return dcsr_i_store_fail_for_room(store, code, doing);
    case ENOMEM:
        return dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY, "%s: %s: out of memory", path, doing);
    case MDB_MAP_RESIZED:
        return dcsr_i_fail(DCSR_ERROR_IO,
                           "%s: %s: another process has made the store larger than what is mapped "
                           "here; close it and open it again",
                           path, doing);
    case MDB_READERS_FULL:
        mdb_env_get_maxreaders(store->env, &most);
        return dcsr_i_fail(
            DCSR_ERROR_BUSY,
            "%s: %s: %u transactions and views of living processes read the store, and there may be no "
            "more; try again when one has ended",
            path, doing, most);
    case MDB_PANIC:
        return dcsr_i_fail(DCSR_ERROR_IO,
                           "%s: %s: an earlier write has failed; close the store and open it again", path,
                           doing);
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
        return dcsr_i_fail(DCSR_ERROR_CORRUPT, "%s: %s: the file is damaged (%s); restore it from a backup",
                           path, doing, mdb_strerror(code));
    default:
        return dcsr_i_fail(DCSR_ERROR_IO, "%s: %s: %s", path, doing, mdb_strerror(code));
    }
}

/* ---- Transactions ---- */

int dcsr_i_txn_begin_listed(MDB_txn **txn, const dcsr_store *store)
{
    int code = mdb_txn_begin(store->env, NULL, MDB_RDONLY, txn);
    if (code != MDB_READERS_FULL) return code;
    mdb_reader_check(store->env, NULL); /* those that have been killed */
    return mdb_txn_begin(store->env, NULL, MDB_RDONLY, txn);
}

dcsr_status dcsr_i_txn_begin(MDB_txn **txn, const dcsr_store *store, bool write)
{
    if (store->unlisted) return dcsr_i_unlisted_begin(txn, store);
    if (write) DCSR_TRY(dcsr_i_readers_pin(store));
    int code = write ? mdb_txn_begin(store->env, NULL, 0, txn) : dcsr_i_txn_begin_listed(txn, store);
    return code ? dcsr_i_store_fail(store, code, "beginning a transaction") : DCSR_OK;
}

dcsr_status dcsr_i_txn_commit(MDB_txn *txn, const dcsr_store *store)
{
    dcsr_i_file_signal signal = dcsr_i_file_signal_hold();
    int code = store->unlisted ? dcsr_i_unlisted_end(txn, store, true) : mdb_txn_commit(txn);
    dcsr_i_file_signal_release(&signal);
    return code ? dcsr_i_store_fail(store, code, "writing") : DCSR_OK;
}

void dcsr_i_txn_abort(MDB_txn *txn, const dcsr_store *store)
{
    if (!txn) return;
    if (store->unlisted)
        dcsr_i_unlisted_end(txn, store, false);
    else
        mdb_txn_abort(txn);
}

/* ---- Records ---- */

/* The one key of its database. */
static const char store_key[] = "format";

dcsr_status dcsr_i_store_record_get(const dcsr_store *store, MDB_txn *txn, dcsr_i_store_record *record)
{
    MDB_val key = {strlen(store_key), (void *)store_key}, value;
    int code = mdb_get(txn, store->database[DCSR_I_DB_STORE], &key, &value);
    if (code && code != MDB_NOTFOUND) return dcsr_i_store_fail(store, code, "reading its record");
    if (code || value.mv_size < sizeof *record ||
        memcmp(value.mv_data, DCSR_I_STORE_MAGIC, sizeof record->magic) != 0)
        return dcsr_i_fail(DCSR_ERROR_FORMAT, "%s: this is not a store of matrices", store->path);
    memcpy(record, value.mv_data, sizeof *record);
    if ((record->format < DCSR_I_FIRST_FORMAT || record->format > DCSR_I_STORE_FORMAT) &&
        dcsr_i_is_sealed(value.mv_data, value.mv_size, key.mv_data, key.mv_size))
        return dcsr_i_fail(
            DCSR_ERROR_FORMAT,
            "%s: the store has version %u of the format, and this library knows those up to %u; use a newer "
            "library",
            store->path, record->format, DCSR_I_STORE_FORMAT);
    if (value.mv_size != sizeof *record ||
        !dcsr_i_is_sealed(record, sizeof *record, key.mv_data, key.mv_size))
        return dcsr_i_fail(DCSR_ERROR_CORRUPT, "%s: the record of the store is damaged", store->path);
    return DCSR_OK;
}

dcsr_status dcsr_i_store_record_put(const dcsr_store *store, MDB_txn *txn, dcsr_i_store_record *record)
{
    MDB_val key = {strlen(store_key), (void *)store_key}, value = {sizeof *record, record};
    dcsr_i_seal(record, sizeof *record, store_key, strlen(store_key));
    int code = mdb_put(txn, store->database[DCSR_I_DB_STORE], &key, &value, 0);
    return code ? dcsr_i_store_fail(store, code, "writing its record") : DCSR_OK;
}

/* Whether a matrix has something with this number or one behind it. */
static int has_from(bool *has, const dcsr_store *store, MDB_txn *txn, dcsr_i_database database,
                    uint32_t matrix, uint64_t first)
{
    MDB_cursor *cursor;
    dcsr_i_numbers begin = dcsr_i_numbers_key(matrix, first);
    MDB_val key = {sizeof begin, &begin}, value;
    uint32_t owner = 0;
    uint64_t number;
    int code = mdb_cursor_open(txn, store->database[database], &cursor);
    if (code) return code;
    code = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    *has = !code && dcsr_i_numbers_read(key.mv_data, key.mv_size, &owner, &number) && owner == matrix;
    mdb_cursor_close(cursor);
    return code == MDB_NOTFOUND ? 0 : code;
}

/* A record whose last change the disk has lost is whole, and older than what the matrix has. */
static dcsr_status check_age(const dcsr_store *store, MDB_txn *txn, const char *name,
                             const dcsr_i_matrix_record *record)
{
    bool version, log = false, names = false;
    int code = has_from(&version, store, txn, DCSR_I_DB_VERSIONS, record->number, record->newest + 1);
    if (!code && !version)
        code = has_from(&log, store, txn, DCSR_I_DB_LOG, record->number, record->next_position);
    if (!code && record->more.dictionary)
        code = has_from(&names, store, txn, DCSR_I_DB_CHUNKS, record->more.dictionary, record->more.names);
    if (code) return dcsr_i_store_fail(store, code, "reading the record of a matrix");
    if (!version && !log && !names) return DCSR_OK;
    return dcsr_i_fail(DCSR_ERROR_CORRUPT,
                       "%s#%s: the record of the matrix is older than the last of its %s; versions can be "
                       "restored by their numbers, or the store from a backup",
                       store->path, name,
                       version ? "versions"
                       : log   ? "records in the log"
                               : "names");
}

/* A record that may be too old. */
static dcsr_status read_matrix_record(const dcsr_store *store, MDB_txn *txn, const char *name,
                                      dcsr_i_matrix_record *record)
{
    MDB_val key = {strlen(name), (void *)name}, value;
    int code = mdb_get(txn, store->database[DCSR_I_DB_MATRICES], &key, &value);
    if (code == MDB_NOTFOUND) return DCSR_ERROR_NOT_FOUND;
    if (code) return dcsr_i_store_fail(store, code, "reading the record of a matrix");
    if ((value.mv_size != sizeof *record && value.mv_size != DCSR_I_SHORT_MATRIX_RECORD) ||
        !dcsr_i_is_sealed(value.mv_data, value.mv_size, name, strlen(name)))
        return dcsr_i_fail(DCSR_ERROR_CORRUPT, "%s#%s: the record of the matrix is damaged", store->path,
                           name);
    *record = (dcsr_i_matrix_record){0};
    memcpy(record, value.mv_data, value.mv_size - sizeof record->checksum);
    return DCSR_OK;
}

dcsr_status dcsr_i_matrix_record_get(const dcsr_store *store, MDB_txn *txn, const char *name,
                                     dcsr_i_matrix_record *record)
{
    DCSR_TRY(read_matrix_record(store, txn, name, record));
    return check_age(store, txn, name, record);
}

dcsr_status dcsr_i_matrix_record_again(const dcsr_store *store, MDB_txn *txn, const char *name,
                                       dcsr_i_matrix_record *record)
{
    dcsr_status status = dcsr_i_matrix_record_get(store, txn, name, record);
    if (status != DCSR_ERROR_NOT_FOUND) return status;
    return dcsr_i_fail(DCSR_ERROR_CORRUPT, "%s#%s: the record of the matrix is gone", store->path, name);
}

/* A program that does not know what the transaction writes would lose it. */
static dcsr_status use_newest_format(const dcsr_store *store, MDB_txn *txn)
{
    dcsr_i_store_record record;
    DCSR_TRY(dcsr_i_store_record_get(store, txn, &record));
    if (record.format == DCSR_I_STORE_FORMAT) return DCSR_OK;
    record.format = DCSR_I_STORE_FORMAT;
    return dcsr_i_store_record_put(store, txn, &record);
}

dcsr_status dcsr_i_matrix_record_put(const dcsr_store *store, MDB_txn *txn, const char *name,
                                     const dcsr_i_matrix_record *record)
{
    static const dcsr_i_matrix_more nothing;
    bool more = memcmp(&record->more, &nothing, sizeof nothing) != 0;
    if (more) DCSR_TRY(use_newest_format(store, txn));
    dcsr_i_matrix_record sealed = *record;
    MDB_val key = {strlen(name), (void *)name},
            value = {more ? sizeof sealed : DCSR_I_SHORT_MATRIX_RECORD, &sealed};
    dcsr_i_seal(&sealed, value.mv_size, name, strlen(name));
    int code = mdb_put(txn, store->database[DCSR_I_DB_MATRICES], &key, &value, 0);
    return code ? dcsr_i_store_fail(store, code, "writing the record of a matrix") : DCSR_OK;
}

void dcsr_i_version_free(dcsr_i_version *version)
{
    dcsr_i_free(NULL, DCSR_I_SCRATCH, version->chunks, 1, version->bytes);
    version->chunks = NULL;
}

static dcsr_status damaged_version(const dcsr_store *store, const char *name, uint64_t version,
                                   const char *why)
{
    return dcsr_i_fail(DCSR_ERROR_CORRUPT, "%s#%s@%llu: the record of the version is damaged: %s",
                       store->path, name, (unsigned long long)version, why);
}

/* The record is larger than it says, or smaller, or not what was written. */
static dcsr_status copy_version(const dcsr_store *store, const char *name, uint64_t number,
                                const MDB_val *value, dcsr_i_version *result)
{
    size_t fixed = sizeof result->record + sizeof(uint64_t);
    dcsr_i_numbers key = dcsr_i_numbers_key(result->matrix.number, number);
    if (value->mv_size < fixed || !dcsr_i_is_sealed(value->mv_data, value->mv_size, &key, sizeof key))
        return damaged_version(store, name, number, "its checksum is wrong");
    memcpy(&result->record, value->mv_data, sizeof result->record);
    result->bytes = value->mv_size - fixed;
    if (result->bytes % sizeof(dcsr_i_chunk) ||
        result->bytes / sizeof(dcsr_i_chunk) != result->record.chunks || result->record.version != number)
        return damaged_version(store, name, number, "its size or number is wrong");
    result->chunks = dcsr_i_alloc(NULL, DCSR_I_SCRATCH, 1, result->bytes);
    if (!result->chunks) return DCSR_ERROR_OUT_OF_MEMORY;
    memcpy(result->chunks, (const char *)value->mv_data + sizeof result->record, result->bytes);
    const char *why;
    if (!dcsr_i_version_is_wrong(&result->record, result->chunks, &why)) return DCSR_OK;
    dcsr_i_version_free(result);
    return damaged_version(store, name, number, why);
}

dcsr_status dcsr_i_version_get(const dcsr_store *store, MDB_txn *txn, const char *name, uint64_t version,
                               dcsr_i_version *result)
{
    *result = (dcsr_i_version){0};
    dcsr_status status = read_matrix_record(store, txn, name, &result->matrix);
    if (status == DCSR_ERROR_NOT_FOUND || (status == DCSR_OK && !result->matrix.newest))
        return dcsr_i_fail(DCSR_ERROR_NOT_FOUND,
                           "%s: there is no matrix '%s'; `dcsr log` lists those that are there", store->path,
                           name);
    DCSR_TRY(status);
    if (!version) DCSR_TRY(check_age(store, txn, name, &result->matrix));
    if (!version) version = result->matrix.newest;
    dcsr_i_numbers number = dcsr_i_numbers_key(result->matrix.number, version);
    MDB_val key = {sizeof number, &number}, value;
    int code = mdb_get(txn, store->database[DCSR_I_DB_VERSIONS], &key, &value);
    if (code == MDB_NOTFOUND && version != result->matrix.newest)
        return dcsr_i_fail(DCSR_ERROR_NOT_FOUND,
                           "%s#%s: there is no version %llu; the newest is %llu, and `dcsr log` lists all",
                           store->path, name, (unsigned long long)version,
                           (unsigned long long)result->matrix.newest);
    if (code == MDB_NOTFOUND) return damaged_version(store, name, version, "it is not there");
    if (code) return dcsr_i_store_fail(store, code, "reading the record of a version");
    return copy_version(store, name, version, &value, result);
}

/* verify.c: reads everything that a store holds and compares every checksum. */
#include "dcsr/alloc.h"
#include "persist/pages.h"
#include "persist/store_data.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct checking {
    const dcsr_store *store;
    MDB_txn *txn;
    dcsr_store_damage damage;
    void *user;
    dcsr_store_check *check;
    /* Chunks of the matrix that have been looked at, ascending in number up to the last sorting. */
    uint64_t *seen, seen_count, seen_capacity;
} checking;

/* Counts and tells what the library's last sentence is about; other failures than damage end the check. */
static dcsr_status note(checking *c, dcsr_status status)
{
    if (status != DCSR_ERROR_CORRUPT) return status;
    c->check->corrupt++;
    if (c->damage) c->damage(c->user, dcsr_i_error_text());
    return DCSR_OK;
}

static int compare_numbers(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static bool was_seen(const checking *c, uint64_t number)
{
    return c->seen_count && bsearch(&number, c->seen, c->seen_count, sizeof number, compare_numbers);
}

static dcsr_status reserve_seen(checking *c, uint64_t more)
{
    if (c->seen_count + more <= c->seen_capacity) return DCSR_OK;
    uint64_t capacity = 2 * (c->seen_count + more);
    uint64_t *larger =
        dcsr_i_realloc(NULL, DCSR_I_SCRATCH, c->seen, c->seen_capacity, capacity, sizeof *larger);
    if (!larger) return DCSR_ERROR_OUT_OF_MEMORY;
    c->seen = larger;
    c->seen_capacity = capacity;
    return DCSR_OK;
}

/* The chunks of a version that no version before has. */
static dcsr_status check_chunks(checking *c, const char *name, const dcsr_i_version *version)
{
    DCSR_TRY(reserve_seen(c, version->record.chunks));
    uint64_t added = 0;
    for (uint64_t k = 0; k < version->record.chunks; k++) {
        const dcsr_i_chunk *chunk = &version->chunks[k];
        if (!chunk->entries || was_seen(c, chunk->number)) continue;
        MDB_val value;
        dcsr_i_chunk_data data = {0};
        dcsr_status status = dcsr_i_chunk_find(c->store, c->txn, name, version, k, &value);
        if (status == DCSR_OK) status = dcsr_i_chunk_open(c->store, name, version, k, &value, &data);
        if (status == DCSR_OK) status = dcsr_i_chunk_check(c->store, name, version, k, &data);
        dcsr_i_chunk_close(&data);
        c->seen[c->seen_count + added++] = chunk->number;
        c->check->chunks++;
        c->check->bytes += chunk->stored;
        DCSR_TRY(note(c, status));
    }
    c->seen_count += added;
    if (added) qsort(c->seen, c->seen_count, sizeof *c->seen, compare_numbers);
    return DCSR_OK;
}

/* Calls look for each thing of the matrix in a database. */
typedef dcsr_status (*looking)(checking *c, const char *name, const dcsr_i_matrix_record *record,
                               uint64_t number, const MDB_val *value);

static dcsr_status each_thing(checking *c, dcsr_i_database database, const char *name,
                              const dcsr_i_matrix_record *record, looking look)
{
    MDB_cursor *cursor;
    int code = mdb_cursor_open(c->txn, c->store->database[database], &cursor);
    if (code) return dcsr_i_store_fail(c->store, code, "reading everything");
    dcsr_i_numbers first = dcsr_i_numbers_key(record->number, 0);
    MDB_val key = {sizeof first, &first}, value;
    uint32_t owner;
    uint64_t number;
    dcsr_status status = DCSR_OK;
    for (code = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
         status == DCSR_OK && !code && dcsr_i_numbers_read(key.mv_data, key.mv_size, &owner, &number) &&
         owner == record->number;
         code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT))
        status = look(c, name, record, number, &value);
    mdb_cursor_close(cursor);
    return status;
}

static dcsr_status check_version(checking *c, const char *name, const dcsr_i_matrix_record *record,
                                 uint64_t number, const MDB_val *value)
{
    (void)record;
    dcsr_i_version version;
    c->check->versions++;
    if (!number)
        return note(c, dcsr_i_fail(DCSR_ERROR_CORRUPT,
                                   "%s#%s: a version has the number 0, so its key is damaged", c->store->path,
                                   name));
    c->check->bytes += value->mv_size;
    dcsr_status status = dcsr_i_version_get(c->store, c->txn, name, number, &version);
    if (status == DCSR_OK) status = check_chunks(c, name, &version);
    dcsr_i_version_free(&version);
    return note(c, status);
}

static dcsr_status check_log(checking *c, const char *name, const dcsr_i_matrix_record *record,
                             uint64_t number, const MDB_val *value)
{
    dcsr_i_log_record log;
    dcsr_i_numbers key = dcsr_i_numbers_key(record->number, number);
    c->check->log_records++;
    c->check->bytes += value->mv_size;
    bool good = value->mv_size >= sizeof log + sizeof(uint64_t) &&
                dcsr_i_is_sealed(value->mv_data, value->mv_size, &key, sizeof key);
    if (good) {
        memcpy(&log, value->mv_data, sizeof log);
        good = log.position == number && number < record->next_position;
    }
    if (good) return DCSR_OK;
    return note(c, dcsr_i_fail(DCSR_ERROR_CORRUPT, "%s#%s: record %llu of the log is damaged", c->store->path,
                               name, (unsigned long long)number));
}

static dcsr_status check_matrix(checking *c, const MDB_val *key)
{
    char name[DCSR_STORE_MAX_NAME + 1];
    dcsr_i_matrix_record record;
    c->check->matrices++;
    c->seen_count = 0;
    dcsr_status status = dcsr_i_name_of(c->store, key, name);
    if (status == DCSR_OK) status = dcsr_i_matrix_record_get(c->store, c->txn, name, &record);
    if (status != DCSR_OK) return note(c, status);
    uint64_t log_before = c->check->log_records;
    DCSR_TRY(each_thing(c, DCSR_I_DB_VERSIONS, name, &record, check_version));
    DCSR_TRY(each_thing(c, DCSR_I_DB_LOG, name, &record, check_log));
    if (!record.newest) return DCSR_OK;
    dcsr_i_version newest;
    status = dcsr_i_version_get(c->store, c->txn, name, 0, &newest);
    /* One that is there but damaged has been told of. */
    if (status == DCSR_ERROR_CORRUPT && !strstr(dcsr_i_error_text(), "not there")) status = DCSR_OK;
    uint64_t held = newest.record.log_position;
    dcsr_i_version_free(&newest);
    if (status == DCSR_OK && c->check->log_records - log_before != record.next_position - 1 - held)
        status = dcsr_i_fail(DCSR_ERROR_CORRUPT,
                             "%s#%s: of %llu records of the log behind the newest version %llu are there",
                             c->store->path, name, (unsigned long long)(record.next_position - 1 - held),
                             (unsigned long long)(c->check->log_records - log_before));
    return note(c, status);
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
    MDB_cursor *cursor;
    MDB_val key, value;
    int code = mdb_cursor_open(c->txn, c->store->database[DCSR_I_DB_MATRICES], &cursor);
    if (code) return dcsr_i_store_fail(c->store, code, "reading everything");
    dcsr_status status = DCSR_OK;
    while (status == DCSR_OK && !mdb_cursor_get(cursor, &key, &value, MDB_NEXT))
        status = check_matrix(c, &key);
    mdb_cursor_close(cursor);
    return status == DCSR_OK ? check_for_strangers(c) : status;
}

dcsr_status dcsr_store_verify(dcsr_store *store, dcsr_store_damage damage, void *user,
                              dcsr_store_check *check)
{
    DCSR_TRY(dcsr_i_store_check("dcsr_store_verify", store, false));
    if (!check) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_store_verify: check is NULL");
    *check = (dcsr_store_check){0};
    checking c = {.store = store, .damage = damage, .user = user, .check = check};
    DCSR_TRY(dcsr_i_txn_begin(&c.txn, store, false));
    dcsr_status status = check_all(&c);
    mdb_txn_abort(c.txn);
    dcsr_i_free(NULL, DCSR_I_SCRATCH, c.seen, c.seen_capacity, sizeof *c.seen);
    return status;
}

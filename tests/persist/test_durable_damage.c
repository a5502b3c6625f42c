/* test_durable_damage.c: records of the log that are damaged, each in its own way; no memory; objects that go
 * in another order than they should. */
#include "dcsr/base/alloc.h"
#include "persist/store_data.h"
#include "tests/support/support_durable.h"
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- Damage ---- */

enum { RECORDS = 4, MOST_BYTES = 500 };

/* Four records: an insertion of two, other dimensions, a deletion, an insertion of one. */
static void make_log(const durable_place *p)
{
    dcsr_matrix *matrix = durable_open_small(p, "a", NULL);
    TEST_INSERT(matrix, {1, 1, 1}, {2, 2, 2});
    TEST_OK(dcsr_matrix_resize(matrix, 20, 20, NULL));
    TEST_REMOVE(matrix, {2, 2, 0});
    TEST_INSERT(matrix, {19, 19, 3});
    dcsr_matrix_destroy(matrix);
}

/* One way to damage a record, which has `bytes` at data, aligned; what is to be done with the result. */
typedef enum outcome { STORED, SEALED_AND_STORED, DELETED } outcome;
typedef outcome (*damage)(dcsr_i_log_record *record, char *data, size_t *bytes);

/* A value in one of the databases of a store, by means of LMDB alone; the store is closed meanwhile. */
typedef struct raw {
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi database;
    MDB_val value;
} raw;

static raw open_raw(durable_place *p, const char *database, MDB_val *key)
{
    raw r;
    dcsr_store_close(p->store);
    cr_assert(!mdb_env_create(&r.env) && !mdb_env_set_maxdbs(r.env, 1) &&
              !mdb_env_set_mapsize(r.env, 1 << 24) && !mdb_env_open(r.env, p->path, 0, 0666) &&
              !mdb_txn_begin(r.env, NULL, 0, &r.txn) && !mdb_dbi_open(r.txn, database, 0, &r.database) &&
              !mdb_get(r.txn, r.database, key, &r.value));
    return r;
}

static void close_raw(durable_place *p, raw *r)
{
    cr_assert(!mdb_txn_commit(r->txn));
    mdb_env_close(r->env);
    TEST_OK(dcsr_store_open(&p->store, p->path, NULL));
}

/* Does that to the record at position `which`. */
static void damage_log(durable_place *p, uint64_t which, damage function)
{
    dcsr_i_numbers number = dcsr_i_numbers_key(1, which);
    MDB_val key = {sizeof number, &number}, value;
    _Alignas(8) char data[MOST_BYTES];
    raw r = open_raw(p, "log", &key);
    size_t bytes = r.value.mv_size;
    cr_assert(bytes <= MOST_BYTES);
    memcpy(data, r.value.mv_data, bytes);
    outcome result = function((dcsr_i_log_record *)data, data, &bytes);
    if (result == SEALED_AND_STORED) dcsr_i_seal(data, bytes, &number, sizeof number);
    value = (MDB_val){bytes, data};
    cr_assert(!(result == DELETED ? mdb_del(r.txn, r.database, &key, NULL)
                                  : mdb_put(r.txn, r.database, &key, &value, 0)));
    close_raw(p, &r);
}

#define SEALED(NAME, ...)                                                     \
    static outcome NAME(dcsr_i_log_record *record, char *data, size_t *bytes) \
    {                                                                         \
        (void)record, (void)data, (void)bytes;                                \
        __VA_ARGS__;                                                          \
        return SEALED_AND_STORED;                                             \
    }
SEALED(another_position, record->position++)
SEALED(no_kind, record->kind = 9)
SEALED(no_type, record->type = 99)
SEALED(another_type, record->type = DCSR_INT64)
SEALED(more_rows, record->rows++)
SEALED(too_many_rows, record->rows = DCSR_MAX_ROWS + 1)
SEALED(too_many_bits, record->column_bits = 40)
SEALED(more_entries, record->entries++)
SEALED(countless_entries, record->entries = UINT64_MAX / 16)
SEALED(row_outside, data[sizeof *record + 7] = 1)
SEALED(goes_on, record->flags = DCSR_I_BATCH_GOES_ON)
SEALED(has_entries, record->entries = 1)

static outcome flips_a_bit(dcsr_i_log_record *record, char *data, size_t *bytes)
{
    (void)record;
    data[*bytes / 2] ^= 1;
    return STORED;
}

static outcome is_cut(dcsr_i_log_record *record, char *data, size_t *bytes)
{
    (void)record, (void)data;
    *bytes = 8;
    return STORED;
}

static outcome is_gone(dcsr_i_log_record *record, char *data, size_t *bytes)
{
    (void)record, (void)data, (void)bytes;
    return DELETED;
}

Test(durable_damage, of_any_record_is_found)
{
    const struct {
        uint64_t record;
        damage function;
        const char *words;
    } cases[] = {{1, flips_a_bit, "record 1 of the log: its checksum is wrong"},
                 {2, flips_a_bit, "record 2 of the log: its checksum is wrong"},
                 {4, flips_a_bit, "record 4 of the log: its checksum is wrong"},
                 {3, is_cut, "record 3 of the log: its checksum is wrong"},
                 {1, is_gone, "record 1 of the log: it is not there"},
                 {4, is_gone, "record 4 of the log: it is not there"},
                 {3, another_position, "its position"},
                 {1, no_kind, "it is of no kind"},
                 {1, no_type, "its type is none"},
                 {1, another_type, "of another shape or type"},
                 {3, more_rows, "of another shape or type"},
                 {2, too_many_rows, "beyond the largest matrix"},
                 {1, too_many_bits, "beyond the largest matrix"},
                 {1, more_entries, "another number of entries"},
                 {1, countless_entries, "another number of entries"},
                 {2, has_entries, "another number of entries"},
                 {1, row_outside, "an entry lies outside"},
                 {4, row_outside, "an entry lies outside"},
                 {4, goes_on, "record 5 of the log: a batch goes on in it"},
                 {1, goes_on, "record 2 of the log: it does not go on"},
                 {3, goes_on, "record 4 of the log: it does not go on"},
                 {2, goes_on, "it has entries, and changes the dimensions"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        durable_place p = durable_open_place();
        make_log(&p);
        damage_log(&p, cases[i].record, cases[i].function);
        dcsr_matrix *matrix;
        TEST_REFUSED(
            DCSR_ERROR_CORRUPT, cases[i].words,
            dcsr_store_open_matrix(&matrix, p.context, p.store, "a",
                                   &(dcsr_durable_options){.type = DCSR_FP64, .rows = 10, .cols = 10}, NULL));
        cr_assert(!matrix);
        /* What was before it is there; the log is dropped only by who says so. */
        TEST_OK(dcsr_store_restore(&matrix, p.context, p.store, "a", 0, NULL));
        TEST_SHOWS_NOTHING(matrix);
        TEST_REFUSED(DCSR_ERROR_BUSY, "in no version yet", dcsr_store_snapshot(p.store, "a", matrix, NULL));
        TEST_OK(dcsr_store_delete(p.store, "a"));
        TEST_OK(dcsr_store_snapshot(p.store, "a", matrix, NULL));
        dcsr_matrix_destroy(matrix);
        dcsr_recovery report;
        matrix = durable_open_small(&p, "a", &report);
        cr_assert(report.version == 1 && !report.log_records);
        dcsr_matrix_destroy(matrix);
        durable_close_place(&p);
    }
}

/* As a disk leaves it that has lost the last writing of its sector: whole, but older. */
static void age_record(durable_place *p, uint64_t versions, uint64_t positions)
{
    dcsr_i_matrix_record record;
    MDB_val key = {1, "a"}, value = {DCSR_I_SHORT_MATRIX_RECORD, &record};
    raw r = open_raw(p, "matrices", &key);
    memcpy(&record, r.value.mv_data, DCSR_I_SHORT_MATRIX_RECORD);
    record.newest -= versions;
    record.next_position -= positions;
    dcsr_i_seal(&record, DCSR_I_SHORT_MATRIX_RECORD, "a", 1);
    cr_assert(!mdb_put(r.txn, r.database, &key, &value, 0));
    close_raw(p, &r);
}

Test(durable_damage, a_record_of_a_matrix_that_is_too_old_is_found)
{
    for (int of_version = 0; of_version < 2; of_version++) {
        const char *words = of_version ? "older than the last of its versions" : "records in the log";
        durable_place p = durable_open_place();
        dcsr_store_check check;
        make_log(&p);
        dcsr_matrix *matrix = durable_open_small(&p, "a", NULL);
        if (of_version) TEST_OK(dcsr_store_snapshot(p.store, "a", matrix, NULL));
        dcsr_matrix_destroy(matrix);
        age_record(&p, of_version ? 1 : 0, of_version ? 0 : 1);
        TEST_REFUSED(
            DCSR_ERROR_CORRUPT, words,
            dcsr_store_open_matrix(&matrix, p.context, p.store, "a",
                                   &(dcsr_durable_options){.type = DCSR_FP64, .rows = 10, .cols = 10}, NULL));
        TEST_REFUSED(DCSR_ERROR_CORRUPT, words,
                     dcsr_store_restore(&matrix, p.context, p.store, "a", 0, NULL));
        TEST_OK(dcsr_store_verify(p.store, NULL, NULL, &check));
        cr_assert(check.corrupt);
        TEST_OK(dcsr_store_restore(&matrix, p.context, p.store, "a", 1, NULL));
        dcsr_matrix_destroy(matrix);
        durable_close_place(&p);
    }
}

/* ---- No memory ---- */

Test(durable_damage, survives_every_failed_allocation)
{
    durable_place p = durable_open_place();
    dcsr_matrix *matrix = durable_open_small(&p, "a", NULL);
    uint64_t place = 0;
    double value = 1, seen, safe = 0;
    bool stored;
    for (long n = 0, calm = 0; calm < 3; n++) {
        dcsr_ticket *ticket;
        dcsr_i_fail_allocations_after(n);
        dcsr_status status = dcsr_matrix_insert(matrix, 1, &place, &place, &value, &ticket);
        if (status == DCSR_OK) status = dcsr_ticket_wait(ticket);
        dcsr_i_fail_allocations_after(-1);
        dcsr_ticket_destroy(ticket);
        cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY);
        safe += status == DCSR_OK;
        calm = status == DCSR_OK ? calm + 1 : 0;
    }
    TEST_OK(dcsr_matrix_get(matrix, 0, 0, &seen, &stored));
    cr_assert(seen == safe);
    dcsr_matrix_destroy(matrix);
    matrix = durable_open_small(&p, "a", NULL);
    TEST_OK(dcsr_matrix_get(matrix, 0, 0, &seen, &stored));
    cr_assert(seen == safe);
    dcsr_matrix_destroy(matrix);
    durable_close_place(&p);
}

/* Applying a resize to what the matrix is takes no memory, so its record is the only thing that can fail. */
static dcsr_status lose_a_record(dcsr_matrix *matrix)
{
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    for (long n = 0; status == DCSR_ERROR_OUT_OF_MEMORY; n++) {
        dcsr_ticket *ticket;
        dcsr_i_fail_allocations_after(n);
        status = dcsr_matrix_resize(matrix, 10, 10, &ticket);
        if (status == DCSR_OK) status = dcsr_ticket_wait(ticket);
        dcsr_i_fail_allocations_after(-1);
        dcsr_ticket_destroy(ticket);
    }
    return status;
}

Test(durable_damage, without_memory_for_a_record_needs_a_snapshot)
{
    durable_place p = durable_open_place();
    dcsr_recovery report;
    dcsr_matrix *matrix = durable_open_small(&p, "a", NULL);
    TEST_INSERT(matrix, {1, 1, 1});
    uint64_t place = 2;
    double value = 2;
    for (uint64_t i = 0; i < 2; i++) {
        TEST_STATUS(DCSR_ERROR_NOT_DURABLE, lose_a_record(matrix));
        TEST_OK(dcsr_matrix_insert(matrix, 1, &place, &place, &value, NULL));
        TEST_REFUSED(DCSR_ERROR_NOT_DURABLE, "no memory for a copy", dcsr_matrix_wait(matrix));
        if (i == 0) TEST_OK(dcsr_store_snapshot(p.store, "a", matrix, NULL));
        if (i == 0) TEST_INSERT(matrix, {1, 1, 3});
    }
    TEST_SHOWS(matrix, {1, 1, 4}, {2, 2, 4});
    dcsr_matrix_destroy(matrix);
    matrix = durable_open_small(&p, "a", &report);
    cr_assert(report.version == 2 && report.log_records == 1);
    TEST_SHOWS(matrix, {1, 1, 4}, {2, 2, 2});
    dcsr_matrix_destroy(matrix);
    durable_close_place(&p);
}

Test(durable_damage, is_opened_or_not_with_every_failed_allocation)
{
    durable_place p = durable_open_place();
    dcsr_matrix *matrix = durable_open_small(&p, "a", NULL);
    TEST_INSERT(matrix, {1, 1, 1}, {2, 2, 2});
    dcsr_matrix_destroy(matrix);
    for (int is_new = 0; is_new < 2; is_new++) {
        dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
        for (long n = 0; status != DCSR_OK; n++) {
            dcsr_i_fail_allocations_after(n);
            status = dcsr_store_open_matrix(
                &matrix, p.context, p.store, is_new ? "b" : "a",
                &(dcsr_durable_options){.type = DCSR_FP64, .rows = 10, .cols = 10}, NULL);
            dcsr_i_fail_allocations_after(-1);
            cr_assert(status == DCSR_OK || (status == DCSR_ERROR_OUT_OF_MEMORY && !matrix), "%s",
                      dcsr_thread_error());
        }
        if (is_new)
            TEST_SHOWS_NOTHING(matrix);
        else
            TEST_SHOWS(matrix, {1, 1, 1}, {2, 2, 2});
        dcsr_matrix_destroy(matrix);
    }
    durable_close_place(&p);
}

/* ---- Another order ---- */

Test(durable_damage, store_may_be_closed_before_its_matrix)
{
    durable_place p = durable_open_place();
    dcsr_matrix *matrix = durable_open_small(&p, "a", NULL);
    uint64_t place = 1;
    double value = 1;
    for (int i = 0; i < 100; i++) TEST_OK(dcsr_matrix_insert(matrix, 1, &place, &place, &value, NULL));
    dcsr_store_close(p.store);
    TEST_OK(dcsr_matrix_wait(matrix));
    TEST_OK(dcsr_matrix_insert(matrix, 1, &place, &place, &value, NULL));
    TEST_REFUSED(DCSR_ERROR_NOT_DURABLE, "was closed before", dcsr_matrix_wait(matrix));
    TEST_SHOWS(matrix, {1, 1, 101});
    dcsr_matrix_destroy(matrix);
    TEST_OK(dcsr_store_open(&p.store, p.path, NULL));
    matrix = durable_open_small(&p, "a", NULL);
    TEST_SHOWS(matrix, {1, 1, 100});
    dcsr_matrix_destroy(matrix);
    durable_close_place(&p);
}

/* What was begun is in the log, and what was not is cancelled. */
Test(durable_damage, matrix_may_go_while_work_waits)
{
    enum { N = 300 };
    durable_place p = durable_open_place();
    for (int round = 0; round < TEST_SIZE(10, 4, 3); round++) {
        char name[2] = {(char)('a' + round), 0};
        dcsr_matrix *matrix = durable_open_small(&p, name, NULL);
        dcsr_ticket *ticket[N];
        int safe = 0;
        for (int i = 0; i < N; i++) {
            uint64_t place = (uint64_t)i % 10;
            double value = 1;
            /* Every other one is a resize, so that batches do not join. */
            if (i % 2)
                TEST_OK(dcsr_matrix_resize(matrix, 10, 10, &ticket[i]));
            else
                TEST_OK(dcsr_matrix_insert(matrix, 1, &place, &place, &value, &ticket[i]));
        }
        dcsr_matrix_destroy(matrix);
        for (int i = 0; i < N; i++) {
            dcsr_status status = dcsr_ticket_wait(ticket[i]);
            cr_assert(status == DCSR_OK || status == DCSR_ERROR_CANCELLED, "%s", dcsr_thread_error());
            cr_assert(status != DCSR_OK || safe == i, "one was applied after one that was cancelled");
            safe += status == DCSR_OK;
            dcsr_ticket_destroy(ticket[i]);
        }
        dcsr_recovery report;
        matrix = durable_open_small(&p, name, &report);
        cr_assert(report.log_records == (uint64_t)safe);
        dcsr_matrix_destroy(matrix);
    }
    durable_close_place(&p);
}

Test(durable_damage, context_may_go_first)
{
    durable_place p = durable_open_place();
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix;
    TEST_OK(dcsr_store_open_matrix(
        &matrix, context, p.store, "a",
        &(dcsr_durable_options){
            .type = DCSR_FP64, .rows = 10, .cols = 10, .matrix = {.policy = DCSR_POLICY_SUM}},
        NULL));
    uint64_t place = 1;
    double value = 1;
    for (int i = 0; i < 100; i++) TEST_OK(dcsr_matrix_insert(matrix, 1, &place, &place, &value, NULL));
    dcsr_context_destroy(context);
    TEST_STATUS(DCSR_ERROR_CONTEXT_DESTROYED, dcsr_matrix_wait(matrix));
    dcsr_matrix_destroy(matrix);
    matrix = durable_open_small(&p, "a", NULL);
    TEST_SHOWS(matrix, {1, 1, 100});
    dcsr_matrix_destroy(matrix);
    durable_close_place(&p);
}

static void *destroy(void *matrix)
{
    dcsr_matrix_destroy(matrix);
    return NULL;
}

Test(durable_damage, matrices_come_and_go_in_many_threads)
{
    enum { THREADS = 4 };
    durable_place p = durable_open_place();
    for (int round = 0; round < TEST_SIZE(20, 8, 5); round++) {
        pthread_t thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            char name[2] = {(char)('a' + i), 0};
            dcsr_matrix *matrix = durable_open_small(&p, name, NULL);
            TEST_INSERT(matrix, {1, 1, 1});
            cr_assert(!pthread_create(&thread[i], NULL, destroy, matrix));
        }
        for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    }
    dcsr_matrix *matrix = durable_open_small(&p, "c", NULL);
    TEST_SHOWS(matrix, {1, 1, TEST_SIZE(20, 8, 5)});
    dcsr_matrix_destroy(matrix);
    durable_close_place(&p);
}

/* test_store_names.c: dictionaries beside matrices: after a store was closed and opened again, copied, collected,
 * full, or damaged; and by processes that read. */
#include "persist/store_data.h"
#include "dcsr/base/alloc.h"
#include "tests/support/support_durable.h"
#include "tests/support/support_store.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Names ---- */

/* The text of number i: short ones, and now and then a long one. */
enum { LONGEST_TEXT = 9000 };
static dcsr_text text_of(uint64_t i, char room[LONGEST_TEXT])
{
    size_t length = (size_t)snprintf(room, 32, "name %llu", (unsigned long long)i);
    size_t more = i % 97 == 5 ? i * 37 % (LONGEST_TEXT - 32) : 0;
    memset(room + length, (int)(i % 251), more);
    return (dcsr_text){room, length + more};
}

static dcsr_names *open_names(const durable_place *p, const char *name)
{
    dcsr_names *names;
    TEST_OK(dcsr_store_open_names(&names, p->context, p->store, name));
    return names;
}

static uint64_t count_of(dcsr_names *names)
{
    uint64_t count;
    TEST_OK(dcsr_names_get_count(names, &count));
    return count;
}

static void add_names(dcsr_names *names, uint64_t first, uint64_t end)
{
    char room[LONGEST_TEXT];
    for (uint64_t i = first, id; i < end; i++) {
        dcsr_text text = text_of(i, room);
        TEST_OK(dcsr_names_add(names, 1, &text, &id));
        cr_assert_eq(id, i);
    }
}

/* That names 0 to count - 1 are those of text_of(). */
static void expect_names(dcsr_names *names, uint64_t count)
{
    char room[LONGEST_TEXT];
    cr_assert_eq(count_of(names), count);
    for (uint64_t i = 0, id; i < count; i++) {
        dcsr_text text = text_of(i, room), got;
        TEST_OK(dcsr_names_get(names, 1, &i, &got));
        cr_assert(got.length == text.length && !memcmp(got.bytes, text.bytes, text.length));
        TEST_OK(dcsr_names_find(names, 1, &text, &id));
        cr_assert_eq(id, i);
    }
}

static uint64_t stored_names(const durable_place *p, const char *name)
{
    uint64_t names;
    TEST_OK(dcsr_store_get_name_count(p->store, name, &names));
    return names;
}

static dcsr_store_check verify(const durable_place *p)
{
    dcsr_store_check check;
    TEST_OK(dcsr_store_verify(p->store, NULL, NULL, &check));
    cr_assert_eq(check.corrupt, 0);
    return check;
}

Test(store_names, are_written_with_the_next_batch)
{
    durable_place p = durable_open_place();
    dcsr_matrix *matrix = durable_open_small(&p, "a", NULL);
    dcsr_names *names = open_names(&p, "a");
    cr_assert_eq(count_of(names), 0);
    for (uint64_t i = 0; i < 300; i += 100) {
        add_names(names, i, i + 100);
        cr_assert_eq(stored_names(&p, "a"), i);
        TEST_INSERT(matrix, {1, 2, 3});
        cr_assert_eq(stored_names(&p, "a"), i + 100);
    }
    cr_assert_eq(verify(&p).names, 300);
    add_names(names, 300, 310);
    dcsr_matrix_destroy(matrix);
    dcsr_names_destroy(names);
    durable_reopen(&p);
    names = open_names(&p, "a");
    expect_names(names, 300);
    add_names(names, 300, 301);
    matrix = durable_open_small(&p, "a", NULL);
    TEST_INSERT(matrix, {1, 2, 3});
    dcsr_matrix_destroy(matrix);
    dcsr_names_destroy(names);
    durable_reopen(&p);
    names = open_names(&p, "a");
    expect_names(names, 301);
    dcsr_names_destroy(names);
    verify(&p);
    durable_close_place(&p);
}

/* Names of a dictionary "a" that is there, by way of a read_only opening of the same store. */
static void expect_stored(durable_place *p, uint64_t least, uint64_t most)
{
    dcsr_store_close(p->store);
    TEST_OK(dcsr_store_open(&p->store, p->path, &(dcsr_store_options){.read_only = true}));
    dcsr_names *names = open_names(p, "a");
    uint64_t count = count_of(names);
    cr_assert(count >= least && count <= most, "%llu names", (unsigned long long)count);
    expect_names(names, count);
    verify(p);
    dcsr_names_destroy(names);
    durable_reopen(p);
}

static void insert_one(dcsr_matrix *matrix, dcsr_status expected)
{
    static const uint64_t place = 1;
    static const double value = 1;
    dcsr_ticket *ticket;
    TEST_OK(dcsr_matrix_insert(matrix, 1, &place, &place, &value, &ticket));
    TEST_STATUS(expected, dcsr_ticket_wait(ticket));
    dcsr_ticket_destroy(ticket);
}

Test(store_names, are_written_with_the_next_snapshot)
{
    durable_place p = durable_open_place();
    dcsr_names *names = open_names(&p, "a");
    dcsr_matrix *matrix = test_matrix(p.context, DCSR_FP64, 10, 10, DCSR_POLICY_SUM);
    dcsr_version_info info;
    uint64_t none;
    TEST_STATUS(DCSR_ERROR_NOT_FOUND, dcsr_store_get_name_count(p.store, "a", &none));
    add_names(names, 0, 20);
    TEST_OK(dcsr_store_snapshot(p.store, "a", matrix, &info));
    cr_assert(stored_names(&p, "a") == 20 && info.version == 1);
    add_names(names, 20, 30); /* and nothing else is new */
    TEST_OK(dcsr_store_snapshot(p.store, "a", matrix, &info));
    cr_assert(stored_names(&p, "a") == 30 && info.version == 1 && !info.written_bytes);
    TEST_OK(dcsr_store_snapshot(p.store, "b", matrix, NULL));
    cr_assert_eq(stored_names(&p, "b"), 0);
    dcsr_names_destroy(names);
    dcsr_matrix_destroy(matrix);
    expect_stored(&p, 30, 30);
    durable_close_place(&p);
}

/* A megabyte and more at once, in several records; and the same by many transactions. */
Test(store_names, many_go_into_several_records)
{
    enum { MANY = 30000 };
    for (int little = 0; little < 2; little++) {
        durable_place p = durable_open_place();
        uint64_t usual = dcsr_i_store_transaction_bytes;
        dcsr_matrix *matrix = durable_open_small(&p, "a", NULL);
        dcsr_names *names = open_names(&p, "a");
        add_names(names, 0, MANY);
        if (little) dcsr_i_store_transaction_bytes = 50000;
        insert_one(matrix, DCSR_OK);
        add_names(names, MANY, MANY + 5000);
        TEST_OK(dcsr_store_snapshot(p.store, "a", matrix, NULL));
        dcsr_i_store_transaction_bytes = usual;
        dcsr_names_destroy(names);
        dcsr_matrix_destroy(matrix);
        expect_stored(&p, MANY + 5000, MANY + 5000);
        durable_close_place(&p);
    }
}

/* Where a transaction has no room for what it should write again, it goes on behind that. */
Test(store_names, go_on_in_transactions_of_any_size, .timeout = 60)
{
    uint64_t usual = dcsr_i_store_transaction_bytes;
    for (uint64_t bytes = 1; bytes < 20000; bytes *= 5) {
        durable_place p = durable_open_place();
        dcsr_matrix *matrix = durable_open_small(&p, "a", NULL);
        dcsr_names *names = open_names(&p, "a");
        dcsr_i_store_transaction_bytes = bytes;
        for (uint64_t i = 0; i < 120; i += 6) {
            add_names(names, i, i + 6);
            insert_one(matrix, DCSR_OK);
            cr_assert_eq(stored_names(&p, "a"), i + 6);
        }
        dcsr_i_store_transaction_bytes = usual;
        dcsr_names_destroy(names);
        dcsr_matrix_destroy(matrix);
        expect_stored(&p, 120, 120);
        durable_close_place(&p);
    }
}

/* One name a batch: they share records. */
Test(store_names, few_at_a_time_share_records)
{
    enum { BATCHES = 400 };
    durable_place p = durable_open_place();
    dcsr_matrix *matrix = durable_open_small(&p, "a", NULL);
    dcsr_names *names = open_names(&p, "a");
    MDB_txn *txn;
    MDB_stat stat;
    for (uint64_t i = 0; i < BATCHES; i++) {
        add_names(names, i, i + 1);
        insert_one(matrix, DCSR_OK);
    }
    TEST_OK(dcsr_i_txn_begin(&txn, p.store, false));
    cr_assert(!mdb_stat(txn, p.store->database[DCSR_I_DB_CHUNKS], &stat));
    dcsr_i_txn_abort(txn, p.store);
    cr_assert(stat.ms_entries < BATCHES / 20, "%zu records", stat.ms_entries);
    dcsr_names_destroy(names);
    dcsr_matrix_destroy(matrix);
    expect_stored(&p, BATCHES, BATCHES);
    durable_close_place(&p);
}

/* ---- Who has it open ---- */

Test(store_names, are_open_once_and_kept_for_what_waits)
{
    durable_place p = durable_open_place();
    dcsr_matrix *matrix = durable_open_small(&p, "a", NULL);
    dcsr_names *names = open_names(&p, "a"), *same = open_names(&p, "a");
    cr_assert_eq(names, same);
    TEST_REFUSED(DCSR_ERROR_BUSY, "durable matrix", dcsr_store_delete(p.store, "a"));
    for (uint64_t i = 0; i < 50; i++) {
        add_names(names, 10 * i, 10 * i + 10);
        TEST_OK(dcsr_matrix_insert(matrix, 1, &(uint64_t){1}, &(uint64_t){1}, &(double){1}, NULL));
        dcsr_names_destroy(names);
        names = open_names(&p, "a");
        cr_assert_eq(count_of(names), 10 * i + 10);
        if (i) continue;
        dcsr_names_destroy(same);
    }
    dcsr_names_destroy(names);
    TEST_OK(dcsr_matrix_wait(matrix));
    dcsr_matrix_destroy(matrix);
    cr_assert_eq(stored_names(&p, "a"), 500);
    names = open_names(&p, "a");
    expect_names(names, 500);
    TEST_REFUSED(DCSR_ERROR_BUSY, "dictionary is open", dcsr_store_delete(p.store, "a"));
    dcsr_names_destroy(names);
    TEST_OK(dcsr_store_delete(p.store, "a"));
    verify(&p);
    names = open_names(&p, "a");
    cr_assert_eq(count_of(names), 0);
    dcsr_names_destroy(names);
    durable_close_place(&p);
}

Test(store_names, store_or_context_may_go_first)
{
    durable_place p = durable_open_place();
    dcsr_matrix *matrix = durable_open_small(&p, "a", NULL);
    dcsr_names *names = open_names(&p, "a");
    add_names(names, 0, 10);
    dcsr_matrix_destroy(matrix);
    dcsr_store_close(p.store);
    uint64_t id;
    expect_names(names, 10);
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "store was closed",
                 dcsr_names_add(names, 1, &(dcsr_text){"x", 1}, &id));
    dcsr_names_destroy(names);
    TEST_OK(dcsr_store_open(&p.store, p.path, NULL));
    dcsr_context *other = test_context(1);
    TEST_OK(dcsr_store_open_names(&names, other, p.store, "a"));
    matrix = durable_open_small(&p, "a", NULL);
    add_names(names, 0, 10);
    dcsr_context_destroy(other);
    insert_one(matrix, DCSR_OK);
    dcsr_names_destroy(names);
    dcsr_matrix_destroy(matrix);
    expect_stored(&p, 10, 10);
    durable_close_place(&p);
}

/* ---- Copies, collections ---- */

Test(store_names, are_in_copies_and_stay_when_versions_go)
{
    durable_place p = durable_open_place();
    char backup[400];
    dcsr_matrix *matrix = durable_open_small(&p, "a", NULL);
    dcsr_names *names = open_names(&p, "a");
    for (uint64_t i = 0; i < 10; i++) {
        add_names(names, 100 * i, 100 * i + 100);
        insert_one(matrix, DCSR_OK);
        TEST_OK(dcsr_store_snapshot(p.store, "a", matrix, NULL));
    }
    TEST_OK(dcsr_store_gc(p.store, NULL, 1, NULL));
    cr_assert_eq(verify(&p).names, 1000);
    snprintf(backup, sizeof backup, "%s.backup", p.path);
    dcsr_store_copied copied;
    TEST_OK(dcsr_store_backup(p.store, backup, NULL, NULL, &copied));
    cr_assert_eq(copied.check.names, 1000);
    dcsr_names_destroy(names);
    dcsr_matrix_destroy(matrix);
    dcsr_store_close(p.store);
    TEST_OK(dcsr_store_compact(p.path, NULL, NULL, &copied));
    cr_assert_eq(copied.check.names, 1000);
    TEST_OK(dcsr_store_open(&p.store, p.path, NULL));
    expect_stored(&p, 1000, 1000);
    dcsr_store_close(p.store);
    store_remove_folder(p.path);
    p.path = test_copy(backup, strlen(backup) + 1);
    TEST_OK(dcsr_store_open(&p.store, p.path, NULL));
    expect_stored(&p, 1000, 1000);
    durable_close_place(&p);
}

/* ---- Reading ---- */

typedef struct reader_story {
    const char *path;
    store_child *writer;
} reader_story;

enum { STEPS = 60, NAMES_A_STEP = 40 };

static void write_steps(void *user, store_child *child)
{
    const reader_story *s = user;
    dcsr_store *store;
    dcsr_matrix *matrix;
    dcsr_names *names;
    char room[LONGEST_TEXT];
    dcsr_context *context = store_context(child, 1);
    STORE_OK(child, dcsr_store_open(&store, s->path, NULL));
    STORE_OK(child, dcsr_store_open_matrix(&matrix, context, store, "a", NULL, NULL));
    STORE_OK(child, dcsr_store_open_names(&names, context, store, "a"));
    for (uint64_t i = 0, id; i < STEPS * NAMES_A_STEP; i++) {
        dcsr_text text = text_of(i, room);
        STORE_OK(child, dcsr_names_add(names, 1, &text, &id));
        if (i % NAMES_A_STEP) continue;
        STORE_OK(child, dcsr_matrix_insert(matrix, 1, &(uint64_t){id}, &id, &(double){1}, NULL));
        if (i % 7 == 0) STORE_OK(child, dcsr_matrix_wait(matrix));
    }
    STORE_OK(child, dcsr_matrix_wait(matrix));
    dcsr_names_destroy(names);
    dcsr_matrix_destroy(matrix);
    dcsr_store_close(store);
    dcsr_context_destroy(context);
    atomic_store(&child->count[0], 1);
}

/* Whatever the matrix shows has its names, and a dictionary that follows is as one that is opened now. */
Test(store_names, are_followed_beside_a_process_that_writes, .timeout = 60)
{
    durable_place p = durable_open_place();
    dcsr_matrix *empty;
    TEST_OK(dcsr_store_open_matrix(
        &empty, p.context, p.store, "a",
        &(dcsr_durable_options){.type = DCSR_FP64, .rows = DCSR_MAX_COLS, .cols = DCSR_MAX_COLS}, NULL));
    dcsr_matrix_destroy(empty);
    dcsr_store_close(p.store);
    reader_story s = {p.path, store_child_new()};
    pid_t process = store_child_start(s.writer, write_steps, &s);
    TEST_OK(dcsr_store_open(&p.store, p.path, &(dcsr_store_options){.read_only = true}));
    dcsr_names *names = open_names(&p, "a");
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "reading only",
                 dcsr_names_add(names, 1, &(dcsr_text){"x", 1}, &(uint64_t){0}));
    for (bool last = false; !last;) {
        last = atomic_load(&s.writer->count[0]) || s.writer->why[0];
        dcsr_matrix *matrix;
        TEST_OK(dcsr_store_recover(&matrix, p.context, p.store, "a", NULL, NULL));
        TEST_OK(dcsr_store_follow_names(p.store, "a", names));
        uint64_t nnz, count = count_of(names);
        TEST_OK(dcsr_matrix_get_nnz(matrix, &nnz));
        cr_assert(!nnz || (nnz - 1) * NAMES_A_STEP < count, "%llu entries, %llu names",
                  (unsigned long long)nnz, (unsigned long long)count);
        dcsr_matrix_destroy(matrix);
    }
    int end = store_child_wait(process);
    cr_assert(!end && !s.writer->why[0], "%s", s.writer->why);
    TEST_OK(dcsr_store_follow_names(p.store, "a", names));
    uint64_t count = count_of(names);
    cr_assert(count > (STEPS - 1) * NAMES_A_STEP);
    expect_names(names, count);
    dcsr_names_destroy(names);
    TEST_OK(dcsr_names_create(&names, p.context));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "open it by", dcsr_store_follow_names(p.store, "a", names));
    dcsr_names_destroy(names);
    TEST_REFUSED(DCSR_ERROR_NOT_FOUND, "no matrix 'b'",
                 dcsr_store_open_names(&names, p.context, p.store, "b"));
    store_child_free(s.writer);
    durable_close_place(&p);
}

/* ---- Without memory or room ---- */

Test(store_names, are_opened_or_not_with_every_failed_allocation)
{
    durable_place p = durable_open_place();
    dcsr_matrix *matrix = durable_open_small(&p, "a", NULL);
    dcsr_names *names = open_names(&p, "a");
    add_names(names, 0, 3000);
    insert_one(matrix, DCSR_OK);
    dcsr_names_destroy(names);
    dcsr_matrix_destroy(matrix);
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    for (long n = 0; status != DCSR_OK; n++) {
        dcsr_i_fail_allocations_after(n);
        status = dcsr_store_open_names(&names, p.context, p.store, "a");
        dcsr_i_fail_allocations_after(-1);
        cr_assert(status == DCSR_OK || (status == DCSR_ERROR_OUT_OF_MEMORY && !names), "%s",
                  dcsr_thread_error());
    }
    expect_names(names, 3000);
    dcsr_names_destroy(names);
    durable_close_place(&p);
}

/* Names that do not fit are kept in memory, and so are batches, until a snapshot has both. */
Test(store_names, without_room_wait_for_the_next_snapshot)
{
    durable_place p = durable_open_place();
    dcsr_store_close(p.store);
    TEST_OK(dcsr_store_open(&p.store, p.path, &(dcsr_store_options){.max_bytes = 1 << 20}));
    dcsr_matrix *matrix = durable_open_small(&p, "a", NULL);
    dcsr_names *names = open_names(&p, "a");
    add_names(names, 0, 2000);
    insert_one(matrix, DCSR_OK);
    add_names(names, 2000, 40000);
    insert_one(matrix, DCSR_ERROR_NOT_DURABLE);
    cr_assert(test_says("limit of 1048576 bytes"));
    cr_assert_eq(stored_names(&p, "a"), 2000);
    TEST_STATUS(DCSR_ERROR_TOO_LARGE, dcsr_store_snapshot(p.store, "a", matrix, NULL));
    insert_one(matrix, DCSR_ERROR_NOT_DURABLE);
    dcsr_names_destroy(names);
    dcsr_matrix_destroy(matrix);
    expect_stored(&p, 2000, 2000);
    matrix = durable_open_small(&p, "a", NULL);
    TEST_SHOWS(matrix, {1, 1, 1});
    names = open_names(&p, "a");
    add_names(names, 2000, 40000);
    TEST_OK(dcsr_store_snapshot(p.store, "a", matrix, NULL));
    dcsr_names_destroy(names);
    dcsr_matrix_destroy(matrix);
    expect_stored(&p, 40000, 40000);
    durable_close_place(&p);
}

/* ---- Damage that has its checksums right ---- */

typedef void (*change_record)(dcsr_i_names_record *record, uint16_t *lengths, char *bytes);

static void has_another_first(dcsr_i_names_record *record, uint16_t *lengths, char *bytes)
{
    (void)lengths, (void)bytes;
    record->first++;
}
static void has_more(dcsr_i_names_record *record, uint16_t *lengths, char *bytes)
{
    (void)lengths, (void)bytes;
    record->names += 4;
}
static void has_countless(dcsr_i_names_record *record, uint16_t *lengths, char *bytes)
{
    (void)lengths, (void)bytes;
    record->names = UINT64_MAX / 2;
}
static void has_an_empty_name(dcsr_i_names_record *record, uint16_t *lengths, char *bytes)
{
    (void)record, (void)bytes;
    lengths[1] = (uint16_t)(lengths[1] + lengths[0]);
    lengths[0] = 0;
}
static void has_longer_names(dcsr_i_names_record *record, uint16_t *lengths, char *bytes)
{
    (void)record, (void)bytes;
    lengths[2]++;
}
static void has_a_name_twice(dcsr_i_names_record *record, uint16_t *lengths, char *bytes)
{
    (void)record;
    memcpy(bytes + lengths[0], bytes, lengths[0]);
}

/* Changes the record of the names from id `first` on, or deletes it (NULL). */
static void change_names(const durable_place *p, uint32_t dictionary, uint64_t first, change_record function,
                         bool sealed)
{
    _Alignas(8) static char data[1 << 16];
    dcsr_i_numbers number = dcsr_i_numbers_key(dictionary, first);
    MDB_val key = {sizeof number, &number}, value;
    MDB_dbi chunks = p->store->database[DCSR_I_DB_CHUNKS];
    MDB_txn *txn;
    TEST_OK(dcsr_i_txn_begin(&txn, p->store, true));
    cr_assert(!mdb_get(txn, chunks, &key, &value) && value.mv_size <= sizeof data);
    memcpy(data, value.mv_data, value.mv_size);
    dcsr_i_names_record *record = (dcsr_i_names_record *)data;
    uint16_t *lengths = (uint16_t *)(record + 1);
    if (function) function(record, lengths, (char *)(lengths + record->names));
    if (sealed) dcsr_i_seal(data, value.mv_size, &number, sizeof number);
    value.mv_data = data;
    cr_assert(!(function ? mdb_put(txn, chunks, &key, &value, 0) : mdb_del(txn, chunks, &key, NULL)));
    TEST_OK(dcsr_i_txn_commit(txn, p->store));
}

static void change_matrix_record(const durable_place *p, int64_t names)
{
    dcsr_i_matrix_record record;
    MDB_txn *txn;
    TEST_OK(dcsr_i_txn_begin(&txn, p->store, true));
    TEST_OK(dcsr_i_matrix_record_get(p->store, txn, "a", &record));
    record.more.names += (uint64_t)names;
    TEST_OK(dcsr_i_matrix_record_put(p->store, txn, "a", &record));
    TEST_OK(dcsr_i_txn_commit(txn, p->store));
}

Test(store_names, damage_of_any_record_is_found)
{
    enum { FIRST = 600, SECOND = 650 }; /* names of records */
    const struct {
        uint64_t record;
        change_record change;
        bool sealed;
        int64_t names; /* more, in the record of the matrix */
        const char *words;
    } cases[] = {{0, has_longer_names, false, 0, "from id 0 on is damaged: its checksum"},
                 {FIRST, has_longer_names, false, 0, "from id 600 on is damaged: its checksum"},
                 {0, NULL, false, 0, "from id 0 on is damaged: it is not there"},
                 {FIRST, NULL, false, 0, "from id 600 on is damaged: it is not there"},
                 {FIRST, has_another_first, true, 0, "other names than it says"},
                 {0, has_more, true, 0, "other names than it says"},
                 {0, has_countless, true, 0, "other names than it says"},
                 {0, has_an_empty_name, true, 0, "a name is empty"},
                 {FIRST, has_longer_names, true, 0, "other lengths in total"},
                 {0, has_a_name_twice, true, 0, "has two ids"},
                 {UINT64_MAX, NULL, false, 3, "from id 650 on is damaged: it is not there"},
                 {UINT64_MAX, NULL, false, -3, "the matrix knows fewer names"},
                 {UINT64_MAX, NULL, false, -55, "older than the last of its names"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        durable_place p = durable_open_place();
        dcsr_matrix *matrix = durable_open_small(&p, "a", NULL);
        dcsr_names *names = open_names(&p, "a");
        dcsr_store_check check;
        add_names(names, 0, FIRST);
        insert_one(matrix, DCSR_OK);
        add_names(names, FIRST, SECOND);
        insert_one(matrix, DCSR_OK);
        dcsr_names_destroy(names);
        dcsr_matrix_destroy(matrix);
        if (cases[i].record != UINT64_MAX)
            change_names(&p, 2, cases[i].record, cases[i].change, cases[i].sealed);
        else
            change_matrix_record(&p, cases[i].names);
        TEST_REFUSED(DCSR_ERROR_CORRUPT, cases[i].words,
                     dcsr_store_open_names(&names, p.context, p.store, "a"));
        cr_assert(!names);
        TEST_OK(dcsr_store_verify(p.store, NULL, NULL, &check));
        /* That two names are the same is found where they are read into memory. */
        cr_assert(check.corrupt || cases[i].change == has_a_name_twice, "%s", cases[i].words);
        durable_close_place(&p);
    }
}

/* test_store_pages.c: the check of LMDB's pages: whole files pass; damaged ones are found, or do no harm. */
#include "persist/pages.h"
#include "tests/support/support.h"
#include "tests/support/support_store.h"
#include "dcsr/base/alloc.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { DATABASES = 4, LARGEST = 9000 };
static const char *const names[DATABASES] = {"a", "chunks", "log", "versions"};

/* An environment that LMDB alone looks after; the store around it is what the check wants to see of one. */
typedef struct environment {
    dcsr_store store;
    MDB_dbi database[DATABASES];
} environment;

/* LMDB's code, so that a child process can say it. */
static int open_environment(environment *e, const char *path, bool read_only)
{
    *e = (environment){.store = {.path = (char *)path, .read_only = read_only}};
    int code = mdb_env_create(&e->store.env);
    if (code) return code;
    mdb_env_set_maxdbs(e->store.env, DATABASES);
    mdb_env_set_mapsize(e->store.env, (size_t)1 << 30);
    code = mdb_env_open(e->store.env, path, MDB_NOTLS | MDB_NOSYNC | (read_only ? MDB_RDONLY : 0), 0666);
    if (code) mdb_env_close(e->store.env);
    return code;
}

static int open_databases(environment *e, MDB_txn *txn, bool make)
{
    int code = 0;
    for (int d = 0; d < DATABASES && !code; d++)
        code = mdb_dbi_open(txn, names[d], make ? MDB_CREATE : 0, &e->database[d]);
    return code;
}

static MDB_txn *begin(environment *e, bool write)
{
    MDB_txn *txn;
    cr_assert(!mdb_txn_begin(e->store.env, NULL, write ? 0 : MDB_RDONLY, &txn));
    return txn;
}

static void make_environment(environment *e, const char *path)
{
    cr_assert(!open_environment(e, path, false));
    MDB_txn *txn = begin(e, true);
    cr_assert(!open_databases(e, txn, true) && !mdb_txn_commit(txn));
}

/* Keys of 1 to 40 bytes, or of 12 as in a store; values from none to such as take three pages. */
static void draw_key(test_random *random, unsigned char key[40], MDB_val *result)
{
    size_t size = test_random_once_in(random, 2) ? 12 : 1 + test_random_below(random, 40);
    for (size_t i = 0; i < size; i++) key[i] = (unsigned char)test_random_below(random, i < 3 ? 8 : 256);
    *result = (MDB_val){size, key};
}

static int change(environment *e, MDB_txn *txn, test_random *random, bool removing)
{
    static unsigned char data[LARGEST];
    unsigned char bytes[40];
    MDB_val key, value = {0, data};
    MDB_dbi database = e->database[test_random_below(random, DATABASES)];
    draw_key(random, bytes, &key);
    if (removing) {
        int code = mdb_del(txn, database, &key, NULL);
        return code == MDB_NOTFOUND ? 0 : code;
    }
    value.mv_size = test_random_below(random, test_random_once_in(random, 6) ? LARGEST : 100);
    return mdb_put(txn, database, &key, &value, 0);
}

static void assert_whole(environment *e, const char *when)
{
    for (int write = 0; write < 2; write++) {
        MDB_txn *txn = begin(e, write);
        dcsr_status status = dcsr_i_pages_check_all(&e->store, txn);
        cr_assert(status == DCSR_OK, "%s: %s", when, dcsr_thread_error());
        mdb_txn_abort(txn);
    }
    TEST_OK(dcsr_i_pages_check_file(e->store.path));
}

Test(store_pages, whole_files_pass_whatever_was_done_to_them)
{
    test_seeds seeds = test_seeds_from_environment(TEST_VARIANT(30, 6, 3));
    for (uint64_t i = 0; i < seeds.rounds; i++) {
        test_random random = {seeds.first + i};
        test_seed_begins(random.state);
        char *path = store_new_folder();
        environment e;
        make_environment(&e, path);
        for (int t = 0; t < 60; t++) {
            MDB_txn *txn = begin(&e, true);
            bool removing = t % 12 >= 8;
            for (uint64_t n = test_random_below(&random, 200); n; n--)
                cr_assert(!change(&e, txn, &random, removing != test_random_once_in(&random, 8)));
            if (test_random_once_in(&random, 20))
                cr_assert(!mdb_drop(txn, e.database[test_random_below(&random, DATABASES)], 0));
            if (test_random_once_in(&random, 10))
                mdb_txn_abort(txn);
            else
                cr_assert(!mdb_txn_commit(txn));
            assert_whole(&e, "after a transaction");
        }
        mdb_env_close(e.store.env);
        store_remove_folder(path);
    }
}

Test(store_pages, a_new_environment_is_whole)
{
    environment e;
    char *path = store_new_folder();
    TEST_OK(dcsr_i_pages_check_file(path)); /* nothing is there */
    cr_assert(!open_environment(&e, path, false));
    assert_whole(&e, "without any database");
    mdb_env_close(e.store.env);
    store_remove_folder(path);
}

/* Pages that a transaction has taken and freed again may never have been written: the file ends before them.
 */
Test(store_pages, free_pages_may_be_beyond_the_end_of_the_file)
{
    environment e;
    char *path = store_new_folder();
    make_environment(&e, path);
    for (int t = 0; t < 20; t++) {
        MDB_txn *txn = begin(&e, true);
        MDB_val key = {1, "k"}, value = {100000u * (unsigned)(t % 3), NULL};
        cr_assert(!mdb_put(txn, e.database[0], &key, &value, MDB_RESERVE));
        key.mv_data = "l", value.mv_size = 500000;
        cr_assert(!mdb_put(txn, e.database[0], &key, &value, MDB_RESERVE));
        cr_assert(!mdb_del(txn, e.database[0], &key, NULL) && !mdb_txn_commit(txn));
        assert_whole(&e, "after reserving and deleting");
    }
    mdb_env_close(e.store.env);
    store_remove_folder(path);
}

Test(store_pages, a_reader_whose_meta_has_been_overwritten_is_renewed)
{
    environment e;
    char *path = store_new_folder();
    make_environment(&e, path);
    MDB_txn *reader = begin(&e, false);
    size_t before = mdb_txn_id(reader);
    test_random random = {1};
    for (int t = 0; t < 3; t++) {
        MDB_txn *txn = begin(&e, true);
        for (int n = 0; n < 200; n++) cr_assert(!change(&e, txn, &random, false));
        cr_assert(!mdb_txn_commit(txn));
    }
    TEST_OK(dcsr_i_pages_check(&e.store, reader));
    cr_assert(mdb_txn_id(reader) == before + 3);
    mdb_txn_abort(reader);
    mdb_env_close(e.store.env);
    store_remove_folder(path);
}

Test(store_pages, a_lack_of_memory_is_told)
{
    environment e;
    char *path = store_new_folder();
    make_environment(&e, path);
    MDB_txn *txn = begin(&e, false);
    dcsr_i_fail_allocations_after(0);
    dcsr_status status = dcsr_i_pages_check(&e.store, txn);
    dcsr_i_fail_allocations_after(-1);
    cr_assert(status == DCSR_ERROR_OUT_OF_MEMORY);
    mdb_txn_abort(txn);
    mdb_env_close(e.store.env);
    store_remove_folder(path);
}

/* ---- Damaged files ---- */

/* A small environment with all there can be: branches, runs, several databases, free pages. */
typedef struct damage_test {
    char *path;
    char *data, *changed; /* the whole file */
    size_t bytes;
    long entries;
    uint64_t found, harmless;
} damage_test;

static volatile unsigned last_sum; /* so that values are read */

/* Reads all there is through LMDB; returns how many entries, or -1. */
static long read_everything(environment *e, MDB_txn *txn)
{
    long entries = 0;
    unsigned sum = 0;
    for (int d = 0; d < DATABASES; d++) {
        MDB_cursor *cursor;
        MDB_val key, value, again;
        int code;
        if (mdb_cursor_open(txn, e->database[d], &cursor)) return -1;
        while (!(code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT))) {
            for (size_t i = 0; i < value.mv_size; i++) sum += ((unsigned char *)value.mv_data)[i];
            if (mdb_get(txn, e->database[d], &key, &again) || again.mv_data != value.mv_data) return -1;
            entries++;
        }
        mdb_cursor_close(cursor);
        if (code != MDB_NOTFOUND) return -1;
    }
    last_sum = sum;
    return entries;
}

/* What LMDB makes of a file that has passed: all is read, then overwritten, deleted, dropped; and the file is
 * whole after each transaction. Returns what went wrong, or NULL. */
static const char *use_everything(environment *e, long entries)
{
    MDB_txn *txn;
    if (mdb_txn_begin(e->store.env, NULL, 0, &txn)) return "a transaction fails";
    int code = open_databases(e, txn, false);
    if (code == MDB_NOTFOUND) { /* the byte was one of a database's name: whoever opens it finds that */
        mdb_txn_abort(txn);
        return NULL;
    }
    if (code) return "databases cannot be opened";
    long found = read_everything(e, txn);
    if (found != entries) return found < 0 ? "reading fails" : "there are more or fewer entries";
    test_random random = {7};
    for (int t = 0; t < 3; t++) {
        for (int n = 0; n < 60; n++)
            if (change(e, txn, &random, t == 1)) return "a change fails";
        for (int d = 0; t == 2 && d < DATABASES; d++)
            if (mdb_drop(txn, e->database[d], 0)) return "dropping a database fails";
        if (mdb_txn_commit(txn)) return "a commit fails";
        if (mdb_txn_begin(e->store.env, NULL, 0, &txn)) return "a transaction fails";
        if (dcsr_i_pages_check_all(&e->store, txn) != DCSR_OK) return dcsr_thread_error();
    }
    mdb_txn_abort(txn);
    return NULL;
}

/* Opens what is there now, as a store does. NULL, or what went wrong. */
static const char *open_and_use(damage_test *test)
{
    environment e;
    MDB_txn *txn;
    test->found++;
    if (dcsr_i_pages_check_file(test->path) != DCSR_OK) return NULL;
    if (open_environment(&e, test->path, false)) return "LMDB does not open what has passed";
    if (mdb_txn_begin(e.store.env, NULL, 0, &txn)) return "LMDB begins no transaction in what has passed";
    dcsr_status status = dcsr_i_pages_check_all(&e.store, txn);
    mdb_txn_abort(txn);
    const char *why = NULL;
    if (status == DCSR_OK) {
        test->found--, test->harmless++;
        why = use_everything(&e, test->entries);
    } else if (status != DCSR_ERROR_CORRUPT) {
        why = "the check has another error than CORRUPT";
    }
    mdb_env_close(e.store.env);
    return why;
}

/* In a child: `changed`, or its beginning, in place of the file. */
static void try_file(damage_test *test, store_child *child, size_t bytes)
{
    store_write_file(test->path, "data.mdb", test->changed, bytes);
    const char *why = open_and_use(test);
    if (why) store_child_fail(child, "%s: %s", child->now, why);
    child->count[0] = test->found;
    child->count[1] = test->harmless;
}

/* Bytes of heads of pages, of nodes, and of values, which are most of a file: each with one of three flips,
 * or in torture all bytes with all three. */
static void flip_bytes(void *user, store_child *child)
{
    damage_test *test = user;
    static const unsigned char flips[3] = {0xff, 0x01, 0x80};
    bool all = store_stride(2) == 1;
    size_t heads = store_stride(TEST_VARIANT(1, 7, 7)), others = store_stride(TEST_VARIANT(43, 311, 311));
    for (size_t at = 0; at < test->bytes; at += at % 4096 < 64 || at < 300 ? heads : others) {
        for (size_t f = all ? 0 : at % 3; f < (all ? 3 : at % 3 + 1); f++) {
            snprintf(child->now, sizeof child->now, "byte %zu, xor %02x", at, flips[f]);
            test->changed[at] = (char)(test->data[at] ^ (char)flips[f]);
            try_file(test, child, test->bytes);
        }
        test->changed[at] = test->data[at];
    }
}

/* Some fields of 1 to 8 bytes with what is likely to do harm: other fields' numbers, limits, anything. */
static void change_fields(void *user, store_child *child)
{
    damage_test *test = user;
    for (uint64_t seed = 1; seed <= store_rounds(TEST_VARIANT(2000, 300, 300)); seed++) {
        test_random random = {seed};
        snprintf(child->now, sizeof child->now, "fields of seed %llu", (unsigned long long)seed);
        memcpy(test->changed, test->data, test->bytes);
        for (uint64_t n = 1 + test_random_below(&random, 3); n; n--) {
            size_t bytes = (size_t)1 << test_random_below(&random, 4);
            size_t page = test_random_below(&random, test->bytes / 4096) * 4096;
            size_t range = test_random_once_in(&random, 2) ? 64 : 4096;
            uint64_t value = test_random_once_in(&random, 2)
                                 ? test_random_below(&random, test->bytes / 4096 + 2)
                             : test_random_once_in(&random, 2) ? test_random_below(&random, 4097)
                             : test_random_once_in(&random, 2) ? UINT64_MAX >> test_random_below(&random, 64)
                                                               : test_random_next(&random);
            memcpy(test->changed + page + test_random_below(&random, range / bytes) * bytes, &value, bytes);
        }
        try_file(test, child, test->bytes);
    }
}

/* A page in the place of another, as disks do that write to the wrong place, or of zeros. */
static void move_pages(void *user, store_child *child)
{
    damage_test *test = user;
    size_t pages = test->bytes / 4096, step = store_stride(TEST_VARIANT(3, 19, 19));
    for (size_t n = 0; n < pages * (pages + 1); n += step) {
        size_t from = n % (pages + 1), to = n / (pages + 1);
        snprintf(child->now, sizeof child->now, "page %zu in the place of %zu", from, to);
        memcpy(test->changed, test->data, test->bytes);
        if (from < pages)
            memcpy(test->changed + to * 4096, test->data + from * 4096, 4096);
        else
            memset(test->changed + to * 4096, 0, 4096);
        try_file(test, child, test->bytes);
    }
}

static void truncate_file(void *user, store_child *child)
{
    damage_test *test = user;
    for (size_t bytes = 1; bytes < test->bytes; bytes += 512) {
        snprintf(child->now, sizeof child->now, "the first %zu bytes", bytes);
        try_file(test, child, bytes);
        if (bytes % 4096 == 1) try_file(test, child, bytes - 1 + 4096);
    }
}

/* Makes the environment, runs the function on it in a child, and asserts that it found damage. */
static void damage(store_child_function function, const char *what)
{
    damage_test test = {.path = store_new_folder()};
    environment e;
    make_environment(&e, test.path);
    test_random random = {3};
    MDB_txn *txn;
    for (int t = 0; t < 6; t++) {
        txn = begin(&e, true);
        for (int n = 0; n < (t ? 15 : 90); n++) cr_assert(!change(&e, txn, &random, t % 3 == 2));
        cr_assert(!mdb_txn_commit(txn));
    }
    MDB_stat stat;
    txn = begin(&e, false);
    test.entries = read_everything(&e, txn);
    cr_assert(test.entries > 60 && !mdb_stat(txn, e.database[0], &stat));
    cr_assert(stat.ms_branch_pages && stat.ms_overflow_pages);
    mdb_txn_abort(txn);
    mdb_env_close(e.store.env);
    test.data = store_read_file(test.path, "data.mdb", &test.bytes);
    test.changed = test_copy(test.data, test.bytes);
    store_child *child = store_child_new();
    store_child_expect(child, function, &test);
    fprintf(stderr, "%s: %zu pages; damage found %llu times, did no harm %llu times\n", what,
            test.bytes / 4096, (unsigned long long)child->count[0], (unsigned long long)child->count[1]);
    cr_assert(child->count[0] > 20);
    store_child_free(child);
    free(test.data);
    free(test.changed);
    store_remove_folder(test.path);
}

Test(store_pages, a_flipped_byte_is_found_or_does_no_harm)
{
    damage(flip_bytes, "bytes");
}
Test(store_pages, a_wrong_field_is_found_or_does_no_harm)
{
    damage(change_fields, "fields");
}
Test(store_pages, a_misplaced_page_is_found_or_does_no_harm)
{
    damage(move_pages, "pages");
}
Test(store_pages, a_file_that_is_cut_off_is_found_or_has_all_there_is)
{
    damage(truncate_file, "cuts");
}

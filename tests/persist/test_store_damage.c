/* test_store_damage.c: stores whose file is damaged: it is found, or does no harm.
 *
 * The file of a small store is changed in a child process, and opened, verified and restored there: each
 * either says that the store is damaged, or gives exactly what was stored. DCSR_TORTURE=1 changes every byte.
 */
#include "persist/records.h"
#include <dcsr/persist.h>
#include "tests/support/support_store.h"
#include "tests/support/support_work.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Batches in the two versions of "plain"; in the snapshot of "first", and with the log. */
enum { VERSIONS = 2, LOGGED = 12, SNAPSHOT = 5 };
static const uint64_t batches[VERSIONS] = {30, 42};

typedef struct damage_test {
    char *folder;
    char *data, *changed; /* the whole file */
    size_t bytes;
    int compression;
    dcsr_context *context;
    oracle version[VERSIONS], first;
    bool read_only, damage_seen;
    uint64_t opened_not, verified_not, harmless;
} damage_test;

/* ---- The store ---- */

/* Names of "first": some with each batch, so many in all, some of them long; and what its tag is then. */
enum { NAMES_A_BATCH = 5, NAMES = LOGGED * NAMES_A_BATCH, LONGEST_NAME = 3000 };
static const dcsr_tag last_tag = {LOGGED, UINT64_MAX - LOGGED};

static dcsr_text name_of(uint64_t i, char room[LONGEST_NAME])
{
    size_t length = (size_t)snprintf(room, 40, "vertex %llu", (unsigned long long)i);
    if (i % 9 != 4) return (dcsr_text){room, length};
    memset(room + length, 'x', LONGEST_NAME - length);
    return (dcsr_text){room, LONGEST_NAME};
}

/* Batch j of "first", with its names and a tag. */
static void insert_named(store_child *child, dcsr_matrix *first, dcsr_names *names, uint64_t j)
{
    char room[LONGEST_NAME];
    for (uint64_t i = j * NAMES_A_BATCH, id; i < (j + 1) * NAMES_A_BATCH; i++) {
        dcsr_text text = name_of(i, room);
        STORE_OK(child, dcsr_names_add(names, 1, &text, &id));
    }
    STORE_OK(child, work_queue(first, 0, j, j + 1));
    STORE_OK(child, dcsr_matrix_insert_tagged(first, 0, NULL, NULL, NULL,
                                              &(dcsr_tag){j + 1, UINT64_MAX - j - 1}, NULL));
}

static void make_store(void *user, store_child *child)
{
    damage_test *test = user;
    dcsr_store *store;
    dcsr_matrix *plain, *first;
    uint64_t from = 0;
    dcsr_context *context = store_context(child, 1);
    dcsr_store_options options = {.chunk_bytes = 4096, .compression = test->compression};
    STORE_OK(child, dcsr_store_open(&store, test->folder, &options));
    STORE_OK(child, dcsr_matrix_create(&plain, context, DCSR_INT64, WORK_ROWS, WORK_COLS,
                                       &(dcsr_matrix_options){.policy = work_policies[WORK_PLAIN]}));
    for (int v = 0; v < VERSIONS; from = batches[v++]) {
        STORE_OK(child, work_queue(plain, WORK_PLAIN, from, batches[v]));
        STORE_OK(child, dcsr_matrix_wait(plain));
        STORE_OK(child, dcsr_store_snapshot(store, work_names[WORK_PLAIN], plain, NULL));
    }
    STORE_OK(child, dcsr_store_open_matrix(&first, context, store, work_names[0],
                                           &(dcsr_durable_options){.type = DCSR_INT64,
                                                                   .rows = WORK_ROWS,
                                                                   .cols = WORK_COLS,
                                                                   .matrix = {.policy = work_policies[0]}},
                                           NULL));
    dcsr_names *names;
    STORE_OK(child, dcsr_store_open_names(&names, context, store, work_names[0]));
    for (uint64_t j = 0; j < SNAPSHOT; j++) insert_named(child, first, names, j);
    STORE_OK(child, dcsr_store_snapshot(store, work_names[0], first, NULL));
    for (uint64_t j = SNAPSHOT; j < LOGGED; j++) {
        insert_named(child, first, names, j);
        STORE_OK(child, dcsr_matrix_wait(first));
    }
    dcsr_names_destroy(names);
    dcsr_matrix_destroy(first);
    dcsr_matrix_destroy(plain);
    dcsr_store_close(store);
    dcsr_context_destroy(context);
}

/* ---- Opening what is damaged ---- */

/* What a call may say of a damaged store. */
static bool is_refusal(dcsr_status status)
{
    return status == DCSR_ERROR_CORRUPT || status == DCSR_ERROR_FORMAT || status == DCSR_ERROR_IO;
}

/* Keeps the first thing that is wrong and goes on: which others are says more. */
static void complain(store_child *child, const char *what, const char *why)
{
    fprintf(stderr, "%s: %s: %s\n", child->now, what, why);
    if (!child->why[0]) snprintf(child->why, sizeof child->why, "%.80s: %s: %.180s", child->now, what, why);
}

/* A matrix that was given must be right; one that was not is damaged, and verify must have seen that. */
static void expect_right(damage_test *test, store_child *child, const char *what, dcsr_status status,
                         dcsr_matrix *matrix, const oracle *model)
{
    char why[TEST_WHY];
    if (status == DCSR_OK) {
        if (matrix && !test_matrix_matches(matrix, model, why)) complain(child, what, why);
        dcsr_matrix_destroy(matrix);
    } else if (!is_refusal(status) && status != DCSR_ERROR_NOT_FOUND) {
        complain(child, what, dcsr_thread_error());
    } else if (!test->damage_seen) {
        snprintf(why, sizeof why, "verify has seen nothing, but: %.200s", dcsr_thread_error());
        complain(child, what, why);
    }
}

/* The same of names and tag. */
static void expect_names(damage_test *test, store_child *child, dcsr_store *store)
{
    static char room[LONGEST_NAME];
    dcsr_names *names;
    dcsr_tag tag;
    bool known;
    dcsr_status status = dcsr_store_get_tag(store, work_names[0], &tag, &known);
    expect_right(test, child, "the tag", status, NULL, NULL);
    if (status == DCSR_OK && (!known || tag.position != last_tag.position || tag.mark != last_tag.mark))
        complain(child, "the tag", "it is another");
    status = dcsr_store_open_names(&names, test->context, store, work_names[0]);
    expect_right(test, child, "the names", status, NULL, NULL);
    if (status != DCSR_OK) return;
    for (uint64_t id = 0, count; id < NAMES; id++) {
        dcsr_text text = name_of(id, room), got = {0};
        STORE_OK(child, dcsr_names_get_count(names, &count));
        if (count != NAMES || dcsr_names_get(names, 1, &id, &got) != DCSR_OK || got.length != text.length ||
            memcmp(got.bytes, text.bytes, text.length) != 0)
            complain(child, "the names", "they are others");
    }
    dcsr_names_destroy(names);
}

static void restore_all(damage_test *test, store_child *child, dcsr_store *store)
{
    dcsr_matrix *matrix;
    dcsr_status status;
    for (uint64_t v = 0; v < VERSIONS; v++) {
        status = dcsr_store_restore(&matrix, test->context, store, work_names[WORK_PLAIN], v + 1, NULL);
        expect_right(test, child, v ? "version 2" : "version 1", status, matrix, &test->version[v]);
    }
    status = dcsr_store_restore(&matrix, test->context, store, work_names[WORK_PLAIN], 0, NULL);
    expect_right(test, child, "the newest version", status, matrix, &test->version[VERSIONS - 1]);
    expect_names(test, child, store);
    if (test->read_only) return;
    /* Were it gone without a trace, it would now be made. */
    status = dcsr_store_open_matrix(
        &matrix, test->context, store, work_names[0],
        &(dcsr_durable_options){
            .type = DCSR_INT64, .rows = WORK_ROWS, .cols = WORK_COLS, .matrix = {.policy = work_policies[0]}},
        NULL);
    expect_right(test, child, "the durable matrix", status, matrix, &test->first);
}

/* What is thought to be whole must bear being written. */
static void go_on(damage_test *test, store_child *child, dcsr_store *store)
{
    dcsr_matrix *matrix;
    dcsr_store_check check;
    STORE_OK(child, dcsr_store_restore(&matrix, test->context, store, work_names[WORK_PLAIN], 1, NULL));
    STORE_OK(child, dcsr_store_snapshot(store, work_names[WORK_PLAIN], matrix, NULL));
    STORE_OK(child, dcsr_store_gc(store, NULL, 1, NULL));
    STORE_OK(child, dcsr_store_snapshot(store, "another", matrix, NULL));
    dcsr_matrix_destroy(matrix);
    STORE_OK(child, dcsr_store_verify(store, NULL, NULL, &check));
    if (check.corrupt) store_child_fail(child, "%s: writing to it has done harm", child->now);
    dcsr_status status = dcsr_store_restore(&matrix, test->context, store, "another", 0, NULL);
    expect_right(test, child, "a new snapshot", status, matrix, &test->version[0]);
}

/* What verify finds is in no backup; else what is restored from that is right. */
static void back_up(damage_test *test, store_child *child, dcsr_store *store)
{
    char path[400];
    dcsr_store *backup;
    dcsr_matrix *matrix;
    snprintf(path, sizeof path, "%s.backup", test->folder);
    dcsr_status status = dcsr_store_backup(store, path, NULL, NULL, NULL);
    if (test->damage_seen) {
        if (!is_refusal(status)) complain(child, "backup", "what is damaged was copied");
        return;
    }
    STORE_OK(child, status);
    STORE_OK(child, dcsr_store_open(&backup, path, &(dcsr_store_options){.read_only = true}));
    status = dcsr_store_restore(&matrix, test->context, backup, work_names[WORK_PLAIN], 1, NULL);
    expect_right(test, child, "a backup", status, matrix, &test->version[0]);
    dcsr_store_close(backup);
    store_remove_folder(test_copy(path, strlen(path) + 1));
}

/* The first `bytes` of `changed` in place of the file. */
static void try_file(damage_test *test, store_child *child, size_t bytes)
{
    dcsr_store *store;
    dcsr_store_check check = {0};
    store_write_file(test->folder, "data.mdb", test->changed, bytes);
    dcsr_store_options options = {.read_only = test->read_only, .must_exist = true};
    dcsr_status status = dcsr_store_open(&store, test->folder, &options);
    if (status != DCSR_OK) {
        if (!is_refusal(status)) complain(child, "opening", dcsr_thread_error());
        atomic_fetch_add(&child->count[0], 1);
        return;
    }
    status = dcsr_store_verify(store, NULL, NULL, &check);
    if (status != DCSR_OK && !is_refusal(status)) complain(child, "verify", dcsr_thread_error());
    test->damage_seen = status != DCSR_OK || check.corrupt;
    restore_all(test, child, store);
    if (test->read_only) back_up(test, child, store);
    if (!test->damage_seen && !test->read_only && !child->why[0]) go_on(test, child, store);
    dcsr_store_close(store);
    atomic_fetch_add(&child->count[test->damage_seen ? 1 : 2], 1);
}

/* ---- Damages ---- */

enum { FLIPS = 5 };

/* A byte with one of several flips, of which the last makes it zero. */
static void flip_byte(damage_test *test, store_child *child, size_t at, size_t which)
{
    static const unsigned char flips[FLIPS] = {0x01, 0xff, 0x80, 0x10, 0};
    unsigned char flip = flips[which] ? flips[which] : (unsigned char)test->data[at];
    if (!flip) return;
    snprintf(child->now, sizeof child->now, "byte %zu, xor %02x", at, flip);
    test->changed[at] = (char)(test->data[at] ^ (char)flip);
    try_file(test, child, test->bytes);
    test->changed[at] = test->data[at];
}

/* Some bytes with one flip; in torture all with all. */
static void flip_bytes(void *user, store_child *child)
{
    damage_test *test = user;
    size_t heads = store_stride(TEST_VARIANT(5, 31, 31)), others = store_stride(TEST_VARIANT(37, 509, 509));
    size_t flips = store_stride(2) == 1 ? FLIPS : 1, n = 0;
    test->context = store_context(child, 1);
    for (size_t at = 0; at < test->bytes; at += at % 4096 < 64 ? heads : others, n++) {
        test->read_only = n % 3 == 2;
        for (size_t f = 0; f < flips; f++) flip_byte(test, child, at, (n + f) % FLIPS);
    }
    dcsr_context_destroy(test->context);
}

/* Every place in the file where these bytes stand. */
static void flip_places(damage_test *test, store_child *child, const void *bytes, size_t size)
{
    const char *end = test->data + test->bytes;
    for (const char *at = test->data; (at = memmem(at, (size_t)(end - at), bytes, size)); at++)
        for (size_t i = 0; i < size * FLIPS; i += store_stride(TEST_VARIANT(1, 7, 7)))
            flip_byte(test, child, (size_t)(at - test->data) + i / FLIPS, i % FLIPS);
}

/* Keys are what LMDB alone looks at. */
static void flip_keys(void *user, store_child *child)
{
    damage_test *test = user;
    test->context = store_context(child, 1);
    for (int m = 0; m <= WORK_DURABLE; m++) flip_places(test, child, work_names[m], strlen(work_names[m]));
    for (uint32_t matrix = 1; matrix <= 2; matrix++) {
        for (uint64_t thing = 1; thing <= VERSIONS; thing++) {
            dcsr_i_numbers key = dcsr_i_numbers_key(matrix, thing);
            flip_places(test, child, &key, sizeof key);
        }
    }
    for (unsigned char txn = 1; txn < 32; txn++) { /* those of lists of free pages, behind their length */
        const unsigned char key[10] = {8, 0, txn};
        flip_places(test, child, key, sizeof key);
    }
    for (uint64_t id = 1; id < NAMES; id++) { /* those of records; the zeros of the first stand everywhere */
        dcsr_i_numbers key = dcsr_i_numbers_key(3, id);
        flip_places(test, child, &key, sizeof key);
    }
    for (uint64_t position = SNAPSHOT + 1; position <= LOGGED; position += 3) {
        dcsr_i_numbers key = dcsr_i_numbers_key(2, position);
        flip_places(test, child, &key, sizeof key);
    }
    dcsr_context_destroy(test->context);
}

/* A disk that has lost a sector, written it elsewhere, or kept an old one. */
static void lose_sectors(void *user, store_child *child)
{
    damage_test *test = user;
    test_random random = {11};
    size_t sectors = test->bytes / 512;
    test->context = store_context(child, 1);
    for (uint64_t i = 0; i < store_rounds(TEST_VARIANT(300, 40, 40)); i++) {
        size_t size = test_random_once_in(&random, 2) ? 512 : 4096;
        size_t to = test_random_below(&random, sectors) * 512 / size * size;
        size_t from = test_random_below(&random, sectors) * 512 / size * size;
        test->read_only = i % 3 == 2;
        snprintf(child->now, sizeof child->now, "%zu bytes at %zu, from %zu", size, to, i % 2 ? from : 0);
        if (i % 2)
            memcpy(test->changed + to, test->data + from, size);
        else
            memset(test->changed + to, 0, size);
        try_file(test, child, test->bytes);
        memcpy(test->changed + to, test->data + to, size);
    }
    dcsr_context_destroy(test->context);
}

static void truncate_file(void *user, store_child *child)
{
    damage_test *test = user;
    test->context = store_context(child, 1);
    for (size_t page = 0; page < test->bytes / 4096; page++) {
        for (size_t more = 0; more < 4096; more += 2047) {
            test->read_only = more == 2047;
            snprintf(child->now, sizeof child->now, "the first %zu bytes", page * 4096 + more);
            try_file(test, child, page * 4096 + more);
        }
    }
    dcsr_context_destroy(test->context);
}

static void damage(store_child_function function, int compression, const char *what)
{
    damage_test test = {.folder = store_new_folder(), .compression = compression};
    store_child *child = store_child_new();
    store_child_expect(child, make_store, &test);
    test.data = store_read_file(test.folder, "data.mdb", &test.bytes);
    test.changed = test_copy(test.data, test.bytes);
    for (int v = 0; v < VERSIONS; v++) work_make_oracle(&test.version[v], WORK_PLAIN, batches[v]);
    work_make_oracle(&test.first, 0, LOGGED);
    store_child_expect(child, function, &test);
    fprintf(stderr, "%s: %zu pages; refused %llu times, found by verify %llu times, harmless %llu times\n",
            what, test.bytes / 4096, (unsigned long long)child->count[0], (unsigned long long)child->count[1],
            (unsigned long long)child->count[2]);
    cr_assert(child->count[0] + child->count[1] > 5);
    for (int v = 0; v < VERSIONS; v++) oracle_destroy(&test.version[v]);
    oracle_destroy(&test.first);
    store_child_free(child);
    free(test.data);
    free(test.changed);
    store_remove_folder(test.folder);
}

Test(store_damage, a_flipped_byte_is_found_or_does_no_harm)
{
    damage(flip_bytes, 0, "bytes");
}
Test(store_damage, a_flipped_byte_of_compressed_data_is_found_or_does_no_harm)
{
    damage(flip_bytes, 1, "compressed bytes");
}
Test(store_damage, a_flipped_byte_of_a_key_is_found)
{
    damage(flip_keys, 0, "keys");
}
Test(store_damage, a_lost_sector_is_found_or_does_no_harm)
{
    damage(lose_sectors, 0, "sectors");
}
Test(store_damage, a_store_that_is_cut_off_is_refused)
{
    damage(truncate_file, 0, "cuts");
}

/* test_names.c: dictionaries against a list of what was added, out of memory in turn, and from many threads. */
#include "dcsr/names/dictionary.h"
#include "tests/support/support.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static dcsr_context *context;
static dcsr_names *names;

static void open_names(void)
{
    context = test_context(2);
    TEST_OK(dcsr_names_create(&names, context));
}

static void close_names(void)
{
    dcsr_i_fail_allocations_after(-1);
    dcsr_names_destroy(names);
    dcsr_context_info info;
    TEST_OK(dcsr_context_get_info(context, &info));
    cr_expect_eq(info.matrix_bytes, 0, "%llu bytes are still counted", (unsigned long long)info.matrix_bytes);
    dcsr_context_destroy(context);
}

TestSuite(names, .init = open_names, .fini = close_names);

/* Text i: bytes of all kinds, zeros too, and lengths on all sides of those at which hashing takes another way. Each
 * begins with its number, so that all differ. */
static dcsr_text text_of(uint64_t i, char room[DCSR_NAMES_LONGEST])
{
    static const size_t lengths[] = {4, 5, 8, 9, 16, 17, 31, 128, 129, 240, 241, 1000};
    size_t length = i % 5003 == 7 ? DCSR_NAMES_LONGEST : lengths[i % 12];
    memcpy(room, &i, 4);
    for (size_t k = 4; k < length; k++) room[k] = (char)(k % 3 ? 'a' : 0);
    return (dcsr_text){room, length};
}

static uint64_t count_of(void)
{
    uint64_t count;
    TEST_OK(dcsr_names_get_count(names, &count));
    return count;
}

static dcsr_status add_range(uint64_t first, uint64_t n, uint64_t *ids)
{
    static char room[DCSR_NAMES_LONGEST];
    dcsr_text *texts = calloc(n, sizeof *texts);
    for (uint64_t i = 0; i < n; i++) {
        texts[i] = text_of(first + i, room);
        texts[i].bytes = test_copy(room, texts[i].length);
    }
    dcsr_status status = dcsr_names_add(names, n, texts, ids);
    for (uint64_t i = 0; i < n; i++) free((char *)texts[i].bytes);
    free(texts);
    return status;
}

static void expect(uint64_t number, uint64_t id)
{
    static char room[DCSR_NAMES_LONGEST];
    dcsr_text text = text_of(number, room), got;
    uint64_t found;
    TEST_OK(dcsr_names_find(names, 1, &text, &found));
    cr_assert_eq(found, id, "text %llu has the id %llu, not %llu", (unsigned long long)number,
                 (unsigned long long)found, (unsigned long long)id);
    if (id == DCSR_NAMES_NONE) return;
    TEST_OK(dcsr_names_get(names, 1, &id, &got));
    cr_assert(got.length == text.length && !memcmp(got.bytes, text.bytes, text.length));
}

Test(names, ids_are_those_of_a_list)
{
    enum { TEXTS = 3000, CALLS = 400, MOST = 90 };
    static uint64_t id_of[TEXTS];
    static char rooms[MOST][DCSR_NAMES_LONGEST];
    test_random random = {11};
    uint64_t count = 0;
    for (int i = 0; i < TEXTS; i++) id_of[i] = DCSR_NAMES_NONE;
    for (int call = 0; call < CALLS; call++) {
        dcsr_text texts[MOST];
        uint64_t number[MOST], ids[MOST], n = test_random_below(&random, MOST + 1);
        for (uint64_t i = 0; i < n; i++) {
            number[i] = test_random_below(&random, TEXTS);
            texts[i] = text_of(number[i], rooms[i]);
        }
        TEST_OK(dcsr_names_find(names, n, texts, ids));
        for (uint64_t i = 0; i < n; i++) cr_assert_eq(ids[i], id_of[number[i]]);
        TEST_OK(dcsr_names_add(names, n, texts, ids));
        for (uint64_t i = 0; i < n; i++) {
            if (id_of[number[i]] == DCSR_NAMES_NONE) id_of[number[i]] = count++;
            cr_assert_eq(ids[i], id_of[number[i]]);
        }
        cr_assert_eq(count_of(), count);
    }
    for (uint64_t i = 0; i < TEXTS; i++) expect(i, id_of[i]);
}

/* So many that hashes of 32 bits are the same for some: one in 2^33 pairs is. */
Test(names, many_are_told_apart)
{
    enum { MANY = 600000, BATCH = 1000 };
    static char room[BATCH][12];
    dcsr_text texts[BATCH], got[BATCH];
    uint64_t ids[BATCH];
    for (uint64_t pass = 0; pass < 2; pass++)
        for (uint64_t i = 0; i < MANY; i += BATCH) {
            for (uint64_t k = 0; k < BATCH; k++)
                texts[k] =
                    (dcsr_text){room[k], (size_t)snprintf(room[k], 12, "%llu", (unsigned long long)(i + k))};
            TEST_OK(dcsr_names_add(names, BATCH, texts, ids));
            for (uint64_t k = 0; k < BATCH; k++) cr_assert_eq(ids[k], i + k);
            TEST_OK(dcsr_names_get(names, BATCH, ids, got));
            for (uint64_t k = 0; k < BATCH; k++)
                cr_assert(got[k].length == texts[k].length && !memcmp(got[k].bytes, room[k], got[k].length));
        }
    cr_assert_eq(count_of(), MANY);
}

Test(names, lent_texts_stay_where_they_are)
{
    dcsr_text first = {"first", 5}, lent;
    uint64_t id, *ids = malloc(20000 * sizeof *ids);
    TEST_OK(dcsr_names_add(names, 1, &first, &id));
    TEST_OK(dcsr_names_get(names, 1, &id, &lent));
    TEST_OK(add_range(0, 20000, ids));
    cr_assert(lent.length == 5 && !memcmp(lent.bytes, "first", 5));
    free(ids);
}

Test(names, bad_calls_are_refused_and_add_nothing)
{
    static char room[DCSR_NAMES_LONGEST + 1];
    uint64_t ids[2] = {0}, count;
    dcsr_text texts[2] = {{"a", 1}, {"b", 0}}, got;
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "text 1 of 2 has 0 bytes",
                 dcsr_names_add(names, 2, texts, ids));
    texts[1] = (dcsr_text){room, DCSR_NAMES_LONGEST + 1};
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "65536", dcsr_names_add(names, 2, texts, ids));
    texts[1] = (dcsr_text){NULL, 3};
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "NULL", dcsr_names_add(names, 2, texts, ids));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "texts is NULL", dcsr_names_add(names, 1, NULL, ids));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "ids is NULL", dcsr_names_find(names, 1, texts, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "dictionary is NULL", dcsr_names_find(NULL, 1, texts, ids));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "count is NULL", dcsr_names_get_count(names, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "names is NULL", dcsr_names_create(NULL, context));
    cr_assert_eq(count_of(), 0);
    TEST_OK(dcsr_names_add(names, 0, NULL, NULL));
    TEST_OK(dcsr_names_add(names, 1, texts, ids));
    ids[0] = 1;
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "id 1", dcsr_names_get(names, 1, ids, &got));
    texts[1].length = 0;
    texts[1].bytes = "";
    TEST_OK(dcsr_names_find(names, 2, texts, ids));
    cr_assert(ids[0] == 0 && ids[1] == DCSR_NAMES_NONE);
    dcsr_context *other = test_context(1);
    dcsr_names *left;
    TEST_OK(dcsr_names_create(&left, other));
    dcsr_context_destroy(other);
    TEST_STATUS(DCSR_ERROR_CONTEXT_DESTROYED, dcsr_names_get_count(left, &count));
    dcsr_names_destroy(left);
    dcsr_names_destroy(NULL);
}

/* Each call is tried with memory for none, one, two ... of what it takes. */
Test(names, without_memory_nothing_is_added)
{
    enum { STEP = 700, STEPS = 12 };
    uint64_t ids[STEP];
    for (uint64_t i = 0; i < STEPS; i++) {
        dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
        for (long allowed = 0; status != DCSR_OK; allowed++) {
            dcsr_i_fail_allocations_after(allowed);
            status = add_range(i * STEP, STEP, ids);
            dcsr_i_fail_allocations_after(-1);
            if (status == DCSR_OK) break;
            TEST_STATUS(DCSR_ERROR_OUT_OF_MEMORY, status);
            cr_assert_eq(count_of(), i * STEP);
            expect(i * STEP, DCSR_NAMES_NONE);
            /* What failed has left slots, whose ids others get now. */
            if (allowed == 1) continue;
            for (uint64_t k = 0; k < i * STEP; k += 97) expect(k, k);
        }
        for (uint64_t k = 0; k < STEP; k++) cr_assert_eq(ids[k], i * STEP + k);
        for (uint64_t k = 0; k < (i + 1) * STEP; k += 13) expect(k, k);
    }
}

/* Texts that failed to be added, then others, which get the ids that those had had. */
Test(names, what_a_failed_call_has_left_is_not_found)
{
    enum { N = 700 };
    uint64_t ids[N];
    dcsr_i_fail_allocations_after(2);
    TEST_STATUS(DCSR_ERROR_OUT_OF_MEMORY, add_range(5000, N, ids));
    dcsr_i_fail_allocations_after(-1);
    TEST_OK(add_range(0, N, ids));
    for (uint64_t k = 0; k < N; k++) expect(k, k);
    for (uint64_t k = 0; k < N; k++) expect(5000 + k, DCSR_NAMES_NONE);
    TEST_OK(add_range(5000, N, ids));
    for (uint64_t k = 0; k < N; k++) expect(5000 + k, N + k);
}

Test(names, memory_limit_is_kept)
{
    dcsr_context *small;
    dcsr_names *few;
    dcsr_context_info info;
    static char room[DCSR_NAMES_LONGEST];
    TEST_OK(dcsr_context_create(&small,
                                &(dcsr_context_options){.device = DCSR_DEVICE_CPU, .memory_limit = 4 << 20}));
    TEST_OK(dcsr_names_create(&few, small));
    dcsr_status status = DCSR_OK;
    uint64_t n = 0, count, id;
    while (status == DCSR_OK) {
        memcpy(room, &n, sizeof n);
        status = dcsr_names_add(few, 1, &(dcsr_text){room, 2000}, &id);
        n += status == DCSR_OK;
    }
    TEST_STATUS(DCSR_ERROR_OUT_OF_MEMORY, status);
    TEST_OK(dcsr_names_get_count(few, &count));
    TEST_OK(dcsr_context_get_info(small, &info));
    cr_assert(count == n && n > 1000 && info.matrix_bytes <= 4 << 20);
    dcsr_names_destroy(few);
    dcsr_context_destroy(small);
}

/* ---- Threads ---- */

enum { ADDED = 40000, PIECE = 50 };
static atomic_bool ended;

static void *add_all(void *argument)
{
    uint64_t first = *(uint64_t *)argument;
    static _Thread_local char room[PIECE][16];
    for (uint64_t i = 0; i < ADDED; i += PIECE) {
        dcsr_text texts[PIECE], got[PIECE];
        uint64_t ids[PIECE];
        for (uint64_t k = 0; k < PIECE; k++)
            texts[k] = (dcsr_text){
                room[k], (size_t)snprintf(room[k], 16, "%llu", (unsigned long long)(first + i + k))};
        TEST_OK(dcsr_names_add(names, PIECE, texts, ids));
        TEST_OK(dcsr_names_get(names, PIECE, ids, got));
        for (uint64_t k = 0; k < PIECE; k++)
            cr_assert(got[k].length == texts[k].length && !memcmp(got[k].bytes, room[k], got[k].length));
    }
    return NULL;
}

/* Whoever sees a number of names sees all of these, whole. */
static void *read_all(void *argument)
{
    test_random random = {*(uint64_t *)argument + 77};
    while (!atomic_load(&ended)) {
        uint64_t count = count_of(), ids[PIECE], again[PIECE];
        dcsr_text texts[PIECE];
        if (!count) continue;
        for (int k = 0; k < PIECE; k++) ids[k] = test_random_below(&random, count);
        TEST_OK(dcsr_names_get(names, PIECE, ids, texts));
        TEST_OK(dcsr_names_find(names, PIECE, texts, again));
        for (int k = 0; k < PIECE; k++) cr_assert_eq(ids[k], again[k]);
    }
    return NULL;
}

static rlim_t addresses_in_use(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    cr_assert(file && fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* ulimit -v, far below the addresses that a dictionary would like to have. */
Test(names, are_there_under_a_limit_of_address_space)
{
    if (TEST_ADDRESS_SANITIZER || TEST_THREAD_SANITIZER || test_on_emulator())
        cr_skip_test("sanitizers and the emulator have addresses of their own");
    enum { DICTIONARIES = 10 };
    dcsr_context *host;
    dcsr_names *made[DICTIONARIES];
    struct rlimit before;
    TEST_OK(dcsr_context_create(&host, &(dcsr_context_options){.device = DCSR_DEVICE_CPU, .threads = 1}));
    cr_assert(!getrlimit(RLIMIT_AS, &before));
    const struct rlimit least = {addresses_in_use() + ((rlim_t)4 << 30), before.rlim_max};
    cr_assert(!setrlimit(RLIMIT_AS, &least));
    for (int d = 0; d < DICTIONARIES; d++) {
        uint64_t id;
        TEST_OK(dcsr_names_create(&made[d], host));
        TEST_OK(dcsr_names_add(made[d], 1, &(dcsr_text){"name", 4}, &id));
        cr_assert_eq(id, 0);
    }
    void *much = malloc((size_t)1 << 28);
    cr_assert(much, "dictionaries leave nothing to others");
    free(much);
    cr_assert(!setrlimit(RLIMIT_AS, &before));
    for (int d = 0; d < DICTIONARIES; d++) dcsr_names_destroy(made[d]);
    dcsr_context_destroy(host);
}

Test(names, are_read_while_they_are_added)
{
    pthread_t adding[2], reading[2];
    uint64_t first[2] = {0, ADDED / 2};
    for (int i = 0; i < 2; i++) cr_assert(!pthread_create(&reading[i], NULL, read_all, &first[i]));
    for (int i = 0; i < 2; i++) cr_assert(!pthread_create(&adding[i], NULL, add_all, &first[i]));
    for (int i = 0; i < 2; i++) pthread_join(adding[i], NULL);
    atomic_store(&ended, true);
    for (int i = 0; i < 2; i++) pthread_join(reading[i], NULL);
    cr_assert_eq(count_of(), ADDED + ADDED / 2);
}

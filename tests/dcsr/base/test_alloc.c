/* test_alloc.c: counted memory: alignment, counting, limits, failing on purpose, many threads. */
#include "dcsr/base/runtime.h"
#include "tests/support/support.h"
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum { HUGE_PAGE = 2 << 20 };

static dcsr_context *context;

static void open_context(void)
{
    TEST_OK(dcsr_context_create(&context, NULL));
}

/* The pools there are: pinned memory needs a GPU. */
static int pools(void)
{
    return context->cuda ? DCSR_I_POOLS : DCSR_I_SCRATCH + 1;
}

/* What blocks of so many bytes are aligned to. */
static size_t alignment(int pool, size_t bytes)
{
    return bytes >= 4 << 20 && pool <= DCSR_I_SCRATCH ? HUGE_PAGE : 64;
}

static dcsr_context_info information(void)
{
    dcsr_context_info info;
    TEST_OK(dcsr_context_get_info(context, &info));
    return info;
}

static void close_context(void)
{
    dcsr_i_fail_allocations_after(-1);
    dcsr_context_info info = information();
    cr_expect_eq(info.matrix_bytes, 0, "%llu bytes are still counted", (unsigned long long)info.matrix_bytes);
    cr_expect_eq(info.scratch_bytes, 0, "%llu bytes are still counted",
                 (unsigned long long)info.scratch_bytes);
    dcsr_context_destroy(context);
}

TestSuite(alloc, .init = open_context, .fini = close_context);

static const size_t sizes[] = {
    0, 1, 8, 63, 64, 65, 320, 4096, 14337, 100000, 3 << 20, 4 << 20, (4 << 20) + 1, 9 << 20};
enum { SIZES = sizeof sizes / sizeof *sizes };

Test(alloc, blocks_are_aligned_and_counted)
{
    for (int pool = 0; pool < pools(); pool++) {
        unsigned char *blocks[SIZES];
        uint64_t total = 0;
        for (int i = 0; i < SIZES; i++) {
            blocks[i] = dcsr_i_alloc(context, pool, sizes[i], 1);
            cr_assert_not_null(blocks[i]);
            cr_assert_eq((uintptr_t)blocks[i] % alignment(pool, sizes[i]), 0, "%zu bytes at %p", sizes[i],
                         (void *)blocks[i]);
            memset(blocks[i], i, sizes[i]);
            total += sizes[i];
            dcsr_context_info info = information();
            cr_assert_eq(pool == DCSR_I_MATRIX ? info.matrix_bytes : info.scratch_bytes, total);
            cr_assert_eq(pool == DCSR_I_MATRIX ? info.scratch_bytes : info.matrix_bytes, 0);
            cr_assert_geq(info.peak_bytes, total);
        }
        for (int i = 0; i < SIZES; i++) {
            for (size_t k = 0; k < sizes[i]; k += 61) cr_assert_eq(blocks[i][k], i);
            dcsr_i_free(context, pool, blocks[i], 1, sizes[i]);
        }
        cr_assert_eq(information().peak_bytes, total);
        dcsr_i_free(context, pool, NULL, 1000, 1000);
    }
}

Test(alloc, calloc_zeroes)
{
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < SIZES; i++) {
            unsigned char *block = dcsr_i_calloc(context, DCSR_I_SCRATCH, 1, sizes[i]);
            cr_assert_not_null(block);
            for (size_t k = 0; k < sizes[i]; k++) {
                if (block[k]) cr_assert_fail("byte %zu of %zu is not zero", k, sizes[i]);
            }
            memset(block, 0xee, sizes[i]);
            dcsr_i_free(context, DCSR_I_SCRATCH, block, 1, sizes[i]);
        }
}

/* From every size to every other, content kept as far as both reach. */
Test(alloc, realloc_keeps_the_content)
{
    for (int i = 0; i < SIZES; i++)
        for (int j = 0; j < SIZES; j++) {
            unsigned char *block = dcsr_i_realloc(context, DCSR_I_MATRIX, NULL, 0, sizes[i], 1);
            cr_assert_not_null(block);
            for (size_t k = 0; k < sizes[i]; k++) block[k] = (unsigned char)(k * 7 + 1);
            block = dcsr_i_realloc(context, DCSR_I_MATRIX, block, sizes[i], sizes[j], 1);
            cr_assert_not_null(block);
            cr_assert_eq(information().matrix_bytes, sizes[j]);
            cr_assert_eq((uintptr_t)block % alignment(DCSR_I_MATRIX, sizes[j]), 0);
            size_t kept = sizes[i] < sizes[j] ? sizes[i] : sizes[j];
            for (size_t k = 0; k < kept; k += k < 4096 ? 1 : 509)
                cr_assert_eq(block[k], (unsigned char)(k * 7 + 1), "%zu -> %zu bytes, byte %zu", sizes[i],
                             sizes[j], k);
            dcsr_i_free(context, DCSR_I_MATRIX, block, sizes[j], 1);
        }
}

Test(alloc, overflowing_sizes_are_refused)
{
    static const size_t products[][2] = {{SIZE_MAX, 2},
                                         {2, SIZE_MAX},
                                         {SIZE_MAX / 2 + 1, 2},
                                         {SIZE_MAX, 1},
                                         {(size_t)1 << 40, (size_t)1 << 40}};
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        const size_t count = products[i][0], size = products[i][1];
        cr_assert_null(dcsr_i_alloc(context, DCSR_I_MATRIX, count, size));
        cr_assert(test_says("more than memory can address"));
        cr_assert_null(dcsr_i_calloc(context, DCSR_I_SCRATCH, count, size));
        char *block = dcsr_i_alloc(context, DCSR_I_MATRIX, 2, 1);
        block[1] = 'b';
        cr_assert_null(dcsr_i_realloc(context, DCSR_I_MATRIX, block, size == 1 ? 2 : 0, count, size));
        cr_assert_eq(block[1], 'b');
        dcsr_i_free(context, DCSR_I_MATRIX, block, 2, 1);
    }
}

Test(alloc, what_the_system_refuses_is_not_counted)
{
    if (TEST_ADDRESS_SANITIZER || TEST_THREAD_SANITIZER)
        return; /* they end a process that asks for so much */
    cr_assert_null(dcsr_i_alloc(context, DCSR_I_SCRATCH, (size_t)1 << 50, 1));
    cr_assert(test_says("refused"));
    cr_assert_eq(information().scratch_bytes, 0);
    char *block = dcsr_i_alloc(context, DCSR_I_SCRATCH, 1, 1);
    *block = 'b';
    cr_assert_null(dcsr_i_realloc(context, DCSR_I_SCRATCH, block, 1, (size_t)1 << 50, 1));
    cr_assert_eq(*block, 'b');
    cr_assert_eq(information().scratch_bytes, 1);
    dcsr_i_free(context, DCSR_I_SCRATCH, block, 1, 1);
}

Test(alloc, refuses_more_than_the_machine_has)
{
    size_t more = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE) + 1;
    cr_assert_null(dcsr_i_alloc(context, DCSR_I_SCRATCH, more, 1));
    cr_assert(test_says("refused"));
    cr_assert_eq(information().scratch_bytes, 0);
}

/* The limit holds over both pools, to the byte, for blocks and for charges. */
Test(limit, holds_to_the_byte)
{
    TEST_OK(dcsr_context_create(&context, &(dcsr_context_options){.memory_limit = 1000}));
    dcsr_i_use_set_aside(DCSR_I_ALL_SET_ASIDE);
    char *matrix = dcsr_i_alloc(context, DCSR_I_MATRIX, 100, 6);
    cr_assert_not_null(matrix);
    cr_assert_null(dcsr_i_alloc(context, DCSR_I_SCRATCH, 401, 1));
    cr_assert(test_says("memory limit of 1000") && test_says("600 are in use"));
    char *scratch = dcsr_i_calloc(context, DCSR_I_SCRATCH, 400, 1);
    cr_assert_not_null(scratch);
    TEST_STATUS(DCSR_ERROR_OUT_OF_MEMORY, dcsr_i_charge(context, DCSR_I_MATRIX, 1));
    cr_assert_null(dcsr_i_realloc(context, DCSR_I_SCRATCH, scratch, 400, 401, 1));
    scratch = dcsr_i_realloc(context, DCSR_I_SCRATCH, scratch, 400, 300, 1);
    cr_assert_not_null(scratch);
    TEST_OK(dcsr_i_charge(context, DCSR_I_MATRIX, 100));
    TEST_STATUS(DCSR_ERROR_OUT_OF_MEMORY, dcsr_i_charge(context, DCSR_I_MATRIX, UINT64_MAX));
    TEST_STATUS(DCSR_ERROR_OUT_OF_MEMORY, dcsr_i_charge(context, DCSR_I_SCRATCH, UINT64_MAX - 10));
    dcsr_context_info info = information();
    cr_assert_eq(info.matrix_bytes, 700);
    cr_assert_eq(info.scratch_bytes, 300);
    cr_assert_eq(info.peak_bytes, 1000);
    dcsr_i_uncharge(context, DCSR_I_MATRIX, 100);
    dcsr_i_free(context, DCSR_I_MATRIX, matrix, 100, 6);
    dcsr_i_free(context, DCSR_I_SCRATCH, scratch, 300, 1);
    dcsr_i_use_set_aside(DCSR_I_NOT_SET_ASIDE);
    close_context();
}

/* A 32nd of a limit, and a megabyte at most, is for calls that ask or make room. */
Test(limit, has_a_part_that_is_set_aside)
{
    static const uint64_t limits[][2] = {{3200, 100}, {(uint64_t)1 << 30, 1 << 20}};
    for (int i = 0; i < 2; i++) {
        const uint64_t limit = limits[i][0], aside = limits[i][1];
        TEST_OK(dcsr_context_create(&context, &(dcsr_context_options){.memory_limit = limit}));
        TEST_REFUSED(DCSR_ERROR_OUT_OF_MEMORY, "set aside",
                     dcsr_i_charge(context, DCSR_I_MATRIX, limit - aside + 1));
        TEST_OK(dcsr_i_charge(context, DCSR_I_MATRIX, limit - aside));
        cr_assert_eq(dcsr_i_use_set_aside(DCSR_I_HALF_SET_ASIDE), DCSR_I_NOT_SET_ASIDE);
        TEST_STATUS(DCSR_ERROR_OUT_OF_MEMORY, dcsr_i_charge(context, DCSR_I_SCRATCH, aside / 2 + 1));
        TEST_OK(dcsr_i_charge(context, DCSR_I_SCRATCH, aside / 2));
        cr_assert_eq(dcsr_i_use_set_aside(DCSR_I_ALL_SET_ASIDE), DCSR_I_HALF_SET_ASIDE);
        TEST_OK(dcsr_i_charge(context, DCSR_I_SCRATCH, aside / 2));
        TEST_STATUS(DCSR_ERROR_OUT_OF_MEMORY, dcsr_i_charge(context, DCSR_I_SCRATCH, 1));
        cr_assert_eq(dcsr_i_use_set_aside(DCSR_I_NOT_SET_ASIDE), DCSR_I_ALL_SET_ASIDE);
        dcsr_i_uncharge(context, DCSR_I_SCRATCH, aside);
        dcsr_i_uncharge(context, DCSR_I_MATRIX, limit - aside);
        close_context();
    }
}

Test(alloc, a_context_without_limit_refuses_nothing_but_overflow)
{
    TEST_OK(dcsr_i_charge(context, DCSR_I_MATRIX, UINT64_MAX - 10));
    TEST_STATUS(DCSR_ERROR_OUT_OF_MEMORY, dcsr_i_charge(context, DCSR_I_SCRATCH, 100));
    dcsr_i_uncharge(context, DCSR_I_MATRIX, UINT64_MAX - 10);
}

/* One of each kind of call: each in turn fails, and all after it. */
Test(alloc, fails_when_told_to)
{
    for (long n = 0; n < 5; n++) {
        char *kept = dcsr_i_alloc(context, DCSR_I_MATRIX, 4, 1);
        memcpy(kept, "abc", 4);
        uint64_t before = dcsr_i_allocations();
        dcsr_i_fail_allocations_after(n);
        char *first = dcsr_i_alloc(context, DCSR_I_MATRIX, 10, 1);
        char *second = dcsr_i_calloc(context, DCSR_I_SCRATCH, 10, 1);
        dcsr_status charged = dcsr_i_charge(context, DCSR_I_MATRIX, 10);
        char *grown = dcsr_i_realloc(context, DCSR_I_MATRIX, kept, 4, 1000, 1);
        dcsr_i_fail_allocations_after(-1);
        cr_assert_eq(first != NULL, n > 0);
        cr_assert_eq(second != NULL, n > 1);
        cr_assert_eq(charged, n > 2 ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY);
        cr_assert_eq(grown != NULL, n > 3);
        cr_assert_eq(dcsr_i_allocations() - before, 4);
        cr_assert_str_eq(grown ? grown : kept, "abc");
        dcsr_i_free(context, DCSR_I_MATRIX, grown ? grown : kept, grown ? 1000 : 4, 1);
        if (charged == DCSR_OK) dcsr_i_uncharge(context, DCSR_I_MATRIX, 10);
        dcsr_i_free(context, DCSR_I_MATRIX, first, 10, 1);
        dcsr_i_free(context, DCSR_I_SCRATCH, second, 10, 1);
    }
}

enum { THREADS = 4, SLOTS = 64 };

typedef struct exchange {
    uint64_t seed;
    pthread_mutex_t lock;
    struct {
        unsigned char *block;
        size_t size;
        dcsr_i_pool pool;
    } slot[SLOTS];
} exchange;

/* Puts new blocks into slots and frees those that were there, which other threads may have made. */
static void *trade(void *shared)
{
    exchange *e = shared;
    test_random random;
    pthread_mutex_lock(&e->lock);
    random.state = e->seed++;
    pthread_mutex_unlock(&e->lock);
    for (int i = 0; i < TEST_SIZE(20000, 5000, 2000); i++) {
        size_t size = test_random_below(&random, 64) ? test_random_below(&random, 2000)
                                                     : test_random_below(&random, 200000);
        dcsr_i_pool pool = (dcsr_i_pool)test_random_below(&random, (uint64_t)pools());
        unsigned char *block = dcsr_i_alloc(context, pool, size, 1);
        if (!block) return "an allocation failed";
        memset(block, (int)(size % 251), size);
        unsigned s = (unsigned)test_random_below(&random, SLOTS);
        pthread_mutex_lock(&e->lock);
        unsigned char *old = e->slot[s].block;
        size_t old_size = e->slot[s].size;
        dcsr_i_pool old_pool = e->slot[s].pool;
        e->slot[s].block = block, e->slot[s].size = size, e->slot[s].pool = pool;
        pthread_mutex_unlock(&e->lock);
        if (!old) continue;
        for (size_t k = 0; k < old_size; k += 13)
            if (old[k] != old_size % 251) return "a block has changed";
        dcsr_i_free(context, old_pool, old, old_size, 1);
    }
    return NULL;
}

/* Threads come and go, and blocks wander between them. */
Test(alloc, blocks_wander_between_threads)
{
    test_seeds seeds = test_seeds_from_environment(3);
    for (uint64_t round = 0; round < seeds.rounds; round++) {
        exchange e = {.seed = seeds.first + round, .lock = PTHREAD_MUTEX_INITIALIZER};
        pthread_t threads[THREADS];
        test_seed_begins(e.seed);
        for (int t = 0; t < THREADS; t++) pthread_create(&threads[t], NULL, trade, &e);
        for (int t = 0; t < THREADS; t++) {
            void *wrong;
            pthread_join(threads[t], &wrong);
            cr_assert_null(wrong, "DCSR_TEST_SEED=%llu: %s", (unsigned long long)(seeds.first + round),
                           (char *)wrong);
        }
        for (int s = 0; s < SLOTS; s++)
            dcsr_i_free(context, e.slot[s].pool, e.slot[s].block, e.slot[s].size, 1);
    }
}

static _Atomic uint64_t granted;

static void *charge_often(void *unused)
{
    uint64_t held[DCSR_I_POOLS] = {0};
    for (int i = 0; i < 5000; i++) {
        dcsr_i_pool pool = (dcsr_i_pool)(i & 1);
        if (dcsr_i_charge(context, pool, 7) == DCSR_OK) {
            held[pool]++;
            if (atomic_fetch_add(&granted, 7) + 7 > 1000) return "more was granted than there is";
        }
        if (i % 3 == 2 && held[pool]) {
            atomic_fetch_sub(&granted, 7);
            dcsr_i_uncharge(context, pool, 7);
            held[pool]--;
        }
    }
    for (int pool = 0; pool < DCSR_I_POOLS; pool++) {
        atomic_fetch_sub(&granted, held[pool] * 7);
        dcsr_i_uncharge(context, (dcsr_i_pool)pool, held[pool] * 7);
    }
    return unused;
}

/* Whatever the threads do at the same time, no more than the limit is granted. */
Test(limit, holds_against_many_threads)
{
    TEST_OK(dcsr_context_create(&context, &(dcsr_context_options){.memory_limit = 1000}));
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++) pthread_create(&threads[t], NULL, charge_often, NULL);
    for (int t = 0; t < THREADS; t++) {
        void *wrong;
        pthread_join(threads[t], &wrong);
        cr_assert_null(wrong, "%s", (char *)wrong);
    }
    uint64_t peak = information().peak_bytes;
    cr_assert(peak > 500 && peak <= 1000, "the peak was %llu", (unsigned long long)peak);
    close_context();
}

/* Memory goes back: what many threads and blocks took is not held by caches of threads that are gone. */
Test(alloc, nothing_stays_active)
{
    if (!strcmp(information().allocator, "system")) return; /* which does not say */
    uint64_t before = 0;
    for (int round = 0; round < 100; round++) {
        exchange e = {.seed = 1, .lock = PTHREAD_MUTEX_INITIALIZER};
        pthread_t thread;
        pthread_create(&thread, NULL, trade, &e);
        pthread_join(thread, NULL);
        for (int s = 0; s < SLOTS; s++)
            dcsr_i_free(context, e.slot[s].pool, e.slot[s].block, e.slot[s].size, 1);
        if (round == 2) before = information().allocator_active;
    }
    cr_assert_leq(information().allocator_active, 2 * before + (1 << 20));
}

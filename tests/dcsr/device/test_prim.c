/* test_prim.c: what the policies make of two values, and what runs over whole arrays on a device - sorting,
 * scanning, combining - against plain loops. */
#include "dcsr/store/store.h"
#include "tests/support/support_device.h"
#include <math.h>
#include <stdlib.h>
#include "dcsr/device/prim_cuda.h"

/* Small whole numbers, so that sums are the same in any order; some NaN and infinities for min and max. */
static uint64_t random_word(test_random *random, dcsr_type type, dcsr_policy policy)
{
    double number = (double)test_random_below(random, 7) - 3;
    bool extreme = policy == DCSR_POLICY_MIN || policy == DCSR_POLICY_MAX;
    if (extreme && (type == DCSR_FP32 || type == DCSR_FP64) && test_random_once_in(random, 3))
        number = test_random_once_in(random, 3) ? (double)INFINITY * number
                                                : (double)NAN; /* 0 * inf is NaN, too */
    if (type == DCSR_BOOL || (type >= DCSR_UINT8 && type <= DCSR_UINT64)) number = fabs(number);
    uint64_t word = 0;
    test_encode(type, number, &word);
    return word;
}

static bool is_nan(dcsr_type type, uint64_t word)
{
    return (type == DCSR_FP32 || type == DCSR_FP64) && isnan(test_decode(type, &word));
}

/* As the cpu combines. A value's bytes beyond its size stay zero. */
Test(combine, is_what_the_oracle_says)
{
    test_random random = {test_seeds_from_environment(1).first};
    for (int type = DCSR_BOOL; type < DCSR_TYPE_COUNT; type++)
        for (int policy = DCSR_POLICY_SUM; policy < DCSR_POLICY_COUNT; policy++)
            for (int i = 0; i < 200; i++) {
                uint64_t old = random_word(&random, (dcsr_type)type, (dcsr_policy)policy);
                uint64_t new = random_word(&random, (dcsr_type)type, (dcsr_policy)policy), into = old;
                uint64_t expected = oracle_combine((dcsr_type)type, (dcsr_policy)policy, old, new);
                dcsr_i_combiner((dcsr_type)type, (dcsr_policy)policy)(&into, &new);
                cr_assert(into == expected ||
                              (is_nan((dcsr_type)type, into) && is_nan((dcsr_type)type, expected)),
                          "%s, %s: %lx and %lx make %lx, not %lx", dcsr_type_name((dcsr_type)type),
                          dcsr_policy_name((dcsr_policy)policy), (unsigned long)old, (unsigned long)new,
                          (unsigned long)into, (unsigned long)expected);
            }
}

/* Around the sizes of a warp and a block, of what one block scans (in the emulator, on a GPU), and more than one tile
 * of CUB's. */
static const uint64_t sizes[] = {0,   1,    2,    31,   32,   33,   64,   200,
                                 201, 1000, 2048, 2049, 4096, 4097, 7001, 20011};
enum { SIZES = sizeof sizes / sizeof *sizes };

TestSuite(prim, .init = open_device, .fini = close_device);

static void *upload(const void *from, size_t bytes)
{
    char *there = on_device(bytes);
    dcsr_i_cuda_copy(stream, there, from, bytes);
    TEST_OK(dcsr_i_cuda_wait(stream, "testing"));
    return there;
}

static void download(void *to, const void *from, size_t bytes)
{
    dcsr_i_cuda_copy(stream, to, from, bytes);
    TEST_OK(dcsr_i_cuda_wait(stream, "testing"));
}

static void give(void *block, size_t bytes)
{
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, block, bytes, 1);
}

/* ---- Sorting ---- */

typedef struct pair {
    uint64_t key, payload;
} pair;

static int low, high; /* the bits to compare */

static int compare(const void *a, const void *b)
{
    uint64_t mask = high - low < 64 ? ((uint64_t)1 << (high - low)) - 1 : UINT64_MAX;
    const pair *x = a, *y = b;
    uint64_t p = x->key >> low & mask, q = y->key >> low & mask;
    if (p != q) return p < q ? -1 : 1;
    return x->payload < y->payload ? -1 : x->payload > y->payload; /* the payload is the position */
}

static void sort_and_compare(test_random *random, uint64_t n, bool with_payload)
{
    size_t bytes = n * sizeof(uint64_t);
    pair *pairs = test_allocate(n + 1, sizeof *pairs);
    uint64_t *keys = test_allocate(n + 1, sizeof *keys), *positions = test_allocate(n + 1, sizeof *positions);
    const uint64_t distinct = test_random_once_in(random, 2) ? 10 : UINT64_MAX;
    /* Of the largest keys, or the least. */
    const uint64_t flipped = test_random_once_in(random, 2) ? UINT64_MAX : 0;
    for (uint64_t i = 0; i < n; i++) {
        keys[i] = test_random_below(random, distinct) << (distinct == 10 ? low : 0) ^ flipped;
        positions[i] = i;
        pairs[i] = (pair){keys[i], i};
    }
    qsort(pairs, n, sizeof *pairs, compare);
    uint64_t *there = upload(keys, bytes), *spare = (uint64_t *)on_device(bytes);
    uint64_t *payload = upload(positions, bytes), *payload_spare = (uint64_t *)on_device(bytes);
    TEST_OK(dcsr_i_cuda_sort(stream, &there, &spare, with_payload ? &payload : NULL,
                             with_payload ? &payload_spare : NULL, n, low, high));
    download(keys, there, bytes);
    download(positions, payload, bytes);
    for (uint64_t i = 0; i < n; i++) {
        cr_assert_eq(keys[i], pairs[i].key, "bits %d to %d of %d: key %d", low, high, (int)n, (int)i);
        cr_assert_eq(positions[i], with_payload ? pairs[i].payload : i, "%d: payload %d", (int)n, (int)i);
    }
    give(there, bytes), give(spare, bytes), give(payload, bytes), give(payload_spare, bytes);
    free(pairs), free(keys), free(positions);
}

/* Around what is sorted by merging once, and twice. */
static const uint64_t merged_sizes[] = {512,   513,   1024,   1025,   16384, 16385,
                                        17000, 20480, 100003, 262144, 262145};
enum { MERGED_SIZES = TEST_EMULATOR ? 4 : sizeof merged_sizes / sizeof *merged_sizes };

Test(prim, sorts_stably_by_the_bits_given)
{
    NEEDS_GPU();
    static const int bits[][2] = {{0, 64}, {0, 1}, {3, 17}, {31, 64}, {20, 20}};
    test_seeds seeds = test_seeds_from_environment(1);
    test_random random = {seeds.first};
    test_seed_begins(seeds.first);
    for (int s = 0; s < SIZES + MERGED_SIZES; s++)
        for (size_t b = 0; b < sizeof bits / sizeof *bits; b++) {
            const uint64_t n = s < SIZES ? sizes[s] : merged_sizes[s - SIZES];
            low = bits[b][0], high = bits[b][1];
            sort_and_compare(&random, n, b & 1);
            sort_and_compare(&random, n, !(b & 1));
        }
}

/* ---- Scanning ---- */

static void scan_and_compare(test_random *random, uint64_t n)
{
    uint32_t *narrow = test_allocate(n + 1, sizeof *narrow);
    uint64_t *wide = test_allocate(n + 1, sizeof *wide), *sums = test_allocate(n + 1, sizeof *sums);
    uint64_t narrow_sum = 0, wide_sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        narrow[i] = (uint32_t)test_random_next(random) | 0x80000000u; /* the sums need 64 bits */
        wide[i] = test_random_next(random) >> 20;
    }
    size_t bytes = (n + 1) * sizeof *sums;
    uint32_t *narrow_there = upload(narrow, n * sizeof *narrow);
    uint64_t *wide_there = upload(wide, bytes), *sums_there = (uint64_t *)on_device(bytes);
    TEST_OK(dcsr_i_cuda_scan_u32(stream, narrow_there, sums_there, n));
    download(sums, sums_there, bytes);
    for (uint64_t i = 0; i <= n; narrow_sum += i < n ? narrow[i] : 0, i++)
        cr_assert_eq(sums[i], narrow_sum, "sum %d of %d", (int)i, (int)n);
    TEST_OK(dcsr_i_cuda_scan_u64(stream, wide_there, sums_there, n));
    TEST_OK(dcsr_i_cuda_scan_u64(stream, wide_there, wide_there, n)); /* in place */
    download(sums, sums_there, bytes);
    for (uint64_t i = 0; i <= n; wide_sum += i < n ? wide[i] : 0, i++) cr_assert_eq(sums[i], wide_sum);
    download(wide, wide_there, bytes);
    cr_assert_eq(memcmp(wide, sums, bytes), 0, "in place, %d", (int)n);
    give(narrow_there, n * sizeof *narrow), give(wide_there, bytes), give(sums_there, bytes);
    free(narrow), free(wide), free(sums);
}

static void sort_numbers_and_compare(test_random *random, uint64_t n)
{
    const size_t bytes = n * sizeof(uint32_t);
    pair *pairs = test_allocate(n + 1, sizeof *pairs);
    uint32_t *keys = test_allocate(n + 1, sizeof *keys), *numbers = test_allocate(n + 1, sizeof *numbers);
    for (uint64_t i = 0; i < n; i++) {
        keys[i] = (uint32_t)test_random_below(random, (uint64_t)1 << high);
        numbers[i] = (uint32_t)i;
        pairs[i] = (pair){keys[i], i};
    }
    qsort(pairs, n, sizeof *pairs, compare);
    uint32_t *there = upload(keys, bytes), *spare = (uint32_t *)on_device(bytes);
    uint32_t *payload = upload(numbers, bytes), *payload_spare = (uint32_t *)on_device(bytes);
    TEST_OK(dcsr_i_cuda_sort_u32(stream, &there, &spare, &payload, &payload_spare, n, high));
    download(keys, there, bytes);
    download(numbers, payload, bytes);
    for (uint64_t i = 0; i < n; i++)
        cr_assert(keys[i] == pairs[i].key && numbers[i] == pairs[i].payload, "%d bits of %d: %d", high,
                  (int)n, (int)i);
    give(there, bytes), give(spare, bytes), give(payload, bytes), give(payload_spare, bytes);
    free(pairs), free(keys), free(numbers);
}

Test(prim, sorts_numbers_stably_by_keys_of_32_bits)
{
    NEEDS_GPU();
    test_random random = {17};
    low = 0;
    for (int s = 0; s < SIZES + MERGED_SIZES; s++)
        for (high = 1; high <= 32; high += 31)
            sort_numbers_and_compare(&random, s < SIZES ? sizes[s] : merged_sizes[s - SIZES]);
}

Test(prim, scans_with_the_total_behind)
{
    NEEDS_GPU();
    test_random random = {test_seeds_from_environment(1).first};
    for (int s = 0; s < SIZES; s++) scan_and_compare(&random, sizes[s]);
}

/* Keys in runs of equal neighbours, some of which differ in the lowest bits only. */
static void scan_runs_and_compare(test_random *random, uint64_t n, bool fewer)
{
    enum { LOW = 3, HIGH = 7 };
    uint64_t *keys = test_allocate(n + 1, sizeof *keys), *found = test_allocate(n + 1, sizeof *found);
    uint64_t count = fewer && n ? test_random_below(random, n) : n, lows = 0, highs = 0;
    for (uint64_t i = 1; i < n; i++) keys[i] = keys[i - 1] + test_random_below(random, 20);
    uint64_t *keys_there = upload(keys, n * sizeof *keys), *count_there = upload(&count, sizeof count);
    uint64_t *found_there = (uint64_t *)on_device((n + 1) * sizeof *found);
    TEST_OK(dcsr_i_cuda_scan_runs(stream, keys_there, fewer ? count_there : NULL, n, LOW, HIGH, found_there));
    download(found, found_there, (n + 1) * sizeof *found);
    for (uint64_t i = 0; i <= n; i++) {
        cr_assert_eq(found[i], highs << 32 | lows, "%d of %d", (int)i, (int)n);
        if (i >= count) continue;
        lows += !i || keys[i] >> LOW != keys[i - 1] >> LOW;
        highs += !i || keys[i] >> HIGH != keys[i - 1] >> HIGH;
    }
    give(keys_there, n * sizeof *keys), give(count_there, sizeof count);
    give(found_there, (n + 1) * sizeof *found);
    free(keys), free(found);
}

Test(prim, scans_runs_of_keys)
{
    NEEDS_GPU();
    test_random random = {test_seeds_from_environment(1).first};
    for (int s = 0; s < SIZES; s++) {
        scan_runs_and_compare(&random, sizes[s], false);
        scan_runs_and_compare(&random, sizes[s], true);
    }
}

/* ---- Combining ---- */

static void combine_and_compare(test_random *random, uint64_t n, dcsr_type type, dcsr_policy policy,
                                uint64_t runs)
{
    size_t bytes = n * sizeof(uint64_t);
    uint64_t *keys = test_allocate(n + 1, sizeof *keys), *words = test_allocate(n + 1, sizeof *words);
    uint64_t *folded = test_allocate(n + 1, sizeof *folded), *key_of = test_allocate(n + 1, sizeof *key_of);
    uint64_t key = test_random_next(random), count = 0, expected = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (test_random_below(random, n) < runs) key++;
        keys[i] = key;
        words[i] = random_word(random, type, policy);
        if (!i || keys[i - 1] != key)
            key_of[expected] = key, folded[expected++] = words[i];
        else if (type != DCSR_PATTERN)
            folded[expected - 1] = oracle_combine(type, policy, folded[expected - 1], words[i]);
    }
    uint64_t *keys_there = upload(keys, bytes), *words_there = upload(words, bytes);
    uint64_t *keys_out = (uint64_t *)on_device(bytes), *words_out = (uint64_t *)on_device(bytes);
    uint64_t *count_there = (uint64_t *)on_device(sizeof count);
    bool values = type != DCSR_PATTERN;
    dcsr_i_cuda_keyed entries = {keys_there, values ? words_there : NULL, n, type};
    TEST_OK(dcsr_i_cuda_combine(stream, &entries, policy, keys_out, values ? words_out : NULL, count_there));
    download(&count, count_there, sizeof count);
    cr_assert_eq(count, expected, "%d entries make %d runs, not %d", (int)n, (int)expected, (int)count);
    download(keys, keys_out, count * sizeof *keys);
    if (values) download(words, words_out, count * sizeof *words);
    for (uint64_t i = 0; i < count; i++) {
        cr_assert_eq(keys[i], key_of[i]);
        if (values && !(is_nan(type, words[i]) && is_nan(type, folded[i])))
            cr_assert_eq(words[i], folded[i], "%s, %s, %d entries: word %d is %lx, not %lx",
                         dcsr_type_name(type), dcsr_policy_name(policy), (int)n, (int)i,
                         (unsigned long)words[i], (unsigned long)folded[i]);
    }
    give(keys_there, bytes), give(words_there, bytes), give(keys_out, bytes), give(words_out, bytes);
    give(count_there, sizeof count);
    free(keys), free(words), free(folded), free(key_of);
}

Test(prim, combines_all_types_by_all_policies)
{
    NEEDS_GPU();
    test_seeds seeds = test_seeds_from_environment(1);
    test_random random = {seeds.first};
    test_seed_begins(seeds.first);
    for (int type = DCSR_PATTERN; type < DCSR_TYPE_COUNT; type++)
        for (int policy = DCSR_POLICY_SUM; policy < DCSR_POLICY_COUNT; policy++) {
            combine_and_compare(&random, 1000, (dcsr_type)type, (dcsr_policy)policy, 400);
            combine_and_compare(&random, 33, (dcsr_type)type, (dcsr_policy)policy, 3);
        }
    for (int s = 0; s < SIZES; s++)
        for (uint64_t runs = 1; runs <= sizes[s]; runs *= 40) {
            combine_and_compare(&random, sizes[s], DCSR_PATTERN, DCSR_POLICY_ANY, runs);
            combine_and_compare(&random, sizes[s], DCSR_INT64, DCSR_POLICY_LAST, runs);
            combine_and_compare(&random, sizes[s], DCSR_FP64, DCSR_POLICY_MIN, runs);
            combine_and_compare(&random, sizes[s], DCSR_FP32, DCSR_POLICY_MAX, runs);
        }
    combine_and_compare(&random, 0, DCSR_FP64, DCSR_POLICY_SUM, 1);
}

/* What they need besides is refused: nothing has been put on the stream. The emulator needs nothing, nor do keys
 * that are sorted by merging. */
Test(prim, fails_for_lack_of_memory)
{
    NEEDS_GPU();
    enum { N = 300000, BYTES = N * sizeof(uint64_t) };
#ifdef DCSR_SIMT
    const dcsr_status expected = DCSR_OK;
#else
    const dcsr_status expected = DCSR_ERROR_OUT_OF_MEMORY;
#endif
    uint64_t *keys = (uint64_t *)on_device(BYTES), *spare = (uint64_t *)on_device(BYTES), *first = keys;
    dcsr_i_cuda_fill(stream, keys, 1, BYTES);
    dcsr_i_fail_allocations_after(0);
    TEST_STATUS(expected, dcsr_i_cuda_sort(stream, &keys, &spare, NULL, NULL, N, 0, 64));
    cr_assert_eq(keys == first, expected != DCSR_OK);
    TEST_STATUS(expected, dcsr_i_cuda_scan_u64(stream, keys, spare, N - 1));
    dcsr_i_fail_allocations_after(-1);
    cr_assert_eq(used(DCSR_I_SCRATCH), 2 * BYTES);
    TEST_OK(dcsr_i_cuda_wait(stream, "testing"));
    give(keys, BYTES), give(spare, BYTES);
}

/* test_multi_traverse.c: searches on several devices from several vertices, beside those of one device, and devices
 * that are lost meanwhile. */
#include "tests/support/support_multi.h"
#include <dcsr/generate.h>
#include <dcsr/mxv.h>
#include <dcsr/vector_ops.h>
#include <stdlib.h>
#include <string.h>

TestSuite(multi_traverse, .init = set_devices);

/* Few rows have most entries, so that parts begin anywhere in a word of bits. */
static test_both open_both(test_random *random, int devices, uint64_t n, size_t edges)
{
    uint64_t *row = test_allocate(edges, sizeof *row), *col = test_allocate(edges, sizeof *col);
    for (size_t i = 0; i < edges; i++) {
        row[i] = test_random_below(random, test_random_once_in(random, 3) ? 1 + n / 20 : n);
        col[i] = test_random_below(random, n);
    }
    return test_open_both(devices, n, edges, row, col);
}

static void compare(test_both *g, uint64_t sources, test_random *random)
{
    uint64_t *source = test_allocate(sources + 1, sizeof *source);
    int32_t *one = test_allocate(g->n, sizeof *one), *many = test_allocate(g->n, sizeof *many);
    dcsr_traverse_result a, b;
    dcsr_multi_report report;
    for (uint64_t i = 0; i < sources; i++) source[i] = test_random_below(random, g->n);
    if (sources > 2) source[1] = source[0];
    TEST_OK(dcsr_traverse(one, &a, g->view, sources, source));
    TEST_OK(dcsr_multi_traverse(many, &b, g->multi, sources, source, &report));
    cr_assert(!memcmp(one, many, g->n * sizeof *one));
    cr_assert(a.reached == b.reached && a.max_level == b.max_level && a.level_sum == b.level_sum);
    cr_assert_eq(a.edges, b.edges);
    cr_assert(report.seconds >= report.communication && report.communication >= 0);
    memset(many, 0x33, g->n * sizeof *many);
    TEST_OK(dcsr_multi_traverse(many, NULL, g->multi, sources, source, NULL));
    cr_assert(!memcmp(one, many, g->n * sizeof *one));
    free(source), free(one), free(many);
}

Test(multi_traverse, has_the_levels_of_one_device)
{
    test_random random = {17};
    for (int devices = 1; devices <= MOST_DEVICES; devices++) {
        for (int round = 0; round < TEST_SIZE(8, 4, 2); round++) {
            const uint64_t n = 1 + test_random_below(&random, (uint64_t)TEST_SIZE(3000, 700, 200));
            test_both g = open_both(&random, devices, n, test_random_below(&random, 4 * n));
            for (uint64_t sources = 0; sources < 6; sources += 1 + sources) compare(&g, sources, &random);
            test_close_both(&g);
        }
    }
}

Test(multi_traverse, bad_arguments_are_refused)
{
    test_random random = {2};
    test_both g = open_both(&random, 2, 10, 20);
    int32_t level[10];
    const uint64_t sources[] = {3, 10};
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "A is NULL",
                 dcsr_multi_traverse(level, NULL, NULL, 1, sources, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "level is NULL",
                 dcsr_multi_traverse(NULL, NULL, g.multi, 1, sources, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "sources is NULL",
                 dcsr_multi_traverse(level, NULL, g.multi, 1, NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "source 10 of 10",
                 dcsr_multi_traverse(level, NULL, g.multi, 2, sources, NULL));
    test_close_both(&g);
}

#if TEST_EMULATOR
/* A device that is lost stops all: nobody waits for it, and nobody's memory is freed too early. A process cannot use it
 * again, so each case has one of its own. What the others are told by CUDA first may be that there is no memory. */
static void assert_lost(dcsr_status status)
{
    simt_fail_device_after(1, -1);
    cr_assert(status == DCSR_OK || status == DCSR_ERROR_DEVICE || status == DCSR_ERROR_OUT_OF_MEMORY, "%s",
              dcsr_thread_error());
}

/* Nobody waits for the streams of a device that is lost, so what another copies of it may be freed meanwhile, which the
 * emulator, as it goes on, would tell ThreadSanitizer. */
#define NEEDS_LOSSES() \
    NEEDS_EMULATOR();  \
    if (TEST_THREAD_SANITIZER) cr_skip_test("devices are not lost under ThreadSanitizer")

static void search_and_lose(long operations)
{
    NEEDS_LOSSES();
    test_random random = {5};
    test_both g = open_both(&random, 3, 300, 1200);
    int32_t *level = test_allocate(g.n, sizeof *level);
    const uint64_t source = 4;
    simt_fail_device_after(1, operations);
    assert_lost(dcsr_multi_traverse(level, NULL, g.multi, 1, &source, NULL));
    free(level);
    test_close_both(&g);
}

static void multiply_and_lose(long operations)
{
    NEEDS_LOSSES();
    const dcsr_semiring *semiring = dcsr_semiring_of(DCSR_ANY_PAIR, DCSR_BOOL);
    const dcsr_desc there = {.device = DCSR_DEVICE_CUDA};
    test_random random = {6};
    test_both g = open_both(&random, 3, 300, 1200);
    dcsr_multi_vector *u, *w;
    TEST_OK(dcsr_multi_vector_create(&u, g.multi, DCSR_BOOL, false));
    TEST_OK(dcsr_multi_vector_create(&w, g.multi, DCSR_BOOL, false));
    for (uint64_t i = 0; i < g.n; i += 3) TEST_OK(dcsr_multi_vector_set(u, i, &(bool){true}));
    TEST_OK(dcsr_multi_vxm(u, NULL, NULL, semiring, u, g.multi, &there, NULL));
    simt_fail_device_after(1, operations);
    dcsr_status status = dcsr_multi_vxm(w, NULL, NULL, semiring, u, g.multi, &there, NULL);
    if (status == DCSR_OK) status = dcsr_multi_mxv(w, NULL, NULL, semiring, g.multi, u, &there, NULL);
    assert_lost(status);
    dcsr_multi_vector_destroy(u), dcsr_multi_vector_destroy(w);
    test_close_both(&g);
}

#define LOST(n)                                            \
    Test(multi_traverse, loses_a_device_after_##n)         \
    {                                                      \
        search_and_lose(n);                                \
    }                                                      \
    Test(multi_traverse, product_loses_a_device_after_##n) \
    {                                                      \
        multiply_and_lose(n);                              \
    }
LOST(0)
LOST(4)
LOST(9)
LOST(15)
LOST(23)
LOST(36)
LOST(60)
#endif

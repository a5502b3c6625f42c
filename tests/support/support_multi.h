/* support_multi.h: as many devices as suites of several devices use; of the emulator, that it has. */
#ifndef DCSR_SUPPORT_MULTI_H
#define DCSR_SUPPORT_MULTI_H

#include "tests/support/support.h"
#include <dcsr/convert.h>
#include <dcsr/multi.h>
#include <stdio.h>
#include <stdlib.h>
#if TEST_EMULATOR
#include "tests/simt/simt_control.h"
#endif

/* The emulator has fewer GPUs than that, so that some devices share one. */
enum { MOST_DEVICES = TEST_EMULATOR ? 4 : 5, EMULATED_GPUS = 3 };

/* A test of devices that are lost, or alike, begins with it. */
#define NEEDS_EMULATOR() \
    if (!test_on_emulator()) cr_skip_test("the devices are not those of the emulator")

/* TestSuite(NAME, .init = set_devices) */
static inline void set_devices(void)
{
#if TEST_EMULATOR
    simt_set_devices(EMULATED_GPUS);
#endif
}

/* Opens `count` devices: shares of the cpu, or GPUs if the suite runs on these. If there are too few GPUs, several
 * devices share the first. */
static inline dcsr_multi *test_devices_with(int count, const dcsr_multi_options *options)
{
    dcsr_multi *devices;
    char text[32];
    int there = 0;
    if (test_device_of_auto() == DCSR_DEVICE_CUDA) TEST_OK(dcsr_device_get_count(DCSR_DEVICE_CUDA, &there));
    if (!there)
        snprintf(text, sizeof text, "cpu:%d", count);
    else if (there >= count)
        snprintf(text, sizeof text, "cuda:0-%d", count - 1);
    else if (there == 1)
        snprintf(text, sizeof text, "cuda:0/%d", count);
    else
        snprintf(text, sizeof text, "cuda:0/%d,1-%d", count - there + 1, there - 1);
    TEST_OK(dcsr_multi_create(&devices, text, options));
    return devices;
}

static inline dcsr_multi *test_devices(int count, int threads)
{
    return test_devices_with(count, &(dcsr_multi_options){.threads = threads});
}

/* A partitioned matrix has the entries of one device, bit for bit. */
static inline void test_parts_are(dcsr_context *context, dcsr_multi_matrix *parts, dcsr_matrix *one)
{
    dcsr_multi_view *multi;
    dcsr_matrix *together;
    dcsr_csr a, b;
    TEST_OK(dcsr_multi_view_create(&multi, parts, DCSR_LAYOUT_SEGMENTS, 0));
    TEST_OK(dcsr_multi_view_to_matrix(&together, context, multi, NULL));
    dcsr_multi_matrix_info info;
    TEST_OK(dcsr_multi_matrix_get_info(parts, &info));
    cr_assert_eq(test_info(together).policy, info.whole.policy);
    dcsr_view *x = test_view(together, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED),
              *y = test_view(one, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
    TEST_OK(dcsr_view_get_csr_on_host(x, &a));
    TEST_OK(dcsr_view_get_csr_on_host(y, &b));
    cr_assert(a.rows == b.rows && a.cols == b.cols && a.nnz == b.nnz && a.type == b.type);
    cr_assert(!memcmp(a.offsets, b.offsets, (a.rows + 1) * sizeof *a.offsets));
    cr_assert(!memcmp(a.col_indices, b.col_indices, a.nnz * sizeof *a.col_indices));
    if (a.values) cr_assert(!memcmp(a.values, b.values, a.nnz * dcsr_type_size(a.type)));
    dcsr_view_destroy(x), dcsr_view_destroy(y);
    dcsr_matrix_destroy(together);
    dcsr_multi_view_destroy(multi);
}

/* A matrix on one device and, in parts, on several. */
typedef struct test_both {
    dcsr_context *context;
    dcsr_matrix *matrix;
    dcsr_view *view;
    dcsr_multi *devices;
    dcsr_multi_matrix *parts;
    dcsr_multi_view *multi;
    uint64_t n, cols;
} test_both;

/* Shares the matrix out, once all that is queued on it has been applied. */
static inline void test_share_both(test_both *g, int devices)
{
    TEST_OK(dcsr_matrix_wait(g->matrix));
    g->view = test_view(g->matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED);
    g->devices = test_devices(devices, 2);
    TEST_OK(dcsr_multi_matrix_from_view(&g->parts, g->devices, g->view, NULL));
    TEST_OK(dcsr_multi_view_create(&g->multi, g->parts, DCSR_LAYOUT_SEGMENTS, 0));
}

/* A graph of these edges on the cpu and on several; the arrays are freed. */
static inline test_both test_open_both(int devices, uint64_t n, size_t edges, uint64_t *row, uint64_t *col)
{
    test_both g = {.n = n, .cols = n};
    TEST_OK(
        dcsr_context_create(&g.context, &(dcsr_context_options){.device = DCSR_DEVICE_CPU, .threads = 2}));
    g.matrix = test_matrix(g.context, DCSR_PATTERN, n, n, DCSR_POLICY_LAST);
    TEST_OK(dcsr_matrix_insert(g.matrix, edges, row, col, NULL, NULL));
    test_share_both(&g, devices);
    free(row), free(col);
    return g;
}

static inline void test_close_both(test_both *g)
{
    dcsr_multi_view_destroy(g->multi);
    dcsr_multi_matrix_destroy(g->parts);
    dcsr_multi_destroy(g->devices);
    dcsr_view_destroy(g->view);
    dcsr_matrix_destroy(g->matrix);
    test_close(g->context);
}

#endif

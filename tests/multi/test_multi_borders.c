/* test_multi_borders.c: where partitioned matrices are cut: between nodes of memory first, and between rows that belong
 * together. */
#include "tests/support/support_multi.h"
#include <dcsr/multi.h>
#include <math.h>
#include <stdlib.h>

TestSuite(multi_borders, .init = set_devices);

static double off_by(uint64_t part, double share)
{
    return fabs((double)part - share) / share;
}

Test(multi_borders, borders_are_even_between_nodes_and_between_their_devices)
{
    enum { N = 8000, LONG = 16, SHORT = 2 };
    dcsr_context *context;
    uint64_t *rows = test_allocate(N * LONG, sizeof *rows), *cols = test_allocate(N * LONG, sizeof *cols),
             n = 0;
    TEST_OK(dcsr_context_create(&context, &(dcsr_context_options){.device = DCSR_DEVICE_CPU, .threads = 2}));
    dcsr_matrix *matrix = test_matrix(context, DCSR_PATTERN, N, N, DCSR_POLICY_LAST);
    for (uint64_t i = 0; i < N; i++) /* the first quarter has most of it */
        for (uint64_t j = 0; j < (i < N / 4 ? LONG : SHORT); j++, n++)
            rows[n] = i, cols[n] = (i * i + j * 3571) % N;
    TEST_OK(dcsr_matrix_insert(matrix, n, rows, cols, NULL, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    free(rows), free(cols);
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED);
    dcsr_multi *devices;
    dcsr_multi_matrix *parts, *transpose;
    dcsr_multi_view *multi;
    TEST_OK(dcsr_multi_create(&devices, "cpu:2x3", &(dcsr_multi_options){.threads = 4}));
    TEST_OK(dcsr_multi_matrix_from_view(&parts, devices, view, NULL));
    TEST_OK(dcsr_multi_view_create(&multi, parts, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED));
    for (int k = 0; k < 2; k++) {
        dcsr_multi_matrix_info info;
        TEST_OK(dcsr_multi_matrix_get_info(k ? transpose : parts, &info));
        const double all = (double)info.whole.stored;
        for (int node = 0; node < 2; node++) {
            const uint64_t *stored = info.stored + 3 * node, here = stored[0] + stored[1] + stored[2];
            cr_assert_lt(off_by(here, all / 2), 0.01);
            for (int i = 0; i < 3; i++) cr_assert_lt(off_by(stored[i], (double)here / 3), 0.01);
        }
        if (!k) TEST_OK(dcsr_multi_transpose(&transpose, multi, NULL));
    }
    dcsr_multi_matrix_destroy(transpose);
    dcsr_multi_view_destroy(multi);
    dcsr_multi_matrix_destroy(parts);
    dcsr_multi_destroy(devices);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* Borders between rows that belong together: those of a new matrix, of its transpose, and those that move. */
Test(multi_borders, borders_are_at_multiples_of_the_grain)
{
    enum { N = 300, ENTRIES = 4000 };
    static const uint64_t grains[] = {2, 3, 7, 64, 1000};
    test_random random = {.state = 8};
    uint64_t rows[ENTRIES], cols[ENTRIES];
    for (size_t g = 0; g < sizeof grains / sizeof *grains; g++) {
        dcsr_context *context = test_context(1);
        dcsr_matrix *one = test_matrix(context, DCSR_PATTERN, N, N, DCSR_POLICY_ANY);
        dcsr_multi *devices = test_devices_with(3, &(dcsr_multi_options){.threads = 2, .grain = grains[g]});
        dcsr_multi_matrix *made[3]; /* empty, that with entries in it, the transpose */
        TEST_OK(dcsr_multi_matrix_create(&made[0], devices, DCSR_PATTERN, N, N,
                                         &(dcsr_matrix_options){.policy = DCSR_POLICY_ANY}));
        for (int e = 0; e < ENTRIES; e++) {
            rows[e] = test_random_below(&random, N / 5);
            cols[e] = test_random_below(&random, N);
        }
        TEST_OK(dcsr_matrix_insert(one, ENTRIES, rows, cols, NULL, NULL));
        dcsr_view *view = test_view(one, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_LATEST);
        dcsr_multi_view *multi;
        TEST_OK(dcsr_multi_matrix_from_view(&made[1], devices, view, NULL));
        TEST_OK(dcsr_multi_view_create(&multi, made[1], DCSR_LAYOUT_SEGMENTS, 0));
        TEST_OK(dcsr_multi_transpose(&made[2], multi, NULL));
        dcsr_multi_view_destroy(multi);
        for (int moved = 0; moved < 2; moved++) {
            for (int m = 0; m < 3; m++) {
                dcsr_multi_view_info info;
                TEST_OK(dcsr_multi_view_create(&multi, made[m], DCSR_LAYOUT_SEGMENTS, 0));
                TEST_OK(dcsr_multi_view_get_info(multi, &info));
                for (uint64_t k = 1; k < info.parts; k++)
                    cr_assert(info.border[k] % grains[g] == 0 || info.border[k] == N, "%d",
                              (int)info.border[k]);
                dcsr_multi_view_destroy(multi);
            }
            TEST_OK(dcsr_multi_matrix_insert(made[0], ENTRIES, rows, cols, NULL, NULL));
            TEST_OK(dcsr_multi_matrix_balance(made[0], NULL));
            TEST_OK(dcsr_multi_matrix_wait(made[0]));
        }
        test_parts_are(context, made[0], one);
        test_parts_are(context, made[1], one);
        for (int m = 0; m < 3; m++) dcsr_multi_matrix_destroy(made[m]);
        dcsr_multi_destroy(devices);
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(one);
        test_close(context);
    }
}

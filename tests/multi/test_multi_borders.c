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

/* Of parts that add what is inserted again, also where their rows have moved; those of other policies are refused. */
Test(multi_borders, parts_keep_their_policy_when_borders_move)
{
    enum { EACH = 60, MANY = 40 };
    dcsr_multi *devices = test_devices(2, 2);
    dcsr_multi_info info;
    dcsr_matrix *part[2], *other;
    dcsr_multi_matrix *matrix;
    dcsr_multi_view *view, *moved;
    uint64_t rows[EACH * MANY], cols[EACH * MANY];
    double values[EACH * MANY];
    TEST_OK(dcsr_multi_get_info(devices, &info));
    for (uint64_t i = 0; i < EACH * MANY; i++) rows[i] = i / MANY, cols[i] = i % MANY, values[i] = 1;
    for (int k = 0; k < 2; k++) {
        part[k] = test_matrix(info.context[k], DCSR_FP64, EACH, MANY, DCSR_POLICY_SUM);
        TEST_OK(dcsr_matrix_insert(part[k], k ? 3 : EACH * MANY, rows, cols, values, NULL));
        TEST_OK(dcsr_matrix_wait(part[k]));
    }
    other = test_matrix(info.context[1], DCSR_FP64, EACH, MANY, DCSR_POLICY_LAST);
    dcsr_matrix *mixed[] = {part[0], other};
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "another policy",
                 dcsr_multi_matrix_from_parts(&matrix, devices, mixed, NULL));
    dcsr_matrix_destroy(other);
    TEST_OK(dcsr_multi_matrix_from_parts(&matrix, devices, part, NULL));
    TEST_OK(dcsr_multi_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, 0));
    TEST_OK(dcsr_multi_matrix_balance(matrix, NULL));
    TEST_OK(dcsr_multi_matrix_insert(matrix, EACH * MANY, rows, cols, values, NULL));
    TEST_OK(dcsr_multi_view_create(&moved, matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_LATEST));
    dcsr_multi_view_info was, now;
    TEST_OK(dcsr_multi_view_get_info(view, &was));
    TEST_OK(dcsr_multi_view_get_info(moved, &now));
    cr_assert(was.border[1] == EACH && now.border[1] < EACH);
    for (uint64_t row = 0; row < EACH; row++) {
        uint32_t column[MANY];
        double value[MANY];
        uint64_t length;
        TEST_OK(dcsr_multi_view_get_row(moved, row, MANY, column, value, &length));
        cr_assert_eq(length, MANY);
        for (int e = 0; e < MANY; e++) cr_assert_eq(value[e], 2);
    }
    dcsr_multi_view_destroy(view);
    dcsr_multi_view_destroy(moved);
    dcsr_multi_matrix_destroy(matrix);
    dcsr_multi_destroy(devices);
}

/* What was queued is done before devices go: batches, and that borders move. */
Test(multi_borders, move_although_the_devices_are_being_destroyed)
{
    enum { N = 400, ENTRIES = 6000 };
    test_random random = {.state = 4};
    uint64_t rows[ENTRIES], cols[ENTRIES];
    for (int e = 0; e < ENTRIES; e++) {
        rows[e] = test_random_below(&random, N / 5);
        cols[e] = test_random_below(&random, N);
    }
    for (int round = 0; round < 8; round++) {
        dcsr_multi *devices = test_devices(3, 2);
        dcsr_multi_matrix *matrix;
        dcsr_ticket *ticket[2];
        TEST_OK(dcsr_multi_matrix_create(&matrix, devices, DCSR_PATTERN, N, N, NULL));
        TEST_OK(dcsr_multi_matrix_insert(matrix, ENTRIES, rows, cols, NULL, &ticket[0]));
        TEST_OK(dcsr_multi_matrix_balance(matrix, &ticket[1]));
        dcsr_multi_destroy(devices);
        for (int t = 0; t < 2; t++) {
            TEST_OK(dcsr_ticket_wait(ticket[t]));
            dcsr_ticket_destroy(ticket[t]);
        }
        dcsr_multi_matrix_destroy(matrix);
    }
}

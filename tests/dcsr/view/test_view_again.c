/* test_view_again.c: views of a version that is held, although the matrix has changed since. */
#include "tests/support/support_transposed.h"

#include "dcsr/base/alloc.h"
#include "dcsr/view/view_data.h"
#include <pthread.h>

enum { SIZE = 140, BATCH = 500, HELD = 4, VERSIONS = 10 };

static void insert_some(test_random *random, dcsr_matrix *matrix, oracle *model, bool removes)
{
    static uint64_t rows[BATCH], cols[BATCH];
    static double values[BATCH];
    const uint64_t n = 1 + test_random_below(random, BATCH);
    for (uint64_t i = 0; i < n; i++) {
        rows[i] = test_random_below(random, SIZE);
        cols[i] = test_random_below(random, SIZE);
        values[i] = (double)test_random_below(random, 50);
    }
    if (removes) {
        TEST_OK(dcsr_matrix_remove(matrix, n, rows, cols, NULL));
        oracle_remove(model, n, rows, cols);
    } else {
        TEST_OK(dcsr_matrix_insert(matrix, n, rows, cols, values, NULL));
        oracle_insert(model, n, rows, cols, values);
    }
    TEST_OK(dcsr_matrix_wait(matrix));
}

/* Of all layouts and flags: all show what the first one does. */
static void show_again(dcsr_view *shown, const oracle *model, bool transposed)
{
    for (int layout = 0; layout <= DCSR_LAYOUT_NUT; layout++)
        for (unsigned flags = 0; flags < 4; flags++) {
            dcsr_view *view;
            char why[TEST_WHY];
            TEST_OK(dcsr_i_view_again(&view, shown, (dcsr_layout)layout, flags));
            cr_assert(test_view_info(view).version == test_view_info(shown).version);
            cr_assert(test_view_matches(view, model, flags, why), "layout %d, flags %u: %s", layout, flags,
                      why);
            if (transposed) TEST_TRANSPOSE_MATCHES(view, model, flags);
            dcsr_view_destroy(view);
        }
}

static void run(test_random *random, dcsr_defragmentation mode, bool twin, bool resizes)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix;
    const dcsr_matrix_options options = {
        .policy = DCSR_POLICY_SUM, .defragmentation = mode, .maintain_transpose = twin};
    TEST_OK(dcsr_matrix_create(&matrix, context, DCSR_FP64, SIZE, SIZE, &options));
    dcsr_view *shown[HELD] = {NULL};
    oracle model, old[HELD];
    oracle_create(&model, DCSR_FP64, DCSR_POLICY_SUM, SIZE, SIZE);
    for (int v = 0; v < VERSIONS; v++) {
        insert_some(random, matrix, &model, v % 3 == 2);
        if (v < HELD) {
            shown[v] = test_view(matrix, (dcsr_layout)(v % 2 * DCSR_LAYOUT_CSC), (unsigned)v % 4);
            oracle_copy(&old[v], &model);
        }
        if (v == 5) TEST_OK(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
        if (v == VERSIONS - 2 && resizes) {
            TEST_OK(dcsr_matrix_resize(matrix, SIZE + 50, SIZE + 60, NULL));
            oracle_resize(&model, SIZE + 50, SIZE + 60);
        }
        if (v % 4 == 3)
            for (int h = 0; h < HELD; h++) show_again(shown[h], &old[h], twin);
    }
    TEST_MATCHES(matrix, &model); /* which none of this has disturbed */
    dcsr_matrix_destroy(matrix);
    for (int h = 0; h < HELD; h++) {
        show_again(shown[h], &old[h], false);
        dcsr_view_destroy(shown[h]);
        oracle_destroy(&old[h]);
    }
    oracle_destroy(&model);
    test_close(context);
}

Test(view_again, shows_the_same_version)
{
    test_random random = {1};
    for (int ways = 0; ways < 4; ways += test_on_emulator() ? 3 : 1)
        run(&random, ways & 1 ? DCSR_DEFRAGMENT_OFF : DCSR_DEFRAGMENT_AUTO, ways & 2, ways & 1);
}

Test(view_again, leaves_nothing_behind_without_memory)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, SIZE, SIZE, DCSR_POLICY_SUM);
    test_random random = {2};
    oracle model, old;
    oracle_create(&model, DCSR_FP64, DCSR_POLICY_SUM, SIZE, SIZE);
    for (int v = 0; v < 3; v++) insert_some(&random, matrix, &model, v == 1);
    dcsr_view *shown = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
    oracle_copy(&old, &model);
    insert_some(&random, matrix, &model, false);
    for (int layout = 0; layout <= DCSR_LAYOUT_NUT; layout++) {
        dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
        for (long n = 0; status != DCSR_OK; n++) {
            dcsr_view *view;
            char why[TEST_WHY];
            dcsr_i_fail_allocations_after(n);
            status = dcsr_i_view_again(&view, shown, (dcsr_layout)layout, 0);
            dcsr_i_fail_allocations_after(-1);
            if (status == DCSR_OK) {
                cr_assert(n > 1);
                cr_assert(test_view_matches(view, &old, 0, why), "%s", why);
            } else {
                cr_assert(status == DCSR_ERROR_OUT_OF_MEMORY && !view);
            }
            dcsr_view_destroy(view);
        }
    }
    dcsr_view_destroy(shown);
    TEST_MATCHES(matrix, &model);
    oracle_destroy(&old);
    oracle_destroy(&model);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* While another thread changes the matrix. */
Test(view_again, beside_changes)
{
    dcsr_context *context = test_context(2);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, SIZE, SIZE, DCSR_POLICY_SUM);
    test_random random = {3};
    oracle model;
    oracle_create(&model, DCSR_FP64, DCSR_POLICY_SUM, SIZE, SIZE);
    for (int v = 0; v < 3; v++) insert_some(&random, matrix, &model, v == 1);
    dcsr_view *shown = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
    test_writer writer = {.matrix = matrix,
                          .size = SIZE,
                          .entries = 300,
                          .batches = (size_t)TEST_SIZE(60, 15, 10),
                          .values = true};
    pthread_t thread;
    cr_assert(!pthread_create(&thread, NULL, test_write_batches, &writer));
    do show_again(shown, &model, false);
    while (!atomic_load(&writer.done));
    pthread_join(thread, NULL);
    dcsr_view_destroy(shown);
    oracle_destroy(&model);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

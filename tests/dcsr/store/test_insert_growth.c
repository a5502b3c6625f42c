/* test_insert_growth.c: rows that grow from batch to batch until they move, and batches so large that they
 * are packed in parallel, and brought to a device before they wait. */
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

/* Views are compared row by row. */
enum { ROWS = 70, COLS = 200 };

typedef struct fixture {
    dcsr_context *context;
    dcsr_matrix *matrix;
    oracle model;
    test_random random;
} fixture;

static void set_up(fixture *f, dcsr_type type, dcsr_policy policy, int segments, uint64_t cols)
{
    *f = (fixture){.context = test_context(2), .random = {1}};
    dcsr_matrix_options options = {
        .policy = policy, .segments = segments, .defragmentation = DCSR_DEFRAGMENT_OFF};
    TEST_OK(dcsr_matrix_create(&f->matrix, f->context, type, ROWS, cols, &options));
    oracle_create(&f->model, type, policy, ROWS, cols);
}

static void tear_down(fixture *f)
{
    dcsr_matrix_destroy(f->matrix);
    oracle_destroy(&f->model);
    test_close(f->context);
}

/* Inserts or removes n entries, a third of them in two rows. Does not wait. */
static void change(fixture *f, size_t n, bool insert)
{
    uint64_t *rows = test_allocate(n, sizeof *rows), *cols = test_allocate(n, sizeof *cols);
    char *values = test_allocate(n, sizeof(uint64_t));
    for (size_t i = 0; i < n; i++) {
        rows[i] = test_random_below(&f->random, 3) ? test_random_below(&f->random, f->model.rows)
                                                   : test_random_below(&f->random, 2) * 3;
        cols[i] = test_random_below(&f->random, f->model.cols);
        if (f->model.type != DCSR_PATTERN)
            test_encode(f->model.type, (double)test_random_below(&f->random, 100),
                        values + i * dcsr_type_size(f->model.type));
    }
    const void *given = f->model.type == DCSR_PATTERN ? NULL : values;
    if (insert) {
        TEST_OK(dcsr_matrix_insert(f->matrix, n, rows, cols, given, NULL));
        oracle_insert(&f->model, n, rows, cols, given);
    } else {
        TEST_OK(dcsr_matrix_remove(f->matrix, n, rows, cols, NULL));
        oracle_remove(&f->model, n, rows, cols);
    }
    free(rows);
    free(cols);
    free(values);
}

Test(rows, that_run_out_of_segments_move)
{
    enum { BATCHES = 14 };
    static const dcsr_policy policies[] = {DCSR_POLICY_KEEP, DCSR_POLICY_SUM, DCSR_POLICY_LAST};
    for (int segments = DCSR_MIN_SEGMENTS; segments <= DCSR_MAX_SEGMENTS; segments += TEST_SIZE(1, 3, 6)) {
        for (size_t p = 0; p < sizeof policies / sizeof *policies; p++) {
            fixture f;
            dcsr_view *held = NULL;
            oracle before;
            char why[TEST_WHY];
            set_up(&f, DCSR_FP32, policies[p], segments, COLS);
            /* Each as large as what is there needs another segment for. */
            size_t n = 6;
            for (int i = 0; i < BATCHES; i++, n += n * 3 / 5) {
                change(&f, n, i % 5 != 4);
                TEST_OK(dcsr_matrix_wait(f.matrix));
                if (i == BATCHES / 2) { /* what moves later is seen where it was */
                    held = test_view(f.matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
                    oracle_copy(&before, &f.model);
                }
            }
            dcsr_matrix_info info = test_info(f.matrix);
            cr_assert(info.row_rewrites > 0, "no row moved with %d segments", segments);
            cr_assert(info.max_segments <= (uint64_t)segments);
            TEST_MATCHES(f.matrix, &f.model);
            cr_assert(test_view_matches(held, &before, DCSR_VIEW_DUPLICATES, why), "%s", why);
            dcsr_view_destroy(held);
            oracle_destroy(&before);
            tear_down(&f);
        }
    }
}

Test(rows, that_get_the_same_entries_again_do_not_grow_for_ever)
{
    enum { ENTRIES = 50, BATCHES = 300 };
    fixture f;
    uint64_t rows[ENTRIES], cols[ENTRIES], most = 0;
    double values[ENTRIES];
    set_up(&f, DCSR_FP64, DCSR_POLICY_SUM, 0, COLS);
    for (int i = 0; i < ENTRIES; i++) rows[i] = 3, cols[i] = (uint64_t)i, values[i] = i;
    for (int i = 0; i < BATCHES; i++) {
        TEST_OK(dcsr_matrix_insert(f.matrix, ENTRIES, rows, cols, values, NULL));
        oracle_insert(&f.model, ENTRIES, rows, cols, values);
        TEST_OK(dcsr_matrix_wait(f.matrix));
        dcsr_matrix_info info = test_info(f.matrix);
        if (info.arena_entries > most) most = info.arena_entries;
    }
    cr_assert(most <= 50 * ENTRIES, "%lu places for %d entries", (unsigned long)most, ENTRIES);
    TEST_MATCHES(f.matrix, &f.model);
    tear_down(&f);
}

Test(rows, that_are_empty_take_no_deletions)
{
    fixture f;
    set_up(&f, DCSR_INT32, DCSR_POLICY_LAST, 0, COLS);
    TEST_REMOVE(f.matrix, {3, 3, 0}, {60, 5, 0});
    cr_assert(test_info(f.matrix).stored == 0 && test_info(f.matrix).arena_entries == 0);
    TEST_INSERT(f.matrix, {3, 3, 1}, {3, 4, 2});
    dcsr_view *held = test_view(f.matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
    TEST_REMOVE(f.matrix, {3, 3, 0}, {60, 5, 0}); /* leaves a tombstone behind a view that is held */
    dcsr_view_destroy(held);
    cr_assert(test_info(f.matrix).stored == 3 && test_info(f.matrix).unresolved_rows == 1);
    cr_assert(test_info(f.matrix).removed == 4);
    TEST_SHOWS(f.matrix, {3, 4, 2});
    tear_down(&f);
}

/* Each is larger than what a worker fetches ahead of time. */
enum { LARGE = 40000, LARGE_COLS = 3000 };

Test(batches, that_are_large_may_wait_one_behind_the_other)
{
    static const dcsr_type types[] = {DCSR_PATTERN, DCSR_UINT8, DCSR_INT16, DCSR_FP32, DCSR_FP64};
    for (size_t t = TEST_SIZE(0, 3, 4); t < sizeof types / sizeof *types; t++) {
        fixture f;
        set_up(&f, types[t], DCSR_POLICY_DEFAULT, 0, LARGE_COLS);
        for (size_t i = 0; i < 4; i++) change(&f, LARGE + i, i != 2);
        change(&f, 5, true);
        TEST_OK(dcsr_matrix_wait(f.matrix));
        char why[TEST_WHY];
        dcsr_view *view = test_view(f.matrix, DCSR_LAYOUT_SEGMENTS, 0);
        cr_assert(test_view_matches(view, &f.model, 0, why), "%s", why);
        dcsr_view_destroy(view);
        tear_down(&f);
    }
}

Test(batches, that_wait_are_cancelled_with_the_matrix)
{
    for (int round = 0; round < TEST_SIZE(6, 4, 2); round++) {
        fixture f;
        set_up(&f, DCSR_FP32, DCSR_POLICY_SUM, 0, LARGE_COLS);
        for (size_t i = 0; i < 3; i++) change(&f, LARGE, true);
        if (round % 2) TEST_OK(dcsr_matrix_resize(f.matrix, ROWS, LARGE_COLS, NULL));
        for (size_t i = 0; i < 2; i++) change(&f, LARGE / 4, false);
        tear_down(&f); /* everything is given back */
    }
}

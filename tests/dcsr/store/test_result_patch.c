/* test_result_patch.c: results that change a few rows: the others stay what and where they are. */
#include "dcsr/base/alloc.h"
#include "dcsr/store/result.h"
#include <dcsr/apply.h>
#include <dcsr/assign.h>
#include "tests/support/support_dense.h"
#include "tests/support/support_transposed.h"

#include <stdlib.h>
#include <string.h>

enum { PAGES = 4, ROWS = PAGES * DCSR_I_PAGE_ROWS - 10, COLS = 40 };

static const dcsr_binary_op *plus(void)
{
    return dcsr_binary_op_of(DCSR_BINARY_PLUS, DCSR_FP64);
}

static double add(double x, double y)
{
    return x + y;
}

static dcsr_status assign_five(dcsr_matrix *C, const uint64_t *rows, uint64_t nrows, const uint64_t *cols,
                               uint64_t ncols)
{
    double five = 5;
    return dcsr_matrix_assign_scalar(C, NULL, NULL, &five, DCSR_FP64, &(dcsr_index_list){rows, nrows},
                                     &(dcsr_index_list){cols, ncols}, NULL);
}

/* n entries at random places, some of them removed again. */
static void change(dcsr_matrix *C, oracle *model, test_random *random, size_t n)
{
    uint64_t *row = test_allocate(n, sizeof *row), *col = test_allocate(n, sizeof *col);
    double *value = test_allocate(n, sizeof *value);
    for (size_t i = 0; i < n; i++) {
        row[i] = test_random_below(random, ROWS), col[i] = test_random_below(random, COLS);
        value[i] = (double)test_random_below(random, 9) - 4;
    }
    TEST_OK(dcsr_matrix_insert(C, n, row, col, value, NULL));
    TEST_OK(dcsr_matrix_remove(C, n / 8, row, col, NULL));
    TEST_OK(dcsr_matrix_wait(C));
    if (model) oracle_insert(model, n, row, col, value), oracle_remove(model, n / 8, row, col);
    free(row), free(col), free(value);
}

/* Asserts that the table's sums are those of its pages, and that its rows have places of their own. */
static void check_table(dcsr_matrix *C)
{
    const dcsr_i_table *table = C->versions.current;
    uint64_t stored = 0, extra = 0, duplicates = 0, tombstones = 0;
    if (test_on_device(C->context)) return;
    for (uint64_t p = 0; p < dcsr_i_page_count(table); p++) {
        const dcsr_i_row_page *page = dcsr_i_page(table, p);
        for (unsigned r = 0; page && r < DCSR_I_PAGE_ROWS; r++) {
            dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
            int n = dcsr_i_row_pieces(page, r, pieces);
            stored += page->length[r];
            extra += n > 1 ? (uint64_t)n - 1 : 0;
            duplicates += page->duplicates >> r & 1;
            tombstones += page->tombstones >> r & 1;
        }
    }
    cr_assert_eq(table->stored, stored);
    cr_assert_eq(table->extra_segments, extra);
    cr_assert_eq(table->duplicate_rows, duplicates);
    cr_assert_eq(table->tombstone_rows, tombstones);
}

/* Pages without a row that changes are the same in both versions; in the others, so are the places of rows.
 */
Test(result_keep, shares_rows_that_are_not_touched)
{
    dcsr_context *context = test_context(2);
    dcsr_matrix *C = test_matrix(context, DCSR_FP64, ROWS, COLS, DCSR_POLICY_LAST);
    test_random random = {1};
    change(C, NULL, &random, 1500);
    TEST_OK(dcsr_matrix_defragment(C, DCSR_DEFRAGMENT_WHOLE, NULL));
    TEST_OK(dcsr_matrix_wait(C));
    dcsr_view *before = test_view(C, DCSR_LAYOUT_SEGMENTS, 0);
    dense old = dense_of_view(before);
    const uint64_t rows[] = {67, 70}, cols[] = {3, 39, 5};
    for (int round = 0; round < 2; round++) {
        dcsr_view *last = test_view(C, DCSR_LAYOUT_SEGMENTS, 0);
        const dcsr_i_table *base = C->versions.current;
        TEST_OK(assign_five(C, rows, 2, cols, 3));
        dense now = dense_of_matrix(C);
        for (uint64_t i = 0; i < ROWS; i++)
            for (uint64_t j = 0; j < COLS; j++) {
                bool inside = (i == 67 || i == 70) && (j == 3 || j == 5 || j == 39);
                uint64_t at = dense_at(&now, i, j);
                cr_assert_eq(now.has[at], inside || old.has[at]);
                cr_assert(!now.has[at] || now.value[at] == (inside ? 5 : old.value[at]));
            }
        dense_free(&now);
        for (uint64_t p = 0; p < PAGES && !test_on_device(context); p++)
            cr_assert_eq(dcsr_i_page(C->versions.current, p) == dcsr_i_page(base, p), p != 1);
        for (uint64_t i = 64; i < 128; i++) {
            const uint32_t *there, *here;
            dcsr_view *view = test_view(C, DCSR_LAYOUT_SEGMENTS, 0);
            if (test_pieces(last, i, &there) == 1 && test_pieces(view, i, &here) == 1 &&
                !test_on_device(context))
                cr_assert_eq(there == here, i != 67 && i != 70);
            dcsr_view_destroy(view);
        }
        check_table(C);
        dcsr_view_destroy(last);
    }
    dense still = dense_of_view(before);
    dense_compare(&still, &old, "a view from before");
    dense_free(&still), dense_free(&old);
    dcsr_view_destroy(before);
    dcsr_matrix_destroy(C);
    test_close(context);
}

/* What is told of a version that nothing was changed of stays true. */
Test(result_keep, makes_no_version_of_nothing)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *C = test_matrix(context, DCSR_FP64, 100, 10, DCSR_POLICY_LAST);
    TEST_INSERT(C, {3, 4, 1}, {99, 9, 2});
    uint64_t version = test_info(C).version, row = 50, col = 4;
    TEST_OK(assign_five(C, &row, 0, &col, 1));
    dcsr_vector *nothing;
    TEST_OK(dcsr_vector_create(&nothing, context, DCSR_FP64, 10));
    TEST_OK(dcsr_matrix_assign_row(C, NULL, NULL, nothing, row, NULL));
    cr_assert_eq(test_info(C).version, version);
    TEST_OK(dcsr_matrix_assign_row(C, NULL, NULL, nothing, 99, NULL));
    cr_assert_eq(test_info(C).version, version + 1);
    TEST_SHOWS(C, {3, 4, 1});
    check_table(C);
    dcsr_vector_destroy(nothing);
    dcsr_matrix_destroy(C);
    test_close(context);
}

/* Rows of several segments, with duplicates and tombstones: those that are touched are resolved, the others
 * are what they were. Insertions go on in both. */
static void against_oracle(uint64_t seed, dcsr_policy policy, bool maintain_transpose)
{
    dcsr_context *context = test_context(2);
    test_random random = {seed};
    dcsr_matrix *C;
    TEST_OK(dcsr_matrix_create(&C, context, DCSR_FP64, ROWS, COLS,
                               &(dcsr_matrix_options){.policy = policy,
                                                      .segments = DCSR_MIN_SEGMENTS + (int)(seed % 3),
                                                      .defragmentation = DCSR_DEFRAGMENT_OFF,
                                                      .maintain_transpose = maintain_transpose}));
    oracle model, held_model;
    oracle_create(&model, DCSR_FP64, policy, ROWS, COLS);
    dcsr_view *held = NULL;
    for (int round = 0; round < 12; round++) {
        change(C, &model, &random, 1 + test_random_below(&random, 600));
        if (!held && test_random_once_in(&random, 3)) {
            held = test_view(C, DCSR_LAYOUT_SEGMENTS, 0);
            oracle_copy(&held_model, &model);
        }
        uint64_t rows[8], cols[6], nrows = 1 + test_random_below(&random, 8),
                                   ncols = 1 + test_random_below(&random, 6);
        uint64_t row = test_random_below(&random, ROWS / 8), step = 1 + test_random_below(&random, ROWS / 10);
        for (uint64_t k = 0; k < nrows; k++) rows[k] = (row + k * step) % ROWS;
        for (uint64_t k = 0; k < ncols; k++) cols[k] = (row + k * 7) % COLS;
        double five = 5;
        bool accumulate = test_random_once_in(&random, 2);
        TEST_OK(dcsr_matrix_assign_scalar(C, NULL, accumulate ? plus() : NULL, &five, DCSR_FP64,
                                          &(dcsr_index_list){rows, nrows}, &(dcsr_index_list){cols, ncols},
                                          NULL));
        for (uint64_t k = 0; k < nrows * ncols; k++) {
            uint64_t i = rows[k / ncols], j = cols[k % ncols], bytes = 0;
            double value = 0;
            if (accumulate && oracle_get(&model, i, j, &bytes)) memcpy(&value, &bytes, sizeof value);
            value += 5;
            oracle_remove(&model, 1, &i, &j);
            oracle_insert(&model, 1, &i, &j, &value);
        }
        check_table(C);
        TEST_MATCHES(C, &model);
        if (maintain_transpose) {
            cr_assert(test_has_twin(C));
            TEST_TRANSPOSES(C, &model);
        }
        if (held && test_random_once_in(&random, 3)) {
            char why[TEST_WHY];
            cr_assert(test_view_matches(held, &held_model, 0, why), "a held view: %s", why);
            dcsr_view_destroy(held);
            oracle_destroy(&held_model);
            held = NULL;
        }
    }
    if (held) oracle_destroy(&held_model);
    dcsr_view_destroy(held);
    /* Nothing is left in the arena but what is stored. */
    TEST_OK(dcsr_matrix_defragment(C, DCSR_DEFRAGMENT_WHOLE, NULL));
    TEST_OK(dcsr_matrix_wait(C));
    dcsr_matrix_info info = test_info(C);
    cr_assert_eq(info.arena_entries, info.stored);
    oracle_destroy(&model);
    dcsr_matrix_destroy(C);
    test_close(context);
}

Test(result_keep, resolves_what_is_touched, .timeout = 300)
{
    static const dcsr_policy policies[] = {DCSR_POLICY_LAST, DCSR_POLICY_SUM, DCSR_POLICY_MAX};
    test_seeds seeds = test_seeds_from_environment((uint64_t)TEST_SIZE(20, 8, 4));
    for (uint64_t i = 0; i < seeds.rounds; i++) {
        uint64_t seed = seeds.first + i;
        test_seed_begins(seed);
        against_oracle(seed, policies[seed % 3], seed % 2);
    }
}

/* Duplicates of a policy that keeps them are shared as well, and rows that were written take some again. */
Test(result_keep, shares_rows_with_duplicates)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *C = test_matrix(context, DCSR_FP64, ROWS, COLS, DCSR_POLICY_KEEP);
    TEST_INSERT(C, {0, 1, 2}, {200, 7, 1});
    TEST_INSERT(C, {0, 1, 3}, {200, 7, 1});
    uint64_t row = 100, col = 2;
    TEST_OK(assign_five(C, &row, 1, &col, 1));
    TEST_SHOWS(C, {0, 1, 2}, {0, 1, 3}, {100, 2, 5}, {200, 7, 1}, {200, 7, 1});
    col = 3;
    TEST_OK(assign_five(C, &row, 1, &col, 1));
    TEST_INSERT(C, {0, 1, 1}, {100, 3, 1});
    TEST_SHOWS(C, {0, 1, 2}, {0, 1, 3}, {0, 1, 1}, {100, 2, 5}, {100, 3, 5}, {100, 3, 1}, {200, 7, 1},
               {200, 7, 1});
    check_table(C);
    dcsr_matrix_destroy(C);
    test_close(context);
}

/* A page may have rows that never had an entry, and no places for any. */
Test(result_keep, where_only_deletions_were)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *C = test_matrix(context, DCSR_FP64, ROWS, COLS, DCSR_POLICY_LAST);
    TEST_INSERT(C, {0, 1, 2});
    TEST_REMOVE(C, {140, 1, 0}, {141, 2, 0});
    const uint64_t rows[] = {140, 180}, col = 1;
    TEST_OK(assign_five(C, rows, 2, &col, 1));
    TEST_SHOWS(C, {0, 1, 2}, {140, 1, 5}, {180, 1, 5});
    check_table(C);
    dcsr_matrix_destroy(C);
    test_close(context);
}

/* All rows of a page at once, in several segments each. */
static dcsr_status write_page(dcsr_matrix *C, void *user)
{
    uint32_t lengths[DCSR_I_PAGE_ROWS];
    dcsr_i_result result;
    dcsr_i_room room;
    (void)user;
    dcsr_status status = dcsr_i_result_begin(&result, C, 1, DCSR_I_PAGE_ROWS, true);
    if (status != DCSR_OK) return status;
    status = dcsr_i_result_room(&result, 0, DCSR_I_PAGE_ROWS, &room);
    for (uint32_t r = 0; status == DCSR_OK && r < DCSR_I_PAGE_ROWS; r++) {
        lengths[r] = 1;
        room.columns[r] = r % COLS;
        ((double *)room.values)[r] = r;
    }
    if (status == DCSR_OK) status = dcsr_i_result_add(&result, 0, 64, DCSR_I_PAGE_ROWS, lengths);
    if (status == DCSR_OK) return dcsr_i_result_publish(&result);
    dcsr_i_result_drop(&result);
    return status;
}

Test(result_keep, a_page_at_once)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *C = test_matrix(context, DCSR_FP64, ROWS, COLS, DCSR_POLICY_LAST);
    test_random random = {9};
    if (test_on_device(context)) cr_skip_test("results are collected there");
    for (int batch = 0; batch < 5; batch++) change(C, NULL, &random, 900);
    dense expected = dense_of_matrix(C);
    for (uint64_t r = 0; r < DCSR_I_PAGE_ROWS; r++) {
        memset(expected.has + dense_at(&expected, 64 + r, 0), 0, COLS * sizeof *expected.has);
        dense_set(&expected, 64 + r, r % COLS, (double)r);
    }
    TEST_OK(dcsr_i_result_turn(C, "write", write_page, NULL));
    dense found = dense_of_matrix(C);
    dense_compare(&found, &expected, "a page");
    check_table(C);
    dense_free(&found), dense_free(&expected);
    dcsr_matrix_destroy(C);
    test_close(context);
}

/* A mask or an accumulator that reaches few rows. */
Test(result_keep, by_mask_and_accumulator)
{
    dcsr_context *context = test_context(2);
    dcsr_matrix *C = test_matrix(context, DCSR_FP64, ROWS, COLS, DCSR_POLICY_LAST),
                *A = test_matrix(context, DCSR_FP64, ROWS, COLS, DCSR_POLICY_LAST),
                *M = test_matrix(context, DCSR_BOOL, ROWS, COLS, DCSR_POLICY_LAST);
    test_random random = {5};
    change(C, NULL, &random, 800);
    TEST_INSERT(A, {1, 2, 7}, {130, 3, 8}, {130, 4, 9}, {240, 39, 1});
    TEST_INSERT(M, {1, 2, 1}, {2, 2, 1}, {130, 4, 0}, {240, 5, 1});
    dcsr_view *a = test_view(A, DCSR_LAYOUT_SEGMENTS, 0), *m = test_view(M, DCSR_LAYOUT_SEGMENTS, 0);
    const dcsr_unary_op *identity = dcsr_unary_op_of(DCSR_UNARY_IDENTITY, DCSR_FP64);
    dense expected = dense_of_matrix(C), T = dense_of_matrix(A), mask = dense_of_matrix(M);
    const dcsr_desc how = {.mask_structure = false};
    const dcsr_i_row_page *kept = test_on_device(context) ? NULL : dcsr_i_page(C->versions.current, 1);
    for (int k = 0; k < 3; k++) {
        bool masked = k != 1, accumulate = k != 0;
        TEST_OK(dcsr_matrix_apply(C, masked ? m : NULL, accumulate ? plus() : NULL, identity, a, &how));
        dense_write(&expected, masked ? &mask : NULL, accumulate ? add : NULL, DCSR_FP64, &how, &T);
        dense found = dense_of_matrix(C);
        dense_compare(&found, &expected, masked ? "through a mask" : "accumulated");
        dense_free(&found);
        if (kept) cr_assert_eq(dcsr_i_page(C->versions.current, 1), kept);
        check_table(C);
    }
    dense_free(&expected), dense_free(&T), dense_free(&mask);
    dcsr_view_destroy(a), dcsr_view_destroy(m);
    dcsr_matrix_destroy(A), dcsr_matrix_destroy(M), dcsr_matrix_destroy(C);
    test_close(context);
}

/* ---- Memory ---- */

/* Each allocation fails in turn; C stays as it was until none does. */
Test(result_keep, memory_that_runs_out, .timeout = 300)
{
    dcsr_context *context = test_context(2);
    dcsr_matrix *C = test_matrix(context, DCSR_FP64, ROWS, COLS, DCSR_POLICY_SUM);
    test_random random = {3};
    for (int batch = 0; batch < 4; batch++) change(C, NULL, &random, 700);
    dense before = dense_of_matrix(C);
    const uint64_t rows[] = {1, 2, 3, 60, 63, 64, 65, 100, 127, 128, 200, 241}, cols[] = {0, 9, 11, 30};
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    long n = 0;
    for (; status != DCSR_OK; n++) {
        dcsr_i_fail_allocations_after(n);
        status = assign_five(C, rows, 12, cols, 4);
        dcsr_i_fail_allocations_after(-1);
        cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY);
        dense after = dense_of_matrix(C);
        if (status != DCSR_OK) dense_compare(&after, &before, "after a failure");
        dense_free(&after);
        check_table(C);
    }
    cr_assert_gt(n, 5);
    dense_free(&before);
    TEST_OK(dcsr_matrix_defragment(C, DCSR_DEFRAGMENT_WHOLE, NULL));
    TEST_OK(dcsr_matrix_wait(C));
    cr_assert_eq(test_info(C).arena_entries, test_info(C).stored);
    dcsr_matrix_destroy(C);
    test_close(context);
}

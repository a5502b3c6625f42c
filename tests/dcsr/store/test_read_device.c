/* test_read_device.c: single entries, rows and measures of a matrix on a device, against an oracle: rows that
 * are longer than what a warp looks at together, places that stand many times, with deletions between, under
 * every policy. */
#include "dcsr/base/alloc.h"
#include "tests/support/support_device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 100, COLS = 12, LONG = 60 };

/* Small numbers into few columns of few rows, so that most places stand several times. */
static void change(dcsr_matrix *matrix, oracle *model, test_random *random, bool insert, size_t n)
{
    size_t size = dcsr_type_size(model->type);
    uint64_t *rows = test_allocate(n, sizeof *rows), *cols = test_allocate(n, sizeof *cols);
    char *values = size ? test_allocate(n, size) : NULL;
    for (size_t i = 0; i < n; i++) {
        rows[i] = test_random_once_in(random, 3) ? LONG : test_random_below(random, ROWS);
        cols[i] = test_random_below(random, COLS);
        if (size)
            test_encode(model->type, (double)test_random_below(random, model->type == DCSR_BOOL ? 2 : 9),
                        values + i * size);
    }
    if (insert) {
        TEST_OK(dcsr_matrix_insert(matrix, n, rows, cols, values, NULL));
        oracle_insert(model, n, rows, cols, values);
    } else {
        TEST_OK(dcsr_matrix_remove(matrix, n, rows, cols, NULL));
        oracle_remove(model, n, rows, cols);
    }
    TEST_OK(dcsr_matrix_wait(matrix));
    free(rows);
    free(cols);
    free(values);
}

/* All places at once, `times` over. */
static void check_places(dcsr_matrix *matrix, const oracle *model, size_t times)
{
    size_t n = times * ROWS * COLS, size = dcsr_type_size(model->type);
    uint64_t *rows = test_allocate(n, sizeof *rows), *cols = test_allocate(n, sizeof *cols);
    char *values = test_allocate(n, 8);
    bool *stored = test_allocate(n, 1);
    for (size_t i = 0; i < n; i++) rows[i] = i / COLS % ROWS, cols[i] = i % COLS;
    memset(values, 0xa5, n * 8);
    TEST_OK(dcsr_matrix_get_many(matrix, n, rows, cols, size ? values : NULL, stored));
    for (size_t i = 0; i < n; i++) {
        uint64_t wanted = oracle_value(model->type, "\xa5\xa5\xa5\xa5\xa5\xa5\xa5\xa5", 0);
        cr_assert(stored[i] == oracle_get(model, rows[i], cols[i], &wanted), "(%zu, %zu) of %s, policy %d",
                  (size_t)rows[i], (size_t)cols[i], dcsr_type_name(model->type), (int)model->policy);
        cr_assert(!size || oracle_value(model->type, values, i) == wanted, "(%zu, %zu) of %s, policy %d",
                  (size_t)rows[i], (size_t)cols[i], dcsr_type_name(model->type), (int)model->policy);
    }
    free(rows), free(cols), free(values), free(stored);
}

Test(read_device, looks_up_what_policies_leave)
{
    open_device();
    test_random random = {2};
    for (int type = 0; type < DCSR_TYPE_COUNT; type++) {
        /* All policies with one type, each type with one at least. */
        int first = type == DCSR_INT32 ? DCSR_POLICY_KEEP : DCSR_POLICY_KEEP + type % 6;
        int last = type == DCSR_INT32 ? DCSR_POLICY_ANY : first;
        for (int policy = first; policy <= last; policy++) {
            oracle model;
            dcsr_matrix *matrix = test_matrix(context, (dcsr_type)type, ROWS, COLS, (dcsr_policy)policy);
            oracle_create(&model, (dcsr_type)type, (dcsr_policy)policy, ROWS, COLS);
            check_places(matrix, &model, 1);
            for (int b = 0; b < 5; b++) {
                change(matrix, &model, &random, true, 150);
                if (b % 2) change(matrix, &model, &random, false, 40);
                check_places(matrix, &model, 1);
            }
            oracle_destroy(&model);
            dcsr_matrix_destroy(matrix);
        }
    }
    close_device();
}

/* More than are asked for together. */
Test(read_device, looks_up_many)
{
    open_device();
    test_random random = {4};
    oracle model;
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT16, ROWS, COLS, DCSR_POLICY_SUM);
    oracle_create(&model, DCSR_INT16, DCSR_POLICY_SUM, ROWS, COLS);
    change(matrix, &model, &random, true, 1500);
    check_places(matrix, &model, 28);
    oracle_destroy(&model);
    dcsr_matrix_destroy(matrix);
    close_device();
}

Test(read_device, measures_rows)
{
    static const uint64_t sizes[] = {0, 1, 33, 1024, 1025, 2500};
    open_device();
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        uint64_t n = sizes[s], nnz = 0, longest = 0, used_rows = 0;
        dcsr_matrix *matrix = test_matrix(context, DCSR_PATTERN, n, 50, DCSR_POLICY_KEEP);
        uint64_t *rows = test_allocate(8 * n + 40, sizeof *rows),
                 *cols = test_allocate(8 * n + 40, sizeof *cols);
        double squares = 0;
        for (uint64_t r = 0; r < n; r++) {
            uint64_t length = r % 7 + (r == n / 2 ? 40 : 0);
            for (uint64_t e = 0; e < length; e++) rows[nnz] = r, cols[nnz++] = e;
            longest = length > longest ? length : longest;
            used_rows += length != 0;
        }
        for (uint64_t r = 0; r < n; r++) {
            double away = (double)(r % 7 + (r == n / 2 ? 40 : 0)) - (double)nnz / (double)n;
            squares += away * away;
        }
        TEST_OK(dcsr_matrix_insert(matrix, nnz, rows, cols, NULL, NULL));
        TEST_OK(dcsr_matrix_wait(matrix));
        for (int layout = DCSR_LAYOUT_SEGMENTS; layout <= DCSR_LAYOUT_CSR; layout++) {
            dcsr_view *view = test_view(matrix, (dcsr_layout)layout, 0);
            dcsr_view_info info = test_view_info(view), again = test_view_info(view);
            cr_assert(info.nnz == nnz && info.max_row == longest && info.segments == used_rows);
            cr_assert(!n || fabs(info.row_std - sqrt(squares / (double)n)) <= 1e-12 * (1 + info.row_std));
            cr_assert(info.row_std == again.row_std, "the same bits each time");
            dcsr_view_destroy(view);
        }
        free(rows);
        free(cols);
        dcsr_matrix_destroy(matrix);
    }
    close_device();
}

/* Calls number `which` on the view; what it gives goes to result. */
static dcsr_status call(int which, dcsr_view *view, uint64_t *result)
{
    uint64_t row = LONG, col = 3;
    switch (which) {
    case 0:
        return dcsr_view_get_many(view, 1, &row, &col, &result[0], (bool *)&result[1]);
    case 1:
        return dcsr_view_get_info(view, (dcsr_view_info *)result);
    default:
        return dcsr_view_get_row(view, LONG, 2, (uint32_t *)&result[0], &result[1], &result[3]);
    }
}

Test(read_device, fails_cleanly_without_memory)
{
    open_device();
    test_random random = {6};
    oracle model;
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT64, ROWS, COLS, DCSR_POLICY_KEEP);
    oracle_create(&model, DCSR_INT64, DCSR_POLICY_KEEP, ROWS, COLS);
    change(matrix, &model, &random, true, 400);
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    for (int which = 0; which < 3; which++) {
        uint64_t result[16], untouched[16], scratch = used(DCSR_I_SCRATCH);
        dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
        long n = 0;
        cr_assert(sizeof(dcsr_view_info) <= sizeof result);
        memset(result, 0xa5, sizeof result);
        memset(untouched, 0xa5, sizeof untouched);
        for (; status != DCSR_OK; n++) {
            cr_assert(!memcmp(result, untouched, sizeof result), "call %d after %ld", which, n);
            cr_assert(used(DCSR_I_SCRATCH) == scratch, "call %d after %ld", which, n);
            dcsr_i_fail_allocations_after(n);
            status = call(which, view, result);
            dcsr_i_fail_allocations_after(-1);
            cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY);
        }
        cr_assert(n > 1 && memcmp(result, untouched, sizeof result), "call %d", which);
    }
    dcsr_view_destroy(view);
    oracle_destroy(&model);
    dcsr_matrix_destroy(matrix);
    close_device();
}

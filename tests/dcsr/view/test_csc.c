/* test_csc.c: the transpose that a view gives without its matrix maintaining one: CSC views and what
 * operations walk. */
#include "tests/support/support_transposed.h"

#include "dcsr/base/alloc.h"
#include "dcsr/view/view_data.h"
#include <stdlib.h>
#include <string.h>

static dcsr_csc csc_of(dcsr_view *view)
{
    dcsr_csc csc;
    TEST_OK(dcsr_view_get_csc_on_host(view, &csc));
    return csc;
}

static void insert_random(dcsr_matrix *matrix, oracle *model, test_random *random, size_t n)
{
    uint64_t *rows = test_allocate(n, sizeof *rows), *cols = test_allocate(n, sizeof *cols);
    size_t size = dcsr_type_size(model->type);
    char *values = test_allocate(n, 8);
    for (size_t i = 0; i < n; i++) {
        rows[i] = test_random_below(random, model->rows);
        cols[i] = test_random_below(random, test_random_below(random, model->cols) + 1);
        test_encode(model->type, (double)test_random_below(random, model->type == DCSR_BOOL ? 2 : 100),
                    values + i * size);
    }
    TEST_OK(dcsr_matrix_insert(matrix, n, rows, cols, size ? values : NULL, NULL));
    oracle_insert(model, n, rows, cols, values);
    TEST_OK(dcsr_matrix_wait(matrix));
    free(rows);
    free(cols);
    free(values);
}

Test(csc, shows_columns)
{
    dcsr_context *context = test_context(2);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 3, 4, DCSR_POLICY_LAST);
    TEST_INSERT(matrix, {2, 1, 21}, {0, 3, 3}, {0, 1, 1}, {1, 3, 13}, {2, 3, 23});
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_CSC, 0);
    dcsr_csc csc = csc_of(view);
    cr_assert(csc.rows == 3 && csc.cols == 4 && csc.nnz == 5 && csc.type == DCSR_FP64);
    cr_assert(!memcmp(csc.offsets, (uint64_t[]){0, 0, 2, 2, 5}, 5 * sizeof *csc.offsets));
    cr_assert(!memcmp(csc.row_indices, (uint32_t[]){0, 2, 0, 1, 2}, 5 * sizeof *csc.row_indices));
    cr_assert(!memcmp(csc.values, (double[]){1, 21, 3, 13, 23}, 5 * sizeof(double)));
    /* It is read by rows as well. */
    TEST_VIEW_SHOWS(view, {0, 1, 1}, {0, 3, 3}, {1, 3, 13}, {2, 1, 21}, {2, 3, 23});
    uint64_t row = 2, col = 1;
    double value = 0;
    bool stored = false;
    TEST_OK(dcsr_view_get_many(view, 1, &row, &col, &value, &stored));
    cr_assert(stored && value == 21);
    dcsr_view_info info = test_view_info(view);
    cr_assert(info.layout == DCSR_LAYOUT_CSC && info.rows == 3 && info.cols == 4 && info.nnz == 5 &&
              info.max_row == 2 && !info.lent);
    /* It goes on showing its version. */
    TEST_REMOVE(matrix, {2, 1, 0});
    TEST_INSERT(matrix, {0, 0, 7});
    dcsr_csc again = csc_of(view);
    cr_assert(again.offsets == csc.offsets && again.nnz == 5);
    dcsr_view *newer = test_view(matrix, DCSR_LAYOUT_CSC, 0);
    csc = csc_of(newer);
    cr_assert(!memcmp(csc.offsets, (uint64_t[]){0, 1, 2, 2, 5}, 5 * sizeof *csc.offsets));
    cr_assert(!memcmp(csc.values, (double[]){7, 1, 3, 13, 23}, 5 * sizeof(double)));
    dcsr_matrix_destroy(matrix);
    cr_assert(csc_of(newer).row_indices[0] == 0 && csc_of(view).row_indices[1] == 2);
    dcsr_view_destroy(newer);
    dcsr_view_destroy(view);
    test_close(context);
}

Test(csc, has_its_arrays_where_the_matrix_is)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT32, 3, 3, DCSR_POLICY_LAST);
    TEST_INSERT(matrix, {1, 0, 4}, {0, 2, 5});
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_CSC, 0);
    dcsr_csc lent, host = csc_of(view);
    TEST_OK(dcsr_view_get_csc(view, &lent));
    cr_assert(lent.rows == 3 && lent.cols == 3 && lent.nnz == 2 && lent.type == DCSR_INT32);
    cr_assert((lent.offsets == host.offsets) == !test_on_device(context));
    if (test_on_device(context)) {
        dcsr_i_csr *copy;
        dcsr_i_rows rows = matrix->engine->rows_of_csr(view->form[DCSR_I_TRANSPOSED].csr);
        cr_assert(rows.on_device);
        TEST_OK(matrix->engine->download(&copy, context, &rows));
        cr_assert(!memcmp(copy->offsets, (uint64_t[]){0, 1, 1, 2}, 4 * sizeof *copy->offsets));
        cr_assert(!memcmp(copy->columns, (uint32_t[]){1, 0}, 2 * sizeof *copy->columns));
        cr_assert(!memcmp(copy->values, (int32_t[]){4, 5}, 2 * sizeof(int32_t)));
        dcsr_i_csr_release(copy);
    }
    dcsr_csr csr;
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "DCSR_LAYOUT_CSR", dcsr_view_get_csr(view, &csr));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "csc is NULL", dcsr_view_get_csc(view, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "the view is NULL", dcsr_view_get_csc(NULL, &lent));
    dcsr_view *segments = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "DCSR_LAYOUT_CSC", dcsr_view_get_csc(segments, &lent));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_view_get_csc_on_host",
                 dcsr_view_get_csc_on_host(segments, &lent));
    dcsr_view *none;
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "layout 4",
                 dcsr_view_create(&none, matrix, (dcsr_layout)(DCSR_LAYOUT_NUT + 1), 0));
    cr_assert_null(none);
    dcsr_view_destroy(segments);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(csc, of_nothing)
{
    static const uint64_t sizes[][2] = {{0, 0}, {0, 5}, {5, 0}, {1, 1}, {70, 130}};
    dcsr_context *context = test_context(2);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        oracle model;
        oracle_create(&model, DCSR_FP32, DCSR_POLICY_LAST, sizes[i][0], sizes[i][1]);
        dcsr_matrix *matrix = test_matrix(context, DCSR_FP32, sizes[i][0], sizes[i][1], DCSR_POLICY_LAST);
        TEST_TRANSPOSES(matrix, &model);
        dcsr_matrix_destroy(matrix);
        oracle_destroy(&model);
    }
    test_close(context);
}

Test(csc, of_every_type)
{
    dcsr_context *context = test_context(2);
    test_random random = {1};
    for (int type = 0; type < DCSR_TYPE_COUNT; type++) {
        dcsr_policy policy = type == DCSR_PATTERN ? DCSR_POLICY_ANY : DCSR_POLICY_SUM;
        oracle model;
        oracle_create(&model, (dcsr_type)type, policy, 90, 70);
        dcsr_matrix *matrix = test_matrix(context, (dcsr_type)type, 90, 70, policy);
        for (int batch = 0; batch < 3; batch++) insert_random(matrix, &model, &random, 300);
        TEST_TRANSPOSES(matrix, &model);
        dcsr_view *view = test_view(matrix, DCSR_LAYOUT_CSC, 0);
        char why[TEST_WHY];
        cr_assert(test_view_matches(view, &model, 0, why), "%s", why);
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(matrix);
        oracle_destroy(&model);
    }
    test_close(context);
}

Test(csc, under_every_policy)
{
    dcsr_context *context = test_context(2);
    test_random random = {2};
    for (int policy = DCSR_POLICY_KEEP; policy < DCSR_POLICY_COUNT; policy++) {
        oracle model;
        oracle_create(&model, DCSR_INT64, (dcsr_policy)policy, 60, 40);
        dcsr_matrix *matrix = test_matrix(context, DCSR_INT64, 60, 40, (dcsr_policy)policy);
        for (int batch = 0; batch < 4; batch++) insert_random(matrix, &model, &random, 400);
        uint64_t row[] = {3, 5, 7}, col[] = {0, 1, 2};
        TEST_OK(dcsr_matrix_remove(matrix, 3, row, col, NULL));
        oracle_remove(&model, 3, row, col);
        TEST_OK(dcsr_matrix_wait(matrix));
        TEST_TRANSPOSES(matrix, &model);
        dcsr_matrix_destroy(matrix);
        oracle_destroy(&model);
    }
    test_close(context);
}

/* What flags let show stands in the columns too. */
Test(csc, keeps_duplicates_that_show)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix;
    dcsr_matrix_options options = {
        .policy = DCSR_POLICY_SUM, .defragmentation = DCSR_DEFRAGMENT_OFF, .resolve = DCSR_RESOLVE_ON_READ};
    TEST_OK(dcsr_matrix_create(&matrix, context, DCSR_FP64, 4, 4, &options));
    TEST_INSERT(matrix, {1, 2, 1}, {3, 2, 10});
    TEST_INSERT(matrix, {1, 2, 2});
    dcsr_view *plain = test_view(matrix, DCSR_LAYOUT_CSC, 0);
    dcsr_view *twice = test_view(matrix, DCSR_LAYOUT_CSC, DCSR_VIEW_DUPLICATES);
    dcsr_view *sorted = test_view(matrix, DCSR_LAYOUT_CSC, DCSR_VIEW_DUPLICATES | DCSR_VIEW_SORTED);
    dcsr_csc one = csc_of(plain), two = csc_of(twice), three = csc_of(sorted);
    cr_assert(one.nnz == 2 && !memcmp(one.values, (double[]){3, 10}, 2 * sizeof(double)));
    cr_assert(two.nnz == 3 && !memcmp(two.values, (double[]){1, 2, 10}, 3 * sizeof(double)));
    cr_assert(!memcmp(two.row_indices, (uint32_t[]){1, 1, 3}, 3 * sizeof(uint32_t)));
    cr_assert(three.nnz == test_view_info(sorted).nnz);
    dcsr_view_destroy(plain);
    dcsr_view_destroy(twice);
    dcsr_view_destroy(sorted);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* Views of the newest version share one, of which each has a copy of its own where it is on a device; the
 * next version lets go of it. */
Test(csc, is_shared)
{
    dcsr_context *context = test_context(1);
    const bool here = !test_on_device(context);
    dcsr_matrix *matrix = test_matrix(context, DCSR_PATTERN, 8, 8, DCSR_POLICY_ANY);
    TEST_INSERT(matrix, {1, 2, 1}, {3, 2, 1}, {5, 0, 1});
    dcsr_view *a = test_view(matrix, DCSR_LAYOUT_CSR, 0), *b = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    cr_assert(!dcsr_i_view_transpose_is_ready(a) && !dcsr_i_view_transpose_is_ready(b));
    const dcsr_i_rows *of_a, *of_b, *again;
    TEST_OK(dcsr_i_view_transposed(&of_a, a));
    cr_assert(dcsr_i_view_transpose_is_ready(a) && dcsr_i_view_transpose_is_ready(b) == here);
    TEST_OK(dcsr_i_view_transposed(&of_b, b));
    cr_assert((of_a->columns == of_b->columns) == here && (of_a->offsets == of_b->offsets) == here);
    TEST_OK(dcsr_i_view_transposed(&again, a));
    cr_assert(again == of_a);
    dcsr_view *c = test_view(matrix, DCSR_LAYOUT_CSC, 0), *e = test_view(matrix, DCSR_LAYOUT_CSC, 0);
    dcsr_csc of_c, of_e;
    TEST_OK(dcsr_view_get_csc(c, &of_c));
    TEST_OK(dcsr_view_get_csc(e, &of_e));
    cr_assert(of_c.row_indices == of_e.row_indices && (of_c.row_indices == of_a->columns) == here);
    TEST_INSERT(matrix, {0, 0, 1});
    dcsr_view *d = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    cr_assert(!dcsr_i_view_transpose_is_ready(d) && dcsr_i_view_transpose_is_ready(a));
    /* One that is made when the matrix is gone is the view's alone. */
    dcsr_matrix_destroy(matrix);
    TEST_OK(dcsr_i_view_transposed(&again, d));
    cr_assert(again->offsets[8] == 4 && of_a->offsets[8] == 3);
    dcsr_view *views[] = {a, b, c, d, e};
    for (size_t i = 0; i < 5; i++) dcsr_view_destroy(views[i]);
    test_close(context);
}

/* Enough entries for several threads: straight to few columns, and by buckets, of which the first are much
 * longer than the others. */
Test(csc, in_parallel)
{
    static const uint64_t widths[] = {3, 5000, 200000};
    enum { ROWS = 3000 };
    size_t n = (size_t)TEST_SIZE(560000, 120000, 120000);
    dcsr_context *context = test_context(3);
    test_random random = {3};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        dcsr_type type = i & 1 ? DCSR_INT16 : DCSR_FP64;
        oracle model;
        oracle_create(&model, type, DCSR_POLICY_KEEP, ROWS, widths[i]);
        dcsr_matrix *matrix = test_matrix(context, type, ROWS, widths[i], DCSR_POLICY_KEEP);
        insert_random(matrix, &model, &random, n);
        dcsr_view *view = test_view(matrix, DCSR_LAYOUT_CSC, 0);
        TEST_TRANSPOSE_MATCHES(view, &model, 0);
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(matrix);
        oracle_destroy(&model);
    }
    test_close(context);
}

/* With so many columns their offsets alone would take 16 GB. */
Test(csc, of_a_very_wide_matrix)
{
    dcsr_context *context = test_context(2);
    if (test_on_device(context)) {
        dcsr_context_destroy(context);
        cr_skip_test("a device has no other form for it");
    }
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT16, 100, DCSR_MAX_COLS, DCSR_POLICY_SUM);
    TEST_INSERT(matrix, {7, DCSR_MAX_COLS - 1, 1}, {99, 12345678, 2}, {3, DCSR_MAX_COLS - 1, 3}, {3, 0, 4});
    TEST_INSERT(matrix, {7, DCSR_MAX_COLS - 1, 5});
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    const dcsr_i_rows *rows;
    TEST_OK(dcsr_i_view_transposed(&rows, view));
    cr_assert(rows->rows == DCSR_MAX_COLS && rows->cols == 100 && dcsr_i_rows_entries(rows) == 4);
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    cr_assert(dcsr_i_rows_pieces(rows, DCSR_MAX_COLS - 1, pieces) == 1 && pieces[0].length == 2);
    const uint32_t *row = rows->columns + pieces[0].begin;
    const int16_t *value = (const int16_t *)rows->values + pieces[0].begin;
    cr_assert(row[0] == 3 && value[0] == 3 && row[1] == 7 && value[1] == 6);
    cr_assert(dcsr_i_rows_length(rows, 12345678) == 1 && dcsr_i_rows_length(rows, 0) == 1);
    cr_assert(dcsr_i_rows_length(rows, 1) == 0);
    dcsr_matrix_destroy(matrix);
    dcsr_view_destroy(view);
    test_close(context);
}

/* Every allocation fails in turn: the call says so, and nothing is lost or left behind. */
Test(csc, without_memory)
{
    dcsr_context *context = test_context(2);
    oracle model;
    test_random random = {4};
    oracle_create(&model, DCSR_FP64, DCSR_POLICY_SUM, 50, 60);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 50, 60, DCSR_POLICY_SUM);
    for (int batch = 0; batch < 2; batch++) insert_random(matrix, &model, &random, 200);
    int failures = 0;
    for (long n = 0;; n++, failures++) {
        dcsr_view *view = NULL;
        dcsr_i_fail_allocations_after(n);
        dcsr_status status = dcsr_view_create(&view, matrix, DCSR_LAYOUT_CSC, 0);
        dcsr_i_fail_allocations_after(-1);
        if (status == DCSR_OK) {
            TEST_TRANSPOSE_MATCHES(view, &model, 0);
            dcsr_view_destroy(view);
            break;
        }
        cr_assert(status == DCSR_ERROR_OUT_OF_MEMORY && !view, "%s", dcsr_thread_error());
    }
    cr_assert(failures > 8, "only %d allocations", failures);
    /* And of a view that exists. */
    insert_random(matrix, &model, &random, 10);
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    const dcsr_i_rows *rows;
    for (long n = 0;; n++) {
        dcsr_i_fail_allocations_after(n);
        dcsr_status status = dcsr_i_view_transposed(&rows, view);
        dcsr_i_fail_allocations_after(-1);
        if (status == DCSR_OK) break;
        TEST_STATUS(DCSR_ERROR_OUT_OF_MEMORY, status);
    }
    TEST_TRANSPOSE_MATCHES(view, &model, 0);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    oracle_destroy(&model);
    test_close(context);
}

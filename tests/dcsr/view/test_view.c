/* test_view.c: views by hand: what they show, for how long, and what they tell about it. */
#include "tests/support/support.h"
#include <unistd.h>

#include <stdlib.h>
#include <string.h>

static const dcsr_layout layouts[] = {DCSR_LAYOUT_SEGMENTS, DCSR_LAYOUT_CSR};

Test(view, shows_one_version_while_the_matrix_changes)
{
    dcsr_context *context = test_context(1);
    for (int i = 0; i < 2; i++) {
        dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 100, 5, DCSR_POLICY_LAST);
        TEST_INSERT(matrix, {0, 0, 1}, {70, 1, 2});
        dcsr_view *first = test_view(matrix, layouts[i], 0);
        TEST_INSERT(matrix, {0, 0, 10}, {0, 4, 20}, {99, 0, 30});
        dcsr_view *second = test_view(matrix, layouts[i], 0);
        TEST_REMOVE(matrix, {0, 0, 0}, {70, 1, 0});
        dcsr_view *third = test_view(matrix, layouts[i], 0);
        TEST_OK(dcsr_matrix_resize(matrix, 1, 3, NULL));
        TEST_OK(dcsr_matrix_wait(matrix));
        TEST_VIEW_SHOWS(first, {0, 0, 1}, {70, 1, 2});
        TEST_VIEW_SHOWS(second, {0, 0, 10}, {0, 4, 20}, {70, 1, 2}, {99, 0, 30});
        TEST_VIEW_SHOWS(third, {0, 4, 20}, {99, 0, 30});
        TEST_SHOWS_NOTHING(matrix);
        cr_assert(test_view_info(first).version < test_view_info(second).version);
        cr_assert(test_view_info(second).version < test_view_info(third).version);
        cr_assert(test_view_info(third).rows == 100 && test_view_info(third).cols == 5);
        dcsr_view_destroy(second);
        TEST_VIEW_SHOWS(first, {0, 0, 1}, {70, 1, 2});
        TEST_VIEW_SHOWS(third, {0, 4, 20}, {99, 0, 30});
        dcsr_view_destroy(first);
        dcsr_view_destroy(third);
        dcsr_matrix_destroy(matrix);
    }
    test_close(context);
}

/* What shares a view shows the same when that has been destroyed, in whatever order. */
Test(view, is_shared)
{
    dcsr_context *context = test_context(1);
    for (int i = 0; i < 2; i++) {
        dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 100, 5, DCSR_POLICY_LAST);
        TEST_INSERT(matrix, {0, 0, 1}, {70, 1, 2});
        dcsr_view *view = test_view(matrix, layouts[i], 0), *same, *third, *none = view;
        TEST_OK(dcsr_view_share(&same, view));
        TEST_OK(dcsr_view_share(&third, same));
        TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "same is NULL", dcsr_view_share(NULL, view));
        TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_view_share(&none, NULL));
        cr_assert_null(none);
        dcsr_view_destroy(view);
        TEST_REMOVE(matrix, {0, 0, 0}, {70, 1, 0});
        TEST_VIEW_SHOWS(same, {0, 0, 1}, {70, 1, 2});
        dcsr_view_destroy(same);
        TEST_VIEW_SHOWS(third, {0, 0, 1}, {70, 1, 2});
        dcsr_matrix_destroy(matrix);
        dcsr_view_destroy(third);
    }
    test_close(context);
}

/* Each view is made right behind an insertion that nobody has waited for. */
Test(view, shows_the_latest_when_asked)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 300, 300, DCSR_POLICY_SUM);
    const unsigned flags[] = {0, DCSR_VIEW_SORTED, DCSR_VIEW_DUPLICATES,
                              DCSR_VIEW_DUPLICATES | DCSR_VIEW_SORTED};
    oracle model;
    oracle_create(&model, DCSR_FP64, DCSR_POLICY_SUM, 300, 300);
    for (uint64_t k = 0; k < (uint64_t)TEST_SIZE(300, 200, 60); k++) {
        uint64_t row[30], col[30];
        double value[30];
        char why[TEST_WHY];
        for (uint64_t i = 0; i < 30; i++)
            row[i] = (k * 30 + i) * 7 % 300, col[i] = (k * 30 + i) * 11 % 301 % 300, value[i] = (double)i;
        TEST_OK(dcsr_matrix_insert(matrix, 30, row, col, value, NULL));
        oracle_insert(&model, 30, row, col, value);
        dcsr_view *view = test_view(matrix, (dcsr_layout)(k % 3), flags[k % 4] | DCSR_VIEW_LATEST);
        if (k % 4 < 2 && k % 10 < 2) cr_assert(test_view_matches(view, &model, flags[k % 4], why), "%s", why);
        dcsr_matrix_info info = test_info(matrix);
        cr_assert(test_view_info(view).version >= info.version || !info.pending_bytes);
        cr_assert_eq(info.inserted, (k + 1) * 30);
        dcsr_view_destroy(view);
    }
    oracle_destroy(&model);
    dcsr_matrix_destroy(matrix);
    dcsr_view *view;
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT,
                dcsr_view_create(&view, NULL, DCSR_LAYOUT_CSR, DCSR_VIEW_LATEST));
    matrix = test_matrix(context, DCSR_FP64, 3, 3, DCSR_POLICY_SUM);
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_view_create(&view, matrix, DCSR_LAYOUT_CSR, 8));
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(view, outlives_its_matrix)
{
    dcsr_context *context = test_context(1);
    for (int i = 0; i < 2; i++) {
        dcsr_matrix *matrix = test_matrix(context, DCSR_INT32, 3, 3, DCSR_POLICY_SUM);
        TEST_INSERT(matrix, {0, 0, 1}, {2, 1, 2}, {2, 1, 3});
        dcsr_view *view = test_view(matrix, layouts[i], 0);
        dcsr_matrix_destroy(matrix);
        TEST_VIEW_SHOWS(view, {0, 0, 1}, {2, 1, 5});
        dcsr_view_destroy(view);
    }
    test_close(context);
}

Test(view, of_an_empty_matrix_is_empty)
{
    dcsr_context *context = test_context(1);
    for (uint64_t rows = 0; rows <= 65; rows += 65) {
        dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, rows, 3, DCSR_POLICY_SUM);
        for (int i = 0; i < 2; i++) {
            dcsr_view *view = test_view(matrix, layouts[i], DCSR_VIEW_SORTED);
            dcsr_view_info info = test_view_info(view);
            cr_assert(info.type == DCSR_FP64 && info.layout == layouts[i] && info.rows == rows &&
                      info.cols == 3);
            cr_assert(info.nnz == 0 && info.segments == 0 && info.max_row == 0);
            cr_assert(info.mean_row == 0 && info.row_std == 0);
            dcsr_view_destroy(view);
        }
        dcsr_matrix_destroy(matrix);
    }
    dcsr_view_destroy(NULL);
    test_close(context);
}

Test(view, resolves_duplicates_unless_asked_not_to)
{
    dcsr_context *context = test_context(1);
    for (int i = 0; i < 2; i++) {
        dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 2, 9, DCSR_POLICY_SUM);
        TEST_INSERT(matrix, {0, 5, 1}, {1, 1, 1});
        TEST_INSERT(matrix, {0, 5, 2}, {0, 3, 4});
        dcsr_view *resolved = test_view(matrix, layouts[i], 0);
        dcsr_view *raw = test_view(matrix, layouts[i], DCSR_VIEW_DUPLICATES);
        TEST_VIEW_SHOWS(resolved, {0, 3, 4}, {0, 5, 3}, {1, 1, 1});
        cr_assert(test_view_info(resolved).nnz == 3);
        double sum = 0;
        uint32_t columns[4];
        double values[4];
        uint64_t length = 0;
        TEST_OK(dcsr_view_get_row(raw, 0, 4, columns, values, &length));
        cr_assert(length == 2 || length == 3);
        for (uint64_t e = 0; e < length; e++)
            if (columns[e] == 5) sum += values[e];
        cr_assert(sum == 3);
        dcsr_view_destroy(raw);
        dcsr_view_destroy(resolved);
        dcsr_matrix_destroy(matrix);
    }
    test_close(context);
}

Test(view, never_shows_what_was_deleted)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 3, 9, DCSR_POLICY_SUM);
    TEST_INSERT(matrix, {0, 5, 1}, {1, 1, 1}, {2, 2, 2});
    TEST_REMOVE(matrix, {0, 5, 0}, {2, 2, 0}, {2, 3, 0});
    TEST_INSERT(matrix, {2, 2, 7});
    for (int i = 0; i < 2; i++) {
        for (unsigned flags = 0; flags < 4; flags++) {
            dcsr_view *view = test_view(matrix, layouts[i], flags);
            TEST_VIEW_SHOWS(view, {1, 1, 1}, {2, 2, 7});
            dcsr_view_destroy(view);
        }
    }
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(view, sorts_columns_when_asked)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT8, 1, 200, DCSR_POLICY_KEEP);
    for (uint64_t i = 0; i < 100; i++)
        TEST_INSERT(matrix, {0, (i * 37 + 11) % 100 * 2, (double)i}, {0, 7, 1});
    for (int i = 0; i < 2; i++) {
        for (unsigned more = 0; more <= DCSR_VIEW_DUPLICATES; more++) {
            dcsr_view *view = test_view(matrix, layouts[i], DCSR_VIEW_SORTED | more);
            uint32_t columns[200];
            uint64_t length = 0;
            TEST_OK(dcsr_view_get_row(view, 0, 200, columns, NULL, &length));
            cr_assert(length == 200, "a sorted view of a matrix that keeps duplicates shows them");
            for (int e = 1; e < 200; e++) cr_assert(columns[e - 1] <= columns[e]);
            dcsr_view_destroy(view);
        }
    }
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(view, tells_about_its_rows)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_PATTERN, 4, 9, DCSR_POLICY_ANY);
    TEST_INSERT(matrix, {0, 1, 1}, {0, 2, 1}, {0, 3, 1}, {0, 4, 1}, {2, 0, 1}, {2, 8, 1}, {3, 1, 1},
                {3, 2, 1});
    for (int i = 0; i < 2; i++) {
        dcsr_view *view = test_view(matrix, layouts[i], 0);
        dcsr_view_info info = test_view_info(view);
        cr_assert(info.nnz == 8 && info.max_row == 4 && info.segments == 3);
        cr_assert(info.mean_row == 2);
        cr_assert(info.row_std * info.row_std > 1.999 && info.row_std * info.row_std < 2.001, "%g",
                  info.row_std);
        dcsr_view_destroy(view);
    }
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(view, of_csr_lends_three_arrays)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT32, 4, 9, DCSR_POLICY_LAST);
    TEST_INSERT(matrix, {3, 1, 31}, {0, 8, 8}, {0, 2, 2}, {2, 5, 25});
    TEST_INSERT(matrix, {2, 4, 24}, {0, 8, 80});
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
    const uint64_t offsets[] = {0, 2, 2, 4, 5};
    const uint32_t columns[] = {2, 8, 4, 5, 1};
    const int32_t values[] = {2, 80, 24, 25, 31};
    dcsr_csr csr, lent;
    TEST_OK(dcsr_view_get_csr_on_host(view, &csr));
    TEST_OK(dcsr_view_get_csr(view, &lent));
    cr_assert((lent.col_indices == csr.col_indices) == !test_on_device(context));
    cr_assert(lent.offsets && lent.values && lent.nnz == 5);
    cr_assert(csr.rows == 4 && csr.cols == 9 && csr.nnz == 5 && csr.type == DCSR_INT32);
    cr_assert(memcmp(csr.offsets, offsets, sizeof offsets) == 0);
    cr_assert(memcmp(csr.col_indices, columns, sizeof columns) == 0);
    cr_assert(memcmp(csr.values, values, sizeof values) == 0);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(view, of_csr_is_cached_while_its_version_is_the_newest)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT32, 4, 9, DCSR_POLICY_LAST);
    TEST_INSERT(matrix, {3, 1, 31}, {0, 8, 8});
    TEST_INSERT(matrix, {0, 8, 80});
    dcsr_view *one = test_view(matrix, DCSR_LAYOUT_CSR, 0), *two = test_view(matrix, DCSR_LAYOUT_CSR, 0);
    dcsr_csr first, second;
    TEST_OK(dcsr_view_get_csr(one, &first));
    TEST_OK(dcsr_view_get_csr(two, &second));
    cr_assert(first.col_indices == second.col_indices && first.offsets == second.offsets);
    TEST_INSERT(matrix, {0, 8, 800});
    TEST_SHOWS(matrix, {0, 8, 800}, {3, 1, 31});
    dcsr_view_destroy(one);
    TEST_VIEW_SHOWS(two, {0, 8, 80}, {3, 1, 31});
    dcsr_view_destroy(two);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(view, of_segments_has_no_csr_arrays)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT32, 4, 9, DCSR_POLICY_LAST);
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_csr csr;
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_view_get_csr(view, &csr));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_view_get_csr_on_host(view, &csr));
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(view, copies_as_much_of_a_row_as_there_is_room_for)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT16, 2, 9, DCSR_POLICY_LAST);
    TEST_INSERT(matrix, {1, 2, 2}, {1, 4, 4}, {1, 6, 6});
    TEST_INSERT(matrix, {1, 8, 8});
    for (int i = 0; i < 2; i++) {
        dcsr_view *view = test_view(matrix, layouts[i], DCSR_VIEW_SORTED);
        uint32_t columns[5] = {99, 99, 99, 99, 99};
        int16_t values[5] = {-1, -1, -1, -1, -1};
        uint64_t length = 7;
        TEST_OK(dcsr_view_get_row(view, 0, 5, columns, values, &length));
        cr_assert(length == 0 && columns[0] == 99);
        TEST_OK(dcsr_view_get_row(view, 1, 2, columns, values, &length));
        cr_assert(length == 4, "the length is that of the row, whatever the room");
        cr_assert(columns[0] == 2 && columns[1] == 4 && columns[2] == 99);
        cr_assert(values[0] == 2 && values[1] == 4 && values[2] == -1);
        TEST_OK(dcsr_view_get_row(view, 1, 5, NULL, values, &length));
        cr_assert(values[3] == 8 && values[4] == -1);
        TEST_OK(dcsr_view_get_row(view, 1, 5, columns, NULL, &length));
        cr_assert(columns[3] == 8 && columns[4] == 99);
        TEST_STATUS(DCSR_ERROR_INDEX_OUT_OF_RANGE, dcsr_view_get_row(view, 2, 0, NULL, NULL, &length));
        dcsr_piece pieces[DCSR_MAX_SEGMENTS];
        TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "row 2 of 2",
                     dcsr_view_get_pieces(view, 2, pieces, &(int){0}));
        dcsr_view_destroy(view);
    }
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(view, reads_places_of_its_own_version)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 5, 5, DCSR_POLICY_SUM);
    uint64_t rows[] = {1, 1, 4}, cols[] = {1, 2, 4};
    for (int i = 0; i < 2; i++) {
        TEST_INSERT(matrix, {1, 1, 10}, {4, 4, 1});
        TEST_INSERT(matrix, {1, 1, 1});
        dcsr_view *view = test_view(matrix, layouts[i], 0);
        double values[] = {-1, -1, -1};
        bool stored[3];
        TEST_REMOVE(matrix, {1, 1, 0}, {4, 4, 0});
        TEST_OK(dcsr_view_get_many(view, 3, rows, cols, values, stored));
        cr_assert(stored[0] && !stored[1] && stored[2]);
        cr_assert(values[0] == 11 && values[1] == -1 && values[2] == 1);
        cols[0] = 5;
        TEST_STATUS(DCSR_ERROR_INDEX_OUT_OF_RANGE, dcsr_view_get_many(view, 3, rows, cols, values, stored));
        cols[0] = 1;
        dcsr_view_destroy(view);
    }
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(view, is_counted_by_version)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 5, 5, DCSR_POLICY_SUM);
    TEST_INSERT(matrix, {1, 1, 10});
    dcsr_view *a = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0),
              *b = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    cr_assert(test_info(matrix).views == 1);
    TEST_INSERT(matrix, {1, 2, 10});
    dcsr_view *c = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    cr_assert(test_info(matrix).views == 2);
    dcsr_view_destroy(a);
    cr_assert(test_info(matrix).views == 2);
    dcsr_view_destroy(b);
    cr_assert(test_info(matrix).views == 1);
    dcsr_view_destroy(c);
    cr_assert(test_info(matrix).views == 0);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(view, gives_back_what_only_it_could_see)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 1, 1, DCSR_POLICY_LAST);
    enum { ENTRIES = TEST_EMULATOR ? 1 << 17 : 1 << 20 };
    TEST_OK(dcsr_matrix_resize(matrix, ENTRIES, 1, NULL));
    uint64_t *rows = test_allocate(ENTRIES, sizeof *rows), *cols = test_allocate(ENTRIES, sizeof *cols);
    double *values = test_allocate(ENTRIES, sizeof *values);
    for (uint64_t i = 0; i < ENTRIES; i++) rows[i] = i;
    TEST_OK(dcsr_matrix_insert(matrix, ENTRIES, rows, cols, values, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_matrix_resize(matrix, 0, 1, NULL));
    TEST_OK(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    uint64_t held = test_info(matrix).bytes;
    cr_assert(held >= ENTRIES * 12, "the view still needs its entries");
    dcsr_view_destroy(view);
    /* The system gets it back once the worker has been idle for a moment. */
    test_wait_for_bytes(matrix, held / 2 < ENTRIES * 12 ? held / 2 : ENTRIES * 12);
    free(rows);
    free(cols);
    free(values);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* test_changed_rows.c: which rows may differ between what two views show, beside their entries one by one. */
#include "dcsr/view/changed_rows.h"
#include "dcsr/base/alloc.h"
#include "tests/support/support.h"
#include <stdlib.h>
#include <string.h>

enum { ROWS = 700, COLS = 300, MOST_ENTRIES = 4 * COLS };

/* ---- What rows show ---- */

typedef struct shown_row {
    uint64_t n;
    uint32_t cols[MOST_ENTRIES];
    char values[MOST_ENTRIES * 8];
} shown_row;

static void read_row(shown_row *row, dcsr_view *view, uint64_t i)
{
    dcsr_piece pieces[DCSR_MAX_SEGMENTS];
    int count;
    const size_t size = dcsr_type_size(test_info(dcsr_i_view_matrix(view)).type);
    TEST_OK(dcsr_view_get_pieces(view, i, pieces, &count));
    row->n = 0;
    for (int p = 0; p < count; p++) {
        cr_assert_leq(row->n + pieces[p].length, MOST_ENTRIES);
        memcpy(row->cols + row->n, pieces[p].cols, pieces[p].length * sizeof *row->cols);
        if (size)
            memcpy(row->values + row->n * size, (const char *)pieces[p].values, pieces[p].length * size);
        row->n += pieces[p].length;
    }
}

static bool differ(dcsr_view *from, dcsr_view *to, uint64_t i)
{
    static shown_row a, b;
    const size_t size = dcsr_type_size(test_info(dcsr_i_view_matrix(from)).type);
    read_row(&a, from, i);
    read_row(&b, to, i);
    return a.n != b.n || memcmp(a.cols, b.cols, a.n * sizeof *a.cols) ||
           memcmp(a.values, b.values, a.n * size);
}

/* ---- What is found ---- */

/* Lists them; each is there once, and they ascend. */
static void list(dcsr_i_changed_rows *changed)
{
    TEST_OK(dcsr_i_changed_rows_list(changed));
    TEST_OK(dcsr_i_changed_rows_bring(changed));
    for (uint64_t i = 0; i < changed->count; i++) {
        cr_assert(changed->rows[i] < ROWS && (!i || changed->rows[i - 1] < changed->rows[i]));
    }
}

static bool is_listed(const dcsr_i_changed_rows *changed, uint64_t row)
{
    for (uint64_t i = 0; i < changed->count; i++)
        if (changed->rows[i] == row) return true;
    return false;
}

/* All rows that differ are found; once those that have only moved are dropped, no others are. */
static void check(dcsr_view *from, dcsr_view *to)
{
    dcsr_i_changed_rows all, left;
    TEST_OK(dcsr_i_changed_rows_open(&all, from, to));
    TEST_OK(dcsr_i_changed_rows_open(&left, from, to));
    TEST_OK(dcsr_i_changed_rows_drop_moved(&left));
    list(&left);
    list(&all);
    for (uint64_t i = 0; i < ROWS; i++) {
        const bool differs = differ(from, to, i);
        cr_assert(!differs || is_listed(&all, i), "row %llu is missing", (unsigned long long)i);
        cr_assert_eq(is_listed(&left, i), differs, "row %llu", (unsigned long long)i);
    }
    dcsr_i_changed_rows_close(&left);
    dcsr_i_changed_rows_close(&all);
}

static uint64_t count_changed(dcsr_view *from, dcsr_view *to)
{
    dcsr_i_changed_rows changed;
    TEST_OK(dcsr_i_changed_rows_open(&changed, from, to));
    const uint64_t count = changed.count;
    dcsr_i_changed_rows_close(&changed);
    return count;
}

/* ---- Changes ---- */

static void put(dcsr_matrix *matrix, test_random *random, uint64_t n, bool insert)
{
    enum { MOST = 2000 };
    static uint64_t rows[MOST], cols[MOST];
    static char values[MOST * 8];
    const dcsr_type type = test_info(matrix).type;
    const size_t size = dcsr_type_size(type);
    for (uint64_t i = 0; i < n; i++) {
        rows[i] = test_random_below(random, ROWS - 100); /* the last pages are empty for long */
        cols[i] = test_random_below(random, COLS);
        if (size) test_encode(type, (double)test_random_below(random, 2), values + i * size);
    }
    if (insert)
        TEST_OK(dcsr_matrix_insert(matrix, n, rows, cols, size ? values : NULL, NULL));
    else
        TEST_OK(dcsr_matrix_remove(matrix, n, rows, cols, NULL));
}

static void change(dcsr_matrix *matrix, test_random *random)
{
    switch (test_random_below(random, 8)) {
    case 0:
        TEST_OK(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
        break;
    case 1:
        TEST_OK(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_SELECTED, NULL));
        break;
    case 2:
        put(matrix, random, 300, false);
        break;
    case 3:
        put(matrix, random, 600, true);
        break;
    case 4:
        TEST_INSERT(matrix, {ROWS - 1, 3, 1});
        break;
    case 5: /* nothing, or the version alone changes */
        TEST_OK(dcsr_matrix_remove(matrix, 1, (uint64_t[]){ROWS - 2}, (uint64_t[]){1}, NULL));
        break;
    default:
        put(matrix, random, 1 + test_random_below(random, 5), test_random_below(random, 3));
    }
    TEST_OK(dcsr_matrix_wait(matrix));
}

/* ---- Tests ---- */

Test(changed_rows, are_those_that_differ)
{
    enum { KEPT = 4 };
    static const dcsr_layout layouts[] = {DCSR_LAYOUT_SEGMENTS, DCSR_LAYOUT_SEGMENTS, DCSR_LAYOUT_CSR};
    static const unsigned flags[] = {0, DCSR_VIEW_DUPLICATES, DCSR_VIEW_SORTED};
    static const dcsr_type types[] = {DCSR_PATTERN, DCSR_BOOL, DCSR_INT16, DCSR_FP64};
    static const dcsr_policy policies[] = {DCSR_POLICY_LAST, DCSR_POLICY_KEEP};
    dcsr_context *context = test_context(2);
    const int runs = TEST_SIZE(40, 12, 8);
    for (int run = 0; run < runs; run++) {
        test_random random = {1 + (uint64_t)run};
        dcsr_matrix *matrix = test_matrix(context, types[run % 4], ROWS, COLS, policies[run / 4 % 2]);
        dcsr_view *view[KEPT];
        for (int k = 0; k < KEPT; k++) {
            if (k == 0) put(matrix, &random, 2000, true);
            change(matrix, &random);
            const uint64_t kind = test_random_below(&random, 3);
            view[k] = test_view(matrix, layouts[kind], flags[test_random_below(&random, 3)]);
        }
        for (int k = 0; k < KEPT; k++) check(view[k], view[(k + 1) % KEPT]);
        check(view[0], view[2]);
        for (int k = 0; k < KEPT; k++) dcsr_view_destroy(view[k]);
        dcsr_matrix_destroy(matrix);
    }
    test_close(context);
}

/* Rows that nobody has written are not listed, in pages that were changed, either. */
Test(changed_rows, are_few_where_little_has_changed)
{
    dcsr_context *context = test_context(1);
    test_random random = {3};
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, ROWS, COLS, DCSR_POLICY_LAST);
    put(matrix, &random, 2000, true);
    TEST_OK(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    dcsr_view *before = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0),
              *lent = test_view(matrix, DCSR_LAYOUT_CSR, 0);
    TEST_INSERT(matrix, {5, 5, 7}, {6, 5, 7}, {400, 1, 7}, {ROWS - 1, 1, 7});
    TEST_OK(dcsr_matrix_wait(matrix));
    dcsr_view *after = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    cr_assert_eq(count_changed(before, before), 0);
    cr_assert_eq(count_changed(before, lent), 0);
    cr_assert_eq(count_changed(before, after), 4);
    cr_assert_eq(count_changed(lent, after), 4);
    cr_assert_eq(count_changed(after, before), 4);
    dcsr_view_destroy(before);
    dcsr_view_destroy(lent);
    dcsr_view_destroy(after);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(changed_rows, of_matrices_without_entries)
{
    dcsr_context *context = test_context(1);
    static const uint64_t rows[] = {0, 1, 65, 100000};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dcsr_matrix *matrix = test_matrix(context, DCSR_FP32, rows[i], COLS, DCSR_POLICY_LAST);
        dcsr_view *before = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
        if (rows[i]) TEST_INSERT(matrix, {rows[i] - 1, 2, 1});
        TEST_OK(dcsr_matrix_wait(matrix));
        dcsr_view *after = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
        cr_assert_eq(count_changed(before, after), rows[i] > 0);
        cr_assert_eq(count_changed(after, before), rows[i] > 0);
        dcsr_view_destroy(before);
        dcsr_view_destroy(after);
        dcsr_matrix_destroy(matrix);
    }
    test_close(context);
}

static dcsr_status find(dcsr_i_changed_rows *changed, dcsr_view *from, dcsr_view *to)
{
    dcsr_status status = dcsr_i_changed_rows_open(changed, from, to);
    if (status) return status;
    status = dcsr_i_changed_rows_drop_moved(changed);
    if (!status) status = dcsr_i_changed_rows_list(changed);
    if (!status) status = dcsr_i_changed_rows_bring(changed);
    dcsr_i_changed_rows_close(changed);
    return status;
}

/* Each allocation fails in turn, and nothing is left of what was taken before. */
Test(changed_rows, without_memory_leave_nothing_behind)
{
    dcsr_context *context = test_context(1);
    test_random random = {3};
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, ROWS, COLS, DCSR_POLICY_LAST);
    put(matrix, &random, 2000, true);
    TEST_OK(dcsr_matrix_wait(matrix));
    dcsr_view *from = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    put(matrix, &random, 20, true);
    TEST_OK(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    dcsr_view *to = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    const uint64_t scratch = test_context_info(context).scratch_bytes;
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    long n = 0;
    for (; status; n++) {
        dcsr_i_changed_rows changed;
        dcsr_i_fail_allocations_after(n);
        status = find(&changed, from, to);
        dcsr_i_fail_allocations_after(-1);
        cr_assert(!status || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
        cr_assert_eq(test_context_info(context).scratch_bytes, scratch, "after %ld", n);
    }
    cr_assert_gt(n, test_on_device(context) ? 8 : 3);
    dcsr_view_destroy(from);
    dcsr_view_destroy(to);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

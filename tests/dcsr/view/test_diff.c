/* test_diff.c: what differs between two versions, by hand; what telling costs, and when it fails. */
#include "dcsr/base/alloc.h"
#include "tests/support/support_diff.h"
#include <dcsr/assign.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const dcsr_layout layouts[] = {DCSR_LAYOUT_SEGMENTS, DCSR_LAYOUT_CSR, DCSR_LAYOUT_CSC};

/* ---- By hand ---- */

/* As in the oracle: values as doubles; `old` is that of a removed entry and the old one of a changed entry. */
typedef struct expected {
    uint64_t row, col;
    double old, new;
} expected;

static bool list_is(const dcsr_diff_list *list, dcsr_type type, size_t n, const expected *e)
{
    size_t size = dcsr_type_size(type);
    const char *old = list->old_values, *new = list->new_values;
    if (list->nnz != n) return false;
    for (size_t i = 0; i < n; i++) {
        if (list->row_indices[i] != e[i].row || list->col_indices[i] != e[i].col) return false;
        if (size && old && test_decode(type, old + i * size) != e[i].old) return false;
        if (size && new &&test_decode(type, new + i *size) != e[i].new) return false;
    }
    return true;
}
#define EXPECTED(...)                                                  \
    sizeof((expected[]){__VA_ARGS__}) / sizeof(expected), (expected[]) \
    {                                                                  \
        __VA_ARGS__                                                    \
    }
#define LIST_IS(list, type, ...) cr_assert(list_is(list, type, EXPECTED(__VA_ARGS__)), #list)

static bool rows_are(const dcsr_diff *diff, uint64_t n, const uint64_t *rows)
{
    dcsr_index_list list;
    TEST_OK(dcsr_diff_get_rows(diff, &list));
    return list.n == n && info_of(diff).rows_differing == n &&
           (!n || !memcmp(list.indices, rows, n * sizeof *rows));
}

static bool is_empty(const dcsr_diff *diff)
{
    dcsr_diff_entries e = entries_of(diff);
    return rows_are(diff, 0, NULL) && !e.inserted.nnz && !e.removed.nnz && !e.changed.nnz;
}

Test(diff, lists_what_was_inserted_removed_and_changed)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 300, 9, DCSR_POLICY_LAST);
    TEST_INSERT(matrix, {0, 1, 1}, {5, 2, 2}, {5, 8, 3}, {200, 0, 4}, {200, 1, 5});
    dcsr_view *from = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_INSERT(matrix, {5, 8, 30}, {299, 3, 6}, {5, 0, 7});
    TEST_REMOVE(matrix, {200, 0, 0}, {0, 0, 0});
    dcsr_view *to = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_diff *diff = diff_of(from, to), *back = diff_of(to, from), *positions;
    TEST_OK(dcsr_view_diff_positions(&positions, from, to));
    dcsr_view_destroy(from);
    dcsr_diff_info info = info_of(diff);
    cr_assert(info.type == DCSR_FP64 && info.from_version < info.to_version);
    cr_assert_eq(info.to_version, test_view_info(to).version);
    dcsr_view_destroy(to);
    dcsr_matrix_destroy(matrix);
    dcsr_diff_entries e = entries_of(diff), b = entries_of(back);
    cr_assert(e.type == DCSR_FP64 && rows_are(diff, 3, (uint64_t[]){5, 200, 299}));
    LIST_IS(&e.inserted, DCSR_FP64, {5, 0, 0, 7}, {299, 3, 0, 6});
    LIST_IS(&e.removed, DCSR_FP64, {200, 0, 4, 0});
    LIST_IS(&e.changed, DCSR_FP64, {5, 8, 3, 30});
    cr_assert(!e.inserted.old_values && !e.removed.new_values);
    LIST_IS(&b.removed, DCSR_FP64, {5, 0, 7, 0}, {299, 3, 6, 0});
    LIST_IS(&b.inserted, DCSR_FP64, {200, 0, 0, 4});
    LIST_IS(&b.changed, DCSR_FP64, {5, 8, 30, 3});
    dcsr_diff_entries p = entries_of(positions);
    cr_assert(p.type == DCSR_PATTERN && rows_are(positions, 3, (uint64_t[]){5, 200, 299}));
    LIST_IS(&p.inserted, DCSR_PATTERN, {5, 0, 0, 0}, {299, 3, 0, 0});
    LIST_IS(&p.removed, DCSR_PATTERN, {200, 0, 0, 0});
    cr_assert(!p.changed.nnz && !p.inserted.new_values && !p.removed.old_values);
    dcsr_diff_destroy(positions);
    dcsr_diff_destroy(diff);
    dcsr_diff_destroy(back);
    dcsr_diff_destroy(NULL);
    test_close(context);
}

/* Rows of 1, 2, ... entries, in the even columns. */
enum { LONGEST = 150 };

static void fill_triangle(dcsr_matrix *matrix)
{
    enum { ENTRIES = LONGEST * (LONGEST + 1) / 2 };
    static uint64_t row[ENTRIES], col[ENTRIES];
    static double value[ENTRIES];
    size_t n = 0;
    for (uint64_t r = 0; r < LONGEST; r++)
        for (uint64_t e = 0; e <= r; e++, n++) row[n] = r, col[n] = 2 * e, value[n] = 1;
    TEST_OK(dcsr_matrix_insert(matrix, n, row, col, value, NULL));
}

Test(diff, finds_one_entry_wherever_it_is_in_a_row)
{
    dcsr_context *context = test_context(1);
    for (uint64_t place = 0; place < LONGEST; place += 1 + place / 40) {
        dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, LONGEST, 2 * LONGEST, DCSR_POLICY_LAST);
        fill_triangle(matrix);
        dcsr_view *full = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_LATEST), *other[3];
        uint64_t row[LONGEST], col[LONGEST], odd[LONGEST], n = 0;
        double two[LONGEST];
        for (uint64_t r = place; r < LONGEST; r++, n++)
            row[n] = r, col[n] = 2 * place, odd[n] = 2 * place + 1, two[n] = 2;
        TEST_OK(dcsr_matrix_remove(matrix, n, row, col, NULL)); /* removed: full to 0 */
        other[0] = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_LATEST);
        TEST_OK(dcsr_matrix_insert(matrix, n, row, col, two, NULL)); /* changed: full to 1 */
        other[1] = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_LATEST);
        TEST_OK(dcsr_matrix_insert(matrix, n, row, odd, two, NULL)); /* inserted: 1 to 2 */
        other[2] = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_LATEST);
        for (int k = 0; k < 3; k++) {
            dcsr_diff *diff = diff_of(k == 2 ? other[1] : full, other[k]);
            const dcsr_diff_entries e = entries_of(diff);
            const dcsr_diff_list *list = k == 0 ? &e.removed : k == 1 ? &e.changed : &e.inserted;
            cr_assert_eq(e.removed.nnz + e.changed.nnz + e.inserted.nnz, n);
            cr_assert_eq(list->nnz, n);
            for (uint64_t i = 0; i < n; i++)
                cr_assert(list->row_indices[i] == row[i] &&
                          list->col_indices[i] == (k == 2 ? odd[i] : col[i]));
            dcsr_diff_destroy(diff);
        }
        dcsr_view_destroy(full);
        for (int k = 0; k < 3; k++) dcsr_view_destroy(other[k]);
        dcsr_matrix_destroy(matrix);
    }
    test_close(context);
}

/* What comes for a long row stands behind it as it came. */
Test(diff, sorts_what_was_appended_to_a_long_row)
{
    enum { LONG = 3000 };
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix;
    uint64_t *rows = test_allocate(LONG, sizeof *rows), *cols = test_allocate(LONG, sizeof *cols);
    double *values = test_allocate(LONG, sizeof *values);
    TEST_OK(dcsr_matrix_create(
        &matrix, context, DCSR_FP64, 2, 3 * LONG,
        &(dcsr_matrix_options){.resolve = DCSR_RESOLVE_ON_INSERT, .slack = DCSR_SLACK_NONE}));
    for (uint64_t k = 0; k < LONG; k++) rows[k] = 1, cols[k] = 2 * k, values[k] = 1;
    TEST_OK(dcsr_matrix_insert(matrix, LONG, rows, cols, values, NULL));
    dcsr_view *from = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_LATEST);
    TEST_INSERT(matrix, {1, 5, 3});
    TEST_INSERT(matrix, {1, 3, 5}, {1, 2 * LONG + 9, 4});
    TEST_INSERT(matrix, {1, 2 * LONG + 7, 2});
    dcsr_view *to = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_LATEST);
    dcsr_diff *diff = diff_of(from, to);
    const dcsr_diff_entries e = entries_of(diff);
    LIST_IS(&e.inserted, DCSR_FP64, {1, 3, 0, 5}, {1, 5, 0, 3}, {1, 2 * LONG + 7, 0, 2},
            {1, 2 * LONG + 9, 0, 4});
    cr_assert(!e.changed.nnz && !e.removed.nnz);
    dcsr_diff_destroy(diff);
    dcsr_view_destroy(from);
    dcsr_view_destroy(to);
    dcsr_matrix_destroy(matrix);
    test_close(context);
    free(rows), free(cols), free(values);
}

Test(diff, compares_values_bit_by_bit)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP32, 2, 9, DCSR_POLICY_LAST);
    TEST_INSERT(matrix, {0, 1, NAN}, {0, 2, 0.0}, {0, 3, 1}, {1, 1, NAN});
    dcsr_view *from = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_INSERT(matrix, {0, 1, NAN}, {0, 2, -0.0}, {0, 3, NAN}, {1, 1, NAN});
    dcsr_view *to = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_diff *diff = diff_of(from, to);
    dcsr_diff_list changed = entries_of(diff).changed;
    cr_assert(rows_are(diff, 1, (uint64_t[]){0}) && changed.nnz == 2);
    cr_assert(changed.col_indices[0] == 2 && signbit(((const float *)changed.new_values)[0]));
    cr_assert(changed.col_indices[1] == 3 && isnan(((const float *)changed.new_values)[1]));
    dcsr_diff_destroy(diff);
    dcsr_view_destroy(from);
    dcsr_view_destroy(to);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(diff, compares_kept_duplicates_in_their_order)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT32, 3, 9, DCSR_POLICY_KEEP);
    TEST_INSERT(matrix, {0, 4, 1}, {0, 4, 2}, {1, 7, 3}, {2, 0, 9}, {2, 0, 8});
    dcsr_view *from = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_INSERT(matrix, {0, 4, 2}, {0, 3, 5});
    TEST_REMOVE(matrix, {1, 7, 0}, {2, 0, 0});
    TEST_INSERT(matrix, {1, 7, 3}, {1, 7, 4}, {2, 0, 8});
    dcsr_view *to = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED);
    dcsr_diff *diff = diff_of(from, to);
    dcsr_diff_entries e = entries_of(diff);
    LIST_IS(&e.inserted, DCSR_INT32, {0, 3, 0, 5}, {0, 4, 0, 2}, {1, 7, 0, 4});
    LIST_IS(&e.changed, DCSR_INT32, {2, 0, 9, 8});
    LIST_IS(&e.removed, DCSR_INT32, {2, 0, 8, 0});
    dcsr_diff_destroy(diff);
    dcsr_view_destroy(from);
    dcsr_view_destroy(to);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(diff, shows_what_a_resize_dropped)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_PATTERN, 300, 200, DCSR_POLICY_ANY);
    TEST_INSERT(matrix, {0, 150, 1}, {1, 99, 1}, {299, 5, 1}, {100, 5, 1});
    dcsr_view *first = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_matrix_resize(matrix, 101, 100, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    dcsr_view *second = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_matrix_resize(matrix, 1000, 1000, NULL));
    TEST_INSERT(matrix, {999, 999, 1});
    dcsr_view *third = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_diff *dropped = diff_of(first, second), *back = diff_of(second, first),
              *added = diff_of(second, third);
    dcsr_diff_entries d = entries_of(dropped), b = entries_of(back), a = entries_of(added);
    LIST_IS(&d.removed, DCSR_PATTERN, {0, 150, 0, 0}, {299, 5, 0, 0});
    LIST_IS(&b.inserted, DCSR_PATTERN, {0, 150, 0, 0}, {299, 5, 0, 0});
    LIST_IS(&a.inserted, DCSR_PATTERN, {999, 999, 0, 0});
    cr_assert(!d.inserted.nnz && !d.changed.nnz && !b.removed.nnz && !a.removed.nnz && !a.changed.nnz);
    cr_assert(!d.removed.old_values && !b.inserted.new_values);
    cr_assert(rows_are(dropped, 2, (uint64_t[]){0, 299}) && rows_are(added, 1, (uint64_t[]){999}));
    dcsr_diff_destroy(dropped);
    dcsr_diff_destroy(back);
    dcsr_diff_destroy(added);
    dcsr_view_destroy(first);
    dcsr_view_destroy(second);
    dcsr_view_destroy(third);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* Whichever way it writes. */
Test(diff, lists_what_an_operation_has_written)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 1000, 9, DCSR_POLICY_LAST);
    TEST_INSERT(matrix, {0, 1, 1}, {5, 2, 2}, {5, 8, 3}, {200, 0, 4}, {900, 1, 5});
    dcsr_view *from = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_index_list rows = {(uint64_t[]){5, 200}, 2}, cols = {(uint64_t[]){0, 2}, 2};
    TEST_OK(dcsr_matrix_assign_scalar(matrix, NULL, NULL, &(double){2}, DCSR_FP64, &rows, &cols, NULL));
    dcsr_view *to = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_diff *diff = diff_of(from, to);
    dcsr_diff_entries e = entries_of(diff);
    LIST_IS(&e.inserted, DCSR_FP64, {5, 0, 0, 2}, {200, 2, 0, 2});
    LIST_IS(&e.changed, DCSR_FP64, {200, 0, 4, 2});
    cr_assert(!e.removed.nnz && rows_are(diff, 2, rows.indices));
    dcsr_diff_destroy(diff);
    dcsr_view_destroy(from);
    dcsr_view_destroy(to);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* ---- What it costs ---- */

/* One entry in each row. */
static void fill_diagonal(dcsr_matrix *matrix, uint64_t rows)
{
    test_entry *entries = test_allocate(rows, sizeof *entries);
    for (uint64_t i = 0; i < rows; i++) entries[i] = (test_entry){i, i % 7, (double)(i % 5)};
    test_insert(matrix, rows, entries);
    free(entries);
}

Test(diff, reads_the_rows_that_a_change_has_touched)
{
    dcsr_context *context = test_context(2);
    uint64_t rows = (uint64_t)TEST_SIZE(200000, 20000, 20000);
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT64, rows, 7, DCSR_POLICY_LAST);
    fill_diagonal(matrix, rows);
    dcsr_view *from = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_INSERT(matrix, {3, 1, 1}, {rows / 2, 1, 1}, {rows - 1, 6, 1}, {rows - 2, (rows - 2) % 7, -1});
    for (size_t l = 0; l < 3; l += 2) {
        dcsr_view *to = test_view(matrix, layouts[l], DCSR_VIEW_SORTED);
        dcsr_diff *diff = diff_of(from, to);
        cr_assert_eq(info_of(diff).rows_compared, 4);
        cr_assert(rows_are(diff, 4, (uint64_t[]){3, rows / 2, rows - 2, rows - 1}));
        dcsr_diff_destroy(diff);
        dcsr_view_destroy(to);
    }
    dcsr_view_destroy(from);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(diff, of_billions_of_rows_looks_at_those_that_differ)
{
    dcsr_context *context = test_context(1);
    uint64_t rows = !test_on_device(context) ? DCSR_MAX_ROWS : TEST_EMULATOR ? 1 << 16 : 1 << 24;
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, rows, 1000, DCSR_POLICY_SUM);
    for (uint64_t i = 0; i < 50; i++) TEST_INSERT(matrix, {i * (rows / 50), i, 1});
    dcsr_view *from = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_INSERT(matrix, {0, 0, 1}, {rows / 3, 9, 9}, {rows - 1, 999, 1});
    dcsr_view *to = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_diff *diff = diff_of(from, to);
    dcsr_diff_entries e = entries_of(diff);
    cr_assert(info_of(diff).rows_compared == 3 && rows_are(diff, 3, (uint64_t[]){0, rows / 3, rows - 1}));
    LIST_IS(&e.changed, DCSR_FP64, {0, 0, 1, 2});
    LIST_IS(&e.inserted, DCSR_FP64, {rows / 3, 9, 0, 9}, {rows - 1, 999, 0, 1});
    dcsr_diff_destroy(diff);
    dcsr_view_destroy(from);
    dcsr_view_destroy(to);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(diff, skips_unresolved_rows_that_both_versions_have)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT64, 1000, 7, DCSR_POLICY_SUM);
    fill_diagonal(matrix, 1000);
    fill_diagonal(matrix, 1000);
    dcsr_view *from = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_INSERT(matrix, {500, 0, 1});
    for (unsigned flags = 0; flags <= (DCSR_VIEW_SORTED | DCSR_VIEW_DUPLICATES); flags++) {
        dcsr_view *to = test_view(matrix, DCSR_LAYOUT_SEGMENTS, flags);
        dcsr_diff *diff = diff_of(from, to);
        cr_assert(info_of(diff).rows_compared == 1 && rows_are(diff, 1, (uint64_t[]){500}));
        dcsr_diff_destroy(diff);
        dcsr_view_destroy(to);
    }
    dcsr_view_destroy(from);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(diff, does_not_list_rows_that_have_moved)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT64, 200, 7, DCSR_POLICY_LAST);
    fill_diagonal(matrix, 200);
    TEST_INSERT(matrix, {9, 6, 1}, {9, 3, 1}, {9, 5, 2}, {9, 5, 3}, {10, 6, 0}, {11, 0, 0}, {12, 5, 5});
    TEST_REMOVE(matrix, {10, 6, 0}, {11, 4, 0});
    dcsr_view *from = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    for (size_t l = 0; l < 3; l++) {
        dcsr_view *to = test_view(matrix, layouts[l], 0);
        dcsr_diff *diff = diff_of(from, to);
        cr_assert(is_empty(diff) && info_of(diff).rows_compared == 200);
        dcsr_diff_destroy(diff);
        dcsr_view_destroy(to);
    }
    dcsr_view_destroy(from);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(diff, of_one_version_is_empty)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT64, 100, 7, DCSR_POLICY_SUM);
    fill_diagonal(matrix, 100);
    fill_diagonal(matrix, 100);
    for (int l = 0; l < 9; l++) {
        dcsr_view *from = test_view(matrix, layouts[l / 3], 0);
        dcsr_view *to = test_view(matrix, layouts[l % 3], DCSR_VIEW_DUPLICATES);
        dcsr_diff *diff = diff_of(from, to);
        cr_assert(is_empty(diff) && info_of(diff).rows_compared == 0);
        dcsr_diff_destroy(diff);
        dcsr_view_destroy(from);
        dcsr_view_destroy(to);
    }
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* ---- Failures ---- */

static uint64_t held_by(dcsr_context *context)
{
    dcsr_context_info info = test_context_info(context);
    return info.matrix_bytes + info.scratch_bytes;
}

Test(diff, without_memory_leaves_nothing_behind)
{
    dcsr_context *context = test_context(2);
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT16, 1000, 100, DCSR_POLICY_SUM);
    fill_diagonal(matrix, 1000);
    for (uint64_t i = 0; i < 50; i++) TEST_INSERT(matrix, {8, i, 1});
    dcsr_view *from = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    for (uint64_t i = 0; i < 100; i++) TEST_INSERT(matrix, {7, 99 - i, 1}, {i, 50, 1});
    TEST_REMOVE(matrix, {999, 999 % 7, 0});
    dcsr_view *to = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_diff *diff = NULL;
    long n = 0;
    for (; status != DCSR_OK; n++) {
        cr_assert_null(diff);
        uint64_t before = held_by(context);
        dcsr_i_fail_allocations_after(n);
        status = dcsr_view_diff(&diff, from, to);
        dcsr_i_fail_allocations_after(-1);
        cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY);
        cr_assert(status == DCSR_OK || held_by(context) == before);
    }
    cr_assert(n > 10 && entries_of(diff).changed.nnz == 1 && entries_of(diff).removed.nnz == 1);
    dcsr_diff_destroy(diff);
    dcsr_view_destroy(from);
    dcsr_view_destroy(to);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(diff, refuses_what_cannot_be_compared)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 3, 3, DCSR_POLICY_SUM);
    dcsr_matrix *other = test_matrix(context, DCSR_FP64, 3, 3, DCSR_POLICY_SUM);
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_view *foreign = test_view(other, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_diff *diff = (dcsr_diff *)view, *kept = diff_of(view, view);
    dcsr_diff_info info;
    dcsr_diff_entries entries;
    dcsr_index_list rows;
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "different matrices", dcsr_view_diff(&diff, view, foreign));
    cr_assert_null(diff);
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "diff is NULL", dcsr_view_diff(NULL, view, view));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_view_diff_positions: diff is NULL",
                 dcsr_view_diff_positions(NULL, view, view));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "view is NULL", dcsr_view_diff(&diff, NULL, view));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "view is NULL", dcsr_view_diff(&diff, view, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "the diff is NULL", dcsr_diff_get_info(NULL, &info));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "answer is NULL", dcsr_diff_get_info(kept, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "the diff is NULL", dcsr_diff_get_rows(NULL, &rows));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "the diff is NULL", dcsr_diff_get_entries(NULL, &entries));
    dcsr_matrix_destroy(matrix);
    dcsr_matrix_destroy(other);
    dcsr_context_destroy(context);
    TEST_REFUSED(DCSR_ERROR_CONTEXT_DESTROYED, "context", dcsr_view_diff(&diff, view, view));
    TEST_REFUSED(DCSR_ERROR_CONTEXT_DESTROYED, "context", dcsr_diff_get_rows(kept, &rows));
    dcsr_diff_destroy(kept);
    dcsr_view_destroy(view);
    dcsr_view_destroy(foreign);
}

/* test_diff_device.c: which rows a device tells apart by itself, so that only those come to the host. */
#include "dcsr/view/view_data.h"
#include "tests/support/support_device.h"

enum { ROWS = 150, COLS = 500, LONG = 70 };

static dcsr_i_candidates candidates_of(const dcsr_view *from, const dcsr_view *to)
{
    dcsr_i_candidates found;
    const dcsr_i_rows *rows[] = {dcsr_i_view_rows(from), dcsr_i_view_rows(to)};
    TEST_OK(dcsr_i_cuda_engine.find_candidates(&found, context, rows[0], rows[1]));
    return found;
}

static void let_go(dcsr_i_candidates *found)
{
    dcsr_i_csr_release(found->from);
    dcsr_i_csr_release(found->to);
    dcsr_i_free(context, DCSR_I_SCRATCH, found->numbers, found->count, sizeof *found->numbers);
}

static bool are(const dcsr_i_candidates *found, uint64_t n, const uint32_t *numbers)
{
    return found->count == n && (!n || !memcmp(found->numbers, numbers, n * sizeof *numbers));
}

/* Row LONG has all columns, descending, in several pieces; every other row some. */
static dcsr_matrix *make(dcsr_type type, dcsr_policy policy)
{
    const dcsr_matrix_options options = {.policy = policy, .resolve = DCSR_RESOLVE_ON_READ};
    dcsr_matrix *matrix;
    TEST_OK(dcsr_matrix_create(&matrix, context, type, ROWS, COLS, &options));
    for (uint64_t left = COLS; left; left -= COLS / 4) {
        test_entry batch[COLS / 4];
        for (uint64_t i = 0; i < COLS / 4; i++) batch[i] = (test_entry){LONG, left - i - 1, (double)(i % 2)};
        test_insert(matrix, COLS / 4, batch);
    }
    for (uint64_t i = 0; i < ROWS; i += 2) TEST_INSERT(matrix, {i, 7, 1}, {i, i, 0}, {i, COLS - 1, 1});
    return matrix;
}

Test(diff_device, does_not_bring_rows_that_have_moved)
{
    open_device();
    NEEDS_GPU();
    const dcsr_type types[] = {DCSR_PATTERN, DCSR_BOOL, DCSR_INT16, DCSR_FP32, DCSR_UINT64};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        dcsr_matrix *matrix = make(types[t], DCSR_POLICY_LAST);
        dcsr_view *first =
            test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0); /* has the rows resolved in its own table */
        TEST_OK(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
        TEST_OK(dcsr_matrix_wait(matrix));
        dcsr_view *resolved = test_view(matrix, DCSR_LAYOUT_CSR, 0);
        TEST_INSERT(matrix, {LONG, COLS - 1, 0}, {9, 9, 1}, {LONG + 1, 3, 1});
        dcsr_view *last = test_view(matrix, DCSR_LAYOUT_CSR, DCSR_VIEW_DUPLICATES);
        dcsr_i_candidates moved = candidates_of(first, resolved), changed = candidates_of(resolved, last);
        cr_assert(are(&moved, 0, NULL) && moved.compared == ROWS / 2, "%s: %llu rows compared",
                  dcsr_type_name(types[t]), (unsigned long long)moved.compared);
        cr_assert(are(&changed, 3, (uint32_t[]){9, LONG, LONG + 1}), "%s", dcsr_type_name(types[t]));
        cr_assert(changed.from->rows == 3 && changed.from->offsets[1] == 0 && changed.to->offsets[1] == 1);
        let_go(&moved);
        let_go(&changed);
        dcsr_view_destroy(first);
        dcsr_view_destroy(resolved);
        dcsr_view_destroy(last);
        dcsr_matrix_destroy(matrix);
    }
    close_device();
}

/* The same order in several pieces and in one. */
Test(diff_device, compares_pieces_of_different_lengths)
{
    open_device();
    NEEDS_GPU();
    dcsr_matrix *matrix = make(DCSR_INT32, DCSR_POLICY_KEEP);
    dcsr_view *pieces = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    dcsr_view *whole = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    cr_assert(test_pieces(pieces, LONG, NULL) > 1 && test_pieces(whole, LONG, NULL) == 1);
    dcsr_i_candidates there = candidates_of(pieces, whole), back = candidates_of(whole, pieces);
    cr_assert(are(&there, 0, NULL) && are(&back, 0, NULL) && there.compared == ROWS / 2);
    let_go(&there);
    let_go(&back);
    dcsr_view_destroy(pieces);
    dcsr_view_destroy(whole);
    dcsr_matrix_destroy(matrix);
    close_device();
}

/* The first or the last entry of a long row. */
Test(diff_device, finds_one_value_in_a_long_row)
{
    open_device();
    NEEDS_GPU();
    for (uint64_t col = 0; col < COLS; col += COLS - 1) {
        dcsr_matrix *matrix = make(DCSR_INT8, DCSR_POLICY_LAST), *other = make(DCSR_INT8, DCSR_POLICY_LAST);
        TEST_OK(dcsr_matrix_defragment(other, DCSR_DEFRAGMENT_WHOLE, NULL));
        TEST_INSERT(other, {LONG, col, 5});
        dcsr_view *to = test_view(other, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
        dcsr_view *sorted = test_view(matrix, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
        dcsr_i_candidates found = candidates_of(sorted, to);
        cr_assert(are(&found, 1, (uint32_t[]){LONG}));
        let_go(&found);
        dcsr_view_destroy(sorted);
        dcsr_view_destroy(to);
        dcsr_matrix_destroy(matrix);
        dcsr_matrix_destroy(other);
    }
    close_device();
}

Test(diff_device, reads_no_rows_that_a_version_does_not_have)
{
    open_device();
    NEEDS_GPU();
    dcsr_matrix *matrix = make(DCSR_FP64, DCSR_POLICY_LAST);
    dcsr_view *large = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_matrix_resize(matrix, LONG - 1, COLS, NULL));
    TEST_INSERT(matrix, {1, 1, 1});
    dcsr_view *small = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_i_candidates shrunk = candidates_of(large, small), grown = candidates_of(small, large);
    cr_assert(shrunk.count == 1 + (ROWS - LONG) / 2 && shrunk.numbers[0] == 1 && shrunk.numbers[1] == LONG);
    cr_assert(shrunk.from->rows == shrunk.count && shrunk.to->rows == 1);
    cr_assert(grown.count == shrunk.count && grown.from->rows == 1 && grown.to->rows == grown.count);
    cr_assert(are(&grown, shrunk.count, shrunk.numbers));
    let_go(&shrunk);
    let_go(&grown);
    dcsr_view_destroy(large);
    dcsr_view_destroy(small);
    dcsr_matrix_destroy(matrix);
    close_device();
}

Test(diff_device, without_memory_leaves_nothing_behind)
{
    open_device();
    NEEDS_GPU();
    dcsr_matrix *matrix = make(DCSR_FP64, DCSR_POLICY_LAST);
    dcsr_view *from = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_matrix_resize(matrix, ROWS + 5, COLS, NULL));
    TEST_INSERT(matrix, {1, 1, 1}, {ROWS, 1, 1});
    dcsr_view *to = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_matrix_wait(matrix)); /* for what the views have made due */
    uint64_t scratch = used(DCSR_I_SCRATCH), pinned = used(DCSR_I_PINNED);
    dcsr_i_candidates found;
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    long n = 0;
    for (; status != DCSR_OK; n++) {
        dcsr_i_fail_allocations_after(n);
        status =
            dcsr_i_cuda_engine.find_candidates(&found, context, dcsr_i_view_rows(from), dcsr_i_view_rows(to));
        dcsr_i_fail_allocations_after(-1);
        if (status == DCSR_OK) break;
        cr_assert_eq(status, DCSR_ERROR_OUT_OF_MEMORY);
        cr_assert(!found.from && !found.to && !found.numbers && !found.count);
        cr_assert(used(DCSR_I_SCRATCH) == scratch && used(DCSR_I_PINNED) == pinned, "after %ld", n);
    }
    cr_assert(n > 10 && are(&found, 2, (uint32_t[]){1, ROWS}));
    let_go(&found);
    dcsr_view_destroy(from);
    dcsr_view_destroy(to);
    dcsr_matrix_destroy(matrix);
    close_device();
}

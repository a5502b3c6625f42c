/* test_rewrite_device.c: what moves and resolves rows on a device, beyond what suites for all devices reach:
 * walks over lists of rows, places that stand hundreds of times, more entries than are resolved at once, rows
 * cut in the middle of a page. */
#include <dcsr/convert.h>
#include "dcsr/store/rowtable.h"
#include "tests/support/support_device.h"

#include "dcsr/store/cuda/gather_cuda.h"
#include <stdlib.h>
#include <string.h>

/* A matrix and what it should hold. */
typedef struct pair {
    dcsr_matrix *matrix;
    oracle model;
} pair;

static pair make_pair(dcsr_type type, dcsr_policy policy, uint64_t rows, uint64_t cols)
{
    pair p = {.matrix = test_matrix(context, type, rows, cols, policy)};
    oracle_create(&p.model, type, policy, rows, cols);
    return p;
}

static void destroy_pair(pair *p)
{
    dcsr_matrix_destroy(p->matrix);
    oracle_destroy(&p->model);
}

/* One batch of n places: row and column by i; values count up. */
typedef uint64_t by_number(uint64_t i);
static void change(pair *p, bool insert, uint64_t n, by_number *row, by_number *col)
{
    size_t size = dcsr_type_size(p->model.type);
    uint64_t *rows = test_allocate(n, sizeof *rows), *cols = test_allocate(n, sizeof *cols);
    char *values = test_allocate(n, size + 1);
    for (uint64_t i = 0; i < n; i++) {
        rows[i] = row(i);
        cols[i] = col(i);
        if (size)
            test_encode(p->model.type, (double)(p->model.type == DCSR_BOOL ? i % 2 : 1 + i % 60),
                        values + i * size);
    }
    if (insert) {
        TEST_OK(dcsr_matrix_insert(p->matrix, n, rows, cols, size ? values : NULL, NULL));
        oracle_insert(&p->model, n, rows, cols, size ? values : NULL);
    } else {
        TEST_OK(dcsr_matrix_remove(p->matrix, n, rows, cols, NULL));
        oracle_remove(&p->model, n, rows, cols);
    }
    TEST_OK(dcsr_matrix_wait(p->matrix));
    free(rows);
    free(cols);
    free(values);
}

static void defragment(pair *p, dcsr_defragment_scope scope)
{
    TEST_OK(dcsr_matrix_defragment(p->matrix, scope, NULL));
    TEST_OK(dcsr_matrix_wait(p->matrix));
}

static void resize(pair *p, uint64_t rows, uint64_t cols)
{
    TEST_OK(dcsr_matrix_resize(p->matrix, rows, cols, NULL));
    TEST_OK(dcsr_matrix_wait(p->matrix));
    oracle_resize(&p->model, rows, cols);
}

static uint64_t number(uint64_t i)
{
    return i;
}
static uint64_t zero(uint64_t i)
{
    (void)i;
    return 0;
}
static uint64_t seven(uint64_t i)
{
    (void)i;
    return 7;
}

/* ---- Walks ---- */

enum { WALK_ROWS = 3000, LONG_ROW = 77 };

/* Rows of 0 to 6 entries in one to four pieces, and a long one. */
static uint64_t some_row(uint64_t i)
{
    return i % 5 ? i * 7919 % WALK_ROWS : LONG_ROW;
}
static uint64_t some_col(uint64_t i)
{
    return (i * 31 + 17) % 100000;
}

/* Entries of the rows of the list from number `first` on, copied to places `gap` apart, are what the view
 * shows. */
static void check_gathered(dcsr_view *view, const dcsr_i_cuda_rows *rows, const uint32_t *list,
                           uint64_t first, uint64_t count, uint64_t gap)
{
    size_t size = rows->value_size;
    uint64_t offset[WALK_ROWS + 1], to[WALK_ROWS + 1];
    uint64_t *offsets = (uint64_t *)on_device(sizeof offset), *begins = (uint64_t *)on_device(sizeof to);
    uint32_t *numbers = (uint32_t *)on_device(WALK_ROWS * sizeof *numbers);
    dcsr_i_cuda_copy(stream, numbers, list, (first + count) * sizeof *list);
    TEST_OK(dcsr_i_cuda_sum_lengths(stream, rows, numbers, first + count, offsets));
    dcsr_i_cuda_copy(stream, offset, offsets, (first + count + 1) * sizeof *offset);
    TEST_OK(dcsr_i_cuda_wait(stream, "testing"));

    uint64_t entries = offset[first + count] - offset[first], places = entries + count * gap;
    for (uint64_t i = 0; i < count; i++) to[i] = offset[first + i] - offset[first] + i * gap;
    uint32_t *columns = (uint32_t *)on_device(places * sizeof *columns),
             *column = test_allocate(places + 1, 4);
    char *values = size ? on_device(places * size) : NULL, *value = test_allocate(places + 1, 8);
    dcsr_i_cuda_copy(stream, begins, to, count * sizeof *to);
    dcsr_i_cuda_walk walk = {*rows, numbers + first, count, offsets + first};
    dcsr_i_cuda_gather(stream, &walk, entries, begins, columns, values);
    dcsr_i_cuda_copy(stream, column, columns, places * sizeof *column);
    if (size) dcsr_i_cuda_copy(stream, value, values, places * size);
    TEST_OK(dcsr_i_cuda_wait(stream, "testing"));

    uint32_t *wanted = test_allocate(entries + 1, 4);
    char *wanted_value = test_allocate(entries + 1, 8);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t length;
        TEST_OK(
            dcsr_view_get_row(view, list[first + i], entries, wanted, size ? wanted_value : NULL, &length));
        cr_assert_eq(length, offset[first + i + 1] - offset[first + i]);
        cr_assert(!memcmp(wanted, column + to[i], length * sizeof *wanted), "row %u", list[first + i]);
        cr_assert(!memcmp(wanted_value, value + to[i] * size, length * size), "row %u", list[first + i]);
    }
    void *host[] = {column, value, wanted, wanted_value};
    for (int i = 0; i < 4; i++) free(host[i]);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, offsets, sizeof offset, 1);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, begins, sizeof to, 1);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, numbers, WALK_ROWS * sizeof *numbers, 1);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, columns, places * sizeof *columns, 1);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, values, places * size, 1);
}

/* Layouts, value sizes; all rows, every third, one, none; from the middle of a list. */
Test(walk, gathers_any_rows_of_a_list)
{
    static const dcsr_type types[] = {DCSR_PATTERN, DCSR_UINT8, DCSR_INT16, DCSR_FP32, DCSR_FP64};
    open_device();
    NEEDS_GPU();
    uint32_t list[WALK_ROWS];
    for (int t = 0; t < 5; t++) {
        pair p = make_pair(types[t], DCSR_POLICY_KEEP, WALK_ROWS, 100000);
        for (int b = 0; b < 3; b++) change(&p, true, 2000, some_row, some_col);
        for (int layout = DCSR_LAYOUT_SEGMENTS; layout <= DCSR_LAYOUT_CSR; layout++) {
            dcsr_view *view = test_view(p.matrix, (dcsr_layout)layout, DCSR_VIEW_DUPLICATES);
            const dcsr_i_cuda_rows *rows = &dcsr_i_view_rows(view)->device;
            cr_assert(layout == DCSR_LAYOUT_CSR || test_pieces(view, LONG_ROW, NULL) > 1);
            for (uint32_t i = 0; i < 1000; i++) list[i] = i * 3 + 2;
            check_gathered(view, rows, list, 0, 1000, 0);
            check_gathered(view, rows, list, 333, 100, 5);
            check_gathered(view, rows, list, 25, 1, 0); /* the long one */
            check_gathered(view, rows, list, 0, 1, 0);
            dcsr_view_destroy(view);
        }
        destroy_pair(&p);
    }
    close_device();
}

/* Rows without entries are work too, wherever they stand. */
Test(walk, passes_rows_without_entries)
{
    open_device();
    NEEDS_GPU();
    pair p = make_pair(DCSR_INT32, DCSR_POLICY_LAST, 5000, 10);
    TEST_INSERT(p.matrix, {5, 1, 2}, {5, 3, 4}, {3500, 0, 1}, {3501, 9, 5}, {4999, 3, 3});
    dcsr_view *view = test_view(p.matrix, DCSR_LAYOUT_CSR, 0);
    TEST_VIEW_SHOWS(view, {5, 1, 2}, {5, 3, 4}, {3500, 0, 1}, {3501, 9, 5}, {4999, 3, 3});
    dcsr_view_destroy(view);
    defragment(&p, DCSR_DEFRAGMENT_WHOLE);
    TEST_SHOWS(p.matrix, {5, 1, 2}, {5, 3, 4}, {3500, 0, 1}, {3501, 9, 5}, {4999, 3, 3});
    destroy_pair(&p);
    close_device();
}

/* ---- Resolving ---- */

/* Runs of 1, 2, 4, ... 512 of a row's column. */
static uint64_t runs_col(uint64_t i)
{
    uint64_t run = 0;
    for (i++; i > 1; i /= 2) run++;
    return run;
}

/* From CSR, whose entries of a row are combined in their order, in runs of all lengths. */
Test(resolve, combines_runs_of_any_length)
{
    enum { ENTRIES = 3 * 1023 };
    open_device();
    NEEDS_GPU();
    for (int type = 0; type < DCSR_TYPE_COUNT; type++)
        for (int policy = DCSR_POLICY_DEFAULT + 1; policy < DCSR_POLICY_COUNT; policy++) {
            size_t size = dcsr_type_size((dcsr_type)type);
            uint64_t rows[ENTRIES], cols[ENTRIES], offsets[] = {0, 1023, 2046, 3069};
            uint32_t columns[ENTRIES];
            char *values = test_allocate(ENTRIES, 8);
            for (uint64_t i = 0; i < ENTRIES; i++) {
                rows[i] = i / 1023;
                cols[i] = columns[i] = (uint32_t)runs_col(i % 1023);
                test_encode((dcsr_type)type, (double)(type == DCSR_BOOL ? i % 2 : i * 7 % 50),
                            values + i * size);
            }
            oracle model;
            oracle_create(&model, (dcsr_type)type, (dcsr_policy)policy, 3, 12);
            oracle_insert(&model, ENTRIES, rows, cols, size ? values : NULL);
            dcsr_csr csr = {3, 12, ENTRIES, (dcsr_type)type, offsets, columns, size ? values : NULL};
            dcsr_matrix_options options = {.policy = (dcsr_policy)policy,
                                           .defragmentation = DCSR_DEFRAGMENT_OFF};
            dcsr_matrix *matrix;
            TEST_OK(dcsr_matrix_from_csr(&matrix, context, &csr, &options));
            TEST_MATCHES(matrix, &model);
            dcsr_matrix_destroy(matrix);
            oracle_destroy(&model);
            free(values);
        }
    close_device();
}

/* A row with room to spare takes the same places again and again, with deletions between, before it is
 * resolved. */
Test(resolve, applies_tombstones_within_long_runs)
{
    static const int removals[][2] = {{-1, -1}, {0, -1}, {10, 60}, {69, -1}};
    open_device();
    NEEDS_GPU();
    for (int policy = DCSR_POLICY_DEFAULT + 1; policy < DCSR_POLICY_COUNT; policy++)
        for (int c = 0; c < 4; c++) {
            if (policy != DCSR_POLICY_SUM && c != policy % 4) continue;
            pair p = make_pair(DCSR_INT64, (dcsr_policy)policy, 2, 5000);
            change(&p, true, 4000, zero, number);
            for (int b = 0; b < 70; b++) {
                change(&p, true, 3, zero, seven);
                if (b == removals[c][0] || b == removals[c][1]) change(&p, false, 1, zero, seven);
            }
            dcsr_view *raw = test_view(p.matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
            cr_assert(removals[c][0] >= 0 || test_view_info(raw).nnz >= 4070, "resolved too early to tell");
            dcsr_view_destroy(raw);
            TEST_MATCHES(p.matrix, &p.model);
            defragment(&p, DCSR_DEFRAGMENT_WHOLE);
            TEST_MATCHES(p.matrix, &p.model);
            cr_assert_eq(test_info(p.matrix).arena_entries, oracle_nnz(&p.model));
            destroy_pair(&p);
        }
    close_device();
}

static uint64_t group_row(uint64_t i)
{
    return i % 4 ? i * 7919 % 600 : 300;
}
static uint64_t group_col(uint64_t i)
{
    return i * i * 31 % 20011;
}
static uint64_t other_row(uint64_t i)
{
    return 600 + i % 200;
}

/* More than the emulator resolves at once, a row that alone is more, and rows that only move between those.
 */
Test(resolve, goes_by_groups_of_rows)
{
    open_device();
    NEEDS_GPU();
    for (int whole = 0; whole < 2; whole++) {
        pair p = make_pair(DCSR_FP64, DCSR_POLICY_SUM, 900, 20011);
        for (int b = 0; b < 3; b++) {
            change(&p, true, 13000, group_row, group_col);
            change(&p, true, 400, other_row, b == 0 ? number : b == 1 ? group_col : some_col);
        }
        change(&p, false, 3000, group_row, group_col);
        dcsr_view *view = test_view(p.matrix, DCSR_LAYOUT_SEGMENTS, 0);
        defragment(&p, whole ? DCSR_DEFRAGMENT_WHOLE : DCSR_DEFRAGMENT_SELECTED);
        TEST_MATCHES(p.matrix, &p.model);
        dcsr_matrix_info info = test_info(p.matrix);
        cr_assert_eq(info.unresolved_rows, 0);
        cr_assert_eq(info.max_segments, 1);
        cr_assert_eq(info.stored, oracle_nnz(&p.model));
        char why[TEST_WHY];
        cr_assert(test_view_matches(view, &p.model, 0, why), "%s", why);
        dcsr_view_destroy(view);
        change(&p, true, 2000, group_row, group_col);
        defragment(&p, DCSR_DEFRAGMENT_SELECTED);
        TEST_MATCHES(p.matrix, &p.model);
        defragment(&p, DCSR_DEFRAGMENT_WHOLE);
        cr_assert_eq(test_info(p.matrix).arena_entries, oracle_nnz(&p.model));
        destroy_pair(&p);
    }
    close_device();
}

/* ---- Fewer rows and columns ---- */

static uint64_t cut_row(uint64_t i)
{
    return i % 9 ? i * 7919 % 1100 : 64;
}

/* Both at once; nothing of what is dropped comes back with the rows, nor stays in the arena. */
Test(resize_device, drops_rows_within_a_page)
{
    static const uint64_t sizes[] = {1060, 1024, 1001, 65, 64, 33, 0};
    open_device();
    NEEDS_GPU();
    pair p = make_pair(DCSR_INT32, DCSR_POLICY_MAX, 1100, 100000);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (int b = 0; b < 3; b++) change(&p, true, 1500, cut_row, some_col);
        change(&p, false, 300, cut_row, some_col);
        resize(&p, sizes[s], 90000 - s);
        TEST_MATCHES(p.matrix, &p.model);
        resize(&p, 1100, 100000);
        TEST_MATCHES(p.matrix, &p.model);
        defragment(&p, DCSR_DEFRAGMENT_WHOLE);
        dcsr_matrix_info info = test_info(p.matrix);
        cr_assert_eq(info.arena_entries, oracle_nnz(&p.model));
        cr_assert_eq(info.unresolved_rows, 0);
    }
    destroy_pair(&p);
    close_device();
}

/* A row that comes back is not taken for one that is known to need resolving, or that has places. */
Test(resize_device, forgets_what_dropped_rows_were)
{
    open_device();
    NEEDS_GPU();
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT32, 50, 50, DCSR_POLICY_SUM);
    for (int round = 0; round < 2; round++) {
        TEST_INSERT(matrix, {40, 1, 2}, {41, 5, 1});
        TEST_INSERT(matrix, {40, 1, 3}, {41, 6, 1});
        TEST_REMOVE(matrix, {41, 5, 0});
        dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
        TEST_VIEW_SHOWS(view, {40, 1, 5}, {41, 6, 1});
        dcsr_view_destroy(view);
        TEST_OK(dcsr_matrix_resize(matrix, 40, 50, NULL));
        TEST_OK(dcsr_matrix_resize(matrix, 50, 50, NULL));
        TEST_OK(dcsr_matrix_wait(matrix));
        cr_assert_eq(test_info(matrix).arena_entries, 0);
        TEST_SHOWS_NOTHING(matrix);
    }
    dcsr_matrix_destroy(matrix);
    close_device();
}

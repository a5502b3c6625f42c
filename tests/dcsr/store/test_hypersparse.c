/* test_hypersparse.c: matrices of 2^32 rows and 2^31 columns that hold a few entries. All of it happens
 * within a memory limit that places for all rows, or for every 64th, would exceed. */
#include "tests/support/support.h"

#include <dcsr/bfs.h>
#include "dcsr/base/alloc.h"
#include <dcsr/convert.h>
#include <dcsr/apply.h>
#include <dcsr/assign.h>
#include <dcsr/ewise.h>
#include <dcsr/extract.h>
#include <dcsr/matrix_add.h>
#include <dcsr/mxm.h>
#include <dcsr/mxv.h>
#include <dcsr/reduce.h>
#include <dcsr/select.h>
#include <dcsr/transpose.h>
#include <dcsr/vector_ops.h>

#define ROWS DCSR_MAX_ROWS
#define COLS DCSR_MAX_COLS
/* Rows of the first and the last page, of the first row of a shelf, and of the last of one. */
#define MIDDLE ((uint64_t)5 << 24)
#define ENTRIES                                                  \
    {5, COLS - 1, 1}, {MIDDLE - 1, 7, 2}, {MIDDLE, COLS / 3, 3}, \
    {                                                            \
        ROWS - 1, 7, 4                                           \
    }

static dcsr_context *context;

static void set_up(void)
{
    dcsr_context_options options = {.device = DCSR_DEVICE_CPU, .threads = 2, .memory_limit = 8 << 20};
    TEST_OK(dcsr_context_create(&context, &options));
}

static void tear_down(void)
{
    test_close(context);
}

TestSuite(hypersparse, .init = set_up, .fini = tear_down);

static dcsr_matrix *empty(uint64_t rows, uint64_t cols)
{
    return test_matrix(context, DCSR_INT64, rows, cols, DCSR_POLICY_LAST);
}

static dcsr_matrix *some(void)
{
    dcsr_matrix *matrix = empty(ROWS, COLS);
    TEST_INSERT(matrix, ENTRIES);
    return matrix;
}

/* Square, as large as a matrix can be that has a transpose. */
static dcsr_matrix *square(bool maintain_transpose)
{
    dcsr_matrix *matrix = NULL;
    dcsr_matrix_options options = {.policy = DCSR_POLICY_LAST, .maintain_transpose = maintain_transpose};
    TEST_OK(dcsr_matrix_create(&matrix, context, DCSR_INT64, COLS, COLS, &options));
    TEST_INSERT(matrix, {5, 7, 10}, {7, COLS - 1, 20}, {COLS - 1, 5, 30});
    return matrix;
}

static dcsr_view *view_of(dcsr_matrix *matrix)
{
    return test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED);
}

/* Whether the matrix holds these entries, in this order, and no others. */
static void shows(dcsr_matrix *matrix, size_t n, const test_entry *entries)
{
    dcsr_coo coo;
    uint64_t nnz;
    TEST_OK(dcsr_matrix_wait(matrix));
    dcsr_view *view = view_of(matrix);
    TEST_OK(dcsr_view_to_coo(&coo, view));
    TEST_OK(dcsr_matrix_get_nnz(matrix, &nnz));
    cr_assert(coo.nnz == n && nnz == n, "%lu entries, not %zu", (unsigned long)coo.nnz, n);
    for (size_t i = 0; i < n; i++)
        cr_assert(coo.row_indices[i] == entries[i].row && coo.col_indices[i] == entries[i].col &&
                      (double)((int64_t *)coo.values)[i] == entries[i].value,
                  "entry %zu is (%lu, %lu) %ld", i, (unsigned long)coo.row_indices[i],
                  (unsigned long)coo.col_indices[i], (long)((int64_t *)coo.values)[i]);
    dcsr_coo_free(&coo);
    dcsr_view_destroy(view);
}
#define SHOWS(matrix, ...) shows(matrix, TEST_ENTRIES(__VA_ARGS__))

static void resize(dcsr_matrix *matrix, uint64_t rows, uint64_t cols)
{
    TEST_OK(dcsr_matrix_resize(matrix, rows, cols, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
}

Test(hypersparse, changes)
{
    dcsr_matrix *matrix = some();
    dcsr_matrix_info info;
    int64_t value = 0;
    bool stored;
    SHOWS(matrix, ENTRIES);
    TEST_OK(dcsr_matrix_get(matrix, MIDDLE, COLS / 3, &value, &stored));
    cr_assert(stored && value == 3);
    TEST_INSERT(matrix, {MIDDLE, 9, 5}, {MIDDLE, COLS / 3, 6}, {17, 17, 17});
    TEST_REMOVE(matrix, {MIDDLE - 1, 7, 0}, {17, 17, 0});
    SHOWS(matrix, {5, COLS - 1, 1}, {MIDDLE, 9, 5}, {MIDDLE, COLS / 3, 6}, {ROWS - 1, 7, 4});
    TEST_OK(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_SELECTED, NULL));
    SHOWS(matrix, {5, COLS - 1, 1}, {MIDDLE, 9, 5}, {MIDDLE, COLS / 3, 6}, {ROWS - 1, 7, 4});
    TEST_OK(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
    SHOWS(matrix, {5, COLS - 1, 1}, {MIDDLE, 9, 5}, {MIDDLE, COLS / 3, 6}, {ROWS - 1, 7, 4});
    TEST_OK(dcsr_matrix_get_info(matrix, &info));
    cr_assert(info.stored == 4 && info.segments == 3 && info.max_segments == 1 && !info.unresolved_rows);
    dcsr_matrix_destroy(matrix);
}

/* A version costs what it changes: a root of one pointer for each 32768 rows would take a megabyte. */
Test(hypersparse, versions_that_are_held)
{
    enum { VERSIONS = 200 };
    dcsr_matrix *matrix = some();
    dcsr_view *view[VERSIONS];
    for (uint64_t i = 0; i < VERSIONS; i++) {
        view[i] = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
        TEST_INSERT(matrix, {i << 24, i, 1});
    }
    for (uint64_t i = 0; i < VERSIONS; i++) {
        cr_assert_eq(test_view_info(view[i]).nnz, 4 + i);
        dcsr_view_destroy(view[i]);
    }
    dcsr_matrix_destroy(matrix);
}

/* Sizes on both sides of where tables have other parts: pages, directories, shelves, the one inside of the
 * root. */
Test(hypersparse, resizes)
{
    const uint64_t shelf = (uint64_t)1 << 24,
                   sizes[] = {MIDDLE + 1, MIDDLE, 2 * shelf + 100, shelf + 32768, shelf, 32768, 100, 64, 0};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (size_t m = k; m < sizeof sizes / sizeof *sizes; m++) {
            dcsr_matrix *matrix = empty(ROWS, 10);
            TEST_INSERT(matrix, {ROWS - 1, 1, 1});
            dcsr_view *all = view_of(matrix);
            for (int i = 0; i < 2; i++) {
                uint64_t rows = sizes[i ? m : k];
                resize(matrix, rows, 10);
                if (rows) TEST_INSERT(matrix, {rows - 1, 1, 2}, {rows / 2, 2, 3}, {0, 3, 4});
            }
            uint64_t rows = sizes[m], nnz = 0;
            TEST_OK(dcsr_matrix_get_nnz(matrix, &nnz));
            cr_assert(nnz >= (rows ? 3 : 0) && nnz <= (rows ? 5 : 0), "%lu of %lu rows", (unsigned long)nnz,
                      (unsigned long)rows);
            resize(matrix, ROWS, 10);
            TEST_INSERT(matrix, {ROWS - 1, 9, 9});
            bool stored = true;
            TEST_OK(dcsr_matrix_get(matrix, ROWS - 1, 1, NULL, &stored));
            cr_assert_not(stored, "what was cut off is back");
            cr_assert_eq(test_view_info(all).nnz, 1);
            dcsr_view_destroy(all);
            dcsr_matrix_destroy(matrix);
        }
}

Test(hypersparse, resizes_that_run_out_of_memory)
{
    const uint64_t to[] = {MIDDLE, (uint64_t)2 << 24, ((uint64_t)3 << 24) + 77, (uint64_t)1 << 24, 40};
    for (size_t k = 0; k < sizeof to / sizeof *to; k++) {
        dcsr_matrix *matrix = empty(ROWS, COLS);
        TEST_INSERT(matrix, {41, 1, 1}, {(uint64_t)1 << 24, 2, 2}, ENTRIES);
        dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
        for (long n = 0; status != DCSR_OK; n++) {
            dcsr_ticket *ticket = NULL;
            dcsr_i_fail_allocations_after(n);
            status = dcsr_matrix_resize(matrix, to[k], COLS / 2, &ticket);
            if (status == DCSR_OK) status = dcsr_ticket_wait(ticket);
            dcsr_i_fail_allocations_after(-1);
            dcsr_ticket_destroy(ticket);
            if (status == DCSR_OK) break;
            TEST_STATUS(DCSR_ERROR_OUT_OF_MEMORY, status);
            SHOWS(matrix, {5, COLS - 1, 1}, {41, 1, 1}, {(uint64_t)1 << 24, 2, 2}, {MIDDLE - 1, 7, 2},
                  {MIDDLE, COLS / 3, 3}, {ROWS - 1, 7, 4});
        }
        resize(matrix, ROWS, COLS);
        TEST_INSERT(matrix, {3, 3, 3});
        dcsr_matrix_destroy(matrix);
    }
}

Test(hypersparse, views)
{
    dcsr_matrix *matrix = some();
    TEST_INSERT(matrix, {5, 3, 30}, {5, COLS - 1, 11});
    for (unsigned flags = 0; flags < 4; flags++) {
        dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, flags);
        dcsr_view_info info = test_view_info(view);
        cr_assert_eq(info.nnz, flags & DCSR_VIEW_DUPLICATES && !(flags & DCSR_VIEW_SORTED) ? 6 : 5);
        cr_assert(info.max_row >= 2 && info.row_std > 0 && info.row_std < 1e-3);
        dcsr_view_destroy(view);
    }
    dcsr_view *view = NULL;
    /* These have an offset for each row, or column. */
    TEST_REFUSED(DCSR_ERROR_OUT_OF_MEMORY, "DCSR_LAYOUT_SEGMENTS",
                 dcsr_view_create(&view, matrix, DCSR_LAYOUT_CSR, 0));
    TEST_REFUSED(DCSR_ERROR_OUT_OF_MEMORY, "DCSR_LAYOUT_SEGMENTS",
                 dcsr_view_create(&view, matrix, DCSR_LAYOUT_CSC, 0));
    dcsr_matrix_destroy(matrix);
}

/* Operations into an empty matrix and, accumulating, into one that holds the same. */
Test(hypersparse, operations_on_entries)
{
    dcsr_matrix *A = some(), *C = empty(ROWS, COLS);
    dcsr_view *a = view_of(A);
    const dcsr_binary_op *plus = dcsr_binary_op_of(DCSR_BINARY_PLUS, DCSR_INT64);
    const dcsr_unary_op *negate = dcsr_unary_op_named("negate", DCSR_INT64);
    int64_t limit = 100;
    TEST_OK(dcsr_matrix_apply(C, NULL, NULL, negate, a, NULL));
    SHOWS(C, {5, COLS - 1, -1}, {MIDDLE - 1, 7, -2}, {MIDDLE, COLS / 3, -3}, {ROWS - 1, 7, -4});
    TEST_OK(dcsr_matrix_ewise_add(C, NULL, NULL, plus, a, a, NULL));
    SHOWS(C, {5, COLS - 1, 2}, {MIDDLE - 1, 7, 4}, {MIDDLE, COLS / 3, 6}, {ROWS - 1, 7, 8});
    TEST_OK(dcsr_matrix_ewise_mult(C, NULL, plus, plus, a, a, NULL));
    SHOWS(C, {5, COLS - 1, 4}, {MIDDLE - 1, 7, 8}, {MIDDLE, COLS / 3, 12}, {ROWS - 1, 7, 16});
    TEST_OK(dcsr_matrix_select(C, NULL, NULL, dcsr_index_op_named("col_le", DCSR_INT64), a, &limit, NULL));
    SHOWS(C, {MIDDLE - 1, 7, 2}, {ROWS - 1, 7, 4});
    dcsr_view *c = view_of(C);
    TEST_OK(dcsr_matrix_apply(A, c, NULL, negate, a, NULL));
    SHOWS(A, {5, COLS - 1, 1}, {MIDDLE - 1, 7, -2}, {MIDDLE, COLS / 3, 3}, {ROWS - 1, 7, -4});
    TEST_OK(dcsr_matrix_apply(A, c, NULL, negate, a, &(dcsr_desc){.mask_complement = true, .replace = true}));
    SHOWS(A, {5, COLS - 1, -1}, {MIDDLE, COLS / 3, -3});
    TEST_OK(dcsr_matrix_add(A, c, NULL));
    SHOWS(A, {5, COLS - 1, -1}, {MIDDLE - 1, 7, 2}, {MIDDLE, COLS / 3, -3}, {ROWS - 1, 7, 4});
    dcsr_view_destroy(c);
    dcsr_view_destroy(a);
    dcsr_matrix_destroy(C);
    dcsr_matrix_destroy(A);
}

/* A view whose rows do not ascend, of which there is a sorted copy. */
Test(hypersparse, rows_that_are_not_sorted)
{
    const dcsr_binary_op *plus = dcsr_binary_op_of(DCSR_BINARY_PLUS, DCSR_INT64);
    for (int policy = DCSR_POLICY_KEEP; policy <= DCSR_POLICY_SUM; policy++) {
        dcsr_matrix *A = test_matrix(context, DCSR_INT64, ROWS, COLS, (dcsr_policy)policy);
        dcsr_matrix *C = empty(ROWS, COLS);
        TEST_INSERT(A, {MIDDLE, 9, 1}, {ROWS - 1, 2, 5});
        TEST_INSERT(A, {MIDDLE, 3, 2}, {5, 5, 5});
        TEST_INSERT(A, {MIDDLE, 9, 3});
        dcsr_view *a = test_view(A, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
        TEST_OK(dcsr_matrix_ewise_add(C, NULL, NULL, plus, a, a, NULL));
        SHOWS(C, {5, 5, 10}, {MIDDLE, 3, 4}, {MIDDLE, 9, 8}, {ROWS - 1, 2, 10});
        dcsr_view_destroy(a);
        dcsr_matrix_destroy(C);
        dcsr_matrix_destroy(A);
    }
}

Test(hypersparse, products)
{
    dcsr_matrix *A = some(), *B = square(false), *C = empty(ROWS, COLS);
    dcsr_view *a = view_of(A), *b = view_of(B);
    const dcsr_semiring *plus_times = dcsr_semiring_named("plus_times", DCSR_INT64);
    const dcsr_binary_op *plus = dcsr_binary_op_of(DCSR_BINARY_PLUS, DCSR_INT64);
    TEST_OK(dcsr_mxm(C, NULL, NULL, plus_times, a, b, NULL));
    SHOWS(C, {5, 5, 30}, {MIDDLE - 1, COLS - 1, 40}, {ROWS - 1, COLS - 1, 80});
    dcsr_view *c = view_of(C);
    TEST_OK(dcsr_mxm(C, c, plus, plus_times, a, b, NULL));
    SHOWS(C, {5, 5, 60}, {MIDDLE - 1, COLS - 1, 80}, {ROWS - 1, COLS - 1, 160});
    TEST_OK(dcsr_mxm(C, NULL, NULL, plus_times, a, b, &(dcsr_desc){.transpose_b = true}));
    SHOWS(C, {5, 7, 20}, {MIDDLE - 1, 5, 20}, {ROWS - 1, 5, 40});
    dcsr_view_destroy(c);

    dcsr_matrix *K = empty(ROWS / 4, COLS / 4), *L = empty(4, 4);
    TEST_INSERT(K, {0, 0, 2}, {ROWS / 4 - 1, 3, 5});
    TEST_INSERT(L, {1, 1, 7}, {3, 0, 1});
    dcsr_view *k = view_of(K), *l = view_of(L);
    const dcsr_binary_op *times = dcsr_binary_op_of(DCSR_BINARY_TIMES, DCSR_INT64);
    TEST_OK(dcsr_kronecker(C, NULL, NULL, times, k, l, NULL));
    SHOWS(C, {1, 1, 14}, {3, 0, 2}, {ROWS - 3, 13, 35}, {ROWS - 1, 12, 5});
    TEST_OK(dcsr_kronecker(C, NULL, NULL, times, l, k, NULL));
    SHOWS(C, {ROWS / 4, COLS / 4, 14}, {ROWS / 2 - 1, COLS / 4 + 3, 35}, {3 * (ROWS / 4), 0, 2},
          {ROWS - 1, 3, 5});
    dcsr_view_destroy(k);
    dcsr_view_destroy(l);
    dcsr_matrix_destroy(K);
    dcsr_matrix_destroy(L);
    dcsr_view_destroy(a);
    dcsr_view_destroy(b);
    dcsr_matrix_destroy(C);
    dcsr_matrix_destroy(B);
    dcsr_matrix_destroy(A);
}

Test(hypersparse, transposes)
{
    for (int maintained = 0; maintained < 2; maintained++) {
        dcsr_matrix *B = square(maintained), *T = empty(COLS, COLS);
        const dcsr_binary_op *plus = dcsr_binary_op_of(DCSR_BINARY_PLUS, DCSR_INT64);
        TEST_INSERT(B, {6, 7, 60});
        dcsr_view *b = view_of(B);
        TEST_OK(dcsr_matrix_transpose(T, NULL, NULL, b, NULL));
        SHOWS(T, {5, COLS - 1, 30}, {7, 5, 10}, {7, 6, 60}, {COLS - 1, 7, 20});
        TEST_OK(dcsr_matrix_transpose(T, NULL, plus, b, NULL));
        SHOWS(T, {5, COLS - 1, 60}, {7, 5, 20}, {7, 6, 120}, {COLS - 1, 7, 40});
        /* A result that keeps rows, of a matrix that maintains its transpose. */
        TEST_OK(dcsr_matrix_ewise_add(B, NULL, plus, plus, b, b, NULL));
        dcsr_view_destroy(b);
        b = view_of(B);
        TEST_OK(dcsr_matrix_transpose(T, NULL, NULL, b, NULL));
        SHOWS(T, {5, COLS - 1, 90}, {7, 5, 30}, {7, 6, 180}, {COLS - 1, 7, 60});
        dcsr_view_destroy(b);
        dcsr_matrix_destroy(T);
        dcsr_matrix_destroy(B);
    }
}

Test(hypersparse, extraction_and_assignment)
{
    dcsr_matrix *A = some(), *E = empty(3, 2), *W = empty(ROWS, 2);
    dcsr_view *a = view_of(A);
    const uint64_t rows[] = {ROWS - 1, 5, 6}, cols[] = {7, COLS - 1};
    TEST_OK(dcsr_matrix_extract(E, NULL, NULL, a, &(dcsr_index_list){rows, 3}, &(dcsr_index_list){cols, 2},
                                NULL));
    SHOWS(E, {0, 0, 4}, {1, 1, 1});
    TEST_OK(dcsr_matrix_extract(W, NULL, NULL, a, NULL, &(dcsr_index_list){cols, 2}, NULL));
    SHOWS(W, {5, 1, 1}, {MIDDLE - 1, 0, 2}, {ROWS - 1, 0, 4});
    dcsr_view *e = view_of(E), *w = view_of(W);
    int64_t value = 9;
    TEST_OK(dcsr_matrix_assign(A, NULL, NULL, e, &(dcsr_index_list){rows, 3},
                               &(dcsr_index_list){(uint64_t[]){8, 9}, 2}, NULL));
    SHOWS(A, {5, 9, 1}, {5, COLS - 1, 1}, {MIDDLE - 1, 7, 2}, {MIDDLE, COLS / 3, 3}, {ROWS - 1, 7, 4},
          {ROWS - 1, 8, 4});
    TEST_OK(dcsr_matrix_assign(A, NULL, NULL, w, NULL, &(dcsr_index_list){(uint64_t[]){7, 8}, 2}, NULL));
    SHOWS(A, {5, 8, 1}, {5, 9, 1}, {5, COLS - 1, 1}, {MIDDLE - 1, 7, 2}, {MIDDLE, COLS / 3, 3},
          {ROWS - 1, 7, 4});
    TEST_OK(
        dcsr_matrix_assign_scalar(A, a, NULL, &value, DCSR_INT64, NULL, NULL, &(dcsr_desc){.replace = true}));
    SHOWS(A, {5, COLS - 1, 9}, {MIDDLE - 1, 7, 9}, {MIDDLE, COLS / 3, 9}, {ROWS - 1, 7, 9});
    dcsr_view_destroy(w);
    dcsr_view_destroy(e);
    dcsr_view_destroy(a);
    dcsr_matrix_destroy(W);
    dcsr_matrix_destroy(E);
    dcsr_matrix_destroy(A);
}

static dcsr_vector *vector(uint64_t size)
{
    dcsr_vector *made = NULL;
    TEST_OK(dcsr_vector_create(&made, context, DCSR_INT64, size));
    return made;
}

static void holds(const dcsr_vector *v, size_t n, const uint64_t *indices, const int64_t *values)
{
    uint64_t at[8], count;
    int64_t got[8];
    TEST_OK(dcsr_vector_get_entries(v, 8, at, got, &count));
    cr_assert_eq(count, n);
    for (size_t k = 0; k < n; k++)
        cr_assert(at[k] == indices[k] && got[k] == values[k], "%lu: %ld", (unsigned long)at[k], (long)got[k]);
}
#define INDICES(...)                                                   \
    sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), (uint64_t[]) \
    {                                                                  \
        __VA_ARGS__                                                    \
    }
#define VALUES(...) \
    (int64_t[])     \
    {               \
        __VA_ARGS__ \
    }

Test(hypersparse, lines_and_sums)
{
    dcsr_matrix *A = some();
    dcsr_view *a = view_of(A);
    dcsr_vector *r = vector(ROWS), *c = vector(COLS);
    const dcsr_monoid *plus = dcsr_monoid_of(DCSR_BINARY_PLUS, DCSR_INT64);
    int64_t sum = 0;
    TEST_OK(dcsr_matrix_reduce(&sum, NULL, plus, a));
    cr_assert_eq(sum, 10);
    TEST_OK(dcsr_matrix_reduce_rows(r, NULL, NULL, plus, a, NULL));
    holds(r, INDICES(5, MIDDLE - 1, MIDDLE, ROWS - 1), VALUES(1, 2, 3, 4));
    TEST_OK(dcsr_matrix_reduce_rows(c, NULL, NULL, plus, a, &(dcsr_desc){.transpose_a = true}));
    holds(c, INDICES(7, COLS / 3, COLS - 1), VALUES(6, 3, 1));
    TEST_OK(dcsr_matrix_extract_row(c, NULL, NULL, a, MIDDLE, NULL));
    holds(c, INDICES(COLS / 3), VALUES(3));
    TEST_OK(dcsr_matrix_extract_column(r, NULL, NULL, a, 7, NULL));
    holds(r, INDICES(MIDDLE - 1, ROWS - 1), VALUES(2, 4));
    TEST_OK(dcsr_matrix_assign_column(A, NULL, NULL, r, 8, NULL));
    TEST_OK(dcsr_matrix_assign_row(A, NULL, NULL, c, 6, NULL));
    SHOWS(A, {5, COLS - 1, 1}, {6, COLS / 3, 3}, {MIDDLE - 1, 7, 2}, {MIDDLE - 1, 8, 2},
          {MIDDLE, COLS / 3, 3}, {ROWS - 1, 7, 4}, {ROWS - 1, 8, 4});
    dcsr_vector_destroy(c);
    dcsr_vector_destroy(r);
    dcsr_view_destroy(a);
    dcsr_matrix_destroy(A);
}

Test(hypersparse, products_with_vectors)
{
    dcsr_matrix *A = some();
    TEST_INSERT(A, {MIDDLE, 7, 5});
    dcsr_view *a = view_of(A);
    dcsr_vector *u = vector(COLS), *w = vector(ROWS), *mask = vector(ROWS);
    const dcsr_semiring *plus_times = dcsr_semiring_named("plus_times", DCSR_INT64),
                        *min_plus = dcsr_semiring_named("min_plus", DCSR_INT64),
                        *any_pair = dcsr_semiring_named("any_pair", DCSR_INT64);
    int64_t two = 2, three = 3;
    TEST_OK(dcsr_vector_set(u, 7, &two));
    TEST_OK(dcsr_vector_set(u, COLS / 3, &three));
    TEST_OK(dcsr_vector_set(mask, MIDDLE, &two));
    TEST_OK(dcsr_mxv(w, NULL, NULL, plus_times, a, u, NULL));
    holds(w, INDICES(MIDDLE - 1, MIDDLE, ROWS - 1), VALUES(4, 19, 8));
    TEST_OK(dcsr_mxv(w, NULL, NULL, min_plus, a, u, NULL));
    holds(w, INDICES(MIDDLE - 1, MIDDLE, ROWS - 1), VALUES(4, 6, 6));
    TEST_OK(dcsr_mxv(w, NULL, NULL, any_pair, a, u, NULL));
    holds(w, INDICES(MIDDLE - 1, MIDDLE, ROWS - 1), VALUES(1, 1, 1));
    dcsr_desc replace = {.replace = true}, others = {.replace = true, .mask_complement = true};
    TEST_OK(dcsr_mxv(w, mask, NULL, plus_times, a, u, &replace));
    holds(w, INDICES(MIDDLE), VALUES(19));
    TEST_OK(dcsr_mxv(w, mask, NULL, plus_times, a, u, &others));
    holds(w, INDICES(MIDDLE - 1, ROWS - 1), VALUES(4, 8));
    TEST_OK(dcsr_vxm(u, NULL, NULL, plus_times, w, a, NULL));
    holds(u, INDICES(7), VALUES(4 * 2 + 8 * 4));
    dcsr_vector_destroy(mask);
    dcsr_vector_destroy(w);
    dcsr_vector_destroy(u);
    dcsr_view_destroy(a);
    dcsr_matrix_destroy(A);
}

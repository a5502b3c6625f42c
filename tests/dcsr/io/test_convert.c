/* test_convert.c: other formats in and out, by hand and against the triples of the same matrix. */
#include <dcsr/convert.h>
#include "tests/support/support.h"
#include "tests/support/support_files.h"
#include <inttypes.h>

/*      . 1 . 2
 *      . . . .
 *      3 . 4 5
 *      6 . . .  */
static const test_entry small[] = {{0, 1, 1}, {0, 3, 2}, {2, 0, 3}, {2, 2, 4}, {2, 3, 5}, {3, 0, 6}};
enum { SMALL = 6 };

static dcsr_view *small_view(dcsr_context *context, dcsr_matrix **matrix, dcsr_layout layout)
{
    *matrix = test_matrix(context, DCSR_FP64, 4, 4, DCSR_POLICY_LAST);
    for (int i = 0; i < SMALL; i++) test_insert(*matrix, 1, &small[i]); /* several segments a row */
    return test_view(*matrix, layout, DCSR_VIEW_SORTED);
}

static double value_at(const void *values, uint64_t i)
{
    return ((const double *)values)[i];
}

Test(convert, out_by_hand)
{
    dcsr_context *context = test_context(1);
    for (int layout = DCSR_LAYOUT_SEGMENTS; layout <= DCSR_LAYOUT_CSR; layout++) {
        dcsr_matrix *matrix;
        dcsr_view *view = small_view(context, &matrix, (dcsr_layout)layout);

        dcsr_coo coo;
        TEST_OK(dcsr_view_to_coo(&coo, view));
        cr_assert(coo.type == DCSR_FP64 && coo.rows == 4 && coo.cols == 4 && coo.nnz == SMALL);
        for (int i = 0; i < SMALL; i++) {
            cr_assert(coo.row_indices[i] == small[i].row && coo.col_indices[i] == small[i].col);
            cr_assert_eq(value_at(coo.values, (uint64_t)i), small[i].value);
        }
        dcsr_coo_free(&coo);

        enum { NO = -1 };
        static const int slots[] = {1, NO, 0, 0, 3, NO, 2, NO, NO, NO, 3, NO};
        static const double slot_values[] = {1, 0, 3, 6, 2, 0, 4, 0, 0, 0, 5, 0};
        dcsr_ell ell;
        TEST_OK(dcsr_view_to_ell(&ell, view, 0));
        cr_assert(ell.type == DCSR_FP64 && ell.rows == 4 && ell.cols == 4 && ell.width == 3);
        for (int i = 0; i < 12; i++) {
            cr_assert_eq(ell.col_indices[i], slots[i] == NO ? DCSR_ELL_UNUSED : (uint32_t)slots[i]);
            cr_assert_eq(value_at(ell.values, (uint64_t)i), slot_values[i]);
        }
        dcsr_ell_free(&ell);

        dcsr_hyb hyb;
        TEST_OK(dcsr_view_to_hyb(&hyb, view, 0)); /* 6 entries in 4 rows: 2 slots */
        cr_assert(hyb.ell.width == 2 && hyb.coo.nnz == 1 && hyb.coo.row_indices[0] == 2 &&
                  hyb.coo.col_indices[0] == 3);
        cr_assert_eq(value_at(hyb.coo.values, 0), 5);
        for (int i = 0; i < 8; i++)
            cr_assert_eq(hyb.ell.col_indices[i], slots[i] == NO ? DCSR_ELL_UNUSED : (uint32_t)slots[i]);
        dcsr_hyb_free(&hyb);
        TEST_OK(dcsr_view_to_hyb(&hyb, view, 1));
        cr_assert(hyb.ell.width == 1 && hyb.coo.nnz == 3);
        dcsr_hyb_free(&hyb);
        TEST_OK(dcsr_view_to_hyb(&hyb, view, 100));
        cr_assert(hyb.ell.width == 3 && hyb.coo.nnz == 0);
        dcsr_hyb_free(&hyb);
        cr_assert(!hyb.ell.col_indices && !hyb.coo.row_indices);

        dcsr_view_destroy(view);
        dcsr_matrix_destroy(matrix);
    }
    cr_assert_eq(test_scratch_bytes(context), 0);
    dcsr_context_destroy(context);
}

static void check_small(dcsr_matrix *matrix)
{
    char why[TEST_WHY];
    cr_assert(test_matrix_shows(matrix, SMALL, small, why), "%s", why);
    dcsr_matrix_info info = test_info(matrix);
    cr_assert(info.max_segments == 1 && info.stored == SMALL, "rows are single segments");
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_CSR, 0);
    cr_assert(test_view_info(view).lent, "rows lie one behind the other, so that a CSR view lends pointers");
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
}

Test(convert, in_by_hand)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix;
    uint64_t row_offsets[] = {0, 2, 2, 5, 6};
    uint32_t columns[] = {3, 1, 0, 2, 3, 0};
    double by_row[] = {2, 1, 3, 4, 5, 6};
    dcsr_csr csr = {4, 4, SMALL, DCSR_FP64, row_offsets, columns, by_row};
    TEST_OK(dcsr_matrix_from_csr(&matrix, context, &csr, NULL));
    check_small(matrix);

    uint64_t col_offsets[] = {0, 2, 3, 4, 6};
    uint32_t rows[] = {3, 2, 0, 2, 0, 2};
    double by_column[] = {6, 3, 1, 4, 2, 5};
    dcsr_csc csc = {4, 4, SMALL, DCSR_FP64, col_offsets, rows, by_column};
    TEST_OK(dcsr_matrix_from_csc(&matrix, context, &csc, NULL));
    check_small(matrix);

    uint32_t slots[] = {1, DCSR_ELL_UNUSED, DCSR_ELL_UNUSED, 0, 3, DCSR_ELL_UNUSED, 2, DCSR_ELL_UNUSED};
    double slot_values[] = {1, 0, 0, 6, 2, 0, 4, 0};
    uint64_t rest_row[] = {2, 2}, rest_col[] = {3, 0};
    double rest[] = {5, 3};
    dcsr_hyb hyb = {{4, 4, 2, DCSR_FP64, slots, slot_values, NULL},
                    {4, 4, 2, DCSR_FP64, rest_row, rest_col, rest, NULL}};
    TEST_OK(dcsr_matrix_from_hyb(&matrix, context, &hyb, NULL));
    check_small(matrix);

    slots[2] = 0, slot_values[2] = 3; /* (2, 0); entries of a row in any order, holes anywhere */
    TEST_OK(dcsr_matrix_from_ell(&matrix, context, &hyb.ell, NULL));
    TEST_SHOWS(matrix, {0, 1, 1}, {0, 3, 2}, {2, 0, 3}, {2, 2, 4}, {3, 0, 6});
    dcsr_matrix_destroy(matrix);

    uint64_t twice[] = {0, 2};
    dcsr_csr duplicates = {1, 4, 2, DCSR_FP64, twice, (uint32_t[]){3, 3}, by_row};
    dcsr_matrix_options sum = {.policy = DCSR_POLICY_SUM};
    TEST_OK(dcsr_matrix_from_csr(&matrix, context, &duplicates, &sum));
    TEST_SHOWS(matrix, {0, 3, 3});
    dcsr_matrix_destroy(matrix);

    cr_assert_eq(test_scratch_bytes(context), 0);
    dcsr_context_destroy(context);
}

Test(convert, empty_matrices)
{
    dcsr_context *context = test_context(1);
    for (int i = 0; i < 3; i++) {
        dcsr_type type = i == 1 ? DCSR_PATTERN : DCSR_INT32;
        uint64_t rows = i == 2 ? 0 : 3, cols = i == 2 ? 0 : 5;
        dcsr_matrix *matrix = test_matrix(context, type, rows, cols, DCSR_POLICY_DEFAULT), *copy;
        dcsr_view *view = test_view(matrix, DCSR_LAYOUT_CSR, 0),
                  *columns = test_view(matrix, DCSR_LAYOUT_CSC, 0);
        dcsr_csr csr;
        dcsr_csc csc;
        dcsr_ell ell;
        dcsr_hyb hyb;
        dcsr_coo coo;
        TEST_OK(dcsr_view_get_csr_on_host(view, &csr));
        TEST_OK(dcsr_view_get_csc_on_host(columns, &csc));
        TEST_OK(dcsr_view_to_ell(&ell, view, 0));
        TEST_OK(dcsr_view_to_hyb(&hyb, view, 0));
        TEST_OK(dcsr_view_to_coo(&coo, view));
        cr_assert(!csc.nnz && !csc.offsets[cols] && !ell.width && !hyb.ell.width && !hyb.coo.nnz && !coo.nnz);
        cr_assert(coo.rows == rows && coo.cols == cols && coo.type == type && ell.rows == rows);
        for (int k = 0; k < 5; k++) {
            TEST_OK(k == 0   ? dcsr_matrix_from_csr(&copy, context, &csr, NULL)
                    : k == 1 ? dcsr_matrix_from_csc(&copy, context, &csc, NULL)
                    : k == 2 ? dcsr_matrix_from_ell(&copy, context, &ell, NULL)
                    : k == 3 ? dcsr_matrix_from_hyb(&copy, context, &hyb, NULL)
                             : dcsr_matrix_from_coo(&copy, context, &coo, NULL));
            dcsr_matrix_info info = test_info(copy);
            cr_assert(info.rows == rows && info.cols == cols && info.stored == 0 && info.type == type);
            dcsr_matrix_destroy(copy);
        }
        dcsr_ell_free(&ell);
        dcsr_hyb_free(&hyb);
        dcsr_coo_free(&coo);
        dcsr_view_destroy(columns);
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(matrix);
    }
    cr_assert_eq(test_scratch_bytes(context), 0);
    dcsr_context_destroy(context);
}

/* -- At random ------------------------------------------------------------------------------------------- */

/* A matrix that has grown in batches, some rows long, and an oracle of it. */
static dcsr_matrix *random_matrix(dcsr_context *context, test_random *random, dcsr_type type, uint64_t rows,
                                  uint64_t cols, oracle *model)
{
    dcsr_matrix *matrix = test_matrix(context, type, rows, cols, DCSR_POLICY_LAST);
    oracle_create(model, type, DCSR_POLICY_LAST, rows, cols);
    uint64_t batches = test_random_below(random, 5);
    for (uint64_t b = 0; b < batches; b++) {
        uint64_t n = test_random_below(random, TEST_SIZE(20000, 5000, 3000));
        uint64_t *row = test_allocate(n, 8), *col = test_allocate(n, 8);
        char *values = test_allocate(n, 8);
        for (uint64_t i = 0; i < n; i++) {
            row[i] = test_random_once_in(random, 5) ? 0 : test_random_below(random, rows);
            col[i] = test_random_below(random, cols);
            test_encode(type, (double)test_random_below(random, 100), values + i * dcsr_type_size(type));
        }
        bool removes = test_random_once_in(random, 4);
        const void *given = type == DCSR_PATTERN ? NULL : values;
        if (removes) {
            TEST_OK(dcsr_matrix_remove(matrix, n, row, col, NULL));
            oracle_remove(model, n, row, col);
        } else {
            TEST_OK(dcsr_matrix_insert(matrix, n, row, col, given, NULL));
            oracle_insert(model, n, row, col, given);
        }
        free(row);
        free(col);
        free(values);
    }
    TEST_OK(dcsr_matrix_wait(matrix));
    return matrix;
}

/* The order that each format promises. */
static void check_order(const dcsr_coo *coo, const dcsr_csc *csc)
{
    for (uint64_t i = 1; i < coo->nnz; i++) cr_assert_leq(coo->row_indices[i - 1], coo->row_indices[i]);
    for (uint64_t j = 0; j < csc->cols; j++)
        for (uint64_t i = csc->offsets[j] + 1; i < csc->offsets[j + 1]; i++)
            cr_assert_lt(csc->row_indices[i - 1], csc->row_indices[i]);
}

/* Out of a view into each format, columns out of another of the same matrix, and in again: the same matrix. */
static void round_trip(dcsr_context *context, dcsr_view *view, dcsr_view *columns, const oracle *model,
                       uint64_t width)
{
    dcsr_coo coo;
    dcsr_csc csc;
    dcsr_ell ell;
    dcsr_hyb hyb;
    TEST_OK(dcsr_view_to_coo(&coo, view));
    TEST_OK(dcsr_view_get_csc_on_host(columns, &csc));
    TEST_OK(dcsr_view_to_ell(&ell, view, 0));
    TEST_OK(dcsr_view_to_hyb(&hyb, view, width));
    check_order(&coo, &csc);
    cr_assert(coo.nnz == oracle_nnz(model) && csc.nnz == coo.nnz);
    for (int k = 0; k < 4; k++) {
        dcsr_matrix *matrix;
        TEST_OK(k == 0   ? dcsr_matrix_from_coo(&matrix, context, &coo, NULL)
                : k == 1 ? dcsr_matrix_from_csc(&matrix, context, &csc, NULL)
                : k == 2 ? dcsr_matrix_from_ell(&matrix, context, &ell, NULL)
                         : dcsr_matrix_from_hyb(&matrix, context, &hyb, NULL));
        TEST_MATCHES(matrix, model);
        dcsr_matrix_destroy(matrix);
    }
    dcsr_csr csr;
    if (dcsr_view_get_csr_on_host(view, &csr) == DCSR_OK) {
        dcsr_matrix *matrix;
        TEST_OK(dcsr_matrix_from_csr(&matrix, context, &csr, NULL));
        TEST_MATCHES(matrix, model);
        dcsr_matrix_destroy(matrix);
    }
    dcsr_coo_free(&coo);
    dcsr_ell_free(&ell);
    dcsr_hyb_free(&hyb);
}

Test(convert, round_trips_at_random)
{
    test_seeds seeds = test_seeds_from_environment(TEST_SIZE(24, 12, 6));
    for (uint64_t s = 0; s < seeds.rounds; s++) {
        uint64_t seed = seeds.first + s;
        test_random random = {seed};
        test_seed_begins(seed);
        dcsr_context *context = test_context(seed % 2 ? 1 : 4);
        static const uint64_t sizes[] = {1, 31, 32, 33, 64, 200, 1023, 1025, 3000};
        uint64_t rows = sizes[test_random_below(&random, 9)], cols = sizes[test_random_below(&random, 9)];
        oracle model;
        dcsr_matrix *matrix =
            random_matrix(context, &random, (dcsr_type)(seed % DCSR_TYPE_COUNT), rows, cols, &model);
        for (int layout = DCSR_LAYOUT_SEGMENTS; layout <= DCSR_LAYOUT_CSR; layout++) {
            dcsr_view *view =
                test_view(matrix, (dcsr_layout)layout, test_random_below(&random, 2) ? DCSR_VIEW_SORTED : 0);
            dcsr_view *columns = test_view(matrix, DCSR_LAYOUT_CSC, 0);
            round_trip(context, view, columns, &model, test_random_below(&random, 6));
            dcsr_view_destroy(columns);
            dcsr_view_destroy(view);
        }
        dcsr_matrix_destroy(matrix);
        oracle_destroy(&model);
        cr_assert_eq(test_scratch_bytes(context), 0);
        dcsr_context_destroy(context);
    }
}

/* More entries than one batch of the loader; and a queue that is full, with the wish to be refused. */
Test(convert, many_batches)
{
    dcsr_context *context = test_context(2);
    enum { ROWS = 1500, COLS = 1000 };
    uint64_t *offsets = test_allocate(ROWS + 1, 8);
    uint32_t *columns = test_allocate((size_t)ROWS * COLS, 4);
    for (uint64_t i = 0; i <= ROWS; i++) offsets[i] = i * COLS;
    for (uint32_t i = 0; i < ROWS * COLS; i++) columns[i] = i % COLS;
    dcsr_csr csr = {ROWS, COLS, ROWS * COLS, DCSR_PATTERN, offsets, columns, NULL}, copy;
    dcsr_matrix_options options = {.queue_limit = 1 << 20, .refuse_when_full = true};
    dcsr_matrix *matrix;
    TEST_OK(dcsr_matrix_from_csr(&matrix, context, &csr, &options));
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_CSR, 0);
    TEST_OK(dcsr_view_get_csr_on_host(view, &copy));
    cr_assert(copy.nnz == csr.nnz && test_view_info(view).lent);
    cr_assert(!memcmp(copy.offsets, offsets, (ROWS + 1) * 8) &&
              !memcmp(copy.col_indices, columns, csr.nnz * 4));
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    free(offsets);
    free(columns);
    dcsr_context_destroy(context);
}

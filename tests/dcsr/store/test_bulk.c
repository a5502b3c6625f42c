/* test_bulk.c: matrices made of triples at once, against the oracle and against inserting. */
#include "dcsr/base/alloc.h"
#include <dcsr/coo.h>
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

/* The orders in which triples come. */
typedef enum sequence { SCATTERED, BY_ELEMENT, BY_ROW, BY_COLUMN, ONE_ROW, SEQUENCES } sequence;

static int by_row(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return x[0] != y[0] ? (x[0] < y[0] ? -1 : 1) : x[1] < y[1] ? -1 : x[1] > y[1];
}
static int by_column(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return by_row((uint64_t[]){x[1], x[0]}, (uint64_t[]){y[1], y[0]});
}

/* Positions; elements are four neighbours each, all pairs of them. */
static void draw_positions(uint64_t (*at)[2], uint64_t n, uint64_t rows, uint64_t cols, sequence how,
                           test_random *random)
{
    for (uint64_t i = 0; i < n; i++) {
        uint64_t element = i / 16 * 3, row = test_random_below(random, rows),
                 col = test_random_below(random, cols);
        if (how == BY_ELEMENT) row = (element + i / 4 % 4) % rows, col = (element + i % 4) % cols;
        if (how == ONE_ROW && i % 16) row = rows / 2;
        at[i][0] = row, at[i][1] = col;
    }
    if (how == BY_ROW || how == BY_COLUMN) qsort(at, n, sizeof *at, how == BY_ROW ? by_row : by_column);
}

static dcsr_coo draw(dcsr_context *context, dcsr_type type, uint64_t n, uint64_t rows, uint64_t cols,
                     sequence how, uint64_t seed)
{
    dcsr_coo coo;
    test_random random = {seed};
    uint64_t(*at)[2] = test_allocate(n + 1, sizeof *at);
    draw_positions(at, n, rows, cols, how, &random);
    TEST_OK(dcsr_coo_allocate(&coo, context, type, rows, cols, n));
    for (uint64_t i = 0; i < n; i++) {
        coo.row_indices[i] = at[i][0], coo.col_indices[i] = at[i][1];
        if (coo.values)
            test_encode(type, (double)test_random_below(&random, 1000) / 8 - 50,
                        (char *)coo.values + i * dcsr_type_size(type));
    }
    free(at);
    return coo;
}

static dcsr_matrix *make(const dcsr_coo *coo, dcsr_policy policy)
{
    dcsr_matrix *matrix;
    TEST_OK(dcsr_matrix_from_coo(&matrix, coo->context, coo, &(dcsr_matrix_options){.policy = policy}));
    return matrix;
}

/* The values of a view as CSR, whose bits are to be the same. */
static void check_same_bits(dcsr_matrix *a, dcsr_matrix *b)
{
    dcsr_view *view[2] = {test_view(a, DCSR_LAYOUT_CSR, 0), test_view(b, DCSR_LAYOUT_CSR, 0)};
    dcsr_csr csr[2];
    for (int i = 0; i < 2; i++) TEST_OK(dcsr_view_get_csr_on_host(view[i], &csr[i]));
    cr_assert_eq(csr[0].nnz, csr[1].nnz);
    cr_assert(!memcmp(csr[0].offsets, csr[1].offsets, (csr[0].rows + 1) * sizeof *csr[0].offsets));
    cr_assert(!memcmp(csr[0].col_indices, csr[1].col_indices, csr[0].nnz * sizeof *csr[0].col_indices));
    if (csr[0].values)
        cr_assert(!memcmp(csr[0].values, csr[1].values, csr[0].nnz * dcsr_type_size(csr[0].type)));
    for (int i = 0; i < 2; i++) dcsr_view_destroy(view[i]);
}

static void check_against_oracle(const dcsr_coo *coo, dcsr_policy policy, dcsr_matrix *matrix)
{
    oracle model;
    oracle_create(&model, coo->type, policy, coo->rows, coo->cols);
    oracle_insert(&model, coo->nnz, coo->row_indices, coo->col_indices, coo->values);
    TEST_MATCHES(matrix, &model);
    dcsr_matrix_info info = test_info(matrix);
    cr_assert(info.stored == oracle_nnz(&model) && info.inserted == coo->nnz && info.batches == 1);
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_CSR, 0);
    cr_assert(test_view_info(view).lent, "rows lie one behind the other");
    dcsr_view_destroy(view);
    oracle_destroy(&model);
}

Test(bulk, all_types_and_policies_in_any_order)
{
    dcsr_context *context = test_context(3);
    const uint64_t n = (uint64_t)TEST_SIZE(3000, 1500, 700);
    for (int type = 0; type < DCSR_TYPE_COUNT; type++)
        for (int policy = DCSR_POLICY_KEEP; policy < DCSR_POLICY_COUNT; policy++) {
            sequence how = (sequence)((type + policy) % SEQUENCES);
            dcsr_coo coo = draw(context, (dcsr_type)type, n, 90, 70, how, (uint64_t)(type * 100 + policy));
            dcsr_matrix *matrix = make(&coo, (dcsr_policy)policy);
            check_against_oracle(&coo, (dcsr_policy)policy, matrix);
            dcsr_matrix_destroy(matrix);
            dcsr_coo_free(&coo);
        }
    test_close(context);
}

/* Enough entries for many buckets; sums of fractions, whose bits depend on their order. A GPU adds up in an order of
 * its own: there, of whole numbers. */
Test(bulk, many_buckets_give_the_same_bits_for_any_number_of_threads)
{
    const uint64_t n = (uint64_t)TEST_SIZE(120000, 40000, 40000);
    const uint64_t shapes[][2] = {{3000, 3000}, {2, 100000}, {40000, 17}};
    for (sequence how = SCATTERED; how < SEQUENCES; how++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            dcsr_matrix *one = NULL;
            dcsr_context *contexts[3];
            for (int threads = 1; threads <= 3; threads++) {
                dcsr_context *context = contexts[threads - 1] = test_context(threads);
                dcsr_coo coo = draw(context, DCSR_FP32, n, shapes[s][0], shapes[s][1], how, s);
                const float divisor = test_on_device(context) && !TEST_EMULATOR ? 1 : 3;
                for (uint64_t i = 0; i < n; i++) ((float *)coo.values)[i] /= divisor;
                dcsr_matrix *matrix = make(&coo, DCSR_POLICY_SUM);
                if (one) {
                    check_same_bits(one, matrix);
                    dcsr_matrix_destroy(matrix);
                } else {
                    if (!test_on_emulator()) check_against_oracle(&coo, DCSR_POLICY_SUM, matrix);
                    one = matrix;
                }
                dcsr_coo_free(&coo);
            }
            dcsr_matrix_destroy(one);
            for (int threads = 1; threads <= 3; threads++) test_close(contexts[threads - 1]);
        }
}

/* A matrix of far more rows than entries is made by inserting, and is the same. */
Test(bulk, few_entries_in_many_rows)
{
    dcsr_context *context = test_context(2);
    const uint64_t rows[] = {1, 64, 65, 1000, 100000}, counts[] = {0, 1, 2, 250, 251};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            dcsr_coo coo = draw(context, DCSR_INT16, counts[c], rows[r], 5, SCATTERED, r);
            dcsr_matrix *matrix = make(&coo, DCSR_POLICY_LAST);
            oracle model;
            oracle_create(&model, DCSR_INT16, DCSR_POLICY_LAST, rows[r], 5);
            oracle_insert(&model, coo.nnz, coo.row_indices, coo.col_indices, coo.values);
            TEST_MATCHES(matrix, &model);
            oracle_destroy(&model);
            dcsr_matrix_destroy(matrix);
            dcsr_coo_free(&coo);
        }
    test_close(context);
}

/* What was made so goes on like any other matrix, and so does its maintained transpose. */
Test(bulk, changes_follow)
{
    dcsr_context *context = test_context(2);
    dcsr_matrix *matrix;
    oracle model;
    dcsr_coo coo = draw(context, DCSR_FP64, 2000, 100, 80, BY_ELEMENT, 5);
    TEST_OK(
        dcsr_matrix_from_coo(&matrix, context, &coo,
                             &(dcsr_matrix_options){.policy = DCSR_POLICY_SUM, .maintain_transpose = true}));
    oracle_create(&model, DCSR_FP64, DCSR_POLICY_SUM, 100, 80);
    oracle_insert(&model, coo.nnz, coo.row_indices, coo.col_indices, coo.values);
    TEST_MATCHES(matrix, &model);
    for (int i = 0; i < 3; i++) {
        dcsr_coo more = draw(context, DCSR_FP64, 300, 100, 80, SCATTERED, 6 + (uint64_t)i);
        TEST_OK(dcsr_matrix_insert(matrix, 300, more.row_indices, more.col_indices, more.values, NULL));
        TEST_OK(dcsr_matrix_remove(matrix, 100, more.row_indices + 50, more.col_indices + 50, NULL));
        TEST_OK(dcsr_matrix_wait(matrix));
        oracle_insert(&model, 300, more.row_indices, more.col_indices, more.values);
        oracle_remove(&model, 100, more.row_indices + 50, more.col_indices + 50);
        TEST_MATCHES(matrix, &model);
        dcsr_coo_free(&more);
    }
    oracle_destroy(&model);
    dcsr_coo_free(&coo);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(bulk, names_the_first_entry_outside)
{
    dcsr_context *context = test_context(2);
    for (sequence how = SCATTERED; how < ONE_ROW; how++) {
        dcsr_coo coo = draw(context, DCSR_FP64, 60000, 500, 400, how, 1);
        dcsr_matrix *matrix = (dcsr_matrix *)&coo;
        coo.row_indices[59999] = UINT64_MAX;
        TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "entry 59999 of 60000",
                     dcsr_matrix_from_coo(&matrix, context, &coo, NULL));
        coo.col_indices[41000] = 400;
        TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "entry 41000 of 60000",
                     dcsr_matrix_from_coo(&matrix, context, &coo, NULL));
        coo.row_indices[3] = 500;
        TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "dcsr_matrix_from_coo: entry 3 of 60000",
                     dcsr_matrix_from_coo(&matrix, context, &coo, NULL));
        cr_assert_null(matrix);
        dcsr_coo_free(&coo);
    }
    dcsr_coo nowhere = draw(context, DCSR_PATTERN, 3, 5, 5, SCATTERED, 1);
    dcsr_matrix *matrix;
    nowhere.rows = 0;
    TEST_STATUS(DCSR_ERROR_INDEX_OUT_OF_RANGE, dcsr_matrix_from_coo(&matrix, context, &nowhere, NULL));
    nowhere.rows = 5, nowhere.cols = 0;
    TEST_STATUS(DCSR_ERROR_INDEX_OUT_OF_RANGE, dcsr_matrix_from_coo(&matrix, context, &nowhere, NULL));
    dcsr_coo_free(&nowhere);
    test_close(context);
}

Test(bulk, survives_allocation_failures)
{
    for (int threads = 1; threads <= 2; threads++)
        for (sequence how = SCATTERED; how <= BY_ELEMENT; how++) {
            dcsr_context *context = test_context(threads);
            const uint64_t n = test_on_emulator() ? 300 : 40000;
            dcsr_coo coo = draw(context, DCSR_FP64, n, 300, 300, how, 2);
            dcsr_matrix *matrix = NULL;
            dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
            long k = 0;
            for (; status != DCSR_OK; k++) {
                matrix = (dcsr_matrix *)&coo;
                dcsr_i_fail_allocations_after(k);
                status = dcsr_matrix_from_coo(&matrix, context, &coo, NULL);
                dcsr_i_fail_allocations_after(-1);
                if (status == DCSR_OK) break;
                TEST_STATUS(DCSR_ERROR_OUT_OF_MEMORY, status);
                cr_assert_null(matrix);
            }
            cr_assert_gt(k, 5);
            check_against_oracle(&coo, DCSR_POLICY_LAST, matrix);
            dcsr_matrix_destroy(matrix);
            dcsr_coo_free(&coo);
            test_close(context);
        }
}

/* 12 bytes a place, 4 for its number, and what does not grow with the entries. */
Test(bulk, takes_four_bytes_beside_each_entry)
{
    dcsr_context *context = test_context(1);
    const uint64_t n = 500000;
    if (!test_on_device(context)) {
        dcsr_coo coo = draw(context, DCSR_FP64, n, 20000, 20000, SCATTERED, 3);
        const uint64_t before = test_context_info(context).peak_bytes;
        dcsr_matrix *matrix = make(&coo, DCSR_POLICY_SUM);
        uint64_t taken = test_context_info(context).peak_bytes - before;
        cr_assert_lt(taken, n * 16 + (8 << 20), "%lu bytes for %lu entries", (unsigned long)taken,
                     (unsigned long)n);
        dcsr_matrix_destroy(matrix);
        for (uint64_t i = 0; i < n; i++) coo.col_indices[i] %= 3; /* 60000 positions */
        matrix = make(&coo, DCSR_POLICY_SUM);
        taken = test_info(matrix).bytes;
        cr_assert_lt(taken, 60000 * 12 + (7 << 20), "%lu bytes are kept for 60000 entries",
                     (unsigned long)taken);
        dcsr_matrix_destroy(matrix);
        dcsr_coo_free(&coo);
    }
    test_close(context);
}

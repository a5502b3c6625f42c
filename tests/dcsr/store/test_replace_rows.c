/* test_replace_rows.c: whole rows replaced by those of a CSR, against the oracle. */
#include "dcsr/base/alloc.h"
#include <dcsr/assign.h>
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 200, COLS = 60, MOST_ROWS = 120, MOST_ENTRIES = 12 };

typedef struct replacement {
    dcsr_csr csr;
    uint64_t rows[MOST_ROWS], offsets[MOST_ROWS + 1];
    uint32_t columns[MOST_ROWS * MOST_ENTRIES];
    double values[MOST_ROWS * MOST_ENTRIES];
} replacement;

/* Distinct rows in any order; columns ascend strictly, or come as they come. */
static void draw(replacement *r, test_random *random, dcsr_type type, uint64_t n, bool ascend)
{
    uint64_t all[ROWS], nnz = 0;
    for (uint64_t i = 0; i < ROWS; i++) all[i] = i;
    r->offsets[0] = 0;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t pick = i + test_random_below(random, ROWS - i), taken = all[pick];
        all[pick] = all[i];
        r->rows[i] = taken;
        uint64_t length = test_random_below(random, MOST_ENTRIES), column = 0;
        for (uint64_t e = 0; e < length; e++) {
            column = ascend ? column + 1 + test_random_below(random, 4) : test_random_below(random, 9) * 5;
            r->columns[nnz] = (uint32_t)column;
            test_encode(type, (double)test_random_below(random, 100),
                        (char *)r->values + nnz * dcsr_type_size(type));
            nnz++;
        }
        r->offsets[i + 1] = nnz;
    }
    r->csr = (dcsr_csr){n, COLS, nnz, type, r->offsets, r->columns, type == DCSR_PATTERN ? NULL : r->values};
}

static void replace_in_oracle(oracle *model, const replacement *r)
{
    const size_t size = dcsr_type_size(model->type);
    for (uint64_t i = 0; i < r->csr.rows; i++) {
        model->row[r->rows[i]].length = 0;
        for (uint64_t e = r->offsets[i]; e < r->offsets[i + 1]; e++)
            oracle_insert(model, 1, &r->rows[i], &(uint64_t){r->columns[e]},
                          (const char *)r->csr.values + e * size);
    }
}

static void insert_some(dcsr_matrix *matrix, oracle *model, test_random *random, size_t n)
{
    uint64_t row[400], col[400];
    double value[400];
    for (size_t i = 0; i < n; i++) {
        row[i] = test_random_below(random, ROWS), col[i] = test_random_below(random, COLS);
        test_encode(model->type, (double)test_random_below(random, 100),
                    (char *)value + i * dcsr_type_size(model->type));
    }
    const void *values = model->type == DCSR_PATTERN ? NULL : value;
    TEST_OK(dcsr_matrix_insert(matrix, n, row, col, values, NULL));
    TEST_OK(dcsr_matrix_remove(matrix, n / 10, row, col, NULL)); /* queued, not waited for */
    oracle_insert(model, n, row, col, values);
    oracle_remove(model, n / 10, row, col);
}

static void check(dcsr_context *context, dcsr_type type, dcsr_policy policy, bool twin, uint64_t seed)
{
    test_random random = {seed};
    oracle model;
    dcsr_matrix *matrix;
    replacement *r = test_allocate(1, sizeof *r);
    TEST_OK(dcsr_matrix_create(&matrix, context, type, ROWS, COLS,
                               &(dcsr_matrix_options){.policy = policy, .maintain_transpose = twin}));
    oracle_create(&model, type, policy, ROWS, COLS);
    for (int step = 0; step < TEST_SIZE(12, 8, 4); step++) {
        insert_some(matrix, &model, &random, step ? 50 : 400);
        draw(r, &random, type, test_random_below(&random, step % 3 ? 9 : MOST_ROWS), step % 2);
        TEST_OK(dcsr_matrix_replace_rows(matrix, r->csr.rows, r->rows, &r->csr));
        replace_in_oracle(&model, r);
        TEST_MATCHES(matrix, &model);
    }
    oracle_destroy(&model);
    dcsr_matrix_destroy(matrix);
    free(r);
}

Test(replace_rows, against_the_oracle)
{
    dcsr_context *context = test_context(2);
    check(context, DCSR_FP64, DCSR_POLICY_SUM, false, 1);
    check(context, DCSR_FP64, DCSR_POLICY_LAST, true, 2);
    check(context, DCSR_PATTERN, DCSR_POLICY_ANY, true, 3);
    check(context, DCSR_INT16, DCSR_POLICY_MAX, false, 4);
    check(context, DCSR_UINT8, DCSR_POLICY_ANY, false, 5);
    test_close(context);
}

/* One version for all rows; rows that are not named stay where they are; a view shows what it showed. */
Test(replace_rows, is_one_version)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 300, 10, DCSR_POLICY_KEEP);
    TEST_INSERT(matrix, {0, 1, 1}, {5, 2, 2}, {5, 3, 3}, {299, 9, 4});
    dcsr_view *before = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    const uint32_t *first[2];
    test_pieces(before, 299, &first[0]);
    const uint64_t version = test_info(matrix).version;
    dcsr_csr csr = {2, 10, 3, DCSR_FP64, (uint64_t[]){0, 3, 3}, (uint32_t[]){7, 4, 4}, (double[]){1, 2, 5}};
    TEST_OK(dcsr_matrix_replace_rows(matrix, 2, (uint64_t[]){5, 0}, &csr));
    cr_assert_eq(test_info(matrix).version, version + 1);
    TEST_SHOWS(matrix, {5, 4, 7}, {5, 7, 1},
               {299, 9, 4}); /* kept duplicates are added, as in all operations */
    TEST_VIEW_SHOWS(before, {0, 1, 1}, {5, 2, 2}, {5, 3, 3}, {299, 9, 4});
    dcsr_view *after = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    test_pieces(after, 299, &first[1]);
    cr_assert_eq(first[0], first[1]);
    dcsr_view_destroy(after);
    dcsr_view_destroy(before);
    dcsr_csr none = {0, 10, 0, DCSR_FP64, (uint64_t[]){0}, NULL, NULL};
    TEST_OK(dcsr_matrix_replace_rows(matrix, 0, NULL, &none));
    TEST_SHOWS(matrix, {5, 4, 7}, {5, 7, 1}, {299, 9, 4});
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(replace_rows, refuses_what_is_wrong)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 6, 10, DCSR_POLICY_LAST);
    TEST_INSERT(matrix, {1, 1, 1});
    uint64_t offsets[] = {0, 1, 2}, rows[] = {1, 4};
    uint32_t columns[] = {3, 9};
    double values[] = {1, 2};
    const dcsr_csr good = {2, 10, 2, DCSR_FP64, offsets, columns, values};
    dcsr_csr bad = good;
#define REFUSED(status, words, n, rows, csr) \
    TEST_REFUSED(status, words, dcsr_matrix_replace_rows(matrix, n, rows, csr))
    rows[1] = 1;
    REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_matrix_replace_rows: a row stands more than once", 2, rows,
            &good);
    rows[1] = 6;
    REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "dcsr_matrix_replace_rows", 2, rows, &good);
    rows[1] = 4;
    REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "has 2 rows, for 1 row numbers", 1, rows, &good);
    bad.cols = 11;
    REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "2 x 11", 2, rows, &bad);
    bad = good, bad.type = DCSR_FP32;
    REFUSED(DCSR_ERROR_TYPE_MISMATCH, "the CSR has values of type", 2, rows, &bad);
    bad = good, bad.values = NULL;
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_matrix_replace_rows(matrix, 2, rows, &bad));
    columns[1] = 10;
    REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "entry 1, in row 1, has column 10", 2, rows, &good);
    columns[1] = 9, offsets[1] = 3;
    REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "they must ascend", 2, rows, &good);
    offsets[1] = 1;
    REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "csr is NULL", 2, rows, NULL);
    REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "rows is NULL", 2, NULL, &good);
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_matrix_replace_rows(NULL, 2, rows, &good));
    TEST_SHOWS(matrix, {1, 1, 1});
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(replace_rows, survives_allocation_failures)
{
    for (int ascend = 0; ascend < 2; ascend++) {
        dcsr_context *context = test_context(1);
        test_random random = {7};
        oracle model;
        replacement *r = test_allocate(1, sizeof *r);
        dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, ROWS, COLS, DCSR_POLICY_SUM);
        oracle_create(&model, DCSR_FP64, DCSR_POLICY_SUM, ROWS, COLS);
        insert_some(matrix, &model, &random, 300);
        TEST_OK(dcsr_matrix_wait(matrix));
        draw(r, &random, DCSR_FP64, 50, ascend);
        dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
        for (long n = 0; status != DCSR_OK; n++) {
            dcsr_i_fail_allocations_after(n);
            status = dcsr_matrix_replace_rows(matrix, r->csr.rows, r->rows, &r->csr);
            dcsr_i_fail_allocations_after(-1);
            if (status == DCSR_OK) break;
            TEST_STATUS(DCSR_ERROR_OUT_OF_MEMORY, status);
            if (n % TEST_SIZE(1, 5, 9) == 0) TEST_MATCHES(matrix, &model);
        }
        replace_in_oracle(&model, r);
        TEST_MATCHES(matrix, &model);
        oracle_destroy(&model);
        dcsr_matrix_destroy(matrix);
        free(r);
        test_close(context);
    }
}

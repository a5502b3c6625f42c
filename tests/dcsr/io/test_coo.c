/* test_coo.c: triples in memory, and a matrix from them. */
#include "dcsr/io/coo_build.h"
#include "tests/support/support.h"
#include "tests/support/support_files.h"

Test(coo, allocate_gives_arrays_for_each_type)
{
    dcsr_context *context = test_context(1);
    for (int type = 0; type < DCSR_TYPE_COUNT; type++) {
        dcsr_coo coo;
        TEST_OK(dcsr_coo_allocate(&coo, context, (dcsr_type)type, 7, 9, 1000));
        cr_assert(coo.type == (dcsr_type)type && coo.rows == 7 && coo.cols == 9 && coo.nnz == 1000);
        cr_assert_eq(coo.context, context);
        cr_assert_eq(!coo.values, type == DCSR_PATTERN);
        memset(coo.row_indices, 1, 8000);
        memset(coo.col_indices, 1, 8000);
        if (coo.values) memset(coo.values, 1, 1000 * dcsr_type_size((dcsr_type)type));
        cr_assert_eq(test_scratch_bytes(context), 1000 * (16 + dcsr_type_size((dcsr_type)type)));
        dcsr_coo_free(&coo);
        cr_assert(test_is_zero(&coo));
        cr_assert_eq(test_scratch_bytes(context), 0);
    }
    dcsr_context_destroy(context);
}

Test(coo, free_of_nothing_is_fine)
{
    dcsr_coo coo = {0};
    dcsr_coo_free(&coo);
    dcsr_coo_free(NULL);
}

Test(coo, bad_arguments)
{
    dcsr_context *context = test_context(1);
    dcsr_coo coo;
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "NULL", dcsr_coo_allocate(NULL, context, DCSR_FP64, 1, 1, 1));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_coo_allocate(&coo, NULL, DCSR_FP64, 1, 1, 1));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "type",
                 dcsr_coo_allocate(&coo, context, DCSR_TYPE_COUNT, 1, 1, 1));
    TEST_REFUSED(DCSR_ERROR_TOO_LARGE, "rows",
                 dcsr_coo_allocate(&coo, context, DCSR_FP64, DCSR_MAX_ROWS + 1, 1, 1));
    TEST_REFUSED(DCSR_ERROR_TOO_LARGE, "columns",
                 dcsr_coo_allocate(&coo, context, DCSR_FP64, 1, DCSR_MAX_COLS + 1, 1));
    TEST_REFUSED(DCSR_ERROR_TOO_LARGE, "entries",
                 dcsr_coo_allocate(&coo, context, DCSR_FP64, 1, 1, UINT64_MAX));
    TEST_REFUSED(DCSR_ERROR_TOO_LARGE, "entries",
                 dcsr_coo_allocate(&coo, context, DCSR_FP64, 1, 1, UINT64_MAX / 8 + 1));
    cr_assert(test_is_zero(&coo));
    TEST_STATUS(DCSR_ERROR_OUT_OF_MEMORY, dcsr_coo_allocate(&coo, context, DCSR_FP64, 1, 1, UINT64_MAX / 16));
    cr_assert(test_is_zero(&coo));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_coo_resize(NULL, 1));
    cr_assert_eq(test_scratch_bytes(context), 0);
    dcsr_context_destroy(context);
}

static void fill(dcsr_coo *coo)
{
    for (uint64_t i = 0; i < coo->nnz; i++) {
        coo->row_indices[i] = i;
        coo->col_indices[i] = 2 * i;
        if (coo->values) ((int16_t *)coo->values)[i] = (int16_t)(3 * i);
    }
}

static void check(const dcsr_coo *coo, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        cr_assert(coo->row_indices[i] == i && coo->col_indices[i] == 2 * i);
        if (coo->values) cr_assert_eq(((int16_t *)coo->values)[i], (int16_t)(3 * i));
    }
}

Test(coo, resize_keeps_what_fits)
{
    dcsr_context *context = test_context(1);
    for (int pattern = 0; pattern < 2; pattern++) {
        dcsr_coo coo;
        TEST_OK(dcsr_coo_allocate(&coo, context, pattern ? DCSR_PATTERN : DCSR_INT16, 100, 200, 100));
        fill(&coo);
        static const uint64_t lengths[] = {100, 5000, 70, 0, 3};
        uint64_t valid = 100;
        for (int i = 0; i < 5; i++) {
            TEST_OK(dcsr_coo_resize(&coo, lengths[i]));
            cr_assert_eq(coo.nnz, lengths[i]);
            if (lengths[i] < valid) valid = lengths[i];
            check(&coo, valid);
        }
        dcsr_coo_free(&coo);
    }
    cr_assert_eq(test_scratch_bytes(context), 0);
    dcsr_context_destroy(context);
}

Test(coo, a_failed_resize_changes_nothing)
{
    dcsr_context *context = test_context(1);
    dcsr_coo coo;
    TEST_OK(dcsr_coo_allocate(&coo, context, DCSR_INT16, 100, 200, 100));
    fill(&coo);
    static const uint64_t lengths[] = {50, 1000};
    for (int i = 0; i < 2; i++)
        for (long n = 0; n < 3; n++) {
            dcsr_coo before = coo;
            dcsr_i_fail_allocations_after(n);
            TEST_STATUS(DCSR_ERROR_OUT_OF_MEMORY, dcsr_coo_resize(&coo, lengths[i]));
            dcsr_i_fail_allocations_after(-1);
            cr_assert(!memcmp(&before, &coo, sizeof coo));
            check(&coo, 100);
        }
    TEST_STATUS(DCSR_ERROR_TOO_LARGE, dcsr_coo_resize(&coo, UINT64_MAX));
    check(&coo, 100);
    dcsr_coo_free(&coo);
    cr_assert_eq(test_scratch_bytes(context), 0);
    dcsr_context_destroy(context);
}

Test(coo, trim_keeps_what_fits_or_frees_all)
{
    dcsr_context *context = test_context(1);
    dcsr_coo coo;
    TEST_OK(dcsr_coo_allocate(&coo, context, DCSR_INT16, 100, 200, 100));
    fill(&coo);
    TEST_OK(dcsr_i_coo_trim(&coo, 60));
    cr_assert_eq(coo.nnz, 60);
    check(&coo, 60);
    for (long n = 0; n < 3; n++) {
        if (n) {
            TEST_OK(dcsr_coo_allocate(&coo, context, DCSR_INT16, 100, 200, 100));
            fill(&coo);
        }
        dcsr_i_fail_allocations_after(n);
        TEST_STATUS(DCSR_ERROR_OUT_OF_MEMORY, dcsr_i_coo_trim(&coo, 50));
        dcsr_i_fail_allocations_after(-1);
        cr_assert(test_is_zero(&coo));
        cr_assert_eq(test_scratch_bytes(context), 0);
    }
    dcsr_context_destroy(context);
}

Test(coo, matrix_from_triples)
{
    dcsr_context *context = test_context(1);
    dcsr_coo coo;
    TEST_OK(dcsr_coo_allocate(&coo, context, DCSR_INT32, 3, 5, 4));
    uint64_t rows[] = {2, 0, 2, 2}, cols[] = {4, 1, 0, 4};
    int32_t values[] = {7, -3, 5, 9};
    memcpy(coo.row_indices, rows, sizeof rows);
    memcpy(coo.col_indices, cols, sizeof cols);
    memcpy(coo.values, values, sizeof values);
    dcsr_matrix *matrix;
    TEST_OK(dcsr_matrix_from_coo(&matrix, context, &coo, NULL));
    TEST_SHOWS(matrix, {0, 1, -3}, {2, 0, 5}, {2, 4, 9});
    dcsr_matrix_destroy(matrix);
    dcsr_matrix_options sum = {.policy = DCSR_POLICY_SUM};
    TEST_OK(dcsr_matrix_from_coo(&matrix, context, &coo, &sum));
    TEST_SHOWS(matrix, {0, 1, -3}, {2, 0, 5}, {2, 4, 16});
    dcsr_matrix_destroy(matrix);
    coo.row_indices[3] = 3;
    TEST_STATUS(DCSR_ERROR_INDEX_OUT_OF_RANGE, dcsr_matrix_from_coo(&matrix, context, &coo, NULL));
    cr_assert_null(matrix);
    dcsr_coo_free(&coo);
    TEST_OK(dcsr_coo_allocate(&coo, context, DCSR_PATTERN, 2, 3, 0));
    TEST_OK(dcsr_matrix_from_coo(&matrix, context, &coo, NULL));
    TEST_SHOWS_NOTHING(matrix);
    dcsr_matrix_destroy(matrix);
    dcsr_coo_free(&coo);
    dcsr_context_destroy(context);
}

Test(coo, matrix_from_broken_triples)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix;
    uint64_t index[] = {0};
    dcsr_coo coo = {1, 1, 1, DCSR_FP64, index, index, NULL, context};
    TEST_STATUS(DCSR_ERROR_TYPE_MISMATCH, dcsr_matrix_from_coo(&matrix, context, &coo, NULL));
    cr_assert_null(matrix);
    coo = (dcsr_coo){1, 1, 1, DCSR_PATTERN, index, NULL, NULL, context};
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_matrix_from_coo(&matrix, context, &coo, NULL));
    coo = (dcsr_coo){1, 1, 0, DCSR_TYPE_COUNT, NULL, NULL, NULL, context};
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_matrix_from_coo(&matrix, context, &coo, NULL));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_matrix_from_coo(&matrix, context, NULL, NULL));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_matrix_from_coo(NULL, context, &coo, NULL));
    dcsr_context_destroy(context);
}

Test(coo, matrix_from_triples_survives_allocation_failures)
{
    dcsr_context *context = test_context(1);
    uint64_t index[] = {0, 1, 2};
    double values[] = {1, 2, 3};
    dcsr_coo coo = {3, 3, 3, DCSR_FP64, index, index, values, context};
    for (long n = 0;; n++) {
        dcsr_matrix *matrix;
        dcsr_i_fail_allocations_after(n);
        dcsr_status status = dcsr_matrix_from_coo(&matrix, context, &coo, NULL);
        dcsr_i_fail_allocations_after(-1);
        if (status == DCSR_OK) {
            cr_assert_gt(n, 0);
            TEST_SHOWS(matrix, {0, 0, 1}, {1, 1, 2}, {2, 2, 3});
            dcsr_matrix_destroy(matrix);
            break;
        }
        cr_assert_eq(status, DCSR_ERROR_OUT_OF_MEMORY);
        cr_assert_null(matrix);
    }
    dcsr_context_info info;
    TEST_OK(dcsr_context_get_info(context, &info));
    cr_assert(info.matrices == 0 && info.matrix_bytes == 0 && info.scratch_bytes == 0);
    dcsr_context_destroy(context);
}

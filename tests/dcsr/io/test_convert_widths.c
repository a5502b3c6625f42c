/* test_convert_widths.c: CSR in and out with indices of several widths. */
#include <dcsr/convert.h>
#include "tests/support/support.h"
#include "tests/support/support_files.h"
#include <inttypes.h>

static const dcsr_type index_types[] = {DCSR_INT32, DCSR_INT64, DCSR_UINT32, DCSR_UINT64};
enum { TYPES = 4, SIDE = 90, ENTRIES = 700 };

static uint64_t number_at(dcsr_type type, const void *array, uint64_t i)
{
    return dcsr_type_size(type) == 4 ? ((const uint32_t *)array)[i] : ((const uint64_t *)array)[i];
}

static void *numbers(dcsr_type type, const void *from, dcsr_type from_type, uint64_t n)
{
    void *array = test_allocate(n + 1, 8);
    for (uint64_t i = 0; i < n; i++)
        if (dcsr_type_size(type) == 4)
            ((uint32_t *)array)[i] = (uint32_t)number_at(from_type, from, i);
        else
            ((uint64_t *)array)[i] = number_at(from_type, from, i);
    return array;
}

/* Rows of several segments, with deletions, some of them empty. */
static dcsr_matrix *random_matrix(dcsr_context *context, dcsr_type type, oracle *model)
{
    test_random random = {(uint64_t)type + 1};
    dcsr_matrix *matrix = test_matrix(context, type, 3 * SIDE, SIDE, DCSR_POLICY_LAST);
    oracle_create(model, type, DCSR_POLICY_LAST, 3 * SIDE, SIDE);
    for (int batch = 0; batch < 3; batch++) {
        uint64_t row[ENTRIES], col[ENTRIES];
        double value[ENTRIES];
        for (int i = 0; i < ENTRIES; i++) {
            row[i] = test_random_below(&random, SIDE) * (i % 2 ? 1 : 3),
            col[i] = test_random_below(&random, SIDE);
            test_encode(type, (double)test_random_below(&random, 100),
                        (char *)value + (size_t)i * dcsr_type_size(type));
        }
        const void *values = type == DCSR_PATTERN ? NULL : value;
        TEST_OK(dcsr_matrix_insert(matrix, ENTRIES, row, col, values, NULL));
        TEST_OK(dcsr_matrix_remove(matrix, 100, row, col, NULL));
        oracle_insert(model, ENTRIES, row, col, values);
        oracle_remove(model, 100, row, col);
    }
    TEST_OK(dcsr_matrix_wait(matrix));
    return matrix;
}

Test(convert_widths, in_and_out_in_all_widths)
{
    dcsr_context *context = test_context(3);
    const dcsr_type value_types[] = {DCSR_FP64, DCSR_PATTERN, DCSR_INT8};
    for (int v = 0; v < 3; v++) {
        oracle model;
        dcsr_matrix *matrix = random_matrix(context, value_types[v], &model);
        for (int pair = 0; pair < TYPES * TYPES; pair++) {
            dcsr_layout layout = pair % 3 ? DCSR_LAYOUT_SEGMENTS : DCSR_LAYOUT_CSR;
            dcsr_view *sorted = test_view(matrix, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED),
                      *view = test_view(matrix, layout, DCSR_VIEW_SORTED);
            dcsr_csr csr;
            TEST_OK(dcsr_view_get_csr_on_host(sorted, &csr));
            const dcsr_type offsets = index_types[pair / TYPES], columns = index_types[pair % TYPES];
            void *expected_offsets = numbers(offsets, csr.offsets, DCSR_UINT64, csr.rows + 1);
            void *expected_columns = numbers(columns, csr.col_indices, DCSR_UINT32, csr.nnz);
            dcsr_csr_arrays out = {.rows = csr.rows,
                                   .nnz = csr.nnz + 5,
                                   .offset_type = offsets,
                                   .index_type = columns,
                                   .offsets = test_allocate(csr.rows + 2, 8),
                                   .col_indices = test_allocate(csr.nnz + 1, 8),
                                   .values = csr.values ? test_allocate(csr.nnz + 1, 8) : NULL};
            TEST_OK(dcsr_view_copy_csr(view, &out));
            cr_assert(out.rows == csr.rows && out.cols == csr.cols && out.nnz == csr.nnz &&
                      out.type == csr.type);
            cr_assert(!memcmp(out.offsets, expected_offsets, (csr.rows + 1) * dcsr_type_size(offsets)));
            cr_assert(!memcmp(out.col_indices, expected_columns, csr.nnz * dcsr_type_size(columns)));
            if (csr.values) cr_assert(!memcmp(out.values, csr.values, csr.nnz * dcsr_type_size(csr.type)));

            dcsr_matrix *back;
            TEST_OK(dcsr_matrix_from_csr_arrays(&back, context, &out, NULL));
            if (v || pair % 5 == 0) TEST_MATCHES(back, &model);
            dcsr_csr_arrays again = {
                .rows = csr.rows, .nnz = csr.nnz, .offset_type = offsets, .index_type = columns};
            again.offsets = memset(expected_offsets, 1, (csr.rows + 1) * dcsr_type_size(offsets));
            dcsr_view *other = test_view(back, DCSR_LAYOUT_SEGMENTS, 0);
            TEST_OK(dcsr_view_copy_csr(other, &again)); /* offsets alone */
            cr_assert(!memcmp(out.offsets, again.offsets, (csr.rows + 1) * dcsr_type_size(offsets)));
            dcsr_view_destroy(other);
            dcsr_matrix_destroy(back);
            free(out.offsets), free(out.col_indices), free(out.values);
            free(expected_offsets), free(expected_columns);
            dcsr_view_destroy(view);
            dcsr_view_destroy(sorted);
        }
        oracle_destroy(&model);
        dcsr_matrix_destroy(matrix);
    }
    test_close(context);
}

Test(convert_widths, unsorted_rows_and_duplicates_come_in)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix;
    int32_t offsets[] = {0, 3, 3, 4}, columns[] = {2, 0, 2, 1};
    double values[] = {1, 2, 4, 8};
    dcsr_csr_arrays arrays = {3, 3, 4, DCSR_FP64, DCSR_INT32, DCSR_INT32, offsets, columns, values};
    TEST_OK(dcsr_matrix_from_csr_arrays(&matrix, context, &arrays,
                                        &(dcsr_matrix_options){.policy = DCSR_POLICY_SUM}));
    TEST_SHOWS(matrix, {0, 0, 2}, {0, 2, 5}, {2, 1, 8});
    dcsr_matrix_destroy(matrix);
    int64_t none[] = {0};
    dcsr_csr_arrays empty = {0, 0, 0, DCSR_FP64, DCSR_INT64, DCSR_INT64, none, NULL, NULL};
    TEST_OK(dcsr_matrix_from_csr_arrays(&matrix, context, &empty, NULL));
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_CSR, 0);
    none[0] = 7;
    TEST_OK(dcsr_view_copy_csr(view, &empty));
    cr_assert_eq(none[0], 0);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(convert_widths, wrong_arrays_are_refused)
{
    dcsr_context *context = test_context(2);
    dcsr_matrix *matrix;
    int32_t offsets[] = {0, 1, 3}, columns[] = {0, 1, 2};
    int64_t wide_offsets[] = {0, 1, 3}, wide_columns[] = {0, 1, 2};
    double values[] = {1, 2, 3};
    const dcsr_csr_arrays good = {2, 3, 3, DCSR_FP64, DCSR_INT32, DCSR_INT32, offsets, columns, values};
    const dcsr_csr_arrays wide = {2,     3, 3, DCSR_FP64, DCSR_INT64, DCSR_INT64, wide_offsets, wide_columns,
                                  values};
#define REFUSED(status, words, arrays) \
    TEST_REFUSED(status, words, dcsr_matrix_from_csr_arrays(&matrix, context, &(arrays), NULL))
    offsets[1] = -1, wide_offsets[1] = -1;
    REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "dcsr_matrix_from_csr_arrays: offsets[1] is -1", good);
    wide_offsets[1] = 4;
    REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "offsets[1] is 4 and offsets[2] is 3", wide);
    offsets[1] = 1, wide_offsets[1] = 1;
    columns[2] = -5, wide_columns[2] = INT64_MIN;
    REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "col_indices[2] is -5", good);
    REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "col_indices[2] is -9223372036854775808", wide);
    columns[2] = 3, wide_columns[2] = (INT64_C(1) << 32) + 1;
    REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "entry 2, in row 1, has column 3", good);
    REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "col_indices[2] is 4294967297, beyond", wide);
    columns[2] = 2, wide_columns[2] = 2;
    dcsr_csr_arrays bad = wide;
    bad.nnz = UINT64_MAX; /* columns are not read where offsets say that there are fewer */
    REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "must be nnz", bad);
    bad = good, bad.offset_type = DCSR_FP64;
    REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "offset_type is", bad);
    bad = good, bad.index_type = DCSR_PATTERN;
    REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "index_type is 0", bad);
    bad = good, bad.offsets = NULL;
    REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "offsets is NULL", bad);
    bad = wide, bad.col_indices = NULL;
    REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "col_indices is NULL", bad);
    bad = good, bad.rows = DCSR_MAX_ROWS + 1;
    REFUSED(DCSR_ERROR_TOO_LARGE, "beyond the largest matrix", bad);
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_matrix_from_csr_arrays(&matrix, context, NULL, NULL));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_matrix_from_csr_arrays(NULL, context, &good, NULL));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_matrix_from_csr_arrays(&matrix, NULL, &good, NULL));
    cr_assert_null(matrix);

    TEST_OK(dcsr_matrix_from_csr_arrays(&matrix, context, &good, NULL));
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_csr_arrays small = good, before = small;
    small.nnz = before.nnz = 2;
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "room for 2 rows and 2 entries, but the view has 2 and 3",
                 dcsr_view_copy_csr(view, &small));
    cr_assert(!memcmp(&small, &before, sizeof small));
    small = good, small.rows = 1;
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_view_copy_csr(view, &small));
    small = good, small.index_type = DCSR_INT16;
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_view_copy_csr(view, &small));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_view_copy_csr(view, NULL));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_view_copy_csr(NULL, &small));
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(convert_widths, survives_allocation_failures)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix;
    int32_t offsets[] = {0, 1, 3};
    int64_t columns[] = {0, 1, 2};
    double values[] = {1, 2, 3};
    dcsr_csr_arrays arrays = {2, 3, 3, DCSR_FP64, DCSR_INT32, DCSR_INT64, offsets, columns, values};
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    for (long n = 0; status != DCSR_OK; n++) {
        matrix = (dcsr_matrix *)&arrays;
        dcsr_i_fail_allocations_after(n);
        status = dcsr_matrix_from_csr_arrays(&matrix, context, &arrays, NULL);
        dcsr_i_fail_allocations_after(-1);
        if (status != DCSR_OK) cr_assert(status == DCSR_ERROR_OUT_OF_MEMORY && !matrix);
        if (status != DCSR_OK) cr_assert_eq(test_scratch_bytes(context), 0);
    }
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    status = DCSR_ERROR_OUT_OF_MEMORY;
    for (long n = 0; status != DCSR_OK; n++) {
        dcsr_i_fail_allocations_after(n);
        status = dcsr_view_copy_csr(view, &arrays);
        dcsr_i_fail_allocations_after(-1);
        if (status != DCSR_OK) TEST_STATUS(DCSR_ERROR_OUT_OF_MEMORY, status);
    }
    cr_assert(offsets[2] == 3 && columns[2] == 2 && values[2] == 3);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

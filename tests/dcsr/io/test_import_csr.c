/* test_import_csr.c: matrices that take over arrays of the caller's. */
#include "dcsr/base/alloc.h"
#include "tests/support/support.h"
#include <dcsr/convert.h>

#include <stdlib.h>
#include <string.h>

/* Arrays on the heap, so that sanitizers see whether they are used after they were released, or never are. */
typedef struct imported {
    dcsr_csr_arrays arrays;
    int released;
} imported;

static void release(uint32_t *col_indices, void *values, void *user)
{
    imported *i = user;
    cr_assert(col_indices == i->arrays.col_indices && values == i->arrays.values && !i->released);
    i->released++;
    free(col_indices);
    free(values);
}

/* `rows` rows of up to `width` entries; each column once. */
static imported make(test_random *random, uint64_t rows, uint64_t width, dcsr_type type)
{
    uint64_t *offsets = test_allocate(rows + 1, sizeof *offsets), n = 0, cols = 3 * width;
    uint32_t *columns = malloc((rows * width + 1) * sizeof *columns);
    const size_t size = dcsr_type_size(type);
    char *values = size ? malloc((rows * width + 1) * size) : NULL;
    for (uint64_t row = 0; row < rows; row++) {
        offsets[row] = n;
        for (uint64_t col = 0; col < cols && n < offsets[row] + width; col++) {
            if (test_random_below(random, 2)) continue;
            columns[n] = (uint32_t)col;
            if (size) test_encode(type, (double)(n % 100), values + n * size);
            n++;
        }
    }
    offsets[rows] = n;
    return (imported){.arrays = {rows, cols, n, type, DCSR_UINT64, DCSR_UINT32, offsets, columns, values}};
}

static void drop(imported *i)
{
    free(i->arrays.offsets);
    if (i->released) return;
    free(i->arrays.col_indices);
    free(i->arrays.values);
}

static void remember(oracle *model, const imported *i, dcsr_policy policy)
{
    const dcsr_csr_arrays *a = &i->arrays;
    oracle_create(model, a->type, policy, a->rows, a->cols);
    for (uint64_t row = 0; row < a->rows; row++)
        for (uint64_t e = ((uint64_t *)a->offsets)[row]; e < ((uint64_t *)a->offsets)[row + 1]; e++) {
            uint64_t col = ((uint32_t *)a->col_indices)[e];
            oracle_insert(model, 1, &row, &col, (char *)a->values + e * dcsr_type_size(a->type));
        }
}

static dcsr_matrix *import_of(imported *i, dcsr_context *context, const dcsr_matrix_options *options)
{
    dcsr_matrix *matrix;
    TEST_OK(dcsr_matrix_import_csr(&matrix, context, &i->arrays, release, i, options));
    cr_assert_eq(i->released, test_on_device(context));
    return matrix;
}

/* Changed in place they stay; what needs room, or a version that somebody holds, moves out. */
Test(import_csr, are_used_until_the_matrix_grows)
{
    test_random random = {1};
    dcsr_context *context = test_context(2);
    imported i = make(&random, 30, 40, DCSR_FP64);
    const uint32_t *columns = i.arrays.col_indices;
    const double *values = i.arrays.values;
    const bool device = test_on_device(context);
    oracle model;
    remember(&model, &i, DCSR_POLICY_LAST);
    dcsr_matrix *matrix = import_of(&i, context, NULL);
    uint64_t row = 0, col = device ? 0 : columns[0];
    double nine = 9;
    TEST_OK(dcsr_matrix_set(matrix, row, col, &nine));
    oracle_insert(&model, 1, &row, &col, &nine);
    cr_assert(device || (!i.released && values[0] == 9));
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_CSR, 0);
    dcsr_csr csr;
    TEST_OK(dcsr_view_get_csr(view, &csr));
    cr_assert(device || (csr.col_indices == columns && csr.values == values));
    dcsr_view_destroy(view);
    TEST_MATCHES(matrix, &model);
    view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    oracle before;
    oracle_copy(&before, &model);
    for (row = 0; row < 30; row++) {
        TEST_OK(dcsr_matrix_insert(matrix, 1, &row, &row, &nine, NULL));
        oracle_insert(&model, 1, &row, &row, &nine);
    }
    TEST_OK(dcsr_matrix_wait(matrix));
    cr_assert(device || !i.released, "while a version in them is held");
    char why[TEST_WHY];
    cr_assert(test_view_matches(view, &before, 0, why), "%s", why);
    dcsr_view_destroy(view);
    row = 3, col = 50;
    TEST_OK(dcsr_matrix_insert(matrix, 1, &row, &col, &nine, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    oracle_insert(&model, 1, &row, &col, &nine);
    cr_assert_eq(i.released, 1);
    TEST_MATCHES(matrix, &model);
    dcsr_matrix_destroy(matrix);
    oracle_destroy(&model);
    oracle_destroy(&before);
    drop(&i);
    test_close(context);
}

Test(import_csr, are_released_with_the_last_view)
{
    test_random random = {2};
    dcsr_context *context = test_context(1);
    imported i = make(&random, 200, 60, DCSR_INT32);
    oracle model;
    remember(&model, &i, DCSR_POLICY_LAST);
    dcsr_matrix *matrix = import_of(&i, context, NULL);
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_CSR, 0);
    dcsr_matrix_destroy(matrix);
    char why[TEST_WHY];
    cr_assert_eq(i.released, test_on_device(context));
    cr_assert(test_view_matches(view, &model, 0, why), "%s", why);
    dcsr_view_destroy(view);
    cr_assert_eq(i.released, 1);
    oracle_destroy(&model);
    drop(&i);
    test_close(context);
}

/* A clone shares nothing with a matrix in arrays that were taken over. */
Test(import_csr, are_copied_by_a_clone)
{
    test_random random = {3};
    dcsr_context *context = test_context(2);
    imported i = make(&random, 300, 50, DCSR_FP32);
    oracle model;
    remember(&model, &i, DCSR_POLICY_LAST);
    dcsr_matrix *matrix = import_of(&i, context, NULL), *clone;
    TEST_OK(dcsr_matrix_clone(&clone, matrix));
    dcsr_matrix_destroy(matrix);
    cr_assert_eq(i.released, 1);
    TEST_MATCHES(clone, &model);
    dcsr_matrix_destroy(clone);
    oracle_destroy(&model);
    drop(&i);
    test_close(context);
}

/* What cannot be used where it is; and lent arrays. */
Test(import_csr, copies_what_it_cannot_take)
{
    dcsr_context *context = test_context(1);
    int64_t offsets[] = {0, 1, 3}, wide[] = {1, 0, 1};
    uint32_t columns[] = {1, 0, 1};
    double values[] = {1, 2, 3};
    char shifted[sizeof values + 1];
    memcpy(shifted + 1, values, sizeof values);
    const struct {
        dcsr_type index_type;
        void *columns, *values;
    } cases[] = {
        {DCSR_INT64, wide, values}, {DCSR_UINT32, columns, shifted + 1}, {DCSR_INT32, columns, values}};
    for (int k = 0; k < 3; k++) {
        dcsr_matrix *matrix;
        const dcsr_csr_arrays arrays = {
            2, 2, 3, DCSR_FP64, DCSR_INT64, cases[k].index_type, offsets, cases[k].columns, cases[k].values};
        TEST_OK(dcsr_matrix_import_csr(&matrix, context, &arrays, NULL, NULL, NULL));
        TEST_SHOWS(matrix, {0, 1, 1}, {1, 0, 2}, {1, 1, 3});
        dcsr_view *view = test_view(matrix, DCSR_LAYOUT_CSR, 0);
        dcsr_csr csr;
        TEST_OK(dcsr_view_get_csr(view, &csr));
        cr_assert_eq(csr.values == values, k == 2 && !test_on_device(context));
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(matrix);
    }
    test_close(context);
}

static void count(uint32_t *col_indices, void *values, void *user)
{
    (void)col_indices, (void)values;
    ++*(int *)user;
}

Test(import_csr, of_nothing_or_of_copies_releases_at_once)
{
    dcsr_context *context = test_context(1);
    int64_t offsets[] = {0, 0, 1}, none[] = {0, 0, 0}, wide[] = {1};
    uint32_t column = 1;
    int calls = 0;
    dcsr_matrix *matrix;
    dcsr_csr_arrays arrays = {2, 2, 0, DCSR_PATTERN, DCSR_INT64, DCSR_UINT32, none, &column, NULL};
    TEST_OK(dcsr_matrix_import_csr(&matrix, context, &arrays, count, &calls, NULL));
    cr_assert_eq(calls, 1);
    TEST_INSERT(matrix, {1, 1, 1});
    TEST_SHOWS(matrix, {1, 1, 1});
    dcsr_matrix_destroy(matrix);
    arrays = (dcsr_csr_arrays){2, 2, 1, DCSR_PATTERN, DCSR_INT64, DCSR_INT64, offsets, wide, NULL};
    TEST_OK(dcsr_matrix_import_csr(&matrix, context, &arrays, count, &calls, NULL));
    cr_assert_eq(calls, 2);
    TEST_SHOWS(matrix, {1, 1, 1});
    dcsr_matrix_destroy(matrix);
    cr_assert_eq(calls, 2);
    test_close(context);
}

Test(import_csr, refuses_what_is_wrong_and_takes_nothing)
{
    dcsr_context *context = test_context(2);
    int64_t offsets[] = {0, 2, 3}, falling[] = {0, 2, 1};
    uint32_t good[] = {0, 2, 1}, unsorted[] = {2, 0, 1}, twice[] = {1, 1, 1}, outside[] = {0, 3, 1};
    int32_t negative[] = {0, 2, -1};
    double values[] = {1, 2, 3};
    int calls = 0;
    dcsr_matrix *matrix = NULL;
#define REFUSES(status, words, index, columns_, values_, offsets_)                                           \
    do {                                                                                                     \
        const dcsr_csr_arrays arrays = {2, 3, 3, DCSR_FP64, DCSR_INT64, index, offsets_, columns_, values_}; \
        TEST_REFUSED(status, words, dcsr_matrix_import_csr(&matrix, context, &arrays, count, &calls, NULL)); \
        cr_assert(!matrix && !calls);                                                                        \
    } while (0)
    REFUSES(DCSR_ERROR_INVALID_ARGUMENT, "row 0 has column 0 behind column 2", DCSR_UINT32, unsorted, values,
            offsets);
    REFUSES(DCSR_ERROR_INVALID_ARGUMENT, "row 0 has column 1 behind column 1", DCSR_UINT32, twice, values,
            offsets);
    REFUSES(DCSR_ERROR_INDEX_OUT_OF_RANGE, "column 3", DCSR_UINT32, outside, values, offsets);
    REFUSES(DCSR_ERROR_INDEX_OUT_OF_RANGE, "col_indices[2] is -1", DCSR_INT32, negative, values, offsets);
    REFUSES(DCSR_ERROR_INVALID_ARGUMENT, "col_indices is NULL", DCSR_UINT32, NULL, values, offsets);
    REFUSES(DCSR_ERROR_INVALID_ARGUMENT, "values is NULL", DCSR_UINT32, good, NULL, offsets);
    REFUSES(DCSR_ERROR_INVALID_ARGUMENT, "offsets", DCSR_UINT32, good, values, falling);
    REFUSES(DCSR_ERROR_INVALID_ARGUMENT, "offsets", DCSR_UINT32, good, values, NULL);
    REFUSES(DCSR_ERROR_INVALID_ARGUMENT, "index_type", DCSR_FP32, good, values, offsets);
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "the source is NULL",
                 dcsr_matrix_import_csr(&matrix, context, NULL, count, &calls, NULL));
    test_close(context);
}

/* Until the call succeeds the arrays stay the caller's. */
Test(import_csr, survives_every_allocation_failing)
{
    test_random random = {4};
    dcsr_context *context = test_context(2);
    imported i = make(&random, 500, 30, DCSR_FP64);
    const dcsr_matrix_options options = {.maintain_transpose = true};
    dcsr_matrix *matrix = NULL;
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    char why[TEST_WHY];
    for (long n = 0; status != DCSR_OK; n++) {
        dcsr_i_fail_allocations_after(n);
        status = dcsr_matrix_import_csr(&matrix, context, &i.arrays, release, &i, &options);
        dcsr_i_fail_allocations_after(-1);
        cr_assert(status == DCSR_OK || (status == DCSR_ERROR_OUT_OF_MEMORY && !matrix && !i.released));
        if (status != DCSR_OK) cr_assert(test_context_is_as_new(context, why), "failure %ld: %s", n, why);
    }
    oracle model;
    if (!i.released) {
        remember(&model, &i, DCSR_POLICY_LAST);
        TEST_MATCHES(matrix, &model);
        oracle_destroy(&model);
    }
    dcsr_matrix_destroy(matrix);
    cr_assert_eq(i.released, 1);
    drop(&i);
    test_close(context);
}

/* ---- Against an oracle ---- */

static void change(dcsr_matrix *matrix, oracle *model, test_random *random)
{
    enum { MOST = 80 };
    const bool one = !test_random_below(random, 3), insert = test_random_below(random, 3);
    const size_t n = one ? 1 : 1 + test_random_below(random, MOST), size = dcsr_type_size(model->type);
    uint64_t rows[MOST], cols[MOST];
    char values[MOST * 8];
    for (size_t e = 0; e < n; e++) {
        rows[e] = test_random_below(random, model->rows);
        cols[e] = test_random_below(random, model->cols);
        if (size) test_encode(model->type, (double)test_random_below(random, 5), values + e * size);
    }
    if (insert) {
        TEST_OK(dcsr_matrix_insert(matrix, n, rows, cols, size ? values : NULL, NULL));
        oracle_insert(model, n, rows, cols, values);
    } else if (one) {
        TEST_OK(dcsr_matrix_remove_one(matrix, *rows, *cols, NULL));
        oracle_remove(model, n, rows, cols);
    } else {
        TEST_OK(dcsr_matrix_remove(matrix, n, rows, cols, NULL));
        oracle_remove(model, n, rows, cols);
    }
    TEST_OK(dcsr_matrix_wait(matrix));
}

/* Small and large, emptied and filled again, with views of before. */
Test(import_csr, agrees_with_a_model)
{
    test_seeds seeds = test_seeds_from_environment((uint64_t)TEST_SIZE(200, 60, 40));
    for (uint64_t s = seeds.first; s < seeds.first + seeds.rounds; s++) {
        test_seed_begins(s);
        test_random random = {s};
        dcsr_context *context = test_context(1 + (int)(s % 2));
        imported i = make(&random, 1 + test_random_below(&random, s % 3 ? 20 : 300), 1 + s % 40,
                          (dcsr_type)test_random_below(&random, DCSR_TYPE_COUNT));
        const dcsr_matrix_options options = {.policy = (dcsr_policy)(s % DCSR_POLICY_COUNT),
                                             .resolve = (dcsr_resolution)(s / 2 % 3),
                                             .defragmentation = (dcsr_defragmentation)(s / 3 % 2)};
        oracle model, was;
        char why[TEST_WHY];
        remember(&model, &i, options.policy);
        dcsr_matrix *matrix = import_of(&i, context, &options);
        for (int step = 0; step < 12; step++) {
            const unsigned flags = (unsigned)test_random_below(&random, 4);
            dcsr_view *view =
                step % 3 ? NULL : test_view(matrix, (dcsr_layout)test_random_below(&random, 2), flags);
            if (view) oracle_copy(&was, &model);
            if (step == 6 && s % 5 == 0) { /* empty, and anew */
                TEST_OK(dcsr_matrix_resize(matrix, 0, model.cols, NULL));
                TEST_OK(dcsr_matrix_resize(matrix, model.rows, model.cols, NULL));
                const uint64_t rows = model.rows;
                oracle_resize(&model, 0, model.cols);
                oracle_resize(&model, rows, model.cols);
            }
            change(matrix, &model, &random);
            TEST_MATCHES(matrix, &model);
            if (!view) continue;
            cr_assert(test_view_matches(view, &was, flags, why), "seed %lu: %s", (unsigned long)s, why);
            dcsr_view_destroy(view);
            oracle_destroy(&was);
        }
        dcsr_matrix_destroy(matrix);
        cr_assert_eq(i.released, 1);
        oracle_destroy(&model);
        drop(&i);
        test_close(context);
    }
}

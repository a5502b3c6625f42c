/* test_features.c: features against direct computation from an oracle, and estimates against exact ones. */
#include "dcsr/base/alloc.h"
#include "dcsr/store/rowtable.h"
#include <dcsr/features.h>
#include <dcsr/generate.h>
#include "tests/support/support.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool close_to(double a, double b)
{
    return fabs(a - b) <= 1e-9 * (1 + fabs(b));
}

/* ---- Direct computation ---- */

static double deviation(const double *count, uint64_t n)
{
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < n; i++) sum += count[i];
    for (uint64_t i = 0; i < n; i++) squares += pow(count[i] - sum / (double)n, 2);
    return n ? sqrt(squares / (double)n) : 0;
}

/* Entries over rows' non-empty panels of that many columns, counted panel by panel. */
static double clustering(const oracle *model, uint64_t width)
{
    const uint64_t panels = (model->cols + width - 1) / width;
    bool *there = test_allocate(panels + 1, sizeof *there);
    uint64_t segments = 0;
    for (uint64_t i = 0; i < model->rows; i++) {
        memset(there, 0, panels);
        for (size_t k = 0; k < model->row[i].length; k++) there[model->row[i].entry[k].column / width] = true;
        for (uint64_t p = 0; p < panels; p++) segments += there[p];
    }
    free(there);
    return segments ? (double)oracle_nnz(model) / (double)segments : 0;
}

static double distinct_values(const oracle *model)
{
    enum { MOST = 4096 };
    uint64_t seen[MOST], n = 0;
    for (uint64_t i = 0; i < model->rows && model->type != DCSR_PATTERN; i++)
        for (size_t k = 0; k < model->row[i].length; k++) {
            uint64_t j = 0;
            while (j < n && seen[j] != model->row[i].entry[k].value) j++;
            if (j == n && n < MOST) seen[n++] = model->row[i].entry[k].value;
        }
    return n > DCSR_MOST_DISTINCT ? DCSR_MOST_DISTINCT + 1 : (double)n;
}

static dcsr_features direct(const oracle *model)
{
    dcsr_features f = {
        .type = model->type, .rows = model->rows, .cols = model->cols, .nnz = oracle_nnz(model)};
    double *of_row = test_allocate(model->rows + 1, sizeof *of_row),
           *of_col = test_allocate(model->cols + 1, sizeof *of_col);
    uint64_t near = 0, pairs = 0, in_use = 0;
    f.min_row = model->rows ? UINT64_MAX : 0;
    for (uint64_t j = 0; j < model->cols; j++) of_col[j] = 0;
    for (uint64_t i = 0; i < model->rows; i++) {
        const oracle_row *row = &model->row[i];
        of_row[i] = (double)row->length;
        if (row->length < f.min_row) f.min_row = row->length;
        if (row->length > f.max_row) f.max_row = row->length;
        for (size_t k = 0; k < row->length; k++) {
            of_col[row->entry[k].column]++;
            if (!k) continue;
            pairs++;
            near += row->entry[k].column - row->entry[k - 1].column <= 65535;
        }
        if (!row->length) continue;
        in_use++;
        f.bandwidth += (double)(row->entry[row->length - 1].column - row->entry[0].column + 1);
    }
    f.mean_row = f.rows ? (double)f.nnz / (double)f.rows : 0;
    f.row_std = deviation(of_row, f.rows);
    f.col_std = deviation(of_col, f.cols);
    if (in_use) f.bandwidth /= (double)in_use;
    f.near = pairs ? (double)near / (double)pairs : 1;
    f.distinct = distinct_values(model);
    for (int k = 0; k < DCSR_CLUSTERING_FACTORS; k++) f.clustering[k] = clustering(model, UINT64_C(128) << k);
    free(of_row);
    free(of_col);
    return f;
}

static void check(const dcsr_features *f, const oracle *model, uint64_t seed)
{
    const dcsr_features e = direct(model);
    cr_assert(f->exact && f->type == e.type && f->rows == e.rows && f->cols == e.cols && f->nnz == e.nnz);
    cr_assert_eq(f->entries_read, f->nnz);
    for (uint64_t i = 0; dcsr_feature_at(i); i++) {
        if (!strcmp(dcsr_feature_at(i)->name, "pieces")) continue;
        const double is = dcsr_feature_value(f, i), should = dcsr_feature_value(&e, i);
        cr_assert(close_to(is, should), "seed %llu: %s is %.17g, not %.17g", (unsigned long long)seed,
                  dcsr_feature_at(i)->name, is, should);
    }
}

/* ---- Random matrices ---- */

/* Entries in clumps, so that panels matter; few distinct values in some. */
static void insert_clumps(dcsr_matrix *matrix, oracle *model, test_random *random, size_t n)
{
    enum { MOST = 600 };
    uint64_t rows[MOST], cols[MOST];
    double values[MOST];
    const uint64_t kinds = test_random_once_in(random, 2) ? 3 : 100000;
    for (size_t k = 0; k < n; k++) {
        const bool next = k && !test_random_once_in(random, 4);
        rows[k] = next ? rows[k - 1] : test_random_below(random, model->rows);
        cols[k] = next ? (cols[k - 1] + test_random_below(random, 200)) % model->cols
                       : test_random_below(random, model->cols);
        values[k] = (double)test_random_below(random, kinds);
    }
    oracle_insert(model, n, rows, cols, model->type == DCSR_PATTERN ? NULL : (void *)values);
    TEST_OK(dcsr_matrix_insert(matrix, n, rows, cols, model->type == DCSR_PATTERN ? NULL : values, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
}

Test(features, equal_direct_computation)
{
    test_seeds seeds = test_seeds_from_environment((uint64_t)TEST_SIZE(40, 15, 8));
    dcsr_context *context = test_context(2);
    for (uint64_t s = 0; s < seeds.rounds; s++) {
        const uint64_t seed = seeds.first + s;
        test_random random = {seed};
        test_seed_begins(seed);
        const uint64_t shape = test_random_below(&random, 3), rows = 1 + test_random_below(&random, 300),
                       cols = 1 + test_random_below(&random, shape ? 2000000 : 500);
        const dcsr_type type = test_random_once_in(&random, 3) ? DCSR_PATTERN : DCSR_FP64;
        oracle model;
        oracle_create(&model, type, DCSR_POLICY_LAST, rows, cols);
        dcsr_matrix *matrix = test_matrix(context, type, rows, cols, DCSR_POLICY_LAST);
        for (uint64_t b = test_random_below(&random, 4); b; b--)
            insert_clumps(matrix, &model, &random, 1 + test_random_below(&random, 600));
        for (dcsr_layout layout = DCSR_LAYOUT_SEGMENTS; layout <= DCSR_LAYOUT_CSC; layout++) {
            dcsr_view *view = test_view(matrix, layout, 0);
            dcsr_features features, again;
            TEST_OK(dcsr_view_get_features(&features, view, NULL));
            check(&features, &model, seed);
            TEST_OK(dcsr_view_get_features(&again, view, &(dcsr_features_options){.exact = true}));
            cr_assert(!memcmp(&features, &again, sizeof again), "a second call gives something else");
            dcsr_view_destroy(view);
        }
        dcsr_matrix_destroy(matrix);
        oracle_destroy(&model);
    }
    test_close(context);
}

Test(features, pieces_of_rows)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = NULL;
    TEST_OK(dcsr_matrix_create(&matrix, context, DCSR_PATTERN, 4, 4,
                               &(dcsr_matrix_options){.policy = DCSR_POLICY_KEEP,
                                                      .slack = DCSR_SLACK_NONE,
                                                      .defragmentation = DCSR_DEFRAGMENT_OFF}));
    TEST_OK(dcsr_matrix_insert(matrix, 2, (uint64_t[]){0, 1}, (uint64_t[]){0, 1}, NULL, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    TEST_OK(dcsr_matrix_insert(matrix, 1, (uint64_t[]){1}, (uint64_t[]){0}, NULL, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    for (dcsr_layout layout = DCSR_LAYOUT_SEGMENTS; layout <= DCSR_LAYOUT_CSR; layout++) {
        dcsr_view *view = test_view(matrix, layout, 0);
        dcsr_features f;
        TEST_OK(dcsr_view_get_features(&f, view, NULL));
        cr_assert_eq(f.pieces, layout == DCSR_LAYOUT_CSR ? 1 : 1.5);
        cr_assert(f.min_row == 0 && f.max_row == 2 && f.near == 1 && f.bandwidth == 1.5);
        dcsr_view_destroy(view);
    }
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* ---- Samples ---- */

static dcsr_view *generated(dcsr_context *context, const char *text, dcsr_matrix **matrix)
{
    dcsr_coo coo;
    TEST_OK(dcsr_coo_generate(&coo, context, text));
    TEST_OK(dcsr_matrix_from_coo(matrix, context, &coo, NULL));
    dcsr_coo_free(&coo);
    return test_view(*matrix, DCSR_LAYOUT_SEGMENTS, 0);
}

/* Of a version they are computed once: another view of it has them without taking memory, and so has its info. Views
 * that show something else, and later versions, have their own. */
Test(features, are_shared_by_views_of_a_version)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix;
    dcsr_view *view = generated(context, "rmat:8,4", &matrix),
              *same = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_features first, second;
    dcsr_view_info before, after;
    TEST_OK(dcsr_view_get_info(view, &before));
    TEST_OK(dcsr_view_get_features(&first, view, NULL));
    dcsr_i_fail_allocations_after(0);
    TEST_OK(dcsr_view_get_features(&second, same, NULL));
    TEST_OK(dcsr_view_get_info(same, &after));
    dcsr_i_fail_allocations_after(-1);
    cr_assert_arr_eq(&first, &second, sizeof first);
    cr_assert(before.nnz == after.nnz && before.max_row == after.max_row && before.row_std == after.row_std);
    dcsr_view_destroy(view);
    TEST_OK(dcsr_matrix_set(matrix, 255, 255, NULL));
    TEST_OK(dcsr_matrix_set(matrix, 255, 254, NULL));
    dcsr_view *later = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_view_get_info(later, &after));
    TEST_OK(dcsr_view_get_features(&second, later, NULL));
    cr_assert(second.nnz == after.nnz && second.nnz >= first.nnz);
    /* The older view has what it was told before. */
    TEST_OK(dcsr_view_get_features(&second, same, NULL));
    cr_assert_arr_eq(&first, &second, sizeof first);
    dcsr_view_destroy(same);
    dcsr_view_destroy(later);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* What is exact by contract is, and the rest near, as the same rows are drawn each time. */
Test(features, drawn_rows_stand_for_all)
{
    static const struct {
        const char *text;
        double within; /* of the features of rows */
    } cases[] = {{"poisson2d5:220", 0.05}, {"er:60000,300000", 0.05}, {"rmat:14,16", 0.5}};
    dcsr_context *context = test_context(2);
    for (int c = 0; c < 3; c++) {
        dcsr_matrix *matrix;
        dcsr_view *view = generated(context, cases[c].text, &matrix);
        dcsr_features drawn, exact, again;
        TEST_OK(dcsr_view_get_features(&drawn, view, NULL));
        TEST_OK(dcsr_view_get_features(&exact, view, &(dcsr_features_options){.exact = true}));
        TEST_OK(dcsr_view_get_features(&again, view, NULL));
        cr_assert(!memcmp(&drawn, &again, sizeof again), "what is kept has changed");
        cr_assert(!drawn.exact && exact.exact && exact.entries_read == exact.nnz);
        cr_assert(drawn.entries_read < exact.nnz);
        for (uint64_t i = 0; dcsr_feature_at(i); i++) {
            const dcsr_feature *feature = dcsr_feature_at(i);
            const double is = dcsr_feature_value(&drawn, i), should = dcsr_feature_value(&exact, i);
            const bool estimated = !strcmp(feature->name, "bandwidth") ||
                                   !strcmp(feature->group, "clustering") || !strcmp(feature->name, "near");
            /* The deviation of columns is as rough as their mean. */
            const double most = estimated                           ? cases[c].within * should
                                : !strcmp(feature->name, "col_std") ? exact.mean_row / 2
                                                                    : 0;
            cr_assert(fabs(is - should) <= most, "%s of %s is %g, not %g", feature->name, cases[c].text, is,
                      should);
        }
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(matrix);
    }
    test_close(context);
}

/* Of 2^32 rows (on the emulator 2^22) that few are in use of: rows are drawn from their pages. */
Test(features, of_hardly_any_rows_in_use)
{
    enum { ENTRIES = TEST_EMULATOR ? 40000 : 70000 };
    const uint64_t all = test_on_emulator() ? UINT64_C(1) << 26 : DCSR_MAX_ROWS;
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_PATTERN, all, 1000, DCSR_POLICY_ANY);
    uint64_t *rows = test_allocate(ENTRIES, sizeof *rows), *cols = test_allocate(ENTRIES, sizeof *cols);
    for (uint64_t k = 0; k < ENTRIES; k++) rows[k] = k / 10 * 64 * 37, cols[k] = k % 10 * 100;
    TEST_OK(dcsr_matrix_insert(matrix, ENTRIES, rows, cols, NULL, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_features f;
    TEST_OK(dcsr_view_get_features(&f, view, NULL));
    cr_assert(f.nnz == ENTRIES && f.min_row == 0 && f.max_row == 10 && f.bandwidth == 901,
              "%g entries, %g to %g in a row, %g columns", (double)f.nnz, (double)f.min_row,
              (double)f.max_row, (double)f.bandwidth);
    cr_assert(!f.exact && f.clustering[0] > 1 && f.clustering[12] == 10);
    free(rows);
    free(cols);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* Of rows that are longer than all that is to be read a part is, and few of them. */
Test(features, of_few_rows_that_are_very_long)
{
    enum { ROWS = 3, LONG = TEST_EMULATOR ? 40000 : 600000, MOST_READ = 10 << 17 };
    dcsr_context *context = test_context(2);
    dcsr_matrix *matrix = test_matrix(context, DCSR_PATTERN, ROWS, 2 * LONG, DCSR_POLICY_ANY);
    uint64_t *rows = test_allocate(ROWS * LONG, sizeof *rows),
             *cols = test_allocate(ROWS * LONG, sizeof *cols);
    for (uint64_t k = 0; k < ROWS * LONG; k++) rows[k] = k / LONG, cols[k] = 2 * (k % LONG);
    TEST_OK(dcsr_matrix_insert(matrix, ROWS * LONG, rows, cols, NULL, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_features f;
    TEST_OK(dcsr_view_get_features(&f, view, NULL));
    cr_assert(!f.exact && f.nnz == ROWS * LONG && f.min_row == LONG && f.max_row == LONG);
    cr_assert(f.near == 1 && f.entries_read <= MOST_READ, "%g", (double)f.entries_read);
    free(rows), free(cols);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* ---- What cannot be done ---- */

Test(features, of_nothing)
{
    dcsr_context *context = test_context(1);
    for (uint64_t n = 0; n < 3; n++) {
        dcsr_matrix *matrix = test_matrix(context, DCSR_FP32, n, 2 - n, DCSR_POLICY_SUM);
        dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
        dcsr_features f;
        TEST_OK(dcsr_view_get_features(&f, view, NULL));
        cr_assert(f.exact && !f.nnz && !f.min_row && !f.col_std && f.near == 1 && !f.clustering[3]);
        cr_assert(!isnan(dcsr_feature_value(&f, 0)) && isnan(dcsr_feature_value(&f, 1000)));
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(matrix);
    }
    test_close(context);
}

Test(features, refuse_and_fail)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 3, 3, DCSR_POLICY_SUM);
    TEST_INSERT(matrix, {0, 2, 1}, {0, 0, 5}, {2, 1, 5});
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_features f;
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "features is NULL", dcsr_view_get_features(NULL, view, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "view", dcsr_view_get_features(&f, NULL, NULL));
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    long n = 0;
    for (; status != DCSR_OK; n++) {
        memset(&f, 1, sizeof f);
        dcsr_i_fail_allocations_after(n);
        status = dcsr_view_get_features(&f, view, NULL);
        dcsr_i_fail_allocations_after(-1);
        cr_assert(status == DCSR_OK || (status == DCSR_ERROR_OUT_OF_MEMORY && !f.nnz && !f.rows));
    }
    cr_assert(n > 3 && f.nnz == 3 && f.distinct == 2 && f.max_row == 2);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

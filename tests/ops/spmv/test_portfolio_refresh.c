/* test_portfolio_refresh.c: formats that are brought up to date, beside those that are made anew: the same products bit
 * for bit, whatever has changed and whichever a plan takes. */
#include <dcsr/spmv.h>
#include "dcsr/base/alloc.h"
#include "ops/spmv/portfolio/portfolio.h"
#include "tests/support/support.h"
#include <stdlib.h>
#include <string.h>

enum { ROWS = 600, COLS = 600 };

/* ---- Matrices ---- */

static void put(dcsr_matrix *matrix, test_random *random, uint64_t n, uint64_t below)
{
    enum { MOST = 4000 };
    static uint64_t rows[MOST], cols[MOST];
    static double values[MOST];
    for (uint64_t e = 0; e < n; e++) {
        rows[e] = test_random_below(random, below);
        cols[e] = test_random_below(random, COLS);
        values[e] = 1 + (double)test_random_below(random, 1000) / 7;
    }
    TEST_OK(dcsr_matrix_insert(matrix, n, rows, cols, values, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
}

/* In two portions, so that rows are in pieces. */
static dcsr_matrix *make(dcsr_context *context, test_random *random)
{
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, ROWS, COLS, DCSR_POLICY_LAST);
    for (int portion = 0; portion < 2; portion++) put(matrix, random, 3000, ROWS);
    return matrix;
}

static dcsr_view *view_of(dcsr_matrix *matrix)
{
    return test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
}

/* The entries of rows first, first + step, ... again, with other values. */
static void change_rows(dcsr_matrix *matrix, dcsr_view *view, uint64_t first, uint64_t step, uint64_t end,
                        test_random *random)
{
    static uint64_t rows[ROWS * 64], cols[ROWS * 64];
    static double values[ROWS * 64];
    uint64_t n = 0;
    for (uint64_t row = first; row < end; row += step) {
        dcsr_piece pieces[DCSR_MAX_SEGMENTS];
        int count;
        TEST_OK(dcsr_view_get_pieces(view, row, pieces, &count));
        for (int p = 0; p < count; p++)
            for (uint64_t k = 0; k < pieces[p].length; k++, n++) {
                cr_assert_lt(n, ROWS * 64);
                rows[n] = row;
                cols[n] = pieces[p].cols[k];
                values[n] = 1 + (double)test_random_below(random, 1000) / 7;
            }
    }
    TEST_OK(dcsr_matrix_insert(matrix, n, rows, cols, values, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
}

/* A column that the row has no entry in; *first is one that it has, if there is any: else COLS. */
static uint64_t free_column(dcsr_view *view, uint64_t row, uint64_t *first)
{
    dcsr_piece pieces[DCSR_MAX_SEGMENTS];
    bool used[COLS] = {false};
    int count;
    uint64_t column = 0;
    TEST_OK(dcsr_view_get_pieces(view, row, pieces, &count));
    *first = count ? pieces[0].cols[0] : COLS;
    for (int p = 0; p < count; p++)
        for (uint64_t k = 0; k < pieces[p].length; k++) used[pieces[p].cols[k]] = true;
    while (used[column]) column++;
    return column;
}

/* An entry of the row moves to another column, there or in another row. */
static void move_entry(dcsr_matrix *matrix, dcsr_view *view, uint64_t row, uint64_t to)
{
    uint64_t first, other;
    const uint64_t column = free_column(view, to, &other);
    free_column(view, row, &first);
    if (first == COLS) return;
    TEST_OK(dcsr_matrix_remove(matrix, 1, &row, &first, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    TEST_OK(dcsr_matrix_set(matrix, to, column, &(double){2.5}));
}

/* ---- Plans ---- */

static const dcsr_i_spmv_kernel *kernel_at(dcsr_context *context, uint64_t k)
{
    return dcsr_i_spmv_kernel_at(test_on_device(context) ? DCSR_DEVICE_CUDA : DCSR_DEVICE_CPU, k);
}

/* NULL: the kernel does not serve the matrix, or gives other bits each time. */
static dcsr_spmv_plan *plan_of(dcsr_view *view, const dcsr_i_spmv_kernel *kernel,
                               dcsr_spmv_refreshing refreshing)
{
    const dcsr_spmv_options options = {.kernel = kernel->told.name, .refreshing = refreshing};
    dcsr_i_spmv_matrix A;
    dcsr_spmv_plan *plan;
    TEST_OK(dcsr_i_spmv_matrix_of(&A, view));
    if (kernel->told.varies || (kernel->refuses && kernel->refuses(&A))) return NULL;
    TEST_OK(dcsr_spmv_plan_create(&plan, view, &options));
    return plan;
}

static dcsr_spmv_plan_info info_of(const dcsr_spmv_plan *plan)
{
    dcsr_spmv_plan_info info;
    TEST_OK(dcsr_spmv_plan_get_info(plan, &info));
    return info;
}

/* What has been done is told in the words of the reason. */
static void refresh(dcsr_spmv_plan *plan, dcsr_view *view)
{
    TEST_OK(dcsr_spmv_plan_refresh(plan, view));
    const dcsr_spmv_plan_info info = info_of(plan);
    const char *words = info.refreshed ? "brought up to date" : info.bytes ? "built anew" : "read in place";
    cr_assert(strstr(info.refresh_reason, words) == info.refresh_reason, "%s: %s", info.kernel,
              info.refresh_reason);
}

static bool says(const dcsr_spmv_plan *plan, const char *words)
{
    return strstr(info_of(plan).refresh_reason, words);
}

static bool same_product(dcsr_spmv_plan *a, dcsr_spmv_plan *b)
{
    double x[COLS], y[ROWS], expected[ROWS];
    for (int j = 0; j < COLS; j++) x[j] = 1 / (1.0 + j);
    TEST_OK(dcsr_spmv_plan_run(y, a, x));
    TEST_OK(dcsr_spmv_plan_run(expected, b, x));
    return !memcmp(y, expected, sizeof y);
}

/* That of a plan that is made anew. */
static bool is_as_made_anew(dcsr_spmv_plan *plan, dcsr_view *view, const dcsr_i_spmv_kernel *kernel)
{
    dcsr_spmv_plan *anew = plan_of(view, kernel, DCSR_SPMV_REFRESH_IF_CHEAPER);
    const bool same = same_product(plan, anew);
    dcsr_spmv_plan_destroy(anew);
    return same;
}

/* ---- Where rows have room ---- */

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names && strcmp(*names, name)) names++;
    return *names;
}

/* Bit for bit, for entries that change in place, rows of as many others, and a row that grows; where rows have room for
 * that, nothing is built anew. */
Test(portfolio_refresh, is_as_building_anew)
{
    static const char *const always_anew[] = {
        "segments", "column_tiles", "cusparse_csr1", "cusparse_csr2", "cusparse_coo1", "cusparse_coo2", NULL};
    enum { ROUNDS = 3 };
    dcsr_context *context = test_context(2);
    const dcsr_i_spmv_kernel *kernel;
    for (uint64_t k = 0; (kernel = kernel_at(context, k)); k++) {
        test_random random = {5};
        dcsr_matrix *matrix = make(context, &random);
        dcsr_view *view = view_of(matrix);
        dcsr_spmv_plan *plan = plan_of(view, kernel, DCSR_SPMV_ALWAYS_REFRESH);
        for (int round = 0; plan && round < ROUNDS; round++) {
            change_rows(matrix, view, 3, 97, ROWS, &random);
            for (uint64_t row = 3; round == 1 && row < ROWS; row += 97) move_entry(matrix, view, row, row);
            if (round == 2) put(matrix, &random, 1, ROWS);
            TEST_OK(dcsr_matrix_wait(matrix));
            dcsr_view_destroy(view);
            view = view_of(matrix);
            refresh(plan, view);
            /* On a device it has codes for the values that there were. */
            const bool has_codes = test_on_device(context) && !strcmp(kernel->told.name, "dictionary");
            cr_assert(round == 2 || is_one_of(kernel->told.name, always_anew) || has_codes ||
                          info_of(plan).refreshed,
                      "%s: %s", kernel->told.name, info_of(plan).refresh_reason);
            cr_assert(is_as_made_anew(plan, view, kernel), "%s, round %d", kernel->told.name, round);
        }
        dcsr_spmv_plan_destroy(plan);
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(matrix);
    }
    test_close(context);
}

/* Values among those that there were, entries that move along the diagonals that there are: what a dictionary has codes
 * for stays, what it has none for does not. */
Test(portfolio_refresh, dictionaries_go_by_their_codes)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, ROWS, COLS, DCSR_POLICY_LAST);
    const dcsr_i_spmv_kernel *kernel =
        dcsr_i_spmv_kernel_named(test_on_device(context) ? DCSR_DEVICE_CUDA : DCSR_DEVICE_CPU, "dictionary");
    test_random random = {11};
    for (uint64_t i = 0; i + 7 < ROWS; i++)
        for (uint64_t k = 0; k < 8; k += 7 - 4 * (i % 2)) {
            const double value = (double)(1 + i % 3);
            TEST_OK(dcsr_matrix_set(matrix, i, i + k, &value));
        }
    dcsr_view *view = view_of(matrix);
    dcsr_spmv_plan *plan = plan_of(view, kernel, DCSR_SPMV_ALWAYS_REFRESH);
    for (int round = 0; round < 6; round++) {
        for (int k = 0; k < 20; k++) {
            const uint64_t row = test_random_below(&random, 490);
            const double value = round == 5 ? 8 : (double)(1 + test_random_below(&random, 3));
            TEST_OK(dcsr_matrix_set(matrix, row, row, &value));
        }
        TEST_OK(dcsr_matrix_wait(matrix));
        dcsr_view_destroy(view);
        view = view_of(matrix);
        refresh(plan, view);
        cr_assert_eq(info_of(plan).refreshed, round < 5 || !test_on_device(context), "round %d", round);
        cr_assert(info_of(plan).refreshed || says(plan, "no room for rows that have changed"));
        cr_assert(is_as_made_anew(plan, view, kernel), "round %d", round);
    }
    dcsr_spmv_plan_destroy(plan);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* ---- Whatever has changed ---- */

/* Something changes: values of some rows or of all, entries of some rows, all places, or nothing. */
static void change(dcsr_matrix *matrix, dcsr_view *view, test_random *random)
{
    const uint64_t kind = test_random_below(random, 8), first = test_random_below(random, ROWS);
    switch (kind) {
    case 0:
        change_rows(matrix, view, 0, 1, ROWS, random);
        break;
    case 1:
        change_rows(matrix, view, first % 10, 10, ROWS, random);
        break;
    case 2:
        for (uint64_t row = first; row < ROWS && row < first + 20; row += 5)
            move_entry(matrix, view, row, row);
        break;
    case 3:
        put(matrix, random, 1 + test_random_below(random, 300), ROWS);
        break;
    case 4:
        put(matrix, random, 40, 1 + first); /* rows become longer than others */
        break;
    case 5:
        change_rows(matrix, view, first, 1, first + 1, random);
        /* fall through */
    case 6:
        TEST_OK(dcsr_matrix_defragment(
            matrix, test_random_below(random, 2) ? DCSR_DEFRAGMENT_WHOLE : DCSR_DEFRAGMENT_SELECTED, NULL));
        break;
    default:
        break;
    }
    TEST_OK(dcsr_matrix_wait(matrix));
}

/* Plans that refresh always, never and as they like multiply alike, also when they go back to a version that is held,
 * for views of another layout, and of rows as they were stored. */
static void follow_changes(dcsr_context *context, const dcsr_i_spmv_kernel *kernel, uint64_t seed)
{
    enum { ROUNDS = TEST_EMULATOR ? 5 : 12, PLANS = 3 };
    test_random random = {seed};
    dcsr_matrix *matrix = make(context, &random);
    const bool raw = seed % 2 == 0;
    dcsr_view *first = test_view(matrix, DCSR_LAYOUT_SEGMENTS, raw ? DCSR_VIEW_DUPLICATES : 0),
              *view = view_of(matrix);
    dcsr_spmv_plan *plan[PLANS];
    for (int p = 0; p < PLANS; p++) plan[p] = plan_of(first, kernel, (dcsr_spmv_refreshing)p);
    for (int round = 0; plan[0] && round < ROUNDS; round++) {
        change(matrix, view, &random);
        dcsr_view_destroy(view);
        view = test_view(matrix, test_random_once_in(&random, 4) ? DCSR_LAYOUT_CSR : DCSR_LAYOUT_SEGMENTS,
                         raw                               ? DCSR_VIEW_DUPLICATES
                         : test_random_once_in(&random, 6) ? DCSR_VIEW_SORTED
                                                           : 0);
        dcsr_view *shown = test_random_once_in(&random, 5) ? first : view;
        for (int p = 0; p < PLANS; p++) {
            refresh(plan[p], shown);
            cr_assert_eq(info_of(plan[p]).version, info_of(plan[0]).version);
        }
        for (int p = 0; p < DCSR_SPMV_NEVER_REFRESH; p++)
            cr_assert(same_product(plan[p], plan[DCSR_SPMV_NEVER_REFRESH]),
                      "%s, seed %d, round %d, plan %d: %s", kernel->told.name, (int)seed, round, p,
                      info_of(plan[p]).refresh_reason);
    }
    for (int p = 0; p < PLANS; p++) dcsr_spmv_plan_destroy(plan[p]);
    dcsr_view_destroy(first);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
}

Test(portfolio_refresh, plans_follow_random_changes)
{
    dcsr_context *context = test_context(2);
    const dcsr_i_spmv_kernel *kernel;
    const int seeds = test_on_emulator() ? 1 : TEST_SIZE(6, 2, 2);
    for (uint64_t k = 0; (kernel = kernel_at(context, k)); k++)
        for (int seed = 1; seed <= seeds; seed++) follow_changes(context, kernel, (uint64_t)seed + 7 * k);
    test_close(context);
}

/* ---- What fails ---- */

/* With each allocation failing in turn, where rows have other lengths and all together as many entries as before: some
 * formats find out by the way, and what a plan has is then as it was, or that of the new version. */
Test(portfolio_refresh, what_fails_leaves_the_plan_as_it_was)
{
    dcsr_context *context = test_context(1);
    const dcsr_i_spmv_kernel *kernel;
    for (uint64_t k = 0; (kernel = kernel_at(context, k)); k++) {
        test_random random = {9};
        dcsr_matrix *matrix = make(context, &random);
        dcsr_view *view = view_of(matrix);
        dcsr_spmv_plan *old = plan_of(view, kernel, DCSR_SPMV_NEVER_REFRESH), *new = NULL;
        change_rows(matrix, view, 5, 50, ROWS, &random);
        move_entry(matrix, view, ROWS / 2, ROWS / 2 + 1);
        TEST_OK(dcsr_matrix_wait(matrix));
        dcsr_view *next = view_of(matrix);
        if (old) new = plan_of(next, kernel, DCSR_SPMV_NEVER_REFRESH);
        for (long n = 0; old; n++) {
            dcsr_spmv_plan *plan = plan_of(view, kernel, DCSR_SPMV_ALWAYS_REFRESH);
            dcsr_i_fail_allocations_after(n);
            const dcsr_status status = dcsr_spmv_plan_refresh(plan, next);
            dcsr_i_fail_allocations_after(-1);
            cr_assert(!status || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
            cr_assert(same_product(plan, status ? old : new), "%s, after %ld", kernel->told.name, n);
            dcsr_spmv_plan_destroy(plan);
            if (!status) break;
        }
        dcsr_spmv_plan_destroy(old);
        dcsr_spmv_plan_destroy(new);
        dcsr_view_destroy(view);
        dcsr_view_destroy(next);
        dcsr_matrix_destroy(matrix);
    }
    test_close(context);
}

/* ---- What is done, and why ---- */

Test(portfolio_refresh, tells_why_it_builds)
{
    dcsr_context *context = test_context(1);
    test_random random = {3};
    dcsr_matrix *matrix = make(context, &random);
    dcsr_view *view = view_of(matrix), *last = view;
    dcsr_spmv_plan *csr, *never, *place;
    TEST_OK(dcsr_spmv_plan_create(&csr, view, &(dcsr_spmv_options){.kernel = "csr"}));
    TEST_OK(dcsr_spmv_plan_create(
        &never, view, &(dcsr_spmv_options){.kernel = "csr", .refreshing = DCSR_SPMV_NEVER_REFRESH}));
    TEST_OK(dcsr_spmv_plan_create(&place, view, &(dcsr_spmv_options){.kernel = "segments"}));
    cr_assert_str_empty(info_of(csr).refresh_reason);
    change_rows(matrix, view, 7, 1, 8, &random);
    view = view_of(matrix);
    refresh(csr, view);
    cr_assert(says(csr, "brought up to date: 1 of 600 rows have changed"), "%s", info_of(csr).refresh_reason);
    refresh(never, view);
    cr_assert(says(never, "built anew: as the options ask for") && !info_of(never).refreshed);
    refresh(place, view);
    cr_assert(says(place, "read in place: there was no format"));
    dcsr_view_destroy(last);
    last = view;
    change_rows(matrix, view, 0, 1, ROWS, &random);
    view = view_of(matrix);
    refresh(csr, view);
    cr_assert(says(csr, "built anew: most rows have changed"));
    put(matrix, &random, 40, ROWS);
    dcsr_view_destroy(last);
    last = view;
    view = view_of(matrix);
    refresh(csr, view);
    cr_assert(says(csr, "built anew: the format has no room for what has changed"));
    TEST_OK(dcsr_matrix_resize(matrix, ROWS, COLS + 1, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    dcsr_view_destroy(last);
    last = view;
    view = view_of(matrix);
    refresh(csr, view);
    cr_assert(says(csr, "built anew: the matrix has other dimensions"));
    dcsr_view_destroy(last);
    dcsr_view_destroy(view);
    dcsr_spmv_plan_destroy(csr);
    dcsr_spmv_plan_destroy(never);
    dcsr_spmv_plan_destroy(place);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

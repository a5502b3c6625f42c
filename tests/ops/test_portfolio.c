/* test_portfolio.c: every kernel of the portfolio over types and shapes, beside sums that are exact in any order; the
 * memory that is promised before a format is built; plans. */
#include <dcsr/spmv.h>
#include "dcsr/base/alloc.h"
#include "ops/spmv/portfolio/portfolio.h"
#include "tests/support/support.h"
#include <stdlib.h>
#include <string.h>

/* ---- Matrices ---- */

/* How entries are spread. Values and x are small integers, so sums of every type are exact, or wrap alike. */
typedef enum spread { EVEN, GRID, POWER, HUB, SPARSE_ROWS, SPREADS } spread;

typedef struct shape {
    const char *name;
    uint64_t rows, cols, entries;
    spread spread;
} shape;

static const shape shapes[] = {{"empty", 50, 40, 0, EVEN},
                               {"one entry", 1, 1, 1, EVEN},
                               {"a row", 1, 3000, 900, EVEN},
                               {"a column", 700, 1, 300, EVEN},
                               {"even", 500, 400, 6000, EVEN},
                               {"grid", 1000, 1000, 5000, GRID},
                               {"power", 900, 900, 9000, POWER},
                               {"hub", 300, 5000, 7000, HUB},
                               {"few rows", 5000, 300, 400, SPARSE_ROWS},
                               {"wide", 40, 200000, 9000, EVEN},
                               {"tall", 70000, 30, 20000, EVEN},
                               {"no rows", 0, 7, 0, EVEN},
                               {"dense rows", 64, 257, 15000, EVEN},
                               {"longer", 3000, 3000, 50000, POWER},
                               {"many columns", 700, 200000, TEST_EMULATOR ? 2000 : 150000, EVEN}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void draw(test_random *random, const shape *s, uint64_t e, uint64_t *row, uint64_t *col)
{
    static const int neighbours[] = {0, -1, 1, -31, 31};
    *row = test_random_below(random, s->rows);
    *col = test_random_below(random, s->cols);
    switch (s->spread) {
    case GRID:
        *row = e / 5 % s->rows;
        *col = (*row + s->cols + (uint64_t)neighbours[e % 5]) % s->cols;
        break;
    case POWER:
        for (int k = 0; k < 2; k++) *row = test_random_below(random, *row + 1);
        for (int k = 0; k < 2; k++) *col = test_random_below(random, *col + 1);
        break;
    case HUB:
        if (e % 3) *row = s->rows / 3;
        break;
    case SPARSE_ROWS:
        *row -= *row % 16;
        break;
    default:
        break;
    }
}

static int64_t small(test_random *random)
{
    return (int64_t)test_random_below(random, 7) - 3;
}

static void set(dcsr_type type, void *values, uint64_t i, int64_t value)
{
    const bool negative = type == DCSR_INT8 || type == DCSR_INT16 || type == DCSR_INT32 ||
                          type == DCSR_INT64 || type == DCSR_FP32 || type == DCSR_FP64;
    if (!negative) value &= type == DCSR_BOOL ? 1 : 3;
    test_encode(type, (double)value, (char *)values + i * dcsr_type_size(type));
}

/* Adds n entries to the matrix. */
static void add(dcsr_matrix *matrix, dcsr_type type, const shape *s, test_random *random, uint64_t n)
{
    if (!n) return;
    const size_t size = dcsr_type_size(type);
    uint64_t *rows = test_allocate(n, sizeof *rows), *cols = test_allocate(n, sizeof *cols);
    char *values = size ? test_allocate(n, size) : NULL;
    for (uint64_t e = 0; e < n; e++) {
        draw(random, s, e, &rows[e], &cols[e]);
        if (values) set(type, values, e, small(random));
    }
    TEST_OK(dcsr_matrix_insert(matrix, n, rows, cols, values, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    free(rows);
    free(cols);
    free(values);
}

/* Made in two portions, so that rows are in pieces. */
static dcsr_matrix *make(dcsr_context *context, dcsr_type type, const shape *s, test_random *random)
{
    dcsr_matrix *matrix = test_matrix(context, type, s->rows, s->cols, DCSR_POLICY_LAST);
    add(matrix, type, s, random, s->entries / 2);
    add(matrix, type, s, random, s->entries - s->entries / 2);
    return matrix;
}

/* ---- Products ---- */

static dcsr_type vector_type(dcsr_type type)
{
    return type == DCSR_PATTERN ? DCSR_FP64 : type;
}

static double value_at(dcsr_type type, const void *values, uint64_t i)
{
    return type == DCSR_PATTERN ? 1 : test_decode(type, (const char *)values + i * dcsr_type_size(type));
}

/* y by a textbook's loop, in numbers that hold the sums, then as the type; the caller frees it. */
static void *expected_of(dcsr_view *view, dcsr_type type, const shape *s, const void *x)
{
    const size_t size = dcsr_type_size(vector_type(type));
    char *y = test_allocate(s->rows + 1, size);
    for (uint64_t i = 0; i < s->rows; i++) {
        dcsr_piece pieces[DCSR_MAX_SEGMENTS];
        int count;
        double sum = 0;
        TEST_OK(dcsr_view_get_pieces(view, i, pieces, &count));
        for (int p = 0; p < count; p++)
            for (uint64_t k = 0; k < pieces[p].length; k++)
                sum +=
                    value_at(type, pieces[p].values, k) * value_at(vector_type(type), x, pieces[p].cols[k]);
        if (type == DCSR_BOOL)
            ((bool *)y)[i] = sum != 0;
        else if (type == DCSR_FP32 || type == DCSR_FP64 || type == DCSR_PATTERN)
            test_encode(vector_type(type), sum, y + i * size);
        else /* wraps around: every integer is the low bytes of one of 64 bits */
            memcpy(y + i * size, &(int64_t){(int64_t)sum}, size);
    }
    return y;
}

static void *make_x(dcsr_type type, const shape *s, test_random *random)
{
    char *x = test_allocate(s->cols + 1, dcsr_type_size(vector_type(type)));
    for (uint64_t j = 0; j < s->cols; j++) set(vector_type(type), x, j, small(random));
    return x;
}

static bool same(dcsr_type type, const void *found, const void *expected, uint64_t n, uint64_t *where)
{
    for (uint64_t i = 0; i < n; i++) {
        *where = i;
        if (value_at(type, found, i) != value_at(type, expected, i)) return false;
    }
    return true;
}

static void check_product(dcsr_spmv_plan *plan, dcsr_type type, const shape *s, const void *x,
                          const void *expected, const char *kernel)
{
    const size_t size = dcsr_type_size(vector_type(type));
    char *found = test_allocate(s->rows + 1, size);
    uint64_t where = 0;
    memset(found, 0x5a, s->rows * size);
    TEST_OK(dcsr_spmv_plan_run(found, plan, x));
    cr_assert(same(vector_type(type), found, expected, s->rows, &where),
              "%s, %s, type %d: y[%llu] is %g, not %g", kernel, s->name, (int)type, (unsigned long long)where,
              value_at(vector_type(type), found, where), value_at(vector_type(type), expected, where));
    free(found);
}

/* ---- Tests ---- */

static dcsr_view *view_of(dcsr_matrix *matrix)
{
    dcsr_view *view;
    TEST_OK(dcsr_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, 0));
    return view;
}

static dcsr_device device_of(dcsr_context *context)
{
    dcsr_context_info info;
    TEST_OK(dcsr_context_get_info(context, &info));
    return info.device;
}

static uint64_t matrix_bytes(dcsr_context *context)
{
    dcsr_context_info info;
    TEST_OK(dcsr_context_get_info(context, &info));
    return info.matrix_bytes;
}

/* Whether the kernel can serve the matrix; if not, that it says so. */
static bool serves(dcsr_view *view, const dcsr_i_spmv_kernel *kernel)
{
    dcsr_i_spmv_matrix A;
    dcsr_spmv_plan *plan;
    TEST_OK(dcsr_i_spmv_matrix_of(&A, view));
    const char *refusal = kernel->refuses ? kernel->refuses(&A) : NULL;
    if (!refusal) return true;
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, refusal,
                 dcsr_spmv_plan_create(&plan, view, &(dcsr_spmv_options){.kernel = kernel->told.name}));
    return false;
}

/* Some of the shapes for each type, all of them for fp64. */
static bool is_drawn(int s, dcsr_type type)
{
    return type == DCSR_FP64 || (s + (int)type) % (test_on_emulator() ? 13 : 3) == 0;
}

/* A format takes what was promised, and the kernel multiplies, twice. */
static void check_kernel(const dcsr_i_spmv_kernel *kernel, dcsr_context *context, dcsr_view *view,
                         dcsr_type type, const shape *s, const void *x, const void *expected)
{
    enum { PLAN = 1024 };
    dcsr_spmv_plan *plan;
    dcsr_spmv_plan_info info;
    if (!serves(view, kernel)) return;
    const uint64_t before = matrix_bytes(context);
    TEST_OK(dcsr_spmv_plan_create(&plan, view, &(dcsr_spmv_options){.kernel = kernel->told.name}));
    TEST_OK(dcsr_spmv_plan_get_info(plan, &info));
    const uint64_t taken = matrix_bytes(context) - before;
    cr_assert(info.bytes <= taken && taken <= info.bytes + PLAN,
              "%s, %s, type %d: %llu bytes promised, %llu taken", kernel->told.name, s->name, (int)type,
              (unsigned long long)info.bytes, (unsigned long long)taken);
    check_product(plan, type, s, x, expected, kernel->told.name);
    check_product(plan, type, s, x, expected, kernel->told.name);
    dcsr_spmv_plan_destroy(plan);
}

Test(portfolio, kernels_multiply)
{
    dcsr_context *context = test_context(2);
    const dcsr_i_spmv_kernel *kernel;
    for (int type = 0; type < DCSR_TYPE_COUNT; type++) {
        for (int s = 0; s < SHAPES; s++) {
            if (!is_drawn(s, (dcsr_type)type)) continue;
            test_random random = {1 + (uint64_t)s};
            dcsr_matrix *matrix = make(context, (dcsr_type)type, &shapes[s], &random);
            dcsr_view *view = view_of(matrix);
            void *x = make_x((dcsr_type)type, &shapes[s], &random);
            void *expected = expected_of(view, (dcsr_type)type, &shapes[s], x);
            dcsr_i_matrix_trim(matrix); /* as its idle worker would, while memory is measured */
            for (uint64_t k = 0; (kernel = dcsr_i_spmv_kernel_at(device_of(context), k)); k++)
                check_kernel(kernel, context, view, (dcsr_type)type, &shapes[s], x, expected);
            free(expected);
            free(x);
            dcsr_view_destroy(view);
            dcsr_matrix_destroy(matrix);
        }
    }
    test_close(context);
}

/* A plan that is refreshed multiplies as one that is made anew; rows are emptied, filled and added meanwhile. */
Test(portfolio, plans_follow_a_matrix)
{
    static const shape grown = {"grown", 700, 600, 3000, POWER};
    dcsr_context *context = test_context(2);
    const dcsr_i_spmv_kernel *kernel;
    for (uint64_t k = 0; (kernel = dcsr_i_spmv_kernel_at(device_of(context), k)); k++) {
        test_random random = {7 + k};
        shape s = {"followed", 600, 600, 6000, POWER};
        dcsr_matrix *matrix = make(context, DCSR_FP64, &s, &random);
        dcsr_view *view = view_of(matrix);
        dcsr_spmv_plan *plan = NULL;
        if (serves(view, kernel))
            TEST_OK(dcsr_spmv_plan_create(&plan, view, &(dcsr_spmv_options){.kernel = kernel->told.name}));
        for (int round = 0; plan && round < 6; round++) {
            dcsr_view_destroy(view);
            if (round == 2) { /* empties rows */
                TEST_OK(dcsr_matrix_resize(matrix, s.rows, s.cols / 2, NULL));
                TEST_OK(dcsr_matrix_resize(matrix, s.rows, s.cols, NULL));
                TEST_OK(dcsr_matrix_wait(matrix));
            } else if (round == 4) {
                s.rows = grown.rows;
                TEST_OK(dcsr_matrix_resize(matrix, s.rows, s.cols, NULL));
            }
            add(matrix, DCSR_FP64, &s, &random, round % 2 ? 5 : 500);
            view = view_of(matrix);
            TEST_OK(dcsr_spmv_plan_refresh(plan, view));
            dcsr_spmv_plan_info info;
            dcsr_view_info shown;
            TEST_OK(dcsr_spmv_plan_get_info(plan, &info));
            TEST_OK(dcsr_view_get_info(view, &shown));
            cr_assert_eq(info.version, shown.version);
            void *x = make_x(DCSR_FP64, &s, &random);
            void *expected = expected_of(view, DCSR_FP64, &s, x);
            check_product(plan, DCSR_FP64, &s, x, expected, kernel->told.name);
            free(expected);
            free(x);
        }
        dcsr_spmv_plan_destroy(plan);
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(matrix);
    }
    test_close(context);
}

/* Building, running and refreshing with each allocation failing in turn: an error, or what is right; nothing stays. */
Test(portfolio, failing_allocations_are_reported)
{
    static const shape s = {"small", 200, 150, 900, POWER};
    dcsr_context *context = test_context(1);
    const dcsr_i_spmv_kernel *kernel;
    for (uint64_t k = 0; (kernel = dcsr_i_spmv_kernel_at(device_of(context), k)); k++) {
        test_random random = {3};
        dcsr_matrix *matrix = make(context, DCSR_FP32, &s, &random);
        void *x = make_x(DCSR_FP32, &s, &random);
        dcsr_view *view = view_of(matrix);
        const bool served = serves(view, kernel);
        add(matrix, DCSR_FP32, &s, &random, 20);
        dcsr_view *next = view_of(matrix);
        void *expected[] = {expected_of(view, DCSR_FP32, &s, x), expected_of(next, DCSR_FP32, &s, x)};
        for (long n = 0; served; n++) {
            dcsr_spmv_plan *plan = NULL;
            char y[200 * sizeof(float)];
            dcsr_i_fail_allocations_after(n);
            dcsr_status status = dcsr_spmv_plan_create(
                &plan, view,
                &(dcsr_spmv_options){.kernel = kernel->told.name, .refreshing = DCSR_SPMV_ALWAYS_REFRESH});
            cr_assert(!status == (plan != NULL));
            if (!status) status = dcsr_spmv_plan_run(y, plan, x);
            const dcsr_status refreshed = status ? status : dcsr_spmv_plan_refresh(plan, next);
            dcsr_i_fail_allocations_after(-1);
            cr_assert(refreshed == DCSR_OK || refreshed == DCSR_ERROR_OUT_OF_MEMORY, "%s: %d, %s",
                      kernel->told.name, (int)refreshed, dcsr_thread_error());
            if (!status) check_product(plan, DCSR_FP32, &s, x, expected[!refreshed], kernel->told.name);
            dcsr_spmv_plan_destroy(plan);
            if (!refreshed) break;
        }
        dcsr_view_destroy(view);
        dcsr_view_destroy(next);
        dcsr_matrix_destroy(matrix);
        free(expected[0]);
        free(expected[1]);
        free(x);
    }
    test_close(context);
}

/* Their number and y are those of as many products; the seconds are some. */
Test(portfolio, plans_tell_their_time)
{
    static const shape s = {"grid", 1000, 1000, 5000, GRID};
    dcsr_context *context = test_context(1);
    test_random random = {3};
    dcsr_matrix *matrix = make(context, DCSR_FP64, &s, &random);
    dcsr_view *view = view_of(matrix);
    dcsr_spmv_plan *plan;
    dcsr_spmv_plan_info info;
    double seconds = 0, x[1000], y[1000];
    for (int j = 0; j < 1000; j++) x[j] = j % 5;
    double *expected = expected_of(view, DCSR_FP64, &s, x);
    TEST_OK(dcsr_spmv_plan_create(&plan, view, &(dcsr_spmv_options){.kernel = "merge"}));
    TEST_OK(dcsr_spmv_plan_time(&seconds, y, plan, x, 3));
    TEST_OK(dcsr_spmv_plan_get_info(plan, &info));
    cr_assert(seconds > 0 && info.products == 3 && !memcmp(y, expected, sizeof y));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "products is 0", dcsr_spmv_plan_time(&seconds, y, plan, x, 0));
    cr_assert_eq(seconds, 0);
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "seconds is NULL", dcsr_spmv_plan_time(NULL, y, plan, x, 1));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "plan is NULL", dcsr_spmv_plan_time(&seconds, y, NULL, x, 1));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "y is NULL", dcsr_spmv_plan_time(&seconds, NULL, plan, x, 1));
    dcsr_spmv_plan_destroy(plan);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    free(expected);
    test_close(context);
}

/* A free choice needs no memory for a format: where there is none, the store is read in place. */
Test(portfolio, plans_do_without_memory_for_a_format)
{
    static const shape s = {"grid", 1000, 1000, 5000, GRID};
    dcsr_context *context = test_context(1);
    test_random random = {3};
    dcsr_matrix *matrix = make(context, DCSR_FP64, &s, &random);
    dcsr_view *view = view_of(matrix);
    const dcsr_spmv_options options = {.products = 1000000, .for_energy = true}; /* or, untrained, time */
    dcsr_spmv_plan *plan;
    dcsr_spmv_plan_info info;
    bool stayed = false;
    TEST_OK(dcsr_spmv_plan_create(&plan, view, &options));
    TEST_OK(dcsr_spmv_plan_get_info(plan, &info));
    const bool builds = info.bytes > 0;
    dcsr_spmv_plan_destroy(plan);
    void *x = make_x(DCSR_FP64, &s, &random), *expected = expected_of(view, DCSR_FP64, &s, x);
    for (long n = 0;; n++) {
        dcsr_i_fail_allocations_after(n);
        const dcsr_status status = dcsr_spmv_plan_create(&plan, view, &options);
        dcsr_i_fail_allocations_after(-1);
        cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
        if (status) continue;
        TEST_OK(dcsr_spmv_plan_get_info(plan, &info));
        check_product(plan, DCSR_FP64, &s, x, expected, info.kernel);
        dcsr_spmv_plan_destroy(plan);
        stayed = stayed || (!info.bytes && strstr(info.reason, "no memory"));
        if (info.bytes || !builds) break;
    }
    cr_assert(stayed == builds);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    free(x);
    free(expected);
    test_close(context);
}

Test(portfolio, plans_refuse_what_is_wrong)
{
    static const shape s = {"small", 20, 30, 90, EVEN};
    dcsr_context *context = test_context(1);
    test_random random = {3};
    dcsr_matrix *matrix = make(context, DCSR_FP64, &s, &random),
                *other = make(context, DCSR_FP64, &s, &random);
    dcsr_view *view = view_of(matrix), *strange = view_of(other);
    dcsr_spmv_plan *plan;
    dcsr_spmv_plan_info info;
    double x[30] = {0}, y[20];
    TEST_REFUSED(DCSR_ERROR_NOT_FOUND, "there are: auto, segments",
                 dcsr_spmv_plan_create(&plan, view, &(dcsr_spmv_options){.kernel = "fastest"}));
    cr_assert_null(plan);
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "plan is NULL", dcsr_spmv_plan_create(NULL, view, NULL));
    cr_assert_eq(dcsr_spmv_plan_create(&plan, NULL, NULL), DCSR_ERROR_INVALID_ARGUMENT);
    TEST_OK(dcsr_spmv_plan_create(&plan, view, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "y is NULL", dcsr_spmv_plan_run(NULL, plan, x));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "x is NULL", dcsr_spmv_plan_run(y, plan, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "another matrix", dcsr_spmv_plan_refresh(plan, strange));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "info is NULL", dcsr_spmv_plan_get_info(plan, NULL));
    TEST_OK(dcsr_spmv_plan_run(y, plan, x));
    TEST_OK(dcsr_spmv_plan_get_info(plan, &info));
    cr_assert(info.products == 1 && strlen(info.reason) > 10);
    dcsr_view_destroy(view);
    dcsr_view_destroy(strange);
    dcsr_matrix_destroy(matrix);
    dcsr_matrix_destroy(other);
    TEST_OK(dcsr_spmv_plan_run(y, plan, x)); /* the plan holds its view, which outlives the matrix */
    dcsr_spmv_plan_destroy(plan);
    dcsr_spmv_plan_destroy(NULL);
    test_close(context);
}

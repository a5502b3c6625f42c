/* test_spmm.c: sparse matrix times dense matrix, by hand and against a literal triple loop. */
#include "dcsr/base/alloc.h"
#include "ops/algebra/operator.h"
#include <dcsr/spmm.h>
#include "tests/support/support.h"
#include <math.h>

static const dcsr_semiring *plus_times(void)
{
    return dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_FP64);
}

/* 4 x 3: row 0 is (2, 0, 5), row 1 has no entry, row 2 is (0, -1, 0), row 3 is (1, 0, 0). */
static dcsr_matrix *small(dcsr_context *context, dcsr_type type)
{
    dcsr_matrix *matrix = test_matrix(context, type, 4, 3, DCSR_POLICY_LAST);
    TEST_INSERT(matrix, {0, 0, 2}, {2, 1, -1});
    TEST_INSERT(matrix, {0, 2, 5}, {3, 0, 1});
    return matrix;
}

static bool same(const double *y, const double *expected, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (y[k] != expected[k]) return false;
    return true;
}
#define SAME(y, ...) \
    same(y, (const double[]){__VA_ARGS__}, sizeof(const double[]){__VA_ARGS__} / sizeof(double))

Test(spmm, by_hand)
{
    dcsr_context *context = test_context(2);
    dcsr_matrix *matrix = small(context, DCSR_FP64);
    const double x[] = {1, 2, 10, 20, 100, 200};
    for (dcsr_layout layout = DCSR_LAYOUT_SEGMENTS; layout <= DCSR_LAYOUT_CSR; layout++) {
        dcsr_view *view = test_view(matrix, layout, 0);
        double y[8] = {9, 9, 9, 9, 9, 9, 9, 9};
        TEST_OK(dcsr_spmm(y, NULL, NULL, plus_times(), view, x, 2, NULL));
        cr_assert(SAME(y, 502, 1004, 0, 0, -10, -20, 1, 2));
        TEST_OK(dcsr_spmm(y, NULL, NULL, dcsr_semiring_of(DCSR_MIN_PLUS, DCSR_FP64), view, x, 2, NULL));
        cr_assert(SAME(y, 3, 4, INFINITY, INFINITY, 9, 19, 2, 3));
        double z[9];
        const double w[] = {1, 10, 100, 2, 20, 200, 3, 30, 300, 4, 40, 400};
        dcsr_report report;
        TEST_OK(dcsr_spmm(z, NULL, NULL, plus_times(), view, w, 3,
                          &(dcsr_desc){.transpose_a = true, .report = &report}));
        cr_assert(SAME(z, 6, 60, 600, -3, -30, -300, 5, 50, 500));
        cr_assert(report.device == DCSR_DEVICE_CPU && report.entries == 4 &&
                  report.direction == DCSR_DIRECTION_AUTO);
        dcsr_view_destroy(view);
    }
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(spmm, mask_and_accumulator)
{
    dcsr_context *context = test_context(2);
    dcsr_matrix *matrix = small(context, DCSR_FP64);
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    const double x[] = {1, 10, 100};
    dcsr_vector *mask;
    TEST_OK(dcsr_vector_create(&mask, context, DCSR_BOOL, 4));
    TEST_OK(dcsr_vector_build(mask, 3, (uint64_t[]){0, 1, 3}, (bool[]){true, true, false}, DCSR_POLICY_LAST));
    const dcsr_binary_op *plus = dcsr_binary_op_of(DCSR_BINARY_PLUS, DCSR_FP64),
                         *minus = dcsr_binary_op_of(DCSR_BINARY_MINUS, DCSR_FP64);
    for (int form = DCSR_VECTOR_DENSE; form <= DCSR_VECTOR_SPARSE; form++) {
        TEST_OK(dcsr_vector_set_format(mask, (dcsr_vector_format)form));
#define RUN(...)               \
    double y[] = {7, 8, 9, 6}; \
    TEST_OK(dcsr_spmm(y, __VA_ARGS__))
        {
            RUN(mask, NULL, plus_times(), view, x, 1, NULL);
            cr_assert(SAME(y, 502, 0, 9, 6));
        }
        {
            RUN(mask, NULL, plus_times(), view, x, 1, &(dcsr_desc){.replace = true});
            cr_assert(SAME(y, 502, 0, 0, 0));
        }
        {
            RUN(mask, NULL, plus_times(), view, x, 1, &(dcsr_desc){.mask_structure = true});
            cr_assert(SAME(y, 502, 0, 9, 1));
        }
        {
            RUN(mask, NULL, plus_times(), view, x, 1, &(dcsr_desc){.mask_complement = true});
            cr_assert(SAME(y, 7, 8, -10, 1));
        }
        {
            RUN(mask, plus, plus_times(), view, x, 1, NULL);
            cr_assert(SAME(y, 509, 8, 9, 6), "a row without entries stays as it is");
        }
        {
            RUN(NULL, minus, plus_times(), view, x, 1, NULL);
            cr_assert(SAME(y, 7 - 502, 8, 19, 5));
        }
        {
            RUN(NULL, NULL, plus_times(), view, x, 1, &(dcsr_desc){.mask_complement = true, .replace = true});
            cr_assert(SAME(y, 0, 0, 0, 0), "no mask is true everywhere, and its complement nowhere");
        }
    }
#undef RUN
    dcsr_vector_destroy(mask);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* ---- Against a triple loop ---- */

enum { MOST_COLUMNS = 300 };

typedef struct problem {
    oracle model;
    dcsr_matrix *matrix;
    uint64_t width;
    char *x, *y, *expected;
    size_t ytype, rows, cols;
} problem;

/* A matrix with rows of all kinds: none, a few entries, and, with `hub`, one of half of all there are. */
static void make_matrix(problem *p, dcsr_context *context, test_random *random, dcsr_type type, bool hub)
{
    size_t n = p->rows * 3;
    uint64_t *rows = test_allocate(n, 8), *cols = test_allocate(n, 8);
    char *values = test_allocate(n, 8);
    for (size_t k = 0; k < n; k++) {
        rows[k] = hub && k % 2 ? p->rows / 2 : test_random_below(random, p->rows);
        cols[k] = test_random_below(random, p->cols);
        test_encode(type,
                    (double)test_random_below(random, 7) - (type >= DCSR_FP32 || type < DCSR_UINT8 ? 3 : 0),
                    values + k * dcsr_type_size(type));
    }
    p->matrix = test_matrix(context, type, p->rows, p->cols, DCSR_POLICY_LAST);
    oracle_create(&p->model, type, DCSR_POLICY_LAST, p->rows, p->cols);
    for (size_t from = 0; from < n; from += n / 3) { /* three batches, so that rows have several segments */
        const void *part = type == DCSR_PATTERN ? NULL : values + from * dcsr_type_size(type);
        TEST_OK(dcsr_matrix_insert(p->matrix, n / 3, rows + from, cols + from, part, NULL));
        oracle_insert(&p->model, n / 3, rows + from, cols + from, part);
    }
    TEST_OK(dcsr_matrix_wait(p->matrix));
    free(rows);
    free(cols);
    free(values);
}

/* expected = A X, one entry after the other, of values that all types hold exactly. */
static void multiply_literally(problem *p, const dcsr_semiring *semiring)
{
    const dcsr_binary_op *multiply = semiring->multiply, *add = semiring->add->op;
    size_t xsize = dcsr_type_size(multiply->ytype), size = dcsr_type_size(multiply->ztype);
    for (size_t r = 0; r < p->rows; r++)
        for (size_t c = 0; c < p->width; c++) {
            dcsr_i_scalar sum = semiring->add->identity, product = {0}, a = {0};
            for (size_t e = 0; e < p->model.row[r].length; e++) {
                const oracle_entry *entry = &p->model.row[r].entry[e];
                dcsr_i_cast(multiply->xtype, &a, p->model.type, &entry->value, 1);
                dcsr_i_apply_binary(multiply, &product, &a, p->x + (entry->column * p->width + c) * xsize, 1);
                if (e == 0)
                    sum = product;
                else if (semiring->add->terminal_kind != DCSR_I_ANY_TERMINAL)
                    dcsr_i_apply_binary(add, &sum, &sum, &product, 1);
            }
            memcpy(p->expected + (r * p->width + c) * size, &sum, size);
        }
}

/* Whether each element is what the triple loop says; of ANY, one of the products: all of a row are the same
 * there. */
static void compare(problem *p, const dcsr_semiring *semiring, const char *what)
{
    size_t size = dcsr_type_size(semiring->multiply->ztype);
    for (size_t k = 0; k < p->rows * p->width; k++)
        cr_assert(!memcmp(p->y + k * size, p->expected + k * size, size),
                  "%s %s_%s on %s, width %d: row %d, column %d", what, semiring->add->op->text,
                  semiring->multiply->text, dcsr_type_name(dcsr_i_monoid_type(semiring->add)), (int)p->width,
                  (int)(k / p->width), (int)(k % p->width));
}

static void multiply_all_ways(problem *p, const dcsr_semiring *semiring)
{
    size_t size = dcsr_type_size(semiring->multiply->ztype);
    bool any =
        semiring->add->terminal_kind == DCSR_I_ANY_TERMINAL && semiring->multiply->name != DCSR_BINARY_PAIR;
    for (dcsr_layout layout = DCSR_LAYOUT_SEGMENTS; layout <= DCSR_LAYOUT_CSR; layout++) {
        dcsr_view *view = test_view(p->matrix, layout, DCSR_VIEW_SORTED);
        for (dcsr_spmm_mapping mapping = DCSR_SPMM_AUTO; mapping <= DCSR_SPMM_MERGE; mapping++) {
            dcsr_report report;
            const dcsr_desc desc = {.mapping = mapping, .report = &report};
            memset(p->y, 0xa5, p->rows * p->width * size);
            TEST_OK(dcsr_spmm(p->y, NULL, NULL, semiring, view, p->x, p->width, &desc));
            dcsr_spmm_mapping used = report.mapping;
            cr_assert(used != DCSR_SPMM_AUTO && used <= DCSR_SPMM_MERGE);
            /* Whose entry ANY takes is open; here it is the first of a sorted row, or of a part of one. */
            if (!any || used == DCSR_SPMM_ROW_SPLIT)
                compare(p, semiring, mapping == DCSR_SPMM_MERGE ? "merge" : "rows");
        }
        dcsr_view_destroy(view);
    }
}

static void check_random(dcsr_context *context, test_random *random, dcsr_type matrix_type,
                         const dcsr_semiring *semiring, uint64_t width, bool large)
{
    problem p = {.width = width, .rows = large ? 700 : 60, .cols = large ? 500 : 40};
    make_matrix(&p, context, random, matrix_type, large);
    dcsr_type xtype = semiring->multiply->ytype;
    p.x = test_allocate(p.cols * width, 8);
    p.y = test_allocate(p.rows * width, 8);
    p.expected = test_allocate(p.rows * width, 8);
    for (size_t k = 0; k < p.cols * width; k++)
        test_encode(xtype, (double)(1 + test_random_below(random, 5)), p.x + k * dcsr_type_size(xtype));
    multiply_literally(&p, semiring);
    multiply_all_ways(&p, semiring);
    free(p.x);
    free(p.y);
    free(p.expected);
    oracle_destroy(&p.model);
    dcsr_matrix_destroy(p.matrix);
}

/* Every semiring on every type, at a width of several tiles and single columns. */
Test(spmm, every_semiring)
{
    dcsr_context *context = test_context(2);
    test_random random = {1};
    for (dcsr_type type = DCSR_BOOL; type < DCSR_TYPE_COUNT; type++)
        for (int name = 0; name < (int)DCSR_SEMIRING_NAMES; name++) {
            const dcsr_semiring *semiring = dcsr_semiring_of((dcsr_semiring_name)name, type);
            if (!semiring) continue;
            check_random(context, &random, type, semiring, 23, false);
            check_random(context, &random, DCSR_PATTERN, semiring, 5, false);
        }
    test_close(context);
}

/* Every width of tile, and casts of the matrix; a row of half of all entries, which merge divides. */
Test(spmm, widths_and_types)
{
    dcsr_context *context = test_context(3);
    test_random random = {2};
    const uint64_t widths[] = {0, 1, 2, 3, 4, 8, 15, 16, 31, 64, 65, 128, MOST_COLUMNS};
    for (size_t k = 0; k < sizeof widths / sizeof *widths; k++) {
        check_random(context, &random, DCSR_FP64, plus_times(), widths[k], true);
        check_random(context, &random, DCSR_INT8, dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_FP32), widths[k],
                     true);
        check_random(context, &random, DCSR_PATTERN, dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_INT32), widths[k],
                     true);
        check_random(context, &random, DCSR_FP64, dcsr_semiring_of(DCSR_LOR_LAND, DCSR_BOOL), widths[k],
                     true);
        check_random(context, &random, DCSR_UINT16, dcsr_semiring_of(DCSR_MAX_MIN, DCSR_INT16), widths[k],
                     true);
    }
    test_close(context);
}

/* ---- What is refused, and what fails ---- */

static bool below_hundred(void *z, const void *x, const void *y, void *user)
{
    (void)user;
    *(double *)z = *(const double *)x + *(const double *)y;
    return *(double *)z < 100;
}

Test(spmm, refused)
{
    dcsr_context *context = test_context(2);
    dcsr_matrix *matrix = small(context, DCSR_FP64);
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_vector *mask;
    TEST_OK(dcsr_vector_create(&mask, context, DCSR_BOOL, 3));
    double x[6] = {0}, y[8] = {7};
    const dcsr_status bad = DCSR_ERROR_INVALID_ARGUMENT;
    TEST_STATUS(bad, dcsr_spmm(y, NULL, NULL, plus_times(), NULL, x, 2, NULL));
    TEST_REFUSED(bad, "semiring is NULL", dcsr_spmm(y, NULL, NULL, NULL, view, x, 2, NULL));
    TEST_REFUSED(bad, "Y is NULL; give it 4 x 2",
                 dcsr_spmm(NULL, NULL, NULL, plus_times(), view, x, 2, NULL));
    TEST_REFUSED(bad, "X is NULL; give it 3 x 2",
                 dcsr_spmm(y, NULL, NULL, plus_times(), view, NULL, 2, NULL));
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "the mask has 3 elements, Y 4 rows",
                 dcsr_spmm(y, mask, NULL, plus_times(), view, x, 2, NULL));
    TEST_STATUS(DCSR_ERROR_TOO_LARGE, dcsr_spmm(y, NULL, NULL, plus_times(), view, x, UINT64_MAX / 8, NULL));
    const dcsr_desc unknown = {.mapping = (dcsr_spmm_mapping)3};
    TEST_REFUSED(bad, "desc.mapping is 3", dcsr_spmm(y, NULL, NULL, plus_times(), view, x, 2, &unknown));
    cr_assert_eq(y[0], 7);
    TEST_OK(dcsr_spmm(NULL, NULL, NULL, plus_times(), view, NULL, 0, NULL));
    dcsr_vector_destroy(mask);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* A user's multiplication and accumulator; Y is as it was where they say no. */
Test(spmm, callback)
{
    dcsr_context *context = test_context(2);
    dcsr_matrix *matrix = small(context, DCSR_FP64);
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_binary_op *op;
    dcsr_semiring *semiring;
    TEST_OK(
        dcsr_binary_op_create(&op, "below_hundred", DCSR_FP64, DCSR_FP64, DCSR_FP64, below_hundred, NULL));
    TEST_OK(dcsr_semiring_create(&semiring, dcsr_monoid_of(DCSR_BINARY_MAX, DCSR_FP64), op));
    double x[] = {1, 2, 3, 4, 5, 6}, y[8] = {0};
    TEST_OK(dcsr_spmm(y, NULL, NULL, semiring, view, x, 2, NULL));
    cr_assert(SAME(y, 10, 11, -INFINITY, -INFINITY, 2, 3, 2, 3));
    TEST_OK(dcsr_spmm(y, NULL, op, semiring, view, x, 2, NULL));
    cr_assert(SAME(y, 20, 22, -INFINITY, -INFINITY, 4, 6, 4, 6));
    x[0] = 200;
    TEST_REFUSED(DCSR_ERROR_CALLBACK, "spmm: below_hundred",
                 dcsr_spmm(y, NULL, NULL, semiring, view, x, 2, NULL));
    TEST_REFUSED(DCSR_ERROR_CALLBACK, "spmm: below_hundred",
                 dcsr_spmm(y, NULL, op, plus_times(), view, x, 2, NULL));
    cr_assert(SAME(y, 20, 22, -INFINITY, -INFINITY, 4, 6, 4, 6));
    dcsr_semiring_destroy(semiring);
    dcsr_binary_op_destroy(op);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* A hub with most of the entries is shared where that is left open; and every allocation fails in turn. */
Test(spmm, hub_and_out_of_memory)
{
    enum { SIDE = 3000, WIDTH = 40 };
    dcsr_context *context = test_context(2);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, SIDE, SIDE, DCSR_POLICY_LAST);
    uint64_t *rows = test_allocate(2 * SIDE, 8), *cols = test_allocate(2 * SIDE, 8);
    double *ones = test_allocate(SIDE * WIDTH, 8), *y = test_allocate(SIDE * WIDTH, 8);
    for (uint64_t k = 0; k < 2 * SIDE; k++) rows[k] = k < SIDE ? 5 : k - SIDE, cols[k] = k % SIDE;
    for (size_t k = 0; k < SIDE * WIDTH; k++) ones[k] = 1;
    TEST_OK(dcsr_matrix_insert(matrix, 2 * SIDE, rows, cols, ones, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    const dcsr_binary_op *minus = dcsr_binary_op_of(DCSR_BINARY_MINUS, DCSR_FP64);
    for (int accum = 0; accum < 2; accum++) {
        for (size_t k = 0; k < SIDE * WIDTH; k++) y[k] = 10;
        dcsr_report report = {0};
        const dcsr_desc desc = {.report = &report};
        long allowed = 0;
        for (dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY; status != DCSR_OK; allowed++) {
            dcsr_i_fail_allocations_after(allowed);
            status = dcsr_spmm(y, NULL, accum ? minus : NULL, plus_times(), view, ones, WIDTH, &desc);
            dcsr_i_fail_allocations_after(-1);
            cr_assert(status == DCSR_OK || (status == DCSR_ERROR_OUT_OF_MEMORY && y[5 * WIDTH] == 10));
        }
        cr_assert(report.mapping == DCSR_SPMM_MERGE && allowed > 2);
        for (size_t k = 0; k < SIDE * WIDTH; k++) {
            double sum = k / WIDTH == 5 ? SIDE : 1;
            cr_assert_eq(y[k], accum ? 10 - sum : sum, "row %d", (int)(k / WIDTH));
        }
    }
    free(rows);
    free(cols);
    free(ones);
    free(y);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

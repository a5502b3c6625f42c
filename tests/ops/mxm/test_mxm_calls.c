/* test_mxm_calls.c: sparse matrix times sparse matrix by hand, what it refuses, and where it fails; and R A P
 * against two products. */
#include "dcsr/base/alloc.h"
#include <dcsr/generate.h>
#include <dcsr/mxm.h>
#include <dcsr/transpose.h>
#include "tests/support/support.h"

static const dcsr_semiring *plus_times(void)
{
    return dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_FP64);
}

Test(mxm, by_hand)
{
    dcsr_context *context = test_context(2);
    /*  A  1 . 2      B  . 4      A B   6  4
     *     . . .         5 .            .  .
     *     . 3 .         3 .            15 .   */
    dcsr_matrix *a = test_matrix(context, DCSR_FP64, 3, 3, DCSR_POLICY_LAST);
    dcsr_matrix *b = test_matrix(context, DCSR_FP64, 3, 2, DCSR_POLICY_LAST);
    dcsr_matrix *c = test_matrix(context, DCSR_FP64, 3, 2, DCSR_POLICY_LAST);
    TEST_INSERT(a, {0, 2, 2}, {0, 0, 1}, {2, 1, 3});
    TEST_INSERT(b, {0, 1, 4}, {1, 0, 5}, {2, 0, 3});
    TEST_INSERT(c, {1, 1, 9});
    for (dcsr_layout layout = DCSR_LAYOUT_SEGMENTS; layout <= DCSR_LAYOUT_CSR; layout++) {
        dcsr_view *A = test_view(a, layout, 0), *B = test_view(b, layout, 0);
        TEST_OK(dcsr_mxm(c, NULL, NULL, plus_times(), A, B, NULL));
        TEST_SHOWS(c, {0, 0, 6}, {0, 1, 4}, {2, 0, 15});
        TEST_OK(dcsr_mxm(c, NULL, dcsr_binary_op_of(DCSR_BINARY_MINUS, DCSR_FP64), plus_times(), A, B, NULL));
        TEST_SHOWS(c, {0, 0, 0}, {0, 1, 0}, {2, 0, 0});
        TEST_OK(dcsr_mxm(c, NULL, NULL, dcsr_semiring_of(DCSR_MIN_PLUS, DCSR_FP64), A, B, NULL));
        TEST_SHOWS(c, {0, 0, 5}, {0, 1, 5}, {2, 0, 8});
        dcsr_report report;
        TEST_OK(dcsr_mxm(c, NULL, NULL, plus_times(), A, B,
                         &(dcsr_desc){.transpose_a = true, .report = &report}));
        TEST_SHOWS(c, {0, 1, 4}, {1, 0, 9}, {2, 1, 8});
        cr_assert(report.device == (test_on_device(context) ? DCSR_DEVICE_CUDA : DCSR_DEVICE_CPU) &&
                  report.direction == DCSR_DIRECTION_AUTO);
        dcsr_view_destroy(A);
        dcsr_view_destroy(B);
    }
    dcsr_matrix_destroy(a);
    dcsr_matrix_destroy(b);
    dcsr_matrix_destroy(c);
    test_close(context);
}

/* What stands in C, in A and in the mask at once. */
Test(mxm, aliasing)
{
    dcsr_context *context = test_context(2);
    dcsr_matrix *a = test_matrix(context, DCSR_INT32, 3, 3, DCSR_POLICY_LAST);
    TEST_INSERT(a, {0, 1, 2}, {1, 2, 3}, {2, 0, 5}, {2, 2, 1});
    dcsr_view *view = test_view(a, DCSR_LAYOUT_SEGMENTS, 0);
    const dcsr_semiring *semiring = dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_INT32);
    const dcsr_binary_op *plus = dcsr_binary_op_of(DCSR_BINARY_PLUS, DCSR_INT32);
    TEST_OK(dcsr_mxm(a, view, plus, semiring, view, view, NULL));
    TEST_SHOWS(a, {0, 1, 2}, {1, 2, 6}, {2, 0, 10}, {2, 2, 2});
    TEST_VIEW_SHOWS(view, {0, 1, 2}, {1, 2, 3}, {2, 0, 5}, {2, 2, 1});
    TEST_OK(dcsr_mxm(a, NULL, NULL, semiring, view, view, NULL));
    TEST_SHOWS(a, {0, 2, 6}, {1, 0, 15}, {1, 2, 3}, {2, 0, 5}, {2, 1, 10}, {2, 2, 1});
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(a);
    test_close(context);
}

/* Rows whose columns are too far apart to mark all between them; and a matrix of the largest width. */
Test(mxm, far_apart)
{
    dcsr_context *context = test_context(2);
    uint64_t far = DCSR_MAX_COLS - 1;
    dcsr_matrix *a = test_matrix(context, DCSR_FP64, 4, 300, DCSR_POLICY_LAST);
    dcsr_matrix *b = test_matrix(context, DCSR_FP64, 300, DCSR_MAX_COLS, DCSR_POLICY_LAST);
    dcsr_matrix *c = test_matrix(context, DCSR_FP64, 4, DCSR_MAX_COLS, DCSR_POLICY_LAST);
    TEST_INSERT(a, {0, 0, 2}, {0, 1, 3}, {0, 7, 5}, {3, 7, 1});
    TEST_INSERT(b, {0, 0, 1}, {0, far, 2}, {1, 5, 4}, {1, far, 8}, {7, 5, 1}, {7, 1000000, 10});
    dcsr_view *A = test_view(a, DCSR_LAYOUT_SEGMENTS, 0), *B = test_view(b, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_mxm(c, NULL, NULL, plus_times(), A, B, NULL));
    TEST_SHOWS(c, {0, 0, 2}, {0, 5, 17}, {0, 1000000, 50}, {0, far, 28}, {3, 5, 1}, {3, 1000000, 10});
    dcsr_view *mask = test_view(c, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_INSERT(a, {3, 1, -1});
    dcsr_view_destroy(A);
    A = test_view(a, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_mxm(c, mask, NULL, plus_times(), A, B, NULL));
    TEST_SHOWS(c, {0, 0, 2}, {0, 5, 17}, {0, 1000000, 50}, {0, far, 28}, {3, 5, -3}, {3, 1000000, 10});
    dcsr_view_destroy(A);
    dcsr_view_destroy(B);
    dcsr_view_destroy(mask);
    dcsr_matrix_destroy(a);
    dcsr_matrix_destroy(b);
    dcsr_matrix_destroy(c);
    test_close(context);
}

/* ---- What is refused, and what fails ---- */

static bool until_six(void *z, const void *x, const void *y, void *user)
{
    (void)user;
    *(double *)z = *(const double *)x * *(const double *)y;
    return *(double *)z < 6;
}

Test(mxm, refused)
{
    dcsr_context *context = test_context(2), *elsewhere = test_context(1);
    dcsr_matrix *a = test_matrix(context, DCSR_FP64, 3, 2, DCSR_POLICY_LAST);
    dcsr_matrix *c = test_matrix(context, DCSR_FP64, 3, 3, DCSR_POLICY_LAST);
    dcsr_matrix *d = test_matrix(elsewhere, DCSR_FP64, 2, 3, DCSR_POLICY_LAST);
    TEST_INSERT(c, {1, 1, 9});
    dcsr_view *A = test_view(a, DCSR_LAYOUT_SEGMENTS, 0), *D = test_view(d, DCSR_LAYOUT_SEGMENTS, 0);
    const dcsr_desc transposed = {.transpose_b = true};
    const dcsr_status bad = DCSR_ERROR_INVALID_ARGUMENT;
    TEST_REFUSED(bad, "C is NULL", dcsr_mxm(NULL, NULL, NULL, plus_times(), A, A, &transposed));
    TEST_REFUSED(bad, "A is NULL", dcsr_mxm(c, NULL, NULL, plus_times(), NULL, A, &transposed));
    TEST_REFUSED(bad, "B is NULL", dcsr_mxm(c, NULL, NULL, plus_times(), A, NULL, &transposed));
    TEST_REFUSED(bad, "semiring is NULL", dcsr_mxm(c, NULL, NULL, NULL, A, A, &transposed));
    TEST_REFUSED(bad, "context", dcsr_mxm(c, NULL, NULL, plus_times(), A, D, NULL));
    TEST_REFUSED(bad, "context", dcsr_mxm(c, D, NULL, plus_times(), A, A, &transposed));
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "A is 3 x 2, but B is 3 x 2",
                 dcsr_mxm(c, NULL, NULL, plus_times(), A, A, NULL));
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "2 x 2",
                 dcsr_mxm(c, NULL, NULL, plus_times(), A, A, &(dcsr_desc){.transpose_a = true}));
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "mask",
                 dcsr_mxm(c, A, NULL, plus_times(), A, A, &transposed));
    TEST_SHOWS(c, {1, 1, 9});
    dcsr_view_destroy(A);
    dcsr_view_destroy(D);
    dcsr_matrix_destroy(a);
    dcsr_matrix_destroy(c);
    dcsr_matrix_destroy(d);
    test_close(elsewhere);
    test_close(context);
}

/* A user's multiplication, on its own and where it says no: C is then as it was. */
Test(mxm, callback)
{
    dcsr_context *context = test_context(2);
    dcsr_matrix *a = test_matrix(context, DCSR_FP64, 2, 2, DCSR_POLICY_LAST),
                *c = test_matrix(context, DCSR_FP64, 2, 2, DCSR_POLICY_LAST);
    dcsr_binary_op *op;
    dcsr_semiring *semiring;
    TEST_OK(dcsr_binary_op_create(&op, "until_six", DCSR_FP64, DCSR_FP64, DCSR_FP64, until_six, NULL));
    TEST_OK(dcsr_semiring_create(&semiring, dcsr_monoid_of(DCSR_BINARY_MAX, DCSR_FP64), op));
    TEST_INSERT(a, {0, 0, 2}, {0, 1, 1}, {1, 0, 2}, {1, 1, -1});
    dcsr_view *A = test_view(a, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_mxm(c, NULL, NULL, semiring, A, A, NULL));
    TEST_SHOWS(c, {0, 0, 4}, {0, 1, 2}, {1, 0, 4}, {1, 1, 2});
    TEST_OK(dcsr_mxm(c, A, NULL, semiring, A, A, &(dcsr_desc){.transpose_b = true}));
    TEST_SHOWS(c, {0, 0, 4}, {0, 1, 4}, {1, 0, 4}, {1, 1, 4});
    TEST_INSERT(a, {1, 1, 6});
    dcsr_view_destroy(A);
    A = test_view(a, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_REFUSED(DCSR_ERROR_CALLBACK, "mxm: until_six", dcsr_mxm(c, NULL, NULL, semiring, A, A, NULL));
    TEST_REFUSED(DCSR_ERROR_CALLBACK, "mxm: until_six", dcsr_mxm(c, A, NULL, semiring, A, A, NULL));
    TEST_SHOWS(c, {0, 0, 4}, {0, 1, 4}, {1, 0, 4}, {1, 1, 4});
    dcsr_view_destroy(A);
    dcsr_semiring_destroy(semiring);
    dcsr_binary_op_destroy(op);
    dcsr_matrix_destroy(a);
    dcsr_matrix_destroy(c);
    test_close(context);
}

/* Every allocation is made to fail in turn, with and without a mask, marking and sorting. */
Test(mxm, out_of_memory)
{
    dcsr_context *context = test_context(1);
    for (int mode = 0; mode < 4; mode++) {
        uint64_t cols = mode < 2 ? 4 : DCSR_MAX_COLS;
        dcsr_matrix *a = test_matrix(context, DCSR_INT8, 4, 4, DCSR_POLICY_LAST);
        dcsr_matrix *b = test_matrix(context, DCSR_INT8, 4, cols, DCSR_POLICY_LAST);
        dcsr_matrix *c = test_matrix(context, DCSR_FP64, 4, cols, DCSR_POLICY_LAST);
        TEST_INSERT(a, {0, 0, 2}, {0, 3, 1});
        TEST_INSERT(b, {0, 0, 3}, {3, 0, 4}, {3, cols - 1, 5});
        TEST_INSERT(c, {0, 0, 1}, {2, 2, 2});
        long allowed = 0;
        for (dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY; status != DCSR_OK; allowed++) {
            dcsr_view *A = test_view(a, DCSR_LAYOUT_SEGMENTS, 0), *B = test_view(b, DCSR_LAYOUT_SEGMENTS, 0);
            dcsr_view *M = test_view(c, DCSR_LAYOUT_SEGMENTS, 0);
            dcsr_i_fail_allocations_after(allowed);
            status = dcsr_mxm(c, mode & 1 ? M : NULL, NULL, plus_times(), A, B, NULL);
            dcsr_i_fail_allocations_after(-1);
            if (status != DCSR_OK) {
                cr_assert_eq(status, DCSR_ERROR_OUT_OF_MEMORY);
                TEST_SHOWS(c, {0, 0, 1}, {2, 2, 2});
            }
            dcsr_view_destroy(A);
            dcsr_view_destroy(B);
            dcsr_view_destroy(M);
        }
        cr_assert_gt(allowed, 3);
        if (mode & 1)
            TEST_SHOWS(c, {0, 0, 10});
        else
            TEST_SHOWS(c, {0, 0, 10}, {0, cols - 1, 5});
        dcsr_matrix_destroy(a);
        dcsr_matrix_destroy(b);
        dcsr_matrix_destroy(c);
    }
    test_close(context);
}

/* ---- Three matrices ---- */

/* A grid with random values; P with up to three entries in a row, some of them empty. */
static dcsr_matrix *make_grid(dcsr_context *context, test_random *random, const char *text, uint64_t *rows)
{
    dcsr_coo coo;
    TEST_OK(dcsr_coo_generate(&coo, context, text));
    dcsr_matrix *a = test_matrix(context, DCSR_FP64, coo.rows, coo.cols, DCSR_POLICY_LAST);
    double *values = test_allocate(coo.nnz, sizeof *values);
    for (uint64_t k = 0; k < coo.nnz; k++) values[k] = (double)test_random_below(random, 1000) / 7 - 70;
    TEST_OK(dcsr_matrix_insert(a, coo.nnz, coo.row_indices, coo.col_indices, values, NULL));
    TEST_OK(dcsr_matrix_wait(a));
    *rows = coo.rows;
    free(values);
    dcsr_coo_free(&coo);
    return a;
}

static dcsr_matrix *make_P(dcsr_context *context, test_random *random, uint64_t rows, uint64_t coarse)
{
    dcsr_matrix *p = test_matrix(context, DCSR_FP64, rows, coarse, DCSR_POLICY_LAST);
    for (uint64_t r = 0; r < rows; r++)
        for (uint64_t n = test_random_below(random, 4); n; n--) {
            uint64_t c = (r * coarse / rows + test_random_below(random, 3)) % coarse;
            double value = (double)test_random_below(random, 1000) / 3 - 150;
            TEST_OK(dcsr_matrix_insert(p, 1, &r, &c, &value, NULL));
        }
    TEST_OK(dcsr_matrix_wait(p));
    return p;
}

static bool are_equal(dcsr_matrix *x, dcsr_matrix *y)
{
    dcsr_csr X, Y;
    dcsr_view *vx = test_view(x, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED),
              *vy = test_view(y, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
    TEST_OK(dcsr_view_get_csr_on_host(vx, &X));
    TEST_OK(dcsr_view_get_csr_on_host(vy, &Y));
    size_t size = dcsr_type_size(X.type);
    bool equal = X.nnz == Y.nnz && !memcmp(X.offsets, Y.offsets, (X.rows + 1) * sizeof *X.offsets) &&
                 !memcmp(X.col_indices, Y.col_indices, X.nnz * sizeof *X.col_indices) &&
                 (!size || !memcmp(X.values, Y.values, X.nnz * size));
    dcsr_view_destroy(vx);
    dcsr_view_destroy(vy);
    return equal;
}

Test(rap, two_products)
{
    static const char *const grids[] = {"poisson2d5:16", "poisson3d27:6", "er:300,900"};
    static const dcsr_type types[] = {DCSR_FP64, DCSR_INT64, DCSR_PATTERN};
    for (size_t k = 0; k < 9; k++) {
        dcsr_type type = types[k / 3];
        dcsr_context *context;
        TEST_OK(dcsr_context_create(
            &context, &(dcsr_context_options){.device = DCSR_DEVICE_CPU, .threads = 1 + (int)k % 2}));
        test_random random = {k};
        uint64_t rows, coarse;
        dcsr_matrix *a = make_grid(context, &random, grids[k % 3], &rows);
        coarse = rows / 7;
        dcsr_matrix *p = make_P(context, &random, rows, coarse),
                    *r = test_matrix(context, DCSR_FP64, coarse, rows, DCSR_POLICY_LAST),
                    *ap = test_matrix(context, type, rows, coarse, DCSR_POLICY_LAST),
                    *two = test_matrix(context, type, coarse, coarse, DCSR_POLICY_LAST),
                    *one = test_matrix(context, type, coarse, coarse, DCSR_POLICY_LAST);
        dcsr_view *A = test_view(a, DCSR_LAYOUT_SEGMENTS, 0), *P = test_view(p, DCSR_LAYOUT_SEGMENTS, 0);
        TEST_OK(dcsr_matrix_transpose(r, NULL, NULL, P, NULL));
        dcsr_view *R = test_view(r, DCSR_LAYOUT_SEGMENTS, 0);
        const dcsr_semiring *semiring =
            dcsr_semiring_of(DCSR_PLUS_TIMES, type == DCSR_PATTERN ? DCSR_FP64 : type);
        TEST_OK(dcsr_mxm(ap, NULL, NULL, semiring, A, P, NULL));
        dcsr_view *AP = test_view(ap, DCSR_LAYOUT_SEGMENTS, 0);
        TEST_OK(dcsr_mxm(two, NULL, NULL, semiring, R, AP, NULL));
        dcsr_report report = {0};
        TEST_OK(dcsr_rap(one, R, A, P, &(dcsr_desc){.report = &report}));
        cr_assert(are_equal(one, two) && report.entries);
        TEST_OK(dcsr_rap(one, R, A, P, &(dcsr_desc){.same_pattern = true}));
        cr_assert(are_equal(one, two));
        TEST_REFUSED(DCSR_ERROR_OUT_OF_MEMORY, "memory_limit",
                     dcsr_rap(one, R, A, P, &(dcsr_desc){.memory_limit = 16}));
        cr_assert(are_equal(one, two));
        dcsr_view *const views[] = {A, P, R, AP};
        dcsr_matrix *const matrices[] = {a, p, r, ap, one, two};
        for (int i = 0; i < 4; i++) dcsr_view_destroy(views[i]);
        for (int i = 0; i < 6; i++) dcsr_matrix_destroy(matrices[i]);
        test_close(context);
    }
}

/* Aggregates of 1, 2, 3, 4 and again 1 points: rows of C are alike, but rows of A P that they are made of are not
 * kept. */
Test(rap, aggregates)
{
    enum { ROWS = 600 };
    dcsr_context *context;
    TEST_OK(dcsr_context_create(&context, &(dcsr_context_options){.device = DCSR_DEVICE_CPU, .threads = 1}));
    uint64_t coarse = 0, aggregate[ROWS];
    for (uint64_t i = 0, left = 1, size = 1; i < ROWS; i++)
        if (aggregate[i] = coarse, !--left) left = size = size % 4 + 1, coarse++;
    coarse++;
    dcsr_matrix *a = test_matrix(context, DCSR_FP64, ROWS, ROWS, DCSR_POLICY_LAST),
                *p = test_matrix(context, DCSR_FP64, ROWS, coarse, DCSR_POLICY_LAST),
                *r = test_matrix(context, DCSR_FP64, coarse, ROWS, DCSR_POLICY_LAST),
                *ap = test_matrix(context, DCSR_FP64, ROWS, coarse, DCSR_POLICY_LAST),
                *two = test_matrix(context, DCSR_FP64, coarse, coarse, DCSR_POLICY_LAST),
                *one = test_matrix(context, DCSR_FP64, coarse, coarse, DCSR_POLICY_LAST);
    for (uint64_t i = 0; i < ROWS; i++) {
        TEST_INSERT(a, {i, i, 2});
        if (i % 11 != 5) TEST_INSERT(p, {i, aggregate[i], 1});
    }
    dcsr_view *A = test_view(a, DCSR_LAYOUT_SEGMENTS, 0), *P = test_view(p, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_matrix_transpose(r, NULL, NULL, P, NULL));
    dcsr_view *R = test_view(r, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_mxm(ap, NULL, NULL, plus_times(), A, P, NULL));
    dcsr_view *AP = test_view(ap, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_mxm(two, NULL, NULL, plus_times(), R, AP, NULL));
    TEST_OK(dcsr_rap(one, R, A, P, NULL));
    cr_assert(are_equal(one, two));
    dcsr_view *const views[] = {A, P, R, AP};
    dcsr_matrix *const matrices[] = {a, p, r, ap, one, two};
    for (int i = 0; i < 4; i++) dcsr_view_destroy(views[i]);
    for (int i = 0; i < 6; i++) dcsr_matrix_destroy(matrices[i]);
    test_close(context);
}

/* On the device that there is. */
Test(rap, by_hand)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *a = test_matrix(context, DCSR_FP64, 3, 3, DCSR_POLICY_LAST),
                *p = test_matrix(context, DCSR_FP64, 3, 2, DCSR_POLICY_LAST),
                *r = test_matrix(context, DCSR_FP64, 2, 3, DCSR_POLICY_LAST),
                *c = test_matrix(context, DCSR_FP64, 2, 2, DCSR_POLICY_LAST);
    TEST_INSERT(a, {0, 0, 2}, {0, 1, -1}, {1, 0, -1}, {1, 1, 2}, {1, 2, -1}, {2, 1, -1}, {2, 2, 2});
    TEST_INSERT(p, {0, 0, 1}, {1, 0, 1}, {2, 1, 1});
    TEST_INSERT(r, {0, 0, 1}, {0, 1, 1}, {1, 2, 1});
    dcsr_view *A = test_view(a, DCSR_LAYOUT_SEGMENTS, 0), *P = test_view(p, DCSR_LAYOUT_SEGMENTS, 0),
              *R = test_view(r, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_rap(c, R, A, P, NULL));
    TEST_SHOWS(c, {0, 0, 2}, {0, 1, -1}, {1, 0, -1}, {1, 1, 2});
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "C is NULL", dcsr_rap(NULL, R, A, P, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "P is NULL", dcsr_rap(c, R, A, NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "transposed views",
                 dcsr_rap(c, R, A, P, &(dcsr_desc){.transpose_a = true}));
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "R is 3 x 2, A 3 x 3, P 3 x 2", dcsr_rap(c, P, A, P, NULL));
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "C is 3 x 3", dcsr_rap(a, R, A, P, NULL));
    TEST_SHOWS(c, {0, 0, 2}, {0, 1, -1}, {1, 0, -1}, {1, 1, 2});
    dcsr_view_destroy(A);
    dcsr_view_destroy(P);
    dcsr_view_destroy(R);
    dcsr_matrix_destroy(a);
    dcsr_matrix_destroy(p);
    dcsr_matrix_destroy(r);
    dcsr_matrix_destroy(c);
    test_close(context);
}

/* Every allocation is made to fail in turn, of R A P and of dot products: C is then as it was. */
Test(rap, out_of_memory)
{
    dcsr_context *context = test_context(1);
    for (int dots = 0; dots < 2; dots++) {
        dcsr_matrix *a = test_matrix(context, DCSR_FP64, 3, 3, DCSR_POLICY_LAST),
                    *c = test_matrix(context, DCSR_FP64, 3, 3, DCSR_POLICY_LAST);
        TEST_INSERT(a, {0, 0, 2}, {0, 1, -1}, {1, 0, -1}, {1, 1, 2}, {1, 2, -1}, {2, 1, -1}, {2, 2, 2});
        TEST_INSERT(c, {2, 2, 2});
        long allowed = 0;
        for (dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY; status != DCSR_OK; allowed++) {
            dcsr_view *A = test_view(a, DCSR_LAYOUT_SEGMENTS, 0), *M = test_view(c, DCSR_LAYOUT_SEGMENTS, 0);
            const dcsr_desc transposed = {.transpose_b = true, .replace = true};
            dcsr_i_fail_allocations_after(allowed);
            status =
                dots ? dcsr_mxm(c, M, NULL, plus_times(), A, A, &transposed) : dcsr_rap(c, A, A, A, NULL);
            dcsr_i_fail_allocations_after(-1);
            if (status != DCSR_OK) {
                cr_assert_eq(status, DCSR_ERROR_OUT_OF_MEMORY);
                TEST_SHOWS(c, {2, 2, 2});
            }
            dcsr_view_destroy(A);
            dcsr_view_destroy(M);
        }
        cr_assert_gt(allowed, 3);
        if (dots)
            TEST_SHOWS(c, {2, 2, 5});
        else
            TEST_SHOWS(c, {0, 0, 14}, {0, 1, -14}, {0, 2, 6}, {1, 0, -14}, {1, 1, 20}, {1, 2, -14}, {2, 0, 6},
                       {2, 1, -14}, {2, 2, 14});
        dcsr_matrix_destroy(a);
        dcsr_matrix_destroy(c);
    }
    test_close(context);
}

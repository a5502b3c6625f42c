/* test_mxm_calls.c: sparse matrix times sparse matrix by hand, what it refuses, and where it fails. */
#include "dcsr/base/alloc.h"
#include <dcsr/mxm.h>
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

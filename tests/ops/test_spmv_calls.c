/* test_spmv_calls.c: sparse matrix times dense vector by hand: what it is counted as, and what it refuses. */
#include "dcsr/base/alloc.h"
#include <dcsr/spmv.h>
#include "tests/support/support.h"

Test(spmv, by_hand)
{
    dcsr_context *context = test_context(2);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 4, 3, DCSR_POLICY_KEEP);
    TEST_INSERT(matrix, {0, 0, 2}, {0, 2, 3}, {2, 1, -1});
    TEST_INSERT(matrix, {0, 0, 5}, {3, 2, 0.5});
    double x[] = {1, 10, 100}, y[] = {9, 9, 9, 9};
    for (dcsr_layout layout = DCSR_LAYOUT_SEGMENTS; layout <= DCSR_LAYOUT_CSR; layout++) {
        dcsr_view *view = test_view(matrix, layout, 0);
        TEST_OK(dcsr_spmv(y, view, x));
        cr_assert(y[0] == 307 && y[1] == 0 && y[2] == -10 && y[3] == 50);
        dcsr_view_destroy(view);
    }
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* Reading many extra segments makes the matrix defragment itself; reading a CSR view does not. */
Test(spmv, is_counted_by_the_cost_model)
{
    dcsr_context *context = test_context(1);
    for (int counted = 0; counted < 2; counted++) {
        dcsr_matrix *matrix = NULL;
        dcsr_matrix_options options = {.policy = DCSR_POLICY_KEEP};
        TEST_OK(dcsr_matrix_create(&matrix, context, DCSR_FP64, 64, 64, &options));
        uint64_t index[64];
        double values[64], y[64];
        for (uint64_t k = 0; k < 64; k++) index[k] = k, values[k] = 1;
        for (int b = 0; b < 2; b++) {
            TEST_OK(dcsr_matrix_insert(matrix, 64, index, index, values, NULL));
            TEST_OK(dcsr_matrix_wait(matrix));
        }
        cr_assert_eq(test_info(matrix).segments, 128);
        cr_assert_eq(test_info(matrix).defragmentations, 0);
        dcsr_view *view = test_view(matrix, counted ? DCSR_LAYOUT_SEGMENTS : DCSR_LAYOUT_CSR, 0);
        for (int k = 0; k < 200; k++) TEST_OK(dcsr_spmv(y, view, values));
        TEST_OK(dcsr_matrix_wait(matrix));
        cr_assert((test_info(matrix).defragmentations > 0) == counted);
        for (int k = 0; k < 64; k++) cr_assert(y[k] == 2);
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(matrix);
    }
    test_close(context);
}

Test(spmv, refuses_what_it_cannot_do)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT8, 2, 3, DCSR_POLICY_SUM);
    TEST_INSERT(matrix, {1, 2, 5});
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    int8_t x[] = {1, 1, 3}, y[] = {7, 7};
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "y is NULL", dcsr_spmv(NULL, view, x));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "x is NULL", dcsr_spmv(y, view, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "view", dcsr_spmv(y, NULL, x));
    cr_assert(y[0] == 7 && y[1] == 7, "a refused call has written");
    bool on_device = test_on_device(context);
    TEST_REFUSED(TEST_CUDA ? DCSR_ERROR_INVALID_ARGUMENT : DCSR_ERROR_NOT_BUILT,
                 on_device   ? "y is not in the memory"
                 : TEST_CUDA ? "of a cpu context"
                             : "not built with CUDA",
                 dcsr_spmv_on_stream(y, view, x, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "y is NULL", dcsr_spmv_on_stream(NULL, view, x, NULL));
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    long n = 0;
    for (; status != DCSR_OK; n++) {
        cr_assert(y[0] == 7 && y[1] == 7, "a failed call has written");
        dcsr_i_fail_allocations_after(n);
        status = dcsr_spmv(y, view, x);
        dcsr_i_fail_allocations_after(-1);
        cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY);
    }
    cr_assert((n > 1) == on_device, "it takes memory on a device, and only there");
    cr_assert(y[0] == 0 && y[1] == 15);
    dcsr_matrix *empty = test_matrix(context, DCSR_FP64, 0, 0, DCSR_POLICY_SUM);
    dcsr_view *nothing = test_view(empty, DCSR_LAYOUT_CSR, 0);
    TEST_OK(dcsr_spmv(NULL, nothing, NULL));
    dcsr_view_destroy(nothing);
    dcsr_matrix_destroy(empty);
    dcsr_matrix_destroy(matrix);
    dcsr_context_destroy(context);
    TEST_REFUSED(DCSR_ERROR_CONTEXT_DESTROYED, "context", dcsr_spmv(y, view, x));
    dcsr_view_destroy(view);
}

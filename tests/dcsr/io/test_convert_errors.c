/* test_convert_errors.c: arrays of other formats that are wrong, and conversions that run out of memory. */
#include <dcsr/convert.h>
#include "tests/support/support.h"
#include "tests/support/support_files.h"

Test(convert_errors, bad_compressed_arrays)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix;
    uint64_t offsets[] = {0, 1, 3};
    uint32_t columns[] = {0, 1, 2};
    double values[] = {1, 2, 3};
    const dcsr_csr good = {2, 3, 3, DCSR_FP64, offsets, columns, values};
    dcsr_csr csr = good;
    TEST_OK(dcsr_matrix_from_csr(&matrix, context, &csr, NULL));
    dcsr_matrix_destroy(matrix);
    offsets[0] = 1;
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "offsets[0] is 1",
                 dcsr_matrix_from_csr(&matrix, context, &csr, NULL));
    offsets[0] = 0, offsets[1] = 4;
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "offsets[1] is 4 and offsets[2] is 3",
                 dcsr_matrix_from_csr(&matrix, context, &csr, NULL));
    offsets[1] = 1, csr.nnz = 2;
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "nnz, 2", dcsr_matrix_from_csr(&matrix, context, &csr, NULL));
    csr = good, csr.cols = 2;
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "entry 2, in row 1, has column 2",
                 dcsr_matrix_from_csr(&matrix, context, &csr, NULL));
    cr_assert_null(matrix);
    csr = good, csr.offsets = NULL;
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_matrix_from_csr(&matrix, context, &csr, NULL));
    csr = good, csr.col_indices = NULL;
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "col_indices is NULL",
                 dcsr_matrix_from_csr(&matrix, context, &csr, NULL));
    csr = good, csr.values = NULL;
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "values is NULL",
                 dcsr_matrix_from_csr(&matrix, context, &csr, NULL));
    csr = good, csr.type = DCSR_TYPE_COUNT;
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_matrix_from_csr(&matrix, context, &csr, NULL));
    csr = good, csr.rows = UINT64_MAX;
    TEST_STATUS(DCSR_ERROR_TOO_LARGE, dcsr_matrix_from_csr(&matrix, context, &csr, NULL));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_matrix_from_csr(&matrix, context, NULL, NULL));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_matrix_from_csr(NULL, context, &good, NULL));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_matrix_from_csr(&matrix, NULL, &good, NULL));

    uint32_t rows[] = {0, 5, 1};
    dcsr_csc csc = {3, 2, 3, DCSR_PATTERN, offsets, rows, NULL};
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "entry 1, in column 1, has row 5",
                 dcsr_matrix_from_csc(&matrix, context, &csc, NULL));
    csc.row_indices = NULL;
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_matrix_from_csc(&matrix, context, &csc, NULL));
    cr_assert_null(matrix);
    cr_assert_eq(test_scratch_bytes(context), 0);
    dcsr_context_destroy(context);
}

Test(convert_errors, bad_ell_and_hyb)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix;
    uint32_t columns[] = {0, 1, DCSR_ELL_UNUSED, 3};
    uint64_t row[] = {0}, col[] = {9};
    dcsr_hyb hyb = {{2, 3, 2, DCSR_PATTERN, columns, NULL, context},
                    {2, 3, 0, DCSR_PATTERN, row, col, NULL, context}};
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "slot 1 of row 1 has column 3",
                 dcsr_matrix_from_ell(&matrix, context, &hyb.ell, NULL));
    columns[3] = 2;
    TEST_OK(dcsr_matrix_from_hyb(&matrix, context, &hyb, NULL));
    dcsr_matrix_destroy(matrix);
    hyb.coo.nnz = 1;
    TEST_STATUS(DCSR_ERROR_INDEX_OUT_OF_RANGE, dcsr_matrix_from_hyb(&matrix, context, &hyb, NULL));
    hyb.coo.col_indices = NULL;
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_matrix_from_hyb(&matrix, context, &hyb, NULL));
    hyb.coo.type = DCSR_FP64;
    TEST_STATUS(DCSR_ERROR_TYPE_MISMATCH, dcsr_matrix_from_hyb(&matrix, context, &hyb, NULL));
    hyb.coo.type = DCSR_PATTERN, hyb.coo.rows = 3;
    TEST_STATUS(DCSR_ERROR_DIMENSION_MISMATCH, dcsr_matrix_from_hyb(&matrix, context, &hyb, NULL));
    hyb.ell.col_indices = NULL;
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_matrix_from_ell(&matrix, context, &hyb.ell, NULL));
    hyb.ell.width = UINT64_MAX;
    TEST_STATUS(DCSR_ERROR_TOO_LARGE, dcsr_matrix_from_ell(&matrix, context, &hyb.ell, NULL));
    cr_assert_null(matrix);
    cr_assert_eq(test_scratch_bytes(context), 0);
    dcsr_context_destroy(context);
}

Test(convert_errors, one_long_row_makes_ell_too_large)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 1000, 1000, DCSR_POLICY_LAST);
    for (uint64_t j = 0; j < 1000; j++)
        TEST_OK(dcsr_matrix_insert(matrix, 1, (uint64_t[]){7}, &j, (double[]){1}, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_ell ell;
    dcsr_hyb hyb;
    TEST_REFUSED(DCSR_ERROR_TOO_LARGE, "HYB", dcsr_view_to_ell(&ell, view, 11999999));
    cr_assert(!ell.col_indices && !ell.rows);
    TEST_OK(dcsr_view_to_ell(&ell, view, 12000000));
    dcsr_ell_free(&ell);
    TEST_OK(dcsr_view_to_hyb(&hyb, view, 0));
    cr_assert(hyb.ell.width == 1 && hyb.coo.nnz == 999);
    dcsr_hyb_free(&hyb);
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_view_to_ell(NULL, view, 0));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_view_to_ell(&ell, NULL, 0));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_view_to_coo(NULL, view));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_view_to_hyb(NULL, view, 0));
    dcsr_ell_free(NULL);
    dcsr_hyb_free(NULL);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    dcsr_context_destroy(context);
}

/* -- Allocation failures --------------------------------------------------------------------------------- */

static const test_entry small[] = {{0, 1, 1}, {0, 3, 2}, {2, 0, 3}, {2, 2, 4}, {2, 3, 5}, {3, 0, 6}};
enum { SMALL = 6 };
static const dcsr_csc small_csc = {.rows = 4,
                                   .cols = 4,
                                   .nnz = SMALL,
                                   .type = DCSR_FP64,
                                   .offsets = (const uint64_t[]){0, 2, 3, 4, 6},
                                   .row_indices = (const uint32_t[]){2, 3, 0, 2, 0, 2},
                                   .values = (const double[]){3, 6, 1, 4, 2, 5}};

typedef union anything {
    dcsr_coo coo;
    dcsr_csc csc;
    dcsr_ell ell;
    dcsr_hyb hyb;
} anything;

static dcsr_status convert_out(int format, anything *to, dcsr_view *view)
{
    switch (format) {
    case 0:
        return dcsr_view_to_coo(&to->coo, view);
    case 1: /* there is no such call */
        to->csc = small_csc;
        return DCSR_OK;
    case 2:
        return dcsr_view_to_ell(&to->ell, view, 0);
    default:
        return dcsr_view_to_hyb(&to->hyb, view, 1);
    }
}

static dcsr_status convert_in(int format, dcsr_matrix **matrix, dcsr_context *context, const anything *from)
{
    switch (format) {
    case 0:
        return dcsr_matrix_from_coo(matrix, context, &from->coo, NULL);
    case 1:
        return dcsr_matrix_from_csc(matrix, context, &from->csc, NULL);
    case 2:
        return dcsr_matrix_from_ell(matrix, context, &from->ell, NULL);
    default:
        return dcsr_matrix_from_hyb(matrix, context, &from->hyb, NULL);
    }
}

static void free_format(int format, anything *what)
{
    switch (format) {
    case 0:
        dcsr_coo_free(&what->coo);
        break;
    case 1:
        break;
    case 2:
        dcsr_ell_free(&what->ell);
        break;
    default:
        dcsr_hyb_free(&what->hyb);
        break;
    }
}

Test(convert_errors, survives_allocation_failures)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 4, 4, DCSR_POLICY_LAST), *copy;
    test_insert(matrix, SMALL, small);
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED);
    static const anything nothing;
    for (int format = 0; format < 4; format++) {
        anything to;
        uint64_t before = test_scratch_bytes(context);
        dcsr_status status;
        for (long n = 0;; n++) {
            dcsr_i_fail_allocations_after(n);
            status = convert_out(format, &to, view);
            dcsr_i_fail_allocations_after(-1);
            if (status == DCSR_OK) break;
            cr_assert_eq(status, DCSR_ERROR_OUT_OF_MEMORY);
            cr_assert(format == 0 ? test_is_zero(&to.coo) : !memcmp(&to, &nothing, sizeof(dcsr_ell)));
            cr_assert_eq(test_scratch_bytes(context), before, "format %d, failure %ld leaks", format, n);
        }
        dcsr_context_info info;
        TEST_OK(dcsr_context_get_info(context, &info));
        for (long n = 0;; n++) {
            dcsr_context_info after;
            dcsr_i_fail_allocations_after(n);
            status = convert_in(format, &copy, context, &to);
            dcsr_i_fail_allocations_after(-1);
            if (status == DCSR_OK) break;
            cr_assert_eq(status, DCSR_ERROR_OUT_OF_MEMORY);
            cr_assert_null(copy);
            TEST_OK(dcsr_context_get_info(context, &after));
            cr_assert(after.scratch_bytes == info.scratch_bytes && after.matrix_bytes == info.matrix_bytes &&
                          after.matrices == info.matrices,
                      "format %d, failure %ld leaks", format, n);
        }
        char why[TEST_WHY];
        cr_assert(test_matrix_shows(copy, SMALL, small, why), "%s", why);
        dcsr_matrix_destroy(copy);
        free_format(format, &to);
    }
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    cr_assert_eq(test_scratch_bytes(context), 0);
    dcsr_context_destroy(context);
}

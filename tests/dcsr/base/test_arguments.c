/* test_arguments.c: calls that make no sense are refused with a reason and change nothing; objects that
 * outlive their context say so. */
#include "tests/support/support.h"

#include "dcsr/base/alloc.h"
#include <dcsr/convert.h>
#include "dcsr/base/error.h"
#include <dcsr/generate.h>
#include <stdlib.h>
#include <string.h>

static dcsr_context *context;
static dcsr_matrix *matrix; /* 10 x 20, fp64 */
static uint64_t rows[] = {1, 2, 3, 4}, cols[] = {1, 2, 3, 4};
static double values[] = {1, 2, 3, 4};
static bool stored[4];

static void open_matrix(void)
{
    context = test_context(2);
    matrix = test_matrix(context, DCSR_FP64, 10, 20, DCSR_POLICY_LAST);
    TEST_INSERT(matrix, {5, 6, 7});
}

static void close_matrix(void)
{
    TEST_OK(dcsr_matrix_wait(matrix));
    TEST_SHOWS(matrix, {5, 6, 7});
    cr_assert(test_info(matrix).batches == 1);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

TestSuite(arguments, .init = open_matrix, .fini = close_matrix);

Test(arguments, outside_the_matrix_are_refused_with_the_first_offender)
{
    const dcsr_status outside = DCSR_ERROR_INDEX_OUT_OF_RANGE;
    rows[2] = 987654, rows[3] = 10;
    TEST_REFUSED(outside, "987654", dcsr_matrix_insert(matrix, 4, rows, cols, values, NULL));
    TEST_REFUSED(outside, "987654", dcsr_matrix_remove(matrix, 4, rows, cols, NULL));
    rows[2] = 3, rows[3] = 4;
    cols[1] = 20, cols[2] = UINT64_MAX;
    TEST_REFUSED(outside, "20", dcsr_matrix_insert(matrix, 4, rows, cols, values, NULL));
    cols[1] = 2;
    TEST_REFUSED(outside, "18446744073709551615", dcsr_matrix_remove(matrix, 4, rows, cols, NULL));
    TEST_STATUS(outside, dcsr_matrix_get_many(matrix, 4, rows, cols, values, stored));
    TEST_STATUS(outside, dcsr_matrix_get(matrix, 10, 0, values, stored));
    TEST_STATUS(outside, dcsr_matrix_get(matrix, 0, 20, values, stored));
}

Test(arguments, outside_the_matrix_are_found_in_large_batches)
{
    enum { LARGE = 200000 };
    uint64_t *many_rows = test_allocate(LARGE, sizeof *many_rows),
             *many_cols = test_allocate(LARGE, sizeof *many_cols);
    double *many_values = test_allocate(LARGE, sizeof *many_values);
    const size_t offenders[] = {0, 1, 77777, LARGE / 2, LARGE - 1};
    for (int i = 0; i < 5; i++) {
        many_rows[offenders[i]] = 123456;
        if (i < 4) many_cols[LARGE - 1] = 7654321;
        TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "123456",
                     dcsr_matrix_insert(matrix, LARGE, many_rows, many_cols, many_values, NULL));
        many_rows[offenders[i]] = 0;
    }
    free(many_rows);
    free(many_cols);
    free(many_values);
}

Test(arguments, values_go_with_the_type)
{
    dcsr_matrix *pattern = test_matrix(context, DCSR_PATTERN, 10, 10, DCSR_POLICY_ANY);
    TEST_STATUS(DCSR_ERROR_TYPE_MISMATCH, dcsr_matrix_insert(matrix, 4, rows, cols, NULL, NULL));
    TEST_STATUS(DCSR_ERROR_TYPE_MISMATCH, dcsr_matrix_insert(pattern, 4, rows, cols, values, NULL));
    TEST_SHOWS_NOTHING(pattern);
    dcsr_matrix_destroy(pattern);
}

Test(arguments, sizes_beyond_the_format_are_refused)
{
    dcsr_matrix *other = matrix;
    dcsr_coo coo;
    const dcsr_status large = DCSR_ERROR_TOO_LARGE;
    TEST_STATUS(large, dcsr_matrix_create(&other, context, DCSR_FP64, DCSR_MAX_ROWS + 1, 1, NULL));
    cr_assert(!other);
    TEST_STATUS(large, dcsr_matrix_create(&other, context, DCSR_FP64, 1, DCSR_MAX_COLS + 1, NULL));
    TEST_STATUS(large, dcsr_matrix_create(&other, context, DCSR_FP64, UINT64_MAX, UINT64_MAX, NULL));
    TEST_STATUS(large, dcsr_matrix_resize(matrix, DCSR_MAX_ROWS + 1, 20, NULL));
    TEST_STATUS(large, dcsr_matrix_resize(matrix, 10, UINT64_MAX, NULL));
    TEST_STATUS(large, dcsr_coo_allocate(&coo, context, DCSR_FP64, 10, 10, UINT64_MAX / 4));
    TEST_STATUS(large, dcsr_coo_allocate(&coo, context, DCSR_FP64, DCSR_MAX_ROWS + 1, 10, 1));
    TEST_STATUS(large, dcsr_coo_allocate(&coo, context, DCSR_FP64, 10, DCSR_MAX_COLS + 1, 1));
    dcsr_status status = dcsr_matrix_insert(matrix, SIZE_MAX, rows, cols, values, NULL);
    cr_assert(status == DCSR_ERROR_TOO_LARGE || status == DCSR_ERROR_OUT_OF_MEMORY);
    status = dcsr_matrix_remove(matrix, SIZE_MAX / 4 + 2, rows, cols, NULL);
    cr_assert(status == DCSR_ERROR_TOO_LARGE || status == DCSR_ERROR_OUT_OF_MEMORY);
}

Test(arguments, unknown_constants_are_refused)
{
    dcsr_matrix *other = NULL;
    dcsr_view *view = NULL;
    dcsr_context *second = NULL;
    const dcsr_status invalid = DCSR_ERROR_INVALID_ARGUMENT;
    dcsr_matrix_options options[] = {{.policy = DCSR_POLICY_COUNT},
                                     {.policy = (dcsr_policy)-1},
                                     {.segments = DCSR_MIN_SEGMENTS - 1},
                                     {.segments = DCSR_MAX_SEGMENTS + 1},
                                     {.segments = -4},
                                     {.defragmentation = (dcsr_defragmentation)7}};
    for (int i = 0; i < 6; i++)
        TEST_STATUS(invalid, dcsr_matrix_create(&other, context, DCSR_FP64, 1, 1, &options[i]));
    TEST_STATUS(invalid, dcsr_matrix_create(&other, context, DCSR_TYPE_COUNT, 1, 1, NULL));
    TEST_STATUS(invalid, dcsr_matrix_create(&other, context, (dcsr_type)-1, 1, 1, NULL));
    TEST_STATUS(invalid, dcsr_matrix_defragment(matrix, (dcsr_defragment_scope)2, NULL));
    TEST_STATUS(invalid, dcsr_view_create(&view, matrix, (dcsr_layout)(DCSR_LAYOUT_NUT + 1), 0));
    TEST_STATUS(invalid, dcsr_view_create(&view, matrix, DCSR_LAYOUT_CSR, 64));
    TEST_STATUS(invalid, dcsr_context_create(&second, &(dcsr_context_options){.device = (dcsr_device)9}));
    cr_assert(!other && !view && !second);
}

/* The sentence names the call that was made, also where it has another one do the work. */
Test(arguments, failures_name_the_call_that_was_made)
{
    const dcsr_status invalid = DCSR_ERROR_INVALID_ARGUMENT, outside = DCSR_ERROR_INDEX_OUT_OF_RANGE,
                      large = DCSR_ERROR_TOO_LARGE;
    const dcsr_matrix_options wrong = {.segments = 99};
    uint64_t offsets[] = {0, 1}, row[] = {7}, col[] = {0};
    uint32_t columns[] = {0};
    double one[] = {1};
    const dcsr_csr csr = {1, 1, 1, DCSR_FP64, offsets, columns, one};
    const dcsr_csc csc = {1, 1, 1, DCSR_FP64, offsets, columns, one};
    const dcsr_ell ell = {1, 1, 1, DCSR_FP64, columns, one, context};
    const dcsr_coo coo = {1, 1, 1, DCSR_FP64, row, col, one, context};
    const dcsr_hyb hyb = {ell, coo};
    dcsr_coo none;
    dcsr_matrix *other = NULL;
    double value;
    TEST_REFUSED(outside, "dcsr_matrix_get: ", dcsr_matrix_get(matrix, 1000, 0, &value, stored));
    TEST_REFUSED(invalid, "dcsr_matrix_get: ", dcsr_matrix_get(matrix, 0, 0, &value, NULL));
    TEST_REFUSED(outside, "dcsr_matrix_get_many: ",
                 dcsr_matrix_get_many(matrix, 1, row, &(uint64_t){99}, &value, stored));
    TEST_REFUSED(invalid,
                 "dcsr_matrix_create: ", dcsr_matrix_create(&other, context, DCSR_FP64, 1, 1, &wrong));
    TEST_REFUSED(invalid, "dcsr_matrix_from_csr: ", dcsr_matrix_from_csr(&other, context, &csr, &wrong));
    TEST_REFUSED(invalid, "dcsr_matrix_from_csc: ", dcsr_matrix_from_csc(&other, context, &csc, &wrong));
    TEST_REFUSED(invalid, "dcsr_matrix_from_ell: ", dcsr_matrix_from_ell(&other, context, &ell, &wrong));
    TEST_REFUSED(invalid, "dcsr_matrix_from_hyb: ", dcsr_matrix_from_hyb(&other, context, &hyb, &wrong));
    TEST_REFUSED(outside, "dcsr_matrix_from_hyb: ", dcsr_matrix_from_hyb(&other, context, &hyb, NULL));
    TEST_REFUSED(invalid, "dcsr_matrix_from_coo: ", dcsr_matrix_from_coo(&other, context, &coo, &wrong));
    TEST_REFUSED(outside, "dcsr_matrix_from_coo: ", dcsr_matrix_from_coo(&other, context, &coo, NULL));
    TEST_REFUSED(large, "dcsr_coo_generate_er: ", dcsr_coo_generate_er(&none, context, UINT64_MAX, 1, 1, 1));
    TEST_REFUSED(large, "dcsr_coo_generate_path: ", dcsr_coo_generate_path(&none, context, UINT64_MAX));
    TEST_REFUSED(invalid, "dcsr_coo_generate_poisson: ", dcsr_coo_generate_poisson(NULL, context, 2, 5, 3));
    TEST_REFUSED(invalid, "dcsr_coo_allocate: ", dcsr_coo_allocate(NULL, context, DCSR_FP64, 1, 1, 1));
    cr_assert_null(other);
}

Test(arguments, null_pointers_are_refused)
{
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_CSR, 0);
    dcsr_matrix *other = NULL;
    uint64_t number = 0;
    uint32_t column = 0;
    dcsr_coo coo;
    dcsr_csr csr;
    dcsr_piece pieces[DCSR_MAX_SEGMENTS];
    int count;
    dcsr_view_info view_info;
    dcsr_matrix_info matrix_info;
    dcsr_context_info context_info;
    const dcsr_status refused[] = {
        dcsr_context_create(NULL, NULL),
        dcsr_context_get_info(NULL, &context_info),
        dcsr_context_get_info(context, NULL),
        dcsr_matrix_create(NULL, context, DCSR_FP64, 1, 1, NULL),
        dcsr_matrix_create(&other, NULL, DCSR_FP64, 1, 1, NULL),
        dcsr_matrix_insert(NULL, 4, rows, cols, values, NULL),
        dcsr_matrix_insert(matrix, 4, NULL, cols, values, NULL),
        dcsr_matrix_insert(matrix, 4, rows, NULL, values, NULL),
        dcsr_matrix_remove(NULL, 4, rows, cols, NULL),
        dcsr_matrix_remove(matrix, 4, NULL, cols, NULL),
        dcsr_matrix_remove(matrix, 4, rows, NULL, NULL),
        dcsr_matrix_resize(NULL, 4, 4, NULL),
        dcsr_matrix_defragment(NULL, DCSR_DEFRAGMENT_WHOLE, NULL),
        dcsr_matrix_wait(NULL),
        dcsr_matrix_get(NULL, 0, 0, values, stored),
        dcsr_matrix_get(matrix, 0, 0, values, NULL),
        dcsr_matrix_get_many(NULL, 4, rows, cols, values, stored),
        dcsr_matrix_get_many(matrix, 4, NULL, cols, values, stored),
        dcsr_matrix_get_many(matrix, 4, rows, NULL, values, stored),
        dcsr_matrix_get_many(matrix, 4, rows, cols, values, NULL),
        dcsr_matrix_get_info(NULL, &matrix_info),
        dcsr_matrix_get_info(matrix, NULL),
        dcsr_matrix_get_nnz(NULL, &number),
        dcsr_matrix_get_nnz(matrix, NULL),
        dcsr_view_create(NULL, matrix, DCSR_LAYOUT_CSR, 0),
        dcsr_view_create(&(dcsr_view *){NULL}, NULL, DCSR_LAYOUT_CSR, 0),
        dcsr_view_get_info(NULL, &view_info),
        dcsr_view_get_info(view, NULL),
        dcsr_view_get_csr(NULL, &csr),
        dcsr_view_get_csr(view, NULL),
        dcsr_view_get_csr_on_host(NULL, &csr),
        dcsr_view_get_csr_on_host(view, NULL),
        dcsr_view_get_row(NULL, 0, 1, &column, values, &number),
        dcsr_view_get_pieces(NULL, 0, pieces, &count),
        dcsr_view_get_pieces(view, 0, NULL, &count),
        dcsr_view_get_pieces(view, 0, pieces, NULL),
        dcsr_view_get_many(NULL, 4, rows, cols, values, stored),
        dcsr_view_get_many(view, 4, rows, cols, values, NULL),
        dcsr_coo_allocate(NULL, context, DCSR_FP64, 1, 1, 1),
        dcsr_coo_allocate(&coo, NULL, DCSR_FP64, 1, 1, 1),
        dcsr_matrix_from_coo(NULL, context, &coo, NULL),
        dcsr_matrix_from_coo(&other, context, NULL, NULL),
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        cr_assert(refused[i] == DCSR_ERROR_INVALID_ARGUMENT, "call %zu: %s", i, dcsr_status_name(refused[i]));
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(NULL);
    dcsr_context_destroy(NULL);
}

Test(lifetime, objects_that_outlive_their_context_say_so)
{
    open_matrix();
    const dcsr_status gone = DCSR_ERROR_CONTEXT_DESTROYED;
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_CSR, 0), *other = NULL;
    dcsr_matrix_info matrix_info;
    dcsr_view_info view_info;
    dcsr_csr csr;
    uint64_t number;
    dcsr_context_destroy(context);
    TEST_STATUS(gone, dcsr_matrix_insert(matrix, 4, rows, cols, values, NULL));
    TEST_STATUS(gone, dcsr_matrix_remove(matrix, 4, rows, cols, NULL));
    TEST_STATUS(gone, dcsr_matrix_resize(matrix, 4, 4, NULL));
    TEST_STATUS(gone, dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
    TEST_STATUS(gone, dcsr_matrix_wait(matrix));
    TEST_STATUS(gone, dcsr_matrix_get(matrix, 0, 0, values, stored));
    TEST_STATUS(gone, dcsr_matrix_get_many(matrix, 4, rows, cols, values, stored));
    TEST_STATUS(gone, dcsr_matrix_get_info(matrix, &matrix_info));
    TEST_STATUS(gone, dcsr_matrix_get_nnz(matrix, &number));
    TEST_STATUS(gone, dcsr_view_create(&other, matrix, DCSR_LAYOUT_CSR, 0));
    TEST_STATUS(gone, dcsr_view_get_info(view, &view_info));
    TEST_STATUS(gone, dcsr_view_get_csr(view, &csr));
    TEST_STATUS(gone, dcsr_view_get_csr_on_host(view, &csr));
    TEST_STATUS(gone, dcsr_view_get_row(view, 0, 0, NULL, NULL, &number));
    TEST_STATUS(gone, dcsr_view_get_pieces(view, 0, (dcsr_piece[DCSR_MAX_SEGMENTS]){{0}}, &(int){0}));
    TEST_STATUS(gone, dcsr_view_get_many(view, 4, rows, cols, values, stored));
    dcsr_matrix_destroy(matrix);
    dcsr_view_destroy(view);
}

Test(lifetime, closing_a_context_applies_what_is_pending)
{
    context = test_context(1);
    matrix = test_matrix(context, DCSR_FP64, 10, 20, DCSR_POLICY_SUM);
    dcsr_ticket *ticket[50];
    bool done = false;
    for (int i = 0; i < 50; i++) TEST_OK(dcsr_matrix_insert(matrix, 4, rows, cols, values, &ticket[i]));
    dcsr_context_destroy(context);
    for (int i = 0; i < 50; i++) {
        TEST_OK(dcsr_ticket_poll(ticket[i], &done));
        cr_assert(done);
        TEST_OK(dcsr_ticket_wait(ticket[i]));
        dcsr_ticket_destroy(ticket[i]);
    }
    dcsr_matrix_destroy(matrix);
}

Test(lifetime, a_ticket_tells_of_a_failure_however_late_it_is_asked)
{
    open_matrix();
    dcsr_ticket *ticket = NULL;
    dcsr_status status = DCSR_OK;
    for (long n = 0; status == DCSR_OK || !ticket; n++) { /* until the worker fails, not the call */
        dcsr_ticket_destroy(ticket);
        dcsr_i_fail_allocations_after(n);
        status = dcsr_matrix_insert(matrix, 4, rows, cols, values, &ticket);
        if (status == DCSR_OK) status = dcsr_ticket_wait(ticket);
        dcsr_i_fail_allocations_after(-1);
        cr_assert(n < 1000);
    }
    cr_assert(status == DCSR_ERROR_OUT_OF_MEMORY);
    TEST_OK(dcsr_matrix_wait(matrix)); /* the ticket told of it */
    dcsr_matrix_destroy(matrix);
    dcsr_context_destroy(context);
    TEST_REFUSED(DCSR_ERROR_CANCELLED, "",
                 dcsr_i_fail(DCSR_ERROR_CANCELLED, "something else failed meanwhile"));
    TEST_STATUS(DCSR_ERROR_OUT_OF_MEMORY, dcsr_ticket_wait(ticket));
    cr_assert(!test_says("something else") && dcsr_thread_error()[0]);
    dcsr_ticket_destroy(ticket);
}

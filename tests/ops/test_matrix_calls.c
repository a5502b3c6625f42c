/* test_matrix_calls.c: operations on matrices by hand: what they refuse, and functions of the user's that
 * fail. */
#include <dcsr/apply.h>
#include <dcsr/assign.h>
#include <dcsr/ewise.h>
#include <dcsr/extract.h>
#include <dcsr/mxm.h>
#include <dcsr/matrix_add.h>
#include <dcsr/reduce.h>
#include <dcsr/select.h>
#include <dcsr/transpose.h>
#include "tests/support/support_dense.h"
#include "tests/support/support_small.h"

#include <stdlib.h>
#include <string.h>

static void assert_unchanged(fixture *f)
{
    TEST_SHOWS(f->C, {0, 0, 9}, {0, 1, 9}, {2, 2, 9});
}

Test(matrix_calls, refuse_what_they_cannot_do)
{
    fixture f = set_up(DCSR_FP64);
    dcsr_context *other = test_context(1);
    dcsr_matrix *B = test_matrix(f.context, DCSR_FP64, 4, 4, DCSR_POLICY_LAST),
                *foreign = test_matrix(other, DCSR_FP64, 3, 4, DCSR_POLICY_LAST);
    dcsr_view *b = test_view(B, DCSR_LAYOUT_SEGMENTS, 0), *x = test_view(foreign, DCSR_LAYOUT_SEGMENTS, 0);
    uint64_t outside[] = {0, 4}, twice[] = {1, 1}, two[] = {0, 1};
    double number = 1;
    const dcsr_status argument = DCSR_ERROR_INVALID_ARGUMENT, shape = DCSR_ERROR_DIMENSION_MISMATCH,
                      range = DCSR_ERROR_INDEX_OUT_OF_RANGE;

    TEST_REFUSED(argument, "C is NULL", dcsr_matrix_ewise_add(NULL, NULL, NULL, plus(), f.a, f.a, NULL));
    TEST_REFUSED(argument, "A is NULL", dcsr_matrix_ewise_add(f.C, NULL, NULL, plus(), NULL, f.a, NULL));
    TEST_REFUSED(argument, "B is NULL", dcsr_matrix_ewise_mult(f.C, NULL, NULL, plus(), f.a, NULL, NULL));
    TEST_REFUSED(argument, "operator is NULL", dcsr_matrix_ewise_add(f.C, NULL, NULL, NULL, f.a, f.a, NULL));
    TEST_REFUSED(argument, "another context", dcsr_matrix_ewise_add(f.C, NULL, NULL, plus(), f.a, x, NULL));
    TEST_REFUSED(argument, "mask is of another", dcsr_matrix_ewise_add(f.C, x, NULL, plus(), f.a, f.a, NULL));
    TEST_REFUSED(shape, "A is 3 x 4, but B is 4 x 4",
                 dcsr_matrix_ewise_add(f.C, NULL, NULL, plus(), f.a, b, NULL));
    TEST_REFUSED(shape, "C is 3 x 4, but the result is 4 x 4",
                 dcsr_matrix_ewise_add(f.C, NULL, NULL, plus(), b, b, NULL));
    TEST_REFUSED(shape, "the mask is 4 x 4", dcsr_matrix_ewise_add(f.C, b, NULL, plus(), f.a, f.a, NULL));

    uint64_t entries = 77;
    dcsr_vector *rows, *foreign_rows;
    TEST_OK(dcsr_vector_create(&rows, f.context, DCSR_INT8, 4));
    TEST_OK(dcsr_vector_create(&foreign_rows, other, DCSR_INT8, 3));
    TEST_REFUSED(argument, "rows is NULL", dcsr_view_count(f.a, NULL, &entries));
    TEST_REFUSED(argument, "A is NULL", dcsr_view_count(NULL, rows, &entries));
    TEST_REFUSED(argument, "entries is NULL", dcsr_view_count(b, rows, NULL));
    TEST_REFUSED(argument, "another context", dcsr_view_count(f.a, foreign_rows, &entries));
    TEST_REFUSED(shape, "rows has 4 elements, but A has 3 rows", dcsr_view_count(f.a, rows, &entries));
    cr_assert_eq(entries, 77);
    dcsr_vector_destroy(rows);
    dcsr_vector_destroy(foreign_rows);

    TEST_REFUSED(argument, "operator",
                 dcsr_matrix_apply(f.C, NULL, NULL, dcsr_unary_op_of(DCSR_UNARY_SQRT, DCSR_INT8), f.a, NULL));
    TEST_REFUSED(argument, "scalar is NULL",
                 dcsr_matrix_apply_first(f.C, NULL, NULL, plus(), NULL, f.a, NULL));
    TEST_REFUSED(argument, "scalar is NULL",
                 dcsr_matrix_apply_second(f.C, NULL, NULL, plus(), f.a, NULL, NULL));
    TEST_REFUSED(argument, "operator", dcsr_matrix_apply_index(f.C, NULL, NULL, NULL, f.a, &number, NULL));
    TEST_REFUSED(
        argument, "thunk is NULL",
        dcsr_matrix_select(f.C, NULL, NULL, dcsr_index_op_of(DCSR_INDEX_TRIL, DCSR_FP64), f.a, NULL, NULL));
    TEST_REFUSED(shape, "the result is 4 x 3", dcsr_matrix_transpose(f.C, NULL, NULL, f.a, NULL));
    TEST_REFUSED(shape, "the result is 4 x 3", dcsr_matrix_transpose(f.C, f.a, NULL, f.a, NULL));

    TEST_REFUSED(range, "row 4, number 1 of the list, of 3",
                 dcsr_matrix_extract(f.C, NULL, NULL, f.a, &(dcsr_index_list){outside, 2}, NULL, NULL));
    TEST_REFUSED(range, "column 4",
                 dcsr_matrix_extract(f.C, NULL, NULL, f.a, NULL, &(dcsr_index_list){outside, 2}, NULL));
    TEST_REFUSED(range, "row 4",
                 dcsr_matrix_assign(f.C, NULL, NULL, f.a, &(dcsr_index_list){outside, 2}, NULL, NULL));
    TEST_REFUSED(argument, "the row list has no array for its 2 indices",
                 dcsr_matrix_extract(f.C, NULL, NULL, f.a, &(dcsr_index_list){NULL, 2}, NULL, NULL));
    TEST_REFUSED(argument, "the column list has no array",
                 dcsr_matrix_assign(f.C, NULL, NULL, f.a, NULL, &(dcsr_index_list){NULL, 4}, NULL));
    TEST_REFUSED(argument, "a column stands more than once",
                 dcsr_matrix_assign(f.C, NULL, NULL, f.a, NULL, &(dcsr_index_list){twice, 2}, NULL));
    TEST_REFUSED(shape, "A is 3 x 4, but the region is 2 x 4",
                 dcsr_matrix_assign(f.C, NULL, NULL, f.a, &(dcsr_index_list){two, 2}, NULL, NULL));
    TEST_REFUSED(argument, "value is NULL",
                 dcsr_matrix_assign_scalar(f.C, NULL, NULL, NULL, DCSR_FP64, NULL, NULL, NULL));
    TEST_REFUSED(argument, "type is 99; use one of dcsr_type",
                 dcsr_matrix_assign_scalar(f.C, NULL, NULL, &number, (dcsr_type)99, NULL, NULL, NULL));
    TEST_REFUSED(argument, "a row stands more than once",
                 dcsr_matrix_assign_scalar(f.C, NULL, NULL, &number, DCSR_FP64, &(dcsr_index_list){twice, 2},
                                           NULL, NULL));
    TEST_REFUSED(shape, "the result is 9 x 16", dcsr_kronecker(f.C, NULL, NULL, plus(), f.a, f.a, NULL));
    TEST_REFUSED(argument, "operator", dcsr_kronecker(f.C, NULL, NULL, NULL, f.a, f.a, NULL));
    TEST_REFUSED(argument, "total is NULL", dcsr_matrix_reduce(NULL, NULL, sum(), f.a));
    TEST_REFUSED(argument, "monoid is NULL", dcsr_matrix_reduce(&number, NULL, NULL, f.a));
    TEST_REFUSED(argument, "A is NULL", dcsr_matrix_reduce(&number, NULL, sum(), NULL));
    TEST_REFUSED(shape, "B is 4 x 4, but C is 3 x 4", dcsr_matrix_add(f.C, b, NULL));
    TEST_REFUSED(argument, "another context", dcsr_matrix_add(f.C, x, NULL));
    cr_assert_eq(number, 1);
    TEST_OK(
        dcsr_matrix_assign_scalar(f.C, NULL, NULL, &number, DCSR_FP64, &(dcsr_index_list){0}, NULL, NULL));
    assert_unchanged(&f);
    dcsr_view_destroy(b);
    dcsr_view_destroy(x);
    dcsr_matrix_destroy(B);
    dcsr_matrix_destroy(foreign);
    test_close(other);
    tear_down(&f);
}

Test(matrix_calls, too_large_a_product)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *A = test_matrix(context, DCSR_PATTERN, 1 << 17, 1 << 17, DCSR_POLICY_ANY);
    dcsr_view *a = test_view(A, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_REFUSED(DCSR_ERROR_TOO_LARGE, "2^32",
                 dcsr_kronecker(A, NULL, NULL, dcsr_binary_op_of(DCSR_BINARY_PAIR, DCSR_BOOL), a, a, NULL));
    dcsr_view_destroy(a);
    dcsr_matrix_destroy(A);
    test_close(context);
}

/* ---- Functions of the user's ---- */

static bool fails_for_four(void *z, const void *x, const void *y, void *user)
{
    (void)user;
    *(double *)z = *(const double *)x + *(const double *)y;
    return *(const double *)x != 4 && *(const double *)y != 4;
}
static bool unary_fails(void *z, const void *x, void *user)
{
    return fails_for_four(z, x, x, user);
}
static bool index_fails(void *z, const void *x, uint64_t row, uint64_t col, const void *thunk, void *user)
{
    *(bool *)z = row < col;
    (void)thunk, (void)user;
    return *(const double *)x != 4;
}

Test(matrix_calls, functions_that_fail)
{
    fixture f = set_up(DCSR_FP64);
    dcsr_binary_op *binary;
    dcsr_unary_op *unary;
    dcsr_index_op *index;
    dcsr_monoid *monoid;
    double zero = 0, total = 7;
    const dcsr_status failed = DCSR_ERROR_CALLBACK;
    TEST_OK(
        dcsr_binary_op_create(&binary, "not four", DCSR_FP64, DCSR_FP64, DCSR_FP64, fails_for_four, NULL));
    TEST_OK(dcsr_unary_op_create(&unary, "not four", DCSR_FP64, DCSR_FP64, unary_fails, NULL));
    TEST_OK(dcsr_index_op_create(&index, "not four", DCSR_BOOL, DCSR_FP64, DCSR_FP64, index_fails, NULL));
    TEST_OK(dcsr_monoid_create(&monoid, binary, &zero, NULL));
    TEST_REFUSED(failed, "not four", dcsr_matrix_ewise_add(f.C, NULL, NULL, binary, f.a, f.a, NULL));
    TEST_REFUSED(failed, "not four", dcsr_matrix_ewise_mult(f.C, NULL, NULL, binary, f.a, f.a, NULL));
    TEST_REFUSED(failed, "matrix_apply: not four", dcsr_matrix_apply(f.C, NULL, NULL, unary, f.a, NULL));
    TEST_REFUSED(failed, "not four", dcsr_matrix_apply_second(f.C, NULL, NULL, binary, f.a, &zero, NULL));
    TEST_REFUSED(failed, "not four", dcsr_matrix_apply_index(f.C, NULL, NULL, index, f.a, &zero, NULL));
    TEST_REFUSED(failed, "not four", dcsr_matrix_select(f.C, NULL, NULL, index, f.a, &zero, NULL));
    TEST_REFUSED(failed, "not four", dcsr_matrix_reduce(&total, NULL, monoid, f.a));
    cr_assert_eq(total, 7);
    dcsr_vector *w;
    TEST_OK(dcsr_vector_create(&w, f.context, DCSR_FP64, 3));
    TEST_REFUSED(failed, "not four", dcsr_matrix_reduce_rows(w, NULL, NULL, monoid, f.a, NULL));
    uint64_t nvals;
    TEST_OK(dcsr_vector_get_nvals(w, &nvals));
    cr_assert_eq(nvals, 0);
    dcsr_vector_destroy(w);
    assert_unchanged(&f);
    /* As an accumulator it meets a 4 only where both have an entry. */
    TEST_INSERT(f.C, {2, 1, 4});
    TEST_REFUSED(failed, "not four",
                 dcsr_matrix_transpose(f.C, NULL, binary, f.a, &(dcsr_desc){.transpose_a = true}));
    TEST_SHOWS(f.C, {0, 0, 9}, {0, 1, 9}, {2, 1, 4}, {2, 2, 9});
    dcsr_monoid_destroy(monoid);
    dcsr_binary_op_destroy(binary);
    dcsr_unary_op_destroy(unary);
    dcsr_index_op_destroy(index);
    tear_down(&f);
}

/* By C's policy, in order with what else is inserted. */
Test(matrix_calls, add)
{
    dcsr_context *context = test_context(2);
    dcsr_matrix *B = test_matrix(context, DCSR_INT8, 2, 3, DCSR_POLICY_LAST),
                *C = test_matrix(context, DCSR_FP64, 2, 3, DCSR_POLICY_SUM),
                *P = test_matrix(context, DCSR_PATTERN, 2, 3, DCSR_POLICY_ANY);
    TEST_INSERT(B, {1, 2, 5}, {0, 1, 2}, {1, 0, -1});
    TEST_INSERT(C, {1, 2, 1});
    dcsr_view *b = test_view(B, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_ticket *ticket;
    TEST_OK(dcsr_matrix_add(C, b, &ticket));
    TEST_OK(dcsr_ticket_wait(ticket));
    dcsr_ticket_destroy(ticket);
    TEST_SHOWS(C, {0, 1, 2}, {1, 0, -1}, {1, 2, 6});
    TEST_OK(dcsr_matrix_add(P, b, NULL));
    TEST_OK(dcsr_matrix_wait(P));
    TEST_SHOWS(P, {0, 1, 1}, {1, 0, 1}, {1, 2, 1});
    dcsr_view *p = test_view(P, DCSR_LAYOUT_CSR, 0);
    TEST_OK(dcsr_matrix_add(C, p, NULL));
    TEST_OK(dcsr_matrix_wait(C));
    TEST_SHOWS(C, {0, 1, 3}, {1, 0, 0}, {1, 2, 7});
    dcsr_view_destroy(p);
    dcsr_view_destroy(b);
    dcsr_matrix_destroy(B);
    dcsr_matrix_destroy(C);
    dcsr_matrix_destroy(P);
    test_close(context);
}

Test(matrix_calls, report)
{
    fixture f = set_up(DCSR_FP64);
    dcsr_report report = {.entries = 77};
    TEST_OK(dcsr_matrix_ewise_add(f.C, NULL, NULL, plus(), f.a, f.a, &(dcsr_desc){.report = &report}));
    cr_assert_eq(report.entries, 10);
    cr_assert_eq(report.device, test_on_device(f.context) ? DCSR_DEVICE_CUDA : DCSR_DEVICE_CPU);
    tear_down(&f);
}

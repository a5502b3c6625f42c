/* test_matrix_calls.c: operations on matrices by hand: what they refuse, functions of the user's that fail,
 * and those whose result is a vector or a scalar. */
#include "dcsr/alloc.h"
#include "ops/apply.h"
#include "ops/assign.h"
#include "ops/ewise.h"
#include "ops/extract.h"
#include "ops/kronecker.h"
#include "ops/matrix_add.h"
#include "ops/reduce.h"
#include "ops/select.h"
#include "ops/transpose.h"
#include "tests/support_dense.h"

#include <stdlib.h>
#include <string.h>

typedef struct fixture {
    dcsr_context *context;
    dcsr_matrix *A, *C;
    dcsr_view *a;
} fixture;

/*      A =  1 . 2 .        C =  9 9 . .
 *           . . . .             . . . .
 *           3 4 . 5             . . 9 .        */
static fixture set_up(dcsr_type type)
{
    fixture f = {.context = test_context(2)};
    f.A = test_matrix(f.context, type, 3, 4, DCSR_POLICY_LAST);
    f.C = test_matrix(f.context, DCSR_FP64, 3, 4, DCSR_POLICY_LAST);
    TEST_INSERT(f.A, {2, 3, 5}, {0, 2, 2}, {0, 0, 1});
    TEST_INSERT(f.A, {2, 1, 4}, {2, 0, 3});
    TEST_INSERT(f.C, {0, 0, 9}, {0, 1, 9}, {2, 2, 9});
    f.a = test_view(f.A, DCSR_LAYOUT_SEGMENTS, 0);
    return f;
}

static void tear_down(fixture *f)
{
    dcsr_view_destroy(f->a);
    dcsr_matrix_destroy(f->A);
    dcsr_matrix_destroy(f->C);
    test_close(f->context);
}

static void assert_unchanged(fixture *f)
{
    TEST_SHOWS(f->C, {0, 0, 9}, {0, 1, 9}, {2, 2, 9});
}

static const dcsr_binary_op *plus(void)
{
    return dcsr_binary_op_of(DCSR_BINARY_PLUS, DCSR_FP64);
}
static const dcsr_monoid *sum(void)
{
    return dcsr_monoid_of(DCSR_BINARY_PLUS, DCSR_FP64);
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
    TEST_REFUSED(shape, "the transpose is 4 x 3", dcsr_matrix_transpose(f.C, NULL, NULL, f.a, NULL));
    TEST_REFUSED(shape, "the result is 4 x 3", dcsr_matrix_transpose(f.C, f.a, NULL, f.a, NULL));

    TEST_REFUSED(range, "row 4, number 1 of the list, of 3",
                 dcsr_matrix_extract(f.C, NULL, NULL, f.a, outside, 2, NULL, 0, NULL));
    TEST_REFUSED(range, "column 4", dcsr_matrix_extract(f.C, NULL, NULL, f.a, NULL, 0, outside, 2, NULL));
    TEST_REFUSED(range, "row 4", dcsr_matrix_assign(f.C, NULL, NULL, f.a, outside, 2, NULL, 0, NULL));
    TEST_REFUSED(argument, "a column stands more than once",
                 dcsr_matrix_assign(f.C, NULL, NULL, f.a, NULL, 0, twice, 2, NULL));
    TEST_REFUSED(shape, "A is 3 x 4, but the region is 2 x 4",
                 dcsr_matrix_assign(f.C, NULL, NULL, f.a, two, 2, NULL, 0, NULL));
    TEST_REFUSED(argument, "value is NULL",
                 dcsr_matrix_assign_scalar(f.C, NULL, NULL, NULL, DCSR_FP64, NULL, 0, NULL, 0, NULL));
    TEST_REFUSED(argument, "the type is none",
                 dcsr_matrix_assign_scalar(f.C, NULL, NULL, &number, (dcsr_type)99, NULL, 0, NULL, 0, NULL));
    TEST_REFUSED(argument, "a row stands more than once",
                 dcsr_matrix_assign_scalar(f.C, NULL, NULL, &number, DCSR_FP64, twice, 2, NULL, 0, NULL));
    TEST_REFUSED(shape, "the result is 9 x 16", dcsr_kronecker(f.C, NULL, NULL, plus(), f.a, f.a, NULL));
    TEST_REFUSED(argument, "operator", dcsr_kronecker(f.C, NULL, NULL, NULL, f.a, f.a, NULL));
    TEST_REFUSED(argument, "total is NULL", dcsr_matrix_reduce(NULL, NULL, sum(), f.a));
    TEST_REFUSED(argument, "monoid is NULL", dcsr_matrix_reduce(&number, NULL, NULL, f.a));
    TEST_REFUSED(argument, "A is NULL", dcsr_matrix_reduce(&number, NULL, sum(), NULL));
    TEST_REFUSED(shape, "B is 4 x 4, but C is 3 x 4", dcsr_matrix_add(f.C, b, NULL));
    TEST_REFUSED(argument, "another context", dcsr_matrix_add(f.C, x, NULL));
    cr_assert_eq(number, 1);
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
    TEST_OK(dcsr_vector_nvals(w, &nvals));
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

/* ---- Scalars and vectors ---- */

static void assert_vector(dcsr_vector *w, size_t n, const test_entry *elements)
{
    uint64_t nvals;
    TEST_OK(dcsr_vector_nvals(w, &nvals));
    cr_assert_eq(nvals, n);
    for (size_t i = 0; i < n; i++) {
        double value = 0;
        bool stored;
        TEST_OK(dcsr_vector_get(w, elements[i].col, &value, &stored));
        cr_assert(stored && value == elements[i].value, "element %d is %g, not %g", (int)elements[i].col,
                  value, elements[i].value);
    }
}
#define ASSERT_VECTOR(w, ...) assert_vector(w, TEST_ENTRIES(__VA_ARGS__))

Test(matrix_calls, reduce)
{
    for (int pattern = 0; pattern < 2; pattern++) {
        fixture f = set_up(pattern ? DCSR_PATTERN : DCSR_INT32);
        double total = 100;
        TEST_OK(dcsr_matrix_reduce(&total, NULL, sum(), f.a));
        cr_assert_eq(total, pattern ? 5 : 15);
        TEST_OK(dcsr_matrix_reduce(&total, plus(), sum(), f.a));
        cr_assert_eq(total, pattern ? 10 : 30);
        TEST_OK(dcsr_matrix_reduce(&total, NULL, dcsr_monoid_of(DCSR_BINARY_MAX, DCSR_FP64), f.a));
        cr_assert_eq(total, pattern ? 1 : 5);
        dcsr_vector *w, *v;
        TEST_OK(dcsr_vector_create(&w, f.context, DCSR_FP64, 3));
        TEST_OK(dcsr_vector_create(&v, f.context, DCSR_FP64, 4));
        TEST_OK(dcsr_matrix_reduce_rows(w, NULL, NULL, sum(), f.a, NULL));
        if (pattern)
            ASSERT_VECTOR(w, {0, 0, 2}, {0, 2, 3});
        else
            ASSERT_VECTOR(w, {0, 0, 3}, {0, 2, 12});
        TEST_OK(dcsr_matrix_reduce_rows(w, NULL, plus(), sum(), f.a, NULL));
        if (!pattern) ASSERT_VECTOR(w, {0, 0, 6}, {0, 2, 24});
        TEST_OK(dcsr_matrix_reduce_rows(v, NULL, NULL, sum(), f.a, &(dcsr_desc){.transpose_a = true}));
        if (pattern)
            ASSERT_VECTOR(v, {0, 0, 2}, {0, 1, 1}, {0, 2, 1}, {0, 3, 1});
        else
            ASSERT_VECTOR(v, {0, 0, 4}, {0, 1, 4}, {0, 2, 2}, {0, 3, 5});
        TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "w has 4 elements, but A has 3 rows",
                     dcsr_matrix_reduce_rows(v, NULL, NULL, sum(), f.a, NULL));
        dcsr_matrix *empty = test_matrix(f.context, DCSR_INT8, 5, 5, DCSR_POLICY_LAST);
        dcsr_view *e = test_view(empty, DCSR_LAYOUT_SEGMENTS, 0);
        TEST_OK(dcsr_matrix_reduce(&total, NULL, sum(), e));
        cr_assert_eq(total, 0);
        dcsr_view_destroy(e);
        dcsr_matrix_destroy(empty);
        dcsr_vector_destroy(w);
        dcsr_vector_destroy(v);
        tear_down(&f);
    }
}

/* Rows of all lengths, of every value type and none, by rows and by columns, with each way of adding up. */
Test(matrix_calls, reduce_random, .timeout = 300)
{
    dcsr_context *context = test_context(2);
    test_random random = {1};
    int rounds = TEST_SIZE(60, 20, 8);
    for (int round = 0; round < rounds; round++) {
        static const dcsr_type types[] = {DCSR_FP64, DCSR_INT32,   DCSR_INT16,
                                          DCSR_INT8, DCSR_PATTERN, DCSR_FP32};
        dcsr_type type = types[test_random_below(&random, 6)], of = types[test_random_below(&random, 2)];
        uint64_t rows = test_random_below(&random, 300) + 1, cols = test_random_below(&random, 300) + 1;
        dcsr_matrix *A = test_matrix(context, type, rows, cols, DCSR_POLICY_LAST);
        size_t n =
            (size_t)test_random_below(&random, test_random_below(&random, 2) ? rows * cols / 4 + 2 : 50);
        test_entry *entries = test_allocate(n + 1, sizeof *entries);
        for (size_t i = 0; i < n; i++)
            entries[i] = (test_entry){test_random_below(&random, rows), test_random_below(&random, cols),
                                      (double)test_random_below(&random, 3) - 1};
        test_insert(A, n / 2, entries);
        test_insert(A, n - n / 2, entries + n / 2);
        dcsr_view *a = test_view(A, round % 2 ? DCSR_LAYOUT_CSR : DCSR_LAYOUT_SEGMENTS, 0);
        dense d = dense_of_view(a);
        const dcsr_monoid *monoid = dcsr_monoid_of(DCSR_BINARY_PLUS, of);
        double all = 0;
        for (int t = 0; t < 2; t++) {
            dense line = dense_create(of, 1, t ? cols : rows);
            for (uint64_t i = 0; i < rows; i++)
                for (uint64_t j = 0; j < cols; j++) {
                    uint64_t to = t ? j : i;
                    if (!d.has[dense_at(&d, i, j)]) continue;
                    dense_set(&line, 0, to, line.value[to] + d.value[dense_at(&d, i, j)]);
                    all += t ? d.value[dense_at(&d, i, j)] : 0;
                }
            dcsr_vector *w;
            TEST_OK(dcsr_vector_create(&w, context, of, t ? cols : rows));
            for (int again = 0; again < 2; again++) {
                TEST_OK(dcsr_matrix_reduce_rows(w, NULL, NULL, monoid, a, &(dcsr_desc){.transpose_a = t}));
                dense found = dense_of_vector(w);
                dense_compare(&found, &line, t ? "columns" : "rows");
                dense_free(&found);
                /* The second time the view has its transpose. */
                dcsr_matrix *T = test_matrix(context, type, cols, rows, DCSR_POLICY_LAST);
                TEST_OK(dcsr_matrix_transpose(T, NULL, plus(), a, NULL));
                dcsr_matrix_destroy(T);
            }
            dcsr_vector_destroy(w);
            dense_free(&line);
        }
        char total[8];
        TEST_OK(dcsr_matrix_reduce(total, NULL, monoid, a));
        cr_assert_eq(test_decode(of, total), all);
        dense_free(&d);
        free(entries);
        dcsr_view_destroy(a);
        dcsr_matrix_destroy(A);
    }
    test_close(context);
}

Test(matrix_calls, rows_and_columns_as_vectors)
{
    fixture f = set_up(DCSR_INT32);
    dcsr_vector *row, *col;
    TEST_OK(dcsr_vector_create(&row, f.context, DCSR_FP64, 4));
    TEST_OK(dcsr_vector_create(&col, f.context, DCSR_FP64, 3));
    TEST_OK(dcsr_matrix_extract_row(row, NULL, NULL, f.a, 2, NULL));
    ASSERT_VECTOR(row, {0, 0, 3}, {0, 1, 4}, {0, 3, 5});
    TEST_OK(dcsr_matrix_extract_row(row, NULL, plus(), f.a, 0, NULL));
    ASSERT_VECTOR(row, {0, 0, 4}, {0, 1, 4}, {0, 2, 2}, {0, 3, 5});
    TEST_OK(dcsr_matrix_extract_column(col, NULL, NULL, f.a, 0, NULL));
    ASSERT_VECTOR(col, {0, 0, 1}, {0, 2, 3});
    TEST_OK(dcsr_matrix_extract_column(row, NULL, NULL, f.a, 2, &(dcsr_desc){.transpose_a = true}));
    ASSERT_VECTOR(row, {0, 0, 3}, {0, 1, 4}, {0, 3, 5});
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "row 3 of 3",
                 dcsr_matrix_extract_row(row, NULL, NULL, f.a, 3, NULL));
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "w has 3",
                 dcsr_matrix_extract_row(col, NULL, NULL, f.a, 0, NULL));

    /* Row 2 of C was (. . 9 .); row = (3 4 . 5). */
    TEST_OK(dcsr_matrix_assign_row(f.C, NULL, NULL, row, 2, NULL));
    TEST_SHOWS(f.C, {0, 0, 9}, {0, 1, 9}, {2, 0, 3}, {2, 1, 4}, {2, 3, 5});
    TEST_OK(dcsr_matrix_assign_row(f.C, NULL, plus(), row, 0, NULL));
    TEST_SHOWS(f.C, {0, 0, 12}, {0, 1, 13}, {0, 3, 5}, {2, 0, 3}, {2, 1, 4}, {2, 3, 5});
    /* Column 0 becomes (1 . 3), but only where col, as a mask complemented, is not: row 1 stays empty. */
    TEST_OK(dcsr_matrix_assign_column(f.C, col, NULL, col, 0, &(dcsr_desc){.mask_complement = true}));
    TEST_SHOWS(f.C, {0, 0, 12}, {0, 1, 13}, {0, 3, 5}, {2, 0, 3}, {2, 1, 4}, {2, 3, 5});
    TEST_OK(dcsr_matrix_assign_column(f.C, NULL, NULL, col, 1, NULL));
    TEST_SHOWS(f.C, {0, 0, 12}, {0, 1, 1}, {0, 3, 5}, {2, 0, 3}, {2, 1, 3}, {2, 3, 5});
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "4 of 4",
                 dcsr_matrix_assign_column(f.C, NULL, NULL, col, 4, NULL));
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "u has 3",
                 dcsr_matrix_assign_row(f.C, NULL, NULL, col, 0, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "u", dcsr_matrix_assign_row(f.C, NULL, NULL, NULL, 0, NULL));
    dcsr_vector_destroy(row);
    dcsr_vector_destroy(col);
    tear_down(&f);
}

/* Each allocation of the calls that work with vectors fails in turn. */
Test(matrix_calls, memory_that_runs_out)
{
    fixture f = set_up(DCSR_INT32);
    dcsr_vector *row, *col;
    TEST_OK(dcsr_vector_create(&row, f.context, DCSR_FP64, 4));
    TEST_OK(dcsr_vector_create(&col, f.context, DCSR_FP64, 3));
    double one = 1, total = 0;
    TEST_OK(dcsr_vector_set(row, 1, &one));
    uint64_t list[] = {2, 0};
    for (int call = 0; call < 6; call++) {
        dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
        long n = 0;
        for (; status != DCSR_OK; n++) {
            dcsr_view *a = test_view(f.A, DCSR_LAYOUT_SEGMENTS, 0);
            dcsr_i_fail_allocations_after(n);
            switch (call) {
            case 0:
                status = dcsr_matrix_assign_row(f.C, NULL, plus(), row, 0, NULL);
                break;
            case 1:
                status = dcsr_matrix_reduce_rows(col, NULL, NULL, sum(), a, NULL);
                break;
            case 2:
                status =
                    dcsr_matrix_reduce_rows(row, NULL, plus(), sum(), a, &(dcsr_desc){.transpose_a = true});
                break;
            case 3:
                status = dcsr_matrix_extract_column(col, NULL, plus(), a, 3, NULL);
                break;
            case 4:
                status = dcsr_matrix_reduce(&total, NULL, sum(), a);
                break;
            default:
                status = dcsr_matrix_assign(f.C, NULL, NULL, a, NULL, 0, NULL, 0, NULL);
                if (status == DCSR_OK)
                    status = dcsr_matrix_extract(f.C, NULL, plus(), a, (uint64_t[]){1, 2, 0}, 3,
                                                 (uint64_t[]){list[0], list[1], 1, 3}, 4, NULL);
            }
            dcsr_i_fail_allocations_after(-1);
            cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY);
            dcsr_view_destroy(a);
        }
        cr_assert((n > 1) == (call != 4 || test_on_device(f.context)),
                  "on the cpu a sum to a scalar takes no memory; all else does");
    }
    cr_assert_eq(total, 15);
    dcsr_vector_destroy(row);
    dcsr_vector_destroy(col);
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
    cr_assert_eq(report.device, DCSR_DEVICE_CPU);
    tear_down(&f);
}

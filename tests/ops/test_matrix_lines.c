/* test_matrix_lines.c: operations on matrices that give or take vectors and scalars: sums of rows, columns
 * and all entries; rows and columns by themselves. */
#include "dcsr/base/alloc.h"
#include <dcsr/assign.h>
#include <dcsr/extract.h>
#include <dcsr/reduce.h>
#include <dcsr/transpose.h>
#include "tests/support/support_dense.h"
#include "tests/support/support_small.h"

#include <stdlib.h>

static void assert_vector(dcsr_vector *w, size_t n, const test_entry *elements)
{
    uint64_t nvals;
    TEST_OK(dcsr_vector_get_nvals(w, &nvals));
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

Test(matrix_lines, reduce)
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

/* Rows chosen by a list, by bits and all, in one piece and in several, with duplicates. */
Test(matrix_lines, count_random)
{
    dcsr_context *context = test_context(2);
    test_random random = {1};
    for (int round = 0; round < TEST_SIZE(40, 20, 10); round++) {
        uint64_t n = 1 + test_random_below(&random, round % 4 ? 300 : 20000), right = 0, entries, length;
        dcsr_matrix *A = test_matrix(context, DCSR_INT8, n, n, DCSR_POLICY_SUM);
        test_entry *some = test_allocate(2 * n, sizeof *some);
        for (uint64_t k = 0; k < 2 * n; k++)
            some[k] = (test_entry){test_random_below(&random, n), test_random_below(&random, 3) % n, 1};
        test_insert(A, n, some);
        test_insert(A, n, some + n);
        dcsr_view *a = test_view(A, round % 2 ? DCSR_LAYOUT_CSR : DCSR_LAYOUT_SEGMENTS,
                                 round % 3 ? DCSR_VIEW_DUPLICATES : 0);
        dcsr_vector *rows;
        TEST_OK(dcsr_vector_create(&rows, context, DCSR_INT16, n));
        TEST_OK(dcsr_view_count(a, rows, &entries));
        cr_assert_eq(entries, 0);
        if (round % 2) TEST_OK(dcsr_vector_set_format(rows, DCSR_VECTOR_DENSE));
        for (uint64_t row = 0; row < n; row++) {
            if (!test_random_once_in(&random, round % 5 ? 3 : 100)) continue;
            TEST_OK(dcsr_vector_set(rows, row, &(int16_t){0}));
            TEST_OK(dcsr_view_get_row(a, row, 0, NULL, NULL, &length));
            right += length;
        }
        TEST_OK(dcsr_view_count(a, rows, &entries));
        cr_assert_eq(entries, right);
        TEST_OK(dcsr_vector_fill(rows, &(int16_t){0}));
        TEST_OK(dcsr_view_count(a, rows, &entries));
        cr_assert_eq(entries, test_view_info(a).nnz);
        dcsr_vector_destroy(rows);
        dcsr_view_destroy(a);
        dcsr_matrix_destroy(A);
        free(some);
    }
    test_close(context);
}

/* Rows of all lengths, of every value type and none, by rows and by columns, with each way of adding up. */
Test(matrix_lines, reduce_random, .timeout = 300)
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

Test(matrix_lines, rows_and_columns_as_vectors)
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
Test(matrix_lines, memory_that_runs_out)
{
    fixture f = set_up(DCSR_INT32);
    dcsr_vector *row, *col;
    TEST_OK(dcsr_vector_create(&row, f.context, DCSR_FP64, 4));
    TEST_OK(dcsr_vector_create(&col, f.context, DCSR_FP64, 3));
    double one = 1, total = 0;
    TEST_OK(dcsr_vector_set(row, 1, &one));
    uint64_t list[] = {2, 0}, entries = 0;
    for (int call = 0; call < 7; call++) {
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
            case 5:
                status = dcsr_view_count(a, col, &entries);
                break;
            default:
                status = dcsr_matrix_assign(f.C, NULL, NULL, a, NULL, NULL, NULL);
                if (status == DCSR_OK)
                    status = dcsr_matrix_extract(
                        f.C, NULL, plus(), a, &(dcsr_index_list){(uint64_t[]){1, 2, 0}, 3},
                        &(dcsr_index_list){(uint64_t[]){list[0], list[1], 1, 3}, 4}, NULL);
            }
            dcsr_i_fail_allocations_after(-1);
            cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY);
            dcsr_view_destroy(a);
        }
        cr_assert((n > 1) == ((call != 4 && call != 5) || test_on_device(f.context)),
                  "on the cpu a sum to a scalar and a count take no memory; all else does");
    }
    cr_assert(total == 15 && entries == 5);
    dcsr_vector_destroy(row);
    dcsr_vector_destroy(col);
    tear_down(&f);
}

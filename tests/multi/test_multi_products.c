/* test_multi_products.c: vectors on several devices, and products with them, beside those of one device. */
#include "dcsr/base/alloc.h"
#include "tests/support/support_multi.h"
#include <dcsr/convert.h>
#include <dcsr/generate.h>
#include <dcsr/multi.h>
#include <dcsr/mxv.h>
#include <dcsr/spmv.h>
#include <dcsr/vector_ops.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(multi_products, .init = set_devices);

/* The same vector on one device and on several. */
typedef struct vectors {
    dcsr_vector *one;
    dcsr_multi_vector *many;
    uint64_t size;
} vectors;

static test_both open_both(test_random *random, uint64_t devices, uint64_t rows, uint64_t cols, size_t n)
{
    test_both p = {.context = test_context(2), .n = rows, .cols = cols};
    p.matrix = test_matrix(p.context, DCSR_INT64, rows, cols, DCSR_POLICY_LAST);
    uint64_t *row = test_allocate(n, sizeof *row), *col = test_allocate(n, sizeof *col);
    int64_t *value = test_allocate(n, sizeof *value);
    const uint64_t hub = test_random_below(random, rows);
    for (size_t i = 0; i < n; i++) {
        row[i] = test_random_once_in(random, 3) ? hub : test_random_below(random, rows);
        col[i] = test_random_below(random, cols);
        value[i] = (int64_t)test_random_below(random, 19) - 9;
    }
    TEST_OK(dcsr_matrix_insert(p.matrix, n, row, col, value, NULL));
    test_share_both(&p, (int)devices);
    free(row), free(col), free(value);
    return p;
}

/* On the devices, or where the library thinks best. */
static dcsr_device some_device(test_random *random)
{
    const bool there = test_device_of_auto() == DCSR_DEVICE_CUDA;
    return there && test_random_once_in(random, 2) ? DCSR_DEVICE_CUDA : DCSR_DEVICE_AUTO;
}

/* An operation on each part leaves the newest elements in the memory of its device, in any form. */
static void move_to_devices(test_random *random, vectors *v, uint64_t parts)
{
    const dcsr_unary_op *same = dcsr_unary_op_of(DCSR_UNARY_IDENTITY, DCSR_INT64);
    const dcsr_desc there = {.device = DCSR_DEVICE_CUDA};
    for (uint64_t k = 0; k < parts; k++) {
        dcsr_vector *part;
        uint64_t first;
        TEST_OK(dcsr_multi_vector_get_part(v->many, k, &part, &first));
        TEST_OK(dcsr_vector_set_format(part, (dcsr_vector_format)test_random_below(random, 3)));
        TEST_OK(dcsr_vector_apply(part, NULL, NULL, same, part, &there));
    }
}

/* Elements at random: all of them, every one by itself or at once; some; few. */
static vectors random_vectors(test_random *random, const test_both *p, bool by_columns)
{
    vectors v = {.size = by_columns ? p->cols : p->n};
    TEST_OK(dcsr_vector_create(&v.one, p->context, DCSR_INT64, v.size));
    TEST_OK(dcsr_multi_vector_create(&v.many, p->multi, DCSR_INT64, by_columns));
    const uint64_t once_in = (uint64_t[]){1, 2, 40}[test_random_below(random, 3)];
    if (once_in == 1 && test_random_once_in(random, 2)) {
        int64_t *values = test_allocate(v.size, sizeof *values);
        for (uint64_t i = 0; i < v.size; i++) values[i] = (int64_t)test_random_below(random, 100) - 50;
        TEST_OK(dcsr_multi_vector_from_array(v.many, values));
        for (uint64_t i = 0; i < v.size; i++) TEST_OK(dcsr_vector_set(v.one, i, &values[i]));
        free(values);
        return v;
    }
    for (uint64_t i = 0; i < v.size; i++) {
        const int64_t value = (int64_t)test_random_below(random, 5) - 2;
        if (!test_random_once_in(random, once_in)) continue;
        TEST_OK(dcsr_vector_set(v.one, i, &value));
        TEST_OK(dcsr_multi_vector_set(v.many, i, &value));
    }
    dcsr_multi_view_info info;
    TEST_OK(dcsr_multi_view_get_info(p->multi, &info));
    if (some_device(random) == DCSR_DEVICE_CUDA) move_to_devices(random, &v, info.parts);
    return v;
}

static void destroy_vectors(vectors *v)
{
    dcsr_vector_destroy(v->one);
    dcsr_multi_vector_destroy(v->many);
}

static void assert_equal(const vectors *v)
{
    uint64_t nvals, here;
    TEST_OK(dcsr_vector_get_nvals(v->one, &nvals));
    TEST_OK(dcsr_multi_vector_get_nvals(v->many, &here));
    cr_assert_eq(nvals, here);
    for (uint64_t i = 0; i < v->size; i++) {
        int64_t a = 0, b = 0;
        bool in_a, in_b;
        TEST_OK(dcsr_vector_get(v->one, i, &a, &in_a));
        TEST_OK(dcsr_multi_vector_get(v->many, i, &b, &in_b));
        cr_assert(in_a == in_b && a == b, "element %d is %d %ld, not %d %ld", (int)i, in_b, (long)b, in_a,
                  (long)a);
    }
    int64_t missing = -77, *one = test_allocate(v->size, sizeof *one),
            *many = test_allocate(v->size, sizeof *many);
    TEST_OK(dcsr_vector_to_array(v->one, &missing, one));
    TEST_OK(dcsr_multi_vector_to_array(v->many, &missing, many));
    cr_assert(!memcmp(one, many, v->size * sizeof *one));
    free(one), free(many);
}

static dcsr_desc random_desc(test_random *random)
{
    return (dcsr_desc){.mask_complement = test_random_once_in(random, 2),
                       .mask_structure = test_random_once_in(random, 2),
                       .replace = test_random_once_in(random, 2),
                       .device = some_device(random)};
}

/* One product in both worlds; `kind` counts the four of them. */
static dcsr_status multiply(test_both *p, vectors *w, const vectors *mask, const dcsr_binary_op *accum,
                            const dcsr_semiring *semiring, const vectors *u, dcsr_desc desc, int kind)
{
    dcsr_multi_report report;
    desc.transpose_a = kind == 1;
    desc.transpose_b = kind == 3;
    dcsr_status status;
    if (kind < 2) {
        TEST_OK(dcsr_mxv(w->one, mask ? mask->one : NULL, accum, semiring, p->view, u->one, &desc));
        status = dcsr_multi_mxv(w->many, mask ? mask->many : NULL, accum, semiring, p->multi, u->many, &desc,
                                &report);
    } else {
        TEST_OK(dcsr_vxm(w->one, mask ? mask->one : NULL, accum, semiring, u->one, p->view, &desc));
        status = dcsr_multi_vxm(w->many, mask ? mask->many : NULL, accum, semiring, u->many, p->multi, &desc,
                                &report);
    }
    if (status == DCSR_OK) cr_assert(report.seconds >= report.communication && report.direction);
    return status;
}

static test_both random_both(test_random *random)
{
    const uint64_t devices = 1 + test_random_below(random, MOST_DEVICES),
                   rows = 1 + test_random_below(random, 150),
                   cols = test_random_once_in(random, 2) ? rows : 1 + test_random_below(random, 150);
    return open_both(random, devices, rows, cols, test_random_below(random, 900));
}

Test(multi_products, are_those_of_one_device)
{
    const test_seeds seeds = test_seeds_from_environment((uint64_t)TEST_SIZE(60, 20, 12));
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.rounds; seed++) {
        test_seed_begins(seed);
        test_random random = {seed};
        test_both p = random_both(&random);
        for (int kind = 0; kind < 4; kind++) {
            const bool across = kind == 1 || kind == 2, masked = test_random_once_in(&random, 2);
            vectors w = random_vectors(&random, &p, across), mask = random_vectors(&random, &p, across),
                    u = random_vectors(&random, &p, !across);
            const dcsr_semiring *semiring =
                dcsr_semiring_of((dcsr_semiring_name[]){DCSR_PLUS_TIMES, DCSR_MIN_PLUS,
                                                        DCSR_MAX_FIRST}[test_random_below(&random, 3)],
                                 DCSR_INT64);
            const dcsr_binary_op *accum =
                test_random_once_in(&random, 2) ? dcsr_binary_op_of(DCSR_BINARY_PLUS, DCSR_INT64) : NULL;
            TEST_OK(multiply(&p, &w, masked ? &mask : NULL, accum, semiring, &u, random_desc(&random), kind));
            assert_equal(&w);
            int64_t one = 5, many = 5;
            uint64_t nvals;
            TEST_OK(dcsr_vector_get_nvals(w.one, &nvals));
            if (nvals)
                TEST_OK(dcsr_vector_reduce(&one, NULL, dcsr_monoid_of(DCSR_BINARY_PLUS, DCSR_INT64), w.one));
            TEST_OK(dcsr_multi_vector_reduce(&many, dcsr_monoid_of(DCSR_BINARY_PLUS, DCSR_INT64), w.many));
            cr_assert_eq(one, many);
            destroy_vectors(&w), destroy_vectors(&mask), destroy_vectors(&u);
        }
        test_close_both(&p);
    }
}

Test(multi_products, spmv_gives_the_bits_of_one_device)
{
    test_random random = {11};
    for (int round = 0; round < TEST_SIZE(40, 15, 10); round++) {
        test_both p = random_both(&random);
        int64_t *x = test_allocate(p.cols, sizeof *x), *expected = test_allocate(p.n, sizeof *x),
                *got = test_allocate(p.n, sizeof *x), zero = 0;
        dcsr_multi_vector *a, *b;
        dcsr_multi_report report;
        for (uint64_t i = 0; i < p.cols; i++) x[i] = (int64_t)test_random_next(&random);
        TEST_OK(dcsr_spmv(expected, p.view, x));
        TEST_OK(dcsr_multi_vector_create(&a, p.multi, DCSR_INT64, true));
        TEST_OK(dcsr_multi_vector_create(&b, p.multi, DCSR_INT64, false));
        TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "missing", dcsr_multi_spmv(b, p.multi, a, NULL));
        for (int together = 0; together < 2; together++) {
            if (together)
                TEST_OK(dcsr_multi_vector_from_array(a, x));
            else
                for (uint64_t i = 0; i < p.cols; i++) TEST_OK(dcsr_multi_vector_set(a, i, &x[i]));
            TEST_OK(dcsr_multi_spmv(b, p.multi, a, &report));
            if (together && test_device_of_auto() == DCSR_DEVICE_CPU) cr_assert_eq(report.bytes, 0);
            TEST_OK(dcsr_multi_vector_to_array(b, &zero, got));
            cr_assert(!memcmp(expected, got, p.n * sizeof *got));
        }
        dcsr_multi_vector_destroy(a), dcsr_multi_vector_destroy(b);
        free(x), free(expected), free(got);
        test_close_both(&p);
    }
}

Test(multi_products, vectors_with_borders_of_an_older_view_are_moved)
{
    test_random random = {5};
    test_both p = open_both(&random, 3, 90, 90, 300);
    vectors w = random_vectors(&random, &p, false), u = random_vectors(&random, &p, true),
            mask = random_vectors(&random, &p, false);
    /* All that is new is in the last rows. */
    for (uint64_t i = 0; i < 2000; i++) {
        const uint64_t row = 80 + i % 10, col = test_random_below(&random, 90);
        const int64_t value = (int64_t)i;
        TEST_OK(dcsr_matrix_insert(p.matrix, 1, &row, &col, &value, NULL));
        TEST_OK(dcsr_multi_matrix_insert(p.parts, 1, &row, &col, &value, NULL));
    }
    TEST_OK(dcsr_matrix_wait(p.matrix));
    TEST_OK(dcsr_multi_matrix_balance(p.parts, NULL));
    TEST_OK(dcsr_multi_matrix_wait(p.parts));
    dcsr_multi_view_info before, after;
    TEST_OK(dcsr_multi_view_get_info(p.multi, &before));
    dcsr_view_destroy(p.view);
    dcsr_multi_view_destroy(p.multi);
    p.view = test_view(p.matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED);
    TEST_OK(dcsr_multi_view_create(&p.multi, p.parts, DCSR_LAYOUT_SEGMENTS, 0));
    TEST_OK(dcsr_multi_view_get_info(p.multi, &after));
    cr_assert_neq(before.border[1], after.border[1]);
    for (int kind = 0; kind < 4; kind++) {
        TEST_OK(multiply(&p, &w, &mask, dcsr_binary_op_of(DCSR_BINARY_PLUS, DCSR_INT64),
                         dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_INT64), &u, (dcsr_desc){0}, kind));
        assert_equal(&w);
    }
    destroy_vectors(&w), destroy_vectors(&u), destroy_vectors(&mask);
    test_close_both(&p);
}

Test(multi_products, memory_gone_leaves_all_as_it_was)
{
    test_random random = {3};
    test_both p = open_both(&random, 3, 40, 40, 200);
    const dcsr_semiring *semiring = dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_INT64);
    for (int kind = 0; kind < 4; kind++) {
        vectors w = random_vectors(&random, &p, false), u = random_vectors(&random, &p, true);
        dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
        for (long n = 0; status != DCSR_OK; n++) {
            cr_assert_lt(n, 2000);
            assert_equal(&w);
            dcsr_desc desc = {
                .transpose_a = kind == 1, .transpose_b = kind == 3, .device = test_device_of_auto()};
            dcsr_i_fail_allocations_after(n);
            status = kind < 2 ? dcsr_multi_mxv(w.many, u.many, NULL, semiring, p.multi, u.many, &desc, NULL)
                              : dcsr_multi_vxm(w.many, u.many, NULL, semiring, u.many, p.multi, &desc, NULL);
            dcsr_i_fail_allocations_after(-1);
            cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
        }
        destroy_vectors(&w), destroy_vectors(&u);
    }
    dcsr_multi_vector *vector = NULL;
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    for (long n = 0; status != DCSR_OK; n++) {
        const int64_t seven = 7;
        cr_assert_lt(n, 200);
        dcsr_i_fail_allocations_after(n);
        status = vector ? DCSR_OK : dcsr_multi_vector_create(&vector, p.multi, DCSR_INT64, true);
        if (status == DCSR_OK) status = dcsr_multi_vector_fill(vector, &seven);
        if (status == DCSR_OK) status = dcsr_multi_spmv(vector, p.multi, vector, NULL);
        dcsr_i_fail_allocations_after(-1);
        cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY);
    }
    dcsr_multi_vector_destroy(vector);
    test_close_both(&p);
}

Test(multi_products, bad_arguments_are_refused)
{
    test_random random = {9};
    test_both p = open_both(&random, 2, 10, 20, 30), other = open_both(&random, 2, 10, 20, 30);
    vectors by_rows = random_vectors(&random, &p, false), by_cols = random_vectors(&random, &p, true),
            elsewhere = random_vectors(&random, &other, true);
    dcsr_multi_vector *rows = by_rows.many, *cols = by_cols.many;
    const dcsr_semiring *s = dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_INT64);
    int64_t value = 3;
    bool stored;
    dcsr_vector *part;
    uint64_t first;
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "u is NULL",
                 dcsr_multi_mxv(rows, NULL, NULL, s, p.multi, NULL, NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "w is NULL",
                 dcsr_multi_mxv(NULL, NULL, NULL, s, p.multi, cols, NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "A is NULL",
                 dcsr_multi_mxv(rows, NULL, NULL, s, NULL, cols, NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "semiring",
                 dcsr_multi_vxm(cols, NULL, NULL, NULL, rows, p.multi, NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "multi_mxv: u has 10",
                 dcsr_multi_mxv(rows, NULL, NULL, s, p.multi, rows, NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "the mask has 20",
                 dcsr_multi_mxv(rows, cols, NULL, s, p.multi, cols, NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "other devices",
                 dcsr_multi_mxv(rows, NULL, NULL, s, p.multi, elsewhere.many, NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "multi_spmv: y has 20",
                 dcsr_multi_spmv(cols, p.multi, cols, NULL));
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "index 10 of", dcsr_multi_vector_set(rows, 10, &value));
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "index 10 of",
                 dcsr_multi_vector_get(rows, 10, &value, &stored));
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "part 2 of 2",
                 dcsr_multi_vector_get_part(rows, 2, &part, &first));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_multi_vector_fill(rows, NULL));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_multi_vector_reduce(&value, NULL, rows));
    dcsr_multi_vector *none;
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_multi_vector_create(&none, p.multi, DCSR_PATTERN, false));
    cr_assert_null(none);
    dcsr_multi_vector_destroy(NULL);
    TEST_OK(dcsr_multi_vector_clear(rows));
    TEST_OK(dcsr_multi_vector_reduce(&value, dcsr_monoid_of(DCSR_BINARY_PLUS, DCSR_INT64), rows));
    cr_assert_eq(value, 3);
    destroy_vectors(&by_rows), destroy_vectors(&by_cols), destroy_vectors(&elsewhere);
    test_close_both(&other);
    test_close_both(&p);
}

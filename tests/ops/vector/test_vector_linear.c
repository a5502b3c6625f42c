/* test_vector_linear.c: sums of products and combinations in place, beside plain loops in long double. */
#include "dcsr/base/alloc.h"
#include "tests/support/support.h"
#include <dcsr/vector_ops.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The same numbers as an array and a vector of a type. */
typedef struct numbers {
    uint64_t n;
    double *value;
    dcsr_vector *vector;
} numbers;

static numbers random_numbers(test_random *random, dcsr_context *context, dcsr_type type, uint64_t n)
{
    numbers x = {.n = n, .value = test_allocate(n, sizeof *x.value)};
    TEST_OK(dcsr_vector_create(&x.vector, context, type, n));
    uint64_t *index = test_allocate(n, sizeof *index);
    char *encoded = test_allocate(n, sizeof(double));
    for (uint64_t i = 0; i < n; i++) {
        /* Of few bits, so that it is the same in fp32. */
        x.value[i] = ((double)test_random_below(random, 2001) - 1000) / 64;
        index[i] = i;
        test_encode(type, x.value[i], encoded + i * dcsr_type_size(type));
    }
    TEST_OK(dcsr_vector_build(x.vector, n, index, encoded, DCSR_POLICY_LAST));
    free(index), free(encoded);
    return x;
}

static void free_numbers(numbers *x)
{
    dcsr_vector_destroy(x->vector);
    free(x->value);
}

/* On a GPU the newest elements may be there alone. */
static void maybe_move(test_random *random, const numbers *x)
{
    void *values;
    if (test_device_of_auto() == DCSR_DEVICE_CUDA && test_random_once_in(random, 2))
        TEST_OK(dcsr_vector_get_values_on_device(x->vector, &values));
}

static void assert_near(double got, long double wanted, long double scale, dcsr_type type)
{
    const long double error = fabsl((long double)got - wanted),
                      unit = type == DCSR_FP32 ? (long double)1.2e-7 : (long double)2.3e-16;
    cr_assert(error <= 64 * unit * (scale + 1), "%.17g, not %.17Lg", got, wanted);
}

static void assert_elements(const numbers *w, dcsr_type type)
{
    const double none = -1;
    double *values = test_allocate(w->n, sizeof *values);
    TEST_OK(dcsr_vector_to_array(w->vector, &none, values));
    for (uint64_t i = 0; i < w->n; i++) {
        const double got = type == DCSR_FP32 ? (double)((float *)values)[i] : values[i];
        assert_near(got, w->value[i], fabsl((long double)w->value[i]) + 100, type);
        w->value[i] = got;
    }
    free(values);
}

static void check_dot(const numbers *u, const numbers *v, dcsr_type type)
{
    long double wanted = 0, scale = 0;
    double got = -1;
    for (uint64_t i = 0; i < u->n; i++) {
        wanted += (long double)u->value[i] * v->value[i];
        scale += fabsl((long double)u->value[i] * v->value[i]);
    }
    TEST_OK(dcsr_vector_dot(&got, u->vector, v->vector));
    assert_near(got, wanted, scale, type);
}

static void check_axpby(numbers *w, double a, const numbers *u, double b, bool summed, dcsr_type type)
{
    long double square = 0;
    double got = -7;
    TEST_OK(dcsr_vector_axpby(w->vector, a, u->vector, b, summed ? &got : NULL));
    for (uint64_t i = 0; i < w->n; i++) w->value[i] = a * u->value[i] + b * w->value[i];
    assert_elements(w, type);
    for (uint64_t i = 0; i < w->n; i++) square += (long double)w->value[i] * w->value[i];
    if (summed)
        assert_near(got, square, square, type);
    else
        cr_assert_eq(got, -7);
}

Test(vector_linear, is_what_plain_loops_compute)
{
    test_random random = {1};
    const uint64_t sizes[] = {0, 1, 7, 8, 9, 31, 1024, 2047, 2500, 4097, 20000, 70001};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int k = 0; k < 2; k++) {
            const dcsr_type type = k ? DCSR_FP32 : DCSR_FP64;
            dcsr_context *context = test_context(2);
            numbers u = random_numbers(&random, context, type, sizes[s]),
                    v = random_numbers(&random, context, type, sizes[s]);
            maybe_move(&random, &u), maybe_move(&random, &v);
            check_dot(&u, &v, type);
            check_dot(&u, &u, type);
            check_axpby(&u, 0.5, &v, 1, false, type);
            maybe_move(&random, &v);
            check_axpby(&v, -2, &u, 0.25, true, type);
            check_axpby(&v, 1, &u, 0, true, type);
            check_axpby(&u, 2, &u, -0.5, false, type);
            free_numbers(&u), free_numbers(&v);
            test_close(context);
        }
}

/* A vector whose elements are nobody's business where they count nothing. */
Test(vector_linear, does_not_read_what_counts_nothing)
{
    dcsr_context *context = test_context(1);
    double w[3000], u[3000], square;
    for (int i = 0; i < 3000; i++) w[i] = NAN, u[i] = 2;
    dcsr_vector *a, *b;
    TEST_OK(dcsr_vector_import(&a, context, DCSR_FP64, 3000, w, NULL, NULL));
    TEST_OK(dcsr_vector_import(&b, context, DCSR_FP64, 3000, u, NULL, NULL));
    TEST_OK(dcsr_vector_axpby(a, 3, b, 0, &square));
    cr_assert_eq(square, 3000 * 36);
    TEST_OK(dcsr_vector_set_format(a, DCSR_VECTOR_SPARSE));
    TEST_OK(dcsr_vector_axpby(a, 1, b, 1, &square));
    cr_assert_eq(square, 3000 * 64);
    TEST_OK(dcsr_vector_dot(&square, a, b));
    cr_assert_eq(square, 3000 * 16);
    dcsr_vector_destroy(a), dcsr_vector_destroy(b);
    test_close(context);
}

Test(vector_linear, has_the_same_bits_with_any_number_of_threads)
{
    double sums[2][2];
    for (int k = 0; k < 2; k++) {
        dcsr_context *context;
        test_random random = {2};
        TEST_OK(dcsr_context_create(
            &context, &(dcsr_context_options){.device = DCSR_DEVICE_CPU, .threads = k ? 5 : 1}));
        numbers u = random_numbers(&random, context, DCSR_FP64, 300001),
                v = random_numbers(&random, context, DCSR_FP64, 300001);
        TEST_OK(dcsr_vector_dot(&sums[k][0], u.vector, v.vector));
        TEST_OK(dcsr_vector_axpby(u.vector, 1.0 / 3, v.vector, 0.7, &sums[k][1]));
        free_numbers(&u), free_numbers(&v);
        test_close(context);
    }
    cr_assert(!memcmp(sums[0], sums[1], sizeof sums[0]));
}

Test(vector_linear, memory_gone_changes_nothing)
{
    dcsr_context *context = test_context(1);
    test_random random = {3};
    for (int call = 0; call < 2; call++) {
        numbers u = random_numbers(&random, context, DCSR_FP64, 5000),
                w = random_numbers(&random, context, DCSR_FP64, 5000);
        maybe_move(&random, &u), maybe_move(&random, &w);
        dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
        for (long n = 0; status != DCSR_OK; n++) {
            double sum = -3;
            cr_assert_lt(n, 200);
            dcsr_i_fail_allocations_after(n);
            status = call ? dcsr_vector_axpby(w.vector, 2, u.vector, 1, &sum)
                          : dcsr_vector_dot(&sum, u.vector, w.vector);
            dcsr_i_fail_allocations_after(-1);
            if (status == DCSR_OK) break;
            TEST_STATUS(DCSR_ERROR_OUT_OF_MEMORY, status);
            cr_assert_eq(sum, -3);
            assert_elements(&w, DCSR_FP64);
        }
        free_numbers(&u), free_numbers(&w);
    }
    test_close(context);
}

Test(vector_linear, bad_arguments_are_refused)
{
    dcsr_context *context = test_context(1), *other = test_context(1);
    test_random random = {4};
    numbers u = random_numbers(&random, context, DCSR_FP64, 10),
            shorter = random_numbers(&random, context, DCSR_FP64, 9),
            narrow = random_numbers(&random, context, DCSR_FP32, 10),
            whole = random_numbers(&random, context, DCSR_INT32, 10),
            elsewhere = random_numbers(&random, other, DCSR_FP64, 10);
    double dot = 5;
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "dot is NULL", dcsr_vector_dot(NULL, u.vector, u.vector));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "u is NULL", dcsr_vector_dot(&dot, NULL, u.vector));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "v is NULL", dcsr_vector_dot(&dot, u.vector, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "w is NULL", dcsr_vector_axpby(NULL, 1, u.vector, 1, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "another context",
                 dcsr_vector_dot(&dot, elsewhere.vector, u.vector));
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "u has 9 elements, w 10",
                 dcsr_vector_axpby(u.vector, 1, shorter.vector, 1, NULL));
    TEST_REFUSED(DCSR_ERROR_TYPE_MISMATCH, "u is of fp32, v of fp64",
                 dcsr_vector_dot(&dot, narrow.vector, u.vector));
    TEST_REFUSED(DCSR_ERROR_TYPE_MISMATCH, "u is of int32",
                 dcsr_vector_dot(&dot, whole.vector, whole.vector));
    TEST_OK(dcsr_vector_remove(u.vector, 3));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "1 of 10 elements of u are missing",
                 dcsr_vector_axpby(u.vector, 1, u.vector, 1, NULL));
    cr_assert_eq(dot, 5);
    free_numbers(&u), free_numbers(&shorter), free_numbers(&narrow), free_numbers(&whole);
    free_numbers(&elsewhere);
    test_close(other);
    test_close(context);
}

/* test_vector_ops.c: operations on vectors by hand, reductions, and what they refuse or survive. */
#include "dcsr/base/alloc.h"
#include <dcsr/vector_ops.h>
#include "ops/vector/vector_stream.h"
#include "tests/support/support.h"
#include <stdlib.h>
#include <string.h>

/* A vector of fp64 with value[i] at i, unless that is NONE. */
#define NONE -99.0
static dcsr_vector *vector_of(dcsr_context *context, uint64_t size, const double *value)
{
    dcsr_vector *vector = NULL;
    TEST_OK(dcsr_vector_create(&vector, context, DCSR_FP64, size));
    for (uint64_t i = 0; i < size; i++)
        if (value[i] != NONE) TEST_OK(dcsr_vector_set(vector, i, &value[i]));
    return vector;
}
#define VECTOR(context, ...) \
    vector_of(context, sizeof((double[]){__VA_ARGS__}) / sizeof(double), (double[]){__VA_ARGS__})

static bool shows(const dcsr_vector *vector, const double *value)
{
    dcsr_vector_info info;
    TEST_OK(dcsr_vector_get_info(vector, &info));
    for (uint64_t i = 0; i < info.size; i++) {
        double found = NONE;
        bool stored;
        TEST_OK(dcsr_vector_get(vector, i, &found, &stored));
        if (found != value[i]) return false;
    }
    return true;
}
#define SHOWS(vector, ...) cr_assert(shows(vector, (double[]){__VA_ARGS__}))

static const dcsr_binary_op *fp64(dcsr_binary_name name)
{
    return dcsr_binary_op_of(name, DCSR_FP64);
}

Test(vector_ops, by_hand)
{
    dcsr_context *context = test_context(1);
    dcsr_vector *u = VECTOR(context, 1, 2, NONE, NONE), *v = VECTOR(context, NONE, 10, 20, NONE);
    dcsr_vector *w = VECTOR(context, 7, 7, 7, 7), *mask = VECTOR(context, 1, 0, NONE, 1);
    const dcsr_binary_op *minus = fp64(DCSR_BINARY_MINUS);
    TEST_OK(dcsr_vector_ewise_add(w, NULL, NULL, minus, u, v, NULL));
    SHOWS(w, 1, -8, 20, NONE);
    TEST_OK(dcsr_vector_ewise_mult(w, NULL, NULL, minus, u, v, NULL));
    SHOWS(w, NONE, -8, NONE, NONE);
    TEST_OK(dcsr_vector_apply_first(w, NULL, NULL, minus, &(double){5}, u, NULL));
    SHOWS(w, 4, 3, NONE, NONE);
    TEST_OK(dcsr_vector_apply_second(w, NULL, fp64(DCSR_BINARY_PLUS), minus, v, &(double){5}, NULL));
    SHOWS(w, 4, 8, 15, NONE);
    TEST_OK(dcsr_vector_apply(w, mask, NULL, dcsr_unary_op_of(DCSR_UNARY_NEGATE, DCSR_FP64), u, NULL));
    SHOWS(w, -1, 8, 15, NONE);
    TEST_OK(dcsr_vector_assign_scalar(w, mask, NULL, &(double){3}, DCSR_FP64, NULL,
                                      &(dcsr_desc){.mask_structure = true, .mask_complement = true}));
    SHOWS(w, -1, 8, 3, NONE);
    TEST_OK(dcsr_vector_assign_scalar(w, NULL, NULL, &(double){9}, DCSR_FP64, &(dcsr_index_list){0}, NULL));
    SHOWS(w, -1, 8, 3, NONE);
    TEST_OK(dcsr_vector_assign(w, mask, NULL, u, NULL, &(dcsr_desc){.replace = true}));
    SHOWS(w, 1, NONE, NONE, NONE);
    TEST_OK(dcsr_vector_assign(w, NULL, NULL, v, &(dcsr_index_list){(uint64_t[]){3, 0, 1, 2}, 4}, NULL));
    SHOWS(w, 10, 20, NONE, NONE);
    TEST_OK(dcsr_vector_extract(w, NULL, NULL, w, &(dcsr_index_list){(uint64_t[]){1, 1, 2, 0}, 4}, NULL));
    SHOWS(w, 20, 20, NONE, 10);
    TEST_OK(dcsr_vector_select(w, NULL, NULL, dcsr_index_op_of(DCSR_INDEX_ROW_GT, DCSR_FP64), w,
                               &(int64_t){0}, NULL));
    SHOWS(w, NONE, 20, NONE, 10);
    TEST_OK(dcsr_vector_apply_index(w, NULL, NULL, dcsr_index_op_of(DCSR_INDEX_ROW_INDEX, DCSR_FP64), w,
                                    &(int64_t){100}, NULL));
    SHOWS(w, NONE, 101, NONE, 103);
    dcsr_vector_destroy(u);
    dcsr_vector_destroy(v);
    dcsr_vector_destroy(w);
    dcsr_vector_destroy(mask);
    test_close(context);
}

Test(vector_ops, report_says_what_was_done)
{
    dcsr_context *context = test_context(1);
    dcsr_vector *w = VECTOR(context, 1, 2);
    dcsr_report report = {.entries = 9};
    TEST_OK(dcsr_vector_assign(w, NULL, NULL, w, NULL,
                               &(dcsr_desc){.device = DCSR_DEVICE_CPU, .report = &report}));
    cr_assert(report.device == DCSR_DEVICE_CPU && report.entries == 0);
    dcsr_vector_destroy(w);
    test_close(context);
}

/* Outputs too large for the caches go past them: into a vector of its own and in place, of which every
 * element is there, or not each third one. */
Test(vector_ops, outputs_larger_than_the_caches)
{
    dcsr_context *context = test_context(2);
    const uint64_t size = DCSR_I_WORTH_STREAMING / sizeof(double) + 77;
    uint64_t *indices = test_allocate(size, sizeof *indices), *found = test_allocate(size, sizeof *found);
    double *values = test_allocate(size, sizeof *values);
    dcsr_vector *u, *w;
    TEST_OK(dcsr_vector_create(&u, context, DCSR_FP64, size));
    TEST_OK(dcsr_vector_create(&w, context, DCSR_FP64, size));
    for (int full = 0; full < 2; full++) {
        uint64_t n = 0, count;
        for (uint64_t i = 0; i < size; i++)
            if (full || i % 3) indices[n] = i, values[n++] = (double)i;
        TEST_OK(dcsr_vector_build(u, n, indices, values, DCSR_POLICY_DEFAULT));
        TEST_OK(dcsr_vector_ewise_add(w, NULL, NULL, fp64(DCSR_BINARY_PLUS), u, u, NULL));
        TEST_OK(dcsr_vector_ewise_add(w, NULL, NULL, fp64(DCSR_BINARY_PLUS), w, u, NULL));
        TEST_OK(dcsr_vector_apply(u, NULL, NULL, dcsr_unary_op_of(DCSR_UNARY_NEGATE, DCSR_FP64), w, NULL));
        TEST_OK(dcsr_vector_get_entries(u, size, found, values, &count));
        cr_assert(count == n);
        for (uint64_t k = 0; k < n; k++) {
            cr_assert(found[k] == indices[k]);
            cr_assert(values[k] == -3 * (double)indices[k]);
        }
    }
    free(indices);
    free(found);
    free(values);
    dcsr_vector_destroy(u);
    dcsr_vector_destroy(w);
    test_close(context);
}

/* Sums of integers, which are the same in any order, against a loop; long enough for several threads. */
Test(vector_ops, reduce_of_every_form)
{
    dcsr_context *context = test_context(3);
    const uint64_t sizes[] = {0, 1, 10, 1023, 1025, 5000, 200000};
    test_random random = {7};
    for (int s = 0; s < 7; s++) {
        for (uint64_t keep = 1; keep <= 64; keep *= 8) { /* one element in so many */
            dcsr_vector *u = NULL;
            TEST_OK(dcsr_vector_create(&u, context, DCSR_INT32, sizes[s]));
            uint64_t *indices = test_allocate(sizes[s], sizeof *indices), n = 0;
            int32_t *values = test_allocate(sizes[s], sizeof *values);
            int64_t sum = 0, least = INT64_MAX;
            for (uint64_t i = 0; i < sizes[s]; i++) {
                if (!test_random_once_in(&random, keep)) continue;
                values[n] = (int32_t)test_random_below(&random, 1000) - 300;
                sum += values[n];
                least = values[n] < least ? values[n] : least;
                indices[n++] = i;
            }
            TEST_OK(dcsr_vector_build(u, n, indices, values, DCSR_POLICY_LAST));
            for (int form = DCSR_VECTOR_DENSE; form <= DCSR_VECTOR_SPARSE; form++) {
                TEST_OK(dcsr_vector_set_format(u, (dcsr_vector_format)form));
                int64_t total = 5;
                TEST_OK(dcsr_vector_reduce(&total, NULL, dcsr_monoid_of(DCSR_BINARY_PLUS, DCSR_INT64), u));
                cr_assert_eq(total, sum);
                total = 5;
                TEST_OK(dcsr_vector_reduce(&total, dcsr_binary_op_of(DCSR_BINARY_MINUS, DCSR_INT64),
                                           dcsr_monoid_of(DCSR_BINARY_PLUS, DCSR_INT64), u));
                cr_assert_eq(total, 5 - sum);
                TEST_OK(dcsr_vector_reduce(&total, NULL, dcsr_monoid_of(DCSR_BINARY_MIN, DCSR_INT64), u));
                cr_assert_eq(total, least);
            }
            free(indices);
            free(values);
            dcsr_vector_destroy(u);
        }
    }
    test_close(context);
}

/* ---- A user's functions ---- */

typedef struct budget {
    atomic_int left; /* calls until it fails */
} budget;

static bool plus_for_a_while(void *z, const void *x, const void *y, void *user)
{
    double a, b, sum;
    memcpy(&a, x, sizeof a);
    memcpy(&b, y, sizeof b);
    sum = a + b;
    memcpy(z, &sum, sizeof sum);
    return atomic_fetch_sub(&((budget *)user)->left, 1) > 0;
}

Test(vector_ops, a_function_that_fails_leaves_the_output)
{
    dcsr_context *context = test_context(2);
    budget calls;
    dcsr_binary_op *op = NULL;
    dcsr_monoid *monoid = NULL;
    TEST_OK(
        dcsr_binary_op_create(&op, "patience", DCSR_FP64, DCSR_FP64, DCSR_FP64, plus_for_a_while, &calls));
    TEST_OK(dcsr_monoid_create(&monoid, op, &(double){0}, NULL));
    dcsr_vector *u = VECTOR(context, 1, 2, NONE, 4), *w = VECTOR(context, 5, 6, 7, NONE);
    for (int form = DCSR_VECTOR_DENSE; form <= DCSR_VECTOR_SPARSE; form++) {
        TEST_OK(dcsr_vector_set_format(w, (dcsr_vector_format)form));
        TEST_OK(dcsr_vector_set_format(u, (dcsr_vector_format)form));
        double total = 3;
        calls.left = 1;
        TEST_REFUSED(DCSR_ERROR_CALLBACK, "patience", dcsr_vector_ewise_add(w, NULL, NULL, op, w, u, NULL));
        calls.left = 1;
        TEST_REFUSED(DCSR_ERROR_CALLBACK, "patience", dcsr_vector_assign(w, NULL, op, u, NULL, NULL));
        calls.left = 1;
        TEST_REFUSED(DCSR_ERROR_CALLBACK, "patience", dcsr_vector_reduce(&total, NULL, monoid, u));
        SHOWS(w, 5, 6, 7, NONE);
        cr_assert(total == 3);
    }
    calls.left = 2; /* it sees what is there, and nothing else */
    TEST_OK(dcsr_vector_ewise_add(w, NULL, NULL, op, w, u, NULL));
    SHOWS(w, 6, 8, 7, 4);
    dcsr_vector_destroy(u);
    dcsr_vector_destroy(w);
    dcsr_monoid_destroy(monoid);
    dcsr_binary_op_destroy(op);
    test_close(context);
}

/* ---- What is refused ---- */

Test(vector_ops, bad_arguments)
{
    dcsr_context *context = test_context(1), *elsewhere = test_context(1);
    dcsr_vector *w = VECTOR(context, 1, 2, 3), *two = VECTOR(context, 1, 2),
                *far = VECTOR(elsewhere, 1, 2, 3);
    const dcsr_binary_op *plus = fp64(DCSR_BINARY_PLUS);
    const dcsr_unary_op *none = dcsr_unary_op_of(DCSR_UNARY_SQRT, DCSR_INT8);
    const dcsr_status invalid = DCSR_ERROR_INVALID_ARGUMENT, shape = DCSR_ERROR_DIMENSION_MISMATCH;
    double x = 1;
    TEST_REFUSED(invalid, "vector_ewise_add: w is NULL",
                 dcsr_vector_ewise_add(NULL, NULL, NULL, plus, w, w, NULL));
    TEST_REFUSED(invalid, "v is NULL", dcsr_vector_ewise_mult(w, NULL, NULL, plus, w, NULL, NULL));
    TEST_REFUSED(invalid, "operator is NULL", dcsr_vector_ewise_add(w, NULL, NULL, NULL, w, w, NULL));
    TEST_REFUSED(invalid, "operator is NULL", dcsr_vector_apply(w, NULL, NULL, none, w, NULL));
    TEST_REFUSED(invalid, "x is NULL", dcsr_vector_apply_first(w, NULL, NULL, plus, NULL, w, NULL));
    TEST_REFUSED(invalid, "y is NULL", dcsr_vector_apply_second(w, NULL, NULL, plus, w, NULL, NULL));
    TEST_REFUSED(invalid, "context", dcsr_vector_ewise_add(w, NULL, NULL, plus, w, far, NULL));
    TEST_REFUSED(invalid, "context", dcsr_vector_assign(w, far, NULL, w, NULL, NULL));
    TEST_REFUSED(shape, "2", dcsr_vector_ewise_add(w, NULL, NULL, plus, w, two, NULL));
    TEST_REFUSED(shape, "the mask has 2", dcsr_vector_assign(w, two, NULL, w, NULL, NULL));
    TEST_STATUS(shape, dcsr_vector_extract(w, NULL, NULL, w, &(dcsr_index_list){(uint64_t[]){0}, 1}, NULL));
    TEST_STATUS(shape, dcsr_vector_assign(w, NULL, NULL, two, &(dcsr_index_list){(uint64_t[]){0}, 1}, NULL));
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "indices[1] is 3",
                 dcsr_vector_assign(w, NULL, NULL, two, &(dcsr_index_list){(uint64_t[]){0, 3}, 2}, NULL));
    const dcsr_index_list no_array = {NULL, 3};
    TEST_REFUSED(invalid, "no array for its 3", dcsr_vector_extract(w, NULL, NULL, w, &no_array, NULL));
    TEST_REFUSED(invalid, "no array for its 3", dcsr_vector_assign(w, NULL, NULL, w, &no_array, NULL));
    TEST_REFUSED(invalid, "no array for its 3",
                 dcsr_vector_assign_scalar(w, NULL, NULL, &x, DCSR_FP64, &no_array, NULL));
    TEST_STATUS(invalid, dcsr_vector_assign_scalar(w, NULL, NULL, NULL, DCSR_FP64, NULL, NULL));
    TEST_STATUS(invalid, dcsr_vector_assign_scalar(w, NULL, NULL, &x, DCSR_PATTERN, NULL, NULL));
    TEST_STATUS(invalid, dcsr_vector_reduce(NULL, NULL, dcsr_monoid_of(DCSR_BINARY_PLUS, DCSR_FP64), w));
    TEST_STATUS(invalid, dcsr_vector_reduce(&x, NULL, dcsr_monoid_of(DCSR_BINARY_MINUS, DCSR_FP64), w));
    SHOWS(w, 1, 2, 3);
    dcsr_vector_destroy(w);
    dcsr_vector_destroy(two);
    dcsr_vector_destroy(far);
    test_close(context);
    test_close(elsewhere);
}

/* Every allocation is made to fail in turn: the output is then as it was. */
Test(vector_ops, survive_a_lack_of_memory)
{
    dcsr_context *context = test_context(1);
    dcsr_vector *u = VECTOR(context, 1, 2, NONE, NONE), *mask = VECTOR(context, 0, 1, NONE, 1);
    const dcsr_desc on_host = {.device = DCSR_DEVICE_CPU, .mask_complement = true};
    for (int forms = 0; forms < 16; forms++) {
        dcsr_vector_format form[2] = {forms & 1 ? DCSR_VECTOR_DENSE : DCSR_VECTOR_SPARSE,
                                      forms & 2 ? DCSR_VECTOR_DENSE : DCSR_VECTOR_SPARSE};
        TEST_OK(dcsr_vector_set_format(u, form[0]));
        TEST_OK(dcsr_vector_set_format(mask, forms & 4 ? DCSR_VECTOR_DENSE : DCSR_VECTOR_SPARSE));
        dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
        for (long n = 0; status != DCSR_OK; n++) {
            dcsr_vector *w = VECTOR(context, 5, 5, 5, NONE);
            TEST_OK(dcsr_vector_set_format(w, form[1]));
            dcsr_i_fail_allocations_after(n);
            status = forms & 8 ? dcsr_vector_assign(w, mask, NULL, u,
                                                    &(dcsr_index_list){(uint64_t[]){3, 2, 1, 0}, 4}, &on_host)
                               : dcsr_vector_ewise_add(w, mask, fp64(DCSR_BINARY_PLUS),
                                                       fp64(DCSR_BINARY_TIMES), u, u, &on_host);
            dcsr_i_fail_allocations_after(-1);
            if (status != DCSR_OK) {
                TEST_STATUS(DCSR_ERROR_OUT_OF_MEMORY, status);
                SHOWS(w, 5, 5, 5, NONE);
            } else if (forms & 8) { /* the mask is true at 0 and 2 */
                SHOWS(w, NONE, 5, 2, NONE);
            } else {
                SHOWS(w, 6, 5, 5, NONE);
            }
            dcsr_vector_destroy(w);
        }
    }
    dcsr_vector_destroy(u);
    dcsr_vector_destroy(mask);
    test_close(context);
}

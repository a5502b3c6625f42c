/* test_vector.c: vectors by hand: elements one by one, built, listed, in either form, lent and given. */
#include "dcsr/base/alloc.h"
#include <dcsr/vector.h>
#include "tests/support/support.h"
#include <stdlib.h>
#include <string.h>

static dcsr_vector *vector_of(dcsr_context *context, dcsr_type type, uint64_t size)
{
    dcsr_vector *vector = NULL;
    TEST_OK(dcsr_vector_create(&vector, context, type, size));
    return vector;
}

static dcsr_vector_info info_of(const dcsr_vector *vector)
{
    dcsr_vector_info info;
    TEST_OK(dcsr_vector_get_info(vector, &info));
    return info;
}

/* Whether the vector of fp64 has exactly these elements. */
static bool shows(const dcsr_vector *vector, uint64_t n, const uint64_t *indices, const double *values)
{
    uint64_t found = 0, index[128];
    double value[128];
    TEST_OK(dcsr_vector_get_entries(vector, 128, index, value, &found));
    return found == n && info_of(vector).nvals == n && !memcmp(index, indices, n * sizeof *index) &&
           !memcmp(value, values, n * sizeof *value);
}
#define SHOWS(vector, n, indices, values) cr_assert(shows(vector, n, (uint64_t[])indices, (double[])values))
#define LIST(...)   \
    {               \
        __VA_ARGS__ \
    }

Test(vector, elements_one_by_one_in_either_form)
{
    dcsr_context *context = test_context(1);
    for (int form = DCSR_VECTOR_AUTO; form <= DCSR_VECTOR_SPARSE; form++) {
        dcsr_vector *vector = vector_of(context, DCSR_FP64, 100);
        TEST_OK(dcsr_vector_set_format(vector, (dcsr_vector_format)form));
        static const uint64_t order[] = {99, 3, 50, 3, 64, 0};
        for (int k = 0; k < 6; k++) TEST_OK(dcsr_vector_set(vector, order[k], &(double){k}));
        SHOWS(vector, 5, LIST(0, 3, 50, 64, 99), LIST(5, 3, 2, 4, 0));
        if (form) cr_assert_eq(info_of(vector).format, (dcsr_vector_format)form);
        double value = -1;
        bool stored;
        TEST_OK(dcsr_vector_get(vector, 4, &value, &stored));
        cr_assert(!stored && value == -1);
        TEST_OK(dcsr_vector_get(vector, 64, &value, &stored));
        cr_assert(stored && value == 4);
        TEST_OK(dcsr_vector_get(vector, 64, NULL, &stored));
        TEST_OK(dcsr_vector_remove(vector, 3));
        TEST_OK(dcsr_vector_remove(vector, 3));
        TEST_OK(dcsr_vector_remove(vector, 99));
        SHOWS(vector, 3, LIST(0, 50, 64), LIST(5, 2, 4));
        TEST_OK(dcsr_vector_clear(vector));
        SHOWS(vector, 0, LIST(0), LIST(0));
        dcsr_vector_destroy(vector);
    }
    test_close(context);
}

Test(vector, build_combines_in_the_order_given)
{
    dcsr_context *context = test_context(1);
    dcsr_vector *vector = vector_of(context, DCSR_FP64, 70);
    const uint64_t indices[] = {65, 2, 65, 2, 2, 7};
    const double values[] = {1, 2, 3, 5, 4, 6};
    const double two[] = {[DCSR_POLICY_DEFAULT] = 4, [DCSR_POLICY_SUM] = 11, [DCSR_POLICY_MIN] = 2,
                          [DCSR_POLICY_MAX] = 5,     [DCSR_POLICY_LAST] = 4, [DCSR_POLICY_ANY] = 2};
    const double last[] = {[DCSR_POLICY_DEFAULT] = 3, [DCSR_POLICY_SUM] = 4,  [DCSR_POLICY_MIN] = 1,
                           [DCSR_POLICY_MAX] = 3,     [DCSR_POLICY_LAST] = 3, [DCSR_POLICY_ANY] = 1};
    for (int policy = 0; policy < DCSR_POLICY_COUNT; policy++) {
        if (policy == DCSR_POLICY_KEEP) continue;
        TEST_OK(dcsr_vector_build(vector, 6, indices, values, (dcsr_policy)policy));
        SHOWS(vector, 3, LIST(2, 7, 65), LIST(two[policy], 6, last[policy]));
    }
    TEST_OK(dcsr_vector_build(vector, 2, (uint64_t[]){1, 8}, values, DCSR_POLICY_SUM));
    SHOWS(vector, 2, LIST(1, 8), LIST(1, 2));
    TEST_OK(dcsr_vector_build(vector, 0, NULL, NULL, DCSR_POLICY_SUM));
    SHOWS(vector, 0, LIST(0), LIST(0));
    dcsr_vector_destroy(vector);
    test_close(context);
}

Test(vector, entries_stop_at_the_capacity)
{
    dcsr_context *context = test_context(1);
    dcsr_vector *vector = vector_of(context, DCSR_FP64, 9);
    TEST_OK(dcsr_vector_build(vector, 3, (uint64_t[]){1, 4, 8}, (double[]){1, 2, 3}, DCSR_POLICY_LAST));
    for (int form = DCSR_VECTOR_DENSE; form <= DCSR_VECTOR_SPARSE; form++) {
        TEST_OK(dcsr_vector_set_format(vector, (dcsr_vector_format)form));
        uint64_t indices[3] = {9, 9, 9}, n = 0;
        double values[3] = {9, 9, 9};
        TEST_OK(dcsr_vector_get_entries(vector, 2, indices, values, &n));
        cr_assert(n == 3 && indices[1] == 4 && indices[2] == 9 && values[1] == 2 && values[2] == 9);
        TEST_OK(dcsr_vector_get_entries(vector, 3, NULL, values, &n));
        TEST_OK(dcsr_vector_get_entries(vector, 3, indices, NULL, &n));
        cr_assert(indices[2] == 8 && values[2] == 3);
    }
    dcsr_vector_destroy(vector);
    test_close(context);
}

Test(vector, all_elements_as_an_array)
{
    static const dcsr_type types[] = {DCSR_UINT8, DCSR_INT16, DCSR_FP32, DCSR_FP64};
    static const uint64_t sizes[] = {0, 1, 63, 64, 65, 1000, 100001};
    dcsr_context *context = test_context(4);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            uint64_t n = sizes[s], missing, value, bytes = dcsr_type_size(types[t]);
            dcsr_vector *vector = vector_of(context, types[t], n);
            char *array = test_allocate(n + 1, bytes);
            test_encode(types[t], 99, &missing);
            TEST_OK(dcsr_vector_set_format(vector, DCSR_VECTOR_DENSE));
            for (uint64_t i = 0; i < n; i += 1 + i / 50) { /* some words full, some empty */
                test_encode(types[t], (double)(i % 90), &value);
                TEST_OK(dcsr_vector_set(vector, i, &value));
            }
            for (int form = DCSR_VECTOR_DENSE; form <= DCSR_VECTOR_SPARSE; form++) {
                TEST_OK(dcsr_vector_set_format(vector, (dcsr_vector_format)form));
                memset(array, 0x77, (n + 1) * bytes);
                TEST_OK(dcsr_vector_to_array(vector, &missing, array));
                for (uint64_t i = 0, next = 0; i < n; i++) {
                    double found = test_decode(types[t], array + i * bytes);
                    cr_assert_eq(found, i == next ? (double)(i % 90) : 99, "element %d", (int)i);
                    if (i == next) next += 1 + i / 50;
                }
                for (size_t b = 0; b < bytes; b++) cr_assert_eq(array[n * bytes + b], 0x77);
            }
            TEST_OK(dcsr_vector_fill(vector, &missing));
            TEST_OK(dcsr_vector_to_array(vector, &missing, array));
            for (uint64_t i = 0; i < n; i++) cr_assert_eq(test_decode(types[t], array + i * bytes), 99);
            free(array);
            dcsr_vector_destroy(vector);
        }
    dcsr_vector *vector = vector_of(context, DCSR_FP64, 2);
    double values[2] = {5, 5};
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "missing is NULL", dcsr_vector_to_array(vector, NULL, values));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "values is NULL", dcsr_vector_to_array(vector, values, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "vector is NULL", dcsr_vector_to_array(NULL, values, values));
    cr_assert(values[0] == 5 && values[1] == 5);
    dcsr_vector_destroy(vector);
    test_close(context);
}

Test(vector, takes_the_form_that_suits_it)
{
    dcsr_context *context = test_context(1);
    dcsr_vector *vector = vector_of(context, DCSR_INT32, 320);
    const int32_t one = 1;
    for (uint64_t i = 0; i <= 40; i++) {
        cr_assert_eq(info_of(vector).format, DCSR_VECTOR_SPARSE, "%llu", (unsigned long long)i);
        TEST_OK(dcsr_vector_set(vector, i, &one));
    }
    for (uint64_t i = 40; i >= 10; i--) { /* above 1/8; as it was down to 1/32 */
        cr_assert_eq(info_of(vector).format, DCSR_VECTOR_DENSE, "%llu", (unsigned long long)i);
        TEST_OK(dcsr_vector_remove(vector, i));
    }
    TEST_OK(dcsr_vector_remove(vector, 0));
    cr_assert_eq(info_of(vector).format, DCSR_VECTOR_SPARSE);
    cr_assert_eq(info_of(vector).nvals, 9);
    dcsr_vector_destroy(vector);
    test_close(context);
}

Test(vector, resize_drops_what_is_beyond)
{
    dcsr_context *context = test_context(1);
    for (int form = DCSR_VECTOR_DENSE; form <= DCSR_VECTOR_SPARSE; form++) {
        dcsr_vector *vector = vector_of(context, DCSR_FP64, 100), *copy = NULL;
        TEST_OK(dcsr_vector_set_format(vector, (dcsr_vector_format)form));
        TEST_OK(dcsr_vector_build(vector, 3, (uint64_t[]){1, 64, 70}, (double[]){1, 2, 3}, DCSR_POLICY_LAST));
        TEST_OK(dcsr_vector_resize(vector, 70));
        SHOWS(vector, 2, LIST(1, 64), LIST(1, 2));
        TEST_OK(dcsr_vector_duplicate(&copy, vector));
        TEST_OK(dcsr_vector_resize(vector, 200));
        TEST_OK(dcsr_vector_set(vector, 199, &(double){4}));
        SHOWS(vector, 3, LIST(1, 64, 199), LIST(1, 2, 4));
        SHOWS(copy, 2, LIST(1, 64), LIST(1, 2));
        cr_assert(info_of(copy).size == 70 && info_of(copy).format == (dcsr_vector_format)form);
        TEST_OK(dcsr_vector_resize(vector, 0));
        cr_assert_eq(info_of(vector).nvals, 0);
        dcsr_vector_destroy(vector);
        dcsr_vector_destroy(copy);
    }
    test_close(context);
}

static void count_release(void *values, void *user)
{
    (void)values;
    ++*(int *)user;
}

Test(vector, arrays_are_lent_and_given)
{
    dcsr_context *context = test_context(1);
    int released = 0;
    double array[] = {1, 2, 3};
    dcsr_vector *vector = NULL;
    void *values = NULL;
    TEST_OK(dcsr_vector_import(&vector, context, DCSR_FP64, 3, array, count_release, &released));
    SHOWS(vector, 3, LIST(0, 1, 2), LIST(1, 2, 3));
    TEST_OK(dcsr_vector_get_values(vector, &values));
    cr_assert_eq(values, array);
    TEST_OK(dcsr_vector_fill(vector, &array[2]));
    cr_assert(array[0] == 3 && array[1] == 3 && !released);
    TEST_OK(dcsr_vector_remove(vector, 1));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "1 of 3", dcsr_vector_get_values(vector, &values));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "", dcsr_vector_get_values_on_device(vector, &values));
    TEST_OK(dcsr_vector_clear(vector));
    cr_assert_eq(released, 1);
    dcsr_vector_destroy(vector);
    cr_assert_eq(released, 1);
    TEST_OK(dcsr_vector_import(&vector, context, DCSR_FP64, 3, array, NULL, NULL));
    TEST_OK(dcsr_vector_set(vector, 0, &(double){7}));
    cr_assert(array[0] == 7);
    dcsr_vector_destroy(vector);
    test_close(context);
}

Test(vector, refuses_what_it_cannot_do)
{
    dcsr_context *context = test_context(1);
    const dcsr_status invalid = DCSR_ERROR_INVALID_ARGUMENT, range = DCSR_ERROR_INDEX_OUT_OF_RANGE;
    dcsr_vector *vector = vector_of(context, DCSR_FP64, 10), *other = vector;
    double value = 1;
    bool stored;
    TEST_STATUS(invalid, dcsr_vector_create(NULL, context, DCSR_FP64, 1));
    TEST_REFUSED(invalid, "value types", dcsr_vector_create(&other, context, DCSR_PATTERN, 1));
    cr_assert(!other);
    TEST_REFUSED(DCSR_ERROR_TOO_LARGE, "2^32",
                 dcsr_vector_create(&other, context, DCSR_FP64, DCSR_MAX_SIZE + 1));
    TEST_STATUS(invalid, dcsr_vector_create(&other, NULL, DCSR_FP64, 1));
    TEST_REFUSED(invalid, "vector_set: vector is NULL", dcsr_vector_set(NULL, 0, &value));
    TEST_STATUS(invalid, dcsr_vector_set(vector, 0, NULL));
    TEST_REFUSED(range, "no element 10", dcsr_vector_set(vector, 10, &value));
    TEST_STATUS(range, dcsr_vector_get(vector, 10, &value, &stored));
    TEST_STATUS(invalid, dcsr_vector_get(vector, 1, &value, NULL));
    TEST_STATUS(range, dcsr_vector_remove(vector, 10));
    TEST_STATUS(invalid, dcsr_vector_set_format(vector, (dcsr_vector_format)3));
    TEST_STATUS(invalid, dcsr_vector_duplicate(NULL, vector));
    TEST_STATUS(invalid, dcsr_vector_fill(vector, NULL));
    TEST_STATUS(invalid, dcsr_vector_import(&other, context, DCSR_FP64, 3, NULL, NULL, NULL));
    TEST_STATUS(DCSR_ERROR_TOO_LARGE, dcsr_vector_resize(vector, DCSR_MAX_SIZE + 1));
    TEST_OK(dcsr_vector_set(vector, 4, &value));
    TEST_REFUSED(range, "entry 1 is for element 10",
                 dcsr_vector_build(vector, 2, (uint64_t[]){1, 10}, (double[]){1, 2}, DCSR_POLICY_LAST));
    TEST_STATUS(invalid, dcsr_vector_build(vector, 1, (uint64_t[]){1}, &value, DCSR_POLICY_KEEP));
    TEST_STATUS(invalid, dcsr_vector_build(vector, 1, NULL, &value, DCSR_POLICY_LAST));
    SHOWS(vector, 1, LIST(4), LIST(1));
    dcsr_vector_destroy(vector);
    dcsr_vector_destroy(NULL);
    test_close(context);
}

Test(vector, outlives_its_context)
{
    dcsr_context *context = test_context(1);
    dcsr_vector *vector = vector_of(context, DCSR_FP64, 10);
    TEST_OK(dcsr_vector_fill(vector, &(double){1}));
    dcsr_context_destroy(context);
    TEST_STATUS(DCSR_ERROR_CONTEXT_DESTROYED, dcsr_vector_clear(vector));
    dcsr_vector_destroy(vector);
}

/* Every allocation is made to fail in turn: the vector is then as it was. */
Test(vector, survives_a_lack_of_memory)
{
    dcsr_context *context = test_context(1);
    const uint64_t indices[] = {5, 3, 3};
    const double values[] = {1, 2, 3};
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    for (long n = 0; status != DCSR_OK; n++) {
        dcsr_vector *vector = vector_of(context, DCSR_FP64, 100), *copy = NULL;
        TEST_OK(dcsr_vector_set(vector, 9, &values[0]));
        dcsr_i_fail_allocations_after(n);
        status = dcsr_vector_duplicate(&copy, vector);
        if (status == DCSR_OK) status = dcsr_vector_build(vector, 3, indices, values, DCSR_POLICY_SUM);
        dcsr_i_fail_allocations_after(-1);
        cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY);
        if (status == DCSR_OK)
            SHOWS(vector, 2, LIST(3, 5), LIST(5, 1));
        else
            SHOWS(vector, 1, LIST(9), LIST(1));
        dcsr_vector_destroy(vector);
        dcsr_vector_destroy(copy);
    }
    test_close(context);
}

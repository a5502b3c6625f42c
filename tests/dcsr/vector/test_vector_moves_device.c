/* test_vector_moves_device.c: where the elements of vectors are: they come to whoever needs them, what is
 * newest counts, several threads may need them at once. */
#include "dcsr/vector/vector_cuda.h"
#include "dcsr/vector/vector_data.h"
#include <dcsr/vector_ops.h>
#include "tests/support/support_device.h"

static double element(const dcsr_vector *vector, uint64_t index, bool *stored)
{
    double value = -1;
    TEST_OK(dcsr_vector_get(vector, index, &value, stored));
    return value;
}

Test(vector_moves_device, elements_move_when_they_are_needed)
{
    enum { SIZE = 2000 };
    open_device();
    NEEDS_GPU();
    dcsr_vector *x, *y;
    double one = 1, five = 5, *values;
    bool stored;
    const dcsr_desc there = {.device = DCSR_DEVICE_CUDA}, here = {.device = DCSR_DEVICE_CPU}, either = {0};
    const dcsr_binary_op *plus = dcsr_binary_op_of(DCSR_BINARY_PLUS, DCSR_FP64);
    TEST_OK(dcsr_vector_create(&x, context, DCSR_FP64, SIZE));
    TEST_OK(dcsr_vector_create(&y, context, DCSR_FP64, SIZE));
    TEST_OK(dcsr_vector_fill(x, &one));
    cr_assert(!dcsr_i_cuda_vector_is_there(x));

    TEST_OK(dcsr_vector_apply_second(y, NULL, NULL, plus, x, &five, &there));
    cr_assert(dcsr_i_vector_is_ahead(y) && !dcsr_i_vector_is_ahead(x) && dcsr_i_cuda_vector_is_there(x));
    dcsr_vector_info info;
    TEST_OK(dcsr_vector_get_info(y, &info));
    cr_assert(info.nvals == SIZE && info.format == DCSR_VECTOR_DENSE && dcsr_i_vector_is_ahead(y));

    dcsr_vector *copy;
    TEST_OK(dcsr_vector_duplicate(&copy, y));
    cr_assert(dcsr_i_vector_is_ahead(copy) && dcsr_i_vector_is_ahead(y));
    cr_assert(element(copy, SIZE / 2, &stored) == 6 && stored);
    dcsr_vector_destroy(copy);

    /* What is newest there stays there, where the size is worth it. */
    TEST_OK(dcsr_vector_ewise_add(y, NULL, NULL, plus, y, x, &either));
    cr_assert(dcsr_i_vector_is_ahead(y));
    cr_assert(element(y, SIZE - 1, &stored) == 7 && stored);
    cr_assert(!dcsr_i_vector_is_ahead(y) && dcsr_i_cuda_vector_is_there(y), "both have it");
    TEST_OK(dcsr_vector_ewise_add(y, NULL, NULL, plus, y, x, &here));
    cr_assert(!dcsr_i_cuda_vector_is_there(y) && element(y, 0, &stored) == 8);

    /* Changes on the host count there. */
    TEST_OK(dcsr_vector_set(x, 3, &five));
    TEST_OK(dcsr_vector_remove(x, 4));
    TEST_OK(dcsr_vector_apply_second(y, NULL, NULL, plus, x, &one, &there));
    cr_assert(element(y, 3, &stored) == 6 && stored && element(y, 2, &stored) == 2);
    element(y, 4, &stored);
    cr_assert(!stored);
    TEST_OK(dcsr_vector_set(x, 4, &one));
    TEST_OK(dcsr_vector_apply_second(x, NULL, NULL, plus, x, &one, &there));
    TEST_OK(dcsr_vector_get_values(x, (void **)&values));
    values[0] = 40;
    TEST_OK(dcsr_vector_apply_second(y, NULL, NULL, plus, x, &one, &there));
    cr_assert(element(y, 0, &stored) == 41 && element(y, 3, &stored) == 7);

    TEST_OK(dcsr_vector_clear(y));
    cr_assert(!dcsr_i_cuda_vector_is_there(y));
    TEST_OK(dcsr_vector_apply_second(y, NULL, NULL, plus, x, &one, &there));
    TEST_OK(dcsr_vector_resize(y, 10));
    cr_assert(element(y, 0, &stored) == 41 && !dcsr_i_cuda_vector_is_there(y));
    TEST_OK(dcsr_vector_apply_second(x, NULL, NULL, plus, x, &one, &there));
    dcsr_vector_destroy(x);
    dcsr_vector_destroy(y);
    close_device();
}

/* Values that are lent where kernels are: what is written there is what the vector has. */
Test(vector_moves_device, values_are_lent_on_the_device)
{
    enum { SIZE = 300 };
    open_device();
    NEEDS_GPU();
    dcsr_vector *x, *empty;
    double two = 2, *here, sent[SIZE];
    void *there, *again;
    bool stored;
    TEST_OK(dcsr_vector_create(&x, context, DCSR_FP64, SIZE));
    TEST_OK(dcsr_vector_create(&empty, context, DCSR_FP64, 0));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "300 of 300", dcsr_vector_get_values_on_device(x, &there));
    TEST_OK(dcsr_vector_fill(x, &two));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "values is NULL", dcsr_vector_get_values_on_device(x, NULL));
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    long n = 0;
    for (; status; n++) {
        dcsr_i_fail_allocations_after(n);
        status = dcsr_vector_get_values_on_device(x, &there);
        dcsr_i_fail_allocations_after(-1);
        cr_assert(!status || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
        cr_assert(dcsr_i_vector_is_ahead(x) == !status);
    }
    cr_assert_gt(n, 1);
    cr_assert_eq(dcsr_i_cuda_where(device, there), DCSR_CUDA_ON_DEVICE);
    TEST_OK(dcsr_vector_get_values_on_device(x, &again));
    cr_assert_eq(again, there, "nothing is copied");
    for (int i = 0; i < SIZE; i++) sent[i] = i;
    dcsr_i_cuda_copy(stream, there, sent, sizeof sent);
    TEST_OK(dcsr_i_cuda_wait(stream, "a test"));
    cr_assert(element(x, 7, &stored) == 7 && stored && !dcsr_i_vector_is_ahead(x));
    TEST_OK(dcsr_vector_get_values(x, (void **)&here));
    here[7] = 70; /* which the device has not */
    TEST_OK(dcsr_vector_get_values_on_device(x, &there));
    dcsr_i_cuda_copy(stream, sent, there, sizeof sent);
    TEST_OK(dcsr_i_cuda_wait(stream, "a test"));
    cr_assert(sent[7] == 70 && sent[8] == 8);
    TEST_OK(dcsr_vector_get_values_on_device(empty, &there));
    dcsr_vector_destroy(x);
    dcsr_vector_destroy(empty);
    close_device();
}

/* The form is decided by how many elements there are, and made when it is asked for. */
Test(vector_moves_device, forms_follow_the_number_of_elements)
{
    enum { SIZE = 6400 };
    open_device();
    NEEDS_GPU();
    static uint64_t indices[SIZE];
    static double values[SIZE];
    dcsr_vector *x, *y;
    double one = 1;
    dcsr_vector_info info;
    const dcsr_desc there = {.device = DCSR_DEVICE_CUDA};
    TEST_OK(dcsr_vector_create(&x, context, DCSR_FP64, SIZE));
    TEST_OK(dcsr_vector_create(&y, context, DCSR_FP64, SIZE));
    TEST_OK(dcsr_vector_fill(x, &one));
    for (int64_t last = 0; last < SIZE; last = last * 3 + 1) {
        TEST_OK(dcsr_vector_select(y, NULL, NULL, dcsr_index_op_of(DCSR_INDEX_ROW_LE, DCSR_FP64), x, &last,
                                   &there));
        TEST_OK(dcsr_vector_get_info(y, &info));
        cr_assert(dcsr_i_vector_is_ahead(y) && info.nvals == (uint64_t)last + 1);
        cr_assert_eq(info.format, info.nvals < SIZE / 32 ? DCSR_VECTOR_SPARSE : DCSR_VECTOR_DENSE);
        uint64_t n;
        TEST_OK(dcsr_vector_get_entries(y, SIZE, indices, values, &n));
        cr_assert_eq(n, info.nvals);
        for (uint64_t k = 0; k < n; k++) cr_assert(indices[k] == k && values[k] == 1);
    }
    dcsr_vector_destroy(x);
    dcsr_vector_destroy(y);
    close_device();
}

/* ---- Several threads ---- */

enum { LENGTH = 3000, READERS = 3 };

typedef struct reader {
    const dcsr_vector *dense, *sparse; /* the same elements */
    pthread_t thread;
    int number;
    double sum;
    dcsr_status status;
} reader;

/* Reads what others read, here and there, in either form. */
static dcsr_status read_both(reader *r)
{
    const dcsr_binary_op *plus = dcsr_binary_op_of(DCSR_BINARY_PLUS, DCSR_FP64);
    dcsr_desc desc = {.device = r->number % 2 ? DCSR_DEVICE_CUDA : DCSR_DEVICE_CPU};
    dcsr_vector *w;
    DCSR_TRY(dcsr_vector_create(&w, context, DCSR_FP64, LENGTH));
    dcsr_status status = dcsr_vector_ewise_add(w, NULL, NULL, plus, r->dense, r->sparse, &desc);
    desc.device = r->number % 2 ? DCSR_DEVICE_CPU : DCSR_DEVICE_CUDA;
    if (status == DCSR_OK) status = dcsr_vector_ewise_mult(w, NULL, plus, plus, r->sparse, r->dense, &desc);
    if (status == DCSR_OK)
        status = dcsr_vector_reduce(&r->sum, NULL, dcsr_monoid_of(DCSR_BINARY_PLUS, DCSR_FP64), w);
    dcsr_vector_destroy(w);
    return status;
}

static void *read_in_thread(void *argument)
{
    reader *r = (reader *)argument;
    r->status = read_both(r);
    return NULL;
}

Test(vector_moves_device, several_threads_read_one_vector)
{
    open_device();
    NEEDS_GPU();
    for (int round = 0; round < TEST_SIZE(40, 20, 10); round++) {
        dcsr_vector *dense, *sparse;
        double one = 1;
        int64_t every = 0;
        const dcsr_desc there = {.device = DCSR_DEVICE_CUDA};
        TEST_OK(dcsr_vector_create(&dense, context, DCSR_FP64, LENGTH));
        TEST_OK(dcsr_vector_set_format(dense, DCSR_VECTOR_DENSE));
        TEST_OK(dcsr_vector_fill(dense, &one));
        TEST_OK(dcsr_vector_select(dense, NULL, NULL, dcsr_index_op_of(DCSR_INDEX_ROW_GT, DCSR_FP64), dense,
                                   &every, &there));
        TEST_OK(dcsr_vector_duplicate(&sparse, dense));
        TEST_OK(dcsr_vector_set_format(sparse, DCSR_VECTOR_SPARSE));
        if (round % 2) { /* the device has the newest of both */
            const dcsr_binary_op *times = dcsr_binary_op_of(DCSR_BINARY_TIMES, DCSR_FP64);
            TEST_OK(dcsr_vector_apply_second(sparse, NULL, NULL, times, sparse, &one, &there));
            TEST_OK(dcsr_vector_apply_second(dense, NULL, NULL, times, dense, &one, &there));
        }
        reader readers[READERS];
        for (int t = 0; t < READERS; t++) {
            readers[t] = (reader){.dense = dense, .sparse = sparse, .number = t};
            cr_assert(!pthread_create(&readers[t].thread, NULL, read_in_thread, &readers[t]));
        }
        for (int t = 0; t < READERS; t++) {
            pthread_join(readers[t].thread, NULL);
            cr_assert(readers[t].status == DCSR_OK && readers[t].sum == 4 * (LENGTH - 1), "reader %d: %g", t,
                      readers[t].sum);
        }
        dcsr_vector_destroy(dense);
        dcsr_vector_destroy(sparse);
    }
    close_device();
}

/* test_multi_insert_device.c: batches that are staged on one of several GPUs, from the host or from arrays there, and
 * split by it. In the emulator a batch from the host is staged from 513 entries on. */
#include "dcsr/base/alloc.h"
#include "dcsr/base/cuda.h"
#include "dcsr/base/runtime.h"
#include "tests/support/support_multi.h"
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 130, COLS = 300, MOST = 2000 };

TestSuite(multi_insert, .init = set_devices);

typedef struct batch {
    uint64_t n, rows[MOST], cols[MOST];
    char values[MOST * 8];
} batch;

/* Most entries in few rows, so that borders move; entries come twice, and the last is to stay. */
static void fill(batch *b, test_random *random, dcsr_type type, uint64_t n)
{
    b->n = n;
    for (uint64_t i = 0; i < n; i++) {
        b->rows[i] = test_random_below(random, test_random_once_in(random, 2) ? ROWS : 9);
        b->cols[i] = test_random_below(random, COLS);
        if (type != DCSR_PATTERN)
            test_encode(type, (double)test_random_below(random, 100), b->values + i * dcsr_type_size(type));
    }
}

static dcsr_status change(dcsr_multi_matrix *matrix, dcsr_type type, uint64_t n, const void *const array[3],
                          bool insert, bool on_device, void *stream, dcsr_ticket **ticket)
{
    const uint64_t *rows = array[0], *cols = array[1];
    const void *values = type == DCSR_PATTERN ? NULL : array[2];
    if (!on_device)
        return insert ? dcsr_multi_matrix_insert(matrix, n, rows, cols, values, ticket)
                      : dcsr_multi_matrix_remove(matrix, n, rows, cols, ticket);
    return insert ? dcsr_multi_matrix_insert_device(matrix, n, rows, cols, values, stream, ticket)
                  : dcsr_multi_matrix_remove_device(matrix, n, rows, cols, stream, ticket);
}

/* From arrays on a device, which are overwritten as soon as the call returns. */
static dcsr_status change_there(dcsr_multi_matrix *matrix, dcsr_context *context, dcsr_type type, batch *b,
                                bool insert, dcsr_ticket **ticket)
{
    const void *from[] = {b->rows, b->cols, b->values};
    const size_t bytes[] = {b->n * sizeof *b->rows, b->n * sizeof *b->cols, b->n * dcsr_type_size(type)};
    void *there[3];
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(context);
    cr_assert_not_null(stream);
    for (int i = 0; i < 3; i++) {
        there[i] = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, bytes[i], 1);
        cr_assert_not_null(there[i]);
        dcsr_i_cuda_copy(stream, there[i], from[i], bytes[i]);
    }
    dcsr_status status = change(matrix, type, b->n, (const void *const[]){there[0], there[1], there[2]},
                                insert, true, dcsr_i_cuda_handle(stream), ticket);
    for (int i = 0; i < 3; i++) {
        dcsr_i_cuda_fill(stream, there[i], 0xff, bytes[i]);
        dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, there[i], bytes[i], 1);
    }
    TEST_OK(dcsr_i_cuda_wait(stream, "giving a batch"));
    dcsr_i_stream_return(context, stream);
    return status;
}

static void expect(dcsr_multi_matrix *matrix, const oracle *model)
{
    dcsr_multi_view *view;
    dcsr_multi_view_info info;
    TEST_OK(dcsr_multi_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_LATEST));
    TEST_OK(dcsr_multi_view_get_info(view, &info));
    for (uint64_t k = 0; k < info.parts; k++) {
        oracle part = *model;
        char why[TEST_WHY];
        dcsr_view *shown;
        part.rows = info.border[k + 1] - info.border[k];
        part.row = model->row + info.border[k];
        TEST_OK(dcsr_multi_view_get_part(view, k, &shown));
        cr_assert(test_view_matches(shown, &part, 0, why), "part %" PRIu64 ": %s", k, why);
    }
    dcsr_multi_view_destroy(view);
}

static void run(uint64_t seed, int count)
{
    static const dcsr_type types[] = {DCSR_PATTERN, DCSR_FP64, DCSR_INT16};
    static batch b;
    test_random random = {seed};
    const dcsr_type type = types[seed % 3];
    const dcsr_policy policy = type == DCSR_PATTERN ? DCSR_POLICY_ANY : DCSR_POLICY_LAST;
    dcsr_multi *devices = test_devices(count, 2);
    dcsr_multi_info info;
    dcsr_multi_matrix *matrix;
    oracle model;
    TEST_OK(dcsr_multi_get_info(devices, &info));
    TEST_OK(dcsr_multi_matrix_create(&matrix, devices, type, ROWS, COLS,
                                     &(dcsr_matrix_options){.policy = policy}));
    oracle_create(&model, type, policy, ROWS, COLS);
    for (int step = 0; step < 12; step++) {
        const bool insert = !test_random_once_in(&random, 4), there = test_random_once_in(&random, 2);
        fill(&b, &random, type, test_random_below(&random, test_random_once_in(&random, 3) ? 500 : MOST));
        if (insert)
            oracle_insert(&model, b.n, b.rows, b.cols, type == DCSR_PATTERN ? NULL : b.values);
        else
            oracle_remove(&model, b.n, b.rows, b.cols);
        if (there)
            TEST_OK(change_there(matrix, info.context[test_random_below(&random, info.devices)], type, &b,
                                 insert, NULL));
        else
            TEST_OK(change(matrix, type, b.n, (const void *const[]){b.rows, b.cols, b.values}, insert, false,
                           NULL, NULL));
        if (test_random_once_in(&random, 6)) TEST_OK(dcsr_multi_matrix_balance(matrix, NULL));
        if (test_random_once_in(&random, 4)) expect(matrix, &model);
    }
    TEST_OK(dcsr_multi_matrix_wait(matrix));
    expect(matrix, &model);
    oracle_destroy(&model);
    dcsr_multi_matrix_destroy(matrix);
    dcsr_multi_destroy(devices);
}

static bool has_gpu(void)
{
    return test_device_of_auto() == DCSR_DEVICE_CUDA;
}

Test(multi_insert, follows_its_changes)
{
    if (!has_gpu()) cr_skip_test("there is no GPU");
    for (uint64_t seed = 1; seed <= (uint64_t)TEST_SIZE(12, 6, 3); seed++) {
        test_seed_begins(seed);
        run(seed, 1 + (int)(seed % MOST_DEVICES));
    }
}

/* ---- Several threads ---- */

enum { GIVERS = 3, GIVEN = 6 };

/* Rows of its own, so that the order of threads does not matter; where to give batches from, in turns. */
typedef struct giver {
    dcsr_multi_matrix *matrix;
    dcsr_context *context[GIVERS];
    batch batch[GIVEN];
} giver;

static void *give_all(void *argument)
{
    giver *g = argument;
    for (int i = 0; i < GIVEN; i++)
        TEST_OK(i % 2 ? change_there(g->matrix, g->context[i / 2], DCSR_FP64, &g->batch[i], true, NULL)
                      : change(g->matrix, DCSR_FP64, g->batch[i].n,
                               (const void *const[]){g->batch[i].rows, g->batch[i].cols, g->batch[i].values},
                               true, false, NULL, NULL));
    return NULL;
}

/* What waits is applied together, on whichever devices it is, and each thread's batches in its order. */
Test(multi_insert, takes_batches_of_several_threads)
{
    if (!has_gpu()) cr_skip_test("there is no GPU");
    static giver givers[GIVERS];
    pthread_t thread[GIVERS];
    test_random random = {12};
    dcsr_multi *devices = test_devices(3, 2);
    dcsr_multi_info info;
    dcsr_multi_matrix_info told;
    dcsr_multi_matrix *matrix;
    oracle model;
    TEST_OK(dcsr_multi_get_info(devices, &info));
    TEST_OK(dcsr_multi_matrix_create(&matrix, devices, DCSR_FP64, ROWS, COLS,
                                     &(dcsr_matrix_options){.policy = DCSR_POLICY_LAST}));
    oracle_create(&model, DCSR_FP64, DCSR_POLICY_LAST, ROWS, COLS);
    for (uint64_t t = 0; t < GIVERS; t++) {
        givers[t].matrix = matrix;
        for (uint64_t k = 0; k < GIVERS; k++) givers[t].context[k] = info.context[k % info.devices];
        for (int i = 0; i < GIVEN; i++) {
            batch *b = &givers[t].batch[i];
            fill(b, &random, DCSR_FP64, 600);
            for (uint64_t e = 0; e < b->n; e++) b->rows[e] = b->rows[e] / GIVERS * GIVERS + t;
            for (uint64_t e = 0; e < b->n; e++) b->rows[e] = b->rows[e] < ROWS ? b->rows[e] : t;
            oracle_insert(&model, b->n, b->rows, b->cols, b->values);
        }
    }
    for (int t = 0; t < GIVERS; t++) cr_assert_eq(pthread_create(&thread[t], NULL, give_all, &givers[t]), 0);
    for (int t = 0; t < GIVERS; t++) pthread_join(thread[t], NULL);
    TEST_OK(dcsr_multi_matrix_wait(matrix));
    TEST_OK(dcsr_multi_matrix_get_info(matrix, &told));
    cr_assert_eq(told.whole.batches, GIVERS * GIVEN);
    cr_assert(told.changes >= 1 && told.changes <= GIVERS * GIVEN);
    cr_assert(told.splitting_seconds > 0 && told.applying_seconds > 0);
    expect(matrix, &model);
    oracle_destroy(&model);
    dcsr_multi_matrix_destroy(matrix);
    dcsr_multi_destroy(devices);
}

Test(multi_insert, says_what_is_wrong)
{
    if (!has_gpu()) cr_skip_test("there is no GPU");
    static batch b;
    test_random random = {3};
    dcsr_multi *devices = test_devices(2, 2);
    dcsr_multi_info info;
    dcsr_multi_matrix *matrix;
    dcsr_ticket *ticket;
    oracle model;
    TEST_OK(dcsr_multi_get_info(devices, &info));
    TEST_OK(dcsr_multi_matrix_create(&matrix, devices, DCSR_PATTERN, ROWS, COLS, NULL));
    oracle_create(&model, DCSR_PATTERN, DCSR_POLICY_ANY, ROWS, COLS);
    fill(&b, &random, DCSR_PATTERN, 700);
    TEST_OK(change_there(matrix, info.context[0], DCSR_PATTERN, &b, true, NULL));
    oracle_insert(&model, b.n, b.rows, b.cols, NULL);
    b.rows[77] = ROWS;
    TEST_OK(change_there(matrix, info.context[info.devices - 1], DCSR_PATTERN, &b, true, &ticket));
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "dcsr_multi_matrix_insert_device: entry 77 of 700 is (130, ",
                 dcsr_ticket_wait(ticket));
    dcsr_ticket_destroy(ticket);
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "entry 77 of 700 is (130, ",
                 dcsr_multi_matrix_insert(matrix, b.n, b.rows, b.cols, NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT,
                 "rows is in the memory of the host; call dcsr_multi_matrix_insert",
                 dcsr_multi_matrix_insert_device(matrix, 3, b.rows, b.cols, NULL, NULL, NULL));
    expect(matrix, &model);
    oracle_destroy(&model);
    dcsr_multi_matrix_destroy(matrix);
    dcsr_multi_destroy(devices);
}

Test(multi_insert, without_memory_nothing_is_changed)
{
    if (!has_gpu()) cr_skip_test("there is no GPU");
    static batch b;
    test_random random = {4};
    dcsr_multi *devices = test_devices(2, 2);
    dcsr_multi_matrix *matrix;
    oracle model;
    TEST_OK(dcsr_multi_matrix_create(&matrix, devices, DCSR_FP64, ROWS, COLS,
                                     &(dcsr_matrix_options){.policy = DCSR_POLICY_LAST}));
    oracle_create(&model, DCSR_FP64, DCSR_POLICY_LAST, ROWS, COLS);
    fill(&b, &random, DCSR_FP64, 600);
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    for (long n = 0; status != DCSR_OK; n += TEST_SIZE(1, 3, 9)) {
        cr_assert_lt(n, 3000);
        expect(matrix, &model);
        dcsr_i_fail_allocations_after(n);
        status = dcsr_multi_matrix_insert(matrix, b.n, b.rows, b.cols, b.values, NULL);
        if (status == DCSR_OK) status = dcsr_multi_matrix_wait(matrix);
        dcsr_i_fail_allocations_after(-1);
        cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
    }
    oracle_insert(&model, b.n, b.rows, b.cols, b.values);
    expect(matrix, &model);
    oracle_destroy(&model);
    dcsr_multi_matrix_destroy(matrix);
    dcsr_multi_destroy(devices);
}

#if TEST_EMULATOR
/* A device that is lost while it stages, splits or gets its share: the batch is refused, and nobody waits for ever. A
 * process cannot use it again, so each case has one of its own. */
static void insert_and_lose(int device, long operations)
{
    NEEDS_EMULATOR();
    static batch b;
    test_random random = {8};
    dcsr_multi *devices = test_devices(3, 2);
    dcsr_multi_matrix *matrix;
    TEST_OK(dcsr_multi_matrix_create(&matrix, devices, DCSR_FP64, ROWS, COLS, NULL));
    fill(&b, &random, DCSR_FP64, 900);
    simt_fail_device_after(device, operations);
    dcsr_status status = DCSR_OK;
    for (int i = 0; i < 3 && status == DCSR_OK; i++) {
        status = dcsr_multi_matrix_insert(matrix, b.n, b.rows, b.cols, b.values, NULL);
        if (status == DCSR_OK) status = dcsr_multi_matrix_wait(matrix);
    }
    simt_fail_device_after(device, -1);
    cr_assert(status == DCSR_OK || status == DCSR_ERROR_DEVICE || status == DCSR_ERROR_OUT_OF_MEMORY, "%s",
              dcsr_thread_error());
    dcsr_multi_matrix_destroy(matrix);
    dcsr_multi_destroy(devices);
}

#define LOST(n)                                  \
    Test(multi_insert, loses_a_device_after_##n) \
    {                                            \
        insert_and_lose((n) % 2, n);             \
    }
LOST(1)
LOST(4)
LOST(9)
LOST(12)
LOST(20)
LOST(31)
LOST(60)
LOST(95)
#endif

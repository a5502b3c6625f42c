/* test_stage_device.c: how batches from the host get to a device (upload_cuda.c, unload.cu), and which batches are
 * applied there together. In the emulator a batch is large from 513 entries on, and a piece is one of 64 to
 * 256. */
#include "dcsr/store/cuda/store_cuda.h"
#include "tests/support/support_batches.h"
#if TEST_EMULATOR
#include "tests/simt/simt_control.h"
#endif
#include <pthread.h>

static dcsr_status give_from_host(dcsr_matrix *matrix, const batch *b, dcsr_type type, bool insert,
                                  dcsr_ticket **ticket)
{
    return insert ? dcsr_matrix_insert(matrix, b->n, b->rows, b->cols, values_of(b, type), ticket)
                  : dcsr_matrix_remove(matrix, b->n, b->rows, b->cols, ticket);
}

/* The caller may do with its arrays what it likes once the call has returned. */
static void overwrite(batch *b)
{
    memset(b->rows, 0xff, sizeof b->rows);
    memset(b->cols, 0xff, sizeof b->cols);
    memset(b->values, 0xff, sizeof b->values);
}

/* ---- Pieces ---- */

Test(pieces, make_up_the_batch_whatever_its_type)
{
    static const size_t sizes[] = {513, 640, 1025, MOST};
    open_device();
    NEEDS_GPU();
    batch *b = test_allocate(1, sizeof *b);
    test_random random = {1};
    for (int type = 0; type < DCSR_TYPE_COUNT; type += TEST_VARIANT(1, 3, 5)) {
        oracle model;
        dcsr_policy policy = type % 2 ? DCSR_POLICY_LAST : DCSR_POLICY_KEEP;
        dcsr_matrix *matrix = test_matrix(context, (dcsr_type)type, ROWS, COLS, policy);
        oracle_create(&model, (dcsr_type)type, policy, ROWS, COLS);
        for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
            fill(b, &random, (dcsr_type)type, sizes[i / 2]);
            TEST_OK(give_from_host(matrix, b, (dcsr_type)type, i % 2 == 0, NULL));
            follow(&model, b, i % 2 == 0);
            overwrite(b);
        }
        TEST_OK(dcsr_matrix_wait(matrix));
        TEST_MATCHES(matrix, &model);
        cr_assert_eq(test_info(matrix).pending_bytes, 0);
        oracle_destroy(&model);
        dcsr_matrix_destroy(matrix);
    }
    free(b);
    close_device();
}

/* Threads, half of the context's, pack and send in any order; each has two slots, through which many pieces
 * go. */
Test(pieces, are_packed_by_several_threads)
{
    enum { N = TEST_EMULATOR ? 50000 : 300000, WIDE = 40000 };
    if (!dcsr_i_cuda_usable(test_device_number())) cr_skip_test("there is no GPU");
    dcsr_context *own;
    TEST_OK(dcsr_context_create(&own, &(dcsr_context_options){.device = DCSR_DEVICE_CUDA, .threads = 4}));
    dcsr_matrix *matrix = test_matrix(own, DCSR_UINT16, ROWS, WIDE, DCSR_POLICY_LAST);
    uint64_t *rows = test_allocate(N, sizeof *rows), *cols = test_allocate(N, sizeof *cols);
    uint16_t *values = test_allocate(N, sizeof *values);
    oracle model;
    oracle_create(&model, DCSR_UINT16, DCSR_POLICY_LAST, ROWS, WIDE);
    test_random random = {2};
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < N; i++) {
            /* In the second round in ascending order: neither sorted nor combined. */
            rows[i] = round ? i / (N / 50) : test_random_below(&random, ROWS);
            cols[i] = round ? i % (N / 50) * 3 : test_random_below(&random, WIDE);
            values[i] = (uint16_t)test_random_below(&random, 1000);
        }
        TEST_OK(dcsr_matrix_insert(matrix, N, rows, cols, values, NULL));
        oracle_insert(&model, N, rows, cols, values);
    }
    TEST_OK(dcsr_matrix_wait(matrix));
    TEST_MATCHES(matrix, &model);
    free(rows), free(cols), free(values);
    oracle_destroy(&model);
    dcsr_matrix_destroy(matrix);
    test_close(own);
}

#if TEST_EMULATOR
/* Threads that wait for a slot whose kernel never runs learn of it, and the call says so. A process cannot use a device
 * that is lost again, so each case has one of its own. */
static void lose(long operations)
{
    enum { N = 20000 };
    if (!dcsr_i_cuda_usable(test_device_number())) cr_skip_test("there is no GPU");
    if (TEST_THREAD_SANITIZER) cr_skip_test("devices are not lost under ThreadSanitizer");
    dcsr_context *own;
    TEST_OK(dcsr_context_create(&own, &(dcsr_context_options){.device = DCSR_DEVICE_CUDA, .threads = 6}));
    dcsr_matrix *matrix = test_matrix(own, DCSR_FP32, ROWS, COLS, DCSR_POLICY_LAST);
    uint64_t *rows = test_allocate(N, sizeof *rows), *cols = test_allocate(N, sizeof *cols);
    float *values = test_allocate(N, sizeof *values);
    test_random random = {6};
    for (size_t i = 0; i < N; i++) {
        rows[i] = test_random_below(&random, ROWS);
        cols[i] = test_random_below(&random, COLS);
        values[i] = (float)i;
    }
    simt_fail_device_after(0, operations);
    dcsr_status status = dcsr_matrix_insert(matrix, N, rows, cols, values, NULL);
    if (!status) status = dcsr_matrix_wait(matrix);
    simt_fail_device_after(0, -1);
    cr_assert(status == DCSR_ERROR_DEVICE || status == DCSR_ERROR_OUT_OF_MEMORY, "%d: %s", status,
              dcsr_thread_error());
    free(rows), free(cols), free(values);
    dcsr_matrix_destroy(matrix);
    dcsr_context_destroy(own);
}

#define LOST(operations)                                      \
    Test(pieces, of_a_device_that_is_lost_after_##operations) \
    {                                                         \
        lose(operations);                                     \
    }
LOST(1)
LOST(4)
LOST(9)
LOST(20)
LOST(45)
LOST(70)
#endif

Test(pieces, with_an_entry_outside_leave_nothing)
{
    const struct {
        size_t at, and_at;
        const char *says;
    } cases[] = {{0, 2000, "entry 0 of 2500 is (70, 1), outside the 70 x 300 matrix"},
                 {1300, 1301, "entry 1300 of 2500 is (70, 1)"},
                 {2499, 2499, "entry 2499 of 2500 is (70, 1)"}};
    open_device();
    NEEDS_GPU();
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT32, ROWS, COLS, DCSR_POLICY_LAST);
    batch *b = test_allocate(1, sizeof *b);
    test_random random = {3};
    TEST_INSERT(matrix, {1, 1, 1});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int insert = 0; insert < 2; insert++) {
            dcsr_ticket *ticket = (dcsr_ticket *)b;
            fill(b, &random, DCSR_INT32, 2500);
            b->rows[cases[i].at] = b->rows[cases[i].and_at] = ROWS;
            b->cols[cases[i].at] = b->cols[cases[i].and_at] = 1;
            TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, cases[i].says,
                         give_from_host(matrix, b, DCSR_INT32, insert, &ticket));
            cr_assert(test_says(insert ? "dcsr_matrix_insert:" : "dcsr_matrix_remove:"));
            cr_assert_null(ticket);
            cr_assert_eq(test_info(matrix).pending_bytes, 0);
        }
    TEST_OK(dcsr_matrix_wait(matrix));
    TEST_SHOWS(matrix, {1, 1, 1});
    free(b);
    dcsr_matrix_destroy(matrix);
    close_device();
}

/* Lets the n-th allocation and all later ones fail, for n = 0, 1, ..., until the batch is applied. */
static void run_short(void (*fail_after)(long n), dcsr_type type)
{
    oracle model;
    batch *b = test_allocate(1, sizeof *b);
    test_random random = {4};
    dcsr_matrix *matrix = test_matrix(context, type, ROWS, COLS, DCSR_POLICY_LAST);
    oracle_create(&model, type, DCSR_POLICY_LAST, ROWS, COLS);
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    for (long n = 0; status != DCSR_OK; n++) {
        dcsr_ticket *ticket = NULL;
        cr_assert(n < 1000, "it never succeeds");
        fill(b, &random, type, 700);
        fail_after(n);
        status = give_from_host(matrix, b, type, true, &ticket);
        status = waited(status, ticket);
        cr_assert(status == DCSR_OK || (status == DCSR_ERROR_OUT_OF_MEMORY && dcsr_thread_error()[0]),
                  "after %ld: %s", n, dcsr_thread_error());
        fail_after(-1);
        TEST_OK(dcsr_matrix_wait(matrix));
        if (status == DCSR_OK) follow(&model, b, true);
        cr_assert_eq(test_info(matrix).stored, status == DCSR_OK ? oracle_nnz(&model) : 0);
    }
    TEST_MATCHES(matrix, &model);
    free(b);
    oracle_destroy(&model);
    dcsr_matrix_destroy(matrix);
}

Test(pieces, may_lack_memory_at_every_step)
{
    open_device();
    NEEDS_GPU();
    run_short(dcsr_i_fail_allocations_after, DCSR_INT32);
#ifdef DCSR_SIMT
    run_short(simt_fail_allocations_after, DCSR_FP64);
#endif
    close_device();
}

/* ---- What is applied together ---- */

/* Takes the turn, so that the worker does not: what is queued waits until let_go(). */
static void hold(dcsr_matrix *matrix)
{
    pthread_mutex_lock(&matrix->queue.lock);
    while (!dcsr_i_queue_begin_turn(matrix, NULL))
        pthread_cond_wait(&matrix->queue.changed, &matrix->queue.lock);
    pthread_mutex_unlock(&matrix->queue.lock);
}

static void let_go(dcsr_matrix *matrix)
{
    pthread_mutex_lock(&matrix->queue.lock);
    dcsr_i_queue_end_turn(matrix);
    pthread_mutex_unlock(&matrix->queue.lock);
}

/* From arrays of either kind, large ones and such as other small ones join. */
Test(together, batches_of_one_kind_that_wait_are_applied)
{
    enum { BATCHES = 6 };
    static const size_t sizes[BATCHES] = {900, 20, 700, 300, 1, 513};
    open_device();
    NEEDS_GPU();
    for (int policy = DCSR_POLICY_KEEP; policy <= DCSR_POLICY_LAST; policy += TEST_VARIANT(1, 2, 4)) {
        oracle model;
        dcsr_matrix *matrix;
        dcsr_matrix_options options = {.policy = (dcsr_policy)policy,
                                       .defragmentation = DCSR_DEFRAGMENT_OFF}; /* nor other versions */
        TEST_OK(dcsr_matrix_create(&matrix, context, DCSR_INT64, ROWS, COLS, &options));
        oracle_create(&model, DCSR_INT64, (dcsr_policy)policy, ROWS, COLS);
        batch *b = test_allocate(BATCHES, sizeof *b);
        dcsr_ticket *ticket[BATCHES];
        test_random random = {5};
        uint64_t before = test_info(matrix).version;
        hold(matrix);
        for (int i = 0; i < BATCHES; i++) {
            bool of_device = i % 3 == 1;
            fill(&b[i], &random, DCSR_INT64, sizes[i]);
            if (of_device) send(&b[i], DCSR_INT64, stream);
            TEST_OK(of_device ? give(matrix, &b[i], DCSR_INT64, i < 4, dcsr_i_cuda_handle(stream), &ticket[i])
                              : give_from_host(matrix, &b[i], DCSR_INT64, i < 4, &ticket[i]));
            if (of_device) spoil(&b[i], stream);
            follow(&model, &b[i], i < 4);
        }
        let_go(matrix);
        for (int i = 0; i < BATCHES; i++) TEST_OK(waited(DCSR_OK, ticket[i]));
        TEST_OK(dcsr_matrix_wait(matrix));
        TEST_OK(dcsr_i_cuda_wait(stream, "testing"));
        /* The four insertions; the two removals; rows that move are resolved before each. */
        cr_assert_leq(test_info(matrix).version - before, 4);
        cr_assert_eq(test_info(matrix).batches, BATCHES);
        TEST_MATCHES(matrix, &model);
        free(b);
        oracle_destroy(&model);
        dcsr_matrix_destroy(matrix);
    }
    close_device();
}

/* Small ones become one operation, which goes to the device while that before it is applied. */
Test(together, small_batches_join_and_are_brought_ahead)
{
    enum { BATCHES = 20 };
    open_device();
    NEEDS_GPU();
    for (int type = DCSR_UINT8; type <= DCSR_FP64; type += TEST_VARIANT(1, 5, 5)) {
        oracle model;
        dcsr_matrix *matrix = test_matrix(context, (dcsr_type)type, ROWS, COLS, DCSR_POLICY_LAST);
        oracle_create(&model, (dcsr_type)type, DCSR_POLICY_LAST, ROWS, COLS);
        batch *b = test_allocate(1, sizeof *b);
        test_random random = {(uint64_t)type};
        hold(matrix);
        for (int i = 0; i < 3 * BATCHES; i++) {
            bool insert = i / BATCHES != 1;
            fill(b, &random, (dcsr_type)type, 90);
            TEST_OK(give_from_host(matrix, b, (dcsr_type)type, insert, NULL));
            follow(&model, b, insert);
            overwrite(b);
        }
        int operations = 0;
        pthread_mutex_lock(&matrix->queue.lock);
        for (const dcsr_i_operation *o = matrix->queue.first; o; o = o->next) operations++;
        pthread_mutex_unlock(&matrix->queue.lock);
        let_go(matrix);
        cr_assert_eq(operations, 3);
        TEST_OK(dcsr_matrix_wait(matrix));
        /* They are too small for that on a GPU. */
        cr_assert((matrix->cuda->transfers != NULL) == TEST_EMULATOR);
        TEST_MATCHES(matrix, &model);
        free(b);
        oracle_destroy(&model);
        dcsr_matrix_destroy(matrix);
    }
    close_device();
}

Test(together, a_batch_that_fails_fails_alone)
{
    enum { BATCHES = 4 };
    open_device();
    NEEDS_GPU();
    oracle model;
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT64, ROWS, COLS, DCSR_POLICY_SUM);
    oracle_create(&model, DCSR_INT64, DCSR_POLICY_SUM, ROWS, COLS);
    for (int wrong = 0; wrong < BATCHES; wrong += TEST_VARIANT(1, 1, 3)) {
        batch *b = test_allocate(BATCHES, sizeof *b);
        dcsr_ticket *ticket[BATCHES];
        test_random random = {6 + (uint64_t)wrong};
        hold(matrix);
        for (int i = 0; i < BATCHES; i++) {
            fill(&b[i], &random, DCSR_INT64, 600);
            if (i == wrong)
                b[i].rows[17] = ROWS;
            else
                follow(&model, &b[i], true);
            send(&b[i], DCSR_INT64, stream);
            TEST_OK(give(matrix, &b[i], DCSR_INT64, true, dcsr_i_cuda_handle(stream), &ticket[i]));
            spoil(&b[i], stream);
        }
        let_go(matrix);
        for (int i = 0; i < BATCHES; i++)
            if (i == wrong)
                TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "entry 17 of 600", waited(DCSR_OK, ticket[i]));
            else
                TEST_OK(waited(DCSR_OK, ticket[i]));
        TEST_OK(dcsr_matrix_wait(matrix));
        TEST_OK(dcsr_i_cuda_wait(stream, "testing"));
        TEST_MATCHES(matrix, &model);
        free(b);
    }
    oracle_destroy(&model);
    dcsr_matrix_destroy(matrix);
    close_device();
}

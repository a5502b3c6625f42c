/* test_grow.c: matrices that become as large as they have to be, by call and by inserting. */
#include "dcsr/base/alloc.h"
#include "dcsr/store/result.h"
#include <dcsr/view.h>
#include "tests/support/support.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>

static dcsr_matrix *growing(dcsr_context *context, dcsr_type type, uint64_t rows, uint64_t cols, bool twin)
{
    dcsr_matrix *matrix;
    TEST_OK(dcsr_matrix_create(
        &matrix, context, type, rows, cols,
        &(dcsr_matrix_options){.policy = DCSR_POLICY_SUM, .grow = true, .maintain_transpose = twin}));
    return matrix;
}

static void check_shape(dcsr_matrix *matrix, uint64_t rows, uint64_t cols)
{
    TEST_OK(dcsr_matrix_wait(matrix));
    dcsr_matrix_info info = test_info(matrix);
    cr_assert(info.rows == rows && info.cols == cols, "it is %lu x %lu, not %lu x %lu",
              (unsigned long)info.rows, (unsigned long)info.cols, (unsigned long)rows, (unsigned long)cols);
}

Test(grow, never_makes_smaller)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 10, 10, DCSR_POLICY_LAST);
    dcsr_ticket *ticket;
    TEST_INSERT(matrix, {9, 9, 1});
    TEST_OK(dcsr_matrix_grow(matrix, 5, 20, NULL));
    check_shape(matrix, 10, 20);
    TEST_OK(dcsr_matrix_grow(matrix, 300, 3, &ticket));
    TEST_OK(dcsr_ticket_wait(ticket));
    dcsr_ticket_destroy(ticket);
    check_shape(matrix, 300, 20);
    TEST_SHOWS(matrix, {9, 9, 1});
    TEST_OK(dcsr_matrix_resize(matrix, 4, 4, NULL)); /* in the order of the queue */
    TEST_OK(dcsr_matrix_grow(matrix, 6, 2, NULL));
    TEST_OK(dcsr_matrix_grow(matrix, 5, 5, NULL));
    check_shape(matrix, 6, 5);
    TEST_SHOWS_NOTHING(matrix);
    TEST_REFUSED(DCSR_ERROR_TOO_LARGE, "dcsr_matrix_grow",
                 dcsr_matrix_grow(matrix, DCSR_MAX_ROWS + 1, 1, NULL));
    TEST_STATUS(DCSR_ERROR_TOO_LARGE, dcsr_matrix_grow(matrix, 1, DCSR_MAX_COLS + 1, NULL));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_matrix_grow(NULL, 1, 1, NULL));
    check_shape(matrix, 6, 5);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* A thread that takes its turn in the queue, and keeps it until it is let go. */
typedef struct holder {
    dcsr_matrix *matrix;
    pthread_t thread;
    sem_t has_turn, let_go;
} holder;

static dcsr_status hold(dcsr_matrix *matrix, void *user)
{
    holder *h = user;
    (void)matrix;
    sem_post(&h->has_turn);
    sem_wait(&h->let_go);
    return DCSR_OK;
}

static void *hold_turn(void *argument)
{
    holder *h = argument;
    TEST_OK(dcsr_i_result_turn(h->matrix, "a test", hold, h));
    return NULL;
}

/* Returns when it is in the queue, or has its turn. */
static void queue_holder(holder *h, dcsr_matrix *matrix)
{
    const uint64_t queued = atomic_load(&matrix->queue.queued);
    h->matrix = matrix;
    sem_init(&h->has_turn, 0, 0), sem_init(&h->let_go, 0, 0);
    cr_assert(!pthread_create(&h->thread, NULL, hold_turn, h));
    while (atomic_load(&matrix->queue.queued) == queued) sched_yield();
}

static void end_holder(holder *h)
{
    sem_post(&h->let_go);
    pthread_join(h->thread, NULL);
    sem_destroy(&h->has_turn), sem_destroy(&h->let_go);
}

/* Growing is queued for the smaller matrix that a change before it would have made, and then does not shrink it. */
Test(grow, does_not_shrink_when_the_resize_before_it_fails)
{
    dcsr_context *context = test_context(1);
    int failed = 0;
    for (long n = 0; n < 4; n++) {
        dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 500, 500, DCSR_POLICY_LAST);
        dcsr_ticket *shrinking = NULL, *growing = NULL;
        holder before, between;
        TEST_INSERT(matrix, {499, 499, 1});
        queue_holder(&before, matrix);
        sem_wait(&before.has_turn);
        TEST_OK(dcsr_matrix_resize(matrix, 300, 300, &shrinking));
        queue_holder(&between, matrix);
        TEST_OK(dcsr_matrix_grow(matrix, 400, 300, &growing));
        dcsr_i_fail_allocations_after(n);
        end_holder(&before);
        sem_wait(&between.has_turn);
        dcsr_i_fail_allocations_after(-1);
        end_holder(&between);
        dcsr_status shrunk = dcsr_ticket_wait(shrinking);
        TEST_OK(dcsr_ticket_wait(growing));
        check_shape(matrix, shrunk == DCSR_OK ? 400 : 500, shrunk == DCSR_OK ? 300 : 500);
        if (shrunk != DCSR_OK) TEST_SHOWS(matrix, {499, 499, 1});
        failed += shrunk != DCSR_OK;
        dcsr_ticket_destroy(shrinking), dcsr_ticket_destroy(growing);
        dcsr_matrix_destroy(matrix);
    }
    cr_assert_gt(failed, 1);
    test_close(context);
}

typedef struct grower {
    dcsr_matrix *matrix;
    uint64_t number, steps;
    bool by_inserting;
} grower;

/* Entry (k, k) for its own numbers, each of which may have to make room. */
static void *grow_and_insert(void *argument)
{
    grower *g = argument;
    for (uint64_t i = 0; i < g->steps; i++) {
        uint64_t k = (i * 7919 + g->number) % g->steps * 3 + g->number;
        double one = 1;
        if (!g->by_inserting) TEST_OK(dcsr_matrix_grow(g->matrix, k + 1, k + 1, NULL));
        TEST_OK(dcsr_matrix_insert(g->matrix, 1, &k, &k, &one, NULL));
    }
    return NULL;
}

Test(grow, threads_grow_at_the_same_time_and_lose_nothing)
{
    enum { THREADS = 3 };
    dcsr_context *context = test_context(1);
    const uint64_t steps = (uint64_t)TEST_SIZE(400, 200, 100);
    for (int way = 0; way < 2; way++) {
        dcsr_matrix *matrix = way ? growing(context, DCSR_FP64, 0, 0, false)
                                  : test_matrix(context, DCSR_FP64, 0, 0, DCSR_POLICY_SUM);
        pthread_t threads[THREADS];
        grower growers[THREADS];
        for (uint64_t t = 0; t < THREADS; t++) {
            growers[t] = (grower){matrix, t, steps, way == 1};
            cr_assert(!pthread_create(&threads[t], NULL, grow_and_insert, &growers[t]));
        }
        for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
        oracle model;
        oracle_create(&model, DCSR_FP64, DCSR_POLICY_SUM, steps * 3, steps * 3);
        for (uint64_t k = 0; k < steps * 3; k++) oracle_insert(&model, 1, &k, &k, &(double){1});
        check_shape(matrix, steps * 3, steps * 3);
        TEST_MATCHES(matrix, &model);
        oracle_destroy(&model);
        dcsr_matrix_destroy(matrix);
    }
    test_close(context);
}

/* Small batches, large ones that are packed without the lock, and none; with a maintained transpose. */
Test(grow, insertions_grow_to_the_largest_index)
{
    dcsr_context *context = test_context(2);
    for (int twin = 0; twin < 2; twin++) {
        dcsr_matrix *matrix = growing(context, DCSR_INT32, 3, 2, twin);
        oracle model;
        test_random random = {5};
        oracle_create(&model, DCSR_INT32, DCSR_POLICY_SUM, 3, 2);
        uint64_t rows = 3, cols = 2;
        const uint64_t sizes[] = {1, 0, 5, test_on_emulator() ? 700 : 40000, 1, 300};
        for (size_t b = 0; b < sizeof sizes / sizeof *sizes; b++) {
            const uint64_t n = sizes[b], side = 100 * (b + 1);
            uint64_t *row = test_allocate(n + 1, 8), *col = test_allocate(n + 1, 8);
            int32_t *value = test_allocate(n + 1, 4);
            for (uint64_t i = 0; i < n; i++) {
                row[i] = test_random_below(&random, side), col[i] = test_random_below(&random, side / 2);
                value[i] = (int32_t)i;
                if (row[i] >= rows) rows = row[i] + 1;
                if (col[i] >= cols) cols = col[i] + 1;
            }
            TEST_OK(dcsr_matrix_insert(matrix, n, row, col, value, NULL));
            oracle_resize(&model, rows, cols);
            oracle_insert(&model, n, row, col, value);
            if (b % 2) check_shape(matrix, rows, cols);
            free(row), free(col), free(value);
        }
        check_shape(matrix, rows, cols);
        TEST_MATCHES(matrix, &model);
        oracle_destroy(&model);
        dcsr_matrix_destroy(matrix);
    }
    test_close(context);
}

Test(grow, what_is_outside_stays_an_error_elsewhere)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = growing(context, DCSR_FP64, 3, 3, true);
    const uint64_t three = 3, zero = 0, large[] = {0, DCSR_MAX_ROWS}, larger[] = {0, UINT64_MAX},
                   small[] = {0, 1};
    const double ones[] = {1, 1};
    bool stored;
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "outside the 3 x 3",
                 dcsr_matrix_remove(matrix, 1, &three, &zero, NULL));
    TEST_STATUS(DCSR_ERROR_INDEX_OUT_OF_RANGE, dcsr_matrix_get(matrix, 0, 3, NULL, &stored));
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "entry 1 of 2 is (4294967296, 1), outside",
                 dcsr_matrix_insert(matrix, 2, large, small, ones, NULL));
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "entry 1 of 2",
                 dcsr_matrix_insert(matrix, 2, small, larger, ones, NULL));
    const uint64_t beyond[] = {0, DCSR_MAX_COLS}; /* a row that the transpose cannot have as a column */
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "entry 1 of 2",
                 dcsr_matrix_insert(matrix, 2, beyond, small, ones, NULL));
    check_shape(matrix, 3, 3);
    dcsr_matrix_destroy(matrix);
    matrix = growing(context, DCSR_FP64, 0, 0, false);
    if (!test_on_device(context)) {
        const uint64_t last_row = DCSR_MAX_ROWS - 1, last_col = DCSR_MAX_COLS - 1;
        TEST_OK(dcsr_matrix_insert(matrix, 1, &last_row, &last_col, ones, NULL));
        check_shape(matrix, DCSR_MAX_ROWS, DCSR_MAX_COLS);
    }
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* Each failure leaves the batch out; what the call did not refuse its ticket does. */
Test(grow, survives_allocation_failures)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = growing(context, DCSR_FP64, 1, 1, false);
    TEST_INSERT(matrix, {0, 0, 1});
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    for (long n = 0; status != DCSR_OK; n++) {
        const uint64_t k = 5000;
        dcsr_ticket *ticket = NULL;
        dcsr_i_fail_allocations_after(n);
        status = dcsr_matrix_insert(matrix, 1, &k, &k, &(double){2}, &ticket);
        if (status == DCSR_OK) status = dcsr_ticket_wait(ticket);
        dcsr_i_fail_allocations_after(-1);
        dcsr_ticket_destroy(ticket);
        if (status == DCSR_OK) break;
        cr_assert(status == DCSR_ERROR_OUT_OF_MEMORY || status == DCSR_ERROR_INDEX_OUT_OF_RANGE);
        TEST_OK(dcsr_matrix_wait(matrix));
        TEST_SHOWS(matrix, {0, 0, 1});
    }
    TEST_SHOWS(matrix, {0, 0, 1}, {5000, 5000, 2});
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

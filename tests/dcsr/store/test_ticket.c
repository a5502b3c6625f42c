/* test_ticket.c: tickets, waiting and the queue: how a caller learns what became of a change. */
#include "tests/support/support.h"
#include <dcsr/apply.h>

#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* How far ahead the system's clock, which anybody may set, is to this program. */
static atomic_int seconds_ahead;

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int error = (int)syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_REALTIME) now->tv_sec += atomic_load(&seconds_ahead);
    return error;
}

static dcsr_ticket *insert_one(dcsr_matrix *matrix, uint64_t row, uint64_t col, double value)
{
    dcsr_ticket *ticket = NULL;
    TEST_OK(dcsr_matrix_insert(matrix, 1, &row, &col, &value, &ticket));
    cr_assert(ticket);
    return ticket;
}

Test(ticket, says_that_its_change_is_in)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 3, 3, DCSR_POLICY_LAST);
    dcsr_ticket *ticket = insert_one(matrix, 1, 2, 12);
    bool done = false;
    TEST_OK(dcsr_ticket_wait(ticket));
    TEST_SHOWS(matrix, {1, 2, 12});
    TEST_OK(dcsr_ticket_poll(ticket, &done));
    cr_assert(done);
    TEST_OK(dcsr_ticket_wait(ticket));
    dcsr_ticket_destroy(ticket);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* Small changes are applied by the calls, for as long as somebody waits for them: with tickets, too. */
Test(ticket, that_is_waited_for_each_time_is_done_when_it_is_given)
{
    enum { CHANGES = 30 };
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix;
    const dcsr_matrix_options options = {.defragmentation = DCSR_DEFRAGMENT_OFF}; /* none takes the turn */
    TEST_OK(dcsr_matrix_create(&matrix, context, DCSR_FP64, CHANGES, 3, &options));
    for (uint64_t i = 0; i < CHANGES; i++) {
        dcsr_ticket *ticket = insert_one(matrix, i, i % 3, 1);
        bool done = false;
        TEST_OK(dcsr_ticket_poll(ticket, &done));
        cr_assert(done, "change %d", (int)i);
        TEST_OK(dcsr_ticket_wait(ticket));
        dcsr_ticket_destroy(ticket);
    }
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(ticket, can_be_polled_until_it_is_done)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 3, 3, DCSR_POLICY_LAST);
    dcsr_ticket *ticket = insert_one(matrix, 0, 0, 1);
    for (bool done = false; !done;) TEST_OK(dcsr_ticket_poll(ticket, &done));
    TEST_SHOWS(matrix, {0, 0, 1});
    dcsr_ticket_destroy(ticket);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(ticket, is_given_for_every_kind_of_change)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 3, 3, DCSR_POLICY_LAST);
    dcsr_ticket *ticket[6] = {NULL};
    uint64_t place = 1;
    double value = 1;
    TEST_OK(dcsr_matrix_insert(matrix, 1, &place, &place, &value, &ticket[0]));
    TEST_OK(dcsr_matrix_remove(matrix, 1, &place, &place, &ticket[1]));
    TEST_OK(dcsr_matrix_resize(matrix, 10, 10, &ticket[2]));
    TEST_OK(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, &ticket[3]));
    TEST_OK(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_SELECTED, &ticket[4]));
    TEST_OK(dcsr_matrix_insert(matrix, 0, NULL, NULL, NULL, &ticket[5]));
    for (int i = 5; i >= 0; i--) {
        cr_assert(ticket[i]);
        TEST_OK(dcsr_ticket_wait(ticket[i]));
        dcsr_ticket_destroy(ticket[i]);
    }
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(ticket, of_a_later_change_is_done_after_the_earlier_ones)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 100, 100, DCSR_POLICY_LAST);
    dcsr_ticket *ticket[100];
    bool done = false;
    for (uint64_t i = 0; i < 100; i++) ticket[i] = insert_one(matrix, i, i, 1);
    TEST_OK(dcsr_ticket_wait(ticket[99]));
    for (int i = 0; i < 100; i++) {
        TEST_OK(dcsr_ticket_poll(ticket[i], &done));
        cr_assert(done);
        dcsr_ticket_destroy(ticket[i]);
    }
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(ticket, is_null_when_the_call_fails)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 3, 3, DCSR_POLICY_LAST);
    uint64_t row = 0, col = 3;
    double value = 1;
    dcsr_ticket *ticket = (dcsr_ticket *)&row;
    TEST_STATUS(DCSR_ERROR_INDEX_OUT_OF_RANGE, dcsr_matrix_insert(matrix, 1, &row, &col, &value, &ticket));
    cr_assert(!ticket);
    ticket = (dcsr_ticket *)&row;
    TEST_STATUS(DCSR_ERROR_TOO_LARGE, dcsr_matrix_resize(matrix, 3, DCSR_MAX_COLS + 1, &ticket));
    cr_assert(!ticket);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(ticket, may_be_destroyed_before_its_change_is_applied)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 50, 3, DCSR_POLICY_SUM);
    for (uint64_t i = 0; i < 50; i++) dcsr_ticket_destroy(insert_one(matrix, i, 1, 1));
    TEST_OK(dcsr_matrix_wait(matrix));
    uint64_t nnz = 0;
    TEST_OK(dcsr_matrix_get_nnz(matrix, &nnz));
    cr_assert(nnz == 50);
    dcsr_ticket_destroy(NULL);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(ticket, outlives_its_matrix_and_its_context)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 3, 3, DCSR_POLICY_LAST);
    dcsr_ticket *ticket = insert_one(matrix, 0, 0, 1);
    bool done = false;
    TEST_OK(dcsr_matrix_wait(matrix));
    dcsr_matrix_destroy(matrix);
    TEST_OK(dcsr_ticket_wait(ticket));
    dcsr_context_destroy(context);
    TEST_OK(dcsr_ticket_poll(ticket, &done));
    cr_assert(done);
    TEST_OK(dcsr_ticket_wait(ticket));
    dcsr_ticket_destroy(ticket);
}

Test(ticket, of_a_change_that_a_destroyed_matrix_never_began_says_so)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 1000, 1000, DCSR_POLICY_LAST);
    enum { CHANGES = 200 };
    dcsr_ticket *ticket[CHANGES];
    for (int i = 0; i < CHANGES; i++) ticket[i] = insert_one(matrix, (uint64_t)i, 5, 1);
    dcsr_matrix_destroy(matrix);
    dcsr_status before = DCSR_OK;
    for (int i = 0; i < CHANGES; i++) {
        dcsr_status status = dcsr_ticket_wait(ticket[i]);
        cr_assert(status == DCSR_OK || status == DCSR_ERROR_CANCELLED);
        cr_assert(before == DCSR_OK || status == DCSR_ERROR_CANCELLED, "change %d came after a cancelled one",
                  i);
        cr_assert(dcsr_ticket_wait(ticket[i]) == status, "the same each time");
        before = status;
        dcsr_ticket_destroy(ticket[i]);
    }
    test_close(context);
}

Test(ticket, is_refused_when_null)
{
    bool done = false;
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_ticket_poll(NULL, &done));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_ticket_wait(NULL));
}

Test(queue, applies_changes_in_the_order_of_one_thread)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 1, 10, DCSR_POLICY_LAST);
    uint64_t row = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t col = (uint64_t)(i % 10);
        double value = i;
        if (i % 7 == 3)
            TEST_OK(dcsr_matrix_remove(matrix, 1, &row, &col, NULL));
        else
            TEST_OK(dcsr_matrix_insert(matrix, 1, &row, &col, &value, NULL));
    }
    TEST_OK(dcsr_matrix_wait(matrix));
    /* 990..999: of these, 990 and 997 leave 3 when divided by 7, and removed columns 0 and 7. */
    TEST_SHOWS(matrix, {0, 1, 991}, {0, 2, 992}, {0, 3, 993}, {0, 4, 994}, {0, 5, 995}, {0, 6, 996},
               {0, 8, 998}, {0, 9, 999});
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* Inserts batches of n entries, batch b with the value b in each of n rows, until `batches` were accepted or
 * one was refused. */
static int insert_batches(dcsr_matrix *matrix, size_t n, int batches, dcsr_status *status)
{
    uint64_t *rows = test_allocate(n, sizeof *rows), *cols = test_allocate(n, sizeof *cols);
    double *values = test_allocate(n, sizeof *values);
    int accepted = 0;
    for (*status = DCSR_OK; accepted < batches; accepted++) {
        for (size_t i = 0; i < n; i++) rows[i] = i, values[i] = accepted + 1;
        *status = dcsr_matrix_insert(matrix, n, rows, cols, values, NULL);
        if (*status != DCSR_OK) break;
    }
    free(rows);
    free(cols);
    free(values);
    return accepted;
}

Test(queue, counts_each_batch)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 100, 1, DCSR_POLICY_SUM);
    dcsr_status status;
    cr_assert(insert_batches(matrix, 3, 1000, &status) == 1000);
    TEST_OK(dcsr_matrix_wait(matrix));
    dcsr_matrix_info info = test_info(matrix);
    cr_assert(info.batches == 1000, "%lu batches of 1000, however they were applied",
              (unsigned long)info.batches);
    cr_assert(info.inserted == 3000);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(queue, works_on_after_a_rest)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 100, 1, DCSR_POLICY_SUM);
    TEST_INSERT(matrix, {1, 0, 1});
    sleep(3); /* an idle worker may have gone by now */
    TEST_INSERT(matrix, {1, 0, 2});
    TEST_SHOWS(matrix, {1, 0, 3});
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* A worker that is idle soon gives back what was freed, also where the clock is set back by an hour
 * meanwhile. */
Test(queue, rests_by_a_clock_that_nobody_sets)
{
    enum { ENTRIES = TEST_EMULATOR ? 1 << 15 : 1 << 18 };
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, ENTRIES, 1, DCSR_POLICY_LAST);
    uint64_t *rows = test_allocate(ENTRIES, sizeof *rows), *cols = test_allocate(ENTRIES, sizeof *cols);
    double *values = test_allocate(ENTRIES, sizeof *values);
    for (uint64_t i = 0; i < ENTRIES; i++) rows[i] = i;
    atomic_store(&seconds_ahead, 3600);
    TEST_OK(dcsr_matrix_insert(matrix, ENTRIES, rows, cols, values, NULL));
    TEST_OK(dcsr_matrix_resize(matrix, 0, 1, NULL));
    TEST_OK(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    test_wait_for_bytes(matrix, ENTRIES * 12);
    free(rows);
    free(cols);
    free(values);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(queue, waits_for_room_when_it_is_full)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = NULL;
    dcsr_status status;
    double value = 0;
    bool stored = false;
    TEST_OK(
        dcsr_matrix_create(&matrix, context, DCSR_FP64, 500, 1, &(dcsr_matrix_options){.queue_limit = 1}));
    cr_assert(insert_batches(matrix, 500, 50, &status) == 50);
    TEST_OK(dcsr_matrix_get(matrix, 499, 0, &value, &stored));
    cr_assert(stored && value == 50);
    dcsr_matrix_info info = test_info(matrix);
    cr_assert(info.batches == 50 && info.inserted == 50 * 500 && info.pending_bytes == 0);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

static bool slow(void *z, const void *x, void *user)
{
    (void)user;
    usleep(500000);
    memcpy(z, x, sizeof(double));
    return true;
}

static void *apply_slowly(void *user)
{
    dcsr_matrix *matrix = user;
    dcsr_unary_op *op;
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_unary_op_create(&op, "slow", DCSR_FP64, DCSR_FP64, slow, NULL));
    TEST_OK(dcsr_matrix_apply(matrix, NULL, NULL, op, view, NULL));
    dcsr_unary_op_destroy(op);
    dcsr_view_destroy(view);
    return NULL;
}

/* What waits counts as what it takes, though it be one entry each, or none: while an operation has the turn. */
Test(queue, is_full_of_small_changes_too)
{
    for (int resizes = 0; resizes < 2; resizes++) {
        dcsr_context *context;
        TEST_OK(
            dcsr_context_create(&context, &(dcsr_context_options){.device = DCSR_DEVICE_CPU, .threads = 1}));
        dcsr_matrix *matrix;
        dcsr_context_info before, full;
        pthread_t thread;
        dcsr_status status = DCSR_OK;
        uint64_t changes = 0, row = 1, col = 2;
        double value = 1;
        TEST_OK(dcsr_matrix_create(&matrix, context, DCSR_FP64, 100, 100,
                                   &(dcsr_matrix_options){.queue_limit = 1 << 20, .refuse_when_full = true}));
        TEST_OK(dcsr_matrix_insert(matrix, 1, &row, &col, &value, NULL));
        TEST_OK(dcsr_matrix_wait(matrix));
        pthread_create(&thread, NULL, apply_slowly, matrix);
        usleep(100000);
        TEST_OK(dcsr_context_get_info(context, &before));
        for (; status == DCSR_OK && changes < 100000; changes++)
            status = resizes       ? dcsr_matrix_resize(matrix, 100 + changes % 2, 100, NULL)
                     : changes % 2 ? dcsr_matrix_remove(matrix, 1, &row, &col, NULL)
                                   : dcsr_matrix_insert(matrix, 1, &row, &col, &value, NULL);
        TEST_OK(dcsr_context_get_info(context, &full));
        cr_assert(status == DCSR_ERROR_BUSY && test_says("changes are waiting"), "%s", dcsr_thread_error());
        cr_assert_gt(changes, 100);
        cr_assert_lt(full.scratch_bytes - before.scratch_bytes, 5 << 18);
        pthread_join(thread, NULL);
        TEST_OK(dcsr_matrix_wait(matrix));
        cr_assert_eq(test_info(matrix).pending_bytes, 0);
        dcsr_matrix_destroy(matrix);
        test_close(context);
    }
}

Test(queue, refuses_when_it_is_full_and_the_caller_asked_for_that)
{
    /* On the emulator the worker may be as fast as who inserts, so that the queue is never full. */
    enum { ROWS = 20000, BATCHES = TEST_EMULATOR ? TEST_VARIANT(40, 20, 8) : 2000 };
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = NULL;
    dcsr_matrix_options options = {.queue_limit = 1 << 20, .refuse_when_full = true};
    dcsr_status status;
    double value = 0;
    bool stored = false;
    TEST_OK(dcsr_matrix_create(&matrix, context, DCSR_FP64, ROWS, 1, &options));
    int accepted = insert_batches(matrix, ROWS, BATCHES, &status);
    cr_assert(accepted > 0, "a queue that is empty takes a batch");
    if (accepted < BATCHES) cr_assert(status == DCSR_ERROR_BUSY, "%s", dcsr_status_name(status));
    TEST_OK(dcsr_matrix_wait(matrix));
    TEST_OK(dcsr_matrix_get(matrix, ROWS - 1, 0, &value, &stored));
    cr_assert(stored && value == accepted, "%g of %d", value, accepted);
    cr_assert(test_info(matrix).batches == (uint64_t)accepted);
    cr_assert(insert_batches(matrix, 1, 1, &status) == 1, "there is room again");
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

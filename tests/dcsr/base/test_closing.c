/* test_closing.c: contexts and matrices that are destroyed while other threads are at work with them. */
#include "tests/support/support.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { THREADS = 4, SIDE = 500, BATCH = 50 };

typedef struct shared {
    dcsr_context *context;
    dcsr_matrix *matrix;
    atomic_int started;
    atomic_int wrong; /* the first status that a call should not have returned */
    dcsr_ticket *ticket[1000];
    int tickets;
    atomic_int taken;
    _Atomic uint64_t applied, cancelled;
    dcsr_view *view[THREADS];
    atomic_int viewer;
} shared;

/* Notes a status that is neither DCSR_OK nor `allowed`; returns whether it is DCSR_OK. */
static bool fine(shared *s, dcsr_status status, dcsr_status allowed)
{
    int none = 0;
    if (status != DCSR_OK && status != allowed) atomic_compare_exchange_strong(&s->wrong, &none, (int)status);
    return status == DCSR_OK;
}

static void run_threads(shared *s, void *(*work)(void *), void (*meanwhile)(shared *s))
{
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++) cr_assert(pthread_create(&thread[i], NULL, work, s) == 0);
    if (meanwhile) meanwhile(s);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    cr_assert(s->wrong == 0, "a call returned \"%s\"", dcsr_status_name((dcsr_status)s->wrong));
}

static dcsr_status insert_column(shared *s, uint64_t col, dcsr_ticket **ticket)
{
    uint64_t rows[BATCH], cols[BATCH];
    double values[BATCH];
    for (uint64_t i = 0; i < BATCH; i++) {
        rows[i] = i * (SIDE / BATCH);
        cols[i] = col;
        values[i] = (double)col;
    }
    return dcsr_matrix_insert(s->matrix, BATCH, rows, cols, values, ticket);
}

/* Works with the matrix until the context is gone. */
static void *use_until_closed(void *argument)
{
    shared *s = argument;
    const dcsr_status closed = DCSR_ERROR_CONTEXT_DESTROYED;
    bool open = true;
    for (uint64_t i = 0; open; i++) {
        dcsr_view *view = NULL;
        dcsr_matrix_info info;
        bool stored;
        uint64_t length;
        open = fine(s, insert_column(s, i % SIDE, NULL), closed);
        if (i % 7 == 0) open &= fine(s, dcsr_matrix_get(s->matrix, 0, i % SIDE, NULL, &stored), closed);
        if (i % 11 == 0)
            open &= fine(s, dcsr_matrix_defragment(s->matrix, DCSR_DEFRAGMENT_SELECTED, NULL), closed);
        if (i % 13 == 0) open &= fine(s, dcsr_matrix_wait(s->matrix), closed);
        open &= fine(s, dcsr_view_create(&view, s->matrix, (dcsr_layout)(i % 2), 0), closed);
        if (view) open &= fine(s, dcsr_view_get_row(view, 0, 0, NULL, NULL, &length), closed);
        dcsr_view_destroy(view);
        open &= fine(s, dcsr_matrix_get_info(s->matrix, &info), closed);
        if (i == 10) atomic_fetch_add(&s->started, 1);
    }
    return NULL;
}

static void close_context(shared *s)
{
    while (atomic_load(&s->started) < THREADS) sched_yield();
    dcsr_context_destroy(s->context);
}

Test(closing, a_context_ends_the_work_of_all_threads)
{
    for (int round = 0; round < TEST_SIZE(60, 30, 15); round++) {
        shared s = {.context = test_context(1)};
        /* With room for one batch, threads are also found waiting for room. */
        dcsr_matrix_options options = {.queue_limit = round % 2 ? 1 : 0};
        TEST_OK(dcsr_matrix_create(&s.matrix, s.context, DCSR_FP64, SIDE, SIDE, &options));
        run_threads(&s, use_until_closed, close_context);
        dcsr_matrix_destroy(s.matrix);
    }
}

/* Waits for tickets and counts what became of them. */
static void *wait_for_tickets(void *argument)
{
    shared *s = argument;
    for (int i; (i = atomic_fetch_add(&s->taken, 1)) < s->tickets;) {
        dcsr_status status = dcsr_ticket_wait(s->ticket[i]);
        if (fine(s, status, DCSR_ERROR_CANCELLED))
            atomic_fetch_add(&s->applied, 1);
        else
            atomic_fetch_add(&s->cancelled, 1);
        dcsr_ticket_destroy(s->ticket[i]);
    }
    return NULL;
}

static void destroy_matrix(shared *s)
{
    dcsr_matrix_destroy(s->matrix);
}

Test(closing, a_matrix_ends_the_waits_for_its_tickets)
{
    for (int round = 0; round < TEST_SIZE(60, 30, 15); round++) {
        shared s = {.context = test_context(1), .tickets = 1000};
        s.matrix = test_matrix(s.context, DCSR_FP64, SIDE, SIDE, DCSR_POLICY_SUM);
        for (int i = 0; i < s.tickets; i++) TEST_OK(insert_column(&s, (uint64_t)(i % SIDE), &s.ticket[i]));
        run_threads(&s, wait_for_tickets, destroy_matrix);
        cr_assert(s.applied + s.cancelled == (uint64_t)s.tickets);
        test_close(s.context);
    }
}

/* Reads one of the views, twice, and destroys it. */
static void *read_and_destroy(void *argument)
{
    shared *s = argument;
    dcsr_view *view = s->view[atomic_fetch_add(&s->viewer, 1)];
    for (int again = 0; again < 2; again++) {
        for (uint64_t r = 0; r < SIDE; r += SIDE / BATCH) {
            uint64_t length = 0;
            fine(s, dcsr_view_get_row(view, r, 0, NULL, NULL, &length), DCSR_OK);
            if (length != 20) fine(s, DCSR_ERROR_DIMENSION_MISMATCH, DCSR_OK);
        }
    }
    dcsr_view_destroy(view);
    return NULL;
}

Test(closing, a_matrix_leaves_its_views_to_other_threads)
{
    for (int round = 0; round < TEST_SIZE(200, 80, 40); round++) {
        shared s = {.context = test_context(1)};
        s.matrix = test_matrix(s.context, DCSR_FP64, SIDE, SIDE, DCSR_POLICY_SUM);
        for (uint64_t i = 0; i < 40; i++) TEST_OK(insert_column(&s, i / 2, NULL));
        TEST_OK(dcsr_matrix_wait(s.matrix));
        if (round % 3 == 0) TEST_OK(dcsr_matrix_defragment(s.matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
        if (round % 3 == 0) TEST_OK(dcsr_matrix_wait(s.matrix));
        for (int i = 0; i < THREADS; i++) s.view[i] = test_view(s.matrix, (dcsr_layout)(i % 2), 0);
        TEST_OK(dcsr_matrix_defragment(s.matrix, DCSR_DEFRAGMENT_WHOLE, NULL)); /* pending, or just done */
        run_threads(&s, read_and_destroy, destroy_matrix);
        test_close(s.context);
    }
}

/* queue.c: the queue of a matrix, the thread that works it off, and tickets.
 *
 * The worker is started by the first operation and ends when it has been idle for a while, so that a process
 * may have thousands of matrices at rest. The owner of the matrix stops it before letting go, so it needs no
 * reference of its own. */
#include "dcsr/store.h"
#ifdef DCSR_CUDA
#include "dcsr/stage_cuda.h"
#endif
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* How long an idle worker keeps what it may need again soon: freed space of the arena, then what sorting used
 * and itself. */
enum { TRIM_MILLISECONDS = 100, IDLE_MILLISECONDS = 2000 };

struct dcsr_ticket {
    dcsr_i_operation *operation;
};

/* ---- Operations ---- */

dcsr_i_operation *dcsr_i_operation_create(dcsr_context *context, dcsr_i_kind kind)
{
    dcsr_i_operation *operation = dcsr_i_calloc(context, DCSR_I_SCRATCH, 1, sizeof *operation);
    if (!operation) return NULL;
    operation->context = context;
    operation->kind = kind;
    atomic_init(&operation->references, 1);
    pthread_mutex_init(&operation->lock, NULL);
    pthread_cond_init(&operation->finished, NULL);
    dcsr_i_context_retain(context);
    return operation;
}

static void drop_entries(dcsr_i_operation *operation)
{
    dcsr_i_free(operation->context, dcsr_i_entries_pool(operation->context), operation->entries,
                operation->capacity, operation->entry_bytes);
    operation->entries = NULL;
    operation->capacity = 0;
}

void dcsr_i_operation_release(dcsr_i_operation *operation)
{
    if (!operation || atomic_fetch_sub(&operation->references, 1) != 1) return;
    dcsr_context *context = operation->context;
    drop_entries(operation);
    pthread_cond_destroy(&operation->finished);
    pthread_mutex_destroy(&operation->lock);
    dcsr_i_free(context, DCSR_I_SCRATCH, operation, 1, sizeof *operation);
    dcsr_i_context_release(context);
}

/* ---- Tickets ---- */

dcsr_ticket *dcsr_i_ticket_create(dcsr_i_operation *operation)
{
    dcsr_ticket *ticket = dcsr_i_alloc(operation->context, DCSR_I_SCRATCH, 1, sizeof *ticket);
    if (!ticket) return NULL;
    ticket->operation = operation;
    atomic_fetch_add(&operation->references, 1);
    return ticket;
}

/* Falling asleep and being woken takes some 50 microseconds, ten times what a small batch takes. So before
 * they sleep, a worker that has run out of work and a caller that waits for a ticket look around for about as
 * long as that. */
enum { SPIN_NANOSECONDS = 20000 };

static uint64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Yields, so that whoever is waited for may have this core if it has no other. */
static void pause_briefly(void)
{
    for (int i = 0; i < 16; i++) __builtin_ia32_pause();
    sched_yield();
}

dcsr_status dcsr_ticket_poll(const dcsr_ticket *ticket, bool *done)
{
    if (!ticket || !done)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_ticket_poll: %s is NULL",
                           ticket ? "done" : "ticket");
    *done = atomic_load(&ticket->operation->done);
    return DCSR_OK;
}

dcsr_status dcsr_ticket_wait(dcsr_ticket *ticket)
{
    if (!ticket) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_ticket_wait: ticket is NULL");
    dcsr_i_operation *operation = ticket->operation;
    for (uint64_t start = nanoseconds(); !atomic_load(&operation->done);) {
        if (nanoseconds() - start > SPIN_NANOSECONDS) break;
        pause_briefly();
    }
    pthread_mutex_lock(&operation->lock);
    while (!atomic_load(&operation->done)) pthread_cond_wait(&operation->finished, &operation->lock);
    pthread_mutex_unlock(&operation->lock);
    return operation->status == DCSR_OK ? DCSR_OK : dcsr_i_fail(operation->status, "%s", operation->message);
}

void dcsr_ticket_destroy(dcsr_ticket *ticket)
{
    if (!ticket) return;
    dcsr_i_operation *operation = ticket->operation;
    dcsr_context *context = operation->context;
    dcsr_i_context_retain(context);
    dcsr_i_free(context, DCSR_I_SCRATCH, ticket, 1, sizeof *ticket);
    dcsr_i_operation_release(operation);
    dcsr_i_context_release(context);
}

/* ---- The worker ---- */

static dcsr_status apply(dcsr_matrix *matrix, dcsr_i_operation *operation)
{
    switch (operation->kind) {
    case DCSR_I_INSERT:
    case DCSR_I_REMOVE:
        return matrix->engine->apply_entries(matrix, operation);
    case DCSR_I_RESIZE:
        return matrix->engine->apply_resize(matrix, operation->rows, operation->cols);
    case DCSR_I_DEFRAGMENT:
        return dcsr_i_apply_defragment(matrix, operation->scope);
    case DCSR_I_SETTLE:
        return dcsr_i_apply_settle(matrix);
    }
    return DCSR_OK;
}

static void finish(dcsr_i_operation *operation, dcsr_status status, const char *message)
{
    drop_entries(operation);
    pthread_mutex_lock(&operation->lock);
    operation->status = status;
    if (status != DCSR_OK) snprintf(operation->message, sizeof operation->message, "%s", message);
    atomic_store(&operation->done, true);
    pthread_cond_broadcast(&operation->finished);
    pthread_mutex_unlock(&operation->lock);
}

static void count(dcsr_matrix *matrix, const dcsr_i_operation *operation, uint64_t n)
{
    if (operation->kind == DCSR_I_INSERT)
        atomic_fetch_add(&matrix->inserted, n);
    else if (operation->kind == DCSR_I_REMOVE)
        atomic_fetch_add(&matrix->deleted, n);
    else
        return;
    atomic_fetch_add(&matrix->batches, operation->batches);
}

/* Waits for an operation, so long at most. Called and returns with the lock. */
static bool wait_for_operation(dcsr_matrix *matrix, int milliseconds)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += milliseconds % 1000 * 1000000L;
    until.tv_sec += milliseconds / 1000 + until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    while (!matrix->first && !matrix->stopping)
        if (pthread_cond_timedwait(&matrix->queue_changed, &matrix->queue_lock, &until) == ETIMEDOUT) break;
    return matrix->first != NULL;
}

/* Takes the first operation out of the queue, or waits for one; NULL when the worker should end. Called and
 * returns with the lock. */
static dcsr_i_operation *next_operation(dcsr_matrix *matrix)
{
    if (!matrix->first && !matrix->stopping) {
        uint64_t queued = atomic_load(&matrix->queued), start = nanoseconds();
        pthread_mutex_unlock(&matrix->queue_lock);
        while (atomic_load(&matrix->queued) == queued && nanoseconds() - start < SPIN_NANOSECONDS)
            pause_briefly();
        pthread_mutex_lock(&matrix->queue_lock);
    }
    if (!wait_for_operation(matrix, TRIM_MILLISECONDS) && !matrix->stopping) {
        pthread_mutex_unlock(&matrix->queue_lock);
        matrix->engine->trim(matrix);
        pthread_mutex_lock(&matrix->queue_lock);
        wait_for_operation(matrix, IDLE_MILLISECONDS);
    }
    dcsr_i_operation *operation = matrix->first;
    if (!operation) return NULL;
    matrix->first = operation->next;
    if (!matrix->first) matrix->last = NULL;
    matrix->running = operation;
    return operation;
}

/* A resize has failed: batches queued from now on are checked against what the matrix still is, unless
 * another resize is on its way. Those queued meanwhile are checked again when they are applied. */
static void take_back_dimensions(dcsr_matrix *matrix)
{
    if (matrix->queued_resizes) return;
    matrix->queued_rows = matrix->current->rows;
    matrix->queued_cols = matrix->current->cols;
}

/* Applies one operation. Called and returns with the lock, which it lets go meanwhile. */
static void run(dcsr_matrix *matrix, dcsr_i_operation *operation)
{
    bool maintenance = operation->kind == DCSR_I_SETTLE || operation->kind == DCSR_I_DEFRAGMENT;
    uint64_t bytes = dcsr_i_operation_bytes(operation), entries = operation->n;
    pthread_mutex_unlock(&matrix->queue_lock);
    uint64_t start = nanoseconds();
    dcsr_status status = apply(matrix, operation);
    atomic_fetch_add(&matrix->busy_nanoseconds, nanoseconds() - start);
    if (status == DCSR_OK) count(matrix, operation, entries);
    pthread_mutex_lock(&matrix->queue_lock);
    if (status != DCSR_OK && !operation->watched && matrix->unwatched == DCSR_OK) {
        matrix->unwatched = status;
        snprintf(matrix->unwatched_message, sizeof matrix->unwatched_message, "%s", dcsr_i_error_text());
    }
    matrix->queued_resizes -= operation->kind == DCSR_I_RESIZE;
    if (status != DCSR_OK && operation->kind == DCSR_I_RESIZE) take_back_dimensions(matrix);
    matrix->running = NULL;
    matrix->pending_bytes -= bytes;
    matrix->applied++;
    if (maintenance) matrix->maintenance_queued = false;
    pthread_cond_broadcast(&matrix->queue_changed);
    finish(operation, status, dcsr_i_error_text());
    dcsr_i_operation_release(operation);
}

static void *work(void *argument)
{
    dcsr_matrix *matrix = argument;
    pthread_mutex_lock(&matrix->queue_lock);
    for (;;) {
        dcsr_i_operation *operation = next_operation(matrix);
        if (operation) {
            run(matrix, operation);
            continue;
        }
        if (matrix->stopping) break;
        /* Idle: what sorting used goes back to the system. */
        pthread_mutex_unlock(&matrix->queue_lock);
        dcsr_i_allocator_trim();
        pthread_mutex_lock(&matrix->queue_lock);
        if (!matrix->first) break;
    }
    matrix->worker_runs = false;
    pthread_cond_broadcast(&matrix->queue_changed);
    pthread_mutex_unlock(&matrix->queue_lock);
    return NULL;
}

static dcsr_status start_worker(dcsr_matrix *matrix)
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    int error = pthread_create(&thread, &attributes, work, matrix);
    pthread_attr_destroy(&attributes);
    if (!error) {
        matrix->worker_runs = true;
        return DCSR_OK;
    }
    return dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY, "starting the worker of a matrix: %s", strerror(error));
}

/* ---- What others do to the queue ---- */

dcsr_status dcsr_i_enqueue_locked(dcsr_matrix *matrix, dcsr_i_operation *operation)
{
    if (matrix->stopping)
        return dcsr_i_fail(DCSR_ERROR_CONTEXT_DESTROYED, "the matrix is being destroyed with its context");
    if (!matrix->worker_runs) DCSR_TRY(start_worker(matrix));
    if (matrix->last)
        matrix->last->next = operation;
    else
        matrix->first = operation;
    matrix->last = operation;
    matrix->pending_bytes += dcsr_i_operation_bytes(operation);
    matrix->queued_resizes += operation->kind == DCSR_I_RESIZE;
    matrix->queued++;
    pthread_cond_broadcast(&matrix->queue_changed);
    return DCSR_OK;
}

bool dcsr_i_queue_is_idle(dcsr_matrix *matrix)
{
    pthread_mutex_lock(&matrix->queue_lock);
    bool idle = !matrix->first && !matrix->running;
    pthread_mutex_unlock(&matrix->queue_lock);
    return idle;
}

void dcsr_i_queue_wait(dcsr_matrix *matrix)
{
    pthread_mutex_lock(&matrix->queue_lock);
    uint64_t target = matrix->queued;
    while (matrix->applied < target) pthread_cond_wait(&matrix->queue_changed, &matrix->queue_lock);
    pthread_mutex_unlock(&matrix->queue_lock);
}

/* Tells the tickets of operations that were taken out of the queue. Called with the lock. */
static void cancel(dcsr_matrix *matrix, dcsr_i_operation *cancelled)
{
    while (cancelled) {
        dcsr_i_operation *operation = cancelled;
        cancelled = operation->next;
#ifdef DCSR_CUDA
        if (matrix->cuda) dcsr_cuda_cancel_arrival(matrix, operation);
#endif
        matrix->pending_bytes -= dcsr_i_operation_bytes(operation);
        matrix->applied++;
        finish(operation, DCSR_ERROR_CANCELLED, "the matrix was destroyed before this change was applied");
        dcsr_i_operation_release(operation);
    }
    pthread_cond_broadcast(&matrix->queue_changed);
}

void dcsr_i_queue_stop(dcsr_matrix *matrix, bool finish_queue)
{
    dcsr_i_operation *cancelled = NULL;
    pthread_mutex_lock(&matrix->queue_lock);
    matrix->stopping = true;
    if (!finish_queue) {
        cancelled = matrix->first;
        matrix->first = matrix->last = NULL;
    }
    pthread_cond_broadcast(&matrix->queue_changed);
    /* The worker may be at the first of them already, bringing its entries to the device. */
    while (matrix->worker_runs) pthread_cond_wait(&matrix->queue_changed, &matrix->queue_lock);
    cancel(matrix, cancelled);
    pthread_mutex_unlock(&matrix->queue_lock);
}

void dcsr_i_request_maintenance(dcsr_matrix *matrix, dcsr_i_kind kind, dcsr_defragment_scope scope)
{
    if (matrix->defragmentation == DCSR_DEFRAGMENT_OFF) return;
    pthread_mutex_lock(&matrix->queue_lock);
    if (!matrix->maintenance_queued && !matrix->stopping) {
        dcsr_i_operation *operation = dcsr_i_operation_create(matrix->context, kind);
        if (operation) {
            operation->scope = scope;
            /* It is a service, not a change that was asked for: when it fails the matrix goes on as it is. */
            operation->watched = true;
            matrix->maintenance_queued = dcsr_i_enqueue_locked(matrix, operation) == DCSR_OK;
            if (!matrix->maintenance_queued) dcsr_i_operation_release(operation);
        }
    }
    pthread_mutex_unlock(&matrix->queue_lock);
}

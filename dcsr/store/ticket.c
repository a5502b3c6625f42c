/* ticket.c: operations, waiting for one, and what a caller holds to do so. */
#include "dcsr/base/turn.h"
#include "dcsr/store/agreement.h"
#include "dcsr/store/store.h"

/* A version costs a device about as much as this many entries, so more need not be applied at once, and who
 * waits for the first of them need not wait longer. */
enum { APPLIED_AT_ONCE = 1 << 22 };

struct dcsr_ticket {
    dcsr_i_operation *operation;
};

/* ---- Operations ---- */

dcsr_i_operation *dcsr_i_operation_create(const dcsr_matrix *matrix, dcsr_i_kind kind)
{
    dcsr_context *context = matrix->context;
    dcsr_i_operation *operation = dcsr_i_calloc(context, DCSR_I_SCRATCH, 1, sizeof *operation);
    if (!operation) return NULL;
    operation->context = context;
    operation->engine = matrix->engine;
    operation->matrix = matrix->serial;
    operation->kind = kind;
    atomic_init(&operation->references, 1);
    pthread_mutex_init(&operation->outcome.lock, NULL);
    pthread_cond_init(&operation->outcome.finished, NULL);
    dcsr_i_context_retain(context);
    return operation;
}

void dcsr_i_operation_drop_entries(dcsr_i_operation *operation)
{
    dcsr_i_free(operation->context, operation->engine->entries_pool, operation->batch.entries,
                operation->batch.capacity, operation->batch.entry_bytes);
    operation->batch.entries = NULL;
    operation->batch.capacity = 0;
}

static void drop_record(dcsr_i_operation *operation)
{
    dcsr_i_free(operation->context, DCSR_I_SCRATCH, operation->journal.record, operation->journal.bytes, 1);
    operation->journal.record = NULL;
}

void dcsr_i_operation_release(dcsr_i_operation *operation)
{
    if (!operation || atomic_fetch_sub(&operation->references, 1) != 1) return;
    dcsr_context *context = operation->context;
    dcsr_i_operation_drop_entries(operation);
    drop_record(operation);
    pthread_cond_destroy(&operation->outcome.finished);
    pthread_mutex_destroy(&operation->outcome.lock);
    dcsr_i_free(context, DCSR_I_SCRATCH, operation, 1, sizeof *operation);
    dcsr_i_context_release(context);
}

void dcsr_i_operation_discard(dcsr_i_operation *operation)
{
    if (operation && operation->engine->unstage) operation->engine->unstage(operation);
    dcsr_i_operation_release(operation);
}

/* Those with a tag go alone, since the version that they make gets it, and others may fail; so do those with an
 * agreement. */
static bool goes_alone(const dcsr_i_operation *operation)
{
    return operation->tagged || operation->agreement.agree;
}

static bool go_together(const dcsr_i_operation *a, const dcsr_i_operation *b)
{
    return !goes_alone(a) && !goes_alone(b) && a->kind == b->kind &&
           (a->kind == DCSR_I_INSERT || a->kind == DCSR_I_REMOVE) && a->batch.rows == b->batch.rows &&
           a->batch.cols == b->batch.cols;
}

void dcsr_i_operation_join(dcsr_i_operation *operation, dcsr_i_operation **list)
{
    dcsr_i_operation **end = &operation->joined;
    uint64_t n = operation->batch.n;
    while (*list && go_together(operation, *list) && n + (*list)->batch.n <= APPLIED_AT_ONCE) {
        dcsr_i_operation *next = *list;
        *list = next->next;
        *end = next;
        end = &next->next;
        n += next->batch.n;
    }
    *end = NULL;
}

/* Asks once. */
static bool ask(dcsr_i_operation *operation, bool ready)
{
    const dcsr_i_agreement agreement = operation->agreement;
    operation->agreement.agree = NULL;
    return !agreement.agree || agreement.agree(agreement.user, ready);
}

void dcsr_i_disagree(dcsr_i_operation *operation)
{
    ask(operation, false);
}

dcsr_status dcsr_i_agree(dcsr_i_operation *operation)
{
    if (ask(operation, true)) return DCSR_OK;
    return dcsr_i_fail(DCSR_ERROR_CANCELLED,
                       "the change was not applied, as another matrix could not make its part of it");
}

void dcsr_i_operation_finish(dcsr_i_operation *operation, dcsr_status status, const char *message)
{
    dcsr_i_operation_drop_entries(operation);
    drop_record(operation);
    pthread_mutex_lock(&operation->outcome.lock);
    operation->outcome.status = status;
    if (status != DCSR_OK)
        dcsr_i_error_format(operation->outcome.message, sizeof operation->outcome.message, "%s", message);
    atomic_store(&operation->outcome.done, true);
    pthread_cond_broadcast(&operation->outcome.finished);
    pthread_mutex_unlock(&operation->outcome.lock);
}

/* ---- Waiting ---- */

dcsr_status dcsr_i_operation_wait(dcsr_i_operation *operation)
{
    uint64_t start = atomic_load(&operation->outcome.done) ? 0 : dcsr_i_nanoseconds();
    uint64_t most = operation->engine->spin_nanoseconds;
    while (!atomic_load(&operation->outcome.done) && dcsr_i_nanoseconds() - start <= most) dcsr_i_pause();
    pthread_mutex_lock(&operation->outcome.lock);
    while (!atomic_load(&operation->outcome.done))
        pthread_cond_wait(&operation->outcome.finished, &operation->outcome.lock);
    pthread_mutex_unlock(&operation->outcome.lock);
    return operation->outcome.status == DCSR_OK
               ? DCSR_OK
               : dcsr_i_fail(operation->outcome.status, "%s", operation->outcome.message);
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

dcsr_status dcsr_ticket_poll(const dcsr_ticket *ticket, bool *done)
{
    if (!ticket || !done)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_ticket_poll: %s is NULL",
                           ticket ? "done" : "ticket");
    *done = atomic_load(&ticket->operation->outcome.done);
    return DCSR_OK;
}

static _Thread_local bool has_waited;

bool dcsr_i_ticket_has_waited(void)
{
    const bool waited = has_waited;
    has_waited = false;
    return waited;
}

dcsr_status dcsr_ticket_wait(dcsr_ticket *ticket)
{
    if (!ticket) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_ticket_wait: ticket is NULL");
    has_waited = true;
    if (atomic_load(&ticket->operation->outcome.done)) return dcsr_i_operation_wait(ticket->operation);
    dcsr_i_turn_wait wait;
    DCSR_TRY(dcsr_i_turn_wait_begin(&wait, "dcsr_ticket_wait", ticket->operation->matrix));
    dcsr_status status = dcsr_i_operation_wait(ticket->operation);
    dcsr_i_turn_wait_end(&wait);
    return status;
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

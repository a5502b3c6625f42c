/* change.c: the calls that change a matrix: what they ask for is checked and put into its queue. */
#include "dcsr/store/agreement.h"
#include "dcsr/store/in_place.h"
#include "dcsr/base/turn.h"
#include "dcsr/store/maintained_transpose.h"

/* Waiting batches of one kind are joined up to this many entries. A batch that joins none is packed with the
 * queue's lock only while it is small. */
#ifdef DCSR_SIMT
enum { JOINED_ENTRIES = 1 << 20, SMALL_BATCH = 512 };
#else
enum { JOINED_ENTRIES = 1 << 20, SMALL_BATCH = 32768 };
#endif

/* A change of few entries (engine->applied_here) is applied by the thread that asks for it where the queue is free:
 * that costs less than waking the worker and waiting for it. But a thread that goes on inserting without waiting or
 * reading would do alone what the worker does beside it, many batches at once: so many are applied until somebody waits
 * or reads. */
enum { APPLIED_UNREAD = 8 };

/* ---- The queue ---- */

static bool is_full(const dcsr_matrix *matrix)
{
    return matrix->queue.pending_bytes >= matrix->queue.limit && !matrix->queue.stopping;
}

/* Waits until the queue has room. Called and returns with the queue's lock. */
static dcsr_status wait_for_room(dcsr_matrix *matrix, const char *call)
{
    if (!is_full(matrix)) return DCSR_OK;
    if (matrix->queue.refuse_when_full)
        return dcsr_i_fail(DCSR_ERROR_BUSY,
                           "%s: %llu bytes of changes are waiting, the limit of this matrix; try again later",
                           call, (unsigned long long)matrix->queue.pending_bytes);
    dcsr_i_turn_wait wait;
    DCSR_TRY(dcsr_i_turn_wait_begin(&wait, call, matrix->serial));
    while (is_full(matrix)) pthread_cond_wait(&matrix->queue.changed, &matrix->queue.lock);
    dcsr_i_turn_wait_end(&wait);
    return DCSR_OK;
}

/* The last operation of the queue if these entries can join it, with room for them; NULL when they cannot.
 * While a resize is on its way none can: should it fail, each batch is to stand or fall alone. */
static dcsr_i_operation *joinable(dcsr_matrix *matrix, const dcsr_i_entries *e)
{
    dcsr_i_operation *last = matrix->queue.last;
    if (!last || last->kind != e->kind || last->batch.sealed || matrix->queue.resizes ||
        e->rows_needed > matrix->queue.rows || e->cols_needed > matrix->queue.cols ||
        last->batch.rows != matrix->queue.rows || last->batch.cols != matrix->queue.cols ||
        last->batch.n + e->n > JOINED_ENTRIES)
        return NULL;
    if (last->batch.n + e->n > last->batch.capacity &&
        dcsr_i_entries_room(last, 2 * (last->batch.n + e->n)) != DCSR_OK)
        return NULL;
    return last;
}

/* Whether somebody waits or reads now and then, for all that can be told. */
static bool is_awaited(const dcsr_matrix *matrix)
{
    return atomic_load_explicit(&matrix->queue.unread, memory_order_relaxed) < APPLIED_UNREAD;
}

/* Whether the operation is little enough for its caller to apply it, now. */
static bool is_for_caller(const dcsr_matrix *matrix, const dcsr_i_operation *operation)
{
    const dcsr_i_engine *engine = matrix->engine;
    if (matrix->queue.journal || operation->agreement.agree || !is_awaited(matrix) ||
        !dcsr_i_queue_is_free(&matrix->queue))
        return false;
    const dcsr_i_table *current = matrix->versions.current;
    if (operation->kind == DCSR_I_RESIZE)
        return engine->in_place &&
               (current->stored <= engine->applied_here ||
                (operation->resize.rows >= current->rows && operation->resize.cols >= current->cols));
    /* A call with arrays of a device does not wait for the work that writes them: only if they are ready. */
    const dcsr_i_arrival *arrival = &operation->batch.arrival;
    return operation->kind != DCSR_I_DEFRAGMENT &&
           (arrival->rows || (operation->batch.n <= engine->applied_here && !arrival->keys));
}

/* Puts an operation that the caller made into the queue, or takes the turn for it: then it is in *here, for the
 * caller to apply it once the lock is free. Gives out a ticket. With the queue's lock. */
static dcsr_status submit(dcsr_matrix *matrix, dcsr_i_operation *operation, dcsr_ticket **ticket,
                          dcsr_i_operation **here)
{
    dcsr_ticket *created = NULL;
    if (ticket) {
        created = dcsr_i_ticket_create(operation);
        if (!created) return DCSR_ERROR_OUT_OF_MEMORY;
        operation->outcome.watched = true;
        *ticket = created;
    }
    dcsr_status status = dcsr_i_grow_ahead(matrix, &operation->batch);
    if (status == DCSR_OK && is_for_caller(matrix, operation)) {
        dcsr_i_queue_begin_turn(matrix, operation);
        atomic_fetch_add_explicit(&matrix->queue.unread, 1, memory_order_relaxed);
        *here = operation;
        return DCSR_OK;
    }
    if (status == DCSR_OK) status = dcsr_i_enqueue_locked(matrix, operation);
    if (status != DCSR_OK && ticket) {
        *ticket = NULL;
        dcsr_ticket_destroy(created);
    }
    return status;
}

/* Checks and packs a batch behind those of a waiting operation. With the lock. */
static dcsr_status join(dcsr_matrix *matrix, dcsr_i_operation *last, const dcsr_i_entries *e,
                        dcsr_ticket **ticket)
{
    dcsr_ticket *created = ticket ? dcsr_i_ticket_create(last) : NULL;
    if (ticket && !created) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_status status = dcsr_i_entries_pack(last, e, 1);
    if (status != DCSR_OK) {
        dcsr_ticket_destroy(created);
        return status;
    }
    dcsr_i_operation_tag(last, e->tag);
    if (ticket) *ticket = created;
    /* A ticket reports a failure; a caller that asked for none learns of it from dcsr_matrix_wait(). */
    last->outcome.watched = last->outcome.watched && ticket;
    const uint64_t bytes = dcsr_i_operation_bytes(last);
    matrix->queue.pending_bytes += bytes - last->counted;
    last->counted = bytes;
    return DCSR_OK;
}

/* A small batch: checked and packed under the lock. */
static dcsr_status queue_small(dcsr_matrix *matrix, const dcsr_i_entries *e, dcsr_ticket **ticket,
                               dcsr_i_operation **here)
{
    dcsr_i_operation *operation;
    uint64_t rows, cols;
    dcsr_i_grown(matrix, e, &rows, &cols);
    DCSR_TRY(dcsr_i_entries_operation(&operation, matrix, e, rows, cols));
    dcsr_status status = dcsr_i_entries_pack(operation, e, 1);
    if (status == DCSR_OK) status = submit(matrix, operation, ticket, here);
    if (status != DCSR_OK) dcsr_i_operation_release(operation);
    return status;
}

/* A large batch for a device is brought there at once, but for that of a durable matrix, whose journal wants
 * it too. */
static bool is_staged(const dcsr_matrix *matrix, const dcsr_i_entries *e)
{
    return matrix->engine->stage && !matrix->queue.journal && e->n > SMALL_BATCH;
}

static dcsr_status pack_large(const dcsr_matrix *matrix, dcsr_i_operation *operation, const dcsr_i_entries *e)
{
    if (is_staged(matrix, e))
        return matrix->engine->stage(operation, e, dcsr_i_entries_threads(matrix->context, e->n));
    return dcsr_i_entries_pack(operation, e, dcsr_i_threads(matrix->context, e->n));
}

/* A large batch: checked and packed without the lock, again if the dimensions have changed meanwhile. Called
 * and returns with the lock. */
static dcsr_status queue_large(dcsr_matrix *matrix, const dcsr_i_entries *e, dcsr_ticket **ticket,
                               dcsr_i_operation **here)
{
    dcsr_i_operation *operation = NULL;
    dcsr_status status = DCSR_OK;
    uint64_t rows, cols;
    dcsr_i_grown(matrix, e, &rows, &cols);
    do {
        dcsr_i_operation_discard(operation);
        operation = NULL;
        pthread_mutex_unlock(&matrix->queue.lock);
        status = dcsr_i_entries_operation(&operation, matrix, e, rows, cols);
        if (status == DCSR_OK) status = pack_large(matrix, operation, e);
        pthread_mutex_lock(&matrix->queue.lock);
        dcsr_i_grown(matrix, e, &rows, &cols);
    } while (status == DCSR_OK && (operation->batch.rows != rows || operation->batch.cols != cols));
    if (status == DCSR_OK) status = submit(matrix, operation, ticket, here);
    if (status != DCSR_OK) dcsr_i_operation_discard(operation);
    return status;
}

/* A batch whose arrays are on the device: the work that reads them is put behind what the caller's stream
 * holds, and finds out what the host cannot look at; or few entries, which are ready, are applied here. With the
 * lock. */
static dcsr_status queue_device(dcsr_matrix *matrix, const dcsr_i_entries *e, dcsr_ticket **ticket,
                                dcsr_i_operation **here)
{
    dcsr_i_operation *operation;
    DCSR_TRY(dcsr_i_entries_operation(&operation, matrix, e, matrix->queue.rows, matrix->queue.cols));
    dcsr_status status = matrix->engine->expect(matrix, operation, e, is_for_caller(matrix, operation));
    if (status == DCSR_OK) {
        status = submit(matrix, operation, ticket, here);
        matrix->engine->arrive(matrix, operation, e, status == DCSR_OK);
    }
    if (status != DCSR_OK) dcsr_i_operation_release(operation);
    return status;
}

/* Called and returns with the lock. */
static dcsr_status queue(dcsr_matrix *matrix, const dcsr_i_entries *e, dcsr_ticket **ticket,
                         dcsr_i_operation **here)
{
    if (e->on_device && e->n) return queue_device(matrix, e, ticket, here);
    dcsr_i_operation *last = is_staged(matrix, e) || e->agreement ? NULL : joinable(matrix, e);
    if (last) return join(matrix, last, e, ticket);
    return e->n <= SMALL_BATCH ? queue_small(matrix, e, ticket, here) : queue_large(matrix, e, ticket, here);
}

static dcsr_status queue_or_apply(dcsr_matrix *matrix, const dcsr_i_entries *e, dcsr_ticket **ticket)
{
    dcsr_i_operation *here = NULL;
    pthread_mutex_lock(&matrix->queue.lock);
    dcsr_status status = wait_for_room(matrix, e->call);
    if (status == DCSR_OK) status = queue(matrix, e, ticket, &here);
    pthread_mutex_unlock(&matrix->queue.lock);
    if (here) dcsr_i_queue_apply_here(matrix, here);
    return status;
}

/* Whether it is worth asking for a change in place, which leaves no operation that a ticket could hold, and makes no
 * version that could have a tag. */
static bool is_in_place(const dcsr_matrix *matrix, const dcsr_i_entries *e, dcsr_ticket **ticket)
{
    return e->n == 1 && !ticket && !e->tag && !e->agreement && !e->on_device && is_awaited(matrix);
}

dcsr_status dcsr_i_matrix_change(dcsr_matrix *matrix, dcsr_i_entries *e, dcsr_ticket **ticket)
{
    if (ticket) *ticket = NULL;
    if (matrix && matrix->queue.journal && e->on_device)
        return dcsr_i_fail(
            DCSR_ERROR_INVALID_ARGUMENT,
            "%s: the matrix is durable, and its log is written from the memory of the host; give the "
            "batch from there",
            e->call);
    DCSR_TRY(dcsr_i_entries_check(matrix, e));
    DCSR_TRY(dcsr_i_grow_for(matrix, e));
    if (dcsr_i_ticket_has_waited()) dcsr_i_queue_is_awaited(&matrix->queue); /* whichever ticket it was */
    dcsr_i_set_aside before =
        dcsr_i_use_set_aside(e->kind == DCSR_I_REMOVE ? DCSR_I_HALF_SET_ASIDE : DCSR_I_NOT_SET_ASIDE);
    dcsr_status status = is_in_place(matrix, e, ticket) && dcsr_i_apply_in_place(matrix, e)
                             ? DCSR_OK
                             : queue_or_apply(matrix, e, ticket);
    dcsr_i_use_set_aside(before);
    return status;
}

dcsr_status dcsr_i_matrix_change_packed(dcsr_matrix *matrix, dcsr_i_operation *operation,
                                        const dcsr_i_agreement *agreement, dcsr_ticket **ticket)
{
    dcsr_i_operation *here = NULL;
    *ticket = NULL;
    dcsr_status status = dcsr_i_matrix_check(matrix);
    if (status != DCSR_OK) {
        dcsr_i_operation_discard(operation);
        return status;
    }
    operation->matrix = matrix->serial;
    operation->batch.sealed = true;
    if (agreement) operation->agreement = *agreement;
    dcsr_i_set_aside before =
        dcsr_i_use_set_aside(operation->kind == DCSR_I_REMOVE ? DCSR_I_HALF_SET_ASIDE : DCSR_I_NOT_SET_ASIDE);
    pthread_mutex_lock(&matrix->queue.lock);
    status = submit(matrix, operation, ticket, &here);
    pthread_mutex_unlock(&matrix->queue.lock);
    if (here) dcsr_i_queue_apply_here(matrix, here);
    if (status != DCSR_OK) dcsr_i_operation_discard(operation);
    dcsr_i_use_set_aside(before);
    return status;
}

dcsr_status dcsr_i_matrix_insert(dcsr_matrix *matrix, const char *call, uint64_t n, const uint64_t *rows,
                                 const uint64_t *cols, const void *values, dcsr_ticket **ticket)
{
    dcsr_i_entries e = {
        .call = call, .kind = DCSR_I_INSERT, .n = n, .rows = rows, .cols = cols, .values = values};
    return dcsr_i_matrix_change(matrix, &e, ticket);
}

dcsr_status dcsr_matrix_insert(dcsr_matrix *matrix, uint64_t n, const uint64_t *rows, const uint64_t *cols,
                               const void *values, dcsr_ticket **ticket)
{
    return dcsr_i_matrix_insert(matrix, "dcsr_matrix_insert", n, rows, cols, values, ticket);
}

dcsr_status dcsr_matrix_remove(dcsr_matrix *matrix, uint64_t n, const uint64_t *rows, const uint64_t *cols,
                               dcsr_ticket **ticket)
{
    dcsr_i_entries e = {
        .call = "dcsr_matrix_remove", .kind = DCSR_I_REMOVE, .n = n, .rows = rows, .cols = cols};
    return dcsr_i_matrix_change(matrix, &e, ticket);
}

dcsr_status dcsr_matrix_insert_tagged(dcsr_matrix *matrix, uint64_t n, const uint64_t *rows,
                                      const uint64_t *cols, const void *values, const dcsr_tag *tag,
                                      dcsr_ticket **ticket)
{
    dcsr_i_entries e = {.call = "dcsr_matrix_insert_tagged",
                        .kind = DCSR_I_INSERT,
                        .n = n,
                        .rows = rows,
                        .cols = cols,
                        .values = values,
                        .tag = tag};
    return dcsr_i_matrix_change(matrix, &e, ticket);
}

dcsr_status dcsr_matrix_remove_tagged(dcsr_matrix *matrix, uint64_t n, const uint64_t *rows,
                                      const uint64_t *cols, const dcsr_tag *tag, dcsr_ticket **ticket)
{
    dcsr_i_entries e = {.call = "dcsr_matrix_remove_tagged",
                        .kind = DCSR_I_REMOVE,
                        .n = n,
                        .rows = rows,
                        .cols = cols,
                        .tag = tag};
    return dcsr_i_matrix_change(matrix, &e, ticket);
}

dcsr_status dcsr_i_matrix_insert_device(dcsr_matrix *matrix, const char *call, uint64_t n,
                                        const uint64_t *rows, const uint64_t *cols, const void *values,
                                        void *stream, dcsr_ticket **ticket)
{
    dcsr_i_entries e = {.call = call,
                        .kind = DCSR_I_INSERT,
                        .n = n,
                        .rows = rows,
                        .cols = cols,
                        .values = values,
                        .on_device = true,
                        .stream = stream};
    return dcsr_i_matrix_change(matrix, &e, ticket);
}

dcsr_status dcsr_matrix_insert_device(dcsr_matrix *matrix, uint64_t n, const uint64_t *rows,
                                      const uint64_t *cols, const void *values, void *stream,
                                      dcsr_ticket **ticket)
{
    return dcsr_i_matrix_insert_device(matrix, "dcsr_matrix_insert_device", n, rows, cols, values, stream,
                                       ticket);
}

dcsr_status dcsr_matrix_remove_device(dcsr_matrix *matrix, uint64_t n, const uint64_t *rows,
                                      const uint64_t *cols, void *stream, dcsr_ticket **ticket)
{
    dcsr_i_entries e = {.call = "dcsr_matrix_remove_device",
                        .kind = DCSR_I_REMOVE,
                        .n = n,
                        .rows = rows,
                        .cols = cols,
                        .on_device = true,
                        .stream = stream};
    return dcsr_i_matrix_change(matrix, &e, ticket);
}

/* The other changes need no packing. */
static dcsr_status queue_change(dcsr_matrix *matrix, const char *call, const dcsr_i_operation *change,
                                dcsr_ticket **ticket)
{
    if (ticket) *ticket = NULL;
    DCSR_TRY(dcsr_i_matrix_check(matrix));
    /* To be queued it takes little; what it may take to be applied depends on what it does (queue.c). */
    dcsr_i_set_aside before = dcsr_i_use_set_aside(DCSR_I_ALL_SET_ASIDE);
    dcsr_i_operation *operation = dcsr_i_operation_create(matrix, change->kind);
    dcsr_i_operation *here = NULL;
    dcsr_status status = operation ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
    if (status == DCSR_OK) {
        operation->resize = change->resize;
        operation->defragment = change->defragment;
        pthread_mutex_lock(&matrix->queue.lock);
        status = wait_for_room(matrix, call);
        if (change->resize.grows)
            dcsr_i_grown(
                matrix,
                &(dcsr_i_entries){.rows_needed = change->resize.rows, .cols_needed = change->resize.cols},
                &operation->resize.rows, &operation->resize.cols);
        const uint64_t rows = operation->resize.rows, cols = operation->resize.cols;
        if (status == DCSR_OK) status = submit(matrix, operation, ticket, &here);
        if (status == DCSR_OK && change->kind == DCSR_I_RESIZE) {
            matrix->queue.rows = rows;
            matrix->queue.cols = cols;
        }
        pthread_mutex_unlock(&matrix->queue.lock);
        if (here) dcsr_i_queue_apply_here(matrix, here);
        if (status != DCSR_OK) dcsr_i_operation_release(operation);
    }
    dcsr_i_use_set_aside(before);
    return status;
}

static dcsr_status queue_resize(dcsr_matrix *matrix, const char *call, uint64_t rows, uint64_t cols,
                                bool grows, dcsr_ticket **ticket)
{
    if (ticket) *ticket = NULL;
    DCSR_TRY(dcsr_i_check_dimensions(call, rows, cols));
    if (matrix && matrix->transpose.maintained) DCSR_TRY(dcsr_i_check_twin_rows(call, rows));
    return queue_change(matrix, call,
                        &(dcsr_i_operation){.kind = DCSR_I_RESIZE, .resize = {rows, cols, grows}}, ticket);
}

dcsr_status dcsr_matrix_resize(dcsr_matrix *matrix, uint64_t rows, uint64_t cols, dcsr_ticket **ticket)
{
    return queue_resize(matrix, "dcsr_matrix_resize", rows, cols, false, ticket);
}

dcsr_status dcsr_matrix_grow(dcsr_matrix *matrix, uint64_t rows, uint64_t cols, dcsr_ticket **ticket)
{
    return queue_resize(matrix, "dcsr_matrix_grow", rows, cols, true, ticket);
}

dcsr_status dcsr_matrix_defragment(dcsr_matrix *matrix, dcsr_defragment_scope scope, dcsr_ticket **ticket)
{
    if (ticket) *ticket = NULL;
    if ((unsigned)scope > DCSR_DEFRAGMENT_SELECTED)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "dcsr_matrix_defragment: scope is %d; use DCSR_DEFRAGMENT_WHOLE or _SELECTED",
                           (int)scope);
    return queue_change(matrix, "dcsr_matrix_defragment",
                        &(dcsr_i_operation){.kind = DCSR_I_DEFRAGMENT, .defragment = {scope}}, ticket);
}

dcsr_status dcsr_matrix_wait(dcsr_matrix *matrix)
{
    DCSR_TRY(dcsr_i_matrix_check(matrix));
    DCSR_TRY(dcsr_i_queue_wait_until_told(matrix, "dcsr_matrix_wait"));
    pthread_mutex_lock(&matrix->queue.lock);
    dcsr_status status = matrix->queue.unwatched;
    if (status != DCSR_OK)
        dcsr_i_fail(status, "%s",
                    matrix->queue.unwatched_message ? matrix->queue.unwatched_message
                                                    : "a change failed for lack of memory");
    matrix->queue.unwatched = DCSR_OK;
    pthread_mutex_unlock(&matrix->queue.lock);
    return status;
}

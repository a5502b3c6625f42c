/* queue.c: the queue of a matrix, and the thread that works it off.
 *
 * The worker is started by the first operation and ends when it has been idle for a while, so that a process
 * may have thousands of matrices at rest. The owner of the matrix stops it before letting go, so it needs no
 * reference of its own. Where the queue is free a caller takes the turn itself for a small change (change.c). */
#include "dcsr/store/agreement.h"
#include "dcsr/store/journal.h"
#include "dcsr/base/turn.h"
#include "dcsr/store/maintained_transpose.h"
#include <string.h>

/* How long an idle worker keeps what it may need again soon: freed space of the arena, then what sorting used
 * and itself. */
enum { TRIM_MILLISECONDS = 100, IDLE_MILLISECONDS = 2000 };

/* ---- The worker ---- */

dcsr_status dcsr_i_queue_replace(dcsr_matrix *matrix, dcsr_i_replace *replace, void *user)
{
    const dcsr_i_turn turn = {matrix->context, matrix->serial, dcsr_i_turn_of_thread()};
    const dcsr_i_turn *before = dcsr_i_turn_enter(&turn);
    dcsr_status status = replace(matrix, user);
    dcsr_i_turn_enter(before);
    return status;
}

/* What fails before it has asked its agreement tells the others that it has. */
static dcsr_status apply_entries(dcsr_matrix *matrix, dcsr_i_operation *operation)
{
    dcsr_status status = matrix->engine->apply_entries(matrix, operation);
    if (status != DCSR_OK) dcsr_i_disagree(operation);
    return status;
}

static dcsr_status apply(dcsr_matrix *matrix, dcsr_i_operation *operation)
{
    switch (operation->kind) {
    case DCSR_I_INSERT:
    case DCSR_I_REMOVE:
        return apply_entries(matrix, operation);
    case DCSR_I_RESIZE:
        return matrix->engine->apply_resize(matrix, operation->resize.rows, operation->resize.cols);
    case DCSR_I_DEFRAGMENT:
        return dcsr_i_apply_defragment(matrix, operation->defragment.scope);
    case DCSR_I_REPLACE:
        return dcsr_i_queue_replace(matrix, operation->replace.call, operation->replace.user);
    }
    return DCSR_OK;
}

static void count(dcsr_matrix *matrix, const dcsr_i_operation *operation)
{
    if (operation->kind == DCSR_I_INSERT)
        atomic_fetch_add(&matrix->counts.inserted, operation->batch.n);
    else if (operation->kind == DCSR_I_REMOVE)
        atomic_fetch_add(&matrix->counts.removed, operation->batch.n);
    else
        return;
    atomic_fetch_add(&matrix->counts.batches, operation->batch.calls);
}

/* Waits for something to do, so long at most. Called and returns with the lock. */
static bool wait_asleep(dcsr_matrix *matrix, int milliseconds)
{
    uint64_t until = dcsr_i_nanoseconds() + (uint64_t)milliseconds * 1000000u;
    while (!dcsr_i_queue_has_work(&matrix->queue) && !matrix->queue.stopping)
        if (!dcsr_i_condition_wait(matrix->queue.filled, &matrix->queue.lock, until)) break;
    return dcsr_i_queue_has_work(&matrix->queue);
}

/* Waits for something to do. Where nothing has been applied for a while, by this thread or by one that has
 * taken the turn, memory is given back. With the lock. */
static void rest(dcsr_matrix *matrix)
{
    for (;;) {
        uint64_t applied = matrix->queue.applied;
        if (wait_asleep(matrix, TRIM_MILLISECONDS) || matrix->queue.stopping) return;
        if (matrix->queue.running || matrix->queue.applied != applied) continue;
        pthread_mutex_unlock(&matrix->queue.lock);
        dcsr_i_matrix_trim(matrix);
        pthread_mutex_lock(&matrix->queue.lock);
        if (wait_asleep(matrix, IDLE_MILLISECONDS) || matrix->queue.applied == applied) return;
    }
}

/* Waits for something to do, and for the turn; false when the worker should end. Called and returns with the
 * lock. */
static bool wait_for_work(dcsr_matrix *matrix)
{
    if (!dcsr_i_queue_has_work(&matrix->queue) && !matrix->queue.stopping) {
        uint64_t queued = atomic_load(&matrix->queue.queued), start = dcsr_i_nanoseconds();
        pthread_mutex_unlock(&matrix->queue.lock);
        while (atomic_load(&matrix->queue.queued) == queued &&
               dcsr_i_nanoseconds() - start < matrix->engine->spin_nanoseconds)
            dcsr_i_pause();
        pthread_mutex_lock(&matrix->queue.lock);
    }
    rest(matrix);
    /* Another thread may have the turn: dcsr_i_result_turn(). */
    while (matrix->queue.running) pthread_cond_wait(&matrix->queue.changed, &matrix->queue.lock);
    return dcsr_i_queue_has_work(&matrix->queue);
}

/* The calling thread has the worker's turn from here on, for what has been counted as queued. Who changes the matrix in
 * place has seen that, or has done when this gets the lock of the versions (in_place.h). With the queue's lock. */
static void take_turn(dcsr_matrix *matrix)
{
    matrix->queue.running = true;
    pthread_mutex_lock(&matrix->versions.lock);
    pthread_mutex_unlock(&matrix->versions.lock);
}

/* Takes the first operation out of the queue. With the lock. */
static dcsr_i_operation *take_operation(dcsr_matrix *matrix)
{
    dcsr_i_operation *operation = matrix->queue.first;
    matrix->queue.first = operation->next;
    if (matrix->engine->joins && !matrix->queue.journal)
        dcsr_i_operation_join(operation, &matrix->queue.first);
    if (!matrix->queue.first) matrix->queue.last = NULL;
    take_turn(matrix);
    return operation;
}

/* A resize has failed: batches queued from now on are checked against what the matrix still is, unless
 * another resize is on its way. Those queued meanwhile are checked again when they are applied. */
static void take_back_dimensions(dcsr_matrix *matrix)
{
    if (matrix->queue.resizes) return;
    matrix->queue.rows = matrix->versions.current->rows;
    matrix->queue.cols = matrix->versions.current->cols;
}

/* Keeps the sentence of a failure for whoever waits next; without memory, none. */
static void keep_message(dcsr_matrix *matrix, const char *message)
{
    char **kept = &matrix->queue.unwatched_message;
    if (!*kept) *kept = dcsr_i_alloc(matrix->context, DCSR_I_MATRIX, DCSR_I_MESSAGE, 1);
    if (*kept) dcsr_i_error_format(*kept, DCSR_I_MESSAGE, "%s", message);
}

/* Tells what has become of an operation; takes the reference. With the lock. */
static void tell(dcsr_matrix *matrix, dcsr_i_operation *operation, dcsr_status status, const char *message)
{
    if (status != DCSR_OK && !operation->outcome.watched && matrix->queue.unwatched == DCSR_OK) {
        matrix->queue.unwatched = status;
        keep_message(matrix, message);
    }
    matrix->queue.pending_bytes -= operation->counted;
    pthread_cond_broadcast(&matrix->queue.changed);
    dcsr_i_operation_finish(operation, status, message);
    dcsr_i_operation_release(operation);
}

void dcsr_i_queue_report(dcsr_matrix *matrix, dcsr_i_operation *operation, dcsr_status status,
                         const char *message)
{
    pthread_mutex_lock(&matrix->queue.lock);
    matrix->queue.reported++;
    tell(matrix, operation, status, message);
    pthread_mutex_unlock(&matrix->queue.lock);
}

/* The journal that is to keep the operation; NULL: none. */
static dcsr_i_journal *journal_for(const dcsr_matrix *matrix, const dcsr_i_operation *operation)
{
    bool change = operation->kind == DCSR_I_INSERT || operation->kind == DCSR_I_REMOVE ||
                  operation->kind == DCSR_I_RESIZE || operation->kind == DCSR_I_REPLACE;
    return change ? matrix->queue.journal : NULL;
}

/* Hands over to the journal what was applied. With the lock: the order is that of the versions. */
static dcsr_status hand_over(dcsr_matrix *matrix, dcsr_i_journal *journal, dcsr_i_operation *operation)
{
    dcsr_i_operation_drop_entries(operation);
    operation->journal.version = matrix->versions.current->version;
    operation->journal.tagged = matrix->versions.current->tagged;
    operation->journal.tag = matrix->versions.current->tag;
    DCSR_TRY(journal->applied(journal, operation));
    matrix->queue.journaled++;
    return DCSR_OK;
}

/* What an operation may take of the memory that is set aside: all of it to shrink, half of it for what may
 * make room, or lead to that. */
static dcsr_i_set_aside part_for(const dcsr_matrix *matrix, const dcsr_i_operation *operation)
{
    const dcsr_i_table *table = matrix->versions.current;
    switch (operation->kind) {
    case DCSR_I_RESIZE:
        return operation->resize.rows <= table->rows && operation->resize.cols <= table->cols
                   ? DCSR_I_ALL_SET_ASIDE
                   : DCSR_I_NOT_SET_ASIDE;
    case DCSR_I_REMOVE:
    case DCSR_I_DEFRAGMENT:
        return DCSR_I_HALF_SET_ASIDE;
    default:
        return DCSR_I_NOT_SET_ASIDE;
    }
}

/* Applies an operation, without the lock. */
static dcsr_status apply_timed(dcsr_matrix *matrix, dcsr_i_operation *operation)
{
    uint64_t start = dcsr_i_nanoseconds();
    dcsr_i_set_aside before = dcsr_i_use_set_aside(part_for(matrix, operation));
    matrix->versions.tag = operation->tagged ? &operation->tag : NULL;
    dcsr_status status = apply(matrix, operation);
    matrix->versions.tag = NULL;
    dcsr_i_use_set_aside(before);
    atomic_fetch_add(&matrix->counts.busy_nanoseconds, dcsr_i_nanoseconds() - start);
    return status;
}

/* An operation has been applied, or could not be. With the lock. */
static void end_operation(dcsr_matrix *matrix, dcsr_i_operation *operation, dcsr_status status,
                          dcsr_i_journal *journal)
{
    if (status == DCSR_OK) count(matrix, operation);
    matrix->queue.resizes -= operation->kind == DCSR_I_RESIZE;
    if (status != DCSR_OK && operation->kind == DCSR_I_RESIZE) take_back_dimensions(matrix);
    matrix->queue.applied++;
    pthread_cond_broadcast(&matrix->queue.changed);
    bool kept = status == DCSR_OK && journal;
    if (kept) status = hand_over(matrix, journal, operation);
    if (!kept || status != DCSR_OK) tell(matrix, operation, status, dcsr_i_error_text());
}

/* Applies an operation and what is joined to it: together, or where that fails each alone, so that it stands
 * or falls alone. Called and returns with the lock, which it lets go meanwhile. */
static void apply_joined(dcsr_matrix *matrix, dcsr_i_operation *operation)
{
    dcsr_i_journal *journal = journal_for(matrix, operation);
    pthread_mutex_unlock(&matrix->queue.lock);
    dcsr_i_settle_growth(matrix, operation);
    if (journal) journal->record(journal, operation);
    dcsr_status status = apply_timed(matrix, operation);
    dcsr_i_operation *next = operation->joined;
    const bool alone = next && status != DCSR_OK;
    for (operation->joined = NULL;; operation = next, next = operation->next) {
        if (alone) status = apply_timed(matrix, operation);
        pthread_mutex_lock(&matrix->queue.lock);
        if (!next) matrix->queue.running = false;
        end_operation(matrix, operation, status, journal);
        if (!next) return;
        pthread_mutex_unlock(&matrix->queue.lock);
    }
}

/* An operation, or what needs none, is to be applied. What its caller waits for takes no room from others. */
static void add_to_counts(dcsr_i_queue *queue, dcsr_i_operation *operation)
{
    if (operation && operation->kind != DCSR_I_REPLACE) {
        operation->counted = dcsr_i_operation_bytes(operation);
        queue->pending_bytes += operation->counted;
    }
    queue->resizes += operation && operation->kind == DCSR_I_RESIZE;
    queue->queued++;
}

bool dcsr_i_queue_begin_turn(dcsr_matrix *matrix, dcsr_i_operation *operation)
{
    if (!dcsr_i_queue_is_free(&matrix->queue)) return false;
    add_to_counts(&matrix->queue, operation);
    take_turn(matrix);
    return true;
}

void dcsr_i_queue_await_look(dcsr_matrix *matrix)
{
    dcsr_i_queue *queue = &matrix->queue;
    while (queue->looking && !queue->first && !queue->stopping &&
           !pthread_equal(queue->looker, pthread_self()))
        pthread_cond_wait(&queue->changed, &queue->lock);
}

void dcsr_i_queue_end_turn(dcsr_matrix *matrix)
{
    matrix->queue.running = false;
    matrix->queue.applied++;
    pthread_cond_broadcast(&matrix->queue.changed);
    dcsr_i_queue_trim_later(matrix);
}

void dcsr_i_queue_apply_here(dcsr_matrix *matrix, dcsr_i_operation *operation)
{
    dcsr_status status = apply_timed(matrix, operation);
    pthread_mutex_lock(&matrix->queue.lock);
    matrix->queue.running = false;
    end_operation(matrix, operation, status, NULL);
    dcsr_i_queue_trim_later(matrix);
    pthread_mutex_unlock(&matrix->queue.lock);
}

/* Whether all that was queued before it has been applied. With the lock. */
static bool is_time_to_look(const dcsr_matrix *matrix)
{
    uint64_t look = atomic_load(&matrix->queue.look);
    return look && (!matrix->queue.first || matrix->queue.applied + 1 >= look);
}

/* Looks what maintenance is due, and does it; whoever counts more meanwhile may ask again. Called and returns
 * with the lock, which it lets go meanwhile. */
static void look(dcsr_matrix *matrix)
{
    atomic_store(&matrix->queue.look, 0);
    if (!matrix->queue.stopping) {
        take_turn(matrix);
        matrix->queue.looking = true;
        matrix->queue.looker = pthread_self();
        pthread_mutex_unlock(&matrix->queue.lock);
        uint64_t start = dcsr_i_nanoseconds();
        dcsr_i_maintain(matrix);
        atomic_fetch_add(&matrix->counts.busy_nanoseconds, dcsr_i_nanoseconds() - start);
        pthread_mutex_lock(&matrix->queue.lock);
        matrix->queue.running = matrix->queue.looking = false;
    }
    matrix->queue.applied++;
    pthread_cond_broadcast(&matrix->queue.changed);
}

static void *work(void *argument)
{
    dcsr_matrix *matrix = argument;
    pthread_mutex_lock(&matrix->queue.lock);
    for (;;) {
        if (wait_for_work(matrix)) {
            if (is_time_to_look(matrix))
                look(matrix);
            else
                apply_joined(matrix, take_operation(matrix));
            continue;
        }
        if (matrix->queue.stopping) break;
        /* Idle: what sorting used goes back to the system, and what other threads have freed in its place. */
        pthread_mutex_unlock(&matrix->queue.lock);
        dcsr_i_matrix_trim(matrix);
        dcsr_i_allocator_trim();
        pthread_mutex_lock(&matrix->queue.lock);
        if (!dcsr_i_queue_has_work(&matrix->queue)) break;
    }
    matrix->queue.worker_runs = false;
    pthread_cond_broadcast(&matrix->queue.changed);
    pthread_mutex_unlock(&matrix->queue.lock);
    return NULL;
}

static dcsr_status make_condition(dcsr_matrix *matrix)
{
    pthread_cond_t *filled = dcsr_i_alloc(matrix->context, DCSR_I_MATRIX, 1, sizeof *filled);
    if (!filled) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_i_condition_init(filled);
    matrix->queue.filled = filled;
    return DCSR_OK;
}

static dcsr_status start_worker(dcsr_matrix *matrix)
{
    if (!matrix->queue.filled) DCSR_TRY(make_condition(matrix));
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    int error = pthread_create(&thread, &attributes, work, matrix);
    pthread_attr_destroy(&attributes);
    if (!error) {
        matrix->queue.worker_runs = true;
        return DCSR_OK;
    }
    return dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY, "starting the worker of a matrix: %s", strerror(error));
}

/* ---- What others do to the queue ---- */

static dcsr_status refuse_when_stopping(const dcsr_matrix *matrix)
{
    if (!matrix->queue.stopping) return DCSR_OK;
    return dcsr_i_fail(DCSR_ERROR_CONTEXT_DESTROYED, "the matrix is being destroyed with its context");
}

dcsr_status dcsr_i_enqueue_locked(dcsr_matrix *matrix, dcsr_i_operation *operation)
{
    DCSR_TRY(refuse_when_stopping(matrix));
    if (!matrix->queue.worker_runs) DCSR_TRY(start_worker(matrix));
    if (matrix->queue.last)
        matrix->queue.last->next = operation;
    else
        matrix->queue.first = operation;
    matrix->queue.last = operation;
    add_to_counts(&matrix->queue, operation);
    pthread_cond_signal(matrix->queue.filled);
    return DCSR_OK;
}

void dcsr_i_queue_trim_later(dcsr_matrix *matrix)
{
    enum { WORTH_A_THREAD = 1 << 20 }; /* entries */
    if (matrix->queue.worker_runs || matrix->queue.stopping) return;
    if (dcsr_i_arena_idle(&matrix->arena) > WORTH_A_THREAD) start_worker(matrix);
}

/* The matrix whose queue this one has: its own, or that of the matrix whose twin it is. */
static dcsr_matrix *queue_of(dcsr_matrix *matrix)
{
    return matrix->transpose.owner ? matrix->transpose.owner : matrix;
}

bool dcsr_i_queue_is_asleep(dcsr_matrix *matrix)
{
    dcsr_matrix *owner = queue_of(matrix);
    pthread_mutex_lock(&owner->queue.lock);
    bool asleep = !dcsr_i_queue_has_work(&owner->queue) && !owner->queue.running && !owner->queue.worker_runs;
    pthread_mutex_unlock(&owner->queue.lock);
    return asleep;
}

dcsr_status dcsr_i_queue_wait(dcsr_matrix *matrix, const char *call)
{
    dcsr_i_turn_wait wait;
    uint64_t target = atomic_load(&matrix->queue.queued);
    dcsr_i_queue_is_awaited(&matrix->queue);
    if (atomic_load(&matrix->queue.applied) >= target) return DCSR_OK;
    DCSR_TRY(dcsr_i_turn_wait_begin(&wait, call, matrix->serial));
    pthread_mutex_lock(&matrix->queue.lock);
    while (matrix->queue.applied < target) pthread_cond_wait(&matrix->queue.changed, &matrix->queue.lock);
    pthread_mutex_unlock(&matrix->queue.lock);
    dcsr_i_turn_wait_end(&wait);
    return DCSR_OK;
}

/* Waits until all that the journal has now is reported. With the lock. */
static void wait_for_journal(dcsr_matrix *matrix)
{
    uint64_t target = matrix->queue.journaled;
    while (matrix->queue.reported < target) pthread_cond_wait(&matrix->queue.changed, &matrix->queue.lock);
}

dcsr_status dcsr_i_queue_wait_until_told(dcsr_matrix *matrix, const char *call)
{
    DCSR_TRY(dcsr_i_queue_wait(matrix, call));
    pthread_mutex_lock(&matrix->queue.lock);
    wait_for_journal(matrix);
    pthread_mutex_unlock(&matrix->queue.lock);
    return DCSR_OK;
}

/* Tells the tickets of operations that were taken out of the queue. Called with the lock. */
static void cancel(dcsr_matrix *matrix, dcsr_i_operation *cancelled)
{
    while (cancelled) {
        dcsr_i_operation *operation = cancelled;
        cancelled = operation->next;
        if (matrix->engine->cancel) matrix->engine->cancel(matrix, operation);
        dcsr_i_disagree(operation);
        matrix->queue.applied++;
        tell(matrix, operation, DCSR_ERROR_CANCELLED,
             "the matrix was destroyed before this change was applied");
    }
}

void dcsr_i_queue_stop(dcsr_matrix *matrix, bool finish_queue)
{
    dcsr_i_operation *cancelled = NULL;
    pthread_mutex_lock(&matrix->queue.lock);
    matrix->queue.stopping = true;
    if (!finish_queue) {
        cancelled = matrix->queue.first;
        matrix->queue.first = matrix->queue.last = NULL;
    }
    pthread_cond_broadcast(&matrix->queue.changed);
    if (matrix->queue.filled) pthread_cond_signal(matrix->queue.filled);
    /* The worker may be at the first of them already, bringing its entries to the device; or a caller may
     * have its turn. */
    while (matrix->queue.worker_runs || matrix->queue.running)
        pthread_cond_wait(&matrix->queue.changed, &matrix->queue.lock);
    cancel(matrix, cancelled);
    wait_for_journal(matrix);
    pthread_mutex_unlock(&matrix->queue.lock);
}

void dcsr_i_queue_free(dcsr_matrix *matrix)
{
    dcsr_i_queue *queue = &matrix->queue;
    if (queue->filled) pthread_cond_destroy(queue->filled);
    dcsr_i_free(matrix->context, DCSR_I_MATRIX, queue->filled, 1, sizeof *queue->filled);
    dcsr_i_free(matrix->context, DCSR_I_MATRIX, queue->unwatched_message, DCSR_I_MESSAGE, 1);
    pthread_cond_destroy(&queue->changed);
    pthread_mutex_destroy(&queue->lock);
}

void dcsr_i_queue_look_later(dcsr_matrix *matrix)
{
    dcsr_i_queue *queue = &queue_of(matrix)->queue;
    if (atomic_load(&queue->look)) return;
    pthread_mutex_lock(&queue->lock);
    if (!atomic_load(&queue->look) && !queue->stopping &&
        (queue->worker_runs || start_worker(queue_of(matrix)) == DCSR_OK)) {
        atomic_store(&queue->look, atomic_fetch_add(&queue->queued, 1) + 1);
        pthread_cond_signal(queue->filled);
    }
    pthread_mutex_unlock(&queue->lock);
}

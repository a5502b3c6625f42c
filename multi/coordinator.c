/* coordinator.c: the thread that applies the changes of a partitioned matrix.
 *
 * A batch goes to the queues of the parts that it touches, whose workers prepare it side by side; then all of them
 * publish it, or none does (dcsr/store/agreement.h). Readers are shown the version before meanwhile, which is held, and
 * all of the next one afterwards.
 *
 *      GPUs' batches     split 1 | split 2         | split 3        |           by the coordinator
 *                                | apply, publish 1 | apply, publish 2 | ...     by the parts' workers
 *
 * Only one is applied at a time; what is split by owner is split at the borders of then, so these do not move before it
 * has been applied. */
#include "multi/split_cuda.h"

dcsr_status dcsr_i_multi_blame(const dcsr_multi_matrix *matrix, uint64_t k, dcsr_status status)
{
    char text[DCSR_I_MESSAGE];
    dcsr_i_error_format(text, sizeof text, "%s", dcsr_i_error_text());
    return dcsr_i_fail(status, "%s: %s", dcsr_i_multi_name(matrix->devices, k), text);
}

/* ---- One version for all parts ---- */

static void release_all(dcsr_i_held_version **held, uint64_t count)
{
    for (uint64_t k = 0; k < count; k++) dcsr_i_held_version_release(held[k]);
}

/* What readers see from here on is held, until end_change(). On failure nothing has begun. */
static dcsr_status begin_change(dcsr_multi_matrix *matrix)
{
    dcsr_i_held_version *held[DCSR_MAX_DEVICES];
    dcsr_i_set_aside before = dcsr_i_use_set_aside(DCSR_I_ALL_SET_ASIDE);
    dcsr_status status = DCSR_OK;
    for (uint64_t k = 0; k < matrix->parts && status == DCSR_OK; k++) {
        status = dcsr_i_held_version_create(&held[k], matrix->part[k]);
        if (status == DCSR_OK) continue;
        status = dcsr_i_multi_blame(matrix, k, status);
        release_all(held, k);
    }
    dcsr_i_use_set_aside(before);
    if (status != DCSR_OK) return status;
    pthread_mutex_lock(&matrix->lock);
    memcpy(matrix->held, held, sizeof held);
    matrix->changing = true;
    pthread_mutex_unlock(&matrix->lock);
    return DCSR_OK;
}

/* Shows what the parts hold now. Where they do not hold one version, what is held is shown for good. */
static void end_change(dcsr_multi_matrix *matrix, bool published)
{
    dcsr_i_held_version *held[DCSR_MAX_DEVICES];
    if (matrix->broken != DCSR_OK) return;
    pthread_mutex_lock(&matrix->lock);
    memcpy(held, matrix->held, sizeof held);
    matrix->changing = false;
    matrix->version += published;
    pthread_mutex_unlock(&matrix->lock);
    release_all(held, matrix->parts);
}

/* ---- Agreement ---- */

/* Where the parts meet that apply their shares of a batch. */
typedef struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    uint64_t expected, arrived;
    bool refused;
} meeting;

/* Who is not ready need not wait. */
static void refuse(meeting *m)
{
    pthread_mutex_lock(&m->lock);
    m->refused = true;
    pthread_cond_broadcast(&m->ended);
    pthread_mutex_unlock(&m->lock);
}

static bool meet(void *user, bool ready)
{
    meeting *m = user;
    if (!ready) {
        refuse(m);
        return false;
    }
    pthread_mutex_lock(&m->lock);
    if (++m->arrived == m->expected) pthread_cond_broadcast(&m->ended);
    while (m->arrived < m->expected && !m->refused) pthread_cond_wait(&m->ended, &m->lock);
    const bool agreed = !m->refused;
    pthread_mutex_unlock(&m->lock);
    return agreed;
}

/* ---- Applying ---- */

/* What the parts' changes have come to. */
typedef struct outcome {
    dcsr_status status; /* of the first that failed by itself */
    char message[DCSR_I_MESSAGE];
    uint64_t applied; /* parts that did not fail */
} outcome;

static void note(outcome *all, const dcsr_multi_matrix *matrix, uint64_t k, dcsr_status status)
{
    all->applied += status == DCSR_OK;
    if (status == DCSR_OK || (all->status != DCSR_OK && all->status != DCSR_ERROR_CANCELLED)) return;
    all->status = dcsr_i_multi_blame(matrix, k, status);
    dcsr_i_error_format(all->message, sizeof all->message, "%s", dcsr_i_error_text());
}

static dcsr_status come_to(const outcome *all)
{
    return all->status == DCSR_OK ? DCSR_OK : dcsr_i_fail(all->status, "%s", all->message);
}

static void wait_for(dcsr_ticket **tickets, outcome *all, const dcsr_multi_matrix *matrix)
{
    for (uint64_t k = 0; k < matrix->parts; k++) {
        if (!tickets[k]) continue;
        note(all, matrix, k, dcsr_ticket_wait(tickets[k]));
        dcsr_ticket_destroy(tickets[k]);
    }
}

/* Some parts have published a change that others, which were ready for it, could not: a device is lost. */
static void give_up(dcsr_multi_matrix *matrix, const outcome *all)
{
    pthread_mutex_lock(&matrix->lock);
    matrix->broken = all->status;
    dcsr_i_error_format(matrix->broken_message, sizeof matrix->broken_message,
                        "%s; the matrix takes no further changes; what it showed before can still be read",
                        all->message);
    pthread_mutex_unlock(&matrix->lock);
}

/* A change that the parts' workers apply. */
typedef struct applying {
    dcsr_i_multi_change *change; /* NULL: none */
    dcsr_ticket *tickets[DCSR_MAX_DEVICES];
    meeting met;
    outcome all;
} applying;

/* Gives each part its share; all or none apply it. */
static void start_split(applying *a, dcsr_multi_matrix *matrix, dcsr_i_split *split)
{
    meeting *m = &a->met;
    *m = (meeting){.expected = 0};
    for (uint64_t k = 0; k < matrix->parts; k++) m->expected += split->operation[k]->batch.n > 0;
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->ended, NULL);
    const dcsr_i_agreement agreement = {meet, m};
    for (uint64_t k = 0; k < matrix->parts && a->all.status == DCSR_OK; k++) {
        dcsr_i_operation *share = split->operation[k];
        if (!share->batch.n) continue;
        split->operation[k] = NULL;
        dcsr_status status = dcsr_i_matrix_change_packed(matrix->part[k], share,
                                                         m->expected > 1 ? &agreement : NULL, &a->tickets[k]);
        if (status == DCSR_OK) continue;
        note(&a->all, matrix, k, status);
        refuse(m);
    }
}

static dcsr_status finish_split(applying *a, dcsr_multi_matrix *matrix)
{
    meeting *m = &a->met;
    wait_for(a->tickets, &a->all, matrix);
    pthread_cond_destroy(&m->ended);
    pthread_mutex_destroy(&m->lock);
    if (a->all.applied && a->all.applied < m->expected) give_up(matrix, &a->all);
    return come_to(&a->all);
}

/* NULL in builds without CUDA, which have no chunks. */
static dcsr_status (*const split_chunks)(dcsr_i_split *, const dcsr_multi_matrix *) =
    DCSR_I_IN_CUDA(dcsr_i_cuda_split_chunks);

/* Chunks are split now; what is not split at the borders of today is split again. */
static dcsr_status split_now(dcsr_multi_matrix *matrix, dcsr_i_split *split)
{
    if (split->chunks) {
        DCSR_TRY(dcsr_i_split_open(split, matrix, &(dcsr_i_entries){.kind = split->chunks->kind}));
        return split_chunks(split, matrix);
    }
    return split->borders == matrix->row_borders ? DCSR_OK : dcsr_i_split_again(split, matrix);
}

/* Defragments all parts; where one cannot, the others are defragmented all the same. */
static dcsr_status defragment(dcsr_multi_matrix *matrix, dcsr_defragment_scope scope)
{
    dcsr_ticket *tickets[DCSR_MAX_DEVICES] = {NULL};
    outcome all = {.status = DCSR_OK};
    for (uint64_t k = 0; k < matrix->parts; k++) {
        dcsr_status status = dcsr_matrix_defragment(matrix->part[k], scope, &tickets[k]);
        if (status != DCSR_OK) note(&all, matrix, k, status);
    }
    wait_for(tickets, &all, matrix);
    return come_to(&all);
}

/* ---- The queue ---- */

void dcsr_i_multi_change_free(dcsr_multi_matrix *matrix, dcsr_i_multi_change *change)
{
    dcsr_i_split_free(&change->batch);
    dcsr_i_operation_release(change->operation);
    dcsr_i_free(matrix->home, DCSR_I_MATRIX, change, 1, sizeof *change);
}

/* What it takes while it waits: entries, and a share for each part. */
static uint64_t bytes_of(const dcsr_multi_matrix *matrix, const dcsr_i_multi_change *change)
{
    return sizeof *change + matrix->parts * sizeof(dcsr_i_operation) +
           change->batch.n * change->batch.entry_bytes;
}

/* Tells what has become of a change, and of those that were applied with it, and frees them. With the lock. */
static void tell(dcsr_multi_matrix *matrix, dcsr_i_multi_change *change, dcsr_status status,
                 const char *message)
{
    for (dcsr_i_multi_change *with; change; change = with) {
        with = change->with;
        if (status == DCSR_OK) {
            matrix->batches += change->batch.calls;
            matrix->inserted += change->kind == DCSR_I_INSERT ? change->batch.n : 0;
            matrix->removed += change->kind == DCSR_I_REMOVE ? change->batch.n : 0;
        } else if (!change->operation->outcome.watched && matrix->unwatched == DCSR_OK) {
            matrix->unwatched = status;
            dcsr_i_error_format(matrix->unwatched_message, sizeof matrix->unwatched_message, "%s", message);
        }
        matrix->pending_bytes -= bytes_of(matrix, change);
        matrix->applied++;
        dcsr_i_operation_finish(change->operation, status, message);
        dcsr_i_multi_change_free(matrix, change);
    }
    pthread_cond_broadcast(&matrix->changed);
}

/* ---- Taking from it ---- */

static bool is_batch(const dcsr_i_multi_change *change)
{
    return change->kind == DCSR_I_INSERT || change->kind == DCSR_I_REMOVE;
}

static bool (*const has_been_read)(const dcsr_i_operation *) = DCSR_I_IN_CUDA(dcsr_i_cuda_split_is_read);

/* Puts behind a change's chunks those of the changes that wait behind it, as far as nothing can be wrong with them: it
 * may be that each is one batch from a GPU. With the lock. */
static void take_with(dcsr_multi_matrix *matrix, dcsr_i_multi_change *change)
{
    dcsr_i_split *batch = &change->batch;
    dcsr_i_multi_change **link = &change->with;
    if (!batch->chunks || !has_been_read(batch->chunks)) return;
    uint64_t n = batch->n;
    for (dcsr_i_multi_change *next; (next = matrix->first) && next->kind == change->kind;
         link = &next->with) {
        n += next->batch.n;
        if (!next->batch.chunks || !has_been_read(next->batch.chunks) ||
            n > matrix->parts * DCSR_I_JOINED_BY_GPU)
            return;
        matrix->first = next->next;
        if (!matrix->first) matrix->last = NULL;
        batch->last_chunk->next = next->batch.chunks;
        batch->last_chunk = next->batch.last_chunk;
        next->batch.chunks = next->batch.last_chunk = NULL;
        *link = next;
    }
}

/* The next change: NULL if there is none and the matrix stops. While another is applied, one that is to be split is
 * taken if it is there; what is split already waits, since others may join it. With the lock. */
static dcsr_i_multi_change *take(dcsr_multi_matrix *matrix, bool one_is_applied)
{
    while (!one_is_applied && (matrix->first ? matrix->first->open : !matrix->stopping))
        pthread_cond_wait(&matrix->filled, &matrix->lock);
    dcsr_i_multi_change *change = matrix->first;
    if (!change || (one_is_applied && !change->batch.chunks)) return NULL;
    matrix->first = change->next;
    if (!matrix->first) matrix->last = NULL;
    if (change->batch.chunks) dcsr_i_multi_stage_elsewhere(matrix);
    take_with(matrix, change);
    return change;
}

/* ---- The thread ---- */

/* What has become of a step, with its text. */
typedef struct result {
    dcsr_status status;
    char text[DCSR_I_MESSAGE];
} result;

static void set_result(result *r, dcsr_status status)
{
    r->status = status;
    dcsr_i_error_format(r->text, sizeof r->text, "%s", status == DCSR_OK ? "" : dcsr_i_error_text());
}

static void tell_result(dcsr_multi_matrix *matrix, dcsr_i_multi_change *change, const result *r)
{
    pthread_mutex_lock(&matrix->lock);
    matrix->changes += r->status == DCSR_OK && is_batch(change);
    tell(matrix, change, r->status, r->text);
    pthread_mutex_unlock(&matrix->lock);
}

/* Of the coordinator's times, which others ask for, one more. */
static void add_time(dcsr_multi_matrix *matrix, uint64_t *time, uint64_t began)
{
    pthread_mutex_lock(&matrix->lock);
    *time += dcsr_i_nanoseconds() - began;
    pthread_mutex_unlock(&matrix->lock);
}

static dcsr_status check_broken(const dcsr_multi_matrix *matrix)
{
    return matrix->broken == DCSR_OK ? DCSR_OK : dcsr_i_fail(matrix->broken, "%s", matrix->broken_message);
}

/* What can be done before the change's turn. */
static dcsr_status prepare(dcsr_multi_matrix *matrix, dcsr_i_multi_change *change)
{
    if (!is_batch(change)) return DCSR_OK;
    const uint64_t began = dcsr_i_nanoseconds();
    dcsr_status status = check_broken(matrix);
    if (status == DCSR_OK) status = split_now(matrix, &change->batch);
    add_time(matrix, &matrix->times.splitting, began);
    return status;
}

static dcsr_status move_borders(dcsr_multi_matrix *matrix)
{
    const uint64_t began = dcsr_i_nanoseconds();
    dcsr_status status = dcsr_i_multi_move_borders(matrix);
    add_time(matrix, &matrix->times.balancing, began);
    return status;
}

/* Waits for the change that is being applied, and tells what has become of it. Borders that are to move then do so,
 * unless the next change has been split by them; true: they still are to. If there is no memory for that, it is tried
 * again later. */
static bool conclude(dcsr_multi_matrix *matrix, applying *a, bool one_is_prepared)
{
    const uint64_t began = dcsr_i_nanoseconds();
    result r;
    set_result(&r, finish_split(a, matrix));
    end_change(matrix, r.status == DCSR_OK);
    for (const dcsr_i_multi_change *c = a->change; c && r.status == DCSR_OK; c = c->with)
        matrix->given += c->batch.n;
    add_time(matrix, &matrix->times.applying, began);
    const bool uneven = r.status == DCSR_OK && dcsr_i_multi_is_uneven(matrix);
    if (uneven && !one_is_prepared) move_borders(matrix);
    tell_result(matrix, a->change, &r);
    a->change = NULL;
    return uneven && one_is_prepared;
}

/* A change that is no batch. */
static dcsr_status apply_other(dcsr_multi_matrix *matrix, const dcsr_i_multi_change *change)
{
    DCSR_TRY(check_broken(matrix));
    if (change->kind == DCSR_I_REPLACE) return move_borders(matrix);
    DCSR_TRY(begin_change(matrix));
    dcsr_status status = defragment(matrix, change->scope);
    end_change(matrix, status == DCSR_OK);
    return status;
}

/* A batch that has been prepared is begun, another change done. */
static void begin(dcsr_multi_matrix *matrix, applying *a, dcsr_i_multi_change *change, result *prepared)
{
    if (prepared->status == DCSR_OK && is_batch(change)) {
        dcsr_status status = check_broken(matrix);
        if (status == DCSR_OK) status = begin_change(matrix);
        if (status == DCSR_OK) {
            *a = (applying){.change = change};
            start_split(a, matrix, &change->batch);
            return;
        }
        set_result(prepared, status);
    } else if (prepared->status == DCSR_OK) {
        set_result(prepared, apply_other(matrix, change));
    }
    tell_result(matrix, change, prepared);
}

/* One step: a change is prepared, the one before it ends, and it begins. Whether borders are to move behind it. */
static bool step(dcsr_multi_matrix *matrix, applying *a, dcsr_i_multi_change *next)
{
    result prepared = {.status = DCSR_OK};
    bool uneven = false;
    if (next) set_result(&prepared, prepare(matrix, next));
    if (a->change) uneven = conclude(matrix, a, next);
    if (next) begin(matrix, a, next, &prepared);
    return uneven && a->change;
}

static void *work(void *argument)
{
    dcsr_multi_matrix *matrix = argument;
    applying a = {.change = NULL};
    bool uneven = false;
    pthread_mutex_lock(&matrix->lock);
    for (;;) {
        /* Where borders are to move, nothing more is split before. */
        dcsr_i_multi_change *next = uneven ? NULL : take(matrix, a.change);
        if (!next && !a.change) break;
        pthread_mutex_unlock(&matrix->lock);
        const uint64_t began = dcsr_i_nanoseconds();
        uneven = step(matrix, &a, next);
        pthread_mutex_lock(&matrix->lock);
        matrix->busy_nanoseconds += dcsr_i_nanoseconds() - began;
    }
    pthread_mutex_unlock(&matrix->lock);
    return NULL;
}

dcsr_status dcsr_i_multi_enqueue(dcsr_multi_matrix *matrix, dcsr_i_multi_change *change)
{
    if (matrix->stopping)
        return dcsr_i_fail(DCSR_ERROR_CONTEXT_DESTROYED, "the matrix is being destroyed with its devices");
    if (!matrix->runs) {
        const int error = pthread_create(&matrix->coordinator, NULL, work, matrix);
        if (error)
            return dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY,
                               "starting the thread that changes a matrix on several devices: %s",
                               strerror(error));
        matrix->runs = true;
    }
    if (matrix->last)
        matrix->last->next = change;
    else
        matrix->first = change;
    matrix->last = change;
    matrix->queued++;
    matrix->pending_bytes += bytes_of(matrix, change);
    pthread_cond_signal(&matrix->filled);
    return DCSR_OK;
}

void dcsr_i_multi_stop(dcsr_multi_matrix *matrix, bool finish)
{
    pthread_mutex_lock(&matrix->lock);
    matrix->stopping = true;
    while (!finish && matrix->first) {
        dcsr_i_multi_change *change = matrix->first;
        matrix->first = change->next;
        tell(matrix, change, DCSR_ERROR_CANCELLED, "the matrix was destroyed before this change was applied");
    }
    if (!matrix->first) matrix->last = NULL;
    const bool runs = matrix->runs;
    matrix->runs = false;
    pthread_cond_broadcast(&matrix->filled);
    pthread_mutex_unlock(&matrix->lock);
    if (runs) pthread_join(matrix->coordinator, NULL);
}

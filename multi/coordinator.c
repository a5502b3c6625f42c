/* coordinator.c: the thread that applies the changes of a partitioned matrix.
 *
 * A batch goes to the queues of the parts that it touches, whose workers prepare it side by side; then all of them
 * publish it, or none does (dcsr/store/agreement.h). Readers are shown the version before meanwhile, which is held, and
 * all of the next one afterwards. */
#include "multi/split_cuda.h"

dcsr_status dcsr_i_multi_blame(const dcsr_multi_matrix *matrix, uint64_t k, dcsr_status status)
{
    char text[DCSR_I_MESSAGE];
    dcsr_i_error_format(text, sizeof text, "%s", dcsr_i_error_text());
    /* A device that fails where memory is asked for gives none. */
    if (status == DCSR_ERROR_OUT_OF_MEMORY &&
        dcsr_i_context_check(dcsr_i_multi_context(matrix->devices, k)) == DCSR_ERROR_DEVICE)
        status = DCSR_ERROR_DEVICE;
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

/* Gives each part its share; all or none apply it. */
static dcsr_status apply_split(dcsr_multi_matrix *matrix, dcsr_i_split *split)
{
    dcsr_ticket *tickets[DCSR_MAX_DEVICES] = {NULL};
    outcome all = {.status = DCSR_OK};
    meeting m = {.expected = 0};
    for (uint64_t k = 0; k < matrix->parts; k++) m.expected += split->operation[k]->batch.n > 0;
    pthread_mutex_init(&m.lock, NULL);
    pthread_cond_init(&m.ended, NULL);
    const dcsr_i_agreement agreement = {meet, &m};
    for (uint64_t k = 0; k < matrix->parts && all.status == DCSR_OK; k++) {
        dcsr_i_operation *share = split->operation[k];
        if (!share->batch.n) continue;
        split->operation[k] = NULL;
        dcsr_status status = dcsr_i_matrix_change_packed(matrix->part[k], share,
                                                         m.expected > 1 ? &agreement : NULL, &tickets[k]);
        if (status == DCSR_OK) continue;
        note(&all, matrix, k, status);
        refuse(&m);
    }
    wait_for(tickets, &all, matrix);
    pthread_cond_destroy(&m.ended);
    pthread_mutex_destroy(&m.lock);
    if (all.applied && all.applied < m.expected) give_up(matrix, &all);
    return come_to(&all);
}

/* NULL in builds without CUDA, which have no chunks. */
static dcsr_status (*const split_chunks)(dcsr_i_split *, const dcsr_multi_matrix *) =
    DCSR_I_IN_CUDA(dcsr_i_cuda_split_chunks);

/* Chunks are split now; what is not split at the borders of today is split again. */
static dcsr_status apply_batch(dcsr_multi_matrix *matrix, dcsr_i_split *split)
{
    if (split->chunks) {
        DCSR_TRY(dcsr_i_split_open(split, matrix, &(dcsr_i_entries){.kind = split->chunks->kind}));
        DCSR_TRY(split_chunks(split, matrix));
    } else if (split->borders != matrix->row_borders) {
        DCSR_TRY(dcsr_i_split_again(split, matrix));
    }
    return apply_split(matrix, split);
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

static dcsr_status apply(dcsr_multi_matrix *matrix, dcsr_i_multi_change *change)
{
    if (matrix->broken != DCSR_OK) return dcsr_i_fail(matrix->broken, "%s", matrix->broken_message);
    if (change->kind == DCSR_I_REPLACE) return dcsr_i_multi_move_borders(matrix);
    DCSR_TRY(begin_change(matrix));
    dcsr_status status = change->kind == DCSR_I_DEFRAGMENT ? defragment(matrix, change->scope)
                                                           : apply_batch(matrix, &change->batch);
    end_change(matrix, status == DCSR_OK);
    return status;
}

/* ---- The queue ---- */

void dcsr_i_multi_change_free(dcsr_multi_matrix *matrix, dcsr_i_multi_change *change)
{
    dcsr_i_split_free(&change->batch);
    dcsr_i_operation_release(change->operation);
    dcsr_i_free(matrix->home, DCSR_I_MATRIX, change, 1, sizeof *change);
}

static uint64_t bytes_of(const dcsr_i_multi_change *change)
{
    return change->batch.n * change->batch.entry_bytes;
}

/* Tells what has become of a change, and frees it. With the lock. */
static void tell(dcsr_multi_matrix *matrix, dcsr_i_multi_change *change, dcsr_status status,
                 const char *message)
{
    if (status == DCSR_OK) {
        matrix->batches += change->batch.calls;
        matrix->inserted += change->kind == DCSR_I_INSERT ? change->batch.n : 0;
        matrix->removed += change->kind == DCSR_I_REMOVE ? change->batch.n : 0;
    } else if (!change->operation->outcome.watched && matrix->unwatched == DCSR_OK) {
        matrix->unwatched = status;
        dcsr_i_error_format(matrix->unwatched_message, sizeof matrix->unwatched_message, "%s", message);
    }
    matrix->pending_bytes -= bytes_of(change);
    matrix->applied++;
    pthread_cond_broadcast(&matrix->changed);
    dcsr_i_operation_finish(change->operation, status, message);
    dcsr_i_multi_change_free(matrix, change);
}

/* Applies a change. Called and returns with the lock, which it lets go meanwhile. */
static void work_off(dcsr_multi_matrix *matrix, dcsr_i_multi_change *change)
{
    pthread_mutex_unlock(&matrix->lock);
    const uint64_t start = dcsr_i_nanoseconds();
    dcsr_status status = apply(matrix, change);
    if (status == DCSR_OK) matrix->given += change->batch.n;
    /* If there is no memory for that, it is tried again later. */
    if (status == DCSR_OK && dcsr_i_multi_is_uneven(matrix)) dcsr_i_multi_move_borders(matrix);
    pthread_mutex_lock(&matrix->lock);
    matrix->busy_nanoseconds += dcsr_i_nanoseconds() - start;
    tell(matrix, change, status, dcsr_i_error_text());
}

static void *work(void *argument)
{
    dcsr_multi_matrix *matrix = argument;
    pthread_mutex_lock(&matrix->lock);
    for (;;) {
        while (matrix->first ? matrix->first->open : !matrix->stopping)
            pthread_cond_wait(&matrix->filled, &matrix->lock);
        if (!matrix->first) break;
        dcsr_i_multi_change *change = matrix->first;
        matrix->first = change->next;
        if (!matrix->first) matrix->last = NULL;
        /* The next chunks go elsewhere, over another link. */
        if (change->batch.chunks) matrix->staging = (change->batch.device + 1) % matrix->parts;
        work_off(matrix, change);
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
    matrix->pending_bytes += bytes_of(change);
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

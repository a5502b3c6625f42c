/* change.c: the calls that change a matrix: checking their arguments, packing entries, queueing. */
#include "dcsr/store.h"

/* Waiting batches of one kind are joined up to this many entries; larger ones are packed outside the queue's
 * lock. */
enum { JOINED_ENTRIES = 1 << 20, SMALL_BATCH = 32768, LEAST_CAPACITY = 64 };

/* ---- Packing entries ---- */

typedef struct entries {
    const char *call;
    dcsr_i_kind kind;
    size_t n;
    const uint64_t *rows, *cols;
    const void *values;
    size_t value_size; /* 0: no values to pack */
} entries;

static int bits_for(uint64_t count)
{
    return count > 1 ? 64 - __builtin_clzll(count - 1) : 0;
}

static uint64_t load_value(const void *values, size_t size, size_t i)
{
    switch (size) {
    case 1:
        return ((const uint8_t *)values)[i];
    case 2:
        return ((const uint16_t *)values)[i];
    case 4:
        return ((const uint32_t *)values)[i];
    default:
        return ((const uint64_t *)values)[i];
    }
}

/* The first entry outside the dimensions, or n. */
static size_t first_outside(const entries *e, uint64_t rows, uint64_t cols, int threads)
{
    size_t first = e->n;
#pragma omp parallel for num_threads(threads) reduction(min : first) if (threads > 1)
    for (size_t i = 0; i < e->n; i++)
        if ((e->rows[i] >= rows || e->cols[i] >= cols) && i < first) first = i;
    return first;
}

static dcsr_status check_bounds(const entries *e, uint64_t rows, uint64_t cols, int threads)
{
    size_t i = first_outside(e, rows, cols, threads);
    if (i == e->n) return DCSR_OK;
    return dcsr_i_fail(
        DCSR_ERROR_INDEX_OUT_OF_RANGE,
        "%s: entry %zu of %zu is (%llu, %llu), outside the %llu x %llu matrix; nothing of the batch was "
        "applied; resize the matrix or leave the entry out",
        e->call, i, e->n, (unsigned long long)e->rows[i], (unsigned long long)e->cols[i],
        (unsigned long long)rows, (unsigned long long)cols);
}

/* Writes the entries at the operation's end, which has room. */
static void pack(dcsr_i_operation *operation, const entries *e, int threads)
{
    uint64_t *to = operation->entries + operation->n * (uint64_t)operation->stride;
    int bits = operation->column_bits, stride = operation->stride;
    bool ascending = operation->ascending;
#pragma omp parallel for num_threads(threads) reduction(&& : ascending) if (threads > 1)
    for (size_t i = 0; i < e->n; i++) {
        uint64_t key = e->rows[i] << bits | e->cols[i];
        if (i && key <= (e->rows[i - 1] << bits | e->cols[i - 1])) ascending = false;
        to[i * (size_t)stride] = key;
        if (stride > 1) to[i * (size_t)stride + 1] = load_value(e->values, e->value_size, i);
    }
    if (operation->n && e->n && to[0] <= to[-stride]) ascending = false;
    operation->ascending = ascending;
    operation->n += e->n;
    operation->batches++;
}

static dcsr_status make_room(dcsr_i_operation *operation, uint64_t capacity)
{
    uint64_t stride = (uint64_t)operation->stride;
    uint64_t *larger = dcsr_i_realloc(operation->context, DCSR_I_SCRATCH, operation->entries,
                                      operation->capacity * stride, capacity * stride, sizeof *larger);
    if (!larger) return DCSR_ERROR_OUT_OF_MEMORY;
    operation->entries = larger;
    operation->capacity = capacity;
    return DCSR_OK;
}

static dcsr_status operation_for(dcsr_i_operation **operation, dcsr_matrix *matrix, const entries *e,
                                 uint64_t rows, uint64_t cols)
{
    dcsr_i_operation *created = dcsr_i_operation_create(matrix->context, e->kind);
    if (!created) return DCSR_ERROR_OUT_OF_MEMORY;
    created->stride = e->value_size ? 2 : 1;
    created->rows = rows;
    created->cols = cols;
    created->row_bits = bits_for(rows);
    created->column_bits = bits_for(cols);
    created->ascending = true;
    dcsr_status status = make_room(created, e->n > LEAST_CAPACITY ? e->n : LEAST_CAPACITY);
    if (status != DCSR_OK) {
        dcsr_i_operation_release(created);
        return status;
    }
    *operation = created;
    return DCSR_OK;
}

/* ---- Queueing ---- */

/* Waits until the queue has room. Called and returns with the queue's lock. */
static dcsr_status wait_for_room(dcsr_matrix *matrix, const entries *e)
{
    while (matrix->pending_bytes >= matrix->queue_limit && !matrix->stopping) {
        if (matrix->refuse_when_full)
            return dcsr_i_fail(
                DCSR_ERROR_BUSY,
                "%s: %llu bytes of batches are waiting, the limit of this matrix; try again later", e->call,
                (unsigned long long)matrix->pending_bytes);
        pthread_cond_wait(&matrix->queue_changed, &matrix->queue_lock);
    }
    return DCSR_OK;
}

/* The last operation of the queue if these entries can join it, with room for them; NULL when they cannot.
 * While a resize is on its way none can: should it fail, each batch is to stand or fall alone. */
static dcsr_i_operation *joinable(dcsr_matrix *matrix, const entries *e)
{
    dcsr_i_operation *last = matrix->last;
    if (!last || last->kind != e->kind || matrix->queued_resizes || last->rows != matrix->queued_rows ||
        last->cols != matrix->queued_cols || last->n + e->n > JOINED_ENTRIES)
        return NULL;
    if (last->n + e->n > last->capacity && make_room(last, 2 * (last->n + e->n)) != DCSR_OK) return NULL;
    return last;
}

/* Puts an operation that the caller made, or one that the entries join, into the queue; gives out a ticket.
 * With the queue's lock. */
static dcsr_status submit(dcsr_matrix *matrix, dcsr_i_operation *operation, dcsr_ticket **ticket)
{
    dcsr_ticket *created = NULL;
    if (ticket) {
        created = dcsr_i_ticket_create(operation);
        if (!created) return DCSR_ERROR_OUT_OF_MEMORY;
        operation->watched = true;
        *ticket = created;
    }
    dcsr_status status = dcsr_i_enqueue_locked(matrix, operation);
    if (status != DCSR_OK && ticket) {
        *ticket = NULL;
        dcsr_ticket_destroy(created);
    }
    return status;
}

/* A small batch: checked and packed under the lock, into a waiting operation if there is one. */
static dcsr_status queue_small(dcsr_matrix *matrix, const entries *e, dcsr_ticket **ticket)
{
    DCSR_TRY(check_bounds(e, matrix->queued_rows, matrix->queued_cols, 1));
    dcsr_i_operation *last = joinable(matrix, e);
    if (last) {
        if (ticket && !(*ticket = dcsr_i_ticket_create(last))) return DCSR_ERROR_OUT_OF_MEMORY;
        /* A failure is told to whoever holds a ticket; one who gave none must learn of it from wait. */
        last->watched = last->watched && ticket;
        pack(last, e, 1);
        matrix->pending_bytes += e->n * (uint64_t)last->stride * sizeof *last->entries;
        return DCSR_OK;
    }
    dcsr_i_operation *operation;
    DCSR_TRY(operation_for(&operation, matrix, e, matrix->queued_rows, matrix->queued_cols));
    pack(operation, e, 1);
    dcsr_status status = submit(matrix, operation, ticket);
    if (status != DCSR_OK) dcsr_i_operation_release(operation);
    return status;
}

/* A large batch: checked and packed in parallel without the lock, again if the dimensions have changed
 * meanwhile. Called and returns with the lock. */
static dcsr_status queue_large(dcsr_matrix *matrix, const entries *e, dcsr_ticket **ticket)
{
    dcsr_i_operation *operation = NULL;
    dcsr_status status = DCSR_OK;
    int threads = dcsr_i_threads(matrix->context, e->n);
    do {
        dcsr_i_operation_release(operation);
        operation = NULL;
        uint64_t rows = matrix->queued_rows, cols = matrix->queued_cols;
        pthread_mutex_unlock(&matrix->queue_lock);
        status = check_bounds(e, rows, cols, threads);
        if (status == DCSR_OK) status = operation_for(&operation, matrix, e, rows, cols);
        if (status == DCSR_OK) pack(operation, e, threads);
        pthread_mutex_lock(&matrix->queue_lock);
    } while (status == DCSR_OK &&
             (operation->rows != matrix->queued_rows || operation->cols != matrix->queued_cols));
    if (status == DCSR_OK) status = submit(matrix, operation, ticket);
    if (status != DCSR_OK) dcsr_i_operation_release(operation);
    return status;
}

static dcsr_status queue_entries(dcsr_matrix *matrix, const entries *e, dcsr_ticket **ticket)
{
    if (ticket) *ticket = NULL;
    DCSR_TRY(dcsr_i_matrix_check(matrix));
    if (e->n && (!e->rows || !e->cols))
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", e->call, e->rows ? "cols" : "rows");
    if (e->n > SIZE_MAX / 32)
        return dcsr_i_fail(DCSR_ERROR_TOO_LARGE, "%s: a batch of %zu entries; split it", e->call, e->n);
    pthread_mutex_lock(&matrix->queue_lock);
    dcsr_status status = wait_for_room(matrix, e);
    if (status == DCSR_OK)
        status = e->n <= SMALL_BATCH ? queue_small(matrix, e, ticket) : queue_large(matrix, e, ticket);
    pthread_mutex_unlock(&matrix->queue_lock);
    return status;
}

dcsr_status dcsr_matrix_insert(dcsr_matrix *matrix, size_t n, const uint64_t *rows, const uint64_t *cols,
                               const void *values, dcsr_ticket **ticket)
{
    if (ticket) *ticket = NULL;
    DCSR_TRY(dcsr_i_matrix_check(matrix));
    if (n && !values != !matrix->value_size)
        return dcsr_i_fail(DCSR_ERROR_TYPE_MISMATCH,
                           values ? "dcsr_matrix_insert: values given to a pattern-only matrix; pass NULL"
                                  : "dcsr_matrix_insert: a matrix of %s needs values, and none were given",
                           dcsr_type_name(matrix->type));
    entries e = {"dcsr_matrix_insert", DCSR_I_INSERT, n, rows, cols, values, matrix->value_size};
    return queue_entries(matrix, &e, ticket);
}

dcsr_status dcsr_matrix_remove(dcsr_matrix *matrix, size_t n, const uint64_t *rows, const uint64_t *cols,
                               dcsr_ticket **ticket)
{
    entries e = {"dcsr_matrix_remove", DCSR_I_REMOVE, n, rows, cols, NULL, 0};
    return queue_entries(matrix, &e, ticket);
}

/* The other changes need no packing. */
static dcsr_status queue_change(dcsr_matrix *matrix, const dcsr_i_operation *change, dcsr_ticket **ticket)
{
    if (ticket) *ticket = NULL;
    DCSR_TRY(dcsr_i_matrix_check(matrix));
    dcsr_i_operation *operation = dcsr_i_operation_create(matrix->context, change->kind);
    if (!operation) return DCSR_ERROR_OUT_OF_MEMORY;
    operation->rows = change->rows;
    operation->cols = change->cols;
    operation->scope = change->scope;
    pthread_mutex_lock(&matrix->queue_lock);
    dcsr_status status = submit(matrix, operation, ticket);
    if (status == DCSR_OK && change->kind == DCSR_I_RESIZE) {
        matrix->queued_rows = change->rows;
        matrix->queued_cols = change->cols;
    }
    pthread_mutex_unlock(&matrix->queue_lock);
    if (status != DCSR_OK) dcsr_i_operation_release(operation);
    return status;
}

dcsr_status dcsr_matrix_resize(dcsr_matrix *matrix, uint64_t rows, uint64_t cols, dcsr_ticket **ticket)
{
    if (ticket) *ticket = NULL;
    DCSR_TRY(dcsr_i_check_dimensions("dcsr_matrix_resize", rows, cols));
    return queue_change(matrix, &(dcsr_i_operation){.kind = DCSR_I_RESIZE, .rows = rows, .cols = cols},
                        ticket);
}

dcsr_status dcsr_matrix_defragment(dcsr_matrix *matrix, dcsr_defragment_scope scope, dcsr_ticket **ticket)
{
    if (ticket) *ticket = NULL;
    if ((unsigned)scope > DCSR_DEFRAGMENT_SELECTED)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_matrix_defragment: %d is no scope", (int)scope);
    return queue_change(matrix, &(dcsr_i_operation){.kind = DCSR_I_DEFRAGMENT, .scope = scope}, ticket);
}

dcsr_status dcsr_matrix_wait(dcsr_matrix *matrix)
{
    DCSR_TRY(dcsr_i_matrix_check(matrix));
    dcsr_i_queue_wait(matrix);
    pthread_mutex_lock(&matrix->queue_lock);
    dcsr_status status = matrix->unwatched;
    if (status != DCSR_OK) dcsr_i_fail(status, "%s", matrix->unwatched_message);
    matrix->unwatched = DCSR_OK;
    pthread_mutex_unlock(&matrix->queue_lock);
    return status;
}

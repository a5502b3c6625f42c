/* multi_matrix.c: partitioned matrices: creating and destroying them, asking for changes, and what they tell. */
#include "dcsr/view/view_data.h"
#include "multi/split_cuda.h"

/* ---- Creating ---- */

dcsr_status dcsr_i_multi_matrix_check(const dcsr_multi_matrix *matrix)
{
    if (!matrix) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "the matrix is NULL; create one first");
    return dcsr_i_context_check(matrix->home);
}

/* Home closes before the devices: what was queued is still applied. */
static void close_matrix(dcsr_i_member *member)
{
    dcsr_i_multi_stop((dcsr_multi_matrix *)((char *)member - offsetof(dcsr_multi_matrix, member)), true);
}

/* Frees a matrix whose coordinator does not run. */
static void release(dcsr_multi_matrix *matrix)
{
    dcsr_multi *devices = matrix->devices;
    for (uint64_t k = 0; k < matrix->parts; k++) {
        if (matrix->changing) dcsr_i_held_version_release(matrix->held[k]);
        dcsr_matrix_destroy(matrix->part[k]);
    }
    dcsr_i_borders_release(matrix->row_borders);
    dcsr_i_borders_release(matrix->col_borders);
    pthread_cond_destroy(&matrix->changed);
    pthread_cond_destroy(&matrix->filled);
    pthread_mutex_destroy(&matrix->lock);
    pthread_mutex_destroy(&matrix->packing);
    dcsr_i_free(matrix->home, DCSR_I_MATRIX, matrix, 1, sizeof *matrix);
    dcsr_i_multi_release(devices);
}

/* The most entries of batches that are applied together if they are packed. The largest batch that is packed for GPUs:
 * as change.c has it. Once so many are staged on a GPU the next go to the one behind it. */
#ifdef DCSR_SIMT
enum { PACKED_ENTRIES = 512, STAGED_ENTRIES = 1024 };
#else
enum { PACKED_ENTRIES = 32768, STAGED_ENTRIES = 1 << 20 };
#endif
enum { JOINED_ENTRIES = 1 << 20 };

static const dcsr_matrix_options defaults;

static dcsr_status check_creating(dcsr_multi_matrix **matrix, const char *call, dcsr_multi *devices,
                                  const dcsr_matrix_options *options)
{
    if (!matrix) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: matrix is NULL; give it a place", call);
    *matrix = NULL;
    DCSR_TRY(dcsr_i_multi_check(devices));
    if (options && options->grow)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "%s: options.grow is set; a matrix on several devices does not grow: give it all "
                           "the rows and columns that it may need, which cost nothing while they are empty",
                           call);
    return DCSR_OK;
}

/* Where a new matrix's parts come from: pieces, or parts that are there; without either they are empty. */
typedef struct origin {
    const dcsr_i_pieces *pieces;
    dcsr_i_borders *borders;
    dcsr_matrix *const *part;
} origin;

static dcsr_i_borders *borders_of(const origin *from, const dcsr_multi *devices, uint64_t rows)
{
    if (from->borders) return dcsr_i_borders_hold(from->borders);
    if (from->pieces) return dcsr_i_borders_of_pieces(devices, from->pieces);
    return dcsr_i_borders_round(dcsr_i_borders_even(dcsr_i_multi_count(devices), rows),
                                dcsr_i_multi_grain(devices));
}

static dcsr_status make_parts(dcsr_multi_matrix *created, const origin *from)
{
    const uint64_t *begin = created->row_borders->begin;
    if (from->part) memcpy(created->part, from->part, created->parts * sizeof *created->part);
    if (from->part) return DCSR_OK;
    if (from->pieces)
        return dcsr_i_parts_build(created->part, created->devices, created->row_borders, from->pieces,
                                  &created->options);
    for (uint64_t k = 0; k < created->parts; k++) {
        dcsr_status status =
            dcsr_matrix_create(&created->part[k], dcsr_i_multi_context(created->devices, k), created->type,
                               begin[k + 1] - begin[k], created->cols, &created->options);
        if (status != DCSR_OK) return dcsr_i_multi_blame(created, k, status);
    }
    return DCSR_OK;
}

static dcsr_status create(dcsr_multi_matrix **matrix, dcsr_multi *devices, const dcsr_csr *shape,
                          const origin *from, const dcsr_matrix_options *options)
{
    dcsr_context *home = dcsr_i_multi_home(devices);
    dcsr_multi_matrix *created = dcsr_i_calloc(home, DCSR_I_MATRIX, 1, sizeof *created);
    if (!created) return DCSR_ERROR_OUT_OF_MEMORY;
    created->devices = devices;
    created->home = home;
    created->parts = dcsr_i_multi_count(devices);
    created->rows = shape->rows;
    created->cols = shape->cols;
    created->type = shape->type;
    created->value_size = dcsr_type_size(shape->type);
    created->version = 1;
    created->options = from->part ? dcsr_i_matrix_options_of(from->part[0]) : options ? *options : defaults;
    created->member.close = close_matrix;
    pthread_mutex_init(&created->packing, NULL);
    pthread_mutex_init(&created->lock, NULL);
    pthread_cond_init(&created->filled, NULL);
    pthread_cond_init(&created->changed, NULL);
    dcsr_i_multi_retain(devices);
    created->row_borders = borders_of(from, devices, shape->rows);
    if (created->row_borders)
        created->col_borders = shape->rows == shape->cols ? dcsr_i_borders_hold(created->row_borders)
                                                          : dcsr_i_borders_even(created->parts, shape->cols);
    dcsr_status status = created->col_borders ? make_parts(created, from) : DCSR_ERROR_OUT_OF_MEMORY;
    if (status == DCSR_OK) {
        /* Batches wait in the queue of the whole; those of the parts have one at a time. */
        created->queue_limit = dcsr_i_matrix_options_of(created->part[0]).queue_limit;
        created->refuse_when_full = created->options.refuse_when_full;
        status = dcsr_i_context_join(home, &created->member);
    }
    if (status != DCSR_OK) {
        if (from->part) memset(created->part, 0, sizeof created->part);
        release(created);
        return status;
    }
    *matrix = created;
    return DCSR_OK;
}

dcsr_status dcsr_i_multi_matrix_of_parts(dcsr_multi_matrix **matrix, dcsr_multi *devices,
                                         dcsr_i_borders *borders, uint64_t cols, dcsr_type type,
                                         dcsr_matrix *const part[DCSR_MAX_DEVICES])
{
    const dcsr_csr shape = {.rows = dcsr_i_borders_end(borders), .cols = cols, .type = type};
    return create(matrix, devices, &shape, &(origin){.borders = borders, .part = part}, NULL);
}

dcsr_status dcsr_multi_matrix_create(dcsr_multi_matrix **matrix, dcsr_multi *devices, dcsr_type type,
                                     uint64_t rows, uint64_t cols, const dcsr_matrix_options *options)
{
    DCSR_TRY(check_creating(matrix, "dcsr_multi_matrix_create", devices, options));
    DCSR_TRY(dcsr_i_check_dimensions("dcsr_multi_matrix_create", rows, cols));
    return create(matrix, devices, &(dcsr_csr){.rows = rows, .cols = cols, .type = type}, &(origin){0},
                  options);
}

static dcsr_status create_from_csr(dcsr_multi_matrix **matrix, dcsr_multi *devices, const dcsr_csr *csr,
                                   const dcsr_matrix_options *options)
{
    DCSR_TRY(dcsr_i_csr_check(csr, dcsr_i_multi_home(devices)));
    dcsr_i_borders *whole = dcsr_i_borders_even(1, csr->rows);
    if (!whole) return DCSR_ERROR_OUT_OF_MEMORY;
    const dcsr_i_pieces pieces = {.borders = whole, .csr = {*csr}, .before = {0, csr->nnz}};
    dcsr_status status = create(matrix, devices, csr, &(origin){.pieces = &pieces}, options);
    dcsr_i_borders_release(whole);
    return status;
}

dcsr_status dcsr_multi_matrix_from_csr(dcsr_multi_matrix **matrix, dcsr_multi *devices, const dcsr_csr *csr,
                                       const dcsr_matrix_options *options)
{
    static const char call[] = "dcsr_multi_matrix_from_csr";
    DCSR_TRY(check_creating(matrix, call, devices, options));
    if (!csr) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: csr is NULL", call);
    if ((unsigned)csr->type >= DCSR_TYPE_COUNT)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: csr.type is %d; use one of dcsr_type", call,
                           (int)csr->type);
    DCSR_TRY(dcsr_i_check_dimensions(call, csr->rows, csr->cols));
    return create_from_csr(matrix, devices, csr, options);
}

dcsr_status dcsr_multi_matrix_from_view(dcsr_multi_matrix **matrix, dcsr_multi *devices, dcsr_view *view,
                                        const dcsr_matrix_options *options)
{
    DCSR_TRY(check_creating(matrix, "dcsr_multi_matrix_from_view", devices, options));
    DCSR_TRY(dcsr_i_view_check(view));
    dcsr_view *rows = view;
    dcsr_csr csr;
    if (view->layout != DCSR_LAYOUT_CSR)
        DCSR_TRY(dcsr_i_view_again(&rows, view, DCSR_LAYOUT_CSR, view->flags));
    dcsr_status status = dcsr_view_get_csr_on_host(rows, &csr);
    if (status == DCSR_OK) status = create_from_csr(matrix, devices, &csr, options);
    if (rows != view) dcsr_view_destroy(rows);
    return status;
}

void dcsr_multi_matrix_destroy(dcsr_multi_matrix *matrix)
{
    if (!matrix) return;
    dcsr_i_context_leave(matrix->home, &matrix->member);
    dcsr_i_multi_stop(matrix, false);
    release(matrix);
}

/* ---- Changes ---- */

static bool is_full(const dcsr_multi_matrix *matrix)
{
    return matrix->pending_bytes >= matrix->queue_limit && !matrix->stopping;
}

/* Waits until the queue has room, and makes sure that changes are taken. With the lock. */
static dcsr_status wait_for_room(dcsr_multi_matrix *matrix, const char *call)
{
    if (is_full(matrix) && matrix->refuse_when_full)
        return dcsr_i_fail(DCSR_ERROR_BUSY,
                           "%s: %llu bytes of changes are waiting, the limit of this matrix; try again later",
                           call, (unsigned long long)matrix->pending_bytes);
    while (is_full(matrix)) pthread_cond_wait(&matrix->changed, &matrix->lock);
    if (matrix->broken != DCSR_OK) return dcsr_i_fail(matrix->broken, "%s: %s", call, matrix->broken_message);
    return DCSR_OK;
}

/* Queues a change that is complete but for its outcome; takes it. With the lock. */
static dcsr_status submit(dcsr_multi_matrix *matrix, dcsr_i_multi_change *change, dcsr_ticket **ticket)
{
    dcsr_ticket *created = NULL;
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    change->operation = dcsr_i_operation_create(matrix->part[0], change->kind);
    if (change->operation && ticket) created = dcsr_i_ticket_create(change->operation);
    if (change->operation && (created || !ticket)) {
        change->operation->outcome.watched = ticket;
        status = dcsr_i_multi_enqueue(matrix, change);
    }
    if (status != DCSR_OK) {
        dcsr_ticket_destroy(created);
        dcsr_i_multi_change_free(matrix, change);
        return status;
    }
    if (ticket) *ticket = created;
    return DCSR_OK;
}

static dcsr_i_multi_change *change_create(const dcsr_multi_matrix *matrix, dcsr_i_kind kind)
{
    dcsr_i_multi_change *created = dcsr_i_calloc(matrix->home, DCSR_I_MATRIX, 1, sizeof *created);
    if (created) created->kind = kind;
    return created;
}

/* Whether a batch is staged on a GPU: where it comes from one, or is large. */
static bool is_staged(const dcsr_multi_matrix *matrix, const dcsr_i_entries *e)
{
    return dcsr_i_multi_is_on_gpus(matrix->devices) && e->n && (e->on_device || e->n > PACKED_ENTRIES);
}

/* The last change, if it waits and these entries can be applied with it; else NULL. What comes from arrays on a device
 * stands alone, as what is wrong with it is found later: then others may be put behind it (coordinator.c). With the
 * lock. */
static dcsr_i_multi_change *joinable(const dcsr_multi_matrix *matrix, const dcsr_i_entries *e,
                                     const dcsr_i_operation *chunk)
{
    dcsr_i_multi_change *last = matrix->last;
    if (!last || last->kind != e->kind) return NULL;
    const dcsr_i_split *batch = &last->batch;
    if (!chunk) {
        const bool fits = batch->n + e->n <= JOINED_ENTRIES;
        return fits && batch->borders == matrix->row_borders ? last : NULL;
    }
    const bool fits = batch->n + e->n <= matrix->parts * DCSR_I_JOINED_BY_GPU;
    return fits && !e->on_device && batch->chunks && !batch->last_chunk->batch.arrival.packed ? last : NULL;
}

/* The entries of one call more for a change that waits; a ticket reports its failure, and a caller that asked for none
 * learns of it from dcsr_multi_matrix_wait(). With the lock. */
static void note_joined(dcsr_multi_matrix *matrix, dcsr_i_multi_change *last, uint64_t n, bool watched)
{
    last->operation->outcome.watched = last->operation->outcome.watched && watched;
    matrix->pending_bytes += n * last->batch.entry_bytes;
}

/* Packs a batch behind those of a change that waits, which the coordinator does not take meanwhile. Called and returns
 * with the lock, which it lets go meanwhile. */
static dcsr_status join(dcsr_multi_matrix *matrix, dcsr_i_multi_change *last, const dcsr_i_entries *e,
                        dcsr_ticket **ticket)
{
    dcsr_ticket *created = ticket ? dcsr_i_ticket_create(last->operation) : NULL;
    if (ticket && !created) return DCSR_ERROR_OUT_OF_MEMORY;
    last->open = true;
    pthread_mutex_unlock(&matrix->lock);
    dcsr_status status = dcsr_i_split_add(&last->batch, matrix, e);
    pthread_mutex_lock(&matrix->lock);
    last->open = false;
    pthread_cond_signal(&matrix->filled);
    if (status != DCSR_OK) {
        dcsr_ticket_destroy(created);
        return status;
    }
    if (ticket) *ticket = created;
    note_joined(matrix, last, e->n, ticket);
    return DCSR_OK;
}

/* A batch that joins none is split without the lock; should borders move meanwhile, the coordinator splits it again.
 * Called and returns with the lock. */
static dcsr_status queue_alone(dcsr_multi_matrix *matrix, const dcsr_i_entries *e, dcsr_ticket **ticket)
{
    dcsr_i_multi_change *change = change_create(matrix, e->kind);
    if (!change) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_status status = dcsr_i_split_open(&change->batch, matrix, e);
    if (status == DCSR_OK) {
        pthread_mutex_unlock(&matrix->lock);
        status = dcsr_i_split_add(&change->batch, matrix, e);
        pthread_mutex_lock(&matrix->lock);
    }
    if (status == DCSR_OK) return submit(matrix, change, ticket);
    dcsr_i_multi_change_free(matrix, change);
    return status;
}

/* ---- Chunks ---- */

/* The batch as keys of the whole matrix in the memory of device k: from the host, or from arrays there, which are read
 * in the order of the caller's stream. Called and returns with the lock, which it lets go meanwhile. */
static dcsr_status stage(dcsr_i_operation **chunk, dcsr_multi_matrix *matrix, uint64_t k,
                         const dcsr_i_entries *e)
{
    dcsr_matrix *part = matrix->part[k];
    const dcsr_i_engine *engine = part->engine;
    dcsr_i_operation *created;
    DCSR_TRY(dcsr_i_entries_operation(&created, part, e, matrix->rows, matrix->cols));
    dcsr_status status;
    if (e->on_device) {
        status = engine->expect(part, created, e, false);
        if (status == DCSR_OK) engine->arrive(part, created, e, true);
    } else {
        pthread_mutex_unlock(&matrix->lock); /* borders may move: the part is no longer looked at */
        status = engine->stage(created, e, dcsr_i_entries_threads(matrix->home, e->n));
        pthread_mutex_lock(&matrix->lock);
    }
    if (status == DCSR_OK)
        *chunk = created;
    else
        dcsr_i_operation_release(created);
    const bool of_device = status == DCSR_ERROR_OUT_OF_MEMORY || status == DCSR_ERROR_DEVICE;
    return of_device ? dcsr_i_multi_blame(matrix, k, status) : status;
}

static void (*const drop_chunk)(dcsr_i_operation *) = DCSR_I_IN_CUDA(dcsr_i_cuda_split_drop);

void dcsr_i_multi_stage_elsewhere(dcsr_multi_matrix *matrix)
{
    matrix->staging = (matrix->staging + 1) % matrix->parts;
    matrix->staged = 0;
}

/* A change with one chunk, which it takes. With the lock. */
static dcsr_status queue_chunk_alone(dcsr_multi_matrix *matrix, const dcsr_i_entries *e,
                                     dcsr_i_operation *chunk, dcsr_ticket **ticket)
{
    dcsr_i_multi_change *change = change_create(matrix, e->kind);
    if (!change) {
        drop_chunk(chunk);
        return DCSR_ERROR_OUT_OF_MEMORY;
    }
    change->batch = (dcsr_i_split){
        .n = e->n, .calls = 1, .entry_bytes = chunk->batch.entry_bytes, .chunks = chunk, .last_chunk = chunk};
    return submit(matrix, change, ticket);
}

static dcsr_status join_chunk(dcsr_multi_matrix *matrix, dcsr_i_multi_change *last, dcsr_i_operation *chunk,
                              dcsr_ticket **ticket)
{
    if (ticket && !(*ticket = dcsr_i_ticket_create(last->operation))) return DCSR_ERROR_OUT_OF_MEMORY;
    last->batch.last_chunk->next = chunk;
    last->batch.last_chunk = chunk;
    last->batch.n += chunk->batch.n;
    last->batch.calls++;
    note_joined(matrix, last, chunk->batch.n, ticket);
    return DCSR_OK;
}

static dcsr_status queue_chunk(dcsr_multi_matrix *matrix, uint64_t k, const dcsr_i_entries *e,
                               dcsr_ticket **ticket)
{
    dcsr_i_operation *chunk = NULL;
    if (!e->on_device && (matrix->staged += e->n) >= STAGED_ENTRIES) dcsr_i_multi_stage_elsewhere(matrix);
    DCSR_TRY(stage(&chunk, matrix, k, e));
    dcsr_i_multi_change *last = joinable(matrix, e, chunk);
    if (!last) return queue_chunk_alone(matrix, e, chunk, ticket);
    dcsr_status status = join_chunk(matrix, last, chunk, ticket);
    if (status != DCSR_OK) drop_chunk(chunk);
    return status;
}

/* ---- The calls ---- */

/* Whose memory the arrays are in: for those of the host where large ones are staged; also for what is nowhere, which is
 * told there. With the lock. */
static uint64_t device_of(const dcsr_multi_matrix *matrix, const dcsr_i_entries *e)
{
    static uint64_t (*const where)(const dcsr_multi_matrix *, const void *) =
        DCSR_I_IN_CUDA(dcsr_i_cuda_split_where);
    if (!e->on_device || !is_staged(matrix, e)) return matrix->staging;
    const uint64_t k = where(matrix, e->rows);
    return k < matrix->parts ? k : 0;
}

/* With the lock. */
static dcsr_status take_in(dcsr_multi_matrix *matrix, const dcsr_i_entries *e, dcsr_ticket **ticket)
{
    DCSR_TRY(wait_for_room(matrix, e->call));
    const uint64_t k = device_of(matrix, e);
    DCSR_TRY(dcsr_i_entries_check(matrix->part[k], e));
    if (is_staged(matrix, e)) return queue_chunk(matrix, k, e, ticket);
    dcsr_i_multi_change *last = joinable(matrix, e, NULL);
    return last ? join(matrix, last, e, ticket) : queue_alone(matrix, e, ticket);
}

/* What is packed is packed one at a time; several callers may stage at once. */
static dcsr_status queue_batch(dcsr_multi_matrix *matrix, const dcsr_i_entries *e, dcsr_ticket **ticket)
{
    if (ticket) *ticket = NULL;
    DCSR_TRY(dcsr_i_multi_matrix_check(matrix));
    DCSR_TRY(dcsr_i_entries_check_arrays(matrix->type, e));
    const bool packed = !is_staged(matrix, e);
    if (packed) pthread_mutex_lock(&matrix->packing);
    pthread_mutex_lock(&matrix->lock);
    dcsr_status status = take_in(matrix, e, ticket);
    pthread_mutex_unlock(&matrix->lock);
    if (packed) pthread_mutex_unlock(&matrix->packing);
    return status;
}

dcsr_status dcsr_multi_matrix_insert(dcsr_multi_matrix *matrix, uint64_t n, const uint64_t *rows,
                                     const uint64_t *cols, const void *values, dcsr_ticket **ticket)
{
    const dcsr_i_entries e = {.call = "dcsr_multi_matrix_insert",
                              .kind = DCSR_I_INSERT,
                              .n = n,
                              .rows = rows,
                              .cols = cols,
                              .values = values};
    return queue_batch(matrix, &e, ticket);
}

dcsr_status dcsr_multi_matrix_remove(dcsr_multi_matrix *matrix, uint64_t n, const uint64_t *rows,
                                     const uint64_t *cols, dcsr_ticket **ticket)
{
    const dcsr_i_entries e = {
        .call = "dcsr_multi_matrix_remove", .kind = DCSR_I_REMOVE, .n = n, .rows = rows, .cols = cols};
    return queue_batch(matrix, &e, ticket);
}

dcsr_status dcsr_multi_matrix_insert_device(dcsr_multi_matrix *matrix, uint64_t n, const uint64_t *rows,
                                            const uint64_t *cols, const void *values, void *stream,
                                            dcsr_ticket **ticket)
{
    const dcsr_i_entries e = {.call = "dcsr_multi_matrix_insert_device",
                              .kind = DCSR_I_INSERT,
                              .n = n,
                              .rows = rows,
                              .cols = cols,
                              .values = values,
                              .on_device = true,
                              .stream = stream};
    return queue_batch(matrix, &e, ticket);
}

dcsr_status dcsr_multi_matrix_remove_device(dcsr_multi_matrix *matrix, uint64_t n, const uint64_t *rows,
                                            const uint64_t *cols, void *stream, dcsr_ticket **ticket)
{
    const dcsr_i_entries e = {.call = "dcsr_multi_matrix_remove_device",
                              .kind = DCSR_I_REMOVE,
                              .n = n,
                              .rows = rows,
                              .cols = cols,
                              .on_device = true,
                              .stream = stream};
    return queue_batch(matrix, &e, ticket);
}

static dcsr_status queue_change(dcsr_multi_matrix *matrix, const char *call, dcsr_i_kind kind,
                                dcsr_defragment_scope scope, dcsr_ticket **ticket)
{
    if (ticket) *ticket = NULL;
    DCSR_TRY(dcsr_i_multi_matrix_check(matrix));
    dcsr_i_multi_change *change = change_create(matrix, kind);
    if (!change) return DCSR_ERROR_OUT_OF_MEMORY;
    change->scope = scope;
    pthread_mutex_lock(&matrix->lock);
    dcsr_status status = wait_for_room(matrix, call);
    if (status == DCSR_OK)
        status = submit(matrix, change, ticket);
    else
        dcsr_i_multi_change_free(matrix, change);
    pthread_mutex_unlock(&matrix->lock);
    return status;
}

dcsr_status dcsr_multi_matrix_balance(dcsr_multi_matrix *matrix, dcsr_ticket **ticket)
{
    return queue_change(matrix, "dcsr_multi_matrix_balance", DCSR_I_REPLACE, DCSR_DEFRAGMENT_WHOLE, ticket);
}

dcsr_status dcsr_multi_matrix_defragment(dcsr_multi_matrix *matrix, dcsr_defragment_scope scope,
                                         dcsr_ticket **ticket)
{
    static const char call[] = "dcsr_multi_matrix_defragment";
    if (ticket) *ticket = NULL;
    if ((unsigned)scope > DCSR_DEFRAGMENT_SELECTED)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "%s: scope is %d; use DCSR_DEFRAGMENT_WHOLE or _SELECTED", call, (int)scope);
    return queue_change(matrix, call, DCSR_I_DEFRAGMENT, scope, ticket);
}

void dcsr_i_multi_wait(dcsr_multi_matrix *matrix)
{
    pthread_mutex_lock(&matrix->lock);
    const uint64_t target = matrix->queued;
    while (matrix->applied < target) pthread_cond_wait(&matrix->changed, &matrix->lock);
    pthread_mutex_unlock(&matrix->lock);
}

dcsr_status dcsr_multi_matrix_wait(dcsr_multi_matrix *matrix)
{
    DCSR_TRY(dcsr_i_multi_matrix_check(matrix));
    dcsr_i_multi_wait(matrix);
    pthread_mutex_lock(&matrix->lock);
    dcsr_status status = matrix->unwatched;
    if (status != DCSR_OK) dcsr_i_fail(status, "%s", matrix->unwatched_message);
    matrix->unwatched = DCSR_OK;
    pthread_mutex_unlock(&matrix->lock);
    return status;
}

/* ---- What it tells ---- */

static void add(dcsr_matrix_info *whole, const dcsr_matrix_info *part)
{
    whole->type = part->type;
    whole->policy = part->policy;
    whole->slack = part->slack;
    whole->rows += part->rows;
    whole->cols = part->cols;
    whole->stored += part->stored;
    whole->segments += part->segments;
    if (part->max_segments > whole->max_segments) whole->max_segments = part->max_segments;
    whole->unresolved_rows += part->unresolved_rows;
    whole->arena_entries += part->arena_entries;
    whole->bytes += part->bytes;
    whole->row_rewrites += part->row_rewrites;
    whole->defragmentations += part->defragmentations;
    whole->views += part->views;
}

dcsr_status dcsr_multi_matrix_get_info(dcsr_multi_matrix *matrix, dcsr_multi_matrix_info *info)
{
    DCSR_TRY(dcsr_i_multi_matrix_check(matrix));
    if (!info) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_multi_matrix_get_info: info is NULL");
    dcsr_matrix *part[DCSR_MAX_DEVICES];
    dcsr_matrix_info whole = {0};
    dcsr_status status = DCSR_OK;
    *info = (dcsr_multi_matrix_info){.parts = matrix->parts};
    pthread_mutex_lock(&matrix->lock);
    for (uint64_t k = 0; k < matrix->parts; k++) dcsr_i_matrix_retain(part[k] = matrix->part[k]);
    memcpy(info->border, matrix->row_borders->begin, sizeof info->border);
    info->balances = matrix->balances;
    info->changes = matrix->changes;
    info->splitting_seconds = (double)matrix->times.splitting * 1e-9;
    info->applying_seconds = (double)matrix->times.applying * 1e-9;
    info->balancing_seconds = (double)matrix->times.balancing * 1e-9;
    whole.version = matrix->version;
    whole.pending_bytes = matrix->pending_bytes;
    whole.batches = matrix->batches;
    whole.inserted = matrix->inserted;
    whole.removed = matrix->removed;
    whole.busy_seconds = (double)matrix->busy_nanoseconds * 1e-9;
    pthread_mutex_unlock(&matrix->lock);
    for (uint64_t k = 0; k < matrix->parts; k++) {
        dcsr_matrix_info one;
        if (status == DCSR_OK) {
            status = dcsr_matrix_get_info(part[k], &one);
            if (status != DCSR_OK) status = dcsr_i_multi_blame(matrix, k, status);
        }
        if (status == DCSR_OK) add(&whole, &one);
        if (status == DCSR_OK) info->stored[k] = one.stored;
        dcsr_i_matrix_release(part[k]);
    }
    if (status != DCSR_OK)
        memset(info, 0, sizeof *info);
    else
        info->whole = whole;
    return status;
}

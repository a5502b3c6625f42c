/* matrix.c: creating and destroying matrices; what a matrix tells about itself. */
#include "dcsr/base/cuda.h"
#include "dcsr/store/journal.h"
#include "dcsr/base/turn.h"
#include "dcsr/store/maintained_transpose.h"
#include <stdio.h>
#include <string.h>

static const uint64_t default_queue_limit = (uint64_t)512 << 20;
static _Atomic uint64_t serials;

/* ---- Life ---- */

void dcsr_i_matrix_retain(dcsr_matrix *matrix)
{
    atomic_fetch_add(&matrix->references, 1);
}

/* Clones may still be in its space. */
static void free_matrix(dcsr_i_space *space)
{
    dcsr_matrix *matrix = (dcsr_matrix *)((char *)space - offsetof(dcsr_matrix, space));
    dcsr_i_free(matrix->context, DCSR_I_MATRIX, matrix, 1, sizeof *matrix + matrix->inner_bytes);
}

void dcsr_i_matrix_release(dcsr_matrix *matrix)
{
    if (!dcsr_i_give_up(&matrix->references)) return;
    dcsr_context *context = matrix->context;
    dcsr_i_held_version_release(matrix->transpose.shown);
    dcsr_i_twin_leave(matrix->transpose.twin);
    matrix->spare.ends = true;
    matrix->engine->close(matrix);
    dcsr_i_origin_release(matrix->origin.hold);
    dcsr_i_parts_drain(matrix);
    if (matrix->versions.pins != matrix->versions.few_pins)
        dcsr_i_free(context, DCSR_I_MATRIX, matrix->versions.pins, matrix->versions.pin_capacity,
                    sizeof *matrix->versions.pins);
    pthread_mutex_destroy(&matrix->spare.lock);
    dcsr_i_queue_free(matrix);
    pthread_mutex_destroy(&matrix->versions.lock);
    dcsr_i_space_release(&matrix->space);
    dcsr_i_context_release(context);
}

dcsr_matrix *dcsr_i_matrix_twin(dcsr_matrix *matrix)
{
    pthread_mutex_lock(&matrix->versions.lock);
    dcsr_matrix *twin = matrix->transpose.twin;
    if (twin) dcsr_i_matrix_retain(twin);
    pthread_mutex_unlock(&matrix->versions.lock);
    return twin;
}

void dcsr_i_matrix_trim(dcsr_matrix *matrix)
{
    dcsr_matrix *twin = dcsr_i_matrix_twin(matrix);
    matrix->engine->trim(matrix);
    if (!twin) return;
    twin->engine->trim(twin);
    dcsr_i_matrix_release(twin);
}

dcsr_status dcsr_i_matrix_check(const dcsr_matrix *matrix)
{
    if (!matrix) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "the matrix is NULL; create one first");
    return dcsr_i_context_check(matrix->context);
}

dcsr_status dcsr_i_check_dimensions(const char *call, uint64_t rows, uint64_t cols)
{
    if (rows > DCSR_MAX_ROWS || cols > DCSR_MAX_COLS)
        return dcsr_i_fail(DCSR_ERROR_TOO_LARGE, "%s: %llu x %llu is beyond the largest matrix, 2^32 x 2^31",
                           call, (unsigned long long)rows, (unsigned long long)cols);
    return DCSR_OK;
}

dcsr_status dcsr_i_check_twin_rows(const char *call, uint64_t rows)
{
    if (rows > DCSR_MAX_COLS)
        return dcsr_i_fail(DCSR_ERROR_TOO_LARGE,
                           "%s: %llu rows; a matrix that maintains its transpose has at most 2^31", call,
                           (unsigned long long)rows);
    return DCSR_OK;
}

static dcsr_status check_options(const char *call, dcsr_type type, const dcsr_matrix_options *options)
{
    if ((unsigned)type >= DCSR_TYPE_COUNT)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: %d is no type; use one of dcsr_type", call,
                           (int)type);
    if ((unsigned)options->policy >= DCSR_POLICY_COUNT)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: options.policy is %d; use one of DCSR_POLICY_*",
                           call, (int)options->policy);
    if (options->segments < DCSR_MIN_SEGMENTS || options->segments > DCSR_MAX_SEGMENTS)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "%s: options.segments is %d; give %d to %d, or 0 for the default", call,
                           options->segments, DCSR_MIN_SEGMENTS, DCSR_MAX_SEGMENTS);
    if ((unsigned)options->defragmentation > DCSR_DEFRAGMENT_OFF)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "%s: options.defragmentation is %d; use DCSR_DEFRAGMENT_AUTO or _OFF", call,
                           (int)options->defragmentation);
    if ((unsigned)options->resolve > DCSR_RESOLVE_ON_READ)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "%s: options.resolve is %d; use one of DCSR_RESOLVE_*", call,
                           (int)options->resolve);
    if (options->slack != DCSR_SLACK_NONE && !(options->slack > 0 && options->slack <= 1))
        return dcsr_i_fail(
            DCSR_ERROR_INVALID_ARGUMENT,
            "%s: options.slack is %g; give a share of a row's length up to 1, 0 for the default, or "
            "DCSR_SLACK_NONE",
            call, options->slack);
    return DCSR_OK;
}

static const dcsr_i_engine *engine_of(const dcsr_context *context)
{
    return context->device == DCSR_DEVICE_CUDA ? DCSR_I_IN_CUDA(dcsr_i_cuda_engine) : &dcsr_i_cpu_engine;
}

/* The context closes: what was queued is still applied. */
static void close_matrix(dcsr_i_member *member)
{
    dcsr_i_queue_stop((dcsr_matrix *)((char *)member - offsetof(dcsr_matrix, member)), true);
}

/* A matrix that no queue and no context knows yet, with the options, of which none is default. */
static dcsr_status open_matrix(dcsr_matrix **matrix, dcsr_context *context, dcsr_type type, uint64_t rows,
                               uint64_t cols, const dcsr_matrix_options *options)
{
    *matrix = NULL;
    const size_t inner = context->cuda ? 0 : dcsr_i_first_table_bytes(rows);
    dcsr_matrix *created = dcsr_i_calloc(context, DCSR_I_MATRIX, 1, sizeof *created + inner);
    if (!created) return DCSR_ERROR_OUT_OF_MEMORY;
    created->inner_bytes = (uint32_t)inner;
    created->context = context;
    created->engine = engine_of(context);
    created->type = type;
    created->value_size = dcsr_type_size(type);
    created->policy = options->policy;
    created->segments_per_row = options->segments;
    created->defragmentation = options->defragmentation;
    created->resolve = options->resolve;
    created->grow = options->grow;
    created->slack = options->slack > 0 ? (uint32_t)(options->slack * DCSR_I_SLACK_UNIT + 0.5) : 0;
    created->queue.limit = options->queue_limit;
    created->queue.refuse_when_full = options->refuse_when_full;
    created->transpose.maintained = options->maintain_transpose;
    created->queue.rows = rows;
    created->queue.cols = cols;
    created->member.close = close_matrix;
    created->versions.pins = created->versions.few_pins;
    created->versions.pin_capacity = DCSR_I_FEW_PINS;
    created->family = created->serial = atomic_fetch_add(&serials, 1) + 1;
    atomic_init(&created->references, 1);
    pthread_mutex_init(&created->versions.lock, NULL);
    pthread_mutex_init(&created->queue.lock, NULL);
    pthread_mutex_init(&created->spare.lock, NULL);
    pthread_cond_init(&created->queue.changed, NULL);
    dcsr_i_space_init(&created->space, context, free_matrix);
    dcsr_i_context_retain(context);
    dcsr_status status = created->engine->open(created, rows, cols);
    if (status != DCSR_OK) {
        dcsr_i_matrix_release(created);
        return status;
    }
    *matrix = created;
    return DCSR_OK;
}

dcsr_matrix_options dcsr_i_matrix_options_of(const dcsr_matrix *matrix)
{
    return (dcsr_matrix_options){.policy = matrix->policy,
                                 .segments = matrix->segments_per_row,
                                 .defragmentation = matrix->defragmentation,
                                 .resolve = matrix->resolve,
                                 .queue_limit = matrix->queue.limit,
                                 .refuse_when_full = matrix->queue.refuse_when_full,
                                 .maintain_transpose = matrix->transpose.maintained,
                                 .grow = matrix->grow,
                                 .slack = dcsr_i_slack_option(matrix->slack)};
}

dcsr_status dcsr_i_matrix_open_like(dcsr_matrix **matrix, const dcsr_matrix *like, uint64_t rows,
                                    uint64_t cols)
{
    const dcsr_matrix_options options = dcsr_i_matrix_options_of(like);
    return open_matrix(matrix, like->context, like->type, rows, cols, &options);
}

dcsr_status dcsr_i_matrix_open_inner(dcsr_matrix **inner, const dcsr_matrix *matrix, uint64_t rows,
                                     uint64_t cols, dcsr_policy policy, dcsr_defragmentation defragmentation)
{
    dcsr_matrix_options options = {.policy = policy,
                                   .segments = matrix->segments_per_row,
                                   .defragmentation = defragmentation,
                                   .resolve = matrix->resolve,
                                   .slack = dcsr_i_slack_option(matrix->slack)};
    return open_matrix(inner, matrix->context, matrix->type, rows, cols, &options);
}

static dcsr_matrix_options filled_in(const dcsr_matrix_options *options, dcsr_type type)
{
    dcsr_matrix_options result = options ? *options : (dcsr_matrix_options){0};
    if (result.policy == DCSR_POLICY_DEFAULT)
        result.policy = type == DCSR_PATTERN ? DCSR_POLICY_ANY : DCSR_POLICY_LAST;
    if (!result.segments) result.segments = DCSR_DEFAULT_SEGMENTS;
    if (result.slack == 0) result.slack = (double)DCSR_I_SLACK_DEFAULT / DCSR_I_SLACK_UNIT;
    if (!result.queue_limit) result.queue_limit = default_queue_limit;
    return result;
}

dcsr_status dcsr_i_matrix_create(dcsr_matrix **matrix, const char *call, dcsr_context *context,
                                 dcsr_type type, uint64_t rows, uint64_t cols,
                                 const dcsr_matrix_options *options)
{
    if (!matrix) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: matrix is NULL", call);
    *matrix = NULL;
    DCSR_TRY(dcsr_i_context_check(context));
    dcsr_matrix_options chosen = filled_in(options, type);
    DCSR_TRY(dcsr_i_check_dimensions(call, rows, cols));
    DCSR_TRY(check_options(call, type, &chosen));
    if (chosen.maintain_transpose) DCSR_TRY(dcsr_i_check_twin_rows(call, rows));
    dcsr_matrix *created;
    DCSR_TRY(open_matrix(&created, context, type, rows, cols, &chosen));
    dcsr_status status = dcsr_i_twin_build(created);
    if (status == DCSR_OK) status = dcsr_i_context_join(context, &created->member);
    if (status != DCSR_OK) {
        dcsr_i_matrix_release(created);
        return status;
    }
    *matrix = created;
    return DCSR_OK;
}

dcsr_status dcsr_matrix_create(dcsr_matrix **matrix, dcsr_context *context, dcsr_type type, uint64_t rows,
                               uint64_t cols, const dcsr_matrix_options *options)
{
    return dcsr_i_matrix_create(matrix, "dcsr_matrix_create", context, type, rows, cols, options);
}

/* Whether nothing was ever queued, and no view is left that could ask for maintenance: there is nothing to stop. */
static bool is_at_rest(const dcsr_matrix *matrix)
{
    return atomic_load(&matrix->references) == 1 && !atomic_load(&matrix->queue.queued);
}

void dcsr_matrix_destroy(dcsr_matrix *matrix)
{
    dcsr_i_turn_wait wait;
    if (!matrix || dcsr_i_turn_wait_begin(&wait, "dcsr_matrix_destroy", matrix->serial) != DCSR_OK) return;
    dcsr_i_context_leave(matrix->context, &matrix->member);
    if (!is_at_rest(matrix)) dcsr_i_queue_stop(matrix, false);
    dcsr_i_turn_wait_end(&wait);
    if (matrix->queue.journal) matrix->queue.journal->close(matrix->queue.journal);
    /* What is cached may hold a version, and so the matrix. */
    dcsr_i_csr_forget(matrix);
    if (matrix->transpose.twin) dcsr_i_csr_forget(matrix->transpose.twin);
    dcsr_i_matrix_release(matrix);
}

/* ---- What it tells ---- */

static uint64_t bytes_of(dcsr_matrix *matrix)
{
    return dcsr_i_arena_bytes(&matrix->arena) + sizeof *matrix + matrix->inner_bytes +
           atomic_load(&matrix->table_bytes);
}

/* What get_info says of the current version. */
static dcsr_status describe(dcsr_matrix_info *info, dcsr_matrix *matrix)
{
    dcsr_i_held_version hold;
    dcsr_i_measures measures;
    DCSR_TRY(dcsr_i_held_version_open(&hold, matrix));
    const dcsr_i_table *table = hold.base;
    dcsr_i_rows rows = matrix->engine->rows_of(matrix, table);
    dcsr_status status = matrix->engine->measure(&measures, matrix->context, &rows);
    if (status == DCSR_OK)
        *info = (dcsr_matrix_info){.type = matrix->type,
                                   .policy = matrix->policy,
                                   .rows = table->rows,
                                   .cols = table->cols,
                                   .version = table->version,
                                   .stored = table->stored,
                                   .segments = measures.rows_in_use + table->extra_segments,
                                   .max_segments = measures.max_segments,
                                   .unresolved_rows = measures.unresolved_rows};
    dcsr_i_held_version_close(&hold);
    return status;
}

dcsr_status dcsr_matrix_get_info(dcsr_matrix *matrix, dcsr_matrix_info *info)
{
    DCSR_TRY(dcsr_i_matrix_check(matrix));
    if (!info) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_matrix_get_info: info is NULL");
    dcsr_i_set_aside before = dcsr_i_use_set_aside(DCSR_I_ALL_SET_ASIDE);
    dcsr_status status = describe(info, matrix);
    dcsr_i_use_set_aside(before);
    if (status != DCSR_OK) return status;

    info->arena_entries = dcsr_i_arena_used(&matrix->arena);
    info->bytes = bytes_of(matrix);
    dcsr_matrix *twin = dcsr_i_matrix_twin(matrix);
    if (twin) {
        info->bytes += bytes_of(twin);
        dcsr_i_matrix_release(twin);
    }
    pthread_mutex_lock(&matrix->versions.lock);
    info->views = matrix->versions.pin_count;
    pthread_mutex_unlock(&matrix->versions.lock);
    pthread_mutex_lock(&matrix->queue.lock);
    info->pending_bytes = matrix->queue.pending_bytes;
    pthread_mutex_unlock(&matrix->queue.lock);
    info->batches = atomic_load(&matrix->counts.batches);
    info->inserted = atomic_load(&matrix->counts.inserted);
    info->removed = atomic_load(&matrix->counts.removed);
    info->row_rewrites = atomic_load(&matrix->counts.row_rewrites);
    info->slack = (double)matrix->slack / DCSR_I_SLACK_UNIT;
    info->defragmentations = atomic_load(&matrix->counts.defragmentations);
    info->busy_seconds = (double)atomic_load(&matrix->counts.busy_nanoseconds) * 1e-9;
    return DCSR_OK;
}

/* By a view, in which duplicates are combined. */
static dcsr_status count_by_view(uint64_t *nnz, dcsr_matrix *matrix)
{
    dcsr_view *view;
    DCSR_TRY(dcsr_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, 0));
    *nnz = dcsr_i_view_rows(view)->table->stored;
    dcsr_view_destroy(view);
    return DCSR_OK;
}

dcsr_status dcsr_matrix_get_nnz(dcsr_matrix *matrix, uint64_t *nnz)
{
    if (!nnz) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_matrix_get_nnz: nnz is NULL");
    DCSR_TRY(dcsr_i_matrix_check(matrix));
    if (!matrix->engine->count_live) return count_by_view(nnz, matrix);
    dcsr_i_set_aside before = dcsr_i_use_set_aside(DCSR_I_ALL_SET_ASIDE);
    dcsr_i_held_version hold;
    dcsr_status status = dcsr_i_held_version_open(&hold, matrix);
    dcsr_i_use_set_aside(before);
    if (status != DCSR_OK) return status;
    uint64_t unresolved = 0;
    *nnz = matrix->engine->count_live(matrix, hold.base, &unresolved);
    dcsr_i_held_version_close(&hold);
    if (unresolved) dcsr_i_was_resolved(matrix, unresolved);
    return DCSR_OK;
}

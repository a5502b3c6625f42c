/* multi_transpose_cuda.c: the transpose of a matrix in parts on several GPUs.
 *
 *      device 0                      device 1
 *      T_0 = A_0^T                   T_1 = A_1^T                     arrays, whose columns are rows of A
 *      ---------------- meet: borders of B, from samples of the offsets ----------------
 *      ---------------- meet: where each T has the rows of each part of B --------------
 *      copy rows of T_0, T_1         copy rows of T_0, T_1           from GPU to GPU
 *      row by row behind one another, right where they stay in a part of B
 *      ---------------- meet: nobody reads another's T any more ------------------------ */
#include "dcsr/base/runtime.h"
#include "dcsr/base/threads.h"
#include "dcsr/device/prim_cuda.h"
#include "dcsr/store/cuda/store_cuda.h"
#include "dcsr/store/result.h"
#include "dcsr/view/csc_cuda.h"
#include "dcsr/view/view_data.h"
#include "multi/fetch_cuda.h"
#include "multi/fetch_rows_cuda.h"
#include "multi/multi_data.h"
#include "multi/multi_operation.h"

static const char doing[] = "multi_transpose";

/* Borders are drawn between so many columns of A, if there are more: few are read from each device, and what lies
 * between two is a small share of one part. */
#ifdef DCSR_SIMT
enum { SAMPLES = 64 };
#else
enum { SAMPLES = 1 << 14 };
#endif

/* What one device has: T, its part transposed, from which the others copy. */
typedef struct member {
    dcsr_context *context;
    dcsr_i_cuda_stream *stream;
    uint64_t stored;
    uint64_t *offsets; /* of T, in its memory, as the following */
    uint32_t *columns;
    char *values;
    uint64_t *samples;                 /* of the offsets, on the host */
    uint64_t at[DCSR_MAX_DEVICES + 1]; /* the offsets at B's borders */
} member;

typedef struct transposing {
    dcsr_multi_view *A;
    uint64_t parts, rows, cols, step, samples; /* of A; a sample every `step` columns */
    dcsr_type type;
    size_t size; /* of a value */
    member member[DCSR_MAX_DEVICES];
    dcsr_i_borders *borders; /* of B */
    dcsr_matrix **part;
    dcsr_i_multi_cost *cost;
} transposing;

/* ---- T ---- */

static dcsr_status take_T(transposing *t, member *m)
{
    m->offsets = dcsr_i_cuda_alloc(m->stream, DCSR_I_SCRATCH, t->cols + 1, sizeof *m->offsets);
    if (m->offsets) m->columns = dcsr_i_cuda_alloc(m->stream, DCSR_I_SCRATCH, m->stored, sizeof *m->columns);
    if (m->columns) m->values = dcsr_i_cuda_alloc(m->stream, DCSR_I_SCRATCH, m->stored, t->size);
    if (m->values) m->samples = dcsr_i_alloc(m->context, DCSR_I_SCRATCH, t->samples, sizeof *m->samples);
    return m->samples ? DCSR_OK : dcsr_i_no_memory();
}

static dcsr_status read_samples(const transposing *t, const member *m)
{
    uint64_t *samples = dcsr_i_cuda_alloc(m->stream, DCSR_I_SCRATCH, t->samples, sizeof *samples);
    if (!samples) return dcsr_i_no_memory();
    dcsr_i_cuda_sample_offsets(m->stream, m->offsets, t->cols, t->step, t->samples, samples);
    dcsr_status status =
        dcsr_i_cuda_read_back(m->stream, m->samples, samples, t->samples * sizeof *samples, doing);
    dcsr_i_cuda_free(m->stream, DCSR_I_SCRATCH, samples, t->samples, sizeof *samples);
    return status;
}

/* T, whose columns are counted as A's rows. */
static dcsr_status make_T(transposing *t, uint64_t k)
{
    member *m = &t->member[k];
    const dcsr_i_cuda_rows *rows = &dcsr_i_view_rows(t->A->part[k])->device;
    m->context = dcsr_i_multi_context(t->A->devices, k);
    m->stored = rows->stored;
    m->stream = dcsr_i_stream_borrow(m->context);
    if (!m->stream) return dcsr_i_no_memory();
    DCSR_TRY(take_T(t, m));
    DCSR_TRY(dcsr_i_cuda_transpose(m->stream, rows, m->offsets, m->columns, t->size ? m->values : NULL));
    if (m->stored) dcsr_i_cuda_fetch_shift(m->stream, m->columns, m->stored, (uint32_t)t->A->rows->begin[k]);
    return read_samples(t, m);
}

/* ---- Borders ---- */

static uint64_t entries_before(const void *of, uint64_t sample)
{
    const transposing *t = of;
    uint64_t sum = 0;
    for (uint64_t k = 0; k < t->parts; k++) sum += t->member[k].samples[sample];
    return sum;
}

static dcsr_status draw_borders(transposing *t)
{
    t->borders = dcsr_i_borders_by_entries(t->A->devices, t->samples - 1, entries_before, t);
    if (!t->borders) return dcsr_i_no_memory();
    for (uint64_t k = 0; k <= t->parts; k++) {
        const uint64_t column = t->borders->begin[k] * t->step;
        t->borders->begin[k] = column < t->cols ? column : t->cols;
    }
    return DCSR_OK;
}

/* Where this device's T has the rows of each part. */
static void find_shares(const transposing *t, member *m)
{
    for (uint64_t j = 0; j <= t->parts; j++) {
        const uint64_t column = t->borders->begin[j];
        m->at[j] = m->samples[column == t->cols ? t->samples - 1 : column / t->step];
    }
}

/* ---- B ---- */

/* What a device takes to make its part of B, on a stream of its own: of each T its rows, T after T, and where they
 * go. */
typedef struct joining {
    transposing *t;
    uint64_t k;
    dcsr_i_cuda_stream *stream;
    uint64_t rows, nnz;
    uint64_t *in_offsets, *to; /* rows + 1, and rows, of each T */
    uint32_t *in_columns;
    char *in_values;
    uint64_t *offsets;
} joining;

static void *take(const joining *b, uint64_t n, size_t size)
{
    return dcsr_i_cuda_alloc(b->stream, DCSR_I_SCRATCH, n, size);
}

static bool open_joining(joining *b)
{
    const transposing *t = b->t;
    return (b->in_offsets = take(b, t->parts * (b->rows + 1), sizeof *b->in_offsets)) &&
           (b->to = take(b, t->parts * b->rows, sizeof *b->to)) &&
           (b->in_columns = take(b, b->nnz, sizeof *b->in_columns)) &&
           (b->in_values = take(b, b->nnz, t->size)) &&
           (b->offsets = take(b, b->rows + 1, sizeof *b->offsets));
}

static void close_joining(const joining *b)
{
    const transposing *t = b->t;
    dcsr_i_cuda_free(b->stream, DCSR_I_SCRATCH, b->in_offsets, t->parts * (b->rows + 1),
                     sizeof *b->in_offsets);
    dcsr_i_cuda_free(b->stream, DCSR_I_SCRATCH, b->to, t->parts * b->rows, sizeof *b->to);
    dcsr_i_cuda_free(b->stream, DCSR_I_SCRATCH, b->in_columns, b->nnz, sizeof *b->in_columns);
    dcsr_i_cuda_free(b->stream, DCSR_I_SCRATCH, b->in_values, b->nnz, t->size);
    dcsr_i_cuda_free(b->stream, DCSR_I_SCRATCH, b->offsets, b->rows + 1, sizeof *b->offsets);
}

/* Beginning with the next device, so that all links are in use. Returns what came from others, in bytes. */
static uint64_t copy_shares(const joining *b)
{
    const transposing *t = b->t;
    const uint64_t k = b->k, first_row = t->borders->begin[k];
    const dcsr_i_cuda_device *here = t->member[k].context->cuda;
    uint64_t base[DCSR_MAX_DEVICES + 1] = {0}, bytes = 0;
    for (uint64_t j = 0; j < t->parts; j++)
        base[j + 1] = base[j] + t->member[j].at[k + 1] - t->member[j].at[k];
    for (uint64_t i = 1; i <= t->parts; i++) {
        const uint64_t j = (k + i) % t->parts, n = base[j + 1] - base[j];
        const member *from = &t->member[j];
        dcsr_i_cuda_copy_peer(b->stream, b->in_offsets + j * (b->rows + 1), here, from->offsets + first_row,
                              from->context->cuda, (b->rows + 1) * sizeof *b->in_offsets);
        dcsr_i_cuda_copy_peer(b->stream, b->in_columns + base[j], here, from->columns + from->at[k],
                              from->context->cuda, n * sizeof *b->in_columns);
        dcsr_i_cuda_copy_peer(b->stream, b->in_values + base[j] * t->size, here,
                              from->values + from->at[k] * t->size, from->context->cuda, n * t->size);
        if (j != k) bytes += n * (sizeof *b->in_columns + t->size);
    }
    return bytes;
}

/* An array that would have element 0 so far before this one. */
static void *from_place_0(void *array, uint64_t places, size_t size)
{
    return (void *)((uintptr_t)array - places * size); // NOLINT(performance-no-int-to-ptr)
}

/* Rows of all T behind one another. */
static dcsr_status join(const joining *b, uint32_t *columns, char *values)
{
    const transposing *t = b->t;
    uint64_t base = 0;
    dcsr_i_cuda_add_lengths(b->stream, b->in_offsets, t->parts, b->rows, b->offsets);
    DCSR_TRY(dcsr_i_cuda_scan_u64(b->stream, b->offsets, b->offsets, b->rows));
    dcsr_i_cuda_place_shares(b->stream, b->in_offsets, t->parts, b->rows, b->offsets, b->to);
    for (uint64_t j = 0; j < t->parts; j++) {
        const uint64_t first = t->member[j].at[b->k], n = t->member[j].at[b->k + 1] - first,
                       *offsets = b->in_offsets + j * (b->rows + 1);
        const dcsr_i_cuda_rows rows = {
            .rows = b->rows,
            .cols = t->rows,
            .stored = n,
            .type = (uint32_t)t->type,
            .value_size = (uint32_t)t->size,
            .offsets = offsets,
            .columns = from_place_0(b->in_columns + base, first, sizeof *b->in_columns),
            .values = t->size ? from_place_0(b->in_values + base * t->size, first, t->size) : NULL};
        const dcsr_i_cuda_walk walk = {rows, NULL, b->rows, offsets};
        if (n) dcsr_i_cuda_gather(b->stream, &walk, n, b->to + j * b->rows, columns, values);
        base += n;
    }
    return DCSR_OK;
}

/* Right where they stay. */
static dcsr_status join_rows(dcsr_i_cuda_sink *sink, joining *b)
{
    const dcsr_matrix *B = sink->matrix;
    const transposing *t = b->t;
    const uint64_t began = dcsr_i_nanoseconds();
    uint64_t first;
    DCSR_TRY(dcsr_i_cuda_sink_room(sink, b->nnz, &first));
    if (!open_joining(b)) return dcsr_i_no_memory();
    t->cost->bytes[b->k] += copy_shares(b);
    DCSR_TRY(dcsr_i_cuda_wait(b->stream, doing));
    t->cost->waited[b->k] = dcsr_i_nanoseconds() - began;
    DCSR_TRY(join(b, B->arena.columns + first, t->size ? B->arena.values + first * t->size : NULL));
    dcsr_i_cuda_split_offsets(b->stream, b->offsets, b->rows, first, sink->begin, sink->length);
    sink->stored = b->nnz;
    sink->contiguous = true;
    return DCSR_OK;
}

static dcsr_status produce(dcsr_i_cuda_sink *sink, void *user)
{
    joining *b = user;
    b->stream = sink->stream;
    sink->ascending = true; /* columns of one T after those of another */
    if (!b->nnz) return DCSR_OK;
    const dcsr_status status = join_rows(sink, b);
    close_joining(b);
    return status;
}

static dcsr_status join_in_turn(dcsr_matrix *B, void *user)
{
    dcsr_i_cuda_enter(B->cuda->stream);
    const dcsr_status status = dcsr_i_cuda_replace_rows(B, produce, user);
    dcsr_i_cuda_leave(B->cuda->stream);
    return status;
}

static dcsr_status make_part(transposing *t, uint64_t k)
{
    joining b = {.t = t, .k = k, .rows = t->borders->begin[k + 1] - t->borders->begin[k]};
    for (uint64_t j = 0; j < t->parts; j++) b.nnz += t->member[j].at[k + 1] - t->member[j].at[k];
    DCSR_TRY(dcsr_matrix_create(&t->part[k], t->member[k].context, t->type, b.rows, t->rows, NULL));
    return dcsr_i_result_turn(t->part[k], doing, join_in_turn, &b);
}

/* ---- The whole ---- */

static void close_member(const transposing *t, member *m)
{
    if (!m->stream) return;
    dcsr_i_free(m->context, DCSR_I_SCRATCH, m->samples, t->samples, sizeof *m->samples);
    dcsr_i_cuda_free(m->stream, DCSR_I_SCRATCH, m->values, m->stored, t->size);
    dcsr_i_cuda_free(m->stream, DCSR_I_SCRATCH, m->columns, m->stored, sizeof *m->columns);
    dcsr_i_cuda_free(m->stream, DCSR_I_SCRATCH, m->offsets, t->cols + 1, sizeof *m->offsets);
    dcsr_i_cuda_settle(m->stream, doing);
    dcsr_i_stream_return(m->context, m->stream);
}

static dcsr_status transpose(transposing *t, uint64_t k)
{
    dcsr_multi *devices = t->A->devices;
    DCSR_TRY(dcsr_multi_meet(devices, make_T(t, k)));
    DCSR_TRY(dcsr_multi_meet(devices, k ? DCSR_OK : draw_borders(t)));
    find_shares(t, &t->member[k]);
    DCSR_TRY(dcsr_multi_meet(devices, DCSR_OK));
    return dcsr_multi_meet(devices, make_part(t, k));
}

static dcsr_status transpose_part(void *user, uint64_t k)
{
    transposing *t = user;
    dcsr_status status = transpose(t, k);
    close_member(t, &t->member[k]);
    return status;
}

dcsr_status dcsr_i_cuda_multi_transpose(dcsr_matrix **part, dcsr_i_borders **borders, dcsr_multi_view *A,
                                        dcsr_i_multi_cost *cost)
{
    dcsr_view_shape shape;
    DCSR_TRY(dcsr_view_get_shape(A->part[0], &shape));
    const uint64_t grain = dcsr_i_multi_grain(A->devices);
    transposing t = {.A = A,
                     .parts = A->rows->parts,
                     .rows = dcsr_i_borders_end(A->rows),
                     .cols = shape.cols,
                     .step = (shape.cols / SAMPLES / grain + 1) * grain,
                     .type = shape.type,
                     .size = dcsr_type_size(shape.type),
                     .part = part,
                     .cost = cost};
    t.samples = (t.cols + t.step - 1) / t.step + 1; /* the last is for all of them */
    dcsr_status status = dcsr_multi_run(A->devices, transpose_part, &t);
    if (status == DCSR_OK) {
        *borders = t.borders;
        return DCSR_OK;
    }
    dcsr_i_borders_release(t.borders);
    for (uint64_t k = 0; k < t.parts; k++) {
        dcsr_matrix_destroy(part[k]);
        part[k] = NULL;
    }
    return status;
}

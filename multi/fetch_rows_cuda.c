/* fetch_rows_cuda.c: rows of a matrix that are on other GPUs, as a matrix on this one.
 *
 * The device that has rows puts the entries of those that are wanted behind one another, unless they are all that it
 * has and stand so already. Columns and values of all devices are copied behind one another, from GPU to GPU, and the
 * rows' lengths are put where the rows belong, from which come the offsets of the whole.
 *
 * One thread does all that, on a stream of each device. Kernels are launched on the stream that was borrowed last,
 * whose device is the thread's current one; streams are given back in the reverse order. */
#include "multi/fetch_rows_cuda.h"
#include "dcsr/device/prim_cuda.h"
#include "dcsr/store/cuda/gather_cuda.h"
#include "dcsr/view/view_data.h"
#include "multi/multi_data.h"
#include <dcsr/convert.h>

static const char doing[] = "fetching rows";

/* What is wanted of one part. */
typedef struct share {
    dcsr_context *context;
    dcsr_i_cuda_stream *stream;
    uint64_t first; /* the first row, from the first that is wanted of all */
    uint64_t *at;   /* the rows likewise, on the host; NULL: they follow the first */
    uint64_t n, nnz;
    /* In its device's memory: of the rows, one behind the other. What it took for itself: */
    const uint64_t *offsets;
    const uint32_t *cols;
    const char *values;
    uint32_t *own_list, *own_cols;
    uint64_t *own_offsets;
    char *own_values;
} share;

typedef struct fetching {
    dcsr_context *context; /* of who fetches */
    dcsr_multi_view *view;
    const dcsr_i_wanted_rows *wanted;
    size_t size; /* of a value */
    share share[DCSR_MAX_DEVICES];
} fetching;

/* The first place in an ascending list of a number that is not less. */
static uint64_t place_of(const uint64_t *list, uint64_t n, uint64_t number)
{
    uint64_t low = 0, high = n;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (list[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Which rows part k has of those that are wanted. */
static dcsr_status list_rows(fetching *f, uint64_t k)
{
    const dcsr_i_wanted_rows *w = f->wanted;
    const uint64_t begin = f->view->rows->begin[k], end = f->view->rows->begin[k + 1];
    share *s = &f->share[k];
    if (!w->list) {
        const uint64_t first = begin > w->begin ? begin : w->begin, last = end < w->end ? end : w->end;
        s->first = first - w->begin;
        s->n = last > first ? last - first : 0;
        return DCSR_OK;
    }
    const uint64_t first = place_of(w->list, w->n, begin), last = place_of(w->list, w->n, end);
    s->n = last - first;
    if (!s->n) return DCSR_OK;
    s->first = w->list[first] - w->begin;
    if (w->list[last - 1] - w->list[first] == s->n - 1) return DCSR_OK;
    s->at = dcsr_i_alloc(f->context, DCSR_I_SCRATCH, s->n, sizeof *s->at);
    if (!s->at) return DCSR_ERROR_OUT_OF_MEMORY;
    for (uint64_t i = 0; i < s->n; i++) s->at[i] = w->list[first + i] - w->begin;
    return DCSR_OK;
}

/* The rows' numbers in the part, on its device. */
static dcsr_status bring_list(const fetching *f, share *s, uint64_t begin)
{
    uint32_t *list = dcsr_i_alloc(f->context, DCSR_I_SCRATCH, s->n, sizeof *list);
    s->own_list = list ? dcsr_i_cuda_alloc(s->stream, DCSR_I_SCRATCH, s->n, sizeof *list) : NULL;
    dcsr_status status = s->own_list ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
    if (status == DCSR_OK) {
        const uint64_t shift = f->wanted->begin - begin; /* modulo 2^64 */
        for (uint64_t i = 0; i < s->n; i++) list[i] = (uint32_t)((s->at ? s->at[i] : s->first + i) + shift);
        dcsr_i_cuda_copy(s->stream, s->own_list, list, s->n * sizeof *list);
        status = dcsr_i_cuda_wait(s->stream, doing);
    }
    dcsr_i_free(f->context, DCSR_I_SCRATCH, list, s->n, sizeof *list);
    return status;
}

/* Puts the entries of the rows of a list, or of all, behind one another; what is put on the stream last is not waited
 * for. */
static dcsr_status gather(const fetching *f, share *s, const dcsr_i_cuda_rows *rows)
{
    dcsr_i_cuda_stream *stream = s->stream;
    s->offsets = s->own_offsets = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, s->n + 1, sizeof *s->own_offsets);
    if (!s->offsets) return DCSR_ERROR_OUT_OF_MEMORY;
    DCSR_TRY(dcsr_i_cuda_sum_lengths(stream, rows, s->own_list, s->n, s->own_offsets));
    DCSR_TRY(dcsr_i_cuda_read_back(stream, &s->nnz, s->offsets + s->n, sizeof s->nnz, doing));
    s->cols = s->own_cols = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, s->nnz, sizeof *s->own_cols);
    if (s->cols) s->values = s->own_values = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, s->nnz, f->size);
    if (!s->values) return DCSR_ERROR_OUT_OF_MEMORY;
    const dcsr_i_cuda_walk walk = {*rows, s->own_list, s->n, s->offsets};
    dcsr_i_cuda_gather(stream, &walk, s->nnz, NULL, s->own_cols, f->size ? s->own_values : NULL);
    return DCSR_OK;
}

/* Has part k's device bring together what is wanted of it. */
static dcsr_status take_out(fetching *f, uint64_t k)
{
    share *s = &f->share[k];
    const uint64_t begin = f->view->rows->begin[k];
    const dcsr_i_cuda_rows *rows = &dcsr_i_view_rows(f->view->part[k])->device;
    s->context = dcsr_i_view_context(f->view->part[k]);
    s->stream = dcsr_i_stream_borrow(s->context);
    if (!s->stream) return DCSR_ERROR_OUT_OF_MEMORY;
    if (s->n < rows->rows) DCSR_TRY(bring_list(f, s, begin));
    if (s->own_list || !rows->offsets) return gather(f, s, rows);
    s->nnz = rows->stored;
    s->offsets = rows->offsets;
    s->cols = rows->columns;
    s->values = rows->values;
    return DCSR_OK;
}

/* Arrays in this device's memory. */
typedef struct arrays {
    uint64_t rows, nnz;
    size_t size; /* of a value */
    uint64_t *offsets;
    uint32_t *cols;
    char *values;
} arrays;

static dcsr_status copy_lengths(const fetching *f, dcsr_i_cuda_stream *stream, const share *s,
                                const arrays *a)
{
    uint64_t *offsets = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, s->n + 1, sizeof *offsets),
             *at = offsets ? dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, s->at ? s->n : 0, sizeof *at) : NULL;
    if (at) {
        dcsr_i_cuda_copy_peer(stream, offsets, f->context->cuda, s->offsets, s->context->cuda,
                              (s->n + 1) * sizeof *offsets);
        if (s->at) dcsr_i_cuda_copy(stream, at, s->at, s->n * sizeof *at);
        dcsr_i_cuda_fetch_lengths(stream, a->offsets, offsets, s->at ? at : NULL, s->first, s->n);
    }
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, at, s->at ? s->n : 0, sizeof *at);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, offsets, s->n + 1, sizeof *offsets);
    return at ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
}

static dcsr_status copy_shares(const fetching *f, dcsr_i_cuda_stream *stream, const arrays *a)
{
    uint64_t to = 0;
    dcsr_i_cuda_fill(stream, a->offsets, 0, (a->rows + 1) * sizeof *a->offsets);
    for (uint64_t k = 0; k < f->view->rows->parts; k++) {
        const share *s = &f->share[k];
        if (!s->n) continue;
        dcsr_i_cuda_order(stream, s->stream);
        DCSR_TRY(copy_lengths(f, stream, s, a));
        dcsr_i_cuda_copy_peer(stream, a->cols + to, f->context->cuda, s->cols, s->context->cuda,
                              s->nnz * sizeof *a->cols);
        if (a->size)
            dcsr_i_cuda_copy_peer(stream, a->values + to * a->size, f->context->cuda, s->values,
                                  s->context->cuda, s->nnz * a->size);
        to += s->nnz;
    }
    return dcsr_i_cuda_scan_u64(stream, a->offsets, a->offsets, a->rows);
}

static dcsr_status make_matrix(dcsr_matrix **fetched, fetching *f, const dcsr_view_shape *shape,
                               const dcsr_matrix_options *options)
{
    dcsr_context *context = f->context;
    arrays a = {.rows = f->wanted->end - f->wanted->begin, .size = f->size};
    for (uint64_t k = 0; k < f->view->rows->parts; k++) a.nnz += f->share[k].nnz;
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(context);
    if (!stream) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    a.offsets = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, a.rows + 1, sizeof *a.offsets);
    a.cols = a.offsets ? dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, a.nnz, sizeof *a.cols) : NULL;
    a.values = a.cols ? dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, a.nnz, a.size) : NULL;
    if (a.values) {
        dcsr_status copied = copy_shares(f, stream, &a);
        status = dcsr_i_cuda_wait(stream, doing);
        if (copied != DCSR_OK) status = copied;
    }
    const dcsr_csr csr = {.rows = a.rows,
                          .cols = shape->cols,
                          .nnz = a.nnz,
                          .type = shape->type,
                          .offsets = a.offsets,
                          .col_indices = a.cols,
                          .values = a.size ? a.values : NULL};
    if (status == DCSR_OK)
        status = dcsr_matrix_from_csr_device(fetched, context, &csr, dcsr_i_cuda_handle(stream), options);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, a.values, a.nnz, a.size);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, a.cols, a.nnz, sizeof *a.cols);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, a.offsets, a.rows + 1, sizeof *a.offsets);
    dcsr_status waited = dcsr_i_cuda_wait(stream, doing);
    dcsr_i_stream_return(context, stream);
    return status == DCSR_OK ? waited : status;
}

/* All that was copied has been waited for. What a device has failed at meanwhile is returned. */
static dcsr_status close_share(const fetching *f, share *s)
{
    dcsr_status status = DCSR_OK;
    if (s->stream) {
        dcsr_i_cuda_free(s->stream, DCSR_I_SCRATCH, s->own_values, s->nnz, f->size);
        dcsr_i_cuda_free(s->stream, DCSR_I_SCRATCH, s->own_cols, s->nnz, sizeof *s->own_cols);
        dcsr_i_cuda_free(s->stream, DCSR_I_SCRATCH, s->own_offsets, s->n + 1, sizeof *s->own_offsets);
        dcsr_i_cuda_free(s->stream, DCSR_I_SCRATCH, s->own_list, s->n, sizeof *s->own_list);
        status = dcsr_i_cuda_wait(s->stream, doing);
        dcsr_i_stream_return(s->context, s->stream);
    }
    dcsr_i_free(f->context, DCSR_I_SCRATCH, s->at, s->n, sizeof *s->at);
    return status;
}

dcsr_status dcsr_i_cuda_fetch_rows(dcsr_matrix **fetched, dcsr_context *context, dcsr_multi_view *view,
                                   const dcsr_i_wanted_rows *wanted, const dcsr_matrix_options *options,
                                   uint64_t mine, uint64_t *bytes)
{
    fetching f = {.context = context, .view = view, .wanted = wanted};
    dcsr_view_shape shape;
    *fetched = NULL;
    DCSR_TRY(dcsr_view_get_shape(view->part[0], &shape));
    f.size = dcsr_type_size(shape.type);
    dcsr_status status = DCSR_OK;
    for (uint64_t k = 0; k < view->rows->parts && status == DCSR_OK; k++) {
        status = list_rows(&f, k);
        if (status == DCSR_OK && f.share[k].n) status = take_out(&f, k);
        if (status == DCSR_OK && k != mine) *bytes += f.share[k].nnz * (sizeof(uint32_t) + f.size);
    }
    if (status == DCSR_OK) status = make_matrix(fetched, &f, &shape, options);
    for (uint64_t k = view->rows->parts; k-- > 0;) {
        dcsr_status closed = close_share(&f, &f.share[k]);
        if (status == DCSR_OK) status = closed;
    }
    if (status != DCSR_OK) { /* also what waiting found out after it was made */
        dcsr_matrix_destroy(*fetched);
        *fetched = NULL;
    }
    return status;
}

dcsr_status dcsr_i_cuda_row_offsets(uint64_t *offsets, dcsr_view *part)
{
    const dcsr_i_cuda_rows *rows = &dcsr_i_view_rows(part)->device;
    dcsr_context *context = dcsr_i_view_context(part);
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(context);
    if (!stream) return DCSR_ERROR_OUT_OF_MEMORY;
    const size_t bytes = (rows->rows + 1) * sizeof *offsets;
    uint64_t *there = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, rows->rows + 1, sizeof *there);
    dcsr_status status =
        there ? dcsr_i_cuda_sum_lengths(stream, rows, NULL, rows->rows, there) : DCSR_ERROR_OUT_OF_MEMORY;
    if (status == DCSR_OK)
        status = dcsr_i_cuda_deliver(stream, offsets, there, bytes, context, "counting entries of rows");
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, there, rows->rows + 1, sizeof *there);
    dcsr_status waited = dcsr_i_cuda_wait(stream, "counting entries of rows");
    dcsr_i_stream_return(context, stream);
    return status == DCSR_OK ? waited : status;
}

/* fetch_rows_cuda.c: rows of a matrix that are on other GPUs, as a matrix on this one.
 *
 * The device that has rows takes out what is wanted of them, as a matrix of its own, unless that is all that it has.
 * Columns and values of all of these are copied behind one another, from GPU to GPU, and their lengths are put where
 * the rows belong, from which come the offsets of the whole. */
#include "multi/fetch_rows_cuda.h"
#include "dcsr/device/prim_cuda.h"
#include "dcsr/view/view_data.h"
#include "multi/multi_data.h"
#include <dcsr/convert.h>
#include <dcsr/extract.h>

/* What is wanted of one part. */
typedef struct share {
    const dcsr_context *context;
    dcsr_matrix *matrix;
    dcsr_view *view;
    dcsr_csr csr;   /* in its device's memory */
    uint64_t first; /* the first row, from the first that is wanted of all */
    uint64_t *at;   /* the rows likewise, on the host; NULL: they follow the first */
    uint64_t n;
} share;

typedef struct fetching {
    dcsr_context *context; /* of who fetches */
    dcsr_multi_view *view;
    const dcsr_i_wanted_rows *wanted;
    uint64_t col_begin, col_end;
    bool all_columns;
    uint64_t *cols; /* numbers of the columns, where they are not all */
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

static uint64_t *numbers(dcsr_context *context, uint64_t first, uint64_t n)
{
    uint64_t *made = dcsr_i_alloc(context, DCSR_I_SCRATCH, n, sizeof *made);
    for (uint64_t i = 0; made && i < n; i++) made[i] = first + i;
    return made;
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

/* A matrix of the rows, and columns, alone. */
static dcsr_status extract(fetching *f, share *s, dcsr_view *part, uint64_t begin, bool all_rows)
{
    dcsr_view_shape shape;
    DCSR_TRY(dcsr_view_get_shape(part, &shape));
    DCSR_TRY(
        dcsr_matrix_create(&s->matrix, shape.context, shape.type, s->n, f->col_end - f->col_begin, NULL));
    const dcsr_index_list cols = {f->cols, f->col_end - f->col_begin};
    uint64_t *own = all_rows ? NULL : numbers(f->context, f->wanted->begin + s->first - begin, s->n);
    if (!all_rows && !own) return DCSR_ERROR_OUT_OF_MEMORY;
    for (uint64_t i = 0; own && s->at && i < s->n; i++) own[i] = s->at[i] + f->wanted->begin - begin;
    const dcsr_index_list rows = {own, s->n};
    dcsr_status status = dcsr_matrix_extract(s->matrix, NULL, NULL, part, all_rows ? NULL : &rows,
                                             f->all_columns ? NULL : &cols, NULL);
    dcsr_i_free(f->context, DCSR_I_SCRATCH, own, s->n, sizeof *own);
    return status == DCSR_OK ? dcsr_view_create(&s->view, s->matrix, DCSR_LAYOUT_CSR, 0) : status;
}

/* Has part k's device bring together what is wanted of it. */
static dcsr_status take_out(fetching *f, uint64_t k)
{
    share *s = &f->share[k];
    dcsr_view *part = f->view->part[k];
    const uint64_t begin = f->view->rows->begin[k];
    const bool all_rows = s->n == f->view->rows->begin[k + 1] - begin;
    s->context = dcsr_i_view_context(part);
    const bool all = all_rows && f->all_columns;
    if (all && part->layout == DCSR_LAYOUT_CSR) /* which holds no version */
        DCSR_TRY(dcsr_view_share(&s->view, part));
    else if (all)
        DCSR_TRY(dcsr_i_view_again(&s->view, part, DCSR_LAYOUT_CSR, 0));
    else
        DCSR_TRY(extract(f, s, part, begin, all_rows));
    return dcsr_view_get_csr(s->view, &s->csr);
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
        dcsr_i_cuda_copy_peer(stream, offsets, f->context->cuda, s->csr.offsets, s->context->cuda,
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
        DCSR_TRY(copy_lengths(f, stream, s, a));
        if (!s->csr.nnz) continue;
        dcsr_i_cuda_copy_peer(stream, a->cols + to, f->context->cuda, s->csr.col_indices, s->context->cuda,
                              s->csr.nnz * sizeof *a->cols);
        if (a->size)
            dcsr_i_cuda_copy_peer(stream, a->values + to * a->size, f->context->cuda, s->csr.values,
                                  s->context->cuda, s->csr.nnz * a->size);
        to += s->csr.nnz;
    }
    return dcsr_i_cuda_scan_u64(stream, a->offsets, a->offsets, a->rows);
}

static dcsr_status make_matrix(dcsr_matrix **fetched, fetching *f, dcsr_type type)
{
    dcsr_context *context = f->context;
    arrays a = {.rows = f->wanted->end - f->wanted->begin, .size = dcsr_type_size(type)};
    for (uint64_t k = 0; k < f->view->rows->parts; k++) a.nnz += f->share[k].csr.nnz;
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(context);
    if (!stream) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    a.offsets = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, a.rows + 1, sizeof *a.offsets);
    a.cols = a.offsets ? dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, a.nnz, sizeof *a.cols) : NULL;
    a.values = a.cols ? dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, a.nnz, a.size) : NULL;
    if (a.values) {
        dcsr_status copied = copy_shares(f, stream, &a);
        status = dcsr_i_cuda_wait(stream, "fetching rows");
        if (copied != DCSR_OK) status = copied;
    }
    const dcsr_csr csr = {.rows = a.rows,
                          .cols = f->col_end - f->col_begin,
                          .nnz = a.nnz,
                          .type = type,
                          .offsets = a.offsets,
                          .col_indices = a.cols,
                          .values = a.size ? a.values : NULL};
    if (status == DCSR_OK)
        status = dcsr_matrix_from_csr_device(fetched, context, &csr, dcsr_i_cuda_handle(stream), NULL);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, a.values, a.nnz, a.size);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, a.cols, a.nnz, sizeof *a.cols);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, a.offsets, a.rows + 1, sizeof *a.offsets);
    dcsr_status waited = dcsr_i_cuda_wait(stream, "fetching rows");
    dcsr_i_stream_return(context, stream);
    return status == DCSR_OK ? waited : status;
}

static void close_shares(fetching *f)
{
    for (uint64_t k = 0; k < f->view->rows->parts; k++) {
        share *s = &f->share[k];
        dcsr_view_destroy(s->view);
        dcsr_matrix_destroy(s->matrix);
        dcsr_i_free(f->context, DCSR_I_SCRATCH, s->at, s->n, sizeof *s->at);
    }
    dcsr_i_free(f->context, DCSR_I_SCRATCH, f->cols, f->col_end - f->col_begin, sizeof *f->cols);
}

dcsr_status dcsr_i_cuda_fetch_rows(dcsr_matrix **fetched, dcsr_context *context, dcsr_multi_view *view,
                                   const dcsr_i_wanted_rows *wanted, uint64_t col_begin, uint64_t col_end,
                                   uint64_t mine, uint64_t *bytes)
{
    fetching f = {
        .context = context, .view = view, .wanted = wanted, .col_begin = col_begin, .col_end = col_end};
    dcsr_view_shape shape;
    *fetched = NULL;
    DCSR_TRY(dcsr_view_get_shape(view->part[0], &shape));
    f.all_columns = col_end - col_begin == shape.cols;
    dcsr_status status = DCSR_OK;
    if (!f.all_columns && !(f.cols = numbers(context, col_begin, col_end - col_begin)))
        status = DCSR_ERROR_OUT_OF_MEMORY;
    for (uint64_t k = 0; k < view->rows->parts && status == DCSR_OK; k++) {
        status = list_rows(&f, k);
        if (status == DCSR_OK && f.share[k].n) status = take_out(&f, k);
        if (status == DCSR_OK && k != mine)
            *bytes += f.share[k].csr.nnz * (sizeof(uint32_t) + dcsr_type_size(shape.type));
    }
    if (status == DCSR_OK) status = make_matrix(fetched, &f, shape.type);
    if (status != DCSR_OK) { /* also what waiting found out after it was made */
        dcsr_matrix_destroy(*fetched);
        *fetched = NULL;
    }
    close_shares(&f);
    return status;
}

/* fetch_rows_cuda.c: rows of a matrix that are on other GPUs, as a matrix on this one.
 *
 * The device that has rows takes out those that are wanted, as a matrix of its own, if they are not all that it has.
 * Columns and values of all of these are copied behind one another, from GPU to GPU; of their offsets the host makes
 * those of the whole. */
#include "multi/fetch_rows_cuda.h"
#include "dcsr/view/view_data.h"
#include "multi/multi_view.h"
#include <dcsr/convert.h>
#include <dcsr/extract.h>

/* What is wanted of one part. */
typedef struct share {
    const dcsr_context *context;
    dcsr_matrix *matrix;
    dcsr_view *view;
    dcsr_csr csr;           /* in its device's memory */
    uint64_t *at, *offsets; /* numbers of the rows, from the first that is wanted of all; on the host */
    uint64_t n;
} share;

typedef struct fetching {
    dcsr_context *context; /* of who fetches */
    dcsr_multi_view *view;
    const dcsr_i_wanted_rows *wanted;
    share share[DCSR_MAX_DEVICES];
    uint64_t *offsets, nnz; /* of what is made, on the host */
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

/* Numbers of the wanted rows that part k has. */
static dcsr_status list_rows(fetching *f, uint64_t k)
{
    const dcsr_i_wanted_rows *w = f->wanted;
    const uint64_t begin = f->view->rows->begin[k], end = f->view->rows->begin[k + 1];
    share *s = &f->share[k];
    uint64_t first, last;
    if (w->list) {
        first = place_of(w->list, w->n, begin);
        last = place_of(w->list, w->n, end);
    } else {
        first = begin > w->begin ? begin : w->begin;
        last = end < w->end ? end : w->end;
    }
    if (last <= first) return DCSR_OK;
    s->at = dcsr_i_alloc(f->context, DCSR_I_SCRATCH, last - first, sizeof *s->at);
    if (!s->at) return DCSR_ERROR_OUT_OF_MEMORY;
    s->n = last - first;
    for (uint64_t i = 0; i < s->n; i++) s->at[i] = (w->list ? w->list[first + i] : first + i) - w->begin;
    return DCSR_OK;
}

/* Has part k's device bring them together. */
static dcsr_status take_out(fetching *f, uint64_t k)
{
    share *s = &f->share[k];
    dcsr_view *part = f->view->part[k];
    const uint64_t begin = f->view->rows->begin[k];
    dcsr_context *there = dcsr_i_view_context(part);
    dcsr_view_shape shape;
    s->context = there;
    if (s->n == f->view->rows->begin[k + 1] - begin) {
        DCSR_TRY(dcsr_i_view_again(&s->view, part, DCSR_LAYOUT_CSR, 0));
    } else {
        DCSR_TRY(dcsr_view_get_shape(part, &shape));
        for (uint64_t i = 0; i < s->n; i++) s->at[i] += f->wanted->begin - begin; /* as the part counts */
        const dcsr_index_list rows = {s->at, s->n};
        DCSR_TRY(dcsr_matrix_create(&s->matrix, there, shape.type, s->n, shape.cols, NULL));
        DCSR_TRY(dcsr_matrix_extract(s->matrix, NULL, NULL, part, &rows, NULL, NULL));
        for (uint64_t i = 0; i < s->n; i++) s->at[i] -= f->wanted->begin - begin;
        DCSR_TRY(dcsr_view_create(&s->view, s->matrix, DCSR_LAYOUT_CSR, 0));
    }
    DCSR_TRY(dcsr_view_get_csr(s->view, &s->csr));
    s->offsets = dcsr_i_alloc(f->context, DCSR_I_SCRATCH, s->n + 1, sizeof *s->offsets);
    if (!s->offsets) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(there);
    if (!stream) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_status status = dcsr_i_cuda_deliver(stream, s->offsets, s->csr.offsets,
                                             (s->n + 1) * sizeof *s->offsets, there, "fetching rows");
    dcsr_i_stream_return(there, stream);
    return status;
}

static dcsr_status make_offsets(fetching *f)
{
    const uint64_t rows = f->wanted->end - f->wanted->begin;
    f->offsets = dcsr_i_calloc(f->context, DCSR_I_SCRATCH, rows + 1, sizeof *f->offsets);
    if (!f->offsets) return DCSR_ERROR_OUT_OF_MEMORY;
    for (uint64_t k = 0; k < f->view->rows->parts; k++) {
        const share *s = &f->share[k];
        for (uint64_t i = 0; i < s->n; i++) f->offsets[s->at[i] + 1] = s->offsets[i + 1] - s->offsets[i];
    }
    for (uint64_t i = 0; i < rows; i++) f->offsets[i + 1] += f->offsets[i];
    f->nnz = f->offsets[rows];
    return DCSR_OK;
}

/* Arrays in this device's memory. */
typedef struct arrays {
    uint64_t *offsets;
    uint32_t *cols;
    char *values;
} arrays;

static void copy_shares(const fetching *f, dcsr_i_cuda_stream *stream, const arrays *a, size_t size)
{
    uint64_t to = 0;
    for (uint64_t k = 0; k < f->view->rows->parts; k++) {
        const share *s = &f->share[k];
        const uint64_t n = s->n ? s->csr.nnz : 0;
        if (!n) continue;
        dcsr_i_cuda_copy_peer(stream, a->cols + to, f->context->cuda, s->csr.col_indices, s->context->cuda,
                              n * sizeof *a->cols);
        if (size)
            dcsr_i_cuda_copy_peer(stream, a->values + to * size, f->context->cuda, s->csr.values,
                                  s->context->cuda, n * size);
        to += n;
    }
}

static dcsr_status make_matrix(dcsr_matrix **fetched, fetching *f)
{
    dcsr_context *context = f->context;
    dcsr_view_shape shape;
    DCSR_TRY(dcsr_view_get_shape(f->view->part[0], &shape));
    const size_t size = dcsr_type_size(shape.type);
    const uint64_t rows = f->wanted->end - f->wanted->begin;
    arrays a = {NULL, NULL, NULL};
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(context);
    if (!stream) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    a.offsets = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, rows + 1, sizeof *a.offsets);
    a.cols = a.offsets ? dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, f->nnz, sizeof *a.cols) : NULL;
    a.values = a.cols ? dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, f->nnz, size) : NULL;
    if (a.values) {
        dcsr_i_cuda_copy(stream, a.offsets, f->offsets, (rows + 1) * sizeof *a.offsets);
        copy_shares(f, stream, &a, size);
        status = dcsr_i_cuda_wait(stream, "fetching rows");
    }
    const dcsr_csr csr = {.rows = rows,
                          .cols = shape.cols,
                          .nnz = f->nnz,
                          .type = shape.type,
                          .offsets = a.offsets,
                          .col_indices = a.cols,
                          .values = size ? a.values : NULL};
    if (status == DCSR_OK)
        status = dcsr_matrix_from_csr_device(fetched, context, &csr, dcsr_i_cuda_handle(stream), NULL);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, a.values, f->nnz, size);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, a.cols, f->nnz, sizeof *a.cols);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, a.offsets, rows + 1, sizeof *a.offsets);
    dcsr_status waited = dcsr_i_cuda_wait(stream, "fetching rows");
    dcsr_i_stream_return(context, stream);
    return status == DCSR_OK && waited != DCSR_OK ? waited : status;
}

static void close_shares(fetching *f)
{
    for (uint64_t k = 0; k < f->view->rows->parts; k++) {
        share *s = &f->share[k];
        dcsr_i_free(f->context, DCSR_I_SCRATCH, s->offsets, s->n + 1, sizeof *s->offsets);
        dcsr_view_destroy(s->view);
        dcsr_matrix_destroy(s->matrix);
        dcsr_i_free(f->context, DCSR_I_SCRATCH, s->at, s->n, sizeof *s->at);
    }
    dcsr_i_free(f->context, DCSR_I_SCRATCH, f->offsets, f->wanted->end - f->wanted->begin + 1,
                sizeof *f->offsets);
}

dcsr_status dcsr_i_cuda_fetch_rows(dcsr_matrix **fetched, dcsr_context *context, dcsr_multi_view *view,
                                   const dcsr_i_wanted_rows *wanted, uint64_t mine, uint64_t *bytes)
{
    fetching f = {.context = context, .view = view, .wanted = wanted};
    dcsr_status status = DCSR_OK;
    for (uint64_t k = 0; k < view->rows->parts && status == DCSR_OK; k++) {
        status = list_rows(&f, k);
        if (status == DCSR_OK && f.share[k].n) status = take_out(&f, k);
        if (status == DCSR_OK && f.share[k].n && k != mine)
            *bytes += f.share[k].csr.nnz * (sizeof(uint32_t) + dcsr_type_size(f.share[k].csr.type));
    }
    if (status == DCSR_OK) status = make_offsets(&f);
    if (status == DCSR_OK) status = make_matrix(fetched, &f);
    if (status != DCSR_OK) { /* what waiting found out after it was made */
        dcsr_matrix_destroy(*fetched);
        *fetched = NULL;
    }
    close_shares(&f);
    return status;
}

/* fetch_rows_cuda.c: rows of a matrix that are on other GPUs, as one CSR on this one.
 *
 *      who fetches                                   who has rows
 *      a bit for each row that is wanted
 *      their list; where each part's begin  ------>  its part of the list
 *                                                    lengths; entries behind one another
 *      offsets of all rows, columns, values <------
 *
 * All of it stays on the devices; the host learns how many rows are wanted of each part, and their entries' number.
 * What has all rows wanted needs no list. Own rows are put where they belong at once.
 *
 * One thread does all that, on a stream of each device, which it enters one at a time: kernels go to the device of the
 * one that it has entered. */
#include "multi/fetch_rows_cuda.h"
#include "dcsr/device/prim_cuda.h"
#include "dcsr/store/cuda/gather_cuda.h"
#include "dcsr/view/view_data.h"
#include "multi/exchange.h"
#include "multi/fetch_cuda.h"
#include "multi/multi_data.h"
#include <dcsr/convert.h>
#include <string.h>

static const char doing[] = "fetching rows";

/* What is wanted of one part. */
typedef struct share {
    dcsr_context *context;
    dcsr_i_cuda_stream *stream;
    dcsr_i_cuda_rows rows;
    uint64_t first; /* the first row, from the first that is wanted of all */
    uint64_t n, nnz;
    /* In its device's memory: the rows' numbers in the part, NULL if they follow the first; and, one row behind the
     * other, */
    uint32_t *list;
    uint64_t *offsets;
    uint32_t *cols;
    char *values;
} share;

typedef struct fetching {
    dcsr_context *context; /* of who fetches */
    dcsr_multi_view *view;
    uint64_t begin, end; /* of the rows that may be wanted */
    uint64_t mine;
    size_t size; /* of a value */
    dcsr_i_cuda_stream *stream;
    /* Where not all of them are: a list, in the memory of who fetches, and where in it each part's begin. */
    bool some;
    uint32_t *list;
    uint64_t listed, at[DCSR_MAX_DEVICES + 1];
    share share[DCSR_MAX_DEVICES];
    dcsr_i_csr *csr;
} fetching;

/* ---- Which rows ---- */

/* A bit for each column that entries of the view have. */
static dcsr_status mark(const fetching *f, dcsr_view *of, uint32_t *bits, uint64_t words)
{
    const dcsr_i_cuda_rows *rows = &dcsr_i_view_rows(of)->device;
    uint64_t *offsets = dcsr_i_cuda_alloc(f->stream, DCSR_I_SCRATCH, rows->rows + 1, sizeof *offsets);
    if (!offsets) return dcsr_i_no_memory();
    dcsr_i_cuda_fill(f->stream, bits, 0, words * sizeof *bits);
    const dcsr_i_cuda_walk walk = {*rows, NULL, rows->rows, offsets};
    const dcsr_status status = dcsr_i_cuda_sum_lengths(f->stream, rows, NULL, rows->rows, offsets);
    if (status == DCSR_OK) dcsr_i_cuda_fetch_mark(f->stream, &walk, rows->stored, bits);
    dcsr_i_cuda_free(f->stream, DCSR_I_SCRATCH, offsets, rows->rows + 1, sizeof *offsets);
    dcsr_i_view_was_read(of);
    return status;
}

/* The list, from bits and how many are set before each word. */
static dcsr_status list_bits(fetching *f, const uint32_t *bits, uint64_t words, const uint64_t *before)
{
    const dcsr_i_borders *borders = f->view->rows;
    const uint64_t count = borders->parts + 1;
    dcsr_i_cuda_fetch_ranks ranks = {.count = count};
    memcpy(ranks.of, borders->begin, count * sizeof *ranks.of);
    uint64_t *at = dcsr_i_cuda_alloc(f->stream, DCSR_I_SCRATCH, count, sizeof *at);
    if (!at) return dcsr_i_no_memory();
    dcsr_i_cuda_fetch_rank(f->stream, bits, before, &ranks, at);
    dcsr_status status = dcsr_i_cuda_read_back(f->stream, f->at, at, count * sizeof *at, doing);
    dcsr_i_cuda_free(f->stream, DCSR_I_SCRATCH, at, count, sizeof *at);
    DCSR_TRY(status);
    f->listed = f->at[borders->parts];
    f->list = dcsr_i_cuda_alloc(f->stream, DCSR_I_SCRATCH, f->listed, sizeof *f->list);
    if (!f->list) return dcsr_i_no_memory();
    dcsr_i_exchange_list_bits(f->stream, bits, words, before, f->list);
    return dcsr_i_cuda_wait(f->stream, doing); /* the owners' streams read it */
}

/* Lists the rows that are columns of entries of this view. */
static dcsr_status find_rows(fetching *f, dcsr_view *of)
{
    const uint64_t words = f->end / 32 + 1; /* so that there is one for the last border, too */
    uint32_t *bits = dcsr_i_cuda_alloc(f->stream, DCSR_I_SCRATCH, words, sizeof *bits),
             *counts = bits ? dcsr_i_cuda_alloc(f->stream, DCSR_I_SCRATCH, words, sizeof *counts) : NULL;
    uint64_t *before =
        counts ? dcsr_i_cuda_alloc(f->stream, DCSR_I_SCRATCH, words + 1, sizeof *before) : NULL;
    dcsr_status status = before ? mark(f, of, bits, words) : dcsr_i_no_memory();
    if (status == DCSR_OK) {
        dcsr_i_exchange_count_bits(f->stream, bits, words, counts);
        status = dcsr_i_cuda_scan_u32(f->stream, counts, before, words);
    }
    if (status == DCSR_OK) status = list_bits(f, bits, words, before);
    dcsr_i_cuda_free(f->stream, DCSR_I_SCRATCH, before, words + 1, sizeof *before);
    dcsr_i_cuda_free(f->stream, DCSR_I_SCRATCH, counts, words, sizeof *counts);
    dcsr_i_cuda_free(f->stream, DCSR_I_SCRATCH, bits, words, sizeof *bits);
    f->some = true;
    return status;
}

/* How many of them part k has. */
static void count_rows(fetching *f, uint64_t k)
{
    const uint64_t begin = f->view->rows->begin[k], end = f->view->rows->begin[k + 1];
    const uint64_t first = begin > f->begin ? begin : f->begin, last = end < f->end ? end : f->end;
    share *s = &f->share[k];
    s->context = dcsr_i_view_context(f->view->part[k]);
    s->rows = dcsr_i_view_rows(f->view->part[k])->device;
    s->first = first - f->begin;
    s->n = f->some ? f->at[k + 1] - f->at[k] : last > first ? last - first : 0;
}

/* ---- Who has them ---- */

/* The list of the rows by their numbers in the part, unless these are all it has. */
static dcsr_status bring_list(fetching *f, uint64_t k)
{
    share *s = &f->share[k];
    const uint64_t begin = f->view->rows->begin[k];
    if (s->n == s->rows.rows) return DCSR_OK;
    s->list = dcsr_i_cuda_alloc(s->stream, DCSR_I_SCRATCH, s->n, sizeof *s->list);
    if (!s->list) return dcsr_i_no_memory();
    if (f->some) {
        dcsr_i_cuda_copy_peer(s->stream, s->list, s->context->cuda, f->list + f->at[k], f->context->cuda,
                              s->n * sizeof *s->list);
        dcsr_i_cuda_fetch_shift(s->stream, s->list, s->n, (uint32_t)(0 - begin));
    } else {
        dcsr_i_cuda_fetch_count_up(s->stream, s->list, s->n, (uint32_t)(f->begin + s->first - begin));
    }
    return DCSR_OK;
}

/* Has part k's device sum up their lengths. */
static dcsr_status measure(fetching *f, uint64_t k)
{
    share *s = &f->share[k];
    s->stream = dcsr_i_stream_borrow(s->context);
    if (!s->stream) return dcsr_i_no_memory();
    dcsr_status status = bring_list(f, k);
    if (status == DCSR_OK) {
        s->offsets = dcsr_i_cuda_alloc(s->stream, DCSR_I_SCRATCH, s->n + 1, sizeof *s->offsets);
        status = s->offsets ? dcsr_i_cuda_sum_lengths(s->stream, &s->rows, s->list, s->n, s->offsets)
                            : dcsr_i_no_memory();
    }
    dcsr_i_cuda_step_out(s->stream);
    return status;
}

static dcsr_i_cuda_walk walk_of(const share *s)
{
    return (dcsr_i_cuda_walk){s->rows, s->list, s->n, s->offsets};
}

/* Has it put their entries behind one another; own ones wait. */
static dcsr_status gather(fetching *f, uint64_t k)
{
    share *s = &f->share[k];
    dcsr_i_cuda_enter(s->stream);
    dcsr_status status = dcsr_i_cuda_read_back(s->stream, &s->nnz, s->offsets + s->n, sizeof s->nnz, doing);
    if (status == DCSR_OK && k != f->mine) {
        const dcsr_i_cuda_walk walk = walk_of(s);
        s->cols = dcsr_i_cuda_alloc(s->stream, DCSR_I_SCRATCH, s->nnz, sizeof *s->cols);
        s->values = s->cols ? dcsr_i_cuda_alloc(s->stream, DCSR_I_SCRATCH, s->nnz, f->size) : NULL;
        if (s->values)
            dcsr_i_cuda_gather(s->stream, &walk, s->nnz, NULL, s->cols, f->size ? s->values : NULL);
        else
            status = dcsr_i_no_memory();
    }
    dcsr_i_cuda_step_out(s->stream);
    dcsr_i_view_was_read(f->view->part[k]);
    return status;
}

/* ---- Who fetches ---- */

/* What has been made is freed with the CSR. */
static dcsr_status open_csr(fetching *f, const dcsr_view_shape *shape)
{
    dcsr_i_csr *csr = f->csr = dcsr_i_calloc(f->context, DCSR_I_MATRIX, 1, sizeof *csr);
    if (!csr) return dcsr_i_no_memory();
    atomic_init(&csr->references, 1);
    csr->context = f->context;
    csr->engine = f->view->part[0]->matrix->engine;
    csr->type = shape->type;
    csr->value_size = f->size;
    csr->rows = f->end - f->begin;
    csr->cols = shape->cols;
    for (uint64_t k = 0; k < f->view->rows->parts; k++) csr->nnz += f->share[k].nnz;
    csr->offsets = dcsr_i_cuda_alloc(f->stream, DCSR_I_MATRIX, csr->rows + 1, sizeof *csr->offsets);
    if (csr->offsets)
        csr->columns = dcsr_i_cuda_alloc(f->stream, DCSR_I_MATRIX, csr->nnz, sizeof *csr->columns);
    if (csr->columns && f->size) csr->values = dcsr_i_cuda_alloc(f->stream, DCSR_I_MATRIX, csr->nnz, f->size);
    return csr->columns && (csr->values || !f->size) ? DCSR_OK : dcsr_i_no_memory();
}

static dcsr_status copy_lengths(const fetching *f, uint64_t k)
{
    const share *s = &f->share[k];
    uint64_t *offsets = dcsr_i_cuda_alloc(f->stream, DCSR_I_SCRATCH, s->n + 1, sizeof *offsets);
    if (!offsets) return dcsr_i_no_memory();
    dcsr_i_cuda_copy_peer(f->stream, offsets, f->context->cuda, s->offsets, s->context->cuda,
                          (s->n + 1) * sizeof *offsets);
    dcsr_i_cuda_fetch_lengths(f->stream, f->csr->offsets, offsets, f->some ? f->list + f->at[k] : NULL,
                              f->some ? 0 - f->begin : s->first, s->n);
    dcsr_i_cuda_free(f->stream, DCSR_I_SCRATCH, offsets, s->n + 1, sizeof *offsets);
    return DCSR_OK;
}

static void copy_entries(const fetching *f, uint64_t k, uint64_t to)
{
    const share *s = &f->share[k];
    const dcsr_i_csr *csr = f->csr;
    char *values = csr->values ? (char *)csr->values + to * f->size : NULL;
    if (k == f->mine) {
        const dcsr_i_cuda_walk walk = walk_of(s);
        dcsr_i_cuda_gather(f->stream, &walk, s->nnz, NULL, csr->columns + to, values);
        return;
    }
    dcsr_i_cuda_copy_peer(f->stream, csr->columns + to, f->context->cuda, s->cols, s->context->cuda,
                          s->nnz * sizeof *s->cols);
    if (values)
        dcsr_i_cuda_copy_peer(f->stream, values, f->context->cuda, s->values, s->context->cuda,
                              s->nnz * f->size);
}

static dcsr_status copy_shares(const fetching *f)
{
    const dcsr_i_csr *csr = f->csr;
    uint64_t to = 0;
    dcsr_i_cuda_fill(f->stream, csr->offsets, 0, (csr->rows + 1) * sizeof *csr->offsets);
    for (uint64_t k = 0; k < f->view->rows->parts; k++) {
        const share *s = &f->share[k];
        if (!s->n) continue;
        dcsr_i_cuda_order(f->stream, s->stream);
        DCSR_TRY(copy_lengths(f, k));
        copy_entries(f, k, to);
        to += s->nnz;
    }
    return dcsr_i_cuda_scan_u64(f->stream, csr->offsets, csr->offsets, csr->rows);
}

/* ---- The whole ---- */

/* All that was copied has been waited for. What a device has failed at meanwhile is returned. */
static dcsr_status close_share(const fetching *f, share *s)
{
    if (!s->stream) return DCSR_OK;
    dcsr_i_cuda_enter(s->stream);
    dcsr_i_cuda_free(s->stream, DCSR_I_SCRATCH, s->values, s->nnz, f->size);
    dcsr_i_cuda_free(s->stream, DCSR_I_SCRATCH, s->cols, s->nnz, sizeof *s->cols);
    dcsr_i_cuda_free(s->stream, DCSR_I_SCRATCH, s->offsets, s->n + 1, sizeof *s->offsets);
    dcsr_i_cuda_free(s->stream, DCSR_I_SCRATCH, s->list, s->n, sizeof *s->list);
    const dcsr_status status = dcsr_i_cuda_wait(s->stream, doing);
    dcsr_i_stream_return(s->context, s->stream);
    return status;
}

static dcsr_status fetch(fetching *f, dcsr_view *of)
{
    const uint64_t parts = f->view->rows->parts;
    dcsr_view_shape shape;
    DCSR_TRY(dcsr_view_get_shape(f->view->part[0], &shape));
    f->stream = dcsr_i_stream_borrow(f->context);
    if (!f->stream) return dcsr_i_no_memory();
    dcsr_status status = of ? find_rows(f, of) : DCSR_OK;
    dcsr_i_cuda_step_out(f->stream);
    for (uint64_t k = 0; k < parts && status == DCSR_OK; k++) {
        count_rows(f, k);
        if (f->share[k].n) status = measure(f, k);
    }
    for (uint64_t k = 0; k < parts && status == DCSR_OK; k++)
        if (f->share[k].n) status = gather(f, k);
    dcsr_i_cuda_enter(f->stream);
    if (status == DCSR_OK) status = open_csr(f, &shape);
    if (status == DCSR_OK) status = copy_shares(f);
    return status;
}

/* The rows as a CSR, which is released by the caller; on failure NULL. */
static dcsr_status run(fetching *f, dcsr_view *of, uint64_t *bytes)
{
    f->size = dcsr_type_size(dcsr_i_view_rows(f->view->part[0])->type);
    dcsr_status status = fetch(f, of);
    dcsr_status closed = f->stream ? dcsr_i_cuda_wait(f->stream, doing) : DCSR_OK;
    if (status == DCSR_OK) status = closed;
    for (uint64_t k = 0; k < f->view->rows->parts; k++) {
        if (k != f->mine) *bytes += f->share[k].nnz * (sizeof(uint32_t) + f->size);
        closed = close_share(f, &f->share[k]);
        if (status == DCSR_OK) status = closed;
    }
    if (f->stream) {
        dcsr_i_cuda_free(f->stream, DCSR_I_SCRATCH, f->list, f->listed, sizeof *f->list);
        dcsr_i_stream_return(f->context, f->stream);
    }
    if (status == DCSR_OK) return DCSR_OK;
    if (f->csr) dcsr_i_csr_release(f->csr);
    f->csr = NULL;
    return status;
}

dcsr_status dcsr_i_cuda_fetch_rows(dcsr_matrix **fetched, dcsr_context *context, dcsr_multi_view *view,
                                   const dcsr_i_wanted_rows *wanted, const dcsr_matrix_options *options,
                                   uint64_t mine, uint64_t *bytes)
{
    fetching f = {.context = context, .view = view, .begin = wanted->begin, .end = wanted->end, .mine = mine};
    *fetched = NULL;
    DCSR_TRY(run(&f, NULL, bytes));
    const dcsr_csr csr = {f.csr->rows,    f.csr->cols,    f.csr->nnz,   f.csr->type,
                          f.csr->offsets, f.csr->columns, f.csr->values};
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(context);
    dcsr_status status =
        stream ? dcsr_matrix_from_csr_device(fetched, context, &csr, dcsr_i_cuda_handle(stream), options)
               : dcsr_i_no_memory();
    dcsr_i_stream_return(context, stream);
    dcsr_i_csr_release(f.csr);
    return status;
}

dcsr_status dcsr_i_cuda_fetch_view(dcsr_view **fetched, dcsr_multi_view *view, uint64_t begin, uint64_t end,
                                   dcsr_view *of, uint64_t mine, uint64_t *bytes)
{
    dcsr_matrix *like = view->part[mine]->matrix;
    fetching f = {.context = like->context, .view = view, .begin = begin, .end = end, .mine = mine};
    *fetched = NULL;
    DCSR_TRY(run(&f, of, bytes));
    return dcsr_i_view_of_csr(fetched, f.csr, like);
}

dcsr_status dcsr_i_cuda_row_offsets(uint64_t *offsets, dcsr_view *part)
{
    const dcsr_i_cuda_rows *rows = &dcsr_i_view_rows(part)->device;
    dcsr_context *context = dcsr_i_view_context(part);
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(context);
    if (!stream) return dcsr_i_no_memory();
    const size_t bytes = (rows->rows + 1) * sizeof *offsets;
    uint64_t *there = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, rows->rows + 1, sizeof *there);
    dcsr_status status =
        there ? dcsr_i_cuda_sum_lengths(stream, rows, NULL, rows->rows, there) : dcsr_i_no_memory();
    if (status == DCSR_OK)
        status = dcsr_i_cuda_deliver(stream, offsets, there, bytes, context, "counting entries of rows");
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, there, rows->rows + 1, sizeof *there);
    dcsr_status waited = dcsr_i_cuda_wait(stream, "counting entries of rows");
    dcsr_i_stream_return(context, stream);
    return status == DCSR_OK ? waited : status;
}

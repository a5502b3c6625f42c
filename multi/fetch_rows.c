/* fetch_rows.c: rows of a partitioned matrix that are on other devices, as a matrix on one.
 *
 * Devices on the cpu read each other's rows where they are; GPUs copy from one another (fetch_rows_cuda.c). Where rows
 * hold entries more than once, or come from a GPU to the cpu, they come by way of the copy in host memory that each
 * part's view makes once. */
#include "dcsr/base/search.h"
#include "dcsr/base/threads.h"
#include "dcsr/view/view_data.h"
#include "multi/fetch_rows_cuda.h"
#include "multi/multi_data.h"
#include <dcsr/convert.h>

dcsr_status dcsr_i_buffer_rows(dcsr_i_csr_buffer *buffer, dcsr_context *context, dcsr_type type,
                               uint64_t rows)
{
    *buffer = (dcsr_i_csr_buffer){.context = context, .type = type, .rows = rows};
    buffer->offsets = dcsr_i_calloc(context, DCSR_I_SCRATCH, rows + 1, sizeof *buffer->offsets);
    return buffer->offsets ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
}

dcsr_status dcsr_i_buffer_entries(dcsr_i_csr_buffer *buffer)
{
    for (uint64_t i = 0; i < buffer->rows; i++) buffer->offsets[i + 1] += buffer->offsets[i];
    buffer->nnz = buffer->offsets[buffer->rows];
    buffer->cols = dcsr_i_alloc(buffer->context, DCSR_I_SCRATCH, buffer->nnz, sizeof *buffer->cols);
    if (!buffer->cols) return DCSR_ERROR_OUT_OF_MEMORY;
    buffer->values = dcsr_i_alloc(buffer->context, DCSR_I_SCRATCH, buffer->nnz, dcsr_type_size(buffer->type));
    return buffer->values ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
}

dcsr_status dcsr_i_buffer_to_matrix(dcsr_matrix **matrix, const dcsr_i_csr_buffer *buffer, uint64_t cols,
                                    const dcsr_matrix_options *options)
{
    const dcsr_csr csr = {.rows = buffer->rows,
                          .cols = cols,
                          .nnz = buffer->nnz,
                          .type = buffer->type,
                          .offsets = buffer->offsets,
                          .col_indices = buffer->cols,
                          .values = dcsr_type_size(buffer->type) ? buffer->values : NULL};
    return dcsr_matrix_from_csr(matrix, buffer->context, &csr, options);
}

void dcsr_i_buffer_free(dcsr_i_csr_buffer *buffer)
{
    dcsr_i_free(buffer->context, DCSR_I_SCRATCH, buffer->values, buffer->nnz, dcsr_type_size(buffer->type));
    dcsr_i_free(buffer->context, DCSR_I_SCRATCH, buffer->cols, buffer->nnz, sizeof *buffer->cols);
    dcsr_i_free(buffer->context, DCSR_I_SCRATCH, buffer->offsets, buffer->rows + 1, sizeof *buffer->offsets);
    *buffer = (dcsr_i_csr_buffer){0};
}

/* ---- Fetching ---- */

typedef struct fetching {
    const dcsr_i_borders *borders;
    const dcsr_i_rows *rows[DCSR_MAX_DEVICES]; /* of the parts that have any that are wanted */
    dcsr_i_wanted_rows wanted;
    dcsr_i_csr_buffer buffer;
} fetching;

static inline uint64_t wanted_row(const fetching *f, uint64_t i)
{
    return f->wanted.list ? f->wanted.list[i] : f->wanted.begin + i;
}

/* The first place in the list of a row that is not before this one. */
static uint64_t place_of(const fetching *f, uint64_t row)
{
    const dcsr_i_wanted_rows *w = &f->wanted;
    if (w->list) return dcsr_i_keys_below(w->list, w->n, row);
    return row <= w->begin ? 0 : row >= w->end ? w->n : row - w->begin;
}

static dcsr_status open_parts(fetching *f, dcsr_multi_view *view)
{
    const uint64_t *begin = f->borders->begin;
    for (uint64_t k = 0; k < f->borders->parts; k++)
        if (place_of(f, begin[k]) < place_of(f, begin[k + 1]))
            DCSR_TRY(dcsr_i_view_host_rows(&f->rows[k], view->part[k]));
    return DCSR_OK;
}

/* Lengths of the rows, each behind its place; gives the entries that device `mine` does not have. */
static uint64_t measure(fetching *f, uint64_t mine, int threads)
{
    uint64_t foreign = 0;
#pragma omp parallel for num_threads(threads) if (threads > 1) reduction(+ : foreign)
    for (uint64_t i = 0; i < f->wanted.n; i++) {
        const uint64_t row = wanted_row(f, i), k = dcsr_i_owner(f->borders, row);
        const uint64_t length = dcsr_i_rows_length(f->rows[k], row - f->borders->begin[k]);
        f->buffer.offsets[row - f->wanted.begin + 1] = length;
        if (k != mine) foreign += length;
    }
    return foreign;
}

static void copy(fetching *f, int threads)
{
    const size_t size = dcsr_type_size(f->buffer.type);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(dynamic, 256)
    for (uint64_t i = 0; i < f->wanted.n; i++) {
        const uint64_t row = wanted_row(f, i), k = dcsr_i_owner(f->borders, row);
        const dcsr_i_rows *rows = f->rows[k];
        dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
        const int count = dcsr_i_rows_pieces(rows, row - f->borders->begin[k], pieces);
        uint64_t to = f->buffer.offsets[row - f->wanted.begin];
        for (int p = 0; p < count; p++) {
            const uint64_t from = pieces[p].begin, n = pieces[p].length;
            memcpy(f->buffer.cols + to, rows->columns + from, n * sizeof *f->buffer.cols);
            if (size)
                memcpy(f->buffer.values + to * size, (const char *)rows->values + from * size, n * size);
            to += n;
        }
    }
}

static dcsr_status (*const fetch_on_gpus)(dcsr_matrix **, dcsr_context *, dcsr_multi_view *,
                                          const dcsr_i_wanted_rows *, const dcsr_matrix_options *, uint64_t,
                                          uint64_t *) = DCSR_I_IN_CUDA(dcsr_i_cuda_fetch_rows);

bool dcsr_i_multi_goes_by_gpus(const dcsr_multi_view *view)
{
    dcsr_view *part = view->part[0];
    dcsr_view_shape shape;
    return fetch_on_gpus && dcsr_view_get_shape(part, &shape) == DCSR_OK &&
           shape.device == DCSR_DEVICE_CUDA && shape.policy != DCSR_POLICY_KEEP &&
           !(part->flags & DCSR_VIEW_DUPLICATES);
}

dcsr_status dcsr_i_multi_fetch_rows(dcsr_matrix **fetched, dcsr_context *context, dcsr_multi_view *view,
                                    const dcsr_i_wanted_rows *wanted, const dcsr_matrix_options *options,
                                    uint64_t mine, uint64_t *bytes)
{
    fetching f = {.borders = view->rows, .wanted = *wanted};
    dcsr_view_shape shape;
    *fetched = NULL;
    DCSR_TRY(dcsr_view_get_shape(view->part[0], &shape));
    /* What a row holds more than once is combined, or kept, as where it comes from. */
    const dcsr_matrix_options alike = {.policy = shape.policy};
    if (!options) options = &alike;
    if (context->cuda && !wanted->list && dcsr_i_multi_goes_by_gpus(view))
        return fetch_on_gpus(fetched, context, view, wanted, options, mine, bytes);
    if (!f.wanted.list) f.wanted.n = f.wanted.end - f.wanted.begin;
    dcsr_status status = open_parts(&f, view);
    if (status == DCSR_OK)
        status = dcsr_i_buffer_rows(&f.buffer, context, shape.type, f.wanted.end - f.wanted.begin);
    if (status == DCSR_OK) {
        const int threads = dcsr_i_threads(context, f.wanted.n);
        const uint64_t foreign = measure(&f, mine, threads);
        *bytes += foreign * (sizeof(uint32_t) + dcsr_type_size(shape.type));
        status = dcsr_i_buffer_entries(&f.buffer);
        if (status == DCSR_OK) copy(&f, dcsr_i_threads(context, f.buffer.nnz));
    }
    if (status == DCSR_OK) status = dcsr_i_buffer_to_matrix(fetched, &f.buffer, shape.cols, options);
    dcsr_i_buffer_free(&f.buffer);
    return status;
}

/* ---- All of it ---- */

dcsr_status dcsr_multi_view_to_matrix(dcsr_matrix **matrix, dcsr_context *context, dcsr_multi_view *view,
                                      const dcsr_matrix_options *options)
{
    uint64_t bytes = 0;
    if (!matrix)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "dcsr_multi_view_to_matrix: matrix is NULL; give it a place");
    *matrix = NULL;
    if (!view)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "dcsr_multi_view_to_matrix: the view is NULL; create one first");
    DCSR_TRY(dcsr_i_multi_check(view->devices));
    DCSR_TRY(dcsr_i_context_check(context));
    const dcsr_i_wanted_rows all = {.end = dcsr_i_borders_end(view->rows)};
    return dcsr_i_multi_fetch_rows(matrix, context, view, &all, options, DCSR_MAX_DEVICES, &bytes);
}

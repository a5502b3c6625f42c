/* csc_cuda.c: the transpose of what a view on a device shows, made there. */
#include "dcsr/csc_cuda.h"
#include "dcsr/prim_cuda.h"
#include "dcsr/store_cuda.h"
#include "dcsr/viewdata.h"

/* Temporary memory of a transposition. */
typedef struct turning {
    dcsr_cuda_stream *stream;
    uint64_t rows, entries;
    uint64_t *offsets, *keys, *keys_spare, *words, *words_spare;
} turning;

static int bits_for(uint64_t count)
{
    return count > 1 ? 64 - __builtin_clzll(count - 1) : 0;
}

static dcsr_status open_turning(turning *t, bool values)
{
    t->offsets = dcsr_cuda_alloc(t->stream, DCSR_I_SCRATCH, t->rows + 1, sizeof *t->offsets);
    t->keys = dcsr_cuda_alloc(t->stream, DCSR_I_SCRATCH, t->entries, sizeof *t->keys);
    t->keys_spare = dcsr_cuda_alloc(t->stream, DCSR_I_SCRATCH, t->entries, sizeof *t->keys_spare);
    if (values) t->words = dcsr_cuda_alloc(t->stream, DCSR_I_SCRATCH, t->entries, sizeof *t->words);
    if (values)
        t->words_spare = dcsr_cuda_alloc(t->stream, DCSR_I_SCRATCH, t->entries, sizeof *t->words_spare);
    bool all = t->offsets && t->keys && t->keys_spare && (!values || (t->words && t->words_spare));
    return all ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
}

static void close_turning(turning *t)
{
    dcsr_cuda_free(t->stream, DCSR_I_SCRATCH, t->words_spare, t->entries, sizeof *t->words_spare);
    dcsr_cuda_free(t->stream, DCSR_I_SCRATCH, t->words, t->entries, sizeof *t->words);
    dcsr_cuda_free(t->stream, DCSR_I_SCRATCH, t->keys_spare, t->entries, sizeof *t->keys_spare);
    dcsr_cuda_free(t->stream, DCSR_I_SCRATCH, t->keys, t->entries, sizeof *t->keys);
    dcsr_cuda_free(t->stream, DCSR_I_SCRATCH, t->offsets, t->rows + 1, sizeof *t->offsets);
}

/* Puts the work that fills the arrays of csc onto the stream. */
static dcsr_status turn(dcsr_i_csr *csc, turning *t, const dcsr_cuda_rows *rows)
{
    int row_bits = bits_for(rows->rows), column_bits = bits_for(rows->cols);
    DCSR_TRY(open_turning(t, csc->value_size != 0));
    DCSR_TRY(dcsr_cuda_sum_lengths(t->stream, rows, NULL, rows->rows, t->offsets));
    dcsr_cuda_walk walk = {*rows, NULL, rows->rows, t->offsets};
    dcsr_cuda_turn(t->stream, &walk, t->entries, row_bits, t->keys, t->words);
    /* The sort is stable, and rows ascend already. */
    if (column_bits)
        DCSR_TRY(dcsr_cuda_sort(t->stream, &t->keys, &t->keys_spare, t->words ? &t->words : NULL,
                                t->words ? &t->words_spare : NULL, t->entries, row_bits,
                                row_bits + column_bits));
    dcsr_cuda_write_columns(t->stream, t->keys, t->words, t->entries, row_bits, rows->cols, csc->offsets,
                            csc->columns, csc->values, (uint32_t)csc->value_size);
    return DCSR_OK;
}

static dcsr_status fill(dcsr_i_csr *csc, const dcsr_cuda_rows *rows)
{
    dcsr_cuda_stream *stream = dcsr_i_stream_borrow(csc->context);
    if (!stream) return DCSR_ERROR_OUT_OF_MEMORY;
    turning t = {.stream = stream, .rows = rows->rows, .entries = rows->stored};
    csc->offsets = dcsr_cuda_alloc(stream, DCSR_I_MATRIX, csc->rows + 1, sizeof *csc->offsets);
    if (csc->offsets) csc->columns = dcsr_cuda_alloc(stream, DCSR_I_MATRIX, csc->nnz, sizeof *csc->columns);
    if (csc->columns && csc->value_size)
        csc->values = dcsr_cuda_alloc(stream, DCSR_I_MATRIX, csc->nnz, csc->value_size);
    bool all = csc->columns && (csc->values || !csc->value_size);
    dcsr_status status = all ? turn(csc, &t, rows) : DCSR_ERROR_OUT_OF_MEMORY;
    close_turning(&t);
    dcsr_status waited = dcsr_cuda_wait(stream, "transposing a matrix");
    dcsr_i_stream_return(csc->context, stream);
    return status == DCSR_OK ? waited : status;
}

/* Under the view's lock. */
static dcsr_status make(dcsr_view *view)
{
    const dcsr_i_rows *rows = &view->rows;
    dcsr_i_csr *made = dcsr_i_calloc(view->context, DCSR_I_MATRIX, 1, sizeof *made);
    if (!made) return DCSR_ERROR_OUT_OF_MEMORY;
    *made = (dcsr_i_csr){.context = view->context,
                         .engine = &dcsr_cuda_engine,
                         .version = view->version,
                         .flags = view->flags,
                         .type = rows->type,
                         .rows = rows->cols,
                         .cols = rows->rows,
                         .nnz = rows->device.stored,
                         .value_size = rows->device.value_size};
    atomic_init(&made->references, 1);
    dcsr_status status = fill(made, &rows->device);
    if (status == DCSR_OK)
        view->csc = made;
    else
        dcsr_i_csr_release(made);
    return status;
}

dcsr_status dcsr_cuda_view_transposed(dcsr_cuda_rows *rows, dcsr_view *view)
{
    pthread_mutex_lock(&view->lock);
    bool makes = !view->csc;
    dcsr_status status = makes ? make(view) : DCSR_OK;
    if (status == DCSR_OK) *rows = dcsr_cuda_rows_of_csr(view->csc).device;
    pthread_mutex_unlock(&view->lock);
    if (status == DCSR_OK && makes) dcsr_i_view_was_read(view);
    return status;
}

bool dcsr_cuda_view_transpose_is_ready(const dcsr_view *view)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)&view->lock;
    pthread_mutex_lock(lock);
    bool ready = view->csc != NULL;
    pthread_mutex_unlock(lock);
    return ready;
}

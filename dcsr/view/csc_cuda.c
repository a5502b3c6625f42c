/* csc_cuda.c: the transpose of what a view on a device shows, made there. */
#include "dcsr/view/csc_cuda.h"
#include "dcsr/store/cuda/keys_cuda.h"
#include "dcsr/device/prim_cuda.h"
#include "dcsr/store/cuda/store_cuda.h"
#include "dcsr/store/maintained_transpose.h"
#include "dcsr/view/view_data.h"

/* Temporary memory of a transposition. */
typedef struct turning {
    dcsr_i_cuda_stream *stream;
    uint64_t entries;
    uint64_t *keys, *keys_spare, *words, *words_spare;
} turning;

/* What sorting needs beside the keys and words that are there. */
static dcsr_status take_spare(turning *t)
{
    t->keys_spare = dcsr_i_cuda_alloc(t->stream, DCSR_I_SCRATCH, t->entries, sizeof *t->keys_spare);
    if (t->words)
        t->words_spare = dcsr_i_cuda_alloc(t->stream, DCSR_I_SCRATCH, t->entries, sizeof *t->words_spare);
    return t->keys_spare && (t->words_spare || !t->words) ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
}

static void close_turning(turning *t)
{
    dcsr_i_cuda_free(t->stream, DCSR_I_SCRATCH, t->words_spare, t->entries, sizeof *t->words_spare);
    dcsr_i_cuda_free(t->stream, DCSR_I_SCRATCH, t->words, t->entries, sizeof *t->words);
    dcsr_i_cuda_free(t->stream, DCSR_I_SCRATCH, t->keys_spare, t->entries, sizeof *t->keys_spare);
    dcsr_i_cuda_free(t->stream, DCSR_I_SCRATCH, t->keys, t->entries, sizeof *t->keys);
}

/* Puts the work that fills the arrays of csc onto the stream. */
static dcsr_status turn(dcsr_i_csr *csc, turning *t, const dcsr_i_cuda_rows *rows)
{
    int row_bits = dcsr_i_bits_for(rows->rows), column_bits = dcsr_i_bits_for(rows->cols);
    DCSR_TRY(dcsr_i_cuda_turn_rows(t->stream, rows, row_bits, &t->keys, &t->words));
    DCSR_TRY(take_spare(t));
    /* The sort is stable, and rows ascend already. */
    if (column_bits)
        DCSR_TRY(dcsr_i_cuda_sort(t->stream, &t->keys, &t->keys_spare, t->words ? &t->words : NULL,
                                  t->words ? &t->words_spare : NULL, t->entries, row_bits,
                                  row_bits + column_bits));
    dcsr_i_cuda_find_begins(t->stream, t->keys, t->entries, row_bits, rows->cols, csc->offsets);
    dcsr_i_cuda_take_low(t->stream, t->keys, t->entries, row_bits, csc->columns);
    if (t->words) dcsr_i_cuda_narrow(t->stream, t->words, t->entries, csc->values, (uint32_t)csc->value_size);
    return DCSR_OK;
}

static dcsr_status fill(dcsr_i_csr *csc, const dcsr_i_cuda_rows *rows)
{
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(csc->context);
    if (!stream) return DCSR_ERROR_OUT_OF_MEMORY;
    turning t = {.stream = stream, .entries = rows->stored};
    csc->offsets = dcsr_i_cuda_alloc(stream, DCSR_I_MATRIX, csc->rows + 1, sizeof *csc->offsets);
    if (csc->offsets) csc->columns = dcsr_i_cuda_alloc(stream, DCSR_I_MATRIX, csc->nnz, sizeof *csc->columns);
    if (csc->columns && csc->value_size)
        csc->values = dcsr_i_cuda_alloc(stream, DCSR_I_MATRIX, csc->nnz, csc->value_size);
    bool all = csc->columns && (csc->values || !csc->value_size);
    dcsr_status status = all ? turn(csc, &t, rows) : DCSR_ERROR_OUT_OF_MEMORY;
    close_turning(&t);
    dcsr_status waited = dcsr_i_cuda_wait(stream, "transposing a matrix");
    dcsr_i_stream_return(csc->context, stream);
    return status == DCSR_OK ? waited : status;
}

dcsr_status dcsr_i_cuda_csc_create(dcsr_i_csr **csc, dcsr_context *context, const dcsr_i_rows *rows,
                                   uint64_t version)
{
    dcsr_i_csr *made = dcsr_i_calloc(context, DCSR_I_MATRIX, 1, sizeof *made);
    *csc = NULL;
    if (!made) return DCSR_ERROR_OUT_OF_MEMORY;
    *made = (dcsr_i_csr){.context = context,
                         .engine = &dcsr_i_cuda_engine,
                         .version = version,
                         .type = rows->type,
                         .rows = rows->cols,
                         .cols = rows->rows,
                         .nnz = rows->device.stored,
                         .value_size = rows->device.value_size};
    atomic_init(&made->references, 1);
    dcsr_status status = fill(made, &rows->device);
    if (status == DCSR_OK)
        *csc = made;
    else
        dcsr_i_csr_release(made);
    return status;
}

dcsr_status dcsr_i_cuda_view_transposed(dcsr_i_cuda_rows *rows, dcsr_view *view)
{
    dcsr_i_rows found;
    dcsr_status status = DCSR_OK;
    pthread_mutex_lock(&view->lock);
    const bool of_twin = view->twin && !view->form[DCSR_I_TRANSPOSED].csr,
               makes = !view->twin && !view->form[DCSR_I_TRANSPOSED].csr;
    if (of_twin) status = dcsr_i_view_twin_rows(&found, view);
    if (makes) status = dcsr_i_view_transpose(view);
    if (status == DCSR_OK)
        *rows = of_twin ? found.device : dcsr_i_cuda_rows_of_csr(view->form[DCSR_I_TRANSPOSED].csr).device;
    pthread_mutex_unlock(&view->lock);
    if (status == DCSR_OK) dcsr_i_view_twin_was_read(view);
    return status;
}

bool dcsr_i_cuda_view_transpose_is_ready(const dcsr_view *view)
{
    return view->twin || dcsr_i_view_csc_is_ready(view);
}

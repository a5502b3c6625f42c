/* csc_cuda.c: the transpose of what a view on a device shows, made there. */
#include "dcsr/view/csc_cuda.h"
#include "dcsr/store/cuda/keys_cuda.h"
#include "dcsr/device/prim_cuda.h"
#include "dcsr/store/cuda/store_cuda.h"
#include "dcsr/store/maintained_transpose.h"
#include "dcsr/view/view_data.h"

static const char transposing[] = "transposing a matrix";

/* ---- By numbers (csc.cu) ---- */

/* Numbers have 32 bits; in the emulator there are fewer, so that tests see what is done beyond. */
#ifdef DCSR_SIMT
enum { NUMBERS = 20000 };
#else
#define NUMBERS UINT32_MAX
#endif

typedef struct turning {
    dcsr_i_cuda_stream *stream;
    const dcsr_i_cuda_rows *rows;
    uint64_t *offsets; /* of the result */
    uint64_t *walk_offsets;
    dcsr_i_cuda_numbered entries;
    uint32_t *column_spare, *number_spare;
} turning;

static void *allocate(const turning *t, uint64_t count, size_t size)
{
    return dcsr_i_cuda_alloc(t->stream, DCSR_I_SCRATCH, count, size);
}

static void release(const turning *t, void *block, uint64_t count, size_t size)
{
    dcsr_i_cuda_free(t->stream, DCSR_I_SCRATCH, block, count, size);
}

static dcsr_status open_turning(turning *t)
{
    const dcsr_i_cuda_rows *rows = t->rows;
    dcsr_i_cuda_numbered *e = &t->entries;
    uint32_t **const arrays[] = {&e->row, &e->column, &e->number, &t->column_spare, &t->number_spare};
    e->entries = rows->stored;
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
        if (!(*arrays[k] = allocate(t, e->entries, sizeof(uint32_t)))) return dcsr_i_no_memory();
    const bool copies = !rows->offsets && rows->value_size;
    if (copies) e->own_values = allocate(t, e->entries, rows->value_size);
    e->values = copies ? e->own_values : rows->values;
    t->walk_offsets = allocate(t, rows->rows + 1, sizeof *t->walk_offsets);
    return t->walk_offsets && (!copies || e->own_values) ? DCSR_OK : dcsr_i_no_memory();
}

static void close_turning(turning *t)
{
    const dcsr_i_cuda_numbered *e = &t->entries;
    uint32_t *const arrays[] = {t->number_spare, t->column_spare, e->number, e->column, e->row};
    release(t, t->walk_offsets, t->rows->rows + 1, sizeof *t->walk_offsets);
    release(t, e->own_values, e->entries, t->rows->value_size);
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
        release(t, arrays[k], e->entries, sizeof(uint32_t));
}

static dcsr_status turn_by_numbers(turning *t, uint32_t *columns, void *values)
{
    const dcsr_i_cuda_rows *rows = t->rows;
    dcsr_i_cuda_numbered *e = &t->entries;
    DCSR_TRY(open_turning(t));
    const dcsr_i_cuda_walk walk = {*rows, NULL, rows->rows, t->walk_offsets};
    DCSR_TRY(dcsr_i_cuda_sum_lengths(t->stream, rows, NULL, rows->rows, t->walk_offsets));
    dcsr_i_cuda_number(t->stream, &walk, e->entries, e);
    DCSR_TRY(dcsr_i_cuda_sort_u32(t->stream, &e->column, &t->column_spare, &e->number, &t->number_spare,
                                  e->entries, dcsr_i_bits_for(rows->cols)));
    dcsr_i_cuda_find_begins_u32(t->stream, e->column, e->entries, rows->cols, t->offsets);
    dcsr_i_cuda_gather_numbered(t->stream, e, rows->value_size, columns, values);
    return DCSR_OK;
}

/* ---- By sorting rows, columns and values, where there are too many entries to be numbered ---- */

static dcsr_status turn_by_sorting(const turning *t, uint32_t *columns, void *values)
{
    const dcsr_i_cuda_rows *rows = t->rows;
    const uint64_t n = rows->stored;
    const int row_bits = dcsr_i_bits_for(rows->rows), column_bits = dcsr_i_bits_for(rows->cols);
    uint64_t *keys, *words, *keys_spare = allocate(t, n, sizeof *keys),
                            *words_spare = rows->value_size ? allocate(t, n, sizeof *words) : NULL;
    dcsr_status status = dcsr_i_cuda_turn_rows(t->stream, rows, row_bits, &keys, &words);
    if (!keys_spare || (rows->value_size && !words_spare)) status = dcsr_i_no_memory();
    /* The sort is stable, and rows ascend already. */
    if (status == DCSR_OK && column_bits)
        status = dcsr_i_cuda_sort(t->stream, &keys, &keys_spare, words ? &words : NULL,
                                  words ? &words_spare : NULL, n, row_bits, row_bits + column_bits);
    if (status == DCSR_OK) {
        dcsr_i_cuda_find_begins(t->stream, keys, n, row_bits, rows->cols, t->offsets);
        dcsr_i_cuda_take_low(t->stream, keys, n, row_bits, columns);
        if (words) dcsr_i_cuda_narrow(t->stream, words, n, values, rows->value_size);
    }
    release(t, words_spare, n, sizeof *words_spare);
    release(t, words, n, sizeof *words);
    release(t, keys_spare, n, sizeof *keys_spare);
    release(t, keys, n, sizeof *keys);
    return status;
}

dcsr_status dcsr_i_cuda_transpose(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows, uint64_t *offsets,
                                  uint32_t *columns, void *values)
{
    turning t = {.stream = stream, .rows = rows, .offsets = offsets};
    const bool by_numbers = rows->stored < NUMBERS;
    dcsr_status status =
        by_numbers ? turn_by_numbers(&t, columns, values) : turn_by_sorting(&t, columns, values);
    if (by_numbers) close_turning(&t);
    dcsr_status waited = dcsr_i_cuda_wait(stream, transposing);
    return status == DCSR_OK ? waited : status;
}

/* ---- Of a view ---- */

static dcsr_status fill(dcsr_i_csr *csc, const dcsr_i_cuda_rows *rows)
{
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(csc->context);
    if (!stream) return dcsr_i_no_memory();
    csc->offsets = dcsr_i_cuda_alloc(stream, DCSR_I_MATRIX, csc->rows + 1, sizeof *csc->offsets);
    if (csc->offsets) csc->columns = dcsr_i_cuda_alloc(stream, DCSR_I_MATRIX, csc->nnz, sizeof *csc->columns);
    if (csc->columns && csc->value_size)
        csc->values = dcsr_i_cuda_alloc(stream, DCSR_I_MATRIX, csc->nnz, csc->value_size);
    bool all = csc->columns && (csc->values || !csc->value_size);
    dcsr_status status = all ? dcsr_i_cuda_transpose(stream, rows, csc->offsets, csc->columns, csc->values)
                             : dcsr_i_no_memory();
    if (status == DCSR_OK)
        status = dcsr_i_cuda_wait(stream, transposing);
    else
        dcsr_i_cuda_settle(stream, transposing);
    dcsr_i_stream_return(csc->context, stream);
    return status;
}

dcsr_status dcsr_i_cuda_csc_create(dcsr_i_csr **csc, dcsr_context *context, const dcsr_i_rows *rows,
                                   uint64_t version)
{
    dcsr_i_csr *made = dcsr_i_calloc(context, DCSR_I_MATRIX, 1, sizeof *made);
    *csc = NULL;
    if (!made) return dcsr_i_no_memory();
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

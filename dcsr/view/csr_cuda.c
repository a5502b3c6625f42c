/* csr_cuda.c: CSR views on a device, and copies of views in host memory. */
#include "dcsr/store/cuda/gather_cuda.h"
#include "dcsr/store/cuda/store_cuda.h"

/* ---- On the device ---- */

static dcsr_status fill(dcsr_i_csr *csr, dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows,
                        uint64_t first)
{
    csr->offsets = dcsr_i_cuda_alloc(stream, DCSR_I_MATRIX, csr->rows + 1, sizeof *csr->offsets);
    if (!csr->offsets) return dcsr_i_no_memory();
    DCSR_TRY(dcsr_i_cuda_sum_lengths(stream, rows, NULL, csr->rows, csr->offsets));
    if (csr->hold) {
        csr->columns = rows->columns + first;
        csr->values = csr->value_size ? rows->values + first * csr->value_size : NULL;
        return DCSR_OK;
    }
    csr->columns = dcsr_i_cuda_alloc(stream, DCSR_I_MATRIX, csr->nnz, sizeof *csr->columns);
    if (csr->columns && csr->value_size)
        csr->values = dcsr_i_cuda_alloc(stream, DCSR_I_MATRIX, csr->nnz, csr->value_size);
    if (!csr->columns || (csr->value_size && !csr->values)) return dcsr_i_no_memory();
    dcsr_i_cuda_walk walk = {*rows, NULL, csr->rows, csr->offsets};
    dcsr_i_cuda_gather(stream, &walk, csr->nnz, NULL, csr->columns, csr->values);
    return DCSR_OK;
}

dcsr_status dcsr_i_cuda_csr_fill(dcsr_i_csr *csr, dcsr_matrix *matrix, const dcsr_i_table *table)
{
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(csr->context);
    if (!stream) return dcsr_i_no_memory();
    dcsr_i_cuda_rows rows = dcsr_i_cuda_rows_of_table(matrix, table);
    dcsr_status status = fill(csr, stream, &rows, table->first);
    dcsr_status waited = dcsr_i_cuda_wait(stream, "making a CSR view");
    dcsr_i_stream_return(csr->context, stream);
    return status == DCSR_OK ? waited : status;
}

/* Whoever read the arrays has waited for that. */
void dcsr_i_cuda_csr_free(dcsr_i_csr *csr)
{
    dcsr_i_cuda_device *device = csr->context->cuda;
    if (!csr->hold) {
        dcsr_i_cuda_free_idle(device, DCSR_I_MATRIX, csr->columns, csr->nnz, sizeof *csr->columns);
        dcsr_i_cuda_free_idle(device, DCSR_I_MATRIX, csr->values, csr->nnz, csr->value_size);
    }
    dcsr_i_cuda_free_idle(device, DCSR_I_MATRIX, csr->offsets, csr->rows + 1, sizeof *csr->offsets);
}

/* ---- Copies in host memory ---- */

/* For so many of the rows, with so many entries. */
static dcsr_i_csr *create_host_csr(dcsr_context *context, const dcsr_i_rows *rows, uint64_t count,
                                   uint64_t entries)
{
    dcsr_i_csr *csr = dcsr_i_calloc(context, DCSR_I_MATRIX, 1, sizeof *csr);
    if (!csr) return NULL;
    atomic_init(&csr->references, 1);
    csr->context = context;
    csr->engine = &dcsr_i_cpu_engine;
    csr->version = rows->table ? rows->table->version : 0;
    csr->type = rows->type;
    csr->rows = count;
    csr->cols = rows->cols;
    csr->nnz = entries;
    csr->value_size = rows->device.value_size;
    csr->offsets = dcsr_i_alloc(context, DCSR_I_MATRIX, csr->rows + 1, sizeof *csr->offsets);
    csr->columns = dcsr_i_alloc(context, DCSR_I_MATRIX, csr->nnz, sizeof *csr->columns);
    if (csr->value_size) csr->values = dcsr_i_alloc(context, DCSR_I_MATRIX, csr->nnz, csr->value_size);
    if (csr->offsets && csr->columns && (csr->values || !csr->value_size)) return csr;
    dcsr_i_csr_release(csr);
    return NULL;
}

/* Entries one behind the other on the device. */
static dcsr_status copy_entries(dcsr_i_csr *csr, dcsr_i_cuda_stream *stream, const uint32_t *columns,
                                const char *values)
{
    dcsr_i_cuda_copy(stream, csr->columns, columns, csr->nnz * sizeof *columns);
    if (csr->value_size) dcsr_i_cuda_copy(stream, csr->values, values, csr->nnz * csr->value_size);
    return dcsr_i_cuda_wait(stream, "copying a view to the host");
}

static dcsr_status gather_and_copy(dcsr_i_csr *csr, dcsr_i_cuda_stream *stream, const dcsr_i_cuda_walk *walk)
{
    size_t size = csr->value_size;
    uint32_t *columns = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, csr->nnz, sizeof *columns);
    char *values = columns && size ? dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, csr->nnz, size) : NULL;
    dcsr_status status = columns && (values || !size) ? DCSR_OK : dcsr_i_no_memory();
    if (status == DCSR_OK) {
        dcsr_i_cuda_gather(stream, walk, csr->nnz, NULL, columns, values);
        status = copy_entries(csr, stream, columns, values);
    }
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, values, csr->nnz, size);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, columns, csr->nnz, sizeof *columns);
    return status;
}

static dcsr_status copy_rows(dcsr_i_csr *csr, dcsr_i_cuda_stream *stream, const dcsr_i_rows *rows)
{
    const dcsr_i_cuda_rows *device = &rows->device;
    if (device->offsets) {
        dcsr_i_cuda_copy(stream, csr->offsets, device->offsets, (csr->rows + 1) * sizeof *csr->offsets);
        return copy_entries(csr, stream, device->columns, device->values);
    }
    uint64_t *offsets = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, csr->rows + 1, sizeof *offsets);
    if (!offsets) return dcsr_i_no_memory();
    dcsr_status status = dcsr_i_cuda_sum_lengths(stream, device, NULL, csr->rows, offsets);
    if (status == DCSR_OK) {
        uint64_t first = rows->table->first;
        dcsr_i_cuda_walk walk = {*device, NULL, csr->rows, offsets};
        dcsr_i_cuda_copy(stream, csr->offsets, offsets, (csr->rows + 1) * sizeof *offsets);
        status = rows->table->contiguous ? copy_entries(csr, stream, device->columns + first,
                                                        device->values + first * csr->value_size)
                                         : gather_and_copy(csr, stream, &walk);
    }
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, offsets, csr->rows + 1, sizeof *offsets);
    return status;
}

dcsr_status dcsr_i_cuda_download(dcsr_i_csr **csr, dcsr_context *context, const dcsr_i_rows *rows)
{
    dcsr_i_csr *made = create_host_csr(context, rows, rows->rows, rows->device.stored);
    dcsr_i_cuda_stream *stream = made ? dcsr_i_stream_borrow(context) : NULL;
    *csr = NULL;
    if (!stream) {
        dcsr_i_csr_release(made);
        return dcsr_i_no_memory();
    }
    dcsr_status status = copy_rows(made, stream, rows);
    /* A failure may have left work on the stream. */
    if (status != DCSR_OK) dcsr_i_cuda_settle(stream, "copying a view to the host");
    dcsr_i_stream_return(context, stream);
    if (status == DCSR_OK)
        *csr = made;
    else
        dcsr_i_csr_release(made);
    return status;
}

/* The number of entries is what the offsets end with. */
static dcsr_status copy_listed(dcsr_i_csr **csr, dcsr_context *context, dcsr_i_cuda_stream *stream,
                               const dcsr_i_rows *rows, const dcsr_i_cuda_walk *walk)
{
    uint64_t *landing = dcsr_i_cuda_landing(stream, sizeof *landing);
    if (landing) dcsr_i_cuda_copy(stream, landing, walk->offsets + walk->count, sizeof *landing);
    DCSR_TRY(dcsr_i_cuda_wait(stream, "copying rows to the host"));
    dcsr_i_csr *made = create_host_csr(context, rows, walk->count, *landing);
    if (!made) return dcsr_i_no_memory();
    dcsr_i_cuda_copy(stream, made->offsets, walk->offsets, (walk->count + 1) * sizeof *made->offsets);
    dcsr_status status = gather_and_copy(made, stream, walk);
    if (status != DCSR_OK) {
        dcsr_i_cuda_settle(stream, "copying rows to the host");
        dcsr_i_csr_release(made);
        return status;
    }
    *csr = made;
    return DCSR_OK;
}

dcsr_status dcsr_i_cuda_download_rows(dcsr_i_csr **csr, dcsr_context *context, dcsr_i_cuda_stream *stream,
                                      const dcsr_i_rows *rows, const uint32_t *list, uint64_t count)
{
    *csr = NULL;
    uint64_t *offsets = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, count + 1, sizeof *offsets);
    if (!offsets) return dcsr_i_no_memory();
    dcsr_i_cuda_walk walk = {rows->device, list, count, offsets};
    dcsr_status status = dcsr_i_cuda_sum_lengths(stream, &rows->device, list, count, offsets);
    if (status == DCSR_OK) status = copy_listed(csr, context, stream, rows, &walk);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, offsets, count + 1, sizeof *offsets);
    return status;
}

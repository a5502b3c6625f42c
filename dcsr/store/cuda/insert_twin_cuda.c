/* insert_twin_cuda.c: inserting what is on the device already into the transpose that a matrix maintains; batches that
 * the matrix gets follow by themselves (insert_cuda.c). */
#include "dcsr/store/cuda/keys_cuda.h"
#include "dcsr/store/cuda/stage_cuda.h"
#include "dcsr/store/cuda/store_cuda.h"
#include "dcsr/store/maintained_transpose.h"

dcsr_status dcsr_i_cuda_insert_transposed(dcsr_matrix *twin, dcsr_i_operation *operation,
                                          const dcsr_i_rows *rows)
{
    dcsr_i_packed *packed = &operation->batch;
    dcsr_i_cuda_stream *stream = twin->cuda->stream;
    dcsr_i_arrival *arrival = &packed->arrival;
    packed->n = rows->device.stored;
    if (!packed->n) return DCSR_OK;
    if (packed->n > DCSR_CUDA_MOST_ENTRIES)
        return dcsr_i_fail(DCSR_ERROR_TOO_LARGE, "the transpose of %llu entries cannot be built as one batch",
                           (unsigned long long)packed->n);
    dcsr_i_cuda_enter(stream);
    dcsr_status status =
        dcsr_i_cuda_turn_rows(stream, &rows->device, packed->column_bits, &arrival->keys, &arrival->words);
    if (status == DCSR_OK) status = dcsr_i_cuda_apply_entries(twin, operation);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, arrival->words, packed->n, sizeof *arrival->words);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, arrival->keys, packed->n, sizeof *arrival->keys);
    dcsr_i_cuda_step_out(stream);
    return status;
}

dcsr_status dcsr_i_cuda_apply_transposed(dcsr_matrix *matrix, dcsr_i_kind kind,
                                         const dcsr_i_cuda_held *entries)
{
    dcsr_matrix *twin = matrix->transpose.twin;
    dcsr_i_cuda_stream *stream = twin->cuda->stream;
    const dcsr_i_table *now = matrix->versions.current;
    const size_t size = kind == DCSR_I_INSERT ? matrix->value_size : 0;
    const dcsr_i_operation given = {.kind = kind,
                                    .batch = {.stride = size ? 2 : 1,
                                              .row_bits = dcsr_i_bits_for(now->rows),
                                              .column_bits = dcsr_i_bits_for(now->cols),
                                              .value_size = size}};
    dcsr_i_operation swapped = dcsr_i_twin_batch(matrix, &given, entries->n);
    uint64_t n = entries->n, *words = NULL;
    if (!n) return DCSR_OK;
    if (n > DCSR_CUDA_MOST_ENTRIES) return DCSR_ERROR_TOO_LARGE;
    if (size) {
        words = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, n, sizeof *words);
        if (!words) return dcsr_i_no_memory();
        dcsr_i_cuda_widen(stream, entries->values, (uint32_t)size, n, words);
    }
    dcsr_i_cuda_swap_keys(stream, entries->keys, n, given.batch.row_bits, 32);
    swapped.batch.arrival = (dcsr_i_arrival){.keys = entries->keys, .words = words};
    dcsr_status status = dcsr_i_cuda_apply_entries(twin, &swapped);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, words, n, sizeof *words);
    return status;
}

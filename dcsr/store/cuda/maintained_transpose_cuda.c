/* maintained_transpose_cuda.c: the transpose that a matrix on a device maintains: its batches are made there,
 * out of those of the matrix or out of its rows. */
#include "dcsr/store/cuda/maintained_transpose_cuda.h"
#include "dcsr/store/cuda/keys_cuda.h"
#include "dcsr/store/cuda/stage_cuda.h"
#include "dcsr/store/cuda/store_cuda.h"

/* The twin's stream need not be ordered behind A's, which has nothing left to do; and applying the batch
 * waits for all that reads the entries, whether it works out or not. */
void dcsr_i_cuda_twin_entries(dcsr_matrix *matrix, const dcsr_i_operation *operation, uint64_t *keys,
                              uint64_t *words, uint64_t n)
{
    dcsr_matrix *twin = matrix->transpose.twin;
    if (!twin) return;
    dcsr_i_operation swapped = dcsr_i_twin_batch(matrix, operation, n);
    swapped.batch.arrival = (dcsr_i_arrival){.keys = keys, .words = words};
    dcsr_i_cuda_swap_keys(twin->cuda->stream, keys, n, operation->batch.row_bits,
                          operation->batch.column_bits);
    dcsr_i_twin_follow(matrix, dcsr_i_cuda_apply_entries(twin, &swapped));
}

dcsr_status dcsr_i_cuda_twin_insert(dcsr_matrix *twin, dcsr_i_operation *operation, const dcsr_i_rows *rows)
{
    dcsr_i_packed *batch = &operation->batch;
    dcsr_i_cuda_stream *stream = twin->cuda->stream;
    dcsr_i_arrival *arrival = &batch->arrival;
    batch->n = rows->device.stored;
    if (!batch->n) return DCSR_OK;
    if (batch->n > DCSR_CUDA_MOST_ENTRIES)
        return dcsr_i_fail(DCSR_ERROR_TOO_LARGE, "the transpose of %llu entries cannot be built as one batch",
                           (unsigned long long)batch->n);
    dcsr_status status =
        dcsr_i_cuda_turn_rows(stream, &rows->device, batch->column_bits, &arrival->keys, &arrival->words);
    if (status == DCSR_OK) status = dcsr_i_cuda_apply_entries(twin, operation);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, arrival->words, batch->n, sizeof *arrival->words);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, arrival->keys, batch->n, sizeof *arrival->keys);
    return status;
}

/* keys_cuda.c: keys of the entries of rows: memory for them. */
#include "dcsr/store/cuda/keys_cuda.h"
#include "dcsr/base/cuda.h"

dcsr_status dcsr_i_cuda_turn_rows(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows, int row_bits,
                                  uint64_t **keys, uint64_t **words)
{
    const bool values = rows->value_size != 0;
    const uint64_t entries = rows->stored;
    *keys = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, entries, sizeof **keys);
    *words = values ? dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, entries, sizeof **words) : NULL;
    if (!*keys || (values && !*words)) return DCSR_ERROR_OUT_OF_MEMORY;
    uint64_t *offsets = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, rows->rows + 1, sizeof *offsets);
    if (!offsets) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_status status = dcsr_i_cuda_sum_lengths(stream, rows, NULL, rows->rows, offsets);
    dcsr_i_cuda_walk walk = {*rows, NULL, rows->rows, offsets};
    if (status == DCSR_OK) dcsr_i_cuda_turn(stream, &walk, entries, row_bits, *keys, *words);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, offsets, rows->rows + 1, sizeof *offsets);
    return status;
}

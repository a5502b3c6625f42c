/* fetch_rows.cu: the lengths of rows that came from other GPUs, in their places. */
#include "dcsr/device/stream.cuh"
#include "multi/fetch_rows_cuda.h"

static __global__ void place_lengths(uint64_t *lengths, const uint64_t *offsets, const uint64_t *at,
                                     uint64_t first, uint64_t n)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < n; i += dcsr_i_cuda_step())
        lengths[at ? at[i] : first + i] = offsets[i + 1] - offsets[i];
}

void dcsr_i_cuda_fetch_lengths(dcsr_i_cuda_stream *stream, uint64_t *lengths, const uint64_t *offsets,
                               const uint64_t *at, uint64_t first, uint64_t n)
{
    if (n) dcsr_i_cuda_launch(stream, place_lengths, n, lengths, offsets, at, first, n);
}

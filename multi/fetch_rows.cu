/* fetch_rows.cu: rows that come from other GPUs: their lengths, and their places behind one another. Bytes: adding
 * lengths reads 8 for each row of each matrix, and placing rows writes as many. */
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

/* ---- For transposes ---- */

static __global__ void sample(const uint64_t *offsets, uint64_t n, uint64_t step, uint64_t count,
                              uint64_t *out)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < count; i += dcsr_i_cuda_step())
        out[i] = offsets[i * step < n ? i * step : n];
}

void dcsr_i_cuda_sample_offsets(dcsr_i_cuda_stream *stream, const uint64_t *offsets, uint64_t n,
                                uint64_t step, uint64_t count, uint64_t *out)
{
    dcsr_i_cuda_launch(stream, sample, count, offsets, n, step, count, out);
}

static __global__ void add_lengths(const uint64_t *offsets, uint64_t matrices, uint64_t n, uint64_t *lengths)
{
    for (uint64_t r = dcsr_i_cuda_first(); r < n; r += dcsr_i_cuda_step()) {
        uint64_t sum = 0;
        for (uint64_t j = 0; j < matrices; j++)
            sum += offsets[j * (n + 1) + r + 1] - offsets[j * (n + 1) + r];
        lengths[r] = sum;
    }
}

void dcsr_i_cuda_add_lengths(dcsr_i_cuda_stream *stream, const uint64_t *offsets, uint64_t matrices,
                             uint64_t n, uint64_t *lengths)
{
    if (n) dcsr_i_cuda_launch(stream, add_lengths, n, offsets, matrices, n, lengths);
}

static __global__ void place_rows(const uint64_t *offsets, uint64_t matrices, uint64_t n,
                                  const uint64_t *begins, uint64_t *to)
{
    for (uint64_t r = dcsr_i_cuda_first(); r < n; r += dcsr_i_cuda_step()) {
        uint64_t at = begins[r];
        for (uint64_t j = 0; j < matrices; j++) {
            to[j * n + r] = at;
            at += offsets[j * (n + 1) + r + 1] - offsets[j * (n + 1) + r];
        }
    }
}

void dcsr_i_cuda_place_shares(dcsr_i_cuda_stream *stream, const uint64_t *offsets, uint64_t matrices,
                              uint64_t n, const uint64_t *begins, uint64_t *to)
{
    if (n) dcsr_i_cuda_launch(stream, place_rows, n, offsets, matrices, n, begins, to);
}

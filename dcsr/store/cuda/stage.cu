/* stage.cu: packing arrays of the caller's into keys and words, and checking them (stage_cuda.h).
 *
 * Bytes an entry: packing reads 16 and the value, and writes 8, or 16 with the value's word. */
#include "dcsr/device/value_word.cuh"
#include "dcsr/device/reduce.cuh"
#include "dcsr/store/cuda/stage_cuda.h"

/* The first of the entries that a thread has seen to be out of range becomes the batch's. */
DCSR_CUDA_INLINE void tell_outside(dcsr_i_cuda_verdict *found, uint64_t first)
{
    if (first != UINT64_MAX) atomicMin(reinterpret_cast<unsigned long long *>(&found->outside), first);
}

/* By the thread that knows all to be found: later the caller may have overwritten the arrays. */
DCSR_CUDA_INLINE void tell_where(const dcsr_i_cuda_arrays &arrays, const dcsr_i_cuda_verdict *found,
                                 dcsr_i_cuda_verdict *verdict)
{
    const uint64_t outside = *(const volatile uint64_t *)&found->outside;
    verdict->outside = outside;
    verdict->ascends = *(const volatile uint64_t *)&found->ascends;
    if (outside == UINT64_MAX) return;
    verdict->row = arrays.rows[outside];
    verdict->col = arrays.cols[outside];
}

static __global__ void pack(dcsr_i_cuda_arrays arrays, dcsr_i_cuda_packing to, dcsr_i_cuda_verdict *verdict)
{
    uint64_t outside = UINT64_MAX;
    uint32_t descends = 0;
    for (uint64_t i = dcsr_i_cuda_first(); i < arrays.n; i += dcsr_i_cuda_step()) {
        uint64_t row = arrays.rows[i], col = arrays.cols[i], key = row << to.column_bits | col;
        if ((row >= to.rows || col >= to.cols) && i < outside) outside = i;
        if (i && key <= (arrays.rows[i - 1] << to.column_bits | arrays.cols[i - 1])) descends = 1;
        to.keys[i] = key;
        if (to.words) to.words[i] = dcsr_i_cuda_load_word(arrays.values, arrays.value_size, i);
    }
    tell_outside(to.found, outside);
    descends = dcsr_i_cuda_block_max(descends, 0u);
    if (descends && threadIdx.x == 0)
        atomicAnd(reinterpret_cast<unsigned long long *>(&to.found->ascends), 0ull);
    __threadfence();
    __syncthreads();
    if (threadIdx.x || atomicAdd(&to.found->done[0], 1u) + 1 != gridDim.x - 1) return;
    __threadfence();
    tell_where(arrays, to.found, verdict);
}

void dcsr_i_cuda_pack(dcsr_i_cuda_stream *stream, void *callers_stream, const dcsr_i_cuda_arrays *arrays,
                      const dcsr_i_cuda_packing *packing, dcsr_i_cuda_verdict *verdict)
{
    dcsr_i_cuda_verdict *found = packing->found;
    cudaStream_t raw = static_cast<cudaStream_t>(callers_stream);
    dcsr_i_cuda_policy policy = {256, 4};
    dcsr_i_cuda_note(stream, cudaMemsetAsync(found, 0xff, sizeof *found, raw));
    simt::launch(pack, dim3(dcsr_i_cuda_blocks(stream, arrays->n, policy)), dim3(dcsr_i_cuda_threads(policy)),
                 0, raw, *arrays, *packing, verdict);
    dcsr_i_cuda_launched(stream);
}

static __global__ void find_outside(const uint64_t *keys, uint64_t n, int column_bits, uint64_t rows,
                                    uint64_t cols, dcsr_i_cuda_verdict *found)
{
    uint64_t column_mask = (static_cast<uint64_t>(1) << column_bits) - 1, outside = UINT64_MAX;
    for (uint64_t i = dcsr_i_cuda_first(); i < n; i += dcsr_i_cuda_step())
        if ((keys[i] >> column_bits >= rows || (keys[i] & column_mask) >= cols) && i < outside) outside = i;
    tell_outside(found, outside);
}

static __global__ void tell_key(const uint64_t *keys, int column_bits, dcsr_i_cuda_verdict *found)
{
    if (threadIdx.x || found->outside == UINT64_MAX) return;
    found->row = keys[found->outside] >> column_bits;
    found->col = keys[found->outside] & ((static_cast<uint64_t>(1) << column_bits) - 1);
}

void dcsr_i_cuda_find_outside(dcsr_i_cuda_stream *stream, const uint64_t *keys, uint64_t n, int column_bits,
                              uint64_t rows, uint64_t cols, dcsr_i_cuda_verdict *found)
{
    dcsr_i_cuda_launch(stream, find_outside, n, keys, n, column_bits, rows, cols, found);
    dcsr_i_cuda_launch(stream, tell_key, 1, keys, column_bits, found);
}

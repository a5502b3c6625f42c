/* tile_scan.cuh: running counts over an array in the one pass that finds out what to count (internal; in kernels).
 *
 *      tiles     [ 1 0 1 1 | 0 0 1 0 | 1 1 0 1 ]
 *      within      0 1 1 2   0 0 0 1   0 1 2 2      each block, for the tiles that it works on
 *      before      0         3         4         7  the block that comes last, for all
 *
 * What is before an item is before[tile] + within[item]. For some thousand tiles that is less work than a scan of its
 * own, and no launch more. */
#ifndef DCSR_TILE_SCAN_CUH
#define DCSR_TILE_SCAN_CUH

#include "dcsr/device/reduce.cuh"

/* What the threads of the block before this one have; *total, whose type decides, is what all have. All threads of the
 * block must call. */
template <class T> DCSR_CUDA_INLINE T dcsr_i_cuda_block_scan(decltype(T()) value, T *total)
{
    SIMT_SHARED(T, of_warp, 32);
    const unsigned lane = dcsr_i_cuda_lane(), warp = threadIdx.x / 32, warps = blockDim.x / 32;
    T sum = value;
    for (unsigned distance = 1; distance < 32; distance *= 2) {
        const T lower = __shfl_up_sync(DCSR_CUDA_ALL_LANES, sum, distance);
        if (lane >= distance) sum += lower;
    }
    if (lane == 31) of_warp[warp] = sum;
    __syncthreads();
    const T other = lane < warps ? of_warp[lane] : 0;
    const T earlier = dcsr_i_cuda_warp_sum(lane < warp ? other : T(0));
    *total = dcsr_i_cuda_warp_sum(other);
    __syncthreads(); /* of_warp may be written again */
    return earlier + sum - value;
}

/* Whether this is the block that calls last; it sees what the threads 0 of the others have written. *done is 0 at
 * first. All threads of all blocks must call. */
DCSR_CUDA_INLINE bool dcsr_i_cuda_comes_last(uint32_t *done)
{
    SIMT_SHARED(uint32_t, last, 1);
    if (threadIdx.x == 0 && gridDim.x > 1) {
        __threadfence();
        last[0] = atomicAdd(done, 1u) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    return gridDim.x == 1 || last[0];
}

/* before[t] is what tile t has, written by thread 0 of the blocks that work on them; the last of these (above) makes it
 * what the tiles before t have, and before[tiles] what all have. */
DCSR_CUDA_INLINE void dcsr_i_cuda_sum_tiles(uint64_t *before, uint64_t tiles)
{
    uint64_t sum = 0, total;
    for (uint64_t first = 0; first < tiles; first += blockDim.x) {
        const uint64_t t = first + threadIdx.x;
        const uint64_t here = t < tiles ? *(volatile uint64_t *)&before[t] : 0;
        const uint64_t lower = dcsr_i_cuda_block_scan(here, &total);
        if (t < tiles) before[t] = sum + lower;
        sum += total;
    }
    if (threadIdx.x == 0) before[tiles] = sum;
}

#endif

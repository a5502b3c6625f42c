/* reduce.cuh: sums and maxima over the threads of a warp or block (internal; in kernels).
 *
 * All lanes of the warp, or all threads of the block, must call; all get the result. Each is taken in a fixed
 * order, so that sums of floating-point numbers come out the same each time. */
#ifndef DCSR_REDUCE_CUH
#define DCSR_REDUCE_CUH

#include "dcsr/device/stream.cuh"

#define DCSR_CUDA_ALL_LANES 0xffffffffu

struct dcsr_i_cuda_plus {
    template <class T> __device__ T operator()(T a, T b) const { return a + b; }
};
struct dcsr_i_cuda_larger {
    template <class T> __device__ T operator()(T a, T b) const { return a < b ? b : a; }
};

template <class T, class Fold> DCSR_CUDA_INLINE T dcsr_i_cuda_warp_fold(T value, Fold fold)
{
    for (int distance = 16; distance; distance /= 2)
        value = fold(value, __shfl_xor_sync(DCSR_CUDA_ALL_LANES, value, distance));
    return value;
}

/* The block must be whole warps. `none` is what leaves every value as it is. */
template <class T, class Fold> DCSR_CUDA_INLINE T dcsr_i_cuda_block_fold(T value, T none, Fold fold)
{
    SIMT_SHARED(T, of_warp, 32);
    unsigned warp = threadIdx.x / 32, warps = blockDim.x / 32;
    value = dcsr_i_cuda_warp_fold(value, fold);
    if (dcsr_i_cuda_lane() == 0) of_warp[warp] = value;
    __syncthreads();
    value = dcsr_i_cuda_warp_fold(dcsr_i_cuda_lane() < warps ? of_warp[dcsr_i_cuda_lane()] : none, fold);
    __syncthreads(); /* of_warp may be written again */
    return value;
}

/* T is uint64_t, uint32_t or double. */
template <class T> DCSR_CUDA_INLINE T dcsr_i_cuda_warp_sum(T value)
{
    return dcsr_i_cuda_warp_fold(value, dcsr_i_cuda_plus());
}
template <class T> DCSR_CUDA_INLINE T dcsr_i_cuda_warp_max(T value)
{
    return dcsr_i_cuda_warp_fold(value, dcsr_i_cuda_larger());
}
template <class T> DCSR_CUDA_INLINE T dcsr_i_cuda_block_sum(T value)
{
    return dcsr_i_cuda_block_fold(value, T(0), dcsr_i_cuda_plus());
}
/* `least` is no more than any value. */
template <class T> DCSR_CUDA_INLINE T dcsr_i_cuda_block_max(T value, T least)
{
    return dcsr_i_cuda_block_fold(value, least, dcsr_i_cuda_larger());
}

#endif

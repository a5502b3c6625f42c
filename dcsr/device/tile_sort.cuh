/* tile_sort.cuh: sorting as many items as one block of threads has, one each (internal; in kernels).
 *
 * Batcher's bitonic sort (1968): log2(n) (log2(n) + 1) / 2 steps, in each of which a thread compares its item with
 * another's and keeps the smaller or the larger. Where that one is in the same warp, as in 40 of the 55 steps for 1024
 * threads, they exchange them by shuffles, else through shared memory. */
#ifndef DCSR_TILE_SORT_CUH
#define DCSR_TILE_SORT_CUH

#include "dcsr/device/reduce.cuh"

/* A key, and where it came from: so that equal keys are told apart, which makes sorting stable. */
struct dcsr_i_cuda_tile_key {
    uint64_t key;
    uint32_t from;
};

DCSR_CUDA_INLINE bool dcsr_i_cuda_is_before(const dcsr_i_cuda_tile_key &a, const dcsr_i_cuda_tile_key &b)
{
    return a.key < b.key || (a.key == b.key && a.from < b.from);
}
DCSR_CUDA_INLINE bool dcsr_i_cuda_is_before(uint64_t a, uint64_t b)
{
    return a < b;
}

/* The item of the lane at such a distance. */
DCSR_CUDA_INLINE dcsr_i_cuda_tile_key dcsr_i_cuda_shuffle_item(const dcsr_i_cuda_tile_key &item,
                                                               unsigned distance)
{
    return {__shfl_xor_sync(DCSR_CUDA_ALL_LANES, item.key, distance),
            __shfl_xor_sync(DCSR_CUDA_ALL_LANES, item.from, distance)};
}
DCSR_CUDA_INLINE uint64_t dcsr_i_cuda_shuffle_item(uint64_t item, unsigned distance)
{
    return __shfl_xor_sync(DCSR_CUDA_ALL_LANES, item, distance);
}

/* Sorts the items of the first `size` threads of the block, a power of two, and returns the one that stands at the
 * thread's place; the others get anything. `shared` has room for an item of each of these, and may be read again after
 * a barrier. All threads of the block must call, which are whole warps. */
template <class Item> DCSR_CUDA_INLINE Item dcsr_i_cuda_sort_tile(Item item, Item *shared, unsigned size)
{
    const unsigned i = threadIdx.x;
    for (unsigned run = 2; run <= size; run *= 2)
        for (unsigned distance = run / 2; distance; distance /= 2) {
            Item other;
            if (distance < 32) {
                other = dcsr_i_cuda_shuffle_item(item, distance);
            } else {
                __syncthreads();
                if (i < size) shared[i] = item;
                __syncthreads();
                other = i < size ? shared[i ^ distance] : item;
            }
            const bool keeps_smaller = !(i & distance) == !(i & run);
            if (dcsr_i_cuda_is_before(other, item) == keeps_smaller) item = other;
        }
    return item;
}

/* The smallest power of two that is at least n. */
DCSR_CUDA_INLINE unsigned dcsr_i_cuda_tile_size(unsigned n)
{
    unsigned size = 1;
    while (size < n) size *= 2;
    return size;
}

#endif

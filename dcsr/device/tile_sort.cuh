/* tile_sort.cuh: sorting as many keys as one block of threads has in shared memory (internal; in kernels).
 *
 * Batcher's bitonic sort (1968): log2(n) (log2(n) + 1) / 2 steps, in each of which a thread compares two keys. Equal
 * keys are told apart by where they came from, which makes it stable. */
#ifndef DCSR_TILE_SORT_CUH
#define DCSR_TILE_SORT_CUH

#include "dcsr/device/stream.cuh"

/* Sorts keys[0 .. n), which the threads of the block have written, and with them from[], which ascends: n is at most
 * blockDim.x, and there is room for the next power of two. All threads of the block must call. */
DCSR_CUDA_INLINE void dcsr_i_cuda_sort_tile(uint64_t *keys, uint32_t *from, unsigned n)
{
    const unsigned i = threadIdx.x;
    unsigned size = 1;
    while (size < n) size *= 2;
    if (i >= n && i < size) {
        keys[i] = UINT64_MAX;
        from[i] = i;
    }
    for (unsigned run = 2; run <= size; run *= 2)
        for (unsigned distance = run / 2; distance; distance /= 2) {
            const unsigned other = i ^ distance;
            __syncthreads();
            if (other < i || other >= size) continue;
            const uint64_t a = keys[i], b = keys[other];
            const uint32_t of_a = from[i], of_b = from[other];
            const bool descends = a > b || (a == b && of_a > of_b);
            if (descends == !(i & run)) {
                keys[i] = b, keys[other] = a;
                from[i] = of_b, from[other] = of_a;
            }
        }
    __syncthreads();
}

#endif

/* arena_slots.cuh: places in the arena, in kernels (internal). */
#ifndef DCSR_ARENA_SLOTS_CUH
#define DCSR_ARENA_SLOTS_CUH

#include "dcsr/device/stream.cuh"

/* Adds places [begin, begin + entries) to what is freed of their blocks, which are of 2^shift places. */
DCSR_CUDA_INLINE void dcsr_i_cuda_free_places(uint32_t *freed, int shift, uint64_t begin, uint64_t entries)
{
    const uint64_t block = (uint64_t)1 << shift;
    while (entries) {
        uint64_t here = block - (begin & (block - 1));
        if (here > entries) here = entries;
        atomicAdd(&freed[begin >> shift], (uint32_t)here);
        begin += here;
        entries -= here;
    }
}

#endif

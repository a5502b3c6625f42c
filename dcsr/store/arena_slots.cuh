/* arena_slots.cuh: places in the arena, in kernels (internal). */
#ifndef DCSR_ARENA_SLOTS_CUH
#define DCSR_ARENA_SLOTS_CUH

#include "dcsr/device/stream.cuh"

/* What another thread may write at the same time. */
DCSR_CUDA_INLINE uint32_t dcsr_i_cuda_peek(const uint32_t *word)
{
#ifdef DCSR_SIMT
    return __atomic_load_n(word, __ATOMIC_RELAXED);
#else
    return *(const volatile uint32_t *)word;
#endif
}

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

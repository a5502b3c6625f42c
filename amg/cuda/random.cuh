/* random.cuh: dcsr_i_amg_random() in kernels (internal). */
#ifndef DCSR_AMG_RANDOM_CUH
#define DCSR_AMG_RANDOM_CUH

#include "dcsr/device/stream.cuh"

DCSR_CUDA_INLINE uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

DCSR_CUDA_INLINE uint64_t random_bits(uint64_t seed, uint64_t number)
{
    return mix(mix(seed + UINT64_C(0x9e3779b97f4a7c15)) + (number + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

#endif

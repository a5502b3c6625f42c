/* amg_random.h: random numbers that are a function of a seed and a number, the same on all devices (internal). After
 * SplitMix64 (Steele, Lea, Flood 2014). */
#ifndef DCSR_AMG_AMG_RANDOM_H
#define DCSR_AMG_AMG_RANDOM_H

#include <stdint.h>

#ifdef __CUDACC__
#define DCSR_I_AMG_EVERYWHERE __host__ __device__
#else
#define DCSR_I_AMG_EVERYWHERE
#endif

DCSR_I_AMG_EVERYWHERE static inline uint64_t dcsr_i_amg_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* Uniform bits. */
DCSR_I_AMG_EVERYWHERE static inline uint64_t dcsr_i_amg_random(uint64_t seed, uint64_t number)
{
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
    return dcsr_i_amg_mix(dcsr_i_amg_mix(seed + golden) + (number + 1) * golden);
}

#endif

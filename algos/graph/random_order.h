/* mix.h: pseudo-random bits of a number, the same on the host and in kernels (internal). */
#ifndef DCSR_GRAPH_MIX_H
#define DCSR_GRAPH_MIX_H

#include <stdint.h>

#ifdef __CUDACC__
#define DCSR_GRAPH_BOTH_SIDES __host__ __device__
#else
#define DCSR_GRAPH_BOTH_SIDES
#endif

static inline DCSR_GRAPH_BOTH_SIDES uint64_t dcsr_i_graph_mix(uint64_t i)
{
    i += 0x9e3779b97f4a7c15u;
    i = (i ^ i >> 30) * 0xbf58476d1ce4e5b9u;
    i = (i ^ i >> 27) * 0x94d049bb133111ebu;
    return i ^ i >> 31;
}

#endif

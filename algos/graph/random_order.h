/* random_order.h: vertices in an order at random, the same on the host and in kernels (internal).
 *
 * What walks over all vertices in such an order would find, a maximal independent set or a colouring, is found by many
 * threads at once, which ask who precedes whom. Seeds are mixed before. */
#ifndef DCSR_GRAPH_RANDOM_ORDER_H
#define DCSR_GRAPH_RANDOM_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define DCSR_GRAPH_BOTH_SIDES __host__ __device__
#else
#define DCSR_GRAPH_BOTH_SIDES
#endif

/* Pseudo-random bits of a number. */
static inline DCSR_GRAPH_BOTH_SIDES uint64_t dcsr_i_graph_mix(uint64_t i)
{
    i += 0x9e3779b97f4a7c15u;
    i = (i ^ i >> 30) * 0xbf58476d1ce4e5b9u;
    i = (i ^ i >> 27) * 0x94d049bb133111ebu;
    return i ^ i >> 31;
}

/* Whether u precedes v, at random. */
static inline DCSR_GRAPH_BOTH_SIDES bool dcsr_i_graph_precedes(uint64_t seed, uint32_t u, uint32_t v)
{
    const uint64_t a = dcsr_i_graph_mix(seed + u), b = dcsr_i_graph_mix(seed + v);
    return a > b || (a == b && u < v);
}

/* Vertices by descending keys, of the same key ascending: by the number of edges as a power of two, then at random. */
static inline DCSR_GRAPH_BOTH_SIDES uint64_t dcsr_i_graph_degree_key(uint64_t seed, uint64_t v,
                                                                     uint64_t degree)
{
    uint64_t power = 0;
    for (; degree; degree >>= 1) power++;
    return power << 58 | dcsr_i_graph_mix(seed + v) >> 6;
}

#endif

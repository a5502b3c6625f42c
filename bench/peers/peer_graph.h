/* peer_graph.h: graph algorithms over SuiteSparse:GraphBLAS, formulated as LAGraph's are (bench_graph.c).
 *
 * The graph is symmetric, without loops, with weights above 0. What can be known of it before (degrees, the types that
 * an algorithm wants) is made when it is loaded, as LAGraph keeps it with a graph. */
#ifndef DCSR_BENCH_PEER_GRAPH_H
#define DCSR_BENCH_PEER_GRAPH_H

#include "bench/inputs.h"

typedef struct peer_graph {
    void (*load)(const bench_csr *csr, int threads);
    void (*unload)(void);
    /* level[v] is -1 where v is not reached. */
    void (*search)(int32_t *level, uint64_t source);
    void (*components)(uint32_t *component);
    /* Returns the iterations. In single precision if `narrow`. */
    int (*pagerank)(double *rank, double tolerance, bool narrow);
    uint64_t (*triangles)(void);
    void (*clustering)(double *coefficient);
    void (*sssp)(double *distance, uint64_t source, double delta);
    /* The sum of levels from each source. */
    void (*search_many)(double *level_sum, const uint64_t *sources, uint64_t count);
    void (*betweenness)(double *centrality, const uint64_t *sources, uint64_t count);
    /* Returns the number of edges of the k-truss. */
    uint64_t (*ktruss)(uint32_t k);
    void (*kcore)(uint32_t *core);
} peer_graph;

/* NULL where it was not there when the benchmarks were built. */
const peer_graph *peer_graph_get(void);

#endif

/* peer_graph_many.h: what peer_graph.c has in another file. P is the pattern of a symmetric graph without loops. */
#ifndef DCSR_BENCH_PEER_GRAPH_MANY_H
#define DCSR_BENCH_PEER_GRAPH_MANY_H

#include "bench/inputs.h"

#ifdef DCSR_PEER_GRAPHBLAS
#include <GraphBLAS.h>

/* The sum of levels from each source. */
void peer_graph_search_many(double *level_sum, GrB_Matrix P, const uint64_t *sources, uint64_t count);
void peer_graph_betweenness(double *centrality, GrB_Matrix P, const uint64_t *sources, uint64_t count);
/* Returns the number of edges of the k-truss. */
uint64_t peer_graph_ktruss(GrB_Matrix P, uint32_t k);
#endif

#endif

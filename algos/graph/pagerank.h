/* pagerank.h: what PageRank does alike on all devices (internal). */
#ifndef DCSR_GRAPH_PAGERANK_H
#define DCSR_GRAPH_PAGERANK_H

#include "algos/graph/edges.h"
#include <dcsr/graph.h>

/* Where vertices that have settled are left out, every eighth iteration goes over all of them. */
enum { DCSR_I_PAGERANK_FULL = 8 };

/* The caller's options, with the defaults in them. INVALID_ARGUMENT, in the name of the call. */
dcsr_status dcsr_i_pagerank_options(dcsr_pagerank_options *o, const dcsr_pagerank_options *options,
                                    const char *call);
/* The caller's n weights, made to add up to 1. INVALID_ARGUMENT, in the name of the call. */
dcsr_status dcsr_i_pagerank_portions(double *portions, const double *weights, uint64_t n, const char *call);

#endif

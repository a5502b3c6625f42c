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
/* The caller's weights, made to add up to 1, in memory of the host until the end of `in`. INVALID_ARGUMENT. */
dcsr_status dcsr_i_pagerank_portions(double **portions, dcsr_i_edges *in, const double *weights);

#endif

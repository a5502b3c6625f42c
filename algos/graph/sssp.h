/* sssp.h: the two ways to shortest paths (internal). */
#ifndef DCSR_GRAPH_SSSP_H
#define DCSR_GRAPH_SSSP_H

#include "algos/graph/edges.h"
#include <dcsr/graph.h>

/* For edges of any weight, fp64 and not NaN. Writes distances, and what result has about a cycle. */
dcsr_status dcsr_i_sssp_negative(dcsr_i_edges *e, double *distance, dcsr_sssp_result *found, uint64_t source);

#endif

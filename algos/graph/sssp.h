/* sssp.h: the two ways to shortest paths (internal). */
#ifndef DCSR_GRAPH_SSSP_H
#define DCSR_GRAPH_SSSP_H

#include "algos/graph/edges.h"
#include <dcsr/graph.h>

/* For edges of any weight, fp64 and not NaN. Writes distances, and what result has about a cycle. */
dcsr_status dcsr_i_sssp_negative(dcsr_i_edges *e, double *distance, dcsr_sssp_result *found, uint64_t source);

/* INDEX_OUT_OF_RANGE where the source is no vertex; nothing after a failure. */
void dcsr_i_sssp_check_source(dcsr_i_edges *e, uint64_t source);
/* INVALID_ARGUMENT: a weight of the vertex's edges is no number. */
void dcsr_i_sssp_refuse_nan(dcsr_i_edges *e, uint64_t vertex);
/* The width of a bucket: delta, or chosen where that is 0, for weights of this sum. */
double dcsr_i_sssp_width(uint64_t vertices, uint64_t edges, double sum, double delta);

#endif

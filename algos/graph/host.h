/* host.h: algorithms over edges that are in host memory, of one view or of several devices' rows (internal).
 *
 * Arguments have been checked. The first failure stays in e->status, after which nothing is done; outputs are written
 * at the end. */
#ifndef DCSR_GRAPH_HOST_H
#define DCSR_GRAPH_HOST_H

#include "algos/graph/edges.h"
#include <dcsr/graph.h>

/* dcsr_components(). `in` is the same edges from the other side, or NULL; `symmetric`: each edge is there both ways, or
 * `in` is not NULL. */
void dcsr_i_components(dcsr_i_edges *e, const dcsr_i_edges *in, bool symmetric, uint32_t *component,
                       dcsr_components_result *result);
/* dcsr_pagerank(), with options of dcsr_i_pagerank_options(); `degree`, which changes, has how many edges lead from
 * each vertex. */
void dcsr_i_pagerank(dcsr_i_edges *in, double *degree, double *rank, dcsr_pagerank_result *result,
                     const dcsr_pagerank_options *o);
/* dcsr_sssp(). */
void dcsr_i_sssp(dcsr_i_edges *e, double *distance, dcsr_sssp_result *result, uint64_t source, double delta);
/* dcsr_triangles(), where each edge is there from both ends. */
void dcsr_i_triangles(dcsr_i_edges *e, uint64_t *triangles, dcsr_triangles_result *result);

#endif

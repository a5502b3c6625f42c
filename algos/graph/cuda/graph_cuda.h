/* graph_cuda.h: what graph algorithms do on a GPU (internal).
 *
 * The calls of dcsr/graph.h look where the view is, and hand on what is on a device, with arguments that they have
 * checked. Edges come from dcsr_i_edges_on_device(). */
#ifndef DCSR_GRAPH_CUDA_H
#define DCSR_GRAPH_CUDA_H

#include "algos/graph/edges.h"
#include "dcsr/base/cuda.h"
#include <dcsr/bfs.h>
#include <dcsr/graph.h>

typedef struct dcsr_i_graph_engine {
    /* For edges.c. Borrows a stream. */
    dcsr_status (*open)(dcsr_i_edges *e);
    /* Makes CSR of the rows of a view of any layout. */
    dcsr_status (*gather)(dcsr_i_edges *e, dcsr_view *A);
    /* Whether all rows ascend strictly; after a failure, which e->status tells, false. */
    bool (*ascends)(dcsr_i_edges *e);
    /* Frees what is on the device, when all work is done, and returns the stream; may set e->status. */
    void (*close)(dcsr_i_edges *e);

    /* The calls of the same names. */
    dcsr_status (*components)(uint32_t *component, dcsr_components_result *result, dcsr_view *A,
                              const dcsr_graph_options *options);
    /* Of edges there, each once, and those that lead to a vertex. False: nothing was done, as there are paths so long
       that the cpu is faster. e->status tells failures. */
    bool (*strong_components)(dcsr_i_edges *e, const dcsr_i_edges *in, uint32_t *component,
                              dcsr_components_result *result);
    /* Options have their defaults. */
    dcsr_status (*pagerank)(double *rank, dcsr_pagerank_result *result, dcsr_view *A,
                            const dcsr_pagerank_options *options);
    /* If there are negative weights *negative is set, and nothing else is done. */
    dcsr_status (*sssp)(double *distance, dcsr_sssp_result *result, dcsr_view *A, uint64_t source,
                        double delta, bool *negative);
    /* Of edges there, with sources that have been checked; e->status tells failures. */
    void (*bfs_many)(dcsr_i_edges *e, int32_t *level, dcsr_bfs_result *results, uint64_t count,
                     const uint64_t *sources);
    /* The parents for levels, both anywhere. *orphan becomes the first vertex that has a level and no parent, and
       *its_level that; nothing is written then. Without one it stays DCSR_NO_VERTEX. columns: the edges are those that
       lead to a vertex. */
    void (*bfs_parents)(dcsr_i_edges *e, uint32_t *parent, const int32_t *level, bool columns,
                        uint32_t *orphan, int32_t *its_level);
    /* Of edges there, each once, and those that lead to a vertex, which may be the same; found->sources are given. */
    void (*betweenness)(dcsr_i_edges *e, const dcsr_i_edges *in, double *centrality,
                        dcsr_betweenness_result *found, const uint64_t *sources, double scale,
                        const dcsr_betweenness_options *options);
    /* Of edges there in both directions, for the colouring each once; the seed is mixed, arrays may be NULL. */
    void (*independent_set)(dcsr_i_edges *e, bool *member, uint64_t seed, uint64_t *members);
    void (*colouring)(dcsr_i_edges *e, uint32_t *colour, uint64_t seed, uint64_t *colours);
    dcsr_status (*kcore)(uint32_t *core, dcsr_kcore_result *result, dcsr_view *A,
                         const dcsr_graph_options *options);
    /* Of edges there, each once; truss or result may be NULL. */
    void (*ktruss)(dcsr_i_edges *e, dcsr_matrix **truss, dcsr_ktruss_result *result,
                   const dcsr_ktruss_options *options);
    /* Of edges there, each once. own, degree: arrays of the host, by vertex; NULL if nobody asks. */
    dcsr_status (*triangles)(uint64_t *count, dcsr_i_edges *e, uint64_t *own, uint32_t *degree);
} dcsr_i_graph_engine;

/* truss.c: there are too many edges. */
dcsr_status dcsr_i_ktruss_refuse(uint64_t edges);

/* graph_cuda.c; NULL in builds without CUDA. */
extern const dcsr_i_graph_engine dcsr_i_graph_cuda;
static const dcsr_i_graph_engine *const dcsr_i_graph_device = DCSR_I_IN_CUDA(dcsr_i_graph_cuda);

#endif

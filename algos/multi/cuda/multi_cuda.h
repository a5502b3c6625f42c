/* multi_cuda.h: what graph algorithms do on several GPUs (internal).
 *
 * The calls of dcsr/multi.h look where the devices are, and hand on what is on GPUs, with arguments that they have
 * checked. Each is one task of all devices. */
#ifndef DCSR_MULTI_CUDA_H
#define DCSR_MULTI_CUDA_H

#include "dcsr/base/cuda.h"
#include <dcsr/multi.h>

typedef struct dcsr_i_multi_graph {
    /* dcsr_multi_components(). */
    dcsr_status (*components)(uint32_t *component, dcsr_components_result *result, dcsr_multi_view *A,
                              bool symmetric);
    /* dcsr_multi_sssp(), where no weight is negative or NaN; result is not NULL. */
    dcsr_status (*sssp)(double *distance, dcsr_sssp_result *result, dcsr_multi_view *A, uint64_t source,
                        double delta);
    /* dcsr_multi_triangles(), of edges in both directions: of each vertex (own may be NULL), and *all of them. Not
     * *done, where rows do not ascend, or an edge is there twice. */
    dcsr_status (*triangles)(uint64_t *own, uint64_t *all, bool *done, dcsr_multi_view *A);
} dcsr_i_multi_graph;

/* Each in its X_cuda.c. */
dcsr_status dcsr_i_multi_graph_sssp(double *distance, dcsr_sssp_result *result, dcsr_multi_view *A,
                                    uint64_t source, double delta);
dcsr_status dcsr_i_multi_graph_triangles(uint64_t *own, uint64_t *all, bool *done, dcsr_multi_view *A);

/* multi_components_cuda.c; NULL in builds without CUDA. */
extern const dcsr_i_multi_graph dcsr_i_multi_graph_cuda;
static const dcsr_i_multi_graph *const dcsr_i_multi_graph_device = DCSR_I_IN_CUDA(dcsr_i_multi_graph_cuda);

#endif

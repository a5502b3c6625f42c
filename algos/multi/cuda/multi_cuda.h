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
} dcsr_i_multi_graph;

/* multi_components_cuda.c; NULL in builds without CUDA. */
extern const dcsr_i_multi_graph dcsr_i_multi_graph_cuda;
static const dcsr_i_multi_graph *const dcsr_i_multi_graph_device = DCSR_I_IN_CUDA(dcsr_i_multi_graph_cuda);

#endif

/* multi_components.c: weakly connected components on several devices. On the cpu these have one memory, and all of
 * their threads link the rows of all; GPUs link trees of their own (cuda/multi_components_cuda.c). */
#include "algos/graph/edges.h"
#include "algos/multi/cuda/multi_cuda.h"
#include "algos/multi/multi_work.h"

dcsr_status dcsr_multi_components(uint32_t *component, dcsr_components_result *result, dcsr_multi_view *A,
                                  const dcsr_graph_options *options)
{
    static const char call[] = "dcsr_multi_components";
    dcsr_i_multi_work w;
    dcsr_i_edges e;
    if (!component && !result)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                                "dcsr_multi_components: component and result are NULL; give one of them");
    dcsr_i_multi_work_open(&w, A, call);
    if (w.status) return dcsr_i_multi_work_close(&w);
    const bool symmetric = options && options->symmetric;
    if (w.on_gpus) return dcsr_i_multi_graph_device->components(component, result, A, symmetric);
    dcsr_i_edges_of_parts(&e, A, DCSR_I_EDGES_OUT, call);
    dcsr_i_components(&e, NULL, symmetric, component, result);
    return dcsr_i_edges_close(&e);
}

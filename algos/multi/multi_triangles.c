/* multi_triangles.c: triangles on several devices. GPUs count them by lists (cuda/multi_triangles_cuda.c), where edges
 * go both ways and rows ascend; else all threads of the host do, as on one device. */
#include "algos/graph/edges.h"
#include "algos/multi/cuda/multi_cuda.h"
#include "algos/multi/multi_work.h"
#include <string.h>

static dcsr_status count_on_host(uint64_t *triangles, dcsr_triangles_result *result, dcsr_multi_view *A,
                                 bool symmetric)
{
    dcsr_i_edges e;
    dcsr_i_edges_of_parts(&e, A, symmetric ? DCSR_I_EDGES_OUT : DCSR_I_EDGES_BOTH, "dcsr_multi_triangles");
    dcsr_i_triangles(&e, triangles, result);
    return dcsr_i_edges_close(&e);
}

/* *done: not where rows do not ascend, or have an edge twice. */
static dcsr_status count_on_gpus(uint64_t *triangles, dcsr_triangles_result *result, bool *done,
                                 const dcsr_i_multi_work *w)
{
    uint64_t *made = NULL, all = 0;
    if (triangles) {
        made = dcsr_context_allocate(w->context, w->n, sizeof *made);
        if (!made) return dcsr_thread_status();
    }
    const dcsr_status status = dcsr_i_multi_graph_device->triangles(made, &all, done, w->A);
    if (!status && *done && made) memcpy(triangles, made, w->n * sizeof *made);
    if (!status && *done && result) result->triangles = all;
    if (made) dcsr_context_free(w->context, made, w->n, sizeof *made);
    return status;
}

dcsr_status dcsr_multi_triangles(uint64_t *triangles, dcsr_triangles_result *result, dcsr_multi_view *A,
                                 const dcsr_graph_options *options)
{
    const bool symmetric = options && options->symmetric;
    dcsr_i_multi_work w;
    bool done = false;
    if (!triangles && !result)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                                "dcsr_multi_triangles: triangles and result are NULL; give one of them");
    dcsr_i_multi_work_open(&w, A, "dcsr_multi_triangles");
    if (!w.status && symmetric && w.on_gpus) w.status = count_on_gpus(triangles, result, &done, &w);
    if (!w.status && !done) w.status = count_on_host(triangles, result, A, symmetric);
    return dcsr_i_multi_work_close(&w);
}

/* kcore_cuda.c: core numbers on a device: their memory. */
#include "algos/graph/cuda/graph_stages.h"

dcsr_status dcsr_i_graph_kcore(uint32_t *core, dcsr_kcore_result *result, dcsr_view *A,
                               const dcsr_graph_options *options)
{
    dcsr_i_edges e;
    dcsr_i_graph_peel_counts found = {.vertices = 0};
    dcsr_i_edges_on_device(&e, A, DCSR_I_EDGES_ONCE, options && options->symmetric, "dcsr_kcore");
    const uint64_t n = e.vertices;
    dcsr_i_graph_peeling p = {.degree = dcsr_i_graph_take(&e, n, sizeof *p.degree)};
    p.core = dcsr_i_graph_take(&e, n, sizeof *p.core);
    for (int i = 0; i < 2; i++) p.left[i] = dcsr_i_graph_take(&e, n, sizeof **p.left);
    for (int i = 0; i < 2; i++) p.now[i] = dcsr_i_graph_take(&e, n, sizeof **p.now);
    p.part = dcsr_i_graph_take(&e, DCSR_GRAPH_PARTS(e.count), sizeof *p.part);
    p.counts = dcsr_i_graph_take(&e, 1, sizeof *p.counts);
    if (!e.status) {
        p.edges = dcsr_i_graph_rows(&e);
        dcsr_i_graph_peel(e.stream, &p);
        dcsr_i_graph_read(&e, &found, p.counts, sizeof found);
    }
    if (core) dcsr_i_graph_give(&e, core, p.core, n * sizeof *core);
    if (dcsr_i_edges_close(&e)) return e.status;
    if (result) *result = (dcsr_kcore_result){.largest = found.largest, .vertices = found.vertices};
    return DCSR_OK;
}

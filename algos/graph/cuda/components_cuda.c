/* components_cuda.c: weakly connected components on a device (Afforest), in the order of components.c. */
#include "algos/graph/cuda/graph_stages.h"

enum { ROUNDS = 2 };

dcsr_status dcsr_i_graph_components(uint32_t *component, dcsr_components_result *result, dcsr_view *A,
                                    const dcsr_graph_options *options)
{
    dcsr_i_edges out, in = {0};
    const bool symmetric = options && options->symmetric;
    dcsr_i_edges_on_device(&out, A, DCSR_I_EDGES_OUT, false, "dcsr_components");
    const bool both = !symmetric && out.layout == DCSR_LAYOUT_CSC;
    if (!out.status && both)
        out.status = dcsr_i_edges_on_device(&in, A, DCSR_I_EDGES_IN, false, "dcsr_components");
    const uint64_t n = out.vertices;
    uint32_t *parent = dcsr_i_graph_take(&out, n, sizeof *parent);
    uint32_t *size = dcsr_i_graph_take(&out, result ? n : 0, sizeof *size);
    uint32_t *frequent = dcsr_i_graph_take(&out, 1, sizeof *frequent);
    dcsr_i_graph_sizes *sizes = dcsr_i_graph_take(&out, 1, sizeof *sizes), found = {0};
    if (!out.status) {
        const dcsr_i_cuda_rows edges = dcsr_i_graph_rows(&out);
        const dcsr_i_cuda_walk all = {edges, NULL, edges.rows, edges.offsets};
        dcsr_i_graph_plant(out.stream, parent, n);
        for (uint64_t round = 0; round < ROUNDS; round++) {
            dcsr_i_graph_link_round(out.stream, parent, edges, 0, round);
            dcsr_i_graph_flatten(out.stream, parent, n);
        }
        dcsr_i_graph_sample(out.stream, parent, n, frequent);
        dcsr_i_graph_link(out.stream, parent, &all, 0, symmetric || both ? frequent : NULL);
        if (both) {
            const dcsr_i_cuda_rows back = dcsr_i_graph_rows(&in);
            const dcsr_i_cuda_walk all_back = {back, NULL, back.rows, back.offsets};
            dcsr_i_graph_link(out.stream, parent, &all_back, 0, frequent);
        }
        dcsr_i_graph_flatten(out.stream, parent, n);
        if (result) {
            dcsr_i_graph_sample(out.stream, parent, n, frequent);
            dcsr_i_graph_measure(out.stream, parent, n, size, frequent, sizes);
            dcsr_i_graph_read(&out, &found, sizes, sizeof found);
        }
        if (component) dcsr_i_graph_give(&out, component, parent, n * sizeof *component);
    }
    if (in.stream && dcsr_i_edges_close(&in) && !out.status) out.status = in.status;
    if (dcsr_i_edges_close(&out)) return out.status;
    if (result)
        *result = (dcsr_components_result){.components = found.components,
                                           .largest = found.largest >> 32,
                                           .largest_name = n ? UINT32_MAX - (uint32_t)found.largest : 0};
    return DCSR_OK;
}

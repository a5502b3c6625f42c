/* components_cuda.c: connected components on a device: weakly, in the order of components.c, and strongly. */
#include "algos/graph/cuda/graph_stages.h"

enum { ROUNDS = 2 };

/* Counts components, of which each has the name of its least vertex. */
static void count_components(dcsr_i_edges *e, const uint32_t *component, dcsr_components_result *result)
{
    const uint64_t n = e->vertices;
    uint32_t *size = dcsr_i_graph_take(e, n, sizeof *size);
    uint32_t *frequent = dcsr_i_graph_take(e, 1, sizeof *frequent);
    dcsr_i_graph_sizes *sizes = dcsr_i_graph_take(e, 1, sizeof *sizes), found = {0};
    if (e->status) return;
    dcsr_i_graph_sample(e->stream, component, n, frequent);
    dcsr_i_graph_measure(e->stream, component, n, size, frequent, sizes);
    dcsr_i_graph_read(e, &found, sizes, sizeof found);
    *result = (dcsr_components_result){.components = found.components,
                                       .largest = found.largest >> 32,
                                       .largest_name = n ? UINT32_MAX - (uint32_t)found.largest : 0};
}

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
    uint32_t *frequent = dcsr_i_graph_take(&out, 1, sizeof *frequent);
    dcsr_components_result found = {0};
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
        if (result) count_components(&out, parent, &found);
        if (component) dcsr_i_graph_give(&out, component, parent, n * sizeof *component);
    }
    if (in.stream && dcsr_i_edges_close(&in) && !out.status) out.status = in.status;
    if (dcsr_i_edges_close(&out)) return out.status;
    if (result) *result = found;
    return DCSR_OK;
}

/* ---- Strongly connected ---- */

static void take(dcsr_i_edges *e, const dcsr_i_edges *in, dcsr_i_graph_strong *s)
{
    const uint64_t n = e->vertices;
    s->component = dcsr_i_graph_take(e, n, sizeof *s->component);
    s->label = dcsr_i_graph_take(e, n, sizeof *s->label);
    s->mark = dcsr_i_graph_take(e, n, sizeof *s->mark);
    for (int i = 0; i < 2; i++) s->left[i] = dcsr_i_graph_take(e, n, sizeof **s->left);
    for (int i = 0; i < 2; i++) s->list[i] = dcsr_i_graph_take(e, n, sizeof **s->list);
    s->part = dcsr_i_graph_take(e, DCSR_GRAPH_PARTS(e->count), sizeof *s->part);
    s->counts = dcsr_i_graph_take(e, 1, sizeof *s->counts);
    s->out = dcsr_i_graph_rows(e);
    s->in = dcsr_i_graph_rows(in);
}

bool dcsr_i_graph_strong_components(dcsr_i_edges *e, const dcsr_i_edges *in, uint32_t *component,
                                    dcsr_components_result *result)
{
    const uint64_t n = e->vertices;
    dcsr_i_graph_strong s = {.mark = NULL};
    dcsr_i_graph_strong_counts counts;
    dcsr_components_result found = {0};
    if (n > DCSR_GRAPH_MOST_LABELS) return false;
    take(e, in, &s);
    if (e->status) return true;
    dcsr_i_graph_trim(e->stream, &s, n, true);
    for (bool one = true;; one = false) {
        if (dcsr_i_graph_read(e, &counts, s.counts, sizeof counts)) return true;
        if (counts.steps >= DCSR_GRAPH_STEPS) return false;
        if (!counts.left[0]) break;
        dcsr_i_graph_take_strong(e->stream, &s, counts.left[0], one);
        dcsr_i_graph_trim(e->stream, &s, counts.left[0], false);
    }
    dcsr_i_graph_name_strong(e->stream, &s);
    if (result) count_components(e, s.component, &found);
    if (component) dcsr_i_graph_give(e, component, s.component, n * sizeof *component);
    if (result && !e->status) *result = found;
    return true;
}

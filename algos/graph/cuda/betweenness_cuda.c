/* betweenness_cuda.c: betweenness on a device: memory, and sources some at a time. */
#include "algos/graph/cuda/graph_stages.h"

static void take(dcsr_i_edges *e, dcsr_i_graph_between *b)
{
    const uint64_t n = e->vertices, rows = n * b->width;
    for (int k = 0; k < 4; k++) b->bits[k] = dcsr_i_graph_take(e, n, sizeof **b->bits);
    b->seen = dcsr_i_graph_take(e, n, sizeof *b->seen);
    b->paths = dcsr_i_graph_take(e, rows, sizeof *b->paths);
    b->power = dcsr_i_graph_take(e, rows, sizeof *b->power);
    b->vertex = dcsr_i_graph_take(e, rows, sizeof *b->vertex);
    b->listed = dcsr_i_graph_take(e, rows, sizeof *b->listed);
    b->begin = dcsr_i_graph_take(e, n + 2, sizeof *b->begin);
    b->centrality = dcsr_i_graph_take(e, n, sizeof *b->centrality);
    b->part = dcsr_i_graph_take(e, DCSR_GRAPH_PARTS(e->count), sizeof *b->part);
    b->is_long = dcsr_i_graph_take(e, DCSR_GRAPH_PARTS(e->count), sizeof *b->is_long);
    b->counts = dcsr_i_graph_take(e, 1, sizeof *b->counts);
}

void dcsr_i_graph_betweenness(dcsr_i_edges *e, const dcsr_i_edges *in, double *centrality,
                              dcsr_betweenness_result *found, const uint64_t *sources, double scale,
                              const dcsr_betweenness_options *options)
{
    enum { MOST = DCSR_GRAPH_BETWEEN };
    const uint64_t n = e->vertices, count = found->sources;
    dcsr_i_graph_between b = {.width = 1};
    dcsr_i_graph_between_counts counts = {.most_levels = 0};
    while (b.width < MOST && b.width < count) b.width *= 2;
    take(e, &b);
    if (e->status) return;
    b.out = dcsr_i_graph_rows(e);
    b.in = dcsr_i_graph_rows(in);
    dcsr_i_cuda_fill(e->stream, b.centrality, 0, n * sizeof *b.centrality);
    dcsr_i_cuda_fill(e->stream, b.counts, 0, sizeof *b.counts);
    for (uint64_t first = 0; first < count && !e->status; first += MOST) {
        b.count = count - first < MOST ? (uint32_t)(count - first) : (uint32_t)MOST;
        for (uint32_t k = 0; k < b.count; k++) b.source[k] = (uint32_t)sources[first + k];
        dcsr_i_graph_search_between(e->stream, &b);
        dcsr_i_graph_read(e, &counts, b.counts, sizeof counts);
        if (options->progress && !e->status) options->progress(options->user, first + b.count, count);
    }
    if (counts.most_levels) found->max_level = counts.most_levels - 1;
    if (!e->status) dcsr_i_graph_scale(e->stream, b.centrality, scale, n);
    dcsr_i_graph_give(e, centrality, b.centrality, n * sizeof *centrality);
}

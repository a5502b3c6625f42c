/* greedy_cuda.c: independent sets and colourings on a device: memory, and rounds that are launched ahead. */
#include "algos/graph/cuda/graph_stages.h"

void dcsr_i_graph_independent_set(dcsr_i_edges *e, bool *member, uint64_t seed, uint64_t *members)
{
    const uint64_t n = e->vertices;
    uint32_t waiting = 0, taken = 0;
    dcsr_i_graph_choice c = {.seed = seed};
    c.state = dcsr_i_graph_take(e, n, sizeof *c.state);
    c.passed = dcsr_i_graph_take(e, n, sizeof *c.passed);
    for (int i = 0; i < 2; i++) c.waiting[i] = dcsr_i_graph_take(e, n, sizeof **c.waiting);
    c.count = dcsr_i_graph_take(e, DCSR_GRAPH_ROUNDS + 1, sizeof *c.count);
    if (e->status) return;
    c.edges = dcsr_i_graph_rows(e);
    dcsr_i_graph_decide(e->stream, &c, n, true);
    while (!dcsr_i_graph_read(e, &waiting, c.count + DCSR_GRAPH_ROUNDS, sizeof waiting) && waiting)
        dcsr_i_graph_decide(e->stream, &c, waiting, false);
    if (e->status) return;
    dcsr_i_graph_count_members(e->stream, &c);
    dcsr_i_graph_read(e, &taken, c.count, sizeof taken);
    *members = taken;
    if (member) dcsr_i_graph_give(e, member, c.state, n * sizeof *member);
}

void dcsr_i_graph_colouring(dcsr_i_edges *e, uint32_t *colour, uint64_t seed, uint64_t *colours)
{
    const uint64_t n = e->vertices;
    dcsr_i_graph_paint_counts found = {.colours = 0};
    dcsr_i_graph_painting p = {.seed = seed};
    p.key = dcsr_i_graph_take(e, n, sizeof *p.key);
    p.colour = dcsr_i_graph_take(e, n, sizeof *p.colour);
    p.pending = dcsr_i_graph_take(e, n, sizeof *p.pending);
    for (int i = 0; i < 2; i++) p.few[i] = dcsr_i_graph_take(e, n, sizeof **p.few);
    for (int i = 0; i < 2; i++) p.many[i] = dcsr_i_graph_take(e, DCSR_GRAPH_PARTS(e->count), sizeof **p.many);
    p.counts = dcsr_i_graph_take(e, 1, sizeof *p.counts);
    if (e->status) return;
    p.edges = dcsr_i_graph_rows(e);
    dcsr_i_graph_paint(e->stream, &p);
    dcsr_i_graph_read(e, &found, p.counts, sizeof found);
    *colours = found.colours;
    if (colour) dcsr_i_graph_give(e, colour, p.colour, n * sizeof *colour);
}

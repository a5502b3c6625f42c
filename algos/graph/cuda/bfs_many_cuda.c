/* bfs_many_cuda.c: searches from many vertices on a device, 64 at a time, and the tree of one: their memory. */
#include "algos/graph/cuda/graph_stages.h"

/* From up to 64 sources. */
static void search_from(dcsr_i_edges *e, dcsr_i_graph_many *m, int32_t *level, dcsr_bfs_result *results,
                        const uint64_t *sources, uint64_t count)
{
    dcsr_i_graph_many_counts found;
    for (uint64_t k = 0; k < count; k++) m->source[k] = (uint32_t)sources[k];
    dcsr_i_graph_search_many(e->stream, m, count);
    dcsr_i_graph_read(e, &found, m->counts, sizeof found);
    if (level) dcsr_i_graph_give(e, level, m->level, count * e->vertices * sizeof *level);
    for (uint64_t k = 0; k < count && results && !e->status; k++)
        results[k] = (dcsr_bfs_result){.reached = found.result[k].reached,
                                       .max_level = found.result[k].max_level,
                                       .level_sum = found.result[k].level_sum,
                                       .edges = found.result[k].edges};
}

void dcsr_i_graph_bfs_many(dcsr_i_edges *e, int32_t *level, dcsr_bfs_result *results, uint64_t count,
                           const uint64_t *sources)
{
    enum { MOST = DCSR_GRAPH_MANY };
    const uint64_t n = e->vertices, together = count < MOST ? count : (uint64_t)MOST;
    dcsr_i_graph_many m = {.seen = dcsr_i_graph_take(e, n, sizeof *m.seen)};
    m.visit = dcsr_i_graph_take(e, n, sizeof *m.visit);
    m.next = dcsr_i_graph_take(e, n, sizeof *m.next);
    for (int i = 0; i < 2; i++) m.list[i] = dcsr_i_graph_take(e, n, sizeof **m.list);
    m.part = dcsr_i_graph_take(e, DCSR_GRAPH_PARTS(e->count), sizeof *m.part);
    m.counts = dcsr_i_graph_take(e, 1, sizeof *m.counts);
    if (level) m.level = dcsr_i_graph_take(e, together * n, sizeof *m.level);
    if (e->status) return;
    m.edges = dcsr_i_graph_rows(e);
    for (uint64_t first = 0; first < count && !e->status; first += MOST)
        search_from(e, &m, level ? level + first * n : NULL, results ? results + first : NULL,
                    sources + first, count - first < MOST ? count - first : (uint64_t)MOST);
}

void dcsr_i_graph_bfs_parents(dcsr_i_edges *e, uint32_t *parent, const int32_t *level, bool columns,
                              uint32_t *orphan, int32_t *its_level)
{
    const uint64_t n = e->vertices;
    int32_t *levels = dcsr_i_graph_take(e, n, sizeof *levels);
    uint32_t *made = dcsr_i_graph_take(e, n, sizeof *made), *first = dcsr_i_graph_take(e, 1, sizeof *first);
    if (e->status) return;
    dcsr_i_cuda_copy(e->stream, levels, level, n * sizeof *level);
    dcsr_i_graph_find_parents(e->stream, dcsr_i_graph_rows(e), columns, levels, made, first);
    if (dcsr_i_graph_read(e, orphan, first, sizeof *orphan)) return;
    if (*orphan != DCSR_NO_VERTEX)
        dcsr_i_graph_read(e, its_level, levels + *orphan, sizeof *its_level);
    else
        dcsr_i_graph_give(e, parent, made, n * sizeof *made);
}

/* triangles_cuda.c: triangles on a device: which edges each vertex keeps, and memory. */
#include "algos/graph/cuda/graph_stages.h"
#include "dcsr/device/prim_cuda.h"

void dcsr_i_graph_make_lists(dcsr_i_edges *e, dcsr_i_graph_lists *l)
{
    const uint64_t n = e->vertices;
    uint64_t kept = 0;
    l->edges = dcsr_i_graph_rows(e);
    l->first = 0;
    l->end = n;
    l->length = dcsr_i_graph_take(e, n, sizeof *l->length);
    l->begin = dcsr_i_graph_take(e, n + 1, sizeof *l->begin);
    l->is_long = dcsr_i_graph_take(e, n, sizeof *l->is_long);
    l->counts = dcsr_i_graph_take(e, 1, sizeof *l->counts);
    if (e->status) return;
    dcsr_i_graph_count_lists(e->stream, l);
    e->status = dcsr_i_cuda_scan_u32(e->stream, l->length, l->begin, n);
    dcsr_i_graph_read(e, &kept, l->begin + n, sizeof kept);
    l->member = dcsr_i_graph_take(e, kept, sizeof *l->member);
    if (l->number) l->edge = dcsr_i_graph_take(e, kept, sizeof *l->edge);
    if (!e->status) dcsr_i_graph_fill_lists(e->stream, l);
}

dcsr_status dcsr_i_graph_triangles(uint64_t *count, dcsr_i_edges *e, uint64_t *own, uint32_t *degree)
{
    const uint64_t n = e->vertices;
    dcsr_i_graph_lists l = {.own = own ? dcsr_i_graph_take(e, n, sizeof *own) : NULL,
                            .degree = degree ? dcsr_i_graph_take(e, n, sizeof *degree) : NULL};
    dcsr_i_graph_triangle_counts counts = {0};
    dcsr_i_graph_make_lists(e, &l);
    if (e->status) return e->status;
    dcsr_i_graph_count_triangles(e->stream, &l);
    if (own) dcsr_i_graph_give(e, own, l.own, n * sizeof *own);
    if (degree) dcsr_i_graph_give(e, degree, l.degree, n * sizeof *degree);
    dcsr_i_graph_read(e, &counts, l.counts, sizeof counts);
    *count = counts.triangles;
    return e->status;
}

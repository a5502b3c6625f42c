/* pagerank_cuda.c: PageRank on a device: memory, and iterations that are launched ahead. */
#include "algos/graph/cuda/graph_stages.h"
#include "algos/graph/pagerank.h"
#include "dcsr/store/rowtable.h"

/* Iterations between two looks at how far they are. */
enum { AHEAD = 8 };

static const double *bring(dcsr_i_edges *in, const double *weights)
{
    if (!weights) return NULL;
    double *portions = dcsr_i_edges_take(in, in->vertices, sizeof *portions);
    if (!in->status) in->status = dcsr_i_pagerank_portions(portions, weights, in->vertices, in->call);
    if (in->status) return NULL;
    double *there = dcsr_i_graph_take(in, in->vertices, sizeof *there);
    if (there) dcsr_i_graph_give(in, there, portions, in->vertices * sizeof *there);
    return there;
}

static void iterate(dcsr_i_edges *in, const dcsr_i_graph_walk *w, dcsr_i_graph_iteration *now)
{
    dcsr_i_graph_begin_walk(in->stream, w);
    while (!dcsr_i_graph_read(in, now, w->now, sizeof *now) && !now->done)
        for (int k = 0; k < AHEAD; k++) dcsr_i_graph_step(in->stream, w, now->hubs);
}

dcsr_status dcsr_i_graph_pagerank(double *rank, dcsr_pagerank_result *result, dcsr_view *A,
                                  const dcsr_pagerank_options *options)
{
    dcsr_i_edges in;
    dcsr_i_edges_on_device(&in, A, options->symmetric ? DCSR_I_EDGES_OUT : DCSR_I_EDGES_IN, false,
                           "dcsr_pagerank");
    const uint64_t n = in.vertices;
    dcsr_i_graph_walk w = {.in = dcsr_i_graph_rows(&in),
                           .damping = options->damping,
                           .tolerance = options->tolerance,
                           .adaptive = options->adaptive,
                           .full = DCSR_I_PAGERANK_FULL,
                           .most = (uint32_t)options->max_iterations,
                           .portions = bring(&in, options->personal)};
    w.rank = dcsr_i_graph_take(&in, n, sizeof *w.rank);
    for (int i = 0; i < 2; i++) w.handed[i] = dcsr_i_graph_take(&in, n, sizeof *w.rank);
    w.degree = dcsr_i_graph_take(&in, n, sizeof *w.degree);
    w.settled = dcsr_i_graph_take(&in, n, sizeof *w.settled);
    w.hub = dcsr_i_graph_take(&in, n, sizeof *w.hub);
    w.pulled = dcsr_i_graph_take(&in, n, sizeof *w.pulled);
    w.block = dcsr_i_graph_take(&in, DCSR_GRAPH_BLOCKS, sizeof *w.block);
    w.now = dcsr_i_graph_take(&in, 1, sizeof *w.now);
    dcsr_i_graph_iteration now = {.done = 1};
    if (!in.status && n) {
        const dcsr_i_cuda_rows *out = &dcsr_i_view_rows(A)->device;
        /* Rows may hold edges that the columns do not show as often. */
        if (out->stored == in.count)
            dcsr_i_graph_degrees_of_rows(in.stream, &w, *out);
        else
            dcsr_i_graph_degrees_of_ends(in.stream, &w);
        iterate(&in, &w, &now);
        dcsr_i_graph_give(&in, rank, w.rank, n * sizeof *rank);
    }
    if (dcsr_i_edges_close(&in)) return in.status;
    if (result)
        *result = (dcsr_pagerank_result){.iterations = (int)now.count,
                                         .converged = now.done == 1,
                                         .change = now.sums.change,
                                         .dangling = now.dangling};
    return DCSR_OK;
}

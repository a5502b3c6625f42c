/* sssp_cuda.c: shortest paths on a device: weights, memory, and rounds that are launched ahead. */
#include "algos/graph/cuda/graph_stages.h"
#include "algos/graph/cuda/sssp_stages.h"
#include "algos/graph/sssp.h"
#include <math.h>
#include <string.h>

/* AHEAD: turns of one block and of all that are launched before the host looks. WIDE: what limits are raised by, in
 * widths that suit the cpu, since a round takes about as long whatever is near: on grids 8 to 64 of them take half as
 * long as one, on R-MAT graphs hardly longer. */
enum { AHEAD = 2, WIDE = 16 };

/* Makes the values fp64. */
static void make_weights(dcsr_i_edges *e)
{
    if (e->status || e->type == DCSR_FP64) return;
    double *weights = dcsr_i_graph_take(e, e->count, sizeof *weights);
    if (!weights) return;
    dcsr_i_graph_convert(e->stream, weights, e->values, e->type, e->count);
    e->values = weights;
    e->type = DCSR_FP64;
    e->size = sizeof *weights;
}

static void look_at_weights(dcsr_i_edges *e, dcsr_i_graph_weights *weights)
{
    dcsr_i_graph_weights *there = dcsr_i_graph_take(e, 1, sizeof *there);
    if (!there) return;
    dcsr_i_graph_weigh(e->stream, dcsr_i_graph_rows(e), there);
    if (!dcsr_i_graph_read(e, weights, there, sizeof *weights) && weights->nan != UINT64_MAX)
        dcsr_i_sssp_refuse_nan(e, weights->nan);
}

static void search(dcsr_i_edges *e, dcsr_i_graph_search *s, uint64_t source, dcsr_i_graph_piles *piles)
{
    const uint64_t n = e->vertices;
    s->edges = dcsr_i_graph_rows(e);
    s->distance = dcsr_i_graph_take(e, n, sizeof *s->distance);
    s->mark = dcsr_i_graph_take(e, n, sizeof *s->mark);
    s->is_far = dcsr_i_graph_take(e, (n + 31) / 32, sizeof *s->is_far);
    for (int i = 0; i < 2; i++) s->near[i] = dcsr_i_graph_take(e, n, sizeof **s->near);
    for (int i = 0; i < 2; i++) s->far[i] = dcsr_i_graph_take(e, n, sizeof **s->far);
    s->part = dcsr_i_graph_take(e, DCSR_GRAPH_PARTS(e->count), sizeof *s->part);
    s->piles = dcsr_i_graph_take(e, 1, sizeof *s->piles);
    s->counts = dcsr_i_graph_take(e, 1, sizeof *s->counts);
    if (e->status) return;
    dcsr_i_graph_begin_search(e->stream, s, source);
    do {
        for (int k = 0; k < AHEAD; k++) {
            dcsr_i_graph_relax_few(e->stream, s);
            dcsr_i_graph_relax_all(e->stream, s);
        }
    } while (!dcsr_i_graph_read(e, piles, s->piles, sizeof *piles) && (piles->near || piles->far));
    dcsr_i_graph_end_search(e->stream, s);
    dcsr_i_graph_read(e, piles, s->piles, sizeof *piles);
}

dcsr_status dcsr_i_graph_sssp(double *distance, dcsr_sssp_result *result, dcsr_view *A, uint64_t source,
                              double delta, bool *negative)
{
    dcsr_i_edges e;
    dcsr_i_graph_weights weights = {.nan = UINT64_MAX};
    dcsr_i_graph_piles piles = {.near = 0};
    dcsr_i_edges_on_device(&e, A, DCSR_I_EDGES_OUT, false, "dcsr_sssp");
    dcsr_i_sssp_check_source(&e, source);
    make_weights(&e);
    look_at_weights(&e, &weights);
    *negative = weights.negative;
    if (!e.status && !weights.negative) {
        dcsr_i_graph_search s = {
            .delta = delta > 0 ? delta : WIDE * dcsr_i_sssp_width(e.vertices, e.count, weights.sum, 0)};
        search(&e, &s, source, &piles);
        if (!e.status) dcsr_i_graph_give(&e, distance, s.distance, e.vertices * sizeof *distance);
    }
    if (dcsr_i_edges_close(&e) || weights.negative) return e.status;
    if (result) {
        *result = (dcsr_sssp_result){.reached = piles.reached};
        memcpy(&result->farthest, &piles.farthest, sizeof result->farthest);
    }
    return DCSR_OK;
}

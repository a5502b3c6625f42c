/* regroup.cu: aggregates and T where strength has changed, for nodes of single rows: what regroup.c does. */
#include "amg/cuda/sets.cuh"
#include <math.h>

#define NO UINT32_MAX

typedef dcsr_i_amg_cuda_rows level_rows;
typedef dcsr_i_amg_cuda_regrouping regrouping;

DCSR_CUDA_INLINE bool is_alone(const level_rows &R, const uint32_t *aggregate, uint64_t block, uint64_t row,
                               uint64_t node)
{
    for (uint64_t e = R.begin[row]; e < R.end[row]; e++) {
        const uint64_t other = block == 1 ? R.columns[e] : R.columns[e] / block;
        if (other != node && aggregate[other] == aggregate[node]) return false;
    }
    return true;
}

static __global__ void check_aggregates(dcsr_i_amg_cuda_prolongation p, level_rows R,
                                        dcsr_i_amg_cuda_set moved, dcsr_i_amg_cuda_set parts)
{
    const dcsr_i_amg_cuda_graph &g = p.graph;
    for (uint64_t k = dcsr_i_cuda_first(); k < g.count; k += dcsr_i_cuda_step()) {
        const uint64_t node = g.list[k];
        const uint32_t *next = g.nodes + g.begin[k], length = g.length[k], a = p.aggregate[node];
        bool inside = false;
        if (a == NO && length) dcsr_i_amg_cuda_add(moved, node);
        if (a == NO) continue;
        for (uint32_t e = 0; e < length && !inside; e++) inside = p.aggregate[next[e]] == a;
        if (inside || (length && is_alone(R, p.aggregate, p.block, a * p.vectors, node))) continue;
        dcsr_i_amg_cuda_add(parts, a);
    }
}

void dcsr_i_amg_cuda_check_aggregates(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_prolongation *p,
                                      const dcsr_i_amg_cuda_rows *R, const dcsr_i_amg_cuda_set *moved,
                                      const dcsr_i_amg_cuda_set *parts)
{
    dcsr_i_cuda_launch(stream, check_aggregates, p->graph.count, *p, *R, *moved, *parts);
}

/* ---- Leaving ---- */

DCSR_CUDA_INLINE bool is_strong(const regrouping &g, uint64_t i, uint64_t e)
{
    const uint32_t j = g.A.columns[e];
    return j != i && g.A.values[e] * g.A.values[e] > g.theta2 * fabs(g.diagonal[i] * g.diagonal[j]);
}

DCSR_CUDA_INLINE bool leaves(const regrouping &g, uint32_t node, uint32_t a)
{
    bool any = false;
    for (uint64_t e = g.A.begin[node]; e < g.A.end[node]; e++) {
        if (!is_strong(g, node, e)) continue;
        if (g.aggregate[g.A.columns[e]] == a) return false;
        any = true;
    }
    return !any || !is_alone(g.R, g.aggregate, 1, a, node);
}

/* Aggregates lose their nodes each by itself: a thread has one, and looks until nobody leaves any more. */
static __global__ void dissolve(regrouping g, uint64_t parts)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < parts; k += dcsr_i_cuda_step()) {
        const uint32_t a = g.parts.list[k];
        for (bool again = true; again;) {
            again = false;
            for (uint64_t e = g.R.begin[a]; e < g.R.end[a]; e++) {
                const uint32_t node = g.R.columns[e];
                if (g.aggregate[node] != a || !leaves(g, node, a)) continue;
                dcsr_i_amg_cuda_keep_half(g.log, g.aggregate + node);
                g.aggregate[node] = NO;
                dcsr_i_amg_cuda_add(g.moved, node);
                again = true;
            }
        }
    }
}

/* Nodes that had none before; `wanting` is how many of the list they are. */
static __global__ void note_wanting(regrouping g, uint64_t wanting)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < wanting; k += dcsr_i_cuda_step())
        dcsr_i_amg_cuda_keep_half(g.log, g.aggregate + g.moved.list[k]);
}

void dcsr_i_amg_cuda_dissolve(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_regrouping *g,
                              uint64_t wanting, uint64_t parts)
{
    dcsr_i_cuda_launch(stream, note_wanting, wanting, *g, wanting);
    dcsr_i_cuda_launch(stream, dissolve, parts, *g, parts);
}

/* ---- Joining ---- */

static __global__ void choose(regrouping g, uint64_t moved, uint32_t *joined, uint64_t *left)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < moved; k += dcsr_i_cuda_step()) {
        const uint32_t node = g.moved.list[k];
        uint32_t found = NO;
        bool any = false;
        joined[k] = NO;
        if (g.aggregate[node] != NO) continue;
        for (uint64_t e = g.A.begin[node]; e < g.A.end[node] && found == NO; e++) {
            if (!is_strong(g, node, e)) continue;
            any = true;
            found = g.aggregate[g.A.columns[e]];
        }
        joined[k] = found;
        if (any && found == NO) dcsr_i_amg_cuda_count(left, 1);
    }
}

static __global__ void join(regrouping g, uint64_t moved, const uint32_t *joined)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < moved; k += dcsr_i_cuda_step()) {
        if (joined[k] == NO) continue;
        g.aggregate[g.moved.list[k]] = joined[k];
        dcsr_i_amg_cuda_add(g.parts, joined[k]);
    }
}

void dcsr_i_amg_cuda_join(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_regrouping *g, uint64_t moved,
                          uint32_t *joined, uint64_t *left)
{
    dcsr_i_cuda_fill(stream, left, 0, sizeof *left);
    dcsr_i_cuda_launch(stream, choose, moved, *g, moved, joined, left);
    dcsr_i_cuda_launch(stream, join, moved, *g, moved, joined);
}

/* ---- T ---- */

static __global__ void add_aggregates(regrouping g, const uint32_t *nodes, uint64_t count)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < count; k += dcsr_i_cuda_step())
        if (g.aggregate[nodes[k]] != NO) dcsr_i_amg_cuda_add(g.parts, g.aggregate[nodes[k]]);
}

static __global__ void list_members(regrouping g)
{
    const uint64_t parts = *g.parts.count;
    for (uint64_t k = dcsr_i_cuda_first_warp(); k < parts; k += dcsr_i_cuda_warp_step()) {
        const uint32_t a = g.parts.list[k];
        for (uint64_t e = g.R.begin[a] + dcsr_i_cuda_lane(); e < g.R.end[a]; e += 32)
            if (g.aggregate[g.R.columns[e]] == a) dcsr_i_amg_cuda_add(g.members, g.R.columns[e]);
    }
}

static __global__ void add_moved(regrouping g)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < *g.moved.count; k += dcsr_i_cuda_step())
        if (g.aggregate[g.moved.list[k]] != NO) dcsr_i_amg_cuda_add(g.members, g.moved.list[k]);
}

void dcsr_i_amg_cuda_list_members(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_regrouping *g,
                                  const uint32_t *nodes, uint64_t count)
{
    dcsr_i_cuda_launch(stream, add_aggregates, count, *g, nodes, count);
    dcsr_i_cuda_launch_warps(stream, list_members, g->R.rows, *g);
    dcsr_i_cuda_launch(stream, add_moved, g->A.rows, *g);
}

static __global__ void key_members(regrouping g, uint64_t count, const uint32_t *slot, uint64_t *keys)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < count; k += dcsr_i_cuda_step()) {
        const uint32_t node = g.members.list[k];
        keys[k] = (uint64_t)slot[g.aggregate[node]] << 32 | node;
    }
}

void dcsr_i_amg_cuda_key_members(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_regrouping *g,
                                 uint64_t count, const uint32_t *slot, uint64_t *keys)
{
    dcsr_i_cuda_launch(stream, key_members, count, *g, count, slot, keys);
}

static __global__ void restore(regrouping g, const uint64_t *keys, uint64_t count, double *before)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < count; k += dcsr_i_cuda_step()) {
        const uint32_t node = (uint32_t)keys[k];
        dcsr_i_amg_cuda_keep(g.log, g.T + node);
        before[k] = g.T[node];
        g.T[node] = g.B ? g.B[node] : 1;
    }
}

void dcsr_i_amg_cuda_restore(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_regrouping *g,
                             const uint64_t *keys, uint64_t count, double *before)
{
    dcsr_i_cuda_launch(stream, restore, count, *g, keys, count, before);
}

static __global__ void compare_nodes(regrouping g, const uint64_t *keys, uint64_t count, const double *before)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < count; k += dcsr_i_cuda_step())
        if (before[k] != g.T[(uint32_t)keys[k]]) dcsr_i_amg_cuda_add(g.moved, (uint32_t)keys[k]);
}

static __global__ void compare_vectors(regrouping g, uint64_t parts, const double *factors)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < parts; k += dcsr_i_cuda_step()) {
        double *coarse = g.coarse + g.parts.list[k];
        if (*coarse == factors[k]) continue;
        dcsr_i_amg_cuda_keep(g.log, coarse);
        *coarse = factors[k];
        dcsr_i_amg_cuda_add(g.vectors, g.parts.list[k]);
    }
}

void dcsr_i_amg_cuda_compare_vectors(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_regrouping *g,
                                     const dcsr_i_amg_cuda_pieces *pieces, uint64_t members,
                                     const double *before, const double *factors)
{
    dcsr_i_cuda_launch(stream, compare_nodes, members, *g, pieces->keys, members, before);
    if (g->coarse) dcsr_i_cuda_launch(stream, compare_vectors, pieces->count, *g, pieces->count, factors);
}

static __global__ void add_list(dcsr_i_amg_cuda_set to, dcsr_i_amg_cuda_set of)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < *of.count; k += dcsr_i_cuda_step())
        dcsr_i_amg_cuda_add(to, of.list[k]);
}

void dcsr_i_amg_cuda_add_list(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_set *to,
                              const dcsr_i_amg_cuda_set *of, uint64_t bound)
{
    dcsr_i_cuda_launch(stream, add_list, bound, *to, *of);
}

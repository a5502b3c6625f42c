/* kcore.cu: core numbers by peeling, in one launch whose blocks meet after each step.
 *
 * As on the cpu: at level k all vertices with at most k edges to what is left are taken away, and those that fall to k
 * thereby, round by round. What is left is listed, and looked over once a level. A vertex falls to k once: whoever
 * takes that edge from it lists it, so the core numbers do not depend on the order. */
#include "algos/graph/cuda/list_walk.cuh"

typedef dcsr_i_graph_peeling peeling;

/* Each block knows by itself how far the peeling is; all agree. */
struct state {
    uint32_t k, left, list; /* list: which of the two holds what is left */
    unsigned levels;
    dcsr_i_graph_state taken; /* how far it is with what falls */
};

/* Others change it meanwhile. Below 0: some have taken an edge too many, and are about to give it back. */
DCSR_CUDA_INLINE int32_t degree_of(const peeling &p, uint32_t v)
{
    return dcsr_i_cuda_peek(&p.degree[v]);
}

/* Edges but a loop; rows ascend. */
static __global__ void count_edges(peeling p)
{
    for (uint64_t v = dcsr_i_cuda_first(); v < p.edges.rows; v += dcsr_i_cuda_step()) {
        const uint64_t begin = p.edges.offsets[v], end = p.edges.offsets[v + 1];
        uint64_t low = begin, high = end;
        while (low < high) {
            const uint64_t middle = low + (high - low) / 2;
            if (p.edges.columns[middle] < v)
                low = middle + 1;
            else
                high = middle;
        }
        p.degree[v] = (int32_t)(end - begin) - (low < end && p.edges.columns[low] == v);
        p.left[0][v] = (uint32_t)v;
    }
}

/* Keeps what the level before has left, and finds the least degree among that. */
DCSR_CUDA_INLINE void look_over(const peeling &p, const state &now, dcsr_i_graph_level *level)
{
    const uint32_t *from = p.left[now.list];
    uint32_t *to = p.left[now.list ^ 1], inverse = 0;
    for (uint64_t first = dcsr_i_cuda_first_warp() * 32; first < now.left;
         first += dcsr_i_cuda_warp_step() * 32) {
        const uint64_t i = first + dcsr_i_cuda_lane();
        const uint32_t v = i < now.left ? from[i] : 0;
        const uint32_t degree = i < now.left ? (uint32_t)degree_of(p, v) : 0;
        const bool stays = i < now.left && (now.levels == 0 || degree > now.k);
        const uint64_t at = dcsr_i_cuda_take_places(&level->left, (uint32_t)stays);
        if (!stays) continue;
        to[at] = v;
        inverse = ~degree > inverse ? ~degree : inverse;
    }
    inverse = dcsr_i_cuda_block_max(inverse, 0u);
    if (threadIdx.x == 0 && inverse) atomicMax(&level->least, inverse);
}

/* Lists those of the least degree. */
DCSR_CUDA_INLINE void list_least(const peeling &p, const state &now, dcsr_i_graph_level *level)
{
    const uint32_t *from = p.left[now.list];
    for (uint64_t first = dcsr_i_cuda_first_warp() * 32; first < now.left;
         first += dcsr_i_cuda_warp_step() * 32) {
        const uint64_t i = first + dcsr_i_cuda_lane();
        const uint32_t v = i < now.left ? from[i] : 0;
        const bool falls = i < now.left && (uint32_t)degree_of(p, v) == now.k;
        const uint64_t at = dcsr_i_cuda_take_places(&level->now, (uint32_t)falls);
        if (falls) p.now[now.taken.list][at] = v;
    }
}

/* Takes vertices away: one edge less for their neighbours. Those that fall to the level are next. */
struct take_away {
    peeling p;
    uint32_t k;

    __device__ uint32_t begins(uint32_t u) const
    {
        p.core[u] = k;
        return 0;
    }
    __device__ bool wants(uint32_t, uint32_t v) const { return degree_of(p, v) > (int32_t)k; }
    __device__ bool takes(uint32_t, uint32_t v, uint32_t) const
    {
        const int32_t before = atomicAdd(&p.degree[v], -1);
        if (before <= (int32_t)k) atomicAdd(&p.degree[v], 1); /* it is gone already */
        return before == (int32_t)k + 1;
    }
};

static __global__ void __launch_bounds__(DCSR_GRAPH_THREADS) peel(peeling p)
{
    const dcsr_i_graph_front front = {
        p.edges, {p.now[0], p.now[1]}, p.part, p.counts->step, &p.counts->arrived};
    state now = {};
    uint32_t largest = 0, innermost = 0;
    now.left = (uint32_t)p.edges.rows;
    for (;;) {
        dcsr_i_graph_level *level = &p.counts->level[now.levels % 3];
        if (dcsr_i_cuda_first() == 0) p.counts->level[(now.levels + 1) % 3] = dcsr_i_graph_level{0, 0, 0};
        look_over(p, now, level);
        dcsr_i_cuda_meet(&p.counts->arrived, ++now.taken.meetings);
        now.left = dcsr_i_cuda_peek(&level->left);
        if (!now.left) break;
        now.k = ~dcsr_i_cuda_peek(&level->least);
        now.list ^= 1;
        largest = now.k;
        innermost = now.left;
        list_least(p, now, level);
        dcsr_i_cuda_meet(&p.counts->arrived, ++now.taken.meetings);
        now.taken.count = dcsr_i_cuda_peek(&level->now);
        dcsr_i_graph_follow(front, now.taken, take_away{p, now.k}, UINT32_MAX);
        now.levels++;
    }
    if (dcsr_i_cuda_first()) return;
    p.counts->largest = largest;
    p.counts->vertices = innermost;
}

void dcsr_i_graph_peel(dcsr_i_cuda_stream *stream, const dcsr_i_graph_peeling *p)
{
    dcsr_i_cuda_fill(stream, p->counts, 0, sizeof *p->counts);
    dcsr_i_cuda_launch(stream, count_edges, p->edges.rows, *p);
    dcsr_i_cuda_launch_together(stream, peel, dcsr_i_graph_list_blocks(p->edges.rows), DCSR_GRAPH_THREADS,
                                *p);
}

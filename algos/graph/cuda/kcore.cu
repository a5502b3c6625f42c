/* kcore.cu: core numbers by peeling, in one launch whose blocks meet after each step.
 *
 * As on the cpu: at level k all vertices with at most k edges to what is left are taken away, and those that fall to k
 * thereby, round by round. What is left is listed, and looked over once a level. A vertex falls to k once: whoever
 * takes that edge from it lists it, so the core numbers do not depend on the order. */
#include "algos/graph/cuda/list_walk.cuh"

typedef dcsr_i_graph_peeling peeling;
enum { ITEMS = DCSR_GRAPH_ITEMS };

/* Each block knows by itself how far the peeling is; all agree. */
struct state {
    uint32_t k, left, list, count,
        now; /* list, now: which of the two lists holds what is left; what is taken */
    unsigned levels, rounds, meetings;
};

/* Others change it meanwhile. Below 0: some have taken an edge too many, and are about to give it back. */
DCSR_CUDA_INLINE int32_t degree_of(const peeling &p, uint32_t v)
{
    return *(const volatile int32_t *)&p.degree[v];
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
        if (falls) p.now[now.now][at] = v;
    }
}

/* One edge less for some vertices; lists those that fall to the level. By whole warps; `here` tells which there are. */
DCSR_CUDA_INLINE void lower(const peeling &p, const state &now, const uint32_t *v, unsigned here,
                            unsigned *count)
{
    const int32_t k = (int32_t)now.k;
    unsigned fallen = 0;
    for (unsigned i = 0; i < ITEMS; i++)
        if (here >> i & 1 && degree_of(p, v[i]) <= k) here &= ~(1u << i);
    for (unsigned i = 0; i < ITEMS; i++) {
        if (!(here >> i & 1)) continue;
        const int32_t before = atomicAdd(&p.degree[v[i]], -1);
        if (before <= k) atomicAdd(&p.degree[v[i]], 1); /* it is gone already */
        fallen |= (before == k + 1 ? 1u : 0u) << i;
    }
    uint64_t at = dcsr_i_cuda_take_places(count, (uint32_t)__popc(fallen));
    for (unsigned i = 0; i < ITEMS; i++)
        if (fallen >> i & 1) p.now[now.now ^ 1][at++] = v[i];
}

DCSR_CUDA_INLINE void take_short(const peeling &p, const state &now, dcsr_i_graph_found *step)
{
    dcsr_i_graph_visit_short(
        p.edges, p.now[now.now], now.count, {p.part, &step->parts},
        [&](uint32_t u, bool mine) {
            if (mine) p.core[u] = now.k;
        },
        [&](const dcsr_i_cuda_window &window) {
            uint32_t v[ITEMS];
            unsigned here = 0;
            for (unsigned i = 0; i < ITEMS; i++) {
                const uint64_t j = i * blockDim.x + threadIdx.x;
                here |= (j < window.size ? 1u : 0u) << i;
                v[i] = j < window.size ? p.edges.columns[window.place[j]] : 0;
            }
            lower(p, now, v, here, &step->now);
        });
}

DCSR_CUDA_INLINE void take_long(const peeling &p, const state &now, uint32_t parts, dcsr_i_graph_found *step)
{
    dcsr_i_graph_visit_long(p.edges, p.part, parts, [&](uint32_t, uint64_t first, uint64_t end) {
        uint32_t v[ITEMS];
        unsigned here = 0;
        for (unsigned i = 0; i < ITEMS; i++) {
            const uint64_t e = first + i * blockDim.x + threadIdx.x;
            here |= (e < end ? 1u : 0u) << i;
            v[i] = e < end ? p.edges.columns[e] : 0;
        }
        lower(p, now, v, here, &step->now);
    });
}

/* The first block goes on alone while few fall, as at the ends of a path, where others would only be waited for. It
 * tells them which list is in use then. */
DCSR_CUDA_INLINE void take_alone(const peeling &p, state now, dcsr_i_graph_found *step)
{
    volatile dcsr_i_graph_found *told = step;
    for (;;) {
        __syncthreads();
        const uint32_t parts = told->parts, count = told->now;
        __syncthreads(); /* before it is written again */
        if (parts || !count || count > DCSR_GRAPH_LEAST_ROWS) return;
        now.now ^= 1;
        now.count = count;
        if (threadIdx.x == 0) {
            told->now = 0;
            told->alone = told->alone + 1;
        }
        __syncthreads();
        take_short(p, now, step);
    }
}

/* Takes away what is listed, and what falls thereby. Of three places for counts one is in use, the one before may still
 * be read by blocks that come late, and the one after is made zero meanwhile. */
DCSR_CUDA_INLINE void take_level(const peeling &p, state &now)
{
    while (now.count) {
        dcsr_i_graph_found *step = &p.counts->step[now.rounds % 3];
        if (dcsr_i_cuda_first() == 0) p.counts->step[(now.rounds + 1) % 3] = dcsr_i_graph_found{0, 0, 0};
        take_short(p, now, step);
        if (now.count <= DCSR_GRAPH_LEAST_ROWS && blockIdx.x == 0) take_alone(p, now, step);
        dcsr_i_cuda_meet(&p.counts->arrived, ++now.meetings);
        const uint32_t parts = *(volatile unsigned *)&step->parts;
        now.now ^= *(volatile unsigned *)&step->alone & 1;
        if (parts) {
            take_long(p, now, parts, step);
            dcsr_i_cuda_meet(&p.counts->arrived, ++now.meetings);
        }
        now.count = *(volatile unsigned *)&step->now;
        now.now ^= 1;
        now.rounds++;
    }
}

static __global__ void __launch_bounds__(DCSR_GRAPH_THREADS) peel(peeling p)
{
    state now = {};
    uint32_t largest = 0, innermost = 0;
    now.left = (uint32_t)p.edges.rows;
    for (;;) {
        dcsr_i_graph_level *level = &p.counts->level[now.levels % 3];
        if (dcsr_i_cuda_first() == 0) p.counts->level[(now.levels + 1) % 3] = dcsr_i_graph_level{0, 0, 0};
        look_over(p, now, level);
        dcsr_i_cuda_meet(&p.counts->arrived, ++now.meetings);
        now.left = *(volatile unsigned *)&level->left;
        if (!now.left) break;
        now.k = ~*(volatile unsigned *)&level->least;
        now.list ^= 1;
        largest = now.k;
        innermost = now.left;
        list_least(p, now, level);
        dcsr_i_cuda_meet(&p.counts->arrived, ++now.meetings);
        now.count = *(volatile unsigned *)&level->now;
        take_level(p, now);
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

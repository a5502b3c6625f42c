/* bfs_many.cu: breadth-first search from up to 64 vertices at once, in one launch whose blocks meet after each step.
 *
 * As on the cpu, a vertex has words of bits, one a source: what has seen it, and in whose frontier it is. The frontier
 * hands its bits on; a vertex is listed by whoever gives it the first of a level.
 *
 * And the tree of a search from one, whose levels are known: all edges are looked at once. */
#include "algos/graph/cuda/list_walk.cuh"
#include "dcsr/store/cuda/balanced_walk.cuh"

typedef dcsr_i_graph_many many;
typedef unsigned long long word;
enum { ITEMS = DCSR_GRAPH_ITEMS };

/* Each block knows by itself how far the search is; all agree. */
struct state {
    uint32_t count, list; /* vertices of the frontier, and which of the two lists they are in */
    uint32_t depth;
    unsigned meetings;
};

/* What a warp has counted: lane s of sources s and s + 32. */
struct tally {
    word reached[2], edges[2], level_sum[2];
    uint32_t max_level[2];
};

static __global__ void begin_many(many m, uint64_t count)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < count; k += dcsr_i_cuda_step()) {
        const uint32_t v = m.source[k];
        if (!atomicOr(&m.next[v], (word)1 << k)) m.list[0][atomicAdd(&m.counts->begun, 1u)] = v;
    }
}

/* The bits that have come to a vertex are its frontier, and seen. */
DCSR_CUDA_INLINE void record(const many &m, const state &now, tally &t)
{
    const unsigned lane = dcsr_i_cuda_lane();
    for (uint64_t first = dcsr_i_cuda_first_warp() * 32; first < now.count;
         first += dcsr_i_cuda_warp_step() * 32) {
        const uint64_t i = first + lane;
        const bool mine = i < now.count;
        const uint32_t v = mine ? m.list[now.list][i] : 0;
        const word bits = mine ? m.next[v] : 0;
        const word length = mine ? m.edges.offsets[v + 1] - m.edges.offsets[v] : 0;
        if (mine) {
            m.next[v] = 0;
            m.visit[v] = bits;
            m.seen[v] |= bits;
        }
        word any = bits;
        for (unsigned distance = 1; distance < 32; distance *= 2)
            any |= __shfl_xor_sync(DCSR_CUDA_ALL_LANES, any, distance);
        for (; any; any &= any - 1) {
            const unsigned s = (unsigned)__ffsll((long long)any) - 1;
            const bool has = bits >> s & 1;
            const unsigned all = __ballot_sync(DCSR_CUDA_ALL_LANES, has);
            const word edges = dcsr_i_cuda_warp_sum((uint64_t)(has ? length : 0));
            if (has && m.level) m.level[s * m.edges.rows + v] = (int32_t)now.depth;
            if (lane != (s & 31)) continue;
            const unsigned which = s / 32;
            t.reached[which] += (unsigned)__popc(all);
            t.edges[which] += edges;
            t.level_sum[which] += (word)now.depth * (unsigned)__popc(all);
            t.max_level[which] = now.depth;
        }
    }
}

/* Hands bits on to some vertices; by whole warps. */
DCSR_CUDA_INLINE void hand_on(const many &m, const state &now, const uint32_t *v, const word *bits,
                              unsigned *count)
{
    unsigned found = 0;
    word add[ITEMS];
    for (unsigned i = 0; i < ITEMS; i++) {
        add[i] = bits[i] ? bits[i] & ~m.seen[v[i]] : 0;
        /* Others add bits meanwhile: what is there already need not be added. */
        if (add[i]) add[i] &= ~dcsr_i_cuda_peek(&m.next[v[i]]);
    }
    for (unsigned i = 0; i < ITEMS; i++)
        if (add[i] && !atomicOr(&m.next[v[i]], add[i])) found |= 1u << i;
    uint64_t at = dcsr_i_cuda_take_places(count, (uint32_t)__popc(found));
    for (unsigned i = 0; i < ITEMS; i++)
        if (found >> i & 1) m.list[now.list ^ 1][at++] = v[i];
}

DCSR_CUDA_INLINE void expand_short(const many &m, const state &now, dcsr_i_graph_found *found)
{
    SIMT_SHARED(word, visit, DCSR_GRAPH_THREADS);
    dcsr_i_graph_visit_short(
        m.edges, m.list[now.list], now.count, {m.part, &found->parts},
        [&](uint32_t u, bool mine) { visit[threadIdx.x] = mine ? m.visit[u] : 0; },
        [&](const dcsr_i_cuda_window &window) {
            uint32_t v[ITEMS];
            word bits[ITEMS];
            for (unsigned i = 0; i < ITEMS; i++) {
                const uint64_t j = i * blockDim.x + threadIdx.x;
                v[i] = j < window.size ? m.edges.columns[window.place[j]] : 0;
                bits[i] = j < window.size ? visit[window.from[j]] : 0;
            }
            hand_on(m, now, v, bits, &found->now);
        });
}

DCSR_CUDA_INLINE void expand_long(const many &m, const state &now, uint32_t parts, dcsr_i_graph_found *found)
{
    dcsr_i_graph_visit_long(m.edges, m.part, parts, [&](uint32_t u, uint64_t first, uint64_t end) {
        uint32_t v[ITEMS];
        word bits[ITEMS];
        for (unsigned i = 0; i < ITEMS; i++) {
            const uint64_t e = first + i * blockDim.x + threadIdx.x;
            v[i] = e < end ? m.edges.columns[e] : 0;
            bits[i] = e < end ? m.visit[u] : 0;
        }
        hand_on(m, now, v, bits, &found->now);
    });
}

DCSR_CUDA_INLINE void add_up(const many &m, const tally &t)
{
    for (unsigned which = 0; which < 2; which++) {
        dcsr_i_graph_many_result *result = &m.counts->result[which * 32 + dcsr_i_cuda_lane()];
        if (!t.reached[which]) continue;
        atomicAdd(&result->reached, t.reached[which]);
        atomicAdd(&result->edges, t.edges[which]);
        atomicAdd(&result->level_sum, t.level_sum[which]);
        atomicMax(&result->max_level, t.max_level[which]);
    }
}

/* The first block goes on alone while frontiers are small, as on a path, where others would only be waited for; it ends
 * with a frontier expanded, and tells them how many there were before it. */
DCSR_CUDA_INLINE void go_alone(const many &m, state now, tally &t, dcsr_i_graph_found *found)
{
    volatile dcsr_i_graph_found *told = found;
    for (;;) {
        record(m, now, t);
        __syncthreads();
        expand_short(m, now, found);
        __syncthreads();
        const uint32_t parts = told->parts, count = told->now;
        __syncthreads(); /* before it is written again */
        if (parts || !count || count > DCSR_GRAPH_LEAST_ROWS) return;
        now.list ^= 1;
        now.depth++;
        now.count = count;
        if (threadIdx.x == 0) {
            told->now = 0;
            told->alone = told->alone + 1;
        }
        __syncthreads();
    }
}

/* Of three places for counts one is in use, the one before may still be read by blocks that come late, and the one
 * after is made zero meanwhile. */
static __global__ void __launch_bounds__(DCSR_GRAPH_THREADS) search_many(many m)
{
    tally t = {};
    state now = {};
    now.count = m.counts->begun;
    for (unsigned turn = 0; now.count; turn++) {
        dcsr_i_graph_found *found = &m.counts->found[turn % 3];
        if (dcsr_i_cuda_first() == 0) m.counts->found[(turn + 1) % 3] = dcsr_i_graph_found{0, 0, 0};
        const bool alone = now.count <= DCSR_GRAPH_LEAST_ROWS;
        if (alone && blockIdx.x == 0) go_alone(m, now, t, found);
        if (!alone) {
            record(m, now, t);
            dcsr_i_cuda_meet(&m.counts->arrived, ++now.meetings);
            expand_short(m, now, found);
        }
        dcsr_i_cuda_meet(&m.counts->arrived, ++now.meetings);
        const uint32_t steps = dcsr_i_cuda_peek(&found->alone), parts = dcsr_i_cuda_peek(&found->parts);
        now.list ^= steps & 1;
        now.depth += steps;
        if (parts) {
            expand_long(m, now, parts, found);
            dcsr_i_cuda_meet(&m.counts->arrived, ++now.meetings);
        }
        now.count = dcsr_i_cuda_peek(&found->now);
        now.list ^= 1;
        now.depth++;
    }
    add_up(m, t);
}

void dcsr_i_graph_search_many(dcsr_i_cuda_stream *stream, const many *m, uint64_t count)
{
    const uint64_t n = m->edges.rows;
    dcsr_i_cuda_fill(stream, m->counts, 0, sizeof *m->counts);
    dcsr_i_cuda_fill(stream, m->seen, 0, n * sizeof *m->seen);
    dcsr_i_cuda_fill(stream, m->next, 0, n * sizeof *m->next);
    if (m->level) dcsr_i_cuda_fill(stream, m->level, 0xff, count * n * sizeof *m->level);
    dcsr_i_cuda_launch(stream, begin_many, count, *m, count);
    dcsr_i_cuda_launch_together(stream, search_many, dcsr_i_graph_list_blocks(n), DCSR_GRAPH_THREADS, *m);
}

/* ---- Parents ---- */

/* Each vertex offers itself to those one level below that it has an edge to. */
static __global__ void DCSR_CUDA_WALK_BOUNDS offer(dcsr_i_cuda_walk walk, bool columns, const int32_t *level,
                                                   uint32_t *parent)
{
    dcsr_i_cuda_for_entries(
        walk,
        [&](const dcsr_i_cuda_entry &, const dcsr_i_cuda_source &source) {
            return walk.rows.columns[source.place];
        },
        [&](const dcsr_i_cuda_entry &entry, uint32_t end) {
            const uint32_t u = columns ? end : (uint32_t)entry.i, v = columns ? (uint32_t)entry.i : end;
            if (level[v] <= 0 || level[v] - 1 != level[u]) return;
            if (u < dcsr_i_cuda_peek(&parent[v])) atomicMin(&parent[v], u);
        });
}

static __global__ void find_orphan(const int32_t *level, const uint32_t *parent, uint64_t n, uint32_t *orphan)
{
    for (uint64_t v = dcsr_i_cuda_first(); v < n; v += dcsr_i_cuda_step())
        if (level[v] > 0 && parent[v] == UINT32_MAX) atomicMin(orphan, (uint32_t)v);
}

void dcsr_i_graph_find_parents(dcsr_i_cuda_stream *stream, dcsr_i_cuda_rows edges, bool columns,
                               const int32_t *level, uint32_t *parent, uint32_t *orphan)
{
    const dcsr_i_cuda_walk walk = {edges, NULL, edges.rows, edges.offsets};
    dcsr_i_cuda_fill(stream, parent, 0xff, edges.rows * sizeof *parent);
    dcsr_i_cuda_fill(stream, orphan, 0xff, sizeof *orphan);
    dcsr_i_cuda_launch_walk(stream, offer, edges.stored, edges.rows, walk, columns, level, parent);
    dcsr_i_cuda_launch(stream, find_orphan, edges.rows, level, parent, edges.rows, orphan);
}

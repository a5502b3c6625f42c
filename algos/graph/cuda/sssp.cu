/* sssp.cu: kernels of shortest paths where no weight is negative: relaxing what is near.
 *
 * Distances only ever fall, to the least over all paths of sums rounded on the way; so they do not depend on the order
 * of relaxations, and are those of the cpu. A vertex is listed as near once for each round (`mark`) and as far once. */
#include "algos/graph/cuda/sssp_stages.h"
#include "algos/graph/cuda/list_walk.cuh"
#include "dcsr/device/value_word.cuh"
#include "dcsr/store/cuda/balanced_walk.cuh"

#ifdef DCSR_SIMT
enum { FEW = 64, FEW_EDGES = 300, FEW_FAR = 200 };
#else
enum {
    FEW = 1024, /* what a block relaxes alone: vertices, edges, and what it looks through of the far pile */
    FEW_EDGES = 8192,
    FEW_FAR = 1 << 15
};
#endif
/* CALM: rounds with an eighth of FEW near, after which a block works alone again. */
enum { ITEMS = DCSR_GRAPH_ITEMS, CALM = 8 };

typedef dcsr_i_graph_search search;
typedef unsigned long long word;
#define INFINITE 0x7ff0000000000000ull

DCSR_CUDA_INLINE double number(word bits)
{
    return dcsr_i_cuda_value_of<double>(bits);
}
DCSR_CUDA_INLINE word bits_of(double d)
{
    return dcsr_i_cuda_word_of(d + 0.0); /* no negative zero */
}
DCSR_CUDA_INLINE word distance_of(const search &s, uint32_t v)
{
    return dcsr_i_cuda_peek(&s.distance[v]);
}

/* ---- What a relaxation finds ---- */

/* Lowers the distances that some edges offer, and lists what has come closer. near_at: calls keep(place, vertex) for
 * what is near next. By whole warps; `here` tells which edges there are. */
template <class C, class Keep>
DCSR_CUDA_INLINE void offer(const search &s, const uint32_t *v, const double *there, unsigned here,
                            const dcsr_i_graph_piles &now, C *next, Keep keep)
{
    uint32_t *far = s.far[now.far_list];
    unsigned near = 0, beyond = 0;
    for (unsigned k = 0; k < ITEMS; k++)
        if (here >> k & 1 && bits_of(there[k]) >= distance_of(s, v[k])) here &= ~(1u << k);
    for (unsigned k = 0; k < ITEMS; k++) {
        if (!(here >> k & 1) || atomicMin(&s.distance[v[k]], bits_of(there[k])) <= bits_of(there[k]))
            continue;
        const uint32_t bit = 1u << (v[k] & 31);
        if (there[k] <= now.limit)
            near |= (atomicMax(&s.mark[v[k]], now.round + 1) <= now.round ? 1u : 0u) << k;
        else
            beyond |= (atomicOr(&s.is_far[v[k] / 32], bit) & bit ? 0u : 1u) << k;
    }
    uint64_t at = dcsr_i_cuda_take_places(next, (uint32_t)__popc(near));
    for (unsigned k = 0; k < ITEMS; k++)
        if (near >> k & 1) keep(at++, v[k]);
    if (!__any_sync(DCSR_CUDA_ALL_LANES, beyond)) return;
    at = dcsr_i_cuda_take_places(&s.counts->far[now.far_list], (uint32_t)__popc(beyond));
    for (unsigned k = 0; k < ITEMS; k++)
        if (beyond >> k & 1) far[at++] = v[k];
}

/* The edges of a window, whose rows' distances are in `start`. All threads of a block must call. */
template <class C, class Keep>
DCSR_CUDA_INLINE void relax_window(const search &s, const dcsr_i_cuda_window &window, const double *start,
                                   const dcsr_i_graph_piles &now, C *next, Keep keep)
{
    const double *weight = (const double *)s.edges.values;
    uint32_t v[ITEMS];
    double there[ITEMS];
    unsigned here = 0;
    for (unsigned k = 0; k < ITEMS; k++) {
        const uint64_t j = k * blockDim.x + threadIdx.x;
        v[k] = 0;
        there[k] = 0;
        if (j >= window.size) continue;
        v[k] = s.edges.columns[window.place[j]];
        there[k] = start[window.from[j]] + weight[window.place[j]];
        here |= 1u << k;
    }
    offer(s, v, there, here, now, next, keep);
}

/* ---- A block alone ---- */

/* Raises the limit and makes near what is far and within it; by all threads of the only block. */
DCSR_CUDA_INLINE void advance_alone(const search &s, dcsr_i_graph_piles &now, uint32_t *frontier,
                                    uint32_t *near, uint32_t *next)
{
    SIMT_SHARED(uint32_t, kept, 1);
    const uint32_t *from = s.far[now.far_list];
    uint32_t *to = s.far[now.far_list ^ 1];
    word least = 0;
    if (threadIdx.x == 0) kept[0] = next[0] = 0;
    for (uint32_t i = threadIdx.x; i < now.far; i += blockDim.x) {
        const word d = distance_of(s, from[i]);
        if (number(d) > now.limit && ~d > least) least = ~d;
    }
    least = dcsr_i_cuda_block_max((uint64_t)least, (uint64_t)0);
    const double before = now.limit;
    if (least) now.limit = number(~least) + s.delta;
    for (uint32_t first = 0; first < now.far; first += blockDim.x) {
        const uint32_t i = first + threadIdx.x, v = i < now.far ? from[i] : 0;
        const double d = i < now.far ? number(distance_of(s, v)) : 0;
        const bool stays = i < now.far && d > now.limit, comes = i < now.far && !stays && d > before;
        if (i < now.far && !stays) atomicAnd(&s.is_far[v / 32], ~(1u << (v & 31)));
        const uint64_t stay = dcsr_i_cuda_take_places(kept, (uint32_t)stays),
                       come = dcsr_i_cuda_take_places(next, (uint32_t)comes);
        if (stays) to[stay] = v;
        if (comes) (come < FEW ? frontier : near)[come] = v;
    }
    __syncthreads();
    now.far_list ^= 1;
    now.far = kept[0];
    now.near = next[0];
    if (threadIdx.x == 0) s.counts->far[now.far_list] = kept[0];
    __syncthreads(); /* before they are written again */
}

static __global__ void __launch_bounds__(FEW, 1) relax_few(search s)
{
    enum { WINDOW = ITEMS * FEW };
    SIMT_SHARED(uint64_t, place, WINDOW);
    SIMT_SHARED(uint32_t, from, WINDOW);
    SIMT_SHARED(double, start, FEW);
    SIMT_SHARED(uint32_t, frontier, FEW);
    SIMT_SHARED(uint32_t, next, 1);
    dcsr_i_graph_piles now = *s.piles;
    uint32_t *near = s.near[now.near_list];
    bool large = now.large || now.near > FEW;
    if (large || (!now.near && !now.far)) return;
    if (threadIdx.x < now.near) frontier[threadIdx.x] = near[threadIdx.x];
    __syncthreads();
    while (now.near || now.far) {
        if (!now.near) {
            large = now.far > FEW_FAR;
            if (large) break;
            advance_alone(s, now, frontier, near, next);
            continue;
        }
        large = now.near > FEW;
        if (large) break;
        const bool mine = threadIdx.x < now.near;
        const uint32_t u = mine ? frontier[threadIdx.x] : 0;
        dcsr_i_cuda_row_share row =
            mine ? dcsr_i_cuda_look_up(s.edges, u) : dcsr_i_cuda_row_share{0, 0, 0, 0, false};
        uint64_t total;
        if (mine) start[threadIdx.x] = number(distance_of(s, u));
        row.offset = (uint32_t)dcsr_i_cuda_block_scan((uint64_t)row.length, &total);
        large = total > FEW_EDGES;
        if (large) break;
        if (threadIdx.x == 0) next[0] = 0;
        for (uint64_t first = 0; first < total; first += WINDOW) {
            const dcsr_i_cuda_window window = {place, from, first,
                                               total - first < WINDOW ? total - first : (uint64_t)WINDOW};
            dcsr_i_cuda_note_places(s.edges, window, threadIdx.x, row);
            __syncthreads();
            relax_window(s, window, start, now, next,
                         [&](uint64_t at, uint32_t v) { (at < FEW ? frontier : near)[at] = v; });
            __syncthreads();
        }
        if (!total) __syncthreads(); /* for next[0] */
        now.near = next[0];
        now.far = dcsr_i_cuda_peek(&s.counts->far[now.far_list]);
        now.round++;
        __syncthreads(); /* before they are written again */
    }
    for (uint32_t i = threadIdx.x; i < now.near && i < FEW; i += blockDim.x) near[i] = frontier[i];
    now.large = large;
    if (threadIdx.x == 0) *s.piles = now;
}

/* ---- All blocks ---- */

/* The edges of short rows; of long ones parts are listed. */
DCSR_CUDA_INLINE void relax_short(const search &s, const dcsr_i_graph_piles &now, dcsr_i_graph_round *found)
{
    SIMT_SHARED(double, start, DCSR_GRAPH_THREADS);
    uint32_t *next = s.near[now.near_list ^ 1];
    dcsr_i_graph_visit_short(
        s.edges, s.near[now.near_list], now.near, {s.part, &found->parts},
        [&](uint32_t u, bool mine) { start[threadIdx.x] = mine ? number(distance_of(s, u)) : 0; },
        [&](const dcsr_i_cuda_window &window) {
            relax_window(s, window, start, now, &found->near, [&](uint64_t at, uint32_t v) { next[at] = v; });
        });
}

DCSR_CUDA_INLINE void relax_long(const search &s, const dcsr_i_graph_piles &now, uint32_t parts,
                                 dcsr_i_graph_round *found)
{
    uint32_t *next = s.near[now.near_list ^ 1];
    const double *weight = (const double *)s.edges.values;
    dcsr_i_graph_visit_long(s.edges, s.part, parts, [&](uint32_t u, uint64_t first, uint64_t end) {
        const double start = number(distance_of(s, u));
        uint32_t v[ITEMS];
        double there[ITEMS];
        unsigned here = 0;
        for (unsigned k = 0; k < ITEMS; k++) {
            const uint64_t e = first + k * blockDim.x + threadIdx.x;
            here |= (e < end ? 1u : 0u) << k;
            v[k] = e < end ? s.edges.columns[e] : 0;
            there[k] = e < end ? start + weight[e] : 0;
        }
        offer(s, v, there, here, now, &found->near, [&](uint64_t at, uint32_t w) { next[at] = w; });
    });
}

/* The least distance of what is far and beyond the limit. */
DCSR_CUDA_INLINE void find_least(const search &s, const dcsr_i_graph_piles &now, dcsr_i_graph_round *found)
{
    const uint32_t *far = s.far[now.far_list], count = now.far;
    word least = 0;
    for (uint64_t i = dcsr_i_cuda_first(); i < count; i += dcsr_i_cuda_step()) {
        const word d = distance_of(s, far[i]);
        if (number(d) > now.limit && ~d > least) least = ~d;
    }
    least = dcsr_i_cuda_block_max((uint64_t)least, (uint64_t)0);
    if (threadIdx.x == 0 && least) atomicMax(&found->least, least);
    if (dcsr_i_cuda_first() == 0) s.counts->far[now.far_list ^ 1] = 0;
}

/* What comes within the limit becomes near. What has come within the one before has been relaxed since. */
DCSR_CUDA_INLINE void raise_limit(const search &s, const dcsr_i_graph_piles &now, double limit,
                                  dcsr_i_graph_round *found)
{
    const uint32_t *from = s.far[now.far_list], count = now.far;
    uint32_t *to = s.far[now.far_list ^ 1], *near = s.near[now.near_list ^ 1];
    for (uint64_t first = dcsr_i_cuda_first_warp() * 32; first < count;
         first += dcsr_i_cuda_warp_step() * 32) {
        const uint64_t i = first + dcsr_i_cuda_lane();
        const uint32_t v = i < count ? from[i] : 0;
        const double d = i < count ? number(distance_of(s, v)) : 0;
        const bool stays = i < count && d > limit, comes = i < count && !stays && d > now.limit;
        if (i < count && !stays) atomicAnd(&s.is_far[v / 32], ~(1u << (v & 31)));
        const uint64_t stay = dcsr_i_cuda_take_places(&s.counts->far[now.far_list ^ 1], (uint32_t)stays),
                       come = dcsr_i_cuda_take_places(&found->near, (uint32_t)comes);
        if (stays) to[stay] = v;
        if (comes) near[come] = v;
    }
}

/* Raises the limit where nothing is near. */
DCSR_CUDA_INLINE void advance(const search &s, dcsr_i_graph_piles &now, dcsr_i_graph_round *found)
{
    find_least(s, now, found);
    dcsr_i_cuda_meet(&s.counts->arrived, ++now.meetings);
    const word least = dcsr_i_cuda_peek(&found->least);
    const double limit = least ? number(~least) + s.delta : now.limit;
    raise_limit(s, now, limit, found);
    dcsr_i_cuda_meet(&s.counts->arrived, ++now.meetings);
    now.limit = limit;
    now.far_list ^= 1;
}

/* Each block knows by itself how far the search is. All must agree on that: so what is looked at behind a barrier is
 * what nobody changes before the next, the count of the far pile only where nothing is near. What a round finds is
 * counted in one of three places: the one before may still be read by blocks that come late, and the one after is made
 * zero meanwhile. */
static __global__ void __launch_bounds__(DCSR_GRAPH_THREADS) relax_all(search s)
{
    dcsr_i_graph_piles now = *s.piles;
    if (!(now.near || now.far) || !(now.large || now.near > FEW)) return;
    for (uint32_t calm = 0, waiting = now.far; calm < CALM && (now.near || now.far);) {
        dcsr_i_graph_round *found = &s.counts->found[now.turns % 3];
        if (dcsr_i_cuda_first() == 0) s.counts->found[(now.turns + 1) % 3] = dcsr_i_graph_round{0, 0, 0};
        relax_short(s, now, found);
        dcsr_i_cuda_meet(&s.counts->arrived, ++now.meetings);
        const uint32_t parts = dcsr_i_cuda_peek(&found->parts);
        if (parts) {
            relax_long(s, now, parts, found);
            dcsr_i_cuda_meet(&s.counts->arrived, ++now.meetings);
        }
        now.near = dcsr_i_cuda_peek(&found->near);
        if (!now.near) {
            waiting = now.far = dcsr_i_cuda_peek(&s.counts->far[now.far_list]);
            if (now.far) advance(s, now, found);
            now.near = dcsr_i_cuda_peek(&found->near);
            if (!now.near) now.far = 0; /* nothing lies beyond the limit */
        }
        now.near_list ^= 1;
        now.round++;
        now.turns++;
        calm = now.near <= FEW / 8 && waiting <= FEW_FAR ? calm + 1 : 0;
    }
    if (dcsr_i_cuda_first()) return;
    now.far = dcsr_i_cuda_peek(&s.counts->far[now.far_list]);
    now.large = now.near > FEW;
    *s.piles = now;
}

/* ---- Before and after ---- */

static __global__ void begin(search s, uint64_t source)
{
    for (uint64_t v = dcsr_i_cuda_first(); v < s.edges.rows; v += dcsr_i_cuda_step())
        s.distance[v] = v == source ? 0 : INFINITE;
    if (dcsr_i_cuda_first()) return;
    s.near[0][0] = (uint32_t)source;
    s.piles->near = s.piles->round = 1;
    s.piles->limit = s.delta;
}

static __global__ void end(search s)
{
    uint64_t reached = 0, farthest = 0;
    for (uint64_t v = dcsr_i_cuda_first(); v < s.edges.rows; v += dcsr_i_cuda_step()) {
        const uint64_t d = s.distance[v];
        if (d == INFINITE) continue;
        reached++;
        farthest = d > farthest ? d : farthest;
    }
    reached = dcsr_i_cuda_block_sum(reached);
    farthest = dcsr_i_cuda_block_max(farthest, (uint64_t)0);
    if (threadIdx.x) return;
    atomicAdd(&s.piles->reached, (word)reached);
    atomicMax(&s.piles->farthest, (word)farthest);
}

template <class T> static __global__ void convert(double *to, const T *from, uint64_t count)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < count; k += dcsr_i_cuda_step())
        to[k] = from ? (double)from[k] : 1.0;
}

static __global__ void DCSR_CUDA_WALK_BOUNDS weigh(dcsr_i_cuda_walk walk, dcsr_i_graph_weights *weights)
{
    const double *weight = (const double *)walk.rows.values;
    double sum = 0;
    bool negative = false;
    dcsr_i_cuda_for_entries(
        walk,
        [&](const dcsr_i_cuda_entry &, const dcsr_i_cuda_source &source) { return weight[source.place]; },
        [&](const dcsr_i_cuda_entry &entry, double w) {
            if (w != w) atomicMin(&weights->nan, (word)entry.i);
            if (w < number(INFINITE)) sum += w;
            negative = negative || w < 0;
        });
    sum = dcsr_i_cuda_block_sum(sum);
    const uint32_t any = dcsr_i_cuda_block_max((uint32_t)negative, 0u);
    if (threadIdx.x) return;
    atomicAdd(&weights->sum, sum);
    if (any) atomicOr(&weights->negative, 1u);
}

void dcsr_i_graph_convert(dcsr_i_cuda_stream *stream, double *to, const void *from, dcsr_type type,
                          uint64_t count)
{
    switch (type) {
#define DCSR_X(NAME, name, ctype, minimum, maximum)                                        \
    case DCSR_##NAME:                                                                      \
        dcsr_i_cuda_launch(stream, convert<ctype>, count, to, (const ctype *)from, count); \
        return;
#include <dcsr/types.def>
#undef DCSR_X
    default:
        dcsr_i_cuda_launch(stream, convert<uint8_t>, count, to, (const uint8_t *)NULL, count);
    }
}

void dcsr_i_graph_weigh(dcsr_i_cuda_stream *stream, dcsr_i_cuda_rows edges, dcsr_i_graph_weights *weights)
{
    const dcsr_i_cuda_walk walk = {edges, NULL, edges.rows, edges.offsets};
    dcsr_i_cuda_fill(stream, weights, 0, sizeof *weights);
    dcsr_i_cuda_fill(stream, &weights->nan, 0xff, sizeof weights->nan);
    dcsr_i_cuda_launch_walk(stream, weigh, edges.stored, edges.rows, walk, weights);
}

void dcsr_i_graph_begin_search(dcsr_i_cuda_stream *stream, const search *s, uint64_t source)
{
    const uint64_t n = s->edges.rows;
    dcsr_i_cuda_fill(stream, s->mark, 0, n * sizeof *s->mark);
    dcsr_i_cuda_fill(stream, s->is_far, 0, (n + 31) / 32 * sizeof *s->is_far);
    dcsr_i_cuda_fill(stream, s->piles, 0, sizeof *s->piles);
    dcsr_i_cuda_fill(stream, s->counts, 0, sizeof *s->counts);
    dcsr_i_cuda_launch(stream, begin, n, *s, source);
}

void dcsr_i_graph_relax_few(dcsr_i_cuda_stream *stream, const search *s)
{
    dcsr_i_cuda_launch_blocks(stream, relax_few, 1, FEW, 0, *s);
}

void dcsr_i_graph_relax_all(dcsr_i_cuda_stream *stream, const search *s)
{
    dcsr_i_cuda_launch_together(stream, relax_all, dcsr_i_graph_list_blocks(s->edges.rows),
                                DCSR_GRAPH_THREADS, *s);
}

void dcsr_i_graph_end_search(dcsr_i_cuda_stream *stream, const search *s)
{
    dcsr_i_cuda_launch(stream, end, s->edges.rows, *s);
}

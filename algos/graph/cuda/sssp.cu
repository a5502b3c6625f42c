/* sssp.cu: kernels of shortest paths where no weight is negative: relaxing what is near.
 *
 * Distances only ever fall, to the least over all paths of sums rounded on the way; so they do not depend on the order
 * of relaxations, and are those of the cpu. A vertex is listed as near once for each round (`mark`) and as far once. */
#include "algos/graph/cuda/sssp_stages.h"
#include "dcsr/store/block_walk.cuh"
#include "dcsr/store/cuda/balanced_walk.cuh"

#ifdef DCSR_SIMT
enum { FEW = 64, FEW_EDGES = 300, FEW_FAR = 200, THREADS = 32, LONG = DCSR_GRAPH_LONG, MOST_BLOCKS = 8 };
#else
enum {
    FEW = 1024, /* what a block relaxes alone: vertices, edges, and what it looks through of the far pile */
    FEW_EDGES = 8192,
    FEW_FAR = 1 << 15,
    THREADS = 128,
    LONG = DCSR_GRAPH_LONG,
    MOST_BLOCKS = 1024
};
#endif
enum { ITEMS = 2 };

typedef dcsr_i_graph_search search;
typedef unsigned long long word;
#define INFINITE 0x7ff0000000000000ull

DCSR_CUDA_INLINE double number(word bits)
{
    union {
        word bits;
        double number;
    } both = {bits};
    return both.number;
}
DCSR_CUDA_INLINE word bits_of(double d)
{
    union {
        double number;
        word bits;
    } both = {d + 0.0}; /* no negative zero */
    return both.bits;
}
DCSR_CUDA_INLINE word distance_of(const search &s, uint32_t v)
{
    return *(const volatile word *)&s.distance[v];
}

/* ---- What a relaxation finds ---- */

/* Lowers the distances that some edges offer, and lists what has come closer. near_at: calls keep(place, vertex) for
 * what is near next. By whole warps; `here` tells which edges there are. */
template <class C, class Keep>
DCSR_CUDA_INLINE void offer(const search &s, const uint32_t *v, const double *there, unsigned here,
                            double limit, uint32_t round, C *next, uint32_t *far, Keep keep)
{
    dcsr_i_graph_piles *piles = s.piles;
    unsigned near = 0, beyond = 0;
    for (unsigned k = 0; k < ITEMS; k++)
        if (here >> k & 1 && bits_of(there[k]) >= distance_of(s, v[k])) here &= ~(1u << k);
    for (unsigned k = 0; k < ITEMS; k++) {
        if (!(here >> k & 1) || atomicMin(&s.distance[v[k]], bits_of(there[k])) <= bits_of(there[k]))
            continue;
        const uint32_t bit = 1u << (v[k] & 31);
        if (there[k] <= limit)
            near |= (atomicMax(&s.mark[v[k]], round + 1) <= round ? 1u : 0u) << k;
        else
            beyond |= (atomicOr(&s.is_far[v[k] / 32], bit) & bit ? 0u : 1u) << k;
    }
    uint64_t at = dcsr_i_cuda_take_places(next, (uint32_t)__popc(near));
    for (unsigned k = 0; k < ITEMS; k++)
        if (near >> k & 1) keep(at++, v[k]);
    if (!__any_sync(DCSR_CUDA_ALL_LANES, beyond)) return;
    at = dcsr_i_cuda_take_places(&piles->far, (uint32_t)__popc(beyond));
    for (unsigned k = 0; k < ITEMS; k++)
        if (beyond >> k & 1) far[at++] = v[k];
}

/* The edges of a window, whose rows' distances are in `start`. All threads of a block must call. */
template <class C, class Keep>
DCSR_CUDA_INLINE void relax_window(const search &s, const dcsr_i_cuda_window &window, const double *start,
                                   double limit, uint32_t round, C *next, uint32_t *far, Keep keep)
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
    offer(s, v, there, here, limit, round, next, far, keep);
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
    now.far = kept[0];
    now.far_list ^= 1;
    now.near = next[0];
    if (threadIdx.x == 0) s.piles->far = now.far;
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
    bool large = now.near > FEW;
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
            relax_window(s, window, start, now.limit, now.round, next, s.far[now.far_list],
                         [&](uint64_t at, uint32_t v) { (at < FEW ? frontier : near)[at] = v; });
            __syncthreads();
        }
        if (!total) __syncthreads(); /* for next[0] */
        now.near = next[0];
        now.far = *(volatile unsigned *)&s.piles->far;
        now.round++;
        __syncthreads(); /* before they are written again */
    }
    for (uint32_t i = threadIdx.x; i < now.near && i < FEW; i += blockDim.x) near[i] = frontier[i];
    now.large = large;
    if (threadIdx.x == 0) *s.piles = now;
}

/* ---- All blocks ---- */

DCSR_CUDA_INLINE bool is_for_all(const dcsr_i_graph_piles &piles)
{
    return (piles.near || piles.far) && (piles.large || piles.near > FEW);
}

/* Rows of the near list, a thread each; parts of long ones are only listed. */
static __global__ void __launch_bounds__(THREADS) relax_short(search s)
{
    enum { WINDOW = ITEMS * THREADS };
    SIMT_SHARED(uint64_t, place, WINDOW);
    SIMT_SHARED(uint32_t, from, WINDOW);
    SIMT_SHARED(double, start, THREADS);
    dcsr_i_graph_piles *piles = s.piles;
    if (!is_for_all(*piles)) return;
    const uint32_t count = piles->near, round = piles->round, *near = s.near[piles->near_list];
    uint32_t *next = s.near[piles->near_list ^ 1], *far = s.far[piles->far_list];
    const double limit = piles->limit;
    for (uint64_t base = dcsr_i_cuda_first_block() * blockDim.x; base < count;
         base += dcsr_i_cuda_block_step() * blockDim.x) {
        const uint64_t i = base + threadIdx.x;
        const uint32_t u = i < count ? near[i] : 0;
        dcsr_i_cuda_row_share row =
            i < count ? dcsr_i_cuda_look_up(s.edges, u) : dcsr_i_cuda_row_share{0, 0, 0, 0, false};
        uint64_t total;
        const uint32_t parts = row.length > LONG ? (row.length - 1) / LONG + 1 : 0;
        const uint64_t listed = dcsr_i_cuda_take_places(&piles->parts, parts);
        for (uint32_t k = 0; k < parts; k++) s.part[listed + k] = (uint64_t)u << 32 | k;
        if (parts) row.length = 0;
        start[threadIdx.x] = i < count ? number(distance_of(s, u)) : 0;
        row.offset = (uint32_t)dcsr_i_cuda_block_scan((uint64_t)row.length, &total);
        for (uint64_t first = 0; first < total; first += WINDOW) {
            const dcsr_i_cuda_window window = {place, from, first,
                                               total - first < WINDOW ? total - first : (uint64_t)WINDOW};
            dcsr_i_cuda_note_places(s.edges, window, threadIdx.x, row);
            __syncthreads();
            relax_window(s, window, start, limit, round, &piles->next, far,
                         [&](uint64_t at, uint32_t v) { next[at] = v; });
            __syncthreads();
        }
        __syncthreads(); /* `start` */
    }
}

/* Parts of long rows, a block each. */
static __global__ void __launch_bounds__(THREADS) relax_long(search s)
{
    dcsr_i_graph_piles *piles = s.piles;
    const uint32_t parts = piles->parts, round = piles->round;
    uint32_t *next = s.near[piles->near_list ^ 1], *far = s.far[piles->far_list];
    const double *weight = (const double *)s.edges.values;
    for (uint64_t p = dcsr_i_cuda_first_block(); p < parts; p += dcsr_i_cuda_block_step()) {
        const uint32_t u = (uint32_t)(s.part[p] >> 32);
        const double start = number(distance_of(s, u));
        const uint64_t begin = s.edges.offsets[u] + (uint64_t)(uint32_t)s.part[p] * LONG;
        const uint64_t row_end = s.edges.offsets[u + 1],
                       end = row_end - begin < LONG ? row_end : begin + LONG;
        for (uint64_t first = begin; first < end; first += ITEMS * THREADS) {
            uint32_t v[ITEMS];
            double there[ITEMS];
            unsigned here = 0;
            for (unsigned k = 0; k < ITEMS; k++) {
                const uint64_t e = first + k * THREADS + threadIdx.x;
                here |= (e < end ? 1u : 0u) << k;
                v[k] = e < end ? s.edges.columns[e] : 0;
                there[k] = e < end ? start + weight[e] : 0;
            }
            offer(s, v, there, here, piles->limit, round, &piles->next, far,
                  [&](uint64_t at, uint32_t w) { next[at] = w; });
        }
    }
}

/* Where nothing has become near: the least distance of what is far and beyond the limit. */
static __global__ void find_least(search s)
{
    dcsr_i_graph_piles *piles = s.piles;
    if (!is_for_all(*piles) || piles->next) return;
    if (threadIdx.x == 0) *(volatile unsigned *)&piles->advances = 1;
    const uint32_t *far = s.far[piles->far_list];
    word least = INFINITE;
    for (uint64_t i = dcsr_i_cuda_first(); i < piles->far; i += dcsr_i_cuda_step()) {
        const word d = s.distance[far[i]];
        if (number(d) > piles->limit && d < least) least = d;
    }
    least = ~dcsr_i_cuda_block_max((uint64_t)~least, (uint64_t)0);
    if (threadIdx.x == 0 && least < INFINITE) atomicMin(&piles->least, least);
}

/* The block that comes last begins the next round. */
DCSR_CUDA_INLINE void end_round(dcsr_i_graph_piles *piles, bool advanced, double limit)
{
    if (threadIdx.x) return;
    __threadfence();
    if (atomicAdd(&piles->done, 1u) != gridDim.x - 1) return;
    __threadfence();
    const uint32_t next = atomicAdd(&piles->next, 0u), kept = atomicAdd(&piles->kept, 0u);
    if (advanced) {
        piles->limit = limit;
        piles->far = kept;
        piles->far_list ^= 1;
        piles->kept = 0;
        piles->advances = 0;
        piles->least = INFINITE;
    }
    piles->near = next;
    piles->near_list ^= 1;
    piles->next = 0;
    piles->parts = 0;
    piles->round++;
    piles->large = next > FEW / 2;
    piles->done = 0;
}

/* Then the limit is raised, and what comes within it becomes near. */
static __global__ void raise_limit(search s)
{
    dcsr_i_graph_piles *piles = s.piles;
    if (!is_for_all(*piles)) return;
    const double before = piles->limit, limit = number(piles->least) + s.delta;
    const bool advances = piles->advances != 0;
    if (advances) {
        const uint32_t *from = s.far[piles->far_list], count = piles->far;
        uint32_t *to = s.far[piles->far_list ^ 1], *near = s.near[piles->near_list ^ 1];
        for (uint64_t first = dcsr_i_cuda_first_warp() * 32; first < count;
             first += dcsr_i_cuda_warp_step() * 32) {
            const uint64_t i = first + dcsr_i_cuda_lane();
            const uint32_t v = i < count ? from[i] : 0;
            const double d = i < count ? number(s.distance[v]) : 0;
            const bool stays = i < count && d > limit, comes = i < count && !stays && d > before;
            if (i < count && !stays) atomicAnd(&s.is_far[v / 32], ~(1u << (v & 31)));
            const uint64_t stay = dcsr_i_cuda_take_places(&piles->kept, (uint32_t)stays),
                           come = dcsr_i_cuda_take_places(&piles->next, (uint32_t)comes);
            if (stays) to[stay] = v;
            if (comes) near[come] = v;
        }
    }
    end_round(piles, advances, limit);
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
    s.piles->least = INFINITE;
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
    dcsr_i_cuda_launch(stream, begin, n, *s, source);
}

void dcsr_i_graph_relax_few(dcsr_i_cuda_stream *stream, const search *s)
{
    dcsr_i_cuda_launch_blocks(stream, relax_few, 1, FEW, 0, *s);
}

void dcsr_i_graph_relax_round(dcsr_i_cuda_stream *stream, const search *s)
{
    const uint64_t tiles = (s->edges.rows + THREADS - 1) / THREADS,
                   blocks = tiles < MOST_BLOCKS ? tiles : (uint64_t)MOST_BLOCKS;
    dcsr_i_cuda_launch_blocks(stream, relax_short, blocks, THREADS, 0, *s);
    dcsr_i_cuda_launch_blocks(stream, relax_long, blocks, THREADS, 0, *s);
    dcsr_i_cuda_launch_blocks(stream, find_least, blocks, THREADS, 0, *s);
    dcsr_i_cuda_launch_blocks(stream, raise_limit, blocks, THREADS, 0, *s);
}

void dcsr_i_graph_end_search(dcsr_i_cuda_stream *stream, const search *s)
{
    dcsr_i_cuda_launch(stream, end, s->edges.rows, *s);
}

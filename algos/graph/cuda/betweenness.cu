/* betweenness.cu: betweenness centrality from up to 8 sources at once, in two launches whose blocks meet after each
 * level.
 *
 * As on the cpu, a row of numbers belongs to a vertex, one a source. On the way down the frontier hands bits on, one a
 * source, by which vertices of the next level are listed; a listed vertex then pulls the paths along its edges. On the
 * way up it pulls what depends on it. Each vertex adds up its own edges, in an order that depends on nothing else, so
 * results are the same each time. Numbers of paths beyond 2^500 have a power of 2^512 of their own.
 *
 * Bits of a level are kept in one of four arrays. Those of the level above tell whose paths are pulled, those of this
 * and of all before who is not reached again; the next one is written, and the last one cleared meanwhile: so blocks
 * meet only once a level.
 *
 *      level       d - 2    d - 1   d       d + 1
 *      bits of it  cleared  read    read    written */
#include "algos/graph/cuda/list_walk.cuh"
#include <stddef.h>

typedef dcsr_i_graph_between between;
typedef dcsr_i_graph_between_found finding;
enum { ITEMS = DCSR_GRAPH_ITEMS, FEW = DCSR_GRAPH_LEAST_ROWS };
/* Warps of a block, and sums that they have. */
enum { WARPS = DCSR_GRAPH_THREADS / 32, SUMS = WARPS * DCSR_GRAPH_BETWEEN };
#define LARGE 0x1p500
#define DOWN  0x1p-512

/* Each block knows by itself how far it is; all agree. */
typedef dcsr_i_graph_between_level state;

/* The part of a block that is alone, or one of all. */
struct share {
    uint64_t warp, warps;
};
DCSR_CUDA_INLINE share share_of(bool alone)
{
    return alone ? share{threadIdx.x / 32, blockDim.x / 32}
                 : share{dcsr_i_cuda_first_warp(), dcsr_i_cuda_warp_step()};
}

/* ---- Sums over edges ---- */

/* sum * 2^(512 power) */
struct amount {
    double sum;
    uint32_t power;
};

DCSR_CUDA_INLINE void add_paths(amount &a, double paths, uint32_t power)
{
    if (power > a.power) {
        a.sum *= power == a.power + 1 ? DOWN : 0;
        a.power = power;
    }
    a.sum += power == a.power ? paths : power + 1 == a.power ? paths * DOWN : 0;
}

/* Lane k of `width` has source k, and so has each of the others that follow at this distance: they take different
 * edges. add(a, place) adds a number of a neighbour's row. By whole warps; all lanes of a source get its sum. */
template <class Add>
DCSR_CUDA_INLINE amount pull(const between &b, const uint32_t *columns, const uint32_t *active, uint32_t bits,
                             uint64_t first, uint64_t end, uint64_t step, amount a, Add add)
{
    SIMT_SHARED(uint32_t, who, DCSR_GRAPH_THREADS);
    SIMT_SHARED(uint32_t, has, DCSR_GRAPH_THREADS);
    const unsigned lane = dcsr_i_cuda_lane(), own = threadIdx.x - lane, source = lane & (b.width - 1);
    for (; first < end; first += step) {
        const uint64_t e = first + lane;
        const uint32_t u = e < end ? columns[e] : 0, here = e < end ? active[u] & bits : 0;
        const unsigned all = __ballot_sync(DCSR_CUDA_ALL_LANES, here != 0),
                       before = (unsigned)__popc(all & ((1u << lane) - 1));
        if (here) who[own + before] = u, has[own + before] = here;
        __syncwarp();
        for (unsigned i = lane / b.width; i < (unsigned)__popc(all); i += 32 / b.width)
            if (has[own + i] >> source & 1) add(a, (uint64_t)who[own + i] * b.width + source);
        __syncwarp();
    }
    for (unsigned distance = 16; distance >= b.width; distance /= 2) {
        const double sum = __shfl_xor_sync(DCSR_CUDA_ALL_LANES, a.sum, distance);
        add_paths(a, sum, __shfl_xor_sync(DCSR_CUDA_ALL_LANES, a.power, distance));
    }
    return a;
}

/* Adds up what the warps of a block have, in their order; all of them get it. */
DCSR_CUDA_INLINE amount add_warps(const between &b, amount a)
{
    SIMT_SHARED(double, sum, SUMS);
    SIMT_SHARED(uint32_t, power, SUMS);
    const unsigned lane = dcsr_i_cuda_lane(), source = lane & (b.width - 1);
    if (lane < b.width) {
        sum[threadIdx.x / 32 * b.width + lane] = a.sum;
        power[threadIdx.x / 32 * b.width + lane] = a.power;
    }
    __syncthreads();
    a = amount{sum[source], power[source]};
    for (unsigned w = 1; w < WARPS; w++) add_paths(a, sum[w * b.width + source], power[w * b.width + source]);
    __syncthreads(); /* before they are written again */
    return a;
}

/* ---- Down ---- */

static __global__ void begin_between(between b)
{
    if (threadIdx.x) return;
    for (uint32_t k = 0; k < b.count; k++) {
        const uint32_t v = b.source[k];
        if (!b.bits[0][v]) b.vertex[b.counts->begun++] = v;
        b.bits[0][v] |= 1u << k;
        b.paths[(uint64_t)v * b.width + k] = 1;
    }
    b.begin[0] = 0;
    b.begin[1] = b.counts->begun;
}

/* The paths to v for the sources in `bits`. */
struct add_up_paths {
    const double *paths;
    const uint32_t *power; /* NULL: all zero */
    __device__ void operator()(amount &a, uint64_t place) const
    {
        add_paths(a, paths[place], power ? power[place] : 0);
    }
};

DCSR_CUDA_INLINE void keep_paths(const between &b, uint32_t v, uint32_t bits, amount a)
{
    const unsigned lane = dcsr_i_cuda_lane();
    const uint64_t place = (uint64_t)v * b.width + lane;
    if (lane >= b.width || !(bits >> lane & 1)) return;
    if (a.sum > LARGE) a.sum *= DOWN, a.power++;
    b.paths[place] = a.sum;
    if (!a.power) return;
    b.power[place] = a.power;
    atomicOr(&b.counts->large, 1u);
}

/* Of the vertices of the level; long lists of edges are only noted. */
DCSR_CUDA_INLINE void count_paths(const between &b, const state &now, const share &mine, finding *found)
{
    const uint32_t *active = b.bits[(now.depth - 1) & 3];
    const add_up_paths add = {b.paths, now.large ? b.power : NULL};
    for (uint64_t i = now.begin[2] + mine.warp; i < now.begin[3]; i += mine.warps) {
        const uint32_t v = b.vertex[i], bits = b.bits[now.depth & 3][v];
        const uint64_t first = b.in.offsets[v], end = b.in.offsets[v + 1];
        const bool is_long = now.depth && end - first > DCSR_GRAPH_LONG;
        if (dcsr_i_cuda_lane() == 0) {
            b.listed[i] = (unsigned char)bits;
            atomicOr(&b.seen[v], bits);
            if (is_long) b.is_long[atomicAdd(&found->is_long, 1u)] = i;
        }
        if (is_long || !now.depth) continue;
        keep_paths(b, v, bits, pull(b, b.in.columns, active, bits, first, end, 32, amount{0, 0}, add));
    }
}

DCSR_CUDA_INLINE void count_paths_long(const between &b, const state &now, uint32_t count)
{
    const add_up_paths add = {b.paths, now.large ? b.power : NULL};
    for (uint64_t p = blockIdx.x; p < count; p += gridDim.x) {
        const uint64_t i = b.is_long[p];
        const uint32_t v = b.vertex[i], bits = b.bits[now.depth & 3][v];
        const amount sum = add_warps(b, pull(b, b.in.columns, b.bits[(now.depth - 1) & 3], bits,
                                             b.in.offsets[v] + (threadIdx.x & ~31u), b.in.offsets[v + 1],
                                             blockDim.x, amount{0, 0}, add));
        if (threadIdx.x < 32) keep_paths(b, v, bits, sum);
    }
}

/* Hands bits on to some vertices; by whole warps. */
DCSR_CUDA_INLINE void hand_on(const between &b, const state &now, const uint32_t *v, const uint32_t *bits,
                              finding *found)
{
    const uint32_t *here = b.bits[now.depth & 3];
    uint32_t *next = b.bits[(now.depth + 1) & 3];
    unsigned first = 0;
    uint32_t add[ITEMS];
    for (unsigned i = 0; i < ITEMS; i++)
        /* Those that this level reaches may be among the seen ones by now, or not yet. */
        add[i] = bits[i] ? bits[i] & ~(dcsr_i_cuda_peek(&b.seen[v[i]]) | here[v[i]]) : 0;
    for (unsigned i = 0; i < ITEMS; i++)
        if (add[i]) add[i] &= ~dcsr_i_cuda_peek(&next[v[i]]);
    for (unsigned i = 0; i < ITEMS; i++)
        if (add[i] && !atomicOr(&next[v[i]], add[i])) first |= 1u << i;
    uint64_t at = now.begin[3] + dcsr_i_cuda_take_places(&found->now, (uint32_t)__popc(first));
    for (unsigned i = 0; i < ITEMS; i++)
        if (first >> i & 1) b.vertex[at++] = v[i];
}

DCSR_CUDA_INLINE void expand_short(const between &b, const state &now, finding *found)
{
    SIMT_SHARED(uint32_t, bits_of, DCSR_GRAPH_THREADS);
    const uint32_t *here = b.bits[now.depth & 3];
    dcsr_i_graph_visit_short(
        b.out, b.vertex + now.begin[2], now.begin[3] - now.begin[2], {b.part, &found->parts},
        [&](uint32_t u, bool mine) { bits_of[threadIdx.x] = mine ? here[u] : 0; },
        [&](const dcsr_i_cuda_window &window) {
            uint32_t v[ITEMS], bits[ITEMS];
            for (unsigned i = 0; i < ITEMS; i++) {
                const uint64_t j = i * blockDim.x + threadIdx.x;
                v[i] = j < window.size ? b.out.columns[window.place[j]] : 0;
                bits[i] = j < window.size ? bits_of[window.from[j]] : 0;
            }
            hand_on(b, now, v, bits, found);
        });
}

DCSR_CUDA_INLINE void expand_long(const between &b, const state &now, uint32_t parts, finding *found)
{
    const uint32_t *here = b.bits[now.depth & 3];
    dcsr_i_graph_visit_long(b.out, b.part, parts, [&](uint32_t u, uint64_t first, uint64_t end) {
        uint32_t v[ITEMS], bits[ITEMS];
        for (unsigned i = 0; i < ITEMS; i++) {
            const uint64_t e = first + i * blockDim.x + threadIdx.x;
            v[i] = e < end ? b.out.columns[e] : 0;
            bits[i] = e < end ? here[u] : 0;
        }
        hand_on(b, now, v, bits, found);
    });
}

/* Clears the bits of a level, as none of those that are looked at. */
DCSR_CUDA_INLINE void clear(const between &b, uint32_t *bits, uint64_t begin, uint64_t end, const share &mine)
{
    for (uint64_t i = begin + mine.warp * 32 + dcsr_i_cuda_lane(); i < end; i += mine.warps * 32)
        bits[b.vertex[i]] = 0;
}

DCSR_CUDA_INLINE void step_down(const between &b, const state &now, bool alone, finding *found)
{
    const share mine = share_of(alone);
    clear(b, b.bits[(now.depth + 2) & 3], now.begin[0], now.begin[1], mine);
    count_paths(b, now, mine, found);
    expand_short(b, now, found);
}

/* Goes on to the next level, which has `count` vertices. */
DCSR_CUDA_INLINE void advance(const between &b, state &now, uint32_t count)
{
    for (int k = 0; k < 3; k++) now.begin[k] = now.begin[k + 1];
    now.begin[3] += count;
    now.depth++;
    now.large = dcsr_i_cuda_peek(&b.counts->large);
    if (dcsr_i_cuda_first() == 0) b.begin[now.depth + 1] = now.begin[3];
}

/* The first block goes on alone while levels are small; it ends with one expanded, and tells the others which. */
DCSR_CUDA_INLINE void go_alone(const between &b, state &now, finding *found)
{
    volatile finding *told = found;
    for (;;) {
        step_down(b, now, true, found);
        __syncthreads();
        const uint32_t more = told->parts | told->is_long, count = told->now;
        __syncthreads(); /* before it is written again */
        if (more || !count || count > FEW) break;
        advance(b, now, count);
        if (threadIdx.x == 0) told->now = 0;
        __syncthreads();
    }
    if (threadIdx.x == 0) b.counts->told = now;
}

/* Of three places for counts one is in use, the one before may still be read by blocks that come late, and the one
 * after is made zero meanwhile. */
static __global__ void __launch_bounds__(DCSR_GRAPH_THREADS) search_down(between b)
{
    state now = {};
    unsigned meetings = 0;
    now.begin[3] = b.counts->begun;
    for (unsigned turn = 0; now.begin[3] > now.begin[2]; turn++) {
        finding *found = &b.counts->found[turn % 3];
        const bool alone = now.begin[3] - now.begin[2] <= FEW;
        if (dcsr_i_cuda_first() == 0) b.counts->found[(turn + 1) % 3] = finding{0, 0, 0};
        if (!alone) step_down(b, now, false, found);
        if (alone && blockIdx.x == 0) go_alone(b, now, found);
        dcsr_i_cuda_meet(&b.counts->arrived[0], ++meetings);
        if (alone) now = b.counts->told;
        const uint32_t parts = dcsr_i_cuda_peek(&found->parts), is_long = dcsr_i_cuda_peek(&found->is_long);
        if (parts || is_long) {
            expand_long(b, now, parts, found);
            count_paths_long(b, now, is_long);
            dcsr_i_cuda_meet(&b.counts->arrived[0], ++meetings);
        }
        advance(b, now, dcsr_i_cuda_peek(&found->now));
    }
    if (dcsr_i_cuda_first()) return;
    b.counts->levels = now.depth;
    if (now.depth > b.counts->most_levels) b.counts->most_levels = now.depth;
}

/* ---- Up ---- */

/* What those below hand on; they have as many paths as v at least. */
struct add_up_shares {
    const double *paths;
    const uint32_t *power;
    __device__ void operator()(amount &a, uint64_t place) const
    {
        const uint32_t more = power ? power[place] - a.power : 0;
        const double share = paths[place];
        a.sum += more == 0 ? share : more == 1 ? share * DOWN : 0;
    }
};

/* What nothing depends on yet; its power is that of the paths to v. */
DCSR_CUDA_INLINE amount nothing_yet(const between &b, uint32_t v, bool large)
{
    const unsigned source = dcsr_i_cuda_lane() & (b.width - 1);
    return amount{0, large ? b.power[(uint64_t)v * b.width + source] : 0};
}

/* What v hands on takes the place of its paths. */
DCSR_CUDA_INLINE void keep_dependence(const between &b, uint32_t v, uint32_t bits, amount a)
{
    const unsigned lane = dcsr_i_cuda_lane();
    const bool mine = lane < b.width && bits >> lane & 1;
    double *row = b.paths + (uint64_t)v * b.width + lane;
    const double paths = mine ? *row : 1, dependence = mine ? paths * a.sum : 0;
    if (mine) *row = (1 + dependence) / paths;
    const double all = dcsr_i_cuda_warp_sum(dependence);
    if (lane == 0) b.centrality[v] += all;
}

DCSR_CUDA_INLINE void step_up(const between &b, uint64_t d, bool large, bool alone, uint32_t *is_long)
{
    const share mine = share_of(alone);
    const uint32_t *active = b.bits[(d + 1) & 3];
    const add_up_shares add = {b.paths, large ? b.power : NULL};
    if (d + 2 < b.counts->levels) clear(b, b.bits[(d + 2) & 3], b.begin[d + 2], b.begin[d + 3], mine);
    for (uint64_t i = b.begin[d] + mine.warp; i < b.begin[d + 1]; i += mine.warps) {
        const uint32_t v = b.vertex[i], bits = b.listed[i];
        const uint64_t first = b.out.offsets[v], end = b.out.offsets[v + 1];
        if (dcsr_i_cuda_lane() == 0) {
            b.bits[d & 3][v] = bits;
            if (end - first > DCSR_GRAPH_LONG) b.is_long[atomicAdd(is_long, 1u)] = i;
        }
        if (end - first > DCSR_GRAPH_LONG) continue;
        keep_dependence(b, v, bits,
                        pull(b, b.out.columns, active, bits, first, end, 32, nothing_yet(b, v, large), add));
    }
}

DCSR_CUDA_INLINE void step_up_long(const between &b, uint64_t d, bool large, bool alone, uint32_t count)
{
    const add_up_shares add = {b.paths, large ? b.power : NULL};
    for (uint64_t p = alone ? 0 : blockIdx.x; p < count; p += alone ? 1 : gridDim.x) {
        const uint64_t i = b.is_long[p];
        const uint32_t v = b.vertex[i], bits = b.listed[i];
        amount sum =
            pull(b, b.out.columns, b.bits[(d + 1) & 3], bits, b.out.offsets[v] + (threadIdx.x & ~31u),
                 b.out.offsets[v + 1], blockDim.x, nothing_yet(b, v, large), add);
        sum = add_warps(b, sum);
        if (threadIdx.x < 32) keep_dependence(b, v, bits, sum);
    }
}

/* The first block takes levels of few vertices alone, as long as they follow one another; the others know where that
 * ends. */
static __global__ void __launch_bounds__(DCSR_GRAPH_THREADS) search_up(between b)
{
    SIMT_SHARED(uint32_t, own, 1); /* long rows of the block that is alone */
    const bool large = b.counts->large;
    unsigned meetings = 0, turn = 0;
    /* Sources are between no others. */
    for (uint64_t d = b.counts->levels - 1; d; d--, turn++) {
        uint32_t *is_long = &b.counts->up[turn % 3];
        const bool few = b.begin[d + 1] - b.begin[d] <= FEW;
        if (dcsr_i_cuda_first() == 0) b.counts->up[(turn + 1) % 3] = 0;
        if (few && blockIdx.x == 0) {
            if (threadIdx.x == 0) own[0] = 0;
            __syncthreads();
            step_up(b, d, large, true, own);
            __syncthreads();
            step_up_long(b, d, large, true, own[0]);
            __syncthreads();
        }
        if (few && d > 1 && b.begin[d] - b.begin[d - 1] <= FEW) continue;
        if (!few) step_up(b, d, large, false, is_long);
        dcsr_i_cuda_meet(&b.counts->arrived[1], ++meetings);
        const uint32_t count = few ? 0 : dcsr_i_cuda_peek(is_long);
        if (!count) continue;
        step_up_long(b, d, large, false, count);
        dcsr_i_cuda_meet(&b.counts->arrived[1], ++meetings);
    }
}

static __global__ void scale_all(double *x, double scale, uint64_t n)
{
    for (uint64_t v = dcsr_i_cuda_first(); v < n; v += dcsr_i_cuda_step()) x[v] *= scale;
}

void dcsr_i_graph_scale(dcsr_i_cuda_stream *stream, double *x, double scale, uint64_t n)
{
    dcsr_i_cuda_launch(stream, scale_all, n, x, scale, n);
}

void dcsr_i_graph_search_between(dcsr_i_cuda_stream *stream, const between *b)
{
    const uint64_t n = b->out.rows, blocks = dcsr_i_graph_list_blocks(n);
    /* most_levels, at the end, is over all searches. */
    dcsr_i_cuda_fill(stream, b->counts, 0, offsetof(dcsr_i_graph_between_counts, most_levels));
    for (int k = 0; k < 4; k++) dcsr_i_cuda_fill(stream, b->bits[k], 0, n * sizeof *b->bits[k]);
    dcsr_i_cuda_fill(stream, b->seen, 0, n * sizeof *b->seen);
    dcsr_i_cuda_fill(stream, b->power, 0, n * b->width * sizeof *b->power);
    dcsr_i_cuda_launch_blocks(stream, begin_between, 1, 32, 0, *b);
    dcsr_i_cuda_launch_together(stream, search_down, blocks, DCSR_GRAPH_THREADS, *b);
    dcsr_i_cuda_launch_together(stream, search_up, blocks, DCSR_GRAPH_THREADS, *b);
}

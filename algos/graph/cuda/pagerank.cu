/* pagerank.cu: kernels of PageRank: what pagerank.c does, with some lanes of a warp for each vertex and a block for
 * each hub. When to stop is decided on the device, so that the host launches several iterations ahead.
 *
 * Each vertex adds up in an order that depends on its number of edges alone, and blocks add up the same vertices each
 * time: so ranks come out the same each time on one kind of device, and up to rounding on others.
 *
 * Bytes moved by an iteration: 4 an edge and, from the second-level cache, a sector of what is handed on; 45 a
 * vertex. */
#include "algos/graph/cuda/graph_stages.h"
#include "dcsr/device/reduce.cuh"
#include "dcsr/store/cuda/balanced_walk.cuh"
#include <cmath>

#ifdef DCSR_SIMT
enum { HUB = 40, THREADS = 32 };
#else
enum { HUB = 2048, THREADS = 256 }; /* HUB: edges from which on a vertex gets a block */
#endif

typedef dcsr_i_graph_walk walk;

DCSR_CUDA_INLINE double portion(const walk &w, uint64_t v)
{
    return w.portions ? w.portions[v] : 1 / (double)w.in.rows;
}

static __global__ void degrees_of_rows(uint32_t *degree, dcsr_i_cuda_rows out)
{
    for (uint64_t v = dcsr_i_cuda_first(); v < out.rows; v += dcsr_i_cuda_step())
        degree[v] = (uint32_t)dcsr_i_cuda_length(out, v);
}

static __global__ void degrees_of_ends(uint32_t *degree, const uint32_t *end, uint64_t count)
{
    for (uint64_t e = dcsr_i_cuda_first(); e < count; e += dcsr_i_cuda_step()) atomicAdd(&degree[end[e]], 1u);
}

DCSR_CUDA_INLINE void keep_sums(const walk &w, double change, double lost)
{
    change = dcsr_i_cuda_block_sum(change);
    lost = dcsr_i_cuda_block_sum(lost);
    if (threadIdx.x == 0) w.block[blockIdx.x] = dcsr_i_graph_sums{change, lost};
}

static __global__ void begin_walk(walk w)
{
    double lost = 0;
    uint64_t dangling = 0;
    for (uint64_t v = dcsr_i_cuda_first(); v < w.in.rows; v += dcsr_i_cuda_step()) {
        const double rank = portion(w, v);
        w.rank[v] = rank;
        w.settled[v] = 0;
        w.handed[0][v] = w.degree[v] ? rank / w.degree[v] : 0;
        if (!w.degree[v]) lost += rank, dangling++;
        if (w.in.offsets[v + 1] - w.in.offsets[v] >= HUB) w.hub[atomicAdd(&w.now->hubs, 1u)] = (uint32_t)v;
    }
    keep_sums(w, 0, lost);
    dangling = dcsr_i_cuda_block_sum(dangling);
    if (threadIdx.x == 0) atomicAdd(&w.now->dangling, (unsigned long long)dangling);
}

/* One block: adds up what the blocks have, and decides what comes next. */
static __global__ void add_up(walk w, uint32_t blocks, bool begins)
{
    dcsr_i_graph_iteration *now = w.now;
    double change = 0, lost = 0;
    if (!begins && now->done) return;
    for (uint32_t b = threadIdx.x; b < blocks; b += blockDim.x) {
        change += w.block[b].change;
        lost += w.block[b].lost;
    }
    change = dcsr_i_cuda_block_sum(change);
    lost = dcsr_i_cuda_block_sum(lost);
    if (threadIdx.x) return;
    now->sums = dcsr_i_graph_sums{change, lost};
    if (begins) {
        now->all = 1;
        now->done = !w.in.rows;
        return;
    }
    const uint32_t count = ++now->count;
    const bool quiet = change <= w.tolerance;
    now->done = now->all && quiet ? 1 : count == w.most ? 2 : 0;
    now->all = !w.adaptive || quiet || count % w.full == 0;
}

/* Sums of thousands of terms are compensated (Kahan 1965): if terms are alike, as those of a star are, each addition is
 * rounded in the same direction, and a change of the last bit of all terms moves the sum by more than a tolerance. */
struct compensated {
    double sum, excess; /* what rounding has added */
};

DCSR_CUDA_INLINE void add(compensated *to, double value)
{
    const double term = value - to->excess, more = to->sum + term;
    to->excess = (more - to->sum) - term;
    to->sum = more;
}

static __global__ void pull_hubs(walk w)
{
    if (w.now->done) return;
    const double *handed = w.handed[w.now->count & 1];
    for (uint64_t h = dcsr_i_cuda_first_block(); h < w.now->hubs; h += dcsr_i_cuda_block_step()) {
        const uint32_t v = w.hub[h];
        const uint64_t end = w.in.offsets[v + 1];
        compensated own = {};
        for (uint64_t e = w.in.offsets[v] + threadIdx.x; e < end; e += blockDim.x)
            add(&own, handed[w.in.columns[e]]);
        const double sum = dcsr_i_cuda_block_sum(own.sum);
        if (threadIdx.x == 0) w.pulled[v] = sum;
    }
}

/* LANES of a warp for each vertex. */
template <unsigned LANES> static __global__ void __launch_bounds__(THREADS) pull(walk w)
{
    if (w.now->done) return;
    const double *handed = w.handed[w.now->count & 1];
    double *next = w.handed[~w.now->count & 1];
    const bool all = w.now->all;
    const double chance = 1 - w.damping + w.damping * w.now->sums.lost,
                 quiet = w.tolerance / (double)w.in.rows;
    const unsigned lane = dcsr_i_cuda_lane() % LANES;
    double changes = 0, lost = 0;
    for (uint64_t first = dcsr_i_cuda_first_warp() * (32 / LANES); first < w.in.rows;
         first += dcsr_i_cuda_warp_step() * (32 / LANES)) {
        const uint64_t v = first + dcsr_i_cuda_lane() / LANES;
        const bool here = v < w.in.rows, moves = here && (all || !w.settled[v]);
        const uint64_t begin = moves ? w.in.offsets[v] : 0, end = moves ? w.in.offsets[v + 1] : 0;
        compensated own = {};
        if (end - begin < HUB)
            for (uint64_t e = begin + lane; e < end; e += LANES) add(&own, handed[w.in.columns[e]]);
        double sum = own.sum;
        for (unsigned distance = LANES / 2; distance; distance /= 2)
            sum += __shfl_xor_sync(DCSR_CUDA_ALL_LANES, sum, distance);
        if (lane || !here) continue;
        if (end - begin >= HUB) sum = w.pulled[v];
        double rank = w.rank[v];
        if (moves) {
            const double before = rank;
            rank = chance * portion(w, v) + w.damping * sum;
            const double change = fabs(rank - before);
            w.rank[v] = rank;
            w.settled[v] = change <= quiet;
            changes += change;
        }
        if (w.degree[v])
            next[v] = rank / w.degree[v];
        else
            lost += rank;
    }
    keep_sums(w, changes, lost);
}

/* How many blocks go over all vertices. */
static uint32_t blocks_of(const walk *w)
{
    const uint64_t blocks = (w->in.rows + 4 * THREADS - 1) / (4 * THREADS);
    return (uint32_t)(blocks < DCSR_GRAPH_BLOCKS ? blocks : (uint64_t)DCSR_GRAPH_BLOCKS);
}

static void launch_blocks(dcsr_i_cuda_stream *stream, void (*kernel)(walk), const walk *w)
{
    const dcsr_i_cuda_policy one_each = {1, 1};
    const unsigned blocks = dcsr_i_cuda_blocks(stream, blocks_of(w), one_each);
    dcsr_i_cuda_launch_blocks(stream, kernel, blocks, THREADS, 0, *w);
    dcsr_i_cuda_launch_blocks(stream, add_up, 1, THREADS, 0, *w, blocks, kernel == begin_walk);
}

void dcsr_i_graph_degrees_of_rows(dcsr_i_cuda_stream *stream, const dcsr_i_graph_walk *w,
                                  dcsr_i_cuda_rows out)
{
    dcsr_i_cuda_launch(stream, degrees_of_rows, out.rows, w->degree, out);
}

void dcsr_i_graph_degrees_of_ends(dcsr_i_cuda_stream *stream, const dcsr_i_graph_walk *w)
{
    dcsr_i_cuda_fill(stream, w->degree, 0, w->in.rows * sizeof *w->degree);
    dcsr_i_cuda_launch(stream, degrees_of_ends, w->in.stored, w->degree, w->in.columns, w->in.stored);
}

void dcsr_i_graph_begin_walk(dcsr_i_cuda_stream *stream, const dcsr_i_graph_walk *w)
{
    dcsr_i_cuda_fill(stream, w->now, 0, sizeof *w->now);
    launch_blocks(stream, begin_walk, w);
}

void dcsr_i_graph_step(dcsr_i_cuda_stream *stream, const dcsr_i_graph_walk *w, uint32_t hubs)
{
    static void (*const kernels[])(walk) = {pull<1>, pull<2>, pull<4>, pull<8>, pull<16>, pull<32>};
    const uint64_t mean = w->in.rows ? w->in.stored / w->in.rows : 0;
    int lanes = 0; /* their logarithm: about half of the mean, so that each has two edges under way */
    while (lanes < 5 && mean >> (lanes + 2)) lanes++;
    dcsr_i_cuda_launch_blocks(stream, pull_hubs, hubs, THREADS, 0, *w);
    launch_blocks(stream, kernels[lanes], w);
}

/* greedy.cu: a maximal independent set, and a colouring: what walks over all vertices in an order at random find, by
 * many vertices at once.
 *
 * The set, in rounds that are launched one after the other: a vertex looks along its edges for the first neighbour that
 * precedes it and is not left out. If that is a member, the vertex is left out; if it waits, so does the vertex, and
 * goes on there next time; if there is none, the vertex is a member. What was looked at is so for good: each edge is
 * passed once.
 *
 * Colours, in one launch whose blocks meet after each round: vertices whose neighbours that precede have colours take
 * the least that these leave, and tell those behind. A warp has a vertex, a block one of many edges. */
#include "algos/graph/cuda/list_walk.cuh"
#include "algos/graph/random_order.h"
#include "dcsr/store/cuda/balanced_walk.cuh"

/* ---- Independent set ---- */

enum { WAITING = 0, TAKEN, LEFT_OUT };
typedef dcsr_i_graph_choice choice;

DCSR_CUDA_INLINE unsigned char state_of(const choice &c, uint32_t v)
{
    return dcsr_i_cuda_peek(&c.state[v]);
}

static __global__ void decide(choice c, unsigned round, bool all)
{
    const uint64_t count = all ? c.edges.rows : c.count[round];
    for (uint64_t first = dcsr_i_cuda_first_warp() * 32; first < count;
         first += dcsr_i_cuda_warp_step() * 32) {
        const uint64_t i = first + dcsr_i_cuda_lane();
        const bool mine = i < count;
        const uint32_t v = !mine ? 0 : all ? (uint32_t)i : c.waiting[round & 1][i];
        const uint64_t begin = c.edges.offsets[v], end = mine ? c.edges.offsets[v + 1] : 0;
        const uint64_t e = dcsr_i_graph_first_edge(
            c.edges, v, mine ? begin + (all ? 0 : c.passed[v]) : 0, end, [&](uint32_t w, uint32_t u) {
                return dcsr_i_graph_precedes(c.seed, u, w) && state_of(c, u) != LEFT_OUT;
            });
        const bool waits = mine && e < end && state_of(c, c.edges.columns[e]) != TAKEN;
        if (mine && !waits) *(volatile unsigned char *)&c.state[v] = e < end ? LEFT_OUT : TAKEN;
        const uint64_t at = dcsr_i_cuda_take_places(&c.count[round + 1], (uint32_t)waits);
        if (!waits) continue;
        c.passed[v] = (uint32_t)(e - begin);
        c.waiting[(round + 1) & 1][at] = v;
    }
}

/* The state becomes whether a vertex is a member; how many are is counted[0]. */
static __global__ void count_members(choice c)
{
    uint32_t members = 0;
    for (uint64_t v = dcsr_i_cuda_first(); v < c.edges.rows; v += dcsr_i_cuda_step()) {
        c.state[v] = c.state[v] == TAKEN;
        members += c.state[v];
    }
    members = dcsr_i_cuda_block_sum(members);
    if (threadIdx.x == 0 && members) atomicAdd(&c.count[0], members);
}

void dcsr_i_graph_decide(dcsr_i_cuda_stream *stream, const choice *c, uint64_t waiting, bool all)
{
    if (all) {
        dcsr_i_cuda_fill(stream, c->state, WAITING, c->edges.rows);
        dcsr_i_cuda_fill(stream, c->count, 0, (DCSR_GRAPH_ROUNDS + 1) * sizeof *c->count);
    } else {
        dcsr_i_cuda_copy(stream, c->count, c->count + DCSR_GRAPH_ROUNDS, sizeof *c->count);
        dcsr_i_cuda_fill(stream, c->count + 1, 0, DCSR_GRAPH_ROUNDS * sizeof *c->count);
    }
    for (unsigned round = 0; round < DCSR_GRAPH_ROUNDS; round++)
        dcsr_i_cuda_launch(stream, decide, waiting, *c, round, all && !round);
}

void dcsr_i_graph_count_members(dcsr_i_cuda_stream *stream, const choice *c)
{
    dcsr_i_cuda_fill(stream, c->count, 0, sizeof *c->count);
    dcsr_i_cuda_launch(stream, count_members, c->edges.rows, *c);
}

/* ---- Colouring ---- */

typedef dcsr_i_graph_painting painting;
typedef dcsr_i_graph_painted painted;
enum { NONE = UINT32_MAX, WORDS = DCSR_GRAPH_THREADS }; /* WORDS: of bits that a block has */

DCSR_CUDA_INLINE bool precedes(const painting &p, uint32_t u, uint32_t v)
{
    return p.key[u] > p.key[v] || (p.key[u] == p.key[v] && u < v);
}

static __global__ void make_keys(painting p)
{
    for (uint64_t v = dcsr_i_cuda_first(); v < p.edges.rows; v += dcsr_i_cuda_step()) {
        p.key[v] = dcsr_i_graph_degree_key(p.seed, v, p.edges.offsets[v + 1] - p.edges.offsets[v]);
        p.pending[v] = 0;
        p.colour[v] = NONE;
    }
}

/* Who precedes whom. */
static __global__ void DCSR_CUDA_WALK_BOUNDS count_before(dcsr_i_cuda_walk walk, painting p)
{
    dcsr_i_cuda_for_entries(
        walk,
        [&](const dcsr_i_cuda_entry &, const dcsr_i_cuda_source &source) {
            return walk.rows.columns[source.place];
        },
        [&](const dcsr_i_cuda_entry &entry, uint32_t u) {
            const uint32_t v = (uint32_t)entry.i;
            if (u != v && precedes(p, v, u)) atomicAdd(&p.pending[u], 1u);
        });
}

/* Lists some vertices as the next, by their numbers of edges; by whole warps. */
DCSR_CUDA_INLINE void list_next(const painting &p, unsigned list, uint32_t v, bool is_next, painted *step)
{
    const bool is_long = is_next && p.edges.offsets[v + 1] - p.edges.offsets[v] > DCSR_GRAPH_LONG;
    const uint64_t at = dcsr_i_cuda_take_places(&step->few, (uint32_t)(is_next && !is_long)),
                   at_long = dcsr_i_cuda_take_places(&step->many, (uint32_t)is_long);
    if (is_long)
        p.many[list][at_long] = v;
    else if (is_next)
        p.few[list][at] = v;
}

static __global__ void list_first(painting p)
{
    for (uint64_t first = dcsr_i_cuda_first_warp() * 32; first < p.edges.rows;
         first += dcsr_i_cuda_warp_step() * 32) {
        const uint64_t v = first + dcsr_i_cuda_lane();
        list_next(p, 0, (uint32_t)v, v < p.edges.rows && !p.pending[v], &p.counts->step[0]);
    }
}

/* Those who give a vertex its colour. */
struct by_warp {
    __device__ unsigned rank() const { return dcsr_i_cuda_lane(); }
    __device__ unsigned size() const { return 32; }
    __device__ void sync() const { __syncwarp(); }
    __device__ uint32_t largest(uint32_t x) const { return dcsr_i_cuda_warp_max(x); }
};
struct by_block {
    __device__ unsigned rank() const { return threadIdx.x; }
    __device__ unsigned size() const { return blockDim.x; }
    __device__ void sync() const { __syncthreads(); }
    __device__ uint32_t largest(uint32_t x) const { return dcsr_i_cuda_block_max(x, 0u); }
};

/* The least colour that no neighbour has yet. `used` has a word for each of the group, a bit a colour; all colours are
 * looked for in as many at a time. */
template <class Group>
DCSR_CUDA_INLINE uint32_t least_free(const painting &p, uint32_t v, uint32_t *used, const Group &group)
{
    const uint64_t end = p.edges.offsets[v + 1];
    const uint32_t window = 32 * group.size(), rank = group.rank();
    for (uint32_t base = 0;; base += window) {
        used[rank] = 0;
        group.sync();
        for (uint64_t e = p.edges.offsets[v] + rank; e < end; e += group.size()) {
            const uint32_t colour = dcsr_i_cuda_peek(&p.colour[p.edges.columns[e]]);
            if (colour != NONE && colour - base < window)
                atomicOr(&used[(colour - base) / 32], 1u << (colour & 31));
        }
        group.sync();
        const uint32_t free = ~used[rank];
        const uint32_t found = ~group.largest(free ? ~(32 * rank + (uint32_t)__ffs((int)free) - 1) : 0u);
        if (found != NONE) return base + found;
    }
}

/* Gives v its colour, and tells those behind it. */
template <class Group>
DCSR_CUDA_INLINE uint32_t paint(const painting &p, uint32_t v, unsigned next, uint32_t *used, painted *step,
                                const Group &group)
{
    const uint32_t colour = least_free(p, v, used, group);
    const uint64_t end = p.edges.offsets[v + 1];
    if (group.rank() == 0) *(volatile uint32_t *)&p.colour[v] = colour;
    for (uint64_t first = p.edges.offsets[v]; first < end; first += group.size()) {
        const uint64_t e = first + group.rank();
        const uint32_t u = e < end ? p.edges.columns[e] : v;
        /* Those that precede have colours. */
        const bool is_next =
            u != v && dcsr_i_cuda_peek(&p.colour[u]) == NONE && atomicSub(&p.pending[u], 1u) == 1;
        list_next(p, next, u, is_next, step);
    }
    return colour;
}

/* Of three places for counts one is in use, the one before may still be read by blocks that come late, and the one
 * after is made zero meanwhile. */
static __global__ void __launch_bounds__(DCSR_GRAPH_THREADS) paint_all(painting p)
{
    SIMT_SHARED(uint32_t, used, WORDS);
    uint32_t few = p.counts->step[0].few, many = p.counts->step[0].many, most = 0;
    for (unsigned round = 0; few || many; round++) {
        painted *step = &p.counts->step[(round + 1) % 3];
        const unsigned now = round & 1;
        if (dcsr_i_cuda_first() == 0) p.counts->step[(round + 2) % 3] = painted{0, 0};
        for (uint64_t i = blockIdx.x; i < many; i += gridDim.x) {
            const uint32_t colour = paint(p, p.many[now][i], now ^ 1, used, step, by_block());
            most = colour > most ? colour : most;
            __syncthreads();
        }
        for (uint64_t i = dcsr_i_cuda_first_warp(); i < few; i += dcsr_i_cuda_warp_step()) {
            const uint32_t colour =
                paint(p, p.few[now][i], now ^ 1, used + (threadIdx.x & ~31u), step, by_warp());
            most = colour > most ? colour : most;
            __syncwarp();
        }
        dcsr_i_cuda_meet(&p.counts->arrived, round + 1);
        few = dcsr_i_cuda_peek(&step->few);
        many = dcsr_i_cuda_peek(&step->many);
    }
    most = dcsr_i_cuda_block_max(most, 0u);
    if (threadIdx.x == 0 && p.edges.rows) atomicMax(&p.counts->colours, most + 1);
}

void dcsr_i_graph_paint(dcsr_i_cuda_stream *stream, const painting *p)
{
    const dcsr_i_cuda_walk walk = {p->edges, NULL, p->edges.rows, p->edges.offsets};
    dcsr_i_cuda_fill(stream, p->counts, 0, sizeof *p->counts);
    dcsr_i_cuda_launch(stream, make_keys, p->edges.rows, *p);
    dcsr_i_cuda_launch_walk(stream, count_before, p->edges.stored, p->edges.rows, walk, *p);
    dcsr_i_cuda_launch(stream, list_first, p->edges.rows, *p);
    dcsr_i_cuda_launch_together(stream, paint_all, dcsr_i_graph_list_blocks(p->edges.rows),
                                DCSR_GRAPH_THREADS, *p);
}

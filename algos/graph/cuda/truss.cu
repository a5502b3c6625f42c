/* truss.cu: kernels of k-trusses: edges are numbered, the triangles of each are counted (triangles.cu), and then those
 * with too few are taken away, round by round, as on the cpu.
 *
 * A warp takes an edge that goes: the entries of its end with the shorter row are looked for in the row of the other.
 * Of two edges of a triangle that go together the one with the lower number takes it from the third, so what is left
 * does not depend on the order. */
#include "algos/graph/cuda/graph_stages.h"
#include "dcsr/device/reduce.cuh"
#include "dcsr/store/block_walk.cuh"
#include "dcsr/store/cuda/balanced_walk.cuh"

typedef dcsr_i_graph_truss truss;
enum { STAYS = 0, GOES, GONE };

/* The first place of a row whose column is not below v; rows ascend. */
DCSR_CUDA_INLINE uint64_t find_place(const dcsr_i_cuda_rows &edges, uint32_t row, uint32_t v)
{
    return dcsr_i_list_find(edges.columns, edges.offsets[row], edges.offsets[row + 1], v);
}

/* ---- Numbers ---- */

/* Edges that lead to higher vertices, which are the last of a row. */
static __global__ void count_upper(truss t)
{
    for (uint64_t v = dcsr_i_cuda_first(); v < t.edges.rows; v += dcsr_i_cuda_step())
        t.upper[v] = (uint32_t)(t.edges.offsets[v + 1] - find_place(t.edges, (uint32_t)v, (uint32_t)v + 1));
}

/* Entries get the number of their edge at its lower end. Loops get the number behind all, and so does what is there one
 * way only, against what the caller says. */
static __global__ void DCSR_CUDA_WALK_BOUNDS number(dcsr_i_cuda_walk walk, truss t)
{
    dcsr_i_cuda_for_entries(
        walk,
        [&](const dcsr_i_cuda_entry &, const dcsr_i_cuda_source &source) {
            return walk.rows.columns[source.place];
        },
        [&](const dcsr_i_cuda_entry &entry, uint32_t v) {
            const uint32_t u = (uint32_t)entry.i, low = u < v ? u : v, high = u < v ? v : u;
            const uint64_t end = t.edges.offsets[low + 1],
                           place = u < v ? entry.e : find_place(t.edges, low, high);
            const bool is_there = u != v && place < end && t.edges.columns[place] == high;
            const uint32_t x =
                is_there ? (uint32_t)(t.begin[low] + (place + t.upper[low] - end)) : (uint32_t)t.count;
            t.number[entry.e] = x;
            if (u < v) t.from[x] = u, t.to[x] = v;
        });
}

/* ---- Peeling ---- */

DCSR_CUDA_INLINE unsigned char state_of(const truss &t, uint32_t x)
{
    return t.state[x];
}

/* Takes a triangle from an edge that stays; whether that leaves it `level`, so that it goes next. Below that: others
 * have taken one too many, and are about to give it back. */
DCSR_CUDA_INLINE bool lower(const truss &t, uint32_t x, int32_t level)
{
    if (dcsr_i_cuda_peek(&t.support[x]) <= level) return false;
    const int32_t had = atomicAdd(&t.support[x], -1);
    if (had <= level) atomicAdd(&t.support[x], 1);
    return had == level + 1;
}

static __global__ void take_triangles(truss t, const uint32_t *going, uint64_t count, int32_t level,
                                      uint32_t *next)
{
    for (uint64_t i = dcsr_i_cuda_first_warp(); i < count; i += dcsr_i_cuda_warp_step()) {
        const uint32_t x = going[i], a = t.from[x], b = t.to[x];
        if (!t.support[x]) continue;
        const uint64_t *offsets = t.edges.offsets;
        const bool swap = offsets[a + 1] - offsets[a] > offsets[b + 1] - offsets[b];
        const uint32_t few = swap ? b : a, many = swap ? a : b;
        for (uint64_t first = offsets[few]; first < offsets[few + 1]; first += 32) {
            const uint64_t e = first + dcsr_i_cuda_lane();
            const uint32_t side = e < offsets[few + 1] ? t.number[e] : (uint32_t)t.count;
            uint32_t third = (uint32_t)t.count;
            if (state_of(t, side) != GONE) {
                const uint32_t w = t.edges.columns[e];
                const uint64_t place = find_place(t.edges, many, w);
                if (place < offsets[many + 1] && t.edges.columns[place] == w) third = t.number[place];
            }
            const bool whole = state_of(t, third) != GONE;
            const bool stays = whole && state_of(t, side) == STAYS,
                       third_stays = whole && state_of(t, third) == STAYS;
            const bool side_falls = stays && (third_stays || x < third) && lower(t, side, level),
                       third_falls = third_stays && (stays || x < side) && lower(t, third, level);
            uint64_t at =
                dcsr_i_cuda_take_places(&t.counts->next, (uint32_t)side_falls + (uint32_t)third_falls);
            if (side_falls) next[at++] = side;
            if (third_falls) next[at] = third;
        }
    }
}

/* What was going has gone, and what is listed goes next. */
static __global__ void turn(truss t, const uint32_t *going, uint64_t count, int32_t level,
                            const uint32_t *next)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < count; i += dcsr_i_cuda_step()) {
        t.state[going[i]] = GONE;
        t.support[going[i]] = level;
    }
    for (uint64_t i = dcsr_i_cuda_first(); i < t.counts->next; i += dcsr_i_cuda_step())
        t.state[next[i]] = GOES;
}

/* Lists what has support up to the level, and finds the least above it. */
static __global__ void list_going(truss t, int32_t level, uint32_t *list)
{
    uint32_t inverse = 0;
    for (uint64_t first = dcsr_i_cuda_first_warp() * 32; first < t.count;
         first += dcsr_i_cuda_warp_step() * 32) {
        const uint64_t x = first + dcsr_i_cuda_lane();
        const bool here = x < t.count && t.state[x] == STAYS;
        const int32_t support = here ? t.support[x] : 0;
        const bool goes = here && support <= level;
        const uint64_t at = dcsr_i_cuda_take_places(&t.counts->next, (uint32_t)goes);
        if (goes) list[at] = (uint32_t)x;
        if (here && !goes && ~(uint32_t)support > inverse) inverse = ~(uint32_t)support;
    }
    inverse = dcsr_i_cuda_block_max(inverse, 0u);
    if (threadIdx.x == 0 && inverse) atomicMax(&t.counts->above, inverse);
}

/* ---- The result ---- */

/* all: also what has gone, whose support is then the level at which it went. */
static __global__ void mark_kept(truss t, bool all, uint32_t *kept)
{
    for (uint64_t e = dcsr_i_cuda_first(); e < t.edges.stored; e += dcsr_i_cuda_step()) {
        const uint32_t x = t.number[e];
        kept[e] = x < t.count && (all || t.state[x] == STAYS);
    }
}

static __global__ void write_kept(truss t, bool all, const uint64_t *place, uint64_t *offsets, uint32_t *ends,
                                  uint32_t *values)
{
    for (uint64_t v = dcsr_i_cuda_first(); v <= t.edges.rows; v += dcsr_i_cuda_step())
        offsets[v] = place[t.edges.offsets[v]];
    for (uint64_t e = dcsr_i_cuda_first(); e < t.edges.stored; e += dcsr_i_cuda_step()) {
        if (place[e] == place[e + 1]) continue;
        ends[place[e]] = t.edges.columns[e];
        values[place[e]] = (uint32_t)t.support[t.number[e]] + (all ? 2 : 0);
    }
}

/* ---- Steps for C ---- */

void dcsr_i_graph_count_upper(dcsr_i_cuda_stream *stream, const truss *t)
{
    dcsr_i_cuda_launch(stream, count_upper, t->edges.rows, *t);
}

void dcsr_i_graph_number(dcsr_i_cuda_stream *stream, const truss *t)
{
    const dcsr_i_cuda_walk walk = {t->edges, NULL, t->edges.rows, t->edges.offsets};
    dcsr_i_cuda_fill(stream, t->support, 0, (t->count + 1) * sizeof *t->support);
    dcsr_i_cuda_fill(stream, t->state, STAYS, t->count * sizeof *t->state);
    dcsr_i_cuda_fill(stream, t->state + t->count, GONE, sizeof *t->state);
    dcsr_i_cuda_launch_walk(stream, number, t->edges.stored, t->edges.rows, walk, *t);
}

void dcsr_i_graph_list_going(dcsr_i_cuda_stream *stream, const truss *t, uint32_t level)
{
    dcsr_i_cuda_fill(stream, t->counts, 0, sizeof *t->counts);
    dcsr_i_cuda_launch(stream, list_going, t->count, *t, (int32_t)level, t->going[0]);
    dcsr_i_cuda_launch(stream, turn, t->count, *t, (const uint32_t *)NULL, (uint64_t)0, (int32_t)level,
                       (const uint32_t *)t->going[0]);
}

void dcsr_i_graph_take_away(dcsr_i_cuda_stream *stream, const truss *t, uint32_t level, uint64_t count,
                            int list)
{
    const uint32_t *going = t->going[list];
    uint32_t *next = t->going[list ^ 1];
    dcsr_i_cuda_fill(stream, t->counts, 0, sizeof *t->counts);
    dcsr_i_cuda_launch_warps(stream, take_triangles, count, *t, going, count, (int32_t)level, next);
    dcsr_i_cuda_launch(stream, turn, count, *t, going, count, (int32_t)level, (const uint32_t *)next);
}

void dcsr_i_graph_mark_kept(dcsr_i_cuda_stream *stream, const truss *t, bool all, uint32_t *kept)
{
    dcsr_i_cuda_launch(stream, mark_kept, t->edges.stored, *t, all, kept);
}

void dcsr_i_graph_write_kept(dcsr_i_cuda_stream *stream, const truss *t, bool all, const uint64_t *place,
                             uint64_t *offsets, uint32_t *ends, uint32_t *values)
{
    dcsr_i_cuda_launch(stream, write_kept, t->edges.stored + 1, *t, all, place, offsets, ends, values);
}

/* strong.cu: strongly connected components, by the steps that Slota, Rajamanickam and Madduri (2014) combine.
 *
 * A vertex that no other leads to, or that leads to no other, among those that are left, is a component by itself; some
 * rounds trim those. Then labels spread forwards along edges, the least goes on, and from each vertex that has kept
 * its own a search goes backwards over those that have got it: what it finds is the component of that vertex. Labels
 * spread from one vertex first, which many edges lead to and from, as most graphs have one large component; after that
 * from all that are left. Labels are numbers of vertices, mixed, so that paths are cut at random places.
 *
 * Labels and searches go from list to list in one launch whose blocks meet after each step (list_walk.cuh). */
#include "algos/graph/cuda/list_walk.cuh"

typedef dcsr_i_graph_strong strong;
typedef unsigned long long word;
enum { NONE = UINT32_MAX };

/* The label of a vertex, and the vertex of a label: both are multiplications by odd numbers. */
DCSR_CUDA_INLINE uint32_t label_of(uint32_t v)
{
    return v * 2654435761u;
}
DCSR_CUDA_INLINE uint32_t vertex_of(uint32_t label)
{
    return label * 244002641u;
}

/* Others change them meanwhile. */
DCSR_CUDA_INLINE uint32_t read(const uint32_t *of, uint32_t v)
{
    return dcsr_i_cuda_peek(&of[v]);
}

/* ---- What is left ---- */

/* Whether v has an edge to another vertex that is left; by whole warps. */
DCSR_CUDA_INLINE bool has_edge(const strong &s, const dcsr_i_cuda_rows &edges, uint32_t v, bool mine)
{
    const uint64_t begin = mine ? edges.offsets[v] : 0, end = mine ? edges.offsets[v + 1] : 0;
    return dcsr_i_graph_first_edge(edges, v, begin, end, [&](uint32_t w, uint32_t u) {
               return u != w && read(s.component, u) == NONE;
           }) < end;
}

/* Lists again what is left, except what is trimmed. */
static __global__ void trim(strong s, unsigned round, bool all)
{
    const uint64_t count = all ? s.out.rows : s.counts->left[round];
    for (uint64_t first = dcsr_i_cuda_first_warp() * 32; first < count;
         first += dcsr_i_cuda_warp_step() * 32) {
        const uint64_t i = first + dcsr_i_cuda_lane();
        const uint32_t v = i >= count ? 0 : all ? (uint32_t)i : s.left[round & 1][i];
        const bool mine = i < count && read(s.component, v) == NONE;
        const bool leads = has_edge(s, s.out, v, mine), stays = has_edge(s, s.in, v, leads);
        if (mine && !stays) *(volatile uint32_t *)&s.component[v] = label_of(v);
        const uint64_t at = dcsr_i_cuda_take_places(&s.counts->left[round + 1], (uint32_t)stays);
        if (stays) s.left[(round + 1) & 1][at] = v;
    }
}

/* One of those that most edges lead to and from, anywhere: at the border of a grid paths would be longest. */
static __global__ void find_pivot(strong s)
{
    word best = 0;
    for (uint64_t i = dcsr_i_cuda_first(); i < s.counts->left[0]; i += dcsr_i_cuda_step()) {
        const uint32_t v = s.left[0][i];
        const uint64_t leads = s.out.offsets[v + 1] - s.out.offsets[v],
                       led = s.in.offsets[v + 1] - s.in.offsets[v];
        const word candidate = (word)(leads < led ? leads : led) << 32 | label_of(v);
        best = candidate > best ? candidate : best;
    }
    best = dcsr_i_cuda_block_max((uint64_t)best, (uint64_t)0);
    if (threadIdx.x == 0 && best) atomicMax(&s.counts->pivot, best);
}

/* Labels to begin with, and what spreads them. */
static __global__ void begin_spread(strong s, bool one)
{
    const uint32_t pivot = vertex_of((uint32_t)s.counts->pivot), count = s.counts->left[0];
    for (uint64_t i = dcsr_i_cuda_first(); i < count; i += dcsr_i_cuda_step()) {
        const uint32_t v = s.left[0][i];
        s.label[v] = one && v != pivot ? (uint32_t)NONE : label_of(v);
        if (!one) s.list[0][i] = v;
    }
    if (dcsr_i_cuda_first()) return;
    if (one) s.list[0][0] = pivot;
    s.counts->begun = one ? 1 : count;
}

/* Those that have kept their own. */
static __global__ void begin_search(strong s)
{
    const uint32_t count = s.counts->left[0];
    for (uint64_t first = dcsr_i_cuda_first_warp() * 32; first < count;
         first += dcsr_i_cuda_warp_step() * 32) {
        const uint64_t i = first + dcsr_i_cuda_lane();
        const uint32_t v = i < count ? s.left[0][i] : 0, label = i < count ? s.label[v] : (uint32_t)NONE;
        const bool keeps = label != NONE && label == label_of(v);
        const uint64_t at = dcsr_i_cuda_take_places(&s.counts->begun, (uint32_t)keeps);
        if (!keeps) continue;
        s.list[0][at] = v;
        s.component[v] = label;
    }
}

/* ---- From list to list ---- */

struct walk_rule {
    strong s;
    bool back;

    __device__ uint32_t begins(uint32_t u) const { return read(s.label, u); }
    __device__ bool wants(uint32_t label, uint32_t v) const
    {
        const uint32_t own = read(s.label, v);
        return read(s.component, v) == NONE && (back ? own == label : own > label);
    }
    __device__ bool takes(uint32_t label, uint32_t v, uint32_t steps) const
    {
        if (back) return atomicCAS(&s.component[v], (uint32_t)NONE, label) == NONE;
        /* One that had a label may be lowered several times in a step, and is listed once; marks are steps of this
           launch and of those before. */
        const uint32_t had = atomicMin(&s.label[v], label);
        return had == NONE || (had > label && atomicExch(&s.mark[v], steps + 1) != steps + 1);
    }
};

static __global__ void __launch_bounds__(DCSR_GRAPH_THREADS) go(strong s, bool back)
{
    const dcsr_i_graph_front front = {
        back ? s.in : s.out, {s.list[0], s.list[1]}, s.part, s.counts->step, &s.counts->arrived};
    dcsr_i_graph_state now = {};
    now.count = s.counts->begun;
    now.steps = s.counts->steps;
    dcsr_i_graph_follow(front, now, walk_rule{s, back}, DCSR_GRAPH_STEPS);
    /* All have read where it begins. */
    dcsr_i_cuda_meet(&s.counts->arrived, ++now.meetings);
    if (dcsr_i_cuda_first() == 0) s.counts->steps = now.count ? (unsigned)DCSR_GRAPH_STEPS : now.steps;
}

/* ---- Names ---- */

static __global__ void name_least(strong s)
{
    for (uint64_t v = dcsr_i_cuda_first(); v < s.out.rows; v += dcsr_i_cuda_step()) {
        uint32_t *name = &s.label[vertex_of(s.component[v])];
        if (dcsr_i_cuda_peek(name) > v) atomicMin(name, (uint32_t)v);
    }
}

static __global__ void name_all(strong s)
{
    for (uint64_t v = dcsr_i_cuda_first(); v < s.out.rows; v += dcsr_i_cuda_step())
        s.component[v] = s.label[vertex_of(s.component[v])];
}

/* ---- Steps for C ---- */

void dcsr_i_graph_trim(dcsr_i_cuda_stream *stream, const strong *s, uint64_t left, bool all)
{
    uint32_t *count = s->counts->left;
    if (all) {
        dcsr_i_cuda_fill(stream, s->counts, 0, sizeof *s->counts);
        dcsr_i_cuda_fill(stream, s->component, 0xff, s->out.rows * sizeof *s->component);
        dcsr_i_cuda_fill(stream, s->mark, 0, s->out.rows * sizeof *s->mark);
    } else {
        dcsr_i_cuda_fill(stream, count + 1, 0, DCSR_GRAPH_ROUNDS * sizeof *count);
    }
    for (unsigned round = 0; round < DCSR_GRAPH_ROUNDS; round++)
        dcsr_i_cuda_launch(stream, trim, left, *s, round, all && !round);
    dcsr_i_cuda_copy(stream, count, count + DCSR_GRAPH_ROUNDS, sizeof *count);
}

/* What both launches find is counted anew. */
static void go_on(dcsr_i_cuda_stream *stream, const strong *s, bool back)
{
    dcsr_i_cuda_fill(stream, s->counts->step, 0, sizeof s->counts->step);
    dcsr_i_cuda_fill(stream, &s->counts->arrived, 0, sizeof s->counts->arrived);
    dcsr_i_cuda_launch_together(stream, go, dcsr_i_graph_list_blocks(s->out.rows), DCSR_GRAPH_THREADS, *s,
                                back);
}

void dcsr_i_graph_take_strong(dcsr_i_cuda_stream *stream, const strong *s, uint64_t left, bool one)
{
    if (one) dcsr_i_cuda_launch(stream, find_pivot, left, *s);
    dcsr_i_cuda_launch(stream, begin_spread, left, *s, one);
    go_on(stream, s, false);
    dcsr_i_cuda_fill(stream, &s->counts->begun, 0, sizeof s->counts->begun);
    dcsr_i_cuda_launch(stream, begin_search, left, *s);
    go_on(stream, s, true);
}

void dcsr_i_graph_name_strong(dcsr_i_cuda_stream *stream, const strong *s)
{
    dcsr_i_cuda_fill(stream, s->label, 0xff, s->out.rows * sizeof *s->label);
    dcsr_i_cuda_launch(stream, name_least, s->out.rows, *s);
    dcsr_i_cuda_launch(stream, name_all, s->out.rows, *s);
}

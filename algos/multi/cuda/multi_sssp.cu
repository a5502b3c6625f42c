/* multi_sssp.cu: kernels of shortest paths on several GPUs, where no weight is negative.
 *
 * Distances only ever fall, to the least over all paths of sums rounded on the way; so they depend neither on the order
 * of relaxations nor on when devices tell each other, and are those of one device. */
#include "algos/multi/cuda/multi_sssp.h"
#include "dcsr/device/reduce.cuh"
#include "dcsr/device/value_word.cuh"
#include "dcsr/store/block_walk.cuh"

typedef dcsr_i_multi_paths paths;
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
DCSR_CUDA_INLINE word distance_of(const paths &p, uint64_t v)
{
    return dcsr_i_cuda_peek(&p.distance[v]);
}

/* Of a word's bits those of vertices begin to end - 1. */
DCSR_CUDA_INLINE uint32_t within(uint32_t bits, uint64_t index, uint64_t begin, uint64_t end)
{
    const uint64_t first = index * 32;
    if (first + 32 <= begin || first >= end) return 0;
    if (first < begin) bits &= UINT32_MAX << (begin - first);
    if (first + 32 > end) bits &= UINT32_MAX >> (first + 32 - end);
    return bits;
}

/* Lowers a distance; says so by its bit. */
DCSR_CUDA_INLINE void offer(const paths &p, uint64_t v, word there)
{
    if (there < distance_of(p, v) && there < atomicMin(&p.distance[v], there))
        atomicOr(&p.fallen[v / 32], 1u << (v & 31));
}

/* ---- A round ---- */

/* The block that comes last tells the next kernel what there is, or raises the limit. */
DCSR_CUDA_INLINE void end_listing(const paths &p)
{
    dcsr_i_multi_paths_state *s = p.state;
    if (threadIdx.x) return;
    __threadfence();
    if (atomicAdd(&s->done, 1u) != gridDim.x - 1) return;
    __threadfence();
    const word least = atomicMin(&s->least, INFINITE);
    s->now = atomicAdd(&s->listed, 0u);
    s->waits = s->now || least < INFINITE;
    if (!s->now && least < INFINITE) s->limit = number(least) + p.delta;
    s->listed = s->done = 0;
    s->least = INFINITE;
}

/* Lists own vertices that have come closer, as far as they are within the limit. A lane has a word of bits. */
static __global__ void list_near(paths p)
{
    const uint64_t begin = p.border[p.k], end = p.border[p.k + 1], words = (end + 31) / 32;
    const double limit = p.state->limit;
    word least = INFINITE;
    for (uint64_t first = begin / 32 + dcsr_i_cuda_first_warp() * 32; first < words;
         first += dcsr_i_cuda_warp_step() * 32) {
        const uint64_t w = first + dcsr_i_cuda_lane();
        uint32_t near = 0;
        for (uint32_t left = w < words ? within(p.fallen[w], w, begin, end) : 0; left; left &= left - 1) {
            const word d = p.distance[w * 32 + (unsigned)(__ffs((int)left) - 1)];
            if (number(d) <= limit)
                near |= left & (0u - left);
            else if (d < least)
                least = d;
        }
        uint64_t at = dcsr_i_cuda_take_places(&p.state->listed, (uint32_t)__popc(near));
        if (near) p.fallen[w] &= ~near;
        for (; near; near &= near - 1)
            p.list[at++] = (uint32_t)(w * 32 + (unsigned)(__ffs((int)near) - 1) - begin);
    }
    least = ~dcsr_i_cuda_block_max((uint64_t)~least, (uint64_t)0);
    if (threadIdx.x == 0 && least < INFINITE) atomicMin(&p.state->least, least);
    end_listing(p);
}

/* A warp for each vertex that is listed. */
template <class V> static __global__ void relax(paths p)
{
    const uint64_t count = p.state->now, begin = p.border[p.k];
    const V *values = (const V *)p.rows.values;
    for (uint64_t i = dcsr_i_cuda_first_warp(); i < count; i += dcsr_i_cuda_warp_step()) {
        const uint32_t u = p.list[i];
        const double start = number(distance_of(p, begin + u));
        dcsr_i_cuda_for_pieces(p.rows, u, [&](uint64_t first, uint64_t n) {
            for (uint64_t e = first + dcsr_i_cuda_lane(); e < first + n; e += 32)
                offer(p, p.rows.columns[e], bits_of(start + (values ? (double)values[e] : 1.0)));
        });
    }
}

void dcsr_i_multi_paths_round(dcsr_i_cuda_stream *stream, const paths *p)
{
    const uint64_t rows = p->rows.rows;
    if (!rows) return;
    dcsr_i_cuda_launch(stream, list_near, rows / 32 + 2, *p);
    switch (p->rows.type) {
#define DCSR_X(NAME, name, ctype, minimum, maximum)               \
    case DCSR_##NAME:                                             \
        dcsr_i_cuda_launch_warps(stream, relax<ctype>, rows, *p); \
        return;
#include <dcsr/types.def>
#undef DCSR_X
    default:
        dcsr_i_cuda_launch_warps(stream, relax<uint8_t>, rows, *p);
    }
}

/* ---- Between devices ---- */

/* Lists what has come closer and is another's. */
static __global__ void send(paths p)
{
    for (uint64_t j = 0; j < p.parts; j++) {
        const uint64_t begin = p.border[j], end = p.border[j + 1], words = (end + 31) / 32;
        if (j == p.k) continue;
        for (uint64_t first = begin / 32 + dcsr_i_cuda_first_warp() * 32; first < words;
             first += dcsr_i_cuda_warp_step() * 32) {
            const uint64_t w = first + dcsr_i_cuda_lane();
            uint32_t bits = w < words ? within(p.fallen[w], w, begin, end) : 0;
            uint64_t at = begin + dcsr_i_cuda_take_places(&p.state->sent[j], (uint32_t)__popc(bits));
            if (bits) atomicAnd(&p.fallen[w], ~bits); /* a word may have bits of two owners */
            for (; bits; bits &= bits - 1, at++) {
                const uint64_t v = w * 32 + (unsigned)(__ffs((int)bits) - 1);
                p.out[at] = (uint32_t)v;
                p.offered[at] = p.distance[v];
            }
        }
    }
}

void dcsr_i_multi_paths_send(dcsr_i_cuda_stream *stream, const paths *p)
{
    dcsr_i_cuda_fill(stream, p->state->sent, 0, sizeof p->state->sent);
    dcsr_i_cuda_launch(stream, send, p->border[p->parts] / 32 + 2, *p);
}

static __global__ void receive(paths p, const uint32_t *vertex, const word *offered, uint64_t n)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < n; i += dcsr_i_cuda_step()) offer(p, vertex[i], offered[i]);
}

void dcsr_i_multi_paths_receive(dcsr_i_cuda_stream *stream, const paths *p, const uint32_t *vertex,
                                const word *offered, uint64_t n)
{
    if (n) dcsr_i_cuda_launch(stream, receive, n, *p, vertex, offered, n);
}

/* ---- Before and after ---- */

static __global__ void begin_paths(paths p, uint64_t source)
{
    for (uint64_t v = dcsr_i_cuda_first(); v < p.border[p.parts]; v += dcsr_i_cuda_step())
        p.distance[v] = v == source ? 0 : INFINITE;
    if (dcsr_i_cuda_first()) return;
    p.state->limit = p.delta;
    p.state->least = INFINITE;
    if (source >= p.border[p.k] && source < p.border[p.k + 1]) p.fallen[source / 32] = 1u << (source & 31);
}

void dcsr_i_multi_paths_begin(dcsr_i_cuda_stream *stream, const paths *p, uint64_t source)
{
    const uint64_t n = p->border[p->parts];
    dcsr_i_cuda_fill(stream, p->fallen, 0, (n + 31) / 32 * sizeof *p->fallen);
    dcsr_i_cuda_fill(stream, p->state, 0, sizeof *p->state);
    dcsr_i_cuda_launch(stream, begin_paths, n, *p, source);
}

static __global__ void end_paths(paths p)
{
    uint64_t reached = 0, farthest = 0;
    for (uint64_t v = p.border[p.k] + dcsr_i_cuda_first(); v < p.border[p.k + 1]; v += dcsr_i_cuda_step()) {
        const uint64_t d = p.distance[v];
        if (d == INFINITE) continue;
        reached++;
        farthest = d > farthest ? d : farthest;
    }
    reached = dcsr_i_cuda_block_sum(reached);
    farthest = dcsr_i_cuda_block_max(farthest, (uint64_t)0);
    if (threadIdx.x) return;
    atomicAdd(&p.state->reached, (word)reached);
    atomicMax(&p.state->farthest, (word)farthest);
}

void dcsr_i_multi_paths_end(dcsr_i_cuda_stream *stream, const paths *p)
{
    if (p->rows.rows) dcsr_i_cuda_launch(stream, end_paths, p->rows.rows, *p);
}

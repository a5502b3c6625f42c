/* triangles.cu: kernels of triangles. Each edge is kept at its end of lower degree, of equal ones at the lower vertex.
 * A triangle is found at the end of two of its kept edges, u: the list of u goes to a table of hashes in shared
 * memory, and the lists of its members are looked up there. A warp takes a vertex of a short list, a block one of a
 * long list, a part of that at a time.
 *
 *      table    u -> v, w, x          lists    v -> w, y       w -> x
 *                                              w is in the table: triangle u v w;  x: u w x */
#include "algos/graph/cuda/graph_stages.h"
#include "dcsr/device/reduce.cuh"
#include "dcsr/store/cuda/balanced_walk.cuh"

#ifdef DCSR_SIMT
enum { SHORT = 6, PART = 20, THREADS = 64 };
#else
enum {
    SHORT = 64,  /* members of a list that a warp takes */
    PART = 4096, /* members that are in a block's table at a time */
    THREADS = 256
};
#endif
enum { SHORT_BITS = SHORT < 8 ? 4 : 7, PART_BITS = PART < 64 ? 6 : 13, WARPS = THREADS / 32 };

/* The members and bits of a block's table where those of edges are counted, too, whose numbers are kept beside. */
template <bool EDGES> struct part_of {
    enum { MEMBERS = EDGES ? PART / 2 : PART, BITS = EDGES ? PART_BITS - 1 : PART_BITS };
};

typedef dcsr_i_graph_lists lists;
typedef unsigned long long word;

/* Whether v is where the edge from u to v is not kept, because it is kept at v. */
DCSR_CUDA_INLINE bool is_lower(const dcsr_i_cuda_rows &edges, uint32_t v, uint32_t u)
{
    const uint64_t of_v = edges.offsets[v + 1] - edges.offsets[v],
                   of_u = edges.offsets[u + 1] - edges.offsets[u];
    return of_v != of_u ? of_v < of_u : v <= u;
}

/* Counts what a vertex keeps, or writes it, in no particular order. */
static __global__ void DCSR_CUDA_WALK_BOUNDS keep_edges(dcsr_i_cuda_walk walk, uint32_t *length,
                                                        const uint64_t *begin, uint32_t *member,
                                                        uint32_t *degree, const uint32_t *number,
                                                        uint32_t *edge)
{
    dcsr_i_cuda_for_entries(
        walk,
        [&](const dcsr_i_cuda_entry &, const dcsr_i_cuda_source &source) {
            return walk.rows.columns[source.place];
        },
        [&](const dcsr_i_cuda_entry &entry, uint32_t v) {
            const uint32_t u = (uint32_t)entry.i;
            if (!member && degree && v == u) degree[u]--; /* each edge is there once */
            if (is_lower(walk.rows, v, u)) return;
            const uint32_t at = atomicAdd(&length[u], 1u);
            if (member) member[begin[u] + at] = v;
            if (edge) edge[begin[u] + at] = number[entry.e];
        });
}

static __global__ void begin_lists(lists l)
{
    for (uint64_t u = dcsr_i_cuda_first(); u < l.edges.rows; u += dcsr_i_cuda_step()) {
        l.length[u] = 0;
        if (l.degree) l.degree[u] = (uint32_t)(l.edges.offsets[u + 1] - l.edges.offsets[u]);
        if (l.own) l.own[u] = 0;
    }
}

/* Of the vertices that are counted for. */
static __global__ void find_long(lists l)
{
    for (uint64_t u = l.first + dcsr_i_cuda_first(); u < l.end; u += dcsr_i_cuda_step())
        if (l.length[u] > SHORT) l.is_long[atomicAdd(&l.counts->long_lists, 1u)] = (uint32_t)u;
}

/* ---- Tables ----
 * A free place has u itself, which is neither in its own list nor in those of its members. */

template <int BITS> DCSR_CUDA_INLINE uint32_t enter(uint32_t *table, uint32_t v, uint32_t u)
{
    uint32_t slot = v * 2654435761u >> (32 - BITS);
    while (atomicCAS(&table[slot], u, v) != u) slot = (slot + 1) & ((1u << BITS) - 1);
    return slot;
}
/* Where v is, or a free place. */
template <int BITS> DCSR_CUDA_INLINE uint32_t find(const uint32_t *table, uint32_t v, uint32_t u)
{
    uint32_t slot = v * 2654435761u >> (32 - BITS);
    while (table[slot] != u && table[slot] != v) slot = (slot + 1) & ((1u << BITS) - 1);
    return slot;
}

/* Looks up the list of u's member number k in the table of u's members; returns how many of them this lane has found.
 * Each is a triangle: it is added to `own` of its vertices and, where edges are counted, to its three edges. `edge` has
 * the numbers of the edges from u to the members in the table. */
template <int BITS, bool EDGES>
DCSR_CUDA_INLINE uint32_t look_up_list(const lists &l, const uint32_t *table, const uint32_t *edge,
                                       uint32_t k, uint32_t u)
{
    const uint32_t v = l.member[l.begin[u] + k];
    const uint64_t end = l.begin[v] + l.length[v];
    uint32_t found = 0;
    for (uint64_t e = l.begin[v] + dcsr_i_cuda_lane(); e < end; e += 32) {
        const uint32_t w = l.member[e], slot = find<BITS>(table, w, u);
        if (table[slot] != w) continue;
        found++;
        if (EDGES) atomicAdd(&l.support[l.edge[e]], 1);
        if (EDGES) atomicAdd(&l.support[edge[slot]], 1);
        if (l.own) atomicAdd(&l.own[w], (word)1);
    }
    if (l.own || EDGES) {
        const uint32_t all = dcsr_i_cuda_warp_sum(found);
        if (dcsr_i_cuda_lane() || !all) return found;
        if (EDGES) atomicAdd(&l.support[l.edge[l.begin[u] + k]], (int)all);
        if (l.own) atomicAdd(&l.own[v], (word)all);
    }
    return found;
}

/* ---- Counting ---- */

template <bool EDGES> static __global__ void __launch_bounds__(THREADS) count_short(lists l)
{
    SIMT_SHARED(uint32_t, tables, WARPS << SHORT_BITS);
    SIMT_SHARED(uint32_t, edges, EDGES ? WARPS << SHORT_BITS : 1);
    uint32_t *table = tables + (threadIdx.x / 32 << SHORT_BITS),
             *edge = EDGES ? edges + (threadIdx.x / 32 << SHORT_BITS) : NULL;
    const unsigned lane = dcsr_i_cuda_lane();
    uint64_t count = 0;
    for (uint64_t i = l.first + dcsr_i_cuda_first_warp(); i < l.end; i += dcsr_i_cuda_warp_step()) {
        const uint32_t u = (uint32_t)i, length = l.length[u];
        if (length < 2 || length > SHORT) continue;
        const uint64_t begin = l.begin[u];
        for (uint32_t k = lane; k < 1u << SHORT_BITS; k += 32) table[k] = u;
        __syncwarp();
        for (uint32_t k = lane; k < length; k += 32) {
            const uint32_t slot = enter<SHORT_BITS>(table, l.member[begin + k], u);
            if (EDGES) edge[slot] = l.edge[begin + k];
        }
        __syncwarp();
        uint32_t found = 0;
        for (uint32_t k = 0; k < length; k++) found += look_up_list<SHORT_BITS, EDGES>(l, table, edge, k, u);
        count += found;
        if (l.own) {
            found = dcsr_i_cuda_warp_sum(found);
            if (lane == 0 && found) atomicAdd(&l.own[u], (word)found);
        }
        __syncwarp();
    }
    count = dcsr_i_cuda_block_sum(count);
    if (threadIdx.x == 0 && count) atomicAdd(&l.counts->triangles, (word)count);
}

template <bool EDGES> static __global__ void __launch_bounds__(THREADS) count_long(lists l)
{
    enum { MEMBERS = part_of<EDGES>::MEMBERS, BITS = part_of<EDGES>::BITS };
    SIMT_SHARED(uint32_t, table, 1 << BITS);
    SIMT_SHARED(uint32_t, edge, EDGES ? 1 << BITS : 1);
    uint64_t count = 0;
    for (uint64_t i = dcsr_i_cuda_first_block(); i < l.counts->long_lists; i += dcsr_i_cuda_block_step()) {
        const uint32_t u = l.is_long[i], length = l.length[u];
        const uint64_t begin = l.begin[u];
        uint32_t found = 0;
        for (uint32_t first = 0; first < length; first += MEMBERS) {
            for (uint32_t k = threadIdx.x; k < 1u << BITS; k += blockDim.x) table[k] = u;
            __syncthreads();
            for (uint32_t k = first + threadIdx.x; k < length && k < first + MEMBERS; k += blockDim.x) {
                const uint32_t slot = enter<BITS>(table, l.member[begin + k], u);
                if (EDGES) edge[slot] = l.edge[begin + k];
            }
            __syncthreads();
            for (uint32_t k = threadIdx.x / 32; k < length; k += WARPS)
                found += look_up_list<BITS, EDGES>(l, table, edge, k, u);
            __syncthreads();
        }
        count += found;
        if (l.own) {
            const uint64_t all = dcsr_i_cuda_block_sum((uint64_t)found);
            if (threadIdx.x == 0 && all) atomicAdd(&l.own[u], (word)all);
        }
    }
    count = dcsr_i_cuda_block_sum(count);
    if (threadIdx.x == 0 && count) atomicAdd(&l.counts->triangles, (word)count);
}

void dcsr_i_graph_count_lists(dcsr_i_cuda_stream *stream, const lists *l)
{
    const dcsr_i_cuda_walk walk = {l->edges, NULL, l->edges.rows, l->edges.offsets};
    dcsr_i_cuda_fill(stream, l->counts, 0, sizeof *l->counts);
    dcsr_i_cuda_launch(stream, begin_lists, l->edges.rows, *l);
    dcsr_i_cuda_launch_walk(stream, keep_edges, l->edges.stored, l->edges.rows, walk, l->length,
                            (const uint64_t *)NULL, (uint32_t *)NULL, l->degree, (const uint32_t *)NULL,
                            (uint32_t *)NULL);
}

void dcsr_i_graph_fill_lists(dcsr_i_cuda_stream *stream, const lists *l)
{
    const dcsr_i_cuda_walk walk = {l->edges, NULL, l->edges.rows, l->edges.offsets};
    dcsr_i_cuda_fill(stream, l->length, 0, l->edges.rows * sizeof *l->length);
    dcsr_i_cuda_launch_walk(stream, keep_edges, l->edges.stored, l->edges.rows, walk, l->length, l->begin,
                            l->member, (uint32_t *)NULL, l->number, l->edge);
}

void dcsr_i_graph_count_triangles(dcsr_i_cuda_stream *stream, const lists *l)
{
    const uint64_t blocks = (l->end - l->first + WARPS - 1) / WARPS;
    if (!blocks) return;
    dcsr_i_cuda_launch(stream, find_long, l->end - l->first, *l);
    dcsr_i_cuda_launch_blocks(stream, l->support ? count_short<true> : count_short<false>, blocks, THREADS, 0,
                              *l);
    dcsr_i_cuda_launch_blocks(stream, l->support ? count_long<true> : count_long<false>, blocks, THREADS, 0,
                              *l);
}

/* components.cu: kernels of weakly connected components: what components.c does, an edge or a vertex a thread.
 *
 * parent[v] <= v always; so the root of a finished tree is the least vertex of its component, whatever the order in
 * which threads link. Parents are read while others lower them: what is read is true of some time, and a link is made
 * by a compare-and-swap that fails if it no longer is. */
#include "algos/graph/cuda/graph_stages.h"
#include "dcsr/device/reduce.cuh"
#include "dcsr/store/cuda/balanced_walk.cuh"

enum { SAMPLES = 512, SAMPLERS = 64 };

DCSR_CUDA_INLINE uint32_t parent_of(const uint32_t *parent, uint32_t v)
{
    return dcsr_i_cuda_peek(&parent[v]);
}

/* Brings the trees of two vertices together: the root that is higher is hung below a vertex of the other tree. */
DCSR_CUDA_INLINE void join(uint32_t *parent, uint32_t u, uint32_t v)
{
    uint32_t p = parent_of(parent, u), q = parent_of(parent, v);
    while (p != q) {
        const uint32_t high = p > q ? p : q, low = p > q ? q : p, above = parent_of(parent, high);
        if (above == low || (above == high && atomicCAS(&parent[high], high, low) == high)) return;
        p = parent_of(parent, parent_of(parent, high));
        q = parent_of(parent, low);
    }
}

static __global__ void plant(uint32_t *parent, uint64_t n)
{
    for (uint64_t v = dcsr_i_cuda_first(); v < n; v += dcsr_i_cuda_step()) parent[v] = (uint32_t)v;
}

static __global__ void link_round(uint32_t *parent, dcsr_i_cuda_rows edges, uint64_t first, uint64_t round)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < edges.rows; i += dcsr_i_cuda_step()) {
        uint64_t passed = 0;
        dcsr_i_cuda_for_pieces(edges, i, [&](uint64_t begin, uint64_t n) {
            if (round >= passed && round < passed + n)
                join(parent, (uint32_t)(first + i), edges.columns[begin + (round - passed)]);
            passed += n;
        });
    }
}

static __global__ void DCSR_CUDA_WALK_BOUNDS link_edges(dcsr_i_cuda_walk walk, uint32_t *parent,
                                                        uint64_t first, const uint32_t *skip)
{
    const uint32_t skipped = skip ? *skip : UINT32_MAX;
    dcsr_i_cuda_for_entries(
        walk,
        [&](const dcsr_i_cuda_entry &entry, const dcsr_i_cuda_source &source) {
            const uint32_t v = (uint32_t)(first + entry.i);
            return parent_of(parent, v) == skipped ? v : walk.rows.columns[source.place];
        },
        [&](const dcsr_i_cuda_entry &entry, uint32_t end) {
            const uint32_t v = (uint32_t)(first + entry.i);
            if (end != v) join(parent, v, end);
        });
}

static __global__ void join_trees(uint32_t *parent, const uint32_t *other, uint64_t n)
{
    for (uint64_t v = dcsr_i_cuda_first(); v < n; v += dcsr_i_cuda_step())
        if (other[v] != parent_of(parent, (uint32_t)v)) join(parent, (uint32_t)v, other[v]);
}

static __global__ void flatten(uint32_t *parent, uint64_t n)
{
    for (uint64_t v = dcsr_i_cuda_first(); v < n; v += dcsr_i_cuda_step()) {
        uint32_t root = parent_of(parent, (uint32_t)v), above;
        while ((above = parent_of(parent, root)) != root) root = above;
        *(volatile uint32_t *)&parent[v] = root;
    }
}

/* One block. */
static __global__ void sample(const uint32_t *parent, uint64_t n, uint32_t *root)
{
    SIMT_SHARED(uint32_t, seen, SAMPLES);
    uint64_t best = 0;
    for (uint32_t i = threadIdx.x; i < SAMPLES; i += blockDim.x)
        seen[i] = parent[(uint64_t)(i * 2654435761u) * n >> 32];
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < SAMPLES; i += blockDim.x) {
        uint32_t count = 0;
        for (uint32_t k = 0; k < SAMPLES; k++) count += seen[k] == seen[i];
        const uint64_t candidate = (uint64_t)count << 32 | seen[i];
        best = candidate > best ? candidate : best;
    }
    best = dcsr_i_cuda_block_max(best, (uint64_t)0);
    if (threadIdx.x == 0) *root = (uint32_t)best;
}

/* Most vertices are in one component: each block counts these by itself. */
static __global__ void count_members(const uint32_t *parent, uint64_t n, uint32_t *size,
                                     const uint32_t *frequent)
{
    const uint32_t often = *frequent;
    uint32_t members = 0;
    for (uint64_t v = dcsr_i_cuda_first(); v < n; v += dcsr_i_cuda_step()) {
        if (parent[v] == often)
            members++;
        else
            atomicAdd(&size[parent[v]], 1u);
    }
    members = dcsr_i_cuda_block_sum(members);
    if (threadIdx.x == 0 && members) atomicAdd(&size[often], members);
}

static __global__ void measure(const uint32_t *size, uint64_t n, dcsr_i_graph_sizes *sizes)
{
    uint64_t components = 0, largest = 0;
    for (uint64_t v = dcsr_i_cuda_first(); v < n; v += dcsr_i_cuda_step()) {
        const uint64_t candidate = (uint64_t)size[v] << 32 | (UINT32_MAX - (uint32_t)v);
        components += size[v] != 0;
        largest = candidate > largest ? candidate : largest;
    }
    components = dcsr_i_cuda_block_sum(components);
    largest = dcsr_i_cuda_block_max(largest, (uint64_t)0);
    if (threadIdx.x) return;
    atomicAdd(&sizes->components, (unsigned long long)components);
    atomicMax(&sizes->largest, (unsigned long long)largest);
}

void dcsr_i_graph_plant(dcsr_i_cuda_stream *stream, uint32_t *parent, uint64_t n)
{
    dcsr_i_cuda_launch(stream, plant, n, parent, n);
}

void dcsr_i_graph_link_round(dcsr_i_cuda_stream *stream, uint32_t *parent, dcsr_i_cuda_rows edges,
                             uint64_t first, uint64_t round)
{
    dcsr_i_cuda_launch(stream, link_round, edges.rows, parent, edges, first, round);
}

void dcsr_i_graph_link(dcsr_i_cuda_stream *stream, uint32_t *parent, const dcsr_i_cuda_walk *edges,
                       uint64_t first, const uint32_t *skip)
{
    dcsr_i_cuda_launch_walk(stream, link_edges, edges->rows.stored, edges->count, *edges, parent, first,
                            skip);
}

void dcsr_i_graph_join_trees(dcsr_i_cuda_stream *stream, uint32_t *parent, const uint32_t *other, uint64_t n)
{
    dcsr_i_cuda_launch(stream, join_trees, n, parent, other, n);
}

void dcsr_i_graph_flatten(dcsr_i_cuda_stream *stream, uint32_t *parent, uint64_t n)
{
    dcsr_i_cuda_launch(stream, flatten, n, parent, n);
}

void dcsr_i_graph_sample(dcsr_i_cuda_stream *stream, const uint32_t *parent, uint64_t n, uint32_t *root)
{
    dcsr_i_cuda_launch_blocks(stream, sample, n != 0, SAMPLERS, 0, parent, n, root);
}

void dcsr_i_graph_measure(dcsr_i_cuda_stream *stream, const uint32_t *parent, uint64_t n, uint32_t *size,
                          const uint32_t *frequent, dcsr_i_graph_sizes *sizes)
{
    dcsr_i_cuda_fill(stream, size, 0, n * sizeof *size);
    dcsr_i_cuda_fill(stream, sizes, 0, sizeof *sizes);
    dcsr_i_cuda_launch(stream, count_members, n, parent, n, size, frequent);
    dcsr_i_cuda_launch(stream, measure, n, size, n, sizes);
}

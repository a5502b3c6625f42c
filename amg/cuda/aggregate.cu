/* aggregate.cu: nodes into aggregates: what aggregate.c does, with the same keys, so that the aggregates are the same.
 *
 * There are no lists of the nodes that are still open: a round reads the key of every node, 8 bytes, and more only of
 * those that are not decided. */
#include "amg/cuda/stages_cuda.h"
#include "amg/amg_random.h"
#include "dcsr/device/reduce.cuh"

/* Keys are random << 32 | node + 1. Of a node that is open but has no key yet, 1. */
#define IN  UINT64_C(0)
#define OUT UINT64_MAX
#define NO  UINT32_MAX

typedef dcsr_i_amg_cuda_graph graph_of_nodes;
typedef dcsr_i_amg_cuda_selection selection;

static __global__ void begin_selection(selection s)
{
    for (uint64_t node = dcsr_i_cuda_first(); node < s.graph.count; node += dcsr_i_cuda_step()) {
        bool open = s.graph.length[node] != 0;
        s.key[node] = open ? 1 : OUT;
        s.least[node] = open ? 1 : OUT;
    }
}

void dcsr_i_amg_cuda_begin_selection(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_selection *s)
{
    dcsr_i_cuda_launch(stream, begin_selection, s->graph.count, *s);
}

static __global__ void draw(selection s, uint64_t seed)
{
    for (uint64_t node = dcsr_i_cuda_first(); node < s.graph.count; node += dcsr_i_cuda_step())
        if (s.key[node] != IN && s.key[node] != OUT)
            s.key[node] = (dcsr_i_amg_random(seed, node) << 32) | (node + 1);
}

/* A node beside one of the set gets OUT; what is OUT stays so. */
static __global__ void look_around(selection s)
{
    const graph_of_nodes &g = s.graph;
    for (uint64_t node = dcsr_i_cuda_first(); node < g.count; node += dcsr_i_cuda_step()) {
        if (s.least[node] == OUT) continue;
        uint64_t least = s.key[node];
        const uint32_t *next = g.nodes + g.begin[node];
        for (uint32_t k = 0; k < g.length[node]; k++) {
            uint64_t key = s.key[next[k]];
            if (key < least) least = key;
        }
        s.least[node] = least == IN ? OUT : least;
    }
}

static __global__ void decide(selection s)
{
    const graph_of_nodes &g = s.graph;
    uint64_t open = 0;
    for (uint64_t node = dcsr_i_cuda_first(); node < g.count; node += dcsr_i_cuda_step()) {
        uint64_t key = s.key[node], least = s.least[node];
        if (key == IN || key == OUT) continue;
        const uint32_t *next = g.nodes + g.begin[node];
        bool out = least == OUT, in = least == key;
        for (uint32_t k = 0; k < g.length[node] && !out; k++) {
            uint64_t beside = s.least[next[k]];
            out = beside == OUT;
            in = in && beside == key;
        }
        if (out || in)
            s.key[node] = out ? OUT : IN;
        else
            open++;
    }
    open = dcsr_i_cuda_block_sum(open);
    if (!threadIdx.x && open) atomicAdd((unsigned long long *)s.open, (unsigned long long)open);
}

void dcsr_i_amg_cuda_select_round(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_selection *s,
                                  uint64_t seed)
{
    uint64_t nodes = s->graph.count;
    dcsr_i_cuda_fill(stream, s->open, 0, sizeof *s->open);
    dcsr_i_cuda_launch(stream, draw, nodes, *s, seed);
    dcsr_i_cuda_launch(stream, look_around, nodes, *s);
    dcsr_i_cuda_launch(stream, decide, nodes, *s);
}

static __global__ void mark_roots(selection s, uint32_t *flag)
{
    for (uint64_t node = dcsr_i_cuda_first(); node < s.graph.count; node += dcsr_i_cuda_step())
        flag[node] = s.key[node] == IN;
}

void dcsr_i_amg_cuda_mark_roots(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_selection *s,
                                uint32_t *flag)
{
    dcsr_i_cuda_launch(stream, mark_roots, s->graph.count, *s, flag);
}

/* A node joins the first neighbour that can be joined. */
static __global__ void join_roots(selection s, const uint64_t *rank, uint32_t *joined)
{
    const graph_of_nodes &g = s.graph;
    for (uint64_t node = dcsr_i_cuda_first(); node < g.count; node += dcsr_i_cuda_step()) {
        const uint32_t *next = g.nodes + g.begin[node];
        uint32_t root = s.key[node] == IN ? (uint32_t)node : NO;
        for (uint32_t k = 0; k < g.length[node] && root == NO; k++)
            if (s.key[next[k]] == IN) root = next[k];
        joined[node] = root == NO ? NO : (uint32_t)rank[root];
    }
}

static __global__ void join_joined(graph_of_nodes g, const uint32_t *joined, uint32_t *aggregate,
                                   uint32_t *flag)
{
    for (uint64_t node = dcsr_i_cuda_first(); node < g.count; node += dcsr_i_cuda_step()) {
        const uint32_t *next = g.nodes + g.begin[node];
        uint32_t found = joined[node];
        for (uint32_t k = 0; k < g.length[node] && found == NO; k++) found = joined[next[k]];
        aggregate[node] = found;
        flag[node] = found == NO && g.length[node];
    }
}

void dcsr_i_amg_cuda_join_roots(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_selection *s,
                                const uint64_t *rank, uint32_t *joined, uint32_t *aggregate, uint32_t *flag)
{
    dcsr_i_cuda_launch(stream, join_roots, s->graph.count, *s, rank, joined);
    dcsr_i_cuda_launch(stream, join_joined, s->graph.count, s->graph, joined, aggregate, flag);
}

static __global__ void number_others(uint64_t nodes, const uint32_t *flag, const uint64_t *rank,
                                     const uint64_t *roots, uint32_t *aggregate)
{
    for (uint64_t node = dcsr_i_cuda_first(); node < nodes; node += dcsr_i_cuda_step())
        if (flag[node]) aggregate[node] = (uint32_t)(*roots + rank[node]);
}

void dcsr_i_amg_cuda_number_others(dcsr_i_cuda_stream *stream, uint64_t nodes, const uint32_t *flag,
                                   const uint64_t *rank, const uint64_t *roots, uint32_t *aggregate)
{
    dcsr_i_cuda_launch(stream, number_others, nodes, nodes, flag, rank, roots, aggregate);
}

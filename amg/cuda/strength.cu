/* strength.cu: which nodes of a level are strongly connected: what strength.c does. */
#include "amg/cuda/sets.cuh"
#include "amg/cuda/stages_cuda.h"
#include <math.h>

typedef dcsr_i_amg_cuda_graph graph_of_nodes;
typedef dcsr_i_amg_cuda_rows level_rows;

static __global__ void connect_rows(graph_of_nodes g, level_rows A, const double *diagonal, double theta2)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < g.count; k += dcsr_i_cuda_step()) {
        uint64_t i = g.list ? g.list[k] : k;
        uint32_t *strong = g.nodes + g.begin[k], length = 0;
        double own = diagonal[i];
        for (uint64_t e = A.begin[i]; e < A.end[i]; e++) {
            uint32_t j = A.columns[e] - A.first;
            if (j != i && j < A.rows && A.values[e] * A.values[e] > theta2 * fabs(own * diagonal[j]))
                strong[length++] = j;
        }
        g.length[k] = length;
    }
}

void dcsr_i_amg_cuda_connect_rows(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_graph *graph,
                                  const dcsr_i_amg_cuda_rows *A, const double *diagonal, double theta2)
{
    dcsr_i_cuda_launch(stream, connect_rows, graph->count, *graph, *A, diagonal, theta2);
}

/* ---- Across borders ---- */

/* Calls visit(e) for the entries of row i that are outside, and strong. */
template <class Visit>
DCSR_CUDA_INLINE void for_outside(const level_rows &A, const double *diagonal, double theta, uint64_t i,
                                  Visit visit)
{
    const double least = theta * fabs(diagonal[i]);
    for (uint64_t e = A.begin[i]; e < A.end[i]; e++)
        if (A.columns[e] - A.first >= A.rows && fabs(A.values[e]) > least) visit(e);
}

static __global__ void count_outside(level_rows A, const double *diagonal, double theta, uint32_t *counts)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < A.rows; i += dcsr_i_cuda_step()) {
        uint32_t count = 0;
        if (diagonal[i] != 0) for_outside(A, diagonal, theta, i, [&](uint64_t) { count++; });
        counts[i] = count;
    }
}

void dcsr_i_amg_cuda_count_outside(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_rows *A,
                                   const double *diagonal, double theta, uint32_t *counts)
{
    dcsr_i_cuda_launch(stream, count_outside, A->rows, *A, diagonal, theta, counts);
}

static __global__ void fill_outside(level_rows A, const double *diagonal, double theta,
                                    dcsr_i_amg_cuda_outside to)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < A.rows; i += dcsr_i_cuda_step()) {
        uint64_t at = to.begin[i];
        if (to.begin[i + 1] == at) continue;
        for_outside(A, diagonal, theta, i, [&](uint64_t e) {
            to.rows[at] = i;
            to.columns[at] = A.columns[e];
            to.ratios[at++] = A.values[e] / diagonal[i];
        });
    }
}

void dcsr_i_amg_cuda_fill_outside(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_rows *A,
                                  const double *diagonal, double theta, const dcsr_i_amg_cuda_outside *to)
{
    dcsr_i_cuda_launch(stream, fill_outside, A->rows, *A, diagonal, theta, *to);
}

/* ---- Nodes of several rows ---- */

static __global__ void read_blocks(level_rows A, uint64_t block, uint64_t nodes, double *norm,
                                   uint64_t *begin)
{
    for (uint64_t node = dcsr_i_cuda_first(); node < nodes; node += dcsr_i_cuda_step()) {
        norm[node] = dcsr_i_amg_cuda_norm(A, node, block);
        begin[node] = A.begin[node * block];
    }
}

void dcsr_i_amg_cuda_read_blocks(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_rows *A, uint64_t block,
                                 double *norm, uint64_t *begin)
{
    dcsr_i_cuda_launch(stream, read_blocks, A->rows / block, *A, block, A->rows / block, norm, begin);
}

/* The neighbours that are found have their sums beside them. Rows of a node mostly have entries in the same blocks, in
 * the same order: so the next one is looked for from where the last one was. */
static __global__ void connect_nodes(graph_of_nodes g, level_rows A, uint64_t block, const double *norm,
                                     double theta2, double *sums)
{
    for (uint64_t place = dcsr_i_cuda_first(); place < g.count; place += dcsr_i_cuda_step()) {
        uint64_t node = g.list ? g.list[place] : place;
        uint32_t *strong = g.nodes + g.begin[place], found = 0, length = 0, at = 0;
        double *sum = sums + g.begin[place];
        for (uint64_t i = node * block; i < (node + 1) * block; i++) {
            for (uint64_t e = A.begin[i]; e < A.end[i]; e++) {
                uint32_t own = A.columns[e] - A.first, other = own / (uint32_t)block, looked = 0;
                double square = A.values[e] * A.values[e];
                if (other == node || own >= A.rows || square == 0) continue;
                for (; looked < found && strong[at] != other; looked++) at = at + 1 < found ? at + 1 : 0;
                if (looked == found) {
                    at = found++;
                    strong[at] = other;
                    sum[at] = 0;
                }
                sum[at] += square;
            }
        }
        for (uint32_t k = 0; k < found; k++)
            if (sum[k] > theta2 * sqrt(norm[node] * norm[strong[k]])) strong[length++] = strong[k];
        g.length[place] = length;
    }
}

void dcsr_i_amg_cuda_connect_nodes(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_graph *graph,
                                   const dcsr_i_amg_cuda_rows *A, uint64_t block, double theta2,
                                   const double *norm, double *sum)
{
    dcsr_i_cuda_launch(stream, connect_nodes, graph->count, *graph, *A, block, norm, theta2, sum);
}

/* ---- Both directions ----
 *
 * Keys are node << 33 | group << 31 | neighbour. In the groups are the neighbours that are told by themselves and come
 * before the node, those that it tells, and those that come after it: so a node has its neighbours in the order in
 * which strength.c finds them. */

enum { GROUP = DCSR_I_AMG_CUDA_GROUP, NODE = DCSR_I_AMG_CUDA_NODE };

static __global__ void list_edges(graph_of_nodes g, const uint64_t *offsets, uint64_t *keys)
{
    const uint64_t edges = offsets[g.count];
    for (uint64_t node = dcsr_i_cuda_first(); node < g.count; node += dcsr_i_cuda_step()) {
        for (uint32_t k = 0; k < g.length[node]; k++) {
            uint64_t other = g.nodes[g.begin[node] + k], place = offsets[node] + k;
            keys[place] = node << NODE | (uint64_t)1 << GROUP | other;
            keys[edges + place] = other << NODE | (uint64_t)(node < other ? 0 : 2) << GROUP | node;
        }
    }
}

void dcsr_i_amg_cuda_list_edges(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_graph *graph,
                                const uint64_t *offsets, uint64_t *keys)
{
    dcsr_i_cuda_launch(stream, list_edges, graph->count, *graph, offsets, keys);
}

/* Keys of a node ascend if the neighbours of each do, as they mostly do: else one that is there may be missed. */
DCSR_CUDA_INLINE bool has(const uint64_t *keys, uint64_t low, uint64_t high, uint64_t key)
{
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (keys[middle] == key) return true;
        if (keys[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

/* A neighbour that a group before has is left out; where it is missed it stands twice, which does no harm. */
static __global__ void join_edges(graph_of_nodes g, const uint64_t *keys)
{
    const uint64_t group = (uint64_t)1 << GROUP;
    for (uint64_t node = dcsr_i_cuda_first(); node < g.count; node += dcsr_i_cuda_step()) {
        uint64_t begin = g.begin[node], end = g.begin[node + 1];
        uint32_t length = 0;
        for (uint64_t e = begin; e < end; e++) {
            bool first = !(keys[e] & 3 * group);
            if (first || !has(keys, begin, e, keys[e] - group))
                g.nodes[begin + length++] = (uint32_t)(keys[e] & (group - 1));
        }
        g.length[node] = length;
    }
}

void dcsr_i_amg_cuda_join_edges(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_graph *graph,
                                const uint64_t *keys)
{
    dcsr_i_cuda_launch(stream, join_edges, graph->count, *graph, keys);
}

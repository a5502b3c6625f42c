/* prolongator.cu: T and P: what tentative.c and prolongator.c do. */
#include "amg/cuda/stages_cuda.h"
#include "dcsr/device/reduce.cuh"
#include <math.h>

#define NO UINT32_MAX

/* ---- T: modified Gram-Schmidt, twice ---- */

static __global__ void key_nodes(uint64_t nodes, const uint32_t *aggregate, uint64_t count, uint64_t *keys)
{
    for (uint64_t node = dcsr_i_cuda_first(); node < nodes; node += dcsr_i_cuda_step())
        keys[node] = (aggregate[node] == NO ? count : aggregate[node]) << 32 | node;
}

void dcsr_i_amg_cuda_key_nodes(dcsr_i_cuda_stream *stream, uint64_t nodes, const uint32_t *aggregate,
                               uint64_t count, uint64_t *keys)
{
    dcsr_i_cuda_launch(stream, key_nodes, nodes, nodes, aggregate, count, keys);
}

#define DEPENDENT 1e-10 /* of the length it had */

/* The rows of an aggregate, of which each lane has every 32nd, so that no lane waits for another's writes. */
struct piece {
    const uint64_t *keys; /* of its nodes */
    uint64_t rows, block, vectors;
    double *T;
};

DCSR_CUDA_INLINE double *row_of(const piece &p, uint64_t r)
{
    uint64_t node = (uint32_t)p.keys[r / p.block];
    return p.T + (node * p.block + r % p.block) * p.vectors;
}

DCSR_CUDA_INLINE double product(const piece &p, uint64_t a, uint64_t b)
{
    double sum = 0;
    for (uint64_t r = dcsr_i_cuda_lane(); r < p.rows; r += 32) sum += row_of(p, r)[a] * row_of(p, r)[b];
    return dcsr_i_cuda_warp_sum(sum);
}

/* Column c becomes orthogonal to those before it. R is vectors x vectors, row after row. */
DCSR_CUDA_INLINE void make_orthogonal(const piece &p, uint64_t c, double *R)
{
    for (int pass = 0; pass < 2; pass++) {
        for (uint64_t a = 0; a < c; a++) {
            double along = product(p, a, c);
            if (dcsr_i_cuda_lane() == 0) R[a * p.vectors + c] += along;
            for (uint64_t r = dcsr_i_cuda_lane(); r < p.rows; r += 32)
                row_of(p, r)[c] -= along * row_of(p, r)[a];
        }
    }
}

static __global__ void factorise(dcsr_i_amg_cuda_pieces pieces, double *T, double *R)
{
    const uint64_t vectors = pieces.vectors;
    for (uint64_t a = dcsr_i_cuda_first_warp(); a < pieces.count; a += dcsr_i_cuda_warp_step()) {
        uint64_t begin = pieces.begin[a], end = pieces.begin[a + 1];
        piece p = {pieces.keys + begin, (end - begin) * pieces.block, pieces.block, vectors, T};
        double *own = R + a * vectors * vectors;
        for (uint64_t c = 0; c < vectors; c++) {
            double length = sqrt(product(p, c, c));
            make_orthogonal(p, c, own);
            double left = sqrt(product(p, c, c));
            bool independent = left > DEPENDENT * length;
            if (dcsr_i_cuda_lane() == 0) own[c * vectors + c] = independent ? left : 0;
            for (uint64_t r = dcsr_i_cuda_lane(); r < p.rows; r += 32)
                row_of(p, r)[c] = independent ? row_of(p, r)[c] / left : 0;
        }
    }
}

void dcsr_i_amg_cuda_factorise(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_pieces *pieces, double *T,
                               double *R)
{
    dcsr_i_cuda_launch_warps(stream, factorise, pieces->count, *pieces, T, R);
}

/* ---- P ---- */

typedef dcsr_i_amg_cuda_prolongation prolongation;

/* Into an ascending list without duplicates. */
DCSR_CUDA_INLINE uint32_t add(uint32_t *list, uint32_t count, uint32_t aggregate)
{
    uint32_t at = count;
    if (aggregate == NO) return count;
    while (at && list[at - 1] > aggregate) at--;
    if (at && list[at - 1] == aggregate) return count;
    for (uint32_t k = count; k > at; k--) list[k] = list[k - 1];
    list[at] = aggregate;
    return count + 1;
}

/* What the node at a place reaches: one aggregate more than it has neighbours, at most. */
DCSR_CUDA_INLINE uint32_t *reached_at(const prolongation &p, uint64_t place)
{
    return p.reached + p.graph.begin[place] + (p.graph.list ? 0 : place);
}

static __global__ void reach(prolongation p)
{
    const dcsr_i_amg_cuda_graph &g = p.graph;
    for (uint64_t place = dcsr_i_cuda_first(); place < g.count; place += dcsr_i_cuda_step()) {
        const uint32_t *next = g.nodes + g.begin[place];
        uint64_t node = g.list ? g.list[place] : place;
        uint32_t *list = reached_at(p, place), count = add(list, 0, p.aggregate[node]);
        for (uint32_t k = 0; k < g.length[place] && p.factor != 0; k++)
            count = add(list, count, p.aggregate[next[k]]);
        p.counts[place] = count;
    }
}

void dcsr_i_amg_cuda_reach(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_prolongation *p)
{
    dcsr_i_cuda_launch(stream, reach, p->graph.count, *p);
}

/* A row of P while it is filled. */
struct row_of_P {
    const uint32_t *list;
    uint32_t count;
    double *values;
};

/* += a times row `from` of T, which is one of `node` */
DCSR_CUDA_INLINE void add_row(const prolongation &p, const row_of_P &row, double a, uint64_t from,
                              uint64_t node)
{
    uint32_t aggregate = p.aggregate[node], low = 0, high = row.count;
    if (aggregate == NO) return;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (row.list[middle] <= aggregate)
            low = middle;
        else
            high = middle;
    }
    for (uint64_t c = 0; c < p.vectors; c++) row.values[low * p.vectors + c] += a * p.T[from * p.vectors + c];
}

/* Entries mostly come in the order of the strong neighbours: the next one is looked for from *at on. */
DCSR_CUDA_INLINE bool is_strong(const dcsr_i_amg_cuda_graph &g, uint64_t place, uint64_t other, uint32_t *at)
{
    const uint32_t *next = g.nodes + g.begin[place], length = g.length[place];
    for (uint32_t looked = 0; looked < length; looked++) {
        uint32_t here = *at + looked < length ? *at + looked : *at + looked - length;
        if (next[here] != other) continue;
        *at = here;
        return true;
    }
    return false;
}

static __global__ void fill_rows(prolongation p)
{
    const uint64_t rows = p.graph.count * p.block;
    for (uint64_t r = dcsr_i_cuda_first(); r < rows; r += dcsr_i_cuda_step()) {
        uint64_t place = p.block == 1 ? r : r / p.block, node = p.graph.list ? p.graph.list[place] : place,
                 i = r + (node - place) * p.block;
        row_of_P row = {reached_at(p, place), p.counts[place], nullptr};
        uint64_t width = row.count * p.vectors, begin = (p.sums[place] * p.block) * p.vectors;
        begin += (r - place * p.block) * width;
        row.values = p.values + begin;
        p.offsets[r] = begin;
        if (r + 1 == rows) p.offsets[r + 1] = begin + width;
        for (uint64_t k = 0; k < width; k++) {
            p.columns[begin + k] = (uint32_t)(row.list[k / p.vectors] * p.vectors + k % p.vectors);
            row.values[k] = 0;
        }
        double factor = p.diagonal[i] != 0 ? p.factor / p.diagonal[i] : 0, diagonal = 0;
        uint32_t at = 0;
        for (uint64_t e = p.A.begin[i]; e < p.A.end[i] && factor != 0; e++) {
            uint32_t j = p.A.columns[e] - p.A.first;
            uint64_t other = p.block == 1 ? j : j / p.block;
            if (j != i && (other == node || is_strong(p.graph, place, other, &at)))
                add_row(p, row, -factor * p.A.values[e], j, other);
            else
                diagonal += p.A.values[e];
        }
        add_row(p, row, 1 - factor * diagonal, i, node);
    }
}

void dcsr_i_amg_cuda_fill_rows(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_prolongation *p)
{
    dcsr_i_cuda_launch(stream, fill_rows, p->graph.count * p->block, *p);
}

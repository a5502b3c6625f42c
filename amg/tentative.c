/* tentative.c: the near-nullspace vectors, cut into aggregates and made orthonormal there.
 *
 *      B restricted to an aggregate = Q R      rows of Q: the tentative prolongator T; R: B of the next level
 *
 * By modified Gram-Schmidt, twice, as aggregates are small. A vector that depends on those before it becomes
 * zero: its column of T is empty, and so are a row and a column of the next level, which all stages leave
 * out. */
#include "amg/hierarchy.h"
#include <math.h>

static const double DEPENDENT = 1e-10; /* of the length it had */

/* The rows of an aggregate, vectors side by side. */
typedef struct piece {
    double *rows; /* of T, all of them */
    const uint32_t *nodes;
    uint64_t count, block, vectors;
} piece;

#define EACH_ROW(p, row)                                                           \
    for (uint64_t k_ = 0; k_ < (p)->count; k_++)                                   \
        for (double *row = (p)->rows + (p)->nodes[k_] * (p)->block * (p)->vectors, \
                    *end_ = row + (p)->block * (p)->vectors;                       \
             row < end_; row += (p)->vectors)

static double product(const piece *p, uint64_t a, uint64_t b)
{
    double sum = 0;
    EACH_ROW(p, row) sum += row[a] * row[b];
    return sum;
}

/* R is vectors x vectors, row after row, zero before. */
static void factorise(const piece *p, double *R)
{
    for (uint64_t c = 0; c < p->vectors; c++) {
        double length = sqrt(product(p, c, c));
        for (int pass = 0; pass < 2; pass++) {
            for (uint64_t a = 0; a < c; a++) {
                double along = product(p, a, c);
                R[a * p->vectors + c] += along;
                EACH_ROW(p, row) row[c] -= along * row[a];
            }
        }
        double left = sqrt(product(p, c, c));
        bool independent = left > DEPENDENT * length;
        R[c * p->vectors + c] = independent ? left : 0;
        EACH_ROW(p, row) row[c] = independent ? row[c] / left : 0;
    }
}

void dcsr_i_amg_factorise(double *T, double *R, const uint32_t *nodes, uint64_t count, uint64_t block,
                          uint64_t vectors)
{
    const piece p = {T, nodes, count, block, vectors};
    factorise(&p, R);
}

/* nodes[begin[a]] to nodes[begin[a + 1] - 1] are the nodes of aggregate a, in order. */
static void list_nodes(uint64_t *begin, uint32_t *nodes, const uint32_t *aggregate, uint64_t count,
                       uint64_t aggregates)
{
    for (uint64_t node = 0; node < count; node++)
        if (aggregate[node] != DCSR_I_AMG_NO_AGGREGATE) begin[aggregate[node] + 1]++;
    for (uint64_t a = 0; a < aggregates; a++) begin[a + 1] += begin[a];
    for (uint64_t node = 0; node < count; node++)
        if (aggregate[node] != DCSR_I_AMG_NO_AGGREGATE) nodes[begin[aggregate[node]]++] = (uint32_t)node;
    for (uint64_t a = aggregates; a > 0; a--) begin[a] = begin[a - 1];
    begin[0] = 0;
}

dcsr_status dcsr_i_amg_tentative(double *T, double *coarse, dcsr_i_amg_hierarchy *h,
                                 const dcsr_i_amg_level *level, const dcsr_i_amg_partition *parts,
                                 uint64_t vectors)
{
    const uint64_t nodes = level->rows / level->block;
    dcsr_i_amg_array begins = {0}, lists = {0};
    dcsr_status status = dcsr_i_amg_borrow_zeroed(&begins, h->pool, parts->count + 1, sizeof(uint64_t));
    if (!status) status = dcsr_i_amg_borrow(&lists, h->pool, nodes, sizeof(uint32_t));
    if (!status) {
        uint64_t *begin = begins.data;
        uint32_t *list = lists.data;
        list_nodes(begin, list, parts->aggregate, nodes, parts->count);
        const int threads = dcsr_context_threads(h->context, level->rows * vectors * vectors);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
        for (uint64_t a = 0; a < parts->count; a++)
            dcsr_i_amg_factorise(T, coarse + a * vectors * vectors, list + begin[a], begin[a + 1] - begin[a],
                                 level->block, vectors);
    }
    dcsr_i_amg_give(&begins, h->pool);
    dcsr_i_amg_give(&lists, h->pool);
    return status;
}

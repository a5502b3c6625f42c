/* strength.c: which nodes of a level are strongly connected.
 *
 * Rows i and j are where |a_ij|^2 > theta^2 |a_ii a_jj|; nodes of several rows where the same holds for the
 * squares of the Frobenius norms of their blocks. A graph takes the room of A's rows, so that one pass makes
 * it. If A is not symmetric, nodes are connected where either is to the other. Of a part of a matrix, what rows have in
 * columns of other parts is not strong. */
#include "amg/amg_engine.h"
#include <math.h>

void dcsr_i_amg_graph_free(dcsr_i_amg_graph *graph, dcsr_i_amg_hierarchy *h)
{
    h->engine->drop(&graph->begins, h);
    h->engine->drop(&graph->lengths, h);
    h->engine->drop(&graph->neighbours, h);
}

/* The square of the norm of a node's diagonal block. */
static double norm_of(const dcsr_i_amg_rows *A, uint64_t node, uint64_t block)
{
    double norm = 0;
    for (uint64_t i = node * block; i < (node + 1) * block; i++) {
        const dcsr_i_amg_span row = dcsr_i_amg_span_of(A, i);
        for (uint64_t e = 0; e < row.count; e++)
            if (dcsr_i_amg_own(A, row.columns[e]) / block == node) norm += row.values[e] * row.values[e];
    }
    return norm;
}

void dcsr_i_amg_weigh(double *norms, const dcsr_i_amg_level *level, uint64_t node)
{
    norms[node] = norm_of(&level->A.rows, node, level->block);
}

static uint32_t connect_row(uint32_t *strong, const dcsr_i_amg_measure *m, uint64_t i)
{
    const dcsr_i_amg_rows *A = &m->level->A.rows;
    const dcsr_i_amg_span row = dcsr_i_amg_span_of(A, i);
    const double *diagonal = m->weight, theta2 = m->theta * m->theta;
    uint32_t length = 0;
    for (uint64_t e = 0; e < row.count; e++) {
        uint32_t j = dcsr_i_amg_own(A, row.columns[e]);
        if (j != i && j < A->rows && row.values[e] * row.values[e] > theta2 * fabs(diagonal[i] * diagonal[j]))
            strong[length++] = j;
    }
    return length;
}

/* sum[other] adds up the block of each neighbour while a node is looked at, and is 0 otherwise. */
static uint32_t connect_node(uint32_t *strong, const dcsr_i_amg_measure *m, uint64_t node, double *sum)
{
    const dcsr_i_amg_rows *A = &m->level->A.rows;
    const uint64_t block = m->level->block;
    const double theta2 = m->theta * m->theta, *norm = m->weight;
    uint32_t found = 0, length = 0;
    for (uint64_t i = node * block; i < (node + 1) * block; i++) {
        const dcsr_i_amg_span row = dcsr_i_amg_span_of(A, i);
        for (uint64_t e = 0; e < row.count; e++) {
            const uint32_t j = dcsr_i_amg_own(A, row.columns[e]), other = j / (uint32_t)block;
            double square = row.values[e] * row.values[e];
            if (other == node || j >= A->rows || square == 0) continue;
            if (sum[other] == 0) strong[found++] = other;
            sum[other] += square;
        }
    }
    for (uint32_t k = 0; k < found; k++) {
        uint32_t other = strong[k];
        if (sum[other] > theta2 * sqrt(norm[node] * norm[other])) strong[length++] = other;
        sum[other] = 0;
    }
    return length;
}

uint32_t dcsr_i_amg_connect(uint32_t *strong, const dcsr_i_amg_measure *m, uint64_t node, double *sum)
{
    return m->level->block == 1 ? connect_row(strong, m, node) : connect_node(strong, m, node, sum);
}

static dcsr_status connect_all(dcsr_i_amg_graph *graph, const dcsr_i_amg_hierarchy *h,
                               dcsr_i_amg_level *level, double theta, int threads)
{
    const uint64_t nodes = graph->count, blocks = level->block > 1 ? nodes : 0;
    dcsr_i_amg_array sums = {0};
    if (blocks && !level->norms.data)
        DCSR_I_AMG_TRY(dcsr_i_amg_borrow_zeroed(&level->norms, h->pool, nodes, sizeof(double)));
    const dcsr_i_amg_measure m = {level, blocks ? level->norms.data : level->diagonal.data, theta};
    DCSR_I_AMG_TRY(dcsr_i_amg_borrow_zeroed(&sums, h->pool, blocks * (uint64_t)threads, sizeof(double)));
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (uint64_t node = 0; node < blocks; node++) dcsr_i_amg_weigh(level->norms.data, level, node);
#pragma omp parallel for schedule(static, 1) num_threads(threads) if (threads > 1)
    for (int t = 0; t < threads; t++) {
        double *sum = (double *)sums.data + blocks * (uint64_t)t;
        for (uint64_t node = nodes * (uint64_t)t / (uint64_t)threads,
                      end = nodes * (uint64_t)(t + 1) / (uint64_t)threads;
             node < end; node++)
            graph->length[node] = dcsr_i_amg_connect(graph->nodes + graph->begin[node], &m, node, sum);
    }
    dcsr_i_amg_give(&sums, h->pool);
    return DCSR_OK;
}

/* `both` has the room: the graph and its transpose. last[node] is the last node that got this neighbour. */
static void join_transpose(dcsr_i_amg_graph *both, uint64_t *begin, uint64_t *last,
                           const dcsr_i_amg_graph *graph)
{
    const uint64_t nodes = graph->count;
    for (uint64_t node = 0; node < nodes; node++) {
        begin[node] += graph->length[node];
        for (uint32_t k = 0; k < graph->length[node]; k++) begin[graph->nodes[graph->begin[node] + k]]++;
    }
    uint64_t sum = 0;
    for (uint64_t node = 0; node < nodes; node++) {
        uint64_t room = begin[node];
        begin[node] = sum;
        sum += room;
    }
    for (uint64_t node = 0; node < nodes; node++) {
        for (uint32_t k = 0; k < graph->length[node]; k++) {
            uint32_t other = graph->nodes[graph->begin[node] + k];
            both->nodes[begin[node] + both->length[node]++] = other;
            both->nodes[begin[other] + both->length[other]++] = (uint32_t)node;
        }
    }
    for (uint64_t node = 0; node < nodes; node++) {
        uint32_t *next = both->nodes + begin[node], kept = 0;
        for (uint32_t k = 0; k < both->length[node]; k++) {
            if (last[next[k]] == node + 1) continue;
            last[next[k]] = node + 1;
            next[kept++] = next[k];
        }
        both->length[node] = kept;
    }
}

static dcsr_status make_symmetric(dcsr_i_amg_graph *graph, dcsr_i_amg_hierarchy *h)
{
    const uint64_t nodes = graph->count;
    uint64_t edges = 0;
    for (uint64_t node = 0; node < nodes; node++) edges += graph->length[node];
    dcsr_i_amg_graph both = {.count = nodes};
    dcsr_i_amg_array lasts = {0};
    dcsr_status status = dcsr_i_amg_borrow_zeroed(&both.lengths, h->pool, nodes, sizeof(uint32_t));
    if (!status) status = dcsr_i_amg_borrow(&both.neighbours, h->pool, 2 * edges, sizeof(uint32_t));
    if (!status) status = dcsr_i_amg_borrow_zeroed(&both.begins, h->pool, nodes, sizeof(uint64_t));
    if (!status) status = dcsr_i_amg_borrow_zeroed(&lasts, h->pool, nodes, sizeof(uint64_t));
    if (!status) {
        both.length = both.lengths.data;
        both.nodes = both.neighbours.data;
        both.begin = both.begins.data;
        join_transpose(&both, both.begins.data, lasts.data, graph);
        dcsr_i_amg_graph before = *graph;
        *graph = both;
        both = before;
    }
    dcsr_i_amg_graph_free(&both, h);
    dcsr_i_amg_give(&lasts, h->pool);
    return status;
}

/* Where the rows of each node have room: in order, as after a setup, or one after the other. */
static dcsr_status make_room(dcsr_i_amg_graph *graph, const dcsr_i_amg_hierarchy *h,
                             const dcsr_i_amg_level *level)
{
    const dcsr_i_amg_rows *A = &level->A.rows;
    graph->begin = A->begin;
    if (level->block == 1 && A->fixed == UINT64_MAX) return DCSR_OK;
    DCSR_I_AMG_TRY(dcsr_i_amg_borrow_zeroed(&graph->begins, h->pool, graph->count, sizeof(uint64_t)));
    uint64_t *begin = graph->begins.data, sum = 0;
    for (uint64_t node = 0; node < graph->count; node++) {
        begin[node] = sum;
        for (uint64_t i = node * level->block; i < (node + 1) * level->block; i++)
            sum += A->end[i] - A->begin[i];
    }
    graph->begin = begin;
    return DCSR_OK;
}

dcsr_status dcsr_i_amg_strength(dcsr_i_amg_graph *graph, dcsr_i_amg_hierarchy *h, dcsr_i_amg_level *level,
                                double theta)
{
    const dcsr_i_amg_rows *A = &level->A.rows;
    const uint64_t nodes = A->rows / level->block;
    *graph = (dcsr_i_amg_graph){.count = nodes};
    dcsr_status status = dcsr_i_amg_borrow_zeroed(&graph->lengths, h->pool, nodes, sizeof(uint32_t));
    if (!status) status = dcsr_i_amg_borrow(&graph->neighbours, h->pool, A->nnz, sizeof(uint32_t));
    if (!status) status = make_room(graph, h, level);
    if (status) return status; /* the caller frees the graph */
    graph->length = graph->lengths.data;
    graph->nodes = graph->neighbours.data;
    status = connect_all(graph, h, level, theta, dcsr_context_threads(h->context, A->nnz));
    return status || h->symmetric ? status : make_symmetric(graph, h);
}

/* ---- Across borders ---- */

/* How many entries of row i are outside and strong; they are listed from place `at` on, unless list is NULL. */
static uint64_t look_outside(dcsr_coo *list, const dcsr_i_amg_level *level, uint64_t i, uint64_t at)
{
    const dcsr_i_amg_rows *A = &level->A.rows;
    const dcsr_i_amg_span row = dcsr_i_amg_span_of(A, i);
    const double D = ((const double *)level->diagonal.data)[i],
                 least = dcsr_i_amg_outside_threshold(level) * fabs(D);
    uint64_t count = 0;
    for (uint64_t e = 0; e < row.count && D != 0; e++) {
        if (row.columns[e] - A->first < A->rows || !(fabs(row.values[e]) > least)) continue;
        if (list) {
            list->row_indices[at + count] = i;
            list->col_indices[at + count] = row.columns[e];
            ((double *)list->values)[at + count] = row.values[e] / D;
        }
        count++;
    }
    return count;
}

dcsr_status dcsr_i_amg_list_outside(dcsr_coo *list, dcsr_i_amg_hierarchy *h, const dcsr_i_amg_level *level)
{
    const dcsr_i_amg_rows *A = &level->A.rows;
    const int threads = dcsr_context_threads(h->context, A->nnz);
    dcsr_i_amg_array places = {0};
    uint64_t sum = 0;
    DCSR_I_AMG_TRY(dcsr_i_amg_borrow(&places, h->pool, A->rows, sizeof(uint64_t)));
    uint64_t *place = places.data;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (uint64_t i = 0; i < A->rows; i++) place[i] = look_outside(NULL, level, i, 0);
    for (uint64_t i = 0; i < A->rows; i++) {
        const uint64_t count = place[i];
        place[i] = sum;
        sum += count;
    }
    dcsr_status status =
        sum ? dcsr_coo_allocate(list, h->context, DCSR_FP64, A->rows, A->cols, sum) : DCSR_OK;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (uint64_t i = 0; i < A->rows; i++)
        if (!status && (i + 1 < A->rows ? place[i + 1] : sum) > place[i])
            look_outside(list, level, i, place[i]);
    dcsr_i_amg_give(&places, h->pool);
    return status;
}

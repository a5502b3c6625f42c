/* prolongator.c: P = (I - omega / rho D^-1 A_f) T, as a matrix.
 *
 * A_f is A without its weak entries, which are added to the diagonal, so that it maps constants to what A maps
 * them to. A row of P has entries in the aggregates of its node's strong neighbours: rows of P are counted by
 * the graph alone, then computed, each by one thread. */
#include "amg/hierarchy.h"
#include <string.h>

typedef dcsr_i_amg_reach reach;

/* For a whole level. */
typedef struct work {
    dcsr_i_amg_smoothed P;
    const dcsr_i_amg_graph *graph;
    uint64_t *offsets;
    uint32_t *columns;
    double *values;
    bool differs; /* a row has not as many entries as the offsets say */
} work;

static void add(reach *r, uint32_t a)
{
    if (a == DCSR_I_AMG_NO_AGGREGATE) return;
    if (r->place[a] < r->count && r->list[r->place[a]] == a) return;
    r->place[a] = (uint32_t)r->count;
    r->list[r->count++] = a;
}

static void sort(uint32_t *list, uint64_t count)
{
    enum { FEW = 32 };
    if (count > FEW) {
        dcsr_i_amg_sort32(list, count);
        return;
    }
    for (uint64_t i = 1; i < count; i++) {
        uint32_t moved = list[i];
        uint64_t at = i;
        for (; at && list[at - 1] > moved; at--) list[at] = list[at - 1];
        list[at] = moved;
    }
}

static void reach_from(reach *r, const dcsr_i_amg_smoothed *P, uint64_t node, const uint32_t *next,
                       uint32_t length)
{
    r->count = 0;
    add(r, P->aggregate[node]);
    for (uint32_t k = 0; k < length && P->factor != 0; k++) add(r, P->aggregate[next[k]]);
}

void dcsr_i_amg_reach_from(dcsr_i_amg_reach *r, const dcsr_i_amg_smoothed *P, uint64_t node,
                           const uint32_t *next, uint32_t length)
{
    reach_from(r, P, node, next, length);
    sort(r->list, r->count);
    for (uint64_t k = 0; k < r->count; k++) r->place[r->list[k]] = (uint32_t)k;
    r->stamp++;
    r->strong[node] = r->stamp;
    for (uint32_t k = 0; k < length; k++) r->strong[next[k]] = r->stamp;
}

/* to += a times row `from` of T, which is one of `node` */
static void add_row(const dcsr_i_amg_smoothed *P, const reach *r, double *to, double a, uint64_t from,
                    uint64_t node)
{
    uint32_t aggregate = P->aggregate[node];
    if (aggregate == DCSR_I_AMG_NO_AGGREGATE) return;
    to += r->place[aggregate] * P->vectors;
    for (uint64_t c = 0; c < P->vectors; c++) to[c] += a * P->T[from * P->vectors + c];
}

void dcsr_i_amg_smoothed_row(const dcsr_i_amg_smoothed *P, const dcsr_i_amg_reach *r, uint64_t row,
                             uint64_t node, uint32_t *columns, double *to)
{
    const dcsr_i_amg_rows *A = &P->level->A.rows;
    const dcsr_i_amg_span entries = dcsr_i_amg_span_of(A, row);
    const double *diagonals = P->level->diagonal.data;
    const uint64_t block = P->level->block;
    double diagonal = 0;
    for (uint64_t k = 0; k < r->count; k++)
        for (uint64_t c = 0; c < P->vectors; c++)
            *columns++ = r->list[k] * (uint32_t)P->vectors + (uint32_t)c;
    double factor = diagonals[row] != 0 ? P->factor / diagonals[row] : 0;
    for (uint64_t e = 0; e < entries.count && factor != 0; e++) {
        uint32_t j = dcsr_i_amg_own(A, entries.columns[e]);
        uint64_t other = block == 1 ? j : j / block; /* divisions take as long as all the rest */
        if (j != row && j < A->rows && r->strong[other] == r->stamp)
            add_row(P, r, to, -factor * entries.values[e], j, other);
        else
            diagonal += entries.values[e];
    }
    add_row(P, r, to, 1 - factor * diagonal, row, node);
}

static void count_node(reach *r, work *w, uint64_t node)
{
    const uint64_t block = w->P.level->block;
    const dcsr_i_amg_graph *g = w->graph;
    reach_from(r, &w->P, node, g->nodes + g->begin[node], g->length[node]);
    for (uint64_t i = 0; i < block; i++) w->offsets[node * block + i + 1] = r->count * w->P.vectors;
}

static void fill_node(reach *r, work *w, uint64_t node)
{
    const dcsr_i_amg_graph *g = w->graph;
    const uint64_t block = w->P.level->block, count = w->P.vectors;
    dcsr_i_amg_reach_from(r, &w->P, node, g->nodes + g->begin[node], g->length[node]);
    for (uint64_t row = node * block; row < (node + 1) * block; row++) {
        const uint64_t begin = w->offsets[row];
        if (w->offsets[row + 1] - begin != r->count * count) {
            __atomic_store_n(&w->differs, true, __ATOMIC_RELAXED);
            return;
        }
        memset(w->values + begin, 0, r->count * count * sizeof *w->values);
        dcsr_i_amg_smoothed_row(&w->P, r, row, node, w->columns + begin, w->values + begin);
    }
}

/* Calls `step` for all nodes. `arrays` has a reach for each thread. */
static void each_node(void (*step)(reach *, work *, uint64_t), work *w, uint32_t *arrays, uint64_t aggregates,
                      int threads)
{
    const uint64_t nodes = w->graph->count;
#pragma omp parallel for schedule(static, 1) num_threads(threads) if (threads > 1)
    for (int t = 0; t < threads; t++) {
        uint32_t *own = arrays + (uint64_t)t * (2 * aggregates + nodes);
        reach r = {own, own + aggregates, own + 2 * aggregates, 0, 0};
        uint64_t end = nodes * (uint64_t)(t + 1) / (uint64_t)threads;
        for (uint64_t node = nodes * (uint64_t)t / (uint64_t)threads; node < end; node++) step(&r, w, node);
    }
}

static dcsr_status fill(dcsr_i_amg_matrix *P, dcsr_i_amg_hierarchy *h, work *w, dcsr_i_amg_array *reaches,
                        uint64_t aggregates, int threads)
{
    const uint64_t rows = w->P.level->rows;
    for (uint64_t i = 0; i < rows; i++) w->offsets[i + 1] += w->offsets[i];
    DCSR_I_AMG_TRY(dcsr_i_amg_own_entries(P, h, rows, aggregates * w->P.vectors));
    w->columns = P->own[1].data;
    w->values = P->own[2].data;
    memset(reaches->data, 0, reaches->count * reaches->size);
    each_node(fill_node, w, reaches->data, aggregates, threads);
    return DCSR_OK;
}

/* As long as the rows of another P. If they are not, false, and P has offsets alone. */
static dcsr_status fill_like(bool *fits, dcsr_i_amg_matrix *P, dcsr_i_amg_hierarchy *h, work *w,
                             dcsr_i_amg_array *reaches, const dcsr_i_amg_rows *like, uint64_t aggregates,
                             int threads)
{
    for (uint64_t i = 0; i < like->rows; i++) w->offsets[i + 1] = like->end[i] - like->begin[i];
    DCSR_I_AMG_TRY(fill(P, h, w, reaches, aggregates, threads));
    *fits = !w->differs;
    w->differs = false;
    if (*fits) return DCSR_OK;
    dcsr_i_amg_give(&P->own[1], h->pool);
    dcsr_i_amg_give(&P->own[2], h->pool);
    return DCSR_OK;
}

static dcsr_status make(dcsr_i_amg_matrix *P, dcsr_i_amg_hierarchy *h, work *w,
                        const dcsr_i_amg_partition *parts)
{
    const int threads = dcsr_context_threads(h->context, w->P.level->A.rows.nnz);
    const uint64_t aggregates = parts->count, numbers = 2 * aggregates + w->graph->count;
    dcsr_i_amg_array reaches = {0};
    bool done = false;
    DCSR_I_AMG_TRY(dcsr_i_amg_own_offsets(P, h, w->P.level->rows));
    DCSR_I_AMG_TRY(dcsr_i_amg_borrow(&reaches, h->pool, (uint64_t)threads * numbers, sizeof(uint32_t)));
    w->offsets = P->own[0].data;
    dcsr_status status = DCSR_OK;
    if (parts->like) status = fill_like(&done, P, h, w, &reaches, &parts->like->P.rows, aggregates, threads);
    if (!status && !done) {
        memset(reaches.data, 0, reaches.count * reaches.size);
        each_node(count_node, w, reaches.data, aggregates, threads);
        status = fill(P, h, w, &reaches, aggregates, threads);
    }
    dcsr_i_amg_give(&reaches, h->pool);
    return status;
}

dcsr_status dcsr_i_amg_prolongator(dcsr_i_amg_level *level, double *T, double *coarse,
                                   dcsr_i_amg_hierarchy *h, const dcsr_i_amg_graph *graph,
                                   const dcsr_i_amg_partition *parts, uint64_t vectors)
{
    const dcsr_i_amg_level *like = parts->like;
    if (like) {
        memcpy(T, like->T.data, like->T.count * sizeof *T);
        if (like[1].B.data) memcpy(coarse, like[1].B.data, like[1].B.count * sizeof *coarse);
    } else {
        DCSR_I_AMG_TRY(dcsr_i_amg_tentative(T, coarse, h, level, parts, vectors));
    }
    work w = {.P = {level, parts->aggregate, T, vectors, h->options.omega / level->told.rho}, .graph = graph};
    return make(&level->P, h, &w, parts);
}

/* condense.c: strongly connected components (Tarjan 1972), without recursion, and the edges between them. */
#include "algos/closure/condense.h"
#include <dcsr/convert.h>

#define NONE UINT32_MAX

dcsr_status dcsr_i_square_shape(dcsr_view_shape *shape, const char *call, dcsr_view *A)
{
    if (!A) return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: the view is NULL", call);
    DCSR_I_WORK_TRY(dcsr_view_get_shape(A, shape));
    if (shape->rows == shape->cols) return DCSR_OK;
    return dcsr_thread_fail(DCSR_ERROR_DIMENSION_MISMATCH,
                            "%s: a graph needs a square matrix, this one has %llu rows and %llu columns",
                            call, (unsigned long long)shape->rows, (unsigned long long)shape->cols);
}

/* ---- Rows ---- */

/* From triples, which any view gives, wherever it is; rows ascend. */
static dcsr_status copy_rows(dcsr_i_edge_rows *rows, dcsr_i_work *work, const dcsr_coo *coo)
{
    uint64_t *offsets;
    uint32_t *cols;
    DCSR_I_WORK_TRY(
        dcsr_i_work_take(work, &offsets, rows->rows + 1, sizeof *offsets, "the offsets of the rows"));
    DCSR_I_WORK_TRY(dcsr_i_work_take(work, &cols, coo->nnz, sizeof *cols, "the edges"));
    for (uint64_t e = 0; e < coo->nnz; e++) {
        offsets[coo->row_indices[e] + 1]++;
        cols[e] = (uint32_t)coo->col_indices[e];
    }
    for (uint64_t row = 0; row < rows->rows; row++) offsets[row + 1] += offsets[row];
    rows->offsets = offsets;
    rows->cols = cols;
    return DCSR_OK;
}

dcsr_status dcsr_i_edge_rows_read(dcsr_i_edge_rows *rows, dcsr_i_work *work, dcsr_view *A)
{
    dcsr_view_info info;
    dcsr_csr csr;
    dcsr_coo coo = {0};
    DCSR_I_WORK_TRY(dcsr_view_get_info(A, &info));
    *rows = (dcsr_i_edge_rows){.rows = info.rows};
    if (info.layout == DCSR_LAYOUT_CSR) {
        DCSR_I_WORK_TRY(dcsr_view_get_csr_on_host(A, &csr));
        *rows = (dcsr_i_edge_rows){csr.rows, csr.offsets, csr.col_indices, true};
        return DCSR_OK;
    }
    const uint64_t triples = info.nnz * (2 * sizeof(uint64_t) + dcsr_type_size(info.type));
    DCSR_I_WORK_TRY(dcsr_i_work_charge(work, triples, "the edges, while they are read"));
    dcsr_status status = dcsr_view_to_coo(&coo, A);
    if (!status) status = copy_rows(rows, work, &coo);
    dcsr_coo_free(&coo);
    dcsr_i_work_uncharge(work, triples);
    return status;
}

void dcsr_i_edge_rows_drop(dcsr_i_edge_rows *rows, dcsr_i_work *work)
{
    if (!rows->lent) {
        dcsr_i_work_drop(work, (void *)rows->offsets);
        dcsr_i_work_drop(work, (void *)rows->cols);
    }
    *rows = (dcsr_i_edge_rows){0};
}

/* ---- Components ---- */

/* A vertex on the way that the search has gone. */
typedef struct step {
    uint64_t edge; /* the next of its edges */
    uint32_t vertex;
    uint32_t lowest; /* the first vertex, by order, that it is known to lead back to */
} step;

typedef struct search {
    dcsr_i_condensed *g;
    const dcsr_i_edge_rows *rows;
    uint32_t *order; /* of each vertex: when it was found, from 1 on; 0: not yet */
    uint32_t *open;  /* vertices that were found and have no component yet */
    step *way;
    uint64_t found, opened, completed;
} search;

static step enter(search *s, uint32_t vertex)
{
    s->order[vertex] = (uint32_t)++s->found;
    s->open[s->opened++] = vertex;
    return (step){s->rows->offsets[vertex], vertex, s->order[vertex]};
}

/* All that was opened since the vertex is its component. */
static void complete(search *s, uint32_t vertex)
{
    dcsr_i_condensed *g = s->g;
    const uint32_t number = (uint32_t)g->components++;
    uint32_t last;
    do {
        last = s->open[--s->opened];
        g->component[last] = number;
        g->member[s->completed++] = last;
    } while (last != vertex);
    g->begin[number + 1] = (uint32_t)s->completed;
    g->cyclic[number] |= dcsr_i_size_of(g, number) > 1;
}

static void search_from(search *s, uint32_t root)
{
    uint64_t depth = 0;
    s->way[0] = enter(s, root);
    for (;;) {
        step *at = &s->way[depth];
        if (at->edge < s->rows->offsets[at->vertex + 1]) {
            const uint32_t next = s->rows->cols[at->edge++];
            if (!s->order[next])
                s->way[++depth] = enter(s, next);
            else if (s->g->component[next] == NONE && s->order[next] < at->lowest)
                at->lowest = s->order[next];
            continue;
        }
        const step done = *at;
        if (done.lowest == s->order[done.vertex]) complete(s, done.vertex);
        if (!depth) return;
        if (s->way[--depth].lowest > done.lowest) s->way[depth].lowest = done.lowest;
    }
}

static dcsr_status find_components(dcsr_i_condensed *g, dcsr_i_work *work, const dcsr_i_edge_rows *rows)
{
    const uint64_t n = rows->rows;
    search s = {.g = g, .rows = rows};
    DCSR_I_WORK_TRY(dcsr_i_work_take(work, &g->component, n, sizeof *g->component, "the components"));
    DCSR_I_WORK_TRY(dcsr_i_work_take(work, &g->member, n, sizeof *g->member, "their vertices"));
    DCSR_I_WORK_TRY(dcsr_i_work_take(work, &g->begin, n + 1, sizeof *g->begin, "where they begin"));
    DCSR_I_WORK_TRY(dcsr_i_work_take(work, &g->cyclic, n, sizeof *g->cyclic, "which have cycles"));
    DCSR_I_WORK_TRY(dcsr_i_work_take(work, &s.order, n, sizeof *s.order, "the search for components"));
    DCSR_I_WORK_TRY(dcsr_i_work_take(work, &s.open, n, sizeof *s.open, "the search for components"));
    DCSR_I_WORK_TRY(dcsr_i_work_take(work, &s.way, n, sizeof *s.way, "the search for components"));
    for (uint64_t v = 0; v < n; v++) g->component[v] = NONE;
    for (uint64_t v = 0; v < n; v++)
        if (!s.order[v]) search_from(&s, (uint32_t)v);
    for (uint64_t v = 0; v < n; v++)
        for (uint64_t e = rows->offsets[v]; e < rows->offsets[v + 1]; e++)
            if (rows->cols[e] == v) g->cyclic[g->component[v]] = true;
    dcsr_i_work_drop(work, s.order);
    dcsr_i_work_drop(work, s.open);
    dcsr_i_work_drop(work, s.way);
    return DCSR_OK;
}

/* ---- Edges between components ---- */

/* Counts the edges into each component at begin[component], or, if there is room for them, puts them there. An
 * edge is there once: `last` keeps from which component the last one came. */
static void sort_edges(const dcsr_i_condensed *g, const dcsr_i_edge_rows *rows, uint32_t *last,
                       uint64_t *begin, uint32_t *pred)
{
    for (uint64_t c = 0; c < g->components; c++) last[c] = NONE;
    for (uint64_t c = 0; c < g->components; c++) {
        for (uint64_t m = g->begin[c]; m < g->begin[c + 1]; m++) {
            const uint32_t v = g->member[m];
            for (uint64_t e = rows->offsets[v]; e < rows->offsets[v + 1]; e++) {
                const uint32_t to = g->component[rows->cols[e]];
                if (to == c || last[to] == c) continue;
                last[to] = (uint32_t)c;
                if (pred) pred[begin[to]] = (uint32_t)c;
                begin[to]++;
            }
        }
    }
}

static dcsr_status find_edges(dcsr_i_condensed *g, dcsr_i_work *work, const dcsr_i_edge_rows *rows)
{
    uint32_t *last;
    const uint64_t n = g->components;
    DCSR_I_WORK_TRY(dcsr_i_work_take(work, &last, n, sizeof *last, "edges between components"));
    DCSR_I_WORK_TRY(
        dcsr_i_work_take(work, &g->pred_begin, n + 1, sizeof *g->pred_begin, "edges between components"));
    sort_edges(g, rows, last, g->pred_begin, NULL);
    uint64_t edges = 0;
    for (uint64_t c = 0; c < n; c++) {
        const uint64_t count = g->pred_begin[c];
        g->pred_begin[c] = edges;
        edges += count;
    }
    DCSR_I_WORK_TRY(dcsr_i_work_take(work, &g->pred, edges, sizeof *g->pred, "edges between components"));
    sort_edges(g, rows, last, g->pred_begin, g->pred);
    /* Each now is where the next begins. */
    for (uint64_t c = n; c > 0; c--) g->pred_begin[c] = g->pred_begin[c - 1];
    g->pred_begin[0] = 0;
    dcsr_i_work_drop(work, last);
    return DCSR_OK;
}

dcsr_status dcsr_i_condense(dcsr_i_condensed *g, dcsr_i_work *work, dcsr_view *A)
{
    dcsr_i_edge_rows rows;
    dcsr_view_info info;
    *g = (dcsr_i_condensed){0};
    /* Refused before billions of empty rows are read. */
    DCSR_I_WORK_TRY(dcsr_view_get_info(A, &info));
    const uint64_t least = info.rows * (sizeof(uint64_t) + sizeof(step) + 4 * sizeof(uint32_t));
    DCSR_I_WORK_TRY(dcsr_i_work_charge(work, least, "the vertices"));
    dcsr_i_work_uncharge(work, least);
    DCSR_I_WORK_TRY(dcsr_i_edge_rows_read(&rows, work, A));
    g->vertices = rows.rows;
    DCSR_I_WORK_TRY(find_components(g, work, &rows));
    DCSR_I_WORK_TRY(find_edges(g, work, &rows));
    dcsr_i_edge_rows_drop(&rows, work);
    return DCSR_OK;
}

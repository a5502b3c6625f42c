/* bench_multi_graph.c: graphs in parts on several devices, beside the same graph on one: breadth-first search,
 * PageRank, components, and the share of time in which devices wait for what others send.
 *
 * Strong scaling: the graph stays, devices become more; on the cpu each of K devices has a K-th of the threads, so
 * there it shows what being in parts costs. The peer is dcsr on one device in the same run: dcsr_bfs(),
 * dcsr_pagerank(), dcsr_components(). Graphs are R-MAT, 16 edges a vertex, each inserted both ways. Levels, ranks and
 * components are compared. */
#include "bench/harness.h"
#include "bench/inputs.h"
#include <dcsr/convert.h>
#include <dcsr/multi.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SOURCES = 8, EDGES = 16, ITERATIONS = 10 };

/* ---- Graphs ---- */

typedef struct graph {
    bench *b;
    char name[32];
    uint64_t n, edges, sources[SOURCES];
    dcsr_matrix *matrix;
    dcsr_view *view, *rows; /* of the matrix; of what the CSR is of */
    dcsr_csr csr;
    int32_t *level, *expected; /* of the first source */
    double *rank, *expected_rank;
    uint32_t *component, *expected_component;
    double bfs_seconds, pagerank_seconds, components_seconds; /* of one device */
} graph;

/* All are made of the same CSR, whose rows ascend. Some of its vertices with edges are where searches begin. */
static graph make_graph(bench *b, int scale)
{
    graph g = {.b = b, .n = (uint64_t)1 << scale};
    const size_t all = g.n * EDGES, batch = 1 << 24;
    snprintf(g.name, sizeof g.name, "rmat:%d", scale);
    dcsr_matrix *inserted;
    BENCH_OK(dcsr_matrix_create(&inserted, b->context, DCSR_PATTERN, g.n, g.n, NULL));
    for (size_t first = 0; first < all; first += batch) {
        bench_entries e = bench_entries_rmat(b, scale, first, all - first < batch ? all - first : batch, 1);
        if (!first) memcpy(g.sources, e.row, sizeof g.sources);
        BENCH_OK(dcsr_matrix_insert(inserted, e.n, e.row, e.col, NULL, NULL));
        BENCH_OK(dcsr_matrix_insert(inserted, e.n, e.col, e.row, NULL, NULL));
        BENCH_OK(dcsr_matrix_wait(inserted));
        bench_entries_free(&e);
    }
    BENCH_OK(dcsr_view_create(&g.rows, inserted, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED));
    BENCH_OK(dcsr_view_get_csr_on_host(g.rows, &g.csr));
    dcsr_matrix_destroy(inserted);
    BENCH_OK(dcsr_matrix_from_csr(&g.matrix, b->context, &g.csr, NULL));
    BENCH_OK(dcsr_view_create(&g.view, g.matrix, DCSR_LAYOUT_SEGMENTS, 0));
    g.edges = g.csr.nnz;
    g.level = bench_alloc(g.n, sizeof *g.level);
    g.expected = bench_alloc(g.n, sizeof *g.expected);
    g.rank = bench_alloc(g.n, sizeof *g.rank);
    g.expected_rank = bench_alloc(g.n, sizeof *g.expected_rank);
    g.component = bench_alloc(g.n, sizeof *g.component);
    g.expected_component = bench_alloc(g.n, sizeof *g.expected_component);
    return g;
}

static void free_graph(graph *g)
{
    dcsr_view_destroy(g->view);
    dcsr_matrix_destroy(g->matrix);
    dcsr_view_destroy(g->rows);
    free(g->level), free(g->expected), free(g->rank), free(g->expected_rank);
    free(g->component), free(g->expected_component);
}

/* The median over the sources; parts NULL: on one device. */
static double search(graph *g, dcsr_multi_view *parts, int32_t *level, double *gteps, double *levels)
{
    bench_samples seconds = {0}, rates = {0};
    dcsr_bfs_result result;
    for (int k = -1; k < SOURCES; k++) { /* once to warm up */
        const uint64_t source = g->sources[k < 0 ? 0 : k];
        const double start = bench_now();
        if (parts)
            BENCH_OK(dcsr_multi_bfs(level, &result, parts, source));
        else
            BENCH_OK(dcsr_bfs(level, &result, g->view, source));
        const double taken = bench_now() - start;
        if (k < 0) continue;
        bench_samples_add(&seconds, taken);
        bench_samples_add(&rates, 1e-9 * (double)result.edges / taken);
        *levels = (double)result.max_level + 1;
    }
    *gteps = bench_median(&rates);
    const double median = bench_median(&seconds);
    bench_samples_free(&seconds);
    bench_samples_free(&rates);
    return median;
}

static void search_whole(graph *g, bench_table *table)
{
    double gteps, levels;
    g->bfs_seconds = search(g, NULL, g->expected, &gteps, &levels);
    BENCH_OK(dcsr_bfs(g->expected, NULL, g->view, g->sources[0]));
    bench_row(table, BENCH_LABELS(g->name, "bfs", "one"), g->bfs_seconds * 1e3, gteps, 1, levels, NAN, NAN);
}

static void search_parts(graph *g, bench_table *table, const char *devices, dcsr_multi_view *parts)
{
    double gteps, levels;
    dcsr_multi_report report;
    const double seconds = search(g, parts, g->level, &gteps, &levels);
    BENCH_OK(dcsr_multi_traverse(g->level, NULL, parts, 1, g->sources, &report));
    if (memcmp(g->level, g->expected, g->n * sizeof *g->level))
        bench_die("other levels on %s, %s", g->name, devices);
    bench_row(table, BENCH_LABELS(g->name, "bfs", devices), seconds * 1e3, gteps, g->bfs_seconds / seconds,
              levels, report.communication / report.seconds, NAN);
}

/* Seconds of an iteration. */
static double rank(graph *g, dcsr_multi_view *parts, double *to)
{
    const dcsr_pagerank_options o = {.symmetric = true, .tolerance = 1e-300, .max_iterations = ITERATIONS};
    double best = INFINITY;
    for (int k = 0; k < 2; k++) {
        const double start = bench_now();
        if (parts)
            BENCH_OK(dcsr_multi_pagerank(to, NULL, parts, &o));
        else
            BENCH_OK(dcsr_pagerank(to, NULL, g->view, &o));
        best = fmin(best, bench_now() - start);
    }
    return best / ITERATIONS;
}

static void rank_whole(graph *g, bench_table *table)
{
    g->pagerank_seconds = rank(g, NULL, g->expected_rank);
    bench_row(table, BENCH_LABELS(g->name, "pagerank", "one"), g->pagerank_seconds * 1e3,
              1e-9 * (double)g->edges / g->pagerank_seconds, 1, NAN, NAN, 0);
}

static void rank_parts(graph *g, bench_table *table, const char *devices, dcsr_multi_view *parts)
{
    const double seconds = rank(g, parts, g->rank);
    double apart = 0;
    for (uint64_t v = 0; v < g->n; v++) apart += fabs(g->rank[v] - g->expected_rank[v]);
    if (!(apart < 1e-4)) bench_die("other ranks on %s, %s: by %g", g->name, devices, apart);
    bench_row(table, BENCH_LABELS(g->name, "pagerank", devices), seconds * 1e3,
              1e-9 * (double)g->edges / seconds, g->pagerank_seconds / seconds, NAN, NAN, apart);
}

/* Seconds of finding all components. */
static double connect(graph *g, dcsr_multi_view *parts, uint32_t *component)
{
    const dcsr_graph_options o = {.symmetric = true};
    double best = INFINITY;
    for (int k = 0; k < 3; k++) {
        const double start = bench_now();
        if (parts)
            BENCH_OK(dcsr_multi_components(component, NULL, parts, &o));
        else
            BENCH_OK(dcsr_components(component, NULL, g->view, &o));
        best = fmin(best, bench_now() - start);
    }
    return best;
}

static void connect_whole(graph *g, bench_table *table)
{
    g->components_seconds = connect(g, NULL, g->expected_component);
    bench_row(table, BENCH_LABELS(g->name, "components", "one"), g->components_seconds * 1e3,
              1e-9 * (double)g->edges / g->components_seconds, 1, NAN, NAN, NAN);
}

static void connect_parts(graph *g, bench_table *table, const char *devices, dcsr_multi_view *parts)
{
    const double seconds = connect(g, parts, g->component);
    if (memcmp(g->component, g->expected_component, g->n * sizeof *g->component))
        bench_die("other components on %s, %s", g->name, devices);
    bench_row(table, BENCH_LABELS(g->name, "components", devices), seconds * 1e3,
              1e-9 * (double)g->edges / seconds, g->components_seconds / seconds, NAN, NAN, NAN);
}

static void on_graph(bench *b, int scale, bench_table *table)
{
    char what[32];
    snprintf(what, sizeof what, "R-MAT of scale %d", scale);
    if (!bench_has_time(b, what)) return;
    graph g = make_graph(b, scale);
    search_whole(&g, table);
    rank_whole(&g, table);
    connect_whole(&g, table);
    for (int count = 1; count <= bench_most_devices(b); count *= 2) {
        char text[32];
        dcsr_multi *devices = bench_open_devices(b, count, text, sizeof text);
        dcsr_multi_matrix *matrix;
        dcsr_multi_view *view;
        BENCH_OK(dcsr_multi_matrix_from_csr(&matrix, devices, &g.csr, NULL));
        BENCH_OK(dcsr_multi_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, 0));
        search_parts(&g, table, text, view);
        rank_parts(&g, table, text, view);
        connect_parts(&g, table, text, view);
        dcsr_multi_view_destroy(view);
        dcsr_multi_matrix_destroy(matrix);
        dcsr_multi_destroy(devices);
    }
    free_graph(&g);
}

int main(int argc, char **argv)
{
    static const int quick[] = {10, 0}, host[] = {18, 0}, gpu[] = {22, 24, 26, 0};
    bench b;
    bench_begin(&b, argc, argv, "multi_graph", "What do graphs gain on several devices?");
    bench_table *graphs =
        bench_table_begin(&b, "multi_graph", "A search from one vertex; an iteration of PageRank; components",
                          "graph algorithm devices | ms:%.3f gteps:%.3f times_one:%.2f levels:%.0f "
                          "communication:%.3f apart:%.1e");
    for (const int *scale = BENCH_SIZE_ON(&b, quick, host, gpu); *scale; scale++)
        on_graph(&b, *scale, graphs);
    return bench_end(&b);
}

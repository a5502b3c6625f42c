/* bench_multi_graph.c: graphs in parts on several devices, beside the same graph on one: insertion, breadth-first
 * search, PageRank, components, and the share of time in which devices wait for what others send.
 *
 * Edges are inserted in batches by one thread of the host, by several, or from the memory of the devices, each of which
 * gives its share of the batches in turn. `splitting` and `applying` are the shares of the time that the thread of the
 * matrix spent on each; what it splits it splits while the batch before is applied.
 *
 * Strong scaling: the graph stays, devices become more; on the cpu each of K devices has a K-th of the threads, so
 * there it shows what being in parts costs. The peer is dcsr on one device in the same run: dcsr_bfs(),
 * dcsr_pagerank(), dcsr_components(). Graphs are R-MAT, 16 edges a vertex, each inserted both ways. Levels, ranks and
 * components, and numbers of entries, are compared. */
#include "bench/harness.h"
#include "bench/inputs.h"
#include <dcsr/convert.h>
#include <dcsr/multi.h>
#include <dcsr/vector.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SOURCES = 8, EDGES = 16, ITERATIONS = 10 };

enum { GIVERS = 4 };

typedef enum giver { ONE_THREAD, SEVERAL_THREADS, DEVICES } giver;
static const char *const sources[] = {"1 thread", "4 threads", "devices"};

/* Edges in batches, and into what: `parts`, or `matrix`. */
typedef struct insertion {
    const bench_entries *edges;
    size_t batch;
    dcsr_matrix *matrix;
    dcsr_multi_matrix *parts;
    uint64_t devices;
    uint64_t *rows[DCSR_MAX_DEVICES], *cols[DCSR_MAX_DEVICES]; /* in the memory of each: its batches */
    uint64_t first, step;                                      /* of a thread: the batches that it gives */
} insertion;

/* ---- Insertion: giving batches ---- */

static void give(const insertion *s, uint64_t number)
{
    const bench_entries e = bench_entries_slice(s->edges, number * s->batch, s->batch);
    BENCH_OK(s->parts ? dcsr_multi_matrix_insert(s->parts, e.n, e.row, e.col, NULL, NULL)
                      : dcsr_matrix_insert(s->matrix, e.n, e.row, e.col, NULL, NULL));
}

/* A batch from the memory of its device. */
static void give_there(const insertion *s, uint64_t number)
{
    const uint64_t k = number % s->devices, at = number / s->devices * s->batch;
    const uint64_t *rows = s->rows[k] + at, *cols = s->cols[k] + at;
    BENCH_OK(s->parts ? dcsr_multi_matrix_insert_device(s->parts, s->batch, rows, cols, NULL, NULL, NULL)
                      : dcsr_matrix_insert_device(s->matrix, s->batch, rows, cols, NULL, NULL, NULL));
}

static void *give_share(void *argument)
{
    const insertion *s = argument;
    const uint64_t batches = s->edges->n / s->batch;
    for (uint64_t i = s->first; i < batches; i += s->step) give(s, i);
    return NULL;
}

static void give_by_threads(const insertion *s)
{
    pthread_t thread[GIVERS];
    insertion share[GIVERS];
    for (uint64_t t = 0; t < GIVERS; t++) {
        share[t] = *s;
        share[t].first = t;
        share[t].step = GIVERS;
        if (pthread_create(&thread[t], NULL, give_share, &share[t])) bench_die("no thread to insert with");
    }
    for (int t = 0; t < GIVERS; t++) pthread_join(thread[t], NULL);
}

static void give_all(const insertion *s, giver from)
{
    const uint64_t batches = s->edges->n / s->batch;
    if (from == SEVERAL_THREADS) {
        give_by_threads(s);
        return;
    }
    for (uint64_t i = 0; i < batches; i++)
        if (from == DEVICES)
            give_there(s, i);
        else
            give(s, i);
}

/* ---- Insertion: edges in the memory of devices ---- */

static dcsr_vector *place(dcsr_context *context, uint64_t n, uint64_t **there)
{
    dcsr_vector *vector;
    void *values;
    BENCH_OK(dcsr_vector_create(&vector, context, DCSR_UINT64, n));
    BENCH_OK(dcsr_vector_fill(vector, &(uint64_t){0}));
    BENCH_OK(dcsr_vector_get_values(vector, &values));
    *there = values;
    return vector;
}

/* The vectors keep the memory. */
typedef struct placed {
    dcsr_vector *rows[DCSR_MAX_DEVICES], *cols[DCSR_MAX_DEVICES];
} placed;

static void place_edges(insertion *s, placed *p, dcsr_context *const *context)
{
    const uint64_t batches = s->edges->n / s->batch;
    for (uint64_t k = 0; k < s->devices; k++) {
        const uint64_t own = (batches + s->devices - 1 - k) / s->devices;
        void *there;
        p->rows[k] = place(context[k], own * s->batch, &s->rows[k]);
        p->cols[k] = place(context[k], own * s->batch, &s->cols[k]);
        for (uint64_t i = 0; i < own; i++) {
            const uint64_t from = (k + i * s->devices) * s->batch;
            memcpy(s->rows[k] + i * s->batch, s->edges->row + from, s->batch * sizeof *s->rows[k]);
            memcpy(s->cols[k] + i * s->batch, s->edges->col + from, s->batch * sizeof *s->cols[k]);
        }
        BENCH_OK(dcsr_vector_get_values_on_device(p->rows[k], &there));
        s->rows[k] = there;
        BENCH_OK(dcsr_vector_get_values_on_device(p->cols[k], &there));
        s->cols[k] = there;
    }
}

static void release_edges(insertion *s, placed *p)
{
    for (uint64_t k = 0; k < s->devices; k++)
        dcsr_vector_destroy(p->rows[k]), dcsr_vector_destroy(p->cols[k]);
}

/* ---- Insertion ---- */

/* Seconds of the better of two, as the first also takes memory from the system. */
static double insert_whole(bench *b, insertion *s, uint64_t n, giver from, uint64_t *nnz)
{
    double best = INFINITY;
    placed p;
    s->devices = 1;
    s->parts = NULL;
    if (from == DEVICES) place_edges(s, &p, &b->context);
    for (int i = 0; i < 2; i++) {
        BENCH_OK(dcsr_matrix_create(&s->matrix, b->context, DCSR_PATTERN, n, n, NULL));
        const double start = bench_now();
        give_all(s, from);
        BENCH_OK(dcsr_matrix_wait(s->matrix));
        best = fmin(best, bench_now() - start);
        BENCH_OK(dcsr_matrix_get_nnz(s->matrix, nnz));
        dcsr_matrix_destroy(s->matrix);
    }
    if (from == DEVICES) release_edges(s, &p);
    return best;
}

static double insert_parts(insertion *s, dcsr_multi *devices, uint64_t n, giver from,
                           dcsr_multi_matrix_info *info, uint64_t *nnz)
{
    double best = INFINITY;
    placed p;
    dcsr_multi_info of;
    BENCH_OK(dcsr_multi_get_info(devices, &of));
    s->devices = of.devices;
    if (from == DEVICES) place_edges(s, &p, of.context);
    for (int i = 0; i < 2; i++) {
        dcsr_multi_matrix_info one;
        dcsr_multi_view *view;
        dcsr_multi_view_info shown;
        BENCH_OK(dcsr_multi_matrix_create(&s->parts, devices, DCSR_PATTERN, n, n, NULL));
        const double start = bench_now();
        give_all(s, from);
        BENCH_OK(dcsr_multi_matrix_wait(s->parts));
        const double seconds = bench_now() - start;
        BENCH_OK(dcsr_multi_matrix_get_info(s->parts, &one));
        if (seconds < best) *info = one;
        best = fmin(best, seconds);
        BENCH_OK(dcsr_multi_view_create(&view, s->parts, DCSR_LAYOUT_SEGMENTS, 0));
        BENCH_OK(dcsr_multi_view_get_info(view, &shown));
        *nnz = shown.nnz;
        dcsr_multi_view_destroy(view);
        dcsr_multi_matrix_destroy(s->parts);
    }
    if (from == DEVICES) release_edges(s, &p);
    return best;
}

static void measure_insertion(bench *b, bench_table *table, size_t batch, giver from)
{
    const int scale = BENCH_SIZE_ON(b, 12, 20, 22);
    char size[32];
    snprintf(size, sizeof size, "%zu", batch);
    if (!bench_has_time(b, sources[from])) return;
    bench_entries edges =
        bench_entries_rmat(b, scale, 0, batch * (BENCH_SIZE_ON(b, 200000u, 10000000u, 40000000u) / batch), 1);
    const uint64_t n = (uint64_t)1 << scale;
    insertion s = {.edges = &edges, .batch = batch};
    uint64_t expected, nnz;
    const double whole = insert_whole(b, &s, n, from, &expected);
    bench_row(table, BENCH_LABELS(size, sources[from], "one"), 1e-6 * (double)edges.n / whole, 1, NAN, NAN,
              NAN, 1, 0);
    for (int count = 1; count <= bench_most_devices(b); count *= 2) {
        char text[32];
        dcsr_multi_matrix_info info = {0};
        dcsr_multi *devices = bench_open_devices(b, count, text, sizeof text);
        const double seconds = insert_parts(&s, devices, n, from, &info, &nnz);
        if (nnz != expected)
            bench_die("%s shows %llu entries, not %llu", text, (unsigned long long)nnz,
                      (unsigned long long)expected);
        uint64_t most = 0;
        for (int k = 0; k < count; k++)
            if (info.stored[k] > most) most = info.stored[k];
        bench_row(table, BENCH_LABELS(size, sources[from], text), 1e-6 * (double)edges.n / seconds,
                  whole / seconds, (double)info.changes, info.splitting_seconds / seconds,
                  info.applying_seconds / seconds, (double)most * count / (double)info.whole.stored,
                  (double)info.balances);
        dcsr_multi_destroy(devices);
    }
    bench_entries_free(&edges);
}

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
    bench_table *inserted = bench_table_begin(
        &b, "multi_insert", "Edges in batches, R-MAT",
        "batch from devices | medges_per_s:%.2f times_one:%.2f changes:%.0f splitting:%.2f applying:%.2f "
        "balance:%.3f balances:%.0f");
    const size_t few = BENCH_SIZE(&b, 10000, 100000), many = 1000000;
    const bool large = b.gpu && !b.quick;
    measure_insertion(&b, inserted, few, ONE_THREAD);
    if (large) measure_insertion(&b, inserted, many, ONE_THREAD);
    if (large) measure_insertion(&b, inserted, many, SEVERAL_THREADS);
    if (b.gpu) measure_insertion(&b, inserted, large ? many : few, DEVICES);
    measure_insertion(&b, inserted, few, SEVERAL_THREADS);
    if (large) measure_insertion(&b, inserted, few, DEVICES);
    bench_table *graphs =
        bench_table_begin(&b, "multi_graph", "A search from one vertex; an iteration of PageRank; components",
                          "graph algorithm devices | ms:%.3f gteps:%.3f times_one:%.2f levels:%.0f "
                          "communication:%.3f apart:%.1e");
    for (const int *scale = BENCH_SIZE_ON(&b, quick, host, gpu); *scale; scale++)
        on_graph(&b, *scale, graphs);
    return bench_end(&b);
}

/* bench_levels.c: products of a matrix with sparse vectors by each direction, and the one that dcsr_mxv() takes: the
 * vectors are the frontiers of a breadth-first search, level by level (Hong et al., "Optimizing Sparse-Matrix
 * Sparse-Vector Multiplication for GPUs", table I).
 *
 * Two products with each frontier: `search` is any-pair where no vertex has been visited yet, as a search has it;
 * `sum` is plus-times over all vertices. Milliseconds are the least of some calls; `auto` is a call that chooses by
 * itself, and what it costs to choose. A choice is right if its direction takes at most 5 % more than the best. */
#include "bench/inputs.h"
#include <dcsr/features.h>
#include <dcsr/mxv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each way is called LEAST_CALLS times, and a short one again until least_seconds are over. */
enum { WAYS = 4, AUTO = 3, LEAST_CALLS = 7, MOST_LEVELS = 64 };
static const double least_seconds = 0.02;
static const dcsr_direction ways[WAYS] = {DCSR_DIRECTION_PUSH, DCSR_DIRECTION_PULL, DCSR_DIRECTION_TILES,
                                          DCSR_DIRECTION_AUTO};
static const char *const way_names[AUTO] = {"push", "pull", "tiles"};

typedef struct product {
    const char *name;
    const dcsr_semiring *semiring;
    dcsr_type type;
    bool masked;
} product;

typedef struct contest {
    bench *b;
    bench_table *levels;
    const char *graph;
    const bench_csr *A; /* symmetric */
    const product *product;
    bool *trues; /* n */
    dcsr_view *view;
    dcsr_vector *frontier, *visited, *next;
    uint64_t level, n, elements, entries;             /* of the frontier, and of its columns */
    double best_seconds, taken_seconds, auto_seconds; /* of all levels */
    int right, decided;
} contest;

/* Seconds of one product, whose direction becomes *way. */
static double multiply(contest *c, dcsr_direction *way)
{
    dcsr_report report;
    const dcsr_desc desc = {.mask_complement = c->product->masked,
                            .mask_structure = c->product->masked,
                            .replace = true,
                            .direction = *way,
                            .report = &report};
    const double start = bench_now();
    BENCH_OK(dcsr_mxv(c->next, c->product->masked ? c->visited : NULL, NULL, c->product->semiring, c->view,
                      c->frontier, &desc));
    const double seconds = bench_now() - start;
    *way = report.direction;
    return seconds;
}

static void measure_level(contest *c)
{
    double seconds[WAYS] = {INFINITY, INFINITY, INFINITY, INFINITY};
    int best = 0, taken = 0;
    const double start = bench_now();
    for (int call = 0; call < LEAST_CALLS || bench_now() - start < least_seconds; call++)
        for (int k = 0; k < WAYS; k++) {
            dcsr_direction way = ways[k];
            multiply(c, &way); /* so that caches are those of this way */
            way = ways[k];
            seconds[k] = fmin(seconds[k], multiply(c, &way));
            for (int is = 0; k == AUTO && is < AUTO; is++)
                if (ways[is] == way) taken = is;
        }
    for (int k = 0; k < AUTO; k++)
        if (seconds[k] < seconds[best]) best = k;
    c->best_seconds += seconds[best];
    c->taken_seconds += seconds[taken];
    c->auto_seconds += seconds[AUTO];
    c->right += seconds[taken] <= 1.05 * seconds[best];
    c->decided++;
    char level[24];
    snprintf(level, sizeof level, "%llu", (unsigned long long)c->level);
    bench_row(c->levels, BENCH_LABELS(c->graph, c->product->name, level, way_names[taken]),
              (double)c->elements, (double)c->entries, 1e3 * seconds[0], 1e3 * seconds[1], 1e3 * seconds[2],
              1e3 * seconds[AUTO], seconds[taken] / seconds[best]);
}

/* n vertices become the frontier, and visited. */
static void put_frontier(contest *c, const uint64_t *vertices, uint64_t n)
{
    BENCH_OK(dcsr_vector_clear(c->frontier));
    BENCH_OK(dcsr_vector_build(c->frontier, n, vertices, c->trues, DCSR_POLICY_DEFAULT));
    c->elements = n;
    c->entries = 0;
    for (uint64_t k = 0; k < n; k++) {
        const uint64_t i = vertices[k];
        BENCH_OK(dcsr_vector_set(c->visited, i, &(bool){true}));
        c->entries += c->A->offsets[i + 1] - c->A->offsets[i];
    }
}

/* The next frontier becomes the frontier; false: it is empty. */
static bool advance(contest *c, uint64_t *indices, void *values)
{
    uint64_t n;
    const product search = {"search", dcsr_semiring_of(DCSR_ANY_PAIR, DCSR_BOOL), DCSR_BOOL, true};
    const product *measured = c->product;
    c->product = &search;
    multiply(c, &(dcsr_direction){DCSR_DIRECTION_AUTO});
    c->product = measured;
    BENCH_OK(dcsr_vector_get_entries(c->next, c->n, indices, values, &n));
    put_frontier(c, indices, n);
    c->level++;
    return n > 0;
}

static void search(bench *b, bench_table *levels, bench_table *sums, const char *graph, const bench_csr *A,
                   dcsr_matrix *matrix, const product *measured, uint64_t source)
{
    contest c = {.b = b, .levels = levels, .graph = graph, .A = A, .product = measured};
    dcsr_view_shape shape;
    dcsr_features features; /* are known from now on, so that what was learnt takes part */
    BENCH_OK(dcsr_view_create(&c.view, matrix, DCSR_LAYOUT_NUT, 0));
    BENCH_OK(dcsr_view_get_shape(c.view, &shape));
    BENCH_OK(dcsr_view_get_features(&features, c.view, NULL));
    c.n = shape.rows;
    BENCH_OK(dcsr_vector_create(&c.frontier, b->context, DCSR_BOOL, c.n));
    BENCH_OK(dcsr_vector_create(&c.visited, b->context, DCSR_BOOL, c.n));
    BENCH_OK(dcsr_vector_create(&c.next, b->context, measured->type, c.n));
    c.trues = bench_alloc(c.n, sizeof *c.trues);
    for (uint64_t i = 0; i < c.n; i++) c.trues[i] = true;
    put_frontier(&c, &source, 1);
    uint64_t *indices = bench_alloc(c.n, sizeof *indices);
    void *values = bench_alloc(c.n, sizeof(double));
    do measure_level(&c);
    while (c.level < MOST_LEVELS && advance(&c, indices, values));
    bench_row(sums, BENCH_LABELS(graph, measured->name), (double)c.decided, 1e3 * c.best_seconds,
              1e3 * c.taken_seconds, 1e3 * c.auto_seconds, c.taken_seconds / c.best_seconds,
              100.0 * c.right / c.decided, c.auto_seconds / c.best_seconds);
    dcsr_vector_destroy(c.frontier);
    dcsr_vector_destroy(c.visited);
    dcsr_vector_destroy(c.next);
    dcsr_view_destroy(c.view);
    free(indices), free(values), free(c.trues);
}

/* The vertex of most edges, from which most others are reached. */
static uint64_t hub_of(const bench_csr *A)
{
    uint64_t hub = 0;
    for (uint64_t i = 1; i < A->rows; i++)
        if (A->offsets[i + 1] - A->offsets[i] > A->offsets[hub + 1] - A->offsets[hub]) hub = i;
    return hub;
}

typedef struct tables {
    bench *b;
    bench_table *levels, *sums;
} tables;

/* Of a square matrix: its pattern and the transpose of that, as edges both ways. */
static void on_graph(void *argument, const char *name, const bench_csr *from)
{
    const tables *t = argument;
    const product products[] = {{"search", dcsr_semiring_of(DCSR_ANY_PAIR, DCSR_BOOL), DCSR_BOOL, true},
                                {"sum", dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_FP64), DCSR_FP64, false}};
    if (from->rows != from->cols) {
        bench_note(t->b, "%s is left out: it is not square", name);
        return;
    }
    bench_entries edges = bench_entries_from_csr(from);
    bench_entries_symmetrise(&edges);
    bench_csr A = bench_csr_from_entries(&edges, from->rows, from->rows);
    bench_entries_free(&edges);
    dcsr_matrix *matrix = bench_fragmented(t->b, &A, 1, DCSR_FP64, DCSR_POLICY_LAST);
    for (size_t k = 0; k < sizeof products / sizeof *products; k++)
        search(t->b, t->levels, t->sums, name, &A, matrix, &products[k], hub_of(&A));
    dcsr_matrix_destroy(matrix);
    bench_csr_free(&A);
}

int main(int argc, char **argv)
{
    static const char *const quick[] = {"rmat:14,16", "er:20000,200000", NULL};
    static const char *const full[] = {"rmat:18,16", "rmat:20,16", "er:1000000,8000000", NULL};
    bench b;
    bench_begin(&b, argc, argv, "levels",
                "Which direction is the fastest at each level of a search, and which is taken?");
    bench_table *levels =
        bench_table_begin(&b, "levels", "milliseconds of a product with the frontier",
                          "graph product level taken | elements:%.0f entries:%.0f push_ms:%.3g pull_ms:%.3g "
                          "tiles_ms:%.3g auto_ms:%.3g of_best:%.2f");
    bench_table *sums = bench_table_begin(
        &b, "choices", "all levels of a search: the best direction of each, the one that is taken",
        "graph product | levels:%.0f best_ms:%.3g taken_ms:%.3g auto_ms:%.3g of_best:%.3f right%:%.0f "
        "auto_of_best:%.3f");
    tables t = {&b, levels, sums};
    if (b.data) bench_for_files(&b, on_graph, &t);
    for (const char *const *name = BENCH_SIZE(&b, quick, full); !b.data && *name; name++) {
        if (!bench_has_time(&b, *name)) continue;
        bench_csr A = bench_csr_make(&b, *name);
        on_graph(&t, *name, &A);
        bench_csr_free(&A);
    }
    return bench_end(&b);
}

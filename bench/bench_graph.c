/* bench_graph.c: graph algorithms beside the same formulated over GraphBLAS.
 *
 * An R-MAT graph (Graph500's parameters), symmetrised and without loops, and a grid of which each point has four
 * neighbours; weights are whole numbers from 1 to 255. The library gets a CSR view, which lends the arrays of a
 * defragmented matrix, and `fragmented` one of segments, each row inserted in 2 portions. Both are told that the graph
 * is symmetric. Seconds are the least of some runs, the library's and the peer's in turns; what they find is compared.
 * In shortest paths the peer gets the width of buckets that is best for it of several. `bfs_many` searches from 32
 * vertices, `betweenness` from 4, `ktruss` finds the 5-truss. On a GPU the peer is the library itself on the cpu, with
 * all threads, and what does not run there is left out. */
#include <dcsr/bfs.h>
#include <dcsr/graph.h>
#include "bench/peers/peer_graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SOURCES = 32, BETWEENNESS_SOURCES = 4, TRUSS = 5, FEW_EDGES = 8000000 };

typedef struct contest {
    bench *b;
    bench_table *table;
    const peer_graph *peer;
    const char *graph, *only; /* --only is about algorithms, also where graphs are files */
    uint64_t n, edges, source;
    uint64_t sources
        [SOURCES]; /* from the middle of a grid: from a corner there are more paths than the peer counts */
    double delta;  /* for the peer */
    dcsr_view *view, *fragmented;
    dcsr_view *host;     /* on a GPU: the same graph on the cpu */
    void *ours, *theirs; /* 8 bytes a vertex each */
    int32_t *level;      /* of a search, for its tree */
    double product, least;
    int rows;
} contest;

/* One algorithm: by the library, by the peer, and whether both found the same. */
typedef struct event {
    const char *name;
    void (*run)(contest *c, dcsr_view *view);
    void (*peer)(contest *c); /* NULL: it finds something else that is as good */
    double tolerance;         /* relative, for numbers above 1; less than 0: whole numbers of 4 bytes */
    uint64_t most;  /* edges of a graph; with more the peer takes minutes, and is left out. 0: any number */
    bool on_device; /* it runs on a GPU if the graph is there; else it is left out there */
} event;

static const dcsr_graph_options symmetric = {.symmetric = true};

static void search(contest *c, dcsr_view *view)
{
    BENCH_OK(dcsr_bfs(c->ours, NULL, view, c->source));
}

static void peer_search(contest *c)
{
    c->peer->search(c->theirs, c->source);
}

static void search_tree(contest *c, dcsr_view *view)
{
    int32_t *level = c->level;
    BENCH_OK(dcsr_bfs(level, NULL, view, c->source));
    BENCH_OK(dcsr_bfs_parents(c->ours, level, view));
}

static void components(contest *c, dcsr_view *view)
{
    BENCH_OK(dcsr_components(c->ours, NULL, view, &symmetric));
}
static void peer_components(contest *c)
{
    c->peer->components(c->theirs);
}

static void pagerank(contest *c, dcsr_view *view)
{
    BENCH_OK(
        dcsr_pagerank(c->ours, NULL, view, &(dcsr_pagerank_options){.symmetric = true, .tolerance = 1e-6}));
}
static void peer_pagerank(contest *c)
{
    c->peer->pagerank(c->theirs, 1e-6, false);
}
static void peer_pagerank_narrow(contest *c)
{
    c->peer->pagerank(c->theirs, 1e-6, true);
}

static void triangles(contest *c, dcsr_view *view)
{
    dcsr_triangles_result result;
    BENCH_OK(dcsr_triangles(NULL, &result, view, &symmetric));
    memcpy(c->ours, &result.triangles, sizeof result.triangles);
}
static void peer_triangles(contest *c)
{
    const uint64_t found = c->peer->triangles();
    memcpy(c->theirs, &found, sizeof found);
}

static void clustering(contest *c, dcsr_view *view)
{
    BENCH_OK(dcsr_clustering(c->ours, NULL, view, &symmetric));
}
static void peer_clustering(contest *c)
{
    c->peer->clustering(c->theirs);
}

static void sssp(contest *c, dcsr_view *view)
{
    BENCH_OK(dcsr_sssp(c->ours, NULL, view, c->source, NULL));
}
static void peer_sssp(contest *c)
{
    c->peer->sssp(c->theirs, c->source, c->delta);
}

static void search_many(contest *c, dcsr_view *view)
{
    dcsr_bfs_result results[SOURCES];
    double *sum = c->ours;
    BENCH_OK(dcsr_bfs_many(NULL, results, view, SOURCES, c->sources, &symmetric));
    for (int k = 0; k < SOURCES; k++) sum[k] = (double)results[k].level_sum;
}
static void peer_search_many(contest *c)
{
    c->peer->search_many(c->theirs, c->sources, SOURCES);
}

static void betweenness(contest *c, dcsr_view *view)
{
    const dcsr_betweenness_options options = {
        .symmetric = true, .sources = c->sources, .source_count = BETWEENNESS_SOURCES};
    BENCH_OK(dcsr_betweenness(c->ours, NULL, view, &options));
}
static void peer_betweenness(contest *c)
{
    c->peer->betweenness(c->theirs, c->sources, BETWEENNESS_SOURCES);
}

static void ktruss(contest *c, dcsr_view *view)
{
    dcsr_ktruss_result result;
    BENCH_OK(dcsr_ktruss(NULL, &result, view, &(dcsr_ktruss_options){.symmetric = true, .k = TRUSS}));
    memcpy(c->ours, &result.edges, sizeof result.edges);
}
static void peer_ktruss(contest *c)
{
    const uint64_t found = c->peer->ktruss(TRUSS);
    memcpy(c->theirs, &found, sizeof found);
}

static void kcore(contest *c, dcsr_view *view)
{
    BENCH_OK(dcsr_kcore(c->ours, NULL, view, &symmetric));
}

static void peer_kcore(contest *c)
{
    c->peer->kcore(c->theirs);
}

static void strong_components(contest *c, dcsr_view *view)
{
    BENCH_OK(dcsr_strong_components(c->ours, NULL, view));
}

static void independent_set(contest *c, dcsr_view *view)
{
    BENCH_OK(dcsr_independent_set(c->ours, NULL, view, &(dcsr_random_options){.symmetric = true}));
}

static void colouring(contest *c, dcsr_view *view)
{
    BENCH_OK(dcsr_colouring(c->ours, NULL, view, &(dcsr_random_options){.symmetric = true}));
}

static bool same(const contest *c, const event *e)
{
    if (e->tolerance < 0) return !memcmp(c->ours, c->theirs, c->n * sizeof(uint32_t));
    const double *x = c->ours, *y = c->theirs;
    double difference = 0;
    for (uint64_t v = 0; v < c->n; v++)
        if (x[v] != y[v]) difference = fmax(difference, fabs(x[v] - y[v]) / fmax(1, fabs(y[v])));
    return difference <= e->tolerance;
}

static double seconds_of(contest *c, const event *e, dcsr_view *view)
{
    memset(c->ours, 0, c->n * 8);
    const double before = bench_now();
    e->run(c, view);
    return bench_now() - before;
}

/* By the peer, to c->theirs. */
static double seconds_of_peer(contest *c, const event *e)
{
    if (c->host) {
        void *ours = c->ours;
        c->ours = c->theirs;
        const double seconds = seconds_of(c, e, c->host);
        c->ours = ours;
        return seconds;
    }
    memset(c->theirs, 0, c->n * 8);
    const double before = bench_now();
    e->peer(c);
    return bench_now() - before;
}

/* The width of buckets with which the peer is fastest. */
static void choose_delta(contest *c)
{
    double best = INFINITY;
    for (double delta = 32; delta <= 8192; delta *= 4) {
        const double before = bench_now();
        c->peer->sssp(c->theirs, c->source, delta);
        const double seconds = bench_now() - before;
        if (seconds < best) best = seconds, c->delta = delta;
        if (seconds > 4 * best) break;
    }
}

static void measure(contest *c, const event *e)
{
    enum { ROUNDS = 5 };
    const bool beside = c->host || (c->peer && e->peer && (!e->most || c->edges <= e->most));
    double ours = INFINITY, fragmented = INFINITY, theirs = INFINITY;
    if ((c->host && !e->on_device) || (c->only && !strstr(e->name, c->only))) return;
    if (!bench_has_time(c->b, e->name)) return;
    if (beside && !c->host && e->peer == peer_sssp) choose_delta(c);
    const double begun = bench_now();
    for (int round = 0; round < ROUNDS && bench_now() - begun < 20; round++) {
        fragmented = fmin(fragmented, seconds_of(c, e, c->fragmented));
        ours = fmin(ours, seconds_of(c, e, c->view));
        if (!beside || (round > 1 && theirs > 1)) continue;
        theirs = fmin(theirs, seconds_of_peer(c, e));
        if (!same(c, e)) bench_die("%s of %s: another result than the peer's", e->name, c->graph);
    }
    const double ratio = beside ? theirs / ours : NAN;
    bench_row(c->table, BENCH_LABELS(c->graph, e->name), ours, fragmented, beside ? theirs : NAN, ratio);
    if (!beside) return;
    c->product += log(ratio);
    c->least = fmin(c->least, ratio);
    c->rows++;
}

static const event events[] = {{"bfs", search, peer_search, -1, 0, true},
                               {"bfs_tree", search_tree, NULL, -1, 0, true},
                               {"components", components, peer_components, -1, 0, true},
                               {"pagerank", pagerank, peer_pagerank, 1e-9, 0, true},
                               {"pagerank_fp32", pagerank, peer_pagerank_narrow, 1e-5, 0, false},
                               {"triangles", triangles, peer_triangles, 0, 0, true},
                               {"clustering", clustering, peer_clustering, 1e-12, 0, true},
                               {"sssp", sssp, peer_sssp, 0, 0, true},
                               {"bfs_many", search_many, peer_search_many, 0, 0, true},
                               {"betweenness", betweenness, peer_betweenness, 1e-6, 0, true},
                               {"ktruss", ktruss, peer_ktruss, 0, FEW_EDGES, true},
                               {"kcore", kcore, peer_kcore, -1, 0, true},
                               {"strong_components", strong_components, NULL, -1, 0, true},
                               {"independent_set", independent_set, NULL, -1, 0, true},
                               {"colouring", colouring, NULL, -1, 0, true}};

/* Each edge both ways, without loops, with weights. */
static bench_csr make_graph(const bench_csr *of)
{
    const uint64_t n = of->rows;
    bench_entries edges = bench_entries_from_csr(of);
    size_t kept = 0;
    for (size_t k = 0; k < edges.n; k++) {
        if (edges.row[k] == edges.col[k]) continue;
        edges.row[kept] = edges.row[k];
        edges.col[kept++] = edges.col[k];
    }
    edges.n = kept;
    bench_entries_symmetrise(&edges);
    bench_csr A = bench_csr_from_entries(&edges, n, n);
    for (uint64_t v = 0; v < n; v++)
        for (uint64_t k = A.offsets[v]; k < A.offsets[v + 1]; k++) {
            const uint64_t u = A.columns[k];
            A.values[k] = (double)(1 + bench_below(u < v ? u << 32 | v : v << 32 | u, 255));
        }
    bench_entries_free(&edges);
    return A;
}

/* The same matrix on the cpu, and c->host a view of it. */
static dcsr_matrix *put_on_host(contest *c, const bench_csr *A)
{
    bench_entries edges = bench_entries_from_csr(A);
    dcsr_matrix *matrix = bench_matrix(c->b, c->b->host, &edges, A->rows, A->cols, DCSR_FP64, NULL);
    bench_entries_free(&edges);
    bench_defragment_now(matrix, DCSR_DEFRAGMENT_WHOLE);
    BENCH_OK(dcsr_view_create(&c->host, matrix, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED));
    return matrix;
}

static void on_graph(void *argument, const char *name, const bench_csr *of)
{
    contest *c = argument;
    if (of->rows != of->cols) {
        bench_note(c->b, "left out: %s is no graph", name);
        return;
    }
    bench_csr A = make_graph(of);
    c->graph = name;
    c->n = A.rows;
    c->edges = A.nnz;
    c->ours = bench_alloc(A.rows, 8);
    c->theirs = bench_alloc(A.rows, 8);
    c->level = bench_alloc(A.rows, 4);
    for (c->source = 0; A.offsets[c->source] == A.offsets[c->source + 1];) c->source++;
    uint64_t next = A.rows / 2 + (uint64_t)sqrt((double)A.rows) / 2 - SOURCES / 2;
    for (int k = 0; k < SOURCES; k++, next++) {
        while (A.offsets[next % A.rows] == A.offsets[next % A.rows + 1]) next++;
        c->sources[k] = next % A.rows;
    }
    dcsr_matrix *first = bench_fragmented(c->b, &A, 2, DCSR_FP64, DCSR_POLICY_KEEP);
    dcsr_matrix *second = bench_fragmented(c->b, &A, 1, DCSR_FP64, DCSR_POLICY_KEEP);
    bench_defragment_now(second, DCSR_DEFRAGMENT_WHOLE);
    BENCH_OK(dcsr_view_create(&c->fragmented, first, DCSR_LAYOUT_SEGMENTS, 0));
    BENCH_OK(dcsr_view_create(&c->view, second, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED));
    dcsr_matrix *on_host = c->b->gpu ? put_on_host(c, &A) : NULL;
    if (c->peer) c->peer->load(&A, c->b->threads);
    bench_csr_free(&A);
    for (size_t e = 0; e < sizeof events / sizeof *events; e++) measure(c, &events[e]);
    if (c->peer) c->peer->unload();
    dcsr_view_destroy(c->host);
    dcsr_matrix_destroy(on_host);
    dcsr_view_destroy(c->view);
    dcsr_view_destroy(c->fragmented);
    dcsr_matrix_destroy(first);
    dcsr_matrix_destroy(second);
    free(c->ours), free(c->theirs), free(c->level);
}

int main(int argc, char **argv)
{
    static const char *const quick[] = {"rmat:14,16", "poisson2d5:128", NULL};
    static const char *const full[] = {"rmat:20,16", "poisson2d5:1024", NULL};
    static const char *const on_gpu[] = {"poisson2d5:1024", "rmat:20,16", NULL};
    bench b;
    bench_begin(&b, argc, argv, "graph", "How fast are graph algorithms, beside GraphBLAS?");
    contest c = {.b = &b, .peer = b.gpu ? NULL : peer_graph_get(), .least = INFINITY};
    c.table =
        bench_table_begin(&b, "graph", "seconds of an algorithm, and the peer's over ours",
                          b.gpu ? "graph algorithm | seconds:%.3g fragmented:%.3g cpu:%.3g ratio:%.2f"
                                : "graph algorithm | seconds:%.3g fragmented:%.3g graphblas:%.3g ratio:%.2f");
    c.only = b.only;
    b.only = NULL;
    if (b.data) bench_for_files(&b, on_graph, &c);
    for (const char *const *name = BENCH_SIZE_ON(&b, quick, full, on_gpu); !b.data && *name; name++) {
        if (!bench_has_time(&b, *name)) break;
        bench_csr A = bench_csr_make(&b, *name);
        on_graph(&c, *name, &A);
        bench_csr_free(&A);
    }
    if (c.rows) bench_note(&b, "ratios: geometric mean %.2f, least %.2f", exp(c.product / c.rows), c.least);
    return bench_end(&b);
}

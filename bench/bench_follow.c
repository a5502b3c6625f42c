/* bench_follow.c: followers of a stream of batches, beside computing anew from the same view.
 *
 * An R-MAT graph, directed, a grid of which each point has four neighbours, and a small random graph for the closure,
 * which the others are too large for; with whole weights from 1 to 255. Half
 * of a batch are new edges, of the same distribution or to a point two steps away in the grid, half are edges of the
 * graph that are removed; no edge is in two batches. Batches are of some sizes, and of 1 in 10,000 edges, these also of
 * removed edges alone ("412 gone"). An advance is timed with the difference of the two views in it: the mean of some
 * batches, and the least; computing anew is the algorithm of dcsr/graph.h or dcsr/bfs.h by the new view, the least of
 * some runs. What both find is compared. */
#include <dcsr/bfs.h>
#include <dcsr/follow.h>
#include "bench/inputs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 12 };
enum { PART = 10000 }; /* of the edges: a batch of size 0 */
static const struct {
    uint64_t changes;
    bool gone; /* all are removed edges */
} sizes[] = {{1, false}, {100, false}, {0, false}, {0, true}, {10000, false}};
enum { SIZES = sizeof sizes / sizeof *sizes };

typedef struct stream {
    bench *b;
    dcsr_matrix *matrix;
    bench_entries edges, fresh; /* of the graph, shuffled; to be inserted */
    uint64_t next, n, m, source;
    void *found; /* by computing anew: 8 bytes a vertex */
} stream;

static void anew_components(stream *s, dcsr_view *view)
{
    BENCH_OK(dcsr_components(s->found, NULL, view, NULL));
}
static void anew_triangles(stream *s, dcsr_view *view)
{
    BENCH_OK(dcsr_triangles(s->found, NULL, view, NULL));
}
static void anew_bfs(stream *s, dcsr_view *view)
{
    BENCH_OK(dcsr_bfs(s->found, NULL, view, s->source));
}
static void anew_sssp(stream *s, dcsr_view *view)
{
    BENCH_OK(dcsr_sssp(s->found, NULL, view, s->source, NULL));
}
static void anew_pagerank(stream *s, dcsr_view *view)
{
    BENCH_OK(dcsr_pagerank(s->found, NULL, view, NULL));
}
static void anew_kcore(stream *s, dcsr_view *view)
{
    BENCH_OK(dcsr_kcore(s->found, NULL, view, NULL));
}

static void anew_closure(stream *s, dcsr_view *view)
{
    dcsr_closure_result found;
    BENCH_OK(dcsr_closure(NULL, &found, view, NULL));
    *(uint64_t *)s->found = found.pairs;
}

/* What a follower tells: an array of n, or one number. */
static const void *tell_components(dcsr_follower *f)
{
    dcsr_followed_components found;
    BENCH_OK(dcsr_follower_get_components(f, &found));
    return found.component;
}
static const void *tell_triangles(dcsr_follower *f)
{
    dcsr_followed_triangles found;
    BENCH_OK(dcsr_follower_get_triangles(f, &found));
    return found.of_vertex;
}
static const void *tell_levels(dcsr_follower *f)
{
    dcsr_followed_levels found;
    BENCH_OK(dcsr_follower_get_levels(f, &found));
    return found.level;
}
static const void *tell_distances(dcsr_follower *f)
{
    dcsr_followed_distances found;
    BENCH_OK(dcsr_follower_get_distances(f, &found));
    return found.distance;
}
static const void *tell_ranks(dcsr_follower *f)
{
    dcsr_followed_ranks found;
    BENCH_OK(dcsr_follower_get_ranks(f, &found));
    return found.rank;
}
static const void *tell_cores(dcsr_follower *f)
{
    dcsr_followed_cores found;
    BENCH_OK(dcsr_follower_get_cores(f, &found));
    return found.core;
}
static const void *tell_closure(dcsr_follower *f)
{
    static uint64_t pairs;
    dcsr_followed_closure found;
    BENCH_OK(dcsr_follower_get_closure(f, &found));
    pairs = found.pairs;
    return &pairs;
}

static const struct {
    const char *name;
    void (*anew)(stream *s, dcsr_view *view);
    const void *(*tell)(dcsr_follower *f);
    size_t size;      /* of an element */
    double tolerance; /* of ranks, in sum */
    uint64_t most;    /* vertices; 0: any number */
    bool number;      /* one, in place of an array */
} kinds[] = {{"components", anew_components, tell_components, 4, .tolerance = 0},
             {"triangles", anew_triangles, tell_triangles, 8, .tolerance = 0},
             {"bfs", anew_bfs, tell_levels, 4, .tolerance = 0},
             {"sssp", anew_sssp, tell_distances, 8, .tolerance = 0},
             {"pagerank", anew_pagerank, tell_ranks, 8, .tolerance = 3e-5},
             {"kcore", anew_kcore, tell_cores, 4, .tolerance = 0},
             {"closure", anew_closure, tell_closure, 8, .most = 20000, .number = true}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void check(const stream *s, dcsr_follower *f, int kind)
{
    const void *told = kinds[kind].tell(f);
    double difference = 0;
    if (kinds[kind].tolerance > 0)
        for (uint64_t v = 0; v < s->n; v++)
            difference += fabs(((const double *)told)[v] - ((const double *)s->found)[v]);
    else if (memcmp(told, s->found, (kinds[kind].number ? 1 : s->n) * kinds[kind].size))
        difference = 1;
    if (difference > kinds[kind].tolerance)
        bench_die("%s: another result than by computing anew (%g)", kinds[kind].name, difference);
}

static void send_batch(stream *s, uint64_t size, bool gone)
{
    const uint64_t come = gone ? 0 : (size + 1) / 2, go = size - come;
    const uint64_t at = s->next;
    s->next += come > go ? come : go;
    if (come)
        BENCH_OK(dcsr_matrix_insert(s->matrix, come, s->fresh.row + at, s->fresh.col + at,
                                    s->fresh.value + at, NULL));
    if (go) BENCH_OK(dcsr_matrix_remove(s->matrix, go, s->edges.row + at, s->edges.col + at, NULL));
}

static void measure(stream *s, bench_table *table, const char *graph, int kind)
{
    dcsr_view *view;
    dcsr_follower *f;
    dcsr_follower_info info;
    BENCH_OK(dcsr_view_create(&view, s->matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_LATEST));
    BENCH_OK(dcsr_follow_named(&f, kinds[kind].name, view, s->source));
    dcsr_view_destroy(view);
    for (int size = 0; size < BENCH_SIZE(s->b, SIZES - 1, SIZES); size++) {
        const uint64_t changes = sizes[size].changes ? sizes[size].changes : s->m / PART;
        if (s->next + ROUNDS * (changes + 1) > s->fresh.n) continue;
        double taken = 0, least = INFINITY, anew = INFINITY, touched = 0;
        uint64_t fell_back = 0;
        for (int round = 0; round < ROUNDS; round++) {
            dcsr_follow_report report;
            send_batch(s, changes, sizes[size].gone);
            BENCH_OK(dcsr_view_create(&view, s->matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_LATEST));
            double start = bench_now();
            BENCH_OK(dcsr_follower_advance(f, view, &report));
            const double advance = bench_now() - start;
            taken += advance / ROUNDS;
            least = fmin(least, advance);
            touched += (double)report.touched / ROUNDS;
            fell_back += report.anew != DCSR_FOLLOW_KEPT;
            if (round < 2) {
                start = bench_now();
                kinds[kind].anew(s, view);
                anew = fmin(anew, bench_now() - start);
                check(s, f, kind);
            }
            dcsr_view_destroy(view);
        }
        BENCH_OK(dcsr_follower_get_info(f, &info));
        char batch[32];
        snprintf(batch, sizeof batch, "%llu%s", (unsigned long long)changes, sizes[size].gone ? " gone" : "");
        bench_row(table, BENCH_LABELS(graph, kinds[kind].name, batch), 1e3 * taken, 1e3 * least, 1e3 * anew,
                  anew / taken, 1e-3 * (double)changes / taken, touched, (double)fell_back,
                  1e-6 * (double)info.bytes);
    }
    dcsr_follower_destroy(f);
}

/* New edges of the kind that the graph has: those of the stream that go on behind it; or, in a grid, one step right and
 * one down. */
static bench_entries fresh_of(bench *b, const bench_csr *A, int scale)
{
    const uint64_t n = A->rows;
    if (scale) return bench_entries_rmat(b, scale, A->nnz, A->nnz / 2, 2);
    bench_entries fresh = bench_entries_allocate((size_t)(A->nnz / 8));
    const uint64_t side = (uint64_t)sqrt((double)n);
    for (size_t k = 0; k < fresh.n; k++) {
        fresh.row[k] = bench_below(k, n - side - 1);
        fresh.col[k] = fresh.row[k] + side + 1;
    }
    return fresh;
}

/* R-MAT of the scale, or without one the grid that the text says, without loops. */
static bench_csr graph_of(bench *b, const char *text, int scale)
{
    if (!scale) {
        bench_csr grid = bench_csr_make(b, text);
        uint64_t from = 0, to = 0;
        for (uint64_t v = 0; v < grid.rows; v++) {
            for (; from < grid.offsets[v + 1]; from++)
                if (grid.columns[from] != v) grid.columns[to++] = grid.columns[from];
            grid.offsets[v + 1] = to;
        }
        grid.nnz = to;
        return grid;
    }
    bench_entries all = bench_entries_rmat(b, scale, 0, (size_t)16 << scale, 1);
    const bench_csr A = bench_csr_from_entries(&all, (uint64_t)1 << scale, (uint64_t)1 << scale);
    bench_entries_free(&all);
    return A;
}

static void follow_graph(bench *b, bench_table *table, const char *text, int scale)
{
    bench_csr A = graph_of(b, text, scale);
    stream s = {.b = b, .n = A.rows, .m = A.nnz};
    uint64_t longest = 0;
    for (uint64_t k = 0; k < A.nnz; k++) A.values[k] = (double)(1 + bench_below(k, 255));
    for (uint64_t v = 0; v < s.n; v++)
        if (A.offsets[v + 1] - A.offsets[v] > longest)
            longest = A.offsets[v + 1] - A.offsets[v], s.source = v;
    s.edges = bench_entries_from_csr(&A);
    s.fresh = fresh_of(b, &A, scale);
    bench_entries_only_new(&s.fresh, &A, 3);
    for (size_t k = 0; k < s.fresh.n; k++) s.fresh.value[k] = (double)(1 + bench_below(k, 255));
    s.matrix = bench_matrix(b, b->context, &s.edges, s.n, s.n, DCSR_FP64, NULL);
    bench_csr_free(&A);
    bench_entries_shuffle(&s.edges, 2);
    s.found = malloc(s.n * 8);
    if (!s.found) bench_die("no memory for results");
    for (int kind = 0; kind < KINDS; kind++)
        if ((!kinds[kind].most || s.n <= kinds[kind].most) && bench_has_time(b, kinds[kind].name))
            measure(&s, table, text, kind);
    free(s.found);
    dcsr_matrix_destroy(s.matrix);
    bench_entries_free(&s.edges);
    bench_entries_free(&s.fresh);
}

int main(int argc, char **argv)
{
    bench b;
    bench_begin(&b, argc, argv, "follow",
                "What does it cost to follow a graph that changes, beside computing anew?");
    bench_table *table = bench_table_begin(
        &b, "follow", "milliseconds of an advance and of computing anew, and thousand changes a second",
        "graph follower batch | advance:%.3g least:%.3g anew:%.3g anew/advance:%.1f kchanges/s:%.3g "
        "touched:%.0f "
        "fell_back:%.0f "
        "megabytes:%.0f");
    follow_graph(&b, table, b.quick ? "rmat:13,16" : "rmat:18,16", BENCH_SIZE(&b, 13, 18));
    follow_graph(&b, table, b.quick ? "poisson2d5:100" : "poisson2d5:1000", 0);
    follow_graph(&b, table, "er:10000,20000", 0);
    return bench_end(&b);
}

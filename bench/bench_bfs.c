/* bench_bfs.c: breadth-first search, on graphs of few levels and of many, defragmented and fragmented.
 *
 * The R-MAT graphs (Graph500's parameters) are symmetrised; each is searched from the same vertices, chosen
 * at random among those that reach a hundredth of the graph. The grids are searched from one corner, which
 * takes as many levels as a grid has. Seconds are the median over the searches, from the call until the
 * levels are there, and for each level its share of that; MTEPS are the entries of the rows that were reached,
 * so each edge twice, over these seconds. Fragmented: the entries of each row were inserted in 2 portions. The
 * levels of one search of each graph are compared with those of a plain queue. */
#include <dcsr/bfs.h>
#include "bench/place.h"

#include <stdlib.h>
#include <string.h>

enum { SOURCES = 16 };

typedef struct contest {
    bench *b;
    bench_table *table;
    const char *name;
    const bench_csr *A;
    int32_t *expected, *found; /* levels from the first of the sources, and another array for them */
    void *level;               /* the same, where the graph is */
    uint64_t sources[SOURCES];
    size_t count;
} contest;

/* Levels from a source, one vertex after the other; returns how many vertices have one. */
static uint64_t search_plainly(const bench_csr *A, uint64_t source, int32_t *level)
{
    uint64_t *queue = bench_alloc(A->rows, sizeof *queue), head = 0, tail = 0;
    memset(level, -1, A->rows * sizeof *level);
    level[source] = 0;
    queue[tail++] = source;
    while (head < tail) {
        const uint64_t row = queue[head++];
        for (uint64_t e = A->offsets[row]; e < A->offsets[row + 1]; e++)
            if (level[A->columns[e]] < 0) {
                level[A->columns[e]] = level[row] + 1;
                queue[tail++] = A->columns[e];
            }
    }
    free(queue);
    return tail;
}

static void check(contest *c, const char *state)
{
    bench_fetch(c->b, c->found, c->level, c->A->rows * sizeof *c->found);
    if (memcmp(c->found, c->expected, c->A->rows * sizeof *c->found))
        bench_die("other levels on %s, %s", c->name, state);
}

static void measure(contest *c, const char *state, dcsr_matrix *matrix)
{
    dcsr_view *view;
    dcsr_bfs_result result;
    bench_samples seconds = {0}, mteps = {0}, levels = {0};
    BENCH_OK(dcsr_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES));
    BENCH_OK(dcsr_bfs(c->level, &result, view, c->sources[0]));
    check(c, state);
    for (size_t k = 0; k < SOURCES; k++) {
        double before = bench_now();
        BENCH_OK(dcsr_bfs(c->level, &result, view, c->sources[k % c->count]));
        double taken = bench_now() - before;
        bench_samples_add(&seconds, taken);
        bench_samples_add(&mteps, 1e-6 * (double)result.edges / taken);
        bench_samples_add(&levels, (double)result.max_level + 1);
    }
    bench_row(c->table, BENCH_LABELS(c->name, state), (double)c->A->rows, 1e-6 * (double)c->A->nnz,
              bench_segments_per_row(matrix, c->A), bench_median(&levels), bench_median(&seconds),
              bench_spread(&seconds), 1e6 * bench_median(&seconds) / bench_median(&levels),
              bench_median(&mteps));
    bench_samples_free(&seconds);
    bench_samples_free(&mteps);
    bench_samples_free(&levels);
    dcsr_view_destroy(view);
}

static void choose_sources(contest *c, bool corner)
{
    c->count = corner ? 1 : SOURCES;
    c->sources[0] = 0;
    for (size_t found = 0, k = 0; !corner && found < SOURCES; k++) {
        c->sources[found] = bench_below(k, c->A->rows);
        found += search_plainly(c->A, c->sources[found], c->expected) > c->A->rows / 100;
        if (k > 1000) bench_die("hardly any vertex of %s reaches others", c->name);
    }
    search_plainly(c->A, c->sources[0], c->expected);
}

static void on_graph(bench *b, bench_table *table, const char *name)
{
    const bool rmat = !strncmp(name, "rmat:", 5);
    bench_csr A = bench_csr_make(b, name);
    if (rmat) {
        bench_entries edges = bench_entries_from_csr(&A);
        bench_entries_symmetrise(&edges);
        const uint64_t rows = A.rows;
        bench_csr_free(&A);
        A = bench_csr_from_entries(&edges, rows, rows);
        bench_entries_free(&edges);
    }
    contest c = {.b = b, .table = table, .name = name, .A = &A};
    c.expected = bench_alloc(A.rows, sizeof *c.expected);
    c.found = bench_alloc(A.rows, sizeof *c.found);
    c.level = bench_place(b, NULL, A.rows * sizeof *c.found);
    choose_sources(&c, !rmat);
    dcsr_matrix *matrix = bench_fragmented(b, &A, 2, DCSR_PATTERN, DCSR_POLICY_KEEP);
    measure(&c, "fragmented", matrix);
    bench_defragment_now(matrix, DCSR_DEFRAGMENT_WHOLE);
    measure(&c, "defragmented", matrix);
    dcsr_matrix_destroy(matrix);
    bench_release(b, c.level);
    bench_csr_free(&A);
    free(c.expected), free(c.found);
}

int main(int argc, char **argv)
{
    static const char *const quick[] = {"rmat:14,16", "poisson2d5:128", NULL};
    static const char *const full[] = {"rmat:18,16", "rmat:20,16", "poisson2d5:1024", NULL};
    static const char *const on_gpu[] = {
        "rmat:18,16", "rmat:20,16", "poisson2d5:1024", "poisson3d27:100", "poisson2d5:4096",
        "rmat:22,16", NULL};
    bench b;
    bench_begin(&b, argc, argv, "bfs", "How fast is a breadth-first search, fragmented or not?");
    bench_table *table = bench_table_begin(
        &b, "bfs", "seconds a search, million entries looked at a second",
        "matrix state | vertices:%.0f million_entries:%.1f segments:%.2f levels:%.0f seconds:%.3g "
        "spread%:%.0f us_a_level:%.3g mteps:%.1f");
    for (const char *const *name = BENCH_SIZE_ON(&b, quick, full, on_gpu); *name; name++)
        if (bench_has_time(&b, *name)) on_graph(&b, table, *name);
    return bench_end(&b);
}

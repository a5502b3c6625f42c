/* bench_fresh.c: reading a graph as it now is after each batch, each edge once, beside SuiteSparse:GraphBLAS.
 *
 * The graph is R-MAT (a=.5, b=c=.1), symmetrised. A round is a batch and then a view without duplicates: from
 * the call that queues the batch until the view is there. `append` puts in new edges alone, one batch after
 * the other. `new`, `existing` and `remove` take turns with one batch of distinct new edges: it is inserted,
 * inserted once more, and removed. The same batch also goes into a matrix that resolves when somebody reads:
 * that is what appending it costs. Nothing is waited for but the view's own version, so what the matrix tidies
 * by itself is in the times of the rounds that it delays. GraphBLAS has finished its pending work when its clock
 * stops; it has two ways to change a matrix, of which the better one is reported.
 *
 * On a GPU there is no such peer. There the batches are in arrays of the GPU, and all of it is done once more
 * while a reader holds the version from before the first batch. */
#include "bench/peers/peers.h"
#include "bench/place.h"
#include <dcsr/view.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef enum kind { APPEND, NEW, EXISTING, REMOVE, KINDS } kind;
static const char *const kind_name[] = {"append", "new", "existing", "remove"};
static const char *const way_name[] = {"set", "build"};

typedef struct contest {
    bench *b;
    dcsr_type type;
    bench_entries pool; /* distinct new edges */
    size_t used;        /* of the pool, by the batches that were appended */
    bool held;          /* somebody holds the first version all the while */
    uint64_t rows;
    double most_bytes,
        most_of_live; /* of the matrix after a round of this size: for each edge, of live data */
    dcsr_matrix *matrix, *appended; /* the latter resolves when somebody reads, which nobody does */
    peer_graph *peer;               /* NULL: none */
    bench_samples ours[KINDS], appending[KINDS], theirs[KINDS][PEER_WAYS];
} contest;

/* Puts a batch in, and waits for it. */
static void apply(const contest *c, dcsr_matrix *matrix, kind what, const bench_entries *batch)
{
    dcsr_ticket *ticket;
    bench_queue(matrix, c->type, what == REMOVE, batch, c->b->gpu, &ticket);
    BENCH_OK(dcsr_ticket_wait(ticket));
    dcsr_ticket_destroy(ticket);
}

/* One round on our side; the view is destroyed before the next batch, as by a reader that is done. */
static void change(contest *c, kind what, const bench_entries *batch)
{
    dcsr_view *view;
    dcsr_view_info seen;
    dcsr_matrix_info info;
    double before = bench_now();
    apply(c, c->matrix, what, batch);
    BENCH_OK(dcsr_view_create(&view, c->matrix, DCSR_LAYOUT_SEGMENTS, 0));
    bench_samples_add(&c->ours[what], bench_now() - before);
    BENCH_OK(dcsr_view_get_info(view, &seen));
    BENCH_OK(dcsr_matrix_get_info(c->matrix, &info));
    dcsr_view_destroy(view);
    c->most_bytes = fmax(c->most_bytes, (double)info.bytes / (double)seen.nnz);
    c->most_of_live = fmax(c->most_of_live, (double)info.bytes / bench_csr_bytes(seen.nnz, c->rows, c->type));
    before = bench_now();
    apply(c, c->appended, what, batch);
    bench_samples_add(&c->appending[what], bench_now() - before);
}

static void change_peer(contest *c, kind what, const bench_entries *batch, peer_way way)
{
    const double before = bench_now();
    if (what == REMOVE)
        peer_graph_remove(c->peer, batch, way);
    else
        peer_graph_insert(c->peer, batch, way);
    bench_samples_add(&c->theirs[what][way], bench_now() - before);
}

static peer_way better_way(contest *c, kind what)
{
    return bench_median(&c->theirs[what][PEER_BUILD]) < bench_median(&c->theirs[what][PEER_SET]) ? PEER_BUILD
                                                                                                 : PEER_SET;
}

/* So many batches are appended, then as many take turns; the peer's first two rounds try both ways. */
static void on_size(contest *c, bench_table *table, size_t size, size_t rounds)
{
    for (size_t k = 0; k < rounds; k++) {
        bench_entries batch = bench_entries_slice(&c->pool, c->used + k * size, size);
        change(c, APPEND, &batch);
    }
    for (size_t k = 0; c->peer && k < rounds; k++) {
        bench_entries batch = bench_entries_slice(&c->pool, c->used + k * size, size);
        change_peer(c, APPEND, &batch, k < PEER_WAYS ? (peer_way)k : better_way(c, APPEND));
    }
    c->used += rounds * size;
    const size_t left = (c->pool.n - c->used) / size;
    for (size_t k = 0; k < rounds; k++) {
        bench_entries batch = bench_entries_slice(&c->pool, c->used + k % left * size, size);
        for (kind what = NEW; what < KINDS; what++) change(c, what, &batch);
    }
    const size_t few = rounds < 12 ? rounds : 12;
    for (size_t k = 0; c->peer && k < few; k++) {
        bench_entries batch = bench_entries_slice(&c->pool, c->used + k % left * size, size);
        for (kind what = NEW; what < KINDS; what++)
            change_peer(c, what, &batch, k < PEER_WAYS ? (peer_way)k : better_way(c, what));
    }
    for (kind what = APPEND; what < KINDS; what++) {
        const peer_way way = c->peer ? better_way(c, what) : PEER_SET;
        const double n = (double)size, ours = bench_median(&c->ours[what]),
                     theirs = bench_median(&c->theirs[what][way]),
                     worst = bench_percentile(&c->ours[what], 1);
        bench_row(table, BENCH_LABELS(kind_name[what], c->peer ? way_name[way] : "none"), n, (double)rounds,
                  1e-6 * n / bench_median(&c->appending[what]), 1e-6 * n / ours, 1e3 * ours, 1e3 * worst,
                  worst / ours, c->most_bytes, c->most_of_live, 1e-6 * n / theirs, 1e3 * theirs,
                  1e3 * bench_percentile(&c->theirs[what][way], 1), theirs / ours);
        bench_samples_free(&c->ours[what]);
        bench_samples_free(&c->appending[what]);
        for (peer_way w = PEER_SET; w < PEER_WAYS; w++) bench_samples_free(&c->theirs[what][w]);
    }
    c->most_bytes = c->most_of_live = 0;
}

static void check_size(contest *c, uint64_t expected)
{
    uint64_t nnz;
    BENCH_OK(dcsr_matrix_get_nnz(c->matrix, &nnz));
    if (nnz != expected || (c->peer && peer_graph_nnz(c->peer) != expected))
        bench_die("%llu entries are left, not %llu", (unsigned long long)nnz, (unsigned long long)expected);
}

typedef struct size_class {
    size_t size, rounds;
} size_class;

static const size_class on_host[] = {{10000, 40}, {100000, 30}, {1000000, 10}},
                        on_gpu[] = {{1, 100}, {10000, 40}, {100000, 30}, {1000000, 10}, {16000000, 1}},
                        quick[] = {{1, 3}, {1000, 3}, {5000, 3}, {20000, 3}};

static const size_class *sizes_of(const bench *b, int *count)
{
    *count = b->quick ? sizeof quick / sizeof *quick
             : b->gpu ? sizeof on_gpu / sizeof *on_gpu
                      : sizeof on_host / sizeof *on_host;
    return b->quick ? quick : b->gpu ? on_gpu : on_host;
}

static void compete(bench *b, dcsr_type type, const bench_csr *graph, const bench_entries *all,
                    const bench_entries *pool, bool held)
{
    contest c = {.b = b, .type = type, .pool = *pool, .held = held, .rows = graph->rows};
    dcsr_view *first = NULL;
    int sizes;
    const size_class *size = sizes_of(b, &sizes);
    char name[32];
    snprintf(name, sizeof name, "%s%s", dcsr_type_name(type), held ? ", held" : "");
    const dcsr_matrix_options on_read = {.resolve = DCSR_RESOLVE_ON_READ};
    c.matrix = bench_matrix(b, NULL, all, graph->rows, graph->cols, type, NULL);
    c.appended = bench_matrix(b, NULL, all, graph->rows, graph->cols, type, &on_read);
    if (!b->gpu && peer_graph_available())
        c.peer = peer_graph_create(graph->rows, graph->cols, type == DCSR_PATTERN, all, b->threads);
    if (held) BENCH_OK(dcsr_view_create(&first, c.matrix, DCSR_LAYOUT_SEGMENTS, 0));
    bench_table *table = bench_table_begin(
        b, name,
        b->gpu ? "a batch in the GPU's memory and a view without duplicates"
               : "a batch and a view without duplicates; ratio: GraphBLAS over dcsr",
        "round peer_way | batch:%.0f rounds:%.0f append_meps:%.3g fresh_meps:%.3g median_ms:%.3g "
        "worst_ms:%.3g worst/median:%.2f bytes/edge:%.1f of_live:%.2f peer_meps:%.3g peer_ms:%.3g "
        "peer_worst_ms:%.3g "
        "ratio:%.2f");
    for (int s = 0; s < sizes; s++) {
        char what[64];
        snprintf(what, sizeof what, "%s, batches of %zu", name, size[s].size);
        if (bench_has_time(b, what)) on_size(&c, table, size[s].size, size[s].rounds);
    }
    check_size(&c, graph->nnz + c.used);
    dcsr_matrix_info info;
    BENCH_OK(dcsr_matrix_get_info(c.matrix, &info));
    bench_note(b, "%s: %.1f bytes for each edge at the end", name,
               (double)info.bytes / (double)(graph->nnz + c.used));
    dcsr_view_destroy(first);
    dcsr_matrix_destroy(c.matrix);
    dcsr_matrix_destroy(c.appended);
    if (c.peer) peer_graph_destroy(c.peer);
}

/* What the machine does by itself: what a thread that only reads the clock does not see of it. */
static void note_pauses(bench *b)
{
    const double seconds = b->quick ? 0.1 : 3, begin = bench_now();
    double before = begin, longest = 0;
    int many = 0;
    for (double now; before < begin + seconds; before = now) {
        now = bench_now();
        longest = fmax(longest, now - before);
        many += now - before > 20e-6;
    }
    bench_note(
        b,
        "a thread that only reads the clock for %g s is stopped %d times for over 20 us, at most for %.0f us",
        seconds, many, 1e6 * longest);
}

int main(int argc, char **argv)
{
    bench b;
    bench_begin(&b, argc, argv, "fresh", "How fast is a graph read as it now is after each batch?");
    const int scale = BENCH_SIZE(&b, 14, 20);
    const uint64_t size = (uint64_t)1 << scale;
    bench_entries edges = bench_entries_rmat(&b, scale, 0, 16 * size, 1);
    bench_entries_symmetrise(&edges);
    bench_csr graph = bench_csr_from_entries(&edges, size, size);
    bench_entries_free(&edges);
    /* More than are needed, since some exist already or come twice. */
    const size_t most = BENCH_SIZE_ON(&b, 120000, 16000000, 50000000);
    bench_entries pool = bench_entries_rmat(&b, scale, 16 * size, 2 * most, 1);
    bench_entries_only_new(&pool, &graph, 1);
    if (pool.n < most) bench_die("only %zu new edges", pool.n);
    edges = bench_entries_from_csr(&graph);
    bench_note(&b, "the graph: R-MAT scale %d, %llu edges", scale, (unsigned long long)graph.nnz);
    static const dcsr_type types[] = {DCSR_PATTERN, DCSR_FP64};
    for (int t = 0; t < 2; t++) {
        bench_entries there = b.gpu ? bench_entries_on_gpu(&pool, types[t]) : pool;
        for (int held = 0; held <= b.gpu; held++) compete(&b, types[t], &graph, &edges, &there, held);
        if (b.gpu) bench_entries_free_on_gpu(&there);
    }
    note_pauses(&b);
    bench_entries_free(&edges);
    bench_entries_free(&pool);
    bench_csr_free(&graph);
    return bench_end(&b);
}

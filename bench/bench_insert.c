/* bench_insert.c: batches of edges into and out of a large graph, beside SuiteSparse:GraphBLAS.
 *
 * The graph is R-MAT (a=.5, b=c=.1), symmetrised. A batch of distinct new edges, in random order, is
 * inserted, inserted once more (now every edge exists), and removed, which brings the graph back to where it
 * was. Times are those from the call until the ticket says that the batch is in; `view` adds what a reader
 * who wants each edge once pays for resolving the rows touched. `stream` queues many batches and waits once.
 * GraphBLAS has finished its pending work when its clock stops. It has two ways to change a matrix; each is
 * tried, and the better one is reported.
 *
 * On a GPU there is no such peer. There the batches are in arrays of the host, or of the GPU; the difference
 * of the two, for each batch alone, is what bringing it there takes, which is compared with a plain copy of
 * as many bytes from pinned memory. All times are wall times of the caller: `call` until the call returns,
 * `dcsr` until the ticket is done. */
#include "bench/peers/peers.h"
#include "bench/place.h"
#include <dcsr/view.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef enum operation { NEW, EXISTING, REMOVE, OPERATIONS } operation;
static const char *const operation_name[] = {"new", "existing", "remove"};
static const char *const way_name[] = {"set", "build"};
typedef enum source { HOST, GPU, SOURCES } source; /* where the arrays of a batch are */
static const char *const source_name[] = {"host", "device"};
/* What ours take, seconds a batch: samples, and the mean when streamed. */
typedef struct times {
    bench_samples call[OPERATIONS], sync[OPERATIONS], view[OPERATIONS];
    double stream[OPERATIONS];
} times;

typedef struct contest {
    bench *b;
    dcsr_type type;
    dcsr_matrix *matrix;
    peer_graph *peer; /* NULL: none */
    bench_entries pool[SOURCES];
    times ours[SOURCES];
    bench_samples theirs[OPERATIONS][PEER_WAYS];
} contest;

/* The k-th batch of the pool, from the start again behind the last one. */
static bench_entries batch_of(const contest *c, source from, size_t size, size_t k)
{
    return bench_entries_slice(&c->pool[from], k % (c->pool[from].n / size) * size, size);
}

static void one_by_one(contest *c, source from, size_t size, size_t least, double seconds)
{
    times *t = &c->ours[from];
    const double start = bench_now();
    for (size_t k = 0; k < least || (k < 1000 && bench_now() - start < seconds); k++) {
        bench_entries batch = batch_of(c, from, size, k);
        for (operation what = NEW; what < OPERATIONS; what++) {
            dcsr_ticket *ticket;
            dcsr_view *view;
            double before = bench_now();
            bench_queue(c->matrix, c->type, what == REMOVE, &batch, from == GPU, &ticket);
            bench_samples_add(&t->call[what], bench_now() - before);
            BENCH_OK(dcsr_ticket_wait(ticket));
            bench_samples_add(&t->sync[what], bench_now() - before);
            BENCH_OK(dcsr_view_create(&view, c->matrix, DCSR_LAYOUT_SEGMENTS, 0));
            dcsr_view_destroy(view);
            /* A view may set off maintenance in the background: that is its cost, not the next batch's. */
            BENCH_OK(dcsr_matrix_wait(c->matrix));
            bench_samples_add(&t->view[what], bench_now() - before);
            dcsr_ticket_destroy(ticket);
        }
    }
}

/* Many batches at once; too few to tell: not a number. */
static void streamed(contest *c, source from, size_t size)
{
    const size_t most = c->pool[from].n / size,
                 wanted = BENCH_SIZE_ON(c->b, 200000, 2000000, 30000000) / size;
    size_t count = wanted > 20000 ? 20000 : wanted;
    if (count > most) count = most;
    for (operation what = NEW; what < OPERATIONS; what++) {
        c->ours[from].stream[what] = NAN;
        if (count < 2) continue;
        double before = bench_now();
        for (size_t k = 0; k < count; k++) {
            bench_entries batch = batch_of(c, from, size, k);
            bench_queue(c->matrix, c->type, what == REMOVE, &batch, from == GPU, NULL);
        }
        BENCH_OK(dcsr_matrix_wait(c->matrix));
        c->ours[from].stream[what] = (bench_now() - before) / (double)count;
    }
}

static void change_peer(contest *c, operation what, const bench_entries *batch, peer_way way)
{
    double before = bench_now();
    if (what == REMOVE)
        peer_graph_remove(c->peer, batch, way);
    else
        peer_graph_insert(c->peer, batch, way);
    bench_samples_add(&c->theirs[what][way], bench_now() - before);
}

static peer_way better_way(contest *c, operation what)
{
    return bench_median(&c->theirs[what][PEER_BUILD]) < bench_median(&c->theirs[what][PEER_SET]) ? PEER_BUILD
                                                                                                 : PEER_SET;
}

/* The first two rounds try both ways, the others use the better one. */
static void peer_one_by_one(contest *c, size_t size, size_t least, double seconds)
{
    const double start = bench_now();
    for (size_t k = 0; k < 2 || k < least || (k < 1000 && bench_now() - start < seconds); k++) {
        bench_entries batch = batch_of(c, HOST, size, k);
        for (operation what = NEW; what < OPERATIONS; what++)
            change_peer(c, what, &batch, k < PEER_WAYS ? (peer_way)k : better_way(c, what));
    }
}

static void forget(contest *c, operation what)
{
    for (source from = HOST; from < SOURCES; from++) {
        bench_samples_free(&c->ours[from].call[what]);
        bench_samples_free(&c->ours[from].sync[what]);
        bench_samples_free(&c->ours[from].view[what]);
    }
    for (peer_way way = PEER_SET; way < PEER_WAYS; way++) bench_samples_free(&c->theirs[what][way]);
}

static const char columns_on_gpu[] =
    "operation from | batch:%.0f call_s:%.3g dcsr_s:%.3g spread%:%.0f view_s:%.3g stream_s:%.3g "
    "dcsr_meps:%.4g "
    "view_meps:%.4g stream_meps:%.4g staging_gbytes_s:%.3g pinned_gbytes_s:%.3g of_pinned:%.2f";

/* The bytes of a batch are those of its arrays, as the caller gives them. What a small batch takes is
 * latency, from which no rate of transfer can be told. */
static void report_on_gpu(contest *c, bench_table *table, size_t size)
{
    enum { LEAST_STAGED = 100000 };
    const double n = (double)size;
    for (operation what = NEW; what < OPERATIONS; what++) {
        const double value = what == REMOVE ? 0 : (double)dcsr_type_size(c->type), bytes = (16 + value) * n;
        const double pinned = bytes / bench_gpu_upload_seconds((size_t)bytes);
        const double more = bench_median(&c->ours[HOST].sync[what]) - bench_median(&c->ours[GPU].sync[what]);
        for (source from = HOST; from < SOURCES; from++) {
            times *t = &c->ours[from];
            const double waited = bench_median(&t->sync[what]), resolved = bench_median(&t->view[what]),
                         staging = from == HOST && size >= LEAST_STAGED && more > 0 ? bytes / more : NAN;
            bench_row(table, BENCH_LABELS(operation_name[what], source_name[from]), n,
                      bench_median(&t->call[what]), waited, bench_spread(&t->sync[what]), resolved,
                      t->stream[what], 1e-6 * n / waited, 1e-6 * n / resolved, 1e-6 * n / t->stream[what],
                      1e-9 * staging, from == HOST ? 1e-9 * pinned : NAN, staging / pinned);
        }
        forget(c, what);
    }
}

static const char columns_on_host[] =
    "operation peer_way | batch:%.0f dcsr_s:%.3g spread%:%.0f view_s:%.3g stream_s:%.3g peer_s:%.3g "
    "peer_spread%:%.0f dcsr_meps:%.3g view_meps:%.3g stream_meps:%.3g peer_meps:%.3g ratio:%.2f "
    "ratio_view:%.2f";

static void report_on_host(contest *c, bench_table *table, size_t size)
{
    times *t = &c->ours[HOST];
    for (operation what = NEW; what < OPERATIONS; what++) {
        const double n = (double)size, ours = bench_median(&t->sync[what]),
                     resolved = bench_median(&t->view[what]);
        const peer_way way = c->peer ? better_way(c, what) : PEER_SET;
        const double theirs = bench_median(&c->theirs[what][way]);
        bench_row(table, BENCH_LABELS(operation_name[what], c->peer ? way_name[way] : "none"), n, ours,
                  bench_spread(&t->sync[what]), resolved, t->stream[what], theirs,
                  bench_spread(&c->theirs[what][way]), 1e-6 * n / ours, 1e-6 * n / resolved,
                  1e-6 * n / t->stream[what], 1e-6 * n / theirs, theirs / ours, theirs / resolved);
        forget(c, what);
    }
}

static void check_size(contest *c, uint64_t expected)
{
    uint64_t nnz;
    BENCH_OK(dcsr_matrix_get_nnz(c->matrix, &nnz));
    if (nnz != expected || (c->peer && peer_graph_nnz(c->peer) != expected))
        bench_die("%llu entries are left, not %llu", (unsigned long long)nnz, (unsigned long long)expected);
}

/* Batches of one size. On a GPU the matrix is defragmented before each kind of them, on the host after them
 * all. */
static void on_size(contest *c, bench_table *table, size_t size)
{
    bench *b = c->b;
    for (source from = HOST; from <= (b->gpu ? GPU : HOST); from++) {
        if (b->gpu) bench_defragment_now(c->matrix, DCSR_DEFRAGMENT_WHOLE);
        one_by_one(c, from, size, size < 10000000 || b->gpu ? 3 : 1, BENCH_SIZE_ON(b, 0.1, 1.0, 0.2));
        if (b->gpu) bench_defragment_now(c->matrix, DCSR_DEFRAGMENT_WHOLE);
        streamed(c, from, size);
    }
    if (c->peer) peer_one_by_one(c, size, size < 1000000 ? 4 : 2, BENCH_SIZE(b, 0.1, 1.0));
    if (b->gpu) {
        report_on_gpu(c, table, size);
    } else {
        report_on_host(c, table, size);
        bench_defragment_now(c->matrix, DCSR_DEFRAGMENT_WHOLE);
    }
}

static void compete(bench *b, dcsr_type type, const bench_csr *graph, const bench_entries *all,
                    const bench_entries *pool)
{
    contest c = {.b = b, .type = type, .pool = {*pool}};
    const dcsr_matrix_options on_read = {.resolve = DCSR_RESOLVE_ON_READ};
    c.matrix = bench_matrix(b, NULL, all, graph->rows, graph->cols, type, b->gpu ? NULL : &on_read);
    if (b->gpu)
        c.pool[GPU] = bench_entries_on_gpu(pool, type);
    else if (peer_graph_available())
        c.peer = peer_graph_create(graph->rows, graph->cols, type == DCSR_PATTERN, all, b->threads);
    bench_table *table = bench_table_begin(b, dcsr_type_name(type),
                                           b->gpu ? "seconds a batch, million edges a second; bringing a "
                                                    "batch to the GPU beside a copy from pinned memory"
                                                  : "seconds a batch, million edges a second; ratio: "
                                                    "GraphBLAS over dcsr without and with resolving",
                                           b->gpu ? columns_on_gpu : columns_on_host);
    for (size_t size = 1; size <= pool->n; size *= 10) {
        char what[64];
        snprintf(what, sizeof what, "%s, batches of %zu", dcsr_type_name(type), size);
        if (bench_has_time(b, what)) on_size(&c, table, size);
    }
    check_size(&c, graph->nnz);
    dcsr_matrix_destroy(c.matrix);
    if (c.peer) peer_graph_destroy(c.peer);
    if (b->gpu) bench_entries_free_on_gpu(&c.pool[GPU]);
}

/* One entry into a matrix of 16 M entries, and what it takes until a product with the new matrix is there. */
static void one_insertion(bench *b)
{
    enum { CHANGE, VIEW, PRODUCT, STEPS };
    static const char *const step_name[] = {"inserted", "+view", "+spmv"};
    bench_csr A = bench_csr_make(b, BENCH_SIZE(b, "er:65536,1048576,1", "er:1048576,16777216,1"));
    bench_entries all = bench_entries_from_csr(&A);
    double *x = bench_vector(A.cols), *y = bench_vector(A.rows), *z = bench_vector(A.rows);
    void *placed_x = bench_place_values(b, x, A.cols, DCSR_FP64),
         *placed_y = bench_place_values(b, y, A.rows, DCSR_FP64);
    dcsr_matrix *matrix = bench_matrix(b, NULL, &all, A.rows, A.cols, DCSR_FP64, NULL);
    peer_graph *peer =
        !b->gpu && peer_graph_available() ? peer_graph_create(A.rows, A.cols, false, &all, b->threads) : NULL;
    bench_samples ours[STEPS] = {0}, theirs[STEPS] = {0};
    for (size_t k = 0; k < 20; k++) {
        bench_entries one = {1, (uint64_t[]){bench_below(2 * k, A.rows)},
                             (uint64_t[]){bench_below(2 * k + 1, A.cols)}, (double[]){1}};
        dcsr_view *view;
        double before = bench_now();
        bench_insert_now(matrix, &one, DCSR_FP64);
        bench_samples_add(&ours[CHANGE], bench_now() - before);
        BENCH_OK(dcsr_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, 0));
        bench_samples_add(&ours[VIEW], bench_now() - before);
        bench_multiply(b, placed_y, view, placed_x);
        bench_finish(b);
        bench_samples_add(&ours[PRODUCT], bench_now() - before);
        dcsr_view_destroy(view);
        if (!peer) continue;
        before = bench_now();
        peer_graph_insert(peer, &one, PEER_SET);
        bench_samples_add(&theirs[CHANGE], bench_now() - before);
        bench_samples_add(&theirs[VIEW], bench_now() - before);
        peer_graph_multiply(peer, z, x);
        bench_samples_add(&theirs[PRODUCT], bench_now() - before);
        bench_fetch_values(b, y, placed_y, A.rows, DCSR_FP64);
        if (bench_difference(y, z, A.rows) > 1e-12) bench_die("the products differ");
    }
    bench_table *table =
        bench_table_begin(b, "one", "one entry into 16 M (quick: 1 M): seconds until it is usable",
                          "step | dcsr_s:%.3g spread%:%.0f peer_s:%.3g peer_spread%:%.0f ratio:%.2f");
    for (int step = 0; step < STEPS; step++) {
        double mine = bench_median(&ours[step]), other = bench_median(&theirs[step]);
        bench_row(table, &step_name[step], mine, bench_spread(&ours[step]), other,
                  bench_spread(&theirs[step]), other / mine);
        bench_samples_free(&ours[step]);
        bench_samples_free(&theirs[step]);
    }
    dcsr_matrix_destroy(matrix);
    if (peer) peer_graph_destroy(peer);
    bench_entries_free(&all);
    bench_csr_free(&A);
    bench_release(b, placed_x);
    bench_release(b, placed_y);
    free(x), free(y), free(z);
}

int main(int argc, char **argv)
{
    bench b;
    bench_begin(&b, argc, argv, "insert", "How fast do batches of edges go into and out of a large graph?");
    const int scale = BENCH_SIZE(&b, 16, 20);
    const uint64_t size = (uint64_t)1 << scale;
    bench_entries edges = bench_entries_rmat(&b, scale, 0, 16 * size, 1);
    bench_entries_symmetrise(&edges);
    bench_csr graph = bench_csr_from_entries(&edges, size, size);
    bench_entries_free(&edges);
    /* More than are needed, since some exist already or come twice. */
    const size_t most = BENCH_SIZE_ON(&b, 100000, 10000000, 30000000);
    bench_entries pool = bench_entries_rmat(&b, scale, 16 * size, most + most / 2, 1);
    bench_entries_only_new(&pool, &graph, 1);
    if (pool.n < most) bench_die("only %zu new edges", pool.n);
    pool.n = most;
    edges = bench_entries_from_csr(&graph);
    bench_note(&b, "the graph: R-MAT scale %d, %llu edges", scale, (unsigned long long)graph.nnz);
    compete(&b, DCSR_PATTERN, &graph, &edges, &pool);
    if (b.pages == BENCH_PAGES_SMALL)
        bench_note(&b, "fp64 is measured with huge pages only");
    else
        compete(&b, DCSR_FP64, &graph, &edges, &pool);
    bench_entries_free(&edges);
    bench_entries_free(&pool);
    bench_csr_free(&graph);
    if (bench_has_time(&b, "one insertion")) one_insertion(&b);
    return bench_end(&b);
}

/* bench_concurrent.c: reading while writing.
 *
 * One thread inserts batches of R-MAT edges, waiting for each; another takes a view and reads it, again and
 * again: a breadth-first search from a random vertex (bfs), or a product (spmv). Each runs alone, then both
 * at once, with batches of 10^4 and 10^6 edges. The context has one thread: on the host the two use two
 * cores, on a GPU they share it. What the reader takes includes taking the view (duplicates are left as they
 * are). */
#include <dcsr/bfs.h>
#include "bench/place.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

typedef enum reader { NOBODY, BFS, SPMV, READERS } reader;
static const char *const reader_name[] = {"-", "bfs", "spmv"};

typedef struct scene {
    bench *b;
    bench_table *table;
    dcsr_context *context;
    const bench_csr *graph;
    const bench_entries *all, *pool;
    double seconds;        /* how long to run */
    void *level, *x, *y;   /* of the reader */
    double alone[READERS]; /* what each reader takes alone, the median; seconds */
    double rate;           /* edges a second of the writer alone */
    /* The play that is on: */
    dcsr_matrix *matrix;
    size_t batch;                 /* 0: nobody writes */
    reader reader;                /* NOBODY: nobody reads */
    bench_samples reads, batches; /* seconds each */
    double inserted, busy;        /* edges, and the seconds in which they went in */
    uint64_t versions;            /* that the reader has seen */
} scene;

static void *write_batches(void *argument)
{
    scene *s = argument;
    const double start = bench_now();
    for (size_t k = 0; bench_now() - start < s->seconds; k++) {
        bench_entries batch = bench_entries_slice(s->pool, k % (s->pool->n / s->batch) * s->batch, s->batch);
        double before = bench_now();
        bench_insert_now(s->matrix, &batch, DCSR_PATTERN);
        bench_samples_add(&s->batches, bench_now() - before);
        s->inserted += (double)batch.n;
    }
    s->busy = bench_now() - start;
    return NULL;
}

/* Whether the reading counts: a search that ends at once, from an isolated vertex, would make the median
 * meaningless. */
static bool read_view(scene *s, dcsr_view *view, uint64_t k)
{
    const uint64_t rows = s->graph->rows;
    if (s->reader == SPMV) {
        bench_multiply(s->b, s->y, view, s->x);
        bench_finish(s->b);
        return true;
    }
    dcsr_bfs_result result;
    BENCH_OK(dcsr_bfs(s->level, &result, view, bench_below(k, rows)));
    return result.reached > rows / 100;
}

static void read_views(scene *s)
{
    const double start = bench_now();
    uint64_t last = UINT64_MAX;
    for (uint64_t k = 0; bench_now() - start < s->seconds; k++) {
        dcsr_view *view;
        dcsr_view_info info;
        double before = bench_now();
        BENCH_OK(dcsr_view_create(&view, s->matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES));
        if (read_view(s, view, k)) bench_samples_add(&s->reads, bench_now() - before);
        BENCH_OK(dcsr_view_get_info(view, &info));
        s->versions += info.version != last;
        last = info.version;
        dcsr_view_destroy(view);
    }
}

/* On a matrix of its own, defragmented, that lasts as long as the play. */
static void play(scene *s, reader reads, size_t batch)
{
    s->matrix = bench_matrix(s->b, s->context, s->all, s->graph->rows, s->graph->cols, DCSR_PATTERN, NULL);
    bench_defragment_now(s->matrix, DCSR_DEFRAGMENT_WHOLE);
    s->reader = reads;
    s->batch = batch;
    s->inserted = s->busy = 0;
    s->versions = 0;
    pthread_t writer;
    if (batch && pthread_create(&writer, NULL, write_batches, s)) bench_die("cannot start a thread");
    if (reads) read_views(s);
    if (batch) pthread_join(writer, NULL);
    const double rate = batch ? s->inserted / s->busy : NAN, read = bench_median(&s->reads);
    if (!batch) s->alone[reads] = read;
    if (!reads) s->rate = rate;
    bench_row(s->table,
              BENCH_LABELS(reads && batch ? "both"
                           : reads        ? "reader"
                                          : "writer",
                           reader_name[reads]),
              batch ? (double)batch : NAN, 1e3 * read, 1e3 * bench_percentile(&s->reads, 0.9),
              1e3 * bench_percentile(&s->reads, 0.99), bench_percentile(&s->reads, 0.99) / read,
              reads ? (double)s->reads.count : NAN, reads ? (double)s->versions : NAN, read / s->alone[reads],
              1e-6 * rate, rate / s->rate, 1e3 * bench_median(&s->batches),
              1e3 * bench_percentile(&s->batches, 0.99));
    bench_samples_free(&s->reads);
    bench_samples_free(&s->batches);
    dcsr_matrix_destroy(s->matrix);
}

static void play_all(scene *s)
{
    s->alone[NOBODY] = NAN;
    for (reader reads = BFS; reads < READERS; reads++) play(s, reads, 0);
    for (size_t batch = 10000; batch <= 1000000; batch *= 100) {
        if (!bench_has_time(s->b, batch == 10000 ? "batches of 10^4" : "batches of 10^6")) continue;
        play(s, NOBODY, batch);
        for (reader reads = BFS; reads < READERS; reads++) play(s, reads, batch);
    }
}

int main(int argc, char **argv)
{
    bench b;
    bench_begin(&b, argc, argv, "concurrent", "How much do readers and a writer disturb each other?");
    const int scale = BENCH_SIZE_ON(&b, 15, 18, 20);
    const uint64_t size = (uint64_t)1 << scale;
    bench_entries edges = bench_entries_rmat(&b, scale, 0, 16 * size, 1);
    bench_entries_symmetrise(&edges);
    bench_csr graph = bench_csr_from_entries(&edges, size, size);
    bench_entries pool = bench_entries_rmat(&b, scale, 16 * size, BENCH_SIZE(&b, 1000000, 8000000), 1);
    double *x = bench_vector(size);
    scene s = {.b = &b,
               .context = bench_context(&b, 1),
               .graph = &graph,
               .all = &edges,
               .pool = &pool,
               .seconds = BENCH_SIZE_ON(&b, 0.5, 3.0, 1.5),
               .level = bench_place(&b, NULL, size * sizeof(int32_t)),
               .x = bench_place_values(&b, x, size, DCSR_FP64),
               .y = bench_place(&b, NULL, size * sizeof *x)};
    bench_note(&b, "R-MAT scale %d, %llu edges; one thread writes, one reads", scale,
               (unsigned long long)graph.nnz);
    s.table = bench_table_begin(
        &b, "concurrent",
        "milliseconds a reading (50, 90, 99 percent) and a batch; million edges a second; slower, of_alone: "
        "what the reader takes and the writer's rate, over those alone",
        "who reads | batch:%.0f read_p50:%.3g read_p90:%.3g read_p99:%.3g p99/p50:%.2f readings:%.0f "
        "versions:%.0f "
        "slower:%.2f "
        "write_meps:%.2f of_alone:%.2f batch_p50:%.3g batch_p99:%.3g");
    play_all(&s);
    dcsr_context_destroy(s.context);
    bench_release(&b, s.level);
    bench_release(&b, s.x);
    bench_release(&b, s.y);
    bench_entries_free(&edges);
    bench_entries_free(&pool);
    bench_csr_free(&graph);
    free(x);
    return bench_end(&b);
}

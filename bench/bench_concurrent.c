/* bench_concurrent.c: reading while writing.
 *
 * One thread inserts batches of R-MAT edges, waiting for each; another takes a view and runs a breadth-first
 * search from a random vertex, again and again. Each runs alone, then both at once, with batches of 10^4 and
 * 10^6 edges. The context has one thread: together they use two cores. The reader's latency includes taking
 * the view (duplicates are left as they are). */
#include "algos/bfs.h"
#include "bench/inputs.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef struct scene {
    dcsr_matrix *matrix;
    const bench_entries *pool;
    size_t batch;
    uint64_t rows;
    double seconds; /* how long to run */
    atomic_bool stop;
    bench_samples searches, batches; /* seconds each */
    double inserted, busy;           /* edges, and the seconds in which they went in */
    uint64_t versions;               /* that the reader has seen */
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

static void *read_searches(void *argument)
{
    scene *s = argument;
    int32_t *level = bench_alloc(s->rows, sizeof *level);
    const double start = bench_now();
    uint64_t last = UINT64_MAX;
    for (uint64_t k = 0; bench_now() - start < s->seconds; k++) {
        dcsr_view *view;
        dcsr_view_info info;
        dcsr_bfs_result result;
        double before = bench_now();
        BENCH_OK(dcsr_view_create(&view, s->matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES));
        BENCH_OK(dcsr_bfs(level, &result, view, bench_below(k, s->rows)));
        /* A search that ends at once would make the median meaningless: those from isolated vertices do not
         * count. */
        if (result.reached > s->rows / 100) bench_samples_add(&s->searches, bench_now() - before);
        BENCH_OK(dcsr_view_get_info(view, &info));
        s->versions += info.version != last;
        last = info.version;
        dcsr_view_destroy(view);
    }
    free(level);
    return NULL;
}

static void play(bench_table *table, dcsr_context *context, bench *b, const bench_csr *graph,
                 const bench_entries *all, scene *s, bool writes, bool reads)
{
    s->matrix = bench_matrix(b, context, all, graph->rows, graph->cols, DCSR_PATTERN, NULL);
    s->inserted = s->busy = 0;
    s->versions = 0;
    pthread_t writer;
    if (writes && pthread_create(&writer, NULL, write_batches, s)) bench_die("cannot start a thread");
    if (reads) read_searches(s);
    if (writes) pthread_join(writer, NULL);
    const char *who = writes && reads ? "both" : writes ? "writer" : "reader";
    bench_row(table, BENCH_LABELS(who), writes ? (double)s->batch : NAN,
              1e3 * bench_percentile(&s->searches, 0.5), 1e3 * bench_percentile(&s->searches, 0.9),
              1e3 * bench_percentile(&s->searches, 0.99), reads ? (double)s->searches.count : NAN,
              reads ? (double)s->versions : NAN, writes ? 1e-6 * s->inserted / s->busy : NAN,
              1e3 * bench_median(&s->batches), 1e3 * bench_percentile(&s->batches, 0.99));
    bench_samples_free(&s->searches);
    bench_samples_free(&s->batches);
    dcsr_matrix_destroy(s->matrix);
}

int main(int argc, char **argv)
{
    bench b;
    bench_begin(&b, argc, argv, "concurrent", "How much do readers and a writer disturb each other?");
    const int scale = BENCH_SIZE(&b, 15, 18);
    const uint64_t size = (uint64_t)1 << scale;
    bench_entries edges = bench_entries_rmat(&b, scale, 0, 16 * size, 1);
    bench_entries_symmetrise(&edges);
    bench_csr graph = bench_csr_from_entries(&edges, size, size);
    bench_entries pool = bench_entries_rmat(&b, scale, 16 * size, BENCH_SIZE(&b, 1000000, 8000000), 1);
    dcsr_context *single = bench_context(1);
    scene s = {.pool = &pool, .rows = size, .seconds = BENCH_SIZE(&b, 0.5, 5.0)};
    bench_note(&b, "R-MAT scale %d, %llu edges; one thread writes, one reads", scale,
               (unsigned long long)graph.nnz);
    bench_table *table = bench_table_begin(
        &b, "concurrent", "milliseconds a search (50, 90, 99 percent) and a batch; million edges a second",
        "who | batch:%.0f bfs_p50:%.3g bfs_p90:%.3g bfs_p99:%.3g searches:%.0f versions:%.0f write_meps:%.2f "
        "batch_p50:%.3g batch_p99:%.3g");
    play(table, single, &b, &graph, &edges, &s, false, true);
    for (s.batch = 10000; s.batch <= 1000000; s.batch *= 100) {
        play(table, single, &b, &graph, &edges, &s, true, false);
        play(table, single, &b, &graph, &edges, &s, true, true);
    }
    dcsr_context_destroy(single);
    bench_entries_free(&edges);
    bench_entries_free(&pool);
    bench_csr_free(&graph);
    return bench_end(&b);
}

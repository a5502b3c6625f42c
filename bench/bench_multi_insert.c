/* bench_multi_insert.c: edges inserted in batches into one matrix on several devices, beside a matrix on one.
 *
 * They are given by one thread of the host, by several, or are in the memory of the devices, each of which gives its
 * share of the batches in turn. Edges are R-MAT. `splitting` and `applying` are the shares of the time that the thread
 * of the matrix spent on each; what it splits it splits while the batch before is applied. The number of entries is
 * compared. */
#include "bench/harness.h"
#include "bench/inputs.h"
#include <dcsr/multi.h>
#include <dcsr/vector.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { GIVERS = 4 };

typedef enum source { ONE_THREAD, SEVERAL_THREADS, DEVICES } source;
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

/* ---- Giving ---- */

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

static void give_all(const insertion *s, source from)
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

/* ---- Edges in the memory of devices ---- */

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
    for (uint64_t k = 0; k < s->devices; k++) dcsr_vector_destroy(p->rows[k]), dcsr_vector_destroy(p->cols[k]);
}

/* ---- Measuring ---- */

/* Seconds of the better of two, as the first also takes memory from the system. */
static double insert_whole(bench *b, insertion *s, uint64_t n, source from, uint64_t *nnz)
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

static double insert_parts(insertion *s, dcsr_multi *devices, uint64_t n, source from,
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

static void measure(bench *b, bench_table *table, size_t batch, source from)
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

int main(int argc, char **argv)
{
    bench b;
    bench_begin(&b, argc, argv, "multi_insert", "What does insertion gain on several devices?");
    bench_table *table = bench_table_begin(
        &b, "multi_insert", "Edges in batches, R-MAT",
        "batch from devices | medges_per_s:%.2f times_one:%.2f changes:%.0f splitting:%.2f applying:%.2f "
        "balance:%.3f balances:%.0f");
    const size_t few = BENCH_SIZE(&b, 10000, 100000), many = 1000000;
    const bool large = b.gpu && !b.quick;
    measure(&b, table, few, ONE_THREAD);
    if (large) measure(&b, table, many, ONE_THREAD);
    if (large) measure(&b, table, many, SEVERAL_THREADS);
    if (b.gpu) measure(&b, table, large ? many : few, DEVICES);
    measure(&b, table, few, SEVERAL_THREADS);
    if (large) measure(&b, table, few, DEVICES);
    return bench_end(&b);
}

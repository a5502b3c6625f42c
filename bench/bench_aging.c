/* bench_aging.c: does a matrix that lives long grow old?
 *
 * Two logs of alternating batches, one in, one out, each on a matrix that was loaded with half the edges
 * first: `random` removes random edges of those that are in, `window` the oldest ones. Both run with
 * automatic defragmentation and without. The edges are distinct, so the number of live ones is known; it is
 * compared at the end. The series shows the memory and the speed over time; reading is a product now and
 * then, so that the cost model has readers to think of. */
#include "bench/place.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct aging {
    bench *b;
    const bench_entries *edges; /* distinct, in random order */
    uint64_t rows;
    size_t batch, rounds; /* a round: one batch in, one out */
    void *x, *y;
} aging;

typedef struct life {
    dcsr_matrix *matrix;
    bench_entries live; /* those that are in; room for one batch more */
    size_t next;        /* of the edges, to be inserted */
    size_t oldest;      /* of the edges, to be removed from the window */
    double in, out;     /* seconds since the last row */
} life;

static void swap_entries(bench_entries *entries, size_t i, size_t j)
{
    uint64_t row = entries->row[i], col = entries->col[i];
    entries->row[i] = entries->row[j], entries->col[i] = entries->col[j];
    entries->row[j] = row, entries->col[j] = col;
}

/* Moves `count` random live edges to the end, and cuts them off: the slice that is returned. */
static bench_entries pick_random(bench_entries *live, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++)
        swap_entries(live, bench_below(seed + i, live->n - i), live->n - 1 - i);
    bench_entries victims = bench_entries_slice(live, live->n - count, count);
    live->n -= count;
    return victims;
}

static void one_round(const aging *a, life *l, bool window, uint64_t round)
{
    bench_entries fresh = bench_entries_slice(a->edges, l->next, a->batch);
    double start = bench_now();
    bench_insert_now(l->matrix, &fresh, DCSR_PATTERN);
    l->in += bench_now() - start;
    for (size_t i = 0; i < a->batch; i++) {
        l->live.row[l->live.n + i] = fresh.row[i];
        l->live.col[l->live.n + i] = fresh.col[i];
    }
    l->live.n += a->batch;
    l->next += a->batch;
    bench_entries victims;
    if (window) {
        victims = bench_entries_slice(a->edges, l->oldest, a->batch);
        l->oldest += a->batch;
        l->live.n -= a->batch;
    } else {
        victims = pick_random(&l->live, a->batch, round << 32);
    }
    start = bench_now();
    bench_remove_now(l->matrix, &victims);
    l->out += bench_now() - start;
}

static double read_once(const aging *a, dcsr_matrix *matrix)
{
    dcsr_view *view;
    double start = bench_now();
    BENCH_OK(dcsr_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES));
    bench_multiply(a->b, a->y, view, a->x);
    bench_finish(a->b);
    dcsr_view_destroy(view);
    return bench_now() - start;
}

static void report(const aging *a, bench_table *table, const char *name, life *l, size_t round, size_t rounds)
{
    dcsr_matrix_info info;
    const double edges = 1e-6 * (double)(rounds * a->batch), read = read_once(a, l->matrix);
    BENCH_OK(dcsr_matrix_get_info(l->matrix, &info));
    bench_row(table, BENCH_LABELS(name), (double)round, 1e-6 * (double)l->live.n,
              (double)info.bytes / (double)l->live.n,
              (double)info.bytes / bench_csr_bytes(l->live.n, a->rows, DCSR_PATTERN),
              1e-6 * (double)info.bytes, 1e-6 * bench_resident(), rounds ? edges / l->in : NAN,
              rounds ? edges / l->out : NAN, 1e3 * read, (double)info.stored / (double)l->live.n,
              (double)info.segments / (double)info.rows, (double)info.row_rewrites,
              (double)info.defragmentations);
    l->in = l->out = 0;
}

static void live(const aging *a, const char *name, bool window, dcsr_defragmentation defragmentation)
{
    char title[64];
    snprintf(title, sizeof title, "%s_%s", name, defragmentation == DCSR_DEFRAGMENT_OFF ? "off" : "auto");
    if (!bench_has_time(a->b, title)) return;
    const size_t half = a->edges->n - a->rounds * a->batch, every = a->rounds / 20 ? a->rounds / 20 : 1;
    const dcsr_matrix_options options = {.defragmentation = defragmentation};
    bench_table *table = bench_table_begin(
        a->b, title, "a round is one batch in and one out; million live edges, bytes, million edges a second",
        "log | round:%.0f live_m:%.2f bytes/edge:%.1f of_live:%.2f matrix_mb:%.0f resident_mb:%.0f "
        "in_meps:%.2f "
        "out_meps:%.2f "
        "read_ms:%.3g stored/live:%.2f segments/row:%.2f rewrites:%.0f defrags:%.0f");
    life l = {.next = half, .live = bench_entries_allocate(half + a->batch)};
    l.live.n = 0;
    l.matrix = bench_matrix(a->b, NULL, NULL, a->rows, a->rows, DCSR_PATTERN, &options);
    for (size_t first = 0; first < half; first += a->batch) {
        size_t count = half - first < a->batch ? half - first : a->batch;
        bench_entries part = bench_entries_slice(a->edges, first, count);
        double start = bench_now();
        bench_insert_now(l.matrix, &part, DCSR_PATTERN);
        l.in += bench_now() - start;
        for (size_t i = 0; i < count; i++)
            l.live.row[first + i] = part.row[i], l.live.col[first + i] = part.col[i];
        l.live.n += count;
    }
    report(a, table, title, &l, 0, 0);
    for (size_t round = 1; round <= a->rounds; round++) {
        one_round(a, &l, window, round);
        if (round % every == 0) report(a, table, title, &l, round, every);
    }
    uint64_t nnz;
    BENCH_OK(dcsr_matrix_get_nnz(l.matrix, &nnz));
    if (nnz != l.live.n) bench_die("%llu edges are live, not %zu", (unsigned long long)nnz, l.live.n);
    dcsr_matrix_destroy(l.matrix);
    l.live.n = half + a->batch;
    bench_entries_free(&l.live);
}

int main(int argc, char **argv)
{
    bench b;
    bench_begin(&b, argc, argv, "aging",
                "Does a long log of insertions and deletions make the matrix larger or slower?");
    const int scale = BENCH_SIZE(&b, 15, 20);
    aging a = {.b = &b, .rows = (uint64_t)1 << scale, .batch = BENCH_SIZE(&b, 5000, 100000), .rounds = 100};
    const size_t wanted = 2 * a.rounds * a.batch;
    bench_entries edges = bench_entries_rmat(&b, scale, 0, wanted + wanted / 2, 1);
    bench_csr none = bench_csr_from_entries(&(bench_entries){0}, a.rows, a.rows);
    bench_entries_only_new(&edges, &none, 1);
    if (edges.n < wanted) bench_die("only %zu distinct edges", edges.n);
    edges.n = wanted;
    a.edges = &edges;
    double *x = bench_vector(a.rows);
    a.x = bench_place_values(&b, x, a.rows, DCSR_FP64);
    a.y = bench_place(&b, NULL, a.rows * sizeof *x);
    live(&a, "random", false, DCSR_DEFRAGMENT_AUTO);
    live(&a, "random", false, DCSR_DEFRAGMENT_OFF);
    live(&a, "window", true, DCSR_DEFRAGMENT_AUTO);
    live(&a, "window", true, DCSR_DEFRAGMENT_OFF);
    bench_csr_free(&none);
    bench_entries_free(&edges);
    bench_release(&b, a.x);
    bench_release(&b, a.y);
    free(x);
    return bench_end(&b);
}

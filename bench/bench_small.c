/* bench_small.c: small matrices, and changes of single entries.
 *
 * Matrices of 1000 x 1000 that are made and destroyed, empty or with 100 entries in ten rows; entries that are set and
 * got by turns, with a view held or not; single insertions, each waited for, or streamed; and many matrices alive at
 * once: the memory of each, what making and destroying them costs. Beside SuiteSparse:GraphBLAS, in turns; it has no
 * views. Each number is the best of some rounds, since what disturbs only adds. */
#include "bench/peers/peer_small.h"
#include <dcsr/view.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 1000, ENTRIES = 100, FILLED_ROWS = 10, ROUNDS = 5 };

/* ---- The store behind the same interface ---- */

static dcsr_context *context;

static void *create(uint64_t rows, uint64_t cols)
{
    dcsr_matrix *matrix;
    BENCH_OK(dcsr_matrix_create(&matrix, context, DCSR_FP64, rows, cols, NULL));
    return matrix;
}

static void finish(void *matrix)
{
    BENCH_OK(dcsr_matrix_wait(matrix));
}

static void fill(void *matrix, const bench_entries *entries)
{
    BENCH_OK(dcsr_matrix_insert(matrix, entries->n, entries->row, entries->col, entries->value, NULL));
    finish(matrix);
}

static void set(void *matrix, uint64_t row, uint64_t col, double value)
{
    BENCH_OK(dcsr_matrix_set(matrix, row, col, &value));
}

static double get(void *matrix, uint64_t row, uint64_t col)
{
    double value = 0;
    bool stored;
    BENCH_OK(dcsr_matrix_get(matrix, row, col, &value, &stored));
    return value;
}

static void insert(void *matrix, uint64_t row, uint64_t col, double value)
{
    BENCH_OK(dcsr_matrix_insert(matrix, 1, &row, &col, &value, NULL));
}

static void destroy(void *matrix)
{
    dcsr_matrix_destroy(matrix);
}

static const peer_small dcsr = {"dcsr", create, fill, set, get, insert, finish, destroy};

/* ---- What is measured ---- */

typedef struct trial {
    const peer_small *who;
    bench_entries entries, *few; /* positions to draw from; what a matrix is filled with */
    size_t times;
    void *matrix; /* with all of the positions */
    bool view;    /* one is held meanwhile */
} trial;

static void make_empty(const trial *t)
{
    for (size_t i = 0; i < t->times; i++) t->who->destroy(t->who->create(SIDE, SIDE));
}

static void make_filled(const trial *t)
{
    for (size_t i = 0; i < t->times; i++) {
        void *matrix = t->who->create(SIDE, SIDE);
        t->who->fill(matrix, t->few);
        t->who->destroy(matrix);
    }
}

static void set_and_get(const trial *t)
{
    for (size_t i = 0; i < t->times; i++) {
        size_t k = i % t->entries.n;
        t->who->set(t->matrix, t->entries.row[k], t->entries.col[k], (double)i);
        if (t->who->get(t->matrix, t->entries.row[k], t->entries.col[k]) != (double)i)
            bench_die("%s: what was set is not there", t->who->name);
    }
}

static void insert_and_wait(const trial *t)
{
    for (size_t i = 0; i < t->times; i++) {
        t->who->insert(t->matrix, bench_below(2 * i, SIDE), bench_below(2 * i + 1, SIDE), 1);
        t->who->finish(t->matrix);
    }
}

static void stream(const trial *t)
{
    for (size_t i = 0; i < t->times; i++)
        t->who->insert(t->matrix, bench_below(2 * i, SIDE), bench_below(2 * i + 1, SIDE), 1);
    t->who->finish(t->matrix);
}

typedef struct question {
    const char *name;
    void (*run)(const trial *t);
    size_t times, quick;
    bool needs_view;
} question;

static const question questions[] = {{"create_destroy", make_empty, 20000, 2000, false},
                                     {"create_100_destroy", make_filled, 5000, 500, false},
                                     {"set_get", set_and_get, 200000, 10000, false},
                                     {"set_get_view", set_and_get, 20000, 2000, true},
                                     {"insert_wait", insert_and_wait, 5000, 500, false},
                                     {"insert_wait_view", insert_and_wait, 5000, 500, true},
                                     {"insert_stream", stream, 200000, 10000, false}};

/* The best of some rounds, in turns, each with a matrix of its own. */
static double measure(const question *q, const peer_small *who, const bench_entries *all, bench_entries *few,
                      bool quick)
{
    trial t = {.who = who, .entries = *all, .few = few, .times = quick ? q->quick : q->times};
    dcsr_view *view = NULL;
    t.matrix = who->create(SIDE, SIDE);
    who->fill(t.matrix, all);
    if (q->needs_view) BENCH_OK(dcsr_view_create(&view, t.matrix, DCSR_LAYOUT_SEGMENTS, 0));
    double before = bench_now();
    q->run(&t);
    double seconds = (bench_now() - before) / (double)t.times;
    dcsr_view_destroy(view);
    who->destroy(t.matrix);
    return seconds;
}

static void ask(bench_table *table, const question *q, const peer_small *peer, const bench_entries *all,
                bench_entries *few, bool quick)
{
    double ours = INFINITY, theirs = INFINITY;
    for (int round = 0; round < ROUNDS; round++) {
        ours = fmin(ours, measure(q, &dcsr, all, few, quick));
        if (peer && !q->needs_view) theirs = fmin(theirs, measure(q, peer, all, few, quick));
    }
    if (isinf(theirs)) theirs = NAN;
    bench_row(table, BENCH_LABELS(q->name), ours, theirs, theirs / ours);
}

/* Many matrices at once. */
static void keep_alive(bench_table *table, const peer_small *who, size_t n, const bench_entries *few)
{
    void **matrices = bench_alloc(n, sizeof *matrices);
    memset(matrices, 0, n * sizeof *matrices);
    double resident = bench_resident(), before = bench_now();
    for (size_t i = 0; i < n; i++) {
        matrices[i] = who->create(SIDE, SIDE);
        if (few) who->fill(matrices[i], few);
    }
    double made = bench_now(), bytes = bench_resident() - resident;
    for (size_t i = 0; i < n; i++) who->destroy(matrices[i]);
    double gone = bench_now();
    bench_row(table, BENCH_LABELS(few ? "100_entries" : "empty", who->name), (double)n, bytes / (double)n,
              (made - before) / (double)n, (gone - made) / (double)n);
    free(matrices);
}

int main(int argc, char **argv)
{
    bench b;
    bench_begin(&b, argc, argv, "small", "What do small matrices cost, and changes of single entries?");
    context = b.context;
    const peer_small *peer = peer_small_graphblas(b.threads);
    bench_entries all = bench_entries_allocate(SIDE), few = bench_entries_allocate(ENTRIES);
    for (size_t i = 0; i < all.n; i++) {
        all.row[i] = i;
        all.col[i] = bench_below(i, SIDE);
        all.value[i] = 1;
    }
    for (size_t i = 0; i < few.n; i++) {
        few.row[i] = i % FILLED_ROWS;
        few.col[i] = 7 * i;
        few.value[i] = 1;
    }
    bench_table *table = bench_table_begin(&b, "small", "one operation on a small matrix",
                                           "operation | seconds:%.2e graphblas:%.2e ratio:%.2f");
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
        if (bench_has_time(&b, questions[i].name)) ask(table, &questions[i], peer, &all, &few, b.quick);
    table = bench_table_begin(&b, "alive", "matrices alive at once",
                              "matrices who | number:%.0f bytes:%.0f make:%.2e destroy:%.2e");
    const size_t n = BENCH_SIZE_ON(&b, 10000, 1000000, 1000);
    for (int filled = 0; filled < 2; filled++) {
        if (!bench_has_time(&b, "alive")) break;
        keep_alive(table, &dcsr, n, filled ? &few : NULL);
        if (peer) keep_alive(table, peer, n, filled ? &few : NULL);
    }
    bench_entries_free(&all);
    bench_entries_free(&few);
    return bench_end(&b);
}

/* bench_build.c: a matrix made of triples, those of one position added up, beside Eigen's setFromTriplets(); and of
 * another matrix, or of arrays, beside a copy.
 *
 * The triples come element by element of a mesh of hexahedra, 64 contributions each, as finite elements are
 * assembled; row by row; and in no order. Ours have two indices of 64 bits and a value, Eigen's two of 32. `bytes` are
 * those that the context counts at most, the matrix included, for each triple; nobody counts Eigen's.
 *
 * Of another: a clone of a matrix of fp64 values that is defragmented whole, on the cpu; its first change, of one entry
 * and of a thousand, waited for; a thousand others; what differs from the origin then; the first change of that. A copy
 * is dcsr_matrix_from_csr() of a CSR view, which lends. Arrays are those of a CSR, taken over or copied, and then the
 * first insertion of one entry. */
#include "bench/peers/peers.h"
#include <dcsr/convert.h>
#include <dcsr/diff.h>

#include <math.h>
#include <stdio.h>

typedef struct build {
    dcsr_context *context;
    dcsr_coo coo;
    uint64_t nnz;
} build;

/* All pairs of the eight corners of each cube of a grid of side^3. */
static bench_entries assemble(uint64_t side)
{
    const uint64_t points = side + 1;
    bench_entries entries = bench_entries_allocate(side * side * side * 64);
    size_t n = 0;
    for (uint64_t cube = 0; cube < side * side * side; cube++) {
        const uint64_t x = cube % side, y = cube / side % side, z = cube / side / side;
        uint64_t corner[8];
        for (uint64_t k = 0; k < 8; k++)
            corner[k] = ((z + (k >> 2)) * points + y + (k >> 1 & 1)) * points + x + ((k ^ k >> 1) & 1);
        for (int i = 0; i < 8; i++)
            for (int j = 0; j < 8; j++, n++) {
                entries.row[n] = corner[i], entries.col[n] = corner[j];
                entries.value[n] = i == j ? 8 : -8. / 7;
            }
    }
    return entries;
}

static void run(void *argument)
{
    build *b = argument;
    dcsr_matrix *matrix;
    BENCH_OK(dcsr_matrix_from_coo(&matrix, b->context, &b->coo,
                                  &(dcsr_matrix_options){.policy = DCSR_POLICY_SUM}));
    BENCH_OK(dcsr_matrix_get_nnz(matrix, &b->nnz));
    dcsr_matrix_destroy(matrix);
}

static uint64_t peak_of(dcsr_context *context, bool held)
{
    dcsr_context_info info;
    BENCH_OK(dcsr_context_get_info(context, &info));
    return held ? info.matrix_bytes + info.scratch_bytes : info.peak_bytes;
}

static void ours(bench *b, bench_table *table, const char *name, const bench_entries *entries, uint64_t rows,
                 int threads)
{
    char label[20];
    build it = {.context = bench_context(b, threads),
                .coo = {rows, rows, entries->n, DCSR_FP64, entries->row, entries->col, entries->value, NULL}};
    const uint64_t before = peak_of(it.context, true);
    run(&it);
    const double bytes = (double)(peak_of(it.context, false) - before) / (double)entries->n;
    bench_stat stat = bench_repeat(run, &it, 3, BENCH_SIZE(b, 0.2, 2.0));
    snprintf(label, sizeof label, "%d", threads);
    bench_row(table, BENCH_LABELS(name, "dcsr", label), (double)entries->n, (double)it.nnz, stat.median,
              stat.median / (double)entries->n * 1e9, bytes);
    dcsr_context_destroy(it.context);
}

typedef struct peer_run {
    void *self;
    uint64_t nnz;
} peer_run;

static void run_peer(void *argument)
{
    peer_run *p = argument;
    p->nnz = peer_eigen_build.run(p->self);
}

static void theirs(bench *b, bench_table *table, const char *name, const bench_entries *entries,
                   uint64_t rows)
{
    if (!peer_eigen_build.version) return;
    peer_run p = {.self = peer_eigen_build.create(entries, rows, rows)};
    bench_stat stat = bench_repeat(run_peer, &p, 3, BENCH_SIZE(b, 0.2, 2.0));
    bench_row(table, BENCH_LABELS(name, peer_eigen_build.name, "1"), (double)entries->n, (double)p.nnz,
              stat.median, stat.median / (double)entries->n * 1e9, NAN);
    peer_eigen_build.destroy(p.self);
}

static void contest(bench *b, bench_table *table, const char *name, bench_entries entries, uint64_t rows)
{
    for (int threads = 1; threads <= b->threads; threads *= 2) ours(b, table, name, &entries, rows, threads);
    theirs(b, table, name, &entries, rows);
    bench_entries_free(&entries);
}

/* ---- Of another, and of arrays ---- */

enum { SEVERAL = 1000 };

typedef struct comparison {
    bench_table *table;
    const char *name;
    uint64_t size; /* rows and columns */
    double copy;   /* seconds */
} comparison;

static void report(const comparison *c, const char *what, bench_samples *samples)
{
    const double seconds = bench_median(samples);
    bench_row(c->table, BENCH_LABELS(c->name, what), 1e6 * seconds, bench_spread(samples), c->copy / seconds);
    bench_samples_free(samples);
}

static dcsr_view *lent(dcsr_matrix *matrix, dcsr_csr *csr)
{
    dcsr_view *view;
    BENCH_OK(dcsr_view_create(&view, matrix, DCSR_LAYOUT_CSR, 0));
    BENCH_OK(dcsr_view_get_csr(view, csr));
    return view;
}

/* Inserts n entries at random, and waits; returns the seconds. */
static double insert(const comparison *c, dcsr_matrix *matrix, size_t n)
{
    static uint64_t drawn;
    uint64_t rows[SEVERAL], cols[SEVERAL];
    double values[SEVERAL];
    for (size_t i = 0; i < n; i++) {
        rows[i] = bench_below(drawn++, c->size);
        cols[i] = bench_below(drawn++, c->size);
        values[i] = 1;
    }
    const double before = bench_now();
    BENCH_OK(dcsr_matrix_insert(matrix, n, rows, cols, values, NULL));
    BENCH_OK(dcsr_matrix_wait(matrix));
    return bench_now() - before;
}

static double diff(dcsr_matrix *from, dcsr_matrix *to)
{
    dcsr_view *before, *now;
    dcsr_diff *differs;
    BENCH_OK(dcsr_view_create(&before, from, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES));
    BENCH_OK(dcsr_view_create(&now, to, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES));
    const double begun = bench_now();
    BENCH_OK(dcsr_view_diff(&differs, before, now));
    const double seconds = bench_now() - begun;
    dcsr_diff_destroy(differs);
    dcsr_view_destroy(before);
    dcsr_view_destroy(now);
    return seconds;
}

static void copies(comparison *c, dcsr_context *context, dcsr_matrix *matrix, int rounds)
{
    bench_samples copied = {0};
    dcsr_csr csr;
    dcsr_view *view = lent(matrix, &csr);
    for (int round = 0; round < rounds; round++) {
        dcsr_matrix *copy;
        const double before = bench_now();
        BENCH_OK(dcsr_matrix_from_csr(&copy, context, &csr, NULL));
        bench_samples_add(&copied, bench_now() - before);
        dcsr_matrix_destroy(copy);
    }
    dcsr_view_destroy(view);
    c->copy = bench_median(&copied);
    report(c, "copy", &copied);
}

static void clones(const comparison *c, dcsr_matrix *matrix, int rounds)
{
    enum { CLONE, ONE, THOUSAND, AGAIN, DIFF, ORIGIN, ALL };
    static const char *const what[ALL] = {"clone",     "first 1",      "first 1000",
                                          "next 1000", "diff of that", "origin, first 1000"};
    bench_samples samples[ALL] = {{0}};
    for (int round = 0; round < rounds; round++) {
        dcsr_matrix *clone, *second;
        const double before = bench_now();
        BENCH_OK(dcsr_matrix_clone(&clone, matrix));
        bench_samples_add(&samples[CLONE], bench_now() - before);
        bench_samples_add(&samples[ONE], insert(c, clone, 1));
        BENCH_OK(dcsr_matrix_clone(&second, matrix));
        bench_samples_add(&samples[THOUSAND], insert(c, second, SEVERAL));
        bench_samples_add(&samples[AGAIN], insert(c, second, SEVERAL));
        bench_samples_add(&samples[DIFF], diff(matrix, second));
        bench_samples_add(&samples[ORIGIN], insert(c, matrix, SEVERAL));
        dcsr_matrix_destroy(clone);
        dcsr_matrix_destroy(second);
    }
    for (int i = 0; i < ALL; i++) report(c, what[i], &samples[i]);
}

/* Whose arrays stay the program's. */
static void arrays(const comparison *c, dcsr_context *context, const bench_csr *A, int rounds)
{
    const dcsr_csr_arrays from = {A->rows,     A->cols,    A->nnz,     DCSR_FP64, DCSR_UINT64,
                                  DCSR_UINT32, A->offsets, A->columns, A->values};
    bench_samples copied = {0}, taken = {0}, grown = {0};
    for (int round = 0; round < rounds; round++) {
        dcsr_matrix *matrix;
        double before = bench_now();
        BENCH_OK(dcsr_matrix_from_csr_arrays(&matrix, context, &from, NULL));
        bench_samples_add(&copied, bench_now() - before);
        dcsr_matrix_destroy(matrix);
        before = bench_now();
        BENCH_OK(dcsr_matrix_import_csr(&matrix, context, &from, NULL, NULL, NULL));
        bench_samples_add(&taken, bench_now() - before);
        bench_samples_add(&grown, insert(c, matrix, 1));
        dcsr_matrix_destroy(matrix);
    }
    report(c, "arrays, copied", &copied);
    report(c, "arrays, taken", &taken);
    report(c, "arrays, taken, first 1", &grown);
}

static void compare(bench *b, bench_table *table, const char *name)
{
    const int rounds = BENCH_SIZE(b, 3, 7);
    dcsr_context *context = bench_context(b, b->threads);
    bench_csr A = bench_csr_make(b, name);
    comparison c = {.table = table, .name = name, .size = A.rows};
    const dcsr_csr csr = {A.rows, A.cols, A.nnz, DCSR_FP64, A.offsets, A.columns, A.values};
    dcsr_matrix *matrix;
    BENCH_OK(dcsr_matrix_from_csr(&matrix, context, &csr, NULL));
    copies(&c, context, matrix, rounds);
    clones(&c, matrix, rounds);
    dcsr_matrix_destroy(matrix);
    arrays(&c, context, &A, rounds);
    bench_csr_free(&A);
    dcsr_context_destroy(context);
}

int main(int argc, char **argv)
{
    bench b;
    bench_begin(&b, argc, argv, "build", "How fast is a matrix made: of triples, of another, of arrays?");
    bench_table *table =
        bench_table_begin(&b, "build", "a matrix of triples, those of one position added up",
                          "triples of threads | n:%.0f nnz:%.0f seconds:%.2e ns:%.1f bytes:%.1f");
    const uint64_t side = BENCH_SIZE(&b, 15, 45), scale = BENCH_SIZE(&b, 14, 18), rows = (uint64_t)1 << scale;
    contest(&b, table, "mesh", assemble(side), (side + 1) * (side + 1) * (side + 1));
    bench_csr csr = bench_csr_make(&b, BENCH_SIZE(&b, "er:16384,262144", "er:262144,4194304"));
    contest(&b, table, "rows", bench_entries_from_csr(&csr), csr.rows);
    bench_csr_free(&csr);
    contest(&b, table, "scattered", bench_entries_rmat(&b, (int)scale, 0, rows * 16, 1), rows);
    table = bench_table_begin(&b, "clone", "microseconds; how many times faster than the copy that is",
                              "matrix what | us:%.1f spread%:%.0f of_copy:%.3g");
    compare(&b, table, BENCH_SIZE(&b, "rmat:14,16", "rmat:18,16"));
    if (!b.quick && bench_has_time(&b, "rmat:20,32")) compare(&b, table, "rmat:20,32");
    return bench_end(&b);
}

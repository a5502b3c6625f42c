/* bench_build.c: a matrix made of triples, those of one position added up, beside Eigen's setFromTriplets().
 *
 * The triples come element by element of a mesh of hexahedra, 64 contributions each, as finite elements are
 * assembled; row by row; and in no order. Ours have two indices of 64 bits and a value, Eigen's two of 32. `bytes` are
 * those that the context counts at most, the matrix included, for each triple; nobody counts Eigen's. */
#include "bench/peers/peers.h"
#include <dcsr/coo.h>

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

int main(int argc, char **argv)
{
    bench b;
    bench_begin(&b, argc, argv, "build", "How fast is a matrix made of triples, beside Eigen?");
    bench_table *table =
        bench_table_begin(&b, "build", "a matrix of triples, those of one position added up",
                          "triples of threads | n:%.0f nnz:%.0f seconds:%.2e ns:%.1f bytes:%.1f");
    const uint64_t side = BENCH_SIZE(&b, 15, 45), scale = BENCH_SIZE(&b, 14, 18), rows = (uint64_t)1 << scale;
    contest(&b, table, "mesh", assemble(side), (side + 1) * (side + 1) * (side + 1));
    bench_csr csr = bench_csr_make(&b, BENCH_SIZE(&b, "er:16384,262144", "er:262144,4194304"));
    contest(&b, table, "rows", bench_entries_from_csr(&csr), csr.rows);
    bench_csr_free(&csr);
    contest(&b, table, "scattered", bench_entries_rmat(&b, (int)scale, 0, rows * 16, 1), rows);
    return bench_end(&b);
}

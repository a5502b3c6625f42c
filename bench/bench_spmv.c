/* bench_spmv.c: y = A x with fp64, on the store in all its states and on the peers.
 *
 * The entries are distinct and the policy is keep, so that no view has anything to combine. Fragmented: the
 * entries of each row were inserted in 2, 4, 8 random portions. Streamed: all entries were inserted in random
 * order, in 16 batches. Defragmented: one tight segment a row. csr: the CSR view of that. The fraction of the
 * bandwidth is that of the bytes that any CSR kernel must move (columns of 4 bytes, values, offsets of 8, x
 * and y once each), the same for all, whatever they really move; the bandwidth of reading is measured over an
 * array of that size, that of the triad over one that no cache holds. */
#include "bench/bandwidth.h"
#include "bench/peers.h"
#include "ops/spmv.h"

#include <math.h>
#include <stdlib.h>

typedef struct contest {
    bench *b;
    bench_table *table;
    const char *name;
    const bench_csr *A;
    double *x, *y, *expected;
    double bytes, read, triad; /* bytes of one product; bytes a second */
    double best;               /* seconds of the fastest peer */
} contest;

typedef struct product {
    const contest *c;
    const peer_product *peer;
    void *self;
    dcsr_view *view;
} product;

static void multiply(void *argument)
{
    const product *p = argument;
    if (p->peer)
        p->peer->multiply(p->self, p->c->y, p->c->x);
    else if (p->view)
        BENCH_OK(dcsr_spmv(p->c->y, p->view, p->c->x));
    else
        peer_csr_multiply(p->c->A, p->c->y, p->c->x);
}

static double measure(contest *c, const char *kernel, product p, double segments)
{
    p.c = c;
    bench_stat time = bench_repeat(multiply, &p, 5, BENCH_SIZE(c->b, 0.1, 0.7));
    if (bench_difference(c->expected, c->y, c->A->rows) > 1e-10) bench_die("%s has another product", kernel);
    bench_row(c->table, BENCH_LABELS(c->name, kernel), segments, time.median, time.spread, time.low,
              2e-9 * (double)c->A->nnz / time.median, 1e-9 * c->bytes / time.median,
              c->bytes / time.median / c->read, c->bytes / time.median / c->triad, c->best / time.median);
    return time.median;
}

static void measure_view(contest *c, const char *kernel, dcsr_matrix *matrix, dcsr_layout layout)
{
    dcsr_view *view;
    BENCH_OK(dcsr_view_create(&view, matrix, layout, DCSR_VIEW_DUPLICATES));
    measure(c, kernel, (product){.view = view},
            layout == DCSR_LAYOUT_CSR ? 1 : bench_segments_per_row(matrix, c->A));
    dcsr_view_destroy(view);
}

static void measure_peers(contest *c)
{
    c->best = NAN;
    double best = INFINITY;
    for (size_t i = 0; peer_products(i); i++) {
        char note[PEER_NOTE];
        product p = {.peer = peer_products(i)};
        p.self = p.peer->create(c->A, c->b->threads, c->b->quick, note);
        double seconds = measure(c, p.peer->name, p, NAN);
        p.peer->destroy(p.self);
        bench_note(c->b, "%s on %s: %s", p.peer->name, c->name, note);
        if (seconds < best) best = seconds;
    }
    if (isfinite(best)) c->best = best;
}

static dcsr_matrix *streamed(contest *c)
{
    const dcsr_matrix_options options = {.policy = DCSR_POLICY_KEEP, .defragmentation = DCSR_DEFRAGMENT_OFF};
    bench_entries all = bench_entries_from_csr(c->A);
    bench_entries_shuffle(&all, 1);
    dcsr_matrix *matrix = bench_matrix(c->b, NULL, NULL, c->A->rows, c->A->cols, DCSR_FP64, &options);
    for (size_t k = 0; k < 16; k++) {
        size_t first = all.n * k / 16, end = all.n * (k + 1) / 16;
        bench_entries part = bench_entries_slice(&all, first, end - first);
        bench_insert_now(matrix, &part, DCSR_FP64);
    }
    bench_entries_free(&all);
    return matrix;
}

static void measure_dcsr(contest *c)
{
    dcsr_matrix *matrix = bench_fragmented(c->b, c->A, 1, DCSR_FP64, DCSR_POLICY_KEEP);
    bench_defragment_now(matrix, DCSR_DEFRAGMENT_WHOLE);
    measure_view(c, "dcsr_csr", matrix, DCSR_LAYOUT_CSR);
    measure_view(c, "dcsr_defragmented", matrix, DCSR_LAYOUT_SEGMENTS);
    dcsr_matrix_destroy(matrix);
    static const char *const names[] = {"dcsr_1_portion", "dcsr_2_portions", "dcsr_4_portions",
                                        "dcsr_8_portions"};
    for (int i = 0; i < 4; i++) {
        matrix = bench_fragmented(c->b, c->A, 1 << i, DCSR_FP64, DCSR_POLICY_KEEP);
        measure_view(c, names[i], matrix, DCSR_LAYOUT_SEGMENTS);
        dcsr_matrix_destroy(matrix);
    }
    matrix = streamed(c);
    measure_view(c, "dcsr_streamed", matrix, DCSR_LAYOUT_SEGMENTS);
    dcsr_matrix_destroy(matrix);
}

static void compete(bench *b, bench_table *table, const char *name, double triad)
{
    bench_csr A = bench_csr_make(b, name);
    contest c = {.b = b, .table = table, .name = name, .A = &A, .triad = triad};
    c.x = bench_vector(A.cols);
    c.y = bench_vector(A.rows);
    c.expected = bench_vector(A.rows);
    c.bytes = 12.0 * (double)A.nnz + 8.0 * (double)(A.rows + 1) + 8.0 * (double)(A.rows + A.cols);
    c.read = bench_measure_bandwidth((size_t)c.bytes).read;
    peer_csr_multiply(&A, c.expected, c.x);
    bench_note(b, "%s: %llu rows, %llu entries, %.0f MB, which can be read at %.1f GB/s", name,
               (unsigned long long)A.rows, (unsigned long long)A.nnz, 1e-6 * c.bytes, 1e-9 * c.read);
    measure_peers(&c);
    measure(&c, "plain_csr", (product){0}, NAN);
    measure_dcsr(&c);
    bench_csr_free(&A);
    free(c.x), free(c.y), free(c.expected);
}

int main(int argc, char **argv)
{
    static const char *const full[] = {"poisson2d5:1024", "poisson3d27:100", "rmat:20,16"};
    static const char *const quick[] = {"poisson2d5:256", "poisson3d27:30", "rmat:15,16"};
    bench b;
    bench_begin(&b, argc, argv, "spmv",
                "How fast is a product, fragmented or not, and beside other libraries?");
    bench_bandwidth memory = bench_measure_bandwidth((size_t)BENCH_SIZE(&b, 192, 1536) << 20);
    bench_note(&b, "bandwidth out of cache: triad %.1f GB/s, read %.1f GB/s, copy %.1f GB/s",
               1e-9 * memory.triad, 1e-9 * memory.read, 1e-9 * memory.copy);
    bench_table *table = bench_table_begin(
        &b, "spmv", "y = A x, fp64; fractions of the bandwidth; speedup over the fastest peer",
        "matrix kernel | segments:%.2f seconds:%.3g spread%:%.0f least_s:%.3g gflops:%.2f gbytes_s:%.1f "
        "of_read:%.2f "
        "of_triad:%.2f speedup:%.2f");
    for (size_t i = 0; i < sizeof full / sizeof *full; i++)
        compete(&b, table, BENCH_SIZE(&b, quick[i], full[i]), memory.triad);
    return bench_end(&b);
}

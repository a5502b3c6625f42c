/* bench_spmv.c: y = A x, on the store in all its states and on the peers.
 *
 * The entries are distinct and the policy is keep, so that no view has anything to combine. Fragmented: the entries of
 * each row were inserted in 2, 4, 8 random portions, with the default slack, a tenth or none. Streamed: all entries
 * were inserted in random order, in 16 batches (not the largest matrices). Batches: each had a fiftieth of the entries,
 * chosen at random, and the matrix was defragmented before the first one. Defragmented: one tight segment a row, with
 * which the others are compared. csr: the CSR view of that. The fraction of the bandwidth is that of the bytes that
 * any CSR kernel must move, the same for all, whatever they really move: columns of 4 bytes, values, offsets, x and y
 * once each.
 *
 * On the host all is fp64 and offsets count as 8 bytes; the bandwidth of reading is measured over an array of that
 * size, that of the triad over one that no cache holds. On a GPU it is fp64 and fp32, offsets count as 4 bytes, as
 * cuSPARSE has them, and the bandwidth is that of copying. There `seconds` is of products back to back, of which each
 * finds in the cache what the last one left; before each of those in `cold_s` the cache was filled with something
 * else. */
#include "bench/bandwidth.h"
#include "bench/peers/peers.h"
#include "bench/place.h"

#include <math.h>
#include <stdlib.h>

typedef struct contest {
    bench *b;
    bench_table *table;
    const char *name;
    const bench_csr *A;
    dcsr_type type;
    double *host_x, *host_y, *expected;
    void *x, *y;
    double bytes, read, triad;    /* bytes of one product; bytes a second */
    double fastest, fastest_cold; /* seconds of the fastest peer */
    double tight;                 /* seconds of the defragmented matrix; NAN: not measured yet */
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
        bench_multiply(p->c->b, p->c->y, p->view, p->c->x);
    else
        peer_csr_multiply(p->c->A, p->c->y, p->c->x);
}

static void check(contest *c, const char *kernel)
{
    bench_fetch_values(c->b, c->host_y, c->y, c->A->rows, c->type);
    if (bench_difference(c->expected, c->host_y, c->A->rows) > (c->type == DCSR_FP32 ? 1e-4 : 1e-10))
        bench_die("%s has another product", kernel);
}

/* Returns the seconds that a product takes. */
static double measure(contest *c, const char *kernel, product p, double segments)
{
    bench *b = c->b;
    p.c = c;
    const bench_stat time = bench_time(b, multiply, &p, 5, BENCH_SIZE_ON(b, 0.1, 0.7, 0.05));
    const double seconds = time.median, cold = bench_time_cold(b, multiply, &p, 9);
    check(c, kernel);
    if (p.peer) {
        c->fastest = fmin(c->fastest, seconds);
        c->fastest_cold = fmin(c->fastest_cold, cold);
    }
    const char *const *labels = BENCH_LABELS(c->name, dcsr_type_name(c->type), kernel);
    const double gflops = 2e-9 * (double)c->A->nnz / seconds, rate = c->bytes / seconds;
    if (b->gpu)
        bench_row(c->table, labels, segments, seconds, time.spread, time.low, gflops, 1e-9 * rate,
                  rate / b->rates.copy, c->fastest / seconds, cold, 1e-9 * c->bytes / cold,
                  c->bytes / cold / b->rates.copy, c->fastest_cold / cold, c->tight / seconds);
    else
        bench_row(c->table, labels, segments, seconds, time.spread, time.low, gflops, 1e-9 * rate,
                  rate / c->read, rate / c->triad, c->fastest / seconds, c->tight / seconds);
    return seconds;
}

static double measure_view(contest *c, const char *kernel, dcsr_matrix *matrix, dcsr_layout layout)
{
    dcsr_view *view;
    BENCH_OK(dcsr_view_create(&view, matrix, layout, DCSR_VIEW_DUPLICATES));
    const double seconds = measure(c, kernel, (product){.view = view},
                                   layout == DCSR_LAYOUT_CSR ? 1 : bench_segments_per_row(matrix, c->A));
    bench_finish(c->b);
    dcsr_view_destroy(view);
    return seconds;
}

/* All of them before anything else, since the others are compared with the fastest. fmin() passes over what
 * is not a number. */
static void measure_peers(contest *c)
{
    c->fastest = c->fastest_cold = c->tight = NAN;
    const peer_product *peer;
    for (size_t i = 0; (peer = peer_products(c->b->gpu, c->type, i)); i++) {
        char note[PEER_NOTE];
        product p = {.peer = peer, .self = peer->create(c->A, c->b->threads, c->b->quick, note)};
        measure(c, peer->name, p, NAN);
        bench_finish(c->b);
        peer->destroy(p.self);
        bench_note(c->b, "%s on %s: %s", peer->name, c->name, note);
    }
}

static dcsr_matrix *streamed(contest *c, double slack)
{
    const dcsr_matrix_options options = {
        .policy = DCSR_POLICY_KEEP, .defragmentation = DCSR_DEFRAGMENT_OFF, .slack = slack};
    bench_entries all = bench_entries_from_csr(c->A);
    bench_entries_shuffle(&all, 1);
    dcsr_matrix *matrix = bench_matrix(c->b, NULL, NULL, c->A->rows, c->A->cols, c->type, &options);
    for (size_t k = 0; k < 16; k++) {
        size_t first = all.n * k / 16, end = all.n * (k + 1) / 16;
        bench_entries part = bench_entries_slice(&all, first, end - first);
        bench_insert_now(matrix, &part, c->type);
    }
    bench_entries_free(&all);
    return matrix;
}

static dcsr_matrix *changed_in_batches(contest *c, size_t batches)
{
    const dcsr_matrix_options options = {.policy = DCSR_POLICY_KEEP, .defragmentation = DCSR_DEFRAGMENT_OFF};
    bench_entries all = bench_entries_from_csr(c->A);
    bench_entries_shuffle(&all, 1);
    const size_t each = all.n / 50, before = all.n - batches * each;
    bench_entries part = bench_entries_slice(&all, 0, before);
    dcsr_matrix *matrix = bench_matrix(c->b, NULL, &part, c->A->rows, c->A->cols, c->type, &options);
    bench_defragment_now(matrix, DCSR_DEFRAGMENT_WHOLE);
    for (size_t k = 0; k < batches; k++) {
        part = bench_entries_slice(&all, before + k * each, each);
        bench_insert_now(matrix, &part, c->type);
    }
    bench_entries_free(&all);
    return matrix;
}

static const struct {
    const char *kernel;
    int portions; /* 0: streamed, or `batches` */
    double slack;
    size_t batches;
} fragmentations[] = {{"dcsr_1_batch", 0, 0, 1},      {"dcsr_4_batches", 0, 0, 4},
                      {"dcsr_16_batches", 0, 0, 16},  {"dcsr_2_portions", 2, 0, 0},
                      {"dcsr_2_slack_.1", 2, 0.1, 0}, {"dcsr_2_tight", 2, DCSR_SLACK_NONE, 0},
                      {"dcsr_4_portions", 4, 0, 0},   {"dcsr_8_portions", 8, 0, 0},
                      {"dcsr_8_slack_.1", 8, 0.1, 0}, {"dcsr_8_tight", 8, DCSR_SLACK_NONE, 0},
                      {"dcsr_streamed", 0, 0, 0},     {"dcsr_streamed_tight", 0, DCSR_SLACK_NONE, 0}};

static void measure_dcsr(contest *c)
{
    enum { MOST_STREAMED = 1 << 25 };
    dcsr_matrix *matrix = bench_fragmented(c->b, c->A, 1, c->type, DCSR_POLICY_KEEP);
    if (!c->b->gpu) measure_view(c, "dcsr_1_portion", matrix, DCSR_LAYOUT_SEGMENTS);
    bench_defragment_now(matrix, DCSR_DEFRAGMENT_WHOLE);
    measure_view(c, "dcsr_csr", matrix, DCSR_LAYOUT_CSR);
    c->tight = measure_view(c, "dcsr_defragmented", matrix, DCSR_LAYOUT_SEGMENTS);
    dcsr_matrix_destroy(matrix);
    for (size_t i = 0; i < sizeof fragmentations / sizeof *fragmentations; i++) {
        const int portions = fragmentations[i].portions;
        const double slack = fragmentations[i].slack;
        if (!portions && c->A->nnz > MOST_STREAMED) continue;
        const size_t batches = fragmentations[i].batches;
        matrix = portions  ? bench_fragmented_with(c->b, c->A, portions, c->type, DCSR_POLICY_KEEP, slack)
                 : batches ? changed_in_batches(c, batches)
                           : streamed(c, slack);
        measure_view(c, fragmentations[i].kernel, matrix, DCSR_LAYOUT_SEGMENTS);
        dcsr_matrix_destroy(matrix);
    }
}

static void compete(contest c, dcsr_type type)
{
    bench *b = c.b;
    const bench_csr *A = c.A;
    const double value = (double)dcsr_type_size(type), offset = b->gpu ? 4 : 8;
    c.type = type;
    c.x = bench_place_values(b, c.host_x, A->cols, type);
    c.y = bench_place_values(b, c.host_y, A->rows, type);
    c.bytes =
        (4 + value) * (double)A->nnz + offset * (double)(A->rows + 1) + value * (double)(A->rows + A->cols);
    c.read = b->gpu ? b->rates.read : bench_measure_bandwidth((size_t)c.bytes).read;
    bench_note(b, "%s, %s: %llu rows, %llu entries, %.0f MB, which can be read at %.1f GB/s", c.name,
               dcsr_type_name(type), (unsigned long long)A->rows, (unsigned long long)A->nnz, 1e-6 * c.bytes,
               1e-9 * c.read);
    measure_peers(&c);
    if (!b->gpu) measure(&c, "plain_csr", (product){0}, NAN);
    measure_dcsr(&c);
    bench_release(b, c.x);
    bench_release(b, c.y);
}

static void on_matrix(bench *b, bench_table *table, const char *name, double triad)
{
    bench_csr A = bench_csr_make(b, name);
    contest c = {.b = b, .table = table, .name = name, .A = &A, .triad = triad};
    c.host_x = bench_vector(A.cols);
    c.host_y = bench_vector(A.rows);
    c.expected = bench_vector(A.rows);
    peer_csr_multiply(&A, c.expected, c.host_x);
    compete(c, DCSR_FP64);
    if (b->gpu) compete(c, DCSR_FP32);
    bench_csr_free(&A);
    free(c.host_x), free(c.host_y), free(c.expected);
}

static double measure_triad(bench *b)
{
    bench_bandwidth memory = bench_measure_bandwidth((size_t)BENCH_SIZE(b, 192, 1536) << 20);
    bench_note(b, "bandwidth out of cache: triad %.1f GB/s, read %.1f GB/s, copy %.1f GB/s",
               1e-9 * memory.triad, 1e-9 * memory.read, 1e-9 * memory.copy);
    return memory.triad;
}

int main(int argc, char **argv)
{
    static const char *const quick[] = {"poisson2d5:256", "poisson3d27:30", "rmat:15,16", NULL};
    static const char *const full[] = {"poisson2d5:1024", "poisson3d27:100", "rmat:20,16", NULL};
    static const char *const on_gpu[] = {
        "poisson2d5:1024", "poisson2d5:4096",     "poisson3d27:100", "rmat:20,16",
        "rmat:22,16",      "er:1000000,20000000", "poisson3d27:200", NULL};
    bench b;
    bench_begin(&b, argc, argv, "spmv",
                "How fast is a product, fragmented or not, and beside other libraries?");
    const double triad = b.gpu ? NAN : measure_triad(&b);
    bench_table *table = bench_table_begin(
        &b, "spmv",
        b.gpu ? "y = A x; fractions of the bandwidth of copying; speedup over the fastest peer"
              : "y = A x; fractions of the bandwidth; speedup over the fastest peer",
        b.gpu ? "matrix type kernel | segments:%.2f seconds:%.3g spread%:%.0f least_s:%.3g gflops:%.1f "
                "gbytes_s:%.0f "
                "of_copy:%.2f speedup:%.2f cold_s:%.3g cold_gbytes_s:%.0f cold_of_copy:%.2f "
                "cold_speedup:%.2f of_defragmented:%.2f"
              : "matrix type kernel | segments:%.2f seconds:%.3g spread%:%.0f least_s:%.3g gflops:%.2f "
                "gbytes_s:%.1f "
                "of_read:%.2f of_triad:%.2f speedup:%.2f of_defragmented:%.2f");
    for (const char *const *name = BENCH_SIZE_ON(&b, quick, full, on_gpu); *name; name++)
        if (bench_has_time(&b, *name)) on_matrix(&b, table, *name, triad);
    return bench_end(&b);
}

/* bench_portfolio.c: y = A x by every kernel of the portfolio, beside the peers in the same process.
 *
 * Matrices of some kinds: grids whose values are those of the stencil, and with values of their own; graphs whose
 * degrees follow a power law, with values of their own, with few weights, and as patterns; uniform and banded ones; one
 * whose rows are of very different length. The matrix is defragmented, so `segments` is at its best. For a pattern
 * peers have ones, of fp64. What a format costs is its building over a product of `segments`: after how many products
 * it may pay. On a GPU its clock counts, for peers and kernels alike; there grids and graphs are also of fp32, and
 * there is a graph whose x is larger than the cache. The rate is that of the bytes that a CSR has to move. */
#include "bench/peers/peers.h"
#include "bench/place.h"
#include <dcsr/spmv.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PEERS = 8, FOREVER = 1000000 };

/* What the values are. */
typedef enum values { OWN, VARIED, WEIGHTS, NONE } values;

static const struct {
    const char *name, *quick, *full; /* generated, or made here if there is no colon */
    values values;
    enum { ANYWHERE, ALSO_FP32, ON_GPU } where; /* on a GPU also of fp32; only there */
} matrices[] = {
    {"2d5", "poisson2d5:200", "poisson2d5:2000", OWN, ALSO_FP32},
    {"rmat-large", "rmat:15,16", "rmat:22,16", VARIED, ON_GPU},
    {"rmat", "rmat:14,16", "rmat:20,16", VARIED, ALSO_FP32},
    {"3d7", "poisson3d7:30", "poisson3d7:150", OWN, ALSO_FP32},
    {"3d27", "poisson3d27:25", "poisson3d27:100", OWN, ALSO_FP32},
    {"2d5-varied", "poisson2d5:200", "poisson2d5:2000", VARIED, ANYWHERE},
    {"3d27-varied", "poisson3d27:25", "poisson3d27:100", VARIED, ANYWHERE},
    {"rmat-weights", "rmat:14,16", "rmat:20,16", WEIGHTS, ANYWHERE},
    {"rmat-pattern", "rmat:14,16", "rmat:20,16", NONE, ANYWHERE},
    {"uniform", "er:20000,300000", "er:1000000,16000000", VARIED, ANYWHERE},
    {"uniform-pattern", "er:20000,300000", "er:1000000,16000000", NONE, ANYWHERE},
    {"banded", "banded", "banded", VARIED, ANYWHERE},
    {"uneven", "uneven", "uneven", VARIED, ANYWHERE},
    {"rmat-huge", "rmat:15,8", "rmat:24,8", VARIED, ON_GPU},
};

/* Entries of a row lie within 1000 columns of the diagonal; or rows have 1 to 4096 entries, half as many rows of twice
 * as many, with columns anywhere. */
static bench_csr make_here(bench *b, const char *name)
{
    const bool banded = !strcmp(name, "banded");
    const uint64_t rows = BENCH_SIZE(b, 20000, 1000000), n = 12 * rows;
    bench_entries e = bench_entries_allocate(n);
    for (uint64_t k = 0, row = 0, left = 0; k < n; k++) {
        if (banded) {
            const uint64_t near = k / 12 + bench_below(k, 2001);
            e.row[k] = k / 12;
            e.col[k] = near < 1000 ? 0 : near - 1000 < rows ? near - 1000 : rows - 1;
        } else {
            if (!left) {
                row = (row + 1) % rows;
                left = (uint64_t)1 << (__builtin_ctzll(bench_mix(row) | 1 << 12));
            }
            left--;
            e.row[k] = row;
            e.col[k] = bench_below(k, rows);
        }
        e.value[k] = 1;
    }
    bench_csr A = bench_csr_from_entries(&e, rows, rows);
    bench_entries_free(&e);
    return A;
}

static bench_csr make(bench *b, const char *text, values kind)
{
    bench_csr A = strchr(text, ':') ? bench_csr_make(b, text) : make_here(b, text);
    for (uint64_t k = 0; kind != OWN && k < A.nnz; k++)
        A.values[k] = kind == VARIED    ? 0.5 + 0x1p-53 * (double)(bench_mix(k) >> 11)
                      : kind == WEIGHTS ? (double)(1 + bench_below(k, 64))
                                        : 1;
    return A;
}

typedef struct contest {
    bench *b;
    bench_table *table;
    const char *name;
    const bench_csr *A;
    dcsr_type type;   /* of the matrix */
    dcsr_type vector; /* of x and y */
    double *expected, *fetched;
    void *x, *y;
    double best_peer, segments; /* seconds; NAN before they are known */
} contest;

typedef struct product {
    const contest *c;
    const peer_product *peer;
    void *self;
    dcsr_spmv_plan *plan;
} product;

static void multiply(void *argument)
{
    const product *p = argument;
    if (p->peer)
        p->peer->multiply(p->self, p->c->y, p->c->x);
    else if (p->c->b->gpu)
        BENCH_OK(dcsr_spmv_plan_run_on_stream(p->c->y, p->plan, p->c->x, bench_gpu_stream()));
    else
        BENCH_OK(dcsr_spmv_plan_run(p->c->y, p->plan, p->c->x));
}

/* Seconds of a product, whose result is compared. */
static double measure(const contest *c, const char *kernel, product p)
{
    p.c = c;
    const double seconds = bench_time(c->b, multiply, &p, 7, BENCH_SIZE_ON(c->b, 0.02, 0.3, 0.02)).low;
    bench_fetch_values(c->b, c->fetched, c->y, c->A->rows, c->vector);
    if (bench_difference(c->expected, c->fetched, c->A->rows) > (c->vector == DCSR_FP32 ? 1e-4 : 1e-10))
        bench_die("%s has another product on %s", kernel, c->name);
    return seconds;
}

static void print(const contest *c, const char *kernel, double seconds, double build, double bytes)
{
    const double nnz = (double)c->A->nnz, element = (double)dcsr_type_size(c->vector),
                 moved = nnz * (4 + (double)dcsr_type_size(c->type)) + 4 * (double)c->A->rows +
                         element * (double)(c->A->rows + c->A->cols);
    bench_row(c->table, BENCH_LABELS(c->name, dcsr_type_name(c->type), kernel), seconds, 2e-9 * nnz / seconds,
              1e-9 * moved / seconds, c->segments / seconds, c->best_peer / seconds, build / c->segments,
              bytes / nnz);
}

static void measure_peers(contest *c)
{
    const peer_product *peer;
    double seconds[MOST_PEERS] = {0};
    c->best_peer = c->segments = NAN;
    for (size_t i = 0; i < MOST_PEERS && (peer = peer_products(c->b->gpu, c->vector, i)); i++) {
        char note[PEER_NOTE];
        void *self = peer->create(c->A, c->b->threads, c->b->quick, note);
        seconds[i] = measure(c, peer->name, (product){.peer = peer, .self = self});
        peer->destroy(self);
        c->best_peer = fmin(c->best_peer, seconds[i]); /* fmin() passes over what is not a number */
    }
    for (size_t i = 0; i < MOST_PEERS && (peer = peer_products(c->b->gpu, c->vector, i)); i++)
        print(c, peer->name, seconds[i], NAN, NAN);
}

static void measure_kernel(contest *c, dcsr_view *view, const char *kernel)
{
    dcsr_spmv_plan *plan;
    dcsr_spmv_plan_info info;
    const dcsr_status status =
        dcsr_spmv_plan_create(&plan, view, &(dcsr_spmv_options){.kernel = kernel, .products = FOREVER});
    if (status == DCSR_ERROR_INVALID_ARGUMENT) {
        bench_note(c->b, "%s: %s", c->name, dcsr_thread_error());
        return;
    }
    BENCH_OK(status);
    BENCH_OK(dcsr_spmv_plan_get_info(plan, &info));
    char label[64];
    const bool chosen = !strcmp(kernel, "auto");
    snprintf(label, sizeof label, chosen ? "auto: %s" : "%s", chosen ? info.kernel : kernel);
    const double seconds = measure(c, label, (product){.plan = plan});
    if (isnan(c->segments)) c->segments = seconds; /* the first kernel of each device is that */
    print(c, label, seconds, info.bytes ? info.build_seconds : NAN, info.bytes ? (double)info.bytes : NAN);
    dcsr_spmv_plan_destroy(plan);
}

static void compete(contest *c)
{
    bench *b = c->b;
    const dcsr_spmv_kernel *kernel;
    dcsr_view *view;
    double *x = bench_vector(c->A->cols);
    peer_csr_multiply(c->A, c->expected, x);
    c->x = bench_place_values(b, x, c->A->cols, c->vector);
    c->y = bench_place_values(b, c->fetched, c->A->rows, c->vector);
    measure_peers(c);
    dcsr_matrix *matrix = bench_fragmented(b, c->A, 1, c->type, DCSR_POLICY_LAST);
    bench_defragment_now(matrix, DCSR_DEFRAGMENT_WHOLE);
    BENCH_OK(dcsr_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, 0));
    for (uint64_t k = 0; (kernel = dcsr_spmv_kernel_at(b->device, k)); k++)
        measure_kernel(c, view, kernel->name);
    measure_kernel(c, view, "auto");
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    bench_release(b, c->x);
    bench_release(b, c->y);
    free(x);
}

static void on_matrix(bench *b, bench_table *table, const char *name, const bench_csr *A, dcsr_type type,
                      bool also_fp32)
{
    contest c = {.b = b, .table = table, .name = name, .A = A, .type = type, .vector = DCSR_FP64};
    c.expected = bench_vector(A->rows);
    c.fetched = bench_vector(A->rows);
    bench_note(b, "%s: %llu rows, %llu entries", name, (unsigned long long)A->rows,
               (unsigned long long)A->nnz);
    compete(&c);
    if (b->gpu && also_fp32) {
        c.type = c.vector = DCSR_FP32;
        compete(&c);
    }
    free(c.expected), free(c.fetched);
}

static void on_made(bench *b, bench_table *table, size_t m)
{
    bench_csr A = make(b, BENCH_SIZE(b, matrices[m].quick, matrices[m].full), matrices[m].values);
    on_matrix(b, table, matrices[m].name, &A, matrices[m].values == NONE ? DCSR_PATTERN : DCSR_FP64,
              matrices[m].where == ALSO_FP32);
    bench_csr_free(&A);
}

typedef struct files {
    bench *b;
    bench_table *table;
} files;

static void on_file(void *argument, const char *name, const bench_csr *A)
{
    const files *f = argument;
    on_matrix(f->b, f->table, name, A, DCSR_FP64, true);
}

int main(int argc, char **argv)
{
    bench b;
    bench_begin(&b, argc, argv, "portfolio",
                "Which kernel is the fastest on which matrix, and what does it cost?");
    bench_table *table = bench_table_begin(
        &b, "portfolio",
        "y = A x; speed over that of segments and of the fastest peer; least of some products",
        "matrix type kernel | seconds:%.3g gflops:%.2f GB/s:%.0f of_segments:%.2f of_peer:%.2f "
        "build_products:%.1f bytes/entry:%.1f");
    if (b.data) bench_for_files(&b, on_file, &(files){&b, table});
    for (size_t m = 0; !b.data && m < sizeof matrices / sizeof *matrices; m++)
        if ((b.gpu || matrices[m].where != ON_GPU) && bench_has_time(&b, matrices[m].name))
            on_made(&b, table, m);
    return bench_end(&b);
}

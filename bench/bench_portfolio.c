/* bench_portfolio.c: y = A x by every kernel of the portfolio, beside the peers in the same process.
 *
 * Matrices of some kinds: grids whose values are those of the stencil, and with values of their own; graphs whose
 * degrees follow a power law, with values of their own, with few weights, and as patterns; uniform and banded ones; one
 * whose rows are of very different length. The matrix is defragmented, so `segments` is at its best. Peers have fp64;
 * for a pattern they have ones. What a format costs is its building over a product of `segments`: after how many
 * products it may pay. */
#include "bench/peers/peers.h"
#include "bench/place.h"
#include <dcsr/spmv.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PEERS = 8 };

/* What the values are. */
typedef enum values { OWN, VARIED, WEIGHTS, NONE } values;

static const struct {
    const char *name, *quick, *full; /* generated, or made here if there is no colon */
    values values;
} matrices[] = {
    {"2d5", "poisson2d5:200", "poisson2d5:2000", OWN},
    {"3d7", "poisson3d7:30", "poisson3d7:150", OWN},
    {"3d27", "poisson3d27:25", "poisson3d27:100", OWN},
    {"2d5-varied", "poisson2d5:200", "poisson2d5:2000", VARIED},
    {"3d27-varied", "poisson3d27:25", "poisson3d27:100", VARIED},
    {"rmat", "rmat:14,16", "rmat:20,16", VARIED},
    {"rmat-weights", "rmat:14,16", "rmat:20,16", WEIGHTS},
    {"rmat-pattern", "rmat:14,16", "rmat:20,16", NONE},
    {"uniform", "er:20000,300000", "er:1000000,16000000", VARIED},
    {"uniform-pattern", "er:20000,300000", "er:1000000,16000000", NONE},
    {"banded", "banded", "banded", VARIED},
    {"uneven", "uneven", "uneven", VARIED},
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
    dcsr_type type;
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
    else
        BENCH_OK(dcsr_spmv_plan_run(p->c->y, p->plan, p->c->x));
}

/* Seconds of a product, whose result is compared. */
static double measure(const contest *c, const char *kernel, product p)
{
    p.c = c;
    const double seconds = bench_time(c->b, multiply, &p, 7, BENCH_SIZE(c->b, 0.02, 0.3)).low;
    bench_fetch_values(c->b, c->fetched, c->y, c->A->rows, DCSR_FP64);
    if (bench_difference(c->expected, c->fetched, c->A->rows) > 1e-10)
        bench_die("%s has another product on %s", kernel, c->name);
    return seconds;
}

static void print(const contest *c, const char *kernel, double seconds, double build, double bytes)
{
    bench_row(c->table, BENCH_LABELS(c->name, dcsr_type_name(c->type), kernel), seconds,
              2e-9 * (double)c->A->nnz / seconds, c->segments / seconds, c->best_peer / seconds,
              build / c->segments, bytes / (double)c->A->nnz);
}

static void measure_peers(contest *c)
{
    const peer_product *peer;
    double seconds[MOST_PEERS] = {0};
    c->best_peer = c->segments = NAN;
    for (size_t i = 0; i < MOST_PEERS && (peer = peer_products(c->b->gpu, DCSR_FP64, i)); i++) {
        char note[PEER_NOTE];
        void *self = peer->create(c->A, c->b->threads, c->b->quick, note);
        seconds[i] = measure(c, peer->name, (product){.peer = peer, .self = self});
        peer->destroy(self);
        c->best_peer = fmin(c->best_peer, seconds[i]); /* fmin() passes over what is not a number */
    }
    for (size_t i = 0; i < MOST_PEERS && (peer = peer_products(c->b->gpu, DCSR_FP64, i)); i++)
        print(c, peer->name, seconds[i], NAN, NAN);
}

static void measure_kernel(contest *c, dcsr_view *view, const char *kernel)
{
    dcsr_spmv_plan *plan;
    dcsr_spmv_plan_info info;
    const dcsr_status status = dcsr_spmv_plan_create(&plan, view, &(dcsr_spmv_options){.kernel = kernel});
    if (status == DCSR_ERROR_INVALID_ARGUMENT) {
        bench_note(c->b, "%s: %s", c->name, dcsr_thread_error());
        return;
    }
    BENCH_OK(status);
    BENCH_OK(dcsr_spmv_plan_get_info(plan, &info));
    const double seconds = measure(c, kernel, (product){.plan = plan});
    if (isnan(c->segments)) c->segments = seconds; /* the first kernel of each device is that */
    print(c, kernel, seconds, info.bytes ? info.build_seconds : NAN, info.bytes ? (double)info.bytes : NAN);
    dcsr_spmv_plan_destroy(plan);
}

static void compete(bench *b, bench_table *table, const char *name, const char *text, values kind)
{
    bench_csr A = make(b, text, kind);
    double *x = bench_vector(A.cols);
    contest c = {b,
                 table,
                 name,
                 &A,
                 kind == NONE ? DCSR_PATTERN : DCSR_FP64,
                 bench_vector(A.rows),
                 bench_vector(A.rows),
                 NULL,
                 NULL,
                 NAN,
                 NAN};
    const dcsr_spmv_kernel *kernel;
    dcsr_view *view;
    peer_csr_multiply(&A, c.expected, x);
    c.x = bench_place_values(b, x, A.cols, DCSR_FP64);
    c.y = bench_place_values(b, c.fetched, A.rows, DCSR_FP64);
    bench_note(b, "%s: %s, %llu rows, %llu entries", name, text, (unsigned long long)A.rows,
               (unsigned long long)A.nnz);
    measure_peers(&c);
    dcsr_matrix *matrix = bench_fragmented(b, &A, 1, c.type, DCSR_POLICY_LAST);
    bench_defragment_now(matrix, DCSR_DEFRAGMENT_WHOLE);
    BENCH_OK(dcsr_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, 0));
    for (uint64_t k = 0; (kernel = dcsr_spmv_kernel_at(b->device, k)); k++)
        measure_kernel(&c, view, kernel->name);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    bench_release(b, c.x);
    bench_release(b, c.y);
    bench_csr_free(&A);
    free(x), free(c.expected), free(c.fetched);
}

int main(int argc, char **argv)
{
    bench b;
    bench_begin(&b, argc, argv, "portfolio",
                "Which kernel is the fastest on which matrix, and what does it cost?");
    bench_table *table = bench_table_begin(
        &b, "portfolio",
        "y = A x; speed over that of segments and of the fastest peer; least of some products",
        "matrix type kernel | seconds:%.3g gflops:%.2f of_segments:%.2f of_peer:%.2f build_products:%.1f "
        "bytes/entry:%.1f");
    for (size_t m = 0; m < sizeof matrices / sizeof *matrices; m++)
        if (bench_has_time(&b, matrices[m].name))
            compete(&b, table, matrices[m].name, BENCH_SIZE(&b, matrices[m].quick, matrices[m].full),
                    matrices[m].values);
    return bench_end(&b);
}

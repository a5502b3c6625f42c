/* bench_iterate.c: a matrix that changes a little between products: 50 times 0.2% new entries, then 5
 * products.
 *
 * The iterative test of the DCSR paper. The competitors: the store, read through its segments, with policies
 * sum and keep (duplicates stay, which the product does not mind); a CSR that is rebuilt for each change,
 * with the same product as the store (its arrays are copied to where that runs, which is not timed on the
 * host; to a GPU it is, since no product can do without); and SuiteSparse:GraphBLAS, on the host, which
 * rebuilds too, with its two ways of taking in a batch. All hold the same matrix at the end: the products are
 * compared. */
#include "bench/peers/peers.h"
#include "bench/place.h"
#include <dcsr/convert.h>

#include <math.h>
#include <stdlib.h>

enum { ITERATIONS = 50, PRODUCTS = 5 };

typedef struct player {
    bench *b;
    dcsr_matrix *matrix;
    dcsr_view *view;
    peer_csr *csr;
    peer_graph *graph;
} player;

typedef struct competitor {
    const char *name;
    void (*create)(player *p, bench *b, const bench_csr *A, const bench_entries *all);
    void (*update)(player *p, const bench_entries *batch);
    void (*prepare)(player *p); /* for the product; may be NULL */
    void (*multiply)(player *p, void *y, const void *x);
} competitor;

static void take_view(player *p)
{
    BENCH_OK(dcsr_view_create(&p->view, p->matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES));
}

static void create_dcsr(player *p, bench *b, const bench_csr *A, const bench_entries *all, dcsr_policy policy)
{
    p->matrix =
        bench_matrix(b, NULL, all, A->rows, A->cols, DCSR_FP64, &(dcsr_matrix_options){.policy = policy});
    take_view(p);
}

static void create_sum(player *p, bench *b, const bench_csr *A, const bench_entries *all)
{
    create_dcsr(p, b, A, all, DCSR_POLICY_SUM);
}

static void create_keep(player *p, bench *b, const bench_csr *A, const bench_entries *all)
{
    create_dcsr(p, b, A, all, DCSR_POLICY_KEEP);
}

static void update_dcsr(player *p, const bench_entries *batch)
{
    dcsr_view_destroy(p->view);
    bench_insert_now(p->matrix, batch, DCSR_FP64);
    take_view(p);
}

static void multiply_dcsr(player *p, void *y, const void *x)
{
    bench_multiply(p->b, y, p->view, x);
}

static void create_csr(player *p, bench *b, const bench_csr *A, const bench_entries *all)
{
    (void)b, (void)all;
    p->csr = peer_csr_create(A);
}

static void update_csr(player *p, const bench_entries *batch)
{
    peer_csr_add(p->csr, batch);
}

/* Copies the rebuilt arrays to where the library's own product with a CSR can run on them. */
static void prepare_csr(player *p)
{
    const bench_csr *A = peer_csr_get(p->csr);
    const dcsr_csr csr = {.rows = A->rows,
                          .cols = A->cols,
                          .nnz = A->nnz,
                          .type = DCSR_FP64,
                          .offsets = A->offsets,
                          .col_indices = A->columns,
                          .values = A->values};
    dcsr_view_destroy(p->view);
    dcsr_matrix_destroy(p->matrix);
    BENCH_OK(dcsr_matrix_from_csr(&p->matrix, p->b->context, &csr,
                                  &(dcsr_matrix_options){.policy = DCSR_POLICY_KEEP}));
    BENCH_OK(dcsr_view_create(&p->view, p->matrix, DCSR_LAYOUT_CSR, DCSR_VIEW_DUPLICATES));
}

static void create_graph(player *p, bench *b, const bench_csr *A, const bench_entries *all)
{
    p->graph = peer_graph_create(A->rows, A->cols, false, all, b->threads);
}

static void update_graph_set(player *p, const bench_entries *batch)
{
    peer_graph_insert(p->graph, batch, PEER_SET);
}

static void update_graph_build(player *p, const bench_entries *batch)
{
    peer_graph_insert(p->graph, batch, PEER_BUILD);
}

static void multiply_graph(player *p, void *y, const void *x)
{
    peer_graph_multiply(p->graph, y, x);
}

static void destroy(player *p)
{
    dcsr_view_destroy(p->view);
    dcsr_matrix_destroy(p->matrix);
    if (p->csr) peer_csr_destroy(p->csr);
    if (p->graph) peer_graph_destroy(p->graph);
}

/* The rebuilt CSR comes first: the others are compared with it. */
static const competitor competitors[] = {
    {"csr_rebuilt", create_csr, update_csr, prepare_csr, multiply_dcsr},
    {"dcsr_sum", create_sum, update_dcsr, NULL, multiply_dcsr},
    {"dcsr_keep", create_keep, update_dcsr, NULL, multiply_dcsr},
    {"graphblas_set", create_graph, update_graph_set, NULL, multiply_graph},
    {"graphblas_build", create_graph, update_graph_build, NULL, multiply_graph}};

/* New entries, uniform over the matrix, none of which is stored or comes twice. */
static bench_entries new_entries(const bench_csr *A, size_t n)
{
    bench_entries entries = bench_entries_allocate(n + n / 8 + 64);
    for (size_t i = 0; i < entries.n; i++) {
        entries.row[i] = bench_below(3 * i, A->rows);
        entries.col[i] = bench_below(3 * i + 1, A->cols);
        entries.value[i] = 0.5 + 0x1p-32 * (double)bench_below(3 * i + 2, (uint64_t)1 << 32);
    }
    bench_entries_only_new(&entries, A, 1);
    if (entries.n < n) bench_die("only %zu of %zu entries are new", entries.n, n);
    return entries;
}

typedef struct score {
    bench_samples update, multiply;
    double updates, products; /* seconds in all */
} score;

static void run(const competitor *who, player *p, const bench_entries *fresh, void *y, const void *x,
                score *s)
{
    const size_t n = fresh->n / ITERATIONS;
    if (who->prepare) who->prepare(p);
    who->multiply(p, y, x);
    bench_finish(p->b);
    for (size_t k = 0; k < ITERATIONS; k++) {
        bench_entries batch = bench_entries_slice(fresh, k * n, n);
        double before = bench_now();
        who->update(p, &batch);
        double updated = bench_now();
        if (who->prepare) who->prepare(p);
        double between = bench_now();
        if (p->b->gpu) updated = between;
        for (int product = 0; product < PRODUCTS; product++) who->multiply(p, y, x);
        bench_finish(p->b);
        double after = bench_now();
        s->updates += updated - before;
        s->products += after - between;
        bench_samples_add(&s->update, updated - before);
        bench_samples_add(&s->multiply, (after - between) / PRODUCTS);
    }
}

static void iterate(bench *b, bench_table *table, const char *name)
{
    bench_csr A = bench_csr_make(b, name);
    bench_entries all = bench_entries_from_csr(&A);
    const size_t n = A.nnz / 500;
    bench_entries fresh = new_entries(&A, n * ITERATIONS);
    fresh.n = n * ITERATIONS;
    double *x = bench_vector(A.cols), *y = bench_vector(A.rows), *expected = bench_vector(A.rows),
           baseline = NAN;
    void *placed_x = bench_place_values(b, x, A.cols, DCSR_FP64),
         *placed_y = bench_place_values(b, y, A.rows, DCSR_FP64);
    for (size_t i = 0; i < sizeof competitors / sizeof *competitors; i++) {
        const competitor *who = &competitors[i];
        if (who->create == create_graph && (b->gpu || !peer_graph_available())) continue;
        player p = {.b = b};
        score s = {0};
        who->create(&p, b, &A, &all);
        run(who, &p, &fresh, placed_y, placed_x, &s);
        const double total = s.updates + s.products;
        if (!i) baseline = total;
        bench_row(table, BENCH_LABELS(name, who->name), total, s.updates, s.products, bench_median(&s.update),
                  bench_spread(&s.update), bench_median(&s.multiply), bench_spread(&s.multiply),
                  baseline / total);
        bench_fetch_values(b, i ? y : expected, placed_y, A.rows, DCSR_FP64);
        if (i && bench_difference(expected, y, A.rows) > 1e-10)
            bench_die("%s has another product", who->name);
        destroy(&p);
        bench_samples_free(&s.update);
        bench_samples_free(&s.multiply);
    }
    bench_release(b, placed_x);
    bench_release(b, placed_y);
    bench_entries_free(&all);
    bench_entries_free(&fresh);
    bench_csr_free(&A);
    free(x), free(y), free(expected);
}

int main(int argc, char **argv)
{
    static const char *const full[] = {"rmat:18,16", "poisson2d5:1024", "poisson3d27:64",
                                       "er:262144,4194304"};
    static const char *const quick[] = {"rmat:14,16", "poisson2d5:128", "poisson3d27:20", "er:16384,262144"};
    bench b;
    bench_begin(&b, argc, argv, "iterate", "What does a matrix that changes a little between products cost?");
    bench_table *table = bench_table_begin(
        &b, "iterate", "50 x (0.2% new entries, 5 products), fp64: seconds; speedup over the rebuilt CSR",
        "matrix competitor | total_s:%.3f updates_s:%.3f products_s:%.3f update_s:%.3g update_spread%:%.0f "
        "product_s:%.3g product_spread%:%.0f speedup:%.2f");
    for (size_t i = 0; i < sizeof full / sizeof *full; i++)
        if (bench_has_time(&b, BENCH_SIZE(&b, quick[i], full[i])))
            iterate(&b, table, BENCH_SIZE(&b, quick[i], full[i]));
    return bench_end(&b);
}

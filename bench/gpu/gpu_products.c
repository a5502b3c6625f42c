/* gpu_products.c: products on a GPU: with a full vector and with dense matrices beside cuSPARSE, and with
 * vectors of few elements beside those of all.
 *
 * `seconds` is what a caller sees of a call, by the clock of the host: dcsr_mxv() and dcsr_spmm() return when
 * the result is there. `peer_s` is the peer's by the clock of the GPU, of products back to back for which
 * nobody waits: what it would be at the very best. `peer_call_s` is the peer's with a wait for each, by the
 * clock of the host: what its caller sees. Vectors and dense matrices of both are on the GPU throughout. */
#include "bench/gpu/gpu_contests.h"
#include "bench/peers/peers.h"
#include "bench/place.h"
#include <dcsr/convert.h>
#include <dcsr/vector.h>
#include <dcsr/mxv.h>
#include <dcsr/spmm.h>

#include <math.h>
#include <stdlib.h>

/* One matrix with values of one type. */
typedef struct contest {
    bench *b;
    bench_table *table;
    const char *name;
    const bench_csr *A;
    dcsr_type type;
    dcsr_matrix *matrix;
    dcsr_view *view;
} contest;

/* ---- Timing ---- */

/* A call of either, for bench_repeat() and bench_time(). */
typedef struct work {
    const contest *c;
    dcsr_vector *w, *u; /* mxv, or vxm */
    bool vxm;
    void *Y, *X; /* spmm, or what the peer works on */
    uint64_t columns;
    const peer_product *peer;
    const peer_block_product *block_peer;
    void *self; /* the peer's */
} work;

static void run_ours(void *argument)
{
    const work *k = argument;
    const dcsr_semiring *semiring = dcsr_semiring_of(DCSR_PLUS_TIMES, k->c->type);
    if (k->columns)
        BENCH_OK(dcsr_spmm(k->Y, NULL, NULL, semiring, k->c->view, k->X, k->columns, NULL));
    else if (k->vxm)
        BENCH_OK(dcsr_vxm(k->w, NULL, NULL, semiring, k->u, k->c->view, NULL));
    else
        BENCH_OK(dcsr_mxv(k->w, NULL, NULL, semiring, k->c->view, k->u, NULL));
}

static void run_peer(void *argument)
{
    const work *k = argument;
    if (k->block_peer)
        k->block_peer->multiply(k->self);
    else
        k->peer->multiply(k->self, k->Y, k->X);
}

static void run_peer_and_wait(void *argument)
{
    run_peer(argument);
    bench_finish(((const work *)argument)->c->b);
}

static bench_stat time_calls(const contest *c, void (*run)(void *), work *k)
{
    return bench_repeat(run, k, 5, BENCH_SIZE(c->b, 0.05, 0.2));
}

/* ---- Beside the peer ---- */

static void print(const contest *c, const char *group, const char *peer, double flops, bench_stat ours,
                  double peer_seconds, double peer_call)
{
    bench_row(c->table, BENCH_LABELS(c->name, dcsr_type_name(c->type), group, peer), ours.median, ours.spread,
              1e-9 * flops / ours.median, peer_seconds, peer_call, peer_seconds / ours.median,
              peer_call / ours.median);
}

/* The results are the same but for rounding; the peer's is on the GPU. */
static void compare(const contest *c, const char *what, const double *mine, const void *theirs, uint64_t n)
{
    double *other = bench_alloc(n, sizeof *other);
    bench_fetch_values(c->b, other, theirs, n, c->type);
    if (bench_difference(other, mine, n) > (c->type == DCSR_FP32 ? 1e-4 : 1e-10))
        bench_die("%s: the peer has another product", what);
    free(other);
}

static dcsr_vector *vector_of(const contest *c, uint64_t size, double share)
{
    dcsr_vector *vector;
    uint64_t *indices = bench_alloc(size, sizeof *indices), n = 0;
    double *values = bench_alloc(size, sizeof *values);
    for (uint64_t i = 0; i < size; i++)
        if (share >= 1 || (double)bench_below(i, 1 << 30) < share * (1 << 30)) {
            indices[n] = i;
            values[n++] = 1 + (double)(i % 7); /* as bench_vector() has them */
        }
    float *narrow = bench_narrow(values, n, c->type);
    BENCH_OK(dcsr_vector_create(&vector, c->b->context, c->type, size));
    BENCH_OK(
        dcsr_vector_build(vector, n, indices, narrow ? (const void *)narrow : values, DCSR_POLICY_DEFAULT));
    free(indices), free(values), free(narrow);
    return vector;
}

/* All elements, absent ones as 0. */
static double *elements_of(const contest *c, const dcsr_vector *vector, uint64_t size)
{
    uint64_t n, *indices = bench_alloc(size, sizeof *indices);
    double *all = bench_alloc(size, sizeof *all), *wide = bench_alloc(size, sizeof *wide);
    float *narrow = bench_alloc(size, sizeof *narrow);
    const bool is_narrow = c->type == DCSR_FP32;
    BENCH_OK(dcsr_vector_get_entries(vector, size, indices, is_narrow ? (void *)narrow : wide, &n));
    for (uint64_t i = 0; i < size; i++) all[i] = 0;
    for (uint64_t k = 0; k < n; k++) all[indices[k]] = is_narrow ? (double)narrow[k] : wide[k];
    free(indices), free(wide), free(narrow);
    return all;
}

/* Seconds of a call with every element. */
static double time_dense(const contest *c)
{
    work k = {.c = c, .u = vector_of(c, c->A->cols, 1)};
    BENCH_OK(dcsr_vector_create(&k.w, c->b->context, c->type, c->A->rows));
    const double seconds = time_calls(c, run_ours, &k).median;
    dcsr_vector_destroy(k.w), dcsr_vector_destroy(k.u);
    return seconds;
}

static void measure_mxv(const contest *c)
{
    double *host = bench_vector(c->A->cols), best = NAN, best_call = NAN;
    const char *name = "-";
    work k = {.c = c,
              .u = vector_of(c, c->A->cols, 1),
              .X = bench_place_values(c->b, host, c->A->cols, c->type),
              .Y = bench_place(c->b, NULL, c->A->rows * dcsr_type_size(c->type))};
    BENCH_OK(dcsr_vector_create(&k.w, c->b->context, c->type, c->A->rows));
    const bench_stat time = time_calls(c, run_ours, &k);
    double *mine = elements_of(c, k.w, c->A->rows);
    for (size_t i = 0; (k.peer = peer_products(true, c->type, i)); i++) {
        char note[PEER_NOTE];
        k.self = k.peer->create(c->A, c->b->threads, c->b->quick, note);
        const double seconds = bench_time(c->b, run_peer, &k, 5, 0.05).median;
        const double call = time_calls(c, run_peer_and_wait, &k).median;
        compare(c, k.peer->name, mine, k.Y, c->A->rows);
        if (!(best <= seconds)) best = seconds, best_call = call, name = k.peer->name;
        k.peer->destroy(k.self);
    }
    print(c, "mxv_dense", name, 2 * (double)c->A->nnz, time, best, best_call);
    bench_release(c->b, k.X), bench_release(c->b, k.Y);
    dcsr_vector_destroy(k.w), dcsr_vector_destroy(k.u);
    free(host), free(mine);
}

static void measure_spmm(const contest *c, const char *group, uint64_t columns)
{
    enum { MOST_CELLS = 1 << 27 };
    if (c->A->cols * columns > MOST_CELLS) return; /* which the host takes long to make and to compare */
    const peer_block_product *peer = peer_block_products();
    const uint64_t cells = c->A->rows * columns, bytes = cells * dcsr_type_size(c->type);
    double *host = bench_vector(c->A->cols * columns), best = NAN, call = NAN;
    work k = {.c = c,
              .columns = columns,
              .X = bench_place_values(c->b, host, c->A->cols * columns, c->type),
              .Y = bench_place(c->b, NULL, bytes),
              .block_peer = peer};
    const bench_stat time = time_calls(c, run_ours, &k);
    if (peer) {
        double *mine = bench_alloc(cells, sizeof *mine);
        bench_fetch_values(c->b, mine, k.Y, cells, c->type);
        k.self = peer->create(c->A, c->type, columns, k.Y, k.X);
        best = bench_time(c->b, run_peer, &k, 5, 0.05).median;
        call = time_calls(c, run_peer_and_wait, &k).median;
        compare(c, group, mine, k.Y, cells);
        peer->destroy(k.self);
        free(mine);
    }
    print(c, group, peer ? peer->name : "-", 2 * (double)c->A->nnz * (double)columns, time, best, call);
    bench_release(c->b, k.X), bench_release(c->b, k.Y);
    free(host);
}

/* ---- Few elements ---- */

/* A direction that reads the transpose has it made, and kept with the view. */
static void measure_transpose(const contest *c, double dense)
{
    work k = {.c = c, .u = vector_of(c, c->A->cols, 0)};
    BENCH_OK(dcsr_vector_create(&k.w, c->b->context, c->type, c->A->rows));
    const double before = bench_now();
    BENCH_OK(dcsr_mxv(k.w, NULL, NULL, dcsr_semiring_of(DCSR_PLUS_TIMES, c->type), c->view, k.u,
                      &(dcsr_desc){.device = DCSR_DEVICE_CUDA, .direction = DCSR_DIRECTION_PUSH}));
    const double seconds = bench_now() - before;
    bench_row(c->table, BENCH_LABELS(c->name, dcsr_type_name(c->type), "transpose"), NAN, seconds, NAN,
              dense / seconds);
    dcsr_vector_destroy(k.w), dcsr_vector_destroy(k.u);
}

static void measure_sparse(const contest *c)
{
    const double dense = time_dense(c);
    measure_transpose(c, dense);
    for (int decade = -5; decade <= 0; decade++) {
        const double share = pow(10, decade);
        for (int vxm = 0; vxm < 2; vxm++) {
            work k = {.c = c, .vxm = vxm, .u = vector_of(c, vxm ? c->A->rows : c->A->cols, share)};
            BENCH_OK(dcsr_vector_create(&k.w, c->b->context, c->type, vxm ? c->A->cols : c->A->rows));
            const bench_stat time = time_calls(c, run_ours, &k);
            bench_row(c->table, BENCH_LABELS(c->name, dcsr_type_name(c->type), vxm ? "vxm" : "mxv"), share,
                      time.median, time.spread, dense / time.median);
            dcsr_vector_destroy(k.w), dcsr_vector_destroy(k.u);
        }
    }
}

/* ---- The whole ---- */

static void measure_beside(const contest *c)
{
    measure_mxv(c);
    measure_spmm(c, "spmm_16", 16);
    measure_spmm(c, "spmm_64", 64);
}

/* Each matrix, with values of each type. */
static void compete(bench *b, bench_table *table, const char *const *names, void (*measure)(const contest *))
{
    static const dcsr_type types[] = {DCSR_FP64, DCSR_FP32};
    for (; *names; names++) {
        if (!bench_has_time(b, *names)) continue;
        bench_csr A = bench_csr_make(b, *names);
        contest c = {.b = b, .table = table, .name = *names, .A = &A};
        for (int t = 0; t < 2; t++) {
            c.type = types[t];
            float *narrow = bench_narrow(A.values, A.nnz, c.type);
            const dcsr_csr arrays = {
                A.rows, A.cols, A.nnz, c.type, A.offsets, A.columns, narrow ? (void *)narrow : A.values};
            BENCH_OK(dcsr_matrix_from_csr(&c.matrix, b->context, &arrays, NULL));
            BENCH_OK(dcsr_matrix_wait(c.matrix));
            BENCH_OK(dcsr_view_create(&c.view, c.matrix, DCSR_LAYOUT_SEGMENTS, 0));
            measure(&c);
            dcsr_view_destroy(c.view);
            dcsr_matrix_destroy(c.matrix);
            free(narrow);
        }
        bench_csr_free(&A);
    }
}

void gpu_contest_products(bench *b, const char *const *matrices)
{
    bench_note(
        b, "seconds: of a call that returns with the result, by the host's clock; peer_s: the peer's by "
           "the GPU's clock, back to back without waiting; peer_call_s: with a wait for each, by the host's");
    bench_note(b, "vectors and dense matrices are on the GPU; mxv's peer is the faster of its algorithms");
    compete(b,
            bench_table_begin(b, "gpu", "products beside cuSPARSE; ratios: the peer's time over ours",
                              "matrix type group peer | seconds:%.3g spread%:%.0f gflops:%.1f peer_s:%.3g "
                              "peer_call_s:%.3g ratio:%.2f call_ratio:%.2f"),
            matrices, measure_beside);
    compete(
        b,
        bench_table_begin(
            b, "gpu_sparse",
            "plus_times with few elements, the transpose being there; cheaper: dense mxv's time over this",
            "matrix type group | share:%.0e seconds:%.3g spread%:%.0f cheaper:%.1f"),
        matrices, measure_sparse);
}

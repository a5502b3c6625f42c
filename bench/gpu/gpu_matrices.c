/* gpu_matrices.c: operations on a GPU whose result is a matrix, beside cuSPARSE where that has them.
 *
 * `seconds` is what a caller sees of a call, which returns when the result is published, by the clock of the
 * host; and so is the peer's, with a wait, and with memory for its result that it has had before. GB/s: of
 * the entries that are read and written, each once, 12 bytes with its value. */
#include "bench/gpu/gpu_contests.h"
#include "bench/peers/peers.h"
#include "bench/place.h"
#include <dcsr/convert.h>
#include <dcsr/apply.h>
#include <dcsr/assign.h>
#include <dcsr/ewise.h>
#include <dcsr/extract.h>
#include <dcsr/mxm.h>
#include <dcsr/reduce.h>
#include <dcsr/select.h>
#include <dcsr/transpose.h>

#include <math.h>
#include <stdlib.h>

enum { ENTRY = 12, MOST_PRODUCTS = 1 << 30, FEW = 1000, FEW_ROWS = 100 };

typedef struct contest {
    bench *b;
    bench_table *table;
    const char *name;
    dcsr_matrix *A, *B, *C;
    dcsr_view *a, *other;
    uint64_t *third; /* every third row */
    /* Aggregates of 8 neighbouring rows: P has the row's, R is its transpose. */
    dcsr_matrix *P, *R;
    dcsr_view *p, *r;
    uint64_t coarse;
    uint64_t rows, cols;
    dcsr_view *few;                   /* of A's shape, with FEW entries */
    uint64_t row[FEW_ROWS], col[FEW]; /* FEW_ROWS of A's rows, and FEW of its columns */
    const peer_matrices *peer;
    void *self; /* the peer's */
    uint64_t entries;
} contest;

/* ---- The calls ---- */

static const dcsr_binary_op *plus(void)
{
    return dcsr_binary_op_named("plus", DCSR_FP64);
}

static dcsr_status add(contest *c)
{
    return dcsr_matrix_ewise_add(c->C, NULL, NULL, plus(), c->a, c->other, NULL);
}

static dcsr_status multiply_entries(contest *c)
{
    return dcsr_matrix_ewise_mult(c->C, NULL, NULL, plus(), c->a, c->other, NULL);
}

static dcsr_status apply(contest *c)
{
    return dcsr_matrix_apply(c->C, NULL, NULL, dcsr_unary_op_named("negate", DCSR_FP64), c->a, NULL);
}

static dcsr_status apply_masked(contest *c)
{
    return dcsr_matrix_apply(c->C, c->other, NULL, dcsr_unary_op_named("negate", DCSR_FP64), c->a,
                             &(dcsr_desc){.mask_structure = true, .replace = true});
}

static dcsr_status accumulate(contest *c)
{
    return dcsr_matrix_apply(c->C, NULL, plus(), dcsr_unary_op_named("negate", DCSR_FP64), c->other, NULL);
}

/* The next three are of calls that change few rows of a C which holds A. */
static dcsr_status accumulate_few(contest *c)
{
    return dcsr_matrix_apply(c->C, NULL, plus(), dcsr_unary_op_named("negate", DCSR_FP64), c->few, NULL);
}

static dcsr_status assign_few(contest *c)
{
    const double five = 5;
    return dcsr_matrix_assign_scalar(c->C, NULL, NULL, &five, DCSR_FP64, &(dcsr_index_list){c->row, FEW_ROWS},
                                     &(dcsr_index_list){c->col, FEW / FEW_ROWS}, NULL);
}

static dcsr_status apply_at_few(contest *c)
{
    return dcsr_matrix_apply(c->C, c->few, NULL, dcsr_unary_op_named("negate", DCSR_FP64), c->few,
                             &(dcsr_desc){.mask_structure = true});
}

static dcsr_status select_lower(contest *c)
{
    const int64_t diagonal = 0;
    return dcsr_matrix_select(c->C, NULL, NULL, dcsr_index_op_named("tril", DCSR_FP64), c->a, &diagonal,
                              NULL);
}

static dcsr_status transpose(contest *c)
{
    return dcsr_matrix_transpose(c->C, NULL, NULL, c->a, NULL);
}

static dcsr_status extract(contest *c)
{
    return dcsr_matrix_extract(c->C, NULL, NULL, c->a, &(dcsr_index_list){c->third, c->rows}, NULL, NULL);
}

static dcsr_status reduce(contest *c)
{
    double total;
    return dcsr_matrix_reduce(&total, NULL, dcsr_monoid_named("plus", DCSR_FP64), c->a);
}

static dcsr_status multiply(contest *c)
{
    return dcsr_mxm(c->C, NULL, NULL, dcsr_semiring_named("plus_times", DCSR_FP64), c->a, c->a, NULL);
}

static dcsr_status repeat(contest *c)
{
    return dcsr_mxm(c->C, NULL, NULL, dcsr_semiring_named("plus_times", DCSR_FP64), c->a, c->a,
                    &(dcsr_desc){.same_pattern = true});
}

static dcsr_status multiply_three(contest *c)
{
    return dcsr_rap(c->C, c->r, c->a, c->p, NULL);
}

/* As two products, which a promise of the same bits each time asks for. */
static dcsr_status multiply_twice(contest *c)
{
    return dcsr_rap(c->C, c->r, c->a, c->p, &(dcsr_desc){.deterministic = true});
}

static dcsr_status multiply_in_order(contest *c)
{
    return dcsr_mxm(c->C, NULL, NULL, dcsr_semiring_named("plus_times", DCSR_FP64), c->a, c->a,
                    &(dcsr_desc){.deterministic = true});
}

static dcsr_status multiply_masked(contest *c)
{
    return dcsr_mxm(c->C, c->a, NULL, dcsr_semiring_named("plus_times", DCSR_FP64), c->a, c->a,
                    &(dcsr_desc){.mask_structure = true, .replace = true});
}

typedef struct call {
    const char *group;
    dcsr_status (*run)(contest *c);
    bool reads_b;
    bool fresh; /* wants a view that has no transpose yet */
    bool few;   /* changes few rows of C, which holds A before */
    bool products;
    bool coarse; /* C is R A P */
    bool has_peer;
    peer_matrix_kind peer;
} call;

static const call calls[] = {
    {.group = "ewise_add", .run = add, .reads_b = true, .has_peer = true, .peer = PEER_ADD},
    {.group = "ewise_mult", .run = multiply_entries, .reads_b = true},
    {.group = "apply", .run = apply},
    {.group = "apply_masked", .run = apply_masked, .reads_b = true},
    {.group = "apply_accum", .run = accumulate},
    {.group = "accum_few", .run = accumulate_few, .few = true},
    {.group = "assign_few", .run = assign_few, .few = true},
    {.group = "mask_few", .run = apply_at_few, .few = true},
    {.group = "select", .run = select_lower},
    {.group = "transpose", .run = transpose, .fresh = true, .has_peer = true, .peer = PEER_TRANSPOSE},
    {.group = "extract_rows", .run = extract},
    {.group = "reduce", .run = reduce},
    {.group = "mxm", .run = multiply, .products = true, .has_peer = true, .peer = PEER_MULTIPLY},
    {.group = "mxm_repeat", .run = repeat, .products = true, .has_peer = true, .peer = PEER_REPEAT},
    {.group = "rap", .run = multiply_three, .products = true, .coarse = true},
    {.group = "rap_twice", .run = multiply_twice, .products = true, .coarse = true},
    {.group = "mxm_in_order", .run = multiply_in_order, .products = true},
    {.group = "mxm_masked", .run = multiply_masked, .products = true},
};

/* ---- Timing ---- */

typedef struct timed {
    contest *c;
    const call *call;
} timed;

static void run_ours(void *argument)
{
    const timed *t = argument;
    BENCH_OK(t->call->run(t->c));
}

static void run_peer(void *argument)
{
    contest *c = ((const timed *)argument)->c;
    c->entries = c->peer->run(c->self);
    bench_finish(c->b);
}

static dcsr_matrix *matrix_of(const contest *c, const bench_csr *csr)
{
    dcsr_matrix *matrix;
    const dcsr_csr arrays = {csr->rows,    csr->cols,    csr->nnz,   DCSR_FP64,
                             csr->offsets, csr->columns, csr->values};
    BENCH_OK(dcsr_matrix_from_csr(&matrix, c->b->context, &arrays, NULL));
    return matrix;
}

static void show(contest *c)
{
    BENCH_OK(dcsr_view_create(&c->a, c->A, DCSR_LAYOUT_SEGMENTS, 0));
}

/* Views of a version share its transpose: each call gets a matrix of its own. */
static bench_stat time_fresh(timed *t, const bench_csr *A)
{
    enum { TIMES = 6 };
    bench_samples samples = {0};
    for (int i = 0; i < TIMES; i++) {
        dcsr_view_destroy(t->c->a);
        dcsr_matrix_destroy(t->c->A);
        t->c->A = matrix_of(t->c, A);
        show(t->c);
        const double before = bench_now();
        run_ours(t);
        if (i) bench_samples_add(&samples, bench_now() - before);
    }
    return bench_samples_stat(&samples);
}

static uint64_t entries_of(dcsr_matrix *matrix)
{
    uint64_t n;
    BENCH_OK(dcsr_matrix_get_nnz(matrix, &n));
    return n;
}

/* The peer's time, where it has the operation and its result as many entries. */
static double time_peer(timed *t, const bench_csr *A, const bench_csr *B)
{
    contest *c = t->c;
    if (!c->peer || !t->call->has_peer) return NAN;
    c->self = c->peer->create(t->call->peer, A, B);
    const double seconds = bench_repeat(run_peer, t, 3, BENCH_SIZE(c->b, 0.05, 0.2)).median;
    c->peer->destroy(c->self);
    if (c->entries != entries_of(c->C))
        bench_die("%s of %s: the peer's result has %llu entries, ours %llu", t->call->group, c->name,
                  (unsigned long long)c->entries, (unsigned long long)entries_of(c->C));
    return seconds;
}

static void measure(contest *c, const call *k, const bench_csr *A, const bench_csr *B)
{
    timed t = {c, k};
    const uint64_t rows = k->coarse ? c->coarse : k->run == extract ? c->rows : A->rows;
    if (k->few)
        c->C = matrix_of(c, A);
    else
        BENCH_OK(
            dcsr_matrix_create(&c->C, c->b->context, DCSR_FP64, rows, k->coarse ? c->coarse : A->cols, NULL));
    const bench_stat time =
        k->fresh ? time_fresh(&t, A) : bench_repeat(run_ours, &t, 3, BENCH_SIZE(c->b, 0.05, 0.2));
    const double peer = time_peer(&t, A, B);
    const double read = (double)(k->run == accumulate ? 0 : A->nnz) + (double)(k->reads_b ? B->nnz : 0),
                 moved = k->few ? ENTRY * FEW : ENTRY * (read + (double)entries_of(c->C));
    bench_row(c->table, BENCH_LABELS(c->name, k->group, isnan(peer) ? "-" : c->peer->name), time.median,
              time.spread, 1e-9 * moved / time.median, peer, peer / time.median);
    dcsr_matrix_destroy(c->C);
}

/* Multiplications of A A. */
static double products_of(const bench_csr *A)
{
    double n = 0;
    for (uint64_t k = 0; k < A->nnz; k++)
        n += (double)(A->offsets[A->columns[k] + 1] - A->offsets[A->columns[k]]);
    return n;
}

static void make_aggregates(contest *c, const bench_csr *A)
{
    enum { TOGETHER = 8 };
    bench_csr csr = {.rows = A->rows, .nnz = A->rows};
    csr.cols = c->coarse = (A->rows + TOGETHER - 1) / TOGETHER;
    csr.offsets = bench_alloc(csr.rows + 1, sizeof *csr.offsets);
    csr.columns = bench_alloc(csr.rows, sizeof *csr.columns);
    csr.values = bench_alloc(csr.rows, sizeof *csr.values);
    for (uint64_t i = 0; i < csr.rows; i++) {
        csr.offsets[i + 1] = i + 1;
        csr.columns[i] = (uint32_t)(i / TOGETHER);
        csr.values[i] = 1;
    }
    csr.offsets[0] = 0;
    c->P = matrix_of(c, &csr);
    BENCH_OK(dcsr_view_create(&c->p, c->P, DCSR_LAYOUT_SEGMENTS, 0));
    BENCH_OK(dcsr_matrix_create(&c->R, c->b->context, DCSR_FP64, csr.cols, csr.rows, NULL));
    BENCH_OK(dcsr_matrix_transpose(c->R, NULL, NULL, c->p, NULL));
    BENCH_OK(dcsr_view_create(&c->r, c->R, DCSR_LAYOUT_SEGMENTS, 0));
    bench_csr_free(&csr);
}

/* FEW entries in FEW_ROWS rows, which are as far from one another as they can be. */
static dcsr_matrix *few_entries(contest *c, const bench_csr *A)
{
    uint64_t rows[FEW], cols[FEW];
    double values[FEW];
    dcsr_matrix *matrix;
    for (uint64_t k = 0; k < FEW_ROWS; k++) c->row[k] = k * A->rows / FEW_ROWS;
    for (uint64_t k = 0; k < FEW; k++) {
        c->col[k] = k * A->cols / FEW;
        rows[k] = c->row[k % FEW_ROWS], cols[k] = c->col[k], values[k] = 1;
    }
    BENCH_OK(dcsr_matrix_create(&matrix, c->b->context, DCSR_FP64, A->rows, A->cols, NULL));
    BENCH_OK(dcsr_matrix_insert(matrix, FEW, rows, cols, values, NULL));
    BENCH_OK(dcsr_matrix_wait(matrix));
    return matrix;
}

/* The most memory that A A takes, its result included, over the bytes of that as a CSR with 32-bit offsets; ours is
 * of a context that has nothing but A. */
static void measure_memory(bench *b, bench_table *table, const char *name)
{
    contest c = {.b = b, .peer = peer_matrix_operations()};
    bench_csr A = bench_csr_make(b, name);
    if (products_of(&A) > MOST_PRODUCTS) {
        bench_csr_free(&A);
        return;
    }
    dcsr_context *context;
    dcsr_context_info before, after;
    BENCH_OK(dcsr_context_create(&context, &(dcsr_context_options){.device = DCSR_DEVICE_CUDA}));
    const dcsr_csr arrays = {A.rows, A.cols, A.nnz, DCSR_FP64, A.offsets, A.columns, A.values};
    BENCH_OK(dcsr_matrix_from_csr(&c.A, context, &arrays, NULL));
    BENCH_OK(dcsr_matrix_create(&c.C, context, DCSR_FP64, A.rows, A.cols, NULL));
    BENCH_OK(dcsr_view_create(&c.a, c.A, DCSR_LAYOUT_SEGMENTS, 0));
    BENCH_OK(dcsr_context_get_info(context, &before));
    BENCH_OK(multiply(&c));
    BENCH_OK(dcsr_context_get_info(context, &after));
    const double result = ENTRY * (double)entries_of(c.C) + 4 * (double)A.rows;
    const double ours = (double)(after.peak_bytes - before.matrix_bytes - before.scratch_bytes);
    dcsr_view_destroy(c.a);
    dcsr_matrix_destroy(c.A), dcsr_matrix_destroy(c.C);
    dcsr_context_destroy(context);
    double peer = NAN;
    if (c.peer && c.peer->bytes) {
        void *self = c.peer->create(PEER_MULTIPLY, &A, &A);
        c.peer->run(self);
        bench_finish(b);
        peer = (double)c.peer->bytes(self);
        c.peer->destroy(self);
    }
    bench_row(table, BENCH_LABELS(name, isnan(peer) ? "-" : c.peer->name), 1e-6 * result, ours / result,
              peer / result);
    bench_csr_free(&A);
}

static void compete(bench *b, bench_table *table, const char *name)
{
    bench_csr A = bench_csr_make(b, name), B = bench_csr_sibling(b, name, &A);
    contest c = {.b = b, .table = table, .name = name, .cols = A.cols, .rows = A.rows / 3};
    c.peer = peer_matrix_operations();
    c.A = matrix_of(&c, &A), c.B = matrix_of(&c, &B);
    c.third = bench_alloc(c.rows, sizeof *c.third);
    for (uint64_t i = 0; i < c.rows; i++) c.third[i] = 3 * i;
    show(&c);
    make_aggregates(&c, &A);
    BENCH_OK(dcsr_view_create(&c.other, c.B, DCSR_LAYOUT_SEGMENTS, 0));
    dcsr_matrix *few = few_entries(&c, &A);
    BENCH_OK(dcsr_view_create(&c.few, few, DCSR_LAYOUT_SEGMENTS, 0));
    const bool multiplies = products_of(&A) <= MOST_PRODUCTS;
    for (size_t k = 0; k < sizeof calls / sizeof *calls; k++)
        if ((multiplies || !calls[k].products) && bench_has_time(b, name)) measure(&c, &calls[k], &A, &B);
    dcsr_view_destroy(c.a), dcsr_view_destroy(c.other), dcsr_view_destroy(c.few);
    dcsr_view_destroy(c.p), dcsr_view_destroy(c.r);
    dcsr_matrix_destroy(c.P), dcsr_matrix_destroy(c.R);
    dcsr_matrix_destroy(c.A), dcsr_matrix_destroy(c.B), dcsr_matrix_destroy(few);
    free(c.third);
    bench_csr_free(&A), bench_csr_free(&B);
}

void gpu_contest_matrices(bench *b, const char *const *matrices)
{
    bench_note(b,
               "seconds: of a call that returns when the result is published, by the host's clock; peer_s: "
               "the peer's with a wait, in memory that it has had before");
    bench_note(b, "mxm_repeat: C has the pattern already: we multiply anew, the peer's SpGEMMreuse_compute "
                  "has all prepared; "
                  "rap: R A P with aggregates of 8 rows, rap_twice: as two products");
    bench_note(b, "GB/s: entries that are read and written, 12 bytes each");
    bench_note(
        b, "few: 1000 entries in 100 rows, accumulated to a matrix that holds A, assigned to it, or written "
           "through a mask of these");
    bench_table *table = bench_table_begin(
        b, "gpu", "operations on matrices beside cuSPARSE; ratio: the peer's time over ours",
        "matrix group peer | seconds:%.3g spread%:%.0f GB/s:%.1f peer_s:%.3g ratio:%.2f");
    for (const char *const *name = matrices; *name; name++) compete(b, table, *name);
    table = bench_table_begin(b, "gpu_memory",
                              "the most memory of A A and its result, over the bytes of that as a CSR; peer: "
                              "buffers and result",
                              "matrix peer | result_MB:%.0f ours:%.2f peer:%.2f");
    for (; *matrices; matrices++) measure_memory(b, table, *matrices);
}

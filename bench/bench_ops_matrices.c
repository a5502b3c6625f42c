/* bench_ops_matrices.c: operations whose input or output are matrices, beside SuiteSparse:GraphBLAS.
 *
 * Each on an R-MAT graph and on a grid, with another matrix of the same shape where it takes two. Then the same on a
 * matrix of 10 x 10, where all that counts is what a call costs. */
#include "bench/gpu/gpu_contests.h"
#include "bench/peers/peer_ops.h"

#include <math.h>
#include <stdlib.h>

/* Every k-th place, n / k of them. */
static uint64_t *every(uint64_t n, uint64_t k)
{
    uint64_t *places = bench_alloc(n / k, sizeof *places);
    for (uint64_t i = 0; i < n / k; i++) places[i] = i * k;
    return places;
}

static void measure_elements(ops_contest *c, const char *name, const char *call, ops_object *A, ops_object *B)
{
#define MEASURE(group, ...) \
    ops_measure(c, call ? call : (group), name, NAN, (ops_call){.out = &C, .a = A, __VA_ARGS__})
    ops_object C = ops_empty_matrix(c->b, A->rows, A->cols);
    MEASURE("ewise", .kind = OPS_EWISE_ADD, .op = "plus", .b = B);
    MEASURE("ewise", .kind = OPS_EWISE_MULT, .op = "times", .b = B);
    MEASURE("apply", .kind = OPS_APPLY, .op = "negate");
    MEASURE("apply", .kind = OPS_APPLY_SECOND, .op = "times", .scalar = 3);
    MEASURE("apply", .kind = OPS_APPLY, .op = "abs", .mask = B,
            .desc = {.mask_structure = true, .replace = true});
    MEASURE("select", .kind = OPS_SELECT, .op = "tril");
    MEASURE("select", .kind = OPS_SELECT, .op = "value_gt", .scalar = 1);
    MEASURE("transpose", .kind = OPS_TRANSPOSE, .fresh = true);
    ops_free(&C);
    ops_object w = ops_vector(c->b, A->rows, 0, 0), v = ops_vector(c->b, A->cols, 0, 0);
    ops_measure(c, call ? call : "reduce", name, NAN,
                (ops_call){.kind = OPS_REDUCE, .op = "plus", .out = &w, .a = A});
    ops_measure(c, call ? call : "reduce_rows", name, NAN,
                (ops_call){.kind = OPS_REDUCE_ROWS, .op = "plus", .out = &w, .a = A});
    ops_measure(c, call ? call : "reduce_columns", name, NAN,
                (ops_call){.kind = OPS_REDUCE_ROWS,
                           .op = "plus",
                           .out = &v,
                           .a = A,
                           .desc = {.transpose_a = true},
                           .fresh = true});
    ops_free(&w), ops_free(&v);
}

/* Every third row and column out of A, and such a part into C. */
static void measure_places(ops_contest *c, const char *name, const char *call, bench_csr *csr, ops_object *A)
{
    const uint64_t rows = csr->rows / 3, cols = csr->cols / 3;
    uint64_t *third_rows = every(csr->rows, 3), *third_cols = every(csr->cols, 3);
    ops_object part = ops_empty_matrix(c->b, rows, cols), C = ops_matrix(c->b, csr, DCSR_LAYOUT_SEGMENTS);
    ops_call extract = {.kind = OPS_EXTRACT,
                        .out = &part,
                        .a = A,
                        .rows = third_rows,
                        .nrows = rows,
                        .cols = third_cols,
                        .ncols = cols};
    ops_measure(c, call ? call : "extract", name, NAN, extract);
    extract.cols = NULL, extract.ncols = csr->cols;
    ops_object wide = ops_empty_matrix(c->b, rows, csr->cols);
    extract.out = &wide;
    ops_measure(c, call ? call : "extract", name, NAN, extract);
    BENCH_OK(dcsr_view_create(&part.view, part.matrix, DCSR_LAYOUT_SEGMENTS, 0));
    ops_measure(c, call ? call : "assign", name, NAN,
                (ops_call){.kind = OPS_ASSIGN,
                           .out = &C,
                           .a = &part,
                           .rows = third_rows,
                           .nrows = rows,
                           .cols = third_cols,
                           .ncols = cols});
    ops_measure(c, call ? call : "assign", name, NAN,
                (ops_call){.kind = OPS_ASSIGN_SCALAR,
                           .out = &C,
                           .mask = A,
                           .scalar = 5,
                           .nrows = csr->rows,
                           .ncols = csr->cols,
                           .desc = {.mask_structure = true}});
    ops_free(&part), ops_free(&C), ops_free(&wide);
    free(third_rows), free(third_cols);
}

static void on_matrix(ops_contest *c, const char *name, const char *call)
{
    bench_csr csr = bench_csr_make(c->b, name), csr_b = bench_csr_sibling(c->b, name, &csr);
    ops_object A = ops_matrix(c->b, &csr, DCSR_LAYOUT_SEGMENTS),
               B = ops_matrix(c->b, &csr_b, DCSR_LAYOUT_SEGMENTS);
    measure_elements(c, name, call, &A, &B);
    measure_places(c, name, call, &csr, &A);
    ops_free(&A), ops_free(&B);
    bench_csr_free(&csr), bench_csr_free(&csr_b);
}

int main(int argc, char **argv)
{
    static const char *const quick[] = {"poisson2d5:64", "rmat:10,8", NULL};
    static const char *const on_gpu[] = {"rmat:18,16",     "poisson2d5:1024", "rmat:20,16",
                                         "poisson3d27:60", "poisson2d5:4096", NULL};
    bench b;
    ops_contest c;
    bench_begin(&b, argc, argv, "ops_matrices", "How fast are operations on matrices, beside GraphBLAS?");
    bench_note(&b, "ewise: plus, times; apply: negate, times 3, abs masked by the other matrix; select: "
                   "below the diagonal, values above 1; extract: every third row and column, every third "
                   "row; assign: such a part, a scalar masked by A");
    bench_note(&b, "transpose, reduce_columns: of a version that was not transposed before; out of a matrix "
                   "in rows, for both");
    bench_note(&b, "call: all of these on a matrix of 10 x 10");
    if (b.gpu) gpu_contest_matrices(&b, BENCH_SIZE(&b, quick, on_gpu));
    ops_contest_begin(&c, &b, "ops", "operations on matrices; ratio: the peer's time over ours");
    on_matrix(&c, b.quick ? "rmat:12,16" : "rmat:18,16", NULL);
    on_matrix(&c, b.quick ? "poisson2d5:64" : "poisson2d5:1024", NULL);
    on_matrix(&c, "er:10,30", "call");
    ops_contest_end(&c);
    return bench_end(&b);
}

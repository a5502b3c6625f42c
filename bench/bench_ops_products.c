/* bench_ops_products.c: products of matrices with vectors and with dense matrices, beside
 * SuiteSparse:GraphBLAS.
 *
 * What a product costs should follow what there is to do: the entries of the vector where few are there (mxv
 * and vxm over the share of the elements, 1e-5 to 1), the mask where that lets few elements through (over its
 * share, 1e-4 to 1). On a GPU there are cuSPARSE and more matrices besides (gpu_products.c). */
#include "bench/gpu/gpu_contests.h"
#include "bench/peers/peer_ops.h"

#include <math.h>
#include <stdlib.h>

static const dcsr_desc masked = {.mask_structure = true, .replace = true};

static void measure_dense(ops_contest *c, const char *name, ops_object *A)
{
    static const char *const semirings[] = {"plus_times", "min_plus"};
    ops_object u = ops_vector(c->b, A->cols, 1, 1), w = ops_vector(c->b, A->rows, 0, 0);
    for (int s = 0; s < 2; s++)
        ops_measure(c, "mxv_dense", name, 1,
                    (ops_call){.kind = OPS_MXV, .op = semirings[s], .out = &w, .a = A, .b = &u});
    ops_free(&u), ops_free(&w);
}

static void measure_sparse(ops_contest *c, const char *name, ops_object *A)
{
    for (int decade = -5; decade <= 0; decade++) {
        const double share = pow(10, decade);
        ops_object u = ops_vector(c->b, A->cols, share, 5), w = ops_vector(c->b, A->rows, 0, 0);
        ops_measure(c, "mxv_sparse", name, share,
                    (ops_call){.kind = OPS_MXV, .op = "plus_times", .out = &w, .a = A, .b = &u});
        ops_measure(c, "vxm_sparse", name, share,
                    (ops_call){.kind = OPS_VXM, .op = "min_plus", .out = &w, .a = &u, .b = A});
        ops_free(&u), ops_free(&w);
    }
}

static void measure_masked(ops_contest *c, const char *name, ops_object *A)
{
    ops_object u = ops_vector(c->b, A->cols, 1, 1), w = ops_vector(c->b, A->rows, 0, 0);
    for (int decade = -4; decade <= 0; decade++) {
        const double share = pow(10, decade);
        ops_object mask = ops_vector(c->b, A->rows, share, 6);
        ops_measure(c, "mxv_masked", name, share,
                    (ops_call){.kind = OPS_MXV,
                               .op = "plus_times",
                               .out = &w,
                               .mask = &mask,
                               .a = A,
                               .b = &u,
                               .desc = masked});
        ops_free(&mask);
    }
    ops_free(&u), ops_free(&w);
}

/* A step of a breadth-first search: the frontier is the vector, and what was visited is masked out. */
static void measure_steps(ops_contest *c, const char *name, ops_object *A)
{
    static const double frontier[] = {1e-4, 1e-2, 0.3}, visited[] = {1e-3, 0.1, 0.6};
    for (int s = 0; s < 3; s++) {
        ops_object u = ops_vector(c->b, A->rows, frontier[s], 7), w = ops_vector(c->b, A->cols, 0, 0);
        ops_object mask = ops_vector(c->b, A->cols, visited[s], 8);
        ops_measure(c, "vxm_step", name, frontier[s],
                    (ops_call){.kind = OPS_VXM,
                               .op = "any_pair",
                               .out = &w,
                               .mask = &mask,
                               .a = &u,
                               .b = A,
                               .desc = {.mask_structure = true, .mask_complement = true, .replace = true}});
        ops_free(&u), ops_free(&w), ops_free(&mask);
    }
}

static void measure_spmm(ops_contest *c, const char *name, ops_object *A)
{
    static const struct {
        const char *group;
        uint64_t columns;
    } widths[] = {{"spmm_16", 16}, {"spmm_64", 64}};
    for (int k = 0; k < 2; k++) {
        ops_object X = ops_dense(c->b, A->cols, widths[k].columns),
                   Y = ops_dense(c->b, A->rows, widths[k].columns);
        ops_measure(c, widths[k].group, name, NAN,
                    (ops_call){.kind = OPS_SPMM, .op = "plus_times", .out = &Y, .a = A, .b = &X});
        ops_free(&X), ops_free(&Y);
    }
}

static void measure_calls(ops_contest *c)
{
    bench_csr csr = bench_csr_make(c->b, "er:10,30");
    ops_object A = ops_matrix(c->b, &csr, DCSR_LAYOUT_CSC), u = ops_vector(c->b, 10, 0.3, 1),
               v = ops_vector(c->b, 10, 1, 1);
    ops_object w = ops_vector(c->b, 10, 0, 0), X = ops_dense(c->b, 10, 4), Y = ops_dense(c->b, 10, 4);
    ops_measure(c, "call", "er:10,30", 1,
                (ops_call){.kind = OPS_MXV, .op = "plus_times", .out = &w, .a = &A, .b = &v});
    ops_measure(c, "call", "er:10,30", 0.3,
                (ops_call){.kind = OPS_MXV, .op = "plus_times", .out = &w, .a = &A, .b = &u});
    ops_measure(c, "call", "er:10,30", 0.3,
                (ops_call){.kind = OPS_VXM, .op = "min_plus", .out = &w, .a = &u, .b = &A});
    ops_measure(
        c, "call", "er:10,30", 0.3,
        (ops_call){
            .kind = OPS_MXV, .op = "plus_times", .out = &w, .mask = &u, .a = &A, .b = &v, .desc = masked});
    ops_measure(c, "call", "er:10,30", NAN,
                (ops_call){.kind = OPS_SPMM, .op = "plus_times", .out = &Y, .a = &A, .b = &X});
    ops_free(&A), ops_free(&u), ops_free(&v), ops_free(&w), ops_free(&X), ops_free(&Y);
    bench_csr_free(&csr);
}

static void on_matrix(ops_contest *c, const char *name, bool all)
{
    bench_csr csr = bench_csr_make(c->b, name);
    ops_object A = ops_matrix(c->b, &csr, c->b->gpu ? DCSR_LAYOUT_SEGMENTS : DCSR_LAYOUT_CSC);
    bench_note(c->b, "%s: %llu rows, %llu entries", name, (unsigned long long)csr.rows,
               (unsigned long long)csr.nnz);
    measure_dense(c, name, &A);
    if (all) {
        measure_sparse(c, name, &A);
        measure_masked(c, name, &A);
        measure_steps(c, name, &A);
        if (!c->b->gpu) measure_spmm(c, name, &A); /* whose arrays are on the host */
    }
    ops_free(&A);
    bench_csr_free(&csr);
}

int main(int argc, char **argv)
{
    static const char *const quick[] = {"poisson2d5:64", "rmat:12,16", NULL};
    static const char *const on_gpu[] = {"rmat:18,16",      "poisson2d5:1024", "rmat:20,16",
                                         "poisson3d27:100", "rmat:22,16",      NULL};
    bench b;
    ops_contest c;
    bench_begin(&b, argc, argv, "ops_products",
                "How fast are products over semirings, masked or not, beside GraphBLAS?");
    bench_note(
        &b, "share: of the vector's elements that are there, chosen at random; of mxv_masked, of the mask's");
    bench_note(&b,
               "mxv_sparse: w = A u over plus_times; vxm_sparse: w = u A over min_plus; mxv_masked: w<mask> "
               "= A u, structure and replace, u dense; vxm_step: w<not visited> = u A over any_pair");
    bench_note(
        &b, "spmm_16, spmm_64: Y = A X of so many columns, row-major; call: the same on a matrix of 10 x 10");
    if (b.gpu) gpu_contest_products(&b, BENCH_SIZE(&b, quick, on_gpu));
    ops_contest_begin(&c, &b, "ops", "products; ratio: the peer's time over ours");
    on_matrix(&c, b.quick ? "rmat:12,16" : "rmat:18,16", true);
    on_matrix(&c, b.quick ? "poisson2d5:64" : "poisson2d5:1024", true);
    if (!b.quick) on_matrix(&c, "rmat:20,16", false);
    measure_calls(&c);
    ops_contest_end(&c);
    return bench_end(&b);
}

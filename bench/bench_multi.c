/* bench_multi.c: one matrix on several devices, beside the same matrix on one: products, what cutting it up costs, and
 * the share of time in which devices wait for each other.
 *
 * Strong scaling: the matrix stays, devices become more; on the cpu each of K devices has a K-th of the threads, so
 * there it shows what being in parts costs. The peer is dcsr on one device with the same threads, in the same run. */
#include "bench/harness.h"
#include "bench/inputs.h"
#include <dcsr/convert.h>
#include <dcsr/multi.h>
#include <dcsr/spmv.h>
#include <dcsr/vector.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Products ---- */

typedef struct product {
    dcsr_view *view; /* NULL: on several devices */
    void *x, *y;     /* in the memory of the device */
    dcsr_multi_view *parts;
    dcsr_multi_vector *multi_x, *multi_y;
    double communication, seconds;
} product;

static void multiply(void *user)
{
    product *p = user;
    dcsr_multi_report report;
    if (p->view) {
        BENCH_OK(dcsr_spmv(p->y, p->view, p->x));
        return;
    }
    BENCH_OK(dcsr_multi_spmv(p->multi_y, p->parts, p->multi_x, &report));
    p->communication += report.communication;
    p->seconds += report.seconds;
}

typedef struct cutting {
    dcsr_multi *devices;
    dcsr_csr csr;
} cutting;

static void cut(void *user)
{
    const cutting *c = user;
    dcsr_multi_matrix *matrix;
    BENCH_OK(dcsr_multi_matrix_from_csr(&matrix, c->devices, &c->csr, NULL));
    dcsr_multi_matrix_destroy(matrix);
}

static void take_whole(void *user)
{
    const cutting *c = user;
    dcsr_matrix *matrix;
    dcsr_multi_info info;
    BENCH_OK(dcsr_multi_get_info(c->devices, &info));
    BENCH_OK(dcsr_matrix_from_csr(&matrix, info.context[0], &c->csr, NULL));
    dcsr_matrix_destroy(matrix);
}

/* A full vector, and where products find its values. */
static dcsr_vector *make_vector(const bench *b, uint64_t n, void **values)
{
    dcsr_vector *vector;
    BENCH_OK(dcsr_vector_create(&vector, b->context, DCSR_FP64, n));
    BENCH_OK(dcsr_vector_fill(vector, &(double){1}));
    BENCH_OK(b->gpu ? dcsr_vector_get_values_on_device(vector, values)
                    : dcsr_vector_get_values(vector, values));
    return vector;
}

/* One device, the whole: seconds of a product. */
static double measure_whole(bench *b, const bench_csr *A, const dcsr_csr *csr, bench_table *table,
                            const char *name, double seconds)
{
    dcsr_matrix *matrix;
    product p = {0};
    dcsr_vector *x = make_vector(b, A->cols, &p.x), *y = make_vector(b, A->rows, &p.y);
    BENCH_OK(dcsr_matrix_from_csr(&matrix, b->context, csr, NULL));
    BENCH_OK(dcsr_view_create(&p.view, matrix, DCSR_LAYOUT_SEGMENTS, 0));
    const bench_stat stat = bench_repeat(multiply, &p, 5, seconds);
    bench_row(table, BENCH_LABELS(name, "one"), stat.median * 1e3, 2e-9 * (double)A->nnz / stat.median, 1, 1,
              NAN, NAN);
    dcsr_view_destroy(p.view);
    dcsr_matrix_destroy(matrix);
    dcsr_vector_destroy(x), dcsr_vector_destroy(y);
    return stat.median;
}

static void measure_parts(bench *b, const bench_csr *A, const dcsr_csr *csr, bench_table *table,
                          const char *name, int count, double whole, double seconds)
{
    char text[32];
    dcsr_multi *devices = bench_open_devices(b, count, text, sizeof text);
    dcsr_multi_matrix *matrix;
    dcsr_multi_view_info info;
    cutting c = {devices, *csr};
    product p = {0};
    double *x = bench_vector(A->cols);
    const bench_stat cut_up = bench_repeat(cut, &c, 3, seconds / 4),
                     copied = bench_repeat(take_whole, &c, 3, seconds / 4);
    BENCH_OK(dcsr_multi_matrix_from_csr(&matrix, devices, csr, NULL));
    BENCH_OK(dcsr_multi_view_create(&p.parts, matrix, DCSR_LAYOUT_SEGMENTS, 0));
    BENCH_OK(dcsr_multi_view_get_info(p.parts, &info));
    BENCH_OK(dcsr_multi_vector_create(&p.multi_x, p.parts, DCSR_FP64, true));
    BENCH_OK(dcsr_multi_vector_create(&p.multi_y, p.parts, DCSR_FP64, false));
    BENCH_OK(dcsr_multi_vector_from_array(p.multi_x, x));
    const bench_stat stat = bench_repeat(multiply, &p, 5, seconds);
    bench_row(table, BENCH_LABELS(name, text), stat.median * 1e3, 2e-9 * (double)A->nnz / stat.median,
              whole / stat.median, info.balance, p.communication / p.seconds,
              (cut_up.median - copied.median) / whole);
    dcsr_multi_vector_destroy(p.multi_x);
    dcsr_multi_vector_destroy(p.multi_y);
    dcsr_multi_view_destroy(p.parts);
    dcsr_multi_matrix_destroy(matrix);
    dcsr_multi_destroy(devices);
    free(x);
}

static void measure_products(bench *b, bench_table *table, const char *name)
{
    if (!bench_has_time(b, name)) return;
    const double seconds = BENCH_SIZE(b, 0.05, 1.0);
    bench_csr A = bench_csr_make(b, name);
    const dcsr_csr csr = {.rows = A.rows,
                          .cols = A.cols,
                          .nnz = A.nnz,
                          .type = DCSR_FP64,
                          .offsets = A.offsets,
                          .col_indices = A.columns,
                          .values = A.values};
    const double whole = measure_whole(b, &A, &csr, table, name, seconds);
    for (int count = 1; count <= bench_most_devices(b); count *= 2)
        measure_parts(b, &A, &csr, table, name, count, whole, seconds);
    bench_csr_free(&A);
}

int main(int argc, char **argv)
{
    bench b;
    bench_begin(&b, argc, argv, "multi", "What does one matrix on several devices gain, and cost?");
    bench_table *products = bench_table_begin(&b, "multi_spmv", "y = A x, fp64",
                                              "matrix devices | ms:%.3f gflops:%.2f times_one:%.2f "
                                              "balance:%.3f communication:%.3f cutting_in_spmvs:%.2f");
    static const char *const quick[] = {"poisson2d5:100", "rmat:12,8"};
    static const char *const full[] = {"poisson2d5:2000", "poisson3d7:120", "rmat:20,16"};
    for (int k = 0; b.quick && k < 2; k++) measure_products(&b, products, quick[k]);
    for (int k = 0; !b.quick && k < 3; k++) measure_products(&b, products, full[k]);
    return bench_end(&b);
}

/* bench_scaling.c: how y = A x and conjugate gradients scale over devices, on matrices that are large enough for them.
 *
 * Strong scaling: the matrix stays, devices become more. Weak scaling: a grid has as many points for each device. The
 * peer is one dcsr_matrix on one device with x and y in its memory, in the same run; of conjugate gradients it is one
 * device of the same kind. The first product of a view finds out what parts need of one another: `first` is what that
 * of the first view takes, in products, for which kernels are loaded, too, and `again` that of another view; `exposed`
 * is the share of a product in which a device waited for what others had to send. */
#include "bench/harness.h"
#include "bench/inputs.h"
#include <dcsr/convert.h>
#include <dcsr/generate.h>
#include <dcsr/multi.h>
#include <dcsr/spmv.h>
#include <dcsr/vector.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 5, MANY = 45 }; /* iterations, whose difference is measured */

/* ---- Inputs, made fast ---- */

/* R-MAT as graph stores are measured with, 16 edges a vertex, by the store itself, in batches; of equal edges one
 * stays. */
static dcsr_matrix *make_rmat(bench *b, int scale)
{
    const uint64_t n = (uint64_t)1 << scale, edges = 16 * n, batch = (uint64_t)1 << 24;
    dcsr_matrix *matrix;
    double *value = bench_alloc(batch, sizeof *value);
    for (uint64_t i = 0; i < batch; i++) value[i] = 0.5 + (double)(bench_mix(i) % 1024) / 1024;
    BENCH_OK(dcsr_matrix_create(&matrix, b->context, DCSR_FP64, n, n, NULL));
    for (uint64_t first = 0; first < edges; first += batch) {
        const uint64_t count = edges - first < batch ? edges - first : batch;
        dcsr_coo coo;
        BENCH_OK(dcsr_coo_generate_rmat(&coo, b->host, &(dcsr_rmat){scale, .57, .19, .19, 1}, first, count));
        BENCH_OK(dcsr_matrix_insert(matrix, count, coo.row_indices, coo.col_indices, value, NULL));
        dcsr_coo_free(&coo);
    }
    BENCH_OK(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
    BENCH_OK(dcsr_matrix_wait(matrix));
    free(value);
    return matrix;
}

/* ---- Products ---- */

typedef struct product {
    dcsr_view *view; /* NULL: on several devices */
    void *x, *y;
    dcsr_multi_view *parts;
    dcsr_multi_vector *multi_x, *multi_y;
    double communication, seconds;
    uint64_t bytes;
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
    p->bytes = report.bytes;
}

/* A full vector, and where its values are for products. */
static dcsr_vector *make_vector(bench *b, uint64_t n, void **values)
{
    dcsr_vector *vector;
    BENCH_OK(dcsr_vector_create(&vector, b->context, DCSR_FP64, n));
    BENCH_OK(dcsr_vector_fill(vector, &(double){1}));
    BENCH_OK(b->gpu ? dcsr_vector_get_values_on_device(vector, values)
                    : dcsr_vector_get_values(vector, values));
    return vector;
}

/* Seconds of a product with the whole on one device. */
static double measure_whole(bench *b, dcsr_matrix *matrix, bench_table *table, const char *name,
                            double seconds)
{
    product p = {0};
    dcsr_matrix_info info;
    BENCH_OK(dcsr_matrix_get_info(matrix, &info));
    BENCH_OK(dcsr_view_create(&p.view, matrix, DCSR_LAYOUT_SEGMENTS, 0));
    dcsr_vector *x = make_vector(b, info.cols, &p.x), *y = make_vector(b, info.rows, &p.y);
    const bench_stat stat = bench_repeat(multiply, &p, 5, seconds);
    bench_row(table, BENCH_LABELS(name, "one"), stat.median * 1e3, 2e-9 * (double)info.stored / stat.median,
              1, 1, 1, 0, 0, NAN, NAN, NAN, NAN, NAN);
    dcsr_vector_destroy(x), dcsr_vector_destroy(y);
    dcsr_view_destroy(p.view);
    return stat.median;
}

static void open_product(product *p, dcsr_multi_matrix *matrix)
{
    BENCH_OK(dcsr_multi_view_create(&p->parts, matrix, DCSR_LAYOUT_SEGMENTS, 0));
    BENCH_OK(dcsr_multi_vector_create(&p->multi_x, p->parts, DCSR_FP64, true));
    BENCH_OK(dcsr_multi_vector_create(&p->multi_y, p->parts, DCSR_FP64, false));
    BENCH_OK(dcsr_multi_vector_fill(p->multi_x, &(double){1}));
    /* So that the first product need not take its memory. */
    BENCH_OK(dcsr_multi_vector_fill(p->multi_y, &(double){0}));
}

static void close_product(product *p)
{
    dcsr_multi_vector_destroy(p->multi_x), dcsr_multi_vector_destroy(p->multi_y);
    dcsr_multi_view_destroy(p->parts);
}

/* Seconds of the first product with a new view, which is left open. */
static double first_product(product *p, dcsr_multi_matrix *matrix)
{
    *p = (product){0};
    open_product(p, matrix);
    const double start = bench_now();
    multiply(p);
    return bench_now() - start;
}

/* ---- Conjugate gradients ---- */

static double solve(dcsr_multi_view *A, const double *b, double *x, uint64_t n, uint64_t iterations)
{
    dcsr_multi_cg_result result;
    memset(x, 0, n * sizeof *x);
    const double start = bench_now();
    BENCH_OK(dcsr_multi_cg(x, &result, A, b,
                           &(dcsr_multi_cg_options){.tolerance = 1e-300, .max_iterations = iterations}));
    if (result.iterations != iterations)
        bench_die("%d iterations, not %d", (int)result.iterations, (int)iterations);
    return bench_now() - start;
}

/* Seconds of an iteration. */
static double measure_cg(dcsr_multi_view *A, uint64_t n)
{
    double *b = bench_alloc(n, sizeof *b), *x = bench_alloc(n, sizeof *x);
#pragma omp parallel for
    for (uint64_t i = 0; i < n; i++) b[i] = (double)(bench_mix(i) % 1000) / 1000, x[i] = 0;
    solve(A, b, x, n, 1);
    const double few = solve(A, b, x, n, FEW), many = solve(A, b, x, n, MANY);
    free(b), free(x);
    return (many - few) / (MANY - FEW);
}

/* ---- What is measured ---- */

/* Seconds on one device, of a product and of an iteration. */
typedef struct alone {
    double product, iteration;
} alone;

/* Products with the parts, and conjugate gradients if one->iteration is not NaN; it is set where it is 0. */
static void measure_parts(dcsr_multi_matrix *matrix, bench_table *table, const char *name, const char *text,
                          int count, alone *one, double seconds)
{
    product p;
    dcsr_multi_view_info info;
    const double first = first_product(&p, matrix);
    close_product(&p);
    const double again = first_product(&p, matrix);
    BENCH_OK(dcsr_multi_view_get_info(p.parts, &info));
    p.communication = p.seconds = 0;
    const bench_stat stat = bench_repeat(multiply, &p, 5, seconds);
    const double iteration = isnan(one->iteration) ? NAN : measure_cg(p.parts, info.rows);
    if (!(one->iteration > 0)) one->iteration = iteration;
    bench_row(table, BENCH_LABELS(name, text), stat.median * 1e3, 2e-9 * (double)info.nnz / stat.median,
              one->product / stat.median, one->product / stat.median / count, info.balance,
              1e-6 * (double)p.bytes, p.communication / p.seconds, first / stat.median, again / stat.median,
              1 / iteration, one->iteration / iteration, one->iteration / iteration / count);
    close_product(&p);
}

static void measure_grid(bench *b, bench_table *table, int dimensions, uint64_t side)
{
    char name[32], text[32];
    const double seconds = b->quick ? 0.02 : 0.3;
    snprintf(name, sizeof name, "poisson%dd%d:%d", dimensions, 2 * dimensions + 1, (int)side);
    if (!bench_has_time(b, name)) return;
    bench_csr A = bench_csr_grid(dimensions, side);
    const dcsr_csr csr = bench_csr_lent(&A);
    dcsr_matrix *matrix;
    BENCH_OK(dcsr_matrix_from_csr(&matrix, b->context, &csr, NULL));
    alone one = {measure_whole(b, matrix, table, name, seconds), 0};
    dcsr_matrix_destroy(matrix);
    for (int count = 1; count <= bench_most_devices(b); count *= 2) {
        dcsr_multi_matrix *parts;
        dcsr_multi *devices = bench_open_devices(b, count, text, sizeof text);
        BENCH_OK(dcsr_multi_matrix_from_csr(&parts, devices, &csr, NULL));
        measure_parts(parts, table, name, text, count, &one, seconds);
        dcsr_multi_matrix_destroy(parts);
        dcsr_multi_destroy(devices);
    }
    bench_csr_free(&A);
}

static void measure_rmat(bench *b, bench_table *table, int scale)
{
    char name[32], text[32];
    const double seconds = b->quick ? 0.02 : 0.3;
    snprintf(name, sizeof name, "rmat:%d,16", scale);
    if (!bench_has_time(b, name)) return;
    dcsr_matrix *matrix = make_rmat(b, scale);
    dcsr_view *view;
    alone one = {measure_whole(b, matrix, table, name, seconds), NAN};
    BENCH_OK(dcsr_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, 0));
    for (int count = 1; count <= bench_most_devices(b); count *= 2) {
        dcsr_multi_matrix *parts;
        dcsr_multi *devices = bench_open_devices(b, count, text, sizeof text);
        BENCH_OK(dcsr_multi_matrix_from_view(&parts, devices, view, NULL));
        measure_parts(parts, table, name, text, count, &one, seconds);
        dcsr_multi_matrix_destroy(parts);
        dcsr_multi_destroy(devices);
    }
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
}

/* Grids whose devices have as many points each, about. */
static void measure_weak(bench *b, bench_table *table, uint64_t side)
{
    double one_product = NAN;
    for (int count = 1; count <= bench_most_devices(b) && bench_has_time(b, "weak scaling"); count *= 2) {
        char name[32], text[32];
        const uint64_t longer = (uint64_t)((double)side * sqrt(count));
        product p = {0};
        dcsr_multi_matrix *parts;
        snprintf(name, sizeof name, "poisson2d5:%d", (int)longer);
        bench_csr A = bench_csr_grid(2, longer);
        const dcsr_csr csr = bench_csr_lent(&A);
        dcsr_multi *devices = bench_open_devices(b, count, text, sizeof text);
        BENCH_OK(dcsr_multi_matrix_from_csr(&parts, devices, &csr, NULL));
        open_product(&p, parts);
        const bench_stat stat = bench_repeat(multiply, &p, 5, b->quick ? 0.02 : 0.3);
        const double of_row = stat.median / (double)A.rows;
        if (count == 1) one_product = of_row;
        bench_row(table, BENCH_LABELS(name, text), stat.median * 1e3, one_product / of_row / count);
        close_product(&p);
        dcsr_multi_matrix_destroy(parts);
        dcsr_multi_destroy(devices);
        bench_csr_free(&A);
    }
}

int main(int argc, char **argv)
{
    bench b;
    bench_begin(&b, argc, argv, "scaling", "How do products and conjugate gradients scale over devices?");
    bench_table *strong =
        bench_table_begin(&b, "scaling", "y = A x and conjugate gradients (cg), fp64, vectors on the devices",
                          "matrix devices | ms:%.3f gflops:%.2f times_one:%.3f of_linear:%.3f balance:%.3f "
                          "sent_mb:%.3f exposed:%.3f "
                          "first:%.1f again:%.1f cg_per_s:%.1f cg_times_one:%.3f cg_of_linear:%.3f");
    measure_grid(&b, strong, 2, (uint64_t)BENCH_SIZE_ON(&b, 60, 700, 10000));
    measure_rmat(&b, strong, BENCH_SIZE_ON(&b, 8, 16, 22));
    measure_rmat(&b, strong, BENCH_SIZE_ON(&b, 9, 17, 24));
    if (b.gpu && !b.quick && bench_has_time(&b, "rmat:26,16")) measure_rmat(&b, strong, 26);
    measure_grid(&b, strong, 3, (uint64_t)BENCH_SIZE_ON(&b, 12, 80, 368));
    bench_table *weak = bench_table_begin(&b, "scaling_weak", "y = A x with as many points for each device",
                                          "matrix devices | ms:%.3f of_linear:%.3f");
    measure_weak(&b, weak, (uint64_t)BENCH_SIZE_ON(&b, 50, 500, 6000));
    return bench_end(&b);
}

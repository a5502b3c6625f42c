/* bench_multi_matrices.c: products with matrices, transposes, shortest paths, components and triangles of a matrix on
 * several devices, beside the same on one; and making a matrix on the first of them, which shows what it costs that
 * others may touch its memory. `exchange` is the time of the device that spent most on getting what others have.
 *
 * As in bench_multi.c, K devices on the cpu have a K-th of the threads each: what is seen there is what being in parts
 * costs. The peer is dcsr on one device with the same threads, in the same run. Of the larger matrices, on GPUs,
 * transposes and products alone are measured. */
#include "bench/harness.h"
#include "bench/inputs.h"
#include <dcsr/convert.h>
#include <dcsr/multi.h>
#include <dcsr/mxm.h>
#include <dcsr/spmm.h>
#include <dcsr/transpose.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 8, COLUMNS = 32 };

typedef struct input {
    dcsr_view *view; /* NULL: on several devices */
    dcsr_context *context;
    dcsr_multi_view *parts;
    double *X, *Y;
    uint64_t n;
    bool symmetric; /* each edge is there in both directions */
    const dcsr_csr *csr;
    double bytes, exchange; /* that devices sent to each other, and the seconds of it, of the last call */
} input;

static void make(void *user)
{
    input *in = user;
    dcsr_matrix *made;
    BENCH_OK(dcsr_matrix_from_csr(&made, in->context, in->csr, NULL));
    dcsr_matrix_destroy(made);
}

static void transpose(void *user)
{
    input *in = user;
    dcsr_multi_report report;
    if (in->view) {
        dcsr_matrix *made;
        BENCH_OK(dcsr_matrix_create(&made, in->context, DCSR_FP64, in->n, in->n, NULL));
        BENCH_OK(dcsr_matrix_transpose(made, NULL, NULL, in->view, NULL));
        dcsr_matrix_destroy(made);
        return;
    }
    dcsr_multi_matrix *made;
    BENCH_OK(dcsr_multi_transpose(&made, in->parts, &report));
    dcsr_multi_matrix_destroy(made);
    in->bytes = (double)report.bytes;
    in->exchange = report.communication;
}

static void square(void *user)
{
    input *in = user;
    const dcsr_semiring *semiring = dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_FP64);
    dcsr_multi_report report;
    if (in->view) {
        dcsr_matrix *made;
        BENCH_OK(dcsr_matrix_create(&made, in->context, DCSR_FP64, in->n, in->n, NULL));
        BENCH_OK(dcsr_mxm(made, NULL, NULL, semiring, in->view, in->view, NULL));
        dcsr_matrix_destroy(made);
        return;
    }
    dcsr_multi_matrix *made;
    BENCH_OK(dcsr_multi_mxm(&made, DCSR_FP64, NULL, semiring, in->parts, in->parts, NULL, &report));
    dcsr_multi_matrix_destroy(made);
    in->bytes = (double)report.bytes;
    in->exchange = report.communication;
}

static void spmm(void *user)
{
    input *in = user;
    const dcsr_semiring *semiring = dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_FP64);
    if (in->view)
        BENCH_OK(dcsr_spmm(in->Y, NULL, NULL, semiring, in->view, in->X, COLUMNS, NULL));
    else
        BENCH_OK(dcsr_multi_spmm(in->Y, NULL, NULL, semiring, in->parts, in->X, COLUMNS, NULL));
}

static void sssp(void *user)
{
    input *in = user;
    if (in->view)
        BENCH_OK(dcsr_sssp(in->Y, NULL, in->view, 0, NULL));
    else
        BENCH_OK(dcsr_multi_sssp(in->Y, NULL, in->parts, 0, NULL));
}

static void components(void *user)
{
    input *in = user;
    dcsr_components_result result;
    const dcsr_graph_options o = {.symmetric = false};
    if (in->view)
        BENCH_OK(dcsr_components(NULL, &result, in->view, &o));
    else
        BENCH_OK(dcsr_multi_components(NULL, &result, in->parts, &o));
}

static void triangles(void *user)
{
    input *in = user;
    dcsr_triangles_result result;
    const dcsr_graph_options o = {.symmetric = in->symmetric};
    if (in->view)
        BENCH_OK(dcsr_triangles(NULL, &result, in->view, &o));
    else
        BENCH_OK(dcsr_multi_triangles(NULL, &result, in->parts, &o));
}

static const struct {
    const char *name;
    void (*run)(void *user);
} operations[] = {{"make", make}, {"transpose", transpose}, {"mxm", square},           {"spmm", spmm},
                  {"sssp", sssp}, {"triangles", triangles}, {"components", components}};
enum { OPERATIONS = sizeof operations / sizeof *operations, OF_LARGE = 3 };

static void measure(bench *b, bench_table *table, const char *name, const dcsr_csr *csr, int count,
                    int wanted, double whole[OPERATIONS])
{
    char text[32] = "one";
    const double seconds = BENCH_SIZE(b, 0.02, 0.5);
    const uint64_t numbers = wanted > OF_LARGE ? csr->rows * COLUMNS : 1;
    input in = {.X = bench_vector(numbers),
                .Y = bench_alloc(numbers, sizeof(double)),
                .n = csr->rows,
                .symmetric = !strncmp(name, "poisson", strlen("poisson")),
                .csr = csr,
                .context = b->context};
    dcsr_multi *devices = NULL;
    dcsr_multi_matrix *parts = NULL;
    dcsr_matrix *matrix = NULL;
    if (count) {
        snprintf(text, sizeof text, b->gpu ? "cuda:0-%d" : "cpu:%d", b->gpu ? count - 1 : count);
        BENCH_OK(dcsr_multi_create(&devices, text, &(dcsr_multi_options){.threads = b->threads}));
        dcsr_multi_info info;
        BENCH_OK(dcsr_multi_get_info(devices, &info));
        in.context = info.context[0];
        BENCH_OK(dcsr_multi_matrix_from_csr(&parts, devices, csr, NULL));
        BENCH_OK(dcsr_multi_view_create(&in.parts, parts, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED));
    } else {
        BENCH_OK(dcsr_matrix_from_csr(&matrix, b->context, csr, NULL));
        BENCH_OK(dcsr_view_create(&in.view, matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED));
    }
    for (int k = 0; k < wanted; k++) {
        /* On the cpu labels spread as far as a large grid is wide. */
        if (operations[k].run == components && !b->gpu && csr->rows > 100000) continue;
        in.bytes = in.exchange = 0;
        const double took = bench_repeat(operations[k].run, &in, 3, seconds).median;
        if (!count) whole[k] = took;
        bench_row(table, BENCH_LABELS(name, operations[k].name, text), took * 1e3, whole[k] / took,
                  in.bytes * 1e-6, in.exchange * 1e3);
    }
    dcsr_multi_view_destroy(in.parts);
    dcsr_multi_matrix_destroy(parts);
    dcsr_multi_destroy(devices);
    dcsr_view_destroy(in.view);
    dcsr_matrix_destroy(matrix);
    free(in.X), free(in.Y);
}

int main(int argc, char **argv)
{
    bench b;
    bench_begin(&b, argc, argv, "multi_matrices",
                "What do operations on matrices on several devices gain, and cost?");
    bench_table *table = bench_table_begin(
        &b, "multi_matrices", "making A, transpose, A A, A X (32 columns), paths, components",
        "matrix operation devices | ms:%.2f times_one:%.2f mbytes:%.2f exchange:%.2f");
    static const char *const quick[] = {"poisson2d5:60", "rmat:10,8", "poisson3d7:12", "poisson2d5:80"},
                             *const full[] = {"poisson2d5:700", "rmat:15,8", "poisson3d7:208",
                                              "poisson2d5:3000"};
    enum { ALL = 4, SMALL = 2 };
    int most = b.threads;
    if (b.gpu) BENCH_OK(dcsr_device_get_count(DCSR_DEVICE_CUDA, &most));
    for (int k = 0; k < (b.gpu ? ALL : SMALL); k++) {
        const int wanted = k < SMALL ? OPERATIONS : OF_LARGE;
        const char *name = b.quick ? quick[k] : full[k];
        if (!bench_has_time(&b, name)) continue;
        bench_csr A = bench_csr_make(&b, name);
        /* Weights are lengths of edges, too. */
        for (uint64_t e = 0; e < A.nnz; e++) A.values[e] = (double)(1 + bench_mix(e) % 255);
        const dcsr_csr csr = {.rows = A.rows,
                              .cols = A.cols,
                              .nnz = A.nnz,
                              .type = DCSR_FP64,
                              .offsets = A.offsets,
                              .col_indices = A.columns,
                              .values = A.values};
        double whole[OPERATIONS];
        measure(&b, table, name, &csr, 0, wanted, whole);
        for (int count = 1; count <= most && count <= MOST; count *= 2)
            measure(&b, table, name, &csr, count, wanted, whole);
        bench_csr_free(&A);
    }
    return bench_end(&b);
}

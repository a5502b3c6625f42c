/* bench_mxm.c: products of matrices, beside SuiteSparse:GraphBLAS and Eigen, and the memory that they take.
 *
 * The peak of memory is that of a process of its own for each product, which has nothing but A before: this program
 * runs itself, with DCSR_BENCH_PEAK saying who multiplies what. */
#include "bench/peers/peer_ops.h"
#include "bench/peers/peers.h"
#include <dcsr/convert.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A A; and triangles: L L and L L^T masked by L, where L is below the diagonal. */
static void measure(ops_contest *c, const char *name, const char *call)
{
    bench_csr csr = bench_csr_make(c->b, name);
    bench_entries below = bench_entries_from_csr(&csr);
    for (size_t k = 0; k < below.n; k++) {
        const uint64_t i = below.row[k], j = below.col[k];
        below.row[k] = i > j ? i : j;
        below.col[k] = i > j ? j : i;
    }
    bench_csr lower = bench_csr_from_entries(&below, csr.rows, csr.cols);
    bench_entries_free(&below);
    ops_object A = ops_matrix(c->b, &csr, DCSR_LAYOUT_SEGMENTS),
               L = ops_matrix(c->b, &lower, DCSR_LAYOUT_SEGMENTS),
               C = ops_empty_matrix(c->b, csr.rows, csr.cols);
    ops_measure(c, call ? call : "mxm", name, NAN,
                (ops_call){.kind = OPS_MXM, .op = "plus_times", .out = &C, .a = &A, .b = &A});
    for (int transposed = 0; transposed < 2; transposed++)
        ops_measure(c,
                    call         ? call
                    : transposed ? "mxm_dots"
                                 : "mxm_masked",
                    name, NAN,
                    (ops_call){.kind = OPS_MXM,
                               .op = "plus_pair",
                               .out = &C,
                               .mask = &L,
                               .a = &L,
                               .b = &L,
                               .desc = {.mask_structure = true, .replace = true, .transpose_b = transposed}});
    ops_free(&A), ops_free(&L), ops_free(&C);
    bench_csr_free(&csr), bench_csr_free(&lower);
}

/* ---- Eigen ---- */

static void measure_eigen(bench *b, bench_table *table, const char *name)
{
    const peer_matrices *peer = &peer_eigen_matrices;
    if (!peer->create || !bench_has_time(b, name)) return;
    bench_csr csr = bench_csr_make(b, name);
    ops_object A = ops_matrix(b, &csr, DCSR_LAYOUT_SEGMENTS), C = ops_empty_matrix(b, csr.rows, csr.cols);
    ops_call call = {.kind = OPS_MXM, .op = "plus_times", .out = &C, .a = &A, .b = &A};
    void *theirs = peer->create(PEER_MULTIPLY, &csr, NULL);
    uint64_t nnz;
    ops_run(&call);
    const uint64_t out = peer->run(theirs);
    BENCH_OK(dcsr_matrix_get_nnz(C.matrix, &nnz));
    if (nnz != out) bench_die("%s: Eigen has another number of entries", name);
    double ours = INFINITY, eigen = INFINITY;
    for (int k = 0; k < BENCH_SIZE(b, 1, 5); k++) {
        const double start = bench_now();
        ops_run(&call);
        const double between = bench_now();
        peer->run(theirs);
        ours = fmin(ours, between - start);
        eigen = fmin(eigen, bench_now() - between);
    }
    bench_row(table, BENCH_LABELS(name), (double)out, ours, eigen, eigen / ours);
    peer->destroy(theirs);
    ops_free(&A), ops_free(&C);
    bench_csr_free(&csr);
}

/* ---- Memory ---- */

/* A number of /proc/self/status, in bytes. */
static double status(const char *field)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    double kilobytes = NAN;
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, field, strlen(field))) kilobytes = atof(line + strlen(field) + 1);
    if (file) fclose(file);
    return kilobytes * 1024;
}

static void forget_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file) fputs("5", file), fclose(file);
}

/* In a process of its own: A A by `who`, of the matrix of this name. Prints the bytes beyond those before. */
static void print_peak(bench *b, const char *who, const char *name)
{
    const bool eigen = !strcmp(who, "eigen"), ours = !strcmp(who, "dcsr");
    bench_csr csr = bench_csr_make(b, name);
    ops_object A = {0}, C = {0};
    ops_call call = {.kind = OPS_MXM, .op = "plus_times", .out = &C, .a = &A, .b = &A};
    void *square = NULL;
    if (eigen) {
        square = peer_eigen_matrices.create(PEER_MULTIPLY, &csr, NULL);
    } else if (ours) {
        const dcsr_csr arrays = {csr.rows,    csr.cols,    csr.nnz,   DCSR_FP64,
                                 csr.offsets, csr.columns, csr.values};
        BENCH_OK(dcsr_matrix_from_csr(&A.matrix, b->context, &arrays, NULL));
        BENCH_OK(dcsr_view_create(&A.view, A.matrix, DCSR_LAYOUT_SEGMENTS, 0));
        C.matrix = bench_matrix(b, NULL, NULL, csr.rows, csr.cols, DCSR_FP64, NULL);
    } else {
        peer_ops_get()->start(b->threads);
        A.peer = peer_ops_get()->matrix(&csr, false);
        C.peer = peer_ops_get()->empty(csr.rows, csr.cols);
    }
    bench_csr_free(&csr);
    usleep(200000); /* what was freed goes back to the system */
    forget_peak();
    const double before = status("VmRSS");
    if (eigen)
        peer_eigen_matrices.run(square);
    else if (ours)
        ops_run(&call);
    else
        peer_ops_get()->run(&call, PEER_BY_ROW);
    printf("\npeak %.0f\n", status("VmHWM") - before);
}

/* What that prints; not a number where it failed. */
static double ask_for_peak(const bench *b, const char *who, const char *name)
{
    char self[4096], command[8192], line[1024];
    double peak = NAN;
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0) return peak;
    self[n] = '\0';
    snprintf(command, sizeof command,
             "MALLOC_CONF=dirty_decay_ms:0,muzzy_decay_ms:0 DCSR_BENCH_PEAK='%s %s' '%s' --pages small "
             "--device cpu --threads %d",
             who, name, self, b->threads);
    FILE *from = popen(command, "r");
    while (from && fgets(line, sizeof line, from))
        if (!strncmp(line, "peak ", 5)) peak = atof(line + 5);
    if (from) pclose(from);
    return peak;
}

static void measure_peaks(bench *b, bench_table *table, const char *name)
{
    uint64_t nnz;
    if (!bench_has_time(b, name)) return;
    bench_csr csr = bench_csr_make(b, name);
    ops_object A = ops_matrix(b, &csr, DCSR_LAYOUT_SEGMENTS), C = ops_empty_matrix(b, csr.rows, csr.cols);
    ops_call call = {.kind = OPS_MXM, .op = "plus_times", .out = &C, .a = &A, .b = &A};
    ops_run(&call);
    BENCH_OK(dcsr_matrix_get_nnz(C.matrix, &nnz));
    const double result = 12 * (double)nnz + 8 * (double)csr.rows,
                 ours = ask_for_peak(b, "dcsr", name) / result,
                 graphblas = peer_ops_get() ? ask_for_peak(b, "graphblas", name) / result : NAN,
                 eigen = peer_eigen_matrices.create ? ask_for_peak(b, "eigen", name) / result : NAN;
    bench_row(table, BENCH_LABELS(name), result / 1e6, ours, graphblas, eigen);
    ops_free(&A), ops_free(&C);
    bench_csr_free(&csr);
}

int main(int argc, char **argv)
{
    static const char *const quick[] = {"rmat:9,16",    "poisson2d5:64", "poisson3d27:8",
                                        "er:1000,8000", "path:1000",     NULL};
    static const char *const full[] = {"rmat:14,16",       "poisson2d5:1024", "poisson3d27:60",
                                       "er:100000,800000", "path:1000000",    NULL};
    bench b;
    ops_contest c;
    char *const child = getenv("DCSR_BENCH_PEAK");
    bench_begin(&b, argc, argv, "mxm",
                "How fast are products of matrices, and how much memory do they take?");
    if (child) {
        char *const name = strchr(child, ' ');
        if (!name) bench_die("DCSR_BENCH_PEAK is not two words");
        *name = '\0';
        print_peak(&b, child, name + 1);
        return bench_end(&b);
    }
    const char *const *const inputs = BENCH_SIZE(&b, quick, full);
    bench_note(
        &b, "mxm: A A; mxm_masked: L L masked by L, below the diagonal; mxm_dots: L L^T; call: all of these "
            "on a matrix of 10 x 10");
    ops_contest_begin(&c, &b, "ops", "products of matrices; ratio: the peer's time over ours");
    for (int k = 0; inputs[k]; k++) measure(&c, inputs[k], NULL);
    measure(&c, "er:10,30", "call");
    ops_contest_end(&c);
    bench_table *table =
        bench_table_begin(&b, "eigen", "A A beside Eigen (one thread); ratio: its time over ours",
                          "matrix | out:%.3g seconds:%.3g eigen_s:%.3g ratio:%.2f");
    for (int k = 0; inputs[k]; k++) measure_eigen(&b, table, inputs[k]);
    table = bench_table_begin(&b, "peak",
                              "peak of memory of A A over the bytes of its result as a CSR of 32-bit columns",
                              "matrix | result_mb:%.1f dcsr:%.2f graphblas:%.2f eigen:%.2f");
    for (int k = 0; inputs[k]; k++) measure_peaks(&b, table, inputs[k]);
    return bench_end(&b);
}

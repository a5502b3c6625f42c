/* bench_multi_amg.c: how conjugate gradients with multigrid scale over devices: setup, iterations, and a solve.
 *
 * Strong scaling, on grids: the matrix stays, devices become more. The peer is one device's dcsr_amg in the same run,
 * with x and b in its memory and cycles of the same precision. An iteration is the difference of two solves with other
 * numbers of them, so that copies of x and b from and to host memory, which `solve_ms` of several devices has, do not
 * count. */
#include "bench/harness.h"
#include "bench/inputs.h"
#include <dcsr/convert.h>
#include <dcsr/multi.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 2, MANY = 8 }; /* iterations, whose difference is measured */

/* What is known of one way to solve. */
typedef struct figures {
    double setup, iteration, solve; /* seconds; the setup is the second one */
    double iterations, levels, divided, complexity;
} figures;

/* ---- One device ---- */

typedef struct whole {
    dcsr_amg *amg;
    dcsr_vector *x_vector, *b_vector;
    double *x, *b;
    bool gpu;
} whole;

static dcsr_amg_report solve_whole(whole *w, const char *tolerance, const char *iterations)
{
    dcsr_amg_report report;
    void *x;
    BENCH_OK(dcsr_vector_fill(w->x_vector, &(double){0}));
    BENCH_OK(w->gpu ? dcsr_vector_get_values_on_device(w->x_vector, &x)
                    : dcsr_vector_get_values(w->x_vector, &x));
    BENCH_OK(dcsr_amg_set(w->amg, "tolerance", tolerance));
    BENCH_OK(dcsr_amg_set(w->amg, "iterations", iterations));
    BENCH_OK(w->gpu ? dcsr_amg_solve_device(w->amg, x, w->b, &report)
                    : dcsr_amg_solve(w->amg, x, w->b, &report));
    return report;
}

static dcsr_vector *ones(bench *b, uint64_t n, double **values)
{
    dcsr_vector *vector;
    void *found;
    BENCH_OK(dcsr_vector_create(&vector, b->context, DCSR_FP64, n));
    BENCH_OK(dcsr_vector_fill(vector, &(double){1}));
    BENCH_OK(b->gpu ? dcsr_vector_get_values_on_device(vector, &found)
                    : dcsr_vector_get_values(vector, &found));
    *values = found;
    return vector;
}

static figures measure_whole(bench *b, const dcsr_csr *csr, const char *precision)
{
    figures f = {0};
    dcsr_matrix *matrix;
    dcsr_view *view;
    dcsr_amg_report report;
    whole w = {.gpu = b->gpu};
    char few[8], many[8];
    snprintf(few, sizeof few, "%d", FEW);
    snprintf(many, sizeof many, "%d", MANY);
    BENCH_OK(dcsr_matrix_from_csr(&matrix, b->context, csr, NULL));
    BENCH_OK(dcsr_view_create(&view, matrix, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED));
    BENCH_OK(dcsr_amg_create(&w.amg, b->context));
    BENCH_OK(dcsr_amg_set(w.amg, "precision", precision));
    for (int time = 0; time < 2; time++) BENCH_OK(dcsr_amg_setup(w.amg, view, &report));
    f.setup = report.setup_seconds;
    f.levels = (double)report.levels;
    f.complexity = report.operator_complexity;
    w.x_vector = ones(b, csr->rows, &w.x);
    w.b_vector = ones(b, csr->rows, &w.b);
    solve_whole(&w, "1e-8", "1");
    report = solve_whole(&w, "1e-8", "200");
    if (report.outcome != DCSR_AMG_CONVERGED)
        bench_die("one device: %s", dcsr_amg_outcome_text(report.outcome));
    f.solve = report.solve_seconds;
    f.iterations = (double)report.iterations;
    const double less = solve_whole(&w, "1e-300", few).solve_seconds;
    f.iteration = (solve_whole(&w, "1e-300", many).solve_seconds - less) / (MANY - FEW);
    dcsr_vector_destroy(w.x_vector), dcsr_vector_destroy(w.b_vector);
    dcsr_amg_destroy(w.amg);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    return f;
}

/* ---- Several ---- */

static dcsr_amg_report solve_parts(dcsr_multi_amg *amg, double *x, const double *b, uint64_t n,
                                   const char *tolerance, const char *iterations)
{
    dcsr_amg_report report;
    memset(x, 0, n * sizeof *x);
    BENCH_OK(dcsr_multi_amg_set(amg, "tolerance", tolerance));
    BENCH_OK(dcsr_multi_amg_set(amg, "iterations", iterations));
    BENCH_OK(dcsr_multi_amg_solve(amg, x, b, &report));
    return report;
}

/* Levels, by a solver of their own. */
static dcsr_multi_amg *set_up(dcsr_multi *devices, dcsr_multi_view *view, const char *precision,
                              dcsr_multi_amg_info *info)
{
    dcsr_multi_amg *amg;
    BENCH_OK(dcsr_multi_amg_create(&amg, devices));
    BENCH_OK(dcsr_multi_amg_set(amg, "precision", precision));
    BENCH_OK(dcsr_multi_amg_setup(amg, view, info));
    return amg;
}

static figures measure_parts(dcsr_multi *devices, const dcsr_csr *csr, const char *precision)
{
    figures f = {0};
    const uint64_t n = csr->rows;
    dcsr_multi_matrix *matrix;
    dcsr_multi_view *view;
    dcsr_multi_amg_info info;
    double *x = bench_alloc(n, sizeof *x), *b = bench_alloc(n, sizeof *b);
    for (uint64_t i = 0; i < n; i++) b[i] = 1;
    BENCH_OK(dcsr_multi_matrix_from_csr(&matrix, devices, csr, NULL));
    BENCH_OK(dcsr_multi_view_create(&view, matrix, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED));
    dcsr_multi_amg_destroy(set_up(devices, view, precision, &info)); /* so that two are not there at once */
    dcsr_multi_amg *amg = set_up(devices, view, precision, &info);
    f.setup = info.setup_seconds;
    f.levels = (double)info.levels;
    f.divided = (double)info.divided;
    f.complexity = info.operator_complexity;
    char few[16], many[16];
    snprintf(few, sizeof few, "%d", FEW);
    snprintf(many, sizeof many, "%d", MANY);
    solve_parts(amg, x, b, n, "1e-300", "1");
    const dcsr_amg_report report = solve_parts(amg, x, b, n, "1e-8", "200");
    if (report.outcome != DCSR_AMG_CONVERGED) bench_die("several devices: residual %g", report.residual);
    f.solve = report.solve_seconds;
    f.iterations = (double)report.iterations;
    const double less = solve_parts(amg, x, b, n, "1e-300", few).solve_seconds;
    f.iteration = (solve_parts(amg, x, b, n, "1e-300", many).solve_seconds - less) / (MANY - FEW);
    free(x), free(b);
    dcsr_multi_amg_destroy(amg);
    dcsr_multi_view_destroy(view);
    dcsr_multi_matrix_destroy(matrix);
    return f;
}

/* Seconds that iterations to the tolerance take, without copies. */
static double of_all(const figures *f)
{
    return f->iteration * f->iterations;
}

static void put(bench_table *table, const char *name, const char *text, const char *precision,
                const figures *f, const figures *alone, int count)
{
    bench_row(table, BENCH_LABELS(name, precision, text), 1e3 * f->setup, 1e3 * f->iteration, f->iterations,
              1e3 * f->solve, f->levels, f->divided, f->complexity, alone->setup / f->setup,
              alone->iteration / f->iteration, of_all(alone) / of_all(f), of_all(alone) / of_all(f) / count);
}

static void measure_grid(bench *b, bench_table *table, int dimensions, uint64_t side)
{
    char name[32], text[32];
    snprintf(name, sizeof name, "poisson%dd%d:%d", dimensions, 2 * dimensions + 1, (int)side);
    if (!bench_has_time(b, name)) return;
    bench_csr A = bench_csr_grid(dimensions, side);
    const dcsr_csr csr = bench_csr_lent(&A);
    static const char *const precision[] = {"fp64", "fp32"}; /* of cycles */
    for (int p = 0; p < 2 && bench_has_time(b, name); p++) {
        const figures alone = measure_whole(b, &csr, precision[p]);
        put(table, name, "one", precision[p], &alone, &alone, 1);
        for (int count = 1; count <= bench_most_devices(b) && bench_has_time(b, name); count *= 2) {
            dcsr_multi *devices = bench_open_devices(b, count, text, sizeof text);
            const figures f = measure_parts(devices, &csr, precision[p]);
            put(table, name, text, precision[p], &f, &alone, count);
            dcsr_multi_destroy(devices);
        }
    }
    bench_csr_free(&A);
}

int main(int argc, char **argv)
{
    bench b;
    bench_begin(&b, argc, argv, "multi_amg", "How do conjugate gradients with multigrid scale over devices?");
    bench_table *table = bench_table_begin(
        &b, "multi_amg", "setup, and iterations to a residual of 1e-8, beside dcsr_amg on one device",
        "matrix precision devices | setup_ms:%.1f iteration_ms:%.3f iterations:%.0f solve_ms:%.1f "
        "levels:%.0f "
        "divided:%.0f "
        "complexity:%.3f setup_times_one:%.3f iteration_times_one:%.3f all_times_one:%.3f of_linear:%.3f");
    measure_grid(&b, table, 2, (uint64_t)BENCH_SIZE_ON(&b, 60, 1000, 3000));
    measure_grid(&b, table, 3, (uint64_t)BENCH_SIZE_ON(&b, 14, 100, 208));
    if (b.gpu) {
        measure_grid(&b, table, 3, (uint64_t)BENCH_SIZE(&b, 16, 368));
        measure_grid(&b, table, 2, (uint64_t)BENCH_SIZE(&b, 80, 10000));
    }
    return bench_end(&b);
}

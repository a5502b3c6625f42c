/* bench_amg.c: algebraic multigrid: setup, solve, iterations, beside PETSc's GAMG and hypre's BoomerAMG,
 * without and with aggressive coarsening on the first level.
 *
 * A x = b with b = 1 from x = 0 until |b - A x| <= 1e-8 |b|, by conjugate gradients. The peers run in as many
 * processes as we have threads (bench/mpi/amg_petsc.c, by mpirun), on the same matrix, one after the other; the
 * residual is computed anew from x for each. Seconds are medians. Table `columns`: several right-hand sides at
 * once. On a GPU x and b come from the host's memory. */
#include "bench/peers/amg_problem.h"
#include "bench/harness.h"
#include <dcsr/amg.h>

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double TOLERANCE = 1e-8, ROUNDING = 1.1;

typedef struct contest {
    bench *b;
    bench_table *table;
    const char *name, *label, *nullspace; /* nullspace: the file of the vectors; NULL: constants */
    int block;
    dcsr_matrix *matrix;
    dcsr_view *A;
    dcsr_view_shape shape;
    double nnz;
} contest;

typedef struct outcome {
    bench_samples setup, solve;
    double iterations, residual, complexity;
} outcome;

static const char *program; /* that of the peers; NULL: it was not built */

static int repetitions(const contest *c)
{
    return BENCH_SIZE(c->b, 1, c->nnz > 3e7 ? 1 : 3);
}

static void put(contest *c, const char *solver, outcome *o)
{
    if (o->residual > ROUNDING * TOLERANCE)
        bench_note(c->b, "%s, %s: not converged, %.1e", c->label, solver, o->residual);
    const double setup = bench_median(&o->setup), solve = bench_median(&o->solve);
    bench_row(c->table, BENCH_LABELS(c->label, solver), (double)c->shape.rows, 1e-6 * c->nnz, o->complexity,
              o->iterations, setup, solve, setup + solve, o->residual);
    bench_samples_free(&o->setup);
    bench_samples_free(&o->solve);
}

/* With one option that is not the default; NULL: none. */
static dcsr_amg *solver_of(const contest *c, const char *option, const char *value)
{
    dcsr_amg *amg;
    char block[16];
    snprintf(block, sizeof block, "%d", c->block);
    BENCH_OK(dcsr_amg_create(&amg, c->b->context));
    if (option) BENCH_OK(dcsr_amg_set(amg, option, value));
    BENCH_OK(dcsr_amg_set(amg, "block", block));
    if (c->nullspace) {
        dcsr_dense B;
        BENCH_OK(dcsr_dense_read(&B, c->b->host, c->nullspace));
        BENCH_OK(dcsr_amg_set_nullspace(amg, &B));
        dcsr_dense_free(&B);
    }
    return amg;
}

static void fill(double *x, uint64_t n, double value)
{
    for (uint64_t i = 0; i < n; i++) x[i] = value;
}

static void measure(contest *c, const char *solver, const char *option, const char *value)
{
    const uint64_t n = c->shape.rows;
    double *x = bench_alloc(n, sizeof *x), *b = bench_alloc(n, sizeof *b);
    outcome o = {0};
    fill(b, n, 1);
    const int times = repetitions(c);
    for (int k = c->nnz > 3e7 ? 0 : -1; k < times; k++) { /* the first warms up */
        dcsr_amg_report report;
        dcsr_amg *amg = solver_of(c, option, value);
        fill(x, n, 0);
        BENCH_OK(dcsr_amg_setup(amg, c->A, NULL));
        BENCH_OK(dcsr_amg_solve(amg, x, b, &report));
        if (report.outcome != DCSR_AMG_CONVERGED)
            bench_die("%s: %s", c->label, dcsr_amg_outcome_text(report.outcome));
        if (k >= 0) bench_samples_add(&o.setup, report.setup_seconds);
        if (k >= 0) bench_samples_add(&o.solve, report.solve_seconds);
        o.iterations = (double)report.iterations;
        o.residual = report.residual;
        o.complexity = report.operator_complexity;
        dcsr_amg_destroy(amg);
    }
    put(c, solver, &o);
    free(x), free(b);
}

static void measure_peer(contest *c, const char *solver, const char *method)
{
    char command[1000], line[200];
    outcome o = {0};
    int length = snprintf(command, sizeof command,
                          "OMP_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
                          "mpirun -n %d %s %s %s %d",
                          c->b->threads, program, method, c->name, repetitions(c));
    if (c->nullspace)
        snprintf(command + length, sizeof command - (size_t)length, " %d %s", c->block, c->nullspace);
    FILE *from = popen(command, "r");
    if (!from) bench_die("cannot run mpirun");
    while (fgets(line, sizeof line, from)) {
        double setup, solve;
        const char *complexity = strstr(line, "operator = ");
        if (complexity) o.complexity = strtod(complexity + strlen("operator = "), NULL);
        if (sscanf(line, "result %lf %lf %lf %lf", &setup, &solve, &o.iterations, &o.residual) != 4) continue;
        bench_samples_add(&o.setup, setup);
        bench_samples_add(&o.solve, solve);
    }
    if (pclose(from) || !o.setup.count)
        bench_note(c->b, "%s on %s failed; the command was: %s", solver, c->label, command);
    else
        put(c, solver, &o);
    bench_samples_free(&o.setup);
    bench_samples_free(&o.solve);
}

static void load(contest *c)
{
    dcsr_coo coo;
    dcsr_csr csr;
    BENCH_OK(amg_problem_read(&coo, c->b->host, c->name));
    BENCH_OK(dcsr_matrix_from_coo(&c->matrix, c->b->context, &coo,
                                  &(dcsr_matrix_options){.policy = DCSR_POLICY_SUM}));
    dcsr_coo_free(&coo);
    BENCH_OK(dcsr_view_create(&c->A, c->matrix, DCSR_LAYOUT_CSR, 0));
    BENCH_OK(dcsr_view_get_shape(c->A, &c->shape));
    BENCH_OK(dcsr_view_get_csr(c->A, &csr));
    c->nnz = (double)csr.nnz;
}

static void unload(contest *c)
{
    dcsr_view_destroy(c->A);
    dcsr_matrix_destroy(c->matrix);
}

static void on_problem(contest c)
{
    load(&c);
    measure(&c, "dcsr", NULL, NULL);
    measure(&c, "dcsr_fp32", "precision", "fp32");
    if (c.b->gpu) measure(&c, "dcsr_gauss_seidel", "smoother", "gauss-seidel");
    if (program) {
        measure_peer(&c, "petsc_gamg", "gamg");
        measure_peer(&c, "hypre", "boomeramg");
        measure_peer(&c, "hypre_aggressive", "aggressive");
    }
    unload(&c);
}

/* Columns b_j = 1 + j e, so that none is a multiple of another. */
static void several_columns(bench *b, const char *name)
{
    static const uint64_t counts[] = {1, 2, 4, 8, 16};
    bench_table *table =
        bench_table_begin(b, "columns", "right-hand sides solved at once; alone_s: one after the other",
                          "problem | columns:%.0f seconds:%.3f alone_s:%.3f ratio:%.2f iterations:%.0f");
    contest c = {.b = b, .name = name, .label = name, .block = 1};
    load(&c);
    dcsr_amg *amg = solver_of(&c, NULL, NULL);
    BENCH_OK(dcsr_amg_setup(amg, c.A, NULL));
    const uint64_t n = c.shape.rows;
    dcsr_dense X = {.rows = n}, B = {.rows = n};
    X.values = bench_alloc(n * 16, sizeof *X.values);
    B.values = bench_alloc(n * 16, sizeof *B.values);
    for (uint64_t i = 0; i < 16 * n; i++) B.values[i] = 1 + (double)(i / n) * 1e-3 * (double)(i % 1013);
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        bench_samples together = {0}, alone = {0};
        dcsr_amg_report reports[16];
        X.cols = B.cols = counts[k];
        for (int r = 0; r < BENCH_SIZE(b, 1, 3); r++) {
            fill(X.values, n * X.cols, 0);
            double start = bench_now();
            BENCH_OK(dcsr_amg_solve_many(amg, &X, &B, reports));
            bench_samples_add(&together, bench_now() - start);
            fill(X.values, n * X.cols, 0);
            start = bench_now();
            for (uint64_t j = 0; j < X.cols; j++)
                BENCH_OK(dcsr_amg_solve(amg, X.values + j * n, B.values + j * n, &reports[j]));
            bench_samples_add(&alone, bench_now() - start);
        }
        const double seconds = bench_median(&together), one_by_one = bench_median(&alone);
        bench_row(table, BENCH_LABELS(name), (double)X.cols, seconds, one_by_one, one_by_one / seconds,
                  (double)reports[X.cols - 1].iterations);
        bench_samples_free(&together);
        bench_samples_free(&alone);
    }
    free(X.values), free(B.values);
    dcsr_amg_destroy(amg);
    unload(&c);
}

/* The program of the peers lies beside this one. */
static void find_peers(bench *b, const char *self)
{
    static char path[600];
    char folder[500];
    snprintf(folder, sizeof folder, "%s", self);
    snprintf(path, sizeof path, "%s/amg_petsc", dirname(folder));
    if (access(path, X_OK))
        bench_note(b, "PETSc (petsc-dev) was not there when this was built, so there are no peers");
    else
        program = path;
}

int main(int argc, char **argv)
{
    /* The eight problems of table 5 of the DCSR paper are the grids of 512^2, 1024^2, 64^3 and 128^3. */
    static const char *const quick[] = {"poisson2d5:100", "poisson3d7:24", "anisotropic:100", "jumps:24",
                                        NULL};
    static const char *const full[] = {"poisson2d5:512",
                                       "poisson2d9:512",
                                       "poisson3d7:64",
                                       "poisson3d27:64",
                                       "poisson2d5:1024",
                                       "poisson2d9:1024",
                                       "poisson3d7:128",
                                       "anisotropic:1024",
                                       "jumps:96",
                                       "poisson3d27:128",
                                       NULL};
    static const char *const bar = "../shared/data/bar.mtx.gz", *const modes = "../shared/data/bar_B.mtx.gz";
    bench b;
    bench_begin(&b, argc, argv, "amg", "How fast is algebraic multigrid, beside GAMG and BoomerAMG?");
    find_peers(&b, argv[0]);
    bench_table *table =
        bench_table_begin(&b, "amg", "conjugate gradients to 1e-8",
                          "problem solver | rows:%.0f million_entries:%.2f complexity:%.2f "
                          "iterations:%.0f setup_s:%.3f solve_s:%.3f total_s:%.3f residual:%.1e");
    for (const char *const *name = BENCH_SIZE(&b, quick, full); *name; name++)
        if (bench_has_time(&b, *name))
            on_problem((contest){.b = &b, .table = table, .name = *name, .label = *name, .block = 1});
    if (access(bar, R_OK))
        bench_note(&b, "%s is not there: no elasticity", bar);
    else if (bench_has_time(&b, "bar"))
        on_problem(
            (contest){.b = &b, .table = table, .name = bar, .label = "bar", .nullspace = modes, .block = 3});
    const char *grid = BENCH_SIZE(&b, "poisson3d7:24", "poisson3d7:128");
    if (bench_has_time(&b, "columns")) several_columns(&b, grid);
    return bench_end(&b);
}

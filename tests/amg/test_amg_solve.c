/* test_amg_solve.c: that multigrid solves what it is for, in few iterations, and says so where it does not. */
#include "amg/hierarchy.h"
#include "tests/amg/problems.h"

/* How many iterations a generated problem takes; asserts that it converges. */
static uint64_t iterations_of(const char *generator, const char *settings)
{
    problem p = problem_generated(2, generator);
    SOLVES(&p, settings, NULL, 100);
    uint64_t iterations = p.report.iterations;
    cr_assert_lt(p.report.operator_complexity, 1.7);
    problem_end(&p);
    return iterations;
}

Test(amg_solve, iterations_do_not_grow_with_the_grid)
{
    static const struct {
        const char *small, *large;
        uint64_t most;
    } grids[] = {{"poisson2d5:40", "poisson2d5:160", 16},
                 {"poisson2d9:40", "poisson2d9:160", 14},
                 {"poisson3d7:16", "poisson3d7:40", 12},
                 {"poisson3d27:14", "poisson3d27:28", 11}};
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g++) {
        uint64_t small = iterations_of(grids[g].small, "solver=cg");
        uint64_t large = iterations_of(grids[g].large, "solver=cg");
        cr_assert(large <= grids[g].most && large <= small + 4, "%s: %d iterations, %s: %d", grids[g].small,
                  (int)small, grids[g].large, (int)large);
    }
}

/* All solvers, cycles and smoothers. */
Test(amg_solve, every_choice_converges)
{
    static const char *const settings[] = {"solver=bicgstab",
                                           "solver=fgmres",
                                           "solver=fgmres restart=4",
                                           "solver=none",
                                           "cycle=V",
                                           "cycle=K",
                                           "cycle=K smoother=l1",
                                           "smoother=jacobi",
                                           "smoother=l1",
                                           "smoother=chebyshev",
                                           "smoother=jacobi steps=1",
                                           "steps=3",
                                           "omega=0",
                                           "lanczos=20",
                                           "levels=2 coarse_rows=100",
                                           "strength=1",
                                           "coarse_rows=1",
                                           "levels=1",
                                           "levels=1 smoother=gauss-seidel",
                                           "smoother=gauss-seidel cycle=K",
                                           "precision=fp32 cycle=K",
                                           "precision=fp32 solver=fgmres restart=4",
                                           "levels=1 steps=3"};
    for (size_t s = 0; s < sizeof settings / sizeof *settings; s++) {
        problem p = problem_generated(2, "poisson2d5:50");
        SOLVES(&p, settings[s], NULL, 60);
        problem_end(&p);
    }
}

/* W and K spend more on a cycle to need fewer. */
Test(amg_solve, richer_cycles_need_fewer_iterations)
{
    const char *grid = "poisson2d5:150";
    uint64_t v = iterations_of(grid, "cycle=V solver=fgmres coarse_rows=10");
    uint64_t w = iterations_of(grid, "cycle=W solver=fgmres coarse_rows=10");
    uint64_t k = iterations_of(grid, "cycle=K solver=fgmres coarse_rows=10");
    cr_assert(w < v && k < v, "V %d, W %d, K %d", (int)v, (int)w, (int)k);
}

Test(amg_solve, elasticity_wants_its_rigid_body_modes)
{
    dcsr_dense B;
    problem p = problem_elasticity(2, 60, 20, &B);
    SOLVES(&p, "block=2", NULL, 120);
    uint64_t without = p.report.iterations;
    SOLVES(&p, "block=2", &B, 40);
    cr_assert_lt(p.report.iterations, without);
    SOLVES(&p, "block=1", &B, 60);
    TEST_OK(dcsr_amg_set_nullspace(p.amg, NULL));
    SOLVES(&p, "block=2", NULL, 120);
    cr_assert_eq(p.report.iterations, without);
    problem_end(&p);
    free(B.values);
}

Test(amg_solve, anisotropy_and_jumps)
{
    problem p = problem_diffusion(2, 80, mostly_across, 1, 0);
    SOLVES(&p, "strength=0", NULL, 200);
    uint64_t blind = p.report.iterations;
    SOLVES(&p, "strength=0.01", NULL, 40);
    cr_assert_lt(p.report.iterations, blind);
    problem_end(&p);
    p = problem_diffusion(2, 80, jumping, 1, 0);
    SOLVES(&p, "strength=0.01", NULL, 30);
    problem_end(&p);
}

/* A singular matrix with b in its range; with b outside, no method can help, and the report says so. */
Test(amg_solve, a_neumann_problem)
{
    problem p = problem_diffusion(2, 60, everywhere, 0, 0);
    problem_in_range(&p);
    SOLVES(&p, "solver=cg", NULL, 25);
    SOLVES(&p, "solver=fgmres", NULL, 25);
    SOLVES(&p, "coarse_rows=2000 levels=2", NULL, 25);
    SOLVES(&p, "precision=fp32", NULL, 25);
    SOLVES(&p, "precision=fp64 smoother=gauss-seidel", NULL, 25);
    for (uint64_t i = 0; i < p.csr.rows; i++) p.b[i] = 1;
    problem_solve(&p, "solver=cg", NULL);
    cr_assert(p.report.outcome != DCSR_AMG_CONVERGED && p.report.outcome != DCSR_AMG_NONE);
    cr_assert_gt(p.report.residual, 0.9);
    problem_end(&p);
}

Test(amg_solve, a_wind_makes_it_not_symmetric)
{
    problem p = problem_diffusion(2, 60, everywhere, 1, 5);
    SOLVES(&p, "solver=auto", NULL, 60);
    cr_assert(!p.report.symmetric && !strcmp(p.report.solver, "fgmres"), "%s", p.report.solver);
    SOLVES(&p, "solver=bicgstab", NULL, 60);
    problem_end(&p);
}

/* All of an outcome's sentences differ, and what cannot converge ends with the right one. */
Test(amg_solve, says_why_it_did_not_converge)
{
    problem p = problem_generated(2, "poisson2d5:30");
    problem_solve(&p, "iterations=3", NULL);
    cr_assert(p.report.outcome == DCSR_AMG_LIMIT && p.report.iterations == 3);
    cr_assert_float_eq(p.report.residual, problem_residual(&p), 1e-12);
    problem_solve(&p, "iterations=0", NULL);
    cr_assert(p.report.outcome == DCSR_AMG_LIMIT && p.report.iterations == 0 && p.report.residual == 1);
    problem_solve(&p, "iterations=200 tolerance=1e-30", NULL);
    cr_assert(p.report.outcome == DCSR_AMG_STAGNATED || p.report.outcome == DCSR_AMG_LIMIT, "%s",
              dcsr_amg_outcome_text(p.report.outcome));
    cr_assert_lt(p.report.residual, 1e-13);
    problem_end(&p);
    /* Helmholtz: negative eigenvalues, positive diagonal. */
    dcsr_context *context = context_with(2);
    dcsr_coo coo;
    TEST_OK(dcsr_coo_generate(&coo, context, "poisson2d5:40"));
    for (uint64_t e = 0; e < coo.nnz; e++)
        if (coo.row_indices[e] == coo.col_indices[e]) ((double *)coo.values)[e] = 3;
    p = problem_of(context, &coo);
    problem_solve(&p, "solver=cg", NULL);
    cr_assert(p.report.outcome == DCSR_AMG_INDEFINITE && p.report.residual > 1e-8, "%s",
              dcsr_amg_outcome_text(p.report.outcome));
    problem_solve(&p, "solver=none", NULL);
    cr_assert_eq(p.report.outcome, DCSR_AMG_DIVERGED, "%s", dcsr_amg_outcome_text(p.report.outcome));
    problem_end(&p);
    for (int a = DCSR_AMG_NONE; a <= DCSR_AMG_BREAKDOWN + 1; a++)
        for (int b = DCSR_AMG_NONE; b < a; b++)
            cr_assert_neq(strcmp(dcsr_amg_outcome_text((dcsr_amg_outcome)a),
                                 dcsr_amg_outcome_text((dcsr_amg_outcome)b)),
                          0);
}

/* The solve goes on from x, and counts its residuals. */
Test(amg_solve, begins_with_the_x_it_is_given)
{
    problem p = problem_generated(2, "poisson2d5:30");
    uint64_t count;
    const double *residuals;
    SOLVES(&p, "tolerance=1e-8", NULL, 20);
    TEST_OK(dcsr_amg_get_residuals(p.amg, 0, &count, &residuals));
    cr_assert(count == p.report.iterations + 1 && residuals[0] == 1 && residuals[count - 1] <= 1e-8);
    for (uint64_t i = 2; i < count; i++) cr_assert_gt(residuals[i - 1], residuals[i]);
    TEST_OK(dcsr_amg_solve(p.amg, p.x, p.b, &p.report));
    cr_assert(p.report.iterations == 0 && p.report.outcome == DCSR_AMG_CONVERGED);
    memset(p.b, 0, p.csr.rows * sizeof *p.b);
    TEST_OK(dcsr_amg_solve(p.amg, p.x, p.b, &p.report));
    cr_assert(p.report.outcome == DCSR_AMG_CONVERGED && p.report.residual == 0);
    for (uint64_t i = 0; i < p.csr.rows; i++) cr_assert_eq(p.x[i], 0);
    problem_end(&p);
}

/* Rows that nothing connects, a matrix of one row, and one of none. */
Test(amg_solve, small_and_diagonal_matrices)
{
    for (uint64_t n = 0; n <= 5000; n = n ? 5000 * n : 1) {
        dcsr_context *context = context_with(2);
        list l = list_of(context, n, n);
        for (uint64_t i = 0; i < n; i++) put(&l, i, i, 1 + (double)(i % 7));
        problem p = problem_listed(context, &l);
        TEST_OK(dcsr_amg_setup(p.amg, p.A, NULL));
        TEST_OK(dcsr_amg_solve(p.amg, p.x, p.b, &p.report));
        cr_assert_eq(p.report.outcome, DCSR_AMG_CONVERGED);
        for (uint64_t i = 0; i < n; i++) cr_assert_float_eq(p.x[i] * (1 + (double)(i % 7)), 1, 1e-6);
        problem_end(&p);
    }
}

/* ---- What K-cycles make of two visits, in three dimensions ---- */

enum { N = 3 };

static double random_number(test_random *random)
{
    return (double)test_random_below(random, 2001) / 1000 - 1;
}

static double dot(const double *x, const double *y)
{
    double sum = 0;
    for (int i = 0; i < N; i++) sum += x[i] * y[i];
    return sum;
}

static void multiply(double A[N][N], const double *x, double *y)
{
    for (int i = 0; i < N; i++) y[i] = dot(A[i], x);
}

/* K takes what is best in the norm of A: what is left is perpendicular to both visits. The first alone will do where it
 * leaves a quarter of b. */
Test(amg_solve, k_cycles_take_the_best_of_their_visits)
{
    test_random random = {.state = 11};
    int enough = 0;
    for (int time = 0; time < 1000; time++) {
        double A[N][N], L[N][N], b[N], c[N], x[N], v[N], w[N], r[N];
        for (int i = 0; i < N; i++) {
            for (int j = 0; j < N; j++) L[i][j] = random_number(&random);
            c[i] = random_number(&random), x[i] = random_number(&random);
        }
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                A[i][j] = i == j;
                for (int k = 0; k < N; k++) A[i][j] += L[i][k] * L[j][k];
            }
        multiply(A, c, v);
        multiply(A, x, w);
        for (int i = 0; i < N; i++) b[i] = 2 * v[i] + (time % 2 ? 1 : 0.1) * random_number(&random);
        const double cv = dot(c, v), bb = dot(b, b);
        const dcsr_i_amg_best one = dcsr_i_amg_best_of_one(cv, dot(c, b), bb, dot(v, b), dot(v, v));
        for (int i = 0; i < N; i++) r[i] = b[i] - one.step * v[i];
        cr_assert_float_eq(dot(c, r), 0, 1e-9);
        cr_assert_eq(one.again == 0, dot(r, r) <= bb / 16);
        enough += one.again == 0;
        const dcsr_i_amg_best two =
            dcsr_i_amg_best_of_two((dcsr_i_amg_best){one.step, 1}, cv, dot(x, v), dot(x, r), dot(x, w));
        for (int i = 0; i < N; i++) r[i] = b[i] - two.step * v[i] - two.again * w[i];
        cr_assert(fabs(dot(c, r)) < 1e-6 && fabs(dot(x, r)) < 1e-6);
    }
    cr_assert(enough > 200 && enough < 950, "%d", enough);
}

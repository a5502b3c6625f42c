/* test_amg_ways.c: several right-hand sides at once, levels in fp32, Gauss-Seidel. */
#include "dcsr/base/alloc.h"
#include "tests/amg/ways.h"

static const dcsr_status bad = DCSR_ERROR_INVALID_ARGUMENT;

Test(amg_ways, columns_are_solved_as_if_alone)
{
    static const uint64_t cols[] = {1, 2, 3, 5, 8, 11};
    for (size_t k = 0; k < sizeof cols / sizeof *cols; k++)
        expect_as_alone(2, "poisson2d5:40", "solver=cg coarse_rows=20", cols[k]);
    expect_as_alone(2, "poisson2d9:40", "solver=bicgstab", 3);
    expect_as_alone(2, "poisson2d9:40", "solver=fgmres restart=4", 4);
    expect_as_alone(2, "poisson2d5:40", "solver=none smoother=l1", 5);
    expect_as_alone(2, "poisson3d7:14", "cycle=K coarse_rows=10", 4);
    expect_as_alone(2, "poisson3d7:14", "levels=1 smoother=gauss-seidel steps=3", 4);
    expect_as_alone(2, "poisson3d7:14", "precision=fp32 cycle=K coarse_rows=10", 4);
    expect_as_alone(2, "poisson3d7:14", "precision=fp32 smoother=gauss-seidel", 2);
}

Test(amg_ways, columns_end_differently)
{
    problem p = problem_diffusion(2, 40, everywhere, 0, 0);
    expect_ends(&p, "solver=cg");
    expect_ends(&p, "solver=fgmres restart=7");
    expect_ends(&p, "solver=bicgstab");
    problem_end(&p);
}

Test(amg_ways, wrong_columns_and_no_memory)
{
    problem p = problem_generated(1, "poisson2d5:12");
    double values[4 * 144] = {0}, right[4 * 144];
    dcsr_dense X = {.rows = 144, .cols = 4, .values = values}, B = {.rows = 144, .cols = 4, .values = right};
    fill(&B);
    TEST_REFUSED(bad, "setup", dcsr_amg_solve_many(p.amg, &X, &B, NULL));
    TEST_OK(dcsr_amg_setup(p.amg, p.A, NULL));
    TEST_REFUSED(bad, "NULL", dcsr_amg_solve_many(p.amg, NULL, &B, NULL));
    TEST_REFUSED(bad, "NULL", dcsr_amg_solve_many(p.amg, &X, NULL, NULL));
    TEST_REFUSED(bad, "NULL", dcsr_amg_solve_many(NULL, &X, &B, NULL));
    B.cols = 3;
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "X is 144 x 4 and B is 144 x 3",
                 dcsr_amg_solve_many(p.amg, &X, &B, NULL));
    B.cols = X.cols = 4;
    B.rows = 143;
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "A has 144 rows", dcsr_amg_solve_many(p.amg, &X, &B, NULL));
    B.rows = 144;
    right[144 + 7] = NAN;
    TEST_REFUSED(bad, "b[7] is not finite (column 1)", dcsr_amg_solve_many(p.amg, &X, &B, NULL));
    right[144 + 7] = 0;
    dcsr_amg_report reports[4];
    long allowed = 0;
    for (dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY; status; allowed++) {
        dcsr_i_fail_allocations_after(allowed);
        status = dcsr_amg_solve_many(p.amg, &X, &B, reports);
        dcsr_i_fail_allocations_after(-1);
        cr_assert(!status || (status == DCSR_ERROR_OUT_OF_MEMORY && values[0] == 0));
    }
    cr_assert(allowed > 7 && reports[3].outcome == DCSR_AMG_CONVERGED, "%d allocations, %s", (int)allowed,
              dcsr_amg_outcome_text(reports[3].outcome));
    X.cols = B.cols = 0;
    TEST_OK(dcsr_amg_solve_many(p.amg, &X, &B, NULL));
    problem_end(&p);
}

/* The residual is fp64 whatever the levels are. */
Test(amg_ways, levels_in_fp32)
{
    static const char *const settings[] = {"cycle=W",     "cycle=K",     "solver=bicgstab",
                                           "smoother=l1", "solver=none", "smoother=gauss-seidel"};
    for (size_t s = 0; s < sizeof settings / sizeof *settings; s++) {
        problem p = problem_generated(2, "poisson3d7:20");
        problem_set(&p, "tolerance=1e-12 precision=fp64");
        problem_solve(&p, settings[s], NULL);
        uint64_t iterations = p.report.iterations;
        problem_set(&p, "precision=fp32");
        problem_solve(&p, settings[s], NULL);
        cr_assert(p.report.outcome == DCSR_AMG_CONVERGED && problem_residual(&p) <= 1.1e-12 &&
                      p.report.iterations <= iterations + 2,
                  "%s: %d iterations, in fp64 %d", settings[s], (int)p.report.iterations, (int)iterations);
        for (uint64_t i = 0; i < p.csr.rows; i++) p.b[i] *= 1e-60; /* below what fp32 has */
        problem_solve(&p, "precision=fp32", NULL);
        cr_assert(p.report.outcome == DCSR_AMG_CONVERGED && p.report.iterations <= iterations + 2,
                  "%s: %s after %d iterations", settings[s], dcsr_amg_outcome_text(p.report.outcome),
                  (int)p.report.iterations);
        problem_end(&p);
    }
}

/* A matrix whose values fp32 cannot hold is refused, and the levels before are as they were. */
Test(amg_ways, fp32_has_a_range)
{
    problem p = problem_generated(1, "poisson2d5:12");
    SOLVES(&p, "precision=fp32", NULL, 20);
    for (int small = 0; small < 2; small++) {
        dcsr_coo coo;
        TEST_OK(dcsr_coo_generate(&coo, p.context, "poisson2d5:12"));
        for (uint64_t e = 0; e < coo.nnz; e++)
            if (coo.row_indices[e] == 5) ((double *)coo.values)[e] *= small ? 1e-50 : 1e50;
        dcsr_matrix *matrix;
        dcsr_view *view;
        TEST_OK(dcsr_matrix_from_coo(&matrix, p.context, &coo, NULL));
        TEST_OK(dcsr_view_create(&view, matrix, DCSR_LAYOUT_CSR, 0));
        TEST_REFUSED(bad, "row 5 of A has values that are too large or too small",
                     dcsr_amg_setup(p.amg, view, NULL));
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(matrix);
        dcsr_coo_free(&coo);
    }
    memset(p.x, 0, 144 * sizeof *p.x);
    TEST_OK(dcsr_amg_solve(p.amg, p.x, p.b, &p.report));
    cr_assert_eq(p.report.outcome, DCSR_AMG_CONVERGED);
    problem_end(&p);
}

/* Of the first level. Returns how many colours there are. */
static uint64_t expect_colours(const problem *p)
{
    const dcsr_i_amg_level *level = &p->amg->hierarchy->level[0];
    const uint64_t colours = level->colours.count - 1;
    expect_colours_of(p, DCSR_I_AMG_TOGETHER, level->by_colour.data, level->colours.data, colours);
    return colours;
}

Test(amg_ways, gauss_seidel)
{
    static const char *const settings[] = {"smoother=gauss-seidel",
                                           "smoother=gauss-seidel steps=1 cycle=V",
                                           "smoother=gauss-seidel solver=none",
                                           "smoother=gauss-seidel cycle=K",
                                           "smoother=gauss-seidel levels=1 steps=4",
                                           "smoother=gauss-seidel levels=2 coarse_rows=2000"};
    for (size_t s = 0; s < sizeof settings / sizeof *settings; s++) {
        problem p = problem_generated(2, "poisson2d5:60");
        SOLVES(&p, settings[s], NULL, 100);
        cr_assert_leq(expect_colours(&p), 6);
        problem_end(&p);
    }
    problem p = problem_diffusion(2, 60, everywhere, 1, 5);
    SOLVES(&p, "smoother=gauss-seidel", NULL, 40);
    expect_colours(&p);
    problem_end(&p);
}

/* More colours than a word has bits, and entries whose mirror is not stored. */
Test(amg_ways, many_colours)
{
    for (int half = 0; half < 2; half++) {
        enum { BLOCKS = 150, ROWS = BLOCKS * DCSR_I_AMG_TOGETHER };
        dcsr_context *context = context_with(3);
        list l = list_of(context, ROWS, ROWS + BLOCKS * BLOCKS);
        for (uint64_t i = 0; i < ROWS; i++) put(&l, i, i, 200);
        for (uint64_t i = 0; i < BLOCKS; i++)
            for (uint64_t j = 0; j < (half ? i : BLOCKS); j++)
                if (i != j) put(&l, i * DCSR_I_AMG_TOGETHER, j * DCSR_I_AMG_TOGETHER, -1);
        problem p = problem_listed(context, &l);
        SOLVES(&p, "smoother=gauss-seidel", NULL, 20);
        cr_assert_eq(expect_colours(&p), BLOCKS);
        problem_end(&p);
    }
}

/* What cycles have besides the matrices follows an update. */
Test(amg_ways, updates_reach_copies_and_colours)
{
    static const char *const settings[] = {"precision=fp32", "smoother=gauss-seidel",
                                           "smoother=gauss-seidel precision=fp32 cycle=K"};
    for (size_t s = 0; s < sizeof settings / sizeof *settings; s++) {
        problem p = problem_generated(2, "poisson2d5:60");
        SOLVES(&p, settings[s], NULL, 20);
        const uint64_t rows[] = {7, 3000, 1234, 7}, cols[] = {3000, 7, 1234, 7};
        const double values[] = {-50, -50, 9, 54};
        dcsr_view *later;
        TEST_OK(dcsr_matrix_insert(p.matrix, 4, rows, cols, values, NULL)); /* added: the policy is sum */
        TEST_OK(dcsr_matrix_insert(p.matrix, 1, &rows[1], &rows[1], &values[3], NULL));
        TEST_OK(dcsr_matrix_wait(p.matrix));
        TEST_OK(dcsr_view_create(&later, p.matrix, DCSR_LAYOUT_CSR, 0));
        TEST_OK(dcsr_amg_update(p.amg, later, NULL));
        dcsr_view_destroy(p.A);
        p.A = later;
        TEST_OK(dcsr_view_get_csr(p.A, &p.csr));
        memset(p.x, 0, p.csr.rows * sizeof *p.x);
        TEST_OK(dcsr_amg_solve(p.amg, p.x, p.b, &p.report));
        cr_assert(p.report.outcome == DCSR_AMG_CONVERGED && p.report.iterations <= 20 &&
                      problem_residual(&p) <= 1.1e-8,
                  "%s: %d iterations", settings[s], (int)p.report.iterations);
        if (strstr(settings[s], "gauss")) expect_colours(&p);
        problem_end(&p);
    }
}

/* test_amg_ways_device.c: several right-hand sides at once, levels in fp32, Gauss-Seidel, on a GPU. */
#include "amg/amg_engine.h"
#include "dcsr/base/runtime.h"
#include "tests/amg/changing.h"
#include "tests/amg/device.h"
#include "tests/amg/ways.h"

/* ---- Several right-hand sides ---- */

Test(amg_ways_device, columns_are_solved_as_if_alone)
{
    NEEDS_GPU();
    static const uint64_t cols[] = {1, 2, 3, 11};
    for (size_t k = 0; k < sizeof cols / sizeof *cols; k++)
        expect_as_alone(ON_DEVICE, "poisson2d5:7", "solver=cg coarse_rows=10", cols[k]);
}

/* Sweeps over four columns of a matrix of this size are a launch for each colour, those over one a single launch. */
Test(amg_ways_device, columns_share_every_method)
{
    NEEDS_GPU();
    expect_as_alone(ON_DEVICE, "poisson2d9:7", "solver=bicgstab coarse_rows=10", 3);
    expect_as_alone(ON_DEVICE, "poisson2d9:7", "solver=fgmres restart=4 coarse_rows=10", 2);
    expect_as_alone(ON_DEVICE, "poisson2d5:7", "solver=none smoother=l1 coarse_rows=10", 2);
    expect_as_alone(ON_DEVICE, "poisson3d7:4", "cycle=K coarse_rows=5", 2);
    expect_as_alone(ON_DEVICE, "poisson3d7:11", "levels=1 smoother=gauss-seidel", 4);
    expect_as_alone(ON_DEVICE, "poisson3d7:4", "precision=fp32 cycle=K coarse_rows=5", 4);
    expect_as_alone(ON_DEVICE, "poisson3d7:4", "precision=fp32 smoother=gauss-seidel coarse_rows=5", 8);
}

/* The same columns on the cpu: what they are solved to, and in how many iterations. Long rows have many lanes. */
static void compare_columns(problem *here, problem *there, const char *settings, uint64_t cols)
{
    problem *const both[] = {here, there};
    dcsr_amg_report reports[2][DCSR_I_AMG_MOST_WIDTH];
    dcsr_dense X[2], B = columns_of(here, cols);
    const uint64_t n = here->csr.rows * cols;
    double most = 0;
    fill(&B);
    for (int k = 0; k < 2; k++) {
        X[k] = columns_of(both[k], cols);
        problem_set(both[k], settings);
        TEST_OK(dcsr_amg_setup(both[k]->amg, both[k]->A, NULL));
        TEST_OK(dcsr_amg_solve_many(both[k]->amg, &X[k], &B, reports[k]));
    }
    for (uint64_t c = 0; c < cols; c++)
        cr_assert(reports[0][c].outcome == DCSR_AMG_CONVERGED &&
                      reports[1][c].outcome == DCSR_AMG_CONVERGED &&
                      llabs((long long)reports[0][c].iterations - (long long)reports[1][c].iterations) <= 1,
                  "%s, column %d: %d iterations, not %d", settings, (int)c, (int)reports[1][c].iterations,
                  (int)reports[0][c].iterations);
    for (uint64_t i = 0; i < n; i++) most = fmax(most, fabs(X[0].values[i]));
    for (uint64_t i = 0; i < n; i++) cr_assert_leq(fabs(X[0].values[i] - X[1].values[i]), 1e-6 * most);
    free(X[0].values);
    free(X[1].values);
    free(B.values);
}

Test(amg_ways_device, columns_are_those_of_the_cpu)
{
    NEEDS_GPU();
    dcsr_dense B[2];
    problem here = problem_elasticity(1, 5, 4, &B[0]), there = problem_elasticity(ON_DEVICE, 5, 4, &B[1]);
    TEST_OK(dcsr_amg_set_nullspace(here.amg, &B[0]));
    TEST_OK(dcsr_amg_set_nullspace(there.amg, &B[1]));
    compare_columns(&here, &there, "block=2 coarse_rows=10", 5);
    compare_columns(&here, &there, "cycle=V smoother=jacobi", 2);
    compare_columns(&here, &there, "precision=fp32", 4);
    problem_end(&here);
    problem_end(&there);
    free(B[0].values);
    free(B[1].values);
}

Test(amg_ways_device, columns_end_differently)
{
    NEEDS_GPU();
    problem p = problem_diffusion(ON_DEVICE, 9, everywhere, 0, 0);
    expect_ends(&p, "solver=cg coarse_rows=10");
    problem_end(&p);
}

/* ---- Levels in fp32 ---- */

static void compare_both(const char *generator, const char *const *settings, size_t count)
{
    problem here = problem_generated(1, generator), there = problem_generated(ON_DEVICE, generator);
    for (size_t s = 0; s < count; s++) compare_solutions(&here, &there, settings[s], true);
    problem_end(&here);
    problem_end(&there);
}

Test(amg_ways_device, levels_in_fp32)
{
    NEEDS_GPU();
    static const char *const settings[] = {
        "precision=fp32 coarse_rows=8",
        "cycle=K",
        "cycle=V solver=bicgstab steps=3",
        "cycle=W solver=fgmres steps=1",
        "smoother=l1",
        "smoother=jacobi",
        "smoother=chebyshev levels=1",
        "solver=none levels=20",
    };
    compare_both("poisson2d5:9", settings, sizeof settings / sizeof *settings);
}

Test(amg_ways_device, fp32_below_its_range)
{
    NEEDS_GPU();
    problem p = problem_generated(ON_DEVICE, "poisson2d5:9");
    for (uint64_t i = 0; i < p.csr.rows; i++) p.b[i] *= 1e-60;
    SOLVES(&p, "precision=fp32 coarse_rows=10", NULL, 20);
    problem_end(&p);
}

/* A matrix whose values fp32 cannot hold is refused, and the levels before are as they were. */
Test(amg_ways_device, fp32_has_a_range)
{
    NEEDS_GPU();
    problem p = problem_generated(ON_DEVICE, "poisson2d5:6");
    SOLVES(&p, "precision=fp32", NULL, 20);
    for (int small = 0; small < 2; small++) {
        list l = list_of(p.context, 36, 40);
        for (uint64_t i = 0; i < 36; i++) put(&l, i, i, i == 5 ? small ? 1e-50 : 1e50 : 1);
        dcsr_matrix *matrix;
        dcsr_view *view;
        TEST_OK(dcsr_coo_resize(&l.coo, l.used));
        TEST_OK(dcsr_matrix_from_coo(&matrix, p.context, &l.coo, NULL));
        TEST_OK(dcsr_view_create(&view, matrix, DCSR_LAYOUT_CSR, 0));
        TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "row 5 of A has values that are too large or too small",
                     dcsr_amg_setup(p.amg, view, NULL));
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(matrix);
        dcsr_coo_free(&l.coo);
    }
    memset(p.x, 0, p.csr.rows * sizeof *p.x);
    TEST_OK(dcsr_amg_solve(p.amg, p.x, p.b, &p.report));
    cr_assert_eq(p.report.outcome, DCSR_AMG_CONVERGED);
    problem_end(&p);
}

/* ---- Gauss-Seidel ---- */

/* Of rows, on the first level. Returns how many colours there are. */
static uint64_t expect_colours(const problem *p)
{
    const dcsr_i_amg_level *level = &p->amg->hierarchy->level[0];
    const uint64_t n = level->by_colour.count, colours = level->colours.count - 1;
    uint32_t *by_colour = test_allocate(n, sizeof *by_colour);
    uint64_t *begin = test_allocate(colours + 1, sizeof *begin);
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(p->context);
    dcsr_i_cuda_copy(stream, by_colour, level->by_colour.data, n * sizeof *by_colour);
    dcsr_i_cuda_copy(stream, begin, level->colours.data, (colours + 1) * sizeof *begin);
    TEST_OK(dcsr_i_cuda_wait(stream, "colours"));
    dcsr_i_stream_return(p->context, stream);
    expect_colours_of(p, 1, by_colour, begin, colours);
    free(by_colour);
    free(begin);
    return colours;
}

/* Colours are of rows here and of blocks on the cpu: iterations are nearly the same. */
static void compare_sweeps(problem *here, problem *there, const char *settings, bool singular)
{
    problem *const both[] = {here, there};
    for (int k = 0; k < 2; k++) {
        if (singular) problem_in_range(both[k]);
        SOLVES(both[k], settings, NULL, 60);
    }
    cr_assert_leq(there->report.iterations, here->report.iterations + here->report.iterations / 4 + 1,
                  "%s: %d iterations, on the cpu %d", settings, (int)there->report.iterations,
                  (int)here->report.iterations);
    expect_colours(there);
}

static void end_both(problem *here, problem *there)
{
    problem_end(here);
    problem_end(there);
}

Test(amg_ways_device, gauss_seidel)
{
    NEEDS_GPU();
    static const char *const settings[] = {"smoother=gauss-seidel", "smoother=gauss-seidel coarse_rows=10",
                                           "smoother=gauss-seidel coarse_rows=10 steps=1 cycle=V",
                                           "smoother=gauss-seidel coarse_rows=10 solver=none",
                                           "smoother=gauss-seidel coarse_rows=10 cycle=K precision=fp32"};
    problem here = problem_generated(1, "poisson2d5:16"),
            there = problem_generated(ON_DEVICE, "poisson2d5:16");
    for (size_t s = 0; s < sizeof settings / sizeof *settings; s++)
        compare_sweeps(&here, &there, settings[s], false);
    end_both(&here, &there);
}

Test(amg_ways_device, gauss_seidel_for_difficult_matrices)
{
    NEEDS_GPU();
    problem here = problem_diffusion(1, 16, everywhere, 1, 5),
            there = problem_diffusion(ON_DEVICE, 16, everywhere, 1, 5); /* not symmetric */
    compare_sweeps(&here, &there, "smoother=gauss-seidel coarse_rows=20", false);
    end_both(&here, &there);
    here = problem_diffusion(1, 16, everywhere, 0, 0);
    there = problem_diffusion(ON_DEVICE, 16, everywhere, 0, 0);
    compare_sweeps(&here, &there, "smoother=gauss-seidel coarse_rows=20", true);
    end_both(&here, &there);
    dcsr_dense B[2];
    here = problem_elasticity(1, 8, 4, &B[0]);
    there = problem_elasticity(ON_DEVICE, 8, 4, &B[1]);
    TEST_OK(dcsr_amg_set_nullspace(here.amg, &B[0]));
    TEST_OK(dcsr_amg_set_nullspace(there.amg, &B[1]));
    compare_sweeps(&here, &there, "smoother=gauss-seidel block=2 coarse_rows=20", false);
    end_both(&here, &there);
    free(B[0].values);
    free(B[1].values);
}

/* More colours than a word has bits, and entries whose mirror is not stored. */
Test(amg_ways_device, many_colours)
{
    NEEDS_GPU();
    for (int half = 0; half < 2; half++) {
        enum { ROWS = 90 };
        dcsr_context *context = context_with(ON_DEVICE);
        list l = list_of(context, ROWS, ROWS * ROWS);
        for (uint64_t i = 0; i < ROWS; i++)
            for (uint64_t j = 0; j < (half ? i + 1 : ROWS); j++) put(&l, i, j, i == j ? 200 : -1);
        problem p = problem_listed(context, &l);
        SOLVES(&p, "smoother=gauss-seidel levels=2 coarse_rows=20", NULL, 20);
        cr_assert_eq(expect_colours(&p), ROWS);
        problem_end(&p);
    }
}

/* ---- Memory ---- */

/* Whatever allocation fails, nothing is lost: the levels of before, X, and what a next call needs. */
Test(amg_ways_device, may_lack_memory)
{
    NEEDS_GPU();
    static const char *const settings[] = {"precision=fp32 coarse_rows=10",
                                           "smoother=gauss-seidel coarse_rows=10"};
    for (size_t s = 0; s < sizeof settings / sizeof *settings; s++) {
        problem p = problem_generated(ON_DEVICE, "poisson2d5:6");
        dcsr_dense X = columns_of(&p, 3), B = columns_of(&p, 3);
        dcsr_amg_report reports[3];
        problem_solve(&p, "cycle=K", NULL);
        problem_set(&p, settings[s]);
        fill(&B);
        problem_set_up_short_of_memory(&p);
        dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
        for (int first = 0; status; first++) {
            dcsr_i_fail_allocations_after(first);
            status = dcsr_amg_solve_many(p.amg, &X, &B, reports);
            dcsr_i_fail_allocations_after(-1);
            cr_assert(!status || (status == DCSR_ERROR_OUT_OF_MEMORY && X.values[0] == 0), "%s",
                      dcsr_thread_error());
            cr_assert(first < 100);
        }
        for (int c = 0; c < 3; c++) cr_assert_eq(reports[c].outcome, DCSR_AMG_CONVERGED);
        free(X.values);
        free(B.values);
        problem_end(&p);
    }
}

/* ---- After updates ---- */

/* Three columns, and one of them alone, are solved for as by levels that are set up for the matrix as it is now. */
static void expect_as_set_up(const changing *c, const char *settings)
{
    dcsr_amg_report reports[2][4];
    dcsr_dense X[2], B = columns_of(&c->p, 3);
    const uint64_t n = 3 * c->p.csr.rows;
    problem other = c->p;
    double most = 0;
    fill(&B);
    TEST_OK(dcsr_amg_create(&other.amg, c->p.context));
    problem_set(&other, settings);
    TEST_OK(dcsr_amg_setup(other.amg, c->view, NULL));
    for (int k = 0; k < 2; k++) {
        dcsr_amg *amg = k ? other.amg : c->p.amg;
        X[k] = columns_of(&c->p, 3);
        TEST_OK(dcsr_amg_solve_many(amg, &X[k], &B, reports[k]));
        memset(c->p.x, 0, c->p.csr.rows * sizeof *c->p.x);
        TEST_OK(dcsr_amg_solve(amg, c->p.x, B.values, &reports[k][3]));
        for (uint64_t i = 0; i < c->p.csr.rows; i++)
            cr_assert_leq(fabs(c->p.x[i] - X[k].values[i]), 1e-6 * (1 + fabs(c->p.x[i])));
    }
    for (int s = 0; s < 4; s++)
        cr_assert(reports[0][s].outcome == DCSR_AMG_CONVERGED &&
                      llabs((long long)reports[0][s].iterations - (long long)reports[1][s].iterations) <= 1,
                  "%s, solve %d: %d iterations, set up anew %d", settings, s, (int)reports[0][s].iterations,
                  (int)reports[1][s].iterations);
    for (uint64_t i = 0; i < n; i++) most = fmax(most, fabs(X[1].values[i]));
    for (uint64_t i = 0; i < n; i++) cr_assert_leq(fabs(X[0].values[i] - X[1].values[i]), 1e-6 * most);
    dcsr_amg_destroy(other.amg);
    free(X[0].values);
    free(X[1].values);
    free(B.values);
}

/* The copies in fp32 and the colours are those of the rows as they are now, wherever these have moved to. */
static void expect_prepared(const changing *c)
{
    dcsr_i_amg_hierarchy *h = c->p.amg->hierarchy;
    dcsr_view *A;
    problem now = c->p;
    TEST_OK(dcsr_amg_get_views(c->p.amg, 0, &A, NULL, NULL));
    TEST_OK(dcsr_view_get_csr_on_host(A, &now.csr));
    if (h->options.smoother == DCSR_I_AMG_GAUSS_SEIDEL) expect_colours(&now);
    for (int l = 0; l < h->level_count && h->options.precision == DCSR_I_AMG_FP32; l++) {
        const dcsr_i_amg_matrix *m = &h->level[l].A;
        const uint64_t places = m->begins.data ? m->used : m->rows.nnz;
        double *values = test_allocate(places, sizeof *values);
        float *narrow = test_allocate(places, sizeof *narrow);
        TEST_OK(h->engine->open(h));
        TEST_OK(h->engine->get(h, values, m->rows.values, places * sizeof *values));
        TEST_OK(h->engine->get(h, narrow, m->rows.narrow, places * sizeof *narrow));
        TEST_OK(h->engine->close(h, "comparing"));
        for (uint64_t e = 0; e < places; e++) cr_assert_eq(narrow[e], (float)values[e]);
        free(values);
        free(narrow);
    }
}

/* Values, a new entry, and one that goes. */
Test(amg_ways_device, updates_reach_copies_and_colours)
{
    NEEDS_GPU();
    static const char *const settings[] = {"coarse_rows=12 precision=fp32",
                                           "coarse_rows=12 smoother=gauss-seidel"};
    for (size_t s = 0; s < sizeof settings / sizeof *settings; s++) {
        changing c = changing_of(problem_generated(ON_DEVICE, "poisson2d5:10"), true, DCSR_LAYOUT_SEGMENTS);
        problem_set(&c.p, settings[s]);
        problem_set(&c.p, "rebuild=never");
        TEST_OK(dcsr_amg_setup(c.p.amg, c.view, NULL));
        for (int step = 0; step < 3; step++) {
            if (step == 0) set(&c, 44, 45, -30), set(&c, 44, 44, 34), set(&c, 45, 45, 34);
            if (step == 1) set(&c, 7, 62, -50), set(&c, 7, 7, 54), set(&c, 62, 62, 54);
            if (step == 2) unset(&c, 72, 73);
            const dcsr_amg_update_report report = follow(&c);
            cr_assert(report.how == DCSR_AMG_PATCHED && report.rows_changed <= 2, "%s", report.why);
            expect_as_set_up(&c, settings[s]);
            expect_prepared(&c);
        }
        changing_end(&c);
    }
}

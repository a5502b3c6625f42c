/* test_amg_device.c: multigrid on a GPU: the same levels as on the cpu, and the same answers. */
#include "tests/amg/device.h"
#include <dcsr/extend.h>
#include "dcsr/base/runtime.h"

/* Of values that were added up in the same order, but for the contraction of products and sums. */
static const double CLOSE = 1e-9;

static void compare_matrices(dcsr_view *here, dcsr_view *there, const char *what, uint64_t level)
{
    dcsr_csr a, b;
    cr_assert(!here == !there, "%s of level %llu is on one side only", what, (unsigned long long)level);
    if (!here) return;
    TEST_OK(dcsr_view_get_csr(here, &a));
    TEST_OK(dcsr_view_get_csr_on_host(there, &b));
    cr_assert(a.rows == b.rows && a.cols == b.cols && a.nnz == b.nnz,
              "%s of level %llu: %llu x %llu with %llu, not %llu x %llu with %llu", what,
              (unsigned long long)level, (unsigned long long)b.rows, (unsigned long long)b.cols,
              (unsigned long long)b.nnz, (unsigned long long)a.rows, (unsigned long long)a.cols,
              (unsigned long long)a.nnz);
    cr_assert(!memcmp(a.offsets, b.offsets, (a.rows + 1) * sizeof *a.offsets));
    double most = 0, *row = test_allocate(a.cols, sizeof *row);
    const double *x = a.values, *y = b.values;
    for (uint64_t e = 0; e < a.nnz; e++) most = fmax(most, fabs(x[e]));
    for (uint64_t i = 0; i < a.rows; i++) {
        for (uint64_t e = a.offsets[i]; e < a.offsets[i + 1]; e++) row[a.col_indices[e]] = x[e];
        for (uint64_t e = a.offsets[i]; e < a.offsets[i + 1]; e++) {
            double *value = &row[b.col_indices[e]];
            cr_assert(fabs(*value - y[e]) <= CLOSE * most, "%s of level %llu: (%llu, %u) is %.17g, not %.17g",
                      what, (unsigned long long)level, (unsigned long long)i, b.col_indices[e], y[e], *value);
            *value = NAN; /* each entry once, and in no other row */
        }
    }
    free(row);
}

static dcsr_amg_report set_up(problem *p, const char *settings, const dcsr_dense *B)
{
    dcsr_amg_report report;
    problem_set(p, settings);
    if (B) TEST_OK(dcsr_amg_set_nullspace(p->amg, B));
    TEST_OK(dcsr_amg_setup(p->amg, p->A, &report));
    return report;
}

/* All levels that there are. */
static void compare_made(problem *here, problem *there, uint64_t levels)
{
    problem *const both[] = {here, there};
    for (uint64_t l = 0; l < levels; l++) {
        dcsr_view *view[2][3];
        dcsr_amg_level level[2];
        for (int k = 0; k < 2; k++) {
            TEST_OK(dcsr_amg_get_views(both[k]->amg, l, &view[k][0], &view[k][1], &view[k][2]));
            TEST_OK(dcsr_amg_get_level(both[k]->amg, l, &level[k]));
        }
        cr_assert(level[0].direct == level[1].direct &&
                      fabs(level[0].rho - level[1].rho) <= CLOSE * level[0].rho,
                  "level %llu: rho is %.17g, not %.17g", (unsigned long long)l, level[1].rho, level[0].rho);
        for (int m = 0; m < 3; m++) compare_matrices(view[0][m], view[1][m], &"A\0P\0R"[2 * m], l);
    }
    TEST_STATUS(DCSR_ERROR_INDEX_OUT_OF_RANGE, dcsr_amg_get_views(there->amg, levels, NULL, NULL, NULL));
}

static void compare_levels(problem *here, problem *there, const char *settings, const dcsr_dense *B)
{
    const dcsr_amg_report a = set_up(here, settings, B), b = set_up(there, settings, B);
    cr_assert(a.levels == b.levels && a.symmetric == b.symmetric, "%s: %llu levels, not %llu", settings,
              (unsigned long long)b.levels, (unsigned long long)a.levels);
    compare_made(here, there, a.levels);
}

/* ---- Levels ---- */

static void compare_generated(const char *matrix, const char *settings)
{
    problem here = problem_generated(1, matrix), there = problem_generated(ON_DEVICE, matrix);
    compare_levels(&here, &there, settings, NULL);
    problem_end(&here);
    problem_end(&there);
}

Test(amg_device, makes_the_same_levels)
{
    NEEDS_GPU();
    compare_generated("poisson2d5:17", "coarse_rows=5");
    compare_generated("poisson2d9:9", "coarse_rows=3 smoother=l1");
    compare_generated("poisson3d7:5", "coarse_rows=5");
}

/* T itself, which tells the aggregates. */
Test(amg_device, makes_the_same_aggregates)
{
    NEEDS_GPU();
    compare_generated("poisson2d5:12", "omega=0 coarse_rows=5 seed=3");
    compare_generated("poisson3d7:5", "omega=0 coarse_rows=5 strength=0.3");
}

static void compare_diffusion(coefficient between, double wall, double wind, const char *settings)
{
    problem here = problem_diffusion(1, 10, between, wall, wind),
            there = problem_diffusion(ON_DEVICE, 10, between, wall, wind);
    compare_levels(&here, &there, settings, NULL);
    problem_end(&here);
    problem_end(&there);
}

Test(amg_device, makes_the_same_levels_of_difficult_matrices)
{
    NEEDS_GPU();
    compare_diffusion(mostly_across, 1, 0, "coarse_rows=20");
    compare_diffusion(jumping, 1, 0, "coarse_rows=20");
    compare_diffusion(everywhere, 0, 0, "coarse_rows=20");                 /* singular */
    compare_diffusion(everywhere, 1, 0.9, "coarse_rows=20");               /* not symmetric */
    compare_diffusion(mostly_across, 1, 2, "coarse_rows=20 strength=0.3"); /* strong in one direction only */
}

Test(amg_device, makes_the_same_levels_of_blocks)
{
    NEEDS_GPU();
    dcsr_dense B[2];
    problem here = problem_elasticity(1, 8, 4, &B[0]), there = problem_elasticity(ON_DEVICE, 8, 4, &B[1]);
    compare_levels(&here, &there, "block=2 coarse_rows=30", &B[0]);
    compare_levels(&here, &there, "block=2 coarse_rows=30 omega=0", &B[0]);
    compare_levels(&here, &there, "strength=0.1", NULL);
    TEST_OK(dcsr_amg_set_nullspace(here.amg, NULL));
    TEST_OK(dcsr_amg_set_nullspace(there.amg, NULL));
    compare_levels(&here, &there, "block=2 coarse_rows=12", NULL);
    problem_end(&here);
    problem_end(&there);
    free(B[0].values);
    free(B[1].values);
}

/* ---- Solutions ---- */

Test(amg_device, solves_by_each_method)
{
    NEEDS_GPU();
    static const char *const settings[] = {
        "coarse_rows=8 solver=cg",
        "cycle=V solver=bicgstab steps=3",
        "cycle=K solver=auto steps=1",
        "cycle=W solver=fgmres restart=4 smoother=jacobi",
        "levels=2 solver=none smoother=l1 steps=2",
    };
    problem here = problem_generated(1, "poisson2d5:8"), there = problem_generated(ON_DEVICE, "poisson2d5:8");
    for (size_t s = 0; s < sizeof settings / sizeof *settings; s++)
        compare_solutions(&here, &there, settings[s], true);
    problem_end(&here);
    problem_end(&there);
}

/* A last level that is too large to be inverted. */
Test(amg_device, solves_with_smoothing_alone)
{
    NEEDS_GPU();
    problem here = problem_generated(1, "poisson2d5:32"),
            there = problem_generated(ON_DEVICE, "poisson2d5:32");
    compare_solutions(&here, &there, "levels=1 steps=3", true);
    problem_end(&here);
    problem_end(&there);
}

Test(amg_device, solves_what_is_not_symmetric_or_singular)
{
    NEEDS_GPU();
    problem here = problem_diffusion(1, 10, everywhere, 1, 0.9),
            there = problem_diffusion(ON_DEVICE, 10, everywhere, 1, 0.9);
    compare_solutions(&here, &there, "coarse_rows=20", true);
    problem_end(&here);
    problem_end(&there);
    here = problem_diffusion(1, 10, everywhere, 0, 0);
    there = problem_diffusion(ON_DEVICE, 10, everywhere, 0, 0);
    problem_in_range(&here);
    problem_in_range(&there);
    compare_solutions(&here, &there, "coarse_rows=20", false);
    problem_end(&here);
    problem_end(&there);
}

/* Bits: whoever runs first, sums are taken in the same order. */
Test(amg_device, solves_the_same_each_time)
{
    NEEDS_GPU();
    problem p = problem_generated(ON_DEVICE, "poisson3d7:5");
    double *first = test_allocate(p.csr.rows, sizeof *first);
    problem_solve(&p, "coarse_rows=20", NULL);
    memcpy(first, p.x, p.csr.rows * sizeof *first);
    problem_solve(&p, "coarse_rows=20", NULL);
    cr_assert(!memcmp(first, p.x, p.csr.rows * sizeof *first));
    free(first);
    problem_end(&p);
}

/* ---- A matrix that changes ---- */

/* Where A is not symmetric any more, without anything that was kept. */
Test(amg_device, updates_by_setting_up_anew)
{
    NEEDS_GPU();
    problem here = problem_generated(1, "poisson2d5:9"), there = problem_generated(ON_DEVICE, "poisson2d5:9");
    problem *const both[] = {&here, &there};
    const uint64_t rows[] = {3, 3, 40}, cols[] = {3, 4, 40};
    const double values[] = {2, 0.5, 1};
    dcsr_amg_update_report report = {.rows_changed = 1};
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "there are no levels yet",
                 dcsr_amg_update(there.amg, there.A, NULL));
    problem_solve(&there, "coarse_rows=20 rebuild=never", NULL);
    const uint64_t iterations = there.report.iterations;
    for (int k = 0; k < 2; k++) {
        dcsr_view *before = both[k]->A;
        TEST_OK(dcsr_matrix_insert(both[k]->matrix, 3, rows, cols, values, NULL));
        TEST_OK(dcsr_matrix_wait(both[k]->matrix));
        TEST_OK(dcsr_view_create(&both[k]->A, both[k]->matrix, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED));
        TEST_OK(dcsr_view_get_csr_on_host(both[k]->A, &both[k]->csr));
        if (k) TEST_OK(dcsr_amg_update(there.amg, there.A, &report));
        dcsr_view_destroy(before);
    }
    cr_assert(report.how == DCSR_AMG_SET_UP && strstr(report.why, "not symmetric") && report.rows_changed &&
              report.iterations == iterations);
    compare_made(&here, &there, set_up(&here, "coarse_rows=20", NULL).levels);
    memset(there.x, 0, there.csr.rows * sizeof *there.x);
    TEST_OK(dcsr_amg_solve(there.amg, there.x, there.b, &there.report));
    cr_assert(there.report.outcome == DCSR_AMG_CONVERGED && problem_residual(&there) <= 1.1e-8);
    problem_end(&here);
    problem_end(&there);
}

/* ---- Arrays ---- */

static double *bring(dcsr_context *context, const double *from, uint64_t n)
{
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(context);
    double *to = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, n, sizeof *to);
    cr_assert_not_null(to);
    dcsr_i_cuda_copy(stream, to, from, n * sizeof *to);
    TEST_OK(dcsr_i_cuda_wait(stream, "bringing"));
    dcsr_i_stream_return(context, stream);
    return to;
}

static void take_back(dcsr_context *context, double *to, double *from, uint64_t n)
{
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(context);
    dcsr_i_cuda_copy(stream, to, from, n * sizeof *to);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, from, n, sizeof *from);
    TEST_OK(dcsr_i_cuda_wait(stream, "taking back"));
    dcsr_i_stream_return(context, stream);
}

Test(amg_device, takes_arrays_that_are_there)
{
    NEEDS_GPU();
    problem p = problem_generated(ON_DEVICE, "poisson2d5:9");
    const uint64_t n = p.csr.rows;
    double *expected = test_allocate(n, sizeof *expected);
    problem_solve(&p, "coarse_rows=20", NULL);
    memcpy(expected, p.x, n * sizeof *expected);
    memset(p.x, 0, n * sizeof *p.x);
    double *x = bring(p.context, p.x, n), *b = bring(p.context, p.b, n);
    TEST_OK(dcsr_amg_solve_device(p.amg, x, b, &p.report));
    cr_assert(p.report.outcome == DCSR_AMG_CONVERGED);
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "x is not in the memory",
                 dcsr_amg_solve_device(p.amg, p.x, b, &p.report));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "b is not in the memory",
                 dcsr_amg_solve_device(p.amg, x, p.b, &p.report));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "b is NULL", dcsr_amg_solve_device(p.amg, x, NULL, &p.report));
    take_back(p.context, p.x, x, n);
    cr_assert(!memcmp(expected, p.x, n * sizeof *expected));
    p.b[5] = NAN;
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "b[5] is not finite", dcsr_amg_solve(p.amg, p.x, p.b, NULL));
    cr_assert(!memcmp(expected, p.x, n * sizeof *expected));
    take_back(p.context, p.b, b, n);
    free(expected);
    problem_end(&p);
}

Test(amg_device, solves_what_has_one_row_or_none)
{
    NEEDS_GPU();
    for (uint64_t n = 0; n < 2; n++) {
        dcsr_context *context = context_with(ON_DEVICE);
        list l = list_of(context, n, n);
        if (n) put(&l, 0, 0, 4);
        problem p = problem_listed(context, &l);
        problem_solve(&p, "solver=cg", NULL);
        cr_assert(p.report.outcome == DCSR_AMG_CONVERGED && (!n || fabs(p.x[0] - 0.25) <= 1e-15));
        problem_end(&p);
    }
}

Test(amg_device, is_another_call_on_the_cpu)
{
    problem p = problem_generated(1, "poisson2d5:5");
    TEST_OK(dcsr_amg_setup(p.amg, p.A, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "the context is on the cpu",
                 dcsr_amg_solve_device(p.amg, p.x, p.b, NULL));
    problem_end(&p);
}

/* ---- What goes wrong ---- */

static void refuses(double diagonal, double beside, const char *words)
{
    dcsr_context *context = context_with(ON_DEVICE);
    list l = list_of(context, 5, 13);
    for (uint64_t i = 0; i < 5; i++) {
        if (i != 3 || diagonal == diagonal) put(&l, i, i, i == 3 ? diagonal : 2);
        if (i != 3 || beside != 0) put(&l, i, (i + 1) % 5, i == 3 ? beside : -1);
    }
    problem p = problem_listed(context, &l);
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, words, dcsr_amg_setup(p.amg, p.A, NULL));
    problem_end(&p);
}

Test(amg_device, refuses_rows_that_cannot_be_used)
{
    NEEDS_GPU();
    refuses(NAN, 0, "row 3 of A has no entries");
    refuses(0, -1, "row 3 of A has a zero on the diagonal");
    refuses(2, INFINITY, "row 3 of A has a value that is not finite");
}

/* Whatever allocation fails, the levels made before stay, and nothing is lost. */
Test(amg_device, may_lack_memory)
{
    NEEDS_GPU();
    dcsr_dense B;
    problem p = problem_elasticity(ON_DEVICE, 5, 3, &B);
    problem_set(&p, "block=2 coarse_rows=10");
    TEST_OK(dcsr_amg_set_nullspace(p.amg, &B));
    TEST_OK(dcsr_amg_setup(p.amg, p.A, NULL));
    problem_set_up_short_of_memory(&p);
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    for (int first = 0; status; first++) {
        dcsr_i_fail_allocations_after(first);
        status = dcsr_amg_solve(p.amg, p.x, p.b, &p.report);
        dcsr_i_fail_allocations_after(-1);
        cr_assert(!status || (status == DCSR_ERROR_OUT_OF_MEMORY && p.x[3] == 0), "%s", dcsr_thread_error());
        cr_assert(first < 100);
    }
    cr_assert(p.report.outcome == DCSR_AMG_CONVERGED && problem_residual(&p) <= 1.1e-8);
    problem_end(&p);
    free(B.values);
}

Test(amg_device, outlives_its_context)
{
    NEEDS_GPU();
    problem p = problem_generated(ON_DEVICE, "poisson2d5:10");
    problem_solve(&p, "coarse_rows=20", NULL);
    dcsr_context_destroy(p.context);
    TEST_STATUS(DCSR_ERROR_CONTEXT_DESTROYED, dcsr_amg_solve(p.amg, p.x, p.b, NULL));
    TEST_STATUS(DCSR_ERROR_CONTEXT_DESTROYED, dcsr_amg_setup(p.amg, p.A, NULL));
    dcsr_amg_destroy(p.amg);
    dcsr_view_destroy(p.A);
    dcsr_matrix_destroy(p.matrix);
    free(p.x);
    free(p.b);
}

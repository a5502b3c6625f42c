/* test_multi_amg_solve.c: solving on several devices: each method beside one device's, and beside residuals that loops
 * over the entries compute; matrices that are not symmetric; several columns; what a solve begins with and ends by. */
#include "tests/multi/multi_amg_world.h"

TestSuite(multi_amg_solve, .init = set_devices);

static int side_of_grid(void)
{
    return test_on_emulator() ? 12 : 24;
}

static world open_grid(int count, int threads)
{
    char text[32];
    snprintf(text, sizeof text, "poisson2d5:%d", side_of_grid());
    return open_world(text, count, threads);
}

/* Residuals of the last solve: one more than iterations, from that of x = 0 on, down to the tolerance. */
static void check_residuals(const world *w, const dcsr_amg_report *report)
{
    uint64_t count;
    const double *residuals;
    TEST_OK(dcsr_multi_amg_get_residuals(w->amg, 0, &count, &residuals));
    cr_assert_eq(count, report->iterations + 1);
    cr_assert_eq(residuals[0], 1);
    cr_assert_leq(residuals[count - 1], 1e-8);
    if (count > 2) cr_assert_gt(residuals[count - 2], 1e-8);
}

/* ---- Methods ---- */

static const char *const methods[] = {"solver=auto",       "solver=cg",
                                      "solver=cg cycle=K", "solver=bicgstab",
                                      "solver=fgmres",     "solver=fgmres restart=3",
                                      "solver=none",       "solver=fgmres precision=fp32"};

Test(multi_amg_solve, methods_take_about_the_iterations_of_one_device)
{
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        world w = open_grid(3, 3);
        set_options(w.amg, NULL, methods[m]);
        const dcsr_amg_report found = set_up_and_solve(&w);
        const uint64_t alone = iterations_alone(&w, methods[m]);
        char name[16] = "";
        sscanf(methods[m], "solver=%15s", name);
        cr_assert_str_eq(found.solver, strcmp(name, "auto") ? name : "cg");
        cr_assert_leq(found.iterations, alone + 3, "%s: %d iterations, alone %d", methods[m],
                      (int)found.iterations, (int)alone);
        cr_assert_eq(found.levels, w.info.levels);
        cr_assert_float_eq(found.residual, residual_of(&w), 1e-12);
        check_residuals(&w, &found);
        close_world(&w);
    }
}

/* What flows to one side, by differences against the flow, with some diffusion. */
static world flow_world(uint64_t side, double flow, int count)
{
    dcsr_context *context = on_host();
    const uint64_t n = side * side;
    dcsr_coo coo;
    uint64_t used = 0;
    TEST_OK(dcsr_coo_allocate(&coo, context, DCSR_FP64, n, n, 5 * n));
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t x = i % side, y = i / side;
        put(&coo, &used, i, i, 4 + 2 * flow);
        if (x) put(&coo, &used, i, i - 1, -1 - flow);
        if (x + 1 < side) put(&coo, &used, i, i + 1, -1);
        if (y) put(&coo, &used, i, i - side, -1 - flow);
        if (y + 1 < side) put(&coo, &used, i, i + side, -1);
    }
    pad(&coo, used);
    return world_of(context, &coo, count, count);
}

Test(multi_amg_solve, matrices_that_are_not_symmetric_get_fgmres)
{
    static const char *const ways[] = {NULL, "solver=bicgstab", "smoother=gauss-seidel", "cycle=K"};
    for (size_t o = 0; o < sizeof ways / sizeof *ways; o++)
        for (int count = 1; count <= 4; count += 3) {
            world w = flow_world((uint64_t)side_of_grid(), 3, count);
            set_options(w.amg, NULL, ways[o]);
            const dcsr_amg_report found = set_up_and_solve(&w);
            cr_assert_not(found.symmetric);
            cr_assert_str_eq(found.solver, o == 1 ? "bicgstab" : "fgmres");
            cr_assert_leq(found.iterations, 40, "%d iterations", (int)found.iterations);
            close_world(&w);
        }
}

/* ---- Columns ---- */

/* Each is solved for as if it were alone; one of zeros is solved at once. */
Test(multi_amg_solve, columns_are_solved_for_one_by_one)
{
    enum { COLUMNS = 4 };
    world w = open_grid(3, 3);
    const uint64_t n = w.csr.rows;
    dcsr_amg_report reports[COLUMNS];
    dcsr_dense X = {.rows = n, .cols = COLUMNS, .values = test_allocate(n * COLUMNS, sizeof(double))},
               B = {.rows = n, .cols = COLUMNS, .values = test_allocate(n * COLUMNS, sizeof(double))};
    for (uint64_t i = 0; i < n; i++) {
        B.values[i] = 1;
        B.values[i + n] = (double)(i % 7) - 3;
        B.values[i + 3 * n] = i == 5;
        X.values[i + 2 * n] = 8;
    }
    TEST_OK(dcsr_multi_amg_setup(w.amg, w.A, &w.info));
    TEST_OK(dcsr_multi_amg_solve_many(w.amg, &X, &B, reports));
    for (uint64_t c = 0; c < COLUMNS; c++) {
        uint64_t count;
        const double *residuals;
        TEST_OK(dcsr_multi_amg_get_residuals(w.amg, c, &count, &residuals));
        cr_assert_eq(count, reports[c].iterations + 1);
        cr_assert_eq(reports[c].outcome, DCSR_AMG_CONVERGED);
    }
    cr_assert_eq(reports[2].iterations, 0);
    for (uint64_t i = 0; i < n; i++) cr_assert_eq(X.values[i + 2 * n], 0);
    for (uint64_t c = 0; c < COLUMNS; c++) {
        if (c == 2) continue;
        memcpy(w.b, B.values + c * n, n * sizeof *w.b);
        const dcsr_amg_report alone = solve(&w);
        cr_assert_eq(alone.iterations, reports[c].iterations);
        cr_assert(!memcmp(w.x, X.values + c * n, n * sizeof *w.x), "column %d", (int)c);
    }
    free(X.values);
    free(B.values);
    close_world(&w);
}

/* ---- Beginnings and ends ---- */

Test(multi_amg_solve, goes_on_from_the_x_that_is_given)
{
    world w = open_grid(3, 3);
    dcsr_amg_report report;
    set_up_and_solve(&w);
    double *reached = test_copy(w.x, w.csr.rows * sizeof *w.x);
    TEST_OK(dcsr_multi_amg_solve(w.amg, w.x, w.b, &report));
    cr_assert_eq(report.iterations, 0);
    cr_assert(!memcmp(w.x, reached, w.csr.rows * sizeof *w.x));
    TEST_OK(dcsr_multi_amg_set(w.amg, "tolerance", "1e-12"));
    TEST_OK(dcsr_multi_amg_solve(w.amg, w.x, w.b, &report));
    cr_assert_eq(report.outcome, DCSR_AMG_CONVERGED);
    cr_assert(report.iterations > 0 && report.iterations < 10, "%d iterations", (int)report.iterations);
    cr_assert_leq(residual_of(&w), 1.1e-12);
    free(reached);
    close_world(&w);
}

Test(multi_amg_solve, tells_what_it_did_not_reach)
{
    world w = open_grid(2, 2);
    dcsr_amg_report report;
    TEST_OK(dcsr_multi_amg_set(w.amg, "iterations", "2"));
    TEST_OK(dcsr_multi_amg_setup(w.amg, w.A, NULL));
    TEST_OK(dcsr_multi_amg_solve(w.amg, w.x, w.b, &report));
    cr_assert_eq(report.outcome, DCSR_AMG_LIMIT);
    cr_assert_eq(report.iterations, 2);
    cr_assert_float_eq(report.residual, residual_of(&w), 1e-12);
    cr_assert(report.residual < 1 && report.residual > 1e-8, "%g", report.residual);
    TEST_OK(dcsr_multi_amg_set(w.amg, "iterations", "200"));
    TEST_OK(dcsr_multi_amg_set(w.amg, "tolerance", "1e-17"));
    TEST_OK(dcsr_multi_amg_solve(w.amg, w.x, w.b, &report));
    cr_assert_eq(report.outcome, DCSR_AMG_STAGNATED, "%s", dcsr_amg_outcome_text(report.outcome));
    cr_assert_leq(residual_of(&w), 1e-13);
    close_world(&w);
}

/* Of -A: p.A p is below 0. */
Test(multi_amg_solve, conjugate_gradients_tell_that_a_matrix_is_not_positive)
{
    world w = open_grid(2, 2);
    dcsr_csr negative = w.csr;
    dcsr_multi_matrix *matrix;
    dcsr_multi_view *A;
    dcsr_amg_report report;
    negative.values = test_allocate(w.csr.nnz, sizeof(double));
    for (uint64_t e = 0; e < w.csr.nnz; e++)
        ((double *)negative.values)[e] = -((const double *)w.csr.values)[e];
    TEST_OK(dcsr_multi_matrix_from_csr(&matrix, w.devices, &negative, NULL));
    TEST_OK(dcsr_multi_view_create(&A, matrix, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED));
    TEST_OK(dcsr_multi_amg_set(w.amg, "solver", "cg"));
    TEST_OK(dcsr_multi_amg_setup(w.amg, A, NULL));
    TEST_OK(dcsr_multi_amg_solve(w.amg, w.x, w.b, &report));
    cr_assert_eq(report.outcome, DCSR_AMG_INDEFINITE, "%s", dcsr_amg_outcome_text(report.outcome));
    TEST_OK(dcsr_multi_amg_set(w.amg, "solver", "fgmres"));
    TEST_OK(dcsr_multi_amg_solve(w.amg, w.x, w.b, &report));
    cr_assert_eq(report.outcome, DCSR_AMG_CONVERGED);
    for (uint64_t i = 0; i < w.csr.rows; i++) w.x[i] = -w.x[i];
    cr_assert_leq(residual_of(&w), 1.1e-8);
    dcsr_multi_amg_destroy(w.amg);
    w.amg = NULL;
    dcsr_multi_view_destroy(A);
    dcsr_multi_matrix_destroy(matrix);
    free((void *)(uintptr_t)negative.values);
    close_world(&w);
}

/* Borders are where sums are cut; threads change nothing. */
Test(multi_amg_solve, has_the_same_bits_for_any_number_of_threads)
{
    static const char *const ways[] = {"solver=cg", "solver=bicgstab", "solver=fgmres cycle=K"};
    for (size_t o = 0; o < (test_on_emulator() ? 1 : sizeof ways / sizeof *ways); o++) {
        world few = open_grid(3, 3), many = open_grid(3, 6);
        set_options(few.amg, NULL, ways[o]);
        set_options(many.amg, NULL, ways[o]);
        const dcsr_amg_report a = set_up_and_solve(&few), b = set_up_and_solve(&many);
        cr_assert_eq(a.iterations, b.iterations);
        cr_assert(!memcmp(few.x, many.x, few.csr.rows * sizeof *few.x), "%s", ways[o]);
        close_world(&few);
        close_world(&many);
    }
}

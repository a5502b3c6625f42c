/* test_amg_calls.c: the options of multigrid, what it refuses, and that failures leave things as they were. */
#include "dcsr/base/alloc.h"
#include "tests/amg/problems.h"
#include <dcsr/convert.h>
#include <locale.h>

static const dcsr_status bad = DCSR_ERROR_INVALID_ARGUMENT;

Test(amg_calls, options_are_listed_and_checked)
{
    problem p = problem_generated(1, "poisson2d5:5");
    uint64_t count = 0;
    for (const dcsr_amg_option *o; (o = dcsr_amg_option_at(count)); count++) {
        cr_assert(o->name && o->values && o->help && strlen(o->help) < 100, "%s", o->name);
        TEST_OK(dcsr_amg_set(p.amg, o->name, o->standard));
        static const char *const nonsense[] = {"", "x", "-1", "1e99", "nan", "2,5", "V ", "1x"};
        for (size_t n = 0; n < sizeof nonsense / sizeof *nonsense; n++)
            TEST_REFUSED(bad, o->name, dcsr_amg_set(p.amg, o->name, nonsense[n]));
    }
    cr_assert_gt(count, 10);
    cr_assert_null(dcsr_amg_option_at(UINT64_MAX));
    TEST_REFUSED(bad, "whole number", dcsr_amg_set(p.amg, "steps", "1.5"));
    TEST_REFUSED(bad, "V|W|K", dcsr_amg_set(p.amg, "cycle", "F"));
    TEST_REFUSED(DCSR_ERROR_NOT_FOUND, "smoother", dcsr_amg_set(p.amg, "theta", "1"));
    TEST_REFUSED(bad, "amg is NULL", dcsr_amg_set(NULL, "cycle", "V"));
    TEST_REFUSED(bad, "name is NULL", dcsr_amg_set(p.amg, NULL, "V"));
    TEST_REFUSED(bad, "value is NULL", dcsr_amg_set(p.amg, "cycle", NULL));
    problem_end(&p);
}

Test(amg_calls, wrong_arguments)
{
    problem p = problem_generated(1, "poisson2d5:12"), other = problem_generated(1, "poisson2d5:12");
    dcsr_amg *amg;
    dcsr_amg_level level;
    uint64_t count;
    const double *residuals;
    TEST_REFUSED(bad, "amg is NULL", dcsr_amg_create(NULL, p.context));
    TEST_STATUS(bad, dcsr_amg_create(&amg, NULL));
    cr_assert_null(amg);
    TEST_REFUSED(bad, "amg is NULL", dcsr_amg_setup(NULL, p.A, NULL));
    TEST_REFUSED(bad, "A is NULL", dcsr_amg_setup(p.amg, NULL, NULL));
    TEST_REFUSED(bad, "context", dcsr_amg_setup(p.amg, other.A, NULL));
    TEST_REFUSED(bad, "setup", dcsr_amg_solve(p.amg, p.x, p.b, NULL));
    TEST_REFUSED(bad, "setup", dcsr_amg_get_level(p.amg, 0, &level));
    TEST_OK(dcsr_amg_setup(p.amg, p.A, NULL));
    TEST_REFUSED(bad, "amg is NULL", dcsr_amg_solve(NULL, p.x, p.b, NULL));
    TEST_REFUSED(bad, "x is NULL", dcsr_amg_solve(p.amg, NULL, p.b, NULL));
    TEST_REFUSED(bad, "b is NULL", dcsr_amg_solve(p.amg, p.x, NULL, NULL));
    TEST_OK(dcsr_amg_get_level(p.amg, 0, &level));
    cr_assert(level.rows == 144 && level.nnz == p.csr.nnz && level.share > 0);
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "number 99", dcsr_amg_get_level(p.amg, 99, &level));
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "views", dcsr_amg_get_views(p.amg, 99, NULL, NULL, NULL));
    TEST_REFUSED(bad, "level is NULL", dcsr_amg_get_level(p.amg, 0, NULL));
    TEST_REFUSED(bad, "amg is NULL", dcsr_amg_get_level(NULL, 0, &level));
    TEST_REFUSED(bad, "NULL", dcsr_amg_get_residuals(p.amg, 0, NULL, &residuals));
    TEST_REFUSED(bad, "NULL", dcsr_amg_get_residuals(p.amg, 0, &count, NULL));
    memset(p.x, 0, 144 * sizeof *p.x);
    p.b[3] = NAN;
    TEST_REFUSED(bad, "b[3]", dcsr_amg_solve(p.amg, p.x, p.b, NULL));
    p.b[3] = 1;
    p.x[2] = INFINITY;
    TEST_REFUSED(bad, "x[2]", dcsr_amg_solve(p.amg, p.x, p.b, NULL));
    dcsr_amg_destroy(NULL);
    problem_end(&p);
    problem_end(&other);
}

/* Numbers are written as in C, wherever the program is used. */
Test(amg_calls, options_do_not_depend_on_the_locale)
{
    static const char *const with_comma[] = {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "fr_FR"};
    size_t k = 0;
    while (k < sizeof with_comma / sizeof *with_comma && !setlocale(LC_NUMERIC, with_comma[k])) k++;
    if (k == sizeof with_comma / sizeof *with_comma) cr_skip_test("no locale writes a comma here");
    problem p = problem_generated(1, "poisson2d5:12");
    TEST_OK(dcsr_amg_set(p.amg, "strength", "0.25"));
    TEST_REFUSED(bad, "strength", dcsr_amg_set(p.amg, "strength", "0,25"));
    problem_end(&p);
}

Test(amg_calls, near_nullspaces_that_do_not_fit)
{
    problem p = problem_generated(1, "poisson2d5:12");
    double values[288] = {1};
    TEST_REFUSED(bad, "amg is NULL", dcsr_amg_set_nullspace(NULL, NULL));
    TEST_REFUSED(bad, "0 columns",
                 dcsr_amg_set_nullspace(p.amg, &(dcsr_dense){.rows = 144, .cols = 0, .values = values}));
    TEST_REFUSED(bad, "65 columns",
                 dcsr_amg_set_nullspace(p.amg, &(dcsr_dense){.rows = 1, .cols = 65, .values = values}));
    TEST_REFUSED(bad, "B.values is NULL",
                 dcsr_amg_set_nullspace(p.amg, &(dcsr_dense){.rows = 144, .cols = 3}));
    TEST_OK(dcsr_amg_set_nullspace(p.amg, &(dcsr_dense){.rows = 143, .cols = 2, .values = values}));
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "144 rows, but the near-nullspace vectors have 143",
                 dcsr_amg_setup(p.amg, p.A, NULL));
    values[145] = NAN;
    TEST_REFUSED(bad, "row 1",
                 dcsr_amg_set_nullspace(p.amg, &(dcsr_dense){.rows = 144, .cols = 2, .values = values}));
    TEST_OK(dcsr_amg_set_nullspace(p.amg, NULL));
    TEST_OK(dcsr_amg_set(p.amg, "block", "5"));
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "no multiple", dcsr_amg_setup(p.amg, p.A, NULL));
    problem_end(&p);
}

/* Vectors of which some depend on others: their columns are empty, on every level, and nothing breaks. */
Test(amg_calls, near_nullspaces_of_dependent_vectors)
{
    problem p = problem_generated(1, "poisson2d5:30");
    double *values = test_allocate(3 * 900, sizeof *values);
    for (int i = 0; i < 2700; i++) values[i] = i < 1800 ? 1 : 0; /* the same twice, and zero */
    const dcsr_dense B = {.rows = 900, .cols = 3, .values = values};
    SOLVES(&p, "coarse_rows=40", &B, 20);
    free(values);
    problem_end(&p);
}

/* Matrices that cannot be: the message names the row, and the levels before can still be used. */
Test(amg_calls, wrong_matrices_leave_the_levels_as_they_were)
{
    problem p = problem_generated(1, "poisson2d5:20");
    SOLVES(&p, "solver=cg", NULL, 20);
    uint64_t iterations = p.report.iterations, row = 7;
    const double zero = 0, values[] = {1, NAN, INFINITY};
    static const char *const words[] = {"row 7 of A has a zero on the diagonal", "row 7 of A has a value",
                                        "row 7 of A has a value", "row 7 of A has no entries",
                                        "row 7 of A has a zero on the diagonal"};
    for (int wrong = 0; wrong < 5; wrong++) {
        dcsr_matrix *matrix;
        dcsr_view *view;
        dcsr_coo coo;
        TEST_OK(dcsr_coo_generate(&coo, p.context, "poisson2d5:20"));
        TEST_OK(dcsr_matrix_from_coo(&matrix, p.context, &coo, NULL));
        if (wrong < 3)
            TEST_OK(dcsr_matrix_insert(matrix, 1, &row, &row, wrong ? &values[wrong] : &zero, NULL));
        for (uint64_t col = 0; col < 400 && wrong > 2; col++)
            if (wrong == 3 || col == row) TEST_OK(dcsr_matrix_remove(matrix, 1, &row, &col, NULL));
        TEST_OK(dcsr_matrix_wait(matrix));
        TEST_OK(dcsr_view_create(&view, matrix, DCSR_LAYOUT_CSR, 0));
        TEST_REFUSED(bad, words[wrong], dcsr_amg_setup(p.amg, view, NULL));
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(matrix);
        dcsr_coo_free(&coo);
    }
    dcsr_matrix *oblong = test_matrix(p.context, DCSR_FP64, 3, 4, DCSR_POLICY_LAST);
    dcsr_view *view;
    TEST_OK(dcsr_view_create(&view, oblong, DCSR_LAYOUT_CSR, 0));
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "3 x 4", dcsr_amg_setup(p.amg, view, NULL));
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(oblong);
    memset(p.x, 0, p.csr.rows * sizeof *p.x);
    TEST_OK(dcsr_amg_solve(p.amg, p.x, p.b, &p.report));
    cr_assert(p.report.iterations == iterations && problem_residual(&p) <= 1.1e-8);
    problem_end(&p);
}

/* What outlives its context can only be destroyed. */
Test(amg_calls, context_destroyed)
{
    problem p = problem_generated(1, "poisson2d5:12");
    TEST_OK(dcsr_amg_setup(p.amg, p.A, NULL));
    dcsr_context_destroy(p.context);
    TEST_STATUS(DCSR_ERROR_CONTEXT_DESTROYED, dcsr_amg_setup(p.amg, p.A, NULL));
    TEST_STATUS(DCSR_ERROR_CONTEXT_DESTROYED, dcsr_amg_solve(p.amg, p.x, p.b, NULL));
    dcsr_amg_destroy(p.amg);
    dcsr_view_destroy(p.A);
    dcsr_matrix_destroy(p.matrix);
    free(p.x);
    free(p.b);
}

/* Every allocation is made to fail in turn: what was set up before still solves, and nothing is left behind. */
Test(amg_calls, out_of_memory)
{
    problem p = problem_diffusion(1, 20, everywhere, 1, 2);
    problem_set(&p, "coarse_rows=40 cycle=K restart=5");
    TEST_OK(dcsr_amg_setup(p.amg, p.A, NULL));
    long allowed = 0;
    for (dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY; status; allowed++) {
        memset(p.x, 0, p.csr.rows * sizeof *p.x);
        dcsr_i_fail_allocations_after(allowed);
        status = dcsr_amg_solve(p.amg, p.x, p.b, &p.report);
        dcsr_i_fail_allocations_after(-1);
        cr_assert(!status || status == DCSR_ERROR_OUT_OF_MEMORY);
    }
    cr_assert(allowed > 4 && p.report.outcome == DCSR_AMG_CONVERGED);
    uint64_t iterations = p.report.iterations;
    allowed = 0;
    for (dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY; status; allowed += 1 + allowed / 40) {
        dcsr_i_fail_allocations_after(allowed);
        status = dcsr_amg_setup(p.amg, p.A, NULL);
        dcsr_i_fail_allocations_after(-1);
        cr_assert(!status || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
        memset(p.x, 0, p.csr.rows * sizeof *p.x);
        TEST_OK(dcsr_amg_solve(p.amg, p.x, p.b, &p.report));
        cr_assert_eq(p.report.iterations, iterations);
    }
    cr_assert_gt(allowed, 60);
    double value = 1;
    dcsr_amg *amg;
    dcsr_i_fail_allocations_after(0);
    dcsr_status set = dcsr_amg_set_nullspace(p.amg, &(dcsr_dense){.rows = 1, .cols = 1, .values = &value});
    dcsr_status made = dcsr_amg_create(&amg, p.context);
    dcsr_i_fail_allocations_after(-1);
    cr_assert(set == DCSR_ERROR_OUT_OF_MEMORY && made == DCSR_ERROR_OUT_OF_MEMORY && !amg);
    problem_end(&p);
}

static uint64_t bytes_of(dcsr_context *context)
{
    dcsr_context_info info;
    TEST_OK(dcsr_context_get_info(context, &info));
    return info.matrix_bytes;
}

/* What a setup leaves serves the next; smaller problems do not keep it for ever, and the solver gives all back. */
Test(amg_calls, memory_is_used_again)
{
    problem p = problem_generated(1, "poisson3d7:32"), small = problem_generated(1, "poisson3d7:8");
    const uint64_t before = bytes_of(p.context);
    dcsr_matrix *matrix;
    dcsr_view *view;
    uint64_t bytes[8], allocations[8];
    for (int k = 0; k < 8; k++) {
        allocations[k] = dcsr_i_allocations();
        TEST_OK(dcsr_amg_setup(p.amg, p.A, NULL));
        allocations[k] = dcsr_i_allocations() - allocations[k];
        bytes[k] = bytes_of(p.context);
    }
    cr_assert_leq(bytes[7], bytes[3], "%llu bytes after 8 setups, %llu after 4", (unsigned long long)bytes[7],
                  (unsigned long long)bytes[3]);
    cr_assert_lt(allocations[7], allocations[0]);
    TEST_OK(dcsr_matrix_from_csr(&matrix, p.context, &small.csr, NULL));
    TEST_OK(dcsr_view_create(&view, matrix, DCSR_LAYOUT_CSR, 0));
    for (int k = 0; k < 4; k++) TEST_OK(dcsr_amg_setup(p.amg, view, NULL));
    cr_assert_lt(bytes_of(p.context) - before, (bytes[7] - before) / 4);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    problem_end(&small);
    problem_end(&p);
}

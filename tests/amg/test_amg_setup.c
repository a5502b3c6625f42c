/* test_amg_setup.c: the levels of multigrid: what P, R and the products have to be. */
#include "tests/amg/problems.h"

/* A CSR view as an array of rows x cols. */
static double *dense_from(dcsr_view *view, uint64_t *rows, uint64_t *cols)
{
    dcsr_csr csr;
    TEST_OK(dcsr_view_get_csr(view, &csr));
    double *to = test_allocate(csr.rows * csr.cols, sizeof *to);
    memset(to, 0, csr.rows * csr.cols * sizeof *to);
    for (uint64_t i = 0; i < csr.rows; i++)
        for (uint64_t e = csr.offsets[i]; e < csr.offsets[i + 1]; e++)
            to[i * csr.cols + csr.col_indices[e]] += ((const double *)csr.values)[e];
    *rows = csr.rows;
    *cols = csr.cols;
    return to;
}

/* C = A B, by the textbook. */
static double *product(const double *A, const double *B, uint64_t rows, uint64_t inner, uint64_t cols)
{
    double *C = test_allocate(rows * cols, sizeof *C);
    for (uint64_t i = 0; i < rows; i++) {
        for (uint64_t j = 0; j < cols; j++) {
            double sum = 0;
            for (uint64_t k = 0; k < inner; k++) sum += A[i * inner + k] * B[k * cols + j];
            C[i * cols + j] = sum;
        }
    }
    return C;
}

/* R = P^T and A' = R A P on all levels. */
static void expect_galerkin(problem *p)
{
    dcsr_amg_report report;
    TEST_OK(dcsr_amg_setup(p->amg, p->A, &report));
    cr_assert_geq(report.levels, 3);
    for (uint64_t l = 0; l + 1 < report.levels; l++) {
        dcsr_view *views[3], *next;
        double *A, *P, *R, *found;
        uint64_t n, m, rows, cols;
        TEST_OK(dcsr_amg_get_views(p->amg, l, &views[0], &views[1], &views[2]));
        TEST_OK(dcsr_amg_get_views(p->amg, l + 1, &next, NULL, NULL));
        A = dense_from(views[0], &n, &cols);
        P = dense_from(views[1], &rows, &m);
        cr_assert(rows == n && cols == n && m < n);
        R = dense_from(views[2], &rows, &cols);
        cr_assert(rows == m && cols == n);
        for (uint64_t i = 0; i < n * m; i++) cr_assert(P[i] == R[i % m * n + i / m], "R is not P^T");
        found = dense_from(next, &rows, &cols);
        cr_assert(rows == m && cols == m);
        double *AP = product(A, P, n, n, m), *expected = product(R, AP, m, n, m);
        for (uint64_t i = 0; i < m * m; i++) {
            double symmetric = found[i % m * m + i / m];
            cr_assert(fabs(found[i] - expected[i]) < 1e-10, "level %llu: %g, not %g",
                      (unsigned long long)l + 1, found[i], expected[i]);
            if (report.symmetric) cr_assert_lt(fabs(found[i] - symmetric), 1e-12);
        }
        double *const arrays[] = {A, P, R, found, AP, expected};
        for (int a = 0; a < 6; a++) free(arrays[a]);
    }
}

Test(amg_setup, products_are_those_of_the_textbook)
{
    problem p = problem_generated(2, "poisson2d5:22");
    problem_set(&p, "coarse_rows=12");
    expect_galerkin(&p);
    problem_end(&p);
    p = problem_diffusion(2, 20, everywhere, 1, 3);
    problem_set(&p, "coarse_rows=12");
    expect_galerkin(&p);
    cr_assert(!p.report.symmetric);
    problem_end(&p);
    dcsr_dense B;
    p = problem_elasticity(2, 24, 8, &B);
    problem_set(&p, "coarse_rows=12 block=2");
    TEST_OK(dcsr_amg_set_nullspace(p.amg, &B));
    expect_galerkin(&p);
    problem_end(&p);
    free(B.values);
}

/* Without smoothing, the columns of P are orthonormal and P (P^T B) = B. */
static void expect_tentative(problem *p, const dcsr_dense *B)
{
    dcsr_view *P;
    uint64_t n, m;
    problem_set(p, "omega=0 coarse_rows=12");
    if (B) TEST_OK(dcsr_amg_set_nullspace(p->amg, B));
    TEST_OK(dcsr_amg_setup(p->amg, p->A, NULL));
    TEST_OK(dcsr_amg_get_views(p->amg, 0, NULL, &P, NULL));
    double *T = dense_from(P, &n, &m);
    for (uint64_t a = 0; a < m; a++) {
        for (uint64_t b = 0; b <= a; b++) {
            double sum = 0;
            for (uint64_t i = 0; i < n; i++) sum += T[i * m + a] * T[i * m + b];
            cr_assert(fabs(sum - (a == b)) < 1e-12, "columns %d and %d of T: %g", (int)a, (int)b, sum);
        }
    }
    for (uint64_t c = 0; c < (B ? B->cols : 1); c++) {
        double *coarse = test_allocate(m, sizeof *coarse);
        for (uint64_t a = 0; a < m; a++) {
            coarse[a] = 0;
            for (uint64_t i = 0; i < n; i++) coarse[a] += T[i * m + a] * (B ? B->values[i + c * n] : 1);
        }
        for (uint64_t i = 0; i < n; i++) {
            double found = 0, expected = B ? B->values[i + c * n] : 1;
            for (uint64_t a = 0; a < m; a++) found += T[i * m + a] * coarse[a];
            cr_assert(fabs(found - expected) < 1e-11 * (1 + fabs(expected)), "%g, not %g", found, expected);
        }
        free(coarse);
    }
    free(T);
}

Test(amg_setup, the_tentative_prolongator_reproduces_the_near_nullspace)
{
    dcsr_dense B;
    problem p = problem_generated(2, "poisson3d7:9");
    expect_tentative(&p, NULL);
    problem_end(&p);
    p = problem_elasticity(2, 20, 7, &B);
    problem_set(&p, "block=2");
    expect_tentative(&p, &B);
    problem_end(&p);
    free(B.values);
}

/* What A maps to zero, the smoothed P reproduces as well: here constants, with weak entries that are left
 * out. P's coarse vector is T^T 1. */
Test(amg_setup, smoothing_keeps_what_A_maps_to_zero)
{
    problem p = problem_diffusion(2, 20, mostly_across, 0, 0);
    dcsr_view *view;
    uint64_t n, m, again;
    problem_set(&p, "omega=0 coarse_rows=12 strength=0.05");
    TEST_OK(dcsr_amg_setup(p.amg, p.A, NULL));
    TEST_OK(dcsr_amg_get_views(p.amg, 0, NULL, &view, NULL));
    double *T = dense_from(view, &n, &m);
    problem_set(&p, "omega=1.3");
    TEST_OK(dcsr_amg_setup(p.amg, p.A, NULL));
    TEST_OK(dcsr_amg_get_views(p.amg, 0, NULL, &view, NULL));
    double *P = dense_from(view, &n, &again);
    cr_assert_eq(m, again);
    uint64_t wider = 0;
    for (uint64_t i = 0; i < n; i++) {
        double sum = 0;
        for (uint64_t a = 0; a < m; a++) {
            double coarse = 0;
            for (uint64_t k = 0; k < n; k++) coarse += T[k * m + a];
            sum += P[i * m + a] * coarse;
            wider += P[i * m + a] != 0 && T[i * m + a] == 0;
        }
        cr_assert(fabs(sum - 1) < 1e-12, "row %d: %g", (int)i, sum);
    }
    cr_assert_gt(wider, 0);
    free(T);
    free(P);
    problem_end(&p);
}

/* Unconnected rows are smoothed and not aggregated; the others have an aggregate each, of two steps at most from
 * its root: so it is no wider than five points of a line. */
Test(amg_setup, aggregates_are_small_and_leave_out_what_is_alone)
{
    enum { N = 3000 };
    dcsr_context *context = context_with(2);
    list l = list_of(context, N, 3 * N);
    for (uint64_t i = 0; i < N; i++) {
        put(&l, i, i, 2);
        if (i % 100 == 99) continue; /* alone */
        if (i && i % 100) put(&l, i, i - 1, -1);
        if (i + 1 < N && (i + 1) % 100 != 99) put(&l, i, i + 1, -1);
    }
    problem p = problem_listed(context, &l);
    problem_set(&p, "omega=0");
    TEST_OK(dcsr_amg_setup(p.amg, p.A, NULL));
    dcsr_view *view;
    dcsr_csr T;
    TEST_OK(dcsr_amg_get_views(p.amg, 0, NULL, &view, NULL));
    TEST_OK(dcsr_view_get_csr(view, &T));
    uint64_t *first = test_allocate(T.cols, sizeof *first), *last = test_allocate(T.cols, sizeof *last);
    memset(last, 0, T.cols * sizeof *last);
    for (uint64_t i = 0; i < N; i++) {
        cr_assert_eq(T.offsets[i + 1] - T.offsets[i], i % 100 != 99);
        if (i % 100 == 99) continue;
        uint32_t a = T.col_indices[T.offsets[i]];
        if (!last[a]) first[a] = i;
        last[a] = i + 1;
    }
    for (uint64_t a = 0; a < T.cols; a++) {
        cr_assert(last[a] > first[a] && last[a] - first[a] <= 5 && first[a] / 100 == (last[a] - 1) / 100);
    }
    free(first);
    free(last);
    problem_end(&p);
}

static void expect_same_views(dcsr_view *a, dcsr_view *b)
{
    dcsr_csr x, y;
    TEST_OK(dcsr_view_get_csr(a, &x));
    TEST_OK(dcsr_view_get_csr(b, &y));
    cr_assert(x.rows == y.rows && x.cols == y.cols && x.nnz == y.nnz);
    cr_assert(!memcmp(x.offsets, y.offsets, (x.rows + 1) * sizeof *x.offsets));
    cr_assert(!memcmp(x.col_indices, y.col_indices, x.nnz * sizeof *x.col_indices));
    cr_assert(!memcmp(x.values, y.values, x.nnz * sizeof(double)));
}

/* Bit for bit, in levels and solution. */
Test(amg_setup, is_the_same_for_any_number_of_threads)
{
    static const char *const settings[] = {"solver=cg", "solver=fgmres cycle=K",
                                           "solver=bicgstab smoother=l1",
                                           "smoother=gauss-seidel precision=fp32"};
    for (size_t s = 0; s < sizeof settings / sizeof *settings; s++) {
        problem p = problem_generated(1, "poisson3d7:33"), q = problem_generated(5, "poisson3d7:33");
        SOLVES(&p, settings[s], NULL, 40);
        SOLVES(&q, settings[s], NULL, 40);
        cr_assert(p.report.levels == q.report.levels && p.report.iterations == q.report.iterations);
        for (uint64_t l = 0; l + 1 < p.report.levels; l++) {
            dcsr_view *a[3], *b[3];
            TEST_OK(dcsr_amg_get_views(p.amg, l, &a[0], &a[1], &a[2]));
            TEST_OK(dcsr_amg_get_views(q.amg, l, &b[0], &b[1], &b[2]));
            for (int v = 0; v < 3; v++) expect_same_views(a[v], b[v]);
        }
        cr_assert(!memcmp(p.x, q.x, p.csr.rows * sizeof *p.x));
        problem_end(&p);
        problem_end(&q);
    }
}

/* Another seed makes other aggregates. */
Test(amg_setup, aggregates_follow_the_seed)
{
    problem p = problem_generated(2, "poisson2d5:60");
    SOLVES(&p, "seed=1", NULL, 25);
    double first = p.report.operator_complexity;
    SOLVES(&p, "seed=2", NULL, 25);
    double second = p.report.operator_complexity;
    cr_assert_neq(first, second);
    SOLVES(&p, "seed=1", NULL, 25);
    cr_assert_eq(first, p.report.operator_complexity);
    problem_end(&p);
}

/* A view of another layout or type is copied, and entries that it shows twice add up. */
Test(amg_setup, takes_views_of_any_kind)
{
    problem p = problem_generated(2, "poisson2d9:30");
    SOLVES(&p, "solver=auto", NULL, 20);
    uint64_t iterations = p.report.iterations, n = p.csr.rows;
    dcsr_matrix *twice;
    dcsr_view *view;
    dcsr_coo coo;
    TEST_OK(dcsr_coo_generate(&coo, p.context, "poisson2d9:30"));
    TEST_OK(dcsr_matrix_create(&twice, p.context, DCSR_INT16, n, n,
                               &(dcsr_matrix_options){.policy = DCSR_POLICY_KEEP}));
    int16_t *values = test_allocate(coo.nnz, sizeof *values);
    for (uint64_t e = 0; e < coo.nnz; e++) values[e] = (int16_t)((double *)coo.values)[e];
    for (int time = 0; time < 2; time++)
        TEST_OK(dcsr_matrix_insert(twice, coo.nnz, coo.row_indices, coo.col_indices, values, NULL));
    TEST_OK(dcsr_matrix_wait(twice));
    TEST_OK(dcsr_view_create(&view, twice, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES));
    TEST_OK(dcsr_amg_setup(p.amg, view, NULL));
    memset(p.x, 0, n * sizeof *p.x);
    TEST_OK(dcsr_amg_solve(p.amg, p.x, p.b, &p.report));
    cr_assert_eq(p.report.iterations, iterations);
    for (uint64_t i = 0; i < n; i++) p.x[i] *= 2;
    cr_assert_lt(problem_residual(&p), 1e-8);
    dcsr_amg_destroy(p.amg); /* before its view */
    p.amg = NULL;
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(twice);
    dcsr_coo_free(&coo);
    free(values);
    problem_end(&p);
}

/* ways.h: several right-hand sides at once, and colours: what holds for them on every device. */
#ifndef DCSR_TESTS_AMG_WAYS_H
#define DCSR_TESTS_AMG_WAYS_H

#include "amg/hierarchy.h"
#include "tests/amg/problems.h"

static inline dcsr_dense columns_of(const problem *p, uint64_t cols)
{
    dcsr_dense X = {.rows = p->csr.rows, .cols = cols};
    X.values = test_allocate(X.rows * cols, sizeof *X.values);
    memset(X.values, 0, X.rows * cols * sizeof *X.values);
    return X;
}

/* Different for each column; column 2 is 0. */
static inline void fill(dcsr_dense *B)
{
    for (uint64_t c = 0; c < B->cols; c++)
        for (uint64_t i = 0; i < B->rows; i++)
            B->values[i + c * B->rows] =
                c == 2 ? 0 : (double)((i + 1) * (c + 3) * 2654435761u % 1000) - 300 * (double)c;
}

/* Columns that have been solved for once: nothing is left to do. */
static inline void expect_done(problem *p, dcsr_dense *X, const dcsr_dense *B, dcsr_amg_report *reports)
{
    uint64_t count;
    const double *residuals;
    TEST_OK(dcsr_amg_solve_many(p->amg, X, B, reports));
    for (uint64_t c = 0; c < X->cols; c++) {
        TEST_OK(dcsr_amg_get_residuals(p->amg, c, &count, &residuals));
        cr_assert(reports[c].iterations == 0 && reports[c].outcome == DCSR_AMG_CONVERGED && count == 1);
    }
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "columns",
                 dcsr_amg_get_residuals(p->amg, X->cols, &count, &residuals));
}

/* A column that cannot converge leaves the others alone. */
static inline void expect_ends(problem *neumann, const char *settings)
{
    dcsr_dense X = columns_of(neumann, 3), B = columns_of(neumann, 3);
    dcsr_amg_report reports[3];
    const uint64_t n = neumann->csr.rows;
    problem_in_range(neumann);
    for (uint64_t i = 0; i < n; i++) {
        B.values[i] = neumann->b[i];
        B.values[i + n] = 1; /* not in the range of a Neumann problem */
        B.values[i + 2 * n] = -2 * neumann->b[i];
    }
    problem_set(neumann, settings);
    TEST_OK(dcsr_amg_setup(neumann->amg, neumann->A, NULL));
    TEST_OK(dcsr_amg_solve_many(neumann->amg, &X, &B, reports));
    cr_assert(reports[0].outcome == DCSR_AMG_CONVERGED && reports[2].outcome == DCSR_AMG_CONVERGED);
    cr_assert(reports[1].outcome != DCSR_AMG_CONVERGED && reports[1].residual > 0.9);
    cr_assert_eq(reports[0].iterations, reports[2].iterations);
    memcpy(neumann->x, X.values, n * sizeof *neumann->x);
    cr_assert_leq(problem_residual(neumann), 1.1e-8);
    free(X.values);
    free(B.values);
}

/* Each column as if it were alone, from its own x. */
static inline void expect_as_alone(int threads, const char *generator, const char *settings, uint64_t cols)
{
    problem p = problem_generated(threads, generator);
    problem_set(&p, settings);
    TEST_OK(dcsr_amg_setup(p.amg, p.A, NULL));
    dcsr_dense X = columns_of(&p, cols), B = columns_of(&p, cols);
    dcsr_amg_report *reports = test_allocate(cols, sizeof *reports);
    const uint64_t n = p.csr.rows;
    fill(&B);
    if (cols > 3) memcpy(X.values + 3 * n, B.values, n * sizeof *X.values);
    TEST_OK(dcsr_amg_solve_many(p.amg, &X, &B, reports));
    for (uint64_t c = 0; c < cols; c++) {
        uint64_t count;
        const double *residuals;
        TEST_OK(dcsr_amg_get_residuals(p.amg, c, &count, &residuals));
        cr_assert(count == reports[c].iterations + 1 && residuals[count - 1] <= 1e-8);
        if (c != 3) cr_assert_leq(reports[c].residual, 1e-8);
    }
    for (uint64_t c = 0; c < cols; c++) {
        double *x = X.values + c * n, difference = 0, size = 0;
        memset(p.x, 0, n * sizeof *p.x);
        if (c == 3) memcpy(p.x, B.values, n * sizeof *p.x);
        TEST_OK(dcsr_amg_solve(p.amg, p.x, B.values + c * n, &p.report));
        cr_assert(reports[c].outcome == DCSR_AMG_CONVERGED && reports[c].iterations == p.report.iterations,
                  "%s, column %d of %d: %d iterations, alone %d", settings, (int)c, (int)cols,
                  (int)reports[c].iterations, (int)p.report.iterations);
        cr_assert_str_eq(reports[c].solver, p.report.solver);
        for (uint64_t i = 0; i < n; i++) {
            difference = fmax(difference, fabs(x[i] - p.x[i]));
            size = fmax(size, fabs(p.x[i]));
        }
        cr_assert(difference <= 1e-9 * size, "%s, column %d: off by %g of %g", settings, (int)c, difference,
                  size);
    }
    expect_done(&p, &X, &B, reports);
    free(X.values);
    free(B.values);
    free(reports);
    problem_end(&p);
}

/* Whether block i of rows comes after block j where colours are chosen. */
static inline bool comes_after(const problem *p, uint64_t i, uint64_t j)
{
    const uint64_t seed = (uint64_t)p->amg->options.seed;
    const uint64_t mine = dcsr_i_amg_random(seed, i) >> 32, theirs = dcsr_i_amg_random(seed, j) >> 32;
    return mine != theirs ? mine < theirs : i < j;
}

/* Colours of blocks of so many rows. They are in order in each colour, and each has the least colour that no neighbour
 * has which comes before it: so no two neighbours have the same, and there is but one such colouring. */
static inline void expect_colours_of(const problem *p, uint64_t together, const uint32_t *by_colour,
                                     const uint64_t *begin, uint64_t colours)
{
    const uint64_t blocks = (p->csr.rows + together - 1) / together;
    uint64_t *colour = test_allocate(blocks, sizeof *colour);
    unsigned char *taken = test_allocate(blocks * colours, 1);
    memset(taken, 0, blocks * colours);
    for (uint64_t k = 0; k < blocks; k++) colour[k] = UINT64_MAX;
    cr_assert(begin[0] == 0 && begin[colours] == blocks);
    for (uint64_t c = 0; c < colours; c++) {
        cr_assert_lt(begin[c], begin[c + 1]);
        for (uint64_t k = begin[c]; k < begin[c + 1]; k++) {
            cr_assert(k == begin[c] || by_colour[k - 1] < by_colour[k]);
            cr_assert_eq(colour[by_colour[k]], UINT64_MAX);
            colour[by_colour[k]] = c;
        }
    }
    for (uint64_t i = 0; i < p->csr.rows; i++)
        for (uint64_t e = p->csr.offsets[i]; e < p->csr.offsets[i + 1]; e++) {
            const uint64_t here = i / together, there = p->csr.col_indices[e] / together;
            if (here == there) continue;
            const bool after = comes_after(p, here, there);
            taken[(after ? here : there) * colours + colour[after ? there : here]] = 1;
        }
    for (uint64_t k = 0; k < blocks; k++) {
        uint64_t least = 0;
        while (taken[k * colours + least]) least++;
        cr_assert(colour[k] == least, "block %d has colour %d, not %d", (int)k, (int)colour[k], (int)least);
    }
    free(colour);
    free(taken);
}

#endif

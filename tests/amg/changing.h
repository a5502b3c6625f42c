/* changing.h: a matrix that changes, with a hierarchy that follows it. */
#ifndef DCSR_TESTS_AMG_CHANGING_H
#define DCSR_TESTS_AMG_CHANGING_H

#include "amg/amg_random.h"
#include "tests/amg/problems.h"
#include <dcsr/convert.h>
#include <math.h>

/* A problem whose matrix changes: inserting replaces. Its views are of segments. */
typedef struct changing {
    problem p;
    dcsr_matrix *matrix;
    dcsr_view *view;
    bool symmetric;
    uint64_t seed;
} changing;

static inline changing changing_of(problem p, bool symmetric, dcsr_layout layout)
{
    changing c = {.p = p, .symmetric = symmetric};
    TEST_OK(dcsr_matrix_from_csr(&c.matrix, p.context, &p.csr,
                                 &(dcsr_matrix_options){.policy = DCSR_POLICY_LAST}));
    TEST_OK(dcsr_view_create(&c.view, c.matrix, layout, 0));
    return c;
}

static inline void changing_end(changing *c)
{
    dcsr_amg_destroy(c->p.amg);
    c->p.amg = NULL;
    dcsr_view_destroy(c->view);
    dcsr_matrix_destroy(c->matrix);
    problem_end(&c->p);
}

static inline uint64_t draw(changing *c, uint64_t below)
{
    return dcsr_i_amg_random(7, c->seed++) % below;
}

static inline void set(changing *c, uint64_t i, uint64_t j, double value)
{
    TEST_OK(dcsr_matrix_insert(c->matrix, 1, &i, &j, &value, NULL));
    if (c->symmetric && i != j) TEST_OK(dcsr_matrix_insert(c->matrix, 1, &j, &i, &value, NULL));
}

static inline void unset(changing *c, uint64_t i, uint64_t j)
{
    TEST_OK(dcsr_matrix_remove(c->matrix, 1, &i, &j, NULL));
    if (c->symmetric) TEST_OK(dcsr_matrix_remove(c->matrix, 1, &j, &i, NULL));
}

/* Another value, a new entry, one less, a row that is the diagonal alone, a diagonal. Rows stay dominant enough. */
static inline void change_once(changing *c)
{
    uint32_t cols[2000];
    double values[2000];
    uint64_t length, i = draw(c, c->p.csr.rows), kind = draw(c, 5);
    TEST_OK(dcsr_matrix_wait(c->matrix));
    dcsr_view *view;
    TEST_OK(dcsr_view_create(&view, c->matrix, DCSR_LAYOUT_SEGMENTS, 0));
    TEST_OK(dcsr_view_get_row(view, i, 2000, cols, values, &length));
    dcsr_view_destroy(view);
    uint64_t e = draw(c, length), far = draw(c, c->p.csr.rows);
    double diagonal = 1;
    for (uint64_t k = 0; k < length; k++)
        if (cols[k] == i) diagonal = values[k];
    if (kind == 0 && cols[e] != i) set(c, i, cols[e], values[e] * (double)(draw(c, 1000) + 1) / 1000);
    if (kind == 1 && far != i) {
        double value = draw(c, 2) ? -diagonal * 1e-3 : -diagonal / 4;
        set(c, i, far, value);
        set(c, i, i, diagonal - 2 * value);
        double other = 0;
        bool stored;
        TEST_OK(dcsr_matrix_get(c->matrix, far, far, &other, &stored));
        set(c, far, far, other - 2 * value);
    }
    if (kind == 2 && cols[e] != i) unset(c, i, cols[e]);
    for (uint64_t k = 0; k < length && kind == 3; k++)
        if (cols[k] != i) unset(c, i, cols[k]);
    if (kind == 4) set(c, i, i, diagonal * (1 + (double)draw(c, 1000) / 100));
}

static inline uint64_t iterations_of(changing *c, dcsr_amg *amg)
{
    dcsr_amg_report report;
    memset(c->p.x, 0, c->p.csr.rows * sizeof *c->p.x);
    TEST_OK(dcsr_amg_solve(amg, c->p.x, c->p.b, &report));
    cr_assert_eq(report.outcome, DCSR_AMG_CONVERGED, "%s", dcsr_amg_outcome_text(report.outcome));
    return report.iterations;
}

/* Takes the version that the matrix has now. */
static inline dcsr_amg_update_report follow(changing *c)
{
    dcsr_amg_update_report report;
    dcsr_view *view;
    TEST_OK(dcsr_matrix_wait(c->matrix));
    TEST_OK(dcsr_view_create(&view, c->matrix, DCSR_LAYOUT_SEGMENTS, 0));
    TEST_OK(dcsr_amg_update(c->p.amg, view, &report));
    dcsr_view_destroy(c->view);
    c->view = view;
    return report;
}

/* Two matrices of a level have the same entries, and values that differ by so much of the largest; 0: the same bits. */
static inline void expect_level(dcsr_view *wanted, dcsr_view *view, double tolerance, const char *what,
                                int level)
{
    dcsr_csr x, y;
    TEST_OK(dcsr_view_get_csr_on_host(wanted, &x));
    TEST_OK(dcsr_view_get_csr_on_host(view, &y));
    cr_assert(x.rows == y.rows && x.cols == y.cols && x.nnz == y.nnz &&
                  !memcmp(x.offsets, y.offsets, (x.rows + 1) * sizeof *x.offsets) &&
                  !memcmp(x.col_indices, y.col_indices, x.nnz * sizeof *x.col_indices),
              "%s of level %d: %llu entries, not %llu, or others", what, level, (unsigned long long)y.nnz,
              (unsigned long long)x.nnz);
    const double *expected = x.values, *value = y.values;
    double most = 0;
    for (uint64_t e = 0; e < x.nnz; e++) most = fmax(most, fabs(expected[e]));
    for (uint64_t e = 0; e < x.nnz; e++)
        cr_assert(tolerance > 0 ? fabs(expected[e] - value[e]) <= tolerance * most
                                : !memcmp(&expected[e], &value[e], sizeof *value),
                  "%s of level %d: entry %llu is %.17g, not %.17g", what, level, (unsigned long long)e,
                  value[e], expected[e]);
}

#endif

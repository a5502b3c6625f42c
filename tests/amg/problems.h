/* problems.h: matrices to solve with, and a solver around one. */
#ifndef DCSR_TESTS_AMG_PROBLEMS_H
#define DCSR_TESTS_AMG_PROBLEMS_H

#include <dcsr/amg.h>
#include <dcsr/generate.h>
#include "dcsr/base/alloc.h"
#include "tests/support/elasticity.h"
#include "tests/support/support.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In place of a number of threads: on the GPU. */
enum { ON_DEVICE = -1 };

/* Of the cpu, whatever `auto` is, with so many threads; or of the GPU. */
static inline dcsr_context *context_with(int threads)
{
    dcsr_context *context;
    dcsr_context_options options = {.device = DCSR_DEVICE_CPU, .threads = threads};
    if (threads == ON_DEVICE) options = (dcsr_context_options){.device = DCSR_DEVICE_CUDA, .threads = 1};
    TEST_OK(dcsr_context_create(&context, &options));
    return context;
}

typedef struct problem {
    dcsr_context *context;
    dcsr_matrix *matrix;
    dcsr_view *A;
    dcsr_csr csr;
    dcsr_amg *amg;
    dcsr_amg_report report;
    double *x, *b;
} problem;

/* Takes the triples, which add up where they meet. */
static inline problem problem_of(dcsr_context *context, dcsr_coo *coo)
{
    problem p = {.context = context};
    TEST_OK(dcsr_matrix_from_coo(&p.matrix, context, coo, &(dcsr_matrix_options){.policy = DCSR_POLICY_SUM}));
    dcsr_coo_free(coo);
    TEST_OK(dcsr_view_create(&p.A, p.matrix, DCSR_LAYOUT_CSR, 0));
    TEST_OK(dcsr_view_get_csr_on_host(p.A, &p.csr));
    TEST_OK(dcsr_amg_create(&p.amg, context));
    p.x = test_allocate(p.csr.rows, sizeof *p.x);
    p.b = test_allocate(p.csr.rows, sizeof *p.b);
    for (uint64_t i = 0; i < p.csr.rows; i++) p.b[i] = 1;
    return p;
}

static inline problem problem_generated(int threads, const char *text)
{
    dcsr_context *context = context_with(threads);
    dcsr_coo coo;
    TEST_OK(dcsr_coo_generate(&coo, context, text));
    return problem_of(context, &coo);
}

static inline void problem_end(problem *p)
{
    dcsr_amg_destroy(p->amg);
    dcsr_view_destroy(p->A);
    dcsr_matrix_destroy(p->matrix);
    test_close(p->context);
    free(p->x);
    free(p->b);
}

/* b = A (numbers that look random) */
static inline void problem_in_range(problem *p)
{
    const double *values = p->csr.values;
    for (uint64_t i = 0; i < p->csr.rows; i++) {
        p->b[i] = 0;
        for (uint64_t e = p->csr.offsets[i]; e < p->csr.offsets[i + 1]; e++)
            p->b[i] += values[e] * (double)(p->csr.col_indices[e] * 2654435761u % 1000);
    }
}

/* Sets options "name=value name=value". */
static inline void problem_set(problem *p, const char *settings)
{
    char text[200], *rest = text;
    snprintf(text, sizeof text, "%s", settings);
    for (char *word; (word = strtok_r(rest, " ", &rest));) {
        char *equals = strchr(word, '=');
        *equals = 0;
        TEST_OK(dcsr_amg_set(p->amg, word, equals + 1));
    }
}

/* |b - A x| / |b| */
static inline double problem_residual(const problem *p)
{
    const double *values = p->csr.values;
    double rr = 0, bb = 0;
    for (uint64_t i = 0; i < p->csr.rows; i++) {
        double r = p->b[i];
        for (uint64_t e = p->csr.offsets[i]; e < p->csr.offsets[i + 1]; e++)
            r -= values[e] * p->x[p->csr.col_indices[e]];
        rr += r * r;
        bb += p->b[i] * p->b[i];
    }
    return sqrt(rr / bb);
}

/* Sets up and solves from zero, with the options and, if it is not NULL, B. */
static inline void problem_solve(problem *p, const char *settings, const dcsr_dense *B)
{
    problem_set(p, settings);
    if (B) TEST_OK(dcsr_amg_set_nullspace(p->amg, B));
    TEST_OK(dcsr_amg_setup(p->amg, p->A, NULL));
    memset(p->x, 0, p->csr.rows * sizeof *p->x);
    TEST_OK(dcsr_amg_solve(p->amg, p->x, p->b, &p->report));
}

/* ... and asserts that it converges within `most` iterations, as the residual shows. */
#define SOLVES(p, settings, B, most)                                                                      \
    do {                                                                                                  \
        problem_solve(p, settings, B);                                                                    \
        cr_assert((p)->report.outcome == DCSR_AMG_CONVERGED && (p)->report.iterations <= (most) &&        \
                      problem_residual(p) <= 1.1e-8,                                                      \
                  "%s: %s, %llu iterations, residual %g", settings,                                       \
                  dcsr_amg_outcome_text((p)->report.outcome), (unsigned long long)(p)->report.iterations, \
                  problem_residual(p));                                                                   \
    } while (0)

/* ---- Building ---- */

typedef struct list {
    dcsr_coo coo;
    uint64_t used;
} list;

/* The most entries come first, then they are put. */
static inline list list_of(dcsr_context *context, uint64_t rows, uint64_t most)
{
    list l = {.used = 0};
    TEST_OK(dcsr_coo_allocate(&l.coo, context, DCSR_FP64, rows, rows, most));
    return l;
}

static inline void put(list *l, uint64_t row, uint64_t col, double value)
{
    l->coo.row_indices[l->used] = row;
    l->coo.col_indices[l->used] = col;
    ((double *)l->coo.values)[l->used++] = value;
}

static inline problem problem_listed(dcsr_context *context, list *l)
{
    TEST_OK(dcsr_coo_resize(&l->coo, l->used));
    return problem_of(context, &l->coo);
}

/* Diffusion on n x n cells: the coefficient between neighbours is that of the callback; `wall` is added to the
 * diagonal at the boundary: 0 for a Neumann problem. `wind` blows along x (first-order upwind). */
typedef double (*coefficient)(uint64_t x, uint64_t y, bool vertical);
static inline problem problem_diffusion(int threads, uint64_t n, coefficient between, double wall,
                                        double wind)
{
    dcsr_context *context = context_with(threads);
    list l = list_of(context, n * n, 8 * n * n + 4 * n);
    for (uint64_t y = 0; y < n; y++) {
        for (uint64_t x = 0; x < n; x++) {
            uint64_t i = y * n + x;
            for (int vertical = 0; vertical < 2; vertical++) {
                bool last = (vertical ? y : x) + 1 == n;
                uint64_t j = i + (vertical ? n : 1);
                if (!last) {
                    double c = between(x, y, vertical);
                    put(&l, i, i, c);
                    put(&l, j, j, c + (vertical ? 0 : wind));
                    put(&l, i, j, -c);
                    put(&l, j, i, -c - (vertical ? 0 : wind));
                }
                if ((last || !(vertical ? y : x)) && wall > 0) put(&l, i, i, wall);
            }
        }
    }
    return problem_listed(context, &l);
}

static inline double everywhere(uint64_t x, uint64_t y, bool vertical)
{
    (void)x, (void)y, (void)vertical;
    return 1;
}
static inline double mostly_across(uint64_t x, uint64_t y, bool vertical)
{
    (void)x, (void)y;
    return vertical ? 0.001 : 1;
}
static inline double jumping(uint64_t x, uint64_t y, bool vertical)
{
    (void)vertical;
    return (x / 8 + y / 8) % 2 ? 1e4 : 1;
}

/* test_elasticity(), with its rigid-body modes. */
static inline problem problem_elasticity(int threads, uint64_t nx, uint64_t ny, dcsr_dense *B)
{
    dcsr_context *context = context_with(threads);
    dcsr_coo coo;
    test_elasticity(&coo, B, context, nx, ny);
    return problem_of(context, &coo);
}

/* Sets up while one allocation fails after another, until none does. */
static inline void problem_set_up_short_of_memory(problem *p)
{
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    for (int first = 0; status; first += 1 + first / 8) {
        dcsr_i_fail_allocations_after(first);
        status = dcsr_amg_setup(p->amg, p->A, NULL);
        dcsr_i_fail_allocations_after(-1);
        cr_assert(!status || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
        cr_assert(first < 5000);
    }
}

#endif

/* multi_amg_world.h: systems on several devices, their entries on the host, and solving them with multigrid. */
#ifndef DCSR_TESTS_MULTI_AMG_WORLD_H
#define DCSR_TESTS_MULTI_AMG_WORLD_H

#include "tests/support/support_multi.h"
#include <dcsr/amg.h>
#include <dcsr/convert.h>
#include <dcsr/generate.h>
#include <dcsr/multi.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A system on devices, and its entries on the host. */
typedef struct world {
    dcsr_context *context;
    dcsr_matrix *source;
    dcsr_view *entries;
    dcsr_csr csr;
    dcsr_multi *devices;
    dcsr_multi_matrix *matrix;
    dcsr_multi_view *A;
    dcsr_multi_amg *amg;
    dcsr_multi_amg_info info;
    double *x, *b;
} world;

/* Takes the triples, which add up where they meet. */
static inline world world_with(dcsr_context *context, dcsr_coo *coo, int count,
                               const dcsr_multi_options *options)
{
    world w = {.context = context, .devices = test_devices_with(count, options)};
    TEST_OK(dcsr_matrix_from_coo(&w.source, context, coo, &(dcsr_matrix_options){.policy = DCSR_POLICY_SUM}));
    dcsr_coo_free(coo);
    TEST_OK(dcsr_view_create(&w.entries, w.source, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED));
    TEST_OK(dcsr_view_get_csr(w.entries, &w.csr));
    TEST_OK(dcsr_multi_matrix_from_view(&w.matrix, w.devices, w.entries, NULL));
    TEST_OK(dcsr_multi_view_create(&w.A, w.matrix, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED));
    TEST_OK(dcsr_multi_amg_create(&w.amg, w.devices));
    TEST_OK(dcsr_multi_amg_set(w.amg, "one_device", "20"));
    TEST_OK(dcsr_multi_amg_set(w.amg, "outside", "1"));
    TEST_OK(dcsr_multi_amg_set(w.amg, "coarse_rows", "20"));
    w.x = test_allocate(w.csr.rows + 1, sizeof *w.x);
    w.b = test_allocate(w.csr.rows + 1, sizeof *w.b);
    for (uint64_t i = 0; i < w.csr.rows; i++) w.b[i] = 1;
    return w;
}

static inline world world_of(dcsr_context *context, dcsr_coo *coo, int count, int threads)
{
    return world_with(context, coo, count, &(dcsr_multi_options){.threads = threads});
}

static inline dcsr_context *on_host(void)
{
    dcsr_context *context;
    TEST_OK(dcsr_context_create(&context, &(dcsr_context_options){.device = DCSR_DEVICE_CPU, .threads = 1}));
    return context;
}

static inline world open_world(const char *text, int count, int threads)
{
    dcsr_context *context = on_host();
    dcsr_coo coo;
    TEST_OK(dcsr_coo_generate(&coo, context, text));
    return world_of(context, &coo, count, threads);
}

static inline void close_world(world *w)
{
    dcsr_multi_amg_destroy(w->amg);
    dcsr_multi_view_destroy(w->A);
    dcsr_multi_matrix_destroy(w->matrix);
    dcsr_multi_destroy(w->devices);
    dcsr_view_destroy(w->entries);
    dcsr_matrix_destroy(w->source);
    test_close(w->context);
    free(w->x);
    free(w->b);
}

/* |b - A x| / |b| */
static inline double residual_of(const world *w)
{
    const double *values = w->csr.values;
    double rr = 0, bb = 0;
    for (uint64_t i = 0; i < w->csr.rows; i++) {
        double r = w->b[i];
        for (uint64_t e = w->csr.offsets[i]; e < w->csr.offsets[i + 1]; e++)
            r -= values[e] * w->x[w->csr.col_indices[e]];
        rr += r * r;
        bb += w->b[i] * w->b[i];
    }
    return sqrt(rr / bb);
}

/* Solves from zero; the residual is that of the entries. */
static inline dcsr_amg_report solve(world *w)
{
    dcsr_amg_report report;
    memset(w->x, 0, w->csr.rows * sizeof *w->x);
    TEST_OK(dcsr_multi_amg_solve(w->amg, w->x, w->b, &report));
    cr_assert_eq(report.outcome, DCSR_AMG_CONVERGED, "%s: residual %g after %d iterations", report.solver,
                 report.residual, (int)report.iterations);
    cr_assert_leq(residual_of(w), 1.1e-8);
    return report;
}

static inline dcsr_amg_report set_up_and_solve(world *w)
{
    TEST_OK(dcsr_multi_amg_setup(w->amg, w->A, &w->info));
    return solve(w);
}

/* Options, "NAME=VALUE NAME=VALUE ..."; NULL: none. */
static inline void set_options(dcsr_multi_amg *several, dcsr_amg *alone, const char *options)
{
    char name[32], value[32];
    int length;
    for (; options && sscanf(options, " %31[^=]=%31s%n", name, value, &length) == 2; options += length) {
        if (several) TEST_OK(dcsr_multi_amg_set(several, name, value));
        if (alone && strcmp(name, "one_device") && strcmp(name, "outside"))
            TEST_OK(dcsr_amg_set(alone, name, value));
    }
}

/* Iterations of one device of the cpu. */
static inline uint64_t iterations_alone(const world *w, const char *options)
{
    dcsr_amg *amg;
    dcsr_amg_report report;
    double *x = test_allocate(w->csr.rows + 1, sizeof *x);
    memset(x, 0, w->csr.rows * sizeof *x);
    TEST_OK(dcsr_amg_create(&amg, w->context));
    TEST_OK(dcsr_amg_set(amg, "coarse_rows", "20"));
    set_options(NULL, amg, options);
    TEST_OK(dcsr_amg_setup(amg, w->entries, NULL));
    TEST_OK(dcsr_amg_solve(amg, x, w->b, &report));
    cr_assert_eq(report.outcome, DCSR_AMG_CONVERGED);
    dcsr_amg_destroy(amg);
    free(x);
    return report.iterations;
}

static inline void put(dcsr_coo *coo, uint64_t *used, uint64_t row, uint64_t col, double value)
{
    coo->row_indices[*used] = row;
    coo->col_indices[*used] = col;
    ((double *)coo->values)[(*used)++] = value;
}

/* The entries that are left add nothing. */
static inline void pad(dcsr_coo *coo, uint64_t used)
{
    while (used < coo->nnz) put(coo, &used, 0, 0, 0);
}

#endif

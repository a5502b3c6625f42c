/* tune_vectors.c: what products with sparse vectors cost by columns and by rows, at some densities of the vector: for
 * the choice of Hong et al. between a product that takes the columns of the vector's entries, and one that reads all
 * rows. The columns, which are the rows of the transpose, are there beforehand; converting vectors counts. */
#include "cli/tune/tune.h"
#include <dcsr/mxv.h>
#include <math.h>
#include <stdlib.h>

const double tune_densities[TUNE_DENSITIES] = {1e-5, 1e-4, 1e-3, 1e-2, 3e-2, 0.1, 0.3, 1};
/* More would take long, and tell no more. */
enum { MOST_ENTRIES = 4000000, LEAST_RUNS = 3 };
static const double least_seconds = 1e-3;

typedef struct trial {
    dcsr_vector *w, *u;
    dcsr_view *view;
    const dcsr_semiring *semiring;
} trial;

/* As many elements as the density says, at places that a multiplication scatters; one at least. */
static dcsr_status make_vector(dcsr_vector **u, dcsr_context *context, uint64_t size, double density)
{
    const uint64_t n = (uint64_t)fmax(1, (double)size * density);
    uint64_t *indices = malloc(n * sizeof *indices);
    double *values = malloc(n * sizeof *values);
    dcsr_status status =
        indices && values ? dcsr_vector_create(u, context, DCSR_FP64, size) : DCSR_ERROR_OUT_OF_MEMORY;
    /* Of equal parts one place each. */
    for (uint64_t k = 0; k < n && !status; k++) {
        const uint64_t from = (uint64_t)((double)size / (double)n * (double)k),
                       to = (uint64_t)((double)size / (double)n * (double)(k + 1));
        indices[k] = from + (k * UINT64_C(0x9e3779b97f4a7c15) >> 32) % (to > from ? to - from : 1);
        values[k] = 1;
    }
    if (!status) status = dcsr_vector_build(*u, n, indices, values, DCSR_POLICY_LAST);
    free(indices);
    free(values);
    return status;
}

/* The least time of some runs; NaN where there is no memory. */
static dcsr_status time_direction(double *seconds, const trial *t, dcsr_direction direction)
{
    const dcsr_desc desc = {.direction = direction};
    dcsr_status status = DCSR_OK;
    const double start = cli_now();
    *seconds = NAN;
    for (int i = 0; !status && (i <= LEAST_RUNS || cli_now() - start < least_seconds); i++) {
        const double before = cli_now();
        status = dcsr_mxv(t->w, NULL, NULL, t->semiring, t->view, t->u, &desc);
        /* The first has caches to fill, and what the view makes for it. */
        if (i && !(*seconds <= cli_now() - before)) *seconds = cli_now() - before;
    }
    return status;
}

int tune_measure_vectors(cli_state *cli, tune_vector_cost costs[TUNE_DENSITIES], dcsr_matrix *matrix)
{
    dcsr_view_shape shape;
    trial t = {0};
    for (int d = 0; d < TUNE_DENSITIES; d++) costs[d] = (tune_vector_cost){NAN, NAN};
    dcsr_status status = dcsr_view_create(&t.view, matrix, DCSR_LAYOUT_CSC, 0);
    if (!status) status = dcsr_view_get_shape(t.view, &shape);
    const bool measured = !status && shape.nnz && shape.nnz <= MOST_ENTRIES;
    if (measured) {
        t.semiring = dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_FP64);
        status = dcsr_vector_create(&t.w, cli->context, DCSR_FP64, shape.rows);
    }
    for (int d = 0; measured && d < TUNE_DENSITIES && !status; d++) {
        status = make_vector(&t.u, cli->context, shape.cols, tune_densities[d]);
        if (!status) status = time_direction(&costs[d].columns, &t, DCSR_DIRECTION_PUSH);
        if (!status) status = time_direction(&costs[d].rows, &t, DCSR_DIRECTION_PULL);
        dcsr_vector_destroy(t.u);
        t.u = NULL;
    }
    dcsr_vector_destroy(t.w);
    dcsr_view_destroy(t.view);
    return status ? cli_fail_library(cli) : CLI_DONE;
}

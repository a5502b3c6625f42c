/* tune_vectors.c: what products with sparse vectors cost by columns, by rows and by tiles, at some densities of the
 * vector: for the choice of Hong et al. between a product that takes the columns of the vector's entries, and one that
 * reads all rows. The columns, which are the rows of the transpose, are there beforehand; converting vectors counts. */
#include "cli/tune/tune.h"
#include <dcsr/mxv.h>
#include <math.h>
#include <stdlib.h>

const double tune_densities[TUNE_DENSITIES] = {1e-5, 1e-4, 1e-3, 1e-2, 3e-2, 0.1, 0.3, 1};
enum { TILES = 2 }; /* the last of the ways */
const char *const tune_way_names[TUNE_WAYS] = {"columns", "rows", "tiles"};
static const dcsr_direction directions[TUNE_WAYS] = {DCSR_DIRECTION_PUSH, DCSR_DIRECTION_PULL,
                                                     DCSR_DIRECTION_TILES};
/* More would take long, and tell no more. */
enum { MOST_ENTRIES = 4000000, LEAST_RUNS = 3 };
static const double least_seconds = 1e-3;

typedef struct trial {
    dcsr_vector *w, *u;
    dcsr_view *view;
    const dcsr_semiring *semiring;
    bool tiles; /* serve */
} trial;

/* With tiles, where the matrix is not far larger than its entries, and of a type for which they serve. */
static dcsr_status make_view(trial *t, dcsr_matrix *matrix)
{
    dcsr_view_shape shape;
    dcsr_status status = dcsr_view_create(&t->view, matrix, DCSR_LAYOUT_NUT, 0);
    t->tiles = !status;
    if (status == DCSR_ERROR_TOO_LARGE) status = dcsr_view_create(&t->view, matrix, DCSR_LAYOUT_CSC, 0);
    if (!status) status = dcsr_view_get_shape(t->view, &shape);
    t->tiles = t->tiles && shape.type != DCSR_FP32;
    return status;
}

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
static dcsr_status time_way(double *seconds, const trial *t, int way)
{
    const dcsr_desc desc = {.direction = directions[way]};
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

/* Which way is taken where none is asked for. */
static dcsr_status note_taken(double *taken, const trial *t)
{
    dcsr_report report;
    const dcsr_desc desc = {.report = &report};
    const dcsr_status status = dcsr_mxv(t->w, NULL, NULL, t->semiring, t->view, t->u, &desc);
    for (int way = 0; way < TUNE_WAYS && !status; way++)
        if (directions[way] == report.direction) *taken = way;
    return status;
}

int tune_measure_vectors(cli_state *cli, tune_vector_cost costs[TUNE_DENSITIES], dcsr_matrix *matrix)
{
    dcsr_view_shape shape;
    trial t = {0};
    for (int d = 0; d < TUNE_DENSITIES; d++) costs[d] = (tune_vector_cost){{NAN, NAN, NAN}, NAN};
    dcsr_status status = make_view(&t, matrix);
    if (!status) status = dcsr_view_get_shape(t.view, &shape);
    const bool measured = !status && shape.nnz && shape.nnz <= MOST_ENTRIES;
    if (measured) {
        t.semiring = dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_FP64);
        status = dcsr_vector_create(&t.w, cli->context, DCSR_FP64, shape.rows);
    }
    for (int d = 0; measured && d < TUNE_DENSITIES && !status; d++) {
        status = make_vector(&t.u, cli->context, shape.cols, tune_densities[d]);
        for (int way = 0; way < (t.tiles ? TUNE_WAYS : TILES) && !status; way++)
            status = time_way(&costs[d].way[way], &t, way);
        if (!status) status = note_taken(&costs[d].taken, &t);
        dcsr_vector_destroy(t.u);
        t.u = NULL;
    }
    dcsr_vector_destroy(t.w);
    dcsr_view_destroy(t.view);
    return status ? cli_fail_library(cli) : CLI_DONE;
}

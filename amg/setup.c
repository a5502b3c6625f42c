/* setup.c: the levels, one after the other (algorithm 1 of Efficient SpMM Using Dynamic-CSR on GPUs):
 *
 *      C = strength(A)  aggregates = MIS-2(C)  T, B' = QR(B)  P = smoothed T  R = P^T  A' = R (A P)
 */
#include "amg/amg_engine.h"
#include <dcsr/mxm.h>
#include <dcsr/transpose.h>
#include <math.h>
#include <string.h>

/* A level that keeps more of its rows than that is not worth its cost. */
static const double LEAST_COARSENING = 0.8;
/* A last level of so many rows is still inverted where coarsening came to an end before coarse_rows. */
enum { MOST_DIRECT = 1000 };

/* The arrays of the caller's view, or a copy of what it shows. */
static dcsr_status adopt(dcsr_i_amg_hierarchy *h, dcsr_view *A, const dcsr_view_shape *shape, bool copies)
{
    dcsr_view_info info;
    dcsr_i_amg_matrix *m = &h->level[0].A;
    DCSR_I_AMG_TRY(dcsr_view_get_info(A, &info));
    if (info.layout != DCSR_LAYOUT_CSR || info.type != DCSR_FP64 || copies)
        return dcsr_i_amg_copy_view(m, h, A, shape, info.type);
    m->view = A;
    return dcsr_i_amg_matrix_rows(m);
}

static dcsr_status check(const dcsr_i_amg_hierarchy *h, const dcsr_amg *amg, const dcsr_view_shape *shape)
{
    const unsigned long long rows = shape->rows, cols = shape->cols;
    const uint64_t block = (uint64_t)h->options.block; /* those of amg may have changed since */
    if (shape->context != amg->context)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "amg setup: A is of another context than amg");
    if (rows != cols)
        return dcsr_thread_fail(DCSR_ERROR_DIMENSION_MISMATCH, "amg setup: A is %llu x %llu, not square",
                                rows, cols);
    if (rows >= DCSR_MAX_COLS)
        return dcsr_thread_fail(DCSR_ERROR_TOO_LARGE, "amg setup: A has %llu rows, more than 2^31 - 1", rows);
    if (rows % block)
        return dcsr_thread_fail(DCSR_ERROR_DIMENSION_MISMATCH,
                                "amg setup: A has %llu rows, which are no multiple of the option block, %llu",
                                rows, (unsigned long long)block);
    if (amg->nullspace.data && amg->nullspace_rows != rows)
        return dcsr_thread_fail(DCSR_ERROR_DIMENSION_MISMATCH,
                                "amg setup: A has %llu rows, but the near-nullspace vectors have %llu", rows,
                                (unsigned long long)amg->nullspace_rows);
    return DCSR_OK;
}

/* ---- One level ---- */

/* What smoothing needs, and strength and P too. The rho of *like is taken, unless A is not symmetric as that was:
 * then *like becomes NULL. Two steps of the estimate tell. */
static dcsr_status begin_level(dcsr_i_amg_hierarchy *h, int number, const dcsr_i_amg_hierarchy **like,
                               bool *symmetric)
{
    dcsr_i_amg_level *level = &h->level[number];
    double start = dcsr_i_amg_now();
    dcsr_i_amg_diagonal found;
    level->rows = level->A.rows.rows;
    level->told = (dcsr_amg_level){.rows = level->rows, .nnz = level->A.rows.nnz};
    DCSR_I_AMG_TRY(dcsr_i_amg_take_vectors(h, number, 1));
    DCSR_I_AMG_TRY(h->engine->read_diagonal(&found, h, level));
    if (!number && !h->lower && found.wrong != UINT64_MAX) return dcsr_i_amg_refuse("amg setup", found.wrong);
    const int64_t steps = h->options.lanczos;
    const bool before = *symmetric;
    if (*like) h->options.lanczos = 2;
    if (!*like || !number) level->told.rho = dcsr_i_amg_estimate_rho(h, level, &found, symmetric);
    h->options.lanczos = steps;
    if (h->failed) return h->failed;
    if (before != *symmetric) *like = NULL;
    if (*like) level->told.rho = (*like)->level[number].told.rho;
    if (!number) h->symmetric = *symmetric;
    if (h->options.smoother == DCSR_I_AMG_ANY_SMOOTHER)
        h->options.smoother = h->symmetric ? DCSR_I_AMG_CHEBYSHEV : DCSR_I_AMG_JACOBI;
    dcsr_i_amg_plan_smoothing(level, &h->options);
    level->told.smoother_seconds = dcsr_i_amg_now() - start;
    return DCSR_OK;
}

/* On a device, with the same bits each time. */
static const dcsr_desc there = {.deterministic = true, .device = DCSR_DEVICE_CUDA};

dcsr_status dcsr_i_amg_make_R(dcsr_i_amg_hierarchy *h, dcsr_i_amg_level *level)
{
    if (!h->engine->on_device) return dcsr_i_amg_transpose(&level->R, h, &level->P.rows);
    DCSR_I_AMG_TRY(
        dcsr_matrix_create(&level->R.matrix, h->context, DCSR_FP64, level->P.rows.cols, level->rows, NULL));
    DCSR_I_AMG_TRY(dcsr_matrix_transpose(level->R.matrix, NULL, NULL, level->P.view, &there));
    return dcsr_i_amg_matrix_view(&level->R);
}

/* R = P^T and A' = R A P, into the next level. */
static dcsr_status multiply(dcsr_i_amg_hierarchy *h, dcsr_i_amg_level *level, const dcsr_i_amg_level *like)
{
    dcsr_i_amg_matrix *next = &level[1].A;
    const uint64_t coarse = level->P.rows.cols;
    DCSR_I_AMG_TRY(dcsr_i_amg_make_R(h, level));
    if (!h->engine->on_device) return dcsr_i_amg_galerkin(next, h, level, like ? &like[1].A.rows : NULL);
    dcsr_status status = dcsr_matrix_create(&next->matrix, h->context, DCSR_FP64, coarse, coarse, NULL);
    if (!status) status = dcsr_rap(next->matrix, level->R.view, level->A.view, level->P.view, &there);
    return status ? status : dcsr_i_amg_matrix_view(next);
}

/* Near-nullspace vectors of a level, row after row, `count` of them. */
typedef struct vectors {
    dcsr_i_amg_array array;
    uint64_t count;
    bool constant;
} vectors;

static bool is_coarser(const dcsr_i_amg_level *level, uint64_t aggregates, uint64_t width)
{
    return aggregates && (double)(aggregates * width) < LEAST_COARSENING * (double)level->rows;
}

/* Aggregates of the level: none in parts->count if they are not worth it. Where no strength, or too little, is
 * the reason, all entries count as strong. */
static dcsr_status partition(dcsr_i_amg_hierarchy *h, dcsr_i_amg_level *level, uint64_t width,
                             dcsr_i_amg_graph *graph, dcsr_i_amg_partition *parts)
{
    for (double theta = h->options.strength;; theta = 0) {
        double start = dcsr_i_amg_now();
        DCSR_I_AMG_TRY(h->engine->strength(graph, h, level, theta));
        double between = dcsr_i_amg_now();
        DCSR_I_AMG_TRY(h->engine->aggregate(parts, h, graph));
        level->told.strength_seconds += between - start;
        level->told.aggregate_seconds += dcsr_i_amg_now() - between;
        level->theta = theta;
        if (is_coarser(level, parts->count, width)) return DCSR_OK;
        parts->count = 0;
        if (theta == 0) return DCSR_OK;
        dcsr_i_amg_graph_free(graph, h);
    }
}

bool dcsr_i_amg_hold_together(const dcsr_i_amg_graph *g, const uint32_t *aggregate, int threads)
{
    bool apart = false;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1) reduction(|| : apart)
    for (uint64_t node = 0; node < g->count; node++) {
        const uint32_t *next = g->nodes + g->begin[node];
        uint32_t k = 0;
        while (k < g->length[node] && aggregate[next[k]] != aggregate[node]) k++;
        apart = apart || (aggregate[node] == DCSR_I_AMG_NO_AGGREGATE) != !g->length[node] ||
                (k && k == g->length[node]);
    }
    return !apart;
}

/* The aggregates of another hierarchy; *kept is false where they do not do. */
static dcsr_status partition_like(dcsr_i_amg_hierarchy *h, dcsr_i_amg_level *level,
                                  const dcsr_i_amg_level *like, dcsr_i_amg_graph *graph,
                                  dcsr_i_amg_partition *parts, bool *kept)
{
    double start = dcsr_i_amg_now();
    DCSR_I_AMG_TRY(h->engine->strength(graph, h, level, like->theta));
    *kept = dcsr_i_amg_hold_together(graph, like->aggregate.data,
                                     dcsr_context_threads(h->context, 8 * graph->count));
    if (*kept) {
        memcpy(parts->aggregate, like->aggregate.data, graph->count * sizeof *parts->aggregate);
        parts->count = like->aggregates;
        parts->like = h->other_vectors ? NULL : like;
        level->theta = like->theta;
    } else {
        dcsr_i_amg_graph_free(graph, h);
    }
    level->told.strength_seconds = dcsr_i_amg_now() - start;
    return DCSR_OK;
}

/* Makes P, R and the next level's A and vectors; *made: whether there is a next level. B becomes T, and what it
 * was is kept for updates, unless it is constants, as on the first level if the caller gave none. */
static dcsr_status coarsen(dcsr_i_amg_hierarchy *h, dcsr_i_amg_level *level, const dcsr_i_amg_level *like,
                           vectors *B, bool *made, bool *kept)
{
    *kept = false;
    dcsr_i_amg_graph graph = {0};
    vectors coarse = {.count = B->count};
    dcsr_i_amg_partition parts = {0};
    dcsr_status status = h->engine->take(&level->aggregate, h, level->rows / level->block, sizeof(uint32_t));
    parts.aggregate = level->aggregate.data;
    if (!status && like) status = partition_like(h, level, like, &graph, &parts, kept);
    if (!status && !*kept) status = partition(h, level, B->count, &graph, &parts);
    *made = !status && parts.count;
    level->vectors = level[1].block = B->count;
    level->aggregates = parts.count;
    double start = dcsr_i_amg_now();
    if (*made) status = h->engine->take(&coarse.array, h, parts.count * B->count * B->count, sizeof(double));
    if (*made && !status && !B->constant && (!h->engine->on_device || B->count == 1)) {
        status = h->engine->take(&level->B, h, B->array.count, sizeof(double));
        if (!status) h->engine->put(h, level->B.data, B->array.data, B->array.count * sizeof(double));
    }
    if (*made && !status)
        status = h->engine->prolongator(level, B->array.data, coarse.array.data, h, &graph, &parts, B->count);
    dcsr_i_amg_graph_free(&graph, h);
    level->told.prolongator_seconds = dcsr_i_amg_now() - start;
    start = dcsr_i_amg_now();
    if (*made && !status) status = multiply(h, level, *kept ? like : NULL);
    level->told.product_seconds = dcsr_i_amg_now() - start;
    if (*made) {
        level->T = B->array;
        *B = coarse;
    }
    if (h->engine->on_device && !h->symmetric) { /* where updates set up all anew */
        h->engine->drop(&level->T, h);
        h->engine->drop(&level->aggregate, h);
    }
    return status;
}

/* ---- All levels ---- */

/* The caller's vectors, which are used up; or one of ones for each row of a node. */
static dcsr_status first_vectors(vectors *B, dcsr_i_amg_hierarchy *h, const dcsr_amg *amg, uint64_t rows)
{
    const uint64_t block = h->level[0].block;
    B->count = amg->nullspace.data ? amg->nullspace_cols : block;
    B->constant = !amg->nullspace.data;
    DCSR_I_AMG_TRY(h->engine->take(&B->array, h, rows * B->count, sizeof(double)));
    if (amg->nullspace.data)
        h->engine->put(h, B->array.data, amg->nullspace.data, rows * B->count * sizeof(double));
    else
        h->engine->fill_constants(h, B->array.data, rows, block);
    return DCSR_OK;
}

/* Like another hierarchy, down to the level whose aggregates do not hold together any more. */
static dcsr_status make_levels(dcsr_i_amg_hierarchy *h, const dcsr_i_amg_hierarchy *like, vectors *B)
{
    bool symmetric = h->symmetric, coarser = true, kept = false;
    for (; coarser; h->level_count += coarser) {
        int number = h->level_count - 1;
        dcsr_i_amg_level *level = &h->level[number];
        DCSR_I_AMG_TRY(begin_level(h, number, &like, &symmetric));
        const dcsr_i_amg_level *model = like ? &like->level[number] : NULL;
        coarser = h->level_count < h->options.levels && level->rows > (uint64_t)h->options.coarse_rows;
        if (model && number + 1 == like->level_count) coarser = false;
        if (coarser) DCSR_I_AMG_TRY(coarsen(h, level, model, B, &coarser, &kept));
        if (like && coarser && !kept) like = NULL;
    }
    dcsr_i_amg_level *last = &h->level[h->level_count - 1];
    double start = dcsr_i_amg_now();
    last->told.direct = last->rows <= (uint64_t)h->options.coarse_rows || last->rows <= MOST_DIRECT;
    if (last->told.direct) DCSR_I_AMG_TRY(dcsr_i_amg_invert(h, last));
    last->told.product_seconds += dcsr_i_amg_now() - start;
    return DCSR_OK;
}

void dcsr_i_amg_tell(dcsr_i_amg_hierarchy *h)
{
    double entries = 0, rows = 0;
    const dcsr_amg_level *first = &h->level[0].told;
    for (int l = 0; l < h->level_count; l++) {
        entries += (double)h->level[l].told.nnz;
        rows += (double)h->level[l].told.rows;
    }
    for (int l = 0; l < h->level_count; l++)
        h->level[l].told.share = entries > 0 ? (double)h->level[l].told.nnz / entries : 0;
    h->report.levels = (uint64_t)h->level_count;
    h->report.operator_complexity = first->nnz ? entries / (double)first->nnz : 1;
    h->report.grid_complexity = first->rows ? rows / (double)first->rows : 1;
    h->report.symmetric = h->symmetric;
}

dcsr_status dcsr_i_amg_adopt(dcsr_i_amg_hierarchy *h, dcsr_view *A, const dcsr_amg *amg, bool copies)
{
    dcsr_view_shape shape;
    DCSR_I_AMG_TRY(dcsr_view_get_shape(A, &shape));
    DCSR_I_AMG_TRY(check(h, amg, &shape));
    return adopt(h, A, &shape, copies);
}

dcsr_status dcsr_i_amg_build(dcsr_i_amg_hierarchy *h, const dcsr_amg *amg, const dcsr_i_amg_hierarchy *like)
{
    vectors B = {0};
    const uint64_t rows = h->level[0].A.rows.rows;
    h->level_count = 1;
    h->level[0].block = (uint64_t)h->options.block;
    h->symmetric = !like || like->symmetric;
    h->other_vectors = like && like->other_vectors;
    h->width = 1;
    dcsr_status status = h->engine->take_sums(h, rows);
    if (!status) status = first_vectors(&B, h, amg, rows);
    if (!status) status = make_levels(h, like, &B);
    h->other_vectors = false;
    h->engine->drop(&B.array, h);
    if (!status) status = dcsr_i_amg_prepare(h);
    if (!status) dcsr_i_amg_tell(h);
    return status;
}

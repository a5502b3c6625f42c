/* amg.c: the object: creating, asking and destroying it, and its memory. */
#include "amg/amg_engine.h"
#include "amg/cuda/amg_cuda.h"
#include "amg/hierarchy_follow.h"
#include "amg/rebuild.h"
#include <math.h>
#include <string.h>
#include <time.h>

double dcsr_i_amg_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void free_level(dcsr_i_amg_level *level, dcsr_i_amg_hierarchy *h)
{
    dcsr_i_amg_array *const arrays[] = {&level->diagonal,
                                        &level->scale,
                                        &level->inverse,
                                        &level->by_colour,
                                        &level->colours,
                                        &level->x,
                                        &level->b,
                                        &level->r,
                                        &level->d,
                                        &level->y,
                                        &level->best[0],
                                        &level->best[1],
                                        &level->best[2],
                                        &level->A.narrow,
                                        &level->P.narrow,
                                        &level->R.narrow,
                                        &level->A.moved_narrow,
                                        &level->P.moved_narrow,
                                        &level->R.moved_narrow,
                                        &level->aggregate,
                                        &level->B,
                                        &level->T,
                                        &level->norms};
    for (size_t a = 0; a < sizeof arrays / sizeof *arrays; a++) h->engine->drop(arrays[a], h);
    dcsr_i_amg_matrix_free(&level->A, h);
    dcsr_i_amg_matrix_free(&level->P, h);
    dcsr_i_amg_matrix_free(&level->R, h);
}

void dcsr_i_amg_hierarchy_destroy(dcsr_i_amg_hierarchy *h)
{
    if (!h) return;
    for (int l = 0; l < DCSR_I_AMG_MOST_LEVELS; l++) free_level(&h->level[l], h);
    dcsr_i_amg_follow_end(h);
    h->engine->drop(&h->sums, h);
    dcsr_context_free(h->context, h, 1, sizeof *h);
}

dcsr_status dcsr_i_amg_hierarchy_create(dcsr_i_amg_hierarchy **hierarchy, dcsr_amg *amg)
{
    dcsr_i_amg_hierarchy *h = dcsr_context_allocate(amg->context, 1, sizeof *h);
    *hierarchy = h;
    if (!h) return dcsr_thread_status();
    h->context = amg->context;
    h->pool = &amg->pool;
    h->engine = amg->engine;
    h->options = amg->options;
    h->lower = amg->lower;
    return DCSR_OK;
}

dcsr_status dcsr_amg_create(dcsr_amg **amg, dcsr_context *context)
{
    dcsr_context_info info;
    if (!amg) return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "amg create: amg is NULL");
    *amg = NULL;
    DCSR_I_AMG_TRY(dcsr_context_get_info(context, &info));
    dcsr_amg *made = dcsr_context_allocate(context, 1, sizeof *made);
    if (!made) return dcsr_thread_status();
    made->context = context;
    made->engine = info.device == DCSR_DEVICE_CPU ? &dcsr_i_amg_cpu : dcsr_i_amg_device;
    dcsr_i_amg_options_default(&made->options);
    dcsr_i_amg_pool_init(&made->pool, context);
    *amg = made;
    return DCSR_OK;
}

void dcsr_amg_destroy(dcsr_amg *amg)
{
    if (!amg) return;
    dcsr_i_amg_rebuild_drop(amg);
    dcsr_i_amg_hierarchy_destroy(amg->hierarchy);
    dcsr_i_amg_drop(&amg->nullspace, amg->context);
    dcsr_i_amg_drop(&amg->residuals, amg->context);
    dcsr_i_amg_drop(&amg->residual_counts, amg->context);
    dcsr_i_amg_pool_end(&amg->pool);
    dcsr_context_free(amg->context, amg, 1, sizeof *amg);
}

dcsr_status dcsr_amg_set_nullspace(dcsr_amg *amg, const dcsr_dense *B)
{
    if (!amg) return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "amg set nullspace: amg is NULL");
    dcsr_i_amg_array rows = {0};
    if (B) {
        if (!B->values && B->rows)
            return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "amg set nullspace: B.values is NULL");
        if (!B->cols || B->cols > DCSR_I_AMG_MOST_VECTORS)
            return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                                    "amg set nullspace: B has %llu columns; 1 to %d are possible",
                                    (unsigned long long)B->cols, DCSR_I_AMG_MOST_VECTORS);
        for (uint64_t v = 0; v < B->rows * B->cols; v++)
            if (!isfinite(B->values[v]))
                return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                                        "amg set nullspace: B has a value that is not finite in row %llu",
                                        (unsigned long long)(v % B->rows));
        DCSR_I_AMG_TRY(dcsr_i_amg_take(&rows, amg->context, B->rows * B->cols, sizeof(double)));
        for (uint64_t i = 0; i < B->rows; i++)
            for (uint64_t c = 0; c < B->cols; c++)
                ((double *)rows.data)[i * B->cols + c] = B->values[i + c * B->rows];
    }
    dcsr_i_amg_rebuild_drop(amg);
    dcsr_i_amg_drop(&amg->nullspace, amg->context);
    amg->nullspace = rows;
    if (amg->hierarchy) amg->hierarchy->other_vectors = true;
    amg->nullspace_rows = B ? B->rows : 0;
    amg->nullspace_cols = B ? B->cols : 0;
    return DCSR_OK;
}

dcsr_status dcsr_i_amg_replace(dcsr_amg *amg, dcsr_view *A, const dcsr_i_amg_hierarchy *like,
                               uint64_t *changed)
{
    dcsr_i_amg_hierarchy *h;
    double start = dcsr_i_amg_now();
    DCSR_I_AMG_TRY(dcsr_i_amg_hierarchy_create(&h, amg));
    if (like) {
        h->options = like->options;
        if (amg->options.smoother == DCSR_I_AMG_ANY_SMOOTHER) h->options.smoother = DCSR_I_AMG_ANY_SMOOTHER;
    }
    dcsr_status status = h->engine->open(h);
    if (!status) status = dcsr_i_amg_adopt(h, A, amg, false);
    if (!status && changed)
        *changed = dcsr_i_amg_count_differing(&like->level[0].A.rows, &h->level[0].A.rows, h->context);
    if (!status) status = dcsr_i_amg_build(h, amg, like);
    dcsr_status closed = h->engine->close(h, "amg setup");
    if (!status) status = closed;
    if (status) {
        dcsr_i_amg_hierarchy_destroy(h);
        return status;
    }
    if (like) h->first_iterations = like->first_iterations;
    if (like) h->report.iterations = like->report.iterations;
    dcsr_i_amg_hierarchy_destroy(amg->hierarchy);
    dcsr_i_amg_pool_turn(&amg->pool);
    amg->hierarchy = h;
    amg->view = A;
    h->report.setup_seconds = dcsr_i_amg_now() - start;
    return DCSR_OK;
}

dcsr_status dcsr_amg_setup(dcsr_amg *amg, dcsr_view *A, dcsr_amg_report *report)
{
    dcsr_context_info info;
    if (!amg || !A)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "amg setup: %s is NULL", !amg ? "amg" : "A");
    DCSR_I_AMG_TRY(dcsr_context_get_info(amg->context, &info));
    dcsr_i_amg_rebuild_drop(amg);
    DCSR_I_AMG_TRY(dcsr_i_amg_replace(amg, A, NULL, NULL));
    if (report) *report = amg->hierarchy->report;
    return DCSR_OK;
}

/* ---- Asking ---- */

const char *dcsr_amg_outcome_text(dcsr_amg_outcome outcome)
{
    switch (outcome) {
    case DCSR_AMG_NONE:
        return "nothing was solved yet";
    case DCSR_AMG_CONVERGED:
        return "converged";
    case DCSR_AMG_LIMIT:
        return "not converged within the iterations allowed; allow more, or try other options";
    case DCSR_AMG_STAGNATED:
        return "not converged: the residual no longer falls; the tolerance is below what rounding permits, "
               "or A is "
               "singular and b is not in its range";
    case DCSR_AMG_DIVERGED:
        return "diverged: the residual grew a million times or is not finite; try another solver or "
               "smoother; if A is "
               "singular, b has to be in its range";
    case DCSR_AMG_INDEFINITE:
        return "stopped: A or the cycle is not positive definite, as conjugate gradients need it; try solver "
               "fgmres";
    case DCSR_AMG_BREAKDOWN:
        return "broke down: the method would divide by zero; try another solver";
    }
    return "no outcome of a solve";
}

static dcsr_status find(const dcsr_amg *amg, uint64_t number, const char *what)
{
    if (!amg) return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "amg get %s: amg is NULL", what);
    if (!amg->hierarchy)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                                "amg get %s: there are no levels yet; call dcsr_amg_setup() first", what);
    if (number >= (uint64_t)amg->hierarchy->level_count)
        return dcsr_thread_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE,
                                "amg get %s: there are %d levels, no number %llu", what,
                                amg->hierarchy->level_count, (unsigned long long)number);
    return DCSR_OK;
}

dcsr_status dcsr_amg_get_level(const dcsr_amg *amg, uint64_t number, dcsr_amg_level *level)
{
    DCSR_I_AMG_TRY(find(amg, number, "level"));
    if (!level) return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "amg get level: level is NULL");
    *level = amg->hierarchy->level[number].told;
    return DCSR_OK;
}

dcsr_status dcsr_amg_get_views(const dcsr_amg *amg, uint64_t number, dcsr_view **A, dcsr_view **P,
                               dcsr_view **R)
{
    DCSR_I_AMG_TRY(find(amg, number, "views"));
    dcsr_i_amg_level *level = &amg->hierarchy->level[number];
    dcsr_i_amg_hierarchy *h = amg->hierarchy;
    if (A) DCSR_I_AMG_TRY(dcsr_i_amg_show(A, &level->A, h));
    if (P) DCSR_I_AMG_TRY(dcsr_i_amg_show(P, &level->P, h));
    return R ? dcsr_i_amg_show(R, &level->R, h) : DCSR_OK;
}

dcsr_status dcsr_amg_get_residuals(const dcsr_amg *amg, uint64_t column, uint64_t *count,
                                   const double **residuals)
{
    if (!amg || !count || !residuals)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "amg get residuals: an argument is NULL");
    *count = 0;
    *residuals = NULL;
    const uint64_t columns = amg->residual_counts.count;
    if (!columns && !column) return DCSR_OK;
    if (column >= columns)
        return dcsr_thread_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE,
                                "amg get residuals: the last solve had %llu columns, no number %llu",
                                (unsigned long long)columns, (unsigned long long)column);
    *count = ((const uint64_t *)amg->residual_counts.data)[column];
    *residuals = (const double *)amg->residuals.data + amg->residuals.count / columns * column;
    return DCSR_OK;
}

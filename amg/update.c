/* update.c: dcsr_amg_update(): the levels follow a later version of their matrix. The rows that differ are found by the
 * store, read, and followed (follow.c). Where that is not enough the levels are set up anew: at once, or by a thread
 * beside, whose hierarchy is brought up to date and taken over by the next call that finds it ready; on a device, whose
 * time that would take, at once. */
#include "amg/amg_engine.h"
#include "amg/hierarchy_follow.h"
#include "amg/rebuild.h"
#include <dcsr/convert.h>
#include <dcsr/diff.h>
#include <dcsr/transpose.h>

/* ---- The rows that differ ---- */

/* Rows of a view, as fp64: lent by a copy of them. */
typedef struct extract {
    dcsr_matrix *matrix;
    dcsr_view *view;
    dcsr_i_amg_made made;
} extract;

static void drop(extract *e, dcsr_context *context)
{
    dcsr_i_amg_made_free(&e->made, context);
    dcsr_view_destroy(e->view);
    dcsr_matrix_destroy(e->matrix);
}

/* What the rows have, in A's type: of a few rows that is less work than an operation, which looks at all of A. */
static dcsr_status gather(dcsr_matrix **made, dcsr_view *A, const dcsr_index_list *rows)
{
    dcsr_view_info info;
    dcsr_view_shape shape;
    dcsr_i_amg_array offsets = {0}, columns = {0}, values = {0};
    DCSR_I_AMG_TRY(dcsr_view_get_info(A, &info));
    DCSR_I_AMG_TRY(dcsr_view_get_shape(A, &shape));
    const size_t size = dcsr_type_size(info.type);
    uint64_t *offset, length;
    dcsr_status status = dcsr_i_amg_take(&offsets, shape.context, rows->n + 1, sizeof *offset);
    offset = offsets.data;
    for (uint64_t k = 0; k < rows->n && !status; k++) {
        status = dcsr_view_get_row(A, rows->indices[k], 0, NULL, NULL, &length);
        offset[k + 1] = offset[k] + length;
    }
    if (!status) status = dcsr_i_amg_take(&columns, shape.context, offset[rows->n], sizeof(uint32_t));
    if (!status) status = dcsr_i_amg_take(&values, shape.context, offset[rows->n], size);
    for (uint64_t k = 0; k < rows->n && !status; k++)
        status = dcsr_view_get_row(A, rows->indices[k], offset[k + 1] - offset[k],
                                   (uint32_t *)columns.data + offset[k],
                                   size ? (char *)values.data + offset[k] * size : NULL, &length);
    if (!status)
        status =
            dcsr_matrix_from_csr(made, shape.context,
                                 &(dcsr_csr){rows->n, info.cols, offset[rows->n], info.type, offset,
                                             columns.data, size ? values.data : NULL},
                                 &(dcsr_matrix_options){.policy = size ? DCSR_POLICY_SUM : DCSR_POLICY_ANY});
    dcsr_i_amg_drop(&offsets, shape.context);
    dcsr_i_amg_drop(&columns, shape.context);
    dcsr_i_amg_drop(&values, shape.context);
    return status;
}

/* As fp64. */
static dcsr_status cast(dcsr_matrix **made, dcsr_context *context, uint64_t rows, uint64_t cols)
{
    dcsr_matrix *other = *made;
    dcsr_view *view = NULL;
    *made = NULL;
    dcsr_status status = dcsr_view_create(&view, other, DCSR_LAYOUT_SEGMENTS, 0);
    if (!status) status = dcsr_matrix_create(made, context, DCSR_FP64, rows, cols, NULL);
    if (!status) status = dcsr_matrix_transpose(*made, NULL, NULL, view, &(dcsr_desc){.transpose_a = true});
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(other);
    return status;
}

static dcsr_status read_rows(extract *e, dcsr_view *A, const dcsr_view_shape *shape,
                             const dcsr_index_list *rows)
{
    dcsr_csr csr;
    dcsr_i_amg_made *made = &e->made;
    DCSR_I_AMG_TRY(gather(&e->matrix, A, rows));
    DCSR_I_AMG_TRY(dcsr_view_create(&e->view, e->matrix, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED));
    DCSR_I_AMG_TRY(dcsr_view_get_csr(e->view, &csr));
    if (csr.type != DCSR_FP64) {
        dcsr_view_destroy(e->view);
        e->view = NULL;
        DCSR_I_AMG_TRY(cast(&e->matrix, shape->context, rows->n, shape->cols));
        DCSR_I_AMG_TRY(dcsr_view_create(&e->view, e->matrix, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED));
        DCSR_I_AMG_TRY(dcsr_view_get_csr(e->view, &csr));
    }
    DCSR_I_AMG_TRY(dcsr_i_amg_take(&made->rows, shape->context, rows->n, sizeof *made->row));
    DCSR_I_AMG_TRY(dcsr_i_amg_take(&made->spans, shape->context, rows->n, sizeof *made->span));
    made->row = made->rows.data;
    made->span = made->spans.data;
    made->count = rows->n;
    for (uint64_t k = 0; k < rows->n; k++) {
        const uint64_t begin = csr.offsets[k];
        made->row[k] = (uint32_t)rows->indices[k];
        made->span[k] = (dcsr_i_amg_span){csr.col_indices + begin, (const double *)csr.values + begin,
                                          csr.offsets[k + 1] - begin};
    }
    return DCSR_OK;
}

/* The caller's arrays may be gone after an update: they are copied before the first. */
static dcsr_status own_first(dcsr_i_amg_hierarchy *h)
{
    dcsr_i_amg_matrix *m = &h->level[0].A, own = {0};
    dcsr_csr csr;
    if (m->matrix || !m->view) return DCSR_OK;
    DCSR_I_AMG_TRY(dcsr_view_get_csr(m->view, &csr));
    dcsr_status status = dcsr_matrix_from_csr(&own.matrix, h->context, &csr,
                                              &(dcsr_matrix_options){.policy = DCSR_POLICY_SUM});
    if (!status) status = dcsr_i_amg_matrix_view(&own);
    if (status) {
        dcsr_i_amg_matrix_free(&own, h);
        return status;
    }
    own.narrow = m->narrow; /* until it is made anew */
    own.moved_narrow = m->moved_narrow;
    *m = own;
    h->level[0].prepared = false;
    return DCSR_OK;
}

dcsr_status dcsr_i_amg_follow_list(dcsr_i_amg_hierarchy *h, dcsr_view *A, const dcsr_index_list *rows,
                                   uint64_t *count, const char **why)
{
    dcsr_view_shape shape;
    extract e = {0};
    *why = NULL;
    *count = 0;
    if (h->engine->on_device) return h->engine->follow(h, A, rows, count, why);
    DCSR_I_AMG_TRY(own_first(h));
    if (!rows->n) return DCSR_OK;
    dcsr_status status = dcsr_view_get_shape(A, &shape);
    if (!status) status = read_rows(&e, A, &shape, rows);
    if (!status) status = dcsr_i_amg_follow_rows(h, &e.made, why);
    *count = e.made.count;
    drop(&e, h->context);
    return status;
}

/* ---- The call ---- */

static const double MANY = 0.1; /* rows, of all: following them takes longer than computing all */
static const char TENTH[] = "more than a tenth of the rows have changed";

static bool are_many(const dcsr_amg *amg, uint64_t changed)
{
    return (double)changed > MANY * (double)amg->hierarchy->level[0].rows;
}

/* Why the levels should be set up anew; NULL: they need not. */
static const char *reason(const dcsr_amg *amg, uint64_t changed)
{
    const dcsr_i_amg_hierarchy *h = amg->hierarchy;
    if (are_many(amg, changed)) return TENTH;
    if (h->first_iterations && 5 * h->report.iterations > 6 * h->first_iterations)
        return "iterations have risen by more than a fifth since the last setup";
    return NULL;
}

static dcsr_status set_up_anew(dcsr_amg *amg, dcsr_view *A, const char *why, dcsr_amg_update_report *report)
{
    DCSR_I_AMG_TRY(dcsr_amg_setup(amg, A, NULL));
    report->how = DCSR_AMG_SET_UP;
    report->why = why;
    return DCSR_OK;
}

/* Computes all, with the aggregates and rho that there are. */
static dcsr_status recompute(dcsr_amg *amg, dcsr_view *A, dcsr_amg_update_report *report)
{
    report->how = DCSR_AMG_RECOMPUTED;
    DCSR_I_AMG_TRY(dcsr_i_amg_replace(amg, A, amg->hierarchy, &report->rows_changed));
    for (int l = 0; l < amg->hierarchy->level_count; l++)
        report->rows_touched += amg->hierarchy->level[l].rows;
    return DCSR_OK;
}

/* Follows the rows, or computes all. *why: the levels have to be set up anew. */
static dcsr_status follow(dcsr_amg *amg, dcsr_view *A, const dcsr_index_list *rows,
                          dcsr_amg_update_report *report, const char **why)
{
    dcsr_i_amg_hierarchy *h = amg->hierarchy;
    *why = NULL;
    if (are_many(amg, rows->n) && amg->engine->on_device) {
        *why = TENTH;
        return DCSR_OK;
    }
    if (are_many(amg, rows->n) && h->symmetric) return recompute(amg, A, report);
    DCSR_I_AMG_TRY(dcsr_i_amg_follow_list(h, A, rows, &report->rows_changed, why));
    if (*why) return DCSR_OK;
    amg->view = A;
    report->how = report->rows_changed ? DCSR_AMG_PATCHED : DCSR_AMG_UNCHANGED;
    for (int l = 0; l < h->level_count && rows->n; l++) report->rows_touched += h->level[l].told.rows_touched;
    return DCSR_OK;
}

static void begin_rebuild(dcsr_amg *amg, const char *wish, dcsr_amg_update_report *report)
{
    if (!wish || amg->options.rebuild != DCSR_I_AMG_WHEN_READY || dcsr_i_amg_rebuild_start(amg)) return;
    report->how = DCSR_AMG_SETTING_UP;
    report->why = wish;
}

static dcsr_status update(dcsr_amg *amg, dcsr_view *A, const dcsr_index_list *rows,
                          dcsr_amg_update_report *report)
{
    const char *why, *wish;
    report->rows_changed = rows->n;
    wish = reason(amg, rows->n);
    if (wish && (amg->options.rebuild == DCSR_I_AMG_NOW || amg->engine->on_device) &&
        amg->options.rebuild != DCSR_I_AMG_NEVER)
        return set_up_anew(amg, A, wish, report);
    DCSR_I_AMG_TRY(dcsr_i_amg_rebuild_log(amg, rows));
    DCSR_I_AMG_TRY(follow(amg, A, rows, report, &why));
    if (why) return set_up_anew(amg, A, why, report);
    begin_rebuild(amg, wish, report);
    return DCSR_OK;
}

/* Where most rows have changed it takes longer to list them than to compute all; unless somebody needs the list. */
static dcsr_status update_most(dcsr_amg *amg, dcsr_view *A, dcsr_amg_update_report *report)
{
    DCSR_I_AMG_TRY(recompute(amg, A, report));
    begin_rebuild(amg, reason(amg, report->rows_changed), report);
    return DCSR_OK;
}

static bool have_most_changed(const dcsr_amg *amg, dcsr_view *A)
{
    const dcsr_i_amg_hierarchy *h = amg->hierarchy;
    dcsr_view_shape before, now;
    if (amg->engine->on_device || amg->rebuild || amg->options.rebuild == DCSR_I_AMG_NOW || !h->symmetric)
        return false;
    if (dcsr_view_get_shape(amg->view, &before) || dcsr_view_get_shape(A, &now)) return false;
    return before.matrix == now.matrix && dcsr_i_amg_looks_new(&h->level[0].A.rows, A);
}

static dcsr_status check(const dcsr_amg *amg, dcsr_view *A, dcsr_view_shape *shape)
{
    dcsr_context_info info;
    if (!amg || !A)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "amg update: %s is NULL", !amg ? "amg" : "A");
    DCSR_I_AMG_TRY(dcsr_context_get_info(amg->context, &info));
    if (!amg->hierarchy)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                                "amg update: there are no levels yet; call dcsr_amg_setup() first");
    DCSR_I_AMG_TRY(dcsr_view_get_shape(A, shape));
    if (shape->context != amg->context)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "amg update: A is of another context than amg");
    return DCSR_OK;
}

dcsr_status dcsr_amg_update(dcsr_amg *amg, dcsr_view *A, dcsr_amg_update_report *report)
{
    dcsr_amg_update_report own = {0};
    dcsr_view_shape shape;
    dcsr_diff *diff = NULL;
    dcsr_index_list rows;
    double start = dcsr_i_amg_now();
    DCSR_I_AMG_TRY(check(amg, A, &shape));
    dcsr_i_amg_rebuild_take(amg, true);
    own.iterations = amg->hierarchy->report.iterations;
    own.first_iterations = amg->hierarchy->first_iterations;
    dcsr_status status = DCSR_OK;
    if (shape.rows != amg->hierarchy->level[0].rows || shape.cols != shape.rows) {
        status = set_up_anew(amg, A, "A has other dimensions", &own);
    } else if (have_most_changed(amg, A)) {
        status = update_most(amg, A, &own);
    } else {
        status = dcsr_view_diff(&diff, amg->view, A);
        if (!status) status = dcsr_diff_get_rows(diff, &rows);
        if (!status) status = update(amg, A, &rows, &own);
        dcsr_diff_destroy(diff);
    }
    own.seconds = dcsr_i_amg_now() - start;
    if (!status && report) *report = own;
    return status;
}

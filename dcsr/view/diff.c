/* diff.c: what differs between the versions that two views of one matrix, or of its clones, show. */
#include "dcsr/base/runtime.h"
#include "dcsr/view/diff_data.h"
#include "dcsr/view/view_data.h"

/* ---- Making one ---- */

/* The version as it was published, in which pages are shared with others whatever views have had resolved; or
 * the arrays of a CSR that does not hold it. */
static dcsr_i_rows rows_to_compare(const dcsr_view *view)
{
    const dcsr_i_form *shown = &view->form[0];
    const dcsr_i_held_version *held = shown->hold ? shown->hold : shown->csr->hold;
    return held ? view->matrix->engine->rows_of(view->matrix, held->base) : shown->rows;
}

static void free_candidates(dcsr_i_candidates *candidates, dcsr_context *context)
{
    dcsr_i_csr_release(candidates->from);
    dcsr_i_csr_release(candidates->to);
    dcsr_i_free(context, DCSR_I_SCRATCH, candidates->numbers, candidates->count, sizeof *candidates->numbers);
}

/* Rows of a device that may differ are compared in host memory, by themselves. */
static dcsr_status compare_there(dcsr_diff *diff, dcsr_i_row_pairs *pairs, const dcsr_i_engine *engine)
{
    dcsr_i_candidates candidates = {0};
    dcsr_status status = engine->find_candidates(&candidates, diff->context, pairs->from, pairs->to);
    if (status == DCSR_OK) {
        const dcsr_i_rows from = dcsr_i_rows_of_csr(candidates.from), to = dcsr_i_rows_of_csr(candidates.to);
        pairs->from = &from;
        pairs->to = &to;
        pairs->numbers = candidates.numbers;
        status = dcsr_i_diff_fill(diff, pairs);
        diff->info.rows_compared = candidates.compared;
    }
    free_candidates(&candidates, diff->context);
    return status;
}

static dcsr_status compare(dcsr_diff *diff, const dcsr_view *from, const dcsr_view *to)
{
    const bool same = from->matrix == to->matrix;
    if (same && from->version == to->version) return DCSR_OK;
    const dcsr_i_engine *engine = from->matrix->engine;
    const dcsr_i_rows before = rows_to_compare(from), after = rows_to_compare(to);
    dcsr_i_row_pairs pairs = {.policy = from->matrix->policy,
                              .from = &before,
                              .to = &after,
                              .apart = from->matrix->arena.space != to->matrix->arena.space};
    return engine->find_candidates ? compare_there(diff, &pairs, engine) : dcsr_i_diff_fill(diff, &pairs);
}

static dcsr_status make_diff(dcsr_diff **diff, dcsr_view *from, dcsr_view *to, bool values, const char *call)
{
    if (!diff) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: diff is NULL", call);
    *diff = NULL;
    DCSR_TRY(dcsr_i_view_check(from));
    DCSR_TRY(dcsr_i_view_check(to));
    if (from->matrix->family != to->matrix->family)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "%s: the views are of different matrices, as are two versions in a store; "
                           "give two views of one matrix, or of clones",
                           call);
    dcsr_context *context = from->context;
    dcsr_diff *made = dcsr_i_calloc(context, DCSR_I_MATRIX, 1, sizeof *made);
    if (!made) return DCSR_ERROR_OUT_OF_MEMORY;
    made->context = context;
    made->value_size = values ? from->matrix->value_size : 0;
    made->info = (dcsr_diff_info){.type = values ? from->matrix->type : DCSR_PATTERN,
                                  .from_version = from->version,
                                  .to_version = to->version};
    dcsr_i_context_retain(context);
    dcsr_status status = compare(made, from, to);
    if (status != DCSR_OK) {
        dcsr_diff_destroy(made);
        return status;
    }
    *diff = made;
    return DCSR_OK;
}

dcsr_status dcsr_view_diff(dcsr_diff **diff, dcsr_view *from, dcsr_view *to)
{
    return make_diff(diff, from, to, true, "dcsr_view_diff");
}

dcsr_status dcsr_view_diff_positions(dcsr_diff **diff, dcsr_view *from, dcsr_view *to)
{
    return make_diff(diff, from, to, false, "dcsr_view_diff_positions");
}

void dcsr_diff_destroy(dcsr_diff *diff)
{
    if (!diff) return;
    dcsr_context *context = diff->context;
    for (int k = 0; k < DCSR_I_DIFFERENCES; k++) {
        dcsr_i_differences *list = &diff->list[k];
        dcsr_i_free(context, DCSR_I_MATRIX, list->rows, list->nnz, sizeof *list->rows);
        dcsr_i_free(context, DCSR_I_MATRIX, list->cols, list->nnz, sizeof *list->cols);
        dcsr_i_free(context, DCSR_I_MATRIX, list->old, list->nnz, diff->value_size);
        dcsr_i_free(context, DCSR_I_MATRIX, list->new, list->nnz, diff->value_size);
    }
    dcsr_i_free(context, DCSR_I_MATRIX, diff->rows, diff->info.rows_differing, sizeof *diff->rows);
    dcsr_i_free(context, DCSR_I_MATRIX, diff, 1, sizeof *diff);
    dcsr_i_context_release(context);
}

/* ---- Asking ---- */

static dcsr_status check(const dcsr_diff *diff, const void *out, const char *call)
{
    if (!diff || !out)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", call,
                           diff ? "the place for the answer" : "the diff");
    return dcsr_i_context_check(diff->context);
}

dcsr_status dcsr_diff_get_info(const dcsr_diff *diff, dcsr_diff_info *info)
{
    DCSR_TRY(check(diff, info, "dcsr_diff_get_info"));
    *info = diff->info;
    return DCSR_OK;
}

dcsr_status dcsr_diff_get_rows(const dcsr_diff *diff, dcsr_index_list *rows)
{
    DCSR_TRY(check(diff, rows, "dcsr_diff_get_rows"));
    *rows = (dcsr_index_list){.indices = diff->rows, .n = diff->info.rows_differing};
    return DCSR_OK;
}

static dcsr_diff_list list_of(const dcsr_diff *diff, int kind)
{
    const dcsr_i_differences *list = &diff->list[kind];
    return (dcsr_diff_list){.nnz = list->nnz,
                            .row_indices = list->rows,
                            .col_indices = list->cols,
                            .old_values = list->old,
                            .new_values = list->new};
}

dcsr_status dcsr_diff_get_entries(const dcsr_diff *diff, dcsr_diff_entries *entries)
{
    DCSR_TRY(check(diff, entries, "dcsr_diff_get_entries"));
    *entries = (dcsr_diff_entries){.type = diff->info.type,
                                   .inserted = list_of(diff, DCSR_I_INSERTED),
                                   .removed = list_of(diff, DCSR_I_REMOVED),
                                   .changed = list_of(diff, DCSR_I_CHANGED)};
    return DCSR_OK;
}

/* view_transpose.c: what views show of the transpose: the twin that a matrix maintains, walked in place; else a
 * CSC that is made when it is asked for. */
#include "dcsr/store/maintained_transpose.h"
#include "dcsr/view/view_data.h"

/* ---- For operations ---- */

static int cache_slot(const dcsr_view *view)
{
    return view->shows_duplicates ? DCSR_I_CSC_DUPLICATES : DCSR_I_CSC;
}

dcsr_status dcsr_i_view_transpose(dcsr_view *view)
{
    view->form[DCSR_I_TRANSPOSED].csr = dcsr_i_csr_cached(view->matrix, cache_slot(view), view->version);
    if (view->form[DCSR_I_TRANSPOSED].csr) return DCSR_OK;
    DCSR_TRY(view->matrix->engine->transpose(&view->form[DCSR_I_TRANSPOSED].csr, view->context,
                                             &view->form[0].rows, view->version));
    dcsr_i_csr_cache(view->matrix, cache_slot(view), view->form[DCSR_I_TRANSPOSED].csr);
    dcsr_i_view_was_read(view);
    return DCSR_OK;
}

/* The twin's rows, resolved as the flags ask. */
static dcsr_status show_twin(dcsr_view *view, dcsr_i_held_version **shown, unsigned flags)
{
    dcsr_i_held_version *hold;
    DCSR_TRY(dcsr_i_held_version_again(&hold, view->twin));
    if (!(flags & DCSR_VIEW_DUPLICATES)) dcsr_i_wanted_fresh(view->twin->matrix);
    dcsr_status status = dcsr_i_held_version_resolve(&hold, view->twin->matrix, flags, false);
    if (status == DCSR_OK)
        *shown = hold;
    else
        dcsr_i_held_version_release(hold);
    return status;
}

dcsr_status dcsr_i_view_twin_rows(dcsr_i_rows *rows, dcsr_view *view)
{
    if (!view->form[DCSR_I_TRANSPOSED].hold)
        DCSR_TRY(show_twin(view, &view->form[DCSR_I_TRANSPOSED].hold, view->flags));
    const dcsr_i_held_version *shown = view->form[DCSR_I_TRANSPOSED].hold;
    *rows = shown->matrix->engine->rows_of(shown->matrix, shown->own ? shown->own : shown->base);
    return DCSR_OK;
}

void dcsr_i_view_twin_was_read(const dcsr_view *view)
{
    const dcsr_i_held_version *shown = view->form[DCSR_I_TRANSPOSED].hold;
    if (shown && !shown->own) dcsr_i_was_read(shown->matrix, shown->base);
    if (!view->twin) dcsr_i_request_twin(view->matrix);
}

/* A twin for the view alone. */
static dcsr_status make_twin(dcsr_view *view, const dcsr_i_rows *rows)
{
    dcsr_matrix *twin;
    DCSR_TRY(dcsr_i_twin_create(&twin, view->matrix, rows, DCSR_DEFRAGMENT_OFF));
    dcsr_status status = dcsr_i_held_version_create(&view->form[DCSR_I_TRANSPOSED].hold, twin);
    dcsr_i_matrix_release(twin);
    return status;
}

static bool is_wide(const dcsr_i_rows *rows)
{
    return dcsr_i_lines_are_sparse(rows->cols, dcsr_i_rows_entries(rows)) && rows->rows <= DCSR_MAX_COLS;
}

/* Under the view's lock. */
static dcsr_status make(dcsr_view *view)
{
    const dcsr_i_rows *rows = &view->form[0].rows;
    dcsr_i_form *there = &view->form[DCSR_I_TRANSPOSED],
                *here = &view->form[DCSR_I_TRANSPOSED | DCSR_I_ON_HOST];
    dcsr_i_rows made;
    if (!there->csr && !view->twin && !rows->on_device && is_wide(rows)) DCSR_TRY(make_twin(view, rows));
    if (!view->twin && !dcsr_i_form_is_made(there)) DCSR_TRY(dcsr_i_view_transpose(view));
    if (there->csr)
        made = there->csr->engine->rows_of_csr(there->csr);
    else
        DCSR_TRY(dcsr_i_view_twin_rows(&made, view));
    if (made.on_device) {
        DCSR_TRY(view->matrix->engine->download(&here->csr, view->context, &made));
        made = dcsr_i_rows_of_csr(here->csr);
    }
    here->rows = made;
    return DCSR_OK;
}

static bool is_made(const dcsr_view *view)
{
    const dcsr_i_rows *rows = &view->form[DCSR_I_TRANSPOSED | DCSR_I_ON_HOST].rows;
    return rows->table || rows->offsets;
}

dcsr_status dcsr_i_view_transposed(const dcsr_i_rows **rows, dcsr_view *view)
{
    const dcsr_i_form *here = &view->form[DCSR_I_TRANSPOSED | DCSR_I_ON_HOST];
    *rows = &here->rows;
    pthread_mutex_lock(&view->lock);
    const bool makes = !is_made(view), copied = here->csr;
    dcsr_status status = makes ? make(view) : DCSR_OK;
    pthread_mutex_unlock(&view->lock);
    if (status != DCSR_OK) return status;
    /* Where there is a copy of the twin's rows, these are read no more. */
    if (makes || !copied || !view->twin) dcsr_i_view_twin_was_read(view);
    return DCSR_OK;
}

/* Whether it is there, in a view whose lock is not held. */
static bool is_there(const dcsr_view *view, bool (*is)(const dcsr_view *view))
{
    pthread_mutex_t *lock = (pthread_mutex_t *)&view->lock;
    pthread_mutex_lock(lock);
    bool there = is(view);
    pthread_mutex_unlock(lock);
    return there;
}

static bool has_csc(const dcsr_view *view)
{
    return view->form[DCSR_I_TRANSPOSED].csr;
}

bool dcsr_i_view_csc_is_ready(const dcsr_view *view)
{
    if (is_there(view, has_csc)) return true;
    dcsr_i_csr *cached = dcsr_i_csr_cached(view->matrix, cache_slot(view), view->version);
    dcsr_i_csr_release(cached);
    return cached != NULL;
}

bool dcsr_i_view_transpose_is_ready(const dcsr_view *view)
{
    if (view->form[0].rows.on_device) return is_there(view, is_made);
    return view->twin || is_there(view, is_made) || dcsr_i_view_csc_is_ready(view);
}

/* ---- CSC views ---- */

/* The twin as sorted CSR, where the context's memory is. */
static dcsr_status lend_twin(dcsr_view *view)
{
    dcsr_matrix *twin = view->twin->matrix;
    unsigned flags = view->flags | DCSR_VIEW_SORTED;
    int slot = dcsr_i_csr_slot(flags);
    view->form[DCSR_I_TRANSPOSED].csr = dcsr_i_csr_cached(twin, slot, view->twin->version);
    if (view->form[DCSR_I_TRANSPOSED].csr) return DCSR_OK;
    dcsr_i_held_version *shown;
    DCSR_TRY(show_twin(view, &shown, flags));
    dcsr_status status = dcsr_i_csr_create(&view->form[DCSR_I_TRANSPOSED].csr, twin, shown, flags);
    dcsr_i_held_version_release(shown);
    return status;
}

dcsr_status dcsr_i_view_make_csc(dcsr_view *view)
{
    if (view->twin) return lend_twin(view);
    DCSR_TRY(dcsr_i_view_transpose(view));
    dcsr_i_request_twin(view->matrix);
    return DCSR_OK;
}

static dcsr_status check_csc(const dcsr_view *view, const dcsr_csc *arrays, const char *call)
{
    DCSR_TRY(dcsr_i_view_check(view));
    if (!arrays) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: csc is NULL; give it a place", call);
    if (view->layout != DCSR_LAYOUT_CSC)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "%s: the view is not CSC; create it with DCSR_LAYOUT_CSC", call);
    return DCSR_OK;
}

static dcsr_csc arrays_of(const dcsr_i_csr *csc)
{
    return (dcsr_csc){.rows = csc->cols,
                      .cols = csc->rows,
                      .nnz = csc->nnz,
                      .type = csc->type,
                      .offsets = csc->offsets,
                      .row_indices = csc->columns,
                      .values = csc->values};
}

dcsr_status dcsr_view_get_csc(dcsr_view *view, dcsr_csc *csc)
{
    DCSR_TRY(check_csc(view, csc, "dcsr_view_get_csc"));
    *csc = arrays_of(view->form[DCSR_I_TRANSPOSED].csr);
    return DCSR_OK;
}

/* Only of what is on a device is there another copy. */
dcsr_status dcsr_view_get_csc_on_host(dcsr_view *view, dcsr_csc *csc)
{
    const dcsr_i_rows *rows;
    DCSR_TRY(check_csc(view, csc, "dcsr_view_get_csc_on_host"));
    DCSR_TRY(dcsr_i_view_transposed(&rows, view));
    *csc = arrays_of(view->form[DCSR_I_TRANSPOSED | DCSR_I_ON_HOST].csr
                         ? view->form[DCSR_I_TRANSPOSED | DCSR_I_ON_HOST].csr
                         : view->form[DCSR_I_TRANSPOSED].csr);
    return DCSR_OK;
}

/* transposed.c: what views show of the transpose: the twin that a matrix maintains, walked in place; else a
 * CSC that is made when it is asked for. */
#include "dcsr/twin.h"
#include "dcsr/viewdata.h"

/* With so many more columns than entries, their offsets would outweigh all else by far. */
enum { SPARSE_COLUMNS = 16, FEW_COLUMNS = 1 << 20 };

/* ---- For operations ---- */

static int cache_slot(const dcsr_view *view)
{
    return view->shows_duplicates ? DCSR_I_CSC_DUPLICATES : DCSR_I_CSC;
}

/* A CSC, cached or made. */
static dcsr_status transpose(dcsr_view *view, const dcsr_i_rows *rows)
{
    view->transposed = dcsr_i_csr_cached(view->matrix, cache_slot(view), view->version);
    if (view->transposed) return DCSR_OK;
    DCSR_TRY(dcsr_i_csc_create(&view->transposed, view->context, rows, view->version));
    dcsr_i_csr_cache(view->matrix, cache_slot(view), view->transposed);
    dcsr_i_view_was_read(view);
    return DCSR_OK;
}

/* The twin's rows, resolved as the flags ask. */
static dcsr_status show_twin(dcsr_view *view, dcsr_i_snapshot **shown, unsigned flags)
{
    dcsr_i_snapshot *snapshot;
    DCSR_TRY(dcsr_i_snapshot_again(&snapshot, view->twin));
    dcsr_status status = dcsr_i_snapshot_resolve(&snapshot, view->twin->matrix, flags);
    if (status == DCSR_OK)
        *shown = snapshot;
    else
        dcsr_i_snapshot_release(snapshot);
    return status;
}

/* A twin for the view alone. */
static dcsr_status make_twin(dcsr_view *view, const dcsr_i_rows *rows)
{
    dcsr_matrix *twin;
    DCSR_TRY(dcsr_i_twin_create(&twin, view->matrix, rows, DCSR_DEFRAGMENT_OFF));
    dcsr_status status = dcsr_i_snapshot_create(&view->twin_rows, twin);
    dcsr_i_matrix_release(twin);
    return status;
}

static bool is_wide(const dcsr_i_rows *rows)
{
    return rows->cols > FEW_COLUMNS && rows->cols / SPARSE_COLUMNS > dcsr_i_rows_entries(rows) &&
           rows->rows <= DCSR_MAX_COLS;
}

/* Under the view's lock. */
static dcsr_status make(dcsr_view *view, const dcsr_i_rows *rows)
{
    if (view->twin)
        DCSR_TRY(show_twin(view, &view->twin_rows, view->flags));
    else if (is_wide(rows) && !view->rows.on_device)
        DCSR_TRY(make_twin(view, rows));
    else
        DCSR_TRY(transpose(view, rows));
    if (view->transposed) {
        view->transposed_rows = dcsr_i_rows_of_csr(view->transposed);
    } else {
        const dcsr_i_snapshot *shown = view->twin_rows;
        view->transposed_rows = dcsr_i_rows_of(shown->matrix, shown->own ? shown->own : shown->base);
    }
    return DCSR_OK;
}

static bool is_made(const dcsr_view *view)
{
    return view->transposed || view->twin_rows;
}

dcsr_status dcsr_i_view_transposed(const dcsr_i_rows **rows, dcsr_view *view)
{
    const dcsr_i_rows *source;
    *rows = &view->transposed_rows;
    DCSR_TRY(dcsr_i_view_host_rows(&source, view));
    pthread_mutex_lock(&view->lock);
    dcsr_status status = is_made(view) ? DCSR_OK : make(view, source);
    pthread_mutex_unlock(&view->lock);
    if (status != DCSR_OK) return status;
    const dcsr_i_snapshot *shown = view->twin_rows;
    if (shown && !shown->own) dcsr_i_was_read(shown->matrix, shown->base);
    if (!view->twin) dcsr_i_request_twin(view->matrix);
    return DCSR_OK;
}

bool dcsr_i_view_transpose_is_ready(const dcsr_view *view)
{
    if (view->twin) return true;
    pthread_mutex_t *lock = (pthread_mutex_t *)&view->lock;
    pthread_mutex_lock(lock);
    bool made = is_made(view);
    pthread_mutex_unlock(lock);
    if (made) return true;
    dcsr_i_csr *cached = dcsr_i_csr_cached(view->matrix, cache_slot(view), view->version);
    dcsr_i_csr_release(cached);
    return cached != NULL;
}

/* ---- CSC views ---- */

/* The twin as sorted CSR. */
static dcsr_status twin_csr(dcsr_view *view)
{
    dcsr_matrix *twin = view->twin->matrix;
    unsigned flags = view->flags | DCSR_VIEW_SORTED;
    int slot = dcsr_i_csr_slot(flags);
    view->transposed = dcsr_i_csr_cached(twin, slot, view->twin->version);
    if (view->transposed) return DCSR_OK;
    dcsr_i_snapshot *shown;
    DCSR_TRY(show_twin(view, &shown, flags));
    dcsr_status status = dcsr_i_csr_create(&view->transposed, twin, shown, flags);
    dcsr_i_snapshot_release(shown);
    return status;
}

dcsr_status dcsr_i_view_make_csc(dcsr_view *view)
{
    const dcsr_i_rows *rows;
    if (view->twin)
        DCSR_TRY(twin_csr(view));
    else {
        DCSR_TRY(dcsr_i_view_host_rows(&rows, view));
        DCSR_TRY(transpose(view, rows));
        dcsr_i_request_twin(view->matrix);
    }
    view->transposed_rows = dcsr_i_rows_of_csr(view->transposed);
    return view->matrix->engine->upload(&view->csc, view->transposed);
}

static dcsr_status arrays_of(dcsr_csc_arrays *arrays, const dcsr_view *view, const char *call, bool on_host)
{
    DCSR_TRY(dcsr_i_view_check(view));
    if (!arrays) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: csc is NULL; give it a place", call);
    if (view->layout != DCSR_LAYOUT_CSC)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "%s: the view is not CSC; create it with DCSR_LAYOUT_CSC", call);
    const dcsr_i_csr *csc = on_host ? view->transposed : view->csc;
    *arrays = (dcsr_csc_arrays){.rows = csc->cols,
                                .cols = csc->rows,
                                .nnz = csc->nnz,
                                .type = csc->type,
                                .offsets = csc->offsets,
                                .row = csc->columns,
                                .values = csc->values};
    return DCSR_OK;
}

dcsr_status dcsr_view_csc(dcsr_view *view, dcsr_csc_arrays *csc)
{
    return arrays_of(csc, view, "dcsr_view_csc", false);
}

dcsr_status dcsr_view_csc_on_host(dcsr_view *view, dcsr_csc_arrays *csc)
{
    return arrays_of(csc, view, "dcsr_view_csc_on_host", true);
}

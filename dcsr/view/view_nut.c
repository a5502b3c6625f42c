/* view_nut.c: views of tiles: those of the newest version that has any are kept with the matrix, and what has not
 * changed since is taken over from them. */
#include "dcsr/nut/nut_tiles.h"
#include "dcsr/store/maintained_transpose.h"
#include "dcsr/view/view_data.h"

static int cache_slot(const dcsr_view *view)
{
    return view->shows_duplicates ? DCSR_I_NUT_DUPLICATES : DCSR_I_NUT;
}

/* The newest tiles, of whatever version; NULL: there are none. To be released. */
static dcsr_i_nut *newest(const dcsr_view *view)
{
    dcsr_i_versions *versions = &view->matrix->versions;
    pthread_mutex_lock(&versions->lock);
    dcsr_i_nut *nut = versions->nut[cache_slot(view)];
    if (nut) dcsr_i_nut_retain(nut);
    pthread_mutex_unlock(&versions->lock);
    return nut;
}

/* Unless there are newer ones. */
static void keep(const dcsr_view *view, dcsr_i_nut *nut)
{
    dcsr_i_versions *versions = &view->matrix->versions;
    dcsr_i_nut *replaced = NULL;
    pthread_mutex_lock(&versions->lock);
    dcsr_i_nut **kept = &versions->nut[cache_slot(view)];
    if (!versions->closed && (!*kept || (*kept)->version < nut->version)) {
        replaced = *kept;
        *kept = nut;
        dcsr_i_nut_retain(nut);
    }
    pthread_mutex_unlock(&versions->lock);
    dcsr_i_nut_release(replaced);
}

void dcsr_i_nut_forget(dcsr_matrix *matrix)
{
    for (int i = 0; i < DCSR_I_NUTS; i++) {
        pthread_mutex_lock(&matrix->versions.lock);
        dcsr_i_nut *nut = matrix->versions.nut[i];
        matrix->versions.nut[i] = NULL;
        pthread_mutex_unlock(&matrix->versions.lock);
        dcsr_i_nut_release(nut);
    }
}

/* A view, and the version whose tiles panels are taken over from. */
typedef struct span {
    const dcsr_view *view;
    uint64_t since;
} span;

/* Rows may have changed where a page of them is younger than the tiles. It is the published pages that are asked, not
 * those in which rows were resolved for the view. */
static bool changed(const void *user, uint64_t first, uint64_t end)
{
    const span *s = user;
    dcsr_matrix *matrix = s->view->matrix;
    return matrix->engine->touched(matrix, s->view->form[0].hold->base, first, end, s->since);
}

dcsr_status dcsr_i_view_make_nut(dcsr_view *view)
{
    dcsr_i_nut *last = newest(view);
    if (last && last->version == view->version) {
        view->nut = last;
        return DCSR_OK;
    }
    /* From newer ones it is not known what an older version has. */
    const bool serves = last && last->version < view->version;
    const span younger = {view, serves ? last->version : 0};
    const dcsr_i_nut_order order = {.context = view->context,
                                    .rows = &view->form[0].rows,
                                    .budget = dcsr_i_nut_budget_for(view->context, view->form[0].rows.type),
                                    .last = serves ? last : NULL,
                                    .changed = changed,
                                    .user = &younger};
    dcsr_status status = dcsr_i_nut_create(&view->nut, &order);
    dcsr_i_nut_release(last);
    if (status != DCSR_OK) return status;
    view->nut->version = view->version;
    keep(view, view->nut);
    dcsr_i_view_was_read(view);
    return DCSR_OK;
}

/* Under the view's lock. */
static dcsr_status make_turned(dcsr_i_nut **nut, dcsr_view *view)
{
    dcsr_i_form *there = &view->form[DCSR_I_TRANSPOSED];
    dcsr_i_rows rows;
    if (!view->twin && !there->csr && !there->hold) DCSR_TRY(dcsr_i_view_transpose(view));
    if (there->csr)
        rows = there->csr->engine->rows_of_csr(there->csr);
    else
        DCSR_TRY(dcsr_i_view_twin_rows(&rows, view));
    const dcsr_i_nut_order order = {
        .context = view->context, .rows = &rows, .budget = dcsr_i_nut_budget_for(view->context, rows.type)};
    return dcsr_i_nut_create(nut, &order);
}

dcsr_status dcsr_i_view_make_turned_nut(dcsr_view *view)
{
    dcsr_i_nut *made = NULL;
    pthread_mutex_lock(&view->lock);
    dcsr_status status = view->turned_nut ? DCSR_OK : make_turned(&made, view);
    if (made) view->turned_nut = made;
    pthread_mutex_unlock(&view->lock);
    return status;
}

const dcsr_i_nut *dcsr_i_view_nut(const dcsr_view *view, bool transposed)
{
    return transposed ? view->turned_nut : view->nut;
}

dcsr_status dcsr_view_get_nut(dcsr_view *view, dcsr_nut *nut)
{
    DCSR_TRY(dcsr_i_view_check(view));
    if (!nut)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_view_get_nut: nut is NULL; give it a place");
    if (view->layout != DCSR_LAYOUT_NUT)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "dcsr_view_get_nut: the view has no tiles; create it with DCSR_LAYOUT_NUT");
    *nut = view->nut->shown;
    return DCSR_OK;
}

/* view.c: creating, reading and destroying views. */
#include "dcsr/nut/nut_tiles.h"
#include "dcsr/store/result.h"
#include "dcsr/view/view_data.h"
#include <assert.h>
#include <math.h>

enum { ALL_FLAGS = DCSR_VIEW_DUPLICATES | DCSR_VIEW_SORTED };

/* ---- What operations ask ---- */

dcsr_status dcsr_i_view_check(const dcsr_view *view)
{
    if (!view) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "the view is NULL; create one first");
    return dcsr_i_context_check(view->context);
}

dcsr_context *dcsr_i_view_context(const dcsr_view *view)
{
    return view->context;
}

dcsr_layout dcsr_i_view_layout(const dcsr_view *view)
{
    return view->layout;
}

uint64_t dcsr_i_view_version(const dcsr_view *view)
{
    return view->version;
}

const dcsr_tag *dcsr_i_view_tag(const dcsr_view *view)
{
    const dcsr_i_table *table = view->form[0].hold->base;
    return table->tagged ? &table->tag : NULL;
}

dcsr_matrix *dcsr_i_view_matrix(const dcsr_view *view)
{
    return view->matrix;
}

const dcsr_i_rows *dcsr_i_view_rows(const dcsr_view *view)
{
    return &view->form[0].rows;
}

dcsr_status dcsr_i_view_host_rows(const dcsr_i_rows **rows, dcsr_view *view)
{
    *rows = &view->form[0].rows;
    if (!(*rows)->on_device) return DCSR_OK;
    dcsr_i_form *copy = &view->form[DCSR_I_ON_HOST];
    dcsr_status status = DCSR_OK;
    pthread_mutex_lock(&view->lock);
    if (!copy->csr) {
        status = view->matrix->engine->download(&copy->csr, view->context, *rows);
        if (status == DCSR_OK) copy->rows = dcsr_i_rows_of_csr(copy->csr);
    }
    pthread_mutex_unlock(&view->lock);
    *rows = &copy->rows;
    return status;
}

void dcsr_i_view_note_ascending(dcsr_view *view)
{
    atomic_store(&view->ascends, true);
    /* The version itself is what has been looked at, unless rows of it were resolved for the view. */
    if (view->form[0].hold && !view->form[0].hold->own)
        atomic_store(&view->matrix->versions.ascending, view->version);
}

dcsr_status dcsr_i_view_sorted(const dcsr_i_rows **rows, dcsr_view *view)
{
    DCSR_TRY(dcsr_i_view_host_rows(rows, view));
    if (atomic_load_explicit(&view->ascends, memory_order_relaxed)) return DCSR_OK;
    dcsr_i_form *sorted = &view->form[DCSR_I_ASCENDING | DCSR_I_ON_HOST];
    dcsr_status status = DCSR_OK;
    pthread_mutex_lock(&view->lock);
    if (!view->ascends && !dcsr_i_form_is_made(sorted)) {
        status = dcsr_i_rows_sort(sorted, view->matrix, *rows);
        if (status == DCSR_OK && !dcsr_i_form_is_made(sorted)) dcsr_i_view_note_ascending(view);
    }
    if (dcsr_i_form_is_made(sorted)) *rows = &sorted->rows;
    pthread_mutex_unlock(&view->lock);
    return status;
}

dcsr_status dcsr_i_view_attach(dcsr_i_attachment **kept, dcsr_view *view, int kind,
                               dcsr_status (*make)(dcsr_i_attachment **kept, dcsr_view *view))
{
    pthread_mutex_lock(&view->lock);
    dcsr_status status = view->kept[kind] ? DCSR_OK : make(&view->kept[kind], view);
    *kept = view->kept[kind];
    pthread_mutex_unlock(&view->lock);
    return status;
}

void dcsr_i_view_was_read(dcsr_view *view)
{
    if (view->form[0].hold && !view->form[0].hold->own)
        dcsr_i_was_read(view->matrix, view->form[0].rows.table);
}

/* ---- Creating ---- */

/* A hold on the same version with the same flags that another view has, or NULL. */
static dcsr_i_held_version *share_resolved(dcsr_matrix *matrix, uint64_t version, unsigned flags)
{
    pthread_mutex_lock(&matrix->versions.lock);
    dcsr_i_held_version *shared = matrix->versions.resolved[flags];
    if (shared && shared->version == version)
        atomic_fetch_add(&shared->references, 1);
    else
        shared = NULL;
    pthread_mutex_unlock(&matrix->versions.lock);
    return shared;
}

static void offer_resolved(dcsr_matrix *matrix, dcsr_i_held_version *hold)
{
    pthread_mutex_lock(&matrix->versions.lock);
    if (matrix->versions.current->version == hold->version && !matrix->versions.resolved[hold->flags])
        matrix->versions.resolved[hold->flags] = hold;
    pthread_mutex_unlock(&matrix->versions.lock);
}

/* Which rows the flags want resolved; false when this version shows all as it should be. */
static bool rows_to_resolve(const dcsr_matrix *matrix, const dcsr_i_table *table, unsigned flags,
                            dcsr_i_rows_kind *kind)
{
    if (atomic_load(&matrix->versions.ascending) == table->version) return false;
    bool duplicates = !(flags & DCSR_VIEW_DUPLICATES) && table->duplicate_rows;
    *kind = flags & DCSR_VIEW_SORTED ? DCSR_I_UNSORTED_ROWS
            : duplicates             ? DCSR_I_UNRESOLVED_ROWS
                                     : DCSR_I_TOMBSTONE_ROWS;
    return flags & DCSR_VIEW_SORTED || duplicates || table->tombstone_rows;
}

/* A version that is to be resolved for all views. */
typedef struct resolving {
    dcsr_matrix *matrix;
    const dcsr_i_selection *selection;
    dcsr_i_held_version
        *hold;     /* on the version, NULL: whichever is the newest; in the end on what is resolved */
    bool resolved; /* false: it could not be done, or something has changed meanwhile */
} resolving;

/* While rows are resolved there is no hold, so that nothing has to be kept for it. */
static dcsr_status resolve_for_all(dcsr_matrix *owner, void *user)
{
    resolving *job = user;
    (void)owner;
    if (job->hold && job->matrix->versions.current != job->hold->base) return DCSR_OK;
    dcsr_i_set_aside before = dcsr_i_use_set_aside(DCSR_I_HALF_SET_ASIDE);
    dcsr_i_held_version_release(job->hold);
    job->resolved = dcsr_i_resolve_for_all(job->matrix, job->selection) == DCSR_OK;
    dcsr_status status = dcsr_i_held_version_create(&job->hold, job->matrix);
    dcsr_i_use_set_aside(before);
    return status;
}

/* Whether the store itself may be resolved: views of later versions then need not do the work again. */
static bool may_resolve_for_all(const dcsr_matrix *matrix)
{
    return matrix->defragmentation == DCSR_DEFRAGMENT_AUTO && !matrix->context->cuda;
}

/* Does it if nothing changes the matrix; else there is another hold at most. */
static dcsr_status try_for_all(dcsr_i_held_version **hold, resolving *job, bool newest)
{
    dcsr_matrix *matrix = job->matrix, *owner = matrix->transpose.owner;
    job->hold = newest ? NULL : *hold;
    if (newest) dcsr_i_held_version_release(*hold);
    dcsr_status status = dcsr_i_idle_turn(owner ? owner : matrix, resolve_for_all, job);
    if (status == DCSR_OK && !job->hold) status = dcsr_i_held_version_create(&job->hold, matrix);
    *hold = job->hold;
    return *hold ? DCSR_OK : status;
}

/* Another view's hold on the same, if there is one. */
static bool use_resolved(dcsr_i_held_version **hold, dcsr_matrix *matrix, unsigned flags)
{
    dcsr_i_held_version *shared = share_resolved(matrix, (*hold)->version, flags);
    if (!shared) return false;
    dcsr_i_held_version_release(*hold);
    *hold = shared;
    return true;
}

dcsr_status dcsr_i_held_version_resolve(dcsr_i_held_version **hold, dcsr_matrix *matrix, unsigned flags,
                                        bool newest)
{
    dcsr_i_selection selection = {
        .column_limit = DCSR_MAX_COLS, .sorted = flags & DCSR_VIEW_SORTED, .for_view = true};
    if (!rows_to_resolve(matrix, (*hold)->base, flags, &selection.kind)) return DCSR_OK;
    if (use_resolved(hold, matrix, flags)) return DCSR_OK;
    if (may_resolve_for_all(matrix)) {
        /* Where that fails, there may be memory for the rows of this view alone. */
        resolving job = {.matrix = matrix, .selection = &selection};
        DCSR_TRY(try_for_all(hold, &job, newest));
        if (job.resolved || !rows_to_resolve(matrix, (*hold)->base, flags, &selection.kind)) return DCSR_OK;
        if (use_resolved(hold, matrix, flags)) return DCSR_OK;
    }
    dcsr_i_held_version *plain = *hold;
    dcsr_i_rewritten result;
    DCSR_TRY(matrix->engine->rewrite(&result, matrix, plain->base, plain->version, &selection));
    plain->own = result.table;
    plain->own_begin = result.begin;
    plain->own_entries = result.entries;
    plain->flags = flags;
    if (!result.table) return DCSR_OK;
    offer_resolved(matrix, plain);
    dcsr_i_was_resolved(matrix, result.entries);
    return DCSR_OK;
}

/* A view of the version that `held` holds; NULL: of the current one. */
static dcsr_status create_view(dcsr_view **view, dcsr_matrix *matrix, const dcsr_i_held_version *held,
                               dcsr_layout layout, unsigned flags)
{
    dcsr_i_held_version *hold = NULL;
    dcsr_i_set_aside before = dcsr_i_use_set_aside(DCSR_I_HALF_SET_ASIDE);
    if (!(flags & DCSR_VIEW_DUPLICATES)) dcsr_i_wanted_fresh(matrix);
    dcsr_view *created = dcsr_i_calloc(matrix->context, DCSR_I_MATRIX, 1, sizeof *created);
    dcsr_status status = !created ? DCSR_ERROR_OUT_OF_MEMORY
                         : held   ? dcsr_i_held_version_again(&hold, held)
                                  : dcsr_i_held_version_create(&hold, matrix);
    dcsr_i_use_set_aside(before);
    if (!created) return status;
    if (status == DCSR_OK && layout == DCSR_LAYOUT_CSR)
        created->form[0].csr = dcsr_i_csr_cached(matrix, dcsr_i_csr_slot(flags), hold->version);
    if (status == DCSR_OK && !created->form[0].csr)
        status = dcsr_i_held_version_resolve(&hold, matrix, flags, !held);
    if (status == DCSR_OK && layout == DCSR_LAYOUT_CSR && !created->form[0].csr)
        status = dcsr_i_csr_create(&created->form[0].csr, matrix, hold, flags);
    if (status != DCSR_OK) {
        dcsr_i_held_version_release(hold);
        dcsr_i_free(matrix->context, DCSR_I_MATRIX, created, 1, sizeof *created);
        return status;
    }
    created->context = matrix->context;
    created->matrix = matrix;
    created->layout = layout;
    created->flags = flags;
    created->version = hold->version;
    created->ascends = atomic_load(&matrix->versions.ascending) == hold->version ||
                       (flags & DCSR_VIEW_SORTED && matrix->policy != DCSR_POLICY_KEEP);
    created->twin = dcsr_i_held_version_hold(hold->twin);
    created->shows_duplicates = flags == DCSR_VIEW_DUPLICATES && hold->base->duplicate_rows != 0;
    if (layout == DCSR_LAYOUT_CSR) {
        dcsr_i_held_version_release(hold);
        created->form[0].rows = matrix->engine->rows_of_csr(created->form[0].csr);
    } else {
        created->form[0].hold = hold;
        created->form[0].rows = matrix->engine->rows_of(matrix, hold->own ? hold->own : hold->base);
    }
    pthread_mutex_init(&created->lock, NULL);
    dcsr_i_context_retain(matrix->context);
    dcsr_i_matrix_retain(matrix);
    if (layout == DCSR_LAYOUT_CSC) status = dcsr_i_view_make_csc(created);
    if (layout == DCSR_LAYOUT_NUT) status = dcsr_i_view_make_nut(created);
    if (status != DCSR_OK) {
        dcsr_view_destroy(created);
        return status;
    }
    *view = created;
    return DCSR_OK;
}

dcsr_status dcsr_view_create(dcsr_view **view, dcsr_matrix *matrix, dcsr_layout layout, unsigned flags)
{
    if (!view) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_view_create: view is NULL");
    *view = NULL;
    DCSR_TRY(dcsr_i_matrix_check(matrix));
    if ((unsigned)layout > DCSR_LAYOUT_NUT || flags & ~(unsigned)(ALL_FLAGS | DCSR_VIEW_LATEST))
        return dcsr_i_fail(
            DCSR_ERROR_INVALID_ARGUMENT,
            "dcsr_view_create: layout %d with flags %u; use one of DCSR_LAYOUT_*, and flags of "
            "DCSR_VIEW_* or 0",
            (int)layout, flags);
    if (flags & DCSR_VIEW_LATEST) DCSR_TRY(dcsr_i_queue_wait(matrix, "dcsr_view_create"));
    return create_view(view, matrix, NULL, layout, flags & ALL_FLAGS);
}

dcsr_status dcsr_i_view_of(dcsr_view **view, const dcsr_i_held_version *held, dcsr_layout layout,
                           unsigned flags)
{
    *view = NULL;
    DCSR_TRY(dcsr_i_context_check(held->matrix->context));
    return create_view(view, held->matrix, held, layout, flags);
}

dcsr_status dcsr_i_view_again(dcsr_view **view, dcsr_view *shown, dcsr_layout layout, unsigned flags)
{
    *view = NULL;
    DCSR_TRY(dcsr_i_view_check(shown));
    assert(shown->form[0].hold);
    return create_view(view, shown->matrix, shown->form[0].hold, layout, flags);
}

dcsr_status dcsr_i_view_of_csr(dcsr_view **view, dcsr_i_csr *csr, dcsr_matrix *like)
{
    dcsr_view *created = dcsr_i_calloc(like->context, DCSR_I_MATRIX, 1, sizeof *created);
    *view = created;
    if (!created) {
        dcsr_i_csr_release(csr);
        return DCSR_ERROR_OUT_OF_MEMORY;
    }
    created->context = like->context;
    created->matrix = like;
    created->layout = DCSR_LAYOUT_CSR;
    created->form[0].csr = csr;
    created->form[0].rows = like->engine->rows_of_csr(csr);
    pthread_mutex_init(&created->lock, NULL);
    dcsr_i_context_retain(like->context);
    dcsr_i_matrix_retain(like);
    return DCSR_OK;
}

dcsr_status dcsr_view_share(dcsr_view **same, dcsr_view *view)
{
    if (!same) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_view_share: same is NULL");
    *same = NULL;
    DCSR_TRY(dcsr_i_view_check(view));
    atomic_fetch_add_explicit(&view->sharers, 1, memory_order_relaxed);
    *same = view;
    return DCSR_OK;
}

void dcsr_view_destroy(dcsr_view *view)
{
    /* What any of the sharers has done with the view is before what the last of them frees. */
    if (!view || atomic_fetch_sub_explicit(&view->sharers, 1, memory_order_acq_rel)) return;
    dcsr_context *context = view->context;
    for (int k = 0; k < DCSR_I_KEPT; k++)
        if (view->kept[k]) view->kept[k]->drop(view->kept[k], view);
    for (int f = 0; f < DCSR_I_FORMS; f++) dcsr_i_form_release(&view->form[f]);
    dcsr_i_nut_release(view->nut);
    dcsr_i_nut_release(view->turned_nut);
    dcsr_i_facts_release(view->facts, context);
    dcsr_i_held_version_release(view->twin);
    pthread_mutex_destroy(&view->lock);
    dcsr_i_matrix_release(view->matrix);
    dcsr_i_free(context, DCSR_I_MATRIX, view, 1, sizeof *view);
    dcsr_i_context_release(context);
}

/* ---- Reading ---- */

dcsr_status dcsr_view_get_info(dcsr_view *view, dcsr_view_info *info)
{
    DCSR_TRY(dcsr_i_view_check(view));
    if (!info) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_view_get_info: info is NULL");
    const dcsr_i_rows *rows = &view->form[0].rows;
    dcsr_i_facts *facts;
    dcsr_i_measures measures;
    DCSR_TRY(dcsr_i_view_facts(&facts, view, NULL));
    if (facts)
        measures = facts->measures;
    else
        DCSR_TRY(view->matrix->engine->measure(&measures, view->context, rows));
    double n = rows->rows ? (double)rows->rows : 1;
    *info = (dcsr_view_info){
        .type = rows->type,
        .layout = view->layout,
        .rows = rows->rows,
        .cols = rows->cols,
        .version = view->version,
        .nnz = measures.nnz,
        .segments = measures.rows_in_use + (rows->table ? rows->table->extra_segments : 0),
        .max_row = measures.longest,
        .mean_row = (double)measures.nnz / n,
        .row_std = sqrt(measures.squares / n),
        .lent = (view->form[0].csr && (view->form[0].csr->hold || view->form[0].csr->lender)) ||
                (view->form[DCSR_I_TRANSPOSED].csr && view->form[DCSR_I_TRANSPOSED].csr->hold)};
    return DCSR_OK;
}

dcsr_status dcsr_view_get_shape(dcsr_view *view, dcsr_view_shape *shape)
{
    DCSR_TRY(dcsr_i_view_check(view));
    if (!shape) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_view_get_shape: shape is NULL");
    const dcsr_i_rows *rows = &view->form[0].rows;
    *shape = (dcsr_view_shape){.context = view->context,
                               .device = rows->on_device ? DCSR_DEVICE_CUDA : DCSR_DEVICE_CPU,
                               .layout = view->layout,
                               .type = rows->type,
                               .policy = view->matrix->policy,
                               .rows = rows->rows,
                               .cols = rows->cols,
                               .nnz = rows->on_device ? rows->device.stored : dcsr_i_rows_entries(rows),
                               .matrix = view->matrix->serial};
    return DCSR_OK;
}

static dcsr_status check_csr(const dcsr_view *view, const dcsr_csr *csr, const char *call)
{
    DCSR_TRY(dcsr_i_view_check(view));
    if (!csr) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: csr is NULL", call);
    if (view->layout != DCSR_LAYOUT_CSR)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "%s: the view is not CSR; create it with DCSR_LAYOUT_CSR", call);
    return DCSR_OK;
}

static dcsr_csr arrays_of(const dcsr_i_csr *csr)
{
    return (dcsr_csr){.rows = csr->rows,
                      .cols = csr->cols,
                      .nnz = csr->nnz,
                      .type = csr->type,
                      .offsets = csr->offsets,
                      .col_indices = csr->columns,
                      .values = csr->values};
}

dcsr_status dcsr_view_get_csr(dcsr_view *view, dcsr_csr *csr)
{
    DCSR_TRY(check_csr(view, csr, "dcsr_view_get_csr"));
    *csr = arrays_of(view->form[0].csr);
    return DCSR_OK;
}

dcsr_status dcsr_view_get_csr_on_host(dcsr_view *view, dcsr_csr *csr)
{
    DCSR_TRY(check_csr(view, csr, "dcsr_view_get_csr_on_host"));
    const dcsr_i_rows *rows;
    DCSR_TRY(dcsr_i_view_host_rows(&rows, view));
    *csr = arrays_of(view->form[0].rows.on_device ? view->form[DCSR_I_ON_HOST].csr : view->form[0].csr);
    return DCSR_OK;
}

dcsr_status dcsr_view_get_row(dcsr_view *view, uint64_t row, uint64_t capacity, uint32_t *cols, void *values,
                              uint64_t *length)
{
    DCSR_TRY(dcsr_i_view_check(view));
    if (!length) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_view_get_row: length is NULL");
    if (row >= view->form[0].rows.rows)
        return dcsr_i_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE, "dcsr_view_get_row: row %llu of %llu",
                           (unsigned long long)row, (unsigned long long)view->form[0].rows.rows);
    return view->matrix->engine->read_row(view->context, &view->form[0].rows, row, capacity, cols, values,
                                          length);
}

dcsr_status dcsr_view_get_pieces(dcsr_view *view, uint64_t row, dcsr_piece pieces[DCSR_MAX_SEGMENTS],
                                 int *count)
{
    const dcsr_i_rows *rows;
    dcsr_i_piece places[DCSR_MAX_SEGMENTS];
    DCSR_TRY(dcsr_i_view_check(view));
    if (!pieces || !count)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_view_get_pieces: %s is NULL",
                           pieces ? "count" : "pieces");
    if (row >= view->form[0].rows.rows)
        return dcsr_i_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE, "dcsr_view_get_pieces: row %llu of %llu",
                           (unsigned long long)row, (unsigned long long)view->form[0].rows.rows);
    DCSR_TRY(dcsr_i_view_host_rows(&rows, view));
    const size_t size = dcsr_type_size(rows->type);
    *count = dcsr_i_rows_pieces(rows, row, places);
    for (int k = 0; k < *count; k++)
        pieces[k] = (dcsr_piece){places[k].length, rows->columns + places[k].begin,
                                 size ? (const char *)rows->values + places[k].begin * size : NULL};
    return DCSR_OK;
}

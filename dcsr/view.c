/* view.c: creating, reading and destroying views. */
#include "dcsr/store.h"
#include <math.h>
#include <string.h>

enum { ALL_FLAGS = DCSR_VIEW_DUPLICATES | DCSR_VIEW_SORTED };

struct dcsr_view {
    dcsr_context *context;
    dcsr_matrix *matrix;
    dcsr_layout layout;
    uint64_t version;
    dcsr_i_snapshot *snapshot; /* segments */
    dcsr_i_csr *csr;           /* CSR */
    dcsr_i_rows rows;
};

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

dcsr_policy dcsr_i_view_policy(const dcsr_view *view)
{
    return view->matrix->policy;
}

const dcsr_i_rows *dcsr_i_view_rows(const dcsr_view *view)
{
    return &view->rows;
}

void dcsr_i_view_was_read(dcsr_view *view)
{
    if (view->snapshot && !view->snapshot->own) dcsr_i_was_read(view->matrix, view->rows.table);
}

/* ---- Creating ---- */

/* A snapshot of the same version with the same flags that another view holds, or NULL. */
static dcsr_i_snapshot *share_resolved(dcsr_matrix *matrix, uint64_t version, unsigned flags)
{
    pthread_mutex_lock(&matrix->version_lock);
    dcsr_i_snapshot *shared = matrix->resolved[flags];
    if (shared && shared->version == version)
        atomic_fetch_add(&shared->references, 1);
    else
        shared = NULL;
    pthread_mutex_unlock(&matrix->version_lock);
    return shared;
}

static void offer_resolved(dcsr_matrix *matrix, dcsr_i_snapshot *snapshot)
{
    pthread_mutex_lock(&matrix->version_lock);
    if (matrix->current->version == snapshot->version && !matrix->resolved[snapshot->flags])
        matrix->resolved[snapshot->flags] = snapshot;
    pthread_mutex_unlock(&matrix->version_lock);
}

/* Which rows the flags want resolved; NULL when this version shows all as it should be. */
static uint64_t (*rows_to_resolve(const dcsr_i_table *table,
                                  unsigned flags))(const dcsr_i_rows *, const dcsr_i_row_page *, const void *)
{
    if (flags & DCSR_VIEW_SORTED) return dcsr_i_unsorted_rows;
    if (!(flags & DCSR_VIEW_DUPLICATES) && table->duplicate_rows) return dcsr_i_unresolved_rows;
    return table->tombstone_rows ? dcsr_i_tombstone_rows : NULL;
}

/* Replaces a plain snapshot by one in which the rows that the flags ask for are resolved. */
static dcsr_status resolve_snapshot(dcsr_i_snapshot **snapshot, dcsr_matrix *matrix, unsigned flags)
{
    dcsr_i_snapshot *plain = *snapshot;
    dcsr_i_selection selection = {.rows_of = rows_to_resolve(plain->base, flags),
                                  .column_limit = DCSR_MAX_COLS,
                                  .sorted = flags & DCSR_VIEW_SORTED,
                                  .for_view = true};
    if (!selection.rows_of) return DCSR_OK;
    dcsr_i_snapshot *shared = share_resolved(matrix, plain->version, flags);
    if (shared) {
        dcsr_i_snapshot_release(plain);
        *snapshot = shared;
        return DCSR_OK;
    }
    dcsr_i_rewritten result;
    DCSR_TRY(dcsr_i_rewrite(&result, matrix, plain->base, plain->version, &selection));
    plain->own = result.table;
    plain->own_begin = result.begin;
    plain->own_entries = result.entries;
    plain->flags = flags;
    if (!result.table) return DCSR_OK;
    offer_resolved(matrix, plain);
    dcsr_i_was_resolved(matrix, result.entries);
    return DCSR_OK;
}

dcsr_status dcsr_view_create(dcsr_view **view, dcsr_matrix *matrix, dcsr_layout layout, unsigned flags)
{
    if (!view) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_view_create: view is NULL");
    *view = NULL;
    DCSR_TRY(dcsr_i_matrix_check(matrix));
    if ((unsigned)layout > DCSR_LAYOUT_CSR || flags & ~(unsigned)ALL_FLAGS)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "dcsr_view_create: layout %d with flags %u is not known", (int)layout, flags);
    dcsr_i_snapshot *snapshot;
    dcsr_view *created = dcsr_i_calloc(matrix->context, DCSR_I_MATRIX, 1, sizeof *created);
    if (!created) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_status status = dcsr_i_snapshot_create(&snapshot, matrix);
    if (status == DCSR_OK && layout == DCSR_LAYOUT_CSR)
        created->csr = dcsr_i_csr_cached(matrix, snapshot, flags);
    if (status == DCSR_OK && !created->csr) status = resolve_snapshot(&snapshot, matrix, flags);
    if (status == DCSR_OK && layout == DCSR_LAYOUT_CSR && !created->csr)
        status = dcsr_i_csr_create(&created->csr, matrix, snapshot, flags);
    if (status != DCSR_OK) {
        dcsr_i_snapshot_release(snapshot);
        dcsr_i_free(matrix->context, DCSR_I_MATRIX, created, 1, sizeof *created);
        return status;
    }
    created->context = matrix->context;
    created->matrix = matrix;
    created->layout = layout;
    created->version = snapshot->version;
    if (layout == DCSR_LAYOUT_CSR) {
        dcsr_i_snapshot_release(snapshot);
        created->rows = (dcsr_i_rows){.type = matrix->type,
                                      .rows = created->csr->rows,
                                      .cols = created->csr->cols,
                                      .offsets = created->csr->offsets,
                                      .columns = created->csr->columns,
                                      .values = created->csr->values};
    } else {
        created->snapshot = snapshot;
        created->rows = dcsr_i_rows_of(matrix, snapshot->own ? snapshot->own : snapshot->base);
    }
    dcsr_i_context_retain(matrix->context);
    dcsr_i_matrix_retain(matrix);
    *view = created;
    return DCSR_OK;
}

void dcsr_view_destroy(dcsr_view *view)
{
    if (!view) return;
    dcsr_context *context = view->context;
    dcsr_i_snapshot_release(view->snapshot);
    dcsr_i_csr_release(view->csr);
    dcsr_i_matrix_release(view->matrix);
    dcsr_i_free(context, DCSR_I_MATRIX, view, 1, sizeof *view);
    dcsr_i_context_release(context);
}

/* ---- Reading ---- */

dcsr_status dcsr_view_get_info(dcsr_view *view, dcsr_view_info *info)
{
    DCSR_TRY(dcsr_i_view_check(view));
    if (!info) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_view_get_info: info is NULL");
    const dcsr_i_rows *rows = &view->rows;
    uint64_t n = rows->rows, nnz = 0, longest = 0, used = 0;
    double squares = 0;
    int threads = dcsr_i_threads(view->context, n);
#pragma omp parallel for num_threads(threads) reduction(+ : nnz, used) reduction(max : longest) if (threads > 1)
    for (uint64_t i = 0; i < n; i++) {
        uint64_t length = dcsr_i_rows_length(rows, i);
        nnz += length;
        used += length != 0;
        if (length > longest) longest = length;
    }
    double mean = n ? (double)nnz / (double)n : 0;
    for (uint64_t i = 0; i < n; i++) {
        double away = (double)dcsr_i_rows_length(rows, i) - mean;
        squares += away * away;
    }
    *info = (dcsr_view_info){.type = rows->type,
                             .layout = view->layout,
                             .rows = n,
                             .cols = rows->cols,
                             .version = view->version,
                             .nnz = nnz,
                             .segments = used + (rows->table ? rows->table->extra_segments : 0),
                             .max_row = longest,
                             .mean_row = mean,
                             .row_std = n ? sqrt(squares / (double)n) : 0,
                             .lent = view->csr && view->csr->snapshot};
    return DCSR_OK;
}

dcsr_status dcsr_view_csr(dcsr_view *view, dcsr_csr *csr)
{
    DCSR_TRY(dcsr_i_view_check(view));
    if (!csr) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_view_csr: csr is NULL");
    if (view->layout != DCSR_LAYOUT_CSR)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "dcsr_view_csr: the view shows segments; create it with DCSR_LAYOUT_CSR");
    *csr = (dcsr_csr){.rows = view->csr->rows,
                      .cols = view->csr->cols,
                      .nnz = view->csr->nnz,
                      .type = view->rows.type,
                      .offsets = view->csr->offsets,
                      .columns = view->csr->columns,
                      .values = view->csr->values};
    return DCSR_OK;
}

dcsr_status dcsr_view_row(dcsr_view *view, uint64_t row, uint64_t capacity, uint32_t *columns, void *values,
                          uint64_t *length)
{
    DCSR_TRY(dcsr_i_view_check(view));
    if (!length) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_view_row: length is NULL");
    if (row >= view->rows.rows)
        return dcsr_i_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE, "dcsr_view_row: row %llu of %llu",
                           (unsigned long long)row, (unsigned long long)view->rows.rows);
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    int count = dcsr_i_rows_pieces(&view->rows, row, pieces);
    size_t size = dcsr_type_size(view->rows.type);
    uint64_t done = 0, all = 0;
    for (int k = 0; k < count; k++) {
        uint64_t take = capacity - done < pieces[k].length ? capacity - done : pieces[k].length;
        if (columns) memcpy(columns + done, view->rows.columns + pieces[k].begin, take * sizeof *columns);
        if (values && size)
            memcpy((char *)values + done * size, (const char *)view->rows.values + pieces[k].begin * size,
                   take * size);
        done += take;
        all += pieces[k].length;
    }
    *length = all;
    return DCSR_OK;
}

/* maintained_transpose.c: the transpose that a matrix maintains (maintained_transpose.h). */
#include "dcsr/store/maintained_transpose.h"
#include <string.h>

/* ---- Following a change ---- */

/* What the twin now is belongs to the version that is published next, if the twin could follow. */
void dcsr_i_twin_follow(dcsr_matrix *matrix, dcsr_status status)
{
    if (status == DCSR_OK) dcsr_i_held_version_create(&matrix->transpose.next_shown, matrix->transpose.twin);
}

/* The entries come by ascending row of A, and stay so in each of its columns. They have been checked against
 * the dimensions that A has. */
dcsr_i_operation dcsr_i_twin_batch(const dcsr_matrix *matrix, const dcsr_i_operation *operation, uint64_t n)
{
    return (dcsr_i_operation){.context = matrix->context,
                              .kind = operation->kind,
                              .replaces = operation->replaces,
                              .batch = {.n = n,
                                        .stride = operation->batch.stride,
                                        .column_bits = operation->batch.row_bits,
                                        .row_bits = operation->batch.column_bits,
                                        .ordered_bits = operation->batch.row_bits,
                                        .value_size = operation->batch.value_size,
                                        .ascending = n < 2,
                                        .rows = matrix->versions.current->cols,
                                        .cols = matrix->versions.current->rows}};
}

static void swap_keys(uint64_t *entries, uint64_t n, int stride, int row_bits, int column_bits, int threads)
{
    uint64_t column_mask = ((uint64_t)1 << column_bits) - 1;
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (uint64_t i = 0; i < n; i++) {
        uint64_t key = entries[i * (uint64_t)stride];
        entries[i * (uint64_t)stride] = (key & column_mask) << row_bits | key >> column_bits;
    }
}

void dcsr_i_twin_entries(dcsr_matrix *matrix, const dcsr_i_operation *operation, uint64_t *entries,
                         uint64_t n)
{
    const dcsr_i_packed *batch = &operation->batch;
    dcsr_matrix *twin = matrix->transpose.twin;
    if (!twin) return;
    swap_keys(entries, n, batch->stride, batch->row_bits, batch->column_bits,
              dcsr_i_threads(matrix->context, n));
    dcsr_i_operation swapped = dcsr_i_twin_batch(matrix, operation, n);
    swapped.batch.entries = entries;
    dcsr_i_twin_follow(matrix, twin->engine->apply_entries(twin, &swapped));
}

void dcsr_i_twin_resize(dcsr_matrix *matrix, uint64_t rows, uint64_t cols)
{
    dcsr_matrix *twin = matrix->transpose.twin;
    if (twin) dcsr_i_twin_follow(matrix, twin->engine->apply_resize(twin, cols, rows));
}

void dcsr_i_twin_stays(dcsr_matrix *matrix)
{
    if (!matrix->transpose.twin) return;
    matrix->transpose.next_shown = dcsr_i_held_version_hold(matrix->transpose.shown);
}

/* ---- Batches out of rows of A ---- */

/* A batch for the twin of `rows`, without entries yet. They will come by ascending row of A, and stay so in
 * each column. */
static dcsr_i_operation batch_for(const dcsr_matrix *twin, dcsr_i_kind kind, const dcsr_i_rows *rows)
{
    size_t size = kind == DCSR_I_INSERT ? twin->value_size : 0;
    return (dcsr_i_operation){.context = twin->context,
                              .kind = kind,
                              .batch = {.stride = size ? 2 : 1,
                                        .column_bits = dcsr_i_bits_for(rows->rows),
                                        .row_bits = dcsr_i_bits_for(rows->cols),
                                        .ordered_bits = dcsr_i_bits_for(rows->rows),
                                        .value_size = size,
                                        .rows = rows->cols,
                                        .cols = rows->rows}};
}

/* Writes the entries of a row with their keys swapped, and without marks of deletion; returns where they end.
 */
static uint64_t *pack_row(uint64_t *entries, const dcsr_i_rows *rows, uint64_t row,
                          const dcsr_i_packed *batch)
{
    size_t size = batch->value_size;
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    int count = dcsr_i_rows_pieces(rows, row, pieces);
    for (int k = 0; k < count; k++)
        for (uint64_t i = pieces[k].begin; i < pieces[k].begin + pieces[k].length; i++) {
            *entries++ = (uint64_t)(rows->columns[i] & ~DCSR_I_TOMBSTONE) << batch->column_bits | row;
            if (!size) continue;
            *entries = 0;
            memcpy(entries++, (const char *)rows->values + i * size, size);
        }
    return entries;
}

/* Applies n entries to the twin, which pack(entries, rows, batch, user) writes. */
static dcsr_status apply_batch(dcsr_matrix *twin, dcsr_i_operation *operation, const dcsr_i_rows *rows,
                               void (*pack)(const dcsr_i_rows *rows, const dcsr_i_packed *batch,
                                            const void *user),
                               const void *user)
{
    dcsr_i_packed *batch = &operation->batch;
    if (!batch->n) return DCSR_OK;
    uint64_t words = batch->n * (uint64_t)batch->stride;
    batch->entries = dcsr_i_alloc(twin->context, DCSR_I_SCRATCH, words, sizeof *batch->entries);
    if (!batch->entries) return DCSR_ERROR_OUT_OF_MEMORY;
    pack(rows, batch, user);
    dcsr_status status = twin->engine->apply_entries(twin, operation);
    dcsr_i_free(twin->context, DCSR_I_SCRATCH, batch->entries, words, sizeof *batch->entries);
    return status;
}

/* ---- Rows that have been replaced ---- */

/* Whether row r of a page, which may be NULL, is another in the other version: one that was written has a
 * place of its own. */
static bool differs(const dcsr_i_row_page *page, const dcsr_i_row_page *other, unsigned r)
{
    uint32_t n = page ? page->length[r] : 0, m = other ? other->length[r] : 0;
    return n != m || (n && dcsr_i_begin_of(page, 0, r) != dcsr_i_begin_of(other, 0, r));
}

/* Packs the entries of the rows that are others in the table `user`; returns how many there are. Without
 * memory it counts them. */
static uint64_t pack_different(uint64_t *entries, const dcsr_i_rows *rows, const dcsr_i_table *other,
                               const dcsr_i_packed *batch)
{
    uint64_t n = 0;
    const dcsr_i_row_page *page;
    for (uint64_t p = 0; (page = dcsr_i_next_page(rows->table, &p)); p++) {
        const dcsr_i_row_page *beside = dcsr_i_page(other, p);
        for (unsigned r = 0; page != beside && r < DCSR_I_PAGE_ROWS; r++) {
            if (!page->length[r] || !differs(page, beside, r)) continue;
            if (entries) entries = pack_row(entries, rows, p << DCSR_I_PAGE_SHIFT | r, batch);
            n += page->length[r];
        }
    }
    return n;
}

static void pack_rows_of(const dcsr_i_rows *rows, const dcsr_i_packed *batch, const void *user)
{
    pack_different(batch->entries, rows, user, batch);
}

/* What one version's rows have that are others in the other. */
static dcsr_status apply_different(dcsr_matrix *matrix, dcsr_i_kind kind, const dcsr_i_table *table,
                                   const dcsr_i_table *other)
{
    dcsr_i_rows rows = dcsr_i_rows_of(matrix, table);
    dcsr_i_operation operation = batch_for(matrix->transpose.twin, kind, &rows);
    operation.batch.n = pack_different(NULL, &rows, other, &operation.batch);
    return apply_batch(matrix->transpose.twin, &operation, &rows, pack_rows_of, other);
}

void dcsr_i_twin_rows(dcsr_matrix *matrix, const dcsr_i_table *next)
{
    if (!matrix->transpose.twin) return;
    dcsr_status status = apply_different(matrix, DCSR_I_REMOVE, matrix->versions.current, next);
    if (status == DCSR_OK) status = apply_different(matrix, DCSR_I_INSERT, next, matrix->versions.current);
    dcsr_i_twin_follow(matrix, status);
}

/* ---- Changes of the twin alone ---- */

/* Shows this version of the twin with the current version of A; takes the reference. */
static void show(dcsr_matrix *matrix, dcsr_matrix *twin, dcsr_i_held_version *hold)
{
    pthread_mutex_lock(&matrix->versions.lock);
    dcsr_i_held_version *before = matrix->transpose.shown;
    matrix->transpose.shown = hold;
    matrix->transpose.twin = twin;
    pthread_mutex_unlock(&matrix->versions.lock);
    dcsr_i_held_version_release(before);
}

/* Without memory the version before is shown still, which is right all the same. */
void dcsr_i_twin_show(dcsr_matrix *matrix)
{
    dcsr_matrix *twin = matrix->transpose.twin;
    dcsr_i_held_version *hold;
    if (dcsr_i_held_version_create(&hold, twin) == DCSR_OK) show(matrix, twin, hold);
}

/* ---- Making one ---- */

static void pack_all(const dcsr_i_rows *rows, const dcsr_i_packed *batch, const void *user)
{
    uint64_t *entries = batch->entries;
    (void)user;
    for (uint64_t row = dcsr_i_rows_skip(rows, 0); row < rows->rows; row = dcsr_i_rows_skip(rows, row + 1))
        entries = pack_row(entries, rows, row, batch);
}

/* Inserts them as one batch, which costs nothing for columns that have no entries. */
static dcsr_status insert_all(dcsr_matrix *twin, const dcsr_i_rows *rows)
{
    dcsr_i_operation operation = batch_for(twin, DCSR_I_INSERT, rows);
    if (twin->engine->insert_transposed) return twin->engine->insert_transposed(twin, &operation, rows);
    operation.batch.n = dcsr_i_rows_entries(rows);
    return apply_batch(twin, &operation, rows, pack_all, NULL);
}

dcsr_status dcsr_i_twin_create(dcsr_matrix **twin, dcsr_matrix *matrix, const dcsr_i_rows *rows,
                               dcsr_defragmentation defragmentation)
{
    DCSR_TRY(dcsr_i_matrix_open_inner(twin, matrix, rows->cols, rows->rows, matrix->policy, defragmentation));
    (*twin)->transpose.owner = matrix;
    dcsr_status status = insert_all(*twin, rows);
    if (status == DCSR_OK) return DCSR_OK;
    dcsr_i_matrix_release(*twin);
    *twin = NULL;
    return status;
}

static dcsr_status build(dcsr_matrix *matrix, dcsr_view *view)
{
    dcsr_matrix *twin;
    dcsr_i_held_version *hold;
    DCSR_TRY(dcsr_i_twin_create(&twin, matrix, dcsr_i_view_rows(view), matrix->defragmentation));
    dcsr_status status = dcsr_i_held_version_create(&hold, twin);
    if (status == DCSR_OK)
        show(matrix, twin, hold);
    else
        dcsr_i_matrix_release(twin);
    return status;
}

dcsr_status dcsr_i_twin_build(dcsr_matrix *matrix)
{
    if (matrix->transpose.twin || !matrix->transpose.maintained) return DCSR_OK;
    dcsr_view *view;
    const int fresh = atomic_load(&matrix->due.fresh);
    DCSR_TRY(dcsr_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, 0));
    atomic_store(&matrix->due.fresh, fresh); /* no reader has asked */
    dcsr_status status = build(matrix, view);
    dcsr_view_destroy(view);
    return status;
}

void dcsr_i_request_twin(dcsr_matrix *matrix)
{
    if (!matrix->transpose.maintained) return;
    dcsr_matrix *twin = dcsr_i_matrix_twin(matrix);
    if (twin) {
        dcsr_i_matrix_release(twin);
        return;
    }
    atomic_store(&matrix->transpose.wanted, true);
    dcsr_i_queue_look_later(matrix);
}

void dcsr_i_twin_leave(dcsr_matrix *twin)
{
    if (!twin) return;
    dcsr_i_csr_forget(twin);
    dcsr_i_matrix_release(twin);
}

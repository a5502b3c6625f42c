/* twin.c: the transpose that a matrix maintains (twin.h). */
#include "dcsr/twin.h"
#include <string.h>

/* ---- Following a change ---- */

/* What the twin now is belongs to the version that is published next, if the twin could follow. */
static void follow(dcsr_matrix *matrix, dcsr_status status)
{
    if (status == DCSR_OK) dcsr_i_snapshot_create(&matrix->next_shown, matrix->twin);
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
    dcsr_matrix *twin = matrix->twin;
    if (!twin) return;
    swap_keys(entries, n, operation->stride, operation->row_bits, operation->column_bits,
              dcsr_i_threads(matrix->context, n));
    /* The entries come by ascending row of A, and stay so in each of its columns. */
    dcsr_i_operation swapped = {.context = matrix->context,
                                .kind = operation->kind,
                                .entries = entries,
                                .n = n,
                                .stride = operation->stride,
                                .column_bits = operation->row_bits,
                                .row_bits = operation->column_bits,
                                .ordered_bits = operation->row_bits,
                                .value_size = operation->value_size,
                                .ascending = n < 2,
                                .rows = operation->cols,
                                .cols = operation->rows};
    follow(matrix, twin->engine->apply_entries(twin, &swapped));
}

void dcsr_i_twin_resize(dcsr_matrix *matrix, uint64_t rows, uint64_t cols)
{
    if (matrix->twin) follow(matrix, matrix->twin->engine->apply_resize(matrix->twin, cols, rows));
}

void dcsr_i_twin_stays(dcsr_matrix *matrix)
{
    if (!matrix->twin) return;
    matrix->next_shown = dcsr_i_snapshot_hold(matrix->shown);
}

/* ---- Changes of the twin alone ---- */

/* Shows this version of the twin with the current version of A; takes the reference. */
static void show(dcsr_matrix *matrix, dcsr_matrix *twin, dcsr_i_snapshot *snapshot)
{
    pthread_mutex_lock(&matrix->version_lock);
    dcsr_i_snapshot *before = matrix->shown;
    matrix->shown = snapshot;
    matrix->twin = twin;
    pthread_mutex_unlock(&matrix->version_lock);
    dcsr_i_snapshot_release(before);
}

static dcsr_status tidy(dcsr_matrix *matrix, const dcsr_i_operation *operation)
{
    return operation->kind == DCSR_I_SETTLE ? dcsr_i_apply_settle(matrix)
                                            : dcsr_i_apply_defragment(matrix, operation->scope);
}

dcsr_status dcsr_i_twin_tidy(dcsr_matrix *matrix, const dcsr_i_operation *operation)
{
    dcsr_status status = operation->of_twin ? DCSR_OK : tidy(matrix, operation);
    dcsr_matrix *twin = operation->service && !operation->of_twin ? NULL : matrix->twin;
    /* A twin that cannot be tidied is right all the same. */
    dcsr_i_snapshot *snapshot;
    if (twin && tidy(twin, operation) == DCSR_OK && dcsr_i_snapshot_create(&snapshot, twin) == DCSR_OK)
        show(matrix, twin, snapshot);
    return status;
}

/* ---- Making one ---- */

/* Writes the entries of the rows with their keys swapped: ascending by row of A. */
static void pack(uint64_t *entries, const dcsr_i_rows *rows, const dcsr_i_operation *operation)
{
    size_t size = operation->value_size;
    for (uint64_t row = dcsr_i_rows_skip(rows, 0); row < rows->rows; row = dcsr_i_rows_skip(rows, row + 1)) {
        dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
        int count = dcsr_i_rows_pieces(rows, row, pieces);
        for (int k = 0; k < count; k++)
            for (uint64_t i = pieces[k].begin; i < pieces[k].begin + pieces[k].length; i++) {
                *entries++ = (uint64_t)rows->columns[i] << operation->column_bits | row;
                if (!size) continue;
                *entries = 0;
                memcpy(entries++, (const char *)rows->values + i * size, size);
            }
    }
}

static int bits_for(uint64_t count)
{
    return count > 1 ? 64 - __builtin_clzll(count - 1) : 0;
}

/* Inserts them as one batch, which costs nothing for columns that have no entries. */
static dcsr_status insert_all(dcsr_matrix *twin, const dcsr_i_rows *rows)
{
    dcsr_context *context = twin->context;
    dcsr_i_operation batch = {.context = context,
                              .kind = DCSR_I_INSERT,
                              .n = dcsr_i_rows_entries(rows),
                              .stride = twin->value_size ? 2 : 1,
                              .column_bits = bits_for(rows->rows),
                              .row_bits = bits_for(rows->cols),
                              .value_size = twin->value_size,
                              .rows = rows->cols,
                              .cols = rows->rows};
    if (!batch.n) return DCSR_OK;
    batch.ordered_bits = batch.column_bits;
    uint64_t words = batch.n * (uint64_t)batch.stride;
    batch.entries = dcsr_i_alloc(context, DCSR_I_SCRATCH, words, sizeof *batch.entries);
    if (!batch.entries) return DCSR_ERROR_OUT_OF_MEMORY;
    pack(batch.entries, rows, &batch);
    dcsr_status status = twin->engine->apply_entries(twin, &batch);
    dcsr_i_free(context, DCSR_I_SCRATCH, batch.entries, words, sizeof *batch.entries);
    return status;
}

dcsr_status dcsr_i_twin_create(dcsr_matrix **twin, dcsr_matrix *matrix, const dcsr_i_rows *rows,
                               dcsr_defragmentation defragmentation)
{
    DCSR_TRY(dcsr_i_twin_open(twin, matrix, rows, defragmentation));
    dcsr_status status = insert_all(*twin, rows);
    if (status == DCSR_OK) return DCSR_OK;
    dcsr_i_matrix_release(*twin);
    *twin = NULL;
    return status;
}

static dcsr_status build(dcsr_matrix *matrix, dcsr_view *view)
{
    const dcsr_i_rows *rows;
    dcsr_matrix *twin;
    dcsr_i_snapshot *snapshot;
    DCSR_TRY(dcsr_i_view_host_rows(&rows, view));
    DCSR_TRY(dcsr_i_twin_create(&twin, matrix, rows, matrix->defragmentation));
    dcsr_status status = dcsr_i_snapshot_create(&snapshot, twin);
    if (status == DCSR_OK)
        show(matrix, twin, snapshot);
    else
        dcsr_i_matrix_release(twin);
    return status;
}

dcsr_status dcsr_i_twin_build(dcsr_matrix *matrix)
{
    if (matrix->twin || !matrix->maintain_transpose) return DCSR_OK;
    dcsr_view *view;
    DCSR_TRY(dcsr_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, 0));
    dcsr_status status = build(matrix, view);
    dcsr_view_destroy(view);
    return status;
}

void dcsr_i_twin_leave(dcsr_matrix *twin)
{
    if (!twin) return;
    dcsr_i_csr_forget(twin);
    dcsr_i_matrix_release(twin);
}

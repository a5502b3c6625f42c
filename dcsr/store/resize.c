/* resize.c: changing the dimensions.
 *
 * Growing copies the root of the table, nothing else. Shrinking rows drops whole pages and clears the rest of
 * the page that the new last row is in; shrinking columns rewrites the rows that reach beyond (rewrite.c).
 * Both together are one change.
 *
 * Growing to some least size is decided twice: by the dimensions that the queue leads to, when it is queued, so that
 * those who grow at the same time do not undo one another; and by what the matrix is in its turn, since a change queued
 * before may have failed. A batch for which the matrix grows is packed for the larger matrix, and a change that grows
 * it is queued just ahead of the batch. */
#include "dcsr/store/entries.h"
#include "dcsr/store/maintained_transpose.h"
#include <string.h>

/* What is counted per row, of the rows from `first` on of a page. */
typedef struct dropped {
    uint64_t stored, extra, duplicates, tombstones;
} dropped;

static uint64_t mask_from(unsigned first)
{
    return first < DCSR_I_PAGE_ROWS ? UINT64_MAX << first : 0;
}

static void count_dropped(const dcsr_i_row_page *page, unsigned first, dropped *sum)
{
    for (unsigned r = first; r < DCSR_I_PAGE_ROWS; r++) {
        dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
        int count = dcsr_i_row_pieces(page, r, pieces);
        sum->stored += page->length[r];
        sum->extra += count > 1 ? (uint64_t)count - 1 : 0;
    }
    sum->duplicates += (uint64_t)__builtin_popcountll(page->duplicates & mask_from(first));
    sum->tombstones += (uint64_t)__builtin_popcountll(page->tombstones & mask_from(first));
}

/* A copy of the page without the rows from `first` on, in *made, which is freed by its maker also on failure.
 */
static dcsr_status cut_page(dcsr_i_row_page **made, dcsr_matrix *matrix, const dcsr_i_row_page *old,
                            unsigned first, uint64_t version)
{
    dcsr_i_row_page *page = *made = dcsr_i_row_page_create(matrix, old, version);
    if (!page) return DCSR_ERROR_OUT_OF_MEMORY;
    if (!dcsr_i_own_segment_pages(matrix, page, old, ~mask_from(first), version))
        return DCSR_ERROR_OUT_OF_MEMORY;
    for (unsigned r = first; r < DCSR_I_PAGE_ROWS; r++)
        dcsr_i_clear_segments(page, 0, r, matrix->segments_per_row);
    memset(page->length + first, 0, (DCSR_I_PAGE_ROWS - first) * sizeof page->length[0]);
    page->fragmented &= ~mask_from(first);
    page->duplicates &= ~mask_from(first);
    page->tombstones &= ~mask_from(first);
    return DCSR_OK;
}

/* Takes the pages behind a table's last row out of its last directory, and the rows behind it out of its last
 * page, where base has any: what base has from that row on is then shared no more. */
static dcsr_status cut_table(dcsr_i_table *next, dcsr_matrix *matrix, const dcsr_i_table *base)
{
    uint64_t p = next->rows >> DCSR_I_PAGE_SHIFT, slot = p & (DCSR_I_DIRECTORY_PAGES - 1);
    uint64_t shelf = p >> DCSR_I_SHELF_SHIFT;
    unsigned first = next->rows & (DCSR_I_PAGE_ROWS - 1);
    if (p >> DCSR_I_DIRECTORY_SHIFT >= next->directories) return DCSR_OK;
    if (!dcsr_i_directory_of(base, p) && next->shelf[shelf] != base->shelf[shelf]) return DCSR_OK;
    const dcsr_i_row_page *old = first ? dcsr_i_page(base, p) : NULL;
    dcsr_i_row_page **place = dcsr_i_page_slot(matrix, next, base, p, NULL);
    if (!place) return DCSR_ERROR_OUT_OF_MEMORY;
    memset(place, 0, (dcsr_i_directory_of(next, p)->pages - slot) * sizeof *place);
    return old ? cut_page(place, matrix, old, first, next->version) : DCSR_OK;
}

static dcsr_status shrink_rows(dcsr_i_table *next, dcsr_i_limbo *limbo, dcsr_matrix *matrix,
                               dcsr_i_table *base)
{
    const uint64_t rows = next->rows;
    const dcsr_i_row_page *page;
    dropped sum = {0};
    DCSR_TRY(cut_table(next, matrix, base));
    for (uint64_t p = rows >> DCSR_I_PAGE_SHIFT; (page = dcsr_i_next_page(base, &p)); p++)
        count_dropped(page, p == rows >> DCSR_I_PAGE_SHIFT ? rows & (DCSR_I_PAGE_ROWS - 1) : 0, &sum);
    dcsr_i_retire_tail(limbo, matrix, base, next);
    next->stored -= sum.stored;
    next->extra_segments -= sum.extra;
    next->duplicate_rows -= sum.duplicates;
    next->tombstone_rows -= sum.tombstones;
    return DCSR_OK;
}

dcsr_status dcsr_i_apply_resize(dcsr_matrix *matrix, uint64_t rows, uint64_t cols)
{
    dcsr_i_table *base = matrix->versions.current;
    if (rows == base->rows && cols == base->cols) return DCSR_OK;
    dcsr_i_table *next = dcsr_i_table_copy(matrix, base, rows, cols);
    if (!next) return DCSR_ERROR_OUT_OF_MEMORY;
    const bool shrinks = rows < base->rows;
    dcsr_i_rewritten cut = {0};
    dcsr_i_limbo *limbo = dcsr_i_limbo_create(matrix, DCSR_I_MOST_OF_TAIL);
    dcsr_status status = limbo ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
    if (status == DCSR_OK && shrinks) status = shrink_rows(next, limbo, matrix, base);
    if (!shrinks) {
        if (limbo) dcsr_i_retire_replaced(limbo, base, next);
        next->contiguous = base->contiguous;
        next->first = base->first;
    }
    if (status == DCSR_OK && cols < base->cols) {
        dcsr_i_selection selection = {.kind = DCSR_I_ROWS_BEYOND, .column_limit = cols, .slack = true};
        status = dcsr_i_rewrite(&cut, matrix, next, next->version, &selection);
    }
    if (status != DCSR_OK) {
        dcsr_i_limbo_free(matrix, limbo);
        dcsr_i_free_unshared(matrix, next, base);
        return status;
    }
    if (cut.table) {
        /* What was made for `next` and replaced again is in the second limbo list; of `next` only the root is
         * left. */
        limbo->next = cut.limbo;
        dcsr_i_table_free(matrix, next);
        next = cut.table;
    }
    dcsr_i_twin_resize(matrix, rows, cols);
    dcsr_i_publish(matrix, next, limbo);
    return DCSR_OK;
}

/* ---- Growing ---- */

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

dcsr_status dcsr_i_grow_for(const dcsr_matrix *matrix, dcsr_i_entries *e)
{
    if (!matrix->grow || e->kind != DCSR_I_INSERT || e->on_device || !e->n) return DCSR_OK;
    const dcsr_i_packed largest = {.rows = matrix->transpose.maintained ? DCSR_MAX_COLS : DCSR_MAX_ROWS,
                                   .cols = DCSR_MAX_COLS};
    uint64_t row = 0, col = 0;
    for (uint64_t i = 0; i < e->n; i++) {
        row = larger(row, e->rows[i]);
        col = larger(col, e->cols[i]);
    }
    if (row >= largest.rows || col >= largest.cols) return dcsr_i_entries_fail(&largest, e);
    e->rows_needed = row + 1;
    e->cols_needed = col + 1;
    return DCSR_OK;
}

void dcsr_i_grown(const dcsr_matrix *matrix, const dcsr_i_entries *e, uint64_t *rows, uint64_t *cols)
{
    *rows = larger(matrix->queue.rows, e->rows_needed);
    *cols = larger(matrix->queue.cols, e->cols_needed);
}

dcsr_status dcsr_i_grow_ahead(dcsr_matrix *matrix, const dcsr_i_packed *batch)
{
    if (!batch->n || (batch->rows <= matrix->queue.rows && batch->cols <= matrix->queue.cols)) return DCSR_OK;
    dcsr_i_operation *operation = dcsr_i_operation_create(matrix, DCSR_I_RESIZE);
    if (!operation) return DCSR_ERROR_OUT_OF_MEMORY;
    operation->resize.rows = batch->rows;
    operation->resize.cols = batch->cols;
    operation->resize.grows = true;
    operation->outcome.watched = true; /* the batch tells of a failure */
    dcsr_status status = dcsr_i_enqueue_locked(matrix, operation);
    if (status != DCSR_OK) {
        dcsr_i_operation_release(operation);
        return status;
    }
    matrix->queue.rows = batch->rows;
    matrix->queue.cols = batch->cols;
    return DCSR_OK;
}

void dcsr_i_settle_growth(const dcsr_matrix *matrix, dcsr_i_operation *operation)
{
    if (operation->kind != DCSR_I_RESIZE || !operation->resize.grows) return;
    operation->resize.rows = larger(operation->resize.rows, matrix->versions.current->rows);
    operation->resize.cols = larger(operation->resize.cols, matrix->versions.current->cols);
}

/* defragment.c: bringing the segments of rows together.
 *
 * Whole: a prefix sum over row lengths gives every row its new place; rows are copied there in order, one
 * tight segment each, into blocks of their own; the blocks they leave are freed as a whole. No sort, no
 * comparison. Bytes moved: each entry is read and written once. Selected: only rows of several segments move,
 * into the ordinary space, with slack (rewrite.c). */
#include "dcsr/store.h"
#include <string.h>

typedef struct job {
    dcsr_matrix *matrix;
    const dcsr_i_table *base;
    dcsr_i_table *next;
    uint64_t pages;
    dcsr_i_run *runs;
    uint64_t run_count;
    bool doomed;
    dcsr_i_grave *grave;
} job;

static void lengths_of_page(const void *user, uint64_t p, uint32_t length[DCSR_I_PAGE_ROWS])
{
    const dcsr_i_row_page *page = dcsr_i_page(user, p);
    if (page) memcpy(length, page->length, sizeof page->length);
}

static dcsr_status bury(job *j)
{
    const dcsr_i_table *base = j->base;
    int most = j->matrix->segments_per_row;
    j->grave = dcsr_i_grave_create(j->matrix, j->pages * (1 + (uint64_t)most) + base->directories + 2);
    if (!j->grave) return DCSR_ERROR_OUT_OF_MEMORY;
    for (uint64_t d = 0; d < base->directories; d++)
        if (base->directory[d])
            dcsr_i_bury(j->grave, DCSR_I_DIRECTORY, base->directory[d]->born, base->directory[d], 0);
    for (uint64_t p = 0; p < j->pages; p++) {
        const dcsr_i_row_page *page = dcsr_i_page(base, p);
        if (!page) continue;
        dcsr_i_bury_page(j->grave, j->matrix, page);
    }
    /* Born 0: some version may see any part of the runs, so they go after the last of them. */
    dcsr_i_bury(j->grave, DCSR_I_RUNS, 0, j->runs, j->run_count);
    return DCSR_OK;
}

/* Copies the rows of one page behind each other. Neighbouring pieces that already lie so are copied as one.
 */
static void move_page(const job *j, uint64_t p)
{
    const dcsr_i_row_page *old = dcsr_i_page(j->base, p), *fresh = dcsr_i_page(j->next, p);
    if (!fresh) return;
    uint64_t to = fresh->segment[0]->begin[0], from = 0, joined = 0;
    for (unsigned r = 0; r < DCSR_I_PAGE_ROWS; r++) {
        dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
        int count = dcsr_i_row_pieces(old, r, pieces);
        for (int k = 0; k < count; k++) {
            if (pieces[k].begin != from + joined) {
                dcsr_i_copy_entries(j->matrix, to, from, joined);
                to += joined;
                from = pieces[k].begin;
                joined = 0;
            }
            joined += pieces[k].length;
        }
    }
    dcsr_i_copy_entries(j->matrix, to, from, joined);
}

static bool is_tight(const dcsr_i_table *table)
{
    if (!table->contiguous) return false;
    for (uint64_t p = 0, pages = dcsr_i_page_count(table); p < pages; p++) {
        const dcsr_i_row_page *page = dcsr_i_page(table, p);
        if (page) return page->packed;
    }
    return true;
}

static dcsr_status defragment_whole(dcsr_matrix *matrix)
{
    /* Lengths must be final before they can be summed. */
    DCSR_TRY(dcsr_i_apply_settle(matrix));
    job j = {.matrix = matrix, .base = matrix->current};
    if (is_tight(j.base)) return DCSR_OK;
    j.pages = dcsr_i_page_count(j.base);
    dcsr_status status = dcsr_i_arena_doom(&matrix->arena, &j.runs, &j.run_count);
    j.doomed = status == DCSR_OK;
    if (status == DCSR_OK) status = bury(&j);
    if (status == DCSR_OK)
        status = dcsr_i_tight_table(&j.next, matrix, j.base->rows, j.base->cols, j.base->version + 1,
                                    lengths_of_page, j.base);
    if (status == DCSR_OK) {
        int threads = dcsr_i_threads(matrix->context, j.base->stored);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 32) if (threads > 1)
        for (uint64_t p = 0; p < j.pages; p++) move_page(&j, p);
        dcsr_i_row_pages_drain(matrix);
        dcsr_i_publish(matrix, j.next, j.grave);
    } else {
        dcsr_i_grave_free(matrix, j.grave);
        if (j.doomed) {
            dcsr_i_arena_spare(&matrix->arena, j.runs, j.run_count);
            dcsr_i_free(matrix->context, DCSR_I_MATRIX, j.runs, j.run_count, sizeof *j.runs);
        }
    }
    return status;
}

static uint64_t rows_worth_moving(const dcsr_i_rows *rows, const dcsr_i_row_page *page, const void *user)
{
    return dcsr_i_fragmented_rows(rows, page, user) | dcsr_i_unresolved_rows(rows, page, user);
}

static dcsr_status defragment_selected(dcsr_matrix *matrix)
{
    dcsr_i_selection selection = {.rows_of = rows_worth_moving, .column_limit = DCSR_MAX_COLS, .slack = true};
    dcsr_i_rewritten result;
    const dcsr_i_table *base = matrix->current;
    DCSR_TRY(dcsr_i_rewrite(&result, matrix, base, base->version + 1, &selection));
    if (result.table) dcsr_i_publish(matrix, result.table, result.grave);
    return DCSR_OK;
}

dcsr_status dcsr_i_apply_defragment(dcsr_matrix *matrix, dcsr_defragment_scope scope)
{
    DCSR_TRY(scope == DCSR_DEFRAGMENT_WHOLE ? defragment_whole(matrix) : defragment_selected(matrix));
    atomic_store(&matrix->extra_reads, 0);
    atomic_fetch_add(&matrix->defragmentations, 1);
    return DCSR_OK;
}

/* ---- When it is worth it ----
 *
 * Costs are counted in entries read in passing. Walking a further segment of a row costs a jump to another
 * place and a loop that starts anew; moving an entry reads and writes it. When what readers have paid for
 * jumps has reached what moving costs, moving pays from then on; paying as much again at most is the price of
 * not knowing the future. */
enum { JUMP_COST = 12, MOVE_COST = 4 };

/* Space may be taken by slack, deleted entries and what moved rows left in blocks still in use: up to this
 * many times what is stored, beyond a small matrix's worth. */
enum { MOST_SPACE = 3, SMALL_SPACE = 1 << 18 };

/* Of what is stored, one in this many may be a tombstone. */
enum { TOMBSTONE_SHARE = 4 };

void dcsr_i_was_read(dcsr_matrix *matrix, const dcsr_i_table *table)
{
    if (!table->extra_segments) return;
    uint64_t reads = atomic_fetch_add(&matrix->extra_reads, table->extra_segments) + table->extra_segments;
    if (reads * JUMP_COST < table->stored * MOVE_COST) return;
    /* With few rows fragmented only those are moved. */
    dcsr_i_request_maintenance(matrix, DCSR_I_DEFRAGMENT,
                               table->extra_segments * 8 < table->rows ? DCSR_DEFRAGMENT_SELECTED
                                                                       : DCSR_DEFRAGMENT_WHOLE);
}

void dcsr_i_was_resolved(dcsr_matrix *matrix, uint64_t entries)
{
    /* The second view that has to do the same work is one too many: the store should. */
    if (atomic_fetch_add(&matrix->resolve_reads, entries) >= entries)
        dcsr_i_request_maintenance(matrix, DCSR_I_SETTLE, DCSR_DEFRAGMENT_SELECTED);
}

void dcsr_i_changed(dcsr_matrix *matrix, uint64_t deletions)
{
    uint64_t stored = matrix->current->stored, held = dcsr_i_arena_held(&matrix->arena);
    deletions += atomic_fetch_add(&matrix->unsettled_deletions, deletions);
    if (held > MOST_SPACE * stored + SMALL_SPACE)
        dcsr_i_request_maintenance(matrix, DCSR_I_DEFRAGMENT, DCSR_DEFRAGMENT_WHOLE);
    else if (deletions > SMALL_SPACE / 16 && deletions > stored / TOMBSTONE_SHARE)
        dcsr_i_request_maintenance(matrix, DCSR_I_SETTLE, DCSR_DEFRAGMENT_SELECTED);
}

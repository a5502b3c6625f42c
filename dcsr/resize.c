/* resize.c: changing the dimensions.
 *
 * Growing copies the root of the table, nothing else. Shrinking rows drops whole pages and clears the rest of
 * the page that the new last row is in; shrinking columns rewrites the rows that reach beyond (rewrite.c).
 * Both together are one change. */
#include "dcsr/twin.h"
#include <string.h>

/* What is counted per row, of the rows from `first` on of a page. */
typedef struct dropped {
    uint64_t ranges, stored, extra, duplicates, tombstones;
} dropped;

static uint64_t mask_from(unsigned first)
{
    return first < DCSR_I_PAGE_ROWS ? UINT64_MAX << first : 0;
}

static void count_dropped(const dcsr_matrix *matrix, const dcsr_i_row_page *page, unsigned first,
                          dropped *sum)
{
    for (unsigned r = first; r < DCSR_I_PAGE_ROWS; r++) {
        dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
        int count = dcsr_i_row_pieces(page, r, pieces);
        sum->stored += page->length[r];
        sum->extra += count > 1 ? (uint64_t)count - 1 : 0;
        sum->ranges += (uint64_t)dcsr_i_segments_of(matrix, page, r, pieces);
    }
    sum->duplicates += (uint64_t)__builtin_popcountll(page->duplicates & mask_from(first));
    sum->tombstones += (uint64_t)__builtin_popcountll(page->tombstones & mask_from(first));
}

static void bury_ranges(dcsr_matrix *matrix, dcsr_i_grave *grave, const dcsr_i_row_page *page, unsigned first)
{
    for (unsigned r = first; r < DCSR_I_PAGE_ROWS; r++) {
        dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
        int count = dcsr_i_segments_of(matrix, page, r, pieces);
        for (int k = 0; k < count; k++)
            dcsr_i_bury_range(grave, &matrix->arena, pieces[k].begin, pieces[k].length);
    }
}

/* A copy of the page without the rows from `first` on, in *made, which is freed by its maker also on failure.
 */
static dcsr_status cut_page(dcsr_i_row_page **made, dcsr_matrix *matrix, const dcsr_i_row_page *old,
                            unsigned first, uint64_t version)
{
    dcsr_i_row_page *page = *made = dcsr_i_row_page_create(matrix, old, version);
    if (!page) return DCSR_ERROR_OUT_OF_MEMORY;
    if (!dcsr_i_own_segment_pages(matrix, page, old, version)) return DCSR_ERROR_OUT_OF_MEMORY;
    for (int k = 0; k < matrix->segments_per_row && page->segment[k]; k++)
        memset(page->segment[k]->capacity + first, 0, (DCSR_I_PAGE_ROWS - first) * sizeof(uint32_t));
    memset(page->length + first, 0, (DCSR_I_PAGE_ROWS - first) * sizeof page->length[0]);
    page->fragmented &= ~mask_from(first);
    page->duplicates &= ~mask_from(first);
    page->tombstones &= ~mask_from(first);
    return DCSR_OK;
}

/* Pages of `base` from the one that row `rows` is in; the first of them keeps `first` rows. */
typedef struct tail {
    uint64_t page, pages;
    unsigned first;
} tail;

static tail tail_of(const dcsr_i_table *base, uint64_t rows)
{
    return (tail){.page = rows >> DCSR_I_PAGE_SHIFT,
                  .pages = dcsr_i_page_count(base),
                  .first = (unsigned)(rows & (DCSR_I_PAGE_ROWS - 1))};
}

/* Puts the cut page into the last directory of `next`, which gets its own copy without the pages behind. */
static dcsr_status cut_directory(dcsr_i_table *next, dcsr_matrix *matrix, const dcsr_i_table *base,
                                 const tail *t)
{
    uint64_t d = t->page >> DCSR_I_DIRECTORY_SHIFT, slot = t->page & (DCSR_I_DIRECTORY_PAGES - 1);
    if (d >= next->directories || !base->directory[d]) return DCSR_OK;
    dcsr_i_directory *directory = dcsr_i_directory_create(matrix, base->directory[d], next->version);
    if (!directory) return DCSR_ERROR_OUT_OF_MEMORY;
    next->directory[d] = directory;
    const dcsr_i_row_page *old = directory->page[slot];
    memset(directory->page + slot, 0, (DCSR_I_DIRECTORY_PAGES - slot) * sizeof directory->page[0]);
    return t->first && old ? cut_page(&directory->page[slot], matrix, old, t->first, next->version) : DCSR_OK;
}

static dcsr_status shrink_rows(dcsr_i_table *next, dcsr_i_grave **grave, dcsr_matrix *matrix,
                               const dcsr_i_table *base)
{
    tail t = tail_of(base, next->rows);
    dropped sum = {0};
    uint64_t parts = base->directories + 1;
    for (uint64_t p = t.page; p < t.pages; p++) {
        const dcsr_i_row_page *page = dcsr_i_page(base, p);
        if (!page) continue;
        count_dropped(matrix, page, p == t.page ? t.first : 0, &sum);
        parts += 1 + (uint64_t)matrix->segments_per_row;
    }
    *grave = dcsr_i_grave_create(matrix, parts + sum.ranges);
    if (!*grave) return DCSR_ERROR_OUT_OF_MEMORY;
    DCSR_TRY(cut_directory(next, matrix, base, &t));
    for (uint64_t p = t.page; p < t.pages; p++) {
        const dcsr_i_row_page *page = dcsr_i_page(base, p);
        if (!page) continue;
        bury_ranges(matrix, *grave, page, p == t.page ? t.first : 0);
        dcsr_i_bury_page(*grave, matrix, page);
    }
    for (uint64_t d = 0; d < base->directories; d++)
        if (base->directory[d] && (d >= next->directories || next->directory[d] != base->directory[d]))
            dcsr_i_bury(*grave, DCSR_I_DIRECTORY, base->directory[d]->born, base->directory[d], 0);
    next->stored -= sum.stored;
    next->extra_segments -= sum.extra;
    next->duplicate_rows -= sum.duplicates;
    next->tombstone_rows -= sum.tombstones;
    return DCSR_OK;
}

dcsr_status dcsr_i_apply_resize(dcsr_matrix *matrix, uint64_t rows, uint64_t cols)
{
    const dcsr_i_table *base = matrix->current;
    if (rows == base->rows && cols == base->cols) return DCSR_OK;
    dcsr_i_table *next = dcsr_i_table_copy(matrix, base, rows, cols);
    if (!next) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_i_grave *grave = NULL;
    dcsr_i_rewritten cut = {0};
    dcsr_status status = DCSR_OK;
    if (rows < base->rows) {
        status = shrink_rows(next, &grave, matrix, base);
    } else {
        grave = dcsr_i_grave_create(matrix, 1);
        if (!grave) status = DCSR_ERROR_OUT_OF_MEMORY;
        next->contiguous = base->contiguous;
        next->first = base->first;
    }
    if (status == DCSR_OK && cols < base->cols) {
        dcsr_i_selection selection = {.kind = DCSR_I_ROWS_BEYOND, .column_limit = cols, .slack = true};
        status = dcsr_i_rewrite(&cut, matrix, next, next->version, &selection);
    }
    if (status != DCSR_OK) {
        dcsr_i_grave_free(matrix, grave);
        dcsr_i_free_unshared(matrix, next, base);
        return status;
    }
    if (cut.table) {
        /* What was made for `next` and replaced again is in the second grave; of `next` only the root is
         * left. */
        grave->next = cut.grave;
        dcsr_i_table_free(matrix, next);
        next = cut.table;
    }
    dcsr_i_twin_resize(matrix, rows, cols);
    dcsr_i_publish(matrix, next, grave);
    return DCSR_OK;
}

/* table_walk.c: going over the pages of row tables that are there: what is missing, or shared
 * by two of them, is skipped by the directory and by the shelf. */
#include "dcsr/store/store.h"

const dcsr_i_row_page *dcsr_i_next_page(const dcsr_i_table *table, uint64_t *p)
{
    const uint64_t pages = dcsr_i_page_count(table);
    uint64_t at = *p;
    while (at < pages) {
        const dcsr_i_shelf *shelf = table->shelf[at >> DCSR_I_SHELF_SHIFT];
        if (!shelf) {
            at = ((at >> DCSR_I_SHELF_SHIFT) + 1) << DCSR_I_SHELF_SHIFT;
            continue;
        }
        const dcsr_i_directory *directory =
            shelf->directory[at >> DCSR_I_DIRECTORY_SHIFT & (DCSR_I_SHELF_DIRECTORIES - 1)];
        uint64_t end = ((at >> DCSR_I_DIRECTORY_SHIFT) + 1) << DCSR_I_DIRECTORY_SHIFT;
        for (; directory && at < end && at < pages; at++) {
            const dcsr_i_row_page *page = directory->page[at & (DCSR_I_DIRECTORY_PAGES - 1)];
            if (!page) continue;
            *p = at;
            return page;
        }
        at = end;
    }
    *p = pages;
    return NULL;
}

/* The shelf and the directory of page p; NULL where the table has none, or ends before it. */
static const dcsr_i_shelf *shelf_at(const dcsr_i_table *table, uint64_t p)
{
    return p >> DCSR_I_SHELF_SHIFT < table->shelves ? table->shelf[p >> DCSR_I_SHELF_SHIFT] : NULL;
}

static const dcsr_i_directory *directory_at(const dcsr_i_table *table, uint64_t p)
{
    return p >> DCSR_I_DIRECTORY_SHIFT < table->directories ? dcsr_i_directory_of(table, p) : NULL;
}

/* A page of a directory that may be NULL, or end before it. */
static const dcsr_i_row_page *page_in(const dcsr_i_directory *directory, uint64_t i)
{
    return directory && i < directory->pages ? directory->page[i] : NULL;
}

/* The first page behind the shelf or the directory, as the shift says, that has page p. */
static uint64_t behind(uint64_t p, int shift)
{
    return ((p >> shift) + 1) << shift;
}

uint64_t dcsr_i_next_unshared_page(const dcsr_i_table *a, const dcsr_i_table *b, uint64_t p)
{
    const uint64_t in_a = dcsr_i_page_count(a), in_b = dcsr_i_page_count(b),
                   pages = in_a > in_b ? in_a : in_b;
    while (p < pages) {
        if (shelf_at(a, p) == shelf_at(b, p)) {
            p = behind(p, DCSR_I_SHELF_SHIFT);
            continue;
        }
        const dcsr_i_directory *of_a = directory_at(a, p), *of_b = directory_at(b, p);
        const uint64_t end = behind(p, DCSR_I_DIRECTORY_SHIFT);
        for (; of_a != of_b && p < end; p++) {
            uint64_t i = p & (DCSR_I_DIRECTORY_PAGES - 1);
            if (page_in(of_a, i) != page_in(of_b, i)) return p;
        }
        p = end;
    }
    return pages;
}

static bool has_entries(const dcsr_i_rows *rows, uint64_t p)
{
    uint64_t first = p << DCSR_I_PAGE_SHIFT, left = rows->rows - first;
    return rows->offsets[first] != rows->offsets[first + (left < DCSR_I_PAGE_ROWS ? left : DCSR_I_PAGE_ROWS)];
}

/* The number of the next page to be listed, from p on. */
static uint64_t next_listed(const dcsr_i_rows *rows, uint64_t p)
{
    if (rows->table) return dcsr_i_rows_next_page(rows, p);
    while (p < dcsr_i_rows_pages(rows) && !has_entries(rows, p)) p++;
    return p;
}

dcsr_status dcsr_i_page_list_create(dcsr_i_page_list *list, dcsr_context *context, const dcsr_i_rows *rows)
{
    const uint64_t pages = dcsr_i_rows_pages(rows);
    uint64_t count = 0;
    for (uint64_t p = 0; (p = next_listed(rows, p)) < pages; p++) count++;
    list->page = dcsr_i_alloc(context, DCSR_I_SCRATCH, count, sizeof *list->page);
    list->count = 0;
    list->capacity = count;
    if (!list->page) return DCSR_ERROR_OUT_OF_MEMORY;
    for (uint64_t p = 0; (p = next_listed(rows, p)) < pages; p++) list->page[list->count++] = (uint32_t)p;
    return DCSR_OK;
}

void dcsr_i_page_list_free(dcsr_i_page_list *list, dcsr_context *context)
{
    dcsr_i_free(context, DCSR_I_SCRATCH, list->page, list->capacity, sizeof *list->page);
}

dcsr_i_rows dcsr_i_rows_of(const dcsr_matrix *matrix, const dcsr_i_table *table)
{
    return (dcsr_i_rows){.type = matrix->type,
                         .rows = table->rows,
                         .cols = table->cols,
                         .table = table,
                         .columns = table->home ? table->home->columns : matrix->arena.columns,
                         .values = table->home ? table->home->values : matrix->arena.values};
}

int dcsr_i_segments_of(const dcsr_matrix *matrix, const dcsr_i_row_page *page, unsigned r,
                       dcsr_i_piece pieces[DCSR_MAX_SEGMENTS])
{
    if (dcsr_i_is_shared(matrix, page->born)) return dcsr_i_row_pieces(page, r, pieces);
    int count = 0;
    for (; count < matrix->segments_per_row && page->segment[count]; count++) {
        const uint64_t capacity = dcsr_i_capacity_of(page, count, r);
        if (!capacity) break;
        pieces[count] = (dcsr_i_piece){dcsr_i_begin_of(page, count, r), capacity};
    }
    return count;
}

bool dcsr_i_page_is_tight(const dcsr_matrix *matrix, const dcsr_i_row_page *page)
{
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    for (unsigned r = 0; r < DCSR_I_PAGE_ROWS; r++) {
        const int count = dcsr_i_segments_of(matrix, page, r, pieces);
        if (count > 1 || (count ? pieces[0].length : 0) != page->length[r]) return false;
    }
    return true;
}

/* table.c: the parts of row tables (rowtable.h): making, copying and freeing them. */
#include "dcsr/store/store.h"
#include <assert.h>
#include <string.h>

/* Whether the one shelf of a table of so many directories is part of the root. */
static bool has_shelf_inside(uint64_t directories)
{
    return directories <= DCSR_I_SHELF_DIRECTORIES;
}

static uint64_t shelves_for(uint64_t directories)
{
    return has_shelf_inside(directories) ? 1 : (directories - 1) / DCSR_I_SHELF_DIRECTORIES + 1;
}

static size_t table_size(uint64_t directories)
{
    return sizeof(dcsr_i_table) + shelves_for(directories) * sizeof(dcsr_i_shelf *) +
           (has_shelf_inside(directories) ? directories * sizeof(dcsr_i_directory *) : 0);
}

/* How many directories a shelf of a table has. */
static uint64_t directories_on(const dcsr_i_table *table, uint64_t shelf)
{
    uint64_t left = table->directories - shelf * DCSR_I_SHELF_DIRECTORIES;
    return left < DCSR_I_SHELF_DIRECTORIES ? left : DCSR_I_SHELF_DIRECTORIES;
}

/* A shelf of a table that may be NULL, or have fewer. */
static dcsr_i_shelf *shelf_of(const dcsr_i_table *table, uint64_t shelf)
{
    return table && shelf < table->shelves ? table->shelf[shelf] : NULL;
}

/* A directory of a shelf, which may be NULL, of a table. */
static dcsr_i_directory *directory_on(const dcsr_i_table *table, uint64_t shelf, uint64_t d)
{
    const dcsr_i_shelf *on = shelf_of(table, shelf);
    return on && d < directories_on(table, shelf) ? on->directory[d] : NULL;
}

static size_t row_page_size(const dcsr_matrix *matrix)
{
    return sizeof(dcsr_i_row_page) + (size_t)matrix->segments_per_row * sizeof(dcsr_i_segment_page *);
}

static uint64_t directories_for(uint64_t rows)
{
    const uint64_t pages = (rows + DCSR_I_PAGE_ROWS - 1) / DCSR_I_PAGE_ROWS;
    return (pages + DCSR_I_DIRECTORY_PAGES - 1) / DCSR_I_DIRECTORY_PAGES;
}

/* Makes memory of table_size(directories_for(rows)), all zeros, an empty table. */
static dcsr_i_table *make_table(dcsr_i_table *table, const dcsr_matrix *matrix, uint64_t rows, uint64_t cols,
                                uint64_t version)
{
    const uint64_t directories = directories_for(rows);
    table->rows = rows;
    table->cols = cols;
    table->version = version;
    table->given = UINT64_MAX - 1;
    table->directories = directories;
    table->shelves = shelves_for(directories);
    if (has_shelf_inside(directories)) table->shelf[0] = (dcsr_i_shelf *)(table->shelf + 1);
    table->segments_per_row = matrix->segments_per_row;
    return table;
}

dcsr_i_table *dcsr_i_table_create(dcsr_matrix *matrix, uint64_t rows, uint64_t cols, uint64_t version)
{
    const size_t size = table_size(directories_for(rows));
    dcsr_i_table *table = dcsr_i_part_create(matrix, size);
    if (!table) return NULL;
    memset(table, 0, size);
    return make_table(table, matrix, rows, cols, version);
}

size_t dcsr_i_first_table_bytes(uint64_t rows)
{
    return directories_for(rows) <= 1 ? table_size(directories_for(rows)) : 0;
}

/* Where it is. */
static dcsr_i_table *inner_table(dcsr_matrix *matrix)
{
    return matrix->inner_bytes ? (dcsr_i_table *)(matrix + 1) : NULL;
}

dcsr_i_table *dcsr_i_first_table(dcsr_matrix *matrix, uint64_t rows, uint64_t cols)
{
    dcsr_i_table *inner = inner_table(matrix);
    return inner ? make_table(inner, matrix, rows, cols, 1) : dcsr_i_table_create(matrix, rows, cols, 1);
}

/* A shelf of its own, with the first n directories of another, which may be NULL. */
static dcsr_i_shelf *shelf_create(dcsr_matrix *matrix, const dcsr_i_shelf *from, uint64_t n, uint64_t version)
{
    dcsr_i_shelf *shelf = dcsr_i_part_create(matrix, sizeof *shelf);
    if (!shelf) return NULL;
    if (!from) n = 0;
    if (n) memcpy(shelf->directory, from->directory, n * sizeof shelf->directory[0]);
    memset(shelf->directory + n, 0, (DCSR_I_SHELF_DIRECTORIES - n) * sizeof shelf->directory[0]);
    shelf->born = version;
    return shelf;
}

static size_t directory_size(uint64_t pages)
{
    return offsetof(dcsr_i_directory, page) + pages * sizeof(dcsr_i_row_page *);
}

/* How many pages the directories of a table have: an only one gets some, doubling, so that rows may be added. */
static uint64_t directory_pages(const dcsr_i_table *table)
{
    uint64_t pages = 8;
    if (table->directories > 1) return DCSR_I_DIRECTORY_PAGES;
    while (pages < dcsr_i_page_count(table)) pages *= 2;
    return pages;
}

/* A directory for a table, with the pages of another that has as many, more or fewer, or is NULL. */
static dcsr_i_directory *directory_create(dcsr_matrix *matrix, const dcsr_i_table *table,
                                          const dcsr_i_directory *from)
{
    uint64_t pages = directory_pages(table), shared = from && from->pages < pages ? from->pages : pages;
    dcsr_i_directory *directory = dcsr_i_part_create(matrix, directory_size(pages));
    if (!directory) return NULL;
    if (!from) shared = 0;
    if (shared) memcpy(directory->page, from->page, shared * sizeof from->page[0]);
    memset(directory->page + shared, 0, (pages - shared) * sizeof directory->page[0]);
    directory->born = from ? from->born : table->version;
    directory->pages = pages;
    return directory;
}

/* Where an only directory is shorter than the table needs, which has more rows than the one it shares it with, it is
 * replaced by a longer one. */
static bool lengthen_directory(dcsr_matrix *matrix, dcsr_i_table *table)
{
    dcsr_i_directory **first = table->directories && table->shelf[0] ? &table->shelf[0]->directory[0] : NULL;
    if (!first || !*first || (*first)->pages >= directory_pages(table)) return true;
    dcsr_i_directory *longer = directory_create(matrix, table, *first);
    if (longer && dcsr_i_is_shared(matrix, longer->born)) longer->born = table->version;
    if (longer) *first = longer;
    return longer != NULL;
}

/* Shares the directories that both have room for: whole shelves, but for one that is part of a root, or has
 * directories behind the copy's last one. */
static bool share_directories(dcsr_matrix *matrix, dcsr_i_table *copy, const dcsr_i_table *table)
{
    uint64_t shared = copy->directories < table->directories ? copy->directories : table->directories;
    for (uint64_t s = 0; s * DCSR_I_SHELF_DIRECTORIES < shared; s++) {
        dcsr_i_shelf *from = table->shelf[s];
        uint64_t n = shared - s * DCSR_I_SHELF_DIRECTORIES;
        if (n > DCSR_I_SHELF_DIRECTORIES) n = DCSR_I_SHELF_DIRECTORIES;
        if (!from) continue;
        if (has_shelf_inside(copy->directories)) {
            memcpy(copy->shelf[0]->directory, from->directory, n * sizeof from->directory[0]);
        } else if (!has_shelf_inside(table->directories) &&
                   (n == DCSR_I_SHELF_DIRECTORIES || copy->directories >= table->directories)) {
            copy->shelf[s] = from;
        } else {
            copy->shelf[s] = shelf_create(matrix, from, n, copy->version);
            if (!copy->shelf[s]) return false;
        }
    }
    return true;
}

dcsr_i_table *dcsr_i_table_copy(dcsr_matrix *matrix, const dcsr_i_table *table, uint64_t rows, uint64_t cols)
{
    dcsr_i_table *copy = dcsr_i_table_create(matrix, rows, cols, table->version + 1);
    if (!copy) return NULL;
    copy->stored = table->stored;
    copy->extra_segments = table->extra_segments;
    copy->duplicate_rows = table->duplicate_rows;
    copy->tombstone_rows = table->tombstone_rows;
    if (share_directories(matrix, copy, table) && lengthen_directory(matrix, copy)) return copy;
    dcsr_i_free_unshared(matrix, copy, table);
    return NULL;
}

void dcsr_i_table_free(dcsr_matrix *matrix, dcsr_i_table *table)
{
    if (!table) return;
    dcsr_i_home_free(matrix->context, table->home, matrix->value_size);
    if (table != inner_table(matrix)) dcsr_i_part_free(matrix, table, table_size(table->directories));
}

dcsr_i_row_page **dcsr_i_page_slot(dcsr_matrix *matrix, dcsr_i_table *table, const dcsr_i_table *base,
                                   uint64_t p, dcsr_i_limbo *limbo)
{
    uint64_t s = p >> DCSR_I_SHELF_SHIFT, d = p >> DCSR_I_DIRECTORY_SHIFT & (DCSR_I_SHELF_DIRECTORIES - 1);
    dcsr_i_shelf *shelf = table->shelf[s], *base_shelf = shelf_of(base, s);
    if (!shelf || shelf == base_shelf) {
        shelf = shelf_create(matrix, base_shelf, base_shelf ? DCSR_I_SHELF_DIRECTORIES : 0, table->version);
        if (!shelf) return NULL;
        if (base_shelf && limbo) dcsr_i_retire(limbo, DCSR_I_SHELF, base_shelf->born, base_shelf, 0);
        table->shelf[s] = shelf;
    }
    dcsr_i_directory *directory = shelf->directory[d], *before = directory_on(base, s, d);
    if (!directory || directory == before) {
        directory = directory_create(matrix, table, before);
        if (!directory) return NULL;
        directory->born = table->version;
        if (before && limbo) dcsr_i_retire(limbo, DCSR_I_DIRECTORY, before->born, before, 0);
        shelf->directory[d] = directory;
    }
    return &directory->page[p & (DCSR_I_DIRECTORY_PAGES - 1)];
}

void dcsr_i_row_page_init(const dcsr_matrix *matrix, dcsr_i_row_page *page, const dcsr_i_row_page *from,
                          uint64_t version)
{
    if (from)
        memcpy(page, from, row_page_size(matrix));
    else
        memset(page, 0, row_page_size(matrix));
    if (!from) page->moved = version;
    page->born = version;
}

dcsr_i_row_page *dcsr_i_row_page_create(dcsr_matrix *matrix, const dcsr_i_row_page *from, uint64_t version)
{
    dcsr_i_row_page *page = dcsr_i_part_create(matrix, row_page_size(matrix));
    if (page) dcsr_i_row_page_init(matrix, page, from, version);
    return page;
}

/* Keeping spare pages only saves time, so running out of memory for their list is no failure. */
void dcsr_i_row_pages_expect(dcsr_matrix *matrix, uint64_t n)
{
    pthread_mutex_lock(&matrix->spare.lock);
    if (n > matrix->spare.page_capacity) {
        dcsr_i_row_page **larger = dcsr_i_realloc(matrix->context, DCSR_I_MATRIX, matrix->spare.pages,
                                                  matrix->spare.page_capacity, n, sizeof *larger);
        if (larger) {
            matrix->spare.pages = larger;
            matrix->spare.page_capacity = n;
        }
    }
    pthread_mutex_unlock(&matrix->spare.lock);
}

uint64_t dcsr_i_row_pages_take(dcsr_matrix *matrix, uint64_t n, dcsr_i_row_page **pages, size_t stride)
{
    pthread_mutex_lock(&matrix->spare.lock);
    uint64_t taken = n < matrix->spare.page_count ? n : matrix->spare.page_count;
    for (uint64_t i = 0; i < taken; i++)
        *(dcsr_i_row_page **)((char *)pages + i * stride) = matrix->spare.pages[--matrix->spare.page_count];
    pthread_mutex_unlock(&matrix->spare.lock);
    return taken;
}

void dcsr_i_row_pages_drain(dcsr_matrix *matrix)
{
    pthread_mutex_lock(&matrix->spare.lock);
    while (matrix->spare.page_count)
        dcsr_i_part_free(matrix, matrix->spare.pages[--matrix->spare.page_count], row_page_size(matrix));
    dcsr_i_free(matrix->context, DCSR_I_MATRIX, matrix->spare.pages, matrix->spare.page_capacity,
                sizeof *matrix->spare.pages);
    matrix->spare.pages = NULL;
    matrix->spare.page_capacity = 0;
    pthread_mutex_unlock(&matrix->spare.lock);
}

dcsr_i_segment_page *dcsr_i_segment_page_create(dcsr_matrix *matrix)
{
    dcsr_i_segment_page *page = dcsr_i_part_create(matrix, sizeof *page);
    if (page) memset(page, 0, sizeof *page);
    return page;
}

/* What a row has filled of its k-th segment. The last of several gets the next larger capacity where that cannot be
 * written: it has so many places, which are the origin's (dcsr_i_find_room()). An only one gets the next lower one
 * (segment.h). */
static dcsr_i_segment filled_segment(const dcsr_i_row_page *page, unsigned r, int k)
{
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS] = {{0}};
    dcsr_i_row_pieces(page, r, pieces);
    const uint64_t length = pieces[k].length;
    return dcsr_i_segment_of(pieces[k].begin, k ? dcsr_i_fitting_capacity(length) : length);
}

void dcsr_i_segments_copy(dcsr_i_segment_page *to, const dcsr_matrix *matrix, const dcsr_i_row_page *page,
                          int k)
{
    if (!dcsr_i_is_shared(matrix, page->born))
        *to = *page->segment[k];
    else
        for (unsigned r = 0; r < DCSR_I_PAGE_ROWS; r++) to->of[r] = filled_segment(page, r, k);
}

dcsr_i_segment_page *dcsr_i_segment_page_copy(dcsr_matrix *matrix, const dcsr_i_row_page *page, int k)
{
    dcsr_i_segment_page *copy = dcsr_i_part_create(matrix, sizeof *copy);
    if (copy) dcsr_i_segments_copy(copy, matrix, page, k);
    return copy;
}

bool dcsr_i_pages_create(dcsr_matrix *matrix, size_t n, dcsr_i_row_page **pages, uint64_t version)
{
    void *segments[DCSR_I_PAGES_AT_ONCE], *rows[DCSR_I_PAGES_AT_ONCE];
    if (!dcsr_i_parts_create(matrix, n, row_page_size(matrix), rows)) return false;
    if (!dcsr_i_parts_create(matrix, n, sizeof(dcsr_i_segment_page), segments)) {
        for (size_t i = 0; i < n; i++) dcsr_i_part_free(matrix, rows[i], row_page_size(matrix));
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        pages[i] = rows[i];
        dcsr_i_row_page_init(matrix, pages[i], NULL, version);
        pages[i]->segment[0] = segments[i];
    }
    return true;
}

/* What the origin has too is not freed here; likewise below. */
static void directory_free(dcsr_matrix *matrix, dcsr_i_directory *directory)
{
    if (directory && !dcsr_i_is_shared(matrix, directory->born))
        dcsr_i_part_free(matrix, directory, directory_size(directory->pages));
}

static void shelf_free(dcsr_matrix *matrix, dcsr_i_shelf *shelf)
{
    if (shelf && !dcsr_i_is_shared(matrix, shelf->born)) dcsr_i_part_free(matrix, shelf, sizeof *shelf);
}

void dcsr_i_row_page_free_locked(dcsr_matrix *matrix, dcsr_i_row_page *page)
{
    if (matrix->spare.page_count < matrix->spare.page_capacity)
        matrix->spare.pages[matrix->spare.page_count++] = page;
    else
        dcsr_i_part_free(matrix, page, row_page_size(matrix));
}

void dcsr_i_row_page_free(dcsr_matrix *matrix, dcsr_i_row_page *page)
{
    if (!page) return;
    pthread_mutex_lock(&matrix->spare.lock);
    dcsr_i_row_page_free_locked(matrix, page);
    pthread_mutex_unlock(&matrix->spare.lock);
}

void dcsr_i_segment_page_free(dcsr_matrix *matrix, dcsr_i_segment_page *page)
{
    dcsr_i_part_free(matrix, page, sizeof *page);
}

/* How many segment pages the rows of a mask need: one at least. */
static int levels_of(const dcsr_matrix *matrix, const dcsr_i_row_page *page, uint64_t rows)
{
    int levels = 1;
    for (; rows; rows &= rows - 1)
        while (levels < matrix->segments_per_row && page->segment[levels] &&
               page->segment[levels]->of[__builtin_ctzll(rows)].word)
            levels++;
    return levels;
}

bool dcsr_i_own_segment_pages(dcsr_matrix *matrix, dcsr_i_row_page *page, const dcsr_i_row_page *old,
                              uint64_t kept, uint64_t version)
{
    const int levels = kept == UINT64_MAX ? matrix->segments_per_row : levels_of(matrix, old, kept);
    memset(page->segment, 0, (size_t)matrix->segments_per_row * sizeof page->segment[0]);
    page->moved = version;
    for (int k = 0; k < levels && old->segment[k]; k++) {
        page->segment[k] = dcsr_i_segment_page_copy(matrix, old, k);
        if (!page->segment[k]) return false;
    }
    return true;
}

void dcsr_i_drop_segment_pages(dcsr_matrix *matrix, dcsr_i_row_page *page)
{
    for (int k = levels_of(matrix, page, UINT64_MAX); k < matrix->segments_per_row && page->segment[k]; k++) {
        dcsr_i_segment_page_free(matrix, page->segment[k]);
        page->segment[k] = NULL;
    }
}

void dcsr_i_page_free(dcsr_matrix *matrix, dcsr_i_row_page *page, const dcsr_i_row_page *base)
{
    for (int k = 0; page && k < matrix->segments_per_row; k++)
        if (page->segment[k] && (!base || page->segment[k] != base->segment[k]))
            dcsr_i_segment_page_free(matrix, page->segment[k]);
    dcsr_i_row_page_free(matrix, page);
}

/* ---- Retiring ---- */

uint64_t dcsr_i_retire_replaced(dcsr_i_limbo *limbo, const dcsr_i_table *base, const dcsr_i_table *table)
{
    uint64_t count = 0;
    for (uint64_t s = 0; s < base->shelves; s++) {
        dcsr_i_shelf *shelf = base->shelf[s];
        if (!shelf || shelf == shelf_of(table, s)) continue;
        for (uint64_t d = 0; d < directories_on(base, s); d++) {
            dcsr_i_directory *directory = shelf->directory[d];
            if (!directory || directory == directory_on(table, s, d)) continue;
            if (limbo) dcsr_i_retire(limbo, DCSR_I_DIRECTORY, directory->born, directory, 0);
            count++;
        }
        if (has_shelf_inside(base->directories)) continue;
        if (limbo) dcsr_i_retire(limbo, DCSR_I_SHELF, shelf->born, shelf, 0);
        count++;
    }
    return count;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Gives back the places of a page's rows, from row `first` of it on, that were born after version `seen`, and
 * not after `given`; returns the version that the first of them was born in. Nothing is given where these are
 * the same. */
static uint64_t give_places(dcsr_matrix *matrix, const dcsr_i_row_page *page, unsigned first, uint64_t seen,
                            uint64_t given)
{
    dcsr_i_arena *arena = &matrix->arena;
    uint64_t earliest = UINT64_MAX;
    for (unsigned r = first; r < DCSR_I_PAGE_ROWS; r++) {
        dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
        int count = dcsr_i_segments_of(matrix, page, r, pieces);
        for (int k = 0; k < count; k++) {
            uint64_t born = dcsr_i_arena_born(arena, pieces[k].begin, pieces[k].length);
            earliest = earlier(earliest, born);
            if (born > seen && born <= given) dcsr_i_arena_give(arena, pieces[k].begin, pieces[k].length);
        }
    }
    return earliest;
}

/* Row `row` of a page, where it is in that page; 0 in those behind. */
static unsigned first_row_in(uint64_t page, uint64_t row)
{
    return page == row >> DCSR_I_PAGE_SHIFT ? (unsigned)(row & (DCSR_I_PAGE_ROWS - 1)) : 0;
}

/* Asks for what is behind the lengths of a page some pages ahead, where it is of the same directory. */
DCSR_I_PREFETCH void prefetch_behind(const dcsr_i_table *table, uint64_t p)
{
    enum { AHEAD = 16 };
    const dcsr_i_directory *directory = dcsr_i_directory_of(table, p);
    uint64_t slot = (p & (DCSR_I_DIRECTORY_PAGES - 1)) + AHEAD;
    if (directory && slot < directory->pages && directory->page[slot])
        __builtin_prefetch(&directory->page[slot]->fragmented);
}

/* A table from a row on, and its root. */
static void retire_from(dcsr_i_limbo *limbo, dcsr_matrix *matrix, dcsr_i_table *table, uint64_t row,
                        bool places)
{
    const uint64_t first = row >> DCSR_I_PAGE_SHIFT;
    uint64_t born = table->version;
    for (uint64_t s = first >> DCSR_I_SHELF_SHIFT; s < table->shelves; s++) {
        const dcsr_i_shelf *shelf = table->shelf[s];
        if (!shelf) continue;
        if (!has_shelf_inside(table->directories)) born = earlier(born, shelf->born);
        for (uint64_t d = 0; d < directories_on(table, s); d++)
            if (shelf->directory[d]) born = earlier(born, shelf->directory[d]->born);
    }
    const dcsr_i_row_page *page;
    for (uint64_t p = first; (page = dcsr_i_next_page(table, &p)); p++) {
        prefetch_behind(table, p);
        born = earlier(born, page->moved);
        if (places) born = earlier(born, give_places(matrix, page, first_row_in(p, row), 0, 0));
    }
    dcsr_i_retire(limbo, places ? DCSR_I_TAIL : DCSR_I_PAGES, born, table, row);
    limbo->has_root = true;
}

void dcsr_i_retire_tail(dcsr_i_limbo *limbo, dcsr_matrix *matrix, dcsr_i_table *table,
                        const dcsr_i_table *next)
{
    retire_from(limbo, matrix, table, next->rows, true);
    /* The first shelf of a table of several, which the next has inside of its root, though it keeps all of
     * it: the tail begins behind it. */
    if (table->shelves > next->shelves && has_shelf_inside(next->directories) && table->shelf[0] &&
        next->rows >> DCSR_I_PAGE_SHIFT >> DCSR_I_SHELF_SHIFT)
        dcsr_i_retire(limbo, DCSR_I_SHELF, table->shelf[0]->born, table->shelf[0], 0);
}

void dcsr_i_retire_table(dcsr_i_limbo *limbo, dcsr_matrix *matrix, dcsr_i_table *table)
{
    retire_from(limbo, matrix, table, 0, false);
    if (!matrix->origin.hold) return;
    dcsr_i_retire(limbo, DCSR_I_ORIGIN, 0, matrix->origin.hold, 0);
    limbo->has_origin = true;
}

void dcsr_i_thin_tail(dcsr_matrix *matrix, const dcsr_i_retired *retired, uint64_t seen)
{
    dcsr_i_table *table = retired->pointer;
    const dcsr_i_row_page *page;
    for (uint64_t p = retired->size >> DCSR_I_PAGE_SHIFT; (page = dcsr_i_next_page(table, &p)); p++)
        give_places(matrix, page, first_row_in(p, retired->size), seen, table->given);
    table->given = seen;
}

/* Frees a page of a version that nobody sees any more, and its segment pages. With the lock of `spare`. */
static void free_old_page(dcsr_matrix *matrix, dcsr_i_row_page *page)
{
    if (dcsr_i_is_shared(matrix, page->born)) return;
    for (int k = 0; k < matrix->segments_per_row && page->segment[k]; k++)
        dcsr_i_segment_page_free(matrix, page->segment[k]);
    dcsr_i_row_page_free_locked(matrix, page);
}

/* A table from a row on, with the directories and shelves that those rows are of, and the root. */
static void free_tail(dcsr_matrix *matrix, dcsr_i_table *table, uint64_t row)
{
    const uint64_t first = row >> DCSR_I_PAGE_SHIFT, first_directory = first >> DCSR_I_DIRECTORY_SHIFT;
    const dcsr_i_row_page *page;
    for (uint64_t p = first; (page = dcsr_i_next_page(table, &p)); p++) {
        prefetch_behind(table, p);
        free_old_page(matrix, (dcsr_i_row_page *)page);
    }
    for (uint64_t s = first >> DCSR_I_SHELF_SHIFT; s < table->shelves; s++) {
        dcsr_i_shelf *shelf = table->shelf[s];
        for (uint64_t d = 0; shelf && d < directories_on(table, s); d++)
            if (s * DCSR_I_SHELF_DIRECTORIES + d >= first_directory)
                directory_free(matrix, shelf->directory[d]);
        if (!has_shelf_inside(table->directories)) shelf_free(matrix, shelf);
    }
    dcsr_i_table_free(matrix, table);
}

/* With its pages, but for what another, which may be NULL, has too. */
static void free_directory(dcsr_matrix *matrix, dcsr_i_directory *directory, const dcsr_i_directory *other)
{
    if (!directory || directory == other) return;
    for (uint64_t p = 0; p < directory->pages; p++) {
        const dcsr_i_row_page *old = other && p < other->pages ? other->page[p] : NULL;
        if (directory->page[p] && directory->page[p] != old)
            dcsr_i_page_free(matrix, directory->page[p], old);
    }
    directory_free(matrix, directory);
}

void dcsr_i_free_unshared(dcsr_matrix *matrix, dcsr_i_table *own, const dcsr_i_table *base)
{
    for (uint64_t s = 0; own && s < own->shelves; s++) {
        dcsr_i_shelf *shelf = own->shelf[s];
        if (!shelf || shelf == shelf_of(base, s)) continue;
        for (uint64_t d = 0; d < directories_on(own, s); d++)
            free_directory(matrix, shelf->directory[d], directory_on(base, s, d));
        if (!has_shelf_inside(own->directories)) shelf_free(matrix, shelf);
    }
    dcsr_i_table_free(matrix, own);
}

void dcsr_i_free_retired(dcsr_matrix *matrix, const dcsr_i_retired *retired)
{
    const bool single = retired->kind >= DCSR_I_SHELF && retired->kind <= DCSR_I_SEGMENT_PAGE;
    if (single && dcsr_i_is_shared(matrix, retired->born)) return;
    switch (retired->kind) {
    case DCSR_I_TABLE:
        dcsr_i_table_free(matrix, retired->pointer);
        break;
    case DCSR_I_TAIL:
        dcsr_i_thin_tail(matrix, retired, 0);
        free_tail(matrix, retired->pointer, retired->size);
        break;
    case DCSR_I_PAGES:
        free_tail(matrix, retired->pointer, 0);
        break;
    case DCSR_I_SHELF:
        shelf_free(matrix, retired->pointer);
        break;
    case DCSR_I_DIRECTORY:
        directory_free(matrix, retired->pointer);
        break;
    case DCSR_I_ROW_PAGE:
        dcsr_i_row_page_free_locked(matrix, retired->pointer);
        break;
    case DCSR_I_SEGMENT_PAGE:
        dcsr_i_segment_page_free(matrix, retired->pointer);
        break;
    case DCSR_I_RANGE:
        dcsr_i_arena_give(&matrix->arena, retired->begin, retired->size);
        break;
    case DCSR_I_EXTENT:
        dcsr_i_arena_free_extent(&matrix->arena, retired->begin, retired->size);
        break;
    default:
        assert(!"retired of another engine");
    }
}

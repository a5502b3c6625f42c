/* rowtable.h: where the entries of each row are (internal).
 *
 * One table per published version, immutable from then on, which shares pages with the versions before and
 * after:
 *
 *      table (version v)     shelf                 directory      row page: 64 rows     segment page k
 *      +------------------+  +----------------+    +----------+   +----------------+    +--------------+
 *      | rows, cols, ...  |  | directory[0] --|--->| page 0   |   | length[64]     | +->| of[64]: begin|
 *      | shelf[0] --------|->| directory[1]   |    | page 1 --|-->| segment[0] ----|-+  | and capacity |
 *      | shelf[1] ... 256 |  | ... 512        |    | ... 512  |   | segment[1] ... |    | in a word    |
 *      +------------------+  +----------------+    +----------+   | bit masks      |    +--------------+
 *                                                                 +----------------+
 *
 * A batch copies the pages it touches, their directories and shelves, and the root; all else is shared. A
 * table of up to 16 million rows has one shelf, which is part of the root and as long as it has to be, and so is a
 * table's only directory. So the
 * cost of a change depends on the pages that it touches, and the memory of a table on the pages in use, not
 * on the number of rows. Segment pages are appended to in place: a version in which the row's length ends
 * before segment k never reads that segment's slot. Only moving a row (rewriting, defragmentation) copies the
 * segment pages too.
 *
 * Row r of a page holds length[r] entries, in segment 0 first, then 1, ..., each filled to its capacity
 * before the next is used. Entry e of a segment is at arena index begin + e, its column in columns[], its
 * value in values[].
 *
 * A NULL shelf, directory or page stands for empty rows. A row takes 13 bytes: 4 (length) + 8 (its segment, segment.h)
 * + 1 (the rest of the page), and 8 for each further level of its page. */
#ifndef DCSR_ROWTABLE_H
#define DCSR_ROWTABLE_H

#include "dcsr/store/rowtable_cuda.h"
#include "dcsr/base/search.h"
#include "dcsr/base/threads.h"
#include <dcsr/view.h>
#include <string.h>

/* Of functions that only prefetch: gcc takes a call of one for a call without effect, unless it is inlined by force. */
#define DCSR_I_PREFETCH static inline __attribute__((always_inline))

enum {
    DCSR_I_PAGE_ROWS = 64,
    DCSR_I_PAGE_SHIFT = 6,
    DCSR_I_DIRECTORY_PAGES = 512,
    DCSR_I_DIRECTORY_SHIFT = 9,
    DCSR_I_SHELF_DIRECTORIES = 512,
    DCSR_I_SHELF_SHIFT = 18 /* 2^18 pages, 2^24 rows */
};

/* A stored column with this bit set is a tombstone: all earlier entries of that column in the row are
 * deleted. */
#define DCSR_I_TOMBSTONE 0x80000000u

typedef struct dcsr_i_segment_page {
    dcsr_i_segment of[DCSR_I_PAGE_ROWS];
} dcsr_i_segment_page;

typedef struct dcsr_i_row_page {
    uint32_t length[DCSR_I_PAGE_ROWS];
    uint64_t fragmented; /* bit r: row r has entries in more than one segment */
    uint64_t duplicates; /* bit r: row r may hold a column more than once */
    uint64_t tombstones; /* bit r: row r holds a tombstone */
    uint64_t
        ascending; /* bit r: what row r has in its first segment ascends strictly, and deletes nothing; 0: it is
                            not known. Of an empty row it says nothing. */
    uint64_t moved;                 /* no segment page of this page is older than this version */
    uint64_t born;                  /* the version that this page was made for */
    dcsr_i_segment_page *segment[]; /* K of them; NULL if no row of the page uses segment k */
} dcsr_i_row_page;

typedef struct dcsr_i_directory {
    uint64_t born;
    uint64_t pages; /* of its table at least; all 512 where the table has other directories */
    dcsr_i_row_page *page[];
} dcsr_i_directory;

typedef struct dcsr_i_shelf {
    dcsr_i_directory *directory[DCSR_I_SHELF_DIRECTORIES];
    uint64_t born;
} dcsr_i_shelf;

typedef struct dcsr_i_table {
    uint64_t version;
    dcsr_tag tag; /* of the last batch that had one, if it is */
    uint64_t rows, cols;
    uint64_t stored;         /* entries, duplicates and tombstones included */
    uint64_t extra_segments; /* segments in use beyond the first of each row */
    uint64_t duplicate_rows; /* rows whose bit is set in `duplicates`, in all pages */
    uint64_t tombstone_rows; /* likewise */
    uint64_t shelves, directories;
    int segments_per_row; /* K */
    bool tagged;
    bool contiguous; /* rows lie one behind the other in order, without gaps, from index `first` */
    uint64_t first;
    uint64_t given; /* of a replaced version: what it dropped of the arena has been freed, except for what
                       this version or an earlier one may see; guarded by the lock of the spare parts */
    struct dcsr_i_cuda_root *root; /* of a table on a device, which has no shelves */
    struct dcsr_i_home
        *home; /* of a view's table whose entries are not in the arena (rewrite.c), else NULL */
    /* A single shelf is part of the root: it ends with the table's last directory, and has no `born`. */
    dcsr_i_shelf *shelf[];
} dcsr_i_table;

/* What readers of entries use, for either layout: exactly one of table and offsets is not NULL.
 * dcsr_i_rows_pieces() gives the indices into columns and values, which are the arena or the arrays of a CSR
 * view. If the entries are on a device only `device` leads to them. */
typedef struct dcsr_i_rows {
    bool on_device;
    dcsr_i_cuda_rows device;
    dcsr_type type;
    uint64_t rows, cols;
    const dcsr_i_table *table; /* segments */
    const uint64_t *offsets;   /* CSR */
    const uint32_t *columns;
    const void *values; /* NULL for pattern */
} dcsr_i_rows;

static inline uint64_t dcsr_i_page_count(const dcsr_i_table *table)
{
    return (table->rows + DCSR_I_PAGE_ROWS - 1) >> DCSR_I_PAGE_SHIFT;
}

/* The directory of page p; NULL when all of its rows are empty. */
static inline dcsr_i_directory *dcsr_i_directory_of(const dcsr_i_table *table, uint64_t p)
{
    const dcsr_i_shelf *shelf = table->shelf[p >> DCSR_I_SHELF_SHIFT];
    return shelf ? shelf->directory[p >> DCSR_I_DIRECTORY_SHIFT & (DCSR_I_SHELF_DIRECTORIES - 1)] : NULL;
}

/* Page p of the table (rows 64 p to 64 p + 63); NULL when all of them are empty. */
static inline const dcsr_i_row_page *dcsr_i_page(const dcsr_i_table *table, uint64_t p)
{
    const dcsr_i_directory *directory = dcsr_i_directory_of(table, p);
    return directory ? directory->page[p & (DCSR_I_DIRECTORY_PAGES - 1)] : NULL;
}

/* The first page in use from p on, with *p set to its number; if there is none, NULL, with *p set to the
 * number of pages. To visit all pages in use:
 *
 *      for (uint64_t p = 0; (page = dcsr_i_next_page(table, &p)); p++) ...
 *
 * which costs O(those pages), plus the size of their directories and shelves. */
const dcsr_i_row_page *dcsr_i_next_page(const dcsr_i_table *table, uint64_t *p);
/* The first page from p on that two versions of one matrix, both held, do not share; if there is none, the
 * number of pages of the one that has more. What they share of shelves and directories is skipped as a whole. */
uint64_t dcsr_i_next_unshared_page(const dcsr_i_table *a, const dcsr_i_table *b, uint64_t p);

/* The numbers of the pages in use, for threads to share; for a CSR, of those that have entries. */
typedef struct dcsr_i_page_list {
    uint32_t *page;
    uint64_t count, capacity;
} dcsr_i_page_list;
dcsr_status dcsr_i_page_list_create(dcsr_i_page_list *list, dcsr_context *context,
                                    const struct dcsr_i_rows *rows);
void dcsr_i_page_list_free(dcsr_i_page_list *list, dcsr_context *context);

typedef struct dcsr_i_piece {
    uint64_t begin;
    uint64_t length;
} dcsr_i_piece;

/* Where segment k of row r of a page begins. */
static inline uint64_t dcsr_i_begin_of(const dcsr_i_row_page *page, int k, unsigned r)
{
    return dcsr_i_segment_begin(page->segment[k]->of[r]);
}

/* The places of segment k of row r of a page; 0: it has none. Of the first of a row that is in one segment, all of
 * them: dcsr_i_only_capacity(). */
static inline uint64_t dcsr_i_capacity_of(const dcsr_i_row_page *page, int k, unsigned r)
{
    const dcsr_i_segment segment = page->segment[k]->of[r];
    return k || page->fragmented >> r & 1 ? dcsr_i_segment_capacity(segment)
                                          : dcsr_i_only_capacity(segment, page->length[r]);
}

/* Whether row r of a page has to move before it grows (segment.h). */
static inline bool dcsr_i_row_is_rounded(const dcsr_i_row_page *page, unsigned r)
{
    return page->length[r] && !(page->fragmented >> r & 1) &&
           dcsr_i_is_rounded(page->segment[0]->of[r], page->length[r]);
}

/* Clears segments k and up of row r of a page that is being made. */
static inline void dcsr_i_clear_segments(dcsr_i_row_page *page, int k, unsigned r, int segments_per_row)
{
    for (; k < segments_per_row && page->segment[k]; k++) page->segment[k]->of[r] = (dcsr_i_segment){0};
}

/* The pieces of row r (0..63) of a page, in the order in which the entries were stored; returns their number
 * (0 for an empty row). Never reads slots of segments that the row's length does not reach: these may be
 * written meanwhile. */
static inline int dcsr_i_row_pieces(const dcsr_i_row_page *page, unsigned r,
                                    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS])
{
    uint64_t left = page->length[r];
    if (!left) return 0;
    if (!(page->fragmented >> r & 1)) {
        pieces[0] = (dcsr_i_piece){dcsr_i_begin_of(page, 0, r), left};
        return 1;
    }
    int k = 0;
    for (; left; k++) {
        const dcsr_i_segment segment = page->segment[k]->of[r];
        uint64_t capacity = dcsr_i_segment_capacity(segment);
        uint64_t take = left < capacity ? left : capacity;
        pieces[k] = (dcsr_i_piece){dcsr_i_segment_begin(segment), take};
        left -= take;
    }
    return k;
}

/* The first place from `i` on, before `end`, that has the column, be it as a tombstone; `end` where there is none. */
static inline uint64_t dcsr_i_find_column(const uint32_t *columns, uint64_t i, uint64_t end, uint32_t column)
{
    enum { AT_ONCE = 16 };
    for (uint32_t hits = 0; end - i >= AT_ONCE; i += AT_ONCE) {
        for (int j = 0; j < AT_ONCE; j++) hits |= (columns[i + j] & ~DCSR_I_TOMBSTONE) == column;
        if (hits) break;
    }
    while (i < end && (columns[i] & ~DCSR_I_TOMBSTONE) != column) i++;
    return i;
}

/* Where to begin to look for a column in a row's first piece: where it is, or behind the piece, if that ascends and
 * deletes nothing. */
static inline uint64_t dcsr_i_first_place(const uint32_t *columns, const dcsr_i_piece *piece, bool ascends,
                                          uint32_t column)
{
    if (!ascends) return piece->begin;
    const uint64_t at = dcsr_i_list_find(columns + piece->begin, 0, piece->length, column);
    return piece->begin + (at < piece->length && columns[piece->begin + at] == column ? at : piece->length);
}

/* The first place of a column in a row's pieces, of which the first ascends and deletes nothing, or not as far as is
 * known; false: it stands nowhere. */
static inline bool dcsr_i_find_in_pieces(const uint32_t *columns, const dcsr_i_piece *pieces, int count,
                                         bool ascends, uint32_t column, uint64_t *place)
{
    for (int k = 0; k < count; k++) {
        const uint64_t begin = pieces[k].begin, end = begin + pieces[k].length,
                       first = dcsr_i_first_place(columns, &pieces[k], !k && ascends, column);
        *place = dcsr_i_find_column(columns, first, end, column);
        if (*place < end) return true;
    }
    return false;
}

/* Copies one value; most have eight bytes, for which a call costs more than copying. */
static inline void dcsr_i_copy_one(void *to, const void *from, size_t size)
{
    if (size == sizeof(uint64_t))
        memcpy(to, from, sizeof(uint64_t));
    else
        memcpy(to, from, size);
}

/* Whether it is known of a row's first piece that it ascends and deletes nothing. */
static inline bool dcsr_i_first_piece_ascends(const dcsr_i_table *table, uint64_t row)
{
    const dcsr_i_row_page *page = table ? dcsr_i_page(table, row >> DCSR_I_PAGE_SHIFT) : NULL;
    return page && (page->ascending >> (row & (DCSR_I_PAGE_ROWS - 1)) & 1);
}

/* The pieces of any row, whatever the layout. */
static inline int dcsr_i_rows_pieces(const dcsr_i_rows *rows, uint64_t row,
                                     dcsr_i_piece pieces[DCSR_MAX_SEGMENTS])
{
    if (rows->offsets) {
        pieces[0] = (dcsr_i_piece){rows->offsets[row], rows->offsets[row + 1] - rows->offsets[row]};
        return pieces[0].length != 0;
    }
    const dcsr_i_row_page *page = dcsr_i_page(rows->table, row >> DCSR_I_PAGE_SHIFT);
    return page ? dcsr_i_row_pieces(page, row & (DCSR_I_PAGE_ROWS - 1), pieces) : 0;
}

static inline uint64_t dcsr_i_rows_length(const dcsr_i_rows *rows, uint64_t row)
{
    if (rows->offsets) return rows->offsets[row + 1] - rows->offsets[row];
    const dcsr_i_row_page *page = dcsr_i_page(rows->table, row >> DCSR_I_PAGE_SHIFT);
    return page ? page->length[row & (DCSR_I_PAGE_ROWS - 1)] : 0;
}

/* The number of pages of 64 rows, in use or not. */
static inline uint64_t dcsr_i_rows_pages(const dcsr_i_rows *rows)
{
    return (rows->rows + DCSR_I_PAGE_ROWS - 1) >> DCSR_I_PAGE_SHIFT;
}

/* The first page from p on that may have entries: one in use, or for a CSR p itself; the number of pages if
 * there is none. */
static inline uint64_t dcsr_i_rows_next_page(const dcsr_i_rows *rows, uint64_t p)
{
    if (rows->table) dcsr_i_next_page(rows->table, &p);
    return p;
}

/* The first row from `row` on whose page may have entries; the number of rows if there is none. */
static inline uint64_t dcsr_i_rows_skip(const dcsr_i_rows *rows, uint64_t row)
{
    uint64_t p = row >> DCSR_I_PAGE_SHIFT;
    if (rows->table && row < rows->rows && !dcsr_i_page(rows->table, p)) {
        dcsr_i_next_page(rows->table, &p);
        row = p << DCSR_I_PAGE_SHIFT;
    }
    return row < rows->rows ? row : rows->rows;
}

/* Whether there are so many more lines (rows or columns) than entries that an offset for each line would take
 * far more than all else. */
static inline bool dcsr_i_lines_are_sparse(uint64_t lines, uint64_t entries)
{
    enum { FEW_LINES = 1 << 20, LINES_PER_ENTRY = 16 };
    return lines > FEW_LINES && lines / LINES_PER_ENTRY > entries;
}

/* Entries of all rows, in host memory. */
static inline uint64_t dcsr_i_rows_entries(const dcsr_i_rows *rows)
{
    return rows->offsets ? rows->offsets[rows->rows] : rows->table->stored;
}

/* For operations on views (view.c, view_transpose.c). */

/* DCSR_OK if the view may be read; else INVALID_ARGUMENT (NULL) or CONTEXT_DESTROYED. */
dcsr_status dcsr_i_view_check(const dcsr_view *view);
dcsr_context *dcsr_i_view_context(const dcsr_view *view);
dcsr_layout dcsr_i_view_layout(const dcsr_view *view);
dcsr_matrix *dcsr_i_view_matrix(const dcsr_view *view);
/* The version of the matrix that the view shows; unlike dcsr_view_get_info() it counts nothing. */
uint64_t dcsr_i_view_version(const dcsr_view *view);
/* The tag of that version, of a view of segments; NULL: it has none. */
const dcsr_tag *dcsr_i_view_tag(const dcsr_view *view);
/* The entries that the view shows, wherever they are. */
const dcsr_i_rows *dcsr_i_view_rows(const dcsr_view *view);
/* The same in host memory: a view on a device gets a copy as CSR, which it keeps. */
dcsr_status dcsr_i_view_host_rows(const dcsr_i_rows **rows, dcsr_view *view);
/* The same with columns that ascend strictly in each row: duplicates that the view shows are combined by the
 * matrix's policy, those of DCSR_POLICY_KEEP summed. If the view's rows are like that already they are
 * returned as they are, else a sorted copy that the view keeps. Cost: the first time, for a version of which
 * it is not known, one look at every column. */
dcsr_status dcsr_i_view_sorted(const dcsr_i_rows **rows, dcsr_view *view);
/* The rows of the transpose of what the view shows, in host memory, kept by the view. If the matrix maintains
 * its transpose they are segments of the twin, resolved as the view's flags ask: sorted if the view is, and
 * with duplicates if DCSR_VIEW_DUPLICATES is set. Else they are a CSC made at the first call, which views of
 * the newest version share; its row numbers, which take the place of columns, ascend. Cost of the CSC: O(rows
 * + cols + entries), each entry is moved twice. On a device they are a copy. Errors: OUT_OF_MEMORY. */
dcsr_status dcsr_i_view_transposed(const dcsr_i_rows **rows, dcsr_view *view);
/* Whether the transpose exists, so that at most the twin's rows have to be resolved, as for the view
 * itself. */
bool dcsr_i_view_transpose_is_ready(const dcsr_view *view);
/* The tiles of a view of DCSR_LAYOUT_NUT, else NULL. Those of the transpose are there once they have been made, which
 * makes the transpose, too; the view keeps them. Errors: OUT_OF_MEMORY, on a device DEVICE; TOO_LARGE where there are
 * far more rows or columns than entries. */
const struct dcsr_i_nut *dcsr_i_view_nut(const dcsr_view *view, bool transposed);
dcsr_status dcsr_i_view_make_turned_nut(dcsr_view *view);
/* Tells the matrix's cost model that an operation has read all rows through segments once. */
void dcsr_i_view_was_read(dcsr_view *view);
/* What has been computed about a view and is kept with it; there is room for one of each kind. */
enum { DCSR_I_KEPT_PRODUCT, DCSR_I_KEPT };
typedef struct dcsr_i_attachment {
    void (*drop)(struct dcsr_i_attachment *kept, dcsr_view *view); /* frees it, when the view is destroyed */
} dcsr_i_attachment;
/* What is kept with the view of a kind, made at the first call; other threads that call meanwhile wait. */
dcsr_status dcsr_i_view_attach(dcsr_i_attachment **kept, dcsr_view *view, int kind,
                               dcsr_status (*make)(dcsr_i_attachment **kept, dcsr_view *view));

#endif

/* row_prefetch.h: asking for rows before they are walked (internal).
 *
 * Rows that are walked in an order of their own, as the elements of a list come, cost a miss for each step of
 * the way: the row's page, its place, its entries. So each is taken some rows ahead, while the steps of other
 * rows are under way. */
#ifndef DCSR_ROW_PREFETCH_H
#define DCSR_ROW_PREFETCH_H

#include "dcsr/store/rowtable.h"
#include <stddef.h>

/* The steps; the next needs what the one before has asked for. */
enum { DCSR_I_STEP_PAGE, DCSR_I_STEP_PLACE, DCSR_I_STEP_ENTRIES, DCSR_I_STEPS };

/* How many rows before one is walked each step is taken. */
enum { DCSR_I_AHEAD_PAGE = 12, DCSR_I_AHEAD_PLACE = 8, DCSR_I_AHEAD_ENTRIES = 4 };

/* Of what stands at an index of the arrays of entries: the column, and the value, of that many bytes, unless
 * that is 0. */
DCSR_I_PREFETCH void dcsr_i_entry_prefetch(const dcsr_i_rows *rows, uint64_t at, size_t value_size)
{
    __builtin_prefetch(rows->columns + at);
    if (value_size) __builtin_prefetch((const char *)rows->values + at * value_size);
}

/* Takes one step of the way to a row. value_size is 0 where values will not be read. */
DCSR_I_PREFETCH void dcsr_i_row_prefetch(const dcsr_i_rows *rows, uint64_t row, int step, size_t value_size)
{
    if (rows->offsets) {
        if (step == DCSR_I_STEP_PAGE) __builtin_prefetch(rows->offsets + row);
        if (step == DCSR_I_STEP_ENTRIES) dcsr_i_entry_prefetch(rows, rows->offsets[row], value_size);
        return;
    }
    const dcsr_i_row_page *page = dcsr_i_page(rows->table, row >> DCSR_I_PAGE_SHIFT);
    unsigned r = row & (DCSR_I_PAGE_ROWS - 1);
    if (!page) return;
    bool fragmented = page->fragmented >> r & 1;
    if (step == DCSR_I_STEP_PAGE) {
        __builtin_prefetch(&page->length[r]);
        __builtin_prefetch(&page->segment[0]);
    } else if (step == DCSR_I_STEP_PLACE) {
        int segments = fragmented ? rows->table->segments_per_row : 1;
        for (int k = 0; k < segments && page->segment[k]; k++) __builtin_prefetch(&page->segment[k]->of[r]);
    } else {
        dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
        int count = dcsr_i_row_pieces(page, r, pieces);
        for (int k = 0; k < count; k++) dcsr_i_entry_prefetch(rows, pieces[k].begin, value_size);
    }
}

/* To be called before row list[i] is walked, for each i up to `end`. */
DCSR_I_PREFETCH void dcsr_i_rows_prefetch(const dcsr_i_rows *rows, const uint32_t *list, uint64_t i,
                                          uint64_t end, size_t value_size)
{
    static const unsigned char ahead[DCSR_I_STEPS] = {DCSR_I_AHEAD_PAGE, DCSR_I_AHEAD_PLACE,
                                                      DCSR_I_AHEAD_ENTRIES};
    for (int step = 0; step < DCSR_I_STEPS; step++)
        if (i + ahead[step] < end) dcsr_i_row_prefetch(rows, list[i + ahead[step]], step, value_size);
}

/* Asks for what leads to the rows of page p, which come soon: for lengths and pointers of the page behind it, and
 * where entries begin of p itself, whose pointers were asked for before. */
DCSR_I_PREFETCH void dcsr_i_page_prefetch(const dcsr_i_rows *rows, uint64_t p)
{
    enum { LINE = 64 };
    uint64_t pages = dcsr_i_rows_pages(rows);
    if (!rows->table || p >= pages) return;
    const dcsr_i_row_page *page = dcsr_i_page(rows->table, p),
                          *behind = p + 1 < pages ? dcsr_i_page(rows->table, p + 1) : NULL;
    for (size_t at = 0; behind && at <= offsetof(dcsr_i_row_page, segment); at += LINE)
        __builtin_prefetch((const char *)behind + at);
    const char *segments = page ? (const char *)page->segment[0] : NULL;
    for (size_t at = 0; segments && at < sizeof *page->segment[0]; at += LINE)
        __builtin_prefetch(segments + at);
}

/* Where a row is: how many pieces it has, and the first of them, if any. */
typedef struct dcsr_i_row_location {
    dcsr_i_piece first;
    int pieces;
} dcsr_i_row_location;

/* Finds n <= DCSR_I_PAGE_ROWS rows, and asks for their entries: every step is taken for all of them before
 * the next. */
DCSR_I_PREFETCH void dcsr_i_rows_locate(dcsr_i_row_location *places, const dcsr_i_rows *rows,
                                        const uint32_t *list, uint64_t n, size_t value_size)
{
    const dcsr_i_row_page *pages[DCSR_I_PAGE_ROWS];
    for (uint64_t i = 0; i < n; i++) {
        if (rows->offsets) {
            __builtin_prefetch(rows->offsets + list[i]);
            continue;
        }
        pages[i] = dcsr_i_page(rows->table, list[i] >> DCSR_I_PAGE_SHIFT);
        if (!pages[i]) continue;
        __builtin_prefetch(&pages[i]->length[list[i] & (DCSR_I_PAGE_ROWS - 1)]);
        __builtin_prefetch(&pages[i]->segment[0]);
    }
    for (uint64_t i = 0; i < n && rows->table; i++)
        if (pages[i] && pages[i]->segment[0])
            __builtin_prefetch(&pages[i]->segment[0]->of[list[i] & (DCSR_I_PAGE_ROWS - 1)]);
    for (uint64_t i = 0; i < n; i++) {
        dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
        places[i].pieces = dcsr_i_rows_pieces(rows, list[i], pieces);
        for (int k = 0; k < places[i].pieces; k++) dcsr_i_entry_prefetch(rows, pieces[k].begin, value_size);
        if (places[i].pieces) places[i].first = pieces[0];
    }
}

#endif

/* diff_pages.c: which rows of two versions may differ.
 *
 * A page that a batch has changed has 64 rows, of which few are others: so all are looked at without branches, many at
 * once. What is read of a page lies in up to four places, and most of them are in no cache. */
#include "dcsr/view/diff_data.h"

uint64_t dcsr_i_diff_most_rows(const dcsr_i_row_pairs *pairs)
{
    return pairs->from->rows > pairs->to->rows ? pairs->from->rows : pairs->to->rows;
}

/* The next page to be looked at. */
static uint64_t next_page(const dcsr_i_row_pairs *pairs, uint64_t p)
{
    if (pairs->all || !pairs->from->table || !pairs->to->table) return p;
    return dcsr_i_next_unshared_page(pairs->from->table, pairs->to->table, p);
}

dcsr_status dcsr_i_diff_list_pages(dcsr_i_page_list *list, dcsr_context *context,
                                   const dcsr_i_row_pairs *pairs)
{
    const uint64_t pages = (dcsr_i_diff_most_rows(pairs) + DCSR_I_PAGE_ROWS - 1) >> DCSR_I_PAGE_SHIFT;
    uint64_t count = 0;
    for (uint64_t p = 0; (p = next_page(pairs, p)) < pages; p++) count++;
    *list = (dcsr_i_page_list){.capacity = count};
    list->page = dcsr_i_alloc(context, DCSR_I_SCRATCH, count, sizeof *list->page);
    if (!list->page) return DCSR_ERROR_OUT_OF_MEMORY;
    for (uint64_t p = 0; (p = next_page(pairs, p)) < pages; p++) list->page[list->count++] = (uint32_t)p;
    return DCSR_OK;
}

/* A page of both versions; NULL where one has none. */
typedef struct page_pair {
    const dcsr_i_row_page *from, *to;
} page_pair;

static const dcsr_i_row_page *page_of(const dcsr_i_rows *rows, uint64_t page)
{
    return rows->table && page < dcsr_i_page_count(rows->table) ? dcsr_i_page(rows->table, page) : NULL;
}

static page_pair pair_of(const dcsr_i_row_pairs *pairs, uint64_t page)
{
    return (page_pair){page_of(pairs->from, page), page_of(pairs->to, page)};
}

/* A bit for each byte, which is 0 or 1. */
static uint64_t bits_of(const uint8_t bytes[DCSR_I_PAGE_ROWS])
{
    uint64_t bits = 0;
    for (int r = 0; r < DCSR_I_PAGE_ROWS; r += 8) {
        uint64_t eight = 0;
        for (int i = 0; i < 8; i++) eight |= (uint64_t)bytes[r + i] << 8 * i;
        bits |= (eight * UINT64_C(0x0102040810204080) >> 56) << r; /* moves byte i to bit 56 + i */
    }
    return bits;
}

/* The rows of a page that have entries. */
static uint64_t rows_in_use(const dcsr_i_row_page *page)
{
    uint8_t in_use[DCSR_I_PAGE_ROWS];
    for (int r = 0; r < DCSR_I_PAGE_ROWS; r++) in_use[r] = page->length[r] != 0;
    return bits_of(in_use);
}

/* Which rows of a page may differ: without their pieces where they are in one piece, or the page's segments are
 * shared. */
static uint64_t find_candidates(const dcsr_i_row_pairs *pairs, page_pair p)
{
    const dcsr_i_row_page *a = p.from, *b = p.to;
    uint8_t differs[DCSR_I_PAGE_ROWS];
    if (!pairs->from->table || !pairs->to->table) return UINT64_MAX;
    if (pairs->apart || pairs->all || !a || !b) return (a ? rows_in_use(a) : 0) | (b ? rows_in_use(b) : 0);
    uint64_t candidates = a->fragmented ^ b->fragmented;
    bool shared = true;
    for (int k = 0; k < pairs->from->table->segments_per_row && k < pairs->to->table->segments_per_row; k++)
        shared &= a->segment[k] == b->segment[k] || !a->segment[k] || !b->segment[k];
    if (!shared) candidates = a->fragmented | b->fragmented;
    for (int r = 0; r < DCSR_I_PAGE_ROWS; r++) differs[r] = a->length[r] != b->length[r];
    if (!shared && a->segment[0] && b->segment[0]) {
        const dcsr_i_segment *in_a = a->segment[0]->of, *in_b = b->segment[0]->of;
        for (int r = 0; r < DCSR_I_PAGE_ROWS; r++) /* of an empty row none is read, as it may be written to */
            if (a->length[r] && b->length[r])
                differs[r] |= ((in_a[r].word ^ in_b[r].word) & (DCSR_I_MOST_PLACES - 1)) != 0;
    }
    return candidates | bits_of(differs);
}

/* ---- Asking for memory ---- */

enum { LINE = 64 };

/* Asks for a stretch of memory. */
DCSR_I_PREFETCH void fetch(const void *from, size_t bytes)
{
    for (size_t b = 0; b < bytes; b += LINE) __builtin_prefetch((const char *)from + b);
}

DCSR_I_PREFETCH void fetch_lengths(const dcsr_i_row_pairs *pairs, uint64_t page)
{
    const page_pair p = pair_of(pairs, page);
    if (p.from) fetch(p.from, sizeof *p.from + sizeof *p.from->segment);
    if (p.to) fetch(p.to, sizeof *p.to + sizeof *p.to->segment);
}

DCSR_I_PREFETCH void fetch_segments(const dcsr_i_row_pairs *pairs, uint64_t page)
{
    const page_pair p = pair_of(pairs, page);
    if (!p.from || !p.to || p.from->segment[0] == p.to->segment[0]) return;
    if (p.from->segment[0]) fetch(p.from->segment[0], sizeof *p.from->segment[0]);
    if (p.to->segment[0]) fetch(p.to->segment[0], sizeof *p.to->segment[0]);
}

DCSR_I_PREFETCH void fetch_row(const dcsr_i_rows *rows, const dcsr_i_row_page *page, unsigned r,
                               size_t value_size)
{
    enum { MOST = 4 * LINE };
    if (!page || !page->length[r]) return;
    const uint64_t begin = dcsr_i_begin_of(page, 0, r), length = page->length[r];
    const size_t columns = length * sizeof *rows->columns, values = length * value_size;
    fetch(rows->columns + begin, columns < MOST ? columns : MOST);
    if (values) fetch((const char *)rows->values + begin * value_size, values < MOST ? values : MOST);
}

uint64_t dcsr_i_diff_candidates(const dcsr_i_row_pairs *pairs, const uint32_t *page, uint64_t n,
                                uint64_t count)
{
    enum { LENGTHS_AHEAD = 4, SEGMENTS_AHEAD = 2 };
    if (n + LENGTHS_AHEAD < count) fetch_lengths(pairs, page[n + LENGTHS_AHEAD]);
    if (n + SEGMENTS_AHEAD < count) fetch_segments(pairs, page[n + SEGMENTS_AHEAD]);
    return n < count ? find_candidates(pairs, pair_of(pairs, page[n])) : 0;
}

void dcsr_i_diff_fetch(const dcsr_i_row_pairs *pairs, size_t value_size, uint32_t page, uint64_t rows)
{
    const page_pair p = pair_of(pairs, page);
    for (; rows; rows &= rows - 1) {
        const unsigned r = (unsigned)__builtin_ctzll(rows);
        fetch_row(pairs->from, p.from, r, value_size);
        fetch_row(pairs->to, p.to, r, value_size);
    }
}

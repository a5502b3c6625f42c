/* find_batch.c: looking for the entries of a batch in rows that ascend, many at once.
 *
 * Most entries are alone in their rows, which lie anywhere in memory: an entry costs some cache lines of its row's
 * page, one that says where the row begins, and those of the row that bisection looks at. One after the other these
 * are misses of a tenth of a microsecond each. So the entries of some pages take each step together, and a step asks
 * for the lines of the next one (group prefetching; Chen, Ailamaki, Gibbons and Mowry 2004):
 *
 *      pages  -->  begins of rows  -->  columns, all bisections in step  -->  tails  -->  values
 */
#include "dcsr/store/cpu/batch.h"

/* Entries of long rows are bisected down to LINE columns, which are compared one by one; of rows with up to SHORT_ROW
 * entries all lines are asked for at once. */
enum { AT_ONCE = 32, LINE = 16, SHORT_ROW = 64 };

/* The columns at[0] to at[left - 1] are still to be looked at: what stands before them is below the column, what stands
 * behind them is not. */
typedef struct search {
    const uint32_t *at;
    uint64_t left;
    uint64_t begin, end; /* the part of the row that ascends */
    uint64_t entry, row; /* the entry that is looked for, and the first one of its row */
    const dcsr_i_row_page *page;
    uint64_t place; /* where it is; UINT64_MAX: nowhere */
} search;

DCSR_I_PREFETCH void fetch(const uint32_t *columns, uint64_t n)
{
    for (uint64_t i = 0; i < n; i += LINE) __builtin_prefetch(columns + i);
    __builtin_prefetch(columns + n - 1);
}

static inline void begin_search(search *s)
{
    if (s->left <= SHORT_ROW)
        fetch(s->at, s->left);
    else
        __builtin_prefetch(s->at + s->left / 2 - 1);
}

/* Halves what is left of each, until it is one line. */
static void bisect(const dcsr_i_batch *b, search *s, int n)
{
    for (bool more = true; more;) {
        more = false;
        for (int k = 0; k < n; k++) {
            if (s[k].left <= LINE) continue;
            const uint64_t half = s[k].left / 2;
            s[k].at += s[k].at[half - 1] < dcsr_i_column_at(b, s[k].entry) ? half : 0;
            s[k].left -= half;
            more = true;
            if (s[k].left > LINE)
                __builtin_prefetch(s[k].at + s[k].left / 2 - 1);
            else
                fetch(s[k].at, s[k].left);
        }
    }
}

/* The place of a column behind the part that ascends; UINT64_MAX: it is not there. */
static uint64_t find_in_tail(const uint32_t *columns, const dcsr_i_row_page *page, unsigned r,
                             uint32_t column)
{
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    const int count = dcsr_i_row_pieces(page, r, pieces);
    for (int k = 1; k < count; k++) {
        const uint64_t end = pieces[k].begin + pieces[k].length,
                       place = dcsr_i_find_column(columns, pieces[k].begin, end, column);
        if (place < end) return place;
    }
    return UINT64_MAX;
}

/* The place of an entry whose bisection has come to its end. */
static void end_search(const dcsr_i_batch *b, search *s)
{
    const uint32_t column = dcsr_i_column_at(b, s->entry), *columns = b->matrix->arena.columns;
    const unsigned r = dcsr_i_row_in_page(b, dcsr_i_key_at(b, s->entry));
    uint64_t below = 0;
    for (uint64_t i = 0; i < s->left; i++) below += s->at[i] < column;
    s->place = (uint64_t)(s->at - columns) + below;
    const bool there = s->place < s->end && columns[s->place] == column;
    b->found[s->entry] = (dcsr_i_finding){.there = there, .position = (uint32_t)(s->place - s->begin)};
    if (there) return;
    const bool tail = s->page->fragmented >> r & 1;
    if (s->entry == s->row) b->growth[s->row].behind = s->place == s->end && !tail;
    s->place = tail ? find_in_tail(columns, s->page, r, column) : UINT64_MAX;
}

/* Whether entry i would change the value at a place where its column is stored. */
static bool changes_value(const dcsr_i_batch *b, uint64_t i, uint64_t place)
{
    const size_t size = b->matrix->value_size;
    uint64_t before = 0, after = 0;
    memcpy(&before, b->matrix->arena.values + place * size, size);
    memcpy(&after, &before, sizeof before);
    dcsr_i_combiner(b->matrix->type, b->matrix->policy)(&after, &b->entries[2 * i + 1]);
    return before != after;
}

static void search_all(const dcsr_i_batch *b, search *s, int n)
{
    const size_t size = b->mark ? 0 : b->matrix->value_size;
    bisect(b, s, n);
    for (int k = 0; k < n; k++) {
        end_search(b, &s[k]);
        if (size && s[k].place != UINT64_MAX) __builtin_prefetch(b->matrix->arena.values + s[k].place * size);
    }
    for (int k = 0; k < n; k++) {
        dcsr_i_growth *grows = &b->growth[s[k].row];
        const bool there = s[k].place != UINT64_MAX;
        b->found[s[k].entry].there = there;
        grows->absent += !there;
        grows->changes |= there && (b->mark || (size && changes_value(b, s[k].entry, s[k].place)));
    }
}

/* Asks for what a page says of the rows of a group. */
DCSR_I_PREFETCH void fetch_page(const dcsr_i_batch *b, const dcsr_i_group *g)
{
    const dcsr_i_row_page *page = g->old;
    if (!page) return;
    __builtin_prefetch(&page->ascending);
    __builtin_prefetch(&page->segment[0]);
    for (uint64_t i = g->first; i < g->end && i < g->first + DCSR_I_ENTRIES_AHEAD; i++)
        __builtin_prefetch(&page->length[dcsr_i_row_in_page(b, dcsr_i_key_at(b, i))]);
}

/* Asks for what says where the rows of a group are that are looked into. */
DCSR_I_PREFETCH void fetch_begins(const dcsr_i_batch *b, const dcsr_i_group *g)
{
    for (uint64_t i = g->first; i < g->end; i += b->growth[i].entries) {
        const unsigned r = dcsr_i_row_in_page(b, dcsr_i_key_at(b, i));
        if (!b->growth[i].searched) continue;
        __builtin_prefetch(&g->old->segment[0]->of[r]);
    }
}

dcsr_status dcsr_i_find_entries(const dcsr_i_batch *b, dcsr_i_group *first, const dcsr_i_group *end,
                                uint64_t *longest)
{
    search wanted[AT_ONCE];
    int n = 0;
    for (const dcsr_i_group *g = first; g < end && g < first + DCSR_I_PAGES_AHEAD; g++) fetch_page(b, g);
    for (dcsr_i_group *g = first; g < end; g++) {
        if (g + DCSR_I_PAGES_AHEAD < end) fetch_page(b, g + DCSR_I_PAGES_AHEAD);
        DCSR_TRY(dcsr_i_find_rows(b, g, longest));
        fetch_begins(b, g);
    }
    for (const dcsr_i_group *g = first; g < end; g++)
        for (uint64_t i = g->first; i < g->end; i += b->growth[i].entries) {
            if (!b->growth[i].searched) continue;
            const unsigned r = dcsr_i_row_in_page(b, dcsr_i_key_at(b, i));
            dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
            dcsr_i_row_pieces(g->old, r, pieces);
            for (uint64_t e = i; e < i + b->growth[i].entries; e++) {
                wanted[n] = (search){.at = b->matrix->arena.columns + pieces[0].begin,
                                     .left = pieces[0].length,
                                     .begin = pieces[0].begin,
                                     .end = pieces[0].begin + pieces[0].length,
                                     .entry = e,
                                     .row = i,
                                     .page = g->old};
                begin_search(&wanted[n++]);
                if (n == AT_ONCE) search_all(b, wanted, n), n = 0;
            }
        }
    search_all(b, wanted, n);
    return DCSR_OK;
}

/* merge_batch.c: applying a batch to rows that are kept resolved, each column once.
 *
 *      row, its entries of the batch           what happens to it
 *      nothing would change                    it stays where it is
 *      all columns behind its last one         appended, in its slack; without enough: merged, with slack
 *      long, and few entries come              each is looked for; those that are not there are appended to a
 *                                              short unsorted tail: further segments, which are searched too
 *      else                                    merged into a new place, resolved if it was not, tombstones applied
 *
 * Where most entries of a page move, all of its rows do, one behind the other without slack: then what they leave
 * behind in the arena is free as a whole, and rows lie in order. An entry that a held version sees never changes:
 * a value that is another one afterwards is written with the row, at its new place. */
#include "dcsr/store/cpu/batch.h"
#include "dcsr/base/search.h"
#include "dcsr/store/cpu/merge.h"

/* Rows up to SHORT entries have no tail. Entries are looked for only where a row gets one, or has so many entries, or
 * if it is short so many, for each new one: else merging takes no longer. A tail is searched at the cost of reading
 * it, eight columns at a time, which may take as long as merging. A segment of a tail is for this share of the row. */
#ifdef DCSR_SIMT /* small, to be tried by small tests */
enum { SHORT = 16, FEW_OF_LONG = 2, FEW_OF_SHORT = 3, SEARCHED = 8, TAIL_SHARE = 16 };
#else
enum { SHORT = 1024, FEW_OF_LONG = 16, FEW_OF_SHORT = 64, SEARCHED = 8, TAIL_SHARE = 16 };
#endif

/* ---- Planning ---- */

static uint32_t column_of(const dcsr_i_batch *b, uint64_t i)
{
    return (uint32_t)(dcsr_i_key_at(b, i) & (((uint64_t)1 << b->column_bits) - 1));
}

/* Whether entry i would change the value at a place where its column is stored. */
static bool changes_value(const dcsr_i_batch *b, uint64_t i, uint64_t place)
{
    const size_t size = b->matrix->value_size;
    uint64_t before = 0, after = 0;
    if (!size) return false;
    memcpy(&before, b->matrix->arena.values + place * size, size);
    memcpy(&after, &before, sizeof before);
    dcsr_i_combiner(b->matrix->type, b->matrix->policy)(&after, &b->entries[2 * i + 1]);
    return before != after;
}

/* The place in the pieces of a column; UINT64_MAX: it is not there. */
static uint64_t find_in_tail(const uint32_t *columns, const dcsr_i_piece *pieces, int count, uint32_t column)
{
    enum { AT_ONCE = 32 };
    for (int k = 0; k < count; k++) {
        const uint32_t *at = columns + pieces[k].begin, *end = at + pieces[k].length;
        for (; at + AT_ONCE <= end; at += AT_ONCE) {
            unsigned found = 0;
            for (int e = 0; e < AT_ONCE; e++) found |= at[e] == column;
            if (found) break;
        }
        for (; at < end; at++)
            if (*at == column) return (uint64_t)(at - columns);
    }
    return UINT64_MAX;
}

/* Looks for each entry in a row whose first segment ascends, and decides; false if it has to be merged. */
static bool search_row(const dcsr_i_batch *b, const dcsr_i_row_page *page, unsigned r, uint64_t i,
                       dcsr_i_growth *grows)
{
    const uint32_t *columns = b->matrix->arena.columns;
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    const int count = dcsr_i_row_pieces(page, r, pieces);
    const uint64_t n = grows->entries, head = pieces[0].length, tail = page->length[r] - head;
    if (n * tail > SEARCHED * head) return false;
    uint64_t at = 0, absent = 0;
    for (uint64_t e = i; e < i + n; e++) {
        const uint32_t column = column_of(b, e);
        at = dcsr_i_list_find_near(columns + pieces[0].begin, at, head, column);
        uint64_t place = at < head && columns[pieces[0].begin + at] == column
                             ? pieces[0].begin + at
                             : find_in_tail(columns, pieces + 1, count - 1, column);
        b->known[e] = place != UINT64_MAX;
        if (b->known[e] && (b->mark || changes_value(b, e, place))) return false;
        absent += !b->known[e];
    }
    grows->way = DCSR_I_LEAVE;
    if (!absent || b->mark) return true;
    if (page->length[r] <= SHORT) return false;
    /* The first segment must stay as it is, so there is no tail behind one that has room. */
    if (count == 1 && grows->room) return false;
    if (absent > grows->room) {
        if (grows->full) return false;
        grows->capacity = (uint32_t)dcsr_i_fitting_capacity(absent - grows->room + head / TAIL_SHARE);
    }
    grows->way = DCSR_I_APPEND;
    grows->absent = (uint32_t)absent;
    return true;
}

/* Whether all entries from the i-th on come behind those of a row that ascends. */
static bool comes_behind(const dcsr_i_batch *b, const dcsr_i_row_page *page, unsigned r, uint64_t i)
{
    if (b->mark || page->fragmented >> r & 1) return false;
    return column_of(b, i) > b->matrix->arena.columns[dcsr_i_begin_of(page, 0, r) + page->length[r] - 1];
}

/* Whether so few entries come for a row that each is looked for. */
static bool is_searched(uint64_t length, uint64_t n)
{
    return n == 1 || length > (length > SHORT ? FEW_OF_LONG : FEW_OF_SHORT) * n;
}

static void plan_row(const dcsr_i_batch *b, const dcsr_i_group *g, uint64_t i)
{
    const dcsr_i_row_page *page = g->old;
    const unsigned r = dcsr_i_row_in_page(b, dcsr_i_key_at(b, i));
    const uint64_t length = page ? page->length[r] : 0, n = b->growth[i].entries;
    dcsr_i_growth grows = {.entries = (uint32_t)n, .way = DCSR_I_MERGE};
    const bool ascends = length && (page->ascending & ~page->duplicates & ~page->tombstones) >> r & 1;
    if (page) dcsr_i_find_room(b, page, r, &grows);
    if (!length && b->mark) {
        grows.way = DCSR_I_LEAVE;
    } else if (ascends && comes_behind(b, page, r, i)) {
        grows.slack = true;
        grows.capacity = (uint32_t)dcsr_i_capacity_for(length + n, b->matrix->slack, length + n);
        if (grows.room >= n) {
            grows.way = DCSR_I_APPEND;
            grows.absent = (uint32_t)n;
            grows.capacity = 0;
            memset(b->known + i, 0, n * sizeof *b->known);
        }
    } else if (!ascends || !is_searched(length, n) || !search_row(b, page, r, i, &grows)) {
        grows.way = DCSR_I_MERGE;
        grows.capacity = (uint32_t)(length + (b->mark ? 0 : n));
    }
    grows.moves = grows.way == DCSR_I_MERGE && grows.segments;
    b->growth[i] = grows;
}

/* Notes the places of a range, part by part where they were born in different versions, from `to` on; returns how
 * many parts there are. Where `to` is NULL, returns how many there are at most: one for each block. */
static uint64_t leave(const dcsr_i_batch *b, dcsr_i_piece range, dcsr_i_retired *to)
{
    dcsr_i_arena *arena = &b->matrix->arena;
    const int shift = dcsr_i_arena_shift(arena);
    uint64_t parts = 0;
    if (!to && range.length) return ((range.begin + range.length - 1) >> shift) - (range.begin >> shift) + 1;
    for (; range.length; parts++) {
        uint64_t born, size = dcsr_i_arena_run(arena, range.begin, range.length, &born);
        *to++ = (dcsr_i_retired){.kind = DCSR_I_RANGE, .born = born, .begin = range.begin, .size = size};
        range.begin += size;
        range.length -= size;
    }
    return parts;
}

/* The segments of the rows in a mask, neighbours in the arena as one, likewise. */
static uint64_t leave_segments(const dcsr_i_batch *b, const dcsr_i_row_page *page, uint64_t rows,
                               dcsr_i_retired *to)
{
    dcsr_i_piece joined = {0};
    uint64_t parts = 0;
    for (; rows; rows &= rows - 1) {
        dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
        int count = dcsr_i_segments_of(b->matrix, page, (unsigned)__builtin_ctzll(rows), pieces);
        for (int k = 0; k < count; k++) {
            if (pieces[k].begin != joined.begin + joined.length) {
                parts += leave(b, joined, to ? to + parts : NULL);
                joined = (dcsr_i_piece){pieces[k].begin, 0};
            }
            joined.length += pieces[k].length;
        }
    }
    return parts + leave(b, joined, to ? to + parts : NULL);
}

/* A fresh page without slack for all rows. */
static bool make_whole(const dcsr_i_batch *b, dcsr_i_row_page *fresh)
{
    memset(fresh->segment, 0, (size_t)b->matrix->segments_per_row * sizeof fresh->segment[0]);
    fresh->segment[0] = dcsr_i_segment_page_create(b->matrix, NULL);
    fresh->moved = b->base->version + 1;
    return fresh->segment[0] != NULL;
}

/* Finds the rows of the group. */
static dcsr_status find_rows(const dcsr_i_batch *b, const dcsr_i_group *g, uint64_t *longest)
{
    const dcsr_i_row_page *old = g->old;
    for (uint64_t i = g->first, end; i < g->end; i = end) {
        const unsigned r = dcsr_i_row_in_page(b, dcsr_i_key_at(b, i));
        const uint64_t length = old ? old->length[r] : 0;
        end = dcsr_i_row_end(b, g, i);
        DCSR_TRY(dcsr_i_check_length(b, i, length + (end - i)));
        b->growth[i].entries = (uint32_t)(end - i);
        if (!length) continue;
        const bool sorts = (~old->ascending | old->fragmented) >> r & 1;
        if (sorts && length + (end - i) > *longest) *longest = length + (end - i);
    }
    return DCSR_OK;
}

static uint64_t all_entries(const dcsr_i_row_page *page)
{
    uint64_t all = 0;
    for (unsigned r = 0; r < DCSR_I_PAGE_ROWS; r++) all += page->length[r];
    return all;
}

/* Whether it is clear without a look at the rows that all of them move: many entries come, most entries are in rows
 * that are merged, and the first of these does not grow at its end, for which it would need slack. */
static bool is_dense(const dcsr_i_batch *b, const dcsr_i_group *g, uint64_t all)
{
    const dcsr_i_row_page *old = g->old;
    uint64_t merged = 0;
    if (!old) return true;
    if ((g->end - g->first) * FEW_OF_SHORT < all) return false;
    for (uint64_t i = g->first; i < g->end; i += b->growth[i].entries) {
        const unsigned r = dcsr_i_row_in_page(b, dcsr_i_key_at(b, i));
        const uint64_t length = old->length[r];
        if (!length || (length > SHORT && is_searched(length, b->growth[i].entries))) continue;
        if (!merged && old->ascending >> r & 1 && comes_behind(b, old, r, i)) return false;
        merged += length;
    }
    return merged && 2 * merged >= all;
}

static bool plan_whole(const dcsr_i_batch *b, dcsr_i_group *g, uint64_t all)
{
    g->whole = true;
    g->needed = all + (b->mark ? 0 : g->end - g->first);
    g->ranges = g->old ? leave_segments(b, g->old, UINT64_MAX, NULL) : 0;
    return make_whole(b, g->fresh);
}

/* Plans row by row. */
static bool plan_rows(const dcsr_i_batch *b, dcsr_i_group *g, uint64_t all)
{
    uint64_t merged = 0;
    unsigned levels = 0;
    bool moves = false, stays = true;
    for (uint64_t i = g->first; i < g->end; i += b->growth[i].entries) {
        plan_row(b, g, i);
        const dcsr_i_growth *grows = &b->growth[i];
        const unsigned r = dcsr_i_row_in_page(b, dcsr_i_key_at(b, i));
        g->needed += grows->capacity;
        moves |= grows->moves;
        stays &= grows->way == DCSR_I_LEAVE;
        if (grows->moves) g->ranges += leave_segments(b, g->old, (uint64_t)1 << r, NULL);
        if (grows->capacity && !grows->moves) levels |= 1u << grows->segments;
        if (grows->moves && !grows->slack) merged += g->old->length[r];
    }
    if (merged && 2 * merged >= all) return plan_whole(b, g, all);
    if (stays) {
        dcsr_i_row_page_free(b->matrix, g->fresh);
        g->fresh = NULL;
        return true;
    }
    return dcsr_i_make_segment_pages(b, g, moves, levels);
}

dcsr_status dcsr_i_plan_merging(const dcsr_i_batch *b, dcsr_i_group *g, uint64_t *longest)
{
    const dcsr_i_row_page *old = g->old;
    DCSR_TRY(find_rows(b, g, longest));
    const uint64_t all = old ? all_entries(old) : 0;
    if (is_dense(b, g, all) ? !plan_whole(b, g, all) : !plan_rows(b, g, all)) return DCSR_ERROR_OUT_OF_MEMORY;
    if (!g->fresh) return DCSR_OK;
    g->replaced = g->ranges + (old != NULL);
    for (int k = 0; old && k < b->matrix->segments_per_row; k++)
        g->replaced += old->segment[k] && old->segment[k] != g->fresh->segment[k];
    return DCSR_OK;
}

/* ---- Merging ---- */

/* The entries of a row as later ones. */
static dcsr_i_later later_of(const dcsr_i_batch *b, uint64_t i, uint64_t n)
{
    const size_t size = b->matrix->value_size;
    for (uint64_t e = i; e < i + n; e++) b->columns[e] = column_of(b, e) | b->mark;
    if (b->stride > 1)
        for (uint64_t e = i; e < i + n; e++) memcpy(b->values + e * size, &b->entries[2 * e + 1], size);
    return (dcsr_i_later){b->columns + i, b->values + i * size, n};
}

/* Merges the entries from the i-th on into row r of the old page, at place `to`; returns its length. */
static uint64_t merge_row(const dcsr_i_batch *b, const dcsr_i_group *g, dcsr_i_resolver *resolver, uint64_t i,
                          uint64_t to, bool *changed)
{
    const dcsr_i_row_page *old = g->old;
    const unsigned r = dcsr_i_row_in_page(b, dcsr_i_key_at(b, i));
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    dcsr_i_stretch row = {.pieces = pieces};
    bool resolved = true;
    if (old && old->length[r]) {
        resolved = !((old->duplicates | old->tombstones) >> r & 1);
        row.count = dcsr_i_row_pieces(old, r, pieces);
        row.ascends = old->ascending >> r & 1;
    }
    const dcsr_i_later later = later_of(b, i, b->growth[i].entries);
    dcsr_i_merge_result merged = dcsr_i_resolve_with(resolver, b->matrix, &row, &later, to);
    *changed = merged.changed || !resolved;
    return merged.length;
}

/* Row r of the fresh page has been merged: it is resolved, and in one piece. */
static void note_merged(const dcsr_i_batch *b, dcsr_i_group *g, unsigned r, uint64_t length,
                        dcsr_i_table_change *sum)
{
    dcsr_i_row_page *page = g->fresh;
    const uint64_t bit = (uint64_t)1 << r;
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    const int count = g->old ? dcsr_i_row_pieces(g->old, r, pieces) : 0;
    sum->stored += length - page->length[r];
    sum->extra -= count > 1 ? (uint64_t)count - 1 : 0;
    sum->duplicates -= page->duplicates >> r & 1;
    sum->tombstones -= page->tombstones >> r & 1;
    page->length[r] = (uint32_t)length;
    page->fragmented &= ~bit;
    page->duplicates &= ~bit;
    page->tombstones &= ~bit;
    page->ascending &= ~bit;
    if (b->matrix->policy != DCSR_POLICY_KEEP) page->ascending |= bit;
}

/* Copies row r, which gets nothing, to place `to`; returns its length. Rows that lie one behind the other are
 * copied as one: *from and *joined are where those begin that are to be copied, and how many entries they have. */
static void copy_row(const dcsr_i_batch *b, dcsr_i_group *g, unsigned r, dcsr_i_piece *joined, uint64_t to,
                     dcsr_i_table_change *sum)
{
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    const int count = dcsr_i_row_pieces(g->old, r, pieces);
    for (int k = 0; k < count; k++) {
        if (pieces[k].begin != joined->begin + joined->length) {
            dcsr_i_copy_entries(b->matrix, to - joined->length, joined->begin, joined->length);
            *joined = (dcsr_i_piece){pieces[k].begin, 0};
        }
        joined->length += pieces[k].length;
        to += pieces[k].length;
    }
    if (count < 2) return;
    sum->extra -= (uint64_t)count - 1;
    g->fresh->fragmented &= ~((uint64_t)1 << r);
    g->fresh->ascending &= ~((uint64_t)1 << r);
}

/* All rows of the page, one behind the other. Returns whether any is another than before. */
static bool merge_whole(const dcsr_i_batch *b, dcsr_i_group *g, dcsr_i_resolver *resolver,
                        dcsr_i_table_change *sum)
{
    dcsr_i_row_page *page = g->fresh;
    dcsr_i_piece joined = {0};
    uint64_t i = g->first, to = g->places;
    bool any = false;
    for (unsigned r = 0; r < DCSR_I_PAGE_ROWS; r++) {
        if (i == g->end || dcsr_i_row_in_page(b, dcsr_i_key_at(b, i)) != r) {
            if (page->length[r]) copy_row(b, g, r, &joined, to, sum);
        } else {
            bool changed;
            dcsr_i_copy_entries(b->matrix, to - joined.length, joined.begin, joined.length);
            joined = (dcsr_i_piece){0};
            uint64_t length = merge_row(b, g, resolver, i, to, &changed);
            any |= changed;
            note_merged(b, g, r, length, sum);
            i += b->growth[i].entries;
        }
        page->segment[0]->of[r] = dcsr_i_segment_of(to, page->length[r]);
        to += page->length[r];
    }
    dcsr_i_copy_entries(b->matrix, to - joined.length, joined.begin, joined.length);
    if (any) dcsr_i_arena_give(&b->matrix->arena, to, g->places + g->needed - to);
    return any;
}

/* Appends the entries that row r does not have; a new segment is at place `to`. */
static void append_row(const dcsr_i_batch *b, dcsr_i_group *g, unsigned r, uint64_t i, uint64_t to,
                       dcsr_i_table_change *sum)
{
    dcsr_i_row_page *page = g->fresh;
    const dcsr_i_growth *grows = &b->growth[i];
    uint64_t at = grows->tail, left = grows->room;
    for (uint64_t e = i; e < i + grows->entries; e++) {
        if (b->known[e]) continue;
        if (!left) at = to, left = UINT64_MAX;
        dcsr_i_store_entries(b, e, 1, at++);
        left--;
    }
    if (grows->capacity) {
        page->segment[grows->segments]->of[r] = dcsr_i_segment_of(to, grows->capacity);
        page->fragmented |= (uint64_t)1 << r;
        sum->extra++;
    }
    page->length[r] += grows->absent;
    sum->stored += grows->absent;
}

/* Row r moves to place `to`, unless nothing changes; returns whether it has. */
static bool move_row(const dcsr_i_batch *b, dcsr_i_group *g, dcsr_i_resolver *resolver, unsigned r,
                     uint64_t i, uint64_t to, dcsr_i_table_change *sum)
{
    dcsr_i_row_page *page = g->fresh;
    const dcsr_i_growth *grows = &b->growth[i];
    bool changed;
    uint64_t length = merge_row(b, g, resolver, i, to, &changed), capacity = changed ? length : 0;
    if (changed && grows->slack) capacity = dcsr_i_capacity_for(length, b->matrix->slack, length);
    dcsr_i_arena_give(&b->matrix->arena, to + capacity, grows->capacity - capacity);
    if (!changed) return false;
    note_merged(b, g, r, length, sum);
    page->segment[0]->of[r] = dcsr_i_segment_of(to, capacity);
    if (grows->moves) dcsr_i_clear_segments(page, 1, r, b->matrix->segments_per_row);
    sum->rewrites += grows->moves;
    return true;
}

/* The rows that get something. Returns the mask of those that are others than before; *moved: at another place. */
static uint64_t merge_rows(const dcsr_i_batch *b, dcsr_i_group *g, dcsr_i_resolver *resolver, uint64_t *moved,
                           dcsr_i_table_change *sum)
{
    uint64_t changed = 0, to = g->places;
    for (uint64_t i = g->first; i < g->end; i += b->growth[i].entries) {
        const dcsr_i_growth *grows = &b->growth[i];
        const unsigned r = dcsr_i_row_in_page(b, dcsr_i_key_at(b, i));
        const uint64_t bit = (uint64_t)1 << r;
        if (grows->way == DCSR_I_APPEND) {
            append_row(b, g, r, i, to, sum);
            changed |= bit;
        } else if (grows->way == DCSR_I_MERGE && move_row(b, g, resolver, r, i, to, sum)) {
            changed |= bit;
            if (grows->moves) *moved |= bit;
        }
        to += grows->capacity;
    }
    return changed;
}

/* Nothing has changed: the next version has the page that was there. */
static void share_old(const dcsr_i_batch *b, dcsr_i_group *g)
{
    *g->slot = (dcsr_i_row_page *)g->old;
    dcsr_i_page_free(b->matrix, g->fresh, g->old);
    if (g->whole) dcsr_i_arena_give(&b->matrix->arena, g->places, g->needed);
}

/* Asks for the beginnings of the rows that will be merged. */
static inline void fetch_rows(const dcsr_i_batch *b, const dcsr_i_group *g)
{
    const uint32_t *columns = b->matrix->arena.columns;
    if (!g->old || g->whole) return;
    for (uint64_t i = g->first; i < g->end; i += b->growth[i].entries) {
        if (b->growth[i].way != DCSR_I_MERGE || !b->growth[i].segments) continue;
        const uint64_t begin = dcsr_i_begin_of(g->old, 0, dcsr_i_row_in_page(b, dcsr_i_key_at(b, i)));
        __builtin_prefetch(columns + begin);
        __builtin_prefetch(columns + begin + 16);
        if (b->stride > 1) __builtin_prefetch(b->matrix->arena.values + begin * b->matrix->value_size);
    }
}

void dcsr_i_merge_group(const dcsr_i_batch *b, dcsr_i_group *g, dcsr_i_resolver *resolver,
                        dcsr_i_table_change *sum)
{
    dcsr_i_table_change change = {0};
    uint64_t moved = 0;
    if (g + DCSR_I_SEGMENTS_AHEAD < b->groups + b->group_count) fetch_rows(b, g + DCSR_I_SEGMENTS_AHEAD);
    if (!g->fresh) return;
    bool changed =
        g->whole ? merge_whole(b, g, resolver, &change) : merge_rows(b, g, resolver, &moved, &change) != 0;
    dcsr_i_retired *to = &b->limbo->retired[g->retired], *end = to + g->replaced;
    if (changed) {
        sum->stored += change.stored, sum->extra += change.extra, sum->duplicates += change.duplicates;
        sum->tombstones += change.tombstones, sum->rewrites += change.rewrites;
        if (g->old) to = dcsr_i_retire_pages(b, g, to);
        if (g->old) to += leave_segments(b, g->old, g->whole ? UINT64_MAX : moved, to);
    } else {
        share_old(b, g);
    }
    /* What was counted and is not replaced after all: nothing, of no version. */
    for (; to < end; to++) *to = (dcsr_i_retired){.kind = DCSR_I_RANGE, .born = UINT64_MAX};
}

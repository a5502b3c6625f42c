/* merge_batch.c: applying a batch to rows that are kept resolved, each column once.
 *
 *      row, its entries of the batch           what happens to it
 *      nothing would change                    it stays where it is
 *      all columns behind its last one         appended, in its slack; without enough: merged, with slack
 *      long, and few entries come              each is looked for; those that are not there are appended to a
 *                                              short unsorted tail: further segments, which are searched too
 *      else                                    merged into a new place, resolved if it was not, tombstones applied
 *
 * Where most entries of a page move, or many of its rows, all of them do, one behind the other without slack: what they
 * leave behind in the arena is free as a whole, and rows lie in order. A row that stayed would keep its block: with
 * light pages left as they were, batches that touch most rows leave blocks a tenth full. An entry that a held version
 * sees never changes: a value that is another one afterwards is written with the row, at its new place.
 *
 * Where nobody holds a version (dcsr_i_claim_version()) a row whose entries have been looked for is changed where it
 * is, if it is in one piece and has room (shift.c). Then nothing but the lines of the row from there on is touched, and
 * nothing is copied or left behind. It is done as soon as it is planned, while those lines are in the cache, and taken
 * back where the batch fails later. For that rows that move are given some room. */
#include "dcsr/store/cpu/batch.h"
#include "dcsr/store/cpu/merge.h"

/* Rows up to SHORT entries have no tail. Entries are looked for only where a row has more than FEW for each: else
 * merging takes no longer. A tail is searched at the cost of reading it, SEARCHED columns for each of the head, which
 * may take as long as merging. A segment of a tail is for this share of the row. A page that gets fewer than MANY
 * entries, or has more than SPARSE for each of them, is planned row by row: a row that moves alone costs some lines of
 * memory here and there, as much as copying SPARSE entries in passing. To be changed in place a row gets one
 * ROOM_SHARE-th of the slack of others. */
#ifdef DCSR_SIMT /* small, to be tried by small tests */
enum { SHORT = 16, FEW = 2, MANY = 4, SPARSE = 3, SEARCHED = 8, TAIL_SHARE = 16, ROOM_SHARE = 4 };
#else
enum { SHORT = 1024, FEW = 8, MANY = 8, SPARSE = 64, SEARCHED = 8, TAIL_SHARE = 16, ROOM_SHARE = 4 };
#endif

/* ---- Planning ---- */

/* Whether all entries from the i-th on come behind those of a row that ascends. */
static bool comes_behind(const dcsr_i_batch *b, const dcsr_i_row_page *page, unsigned r, uint64_t i)
{
    if (b->mark || page->fragmented >> r & 1) return false;
    return dcsr_i_column_at(b, i) >
           b->matrix->arena.columns[dcsr_i_begin_of(page, 0, r) + page->length[r] - 1];
}

/* Whether so few entries come for a row that each is looked for: if it is changed in place that does not copy it. */
static bool is_searched(const dcsr_i_batch *b, uint64_t length, uint64_t n)
{
    return n == 1 || length > (b->in_place ? 1 : FEW) * n;
}

/* How many places a row of this length gets when it moves. A longer row must never get fewer: a row can turn out
 * shorter than planned, because it already had some of the entries, and it must still fit. */
static uint64_t places_for(const dcsr_i_batch *b, uint64_t length)
{
    if (!b->in_place) return length;
    const uint64_t shorter = length < SHORT ? length : SHORT,
                   places = dcsr_i_capacity_for(shorter, b->matrix->slack / ROOM_SHARE, shorter);
    return length > places ? length : places;
}

static uint64_t all_entries(const dcsr_i_row_page *page)
{
    uint64_t all = 0;
    for (unsigned r = 0; r < DCSR_I_PAGE_ROWS; r++) all += page->length[r];
    return all;
}

/* Whether it is clear without a look into the rows that all of them move: many entries come, some of them for rows that
 * are merged, and the first of these does not grow at its end, for which it would need slack. */
static bool is_dense(const dcsr_i_batch *b, const dcsr_i_group *g)
{
    const dcsr_i_row_page *old = g->old;
    uint64_t merged = 0;
    if (!old) return true;
    if (b->in_place || g->end - g->first < MANY) return false;
    const uint64_t all = all_entries(old);
    if ((g->end - g->first) * SPARSE < all) return false;
    for (uint64_t i = g->first; i < g->end; i += b->growth[i].entries) {
        const unsigned r = dcsr_i_row_in_page(b, dcsr_i_key_at(b, i));
        const uint64_t length = old->length[r];
        if (!length || (length > SHORT && is_searched(b, length, b->growth[i].entries))) continue;
        if (!merged && old->ascending >> r & 1 && comes_behind(b, old, r, i)) return false;
        merged += length;
    }
    return merged != 0;
}

dcsr_status dcsr_i_find_rows(const dcsr_i_batch *b, dcsr_i_group *g, uint64_t *longest)
{
    const dcsr_i_row_page *old = g->old;
    const uint64_t ascending = old ? old->ascending & ~old->duplicates & ~old->tombstones : 0;
    for (uint64_t i = g->first, end; i < g->end; i = end) {
        const unsigned r = dcsr_i_row_in_page(b, dcsr_i_key_at(b, i));
        const uint64_t length = old ? old->length[r] : 0;
        end = dcsr_i_row_end(b, g, i);
        const uint64_t n = end - i;
        DCSR_TRY(dcsr_i_check_length(b, i, length + n));
        b->growth[i] = (dcsr_i_growth){.entries = (uint32_t)n,
                                       .searched = length && ascending >> r & 1 && is_searched(b, length, n)};
        if (!length) continue;
        const bool sorts = (~old->ascending | old->fragmented) >> r & 1;
        if (sorts && length + n > *longest) *longest = length + n;
    }
    g->whole = is_dense(b, g);
    for (uint64_t i = g->first; g->whole && i < g->end; i += b->growth[i].entries)
        b->growth[i].searched = false;
    return DCSR_OK;
}

/* Whether the entries that a row does not have are appended to its tail; with what that needs. */
static bool has_tail(const dcsr_i_row_page *page, unsigned r, dcsr_i_growth *grows)
{
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    const uint64_t length = page->length[r];
    if (length <= SHORT || grows->changes) return false;
    const int count = dcsr_i_row_pieces(page, r, pieces);
    const uint64_t head = pieces[0].length;
    if (grows->entries * (length - head) > SEARCHED * head) return false;
    /* The first segment must stay as it is, so there is no tail behind one that has room. */
    if (count == 1 && grows->room) return false;
    if (grows->absent <= grows->room) return true;
    if (grows->full) return false;
    grows->capacity = (uint32_t)dcsr_i_fitting_capacity(grows->absent - grows->room + head / TAIL_SHARE);
    return true;
}

/* Whether a row is changed where it is. */
static bool can_shift(const dcsr_i_batch *b, const dcsr_i_row_page *page, unsigned r,
                      const dcsr_i_growth *grows)
{
    return b->in_place && grows->searched && !(page->fragmented >> r & 1) &&
           (b->mark ? !dcsr_i_row_is_rounded(page, r) : grows->absent <= grows->room);
}

static void plan_row(const dcsr_i_batch *b, const dcsr_i_group *g, uint64_t i)
{
    const dcsr_i_row_page *page = g->old;
    const unsigned r = dcsr_i_row_in_page(b, dcsr_i_key_at(b, i));
    dcsr_i_growth *grows = &b->growth[i];
    const uint64_t length = page ? page->length[r] : 0, n = grows->entries;
    const bool ascends = length && (page->ascending & ~page->duplicates & ~page->tombstones) >> r & 1;
    if (grows->searched ? !grows->changes && (b->mark || !grows->absent) : !length && b->mark) {
        grows->way = DCSR_I_LEAVE;
        return;
    }
    grows->way = DCSR_I_MERGE;
    if (page) dcsr_i_find_room(b, page, r, grows);
    if (grows->searched ? grows->behind && !b->mark : ascends && comes_behind(b, page, r, i)) {
        grows->slack = true;
        grows->absent = (uint32_t)n;
        grows->capacity = (uint32_t)dcsr_i_capacity_for(length + n, b->matrix->slack, length + n);
        memset(b->found + i, 0, n * sizeof *b->found);
        if (grows->room >= n) {
            grows->way = DCSR_I_APPEND;
            grows->capacity = 0;
        }
    } else if (can_shift(b, page, r, grows)) {
        grows->way = DCSR_I_SHIFT;
    } else if (grows->searched && !b->mark && has_tail(page, r, grows)) {
        grows->way = DCSR_I_APPEND;
    } else {
        grows->capacity = (uint32_t)places_for(b, length + (b->mark           ? 0
                                                            : grows->searched ? grows->absent
                                                                              : n));
    }
    grows->moves = grows->way == DCSR_I_MERGE && grows->segments;
}

/* Notes the places of a range, part by part where they were born in different versions, from `to` on; returns how
 * many parts there are. With the arena's lock. Where `to` is NULL, returns how many there are at most, one for each
 * block. */
static uint64_t leave(const dcsr_i_batch *b, dcsr_i_piece range, dcsr_i_retired *to)
{
    const dcsr_i_arena *arena = &b->matrix->arena;
    const int shift = dcsr_i_arena_shift(arena);
    uint64_t parts = 0;
    if (!to && range.length) return ((range.begin + range.length - 1) >> shift) - (range.begin >> shift) + 1;
    for (; range.length; parts++) {
        uint64_t born, size = dcsr_i_arena_run_locked(arena, range.begin, range.length, &born);
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
    fresh->segment[0] = dcsr_i_segment_page_create(b->matrix);
    fresh->moved = b->version;
    return fresh->segment[0] != NULL;
}

/* The places of all rows, each with those of the batch's entries that may come. */
static uint64_t places_of_all(const dcsr_i_batch *b, const dcsr_i_group *g)
{
    uint64_t places = 0, i = g->first;
    for (unsigned r = 0; r < DCSR_I_PAGE_ROWS; r++) {
        uint64_t length = g->old ? g->old->length[r] : 0;
        if (i < g->end && dcsr_i_row_in_page(b, dcsr_i_key_at(b, i)) == r) {
            length += b->mark ? 0 : b->growth[i].entries;
            i += b->growth[i].entries;
        }
        places += length ? places_for(b, length) : 0;
    }
    return places;
}

/* All rows move. */
static bool plan_whole(const dcsr_i_batch *b, dcsr_i_group *g)
{
    g->whole = true;
    g->needed = places_of_all(b, g);
    g->ranges = g->old ? leave_segments(b, g->old, UINT64_MAX, NULL) : 0;
    return dcsr_i_copy_page(b, g) && make_whole(b, g->fresh);
}

/* Whether all rows of a page move where so many do, which have so many entries: those are half of them, or so many rows
 * that the others cost less to move than to leave. Where few do the others stay: what differs between two versions is
 * looked for in rows that have moved. */
static bool has_most(const dcsr_i_row_page *page, uint64_t entries, uint64_t rows)
{
    const uint64_t all = all_entries(page);
    return 2 * entries >= all || (rows >= MANY && rows * SPARSE >= all);
}

/* Plans row by row. */
static bool plan_rows(const dcsr_i_batch *b, dcsr_i_group *g)
{
    uint64_t merged = 0, rows = 0;
    unsigned levels = 0;
    bool moves = false, stays = true, shifts = false;
    for (uint64_t i = g->first; i < g->end; i += b->growth[i].entries) {
        plan_row(b, g, i);
        const dcsr_i_growth *grows = &b->growth[i];
        const unsigned r = dcsr_i_row_in_page(b, dcsr_i_key_at(b, i));
        g->needed += grows->capacity;
        moves |= grows->moves;
        shifts |= grows->way == DCSR_I_SHIFT;
        stays &= grows->way == DCSR_I_LEAVE || grows->way == DCSR_I_SHIFT;
        if (grows->moves) g->ranges += leave_segments(b, g->old, (uint64_t)1 << r, NULL);
        if (grows->capacity && !grows->moves) levels |= 1u << grows->segments;
        if (!grows->moves || grows->slack) continue;
        merged += g->old->length[r];
        rows++;
    }
    if (rows && has_most(g->old, merged, rows)) return plan_whole(b, g);
    g->shifted = shifts;
    g->stays = stays;
    return stays || (dcsr_i_make_page(b, g) && dcsr_i_make_segment_pages(b, g, moves, levels));
}

/* Changes the rows that are to be where they are; returns how many entries more there are. */
static uint64_t shift_rows(const dcsr_i_batch *b, dcsr_i_group *g)
{
    dcsr_i_row_page *page = (dcsr_i_row_page *)g->old;
    uint64_t more = 0;
    for (uint64_t i = g->first; i < g->end; i += b->growth[i].entries)
        if (b->growth[i].way == DCSR_I_SHIFT) more += dcsr_i_shift_row(b, page, i);
    g->born = page->born;
    page->born = b->version;
    return more;
}

void dcsr_i_unshift_rows(const dcsr_i_batch *b, const dcsr_i_group *g)
{
    dcsr_i_row_page *page = (dcsr_i_row_page *)g->old;
    if (!g->shifted) return;
    for (uint64_t i = g->first; i < g->end; i += b->growth[i].entries)
        if (b->growth[i].way == DCSR_I_SHIFT) dcsr_i_unshift_row(b, page, i);
    page->born = g->born; /* else the next batch would take it for a page of its own */
}

dcsr_status dcsr_i_plan_merging(const dcsr_i_batch *b, dcsr_i_group *g, uint64_t *stored)
{
    if (g->whole ? !plan_whole(b, g) : !plan_rows(b, g)) {
        g->shifted = false;
        return DCSR_ERROR_OUT_OF_MEMORY;
    }
    if (!g->stays) dcsr_i_count_replaced_by(b, g);
    if (g->shifted) *stored += shift_rows(b, g);
    return DCSR_OK;
}

/* ---- Merging ---- */

/* The entries of a row as later ones. */
static dcsr_i_later later_of(const dcsr_i_batch *b, uint64_t i, uint64_t n)
{
    const size_t size = b->matrix->value_size;
    for (uint64_t e = i; e < i + n; e++) b->columns[e] = dcsr_i_column_at(b, e) | b->mark;
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
        const uint64_t capacity = page->length[r] ? places_for(b, page->length[r]) : 0;
        page->segment[0]->of[r] = dcsr_i_segment_of(to, capacity);
        to += page->length[r];
        if (capacity == page->length[r]) continue;
        dcsr_i_copy_entries(b->matrix, to - joined.length, joined.begin, joined.length);
        joined = (dcsr_i_piece){0};
        to += capacity - page->length[r];
    }
    dcsr_i_copy_entries(b->matrix, to - joined.length, joined.begin, joined.length);
    any |= b->in_place;
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
        if (b->found[e].there) continue;
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

/* Row r moves to place *to, which becomes that behind it, unless nothing changes; returns whether it has. */
static bool move_row(const dcsr_i_batch *b, dcsr_i_group *g, dcsr_i_resolver *resolver, unsigned r,
                     uint64_t i, uint64_t *to, dcsr_i_table_change *sum)
{
    dcsr_i_row_page *page = g->fresh;
    const dcsr_i_growth *grows = &b->growth[i];
    bool changed;
    const uint64_t length = merge_row(b, g, resolver, i, *to, &changed),
                   capacity = grows->slack ? dcsr_i_capacity_for(length, b->matrix->slack, length)
                                           : places_for(b, length);
    if (!changed && !b->in_place) return false;
    note_merged(b, g, r, length, sum);
    page->segment[0]->of[r] = dcsr_i_segment_of(*to, capacity);
    if (grows->moves) dcsr_i_clear_segments(page, 1, r, b->matrix->segments_per_row);
    sum->rewrites += grows->moves;
    *to += capacity;
    return true;
}

/* The rows that get something, one behind the other. Returns the mask of those that are others than before; *moved: at
 * another place. What was planned for more is given back. */
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
            to += grows->capacity;
            changed |= bit;
        } else if (grows->way == DCSR_I_SHIFT) {
            changed |= bit; /* it has been */
        } else if (grows->way == DCSR_I_MERGE && move_row(b, g, resolver, r, i, &to, sum)) {
            changed |= bit;
            if (grows->moves) *moved |= bit;
        }
    }
    dcsr_i_arena_give(&b->matrix->arena, to, g->places + g->needed - to);
    return changed;
}

/* Nothing has changed: the next version has the page that was there. */
static void share_old(const dcsr_i_batch *b, dcsr_i_group *g)
{
    *g->slot = (dcsr_i_row_page *)g->old;
    dcsr_i_page_free(b->matrix, g->fresh, g->old);
    if (g->whole) dcsr_i_arena_give(&b->matrix->arena, g->places, g->needed);
}

/* Rows are merged one by one, but asked for ahead: the lines of both pages that say where a row is, and will be; and
 * somewhat later, when those have come, the row. */
DCSR_I_PREFETCH void fetch_pages(const dcsr_i_batch *b, const dcsr_i_group *g)
{
    if (g->stays || g->whole) return;
    for (uint64_t i = g->first; i < g->end; i += b->growth[i].entries) {
        const unsigned r = dcsr_i_row_in_page(b, dcsr_i_key_at(b, i));
        if (b->growth[i].way == DCSR_I_LEAVE || b->growth[i].way == DCSR_I_SHIFT) continue;
        if (g->old && g->old->segment[0]) __builtin_prefetch(&g->old->segment[0]->of[r]);
        __builtin_prefetch(&g->fresh->length[r], 1);
        if (!b->growth[i].moves) continue;
        __builtin_prefetch(&g->fresh->segment[0]->of[r], 1);
    }
}

DCSR_I_PREFETCH void fetch_rows(const dcsr_i_batch *b, const dcsr_i_group *g)
{
    enum { LINE = 16, MOST = 128 };
    const uint32_t *columns = b->matrix->arena.columns;
    if (!g->old || g->stays || g->whole) return;
    for (uint64_t i = g->first; i < g->end; i += b->growth[i].entries) {
        if (b->growth[i].way != DCSR_I_MERGE || !b->growth[i].segments) continue;
        if (b->in_place) { /* another thread may be changing the page: its last lines, as planned */
            for (uint64_t c = 0; c < MOST / 2 && c < b->growth[i].tail; c += LINE)
                __builtin_prefetch(columns + b->growth[i].tail - c);
            continue;
        }
        const unsigned r = dcsr_i_row_in_page(b, dcsr_i_key_at(b, i));
        const uint64_t begin = dcsr_i_begin_of(g->old, 0, r), length = g->old->length[r];
        for (uint64_t c = 0; c < length && c < MOST; c += LINE) __builtin_prefetch(columns + begin + c);
        if (b->stride > 1) __builtin_prefetch(b->matrix->arena.values + begin * b->matrix->value_size);
    }
}

/* Notes what a group leaves behind, with the rows in a mask, from `to` on; returns where that ends. */
static dcsr_i_retired *leave_group(const dcsr_i_batch *b, const dcsr_i_group *g, uint64_t moved,
                                   dcsr_i_retired *to)
{
    if (!g->old) return to;
    to = dcsr_i_retire_pages(b, g, to);
    if (!moved) return to;
    pthread_mutex_lock(&b->matrix->arena.space->lock);
    to += leave_segments(b, g->old, moved, to);
    pthread_mutex_unlock(&b->matrix->arena.space->lock);
    return to;
}

/* The rows that are planned to move. */
static uint64_t moving_rows(const dcsr_i_batch *b, const dcsr_i_group *g)
{
    uint64_t moving = 0;
    for (uint64_t i = g->first; i < g->end; i += b->growth[i].entries)
        if (b->growth[i].moves) moving |= (uint64_t)1 << dcsr_i_row_in_page(b, dcsr_i_key_at(b, i));
    return moving;
}

void dcsr_i_merge_group(const dcsr_i_batch *b, dcsr_i_group *g, dcsr_i_resolver *resolver,
                        dcsr_i_table_change *sum)
{
    dcsr_i_table_change change = {0};
    uint64_t moved = 0;
    const dcsr_i_group *end_of_groups = b->groups + b->group_count;
    if (g + DCSR_I_PAGES_AHEAD < end_of_groups) fetch_pages(b, g + DCSR_I_PAGES_AHEAD);
    if (g + DCSR_I_SEGMENTS_AHEAD < end_of_groups) fetch_rows(b, g + DCSR_I_SEGMENTS_AHEAD);
    if (g->stays) return;
    dcsr_i_retired *to = &b->limbo->retired[g->retired], *end = to + g->replaced;
    if (b->in_place) { /* which rows have been is not to be seen afterwards; all that are planned to move do so */
        to = leave_group(b, g, g->whole ? UINT64_MAX : moving_rows(b, g), to);
        dcsr_i_enter_page(b, g);
    }
    const bool changed =
        g->whole ? merge_whole(b, g, resolver, &change) : merge_rows(b, g, resolver, &moved, &change) != 0;
    if (changed) {
        sum->stored += change.stored, sum->extra += change.extra, sum->duplicates += change.duplicates;
        sum->tombstones += change.tombstones, sum->rewrites += change.rewrites;
        if (!b->in_place) to = leave_group(b, g, g->whole ? UINT64_MAX : moved, to);
    } else {
        share_old(b, g);
    }
    /* What was counted and is not replaced after all: nothing, of no version. */
    for (; to < end; to++) *to = (dcsr_i_retired){.kind = DCSR_I_RANGE, .born = UINT64_MAX};
}

/* scatter.c: writing a planned batch into the arena and the fresh pages. */
#include "dcsr/store/cpu/batch.h"
#include <omp.h>
#include <string.h>

void dcsr_i_store_entries(const dcsr_i_batch *b, uint64_t i, uint64_t n, uint64_t to)
{
    uint32_t *columns = b->matrix->arena.columns + to;
    uint64_t column_mask = ((uint64_t)1 << b->column_bits) - 1;
    if (b->stride == 1) {
        for (uint64_t e = 0; e < n; e++) columns[e] = (uint32_t)(b->entries[i + e] & column_mask) | b->mark;
        return;
    }
    const uint64_t *entries = b->entries + 2 * i;
    for (uint64_t e = 0; e < n; e++) columns[e] = (uint32_t)(entries[2 * e] & column_mask) | b->mark;
    char *values = b->matrix->arena.values + to * b->matrix->value_size;
    switch (b->matrix->value_size) {
#define STORE_VALUES(ctype)                                                            \
    for (uint64_t e = 0; e < n; e++) ((ctype *)values)[e] = (ctype)entries[2 * e + 1]; \
    break
    case 1:
        STORE_VALUES(uint8_t);
    case 2:
        STORE_VALUES(uint16_t);
    case 4:
        STORE_VALUES(uint32_t);
    case 8:
        STORE_VALUES(uint64_t);
#undef STORE_VALUES
    }
}

/* Moves row r of the page to place `to`, resolved if it was marked. Its old places stay as they are for older
 * versions. */
static void move_row(const dcsr_i_batch *b, dcsr_i_group *g, dcsr_i_resolver *resolver, unsigned r,
                     uint64_t to, dcsr_i_table_change *sum)
{
    dcsr_i_row_page *page = g->fresh;
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    int count = dcsr_i_row_pieces(page, r, pieces);
    uint64_t length = page->length[r], left = 0, bit = (uint64_t)1 << r;
    if ((page->duplicates | page->tombstones) & bit) {
        left =
            dcsr_i_resolve_row(resolver, b->matrix,
                               &(dcsr_i_stretch){pieces, count, page->ascending >> r & 1}, DCSR_MAX_COLS, to);
        sum->duplicates -= page->duplicates >> r & 1;
        sum->tombstones -= page->tombstones >> r & 1;
        page->duplicates &= ~bit;
        page->tombstones &= ~bit;
    } else {
        for (int k = 0; k < count; left += pieces[k++].length)
            dcsr_i_copy_entries(b->matrix, to + left, pieces[k].begin, pieces[k].length);
    }
    page->ascending &= ~bit;
    dcsr_i_clear_segments(page, 0, r, b->matrix->segments_per_row);
    sum->extra -= (uint64_t)count - 1;
    sum->stored -= length - left;
    sum->rewrites++;
    page->fragmented &= ~bit;
    page->length[r] = (uint32_t)left;
}

/* Row r takes up its entries, from the i-th on; new places are from `to` on. */
static void scatter_row(const dcsr_i_batch *b, dcsr_i_group *g, dcsr_i_resolver *resolver, unsigned r,
                        uint64_t i, uint64_t to, dcsr_i_table_change *sum)
{
    dcsr_i_row_page *page = g->fresh;
    const dcsr_i_growth *grows = &b->growth[i];
    uint64_t n = grows->entries, bit = (uint64_t)1 << r;
    if (grows->moves) {
        move_row(b, g, resolver, r, to, sum);
        /* Resolving may have made the row shorter than was planned for; without giving back the rest, a row
         * that gets the same entries again and again would grow for ever. */
        uint64_t capacity = dcsr_i_capacity_for(page->length[r] + n, b->matrix->slack, page->length[r] + n);
        dcsr_i_arena_give(&b->matrix->arena, to + capacity, grows->capacity - capacity);
        page->segment[0]->of[r] = dcsr_i_segment_of(to, capacity);
        dcsr_i_store_entries(b, i, n, to + page->length[r]);
    } else {
        uint64_t fits = n < grows->room ? n : grows->room;
        /* Combined, the entries of a batch ascend. */
        if (!page->length[r] || (fits && grows->segments == 1)) page->ascending &= ~bit;
        if (!page->length[r] && !b->mark && b->matrix->policy != DCSR_POLICY_KEEP) page->ascending |= bit;
        dcsr_i_store_entries(b, i, fits, grows->tail);
        if (fits < n) {
            int k = grows->segments;
            page->segment[k]->of[r] = dcsr_i_segment_of(to, grows->capacity);
            dcsr_i_store_entries(b, i + fits, n - fits, to);
            if (k) page->fragmented |= bit;
            sum->extra += k != 0;
        }
    }
    if (b->mark) {
        sum->tombstones += !(page->tombstones & bit);
        page->tombstones |= bit;
    } else if (b->matrix->policy != DCSR_POLICY_KEEP && page->length[r]) {
        sum->duplicates += !(page->duplicates & bit);
        page->duplicates |= bit;
    }
    page->length[r] += (uint32_t)n;
    sum->stored += n;
}

DCSR_I_PREFETCH void fetch_tail(const dcsr_i_batch *b, uint64_t tail)
{
    __builtin_prefetch(b->matrix->arena.columns + tail, 1);
    if (b->matrix->value_size) __builtin_prefetch(b->matrix->arena.values + tail * b->matrix->value_size, 1);
}

/* Asks for the ends of the rows of a group: of those that are looked through, for some lines. */
DCSR_I_PREFETCH void fetch_ends(const dcsr_i_batch *b, const dcsr_i_group *g)
{
    enum { LINE = 16, LINES = 4 };
    for (uint64_t i = g->first; i < g->end; i += b->growth[i].entries) {
        const uint64_t tail = b->growth[i].tail;
        fetch_tail(b, tail);
        for (uint64_t k = 1; b->growth[i].taken_out && k < LINES && k * LINE < tail; k++)
            __builtin_prefetch(b->matrix->arena.columns + tail - k * LINE, 1);
    }
}

/* Two passes, so that the cache lines of the rows' ends, which lie anywhere in the arena, are on their way
 * before they are written. */
static void scatter_group(const dcsr_i_batch *b, dcsr_i_group *g, dcsr_i_resolver *resolver,
                          dcsr_i_retired *retired, dcsr_i_table_change *sum)
{
    for (uint64_t i = g->first; i < g->end; i += b->growth[i].entries)
        if (b->growth[i].room && !b->growth[i].taken_out) fetch_tail(b, b->growth[i].tail);
    uint64_t to = g->places;
    for (uint64_t i = g->first; i < g->end; i += b->growth[i].entries) {
        if (b->growth[i].skipped) continue;
        if (b->growth[i].taken_out) {
            retired = dcsr_i_take_out(b, g->fresh, i, retired, sum);
            continue;
        }
        if (b->mark) sum->deletions += b->growth[i].entries;
        scatter_row(b, g, resolver, dcsr_i_row_in_page(b, dcsr_i_key_at(b, i)), i, to, sum);
        to += b->growth[i].capacity;
    }
    /* What was counted and is not replaced after all: nothing, of no version. */
    for (; retired < &b->limbo->retired[g->retired + g->replaced]; retired++)
        *retired = (dcsr_i_retired){.kind = DCSR_I_RANGE, .born = UINT64_MAX};
}

void dcsr_i_enter_page(const dcsr_i_batch *b, const dcsr_i_group *g)
{
    g->fresh->born = b->version;
    *g->slot = g->fresh;
}

dcsr_i_retired *dcsr_i_retire_pages(const dcsr_i_batch *b, const dcsr_i_group *g, dcsr_i_retired *to)
{
    const dcsr_i_row_page *old = g->old;
    if (old == g->fresh) return to;
    for (int k = 0; k < b->matrix->segments_per_row; k++)
        if (old->segment[k] && old->segment[k] != g->fresh->segment[k])
            *to++ =
                (dcsr_i_retired){.kind = DCSR_I_SEGMENT_PAGE, .born = old->moved, .pointer = old->segment[k]};
    *to++ = (dcsr_i_retired){.kind = DCSR_I_ROW_PAGE, .born = old->born, .pointer = (void *)old};
    return to;
}

/* Notes what the group replaces in its part of the limbo list; returns where that ends. */
static dcsr_i_retired *retire_group(const dcsr_i_batch *b, const dcsr_i_group *g)
{
    const dcsr_i_row_page *old = g->old;
    if (!old) return &b->limbo->retired[g->retired];
    dcsr_i_retired *to = dcsr_i_retire_pages(b, g, &b->limbo->retired[g->retired]);
    for (uint64_t i = g->first; g->ranges && i < g->end; i += b->growth[i].entries) {
        if (!b->growth[i].moves) continue;
        unsigned r = dcsr_i_row_in_page(b, dcsr_i_key_at(b, i));
        dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
        const int count = dcsr_i_segments_of(b->matrix, old, r, pieces);
        for (int k = 0; k < count; k++)
            *to++ = (dcsr_i_retired){
                .kind = DCSR_I_RANGE,
                .born = dcsr_i_arena_born(&b->matrix->arena, pieces[k].begin, pieces[k].length),
                .begin = pieces[k].begin,
                .size = pieces[k].length};
    }
    return to;
}

/* Everything that can fail is done before this is called, but for the room to sort in: with `resolvers` it is
 * there too. */
void dcsr_i_scatter_batch(dcsr_i_batch *b, dcsr_i_resolver *resolvers)
{
    uint64_t stored = 0, extra = 0, duplicates = 0, tombstones = 0, rewrites = 0, deletions = 0;
#pragma omp parallel num_threads(b->threads) reduction(+ : stored, extra, duplicates, tombstones, rewrites, deletions) \
    if (b->threads > 1)
    {
        dcsr_i_table_change sum = {0};
        dcsr_i_resolver *resolver = &resolvers[b->threads > 1 ? omp_get_thread_num() : 0];
#pragma omp for schedule(dynamic, 16)
        for (uint64_t g = 0; g < b->group_count; g++) {
            if (!b->merges && g + DCSR_I_SEGMENTS_AHEAD < b->group_count)
                b->mark && b->in_place
                    ? fetch_ends(b, &b->groups[g + DCSR_I_SEGMENTS_AHEAD])
                    : fetch_tail(b, b->growth[b->groups[g + DCSR_I_SEGMENTS_AHEAD].first].tail);
            if (b->merges) {
                dcsr_i_merge_group(b, &b->groups[g], resolver, &sum);
                continue;
            }
            dcsr_i_retired *to = retire_group(b, &b->groups[g]);
            if (b->in_place) dcsr_i_enter_page(b, &b->groups[g]);
            scatter_group(b, &b->groups[g], resolver, to, &sum);
        }
        stored += sum.stored, extra += sum.extra, duplicates += sum.duplicates;
        tombstones += sum.tombstones, rewrites += sum.rewrites, deletions += sum.deletions;
    }
    b->next->stored += b->stored + stored;
    b->next->extra_segments += extra;
    b->next->duplicate_rows += duplicates;
    b->next->tombstone_rows += tombstones;
    b->deletions = deletions;
    atomic_fetch_add(&b->matrix->counts.row_rewrites, rewrites);
}

/* plan.cuh: finding the rows and pages that a sorted batch touches (insert_cuda.h), its entries in these where it is
 * merged, and deciding what each row needs, as plan.c does (internal, in kernels: insert.cu).
 *
 * Where a batch is merged (merge.cuh) a row that is to hold it moves unless there is room for a short tail.
 *
 * Bytes an entry: 8 for its key, its neighbour's comes from cache, 8 for the head, and 8 to find the rows by.
 * Each touched row is looked at by one thread. It reads 8 bytes of the root, 4 of its length and a word of
 * each mask, 8 for each segment it has, and writes 40 that say how it grows. */
#ifndef DCSR_PLAN_CUH
#define DCSR_PLAN_CUH

#include "dcsr/store/cuda/merge.cuh"
#include "dcsr/store/arena_slots.cuh"
#include "dcsr/device/reduce.cuh"

/* ---- Finding ---- */

DCSR_CUDA_INLINE uint64_t row_of(const dcsr_i_cuda_batch &b, uint64_t i)
{
    return b.keys[i] >> b.column_bits;
}

/* 1 in the low half where a row begins, and in the high half where a page does. */
DCSR_CUDA_INLINE uint64_t head_of(const dcsr_i_cuda_batch &b, uint64_t i)
{
    const uint64_t row = row_of(b, i), before = i ? row_of(b, i - 1) : ~row,
                   page = row >> DCSR_CUDA_PAGE_SHIFT != before >> DCSR_CUDA_PAGE_SHIFT;
    return (row != before) | page << 32;
}

/* Where rows and pages begin; and merging, what each entry is for its row. Nothing has been freed yet. */
DCSR_CUDA_INLINE void find_entries(const dcsr_i_cuda_batch &b)
{
    const uint64_t n = has_outside(b) ? 0
                       : b.combined   ? b.counts->entries
                                      : b.most,
                   tiles = dcsr_i_cuda_tiles(b);
    if (b.moves.freed != b.told_freed) /* very few entries clear it where a row moves */
        for (uint64_t k = dcsr_i_cuda_first(); k < b.moves.blocks; k += dcsr_i_cuda_step())
            b.moves.freed[k] = 0;
    for (uint64_t tile = dcsr_i_cuda_first_block(); tile < tiles; tile += dcsr_i_cuda_block_step()) {
        const uint64_t i = tile * DCSR_CUDA_TILE + threadIdx.x;
        uint64_t heads = i < n ? head_of(b, i) : 0, total;
        heads += dcsr_i_cuda_block_scan(heads, &total);
        if (i <= b.most) b.heads.within[i] = static_cast<uint32_t>(heads | heads >> 16);
        if (threadIdx.x == 0) b.heads.before[tile] = total;
        if (!b.merges) continue;
        const uint64_t found = i < n ? look_for(b, i) : 0;
        const uint64_t before = dcsr_i_cuda_block_scan(found, &total);
        if (i <= b.most)
            b.counted.within[i] =
                static_cast<uint32_t>(before | before >> 16) | (found & COUNTS ? DCSR_CUDA_COUNTED : 0);
        if (threadIdx.x == 0) b.counted.before[tile] = total;
    }
    if (!dcsr_i_cuda_comes_last(&b.plan->done)) return;
    dcsr_i_cuda_sum_tiles(b.heads.before, tiles);
    if (b.merges) dcsr_i_cuda_sum_tiles(b.counted.before, tiles);
    if (threadIdx.x) return;
    const uint64_t all = b.heads.before[tiles];
    b.counts->rows = static_cast<uint32_t>(all);
    b.counts->pages = static_cast<uint32_t>(all >> 32);
    b.counts->entries = n;
}

/* The first entry of the next row, for one of a row; most rows have few. */
DCSR_CUDA_INLINE uint32_t row_end(const dcsr_i_cuda_batch &b, uint32_t i, uint32_t n)
{
    const uint64_t row = row_of(b, i);
    uint32_t within = i, step = 1;
    for (; n - within > step && row_of(b, within + step) == row; step *= 2) within += step;
    uint32_t behind = n - within > step ? within + step : n;
    while (behind - within > 1) {
        const uint32_t middle = within + (behind - within) / 2;
        if (row_of(b, middle) == row)
            within = middle;
        else
            behind = middle;
    }
    return behind;
}

/* ---- Deciding ---- */

DCSR_CUDA_INLINE void add(uint64_t *sum, uint64_t value)
{
    atomicAdd(reinterpret_cast<unsigned long long *>(sum), static_cast<unsigned long long>(value));
}

/* What a row has to begin with. */
struct row_state {
    const dcsr_i_cuda_row_page *page; /* NULL: it is empty */
    uint32_t r;                       /* in the page */
    uint64_t length, tail;
    uint32_t room, segments;
    bool full;    /* it can have no further segment */
    bool rounded; /* its capacity is not what is written (segment.h) */
};

/* Where the row has room, and how much. A row that is not fragmented has no second segment. */
DCSR_CUDA_INLINE row_state look_at(const dcsr_i_cuda_batch &b, uint64_t row)
{
    row_state state = {dcsr_i_cuda_page_of(b.rows, row),
                       static_cast<uint32_t>(row) & (DCSR_CUDA_PAGE_ROWS - 1),
                       0,
                       0,
                       0,
                       0,
                       false,
                       false};
    if (!state.page) return state;
    state.length = state.page->length[state.r];
    uint32_t most = dcsr_i_cuda_bit(state.page->fragmented, state.r) ? b.rows.segments_per_row : 1;
    uint64_t total = 0;
    for (; state.segments < most; state.segments++) {
        uint32_t slot = state.page->segment[state.segments];
        if (slot == DCSR_CUDA_NONE) break;
        const dcsr_i_segment segment = b.segment_page[slot].of[state.r];
        const uint64_t capacity = dcsr_i_segment_capacity(segment);
        if (!capacity) break;
        state.tail = dcsr_i_segment_begin(segment) + state.length - total;
        total += capacity;
    }
    /* A row of a capacity that cannot be written, which it fills. */
    state.rounded = total < state.length;
    state.full = state.rounded || state.segments == static_cast<uint32_t>(b.rows.segments_per_row);
    state.room = state.rounded ? 0 : static_cast<uint32_t>(total - state.length);
    return state;
}

/* Most rows of a page set the same bits. */
DCSR_CUDA_INLINE void set_bits(uint32_t *word, uint32_t bits)
{
    if ((dcsr_i_cuda_peek(word) & bits) != bits) atomicOr(word, bits);
}

/* The row's part of its page's needs. The first row of a page names it. */
DCSR_CUDA_INLINE void note_needs(const dcsr_i_cuda_batch &b, uint32_t first, const dcsr_i_cuda_growth &grows,
                                 uint32_t places)
{
    const uint64_t row = b.keys[first] >> b.column_bits;
    const uint64_t before = first ? dcsr_i_cuda_head(b, first - 1) >> 32 : 0,
                   page = dcsr_i_cuda_head(b, first) >> 32;
    dcsr_i_cuda_page_need *need = &b.needs[page - 1];
    if (page != before) need->page = static_cast<uint32_t>(row >> DCSR_CUDA_PAGE_SHIFT);
    if (places) set_bits(&need->levels, 1u << grows.segment);
    if (places && b.apart) set_bits(&need->moves, 1u << grows.segment);
    if (grows.moves) set_bits(&need->moves, b.merges ? 1u : ~0u);
}

/* In place: whether a page is changed itself. */
DCSR_CUDA_INLINE bool is_own(const dcsr_i_cuda_batch &b, const dcsr_i_cuda_row_page *page)
{
    return page && page->segment[0] != DCSR_CUDA_NONE && (!b.seen || page->unseen >= b.seen);
}

/* Whether what its row r has may be changed where it is. */
DCSR_CUDA_INLINE bool is_own_row(const dcsr_i_cuda_batch &b, const dcsr_i_cuda_row_page *page, uint32_t r)
{
    return !b.seen || (page->unseen >= b.seen && dcsr_i_cuda_bit(page->own, r));
}

/* The page of a row that changes is to be copied, or made. */
DCSR_CUDA_INLINE void need_copy(const dcsr_i_cuda_batch &b, uint32_t first)
{
    dcsr_i_cuda_page_need *need = &b.needs[(dcsr_i_cuda_head(b, first) >> 32) - 1];
    set_bits(&need->page, static_cast<uint32_t>(row_of(b, first) >> DCSR_CUDA_PAGE_SHIFT));
    set_bits(&need->levels, 1);
    set_bits(&need->moves, 1);
}

/* Row j of the batch, which has the entries from `first` to `end`: returns the places that it needs, and adds the rest
 * to the sum. */
DCSR_CUDA_INLINE uint32_t plan_row(const dcsr_i_cuda_batch &b, uint32_t j, uint32_t first, uint32_t end,
                                   dcsr_i_cuda_plan &sum)
{
    dcsr_i_cuda_growth grows = {};
    uint64_t row = row_of(b, first), n = end - first;
    row_state state = look_at(b, row);
    if (state.length + n > UINT32_MAX / 2)
        atomicMax(reinterpret_cast<unsigned long long *>(&b.plan->too_long), (1ull << 32) - row);
    bool duplicates = state.page && dcsr_i_cuda_bit(state.page->duplicates, state.r);
    bool tombstones = state.page && dcsr_i_cuda_bit(state.page->tombstones, state.r);
    uint64_t needed = 0;
    grows.skipped = b.mark && !state.length;
    grows.moves = false;
    if (!grows.skipped && n > state.room) {
        grows.moves = state.full;
        needed = grows.moves ? state.length + n : n - state.room;
        /* In a bulk a row has the places that it fills. */
        if (!b.bulk || state.segments)
            needed = dcsr_i_capacity_for(needed, b.bulk ? 0 : b.slack, state.length + n);
    }
    grows.tail = state.tail;
    grows.length = static_cast<uint32_t>(state.length);
    grows.room = grows.moves ? 0 : state.room;
    grows.lead = grows.moves ? static_cast<uint32_t>(state.length) : 0;
    grows.segment = static_cast<uint8_t>(grows.moves ? 0 : state.segments);
    grows.marked = duplicates || tombstones;
    note_needs(b, first, grows, static_cast<uint32_t>(needed));
    if (!grows.skipped) {
        sum.stored += n;
        sum.extra += needed && grows.segment;
        sum.tombstones += b.mark && !tombstones;
        sum.duplicates += !b.mark && b.duplicates && state.length && !duplicates;
    }
    if (grows.moves) {
        sum.extra -= state.segments - 1;
        sum.moved += state.length;
        sum.left += state.length + state.room;
        sum.moving_marked += grows.marked;
    }
    b.growth[j] = grows;
    return static_cast<uint32_t>(needed);
}

/* ---- Deciding how a batch is merged ---- */

/* Room behind a row that is merged: for a tail, as with more than that it is merged anew. */
DCSR_CUDA_INLINE uint64_t room_for_tail(const dcsr_i_cuda_batch &b, uint64_t length)
{
    const uint64_t slack = length ? dcsr_i_slack(b.slack, length) : 0, most = DCSR_CUDA_LONGEST_TAIL;
    return slack < most ? slack : most;
}

/* Whether a row that is to lose n entries closes up where it is: not if it would be left with much more room than a row
 * that grows is given. What moves a row that has no more entries gives its places back. */
DCSR_CUDA_INLINE bool closes_up(const row_state &state, uint64_t n)
{
    const uint64_t length = state.length - n;
    return n && length && !state.rounded && state.length <= DCSR_CUDA_LONGEST_IN_PLACE &&
           state.room + n <= length / 2 + DCSR_CUDA_LONGEST_TAIL;
}

/* As plan_row(). */
DCSR_CUDA_INLINE uint32_t plan_merging(const dcsr_i_cuda_batch &b, uint32_t j, uint32_t first, uint32_t end,
                                       dcsr_i_cuda_plan &sum)
{
    dcsr_i_cuda_growth grows = {};
    const uint64_t ranks = dcsr_i_cuda_ranks(b, first), ranks_behind = dcsr_i_cuda_ranks(b, end);
    const bool changes = ranks >> 32 != ranks_behind >> 32;
    uint64_t row = row_of(b, first), n = static_cast<uint32_t>(ranks_behind) - static_cast<uint32_t>(ranks);
    row_state state = look_at(b, row);
    if (state.length + n > UINT32_MAX / 2)
        atomicMax(reinterpret_cast<unsigned long long *>(&b.plan->too_long), (1ull << 32) - row);
    uint64_t needed = 0, length = b.mark ? state.length - n : state.length + n;
    grows.marked = !dcsr_i_cuda_is_mergeable(state.page, state.r);
    grows.length = static_cast<uint32_t>(state.length);
    grows.ordered = state.length ? state.page->ordered[state.r] : 0;
    grows.begin = state.tail - state.length;
    grows.tail = state.tail;
    grows.skipped = !grows.marked && !n && !changes;
    const bool in_place = b.in_place && !grows.marked && (b.mark ? closes_up(state, n) : changes) &&
                          is_own_row(b, state.page, state.r);
    const bool fits = b.mark
                          ? in_place
                          : !grows.marked && (!changes || in_place) && n <= state.room &&
                                (!state.length || state.length - grows.ordered + n <= DCSR_CUDA_LONGEST_TAIL);
    grows.in_place = in_place && fits;
    grows.moves = !grows.skipped && !fits && state.segments;
    grows.room = state.room;
    const uint64_t room = room_for_tail(b, length) / (b.mark ? 4 : 1);
    if (!grows.skipped && !fits && !grows.marked)
        needed = room ? dcsr_i_fitting_capacity(length + room) : length;
    if (!b.in_place) {
        note_needs(b, first, grows, static_cast<uint32_t>(needed));
    } else if (!grows.skipped && !is_own(b, state.page)) {
        need_copy(b, first);
        sum.copying++;
    }
    if (!grows.skipped) sum.stored += b.mark ? 0 - n : n;
    if (grows.moves) {
        sum.moved += state.length;
        sum.left += state.length + state.room;
        sum.tails += state.length - grows.ordered;
        sum.moving_marked += grows.marked;
    }
    b.growth[j] = grows;
    return static_cast<uint32_t>(needed);
}

DCSR_CUDA_INLINE void add_of_block(uint64_t *sum, uint64_t value)
{
    value = dcsr_i_cuda_block_sum(value);
    if (value && threadIdx.x == 0) add(sum, value);
}

DCSR_CUDA_INLINE uint64_t add_and_tell(uint64_t *sum, uint64_t value)
{
    return atomicAdd(reinterpret_cast<unsigned long long *>(sum), static_cast<unsigned long long>(value));
}
DCSR_CUDA_INLINE uint32_t add_and_tell(uint32_t *sum, uint32_t value)
{
    return atomicAdd(sum, value);
}

/* The block's share of a sum that all blocks add to, in any order. */
template <class T> DCSR_CUDA_INLINE T claim(T *sum, T value)
{
    SIMT_SHARED(T, begin, 1);
    if (threadIdx.x == 0) begin[0] = value ? add_and_tell(sum, value) : 0;
    __syncthreads();
    const T claimed = begin[0];
    __syncthreads();
    return claimed;
}

/* By the threads that have the rows' first entries. */
DCSR_CUDA_INLINE void plan_rows(const dcsr_i_cuda_batch &b)
{
    dcsr_i_cuda_plan sum = {};
    const uint32_t n = static_cast<uint32_t>(b.counts->entries);
    if (dcsr_i_cuda_first() == 0) b.first[b.counts->rows] = n;
    for (uint64_t tile = (uint64_t)blockIdx.x * blockDim.x; tile < n; tile += dcsr_i_cuda_step()) {
        const uint32_t i = static_cast<uint32_t>(tile) + threadIdx.x;
        const bool is_row = i < n && static_cast<uint32_t>(head_of(b, i));
        const uint32_t j = is_row ? dcsr_i_cuda_row_index(b, i) : 0;
        uint64_t places = 0, total, moving;
        bool moves = false;
        if (is_row) {
            const uint32_t end = row_end(b, i, n);
            places = b.merges ? plan_merging(b, j, i, end, sum) : plan_row(b, j, i, end, sum);
            moves = b.growth[j].moves;
            b.first[j] = i;
            b.places[j] = static_cast<uint32_t>(places);
        }
        const uint64_t before = dcsr_i_cuda_block_scan(places, &total),
                       m = dcsr_i_cuda_block_scan(moves, &moving);
        const uint64_t begin = claim(&b.plan->places, total), listed = claim(&b.plan->moving, moving);
        if (is_row) b.offsets[j] = begin + before;
        if (moves) b.moving[listed + m] = j;
    }
    add_of_block(&b.plan->stored, sum.stored);
    add_of_block(&b.plan->extra, sum.extra);
    add_of_block(&b.plan->duplicates, sum.duplicates);
    add_of_block(&b.plan->tombstones, sum.tombstones);
    add_of_block(&b.plan->moving_marked, sum.moving_marked);
    add_of_block(&b.plan->moved, sum.moved);
    add_of_block(&b.plan->left, sum.left);
    add_of_block(&b.plan->tails, sum.tails);
    if (b.in_place) add_of_block(&b.plan->copying, sum.copying);
}

/* ---- Rows that move ---- */

DCSR_CUDA_INLINE uint32_t number_of(const dcsr_i_cuda_batch &b, uint64_t j)
{
    return static_cast<uint32_t>(b.keys[b.first[j]] >> b.column_bits);
}

/* Rows are listed in any order, as their blocks of threads come: their number and their entries are claimed as one. Of
 * more rows (DCSR_CUDA_MOST_CLAIMED) the lengths are summed up in a pass of their own. */
enum { ENTRY_BITS = 36 };

/* Rows that follow one another mostly stand in the same block. All lanes must call. */
DCSR_CUDA_INLINE void free_by_warp(uint32_t *freed, int shift, uint64_t begin, uint64_t places)
{
    const uint64_t block = __shfl_sync(DCSR_CUDA_ALL_LANES, begin >> shift, 0);
    const bool within = !places || (begin >> shift == block && (begin + places - 1) >> shift == block);
    const uint64_t inside = dcsr_i_cuda_warp_sum(within ? places : 0);
    if (inside && dcsr_i_cuda_lane() == 0) atomicAdd(&freed[block], static_cast<uint32_t>(inside));
    if (!within) dcsr_i_cuda_free_places(freed, shift, begin, places);
}

DCSR_CUDA_INLINE void list_moves(const dcsr_i_cuda_batch &b)
{
    const dcsr_i_cuda_moves &moves = b.moves;
    const uint64_t moving = b.plan->moving;
    const int shift = moves.shift;
    const uint64_t entry_mask = ((uint64_t)1 << ENTRY_BITS) - 1;
    for (uint64_t tile = (uint64_t)blockIdx.x * blockDim.x; tile < moving; tile += dcsr_i_cuda_step()) {
        const uint64_t x = tile + threadIdx.x;
        const uint32_t j = x < moving ? b.moving[x] : 0;
        const dcsr_i_cuda_growth grows = b.growth[j];
        uint64_t entries, tails;
        const uint64_t before = dcsr_i_cuda_block_scan(x < moving ? grows.length : 0, &entries);
        const uint64_t tails_before =
            dcsr_i_cuda_block_scan(x < moving ? grows.length - grows.ordered : 0, &tails);
        const uint64_t rows = moving - tile < blockDim.x ? moving - tile : blockDim.x;
        const bool claims = b.room.moving <= DCSR_CUDA_MOST_CLAIMED;
        const uint64_t claimed = claims ? claim(&b.plan->listed, rows << ENTRY_BITS | entries) : 0,
                       sorted = b.merges ? claim(&b.plan->tails_listed, tails) : 0;
        const uint64_t m = claims ? (claimed >> ENTRY_BITS) + threadIdx.x : x;
        if (b.merges)
            free_by_warp(moves.freed, shift, grows.begin, x < moving ? grows.length + grows.room : 0);
        if (x >= moving) continue;
        const uint32_t row = number_of(b, j), r = row & (DCSR_CUDA_PAGE_ROWS - 1);
        const dcsr_i_cuda_row_page *page = dcsr_i_cuda_page_of(b.rows, row);
        for (int k = b.merges; k < b.rows.segments_per_row && page->segment[k] != DCSR_CUDA_NONE; k++) {
            dcsr_i_cuda_free_places(moves.freed, shift,
                                    dcsr_i_segment_begin(b.segment_page[page->segment[k]].of[r]),
                                    dcsr_i_cuda_capacity_of(b.segment_page, page, r, k));
        }
        if (!b.merges) moves.list[m] = row;
        moves.to[m] = b.merges ? grows.begin : b.offsets[j];
        moves.offsets[m] = claims ? (claimed & entry_mask) + before : grows.length;
        if (claims && m + 1 == moving) moves.offsets[moving] = moves.offsets[m] + grows.length;
        if (!b.merges) continue;
        const uint32_t first = b.first[j], at = static_cast<uint32_t>(sorted + tails_before);
        b.growth[j].sorted = at;
        const uint32_t n = b.first[j + 1] - first, rank = static_cast<uint32_t>(dcsr_i_cuda_rank(b, first));
        const bool all = static_cast<uint32_t>(dcsr_i_cuda_rank(b, first + n)) - rank == n;
        b.movers[m] = {
            b.begin + b.offsets[j], first, n, grows.ordered, grows.length, at, rank, grows.begin, all};
    }
}

#endif

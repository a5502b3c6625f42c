/* plan.cu: finding the rows and pages that a sorted batch touches (insert_cuda.h), and deciding what each row
 * needs, as plan.c does.
 *
 * Bytes an entry: 8 for its key, its neighbour's comes from cache, 8 for the head, and 8 to find the rows by.
 * Each touched row is looked at by one thread. It reads 8 bytes of the root, 4 of its length and a word of
 * each mask, 12 for each segment it has, and writes 40 that say how it grows. */
#include "dcsr/store/cuda/gather_cuda.h"
#include "dcsr/store/cuda/insert_cuda.h"
#include "dcsr/store/cuda/arena_slots.cuh"
#include "dcsr/device/prim_cuda.h"
#include "dcsr/device/reduce.cuh"

/* ---- Finding ---- */

/* Where each row begins, and how many of all there are. */
static __global__ void find_rows(dcsr_i_cuda_batch b)
{
    uint64_t n = b.combined ? b.counts->entries : b.most;
    for (uint64_t i = dcsr_i_cuda_first(); i < n; i += dcsr_i_cuda_step()) {
        uint64_t before = b.heads[i], upto = b.heads[i + 1];
        if (before != upto) b.growth[static_cast<uint32_t>(before)].first = static_cast<uint32_t>(i);
        if (i + 1 < n) continue;
        b.growth[static_cast<uint32_t>(upto)].first = static_cast<uint32_t>(n);
        b.counts->rows = static_cast<uint32_t>(upto);
        b.counts->pages = static_cast<uint32_t>(upto >> 32);
        if (!b.combined) b.counts->entries = n;
    }
}

dcsr_status dcsr_i_cuda_group_entries(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_batch *batch)
{
    DCSR_TRY(dcsr_i_cuda_scan_runs(stream, batch->keys, batch->combined ? &batch->counts->entries : nullptr,
                                   batch->most, batch->column_bits, batch->column_bits + DCSR_CUDA_PAGE_SHIFT,
                                   batch->heads));
    dcsr_i_cuda_launch(stream, find_rows, batch->most, *batch);
    return DCSR_OK;
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
};

/* Where the row has room, and how much. A row that is not fragmented has no second segment. */
DCSR_CUDA_INLINE row_state look_at(const dcsr_i_cuda_batch &b, uint64_t row)
{
    row_state state = {
        dcsr_i_cuda_page_of(b.rows, row), static_cast<uint32_t>(row) & (DCSR_CUDA_PAGE_ROWS - 1), 0, 0, 0, 0};
    if (!state.page) return state;
    state.length = state.page->length[state.r];
    uint32_t most = dcsr_i_cuda_bit(state.page->fragmented, state.r) ? b.rows.segments_per_row : 1;
    uint64_t total = 0;
    for (; state.segments < most; state.segments++) {
        uint32_t slot = state.page->segment[state.segments];
        uint32_t capacity = slot == DCSR_CUDA_NONE ? 0 : b.segment_page[slot].capacity[state.r];
        if (!capacity) break;
        state.tail = b.segment_page[slot].begin[state.r] + state.length - total;
        total += capacity;
    }
    state.room = static_cast<uint32_t>(total - state.length);
    return state;
}

/* The row's part of its page's needs. The first row of a page names it. */
DCSR_CUDA_INLINE void note_needs(const dcsr_i_cuda_batch &b, uint64_t row, const dcsr_i_cuda_growth &grows,
                                 uint32_t places)
{
    uint64_t before = b.heads[grows.first] >> 32, page = b.heads[grows.first + 1] >> 32;
    dcsr_i_cuda_page_need *need = &b.needs[page - 1];
    if (page != before) need->page = static_cast<uint32_t>(row >> DCSR_CUDA_PAGE_SHIFT);
    if (places) atomicOr(&need->levels, 1u << grows.segment);
    if (grows.moves) atomicOr(&need->moves, 1u);
}

/* Returns the places that the row needs, and adds the rest to the sum. */
DCSR_CUDA_INLINE uint32_t plan_row(const dcsr_i_cuda_batch &b, uint32_t j, dcsr_i_cuda_plan &sum)
{
    dcsr_i_cuda_growth grows;
    grows.first = b.growth[j].first;
    uint64_t row = b.keys[grows.first] >> b.column_bits, n = b.growth[j + 1].first - grows.first;
    row_state state = look_at(b, row);
    if (state.length + n > UINT32_MAX / 2)
        atomicMax(reinterpret_cast<unsigned long long *>(&b.plan->too_long), (1ull << 32) - row);
    bool duplicates = state.page && dcsr_i_cuda_bit(state.page->duplicates, state.r);
    bool tombstones = state.page && dcsr_i_cuda_bit(state.page->tombstones, state.r);
    uint64_t needed = 0;
    grows.skipped = b.mark && !state.length;
    grows.moves = false;
    if (!grows.skipped && n > state.room) {
        grows.moves = state.segments == static_cast<uint32_t>(b.rows.segments_per_row);
        needed = (grows.moves ? state.length + n : n - state.room) +
                 (b.bulk ? 0 : dcsr_i_cuda_slack(state.length + n));
    }
    grows.tail = state.tail;
    grows.room = grows.moves ? 0 : state.room;
    grows.lead = grows.moves ? static_cast<uint32_t>(state.length) : 0;
    grows.segment = static_cast<uint8_t>(grows.moves ? 0 : state.segments);
    grows.marked = duplicates || tombstones;
    note_needs(b, row, grows, static_cast<uint32_t>(needed));
    if (!grows.skipped) {
        sum.stored += n;
        sum.extra += needed && grows.segment;
        sum.tombstones += b.mark && !tombstones;
        sum.duplicates += !b.mark && b.duplicates && state.length && !duplicates;
    }
    if (grows.moves) {
        sum.extra -= state.segments - 1;
        sum.moved += state.length;
        sum.moving_marked += grows.marked;
        b.moving[atomicAdd(reinterpret_cast<unsigned long long *>(&b.plan->moving), 1ull)] = j;
    }
    /* `first` is there, and read by the thread of the row before. */
    b.growth[j].tail = grows.tail;
    b.growth[j].room = grows.room;
    b.growth[j].lead = grows.lead;
    b.growth[j].segment = grows.segment;
    b.growth[j].moves = grows.moves;
    b.growth[j].marked = grows.marked;
    b.growth[j].skipped = grows.skipped;
    return static_cast<uint32_t>(needed);
}

DCSR_CUDA_INLINE void add_of_block(uint64_t *sum, uint64_t value)
{
    value = dcsr_i_cuda_block_sum(value);
    if (value && threadIdx.x == 0) add(sum, value);
}

static __global__ void plan_rows(dcsr_i_cuda_batch b)
{
    dcsr_i_cuda_plan sum = {};
    for (uint64_t j = dcsr_i_cuda_first(); j < b.most_rows; j += dcsr_i_cuda_step()) {
        uint32_t places = j < b.counts->rows ? plan_row(b, static_cast<uint32_t>(j), sum) : 0;
        b.places[j] = places;
        sum.places += places;
    }
    add_of_block(&b.plan->places, sum.places);
    add_of_block(&b.plan->stored, sum.stored);
    add_of_block(&b.plan->extra, sum.extra);
    add_of_block(&b.plan->duplicates, sum.duplicates);
    add_of_block(&b.plan->tombstones, sum.tombstones);
    add_of_block(&b.plan->moving_marked, sum.moving_marked);
    add_of_block(&b.plan->moved, sum.moved);
}

dcsr_status dcsr_i_cuda_plan_rows(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_batch *batch)
{
    dcsr_i_cuda_launch(stream, plan_rows, batch->most_rows, *batch);
    return dcsr_i_cuda_scan_u32(stream, batch->places, batch->offsets, batch->most_rows);
}

/* ---- Rows that move ---- */

DCSR_CUDA_INLINE uint32_t number_of(const dcsr_i_cuda_batch &b, uint64_t j)
{
    return static_cast<uint32_t>(b.keys[b.growth[j].first] >> b.column_bits);
}

static __global__ void flag_marked(dcsr_i_cuda_batch b, uint32_t rows)
{
    for (uint64_t j = dcsr_i_cuda_first(); j < rows; j += dcsr_i_cuda_step())
        b.places[j] = b.growth[j].moves && b.growth[j].marked;
}

static __global__ void list_marked(dcsr_i_cuda_batch b, uint32_t rows, uint32_t *list)
{
    for (uint64_t j = dcsr_i_cuda_first(); j < rows; j += dcsr_i_cuda_step())
        if (b.places[j]) list[b.offsets[j]] = number_of(b, j);
}

dcsr_status dcsr_i_cuda_coo_marked(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_batch *batch, uint32_t rows,
                                   uint32_t *list)
{
    dcsr_i_cuda_launch(stream, flag_marked, rows, *batch, rows);
    DCSR_TRY(dcsr_i_cuda_scan_u32(stream, batch->places, batch->offsets, rows));
    dcsr_i_cuda_launch(stream, list_marked, rows, *batch, rows, list);
    return DCSR_OK;
}

static __global__ void list_moves(dcsr_i_cuda_batch b, uint32_t moving, int shift, dcsr_i_cuda_moves moves)
{
    for (uint64_t m = dcsr_i_cuda_first(); m < moving; m += dcsr_i_cuda_step()) {
        uint32_t j = b.moving[m], row = number_of(b, j), r = row & (DCSR_CUDA_PAGE_ROWS - 1);
        const dcsr_i_cuda_row_page *page = dcsr_i_cuda_page_of(b.rows, row);
        moves.list[m] = row;
        moves.to[m] = b.offsets[j];
        for (int k = 0; k < b.rows.segments_per_row; k++) {
            const dcsr_i_cuda_segment_page *segments = &b.segment_page[page->segment[k]];
            dcsr_i_cuda_free_places(moves.freed, shift, segments->begin[r], segments->capacity[r]);
        }
    }
}

dcsr_status dcsr_i_cuda_coo_moves(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_batch *batch, uint32_t moving,
                                  int shift, const dcsr_i_cuda_moves *moves)
{
    dcsr_i_cuda_launch(stream, list_moves, moving, *batch, moving, shift, *moves);
    return dcsr_i_cuda_sum_lengths(stream, &batch->rows, moves->list, moving, moves->offsets);
}

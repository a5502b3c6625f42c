/* insert.cu: the kernels of applying a batch (insert_cuda.h), each of which is a step or several:
 *
 *              prepare                                            complete, if it fits the room
 *      many      prim.cu    | find_entries | plan_rows            share_root   | copy_pages | move_rows
 *                                                               assign_pages | sort_tails | write entries
 *                                                               list_moves   |            | finish_rows
 *      few       prepare_few: one block of threads                as many
 *      very few  apply_very_few: one block of threads, mostly in shared memory
 *
 * In place the root stays what it is. What has been planned says all that is to be known of rows, so that pages may
 * change while rows move.
 *
 * A launch takes some 2.5 microseconds, of the host and of a kernel that has next to nothing to do; what a kernel
 * writes and then reads takes half a microsecond, and in shared memory next to nothing. All steps are loops over what
 * their threads are given (stream.cuh), and find their arrays by pointers; so one block of threads can do them all. */
#include "dcsr/store/cuda/insert_cuda.h"
#include "dcsr/device/prim_cuda.h"
#include "dcsr/device/tile_sort.cuh"
#include "dcsr/store/cuda/pages.cuh"
#include "dcsr/store/cuda/scatter.cuh"

DCSR_CUDA_INLINE bool fits(const dcsr_i_cuda_batch &b)
{
    return !has_outside(b) && dcsr_i_cuda_fits(&b.room, b.plan);
}

/* ---- Many entries: preparing ---- */

static __global__ void __launch_bounds__(DCSR_CUDA_TILE) group_entries(dcsr_i_cuda_batch b)
{
    dcsr_i_cuda_await();
    find_entries(b);
}

void dcsr_i_cuda_group_entries(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_batch *batch)
{
    dcsr_i_cuda_chain_blocks(stream, group_entries, dcsr_i_cuda_tiles(*batch), DCSR_CUDA_TILE, 0, *batch);
}

static __global__ void plan(dcsr_i_cuda_batch b)
{
    dcsr_i_cuda_await();
    plan_rows(b);
}

/* In a bulk rows stand in order. */
static __global__ void clear_places(dcsr_i_cuda_batch b)
{
    for (uint64_t j = b.counts->rows + dcsr_i_cuda_first(); j < b.most_rows; j += dcsr_i_cuda_step())
        b.places[j] = 0;
}

dcsr_status dcsr_i_cuda_plan_rows(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_batch *batch)
{
    dcsr_i_cuda_chain(stream, plan, batch->most, *batch);
    if (!batch->bulk) return DCSR_OK;
    dcsr_i_cuda_launch(stream, clear_places, batch->most_rows, *batch);
    return dcsr_i_cuda_scan_u32(stream, batch->places, batch->offsets, batch->most_rows);
}

/* ---- Rows that are to be resolved before ---- */

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

/* ---- Many entries: completing ---- */

static __global__ void assign(dcsr_i_cuda_batch b)
{
    dcsr_i_cuda_await();
    if (!b.in_place) share_root(b);
    if (!b.in_place || b.plan->copying) assign_pages(b);
    const dcsr_i_cuda_plan &planned = *b.plan;
    if (!planned.moving_marked && planned.moving <= b.room.moving && planned.tails <= b.room.tails)
        list_moves(b);
}

DCSR_CUDA_INLINE void write_entries(const dcsr_i_cuda_batch &b)
{
    if (b.merges)
        write_new(b);
    else
        scatter_entries(b);
}

/* By one block of threads: what has been planned, and what pages got. */
DCSR_CUDA_INLINE void tell(const dcsr_i_cuda_batch &b)
{
    if (threadIdx.x == 0) {
        b.told->counts = *b.counts;
        b.told->plan = *b.plan;
        if (b.found) b.told->found = *b.found;
    }
    if (!fits(b)) return;
    dcsr_i_cuda_page_need *needs = dcsr_i_cuda_needs_in(b.told);
    for (uint32_t i = threadIdx.x; b.plan->pages && i < b.counts->pages; i += blockDim.x)
        if (is_made(b, b.needs[i])) needs[b.needs[i].slot] = b.needs[i];
    if (!b.plan->moving || b.told_freed == b.moves.freed) return;
    for (uint64_t k = threadIdx.x; k < b.moves.blocks; k += blockDim.x) b.told_freed[k] = b.moves.freed[k];
}

/* By the last kernel: once all of its blocks have written what they had to, the host need not wait for the driver to
 * notice. */
DCSR_CUDA_INLINE void tell_end(const dcsr_i_cuda_batch &b)
{
    __syncthreads();
    if (threadIdx.x) return;
    __threadfence();
    if (atomicAdd(&b.plan->ended, 1u) + 1 < gridDim.x) return;
    __threadfence_system();
    dcsr_i_cuda_show(&b.told->complete, 1);
}

static __global__ void copy(dcsr_i_cuda_batch b)
{
    dcsr_i_cuda_await();
    if (blockIdx.x == gridDim.x - 1) tell(b); /* which has the fewest pages */
    if (!fits(b)) return;
    copy_pages(b);
    if (b.plan->tails) sort_tails(b);
}

static __global__ void DCSR_CUDA_WALK_BOUNDS write_all(dcsr_i_cuda_batch b)
{
    dcsr_i_cuda_await();
    if (fits(b)) {
        move_rows(b);
        write_entries(b);
        change_in_place(b);
        finish_rows(b);
    }
    tell_end(b);
}

static uint64_t most_of(uint64_t a, uint64_t b)
{
    return a < b ? b : a;
}

dcsr_status dcsr_i_cuda_complete(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_batch *batch)
{
    const dcsr_i_cuda_room_for *room = &batch->room;
    const int of_page = DCSR_CUDA_PAGE_ROWS < 256 ? 32 : 256;
    const uint64_t pages =
        most_of(1, most_of(room->pages, batch->root_pages)); /* needed ones are counted here */
    dcsr_i_cuda_chain(stream, assign, most_of(room->moving, pages), *batch);
    if (room->moving > DCSR_CUDA_MOST_CLAIMED) /* just as many as there are */
        DCSR_TRY(dcsr_i_cuda_scan_u64(stream, batch->moves.offsets, batch->moves.offsets, room->moving));
    const uint64_t tails = room->tails ? room->moving * 32 / (uint64_t)of_page + 1 : 0;
    dcsr_i_cuda_chain_blocks(stream, copy, most_of(1, most_of(room->pages, tails)), of_page, 0, *batch);
    /* A row that moves takes more places than it has entries. Few of these are spread over all of the device, as each
     * takes a chain of reads; and those that close up over as many blocks as have a group of lanes for each. */
    enum { LEAST_BLOCKS = 512 };
    const unsigned threads = dcsr_i_cuda_walk_threads();
    const uint64_t walk = room->moving ? dcsr_i_cuda_walk_blocks(room->places, room->moving) : 0,
                   closing =
                       batch->in_place && batch->mark ? batch->most_rows * CLOSING_LANES / threads + 1 : 0;
    const uint64_t least = room->moving || closing ? LEAST_BLOCKS : 0, entries = batch->most / threads + 1;
    dcsr_i_cuda_chain_blocks(stream, write_all, most_of(most_of(least, closing), most_of(walk, entries)),
                             (int)threads, threads / 32 * sizeof(dcsr_i_cuda_tile), *batch);
    return DCSR_OK;
}

/* ---- Few entries ---- */

namespace
{
struct sorted_entries {
    uint64_t *keys, *words;
};
} // namespace

/* The key of entry i; those that lie outside are told. */
DCSR_CUDA_INLINE uint64_t key_of(const dcsr_i_cuda_batch &b, const dcsr_i_cuda_given &given, unsigned i)
{
    if (given.keys) return given.keys[i];
    const uint64_t row = given.rows[i], col = given.cols[i];
    if (row >= b.rows.rows || col >= b.rows.cols)
        atomicMin(reinterpret_cast<unsigned long long *>(&b.found->outside),
                  static_cast<unsigned long long>(i));
    return row << b.column_bits | col;
}

/* Sorts and combines the entries, of which there are MOST at the most, a power of two. */
template <int MOST>
DCSR_CUDA_INLINE void sort_few(const dcsr_i_cuda_batch &b, const dcsr_i_cuda_given &given,
                               const sorted_entries &to)
{
    SIMT_SHARED(dcsr_i_cuda_tile_key, sorted, MOST);
    const unsigned n = static_cast<unsigned>(b.most), i = threadIdx.x;
    dcsr_i_cuda_tile_key own = {i < n ? key_of(b, given, i) : UINT64_MAX, i};
    own = dcsr_i_cuda_sort_tile(own, sorted, dcsr_i_cuda_tile_size(n));
    __syncthreads();
    if (i < n) sorted[i] = own;
    __syncthreads();
    const bool head = i < n && (!given.combine || !i || own.key != sorted[i - 1].key);
    uint64_t entries;
    const uint64_t at = dcsr_i_cuda_block_scan(head, &entries);
    if (i == 0) b.counts->entries = entries;
    if (!head) return;
    to.keys[at] = own.key;
    if (!to.words) return;
    uint64_t word = dcsr_i_cuda_load_word(given.values, given.value_size, own.from);
    for (unsigned k = i + 1; given.combine && k < n && sorted[k].key == own.key; k++)
        word =
            dcsr_i_cuda_combine_words(static_cast<int>(b.rows.type), b.policy, word,
                                      dcsr_i_cuda_load_word(given.values, given.value_size, sorted[k].from));
    to.words[at] = word;
}

/* From what was given to the plan. */
template <int MOST>
DCSR_CUDA_INLINE void prepare(const dcsr_i_cuda_batch &b, const dcsr_i_cuda_given &given,
                              const sorted_entries &to)
{
    for (uint64_t i = threadIdx.x; i < b.most_pages; i += blockDim.x) b.needs[i] = {};
    if (threadIdx.x == 0) {
        *b.counts = {};
        *b.plan = {};
        if (b.found) *b.found = {UINT64_MAX, 0, 0, 0, {}};
    }
    __syncthreads();
    sort_few<MOST>(b, given, to);
    __syncthreads();
    if (threadIdx.x == 0 && has_outside(b)) {
        b.found->row = given.rows[b.found->outside];
        b.found->col = given.cols[b.found->outside];
    }
    find_entries(b);
    __syncthreads();
    plan_rows(b);
}

static __global__ void __launch_bounds__(DCSR_CUDA_TILE)
    prepare_few(dcsr_i_cuda_batch b, dcsr_i_cuda_given given, sorted_entries to)
{
    prepare<DCSR_CUDA_FEW_ENTRIES>(b, given, to);
}

void dcsr_i_cuda_prepare_few(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_batch *batch, uint64_t *keys,
                             uint64_t *words, const dcsr_i_cuda_given *given)
{
    const sorted_entries to = {keys, words};
    int threads = 32; /* one for each entry and their end, and to sort them */
    while (threads < DCSR_CUDA_TILE && (uint64_t)threads <= batch->most) threads *= 2;
    dcsr_i_cuda_launch_blocks(stream, prepare_few, 1, threads, 0, *batch, *given, to);
}

/* ---- Very few ---- */

DCSR_CUDA_INLINE void move_few(const dcsr_i_cuda_batch &b)
{
    for (uint64_t k = threadIdx.x; k < b.moves.blocks; k += blockDim.x) b.moves.freed[k] = 0;
    __syncthreads();
    list_moves(b);
    __syncthreads();
    if (b.plan->tails) sort_tails(b);
    __syncthreads();
    move_rows(b);
}

DCSR_CUDA_INLINE void complete(const dcsr_i_cuda_batch &b)
{
    if (!b.in_place) share_root(b);
    if (!b.in_place || b.plan->copying) assign_pages(b);
    __syncthreads();
    if (fits(b)) {
        if (b.plan->pages) {
            copy_pages(b);
            __syncthreads();
        }
        if (b.plan->moving) move_few(b);
        write_entries(b);
        change_in_place(b);
        __syncthreads();
        finish_rows(b);
    }
    tell(b);
    tell_end(b);
}

static __global__ void DCSR_CUDA_WALK_BOUNDS apply_very_few(dcsr_i_cuda_batch b, dcsr_i_cuda_given given)
{
    enum { N = DCSR_CUDA_VERY_FEW, POWER = 64 };
    SIMT_SHARED(uint64_t, keys, N);
    SIMT_SHARED(uint64_t, words, N);
    SIMT_SHARED(uint32_t, heads, N + 1);
    SIMT_SHARED(uint32_t, counted, N + 1);
    SIMT_SHARED(uint32_t, positions, N);
    SIMT_SHARED(uint64_t, before, 4);
    SIMT_SHARED(uint32_t, first, N + 1);
    SIMT_SHARED(dcsr_i_cuda_growth, growth, N);
    SIMT_SHARED(uint32_t, places, N);
    SIMT_SHARED(uint64_t, offsets, N + 1);
    SIMT_SHARED(uint32_t, moving, N);
    SIMT_SHARED(dcsr_i_cuda_counts, counts, 1);
    SIMT_SHARED(dcsr_i_cuda_plan, plan, 1);
    SIMT_SHARED(dcsr_i_cuda_verdict, found, 1);
    SIMT_SHARED(dcsr_i_cuda_page_need, needs, DCSR_CUDA_FEW_PAGES);
    SIMT_SHARED(dcsr_i_cuda_page_change, copied, DCSR_CUDA_FEW_PAGES);
    SIMT_SHARED(uint32_t, list, N);
    SIMT_SHARED(uint64_t, to, N);
    SIMT_SHARED(uint64_t, entries, N + 1);
    SIMT_SHARED(dcsr_i_cuda_mover, movers, N);
    SIMT_SHARED(uint32_t, tails, DCSR_CUDA_FEW_TAILS);
    b.keys = keys;
    b.words = given.values ? words : nullptr;
    b.heads = {heads, before};
    b.counted = {counted, before + 2};
    b.positions = b.in_place ? positions : nullptr;
    b.first = first;
    b.growth = growth;
    b.places = places;
    b.offsets = offsets;
    b.moving = moving;
    b.counts = counts;
    b.plan = plan;
    b.found = given.rows ? found : nullptr;
    b.needs = needs;
    b.copied = copied;
    b.moves.list = list;
    b.moves.to = to;
    b.moves.offsets = entries;
    b.moves.freed = b.told_freed;
    b.movers = movers;
    b.tails = tails;
    prepare<POWER>(b, given, {keys, given.values ? words : nullptr});
    __syncthreads();
    complete(b);
}

void dcsr_i_cuda_apply_very_few(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_batch *batch,
                                const dcsr_i_cuda_given *given)
{
    const unsigned threads = dcsr_i_cuda_walk_threads();
    dcsr_i_cuda_launch_blocks(stream, apply_very_few, 1, (int)threads,
                              threads / 32 * sizeof(dcsr_i_cuda_tile), *batch, *given);
}

/* insert.cu: the kernels of applying a batch (insert_cuda.h), each of which is a step or, for few entries, several:
 *
 *                             prepare                                    complete, if it fits the room
 *      step       sort        find heads | look for | plan rows          give slots | copy | list moves | move | write | finish
 *                 combine                | entries  |                               | pages| sort tails | rows | new   | rows
 *      many       prim.cu     ---------------------------------          a kernel for each
 *      few        prepare_few                                            complete_few
 *
 * A launch takes some 2.5 microseconds, and so does a kernel that has next to nothing to do; a barrier of a block takes
 * some 0.05. All steps are loops over what their threads are given (stream.cuh), so that one block of threads
 * can do them all, one after the other. */
#include "dcsr/store/cuda/insert_cuda.h"
#include "dcsr/device/prim_cuda.h"
#include "dcsr/device/tile_sort.cuh"
#include "dcsr/store/cuda/pages.cuh"
#include "dcsr/store/cuda/scatter.cuh"

DCSR_CUDA_INLINE bool fits(const dcsr_i_cuda_batch &b)
{
    return dcsr_i_cuda_fits(&b.room, b.counts, b.plan);
}

/* ---- Many entries: preparing ---- */

static __global__ void group_entries(dcsr_i_cuda_batch b)
{
    find_heads(b);
}

void dcsr_i_cuda_group_entries(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_batch *batch)
{
    dcsr_i_cuda_launch_blocks(stream, group_entries, dcsr_i_cuda_tiles(*batch), DCSR_CUDA_TILE, 0, *batch);
}

static __global__ void look(dcsr_i_cuda_batch b)
{
    look_at_entries(b);
}

static __global__ void plan(dcsr_i_cuda_batch b)
{
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
    dcsr_i_cuda_launch_blocks(stream, look, dcsr_i_cuda_tiles(*batch), DCSR_CUDA_TILE, 0, *batch);
    dcsr_i_cuda_launch(stream, plan, batch->most_rows, *batch);
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
    assign_pages(b);
}

static __global__ void copy(dcsr_i_cuda_batch b)
{
    if (fits(b)) copy_pages(b);
}

static __global__ void list(dcsr_i_cuda_batch b)
{
    if (fits(b)) list_moves(b);
}

static __global__ void sort_all_tails(dcsr_i_cuda_batch b)
{
    if (fits(b)) sort_tails(b);
}

static __global__ void DCSR_CUDA_WALK_BOUNDS move(dcsr_i_cuda_batch b)
{
    if (fits(b)) move_rows(b);
}

DCSR_CUDA_INLINE void write_entries(const dcsr_i_cuda_batch &b)
{
    if (b.merges)
        write_new(b);
    else
        scatter_entries(b);
}

static __global__ void write_all(dcsr_i_cuda_batch b)
{
    if (fits(b)) write_entries(b);
}

static __global__ void finish(dcsr_i_cuda_batch b)
{
    if (fits(b)) finish_rows(b);
}

static dcsr_status move_all(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_batch *batch)
{
    const dcsr_i_cuda_room_for *room = &batch->room;
    dcsr_i_cuda_launch(stream, list, room->moving, *batch);
    if (room->moving > DCSR_CUDA_MOST_CLAIMED) /* just as many as there are */
        DCSR_TRY(dcsr_i_cuda_scan_u64(stream, batch->moves.offsets, batch->moves.offsets, room->moving));
    if (room->tails) dcsr_i_cuda_launch_warps(stream, sort_all_tails, room->moving, *batch);
    /* A row that moves takes more places than it has entries. */
    dcsr_i_cuda_launch_walk(stream, move, room->places, room->moving, *batch);
    return DCSR_OK;
}

dcsr_status dcsr_i_cuda_complete(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_batch *batch)
{
    dcsr_i_cuda_launch(stream, assign, batch->room.pages, *batch);
    dcsr_i_cuda_launch_blocks(stream, copy, batch->room.pages, DCSR_CUDA_PAGE_ROWS < 256 ? 32 : 256, 0, *batch);
    if (batch->room.moving) DCSR_TRY(move_all(stream, batch));
    dcsr_i_cuda_launch(stream, write_all, batch->most, *batch);
    dcsr_i_cuda_launch(stream, finish, batch->most_rows, *batch);
    return DCSR_OK;
}

/* ---- Few entries ---- */

namespace
{
struct sorted_entries {
    uint64_t *keys, *words;
};
} // namespace

/* Sorts and combines the entries: first how many of the given ones of a place are folded into one. */
DCSR_CUDA_INLINE void sort_few(const dcsr_i_cuda_batch &b, const dcsr_i_cuda_given &given,
                               const sorted_entries &to)
{
    SIMT_SHARED(uint64_t, keys, DCSR_CUDA_FEW_ENTRIES);
    SIMT_SHARED(uint32_t, from, DCSR_CUDA_FEW_ENTRIES);
    const unsigned n = static_cast<unsigned>(b.most), i = threadIdx.x;
    if (i < n) {
        keys[i] = given.keys[i];
        from[i] = i;
    }
    dcsr_i_cuda_sort_tile(keys, from, n);
    const bool head = i < n && (!given.combine || !i || keys[i] != keys[i - 1]);
    uint64_t entries;
    const uint64_t at = dcsr_i_cuda_block_scan(head, &entries);
    if (i == 0) b.counts->entries = entries;
    if (!head) return;
    to.keys[at] = keys[i];
    if (!to.words) return;
    uint64_t word = dcsr_i_cuda_load_word(given.values, given.value_size, from[i]);
    for (unsigned k = i + 1; given.combine && k < n && keys[k] == keys[i]; k++)
        word = dcsr_i_cuda_combine_words(static_cast<int>(b.rows.type), b.policy, word,
                                         dcsr_i_cuda_load_word(given.values, given.value_size, from[k]));
    to.words[at] = word;
}

static __global__ void __launch_bounds__(DCSR_CUDA_TILE)
    prepare_few(dcsr_i_cuda_batch b, dcsr_i_cuda_given given, sorted_entries to)
{
    for (uint64_t i = threadIdx.x; i < b.most_pages; i += blockDim.x) b.needs[i] = {};
    if (threadIdx.x == 0) {
        *b.counts = {};
        *b.plan = {};
    }
    __syncthreads();
    sort_few(b, given, to);
    __syncthreads();
    find_heads(b);
    __syncthreads();
    look_at_entries(b);
    __syncthreads();
    plan_rows(b);
}

void dcsr_i_cuda_prepare_few(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_batch *batch, uint64_t *keys,
                             uint64_t *words, const dcsr_i_cuda_given *given)
{
    const sorted_entries to = {keys, words};
    dcsr_i_cuda_launch_blocks(stream, prepare_few, 1, DCSR_CUDA_TILE, 0, *batch, *given, to);
}

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

static __global__ void DCSR_CUDA_WALK_BOUNDS complete_few(dcsr_i_cuda_batch b, const uint64_t *summary,
                                                          uint64_t words, uint64_t *told)
{
    assign_pages(b);
    __syncthreads();
    if (fits(b)) {
        copy_pages(b);
        if (b.plan->moving) move_few(b);
        write_entries(b);
        __syncthreads();
        finish_rows(b);
    }
    __syncthreads();
    for (uint64_t k = threadIdx.x; k < words; k += blockDim.x) told[k] = summary[k];
    uint32_t *freed = reinterpret_cast<uint32_t *>(told + words);
    if (!b.plan->moving || !fits(b)) return;
    for (uint64_t k = threadIdx.x; k < b.moves.blocks; k += blockDim.x) freed[k] = b.moves.freed[k];
}

void dcsr_i_cuda_complete_few(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_batch *batch, const void *summary,
                              uint64_t bytes, void *told)
{
    const unsigned threads = dcsr_i_cuda_walk_threads();
    dcsr_i_cuda_launch_blocks(stream, complete_few, 1, (int)threads, threads / 32 * sizeof(dcsr_i_cuda_tile),
                              *batch, static_cast<const uint64_t *>(summary), bytes / sizeof(uint64_t),
                              static_cast<uint64_t *>(told));
}

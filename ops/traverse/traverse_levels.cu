/* traverse_levels.cu: kernels of breadth-first search for levels of few and of some vertices: what takes time there is
 * not the bytes but how often one must be awaited before the next is known where to look for.
 *
 *      where a vertex's row is -> column -> its bit -> claimed
 *
 * Four trips to memory a level. A block takes as many rows of the frontier as it has threads, and one or two for each
 * thread where it is alone (block_walk.cuh). A vertex is reached by whoever sets its bit first,
 * and gets its level and its place in the next frontier at once. */
#include "ops/traverse/traverse_cuda.h"
#include "dcsr/store/block_walk.cuh"

enum {
    SOME_ITEMS = 4, /* entries that a thread has under way at once */
    FEW_ITEMS = 6,  /* and one of the only block, so that a grid's 1024 vertices fit into a window */
    FEW_ROWS = DCSR_CUDA_FEW_VERTICES / DCSR_CUDA_FEW_THREADS,
    SERIAL =
        32, /* a thread notes the places of a row of so many entries alone, of a longer one its warp does */
    MOST_BLOCKS = 512
};

/* Claims what is unvisited among the entries of a window, and calls keep(place in the next frontier, vertex) for each
 * vertex that this thread has claimed. All threads of a block must call. */
template <unsigned ITEMS, class C, class Keep>
DCSR_CUDA_INLINE void claim_window(const dcsr_i_cuda_traversal &s, const uint64_t *place, uint64_t size,
                                   int32_t level, C *count, Keep keep)
{
    uint32_t v[ITEMS], found = 0, mine = 0;
    for (unsigned k = 0; k < ITEMS; k++) {
        const uint64_t j = k * blockDim.x + threadIdx.x;
        v[k] = j < size ? s.rows.columns[place[j]] : 0;
        found |= (j < size ? 1u : 0u) << k;
    }
    for (unsigned k = 0; k < ITEMS; k++)
        /* Others may set bits meanwhile: what is seen too late is not claimed, only asked for. */
        if (found >> k & 1 && *(volatile uint32_t *)&s.visited[v[k] / 32] >> (v[k] & 31) & 1)
            found &= ~(1u << k);
    for (unsigned k = 0; k < ITEMS; k++) {
        const uint32_t bit = 1u << (v[k] & 31);
        if (found >> k & 1 && atomicOr(&s.visited[v[k] / 32], bit) & bit) found &= ~(1u << k);
    }
    mine = (uint32_t)__popc(found);
    uint64_t at = dcsr_i_cuda_take_places(count, mine);
    for (unsigned k = 0; k < ITEMS; k++) {
        if (!(found >> k & 1)) continue;
        s.level[v[k]] = level;
        keep(at++, v[k]);
    }
}

/* What a frontier in a queue is; by all threads of a block. */
DCSR_CUDA_INLINE dcsr_i_cuda_found measure(const dcsr_i_cuda_traversal &s, const uint32_t *queue,
                                           uint64_t count)
{
    uint64_t edges = 0;
    uint32_t longest = 0;
    for (uint64_t i = threadIdx.x; i < count; i += blockDim.x) {
        const uint32_t length = (uint32_t)dcsr_i_cuda_traversal_length(s, queue[i]);
        edges += length;
        longest = length > longest ? length : longest;
    }
    edges = dcsr_i_cuda_block_sum(edges);
    longest = dcsr_i_cuda_block_max(longest, 0u);
    return {count, edges, longest};
}

DCSR_CUDA_INLINE bool is_for_a_block(const dcsr_i_cuda_found &frontier)
{
    return frontier.vertices <= DCSR_CUDA_FEW_VERTICES && frontier.edges <= DCSR_CUDA_FEW_EDGES;
}

namespace
{
/* More than a kernel may have without asking. */
struct few_memory {
    enum { WINDOW = FEW_ITEMS * DCSR_CUDA_FEW_THREADS };
    uint64_t place[WINDOW];
    uint32_t frontier[DCSR_CUDA_FEW_VERTICES], next;
};
} // namespace

/* The frontier is in shared memory, with what does not fit behind that in the queue. Since the rows of a frontier are
 * with their threads before the next is found, that takes the same place. */
static __global__ void __launch_bounds__(DCSR_CUDA_FEW_THREADS, 1) search_few(dcsr_i_cuda_traversal s)
{
    enum { ROOM = DCSR_CUDA_FEW_VERTICES, WINDOW = few_memory::WINDOW };
    SIMT_SHARED_DYN(few_memory, memory);
    uint64_t *place = memory->place;
    uint32_t *frontier = memory->frontier, *next = &memory->next;
    dcsr_i_cuda_progress now = *s.progress;
    uint32_t *queue = s.queue[now.queue], count = (uint32_t)now.frontier.vertices;
    if (!count || !is_for_a_block(now.frontier)) return;
    for (uint32_t i = threadIdx.x; i < count; i += blockDim.x) frontier[i] = queue[i];
    __syncthreads();
    while (count && count <= ROOM) {
        dcsr_i_cuda_row_share rows[FEW_ROWS];
        uint64_t mine = 0, total;
        for (uint32_t r = 0; r < FEW_ROWS; r++) {
            const uint32_t i = r * blockDim.x + threadIdx.x;
            rows[r] = i < count ? dcsr_i_cuda_traversal_row(s, frontier[i])
                                : dcsr_i_cuda_row_share{0, 0, 0, 0, false};
            mine += rows[r].length;
        }
        uint64_t offset = dcsr_i_cuda_block_scan(mine, &total);
        if (total > DCSR_CUDA_FEW_EDGES) break;
        for (uint32_t r = 0; r < FEW_ROWS; r++) {
            rows[r].offset = (uint32_t)offset;
            offset += rows[r].length;
        }
        now.reached += count;
        now.edges += total;
        now.level_sum += (unsigned long long)now.level * count;
        now.level++;
        if (threadIdx.x == 0) *next = 0;
        for (uint64_t window = 0; window < total; window += WINDOW) {
            const uint64_t size = total - window < WINDOW ? total - window : (uint64_t)WINDOW;
            for (uint32_t r = 0; r < FEW_ROWS; r++)
                dcsr_i_cuda_note_places(s.rows, {place, NULL, window, size}, 0, rows[r]);
            __syncthreads();
            claim_window<FEW_ITEMS>(s, place, size, (int32_t)now.level, next,
                                    [&](uint64_t at, uint32_t v) { (at < ROOM ? frontier : queue)[at] = v; });
            __syncthreads();
        }
        if (!total) __syncthreads(); /* for *next */
        count = *next;
        __syncthreads(); /* before it is written again */
    }
    for (uint32_t i = threadIdx.x; i < count && i < ROOM; i += blockDim.x) queue[i] = frontier[i];
    __syncthreads();
    now.frontier = measure(s, queue, count);
    if (threadIdx.x == 0) *s.progress = now;
}

DCSR_CUDA_INLINE bool is_for_some(const dcsr_i_cuda_found &frontier)
{
    if (frontier.edges > DCSR_CUDA_SOME_EDGES || frontier.longest > DCSR_CUDA_SOME_LONGEST) return false;
    /* A block that has given up a frontier should not get it back at the next level. */
    return frontier.vertices > DCSR_CUDA_FEW_VERTICES / 2 || frontier.edges > DCSR_CUDA_FEW_EDGES / 2;
}

/* The block that comes last makes what was found the frontier. */
DCSR_CUDA_INLINE void end_level(dcsr_i_cuda_progress *progress)
{
    __threadfence();
    if (atomicAdd(&progress->done, 1u) != gridDim.x - 1) return;
    __threadfence();
    const dcsr_i_cuda_found next = {atomicAdd(&progress->next.vertices, 0ull),
                                    atomicAdd(&progress->next.edges, 0ull),
                                    atomicMax(&progress->next.longest, 0u)};
    progress->reached += progress->frontier.vertices;
    progress->edges += progress->frontier.edges;
    progress->level_sum += progress->level * progress->frontier.vertices;
    progress->level++;
    progress->queue ^= 1;
    progress->frontier = next;
    progress->next = dcsr_i_cuda_found{0, 0, 0};
    progress->done = 0;
}

static __global__ void __launch_bounds__(DCSR_CUDA_SOME_THREADS) search_some(dcsr_i_cuda_traversal s)
{
    enum { WINDOW = SOME_ITEMS * DCSR_CUDA_SOME_THREADS };
    SIMT_SHARED(uint64_t, place, WINDOW);
    dcsr_i_cuda_progress *progress = s.progress;
    const dcsr_i_cuda_found frontier = progress->frontier;
    const uint32_t *now = s.queue[progress->queue];
    uint32_t *next = s.queue[progress->queue ^ 1];
    const int32_t level = (int32_t)progress->level + 1;
    if (!is_for_some(frontier)) return;
    uint64_t edges = 0;
    uint32_t longest = 0;
    for (uint64_t first = dcsr_i_cuda_first_block() * blockDim.x; first < frontier.vertices;
         first += dcsr_i_cuda_block_step() * blockDim.x) {
        const uint64_t i = first + threadIdx.x;
        uint64_t total;
        dcsr_i_cuda_row_share row = i < frontier.vertices ? dcsr_i_cuda_traversal_row(s, now[i])
                                                          : dcsr_i_cuda_row_share{0, 0, 0, 0, false};
        row.offset = (uint32_t)dcsr_i_cuda_block_scan((uint64_t)row.length, &total);
        for (uint64_t window = 0; window < total; window += WINDOW) {
            const uint64_t size = total - window < WINDOW ? total - window : (uint64_t)WINDOW;
            dcsr_i_cuda_note_places(s.rows, {place, NULL, window, size}, 0, row);
            __syncthreads();
            claim_window<SOME_ITEMS>(s, place, size, level, &progress->next.vertices,
                                     [&](uint64_t at, uint32_t v) {
                                         const uint32_t length = (uint32_t)dcsr_i_cuda_traversal_length(s, v);
                                         next[at] = v;
                                         edges += length;
                                         longest = length > longest ? length : longest;
                                     });
            __syncthreads();
        }
    }
    edges = dcsr_i_cuda_block_sum(edges);
    longest = dcsr_i_cuda_block_max(longest, 0u);
    if (threadIdx.x) return;
    if (edges) atomicAdd(&progress->next.edges, (unsigned long long)edges);
    if (longest) atomicMax(&progress->next.longest, longest);
    end_level(progress);
}

void dcsr_i_cuda_traversal_few(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_traversal *search)
{
    dcsr_i_cuda_launch_blocks(stream, search_few, 1, DCSR_CUDA_FEW_THREADS, sizeof(few_memory), *search);
}

void dcsr_i_cuda_traversal_some(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_traversal *search)
{
    /* Blocks that find nothing to do cost time, too. */
    const uint64_t tiles = (search->rows.rows + DCSR_CUDA_SOME_THREADS - 1) / DCSR_CUDA_SOME_THREADS;
    dcsr_i_cuda_launch_blocks(stream, search_some, tiles < MOST_BLOCKS ? tiles : (uint64_t)MOST_BLOCKS,
                              DCSR_CUDA_SOME_THREADS, 0, *search);
}

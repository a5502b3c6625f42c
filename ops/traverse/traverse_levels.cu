/* traverse_levels.cu: kernels of breadth-first search for levels of few and of some vertices: what takes time there is
 * not the bytes but how often one must be awaited before the next is known where to look for.
 *
 *      where a vertex's row is -> column -> its bit -> claimed
 *
 * Four trips to memory a level, and one more where all blocks meet at its end. A block takes a row of the frontier for
 * each thread at most (block_walk.cuh). A vertex is reached by whoever sets its bit
 * first, and gets its level and its place in the next frontier at once. */
#include "ops/traverse/traverse_cuda.h"
#include "dcsr/store/block_walk.cuh"

enum {
    SOME_ITEMS = 4, /* entries that a thread has under way at once */
    FEW_ITEMS = 6,  /* and one of the only block, so that as many vertices of a grid fit into a window */
    LEAST_ROWS = 32 /* that a block takes of a frontier */
};

/* Claims what is unvisited among the entries of a window, and calls keep(place in the next frontier, vertex, where its
 * row is) for each vertex that this thread has claimed; that comes along with the claim. All threads of a block must
 * call. */
template <unsigned ITEMS, class C, class Keep>
DCSR_CUDA_INLINE void claim_window(const dcsr_i_cuda_traversal &s, const uint64_t *place, uint64_t size,
                                   int32_t level, C *count, Keep keep)
{
    uint32_t v[ITEMS], found = 0, mine = 0;
    uint64_t where[ITEMS];
    for (unsigned k = 0; k < ITEMS; k++) {
        const uint64_t j = k * blockDim.x + threadIdx.x;
        v[k] = j < size ? s.rows.columns[place[j]] : 0;
        found |= (j < size ? 1u : 0u) << k;
    }
    for (unsigned k = 0; k < ITEMS; k++)
        /* Others may set bits meanwhile: what is seen too late is not claimed, only asked for. */
        if (found >> k & 1 && dcsr_i_cuda_peek(&s.visited[v[k] / 32]) >> (v[k] & 31) & 1) found &= ~(1u << k);
    for (unsigned k = 0; k < ITEMS; k++) where[k] = found >> k & 1 ? s.where[v[k]] : 0;
    for (unsigned k = 0; k < ITEMS; k++) {
        const uint32_t bit = 1u << (v[k] & 31);
        if (found >> k & 1 && atomicOr(&s.visited[v[k] / 32], bit) & bit) found &= ~(1u << k);
    }
    mine = (uint32_t)__popc(found);
    uint64_t at = dcsr_i_cuda_take_places(count, mine);
    for (unsigned k = 0; k < ITEMS; k++) {
        if (!(found >> k & 1)) continue;
        s.level[v[k]] = level;
        keep(at++, v[k], where[k]);
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
    uint64_t place[WINDOW], where[DCSR_CUDA_FEW_VERTICES];
    uint32_t frontier[DCSR_CUDA_FEW_VERTICES], next;
};
} // namespace

/* The frontier is in shared memory, with where its rows are; what does not fit is behind that in the queue. Since the
 * rows of a frontier are with their threads before the next is found, that takes the same place. */
static __global__ void __launch_bounds__(DCSR_CUDA_FEW_THREADS, 1) search_few(dcsr_i_cuda_traversal s)
{
    enum { ROOM = DCSR_CUDA_FEW_VERTICES, WINDOW = few_memory::WINDOW };
    SIMT_SHARED_DYN(few_memory, memory);
    uint64_t *place = memory->place, *where = memory->where;
    uint32_t *frontier = memory->frontier, *next = &memory->next;
    dcsr_i_cuda_progress now = *s.progress;
    uint32_t *queue = s.queue[now.queue], count = (uint32_t)now.frontier.vertices;
    const uint32_t i = threadIdx.x;
    if (!count || !is_for_a_block(now.frontier)) return;
    if (i < count) {
        frontier[i] = queue[i];
        where[i] = s.where[queue[i]];
    }
    __syncthreads();
    while (count && count <= ROOM) {
        uint64_t total;
        dcsr_i_cuda_row_share row = i < count ? dcsr_i_cuda_traversal_row(s, frontier[i], where[i])
                                              : dcsr_i_cuda_row_share{0, 0, 0, 0, false};
        row.offset = (uint32_t)dcsr_i_cuda_block_scan((uint64_t)row.length, &total);
        if (total > DCSR_CUDA_FEW_EDGES) break;
        now.reached += count;
        now.edges += total;
        now.level_sum += (unsigned long long)now.level * count;
        now.level++;
        if (threadIdx.x == 0) *next = 0;
        for (uint64_t window = 0; window < total; window += WINDOW) {
            const uint64_t size = total - window < WINDOW ? total - window : (uint64_t)WINDOW;
            dcsr_i_cuda_note_places(s.rows, {place, NULL, window, size}, 0, row);
            __syncthreads();
            claim_window<FEW_ITEMS>(s, place, size, (int32_t)now.level, next,
                                    [&](uint64_t at, uint32_t v, uint64_t its_row) {
                                        (at < ROOM ? frontier : queue)[at] = v;
                                        if (at < ROOM) where[at] = its_row;
                                    });
            __syncthreads();
        }
        if (!total) __syncthreads(); /* for *next */
        count = *next;
        __syncthreads(); /* before it is written again */
    }
    if (i < count && i < ROOM) queue[i] = frontier[i];
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

/* Searches this block's share of the frontier. noted: the level before has left where its rows are. */
DCSR_CUDA_INLINE void search_share(const dcsr_i_cuda_traversal &s, const dcsr_i_cuda_progress &now,
                                   bool noted, dcsr_i_cuda_found *found)
{
    enum { WINDOW = SOME_ITEMS * DCSR_CUDA_SOME_THREADS };
    SIMT_SHARED(uint64_t, place, WINDOW);
    const uint32_t *frontier = s.queue[now.queue];
    const uint64_t *where = s.noted[now.queue];
    uint32_t *next = s.queue[now.queue ^ 1];
    uint64_t *next_where = s.noted[now.queue ^ 1];
    uint64_t edges = 0;
    uint32_t longest = 0;
    /* A few rows each, rather than as many as there are threads for some blocks and none for the others. */
    uint64_t rows = (now.frontier.vertices + gridDim.x - 1) / gridDim.x;
    rows = rows < LEAST_ROWS ? (uint64_t)LEAST_ROWS : rows > blockDim.x ? blockDim.x : rows;
    for (uint64_t first = blockIdx.x * rows; first < now.frontier.vertices; first += gridDim.x * rows) {
        const uint64_t i = first + threadIdx.x;
        const bool mine = threadIdx.x < rows && i < now.frontier.vertices;
        uint64_t total;
        dcsr_i_cuda_row_share row =
            mine ? dcsr_i_cuda_traversal_row(s, frontier[i], noted ? where[i] : s.where[frontier[i]])
                 : dcsr_i_cuda_row_share{0, 0, 0, 0, false};
        row.offset = (uint32_t)dcsr_i_cuda_block_scan((uint64_t)row.length, &total);
        for (uint64_t window = 0; window < total; window += WINDOW) {
            const uint64_t size = total - window < WINDOW ? total - window : (uint64_t)WINDOW;
            dcsr_i_cuda_note_places(s.rows, {place, NULL, window, size}, 0, row);
            __syncthreads();
            claim_window<SOME_ITEMS>(s, place, size, (int32_t)now.level + 1, &found->vertices,
                                     [&](uint64_t at, uint32_t v, uint64_t its_row) {
                                         const uint32_t length =
                                             (uint32_t)dcsr_i_cuda_traversal_length(s, v, its_row);
                                         next[at] = v;
                                         next_where[at] = its_row;
                                         edges += length;
                                         longest = length > longest ? length : longest;
                                     });
            __syncthreads();
        }
    }
    edges = dcsr_i_cuda_block_sum(edges);
    longest = dcsr_i_cuda_block_max(longest, 0u);
    if (threadIdx.x) return;
    if (edges) atomicAdd(&found->edges, (unsigned long long)edges);
    if (longest) atomicMax(&found->longest, longest);
}

/* Each block knows by itself how far the search is, and all agree on it. What a level finds is counted in one of three
 * places: the one before may still be read by blocks that come late, and the one after is made zero meanwhile. */
static __global__ void __launch_bounds__(DCSR_CUDA_SOME_THREADS) search_some(dcsr_i_cuda_traversal s)
{
    dcsr_i_cuda_progress now = *s.progress;
    bool noted = false;
    if (!is_for_some(now.frontier)) return;
    do {
        dcsr_i_cuda_found *found = &s.counts->next[now.turns % 3];
        if (dcsr_i_cuda_first() == 0) s.counts->next[(now.turns + 1) % 3] = dcsr_i_cuda_found{0, 0, 0};
        if (blockIdx.x * (uint64_t)LEAST_ROWS < now.frontier.vertices) search_share(s, now, noted, found);
        dcsr_i_cuda_meet(&s.counts->arrived, ++now.turns);
        now.reached += now.frontier.vertices;
        now.edges += now.frontier.edges;
        now.level_sum += now.level * now.frontier.vertices;
        now.level++;
        now.queue ^= 1;
        noted = true;
        now.frontier.vertices = dcsr_i_cuda_peek(&found->vertices);
        now.frontier.edges = dcsr_i_cuda_peek(&found->edges);
        now.frontier.longest = dcsr_i_cuda_peek(&found->longest);
    } while (is_for_some(now.frontier));
    if (dcsr_i_cuda_first() == 0) *s.progress = now;
}

void dcsr_i_cuda_traversal_few(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_traversal *search)
{
    dcsr_i_cuda_launch_blocks(stream, search_few, 1, DCSR_CUDA_FEW_THREADS, sizeof(few_memory), *search);
}

void dcsr_i_cuda_traversal_some(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_traversal *search)
{
    dcsr_i_cuda_launch_together(stream, search_some, (search->rows.rows + LEAST_ROWS - 1) / LEAST_ROWS,
                                DCSR_CUDA_SOME_THREADS, *search);
}

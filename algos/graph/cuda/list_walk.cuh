/* list_walk.cuh: visiting the edges of listed vertices by all blocks of a launch (internal; in kernels).
 *
 * A thread has a row; the rows of a block are shared out evenly among its threads (block_walk.cuh). Rows with many
 * edges are cut into parts and only listed; once all blocks have met, each takes some of the parts. */
#ifndef DCSR_GRAPH_LIST_WALK_CUH
#define DCSR_GRAPH_LIST_WALK_CUH

#include "algos/graph/cuda/graph_stages.h"
#include "dcsr/device/stream.cuh"
#include "dcsr/store/block_walk.cuh"

/* LEAST_ROWS: that a block takes; ITEMS: edges that a thread has under way at once. */
#ifdef DCSR_SIMT
enum { DCSR_GRAPH_THREADS = 32, DCSR_GRAPH_LEAST_ROWS = 8 };
#else
enum { DCSR_GRAPH_THREADS = 512, DCSR_GRAPH_LEAST_ROWS = 32 };
#endif
enum { DCSR_GRAPH_ITEMS = 2 };

/* Where parts are listed: vertex << 32 | which DCSR_GRAPH_LONG edges of it. */
struct dcsr_i_graph_parts {
    uint64_t *at;
    unsigned *count;
};

/* The place of the first edge from e on of the lane's vertex v for whose end u test(v, u) holds, else `end`; by whole
 * warps. Each lane looks at a few by itself, and all lanes together at what those have that are not done then. */
template <class Test>
DCSR_CUDA_INLINE uint64_t dcsr_i_graph_first_edge(const dcsr_i_cuda_rows &edges, uint32_t v, uint64_t e,
                                                  uint64_t end, Test test)
{
    enum { ALONE = 4 };
    const uint64_t alone = end - e < ALONE ? end : e + ALONE;
    while (e < alone && !test(v, edges.columns[e])) e++;
    for (unsigned left = __ballot_sync(DCSR_CUDA_ALL_LANES, e == alone && e < end); left; left &= left - 1) {
        const int its = __ffs((int)left) - 1;
        const uint32_t w = __shfl_sync(DCSR_CUDA_ALL_LANES, v, its);
        const uint64_t last = __shfl_sync(DCSR_CUDA_ALL_LANES, end, its);
        uint64_t at = __shfl_sync(DCSR_CUDA_ALL_LANES, e, its);
        unsigned hit = 0;
        for (; at < last && !hit; at += 32) {
            const uint64_t here = at + dcsr_i_cuda_lane();
            hit = __ballot_sync(DCSR_CUDA_ALL_LANES, here < last && test(w, edges.columns[here]));
        }
        const uint64_t found = hit ? at - 32 + (unsigned)__ffs((int)hit) - 1 : last;
        if (dcsr_i_cuda_lane() == (unsigned)its) e = found;
    }
    return e;
}

/* How many blocks have work where a list has at most this many vertices. */
inline uint64_t dcsr_i_graph_list_blocks(uint64_t vertices)
{
    return (vertices + DCSR_GRAPH_LEAST_ROWS - 1) / DCSR_GRAPH_LEAST_ROWS;
}

/* Of the list's short rows: begin(u, mine) by each thread, for the vertex that is its own; then visit(window), by all
 * threads of a block, until all of their edges have been in a window. */
template <class Begin, class Visit>
DCSR_CUDA_INLINE void dcsr_i_graph_visit_short(const dcsr_i_cuda_rows &edges, const uint32_t *list,
                                               uint64_t count, const dcsr_i_graph_parts &parts, Begin begin,
                                               Visit visit)
{
    enum { WINDOW = DCSR_GRAPH_ITEMS * DCSR_GRAPH_THREADS, LEAST = DCSR_GRAPH_LEAST_ROWS };
    SIMT_SHARED(uint64_t, place, WINDOW);
    SIMT_SHARED(uint32_t, from, WINDOW);
    /* A few rows each, rather than as many as there are threads for some blocks and none for the others. */
    uint64_t rows = (count + gridDim.x - 1) / gridDim.x;
    rows = rows < LEAST ? (uint64_t)LEAST : rows > blockDim.x ? blockDim.x : rows;
    for (uint64_t base = blockIdx.x * rows; base < count; base += gridDim.x * rows) {
        const uint64_t i = base + threadIdx.x;
        const bool mine = threadIdx.x < rows && i < count;
        const uint32_t u = mine ? list[i] : 0;
        dcsr_i_cuda_row_share row =
            mine ? dcsr_i_cuda_look_up(edges, u) : dcsr_i_cuda_row_share{0, 0, 0, 0, false};
        uint64_t total;
        const uint32_t cut = row.length > DCSR_GRAPH_LONG ? (row.length - 1) / DCSR_GRAPH_LONG + 1 : 0;
        const uint64_t listed = dcsr_i_cuda_take_places(parts.count, cut);
        for (uint32_t k = 0; k < cut; k++) parts.at[listed + k] = (uint64_t)u << 32 | k;
        if (cut) row.length = 0;
        begin(u, mine);
        row.offset = (uint32_t)dcsr_i_cuda_block_scan((uint64_t)row.length, &total);
        for (uint64_t first = 0; first < total; first += WINDOW) {
            const dcsr_i_cuda_window window = {place, from, first,
                                               total - first < WINDOW ? total - first : (uint64_t)WINDOW};
            dcsr_i_cuda_note_places(edges, window, threadIdx.x, row);
            __syncthreads();
            visit(window);
            __syncthreads();
        }
        __syncthreads(); /* before begin() writes again what is shared */
    }
}

/* Of the parts: visit(u, first, end) for edges first to end - 1, by whole warps; an edge for each thread at a time, and
 * as often for all. */
template <class Visit>
DCSR_CUDA_INLINE void dcsr_i_graph_visit_long(const dcsr_i_cuda_rows &edges, const uint64_t *parts,
                                              uint64_t count, Visit visit)
{
    for (uint64_t p = blockIdx.x; p < count; p += gridDim.x) {
        const uint32_t u = (uint32_t)(parts[p] >> 32);
        const uint64_t begin = edges.offsets[u] + (uint64_t)(uint32_t)parts[p] * DCSR_GRAPH_LONG;
        const uint64_t row_end = edges.offsets[u + 1],
                       end = row_end - begin < DCSR_GRAPH_LONG ? row_end : begin + DCSR_GRAPH_LONG;
        for (uint64_t first = begin; first < end; first += DCSR_GRAPH_ITEMS * DCSR_GRAPH_THREADS)
            visit(u, first, end);
    }
}

#endif

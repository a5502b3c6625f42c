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

/* ---- From list to list ---- */

/* Where the vertices of a step are listed, and those of the next one. */
struct dcsr_i_graph_front {
    dcsr_i_cuda_rows edges;
    uint32_t *list[2];
    uint64_t *part;           /* of long rows */
    dcsr_i_graph_found *step; /* three, which take turns */
    unsigned *arrived;        /* see dcsr_i_cuda_meet() */
};

/* How far it is; each block knows by itself, all agree. */
struct dcsr_i_graph_state {
    uint32_t count, list;     /* vertices, and which of the two lists they are in */
    uint32_t steps;           /* that were made */
    unsigned turns, meetings; /* of all blocks: one may have made several steps meanwhile */
};

/* Has some vertices looked at and taken for the next list; by whole warps. `here` tells which there are. */
template <class Rule>
DCSR_CUDA_INLINE void dcsr_i_graph_hand_on(const dcsr_i_graph_front &front, const dcsr_i_graph_state &now,
                                           const Rule &rule, const uint32_t *tag, const uint32_t *v,
                                           unsigned here, unsigned *count)
{
    enum { ITEMS = DCSR_GRAPH_ITEMS };
    unsigned listed = 0;
    for (unsigned i = 0; i < ITEMS; i++)
        if (here >> i & 1 && !rule.wants(tag[i], v[i])) here &= ~(1u << i);
    for (unsigned i = 0; i < ITEMS; i++)
        if (here >> i & 1 && rule.takes(tag[i], v[i], now.steps)) listed |= 1u << i;
    uint64_t at = dcsr_i_cuda_take_places(count, (uint32_t)__popc(listed));
    for (unsigned i = 0; i < ITEMS; i++)
        if (listed >> i & 1) front.list[now.list ^ 1][at++] = v[i];
}

template <class Rule>
DCSR_CUDA_INLINE void dcsr_i_graph_step_short(const dcsr_i_graph_front &front, const dcsr_i_graph_state &now,
                                              const Rule &rule, dcsr_i_graph_found *step)
{
    enum { ITEMS = DCSR_GRAPH_ITEMS };
    SIMT_SHARED(uint32_t, tag_of, DCSR_GRAPH_THREADS);
    dcsr_i_graph_visit_short(
        front.edges, front.list[now.list], now.count, {front.part, &step->parts},
        [&](uint32_t u, bool mine) { tag_of[threadIdx.x] = mine ? rule.begins(u) : 0; },
        [&](const dcsr_i_cuda_window &window) {
            uint32_t v[ITEMS], tag[ITEMS];
            unsigned here = 0;
            for (unsigned i = 0; i < ITEMS; i++) {
                const uint64_t j = i * blockDim.x + threadIdx.x;
                here |= (j < window.size ? 1u : 0u) << i;
                v[i] = j < window.size ? front.edges.columns[window.place[j]] : 0;
                tag[i] = j < window.size ? tag_of[window.from[j]] : 0;
            }
            dcsr_i_graph_hand_on(front, now, rule, tag, v, here, &step->now);
        });
}

template <class Rule>
DCSR_CUDA_INLINE void dcsr_i_graph_step_long(const dcsr_i_graph_front &front, const dcsr_i_graph_state &now,
                                             const Rule &rule, uint32_t parts, dcsr_i_graph_found *step)
{
    enum { ITEMS = DCSR_GRAPH_ITEMS };
    dcsr_i_graph_visit_long(front.edges, front.part, parts, [&](uint32_t u, uint64_t first, uint64_t end) {
        uint32_t v[ITEMS], tag[ITEMS];
        unsigned here = 0;
        for (unsigned i = 0; i < ITEMS; i++) {
            const uint64_t e = first + i * blockDim.x + threadIdx.x;
            here |= (e < end ? 1u : 0u) << i;
            v[i] = e < end ? front.edges.columns[e] : 0;
            tag[i] = rule.begins(u);
        }
        dcsr_i_graph_hand_on(front, now, rule, tag, v, here, &step->now);
    });
}

/* The first block goes on alone while few are listed, as at the ends of a path, where others would only be waited for.
 * It tells them how many steps it has made. */
template <class Rule>
DCSR_CUDA_INLINE void dcsr_i_graph_step_alone(const dcsr_i_graph_front &front, dcsr_i_graph_state now,
                                              const Rule &rule, uint32_t most, dcsr_i_graph_found *step)
{
    volatile dcsr_i_graph_found *told = step;
    for (;;) {
        __syncthreads();
        const uint32_t parts = told->parts, count = told->now;
        __syncthreads(); /* before it is written again */
        now.steps++;
        if (parts || !count || count > DCSR_GRAPH_LEAST_ROWS || now.steps >= most) return;
        now.list ^= 1;
        now.count = count;
        if (threadIdx.x == 0) {
            told->now = 0;
            told->alone = told->alone + 1;
        }
        __syncthreads();
        dcsr_i_graph_step_short(front, now, rule, step);
    }
}

/* Visits the edges of the listed vertices, then of those that this lists, and so on, until none is listed or `most`
 * steps have been made. The rule has
 *
 *      uint32_t begins(u)            of a vertex whose turn it is, perhaps several times; its tag
 *      bool wants(tag, v)            whether to ask for v, to which there is an edge, in earnest
 *      bool takes(tag, v, steps)     whether v is listed: of all who ask, once a step
 *
 * Of three places for counts one is in use, the one before may still be read by blocks that come late, and the one
 * after is made zero meanwhile. */
template <class Rule>
DCSR_CUDA_INLINE void dcsr_i_graph_follow(const dcsr_i_graph_front &front, dcsr_i_graph_state &now,
                                          const Rule &rule, uint32_t most)
{
    while (now.count && now.steps < most) {
        dcsr_i_graph_found *step = &front.step[now.turns % 3];
        if (dcsr_i_cuda_first() == 0) front.step[(now.turns + 1) % 3] = dcsr_i_graph_found{0, 0, 0};
        dcsr_i_graph_step_short(front, now, rule, step);
        if (now.count <= DCSR_GRAPH_LEAST_ROWS && blockIdx.x == 0)
            dcsr_i_graph_step_alone(front, now, rule, most, step);
        dcsr_i_cuda_meet(front.arrived, ++now.meetings);
        const uint32_t parts = dcsr_i_cuda_peek(&step->parts), alone = dcsr_i_cuda_peek(&step->alone);
        now.list ^= alone & 1;
        now.steps += alone;
        if (parts) {
            dcsr_i_graph_step_long(front, now, rule, parts, step);
            dcsr_i_cuda_meet(front.arrived, ++now.meetings);
        }
        now.count = dcsr_i_cuda_peek(&step->now);
        now.list ^= 1;
        now.steps++;
        now.turns++;
    }
}

#endif

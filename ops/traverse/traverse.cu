/* traverse.cu: kernels of breadth-first search, for levels of many vertices and to begin with.
 *
 * Walking a frontier and collecting the next one are kernels of their own. The walk shares the entries of all
 * rows of the frontier out evenly (balanced_walk.cuh), so that it is balanced whatever their lengths; it reads
 * `visited`, which does not change meanwhile, and sets bits in `fresh`. Collecting turns these into the next
 * frontier, with its levels.
 *
 * Bytes moved by a walk: 4 an entry and, from the second-level cache, a sector of `visited`; of a row of the
 * frontier 4 for its number, 40 for its offset, which is summed up from lengths, and its row table. By
 * collecting: 1/8 a vertex of the graph; a vertex found 8 and its length. */
#include "ops/traverse/traverse_cuda.h"
#include "dcsr/device/reduce.cuh"
#include "dcsr/store/cuda/balanced_walk.cuh"

/* Sources on their way to the device: as an argument, which costs no memory there and no copy. */
struct source_list {
    uint32_t n, vertex[255];
};

static __global__ void find_rows(dcsr_i_cuda_traversal s)
{
    for (uint64_t v = dcsr_i_cuda_first(); v < s.rows.rows; v += dcsr_i_cuda_step()) {
        const dcsr_i_cuda_row_share row = dcsr_i_cuda_look_up(s.rows, (uint32_t)v);
        const bool fits = !row.fragmented && row.length < DCSR_CUDA_ELSEWHERE;
        s.where[v] = fits ? row.begin << DCSR_CUDA_WHERE_BITS | row.length : DCSR_CUDA_ELSEWHERE;
    }
}

static __global__ void start(uint32_t *fresh, source_list sources)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < sources.n; k += dcsr_i_cuda_step())
        atomicOr(&fresh[sources.vertex[k] / 32], 1u << (sources.vertex[k] & 31));
}

/* A warp takes 32 words of bits: first a place in the queue for all of its vertices, then word after word
 * with a vertex a lane, so that levels and queue are written in order. */
static __global__ void collect(dcsr_i_cuda_traversal s)
{
    unsigned lane = dcsr_i_cuda_lane(), before_me = (1u << lane) - 1;
    unsigned long long edges = 0;
    uint32_t longest = 0;
    const int32_t level = (int32_t)s.progress->level;
    for (uint64_t first = dcsr_i_cuda_first_warp() * 32; first < s.words;
         first += dcsr_i_cuda_warp_step() * 32) {
        uint64_t mine = first + lane;
        uint32_t bits = mine < s.words ? s.fresh[mine] : 0;
        unsigned in_use = __ballot_sync(DCSR_CUDA_ALL_LANES, bits != 0);
        if (!in_use) continue;
        if (bits) {
            s.visited[mine] |= bits;
            s.fresh[mine] = 0;
        }
        unsigned long long at = 0, found = dcsr_i_cuda_warp_sum((uint32_t)__popc(bits));
        if (lane == 0) at = atomicAdd(&s.progress->frontier.vertices, found);
        at = __shfl_sync(DCSR_CUDA_ALL_LANES, at, 0);
        for (; in_use; in_use &= in_use - 1) {
            int word = __ffs((int)in_use) - 1;
            uint32_t of_word = __shfl_sync(DCSR_CUDA_ALL_LANES, bits, word);
            if (of_word >> lane & 1) {
                uint32_t v = (uint32_t)(first + (unsigned)word) * 32 + lane;
                const uint32_t length = (uint32_t)dcsr_i_cuda_traversal_length(s, v);
                s.queue[0][at + (unsigned)__popc(of_word & before_me)] = v;
                s.level[v] = level;
                edges += length;
                longest = length > longest ? length : longest;
            }
            at += (unsigned)__popc(of_word);
        }
    }
    edges = dcsr_i_cuda_block_sum(edges);
    longest = dcsr_i_cuda_block_max(longest, 0u);
    if (threadIdx.x || !edges) return;
    atomicAdd(&s.progress->frontier.edges, edges);
    atomicMax(&s.progress->frontier.longest, longest);
}

/* Counts the frontier among what is done. */
static __global__ void advance(dcsr_i_cuda_progress *progress)
{
    progress->reached += progress->frontier.vertices;
    progress->edges += progress->frontier.edges;
    progress->level_sum += progress->level * progress->frontier.vertices;
    progress->level++;
    progress->queue = 0;
    progress->frontier = dcsr_i_cuda_found{0, 0, 0};
}

static __global__ void DCSR_CUDA_WALK_BOUNDS expand(dcsr_i_cuda_walk walk, const uint32_t *visited,
                                                    uint32_t *fresh)
{
    dcsr_i_cuda_for_entries(
        walk,
        [&](const dcsr_i_cuda_entry &, const dcsr_i_cuda_source &source) {
            return walk.rows.columns[source.place];
        },
        [&](const dcsr_i_cuda_entry &, uint32_t v) {
            uint32_t bit = 1u << (v & 31);
            if (!(visited[v / 32] & bit)) atomicOr(&fresh[v / 32], bit);
        });
}

void dcsr_i_cuda_traversal_start(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_traversal *search, uint64_t n,
                                 const uint64_t *sources)
{
    dcsr_i_cuda_launch(stream, find_rows, search->rows.rows, *search);
    enum { MOST = sizeof(source_list::vertex) / sizeof(uint32_t) };
    for (uint64_t k = 0; k < n;) {
        source_list list;
        for (list.n = 0; list.n < MOST && k < n; k++) list.vertex[list.n++] = (uint32_t)sources[k];
        dcsr_i_cuda_launch(stream, start, list.n, search->fresh, list);
    }
}

void dcsr_i_cuda_traversal_collect(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_traversal *search)
{
    dcsr_i_cuda_launch(stream, collect, search->words, *search);
}

dcsr_status dcsr_i_cuda_traversal_expand(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_walk *walk,
                                         uint64_t edges, const uint32_t *visited, uint32_t *fresh)
{
    uint64_t *offsets = (uint64_t *)walk->offsets;
    DCSR_TRY(dcsr_i_cuda_sum_lengths(stream, &walk->rows, walk->list, walk->count, offsets));
    dcsr_i_cuda_launch_walk(stream, expand, edges, walk->count, *walk, visited, fresh);
    return DCSR_OK;
}

dcsr_status dcsr_i_cuda_traversal_walk(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_traversal *search,
                                       const dcsr_i_cuda_progress *progress)
{
    const dcsr_i_cuda_walk walk = {search->rows, search->queue[progress->queue], progress->frontier.vertices,
                                   search->offsets};
    DCSR_TRY(dcsr_i_cuda_traversal_expand(stream, &walk, progress->frontier.edges, search->visited,
                                          search->fresh));
    dcsr_i_cuda_launch_with({1, 1}, stream, advance, 1, search->progress);
    dcsr_i_cuda_traversal_collect(stream, search);
    return DCSR_OK;
}

/* multi_traverse.cu: the frontier of one device from the bits that all have found.
 *
 * Bytes: of each vertex of the graph 1/8 for visited, twice, and for each device's bits; of a vertex found on this
 * device 8, and its length. */
#include "dcsr/device/reduce.cuh"
#include "multi/multi_traverse_cuda.h"

/* Of the word's bits those of vertices begin to end - 1. */
DCSR_CUDA_INLINE uint32_t within(uint32_t bits, uint64_t word, uint64_t begin, uint64_t end)
{
    const uint64_t first = word * 32;
    if (first + 32 <= begin || first >= end) return 0;
    if (first < begin) bits &= UINT32_MAX << (begin - first);
    if (first + 32 > end) bits &= UINT32_MAX >> (first + 32 - end);
    return bits;
}

/* What is new in a word, which is visited then. */
DCSR_CUDA_INLINE uint32_t take_new(const dcsr_i_cuda_part_search &s, uint64_t devices, uint64_t word)
{
    uint32_t bits = s.own.fresh[word];
    for (uint64_t k = 0; k < devices; k++)
        if (k != s.place) bits |= s.incoming[k * s.own.words + word];
    bits &= ~s.own.visited[word];
    if (bits) s.own.visited[word] |= bits;
    s.other_fresh[word] = 0;
    return bits;
}

/* A warp takes 32 words of bits, as in traverse.cu: first a place in the queue for all of its vertices, then word after
 * word with a vertex a lane. */
static __global__ void collect_part(dcsr_i_cuda_part_search s, uint64_t devices, int32_t level)
{
    const unsigned lane = dcsr_i_cuda_lane(), before_me = (1u << lane) - 1;
    const uint64_t end = s.begin + s.own.rows.rows;
    uint64_t everywhere = 0, edges = 0;
    for (uint64_t first = dcsr_i_cuda_first_warp() * 32; first < s.own.words;
         first += dcsr_i_cuda_warp_step() * 32) {
        const uint64_t mine = first + lane;
        uint32_t bits = mine < s.own.words ? take_new(s, devices, mine) : 0;
        everywhere += (unsigned)__popc(bits);
        bits = within(bits, mine, s.begin, end);
        unsigned in_use = __ballot_sync(DCSR_CUDA_ALL_LANES, bits != 0);
        if (!in_use) continue;
        unsigned long long at = 0, found = dcsr_i_cuda_warp_sum((uint32_t)__popc(bits));
        if (lane == 0) at = atomicAdd(&s.found->vertices, found);
        at = __shfl_sync(DCSR_CUDA_ALL_LANES, at, 0);
        for (; in_use; in_use &= in_use - 1) {
            const int word = __ffs((int)in_use) - 1;
            const uint32_t of_word = __shfl_sync(DCSR_CUDA_ALL_LANES, bits, word);
            if (of_word >> lane & 1) {
                const uint32_t v = (uint32_t)((first + (unsigned)word) * 32 + lane - s.begin);
                s.own.queue[0][at + (unsigned)__popc(of_word & before_me)] = v;
                s.own.level[v] = level;
                edges += dcsr_i_cuda_traversal_length(s.own, v);
            }
            at += (unsigned)__popc(of_word);
        }
    }
    everywhere = dcsr_i_cuda_block_sum(everywhere);
    edges = dcsr_i_cuda_block_sum(edges);
    if (threadIdx.x) return;
    if (everywhere) atomicAdd(&s.found->everywhere, (unsigned long long)everywhere);
    if (edges) atomicAdd(&s.found->edges, (unsigned long long)edges);
}

void dcsr_i_cuda_part_collect(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_part_search *search,
                              uint64_t devices, int32_t level)
{
    dcsr_i_cuda_fill(stream, search->found, 0, sizeof *search->found);
    dcsr_i_cuda_launch(stream, collect_part, search->own.words, *search, devices, level);
}

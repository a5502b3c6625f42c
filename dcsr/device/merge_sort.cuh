/* merge_sort.cuh: sorting arrays of some thousand keys, for which the launches of a radix sort take longer than its
 * work (internal).
 *
 * Blocks of threads sort tiles (tile_sort.cuh); then up to 8 runs at a time are merged: a key finds its place by
 * itself, which is its place in its own run and how many keys of the other runs stand before it. So 512 keys take one
 * launch, 4 thousand two, 32 thousand three and more four, where a radix sort takes a launch for each 8 bits, and two
 * more, of 12 us each.
 *
 * In a tile a key has its number there behind the bits to compare, in one word: so the sort is stable, and there are at
 * most 55 such bits. A search takes log2(run) steps; those for all runs are under way at once, and neighbouring
 * keys mostly read the same lines. Bytes a key, with its payload: 16 in and 16 out for each launch. */
#ifndef DCSR_MERGE_SORT_CUH
#define DCSR_MERGE_SORT_CUH

#include "dcsr/device/stream.cuh"

#ifdef DCSR_SIMT
enum { DCSR_CUDA_SORT_TILE_BITS = 6, DCSR_CUDA_SORT_WAYS = 3 };
#else
enum { DCSR_CUDA_SORT_TILE_BITS = 9, DCSR_CUDA_SORT_WAYS = 8 };
#endif

/* What to sort, and by which bits; payloads are NULL if there are none. The arrays of a pair change places. */
struct dcsr_i_cuda_to_sort {
    uint64_t *keys, *keys_spare, *payload, *payload_spare;
    uint64_t n;
    int low, bits;
};

/* Whether that is the faster way. */
bool dcsr_i_cuda_merge_sorts(uint64_t n, int bits);
/* Sorts; on return keys and payload are where the result is. */
void dcsr_i_cuda_merge_sort(dcsr_i_cuda_stream *stream, dcsr_i_cuda_to_sort *sort);

#endif

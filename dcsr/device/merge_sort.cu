/* merge_sort.cu: the kernels of sorting some thousand keys (merge_sort.cuh). */
#include "dcsr/device/merge_sort.cuh"
#include "dcsr/device/tile_sort.cuh"
#include <utility>

constexpr uint64_t TILE = 1 << DCSR_CUDA_SORT_TILE_BITS;
/* How many keys are worth it: with more, steps of the searches cost more than launches. */
#ifdef DCSR_SIMT
constexpr uint64_t MOST = 1600;
#else
constexpr uint64_t MOST = 7 << 14;
#endif

bool dcsr_i_cuda_merge_sorts(uint64_t n, int bits)
{
    return n <= MOST && bits + DCSR_CUDA_SORT_TILE_BITS <= 64;
}

/* The bits to compare. */
DCSR_CUDA_INLINE uint64_t compared(const dcsr_i_cuda_to_sort &sort, uint64_t key)
{
    return key >> sort.low & ((static_cast<uint64_t>(1) << sort.bits) - 1);
}

/* Each block sorts tiles. */
static __global__ void __launch_bounds__(TILE) sort_tiles(dcsr_i_cuda_to_sort sort)
{
    SIMT_SHARED(uint64_t, shared, TILE);
    const unsigned i = threadIdx.x;
    for (uint64_t first = dcsr_i_cuda_first_block() * TILE; first < sort.n;
         first += dcsr_i_cuda_block_step() * TILE) {
        const auto n = static_cast<unsigned>(sort.n - first < TILE ? sort.n - first : TILE);
        uint64_t word = UINT64_MAX;
        if (i < n) word = compared(sort, sort.keys[first + i]) << DCSR_CUDA_SORT_TILE_BITS | i;
        word = dcsr_i_cuda_sort_tile(word, shared, dcsr_i_cuda_tile_size(n));
        if (i >= n) continue;
        const uint64_t from = first + (word & (TILE - 1));
        sort.keys_spare[first + i] = sort.keys[from];
        if (sort.payload) sort.payload_spare[first + i] = sort.payload[from];
    }
}

namespace
{
/* Runs of so many keys, but for the last one, are merged `ways` at a time. */
struct merging {
    dcsr_i_cuda_to_sort sort;
    uint64_t run;
    unsigned ways, step; /* the largest power of two that is at most run */
};
} // namespace

/* How many keys of a group of runs, which begins with key `first`, stand before one of its `own` run: in those in
 * front of that one, such as are equal do. Those of its own run are left out. */
DCSR_CUDA_INLINE uint64_t count_before(const merging &m, uint64_t first, unsigned own, uint64_t key)
{
    const uint64_t *begin[DCSR_CUDA_SORT_WAYS];
    uint32_t length[DCSR_CUDA_SORT_WAYS], found[DCSR_CUDA_SORT_WAYS];
    for (unsigned k = 0; k < DCSR_CUDA_SORT_WAYS; k++) {
        const uint64_t at = first + k * m.run;
        const bool searched = k < m.ways && k != own && at < m.sort.n;
        begin[k] = m.sort.keys + (searched ? at : 0);
        length[k] = searched ? static_cast<uint32_t>(m.sort.n - at < m.run ? m.sort.n - at : m.run) : 0;
        found[k] = 0;
    }
    for (unsigned step = m.step; step; step /= 2) {
        uint64_t other[DCSR_CUDA_SORT_WAYS]; /* read in any case, so that all are on their way at once */
        for (unsigned k = 0; k < DCSR_CUDA_SORT_WAYS; k++)
            other[k] = begin[k][found[k] + step <= length[k] ? found[k] + step - 1 : 0];
        for (unsigned k = 0; k < DCSR_CUDA_SORT_WAYS; k++) {
            const bool before = compared(m.sort, other[k]) < key + (k < own);
            found[k] += found[k] + step <= length[k] && before ? step : 0;
        }
    }
    uint64_t sum = 0;
    for (unsigned k = 0; k < DCSR_CUDA_SORT_WAYS; k++) sum += found[k];
    return sum;
}

static __global__ void merge_runs(merging m)
{
    const uint64_t group = m.run * m.ways;
    for (uint64_t i = dcsr_i_cuda_first(); i < m.sort.n; i += dcsr_i_cuda_step()) {
        const uint64_t first = i / group * group, key = m.sort.keys[i];
        const unsigned own = static_cast<unsigned>((i - first) / m.run);
        const uint64_t to = i - own * m.run + count_before(m, first, own, compared(m.sort, key));
        m.sort.keys_spare[to] = key;
        if (m.sort.payload) m.sort.payload_spare[to] = m.sort.payload[i];
    }
}

static void change_places(dcsr_i_cuda_to_sort *sort)
{
    std::swap(sort->keys, sort->keys_spare);
    std::swap(sort->payload, sort->payload_spare);
}

/* The least number of runs to merge at a time, if it is to take as few passes as with the most. */
static unsigned ways_for(uint64_t tiles)
{
    int passes = 0;
    for (uint64_t merged = 1; merged < tiles; merged *= DCSR_CUDA_SORT_WAYS) passes++;
    for (unsigned ways = 2;; ways++) {
        uint64_t merged = 1;
        for (int pass = 0; pass < passes; pass++) merged *= ways;
        if (merged >= tiles) return ways;
    }
}

void dcsr_i_cuda_merge_sort(dcsr_i_cuda_stream *stream, dcsr_i_cuda_to_sort *sort)
{
    const uint64_t tiles = (sort->n + TILE - 1) / TILE;
    const unsigned ways = ways_for(tiles);
    dcsr_i_cuda_launch_blocks(stream, sort_tiles, tiles, TILE, 0, *sort);
    change_places(sort);
    for (uint64_t run = TILE; run < sort->n; run *= ways) {
        unsigned step = 1;
        while (2 * (uint64_t)step <= run) step *= 2;
        dcsr_i_cuda_launch_with({128, 1}, stream, merge_runs, sort->n, merging{*sort, run, ways, step});
        change_places(sort);
    }
}

/* mxm_long.cu: rows of a product that are too long for a hash table in shared memory.
 *
 * A block computes a row. It marks the columns of all products in a bitmap, in windows of columns where there are too
 * many; so it knows how many entries the row has, and takes room for just these. Then the rank of a column among those
 * that are marked says where its sum is, and as many sums as fit shared memory are added up at a time. Nothing depends
 * on how many columns a product misses, and columns ascend. Rows whose sums fit half of the shared memory are computed
 * by two blocks at a time, one of which adds while the other waits.
 *
 * Bytes a product: 4 to mark it; 4 and the value for each time that the sums are gone through. For 32 products a warp
 * takes some 15 instructions to mark them and 30 to add them; fp64 sums are added to by compare-and-swap. In the order
 * of A's entries they need none, but all wait for one another after the products of each. */
#include "ops/mxm/mxm_rows.cuh"

#ifdef DCSR_SIMT
enum { THREADS = 64, SHARED_BYTES = 3000 };
#else
enum { THREADS = 1024, SHARED_BYTES = 224 << 10 };
#endif

namespace
{
struct layout {
    uint32_t window;    /* columns of it */
    uint32_t sum_count; /* sums at a time */
    uint32_t listed;    /* columns at a time, in the same memory */
};

/* Columns count from the first one of the window; what is below that is far behind it. */
struct bitmap {
    uint32_t *word, *rank; /* rank[w]: columns that are marked before word w */
    uint32_t window;
    uint32_t first; /* column */

    __device__ void clear() const
    {
        for (uint32_t k = threadIdx.x; k < window / 32; k += blockDim.x) word[k] = 0;
    }
    __device__ void mark(uint32_t c) const
    {
        const uint32_t bit = 1u << c % 32;
        if (!(dcsr_i_cuda_peek(&word[c / 32]) & bit)) atomicOr(&word[c / 32], bit);
    }
    __device__ uint32_t rank_of(uint32_t c) const
    {
        return rank[c / 32] + (uint32_t)__popc(word[c / 32] & ((1u << c % 32) - 1));
    }
};
} // namespace

/* Ranks the words; the columns that are marked. */
DCSR_CUDA_INLINE uint32_t rank_words(const bitmap &map)
{
    const uint32_t groups = map.window / 32, each = (groups + blockDim.x - 1) / blockDim.x;
    const uint32_t begin = threadIdx.x * each, end = begin + each < groups ? begin + each : groups;
    uint32_t mine = 0, all;
    for (uint32_t g = begin; g < end; g++) mine += (uint32_t)__popc(map.word[g]);
    uint32_t before = dcsr_i_cuda_scan_block(mine, &all);
    for (uint32_t g = begin; g < end; g++) {
        map.rank[g] = before;
        before += (uint32_t)__popc(map.word[g]);
    }
    __syncthreads();
    return all;
}

/* Marks the columns of the window that begins with column map.first; returns how many there are. *next gets the first
 * column behind it that a product has, UINT32_MAX if none. */
template <class Ring>
DCSR_CUDA_INLINE uint32_t mark_window(const dcsr_i_cuda_mxm_job &job, const Ring &ring, uint64_t row,
                                      const dcsr_i_cuda_mxm_terms<typename Ring::T> &terms, const bitmap &map,
                                      uint32_t *next, bool again)
{
    typedef typename Ring::T T;
    SIMT_SHARED(uint32_t, least, 1);
    uint32_t behind = UINT32_MAX;
    if (threadIdx.x == 0) *least = UINT32_MAX;
    map.clear();
    __syncthreads();
    dcsr_i_cuda_mxm_for_products_of_block<false>(
        job, ring, row, terms,
        [&](bool, uint32_t column, T, T) {
            const uint32_t c = column - map.first;
            if (c < map.window)
                map.mark(c);
            else if (c < behind)
                behind = c;
        },
        again);
    if (behind <= UINT32_MAX / 2) atomicMin(least, behind);
    __syncthreads();
    *next = *least == UINT32_MAX ? UINT32_MAX : map.first + *least;
    return rank_words(map);
}

/* Sums number v to v + count - 1 of the window. */
template <class Ring>
DCSR_CUDA_INLINE void add_up(const dcsr_i_cuda_mxm_job &job, const Ring &ring, uint64_t row,
                             const dcsr_i_cuda_mxm_terms<typename Ring::T> &terms, const bitmap &map,
                             typename Ring::T *sums, uint32_t v, uint32_t count)
{
    typedef typename Ring::T T;
    for (uint32_t k = threadIdx.x; k < count; k += blockDim.x) sums[k] = ring.none();
    __syncthreads();
    auto sum_of = [&](uint32_t column) {
        const uint32_t c = column - map.first;
        return c < map.window ? map.rank_of(c) - v : UINT32_MAX;
    };
    auto add = [&](bool, uint32_t column, T x, T y) {
        const uint32_t k = sum_of(column);
        if (k < count) ring.add_to(&sums[k], ring.multiply(x, y));
    };
    auto add_alone = [&](bool, uint32_t column, T x, T y) {
        const uint32_t k = sum_of(column);
        if (k < count) sums[k] = ring.add(sums[k], ring.multiply(x, y));
    };
    if (job.ordered)
        dcsr_i_cuda_mxm_for_products_in_turn(job, ring, row, terms, add_alone, true);
    else
        dcsr_i_cuda_mxm_for_products_of_block<true>(job, ring, row, terms, add, true);
    __syncthreads();
}

/* Writes the window's n columns to place `to` on. They are put side by side in `list` first. */
DCSR_CUDA_INLINE void write_columns(const dcsr_i_cuda_mxm_job &job, const layout &how, const bitmap &map,
                                    uint32_t *list, uint32_t n, uint64_t to)
{
    for (uint32_t v = 0; v < n; v += how.listed) {
        for (uint32_t k = threadIdx.x; k < map.window / 32; k += blockDim.x) {
            uint32_t at = map.rank[k] - v;
            for (uint32_t bits = map.word[k]; bits; bits &= bits - 1, at++)
                if (at < how.listed) list[at] = map.first + k * 32 + (uint32_t)__ffs((int)bits) - 1;
        }
        __syncthreads();
        for (uint32_t k = threadIdx.x; k < n - v && k < how.listed; k += blockDim.x)
            job.columns[to + v + k] = list[k];
        __syncthreads();
    }
}

/* The columns of the window, n of them, and their sums, to place `to` on. */
template <class Ring>
DCSR_CUDA_INLINE void write_window(const dcsr_i_cuda_mxm_job &job, const layout &how, const Ring &ring,
                                   uint64_t row, const dcsr_i_cuda_mxm_terms<typename Ring::T> &terms,
                                   const bitmap &map, typename Ring::T *sums, uint32_t n, uint64_t to)
{
    typedef typename Ring::T T;
    write_columns(job, how, map, (uint32_t *)sums, n, to);
    if (!job.values) return;
    const uint32_t step = Ring::VALUES ? how.sum_count : n;
    for (uint32_t v = 0; v < n; v += step) {
        const uint32_t count = n - v < step ? n - v : step;
        if (Ring::VALUES) add_up(job, ring, row, terms, map, sums, v, count);
        for (uint32_t k = threadIdx.x; k < count; k += blockDim.x)
            ring.write(job.values, to + v + k, Ring::VALUES ? sums[k] : T(1));
        __syncthreads();
    }
}

/* Rows from the end of the list on, where those with the most products are. */
template <class Ring>
static __global__ void __launch_bounds__(THREADS) multiply_long(dcsr_i_cuda_mxm_job job, layout how)
{
    typedef typename Ring::T T;
    SIMT_SHARED_DYN(uint64_t, memory);
    SIMT_SHARED(unsigned long long, shared, 2); /* the row, and where its entries begin */
    const Ring ring(job);
    const dcsr_i_cuda_mxm_terms<T> terms(memory);
    uint32_t *words = (uint32_t *)((char *)memory + dcsr_i_cuda_mxm_terms<T>::bytes(blockDim.x));
    T *sums = (T *)(words + how.window / 32 * 2);
    bitmap map = {words, words + how.window / 32, how.window, 0};
    if (threadIdx.x == 0) shared[0] = atomicAdd(job.ticket, 1ull);
    for (;;) {
        __syncthreads();
        const uint64_t x = shared[0];
        if (x >= job.count) return;
        const uint64_t row = job.row[job.count - 1 - x];
        uint64_t entries = 0;
        unsigned long long following = 0;
        uint32_t next, windows = 0;
        if (threadIdx.x == 0) following = atomicAdd(job.ticket, 1ull);
        map.first = 0;
        do { /* windows that no product falls into are left out */
            entries += mark_window(job, ring, row, terms, map, &next, windows > 0);
            if (next != UINT32_MAX) map.first = next & ~31u;
            windows++;
        } while (next != UINT32_MAX);
        if (threadIdx.x < 32) {
            uint64_t at = dcsr_i_cuda_mxm_take(job, x, entries);
            if (threadIdx.x == 0)
                shared[1] = dcsr_i_cuda_mxm_enter(job, row, at, (uint32_t)entries) ? at : UINT64_MAX,
                shared[0] = following;
        }
        __syncthreads();
        uint64_t to = job.first + shared[1];
        if (shared[1] == UINT64_MAX) windows = 0;
        if (windows > 1) map.first = 0;
        for (uint32_t w = 0, n = (uint32_t)entries; w < windows; w++) {
            if (windows > 1) n = mark_window(job, ring, row, terms, map, &next, true);
            write_window(job, how, ring, row, terms, map, sums, n, to);
            to += n;
            map.first = next & ~31u;
        }
    }
}

/* Of shared memory, where `blocks` share a multiprocessor. A word of the bitmap and its rank take 8 bytes for 32
 * columns: half of the memory at most. */
template <class Ring>
static layout lay_out(uint64_t cols, size_t shared_bytes, unsigned blocks, size_t *bytes)
{
    typedef typename Ring::T T;
    const size_t shared = (shared_bytes < SHARED_BYTES ? shared_bytes : (size_t)SHARED_BYTES) / blocks;
    const uint64_t most = shared / 2 / 8 * 32 / 64 * 64, all = (cols + 63) / 64 * 64;
    layout how = {(uint32_t)(all < most ? all : most), 0, 0};
    const size_t fixed =
        how.window / 32 * 2 * sizeof(uint32_t) + dcsr_i_cuda_mxm_terms<T>::bytes(THREADS / blocks);
    how.sum_count = (uint32_t)((shared - fixed) / sizeof(T)) & ~1u;
    how.listed = how.sum_count * (uint32_t)(sizeof(T) / sizeof(uint32_t));
    *bytes = fixed + how.sum_count * sizeof(T);
    return how;
}

bool dcsr_i_cuda_mxm_fits_half(uint64_t cols, size_t shared_bytes, double entries)
{
    size_t bytes;
    layout half = lay_out<dcsr_i_cuda_plus_times<double>>(cols, shared_bytes, 2, &bytes);
    return half.window >= cols && half.sum_count >= entries;
}

void dcsr_i_cuda_mxm_long(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxm_job *job, size_t shared_bytes,
                          bool half)
{
    dcsr_i_cuda_mxm_with_ring(*job, [=](auto *which) {
        typedef typename std::remove_pointer<decltype(which)>::type Ring;
        const unsigned blocks = half ? 2 : 1;
        size_t bytes;
        layout how = lay_out<Ring>(job->b.cols, shared_bytes, blocks, &bytes);
        dcsr_i_cuda_launch_blocks(stream, multiply_long<Ring>, job->count, THREADS / (int)blocks, bytes, *job,
                                  how);
    });
}

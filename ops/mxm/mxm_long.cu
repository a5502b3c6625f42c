/* mxm_long.cu: rows of a product that are too long for a hash table in shared memory.
 *
 * A block computes a row. It marks the columns of all products in a bitmap, in windows of columns where there are too
 * many; so it knows how many entries the row has, and takes room for just these. Then the rank of a column among those
 * that are marked says where its sum is, and as many sums as fit shared memory are added up at a time. Nothing depends
 * on how many columns a product misses, and columns ascend.
 *
 * Bytes a product: 4 to mark it; 4 and the value for each time that the sums are gone through. */
#include "ops/mxm/mxm_rows.cuh"

#ifdef DCSR_SIMT
enum { THREADS = 64, SHARED_BYTES = 3000 };
#else
enum { THREADS = 1024, SHARED_BYTES = 216 << 10 };
#endif

namespace
{
struct layout {
    uint32_t window;    /* columns of it */
    uint32_t sum_count; /* sums at a time */
};

struct bitmap {
    uint32_t *word, *rank; /* rank[w]: columns that are marked before word w */
    uint32_t window;
    uint64_t first; /* column */

    __device__ void clear() const
    {
        for (uint32_t k = threadIdx.x; k < window / 32; k += blockDim.x) word[k] = 0;
    }
    __device__ bool has(uint32_t column) const { return (uint64_t)column - first < window; }
    __device__ void mark(uint32_t column) const
    {
        uint32_t c = column - (uint32_t)first;
        if (!(dcsr_i_cuda_peek(&word[c / 32]) >> c % 32 & 1)) atomicOr(&word[c / 32], 1u << c % 32);
    }
    __device__ uint32_t rank_of(uint32_t column) const
    {
        uint32_t c = column - (uint32_t)first;
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
                                      uint32_t *next)
{
    typedef typename Ring::T T;
    SIMT_SHARED(uint32_t, least, 1);
    uint32_t behind = UINT32_MAX;
    if (threadIdx.x == 0) *least = UINT32_MAX;
    map.clear();
    __syncthreads();
    dcsr_i_cuda_mxm_for_products_of_block<false>(job, ring, row, terms,
                                                 [&](bool exists, uint32_t column, T, T) {
                                                     if (exists && map.has(column))
                                                         map.mark(column);
                                                     else if (exists && column > map.first && column < behind)
                                                         behind = column;
                                                 });
    if (behind != UINT32_MAX) atomicMin(least, behind);
    __syncthreads();
    *next = *least;
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
    auto add = [&](bool exists, uint32_t column, T x, T y) {
        if (!exists || !map.has(column)) return;
        uint32_t k = map.rank_of(column) - v;
        if (k < count) ring.add_to(&sums[k], ring.multiply(x, y));
    };
    if (!job.ordered)
        dcsr_i_cuda_mxm_for_products_of_block<true>(job, ring, row, terms, add);
    else if (threadIdx.x < 32)
        dcsr_i_cuda_mxm_for_products<true>(job, ring, row, {0, 1, 32}, add);
    __syncthreads();
}

/* Writes the window's columns to place `to` on, and the sums number v to v + count - 1. */
template <class Ring>
DCSR_CUDA_INLINE void write_window(const dcsr_i_cuda_mxm_job &job, const Ring &ring, const bitmap &map,
                                   const typename Ring::T *sums, uint32_t v, uint32_t count, uint64_t to)
{
    typedef typename Ring::T T;
    if (v == 0)
        for (uint32_t k = threadIdx.x; k < map.window / 32; k += blockDim.x) {
            uint64_t at = to + map.rank_of((uint32_t)map.first + k * 32);
            for (uint32_t bits = map.word[k]; bits; bits &= bits - 1)
                job.columns[at++] = (uint32_t)map.first + k * 32 + (uint32_t)__ffs((int)bits) - 1;
        }
    if (job.values)
        for (uint32_t k = threadIdx.x; k < count; k += blockDim.x)
            ring.write(job.values, to + v + k, Ring::VALUES ? sums[k] : T(1));
    __syncthreads();
}

/* Rows from the end of the list on, where those with the most products are. */
template <class Ring>
static __global__ void __launch_bounds__(THREADS) multiply_long(dcsr_i_cuda_mxm_job job, layout how)
{
    typedef typename Ring::T T;
    SIMT_SHARED_DYN(uint64_t, memory);
    SIMT_SHARED(unsigned long long, shared_place, 2);
    const Ring ring(job);
    const dcsr_i_cuda_mxm_terms<T> terms(memory);
    T *sums = (T *)((char *)memory + dcsr_i_cuda_mxm_terms<T>::bytes(blockDim.x));
    uint32_t *words = (uint32_t *)(sums + (Ring::VALUES ? how.sum_count : 0));
    bitmap map = {words, words + how.window / 32, how.window, 0};
    for (;;) {
        if (threadIdx.x == 0) shared_place[0] = atomicAdd(job.ticket, 1ull);
        __syncthreads();
        const uint64_t x = shared_place[0];
        if (x >= job.count) return;
        const uint64_t row = job.row[job.count - 1 - x];
        uint64_t entries = 0;
        uint32_t next, windows = 0;
        map.first = 0;
        do { /* windows that no product falls into are left out */
            entries += mark_window(job, ring, row, terms, map, &next);
            if (next != UINT32_MAX) map.first = next & ~31u;
            windows++;
        } while (next != UINT32_MAX);
        if (threadIdx.x < 32) {
            uint64_t at = dcsr_i_cuda_mxm_take(job, x, entries);
            if (threadIdx.x == 0)
                shared_place[1] = dcsr_i_cuda_mxm_enter(job, row, at, (uint32_t)entries) ? at : UINT64_MAX;
        }
        __syncthreads();
        uint64_t to = job.first + shared_place[1];
        if (shared_place[1] == UINT64_MAX) windows = 0;
        if (windows > 1) map.first = 0;
        for (uint32_t w = 0, n = (uint32_t)entries; w < windows; w++) {
            if (windows > 1) n = mark_window(job, ring, row, terms, map, &next);
            const uint32_t step = Ring::VALUES ? how.sum_count : n;
            for (uint32_t v = 0; v < n; v += step) {
                const uint32_t count = n - v < step ? n - v : step;
                if (Ring::VALUES) add_up(job, ring, row, terms, map, sums, v, count);
                write_window(job, ring, map, sums, v, count, to);
            }
            to += n;
            map.first = next & ~31u;
        }
        __syncthreads();
    }
}

void dcsr_i_cuda_mxm_long(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxm_job *job, size_t shared_bytes)
{
    const size_t shared = shared_bytes < SHARED_BYTES ? shared_bytes : (size_t)SHARED_BYTES;
    /* A word of the bitmap and its rank take 8 bytes for 32 columns: a quarter of the memory at most. */
    uint64_t window = (job->b.cols + 31) / 32 * 32;
    const uint64_t most = shared / 4 / 8 * 32;
    if (window > most) window = most;
    const size_t bits = window / 32 * 2 * sizeof(uint32_t);
    dcsr_i_cuda_mxm_with_ring(*job, [=](auto *which) {
        typedef typename std::remove_pointer<decltype(which)>::type Ring;
        typedef typename Ring::T T;
        const size_t fixed = bits + dcsr_i_cuda_mxm_terms<T>::bytes(THREADS);
        layout how = {(uint32_t)window, 0};
        if (Ring::VALUES) how.sum_count = (uint32_t)((shared - fixed) / sizeof(T)) & ~1u;
        dcsr_i_cuda_launch_blocks(stream, multiply_long<Ring>, job->count, THREADS,
                                  fixed + how.sum_count * sizeof(T), *job, how);
    });
}

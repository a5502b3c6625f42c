/* mxm_rows.cuh: what the kernels of row-binned products have in common (internal; in kernels). */
#ifndef DCSR_MXM_ROWS_CUH
#define DCSR_MXM_ROWS_CUH

#include "dcsr/device/reduce.cuh"
#include "ops/algebra/semiring.cuh"
#include "ops/mxm/mxm_rows_cuda.h"

/* What other threads may be changing by atomics. */
template <class T> DCSR_CUDA_INLINE T dcsr_i_cuda_peek(const T *p)
{
#ifdef DCSR_SIMT
    return __atomic_load_n(p, __ATOMIC_RELAXED);
#else
    return *(const volatile T *)p;
#endif
}

/* ---- Rows ---- */

/* Where a row begins, and its length in the lowest 24 bits; of one of several pieces, or longer, those are all 1. */
#define DCSR_CUDA_HEAD_PIECES 0xffffffu
#define DCSR_CUDA_HEAD_MOST \
    0x1fffffu /* so that the products of 1024 entries of A can be numbered in 32 bits */

DCSR_CUDA_INLINE uint32_t dcsr_i_cuda_head_length(uint64_t head)
{
    return (uint32_t)head & DCSR_CUDA_HEAD_PIECES;
}

/* visit(begin, length) for each piece of a row. */
template <class Visit>
DCSR_CUDA_INLINE void dcsr_i_cuda_for_row(const dcsr_i_cuda_rows &rows, uint64_t head, uint64_t row,
                                          Visit visit)
{
    uint32_t length = dcsr_i_cuda_head_length(head);
    if (length == DCSR_CUDA_HEAD_PIECES)
        dcsr_i_cuda_for_pieces(rows, row, visit);
    else if (length)
        visit(head >> 24, (uint64_t)length);
}

/* ---- Semirings ---- */

/* x y, rounded, also where an addition follows: as on the cpu, so that one product has the same bits in all methods. */
DCSR_CUDA_INLINE double dcsr_i_cuda_product(double x, double y)
{
#ifdef __CUDA_ARCH__
    return __dmul_rn(x, y);
#else
    return x * y;
#endif
}
DCSR_CUDA_INLINE float dcsr_i_cuda_product(float x, float y)
{
#ifdef __CUDA_ARCH__
    return __fmul_rn(x, y);
#else
    return x * y;
#endif
}

/* Sums of products of one type; `add_to` adds to a sum that other threads add to. A sum begins as `none()`, to which
 * a term is added with the result of that term. */
template <class Type> struct dcsr_i_cuda_plus_times {
    typedef Type T;
    static constexpr bool VALUES = true;
    const T *a, *b;
    __device__ explicit dcsr_i_cuda_plus_times(const dcsr_i_cuda_mxm_job &job)
        : a((const T *)job.a.values), b((const T *)job.b.values)
    {
    }
    __device__ T of_a(uint64_t place) const { return a[place]; }
    __device__ T of_b(uint64_t place) const { return b[place]; }
    __device__ T multiply(T x, T y) const { return dcsr_i_cuda_product(x, y); }
    __device__ T none() const { return T(-0.0); }
    __device__ T add(T x, T y) const { return x + y; }
    __device__ void add_to(T *sum, T x) const { atomicAdd(sum, x); }
    static __device__ void write(void *values, uint64_t i, T x) { ((T *)values)[i] = x; }
};

/* Any semiring, its operators looked up; values are words. */
struct dcsr_i_cuda_any_ring {
    typedef uint64_t T;
    static constexpr bool VALUES = true;
    const dcsr_i_cuda_mxm_job &job;
    __device__ explicit dcsr_i_cuda_any_ring(const dcsr_i_cuda_mxm_job &of) : job(of) {}
    __device__ T load(const dcsr_i_cuda_rows &rows, bool reads, uint64_t place) const
    {
        if (!reads) return 0;
        if (rows.type == DCSR_PATTERN) return dcsr_i_cuda_load_word(&job.one, job.value_size, 0);
        return dcsr_i_cuda_any_load(job.ring.type, rows.type, rows.values, place, job.value_size);
    }
    __device__ T of_a(uint64_t place) const { return load(job.a, job.ring.reads_matrix, place); }
    __device__ T of_b(uint64_t place) const { return load(job.b, job.ring.reads_vector, place); }
    __device__ T multiply(T x, T y) const
    {
        return dcsr_i_cuda_any_binary(job.ring.type, job.ring.multiply, job.ring.flipped ? y : x,
                                      job.ring.flipped ? x : y);
    }
    __device__ T none() const { return dcsr_i_cuda_load_word(&job.ring.start, job.value_size, 0); }
    __device__ T add(T x, T y) const
    {
        return job.ring.any ? y : dcsr_i_cuda_any_binary(job.ring.type, job.ring.add, x, y);
    }
    __device__ void add_to(T *sum, T x) const
    {
        unsigned long long *at = (unsigned long long *)sum, was = atomicAdd(at, 0ull), seen;
        if (job.ring.any) {
            atomicExch(at, (unsigned long long)x);
            return;
        }
        do {
            seen = was;
            was = atomicCAS(at, seen, (unsigned long long)add(seen, x));
        } while (was != seen);
    }
    __device__ void write(void *values, uint64_t i, T x) const
    {
        dcsr_i_cuda_store_word(values, job.value_size, i, x);
    }
};

/* Which entries there are; where values are wanted, each is 1. */
struct dcsr_i_cuda_pattern_ring {
    typedef uint32_t T;
    static constexpr bool VALUES = false;
    const dcsr_i_cuda_mxm_job &job;
    __device__ explicit dcsr_i_cuda_pattern_ring(const dcsr_i_cuda_mxm_job &of) : job(of) {}
    __device__ T of_a(uint64_t) const { return 1; }
    __device__ T of_b(uint64_t) const { return 1; }
    __device__ T multiply(T x, T) const { return x; }
    __device__ T none() const { return 1; }
    __device__ T add(T x, T) const { return x; }
    __device__ void add_to(T *, T) const {}
    __device__ void write(void *values, uint64_t i, T) const
    {
        dcsr_i_cuda_store_word(values, job.value_size, i, dcsr_i_cuda_load_word(&job.one, job.value_size, 0));
    }
};

/* Calls what(ring type) with the ring that a job has kernels for. */
template <class What> void dcsr_i_cuda_mxm_with_ring(const dcsr_i_cuda_mxm_job &job, What what)
{
    const dcsr_i_cuda_semiring &ring = job.ring;
    bool constant = ring.add == DCSR_BINARY_PLUS && ring.multiply == DCSR_BINARY_TIMES &&
                    job.a.type == ring.type && job.b.type == ring.type;
    if (job.ones)
        what((dcsr_i_cuda_pattern_ring *)nullptr);
    else if (constant && ring.type == DCSR_FP64)
        what((dcsr_i_cuda_plus_times<double> *)nullptr);
    else if (constant && ring.type == DCSR_FP32)
        what((dcsr_i_cuda_plus_times<float> *)nullptr);
    else
        what((dcsr_i_cuda_any_ring *)nullptr);
}

/* ---- Products ---- */

/* A warp's part of a row: entries w, w + warps, ... of A, each of them for `lanes` lanes. */
struct dcsr_i_cuda_mxm_share {
    unsigned w, warps, lanes;
};

/* Calls visit(exists, column, value of A's entry, value of B's) for the products of a warp's part, with `exists`
 * false for lanes that have none just then. The lanes bring 32 entries of A at once, and what they need next of B
 * before they visit what they have. With 32 lanes the products of one entry of A are visited together, and those of
 * the next after a __syncwarp: columns that are visited together differ. */
template <bool VALUES, class Ring, class Visit>
DCSR_CUDA_INLINE void dcsr_i_cuda_mxm_for_products(const dcsr_i_cuda_mxm_job &job, const Ring &ring,
                                                   uint64_t row, const dcsr_i_cuda_mxm_share &part,
                                                   Visit visit)
{
    typedef typename Ring::T T;
    const unsigned lane = dcsr_i_cuda_lane(), groups = 32 / part.lanes, group = lane / part.lanes,
                   l = lane % part.lanes;
    dcsr_i_cuda_for_row(job.a, job.a_heads[row], row, [&](uint64_t begin, uint64_t terms) {
        for (uint64_t first = part.w; first < terms; first += (uint64_t)32 * part.warps) {
            const uint64_t e = first + (uint64_t)lane * part.warps;
            const bool is_term = e < terms;
            const uint32_t column = is_term ? job.a.columns[begin + e] : 0;
            const uint64_t head = is_term ? job.b_heads[column] : 0;
            const T value = VALUES && is_term ? ring.of_a(begin + e) : T(0);
            const unsigned left = (unsigned)__popc(__ballot_sync(DCSR_CUDA_ALL_LANES, is_term));
            uint64_t its = __shfl_sync(DCSR_CUDA_ALL_LANES, head, (int)group);
            uint32_t length = dcsr_i_cuda_head_length(its);
            bool mine = group < left && l < length && length != DCSR_CUDA_HEAD_PIECES;
            uint32_t c = mine ? job.b.columns[(its >> 24) + l] : 0;
            T y = VALUES && mine ? ring.of_b((its >> 24) + l) : T(0);
            for (unsigned t = group; t - group < left; t += groups) {
                const int from = (int)(t & 31), next = (int)((t + groups) & 31);
                const T x = VALUES ? __shfl_sync(DCSR_CUDA_ALL_LANES, value, from) : T(0);
                const uint32_t n = t < left ? dcsr_i_cuda_head_length(its) : 0;
                const uint64_t at = its >> 24;
                /* What comes next is asked for now. */
                its = __shfl_sync(DCSR_CUDA_ALL_LANES, head, next);
                const uint32_t its_length = dcsr_i_cuda_head_length(its);
                const bool follows =
                    t + groups < left && l < its_length && its_length != DCSR_CUDA_HEAD_PIECES;
                const uint32_t next_c = follows ? job.b.columns[(its >> 24) + l] : 0;
                const T next_y = VALUES && follows ? ring.of_b((its >> 24) + l) : T(0);
                visit(mine, c, x, y);
                if (n == DCSR_CUDA_HEAD_PIECES) {
                    uint32_t its_row = job.a.columns[begin + first + (uint64_t)t * part.warps];
                    dcsr_i_cuda_for_pieces(job.b, its_row, [&](uint64_t place, uint64_t of_piece) {
                        for (uint64_t k = l; k - l < of_piece; k += part.lanes) {
                            const bool exists = k < of_piece;
                            visit(exists, exists ? job.b.columns[place + k] : 0, x,
                                  VALUES && exists ? ring.of_b(place + k) : T(0));
                        }
                    });
                } else {
                    for (uint32_t k = l + part.lanes; k - l < n; k += part.lanes) {
                        const bool exists = k < n;
                        visit(exists, exists ? job.b.columns[at + k] : 0, x,
                              VALUES && exists ? ring.of_b(at + k) : T(0));
                    }
                }
                __syncwarp();
                mine = follows, c = next_c, y = next_y;
            }
        }
    });
}

/* What a block knows of some entries of A, one for each of its threads: how many products are before each, where its
 * row of B begins, less that number, and its value. */
template <class T> struct dcsr_i_cuda_mxm_terms {
    uint64_t *begin; /* a number for each thread */
    T *x;
    uint32_t *before; /* and one more */
    static __host__ __device__ size_t bytes(unsigned threads)
    {
        return threads * (sizeof(uint64_t) + sizeof(T) + sizeof(uint32_t)) + 16;
    }
    __device__ explicit dcsr_i_cuda_mxm_terms(void *memory)
        : begin((uint64_t *)memory), x((T *)(begin + blockDim.x)), before((uint32_t *)(x + blockDim.x))
    {
    }
    /* The term of product p, which is among those from `low` to `high`. */
    __device__ unsigned of(uint32_t p, unsigned low, unsigned high) const
    {
        while (low < high) { /* before[low] <= p */
            unsigned middle = (low + high + 1) / 2;
            if (before[middle] <= p)
                low = middle;
            else
                high = middle - 1;
        }
        return low;
    }
};

/* The sum over the threads before this one; *all: over all. */
DCSR_CUDA_INLINE uint32_t dcsr_i_cuda_scan_block(uint32_t mine, uint32_t *all)
{
    SIMT_SHARED(uint32_t, of_warp, 32);
    const unsigned lane = dcsr_i_cuda_lane(), warp = threadIdx.x / 32;
    uint32_t up_to = mine;
    for (unsigned d = 1; d < 32; d *= 2) {
        uint32_t other = __shfl_up_sync(DCSR_CUDA_ALL_LANES, up_to, d);
        if (lane >= d) up_to += other;
    }
    if (lane == 31) of_warp[warp] = up_to;
    __syncthreads();
    uint32_t before = up_to - mine, sum = 0;
    for (unsigned w = 0; w < blockDim.x / 32; w++) {
        if (w < warp) before += of_warp[w];
        sum += of_warp[w];
    }
    *all = sum;
    __syncthreads();
    return before;
}

/* Calls visit(exists, column, value of A's entry, value of B's) for the products of a row, which the threads of a
 * block share evenly, whatever the lengths of the rows of B: a warp takes AT_ONCE * 32 that follow one another. */
template <bool VALUES, class Ring, class Visit>
DCSR_CUDA_INLINE void
dcsr_i_cuda_mxm_for_products_of_block(const dcsr_i_cuda_mxm_job &job, const Ring &ring, uint64_t row,
                                      const dcsr_i_cuda_mxm_terms<typename Ring::T> &terms, Visit visit)
{
    typedef typename Ring::T T;
    enum { AT_ONCE = 4 };
    const unsigned lane = dcsr_i_cuda_lane(), warp = threadIdx.x / 32, warps = blockDim.x / 32;
    dcsr_i_cuda_for_row(job.a, job.a_heads[row], row, [&](uint64_t begin, uint64_t count) {
        for (uint64_t first = 0; first < count; first += blockDim.x) {
            const uint64_t e = first + threadIdx.x;
            const uint32_t column = e < count ? job.a.columns[begin + e] : 0;
            const uint64_t head = e < count ? job.b_heads[column] : 0;
            const uint32_t length = dcsr_i_cuda_head_length(head);
            const bool pieces = length == DCSR_CUDA_HEAD_PIECES;
            uint32_t all, before = dcsr_i_cuda_scan_block(pieces ? 0 : length, &all);
            terms.begin[threadIdx.x] = (head >> 24) - before;
            terms.before[threadIdx.x] = before;
            if (VALUES) terms.x[threadIdx.x] = e < count ? ring.of_a(begin + e) : T(0);
            const bool some_pieces = __syncthreads_or(pieces);
            for (uint64_t base = (uint64_t)warp * 32 * AT_ONCE; base < all;
                 base += (uint64_t)warps * 32 * AT_ONCE) {
                const uint64_t last = base + 32 * AT_ONCE < all ? base + 32 * AT_ONCE - 1 : all - 1;
                const unsigned low = terms.of((uint32_t)base, 0, blockDim.x - 1),
                               high = terms.of((uint32_t)last, low, blockDim.x - 1);
                uint32_t c[AT_ONCE];
                T x[AT_ONCE], y[AT_ONCE];
                for (int k = 0; k < AT_ONCE; k++) {
                    const uint64_t p = base + (unsigned)k * 32 + lane;
                    const unsigned t = p < all ? terms.of((uint32_t)p, low, high) : low;
                    const uint64_t place = terms.begin[t] + p;
                    c[k] = p < all ? job.b.columns[place] : 0;
                    x[k] = VALUES ? terms.x[t] : T(0);
                    y[k] = VALUES && p < all ? ring.of_b(place) : T(0);
                }
                for (int k = 0; k < AT_ONCE; k++)
                    visit(base + (unsigned)k * 32 + lane < all, c[k], x[k], y[k]);
            }
            for (uint64_t t = first + warp; some_pieces && t < count && t < first + blockDim.x; t += warps) {
                const uint32_t its_row = job.a.columns[begin + t];
                if (dcsr_i_cuda_head_length(job.b_heads[its_row]) != DCSR_CUDA_HEAD_PIECES) continue;
                const T x = VALUES ? ring.of_a(begin + t) : T(0);
                dcsr_i_cuda_for_pieces(job.b, its_row, [&](uint64_t place, uint64_t n) {
                    for (uint64_t k = lane; k < n; k += 32)
                        visit(true, job.b.columns[place + k], x, VALUES ? ring.of_b(place + k) : T(0));
                });
            }
            __syncthreads(); /* terms may be written again */
        }
    });
}

/* ---- Places ---- */

/* Where a tile begins that has so many entries, the tiles before it having begun already; a warp calls. A tile's
 * status is (sum << 2 | 1) of its own, then (sum << 2 | 2) of all up to it; the lanes look at 32 tiles at once. */
DCSR_CUDA_INLINE uint64_t dcsr_i_cuda_look_back(unsigned long long *status, uint64_t tile, uint64_t entries)
{
    const unsigned lane = dcsr_i_cuda_lane();
    uint64_t before = 0;
    if (lane == 0) atomicExch(&status[tile], (unsigned long long)entries << 2 | (tile ? 1 : 2));
    for (uint64_t end = tile; end;) {
        bool mine = lane < end;
        unsigned long long word = mine ? dcsr_i_cuda_peek(&status[end - 1 - lane]) : 2;
        if (__any_sync(DCSR_CUDA_ALL_LANES, !(word & 3))) continue;
        uint32_t whole = __ballot_sync(DCSR_CUDA_ALL_LANES, word & 2);
        unsigned last = whole ? (unsigned)__ffs((int)whole) - 1 : 31;
        before += dcsr_i_cuda_warp_sum<uint64_t>(mine && lane <= last ? word >> 2 : 0);
        end = whole || end <= 32 ? 0 : end - 32;
    }
    if (lane == 0 && tile) atomicExch(&status[tile], (unsigned long long)(before + entries) << 2 | 2);
    return before;
}

/* Room for a tile of so many entries, in the order of tiles or in any. A warp calls. */
DCSR_CUDA_INLINE uint64_t dcsr_i_cuda_mxm_take(const dcsr_i_cuda_mxm_job &job, uint64_t tile,
                                               uint64_t entries)
{
    uint64_t before = 0;
    if (job.status) {
        before = dcsr_i_cuda_look_back(job.status, tile, entries);
        if (dcsr_i_cuda_lane() == 0) atomicMax(job.next, (unsigned long long)(before + entries));
    } else {
        if (dcsr_i_cuda_lane() == 0) before = atomicAdd(job.next, (unsigned long long)entries);
        before = __shfl_sync(DCSR_CUDA_ALL_LANES, before, 0);
    }
    return before;
}

/* Notes that a row of so many entries begins at `at` in the room; false, and left for another round, where that is
 * not large enough. One thread calls. */
DCSR_CUDA_INLINE bool dcsr_i_cuda_mxm_enter(const dcsr_i_cuda_mxm_job &job, uint64_t row, uint64_t at,
                                            uint32_t entries)
{
    bool fits = at + entries <= job.room;
    if (fits) {
        job.begin[row] = job.first + at;
        job.length[row] = entries;
    } else {
        job.left[atomicAdd(job.left_count, 1ull)] = (uint32_t)row;
    }
    return fits;
}

#endif

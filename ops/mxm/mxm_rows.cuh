/* mxm_rows.cuh: what the kernels of row-binned products have in common (internal; in kernels). */
#ifndef DCSR_MXM_ROWS_CUH
#define DCSR_MXM_ROWS_CUH

#include "dcsr/device/reduce.cuh"
#include "ops/algebra/semiring.cuh"
#include "ops/mxm/mxm_rows_cuda.h"

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

/* Piece k of a row; false: it has fewer. For loops whose body is large, as this is not written out for each layout. */
DCSR_CUDA_INLINE bool dcsr_i_cuda_find_piece(const dcsr_i_cuda_rows &rows, uint64_t head, uint64_t row,
                                             unsigned k, dcsr_i_cuda_piece *piece)
{
    unsigned n = 0;
    dcsr_i_cuda_for_row(rows, head, row, [&](uint64_t begin, uint64_t length) {
        if (n++ == k) *piece = {begin, length};
    });
    return k < n;
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
 * row of B begins, less that number, and its value. Rows of B in pieces count as empty here. */
template <class T> struct dcsr_i_cuda_mxm_terms {
    uint64_t *begin; /* a number for each thread */
    T *x;
    uint32_t *before; /* and two more: all products; whether a row is in pieces */
    static __host__ __device__ size_t bytes(unsigned threads)
    {
        return threads * (sizeof(uint64_t) + sizeof(T) + sizeof(uint32_t)) + 16;
    }
    __device__ explicit dcsr_i_cuda_mxm_terms(void *memory)
        : begin((uint64_t *)memory), x((T *)(begin + blockDim.x)), before((uint32_t *)(x + blockDim.x))
    {
    }
    /* The term of product p, if that is one of n terms. */
    __device__ unsigned of(uint32_t p, unsigned n) const
    {
        unsigned low = 0;
        for (unsigned high = n - 1; low < high;) { /* before[low] <= p */
            unsigned middle = (low + high + 1) / 2;
            if (before[middle] <= p)
                low = middle;
            else
                high = middle - 1;
        }
        return low;
    }
};

/* The sum over the lanes before this one. */
template <class T> DCSR_CUDA_INLINE T dcsr_i_cuda_scan_warp(T mine)
{
    T up_to = mine;
    for (unsigned d = 1; d < 32; d *= 2) {
        const T other = __shfl_up_sync(DCSR_CUDA_ALL_LANES, up_to, d);
        if (dcsr_i_cuda_lane() >= d) up_to += other;
    }
    return up_to - mine;
}

/* The sum over the threads before this one; *all: over all. */
DCSR_CUDA_INLINE uint32_t dcsr_i_cuda_scan_block(uint32_t mine, uint32_t *all)
{
    SIMT_SHARED(uint32_t, of_warp, 32);
    const unsigned lane = dcsr_i_cuda_lane(), warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const uint32_t before = dcsr_i_cuda_scan_warp(mine);
    if (lane == 31) of_warp[warp] = before + mine;
    __syncthreads();
    const uint32_t sum = lane < warps ? of_warp[lane] : 0, sums_before = dcsr_i_cuda_scan_warp(sum);
    *all = __shfl_sync(DCSR_CUDA_ALL_LANES, sums_before + sum, 31);
    __syncthreads();
    return before + __shfl_sync(DCSR_CUDA_ALL_LANES, sums_before, (int)warp);
}

/* Makes the terms known that the `count` entries of A from place `begin` on are, one for each thread at most. */
template <class Ring>
DCSR_CUDA_INLINE void dcsr_i_cuda_mxm_load_terms(const dcsr_i_cuda_mxm_job &job, const Ring &ring,
                                                 const dcsr_i_cuda_mxm_terms<typename Ring::T> &terms,
                                                 uint64_t begin, unsigned count)
{
    const bool is_term = threadIdx.x < count;
    const uint64_t head = is_term ? job.b_heads[job.a.columns[begin + threadIdx.x]] : 0;
    const uint32_t length = dcsr_i_cuda_head_length(head);
    const bool pieces = length == DCSR_CUDA_HEAD_PIECES;
    uint32_t all, before = dcsr_i_cuda_scan_block(pieces ? 0 : length, &all);
    terms.begin[threadIdx.x] = (head >> 24) - before;
    terms.before[threadIdx.x] = before;
    if (Ring::VALUES && is_term) terms.x[threadIdx.x] = ring.of_a(begin + threadIdx.x);
    const bool some_pieces = __syncthreads_or(pieces);
    if (threadIdx.x == 0) terms.before[blockDim.x] = all, terms.before[blockDim.x + 1] = some_pieces;
    __syncthreads();
}

/* Calls batch(begin, n) for the entries of a row of A, as many at a time as the block has threads: they stand from
 * place `begin` on, and their terms are known. `again`: the last call was for the same row, so if all its terms fit,
 * they are known already. */
template <class Ring, class Batch>
DCSR_CUDA_INLINE void dcsr_i_cuda_mxm_for_terms_of_block(const dcsr_i_cuda_mxm_job &job, const Ring &ring,
                                                         uint64_t row,
                                                         const dcsr_i_cuda_mxm_terms<typename Ring::T> &terms,
                                                         Batch batch, bool again)
{
    const uint64_t head = job.a_heads[row];
    const bool known = again && dcsr_i_cuda_head_length(head) <= blockDim.x;
    dcsr_i_cuda_piece piece;
    for (unsigned k = 0; dcsr_i_cuda_find_piece(job.a, head, row, k, &piece); k++)
        for (uint64_t first = 0; first < piece.length; first += blockDim.x) {
            const unsigned n =
                piece.length - first < blockDim.x ? (unsigned)(piece.length - first) : blockDim.x;
            if (!known) dcsr_i_cuda_mxm_load_terms(job, ring, terms, piece.begin + first, n);
            batch(piece.begin + first, n);
            __syncthreads(); /* terms may be written again */
        }
}

/* Calls visit(true, column, value of A's entry, value of B's) for the products of n terms that stand in one piece:
 * each group of LANES threads takes as many that follow one another. */
template <unsigned LANES, bool VALUES, class Ring, class Visit>
DCSR_CUDA_INLINE void dcsr_i_cuda_mxm_share_products(const dcsr_i_cuda_mxm_job &job, const Ring &ring,
                                                     const dcsr_i_cuda_mxm_terms<typename Ring::T> &terms,
                                                     unsigned n, Visit visit)
{
    typedef typename Ring::T T;
    enum { AT_ONCE = VALUES ? 4 : 8 };
    const unsigned groups = blockDim.x / LANES, lane = threadIdx.x % LANES;
    const uint32_t all = terms.before[blockDim.x], each = (all + groups - 1) / groups;
    uint32_t p = each * (threadIdx.x / LANES);
    const uint32_t end = p + each < all ? p + each : all;
    for (unsigned t = p < end ? terms.of(p, n) : n; p < end; t++) {
        const uint32_t of_next = t + 1 < n ? terms.before[t + 1] : all, stop = of_next < end ? of_next : end;
        const uint64_t begin = terms.begin[t];
        const T x = VALUES ? terms.x[t] : T(0);
        for (p += lane; p < stop; p += AT_ONCE * LANES) {
            uint32_t c[AT_ONCE];
            T y[AT_ONCE];
            for (unsigned k = 0; k < AT_ONCE; k++) {
                const bool exists = p + k * LANES < stop;
                c[k] = exists ? job.b.columns[begin + p + k * LANES] : 0;
                y[k] = VALUES && exists ? ring.of_b(begin + p + k * LANES) : T(0);
            }
            for (unsigned k = 0; k < AT_ONCE; k++)
                if (p + k * LANES < stop) visit(true, c[k], x, VALUES ? y[k] : T(0));
        }
        p = stop;
    }
}

/* The same for the products of a row, which the threads of a block share evenly, whatever the lengths of the rows of
 * B. `again`: the block did so for this row the last time. */
template <bool VALUES, class Ring, class Visit>
DCSR_CUDA_INLINE void
dcsr_i_cuda_mxm_for_products_of_block(const dcsr_i_cuda_mxm_job &job, const Ring &ring, uint64_t row,
                                      const dcsr_i_cuda_mxm_terms<typename Ring::T> &terms, Visit visit,
                                      bool again = false)
{
    typedef typename Ring::T T;
    enum { FEW = 8 };
    auto batch = [&](uint64_t a, unsigned n) {
        if (terms.before[blockDim.x] > 6 * FEW * n)
            dcsr_i_cuda_mxm_share_products<32, VALUES>(job, ring, terms, n, visit);
        else
            dcsr_i_cuda_mxm_share_products<FEW, VALUES>(job, ring, terms, n, visit);
        if (!terms.before[blockDim.x + 1]) return;
        for (unsigned t = threadIdx.x / 32; t < n; t += blockDim.x / 32) {
            const uint32_t its_row = job.a.columns[a + t];
            const uint64_t head = job.b_heads[its_row];
            if (dcsr_i_cuda_head_length(head) != DCSR_CUDA_HEAD_PIECES) continue;
            const T x = VALUES ? terms.x[t] : T(0);
            dcsr_i_cuda_piece piece;
            for (unsigned k = 0; dcsr_i_cuda_find_piece(job.b, head, its_row, k, &piece); k++)
                for (uint64_t i = dcsr_i_cuda_lane(); i < piece.length; i += 32)
                    visit(true, job.b.columns[piece.begin + i], x,
                          VALUES ? ring.of_b(piece.begin + i) : T(0));
        }
    };
    dcsr_i_cuda_mxm_for_terms_of_block(job, ring, row, terms, batch, again);
}

/* The same in the order of A's entries: the threads share the products of one, whose columns differ, a slice of one
 * for each thread at a time, and all are done with a slice before the next. Some slices are asked for ahead. */
template <class Ring, class Visit>
DCSR_CUDA_INLINE void
dcsr_i_cuda_mxm_for_products_in_turn(const dcsr_i_cuda_mxm_job &job, const Ring &ring, uint64_t row,
                                     const dcsr_i_cuda_mxm_terms<typename Ring::T> &terms, Visit visit,
                                     bool again = false)
{
    typedef typename Ring::T T;
    enum { AHEAD = 4 };
    struct slice {
        unsigned term;
        bool exists, empty;
        uint32_t column;
        T y;
    };
    /* The row that entry e of A names, if it has several pieces. */
    auto visit_pieces = [&](uint64_t e, T x) {
        const uint32_t its_row = job.a.columns[e];
        const uint64_t head = job.b_heads[its_row];
        dcsr_i_cuda_piece piece;
        for (unsigned k = 0; dcsr_i_cuda_find_piece(job.b, head, its_row, k, &piece); k++)
            for (uint64_t i = threadIdx.x; i < piece.length; i += blockDim.x)
                visit(true, job.b.columns[piece.begin + i], x, ring.of_b(piece.begin + i));
    };
    auto batch = [&](uint64_t a, unsigned n) {
        const bool some_pieces = terms.before[blockDim.x + 1];
        slice slices[AHEAD];
        unsigned t = 0;  /* the next slice: of this term, */
        uint32_t at = 0; /* from this product of it on */
        auto bring = [&](slice &s) {
            s = {t, false, false, 0, T(0)};
            if (t == n) return;
            const uint32_t before = terms.before[t],
                           length = terms.before[t + 1 < n ? t + 1 : blockDim.x] - before;
            const uint64_t place = terms.begin[t] + before + at + threadIdx.x;
            s.exists = at + threadIdx.x < length, s.empty = !length;
            if (s.exists) s.column = job.b.columns[place], s.y = ring.of_b(place);
            at += blockDim.x;
            if (at >= length) at = 0, t++;
        };
        for (unsigned k = 0; k < AHEAD; k++) bring(slices[k]);
        for (;;)
            for (unsigned k = 0; k < AHEAD; k++) {
                slice &s = slices[k];
                if (s.term == n) return;
                const T x = terms.x[s.term];
                if (s.exists) visit(true, s.column, x, s.y);
                if (some_pieces && s.empty) visit_pieces(a + s.term, x);
                __syncthreads();
                bring(s);
            }
    };
    dcsr_i_cuda_mxm_for_terms_of_block(job, ring, row, terms, batch, again);
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

/* spmv_rows.cuh: what SpMV's kernels multiply and add, and where they find rows (internal; for spmv.cu).
 *
 * Rows are looked up in groups of 32, which share a word of each of their page's masks: lane r of a warp learns where row r
 * of the group is. That is a chain of loads, each of which needs what the one before it brought; so it is in two steps, the
 * first of which is taken while the entries of the group before are summed:
 *
 *                 fetch()              find()                                                   bytes a row
 *      csr        two offsets          -                                                        8
 *      tight      length               a sum of lengths: rows lie one behind the other          4
 *      segments   page, length         begin; of a fragmented row its first piece's capacity    12, fragmented 24
 *                                      and the second's begin */
#ifndef DCSR_SPMV_ROWS_CUH
#define DCSR_SPMV_ROWS_CUH

#include "dcsr/reduce.cuh"
#include <math.h>

#define DCSR_CUDA_SPMV_GROUP 32

/* Entries are read once: x is what is to stay in the caches (1.1 to 1.3 times as fast). */
template <class T> DCSR_CUDA_INLINE T dcsr_cuda_read_once(const T *p)
{
#ifdef __CUDACC__
    return __ldcs(p);
#else
    return *p;
#endif
}

/* ---- What is multiplied and added ---- */

/* Integers wrap around, so their sums are unsigned, and so are they. */
template <class T, class S> struct dcsr_cuda_numbers {
    typedef T element;
    typedef S sum;
    static __device__ T value(const T *values, uint64_t at)
    {
        return dcsr_cuda_read_once(values + at);
    }
    static __device__ S add(S sum, T value, T x)
    {
        return sum + (S)value * (S)x;
    }
    static __device__ T result(S sum)
    {
        return (T)sum;
    }
};
template <class T> struct dcsr_cuda_reals : dcsr_cuda_numbers<T, T> {
    static __device__ T add(T sum, T value, T x)
    {
        return fma(value, x, sum);
    }
};
struct dcsr_cuda_ones : dcsr_cuda_numbers<double, double> { /* of a pattern */
    static __device__ double value(const double *, uint64_t)
    {
        return 1;
    }
    static __device__ double add(double sum, double, double x)
    {
        return sum + x;
    }
};
/* The sum counts the true products, of which a row has fewer than 2^32. */
struct dcsr_cuda_truths : dcsr_cuda_numbers<uint8_t, uint32_t> {
    static __device__ uint8_t result(uint32_t sum)
    {
        return sum != 0;
    }
};

/* Calls what(Kind()) with the one of these that a type has. */
template <class What> auto dcsr_cuda_with_kind(uint32_t type, What what)
{
    switch (type) {
    case DCSR_PATTERN:
        return what(dcsr_cuda_ones());
    case DCSR_BOOL:
        return what(dcsr_cuda_truths());
    case DCSR_INT8:
    case DCSR_UINT8:
        return what(dcsr_cuda_numbers<uint8_t, uint32_t>());
    case DCSR_INT16:
    case DCSR_UINT16:
        return what(dcsr_cuda_numbers<uint16_t, uint32_t>());
    case DCSR_INT32:
    case DCSR_UINT32:
        return what(dcsr_cuda_numbers<uint32_t, uint32_t>());
    case DCSR_INT64:
    case DCSR_UINT64:
        return what(dcsr_cuda_numbers<uint64_t, uint64_t>());
    case DCSR_FP32:
        return what(dcsr_cuda_reals<float>());
    default:
        return what(dcsr_cuda_reals<double>());
    }
}

/* ---- Where rows are ---- */

/* A row: position p stands at begin + p below `cut`, at rest + p from there on, unless it is in the third piece or a later
 * one, which is from `deep` on. */
struct dcsr_cuda_row_at {
    uint32_t length, cut, deep;
    uint64_t begin, rest;
};

/* Looks rows up as offsets say. One object serves groups that follow each other; likewise below. */
struct dcsr_cuda_by_offsets {
    static const bool pieces = false;
    struct fetched {
        uint64_t begin, end;
    };
    __device__ fetched fetch(const dcsr_cuda_rows &rows, uint64_t row) const
    {
        fetched f = {0, 0};
        if (row < rows.rows) f = {rows.offsets[row], rows.offsets[row + 1]};
        return f;
    }
    __device__ dcsr_cuda_row_at find(const dcsr_cuda_rows &, uint64_t, const fetched &f)
    {
        uint32_t length = (uint32_t)(f.end - f.begin);
        return {length, length, length, f.begin, 0};
    }
};

struct dcsr_cuda_by_segments {
    static const bool pieces = true;
    struct fetched {
        const dcsr_cuda_row_page *page;
        uint32_t length;
    };
    __device__ fetched fetch(const dcsr_cuda_rows &rows, uint64_t row) const
    {
        fetched f = {nullptr, 0};
        if (row < rows.rows) f.page = dcsr_cuda_page_of(rows, row);
        if (f.page) f.length = f.page->length[row & (DCSR_CUDA_PAGE_ROWS - 1)];
        return f;
    }
    __device__ dcsr_cuda_row_at find(const dcsr_cuda_rows &rows, uint64_t row, const fetched &f)
    {
        uint32_t r = row & (DCSR_CUDA_PAGE_ROWS - 1);
        dcsr_cuda_row_at at = {f.length, f.length, f.length, 0, 0};
        if (!at.length) return at;
        const dcsr_cuda_segment_page *piece = &rows.segment_page[f.page->segment[0]];
        at.begin = piece->begin[r];
        if (!dcsr_cuda_bit(f.page->fragmented, r)) return at;
        at.cut = piece->capacity[r];
        piece = &rows.segment_page[f.page->segment[1]];
        at.rest = piece->begin[r] - at.cut;
        /* Where no row of the page has a third piece, the capacity of the second need not be read. */
        if (rows.segments_per_row > 2 && f.page->segment[2] != DCSR_CUDA_NONE) {
            uint32_t capacity = piece->capacity[r];
            if (capacity < at.length - at.cut) at.deep = at.cut + capacity;
        }
        return at;
    }
};

/* Rows that lie one behind the other: only the first that has entries is looked up. */
struct dcsr_cuda_by_lengths : dcsr_cuda_by_segments {
    static const bool pieces = false;
    uint64_t next = 0; /* where the next group begins, */
    bool known = false; /* once a row with entries has been met */

    __device__ dcsr_cuda_row_at find(const dcsr_cuda_rows &rows, uint64_t row, const fetched &f)
    {
        const unsigned lane = dcsr_cuda_lane(), last = DCSR_CUDA_SPMV_GROUP - 1;
        uint32_t up_to = f.length;
        for (unsigned distance = 1; distance < DCSR_CUDA_SPMV_GROUP; distance *= 2) {
            uint32_t other = __shfl_up_sync(DCSR_CUDA_ALL_LANES, up_to, distance);
            if (lane >= distance) up_to += other;
        }
        if (!known) {
            unsigned in_use = __ballot_sync(DCSR_CUDA_ALL_LANES, f.length != 0);
            int first = in_use ? __ffs((int)in_use) - 1 : 0;
            uint64_t begin = 0;
            if (f.length && (int)lane == first)
                begin = rows.segment_page[f.page->segment[0]].begin[row & (DCSR_CUDA_PAGE_ROWS - 1)];
            next = __shfl_sync(DCSR_CUDA_ALL_LANES, begin, first);
            known = in_use != 0;
        }
        dcsr_cuda_row_at at = {f.length, f.length, f.length, next + (up_to - f.length), 0};
        next += __shfl_sync(DCSR_CUDA_ALL_LANES, up_to, last);
        return at;
    }
};

#endif

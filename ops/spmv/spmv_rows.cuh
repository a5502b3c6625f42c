/* spmv_rows.cuh: what SpMV's kernels multiply and add, and where they find rows (internal; for spmv*.cu).
 *
 * Rows are looked up in groups of 32, which share a word of each of their page's masks: lane r of a warp
 * learns where row r of the group is.
 *
 *      by_offsets     two offsets of a CSR view: 8 bytes a row
 *      by_lengths     lengths, of which begins are sums, as rows lie one behind the other: 4 bytes
 *      by_segments    length and segment, 12 bytes; of a fragmented row 20, for its second segment */
#ifndef DCSR_SPMV_ROWS_CUH
#define DCSR_SPMV_ROWS_CUH

#include "dcsr/device/reduce.cuh"
#include "dcsr/device/value_word.cuh"
#include <math.h>

#define DCSR_CUDA_SPMV_GROUP 32

/* ---- What is multiplied and added ---- */

/* Integers wrap around, so their sums are unsigned, and so are they. */
template <class T, class S> struct dcsr_i_cuda_numbers {
    typedef T element;
    typedef S sum;
    static __device__ T value(const T *values, uint64_t at) { return dcsr_i_cuda_read_once(values + at); }
    static __device__ S add(S sum, T value, T x) { return sum + (S)value * (S)x; }
    static __device__ T result(S sum) { return (T)sum; }
};
template <class T> struct dcsr_i_cuda_reals : dcsr_i_cuda_numbers<T, T> {
    static __device__ T add(T sum, T value, T x) { return fma(value, x, sum); }
};
struct dcsr_i_cuda_ones : dcsr_i_cuda_numbers<double, double> { /* of a pattern */
    static __device__ double value(const double *, uint64_t) { return 1; }
    static __device__ double add(double sum, double, double x) { return sum + x; }
};
/* The sum counts the true products, of which a row has fewer than 2^32. */
struct dcsr_i_cuda_truths : dcsr_i_cuda_numbers<uint8_t, uint32_t> {
    static __device__ uint8_t result(uint32_t sum) { return sum != 0; }
};

/* Calls what(Kind()) with the one of these that a type has. */
template <class What> auto dcsr_i_cuda_with_kind(uint32_t type, What what)
{
    switch (type) {
    case DCSR_PATTERN:
        return what(dcsr_i_cuda_ones());
    case DCSR_BOOL:
        return what(dcsr_i_cuda_truths());
    case DCSR_INT8:
    case DCSR_UINT8:
        return what(dcsr_i_cuda_numbers<uint8_t, uint32_t>());
    case DCSR_INT16:
    case DCSR_UINT16:
        return what(dcsr_i_cuda_numbers<uint16_t, uint32_t>());
    case DCSR_INT32:
    case DCSR_UINT32:
        return what(dcsr_i_cuda_numbers<uint32_t, uint32_t>());
    case DCSR_INT64:
    case DCSR_UINT64:
        return what(dcsr_i_cuda_numbers<uint64_t, uint64_t>());
    case DCSR_FP32:
        return what(dcsr_i_cuda_reals<float>());
    default:
        return what(dcsr_i_cuda_reals<double>());
    }
}

/* ---- Where rows are ---- */

/* A row: position p stands at begin + p below `cut`, at rest + p from there on, unless it is in the third
 * piece or a later one, which is from `deep` on. */
struct dcsr_i_cuda_row_at {
    uint32_t length, cut, deep;
    uint64_t begin, rest;
};

struct dcsr_i_cuda_by_offsets {
    static const bool pieces = false; /* whether rows may have several */
    static __device__ dcsr_i_cuda_row_at find(const dcsr_i_cuda_rows &rows, uint64_t row)
    {
        dcsr_i_cuda_row_at at = {};
        if (row >= rows.rows) return at;
        at.begin = rows.offsets[row];
        at.length = at.cut = at.deep = (uint32_t)(rows.offsets[row + 1] - at.begin);
        return at;
    }
};

struct dcsr_i_cuda_by_segments {
    static const bool pieces = true;
    static __device__ dcsr_i_cuda_row_at find(const dcsr_i_cuda_rows &rows, uint64_t row)
    {
        dcsr_i_cuda_row_at at = {};
        const dcsr_i_cuda_row_page *page = row < rows.rows ? dcsr_i_cuda_page_of(rows, row) : nullptr;
        uint32_t r = row & (DCSR_CUDA_PAGE_ROWS - 1);
        if (page) at.length = at.cut = at.deep = page->length[r];
        if (!at.length) return at;
        dcsr_i_segment segment = rows.segment_page[page->segment[0]].of[r];
        at.begin = dcsr_i_segment_begin(segment);
        if (!dcsr_i_cuda_bit(page->fragmented, r)) return at;
        at.cut = (uint32_t)dcsr_i_segment_capacity(segment);
        segment = rows.segment_page[page->segment[1]].of[r];
        at.rest = dcsr_i_segment_begin(segment) - at.cut;
        /* Where no row of the page has a third piece, the capacity of the second need not be read. */
        if (rows.segments_per_row > 2 && page->segment[2] != DCSR_CUDA_NONE) {
            uint32_t capacity = (uint32_t)dcsr_i_segment_capacity(segment);
            if (capacity < at.length - at.cut) at.deep = at.cut + capacity;
        }
        return at;
    }
};

/* The begin of the first row of the group that has entries is read; the group has fewer than 2^32. */
struct dcsr_i_cuda_by_lengths {
    static const bool pieces = false;
    static __device__ dcsr_i_cuda_row_at find(const dcsr_i_cuda_rows &rows, uint64_t row)
    {
        dcsr_i_cuda_row_at at = {};
        const dcsr_i_cuda_row_page *page = row < rows.rows ? dcsr_i_cuda_page_of(rows, row) : nullptr;
        uint32_t r = row & (DCSR_CUDA_PAGE_ROWS - 1), lane = dcsr_i_cuda_lane();
        if (page) at.length = at.cut = at.deep = page->length[r];
        unsigned in_use = __ballot_sync(DCSR_CUDA_ALL_LANES, at.length != 0);
        if (!in_use) return at;
        uint32_t up_to = at.length;
        for (unsigned distance = 1; distance < DCSR_CUDA_SPMV_GROUP; distance *= 2) {
            uint32_t other = __shfl_up_sync(DCSR_CUDA_ALL_LANES, up_to, distance);
            if (lane >= distance) up_to += other;
        }
        int first = __ffs((int)in_use) - 1;
        uint64_t begin =
            (int)lane == first ? dcsr_i_segment_begin(rows.segment_page[page->segment[0]].of[r]) : 0;
        at.begin = __shfl_sync(DCSR_CUDA_ALL_LANES, begin, first) + (up_to - at.length);
        return at;
    }
};

#endif

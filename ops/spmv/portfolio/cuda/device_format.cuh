/* device_format.cuh: what the kernels of the portfolio on a device share (internal; for .cu files here). */
#ifndef DCSR_DEVICE_FORMAT_CUH
#define DCSR_DEVICE_FORMAT_CUH

#include "dcsr/device/reduce.cuh"
#include "ops/spmv/portfolio/cuda/device_format.h"
#include "ops/spmv/product.cuh"

namespace dcsr_portfolio
{
using namespace dcsr_row_sums;

/* Calls what(Kind()) (spmv_rows.cuh) for the types that formats serve. */
template <class What> void with_kind(uint32_t type, What what)
{
    switch (type) {
    case DCSR_PATTERN:
        return what(dcsr_i_cuda_ones());
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

/* Calls what(lanes) with the number of lanes, a power of two up to 32, as a type. */
template <class What> void with_lane_count(uint32_t lanes, What what)
{
    switch (lanes) {
    case 1:
        return what(std::integral_constant<int, 1>());
    case 2:
        return what(std::integral_constant<int, 2>());
    case 4:
        return what(std::integral_constant<int, 4>());
    case 8:
        return what(std::integral_constant<int, 8>());
    case 16:
        return what(std::integral_constant<int, 16>());
    default:
        return what(std::integral_constant<int, 32>());
    }
}

template <class T> T *array_of(const dcsr_i_spmv_format *format, int array)
{
    return (T *)format->array[array].at;
}

/* The product over the columns and values in two arrays of a format. */
template <class Kind>
product<Kind> product_of(const dcsr_i_spmv_put *put, const dcsr_i_spmv_format *format, int columns,
                         int values)
{
    typedef typename Kind::element element;
    return {(element *)put->y, (const element *)put->x, array_of<const element>(format, values),
            array_of<const uint32_t>(format, columns)};
}

/* Puts a kernel onto the product's stream, with threads for `work` items, or a block of exactly `threads` for each. */
template <class... P, class... A>
void put_threads(const dcsr_i_spmv_put *put, void (*kernel)(P...), uint64_t work, A... arguments)
{
    constexpr dcsr_i_cuda_policy policy = {256, 1};
    if (!work) return;
    simt::launch(kernel, dim3(dcsr_i_cuda_blocks(put->stream, work, policy)),
                 dim3(dcsr_i_cuda_threads(policy)), 0, (cudaStream_t)put->on, arguments...);
    dcsr_i_cuda_launched(put->stream);
}
template <class... P, class... A>
void put_blocks(const dcsr_i_spmv_put *put, void (*kernel)(P...), uint64_t blocks, int threads,
                A... arguments)
{
    if (!blocks) return;
    simt::launch(kernel, dim3(dcsr_i_cuda_blocks(put->stream, blocks, {1, 1})), dim3((unsigned)threads), 0,
                 (cudaStream_t)put->on, arguments...);
    dcsr_i_cuda_launched(put->stream);
}
/* With threads for all items at once: where they take about equally long, the last wave of fewer blocks that take turns
 * would leave a part of the device idle. */
template <class... P, class... A>
void put_at_once(const dcsr_i_spmv_put *put, void (*kernel)(P...), uint64_t work, A... arguments)
{
#ifdef DCSR_SIMT
    put_threads(put, kernel, work, arguments...);
#else
    constexpr uint64_t THREADS = 256, MOST = INT32_MAX;
    const uint64_t blocks = (work + THREADS - 1) / THREADS;
    if (!work) return;
    simt::launch(kernel, dim3((unsigned)(blocks < MOST ? blocks : MOST)), dim3(THREADS), 0,
                 (cudaStream_t)put->on, arguments...);
    dcsr_i_cuda_launched(put->stream);
#endif
}
/* A kernel that begins with dcsr_i_cuda_await(), behind another of the same product. */
template <class... P, class... A>
void put_after(const dcsr_i_spmv_put *put, void (*kernel)(P...), uint64_t work, A... arguments)
{
#ifdef DCSR_SIMT
    put_threads(put, kernel, work, arguments...);
#else
    constexpr dcsr_i_cuda_policy policy = {256, 1};
    if (!dcsr_i_cuda_describe(dcsr_i_cuda_device_of(put->stream))->chains)
        return put_threads(put, kernel, work, arguments...);
    if (!work) return;
    simt::launch_chained(kernel, dim3(dcsr_i_cuda_blocks(put->stream, work, policy)),
                         dim3(dcsr_i_cuda_threads(policy)), 0, (cudaStream_t)put->on, arguments...);
    dcsr_i_cuda_launched(put->stream);
#endif
}
inline void put_zeros(const dcsr_i_spmv_put *put, void *at, uint64_t bytes)
{
    if (bytes) dcsr_i_cuda_note(put->stream, cudaMemsetAsync(at, 0, bytes, (cudaStream_t)put->on));
}

template <class T> __global__ void narrow(const T *from, uint32_t *to, uint64_t n)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < n; i += dcsr_i_cuda_step()) to[i] = (uint32_t)from[i];
}

/* ---- Strips: places of rows, in slices of 32 rows that read in order ---- */

enum { SLICE = 32 };
inline uint64_t slices_of(const dcsr_i_spmv_format *format)
{
    return (format->rows + SLICE - 1) / SLICE;
}

/* Where position p of a row stands. */
struct strips {
    const uint32_t *start; /* of each slice, in slices of a place to each row; NULL: all are of one width */
    uint64_t width;        /* then */

    __device__ uint64_t begin(uint64_t slice) const
    {
        return (start ? start[slice] : slice * width) * (uint64_t)SLICE;
    }
    __device__ uint64_t width_of(uint64_t slice) const
    {
        return start ? start[slice + 1] - start[slice] : width;
    }
};

/* Raises *differ where the slice of a row that has changed is as wide no more. */
template <class Strips>
__global__ void compare_widths(dcsr_i_cuda_walk walk, uint64_t rows, Strips strip, uint32_t *differ)
{
    for (uint64_t i = dcsr_i_cuda_first_warp(); i < walk.count; i += dcsr_i_cuda_warp_step()) {
        const uint64_t slice = walk.list[i] / SLICE, row = slice * SLICE + dcsr_i_cuda_lane();
        const uint64_t width = dcsr_i_cuda_warp_max(row < rows ? dcsr_i_cuda_length(walk.rows, row) : 0);
        if (dcsr_i_cuda_lane() == 0 && width != strip.width_of(slice)) *differ = 1;
    }
}

/* ---- Sums that go on from tile to tile ---- */

/* Tile k of the work ends within row key(k), of which it has carry[k]. Adds to each row what its tiles have, in a fixed
 * tree. A warp takes 32 tiles, a lane each: the first tile of a row adds those of the row that follow; where a row goes
 * on behind the last lane, all lanes add up what is there. A row that is none (`rows`) has nothing. */
template <class Kind, class Key>
__global__ void add_carries(typename Kind::element *y, uint64_t rows, const typename Kind::sum *carry,
                            uint64_t tiles, Key key)
{
    dcsr_i_cuda_await();
    const uint32_t lane = dcsr_i_cuda_lane(), none = UINT32_MAX;
    for (uint64_t first = dcsr_i_cuda_first_warp() * 32; first < tiles;
         first += dcsr_i_cuda_warp_step() * 32) {
        const uint64_t k = first + lane;
        const uint32_t row = k < tiles ? key(k) : none;
        typename Kind::sum sum = k < tiles ? carry[k] : 0;
        uint32_t last = __shfl_up_sync(ALL, row, 1);
        if (lane == 0) last = k ? key(k - 1) : none;
        const bool begins = row != last && row < rows;
        for (unsigned distance = 1; distance < 32; distance *= 2) {
            const typename Kind::sum higher = __shfl_down_sync(ALL, sum, distance);
            const uint32_t higher_row = __shfl_down_sync(ALL, row, distance);
            if (lane + distance < 32 && higher_row == row) sum += higher;
        }
        /* The row that goes on, if it begins here. */
        const uint32_t open = __shfl_sync(ALL, row, 31);
        if (__any_sync(ALL, begins && row == open)) {
            typename Kind::sum rest = 0;
            for (uint64_t j = first + 32 + lane; j < tiles && key(j) == open; j += 32) rest += carry[j];
            rest = dcsr_i_cuda_warp_sum(rest);
            if (row == open) sum += rest;
        }
        if (begins) y[row] = (typename Kind::element)(y[row] + sum);
    }
}
} // namespace dcsr_portfolio

#endif

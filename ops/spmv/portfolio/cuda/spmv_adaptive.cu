/* spmv_adaptive.cu: the kernel csr_adaptive (Greathouse and Daga, SC 2014).
 *
 * Blocks of rows of about TILE entries and rows in all are found once. A block of threads brings the products of its
 * rows to shared memory, in order; then a lane adds up each short row, and a warp each of medium length. A row of more
 * than TILE entries is long: part j of it, of TILE entries, is summed by the block that is j behind the one in which
 * it begins,
 *
 *      tiles         [ r r r L0 | L1 | L2 | L3 r r r | r r r ]
 *
 * which has hardly any rows of its own, as the row fills the tiles between; a second kernel adds up the parts, if there
 * are any. All in fixed orders: deterministic. Bytes: 4 + value an entry, 4 a row, x and y; one launch, two with long
 * rows. */
#include "ops/spmv/portfolio/cuda/device_format.cuh"

namespace
{
using namespace dcsr_portfolio;
#ifdef DCSR_SIMT
constexpr uint32_t THREADS = 64, TILE = 128;
#else
constexpr uint32_t THREADS = 128, TILE = 1024;
#endif
constexpr uint32_t SHORT_ROW = 32;
enum { START = 3, PARTS = 4 };

struct cut_csr {
    const uint32_t *offsets, *start;
    uint64_t tiles;
};

template <class Kind> DCSR_CUDA_INLINE typename Kind::sum one(const product<Kind> &a, uint64_t i)
{
    return Kind::add(0, Kind::value(a.values, i), a.factor[dcsr_i_cuda_read_once(a.columns + i)]);
}

/* The sum of up to TILE entries from `from` on, below `end`, by the block. */
template <class Kind>
DCSR_CUDA_INLINE typename Kind::sum part_of(const product<Kind> &a, uint64_t from, uint64_t end)
{
    typename Kind::sum sum = 0;
    for (uint64_t i = from + threadIdx.x; i < end && i < from + TILE; i += THREADS) sum += one(a, i);
    return dcsr_i_cuda_block_sum(sum);
}

/* The rows first .. stop - 1, none of them long, by way of shared memory. */
template <class Kind>
DCSR_CUDA_INLINE void sum_rows(const product<Kind> &a, const uint32_t *offsets, uint64_t first, uint64_t stop)
{
    typedef typename Kind::sum sum_type;
    SIMT_SHARED(sum_type, products, 2 * TILE);
    const uint64_t begin = offsets[first], end = offsets[stop];
    for (uint64_t i = begin + threadIdx.x; i < end; i += THREADS) products[i - begin] = one(a, i);
    __syncthreads();
    for (uint64_t group = first + threadIdx.x / 32 * 32; group < stop; group += THREADS) {
        const uint64_t row = group + dcsr_i_cuda_lane();
        const uint32_t from = row < stop ? (uint32_t)(offsets[row] - begin) : 0;
        const uint32_t to = row < stop ? (uint32_t)(offsets[row + 1] - begin) : 0;
        const bool is_short = to - from <= SHORT_ROW;
        sum_type sum = 0;
        for (uint32_t i = from; is_short && i < to; i++) sum += products[i];
        if (is_short && row < stop) a.y[row] = Kind::result(sum);
        for (unsigned left = __ballot_sync(ALL, !is_short); left; left &= left - 1) {
            const int r = __ffs((int)left) - 1;
            const uint32_t its_end = __shfl_sync(ALL, to, r);
            sum_type share = 0;
            for (uint32_t i = __shfl_sync(ALL, from, r) + dcsr_i_cuda_lane(); i < its_end; i += 32)
                share += products[i];
            share = dcsr_i_cuda_warp_sum(share);
            if (dcsr_i_cuda_lane() == 0) a.y[group + r] = Kind::result(share);
        }
    }
    __syncthreads(); /* products may be written again */
}

/* parts[2 k] is what tile k has of a row that began before it, parts[2 k + 1] of a long row that begins in it. */
template <class Kind>
__global__ void __launch_bounds__(THREADS) sum_tiles(product<Kind> a, cut_csr csr, typename Kind::sum *parts)
{
    const uint32_t *offsets = csr.offsets;
    for (uint64_t k = blockIdx.x; k < csr.tiles; k += gridDim.x) {
        const uint64_t first = csr.start[k];
        uint64_t stop = csr.start[k + 1];
        if (first) {
            const uint64_t begin = offsets[first - 1], end = offsets[first];
            const uint64_t from = begin + (k - (begin + first - 1) / TILE) * TILE;
            if (end - begin > TILE && from < end) {
                const typename Kind::sum sum = part_of(a, from, end);
                if (threadIdx.x == 0) parts[2 * k] = sum;
            }
        }
        if (first == stop) continue;
        const uint64_t begin = offsets[stop - 1], end = offsets[stop];
        if (end - begin > TILE) {
            const typename Kind::sum sum = part_of(a, begin, end);
            if (threadIdx.x == 0) parts[2 * k + 1] = sum;
            stop--;
        }
        if (first < stop) sum_rows(a, offsets, first, stop);
    }
}

template <class Kind>
__global__ void add_parts(typename Kind::element *y, cut_csr csr, const typename Kind::sum *parts)
{
    for (uint64_t k = dcsr_i_cuda_first_warp(); k < csr.tiles; k += dcsr_i_cuda_warp_step()) {
        const uint64_t stop = csr.start[k + 1];
        if (csr.start[k] == stop) continue;
        const uint64_t length = csr.offsets[stop] - csr.offsets[stop - 1], count = (length + TILE - 1) / TILE;
        if (length <= TILE) continue;
        typename Kind::sum sum = 0;
        for (uint64_t j = dcsr_i_cuda_lane(); j < count; j += 32) sum += parts[2 * (k + j) + (j == 0)];
        sum = dcsr_i_cuda_warp_sum(sum);
        if (dcsr_i_cuda_lane() == 0) y[stop - 1] = Kind::result(sum);
    }
}

dcsr_status plan(dcsr_i_spmv_format *format, const dcsr_i_spmv_making *making)
{
    format->tiles = (format->rows + format->nnz + TILE - 1) / TILE;
    dcsr_i_spmv_say(format, START, format->tiles + 1, sizeof(uint32_t));
    if (format->longest > TILE) dcsr_i_spmv_say(format, PARTS, 2 * format->tiles, format->sum_size);
    return dcsr_i_spmv_csr_plan(format, making);
}

dcsr_status fill(dcsr_i_spmv_format *format, const dcsr_i_spmv_making *making)
{
    const dcsr_status status = dcsr_i_spmv_csr_fill(format, making);
    if (status) return status;
    dcsr_i_spmv_find_tiles(making->stream, array_of<const uint32_t>(format, 0), format->rows, TILE,
                           array_of<uint32_t>(format, START), format->tiles);
    return DCSR_OK;
}

void run(const dcsr_i_spmv_format *format, const dcsr_i_cuda_rows *, const dcsr_i_spmv_put *put)
{
    with_kind(format->type, [=](auto kind) {
        typedef decltype(kind) Kind;
        const product<Kind> a = product_of<Kind>(put, format, 1, 2);
        const cut_csr csr = {array_of<const uint32_t>(format, 0), array_of<const uint32_t>(format, START),
                             format->tiles};
        auto *parts = array_of<typename Kind::sum>(format, PARTS);
        put_blocks(put, sum_tiles<Kind>, format->tiles, (int)THREADS, a, csr, parts);
        if (parts) put_threads(put, add_parts<Kind>, format->tiles * 32, a.y, csr, parts);
    });
}
} // namespace

const dcsr_i_spmv_recipe dcsr_i_spmv_recipe_adaptive = {
    nullptr, nullptr, plan, fill, run, 0, false, dcsr_i_spmv_csr_refresh, dcsr_i_spmv_csr_may_refresh};

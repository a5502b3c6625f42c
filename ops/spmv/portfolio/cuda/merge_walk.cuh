/* merge_walk.cuh: products along a merge path (Merrill and Garland, SC 2016), for merge (internal; for .cu files here).
 *
 * The ends of rows and the entries are merged into one list, in which the end of a row comes behind its entries; tiles
 * of the list are of equal work, whatever the lengths of rows. Which rows a tile begins with is found once, when the
 * format is made. A block brings the ends and the products of its tile to shared memory; each thread finds its place in
 * both by bisection and walks over ITEMS of them:
 *
 *      offsets    0 3 3 4            a b c | | d |            an entry adds, an end writes y and begins anew
 *      threads                      [     )[     )
 *
 * What a thread has of a row that ends with a later thread is added by a scan over the block, in a fixed tree; what a
 * tile has of a row that ends in a later tile is its carry, added by a second kernel: deterministic. */
#ifndef DCSR_MERGE_WALK_CUH
#define DCSR_MERGE_WALK_CUH

#include "ops/spmv/portfolio/cuda/device_format.cuh"

namespace dcsr_portfolio
{
namespace merge_path
{
#ifdef DCSR_SIMT
constexpr uint32_t THREADS = 64, ITEMS = 3;
#else
constexpr uint32_t THREADS = 128, ITEMS = 7;
#endif
constexpr uint32_t TILE = THREADS * ITEMS;

/* A CSR, and the tiles of its merge path. */
struct path {
    const uint32_t *offsets;
    const uint32_t *columns;
    uint64_t rows, entries;
    const uint32_t *start; /* tiles + 1: the row that each begins with */

    __host__ __device__ uint64_t weight() const { return rows + entries; }
    __host__ __device__ uint64_t tiles() const { return (weight() + TILE - 1) / TILE; }
};

/* What the threads before this one have of the row that it begins with: the sums since one of them ended a row.
 * *all: what the whole block has of the row that it ends within. All threads of the block must call. */
template <class S> DCSR_CUDA_INLINE S carried(bool ended, S sum, S *all)
{
    SIMT_SHARED(S, of_warp, THREADS / 32);
    SIMT_SHARED(uint32_t, warp_ended, THREADS / 32);
    const unsigned lane = dcsr_i_cuda_lane(), warp = threadIdx.x / 32;
    unsigned stop = ended;
    for (unsigned distance = 1; distance < 32; distance *= 2) {
        const S lower = __shfl_up_sync(ALL, sum, distance);
        const unsigned lower_stop = __shfl_up_sync(ALL, stop, distance);
        if (lane >= distance && !stop) sum = lower + sum;
        if (lane >= distance) stop |= lower_stop;
    }
    if (lane == 31) {
        of_warp[warp] = sum;
        warp_ended[warp] = stop;
    }
    S before = __shfl_up_sync(ALL, sum, 1);
    unsigned stopped = __shfl_up_sync(ALL, stop, 1);
    __syncthreads();
    S earlier = 0, total = 0;
    for (unsigned w = 0; w < THREADS / 32; w++) {
        if (w == warp) earlier = total;
        total = warp_ended[w] ? of_warp[w] : total + of_warp[w];
    }
    __syncthreads(); /* both may be written again */
    *all = total;
    if (lane == 0) return earlier;
    return stopped ? before : earlier + before;
}

/* How many rows end among the first d items; `ends` are relative to the tile's first entry. */
DCSR_CUDA_INLINE uint32_t rows_before(const uint32_t *ends, uint32_t rows, uint32_t d)
{
    uint32_t low = 0, high = rows;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (ends[middle] + middle < d)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Columns are those of the path, not of `a`. */
template <class Kind>
__global__ void __launch_bounds__(THREADS) walk(product<Kind> a, path p, typename Kind::sum *carry)
{
    typedef typename Kind::sum sum_type;
    SIMT_SHARED(uint32_t, ends, TILE + 1);
    SIMT_SHARED(sum_type, products, TILE);
    const uint64_t tiles = p.tiles(), weight = p.weight();
    for (uint64_t k = blockIdx.x; k < tiles; k += gridDim.x) {
        const uint64_t first = p.start[k], begin = k * TILE - first;
        const uint32_t items = (uint32_t)(weight - k * TILE < TILE ? weight - k * TILE : TILE);
        const uint32_t rows = (uint32_t)(p.start[k + 1] - first), entries = items - rows;
        for (uint32_t i = threadIdx.x; i < rows; i += THREADS)
            ends[i] = (uint32_t)(p.offsets[first + i + 1] - begin);
        if (threadIdx.x == 0) ends[rows] = UINT32_MAX;
        for (uint32_t i = threadIdx.x; i < entries; i += THREADS)
            products[i] = Kind::add(0, Kind::value(a.values, begin + i),
                                    a.factor[dcsr_i_cuda_read_once(p.columns + begin + i)]);
        __syncthreads();
        const uint32_t from = threadIdx.x * ITEMS < items ? threadIdx.x * ITEMS : items;
        const uint32_t to = from + ITEMS < items ? from + ITEMS : items;
        uint32_t row = rows_before(ends, rows, from), entry = from - row, head = UINT32_MAX;
        sum_type sum = 0, of_head = 0, all;
        for (uint32_t d = from; d < to; d++) {
            if (entry < ends[row]) {
                sum += products[entry++];
                continue;
            }
            if (head == UINT32_MAX) {
                head = row;
                of_head = sum;
            } else {
                a.y[first + row] = Kind::result(sum);
            }
            sum = 0;
            row++;
        }
        const sum_type before = carried(head != UINT32_MAX, sum, &all);
        if (head != UINT32_MAX) a.y[first + head] = Kind::result(before + of_head);
        if (threadIdx.x == 0) carry[k] = all;
    }
}

struct row_after {
    const uint32_t *start;
    __device__ uint32_t operator()(uint64_t k) const { return start[k + 1]; }
};

/* Puts both kernels. `carry` has a place for each tile. */
template <class Kind>
void put(const dcsr_i_spmv_put *put, const product<Kind> &a, const path &p, typename Kind::sum *carry)
{
    put_blocks(put, walk<Kind>, p.tiles(), (int)THREADS, a, p, carry);
    put_threads(put, add_carries<Kind, row_after>, p.tiles() * 32, a.y, p.rows, carry, p.tiles(),
                row_after{p.start});
}
} // namespace merge_path
} // namespace dcsr_portfolio

#endif

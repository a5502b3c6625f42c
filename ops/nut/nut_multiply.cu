/* nut_multiply.cu: products with vectors by tiles on a device (nut_multiply_cuda.h). */
#include "dcsr/device/reduce.cuh"
#include "ops/algebra/semiring.cuh"
#include "ops/nut/nut_multiply_cuda.h"

namespace
{
constexpr int MOST_LANES = 512, WARPS = MOST_LANES / 32;

/* How many elements, or active columns, a thread has under way at once. */
constexpr int AHEAD = 4;

/* What a block works with, in shared memory. */
template <class T> struct workshop {
    T *sum, *u;
    bool *found, *present; /* whether rows have sums, and columns elements of u */
};
template <class T> size_t workshop_bytes(const dcsr_nut &nut)
{
    return ((size_t)nut.most_rows + nut.most_columns) * (sizeof(T) + sizeof(bool));
}

/* What a lane has added up of a row. */
template <class T> struct lane_sum {
    T value;
    bool found;
    int row;
};

template <class Ring>
DCSR_CUDA_INLINE void add(const Ring &ring, const workshop<typename Ring::T> &shop,
                          const lane_sum<typename Ring::T> &s)
{
    if (!s.found) return;
    shop.sum[s.row] = shop.found[s.row] ? ring.add(shop.sum[s.row], s.value) : s.value;
    shop.found[s.row] = true;
}

/* The tile's elements of u. */
template <class Ring>
DCSR_CUDA_INLINE void gather(const Ring &ring, const workshop<typename Ring::T> &shop,
                             const dcsr_i_cuda_nut_product &x, const uint32_t *columns, uint32_t n)
{
    typedef typename Ring::T T;
    for (uint32_t first = threadIdx.x; first < n; first += AHEAD * blockDim.x) {
        uint32_t c[AHEAD];
        bool there[AHEAD];
        T u[AHEAD];
        for (int i = 0; i < AHEAD; i++)
            if (first + i * blockDim.x < n) c[i] = dcsr_i_cuda_read_once(columns + first + i * blockDim.x);
        for (int i = 0; i < AHEAD; i++) {
            if (first + i * blockDim.x >= n) break;
            there[i] = !x.u_bits || (x.u_bits[c[i] / 32] >> (c[i] & 31) & 1);
            if (there[i] && ring.reads_vector()) u[i] = ring.read(x.u, c[i]);
        }
        for (int i = 0; i < AHEAD; i++) {
            const uint32_t k = first + i * blockDim.x;
            if (k >= n) break;
            shop.present[k] = there[i];
            if (there[i] && ring.reads_vector()) shop.u[k] = u[i];
        }
    }
}

/* What the lane has left at its end. */
template <class Ring>
DCSR_CUDA_INLINE lane_sum<typename Ring::T> walk(const Ring &ring, const workshop<typename Ring::T> &shop,
                                                 const dcsr_nut_panel &panel, const dcsr_nut_tile &tile)
{
    typedef typename Ring::T T;
    const int16_t *indices = panel.indices + tile.begin;
    lane_sum<T> s = {T(0), false, ~indices[threadIdx.x]};
    for (uint64_t first = blockDim.x + threadIdx.x; first < tile.elements; first += AHEAD * blockDim.x) {
        int16_t index[AHEAD];
        T value[AHEAD];
        for (int i = 0; i < AHEAD; i++) {
            const uint64_t e = first + i * blockDim.x;
            if (e >= tile.elements) break;
            index[i] = dcsr_i_cuda_read_once(indices + e);
            value[i] = ring.matrix_value(tile.begin + e); /* a marker's is 0 */
        }
        for (int i = 0; i < AHEAD; i++) {
            if (first + i * blockDim.x >= tile.elements) break;
            if (index[i] < 0) {
                add(ring, shop, s);
                s = {T(0), false, ~index[i]};
            } else if (shop.present[index[i]]) {
                const T term = ring.multiply(value[i], ring.reads_vector() ? shop.u[index[i]] : T(1));
                s.value = s.found ? ring.add(s.value, term) : term;
                s.found = true;
            }
        }
    }
    return s;
}

/* Adds what lanes have left: neighbours of a row are one sum. The first row of a warp may be the last of the one
 * before, so these follow one another. */
template <class Ring>
DCSR_CUDA_INLINE void add_ends(const Ring &ring, const workshop<typename Ring::T> &shop,
                               lane_sum<typename Ring::T> s)
{
    SIMT_SHARED(lane_sum<typename Ring::T>, first, WARPS);
    const unsigned lane = dcsr_i_cuda_lane(), warps = blockDim.x / 32;
    for (unsigned distance = 1; distance < 32; distance *= 2) {
        const lane_sum<typename Ring::T> other = {
            __shfl_down_sync(DCSR_CUDA_ALL_LANES, s.value, distance),
            __shfl_down_sync(DCSR_CUDA_ALL_LANES, (int)s.found, distance) != 0,
            __shfl_down_sync(DCSR_CUDA_ALL_LANES, s.row, distance)};
        if (lane + distance >= 32 || other.row != s.row || !other.found) continue;
        s.value = s.found ? ring.add(s.value, other.value) : other.value;
        s.found = true;
    }
    const bool begins = __shfl_up_sync(DCSR_CUDA_ALL_LANES, s.row, 1) != s.row;
    if (lane == 0)
        first[threadIdx.x / 32] = s;
    else if (begins)
        add(ring, shop, s);
    __syncthreads();
    for (unsigned w = 0; threadIdx.x == 0 && w < warps; w++) add(ring, shop, first[w]);
    __syncthreads();
}

/* Writes the sums of a panel that are wanted; returns how many the thread has written. */
template <class Ring>
DCSR_CUDA_INLINE uint64_t write(const Ring &ring, const workshop<typename Ring::T> &shop,
                                const dcsr_i_cuda_nut_product &x, const dcsr_nut_panel &panel)
{
    uint64_t count = 0;
    for (uint64_t r = threadIdx.x; r < panel.rows; r += blockDim.x) {
        const uint64_t row = panel.row + r;
        const bool wanted =
                       ((x.wanted ? x.wanted[row / 32] : DCSR_CUDA_ALL_LANES) ^ x.flip) >> (row & 31) & 1,
                   has = shop.found[r] && wanted;
        if (has || !x.found) ring.write(x.t, row, has ? shop.sum[r] : typename Ring::T(0));
        if (!has || !x.found) continue;
        atomicOr(&x.found[row / 32], 1u << (row & 31));
        count++;
    }
    return count;
}

template <class Ring>
__global__ void __launch_bounds__(MOST_LANES, 2) multiply(Ring ring, dcsr_i_cuda_nut_product x)
{
    typedef typename Ring::T T;
    SIMT_SHARED_DYN(unsigned char, memory);
    workshop<T> shop;
    shop.sum = reinterpret_cast<T *>(memory);
    shop.u = shop.sum + x.nut.most_rows;
    shop.found = reinterpret_cast<bool *>(shop.u + x.nut.most_columns);
    shop.present = shop.found + x.nut.most_rows;
    uint64_t count = 0;
    for (uint64_t p = dcsr_i_cuda_first_block(); p < x.nut.panel_count; p += dcsr_i_cuda_block_step()) {
        const dcsr_nut_panel panel = x.panels[p];
        ring.values = static_cast<decltype(ring.values)>(panel.values);
        for (uint64_t r = threadIdx.x; r < panel.rows; r += blockDim.x) shop.found[r] = false;
        for (uint64_t t = 0; t < panel.tile_count; t++) {
            const dcsr_nut_tile tile = panel.tiles[t];
            gather(ring, shop, x, panel.col_indices + tile.column, tile.columns);
            __syncthreads();
            const lane_sum<T> left = walk(ring, shop, panel, tile);
            __syncthreads();
            add_ends(ring, shop, left);
        }
        __syncthreads();
        count += write(ring, shop, x, panel);
        __syncthreads();
    }
    if (!x.count) return;
    count = dcsr_i_cuda_block_sum(count);
    if (threadIdx.x == 0 && count) atomicAdd(x.count, (unsigned long long)count);
}

/* What the arithmetics want to know of the matrix; values are set for each panel. */
dcsr_i_cuda_rows matrix_of(const dcsr_nut &nut)
{
    dcsr_i_cuda_rows rows = {};
    rows.type = (uint32_t)nut.type;
    rows.value_size = (uint32_t)dcsr_type_size(nut.type);
    return rows;
}

/* Calls what(arithmetic) with that of a semiring. */
template <class What> void with_ring(const dcsr_i_cuda_semiring &semiring, const dcsr_nut &nut, What what)
{
    const dcsr_i_cuda_rows rows = matrix_of(nut);
    if (dcsr_i_cuda_with_reals(semiring, rows, what) || dcsr_i_cuda_with_integers(semiring, rows, what))
        return;
    what(dcsr_i_cuda_any_arithmetic(semiring, rows));
}
} // namespace

size_t dcsr_i_cuda_nut_shared_bytes(const dcsr_i_cuda_semiring *semiring, const dcsr_nut *nut)
{
    size_t bytes = 0;
    with_ring(*semiring, *nut, [&](auto ring) {
        typedef typename decltype(ring)::T T;
        bytes = workshop_bytes<T>(*nut) + WARPS * (sizeof(lane_sum<T>) + sizeof(uint64_t));
    });
    return bytes;
}

void dcsr_i_cuda_nut_multiply(dcsr_i_cuda_stream *stream, void *on, const dcsr_i_cuda_nut_product *product)
{
    const dcsr_nut &nut = product->nut;
    if (!nut.panel_count) return;
    with_ring(product->semiring, nut, [&](auto ring) {
        const size_t bytes = workshop_bytes<typename decltype(ring)::T>(nut);
        void (*kernel)(decltype(ring), dcsr_i_cuda_nut_product) = multiply<decltype(ring)>;
        dcsr_i_cuda_ask_for_shared(kernel, bytes);
        simt::launch(kernel, dim3(dcsr_i_cuda_blocks(stream, nut.panel_count, dcsr_i_cuda_policy{1, 1})),
                     dim3(nut.lanes), bytes, static_cast<cudaStream_t>(on), ring, *product);
        dcsr_i_cuda_launched(stream);
    });
}

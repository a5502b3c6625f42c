/* spmm_rows.cu: sparse matrix times dense matrix, a warp to a row.
 *
 * A lane reads one of 32 entries of the row; then each of them is told to all lanes in turn, which read what
 * they need of that entry's row of X. Of X with 16 columns or fewer, groups of lanes take different entries
 * at the same time:
 *
 *      columns      17 and more     9 .. 16     5 .. 8     up to 4
 *      groups       1               2           4          8
 *
 * Of wide ones a warp does TILES times 32 columns, and the next warp the next columns of the same row. */
#include "dcsr/device/reduce.cuh"
#include "ops/spmm/spmm.cuh"

namespace
{
constexpr unsigned ALL = DCSR_CUDA_ALL_LANES;
constexpr int AHEAD = 4; /* rows of X that a lane reads from at once */

template <class T> DCSR_CUDA_INLINE T from_lane(T value, int lane)
{
    typedef typename std::conditional<(sizeof(T) < 4), int, T>::type number;
    return (T)__shfl_sync(ALL, (number)value, lane);
}

/* How a warp's lanes are shared out: lane = group * columns + column. */
struct lanes {
    int groups, columns;
};

template <class Ring, int TILES> struct row_of_y {
    typedef typename Ring::T T;
    const Ring &ring;
    const dcsr_i_cuda_spmm &x;
    lanes shape;
    uint64_t column; /* of the lane's first tile */
    dcsr_i_cuda_partial<T> sum[TILES];

    /* The columns that are the lane's. */
    __device__ bool has(int t) const { return column + 32 * t < x.width; }

    __device__ void add_round(const uint32_t *columns, const T *values, int n, int group)
    {
        T factor[AHEAD][TILES];
        for (int i = 0; i < AHEAD; i++)
            for (int t = 0; t < TILES; t++)
                if (i * shape.groups + group < n && has(t))
                    factor[i][t] = ring.reads_vector()
                                       ? ring.read(x.X, (uint64_t)columns[i] * x.width + column + 32 * t)
                                       : T(1);
        for (int i = 0; i < AHEAD; i++)
            for (int t = 0; t < TILES; t++)
                if (i * shape.groups + group < n && has(t))
                    dcsr_i_cuda_spmm_add(ring, sum[t], values[i], factor[i][t]);
    }

    /* n <= 32 entries from `place` on. */
    __device__ void add_entries(uint64_t place, int n)
    {
        int lane = (int)dcsr_i_cuda_lane(), group = lane / shape.columns;
        uint32_t mine = lane < n ? dcsr_i_cuda_read_once(x.rows.columns + place + lane) : 0;
        T value = lane < n ? ring.matrix_value(place + lane) : T(0);
        for (int k = 0; k < n; k += AHEAD * shape.groups) {
            uint32_t columns[AHEAD];
            T values[AHEAD];
            for (int i = 0; i < AHEAD; i++) {
                int from = (k + i * shape.groups + group) & 31;
                columns[i] = __shfl_sync(ALL, mine, from);
                values[i] = from_lane(value, from);
            }
            add_round(columns, values, n - k, group);
        }
    }

    /* The groups' sums in one, for the lanes of the first. */
    __device__ void add_groups()
    {
        for (int distance = shape.columns; distance < 32; distance *= 2) {
            dcsr_i_cuda_partial<T> other = {(T)from_lane(sum[0].value, (int)dcsr_i_cuda_lane() ^ distance),
                                            from_lane(sum[0].found, (int)dcsr_i_cuda_lane() ^ distance)};
            if (!sum[0].found)
                sum[0] = other;
            else if (other.found)
                sum[0].value = ring.add(sum[0].value, other.value);
        }
    }
};

template <class Ring, int TILES>
__global__ void __launch_bounds__(256) row_split(Ring ring, dcsr_i_cuda_spmm x, lanes shape, uint64_t chunks)
{
    int lane = (int)dcsr_i_cuda_lane();
    for (uint64_t w = dcsr_i_cuda_first_warp(); w < x.rows.rows * chunks; w += dcsr_i_cuda_warp_step()) {
        uint64_t row = w / chunks, first = w % chunks * 32 * TILES;
        row_of_y<Ring, TILES> y = {ring, x, shape, first + (uint64_t)(lane % shape.columns), {}};
        bool wanted = dcsr_i_cuda_wants(x.wanted, row);
        if (wanted) {
            dcsr_i_cuda_for_pieces(x.rows, row, [&](uint64_t begin, uint64_t length) {
                for (uint64_t at = 0; at < length; at += 32)
                    y.add_entries(begin + at, (int)(length - at < 32 ? length - at : 32));
            });
            y.add_groups();
        }
        if (lane >= shape.columns) continue;
        for (int t = 0; t < TILES; t++) {
            if (!y.has(t)) continue;
            uint64_t i = row * x.width + y.column + 32 * t;
            if (wanted)
                dcsr_i_cuda_spmm_finish(ring, x, i, y.sum[t]);
            else
                dcsr_i_cuda_spmm_leave(ring, x, i);
        }
    }
}

template <class Ring, int TILES>
void launch(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_spmm *x, const Ring &ring)
{
    lanes shape = {1, 32};
    while (shape.columns > 4 && (uint64_t)shape.columns / 2 >= x->width) {
        shape.columns /= 2;
        shape.groups *= 2;
    }
    uint64_t chunks = (x->width + 32 * TILES - 1) / (32 * TILES);
    dcsr_i_cuda_launch_warps(stream, row_split<Ring, TILES>, x->rows.rows * chunks, ring, *x, shape, chunks);
}
} // namespace

void dcsr_i_cuda_spmm_rows(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_spmm *x)
{
    dcsr_i_cuda_spmm_with_arithmetic(x, [=](auto ring) {
        typedef decltype(ring) Ring;
        if (Ring::CONSTANT && x->width > 32)
            launch<Ring, Ring::CONSTANT ? 2 : 1>(stream, x, ring);
        else
            launch<Ring, 1>(stream, x, ring);
    });
}

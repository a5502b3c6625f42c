/* spmm_merge.cu: sparse matrix times dense matrix, in equal shares of A's entries and rows.
 *
 * A warp goes through the items of its tiles (balanced_walk.cuh) in order: an entry is multiplied by all lanes with
 * their columns of its row of X; the end of a row writes that row of Y. So short rows cost no more for being
 * many, and a long one is shared:
 *
 *      items     . . a b c | d e f g h i | j k . . l m . |
 *      warp          0     |      1      |      2        |
 *                tail: a b c    tail: d .. i    head: j k, which ends the row
 *
 * The warp that has the end of a row which others began leaves its part as its head; the second kernel adds
 * the tails before it, in order, and writes the row. */
#include "dcsr/device/reduce.cuh"
#include "dcsr/store/cuda/balanced_walk.cuh"
#include "ops/spmm/spmm.cuh"

namespace
{
constexpr unsigned ALL = DCSR_CUDA_ALL_LANES;
constexpr int AHEAD = 4; /* items whose rows of X are read at once */
constexpr uint64_t NO_ROW = UINT64_MAX;
/* That a multiprocessor runs at once: values of 8 bytes take more registers. */
template <class T> [[maybe_unused]] constexpr int BLOCKS_FOR = sizeof(T) > 4 ? 3 : 4;

template <class T> DCSR_CUDA_INLINE T from_lane(T value, int lane)
{
    typedef typename std::conditional<(sizeof(T) < 4), int, T>::type number;
    return (T)__shfl_sync(ALL, (number)value, lane);
}

template <class T> struct alignas(2 * sizeof(T)) pair {
    T value[2];
};

/* The columns that a launch does. */
struct columns {
    uint64_t first, end; /* 32 times TILES of them at most */
};

/* Where a warp leaves its parts: the head's columns, then the tail's. */
template <class T> DCSR_CUDA_INLINE T *part_of(T *sums, uint64_t warp, bool tail)
{
    return sums + (2 * warp + tail) * DCSR_CUDA_SPMM_COLUMNS;
}

/* What a warp knows on its way through its share. */
template <class Ring, int TILES> struct share {
    typedef typename Ring::T T;
    const Ring &ring;
    const dcsr_i_cuda_spmm &x;
    columns some;
    T *sums;
    uint64_t warp, row; /* the row that the next item is of */
    bool paired;        /* two columns of X can be read at once */
    bool entered;       /* the share has begun */
    bool inherited;     /* an earlier warp has a part of this row */
    bool begun;         /* an item of it has been passed */
    dcsr_i_cuda_spmm_share left;
    dcsr_i_cuda_partial<T> sum[TILES];

    __device__ uint64_t column(int t) const { return some.first + TILES * dcsr_i_cuda_lane() + t; }
    __device__ bool has(int t) const { return column(t) < some.end; }

    __device__ void read_factor(T (&factor)[TILES], uint64_t row_of_x)
    {
        uint64_t from = row_of_x * x.width + column(0);
        if (TILES == 2 && paired) {
            if (!has(0)) return;
            pair<T> both = *(const pair<T> *)((const T *)x.X + from);
            factor[0] = both.value[0];
            factor[TILES - 1] = both.value[1];
            return;
        }
        for (int t = 0; t < TILES; t++)
            if (has(t)) factor[t] = ring.reads_vector() ? ring.read(x.X, from + t) : T(1);
    }

    __device__ void leave_part(bool tail)
    {
        for (int t = 0; t < TILES; t++)
            if (has(t) && sum[t].found) part_of(sums, warp, tail)[column(t) - some.first] = sum[t].value;
    }

    __device__ void end_row()
    {
        if (inherited) {
            left.head = row;
            left.head_found = sum[0].found;
            leave_part(false);
        } else {
            bool wanted = dcsr_i_cuda_wants(x.wanted, row);
            for (int t = 0; t < TILES; t++) {
                if (!has(t)) continue;
                if (wanted)
                    dcsr_i_cuda_spmm_finish(ring, x, row * x.width + column(t), sum[t]);
                else
                    dcsr_i_cuda_spmm_leave(ring, x, row * x.width + column(t));
            }
        }
        for (int t = 0; t < TILES; t++) sum[t].found = false;
        inherited = begun = false;
        row++;
    }

    /* 32 items or fewer, of which lane k knows number k; a bit of `entries` is set where that is an entry. */
    __device__ void pass(unsigned entries, int n, uint32_t my_column, T my_value)
    {
        for (int k = 0; k < n; k += AHEAD) {
            T value[AHEAD], factor[AHEAD][TILES];
            for (int i = 0; i < AHEAD; i++) {
                uint32_t row_of_x = __shfl_sync(ALL, my_column, (k + i) & 31);
                value[i] = from_lane(my_value, (k + i) & 31);
                bool entry = k + i < n && (entries >> ((k + i) & 31) & 1);
                if (entry) read_factor(factor[i], row_of_x);
            }
            for (int i = 0; i < AHEAD && k + i < n; i++) {
                if (!(entries >> (k + i) & 1)) {
                    end_row();
                    continue;
                }
                begun = true;
                for (int t = 0; t < TILES; t++) {
                    if (has(t))
                        dcsr_i_cuda_spmm_add(ring, sum[t], value[i], factor[i][t]);
                    else
                        sum[t].found = true;
                }
            }
        }
    }
};

template <class Ring, int TILES>
__global__ void __launch_bounds__(DCSR_CUDA_WALK_THREADS, BLOCKS_FOR<typename Ring::T>)
    merge(Ring ring, dcsr_i_cuda_spmm x, dcsr_i_cuda_walk walk, columns some, dcsr_i_cuda_spmm_share *shares,
          typename Ring::T *sums)
{
    typedef typename Ring::T T;
    uint64_t warp = dcsr_i_cuda_first_warp();
    bool paired = TILES == 2 && x.width % 2 == 0 && (uintptr_t)x.X % sizeof(pair<T>) == 0;
    share<Ring, TILES> s = {
        ring, x, some, sums, warp, 0, paired, false, false, false, {NO_ROW, NO_ROW, false}, {}};
    dcsr_i_cuda_for_tiles(walk, [&](const dcsr_i_cuda_tile &tile, uint64_t first, uint64_t d, uint32_t left) {
        if (!s.entered) {
            s.entered = true;
            s.row = first;
            s.inherited = s.begun = d > walk.offsets[first] + first;
        }
        for (uint32_t sub = 0; sub < left; sub += 32) {
            uint32_t j = sub + dcsr_i_cuda_lane(), at = dcsr_i_cuda_mark_of(tile, j);
            bool entry = j < left && tile.row[at] != DCSR_CUDA_NONE;
            uint64_t place = tile.shift[at] + j;
            uint32_t column = entry ? dcsr_i_cuda_read_once(x.rows.columns + place) : 0;
            T value = entry ? ring.matrix_value(place) : T(0);
            s.pass(__ballot_sync(ALL, entry), (int)(left - sub < 32 ? left - sub : 32), column, value);
        }
    });
    if (s.begun) {
        s.left.tail = s.row;
        s.leave_part(true);
    }
    if (dcsr_i_cuda_lane() == 0) shares[warp] = s.left;
}

/* The rows that several warps had a part of. */
template <class Ring>
__global__ void join_parts(Ring ring, dcsr_i_cuda_spmm x, columns some, const dcsr_i_cuda_spmm_share *shares,
                           uint64_t count, const typename Ring::T *sums)
{
    typedef typename Ring::T T;
    for (uint64_t s = dcsr_i_cuda_first_warp(); s < count; s += dcsr_i_cuda_warp_step()) {
        const uint64_t row = shares[s].head;
        if (row == NO_ROW) continue;
        uint64_t begin = s;
        while (begin > 0 && shares[begin - 1].tail == row) begin--;
        for (uint64_t c = some.first + dcsr_i_cuda_lane(); c < some.end; c += 32) {
            dcsr_i_cuda_partial<T> sum = {part_of(sums, begin, true)[c - some.first], true};
            for (uint64_t k = begin + 1; k < s; k++)
                sum.value = ring.add(sum.value, part_of(sums, k, true)[c - some.first]);
            if (shares[s].head_found)
                sum.value = ring.add(sum.value, part_of(sums, s, false)[c - some.first]);
            dcsr_i_cuda_spmm_finish(ring, x, row * x.width + c, sum);
        }
    }
}

__global__ void read_lengths(dcsr_i_cuda_spmm x, uint64_t *lengths)
{
    for (uint64_t row = dcsr_i_cuda_first(); row < x.rows.rows; row += dcsr_i_cuda_step())
        lengths[row] = dcsr_i_cuda_wants(x.wanted, row) ? dcsr_i_cuda_length(x.rows, row) : 0;
}

/* A launch of no entries would be none, but empty rows are to be written too. */
uint64_t entries_of(const dcsr_i_cuda_spmm *x)
{
    return x->rows.stored ? x->rows.stored : 1;
}

template <class Ring, int TILES>
void launch(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_spmm *x, const uint64_t *offsets,
            dcsr_i_cuda_spmm_share *shares, typename Ring::T *sums, const Ring &ring)
{
    dcsr_i_cuda_walk walk = {x->rows, nullptr, x->rows.rows, offsets};
    uint64_t warps = dcsr_i_cuda_spmm_warps(stream, x);
    for (uint64_t c = 0; c < x->width; c += 32 * TILES) {
        columns some = {c, x->width - c < 32 * TILES ? x->width : c + 32 * TILES};
        dcsr_i_cuda_launch_walk(stream, merge<Ring, TILES>, entries_of(x), x->rows.rows, ring, *x, walk, some,
                                shares, sums);
        dcsr_i_cuda_launch_warps(stream, join_parts<Ring>, warps, ring, *x, some, shares, warps, sums);
    }
}
} // namespace

void dcsr_i_cuda_spmm_lengths(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_spmm *x, uint64_t *lengths)
{
    dcsr_i_cuda_launch(stream, read_lengths, x->rows.rows, *x, lengths);
}

uint64_t dcsr_i_cuda_spmm_warps(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_spmm *x)
{
    dcsr_i_cuda_policy one_block_each = {1, 1};
    uint64_t blocks = dcsr_i_cuda_walk_blocks(entries_of(x), x->rows.rows);
    return (uint64_t)dcsr_i_cuda_blocks(stream, blocks, one_block_each) * (dcsr_i_cuda_walk_threads() / 32);
}

void dcsr_i_cuda_spmm_merge(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_spmm *x, const uint64_t *offsets,
                            dcsr_i_cuda_spmm_share *shares, void *sums)
{
    dcsr_i_cuda_spmm_with_arithmetic(x, [=](auto ring) {
        typedef decltype(ring) Ring;
        typedef typename Ring::T T;
        if (Ring::CONSTANT && x->width > 32)
            launch<Ring, Ring::CONSTANT ? 2 : 1>(stream, x, offsets, shares, (T *)sums, ring);
        else
            launch<Ring, 1>(stream, x, offsets, shares, (T *)sums, ring);
    });
}

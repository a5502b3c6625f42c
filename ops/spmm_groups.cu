/* spmm_groups.cu: sparse matrix times dense matrix, a group of lanes to a row, over plus-times on real
 * numbers.
 *
 * A lane has as many columns as 16 bytes hold, and a group as many lanes as X has columns for: of 16 columns
 * of fp64 8 lanes, so that a warp has four rows under way. What lanes do for one entry is one load of 16
 * bytes, and of short rows, which are bound by one load having to wait for the other, several wait at the
 * same time.
 *
 * All groups of a warp go through their rows in step, for as long as one of them has entries. */
#include "dcsr/reduce.cuh"
#include "ops/spmm.cuh"

namespace
{
constexpr unsigned ALL = DCSR_CUDA_ALL_LANES;
constexpr int AHEAD = 4; /* rows of X that a lane reads from at once */

template <class T> struct alignas(16) pack {
    static constexpr int N = 16 / sizeof(T);
    T value[N];
};

/* The pieces of a row, one after the other. */
struct row_walk {
    uint64_t left;  /* entries in this piece and behind it */
    uint64_t place; /* of the next one */
    uint64_t here;  /* entries left in this piece */
    const dcsr_cuda_row_page *page;
    uint32_t r;
    int piece;

    __device__ row_walk(const dcsr_cuda_rows &rows, uint64_t row, bool wanted)
        : left(wanted ? dcsr_cuda_length(rows, row) : 0), place(0), here(0), page(nullptr),
          r((uint32_t)(row & (DCSR_CUDA_PAGE_ROWS - 1))), piece(0)
    {
        if (!left) return;
        if (rows.offsets) {
            place = rows.offsets[row];
            here = left;
        } else {
            page = dcsr_cuda_page_of(rows, row);
        }
    }

    /* Up to `most` entries from `place` on; 0 at the end of the row. */
    __device__ int next(const dcsr_cuda_rows &rows, int most)
    {
        if (!here && left) {
            dcsr_cuda_piece p = dcsr_cuda_piece_of(rows, page, r, piece++, left);
            place = p.begin;
            here = p.length;
        }
        return here < (uint64_t)most ? (int)here : most;
    }

    __device__ void pass(int n)
    {
        place += (uint64_t)n;
        here -= (uint64_t)n;
        left -= (uint64_t)n;
    }
};

template <class Ring, int LANES> struct group_of_y {
    typedef typename Ring::T T;
    const Ring &ring;
    const dcsr_cuda_spmm &x;
    uint64_t packs;  /* in a row of X and Y */
    uint64_t column; /* the lane's, in packs */
    pack<T> sum;

    /* n <= LANES entries from `place` on, of which each lane reads one. All lanes of the warp call. */
    __device__ void add_entries(uint64_t place, int n)
    {
        int mine = (int)(dcsr_cuda_lane() % LANES);
        uint32_t row_of_x = mine < n ? dcsr_cuda_read_once(x.rows.columns + place + mine) : 0;
        T a = mine < n ? ring.matrix_value(place + mine) : T(0);
        for (int k = 0; k < LANES && __any_sync(ALL, k < n); k += AHEAD) {
            pack<T> factor[AHEAD];
            T value[AHEAD];
            for (int i = 0; i < AHEAD; i++) {
                uint64_t row = __shfl_sync(ALL, row_of_x, (k + i) % LANES, LANES);
                value[i] = __shfl_sync(ALL, a, (k + i) % LANES, LANES);
                if (k + i < n) factor[i] = ((const pack<T> *)x.X)[row * packs + column];
            }
            for (int i = 0; i < AHEAD; i++)
                for (int v = 0; v < pack<T>::N && k + i < n; v++)
                    sum.value[v] = ring.add(sum.value[v], ring.multiply(value[i], factor[i].value[v]));
        }
    }

    __device__ void finish(uint64_t row, bool found)
    {
        uint64_t at = row * packs + column;
        if (x.accum < 0) {
            pack<T> none;
            for (int v = 0; v < pack<T>::N; v++) none.value[v] = dcsr_cuda_value_of<T>(x.semiring.identity);
            ((pack<T> *)x.Y)[at] = found ? sum : none;
            return;
        }
        for (int v = 0; v < pack<T>::N; v++)
            dcsr_cuda_spmm_finish(x, at * pack<T>::N + v, dcsr_cuda_sum<T>{sum.value[v], found});
    }
};

template <class Ring, int LANES>
__global__ void __launch_bounds__(256) row_groups(Ring ring, dcsr_cuda_spmm x, uint64_t packs)
{
    typedef typename Ring::T T;
    constexpr int GROUPS = 32 / LANES;
    unsigned group = dcsr_cuda_lane() / LANES, chunks = (unsigned)(packs / LANES);
    uint64_t items = x.rows.rows * chunks;
    for (uint64_t w = dcsr_cuda_first_warp(); w * GROUPS < items; w += dcsr_cuda_warp_step()) {
        uint64_t item = w * GROUPS + group, row = item / chunks;
        bool there = item < items, wanted = there && dcsr_cuda_wants(x.wanted, row);
        row_walk walk(x.rows, there ? row : 0, wanted);
        bool found = walk.left != 0;
        group_of_y<Ring, LANES> y = {ring, x, packs, item % chunks * LANES + dcsr_cuda_lane() % LANES, {}};
        for (int v = 0; v < pack<T>::N; v++) y.sum.value[v] = T(-0.0);
        while (__any_sync(ALL, walk.left != 0)) {
            int n = walk.next(x.rows, LANES);
            y.add_entries(walk.place, n);
            walk.pass(n);
        }
        if (wanted) {
            y.finish(row, found);
        } else if (there) {
            for (int v = 0; v < pack<T>::N; v++)
                dcsr_cuda_spmm_leave<T>(x, (row * packs + y.column) * pack<T>::N + v);
        }
    }
}

bool is_aligned(const void *pointer)
{
    return reinterpret_cast<uintptr_t>(pointer) % 16 == 0;
}

/* Calls what(ring, lanes) where there is a kernel: lanes.value is how many a group has. */
template <class What> bool with_lanes(const dcsr_cuda_spmm *x, What what)
{
    bool found = false;
    auto choose = [&](auto ring) {
        typedef decltype(ring) Ring;
        if constexpr (Ring::SUMS) {
            uint64_t columns = pack<typename Ring::T>::N, packs = x->width / columns;
            found = packs && x->width % columns == 0 &&
                    (packs % 32 == 0 || packs == 16 || packs == 8 || packs == 4);
            if (found && packs % 32 == 0) what(ring, std::integral_constant<int, 32>());
            if (found && packs == 16) what(ring, std::integral_constant<int, 16>());
            if (found && packs == 8) what(ring, std::integral_constant<int, 8>());
            if (found && packs == 4) what(ring, std::integral_constant<int, 4>());
        }
    };
    if (x->truths || !is_aligned(x->X) || !is_aligned(x->Y)) return false;
    if (x->semiring.type == DCSR_FP32) dcsr_cuda_spmm_constant<float>(x, choose);
    if (x->semiring.type == DCSR_FP64) dcsr_cuda_spmm_constant<double>(x, choose);
    return found;
}
} // namespace

bool dcsr_cuda_spmm_has_groups(const dcsr_cuda_spmm *x)
{
    return with_lanes(x, [](auto, auto) {});
}

void dcsr_cuda_spmm_groups(dcsr_cuda_stream *stream, const dcsr_cuda_spmm *x)
{
    with_lanes(x, [=](auto ring, auto lanes) {
        constexpr int LANES = decltype(lanes)::value;
        uint64_t packs = x->width * sizeof(typename decltype(ring)::T) / 16, groups = 32 / LANES;
        uint64_t items = x->rows.rows * (packs / LANES);
        dcsr_cuda_launch_warps(stream, row_groups<decltype(ring), LANES>, (items + groups - 1) / groups, ring,
                               *x, packs);
    });
}

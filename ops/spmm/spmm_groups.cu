/* spmm_groups.cu: sparse matrix times dense matrix, a group of lanes to a row, over plus-times on real
 * numbers.
 *
 * A lane has as many columns as 16 bytes hold, and a group as many lanes as X has columns for: of 16 columns
 * of fp64 8 lanes, so that a warp has four rows under way. What lanes do for one entry is one load of 16
 * bytes. A warp has 32 rows, which its lanes look up together; a group that has done a row takes the next one
 * of these. Rows that are cut (spmv_cuda.h) are done by their parts, the sums of which are added afterwards.
 *
 *      rows of the warp   0  1  2  3  4  5  6  7 ..
 *      group 0            0 0 0 0 0 0 0 0 4 4 6 ..
 *      group 1            1 1 2 3 3 3 3 5 5 5 5 ..
 *
 * So a column of Y is summed up by one lane, in the order of the entries. */
#include "dcsr/device/reduce.cuh"
#include "ops/spmm/spmm.cuh"

namespace
{
constexpr unsigned ALL = DCSR_CUDA_ALL_LANES;
/* Launch policy: entries whose rows of X are read at once; threads of a block; blocks that a multiprocessor
 * runs, so that 64 registers are left to a thread. */
constexpr int AHEAD = 4, THREADS = 128;
[[maybe_unused]] constexpr int BLOCKS = 8;

template <class T> struct alignas(16) pack {
    static constexpr int N = 16 / sizeof(T);
    T value[N];
};

/* Entries of a row: `left` of them, from position `from` on; `here` of these are in the same piece as the
 * first one, which is at `place`. */
struct stretch {
    uint64_t row, place;
    uint32_t from, here, left;
    uint32_t part; /* of the row, where others have the rest of it; else NONE */

    /* Looks up where the first one is. */
    __device__ void find(const dcsr_i_cuda_rows &rows)
    {
        here = left;
        if (rows.offsets) {
            place = rows.offsets[row] + from;
            return;
        }
        const dcsr_i_cuda_row_page *page = dcsr_i_cuda_page_of(rows, row);
        uint32_t r = (uint32_t)(row & (DCSR_CUDA_PAGE_ROWS - 1)), p = from;
        dcsr_i_cuda_piece piece = dcsr_i_cuda_piece_of(rows, page, r, 0, (uint64_t)p + left);
        for (int k = 1; p >= piece.length; k++) {
            p -= (uint32_t)piece.length;
            piece = dcsr_i_cuda_piece_of(rows, page, r, k, (uint64_t)p + left);
        }
        place = piece.begin + p;
        if (here > piece.length - p) here = (uint32_t)piece.length - p;
    }
};

/* What the groups of a warp have to do. */
struct agenda {
    stretch list[32];
    uint32_t count, taken;
};

/* The lane's columns of Y, and of X. */
template <class Ring> struct columns_of_y {
    typedef typename Ring::T T;
    const Ring &ring;
    const dcsr_i_cuda_spmm &x;
    uint32_t packs;  /* in a row of X and Y */
    uint32_t column; /* the lane's, in packs */
    pack<T> sum;

    /* n <= AHEAD entries from `place` on; FULL: it is AHEAD. */
    template <bool FULL> __device__ void add_some(uint64_t place, uint32_t n)
    {
        const pack<T> *factors = (const pack<T> *)x.X + column;
        uint32_t row_of_x[AHEAD];
        T value[AHEAD];
        pack<T> factor[AHEAD];
        for (uint32_t i = 0; i < AHEAD; i++)
            if (FULL || i < n) row_of_x[i] = x.rows.columns[place + i];
        for (uint32_t i = 0; i < AHEAD; i++)
            if (FULL || i < n) value[i] = ring.matrix_value(place + i);
        for (uint32_t i = 0; i < AHEAD; i++)
            if (FULL || i < n) factor[i] = factors[(uint64_t)row_of_x[i] * packs];
        for (uint32_t i = 0; i < AHEAD; i++)
            for (int v = 0; v < pack<T>::N; v++)
                if (FULL || i < n)
                    sum.value[v] = ring.add(sum.value[v], ring.multiply(value[i], factor[i].value[v]));
    }

    __device__ void add_piece(uint64_t place, uint32_t n)
    {
        for (; n >= AHEAD; n -= AHEAD, place += AHEAD) add_some<true>(place, AHEAD);
        if (n) add_some<false>(place, n);
    }

    __device__ void add(stretch s)
    {
        for (int v = 0; v < pack<T>::N; v++) sum.value[v] = T(-0.0);
        for (;;) {
            add_piece(s.place, s.here);
            s.left -= s.here;
            if (!s.left) return;
            s.from += s.here;
            s.find(x.rows);
        }
    }

    __device__ void write(void *to, uint64_t row) const { ((pack<T> *)to)[row * packs + column] = sum; }

    /* A row that has entries. */
    __device__ void finish(uint64_t row) const
    {
        if (x.accum < 0) {
            write(x.Y, row);
            return;
        }
        uint64_t at = (row * packs + column) * pack<T>::N;
        for (int v = 0; v < pack<T>::N; v++)
            dcsr_i_cuda_spmm_finish(ring, x, at + v, dcsr_i_cuda_partial<T>{sum.value[v], true});
    }

    __device__ void write_identity(uint64_t row)
    {
        for (int v = 0; v < pack<T>::N; v++) sum.value[v] = dcsr_i_cuda_value_of<T>(x.semiring.identity);
        write(x.Y, row);
    }
};

/* Puts the stretches of the lanes that have one on the list. */
DCSR_CUDA_INLINE void list(agenda &a, const dcsr_i_cuda_rows &rows, stretch mine, bool has)
{
    unsigned all = __ballot_sync(ALL, has);
    if (has) {
        mine.find(rows);
        a.list[__popc(all & ((1u << dcsr_i_cuda_lane()) - 1))] = mine;
    }
    if (dcsr_i_cuda_lane() == 0) {
        a.count = (uint32_t)__popc(all);
        a.taken = 0;
    }
    __syncwarp();
}

/* Parts of rows that are cut: `most` of them from `first` on. */
DCSR_CUDA_INLINE void list_parts(agenda &a, const dcsr_i_cuda_spmm &x, const dcsr_i_cuda_spmv_plan &plan,
                                 uint64_t first, uint32_t most)
{
    uint64_t part = first + dcsr_i_cuda_lane();
    stretch mine = {};
    bool has = dcsr_i_cuda_lane() < most && part < plan.counts.parts;
    if (has) {
        dcsr_i_cuda_spmv_row cut = plan.row[plan.row_of_part[part]];
        mine.row = cut.row;
        mine.part = cut.parts > 1 ? (uint32_t)part : DCSR_CUDA_NONE;
        mine.from = (uint32_t)(part - cut.first) * DCSR_CUDA_SPMV_PART;
        mine.left = (uint32_t)dcsr_i_cuda_length(x.rows, cut.row) - mine.from;
        if (mine.left > DCSR_CUDA_SPMV_PART) mine.left = DCSR_CUDA_SPMV_PART;
        has = dcsr_i_cuda_wants(x.wanted, cut.row);
    }
    list(a, x.rows, mine, has);
}

/* Up to 32 rows from `first` on, those of them that are not cut. The bits of those without entries, or left
 * out by the mask, that are to be written are returned. */
DCSR_CUDA_INLINE unsigned list_rows(agenda &a, const dcsr_i_cuda_spmm &x, uint64_t first)
{
    uint64_t row = first + dcsr_i_cuda_lane();
    bool there = row < x.rows.rows, wanted = there && dcsr_i_cuda_wants(x.wanted, row);
    uint64_t length = there ? dcsr_i_cuda_length(x.rows, row) : 0;
    stretch mine = {row, 0, 0, 0, (uint32_t)length, DCSR_CUDA_NONE};
    list(a, x.rows, mine, wanted && length && length <= DCSR_CUDA_SPMV_LONG);
    return __ballot_sync(ALL, there && (wanted ? !length && x.accum < 0 : x.replace));
}

/* The next stretch that no group has taken, for all lanes of one; the count or more: there is none. */
template <int LANES> DCSR_CUDA_INLINE uint32_t take(agenda &a)
{
    unsigned lane = dcsr_i_cuda_lane(), first = lane / LANES * LANES;
    uint32_t next = lane == first ? atomicAdd(&a.taken, 1u) : 0;
    return __shfl_sync(ALL >> (32 - LANES) << first, next, 0, LANES);
}

template <class Ring, int LANES>
__global__ void __launch_bounds__(THREADS, BLOCKS)
    row_groups(Ring ring, dcsr_i_cuda_spmm x, dcsr_i_cuda_spmv_plan plan, uint32_t packs,
               typename Ring::T *sums)
{
    SIMT_SHARED(agenda, agenda_of_warp, THREADS / 32);
    agenda &a = agenda_of_warp[threadIdx.x / 32];
    constexpr int GROUPS = 32 / LANES;
    const uint32_t lane = dcsr_i_cuda_lane();
    uint64_t part_units = (plan.counts.parts + GROUPS - 1) / GROUPS;
    uint64_t units = part_units + (x.rows.rows + 31) / 32, slices = packs / LANES;
    for (uint64_t w = dcsr_i_cuda_first_warp(); w < units * slices; w += dcsr_i_cuda_warp_step()) {
        uint64_t unit = w / slices;
        columns_of_y<Ring> y = {ring, x, packs, (uint32_t)(w % slices) * LANES + lane % LANES, {}};
        if (unit < part_units) {
            list_parts(a, x, plan, unit * GROUPS, GROUPS);
        } else {
            uint64_t first = (unit - part_units) * 32;
            unsigned blank = list_rows(a, x, first);
            for (uint32_t k = lane / LANES; blank && k < 32; k += GROUPS)
                if (blank >> k & 1) y.write_identity(first + k);
        }
        for (uint32_t k; (k = take<LANES>(a)) < a.count;) {
            y.add(a.list[k]);
            if (a.list[k].part != DCSR_CUDA_NONE)
                y.write(sums, a.list[k].part);
            else
                y.finish(a.list[k].row);
        }
        __syncwarp(); /* the list is made anew */
    }
}

/* Adds up the parts of the rows that have several. */
template <class Ring>
__global__ void add_parts(Ring ring, dcsr_i_cuda_spmm x, dcsr_i_cuda_spmv_plan plan,
                          const typename Ring::T *sums)
{
    typedef typename Ring::T T;
    for (uint64_t w = dcsr_i_cuda_first_warp(); w < plan.counts.rows; w += dcsr_i_cuda_warp_step()) {
        dcsr_i_cuda_spmv_row cut = plan.row[w];
        if (cut.parts == 1 || !dcsr_i_cuda_wants(x.wanted, cut.row)) continue;
        for (uint64_t c = dcsr_i_cuda_lane(); c < x.width; c += 32) {
            T sum = sums[cut.first * x.width + c];
            for (uint64_t k = 1; k < cut.parts; k++) sum = ring.add(sum, sums[(cut.first + k) * x.width + c]);
            dcsr_i_cuda_spmm_finish(ring, x, cut.row * x.width + c, dcsr_i_cuda_partial<T>{sum, true});
        }
    }
}

bool is_aligned(const void *pointer)
{
    return reinterpret_cast<uintptr_t>(pointer) % 16 == 0;
}

/* Lanes to a row of so many packs; 0: there is no kernel. Rows without long ones among them are likely to
 * have neighbours that read the same rows of X, of which more stay in the first-level cache where they are
 * narrow. */
int lanes_for(uint64_t packs, const dcsr_i_cuda_spmv_plan *plan)
{
    if (packs == 4 || packs == 8) return (int)packs;
    if (!packs || packs % 16) return 0;
    return plan && plan->counts.rows && packs % 32 == 0 ? 32 : 16;
}

/* Calls what(ring) for the arithmetic that there are kernels for. */
template <class What> bool with_sums(const dcsr_i_cuda_spmm *x, What what)
{
    bool found = false;
    auto choose = [&](auto ring) {
        typedef decltype(ring) Ring;
        if constexpr (Ring::SUMS) {
            found = x->width % pack<typename Ring::T>::N == 0;
            if (found) what(ring);
        }
    };
    if (x->truths || !is_aligned(x->X) || !is_aligned(x->Y)) return false;
    dcsr_i_cuda_with_reals(x->semiring, x->rows, choose);
    return found;
}

template <int LANES, class Ring>
void launch(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_spmm *x, const dcsr_i_cuda_spmv_plan *plan,
            const Ring &ring, void *sums)
{
    typedef typename Ring::T T;
    uint64_t packs = x->width / pack<T>::N, groups = 32 / LANES;
    uint64_t units = (plan->counts.parts + groups - 1) / groups + (x->rows.rows + 31) / 32;
    dcsr_i_cuda_launch_with(dcsr_i_cuda_policy{THREADS, 1}, stream, row_groups<Ring, LANES>,
                            units * (packs / LANES) * 32, ring, *x, *plan, (uint32_t)packs, (T *)sums);
    if (plan->counts.longest > DCSR_CUDA_SPMV_PART)
        dcsr_i_cuda_launch_warps(stream, add_parts<Ring>, plan->counts.rows, ring, *x, *plan,
                                 (const T *)sums);
}
} // namespace

bool dcsr_i_cuda_spmm_has_groups(const dcsr_i_cuda_spmm *x)
{
    bool has = false;
    with_sums(x,
              [&](auto ring) { has = lanes_for(x->width / pack<typename decltype(ring)::T>::N, nullptr); });
    return has;
}

void dcsr_i_cuda_spmm_groups(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_spmm *x,
                             const dcsr_i_cuda_spmv_plan *plan, void *sums)
{
    with_sums(x, [=](auto ring) {
        switch (lanes_for(x->width / pack<typename decltype(ring)::T>::N, plan)) {
        case 4:
            return launch<4>(stream, x, plan, ring, sums);
        case 8:
            return launch<8>(stream, x, plan, ring, sums);
        case 16:
            return launch<16>(stream, x, plan, ring, sums);
        default:
            return launch<32>(stream, x, plan, ring, sums);
        }
    });
}

/* piece_map.cuh: sums over the entries of rows, by warps, with a map of their pieces (internal; for spmv.cu).
 *
 * The rules of row_sums.cuh, to the bit, where rows are found in a map (piece_map_cuda.h): all that is to be known of
 * a group is read at once, and then the place of each entry follows without another read from memory.
 *
 *      a group of at most  1 piece a row   base + p
 *                          2               p < cut ? base : second, + p
 *                          8               bases[ends below p] + p, with the bases of the group in shared memory
 *      a wide row                          lane k has piece k, and tells all lanes where they come to it */
#ifndef DCSR_PIECE_MAP_CUH
#define DCSR_PIECE_MAP_CUH

#include "ops/spmv/row_sums.cuh"
#include "ops/spmv/piece_map_cuda.h"

namespace dcsr_row_sums
{
/* Bases of a group in shared memory: of row r, piece k at [r * STRIDE + k]. An odd stride spreads the rows over the
 * banks. */
constexpr uint32_t STRIDE = DCSR_MAX_SEGMENTS + 1, SHARED_BASES = GROUP * STRIDE;

/* A group as a warp sees it; ends, base and second (of the first two pieces) are those of the lane's row. */
struct mapped_group {
    const uint32_t *word;
    uint64_t origin;
    uint32_t levels, ends, base, second;
    unsigned wide;              /* these rows are wide */
    const uint32_t *wide_words; /* levels for each of them */
    bool near;

    __device__ uint32_t base_of(uint32_t k, uint32_t r) const
    {
        return near ? word[k] + ((const uint16_t *)(word + levels))[k * GROUP + r] : word[k * GROUP + r];
    }
};

DCSR_CUDA_INLINE mapped_group find_group(const dcsr_i_cuda_piece_map &map, uint64_t group)
{
    dcsr_i_cuda_piece_group found = map.group[group];
    mapped_group g = {};
    g.word = map.word + found.at;
    g.origin = found.origin;
    g.levels = found.shape & DCSR_CUDA_PIECE_LEVELS;
    g.near = (found.shape & DCSR_CUDA_PIECE_NEAR) != 0;
    uint32_t lane = dcsr_i_cuda_lane(), ends_log = found.shape >> DCSR_CUDA_PIECE_ENDS_SHIFT;
    const uint32_t *ends = g.word + (g.near ? g.levels + g.levels * GROUP / 2 : g.levels * GROUP);
    g.ends = ends_log == 0   ? ((const uint8_t *)ends)[lane]
             : ends_log == 1 ? ((const uint16_t *)ends)[lane]
                             : ends[lane];
    if (g.levels > 0) g.base = g.base_of(0, lane);
    if (g.levels > 1) g.second = g.base_of(1, lane);
    if (!(found.shape & DCSR_CUDA_PIECE_WIDE)) return g;
    const uint32_t *wide = ends + (GROUP / 4 << ends_log);
    g.wide = *wide;
    g.wide_words = wide + 1;
    return g;
}

/* The sum of row r, by the LANES lanes that call with it. PIECES: that a row of the group has at most, 1, 2 or more. */
template <int LANES, int STEPS, int PIECES, class A>
DCSR_CUDA_INLINE typename A::sum sum_mapped(const A &a, const mapped_group &g, const uint32_t *bases, int r)
{
    typename A::sum sum = a.nothing();
    uint32_t lane = dcsr_i_cuda_lane() % LANES, ends = of_row<LANES>(g.ends, r);
    uint32_t length = 32 - (uint32_t)__clz((int)ends);
    if (PIECES == 1) {
        uint32_t base = of_row<LANES>(g.base, r);
        add_entries<LANES, STEPS>(sum, a, lane, length, [=](uint32_t p) { return base + p; });
    } else if (PIECES == 2) {
        uint32_t base = of_row<LANES>(g.base, r), second = of_row<LANES>(g.second, r);
        uint32_t cut = (uint32_t)__ffs((int)ends);
        add_entries<LANES, STEPS>(sum, a, lane, length,
                                  [=](uint32_t p) { return (p < cut ? base : second) + p; });
    } else {
        const uint32_t *own = bases + r * STRIDE;
        add_entries<LANES, STEPS>(sum, a, lane, length,
                                  [=](uint32_t p) { return own[__popc(ends & ((1u << p) - 1))] + p; });
    }
    return add_lanes<LANES>(a, sum);
}

/* Puts the lane's bases into shared memory, for all lanes to read. */
DCSR_CUDA_INLINE void share_bases(uint32_t *bases, const mapped_group &g)
{
    uint32_t lane = dcsr_i_cuda_lane();
    __syncwarp(ALL); /* nobody reads those of the last group any more */
    for (uint32_t k = 0; k < g.levels; k++) bases[lane * STRIDE + k] = g.base_of(k, lane);
    __syncwarp(ALL);
}

/* A wide row: lane k has its piece k. */
struct wide_row {
    uint32_t length, start, base;
};

/* The wide row number j of the group, which is row r. */
DCSR_CUDA_INLINE wide_row find_wide(const mapped_group &g, uint32_t j, uint32_t r)
{
    uint32_t lane = dcsr_i_cuda_lane();
    const uint32_t *own = g.wide_words + j * g.levels;
    wide_row row = {own[g.levels - 1], UINT32_MAX, 0};
    if (lane && lane < g.levels) row.start = own[lane - 1];
    if (lane < g.levels) row.base = g.base_of(lane, r);
    return row;
}

/* Where the lane's positions first + lane, + 32, ... of a wide row stand: all in one piece, but for those from where
 * others start among them. */
template <int STEPS>
DCSR_CUDA_INLINE void find_places(uint32_t (&at)[STEPS], const wide_row &row, uint32_t first)
{
    const uint32_t p = first + dcsr_i_cuda_lane();
    const int piece = __popc(__ballot_sync(ALL, row.start <= first));
    const uint32_t base = __shfl_sync(ALL, row.base, piece);
    for (int i = 0; i < STEPS; i++) at[i] = base + p + i * GROUP;
    unsigned starts = __ballot_sync(ALL, row.start > first && row.start < first + STEPS * GROUP);
    for (; starts; starts &= starts - 1) {
        const int k = __ffs((int)starts) - 1;
        const uint32_t start = __shfl_sync(ALL, row.start, k), its = __shfl_sync(ALL, row.base, k);
        for (int i = 0; i < STEPS; i++)
            if (p + i * GROUP >= start) at[i] = its + p + i * GROUP;
    }
}

/* The sum of positions from .. end - 1 of a wide row, at most a part of it; from is a multiple of a part. */
template <class A>
DCSR_CUDA_INLINE typename A::sum sum_wide(const A &a, const wide_row &row, uint32_t from, uint32_t end)
{
    constexpr int STEPS = 4;
    typename A::sum sum = a.nothing();
    for (uint32_t first = from; first < end; first += STEPS * GROUP) {
        uint32_t at[STEPS], p = first + dcsr_i_cuda_lane();
        find_places(at, row, first);
        add_steps<GROUP, STEPS>(sum, a, p, end, [&](uint32_t q) { return at[(q - p) / GROUP]; });
    }
    return add_lanes<GROUP>(a, sum);
}

/* The wide rows of a group that are not cut into parts. */
template <class A, class Put>
DCSR_CUDA_INLINE void sum_wide_rows(const A &arena, const dcsr_i_cuda_piece_map &map, uint64_t group, Put put)
{
    mapped_group g = find_group(map, group); /* anew: registers are short while short rows are summed */
    A a = arena.from(g.origin);
    wide_row next = find_wide(g, 0, (uint32_t)__ffs((int)g.wide) - 1);
    uint32_t j = 1;
    for (unsigned left = g.wide; left; j++) {
        int r = __ffs((int)left) - 1;
        wide_row row = next;
        left &= left - 1;
        if (left) next = find_wide(g, j, (uint32_t)__ffs((int)left) - 1);
        if (row.length > DCSR_CUDA_SPMV_LONG) continue;
        typename A::sum sum = sum_wide(a, row, 0, row.length);
        if (dcsr_i_cuda_lane() == 0) put(r, sum);
    }
}

/* The rows of the group that are not cut into parts; `bases` is the warp's. */
template <class A, class Put>
DCSR_CUDA_INLINE void sum_mapped_group(const A &arena, const dcsr_i_cuda_piece_map &map, uint64_t rows,
                                       uint64_t group, uint32_t *bases, Put put)
{
    mapped_group g = find_group(map, group);
    A a = arena.from(g.origin);
    unsigned mine = __ballot_sync(ALL, group * GROUP + dcsr_i_cuda_lane() < rows) & ~g.wide;
    uint32_t length = 32 - (uint32_t)__clz((int)g.ends);
    if (g.levels > 2) share_bases(bases, g);
    with_lanes<A>(length, [&](auto lanes) {
        constexpr int LANES = decltype(lanes)::value;
        if (g.levels <= 1)
            short_rows<LANES, LANES, A>(
                mine, [&](int r) { return sum_mapped<LANES, 4, 1>(a, g, bases, r); }, put);
        else if (g.levels == 2)
            short_rows<LANES, 2, A>(
                mine, [&](int r) { return sum_mapped<LANES, 4, 2>(a, g, bases, r); }, put);
        else
            short_rows<LANES, 2, A>(
                mine, [&](int r) { return sum_mapped<LANES, 4, 3>(a, g, bases, r); }, put);
    });
    if (mine != __ballot_sync(ALL, group * GROUP + dcsr_i_cuda_lane() < rows))
        sum_wide_rows(arena, map, group, put);
}

/* The same for short rows alone, with a lane for each. */
template <int STEPS, class A, class Put>
DCSR_CUDA_INLINE void sum_mapped_brief(const A &arena, const dcsr_i_cuda_piece_map &map, uint64_t rows,
                                       uint64_t group, uint32_t *bases, Put put)
{
    mapped_group g = find_group(map, group);
    A a = arena.from(g.origin);
    int lane = (int)dcsr_i_cuda_lane();
    if (g.levels > 2) share_bases(bases, g);
    typename A::sum sum = g.levels <= 1   ? sum_mapped<1, STEPS, 1>(a, g, bases, lane)
                          : g.levels == 2 ? sum_mapped<1, STEPS, 2>(a, g, bases, lane)
                                          : sum_mapped<1, STEPS, 3>(a, g, bases, lane);
    if (group * GROUP + lane < rows) put(lane, sum);
}

/* A part of a row that is cut. */
template <class A>
DCSR_CUDA_INLINE typename A::sum sum_mapped_part(const A &a, const dcsr_i_cuda_piece_map &map,
                                                 const dcsr_i_cuda_spmv_row &cut, uint64_t part)
{
    mapped_group g = find_group(map, cut.row / GROUP);
    uint32_t r = cut.row % GROUP, from = (uint32_t)(part - cut.first) * DCSR_CUDA_SPMV_PART;
    wide_row row = find_wide(g, (uint32_t)__popc(g.wide & ((1u << r) - 1)), r);
    uint32_t end = from + DCSR_CUDA_SPMV_PART;
    return sum_wide(a.from(g.origin), row, from, end < row.length ? end : row.length);
}
} // namespace dcsr_row_sums

#endif

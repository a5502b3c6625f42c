/* row_sums.cuh: sums over the entries of rows, by warps (internal; for spmv.cu and mxv_pull*.cu).
 *
 * A warp takes 32 rows at a time (spmv_rows.cuh), and its lanes share their entries out among themselves, as
 * many lanes to a row as its neighbours' lengths ask for:
 *
 *      longest of the group, up to    4    8   16   32    rows of 33 .. 128   longer: parts of 1024
 *      lanes to a row                 1    2    4    8    32                  32 to a part
 *      rows at a time                32   16    8    4    1                   each part as if it were a row
 *
 * Each lane has several entries of a row under way at once. The entry at position p of its row goes to the
 * lane p modulo the number of lanes, wherever the pieces of the row lie; the lanes' sums are added in a fixed
 * tree. So a sum depends on the lengths of rows and the order of their entries alone.
 *
 * What is summed up is said by a type A:
 *
 *      A::element                   the values
 *      A::sum, a.nothing()          a sum, and that of no entries
 *      A::entry                     what is known of an entry on its way, read in three steps, each of which
 *      a.load(entry, place)         is taken for several entries before the next, so that what it reads is
 *      a.look(entry)                under way together: the entry itself; whether it counts; what it is
 *      a.fetch(entry)               multiplied with
 *      a.add(sum, entry)            adds it
 *      A::STOPS, a.is_final(sum)    whether sums may be complete early, and whether this one is
 *      A::WHOLE                     whether the code is worth having for each number of lanes; else for 2,
 *                                   8 and 32
 *      a.join(sum, other)           the sum of two; of the lane's and the one `distance` lanes away:
 *      a.other(sum, distance) */
#ifndef DCSR_ROW_SUMS_CUH
#define DCSR_ROW_SUMS_CUH

#include "ops/spmv/spmv_cuda.h"
#include "ops/spmv/spmv_rows.cuh"
#include <type_traits>

namespace dcsr_row_sums
{
constexpr unsigned ALL = DCSR_CUDA_ALL_LANES;
constexpr int GROUP = DCSR_CUDA_SPMV_GROUP, SHORT = 32;
/* As many passes under way together as the registers allow, where rows are in several pieces. */
template <class A> constexpr int PASSES_OF_TWO = sizeof(typename A::element) > 4 ? 2 : 1;
typedef dcsr_i_cuda_row_at place;

/* Adds those of STEPS entries of one row, at positions p, p + LANES, ..., that are below end to the lane's sum;
 * at(q) is where position q stands. */
template <int LANES, int STEPS, class A, class At>
DCSR_CUDA_INLINE void add_steps(typename A::sum &sum, const A &a, uint32_t p, uint32_t end, At at)
{
    typename A::entry entry[STEPS];
    for (int i = 0; i < STEPS; i++)
        if (p + i * LANES < end) a.load(entry[i], at(p + i * LANES));
    for (int i = 0; i < STEPS; i++)
        if (p + i * LANES < end) a.look(entry[i]);
    for (int i = 0; i < STEPS; i++)
        if (p + i * LANES < end) a.fetch(entry[i]);
    for (int i = 0; i < STEPS; i++)
        if (p + i * LANES < end) a.add(sum, entry[i]);
}

/* All entries at positions first, first + LANES, ... below end, STEPS at a time. */
template <int LANES, int STEPS, class A, class At>
DCSR_CUDA_INLINE void add_entries(typename A::sum &sum, const A &a, uint32_t first, uint32_t end, At at)
{
    for (uint32_t p = first; p < end; p += STEPS * LANES) {
        add_steps<LANES, STEPS>(sum, a, p, end, at);
        if (A::STOPS && a.is_final(sum)) return;
    }
}

/* Adds a row's entries in its pieces from number k on, the first of which stands at position p. */
template <int LANES, int STEPS, class A>
DCSR_CUDA_INLINE void add_pieces(typename A::sum &sum, const A &a, const dcsr_i_cuda_rows &rows, uint64_t row,
                                 int k, uint32_t p, uint32_t end)
{
    const dcsr_i_cuda_row_page *page = dcsr_i_cuda_page_of(rows, row);
    uint32_t r = row & (DCSR_CUDA_PAGE_ROWS - 1), lane = dcsr_i_cuda_lane() % LANES;
    for (; p < end; k++) {
        dcsr_i_cuda_piece piece = dcsr_i_cuda_piece_of(rows, page, r, k, end - p);
        uint64_t begin = piece.begin - p;
        uint32_t stop = p + (uint32_t)piece.length;
        add_entries<LANES, STEPS>(sum, a, p + (lane - p) % LANES, stop,
                                  [=](uint32_t q) { return begin + q; });
        p = stop;
    }
}

/* Groups of rows. */
__host__ __device__ inline uint64_t groups_of(const dcsr_i_cuda_rows &rows)
{
    return (rows.rows + GROUP - 1) / GROUP;
}

/* The sum over LANES lanes, for each of them. */
template <int LANES, class A> DCSR_CUDA_INLINE typename A::sum add_lanes(const A &a, typename A::sum sum)
{
    for (int distance = LANES / 2; distance; distance /= 2) sum = a.join(sum, a.other(sum, distance));
    return sum;
}

/* What lane r holds; a lane to a row has its own. */
template <int LANES, class T> DCSR_CUDA_INLINE T of_row(T value, int r)
{
    return LANES == 1 ? value : __shfl_sync(ALL, value, r);
}

/* The sum of row r of the group, by the LANES lanes that call with this r; that of nothing for a row that is
 * not to be summed. */
template <int LANES, int STEPS, bool TWO, class A>
DCSR_CUDA_INLINE typename A::sum sum_row(const A &a, const dcsr_i_cuda_rows &rows, uint64_t group,
                                         const place &at, int r, bool deep)
{
    typename A::sum sum = a.nothing();
    uint32_t lane = dcsr_i_cuda_lane() % LANES, length = of_row<LANES>(at.length, r);
    uint64_t begin = of_row<LANES>(at.begin, r);
    if (LANES < GROUP && length > SHORT) length = 0;
    if (!TWO) {
        add_entries<LANES, STEPS>(sum, a, lane, length, [=](uint32_t p) { return begin + p; });
        return add_lanes<LANES>(a, sum);
    }
    uint32_t cut = of_row<LANES>(at.cut, r), end = of_row<LANES>(at.deep, r);
    uint64_t rest = of_row<LANES>(at.rest, r);
    if (end > length) end = length;
    add_entries<LANES, STEPS>(sum, a, lane, end, [=](uint32_t p) { return (p < cut ? begin : rest) + p; });
    if (deep && end < length) add_pieces<LANES, STEPS>(sum, a, rows, group * GROUP + r, 2, end, length);
    return add_lanes<LANES>(a, sum);
}

/* Rows of the group that have up to SHORT entries, by LANES lanes each, TOGETHER passes under way at once: put(r, sum)
 * is called by one lane for each that is in the mask `mine`; sum_of(r) is its sum, by all of its lanes. */
template <int LANES, int TOGETHER, class A, class Sum, class Put>
DCSR_CUDA_INLINE void short_rows(unsigned mine, Sum sum_of, Put put)
{
    uint32_t lane = dcsr_i_cuda_lane();
#ifdef __CUDACC__
#pragma unroll(TOGETHER)
#endif
    for (int pass = 0; pass < LANES; pass++) {
        int r = pass * (GROUP / LANES) + (int)lane / LANES;
        typename A::sum sum = sum_of(r);
        if (lane % LANES == 0 && mine >> r & 1) put(r, sum);
    }
}

/* Calls what() with the number of lanes to a row, as a type, that the longest of the group's short rows asks for. */
template <class A, class What> DCSR_CUDA_INLINE void with_lanes(uint32_t brief, What what)
{
    if (__any_sync(ALL, brief > (A::WHOLE ? 16 : 8)))
        what(std::integral_constant<int, 8>());
    else if (A::WHOLE && __any_sync(ALL, brief > 8))
        what(std::integral_constant < int, A::WHOLE ? 4 : 8 > ());
    else if (!A::WHOLE || __any_sync(ALL, brief > 4))
        what(std::integral_constant<int, 2>());
    else
        what(std::integral_constant < int, A::WHOLE ? 1 : 2 > ());
}

/* The rows of the group that are not cut. TWO: some rows are in several pieces; deep: in three or more. */
template <bool TWO, class A, class Put>
DCSR_CUDA_INLINE void sum_group(const A &a, const dcsr_i_cuda_rows &rows, uint64_t group, const place &at,
                                bool deep, Put put)
{
    uint32_t brief = at.length <= SHORT ? at.length : 0;
    unsigned mine = __ballot_sync(ALL, group * GROUP + dcsr_i_cuda_lane() < rows.rows && at.length <= SHORT);
    with_lanes<A>(brief, [&](auto lanes) {
        constexpr int LANES = decltype(lanes)::value, TOGETHER = TWO ? PASSES_OF_TWO<A> : LANES;
        short_rows<LANES, TOGETHER, A>(
            mine, [&](int r) { return sum_row<LANES, 4, TWO>(a, rows, group, at, r, deep); }, put);
    });
    unsigned left = __ballot_sync(ALL, at.length > SHORT && at.length <= DCSR_CUDA_SPMV_LONG);
    for (; left; left &= left - 1) {
        int r = __ffs((int)left) - 1;
        typename A::sum sum = sum_row<GROUP, 4, TWO>(a, rows, group, at, r, deep);
        if (dcsr_i_cuda_lane() == 0) put(r, sum);
    }
}

/* A part of a row that is cut. */
template <class A>
DCSR_CUDA_INLINE typename A::sum sum_part(const A &a, const dcsr_i_cuda_rows &rows,
                                          const dcsr_i_cuda_spmv_row &cut, uint64_t part)
{
    uint64_t from = (part - cut.first) * DCSR_CUDA_SPMV_PART, to = from + DCSR_CUDA_SPMV_PART, start = 0;
    uint32_t lane = dcsr_i_cuda_lane();
    typename A::sum sum = a.nothing();
    dcsr_i_cuda_for_pieces(rows, cut.row, [&](uint64_t begin, uint64_t length) {
        uint64_t first = start > from ? start : from, end = start + length < to ? start + length : to;
        if (first < end) {
            /* Positions within the part. */
            uint32_t p = (uint32_t)(first - from);
            uint64_t origin = begin + from - start;
            add_entries<GROUP, 4>(sum, a, p + (lane - p) % GROUP, (uint32_t)(end - from),
                                  [=](uint32_t q) { return origin + q; });
        }
        start += length;
    });
    return add_lanes<GROUP>(a, sum);
}

/* The sum of all parts of a row. */
template <class A>
DCSR_CUDA_INLINE typename A::sum sum_of_parts(const A &a, const typename A::sum *part,
                                              const dcsr_i_cuda_spmv_row &cut)
{
    typename A::sum sum = a.nothing();
    for (uint64_t k = dcsr_i_cuda_lane(); k < cut.parts; k += GROUP) sum = a.join(sum, part[cut.first + k]);
    return add_lanes<GROUP>(a, sum);
}
} // namespace dcsr_row_sums

#endif

/* spmv.cu: kernels of sparse matrix times dense vector.
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
 * tree, and those of the parts of a long row by a second kernel. A matrix without a row of more than 8
 * entries gets a kernel of its own, with a lane to each row. So y depends on the lengths of rows and the
 * order of their entries alone.
 *
 * Bytes moved: 4 + value an entry, 4 to 24 a row (spmv_rows.cuh), x and y. */
#include "ops/spmv_cuda.h"
#include "ops/spmv_rows.cuh"

namespace
{
constexpr unsigned ALL = DCSR_CUDA_ALL_LANES;
constexpr int GROUP = DCSR_CUDA_SPMV_GROUP, SHORT = 32, BRIEF = 8, BRIEF_STEPS = 6, THREADS = 256;
constexpr dcsr_cuda_policy POLICY = {THREADS, 1};
typedef dcsr_cuda_row_at place;

template <class Kind> struct product {
    typename Kind::element *y;
    const typename Kind::element *x, *values;
    const uint32_t *columns;
};

/* Adds the entries at positions first, first + LANES, ... below end of one row to its lane's sum, STEPS at a
 * time; at(p) is where position p stands. */
template <int LANES, int STEPS, class Kind, class At>
DCSR_CUDA_INLINE void add_entries(typename Kind::sum &sum, const product<Kind> &a, uint32_t first,
                                  uint32_t end, At at)
{
    for (uint32_t p = first; p < end; p += STEPS * LANES) {
        uint32_t column[STEPS];
        typename Kind::element value[STEPS], x[STEPS];
        for (int i = 0; i < STEPS; i++) {
            if (p + i * LANES >= end) continue;
            column[i] = dcsr_cuda_read_once(a.columns + at(p + i * LANES));
            value[i] = Kind::value(a.values, at(p + i * LANES));
        }
        for (int i = 0; i < STEPS; i++)
            if (p + i * LANES < end) x[i] = a.x[column[i]];
        for (int i = 0; i < STEPS; i++)
            if (p + i * LANES < end) sum = Kind::add(sum, value[i], x[i]);
    }
}

/* Adds a row's entries in its pieces from number k on, the first of which stands at position p. */
template <int LANES, int STEPS, class Kind>
DCSR_CUDA_INLINE void add_pieces(typename Kind::sum &sum, const product<Kind> &a, const dcsr_cuda_rows &rows,
                                 uint64_t row, int k, uint32_t p, uint32_t end)
{
    const dcsr_cuda_row_page *page = dcsr_cuda_page_of(rows, row);
    uint32_t r = row & (DCSR_CUDA_PAGE_ROWS - 1), lane = dcsr_cuda_lane() % LANES;
    for (; p < end; k++) {
        dcsr_cuda_piece piece = dcsr_cuda_piece_of(rows, page, r, k, end - p);
        uint64_t begin = piece.begin - p;
        uint32_t stop = p + (uint32_t)piece.length;
        add_entries<LANES, STEPS>(sum, a, p + (lane - p) % LANES, stop,
                                  [=](uint32_t q) { return begin + q; });
        p = stop;
    }
}

/* Groups of rows. */
__host__ __device__ inline uint64_t groups_of(const dcsr_cuda_rows &rows)
{
    return (rows.rows + GROUP - 1) / GROUP;
}

/* The sum over LANES lanes, for each of them. */
template <int LANES, class S> DCSR_CUDA_INLINE S add_lanes(S sum)
{
    for (int distance = LANES / 2; distance; distance /= 2) sum = sum + __shfl_xor_sync(ALL, sum, distance);
    return sum;
}

/* What lane r holds; a lane to a row has its own. */
template <int LANES, class T> DCSR_CUDA_INLINE T of_row(T value, int r)
{
    return LANES == 1 ? value : __shfl_sync(ALL, value, r);
}

/* The sum of row r of the group, by the LANES lanes that call with this r; 0 for a row that is not to be
 * summed. */
template <int LANES, int STEPS, bool TWO, class Kind>
DCSR_CUDA_INLINE typename Kind::sum sum_row(const product<Kind> &a, const dcsr_cuda_rows &rows,
                                            uint64_t group, const place &at, int r, bool deep)
{
    typename Kind::sum sum = 0;
    uint32_t lane = dcsr_cuda_lane() % LANES, length = of_row<LANES>(at.length, r);
    uint64_t begin = of_row<LANES>(at.begin, r);
    if (LANES < GROUP && length > SHORT) length = 0;
    if (!TWO) {
        add_entries<LANES, STEPS>(sum, a, lane, length, [=](uint32_t p) { return begin + p; });
        return add_lanes<LANES>(sum);
    }
    uint32_t cut = of_row<LANES>(at.cut, r), end = of_row<LANES>(at.deep, r);
    uint64_t rest = of_row<LANES>(at.rest, r);
    if (end > length) end = length;
    add_entries<LANES, STEPS>(sum, a, lane, end, [=](uint32_t p) { return (p < cut ? begin : rest) + p; });
    if (deep && end < length) add_pieces<LANES, STEPS>(sum, a, rows, group * GROUP + r, 2, end, length);
    return add_lanes<LANES>(sum);
}

/* The rows of the group that have up to SHORT entries. TWO: some rows are in several pieces; deep: in three
 * or more. */
template <int LANES, int STEPS, bool TWO, class Kind>
DCSR_CUDA_INLINE void short_rows(const product<Kind> &a, const dcsr_cuda_rows &rows, uint64_t group,
                                 const place &at, bool deep)
{
    uint32_t lane = dcsr_cuda_lane();
    unsigned mine = __ballot_sync(ALL, group * GROUP + lane < rows.rows && at.length <= SHORT);
    /* As many passes under way together as the registers allow. */
    constexpr int TOGETHER = !TWO ? LANES : sizeof(typename Kind::element) > 4 ? 2 : 1;
#ifdef __CUDACC__
#pragma unroll(TOGETHER)
#else
    (void)TOGETHER;
#endif
    for (int pass = 0; pass < LANES; pass++) {
        int r = pass * (GROUP / LANES) + (int)lane / LANES;
        typename Kind::sum sum = sum_row<LANES, STEPS, TWO>(a, rows, group, at, r, deep);
        if (lane % LANES == 0 && mine >> r & 1) a.y[group * GROUP + r] = Kind::result(sum);
    }
}

/* The rows of the group that are not cut. */
template <bool TWO, class Kind>
DCSR_CUDA_INLINE void sum_group(const product<Kind> &a, const dcsr_cuda_rows &rows, uint64_t group,
                                const place &at, bool deep)
{
    uint32_t brief = at.length <= SHORT ? at.length : 0;
    if (__any_sync(ALL, brief > 16))
        short_rows<8, 4, TWO>(a, rows, group, at, deep);
    else if (__any_sync(ALL, brief > 8))
        short_rows<4, 4, TWO>(a, rows, group, at, deep);
    else if (__any_sync(ALL, brief > 4))
        short_rows<2, 4, TWO>(a, rows, group, at, deep);
    else
        short_rows<1, 4, TWO>(a, rows, group, at, deep);
    unsigned left = __ballot_sync(ALL, at.length > SHORT && at.length <= DCSR_CUDA_SPMV_LONG);
    for (; left; left &= left - 1) {
        int r = __ffs((int)left) - 1;
        typename Kind::sum sum = sum_row<GROUP, 4, TWO>(a, rows, group, at, r, deep);
        if (dcsr_cuda_lane() == 0) a.y[group * GROUP + r] = Kind::result(sum);
    }
}

/* A part of a long row. */
template <class Kind>
DCSR_CUDA_INLINE void sum_part(const product<Kind> &a, const dcsr_cuda_rows &rows,
                               const dcsr_cuda_spmv_plan &plan, uint64_t part)
{
    dcsr_cuda_spmv_row cut = plan.row[plan.row_of_part[part]];
    uint64_t from = (part - cut.first) * DCSR_CUDA_SPMV_PART, to = from + DCSR_CUDA_SPMV_PART, start = 0;
    uint32_t lane = dcsr_cuda_lane();
    typename Kind::sum sum = 0;
    dcsr_cuda_for_pieces(rows, cut.row, [&](uint64_t begin, uint64_t length) {
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
    sum = add_lanes<GROUP>(sum);
    if (lane != 0) return;
    if (cut.parts > 1)
        ((typename Kind::sum *)plan.part)[part] = sum;
    else
        a.y[cut.row] = Kind::result(sum);
}

template <class Kind, class Layout>
__global__ void __launch_bounds__(THREADS)
    spmv(product<Kind> a, dcsr_cuda_rows rows, dcsr_cuda_spmv_plan plan)
{
    uint64_t parts = plan.counts.parts, units = parts + groups_of(rows);
    for (uint64_t w = dcsr_cuda_first_warp(); w < units; w += dcsr_cuda_warp_step()) {
        if (w < parts) {
            sum_part(a, rows, plan, w);
            continue;
        }
        uint64_t group = w - parts;
        place at = Layout::find(rows, group * GROUP + dcsr_cuda_lane());
        if (Layout::pieces && __any_sync(ALL, at.cut < at.length))
            sum_group<Layout::pieces>(a, rows, group, at, __any_sync(ALL, at.deep < at.length));
        else
            sum_group<false>(a, rows, group, at, false);
    }
}

/* The same where no row has more than BRIEF entries. With 64 registers, four blocks run on a multiprocessor.
 */
template <class Kind, class Layout>
__global__ void __launch_bounds__(THREADS, 4) spmv_of_brief(product<Kind> a, dcsr_cuda_rows rows)
{
    uint64_t groups = groups_of(rows);
    for (uint64_t group = dcsr_cuda_first_warp(); group < groups; group += dcsr_cuda_warp_step()) {
        place at = Layout::find(rows, group * GROUP + dcsr_cuda_lane());
        if (Layout::pieces && __any_sync(ALL, at.cut < at.length))
            short_rows<1, BRIEF_STEPS, Layout::pieces>(a, rows, group, at,
                                                       __any_sync(ALL, at.deep < at.length));
        else
            short_rows<1, BRIEF_STEPS, false>(a, rows, group, at, false);
    }
}

/* Adds up the parts of the rows that have several. */
template <class Kind> __global__ void add_parts(typename Kind::element *y, dcsr_cuda_spmv_plan plan)
{
    const typename Kind::sum *part = (const typename Kind::sum *)plan.part;
    for (uint64_t w = dcsr_cuda_first_warp(); w < plan.counts.rows; w += dcsr_cuda_warp_step()) {
        dcsr_cuda_spmv_row cut = plan.row[w];
        if (cut.parts == 1) continue;
        typename Kind::sum sum = 0;
        for (uint64_t k = dcsr_cuda_lane(); k < cut.parts; k += GROUP) sum = sum + part[cut.first + k];
        sum = add_lanes<GROUP>(sum);
        if (dcsr_cuda_lane() == 0) y[cut.row] = Kind::result(sum);
    }
}

/* ---- Launching ---- */

/* Rows of about equal work are shared out once among the warps that fit the device; else more blocks than run
 * at once even them out. */
unsigned blocks_for(dcsr_cuda_stream *stream, uint64_t warps, const dcsr_cuda_spmv_plan *plan)
{
    unsigned blocks = dcsr_cuda_blocks(stream, warps * 32, POLICY);
    return blocks < plan->most_blocks ? blocks : plan->most_blocks;
}

template <class Kind, class Layout>
void launch(dcsr_cuda_stream *stream, cudaStream_t on, const dcsr_cuda_rows *rows,
            const dcsr_cuda_spmv_plan *plan, const product<Kind> &a)
{
    uint64_t warps = plan->counts.parts + groups_of(*rows);
    dim3 blocks(blocks_for(stream, warps, plan)), threads(dcsr_cuda_threads(POLICY));
    if (plan->counts.longest <= BRIEF)
        simt::launch(spmv_of_brief<Kind, Layout>, blocks, threads, 0, on, a, *rows);
    else
        simt::launch(spmv<Kind, Layout>, blocks, threads, 0, on, a, *rows, *plan);
    dcsr_cuda_launched(stream);
}

template <class Kind>
void run(dcsr_cuda_stream *stream, cudaStream_t on, const dcsr_cuda_rows *rows,
         const dcsr_cuda_spmv_plan *plan, const product<Kind> &a)
{
    bool split = plan->counts.longest > DCSR_CUDA_SPMV_PART;
    cudaEvent_t part_is_free = (cudaEvent_t)plan->part_is_free;
    if (split) dcsr_cuda_note(stream, cudaStreamWaitEvent(on, part_is_free, 0));
    if (rows->offsets)
        launch<Kind, dcsr_cuda_by_offsets>(stream, on, rows, plan, a);
    else if (plan->tight)
        launch<Kind, dcsr_cuda_by_lengths>(stream, on, rows, plan, a);
    else
        launch<Kind, dcsr_cuda_by_segments>(stream, on, rows, plan, a);
    if (!split) return;
    simt::launch(add_parts<Kind>, dim3(blocks_for(stream, plan->counts.rows, plan)),
                 dim3(dcsr_cuda_threads(POLICY)), 0, on, a.y, *plan);
    dcsr_cuda_launched(stream);
    dcsr_cuda_note(stream, cudaEventRecord(part_is_free, on));
}
} // namespace

void dcsr_cuda_spmv_run(dcsr_cuda_stream *stream, void *on, const dcsr_cuda_rows *rows,
                        const dcsr_cuda_spmv_plan *plan, void *y, const void *x)
{
    if (!rows->rows) return;
    dcsr_cuda_with_kind(rows->type, [=](auto kind) {
        typedef decltype(kind) Kind;
        typedef typename Kind::element element;
        product<Kind> a = {(element *)y, (const element *)x, (const element *)rows->values, rows->columns};
        run(stream, (cudaStream_t)on, rows, plan, a);
    });
}

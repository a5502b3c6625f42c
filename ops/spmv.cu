/* spmv.cu: kernels of sparse matrix times dense vector.
 *
 * A warp takes a group of 32 rows at a time, which is a word of each of their page's masks: lane r looks up where row r
 * is, and then the lanes share the entries of all 32 rows out among themselves, as many to a row as its neighbours'
 * lengths ask for:
 *
 *      longest of the group, up to    4     8     16     32        rows of 33 .. 128    longer
 *      lanes to a row                 1     2      4      8        32, row after row    in parts of 1024 entries, each
 *      rows at a time                32    16      8      4                             as if it were a row
 *
 * Each lane has up to four entries of a row under way at once. The entry at position p of its row goes to the lane p modulo
 * the number of lanes, wherever the pieces of the row lie; the lanes' sums are added in a fixed tree, and those of the parts
 * of a long row by a second kernel in their order. So y depends on the lengths of rows and the order of their entries
 * alone.
 *
 * Bytes moved, besides 4 + value an entry, x and y: 12 a row (length, begin) and 12 more for each that is fragmented; 4 a
 * row where rows lie one behind the other, as begins then are sums of lengths; 8 a row of a CSR view. */
#include "ops/spmv_cuda.h"
#include "dcsr/reduce.cuh"
#include <math.h>

namespace
{
constexpr unsigned ALL = DCSR_CUDA_ALL_LANES;
constexpr int GROUP = 32, SHORT = 32, BRIEF = 8, BRIEF_STEPS = 6, THREADS = 256;
constexpr dcsr_cuda_policy POLICY = {THREADS, 1};
/* Four blocks on a multiprocessor: 64 registers a thread. */
#define DCSR_CUDA_SPMV_BOUNDS __launch_bounds__(THREADS, 4)

/* Where rows are: anywhere; one behind the other; as offsets say. */
struct segments {
    static const bool pieces = true;
};
struct tight {
    static const bool pieces = false;
};
struct csr {
    static const bool pieces = false;
};

/* Entries are read once: x is what is to stay in the caches (1.1 to 1.3 times as fast). */
template <class T> DCSR_CUDA_INLINE T read_once(const T *p)
{
#ifdef __CUDACC__
    return __ldcs(p);
#else
    return *p;
#endif
}

/* What is multiplied and added. Integers wrap around, so their sums are unsigned, and so are they. */
template <class T, class S> struct numbers {
    typedef T element;
    typedef S sum;
    static __device__ T value(const T *values, uint64_t at)
    {
        return read_once(values + at);
    }
    static __device__ S add(S sum, T value, T x)
    {
        return sum + (S)value * (S)x;
    }
    static __device__ T result(S sum)
    {
        return (T)sum;
    }
};
template <class T> struct reals : numbers<T, T> {
    static __device__ T add(T sum, T value, T x)
    {
        return fma(value, x, sum);
    }
};
struct pattern : numbers<double, double> {
    static __device__ double value(const double *, uint64_t)
    {
        return 1;
    }
    static __device__ double add(double sum, double, double x)
    {
        return sum + x;
    }
};
/* The sum counts the true products, of which a row has fewer than 2^32. */
struct truths : numbers<uint8_t, uint32_t> {
    static __device__ uint8_t result(uint32_t sum)
    {
        return sum != 0;
    }
};

template <class Kind> struct product {
    typename Kind::element *y;
    const typename Kind::element *x, *values;
    const uint32_t *columns;
};

/* Adds the entries at positions first, first + LANES, ... below end of one row to its lane's sum, STEPS at a time; at(p) is
 * where position p stands. */
template <int LANES, int STEPS, class Kind, class At>
DCSR_CUDA_INLINE void add_entries(typename Kind::sum &sum, const product<Kind> &a, uint32_t first, uint32_t end, At at)
{
    for (uint32_t p = first; p < end; p += STEPS * LANES) {
        uint32_t column[STEPS];
        typename Kind::element value[STEPS], x[STEPS];
        for (int i = 0; i < STEPS; i++) {
            if (p + i * LANES >= end) continue;
            column[i] = read_once(a.columns + at(p + i * LANES));
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
DCSR_CUDA_INLINE void add_pieces(typename Kind::sum &sum, const product<Kind> &a, const dcsr_cuda_rows &rows, uint64_t row,
                                 int k, uint32_t p, uint32_t end)
{
    const dcsr_cuda_row_page *page = dcsr_cuda_page_of(rows, row);
    uint32_t r = row & (DCSR_CUDA_PAGE_ROWS - 1), lane = dcsr_cuda_lane() % LANES;
    for (; p < end; k++) {
        dcsr_cuda_piece piece = dcsr_cuda_piece_of(rows, page, r, k, end - p);
        uint64_t begin = piece.begin - p;
        uint32_t stop = p + (uint32_t)piece.length;
        add_entries<LANES, STEPS>(sum, a, p + (lane - p) % LANES, stop, [=](uint32_t q) { return begin + q; });
        p = stop;
    }
}

/* Where a lane's row is: position p stands at begin + p below `cut`, at rest + p from there on, unless it is in the third
 * piece or a later one, which is from `deep` on. */
struct place {
    uint32_t length, cut, deep;
    uint64_t begin, rest;
};

DCSR_CUDA_INLINE place look_up(csr, const dcsr_cuda_rows &rows, uint64_t row)
{
    place at = {};
    if (row >= rows.rows) return at;
    at.begin = rows.offsets[row];
    at.length = at.cut = at.deep = (uint32_t)(rows.offsets[row + 1] - at.begin);
    return at;
}

DCSR_CUDA_INLINE place look_up(segments, const dcsr_cuda_rows &rows, uint64_t row)
{
    place at = {};
    const dcsr_cuda_row_page *page = row < rows.rows ? dcsr_cuda_page_of(rows, row) : nullptr;
    uint32_t r = row & (DCSR_CUDA_PAGE_ROWS - 1);
    if (page) at.length = at.cut = at.deep = page->length[r];
    if (!at.length) return at;
    const dcsr_cuda_segment_page *piece = &rows.segment_page[page->segment[0]];
    at.begin = piece->begin[r];
    if (!dcsr_cuda_bit(page->fragmented, r)) return at;
    at.cut = piece->capacity[r];
    piece = &rows.segment_page[page->segment[1]];
    at.rest = piece->begin[r] - at.cut;
    /* Where no row of the page has a third piece, the capacity of the second need not be read. */
    if (rows.segments_per_row > 2 && page->segment[2] != DCSR_CUDA_NONE) {
        uint32_t capacity = piece->capacity[r];
        if (capacity < at.length - at.cut) at.deep = at.cut + capacity;
    }
    return at;
}

/* Rows that lie one behind the other: only the first of the group that has entries is looked up. */
DCSR_CUDA_INLINE place look_up(tight, const dcsr_cuda_rows &rows, uint64_t row)
{
    place at = {};
    const dcsr_cuda_row_page *page = row < rows.rows ? dcsr_cuda_page_of(rows, row) : nullptr;
    uint32_t r = row & (DCSR_CUDA_PAGE_ROWS - 1), lane = dcsr_cuda_lane();
    if (page) at.length = at.cut = at.deep = page->length[r];
    unsigned in_use = __ballot_sync(ALL, at.length != 0);
    if (!in_use) return at;
    uint32_t before = at.length;
    for (unsigned distance = 1; distance < GROUP; distance *= 2) {
        uint32_t other = __shfl_up_sync(ALL, before, distance);
        if (lane >= distance) before += other;
    }
    int first = __ffs((int)in_use) - 1;
    uint64_t begin = (int)lane == first ? rows.segment_page[page->segment[0]].begin[r] : 0;
    at.begin = __shfl_sync(ALL, begin, first) + (before - at.length);
    return at;
}

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

/* The sum of row r of the group, by the LANES lanes that call with this r; 0 for a row that is not to be summed. */
template <int LANES, int STEPS, bool TWO, class Kind>
DCSR_CUDA_INLINE typename Kind::sum sum_row(const product<Kind> &a, const dcsr_cuda_rows &rows, uint64_t group,
                                            const place &at, int r, bool deep)
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

template <int LANES, int STEPS, bool TWO, class Kind>
DCSR_CUDA_INLINE void short_rows(const product<Kind> &a, const dcsr_cuda_rows &rows, uint64_t group, const place &at,
                                 bool deep)
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

template <bool TWO, class Kind>
DCSR_CUDA_INLINE void sum_group(const product<Kind> &a, const dcsr_cuda_rows &rows, uint64_t group, const place &at,
                                bool deep)
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
DCSR_CUDA_INLINE void sum_part(const product<Kind> &a, const dcsr_cuda_rows &rows, const dcsr_cuda_spmv_plan &plan,
                               uint64_t part)
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
__global__ void DCSR_CUDA_SPMV_BOUNDS spmv(product<Kind> a, dcsr_cuda_rows rows, dcsr_cuda_spmv_plan plan)
{
    uint64_t parts = plan.counts.parts, groups = (rows.rows + GROUP - 1) / GROUP;
    for (uint64_t w = dcsr_cuda_first_warp(); w < parts + groups; w += dcsr_cuda_warp_step()) {
        if (w < parts) {
            sum_part(a, rows, plan, w);
            continue;
        }
        uint64_t group = w - parts;
        place at = look_up(Layout(), rows, group * GROUP + dcsr_cuda_lane());
        if (Layout::pieces && __any_sync(ALL, at.cut < at.length))
            sum_group<Layout::pieces>(a, rows, group, at, __any_sync(ALL, at.deep < at.length));
        else
            sum_group<false>(a, rows, group, at, false);
    }
}

/* The same where no row has more than 8 entries: a lane to each. */
template <class Kind, class Layout>
__global__ void DCSR_CUDA_SPMV_BOUNDS spmv_of_brief(product<Kind> a, dcsr_cuda_rows rows)
{
    uint64_t groups = (rows.rows + GROUP - 1) / GROUP;
    for (uint64_t group = dcsr_cuda_first_warp(); group < groups; group += dcsr_cuda_warp_step()) {
        place at = look_up(Layout(), rows, group * GROUP + dcsr_cuda_lane());
        if (Layout::pieces && __any_sync(ALL, at.cut < at.length))
            short_rows<1, BRIEF_STEPS, Layout::pieces>(a, rows, group, at, __any_sync(ALL, at.deep < at.length));
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

/* ---- Rows that are cut ---- */

DCSR_CUDA_INLINE uint64_t parts_of(uint64_t length)
{
    return length <= DCSR_CUDA_SPMV_LONG ? 0 : (length + DCSR_CUDA_SPMV_PART - 1) / DCSR_CUDA_SPMV_PART;
}

__global__ void count_parts(dcsr_cuda_rows rows, dcsr_cuda_spmv_counts *counts)
{
    uint64_t longest = 0;
    for (uint64_t row = dcsr_cuda_first(); row < rows.rows; row += dcsr_cuda_step()) {
        uint64_t length = dcsr_cuda_length(rows, row), parts = parts_of(length);
        if (length > longest) longest = length;
        if (!parts) continue;
        atomicAdd(&counts->rows, 1);
        atomicAdd(&counts->parts, parts);
    }
    longest = dcsr_cuda_block_max(longest, (uint64_t)0);
    if (threadIdx.x == 0) atomicMax(&counts->longest, longest);
}

__global__ void list_rows(dcsr_cuda_rows rows, dcsr_cuda_spmv_row *list, dcsr_cuda_spmv_counts *counts)
{
    for (uint64_t row = dcsr_cuda_first(); row < rows.rows; row += dcsr_cuda_step()) {
        uint64_t parts = parts_of(dcsr_cuda_length(rows, row));
        if (parts) list[atomicAdd(&counts->rows, 1)] = {row, atomicAdd(&counts->parts, parts), parts};
    }
}

__global__ void list_parts(dcsr_cuda_spmv_plan plan)
{
    for (uint64_t w = dcsr_cuda_first_warp(); w < plan.counts.rows; w += dcsr_cuda_warp_step())
        for (uint64_t k = dcsr_cuda_lane(); k < plan.row[w].parts; k += GROUP)
            plan.row_of_part[plan.row[w].first + k] = (uint32_t)w;
}

/* ---- Launching ---- */

/* Calls what(Kind()) with the kind of the type. */
template <class What> auto with_kind(uint32_t type, What what)
{
    switch (type) {
    case DCSR_PATTERN:
        return what(pattern());
    case DCSR_BOOL:
        return what(truths());
    case DCSR_INT8:
    case DCSR_UINT8:
        return what(numbers<uint8_t, uint32_t>());
    case DCSR_INT16:
    case DCSR_UINT16:
        return what(numbers<uint16_t, uint32_t>());
    case DCSR_INT32:
    case DCSR_UINT32:
        return what(numbers<uint32_t, uint32_t>());
    case DCSR_INT64:
    case DCSR_UINT64:
        return what(numbers<uint64_t, uint64_t>());
    case DCSR_FP32:
        return what(reals<float>());
    default:
        return what(reals<double>());
    }
}

/* Rows of about equal work are shared out once among the warps that fit the device; else more blocks than run at once
 * even them out. */
unsigned blocks_for(dcsr_cuda_stream *stream, uint64_t warps, const dcsr_cuda_spmv_plan *plan)
{
    unsigned blocks = dcsr_cuda_blocks(stream, warps * 32, POLICY);
    return blocks < plan->most_blocks ? blocks : plan->most_blocks;
}

template <class Kind, class Layout>
void launch(dcsr_cuda_stream *stream, cudaStream_t on, const dcsr_cuda_rows *rows, const dcsr_cuda_spmv_plan *plan,
            const product<Kind> &a)
{
    uint64_t warps = (rows->rows + GROUP - 1) / GROUP + plan->counts.parts;
    dim3 blocks(blocks_for(stream, warps, plan)), threads(dcsr_cuda_threads(POLICY));
    if (plan->counts.longest <= BRIEF)
        simt::launch(spmv_of_brief<Kind, Layout>, blocks, threads, 0, on, a, *rows);
    else
        simt::launch(spmv<Kind, Layout>, blocks, threads, 0, on, a, *rows, *plan);
    dcsr_cuda_launched(stream);
}

template <class Kind>
void run(dcsr_cuda_stream *stream, cudaStream_t on, const dcsr_cuda_rows *rows, const dcsr_cuda_spmv_plan *plan,
         const product<Kind> &a)
{
    bool split = plan->counts.longest > DCSR_CUDA_SPMV_PART;
    cudaEvent_t part_is_free = (cudaEvent_t)plan->part_is_free;
    if (split) dcsr_cuda_note(stream, cudaStreamWaitEvent(on, part_is_free, 0));
    if (rows->offsets)
        launch<Kind, csr>(stream, on, rows, plan, a);
    else if (plan->tight)
        launch<Kind, tight>(stream, on, rows, plan, a);
    else
        launch<Kind, segments>(stream, on, rows, plan, a);
    if (!split) return;
    simt::launch(add_parts<Kind>, dim3(blocks_for(stream, plan->counts.rows, plan)), dim3(dcsr_cuda_threads(POLICY)), 0,
                 on, a.y, *plan);
    dcsr_cuda_launched(stream);
    dcsr_cuda_note(stream, cudaEventRecord(part_is_free, on));
}
} // namespace

void dcsr_cuda_spmv_count(dcsr_cuda_stream *stream, const dcsr_cuda_rows *rows, dcsr_cuda_spmv_counts *counts)
{
    dcsr_cuda_launch(stream, count_parts, rows->rows, *rows, counts);
}

void dcsr_cuda_spmv_cut(dcsr_cuda_stream *stream, const dcsr_cuda_rows *rows, dcsr_cuda_spmv_plan *plan,
                        dcsr_cuda_spmv_counts *counts)
{
    cudaEvent_t event = nullptr;
    dcsr_cuda_note(stream, cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    plan->part_is_free = event;
    dcsr_cuda_fill(stream, counts, 0, sizeof *counts);
    dcsr_cuda_launch(stream, list_rows, rows->rows, *rows, plan->row, counts);
    dcsr_cuda_launch_warps(stream, list_parts, plan->counts.rows, *plan);
}

void dcsr_cuda_spmv_forget(dcsr_cuda_stream *stream, dcsr_cuda_spmv_plan *plan)
{
    if (plan->part_is_free && dcsr_cuda_check(dcsr_cuda_device_of(stream)) == DCSR_OK)
        dcsr_cuda_note(stream, cudaEventDestroy((cudaEvent_t)plan->part_is_free));
}

size_t dcsr_cuda_spmv_sum_size(uint32_t type)
{
    return with_kind(type, [](auto kind) { return sizeof(typename decltype(kind)::sum); });
}

void dcsr_cuda_spmv_run(dcsr_cuda_stream *stream, void *on, const dcsr_cuda_rows *rows,
                        const dcsr_cuda_spmv_plan *plan, void *y, const void *x)
{
    if (!rows->rows) return;
    with_kind(rows->type, [=](auto kind) {
        typedef decltype(kind) Kind;
        typedef typename Kind::element element;
        product<Kind> a = {(element *)y, (const element *)x, (const element *)rows->values, rows->columns};
        run(stream, (cudaStream_t)on, rows, plan, a);
    });
}

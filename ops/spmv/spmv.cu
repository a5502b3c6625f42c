/* spmv.cu: kernels of sparse matrix times dense vector, and that find the rows that it cuts into parts.
 *
 * Sums of rows by warps (row_sums.cuh); those of the parts of a long row are added by a second kernel. A
 * matrix without a row of more than 8 entries, of 4 bytes or more, gets a kernel of its own, with a lane to each
 * row. So y depends on the lengths of rows and the order of their entries alone.
 *
 * Bytes moved: 4 + value an entry, 4 to 24 a row (spmv_rows.cuh), x and y. */
#include "ops/spmv/spmv_cuda.h"
#include "ops/spmv/product.cuh"
#include "ops/spmv/piece_map.cuh"

/* ---- Finding the rows that are cut into parts ---- */

DCSR_CUDA_INLINE uint64_t parts_of(uint64_t length)
{
    return length <= DCSR_CUDA_SPMV_LONG ? 0 : (length + DCSR_CUDA_SPMV_PART - 1) / DCSR_CUDA_SPMV_PART;
}

static __global__ void count_parts(dcsr_i_cuda_rows rows, dcsr_i_cuda_spmv_counts *counts)
{
    uint64_t longest = 0, in_use = 0;
    for (uint64_t row = dcsr_i_cuda_first(); row < rows.rows; row += dcsr_i_cuda_step()) {
        uint64_t length = dcsr_i_cuda_length(rows, row), parts = parts_of(length);
        if (length > longest) longest = length;
        in_use += length != 0;
        if (!parts) continue;
        atomicAdd(&counts->rows, 1);
        atomicAdd(&counts->parts, parts);
    }
    longest = dcsr_i_cuda_block_max(longest, (uint64_t)0);
    in_use = dcsr_i_cuda_block_sum(in_use);
    if (threadIdx.x != 0) return;
    atomicMax(&counts->longest, longest);
    atomicAdd(&counts->in_use, in_use);
}

static __global__ void list_rows(dcsr_i_cuda_rows rows, dcsr_i_cuda_spmv_row *list,
                                 dcsr_i_cuda_spmv_counts *counts)
{
    for (uint64_t row = dcsr_i_cuda_first(); row < rows.rows; row += dcsr_i_cuda_step()) {
        uint64_t parts = parts_of(dcsr_i_cuda_length(rows, row));
        if (parts) list[atomicAdd(&counts->rows, 1)] = {row, atomicAdd(&counts->parts, parts), parts};
    }
}

static __global__ void list_parts(dcsr_i_cuda_spmv_plan plan)
{
    for (uint64_t w = dcsr_i_cuda_first_warp(); w < plan.counts.rows; w += dcsr_i_cuda_warp_step())
        for (uint64_t k = dcsr_i_cuda_lane(); k < plan.row[w].parts; k += 32)
            plan.row_of_part[plan.row[w].first + k] = (uint32_t)w;
}

void dcsr_i_cuda_spmv_count(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows,
                            dcsr_i_cuda_spmv_counts *counts)
{
    dcsr_i_cuda_launch(stream, count_parts, rows->rows, *rows, counts);
}

static __global__ void mark_rows(dcsr_i_cuda_rows rows, uint32_t *in_use, uint64_t words)
{
    for (uint64_t w = dcsr_i_cuda_first_warp(); w < words; w += dcsr_i_cuda_warp_step()) {
        uint64_t row = w * 32 + dcsr_i_cuda_lane();
        bool used = row < rows.rows && dcsr_i_cuda_length(rows, row) != 0;
        uint32_t word = __ballot_sync(0xffffffffu, used);
        if (dcsr_i_cuda_lane() == 0) in_use[w] = word;
    }
}

void dcsr_i_cuda_spmv_mark(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows, uint32_t *in_use)
{
    uint64_t words = (rows->rows + 63) / 64 * 2;
    dcsr_i_cuda_launch_warps(stream, mark_rows, words, *rows, in_use, words);
}

void dcsr_i_cuda_spmv_cut(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows,
                          dcsr_i_cuda_spmv_plan *plan, dcsr_i_cuda_spmv_counts *counts)
{
    cudaEvent_t event = nullptr;
    dcsr_i_cuda_note(stream, cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    plan->part_is_free = event;
    dcsr_i_cuda_fill(stream, counts, 0, sizeof *counts);
    dcsr_i_cuda_launch(stream, list_rows, rows->rows, *rows, plan->row, counts);
    dcsr_i_cuda_launch_warps(stream, list_parts, plan->counts.rows, *plan);
}

void dcsr_i_cuda_spmv_forget(dcsr_i_cuda_stream *stream, dcsr_i_cuda_spmv_plan *plan)
{
    if (plan->part_is_free && dcsr_i_cuda_check(dcsr_i_cuda_device_of(stream)) == DCSR_OK)
        dcsr_i_cuda_note(stream, cudaEventDestroy((cudaEvent_t)plan->part_is_free));
}

size_t dcsr_i_cuda_spmv_sum_size(uint32_t type)
{
    return dcsr_i_cuda_with_kind(type, [](auto kind) { return sizeof(typename decltype(kind)::sum); });
}

/* ---- Sums ---- */

namespace
{
using namespace dcsr_row_sums;
constexpr int BRIEF = 8, BRIEF_STEPS = 6, THREADS = 256;
constexpr dcsr_i_cuda_policy POLICY = {THREADS, 1};

/* Wherever rows are. Types of 1 and 2 bytes have this alone; others have a kernel for each. */
struct by_either {
    static constexpr bool pieces = true;
    static __device__ place find(const dcsr_i_cuda_rows &rows, uint64_t row)
    {
        return rows.offsets ? dcsr_i_cuda_by_offsets::find(rows, row)
                            : dcsr_i_cuda_by_segments::find(rows, row);
    }
};

/* How kernels sum rows: parts of them, groups, and groups of rows of up to BRIEF entries. */
template <class Find> struct by_table {
    dcsr_i_cuda_rows rows;
    template <class A>
    __device__ typename A::sum part(const A &a, const dcsr_i_cuda_spmv_row &cut, uint64_t part) const
    {
        return sum_part(a, rows, cut, part);
    }
    template <class A, class Put> __device__ void group(const A &a, uint64_t group, Put put) const
    {
        place at = Find::find(rows, group * GROUP + dcsr_i_cuda_lane());
        if (Find::pieces && __any_sync(ALL, at.cut < at.length))
            sum_group<Find::pieces>(a, rows, group, at, __any_sync(ALL, at.deep < at.length), put);
        else
            sum_group<false>(a, rows, group, at, false, put);
    }
    template <class A, class Put> __device__ void brief(const A &a, uint64_t group, Put put) const
    {
        int lane = (int)dcsr_i_cuda_lane();
        place at = Find::find(rows, group * GROUP + lane);
        typename A::sum sum = Find::pieces && __any_sync(ALL, at.cut < at.length)
                                  ? sum_row<1, BRIEF_STEPS, Find::pieces>(
                                        a, rows, group, at, lane, __any_sync(ALL, at.deep < at.length))
                                  : sum_row<1, BRIEF_STEPS, false>(a, rows, group, at, lane, false);
        if (group * GROUP + lane < rows.rows) put(lane, sum);
    }
};
struct by_map {
    dcsr_i_cuda_rows rows;
    dcsr_i_cuda_piece_map map;
    static __device__ uint32_t *own_bases()
    {
        SIMT_SHARED(uint32_t, bases, THREADS / 32 * SHARED_BASES);
        return bases + threadIdx.x / 32 * SHARED_BASES;
    }
    template <class A>
    __device__ typename A::sum part(const A &a, const dcsr_i_cuda_spmv_row &cut, uint64_t part) const
    {
        return sum_mapped_part(a, map, cut, part);
    }
    template <class A, class Put> __device__ void group(const A &a, uint64_t group, Put put) const
    {
        sum_mapped_group(a, map, rows.rows, group, own_bases(), put);
    }
    template <class A, class Put> __device__ void brief(const A &a, uint64_t group, Put put) const
    {
        sum_mapped_brief<BRIEF_STEPS>(a, map, rows.rows, group, own_bases(), put);
    }
};
template <class Kind> constexpr bool IS_SMALL = sizeof(typename Kind::element) < 4;

/* With 64 registers, four blocks run on a multiprocessor, as many as are launched (BLOCKS_AT_ONCE). */
template <class Kind, class Layout>
__global__ void __launch_bounds__(THREADS, 4) spmv(product<Kind> a, Layout layout, dcsr_i_cuda_spmv_plan plan)
{
    uint64_t parts = plan.counts.parts, units = parts + groups_of(layout.rows);
    for (uint64_t w = dcsr_i_cuda_first_warp(); w < units; w += dcsr_i_cuda_warp_step()) {
        if (w < parts) {
            dcsr_i_cuda_spmv_row cut = plan.row[plan.row_of_part[w]];
            typename Kind::sum sum = layout.part(a, cut, w);
            if (dcsr_i_cuda_lane() != 0) continue;
            if (cut.parts > 1)
                ((typename Kind::sum *)plan.part)[w] = sum;
            else
                a.y[cut.row] = Kind::result(sum);
            continue;
        }
        uint64_t group = w - parts;
        layout.group(a, group,
                     [&](int r, typename Kind::sum sum) { a.y[group * GROUP + r] = Kind::result(sum); });
    }
}

/* The same where no row has more than BRIEF entries. */
template <class Kind, class Layout>
__global__ void __launch_bounds__(THREADS, 4) spmv_of_brief(product<Kind> a, Layout layout)
{
    uint64_t groups = groups_of(layout.rows);
    for (uint64_t group = dcsr_i_cuda_first_warp(); group < groups; group += dcsr_i_cuda_warp_step())
        layout.brief(a, group,
                     [&](int r, typename Kind::sum sum) { a.y[group * GROUP + r] = Kind::result(sum); });
}

/* Adds up the parts of the rows that have several. */
template <class Kind> __global__ void add_parts(product<Kind> a, dcsr_i_cuda_spmv_plan plan)
{
    for (uint64_t w = dcsr_i_cuda_first_warp(); w < plan.counts.rows; w += dcsr_i_cuda_warp_step()) {
        dcsr_i_cuda_spmv_row cut = plan.row[w];
        if (cut.parts == 1) continue;
        typename Kind::sum sum = sum_of_parts(a, (const typename Kind::sum *)plan.part, cut);
        if (dcsr_i_cuda_lane() == 0) a.y[cut.row] = Kind::result(sum);
    }
}

/* ---- Launching ---- */

/* Rows of about equal work are shared out once among the warps that fit the device; else more blocks than run
 * at once even them out. */
unsigned blocks_for(dcsr_i_cuda_stream *stream, uint64_t warps, const dcsr_i_cuda_spmv_plan *plan)
{
    unsigned blocks = dcsr_i_cuda_blocks(stream, warps * 32, POLICY);
    return blocks < plan->most_blocks ? blocks : plan->most_blocks;
}

template <class Kind, class Layout>
void launch(dcsr_i_cuda_stream *stream, cudaStream_t on, const Layout &layout,
            const dcsr_i_cuda_spmv_plan *plan, const product<Kind> &a)
{
    uint64_t warps = plan->counts.parts + groups_of(layout.rows);
    dim3 blocks(blocks_for(stream, warps, plan)), threads(dcsr_i_cuda_threads(POLICY));
    bool brief = !IS_SMALL<Kind> && plan->counts.longest <= BRIEF;
    if constexpr (!IS_SMALL<Kind>)
        if (brief) simt::launch(spmv_of_brief<Kind, Layout>, blocks, threads, 0, on, a, layout);
    if (!brief) simt::launch(spmv<Kind, Layout>, blocks, threads, 0, on, a, layout, *plan);
    dcsr_i_cuda_launched(stream);
}

template <class Kind>
void run(dcsr_i_cuda_stream *stream, cudaStream_t on, const dcsr_i_cuda_rows *rows,
         const dcsr_i_cuda_spmv_plan *plan, const dcsr_i_cuda_piece_map *map, const product<Kind> &a)
{
    bool split = plan->counts.longest > DCSR_CUDA_SPMV_PART;
    cudaEvent_t part_is_free = (cudaEvent_t)plan->part_is_free;
    if (split) dcsr_i_cuda_note(stream, cudaStreamWaitEvent(on, part_is_free, 0));
    if (map)
        launch(stream, on, by_map{*rows, *map}, plan, a);
    else if constexpr (IS_SMALL<Kind>)
        launch(stream, on, by_table<by_either>{*rows}, plan, a);
    else if (rows->offsets)
        launch(stream, on, by_table<dcsr_i_cuda_by_offsets>{*rows}, plan, a);
    else if (plan->tight)
        launch(stream, on, by_table<dcsr_i_cuda_by_lengths>{*rows}, plan, a);
    else
        launch(stream, on, by_table<dcsr_i_cuda_by_segments>{*rows}, plan, a);
    if (!split) return;
    simt::launch(add_parts<Kind>, dim3(blocks_for(stream, plan->counts.rows, plan)),
                 dim3(dcsr_i_cuda_threads(POLICY)), 0, on, a, *plan);
    dcsr_i_cuda_launched(stream);
    dcsr_i_cuda_note(stream, cudaEventRecord(part_is_free, on));
}
} // namespace

void dcsr_i_cuda_spmv_run(dcsr_i_cuda_stream *stream, void *on, const dcsr_i_cuda_rows *rows,
                          const dcsr_i_cuda_spmv_plan *plan, const dcsr_i_cuda_piece_map *map, void *y,
                          const void *x)
{
    if (!rows->rows) return;
    dcsr_i_cuda_with_kind(rows->type, [=](auto kind) {
        typedef decltype(kind) Kind;
        typedef typename Kind::element element;
        product<Kind> a = {(element *)y, (const element *)x, (const element *)rows->values, rows->columns};
        run(stream, (cudaStream_t)on, rows, plan, map, a);
    });
}

/* spmv_adcsr.cu: the kernel adcsr: rows in place, in bins of like length, as ADCSR has them for products.
 *
 * The row numbers are sorted by bin, stably, so that neighbours stay neighbours; warps then take rows of one bin, with
 * as many lanes to a row as its entries keep busy, and nothing of the rows is copied:
 *
 *      bin             0      1     2     3      4       5        6 (long)
 *      rows of up to   2      4     8    16     32     1024     more
 *      lanes           1      2     4     8     16      32      a warp to each part of 1024 entries
 *
 * Entry p of a row goes to lane p modulo the lanes, wherever its piece is, and the lanes' sums are added in a fixed
 * tree: deterministic. Bytes: 4 + value an entry, 4 a row for its number and 12 to 20 for its place in the table (8 in
 * a CSR view), x and y; one launch, two with long rows. */
#include "ops/spmv/portfolio/cuda/device_format.cuh"
#include "dcsr/device/prim_cuda.h"

namespace
{
using namespace dcsr_portfolio;
enum { BINS = 7, LONG_BIN = BINS - 1, ORDER = 0, CUT = 1, PARTS = 2 };
static_assert(BINS <= sizeof(dcsr_i_spmv_format::bin) / sizeof(uint64_t), "a format has room for the bins");

/* Lanes to a row of a bin, and the bin of a length. */
__host__ __device__ inline int lanes_of(int bin)
{
    return bin < 5 ? 1 << bin : 32;
}
DCSR_CUDA_INLINE uint32_t bin_of(uint64_t length)
{
    if (length > DCSR_CUDA_SPMV_PART) return LONG_BIN;
    for (uint32_t bin = 0; bin < 5; bin++)
        if (length <= (2u << bin)) return bin;
    return 5;
}
DCSR_CUDA_INLINE uint64_t parts_of(uint64_t length)
{
    return (length + DCSR_CUDA_SPMV_PART - 1) / DCSR_CUDA_SPMV_PART;
}

/* ---- Making ---- */

/* How many rows are in each bin, and parts of long ones. */
struct binned {
    unsigned long long rows[BINS], parts;
};

__global__ void count_bins(dcsr_i_cuda_rows rows, binned *counts)
{
    SIMT_SHARED(uint32_t, here, BINS);
    if (threadIdx.x < BINS) here[threadIdx.x] = 0;
    __syncthreads();
    for (uint64_t row = dcsr_i_cuda_first(); row < rows.rows; row += dcsr_i_cuda_step()) {
        const uint64_t length = dcsr_i_cuda_length(rows, row);
        const uint32_t bin = bin_of(length);
        atomicAdd(&here[bin], 1u);
        if (bin == LONG_BIN) atomicAdd(&counts->parts, (unsigned long long)parts_of(length));
    }
    __syncthreads();
    if (threadIdx.x < BINS && here[threadIdx.x])
        atomicAdd(&counts->rows[threadIdx.x], (unsigned long long)here[threadIdx.x]);
}

__global__ void name_bins(dcsr_i_cuda_rows rows, uint32_t *bins, uint32_t *numbers)
{
    for (uint64_t row = dcsr_i_cuda_first(); row < rows.rows; row += dcsr_i_cuda_step()) {
        bins[row] = bin_of(dcsr_i_cuda_length(rows, row));
        numbers[row] = (uint32_t)row;
    }
}

/* Long rows, in order. */
__global__ void count_parts(dcsr_i_cuda_rows rows, const uint32_t *list, uint64_t n, uint64_t *parts)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < n; i += dcsr_i_cuda_step())
        parts[i] = parts_of(dcsr_i_cuda_length(rows, list[i]));
}
__global__ void cut_rows(const uint32_t *list, uint64_t n, const uint64_t *first, dcsr_i_cuda_spmv_row *cut)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < n; i += dcsr_i_cuda_step())
        cut[i] = {list[i], first[i], first[i + 1] - first[i]};
}

dcsr_status plan(dcsr_i_spmv_format *format, const dcsr_i_spmv_making *m)
{
    binned counts = {};
    binned *there = (binned *)dcsr_i_cuda_alloc(m->stream, DCSR_I_SCRATCH, 1, sizeof *there);
    if (!there) return dcsr_i_no_memory();
    dcsr_i_cuda_fill(m->stream, there, 0, sizeof *there);
    dcsr_i_cuda_launch(m->stream, count_bins, format->rows, m->rows, there);
    const dcsr_status status =
        dcsr_i_cuda_read_back(m->stream, &counts, there, sizeof counts, "making a format for spmv");
    dcsr_i_cuda_free(m->stream, DCSR_I_SCRATCH, there, 1, sizeof *there);
    for (int bin = 0; bin < BINS; bin++) format->bin[bin] = counts.rows[bin];
    format->tiles = counts.parts;
    dcsr_i_spmv_say(format, ORDER, format->rows, sizeof(uint32_t));
    if (!format->bin[LONG_BIN]) return status;
    dcsr_i_spmv_say(format, CUT, format->bin[LONG_BIN], sizeof(dcsr_i_cuda_spmv_row));
    dcsr_i_spmv_say(format, PARTS, format->tiles, format->sum_size);
    return status;
}

dcsr_status cut_long_rows(dcsr_i_spmv_format *format, const dcsr_i_spmv_making *m)
{
    const uint64_t n = format->bin[LONG_BIN];
    const uint32_t *list = array_of<const uint32_t>(format, ORDER) + (format->rows - n);
    if (!n) return DCSR_OK;
    uint64_t *first = (uint64_t *)dcsr_i_cuda_alloc(m->stream, DCSR_I_SCRATCH, n + 1, sizeof *first);
    if (!first) return dcsr_i_no_memory();
    dcsr_i_cuda_launch(m->stream, count_parts, n, m->rows, list, n, first);
    const dcsr_status status = dcsr_i_cuda_scan_u64(m->stream, first, first, n);
    if (status == DCSR_OK)
        dcsr_i_cuda_launch(m->stream, cut_rows, n, list, n, first,
                           array_of<dcsr_i_cuda_spmv_row>(format, CUT));
    dcsr_i_cuda_free(m->stream, DCSR_I_SCRATCH, first, n + 1, sizeof *first);
    return status;
}

dcsr_status fill(dcsr_i_spmv_format *format, const dcsr_i_spmv_making *m)
{
    enum { BIN_BITS = 3 };
    const uint64_t n = format->rows;
    uint32_t *scratch[4] = {};
    dcsr_status status = DCSR_OK;
    for (int i = 0; i < 4 && !status; i++) {
        scratch[i] = (uint32_t *)dcsr_i_cuda_alloc(m->stream, DCSR_I_SCRATCH, n, sizeof(uint32_t));
        if (!scratch[i]) status = dcsr_i_no_memory();
    }
    if (!status) {
        dcsr_i_cuda_launch(m->stream, name_bins, n, m->rows, scratch[0], scratch[2]);
        status =
            dcsr_i_cuda_sort_u32(m->stream, &scratch[0], &scratch[1], &scratch[2], &scratch[3], n, BIN_BITS);
    }
    if (!status) {
        dcsr_i_cuda_copy(m->stream, format->array[ORDER].at, scratch[2], n * sizeof(uint32_t));
        status = cut_long_rows(format, m);
    }
    for (uint32_t *block : scratch) dcsr_i_cuda_free(m->stream, DCSR_I_SCRATCH, block, n, sizeof *block);
    return status;
}

/* Where the rows of each bin end in the order. */
struct bin_ends {
    uint64_t end[BINS];
};

/* Raises *differ where a row that has changed is of another bin now, or has another number of parts. */
__global__ void compare_bins(dcsr_i_cuda_walk walk, const uint32_t *order, bin_ends bins,
                             const dcsr_i_cuda_spmv_row *cut, uint32_t *differ)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < walk.count; i += dcsr_i_cuda_step()) {
        const uint64_t length = walk.offsets[i + 1] - walk.offsets[i];
        const uint32_t bin = bin_of(length);
        const uint64_t from = bin ? bins.end[bin - 1] : 0,
                       at = dcsr_i_list_find(order, from, bins.end[bin], walk.list[i]);
        if (at == bins.end[bin] || order[at] != walk.list[i] ||
            (bin == LONG_BIN && cut[at - from].parts != parts_of(length)))
            *differ = 1;
    }
}

/* Nothing is to be written where rows stay in their bins, as they are read in place. */
dcsr_status refresh(dcsr_i_spmv_format *format, const dcsr_i_spmv_making *m,
                    const dcsr_i_spmv_changed *changed)
{
    bin_ends bins;
    uint64_t rows = 0;
    for (int bin = 0; bin < BINS; bin++) bins.end[bin] = rows += format->bin[bin];
    dcsr_i_cuda_launch(m->stream, compare_bins, changed->walk.count, changed->walk,
                       array_of<const uint32_t>(format, ORDER), bins,
                       array_of<const dcsr_i_cuda_spmv_row>(format, CUT), changed->differ);
    return DCSR_OK;
}

/* ---- Products ---- */

/* Which warps work on which rows of the order: those of bin b from warp[b] on, behind the parts of long rows. */
struct shares {
    uint64_t warp[BINS], row[BINS], rows; /* of the bins up to 5; rows: of all these */
    uint64_t parts, cuts, units;
};

/* The row that a part is of: the last that begins at it or before. */
DCSR_CUDA_INLINE uint64_t cut_of(const dcsr_i_cuda_spmv_row *cut, uint64_t cuts, uint64_t part)
{
    return dcsr_i_cuda_last_up_to(cuts, part, [=](uint64_t c) { return cut[c].first; });
}

template <int LANES, class Kind>
DCSR_CUDA_INLINE void sum_binned(const product<Kind> &a, const dcsr_i_cuda_rows &rows, const uint32_t *order,
                                 uint64_t at, uint64_t stop)
{
    const uint64_t i = at + dcsr_i_cuda_lane() / LANES;
    const bool there = i < stop;
    const uint64_t row = there ? order[i] : 0;
    const uint32_t length = there ? (uint32_t)dcsr_i_cuda_length(rows, row) : 0,
                   lane = dcsr_i_cuda_lane() % LANES;
    typename Kind::sum sum = 0;
    if (rows.offsets) {
        const uint64_t begin = rows.offsets[row];
        add_entries<LANES, 4>(sum, a, lane, length, [=](uint32_t p) { return begin + p; });
    } else if (length) {
        add_pieces<LANES, 4>(sum, a, rows, row, 0, 0, length);
    }
    sum = add_lanes<LANES>(a, sum);
    if (lane == 0 && there) a.y[row] = Kind::result(sum);
}

template <class Kind>
__global__ void sum_bins(product<Kind> a, dcsr_i_cuda_rows rows, const uint32_t *order, shares share,
                         const dcsr_i_cuda_spmv_row *cut, typename Kind::sum *parts)
{
    for (uint64_t w = dcsr_i_cuda_first_warp(); w < share.units; w += dcsr_i_cuda_warp_step()) {
        if (w < share.parts) {
            const typename Kind::sum sum = sum_part(a, rows, cut[cut_of(cut, share.cuts, w)], w);
            if (dcsr_i_cuda_lane() == 0) parts[w] = sum;
            continue;
        }
        int bin = 0;
        while (bin < LONG_BIN - 1 && w >= share.warp[bin + 1]) bin++;
        const uint64_t at = share.row[bin] + (w - share.warp[bin]) * (32 / lanes_of(bin));
        const uint64_t stop = share.row[bin + 1];
        switch (bin) {
        case 0:
            sum_binned<1>(a, rows, order, at, stop);
            break;
        case 1:
            sum_binned<2>(a, rows, order, at, stop);
            break;
        case 2:
            sum_binned<4>(a, rows, order, at, stop);
            break;
        case 3:
            sum_binned<8>(a, rows, order, at, stop);
            break;
        case 4:
            sum_binned<16>(a, rows, order, at, stop);
            break;
        default:
            sum_binned<32>(a, rows, order, at, stop);
        }
    }
}

template <class Kind>
__global__ void add_up(product<Kind> a, const dcsr_i_cuda_spmv_row *cut, uint64_t cuts,
                       const typename Kind::sum *parts)
{
    for (uint64_t w = dcsr_i_cuda_first_warp(); w < cuts; w += dcsr_i_cuda_warp_step()) {
        const typename Kind::sum sum = sum_of_parts(a, parts, cut[w]);
        if (dcsr_i_cuda_lane() == 0) a.y[cut[w].row] = Kind::result(sum);
    }
}

shares shares_of(const dcsr_i_spmv_format *format)
{
    shares s = {};
    s.parts = s.units = format->tiles;
    s.cuts = format->bin[LONG_BIN];
    for (int bin = 0; bin < LONG_BIN; bin++) {
        s.warp[bin] = s.units;
        s.row[bin] = s.rows;
        s.units += (format->bin[bin] * lanes_of(bin) + 31) / 32;
        s.rows += format->bin[bin];
    }
    s.warp[LONG_BIN] = s.units;
    s.row[LONG_BIN] = s.rows;
    return s;
}

void run(const dcsr_i_spmv_format *format, const dcsr_i_cuda_rows *rows, const dcsr_i_spmv_put *put)
{
    with_kind(format->type, [=](auto kind) {
        typedef decltype(kind) Kind;
        typedef typename Kind::element element;
        const product<Kind> a = {(element *)put->y, (const element *)put->x, (const element *)rows->values,
                                 rows->columns};
        const auto *cut = array_of<const dcsr_i_cuda_spmv_row>(format, CUT);
        auto *parts = array_of<typename Kind::sum>(format, PARTS);
        const shares share = shares_of(format);
        put_threads(put, sum_bins<Kind>, share.units * 32, a, *rows, array_of<const uint32_t>(format, ORDER),
                    share, cut, parts);
        put_threads(put, add_up<Kind>, share.cuts * 32, a, cut, share.cuts, parts);
    });
}
} // namespace

const dcsr_i_spmv_recipe dcsr_i_spmv_recipe_adcsr = {nullptr, nullptr, plan,    fill,   run,
                                                     0,       false,   refresh, nullptr};

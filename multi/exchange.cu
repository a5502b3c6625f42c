/* exchange.cu: which elements of x rows look at, and fetching them from the devices that have them. */
#include "multi/exchange.h"
#include "dcsr/store/cuda/balanced_walk.cuh"

/* ---- Looking through rows ---- */

namespace
{
/* Rows of more entries are gone through by a warp. */
constexpr uint64_t SHORT = 32;
constexpr unsigned ALL = 0xffffffffu;
/* Blocks that a warp has on their way at once: reading another device takes long. */
constexpr int AT_ONCE = 4;

/* Whether the lane's row, or one of the warp's, has an entry outside of columns [begin, end): long rows are gone
 * through until one is found. */
__device__ bool looks_outside(const dcsr_i_cuda_rows &rows, uint64_t group, uint64_t begin, uint64_t end)
{
    const uint64_t row = group * 32 + dcsr_i_cuda_lane();
    const uint64_t length = row < rows.rows ? dcsr_i_cuda_length(rows, row) : 0;
    bool found = false;
    const auto look_at = [&](uint64_t place) {
        const uint32_t column = rows.columns[place];
        found |= column < begin || column >= end;
    };
    if (length && length <= SHORT)
        dcsr_i_cuda_for_pieces(rows, row, [&](uint64_t first, uint64_t n) {
            for (uint64_t i = first; i < first + n; i++) look_at(i);
        });
    for (unsigned left = __ballot_sync(ALL, length > SHORT); left; left &= left - 1)
        dcsr_i_cuda_for_pieces(rows, group * 32 + (unsigned)(__ffs((int)left) - 1),
                               [&](uint64_t first, uint64_t n) {
                                   for (uint64_t i = 0; i < n && !__any_sync(ALL, found); i += 32)
                                       if (i + dcsr_i_cuda_lane() < n)
                                           look_at(first + i + dcsr_i_cuda_lane());
                               });
    return found;
}

/* The last part whose number in `first`, which ascends from 0 on, is not above i. */
DCSR_CUDA_INLINE uint64_t part_of(const uint64_t *first, uint64_t parts, uint64_t i)
{
    return dcsr_i_keys_below(first, parts, i + 1) - 1;
}
} // namespace

/* Rows of a page that is marked already are left out. */
static __global__ void mark_pages(dcsr_i_cuda_rows rows, uint64_t begin, uint64_t end, uint32_t *foreign)
{
    const uint64_t groups = (rows.rows + 31) / 32;
    for (uint64_t g = dcsr_i_cuda_first_warp(); g < groups; g += dcsr_i_cuda_warp_step()) {
        uint32_t *page = &foreign[g * 32 / DCSR_CUDA_PAGE_ROWS];
        if (__shfl_sync(ALL, dcsr_i_cuda_peek(page), 0)) continue;
        const bool found = looks_outside(rows, g, begin, end);
        if (__any_sync(ALL, found) && dcsr_i_cuda_lane() == 0) atomicOr(page, 1u);
    }
}

void dcsr_i_exchange_mark_pages(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows, uint64_t begin,
                                uint64_t end, uint32_t *foreign)
{
    dcsr_i_cuda_launch(stream, mark_pages, rows->rows, *rows, begin, end, foreign);
}

/* Most bits are set already when they are looked at: reading them first spares atomics. A few
 * rows of a graph may have most of its entries, so warps share entries, not rows. */
static __global__ void DCSR_CUDA_WALK_BOUNDS mark_blocks(dcsr_i_cuda_walk walk, dcsr_i_exchange_cut cut,
                                                         uint32_t *bits)
{
    dcsr_i_cuda_for_entries(
        walk,
        [&](const dcsr_i_cuda_entry &, const dcsr_i_cuda_source &source) {
            return walk.rows.columns[source.place];
        },
        [&](const dcsr_i_cuda_entry &, uint32_t column) {
            const uint64_t k = part_of(cut.begin, cut.parts, column);
            const uint64_t block = cut.block[k] + (column - cut.begin[k]) / DCSR_I_EXCHANGE_BLOCK;
            const uint32_t bit = 1u << (block & 31);
            if (!(dcsr_i_cuda_peek(&bits[block / 32]) & bit)) atomicOr(&bits[block / 32], bit);
        });
}

void dcsr_i_exchange_mark_blocks(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_walk *walk, uint64_t entries,
                                 const dcsr_i_exchange_cut *cut, uint32_t *bits)
{
    dcsr_i_cuda_launch_walk(stream, mark_blocks, entries, walk->count, *walk, *cut, bits);
}

/* ---- Bits as a list ---- */

static __global__ void count_bits(const uint32_t *bits, uint64_t words, uint32_t *counts)
{
    for (uint64_t w = dcsr_i_cuda_first(); w < words; w += dcsr_i_cuda_step())
        counts[w] = (uint32_t)__popc(bits[w]);
}

void dcsr_i_exchange_count_bits(dcsr_i_cuda_stream *stream, const uint32_t *bits, uint64_t words,
                                uint32_t *counts)
{
    dcsr_i_cuda_launch(stream, count_bits, words, bits, words, counts);
}

static __global__ void list_bits(const uint32_t *bits, uint64_t words, const uint64_t *before, uint32_t *list)
{
    for (uint64_t w = dcsr_i_cuda_first(); w < words; w += dcsr_i_cuda_step()) {
        uint64_t to = before[w];
        for (uint32_t left = bits[w]; left; left &= left - 1)
            list[to++] = (uint32_t)(w * 32 + (unsigned)(__ffs((int)left) - 1));
    }
}

void dcsr_i_exchange_list_bits(dcsr_i_cuda_stream *stream, const uint32_t *bits, uint64_t words,
                               const uint64_t *before, uint32_t *list)
{
    dcsr_i_cuda_launch(stream, list_bits, words, bits, words, before, list);
}

/* ---- Fetching ---- */

/* A lane has an element of each block. The list is gone through from place `first` on, and around. */
template <class T>
static __global__ void fetch(dcsr_i_exchange_cut cut, dcsr_i_exchange_parts parts, const uint32_t *list,
                             uint64_t first, uint64_t n, T *x)
{
    for (uint64_t w = dcsr_i_cuda_first_warp() * AT_ONCE; w < n; w += dcsr_i_cuda_warp_step() * AT_ONCE) {
        T value[AT_ONCE];
        uint64_t at[AT_ONCE];
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++) {
            at[u] = UINT64_MAX;
            if (w + u >= n) continue;
            const uint64_t place = w + u + first;
            const uint64_t block = list[place < n ? place : place - n];
            const uint64_t k = part_of(cut.block, cut.parts, block);
            const uint64_t i = (block - cut.block[k]) * DCSR_I_EXCHANGE_BLOCK + dcsr_i_cuda_lane();
            if (i >= cut.begin[k + 1] - cut.begin[k]) continue;
            at[u] = cut.begin[k] + i;
            value[u] = static_cast<const T *>(parts.values[k])[i];
        }
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++)
            if (at[u] != UINT64_MAX) x[at[u]] = value[u];
    }
}

template <class T>
static void launch_fetch(dcsr_i_cuda_stream *stream, const dcsr_i_exchange_cut *cut,
                         const dcsr_i_exchange_parts *parts, const uint32_t *list, uint64_t first, uint64_t n,
                         void *x)
{
    dcsr_i_cuda_launch_warps(stream, fetch<T>, (n + AT_ONCE - 1) / AT_ONCE, *cut, *parts, list, first, n,
                             static_cast<T *>(x));
}

void dcsr_i_exchange_fetch(dcsr_i_cuda_stream *stream, const dcsr_i_exchange_cut *cut,
                           const dcsr_i_exchange_parts *parts, const uint32_t *list, uint64_t first,
                           uint64_t n, void *x, size_t size)
{
    switch (size) {
    case 1:
        launch_fetch<uint8_t>(stream, cut, parts, list, first, n, x);
        break;
    case 2:
        launch_fetch<uint16_t>(stream, cut, parts, list, first, n, x);
        break;
    case 4:
        launch_fetch<uint32_t>(stream, cut, parts, list, first, n, x);
        break;
    default:
        launch_fetch<uint64_t>(stream, cut, parts, list, first, n, x);
    }
}

/* ---- Clocks ---- */

void *dcsr_i_exchange_clock_create(dcsr_i_cuda_stream *stream)
{
    cudaEvent_t event = nullptr;
    dcsr_i_cuda_note(stream, cudaEventCreateWithFlags(&event, cudaEventDefault));
    return event;
}

void dcsr_i_exchange_clock_set(dcsr_i_cuda_stream *stream, void *clock)
{
    dcsr_i_cuda_note(stream, cudaEventRecord(static_cast<cudaEvent_t>(clock), dcsr_i_cuda_raw(stream)));
}

double dcsr_i_exchange_clock_between(void *from, void *to)
{
    float milliseconds = 0;
    if (cudaEventElapsedTime(&milliseconds, static_cast<cudaEvent_t>(from), static_cast<cudaEvent_t>(to)) !=
        cudaSuccess) {
        cudaGetLastError(); /* then it is not told */
        return 0;
    }
    return milliseconds;
}

void dcsr_i_exchange_clock_destroy(dcsr_i_cuda_stream *stream, void *clock)
{
    if (clock && dcsr_i_cuda_check(dcsr_i_cuda_device_of(stream)) == DCSR_OK)
        dcsr_i_cuda_note(stream, cudaEventDestroy(static_cast<cudaEvent_t>(clock)));
}

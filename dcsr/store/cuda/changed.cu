/* changed.cu: finding rows that differ between two versions. */
#include "dcsr/device/tile_scan.cuh"
#include "dcsr/device/value_word.cuh"
#include "dcsr/store/cuda/balanced_walk.cuh"
#include "dcsr/store/cuda/changed_cuda.h"

/* The length of a row, which is empty where the version has fewer. */
DCSR_CUDA_INLINE uint64_t length_of(const dcsr_i_cuda_rows &rows, uint64_t row)
{
    return row < rows.rows ? dcsr_i_cuda_length(rows, row) : 0;
}

/* Whether both versions have a row at the same places of one arena. */
DCSR_CUDA_INLINE bool is_shared(const dcsr_i_cuda_versions &v, uint64_t row)
{
    uint64_t left = length_of(v.from, row);
    if (left != length_of(v.to, row)) return false;
    if (!left) return true;
    if (v.apart || !v.from.root || !v.to.root || v.from.columns != v.to.columns) return false;
    const dcsr_i_cuda_row_page *from = dcsr_i_cuda_page_of(v.from, row), *to = dcsr_i_cuda_page_of(v.to, row);
    const uint32_t r = row & (DCSR_CUDA_PAGE_ROWS - 1);
    for (int k = 0; left; k++) {
        dcsr_i_cuda_piece a = dcsr_i_cuda_piece_of(v.from, from, r, k, left),
                          b = dcsr_i_cuda_piece_of(v.to, to, r, k, left);
        if (a.begin != b.begin || a.length != b.length) return false;
        left -= a.length;
    }
    return true;
}

/* ---- Rows at other places ----
 *
 * A block takes a share of the pages, leaves out those that both versions have in common, and looks at all rows of the
 * others: first it counts, then, once it is known how many rows there are before each share, it lists them. */

#ifdef DCSR_SIMT
enum { THREADS = 64, MOST_SHARES = 4 };
#else
enum { THREADS = 256, MOST_SHARES = 2048 };
#endif
static_assert(DCSR_CUDA_PAGE_ROWS % THREADS == 0, "a block reads whole strides of a page");

DCSR_CUDA_BOTH_SIDES inline uint64_t rows_of(const dcsr_i_cuda_versions &v)
{
    return v.from.rows > v.to.rows ? v.from.rows : v.to.rows;
}
DCSR_CUDA_BOTH_SIDES inline uint64_t pages_of(const dcsr_i_cuda_versions &v)
{
    return (rows_of(v) + DCSR_CUDA_PAGE_ROWS - 1) >> DCSR_CUDA_PAGE_SHIFT;
}

DCSR_CUDA_INLINE uint32_t slot_of(const dcsr_i_cuda_rows &rows, uint64_t page)
{
    return page << DCSR_CUDA_PAGE_SHIFT < rows.rows ? rows.root[page] : DCSR_CUDA_NONE;
}

/* Whether both versions have the same page. Clones have slots of their own. */
DCSR_CUDA_INLINE bool is_shared_page(const dcsr_i_cuda_versions &v, uint64_t page)
{
    return !v.apart && v.from.root && v.to.root && v.from.row_page == v.to.row_page &&
           slot_of(v.from, page) == slot_of(v.to, page);
}

/* Calls visit(first row) for each page of share s that the versions do not have in common; by all threads of a block.
 * Slots of many pages are under way at once. */
template <class Visit>
DCSR_CUDA_INLINE void for_pages(const dcsr_i_cuda_versions &v, uint64_t s, uint64_t shares, Visit visit)
{
    SIMT_SHARED(uint8_t, differs, THREADS);
    const uint64_t pages = pages_of(v), of_share = (pages + shares - 1) / shares;
    const uint64_t end = (s + 1) * of_share < pages ? (s + 1) * of_share : pages;
    for (uint64_t at = s * of_share; at < end; at += blockDim.x) {
        const uint64_t mine = at + threadIdx.x;
        differs[threadIdx.x] = mine < end && !is_shared_page(v, mine);
        __syncthreads();
        for (uint64_t page = at; page < end && page < at + blockDim.x; page++)
            if (differs[page - at]) visit(page << DCSR_CUDA_PAGE_SHIFT);
        __syncthreads();
    }
}

DCSR_CUDA_INLINE bool has_changed(const dcsr_i_cuda_versions &v, uint64_t row)
{
    return row < rows_of(v) && !is_shared(v, row);
}

static __global__ void __launch_bounds__(THREADS)
    count_changed(dcsr_i_cuda_versions v, dcsr_i_cuda_rows shown, dcsr_i_cuda_change_count *counts,
                  uint64_t shares)
{
    for (uint64_t s = dcsr_i_cuda_first_block(); s < shares; s += dcsr_i_cuda_block_step()) {
        dcsr_i_cuda_change_count own = {0, 0};
        for_pages(v, s, shares, [&](uint64_t first) {
            for (uint32_t r = threadIdx.x; r < DCSR_CUDA_PAGE_ROWS; r += blockDim.x) {
                if (!has_changed(v, first + r)) continue;
                own.rows++;
                own.entries += length_of(shown, first + r);
            }
        });
        const dcsr_i_cuda_change_count all = {dcsr_i_cuda_block_sum(own.rows),
                                              dcsr_i_cuda_block_sum(own.entries)};
        if (threadIdx.x) continue;
        counts[1 + s] = all;
        if (!all.rows) continue;
        atomicAdd((unsigned long long *)&counts->rows, (unsigned long long)all.rows);
        atomicAdd((unsigned long long *)&counts->entries, (unsigned long long)all.entries);
    }
}

static __global__ void __launch_bounds__(THREADS)
    list_changed(dcsr_i_cuda_versions v, dcsr_i_cuda_rows shown, const dcsr_i_cuda_change_count *counts,
                 uint64_t shares, dcsr_i_cuda_change_count all, uint32_t *list, uint64_t *offsets)
{
    constexpr int ROW = 48; /* a row, above the entries of as many as there are threads */
    if (dcsr_i_cuda_first() == 0) offsets[all.rows] = all.entries;
    for (uint64_t s = dcsr_i_cuda_first_block(); s < shares; s += dcsr_i_cuda_block_step()) {
        if (!counts[1 + s].rows) continue;
        dcsr_i_cuda_change_count before = {0, 0};
        for (uint64_t i = threadIdx.x; i < s; i += blockDim.x) {
            before.rows += counts[1 + i].rows;
            before.entries += counts[1 + i].entries;
        }
        before = {dcsr_i_cuda_block_sum(before.rows), dcsr_i_cuda_block_sum(before.entries)};
        for_pages(v, s, shares, [&](uint64_t first) {
            for (uint32_t r = threadIdx.x; r < DCSR_CUDA_PAGE_ROWS; r += blockDim.x) {
                const bool changed = has_changed(v, first + r);
                uint64_t total;
                const uint64_t lower = dcsr_i_cuda_block_scan(
                    changed ? (uint64_t)1 << ROW | length_of(shown, first + r) : 0, &total);
                if (changed) {
                    const uint64_t i = before.rows + (lower >> ROW);
                    list[i] = (uint32_t)(first + r);
                    offsets[i] = before.entries + (lower & (((uint64_t)1 << ROW) - 1));
                }
                before.rows += total >> ROW;
                before.entries += total & (((uint64_t)1 << ROW) - 1);
            }
        });
    }
}

uint64_t dcsr_i_cuda_change_shares(const dcsr_i_cuda_versions *versions)
{
    const uint64_t pages = pages_of(*versions);
    return pages < MOST_SHARES ? pages : (uint64_t)MOST_SHARES;
}

void dcsr_i_cuda_count_changed(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_versions *versions,
                               const dcsr_i_cuda_rows *shown, dcsr_i_cuda_change_count *counts,
                               uint64_t shares)
{
    dcsr_i_cuda_fill(stream, counts, 0, sizeof *counts);
    dcsr_i_cuda_launch_blocks(stream, count_changed, shares, THREADS, 0, *versions, *shown, counts, shares);
}

void dcsr_i_cuda_list_changed(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_versions *versions,
                              const dcsr_i_cuda_rows *shown, const dcsr_i_cuda_change_count *counts,
                              uint64_t shares, dcsr_i_cuda_change_count all, uint32_t *list,
                              uint64_t *offsets)
{
    dcsr_i_cuda_launch_blocks(stream, list_changed, shares, THREADS, 0, *versions, *shown, counts, shares,
                              all, list, offsets);
}

static __global__ void changed_lengths(dcsr_i_cuda_rows shown, const uint32_t *list, uint64_t count,
                                       uint64_t *lengths)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < count; i += dcsr_i_cuda_step())
        lengths[i] = length_of(shown, list[i]);
}

void dcsr_i_cuda_changed_lengths(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *shown,
                                 const uint32_t *list, uint64_t count, uint64_t *lengths)
{
    dcsr_i_cuda_launch(stream, changed_lengths, count, *shown, list, count, lengths);
}

/* ---- Those of a list that hold other entries ---- */

static __global__ void number_listed(const uint32_t *list, uint32_t *bits, uint64_t count)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < count; i += dcsr_i_cuda_step()) bits[i] = list[bits[i]];
}

void dcsr_i_cuda_number_listed(dcsr_i_cuda_stream *stream, const uint32_t *list, uint32_t *bits,
                               uint64_t count)
{
    dcsr_i_cuda_launch(stream, number_listed, count, list, bits, count);
}

static __global__ void count_below(const uint32_t *list, uint64_t count, uint64_t limit, uint64_t *below)
{
    uint64_t low = 0, high = count;
    if (dcsr_i_cuda_first()) return;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (list[middle] < limit)
            low = middle + 1;
        else
            high = middle;
    }
    *below = low;
}

void dcsr_i_cuda_count_below(dcsr_i_cuda_stream *stream, const uint32_t *list, uint64_t count, uint64_t limit,
                             uint64_t *below)
{
    dcsr_i_cuda_launch(stream, count_below, 1, list, count, limit, below);
}

static __global__ void mark_lengths(dcsr_i_cuda_versions versions, const uint32_t *list, uint64_t count,
                                    uint32_t *bitmap)
{
    for (uint64_t w = dcsr_i_cuda_first_warp(); w * 32 < count; w += dcsr_i_cuda_warp_step()) {
        uint64_t i = w * 32 + dcsr_i_cuda_lane();
        bool differ = i < count && length_of(versions.from, list[i]) != length_of(versions.to, list[i]);
        unsigned mask = __ballot_sync(0xffffffffu, differ);
        if (!dcsr_i_cuda_lane()) bitmap[w] = mask;
    }
}

void dcsr_i_cuda_mark_lengths(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_versions *versions,
                              const uint32_t *list, uint64_t count, uint32_t *bitmap)
{
    dcsr_i_cuda_launch_warps(stream, mark_lengths, (count + 31) / 32, *versions, list, count, bitmap);
}

/* Whether the entry is at its position in the other version, too. */
DCSR_CUDA_INLINE bool is_in(const dcsr_i_cuda_rows &to, const dcsr_i_cuda_walk &walk,
                            const dcsr_i_cuda_entry &entry, const dcsr_i_cuda_source &source)
{
    const uint64_t row = dcsr_i_cuda_row_of(walk, entry.i), position = entry.e - walk.offsets[entry.i];
    if (position >= dcsr_i_cuda_length(to, row)) return false;
    const uint64_t place = dcsr_i_cuda_place_of(to, row, position);
    const uint32_t size = to.value_size;
    return walk.rows.columns[source.place] == to.columns[place] &&
           (!size || dcsr_i_cuda_load_word(walk.rows.values, size, source.place) ==
                         dcsr_i_cuda_load_word(to.values, size, place));
}

static __global__ void DCSR_CUDA_WALK_BOUNDS mark_entries(dcsr_i_cuda_walk walk, dcsr_i_cuda_rows to,
                                                          uint32_t *bitmap)
{
    dcsr_i_cuda_for_entries(
        walk,
        [&](const dcsr_i_cuda_entry &entry, const dcsr_i_cuda_source &source) {
            return !is_in(to, walk, entry, source);
        },
        [&](const dcsr_i_cuda_entry &entry, bool differs) {
            if (differs) atomicOr(&bitmap[entry.i / 32], 1u << (entry.i & 31));
        });
}

void dcsr_i_cuda_mark_entries(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_walk *walk, uint64_t entries,
                              const dcsr_i_cuda_rows *to, uint32_t *bitmap)
{
    dcsr_i_cuda_launch_walk(stream, mark_entries, entries, walk->count, *walk, *to, bitmap);
}

/* candidates.cu: finding rows that differ between two versions. */
#include "dcsr/device/value_word.cuh"
#include "dcsr/store/cuda/balanced_walk.cuh"
#include "dcsr/store/cuda/candidates_cuda.h"

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
    if (!v.from.root || !v.to.root || v.from.columns != v.to.columns) return false;
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

/* A warp for each word, a lane for each row. */
static __global__ void mark_unshared(dcsr_i_cuda_versions versions, const uint32_t *pages, uint64_t words,
                                     uint32_t *bitmap)
{
    for (uint64_t w = dcsr_i_cuda_first_warp(); w < words; w += dcsr_i_cuda_warp_step()) {
        uint64_t first = (uint64_t)pages[w / DCSR_CUDA_MASK_WORDS] << DCSR_CUDA_PAGE_SHIFT;
        uint64_t row = first + w % DCSR_CUDA_MASK_WORDS * 32 + dcsr_i_cuda_lane();
        unsigned mask = __ballot_sync(0xffffffffu, !is_shared(versions, row));
        if (!dcsr_i_cuda_lane()) bitmap[w] = mask;
    }
}

void dcsr_i_cuda_mark_unshared(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_versions *versions,
                               const uint32_t *pages, uint64_t count, uint32_t *bitmap)
{
    uint64_t words = count * DCSR_CUDA_MASK_WORDS;
    dcsr_i_cuda_launch_warps(stream, mark_unshared, words, *versions, pages, words, bitmap);
}

static __global__ void number_rows(const uint32_t *pages, uint32_t *bits, uint64_t count)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < count; i += dcsr_i_cuda_step())
        bits[i] = pages[bits[i] >> DCSR_CUDA_PAGE_SHIFT] << DCSR_CUDA_PAGE_SHIFT |
                  (bits[i] & (DCSR_CUDA_PAGE_ROWS - 1));
}

void dcsr_i_cuda_number_rows(dcsr_i_cuda_stream *stream, const uint32_t *pages, uint32_t *bits,
                             uint64_t count)
{
    dcsr_i_cuda_launch(stream, number_rows, count, pages, bits, count);
}

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

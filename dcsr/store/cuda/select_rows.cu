/* select_rows.cu: finding the rows that are to be rewritten.
 *
 * By marks: a bit per row is read and written. By place: 16 bytes per row and segment. By order or by columns: each
 * entry's column is read once, in tiles of equal work (balanced_walk.cuh). The bitmap is then counted and listed: 4
 * bytes a row that is meant. */
#include "dcsr/device/prim_cuda.h"
#include "dcsr/store/cuda/rewrite_cuda.h"
#include "dcsr/store/cuda/balanced_walk.cuh"

static __global__ void select_marked(dcsr_i_cuda_rows rows, uint64_t words, unsigned marks, uint32_t *bitmap)
{
    for (uint64_t w = dcsr_i_cuda_first(); w < words; w += dcsr_i_cuda_step()) {
        const dcsr_i_cuda_row_page *page = dcsr_i_cuda_page_of(rows, w * 32);
        uint32_t in_page = w & (DCSR_CUDA_MASK_WORDS - 1), mask = 0;
        if (page && marks & DCSR_CUDA_MARKED_TOMBSTONES) mask |= page->tombstones[in_page];
        if (page && marks & DCSR_CUDA_MARKED_DUPLICATES) mask |= page->duplicates[in_page];
        if (page && marks & DCSR_CUDA_MARKED_FRAGMENTED) mask |= page->fragmented[in_page];
        for (uint32_t r = 0; page && marks & DCSR_CUDA_IN_USE && r < 32; r++)
            mask |= (uint32_t)(page->length[in_page * 32 + r] != 0) << r;
        bitmap[w] = mask;
    }
}

void dcsr_i_cuda_select_marked(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows, unsigned marks,
                               uint32_t *bitmap)
{
    uint64_t words = dcsr_i_cuda_bitmap_words(rows->rows);
    dcsr_i_cuda_launch(stream, select_marked, words, *rows, words, marks, bitmap);
}

/* Whether a place of the row is in one of the blocks, which are of 2^shift places. What fills whole blocks leaves whole
 * blocks. */
DCSR_CUDA_INLINE bool is_in_blocks(const dcsr_i_cuda_rows &rows, uint64_t row, const uint8_t *chosen,
                                   int shift)
{
    const dcsr_i_cuda_row_page *page = dcsr_i_cuda_page_of(rows, row);
    const uint32_t r = row & (DCSR_CUDA_PAGE_ROWS - 1);
    if (!page || !page->length[r]) return false;
    for (int k = 0; k < rows.segments_per_row && page->segment[k] != DCSR_CUDA_NONE; k++) {
        const uint64_t begin = dcsr_i_segment_begin(rows.segment_page[page->segment[k]].of[r]),
                       places = dcsr_i_cuda_capacity_of(rows.segment_page, page, r, k);
        if (places && !(places >> shift) && (chosen[begin >> shift] || chosen[(begin + places - 1) >> shift]))
            return true;
    }
    return false;
}

/* A warp for each word. */
static __global__ void select_in_blocks(dcsr_i_cuda_rows rows, uint64_t words, const uint8_t *chosen,
                                        int shift, uint32_t *bitmap)
{
    for (uint64_t w = dcsr_i_cuda_first_warp(); w < words; w += dcsr_i_cuda_warp_step()) {
        const uint64_t row = w * 32 + dcsr_i_cuda_lane();
        const bool selected = row < rows.rows && is_in_blocks(rows, row, chosen, shift);
        const unsigned mask = __ballot_sync(0xffffffffu, selected);
        if (dcsr_i_cuda_lane() == 0) bitmap[w] = mask;
    }
}

void dcsr_i_cuda_select_in_blocks(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows,
                                  const uint8_t *chosen, int shift, uint32_t *bitmap)
{
    const uint64_t words = dcsr_i_cuda_bitmap_words(rows->rows);
    dcsr_i_cuda_launch_warps(stream, select_in_blocks, words, *rows, words, chosen, shift, bitmap);
}

DCSR_CUDA_INLINE void set_bit(uint32_t *bitmap, uint64_t row)
{
    atomicOr(&bitmap[row / 32], 1u << (row & 31));
}

/* The column of the entry before this one in its row; nothing is before the first. */
DCSR_CUDA_INLINE int64_t column_before(const dcsr_i_cuda_walk &walk, const dcsr_i_cuda_entry &entry,
                                       const dcsr_i_cuda_source &source)
{
    uint64_t position = entry.e - walk.offsets[entry.i];
    if (!position) return -1;
    return walk.rows
        .columns[source.follows ? source.place - 1 : dcsr_i_cuda_place_of(walk.rows, entry.i, position - 1)];
}

static __global__ void DCSR_CUDA_WALK_BOUNDS select_unsorted(dcsr_i_cuda_walk walk, bool strictly,
                                                             uint32_t *bitmap)
{
    dcsr_i_cuda_for_entries(
        walk,
        [&](const dcsr_i_cuda_entry &entry, const dcsr_i_cuda_source &source) {
            return walk.rows.columns[source.place] < column_before(walk, entry, source) + strictly;
        },
        [&](const dcsr_i_cuda_entry &entry, bool descends) {
            if (descends) set_bit(bitmap, entry.i);
        });
}

void dcsr_i_cuda_select_unsorted(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_walk *walk, uint64_t entries,
                                 bool strictly, uint32_t *bitmap)
{
    dcsr_i_cuda_launch_walk(stream, select_unsorted, entries, walk->count, *walk, strictly, bitmap);
}

static __global__ void DCSR_CUDA_WALK_BOUNDS select_beyond(dcsr_i_cuda_walk walk, uint64_t limit,
                                                           uint32_t *bitmap)
{
    dcsr_i_cuda_for_entries(
        walk,
        [&](const dcsr_i_cuda_entry &, const dcsr_i_cuda_source &source) {
            return (walk.rows.columns[source.place] & ~DCSR_CUDA_TOMBSTONE) >= limit;
        },
        [&](const dcsr_i_cuda_entry &entry, bool beyond) {
            if (beyond) set_bit(bitmap, entry.i);
        });
}

void dcsr_i_cuda_select_beyond(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_walk *walk, uint64_t entries,
                               uint64_t limit, uint32_t *bitmap)
{
    dcsr_i_cuda_launch_walk(stream, select_beyond, entries, walk->count, *walk, limit, bitmap);
}

static __global__ void count_bits(const uint32_t *bitmap, uint64_t words, uint64_t *count)
{
    for (uint64_t w = dcsr_i_cuda_first(); w < words; w += dcsr_i_cuda_step())
        count[w] = (uint64_t)__popc(bitmap[w]);
}

dcsr_status dcsr_i_cuda_count_bits(dcsr_i_cuda_stream *stream, const uint32_t *bitmap, uint64_t words,
                                   uint64_t *before)
{
    dcsr_i_cuda_launch(stream, count_bits, words, bitmap, words, before);
    return dcsr_i_cuda_scan_u64(stream, before, before, words);
}

static __global__ void list_rows(const uint32_t *bitmap, uint64_t words, const uint64_t *before,
                                 uint32_t *list)
{
    for (uint64_t w = dcsr_i_cuda_first(); w < words; w += dcsr_i_cuda_step()) {
        uint64_t at = before[w];
        for (uint32_t mask = bitmap[w]; mask; mask &= mask - 1)
            list[at++] = (uint32_t)w * 32 + (uint32_t)__ffs(mask) - 1;
    }
}

void dcsr_i_cuda_coo_rows(dcsr_i_cuda_stream *stream, const uint32_t *bitmap, uint64_t words,
                          const uint64_t *before, uint32_t *list)
{
    dcsr_i_cuda_launch(stream, list_rows, words, bitmap, words, before, list);
}

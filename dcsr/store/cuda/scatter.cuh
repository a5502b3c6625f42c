/* scatter.cuh: writing a planned batch into the arena and the fresh pages (insert_cuda.h; internal, in kernels:
 * insert.cu).
 *
 * Each entry is written by one thread: it reads its key, its word and its head, 24 bytes in order, and how
 * its row grows, which its neighbours read too; it writes a column and a value, next to each other within a
 * row. Each row then takes 40 bytes of how it grows, and writes its length and segment, 12 bytes in
 * two places. */
#ifndef DCSR_SCATTER_CUH
#define DCSR_SCATTER_CUH

#include "dcsr/store/cuda/merge.cuh"

DCSR_CUDA_INLINE void scatter_entries(const dcsr_i_cuda_batch &b)
{
    const uint64_t entries = b.counts->entries;
    uint64_t column_mask = (static_cast<uint64_t>(1) << b.column_bits) - 1;
    for (uint64_t i = dcsr_i_cuda_first(); i < entries; i += dcsr_i_cuda_step()) {
        uint32_t j = dcsr_i_cuda_row_index(b, i);
        const dcsr_i_cuda_growth &grows = b.growth[j];
        if (grows.skipped) continue;
        uint64_t e = i - b.first[j];
        uint64_t at =
            e < grows.room ? grows.tail + e : b.begin + b.offsets[j] + grows.lead + (e - grows.room);
        b.rows.columns[at] = static_cast<uint32_t>(b.keys[i] & column_mask) | b.mark;
        /* A tombstone leaves its value as it is: nothing reads it. */
        if (b.words) dcsr_i_cuda_store_word(b.rows.values, b.rows.value_size, at, b.words[i]);
    }
}

namespace
{
struct moving_entry {
    uint32_t column;
    uint64_t word;
};
} // namespace

/* The entries of rows that move, merged with the batch's or in front of them; launched as a walk. Rows that are merged
 * are in one piece, of which it is known where it begins: they are walked like those of a CSR, as their pages may have
 * been changed already. */
DCSR_CUDA_INLINE void move_rows(const dcsr_i_cuda_batch &b)
{
    dcsr_i_cuda_walk walk = {b.rows, b.moves.list, b.plan->moving, b.moves.offsets};
    if (!walk.count) return;
    if (b.merges) {
        walk.rows.root = nullptr;
        walk.rows.offsets = b.moves.to;
        walk.list = nullptr;
    }
    dcsr_i_cuda_for_entries(
        walk,
        [&](const dcsr_i_cuda_entry &, const dcsr_i_cuda_source &source) {
            return moving_entry{
                b.rows.columns[source.place],
                b.rows.values ? dcsr_i_cuda_load_word(b.rows.values, b.rows.value_size, source.place) : 0};
        },
        [&](const dcsr_i_cuda_entry &entry, const moving_entry &moving) {
            const uint32_t position = static_cast<uint32_t>(entry.e - walk.offsets[entry.i]);
            if (b.merges)
                move_entry(b, b.movers[entry.i], position, moving.column, moving.word);
            else
                write(b, b.begin + b.moves.to[entry.i] + position, moving.column, moving.word);
        },
        dcsr_i_cuda_spread_items(walk));
}

/* The neighbouring rows' marks are in the same words. */
DCSR_CUDA_INLINE void set_mark(uint32_t *mask, uint32_t r)
{
    atomicOr(&mask[r / 32], 1u << (r & 31));
}

DCSR_CUDA_INLINE void finish_rows(const dcsr_i_cuda_batch &b)
{
    const uint32_t rows = b.counts->rows;
    for (uint64_t j = dcsr_i_cuda_first(); j < rows; j += dcsr_i_cuda_step()) {
        const dcsr_i_cuda_growth &grows = b.growth[j];
        if (grows.skipped) continue;
        const uint32_t first = b.first[j], end = b.first[j + 1];
        const uint64_t row = b.keys[first] >> b.column_bits;
        uint32_t r = static_cast<uint32_t>(row) & (DCSR_CUDA_PAGE_ROWS - 1);
        dcsr_i_cuda_row_page *page = page_to_finish(b, row);
        if (grows.moves) {
            /* A row that is merged has one segment. */
            for (int k = 0; k < (b.merges ? 1 : b.rows.segments_per_row); k++)
                if (page->segment[k] != DCSR_CUDA_NONE) b.segment_page[page->segment[k]].of[r] = {0};
            atomicAnd(&page->fragmented[r / 32], ~(1u << (r & 31)));
        }
        if (b.places[j]) {
            b.segment_page[page->segment[grows.segment]].of[r] =
                dcsr_i_segment_of(b.begin + b.offsets[j], b.places[j]);
            if (grows.segment) set_mark(page->fragmented, r);
        }
        /* It is where no version has had anything. */
        if (grows.moves || (b.places[j] && !grows.segment)) set_mark(page->own, r);
        if (b.merges) {
            uint32_t n = static_cast<uint32_t>(dcsr_i_cuda_rank(b, end) - dcsr_i_cuda_rank(b, first));
            bool whole = grows.moves || !grows.length;
            page->length[r] = b.mark ? grows.length - n : grows.length + n;
            if (whole) page->ordered[r] = page->length[r];
            continue;
        }
        if (b.mark)
            set_mark(page->tombstones, r);
        else if (b.duplicates && page->length[r])
            set_mark(page->duplicates, r);
        else if (b.duplicates)
            page->ordered[r] = end - first;
        page->length[r] += end - first;
    }
}

#endif

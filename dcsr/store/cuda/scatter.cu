/* scatter.cu: writing a planned batch into the arena and the fresh pages (insert_cuda.h).
 *
 * Each entry is written by one thread: it reads its key, its word and its head, 24 bytes in order, and how
 * its row grows, which its neighbours read too; it writes a column and a value, next to each other within a
 * row. Each row then takes 40 bytes of how it grows, and writes its length and segment, 12 bytes in
 * two places. */
#include "dcsr/store/cuda/insert.cuh"
#include "dcsr/device/value_word.cuh"

static __global__ void scatter_entries(dcsr_i_cuda_batch b, uint64_t entries)
{
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

void dcsr_i_cuda_scatter_entries(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_batch *batch, uint64_t entries)
{
    dcsr_i_cuda_launch(stream, scatter_entries, entries, *batch, entries);
}

/* The neighbouring rows' marks are in the same words. */
DCSR_CUDA_INLINE void set_mark(uint32_t *mask, uint32_t r)
{
    atomicOr(&mask[r / 32], 1u << (r & 31));
}

static __global__ void finish_rows(dcsr_i_cuda_batch b, uint32_t rows)
{
    for (uint64_t j = dcsr_i_cuda_first(); j < rows; j += dcsr_i_cuda_step()) {
        const dcsr_i_cuda_growth &grows = b.growth[j];
        if (grows.skipped) continue;
        const uint32_t first = b.first[j], end = b.first[j + 1];
        uint32_t r = static_cast<uint32_t>(b.keys[first] >> b.column_bits) & (DCSR_CUDA_PAGE_ROWS - 1);
        const dcsr_i_cuda_page_change &change = b.copied[(dcsr_i_cuda_head(b, first) >> 32) - 1];
        dcsr_i_cuda_row_page *page = &b.row_page[change.fresh];
        if (grows.moves) {
            /* A row that is merged has one segment. */
            for (int k = 0; k < (b.merges ? 1 : b.rows.segments_per_row); k++)
                if (change.segment[k] != DCSR_CUDA_NONE) b.segment_page[change.segment[k]].of[r] = {0};
            atomicAnd(&page->fragmented[r / 32], ~(1u << (r & 31)));
        }
        if (b.places[j]) {
            b.segment_page[change.segment[grows.segment]].of[r] =
                dcsr_i_segment_of(b.begin + b.offsets[j], b.places[j]);
            if (grows.segment) set_mark(page->fragmented, r);
        }
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

void dcsr_i_cuda_finish_rows(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_batch *batch, uint32_t rows)
{
    dcsr_i_cuda_launch(stream, finish_rows, rows, *batch, rows);
}

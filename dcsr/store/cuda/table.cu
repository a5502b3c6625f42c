/* table.cu: making the pages of a version, and cutting the last one (rowtable_cuda.h).
 *
 * A page is read and written once: 8.5 KiB for the lengths, masks and slots of 1024 rows, and 8 KiB for each
 * segment page that is copied. */
#include "dcsr/store/cuda/table_cuda.h"

static __global__ void make_pages(uint32_t *root, dcsr_i_cuda_row_page *row_pages,
                                  dcsr_i_cuda_segment_page *segment_pages,
                                  const dcsr_i_cuda_page_change *changes, uint32_t count, bool for_view)
{
    for (uint64_t i = dcsr_i_cuda_first_block(); i < count; i += dcsr_i_cuda_block_step())
        make_page(root, row_pages, segment_pages, changes[i], for_view);
}

void dcsr_i_cuda_make_pages(dcsr_i_cuda_stream *stream, uint32_t *root, dcsr_i_cuda_row_page *row_pages,
                            dcsr_i_cuda_segment_page *segment_pages, const dcsr_i_cuda_page_change *changes,
                            uint32_t count, bool for_view)
{
    dcsr_i_cuda_launch_blocks(stream, make_pages, count, DCSR_CUDA_PAGE_ROWS < 256 ? 32 : 256, 0, root,
                              row_pages, segment_pages, changes, count, for_view);
}

static __global__ void cut_page(const dcsr_i_cuda_page_change *change, dcsr_i_cuda_row_page *row_page,
                                dcsr_i_cuda_segment_page *segment_page, uint32_t first)
{
    dcsr_i_cuda_row_page *page = &row_page[change->fresh];
    for (uint64_t r = dcsr_i_cuda_first(); r < DCSR_CUDA_PAGE_ROWS; r += dcsr_i_cuda_step()) {
        if (r < first) continue;
        page->length[r] = page->ordered[r] = 0;
        for (int k = 0; k < DCSR_MAX_SEGMENTS; k++)
            if (change->segment[k] != DCSR_CUDA_NONE) segment_page[change->segment[k]].of[r] = {0};
    }
    for (uint64_t w = dcsr_i_cuda_first(); w < DCSR_CUDA_MASK_WORDS; w += dcsr_i_cuda_step()) {
        uint32_t kept = w < first / 32 ? 0xffffffffu : w == first / 32 ? (1u << (first & 31)) - 1 : 0;
        page->fragmented[w] &= kept;
        page->duplicates[w] &= kept;
        page->tombstones[w] &= kept;
    }
}

void dcsr_i_cuda_cut_page(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_page_change *change,
                          dcsr_i_cuda_row_page *row_page, dcsr_i_cuda_segment_page *segment_page,
                          uint32_t first)
{
    dcsr_i_cuda_launch(stream, cut_page, DCSR_CUDA_PAGE_ROWS, change, row_page, segment_page, first);
}

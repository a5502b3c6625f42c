/* resize.cu: emptying the last rows of a page that a matrix of fewer rows keeps. */
#include "dcsr/store/cuda/rewrite_cuda.h"
#include "dcsr/device/stream.cuh"

static __global__ void cut_page(const dcsr_i_cuda_page_change *change, dcsr_i_cuda_row_page *row_page,
                                dcsr_i_cuda_segment_page *segment_page, uint32_t first)
{
    dcsr_i_cuda_row_page *page = &row_page[change->fresh];
    for (uint64_t r = dcsr_i_cuda_first(); r < DCSR_CUDA_PAGE_ROWS; r += dcsr_i_cuda_step()) {
        if (r < first) continue;
        page->length[r] = 0;
        for (int k = 0; k < DCSR_MAX_SEGMENTS; k++)
            if (change->segment[k] != DCSR_CUDA_NONE) segment_page[change->segment[k]].capacity[r] = 0;
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

/* table.cuh: making a page of a version (rowtable_cuda.h; internal, in kernels). */
#ifndef DCSR_TABLE_CUH
#define DCSR_TABLE_CUH

#include "dcsr/device/stream.cuh"
#include "dcsr/store/rowtable_cuda.h"

/* Row page: a copy, or empty rows. */
DCSR_CUDA_INLINE void make_row_page(dcsr_i_cuda_row_page *fresh, const dcsr_i_cuda_row_page *old,
                                    const dcsr_i_cuda_page_change &change)
{
    for (unsigned r = threadIdx.x; r < DCSR_CUDA_PAGE_ROWS; r += blockDim.x) {
        fresh->length[r] = old ? old->length[r] : 0;
        fresh->ordered[r] = old ? old->ordered[r] : 0;
    }
    for (unsigned w = threadIdx.x; w < DCSR_CUDA_MASK_WORDS; w += blockDim.x) {
        fresh->fragmented[w] = old ? old->fragmented[w] : 0;
        fresh->duplicates[w] = old ? old->duplicates[w] : 0;
        fresh->tombstones[w] = old ? old->tombstones[w] : 0;
    }
    for (unsigned k = threadIdx.x; k < DCSR_MAX_SEGMENTS; k += blockDim.x)
        fresh->segment[k] = change.segment[k];
}

/* Segment page: a copy, or no segments. What a writer may be writing meanwhile is beyond the row lengths of
 * the version that a view copies from, and is left out. */
DCSR_CUDA_INLINE void make_segment_page(dcsr_i_cuda_segment_page *fresh, const dcsr_i_cuda_segment_page *old,
                                        const dcsr_i_cuda_row_page *reached)
{
    for (unsigned r = threadIdx.x; r < DCSR_CUDA_PAGE_ROWS; r += blockDim.x) {
        bool begin = old && (!reached || reached->length[r]);
        bool capacity = old && (!reached || dcsr_i_cuda_bit(reached->fragmented, r));
        fresh->begin[r] = begin ? old->begin[r] : 0;
        fresh->capacity[r] = capacity ? old->capacity[r] : 0;
    }
}

/* Makes what a change asks for, and enters it into the root; by a block of threads. */
DCSR_CUDA_INLINE void make_page(uint32_t *root, dcsr_i_cuda_row_page *row_pages,
                                dcsr_i_cuda_segment_page *segment_pages,
                                const dcsr_i_cuda_page_change &change, bool for_view)
{
    const dcsr_i_cuda_row_page *old = change.old == DCSR_CUDA_NONE ? nullptr : &row_pages[change.old];
    if (threadIdx.x == 0) root[change.page] = change.fresh;
    make_row_page(&row_pages[change.fresh], old, change);
    for (int k = 0; k < DCSR_MAX_SEGMENTS; k++) {
        uint32_t was = change.old_segment[k], is = change.segment[k];
        if (is == was) continue;
        make_segment_page(&segment_pages[is], was == DCSR_CUDA_NONE ? nullptr : &segment_pages[was],
                          for_view ? old : nullptr);
    }
}

#endif

/* table_cuda.h: kernels that make pages and cut them: table.cu; and making one, for kernels (internal). */
#ifndef DCSR_TABLE_CUDA_H
#define DCSR_TABLE_CUDA_H

#include "dcsr/base/cuda.h"
#include "dcsr/store/rowtable_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the fresh pages and enters them into the root. Segment pages that a page has of its own are copied,
 * or made with capacities of 0 where there was none; for a view, only as far as the page's row lengths reach.
 */
void dcsr_i_cuda_make_pages(dcsr_i_cuda_stream *stream, uint32_t *root, dcsr_i_cuda_row_page *row_pages,
                            dcsr_i_cuda_segment_page *segment_pages, const dcsr_i_cuda_page_change *changes,
                            uint32_t count, bool for_view);
/* Empties the rows of a new page from `first` on. */
void dcsr_i_cuda_cut_page(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_page_change *change,
                          dcsr_i_cuda_row_page *row_page, dcsr_i_cuda_segment_page *segment_page,
                          uint32_t first);

#ifdef __cplusplus
}

/* ---- In kernels ---- */
#include "dcsr/device/stream.cuh"

/* Row page: a copy, or empty rows. What no version up to the old one's `unseen` sees of that, it sees of this neither.
 */
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
        fresh->own[w] = old ? old->own[w] : 0;
    }
    if (threadIdx.x == 0) fresh->unseen = old ? old->unseen : 0;
    for (unsigned k = threadIdx.x; k < DCSR_MAX_SEGMENTS; k += blockDim.x)
        fresh->segment[k] = change.segment[k];
}

/* Segment page: a copy, or no segments. What a writer may be writing meanwhile is beyond the row lengths of
 * the version that a view copies from, and is left out. */
DCSR_CUDA_INLINE void make_segment_page(dcsr_i_cuda_segment_page *fresh, const dcsr_i_cuda_segment_page *old,
                                        const dcsr_i_cuda_row_page *reached)
{
    for (unsigned r = threadIdx.x; r < DCSR_CUDA_PAGE_ROWS; r += blockDim.x) {
        bool copied = old && (!reached || reached->length[r]);
        fresh->of[r] = copied ? old->of[r] : dcsr_i_segment{0};
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
#endif

/* table_cuda.h: kernels that make pages and cut them: table.cu (internal). */
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
#endif
#endif

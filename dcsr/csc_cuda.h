/* csc_cuda.h: the transpose of what a view on a device shows (internal; for C and for kernels). */
#ifndef DCSR_CSC_CUDA_H
#define DCSR_CSC_CUDA_H

#include "dcsr/gather_cuda.h"
#include "dcsr/view.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The rows of the transpose, on the device, kept by the view: the arrays of a CSC view; of another they are
 * made when they are asked for first, by a sort: row numbers ascend, and equal ones stand as they stood in
 * the row. Until then that takes 32 bytes of memory for each entry, 16 for a pattern. OUT_OF_MEMORY. */
dcsr_status dcsr_cuda_view_transposed(dcsr_cuda_rows *rows, dcsr_view *view);
/* Whether they are there. */
bool dcsr_cuda_view_transpose_is_ready(const dcsr_view *view);

/* ---- csc.cu ---- */

/* A key for each entry of the walk over all rows, its column above its row of row_bits bits, and its value as
 * a word (words NULL: none). */
void dcsr_cuda_turn(dcsr_cuda_stream *stream, const dcsr_cuda_walk *walk, uint64_t entries, int row_bits,
                    uint64_t *keys, uint64_t *words);
/* What sorted keys and their words say: where the entries of each of `cols` columns begin, and the last end;
 * rows and values. */
void dcsr_cuda_write_columns(dcsr_cuda_stream *stream, const uint64_t *keys, const uint64_t *words,
                             uint64_t entries, int row_bits, uint64_t cols, uint64_t *offsets, uint32_t *rows,
                             void *values, uint32_t value_size);

#ifdef __cplusplus
}
#endif
#endif

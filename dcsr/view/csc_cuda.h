/* csc_cuda.h: the transpose of what a view on a device shows (internal; for C and for kernels). */
#ifndef DCSR_CSC_CUDA_H
#define DCSR_CSC_CUDA_H

#include "dcsr/store/cuda/gather_cuda.h"
#include <dcsr/view.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The rows of the transpose, on the device, kept by the view: the arrays of a CSC view; of another view of a
 * matrix that maintains its transpose, segments of that, resolved as the view's flags ask; else they are made
 * when they are asked for first (below). OUT_OF_MEMORY. */
dcsr_status dcsr_i_cuda_view_transposed(dcsr_i_cuda_rows *rows, dcsr_view *view);
/* Whether they are there: what is left to do then is resolving the twin's rows, as for the view itself. */
bool dcsr_i_cuda_view_transpose_is_ready(const dcsr_view *view);

/* Puts the transpose of rows as CSR into arrays that are there: row numbers ascend, and equal ones stand as they stood
 * in the row. Meanwhile that takes 20 bytes of memory for each entry; where rows are not CSR, a value for
 * each more. Waits. OUT_OF_MEMORY, DEVICE. */
dcsr_status dcsr_i_cuda_transpose(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows, uint64_t *offsets,
                                  uint32_t *columns, void *values);

/* ---- csc.cu ---- */

/* Entries in the order of the rows, by number. */
typedef struct dcsr_i_cuda_numbered {
    uint64_t entries;
    const void *values; /* as they stand in a CSR, or: */
    void *own_values;   /* copies, the same as these; NULL: none */
    uint32_t *row, *column, *number;
} dcsr_i_cuda_numbered;

/* Numbers the entries of a walk over all rows. */
void dcsr_i_cuda_number(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_walk *walk, uint64_t entries,
                        const dcsr_i_cuda_numbered *to);
/* Rows and values in the order of the numbers. */
void dcsr_i_cuda_gather_numbered(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_numbered *x,
                                 uint32_t value_size, uint32_t *rows, void *values);

/* begin[r] = first + offsets[r], and length[r], of so many rows. */
void dcsr_i_cuda_split_offsets(dcsr_i_cuda_stream *stream, const uint64_t *offsets, uint64_t rows,
                               uint64_t first, uint64_t *begin, uint32_t *length);

#ifdef __cplusplus
}
#endif
#endif

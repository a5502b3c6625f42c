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
 * in the row. Meanwhile that takes 8 bytes of memory for each entry and 4 for each column; where rows are not CSR, 4
 * and a value for each entry more. Waits. OUT_OF_MEMORY, DEVICE. */
dcsr_status dcsr_i_cuda_transpose(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows, uint64_t *offsets,
                                  uint32_t *columns, void *values);

/* ---- csc.cu ---- */

/* Entries in the order of the rows, by number. */
typedef struct dcsr_i_cuda_numbered {
    uint64_t entries;
    const uint32_t *columns; /* as they stand in a CSR, or: */
    const void *values;
    uint32_t *own_columns; /* copies, the same as these; NULL: none */
    void *own_values;
    uint32_t *row;
    uint32_t *count; /* by column: of zeros before */
} dcsr_i_cuda_numbered;

/* Numbers the entries of a walk over all rows, and counts those of each column. */
void dcsr_i_cuda_number(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_walk *walk, uint64_t entries,
                        const dcsr_i_cuda_numbered *to);
/* order[offsets[c]] to order[offsets[c + 1] - 1] become the numbers of column c, in any order; `count` as before. */
void dcsr_i_cuda_scatter_numbers(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_numbered *x,
                                 const uint64_t *offsets, uint32_t *order);
/* Brings those of short columns into order. Of the others counts[0] become the first of `list`, which has room for all
 * columns, and counts[1], too long for a block, with counts[2] entries, the last; counts are 0 before. */
void dcsr_i_cuda_order_short(dcsr_i_cuda_stream *stream, const uint64_t *offsets, uint64_t columns,
                             uint32_t *order, uint32_t *list, unsigned long long *counts);
void dcsr_i_cuda_order_by_blocks(dcsr_i_cuda_stream *stream, const uint64_t *offsets, const uint32_t *list,
                                 uint64_t count, uint32_t *order);
/* keys[e] = row of the list << 32 | column, for the entries of a walk; `back`: columns from the keys. */
void dcsr_i_cuda_move_long(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_walk *walk, uint64_t entries,
                           uint64_t *keys, bool back);
void dcsr_i_cuda_gather_numbered(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_numbered *x,
                                 const uint32_t *order, uint32_t value_size, uint32_t *rows, void *values);

/* begin[r] = first + offsets[r], and length[r], of so many rows. */
void dcsr_i_cuda_split_offsets(dcsr_i_cuda_stream *stream, const uint64_t *offsets, uint64_t rows,
                               uint64_t first, uint64_t *begin, uint32_t *length);

#ifdef __cplusplus
}
#endif
#endif

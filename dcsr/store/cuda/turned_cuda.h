/* turned_cuda.h: the entries of rows as keys of their columns, on a device: the first step to a transpose
 * (internal; for C and for kernels). */
#ifndef DCSR_TURNED_CUDA_H
#define DCSR_TURNED_CUDA_H

#include "dcsr/store/cuda/gather_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Keys of all entries of the rows, and their words (NULL: no values), as dcsr_i_cuda_turn() makes them: takes
 * memory for both and puts the work onto the stream. After a failure, OUT_OF_MEMORY, what is not NULL is the
 * caller's too. */
dcsr_status dcsr_i_cuda_turn_rows(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows, int row_bits,
                                  uint64_t **keys, uint64_t **words);

/* ---- turned.cu ---- */

/* A key for each entry of the walk over all rows, its column above its row of row_bits bits, and its value as
 * a word (words NULL: none). */
void dcsr_i_cuda_turn(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_walk *walk, uint64_t entries,
                      int row_bits, uint64_t *keys, uint64_t *words);
/* Keys of row_bits above column_bits become those with the column above the row. */
void dcsr_i_cuda_swap_keys(dcsr_i_cuda_stream *stream, uint64_t *keys, uint64_t n, int row_bits,
                           int column_bits);

#ifdef __cplusplus
}
#endif
#endif

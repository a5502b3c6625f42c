/* keys_cuda.h: keys of entries, made of rows and taken apart, on a device (internal; for C and for kernels' files).
 *
 * A key is two numbers, the high one above the bit `shift`: row above column, or column above row. Its value
 * goes along as a word: its bytes, then zeros. */
#ifndef DCSR_KEYS_CUDA_H
#define DCSR_KEYS_CUDA_H

#include "dcsr/store/cuda/gather_cuda.h"

#include "dcsr/device/prim_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The low numbers. */
void dcsr_i_cuda_take_low(dcsr_i_cuda_stream *stream, const uint64_t *keys, uint64_t n, int shift,
                          uint32_t *low);
/* Values as words, and words as values. */
void dcsr_i_cuda_widen(dcsr_i_cuda_stream *stream, const void *values, uint32_t size, uint64_t n,
                       uint64_t *words);
void dcsr_i_cuda_narrow(dcsr_i_cuda_stream *stream, const uint64_t *words, uint64_t n, void *values,
                        uint32_t size);

/* The entries of a walk, to keys row << 32 | column and values (NULL: none). The row is names[i] for row i of the
 * walk, or i where `names` is NULL. */
void dcsr_i_cuda_list_entries(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_walk *walk, uint64_t entries,
                              const uint32_t *names, uint64_t *keys, void *values);

/* ---- Keys of rows, the column above the row: the first step to a transpose ---- */

/* Keys of all entries of the rows, and their words (NULL: no values), as dcsr_i_cuda_turn() makes them: takes
 * memory for both and puts the work onto the stream. After a failure, OUT_OF_MEMORY, what is not NULL is the
 * caller's too. */
dcsr_status dcsr_i_cuda_turn_rows(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows, int row_bits,
                                  uint64_t **keys, uint64_t **words);
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

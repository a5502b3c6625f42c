/* keys_cuda.h: what sorted keys say, on a device (internal; for C and for kernels' files).
 *
 * A key is two numbers, the high one above the bit `shift`: row above column, or column above row. Its value
 * goes along as a word: its bytes, then zeros. */
#ifndef DCSR_KEYS_CUDA_H
#define DCSR_KEYS_CUDA_H

#include "dcsr/base/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* begins[i] = how many of the n keys, which ascend, have a high number below i, for i = 0 .. count: the
 * offsets of `count` rows. */
void dcsr_i_cuda_find_begins(dcsr_i_cuda_stream *stream, const uint64_t *keys, uint64_t n, int shift,
                             uint64_t count, uint64_t *begins);
/* The low numbers. */
void dcsr_i_cuda_take_low(dcsr_i_cuda_stream *stream, const uint64_t *keys, uint64_t n, int shift,
                          uint32_t *low);
/* Values as words, and words as values. */
void dcsr_i_cuda_widen(dcsr_i_cuda_stream *stream, const void *values, uint32_t size, uint64_t n,
                       uint64_t *words);
void dcsr_i_cuda_narrow(dcsr_i_cuda_stream *stream, const uint64_t *words, uint64_t n, void *values,
                        uint32_t size);

#ifdef __cplusplus
}
#endif
#endif

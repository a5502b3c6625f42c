/* column_bits.h: looking up the bits of 16 columns at once (internal).
 *
 * A bitmap of vertices or elements is larger than the first-level cache, and columns of a row lie anywhere in
 * it. Looked up 16 at a time, without a branch, their misses are under way together. Where there is no
 * AVX-512 whoever uses this has a loop over single columns instead. */
#ifndef DCSR_COLUMN_BITS_H
#define DCSR_COLUMN_BITS_H

#include "ops/algebra/avx512.h"
#include <stdint.h>

#ifdef DCSR_I_AVX512

/* Up to 16 columns, in the lanes that are set in `live`. */
typedef struct dcsr_i_columns16 {
    __m512i column;
    __mmask16 live;
} dcsr_i_columns16;

/* The first of n > 0 columns. */
static inline dcsr_i_columns16 dcsr_i_columns16_load(const uint32_t *columns, uint64_t n)
{
    __mmask16 live = n < 16 ? (__mmask16)_bzhi_u32(0xffff, (unsigned)n) : 0xffff;
    return (dcsr_i_columns16){_mm512_maskz_loadu_epi32(live, columns), live};
}

/* The lanes of columns whose bit is set in `bits`, words of 64. */
static inline __mmask16 dcsr_i_columns16_set(dcsr_i_columns16 c, const void *bits)
{
    __m512i word = _mm512_maskz_srli_epi32(0xffff, c.column, 5);
    word = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), c.live, word, bits, 4);
    word = _mm512_maskz_srlv_epi32(0xffff, word, _mm512_and_si512(c.column, _mm512_set1_epi32(31)));
    return _mm512_mask_test_epi32_mask(c.live, word, _mm512_set1_epi32(1));
}

/* Writes the columns of these lanes one behind the other to `to`, which has room for 16; returns how many. */
static inline unsigned dcsr_i_columns16_store(uint32_t *to, dcsr_i_columns16 c, __mmask16 lanes)
{
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(lanes, c.column));
    return (unsigned)__builtin_popcount(lanes);
}

#endif
#endif

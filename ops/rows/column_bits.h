/* column_bits.h: looking up the bits of 16 columns at once, or columns among 16 (internal).
 *
 * A bitmap of vertices or elements is larger than the first-level cache, and columns of a row lie anywhere in
 * it. Looked up 16 at a time, without a branch, their misses are under way together. Where there is no
 * AVX-512 whoever uses this has a loop over single columns instead. */
#ifndef DCSR_COLUMN_BITS_H
#define DCSR_COLUMN_BITS_H

#include "ops/algebra/avx512.h"
#include <stddef.h>
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

/* Columns that are compared with another all at once. */
#ifdef DCSR_I_AVX512
enum { DCSR_I_COLUMNS_AT_ONCE = 16 };
#else
enum { DCSR_I_COLUMNS_AT_ONCE = 0 };
#endif

/* Which columns are in both of two ascending lists, the first of which is short or about as long as the second: number
 * in_x[k] of x is number in_y[k] of y. Returns how many; there is room for one more. */
static inline size_t dcsr_i_columns_in_both(const uint32_t *x, uint64_t x_n, const uint32_t *y, uint64_t y_n,
                                            uint32_t *in_x, uint32_t *in_y)
{
    size_t n = 0;
#ifdef DCSR_I_AVX512
    if (x_n <= DCSR_I_COLUMNS_AT_ONCE) {
        dcsr_i_columns16 names = dcsr_i_columns16_load(x, x_n);
        for (uint32_t k = 0; k < y_n; k++) {
            __mmask16 same =
                _mm512_mask_cmpeq_epi32_mask(names.live, names.column, _mm512_set1_epi32((int)y[k]));
            in_x[n] = _tzcnt_u32(same);
            in_y[n] = k;
            n += same != 0;
        }
        return n;
    }
#endif
    for (uint32_t i = 0, k = 0; i < x_n && k < y_n;) {
        uint32_t a = x[i], b = y[k];
        in_x[n] = i;
        in_y[n] = k;
        n += a == b;
        i += a <= b;
        k += b <= a;
    }
    return n;
}

#endif

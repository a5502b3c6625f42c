/* nut_avx512.h: the loop over a tile with AVX-512, over plus-times on real numbers (internal; included by
 * nut_multiply.c alone).
 *
 * A vector has the next element of each lane. Sums that end at a marker go to a queue, so that no branch depends on
 * where markers are; they are added to t, in their order, when it is full. That is the order in which the
 * loop of nut_kernels.inc adds them, and both give the same bits but for what a fused multiply-add rounds less. */
#ifndef DCSR_NUT_AVX512_H
#define DCSR_NUT_AVX512_H

enum { NUT_LANES = DCSR_I_NUT_CPU_LANES, NUT_QUEUE = 256 };

#define NUT_THIS(part)         nut_fp64##part
#define NUT_TYPE               double
#define NUT_VECTOR             __m512d
#define NUT_ZERO()             _mm512_setzero_pd()
#define NUT_LOAD(m, p)         _mm512_maskz_loadu_pd(m, p)
#define NUT_GATHER(m, i, u)    _mm512_mask_i32gather_pd(_mm512_setzero_pd(), m, i, u, 8)
#define NUT_FMA(m, a, b, s)    _mm512_maskz_fmadd_pd(m, a, b, s)
#define NUT_FMA_IN(m, a, b, s) _mm512_mask3_fmadd_pd(a, b, s, m)
#define NUT_PACK(m, v)         _mm512_maskz_compress_pd(m, v)
#define NUT_STORE(p, v)        _mm512_storeu_pd(p, v)
#include "ops/nut/nut_avx512.inc"

/* Pattern: the same with values that are all 1 and stand nowhere. */
#undef NUT_THIS
#undef NUT_LOAD
#define NUT_THIS(part) nut_pattern##part
#define NUT_LOAD(m, p) _mm512_set1_pd(1)
#include "ops/nut/nut_avx512.inc"

#undef NUT_THIS
#undef NUT_TYPE
#undef NUT_VECTOR
#undef NUT_ZERO
#undef NUT_LOAD
#undef NUT_GATHER
#undef NUT_FMA
#undef NUT_FMA_IN
#undef NUT_PACK
#undef NUT_STORE
#define NUT_THIS(part)         nut_fp32##part
#define NUT_TYPE               float
#define NUT_VECTOR             __m256
#define NUT_ZERO()             _mm256_setzero_ps()
#define NUT_LOAD(m, p)         _mm256_maskz_loadu_ps(m, p)
#define NUT_GATHER(m, i, u)    _mm256_mmask_i32gather_ps(_mm256_setzero_ps(), m, i, u, 4)
#define NUT_FMA(m, a, b, s)    _mm256_maskz_fmadd_ps(m, a, b, s)
#define NUT_FMA_IN(m, a, b, s) _mm256_mask3_fmadd_ps(a, b, s, m)
#define NUT_PACK(m, v)         _mm256_maskz_compress_ps(m, v)
#define NUT_STORE(p, v)        _mm256_storeu_ps(p, v)
#include "ops/nut/nut_avx512.inc"

#endif

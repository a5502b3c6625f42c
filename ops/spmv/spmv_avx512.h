/* spmv_avx512.h: the SpMV kernels of fp64, fp32 and pattern with AVX-512 (internal; included by spmv.c
 * alone).
 *
 * The entry at position p of a row goes to partial sum p mod 8, one lane each; the lanes are added as
 * ((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7)). Eight rows are worked on together, in whichever of these ways is
 * the cheapest; all of them give the same bits:
 *
 *      one row a vector                               one row a lane (short rows)
 *      columns  c0 c1 c2 c3 c4 c5 c6 c7 | c8 c9 - -   position 0 of the 8 rows, position 1, ...
 *      values   v0 v1 v2 v3 v4 v5 v6 v7 | v8 v9 - -   columns and values are gathered like x,
 *      x        gathered                              wherever the pieces lie
 *
 * A row in two pieces is read as two rows are, each from its begin on; in between the partial sums are turned by the
 * first one's length, so that each stands in the lane where its next entry arrives, and at the end they are turned
 * back. A row of up to 8 entries is one vector, which is filled from both, with masks. In a row of more pieces a vector
 * is filled from as many as its 8 positions fall into before x is gathered once. Loads are masked down to what the
 * length of the row reaches. */
#ifndef DCSR_SPMV_AVX512_H
#define DCSR_SPMV_AVX512_H

/* What a kernel reads. */
typedef struct spmv_arrays {
    const uint32_t *columns;
    const void *values;
    const void *x;
} spmv_arrays;

/* Eight rows: their lengths, where they begin, their first segments, and which have several. */
typedef struct spmv_group {
    __m256i length;
    __m512i begin, segment;
    unsigned fragmented;
    const dcsr_i_row_page *page; /* NULL for CSR */
    unsigned first;              /* of the page */
} spmv_group;

/* Rows of at most this many entries go one a lane where they are in one piece: gathering columns and values
 * too costs less than a vector for each of 8 rows. */
enum { SPMV_LANE_ROWS = 3 };

/* The lowest n of 8 bits; n < 256. */
static inline __mmask8 lowest(uint64_t n)
{
    return (__mmask8)_bzhi_u32(0xff, (unsigned)n);
}

/* A mask as a number. In a register: gcc 12 may spill a mask as one byte and read it back as four. */
static inline unsigned bits_of(__mmask8 mask)
{
    unsigned bits = mask;
    __asm__("" : "+r"(bits));
    return bits;
}

static inline unsigned longer_than(__m256i length, unsigned limit)
{
    return bits_of(_mm256_cmpgt_epu32_mask(length, _mm256_set1_epi32((int)limit)));
}

/* Eight offsets; eight segments of a page. Inactive ones are not read. */
static inline __m512i load_offsets(__mmask8 active, const uint64_t *offsets)
{
    return _mm512_maskz_loadu_epi64(active, offsets);
}
static inline __m512i load_segments(__mmask8 active, const dcsr_i_segment *segments)
{
    return _mm512_maskz_loadu_epi64(active, segments);
}
static inline __m512i begins_of(__m512i segments)
{
    return _mm512_maskz_and_epi64(0xff, segments, _mm512_set1_epi64(DCSR_I_MOST_PLACES - 1));
}
/* The codes of their capacities: these themselves, as far as they are exact. */
static inline __m512i capacities_of(__m512i segments)
{
    return _mm512_maskz_srli_epi64(0xff, segments, DCSR_I_SEGMENT_BEGIN_BITS);
}

/* Position p of a row is at begin + p below cut, at rest + p from there on: of a row of up to 8 entries, bit p of
 * `first` or `second` is set. */
typedef struct spmv_cut_rows {
    uint64_t begin[8], cut[8], rest[8], first[8], second[8];
} spmv_cut_rows;

/* Finds eight rows, of which some have several pieces; returns which of them have more than two. */
static inline unsigned find_cut_rows(const spmv_group *g, spmv_cut_rows *rows)
{
    const __mmask8 several = (__mmask8)g->fragmented;
    const __m512i exact = _mm512_set1_epi64(2 << DCSR_I_SEGMENT_MANTISSA_BITS), one = _mm512_set1_epi64(1),
                  length = _mm512_maskz_cvtepu32_epi64(0xff, g->length), capacity = capacities_of(g->segment),
                  further = load_segments(several, g->page->segment[1]->of + g->first),
                  cut = _mm512_mask_mov_epi64(length, several, capacity),
                  /* Shifting by 64 or more leaves nothing. */
        first = _mm512_maskz_sllv_epi64(0xff, one, cut) - one,
                  all = _mm512_maskz_sllv_epi64(0xff, one, length) - one;
    _mm512_storeu_si512(rows->begin, g->begin);
    _mm512_storeu_si512(rows->cut, cut);
    _mm512_storeu_si512(rows->rest, _mm512_mask_mov_epi64(g->begin, several, begins_of(further) - cut));
    _mm512_storeu_si512(rows->first, first);
    _mm512_storeu_si512(rows->second, _mm512_maskz_andnot_epi64(0xff, first, all));
    return bits_of(_mm512_mask_cmplt_epu64_mask(several, cut + capacities_of(further), length)) |
           bits_of(_mm512_mask_cmpgt_epu64_mask(several, capacity, exact));
}

/* Lane i becomes what lane i + by was, of eight that follow one another in a ring. */
static inline __m512d turn_pd(__m512d v, uint64_t by)
{
    const __m512i lane = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm512_maskz_permutexvar_pd(0xff, lane + _mm512_set1_epi64((long long)by), v);
}
static inline __m256 turn_ps(__m256 v, uint64_t by)
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_maskz_permutexvar_ps(0xff, _mm256_add_epi32(lane, _mm256_set1_epi32((int)by)), v);
}

/* Adds 0, too: a lane that was -0 is +0 where a vector has added nothing to it, which depends on where the row is cut.
 * So no sum is -0. */
static inline __m512d add_lanes_pd(const __m512d s[8])
{
    __m512d pairs[4], fours[2];
    for (int i = 0; i < 4; i++)
        pairs[i] = _mm512_maskz_unpacklo_pd(0xff, s[2 * i], s[2 * i + 1]) +
                   _mm512_maskz_unpackhi_pd(0xff, s[2 * i], s[2 * i + 1]);
    for (int i = 0; i < 2; i++)
        fours[i] = _mm512_maskz_shuffle_f64x2(0xff, pairs[2 * i], pairs[2 * i + 1], 0x88) +
                   _mm512_maskz_shuffle_f64x2(0xff, pairs[2 * i], pairs[2 * i + 1], 0xdd);
    return _mm512_maskz_shuffle_f64x2(0xff, fours[0], fours[1], 0x88) +
           (_mm512_maskz_shuffle_f64x2(0xff, fours[0], fours[1], 0xdd) + _mm512_setzero_pd());
}

static inline __m256 add_lanes_ps(const __m256 s[8])
{
    __m256 lower = _mm256_hadd_ps(_mm256_hadd_ps(s[0], s[1]), _mm256_hadd_ps(s[2], s[3]));
    __m256 upper = _mm256_hadd_ps(_mm256_hadd_ps(s[4], s[5]), _mm256_hadd_ps(s[6], s[7]));
    return _mm256_permute2f128_ps(lower, upper, 0x20) +
           (_mm256_permute2f128_ps(lower, upper, 0x31) + _mm256_setzero_ps());
}

#define SPMV_THIS(part)      spmv_fp64##part
#define SPMV_TYPE            double
#define SPMV_VECTOR          __m512d
#define SPMV_ZERO()          _mm512_setzero_pd()
#define SPMV_LOAD(m, p)      _mm512_maskz_loadu_pd(m, p)
#define SPMV_FILL(old, m, p) _mm512_mask_loadu_pd(old, m, p)
#define SPMV_LOOK(m, at, p)  _mm512_mask_i64gather_pd(_mm512_setzero_pd(), m, at, p, 8)
#define SPMV_GATHER(m, c, x) _mm512_mask_i32gather_pd(_mm512_setzero_pd(), m, c, x, 8)
#define SPMV_FMA(a, b, s)    _mm512_fmadd_pd(a, b, s)
#define SPMV_TURN(v, by)     turn_pd(v, by)
#define SPMV_BLEND(m, a, b)  _mm512_mask_blend_pd(m, a, b)
#define SPMV_STORE(p, m, v)  _mm512_mask_storeu_pd(p, m, v)
#define SPMV_ADD_LANES(s)    add_lanes_pd(s)
#include "ops/spmv/spmv_avx512.inc"

/* Pattern: the same with values that are all 1 and stand nowhere. */
#undef SPMV_THIS
#undef SPMV_LOAD
#undef SPMV_FILL
#undef SPMV_LOOK
#define SPMV_THIS(part)      spmv_pattern##part
#define SPMV_PATTERN         1
#define SPMV_LOAD(m, p)      _mm512_set1_pd(1)
#define SPMV_FILL(old, m, p) _mm512_set1_pd(1)
#define SPMV_LOOK(m, at, p)  _mm512_set1_pd(1)
#include "ops/spmv/spmv_avx512.inc"

#undef SPMV_THIS
#undef SPMV_TYPE
#undef SPMV_PATTERN
#undef SPMV_VECTOR
#undef SPMV_ZERO
#undef SPMV_LOAD
#undef SPMV_FILL
#undef SPMV_LOOK
#undef SPMV_GATHER
#undef SPMV_FMA
#undef SPMV_TURN
#undef SPMV_BLEND
#undef SPMV_STORE
#undef SPMV_ADD_LANES
#define SPMV_THIS(part)      spmv_fp32##part
#define SPMV_TYPE            float
#define SPMV_VECTOR          __m256
#define SPMV_ZERO()          _mm256_setzero_ps()
#define SPMV_LOAD(m, p)      _mm256_maskz_loadu_ps(m, p)
#define SPMV_FILL(old, m, p) _mm256_mask_loadu_ps(old, m, p)
#define SPMV_LOOK(m, at, p)  _mm512_mask_i64gather_ps(_mm256_setzero_ps(), m, at, p, 4)
#define SPMV_GATHER(m, c, x) _mm256_mmask_i32gather_ps(_mm256_setzero_ps(), m, c, x, 4)
#define SPMV_FMA(a, b, s)    _mm256_fmadd_ps(a, b, s)
#define SPMV_TURN(v, by)     turn_ps(v, by)
#define SPMV_BLEND(m, a, b)  _mm256_mask_blend_ps(m, a, b)
#define SPMV_STORE(p, m, v)  _mm256_mask_storeu_ps(p, m, v)
#define SPMV_ADD_LANES(s)    add_lanes_ps(s)
#include "ops/spmv/spmv_avx512.inc"
#undef SPMV_THIS
#undef SPMV_TYPE

#endif

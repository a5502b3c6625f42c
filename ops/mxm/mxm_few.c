/* mxm_few.c: rows of few products: their columns are sorted in vector registers.
 *
 * Each product is a number of 32 bits, its column counted from the row's first and, below, which of the row's
 * products it is; so sorting them is stable. Numbers are sorted by Batcher's bitonic network, 16 to a
 * register: between registers without moving lanes, then within each. That takes some 3 to 7 instructions a
 * product. The place of a product is how many columns begin before it in that order. */
#include "ops/algebra/avx512.h"
#include "ops/mxm/mxm_row.h"

#ifdef DCSR_I_AVX512

enum { LANES = 16, MOST = 512 };

#define INLINE static inline __attribute__((always_inline))

/* Bits that tell so many products from one another, in whole registers; these are a power of two. */
INLINE int bits_for(uint64_t products)
{
    return products <= LANES ? 4 : 64 - __builtin_clzll(products - 1);
}

bool dcsr_i_mxm_is_few(const dcsr_i_mxm_row *r)
{
    if (r->products > MOST) return false;
    return r->last - r->first < (UINT32_MAX >> bits_for(r->products));
}

/* One step within a register: lanes whose bit is set in `upper` get the larger of both. */
INLINE __m512i exchange(__m512i x, __m512i partner, __mmask16 upper)
{
    return _mm512_mask_max_epu32(_mm512_min_epu32(x, partner), upper, x, partner);
}
/* With the lane 1, 2, 4, 8 away. */
INLINE __m512i near1(__m512i x)
{
    return _mm512_shuffle_epi32(x, (_MM_PERM_ENUM)0xb1);
}
INLINE __m512i near2(__m512i x)
{
    return _mm512_shuffle_epi32(x, (_MM_PERM_ENUM)0x4e);
}
INLINE __m512i near4(__m512i x)
{
    return _mm512_shuffle_i64x2(x, x, 0xb1);
}
INLINE __m512i near8(__m512i x)
{
    return _mm512_shuffle_i64x2(x, x, 0x4e);
}
INLINE __m512i reversed(__m512i x)
{
    return _mm512_permutexvar_epi32(_mm512_set_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                                    x);
}

/* Sorts a register whose lanes go up and then down. */
INLINE __m512i merge_lanes(__m512i x)
{
    x = exchange(x, near8(x), 0xff00);
    x = exchange(x, near4(x), 0xf0f0);
    x = exchange(x, near2(x), 0xcccc);
    return exchange(x, near1(x), 0xaaaa);
}

/* Sorts a register: every other group of 2, 4, 8 lanes downwards, so that two of them make one to merge. */
INLINE __m512i sort_lanes(__m512i x)
{
    x = exchange(x, near1(x), 0x6666);
    x = exchange(x, near2(x), 0x3c3c);
    x = exchange(x, near1(x), 0x5a5a);
    x = exchange(x, near4(x), 0x0ff0);
    x = exchange(x, near2(x), 0x33cc);
    x = exchange(x, near1(x), 0x55aa);
    return merge_lanes(x);
}

INLINE void exchange_registers(__m512i *x, __m512i *y)
{
    __m512i least = _mm512_min_epu32(*x, *y);
    *y = _mm512_max_epu32(*x, *y);
    *x = least;
}

/* Sorts m registers, a power of two. */
INLINE void sort(__m512i *v, int m)
{
    for (int i = 0; i < m; i++) v[i] = sort_lanes(v[i]);
    for (int size = 2; size <= m; size *= 2)
        for (__m512i *part = v; part < v + m; part += size) {
            for (int i = 0; i < size / 2; i++) {
                __m512i far = reversed(part[size - 1 - i]), least = _mm512_min_epu32(part[i], far);
                part[size - 1 - i] = reversed(_mm512_max_epu32(part[i], far));
                part[i] = least;
            }
            for (int step = size / 4; step; step /= 2)
                for (int i = 0; i < size; i++)
                    if (!(i & step)) exchange_registers(&part[i], &part[i + step]);
            for (int i = 0; i < size; i++) part[i] = merge_lanes(part[i]);
        }
}

/* The numbers of all products; behind them as many of the largest as fill m registers. */
INLINE void number_products(const dcsr_i_mxm_row *r, uint32_t *numbers, int bits, int m)
{
    const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
                  first = _mm512_set1_epi32((int)r->first);
    const __m128i shift = _mm_cvtsi32_si128(bits);
    uint32_t at = 0;
    for (const dcsr_i_mxm_run *run = r->runs; run < r->runs + r->count; run++)
        for (uint32_t k = 0; k < run->n; k += LANES) {
            uint32_t n = run->n - k < LANES ? run->n - k : LANES;
            __m512i column = _mm512_maskz_loadu_epi32((__mmask16)_bzhi_u32(0xffff, n), run->columns + k);
            __m512i which = _mm512_add_epi32(lane, _mm512_set1_epi32((int)at));
            column = _mm512_sll_epi32(_mm512_sub_epi32(column, first), shift);
            _mm512_storeu_si512(numbers + at, _mm512_or_si512(column, which));
            at += n;
        }
    for (; at < (uint32_t)m * LANES; at += LANES) _mm512_storeu_si512(numbers + at, _mm512_set1_epi32(-1));
}

/* How many lanes of those that are set are not above each lane. */
INLINE __m512i count_lanes(__mmask16 set)
{
    const __m512i none = _mm512_setzero_si512();
    __m512i n = _mm512_maskz_set1_epi32(set, 1);
    n = _mm512_add_epi32(n, _mm512_alignr_epi32(n, none, 15));
    n = _mm512_add_epi32(n, _mm512_alignr_epi32(n, none, 14));
    n = _mm512_add_epi32(n, _mm512_alignr_epi32(n, none, 12));
    return _mm512_add_epi32(n, _mm512_alignr_epi32(n, none, 8));
}

/* Takes columns and places out of the sorted numbers. */
INLINE uint32_t take(const dcsr_i_mxm_row *r, const __m512i *v, int bits, uint32_t *columns, uint32_t *places)
{
    const __m128i shift = _mm_cvtsi32_si128(bits);
    const __m512i which = _mm512_set1_epi32((1 << bits) - 1), first = _mm512_set1_epi32((int)r->first);
    __m512i before = _mm512_set1_epi32(-1);
    uint32_t n = 0;
    for (uint32_t at = 0; at < r->products; at += LANES, v++) {
        uint32_t left = (uint32_t)r->products - at;
        __mmask16 live = left < LANES ? (__mmask16)_bzhi_u32(0xffff, left) : 0xffff;
        __m512i column = _mm512_srl_epi32(*v, shift), last = _mm512_alignr_epi32(column, before, 15);
        __mmask16 begins = _mm512_mask_cmpneq_epi32_mask(live, column, last);
        __m512i place = _mm512_add_epi32(count_lanes(begins), _mm512_set1_epi32((int)n - 1));
        _mm512_mask_i32scatter_epi32(places, live, _mm512_and_si512(*v, which), place, 4);
        __m512i kept = _mm512_maskz_compress_epi32(begins, _mm512_add_epi32(column, first));
        unsigned more = (unsigned)__builtin_popcount(begins);
        _mm512_mask_storeu_epi32(columns + n, (__mmask16)_bzhi_u32(0xffff, more), kept);
        before = column;
        n += more;
    }
    return n;
}

INLINE uint32_t find(const dcsr_i_mxm_row *r, int m, uint32_t *columns, uint32_t *places)
{
    _Alignas(64) uint32_t numbers[MOST + LANES];
    __m512i v[MOST / LANES];
    int bits = bits_for((uint64_t)m * LANES);
    number_products(r, numbers, bits, m);
    for (int i = 0; i < m; i++) v[i] = _mm512_load_si512(numbers + i * LANES);
    sort(v, m);
    return take(r, v, bits, columns, places);
}

uint32_t dcsr_i_mxm_sort_few(const dcsr_i_mxm_row *r, uint32_t *columns, uint32_t *places)
{
    switch (bits_for(r->products)) {
    case 4:
        return find(r, 1, columns, places);
    case 5:
        return find(r, 2, columns, places);
    case 6:
        return find(r, 4, columns, places);
    case 7:
        return find(r, 8, columns, places);
    case 8:
        return find(r, 16, columns, places);
    default:
        return find(r, 32, columns, places);
    }
}

#else

bool dcsr_i_mxm_is_few(const dcsr_i_mxm_row *r)
{
    (void)r;
    return false;
}

uint32_t dcsr_i_mxm_sort_few(const dcsr_i_mxm_row *r, uint32_t *columns, uint32_t *places)
{
    (void)r, (void)columns, (void)places;
    return 0;
}

#endif

/* mxm_windows.c: rows whose shape is known, added up in vector registers.
 *
 * Places ascend within a run, so of eight places that follow one another, a window, a run has entries that follow one
 * another too. One instruction spreads these to their lanes, and a sum is stored once, in place of once a product:
 *
 *      window         0 1 2 3 4 5 6 7
 *      run i            x x     x         values 3, 4, 5 of the run
 *      run j          x x x               values 0, 1, 2
 *
 * The products of a place are added in the order of runs, as elsewhere. For plus_times on fp64, and rows of few
 * windows: with 16 of them, as inside of a 3D grid of 27 points, one product after the other is as fast. */
#include "ops/algebra/avx512.h"
#include "ops/mxm/mxm_row.h"

#ifdef DCSR_I_AVX512

enum { LANES = 8, MOST_PLACES = 64 };

/* What a run has in a window. */
typedef struct part {
    uint32_t run, first;
    uint32_t lanes; /* a bit each */
} part;

bool dcsr_i_mxm_has_windows(const dcsr_i_mxm *m)
{
    return m->values && !m->cast_b && m->semiring->name == DCSR_PLUS_TIMES &&
           dcsr_i_monoid_type(m->semiring->add) == DCSR_FP64;
}

dcsr_status dcsr_i_mxm_make_windows(const dcsr_i_mxm_row *r)
{
    dcsr_i_mxm_shape *s = &r->t->shape;
    const uint32_t *places = s->places.bytes;
    uint32_t windows = (s->length + LANES - 1) / LANES;
    s->has_windows = r->m->has_windows && s->length <= MOST_PLACES;
    if (!s->has_windows) return DCSR_OK;
    DCSR_TRY(dcsr_i_mxm_room(r->m, r->t, &s->parts, r->products * sizeof(part)));
    DCSR_TRY(dcsr_i_mxm_room(r->m, r->t, &s->ends, windows * sizeof(uint32_t)));
    DCSR_TRY(dcsr_i_mxm_room(r->m, r->t, &r->t->spare, r->count * sizeof(uint32_t)));
    part *parts = s->parts.bytes;
    uint32_t *ends = s->ends.bytes, *next = r->t->spare.bytes, n = 0;
    memset(next, 0, r->count * sizeof *next);
    for (uint32_t w = 0; w < windows; w++) {
        const uint32_t *of_run = places;
        for (uint32_t i = 0; i < r->count; of_run += r->runs[i++].n) {
            part p = {i, next[i], 0};
            for (; next[i] < r->runs[i].n && of_run[next[i]] < (w + 1) * LANES; next[i]++)
                p.lanes |= 1u << (of_run[next[i]] - w * LANES);
            if (p.lanes) parts[n++] = p;
        }
        ends[w] = n;
    }
    return DCSR_OK;
}

void dcsr_i_mxm_add_windows(const dcsr_i_mxm_row *r, double *values)
{
    const dcsr_i_mxm_shape *s = &r->t->shape;
    const part *p = s->parts.bytes, *parts = p;
    const uint32_t *ends = s->ends.bytes;
    const double *a = (const double *)(const void *)r->t->group.a;
    const dcsr_i_mxm_run *runs = r->runs;
    for (uint32_t at = 0; at < s->length; at += LANES) {
        __m512d sum = _mm512_setzero_pd();
        for (const part *end = parts + *ends++; p < end; p++) {
            const dcsr_i_mxm_run *run = &runs[p->run];
            __mmask8 lanes = (__mmask8)p->lanes;
            __m512d b = _mm512_maskz_expandloadu_pd(lanes, (const double *)run->values + p->first);
            sum = _mm512_mask_add_pd(sum, lanes, sum, _mm512_mul_pd(_mm512_set1_pd(a[run->entry]), b));
        }
        uint32_t left = s->length - at;
        _mm512_mask_storeu_pd(values + at, (__mmask8)(left < LANES ? _bzhi_u32(0xff, left) : 0xff), sum);
    }
}

#else

bool dcsr_i_mxm_has_windows(const dcsr_i_mxm *m)
{
    (void)m;
    return false;
}

dcsr_status dcsr_i_mxm_make_windows(const dcsr_i_mxm_row *r)
{
    r->t->shape.has_windows = false;
    return DCSR_OK;
}

void dcsr_i_mxm_add_windows(const dcsr_i_mxm_row *r, double *values)
{
    (void)r, (void)values;
}

#endif

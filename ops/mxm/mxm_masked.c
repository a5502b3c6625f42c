/* mxm_masked.c: one row of sparse matrix times sparse matrix through a mask.
 *
 * Only products that it lets through are computed: of each run those entries are picked whose column the
 * mask's row has, and where there. Sums stand in the order of the mask, so the result is sorted as the mask
 * is. */
#include "dcsr/base/search.h"
#include "ops/mxm/mxm_row.h"
#include "ops/algebra/avx512.h"
#include "ops/rows/column_bits.h"

enum { FEW_PLACES = 16 }; /* of a mask, for which setting positions is not worth it */

/* As dcsr_i_columns_in_both(), of the mask and a run, where one is much shorter: looks for each of its columns in the
 * longer. */
static size_t pick_by_search(const dcsr_i_row_mask *mask, const dcsr_i_mxm_run *run, uint32_t *where,
                             uint32_t *source)
{
    bool mask_is_shorter = mask->n < run->n;
    const uint32_t *few = mask_is_shorter ? mask->columns : run->columns,
                   *many = mask_is_shorter ? run->columns : mask->columns;
    uint64_t short_n = mask_is_shorter ? mask->n : run->n, long_n = mask_is_shorter ? run->n : mask->n,
             at = 0;
    size_t n = 0;
    for (uint64_t k = 0; k < short_n && at < long_n; k++) {
        at = dcsr_i_list_find_near(many, at, long_n, few[k]);
        if (at == long_n || many[at] != few[k]) continue;
        where[n] = (uint32_t)(mask_is_shorter ? k : at);
        source[n++] = (uint32_t)(mask_is_shorter ? at : k);
    }
    return n;
}

/* position[c - base] is 1 + the place in the mask of column c, or 0. */
static size_t pick_by_position(const dcsr_i_row_mask *mask, const uint32_t *position,
                               const dcsr_i_mxm_run *run, uint32_t *where, uint32_t *source)
{
    uint32_t base = mask->columns[0], last = mask->columns[mask->n - 1];
    size_t n = 0;
    uint32_t k = (uint32_t)dcsr_i_list_find_near(run->columns, 0, run->n, base);
    for (; k < run->n && run->columns[k] <= last; k++) {
        uint32_t place = position[run->columns[k] - base];
        where[n] = place - 1;
        source[n] = k;
        n += place != 0;
    }
    return n;
}

/* Adds what is picked of all runs; hit[p] becomes true where place p of the mask has got a product. */
static dcsr_status add_runs(const dcsr_i_mxm_row *r, const dcsr_i_row_mask *mask, const uint32_t *position,
                            bool *hit, void *sums)
{
    uint32_t *where = r->t->places.bytes, *source = r->t->keys.bytes;
    for (uint64_t i = 0; i < r->count; i++) {
        const dcsr_i_mxm_run *run = &r->runs[i];
        size_t n = position && run->n < 16 * mask->n ? pick_by_position(mask, position, run, where, source)
                   : run->n < 8 * mask->n && mask->n < 8 * run->n
                       ? dcsr_i_columns_in_both(mask->columns, mask->n, run->columns, run->n, where, source)
                       : pick_by_search(mask, run, where, source);
        for (size_t k = 0; k < n; k++) hit[where[k]] = true;
        if (sums && n) DCSR_TRY(dcsr_i_mxm_add_some(r, run, sums, where, source, n));
    }
    return DCSR_OK;
}

/* Takes the places that were hit out of the sums, which become clean again. */
static void take_hits(const dcsr_i_mxm_row *r, const dcsr_i_row_mask *mask, bool *hit, void *sums,
                      dcsr_i_room room, uint32_t *length)
{
    uint32_t *places = r->t->places.bytes;
    uint64_t n = 0;
    for (uint64_t p = 0; p < mask->n; p++) {
        if (!hit[p]) continue;
        room.columns[n] = mask->columns[p];
        places[n++] = (uint32_t)p;
        hit[p] = false;
    }
    if (sums) dcsr_i_mxm_take(r, room.values, sums, places, 0, n);
    *length = (uint32_t)n;
}

/* ---- Few products and few places ---- */

#ifdef DCSR_I_AVX512

enum { LANES = 16, REGISTERS = 4, MOST_RUNS = 32 };

/* Runs whose entries are lanes of some registers, none in two of them. */
typedef struct lanes {
    int count; /* registers */
    __m512i columns[REGISTERS], place[REGISTERS];
    __mmask16 met[REGISTERS];                /* lanes whose column the mask has */
    uint8_t at[MOST_RUNS], first[MOST_RUNS]; /* of each run: register, and lane */
} lanes;

static inline __mmask16 lanes_of(uint32_t first, uint32_t n)
{
    return (__mmask16)(_bzhi_u32(0xffff, n) << first);
}

/* False where there is no room for all. */
static inline bool fill_lanes(lanes *x, const dcsr_i_mxm_row *r)
{
    uint32_t used = LANES;
    x->count = 0;
    if (r->count > MOST_RUNS || r->products > LANES * REGISTERS) return false;
    for (uint64_t i = 0; i < r->count; used += r->runs[i++].n) {
        uint32_t n = r->runs[i].n;
        if (used + n > LANES) {
            if (n > LANES || x->count == REGISTERS) return false;
            x->columns[x->count] = x->place[x->count] = _mm512_setzero_si512();
            x->met[x->count++] = 0;
            used = 0;
        }
        __m512i *columns = &x->columns[x->count - 1],
                these = _mm512_maskz_loadu_epi32(lanes_of(0, n), r->runs[i].columns);
        *columns = _mm512_mask_expand_epi32(*columns, lanes_of(used, n), these);
        x->at[i] = (uint8_t)(x->count - 1);
        x->first[i] = (uint8_t)used;
    }
    return true;
}

/* Compares each place of the mask with all products at once; then the terms of all runs are added in one call. */
static dcsr_status mask_few(const dcsr_i_mxm_row *r, lanes *x, const dcsr_i_row_mask *mask, dcsr_i_room room,
                            uint32_t *length)
{
    const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const dcsr_i_mxm *m = r->m;
    const dcsr_monoid *add = m->semiring->add;
    uint32_t n = 0, terms = 0, runs = 0, place[LANES * (REGISTERS + 1)], source[LANES * (REGISTERS + 1)];
    dcsr_i_mxm_run run[MOST_RUNS];
    __mmask16 live[REGISTERS] = {0};
    for (uint64_t i = 0; i < r->count; i++) live[x->at[i]] |= lanes_of(x->first[i], r->runs[i].n);
    for (uint64_t p = 0; p < mask->n; p++) {
        __m512i column = _mm512_set1_epi32((int)mask->columns[p]);
        bool hit = false;
        for (int k = 0; k < x->count; k++) {
            __mmask16 met = _mm512_mask_cmpeq_epi32_mask(live[k], x->columns[k], column);
            x->place[k] = _mm512_mask_set1_epi32(x->place[k], met, (int)n);
            x->met[k] |= met;
            hit |= met != 0;
        }
        room.columns[n] = mask->columns[p];
        n += hit;
    }
    *length = n;
    if (!n || !room.values) return DCSR_OK;
    for (uint64_t i = 0; i < r->count; i++) {
        __mmask16 met = x->met[x->at[i]] & lanes_of(x->first[i], r->runs[i].n);
        if (!met) continue;
        _mm512_storeu_si512(place + terms, _mm512_maskz_compress_epi32(met, x->place[x->at[i]]));
        _mm512_storeu_si512(source + terms,
                            _mm512_maskz_compress_epi32((__mmask16)(met >> x->first[i]), lane));
        run[runs] = r->runs[i];
        run[runs].n = (uint32_t)__builtin_popcount(met);
        terms += run[runs++].n;
    }
    dcsr_i_broadcast(dcsr_i_monoid_type(add), room.values, &add->start, n);
    return m->kernel(m->semiring, room.values, r->t->group.a, run, runs, place, 0, m->reads_b ? source : NULL)
               ? DCSR_OK
               : dcsr_i_mxm_refused(m);
}

#endif

dcsr_status dcsr_i_mxm_row_masked(dcsr_i_mxm_row *r, const dcsr_i_row_mask *mask, dcsr_i_room room,
                                  uint32_t *length)
{
    dcsr_i_mxm_thread *t = r->t;
    *length = 0;
    if (!r->count || !mask->n) return DCSR_OK;
#ifdef DCSR_I_AVX512
    lanes x;
    if (mask->n <= LANES && !r->m->cast_b && fill_lanes(&x, r)) return mask_few(r, &x, mask, room, length);
#endif
    dcsr_i_mxm_bounds(r);
    if (mask->columns[0] > r->last || mask->columns[mask->n - 1] < r->first) return DCSR_OK;
    uint64_t span = (uint64_t)mask->columns[mask->n - 1] - mask->columns[0] + 1, longest = mask->n;
    for (uint64_t i = 0; i < r->count; i++)
        if (r->runs[i].n > longest) longest = r->runs[i].n;
    DCSR_TRY(dcsr_i_mxm_room(r->m, t, &t->places, (longest + 1) * sizeof(uint32_t)));
    DCSR_TRY(dcsr_i_mxm_room(r->m, t, &t->keys, (longest + 1) * sizeof(uint32_t)));
    /* Positions of all columns, where setting them is worth it; the flags are behind them. */
    bool positions =
        r->products > 8 * mask->n && mask->n > FEW_PLACES && span < 64 * (r->products + mask->n) + 65536;
    char *clean = dcsr_i_mxm_clean(r, (positions ? span * sizeof(uint32_t) : 0) + mask->n);
    void *sums = room.values ? dcsr_i_mxm_sums(r, mask->n) : NULL;
    if (!clean || (room.values && !sums)) return DCSR_ERROR_OUT_OF_MEMORY;
    uint32_t *position = positions ? (uint32_t *)clean : NULL;
    bool *hit = (bool *)(clean + (positions ? span * sizeof(uint32_t) : 0));
    for (uint64_t p = 0; positions && p < mask->n; p++)
        position[mask->columns[p] - mask->columns[0]] = (uint32_t)p + 1;
    DCSR_TRY(add_runs(r, mask, position, hit, sums));
    for (uint64_t p = 0; positions && p < mask->n; p++) position[mask->columns[p] - mask->columns[0]] = 0;
    take_hits(r, mask, hit, sums, room, length);
    return DCSR_OK;
}

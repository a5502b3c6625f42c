/* mxm_masked.c: one row of sparse matrix times sparse matrix through a mask: only products that it lets
 * through are computed.
 *
 * Of each run those entries are picked whose column the mask's row has, and where there. Sums stand in the
 * order of the mask, so the result is sorted as the mask is. */
#include "dcsr/search.h"
#include "ops/mxm_row.h"

/* Both ascend: goes through the shorter and looks for each of its columns in the longer. Returns how many are
 * in both, where[k] in the mask and source[k] in the run. */
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
                                                     : pick_by_search(mask, run, where, source);
        for (size_t k = 0; k < n; k++) hit[where[k]] = true;
        if (sums && n) DCSR_TRY(dcsr_i_mxm_add(r, run, sums, where, 0, source, n));
    }
    return DCSR_OK;
}

/* Takes the places that were hit out of the sums, which become clean again. */
static dcsr_status hand_out(const dcsr_i_mxm_row *r, const dcsr_i_row_mask *mask, bool *hit, void *sums,
                            dcsr_i_row *T)
{
    dcsr_i_mxm_thread *t = r->t;
    DCSR_TRY(dcsr_i_scratch_room(&t->columns, r->m->context, mask->n * sizeof(uint32_t)));
    if (sums) DCSR_TRY(dcsr_i_scratch_room(&t->values, r->m->context, mask->n * r->m->size));
    uint32_t *columns = t->columns.bytes, *places = t->places.bytes;
    uint64_t n = 0;
    for (uint64_t p = 0; p < mask->n; p++) {
        columns[n] = mask->columns[p];
        places[n] = (uint32_t)p;
        n += hit[p];
        hit[p] = false;
    }
    if (sums) dcsr_i_mxm_take(r, t->values.bytes, sums, places, 0, n);
    *T = (dcsr_i_row){n, columns, sums ? t->values.bytes : NULL};
    return DCSR_OK;
}

dcsr_status dcsr_i_mxm_row_masked(const dcsr_i_mxm_row *r, const dcsr_i_row_mask *mask, dcsr_i_row *T)
{
    dcsr_i_mxm_thread *t = r->t;
    *T = (dcsr_i_row){0};
    if (!r->count || !mask->n || mask->columns[0] > r->last || mask->columns[mask->n - 1] < r->first)
        return DCSR_OK;
    uint64_t span = (uint64_t)mask->columns[mask->n - 1] - mask->columns[0] + 1, longest = mask->n;
    for (uint64_t i = 0; i < r->count; i++)
        if (r->runs[i].n > longest) longest = r->runs[i].n;
    DCSR_TRY(dcsr_i_scratch_room(&t->places, r->m->context, longest * sizeof(uint32_t)));
    DCSR_TRY(dcsr_i_scratch_room(&t->keys, r->m->context, longest * sizeof(uint32_t)));
    /* Positions of all columns, where setting them is worth it; the flags are behind them. */
    bool positions = r->products > 2 * mask->n && span < 64 * (r->products + mask->n) + 65536;
    char *clean = dcsr_i_mxm_clean(r, (positions ? span * sizeof(uint32_t) : 0) + mask->n);
    void *sums = r->m->values ? dcsr_i_mxm_sums(r, mask->n) : NULL;
    if (!clean || (r->m->values && !sums)) return DCSR_ERROR_OUT_OF_MEMORY;
    uint32_t *position = positions ? (uint32_t *)clean : NULL;
    bool *hit = (bool *)(clean + (positions ? span * sizeof(uint32_t) : 0));
    for (uint64_t p = 0; positions && p < mask->n; p++)
        position[mask->columns[p] - mask->columns[0]] = (uint32_t)p + 1;
    DCSR_TRY(add_runs(r, mask, position, hit, sums));
    for (uint64_t p = 0; positions && p < mask->n; p++) position[mask->columns[p] - mask->columns[0]] = 0;
    return hand_out(r, mask, hit, sums, T);
}

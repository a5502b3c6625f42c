/* mxv_batch.c: what kernels read: entries where they lie, or, where a kernel should see only some of them or
 * values of another type, copies. */
#include "ops/rows/column_bits.h"
#include "ops/mxv/mxv_internal.h"

void dcsr_i_batch_init(dcsr_i_mxv_batch *batch, const dcsr_i_mxv *x, bool push)
{
    batch->x = x;
    batch->push = push;
    batch->kernel = !x->kernels ? NULL : push ? x->kernels->push : x->kernels->pull;
    batch->failed = false;
    batch->casts = x->reads_matrix && x->rows->type != x->atype;
    batch->stored_size = dcsr_type_size(x->rows->type);
    batch->bits = push ? (x->mask ? x->mask->bits : NULL) : x->u_bits;
    batch->unset = push && x->mask && x->mask->complement;
    batch->scatter = NULL;
    batch->looked_at = 0;
    batch->n = batch->copied = 0;
    /* The values of a pattern are the same wherever they are copied to. */
    uint64_t most = x->entries < DCSR_I_BATCH_ENTRIES ? x->entries : DCSR_I_BATCH_ENTRIES;
    if (batch->casts && x->rows->type == DCSR_PATTERN)
        dcsr_i_cast(x->atype, batch->values, DCSR_PATTERN, NULL, most);
}

/* Makes the words of `found` that products will go to, and asks for their places in t, which few have
 * touched. */
static void touch_places(dcsr_i_mxv_batch *batch)
{
    for (size_t r = 0; r < batch->n; r++) {
        const uint32_t *columns = batch->run[r].columns;
        for (uint32_t k = 0; k < batch->run[r].length; k++) {
            dcsr_i_scatter_touch(batch->scatter, columns[k] >> 6);
            __builtin_prefetch((char *)batch->t + columns[k] * batch->x->size, 1);
        }
    }
}

void dcsr_i_batch_flush(dcsr_i_mxv_batch *batch)
{
    if (!batch->n || batch->failed) {
        batch->n = batch->copied = 0;
        return;
    }
    const dcsr_i_mxv *x = batch->x;
    if (batch->push && batch->scatter->touched) touch_places(batch);
    if (batch->kernel)
        batch->kernel(batch->run, batch->n, x->u_values, batch->t, batch->found);
    else if (!dcsr_i_mxv_blocks(x, batch->push, batch->run, batch->n, batch->t, batch->found))
        batch->failed = true;
    batch->n = batch->copied = 0;
}

/* The values at `places` from `from` on, one behind the other. */
static void gather(void *to, const void *from, const uint32_t *places, unsigned n, size_t size)
{
#define GATHER(ctype) \
    for (unsigned k = 0; k < n; k++) ((ctype *)to)[k] = ((const ctype *)from)[places[k]]
    DCSR_I_BY_SIZE(size, GATHER)
#undef GATHER
}

/* At most DCSR_I_BATCH_PART entries. */
static void add_part(dcsr_i_mxv_batch *batch, uint64_t at, unsigned n, uint32_t slot)
{
    const dcsr_i_mxv *x = batch->x;
    const dcsr_i_rows *rows = x->rows;
    size_t size = batch->stored_size;
    uint32_t places[DCSR_I_BATCH_PART + 16];
    uint64_t raw[DCSR_I_BATCH_PART];
    char *values = (char *)batch->values + batch->copied * x->asize;
    const uint32_t *columns = rows->columns + at;
    const void *from = size ? (const char *)rows->values + at * size : NULL;
    bool picks = batch->bits != NULL;
    if (picks) {
        n = dcsr_i_pick(batch->bits, batch->unset, columns, n, batch->columns + batch->copied,
                        x->reads_matrix && size ? places : NULL);
        if (!n) return;
        columns = batch->columns + batch->copied;
    }
    if (x->reads_matrix && size) {
        if (picks) {
            void *to = batch->casts ? (void *)raw : values;
            gather(to, from, places, n, size);
            from = to;
        }
        if (batch->casts) dcsr_i_cast(x->atype, values, rows->type, from, n);
    }
    batch->run[batch->n++] = (dcsr_i_mxv_run){columns, values, n, slot};
    batch->copied += n;
}

void dcsr_i_batch_add_copies(dcsr_i_mxv_batch *batch, uint64_t at, uint64_t length, uint32_t slot)
{
    while (length) {
        unsigned take = length < DCSR_I_BATCH_PART ? (unsigned)length : DCSR_I_BATCH_PART;
        add_part(batch, at, take, slot);
        at += take, length -= take;
        if (batch->n == DCSR_I_BATCH_RUNS || batch->copied > DCSR_I_BATCH_ENTRIES - DCSR_I_BATCH_PART)
            dcsr_i_batch_flush(batch);
    }
}

/* ---- Picking ---- */

#ifdef DCSR_I_AVX512
unsigned dcsr_i_pick(const uint64_t *bits, bool unset, const uint32_t *columns, uint64_t n, uint32_t *picked,
                     uint32_t *places)
{
    const __m512i ascending = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    unsigned count = 0;
    for (uint64_t k = 0; k < n; k += 16) {
        dcsr_i_columns16 c = dcsr_i_columns16_load(columns + k, n - k);
        __mmask16 set = dcsr_i_columns16_set(c, bits), take = unset ? c.live & (__mmask16)~set : set;
        if (places) {
            __m512i place = _mm512_maskz_add_epi32(0xffff, ascending, _mm512_set1_epi32((int)k));
            _mm512_storeu_si512(places + count, _mm512_maskz_compress_epi32(take, place));
        }
        count += dcsr_i_columns16_store(picked + count, c, take);
    }
    return count;
}
#else
unsigned dcsr_i_pick(const uint64_t *bits, bool unset, const uint32_t *columns, uint64_t n, uint32_t *picked,
                     uint32_t *places)
{
    unsigned count = 0;
    for (uint64_t k = 0; k < n; k++) {
        picked[count] = columns[k];
        if (places) places[count] = (uint32_t)k;
        count += (bits[columns[k] >> 6] >> (columns[k] & 63) & 1) != unset;
    }
    return count;
}
#endif

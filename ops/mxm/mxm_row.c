/* mxm_row.c: one row of sparse matrix times sparse matrix.
 *
 * Through a mask only products that it lets through are computed: of each run those entries are picked whose
 * column the mask's row has, and where there. Sums stand in the order of the mask, so the result is sorted as
 * the mask is. */
#include "ops/mxm/mxm_row.h"
#include "dcsr/base/search.h"
#include "ops/rows/column_bits.h"

/* ---- Memory ---- */

/* At least so many bytes of t->clean, all zero. NULL: no memory. */
static void *clean_bytes(const dcsr_i_mxm_row *r, uint64_t bytes)
{
    dcsr_i_scratch *clean = &r->t->clean;
    size_t before = clean->size;
    if (dcsr_i_scratch_room(clean, r->m->context, bytes) != DCSR_OK) return NULL;
    if (clean->size != before) memset(clean->bytes, 0, clean->size);
    return clean->bytes;
}

/* Of t->sums, n that are what sums begin with. NULL: no memory. */
static void *clean_sums(const dcsr_i_mxm_row *r, uint64_t n)
{
    dcsr_i_scratch *sums = &r->t->sums;
    size_t before = sums->size, size = r->m->size;
    if (dcsr_i_scratch_room(sums, r->m->context, n * size) != DCSR_OK) return NULL;
    if (sums->size != before)
        dcsr_i_broadcast(dcsr_i_monoid_type(r->m->semiring->add), sums->bytes, &r->m->semiring->add->start,
                         sums->size / size);
    return sums->bytes;
}

#define TAKE(ctype)                              \
    do {                                         \
        ctype *to = z, *from = sums, nothing;    \
        memcpy(&nothing, start, sizeof nothing); \
        for (uint64_t k = 0; k < n; k++) {       \
            to[k] = from[at[k] - base];          \
            from[at[k] - base] = nothing;        \
        }                                        \
    } while (0)

/* z[k] = sums[at[k] - base], which begin anew, for k < n. */
static void take_sums(const dcsr_i_mxm_row *r, void *z, void *sums, const uint32_t *at, uint32_t base,
                      uint64_t n)
{
    const dcsr_i_scalar *start = &r->m->semiring->add->start;
    switch (r->m->size) {
    case 1:
        TAKE(uint8_t);
        break;
    case 2:
        TAKE(uint16_t);
        break;
    case 4:
        TAKE(uint32_t);
        break;
    default:
        TAKE(uint64_t);
    }
}

/* ---- Reading ---- */

/* Values of n entries as another type. */
static dcsr_status cast(const dcsr_i_mxm *m, dcsr_i_scratch *scratch, dcsr_type to, dcsr_type from,
                        const void **values, uint64_t n)
{
    if (from == to) return DCSR_OK;
    DCSR_TRY(dcsr_i_scratch_room(scratch, m->context, n * dcsr_type_size(to)));
    dcsr_i_cast(to, scratch->bytes, from, *values, n);
    *values = scratch->bytes;
    return DCSR_OK;
}

dcsr_status dcsr_i_mxm_open(dcsr_i_mxm_row *r, const dcsr_i_mxm *m, dcsr_i_mxm_thread *t, uint64_t row)
{
    dcsr_i_row a;
    const dcsr_i_rows *b = m->b;
    size_t size = dcsr_type_size(b->type);
    *r = (dcsr_i_mxm_row){.m = m, .t = t, .first = UINT32_MAX};
    DCSR_TRY(dcsr_i_row_get(&t->reader, row, &a));
    int most = b->table ? b->table->segments_per_row : 1;
    DCSR_TRY(dcsr_i_scratch_room(&t->runs, m->context, a.n * (uint64_t)most * sizeof(dcsr_i_mxm_run)));
    dcsr_i_mxm_run *run = t->runs.bytes;
    for (uint32_t e = 0; e < a.n; e++) {
        dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
        int n = dcsr_i_rows_pieces(b, a.columns[e], pieces);
        for (int k = 0; k < n; k++, run++) {
            run->columns = b->columns + pieces[k].begin;
            run->values = size ? (const char *)b->values + pieces[k].begin * size : NULL;
            run->n = (uint32_t)pieces[k].length;
            run->entry = e;
            r->products += pieces[k].length;
            if (run->columns[0] < r->first) r->first = run->columns[0];
            if (run->columns[run->n - 1] > r->last) r->last = run->columns[run->n - 1];
        }
    }
    r->runs = t->runs.bytes;
    r->count = (uint64_t)(run - r->runs);
    if (!m->reads_a || !m->values || !r->count) return DCSR_OK;
    const void *values = a.values;
    DCSR_TRY(cast(m, &t->a, m->semiring->multiply->xtype, m->a->type, &values, a.n));
    r->a = values;
    return DCSR_OK;
}

/* The values of a run of B where it is of another type. */
static dcsr_status cast_run(const dcsr_i_mxm_row *r, const dcsr_i_mxm_run *run, const void **values)
{
    *values = run->values;
    return cast(r->m, &r->t->b, r->m->semiring->multiply->ytype, r->m->b->type, values, run->n);
}

/* Names the function that said no. */
static dcsr_status refused(const dcsr_i_mxm *m)
{
    const dcsr_binary_op *multiply = m->semiring->multiply;
    return dcsr_i_fail_callback("mxm", multiply->loop ? m->semiring->add->op->text : multiply->text);
}

/* z[index[k] - base] += products of a run, or of those of its entries that `source` picks. */
static dcsr_status add_run(const dcsr_i_mxm_row *r, const dcsr_i_mxm_run *run, void *z, const uint32_t *index,
                           uint32_t base, const uint32_t *source, size_t n)
{
    const dcsr_i_mxm *m = r->m;
    const void *a = r->a ? r->a + run->entry * m->x_size : NULL, *b = m->reads_b ? run->values : NULL;
    if (m->cast_b) DCSR_TRY(cast_run(r, run, &b));
    return m->kernel(m->semiring, z, index, base, a, b, source, n) ? DCSR_OK : refused(m);
}

/* ---- Where columns are marked: an array over those between the first and the last ---- */

/* A bit each, for rows of few products: 64 are looked at at once. */
static uint64_t scan_bits(const dcsr_i_mxm_row *r, uint64_t *bits, uint32_t *columns)
{
    uint64_t n = 0, words = ((r->last - r->first) >> 6) + 1;
    for (uint64_t i = 0; i < r->count; i++)
        for (uint32_t k = 0; k < r->runs[i].n; k++) {
            uint32_t at = r->runs[i].columns[k] - r->first;
            bits[at >> 6] |= (uint64_t)1 << (at & 63);
        }
    for (uint64_t w = 0; w < words; w++) {
        for (uint64_t word = bits[w]; word; word &= word - 1)
            columns[n++] = r->first + (uint32_t)(w << 6) + (uint32_t)__builtin_ctzll(word);
        bits[w] = 0;
    }
    return n;
}

/* A byte each, for rows of many: a mark is a store, which waits for no other mark. */
static uint64_t scan_bytes(const dcsr_i_mxm_row *r, uint8_t *marks, uint32_t *columns)
{
    uint64_t n = 0, words = ((r->last - r->first) >> 3) + 1;
    for (uint64_t i = 0; i < r->count; i++)
        for (uint32_t k = 0; k < r->runs[i].n; k++) marks[r->runs[i].columns[k] - r->first] = 1;
    for (uint64_t w = 0; w < words; w++) {
        uint64_t word;
        memcpy(&word, marks + (w << 3), sizeof word);
        if (!word) continue;
        /* Byte k becomes bit k. */
        for (unsigned bits = (unsigned)(word * 0x0102040810204080 >> 56); bits; bits &= bits - 1)
            columns[n++] = r->first + (uint32_t)(w << 3) + (uint32_t)__builtin_ctz(bits);
        memset(marks + (w << 3), 0, sizeof word);
    }
    return n;
}

/* Columns by marking, values in sums for all columns between the first and the last. */
static dcsr_status write_scanned(const dcsr_i_mxm_row *r, dcsr_i_room room, uint32_t *length)
{
    uint64_t span = (uint64_t)r->last - r->first + 1;
    bool bytes = r->products > span / 4;
    void *clean = clean_bytes(r, bytes ? span + 8 : (span / 64 + 1) * 8);
    if (!clean) return DCSR_ERROR_OUT_OF_MEMORY;
    *length = (uint32_t)(bytes ? scan_bytes(r, clean, room.columns) : scan_bits(r, clean, room.columns));
    if (!room.values) return DCSR_OK;
    void *sums = clean_sums(r, span);
    if (!sums) return DCSR_ERROR_OUT_OF_MEMORY;
    for (uint64_t i = 0; i < r->count; i++)
        DCSR_TRY(add_run(r, &r->runs[i], sums, r->runs[i].columns, r->first, NULL, r->runs[i].n));
    take_sums(r, room.values, sums, room.columns, r->first, *length);
    return DCSR_OK;
}

/* ---- Where products are sorted ---- */

/* Columns by sorting the products; each product then knows the place of its column, where it is added. */
static dcsr_status write_sorted(const dcsr_i_mxm_row *r, dcsr_i_room room, uint32_t *length)
{
    dcsr_i_mxm_thread *t = r->t;
    uint64_t products = 0;
    DCSR_TRY(dcsr_i_scratch_room(&t->keys, r->m->context, r->products * sizeof(uint64_t)));
    DCSR_TRY(dcsr_i_scratch_room(&t->spare, r->m->context, r->products * sizeof(uint64_t)));
    DCSR_TRY(dcsr_i_scratch_room(&t->places, r->m->context, r->products * sizeof(uint32_t)));
    uint64_t *keys = t->keys.bytes;
    uint32_t *places = t->places.bytes;
    for (uint64_t i = 0; i < r->count; i++)
        for (uint32_t k = 0; k < r->runs[i].n; k++, products++)
            keys[products] = (uint64_t)(r->runs[i].columns[k] - r->first) << 32 | products;
    int bits = 64 - __builtin_clzll((uint64_t)(r->last - r->first) | 1);
    keys = dcsr_i_sort(keys, t->spare.bytes, products, 1, 32, bits, 1);
    uint64_t n = 0;
    for (uint64_t p = 0; p < products; p++) {
        if (!p || keys[p] >> 32 != keys[p - 1] >> 32)
            room.columns[n++] = r->first + (uint32_t)(keys[p] >> 32);
        places[(uint32_t)keys[p]] = (uint32_t)n - 1;
    }
    *length = (uint32_t)n;
    if (!room.values) return DCSR_OK;
    dcsr_i_broadcast(dcsr_i_monoid_type(r->m->semiring->add), room.values, &r->m->semiring->add->start, n);
    for (uint64_t i = 0; i < r->count; places += r->runs[i++].n)
        DCSR_TRY(add_run(r, &r->runs[i], room.values, places, 0, NULL, r->runs[i].n));
    return DCSR_OK;
}

/* ---- Choosing ---- */

/* Sums for more words of columns are only kept for as many products: 32 MiB of fp64. */
enum { MOST_WORDS = 65536 };

/* What a row costs in each way, about, in the time of a product; the cheapest is taken. */
static uint64_t cost_of_scanning(const dcsr_i_mxm_row *r)
{
    uint64_t words = (r->last - r->first) / 64;
    return words > MOST_WORDS && words > r->products ? UINT64_MAX : 2 * r->products + words;
}
static uint64_t cost_of_sorting(const dcsr_i_mxm_row *r)
{
    return r->products > UINT32_MAX ? UINT64_MAX : 12 * r->products + (r->products < 48 ? 0 : 1500);
}

static const struct {
    uint64_t (*cost)(const dcsr_i_mxm_row *r);
    dcsr_status (*write)(const dcsr_i_mxm_row *r, dcsr_i_room room, uint32_t *length);
} ways[] = {{cost_of_scanning, write_scanned}, {cost_of_sorting, write_sorted}};

dcsr_status dcsr_i_mxm_row_write(const dcsr_i_mxm_row *r, dcsr_i_room room, uint32_t *length)
{
    *length = 0;
    if (!r->count) return DCSR_OK;
    size_t best = 0;
    for (size_t k = 1; k < sizeof ways / sizeof *ways; k++)
        if (ways[k].cost(r) < ways[best].cost(r)) best = k;
    return ways[best].write(r, room, length);
}

/* ---- Through a mask ---- */

enum { FEW = 16 }; /* columns of the mask, that are compared with a column of a run all at once */

/* Both ascend: goes through both, which are short or about as long. Returns how many columns are in both,
 * where[k] in the mask and source[k] in the run; there is room for one more. */
static size_t pick_by_merging(const dcsr_i_row_mask *mask, const dcsr_i_mxm_run *run, uint32_t *where,
                              uint32_t *source)
{
    size_t n = 0;
#ifdef DCSR_I_AVX512
    if (mask->n <= FEW) {
        dcsr_i_columns16 names = dcsr_i_columns16_load(mask->columns, mask->n);
        for (uint32_t k = 0; k < run->n; k++) {
            __m512i column = _mm512_set1_epi32((int)run->columns[k]);
            __mmask16 same = _mm512_mask_cmpeq_epi32_mask(names.live, names.column, column);
            where[n] = _tzcnt_u32(same);
            source[n] = k;
            n += same != 0;
        }
        return n;
    }
#endif
    for (uint32_t i = 0, k = 0; i < mask->n && k < run->n;) {
        uint32_t a = mask->columns[i], b = run->columns[k];
        where[n] = i;
        source[n] = k;
        n += a == b;
        i += a <= b;
        k += b <= a;
    }
    return n;
}

/* The same where one is much shorter: looks for each of its columns in the longer. */
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
                   : run->n < 8 * mask->n && mask->n < 8 * run->n ? pick_by_merging(mask, run, where, source)
                                                                  : pick_by_search(mask, run, where, source);
        for (size_t k = 0; k < n; k++) hit[where[k]] = true;
        if (sums && n) DCSR_TRY(add_run(r, run, sums, where, 0, source, n));
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
    if (sums) take_sums(r, room.values, sums, places, 0, n);
    *length = (uint32_t)n;
}

dcsr_status dcsr_i_mxm_row_masked(const dcsr_i_mxm_row *r, const dcsr_i_row_mask *mask, dcsr_i_room room,
                                  uint32_t *length)
{
    dcsr_i_mxm_thread *t = r->t;
    *length = 0;
    if (!r->count || !mask->n || mask->columns[0] > r->last || mask->columns[mask->n - 1] < r->first)
        return DCSR_OK;
    uint64_t span = (uint64_t)mask->columns[mask->n - 1] - mask->columns[0] + 1, longest = mask->n;
    for (uint64_t i = 0; i < r->count; i++)
        if (r->runs[i].n > longest) longest = r->runs[i].n;
    DCSR_TRY(dcsr_i_scratch_room(&t->places, r->m->context, (longest + 1) * sizeof(uint32_t)));
    DCSR_TRY(dcsr_i_scratch_room(&t->keys, r->m->context, (longest + 1) * sizeof(uint32_t)));
    /* Positions of all columns, where setting them is worth it; the flags are behind them. */
    bool positions =
        r->products > 8 * mask->n && mask->n > FEW && span < 64 * (r->products + mask->n) + 65536;
    char *clean = clean_bytes(r, (positions ? span * sizeof(uint32_t) : 0) + mask->n);
    void *sums = room.values ? clean_sums(r, mask->n) : NULL;
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

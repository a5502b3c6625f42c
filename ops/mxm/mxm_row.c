/* mxm_row.c: one row of sparse matrix times sparse matrix, without a mask. */
#include "ops/mxm/mxm_row.h"

/* ---- Memory ---- */

void *dcsr_i_mxm_clean(const dcsr_i_mxm_row *r, uint64_t bytes)
{
    dcsr_i_scratch *clean = &r->t->clean;
    size_t before = clean->size;
    if (dcsr_i_scratch_room(clean, r->m->context, bytes) != DCSR_OK) return NULL;
    if (clean->size != before) memset(clean->bytes, 0, clean->size);
    return clean->bytes;
}

void *dcsr_i_mxm_sums(const dcsr_i_mxm_row *r, uint64_t n)
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

void dcsr_i_mxm_take(const dcsr_i_mxm_row *r, void *z, void *sums, const uint32_t *at, uint32_t base,
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

dcsr_status dcsr_i_mxm_cast_run(const dcsr_i_mxm_row *r, const dcsr_i_mxm_run *run, const void **values)
{
    *values = run->values;
    return cast(r->m, &r->t->b, r->m->semiring->multiply->ytype, r->m->b->type, values, run->n);
}

dcsr_status dcsr_i_mxm_refused(const dcsr_i_mxm *m)
{
    const dcsr_binary_op *multiply = m->semiring->multiply;
    return dcsr_i_fail_callback("mxm", multiply->loop ? m->semiring->add->op->text : multiply->text);
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
    void *clean = dcsr_i_mxm_clean(r, bytes ? span + 8 : (span / 64 + 1) * 8);
    if (!clean) return DCSR_ERROR_OUT_OF_MEMORY;
    *length = (uint32_t)(bytes ? scan_bytes(r, clean, room.columns) : scan_bits(r, clean, room.columns));
    if (!room.values) return DCSR_OK;
    void *sums = dcsr_i_mxm_sums(r, span);
    if (!sums) return DCSR_ERROR_OUT_OF_MEMORY;
    for (uint64_t i = 0; i < r->count; i++)
        DCSR_TRY(dcsr_i_mxm_add(r, &r->runs[i], sums, r->runs[i].columns, r->first, NULL, r->runs[i].n));
    dcsr_i_mxm_take(r, room.values, sums, room.columns, r->first, *length);
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
        DCSR_TRY(dcsr_i_mxm_add(r, &r->runs[i], room.values, places, 0, NULL, r->runs[i].n));
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

/* mxm_row.c: rows of sparse matrix times sparse matrix. */
#include "ops/mxm/mxm_row.h"
#include "ops/algebra/avx512.h"

/* ---- Memory ---- */

dcsr_status dcsr_i_mxm_exceeds(const dcsr_i_mxm *m, const dcsr_i_mxm_thread *t, uint64_t bytes)
{
    return dcsr_i_fail(
        DCSR_ERROR_OUT_OF_MEMORY,
        "mxm: row %llu takes %llu bytes beside the result, but memory_limit leaves %llu to each "
        "of %d threads; set it higher, or use fewer threads",
        (unsigned long long)t->row, (unsigned long long)bytes, (unsigned long long)m->share, m->threads);
}

dcsr_status dcsr_i_mxm_room(const dcsr_i_mxm *m, dcsr_i_mxm_thread *t, dcsr_i_scratch *scratch, size_t bytes)
{
    if (bytes <= scratch->size && scratch->bytes) return DCSR_OK;
    t->taken -= scratch->lent ? 0 : scratch->size;
    if (m->limit) dcsr_i_scratch_free(scratch, m->context); /* it grows no further than it has to */
    if (t->taken + bytes > m->share) return dcsr_i_mxm_exceeds(m, t, t->taken + bytes);
    dcsr_status status = dcsr_i_scratch_room(scratch, m->context, bytes);
    t->taken += scratch->lent ? 0 : scratch->size;
    return status;
}

/* What the limit leaves. */
static uint64_t room_left(const dcsr_i_mxm_row *r)
{
    return r->m->share > r->t->taken ? r->m->share - r->t->taken : 0;
}

void *dcsr_i_mxm_clean(const dcsr_i_mxm_row *r, uint64_t bytes)
{
    dcsr_i_scratch *clean = &r->t->clean;
    size_t before = clean->size;
    if (dcsr_i_mxm_room(r->m, r->t, clean, bytes) != DCSR_OK) return NULL;
    if (clean->size != before) memset(clean->bytes, 0, clean->size);
    return clean->bytes;
}

void *dcsr_i_mxm_sums(const dcsr_i_mxm_row *r, uint64_t n)
{
    dcsr_i_scratch *sums = &r->t->sums;
    size_t before = sums->size, size = r->m->size;
    if (dcsr_i_mxm_room(r->m, r->t, sums, n * size) != DCSR_OK) return NULL;
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

/* ---- Where C has the columns already ---- */

/* Fails as the row that is being computed is not as C has it. */
static dcsr_status fail_differing(const dcsr_i_mxm *m, const dcsr_i_mxm_thread *t)
{
    return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                       "%s: row %llu of C does not have the product's pattern, as same_pattern promises; "
                       "compute the product once without it",
                       m->call, (unsigned long long)t->row);
}

static dcsr_status check_known(const dcsr_i_mxm *m, const dcsr_i_mxm_thread *t, const dcsr_i_row *known,
                               const uint32_t *columns, uint32_t length)
{
    if (known->n == length && (!length || !memcmp(known->columns, columns, length * sizeof *columns)))
        return DCSR_OK;
    return fail_differing(m, t);
}

/* ---- Adding ---- */

dcsr_status dcsr_i_mxm_refused(const dcsr_i_mxm *m)
{
    const dcsr_binary_op *multiply = m->semiring->multiply;
    return dcsr_i_fail_callback(m->call, multiply->loop ? m->semiring->add->op->text : multiply->text);
}

/* Adds a run, or those n entries of it that `source` picks. */
static dcsr_status add_some(const dcsr_i_mxm_row *r, const dcsr_i_mxm_run *run, void *z,
                            const uint32_t *index, uint32_t base, const uint32_t *source, size_t n)
{
    const dcsr_i_mxm *m = r->m;
    dcsr_type type = m->semiring->multiply->ytype;
    dcsr_i_mxm_run some = *run;
    if (m->cast_b) {
        DCSR_TRY(dcsr_i_mxm_room(r->m, r->t, &r->t->b, run->n * dcsr_type_size(type)));
        dcsr_i_cast(type, r->t->b.bytes, m->b->type, run->values, run->n);
        some.values = r->t->b.bytes;
    }
    some.n = (uint32_t)n;
    return m->kernel(m->semiring, z, r->t->group.a, &some, 1, index, base, source) ? DCSR_OK
                                                                                   : dcsr_i_mxm_refused(m);
}

dcsr_status dcsr_i_mxm_add_some(const dcsr_i_mxm_row *r, const dcsr_i_mxm_run *run, void *z,
                                const uint32_t *index, const uint32_t *source, size_t n)
{
    return add_some(r, run, z, index, 0, source, n);
}

/* Adds the products of all runs to z, each at index[], or where that is NULL at its column, less `base`. */
static dcsr_status add_terms(const dcsr_i_mxm_row *r, void *z, const uint32_t *index, uint32_t base)
{
    const dcsr_i_mxm *m = r->m;
    if (!m->cast_b)
        return m->kernel(m->semiring, z, r->t->group.a, r->runs, r->count, index, base, NULL)
                   ? DCSR_OK
                   : dcsr_i_mxm_refused(m);
    for (const dcsr_i_mxm_run *run = r->runs; run < r->runs + r->count; run++) {
        DCSR_TRY(add_some(r, run, z, index ? index : run->columns, base, NULL, run->n));
        if (index) index += run->n;
    }
    return DCSR_OK;
}

/* The values of a row of `length` columns, whose products have their places. */
static dcsr_status add_at_places(const dcsr_i_mxm_row *r, void *values, const uint32_t *places,
                                 uint64_t length)
{
    const dcsr_monoid *add = r->m->semiring->add;
    if (!values) return DCSR_OK;
    dcsr_i_broadcast(dcsr_i_monoid_type(add), values, &add->start, length);
    return add_terms(r, values, places, 0);
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

/* Whether the row's columns, by marking, are those that C has. */
static bool marks_match(const dcsr_i_mxm_row *r, uint8_t *marks)
{
    uint64_t left = 0, span = (uint64_t)r->last - r->first + 1;
    for (uint64_t i = 0; i < r->count; i++)
        for (uint32_t k = 0; k < r->runs[i].n; k++) marks[r->runs[i].columns[k] - r->first] = 1;
    for (uint64_t k = 0; k < r->known.n; k++) {
        uint32_t at = r->known.columns[k] - r->first;
        if (at >= span || !marks[at]) return false;
        marks[at] = 0;
    }
    for (uint64_t w = 0; w < span; w += 8) {
        uint64_t word;
        memcpy(&word, marks + w, sizeof word);
        left |= word;
    }
    return !left;
}

static dcsr_status find_by_marks(const dcsr_i_mxm_row *r, uint32_t *columns, uint32_t *length)
{
    uint64_t span = (uint64_t)r->last - r->first + 1;
    bool bytes = r->m->known || r->products > span / 4;
    void *clean = dcsr_i_mxm_clean(r, bytes ? span + 8 : (span / 64 + 1) * 8);
    if (!clean) return DCSR_ERROR_OUT_OF_MEMORY;
    if (r->m->known) {
        if (!marks_match(r, clean)) return fail_differing(r->m, r->t);
        *length = (uint32_t)r->known.n;
        memcpy(columns, r->known.columns, *length * sizeof *columns);
    } else {
        *length = (uint32_t)(bytes ? scan_bytes(r, clean, columns) : scan_bits(r, clean, columns));
    }
    return DCSR_OK;
}

/* Columns by marking, values in sums for all columns between the first and the last. */
static dcsr_status write_scanned(const dcsr_i_mxm_row *r, dcsr_i_room room, uint32_t *length)
{
    uint64_t span = (uint64_t)r->last - r->first + 1;
    DCSR_TRY(find_by_marks(r, room.columns, length));
    if (!room.values) return DCSR_OK;
    void *sums = dcsr_i_mxm_sums(r, span);
    if (!sums) return DCSR_ERROR_OUT_OF_MEMORY;
    DCSR_TRY(add_terms(r, sums, NULL, r->first));
    dcsr_i_mxm_take(r, room.values, sums, room.columns, r->first, *length);
    return DCSR_OK;
}

/* ---- Where products are sorted ---- */

/* Columns by sorting the products; each product then knows the place of its column, where it is added. */
static dcsr_status write_sorted(const dcsr_i_mxm_row *r, dcsr_i_room room, uint32_t *length)
{
    dcsr_i_mxm_thread *t = r->t;
    uint64_t products = 0;
    DCSR_TRY(dcsr_i_mxm_room(r->m, t, &t->keys, r->products * sizeof(uint64_t)));
    DCSR_TRY(dcsr_i_mxm_room(r->m, t, &t->spare, r->products * sizeof(uint64_t)));
    DCSR_TRY(dcsr_i_mxm_room(r->m, t, &t->places, r->products * sizeof(uint32_t)));
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
    return add_at_places(r, room.values, places, n);
}

/* Of few products, in registers. */
static dcsr_status write_few(const dcsr_i_mxm_row *r, dcsr_i_room room, uint32_t *length)
{
    DCSR_TRY(dcsr_i_mxm_room(r->m, r->t, &r->t->places, (r->products + 16) * sizeof(uint32_t)));
    *length = dcsr_i_mxm_sort_few(r, room.columns, r->t->places.bytes);
    return add_at_places(r, room.values, r->t->places.bytes, *length);
}

/* ---- Rows like those before ---- */

/* A shape is kept of rows of fewer products than this, in fewer columns. */
enum { MOST_OF_SHAPE = 1 << 16, WIDEST_SHAPE = 1 << 20 };

/* Whether x[k] - y[k] == shift for k < n. */
static inline bool is_shifted(const uint32_t *x, const uint32_t *y, uint32_t n, uint32_t shift)
{
#ifdef DCSR_I_AVX512
    for (uint32_t k = 0; k < n; k += 16) {
        __mmask16 live = (__mmask16)_bzhi_u32(0xffff, n - k < 16 ? n - k : 16);
        __m512i by = _mm512_sub_epi32(_mm512_maskz_loadu_epi32(live, x + k), _mm512_set1_epi32((int)shift));
        if (_mm512_mask_cmpneq_epi32_mask(live, by, _mm512_maskz_loadu_epi32(live, y + k))) return false;
    }
    return true;
#else
    uint32_t differ = 0;
    for (uint32_t k = 0; k < n; k++) differ |= (x[k] - shift) ^ y[k];
    return !differ;
#endif
}

/* Whether the columns of these runs differ by a shift alone. */
static bool runs_match(const dcsr_i_mxm_run *x, const dcsr_i_mxm_run *y, uint64_t count)
{
    uint32_t shift = x->columns[0] - y->columns[0];
    for (uint64_t i = 0; i < count; i++)
        if (x[i].n != y[i].n || !is_shifted(x[i].columns, y[i].columns, x[i].n, shift)) return false;
    return true;
}

static dcsr_status write_like(const dcsr_i_mxm_row *r, dcsr_i_room room, uint32_t *length)
{
    const dcsr_i_mxm_shape *s = &r->t->shape;
    const dcsr_i_mxm_run *kept = s->runs.bytes;
    const uint32_t *columns = s->columns.bytes, shift = r->runs->columns[0] - kept->columns[0], n = s->length;
    *length = n;
    for (uint32_t k = 0; k < n; k++) room.columns[k] = columns[k] + shift;
    if (s->has_windows) {
        dcsr_i_mxm_add_windows(r, room.values);
        return DCSR_OK;
    }
    return add_at_places(r, room.values, s->places.bytes, s->length);
}

/* Keeps the shape of a row that has been written. */
static dcsr_status keep_shape(const dcsr_i_mxm_row *r, const uint32_t *columns, uint32_t length)
{
    dcsr_i_mxm_shape *s = &r->t->shape;
    s->count = 0;
    DCSR_TRY(dcsr_i_mxm_room(r->m, r->t, &s->runs, r->count * sizeof *r->runs));
    DCSR_TRY(dcsr_i_mxm_room(r->m, r->t, &s->columns, length * sizeof *columns));
    DCSR_TRY(dcsr_i_mxm_room(r->m, r->t, &s->places, r->products * sizeof(uint32_t)));
    DCSR_TRY(dcsr_i_mxm_room(r->m, r->t, &r->t->keys, (r->last - r->first + 1) * sizeof(uint32_t)));
    uint32_t *kept = s->columns.bytes, *place = s->places.bytes, *place_of = r->t->keys.bytes;
    memcpy(s->runs.bytes, r->runs, r->count * sizeof *r->runs);
    for (uint32_t k = 0; k < length; k++) {
        kept[k] = columns[k];
        place_of[columns[k] - r->first] = k;
    }
    for (const dcsr_i_mxm_run *run = r->runs; run < r->runs + r->count; run++)
        for (uint32_t k = 0; k < run->n; k++) *place++ = place_of[run->columns[k] - r->first];
    s->length = length;
    DCSR_TRY(dcsr_i_mxm_make_windows(r));
    s->count = r->count;
    s->products = r->products;
    return DCSR_OK;
}

static bool is_like_shape(const dcsr_i_mxm_row *r)
{
    const dcsr_i_mxm_shape *s = &r->t->shape;
    return r->count == s->count && r->products == s->products && runs_match(r->runs, s->runs.bytes, r->count);
}

static bool is_like_before(const dcsr_i_mxm_row *r)
{
    uint64_t span = (uint64_t)r->last - r->first + 1;
    if (r->count != r->count_before || r->products >= MOST_OF_SHAPE || span >= WIDEST_SHAPE) return false;
    uint64_t bytes = r->count * sizeof *r->runs + (2 * r->products + span) * sizeof(uint32_t);
    if (r->m->has_windows) bytes += 16 * r->products + 4 * r->count; /* at most, of mxm_windows.c */
    return bytes <= room_left(r) && runs_match(r->runs, r->before, r->count);
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
static uint64_t cost_of_few(const dcsr_i_mxm_row *r)
{
    return dcsr_i_mxm_is_few(r) ? 3 * r->products : UINT64_MAX;
}

/* And the memory it takes. */
static uint64_t bytes_of_scanning(const dcsr_i_mxm_row *r)
{
    return (r->last - r->first + (uint64_t)1) * (r->m->size + 1);
}
static uint64_t bytes_of_sorting(const dcsr_i_mxm_row *r)
{
    return r->products * (2 * sizeof(uint64_t) + sizeof(uint32_t));
}
static uint64_t bytes_of_few(const dcsr_i_mxm_row *r)
{
    return r->products * sizeof(uint32_t);
}

static const struct {
    uint64_t (*cost)(const dcsr_i_mxm_row *r), (*bytes)(const dcsr_i_mxm_row *r);
    dcsr_status (*write)(const dcsr_i_mxm_row *r, dcsr_i_room room, uint32_t *length);
} ways[] = {{cost_of_scanning, bytes_of_scanning, write_scanned},
            {cost_of_sorting, bytes_of_sorting, write_sorted},
            {cost_of_few, bytes_of_few, write_few}};

/* The cheapest way for which there is memory; if there is none, the one that takes least. */
static size_t choose(const dcsr_i_mxm_row *r)
{
    size_t best = 0;
    uint64_t least = UINT64_MAX, least_bytes = UINT64_MAX, left = room_left(r);
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        uint64_t cost = ways[k].cost(r), bytes = cost == UINT64_MAX ? UINT64_MAX : ways[k].bytes(r);
        if (bytes <= left ? cost < least : least == UINT64_MAX && bytes < least_bytes) {
            best = k;
            least = bytes <= left ? cost : UINT64_MAX;
            least_bytes = bytes;
        }
    }
    return best;
}

static dcsr_status write(dcsr_i_mxm_row *r, dcsr_i_room room, uint32_t *length)
{
    if (is_like_shape(r)) return write_like(r, room, length);
    dcsr_i_mxm_bounds(r);
    DCSR_TRY(ways[choose(r)].write(r, room, length));
    return is_like_before(r) ? keep_shape(r, room.columns, *length) : DCSR_OK;
}

static dcsr_status write_row(dcsr_i_mxm_row *r, dcsr_i_room room, uint32_t *length)
{
    dcsr_i_row all;
    *length = 0;
    if (r->m->known) DCSR_TRY(dcsr_i_old_row(&r->t->old, r->t->row, &r->known, &all));
    if (r->count) DCSR_TRY(write(r, room, length));
    return r->m->known ? check_known(r->m, r->t, &r->known, room.columns, *length) : DCSR_OK;
}

static inline void copy_columns(uint32_t *to, const uint32_t *from, uint32_t n)
{
#ifdef DCSR_I_AVX512
    for (uint32_t k = 0; k < n; k += 16) {
        __mmask16 live = (__mmask16)_bzhi_u32(0xffff, n - k < 16 ? n - k : 16);
        _mm512_mask_storeu_epi32(to + k, live, _mm512_maskz_loadu_epi32(live, from + k));
    }
#else
    memcpy(to, from, n * sizeof *to);
#endif
}

/* Rows first to first + count - 1 of the group, none of which has more than one run. */
static dcsr_status write_rows_of_one(const dcsr_i_mxm *m, dcsr_i_mxm_thread *t, unsigned first,
                                     unsigned count, dcsr_i_room room, uint32_t *lengths)
{
    const dcsr_i_mxm_group *g = &t->group;
    uint64_t begin = first ? g->end[first - 1] : 0, end = g->end[first + count - 1], n = 0;
    const dcsr_i_mxm_row all = {.m = m, .t = t, .runs = g->runs + begin, .count = end - begin};
    dcsr_i_row known, every;
    for (const dcsr_i_mxm_run *run = all.runs; run < all.runs + all.count; n += run++->n)
        copy_columns(room.columns + n, run->columns, run->n);
    for (unsigned k = 0; k < count; k++) lengths[k] = (uint32_t)g->products[first + k];
    uint32_t *columns = room.columns;
    for (unsigned k = 0; m->known && k < count; columns += lengths[k++]) {
        t->row = g->first + first + k;
        DCSR_TRY(dcsr_i_old_row(&t->old, t->row, &known, &every));
        DCSR_TRY(check_known(m, t, &known, columns, lengths[k]));
    }
    if (!room.values) return DCSR_OK;
    size_t before = t->in_order.size;
    DCSR_TRY(dcsr_i_mxm_room(m, t, &t->in_order, n * sizeof(uint32_t)));
    uint32_t *places = t->in_order.bytes;
    if (t->in_order.size != before)
        for (uint64_t k = 0; k < t->in_order.size / sizeof *places; k++) places[k] = (uint32_t)k;
    return add_at_places(&all, room.values, places, n);
}

/* From row `first` of the group on, so many rows have one run at most. */
static unsigned rows_of_one(const dcsr_i_mxm_group *g, unsigned first, unsigned count)
{
    uint64_t others = ~(g->of_one >> first);
    unsigned n = others ? (unsigned)__builtin_ctzll(others) : DCSR_I_PAGE_ROWS;
    return n < count - first ? n : count - first;
}

dcsr_status dcsr_i_mxm_group_write(const dcsr_i_mxm *m, dcsr_i_mxm_thread *t, unsigned count,
                                   dcsr_i_room room, uint32_t *lengths)
{
    for (unsigned k = 0; k < count;) {
        unsigned n = rows_of_one(&t->group, k, count);
        if (n) {
            DCSR_TRY(write_rows_of_one(m, t, k, n, room, &lengths[k]));
        } else {
            dcsr_i_mxm_row r;
            dcsr_i_mxm_row_of(&r, m, t, k);
            DCSR_TRY(write_row(&r, room, &lengths[k]));
            n = 1;
        }
        for (; n; n--, k++) {
            room.columns += lengths[k];
            if (room.values) room.values = (char *)room.values + lengths[k] * m->size;
        }
    }
    return DCSR_OK;
}

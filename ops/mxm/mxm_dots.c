/* mxm_dots.c: a masked product as one dot product for each position of the mask: of a row of A with a column of B,
 * a row of B^T. Where the mask has few positions, and B^T is there, that looks at less than the sums of rows do,
 * and needs no transpose. The terms of a sum are in the same order. */
#include "ops/mxm/mxm_look_up.h"
#include "ops/rows/column_bits.h"
#include "ops/rows/row_prefetch.h"

/* ---- Whether that is cheaper ---- */

/* Of some rows, what both ways cost, in the time of a term about. Few entries of A are compared at once. */
static void add_costs(const dcsr_i_rows *a, const dcsr_i_rows *bt, const dcsr_i_rows *mask, uint64_t row,
                      double *dots, double *sums)
{
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    uint64_t length = dcsr_i_rows_length(a, row), looked_at = length > DCSR_I_COLUMNS_AT_ONCE ? length : 0;
    int count = dcsr_i_rows_pieces(mask, row, pieces);
    for (int k = 0; k < count; k++)
        for (uint64_t e = pieces[k].begin; e < pieces[k].begin + pieces[k].length; e++)
            *dots += 8 + 2 * (double)(looked_at + dcsr_i_rows_length(bt, mask->columns[e]));
    *sums += 3 * (double)length * (double)dcsr_i_rows_stored(bt) / (double)bt->cols;
}

bool dcsr_i_mxm_dots_are_cheaper(const dcsr_i_rows *a, const dcsr_i_rows *bt, const dcsr_i_rows *mask,
                                 bool b_is_there)
{
    enum { SAMPLES = 256 };
    double dots = 0, sums = 0, share = a->rows < SAMPLES ? 1 : SAMPLES / (double)a->rows;
    if (a->rows != mask->rows || bt->rows != mask->cols || a->cols != bt->cols || !bt->cols) return false;
    for (uint64_t s = 0; s < SAMPLES && s < a->rows; s++)
        add_costs(a, bt, mask, a->rows < SAMPLES ? s : a->rows / SAMPLES * s, &dots, &sums);
    if (!b_is_there) sums += 16 * (double)dcsr_i_rows_stored(bt) * share;
    return dots < sums;
}

/* ---- Rows ---- */

/* Positions that are looked up together, so that their misses are under way together; terms that are added together,
 * and those that one step may bring. */
enum { POSITIONS = 64, TERMS = 256, STEP = 16 };

/* Rows of the result that are being made. */
typedef struct dots {
    const dcsr_i_mxm *m;
    dcsr_i_mxm_thread *t;
    dcsr_i_room room;
    const uint32_t *names; /* columns of the positions, those of all rows one behind the other */
    uint32_t end;          /* entries of the result */
    uint32_t last;         /* the position that the last entry is of */
    size_t size;           /* of a value of B^T; 0: none is looked at */
    bool counts;           /* it is enough to count terms: all are 1, and summed; or no values are wanted */
    /* The row, its columns of A, which entry of those of all rows its first is, and where its positions end. */
    unsigned row;
    const uint32_t *a;
    uint32_t a_n, a_first, positions_end;
    /* What has not been added yet: from entry `begun` of the result on, which have no value yet. Terms, in runs each
     * of one entry of A, with the place of each in the result, and where the other factor is among the run's
     * values; or how many terms each entry has. */
    uint32_t begun, runs, terms, values;
    dcsr_i_mxm_run run[TERMS];
    uint32_t place[TERMS + STEP], source[TERMS + STEP], count[TERMS + STEP];
    _Alignas(64) char value[(TERMS + STEP) * sizeof(dcsr_i_scalar)]; /* factors that were copied */
} dots;

/* The values of entries, of which the last stays open if more terms may follow: those are counted on. */
static void cast_counts(dots *d, bool more)
{
    if (d->end == d->begun) return;
    if (d->room.values)
        dcsr_i_cast(dcsr_i_monoid_type(d->m->semiring->add), (char *)d->room.values + d->begun * d->m->size,
                    DCSR_UINT32, d->count, d->end - d->begun);
    d->count[0] = d->count[d->end - d->begun - 1];
    d->begun = more ? d->end - 1 : d->end;
}

static dcsr_status add_terms(dots *d)
{
    const dcsr_i_mxm *m = d->m;
    const dcsr_monoid *add = m->semiring->add;
    dcsr_i_broadcast(dcsr_i_monoid_type(add), (char *)d->room.values + d->begun * m->size, &add->start,
                     d->end - d->begun);
    bool done = m->kernel(m->semiring, d->room.values, m->reads_a ? d->t->group.a : NULL, d->run, d->runs,
                          d->place, 0, d->size ? d->source : NULL);
    d->begun = d->end;
    d->runs = d->terms = d->values = 0;
    return done ? DCSR_OK : dcsr_i_mxm_refused(m);
}

/* There is room for another step after this. */
static inline dcsr_status make_room(dots *d)
{
    if (d->counts && d->end - d->begun > TERMS - STEP) cast_counts(d, true);
    return d->terms > TERMS - STEP || d->runs > TERMS - STEP || d->values > TERMS - STEP ? add_terms(d)
                                                                                         : DCSR_OK;
}

/* The entry of the result for a position with n more terms; it is there to stay if there are any. */
static inline uint32_t entry_of(dots *d, uint32_t position, uint32_t n)
{
    uint32_t entry = d->end;
    if (position == d->last) {
        if (d->counts) d->count[entry - 1 - d->begun] += n;
        return entry - 1;
    }
    d->room.columns[entry] = d->names[position];
    if (d->counts) d->count[entry - d->begun] = n;
    d->last = n ? position : d->last;
    d->end += n != 0;
    return entry;
}

/* A run, merged with the row of A. */
static dcsr_status meet_long(dots *d, const dcsr_i_mxm_run *run)
{
    dcsr_i_mxm_thread *t = d->t;
    uint64_t most = (d->a_n > run->n ? d->a_n : run->n) + (uint64_t)1;
    if (run->columns[0] > d->a[d->a_n - 1] || run->columns[run->n - 1] < d->a[0]) return DCSR_OK;
    DCSR_TRY(dcsr_i_mxm_room(d->m, t, &t->places, most * sizeof(uint32_t)));
    DCSR_TRY(dcsr_i_mxm_room(d->m, t, &t->keys, most * sizeof(uint32_t)));
    uint32_t *in_a = t->places.bytes, *in_b = t->keys.bytes;
    uint32_t n = (uint32_t)dcsr_i_columns_in_both(d->a, d->a_n, run->columns, run->n, in_a, in_b);
    uint32_t entry = entry_of(d, run->entry, n);
    for (uint32_t k = 0; !d->counts && k < n; k++) {
        const void *value = d->size ? (const char *)run->values + in_b[k] * d->size : NULL;
        DCSR_TRY(make_room(d));
        d->run[d->runs++] = (dcsr_i_mxm_run){NULL, value, 1, d->a_first + in_a[k]};
        d->place[d->terms] = entry;
        d->source[d->terms++] = 0;
    }
    return make_room(d);
}

#ifdef DCSR_I_AVX512

enum { LANES = 16 };

static inline __mmask16 first_lanes(uint32_t n)
{
    return (__mmask16)_bzhi_u32(0xffff, n);
}

/* Copies n <= LANES values. */
static inline void copy_values(char *to, const char *from, uint32_t n, size_t size)
{
    __mmask16 live = first_lanes(n);
    if (size == 8) {
        __mmask8 low = (__mmask8)live, high = (__mmask8)(live >> 8);
        _mm512_mask_storeu_epi64(to, low, _mm512_maskz_loadu_epi64(low, from));
        if (high) _mm512_mask_storeu_epi64(to + 64, high, _mm512_maskz_loadu_epi64(high, from + 64));
    } else if (size == 4) {
        _mm512_mask_storeu_epi32(to, live, _mm512_maskz_loadu_epi32(live, from));
    } else {
        memcpy(to, from, n * size);
    }
}

/* Notes the terms of runs whose entries are in lanes; met[k] are the lanes that have entry k of the row of A. Terms
 * come by entries of A, so those of one position in order. */
static void note_terms(dots *d, const dcsr_i_mxm_run *runs, const dcsr_i_mxm_run *end, const __mmask16 *met,
                       __mmask16 any)
{
    const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    __m512i place = _mm512_setzero_si512(),
            source = _mm512_add_epi32(lane, _mm512_set1_epi32((int)d->values));
    uint32_t at = 0;
    for (const dcsr_i_mxm_run *run = runs; run < end; at += run++->n) {
        __mmask16 lanes = (__mmask16)(first_lanes(run->n) << at);
        uint32_t n = (uint32_t)__builtin_popcount(any & lanes);
        place = _mm512_mask_set1_epi32(place, lanes, (int)entry_of(d, run->entry, n));
        if (d->size) copy_values(d->value + (d->values + at) * d->size, run->values, run->n, d->size);
    }
    for (uint32_t k = 0; k < d->a_n; k++) {
        if (!met[k]) continue;
        uint32_t n = (uint32_t)__builtin_popcount(met[k]);
        _mm512_storeu_si512(d->place + d->terms, _mm512_maskz_compress_epi32(met[k], place));
        if (d->size) _mm512_storeu_si512(d->source + d->terms, _mm512_maskz_compress_epi32(met[k], source));
        d->run[d->runs++] = (dcsr_i_mxm_run){NULL, d->value, n, d->a_first + k};
        d->terms += n;
    }
    d->values += d->size ? at : 0;
}

/* Counts the terms of runs whose entries are in lanes, of which `any` have met one of A: entry_of() of each run, with
 * what changes in registers. */
static inline void count_terms(dots *d, const dcsr_i_mxm_run *run, const dcsr_i_mxm_run *end, __mmask16 any)
{
    uint32_t to = d->end - d->begun, last = d->last, lanes = any, *columns = d->room.columns + d->begun;
    const uint32_t *names = d->names;
    for (; run < end; lanes >>= run++->n) {
        uint32_t n = (uint32_t)__builtin_popcount(lanes & first_lanes(run->n));
        if (run->entry == last) {
            d->count[to - 1] += n;
            continue;
        }
        columns[to] = names[run->entry];
        d->count[to] = n;
        last = n ? run->entry : last;
        to += n != 0;
    }
    d->end = d->begun + to;
    d->last = last;
}

/* The lanes that have a column of A: of column k met[k], unless that is NULL, and of any. */
static inline __attribute__((always_inline)) __mmask16 compare(const dots *d, __m512i columns, __mmask16 live,
                                                               __mmask16 *met)
{
    __mmask16 any = 0;
    for (uint32_t k = 0; k < d->a_n; k++) {
        __mmask16 same = _mm512_mask_cmpeq_epi32_mask(live, columns, _mm512_set1_epi32((int)d->a[k]));
        if (met) met[k] = same;
        any |= same;
    }
    return any;
}

/* Some runs of at most LANES entries together with a row of A of as many at most: each of its columns is compared
 * with all entries of the runs. */
static inline dcsr_status meet(dots *d, const dcsr_i_mxm_run *runs, const dcsr_i_mxm_run *end)
{
    __m512i columns = _mm512_setzero_si512();
    __mmask16 met[LANES], any;
    uint32_t at = 0;
    for (const dcsr_i_mxm_run *run = runs; run < end; at += run++->n) {
        __m512i these = _mm512_maskz_loadu_epi32(first_lanes(run->n), run->columns);
        columns = _mm512_mask_expand_epi32(columns, (__mmask16)(first_lanes(run->n) << at), these);
    }
    if (d->counts) {
        if ((any = compare(d, columns, first_lanes(at), NULL))) count_terms(d, runs, end, any);
    } else if ((any = compare(d, columns, first_lanes(at), met))) {
        note_terms(d, runs, end, met, any);
    }
    return any ? make_room(d) : DCSR_OK;
}

/* A run of more entries. */
static dcsr_status meet_parts(dots *d, const dcsr_i_mxm_run *run)
{
    for (uint32_t from = 0; from < run->n; from += LANES) {
        dcsr_i_mxm_run part = {run->columns + from,
                               d->size ? (const char *)run->values + from * d->size : NULL,
                               run->n - from < LANES ? run->n - from : LANES, run->entry};
        if (part.columns[0] > d->a[d->a_n - 1]) break;
        if (part.columns[part.n - 1] >= d->a[0]) DCSR_TRY(meet(d, &part, &part + 1));
    }
    return DCSR_OK;
}

/* Runs of the row from this one on, one at least. *run advances. */
static inline dcsr_status meet_next(dots *d, const dcsr_i_mxm_run **run, const dcsr_i_mxm_run *end)
{
    const dcsr_i_mxm_run *first = *run, *next = first;
    if (d->a_n > LANES || first->n > LANES) {
        ++*run;
        return d->a_n > LANES ? meet_long(d, first) : meet_parts(d, first);
    }
    for (uint32_t n = 0; next < end && next->entry < d->positions_end && n + next->n <= LANES; next++)
        n += next->n;
    *run = next;
    return meet(d, first, next);
}

#else

static inline dcsr_status meet_next(dots *d, const dcsr_i_mxm_run **run, const dcsr_i_mxm_run *end)
{
    (void)end;
    return meet_long(d, (*run)++);
}

#endif

/* Turns to the row that the position is of; d->row is then that. */
static void turn_to(dots *d, const uint32_t *a_lengths, const uint32_t *positions, uint32_t position,
                    uint32_t *lengths)
{
    while (position >= d->positions_end) {
        lengths[d->row++] = d->end;
        d->a += d->a_n;
        d->a_first += d->a_n;
        d->a_n = a_lengths[d->row];
        d->positions_end += positions[d->row];
    }
}

static dcsr_status make_rows(dots *d, unsigned count, const uint32_t *a_lengths, const uint32_t *positions,
                             uint32_t *lengths)
{
    dcsr_i_mxm_run runs[POSITIONS * DCSR_MAX_SEGMENTS];
    dcsr_i_mxm_rows bt = {.rows = d->m->bt, .size = d->size, .number = UINT64_MAX};
    uint64_t products = 0;
    uint32_t n = 0;
    for (unsigned k = 0; k < count; k++) n += positions[k];
    for (uint32_t from = 0, to; from < n; from = to) {
        to = n - from < POSITIONS ? n : from + POSITIONS;
        const dcsr_i_mxm_run *run = runs,
                             *end = bt.rows->offsets
                                        ? dcsr_i_mxm_look_up_offsets(&bt, d->names, from, to, runs, &products)
                                        : dcsr_i_mxm_look_up(&bt, d->names, from, to, runs, &products);
        while (run < end) {
            turn_to(d, a_lengths, positions, run->entry, lengths);
            if (!d->a_n)
                run++;
            else
                DCSR_TRY(meet_next(d, &run, end));
        }
    }
    while (d->row < count) lengths[d->row++] = d->end;
    for (unsigned k = count; k-- > 1;) lengths[k] -= lengths[k - 1];
    return DCSR_OK;
}

dcsr_status dcsr_i_mxm_dots(const dcsr_i_mxm *m, dcsr_i_mxm_thread *t, uint64_t first, unsigned count,
                            const dcsr_i_mxm_positions *where, dcsr_i_room room, uint32_t *lengths)
{
    const dcsr_semiring *semiring = m->semiring;
    uint32_t a_lengths[DCSR_I_PAGE_ROWS];
    dcsr_i_row_block block;
    dots d;
    d.m = m;
    d.t = t;
    d.room = room;
    d.names = where->columns;
    d.end = d.row = d.a_first = d.begun = d.runs = d.terms = d.values = 0;
    d.last = UINT32_MAX;
    d.size = m->reads_b && room.values ? dcsr_type_size(m->bt->type) : 0;
    bool ones = semiring->add->name == DCSR_BINARY_PLUS && semiring->multiply->name == DCSR_BINARY_PAIR;
    d.counts = !room.values || (ones && dcsr_i_monoid_type(semiring->add) != DCSR_BOOL);
    d.a = NULL;
    t->row = first;
    dcsr_i_row_block_of(&block, m->a, first, count, a_lengths);
    if (block.entries) DCSR_TRY(dcsr_i_mxm_read_a(m, t, &block, &d.a));
    dcsr_i_page_prefetch(m->a, (first >> DCSR_I_PAGE_SHIFT) + 1);
    d.a_n = *a_lengths;
    d.positions_end = *where->lengths;
    DCSR_TRY(make_rows(&d, count, a_lengths, where->lengths, lengths));
    if (!d.counts) return add_terms(&d);
    cast_counts(&d, false);
    return DCSR_OK;
}

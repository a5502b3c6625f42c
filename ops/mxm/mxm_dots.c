/* mxm_dots.c: a masked product as one dot product for each position of the mask: of a row of A with a column of B,
 * a row of B^T. Where the mask has few positions, and B^T is there, that looks at less than the sums of rows do,
 * and needs no transpose. The terms of a sum are in the same order. */
#include "ops/mxm/mxm_row.h"
#include "ops/rows/column_bits.h"

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

/* ---- A row ---- */

/* The terms of some positions, which have not been added yet: each is a run of one entry. */
typedef struct terms {
    uint32_t count, first, end; /* positions */
} terms;

static dcsr_status add_terms(const dcsr_i_mxm *m, dcsr_i_mxm_thread *t, terms *x, const void *a,
                             dcsr_i_room room)
{
    const dcsr_monoid *add = m->semiring->add;
    void *z = (char *)room.values + x->first * m->size;
    dcsr_i_broadcast(dcsr_i_monoid_type(add), z, &add->start, x->end - x->first);
    bool done = m->kernel(m->semiring, room.values, m->reads_a ? a : NULL, t->runs.bytes, x->count,
                          t->spare.bytes, 0, NULL);
    *x = (terms){.first = x->end, .end = x->end};
    return done ? DCSR_OK : dcsr_i_mxm_refused(m);
}

/* Notes n terms of the next position, which are in t->places and t->keys. */
static void note_terms(const dcsr_i_mxm *m, dcsr_i_mxm_thread *t, terms *x, const dcsr_i_row *b, uint32_t n)
{
    const uint32_t *entry = t->places.bytes, *other = t->keys.bytes;
    size_t size = m->reads_b ? dcsr_type_size(m->semiring->multiply->ytype) : 0;
    dcsr_i_mxm_run *run = (dcsr_i_mxm_run *)t->runs.bytes + x->count;
    uint32_t *place = (uint32_t *)t->spare.bytes + x->count;
    for (uint32_t k = 0; k < n; k++) {
        run[k] = (dcsr_i_mxm_run){NULL, size ? (const char *)b->values + other[k] * size : NULL, 1, entry[k]};
        place[k] = x->end;
    }
    x->count += n;
    x->end++;
}

/* Room to compare with a row of so many entries, and for as many terms. */
static dcsr_status make_room(const dcsr_i_mxm *m, dcsr_i_mxm_thread *t, uint64_t most)
{
    if (t->places.size >= (most + 1) * sizeof(uint32_t) && t->runs.size >= most * sizeof(dcsr_i_mxm_run) &&
        t->keys.size >= (most + 1) * sizeof(uint32_t) && t->spare.size >= most * sizeof(uint32_t))
        return DCSR_OK;
    DCSR_TRY(dcsr_i_mxm_room(m, t, &t->places, (most + 1) * sizeof(uint32_t)));
    DCSR_TRY(dcsr_i_mxm_room(m, t, &t->keys, (most + 1) * sizeof(uint32_t)));
    DCSR_TRY(dcsr_i_mxm_room(m, t, &t->spare, most * sizeof(uint32_t)));
    return dcsr_i_mxm_room(m, t, &t->runs, most * sizeof(dcsr_i_mxm_run));
}

dcsr_status dcsr_i_mxm_dots(const dcsr_i_mxm *m, dcsr_i_mxm_thread *t, uint64_t row,
                            const dcsr_i_row_mask *mask, dcsr_i_room room, uint32_t *length)
{
    enum { AT_ONCE = 128 }; /* terms */
    dcsr_i_row a, b;
    terms x = {0};
    t->row = row;
    *length = 0;
    DCSR_TRY(dcsr_i_row_get(&t->rows_of_a, row, &a));
    if (!a.n) return DCSR_OK;
    for (uint64_t p = 0; p < mask->n; p++) {
        DCSR_TRY(dcsr_i_row_get(&t->columns_of_b, mask->columns[p], &b));
        if (!b.n || b.columns[0] > a.columns[a.n - 1] || b.columns[b.n - 1] < a.columns[0]) continue;
        uint64_t most = a.n > b.n ? a.n : b.n;
        bool lasts = b.columns != t->columns_of_b.columns.bytes && x.count + most <= AT_ONCE;
        if (x.count && !lasts && room.values) DCSR_TRY(add_terms(m, t, &x, a.values, room));
        DCSR_TRY(make_room(m, t, most > AT_ONCE ? most : AT_ONCE));
        uint32_t n =
            (uint32_t)dcsr_i_columns_in_both(a.columns, a.n, b.columns, b.n, t->places.bytes, t->keys.bytes);
        if (!n) continue;
        room.columns[x.end] = mask->columns[p];
        if (!room.values) x.count = 0;
        note_terms(m, t, &x, &b, n);
        if (!lasts && room.values) DCSR_TRY(add_terms(m, t, &x, a.values, room));
    }
    if (x.count && room.values) DCSR_TRY(add_terms(m, t, &x, a.values, room));
    *length = x.end;
    return DCSR_OK;
}

/* shift.c: changing a row where it is, by the entries of a batch that have been looked for.
 *
 *      before   2 5 7 9 . .                        4 and 7 come: 4 is to be at position 1, 7 is there
 *      after    2 4 5 7 9 .                        what is behind is shifted, from the last gap on
 *      before   2 4 5 7 9 .                        4 and 9 go
 *      after    2 5 7 . . .
 *
 * Each change can be taken back: values that become others, or go, are kept with the batch.
 *
 * Rows that are not kept resolved are not looked into when entries come. When some go, short ones are: all that they
 * have of a column is taken out, in any piece, and the rest moves up. */
#include "dcsr/store/cpu/batch.h"

/* Moves entries of the arena, which may overlap. */
static inline void shift(const dcsr_i_batch *b, uint64_t to, uint64_t from, uint64_t entries)
{
    const size_t size = b->matrix->value_size;
    uint32_t *columns = b->matrix->arena.columns;
    char *values = b->matrix->arena.values;
    memmove(columns + to, columns + from, entries * sizeof *columns);
    if (size) memmove(values + to * size, values + from * size, entries * size);
}

/* The entries of a row in the batch, from the i-th on, of which those that are `there` or not are meant below. */
typedef struct row_part {
    const dcsr_i_batch *b;
    uint64_t begin, length; /* of the row in the arena, before the change */
    uint64_t i, end;
    bool there;
} row_part;

/* Takes them out of the row, whose gaps close up, and keeps their values; returns how many these are. */
static uint64_t close_gaps(const row_part *p)
{
    const dcsr_i_batch *b = p->b;
    const size_t size = b->matrix->value_size;
    uint64_t gaps = 0, from = 0;
    for (uint64_t e = p->i; e < p->end; e++) {
        const uint64_t position = b->found[e].position;
        if (b->found[e].there != p->there) continue;
        if (gaps) shift(b, p->begin + from - gaps, p->begin + from, position - from);
        if (size)
            dcsr_i_copy_one(b->values + e * size, b->matrix->arena.values + (p->begin + position) * size,
                            size);
        from = position + 1;
        gaps++;
    }
    if (gaps) shift(b, p->begin + from - gaps, p->begin + from, p->length - from);
    return gaps;
}

/* Puts them into the row, from the last one on: those that come, or that were kept. */
static void open_gaps(const row_part *p, uint64_t gaps)
{
    const dcsr_i_batch *b = p->b;
    const size_t size = b->matrix->value_size;
    uint64_t length = p->length;
    for (uint64_t e = p->end; gaps && e-- > p->i;) {
        const uint64_t position = b->found[e].position;
        if (b->found[e].there != p->there) continue;
        shift(b, p->begin + position + gaps, p->begin + position, length - position);
        const uint64_t to = p->begin + position + --gaps;
        length = position;
        if (!b->mark) {
            dcsr_i_store_entries(b, e, 1, to);
            continue;
        }
        b->matrix->arena.columns[to] = dcsr_i_column_at(b, e);
        if (size) dcsr_i_copy_one(b->matrix->arena.values + to * size, b->values + e * size, size);
    }
}

/* Entries that come for others that are there: combines their values, and keeps what these were; or takes that back. */
static void combine(const row_part *p, bool back)
{
    const dcsr_i_batch *b = p->b;
    const size_t size = b->matrix->value_size;
    const dcsr_i_combine add = dcsr_i_combiner(b->matrix->type, b->matrix->policy);
    for (uint64_t e = p->i; size && e < p->end; e++) {
        if (!b->found[e].there) continue;
        char *kept = b->values + e * size,
             *value = b->matrix->arena.values + (p->begin + b->found[e].position) * size;
        dcsr_i_copy_one(back ? value : kept, back ? kept : value, size);
        if (!back) add(value, &b->entries[2 * e + 1]);
    }
}

static row_part part_of(const dcsr_i_batch *b, const dcsr_i_row_page *page, uint64_t i)
{
    const unsigned r = dcsr_i_row_in_page(b, dcsr_i_key_at(b, i));
    return (row_part){.b = b,
                      .begin = dcsr_i_begin_of(page, 0, r),
                      .length = page->length[r],
                      .i = i,
                      .end = i + b->growth[i].entries,
                      .there = b->mark};
}

uint64_t dcsr_i_shift_row(const dcsr_i_batch *b, dcsr_i_row_page *page, uint64_t i)
{
    const row_part part = part_of(b, page, i);
    uint64_t change = b->growth[i].absent;
    if (b->mark) {
        change = -close_gaps(&part);
    } else {
        if (change < b->growth[i].entries) combine(&part, false);
        open_gaps(&part, change);
    }
    page->length[dcsr_i_row_in_page(b, dcsr_i_key_at(b, i))] += (uint32_t)change;
    return change;
}

/* Positions among what is left, or among what is there, become the others. */
static uint64_t renumber(const row_part *p)
{
    uint32_t gaps = 0;
    for (uint64_t e = p->i; e < p->end; e++) {
        if (p->b->found[e].there != p->there) continue;
        p->b->found[e].position += p->b->mark ? -gaps : gaps;
        gaps++;
    }
    return gaps;
}

void dcsr_i_unshift_row(const dcsr_i_batch *b, dcsr_i_row_page *page, uint64_t i)
{
    const row_part part = part_of(b, page, i);
    uint64_t change = renumber(&part);
    if (b->mark) {
        open_gaps(&part, change);
    } else {
        close_gaps(&part);
        combine(&part, true);
        change = -change;
    }
    page->length[dcsr_i_row_in_page(b, dcsr_i_key_at(b, i))] += (uint32_t)change;
}

/* ---- Rows that are not resolved ---- */

/* Takes the entry at place i out of piece k: those behind it move up, in order. */
static void close_gap(const dcsr_i_batch *b, const dcsr_i_piece *pieces, int count, int k, uint64_t i)
{
    for (;; k++, i = pieces[k].begin) {
        const uint64_t last = pieces[k].begin + pieces[k].length - 1;
        shift(b, i, i + 1, last - i);
        if (k == count - 1 || !pieces[k + 1].length) break;
        shift(b, last, pieces[k + 1].begin, 1);
    }
}

/* Takes all entries of a column out of pieces, the last of which become shorter; returns how many these are. */
static uint64_t take_out_column(const dcsr_i_batch *b, dcsr_i_piece *pieces, int *count, bool ascends,
                                uint32_t column)
{
    const uint32_t *columns = b->matrix->arena.columns;
    uint64_t gone = 0;
    for (int k = 0; k < *count; k++) {
        uint64_t i = dcsr_i_first_place(columns, &pieces[k], !k && ascends, column);
        while ((i = dcsr_i_find_column(columns, i, pieces[k].begin + pieces[k].length, column)) <
               pieces[k].begin + pieces[k].length) {
            close_gap(b, pieces, *count, k, i);
            gone++;
            if (!--pieces[*count - 1].length && !--*count) return gone;
            if (k == *count) return gone;
        }
    }
    return gone;
}

dcsr_i_retired *dcsr_i_take_out(const dcsr_i_batch *b, dcsr_i_row_page *page, uint64_t i, dcsr_i_retired *to,
                                dcsr_i_table_change *sum)
{
    const unsigned r = dcsr_i_row_in_page(b, dcsr_i_key_at(b, i));
    const uint64_t bit = (uint64_t)1 << r;
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS], segments[DCSR_MAX_SEGMENTS];
    const int count = dcsr_i_row_pieces(page, r, pieces);
    const int had = count > 1 ? dcsr_i_segments_of(b->matrix, page, r, segments) : 1;
    uint64_t gone = 0;
    int left = count;
    for (uint64_t e = i; left && e < i + b->growth[i].entries; e++) {
        const uint64_t here =
            take_out_column(b, pieces, &left, page->ascending & bit, dcsr_i_column_at(b, e));
        if (here && count > 1) page->ascending &= ~bit;
        gone += here;
    }
    page->length[r] -= (uint32_t)gone;
    sum->stored -= gone;
    if (left == count) return to;
    const int keeps = left ? left : 1; /* which may be empty */
    sum->extra -= (uint64_t)(count - keeps);
    if (keeps == 1) page->fragmented &= ~bit;
    for (int k = keeps; k < had; k++)
        *to++ =
            (dcsr_i_retired){.kind = DCSR_I_RANGE, .begin = segments[k].begin, .size = segments[k].length};
    if (keeps < had) dcsr_i_clear_segments(page, keeps, r, b->matrix->segments_per_row);
    if (left) return to;
    sum->duplicates -= page->duplicates >> r & 1;
    sum->tombstones -= page->tombstones >> r & 1;
    page->duplicates &= ~bit;
    page->tombstones &= ~bit;
    return to;
}

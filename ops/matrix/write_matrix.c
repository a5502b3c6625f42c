/* write_matrix.c: running a producer of rows over all rows, and writing what comes of it.
 * Threads take pages of 64 rows. Where few rows can change, the others are kept as they are, and not looked at.
 *
 * Where there is neither mask nor accumulator, blocks are produced right in the room where they stay; else
 * T's rows are produced in scratch memory of the thread and merged from there (merge_row.c). */
#include "dcsr/base/search.h"
#include "dcsr/base/turn.h"
#include "ops/matrix/merge_row.h"
#include "ops/rows/row_block.h"
#include <stdatomic.h>

/* Memory of one thread. */
typedef struct writer {
    _Alignas(64) int number;
    dcsr_i_old_reader old;
    dcsr_i_row_reader mask;
    dcsr_i_merger merger;
    dcsr_i_scratch columns, values;          /* of a block of T */
    dcsr_i_scratch mask_columns, mask_truth; /* of a row of the mask */
    bool duplicates;                         /* a row was written that has some */
} writer;

typedef struct writing {
    const dcsr_i_rowwise *op;
    dcsr_matrix *C;
    bool nowhere;            /* the complement of no mask: nothing of T is written */
    bool plain;              /* C = T: no mask, no accumulator, nothing kept */
    bool complement, values; /* whether values of T are wanted */
    const dcsr_i_rows *mask; /* NULL: none */
    bool mask_is_pattern;    /* it is true where it has an entry */
    bool fills;              /* T is one value wherever the mask, a pattern, lets it be written */
    dcsr_i_scalar value;     /* that value, in C's type */
    const dcsr_i_rows *old;  /* what C holds; NULL where that does not matter */
    dcsr_i_old holds;
    dcsr_i_change change;
    bool keep; /* rows of C that cannot change are not written */
    dcsr_i_merging merging;
    dcsr_i_result result;
    uint64_t pages, portion; /* that a thread takes at once */
    _Atomic uint64_t next;
    const struct dcsr_i_turn *turn; /* C's, which all threads work in */
    /* The first failure. */
    pthread_mutex_t lock;
    atomic_bool failed;
    dcsr_status status;
    char message[400];
} writing;

/* ---- Rows without entries ---- */

/* Whether T has no entries in a page. */
static bool source_is_empty(const dcsr_i_rowwise *op, uint64_t p)
{
    if (op->make.next_page) return op->make.next_page(op->make.user, p) != p;
    if (!op->T.source[0]) return false;
    return dcsr_i_rows_are_empty(op->T.source[0], p, p + 1) &&
           (!op->T.source[1] || dcsr_i_rows_are_empty(op->T.source[1], p, p + 1));
}

/* Nothing of T will be written in a page. */
static bool is_masked_out(const writing *j, uint64_t p)
{
    return j->mask && !j->complement && dcsr_i_rows_are_empty(j->mask, p, p + 1);
}

static uint64_t next_of_source(const dcsr_i_rowwise *op, uint64_t p)
{
    if (op->make.next_page) return op->make.next_page(op->make.user, p);
    if (!op->T.source[0]) return p;
    uint64_t first = dcsr_i_rows_next_page(op->T.source[0], p),
             second = op->T.source[1] ? dcsr_i_rows_next_page(op->T.source[1], p) : UINT64_MAX;
    return first < second ? first : second;
}

/* The first page from p on that has one of the rows of the list, or may have. */
static uint64_t next_of_list(const dcsr_i_index_list *list, uint64_t p)
{
    uint64_t first = p << DCSR_I_PAGE_SHIFT;
    if (dcsr_i_index_list_meets(list, first, first + DCSR_I_PAGE_ROWS)) return p;
    uint64_t at = dcsr_i_list_find(list->indices, 0, list->n, first);
    return at < list->n ? list->indices[at] >> DCSR_I_PAGE_SHIFT : UINT64_MAX;
}

/* The first page from p on that has all that it takes to be written: mask, rows of the region and, where
 * `either` is NULL, entries of T, else entries of T or of that. */
static uint64_t next_of_all(const writing *j, const dcsr_i_index_list *list, const dcsr_i_rows *either,
                            uint64_t p)
{
    for (uint64_t from = UINT64_MAX; p != from && p < j->pages;) {
        from = p;
        if (j->mask && !j->complement) p = dcsr_i_rows_next_page(j->mask, p);
        if (list && p < j->pages) p = next_of_list(list, p);
        if (p >= j->pages) break;
        uint64_t T = next_of_source(j->op, p), old = either ? dcsr_i_rows_next_page(either, p) : UINT64_MAX;
        p = T < old ? T : old;
    }
    return p;
}

/* The first page from p on in which there may be something to write; at least the number of pages if there is
 * none. What neither T nor the mask nor, where it counts, C has is skipped, at little cost. */
static uint64_t next_page_to_write(const writing *j, uint64_t p)
{
    if (p >= j->pages) return p;
    if (j->keep)
        return next_of_all(j, j->change.in_region ? &j->op->out.region->rows : NULL,
                           j->change.in_T ? NULL : j->old, p);
    uint64_t written = next_of_all(j, NULL, NULL, p),
             old = j->old ? dcsr_i_rows_next_page(j->old, p) : UINT64_MAX;
    return written < old ? written : old;
}

/* ---- C = T ---- */

/* The next block of T: how many rows it has of `count`, and how many entries at most. */
static dcsr_status plan_block(writing *j, const writer *t, uint64_t first, unsigned *count, uint64_t *most)
{
    const dcsr_i_producer *make = &j->op->make;
    *most = 0;
    if (make->plan) return make->plan(make->user, t->number, first, count, most);
    *most = make->most(make->user, first, *count);
    return DCSR_OK;
}

/* A block of T, of so many entries at most, in scratch memory. */
static dcsr_status block_in_scratch(writing *j, writer *t, uint64_t first, unsigned count, uint64_t most,
                                    bool columns, dcsr_i_room *room, uint32_t *lengths)
{
    const dcsr_i_rowwise *op = j->op;
    size_t size = j->values ? dcsr_type_size(op->T.type) : 0;
    if (columns) {
        DCSR_TRY(dcsr_i_scratch_room(&t->columns, j->C->context, most * sizeof(uint32_t)));
        room->columns = t->columns.bytes;
    }
    if (size) DCSR_TRY(dcsr_i_scratch_room(&t->values, j->C->context, most * size));
    room->values = size ? t->values.bytes : NULL;
    return op->make.block(op->make.user, t->number, first, count, *room, lengths);
}

/* The next rows, *count at most. */
static dcsr_status write_block(writing *j, writer *t, uint64_t first, unsigned *count)
{
    const dcsr_i_rowwise *op = j->op;
    uint32_t lengths[DCSR_I_PAGE_ROWS];
    uint64_t most;
    dcsr_i_room room;
    DCSR_TRY(plan_block(j, t, first, count, &most));
    DCSR_TRY(dcsr_i_result_room(&j->result, t->number, most, &room));
    if (op->T.type == j->C->type || !room.values) {
        DCSR_TRY(op->make.block(op->make.user, t->number, first, *count, room, lengths));
    } else {
        dcsr_i_room made = room;
        DCSR_TRY(block_in_scratch(j, t, first, *count, most, false, &made, lengths));
        uint64_t n = 0;
        for (unsigned r = 0; r < *count; r++) n += lengths[r];
        dcsr_i_cast(j->C->type, room.values, op->T.type, made.values, n);
    }
    return dcsr_i_result_add(&j->result, t->number, first, *count, lengths);
}

static dcsr_status write_row(writing *j, writer *t, uint64_t row)
{
    const dcsr_i_rowwise *op = j->op;
    dcsr_i_row T = {0};
    dcsr_i_room room;
    DCSR_TRY(op->make.row(op->make.user, t->number, row, NULL, &T));
    if (!T.n) return DCSR_OK;
    DCSR_TRY(dcsr_i_result_room(&j->result, t->number, T.n, &room));
    memcpy(room.columns, T.columns, T.n * sizeof *room.columns);
    if (room.values) dcsr_i_cast(j->C->type, room.values, op->T.type, T.values, T.n);
    uint32_t length = (uint32_t)T.n;
    return dcsr_i_result_add(&j->result, t->number, row, 1, &length);
}

/* ---- With mask, accumulator, or what C holds ---- */

/* Where the mask's row is true, before it is complemented. */
static dcsr_status read_mask(writing *j, writer *t, uint64_t row, dcsr_i_row_mask *mask)
{
    dcsr_i_row read;
    *mask = (dcsr_i_row_mask){.complement = j->complement};
    DCSR_TRY(dcsr_i_row_get(&t->mask, row, &read));
    mask->n = read.n;
    mask->columns = read.columns;
    if (j->mask_is_pattern || !read.n) return DCSR_OK;
    DCSR_TRY(dcsr_i_scratch_room(&t->mask_truth, j->C->context, read.n * sizeof(bool)));
    DCSR_TRY(dcsr_i_scratch_room(&t->mask_columns, j->C->context, read.n * sizeof(uint32_t)));
    bool *truth = t->mask_truth.bytes;
    uint32_t *columns = t->mask_columns.bytes;
    dcsr_i_cast(DCSR_BOOL, truth, j->mask->type, read.values, read.n);
    mask->n = 0;
    for (uint64_t i = 0; i < read.n; i++)
        if (truth[i]) columns[mask->n++] = read.columns[i];
    mask->columns = columns;
    return DCSR_OK;
}

/* Rows of one page that are merged. */
typedef struct page_rows {
    uint64_t first;
    unsigned count;
    uint64_t inside; /* a bit for each that T may have entries in */
    uint64_t wanted; /* a bit for each that is to be looked at */
    bool empty;      /* T has no entries in any */
} page_rows;

/* Whether row r of the page stays as it is, and is kept. */
static bool row_stays(const writing *j, const dcsr_i_row_mask *mask, uint64_t T_entries)
{
    return j->keep && ((j->change.in_T && !T_entries) || (j->change.in_mask && !mask->n));
}

/* A row of C as it is; without entries where that does not matter. */
typedef struct old_row {
    dcsr_i_row row, all; /* `all`: dcsr_i_old_row() */
} old_row;

static dcsr_status read_old(const writing *j, writer *t, uint64_t row, old_row *old)
{
    *old = (old_row){0};
    return j->old ? dcsr_i_old_row(&t->old, row, &old->row, &old->all) : DCSR_OK;
}

/* Merges T into what C holds in a row; `outside`: it is none of the region's. */
static dcsr_status merge_row(writing *j, writer *t, bool outside, const dcsr_i_row_mask *mask,
                             const old_row *old, const dcsr_i_row *T, dcsr_i_room room, uint32_t *length)
{
    const dcsr_i_row_mask *seen = j->mask ? mask : NULL;
    *length = 0;
    if (!old->row.n && !T->n) return DCSR_OK;
    DCSR_TRY(dcsr_i_merge_row(&t->merger, &j->merging, outside, seen, &old->row, T, room, length));
    if (!old->all.n) return DCSR_OK;
    t->duplicates = true;
    return dcsr_i_merge_duplicates(&t->merger, &j->merging, outside, seen, &old->all, T, room, length);
}

/* The rows of one page as they are. */
static dcsr_status keep_page(writing *j, writer *t, uint64_t first, unsigned count)
{
    uint32_t lengths[DCSR_I_PAGE_ROWS];
    dcsr_i_row_block old;
    dcsr_i_room room;
    dcsr_i_row_block_of(&old, j->old, first, count, lengths);
    DCSR_TRY(dcsr_i_result_room(&j->result, t->number, old.entries, &room));
    dcsr_i_row_block_columns(&old, j->old, room.columns);
    if (room.values) dcsr_i_row_block_values(&old, j->old, j->C->type, room.values);
    return dcsr_i_result_add(&j->result, t->number, first, count, lengths);
}

/* T comes as a block of as many of the rows as it is planned for, which are added as one. */
static dcsr_status merge_block(writing *j, writer *t, page_rows *page)
{
    uint32_t of_T[DCSR_I_PAGE_ROWS] = {0}, lengths[DCSR_I_PAGE_ROWS] = {0};
    size_t T_size = dcsr_type_size(j->op->T.type), size = j->C->value_size;
    dcsr_i_room made = {0}, room;
    uint64_t at = 0, most;
    if (!page->empty) {
        DCSR_TRY(plan_block(j, t, page->first, &page->count, &most));
        DCSR_TRY(block_in_scratch(j, t, page->first, page->count, most, true, &made, of_T));
    }
    uint64_t rows = page->wanted & UINT64_MAX >> (DCSR_I_PAGE_ROWS - page->count);
    most = j->old ? dcsr_i_rows_sum(j->old, page->first, page->count) : 0;
    for (unsigned r = 0; r < page->count; r++) most += of_T[r];
    DCSR_TRY(dcsr_i_result_room(&j->result, t->number, most, &room));
    for (unsigned r = 0; r < page->count; at += of_T[r++]) {
        dcsr_i_row_mask mask = {0};
        dcsr_i_row T = {of_T[r], made.columns + at, made.values ? (char *)made.values + at * T_size : NULL};
        old_row old;
        if (!(page->wanted >> r & 1)) continue;
        if (j->mask) DCSR_TRY(read_mask(j, t, page->first + r, &mask));
        if (row_stays(j, &mask, T.n)) {
            rows &= ~((uint64_t)1 << r);
            continue;
        }
        DCSR_TRY(read_old(j, t, page->first + r, &old));
        DCSR_TRY(merge_row(j, t, !(page->inside >> r & 1), &mask, &old, &T, room, &lengths[r]));
        room.columns += lengths[r];
        if (room.values) room.values = (char *)room.values + lengths[r] * size;
    }
    if (!j->keep) return dcsr_i_result_add(&j->result, t->number, page->first, page->count, lengths);
    return rows ? dcsr_i_result_add_some(&j->result, t->number, page->first, rows, lengths) : DCSR_OK;
}

static dcsr_status merge_blocks(writing *j, writer *t, page_rows page)
{
    for (unsigned left = page.count; left;) {
        page.count = left;
        DCSR_TRY(merge_block(j, t, &page));
        left -= page.count;
        page.first += page.count;
        page.inside = left ? page.inside >> page.count : 0;
        page.wanted = left ? page.wanted >> page.count : 0;
    }
    return DCSR_OK;
}

/* A row of T in scratch memory. */
static dcsr_status row_of_T(writing *j, writer *t, uint64_t row, const dcsr_i_row_mask *mask, dcsr_i_row *T)
{
    const dcsr_i_rowwise *op = j->op;
    if (!op->make.masked) return op->make.row(op->make.user, t->number, row, mask, T);
    uint32_t length;
    size_t size = j->values ? dcsr_type_size(op->T.type) : 0;
    DCSR_TRY(dcsr_i_scratch_room(&t->columns, j->C->context, mask->n * sizeof(uint32_t)));
    DCSR_TRY(dcsr_i_scratch_room(&t->values, j->C->context, mask->n * size));
    dcsr_i_room room = {t->columns.bytes, size ? t->values.bytes : NULL};
    DCSR_TRY(op->make.masked(op->make.user, t->number, row, mask, room, &length));
    *T = (dcsr_i_row){length, room.columns, room.values};
    return DCSR_OK;
}

/* T comes row by row. */
static dcsr_status merge_rows(writing *j, writer *t, const page_rows *page)
{
    for (uint64_t rows = page->wanted; rows; rows &= rows - 1) {
        unsigned r = (unsigned)__builtin_ctzll(rows);
        uint64_t row = page->first + r;
        dcsr_i_row_mask mask = {0};
        dcsr_i_row T = {0};
        old_row old;
        dcsr_i_room room;
        uint32_t length;
        if (j->mask) DCSR_TRY(read_mask(j, t, row, &mask));
        bool nowhere = page->empty || !(page->inside >> r & 1) || (j->mask && !mask.n && !mask.complement);
        if (!nowhere) DCSR_TRY(row_of_T(j, t, row, j->mask ? &mask : NULL, &T));
        if (row_stays(j, &mask, T.n)) continue;
        DCSR_TRY(read_old(j, t, row, &old));
        uint64_t held = old.all.n ? old.all.n : old.row.n;
        DCSR_TRY(dcsr_i_result_room(&j->result, t->number, held + T.n, &room));
        DCSR_TRY(merge_row(j, t, !(page->inside >> r & 1), &mask, &old, &T, room, &length));
        DCSR_TRY(dcsr_i_result_add(&j->result, t->number, row, 1, &length));
    }
    return DCSR_OK;
}

/* The page is what the mask names of T, and is written where it stays. */
static dcsr_status write_masked(writing *j, writer *t, uint64_t first, unsigned count)
{
    const dcsr_i_producer *make = &j->op->make;
    uint32_t lengths[DCSR_I_PAGE_ROWS] = {0};
    bool whole = make->masked_page && j->mask_is_pattern;
    dcsr_i_room room;
    DCSR_TRY(dcsr_i_result_room(&j->result, t->number, dcsr_i_rows_sum(j->mask, first, count), &room));
    if (whole) DCSR_TRY(make->masked_page(make->user, t->number, first, count, j->mask, room, lengths));
    for (unsigned r = 0; r < count && !whole; r++) {
        dcsr_i_row_mask mask;
        DCSR_TRY(read_mask(j, t, first + r, &mask));
        if (mask.n) DCSR_TRY(make->masked(make->user, t->number, first + r, &mask, room, &lengths[r]));
        room.columns += lengths[r];
        if (room.values) room.values = (char *)room.values + lengths[r] * j->C->value_size;
    }
    return dcsr_i_result_add(&j->result, t->number, first, count, lengths);
}

/* ---- One value where the mask says so ---- */

/* The page becomes the mask's columns with the value, where C has no other entries, or need not keep any. */
static dcsr_status fill_page(writing *j, writer *t, uint64_t first, unsigned count, bool *filled)
{
    uint32_t lengths[DCSR_I_PAGE_ROWS], old_lengths[DCSR_I_PAGE_ROWS];
    dcsr_i_row_block mask, old;
    dcsr_i_room room;
    dcsr_i_row_block_of(&mask, j->mask, first, count, lengths);
    if (j->old) dcsr_i_row_block_of(&old, j->old, first, count, old_lengths);
    *filled = !j->old || (mask.entries &&
                          dcsr_i_row_blocks_match(&mask, j->mask, lengths, &old, j->old, old_lengths, count));
    if (!*filled) return DCSR_OK;
    DCSR_TRY(dcsr_i_result_room(&j->result, t->number, mask.entries, &room));
    dcsr_i_row_block_columns(&mask, j->mask, room.columns);
    if (room.values) dcsr_i_broadcast(j->C->type, room.values, &j->value, mask.entries);
    return dcsr_i_result_add(&j->result, t->number, first, count, lengths);
}

/* Whether there is nothing to write in a page. */
static bool page_stays(const writing *j, uint64_t p, bool masked_out, bool no_source)
{
    uint64_t first = p << DCSR_I_PAGE_SHIFT;
    if (j->keep && (masked_out || (j->change.in_T && no_source) ||
                    (j->change.in_region &&
                     !dcsr_i_index_list_meets(&j->op->out.region->rows, first, first + DCSR_I_PAGE_ROWS))))
        return true;
    return (masked_out || no_source) && (!j->old || dcsr_i_rows_are_empty(j->old, p, p + 1));
}

/* Writes the rows of page p. */
static dcsr_status write_page(writing *j, writer *t, uint64_t p)
{
    uint64_t first = p << DCSR_I_PAGE_SHIFT, left = j->op->T.rows - first;
    unsigned count = left < DCSR_I_PAGE_ROWS ? (unsigned)left : DCSR_I_PAGE_ROWS;
    bool masked_out = is_masked_out(j, p), no_source = source_is_empty(j->op, p);
    if (page_stays(j, p, masked_out, no_source)) return DCSR_OK;
    bool empty = no_source || masked_out, filled = false;
    if (j->fills) DCSR_TRY(fill_page(j, t, first, count, &filled));
    if (filled) return DCSR_OK;
    bool nothing_old = !j->old || dcsr_i_rows_are_empty(j->old, p, p + 1);
    if (j->op->make.masked && nothing_old && (j->op->T.type == j->C->type || !j->values))
        return write_masked(j, t, first, count);
    if (j->old && j->holds.ascends && !j->keep && !(j->mask && j->merging.replace)) {
        bool outside =
            j->op->out.region && !dcsr_i_index_list_meets(&j->op->out.region->rows, first, first + count);
        if (outside || (empty && j->op->out.accum)) return keep_page(j, t, first, count);
    }
    if (!j->plain) {
        page_rows page = {first, count, dcsr_i_region_rows(j->op->out.region, first, count), 0, empty};
        page.wanted = dcsr_i_region_rows(j->keep ? j->op->out.region : NULL, first, count);
        return j->op->make.block ? merge_blocks(j, t, page) : merge_rows(j, t, &page);
    }
    for (unsigned r = 0, n; r < count; r += n) {
        n = j->op->make.block ? count - r : 1;
        DCSR_TRY(j->op->make.block ? write_block(j, t, first + r, &n) : write_row(j, t, first + r));
    }
    return DCSR_OK;
}

/* ---- All pages ---- */

static void note_failure(writing *j, dcsr_status status)
{
    pthread_mutex_lock(&j->lock);
    if (j->status == DCSR_OK) {
        j->status = status;
        dcsr_i_error_format(j->message, sizeof j->message, "%s", dcsr_i_error_text());
    }
    pthread_mutex_unlock(&j->lock);
    atomic_store(&j->failed, true);
}

/* The next pages that nobody has taken: from *p, the first of them that is to be written, up to what is
 * returned. */
static uint64_t take_portion(writing *j, uint64_t *p)
{
    uint64_t next = atomic_load(&j->next), end;
    do {
        *p = next_page_to_write(j, next);
        end = *p + j->portion < j->pages ? *p + j->portion : j->pages;
    } while (*p < end && !atomic_compare_exchange_weak(&j->next, &next, end));
    return end;
}

static void work(writing *j, int number)
{
    dcsr_context *context = j->C->context;
    dcsr_i_few few[5];
    const dcsr_i_turn *before = dcsr_i_turn_enter(j->turn);
    writer t = {.number = number,
                .old = dcsr_i_old_reader_of(context, &j->holds),
                .mask = dcsr_i_row_reader_of(context, j->mask),
                .merger.picks = dcsr_i_scratch_of(&few[0]),
                .merger.columns = dcsr_i_scratch_of(&few[1]),
                .merger.values = dcsr_i_scratch_of(&few[2]),
                .columns = dcsr_i_scratch_of(&few[3]),
                .values = dcsr_i_scratch_of(&few[4])};
    while (!atomic_load_explicit(&j->failed, memory_order_relaxed)) {
        uint64_t p, end = take_portion(j, &p);
        if (p >= end) break;
        for (dcsr_status status; p < end; p = next_page_to_write(j, p + 1))
            if ((status = write_page(j, &t, p)) != DCSR_OK) {
                note_failure(j, status);
                break;
            }
    }
    if (t.duplicates) atomic_store(&j->result.duplicates, true);
    dcsr_i_old_reader_free(&t.old);
    dcsr_i_row_reader_free(&t.mask);
    dcsr_i_merger_free(&t.merger, context);
    dcsr_i_scratch_free(&t.columns, context);
    dcsr_i_scratch_free(&t.values, context);
    dcsr_i_scratch_free(&t.mask_columns, context);
    dcsr_i_scratch_free(&t.mask_truth, context);
    dcsr_i_turn_enter(before);
}

/* How many rows of C may change, at most. */
static uint64_t rows_that_change(const writing *j)
{
    const dcsr_i_rowwise *op = j->op;
    uint64_t most = op->T.rows, named = most;
    if (j->change.in_region) most = op->out.region->rows.n;
    if (j->change.in_mask) named = dcsr_i_rows_stored(j->mask);
    if (named < most) most = named;
    if (!j->change.in_T || !op->T.source[0]) return most;
    named = dcsr_i_rows_stored(op->T.source[0]) + (op->T.source[1] ? dcsr_i_rows_stored(op->T.source[1]) : 0);
    return named < most ? named : most;
}

/* Whether the rows that do not change are kept. */
static bool keeps_rows(const writing *j)
{
    return !dcsr_i_result_collects(j->C) && rows_that_change(j) <= dcsr_i_change_most(j->op->T.rows);
}

/* How many entries of C are looked at, about. */
static uint64_t entries_of_C(const writing *j)
{
    if (!j->old) return 0;
    uint64_t stored = dcsr_i_rows_stored(j->old);
    return j->keep ? (uint64_t)((double)stored * (double)rows_that_change(j) / (double)j->op->T.rows)
                   : stored;
}

/* Computes all rows; the result is then complete, or given back. */
static dcsr_status compute_rows(writing *j)
{
    enum { PORTIONS = 16, MOST_PAGES = 512 }; /* per thread; at once */
    const dcsr_i_rowwise *op = j->op;
    uint64_t expected = op->T.work + entries_of_C(j);
    j->pages = (op->T.rows + DCSR_I_PAGE_ROWS - 1) >> DCSR_I_PAGE_SHIFT;
    int threads = dcsr_i_threads(j->C->context, expected);
    uint64_t portion = j->pages / ((uint64_t)threads * PORTIONS);
    j->portion = portion < 1 ? 1 : portion < MOST_PAGES ? portion : MOST_PAGES;
    DCSR_TRY(dcsr_i_result_begin(&j->result, j->C, threads, expected, j->keep));
    if (op->make.begin) {
        dcsr_status status = op->make.begin(op->make.user, threads);
        if (status != DCSR_OK) {
            dcsr_i_result_drop(&j->result);
            return status;
        }
    }
    j->turn = dcsr_i_turn_of_thread();
    pthread_mutex_init(&j->lock, NULL);
    if (threads == 1)
        work(j, 0);
    else {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
        for (int i = 0; i < threads; i++) work(j, i);
    }
    pthread_mutex_destroy(&j->lock);
    if (op->make.end) op->make.end(op->make.user);
    if (j->status == DCSR_OK) return DCSR_OK;
    dcsr_i_result_drop(&j->result);
    return dcsr_i_fail(j->status, "%s", j->message);
}

/* In C's turn: what it holds is what it will be until the result is published. */
static dcsr_status compute(dcsr_matrix *C, void *user)
{
    writing *j = user;
    const dcsr_i_rowwise *op = j->op;
    DCSR_TRY(dcsr_i_check_shape(op->out.call, "C", C->versions.current->rows, C->versions.current->cols,
                                "the result", op->T.rows, op->T.cols));
    dcsr_status status = DCSR_OK;
    if (j->nowhere) {
        if (!j->merging.replace) return DCSR_OK;
        DCSR_TRY(dcsr_i_result_begin(&j->result, C, 1, 0, false));
        return dcsr_i_result_publish(&j->result);
    }
    if (op->out.accum || op->out.region || (op->out.mask && !(op->out.desc && op->out.desc->replace))) {
        status = dcsr_i_old_open(&j->holds, C);
        j->old = j->holds.rows;
        j->keep = status == DCSR_OK && keeps_rows(j);
    }
    if (status == DCSR_OK) status = compute_rows(j);
    dcsr_i_old_close(&j->holds);
    return status == DCSR_OK ? dcsr_i_result_publish(&j->result) : status;
}

bool dcsr_i_rowwise_wants_values(const dcsr_i_rowwise *op)
{
    return op->out.C->type != DCSR_PATTERN && op->T.type != DCSR_PATTERN;
}

/* Whether all types of the operator are this one. */
static bool is_on(const dcsr_binary_op *op, dcsr_type type)
{
    return op->xtype == type && op->ytype == type && op->ztype == type;
}

dcsr_status dcsr_i_rowwise_run(const dcsr_i_rowwise *op)
{
    static const dcsr_desc defaults;
    const dcsr_desc *desc = op->out.desc ? op->out.desc : &defaults;
    writing j = {.op = op,
                 .C = op->out.C,
                 .nowhere = !op->out.mask && desc->mask_complement,
                 .plain = !op->out.mask && !op->out.accum && !op->out.region,
                 .change = dcsr_i_change_of(&op->out),
                 .complement = desc->mask_complement};
    DCSR_TRY(dcsr_i_check_output(op->out.call, op->out.C, op->out.mask, op->out.desc));
    j.values = dcsr_i_rowwise_wants_values(op);
    j.merging = (dcsr_i_merging){.call = op->out.call,
                                 .context = op->out.C->context,
                                 .type = op->out.C->type,
                                 .source = op->T.type,
                                 .accum = op->out.accum,
                                 .replace = desc->replace,
                                 .region = op->out.region,
                                 .one_type = op->T.type == op->out.C->type &&
                                             (!op->out.accum || is_on(op->out.accum, op->T.type))};
    if (op->out.mask) {
        DCSR_TRY(dcsr_i_view_sorted(&j.mask, op->out.mask));
        DCSR_TRY(dcsr_i_check_shape(op->out.call, "the mask", j.mask->rows, j.mask->cols, "the result",
                                    op->T.rows, op->T.cols));
        j.mask_is_pattern = desc->mask_structure || j.mask->type == DCSR_PATTERN;
        j.fills = op->make.scalar && j.mask_is_pattern && !desc->mask_complement && !op->out.accum;
        if (j.fills) j.value = dcsr_i_scalar_as(op->out.C->type, op->T.type, op->make.scalar);
    }
    DCSR_TRY(dcsr_i_result_turn(op->out.C, op->out.call, compute, &j));
    dcsr_i_report(op->out.desc, op->T.work);
    return DCSR_OK;
}

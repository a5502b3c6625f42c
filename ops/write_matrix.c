/* write_matrix.c: running a producer of rows over all rows, and writing what comes of it.
 *
 * Threads take pages of 64 rows. Where there is neither mask nor accumulator, blocks are produced right in
 * the room where they stay; else T's rows are produced in scratch memory of the thread and merged from there
 * (merge_row.c). Where few rows can change, the others are kept as they are, and not looked at. */
#include "ops/merge_row.h"
#include "ops/row_block.h"
#include "ops/write_old.h"
#include <stdatomic.h>
#include <stdio.h>

/* Memory of one thread. */
typedef struct thread_state {
    _Alignas(64) int number;
    dcsr_i_old_reader old;
    dcsr_i_row_reader mask;
    dcsr_i_merger merger;
    dcsr_i_scratch columns, values;          /* of a block of T */
    dcsr_i_scratch mask_columns, mask_truth; /* of a row of the mask */
} thread_state;

typedef struct job {
    const dcsr_i_rowwise *op;
    dcsr_matrix *C;
    bool nowhere;            /* the complement of no mask: nothing of T is written */
    bool plain;              /* C = T: no mask, no accumulator, nothing kept */
    bool complement, values; /* whether values of T are wanted */
    const dcsr_i_rows *mask; /* NULL: none */
    bool mask_is_pattern;    /* it is true where it has an entry */
    const dcsr_i_rows *old;  /* what C holds; NULL where that does not matter */
    dcsr_i_old holds;
    bool keep; /* rows of C that cannot change are not written */
    dcsr_i_merging merging;
    dcsr_i_result result;
    uint64_t pages, portion; /* that a thread takes at once */
    _Atomic uint64_t next;
    /* The first failure. */
    pthread_mutex_t lock;
    atomic_bool failed;
    dcsr_status status;
    char message[400];
} job;

/* ---- Rows without entries ---- */

/* Whether T has no entries in these pages. */
static bool source_is_empty(const dcsr_i_rowwise *op, uint64_t first, uint64_t end)
{
    if (!op->source[0]) return false;
    return dcsr_i_rows_are_empty(op->source[0], first, end) &&
           (!op->source[1] || dcsr_i_rows_are_empty(op->source[1], first, end));
}

/* ---- C = T ---- */

/* A block of T in scratch memory. */
static dcsr_status block_in_scratch(job *j, thread_state *t, uint64_t first, unsigned count, bool columns,
                                    dcsr_i_room *room, uint32_t *lengths)
{
    const dcsr_i_rowwise *op = j->op;
    uint64_t most = op->most(op->user, first, count);
    size_t size = j->values ? dcsr_type_size(op->type) : 0;
    if (columns) {
        DCSR_TRY(dcsr_i_scratch_room(&t->columns, j->C->context, most * sizeof(uint32_t)));
        room->columns = t->columns.bytes;
    }
    if (size) DCSR_TRY(dcsr_i_scratch_room(&t->values, j->C->context, most * size));
    room->values = size ? t->values.bytes : NULL;
    return op->block(op->user, t->number, first, count, *room, lengths);
}

static dcsr_status write_block(job *j, thread_state *t, uint64_t first, unsigned count)
{
    const dcsr_i_rowwise *op = j->op;
    uint32_t lengths[DCSR_I_PAGE_ROWS];
    dcsr_i_room room;
    DCSR_TRY(dcsr_i_result_room(&j->result, t->number, op->most(op->user, first, count), &room));
    if (op->type == j->C->type || !room.values) {
        DCSR_TRY(op->block(op->user, t->number, first, count, room, lengths));
    } else {
        dcsr_i_room made = room;
        DCSR_TRY(block_in_scratch(j, t, first, count, false, &made, lengths));
        uint64_t n = 0;
        for (unsigned r = 0; r < count; r++) n += lengths[r];
        dcsr_i_cast(j->C->type, room.values, op->type, made.values, n);
    }
    return dcsr_i_result_add(&j->result, t->number, first, count, lengths);
}

static dcsr_status write_row(job *j, thread_state *t, uint64_t row)
{
    const dcsr_i_rowwise *op = j->op;
    dcsr_i_row T = {0};
    dcsr_i_room room;
    DCSR_TRY(op->row(op->user, t->number, row, NULL, &T));
    if (!T.n) return DCSR_OK;
    DCSR_TRY(dcsr_i_result_room(&j->result, t->number, T.n, &room));
    memcpy(room.columns, T.columns, T.n * sizeof *room.columns);
    if (room.values) dcsr_i_cast(j->C->type, room.values, op->type, T.values, T.n);
    uint32_t length = (uint32_t)T.n;
    return dcsr_i_result_add(&j->result, t->number, row, 1, &length);
}

/* ---- With mask, accumulator, or what C holds ---- */

/* Where the mask's row is true, before it is complemented. */
static dcsr_status read_mask(job *j, thread_state *t, uint64_t row, dcsr_i_row_mask *mask)
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

/* Merges T into what C holds in row r of the page, and adds that. */
static dcsr_status merge_row(job *j, thread_state *t, const page_rows *page, unsigned r,
                             const dcsr_i_row_mask *mask, const dcsr_i_row *T)
{
    uint64_t row = page->first + r;
    dcsr_i_row old = {0};
    dcsr_i_room room;
    uint32_t length = 0;
    if (j->keep && ((j->op->accum && !T->n) || (j->mask && !mask->n && !mask->complement))) return DCSR_OK;
    if (j->old) DCSR_TRY(dcsr_i_old_row(&t->old, row, &old));
    DCSR_TRY(dcsr_i_result_room(&j->result, t->number, old.n + T->n, &room));
    if (old.n || T->n)
        DCSR_TRY(dcsr_i_merge_row(&t->merger, &j->merging, !(page->inside >> r & 1), j->mask ? mask : NULL,
                                  &old, T, room, &length));
    return dcsr_i_result_add(&j->result, t->number, row, 1, &length);
}

/* The rows of one page as they are. */
static dcsr_status keep_page(job *j, thread_state *t, uint64_t first, unsigned count)
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

/* T comes as a block. */
static dcsr_status merge_block(job *j, thread_state *t, const page_rows *page)
{
    uint32_t of_T[DCSR_I_PAGE_ROWS] = {0};
    size_t T_size = dcsr_type_size(j->op->type);
    dcsr_i_room made = {0};
    uint64_t at = 0;
    if (!page->empty) DCSR_TRY(block_in_scratch(j, t, page->first, page->count, true, &made, of_T));
    for (unsigned r = 0; r < page->count; at += of_T[r++]) {
        dcsr_i_row_mask mask = {0};
        dcsr_i_row T = {of_T[r], made.columns + at, made.values ? (char *)made.values + at * T_size : NULL};
        if (!(page->wanted >> r & 1)) continue;
        if (j->mask) DCSR_TRY(read_mask(j, t, page->first + r, &mask));
        DCSR_TRY(merge_row(j, t, page, r, &mask, &T));
    }
    return DCSR_OK;
}

/* T comes row by row. */
static dcsr_status merge_rows(job *j, thread_state *t, const page_rows *page)
{
    const dcsr_i_rowwise *op = j->op;
    for (uint64_t rows = page->wanted; rows; rows &= rows - 1) {
        unsigned r = (unsigned)__builtin_ctzll(rows);
        dcsr_i_row_mask mask = {0};
        dcsr_i_row T = {0};
        if (j->mask) DCSR_TRY(read_mask(j, t, page->first + r, &mask));
        bool nowhere = page->empty || !(page->inside >> r & 1) || (j->mask && !mask.n && !mask.complement);
        if (!nowhere) DCSR_TRY(op->row(op->user, t->number, page->first + r, j->mask ? &mask : NULL, &T));
        DCSR_TRY(merge_row(j, t, page, r, &mask, &T));
    }
    return DCSR_OK;
}

/* Nothing of T will be written in these pages. */
static bool is_masked_out(const job *j, uint64_t first, uint64_t end)
{
    return j->mask && !j->complement && dcsr_i_rows_are_empty(j->mask, first, end);
}

/* Whether nothing changes in pages first to end - 1. */
static bool pages_stay(const job *j, uint64_t first, uint64_t end)
{
    const dcsr_i_rowwise *op = j->op;
    return j->keep && (is_masked_out(j, first, end) || (op->accum && source_is_empty(op, first, end)) ||
                       (op->region && !dcsr_i_index_list_meets(&op->region->rows, first << DCSR_I_PAGE_SHIFT,
                                                               end << DCSR_I_PAGE_SHIFT)));
}

/* ---- Threads ---- */

static dcsr_status write_page(job *j, thread_state *t, uint64_t p)
{
    uint64_t first = p << DCSR_I_PAGE_SHIFT, left = j->op->rows - first;
    unsigned count = left < DCSR_I_PAGE_ROWS ? (unsigned)left : DCSR_I_PAGE_ROWS;
    if (pages_stay(j, p, p + 1)) return DCSR_OK;
    bool empty = source_is_empty(j->op, p, p + 1) || is_masked_out(j, p, p + 1);
    if (empty && (!j->old || dcsr_i_rows_are_empty(j->old, p, p + 1))) return DCSR_OK;
    if (j->old && j->holds.ascends && !j->keep && !(j->mask && j->merging.replace)) {
        bool outside = j->op->region && !dcsr_i_index_list_meets(&j->op->region->rows, first, first + count);
        if (outside || (empty && j->op->accum)) return keep_page(j, t, first, count);
    }
    if (!j->plain) {
        page_rows page = {first, count, dcsr_i_region_rows(j->op->region, first, count), 0, empty};
        page.wanted = dcsr_i_region_rows(j->keep ? j->op->region : NULL, first, count);
        return (j->op->block ? merge_block : merge_rows)(j, t, &page);
    }
    if (j->op->block) return write_block(j, t, first, count);
    for (unsigned r = 0; r < count; r++) DCSR_TRY(write_row(j, t, first + r));
    return DCSR_OK;
}

static void note_failure(job *j, dcsr_status status)
{
    pthread_mutex_lock(&j->lock);
    if (j->status == DCSR_OK) {
        j->status = status;
        snprintf(j->message, sizeof j->message, "%s", dcsr_i_error_text());
    }
    pthread_mutex_unlock(&j->lock);
    atomic_store(&j->failed, true);
}

static void work(job *j, int number)
{
    dcsr_context *context = j->C->context;
    dcsr_i_few few[5];
    thread_state t = {.number = number,
                      .old = dcsr_i_old_reader_of(context, &j->holds),
                      .mask = dcsr_i_row_reader_of(context, j->mask),
                      .merger.picks = dcsr_i_scratch_of(&few[0]),
                      .merger.columns = dcsr_i_scratch_of(&few[1]),
                      .merger.values = dcsr_i_scratch_of(&few[2]),
                      .columns = dcsr_i_scratch_of(&few[3]),
                      .values = dcsr_i_scratch_of(&few[4])};
    while (!atomic_load_explicit(&j->failed, memory_order_relaxed)) {
        uint64_t p = atomic_fetch_add(&j->next, j->portion),
                 end = p + j->portion < j->pages ? p + j->portion : j->pages;
        if (p >= j->pages) break;
        bool empty = pages_stay(j, p, end) ||
                     (source_is_empty(j->op, p, end) && (!j->old || dcsr_i_rows_are_empty(j->old, p, end)));
        for (dcsr_status status; !empty && p < end; p++)
            if ((status = write_page(j, &t, p)) != DCSR_OK) {
                note_failure(j, status);
                break;
            }
    }
    dcsr_i_old_reader_free(&t.old);
    dcsr_i_row_reader_free(&t.mask);
    dcsr_i_merger_free(&t.merger, context);
    dcsr_i_scratch_free(&t.columns, context);
    dcsr_i_scratch_free(&t.values, context);
    dcsr_i_scratch_free(&t.mask_columns, context);
    dcsr_i_scratch_free(&t.mask_truth, context);
}

/* How many rows of C may change, at most. */
static uint64_t rows_that_change(const job *j)
{
    const dcsr_i_rowwise *op = j->op;
    uint64_t most = op->rows, named = most;
    if (!j->old || (j->mask && j->merging.replace)) return most;
    if (op->region && op->region->rows.indices) most = op->region->rows.n;
    if (j->mask && !j->complement) named = dcsr_i_rows_stored(j->mask);
    if (named < most) most = named;
    if (!op->accum || !op->source[0]) return most;
    named = dcsr_i_rows_stored(op->source[0]) + (op->source[1] ? dcsr_i_rows_stored(op->source[1]) : 0);
    return named < most ? named : most;
}

/* Whether the rows that do not change are kept. Where most do, writing all anew leaves C in better order.
 * Where duplicates are kept, they are all summed or none. */
static bool keeps_rows(const job *j)
{
    bool can = !dcsr_i_result_collects(j->C) && (j->holds.ascends || j->C->policy != DCSR_POLICY_KEEP);
    return can && rows_that_change(j) <= j->op->rows / 2;
}

/* Computes all rows; the result is then complete, or given back. */
static dcsr_status compute_rows(job *j)
{
    enum { PORTIONS = 16, MOST_PAGES = 512 }; /* per thread; at once */
    const dcsr_i_rowwise *op = j->op;
    uint64_t expected = op->work + (j->old && !j->keep ? dcsr_i_rows_stored(j->old) : 0);
    j->pages = (op->rows + DCSR_I_PAGE_ROWS - 1) >> DCSR_I_PAGE_SHIFT;
    int threads = dcsr_i_threads(j->C->context, expected + op->rows / DCSR_I_PAGE_ROWS);
    uint64_t portion = j->pages / ((uint64_t)threads * PORTIONS);
    j->portion = portion < 1 ? 1 : portion < MOST_PAGES ? portion : MOST_PAGES;
    DCSR_TRY(dcsr_i_result_begin(&j->result, j->C, threads, expected, j->keep));
    if (op->begin) {
        dcsr_status status = op->begin(op->user, threads);
        if (status != DCSR_OK) {
            dcsr_i_result_drop(&j->result);
            return status;
        }
    }
    pthread_mutex_init(&j->lock, NULL);
    if (threads == 1)
        work(j, 0);
    else {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
        for (int i = 0; i < threads; i++) work(j, i);
    }
    pthread_mutex_destroy(&j->lock);
    if (op->end) op->end(op->user);
    if (j->status == DCSR_OK) return DCSR_OK;
    dcsr_i_result_drop(&j->result);
    return dcsr_i_fail(j->status, "%s", j->message);
}

/* In C's turn: what it holds is what it will be until the result is published. */
static dcsr_status compute(dcsr_matrix *C, void *user)
{
    job *j = user;
    const dcsr_i_rowwise *op = j->op;
    DCSR_TRY(dcsr_i_check_shape(op->call, "C", C->current->rows, C->current->cols, "the result", op->rows,
                                op->cols));
    dcsr_status status = DCSR_OK;
    if (j->nowhere) {
        if (!j->merging.replace) return DCSR_OK;
        DCSR_TRY(dcsr_i_result_begin(&j->result, C, 1, 0, false));
        return dcsr_i_result_publish(&j->result);
    }
    if (op->accum || op->region || (op->mask && !(op->desc && op->desc->replace))) {
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
    return op->C->type != DCSR_PATTERN && op->type != DCSR_PATTERN;
}

/* Whether all types of the operator are this one. */
static bool is_on(const dcsr_binary_op *op, dcsr_type type)
{
    return op->xtype == type && op->ytype == type && op->ztype == type;
}

dcsr_status dcsr_i_rowwise_run(const dcsr_i_rowwise *op)
{
    static const dcsr_desc defaults;
    const dcsr_desc *desc = op->desc ? op->desc : &defaults;
    job j = {.op = op,
             .C = op->C,
             .nowhere = !op->mask && desc->mask_complement,
             .plain = !op->mask && !op->accum && !op->region,
             .complement = desc->mask_complement};
    DCSR_TRY(dcsr_i_check_output(op->call, op->C, op->mask));
    j.values = dcsr_i_rowwise_wants_values(op);
    j.merging =
        (dcsr_i_merging){.call = op->call,
                         .context = op->C->context,
                         .type = op->C->type,
                         .source = op->type,
                         .accum = op->accum,
                         .replace = desc->replace,
                         .region = op->region,
                         .one_type = op->type == op->C->type && (!op->accum || is_on(op->accum, op->type))};
    if (op->mask) {
        DCSR_TRY(dcsr_i_view_sorted(&j.mask, op->mask));
        DCSR_TRY(dcsr_i_check_shape(op->call, "the mask", j.mask->rows, j.mask->cols, "the result", op->rows,
                                    op->cols));
        j.mask_is_pattern = desc->mask_structure || j.mask->type == DCSR_PATTERN;
    }
    DCSR_TRY(dcsr_i_result_turn(op->C, compute, &j));
    dcsr_i_report(op->desc, op->work);
    return DCSR_OK;
}

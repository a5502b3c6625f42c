/* write_matrix.c: running a producer of rows over all rows, and writing what comes of it.
 *
 * Threads take pages of 64 rows. Where there is neither mask nor accumulator, blocks are produced right in
 * the room where they stay; else T's rows are produced in scratch memory of the thread and merged from there
 * (merge_row.c). */
#include "dcsr/search.h"
#include "ops/merge_row.h"
#include "ops/row_block.h"
#include <stdatomic.h>
#include <stdio.h>

/* Memory of one thread. */
typedef struct thread_state {
    _Alignas(64) int number;
    dcsr_i_row_reader old, mask;
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

bool dcsr_i_rows_are_empty(const dcsr_i_rows *rows, uint64_t first, uint64_t end)
{
    if (rows->offsets) {
        uint64_t last = end << DCSR_I_PAGE_SHIFT;
        return rows->offsets[first << DCSR_I_PAGE_SHIFT] ==
               rows->offsets[last < rows->rows ? last : rows->rows];
    }
    for (uint64_t p = first; p < end;) {
        if (!rows->table->directory[p >> DCSR_I_DIRECTORY_SHIFT])
            p = ((p >> DCSR_I_DIRECTORY_SHIFT) + 1) << DCSR_I_DIRECTORY_SHIFT;
        else if (dcsr_i_page(rows->table, p++))
            return false;
    }
    return true;
}

/* Whether T has no entries in these pages. */
static bool source_is_empty(const dcsr_i_rowwise *op, uint64_t first, uint64_t end)
{
    if (!op->source[0]) return false;
    return dcsr_i_rows_are_empty(op->source[0], first, end) &&
           (!op->source[1] || dcsr_i_rows_are_empty(op->source[1], first, end));
}

/* Whether the list has one of the indices first .. end-1. */
static bool list_meets(const dcsr_i_index_list *list, uint64_t first, uint64_t end)
{
    if (!list->indices) return true;
    uint64_t n = list->n;
    /* Mostly it is a range. */
    if (n && list->indices[n - 1] - list->indices[0] == n - 1)
        return first <= list->indices[n - 1] && end > list->indices[0];
    uint64_t at = dcsr_i_list_find(list->indices, 0, n, first);
    return at < n && list->indices[at] < end;
}

bool dcsr_i_index_list_has(const dcsr_i_index_list *list, uint64_t index)
{
    return list_meets(list, index, index + 1);
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

/* Merges T into what C holds in a row, at the beginning of the room. */
static dcsr_status merge_row(job *j, thread_state *t, uint64_t row, const dcsr_i_row_mask *mask,
                             const dcsr_i_row *T, dcsr_i_room room, uint32_t *length)
{
    dcsr_i_row old = {0};
    *length = 0;
    if (j->old) DCSR_TRY(dcsr_i_row_get(&t->old, row, &old));
    if (!old.n && !T->n) return DCSR_OK;
    return dcsr_i_merge_row(&t->merger, &j->merging, row, mask, &old, T, room, length);
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

/* The rows of one page, of which T comes as a block; `empty`: it has no entries there. */
static dcsr_status merge_block(job *j, thread_state *t, uint64_t first, unsigned count, bool empty)
{
    uint32_t of_T[DCSR_I_PAGE_ROWS] = {0}, lengths[DCSR_I_PAGE_ROWS];
    size_t T_size = dcsr_type_size(j->op->type), size = j->C->value_size;
    dcsr_i_room made = {0}, room;
    uint64_t most = j->old ? dcsr_i_rows_sum(j->old, first, count) : 0, at = 0, done = 0;
    if (!empty) DCSR_TRY(block_in_scratch(j, t, first, count, true, &made, of_T));
    for (unsigned r = 0; r < count; r++) most += of_T[r];
    DCSR_TRY(dcsr_i_result_room(&j->result, t->number, most, &room));
    for (unsigned r = 0; r < count; at += of_T[r], done += lengths[r++]) {
        dcsr_i_row_mask mask;
        dcsr_i_row T = {of_T[r], made.columns + at, made.values ? (char *)made.values + at * T_size : NULL};
        dcsr_i_room behind = {room.columns + done, room.values ? (char *)room.values + done * size : NULL};
        if (j->mask) DCSR_TRY(read_mask(j, t, first + r, &mask));
        DCSR_TRY(merge_row(j, t, first + r, j->mask ? &mask : NULL, &T, behind, &lengths[r]));
    }
    return dcsr_i_result_add(&j->result, t->number, first, count, lengths);
}

/* The same where T comes row by row. */
static dcsr_status merge_rows(job *j, thread_state *t, uint64_t first, unsigned count, bool empty)
{
    for (uint64_t row = first; row < first + count; row++) {
        dcsr_i_row_mask mask;
        dcsr_i_row T = {0};
        dcsr_i_room room;
        uint32_t length;
        if (j->mask) DCSR_TRY(read_mask(j, t, row, &mask));
        bool nowhere = j->mask && !mask.n && !mask.complement;
        if (!empty && !nowhere) DCSR_TRY(j->op->row(j->op->user, t->number, row, j->mask ? &mask : NULL, &T));
        uint64_t most = T.n + (j->old ? dcsr_i_rows_length(j->old, row) : 0);
        DCSR_TRY(dcsr_i_result_room(&j->result, t->number, most, &room));
        DCSR_TRY(merge_row(j, t, row, j->mask ? &mask : NULL, &T, room, &length));
        DCSR_TRY(dcsr_i_result_add(&j->result, t->number, row, 1, &length));
    }
    return DCSR_OK;
}

/* Nothing of T will be written in these pages. */
static bool is_masked_out(const job *j, uint64_t first, uint64_t end)
{
    return j->mask && !j->complement && dcsr_i_rows_are_empty(j->mask, first, end);
}

/* ---- Threads ---- */

static dcsr_status write_page(job *j, thread_state *t, uint64_t p)
{
    uint64_t first = p << DCSR_I_PAGE_SHIFT, left = j->op->rows - first;
    unsigned count = left < DCSR_I_PAGE_ROWS ? (unsigned)left : DCSR_I_PAGE_ROWS;
    bool empty = source_is_empty(j->op, p, p + 1) || is_masked_out(j, p, p + 1);
    if (empty && (!j->old || dcsr_i_rows_are_empty(j->old, p, p + 1))) return DCSR_OK;
    if (j->old && !(j->mask && j->merging.replace)) {
        bool outside = j->op->region && !list_meets(&j->op->region->rows, first, first + count);
        if (outside || (empty && j->op->accum)) return keep_page(j, t, first, count);
    }
    if (!j->plain) return (j->op->block ? merge_block : merge_rows)(j, t, first, count, empty);
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
    thread_state t = {.number = number,
                      .old = dcsr_i_row_reader_of(context, j->old),
                      .mask = dcsr_i_row_reader_of(context, j->mask)};
    while (!atomic_load_explicit(&j->failed, memory_order_relaxed)) {
        uint64_t p = atomic_fetch_add(&j->next, j->portion),
                 end = p + j->portion < j->pages ? p + j->portion : j->pages;
        if (p >= j->pages) break;
        bool empty = source_is_empty(j->op, p, end) && (!j->old || dcsr_i_rows_are_empty(j->old, p, end));
        for (dcsr_status status; !empty && p < end; p++)
            if ((status = write_page(j, &t, p)) != DCSR_OK) {
                note_failure(j, status);
                break;
            }
    }
    dcsr_i_row_reader_free(&t.old);
    dcsr_i_row_reader_free(&t.mask);
    dcsr_i_merger_free(&t.merger, context);
    dcsr_i_scratch_free(&t.columns, context);
    dcsr_i_scratch_free(&t.values, context);
    dcsr_i_scratch_free(&t.mask_columns, context);
    dcsr_i_scratch_free(&t.mask_truth, context);
}

/* Computes all rows; the result is then complete, or given back. */
static dcsr_status compute_rows(job *j)
{
    enum { PORTIONS = 16, MOST_PAGES = 512 }; /* per thread; at once */
    const dcsr_i_rowwise *op = j->op;
    uint64_t expected = op->work + (j->old ? dcsr_i_rows_stored(j->old) : 0);
    j->pages = (op->rows + DCSR_I_PAGE_ROWS - 1) >> DCSR_I_PAGE_SHIFT;
    int threads = dcsr_i_threads(j->C->context, expected + op->rows / DCSR_I_PAGE_ROWS);
    uint64_t portion = j->pages / ((uint64_t)threads * PORTIONS);
    j->portion = portion < 1 ? 1 : portion < MOST_PAGES ? portion : MOST_PAGES;
    DCSR_TRY(dcsr_i_result_begin(&j->result, j->C, threads, expected));
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
    dcsr_view *old = NULL;
    dcsr_status status = DCSR_OK;
    if (j->nowhere) {
        if (!j->merging.replace) return DCSR_OK;
        DCSR_TRY(dcsr_i_result_begin(&j->result, C, 1, 0));
        return dcsr_i_result_publish(&j->result);
    }
    if (op->accum || op->region || (op->mask && !(op->desc && op->desc->replace))) {
        status = dcsr_view_create(&old, C, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED);
        if (status == DCSR_OK) status = dcsr_i_view_sorted(&j->old, old);
    }
    if (status == DCSR_OK) status = compute_rows(j);
    dcsr_view_destroy(old);
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

/* write_matrix.c: running a producer of rows over all rows, and writing what comes of it.
 *
 * Threads take pages of 64 rows (write_page.c). Where few rows can change, the others are kept as they are,
 * and not looked at. */
#include "dcsr/base/turn.h"
#include "ops/matrix/write_matrix.h"
#include "ops/rows/row_block.h"
#include "ops/matrix/write_page.h"

static void note_failure(dcsr_i_writing *j, dcsr_status status)
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
static uint64_t take_portion(dcsr_i_writing *j, uint64_t *p)
{
    uint64_t next = atomic_load(&j->next), end;
    do {
        *p = dcsr_i_next_page_to_write(j, next);
        end = *p + j->portion < j->pages ? *p + j->portion : j->pages;
    } while (*p < end && !atomic_compare_exchange_weak(&j->next, &next, end));
    return end;
}

static void work(dcsr_i_writing *j, int number)
{
    dcsr_context *context = j->C->context;
    dcsr_i_few few[5];
    const dcsr_i_turn *before = dcsr_i_turn_enter(j->turn);
    dcsr_i_writer t = {.number = number,
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
        for (dcsr_status status; p < end; p = dcsr_i_next_page_to_write(j, p + 1))
            if ((status = dcsr_i_write_page(j, &t, p)) != DCSR_OK) {
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
static uint64_t rows_that_change(const dcsr_i_writing *j)
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

/* Whether the rows that do not change are kept. Where most do, writing all anew leaves C in better order. */
static bool keeps_rows(const dcsr_i_writing *j)
{
    return !dcsr_i_result_collects(j->C) && rows_that_change(j) <= j->op->rows / 2;
}

/* How many entries of C are looked at, about. */
static uint64_t entries_of_C(const dcsr_i_writing *j)
{
    if (!j->old) return 0;
    uint64_t stored = dcsr_i_rows_stored(j->old);
    return j->keep ? (uint64_t)((double)stored * (double)rows_that_change(j) / (double)j->op->rows) : stored;
}

/* Computes all rows; the result is then complete, or given back. */
static dcsr_status compute_rows(dcsr_i_writing *j)
{
    enum { PORTIONS = 16, MOST_PAGES = 512 }; /* per thread; at once */
    const dcsr_i_rowwise *op = j->op;
    uint64_t expected = op->work + entries_of_C(j);
    j->pages = (op->rows + DCSR_I_PAGE_ROWS - 1) >> DCSR_I_PAGE_SHIFT;
    int threads = dcsr_i_threads(j->C->context, expected);
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
    j->turn = dcsr_i_turn_of_thread();
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
    dcsr_i_writing *j = user;
    const dcsr_i_rowwise *op = j->op;
    DCSR_TRY(dcsr_i_check_shape(op->call, "C", C->versions.current->rows, C->versions.current->cols,
                                "the result", op->rows, op->cols));
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
    dcsr_i_writing j = {.op = op,
                        .C = op->C,
                        .nowhere = !op->mask && desc->mask_complement,
                        .plain = !op->mask && !op->accum && !op->region,
                        .complement = desc->mask_complement};
    DCSR_TRY(dcsr_i_check_output(op->call, op->C, op->mask, op->desc));
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
        j.fills = op->scalar && j.mask_is_pattern && !desc->mask_complement && !op->accum;
        if (j.fills) j.value = dcsr_i_scalar_as(op->C->type, op->type, op->scalar);
    }
    DCSR_TRY(dcsr_i_result_turn(op->C, op->call, compute, &j));
    dcsr_i_report(op->desc, op->work);
    return DCSR_OK;
}

/* single.c: setting and removing one entry, with an answer.
 *
 *      in place            where nobody holds a version (in_place.c)
 *      a result            else, of one row that is short: it is resolved into new places and edited there
 *      a batch             of one entry: where a row is long, and on a device, which merges it into the row as if the
 *                          policy were to replace
 *      two operations      of a durable matrix, as its journal wants them */
#include "dcsr/store/in_place.h"
#include "dcsr/store/result.h"
#include <string.h>

/* A row of so many entries is copied rather than appended to. */
enum { SHORT_ROW = 256 };

/* ---- A row, rewritten ---- */

/* Moves entries of a room up or down. */
static void shift(const dcsr_i_room *room, size_t size, uint64_t to, uint64_t from, uint64_t entries)
{
    memmove(room->columns + to, room->columns + from, entries * sizeof *room->columns);
    if (size)
        memmove((char *)room->values + to * size, (const char *)room->values + from * size, entries * size);
}

/* Edits resolved entries, whose columns ascend, and between which there is room for one more; returns how many there
 * are then. */
static uint64_t edit(const dcsr_i_room *room, size_t size, uint64_t n, dcsr_i_single *one)
{
    uint64_t begin = 0, end;
    while (begin < n && room->columns[begin] < one->col) begin++;
    for (end = begin; end < n && room->columns[end] == one->col;) end++;
    one->was_there = end > begin;
    uint64_t left = begin + !one->removes;
    shift(room, size, left, end, n - end);
    if (one->removes) return left + n - end;
    room->columns[begin] = (uint32_t)one->col;
    if (size) memcpy((char *)room->values + begin * size, one->value, size);
    return left + n - end;
}

static dcsr_status write_row(dcsr_i_result *result, dcsr_i_resolver *resolver, dcsr_i_single *one)
{
    dcsr_matrix *matrix = result->matrix;
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    dcsr_i_rows rows = dcsr_i_rows_of(matrix, matrix->versions.current);
    int count = dcsr_i_rows_pieces(&rows, one->row, pieces);
    uint64_t first = one->row & ~(uint64_t)(DCSR_I_PAGE_ROWS - 1), n = 0;
    uint32_t lengths[DCSR_I_PAGE_ROWS];
    dcsr_i_room room;
    DCSR_TRY(dcsr_i_result_room(result, 0, dcsr_i_rows_length(&rows, one->row) + 1, &room));
    const dcsr_i_stretch stretch = {pieces, count, dcsr_i_first_piece_ascends(rows.table, one->row)};
    if (count) n = dcsr_i_resolve_row(resolver, matrix, &stretch, DCSR_MAX_COLS, result->thread[0].next);
    n = edit(&room, matrix->value_size, n, one);
    lengths[one->row - first] = (uint32_t)n;
    result->duplicates = matrix->policy == DCSR_POLICY_KEEP;
    return dcsr_i_result_add_some(result, 0, first, (uint64_t)1 << (one->row - first), lengths);
}

static dcsr_status rewrite_row(dcsr_matrix *matrix, dcsr_i_single *one, uint64_t length)
{
    dcsr_i_result result;
    dcsr_i_resolver resolver;
    dcsr_status status = dcsr_i_resolver_init(&resolver, matrix->context, length);
    if (status == DCSR_OK) status = dcsr_i_result_begin(&result, matrix, 1, length + 1, true);
    if (status == DCSR_OK) {
        status = write_row(&result, &resolver, one);
        if (status == DCSR_OK)
            status = dcsr_i_result_publish(&result);
        else
            dcsr_i_result_drop(&result);
    }
    dcsr_i_resolver_free(&resolver);
    return status;
}

/* ---- A batch of one entry ---- */

static dcsr_i_entries batch_of(const dcsr_i_single *one, dcsr_i_kind kind)
{
    return (dcsr_i_entries){.call = one->call,
                            .kind = kind,
                            .n = 1,
                            .rows = &one->row,
                            .cols = &one->col,
                            .values = kind == DCSR_I_INSERT ? one->value : NULL};
}

/* Whether an insertion replaces the value that is stored. */
static bool insertion_replaces(const dcsr_matrix *matrix)
{
    return matrix->policy == DCSR_POLICY_LAST || (!matrix->value_size && matrix->policy != DCSR_POLICY_KEEP);
}

static dcsr_status apply_batch(dcsr_matrix *matrix, const dcsr_i_single *one, dcsr_i_kind kind)
{
    const dcsr_i_table *table = matrix->versions.current;
    dcsr_i_entries e = batch_of(one, kind);
    dcsr_i_operation *operation;
    DCSR_TRY(dcsr_i_entries_operation(&operation, matrix, &e, table->rows, table->cols));
    operation->replaces =
        kind == DCSR_I_INSERT && matrix->policy != DCSR_POLICY_KEEP && !insertion_replaces(matrix);
    dcsr_status status = dcsr_i_entries_pack(operation, &e, 1);
    if (status == DCSR_OK) status = matrix->engine->apply_entries(matrix, operation);
    dcsr_i_operation_release(operation);
    return status;
}

static dcsr_status apply_batches(dcsr_matrix *matrix, dcsr_i_single *one)
{
    dcsr_i_rows rows = matrix->engine->rows_of(matrix, matrix->versions.current);
    if (one->removes || matrix->policy == DCSR_POLICY_KEEP) {
        DCSR_TRY(matrix->engine->look_up(matrix->context, &rows, matrix->policy, 1, &one->row, &one->col,
                                         NULL, &one->was_there));
        if (one->was_there) DCSR_TRY(apply_batch(matrix, one, DCSR_I_REMOVE));
    }
    return one->removes ? DCSR_OK : apply_batch(matrix, one, DCSR_I_INSERT);
}

/* ---- In the matrix's turn ---- */

static dcsr_status check_position(const dcsr_i_table *table, const dcsr_i_single *one)
{
    if (one->row < table->rows && one->col < table->cols) return DCSR_OK;
    return dcsr_i_fail_outside(one->call, 0, 1, one->row, one->col, table->rows, table->cols);
}

/* Whether the row is to be rewritten; not a long one where a batch of one entry does. */
static bool is_rewritten(dcsr_matrix *matrix, const dcsr_i_single *one, uint64_t *length)
{
    if (!matrix->engine->in_place) return false;
    dcsr_i_rows rows = dcsr_i_rows_of(matrix, matrix->versions.current);
    *length = dcsr_i_rows_length(&rows, one->row);
    return *length <= SHORT_ROW || (!one->removes && !insertion_replaces(matrix));
}

static dcsr_status apply(dcsr_matrix *matrix, void *user)
{
    dcsr_i_single *one = user;
    uint64_t length;
    DCSR_TRY(check_position(matrix->versions.current, one));
    one->was_there = false;
    DCSR_TRY(is_rewritten(matrix, one, &length) ? rewrite_row(matrix, one, length)
                                                : apply_batches(matrix, one));
    atomic_fetch_add(one->removes ? &matrix->counts.removed : &matrix->counts.inserted, 1);
    atomic_fetch_add(&matrix->counts.batches, 1);
    return DCSR_OK;
}

/* ---- A durable matrix ---- */

static dcsr_status insert_and_wait(dcsr_matrix *matrix, const dcsr_i_single *one)
{
    dcsr_ticket *ticket;
    DCSR_TRY(dcsr_i_matrix_insert(matrix, one->call, 1, &one->row, &one->col, one->value, &ticket));
    dcsr_status status = dcsr_ticket_wait(ticket);
    dcsr_ticket_destroy(ticket);
    return status;
}

static dcsr_status remove_and_wait(dcsr_matrix *matrix, dcsr_i_single *one)
{
    dcsr_ticket *ticket;
    DCSR_TRY(dcsr_matrix_get(matrix, one->row, one->col, NULL, &one->was_there));
    if (!one->was_there) return DCSR_OK;
    DCSR_TRY(dcsr_matrix_remove(matrix, 1, &one->row, &one->col, &ticket));
    dcsr_status status = dcsr_ticket_wait(ticket);
    dcsr_ticket_destroy(ticket);
    return status;
}

static dcsr_status apply_durably(dcsr_matrix *matrix, dcsr_i_single *one)
{
    if (one->removes || !insertion_replaces(matrix)) DCSR_TRY(remove_and_wait(matrix, one));
    return one->removes ? DCSR_OK : insert_and_wait(matrix, one);
}

/* ---- The calls ---- */

static dcsr_status change(dcsr_matrix *matrix, dcsr_i_single *one)
{
    DCSR_TRY(dcsr_i_matrix_check(matrix));
    if (dcsr_i_set_in_place(matrix, one)) return DCSR_OK;
    const dcsr_i_entries e = batch_of(one, one->removes ? DCSR_I_REMOVE : DCSR_I_INSERT);
    DCSR_TRY(dcsr_i_entries_check(matrix, &e));
    if (matrix->queue.journal) return apply_durably(matrix, one);
    dcsr_i_set_aside before =
        dcsr_i_use_set_aside(one->removes ? DCSR_I_HALF_SET_ASIDE : DCSR_I_NOT_SET_ASIDE);
    dcsr_status status = dcsr_i_result_turn(matrix, one->call, apply, one);
    dcsr_i_use_set_aside(before);
    return status;
}

dcsr_status dcsr_matrix_set(dcsr_matrix *matrix, uint64_t row, uint64_t col, const void *value)
{
    return change(matrix,
                  &(dcsr_i_single){.call = "dcsr_matrix_set", .row = row, .col = col, .value = value});
}

dcsr_status dcsr_matrix_remove_one(dcsr_matrix *matrix, uint64_t row, uint64_t col, bool *removed)
{
    dcsr_i_single one = {.call = "dcsr_matrix_remove_one", .row = row, .col = col, .removes = true};
    dcsr_status status = change(matrix, &one);
    if (removed) *removed = status == DCSR_OK && one.was_there;
    return status;
}

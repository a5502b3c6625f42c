/* lookup.c: single entries. A row is scanned in order of time and what stands in the wanted column is folded,
 * so that nothing needs to be resolved first; where its first piece is known to ascend, by bisection. */
#include "dcsr/store/store.h"
#include <string.h>

/* What policy and tombstones leave of one place. Returns whether it is stored. */
static bool look_up(const dcsr_i_rows *rows, dcsr_policy policy, uint64_t row, uint32_t column, void *value)
{
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    int count = dcsr_i_rows_pieces(rows, row, pieces);
    size_t size = dcsr_type_size(rows->type);
    /* Of duplicates that are kept the last is given. */
    dcsr_i_combine combine =
        dcsr_i_combiner(rows->type, policy == DCSR_POLICY_KEEP ? DCSR_POLICY_LAST : policy);
    bool stored = false;
    uint64_t folded = 0;
    for (int k = 0; k < count; k++) {
        const uint64_t end = pieces[k].begin + pieces[k].length;
        const bool ascends = !k && dcsr_i_row_is_known_to_ascend(rows->table, row);
        for (uint64_t i = dcsr_i_first_place(rows->columns, &pieces[k], ascends, column);
             (i = dcsr_i_find_column(rows->columns, i, end, column)) < end; i++) {
            const char *here = rows->values ? (const char *)rows->values + i * size : NULL;
            if (rows->columns[i] & DCSR_I_TOMBSTONE)
                stored = false;
            else if (!stored && here)
                memcpy(&folded, here, size);
            else if (combine)
                combine(&folded, here);
            if (!(rows->columns[i] & DCSR_I_TOMBSTONE)) stored = true;
        }
    }
    if (stored && value) memcpy(value, &folded, size);
    return stored;
}

static dcsr_status check_places(const char *call, const dcsr_i_rows *rows, uint64_t n, const uint64_t *row,
                                const uint64_t *col)
{
    for (size_t i = 0; i < n; i++)
        if (row[i] >= rows->rows || col[i] >= rows->cols)
            return dcsr_i_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE,
                               "%s: place %zu of %zu is (%llu, %llu), outside the %llu x %llu matrix", call,
                               i, n, (unsigned long long)row[i], (unsigned long long)col[i],
                               (unsigned long long)rows->rows, (unsigned long long)rows->cols);
    return DCSR_OK;
}

dcsr_status dcsr_i_look_up(dcsr_context *context, const dcsr_i_rows *rows, dcsr_policy policy, uint64_t n,
                           const uint64_t *row, const uint64_t *col, void *values, bool *stored)
{
    size_t size = dcsr_type_size(rows->type);
    int threads = dcsr_i_threads(context, n * 16);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 256) if (threads > 1)
    for (size_t i = 0; i < n; i++)
        stored[i] =
            look_up(rows, policy, row[i], (uint32_t)col[i], values ? (char *)values + i * size : NULL);
    return DCSR_OK;
}

/* The same for a call of the public interface. */
typedef struct places {
    const char *call;
    size_t n;
    const uint64_t *row, *col;
    void *values;
    bool *stored;
} places;

static dcsr_status look_up_places(const dcsr_matrix *matrix, const dcsr_i_rows *rows, const places *p)
{
    if (p->n && (!p->row || !p->col || !p->stored))
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", p->call,
                           !p->row   ? "rows"
                           : !p->col ? "cols"
                                     : "stored");
    DCSR_TRY(check_places(p->call, rows, p->n, p->row, p->col));
    if (!p->n) return DCSR_OK;
    return matrix->engine->look_up(matrix->context, rows, matrix->policy, p->n, p->row, p->col, p->values,
                                   p->stored);
}

/* Of a matrix, once what is queued has been applied. */
static dcsr_status look_up_latest(dcsr_matrix *matrix, const places *p)
{
    DCSR_TRY(dcsr_i_matrix_check(matrix));
    DCSR_TRY(dcsr_i_queue_wait(matrix, p->call));
    dcsr_i_set_aside before = dcsr_i_use_set_aside(DCSR_I_ALL_SET_ASIDE);
    dcsr_i_held_version hold;
    dcsr_status status = dcsr_i_held_version_open(&hold, matrix);
    if (status == DCSR_OK) {
        dcsr_i_rows of = matrix->engine->rows_of(matrix, hold.base);
        status = look_up_places(matrix, &of, p);
        dcsr_i_held_version_close(&hold);
    }
    dcsr_i_use_set_aside(before);
    return status;
}

/* One position of a matrix in host memory, under the lock that those take who begin to read: nothing is held, and
 * nothing changes in place meanwhile. False: its row is too long for that. */
static bool look_up_one(dcsr_status *status, dcsr_matrix *matrix, const places *p)
{
    enum { SHORT_ROW = 4096 };
    dcsr_i_queue_is_awaited(&matrix->queue);
    pthread_mutex_lock(&matrix->versions.lock);
    dcsr_i_rows of = dcsr_i_rows_of(matrix, matrix->versions.current);
    bool here = *p->row >= of.rows || dcsr_i_rows_length(&of, *p->row) <= SHORT_ROW;
    if (here) *status = check_places(p->call, &of, 1, p->row, p->col);
    if (here && *status == DCSR_OK)
        *p->stored = look_up(&of, matrix->policy, *p->row, (uint32_t)*p->col, p->values);
    pthread_mutex_unlock(&matrix->versions.lock);
    return here;
}

dcsr_status dcsr_matrix_get_many(dcsr_matrix *matrix, uint64_t n, const uint64_t *rows, const uint64_t *cols,
                                 void *values, bool *stored)
{
    return look_up_latest(matrix, &(places){"dcsr_matrix_get_many", n, rows, cols, values, stored});
}

dcsr_status dcsr_matrix_get(dcsr_matrix *matrix, uint64_t row, uint64_t col, void *value, bool *stored)
{
    const places one = {"dcsr_matrix_get", 1, &row, &col, value, stored};
    dcsr_status status;
    DCSR_TRY(dcsr_i_matrix_check(matrix));
    if (!matrix->engine->in_place || !stored) return look_up_latest(matrix, &one);
    DCSR_TRY(dcsr_i_queue_wait(matrix, one.call));
    return look_up_one(&status, matrix, &one) ? status : look_up_latest(matrix, &one);
}

dcsr_status dcsr_view_get_many(dcsr_view *view, uint64_t n, const uint64_t *rows, const uint64_t *cols,
                               void *values, bool *stored)
{
    DCSR_TRY(dcsr_i_view_check(view));
    return look_up_places(dcsr_i_view_matrix(view), dcsr_i_view_rows(view),
                          &(places){"dcsr_view_get_many", n, rows, cols, values, stored});
}

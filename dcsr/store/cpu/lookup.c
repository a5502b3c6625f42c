/* lookup.c: single entries. A row is scanned in order of time and what stands in the wanted column is folded,
 * so that nothing needs to be resolved first; where its first piece is known to ascend, by bisection. */
#include "dcsr/store/store.h"

/* Entries to look in. */
typedef struct source {
    const uint32_t *columns;
    const char *values; /* NULL: none */
    dcsr_type type;
    size_t size; /* of a value */
    dcsr_policy policy;
} source;

/* What policy and tombstones leave of one place. Returns whether it is stored. */
static bool fold(const source *s, const dcsr_i_piece *pieces, int count, bool ascends, uint32_t column,
                 void *value)
{
    /* Of duplicates that are kept the last is given. */
    const dcsr_policy policy = s->policy == DCSR_POLICY_KEEP ? DCSR_POLICY_LAST : s->policy;
    const dcsr_i_combine combine = dcsr_i_combiner(s->type, policy);
    bool stored = false;
    uint64_t folded = 0;
    for (int k = 0; k < count; k++) {
        const uint64_t end = pieces[k].begin + pieces[k].length;
        for (uint64_t i = dcsr_i_first_place(s->columns, &pieces[k], !k && ascends, column);
             (i = dcsr_i_find_column(s->columns, i, end, column)) < end; i++) {
            const char *here = s->values ? s->values + i * s->size : NULL;
            if (s->columns[i] & DCSR_I_TOMBSTONE)
                stored = false;
            else if (!stored && here)
                memcpy(&folded, here, s->size);
            else if (combine)
                combine(&folded, here);
            if (!(s->columns[i] & DCSR_I_TOMBSTONE)) stored = true;
        }
    }
    if (stored && value) memcpy(value, &folded, s->size);
    return stored;
}

/* In a row of a page. */
static inline bool look_up_in(const source *s, const dcsr_i_row_page *page, unsigned r, uint32_t column,
                              void *value)
{
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    const int count = dcsr_i_row_pieces(page, r, pieces);
    const bool ascends = page->ascending >> r & 1;
    uint64_t i;
    if (s->policy == DCSR_POLICY_KEEP || (page->duplicates | page->tombstones) >> r & 1)
        return fold(s, pieces, count, ascends, column, value);
    /* Nothing stands in a column twice, or is deleted: what is found is all there is. */
    if (!dcsr_i_find_in_pieces(s->columns, pieces, count, ascends, column, &i)) return false;
    if (value && s->values) dcsr_i_copy_one(value, s->values + i * s->size, s->size);
    return true;
}

static bool look_up(const source *s, const dcsr_i_rows *rows, uint64_t row, uint32_t column, void *value)
{
    if (!rows->table) {
        const uint64_t *offset = rows->offsets + row;
        return fold(s, &(dcsr_i_piece){offset[0], offset[1] - offset[0]}, 1, false, column, value);
    }
    const dcsr_i_row_page *page = dcsr_i_page(rows->table, row >> DCSR_I_PAGE_SHIFT);
    return page && look_up_in(s, page, row & (DCSR_I_PAGE_ROWS - 1), column, value);
}

static dcsr_status fail_outside(const char *call, uint64_t i, uint64_t n, uint64_t row, uint64_t col,
                                uint64_t rows, uint64_t cols)
{
    return dcsr_i_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE,
                       "%s: place %llu of %llu is (%llu, %llu), outside the %llu x %llu matrix", call,
                       (unsigned long long)i, (unsigned long long)n, (unsigned long long)row,
                       (unsigned long long)col, (unsigned long long)rows, (unsigned long long)cols);
}

static dcsr_status check_places(const char *call, const dcsr_i_rows *rows, uint64_t n, const uint64_t *row,
                                const uint64_t *col)
{
    for (uint64_t i = 0; i < n; i++)
        if (row[i] >= rows->rows || col[i] >= rows->cols)
            return fail_outside(call, i, n, row[i], col[i], rows->rows, rows->cols);
    return DCSR_OK;
}

dcsr_status dcsr_i_look_up(dcsr_context *context, const dcsr_i_rows *rows, dcsr_policy policy, uint64_t n,
                           const uint64_t *row, const uint64_t *col, void *values, bool *stored)
{
    const source s = {rows->columns, rows->values, rows->type, dcsr_type_size(rows->type), policy};
    int threads = dcsr_i_threads(context, n * 16);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 256) if (threads > 1)
    for (size_t i = 0; i < n; i++)
        stored[i] = look_up(&s, rows, row[i], (uint32_t)col[i], values ? (char *)values + i * s.size : NULL);
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
    const uint64_t row = *p->row, col = *p->col;
    const unsigned r = row & (DCSR_I_PAGE_ROWS - 1);
    bool here = true, stored = false;
    *status = DCSR_OK;
    pthread_mutex_lock(&matrix->versions.lock);
    const dcsr_i_table *table = matrix->versions.current;
    if (row >= table->rows || col >= table->cols) {
        *status = fail_outside(p->call, 0, 1, row, col, table->rows, table->cols);
    } else {
        const dcsr_i_row_page *page = dcsr_i_page(table, row >> DCSR_I_PAGE_SHIFT);
        here = !page || page->length[r] <= SHORT_ROW;
        if (here && page) {
            const dcsr_i_arena *arena = &matrix->arena;
            const source s = {arena->columns, arena->values, matrix->type, matrix->value_size,
                              matrix->policy};
            stored = look_up_in(&s, page, r, (uint32_t)col, p->values);
        }
    }
    pthread_mutex_unlock(&matrix->versions.lock);
    if (here && *status == DCSR_OK) *p->stored = stored;
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
    if (dcsr_i_queue_is_idle(&matrix->queue))
        dcsr_i_queue_is_awaited(&matrix->queue);
    else
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

/* select.c: the entries of a matrix that an operator is true for.
 *
 * Operators on positions choose an interval of columns in each row, or all outside of one. For others a block
 * of rows is copied, the operator is applied to all of it, and what it is false for is closed up. */
#include "dcsr/base/search.h"
#include <dcsr/select.h>
#include "ops/matrix/matrix_ops_cuda.h"
#include "ops/matrix/write_matrix.h"
#include "ops/rows/row_block.h"

enum { WIDEST = 8, SHORT_ROW = 24 };

typedef struct thread_state {
    _Alignas(64) dcsr_i_row_reader a;
    dcsr_i_scratch values, truth;
} thread_state;

typedef struct selection {
    const char *call;
    dcsr_context *context;
    const dcsr_index_op *op;
    const void *thunk;
    dcsr_i_input a;
    bool by_position;
    int64_t limit; /* the thunk of an operator on positions */
    thread_state *threads;
    int count;
} selection;

static dcsr_status begin(void *user, int threads)
{
    selection *s = user;
    s->threads = dcsr_i_calloc(s->context, DCSR_I_SCRATCH, (size_t)threads, sizeof *s->threads);
    if (!s->threads) return DCSR_ERROR_OUT_OF_MEMORY;
    s->count = threads;
    for (int t = 0; t < threads; t++) s->threads[t].a = dcsr_i_row_reader_of(s->context, s->a.rows);
    return DCSR_OK;
}

static void end(void *user)
{
    selection *s = user;
    for (int t = 0; t < s->count; t++) {
        dcsr_i_row_reader_free(&s->threads[t].a);
        dcsr_i_scratch_free(&s->threads[t].values, s->context);
        dcsr_i_scratch_free(&s->threads[t].truth, s->context);
    }
    dcsr_i_free(s->context, DCSR_I_SCRATCH, s->threads, (size_t)s->count, sizeof *s->threads);
}

static uint64_t most(void *user, uint64_t first, unsigned count)
{
    const selection *s = user;
    return dcsr_i_rows_sum(s->a.rows, first, count);
}

/* ---- By position ---- */

/* Columns from `low` on and below `high`, or all others. */
typedef struct interval {
    uint64_t low, high;
    bool outside;
} interval;

/* a + b, at least 0 and at most more than any column; no overflow. */
static uint64_t bound(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum)) return b < 0 ? 0 : DCSR_MAX_COLS;
    return sum < 0 ? 0 : (uint64_t)sum < DCSR_MAX_COLS ? (uint64_t)sum : DCSR_MAX_COLS;
}

static bool is_position(const dcsr_index_op *op)
{
    switch (op->name) {
    case DCSR_INDEX_TRIL:
    case DCSR_INDEX_TRIU:
    case DCSR_INDEX_DIAG:
    case DCSR_INDEX_OFF_DIAG:
    case DCSR_INDEX_ROW_LE:
    case DCSR_INDEX_ROW_GT:
    case DCSR_INDEX_COL_LE:
    case DCSR_INDEX_COL_GT:
        return true;
    default:
        return false;
    }
}

static interval columns_of(const selection *s, uint64_t row)
{
    int64_t t = s->limit, i = (int64_t)row;
    uint64_t on = bound(i, t), behind = bound(i + 1, t), after = bound(1, t);
    switch (s->op->name) {
    case DCSR_INDEX_TRIL:
        return (interval){0, behind, false};
    case DCSR_INDEX_TRIU:
        return (interval){on, DCSR_MAX_COLS, false};
    case DCSR_INDEX_DIAG:
        return (interval){on, behind, false};
    case DCSR_INDEX_OFF_DIAG:
        return (interval){on, behind, true};
    case DCSR_INDEX_ROW_LE:
        return (interval){0, i <= t ? DCSR_MAX_COLS : 0, false};
    case DCSR_INDEX_ROW_GT:
        return (interval){0, i > t ? DCSR_MAX_COLS : 0, false};
    case DCSR_INDEX_COL_LE:
        return (interval){0, after, false};
    default:
        return (interval){after, DCSR_MAX_COLS, false};
    }
}

/* How many columns are below `column`: in short rows by looking at all, without branches. */
static uint64_t below(const dcsr_i_row *row, uint64_t column)
{
    if (row->n > SHORT_ROW) return dcsr_i_list_find(row->columns, 0, row->n, column);
    uint64_t count = 0;
    for (uint64_t i = 0; i < row->n; i++) count += row->columns[i] < column;
    return count;
}

/* Appends entries from .. end-1 of a row to entry `to` on. */
static inline uint64_t take(const dcsr_i_row *row, uint64_t from, uint64_t end, dcsr_i_room room, uint64_t to,
                            size_t size)
{
    uint64_t n = end - from;
    const char *values = room.values ? (const char *)row->values + from * size : NULL;
    if (n <= SHORT_ROW && (!values || size == sizeof(uint64_t))) {
        for (uint64_t e = 0; e < n; e++) room.columns[to + e] = row->columns[from + e];
        for (uint64_t e = 0; values && e < n; e++)
            ((uint64_t *)room.values)[to + e] = ((const uint64_t *)values)[e];
        return n;
    }
    memcpy(room.columns + to, row->columns + from, n * sizeof *room.columns);
    if (values) memcpy((char *)room.values + to * size, values, n * size);
    return n;
}

static dcsr_status select_positions(const selection *s, thread_state *t, uint64_t first, unsigned count,
                                    dcsr_i_room room, uint32_t *lengths)
{
    size_t size = s->a.value_size;
    uint64_t to = 0;
    for (unsigned r = 0; r < count; r++) {
        dcsr_i_row row;
        uint64_t start = to;
        DCSR_TRY(dcsr_i_row_get(&t->a, first + r, &row));
        interval in = columns_of(s, first + r);
        uint64_t low = in.low ? below(&row, in.low) : 0,
                 high = in.high < DCSR_MAX_COLS ? below(&row, in.high) : row.n;
        if (in.outside) {
            to += take(&row, 0, low, room, to, size);
            to += take(&row, high, row.n, room, to, size);
        } else if (low < high) {
            to += take(&row, low, high, room, to, size);
        }
        lengths[r] = (uint32_t)(to - start);
    }
    return DCSR_OK;
}

/* ---- By what the operator says ---- */

/* Whether it does not look where an entry is. */
static bool is_by_value(const dcsr_index_op *op)
{
    return op->name >= DCSR_INDEX_VALUE_EQ && op->name <= DCSR_INDEX_VALUE_GE;
}

/* Applies the operator to all entries of a block; truth[e] says what became of entry e. */
static bool judge(const selection *s, uint64_t first, uint64_t entries, const uint32_t *columns,
                  const char *values, const uint32_t *lengths, bool *truth)
{
    const dcsr_index_op *op = s->op;
    _Alignas(64) char x[DCSR_I_VALUES_AT_ONCE * WIDEST], z[DCSR_I_VALUES_AT_ONCE * WIDEST];
    uint32_t numbers[DCSR_I_VALUES_AT_ONCE];
    dcsr_type type = s->a.rows->type;
    size_t size = s->a.value_size;
    unsigned row = 0;
    uint32_t left = lengths[0];
    for (uint64_t done = 0, n; done < entries; done += n) {
        n = entries - done < DCSR_I_VALUES_AT_ONCE ? entries - done : DCSR_I_VALUES_AT_ONCE;
        if (!is_by_value(op)) dcsr_i_row_numbers(numbers, n, first, lengths, &row, &left);
        const char *from = size ? values + done * size : NULL;
        if (type != op->xtype) dcsr_i_cast(op->xtype, x, type, from, n);
        if (!dcsr_i_apply_index(op, z, type != op->xtype ? x : from,
                                &(dcsr_i_positions){.i = numbers, .j = columns + done}, s->thunk, n))
            return false;
        dcsr_i_cast(DCSR_BOOL, truth + done, op->ztype, z, n);
    }
    return true;
}

/* Keeps the entries of all rows that are true; `keep` moves the value of entry e to place k. */
#define CLOSE_UP(keep)                                                  \
    for (unsigned r = 0; r < count; r++) {                              \
        const uint64_t start = k;                                       \
        for (uint64_t end = e + lengths[r]; e < end; k += truth[e++]) { \
            room.columns[k] = room.columns[e];                          \
            keep;                                                       \
        }                                                               \
        lengths[r] = (uint32_t)(k - start);                             \
    }

static void close_up(dcsr_i_room room, size_t size, const bool *truth, unsigned count, uint32_t *lengths)
{
    uint64_t e = 0, k = 0;
    if (!room.values || !size) {
        CLOSE_UP((void)0)
    } else if (size == 1) {
        CLOSE_UP(((uint8_t *)room.values)[k] = ((uint8_t *)room.values)[e])
    } else if (size == 2) {
        CLOSE_UP(((uint16_t *)room.values)[k] = ((uint16_t *)room.values)[e])
    } else if (size == 4) {
        CLOSE_UP(((uint32_t *)room.values)[k] = ((uint32_t *)room.values)[e])
    } else {
        CLOSE_UP(((uint64_t *)room.values)[k] = ((uint64_t *)room.values)[e])
    }
}

static dcsr_status select_judged(const selection *s, thread_state *t, uint64_t first, unsigned count,
                                 dcsr_i_room room, uint32_t *lengths)
{
    dcsr_i_row_block b;
    size_t size = s->a.value_size;
    dcsr_i_row_block_of(&b, s->a.rows, first, count, lengths);
    dcsr_i_row_block_columns(&b, s->a.rows, room.columns);
    char *values = room.values;
    if (!values && size) {
        DCSR_TRY(dcsr_i_scratch_room(&t->values, s->context, b.entries * size));
        values = t->values.bytes;
    }
    if (size) dcsr_i_row_block_values(&b, s->a.rows, s->a.rows->type, values);
    DCSR_TRY(dcsr_i_scratch_room(&t->truth, s->context, b.entries * sizeof(bool)));
    bool *truth = t->truth.bytes;
    if (!judge(s, first, b.entries, room.columns, values, lengths, truth))
        return dcsr_i_fail_callback(s->call, s->op->text);
    close_up(room, size, truth, count, lengths);
    return DCSR_OK;
}

static dcsr_status block(void *user, int thread, uint64_t first, unsigned count, dcsr_i_room room,
                         uint32_t *lengths)
{
    const selection *s = user;
    thread_state *t = &s->threads[thread];
    return s->by_position ? select_positions(s, t, first, count, room, lengths)
                          : select_judged(s, t, first, count, room, lengths);
}

dcsr_status dcsr_matrix_select(dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum,
                               const dcsr_index_op *op, dcsr_view *A, const void *thunk,
                               const dcsr_desc *desc)
{
    selection s = {.call = "matrix_select", .op = op, .thunk = thunk};
    DCSR_TRY(dcsr_i_check_output(s.call, C, mask, desc));
    DCSR_TRY(dcsr_i_check_view(s.call, "A", A, C->context));
    if (!op) return dcsr_i_fail_operator(s.call, "operator");
    if (!thunk)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "%s: the thunk is NULL; give the address of a scalar of type %s", s.call,
                           dcsr_type_name(op->thunk));
    const dcsr_i_matrix_output out = {.call = s.call, .C = C, .mask = mask, .accum = accum, .desc = desc};
    if (dcsr_i_runs_on_device(&out, !op->loop))
        return dcsr_i_device_matrix_ops->index(&out, op, thunk, A, true);
    s.context = C->context;
    s.by_position = is_position(op);
    if (s.by_position) memcpy(&s.limit, thunk, sizeof s.limit);
    dcsr_status status = dcsr_i_input_of(&s.a, A, desc && desc->transpose_a);
    if (status == DCSR_OK) {
        dcsr_i_rowwise driver = {
            .out = out,
            .T = {.type = s.a.rows->type,
                  .rows = s.a.rows->rows,
                  .cols = s.a.rows->cols,
                  .work = dcsr_i_rows_stored(s.a.rows),
                  .source = {s.a.rows}},
            .make = {.user = &s, .begin = begin, .end = end, .most = most, .block = block}};
        status = dcsr_i_rowwise_run(&driver);
    }
    dcsr_i_input_free(&s.a);
    return status;
}

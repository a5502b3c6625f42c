/* ewise.c: sums and products of two matrices, entry by entry.
 *
 * Rows are merged (ewise_merge.h). The loops want values of one type throughout: that of both matrices, of
 * the operator's operands and of its result. Where they differ the rows are cast before: to the operator's
 * operands; and, for entries of a sum that stand alone, to its result. */
#include <dcsr/ewise.h>
#include "ops/matrix/ewise_merge.h"
#include "ops/matrix/matrix_ops_cuda.h"

typedef struct thread_state {
    _Alignas(64) dcsr_i_row_reader a, b;
    dcsr_i_scratch picks, x, y; /* for rows of several types; x and y: values that were cast */
    dcsr_i_meetings meetings;
} thread_state;

typedef struct ewise {
    const char *call;
    dcsr_context *context;
    const dcsr_binary_op *op;
    dcsr_i_input a, b;
    bool add, one_type;
    size_t size;                   /* of the operator's result */
    thread_state *threads, *alone; /* `count` of them, or the one */
    int count;
} ewise;

static dcsr_status begin(void *user, int threads)
{
    ewise *e = user;
    e->threads = e->alone;
    if (threads > 1)
        e->threads = dcsr_i_alloc(e->context, DCSR_I_SCRATCH, (size_t)threads, sizeof *e->threads);
    if (!e->threads) return DCSR_ERROR_OUT_OF_MEMORY;
    e->count = threads;
    for (int t = 0; t < threads; t++) {
        thread_state *state = &e->threads[t];
        memset(state, 0, offsetof(thread_state, meetings));
        state->meetings.n = 0;
        state->a = dcsr_i_row_reader_of(e->context, e->a.rows);
        state->b = dcsr_i_row_reader_of(e->context, e->b.rows);
    }
    return DCSR_OK;
}

static void end(void *user)
{
    ewise *e = user;
    for (int t = 0; t < e->count; t++) {
        thread_state *state = &e->threads[t];
        dcsr_i_row_reader_free(&state->a);
        dcsr_i_row_reader_free(&state->b);
        dcsr_i_scratch_free(&state->picks, e->context);
        dcsr_i_scratch_free(&state->x, e->context);
        dcsr_i_scratch_free(&state->y, e->context);
    }
    if (e->count > 1)
        dcsr_i_free(e->context, DCSR_I_SCRATCH, e->threads, (size_t)e->count, sizeof *e->threads);
}

static uint64_t most(void *user, uint64_t first, unsigned count)
{
    const ewise *e = user;
    uint64_t a = dcsr_i_rows_sum(e->a.rows, first, count), b = dcsr_i_rows_sum(e->b.rows, first, count);
    return e->add ? a + b : a < b ? a : b;
}

/* ---- Rows of one type, or without values ---- */

/* The meetings of an intersection are the last entries of the result. */
static bool combine_intersection(const ewise *e, dcsr_i_meetings *m, char *z, uint64_t k)
{
    size_t n = m->n;
    m->n = 0;
    return !n || dcsr_i_apply_binary(e->op, z + (k - n) * e->size, m->x, m->y, n);
}

static bool intersect_rows(const ewise *e, dcsr_i_meetings *m, dcsr_i_merge *merge, size_t size)
{
    dcsr_i_merge_loop *loop = dcsr_i_intersection_loop(size);
    merge->i = merge->j = 0;
    while (merge->i < merge->a.n && merge->j < merge->b.n) {
        loop(merge, m);
        if (size && m->n == DCSR_I_MEETINGS && !combine_intersection(e, m, merge->z.values, merge->k))
            return false;
    }
    return true;
}

/* ---- Rows of several types ---- */

#define NONE UINT32_MAX

/* Where an entry of the result comes from: positions in the two rows. */
typedef struct pick {
    uint32_t a, b;
} pick;

static bool meet(const pick *p)
{
    return p->a != NONE && p->b != NONE;
}

/* Writes the columns of the result and where each comes from; returns how many there are. */
static uint64_t pick_entries(const ewise *e, const dcsr_i_row *a, const dcsr_i_row *b, uint32_t *columns,
                             pick *picks)
{
    uint64_t i = 0, j = 0, n = 0;
    while (i < a->n || j < b->n) {
        uint32_t ca = i < a->n ? a->columns[i] : NONE, cb = j < b->n ? b->columns[j] : NONE,
                 column = ca < cb ? ca : cb;
        pick p = {ca == column ? (uint32_t)i++ : NONE, cb == column ? (uint32_t)j++ : NONE};
        if (!e->add && !meet(&p)) continue;
        columns[n] = column;
        picks[n++] = p;
    }
    return n;
}

/* The row's values as another type, in scratch memory. */
static dcsr_status cast_row(const ewise *e, dcsr_i_scratch *scratch, const dcsr_i_row *row, dcsr_type from,
                            dcsr_type to)
{
    DCSR_TRY(dcsr_i_scratch_room(scratch, e->context, row->n * dcsr_type_size(to)));
    if (row->n) dcsr_i_cast(to, scratch->bytes, from, row->values, row->n);
    return DCSR_OK;
}

/* Entries of a sum that stand alone, cast to the operator's result. */
static dcsr_status place_alone(const ewise *e, thread_state *t, const dcsr_i_merge *merge, const pick *picks,
                               uint64_t n, char *z)
{
    DCSR_TRY(cast_row(e, &t->x, &merge->a, e->a.rows->type, e->op->ztype));
    DCSR_TRY(cast_row(e, &t->y, &merge->b, e->b.rows->type, e->op->ztype));
    const char *a = t->x.bytes, *b = t->y.bytes;
    for (uint64_t k = 0; k < n; k++)
        if (!meet(&picks[k]))
            memcpy(z + k * e->size, picks[k].a != NONE ? a + picks[k].a * e->size : b + picks[k].b * e->size,
                   e->size);
    return DCSR_OK;
}

/* Entries that meet go through the operator block by block. */
static dcsr_status place_meetings(const ewise *e, thread_state *t, const dcsr_i_merge *merge,
                                  const pick *picks, uint64_t n, char *z)
{
    const dcsr_binary_op *op = e->op;
    dcsr_i_meetings *m = &t->meetings;
    size_t xsize = dcsr_type_size(op->xtype), ysize = dcsr_type_size(op->ytype);
    char block[DCSR_I_MEETINGS * DCSR_I_WIDEST];
    DCSR_TRY(cast_row(e, &t->x, &merge->a, e->a.rows->type, op->xtype));
    DCSR_TRY(cast_row(e, &t->y, &merge->b, e->b.rows->type, op->ytype));
    const char *a = t->x.bytes, *b = t->y.bytes;
    for (uint64_t k = 0; k < n;) {
        size_t count = 0;
        for (; k < n && count < DCSR_I_MEETINGS; k++) {
            if (!meet(&picks[k])) continue;
            memcpy(m->x + count * xsize, a + picks[k].a * xsize, xsize);
            memcpy(m->y + count * ysize, b + picks[k].b * ysize, ysize);
            m->at[count++] = k;
        }
        if (!dcsr_i_apply_binary(op, block, m->x, m->y, count))
            return dcsr_i_fail_callback(e->call, op->text);
        for (size_t c = 0; c < count; c++) memcpy(z + m->at[c] * e->size, block + c * e->size, e->size);
    }
    return DCSR_OK;
}

static dcsr_status merge_types(const ewise *e, thread_state *t, dcsr_i_merge *merge)
{
    uint64_t bound = merge->a.n + merge->b.n;
    DCSR_TRY(dcsr_i_scratch_room(&t->picks, e->context, bound * sizeof(pick)));
    pick *picks = t->picks.bytes;
    uint64_t n = pick_entries(e, &merge->a, &merge->b, merge->z.columns + merge->k, picks);
    char *z = (char *)merge->z.values + merge->k * e->size;
    merge->k += n;
    if (e->add) DCSR_TRY(place_alone(e, t, merge, picks, n, z));
    return place_meetings(e, t, merge, picks, n, z);
}

/* ---- Blocks of rows ---- */

static dcsr_status block(void *user, int thread, uint64_t first, unsigned count, dcsr_i_room room,
                         uint32_t *lengths)
{
    const ewise *e = user;
    thread_state *t = &e->threads[thread];
    dcsr_i_merge merge = {.z = room};
    size_t size = room.values ? e->size : 0;
    for (unsigned r = 0; r < count; r++) {
        uint64_t start = merge.k;
        DCSR_TRY(dcsr_i_row_get(&t->a, first + r, &merge.a));
        DCSR_TRY(dcsr_i_row_get(&t->b, first + r, &merge.b));
        if (room.values && !e->one_type)
            DCSR_TRY(merge_types(e, t, &merge));
        else if (!(e->add ? dcsr_i_unite_rows(&merge, &t->meetings, e->op, size)
                          : intersect_rows(e, &t->meetings, &merge, size)))
            return dcsr_i_fail_callback(e->call, e->op->text);
        lengths[r] = (uint32_t)(merge.k - start);
    }
    bool combined = !room.values || (e->add ? dcsr_i_combine_union(&t->meetings, e->op, size, room.values)
                                            : combine_intersection(e, &t->meetings, room.values, merge.k));
    return combined ? DCSR_OK : dcsr_i_fail_callback(e->call, e->op->text);
}

/* ---- The calls ---- */

static dcsr_status merge_matrices(ewise *e, const dcsr_i_matrix_output *out)
{
    const dcsr_binary_op *op = e->op;
    const dcsr_i_rows *a = e->a.rows, *b = e->b.rows;
    thread_state alone;
    e->alone = &alone;
    DCSR_TRY(dcsr_i_check_shape(e->call, "A", a->rows, a->cols, "B", b->rows, b->cols));
    e->size = dcsr_type_size(op->ztype);
    e->one_type = a->type == b->type && a->type == op->xtype && a->type == op->ytype && a->type == op->ztype;
    dcsr_i_rowwise driver = {.out = *out,
                             .T = {.type = op->ztype,
                                   .rows = a->rows,
                                   .cols = a->cols,
                                   .work = dcsr_i_rows_stored(a) + dcsr_i_rows_stored(b),
                                   .source = {a, b}},
                             .make = {.user = e, .begin = begin, .end = end, .most = most, .block = block}};
    return dcsr_i_rowwise_run(&driver);
}

static dcsr_status ewise_matrix(bool add, dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum,
                                const dcsr_binary_op *op, dcsr_view *A, dcsr_view *B, const dcsr_desc *desc)
{
    ewise e = {.call = add ? "matrix_ewise_add" : "matrix_ewise_mult", .op = op, .add = add};
    DCSR_TRY(dcsr_i_check_output(e.call, C, mask, desc));
    e.context = C->context;
    DCSR_TRY(dcsr_i_check_view(e.call, "A", A, e.context));
    DCSR_TRY(dcsr_i_check_view(e.call, "B", B, e.context));
    if (!op) return dcsr_i_fail_operator(e.call, "operator");
    const dcsr_i_matrix_output out = {.call = e.call, .C = C, .mask = mask, .accum = accum, .desc = desc};
    if (dcsr_i_runs_on_device(&out, !op->loop)) return dcsr_i_device_matrix_ops->ewise(&out, add, op, A, B);
    dcsr_status status = dcsr_i_input_of(&e.a, A, desc && desc->transpose_a);
    if (status == DCSR_OK) status = dcsr_i_input_of(&e.b, B, desc && desc->transpose_b);
    if (status == DCSR_OK) status = merge_matrices(&e, &out);
    dcsr_i_input_free(&e.a);
    dcsr_i_input_free(&e.b);
    return status;
}

dcsr_status dcsr_matrix_ewise_add(dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum,
                                  const dcsr_binary_op *op, dcsr_view *A, dcsr_view *B, const dcsr_desc *desc)
{
    return ewise_matrix(true, C, mask, accum, op, A, B, desc);
}

dcsr_status dcsr_matrix_ewise_mult(dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum,
                                   const dcsr_binary_op *op, dcsr_view *A, dcsr_view *B,
                                   const dcsr_desc *desc)
{
    return ewise_matrix(false, C, mask, accum, op, A, B, desc);
}

/* extract.c: some rows and columns of a matrix as a matrix.
 *
 * Of each chosen row, the entries whose columns are in the list get the positions there as columns. A list
 * that is a range cuts a piece out of the row. */
#include "dcsr/base/search.h"
#include <dcsr/extract.h>
#include "ops/matrix/index_list.h"
#ifdef DCSR_CUDA
#include "ops/matrix/matrix_ops_cuda.h"
#endif

static const char call[] = "matrix_extract";

/* The most that a row of so many entries can become. */
static uint64_t row_most(const dcsr_i_moving *x, uint64_t length)
{
    uint64_t repeated = length * x->cols.repeats;
    return repeated < x->cols.n ? repeated : x->cols.n;
}

static uint64_t most(void *user, uint64_t first, unsigned count)
{
    const dcsr_i_moving *x = user;
    uint64_t sum = 0;
    for (unsigned r = 0; r < count; r++)
        sum += row_most(x, dcsr_i_rows_length(x->a.rows, dcsr_i_selected_at(&x->rows, first + r)));
    return sum;
}

/* Columns first .. first + n - 1 become 0 .. n - 1. */
static uint64_t cut(const dcsr_i_moving *x, const dcsr_i_row *row, dcsr_i_room room, uint64_t to)
{
    uint64_t first = x->cols.all ? 0 : x->cols.first;
    uint64_t from = first ? dcsr_i_list_find(row->columns, 0, row->n, first) : 0,
             behind = x->cols.all ? row->n : dcsr_i_list_find(row->columns, from, row->n, first + x->cols.n),
             n = behind - from;
    size_t size = x->a.value_size;
    for (uint64_t e = 0; e < n; e++) room.columns[to + e] = row->columns[from + e] - (uint32_t)first;
    if (room.values && n)
        memcpy((char *)room.values + to * size, (const char *)row->values + from * size, n * size);
    return n;
}

/* Each column becomes all its positions in the list. */
static dcsr_status pick(const dcsr_i_moving *x, dcsr_i_mover *t, const dcsr_i_row *row, dcsr_i_room room,
                        uint64_t to, uint32_t *length)
{
    const dcsr_i_selected *cols = &x->cols;
    DCSR_TRY(dcsr_i_moved_room(&t->moved, x->context, row_most(x, row->n)));
    for (uint64_t e = 0, k = 0; e < row->n; e++) {
        k = dcsr_i_selected_find(cols, k, row->columns[e]);
        for (; k < cols->n && cols->sorted[k] == row->columns[e]; k++)
            dcsr_i_moved_add(&t->moved, dcsr_i_selected_position(cols, k), e);
    }
    *length = (uint32_t)t->moved.n;
    dcsr_i_moved_write(&t->moved, !cols->position, row, x->a.value_size, room, to);
    return DCSR_OK;
}

static dcsr_status block(void *user, int thread, uint64_t first, unsigned count, dcsr_i_room room,
                         uint32_t *lengths)
{
    const dcsr_i_moving *x = user;
    dcsr_i_mover *t = &x->thread[thread];
    bool range = x->cols.all || x->cols.range;
    uint64_t to = 0;
    for (unsigned r = 0; r < count; r++) {
        dcsr_i_row row;
        DCSR_TRY(dcsr_i_row_get(&t->a, dcsr_i_selected_at(&x->rows, first + r), &row));
        if (range)
            lengths[r] = (uint32_t)cut(x, &row, room, to);
        else
            DCSR_TRY(pick(x, t, &row, room, to, &lengths[r]));
        to += lengths[r];
    }
    return DCSR_OK;
}

static dcsr_status extract_matrix(dcsr_i_moving *x, dcsr_matrix *C, dcsr_view *mask,
                                  const dcsr_binary_op *accum, const uint64_t *rows, uint64_t nrows,
                                  const uint64_t *cols, uint64_t ncols, const dcsr_desc *desc)
{
    const dcsr_i_rows *a = x->a.rows;
    uint64_t stored = dcsr_i_rows_stored(a), work = 0;
    DCSR_TRY(dcsr_i_select_indices(&x->rows, x->context, call, "row", rows, nrows, a->rows, false, 0));
    DCSR_TRY(
        dcsr_i_select_indices(&x->cols, x->context, call, "column", cols, ncols, a->cols, false, stored));
    for (uint64_t k = 0; rows && k < nrows; k++) work += dcsr_i_rows_length(a, rows[k]);
    dcsr_i_rowwise driver = {.call = call,
                             .C = C,
                             .mask = mask,
                             .accum = accum,
                             .desc = desc,
                             .type = a->type,
                             .rows = x->rows.n,
                             .cols = x->cols.n,
                             .work = rows ? work : stored,
                             .source = {rows ? NULL : a},
                             .user = x,
                             .begin = dcsr_i_moving_begin,
                             .end = dcsr_i_moving_end,
                             .most = most,
                             .block = block};
    return dcsr_i_rowwise_run(&driver);
}

#ifdef DCSR_CUDA
static dcsr_status run_on_device(dcsr_i_moving *x, const dcsr_i_cuda_matrix_output *out, dcsr_view *A,
                                 const uint64_t *rows, uint64_t nrows, const uint64_t *cols, uint64_t ncols)
{
    const dcsr_i_rows *a = dcsr_i_view_rows(A);
    bool turned = out->desc && out->desc->transpose_a;
    DCSR_TRY(dcsr_i_select_indices(&x->rows, x->context, call, "row", rows, nrows, turned ? a->cols : a->rows,
                                   false, 0));
    DCSR_TRY(dcsr_i_select_indices(&x->cols, x->context, call, "column", cols, ncols,
                                   turned ? a->rows : a->cols, false, 0));
    return dcsr_i_cuda_matrix_extract(out, A, &x->rows, &x->cols);
}
#endif

dcsr_status dcsr_matrix_extract(dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum, dcsr_view *A,
                                const uint64_t *rows, uint64_t nrows, const uint64_t *cols, uint64_t ncols,
                                const dcsr_desc *desc)
{
    dcsr_i_moving x = {0};
    DCSR_TRY(dcsr_i_check_output(call, C, mask, desc));
    DCSR_TRY(dcsr_i_check_view(call, "A", A, C->context));
    x.context = C->context;
#ifdef DCSR_CUDA
    const dcsr_i_cuda_matrix_output there = {
        .call = call, .C = C, .mask = mask, .accum = accum, .desc = desc};
    if (dcsr_i_cuda_matrix_takes(&there, false)) {
        dcsr_status status = run_on_device(&x, &there, A, rows, nrows, cols, ncols);
        dcsr_i_moving_free(&x);
        return status;
    }
#endif
    dcsr_status status = dcsr_i_input_of(&x.a, A, desc && desc->transpose_a);
    if (status == DCSR_OK) status = extract_matrix(&x, C, mask, accum, rows, nrows, cols, ncols, desc);
    dcsr_i_moving_free(&x);
    return status;
}

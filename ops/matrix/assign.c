/* assign.c: writing a matrix to some rows and columns of another.
 *
 * T is A with its rows and columns at the places that the lists name. Without an accumulator the driver keeps
 * what C has outside of these (dcsr_i_region). */
#include <dcsr/assign.h>
#include "ops/matrix/index_list.h"
#ifdef DCSR_CUDA
#include "ops/matrix/matrix_ops_cuda.h"
#endif

static const char call[] = "matrix_assign";

/* The row of A that goes to a row of C, searched for from place *at of the list on; false when none does. */
static bool source_of(const dcsr_i_moving *x, uint64_t row, uint64_t *at, uint64_t *source)
{
    *source = row;
    if (x->rows.all) return true;
    *at = dcsr_i_selected_find(&x->rows, *at, row);
    if (*at == x->rows.n || x->rows.sorted[*at] != row) return false;
    *source = dcsr_i_selected_position(&x->rows, *at);
    return true;
}

static uint64_t most(void *user, uint64_t first, unsigned count)
{
    const dcsr_i_moving *x = user;
    uint64_t sum = 0, at = 0, source;
    for (unsigned r = 0; r < count; r++)
        if (source_of(x, first + r, &at, &source)) sum += dcsr_i_rows_length(x->a.rows, source);
    return sum;
}

static dcsr_status place_row(const dcsr_i_moving *x, dcsr_i_mover *t, uint64_t source, dcsr_i_room room,
                             uint64_t to, uint32_t *length)
{
    const dcsr_i_selected *cols = &x->cols;
    dcsr_i_row row;
    DCSR_TRY(dcsr_i_row_get(&t->a, source, &row));
    *length = (uint32_t)row.n;
    if (!cols->all && cols->position) {
        DCSR_TRY(dcsr_i_moved_room(&t->moved, x->context, row.n));
        for (uint64_t e = 0; e < row.n; e++)
            dcsr_i_moved_add(&t->moved, (uint32_t)cols->given[row.columns[e]], e);
        dcsr_i_moved_write(&t->moved, false, &row, x->a.value_size, room, to);
        return DCSR_OK;
    }
    size_t size = x->a.value_size;
    for (uint64_t e = 0; e < row.n; e++)
        room.columns[to + e] = cols->all ? row.columns[e] : cols->sorted[row.columns[e]];
    if (room.values && row.n) memcpy((char *)room.values + to * size, row.values, row.n * size);
    return DCSR_OK;
}

static dcsr_status block(void *user, int thread, uint64_t first, unsigned count, dcsr_i_room room,
                         uint32_t *lengths)
{
    const dcsr_i_moving *x = user;
    uint64_t to = 0, at = 0, source;
    for (unsigned r = 0; r < count; to += lengths[r++]) {
        lengths[r] = 0;
        if (source_of(x, first + r, &at, &source))
            DCSR_TRY(place_row(x, &x->thread[thread], source, room, to, &lengths[r]));
    }
    return DCSR_OK;
}

static dcsr_status check_shape_of(const dcsr_view *A, bool transposed, const dcsr_i_moving *x)
{
    const dcsr_i_rows *a = dcsr_i_view_rows(A);
    return dcsr_i_check_shape(call, "A", transposed ? a->cols : a->rows, transposed ? a->rows : a->cols,
                              "the region", x->rows.n, x->cols.n);
}

static dcsr_status assign_matrix(dcsr_i_moving *x, dcsr_matrix *C, dcsr_view *mask,
                                 const dcsr_binary_op *accum, uint64_t rows, uint64_t cols,
                                 const dcsr_desc *desc)
{
    const dcsr_i_rows *a = x->a.rows;
    dcsr_i_region region = {dcsr_i_selected_list(&x->rows), dcsr_i_selected_list(&x->cols)};
    dcsr_i_rowwise driver = {.call = call,
                             .C = C,
                             .mask = mask,
                             .accum = accum,
                             .desc = desc,
                             .type = a->type,
                             .rows = rows,
                             .cols = cols,
                             .work = dcsr_i_rows_stored(a),
                             .source = {x->rows.all ? a : NULL},
                             .user = x,
                             .begin = dcsr_i_moving_begin,
                             .end = dcsr_i_moving_end,
                             .most = most,
                             .block = block,
                             .region = x->rows.all && x->cols.all ? NULL : &region};
    return dcsr_i_rowwise_run(&driver);
}

dcsr_status dcsr_matrix_assign(dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum, dcsr_view *A,
                               const uint64_t *rows, uint64_t nrows, const uint64_t *cols, uint64_t ncols,
                               const dcsr_desc *desc)
{
    dcsr_i_moving x = {0};
    uint64_t c_rows, c_cols;
    DCSR_TRY(dcsr_i_check_output(call, C, mask, desc));
    DCSR_TRY(dcsr_i_check_view(call, "A", A, C->context));
    x.context = C->context;
    dcsr_i_shape_queued(C, &c_rows, &c_cols);
    dcsr_status status =
        dcsr_i_select_indices(&x.rows, x.context, call, "row", rows, nrows, c_rows, true, nrows);
    if (status == DCSR_OK)
        status = dcsr_i_select_indices(&x.cols, x.context, call, "column", cols, ncols, c_cols, true, 0);
    if (status == DCSR_OK) status = check_shape_of(A, desc && desc->transpose_a, &x);
#ifdef DCSR_CUDA
    const dcsr_i_cuda_matrix_output there = {
        .call = call, .C = C, .mask = mask, .accum = accum, .desc = desc};
    if (dcsr_i_cuda_matrix_takes(&there, false)) {
        if (status == DCSR_OK) status = dcsr_i_cuda_matrix_assign(&there, A, &x.rows, &x.cols);
        dcsr_i_moving_free(&x);
        return status;
    }
#endif
    if (status == DCSR_OK) status = dcsr_i_selected_mark(&x.rows);
    if (status == DCSR_OK) status = dcsr_i_selected_mark(&x.cols);
    if (status == DCSR_OK) status = dcsr_i_input_of(&x.a, A, desc && desc->transpose_a);
    if (status == DCSR_OK) status = assign_matrix(&x, C, mask, accum, c_rows, c_cols, desc);
    dcsr_i_moving_free(&x);
    return status;
}

/* transpose.c: the transpose of a matrix.
 *
 * With neither mask nor accumulator, entries are sent right to the place in C where they stay. Otherwise rows
 * of the transpose, that the view makes or has, are what is written. */
#include "dcsr/view/view_data.h"
#include "ops/matrix/matrix_ops_cuda.h"
#include "ops/matrix/write_matrix.h"
#include "ops/rows/row_block.h"
#include <dcsr/transpose.h>

static const char call[] = "matrix_transpose";

/* ---- Rows that are there ---- */

static uint64_t most(void *user, uint64_t first, unsigned count)
{
    const dcsr_i_input *a = user;
    return dcsr_i_rows_sum(a->rows, first, count);
}

static dcsr_status block(void *user, int thread, uint64_t first, unsigned count, dcsr_i_room room,
                         uint32_t *lengths)
{
    const dcsr_i_input *a = user;
    dcsr_i_row_block b;
    (void)thread;
    dcsr_i_row_block_of(&b, a->rows, first, count, lengths);
    dcsr_i_row_block_columns(&b, a->rows, room.columns);
    if (room.values) dcsr_i_row_block_values(&b, a->rows, a->rows->type, room.values);
    return DCSR_OK;
}

static dcsr_status copy_rows(const dcsr_i_matrix_output *out, dcsr_view *A, bool transposed)
{
    dcsr_i_input a;
    dcsr_status status = dcsr_i_input_of(&a, A, transposed);
    if (status == DCSR_OK) {
        dcsr_i_rowwise driver = {.out = *out,
                                 .T = {.type = a.rows->type,
                                       .rows = a.rows->rows,
                                       .cols = a.rows->cols,
                                       .work = dcsr_i_rows_stored(a.rows),
                                       .source = {a.rows}},
                                 .make = {.user = &a, .most = most, .block = block}};
        status = dcsr_i_rowwise_run(&driver);
    }
    dcsr_i_input_free(&a);
    return status;
}

/* ---- Straight into C ---- */

/* Says where the rows are that the arrays of csc hold. */
static dcsr_status add_rows(dcsr_i_result *result, const dcsr_i_csr *csc)
{
    for (uint64_t first = 0; first < csc->rows; first += DCSR_I_PAGE_ROWS) {
        uint32_t lengths[DCSR_I_PAGE_ROWS];
        unsigned count = 0;
        for (; count < DCSR_I_PAGE_ROWS && first + count < csc->rows; count++)
            lengths[count] = (uint32_t)(csc->offsets[first + count + 1] - csc->offsets[first + count]);
        DCSR_TRY(dcsr_i_result_add(result, 0, first, count, lengths));
    }
    return DCSR_OK;
}

static dcsr_status fill(dcsr_i_result *result, dcsr_i_csr *csc, const dcsr_i_rows *rows)
{
    dcsr_i_room room;
    DCSR_TRY(dcsr_i_result_room(result, 0, csc->nnz, &room));
    csc->columns = room.columns;
    csc->values = room.values;
    DCSR_TRY(dcsr_i_csc_fill(csc, rows));
    return add_rows(result, csc);
}

/* In C's turn. */
static dcsr_status compute(dcsr_matrix *C, void *user)
{
    const dcsr_i_rows *rows = user;
    dcsr_i_csr csc = {.context = C->context,
                      .type = C->type,
                      .value_size = C->value_size,
                      .rows = rows->cols,
                      .cols = rows->rows,
                      .nnz = dcsr_i_rows_stored(rows)};
    DCSR_TRY(dcsr_i_check_shape(call, "C", C->versions.current->rows, C->versions.current->cols, "the result",
                                csc.rows, csc.cols));
    csc.offsets = dcsr_i_alloc(C->context, DCSR_I_SCRATCH, csc.rows + 1, sizeof *csc.offsets);
    if (!csc.offsets) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_i_result result;
    dcsr_status status = dcsr_i_result_begin(&result, C, 1, csc.nnz, false);
    if (status == DCSR_OK) {
        status = fill(&result, &csc, rows);
        if (status == DCSR_OK)
            status = dcsr_i_result_publish(&result);
        else
            dcsr_i_result_drop(&result);
    }
    dcsr_i_free(C->context, DCSR_I_SCRATCH, csc.offsets, csc.rows + 1, sizeof *csc.offsets);
    return status;
}

static dcsr_status transpose_into(dcsr_matrix *C, dcsr_view *A, const dcsr_desc *desc)
{
    dcsr_i_input a;
    DCSR_TRY(dcsr_i_input_of(&a, A, false));
    DCSR_TRY(dcsr_i_result_turn(C, call, compute, (void *)a.rows));
    dcsr_i_report(desc, dcsr_i_rows_stored(a.rows));
    return DCSR_OK;
}

dcsr_status dcsr_matrix_transpose(dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum, dcsr_view *A,
                                  const dcsr_desc *desc)
{
    DCSR_TRY(dcsr_i_check_output(call, C, mask, desc));
    DCSR_TRY(dcsr_i_check_view(call, "A", A, C->context));
    bool copied = desc && desc->transpose_a;
    const dcsr_i_matrix_output out = {.call = call, .C = C, .mask = mask, .accum = accum, .desc = desc};
    if (dcsr_i_runs_on_device(&out, false)) return dcsr_i_device_matrix_ops->copy(&out, A, !copied);
    bool plain = !mask && !accum && !(desc && desc->mask_complement);
    bool one_type = C->type == dcsr_i_view_rows(A)->type || C->type == DCSR_PATTERN;
    const dcsr_i_rows *rows = dcsr_i_view_rows(A);
    /* Where an offset for each row of the result would outweigh it, only those that have entries are made. */
    bool sparse = !rows->on_device && dcsr_i_lines_are_sparse(rows->cols, dcsr_i_rows_entries(rows));
    if (plain && one_type && !copied && !sparse && !dcsr_i_view_transpose_is_ready(A))
        return transpose_into(C, A, desc);
    return copy_rows(&out, A, !copied);
}

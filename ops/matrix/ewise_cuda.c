/* ewise_cuda.c: sums and products of two matrices, entry by entry, on a device. */
#include "ops/matrix/ewise_cuda.h"
#include "ops/matrix/write_matrix.h"

typedef struct operands {
    const dcsr_i_cuda_matrix_output *out;
    bool add;
    const dcsr_binary_op *op;
    dcsr_view *A, *B;
} operands;

static dcsr_status merge(dcsr_i_cuda_list *T, dcsr_i_cuda_stream *stream, const operands *o,
                         const dcsr_i_cuda_list *a, const dcsr_i_cuda_list *b)
{
    DCSR_TRY(dcsr_i_check_shape(o->out->call, "A", a->rows, a->cols, "B", b->rows, b->cols));
    bool values = o->out->C->type != DCSR_PATTERN;
    dcsr_i_cuda_merging how = {
        .x = o->add, .y = o->add, .both = true, .op = o->op, .type = values ? o->op->ztype : DCSR_PATTERN};
    return dcsr_i_cuda_list_merge(T, stream, a, b, &how);
}

static dcsr_status compute(dcsr_i_cuda_list *T, dcsr_i_cuda_stream *stream, const void *user)
{
    const operands *o = user;
    const dcsr_desc *desc = o->out->desc;
    dcsr_i_cuda_list a, b;
    DCSR_TRY(dcsr_i_cuda_list_of_view(&a, stream, o->A, desc && desc->transpose_a));
    dcsr_status status = dcsr_i_cuda_list_of_view(&b, stream, o->B, desc && desc->transpose_b);
    if (status == DCSR_OK) {
        status = merge(T, stream, o, &a, &b);
        dcsr_i_cuda_list_close(&b, stream);
    }
    dcsr_i_cuda_list_close(&a, stream);
    return status;
}

dcsr_status dcsr_i_cuda_matrix_ewise(const dcsr_i_cuda_matrix_output *out, bool add, const dcsr_binary_op *op,
                                     dcsr_view *A, dcsr_view *B)
{
    operands o = {out, add, op, A, B};
    return dcsr_i_cuda_matrix_run(
        out, compute, &o, dcsr_i_rows_stored(dcsr_i_view_rows(A)) + dcsr_i_rows_stored(dcsr_i_view_rows(B)));
}

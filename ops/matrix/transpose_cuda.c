/* transpose_cuda.c: the transpose of a matrix on a device, made right where it stays in C. */
#include "dcsr/base/runtime.h"
#include "dcsr/store/cuda/store_cuda.h"
#include "dcsr/store/result.h"
#include "dcsr/view/csc_cuda.h"
#include "dcsr/view/view_data.h"
#include "ops/matrix/matrix_ops_cuda.h"
#include "ops/matrix/write_matrix.h"

typedef struct transposition {
    const dcsr_i_matrix_output *out;
    dcsr_i_cuda_rows rows;
} transposition;

static dcsr_status produce(dcsr_i_cuda_sink *sink, void *user)
{
    const transposition *t = user;
    const dcsr_i_cuda_rows *rows = &t->rows;
    dcsr_matrix *C = sink->matrix;
    uint64_t first;
    sink->ascending = true; /* each entry stands once */
    if (!rows->stored) return DCSR_OK;
    DCSR_TRY(dcsr_i_cuda_sink_room(sink, rows->stored, &first));
    uint64_t *offsets = dcsr_i_cuda_alloc(sink->stream, DCSR_I_SCRATCH, rows->cols + 1, sizeof *offsets);
    if (!offsets) return dcsr_i_no_memory();
    dcsr_status status =
        dcsr_i_cuda_transpose(sink->stream, rows, offsets, C->arena.columns + first,
                              rows->value_size ? C->arena.values + first * rows->value_size : NULL);
    dcsr_i_cuda_split_offsets(sink->stream, offsets, rows->cols, first, sink->begin, sink->length);
    dcsr_i_cuda_free(sink->stream, DCSR_I_SCRATCH, offsets, rows->cols + 1, sizeof *offsets);
    sink->stored = rows->stored;
    sink->contiguous = true;
    return status;
}

static dcsr_status transpose_in_turn(dcsr_matrix *C, void *user)
{
    transposition *t = user;
    const dcsr_i_table *now = C->versions.current;
    DCSR_TRY(dcsr_i_check_shape(t->out->call, "C", now->rows, now->cols, "the result", t->rows.cols,
                                t->rows.rows));
    dcsr_i_cuda_enter(C->cuda->stream);
    dcsr_status status = dcsr_i_cuda_replace_rows(C, produce, t);
    dcsr_i_cuda_leave(C->cuda->stream);
    return status;
}

dcsr_status dcsr_i_cuda_transpose_into(bool *taken, const dcsr_i_matrix_output *out, dcsr_view *A)
{
    transposition t = {.out = out, .rows = A->form[0].rows.device};
    const bool plain = !out->mask && !out->accum && !(out->desc && out->desc->mask_complement);
    const bool once = !A->shows_duplicates && A->matrix->policy != DCSR_POLICY_KEEP;
    const dcsr_type type = out->C->type;
    *taken = plain && once && (type == DCSR_PATTERN || type == (dcsr_type)t.rows.type) &&
             !dcsr_i_cuda_view_transpose_is_ready(A);
    if (!*taken) return DCSR_OK;
    if (type == DCSR_PATTERN) t.rows.type = DCSR_PATTERN, t.rows.value_size = 0, t.rows.values = NULL;
    DCSR_TRY(dcsr_i_result_turn(out->C, out->call, transpose_in_turn, &t));
    dcsr_i_view_was_read(A);
    if (out->desc && out->desc->report)
        *out->desc->report = (dcsr_report){.device = DCSR_DEVICE_CUDA, .entries = t.rows.stored};
    return DCSR_OK;
}

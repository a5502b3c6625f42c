/* matrix_input.c: what operations on matrices check, and how their inputs are brought into order. */
#include "ops/algebra/dispatch.h"
#include "ops/matrix/write_matrix.h"

dcsr_status dcsr_i_check_view(const char *call, const char *what, const dcsr_view *view,
                              const dcsr_context *context)
{
    if (!view) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: %s is NULL; create a view", call, what);
    DCSR_TRY(dcsr_i_view_check(view));
    if (dcsr_i_view_context(view) != context)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: %s is of another context than the output", call,
                           what);
    return DCSR_OK;
}

dcsr_status dcsr_i_check_output(const char *call, const dcsr_matrix *C, const dcsr_view *mask,
                                const dcsr_desc *desc)
{
    if (!C) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: C is NULL; create a matrix first", call);
    DCSR_TRY(dcsr_i_matrix_check(C));
    DCSR_TRY(dcsr_i_check_desc(call, desc, C->context));
    return mask ? dcsr_i_check_view(call, "the mask", mask, C->context) : DCSR_OK;
}

bool dcsr_i_runs_on_device(const dcsr_i_matrix_output *out, bool users)
{
    bool host = out->desc && out->desc->device == DCSR_DEVICE_CPU;
    return out->C->context->cuda && !host && !users && !(out->accum && !out->accum->loop);
}

dcsr_status dcsr_i_fail_operator(const char *call, const char *what)
{
    return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                       "%s: the %s is NULL: there is none of that name on that type", call, what);
}

dcsr_status dcsr_i_check_shape(const char *call, const char *what, uint64_t rows, uint64_t cols,
                               const char *other, uint64_t other_rows, uint64_t other_cols)
{
    if (rows == other_rows && cols == other_cols) return DCSR_OK;
    return dcsr_i_fail(DCSR_ERROR_DIMENSION_MISMATCH, "%s: %s is %llu x %llu, but %s is %llu x %llu", call,
                       what, (unsigned long long)rows, (unsigned long long)cols, other,
                       (unsigned long long)other_rows, (unsigned long long)other_cols);
}

void dcsr_i_shape_queued(dcsr_matrix *C, uint64_t *rows, uint64_t *cols)
{
    pthread_mutex_lock(&C->queue.lock);
    *rows = C->queue.rows;
    *cols = C->queue.cols;
    pthread_mutex_unlock(&C->queue.lock);
}

void dcsr_i_report(const dcsr_desc *desc, uint64_t entries)
{
    if (!desc || !desc->report) return;
    *desc->report = (dcsr_report){.device = DCSR_DEVICE_CPU, .entries = entries};
}

/* Rows of the transpose ascend; but what stands twice in a row of the matrix does so there. */
static dcsr_status sort_transposed(dcsr_i_input *input, dcsr_view *view)
{
    DCSR_TRY(dcsr_i_rows_sort(&input->own, dcsr_i_view_matrix(view), input->rows));
    if (dcsr_i_form_is_made(&input->own)) input->rows = &input->own.rows;
    return DCSR_OK;
}

dcsr_status dcsr_i_input_of(dcsr_i_input *input, dcsr_view *view, bool transposed)
{
    *input = (dcsr_i_input){0};
    DCSR_TRY(transposed ? dcsr_i_view_transposed(&input->rows, view)
                        : dcsr_i_view_sorted(&input->rows, view));
    input->value_size = dcsr_type_size(input->rows->type);
    if (transposed) return sort_transposed(input, view);
    dcsr_i_view_was_read(view);
    return DCSR_OK;
}

void dcsr_i_input_free(dcsr_i_input *input)
{
    dcsr_i_form_release(&input->own);
}

/* support_cuda.c: what suites for all devices ask of a GPU. */
#include "dcsr/base/runtime.h"
#include "dcsr/store/cuda/read_cuda.h"
#include "dcsr/view/csc_cuda.h"
#include "dcsr/view/view_data.h"
#include "tests/support/support_there.h"

static void finish(dcsr_context *context, dcsr_i_cuda_stream *stream)
{
    TEST_OK(dcsr_i_cuda_wait(stream, "testing"));
    dcsr_i_stream_return(context, stream);
}

static void fill(dcsr_context *context, char *place, int byte, size_t bytes)
{
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(context);
    dcsr_i_cuda_fill(stream, place, byte, bytes);
    finish(context, stream);
}

static void read(dcsr_context *context, void *to, const char *from, size_t bytes)
{
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(context);
    dcsr_i_cuda_copy(stream, to, from, bytes);
    finish(context, stream);
}

static int pieces(dcsr_view *view, uint64_t row, const uint32_t **first)
{
    const dcsr_i_rows *rows = dcsr_i_view_rows(view);
    dcsr_context *context = dcsr_i_view_context(view);
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(context);
    dcsr_i_cuda_pieces found;
    dcsr_i_cuda_row *there = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, 1, sizeof *there);
    cr_assert_not_null(there);
    dcsr_i_cuda_find_row(stream, &rows->device, row, 0, there);
    dcsr_i_cuda_copy(stream, &found, &there->pieces, sizeof found);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, there, 1, sizeof *there);
    finish(context, stream);
    if (first) *first = rows->device.columns + found.begin[0];
    return (int)found.count;
}

static dcsr_status transposed(dcsr_i_rows *rows, dcsr_view *view)
{
    *rows = (dcsr_i_rows){.on_device = true};
    DCSR_TRY(dcsr_i_cuda_view_transposed(&rows->device, view));
    const dcsr_i_held_version *shown = view->form[DCSR_I_TRANSPOSED].hold;
    if (!rows->device.offsets) rows->table = shown->own ? shown->own : shown->base;
    rows->type = (dcsr_type)rows->device.type;
    rows->rows = rows->device.rows;
    rows->cols = rows->device.cols;
    return DCSR_OK;
}

const test_device test_cuda_device = {.fill = fill,
                                      .read = read,
                                      .pieces = pieces,
                                      .transposed = transposed,
                                      .transpose_is_ready = dcsr_i_cuda_view_transpose_is_ready};

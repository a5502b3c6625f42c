/* mxm_factors_cuda.c: what all products of sparse matrices on a device ask of their factors and their limit. */
#include "ops/mxm/mxm_rows_cuda.h"
#include "dcsr/store/cuda/store_cuda.h"
#include "dcsr/view/csc_cuda.h"
#include "dcsr/view/view_data.h"
#include "ops/matrix/write_matrix.h"
#include <string.h>

dcsr_status dcsr_i_cuda_mxm_limit(const dcsr_i_matrix_output *out, uint64_t bytes, uint64_t *left)
{
    const uint64_t limit = out->desc ? out->desc->memory_limit : 0;
    *left = limit ? limit - (bytes < limit ? bytes : limit) : UINT64_MAX;
    if (!limit || bytes <= limit) return DCSR_OK;
    return dcsr_i_fail(
        DCSR_ERROR_OUT_OF_MEMORY,
        "%s: %llu bytes are needed for what is kept of all rows, but memory_limit is %llu; raise it",
        out->call, (unsigned long long)bytes, (unsigned long long)limit);
}

dcsr_status dcsr_i_cuda_mxm_fail_row(const dcsr_i_matrix_output *out, uint64_t row, uint64_t bytes,
                                     uint64_t left)
{
    return dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY,
                       "%s: row %llu may take %llu bytes, but memory_limit leaves %llu; raise it", out->call,
                       (unsigned long long)row, (unsigned long long)bytes, (unsigned long long)left);
}

bool dcsr_i_cuda_mxm_is_plain(const dcsr_view *view)
{
    return !view->shows_duplicates && view->matrix->policy != DCSR_POLICY_KEEP;
}

bool dcsr_i_cuda_mxm_ring_of(dcsr_i_cuda_mxm_job *job, const dcsr_semiring *semiring, const dcsr_view *A,
                             dcsr_type C_type)
{
    dcsr_i_cuda_semiring *ring = &job->ring;
    *job = (dcsr_i_cuda_mxm_job){0};
    if (!dcsr_i_cuda_semiring_of(ring, semiring, false, A->form[0].rows.type)) return false;
    job->ones = ring->ones || C_type == DCSR_PATTERN;
    const dcsr_type type = job->ones && C_type != DCSR_PATTERN ? C_type : (dcsr_type)ring->type;
    job->value_size = (uint32_t)dcsr_type_size(job->ones ? C_type : (dcsr_type)ring->type);
    const bool truth = true;
    dcsr_i_cast(type, &job->one, DCSR_BOOL, &truth, 1);
    const dcsr_binary_op *multiply = semiring->multiply;
    return job->ones || (multiply->xtype == multiply->ytype && multiply->ztype == multiply->xtype);
}

dcsr_status dcsr_i_cuda_mxm_find_rows(dcsr_i_cuda_rows *rows, dcsr_view *view, bool transposed)
{
    if (transposed) return dcsr_i_cuda_view_transposed(rows, view);
    *rows = view->form[0].rows.device;
    dcsr_i_view_was_read(view);
    return DCSR_OK;
}

int dcsr_i_cuda_mxm_lanes(double mean)
{
    int lanes = 4;
    while (lanes < 32 && lanes < mean) lanes *= 2;
    return lanes;
}

dcsr_status dcsr_i_cuda_mxm_sort_rows(dcsr_i_cuda_stream *stream, const uint32_t *row, uint64_t count,
                                      const uint32_t *products, const dcsr_i_cuda_mxm_census *census,
                                      unsigned long long *next, uint32_t *list)
{
    unsigned long long begin[DCSR_CUDA_MXM_CLASSES], at = 0;
    for (int k = 0; k < DCSR_CUDA_MXM_CLASSES; at += census->rows[k++]) begin[k] = at;
    void *landing = dcsr_i_cuda_landing(stream, sizeof begin);
    if (!landing) return dcsr_i_no_memory();
    memcpy(landing, begin, sizeof begin);
    dcsr_i_cuda_copy(stream, next, landing, sizeof begin);
    dcsr_i_cuda_mxm_place_by_class(stream, row, count, products, next, list);
    return DCSR_OK;
}

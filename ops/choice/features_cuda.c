/* features_cuda.c: bringing some rows of a view on a device to the host. */
#include "ops/choice/features_cuda.h"
#include "dcsr/store/cuda/store_cuda.h"

/* The numbers of the rows in device memory: a copy of the list, or without one, of a version, all that have entries. */
static dcsr_status make_list(uint32_t **there, uint64_t *count, dcsr_i_cuda_stream *stream,
                             const dcsr_i_rows *rows, const uint32_t *list)
{
    if (!list) return dcsr_i_cuda_rows_in_use(there, count, stream, &rows->device);
    uint32_t *landing = dcsr_i_cuda_landing(stream, *count * sizeof *landing);
    if (!landing) return dcsr_i_cuda_wait(stream, "reading rows for features");
    *there = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, *count, sizeof **there);
    if (!*there) return DCSR_ERROR_OUT_OF_MEMORY;
    memcpy(landing, list, *count * sizeof *landing);
    dcsr_i_cuda_copy(stream, *there, landing, *count * sizeof *landing);
    return dcsr_i_cuda_wait(stream, "reading rows for features"); /* what follows uses the landing again */
}

dcsr_status dcsr_i_features_download(dcsr_i_csr **csr, dcsr_context *context, const dcsr_i_rows *rows,
                                     const uint32_t *list, uint64_t count)
{
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(context);
    if (!stream) return DCSR_ERROR_OUT_OF_MEMORY;
    uint32_t *there = NULL;
    dcsr_status status = make_list(&there, &count, stream, rows, list);
    if (status == DCSR_OK) status = dcsr_i_cuda_download_rows(csr, context, stream, rows, there, count);
    if (there) dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, there, count, sizeof *there);
    dcsr_i_stream_return(context, stream);
    return status;
}

/* features_cuda.c: bringing some rows of a view on a device to the host. */
#include "ops/choice/features_cuda.h"
#include "dcsr/store/cuda/store_cuda.h"

dcsr_status dcsr_i_features_download(dcsr_i_csr **csr, dcsr_context *context, const dcsr_i_rows *rows,
                                     const uint32_t *list, uint64_t count)
{
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(context);
    if (!stream) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    uint32_t *there = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, count, sizeof *there);
    uint32_t *landing = there ? dcsr_i_cuda_landing(stream, count * sizeof *landing) : NULL;
    if (there && !landing) status = dcsr_i_cuda_wait(stream, "reading rows for features");
    if (landing) {
        memcpy(landing, list, count * sizeof *landing);
        dcsr_i_cuda_copy(stream, there, landing, count * sizeof *landing);
        /* The landing is used again by what follows. */
        status = dcsr_i_cuda_wait(stream, "reading rows for features");
    }
    if (status == DCSR_OK) status = dcsr_i_cuda_download_rows(csr, context, stream, rows, there, count);
    if (there) dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, there, count, sizeof *there);
    dcsr_i_stream_return(context, stream);
    return status;
}

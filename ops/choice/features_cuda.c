/* features_cuda.c: bringing some rows of a view on a device to the host. */
#include "ops/choice/features_cuda.h"
#include "dcsr/base/random.h"
#include "dcsr/store/cuda/store_cuda.h"

/* The numbers of some of the rows in use, drawn by the key, take the place of those of all. Each is copied for itself,
 * as the list of all may be long. */
static dcsr_status draw(uint32_t **there, uint64_t *count, dcsr_i_cuda_stream *stream, uint64_t draws,
                        uint64_t key)
{
    uint32_t *drawn = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, draws, sizeof *drawn);
    if (!drawn) return dcsr_i_no_memory();
    for (uint64_t i = 0; i < draws; i++)
        dcsr_i_cuda_copy(stream, drawn + i, *there + dcsr_i_random_below(dcsr_i_random(key, i), *count),
                         sizeof *drawn);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, *there, *count, sizeof **there);
    *there = drawn;
    *count = draws;
    return DCSR_OK;
}

/* In device memory. */
static dcsr_status copy_list(uint32_t **there, uint64_t count, dcsr_i_cuda_stream *stream,
                             const uint32_t *list)
{
    uint32_t *landing = dcsr_i_cuda_landing(stream, count * sizeof *landing);
    if (!landing) return dcsr_i_cuda_wait(stream, "reading rows for features");
    *there = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, count, sizeof **there);
    if (!*there) return dcsr_i_no_memory();
    memcpy(landing, list, count * sizeof *landing);
    dcsr_i_cuda_copy(stream, *there, landing, count * sizeof *landing);
    return dcsr_i_cuda_wait(stream, "reading rows for features"); /* what follows uses the landing again */
}

/* The numbers of the rows in device memory: a copy of the list; or without one those of a version that have entries, or
 * of *count of them where that is not 0. */
static dcsr_status make_list(uint32_t **there, uint64_t *count, dcsr_i_cuda_stream *stream,
                             const dcsr_i_rows *rows, const uint32_t *list, uint64_t key)
{
    if (list) return copy_list(there, *count, stream, list);
    const uint64_t draws = *count;
    DCSR_TRY(dcsr_i_cuda_rows_in_use(there, count, stream, &rows->device));
    return draws && draws < *count ? draw(there, count, stream, draws, key) : DCSR_OK;
}

dcsr_status dcsr_i_features_download(dcsr_i_csr **csr, dcsr_context *context, const dcsr_i_rows *rows,
                                     const uint32_t *list, uint64_t count, uint64_t key)
{
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(context);
    if (!stream) return dcsr_i_no_memory();
    uint32_t *there = NULL;
    dcsr_status status = make_list(&there, &count, stream, rows, list, key);
    if (status == DCSR_OK) status = dcsr_i_cuda_download_rows(csr, context, stream, rows, there, count);
    if (there) dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, there, count, sizeof *there);
    dcsr_i_stream_return(context, stream);
    return status;
}

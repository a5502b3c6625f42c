/* deliver_cuda.c: bringing results to where a caller wants them.
 *
 * CUDA copies to pageable memory through a small buffer of its own, at 4 GB/s; by way of pinned memory, from which
 * several threads copy on, it is some times as fast. */
#include "dcsr/base/cuda.h"
#include "dcsr/base/threads.h"
#include <string.h>

/* PART: what is brought at a time; LEAST: where a copy of CUDA's is as good. */
enum { PART = 16 << 20, LEAST = 64 << 10, SHARE = 256 << 10 };

static void spread(char *to, const char *from, size_t bytes, const dcsr_context *context)
{
    const int threads = dcsr_i_threads(context, bytes / sizeof(uint64_t));
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (size_t at = 0; at < bytes; at += SHARE)
        memcpy(to + at, from + at, bytes - at < SHARE ? bytes - at : SHARE);
}

dcsr_status dcsr_i_cuda_deliver(dcsr_i_cuda_stream *stream, void *to, const void *from, size_t bytes,
                                const dcsr_context *context, const char *operation)
{
    if (bytes < LEAST || dcsr_i_cuda_where(dcsr_i_cuda_device_of(stream), to) != DCSR_CUDA_HOST) {
        dcsr_i_cuda_copy(stream, to, from, bytes);
        return dcsr_i_cuda_wait(stream, operation);
    }
    for (size_t at = 0; at < bytes; at += PART) {
        const size_t part = bytes - at < PART ? bytes - at : PART;
        char *landing = dcsr_i_cuda_landing(stream, part);
        if (landing) dcsr_i_cuda_copy(stream, landing, (const char *)from + at, part);
        DCSR_TRY(dcsr_i_cuda_wait(stream, operation));
        spread((char *)to + at, landing, part, context);
    }
    return DCSR_OK;
}

/* deliver_cuda.c: bringing results to where a caller wants them.
 *
 * CUDA copies to pageable memory through a small buffer of its own, at 4 GB/s. By way of pinned memory, from which
 * threads copy on while the next part arrives, it is as fast as the bus:
 *
 *      device    part 0 | part 1 | part 2 |
 *      threads            part 0 | part 1 | part 2       the halves of the landing take turns */
#include "dcsr/base/cuda.h"
#include "dcsr/base/threads.h"
#include <string.h>

/* PART: what is brought at a time; LEAST: where a copy of CUDA's is as good; SHARE: what a thread copies on at a time,
 * MOST_THREADS of which keep up with the bus. With all 64 threads of a machine, which OpenMP keeps looking for work,
 * a part took 20 times as long to copy on as to arrive: the last to come is waited for. */
#ifdef DCSR_SIMT
enum { PART = 1 << 10, LEAST = 1 << 8, SHARE = 1 << 8, MOST_THREADS = 2 };
#else
enum { PART = 4 << 20, LEAST = 64 << 10, SHARE = 256 << 10, MOST_THREADS = 4 };
#endif

static void spread(char *to, const char *from, size_t bytes, int threads)
{
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (size_t at = 0; at < bytes; at += SHARE)
        memcpy(to + at, from + at, bytes - at < SHARE ? bytes - at : SHARE);
}

/* A result on its way: parts of it land in turns in the halves, and `landed` tells when. */
typedef struct delivery {
    dcsr_i_cuda_stream *stream;
    const char *from;
    size_t bytes;
    char *half[2];
    void *landed[2];
} delivery;

static size_t part_at(const delivery *d, size_t at)
{
    return d->bytes - at < PART ? d->bytes - at : PART;
}

static void fetch(const delivery *d, size_t at)
{
    if (at >= d->bytes) return;
    const int turn = at / PART & 1;
    dcsr_i_cuda_copy(d->stream, d->half[turn], d->from + at, part_at(d, at));
    dcsr_i_cuda_event_record(d->stream, d->landed[turn], dcsr_i_cuda_handle(d->stream));
}

static dcsr_status bring(const delivery *d, char *to, const dcsr_context *context, const char *operation)
{
    int threads = dcsr_i_threads(context, d->bytes / sizeof(uint64_t));
    if (threads > MOST_THREADS) threads = MOST_THREADS;
    fetch(d, 0);
    for (size_t at = 0; at < d->bytes; at += PART) {
        const int turn = at / PART & 1;
        fetch(d, at + PART);
        DCSR_TRY(dcsr_i_cuda_event_wait(d->landed[turn], dcsr_i_cuda_device_of(d->stream), operation));
        spread(to + at, d->half[turn], part_at(d, at), threads);
    }
    return DCSR_OK;
}

dcsr_status dcsr_i_cuda_deliver(dcsr_i_cuda_stream *stream, void *to, const void *from, size_t bytes,
                                const dcsr_context *context, const char *operation)
{
    dcsr_i_cuda_device *device = dcsr_i_cuda_device_of(stream);
    if (bytes < LEAST || dcsr_i_cuda_where(device, to) != DCSR_CUDA_HOST) {
        dcsr_i_cuda_copy(stream, to, from, bytes);
        return dcsr_i_cuda_wait(stream, operation);
    }
    delivery d = {.stream = stream, .from = from, .bytes = bytes};
    const size_t part = part_at(&d, 0);
    d.half[0] = dcsr_i_cuda_landing(stream, bytes > part ? 2 * part : part);
    dcsr_status status = d.half[0] ? DCSR_OK : dcsr_i_no_memory();
    d.half[1] = d.half[0] ? d.half[0] + part : NULL;
    for (int k = 0; k < 2 && status == DCSR_OK; k++) status = dcsr_i_cuda_event_create(&d.landed[k], device);
    if (status == DCSR_OK) status = bring(&d, to, context, operation);
    /* Reports what failed on the stream; after it nothing is being copied to the landing any more. */
    const dcsr_status waited = dcsr_i_cuda_wait(stream, operation);
    for (int k = 0; k < 2; k++) dcsr_i_cuda_event_destroy(d.landed[k], device);
    return status == DCSR_OK ? waited : status;
}

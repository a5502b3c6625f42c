/* device_memory.cu: temporary memory on the device, in the order of streams; pinned memory of the host. */
#include "dcsr/device/device_state.cuh"

/* Zero bytes are one for CUDA, and none for the count. */
static cudaError_t take(dcsr_i_cuda_stream *stream, void **block, size_t bytes)
{
    cudaError_t error = cudaMallocFromPoolAsync(block, bytes ? bytes : 1, stream->device->pool, stream->raw);
    if (error != cudaErrorMemoryAllocation) return error;
    /* Blocks that are kept for reuse may be too small, and those that are freed behind pending work are not
     * to be had before it has run. */
    cudaGetLastError();
    dcsr_i_cuda_note(stream, cudaStreamSynchronize(stream->raw));
    dcsr_i_cuda_note(stream, cudaStreamSynchronize(stream->device->frees));
    dcsr_i_cuda_trim_alike(stream->device);
    return cudaMallocFromPoolAsync(block, bytes ? bytes : 1, stream->device->pool, stream->raw);
}

void *dcsr_i_cuda_alloc(dcsr_i_cuda_stream *stream, dcsr_i_pool pool, size_t count, size_t size)
{
    dcsr_i_cuda_device *device = stream->device;
    size_t bytes;
    void *block = nullptr;
    if (dcsr_i_cuda_check(device) != DCSR_OK) return nullptr;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY, "%zu objects of %zu bytes are more than memory can address",
                    count, size);
        return nullptr;
    }
    if (dcsr_i_charge(device->context, pool, bytes) != DCSR_OK) return nullptr;
    dcsr_i_cuda_current current(device->number);
    cudaError_t error = take(stream, &block, bytes);
    if (error == cudaSuccess) return block;
    dcsr_i_uncharge(device->context, pool, bytes);
    dcsr_i_cuda_result(device, error, "taking temporary memory");
    return nullptr;
}

void dcsr_i_cuda_free(dcsr_i_cuda_stream *stream, dcsr_i_pool pool, void *block, size_t count, size_t size)
{
    if (!block) return;
    dcsr_i_uncharge(stream->device->context, pool, count * size);
    if (dcsr_i_cuda_forked()) return;
    dcsr_i_cuda_current current(
        stream->device->number); /* not every thread that frees has entered the stream */
    dcsr_i_cuda_note(stream, cudaFreeAsync(block, stream->raw));
}

/* cudaFree() would wait for all that the device is doing. */
void dcsr_i_cuda_free_idle(dcsr_i_cuda_device *device, dcsr_i_pool pool, void *block, size_t count,
                           size_t size)
{
    if (!block) return;
    dcsr_i_uncharge(device->context, pool, count * size);
    if (dcsr_i_cuda_forked()) return;
    dcsr_i_cuda_current current(device->number);
    /* A failed device refuses, and all it has goes with the process. */
    if (cudaFreeAsync(block, device->frees) != cudaSuccess) cudaGetLastError();
}

dcsr_i_cuda_memory_kind dcsr_i_cuda_where(dcsr_i_cuda_device *device, const void *pointer)
{
    dcsr_i_cuda_current current(device->number);
    cudaPointerAttributes attributes;
    if (cudaPointerGetAttributes(&attributes, pointer) != cudaSuccess) {
        cudaGetLastError();
        return DCSR_CUDA_HOST;
    }
    switch (attributes.type) {
    case cudaMemoryTypeDevice:
        return attributes.device == device->number ? DCSR_CUDA_ON_DEVICE : DCSR_CUDA_ELSEWHERE;
    case cudaMemoryTypeHost:
    case cudaMemoryTypeManaged: /* reached from both sides, as pinned memory is */
        return DCSR_CUDA_PINNED;
    default:
        return DCSR_CUDA_HOST;
    }
}

void *dcsr_i_cuda_pin(size_t bytes)
{
    void *block = nullptr;
    if (dcsr_i_cuda_forked()) return nullptr;
    dcsr_i_cuda_current current(dcsr_i_cuda_any_number());
    if (cudaHostAlloc(&block, bytes, cudaHostAllocPortable) == cudaSuccess) return block;
    cudaGetLastError();
    return nullptr;
}

void dcsr_i_cuda_unpin(void *block)
{
    if (!block || dcsr_i_cuda_forked()) return;
    dcsr_i_cuda_current current(dcsr_i_cuda_any_number());
    /* A failed device refuses, and all it has goes with the process. */
    if (cudaFreeHost(block) != cudaSuccess) cudaGetLastError();
}

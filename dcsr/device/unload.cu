/* unload.cu: reading what the host has packed, straight from pinned memory (cuda.h).
 *
 * A kernel reads over the link as fast as a copy engine; but it writes keys and words where they belong in one launch,
 * where copies would be two and a kernel, and it tells the host by itself that it has read all, where an event has to
 * be recorded and asked for, by which threads keep each other from the driver. Bytes an entry: 8 and the value over the
 * link, 8 or 16 written. */
#include "dcsr/device/device_state.cuh"
#include "dcsr/device/stream.cuh"
#include "dcsr/device/value_word.cuh"

/* Enough reads under way to keep the link busy, and an eighth of what an H100 can run at a time: other kernels run
 * beside. */
enum { MOST_BLOCKS = 128 };

static __global__ void unload(dcsr_i_cuda_packed from, uint64_t *keys, uint64_t *words, dcsr_i_cuda_tell tell)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < from.n; i += dcsr_i_cuda_step()) {
        const uint64_t key = from.keys[i];
        if (words) words[i] = dcsr_i_cuda_load_word(from.values, from.value_size, i);
        keys[i] = key;
    }
    if (!tell.told) return;
    __syncthreads();
    if (threadIdx.x) return;
    __threadfence();
    if (atomicAdd(tell.arrived, 1u) + 1 < gridDim.x) return;
    atomicExch(tell.arrived, 0u);
    __threadfence_system();
    dcsr_i_cuda_show(tell.told, tell.what);
}

void dcsr_i_cuda_unload(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_packed *from, uint64_t *keys,
                        uint64_t *words, dcsr_i_cuda_tell tell)
{
    const dcsr_i_cuda_policy policy = {256, 1};
    if (!from->n) return;
    const unsigned needed = dcsr_i_cuda_blocks(stream, from->n, policy),
                   blocks = needed < MOST_BLOCKS ? needed : static_cast<unsigned>(MOST_BLOCKS);
    dcsr_i_cuda_current current(stream->device->number);
    simt::launch(unload, dim3(blocks), dim3(dcsr_i_cuda_threads(policy)), 0, stream->raw, *from, keys, words,
                 tell);
    dcsr_i_cuda_launched(stream);
}

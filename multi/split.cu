/* split.cu: kernels for splitting a batch by owner. Bytes an entry: gathering moves the key and the word in and out;
 * finding reads 8 and writes 8; packing reads 8 in order, and the key and the word where they are, of one owner in
 * ascending places, and writes as much. */
#include "dcsr/device/stream.cuh"
#include "multi/split_cuda.h"

/* A launch for all chunks: a copy of each takes the host as long as some ten thousand of its entries the GPU. */
static __global__ void gather(const dcsr_i_cuda_chunk *chunks, uint64_t count, uint64_t n, uint64_t *keys,
                              uint64_t *words)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < n; i += dcsr_i_cuda_step()) {
        const dcsr_i_cuda_chunk chunk =
            chunks[dcsr_i_cuda_last_up_to(count, i, [=](uint64_t c) { return chunks[c].first; })];
        keys[i] = chunk.keys[i - chunk.first];
        if (words) words[i] = chunk.words[i - chunk.first];
    }
}

void dcsr_i_cuda_split_gather(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_chunk *chunks, uint64_t count,
                              uint64_t n, uint64_t *keys, uint64_t *words)
{
    dcsr_i_cuda_launch(stream, gather, n, chunks, count, n, keys, words);
}

static __global__ void find_owners(dcsr_i_cuda_batch batch, uint32_t *owner, uint32_t *number)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < batch.n; i += dcsr_i_cuda_step()) {
        const uint64_t row = batch.keys[i] >> batch.column_bits;
        uint32_t k = 0;
        for (uint32_t j = 1; j < batch.parts; j++) k += row >= batch.begin[j];
        owner[i] = k;
        number[i] = (uint32_t)i;
    }
}

void dcsr_i_cuda_split_find(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_batch *batch, uint32_t *owner,
                            uint32_t *number)
{
    dcsr_i_cuda_launch(stream, find_owners, batch->n, *batch, owner, number);
}

static __global__ void pack(dcsr_i_cuda_batch batch, const uint32_t *owner, const uint32_t *number,
                            uint64_t *keys, uint64_t *words)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < batch.n; i += dcsr_i_cuda_step()) {
        const uint32_t from = number[i];
        keys[i] = batch.keys[from] - (batch.begin[owner[i]] << batch.column_bits);
        if (words) words[i] = batch.words[from];
    }
}

void dcsr_i_cuda_split_pack(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_batch *batch, const uint32_t *owner,
                            const uint32_t *number, uint64_t *keys, uint64_t *words)
{
    dcsr_i_cuda_launch(stream, pack, batch->n, *batch, owner, number, keys, words);
}

bool dcsr_i_cuda_split_has_been(void *event)
{
    if (cudaEventQuery(static_cast<cudaEvent_t>(event)) == cudaSuccess) return true;
    cudaGetLastError(); /* "not ready" is no error, and what is one is found where it is waited for */
    return false;
}

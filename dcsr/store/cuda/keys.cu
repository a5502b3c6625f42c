/* keys.cu: sorted keys taken apart, and the words that go with them.
 *
 * Bytes: 12 a key, 8 + value size a word; 8 a row beside the keys that its bisection reads, of which
 * neighbours share most. */
#include "dcsr/store/cuda/keys_cuda.h"
#include "dcsr/device/value_word.cuh"

static __global__ void find_begins(const uint64_t *keys, uint64_t n, int shift, uint64_t count,
                                   uint64_t *begins)
{
    for (uint64_t i = dcsr_i_cuda_first(); i <= count; i += dcsr_i_cuda_step()) {
        uint64_t low = 0, high = n;
        while (low < high) {
            uint64_t middle = low + (high - low) / 2;
            if (keys[middle] >> shift < i)
                low = middle + 1;
            else
                high = middle;
        }
        begins[i] = low;
    }
}

void dcsr_i_cuda_find_begins(dcsr_i_cuda_stream *stream, const uint64_t *keys, uint64_t n, int shift,
                             uint64_t count, uint64_t *begins)
{
    dcsr_i_cuda_launch(stream, find_begins, count + 1, keys, n, shift, count, begins);
}

static __global__ void take_low(const uint64_t *keys, uint64_t n, uint64_t mask, uint32_t *low)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < n; k += dcsr_i_cuda_step())
        low[k] = (uint32_t)(keys[k] & mask);
}

void dcsr_i_cuda_take_low(dcsr_i_cuda_stream *stream, const uint64_t *keys, uint64_t n, int shift,
                          uint32_t *low)
{
    dcsr_i_cuda_launch(stream, take_low, n, keys, n, ((uint64_t)1 << shift) - 1, low);
}

/* ---- Words ---- */

static __global__ void widen(const void *values, uint32_t size, uint64_t n, uint64_t *words)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < n; k += dcsr_i_cuda_step())
        words[k] = dcsr_i_cuda_load_word(values, size, k);
}

void dcsr_i_cuda_widen(dcsr_i_cuda_stream *stream, const void *values, uint32_t size, uint64_t n,
                       uint64_t *words)
{
    dcsr_i_cuda_launch(stream, widen, n, values, size, n, words);
}

static __global__ void narrow(const uint64_t *words, uint64_t n, void *values, uint32_t size)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < n; k += dcsr_i_cuda_step())
        dcsr_i_cuda_store_word(values, size, k, words[k]);
}

void dcsr_i_cuda_narrow(dcsr_i_cuda_stream *stream, const uint64_t *words, uint64_t n, void *values,
                        uint32_t size)
{
    dcsr_i_cuda_launch(stream, narrow, n, words, n, values, size);
}

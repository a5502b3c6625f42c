/* fetch.cu: putting elements that came from other GPUs where they belong. Copies between devices are the driver's,
 * which go at the speed of the link; what is left is moving indices and bits, some 1/8 byte to 4 bytes an element. */
#include "dcsr/device/reduce.cuh"
#include "dcsr/device/value_word.cuh"
#include "multi/fetch_cuda.h"

static __global__ void find_places(uint64_t *at, const uint32_t *indices, uint64_t n, uint64_t first,
                                   uint64_t last)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < 2; k += dcsr_i_cuda_step())
        at[k] = dcsr_i_list_find(indices, 0, n, k ? last : first);
}

void dcsr_i_cuda_fetch_find(dcsr_i_cuda_stream *stream, uint64_t *at, const uint32_t *indices, uint64_t n,
                            uint64_t first, uint64_t last)
{
    dcsr_i_cuda_launch(stream, find_places, 2, at, indices, n, first, last);
}

static __global__ void shift(uint32_t *indices, uint64_t n, uint32_t by)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < n; k += dcsr_i_cuda_step()) indices[k] += by;
}

void dcsr_i_cuda_fetch_shift(dcsr_i_cuda_stream *stream, uint32_t *indices, uint64_t n, uint32_t by)
{
    if (n && by) dcsr_i_cuda_launch(stream, shift, n, indices, n, by);
}

/* Up to 32 bits from number `first` on. */
DCSR_CUDA_INLINE uint32_t take_bits(const uint32_t *from, uint64_t first, unsigned n)
{
    const unsigned over = first & 31, all = n < 32 ? (1u << n) - 1 : UINT32_MAX;
    if (!from) return all;
    uint32_t word = from[first / 32] >> over;
    if (over + n > 32) word |= from[first / 32 + 1] << (32 - over);
    return word & all;
}

/* A thread makes a word; the first and the last may have bits of other ranges. */
static __global__ void place_bits(uint32_t *present, uint64_t at, const uint32_t *from, uint64_t first,
                                  uint64_t n)
{
    const uint64_t end = at + n, last = (end - 1) / 32;
    for (uint64_t w = at / 32 + dcsr_i_cuda_first(); w <= last; w += dcsr_i_cuda_step()) {
        const uint64_t low = w * 32 < at ? at : w * 32, high = w * 32 + 32 < end ? w * 32 + 32 : end;
        const uint32_t bits = take_bits(from, first + (low - at), (unsigned)(high - low)) << (low & 31);
        if (high - low == 32)
            present[w] = bits;
        else if (bits)
            atomicOr(&present[w], bits);
    }
}

void dcsr_i_cuda_fetch_bits(dcsr_i_cuda_stream *stream, uint32_t *present, uint64_t at, const uint32_t *from,
                            uint64_t first, uint64_t n)
{
    if (n) dcsr_i_cuda_launch(stream, place_bits, n / 32 + 2, present, at, from, first, n);
}

static __global__ void spread(dcsr_i_cuda_body to, uint32_t size, const uint32_t *indices, const void *values,
                              uint64_t n, uint32_t by)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < n; k += dcsr_i_cuda_step()) {
        const uint32_t i = indices[k] + by;
        dcsr_i_cuda_store_word(to.values, size, i, dcsr_i_cuda_load_word(values, size, k));
        if (to.present) atomicOr(&to.present[i / 32], 1u << (i & 31));
    }
}

void dcsr_i_cuda_fetch_spread(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_body *to, size_t value_size,
                              const uint32_t *indices, const void *values, uint64_t n, uint32_t by)
{
    if (n) dcsr_i_cuda_launch(stream, spread, n, *to, (uint32_t)value_size, indices, values, n, by);
}

static __global__ void count_bits(unsigned long long *count, const uint32_t *bits, uint64_t words)
{
    unsigned long long mine = 0;
    for (uint64_t w = dcsr_i_cuda_first(); w < words; w += dcsr_i_cuda_step())
        mine += (unsigned)__popc(bits[w]);
    mine = dcsr_i_cuda_block_sum(mine);
    if (threadIdx.x == 0 && mine) atomicAdd(count, mine);
}

void dcsr_i_cuda_fetch_count(dcsr_i_cuda_stream *stream, unsigned long long *count, const uint32_t *bits,
                             uint64_t words)
{
    dcsr_i_cuda_fill(stream, count, 0, sizeof *count);
    if (words) dcsr_i_cuda_launch(stream, count_bits, words, count, bits, words);
}

/* mxv_prepare.cu: kernels that bring masks and vectors into the form that products with vectors read. */
#include "dcsr/device/reduce.cuh"
#include "ops/algebra/semiring.cuh"
#include "ops/mxv/mxv_cuda.h"

namespace
{
/* Calls take(w, bit) with a warp for each word of bits: of element 32 w + lane. */
template <class Of, class Take> DCSR_CUDA_INLINE void for_words(uint64_t size, Of of, Take take)
{
    uint64_t words = dcsr_i_cuda_bit_words(size);
    for (uint64_t w = dcsr_i_cuda_first_warp(); w < words; w += dcsr_i_cuda_warp_step()) {
        uint64_t i = w * 32 + dcsr_i_cuda_lane();
        uint32_t word = __ballot_sync(DCSR_CUDA_ALL_LANES, i < size && of(i));
        if (dcsr_i_cuda_lane() == 0) take(w, word);
    }
}

__global__ void mask_bits(uint32_t *bits, uint32_t type, const void *values, const uint32_t *present,
                          uint64_t size)
{
    for_words(
        size,
        [=](uint64_t i) {
            return (!present || (present[i / 32] >> (i & 31) & 1)) && dcsr_i_cuda_load<bool>(type, values, i);
        },
        [=](uint64_t w, uint32_t word) { bits[w] = word; });
}

template <class T> __global__ void cast(T *to, uint32_t type, const void *from, uint64_t n)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < n; i += dcsr_i_cuda_step())
        to[i] = dcsr_i_cuda_load<T>(type, from, i);
}
} // namespace

void dcsr_i_cuda_mxv_mask(dcsr_i_cuda_stream *stream, uint32_t *bits, const dcsr_i_cuda_body *body,
                          dcsr_type type)
{
    dcsr_i_cuda_launch(stream, mask_bits, body->size, bits, type, body->values, body->present, body->size);
}

void dcsr_i_cuda_mxv_cast(dcsr_i_cuda_stream *stream, dcsr_type to_type, void *to, dcsr_type from_type,
                          const void *from, uint64_t n)
{
    dcsr_i_cuda_with_type(to_type, [=](auto value) {
        typedef decltype(value) T;
        dcsr_i_cuda_launch(stream, cast<T>, n, (T *)to, from_type, from, n);
    });
}

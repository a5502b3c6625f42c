/* value_word.cuh: values in kernels, whatever their size, as words (internal). */
#ifndef DCSR_VALUE_WORD_CUH
#define DCSR_VALUE_WORD_CUH

#include "dcsr/device/stream.cuh"
#include <string.h>

/* A word is a value's bytes, then zeros. */
template <class T> DCSR_CUDA_INLINE T dcsr_i_cuda_value_of(uint64_t word)
{
    T value;
    memcpy(&value, &word, sizeof value);
    return value;
}

template <class T> DCSR_CUDA_INLINE uint64_t dcsr_i_cuda_word_of(T value)
{
    uint64_t word = 0;
    memcpy(&word, &value, sizeof value);
    return word;
}

/* Value i as a word. */
DCSR_CUDA_INLINE uint64_t dcsr_i_cuda_load_word(const void *values, uint32_t size, uint64_t i)
{
    switch (size) {
    case 1:
        return static_cast<const uint8_t *>(values)[i];
    case 2:
        return static_cast<const uint16_t *>(values)[i];
    case 4:
        return static_cast<const uint32_t *>(values)[i];
    default:
        return static_cast<const uint64_t *>(values)[i];
    }
}

DCSR_CUDA_INLINE void dcsr_i_cuda_store_word(void *values, uint32_t size, uint64_t i, uint64_t word)
{
    switch (size) {
    case 1:
        static_cast<uint8_t *>(values)[i] = static_cast<uint8_t>(word);
        break;
    case 2:
        static_cast<uint16_t *>(values)[i] = static_cast<uint16_t>(word);
        break;
    case 4:
        static_cast<uint32_t *>(values)[i] = static_cast<uint32_t>(word);
        break;
    default:
        static_cast<uint64_t *>(values)[i] = word;
    }
}

/* What is read once, as entries are by products: other memory is to stay in the caches (SpMV is 1.1 to 1.3
 * times as fast). */
template <class T> DCSR_CUDA_INLINE T dcsr_i_cuda_read_once(const T *p)
{
#ifdef __CUDACC__
    return __ldcs(p);
#else
    return *p;
#endif
}
DCSR_CUDA_INLINE bool dcsr_i_cuda_read_once(const bool *p)
{
    return dcsr_i_cuda_read_once((const uint8_t *)p) != 0;
}

#endif

/* word.cuh: values in kernels, whatever their size, as words (internal). */
#ifndef DCSR_WORD_CUH
#define DCSR_WORD_CUH

#include "dcsr/stream.cuh"

/* Value i as a word: its bytes, then zeros. */
DCSR_CUDA_INLINE uint64_t dcsr_cuda_load_word(const void *values, uint32_t size, uint64_t i)
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

DCSR_CUDA_INLINE void dcsr_cuda_store_word(void *values, uint32_t size, uint64_t i, uint64_t word)
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

#endif

/* any_type.cuh: values of a type that is known when the kernel runs, as words (internal; in kernels).
 *
 *      dcsr_i_cuda_any_binary(type, name, x, y)              z = f(x, y), by dcsr_binary_name
 *      dcsr_i_cuda_any_load(type, from, values, i, size)     value i of an array of the type `from`, as one of
 *                                                            `type`, which has `size` bytes
 *      dcsr_i_cuda_any_true(type, x)                          whether x is not 0
 *
 * A word is a value's bytes, then zeros (value_word.cuh). Code for each type and operator is there
 * once, as a function that looks up which it is, so that a kernel need not be there for each type: those that are used
 * most have kernels of their own, and all others one in common. */
#ifndef DCSR_ANY_TYPE_CUH
#define DCSR_ANY_TYPE_CUH

#include "dcsr/device/value_word.cuh"
#include "ops/algebra/operators.cuh"

/* Templates of nothing, since not everyone who includes this calls all of them. */
template <int = 0>
static __device__ __attribute__((noinline)) uint64_t dcsr_i_cuda_any_binary(uint32_t type, int name,
                                                                            uint64_t x, uint64_t y)
{
    switch (type) {
#define DCSR_X(NAME, label, ctype, minimum, maximum)                     \
    case DCSR_##NAME:                                                    \
        return dcsr_i_cuda_word_of(dcsr_i_cuda_operators<ctype>::binary( \
            name, dcsr_i_cuda_value_of<ctype>(x), dcsr_i_cuda_value_of<ctype>(y)));
#include <dcsr/types.def>
#undef DCSR_X
    default:
        return x;
    }
}

template <int = 0>
static __device__ __attribute__((noinline)) uint64_t dcsr_i_cuda_any_cast(uint32_t type, uint32_t from,
                                                                          const void *values, uint64_t i)
{
    switch (type) {
#define DCSR_X(NAME, label, ctype, minimum, maximum) \
    case DCSR_##NAME:                                \
        return dcsr_i_cuda_word_of(dcsr_i_cuda_load_cast<ctype>(from, values, i));
#include <dcsr/types.def>
#undef DCSR_X
    default:
        return 0;
    }
}

DCSR_CUDA_INLINE uint64_t dcsr_i_cuda_any_load(uint32_t type, uint32_t from, const void *values, uint64_t i,
                                               uint32_t size)
{
    return type == from ? dcsr_i_cuda_load_word(values, size, i)
                        : dcsr_i_cuda_any_cast(type, from, values, i);
}

/* -0.0 is 0 too. */
DCSR_CUDA_INLINE bool dcsr_i_cuda_any_true(uint32_t type, uint64_t x)
{
    if (type == DCSR_FP64) x <<= 1;
    if (type == DCSR_FP32) x &= 0x7fffffff;
    return x != 0;
}

#endif

/* combine.cuh: what the policies do to two values of one place, in kernels: what combine.c says (internal).
 *
 * Values are words (value_word.cuh). */
#ifndef DCSR_COMBINE_CUH
#define DCSR_COMBINE_CUH

#include "dcsr/device/value_word.cuh"
#include <dcsr/matrix.h>
#include <math.h>
#include <type_traits>

/* Integers wrap around: their sums are taken without a sign, where overflow is defined. */
template <class T> DCSR_CUDA_INLINE T dcsr_i_cuda_wrapping_sum(T a, T b)
{
    return (T)((uint64_t)a + (uint64_t)b);
}
DCSR_CUDA_INLINE bool dcsr_i_cuda_wrapping_sum(bool a, bool b)
{
    return a || b;
}
DCSR_CUDA_INLINE float dcsr_i_cuda_wrapping_sum(float a, float b)
{
    return a + b;
}
DCSR_CUDA_INLINE double dcsr_i_cuda_wrapping_sum(double a, double b)
{
    return a + b;
}

/* A number stays beside NaN, whichever came first. */
template <class T> DCSR_CUDA_INLINE bool dcsr_i_cuda_is_nan(T a)
{
    return std::is_floating_point<T>::value && isnan(double(a));
}

template <class T> DCSR_CUDA_INLINE uint64_t dcsr_i_cuda_combine_as(int policy, uint64_t into, uint64_t value)
{
    T a = dcsr_i_cuda_value_of<T>(into), b = dcsr_i_cuda_value_of<T>(value);
    switch (policy) {
    case DCSR_POLICY_SUM:
        return dcsr_i_cuda_word_of<T>(dcsr_i_cuda_wrapping_sum(a, b));
    case DCSR_POLICY_MIN:
        return b < a || dcsr_i_cuda_is_nan(a) ? value : into;
    case DCSR_POLICY_MAX:
        return b > a || dcsr_i_cuda_is_nan(a) ? value : into;
    case DCSR_POLICY_LAST:
        return value;
    default: /* ANY */
        return into;
    }
}

/* What stands where `into` stood and `value` came later. */
DCSR_CUDA_INLINE uint64_t dcsr_i_cuda_combine_words(int type, int policy, uint64_t into, uint64_t value)
{
    switch (type) {
#define DCSR_X(NAME, name, ctype, minimum, maximum) \
    case DCSR_##NAME:                               \
        return dcsr_i_cuda_combine_as<ctype>(policy, into, value);
#include <dcsr/types.def>
#undef DCSR_X
    default: /* a pattern has no values */
        return into;
    }
}

#endif

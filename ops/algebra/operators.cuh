/* operators.cuh: the built-in operators, and casts, in kernels (internal).
 *
 *      dcsr_i_cuda_operators<T>::unary(name, x)                  z = f(x), by dcsr_unary_name
 *                              ::binary(name, x, y)            z = f(x, y), by dcsr_binary_name
 *                              ::index(name, x, i, j, thunk)   by dcsr_index_name; z as an int64_t
 *      dcsr_i_cuda_operate<T>(name, x, y)                        binary() as a function that is not inlined;
 *      dcsr_i_cuda_operate_unary(), _index()                     likewise
 *      dcsr_i_cuda_cast<To>(x)                                   as dcsr_i_cast()
 *      dcsr_i_cuda_load<T>(type, values, i)                      value i of an array of any dcsr_type, cast
 *      dcsr_i_cuda_store(type, values, i, x)                     the same the other way round
 *      dcsr_i_cuda_with_type(type, what)                         calls what(T()), on the host, for launching
 *
 * They are inlined, so that nothing is left of a name that is constant; a name that is known when the kernel
 * runs is a switch that all threads take alike. Where it stands in a loop that the compiler unrolls,
 * dcsr_i_cuda_operate() keeps the code short. An operator whose result is a bool gives 0 or 1 of type T, which
 * is cast as a bool would be. */
#ifndef DCSR_OPERATORS_CUH
#define DCSR_OPERATORS_CUH

#include "dcsr/device/stream.cuh"
#include "ops/algebra/operator.h"
#include <limits>
#include <math.h>
#include <string.h>
#include <type_traits>

/* The value of type T in a scalar. */
template <class T> __host__ __device__ inline T dcsr_i_cuda_value_of(const dcsr_i_scalar &scalar)
{
    T value;
    memcpy(&value, &scalar, sizeof value);
    return value;
}

/* ---- Operators ---- */

#define DCSR_LESSER(a, b)  (a < b || b != b ? a : b)
#define DCSR_GREATER(a, b) (a > b || b != b ? a : b)
#define DCSR_MATH(f)       ::f
#define DCSR_DIVIDE(a, b)  divide(a, b)

template <class Type> struct dcsr_i_cuda_operators_of_bool {
    typedef Type T;
    typedef Type U;
    static constexpr T LEAST = false, MOST = true;
#define OP_KIND(b, i, f) b
#define OP_IF_BOOL(...)  __VA_ARGS__
#define OP_IF_INTEGER(...)
#define OP_IF_FLOATING(...)
#include "ops/algebra/operators_device.inc"
};

template <class Type> struct dcsr_i_cuda_operators_of_integers {
    typedef Type T;
    typedef typename std::conditional<(sizeof(T) > 4), uint64_t, uint32_t>::type U;
    static constexpr T LEAST = std::numeric_limits<T>::min(), MOST = std::numeric_limits<T>::max();
    /* 0 / 0 is 0; any other number over 0 is the end of the range on its side; the least over -1 wraps
     * around. */
    static __device__ inline T divide(T a, T b)
    {
        if (b == 0) return a == 0 ? T(0) : a < 1 ? LEAST : MOST;
        return T(LEAST < 0 && b == T(-1) ? T(0 - U(a)) : T(a / b));
    }
#define OP_KIND(b, i, f) i
#define OP_IF_BOOL(...)
#define OP_IF_INTEGER(...) __VA_ARGS__
#define OP_IF_FLOATING(...)
#include "ops/algebra/operators_device.inc"
};

template <class Type> struct dcsr_i_cuda_operators_of_reals {
    typedef Type T;
    typedef Type U;
    static constexpr T LEAST = -std::numeric_limits<T>::infinity(), MOST = std::numeric_limits<T>::infinity();
#define OP_KIND(b, i, f) f
#define OP_IF_BOOL(...)
#define OP_IF_INTEGER(...)
#define OP_IF_FLOATING(...) __VA_ARGS__
#include "ops/algebra/operators_device.inc"
};

#undef DCSR_LESSER
#undef DCSR_GREATER
#undef DCSR_MATH
#undef DCSR_DIVIDE

template <class T> struct dcsr_i_cuda_operators : dcsr_i_cuda_operators_of_integers<T> {
};
template <> struct dcsr_i_cuda_operators<bool> : dcsr_i_cuda_operators_of_bool<bool> {
};
template <> struct dcsr_i_cuda_operators<float> : dcsr_i_cuda_operators_of_reals<float> {
};
template <> struct dcsr_i_cuda_operators<double> : dcsr_i_cuda_operators_of_reals<double> {
};

template <class T> static __device__ __attribute__((noinline)) T dcsr_i_cuda_operate(int name, T x, T y)
{
    return dcsr_i_cuda_operators<T>::binary(name, x, y);
}

template <class T> static __device__ __attribute__((noinline)) T dcsr_i_cuda_operate_unary(int name, T x)
{
    return dcsr_i_cuda_operators<T>::unary(name, x);
}
template <class T>
static __device__ __attribute__((noinline)) int64_t dcsr_i_cuda_operate_index(int name, T x, int64_t i,
                                                                              int64_t j, dcsr_i_scalar thunk)
{
    return dcsr_i_cuda_operators<T>::index(name, x, i, j, thunk);
}

/* ---- Casts ---- */

/* A floating-point number that an integer type cannot hold becomes the end of the range on its side, NaN 0; a
 * number becomes true when it is not 0. The bounds are compared as doubles, in which maximum + 1 is exact. */
template <class To, class From> DCSR_CUDA_INLINE To dcsr_i_cuda_cast(From x)
{
    constexpr To least = dcsr_i_cuda_operators<To>::LEAST, most = dcsr_i_cuda_operators<To>::MOST;
    if (std::is_same<To, bool>::value) return To(x != From(0));
    if (std::is_floating_point<To>::value || !std::is_floating_point<From>::value) return To(x);
    if (x != x) return To(0);
    return double(x) >= double(most) + 1 ? most : double(x) <= double(least) ? least : To(x);
}

template <class T> struct dcsr_i_cuda_type_of;
#define DCSR_X(NAME, name, ctype, minimum, maximum)    \
    template <> struct dcsr_i_cuda_type_of<ctype> {    \
        static constexpr uint32_t value = DCSR_##NAME; \
    };
#include <dcsr/types.def>
#undef DCSR_X

/* A value that is cast, of any type; as functions, since they are in the way of values that are not, and long
 * where a loop is unrolled. */
template <class T>
static __device__ __attribute__((noinline)) T dcsr_i_cuda_load_cast(uint32_t type, const void *values,
                                                                    uint64_t i)
{
    switch (type) {
#define DCSR_X(NAME, name, ctype, minimum, maximum) \
    case DCSR_##NAME:                               \
        return dcsr_i_cuda_cast<T>(((const ctype *)values)[i]);
#include <dcsr/types.def>
#undef DCSR_X
    default:
        return T(1);
    }
}
template <class T>
static __device__ __attribute__((noinline)) void dcsr_i_cuda_store_cast(uint32_t type, void *values,
                                                                        uint64_t i, T x)
{
    switch (type) {
#define DCSR_X(NAME, name, ctype, minimum, maximum)        \
    case DCSR_##NAME:                                      \
        ((ctype *)values)[i] = dcsr_i_cuda_cast<ctype>(x); \
        break;
#include <dcsr/types.def>
#undef DCSR_X
    default:
        break;
    }
}

/* Of DCSR_PATTERN every value is 1, and `values` is not looked at. */
template <class T> DCSR_CUDA_INLINE T dcsr_i_cuda_load(uint32_t type, const void *values, uint64_t i)
{
    return type == dcsr_i_cuda_type_of<T>::value ? ((const T *)values)[i]
                                                 : dcsr_i_cuda_load_cast<T>(type, values, i);
}

template <class T> DCSR_CUDA_INLINE void dcsr_i_cuda_store(uint32_t type, void *values, uint64_t i, T x)
{
    if (type == dcsr_i_cuda_type_of<T>::value)
        ((T *)values)[i] = x;
    else
        dcsr_i_cuda_store_cast<T>(type, values, i, x);
}

/* The type is that of values, not DCSR_PATTERN. */
template <class What> auto dcsr_i_cuda_with_type(uint32_t type, What what) -> decltype(what(double()))
{
    switch (type) {
#define DCSR_X(NAME, name, ctype, minimum, maximum) \
    case DCSR_##NAME:                               \
        return what(ctype());
#include <dcsr/types.def>
#undef DCSR_X
    default:
        return what(double());
    }
}

#endif

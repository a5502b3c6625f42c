/* semiring.cuh: semirings in the kernels of products with vectors (internal).
 *
 *      dcsr_i_cuda_arithmetic<T>                   operators by name, when the kernel runs: serves all
 *      dcsr_i_cuda_constant<T, ADD, MULTIPLY>      those of a semiring that is used much, compiled in; the
 *                                                matrix has type T, and is multiply's first operand
 *
 * A sum knows whether it has a term, so that identities are not needed. */
#ifndef DCSR_SEMIRING_CUH
#define DCSR_SEMIRING_CUH

#include "ops/algebra/semiring_cuda.h"
#include "ops/algebra/operators.cuh"
#include "dcsr/device/value_word.cuh"
#include "dcsr/store/rowtable_cuda.h"

template <class Type> struct dcsr_i_cuda_partial {
    Type value;
    bool found;
};

/* A value that is cast; as a function, since it is in the way of those that are not. */
template <class T>
static __device__ __attribute__((noinline)) T dcsr_i_cuda_load_cast(uint32_t type, const void *values,
                                                                    uint64_t i)
{
    return dcsr_i_cuda_load<T>(type, values, i);
}

template <class Type> struct dcsr_i_cuda_arithmetic {
    typedef Type T;
    static constexpr bool STOPS = true, CONSTANT = false, SUMS = false;
    dcsr_i_cuda_semiring ring;
    T terminal;
    uint32_t matrix_type;
    const void *values;

    dcsr_i_cuda_arithmetic(const dcsr_i_cuda_semiring &semiring, const dcsr_i_cuda_rows &rows)
        : ring(semiring), terminal(dcsr_i_cuda_value_of<T>(semiring.terminal)), matrix_type(rows.type),
          values(rows.values)
    {
    }
    __device__ bool reads_vector() const { return ring.reads_vector; }
    __device__ T matrix_value(uint64_t place) const
    {
        if (!ring.reads_matrix) return T(1);
        if (matrix_type == ring.type) return dcsr_i_cuda_read_once((const T *)values + place);
        return dcsr_i_cuda_load_cast<T>(matrix_type, values, place);
    }
    __device__ T multiply(T a, T u) const
    {
        return dcsr_i_cuda_operate(ring.multiply, ring.flipped ? u : a, ring.flipped ? a : u);
    }
    __device__ T add(T x, T y) const { return ring.any ? x : dcsr_i_cuda_operate(ring.add, x, y); }
    /* Whether further terms change nothing. */
    __device__ bool ends(T x) const
    {
        return ring.terminal_kind == DCSR_I_ANY_TERMINAL ||
               (ring.terminal_kind == DCSR_I_TERMINAL && x == terminal);
    }
};

template <class Type, int ADD, int MULTIPLY> struct dcsr_i_cuda_constant {
    typedef Type T;
    static constexpr bool STOPS = false, CONSTANT = true;
    static constexpr bool SUMS = ADD == DCSR_BINARY_PLUS; /* to -0.0 any number can be added */
    const T *values;

    dcsr_i_cuda_constant(const dcsr_i_cuda_semiring &, const dcsr_i_cuda_rows &rows)
        : values((const T *)rows.values)
    {
    }
    __device__ bool reads_vector() const { return true; }
    __device__ T matrix_value(uint64_t place) const
    {
        return MULTIPLY == DCSR_BINARY_SECOND ? T(1) : dcsr_i_cuda_read_once(values + place);
    }
    __device__ T multiply(T a, T u) const { return dcsr_i_cuda_operators<T>::binary(MULTIPLY, a, u); }
    __device__ T add(T x, T y) const { return dcsr_i_cuda_operators<T>::binary(ADD, x, y); }
    __device__ bool ends(T) const { return false; }
};

#endif

/* semiring.cuh: semirings in the kernels of products with vectors (internal).
 *
 *      dcsr_i_cuda_any_arithmetic                  type and operators by name, when the kernel runs: serves all;
 *                                                  values are words (any_type.cuh)
 *      dcsr_i_cuda_arithmetic<T>                   operators by name, of one type
 *      dcsr_i_cuda_constant<T, ADD, MULTIPLY>      those of a semiring that is used much, compiled in; the
 *                                                  matrix has type T, and is multiply's first operand
 *
 * A sum knows whether it has a term, so that identities are not needed. */
#ifndef DCSR_SEMIRING_CUH
#define DCSR_SEMIRING_CUH

#include "ops/algebra/semiring_cuda.h"
#include "ops/algebra/any_type.cuh"
#include "ops/algebra/operators.cuh"
#include "dcsr/device/value_word.cuh"
#include "dcsr/store/rowtable_cuda.h"

template <class Type> struct dcsr_i_cuda_partial {
    Type value;
    bool found;
};

/* What all arithmetics can be asked for: values in arrays of the semiring's type; an operator on it; whether a
 * value counts as true. */
template <class Type> struct dcsr_i_cuda_typed_values {
    typedef Type T;
    static __device__ T read(const void *values, uint64_t i) { return ((const T *)values)[i]; }
    static __device__ void write(void *values, uint64_t i, T value) { ((T *)values)[i] = value; }
    static __device__ T value_of(const dcsr_i_scalar &scalar) { return dcsr_i_cuda_value_of<T>(scalar); }
    static __device__ T operate(int name, T x, T y) { return dcsr_i_cuda_operate<T>(name, x, y); }
    static __device__ bool is_true(T value) { return value != T(0); }
};

template <class Type> struct dcsr_i_cuda_arithmetic : dcsr_i_cuda_typed_values<Type> {
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

/* A terminal is compared by its bits: a sum that is -0.0, and could end, goes on to the same result. */
struct dcsr_i_cuda_any_arithmetic {
    typedef uint64_t T;
    static constexpr bool STOPS = true, CONSTANT = false, SUMS = false;
    dcsr_i_cuda_semiring ring;
    uint32_t size, matrix_type;
    const void *values;

    dcsr_i_cuda_any_arithmetic(const dcsr_i_cuda_semiring &semiring, const dcsr_i_cuda_rows &rows)
        : ring(semiring), size((uint32_t)dcsr_type_size((dcsr_type)semiring.type)), matrix_type(rows.type),
          values(rows.values)
    {
    }
    __device__ bool reads_vector() const { return ring.reads_vector; }
    __device__ T matrix_value(uint64_t place) const
    {
        return ring.reads_matrix ? dcsr_i_cuda_any_load(ring.type, matrix_type, values, place, size) : 0;
    }
    __device__ T multiply(T a, T u) const
    {
        return operate(ring.multiply, ring.flipped ? u : a, ring.flipped ? a : u);
    }
    __device__ T add(T x, T y) const { return ring.any ? x : operate(ring.add, x, y); }
    __device__ bool ends(T x) const
    {
        return ring.terminal_kind == DCSR_I_ANY_TERMINAL ||
               (ring.terminal_kind == DCSR_I_TERMINAL && x == value_of(ring.terminal));
    }
    __device__ T read(const void *array, uint64_t i) const { return dcsr_i_cuda_load_word(array, size, i); }
    __device__ void write(void *array, uint64_t i, T value) const
    {
        dcsr_i_cuda_store_word(array, size, i, value);
    }
    __device__ T value_of(const dcsr_i_scalar &scalar) const { return read(&scalar, 0); }
    __device__ T operate(int name, T x, T y) const { return dcsr_i_cuda_any_binary(ring.type, name, x, y); }
    __device__ bool is_true(T value) const { return dcsr_i_cuda_any_true(ring.type, value); }
};

template <class Type, int ADD, int MULTIPLY> struct dcsr_i_cuda_constant : dcsr_i_cuda_typed_values<Type> {
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

/* Calls what(arithmetic) with that of a product, if it has kernels of its own; else false. Those are, on values
 * as they are stored, plus-times and min-plus, and on real numbers plus-second, which is plus-times over a
 * pattern. */
template <class T, class What>
bool dcsr_i_cuda_with_constant_of(const dcsr_i_cuda_semiring &semiring, const dcsr_i_cuda_rows &rows,
                                  What what)
{
    if (semiring.add == DCSR_BINARY_PLUS && semiring.multiply == DCSR_BINARY_TIMES)
        what(dcsr_i_cuda_constant<T, DCSR_BINARY_PLUS, DCSR_BINARY_TIMES>(semiring, rows));
    else if (semiring.add == DCSR_BINARY_MIN && semiring.multiply == DCSR_BINARY_PLUS)
        what(dcsr_i_cuda_constant<T, DCSR_BINARY_MIN, DCSR_BINARY_PLUS>(semiring, rows));
    else if constexpr (std::is_floating_point<T>::value) {
        if (semiring.add != DCSR_BINARY_PLUS || semiring.multiply != DCSR_BINARY_SECOND) return false;
        what(dcsr_i_cuda_constant<T, DCSR_BINARY_PLUS, DCSR_BINARY_SECOND>(semiring, rows));
    } else
        return false;
    return true;
}
inline bool dcsr_i_cuda_is_as_stored(const dcsr_i_cuda_semiring &semiring, const dcsr_i_cuda_rows &rows)
{
    return !semiring.flipped && semiring.reads_vector &&
           (!semiring.reads_matrix || rows.type == semiring.type);
}
template <class What>
bool dcsr_i_cuda_with_reals(const dcsr_i_cuda_semiring &semiring, const dcsr_i_cuda_rows &rows, What what)
{
    if (!dcsr_i_cuda_is_as_stored(semiring, rows)) return false;
    if (semiring.type == DCSR_FP64) return dcsr_i_cuda_with_constant_of<double>(semiring, rows, what);
    return semiring.type == DCSR_FP32 && dcsr_i_cuda_with_constant_of<float>(semiring, rows, what);
}
template <class What>
bool dcsr_i_cuda_with_integers(const dcsr_i_cuda_semiring &semiring, const dcsr_i_cuda_rows &rows, What what)
{
    if (!dcsr_i_cuda_is_as_stored(semiring, rows)) return false;
    if (semiring.type == DCSR_INT64) return dcsr_i_cuda_with_constant_of<int64_t>(semiring, rows, what);
    return semiring.type == DCSR_INT32 && dcsr_i_cuda_with_constant_of<int32_t>(semiring, rows, what);
}

#endif

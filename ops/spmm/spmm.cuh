/* spmm.cuh: what the kernels of sparse matrix times dense matrix have in common (internal; for spmm_*.cu). */
#ifndef DCSR_SPMM_CUH
#define DCSR_SPMM_CUH

#include "ops/algebra/semiring.cuh"
#include "ops/spmm/spmm_cuda.h"

template <class T>
DCSR_CUDA_INLINE void dcsr_i_cuda_spmm_write(const dcsr_i_cuda_spmm &x, uint64_t i, T value)
{
    if (x.truths)
        ((bool *)x.Y)[i] = value != T(0);
    else
        ((T *)x.Y)[i] = value;
}

/* What becomes of element i of Y, in a row of which all has been summed up, or which has no entries. */
template <class T>
DCSR_CUDA_INLINE void dcsr_i_cuda_spmm_finish(const dcsr_i_cuda_spmm &x, uint64_t i,
                                              const dcsr_i_cuda_partial<T> &sum)
{
    if (!sum.found) {
        if (x.accum < 0) dcsr_i_cuda_spmm_write(x, i, dcsr_i_cuda_value_of<T>(x.semiring.identity));
        return;
    }
    T value = sum.value;
    if (x.accum >= 0)
        value = dcsr_i_cuda_operate<T>(x.accum, x.truths ? T(((const bool *)x.Y)[i]) : ((const T *)x.Y)[i],
                                       value);
    dcsr_i_cuda_spmm_write(x, i, value);
}

/* What becomes of element i of Y in a row that the mask leaves out. */
template <class T> DCSR_CUDA_INLINE void dcsr_i_cuda_spmm_leave(const dcsr_i_cuda_spmm &x, uint64_t i)
{
    if (x.replace) dcsr_i_cuda_spmm_write(x, i, dcsr_i_cuda_value_of<T>(x.semiring.identity));
}

template <class Ring>
DCSR_CUDA_INLINE void dcsr_i_cuda_spmm_add(const Ring &ring, dcsr_i_cuda_partial<typename Ring::T> &sum,
                                           typename Ring::T a, typename Ring::T x)
{
    typename Ring::T term = ring.multiply(a, x);
    sum.value = sum.found ? ring.add(sum.value, term) : term;
    sum.found = true;
}

/* Calls what(ring) with the arithmetic for a product: compiled in for plus-times and min-plus on real
 * numbers. */
template <class T, class What> bool dcsr_i_cuda_spmm_constant(const dcsr_i_cuda_spmm *x, What what)
{
    const dcsr_i_cuda_semiring &semiring = x->semiring;
    if (semiring.flipped || (semiring.reads_matrix && x->rows.type != semiring.type)) return false;
    if (semiring.add == DCSR_BINARY_PLUS && semiring.multiply == DCSR_BINARY_TIMES)
        what(dcsr_i_cuda_constant<T, DCSR_BINARY_PLUS, DCSR_BINARY_TIMES>(semiring, x->rows));
    else if (semiring.add == DCSR_BINARY_PLUS && semiring.multiply == DCSR_BINARY_SECOND)
        what(dcsr_i_cuda_constant<T, DCSR_BINARY_PLUS, DCSR_BINARY_SECOND>(semiring, x->rows));
    else if (semiring.add == DCSR_BINARY_MIN && semiring.multiply == DCSR_BINARY_PLUS)
        what(dcsr_i_cuda_constant<T, DCSR_BINARY_MIN, DCSR_BINARY_PLUS>(semiring, x->rows));
    else
        return false;
    return true;
}
template <class What> void dcsr_i_cuda_spmm_with_arithmetic(const dcsr_i_cuda_spmm *x, What what)
{
    if (x->semiring.type == DCSR_FP32 && dcsr_i_cuda_spmm_constant<float>(x, what)) return;
    if (x->semiring.type == DCSR_FP64 && dcsr_i_cuda_spmm_constant<double>(x, what)) return;
    dcsr_i_cuda_with_type(x->semiring.type, [=](auto value) {
        what(dcsr_i_cuda_arithmetic<decltype(value)>(x->semiring, x->rows));
    });
}

#endif

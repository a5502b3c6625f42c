/* spmm.cuh: what the kernels of sparse matrix times dense matrix have in common (internal; for spmm_*.cu). */
#ifndef DCSR_SPMM_CUH
#define DCSR_SPMM_CUH

#include "ops/algebra/semiring.cuh"
#include "ops/spmm/spmm_cuda.h"

template <class Ring>
DCSR_CUDA_INLINE void dcsr_i_cuda_spmm_write(const Ring &ring, const dcsr_i_cuda_spmm &x, uint64_t i,
                                             typename Ring::T value)
{
    if (x.truths)
        ((bool *)x.Y)[i] = ring.is_true(value);
    else
        ring.write(x.Y, i, value);
}

/* What becomes of element i of Y, in a row of which all has been summed up, or which has no entries. Where Y is
 * of truths there is no accum here. */
template <class Ring>
DCSR_CUDA_INLINE void dcsr_i_cuda_spmm_finish(const Ring &ring, const dcsr_i_cuda_spmm &x, uint64_t i,
                                              const dcsr_i_cuda_partial<typename Ring::T> &sum)
{
    if (sum.found)
        dcsr_i_cuda_spmm_write(ring, x, i,
                               x.accum < 0 ? sum.value : ring.operate(x.accum, ring.read(x.Y, i), sum.value));
    else if (x.accum < 0)
        dcsr_i_cuda_spmm_write(ring, x, i, ring.value_of(x.semiring.identity));
}

/* What becomes of element i of Y in a row that the mask leaves out. */
template <class Ring>
DCSR_CUDA_INLINE void dcsr_i_cuda_spmm_leave(const Ring &ring, const dcsr_i_cuda_spmm &x, uint64_t i)
{
    if (x.replace) dcsr_i_cuda_spmm_write(ring, x, i, ring.value_of(x.semiring.identity));
}

template <class Ring>
DCSR_CUDA_INLINE void dcsr_i_cuda_spmm_add(const Ring &ring, dcsr_i_cuda_partial<typename Ring::T> &sum,
                                           typename Ring::T a, typename Ring::T x)
{
    typename Ring::T term = ring.multiply(a, x);
    sum.value = sum.found ? ring.add(sum.value, term) : term;
    sum.found = true;
}

/* Calls what(ring) with the arithmetic for a product. */
template <class What> void dcsr_i_cuda_spmm_with_arithmetic(const dcsr_i_cuda_spmm *x, What what)
{
    if (dcsr_i_cuda_with_reals(x->semiring, x->rows, what)) return;
    what(dcsr_i_cuda_any_arithmetic(x->semiring, x->rows));
}

#endif

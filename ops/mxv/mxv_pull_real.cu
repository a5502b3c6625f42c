/* mxv_pull_real.cu: the product of a matrix with a vector, row by row, over the semirings on real numbers
 * that are used most: linear algebra, and shortest paths. Their operators are compiled in. */
#include "ops/mxv/mxv_pull.cuh"

namespace
{
/* Whether the semiring is this one, on values as they are stored. */
bool is(const dcsr_i_cuda_mxv *x, int add, int multiply)
{
    const dcsr_i_cuda_semiring &semiring = x->semiring;
    return semiring.add == add && semiring.multiply == multiply && !semiring.flipped &&
           semiring.reads_vector && (!semiring.reads_matrix || x->rows.type == semiring.type);
}

template <class T>
bool pull_on(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxv *x, const dcsr_i_cuda_spmv_plan *plan,
             void *part)
{
    if (is(x, DCSR_BINARY_PLUS, DCSR_BINARY_TIMES))
        launch_terms<dcsr_i_cuda_constant<T, DCSR_BINARY_PLUS, DCSR_BINARY_TIMES>>(stream, x, plan, part);
    else if (is(x, DCSR_BINARY_PLUS, DCSR_BINARY_SECOND))
        launch_terms<dcsr_i_cuda_constant<T, DCSR_BINARY_PLUS, DCSR_BINARY_SECOND>>(stream, x, plan, part);
    else if (is(x, DCSR_BINARY_MIN, DCSR_BINARY_PLUS))
        launch_terms<dcsr_i_cuda_constant<T, DCSR_BINARY_MIN, DCSR_BINARY_PLUS>>(stream, x, plan, part);
    else
        return false;
    return true;
}
} // namespace

bool dcsr_i_cuda_mxv_pull_real(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxv *x,
                               const dcsr_i_cuda_spmv_plan *plan, void *part)
{
    switch (x->semiring.type) {
    case DCSR_FP32:
        return pull_on<float>(stream, x, plan, part);
    case DCSR_FP64:
        return pull_on<double>(stream, x, plan, part);
    default:
        return false;
    }
}

/* mxv_pull_real.cu: the product of a matrix with a vector, row by row, over the semirings on real numbers
 * that are used most: linear algebra, and shortest paths. Their operators are compiled in. */
#include "ops/mxv/mxv_pull.cuh"

bool dcsr_i_cuda_mxv_pull_real(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxv *x,
                               const dcsr_i_cuda_spmv_plan *plan, void *part)
{
    return dcsr_i_cuda_with_reals(x->semiring, x->rows,
                                  [=](auto ring) { launch_terms(stream, x, plan, part, ring); });
}

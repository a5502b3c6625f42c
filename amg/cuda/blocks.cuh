/* blocks.cuh: what kernels read of the nodes of a level (internal). */
#ifndef DCSR_AMG_BLOCKS_CUH
#define DCSR_AMG_BLOCKS_CUH

#include "amg/cuda/passes_cuda.h"
#include "dcsr/device/stream.cuh"

/* The square of the norm of a node's diagonal block. */
DCSR_CUDA_INLINE double dcsr_i_amg_cuda_norm(const dcsr_i_amg_cuda_rows &A, uint64_t node, uint64_t block)
{
    double sum = 0;
    for (uint64_t i = node * block; i < (node + 1) * block; i++)
        for (uint64_t e = A.begin[i]; e < A.end[i]; e++)
            if (A.columns[e] / block == node) sum += A.values[e] * A.values[e];
    return sum;
}

#endif

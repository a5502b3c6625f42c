/* mxm_alike.cuh: what the kernels of products whose rows are alike have in common (internal; in kernels). */
#ifndef DCSR_MXM_ALIKE_CUH
#define DCSR_MXM_ALIKE_CUH

#include "ops/mxm/mxm_alike_cuda.h"
#include "ops/mxm/mxm_rows.cuh"

/* Warps that share a program of so many steps. */
static inline __host__ __device__ uint32_t dcsr_i_cuda_mxm_shares(uint32_t steps)
{
#ifdef DCSR_SIMT
    const uint32_t most = 2;
#else
    const uint32_t most = DCSR_CUDA_MXM_SHARES;
#endif
    uint32_t shares = 1;
    while (shares < most && shares * 24 < steps) shares *= 2;
    return shares;
}

enum { DCSR_CUDA_MXM_LEAST_STRIP = 8 }; /* rows; of fewer they are loose */

/* Of the 32 rows of a warp, whose kinds and FOLLOWS are in `word`: those that begin strips. */
DCSR_CUDA_INLINE uint32_t dcsr_i_cuda_mxm_strip_begins(uint32_t word, bool exists)
{
    const uint32_t before = __shfl_up_sync(DCSR_CUDA_ALL_LANES, word, 1);
    const bool joins = dcsr_i_cuda_lane() && (word & DCSR_CUDA_MXM_FOLLOWS) && !((word ^ before) & 0xff);
    return __ballot_sync(DCSR_CUDA_ALL_LANES, exists && !joins);
}

/* The rows of the strip that begins in lane `first`. */
DCSR_CUDA_INLINE uint32_t dcsr_i_cuda_mxm_strip_length(uint32_t begins, uint32_t rows, uint32_t first)
{
    const uint32_t after = begins & ~((2u << first) - 1);
    return (after ? (uint32_t)__ffs((int)after) - 1 : rows) - first;
}

/* Whether the lane's row is of a strip that is long enough, and has a kind. */
DCSR_CUDA_INLINE bool dcsr_i_cuda_mxm_in_strip(uint32_t word, bool exists)
{
    const uint32_t begins = dcsr_i_cuda_mxm_strip_begins(word, exists),
                   rows = (uint32_t)__popc(__ballot_sync(DCSR_CUDA_ALL_LANES, exists));
    const uint32_t up_to_this = begins & ((2u << dcsr_i_cuda_lane()) - 1);
    if (!exists || (word & 0xff) == DCSR_CUDA_MXM_NO_KIND) return false;
    return dcsr_i_cuda_mxm_strip_length(begins, rows, 31 - (uint32_t)__clz((int)up_to_this)) >=
           DCSR_CUDA_MXM_LEAST_STRIP;
}

#endif

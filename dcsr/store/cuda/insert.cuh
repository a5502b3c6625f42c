/* insert.cuh: where the entries of a batch stand among rows, pages and the entries that count (insert_cuda.h; internal,
 * in kernels). */
#ifndef DCSR_INSERT_CUH
#define DCSR_INSERT_CUH

#include "dcsr/base/search.h"
#include "dcsr/device/tile_scan.cuh"
#include "dcsr/store/cuda/insert_cuda.h"

/* Where entry i is, counted from 1: the row in the low half, the page in the high half. */
DCSR_CUDA_INLINE uint64_t dcsr_i_cuda_head(const dcsr_i_cuda_batch &b, uint64_t i)
{
    const uint32_t within = b.heads.within[i];
    return b.heads.before[i / DCSR_CUDA_TILE] + (within & 0xffff) +
           (static_cast<uint64_t>(within >> 16) << 32);
}
DCSR_CUDA_INLINE uint32_t dcsr_i_cuda_row_index(const dcsr_i_cuda_batch &b, uint64_t i)
{
    return static_cast<uint32_t>(dcsr_i_cuda_head(b, i)) - 1;
}

/* In `within` of the counted entries: this one is counted. */
#define DCSR_CUDA_COUNTED 0x80000000u

DCSR_CUDA_INLINE bool dcsr_i_cuda_is_counted(const dcsr_i_cuda_batch &b, uint64_t i)
{
    return b.counted.within[i] & DCSR_CUDA_COUNTED;
}
/* How many of the entries before i are, in the low half, and in the high half how many change what is stored; i may be
 * the end. */
DCSR_CUDA_INLINE uint64_t dcsr_i_cuda_ranks(const dcsr_i_cuda_batch &b, uint64_t i)
{
    const uint32_t within = b.counted.within[i] & ~DCSR_CUDA_COUNTED;
    return b.counted.before[i / DCSR_CUDA_TILE] + (within & 0xffff) +
           (static_cast<uint64_t>(within >> 16) << 32);
}
DCSR_CUDA_INLINE uint64_t dcsr_i_cuda_rank(const dcsr_i_cuda_batch &b, uint64_t i)
{
    return static_cast<uint32_t>(dcsr_i_cuda_ranks(b, i));
}

static inline DCSR_CUDA_BOTH_SIDES uint64_t dcsr_i_cuda_tiles(const dcsr_i_cuda_batch &b)
{
    return b.most / DCSR_CUDA_TILE + 1; /* of the entries and their end */
}

/* Whether an entry lies outside of the matrix; then nothing of the batch is done. */
DCSR_CUDA_INLINE bool has_outside(const dcsr_i_cuda_batch &b)
{
    return b.found && b.found->outside != UINT64_MAX;
}

#endif

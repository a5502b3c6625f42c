/* sets.cuh: what kernels read of the nodes of a level; sets, counters and the log of an update (internal). */
#ifndef DCSR_AMG_SETS_CUH
#define DCSR_AMG_SETS_CUH

#include "amg/cuda/follow_cuda.h"
#include "dcsr/device/reduce.cuh"

/* The square of the norm of a node's diagonal block. */
DCSR_CUDA_INLINE double dcsr_i_amg_cuda_norm(const dcsr_i_amg_cuda_rows &A, uint64_t node, uint64_t block)
{
    double sum = 0;
    for (uint64_t i = node * block; i < (node + 1) * block; i++)
        for (uint64_t e = A.begin[i]; e < A.end[i]; e++)
            if ((A.columns[e] - A.first) / block == node) sum += A.values[e] * A.values[e];
    return sum;
}

DCSR_CUDA_INLINE uint64_t dcsr_i_amg_cuda_count(uint64_t *counter, uint64_t n)
{
    return atomicAdd((unsigned long long *)counter, (unsigned long long)n);
}

/* The same for the first lane, told to all: all lanes of the warp call, with the same n. */
DCSR_CUDA_INLINE uint64_t dcsr_i_amg_cuda_place(uint64_t *counter, uint64_t n)
{
    const uint64_t place = dcsr_i_cuda_lane() ? 0 : dcsr_i_amg_cuda_count(counter, n);
    return __shfl_sync(DCSR_CUDA_ALL_LANES, place, 0);
}

DCSR_CUDA_INLINE bool dcsr_i_amg_cuda_has(const dcsr_i_amg_cuda_set &s, uint64_t i)
{
    return s.bits[i / 32] >> i % 32 & 1;
}

/* Whether it was not there. */
DCSR_CUDA_INLINE bool dcsr_i_amg_cuda_mark(const dcsr_i_amg_cuda_set &s, uint64_t i)
{
    const uint32_t bit = 1u << i % 32;
    return !(atomicOr(&s.bits[i / 32], bit) & bit);
}

DCSR_CUDA_INLINE bool dcsr_i_amg_cuda_add(const dcsr_i_amg_cuda_set &s, uint64_t i)
{
    const bool is_new = dcsr_i_amg_cuda_mark(s, i);
    if (is_new) s.list[dcsr_i_amg_cuda_count(s.count, 1)] = (uint32_t)i;
    return is_new;
}

/* The numbers of the lanes for which one `exists`, with one addition to the counter: all lanes of the warp call. */
DCSR_CUDA_INLINE void dcsr_i_amg_cuda_add_all(const dcsr_i_amg_cuda_set &s, bool exists, uint64_t i)
{
    const bool is_new = exists && dcsr_i_amg_cuda_mark(s, i);
    const unsigned all = __ballot_sync(DCSR_CUDA_ALL_LANES, is_new);
    if (!all) return;
    const uint64_t place = dcsr_i_amg_cuda_place(s.count, (uint64_t)__popc(all));
    if (is_new) s.list[place + (uint64_t)__popc(all & ((1u << dcsr_i_cuda_lane()) - 1))] = (uint32_t)i;
}

/* Notes a word that is about to change. T has 64 bits. */
template <class T> DCSR_CUDA_INLINE void dcsr_i_amg_cuda_keep(const dcsr_i_amg_cuda_log &log, T *at)
{
    const uint64_t k = dcsr_i_amg_cuda_count(log.count, 1);
    log.where[k] = (uint64_t *)at;
    log.what[k] = *(const uint64_t *)at;
}

/* The same for a word of 32 bits. Its address is noted with the lowest bit set, which tells it from the others. */
DCSR_CUDA_INLINE void dcsr_i_amg_cuda_keep_half(const dcsr_i_amg_cuda_log &log, uint32_t *at)
{
    const uint64_t k = dcsr_i_amg_cuda_count(log.count, 1);
    log.where[k] = (uint64_t *)((char *)at + 1);
    log.what[k] = *at;
}

#endif

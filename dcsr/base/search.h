/* search.h: looking for a number in an ascending list (internal; for C and for kernels). */
#ifndef DCSR_SEARCH_H
#define DCSR_SEARCH_H

#include <stdint.h>

/* What both the host and kernels call. */
#ifdef __CUDACC__
#define DCSR_CUDA_BOTH_SIDES __host__ __device__
#else
#define DCSR_CUDA_BOTH_SIDES
#endif

/* The first place in `list` from `from` on (of n, ascending) whose number is not below `number`; n if there
 * is none. By bisection. */
static inline DCSR_CUDA_BOTH_SIDES uint64_t dcsr_i_list_find(const uint32_t *list, uint64_t from, uint64_t n,
                                                             uint64_t number)
{
    while (from < n) {
        uint64_t middle = from + (n - from) / 2;
        if (list[middle] < number)
            from = middle + 1;
        else
            n = middle;
    }
    return from;
}

/* The same for a place that is likely to be near: by steps that double, then by bisection. */
static inline uint64_t dcsr_i_list_find_near(const uint32_t *list, uint64_t from, uint64_t n, uint64_t number)
{
    uint64_t step = 1, at = from;
    while (at < n && list[at] < number) {
        from = at + 1;
        at += step;
        step *= 2;
    }
    return dcsr_i_list_find(list, from, at < n ? at : n, number);
}

/* How many of n keys, which ascend, are below `key`. */
static inline DCSR_CUDA_BOTH_SIDES uint64_t dcsr_i_keys_below(const uint64_t *keys, uint64_t n, uint64_t key)
{
    uint64_t from = 0;
    while (from < n) {
        uint64_t middle = from + (n - from) / 2;
        if (keys[middle] < key)
            from = middle + 1;
        else
            n = middle;
    }
    return from;
}

#endif

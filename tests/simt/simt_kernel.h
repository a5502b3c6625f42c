/* simt_kernel.h: what kernels are written with: qualifiers, coordinates, shared arrays, barriers, arithmetic.
 */
#ifndef DCSR_TESTS_SIMT_KERNEL_H
#define DCSR_TESTS_SIMT_KERNEL_H

#include <cstddef>
#include <cstdint>
#include "tests/simt/simt_sanitizer.h"
#include "tests/simt/simt_types.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)

namespace simt
{
/* Where a CUDA thread stands. */
struct coordinates {
    uint3 thread, block;
    unsigned linear; /* the thread's number in its block; its warp is linear / 32 */
};
/* The launch that runs. */
struct dimensions {
    dim3 grid, block;
};
/* Of the CUDA thread that runs now. One thread runs at a time, whatever the number of host threads. */
extern const coordinates *here;
extern dimensions shape;

/* What all threads of a block find under one key; the first to ask creates it, filled with a pattern. */
void *shared_array(const void *key, size_t bytes);
void *shared_dynamic();

enum block_vote { COUNT, AND, OR };
int block_barrier(block_vote vote, bool predicate, const char *file, int line);
/* A point at which another thread may go on. */
void may_yield();
/* One at which, whatever the seed, all others go on first or in their turn: for a thread that looks again and again. */
void let_others_run();
/* What fences and atomics order; see simt_launch.cpp. */
#if SIMT_TSAN
void fence();
void order_atomic(void *at);
#else
inline void fence() {}
inline void order_atomic(void *) {}
#endif
} // namespace simt

#define threadIdx (simt::here->thread)
#define blockIdx  (simt::here->block)
#define blockDim  (simt::shape.block)
#define gridDim   (simt::shape.grid)
constexpr int warpSize = 32;

/* The address of a static of its own tells an array from all others, those of other instances of a template
 * included. */
#define SIMT_SHARED(T, name, N)                                               \
    static const char simt_key_##name = 0;                                    \
    static_assert(alignof(T) <= 16, "shared arrays are aligned to 16 bytes"); \
    T(&name)[N] = *reinterpret_cast<T(*)[N]>(simt::shared_array(&simt_key_##name, sizeof(T) * (N)))
#define SIMT_SHARED_DYN(T, name) T *name = static_cast<T *>(simt::shared_dynamic())

/* The call's place in the source: barriers are told apart by it, and messages name it. */
#define SIMT_PLACE const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline void __syncthreads(SIMT_PLACE)
{
    simt::block_barrier(simt::COUNT, false, file, line);
}
inline int __syncthreads_count(int predicate, SIMT_PLACE)
{
    return simt::block_barrier(simt::COUNT, predicate != 0, file, line);
}
inline int __syncthreads_and(int predicate, SIMT_PLACE)
{
    return simt::block_barrier(simt::AND, predicate != 0, file, line);
}
inline int __syncthreads_or(int predicate, SIMT_PLACE)
{
    return simt::block_barrier(simt::OR, predicate != 0, file, line);
}

inline void __threadfence()
{
    simt::may_yield();
    simt::fence();
}
inline void __threadfence_system()
{
    __threadfence();
}
inline void __threadfence_block()
{
    simt::may_yield();
}

inline void __nanosleep(unsigned)
{
    simt::let_others_run();
}

inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}
inline int __popcll(unsigned long long x)
{
    return __builtin_popcountll(x);
}
inline int __ffs(int x)
{
    return __builtin_ffs(x);
}
inline int __ffsll(long long x)
{
    return __builtin_ffsll(x);
}
inline int __clz(int x)
{
    return x ? __builtin_clz(static_cast<unsigned>(x)) : 32;
}
inline int __clzll(long long x)
{
    return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64;
}
template <class T> inline T __ldg(const T *pointer)
{
    return *pointer;
}

/* CUDA's overloads: two equal types, or a signed and an unsigned one, which compare as unsigned. */
#define SIMT_MIN_MAX(R, A, B)                                                                 \
    inline R min(A a, B b)                                                                    \
    {                                                                                         \
        return static_cast<R>(a) < static_cast<R>(b) ? static_cast<R>(a) : static_cast<R>(b); \
    }                                                                                         \
    inline R max(A a, B b)                                                                    \
    {                                                                                         \
        return static_cast<R>(a) > static_cast<R>(b) ? static_cast<R>(a) : static_cast<R>(b); \
    }
#define SIMT_MIN_MAX_INTEGERS(S, U) \
    SIMT_MIN_MAX(S, S, S)           \
    SIMT_MIN_MAX(U, U, U)           \
    SIMT_MIN_MAX(U, S, U)           \
    SIMT_MIN_MAX(U, U, S)
SIMT_MIN_MAX_INTEGERS(int, unsigned)
SIMT_MIN_MAX_INTEGERS(long, unsigned long)
SIMT_MIN_MAX_INTEGERS(long long, unsigned long long)
SIMT_MIN_MAX(float, float, float)
SIMT_MIN_MAX(double, double, double)
SIMT_MIN_MAX(double, float, double)
SIMT_MIN_MAX(double, double, float)

#endif

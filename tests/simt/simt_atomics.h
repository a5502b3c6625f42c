/* simt_atomics.h: CUDA's atomics, for the types that CUDA has them for. They are relaxed: they order nothing
 * but themselves, and ThreadSanitizer sees them so; with fences around them they hand over data. */
#ifndef DCSR_TESTS_SIMT_ATOMICS_H
#define DCSR_TESTS_SIMT_ATOMICS_H

#include "tests/simt/simt_warp.h"

namespace simt
{
template <size_t BYTES> struct word;
/* Kernels cast uint64_t * to unsigned long long *, which are different types here. */
template <> struct word<2> {
    typedef uint16_t __attribute__((may_alias)) type;
};
template <> struct word<4> {
    typedef uint32_t __attribute__((may_alias)) type;
};
template <> struct word<8> {
    typedef uint64_t __attribute__((may_alias)) type;
};

/* Replaces *pointer by change(*pointer) and returns what it was. */
template <class T, class F> inline T atomic_change(T *pointer, F change)
{
    typedef typename word<sizeof(T)>::type bits;
    bits *const at = reinterpret_cast<bits *>(pointer);
    may_yield();
    order_atomic(at);
    bits was = __atomic_load_n(at, __ATOMIC_RELAXED), becomes;
    T old;
    do {
        memcpy(&old, &was, sizeof old);
        const T next = change(old);
        memcpy(&becomes, &next, sizeof next);
    } while (!__atomic_compare_exchange_n(at, &was, becomes, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    may_yield();
    return old;
}
} // namespace simt

#define SIMT_ATOMIC(NAME, T, EXPRESSION)                     \
    inline T NAME(T *pointer, T value)                       \
    {                                                        \
        return simt::atomic_change(pointer, [value](T old) { \
            (void)old;                                       \
            return EXPRESSION;                               \
        });                                                  \
    }
#define SIMT_ATOMIC_CAS(T)                                                                            \
    inline T atomicCAS(T *pointer, T compare, T value)                                                \
    {                                                                                                 \
        return simt::atomic_change(pointer,                                                           \
                                   [compare, value](T old) { return old == compare ? value : old; }); \
    }

/* Unsigned, so that a sum may wrap. */
inline int simt_wrapping_sum(int a, int b)
{
    return static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b));
}
inline int simt_wrapping_difference(int a, int b)
{
    return static_cast<int>(static_cast<unsigned>(a) - static_cast<unsigned>(b));
}

SIMT_ATOMIC(atomicAdd, int, simt_wrapping_sum(old, value))
SIMT_ATOMIC(atomicAdd, unsigned, old + value)
SIMT_ATOMIC(atomicAdd, unsigned long long, old + value)
SIMT_ATOMIC(atomicAdd, float, old + value)
SIMT_ATOMIC(atomicAdd, double, old + value)
SIMT_ATOMIC(atomicSub, int, simt_wrapping_difference(old, value))
SIMT_ATOMIC(atomicSub, unsigned, old - value)
SIMT_ATOMIC(atomicExch, int, value)
SIMT_ATOMIC(atomicExch, unsigned, value)
SIMT_ATOMIC(atomicExch, unsigned long long, value)
SIMT_ATOMIC(atomicExch, float, value)
#define SIMT_ATOMIC_MIN_MAX(T)                           \
    SIMT_ATOMIC(atomicMin, T, old < value ? old : value) \
    SIMT_ATOMIC(atomicMax, T, old > value ? old : value)
SIMT_ATOMIC_MIN_MAX(int)
SIMT_ATOMIC_MIN_MAX(unsigned)
SIMT_ATOMIC_MIN_MAX(long long)
SIMT_ATOMIC_MIN_MAX(unsigned long long)
#define SIMT_ATOMIC_BITS(T)               \
    SIMT_ATOMIC(atomicAnd, T, old &value) \
    SIMT_ATOMIC(atomicOr, T, old | value) \
    SIMT_ATOMIC(atomicXor, T, old ^ value)
SIMT_ATOMIC_BITS(int)
SIMT_ATOMIC_BITS(unsigned)
SIMT_ATOMIC_BITS(unsigned long long)
SIMT_ATOMIC_CAS(unsigned short)
SIMT_ATOMIC_CAS(int)
SIMT_ATOMIC_CAS(unsigned)
SIMT_ATOMIC_CAS(unsigned long long)

#endif

/* avx512.h: whether kernels may use AVX-512 intrinsics (internal).
 *
 * DCSR_I_AVX512 is defined where the compiler may emit AVX-512 for the target. Sanitizers do not see the
 * accesses that intrinsics make, so their builds take the portable code, which reads the same entries. */
#ifndef DCSR_AVX512_H
#define DCSR_AVX512_H

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define DCSR_I_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define DCSR_I_SANITIZED 1
#endif
#endif

#if defined(__AVX512F__) && defined(__AVX512VL__) && defined(__AVX512DQ__) && defined(__BMI2__) && \
    !defined(DCSR_I_SANITIZED)
#define DCSR_I_AVX512 1
#include <immintrin.h>
#endif

#endif

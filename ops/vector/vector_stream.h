/* vector_stream.h: writing past the caches (internal).
 *
 * A store to memory that no cache holds first reads it. Where an output is larger than what the caches would
 * keep of it anyway, its blocks are computed in the first-level cache and go from there straight to memory: a
 * sum of two vectors then moves three vectors instead of four. */
#ifndef DCSR_VECTOR_STREAM_H
#define DCSR_VECTOR_STREAM_H

#include "ops/algebra/avx512.h"
#include <stdint.h>
#include <string.h>

/* Bytes from which on it pays, also for those who read the output next, and now from memory. */
enum { DCSR_I_WORTH_STREAMING = 8 << 20 };

/* memcpy() past the caches, to what only this thread reads before dcsr_i_stream_end(). */
static inline void dcsr_i_stream(void *to, const void *from, size_t bytes)
{
#ifdef DCSR_I_AVX512
    if ((uintptr_t)to % 64 == 0) {
        for (; bytes >= 64; bytes -= 64, to = (char *)to + 64, from = (const char *)from + 64)
            _mm512_stream_si512(to, _mm512_loadu_si512(from));
    }
#endif
    memcpy(to, from, bytes);
}

/* Makes what was written so by this thread visible to others as other stores are. */
static inline void dcsr_i_stream_end(void)
{
#ifdef DCSR_I_AVX512
    _mm_sfence();
#endif
}

#endif

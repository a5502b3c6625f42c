/* arithmetics.h: the arithmetics of products, and the instructions that they are compiled for (internal).
 *
 * Integers wrap around, so signed and unsigned ones of a size have one **arithmetic**: there are 8 for 12 types. A
 * kernel writes its loop once, in a file that arithmetics.inc includes for each arithmetic, for fp64, fp32 and pattern
 * also for AVX2 and AVX-512; which of these runs is chosen when it runs. */
#ifndef DCSR_SPMV_ARITHMETICS_H
#define DCSR_SPMV_ARITHMETICS_H

#include "ops/algebra/avx512.h"
#include <dcsr/context.h>

/* Sanitizers do not see what intrinsics read, so their builds have the portable code alone. */
#if defined(__x86_64__) && !defined(DCSR_I_SANITIZED)
#define DCSR_I_SPMV_X86 1
#include <immintrin.h>
#endif

typedef enum dcsr_i_spmv_level {
    DCSR_I_SPMV_PORTABLE,
    DCSR_I_SPMV_AVX2,
    DCSR_I_SPMV_AVX512,
    DCSR_I_SPMV_LEVELS
} dcsr_i_spmv_level;

/* The highest that this processor has. */
dcsr_i_spmv_level dcsr_i_spmv_level_now(void);
/* For tests: this level, as far as the processor has it; -1: the highest, again. */
void dcsr_i_spmv_ask_for_level(int level);

/* A table of the instances of a function, [level][type]. */
#define SPMV_PORTABLE_INSTANCES(function)                                                            \
    [DCSR_PATTERN] = function##_pattern, [DCSR_BOOL] = function##_bool, [DCSR_INT8] = function##_u8, \
    [DCSR_INT16] = function##_u16, [DCSR_INT32] = function##_u32, [DCSR_INT64] = function##_u64,     \
    [DCSR_UINT8] = function##_u8, [DCSR_UINT16] = function##_u16, [DCSR_UINT32] = function##_u32,    \
    [DCSR_UINT64] = function##_u64, [DCSR_FP32] = function##_fp32, [DCSR_FP64] = function##_fp64
#ifdef DCSR_I_SPMV_X86
#define SPMV_INSTANCES(function)                                                              \
    {                                                                                         \
        {SPMV_PORTABLE_INSTANCES(function)},                                                  \
            {[DCSR_PATTERN] = function##_pattern_avx2,                                        \
             [DCSR_FP32] = function##_fp32_avx2,                                              \
             [DCSR_FP64] = function##_fp64_avx2},                                             \
        {                                                                                     \
            [DCSR_PATTERN] = function##_pattern_avx512, [DCSR_FP32] = function##_fp32_avx512, \
            [DCSR_FP64] = function##_fp64_avx512                                              \
        }                                                                                     \
    }
#else
#define SPMV_INSTANCES(function)              \
    {                                         \
        {                                     \
            SPMV_PORTABLE_INSTANCES(function) \
        }                                     \
    }
#endif
/* Of portable code alone. */
#define SPMV_INSTANCES_PORTABLE(function)     \
    {                                         \
        {                                     \
            SPMV_PORTABLE_INSTANCES(function) \
        }                                     \
    }
/* The one to call at a level. */
#define SPMV_INSTANCE(table, level, type) (table[level][type] ? table[level][type] : table[0][type])

#endif

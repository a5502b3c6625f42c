/* arithmetics.c: which instructions products may use. */
#include "ops/spmv/portfolio/arithmetics.h"
#include <stdatomic.h>

static atomic_int asked = -1; /* by a test; -1: not */

void dcsr_i_spmv_ask_for_level(int level)
{
    asked = level;
}

static dcsr_i_spmv_level of_processor(void)
{
#ifdef DCSR_I_SPMV_X86
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("fma"))
        return DCSR_I_SPMV_AVX512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return DCSR_I_SPMV_AVX2;
#endif
    return DCSR_I_SPMV_PORTABLE;
}

dcsr_i_spmv_level dcsr_i_spmv_level_now(void)
{
    const dcsr_i_spmv_level level = of_processor();
    const int test = asked;
    return test >= 0 && test < (int)level ? (dcsr_i_spmv_level)test : level;
}

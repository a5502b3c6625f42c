/* kinds.c: which instructions products may use. */
#include "ops/spmv/portfolio/kinds.h"
#include <stdatomic.h>

static _Atomic(dcsr_i_spmv_level) most = DCSR_I_SPMV_LEVELS - 1;

void dcsr_i_spmv_limit_level(dcsr_i_spmv_level level)
{
    most = level;
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
    const dcsr_i_spmv_level level = of_processor(), limit = most;
    return level < limit ? level : limit;
}

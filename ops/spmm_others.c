/* spmm_others.c: the SpMM kernels of bool, fp32 and fp64. */
#include "ops/spmm_kernel.h"
#define SEMIRING_OTHERS
#define SEMIRING_BODY "ops/spmm_kernels.inc"
#include "ops/semiring_types.inc"

/* spmm_real.c: the SpMM kernels of bool, fp32 and fp64. */
#include "ops/spmm/spmm_kernel.h"
#define SEMIRING_OTHERS
#define SEMIRING_BODY "ops/spmm/spmm_kernels.inc"
#include "ops/algebra/semiring_types.inc"

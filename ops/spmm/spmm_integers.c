/* spmm_integers.c: the SpMM kernels of the integers of 32 and 64 bits. */
#include "ops/spmm/spmm_kernel.h"
#define SEMIRING_SIGNED
#define SEMIRING_UNSIGNED
#define SEMIRING_BODY "ops/spmm/spmm_kernels.inc"
#include "ops/algebra/semiring_types.inc"

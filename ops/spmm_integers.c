/* spmm_integers.c: the SpMM kernels of the integers of 32 and 64 bits. */
#include "ops/spmm_kernel.h"
#define SEMIRING_SIGNED
#define SEMIRING_UNSIGNED
#define SEMIRING_BODY "ops/spmm_kernels.inc"
#include "ops/semiring_types.inc"

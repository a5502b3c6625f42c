/* mxv_others.c: the inner loops of products with a vector on bool, fp32 and fp64. */
#include "ops/mxv_internal.h"

#define SEMIRING_OTHERS
#define SEMIRING_BODY "ops/mxv_kernels.inc"
#include "ops/semiring_types.inc"

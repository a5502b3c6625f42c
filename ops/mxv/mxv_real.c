/* mxv_real.c: the inner loops of products with a vector on bool, fp32 and fp64. */
#include "ops/mxv/mxv_internal.h"

#define SEMIRING_OTHERS
#define SEMIRING_BODY "ops/mxv/mxv_kernels.inc"
#include "ops/algebra/semiring_types.inc"

/* mxv_signed.c: the inner loops of products with a vector on the signed integers. */
#include "ops/mxv/mxv_internal.h"

#define SEMIRING_SIGNED
#define SEMIRING_BODY "ops/mxv/mxv_kernels.inc"
#include "ops/algebra/semiring_types.inc"

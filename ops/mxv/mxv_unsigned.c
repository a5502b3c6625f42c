/* mxv_unsigned.c: the inner loops of products with a vector on the unsigned integers. */
#include "ops/mxv/mxv_internal.h"

#define SEMIRING_UNSIGNED
#define SEMIRING_BODY "ops/mxv/mxv_kernels.inc"
#include "ops/algebra/semiring_types.inc"

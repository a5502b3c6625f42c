/* mxv_kernels.c: the inner loops of products with a vector, on all types. */
#include "ops/mxv/mxv_internal.h"

#define SEMIRING_SIGNED
#define SEMIRING_UNSIGNED
#define SEMIRING_OTHERS
#define SEMIRING_BODY "ops/mxv/mxv_kernels.inc"
#include "ops/algebra/semiring_types.inc"

/* nut_kernels.c: the inner loops over tiles, on all types. */
#include "ops/nut/nut_multiply.h"

#define SEMIRING_SIGNED
#define SEMIRING_UNSIGNED
#define SEMIRING_OTHERS
#define SEMIRING_BODY "ops/nut/nut_kernels.inc"
#include "ops/algebra/semiring_types.inc"

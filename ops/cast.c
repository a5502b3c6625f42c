/* cast.c: values of one type as values of another. */
#include "ops/operator.h"
#include <math.h>
#include <string.h>

/* A floating-point number that an integer type cannot hold becomes the end of the range on its side, NaN
 * becomes 0. The bounds are compared as doubles, in which maximum + 1 is exact: a power of two. The test for
 * what x is does not change what is done to integers, of which none is above the maximum of their own type; C
 * casts them. */
#define IS_FLOATING(x) _Generic((x), float : true, double : true, default : false)
#define TO_INTEGER(x, ctype, minimum, maximum)                 \
    (!IS_FLOATING(x)                        ? (ctype)(x)       \
     : (x) != (x)                           ? (ctype)0         \
     : (double)(x) >= (double)(maximum) + 1 ? (ctype)(maximum) \
     : (double)(x) <= (double)(minimum)     ? (ctype)(minimum) \
                                            : (ctype)(x))

#define T             bool
#define CAST(NAME)    cast_##NAME##_to_BOOL
#define CAST_VALUE(x) ((x) != 0)
#include "ops/cast.inc"

#define T             int8_t
#define CAST(NAME)    cast_##NAME##_to_INT8
#define CAST_VALUE(x) TO_INTEGER(x, T, INT8_MIN, INT8_MAX)
#include "ops/cast.inc"

#define T             int16_t
#define CAST(NAME)    cast_##NAME##_to_INT16
#define CAST_VALUE(x) TO_INTEGER(x, T, INT16_MIN, INT16_MAX)
#include "ops/cast.inc"

#define T             int32_t
#define CAST(NAME)    cast_##NAME##_to_INT32
#define CAST_VALUE(x) TO_INTEGER(x, T, INT32_MIN, INT32_MAX)
#include "ops/cast.inc"

#define T             int64_t
#define CAST(NAME)    cast_##NAME##_to_INT64
#define CAST_VALUE(x) TO_INTEGER(x, T, INT64_MIN, INT64_MAX)
#include "ops/cast.inc"

#define T             uint8_t
#define CAST(NAME)    cast_##NAME##_to_UINT8
#define CAST_VALUE(x) TO_INTEGER(x, T, 0, UINT8_MAX)
#include "ops/cast.inc"

#define T             uint16_t
#define CAST(NAME)    cast_##NAME##_to_UINT16
#define CAST_VALUE(x) TO_INTEGER(x, T, 0, UINT16_MAX)
#include "ops/cast.inc"

#define T             uint32_t
#define CAST(NAME)    cast_##NAME##_to_UINT32
#define CAST_VALUE(x) TO_INTEGER(x, T, 0, UINT32_MAX)
#include "ops/cast.inc"

#define T             uint64_t
#define CAST(NAME)    cast_##NAME##_to_UINT64
#define CAST_VALUE(x) TO_INTEGER(x, T, 0, UINT64_MAX)
#include "ops/cast.inc"

#define T             float
#define CAST(NAME)    cast_##NAME##_to_FP32
#define CAST_VALUE(x) ((T)(x))
#include "ops/cast.inc"

#define T             double
#define CAST(NAME)    cast_##NAME##_to_FP64
#define CAST_VALUE(x) ((T)(x))
#include "ops/cast.inc"

typedef void cast_loop(void *z, const void *x, size_t n);

/* By target, then by source. */
static cast_loop *const loops[DCSR_TYPE_COUNT][DCSR_TYPE_COUNT] = {
    {NULL}, /* a pattern has no values */
#define DCSR_X(NAME, name, ctype, minimum, maximum)                                              \
    {cast_PATTERN_to_##NAME, cast_BOOL_to_##NAME,   cast_INT8_to_##NAME,  cast_INT16_to_##NAME,  \
     cast_INT32_to_##NAME,   cast_INT64_to_##NAME,  cast_UINT8_to_##NAME, cast_UINT16_to_##NAME, \
     cast_UINT32_to_##NAME,  cast_UINT64_to_##NAME, cast_FP32_to_##NAME,  cast_FP64_to_##NAME},
#include "dcsr/types.def"
#undef DCSR_X
};

void dcsr_i_cast(dcsr_type ztype, void *z, dcsr_type xtype, const void *x, size_t n)
{
    if (ztype == DCSR_PATTERN) return;
    if (ztype != xtype)
        loops[ztype][xtype](z, x, n);
    else if (z != x && n)
        memcpy(z, x, n * dcsr_type_size(ztype));
}

#define BROADCAST(ctype)                              \
    do {                                              \
        ctype value = *(const ctype *)x, *to = z;     \
        for (size_t k = 0; k < n; k++) to[k] = value; \
    } while (0)

void dcsr_i_broadcast(dcsr_type type, void *z, const void *x, size_t n)
{
    switch (dcsr_type_size(type)) {
    case 1:
        BROADCAST(uint8_t);
        break;
    case 2:
        BROADCAST(uint16_t);
        break;
    case 4:
        BROADCAST(uint32_t);
        break;
    case 8:
        BROADCAST(uint64_t);
        break;
    default:
        break;
    }
}

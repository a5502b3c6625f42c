/* cast.c: values of one type as values of another. */
#include "ops/algebra/operator.h"
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

#define EACH_SIGNED
#define EACH_UNSIGNED
#define EACH_OTHER
#define EACH_TYPE_BODY "ops/algebra/cast.inc"
#include "ops/algebra/each_type.inc"

typedef void cast_loop(void *z, const void *x, size_t n);

/* By target, then by source. */
static cast_loop *const loops[DCSR_TYPE_COUNT][DCSR_TYPE_COUNT] = {
    {NULL}, /* a pattern has no values */
#define DCSR_X(NAME, name, ctype, minimum, maximum)                                  \
    {cast_PATTERN_##name, cast_BOOL_##name,   cast_INT8_##name,  cast_INT16_##name,  \
     cast_INT32_##name,   cast_INT64_##name,  cast_UINT8_##name, cast_UINT16_##name, \
     cast_UINT32_##name,  cast_UINT64_##name, cast_FP32_##name,  cast_FP64_##name},
#include <dcsr/types.def>
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

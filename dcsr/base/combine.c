/* combine.c: what the policies do to two values of one place, for every type. */
#include "dcsr/base/combine.h"
#include <math.h>

/* Integers wrap around: their sums are taken in uint64_t, where overflow is defined. For bool, sum and max
 * are "or", min is "and". */
#define SUM_OF(NAME, a, b) SUM_##NAME(a, b)
#define WRAP(ctype, a, b)  ((ctype)((uint64_t)(a) + (uint64_t)(b)))
#define SUM_BOOL(a, b)     ((a) || (b))
#define SUM_INT8(a, b)     WRAP(int8_t, a, b)
#define SUM_INT16(a, b)    WRAP(int16_t, a, b)
#define SUM_INT32(a, b)    WRAP(int32_t, a, b)
#define SUM_INT64(a, b)    WRAP(int64_t, a, b)
#define SUM_UINT8(a, b)    WRAP(uint8_t, a, b)
#define SUM_UINT16(a, b)   WRAP(uint16_t, a, b)
#define SUM_UINT32(a, b)   WRAP(uint32_t, a, b)
#define SUM_UINT64(a, b)   WRAP(uint64_t, a, b)
#define SUM_FP32(a, b)     ((a) + (b))
#define SUM_FP64(a, b)     ((a) + (b))

/* Of a number and NaN the number stays, so that it is all the same how several values are grouped. */
#define MIN_OF(a, b) ((b) < (a) || isnan((double)(a)) ? (b) : (a))
#define MAX_OF(a, b) ((b) > (a) || isnan((double)(a)) ? (b) : (a))

#define DCSR_X(NAME, name, ctype, minimum, maximum)        \
    static void sum_##name(void *into, const void *value)  \
    {                                                      \
        ctype *a = into;                                   \
        const ctype *b = value;                            \
        *a = SUM_OF(NAME, *a, *b);                         \
    }                                                      \
    static void min_##name(void *into, const void *value)  \
    {                                                      \
        ctype *a = into;                                   \
        const ctype *b = value;                            \
        *a = MIN_OF(*a, *b);                               \
    }                                                      \
    static void max_##name(void *into, const void *value)  \
    {                                                      \
        ctype *a = into;                                   \
        const ctype *b = value;                            \
        *a = MAX_OF(*a, *b);                               \
    }                                                      \
    static void last_##name(void *into, const void *value) \
    {                                                      \
        *(ctype *)into = *(const ctype *)value;            \
    }
#include <dcsr/types.def>
#undef DCSR_X

static void any(void *into, const void *value)
{
    (void)into, (void)value;
}

dcsr_i_combine dcsr_i_combiner(dcsr_type type, dcsr_policy policy)
{
    static const dcsr_i_combine table[DCSR_TYPE_COUNT][DCSR_POLICY_COUNT] = {
#define DCSR_X(NAME, name, ctype, minimum, maximum)    \
    [DCSR_##NAME] = {[DCSR_POLICY_SUM] = sum_##name,   \
                     [DCSR_POLICY_MIN] = min_##name,   \
                     [DCSR_POLICY_MAX] = max_##name,   \
                     [DCSR_POLICY_LAST] = last_##name, \
                     [DCSR_POLICY_ANY] = any},
#include <dcsr/types.def>
#undef DCSR_X
    };
    return table[type][policy];
}

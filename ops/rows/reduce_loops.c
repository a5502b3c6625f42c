/* reduce_loops.c: the loops for the usual monoids, which add up short rows without a call for each pair. What
 * they do to two values is what operators.def says. */
#include "ops/rows/reduce_block.h"
#include <math.h>

enum { MANY = 64 };

/* Integers are added up in vectors by the compiler. */
#define LANES(ADD)

/* Bool: plus and max are "or", times and min are "and". */
#define ADD_PLUS(x, y)  ((x) | (y))
#define ADD_TIMES(x, y) ((x) & (y))
#define ADD_MIN(x, y)   ((x) & (y))
#define ADD_MAX(x, y)   ((x) | (y))
#define T               bool
#define LOOP(x)         x##_bool
#include "ops/rows/reduce_loops.inc"
#undef ADD_PLUS
#undef ADD_TIMES
#undef ADD_MIN
#undef ADD_MAX

/* Integers wrap around. */
#define ADD_PLUS(x, y)  ((uint64_t)(x) + (uint64_t)(y))
#define ADD_TIMES(x, y) ((uint64_t)(x) * (uint64_t)(y))
#define ADD_MIN(x, y)   ((x) < (y) ? (x) : (y))
#define ADD_MAX(x, y)   ((x) > (y) ? (x) : (y))
#define T               int8_t
#define LOOP(x)         x##_int8
#include "ops/rows/reduce_loops.inc"
#define T       int16_t
#define LOOP(x) x##_int16
#include "ops/rows/reduce_loops.inc"
#define T       int32_t
#define LOOP(x) x##_int32
#include "ops/rows/reduce_loops.inc"
#define T       int64_t
#define LOOP(x) x##_int64
#include "ops/rows/reduce_loops.inc"
#define T       uint8_t
#define LOOP(x) x##_uint8
#include "ops/rows/reduce_loops.inc"
#define T       uint16_t
#define LOOP(x) x##_uint16
#include "ops/rows/reduce_loops.inc"
#define T       uint32_t
#define LOOP(x) x##_uint32
#include "ops/rows/reduce_loops.inc"
#define T       uint64_t
#define LOOP(x) x##_uint64
#include "ops/rows/reduce_loops.inc"
#undef ADD_PLUS
#undef ADD_TIMES
#undef ADD_MIN
#undef ADD_MAX

/* One sum of floating-point numbers waits for each addition. Four need not, and the compiler may not part
 * them; of many values so many that they fill several vector registers. */
#undef LANES
#define LANES(ADD)                                                                 \
    if (n >= 8 * MANY) {                                                           \
        T lane[MANY];                                                              \
        for (int k = 0; k < MANY; k++) lane[k] = v[k];                             \
        for (e = MANY; e + MANY <= n; e += MANY)                                   \
            for (int k = 0; k < MANY; k++) lane[k] = ADD(lane[k], v[e + k]);       \
        for (int half = MANY / 2; half; half /= 2)                                 \
            for (int k = 0; k < half; k++) lane[k] = ADD(lane[k], lane[k + half]); \
        a = lane[0];                                                               \
    } else if (n >= 8) {                                                           \
        T b = v[1], c = v[2], d = v[3];                                            \
        for (e = 4; e + 4 <= n; e += 4) {                                          \
            a = ADD(a, v[e]);                                                      \
            b = ADD(b, v[e + 1]);                                                  \
            c = ADD(c, v[e + 2]);                                                  \
            d = ADD(d, v[e + 3]);                                                  \
        }                                                                          \
        a = ADD(a, b);                                                             \
        c = ADD(c, d);                                                             \
        a = ADD(a, c);                                                             \
    }

/* Of a number and NaN the least and the greatest are the number. */
#define ADD_PLUS(x, y)  ((x) + (y))
#define ADD_TIMES(x, y) ((x) * (y))
#define ADD_MIN(x, y)   ((x) < (y) || isnan(y) ? (x) : (y))
#define ADD_MAX(x, y)   ((x) > (y) || isnan(y) ? (x) : (y))
#define T               float
#define LOOP(x)         x##_fp32
#include "ops/rows/reduce_loops.inc"
#define T       double
#define LOOP(x) x##_fp64
#include "ops/rows/reduce_loops.inc"

const dcsr_i_sum_loops *dcsr_i_sum_loops_of(const dcsr_monoid *monoid)
{
    static const dcsr_i_sum_loops *const tables[DCSR_TYPE_COUNT] = {
#define DCSR_X(NAME, name, ctype, minimum, maximum) [DCSR_##NAME] = loops_##name,
#include <dcsr/types.def>
#undef DCSR_X
    };
    if (dcsr_i_monoid_is_users(monoid) || monoid->name < 0) return NULL;
    const dcsr_i_sum_loops *loops = &tables[dcsr_i_monoid_type(monoid)][monoid->name];
    return loops->row ? loops : NULL;
}

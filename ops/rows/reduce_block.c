/* reduce_block.c: adding up values with a monoid. */
#include "ops/rows/reduce_block.h"
#include <string.h>
#include <math.h>

bool dcsr_i_sum_add(dcsr_i_sum *sum, const dcsr_monoid *monoid, const void *values, size_t n)
{
    size_t size = dcsr_type_size(dcsr_i_monoid_type(monoid)), both = n < sum->used ? n : sum->used;
    if (both && !dcsr_i_apply_binary(monoid->op, sum->lanes, sum->lanes, values, both)) return false;
    if (n > sum->used) {
        memcpy(sum->lanes + both * size, (const char *)values + both * size, (n - both) * size);
        sum->used = n;
    }
    return true;
}

bool dcsr_i_sum_total(dcsr_i_sum *sum, const dcsr_monoid *monoid, void *total)
{
    size_t size = dcsr_type_size(dcsr_i_monoid_type(monoid));
    while (sum->used > 1) {
        /* The upper half onto the lower; in the middle of an odd number one stays. */
        size_t half = sum->used / 2, kept = sum->used - half;
        if (!dcsr_i_apply_binary(monoid->op, sum->lanes, sum->lanes, sum->lanes + kept * size, half))
            return false;
        sum->used = kept;
    }
    memcpy(total, sum->lanes, size);
    sum->used = 0;
    return true;
}

bool dcsr_i_sum_of(const dcsr_monoid *monoid, dcsr_type type, const void *values, uint64_t n, void *total)
{
    enum { FEW_LANES = 64 }; /* for rows: several of them in a vector register each, and soon added up */
    dcsr_type wanted = dcsr_i_monoid_type(monoid);
    size_t size = dcsr_type_size(type), lanes = n > 8 * DCSR_I_LANES ? DCSR_I_LANES : FEW_LANES;
    dcsr_i_sum sum;
    _Alignas(64) char cast[DCSR_I_LANES * sizeof(dcsr_i_scalar)];
    const char *from = values;
    sum.used = 0;
    for (uint64_t done = 0; done < n; done += lanes) {
        size_t count = n - done < lanes ? n - done : lanes;
        if (type != wanted) dcsr_i_cast(wanted, cast, type, from, count);
        if (!dcsr_i_sum_add(&sum, monoid, type != wanted ? cast : from, count)) return false;
        from += size ? count * size : 0;
    }
    return dcsr_i_sum_total(&sum, monoid, total);
}

bool dcsr_i_sum_of_ones(const dcsr_monoid *monoid, uint64_t n, void *total)
{
    size_t size = dcsr_type_size(dcsr_i_monoid_type(monoid));
    dcsr_i_scalar power, sum = {0};
    bool any = false;
    dcsr_i_cast(dcsr_i_monoid_type(monoid), &power, DCSR_PATTERN, NULL, 1);
    for (;;) {
        if (n & 1) {
            if (any && !dcsr_i_apply_binary(monoid->op, &sum, &sum, &power, 1)) return false;
            if (!any) memcpy(&sum, &power, size);
            any = true;
        }
        if (!(n >>= 1)) break;
        if (!dcsr_i_apply_binary(monoid->op, &power, &power, &power, 1)) return false;
    }
    memcpy(total, &sum, size);
    return true;
}

/* ---- Loops ---- */

/* For the usual monoids, which add up short rows without a call for each pair. What they do to two values is what
 * operators.def says. */

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

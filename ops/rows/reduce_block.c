/* reduce_block.c: adding up values with a monoid. */
#include "ops/rows/reduce_block.h"
#include <string.h>

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

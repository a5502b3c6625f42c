/* mxm_kernels.c: the kernels of sparse matrix times sparse matrix, for all types. */
#include "ops/mxm/mxm_row.h"
#include <string.h>

#define SEMIRING_SIGNED
#define SEMIRING_UNSIGNED
#define SEMIRING_OTHERS
#define SEMIRING_BODY "ops/mxm/mxm_kernels.inc"
#include "ops/algebra/semiring_types.inc"

/* Products at once. */
enum { BLOCK = 128 };

/* z[k] = from[at[k] - base], values of `size` bytes; at NULL: from[k]. And the way back. */
static void pick(void *z, const char *from, const uint32_t *at, uint32_t base, size_t size, size_t n)
{
    for (size_t k = 0; k < n; k++) memcpy((char *)z + k * size, from + (at ? at[k] - base : k) * size, size);
}
static void put(char *to, const uint32_t *at, uint32_t base, const void *x, size_t size, size_t n)
{
    for (size_t k = 0; k < n; k++) memcpy(to + (at[k] - base) * size, (const char *)x + k * size, size);
}

/* A run, where products are added to z[index[k] - base]. */
static bool add_run(const dcsr_semiring *semiring, void *z, const void *x, const dcsr_i_mxm_run *run,
                    const uint32_t *index, uint32_t base, const uint32_t *source)
{
    const dcsr_binary_op *multiply = semiring->multiply;
    dcsr_i_scalar a[BLOCK] = {{0}}, b[BLOCK] = {{0}}, product[BLOCK], sum[BLOCK];
    size_t xsize = dcsr_type_size(multiply->xtype), ysize = dcsr_type_size(multiply->ytype),
           zsize = dcsr_type_size(multiply->ztype);
    bool any = semiring->add->terminal_kind == DCSR_I_ANY_TERMINAL;
    const char *values = run->values;
    if (x)
        dcsr_i_broadcast(multiply->xtype, a, (const char *)x + run->entry * xsize,
                         run->n < BLOCK ? run->n : BLOCK);
    for (size_t from = 0; from < run->n; from += BLOCK) {
        size_t m = run->n - from < BLOCK ? run->n - from : BLOCK;
        if (values)
            pick(b, source ? values : values + from * ysize, source ? source + from : NULL, 0, ysize, m);
        if (!dcsr_i_apply_binary(multiply, product, a, b, m)) return false;
        pick(sum, z, index + from, base, zsize, m);
        if (!any && !dcsr_i_apply_binary(semiring->add->op, product, sum, product, m)) return false;
        put(z, index + from, base, product, zsize, m);
    }
    return true;
}

/* The kernel that serves all semirings. */
static bool scatter_blocks(const dcsr_semiring *semiring, void *z, const void *x, const dcsr_i_mxm_run *runs,
                           uint64_t count, const uint32_t *index, uint32_t base, const uint32_t *source)
{
    for (uint64_t i = 0; i < count; i++) {
        if (!add_run(semiring, z, x, &runs[i], index ? index : runs[i].columns, base, source)) return false;
        if (index) index += runs[i].n;
        if (source) source += runs[i].n;
    }
    return true;
}

dcsr_i_mxm_kernel *dcsr_i_mxm_kernel_of(const dcsr_semiring *semiring)
{
    static dcsr_i_mxm_kernel *const *const tables[DCSR_TYPE_COUNT] = {
#define DCSR_X(NAME, name, ctype, minimum, maximum) [DCSR_##NAME] = kernels_##name,
#include <dcsr/types.def>
#undef DCSR_X
    };
    dcsr_i_mxm_kernel *own =
        semiring->name >= 0 ? tables[dcsr_i_monoid_type(semiring->add)][semiring->name] : NULL;
    return own ? own : scatter_blocks;
}

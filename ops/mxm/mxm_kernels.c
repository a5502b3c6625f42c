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

/* The kernel that serves all semirings. */
static bool scatter_blocks(const dcsr_semiring *semiring, void *z, const uint32_t *index, uint32_t base,
                           const void *a, const void *b, const uint32_t *source, size_t n)
{
    const dcsr_binary_op *multiply = semiring->multiply;
    dcsr_i_scalar x[BLOCK] = {{0}}, y[BLOCK] = {{0}}, product[BLOCK], sum[BLOCK];
    size_t ysize = dcsr_type_size(multiply->ytype), zsize = dcsr_type_size(multiply->ztype);
    bool any = semiring->add->terminal_kind == DCSR_I_ANY_TERMINAL;
    if (a) dcsr_i_broadcast(multiply->xtype, x, a, n < BLOCK ? n : BLOCK);
    for (size_t from = 0; from < n; from += BLOCK) {
        size_t m = n - from < BLOCK ? n - from : BLOCK;
        if (b)
            pick(y, source ? b : (const char *)b + from * ysize, source ? source + from : NULL, 0, ysize, m);
        if (!dcsr_i_apply_binary(multiply, product, x, y, m)) return false;
        pick(sum, z, index + from, base, zsize, m);
        if (!any && !dcsr_i_apply_binary(semiring->add->op, product, sum, product, m)) return false;
        put(z, index + from, base, product, zsize, m);
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

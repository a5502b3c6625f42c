/* spmm_kernels.c: the SpMM kernels of all types, finding that of a semiring, and the one that serves them all:
 * operators applied to blocks. */
#include "ops/spmm/spmm_kernel.h"

#define SEMIRING_SIGNED
#define SEMIRING_UNSIGNED
#define SEMIRING_OTHERS
#define SEMIRING_BODY "ops/spmm/spmm_kernels.inc"
#include "ops/algebra/semiring_types.inc"

/* Columns of Y at once. */
enum { BLOCK = 128 };

/* Entries of a row of A. */
typedef struct entries {
    const uint32_t *columns;
    const char *values; /* NULL: not looked at */
    size_t n;
} entries;

/* One block of columns, which begins at y and in X at x. */
static bool add_block(const dcsr_semiring *semiring, char *y, const entries *a, const char *x,
                      uint64_t row_bytes, size_t block, bool fresh)
{
    const dcsr_binary_op *multiply = semiring->multiply, *add = semiring->add->op;
    size_t xsize = dcsr_type_size(multiply->xtype);
    dcsr_i_scalar value[BLOCK], product[BLOCK];
    for (size_t e = 0; e < a->n; e++) {
        const char *row = x + a->columns[e] * row_bytes;
        if (a->values) dcsr_i_broadcast(multiply->xtype, value, a->values + e * xsize, block);
        void *to = fresh && e == 0 ? (void *)y : product;
        if (!dcsr_i_apply_binary(multiply, to, a->values ? (const void *)value : row, row, block))
            return false;
        if (to != y && !dcsr_i_apply_binary(add, y, y, product, block)) return false;
    }
    return true;
}

static bool add_blocks(const dcsr_semiring *semiring, void *y, const uint32_t *columns, const void *values,
                       size_t n, const void *X, uint64_t width, bool fresh)
{
    size_t ysize = dcsr_type_size(semiring->multiply->ztype),
           xsize = dcsr_type_size(semiring->multiply->ytype);
    const entries a = {columns, values, n};
    for (uint64_t c = 0; c < width; c += BLOCK) {
        size_t block = width - c < BLOCK ? (size_t)(width - c) : BLOCK;
        if (!add_block(semiring, (char *)y + c * ysize, &a, (const char *)X + c * xsize, width * xsize, block,
                       fresh))
            return false;
    }
    return true;
}

dcsr_i_spmm_kernel *dcsr_i_spmm_kernel_of(const dcsr_semiring *semiring)
{
    static dcsr_i_spmm_kernel *const *const tables[DCSR_TYPE_COUNT] = {
#define DCSR_X(NAME, name, ctype, minimum, maximum) [DCSR_##NAME] = kernels_##name,
#include <dcsr/types.def>
#undef DCSR_X
    };
    dcsr_i_spmm_kernel *own =
        semiring->name >= 0 ? tables[dcsr_i_monoid_type(semiring->add)][semiring->name] : NULL;
    return own ? own : add_blocks;
}

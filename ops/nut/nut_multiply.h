/* nut_multiply.h: products with vectors by tiles, on the cpu (internal).
 *
 *      t[i] = sum over the entries (i, j, a) of multiply(a, u[j])
 *
 * A thread takes a panel at a time. For each of its tiles it brings the elements of u in active columns together, which
 * then are in cache however long u is, and calls a kernel. Terms are added in a fixed order, that of the tiles and,
 * within one, of the elements of each lane: sums of floating-point numbers depend on the tiles, and on nothing else. */
#ifndef DCSR_NUT_MULTIPLY_H
#define DCSR_NUT_MULTIPLY_H

#include "dcsr/nut/nut_tiles.h"
#include "ops/algebra/operator.h"

/* A tile for a kernel. The elements of u, and whether they are there, are by the tile's numbers of columns; t, and
 * whether it has a sum yet, by the panel's rows. */
typedef struct dcsr_i_nut_work {
    uint64_t elements;
    const int16_t *indices;
    const void *values; /* of the type that multiply takes; not looked at where it does not */
    const void *u;
    const bool *present; /* NULL: every element is there */
    void *t;
    bool *found;
} dcsr_i_nut_work;
typedef void dcsr_i_nut_kernel(const dcsr_i_nut_work *work);

/* By dcsr_semiring_name, for all that operators.def names. */
#define DCSR_X(NAME, name, ctype, minimum, maximum) \
    extern dcsr_i_nut_kernel *const dcsr_i_nut_##name[DCSR_SEMIRING_NAMES];
#include <dcsr/types.def>
#undef DCSR_X

/* What is multiplied. */
typedef struct dcsr_i_nut_product {
    dcsr_context *context;
    const dcsr_nut *nut;
    dcsr_i_nut_kernel *kernel;
    size_t size, usize;     /* of a value of t; of one of u, 0 where multiply does not look at them */
    const void *u;          /* dense */
    const uint64_t *u_bits; /* NULL: every element is there */
    void *t;
    /* Words of bits, all 0, which get those of the sums that there are; the other values of t are not written. NULL:
     * they become 0. */
    uint64_t *found;
    int threads;
} dcsr_i_nut_product;

/* OUT_OF_MEMORY: t is then undefined. */
dcsr_status dcsr_i_nut_multiply(const dcsr_i_nut_product *product);
/* The same over plus-times as dcsr_spmv() has it, of all elements of x, for the matrix's type. */
dcsr_status dcsr_i_nut_spmv(void *y, dcsr_context *context, const dcsr_nut *nut, const void *x, int threads);

#endif

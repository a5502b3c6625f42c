/* spmm_kernel.h: the inner loops of sparse matrix times dense matrix (internal).
 *
 * A kernel adds the products of some entries of a row of A to a row of Y. It goes over the columns in tiles
 * whose sums stay in registers, and for each tile over the entries, each of which reads as much of a row of
 * X. */
#ifndef DCSR_SPMM_KERNEL_H
#define DCSR_SPMM_KERNEL_H

#include "ops/algebra/operator.h"

/* y[c] = y[c] + sum over e < n of values[e] * X[columns[e]][c], for c < width; without y[c] where `fresh`, n
 * being 1 at least then. values are of the multiplication's first type, NULL where it does not look at them.
 * False where a user's function said so. */
typedef bool dcsr_i_spmm_kernel(const dcsr_semiring *semiring, void *y, const uint32_t *columns,
                                const void *values, size_t n, const void *X, uint64_t width, bool fresh);

/* The kernel of a semiring: one of its own, or the one that applies the semiring's operators to blocks. */
dcsr_i_spmm_kernel *dcsr_i_spmm_kernel_of(const dcsr_semiring *semiring);

/* Columns of a tile; where vectors can be written out, of 8 registers. */
enum { SPMM_TILE = 16, SPMM_VECTORS = 8 };
#if defined(__AVX512F__)
enum { SPMM_VECTOR = 64 };
#elif defined(__AVX__)
enum { SPMM_VECTOR = 32 };
#else
enum { SPMM_VECTOR = 16 };
#endif
#define SPMM_UNROLL _Pragma("GCC unroll 8")

#endif

/* spmm.h: sparse matrix times dense matrix, over any semiring.
 *
 *      Y = A X         Y[i][c] = sum over the entries (i, j, a) of A of a * X[j][c]
 *
 *                                columns                        columns
 *                 cols          +-------+                      +-------+
 *             +-----------+     |       |                      |       |
 *        rows |   A  .  . |  *  |   X   | cols        =   rows |   Y   |
 *             +-----------+     |       |                      +-------+
 *                               +-------+
 *
 * X and Y are row-major and without gaps, so the row of X that an entry of A reads is contiguous. */
#ifndef DCSR_SPMM_H
#define DCSR_SPMM_H

#include <dcsr/desc.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Y<mask> = accum(Y, A X), with A^T for A if desc->transpose_a is set.
 *
 * Y has as many rows as A has rows, X as many as A has columns (with transpose_a the other way round); both
 * have `columns` columns. They are arrays of the caller's that do not overlap, in host memory or, in a cuda
 * context, each in either memory; each may be NULL if it has no elements. X is of the type of the
 * multiplication's second operand, Y of that of its result; a matrix of another type is cast. An entry that
 * the view shows more than once counts each time. mask has one element per row of Y, and may be NULL.
 *
 * Y is dense, so missing elements have a value: if a row of A has no entry, that row of Y becomes the
 * identity of the semiring's addition, or with accum stays as it is. A row that the mask leaves out stays as
 * it is; with desc->replace its elements become the identity.
 *
 * desc->mapping asks for a way to share the work among threads, and the report tells which was taken. Any
 * number of threads may use one view. The result is bitwise the same for the same number of threads, and
 * for any number if addition is exact. The values of A are not read if the multiplication ignores them.
 *
 * In a cuda context it runs on the device if that is worthwhile or asked for (desc->device), or if X or Y is
 * in the device's memory. With a user's functions and with DCSR_DEVICE_CPU it runs on the host, and X and Y
 * have to be in host memory.
 *
 * Errors: INVALID_ARGUMENT (NULL; X or Y on a device when the host has to read it), DIMENSION_MISMATCH (the
 * size of the mask is not the number of Y's rows), TOO_LARGE, OUT_OF_MEMORY, CALLBACK, CONTEXT_DESTROYED; Y
 * is then as it was.
 *
 * Cost: O(entries x columns), without the entries of rows that the mask leaves out; with transpose_a also
 * what the transpose costs if the view has none yet. Memory: some rows of Y; a copy of Y if a user's function
 * may fail. After Yang, Buluc, Owens: Design Principles for Sparse Matrix Multiplication on the GPU
 * (2018). */
DCSR_API dcsr_status dcsr_spmm(void *Y, const dcsr_vector *mask, const dcsr_binary_op *accum,
                               const dcsr_semiring *semiring, dcsr_view *A, const void *X, uint64_t columns,
                               const dcsr_desc *desc);

#ifdef __cplusplus
}
#endif
#endif

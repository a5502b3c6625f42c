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
 * X and Y are row-major and without gaps: a row of X, which each entry of A reads, is contiguous. */
#ifndef DCSR_SPMM_H
#define DCSR_SPMM_H

#include <dcsr/desc.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Y<mask> = accum(Y, A X), with A^T for A where desc->transpose_a says so.
 *
 * Y has as many rows as A, X as A has columns (with transpose_a the other way round), both of `columns`
 * columns, in arrays of the caller's that do not overlap, in host memory or, on a cuda context, each in
 * either memory; each may be NULL where it has no elements. X is of the type of the multiplication's second
 * operand, Y of that of its result; a matrix of another type is cast. An entry that stands more than once in
 * the view counts as often as it stands. mask is over the rows of Y, and may be NULL.
 *
 * Y is dense, so there is a value for what is not there: an element whose row of A has no entry is the
 * identity of the semiring's addition. With accum it stays as it is. A row that the mask leaves out stays as
 * it is; with desc->replace its elements become the identity.
 *
 * Any number of threads may use one view. The result is the same bits for the same number of threads, and for
 * any number where addition is exact. A semiring that does not look at the values of A (desc.h) does not read
 * them.
 *
 * On a cuda context it runs on the device where that is worth it or asked for (desc->device), and where X or
 * Y is in the device's memory. Functions of a user's and DCSR_DEVICE_CPU run on the host, and then X and Y
 * have to be in host memory.
 *
 * Errors: INVALID_ARGUMENT (NULL; X or Y on a device where the host has to read it), DIMENSION_MISMATCH (a
 * mask that has not as many elements as Y has rows), TOO_LARGE, OUT_OF_MEMORY, CALLBACK, CONTEXT_DESTROYED; Y
 * is then as it was.
 *
 * Cost: O(entries x columns), the entries of rows that the mask leaves out not counted; transpose_a also what
 * the transpose costs where the view has none yet. Memory: some rows of Y; a copy of Y where a function of a
 * user's may fail. After Yang, Buluc, Owens: Design Principles for Sparse Matrix Multiplication on the GPU
 * (2018). */
DCSR_API dcsr_status dcsr_spmm(void *Y, const dcsr_vector *mask, const dcsr_binary_op *accum,
                               const dcsr_semiring *semiring, dcsr_view *A, const void *X, uint64_t columns,
                               const dcsr_desc *desc);

/* How the work is shared out among threads. */
typedef enum dcsr_spmm_mapping {
    DCSR_SPMM_AUTO = 0,
    DCSR_SPMM_ROW_SPLIT, /* whole rows, in shares of about as many entries */
    DCSR_SPMM_MERGE /* as many entries and rows each: a long row is shared, and its parts are added afterwards
                     */
} dcsr_spmm_mapping;

/* The same with the mapping that *mapping asks for; on success *mapping is the one it was done by. */
DCSR_API dcsr_status dcsr_spmm_by(dcsr_spmm_mapping *mapping, void *Y, const dcsr_vector *mask,
                                  const dcsr_binary_op *accum, const dcsr_semiring *semiring, dcsr_view *A,
                                  const void *X, uint64_t columns, const dcsr_desc *desc);

#ifdef __cplusplus
}
#endif
#endif

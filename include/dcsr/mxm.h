/* mxm.h: products of matrices: sparse times sparse over any semiring, R A P, and the Kronecker product.
 *
 *      C<mask> = accum(C, A B)     (A B)[i][j] = sum of A[i][k] * B[k][j] over all k where both have entries
 */
#ifndef DCSR_MXM_H
#define DCSR_MXM_H

#include <dcsr/desc.h>

#ifdef __cplusplus
extern "C" {
#endif

/* C<mask> = accum(C, A B), with A^T for A if desc->transpose_a, and B^T for B if desc->transpose_b is set.
 *
 * Values of A and B are cast to the types of the multiplication's operands, its result to that of C; a
 * pattern-only C gets the pattern of the product, and no value is computed. Duplicates in a view are combined
 * first, by its matrix's policy (DCSR_POLICY_KEEP: summed). The result has an entry wherever there is a
 * product, even if its value is 0.
 *
 * Order of sums: on the host products are added in the order of the columns of A; the result is the same for
 * any number of threads, as each row is computed by one. On a device the order is not fixed, so sums of
 * floating-point numbers agree only up to rounding, unless desc->deterministic is set.
 *
 * Where it runs: if the matrices are on a device, there, unless the descriptor asks for the host or an
 * operator is a user's; the matrices are then copied to the host.
 *
 * C may be the matrix of A, of B or of the mask. The call returns when the result is published, as one
 * version of C, after the changes queued on C before. Any number of threads may use one view.
 *
 * A mask that is not complemented saves work: products that it excludes are not computed; on a device each
 * product is looked up in it. On the host, where B is given transposed or is a CSC view and the mask has few
 * positions, each is a dot product of a row of A and a column of B.
 *
 * Errors: INVALID_ARGUMENT (NULL, objects of different contexts, same_pattern that does not hold),
 * DIMENSION_MISMATCH (the message names both shapes), OUT_OF_MEMORY, CALLBACK, CONTEXT_DESTROYED, DEVICE; C is
 * then as it was.
 *
 * Cost on the host: O(products + entries of A and of the result), for rows with some hundred products far
 * apart times log(products of the row); and what sorting or transposing an input costs if its view has not
 * been sorted or transposed yet. A row that has the columns of an earlier one but for a shift, as inside a
 * grid, costs its products alone. Memory: the result, with room for some 2^18 products or those of a row; and
 * for each thread one value for each column between the first and the last of a row, or 20 bytes for each of
 * its products if that is less. desc->memory_limit bounds what a thread has, to an equal part of it: a row
 * that wants more is refused, and C stays as it was. Rows are computed after Gustavson (1978): each is a sum
 * of rows of B.
 *
 * With desc->same_pattern the columns of the result are those of C, which each row is compared with: that
 * saves finding them where a row is computed by marking its columns (R-MAT graphs, say).
 *
 * Cost on a device: O(products); under a mask that is not complemented, where it is sparse and the transpose of B is
 * asked for or at hand, for each of its places O(entries of the shorter of two rows), times log of the longer one's.
 * Memory: the result and some 40 bytes a row; under a mask, 12 bytes and a value for each place;
 * with an accumulator or a complemented mask, lists of 8 bytes and a value per entry, a few times what C holds and what
 * it gets. Products that are computed in more than one type (comparisons), or of matrices that keep duplicates, are
 * expanded, sorted and summed, in portions of rows with some 2^26 products: up to 40 bytes for each of a portion's.
 * Where most rows are shifts of a few, as of stencils, some 50 bytes a row. same_pattern changes nothing there: rows
 * are computed in one pass, and none finds columns alone. */
DCSR_API dcsr_status dcsr_mxm(dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum,
                              const dcsr_semiring *semiring, dcsr_view *A, dcsr_view *B,
                              const dcsr_desc *desc);

/* C = R A P over plus-times of C's type, the product that makes the next level in multigrid; for a
 * pattern-only C the pattern alone.
 *
 * The result is that of two calls of dcsr_mxm(), A P and then R (A P), whose rules, errors and costs are this
 * one's; on the host bit for bit. A P is a matrix of its own meanwhile, of C's type. Of the descriptor,
 * memory_limit, same_pattern (of C), deterministic, device and report count; transposes, mask_complement and
 * replace are refused (INVALID_ARGUMENT), as is a bool C, on which there is no plus-times. C may be the matrix
 * of R, A or P. */
DCSR_API dcsr_status dcsr_rap(dcsr_matrix *C, dcsr_view *R, dcsr_view *A, dcsr_view *P,
                              const dcsr_desc *desc);

/* C<mask> = accum(C, T), T[i m + k, j n + l] = op(A[i,j], B[k,l]), where B is m x n: the Kronecker product.
 *
 * C is (rows of A) m x (columns of A) n. dcsr/desc.h says what mask and accum do; desc->transpose_a and
 * transpose_b take transposes. If C is pattern-only the operator is not applied.
 *
 * Errors and threads as in dcsr/apply.h; TOO_LARGE if the product has more rows or columns than a matrix can
 * have. Cost: O(nnz(A) nnz(B)). */
DCSR_API dcsr_status dcsr_kronecker(dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum,
                                    const dcsr_binary_op *op, dcsr_view *A, dcsr_view *B,
                                    const dcsr_desc *desc);

#ifdef __cplusplus
}
#endif
#endif

/* mxv.h: products of a matrix and a vector over any semiring.
 *
 *      mxv     w<mask> = accum(w, A u)         T[i] = sum over j of multiply(A[i,j], u[j])
 *      vxm     w<mask> = accum(w, u A)         T[j] = sum over i of multiply(u[i], A[i,j])
 *
 * The sum is taken with the semiring's monoid, over those j for which both A[i,j] and u[j] are there; T has
 * no element where there are none. An entry that stands more than once in the view (DCSR_VIEW_DUPLICATES,
 * DCSR_POLICY_KEEP) counts as often. Mask, accum and the description: dcsr/desc.h. `transpose_a` of mxv and
 * `transpose_b` of vxm are about A.
 *
 * There are two ways, and by default (DCSR_DIRECTION_AUTO) the one is taken that costs less by an estimate:
 *
 *      pull    for each element of w that the mask allows, its row of A
 *      push    for each element of u, its column of A
 *
 * A pull leaves a row as soon as the sum cannot change any more: of any at the first term, on bool at the
 * first that settles it.
 *
 * mxv pulls rows of A and pushes columns, vxm the other way round; columns are those of A's transpose, which
 * the view makes when they are asked for first (dcsr/view.h) or the matrix maintains. AUTO never has it made:
 * it considers the way that needs it only once it is there. DCSR_DIRECTION_PUSH and _PULL in the description
 * force a way and make the transpose if need be.
 *
 * On a cuda context a product over built-in operators runs on the device where that is worth it or asked for
 * (dcsr_desc.device), in either way; the transpose is made there too, and kept with the view. Sums of
 * floating-point numbers that are pushed on a device depend on the order in which terms arrive.
 *
 * The values of A, or of u, are not looked at where the operator does not (pair, first, second). */
#ifndef DCSR_MXV_H
#define DCSR_MXV_H

#include <dcsr/desc.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Shapes: w is of A's rows, u of its columns; vxm the other way round; both exchanged once more with the
 * transpose. w may be u or the mask. mask, accum and desc may be NULL.
 *
 * Errors: INVALID_ARGUMENT (NULL for w, semiring, A or u; objects of several contexts), DIMENSION_MISMATCH,
 * CALLBACK, OUT_OF_MEMORY, CONTEXT_DESTROYED; w is then as it was. Threads: any number may use one view, and
 * one vector as input. Sums of floating-point numbers depend on the way, on the order of a row's entries and,
 * in a push, on the number of threads; and on nothing else.
 *
 * Cost: pull O(size of w / 64 + entries of the rows that are looked at), and of a sparse mask its elements in
 * the place of size / 64; where w is far longer than A has entries, or a sparse u than these and its own,
 * only what is in use is looked at, O(entries of A log(elements of u)); push O(entries in the columns of u's
 * elements), a size / 4096 besides where that is more than a few. Memory in proportion, at most one value a
 * thread for each element of w. */
DCSR_API dcsr_status dcsr_mxv(dcsr_vector *w, const dcsr_vector *mask, const dcsr_binary_op *accum,
                              const dcsr_semiring *semiring, dcsr_view *A, const dcsr_vector *u,
                              const dcsr_desc *desc);
DCSR_API dcsr_status dcsr_vxm(dcsr_vector *w, const dcsr_vector *mask, const dcsr_binary_op *accum,
                              const dcsr_semiring *semiring, const dcsr_vector *u, dcsr_view *A,
                              const dcsr_desc *desc);

#ifdef __cplusplus
}
#endif
#endif

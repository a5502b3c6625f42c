/* mxv.h: products of a matrix and a vector over any semiring.
 *
 *      mxv     w<mask> = accum(w, A u)         T[i] = sum over j of multiply(A[i,j], u[j])
 *      vxm     w<mask> = accum(w, u A)         T[j] = sum over i of multiply(u[i], A[i,j])
 *
 * The sum is taken with the semiring's monoid, over those j for which both A[i,j] and u[j] are present; if
 * there are none, T has no element. An entry that the view shows more than once (DCSR_VIEW_DUPLICATES,
 * DCSR_POLICY_KEEP) counts each time. For mask, accum and the descriptor see dcsr/desc.h; `transpose_a` of
 * mxv and `transpose_b` of vxm refer to A.
 *
 * There are three directions; by default (DCSR_DIRECTION_AUTO) the one that is estimated to cost least is
 * chosen:
 *
 *      pull    for each element of w that the mask allows, its row of A
 *      push    for each element of u, its column of A
 *      tiles   every row of A, by the tiles of a view of DCSR_LAYOUT_NUT (dcsr/nut.h)
 *
 * A pull leaves a row as soon as the sum can no longer change: with the monoid `any` at the first term, on
 * bool at the first term that decides it.
 *
 * mxv pulls rows of A and pushes columns, vxm the other way round; columns are rows of A's transpose, which
 * the view makes when it is first needed (dcsr/view.h) or the matrix maintains. AUTO never has it made: it
 * considers the direction that needs the transpose only if that exists. DCSR_DIRECTION_PUSH and _PULL in the
 * descriptor force a direction, and have the transpose made if necessary.
 *
 * Where the features of what the view shows are known (dcsr_view_get_features(), also by a plan or another view of the
 * version), and push and pull are estimated to be near each other, the model of this machine has a say, too; so the
 * direction may depend on whether features have been asked for. In a cuda context the model of the device decides, by
 * the sizes of matrix, vector and mask, among the directions for which rows or tiles are there.
 *
 * Tiles serve products over a built-in semiring that works on the matrix's type, or does not look at its values; in
 * vxm its multiplication must commute. They are read as a whole, so they are for vectors that are (nearly) full and
 * larger than the cache. Those of the transpose (vxm, and mxv with the transpose) are made, with the transpose, when
 * they are first asked for, and considered from then on; the view keeps them. Where tiles were asked for and
 * do not serve:
 * INVALID_ARGUMENT. Sums of floating-point numbers by tiles depend on the tiles alone, not on threads, on either
 * device.
 *
 * In a cuda context a product over built-in operators runs on the device if that is worthwhile or asked for
 * (dcsr_desc.device), in either direction; the transpose is made there too, and kept with the view. In a push
 * on a device, sums of floating-point numbers depend on the order in which terms arrive.
 *
 * The values of A, or of u, are not read if the operator ignores them (pair, first, second). */
#ifndef DCSR_MXV_H
#define DCSR_MXV_H

#include <dcsr/desc.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Shapes: w has as many elements as A has rows, u as many as A has columns; in vxm the other way round; with
 * the transpose both are exchanged again. w may be u or the mask. mask, accum and desc may be NULL.
 *
 * Errors: INVALID_ARGUMENT (NULL for w, semiring, A or u; objects of several contexts), DIMENSION_MISMATCH,
 * CALLBACK, OUT_OF_MEMORY, CONTEXT_DESTROYED; w is then as it was. Threads: any number may use one view, and
 * one vector as input. Sums of floating-point numbers depend only on the direction, on the order of a row's
 * entries and, in a push, on the number of threads.
 *
 * Cost: pull, O(size of w / 64 + entries of the rows that are read), with a sparse mask its elements in place
 * of size / 64; if w is far longer than A has entries, or a sparse u far longer than A and u have entries,
 * only rows and columns in use are read, O(entries of A log(elements of u)). Push, O(entries in the columns
 * of u's elements), and size / 4096 if that is more than a few. Memory: in proportion, at most one value per
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

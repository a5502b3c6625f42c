/* vector_ops.h: operations on vectors.
 *
 * All but the reduction compute a vector T, of the operator's result type, and write it into w as dcsr/desc.h
 * says: w<mask> = accum(w, T). Below, T's element i is given; where nothing is said T has none.
 *
 *      dcsr_vector_ewise_add        op(u[i], v[i]) where both have one, else the one of u or v
 *      dcsr_vector_ewise_mult       op(u[i], v[i]) where both have one
 *      dcsr_vector_apply            op(u[i])
 *      dcsr_vector_apply_first      op(x, u[i])
 *      dcsr_vector_apply_second     op(u[i], y)
 *      dcsr_vector_apply_index      op(u[i], i, 0, thunk)
 *      dcsr_vector_select           u[i] where op(u[i], i, 0, thunk) is true
 *      dcsr_vector_extract          u[indices[i]]
 *      dcsr_vector_assign           u[k] where indices[k] is i;  w keeps what `indices` does not name
 *      dcsr_vector_assign_scalar    value where indices[k] is i; likewise
 *      dcsr_vector_reduce           the monoid's sum of all u[i]
 *
 * mask, accum and desc may be NULL; so may `indices`, which then stands for all, 0 1 2 ... Inputs may be the
 * output, and the mask. Vectors of one call are of one context.
 *
 * Errors of all: INVALID_ARGUMENT (NULL, also an operator that does not exist; objects of several contexts),
 * DIMENSION_MISMATCH, INDEX_OUT_OF_RANGE (the first offender is named), CALLBACK, OUT_OF_MEMORY,
 * CONTEXT_DESTROYED. The output is then as it was.
 *
 * Threads: an output is used by nobody else during the call; inputs may be inputs of other calls.
 *
 * Cost: of dense vectors one pass over them, by several threads where they are long. Of sparse ones their
 * entries: adding two is a merge, multiplying goes through the shorter. A sparse mask that is not
 * complemented bounds the work by its entries; then, and where nothing is to be deleted from it (accum
 * without replace), a dense output is changed in place and not gone through. */
#ifndef DCSR_VECTOR_OPS_H
#define DCSR_VECTOR_OPS_H

#include <dcsr/desc.h>

#ifdef __cplusplus
extern "C" {
#endif

/* u, v and w are of one size. Where only one has an element it is cast to the type of op's result. */
DCSR_API dcsr_status dcsr_vector_ewise_add(dcsr_vector *w, const dcsr_vector *mask,
                                           const dcsr_binary_op *accum, const dcsr_binary_op *op,
                                           const dcsr_vector *u, const dcsr_vector *v, const dcsr_desc *desc);
DCSR_API dcsr_status dcsr_vector_ewise_mult(dcsr_vector *w, const dcsr_vector *mask,
                                            const dcsr_binary_op *accum, const dcsr_binary_op *op,
                                            const dcsr_vector *u, const dcsr_vector *v,
                                            const dcsr_desc *desc);

/* u and w are of one size. */
DCSR_API dcsr_status dcsr_vector_apply(dcsr_vector *w, const dcsr_vector *mask, const dcsr_binary_op *accum,
                                       const dcsr_unary_op *op, const dcsr_vector *u, const dcsr_desc *desc);
/* x points to a value of op's first operand type, y to one of its second. */
DCSR_API dcsr_status dcsr_vector_apply_first(dcsr_vector *w, const dcsr_vector *mask,
                                             const dcsr_binary_op *accum, const dcsr_binary_op *op,
                                             const void *x, const dcsr_vector *u, const dcsr_desc *desc);
DCSR_API dcsr_status dcsr_vector_apply_second(dcsr_vector *w, const dcsr_vector *mask,
                                              const dcsr_binary_op *accum, const dcsr_binary_op *op,
                                              const dcsr_vector *u, const void *y, const dcsr_desc *desc);
/* thunk points to a value of op's thunk type: int64_t for operators on indices, else the type of the values.
 */
DCSR_API dcsr_status dcsr_vector_apply_index(dcsr_vector *w, const dcsr_vector *mask,
                                             const dcsr_binary_op *accum, const dcsr_index_op *op,
                                             const dcsr_vector *u, const void *thunk, const dcsr_desc *desc);
/* What op gives is cast to bool. */
DCSR_API dcsr_status dcsr_vector_select(dcsr_vector *w, const dcsr_vector *mask, const dcsr_binary_op *accum,
                                        const dcsr_index_op *op, const dcsr_vector *u, const void *thunk,
                                        const dcsr_desc *desc);

/* w has n elements (of u's size for NULL), as has the mask. An index may be given several times. */
DCSR_API dcsr_status dcsr_vector_extract(dcsr_vector *w, const dcsr_vector *mask, const dcsr_binary_op *accum,
                                         const dcsr_vector *u, const uint64_t *indices, uint64_t n,
                                         const dcsr_desc *desc);

/* u has n elements (of w's size for NULL). An element that u lacks is taken out of w, unless there is an
 * accum. The mask is for all of w, and so is replace: elements that `indices` does not name go where the mask
 * is false. Of an index that is given several times the last element that u has counts. */
DCSR_API dcsr_status dcsr_vector_assign(dcsr_vector *w, const dcsr_vector *mask, const dcsr_binary_op *accum,
                                        const dcsr_vector *u, const uint64_t *indices, uint64_t n,
                                        const dcsr_desc *desc);
/* value points to one value of that type. */
DCSR_API dcsr_status dcsr_vector_assign_scalar(dcsr_vector *w, const dcsr_vector *mask,
                                               const dcsr_binary_op *accum, const void *value, dcsr_type type,
                                               const uint64_t *indices, uint64_t n, const dcsr_desc *desc);

/* *total = accum(*total, sum): total is of the monoid's type, and is overwritten where accum is NULL. The
 * sum of no elements is the monoid's identity. It is taken in an order that depends on the number of threads
 * alone, and stops at the monoid's terminal value. */
DCSR_API dcsr_status dcsr_vector_reduce(void *total, const dcsr_binary_op *accum, const dcsr_monoid *monoid,
                                        const dcsr_vector *u);

#ifdef __cplusplus
}
#endif
#endif

/* vector_ops.h: operations on vectors.
 *
 * All but the reduction, and the two at the end, compute a vector T, of the operator's result type, and write it into
 * w as dcsr/desc.h describes: w<mask> = accum(w, T). The table gives T's element i; otherwise T has no element there.
 *
 *      dcsr_vector_ewise_add        op(u[i], v[i]) where both have one, else u[i] or v[i]
 *      dcsr_vector_ewise_mult       op(u[i], v[i]) where both have one
 *      dcsr_vector_apply            op(u[i])
 *      dcsr_vector_apply_first      op(x, u[i])
 *      dcsr_vector_apply_second     op(u[i], y)
 *      dcsr_vector_apply_index      op(u[i], i, 0, thunk)
 *      dcsr_vector_select           u[i] where op(u[i], i, 0, thunk) is true
 *      dcsr_vector_extract          u[list.indices[i]]
 *      dcsr_vector_assign           u[k] where list.indices[k] is i;  w keeps the elements not in the list
 *      dcsr_vector_assign_scalar    value where list.indices[k] is i; likewise
 *      dcsr_vector_reduce           the monoid's sum of all u[i]
 *
 * mask, accum and desc may be NULL; so may the list, which then stands for all of 0, 1, 2, ... An input may
 * also be the output or the mask. All vectors of a call must be of one context.
 *
 * Errors of all: INVALID_ARGUMENT (NULL, such as an operator that does not exist; objects of several
 * contexts), DIMENSION_MISMATCH, INDEX_OUT_OF_RANGE (the first offender is named), CALLBACK, OUT_OF_MEMORY,
 * CONTEXT_DESTROYED. The output is then as it was.
 *
 * Threads: no other call may use the output at the same time; inputs may be inputs of other calls.
 *
 * Cost: for dense vectors one pass over them, by several threads if they are long. For sparse ones O(their
 * entries): adding two is a merge, multiplying goes through the shorter. A sparse mask that is not
 * complemented bounds the work by its entries; then, and if nothing is to be deleted from it (accum without
 * replace), a dense output is changed in place without a pass over it. */
#ifndef DCSR_VECTOR_OPS_H
#define DCSR_VECTOR_OPS_H

#include <dcsr/desc.h>

#ifdef __cplusplus
extern "C" {
#endif

/* u, v and w have the same size. Where only one of u and v has an element, it is cast to the type of op's
 * result. */
DCSR_API dcsr_status dcsr_vector_ewise_add(dcsr_vector *w, const dcsr_vector *mask,
                                           const dcsr_binary_op *accum, const dcsr_binary_op *op,
                                           const dcsr_vector *u, const dcsr_vector *v, const dcsr_desc *desc);
DCSR_API dcsr_status dcsr_vector_ewise_mult(dcsr_vector *w, const dcsr_vector *mask,
                                            const dcsr_binary_op *accum, const dcsr_binary_op *op,
                                            const dcsr_vector *u, const dcsr_vector *v,
                                            const dcsr_desc *desc);

/* u and w have the same size. */
DCSR_API dcsr_status dcsr_vector_apply(dcsr_vector *w, const dcsr_vector *mask, const dcsr_binary_op *accum,
                                       const dcsr_unary_op *op, const dcsr_vector *u, const dcsr_desc *desc);
/* x points to a value of op's first operand type, y to one of its second. */
DCSR_API dcsr_status dcsr_vector_apply_first(dcsr_vector *w, const dcsr_vector *mask,
                                             const dcsr_binary_op *accum, const dcsr_binary_op *op,
                                             const void *x, const dcsr_vector *u, const dcsr_desc *desc);
DCSR_API dcsr_status dcsr_vector_apply_second(dcsr_vector *w, const dcsr_vector *mask,
                                              const dcsr_binary_op *accum, const dcsr_binary_op *op,
                                              const dcsr_vector *u, const void *y, const dcsr_desc *desc);
/* thunk points to a value of op's thunk type: int64_t for operators on indices, else the type of the
 * values. */
DCSR_API dcsr_status dcsr_vector_apply_index(dcsr_vector *w, const dcsr_vector *mask,
                                             const dcsr_binary_op *accum, const dcsr_index_op *op,
                                             const dcsr_vector *u, const void *thunk, const dcsr_desc *desc);
/* op's result is cast to bool. */
DCSR_API dcsr_status dcsr_vector_select(dcsr_vector *w, const dcsr_vector *mask, const dcsr_binary_op *accum,
                                        const dcsr_index_op *op, const dcsr_vector *u, const void *thunk,
                                        const dcsr_desc *desc);

/* w and the mask are of size list.n (for NULL, of u's size). An index may be given several times. */
DCSR_API dcsr_status dcsr_vector_extract(dcsr_vector *w, const dcsr_vector *mask, const dcsr_binary_op *accum,
                                         const dcsr_vector *u, const dcsr_index_list *list,
                                         const dcsr_desc *desc);

/* u is of size list.n (for NULL, of w's size). An element that u lacks is removed from w, unless there is an
 * accum. The mask is for all of w, and so is replace: even elements not in the list are removed where the
 * mask is false. If an index is given several times, the last element that u has for it counts. */
DCSR_API dcsr_status dcsr_vector_assign(dcsr_vector *w, const dcsr_vector *mask, const dcsr_binary_op *accum,
                                        const dcsr_vector *u, const dcsr_index_list *list,
                                        const dcsr_desc *desc);
/* value points to one value of the given type. */
DCSR_API dcsr_status dcsr_vector_assign_scalar(dcsr_vector *w, const dcsr_vector *mask,
                                               const dcsr_binary_op *accum, const void *value, dcsr_type type,
                                               const dcsr_index_list *list, const dcsr_desc *desc);

/* *total = accum(*total, sum): total is of the monoid's type, and is overwritten if accum is NULL. The sum of
 * no elements is the monoid's identity. The order of additions depends on the number of threads alone, and
 * ends at the monoid's terminal value. */
DCSR_API dcsr_status dcsr_vector_reduce(void *total, const dcsr_binary_op *accum, const dcsr_monoid *monoid,
                                        const dcsr_vector *u);

/* ---- Sums of products, and combinations in place ----
 *
 * What solvers do with vectors of which every element is there, of fp64 or fp32, both of one type: no operators, masks
 * or temporary vectors. Sums are in double. Errors: INVALID_ARGUMENT (NULL, an element is missing, several contexts),
 * DIMENSION_MISMATCH, TYPE_MISMATCH, OUT_OF_MEMORY and DEVICE on a GPU, CONTEXT_DESTROYED; *dot, *square and, but for
 * DEVICE, w are then as they were. Cost: one pass, without memory on the cpu, on a GPU with some for partial sums. On
 * the cpu a result depends on the elements alone, not on the number of threads. */

/* *dot = the sum of u[i] v[i]; u may be v. */
DCSR_API dcsr_status dcsr_vector_dot(double *dot, const dcsr_vector *u, const dcsr_vector *v);
/* w = a u + b w, and *square, unless NULL, the sum of the new w[i]^2. Where b is 0, what w has had does not matter. u
 * may be w. */
DCSR_API dcsr_status dcsr_vector_axpby(dcsr_vector *w, double a, const dcsr_vector *u, double b,
                                       double *square);

#ifdef __cplusplus
}
#endif
#endif

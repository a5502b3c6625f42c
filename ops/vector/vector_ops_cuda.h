/* vector_ops_cuda.h: operations on vectors, on a device (internal). */
#ifndef DCSR_VECTOR_OPS_CUDA_H
#define DCSR_VECTOR_OPS_CUDA_H

#include "dcsr/base/cuda.h"
#include <dcsr/desc.h>
#include "ops/algebra/operator.h"

typedef struct dcsr_i_vector_output dcsr_i_vector_output; /* write_vector.h */

/* What vector_ops.h says, for arguments that have been checked, and operators that are built in. */
typedef struct dcsr_i_vector_ops {
    /* ewise_add where `either`, else ewise_mult. */
    dcsr_status (*ewise)(const dcsr_i_vector_output *out, const dcsr_binary_op *op, const dcsr_vector *u,
                         const dcsr_vector *v, bool either);
    dcsr_status (*apply)(const dcsr_i_vector_output *out, const dcsr_unary_op *op, const dcsr_vector *u);
    /* The scalar is the operator's first operand, or its second. */
    dcsr_status (*bound)(const dcsr_i_vector_output *out, const dcsr_binary_op *op, const void *scalar,
                         const dcsr_vector *u, bool first);
    /* select, or apply_index. */
    dcsr_status (*index)(const dcsr_i_vector_output *out, const dcsr_index_op *op, const dcsr_vector *u,
                         const void *thunk, bool select);
    dcsr_status (*extract)(const dcsr_i_vector_output *out, const dcsr_vector *u, const uint64_t *indices,
                           uint64_t n);
    /* indices are fewer than UINT32_MAX. */
    dcsr_status (*assign)(const dcsr_i_vector_output *out, const dcsr_vector *u, const uint64_t *indices,
                          uint64_t n);
    dcsr_status (*assign_scalar)(const dcsr_i_vector_output *out, const void *value, dcsr_type type,
                                 const uint64_t *indices, uint64_t n);
    /* The sum of u's elements, of which there is one at least. */
    dcsr_status (*sum)(dcsr_i_scalar *sum, const dcsr_monoid *monoid, const dcsr_vector *u);
} dcsr_i_vector_ops;

/* vector_ops_cuda.c, in builds with CUDA. */
extern const dcsr_i_vector_ops dcsr_i_cuda_vector_ops;
/* The same, or NULL in other builds, where nothing is dispatched to a device. */
static const dcsr_i_vector_ops *const dcsr_i_device_vector_ops = DCSR_I_IN_CUDA(dcsr_i_cuda_vector_ops);

#endif

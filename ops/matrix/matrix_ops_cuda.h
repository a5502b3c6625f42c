/* matrix_ops_cuda.h: operations whose result is a matrix, on a device (internal): what apply.h, select.h,
 * ewise.h, transpose.h, extract.h, assign.h, mxm.h and matrix_add.h say, for arguments that have been checked
 * and operators that are built in.
 *
 * Errors: those of dcsr_i_cuda_matrix_run(). */
#ifndef DCSR_MATRIX_OPS_CUDA_H
#define DCSR_MATRIX_OPS_CUDA_H

#include "ops/matrix/index_list.h"
#include "ops/matrix/write_matrix_cuda.h"

/* Operators on entries, of one matrix or two: matrix_ops_cuda.c. */
typedef struct dcsr_i_matrix_ops {
    dcsr_status (*apply)(const dcsr_i_matrix_output *out, const dcsr_unary_op *op, dcsr_view *A);
    /* The scalar is the operator's first operand, or its second. */
    dcsr_status (*bound)(const dcsr_i_matrix_output *out, const dcsr_binary_op *op, const void *scalar,
                         dcsr_view *A, bool first);
    /* select, or apply_index. */
    dcsr_status (*index)(const dcsr_i_matrix_output *out, const dcsr_index_op *op, const void *thunk,
                         dcsr_view *A, bool select);
    /* The transpose where `transposed`, else A itself. */
    dcsr_status (*copy)(const dcsr_i_matrix_output *out, dcsr_view *A, bool transposed);
    /* The product is no larger than a matrix can be. */
    dcsr_status (*kronecker)(const dcsr_i_matrix_output *out, const dcsr_binary_op *op, dcsr_view *A,
                             dcsr_view *B);
    /* Not for a durable matrix, whose log is written from the memory of the host. */
    dcsr_status (*add)(dcsr_matrix *C, dcsr_view *B, dcsr_ticket **ticket);
    /* dcsr_matrix_ewise_add() and dcsr_matrix_ewise_mult() with a built-in operator: both read views become
 * lists, of which T is the union or the intersection. Arguments have been checked, but for the shapes. */
    dcsr_status (*ewise)(const dcsr_i_matrix_output *out, bool add, const dcsr_binary_op *op, dcsr_view *A,
                         dcsr_view *B);
} dcsr_i_matrix_ops;

/* Entries to other places: matrix_move_cuda.c. */
typedef struct dcsr_i_matrix_moves {
    /* The lists are of the rows and columns of A, or of its transpose where the description says so; of C's. */
    dcsr_status (*extract)(const dcsr_i_matrix_output *out, dcsr_view *A, const dcsr_i_selected *rows,
                           const dcsr_i_selected *cols);
    dcsr_status (*assign)(const dcsr_i_matrix_output *out, dcsr_view *A, const dcsr_i_selected *rows,
                          const dcsr_i_selected *cols);
    dcsr_status (*assign_scalar)(const dcsr_i_matrix_output *out, const void *value, dcsr_type type,
                                 const dcsr_i_selected *rows, const dcsr_i_selected *cols);
    /* assign_row, or assign_column where `column`; the mask is a vector, and the line is the output's region. */
    dcsr_status (*assign_line)(const dcsr_i_matrix_output *out, const dcsr_vector *mask, const dcsr_vector *u,
                               uint64_t line, bool column);
} dcsr_i_matrix_moves;

extern const dcsr_i_matrix_ops dcsr_i_cuda_matrix_ops;
extern const dcsr_i_matrix_moves dcsr_i_cuda_matrix_moves;
/* The same, or NULL in builds without CUDA. */
static const dcsr_i_matrix_ops *const dcsr_i_device_matrix_ops = DCSR_I_IN_CUDA(dcsr_i_cuda_matrix_ops);
static const dcsr_i_matrix_moves *const dcsr_i_device_matrix_moves = DCSR_I_IN_CUDA(dcsr_i_cuda_matrix_moves);

/* C = A^T, right where it stays, if it can be so: *taken (transpose_cuda.c). Not with mask or accumulator, casts, or
 * where entries are to be combined; nor where the view has the transpose, which is copied then. */
dcsr_status dcsr_i_cuda_transpose_into(bool *taken, const dcsr_i_matrix_output *out, dcsr_view *A);

#endif

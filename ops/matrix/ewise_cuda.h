/* ewise_cuda.h: sums and products of two matrices, entry by entry, on a device (internal). */
#ifndef DCSR_EWISE_CUDA_H
#define DCSR_EWISE_CUDA_H

#include "ops/matrix/write_matrix_cuda.h"

/* dcsr_matrix_ewise_add() and dcsr_matrix_ewise_mult() with a built-in operator: both read views become
 * lists, of which T is the union or the intersection. Arguments have been checked, but for the shapes. */
dcsr_status dcsr_i_cuda_matrix_ewise(const dcsr_i_cuda_matrix_output *out, bool add, const dcsr_binary_op *op,
                                     dcsr_view *A, dcsr_view *B);

#endif

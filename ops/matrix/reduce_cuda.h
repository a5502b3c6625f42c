/* reduce_cuda.h: the entries of a matrix added up and counted on a device (internal; for C and for kernels). What
 * reduce.h says, for arguments that have been checked and operators that are built in. */
#ifndef DCSR_REDUCE_CUDA_H
#define DCSR_REDUCE_CUDA_H

#include <dcsr/vector.h>
#include "ops/matrix/coo_cuda.h"

typedef struct dcsr_i_vector_output dcsr_i_vector_output; /* write_vector.h */

#ifdef __cplusplus
extern "C" {
#endif

/* ---- reduce_cuda.c ---- */

typedef struct dcsr_i_matrix_sums {
    /* The sum of all entries; the identity if there are none. */
    dcsr_status (*all)(dcsr_i_scalar *sum, const dcsr_monoid *monoid, dcsr_view *A);
    /* The sums of the rows, or, with desc->transpose_a, of the columns. */
    dcsr_status (*rows)(const dcsr_i_vector_output *out, const dcsr_monoid *monoid, dcsr_view *A);
    /* dcsr_view_count(), for a vector that lacks some element. */
    dcsr_status (*count)(uint64_t *entries, dcsr_view *A, const dcsr_vector *rows);
} dcsr_i_matrix_sums;
extern const dcsr_i_matrix_sums dcsr_i_cuda_matrix_sums;

/* ---- coo_add_up.cu ---- */

/* Makes one row of the list, which has the sum of each row, or of each column: by a built-in monoid on the
 * list's type, as dcsr_i_cuda_coo_add_up() does. */
dcsr_status dcsr_i_cuda_coo_add_lines(dcsr_i_cuda_coo *list, dcsr_i_cuda_stream *stream, bool columns,
                                      int name);

#ifdef __cplusplus
}
#endif
#endif

/* write_matrix_cuda.h: writing what an operation computed into a matrix, on a device (internal).
 *
 *      C<mask> = accum(C, T)
 *
 * is done here for all operations on the device whose result is a matrix, as write_matrix.h does on the host.
 * T is computed before C's turn in its queue, since what is read are views; in the turn it is brought
 * together with what C holds then, and becomes C's content as one version. Where few rows of C can change
 * (dcsr_i_change), these alone are read and written, and the others stay where they are. */
#ifndef DCSR_WRITE_MATRIX_CUDA_H
#define DCSR_WRITE_MATRIX_CUDA_H

#include <dcsr/desc.h>
#include "ops/matrix/coo_cuda.h"

typedef struct dcsr_i_matrix_output dcsr_i_matrix_output; /* write_matrix.h */

/* The places where a mask is true that is not complemented: a list of DCSR_PATTERN. Waits. */
dcsr_status dcsr_i_cuda_mask_places(dcsr_i_cuda_coo *places, dcsr_i_cuda_stream *stream, dcsr_view *mask,
                                    const dcsr_desc *desc);

/* Makes T, with a stream on which it may wait. T is of zeros before, and closed by the caller, whatever is
 * returned. */
typedef dcsr_status dcsr_i_cuda_compute(dcsr_i_cuda_coo *T, dcsr_i_cuda_stream *stream, const void *user);

/* Carries an operation out: computes T, writes it, reports `work` entries. Output and mask have been checked
 * (dcsr_i_check_output), also that all are of one context. Errors: those of compute(), DIMENSION_MISMATCH,
 * OUT_OF_MEMORY, DEVICE; C is then as it was. */
dcsr_status dcsr_i_cuda_matrix_run(const dcsr_i_matrix_output *out, dcsr_i_cuda_compute *compute,
                                   const void *user, uint64_t work);

#endif

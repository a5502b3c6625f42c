/* csc_cuda.h: the transpose of what a view on a device shows (internal; for C and for kernels). */
#ifndef DCSR_CSC_CUDA_H
#define DCSR_CSC_CUDA_H

#include "dcsr/store/cuda/gather_cuda.h"
#include <dcsr/view.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The rows of the transpose, on the device, kept by the view: the arrays of a CSC view; of another view of a
 * matrix that maintains its transpose, segments of that, resolved as the view's flags ask; else they are made
 * when they are asked for first, by a sort: row numbers ascend, and equal ones stand as they stood in the
 * row. Until then that takes 32 bytes of memory for each entry, 16 for a pattern. OUT_OF_MEMORY. */
dcsr_status dcsr_i_cuda_view_transposed(dcsr_i_cuda_rows *rows, dcsr_view *view);
/* Whether they are there: what is left to do then is resolving the twin's rows, as for the view itself. */
bool dcsr_i_cuda_view_transpose_is_ready(const dcsr_view *view);

#ifdef __cplusplus
}
#endif
#endif

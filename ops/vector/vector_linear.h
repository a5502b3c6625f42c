/* vector_linear.h: sums of products and combinations of full vectors, on a device (internal; for C and for kernels). */
#ifndef DCSR_VECTOR_LINEAR_H
#define DCSR_VECTOR_LINEAR_H

#include "dcsr/base/cuda.h"
#include <dcsr/vector.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Kernels: vector_linear.cu ---- */

/* How many partial sums there are of n elements. */
uint64_t dcsr_i_cuda_linear_sums(dcsr_i_cuda_stream *stream, uint64_t n);
/* sums[0] = the sum of u[i] v[i]; all of `sums` is overwritten. */
void dcsr_i_cuda_run_dot(dcsr_i_cuda_stream *stream, double *sums, dcsr_type type, const void *u,
                         const void *v, uint64_t n);
/* w = a u + b w; sums[0], unless NULL, the sum of w[i]^2. */
void dcsr_i_cuda_run_axpby(dcsr_i_cuda_stream *stream, double *sums, dcsr_type type, void *w, double a,
                           const void *u, double b, uint64_t n);

/* ---- vector_linear_cuda.c, in builds with CUDA ---- */

/* For arguments that have been checked. */
typedef struct dcsr_i_vector_linear {
    dcsr_status (*dot)(double *dot, const dcsr_vector *u, const dcsr_vector *v);
    dcsr_status (*axpby)(dcsr_vector *w, double a, const dcsr_vector *u, double b, double *square);
} dcsr_i_vector_linear;
extern const dcsr_i_vector_linear dcsr_i_cuda_vector_linear;

#ifdef __cplusplus
}
#endif
#endif

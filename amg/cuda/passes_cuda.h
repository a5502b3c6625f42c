/* passes_cuda.h: passes over the rows of a level, on a device (internal; for C and for kernels' files).
 *
 * Each function puts its work on the stream and returns. Arrays are on the device. Sums are taken in blocks of
 * DCSR_AMG_CUDA_ROWS rows or of DCSR_AMG_CUDA_ELEMENTS elements, each by a block of threads in a fixed order, and then
 * of these by one block: so they are the same each time. */
#ifndef DCSR_AMG_PASSES_CUDA_H
#define DCSR_AMG_PASSES_CUDA_H

#include "dcsr/base/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DCSR_AMG_CUDA_ROWS = 128, DCSR_AMG_CUDA_ELEMENTS = 2048 };

/* Row i has the entries begin[i] to end[i] - 1. */
typedef struct dcsr_i_amg_cuda_rows {
    uint64_t rows, nnz;
    const uint64_t *begin, *end;
    const uint32_t *columns;
    const double *values;
} dcsr_i_amg_cuda_rows;

/* How much room the sums of a pass over `rows` rows take; the two sums over all rows come first. */
uint64_t dcsr_i_amg_cuda_sums(uint64_t rows);

/* y = b + sign A x, where b is NULL for 0 and may be y. If there are sums: sums[0] = w^T y, sums[1] = y^T y; w may be
 * y. */
typedef struct dcsr_i_amg_cuda_product {
    dcsr_i_amg_cuda_rows A;
    const double *x, *b, *w;
    double *y, *sums;
    double sign;
} dcsr_i_amg_cuda_product;
void dcsr_i_amg_cuda_multiply(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_product *p);

/* d = keep d + add scale (b - A x), to = x + d; x NULL stands for 0, and no A is read then. */
typedef struct dcsr_i_amg_cuda_step {
    dcsr_i_amg_cuda_rows A;
    const double *x, *b, *scale;
    double *d, *to;
    double keep, add;
} dcsr_i_amg_cuda_step;
void dcsr_i_amg_cuda_smooth(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_step *s);

/* y = M x for a dense n x n matrix, row after row. */
void dcsr_i_amg_cuda_multiply_dense(dcsr_i_cuda_stream *stream, uint64_t n, const double *M, const double *x,
                                    double *y);
/* y = a x + b y; whatever y is, where b is 0. */
void dcsr_i_amg_cuda_combine(dcsr_i_cuda_stream *stream, uint64_t n, double a, const double *x, double b,
                             double *y);
/* sums[0] = x^T y */
void dcsr_i_amg_cuda_dot(dcsr_i_cuda_stream *stream, uint64_t n, const double *x, const double *y,
                         double *sums);
/* y += a x, sums[0] = y^T y */
void dcsr_i_amg_cuda_add_norm(dcsr_i_cuda_stream *stream, uint64_t n, double a, const double *x, double *y,
                              double *sums);
/* *first, UINT64_MAX before, becomes the number of the first element that is not finite. */
void dcsr_i_amg_cuda_find_wild(dcsr_i_cuda_stream *stream, uint64_t n, const double *x, uint64_t *first);

/* B of one vector for each row of a node: ones. B is zero before. */
void dcsr_i_amg_cuda_fill_constants(dcsr_i_cuda_stream *stream, double *B, uint64_t rows, uint64_t block);
/* v = random numbers, w = d v; both 0 where d is. */
void dcsr_i_amg_cuda_lanczos_start(dcsr_i_cuda_stream *stream, uint64_t n, const double *d, double *v,
                                   double *w);
/* w = w / d - alpha v - beta r, r = d w; both 0 where d is. */
void dcsr_i_amg_cuda_lanczos_step(dcsr_i_cuda_stream *stream, uint64_t n, const double *d, double alpha,
                                  double beta, const double *v, double *w, double *r);

/* Of all rows, with bits of doubles that are not negative in place of these; wrong as dcsr_i_amg_diagonal has it. */
typedef struct dcsr_i_amg_cuda_found {
    uint64_t gershgorin, negative, wrong;
} dcsr_i_amg_cuda_found;
/* diagonal = D; scale = 1 / a_ii, or with `l1` 1 / sum |a_ij| with that sign; 0 where that cannot be. *found is zero
 * before, its `wrong` UINT64_MAX. */
void dcsr_i_amg_cuda_read_diagonal(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_rows *A, bool l1,
                                   double *diagonal, double *scale, dcsr_i_amg_cuda_found *found);

#ifdef __cplusplus
}
#endif
#endif

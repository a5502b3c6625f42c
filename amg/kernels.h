/* kernels.h: passes over the rows of a level (internal).
 *
 * Sums of all rows are taken in blocks of DCSR_I_AMG_BLOCK rows, each by one thread, and then over the blocks in
 * order: so they do not depend on the number of threads. */
#ifndef DCSR_AMG_KERNELS_H
#define DCSR_AMG_KERNELS_H

#include "amg/hierarchy.h"

enum { DCSR_I_AMG_BLOCK = 2048, DCSR_I_AMG_SUMS = 3 };

/* (A x)_i */
static inline double dcsr_i_amg_row(const dcsr_i_amg_rows *A, uint64_t i, const double *x)
{
    const dcsr_i_amg_span row = dcsr_i_amg_span_of(A, i);
    double sum = 0;
    for (uint64_t e = 0; e < row.count; e++) sum += row.values[e] * x[row.columns[e]];
    return sum;
}

/* y = A x */
void dcsr_i_amg_multiply(const dcsr_i_amg_hierarchy *h, const dcsr_i_amg_rows *A, const double *x, double *y);
/* y = b + A x; y may be b. */
void dcsr_i_amg_add_product(const dcsr_i_amg_hierarchy *h, double *y, const double *b,
                            const dcsr_i_amg_rows *A, const double *x);
/* A step of the smoother in one pass over A: d = keep d + add D^-1 (b - A x), to = x + d. The first from x = 0
 * reads no A. */
void dcsr_i_amg_smooth_first(const dcsr_i_amg_hierarchy *h, const dcsr_i_amg_level *level, double add,
                             const double *b, double *x);
void dcsr_i_amg_smooth_step(const dcsr_i_amg_hierarchy *h, const dcsr_i_amg_level *level,
                            const dcsr_i_amg_smoothing *step, const double *b, const double *x, double *to);
/* r = b - A x; r may be b. Returns r^T r. */
double dcsr_i_amg_residual(dcsr_i_amg_hierarchy *h, const dcsr_i_amg_rows *A, const double *x,
                           const double *b, double *r);
/* y = A x; returns w^T y, and sets *yy to y^T y unless it is NULL. */
double dcsr_i_amg_multiply_dot(dcsr_i_amg_hierarchy *h, const dcsr_i_amg_rows *A, const double *x, double *y,
                               const double *w, double *yy);
double dcsr_i_amg_dot(dcsr_i_amg_hierarchy *h, uint64_t n, const double *x, const double *y);
/* y = a x + b y */
void dcsr_i_amg_combine(const dcsr_i_amg_hierarchy *h, uint64_t n, double a, const double *x, double b,
                        double *y);
/* y += a x; returns y^T y. */
double dcsr_i_amg_add_norm(dcsr_i_amg_hierarchy *h, uint64_t n, double a, const double *x, double *y);
#endif

/* kernels.h: passes over the rows of a level (internal).
 *
 * A vector here has `width` columns, which stand side by side in each row, so that one pass over a matrix serves
 * them all. Sums over all rows, one a column, are taken in blocks of DCSR_I_AMG_BLOCK rows, each by one thread,
 * and then over the blocks in order: so they do not depend on the number of threads. Where sums are not wanted,
 * NULL is given for them: a device is then not waited for. */
#ifndef DCSR_AMG_KERNELS_H
#define DCSR_AMG_KERNELS_H

#include "amg/hierarchy.h"

enum { DCSR_I_AMG_BLOCK = 2048, DCSR_I_AMG_SUMS = 2 };

/* Vectors are of the form's type and width, and so are the values of matrices, but for the width; x and y, or
 * other results, do not overlap unless it is said. Factors and sums are arrays of one number a column. */
struct dcsr_i_amg_kernels {
    /* y = A x */
    void (*multiply)(const dcsr_i_amg_form *f, const dcsr_i_amg_rows *A, const void *x, void *y);
    /* y = b + A x; y may be b. */
    void (*add_product)(const dcsr_i_amg_form *f, const dcsr_i_amg_rows *A, const void *x, const void *b,
                        void *y);
    /* r = b - A x; r may be b. squares: r^T r */
    void (*residual)(const dcsr_i_amg_form *f, const dcsr_i_amg_rows *A, const void *x, const void *b,
                     void *r, double *squares);
    /* y = A x; wy: w^T y; yy: y^T y. */
    void (*multiply_dot)(const dcsr_i_amg_form *f, const dcsr_i_amg_rows *A, const void *x, void *y,
                         const void *w, double *wy, double *yy);
    /* A step of the smoother in one pass over A: d = keep d + add D^-1 (b - A x), to = x + d. The first from
     * x = 0 reads no A. */
    void (*smooth_first)(const dcsr_i_amg_form *f, const dcsr_i_amg_level *level, double add, const void *b,
                         void *x);
    void (*smooth_step)(const dcsr_i_amg_form *f, const dcsr_i_amg_level *level,
                        const dcsr_i_amg_smoothing *step, const void *b, const void *x, void *to);
    /* A step where q = A x is there: d = keep d + add D^-1 (b - q), x += d. */
    void (*smooth_after)(const dcsr_i_amg_form *f, const dcsr_i_amg_level *level,
                         const dcsr_i_amg_smoothing *step, const void *b, const void *q, void *x);
    /* Gauss-Seidel on all rows, colour after colour, in place; backward: in the opposite order. A colour is of blocks
     * of rows; on a device of rows. Of a part of a matrix, entries in columns of other devices are left out. */
    void (*sweep)(const dcsr_i_amg_form *f, const dcsr_i_amg_level *level, bool backward, const void *b,
                  void *x);
    void (*dot)(const dcsr_i_amg_form *f, uint64_t n, const void *x, const void *y, double *xy);
    /* y = a x + b y; where all b are 0, whatever y is. */
    void (*combine)(const dcsr_i_amg_form *f, uint64_t n, const double *a, const void *x, const double *b,
                    void *y);
    /* y += a x; squares: y^T y */
    void (*add_norm)(const dcsr_i_amg_form *f, uint64_t n, const double *a, const void *x, void *y,
                     double *squares);
    /* y = M x, M dense with n rows and columns */
    void (*dense)(const dcsr_i_amg_form *f, uint64_t n, const double *M, const void *x, void *y);
};

/* Of the cpu; width: 1, 2, 4 or 8. */
dcsr_i_amg_form dcsr_i_amg_form_of(dcsr_i_amg_hierarchy *h, dcsr_type type, int width);
/* Its ways to fp32 and back (amg_engine.h). */
void dcsr_i_amg_narrow(const dcsr_i_amg_form *f, uint64_t n, const double *norms, const double *x, float *y);
void dcsr_i_amg_widen(const dcsr_i_amg_form *f, uint64_t n, const double *norms, const float *x, double *y);

/* A factor for all columns. */
extern const double dcsr_i_amg_zero[DCSR_I_AMG_MOST_WIDTH], dcsr_i_amg_one[DCSR_I_AMG_MOST_WIDTH],
    dcsr_i_amg_minus[DCSR_I_AMG_MOST_WIDTH]; /* 0, 1 and -1 */
#endif

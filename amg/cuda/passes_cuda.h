/* passes_cuda.h: passes over the rows of a level, on a device (internal; for C and for kernels' files).
 *
 * Each function puts its work on the stream and returns. Arrays are on the device. Vectors are of fp64 or fp32, with 1,
 * 2, 4 or 8 columns side by side in each row, as the form says. Sums are taken in blocks of DCSR_AMG_CUDA_ROWS rows or
 * of DCSR_AMG_CUDA_NUMBERS numbers, each by a block of threads in a fixed order, and then of these by one block for
 * each column: so they are the same each time. */
#ifndef DCSR_AMG_PASSES_CUDA_H
#define DCSR_AMG_PASSES_CUDA_H

#include "dcsr/base/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    DCSR_AMG_CUDA_ROWS = 128,
    DCSR_AMG_CUDA_NUMBERS = 2048,
    DCSR_AMG_CUDA_WIDTH = 8, /* the most columns */
    DCSR_AMG_CUDA_SUMS = 2,  /* of a pass, for each column */
    DCSR_AMG_CUDA_UNITS = 1 << 16
};

typedef struct dcsr_i_amg_cuda_form {
    dcsr_i_cuda_stream *stream;
    bool narrow; /* fp32 */
    unsigned width;
    double *
        sums; /* room for them; those over all rows come first, of all columns, then the second ones of all */
} dcsr_i_amg_cuda_form;

/* Row i has the entries begin[i] to end[i] - 1; narrow: their values in fp32, for vectors of that. */
typedef struct dcsr_i_amg_cuda_rows {
    uint64_t rows, nnz;
    const uint64_t *begin, *end;
    const uint32_t *columns;
    const double *values;
    const float *narrow;
    uint32_t first; /* the column of row 0's diagonal, as dcsr_i_amg_rows has it */
} dcsr_i_amg_cuda_rows;

/* A number a column. */
typedef struct dcsr_i_amg_cuda_factors {
    double column[DCSR_AMG_CUDA_WIDTH];
} dcsr_i_amg_cuda_factors;

/* How many numbers the sums of a pass over `rows` rows take. */
uint64_t dcsr_i_amg_cuda_sums(uint64_t rows);

/* y = b + sign A x, where b is NULL for 0 and may be y. If it is summed: sums w^T y and y^T y; w may be y. */
typedef struct dcsr_i_amg_cuda_product {
    dcsr_i_amg_cuda_rows A;
    const void *x, *b, *w;
    void *y;
    double sign;
    bool summed;
} dcsr_i_amg_cuda_product;
void dcsr_i_amg_cuda_multiply(const dcsr_i_amg_cuda_form *f, const dcsr_i_amg_cuda_product *p);

/* d = keep d + add scale (b - A x), to = x + d; x NULL stands for 0, and no A is read then. */
typedef struct dcsr_i_amg_cuda_step {
    dcsr_i_amg_cuda_rows A;
    const void *x, *b;
    const double *scale;
    void *d, *to;
    double keep, add;
} dcsr_i_amg_cuda_step;
void dcsr_i_amg_cuda_smooth(const dcsr_i_amg_cuda_form *f, const dcsr_i_amg_cuda_step *s);
/* The same where s->x is A x already, and `to` the x: to += d. */
void dcsr_i_amg_cuda_smooth_after(const dcsr_i_amg_cuda_form *f, const dcsr_i_amg_cuda_step *s);

/* x_i += scale_i (b - A x)_i, for the rows of one colour after those of another: those of colour c are by_colour
 * [begin[c]] to by_colour[begin[c + 1] - 1], and have no entry in each other's columns; entries in columns of other
 * devices are left out. backward: from the last colour on. */
typedef struct dcsr_i_amg_cuda_sweep {
    dcsr_i_amg_cuda_rows A;
    const uint32_t *by_colour;
    const uint64_t *begin;
    uint64_t colours;
    const double *scale;
    const void *b;
    void *x;
    bool backward;
} dcsr_i_amg_cuda_sweep;
void dcsr_i_amg_cuda_gauss_seidel(const dcsr_i_amg_cuda_form *f, const dcsr_i_amg_cuda_sweep *s);

/* y = M x for a dense n x n matrix, row after row. */
void dcsr_i_amg_cuda_multiply_dense(const dcsr_i_amg_cuda_form *f, uint64_t n, const double *M, const void *x,
                                    void *y);
/* y = a x + b y for n rows; whatever y is, where b is 0. */
void dcsr_i_amg_cuda_combine(const dcsr_i_amg_cuda_form *f, uint64_t n, const dcsr_i_amg_cuda_factors *a,
                             const void *x, const dcsr_i_amg_cuda_factors *b, void *y);
/* sums x^T y */
void dcsr_i_amg_cuda_dot(const dcsr_i_amg_cuda_form *f, uint64_t n, const void *x, const void *y);
/* y += a x, sums y^T y */
void dcsr_i_amg_cuda_add_norm(const dcsr_i_amg_cuda_form *f, uint64_t n, const dcsr_i_amg_cuda_factors *a,
                              const void *x, void *y);
/* y = factor x in the other type: y is of the form's. */
void dcsr_i_amg_cuda_convert(const dcsr_i_amg_cuda_form *f, uint64_t n, const dcsr_i_amg_cuda_factors *factor,
                             const void *x, void *y);
/* Columns one after the other, `columns` of them, to where they are side by side in fp64, those that are missing as 0;
 * and back. */
void dcsr_i_amg_cuda_gather(const dcsr_i_amg_cuda_form *f, double *to, const double *from, uint64_t rows,
                            unsigned columns);
void dcsr_i_amg_cuda_scatter(const dcsr_i_amg_cuda_form *f, double *to, const double *from, uint64_t rows,
                             unsigned columns);

/* *first, UINT64_MAX before, becomes the number of the first element that is not finite. */
void dcsr_i_amg_cuda_find_wild(dcsr_i_cuda_stream *stream, uint64_t n, const double *x, uint64_t *first);
/* The same for the first row with an entry beyond `most` or a diagonal below `least`, in absolute value. */
void dcsr_i_amg_cuda_find_extreme(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_rows *A,
                                  const double *diagonal, double most, double least, uint64_t *first);

/* B of one vector for each row of a node: ones. B is zero before. */
void dcsr_i_amg_cuda_fill_constants(dcsr_i_cuda_stream *stream, double *B, uint64_t rows, uint64_t block);
/* v = random numbers, from number `first` on, w = d v; both 0 where d is. */
void dcsr_i_amg_cuda_lanczos_start(dcsr_i_cuda_stream *stream, uint64_t first, uint64_t n, const double *d,
                                   double *v, double *w);
/* w = w / d - alpha v - beta r, r = d w; both 0 where d is. */
void dcsr_i_amg_cuda_lanczos_step(dcsr_i_cuda_stream *stream, uint64_t n, const double *d, double alpha,
                                  double beta, const double *v, double *w, double *r);

/* Of all rows, with bits of doubles that are not negative in place of these, and `outside` in
 * units of 1 / DCSR_AMG_CUDA_UNITS; else as dcsr_i_amg_diagonal has it. */
typedef struct dcsr_i_amg_cuda_found {
    uint64_t gershgorin, negative, outside, wrong;
} dcsr_i_amg_cuda_found;
/* diagonal = D; scale = 1 / a_ii, or as `how` says, with that sign: 1 / sum |a_ij|, or 1 / (|a_ii| +
 * outside_weight times that sum over columns of other devices); 0 where that cannot be. *found is zero before, its
 * `wrong` UINT64_MAX. */
typedef struct dcsr_i_amg_cuda_scaling {
    bool l1;
    double outside_weight;
} dcsr_i_amg_cuda_scaling;
void dcsr_i_amg_cuda_read_diagonal(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_rows *A,
                                   dcsr_i_amg_cuda_scaling how, double *diagonal, double *scale,
                                   dcsr_i_amg_cuda_found *found);

#ifdef __cplusplus
}
#endif
#endif

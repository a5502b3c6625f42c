/* support_dense.h: matrices and vectors that are too simple to be wrong, for tests of operations: every place
 * has a number, or none. Numbers are small integers, so that every type holds them exactly. */
#ifndef DCSR_TESTS_SUPPORT_DENSE_H
#define DCSR_TESTS_SUPPORT_DENSE_H

#include <dcsr/desc.h>
#include "tests/support/support.h"

typedef struct dense {
    dcsr_type type;
    uint64_t rows, cols;
    bool *has;
    double *value; /* 1 in a pattern */
} dense;

dense dense_create(dcsr_type type, uint64_t rows, uint64_t cols);
void dense_free(dense *d);
static inline uint64_t dense_at(const dense *d, uint64_t row, uint64_t col)
{
    return row * d->cols + col;
}
/* The number as a value of the type. */
double dense_cast(dcsr_type type, double value);
void dense_set(dense *d, uint64_t row, uint64_t col, double value);
dense dense_transpose(const dense *d);

/* What a view shows, what stands twice added up; what a vector holds, as one row. */
dense dense_of_view(dcsr_view *view);
dense dense_of_matrix(dcsr_matrix *matrix);
dense dense_of_vector(const dcsr_vector *vector);

/* A number of two numbers; NULL for an accumulator that there is none. */
typedef double (*dense_function)(double x, double y);
/* C<mask> = accum(C, T) as dcsr/desc.h says. mask may be NULL. The accumulator works on numbers of `type`. */
void dense_write(dense *C, const dense *mask, dense_function accum, dcsr_type type, const dcsr_desc *desc,
                 const dense *T);
/* Asserts that they are the same; `what` is said where they are not. */
void dense_compare(const dense *found, const dense *expected, const char *what);

#endif

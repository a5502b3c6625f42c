/* lapack.h: the functions of LAPACK that we call, as Fortran exports them (internal). Matrices are column by
 * column, numbers are 32 bits. */
#ifndef DCSR_AMG_LAPACK_H
#define DCSR_AMG_LAPACK_H

#include <stddef.h>

/* Eigenvalues of a symmetric tridiagonal matrix: diagonal d (becomes the eigenvalues), off-diagonal e. */
void dsterf_(const int *n, double *d, double *e, int *info);
/* The X of least norm among those that minimise |A X - B|, by a complete orthogonal factorisation; X replaces B.
 * Singular values below rcond times the largest count as zero. */
void dgelsy_(const int *m, const int *n, const int *nrhs, double *a, const int *lda, double *b,
             const int *ldb, int *jpvt, const double *rcond, int *rank, double *work, const int *lwork,
             int *info);
/* Of a symmetric positive definite matrix, in its lower triangle (uplo "L"): the factor of Cholesky (info is not 0 if
 * there is none); from that 1 / its condition number, where `norm` is the 1-norm of the matrix; and its inverse. The
 * last argument is the length of uplo. */
void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info, size_t one);
void dpocon_(const char *uplo, const int *n, const double *a, const int *lda, const double *norm,
             double *rcond, double *work, int *iwork, int *info, size_t one);
void dpotri_(const char *uplo, const int *n, double *a, const int *lda, int *info, size_t one);

#endif

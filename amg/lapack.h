/* lapack.h: the functions of LAPACK that we call, as Fortran exports them (internal). Matrices are column by
 * column, numbers are 32 bits. */
#ifndef DCSR_AMG_LAPACK_H
#define DCSR_AMG_LAPACK_H

/* Eigenvalues of a symmetric tridiagonal matrix: diagonal d (becomes the eigenvalues), off-diagonal e. */
void dsterf_(const int *n, double *d, double *e, int *info);
/* The X of least norm among those that minimise |A X - B|, by a complete orthogonal factorisation; X replaces B.
 * Singular values below rcond times the largest count as zero. */
void dgelsy_(const int *m, const int *n, const int *nrhs, double *a, const int *lda, double *b,
             const int *ldb, int *jpvt, const double *rcond, int *rank, double *work, const int *lwork,
             int *info);

#endif

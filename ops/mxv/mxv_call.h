/* mxv_call.h: what a product of a matrix and a vector is asked for, wherever it runs (internal). */
#ifndef DCSR_MXV_CALL_H
#define DCSR_MXV_CALL_H

#include <dcsr/desc.h>

/* w<mask> = accum(w, M u), of dcsr_mxv() or dcsr_vxm(). */
typedef struct dcsr_i_mxv_call {
    const char *name;
    dcsr_vector *w;
    const dcsr_vector *mask, *u;
    const dcsr_binary_op *accum;
    const dcsr_semiring *semiring;
    dcsr_view *A;
    const dcsr_desc *desc;
    bool transposed;   /* rows of M are columns of A */
    bool vector_first; /* multiply's first operand is the vector's element */
} dcsr_i_mxv_call;

#endif

/* write_vector_cuda.h: masks, and writing what an operation computed into a vector, on a device (internal;
 * for C and for kernels).
 *
 *      w<mask> = accum(w, T)
 *
 * is done here for all operations on the device whose result is a vector, as write_vector.h does on the host.
 */
#ifndef DCSR_WRITE_VECTOR_CUDA_H
#define DCSR_WRITE_VECTOR_CUDA_H

#include "dcsr/vector/vector_cuda.h"
#include <dcsr/desc.h>
#include "ops/algebra/operator.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How an element is found in a source. */
typedef enum dcsr_i_cuda_how {
    DCSR_CUDA_BY_BITS,   /* element i stands at place i, if its bit is set */
    DCSR_CUDA_BY_ORDER,  /* entry k of the list that is gone through stands at place k */
    DCSR_CUDA_BY_SEARCH, /* in a list of indices, by bisection */
    DCSR_CUDA_BY_NUMBER, /* element i stands at place number[i] - 1, unless that is 0 */
    DCSR_CUDA_NOWHERE    /* there is none */
} dcsr_i_cuda_how;

/* Elements that kernels read: of a body, wherever they stand, of any type. */
typedef struct dcsr_i_cuda_write_source {
    dcsr_i_cuda_how how;
    uint32_t type;
    const uint32_t *present; /* BY_BITS; NULL: every element is there */
    const uint32_t *indices; /* BY_SEARCH: n of them, or *count */
    const uint32_t *number;  /* BY_NUMBER */
    uint64_t n;
    const unsigned long long *count;
    const void *values; /* NULL: each is `one` */
    dcsr_i_scalar one;
} dcsr_i_cuda_write_source;

/* The elements of a body; `list` is the list that is gone through, NULL for none. */
dcsr_i_cuda_write_source dcsr_i_cuda_source_of(const dcsr_i_cuda_body *body, dcsr_type type,
                                               const uint32_t *list);

/* A mask for kernels: dcsr_i_cuda_mask_has() in vector_elements.cuh. */
typedef struct dcsr_i_cuda_mask {
    bool whole;                 /* there is no mask vector */
    bool structure, complement; /* as in dcsr_desc */
    dcsr_i_cuda_write_source source;
} dcsr_i_cuda_mask;

/* w<mask> = accum(w, T). T, of type ttype and w's size, is consumed, whatever happens: freed, or moved into
 * w; its count need not be known. The output and the mask have been checked, accum is built in. Waits for the
 * stream, also after a failure (OUT_OF_MEMORY): w is then as it was. Fills in the description's report for an
 * operation on vectors alone.
 *
 * Where accum is NULL, a T of w's type saves a pass. */
dcsr_status dcsr_i_cuda_vector_write(const char *call, dcsr_i_cuda_stream *stream, dcsr_vector *w,
                                     const dcsr_vector *mask, const dcsr_binary_op *accum,
                                     const dcsr_desc *desc, dcsr_type ttype, dcsr_i_cuda_body *T);

/* What else may be written: one value everywhere; to some places alone. */
typedef struct dcsr_i_cuda_written {
    const dcsr_binary_op *accum;
    dcsr_type type;      /* of T */
    dcsr_i_cuda_body *T; /* consumed; NULL: every element is `operand`, a value of accum's second type */
    dcsr_i_scalar operand;
    dcsr_i_scalar one; /* the same as a value of w's type */
    const uint32_t
        *region;   /* bits of where T counts, and w else stays, as far as the mask allows; NULL: everywhere */
    bool complete; /* T has an element everywhere in the region */
} dcsr_i_cuda_written;
dcsr_status dcsr_i_cuda_vector_write_what(const char *call, dcsr_i_cuda_stream *stream, dcsr_vector *w,
                                          const dcsr_vector *mask, const dcsr_desc *desc,
                                          const dcsr_i_cuda_written *what);

#ifdef __cplusplus
}
#endif
#endif

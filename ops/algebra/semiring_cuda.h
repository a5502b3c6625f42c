/* semiring_cuda.h: semirings as kernels get them (internal; for C and for kernels). */
#ifndef DCSR_SEMIRING_CUDA_H
#define DCSR_SEMIRING_CUDA_H

#include "ops/algebra/operator.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A semiring of built-in operators, for kernels. All is done in one type, that of multiply's operands. Where
 * multiply's result is a bool it is 0 or 1 of that type, and the sum is one of such numbers: the semiring's
 * own addition is on bool, and stands here under the name of an operator that does the same with 0 and 1. */
typedef struct dcsr_i_cuda_semiring {
    uint32_t type;                   /* not DCSR_PATTERN */
    int add, multiply;               /* dcsr_binary_name */
    bool flipped;                    /* multiply's first operand is the vector's element, not the matrix's */
    bool any;                        /* the sum is the first term that is found */
    bool reads_matrix, reads_vector; /* whether multiply looks at their values */
    bool ones;                       /* every sum is 1: what is asked is which there are */
    dcsr_i_terminal terminal_kind;
    dcsr_i_scalar terminal, identity, start; /* of `type`; of a monoid (operator.h) */
} dcsr_i_cuda_semiring;

/* The same as a dcsr_semiring, for a matrix of a type; false: it is to be carried out on the host. */
bool dcsr_i_cuda_semiring_of(dcsr_i_cuda_semiring *to, const dcsr_semiring *semiring, bool vector_first,
                             dcsr_type matrix_type);

#ifdef __cplusplus
}
#endif
#endif

/* nut_multiply_cuda.h: products with vectors by tiles, on a device (internal; for C and for kernels).
 *
 *      t[i] = sum over the entries (i, j, a) of multiply(a, u[j])
 *
 * A block of threads takes a panel, a thread a lane. In shared memory are the sums of the panel's rows and, tile by
 * tile, the elements of u in active columns. A thread adds up in registers what its lane has of a row, and where a
 * marker follows adds it to the row's sum: only one lane comes to the end of a row. What lanes have at their ends is
 * added up when all have come there: by warps first, of neighbours with the same row, then of one warp after the other.
 * So sums are always taken in the same order, that of the tiles, and nothing is atomic.
 *
 * Bytes moved: 2 and a value for each element; 4 for each active column of a tile, and what of u is read there, at
 * random but once for a tile; t once. */
#ifndef DCSR_NUT_MULTIPLY_CUDA_H
#define DCSR_NUT_MULTIPLY_CUDA_H

#include "dcsr/base/cuda.h"
#include "ops/algebra/semiring_cuda.h"
#include <dcsr/nut.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All pointers are to device memory. */
typedef struct dcsr_i_cuda_nut_product {
    dcsr_i_cuda_semiring semiring;
    dcsr_nut nut;
    const dcsr_nut_panel *panels; /* there */
    const void *u;                /* dense, of semiring.type where multiply looks at values */
    const uint32_t *u_bits;       /* NULL: every element is there */
    const uint32_t *wanted; /* bits, of which ones are wanted, or with a flip of all ones zeros; NULL: all */
    uint32_t flip;
    void *t; /* of semiring.type */
    uint32_t
        *found; /* bits that are 0, which get those of the sums that there are; NULL: t becomes 0 elsewhere */
    unsigned long long *count; /* to which is added how many they are; NULL with found */
} dcsr_i_cuda_nut_product;

/* What a block takes of shared memory, which may be more than it can have. */
size_t dcsr_i_cuda_nut_shared_bytes(const dcsr_i_cuda_semiring *semiring, const dcsr_nut *nut);
/* Puts the product on a cudaStream_t; a failure is noted on `stream`. */
void dcsr_i_cuda_nut_multiply(dcsr_i_cuda_stream *stream, void *on, const dcsr_i_cuda_nut_product *product);

#ifdef __cplusplus
}
#endif
#endif

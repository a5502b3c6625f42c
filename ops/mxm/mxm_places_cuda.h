/* mxm_places_cuda.h: sparse matrix times sparse matrix on a device, where it is known at which places sums are wanted:
 * those of a mask (internal; for C and for kernels).
 *
 * The places are a list, ascending, and each of them has room for a sum, so that no room is estimated and no row is
 * computed twice. A row of the result is computed in one of two ways, whichever is estimated to read less:
 *
 *      tables    its places stand in a hash table in shared memory, of a warp or of a block; the products of the row
 *                are looked up there, and those of other columns dropped. Where the table does not hold all places
 *                they are taken in turn.
 *      dots      some lanes for each place intersect the row of A with the row of B^T: each entry of the shorter one
 *                is looked for in the longer one. Where rows of B^T are at hand, and rows ascend.
 *
 *      mxm_places_cuda.c    what is read, choice, bins
 *      mxm_places.cu        its kernels */
#ifndef DCSR_MXM_PLACES_CUDA_H
#define DCSR_MXM_PLACES_CUDA_H

#include "dcsr/store/cuda/gather_cuda.h"
#include "ops/mxm/mxm_cuda.h"
#include "ops/mxm/mxm_rows_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether products are computed so: on built-in operators of one type, where each row of A and B stands as it is to be
 * read. */
bool dcsr_i_cuda_mxm_knows_places(const dcsr_semiring *semiring, dcsr_view *A, dcsr_view *B,
                                  dcsr_type C_type);
/* T = A B at the places of a list, which becomes T's. */
dcsr_status dcsr_i_cuda_mxm_at_places(dcsr_i_cuda_coo *T, dcsr_i_cuda_stream *stream,
                                      const dcsr_i_matrix_output *out, const dcsr_semiring *semiring,
                                      dcsr_view *A, dcsr_view *B);

/* ---- For kernels ---- */

typedef struct dcsr_i_cuda_mxm_places {
    uint64_t n;
    const uint64_t *keys, *offsets; /* offsets: where those of each row begin */
    void *values;                   /* a sum for each place, of the ring's type; NULL: not wanted */
    uint32_t *found;                /* 1 where there is a product; 0 before */
    /* By row: 0 where there is nothing to do; DOTS; else what its table is made for: its places, or a few of its
     * products, if these are far more. */
    uint32_t *size;
} dcsr_i_cuda_mxm_places;
#define DCSR_CUDA_MXM_DOTS UINT32_MAX

/* How many entries of a walk's rows do not stand one behind the other, ascending: is added to *count. */
void dcsr_i_cuda_mxm_count_disorder(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_walk *walk,
                                    uint64_t entries, unsigned long long *count);
/* size[r] of each row, whose products are given. */
void dcsr_i_cuda_mxm_size_rows(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxm_places *places,
                               uint64_t rows, const uint32_t *products);
/* What computing all places by dots costs, in about the time of a product, is added to *cost. With products, rows for
 * which that is less get size DOTS. job->b are rows of B^T. */
void dcsr_i_cuda_mxm_weigh_dots(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxm_job *job,
                                const dcsr_i_cuda_mxm_places *places, const uint32_t *products,
                                unsigned long long *cost);
/* The sums at the places of rows of size DOTS, by so many lanes each (a power of two); or, with `all`, of all rows. */
void dcsr_i_cuda_mxm_dots(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxm_job *job,
                          const dcsr_i_cuda_mxm_places *places, int lanes, bool all);

/* Tables of 2^bits slots, for this many places at a time. */
static inline DCSR_CUDA_BOTH_SIDES uint32_t dcsr_i_cuda_mxm_capacity(int bits)
{
    return (3u << bits) / 4;
}
/* Bytes of shared memory of a table with values of 8 bytes, and of what a block of so many warps needs besides. */
size_t dcsr_i_cuda_mxm_place_bytes(int bits, int warps);
/* The listed rows, by warps with a table each, or by blocks with one. */
void dcsr_i_cuda_mxm_place_rows(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxm_job *job,
                                const dcsr_i_cuda_mxm_places *places, const dcsr_i_cuda_mxm_table *table,
                                bool by_blocks);

#ifdef __cplusplus
}
#endif
#endif

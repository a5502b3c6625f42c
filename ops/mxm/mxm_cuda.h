/* mxm_cuda.h: sparse matrix times sparse matrix on a device (internal; for C and for kernels).
 *
 * Products are computed row by row (mxm_rows_cuda.h), or at places that are known (mxm_places_cuda.h). What neither
 * takes, of several types or of rows with duplicates, is written down product by product, brought into order, and
 * added up where products meet:
 *
 *      entries of A      (0,2) a            (0,5) b      (1,2) c
 *      rows of B         2: (1) p (7) q     5: (1) r     2: (1) p (7) q       a walk (gather_cuda.h)
 *      products          (0,1) a*p  (0,7) a*q  (0,1) b*r  (1,1) c*p  (1,7) c*q
 *      T                 (0,1) a*p+b*r  (0,7) a*q  (1,1) c*p  (1,7) c*q
 *
 * B is read where it stands. The work is shared by products, whatever the lengths of rows. They may be many
 * more than there is memory for, so they are computed in portions of whole rows of A. A row's products are no
 * more than B has entries.
 *
 *      mxm_cuda.c       memory, portions
 *      mxm_expand.cu    its kernels */
#ifndef DCSR_MXM_CUDA_H
#define DCSR_MXM_CUDA_H

#include "dcsr/store/cuda/gather_cuda.h"
#include "ops/matrix/write_matrix_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* C<mask> = accum(C, A B), where the operators are built in and the factors fit each other. */
typedef dcsr_status dcsr_i_device_mxm(const dcsr_i_matrix_output *out, const dcsr_semiring *semiring,
                                      dcsr_view *A, dcsr_view *B);
dcsr_i_device_mxm dcsr_i_cuda_mxm;

/* ---- mxm_expand.cu ---- */

/* Products of a portion, unless one row of A has more. Few in the emulator, so that tests see several
 * portions; else some GiB of temporary memory, of which sorting takes the most. */
#ifdef DCSR_SIMT
enum { DCSR_CUDA_MXM_PRODUCTS = 1500 };
#else
enum { DCSR_CUDA_MXM_PRODUCTS = 1 << 26 };
#endif

/* Some neighbouring entries of A, and what they are multiplied with. */
typedef struct dcsr_i_cuda_products {
    dcsr_i_cuda_walk walk; /* rows of B, by the columns of these entries */
    uint64_t count;        /* products */
    const uint64_t *keys;
    const void *x; /* values, of `type`; NULL: each is 1, or not looked at */
    bool reads_y;  /* whether B's values, which may be of any type, are looked at */
    int multiply;  /* dcsr_binary_name */
    dcsr_type type;
    /* Where products are wanted: a list of places, and where the rows of it begin. NULL: everywhere. */
    const uint64_t *places, *place_offsets;
} dcsr_i_cuda_products;

/* keep[k] = 1 where the row of keys[k] has places, else 0. */
void dcsr_i_cuda_mxm_mark(dcsr_i_cuda_stream *stream, const uint64_t *keys, uint64_t n,
                          const uint64_t *place_offsets, uint32_t *keep);

/* The end of the portion that begins with entry `begin` of A's n: rows of `most` products together, or one row. */
typedef struct dcsr_i_cuda_cut {
    uint64_t end;    /* the entry behind it */
    uint64_t before; /* products before that */
} dcsr_i_cuda_cut;
/* offsets[k] = products of the entries before k, for k = 0 .. n. */
void dcsr_i_cuda_mxm_cut(dcsr_i_cuda_stream *stream, dcsr_i_cuda_cut *cut, const uint64_t *keys,
                         const uint64_t *offsets, uint64_t n, uint64_t begin, uint64_t most);

/* How many products are wanted, where some are not: of each of so many parts. */
uint64_t dcsr_i_cuda_mxm_parts(const dcsr_i_cuda_products *p);
void dcsr_i_cuda_mxm_count(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_products *p, uint64_t *counts);
/* Writes the products that are wanted, in the order of the walk; those of part i from place starts[i] on, or,
 * where all are, starts is NULL. The list's type is that of the products, which is `type` or DCSR_BOOL; or
 * DCSR_PATTERN, where no values are wanted. */
void dcsr_i_cuda_mxm_expand(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_products *p, const uint64_t *starts,
                            const dcsr_i_cuda_coo *to);

#ifdef __cplusplus
}
#endif
#endif

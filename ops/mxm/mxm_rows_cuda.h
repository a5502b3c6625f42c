/* mxm_rows_cuda.h: sparse matrix times sparse matrix on a device, row by row (internal; for C and for kernels).
 *
 * Gustavson's algorithm. Rows of the result are binned by their products, and each bin has its method:
 *
 *      short    up to 63 products: a thread adds them up in a hash table        mxm_short.cu
 *               in shared memory
 *      warp     a warp does                                                     mxm_hash.cu
 *      block    a block does
 *      long     a block marks the columns in a bitmap, which tells how many     mxm_long.cu
 *               there are and the rank of each, and adds up by rank
 *
 * Before these, where most rows are shifts of a few, as those of stencils are, they are computed by what is known of
 * the few (mxm_alike_cuda.h).
 *
 * A row takes its place in the arena of C when it is finished, so there is no symbolic pass, no array of all
 * products and no copy at the end. Where all rows are short, blocks hand on where they end (decoupled look-back,
 * Merrill and Garland 2016), and the rows of C stand in order without gaps.
 *
 * How much room C needs and which tables suffice is estimated from a sample of rows. A row for which table or room
 * does not suffice is left for another round, which assumes that no two products meet.
 *
 *      mxm_rows_cuda.c       bins, room, rounds
 *      mxm_factors_cuda.c    what factors are like, and limits
 *      mxm_count.cu          products of each row; the sample; rows by class */
#ifndef DCSR_MXM_ROWS_CUDA_H
#define DCSR_MXM_ROWS_CUDA_H

#include <dcsr/desc.h>
#include "dcsr/base/cuda.h"
#include "dcsr/store/rowtable_cuda.h"
#include "ops/algebra/semiring_cuda.h"
#include "ops/matrix/write_matrix_cuda.h"

typedef struct dcsr_i_matrix_output dcsr_i_matrix_output; /* write_matrix.h */

#ifdef __cplusplus
extern "C" {
#endif

/* C = A B, if this method takes it: *taken. It does without mask, accumulator and region, on built-in operators of one
 * type, where each row of A and B stands as it is to be read. Errors as of dcsr_mxm(). */
dcsr_status dcsr_i_cuda_mxm_rows(bool *taken, const dcsr_i_matrix_output *out, const dcsr_semiring *semiring,
                                 dcsr_view *A, dcsr_view *B);

/* T = A B as a list, where dcsr_i_cuda_mxm_knows_places(): for what is merged with what C holds, and for masks that are
 * complemented. */
dcsr_status dcsr_i_cuda_mxm_rows_as_list(dcsr_i_cuda_coo *T, dcsr_i_cuda_stream *stream,
                                         const dcsr_i_matrix_output *out, const dcsr_semiring *semiring,
                                         dcsr_view *A, dcsr_view *B);

/* ---- For kernels ---- */

/* Tables of products row by row are of 2^LEAST_BITS to 2^BLOCK_BITS slots; those up to WARP_BITS are a warp's, with
 * WARPS of them in a block. So many rows are sampled. */
#ifdef DCSR_SIMT
enum {
    DCSR_CUDA_MXM_LEAST_BITS = 5,
    DCSR_CUDA_MXM_WARP_BITS = 6,
    DCSR_CUDA_MXM_BLOCK_BITS = 8,
    DCSR_CUDA_MXM_WARPS = 2,
    DCSR_CUDA_MXM_SAMPLED_ROWS = 16
};
#else
enum {
    DCSR_CUDA_MXM_LEAST_BITS = 7,
    DCSR_CUDA_MXM_WARP_BITS = 10,
    DCSR_CUDA_MXM_BLOCK_BITS = 13,
    DCSR_CUDA_MXM_WARPS = 4,
    DCSR_CUDA_MXM_SAMPLED_ROWS = 2048
};
#endif

/* Class 0: no products; class k: 2^(k-1) to 2^k - 1. */
enum { DCSR_CUDA_MXM_CLASSES = 33 };

typedef struct dcsr_i_cuda_mxm_census {
    uint64_t rows[DCSR_CUDA_MXM_CLASSES], products[DCSR_CUDA_MXM_CLASSES];
    uint64_t sampled_products[DCSR_CUDA_MXM_CLASSES], sampled_outputs[DCSR_CUDA_MXM_CLASSES];
} dcsr_i_cuda_mxm_census;

/* What all methods get, by value. */
typedef struct dcsr_i_cuda_mxm_job {
    dcsr_i_cuda_rows a, b;
    /* For each row where it begins and its length, in 40 and 24 bits, where it is one piece (mxm_rows.cuh). */
    const uint64_t *a_heads, *b_heads;
    const uint32_t *row; /* the rows to compute; NULL: 0, 1, ... */
    uint64_t count;
    uint32_t *columns; /* of the arena */
    void *values;      /* NULL: of a pattern */
    uint64_t first, room;
    unsigned long long *next; /* entries of the room that are taken; where one falls short: beyond `room` */
    uint64_t *begin;          /* of the rows of C */
    uint32_t *length;
    uint32_t *left; /* rows for which there was no room, or too small a table */
    unsigned long long *left_count;
    unsigned long long *ticket; /* blocks that have begun, tiles that are given out */
    unsigned long long *status; /* of the tiles, for the look-back; NULL: rows may stand anywhere */
    dcsr_i_cuda_semiring ring;
    bool ones;    /* every value is 1, of `value_type` */
    bool ordered; /* terms are added in the order of A's entries */
    uint32_t value_size;
    dcsr_i_scalar one;
} dcsr_i_cuda_mxm_job;

/* ---- mxm_factors_cuda.c ---- */

/* Whether rows stand as they are to be read: each entry once. */
bool dcsr_i_cuda_mxm_is_plain(const dcsr_view *view);
/* What the kernels are told of a semiring and the type of C; false: it is not done in one type. */
bool dcsr_i_cuda_mxm_ring_of(dcsr_i_cuda_mxm_job *job, const dcsr_semiring *semiring, const dcsr_view *A,
                             dcsr_type C_type);
dcsr_status dcsr_i_cuda_mxm_find_rows(dcsr_i_cuda_rows *rows, dcsr_view *view, bool transposed);
/* What a product may still take of desc->memory_limit beside `bytes` that it takes in any case: UINT64_MAX where there
 * is no limit. OUT_OF_MEMORY where that is too much. */
dcsr_status dcsr_i_cuda_mxm_limit(const dcsr_i_matrix_output *out, uint64_t bytes, uint64_t *left);
/* OUT_OF_MEMORY: a row wants so many bytes, more than are left. */
dcsr_status dcsr_i_cuda_mxm_fail_row(const dcsr_i_matrix_output *out, uint64_t row, uint64_t bytes,
                                     uint64_t left);
/* 4 to 32 lanes for rows of B, by their mean length. */
int dcsr_i_cuda_mxm_lanes(double mean);
/* The rows, `count` that are listed or all (NULL), in order of their classes, of which the census tells; next[k] counts
 * for each class. Errors: OUT_OF_MEMORY. */
dcsr_status dcsr_i_cuda_mxm_sort_rows(dcsr_i_cuda_stream *stream, const uint32_t *row, uint64_t count,
                                      const uint32_t *products, const dcsr_i_cuda_mxm_census *census,
                                      unsigned long long *next, uint32_t *list);

/* ---- mxm_count.cu ---- */

/* heads[r] of the rows of a matrix. */
void dcsr_i_cuda_mxm_heads(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows, uint64_t *heads);
/* products[r] of each row (2^32 - 1: or more), and their census, which is of zeros before. */
void dcsr_i_cuda_mxm_products(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxm_job *job, uint32_t *products,
                              dcsr_i_cuda_mxm_census *census);
/* The products and the entries of the result of every step-th row, of those classes below `most`. */
void dcsr_i_cuda_mxm_sample(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxm_job *job,
                            const uint32_t *products, uint64_t step, int most,
                            dcsr_i_cuda_mxm_census *census);
/* The rows by class: those of class k from list[next[k]] on; next[k] is moved on. */
void dcsr_i_cuda_mxm_place_by_class(dcsr_i_cuda_stream *stream, const uint32_t *row, uint64_t count,
                                    const uint32_t *products, unsigned long long *next, uint32_t *list);
/* The census of listed rows, or of all, whose products are known. */
void dcsr_i_cuda_mxm_recount(dcsr_i_cuda_stream *stream, const uint32_t *row, uint64_t count,
                             const uint32_t *products, dcsr_i_cuda_mxm_census *census);

/* Keys and values (NULL: none) of the rows, which begin there in the lists. */
void dcsr_i_cuda_mxm_list(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxm_job *job, const uint64_t *offsets,
                          uint64_t *keys, void *values);
/* The sum of the lengths. Waits. */
dcsr_status dcsr_i_cuda_mxm_total(dcsr_i_cuda_stream *stream, const uint32_t *length, uint64_t rows,
                                  uint64_t *total);

/* A hash table of 2^bits sums. */
typedef struct dcsr_i_cuda_mxm_table {
    int bits;
    int warps; /* of a block: each with a table; or, of the method block, all with one */
    int lanes; /* that share an entry of A: 4 to 32 */
} dcsr_i_cuda_mxm_table;

enum { DCSR_CUDA_MXM_SHORT = 63 }; /* products of a short row */

/* Tiles of a look-back, for tables of 2^bits sums. */
uint64_t dcsr_i_cuda_mxm_short_tiles(uint64_t rows, int bits);
/* Of rows of up to DCSR_CUDA_MXM_SHORT products, in tables of 2^bits sums, 5 or 6. */
void dcsr_i_cuda_mxm_short(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxm_job *job, int bits);
void dcsr_i_cuda_mxm_warp(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxm_job *job,
                          const dcsr_i_cuda_mxm_table *table);
/* Bytes of shared memory that a block of the method takes, with values of 8 bytes. */
size_t dcsr_i_cuda_mxm_block_bytes(const dcsr_i_cuda_mxm_table *table);
void dcsr_i_cuda_mxm_block(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxm_job *job,
                           const dcsr_i_cuda_mxm_table *table);
/* With so many bytes of shared memory for a block, 48 Ki at least; `half`: half of these, for two at a time. */
void dcsr_i_cuda_mxm_long(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxm_job *job, size_t shared_bytes,
                          bool half);
/* Whether the sums of a row of so many entries, and all columns, fit half of them. */
bool dcsr_i_cuda_mxm_fits_half(uint64_t cols, size_t shared_bytes, double entries);

#ifdef __cplusplus
}
#endif
#endif

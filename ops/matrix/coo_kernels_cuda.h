/* coo_kernels_cuda.h: what is launched for lists (internal to the files of coo_cuda.h; for C and for kernels).
 *
 *      list.cu             the order of lists, and choosing from them
 *      coo_merge.cu       two lists as one
 *      coo_apply.cu       operators on values, and the Kronecker product
 *      coo_move.cu      entries to other places */
#ifndef DCSR_COO_KERNELS_CUDA_H
#define DCSR_COO_KERNELS_CUDA_H

#include "dcsr/store/cuda/gather_cuda.h"
#include "ops/matrix/coo_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Order, and choosing: list.cu ---- */

/* Adds to *count how many keys are not above the one before. */
void dcsr_i_cuda_coo_count_descents(dcsr_i_cuda_stream *stream, const uint64_t *keys, uint64_t n,
                                    unsigned long long *count);
/* Adds to *count how many rows have keys, which ascend. */
void dcsr_i_cuda_coo_count_rows(dcsr_i_cuda_stream *stream, const uint64_t *keys, uint64_t n,
                                unsigned long long *count);
/* Entries k of `from` with keep[k] = 1, to place[k] of `to`. */
void dcsr_i_cuda_coo_scatter(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo *from, const uint32_t *keep,
                             const uint64_t *place, const dcsr_i_cuda_coo *to);

/* keep[k] becomes 1 where entry k's value is not 0; where it is the first of its row; where it has the key of one
 * beside it; where it has none of the other list's keys; else 0. Keys ascend. */
void dcsr_i_cuda_coo_mark_true(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo *list, uint32_t *keep);
void dcsr_i_cuda_coo_mark_rows(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo *list, uint32_t *keep);
void dcsr_i_cuda_coo_mark_duplicates(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo *list, uint32_t *keep);
void dcsr_i_cuda_coo_mark_missing(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo *list,
                                  const dcsr_i_cuda_coo *other, uint32_t *keep);

/* The row of entry k with keep[k] = 1, to rows[place[k]]. */
void dcsr_i_cuda_coo_name_rows(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo *list, const uint32_t *keep,
                               const uint64_t *place, uint32_t *rows);

/* What decides whether an entry of a matrix that is written stays as it is (desc.h). */
typedef struct dcsr_i_cuda_staying {
    bool masked, complement, replace;
    dcsr_i_cuda_coo places;      /* where the mask is true before it is complemented */
    bool accumulates;            /* what T has no entry for stays */
    dcsr_i_cuda_coo T;           /* where the mask is true */
    bool region;                 /* what is outside of these rows and columns stays; NULL: all of them */
    const uint32_t *rows, *cols; /* bits */
    bool others;                 /* those that do not stay are meant */
} dcsr_i_cuda_staying;
/* keep[k] = 1 where entry k stays, else 0; with `others` the other way round. */
void dcsr_i_cuda_coo_mark_staying(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo *list,
                                  const dcsr_i_cuda_staying *how, uint32_t *keep);
/* Sets the bits of n indices. */
void dcsr_i_cuda_coo_set_bits(dcsr_i_cuda_stream *stream, uint32_t *bits, const uint32_t *indices,
                              uint64_t n);

/* ---- Merging: coo_merge.cu ---- */

typedef struct dcsr_i_cuda_merge {
    dcsr_i_cuda_coo x, y;
    bool keep_x, keep_y, keep_both;  /* what only x has, only y, both */
    dcsr_i_cuda_coo z;               /* the result: written */
    const void *x_values, *y_values; /* of z's type: for entries that are kept as they are */
    bool operate;                    /* on the lists' own values where both are there; else x's is taken */
    int name;                        /* of the operator: dcsr_binary_name */
    dcsr_type type;                  /* of its operands */
    uint64_t *begins;                /* of each part and of the end, in x and in y: 2 (parts + 1) places */
} dcsr_i_cuda_merge;
/* In how many parts two lists are gone through. */
uint64_t dcsr_i_cuda_merge_parts(const dcsr_i_cuda_merge *merge);
/* Finds the parts, and how many entries of each are kept; writes those, of part p from places[p] on. */
void dcsr_i_cuda_merge_count(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_merge *merge, uint32_t *counts);
void dcsr_i_cuda_merge_write(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_merge *merge,
                             const uint64_t *places);

/* ---- Operators: coo_apply.cu ---- */

/* A built-in operator on the values of a list. */
typedef struct dcsr_i_cuda_coo_pass {
    const dcsr_i_cuda_coo *x; /* of any type; of a pattern every value is 1 */
    int name;
    dcsr_type type;        /* of the operator's operand */
    dcsr_type xtype;       /* x's, or DCSR_PATTERN where the operator does not look at values */
    dcsr_i_scalar operand; /* its other operand, or the thunk */
    dcsr_type ztype;       /* of z */
    void *z;               /* as many values as x has; may be x's own where types are of one size */
} dcsr_i_cuda_coo_pass;
/* z = f(x); f(operand, x) where `first`, else f(x, operand); f(x, row, column, operand). */
void dcsr_i_cuda_coo_unary(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo_pass *pass);
void dcsr_i_cuda_coo_bound(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo_pass *pass, bool first);
void dcsr_i_cuda_coo_index(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo_pass *pass);
/* keep[k] = 1 where an index operator is true, else 0; z is not written. */
void dcsr_i_cuda_coo_test(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo_pass *pass, uint32_t *keep);

/* The Kronecker product of two lists by a built-in operator on `type`, in order; of a pattern its keys alone.
 */
typedef struct dcsr_i_cuda_coo_product {
    dcsr_i_cuda_coo a, b, z;               /* z has a.n * b.n entries */
    const uint64_t *a_offsets, *b_offsets; /* dcsr_i_cuda_coo_offsets() */
    int name;
    dcsr_type type;
} dcsr_i_cuda_coo_product;
void dcsr_i_cuda_coo_kronecker(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo_product *product);

/* ---- Places: coo_move.cu ---- */

/* Rows or columns that are named, on the device. */
typedef struct dcsr_i_cuda_indices {
    uint64_t first, n;
    const uint32_t *list;     /* n of them; NULL: first, first + 1, ... */
    const uint32_t *position; /* of each in another order that the result has; NULL: the same order */
} dcsr_i_cuda_indices;
typedef struct dcsr_i_cuda_region {
    dcsr_i_cuda_indices rows, cols;
} dcsr_i_cuda_region;

/* keep[k] = 1 where entry k's row and column are named, else 0; the lists ascend. */
void dcsr_i_cuda_coo_mark_inside(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo *list,
                                 const dcsr_i_cuda_region *region, uint32_t *keep);
/* Keys of all places of a region, in the order of its lists. */
void dcsr_i_cuda_coo_name_all(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_region *region,
                              const dcsr_i_cuda_coo *to);
/* The columns of entries, all of which are named, become their positions; the list ascends. */
void dcsr_i_cuda_coo_renumber(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo *list,
                              const dcsr_i_cuda_indices *cols);
/* The same where a column may be named any number of times. counts[k] = how often that of entry k is; with
 * the sums of these, entry k becomes entries begin[k] to begin[k + 1] - 1 of `to`. */
void dcsr_i_cuda_coo_count_named(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo *list,
                                 const dcsr_i_cuda_indices *cols, uint64_t *counts);
void dcsr_i_cuda_coo_multiply(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo *from, const uint64_t *begin,
                              const dcsr_i_cuda_indices *cols, const dcsr_i_cuda_coo *to);

/* Row i becomes row number i of those named, which may be in any order; likewise columns. */
void dcsr_i_cuda_coo_move(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo *list,
                          const dcsr_i_cuda_region *region);
/* Keys as a batch takes them: rows in place of the keys, and columns. */
void dcsr_i_cuda_coo_split(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo *list, uint64_t *cols);
/* All values of a list that is not a pattern become this one, of its type. */
void dcsr_i_cuda_coo_set_values(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo *list, dcsr_i_scalar value);
/* Keys of elements of a vector as entries of row `line`; of that column where `column`. */
void dcsr_i_cuda_coo_line_up(dcsr_i_cuda_stream *stream, const uint32_t *indices, uint64_t line, bool column,
                             const dcsr_i_cuda_coo *to);

#ifdef __cplusplus
}
#endif
#endif

/* list_kernels_cuda.h: what is launched for lists (internal to the files of list_cuda.h). */
#ifndef DCSR_LIST_KERNELS_CUDA_H
#define DCSR_LIST_KERNELS_CUDA_H

#include "dcsr/store/cuda/gather_cuda.h"
#include "ops/matrix/list_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The entries of a walk over all rows, to keys and values (NULL: none). */
void dcsr_i_cuda_list_gather(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_walk *walk, uint64_t entries,
                             uint64_t *keys, void *values);
/* Adds to *count how many keys are not above the one before. */
void dcsr_i_cuda_list_count_descents(dcsr_i_cuda_stream *stream, const uint64_t *keys, uint64_t n,
                                     unsigned long long *count);
/* Entries k of `from` with keep[k] = 1, to place[k] of `to`. */
void dcsr_i_cuda_list_scatter(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_list *from, const uint32_t *keep,
                              const uint64_t *place, const dcsr_i_cuda_list *to);

/* keep[k] becomes 1 where entry k's value is not 0; where it has the key of one beside it; where it has none
 * of the other list's keys; else 0. Keys ascend. */
void dcsr_i_cuda_list_mark_true(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_list *list, uint32_t *keep);
void dcsr_i_cuda_list_mark_duplicates(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_list *list,
                                      uint32_t *keep);
void dcsr_i_cuda_list_mark_missing(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_list *list,
                                   const dcsr_i_cuda_list *other, uint32_t *keep);

/* What decides whether an entry of a matrix that is written stays as it is (desc.h). */
typedef struct dcsr_i_cuda_staying {
    bool masked, complement, replace;
    dcsr_i_cuda_list places;     /* where the mask is true before it is complemented */
    bool accumulates;            /* what T has no entry for stays */
    dcsr_i_cuda_list T;          /* where the mask is true */
    bool region;                 /* what is outside of these rows and columns stays; NULL: all of them */
    const uint32_t *rows, *cols; /* bits */
} dcsr_i_cuda_staying;
/* keep[k] = 1 where entry k stays, else 0. */
void dcsr_i_cuda_list_mark_staying(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_list *list,
                                   const dcsr_i_cuda_staying *how, uint32_t *keep);
/* Sets the bits of n indices. */
void dcsr_i_cuda_list_set_bits(dcsr_i_cuda_stream *stream, uint32_t *bits, const uint32_t *indices,
                               uint64_t n);

/* ---- list_merge.cu ---- */

typedef struct dcsr_i_cuda_merge {
    dcsr_i_cuda_list x, y;
    bool keep_x, keep_y, keep_both;  /* what only x has, only y, both */
    dcsr_i_cuda_list z;              /* the result: written */
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

#ifdef __cplusplus
}
#endif
#endif

/* vector_pass_cuda.h: passes over vectors on a device, and what is launched for them (internal; for C and for
 * kernels).
 *
 * A pass goes through places k = 0 .. n-1: all elements, where element i is at place i, or those of an
 * ascending list of indices. At each place a kernel finds the element in its sources, wherever that stands
 * (write_vector_cuda.h), computes, and writes a value and a bit:
 *
 *      list     | 3 4 9 |           list     NULL
 *      values   | a . c |           values   | a . . b c . |        size places: a dense body
 *      present  | 1 0 1 |           present  | 1 0 0 1 1 0 |
 *
 * The left one becomes a sparse body with dcsr_i_cuda_compact(), the right one is a dense body. */
#ifndef DCSR_VECTOR_PASS_CUDA_H
#define DCSR_VECTOR_PASS_CUDA_H

#include "ops/vector/write_vector_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dcsr_i_cuda_pass {
    uint64_t n;                       /* places; at most, where `length` counts them */
    const uint32_t *list;             /* NULL: all */
    const unsigned long long *length; /* of the list; NULL: n */
    uint32_t *present;         /* gets the bits: dcsr_i_cuda_bit_words(n) words; NULL: they are not wanted */
    unsigned long long *count; /* what is there is added to it; NULL: it is not wanted */
    void *values;              /* gets the values */
} dcsr_i_cuda_pass;

/* z = op(x, y) by a built-in operator on `type`, where both have an element; with `either`, also what only
 * one has. */
typedef struct dcsr_i_cuda_binary_pass {
    dcsr_i_cuda_pass pass;
    int name;                      /* dcsr_binary_name */
    dcsr_type type, ztype;         /* of operands and result */
    dcsr_type out;                 /* of the values that are written */
    dcsr_i_cuda_write_source x, y; /* an operand that is a scalar: BY_BITS without bits and values */
    bool either;
} dcsr_i_cuda_binary_pass;
void dcsr_i_cuda_run_binary(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_binary_pass *pass);

/* z = f(x), by a built-in unary operator on `type`. */
typedef struct dcsr_i_cuda_unary_pass {
    dcsr_i_cuda_pass pass;
    int name;       /* dcsr_unary_name */
    dcsr_type type; /* of the operand */
    dcsr_type out;  /* of the values that are written */
    dcsr_i_cuda_write_source x;
} dcsr_i_cuda_unary_pass;
void dcsr_i_cuda_run_unary(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_unary_pass *pass);

/* z = f(x, i, 0, thunk) by a built-in index operator on `type`; or x where that is true. */
typedef struct dcsr_i_cuda_index_pass {
    dcsr_i_cuda_pass pass;
    int name;       /* dcsr_index_name */
    dcsr_type type; /* of the operand */
    dcsr_type out;  /* of the values that are written; of `select` that of x */
    dcsr_i_cuda_write_source x;
    dcsr_i_scalar thunk;
    bool select;
} dcsr_i_cuda_index_pass;
void dcsr_i_cuda_run_index(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_index_pass *pass);

/* What w gets of T, through mask and accum:
 *
 *      where the mask is true, in the region       T; with accum accum(w, T), or what only one of them has
 *      where the mask is true, not in it           w
 *      elsewhere                                   w, or nothing with `replace` */
typedef struct dcsr_i_cuda_write_pass {
    dcsr_i_cuda_pass pass; /* values may be w's own, and present as well */
    dcsr_i_cuda_write_source w, t;
    const void *fresh; /* T's values as values of w's type; NULL: each is `one` */
    dcsr_i_scalar one; /* of w's type */
    dcsr_i_cuda_mask mask;
    const uint32_t *region; /* bits; NULL: everywhere */
    bool replace;
    bool accum;     /* there is one, a built-in one */
    int name;       /* of it: dcsr_binary_name */
    dcsr_type type; /* of its operands */
    bool in_place;  /* values and bits are w's own, and stand at i */
    uint32_t *bits; /* of a list in place: w's bits, or NULL where they do not change */
} dcsr_i_cuda_write_pass;
void dcsr_i_cuda_run_write(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_write_pass *pass);

/* The values of a body of type xtype as values of ztype, to an array with as many places. */
void dcsr_i_cuda_run_cast(dcsr_i_cuda_stream *stream, dcsr_type ztype, void *z, dcsr_type xtype,
                          const dcsr_i_cuda_body *x);
/* Sets the bits of the indices. */
void dcsr_i_cuda_run_mark(dcsr_i_cuda_stream *stream, uint32_t *bits, const uint64_t *indices, uint64_t n);
/* number[indices[k]] becomes the largest k + 1 of those whose element x has; it has been 0. */
void dcsr_i_cuda_run_number(dcsr_i_cuda_stream *stream, uint32_t *number, const dcsr_i_cuda_write_source *x,
                            const uint64_t *indices, uint64_t n);
/* The element at place k becomes x's element indices[k], or, where that is NULL, element k. */
void dcsr_i_cuda_run_gather(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_pass *pass,
                            const dcsr_i_cuda_write_source *x, const uint64_t *indices);

/* The sum of some elements. */
typedef struct dcsr_i_cuda_sum_of_vector {
    dcsr_i_scalar value;
    uint64_t any; /* whether there are some */
} dcsr_i_cuda_sum_of_vector;
/* Adds up x's elements at places 0 .. n-1 by a built-in operator on that type, in an order that depends on n
 * and the device alone. `sums` is device memory for dcsr_i_cuda_partial_sums() of them; the first becomes the
 * result. */
uint64_t dcsr_i_cuda_partial_sums(dcsr_i_cuda_stream *stream, uint64_t n);
void dcsr_i_cuda_run_reduce(dcsr_i_cuda_stream *stream, dcsr_i_cuda_sum_of_vector *sums, int name,
                            dcsr_type type, const dcsr_i_cuda_write_source *x, uint64_t n);

#ifdef __cplusplus
}
#endif
#endif

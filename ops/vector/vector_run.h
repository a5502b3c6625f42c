/* vector_run.h: carrying out an operation on vectors block by block (internal).
 *
 * An operation says how a block of T comes about (produce) and where T may have elements; this computes it
 * and writes it into the output through mask and accum:
 *
 *      T may be anywhere      all blocks of consecutive elements, straight into a dense output: one pass
 *      T is in a list, or     the blocks of the list, into a sparse body, which then goes into the output
 *      the mask is a list
 */
#ifndef DCSR_VECTOR_RUN_H
#define DCSR_VECTOR_RUN_H

#include "ops/vector/vector_block.h"

/* Sets T->values, to `room` where the block is computed, and T->bits. `room` is for at->n values of T's type;
 * it may be the output's own memory, and so be where the same elements of an input are. False: a user's
 * function failed. */
typedef bool dcsr_i_produce(const void *operands, const dcsr_i_at *at, dcsr_i_elements *T, void *room);

typedef struct dcsr_i_vector_job {
    const char *call;
    dcsr_vector *w;
    const dcsr_vector *mask;
    const dcsr_binary_op *accum;
    const dcsr_desc *desc;

    dcsr_i_produce *produce;
    const void *operands;
    dcsr_type type;       /* of T */
    const char *users;    /* the name of a user's operator, which may fail; else NULL */
    bool full;            /* every element is there (of those in the list) */
    bool reads_output;    /* the output is an input too */
    bool reads_elsewhere; /* producing a block reads other places of the output than the block's */
    /* T has no elements but at these indices, in ascending order; where listed. */
    bool listed;
    bool list_full; /* every element that is listed is there */
    const uint32_t *list;
    uint64_t n;
} dcsr_i_vector_job;

/* w<mask> = accum(w, T) for the job. Everything has been checked. */
dcsr_status dcsr_i_vector_run(const dcsr_i_vector_job *job);

/* The parts of it, with what the output keeps said apart from where T is written: for each index w gets
 *
 *      where `inside` is true     what accum(w, T) has, an element or none
 *      elsewhere                  what it has, where `outside` is true, else none
 *
 * Neither mask is listed. */
dcsr_status dcsr_i_write_blocks(const dcsr_i_vector_job *job, const dcsr_i_mask *inside,
                                const dcsr_i_mask *outside);
/* w gets T's elements, with accum(w, T) where both have one; of its others it keeps those where `keep` is
 * true. T is sparse, and consumed. */
dcsr_status dcsr_i_write_entries(const char *call, dcsr_vector *w, const dcsr_binary_op *accum,
                                 const dcsr_i_mask *keep, dcsr_type ttype, dcsr_i_body *T);

/* ---- Parts of operations ---- */

/* The elements of T at the indices of a list, as a sparse body. */
dcsr_status dcsr_i_vector_compute(dcsr_i_body *T, const dcsr_i_vector_job *job, const uint32_t *list,
                                  uint64_t n);
/* Keeps those entries of a sparse body whose bit is set; `bits` has a word for every 64 entries. */
void dcsr_i_body_compact(dcsr_i_body *body, const dcsr_context *context, size_t value_size,
                         const uint64_t *bits);
/* Keeps those entries of a sparse body where the mask is true. OUT_OF_MEMORY: the body is as it was. */
dcsr_status dcsr_i_body_filter(dcsr_i_body *body, dcsr_context *context, size_t value_size,
                               const dcsr_i_mask *mask);
/* The indices of both lists, each once: *list has room for na + nb, of which *n are used. */
dcsr_status dcsr_i_list_unite(uint32_t **list, uint64_t *n, dcsr_context *context, const uint32_t *a,
                              uint64_t na, const uint32_t *b, uint64_t nb);
/* Those that are in both: *list has room for the lesser of na and nb. */
dcsr_status dcsr_i_list_intersect(uint32_t **list, uint64_t *n, dcsr_context *context, const uint32_t *a,
                                  uint64_t na, const uint32_t *b, uint64_t nb);

/* Produces the elements of one body, with values of the type that the job has: operands is a dcsr_i_source.
 */
dcsr_i_produce dcsr_i_produce_source;
/* Produces u and v united: op(u, v) where both have an element, or v's where op is NULL. */
typedef struct dcsr_i_union {
    const dcsr_binary_op *op;
    const dcsr_i_body *u, *v;
    dcsr_type utype, vtype, type;
} dcsr_i_union;
dcsr_i_produce dcsr_i_produce_union;

static inline dcsr_i_mask dcsr_i_mask_all(uint64_t size)
{
    return (dcsr_i_mask){.size = size};
}
static inline dcsr_i_mask dcsr_i_mask_none(uint64_t size)
{
    return (dcsr_i_mask){.size = size, .complement = true};
}

#endif

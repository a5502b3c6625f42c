/* write_vector.h: masks, and writing what an operation computed into a vector (internal).
 *
 *      w<mask> = accum(w, T)
 *
 * is done here for all operations whose result is a vector. Those that compute T block by block hand out the
 * blocks as they go (vector_run.h); others compute T whole and end with dcsr_i_vector_write(). */
#ifndef DCSR_WRITE_VECTOR_H
#define DCSR_WRITE_VECTOR_H

#include "dcsr/vector/vector_data.h"
#include <dcsr/desc.h>
#include "ops/algebra/operator.h"

/* Where what an operation computes goes. */
typedef struct dcsr_i_vector_output {
    const char *call;
    dcsr_vector *w;
    const dcsr_vector *mask;
    const dcsr_binary_op *accum;
    const dcsr_desc *desc;
} dcsr_i_vector_output;

/* A set of indices below `size`: all of them, or those whose bit is set, or those that are in a list; or,
 * with `complement`, exactly the others. */
typedef struct dcsr_i_mask {
    uint64_t size;
    const uint64_t *bits; /* one for each index, those beyond size are 0; or NULL */
    const uint32_t *list; /* ascending; or NULL. Both NULL and not `listed`: all */
    uint64_t n;           /* indices in the list */
    bool listed;          /* a list it is, if an empty one */
    bool complement;
    /* Memory of its own, of which bits and list may be; what they point to else belongs to the mask vector.
     */
    dcsr_context *context;
    uint64_t *own_bits;
    uint32_t *own_list;
    uint64_t own_capacity; /* of the list */
} dcsr_i_mask;

/* The mask that a vector and a description make. A structural mask lends the vector's own bits or list, and
 * so does one whose values are all true where it is sparse; others make theirs: one pass. vector may be NULL:
 * all, or with complement none. To be closed, also after a failure: OUT_OF_MEMORY. */
dcsr_status dcsr_i_mask_open(dcsr_i_mask *mask, dcsr_context *context, uint64_t size,
                             const dcsr_vector *vector, const dcsr_desc *desc);
void dcsr_i_mask_close(dcsr_i_mask *mask);
/* Makes bits of a list, for kernels that look at indices in no order: O(size / 64). */
dcsr_status dcsr_i_mask_use_bits(dcsr_i_mask *mask);

/* Whether the mask is true everywhere; nowhere. True is certain, false is not. */
static inline bool dcsr_i_mask_is_all(const dcsr_i_mask *mask)
{
    return mask->listed ? mask->complement && !mask->n : !mask->bits && !mask->complement;
}
static inline bool dcsr_i_mask_is_none(const dcsr_i_mask *mask)
{
    return mask->listed ? !mask->complement && !mask->n : !mask->bits && mask->complement;
}
/* Whether its indices can be gone through as a list. */
static inline bool dcsr_i_mask_is_list(const dcsr_i_mask *mask)
{
    return mask->listed && !mask->complement;
}
/* Whether the mask is true at an index, and for 64 of them from 64 * w on (where those beyond size mean
 * nothing); not of a list. */
static inline bool dcsr_i_mask_has(const dcsr_i_mask *mask, uint64_t index)
{
    return (!mask->bits || (mask->bits[index >> 6] >> (index & 63) & 1)) != mask->complement;
}
static inline uint64_t dcsr_i_mask_word(const dcsr_i_mask *mask, uint64_t w)
{
    return (mask->bits ? mask->bits[w] : UINT64_MAX) ^ (mask->complement ? UINT64_MAX : 0);
}

/* Checks the output of an operation, and its mask and description, if any: that they may be used, are of one
 * context and one size. Errors: INVALID_ARGUMENT, CONTEXT_DESTROYED, DIMENSION_MISMATCH. */
dcsr_status dcsr_i_vector_admit_output(const char *call, const dcsr_vector *w, const dcsr_vector *mask,
                                       const dcsr_desc *desc);
/* The same of an input, which may be of any size: `name` is the argument's. */
dcsr_status dcsr_i_vector_admit_input(const char *call, const char *name, const dcsr_vector *u,
                                      const dcsr_vector *w);
/* The same for operations that run on the host: also brings the elements there where a device has the newest
 * (OUT_OF_MEMORY). Those that may run on either go on with dcsr_i_dispatch(). */
dcsr_status dcsr_i_vector_check_output(const char *call, const dcsr_vector *w, const dcsr_vector *mask,
                                       const dcsr_desc *desc);

/* Fails with INVALID_ARGUMENT, for an operator that is NULL. */
dcsr_status dcsr_i_fail_no_operator(const char *call);

/* w<mask> = accum(w, T). T, of type ttype and w's size, is consumed, whatever happens: freed, or moved into w
 * where neither mask nor accum nor a cast is in the way. The output and the mask have been checked. On
 * failure (OUT_OF_MEMORY, CALLBACK by accum) w is as it was. Fills in the description's report for an
 * operation on vectors alone; whoever knows more does so afterwards.
 *
 * Cost: of a dense T one pass over w. Of a sparse one O(nvals(T)) where w is dense and nothing is to be
 * deleted (with accum, without replace), or where the mask is sparse and not complemented (O(nvals(mask))
 * then); where w is sparse O(nvals(w) + nvals(T)); else O(size / 64) besides. */
dcsr_status dcsr_i_vector_write(const char *call, dcsr_vector *w, const dcsr_vector *mask,
                                const dcsr_binary_op *accum, const dcsr_desc *desc, dcsr_type ttype,
                                dcsr_i_body *T);
/* The same through a mask that has been opened, and stays open. `confined`: T has nothing where the mask is
 * false, which then matters only to what w has there. */
dcsr_status dcsr_i_vector_write_through(const char *call, dcsr_vector *w, const dcsr_i_mask *mask,
                                        bool confined, const dcsr_binary_op *accum, const dcsr_desc *desc,
                                        dcsr_type ttype, dcsr_i_body *T);

#endif

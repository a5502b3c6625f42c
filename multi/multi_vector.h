/* multi_vector.h: what a vector on several devices is made of (internal).
 *
 *      borders    0          b1             b2       size
 *      part       |  part 0  |    part 1    |  part 2  |      each a vector of its device's context
 *
 * Where every element was set at once, parts on the cpu are slices of one block, so that all devices can read the whole
 * where it is; parts on GPUs are in their memory. An operation that writes a vector makes new parts and puts them in at
 * the end, when nothing can fail any more; y = A x writes into those that y has, where it can. */
#ifndef DCSR_MULTI_VECTOR_H
#define DCSR_MULTI_VECTOR_H

#include "multi/multi_view.h"

struct dcsr_multi_vector {
    dcsr_multi *devices;
    dcsr_type type;
    dcsr_i_borders *borders;
    dcsr_vector *part[DCSR_MAX_DEVICES];
};

/* DCSR_OK when the vector may be used: INVALID_ARGUMENT for NULL, naming `what` ("multi_spmv: x"), CONTEXT_DESTROYED,
 * DEVICE. */
dcsr_status dcsr_i_multi_vector_check(const dcsr_multi_vector *vector, const char *what);
uint64_t dcsr_i_multi_vector_size(const dcsr_multi_vector *vector);

/* Room for all parts of a vector with these borders, every element there: parts[k] is a slice of it for device k, and
 * *values where it begins. On failure nothing is left behind. OUT_OF_MEMORY. */
dcsr_status dcsr_i_multi_slices(dcsr_vector *parts[DCSR_MAX_DEVICES], void **values, dcsr_multi *devices,
                                const dcsr_i_borders *borders, dcsr_type type);
/* Puts them in, in place of those that the vector has; cannot fail. */
void dcsr_i_multi_vector_put(dcsr_multi_vector *vector, dcsr_vector *const parts[DCSR_MAX_DEVICES],
                             dcsr_i_borders *borders);
/* Destroys parts; those that are NULL are none. */
void dcsr_i_multi_parts_destroy(dcsr_vector *parts[DCSR_MAX_DEVICES], uint64_t count);

/* Where the values of a vector with every element are together in host memory; NULL: they are not. */
const void *dcsr_i_multi_together(dcsr_vector *const parts[DCSR_MAX_DEVICES], const dcsr_i_borders *borders);

/* A vector of the context with the elements begin to end - 1 of one that is cut at `borders`; where these lie together
 * it reads them in place, and must not be changed, nor outlive them. Adds to *bytes what was copied of parts other than
 * number `mine`. To be called in a task, or by one thread. Errors: OUT_OF_MEMORY. */
dcsr_status dcsr_i_multi_fetch(dcsr_vector **fetched, dcsr_context *context,
                               dcsr_vector *const parts[DCSR_MAX_DEVICES], const dcsr_i_borders *borders,
                               uint64_t begin, uint64_t end, uint64_t mine, uint64_t *bytes);

#endif

/* vector_indices.h: lists of indices that a caller gives (internal). */
#ifndef DCSR_VECTOR_INDICES_H
#define DCSR_VECTOR_INDICES_H

#include "ops/vector/vector_run.h"
#include <string.h>

/* INDEX_OUT_OF_RANGE, naming the first offender, unless all are below `size`; *ascending, which may be NULL,
 * becomes whether each is above the one before. */
dcsr_status dcsr_i_check_indices(const char *call, const dcsr_context *context, uint64_t size,
                                 const uint64_t *indices, uint64_t n, bool *ascending);

/* Puts the entries of a body, whose indices are in no order, in ascending order; of those of one index the
 * last stays. */
dcsr_status dcsr_i_body_sort(dcsr_i_body *body, dcsr_context *context, size_t value_size, uint64_t size);

#endif

/* coo_build.h: triples, for the code that fills them (internal). */
#ifndef DCSR_COO_BUILD_H
#define DCSR_COO_BUILD_H

#include <dcsr/coo.h>

/* Shortens the arrays in place (or lengthens them, without keeping the old ones beside the new). Unlike
 * dcsr_coo_resize() a failure loses everything: *coo is all zero then. */
dcsr_status dcsr_i_coo_trim(dcsr_coo *coo, uint64_t nnz);

/* dcsr_coo_allocate() for another call, which messages name. */
dcsr_status dcsr_i_coo_allocate(dcsr_coo *coo, const char *call, dcsr_context *context, dcsr_type type,
                                uint64_t rows, uint64_t cols, uint64_t nnz);

/* DCSR_OK when the structure is whole: a known type, and arrays where there must be some. */
dcsr_status dcsr_i_coo_check(const dcsr_coo *coo);

/* Whether it is square, in order, and its own transpose, values bit for bit (symmetric.c). Errors:
 * OUT_OF_MEMORY. */
dcsr_status dcsr_i_coo_is_symmetric(const dcsr_coo *coo, bool *symmetric);

#endif

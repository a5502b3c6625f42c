/* maintained_transpose_cuda.h: the transpose that a matrix on a device maintains (internal): what
 * maintained_transpose.h says of entries in host memory, of those on the device. */
#ifndef DCSR_MAINTAINED_TRANSPOSE_CUDA_H
#define DCSR_MAINTAINED_TRANSPOSE_CUDA_H

#include "dcsr/store/maintained_transpose.h"

/* A's version, which is about to be published, has this batch: n keys and words (NULL: no values), sorted and
 * combined, for which A's stream has been waited. They are needed no more, and are overwritten. */
void dcsr_i_cuda_twin_entries(dcsr_matrix *matrix, const dcsr_i_operation *operation, uint64_t *keys,
                              uint64_t *words, uint64_t n);
/* Inserts the entries of A's rows into a twin, by a batch that has all but the entries. TOO_LARGE,
 * OUT_OF_MEMORY. */
dcsr_status dcsr_i_cuda_twin_insert(dcsr_matrix *twin, dcsr_i_operation *operation, const dcsr_i_rows *rows);

#endif

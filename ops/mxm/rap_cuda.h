/* rap_cuda.h: the product of three matrices on a device, without the one between (internal; for C and for kernels).
 *
 * A row of R A P is added up in one hash table, from the entries of R's row, of the rows of A that these name, and of
 * the rows of P that those name: a term r (a p) for each path. A P is neither written nor read, but a row of it is
 * added up again for each row of R that names it. So this is chosen where rows of R hardly overlap - injection,
 * aggregation that is not smoothed - by an estimate of terms against products.
 *
 *      rap_cuda.c     estimate, bins, room
 *      mxm_hash.cu    its kernels */
#ifndef DCSR_RAP_CUDA_H
#define DCSR_RAP_CUDA_H

#include "ops/mxm/mxm_rows_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* C = R A P at once, if that is cheaper and there is no limit to keep: *taken. Errors as of dcsr_rap(). */
typedef dcsr_status dcsr_i_device_rap(bool *taken, const dcsr_i_matrix_output *out,
                                      const dcsr_semiring *semiring, dcsr_view *const views[3]);
dcsr_i_device_rap dcsr_i_cuda_rap;

/* ---- For kernels ---- */

typedef struct dcsr_i_cuda_rap_job {
    dcsr_i_cuda_mxm_job outer; /* R times A P; `b` is A */
    dcsr_i_cuda_mxm_job inner; /* A times P, and where the result goes */
} dcsr_i_cuda_rap_job;

/* heads[r] of rows that do not exist, but have so many entries. */
void dcsr_i_cuda_rap_heads(dcsr_i_cuda_stream *stream, const uint32_t *products, uint64_t rows,
                           uint64_t *heads);
/* The rows of a bin, by warps with a table each, or by blocks with one; table->lanes share an entry of R. */
void dcsr_i_cuda_rap_rows(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rap_job *job,
                          const dcsr_i_cuda_mxm_table *table, bool by_blocks);

#ifdef __cplusplus
}
#endif
#endif

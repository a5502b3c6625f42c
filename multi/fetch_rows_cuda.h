/* fetch_rows_cuda.h: rows of a partitioned matrix that are on other GPUs, brought to one (internal; for C and for
 * kernels). */
#ifndef DCSR_FETCH_ROWS_CUDA_H
#define DCSR_FETCH_ROWS_CUDA_H

#include "dcsr/base/cuda.h"
#include <dcsr/multi.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dcsr_i_wanted_rows;

/* As dcsr_i_multi_fetch_rows(), to a context on a GPU, from parts on GPUs that show no entry more than once. */
dcsr_status dcsr_i_cuda_fetch_rows(dcsr_matrix **fetched, dcsr_context *context, dcsr_multi_view *view,
                                   const struct dcsr_i_wanted_rows *wanted, uint64_t mine, uint64_t *bytes);

/* fetch_rows.cu: lengths[at[i]], or lengths[first + i] where at is NULL, becomes the length of row i of n. */
void dcsr_i_cuda_fetch_lengths(dcsr_i_cuda_stream *stream, uint64_t *lengths, const uint64_t *offsets,
                               const uint64_t *at, uint64_t first, uint64_t n);

#ifdef __cplusplus
}
#endif
#endif

/* multi_triangles.h: steps of triangles on several GPUs (internal; for C and for kernels). What is counted on a device
 * is counted by the kernels of algos/graph/cuda/triangles.cu. */
#ifndef DCSR_MULTI_TRIANGLES_H
#define DCSR_MULTI_TRIANGLES_H

#include "dcsr/base/cuda.h"
#include "dcsr/store/cuda/gather_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* degree[first + i] = entries of row i. */
void dcsr_i_multi_measure_rows(dcsr_i_cuda_stream *stream, dcsr_i_cuda_rows rows, uint64_t first,
                               uint32_t *degree);
/* How many edges each vertex of a walk keeps, of which the rows are from number `first` on: length[first + i]. */
void dcsr_i_multi_count_kept(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_walk *walk, uint64_t first,
                             const uint32_t *degree, uint32_t *length);
/* And which: member[begin[first + i]] and so on. kept: zeros, of each row. */
void dcsr_i_multi_list_kept(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_walk *walk, uint64_t first,
                            const uint32_t *degree, const uint64_t *begin, uint32_t *kept, uint32_t *member);
/* sum[i] += more[i]. */
void dcsr_i_multi_add_counts(dcsr_i_cuda_stream *stream, unsigned long long *sum,
                             const unsigned long long *more, uint64_t n);

#ifdef __cplusplus
}
#endif
#endif

/* fetch_rows_cuda.h: rows of a partitioned matrix that are on other GPUs, brought to one (internal). */
#ifndef DCSR_FETCH_ROWS_CUDA_H
#define DCSR_FETCH_ROWS_CUDA_H

#include "dcsr/base/cuda.h"
#include "multi/multi_data.h"

/* As dcsr_i_multi_fetch_rows(), to a context on a GPU, from parts on GPUs; what a row has more than once is
 * combined. */
dcsr_status dcsr_i_cuda_fetch_rows(dcsr_matrix **fetched, dcsr_context *context, dcsr_multi_view *view,
                                   const dcsr_i_wanted_rows *wanted, uint64_t mine, uint64_t *bytes);

#endif

/* traverse_cuda.h: breadth-first search on a device (internal; for C and for kernels). */
#ifndef DCSR_TRAVERSE_CUDA_H
#define DCSR_TRAVERSE_CUDA_H

#include <dcsr/traverse.h>
#include "dcsr/base/cuda.h"
#include "dcsr/store/cuda/gather_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a level has found. */
typedef struct dcsr_i_cuda_traversal_counts {
    unsigned long long vertices;
    unsigned long long edges; /* entries of their rows */
} dcsr_i_cuda_traversal_counts;

/* A search under way; all pointers are to device memory. */
typedef struct dcsr_i_cuda_traversal {
    dcsr_i_cuda_rows rows;
    uint64_t words;                       /* of bits, for all vertices */
    uint32_t *visited;                    /* bits of the vertices that have their level */
    uint32_t *fresh;                      /* of those that the walk from the frontier meets besides */
    uint32_t *queue;                      /* the frontier, in no particular order */
    uint64_t *offsets;                    /* of the frontier's rows, for the walk */
    int32_t *level;                       /* by vertex */
    dcsr_i_cuda_traversal_counts *counts; /* of the frontier */
} dcsr_i_cuda_traversal;

/* Sets the bits of the sources in `fresh`. */
void dcsr_i_cuda_traversal_start(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_traversal *search, uint64_t n,
                                 const uint64_t *sources);
/* Makes what is fresh the frontier, of this level; *counts comes as zeros. */
void dcsr_i_cuda_traversal_collect(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_traversal *search,
                                   int32_t level);
/* Walks the rows of the frontier, whose counts these are. OUT_OF_MEMORY. */
dcsr_status dcsr_i_cuda_traversal_expand(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_traversal *search,
                                         dcsr_i_cuda_traversal_counts counts);

/* ---- traverse_cuda.c ---- */

/* dcsr_traverse() for a view on a device, whose arguments have been checked; level may be anywhere. */
typedef dcsr_status dcsr_i_traverse(int32_t *level, dcsr_traverse_result *result, dcsr_view *A, uint64_t n,
                                    const uint64_t *sources);
dcsr_i_traverse dcsr_i_cuda_traverse;

#ifdef __cplusplus
}
#endif
#endif

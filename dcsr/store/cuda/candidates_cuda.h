/* candidates_cuda.h: the kernels that find rows which differ between two versions (internal; for C and for kernels'
 * files). Bitmaps are as in rewrite_cuda.h. */
#ifndef DCSR_CANDIDATES_CUDA_H
#define DCSR_CANDIDATES_CUDA_H

#include "dcsr/store/cuda/gather_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Two versions, perhaps of different dimensions. */
typedef struct dcsr_i_cuda_versions {
    dcsr_i_cuda_rows from, to;
} dcsr_i_cuda_versions;

/* Sets the bits of the rows of `count` pages that are not at the same places in both, and clears the others: the
 * rows of pages[i] have the bits from i * DCSR_CUDA_PAGE_ROWS on. */
void dcsr_i_cuda_mark_unshared(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_versions *versions,
                               const uint32_t *pages, uint64_t count, uint32_t *bitmap);
/* Replaces such numbers of bits by those of rows. */
void dcsr_i_cuda_number_rows(dcsr_i_cuda_stream *stream, const uint32_t *pages, uint32_t *bits,
                             uint64_t count);
/* The same where bit i is that of list[i]. */
void dcsr_i_cuda_number_listed(dcsr_i_cuda_stream *stream, const uint32_t *list, uint32_t *bits,
                               uint64_t count);

/* *below = how many of the list, which ascends, are below the limit. */
void dcsr_i_cuda_count_below(dcsr_i_cuda_stream *stream, const uint32_t *list, uint64_t count, uint64_t limit,
                             uint64_t *below);
/* Sets the bits of those rows of a list that are not of the same length in both, and clears the others. */
void dcsr_i_cuda_mark_lengths(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_versions *versions,
                              const uint32_t *list, uint64_t count, uint32_t *bitmap);
/* Sets the bits of further rows, which both have: those of a walk over `from`, with `entries` at most, that differ
 * from `to` in an entry. */
void dcsr_i_cuda_mark_entries(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_walk *walk, uint64_t entries,
                              const dcsr_i_cuda_rows *to, uint32_t *bitmap);

#ifdef __cplusplus
}
#endif
#endif

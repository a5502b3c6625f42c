/* fetch_cuda.h: elements of a vector that are on other GPUs, brought to one (internal; for C and for kernels). */
#ifndef DCSR_FETCH_CUDA_H
#define DCSR_FETCH_CUDA_H

#include "dcsr/vector/vector_cuda.h"
#include <dcsr/multi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Elements first to last - 1 of a part, and where they begin in the vector that is made. */
typedef struct dcsr_i_fetch_range {
    const dcsr_vector *part;
    uint64_t first, last, at;
} dcsr_i_fetch_range;

/* What is brought together, and in which form. */
typedef struct dcsr_i_fetch {
    dcsr_i_fetch_range range[DCSR_MAX_DEVICES]; /* none of them empty */
    uint64_t count, most;                       /* ranges; elements, at most */
    bool full, dense;                           /* every element is there; the form */
} dcsr_i_fetch;

/* ---- fetch_cuda.c ---- */

/* Fills a vector without elements, whose context is on a GPU: elements go from one device to the other, as a list or
 * with bits, without the host. OUT_OF_MEMORY, DEVICE. */
dcsr_status dcsr_i_cuda_multi_fetch(dcsr_vector *fetched, const dcsr_i_fetch *fetch);
/* Lets GPUs touch each other's memory where they can, so that copies between them go straight; where they cannot, or
 * the driver refuses, copies go by way of the host. */
void dcsr_i_cuda_open_to_peers(dcsr_context *const *contexts, uint64_t count);

/* ---- fetch.cu ---- */

/* at[0] and at[1] become the places in a list of n indices, ascending, where those from `first` and from `last` on
 * begin. */
void dcsr_i_cuda_fetch_find(dcsr_i_cuda_stream *stream, uint64_t *at, const uint32_t *indices, uint64_t n,
                            uint64_t first, uint64_t last);
/* Moves n indices by `by`, modulo 2^32. */
void dcsr_i_cuda_fetch_shift(dcsr_i_cuda_stream *stream, uint32_t *indices, uint64_t n, uint32_t by);
/* Sets the bits at, at + 1, ... where the n bits from number `first` of `from` on are set; NULL: all of them. */
void dcsr_i_cuda_fetch_bits(dcsr_i_cuda_stream *stream, uint32_t *present, uint64_t at, const uint32_t *from,
                            uint64_t first, uint64_t n);
/* n elements of a list to their places in a dense body, each moved by `by`, and their bits, if it has any. */
void dcsr_i_cuda_fetch_spread(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_body *to, size_t value_size,
                              const uint32_t *indices, const void *values, uint64_t n, uint32_t by);
/* *count becomes the number of bits that are set in these words. */
void dcsr_i_cuda_fetch_count(dcsr_i_cuda_stream *stream, unsigned long long *count, const uint32_t *bits,
                             uint64_t words);

#ifdef __cplusplus
}
#endif
#endif

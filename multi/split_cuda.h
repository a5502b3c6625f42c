/* split_cuda.h: splitting batches by owner on a GPU (internal; for C and for kernels).
 *
 *      caller        stages each batch, as keys of the whole matrix, on one of the GPUs: a chunk
 *      coordinator   chunks one behind the other -> sorted by owner, stably -> keys of the parts --copies--> owners
 *
 * So a call costs what it does with one device. After a million entries the next GPU is staged on, over its own link to
 * the host; each GPU splits what it has, all at once. Keys and words are what operations have on their device when
 * their entries have arrived (stage_cuda.h). */
#ifndef DCSR_SPLIT_CUDA_H
#define DCSR_SPLIT_CUDA_H

#include "dcsr/base/cuda.h"
#include <dcsr/multi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Keys and words (NULL: none) of the whole matrix, and where its rows are cut; kernels get it by value. */
typedef struct dcsr_i_cuda_batch {
    const uint64_t *keys, *words;
    uint64_t n;
    uint32_t column_bits, parts;
    uint64_t begin[DCSR_MAX_DEVICES + 1];
} dcsr_i_cuda_batch;

/* Of entries that are in several places, those of one, and how many there are before. */
typedef struct dcsr_i_cuda_chunk {
    const uint64_t *keys, *words;
    uint64_t first;
} dcsr_i_cuda_chunk;

/* ---- split.cu ---- */

/* Puts the n entries of chunks, a list in device memory, behind one another; words may be NULL. */
void dcsr_i_cuda_split_gather(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_chunk *chunks, uint64_t count,
                              uint64_t n, uint64_t *keys, uint64_t *words);
/* The owner of each entry, and its number. */
void dcsr_i_cuda_split_find(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_batch *batch, uint32_t *owner,
                            uint32_t *number);
/* Keys, with rows counted from the border of their owner, and words of the entries in the order of the numbers. */
void dcsr_i_cuda_split_pack(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_batch *batch, const uint32_t *owner,
                            const uint32_t *number, uint64_t *keys, uint64_t *words);

/* Whether an event of any device has been. */
bool dcsr_i_cuda_split_has_been(void *event);

#ifndef __cplusplus
#include "multi/multi_data.h"

/* ---- split_cuda.c ---- */

/* The device whose memory an array is in; as many as there are, if it is no device's. */
uint64_t dcsr_i_cuda_split_where(const dcsr_multi_matrix *matrix, const void *array);
/* Gives the operations of a split what is theirs of its chunks, which are dropped. INDEX_OUT_OF_RANGE names the first
 * entry outside, of those that came from a device. */
dcsr_status dcsr_i_cuda_split_chunks(dcsr_i_split *split, const dcsr_multi_matrix *matrix);
/* Whether the entries are there, and nothing is wrong with them. */
bool dcsr_i_cuda_split_is_read(const dcsr_i_operation *chunk);
/* Frees a chunk, with what it has on its device. */
void dcsr_i_cuda_split_drop(dcsr_i_operation *chunk);
#endif

#ifdef __cplusplus
}
#endif
#endif

/* exchange.h: products on GPUs, and the elements of x that their parts need of one another (internal; for C and for
 * kernels).
 *
 *      x, as part 1 sees it    |  part 0's     ..##|   part 1's own   |##..#   part 2's    |
 *      rows of part 1          | behind | interior                    | before |
 *
 * Rows whose entries all lie in the part's own columns are multiplied with x where it is. They are taken as one range
 * of whole pages of rows, the longest there is: of a grid, all but its borders. The other rows, before and behind it,
 * read x from `gathered`: address space for all of x that has memory only where those rows look, or memory for all of
 * it if they look at most of it. Before they are multiplied the elements that they look at are brought there, own ones
 * too, in blocks of 32; all that on a stream beside that of the interior. A matrix of no such order has no interior,
 * and gathers nearly all of x.
 *
 * What is found out and kept for a view: a list of blocks, ranges of rows with their plans (ops/spmv/spmv_cuda.h), the
 * memory of `gathered`, two streams on each device. */
#ifndef DCSR_MULTI_EXCHANGE_H
#define DCSR_MULTI_EXCHANGE_H

#include "dcsr/base/cuda.h"
#include "dcsr/store/cuda/gather_cuda.h"
#include <dcsr/multi.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DCSR_I_EXCHANGE_BLOCK = 32 };

typedef struct dcsr_i_exchange dcsr_i_exchange;

/* ---- Kernels: exchange.cu ---- */

/* Where x is cut, and the numbers of blocks: part k has those from block[k] on, the first of which begins with its
 * first element. Kernels get it by value. */
typedef struct dcsr_i_exchange_cut {
    uint64_t parts;
    uint64_t begin[DCSR_MAX_DEVICES + 1], block[DCSR_MAX_DEVICES + 1];
} dcsr_i_exchange_cut;

/* Where the elements of each part are: memory of any of the devices. */
typedef struct dcsr_i_exchange_parts {
    const void *values[DCSR_MAX_DEVICES];
} dcsr_i_exchange_parts;

/* foreign[p], zeros before, becomes 1 if a row of page p has an entry outside of columns [begin, end). */
void dcsr_i_exchange_mark_pages(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows, uint64_t begin,
                                uint64_t end, uint32_t *foreign);
/* Sets the bits of the blocks in which the rows of a walk have an entry, of which there are so many at most. */
void dcsr_i_exchange_mark_blocks(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_walk *walk, uint64_t entries,
                                 const dcsr_i_exchange_cut *cut, uint32_t *bits);
/* How many bits are set in each word; and their numbers, ascending, where those of a word begin at before[word]. */
void dcsr_i_exchange_count_bits(dcsr_i_cuda_stream *stream, const uint32_t *bits, uint64_t words,
                                uint32_t *counts);
void dcsr_i_exchange_list_bits(dcsr_i_cuda_stream *stream, const uint32_t *bits, uint64_t words,
                               const uint64_t *before, uint32_t *list);
/* Copies the n blocks of a list, from place `first` on and around, from the parts to their places in x: elements of
 * `size` bytes. */
void dcsr_i_exchange_fetch(dcsr_i_cuda_stream *stream, const dcsr_i_exchange_cut *cut,
                           const dcsr_i_exchange_parts *parts, const uint32_t *list, uint64_t first,
                           uint64_t n, void *x, size_t size);

/* Events with times, and the milliseconds from one to another, once both have been: 0 if CUDA does not say. Made for a
 * stream; failures are noted there. */
void *dcsr_i_exchange_clock_create(dcsr_i_cuda_stream *stream);
void dcsr_i_exchange_clock_set(dcsr_i_cuda_stream *stream, void *clock);
double dcsr_i_exchange_clock_between(void *from, void *to);
void dcsr_i_exchange_clock_destroy(dcsr_i_cuda_stream *stream, void *clock);

/* ---- What others call: exchange_cuda.c, in builds with CUDA ---- */

typedef struct dcsr_i_multi_gpu {
    /* y = A x for operands that have been checked; x has the borders of A's columns. */
    dcsr_status (*spmv)(dcsr_multi_vector *y, dcsr_multi_view *A, const dcsr_multi_vector *x,
                        dcsr_multi_report *report);
    /* In a task of device k: a vector of `size` elements in its memory, from an array on the host. */
    dcsr_status (*load)(dcsr_vector **part, dcsr_context *context, dcsr_type type, uint64_t size,
                        const void *values);
    /* In a task: its elements, all of which are there, to an array on the host. */
    dcsr_status (*store)(const dcsr_vector *part, void *values);
    /* What is kept with a view ends; NULL does nothing. */
    void (*drop)(dcsr_i_exchange *exchange);
} dcsr_i_multi_gpu;
extern const dcsr_i_multi_gpu dcsr_i_cuda_multi;
static const dcsr_i_multi_gpu *const dcsr_i_multi_on_gpus = DCSR_I_IN_CUDA(dcsr_i_cuda_multi);

#ifdef __cplusplus
}
#endif
#endif

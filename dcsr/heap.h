/* heap.h: the allocators below alloc.c, which counts what they hand out (internal; for alloc.c alone).
 *
 * MATRIX and SCRATCH: jemalloc or the system (heap.c). PINNED: jemalloc over memory that CUDA has pinned, or
 * CUDA directly (heap_pinned.c). Bytes are never zero. */
#ifndef DCSR_HEAP_H
#define DCSR_HEAP_H

#include "dcsr/alloc.h"

enum { DCSR_I_ALIGNMENT = 64 };

/* NULL when the system refuses. */
void *dcsr_i_heap_take(dcsr_i_pool pool, size_t bytes, bool zero);
/* NULL when it refuses; the block is then as it was. */
void *dcsr_i_heap_retake(dcsr_i_pool pool, void *block, size_t old_bytes, size_t bytes);
void dcsr_i_heap_give(dcsr_i_pool pool, void *block, size_t bytes);

#ifdef DCSR_CUDA
void *dcsr_i_pinned_take(size_t bytes, bool zero);
void *dcsr_i_pinned_retake(void *block, size_t old_bytes, size_t bytes);
void dcsr_i_pinned_give(void *block, size_t bytes);
/* Gives the memory back once none of it is in use. */
void dcsr_i_pinned_trim(void);
/* A context on a device opens (1) or closes (-1): while there is one, trimming leaves a few megabytes. */
void dcsr_i_pinned_keep(int contexts);
/* Adds the bytes in use and the bytes pinned, over all contexts. */
void dcsr_i_pinned_usage(uint64_t *active, uint64_t *resident);
#endif

#endif

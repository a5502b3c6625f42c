/* allocator.h: the allocators below alloc.c, which counts what they hand out (internal; for alloc.c alone).
 *
 * MATRIX and SCRATCH: jemalloc (allocator_jemalloc.c) or the system (allocator.c). PINNED: our own
 * lists over memory that CUDA has pinned (pinned_cuda.c). Bytes are never zero. */
#ifndef DCSR_ALLOCATOR_H
#define DCSR_ALLOCATOR_H

#include "dcsr/base/alloc.h"
#ifdef DCSR_JEMALLOC
/* Weak: a library that needed jemalloc could not be loaded by a running program, as jemalloc wants storage per thread
 * from the start. A process has it that links or preloads it, as the program dcsr does. */
#pragma weak mallocx
#pragma weak rallocx
#pragma weak sdallocx
#pragma weak mallctl
#include <jemalloc/jemalloc.h>
#endif

enum { DCSR_I_ALIGNMENT = 64 };
#define DCSR_I_HUGE_PAGE ((size_t)2 << 20)

/* An allocator of MATRIX and SCRATCH, or of PINNED, which has no name, enter() and leave(). take() and retake() give
 * NULL when the system refuses; the block is then as it was. usage() adds to what is there; enter() and leave() are as
 * in runtime.h. */
typedef struct dcsr_i_heap {
    const char *(*name)(void);
    void *(*take)(dcsr_i_pool pool, size_t bytes, bool zero);
    void *(*retake)(dcsr_i_pool pool, void *block, size_t old_bytes, size_t bytes);
    void (*give)(dcsr_i_pool pool, void *block, size_t bytes);
    void (*usage)(uint64_t *active, uint64_t *resident);
    unsigned (*enter)(dcsr_i_pool pool);
    void (*leave)(unsigned before);
    void (*trim)(void);
} dcsr_i_heap;

/* In builds with CUDA. */
extern const dcsr_i_heap dcsr_i_pinned_heap;
/* A context on a device opens (1) or closes (-1): while there is one, trimming leaves a few megabytes. */
void dcsr_i_pinned_keep(int contexts);

/* NULL where the process has no jemalloc, or the library was built without it, as for sanitizers. */
const dcsr_i_heap *dcsr_i_jemalloc(void);

/* To what a block of that many bytes is aligned. */
size_t dcsr_i_heap_alignment(size_t bytes);
/* Asks for huge pages where the block is large: for whole ones, its tail stays on small pages rather than commit more
 * than was asked for. Returns the block, which may be NULL. */
void *dcsr_i_heap_on_huge_pages(void *block, size_t bytes);

/* The allocator of a pool. */
const dcsr_i_heap *dcsr_i_heap_of(dcsr_i_pool pool);

#endif

/* allocator.c: memory of the host for matrices and for temporary work: by jemalloc where the process has it,
 * else by the system.
 *
 * Blocks of LARGE bytes and more are aligned to huge pages and ask for them. The alignment follows from the size alone,
 * and so is known again when the block is freed. */
#include "dcsr/base/allocator.h"
#include "dcsr/base/cuda.h"
#include "dcsr/base/runtime.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LARGE ((size_t)4 << 20)

size_t dcsr_i_heap_alignment(size_t bytes)
{
    return bytes >= LARGE ? DCSR_I_HUGE_PAGE : DCSR_I_ALIGNMENT;
}

void *dcsr_i_heap_on_huge_pages(void *block, size_t bytes)
{
    if (block && bytes >= LARGE) madvise(block, bytes & ~(DCSR_I_HUGE_PAGE - 1), MADV_HUGEPAGE);
    return block;
}

/* -- The system's allocator: both pools are one ---------------------------------------------------------------- */

static const char *name(void)
{
    return "system";
}

static void *take(dcsr_i_pool pool, size_t bytes, bool zero)
{
    (void)pool;
    size_t alignment = dcsr_i_heap_alignment(bytes);
    void *block = aligned_alloc(alignment, (bytes + alignment - 1) & ~(alignment - 1));
    dcsr_i_heap_on_huge_pages(block, bytes);
    return block && zero ? memset(block, 0, bytes) : block;
}

static void give(dcsr_i_pool pool, void *block, size_t bytes)
{
    (void)pool, (void)bytes;
    free(block);
}

static void *retake(dcsr_i_pool pool, void *block, size_t old_bytes, size_t bytes)
{
    void *moved = take(pool, bytes, false);
    if (!moved) return NULL;
    memcpy(moved, block, old_bytes < bytes ? old_bytes : bytes);
    give(pool, block, old_bytes);
    return moved;
}

static void usage(uint64_t *active, uint64_t *resident)
{
    (void)active, (void)resident; /* it does not say */
}

static unsigned enter(dcsr_i_pool pool)
{
    return (unsigned)pool;
}

static void leave(unsigned before)
{
    (void)before;
}

static void trim(void) {}

static const dcsr_i_heap of_system = {name, take, retake, give, usage, enter, leave, trim};

/* Of builds with CUDA. */
static const dcsr_i_heap *const pinned = DCSR_I_IN_CUDA(dcsr_i_pinned_heap);

/* The same for as long as the process lasts. */
static const dcsr_i_heap *chosen(void)
{
    const dcsr_i_heap *jemalloc = dcsr_i_jemalloc();
    return jemalloc ? jemalloc : &of_system;
}

/* -- What allocator.h and runtime.h say
 * ----------------------------------------------------------------------------- */

const char *dcsr_i_allocator_name(void)
{
    return chosen()->name();
}

unsigned dcsr_i_allocator_enter(dcsr_i_pool pool)
{
    return chosen()->enter(pool);
}

void dcsr_i_allocator_leave(unsigned before)
{
    chosen()->leave(before);
}

const dcsr_i_heap *dcsr_i_heap_of(dcsr_i_pool pool)
{
    return pool == DCSR_I_PINNED ? pinned : chosen();
}

void dcsr_i_allocator_usage(uint64_t *active, uint64_t *resident)
{
    *active = *resident = 0;
    chosen()->usage(active, resident);
    if (pinned) pinned->usage(active, resident);
}

void dcsr_i_allocator_trim(void)
{
    chosen()->trim();
    if (pinned) pinned->trim();
}

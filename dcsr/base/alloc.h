/* alloc.h: the one place where the library takes memory (internal).
 *
 * Pools per context: MATRIX for what lives as long as matrices do, SCRATCH for temporary work, and in builds
 * with CUDA PINNED, also temporary, for what the device copies from and to. With jemalloc each is an arena of
 * its own (allocator.c, pinned_cuda.c); without (sanitizer builds) they are the system's allocator and CUDA's.
 * Sizes are counted per context, held against its memory limit, and every call can be made to fail by the
 * countdown that tests set. Memory taken with a NULL context (contexts themselves) is not counted. */
#ifndef DCSR_ALLOC_H
#define DCSR_ALLOC_H

#include <dcsr/context.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum dcsr_i_pool {
    DCSR_I_MATRIX = 0,
    DCSR_I_SCRATCH = 1,
    DCSR_I_PINNED = 2,
    DCSR_I_POOLS
} dcsr_i_pool;

/* Memory for count objects of size bytes, aligned to 64; NULL with the error set when the product overflows,
 * the limit is reached, or the system refuses, as it does a block of more than the machine's memory. Zero
 * bytes give a pointer that may be freed. */
void *dcsr_i_alloc(dcsr_context *context, dcsr_i_pool pool, size_t count, size_t size);
/* n blocks of `size` bytes each at once, counted once, to be freed one by one: all, or none and false. */
bool dcsr_i_alloc_many(dcsr_context *context, dcsr_i_pool pool, size_t n, size_t size, void **blocks);
/* As dcsr_i_alloc(), zeroed. */
void *dcsr_i_calloc(dcsr_context *context, dcsr_i_pool pool, size_t count, size_t size);
/* Resizes a block of old_count objects (block may be NULL with old_count 0); on failure the block is as it
 * was. */
void *dcsr_i_realloc(dcsr_context *context, dcsr_i_pool pool, void *block, size_t old_count, size_t count,
                     size_t size);
/* Frees a block that was allocated with the same count and size. NULL does nothing. */
void dcsr_i_free(dcsr_context *context, dcsr_i_pool pool, void *block, size_t count, size_t size);

/* Counts `bytes` of memory that is committed elsewhere (mapped pages) against the limit: DCSR_OK or
 * OUT_OF_MEMORY. */
dcsr_status dcsr_i_charge(dcsr_context *context, dcsr_i_pool pool, uint64_t bytes);
void dcsr_i_uncharge(dcsr_context *context, dcsr_i_pool pool, uint64_t bytes);

/* Bytes in use of a pool; an estimate while other threads allocate. */
uint64_t dcsr_i_used(const dcsr_context *context, dcsr_i_pool pool);

/* Of a memory limit a part is set aside for calls that ask, or make room (context.h). What the calling thread
 * takes from here on may come from it: none, as at first, half or all of it. Returns what it was before, to
 * go back to that. */
typedef enum dcsr_i_set_aside {
    DCSR_I_NOT_SET_ASIDE,
    DCSR_I_HALF_SET_ASIDE,
    DCSR_I_ALL_SET_ASIDE
} dcsr_i_set_aside;
dcsr_i_set_aside dcsr_i_use_set_aside(dcsr_i_set_aside part);

/* Tests: the (n+1)-th allocation or commit from now fails, and all after it until called again; negative:
 * none does. dcsr_i_allocations(): how many there have been since either was first called. Process-wide. */
void dcsr_i_fail_allocations_after(long n);
uint64_t dcsr_i_allocations(void);

#ifdef __cplusplus
}
#endif
#endif

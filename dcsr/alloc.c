/* alloc.c: counted memory in two pools.
 *
 * With jemalloc each pool is an arena, made once per process: contexts come and go without leaving arenas
 * behind, and are told apart by their counters. An explicit arena alone would bypass jemalloc's thread
 * caches, so every thread that allocates gets an explicit cache per pool, which goes when the thread ends.
 * Without jemalloc (sanitizer builds) both pools are the system's allocator.
 *
 * Blocks of LARGE bytes and more are aligned to huge pages and ask for them. The alignment follows from the
 * size alone, and so is known again when the block is freed. */
#include "dcsr/runtime.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef DCSR_JEMALLOC
#include <jemalloc/jemalloc.h>
#include <stdio.h>
#endif

#define ALIGNMENT ((size_t)64)
#define HUGE_PAGE ((size_t)2 << 20)
#define LARGE     ((size_t)4 << 20)

static const char *const pool_name[DCSR_I_POOLS] = {"matrices", "temporary work"};

/* -- Failing on purpose
 * ------------------------------------------------------------------------------------------ */

static _Atomic uint64_t allocations;
static _Atomic uint64_t fail_from = UINT64_MAX; /* the number of the first allocation that fails */

void dcsr_i_fail_allocations_after(long n)
{
    atomic_store(&fail_from, n < 0 ? UINT64_MAX : atomic_load(&allocations) + (uint64_t)n);
}

uint64_t dcsr_i_allocations(void)
{
    return atomic_load(&allocations);
}

static bool allowed(void)
{
    uint64_t number = atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    return number < atomic_load_explicit(&fail_from, memory_order_relaxed);
}

/* -- Counting
 * ---------------------------------------------------------------------------------------------------- */

static dcsr_status refuse(dcsr_i_pool pool, uint64_t bytes)
{
    return dcsr_i_fail(
        DCSR_ERROR_OUT_OF_MEMORY,
        "the system refused %llu bytes for %s; free matrices and views, or use a machine with more memory",
        (unsigned long long)bytes, pool_name[pool]);
}

/* Adds first and looks after, so that two threads cannot slip under the limit together. */
static dcsr_status count(dcsr_context *context, dcsr_i_pool pool, uint64_t bytes)
{
    if (!context) return DCSR_OK;
    uint64_t before = atomic_fetch_add(&context->used[pool], bytes);
    uint64_t total = before + bytes + atomic_load(&context->used[!pool]);
    if (total > context->memory_limit || total < bytes) {
        atomic_fetch_sub(&context->used[pool], bytes);
        return dcsr_i_fail(
            DCSR_ERROR_OUT_OF_MEMORY,
            "%llu more bytes for %s would exceed the context's memory limit of %llu (%llu are in use); "
            "raise the limit, or free matrices and views",
            (unsigned long long)bytes, pool_name[pool], (unsigned long long)context->memory_limit,
            (unsigned long long)(total - bytes));
    }
    uint64_t peak = atomic_load_explicit(&context->peak, memory_order_relaxed);
    while (total > peak && !atomic_compare_exchange_weak_explicit(
                               &context->peak, &peak, total, memory_order_relaxed, memory_order_relaxed)) {
    }
    return DCSR_OK;
}

static void uncount(dcsr_context *context, dcsr_i_pool pool, uint64_t bytes)
{
    if (context) atomic_fetch_sub_explicit(&context->used[pool], bytes, memory_order_relaxed);
}

dcsr_status dcsr_i_charge(dcsr_context *context, dcsr_i_pool pool, uint64_t bytes)
{
    return allowed() ? count(context, pool, bytes) : refuse(pool, bytes);
}

void dcsr_i_uncharge(dcsr_context *context, dcsr_i_pool pool, uint64_t bytes)
{
    uncount(context, pool, bytes);
}

/* -- The allocator below
 * ----------------------------------------------------------------------------------------- */

static size_t alignment_of(size_t bytes)
{
    return bytes >= LARGE ? HUGE_PAGE : ALIGNMENT;
}

/* The whole huge pages of a large block; its tail stays on small pages rather than commit more than was asked
 * for. */
static void *with_huge_pages(void *block, size_t bytes)
{
    if (block && bytes >= LARGE) madvise(block, bytes & ~(HUGE_PAGE - 1), MADV_HUGEPAGE);
    return block;
}

#ifdef DCSR_JEMALLOC

static pthread_once_t prepared = PTHREAD_ONCE_INIT;
static pthread_key_t thread_end;
static bool caching; /* whether the end of a thread can be noticed, without which caches would leak */
static unsigned arena[DCSR_I_POOLS]; /* 0, jemalloc's own first arena, where none could be made */
static char name[64];

/* jemalloc's flags for the calling thread: the pool's arena and the thread's cache over it; 0 before its
 * first call. */
static _Thread_local int flags[DCSR_I_POOLS];
static _Thread_local unsigned cache[DCSR_I_POOLS];

static void drop_caches(void *unused)
{
    (void)unused;
    for (int pool = 0; pool < DCSR_I_POOLS; pool++) {
        if (cache[pool] != UINT32_MAX)
            mallctl("tcache.destroy", NULL, NULL, &cache[pool], sizeof cache[pool]);
        flags[pool] = 0;
    }
}

static void set_of_arena(unsigned index, const char *what, const void *value, size_t size)
{
    char key[64];
    snprintf(key, sizeof key, "arena.%u.%s", index, what);
    mallctl(key, NULL, NULL, (void *)(uintptr_t)value, size);
}

/* By default jemalloc returns a freed block of 8 MiB and more to the system at once, and others little by
 * little; and temporary work, which asks for the same again soon, would pay for every page anew. A worker
 * that has been idle for a while gives it back (dcsr_i_allocator_trim). */
static void keep_freed_blocks(unsigned index)
{
    set_of_arena(index, "oversize_threshold", &(size_t){SIZE_MAX}, sizeof(size_t));
    set_of_arena(index, "dirty_decay_ms", &(ssize_t){-1}, sizeof(ssize_t));
}

/* Row tables are many small blocks that a batch touches in no order: on small pages each would cost a page
 * walk, and each new one a fault. So the arena of matrices maps memory for them in huge pages. */
static extent_hooks_t huge_hooks;
static extent_alloc_t *map_extent; /* jemalloc's own */

static void *map_huge_extent(extent_hooks_t *hooks, void *place, size_t size, size_t align, bool *zero,
                             bool *commit, unsigned index)
{
    bool huge = !place && size >= HUGE_PAGE;
    void *extent =
        map_extent(hooks, place, size, huge && align < HUGE_PAGE ? HUGE_PAGE : align, zero, commit, index);
    if (extent && huge) madvise(extent, size & ~(HUGE_PAGE - 1), MADV_HUGEPAGE);
    return extent;
}

static void use_huge_extents(unsigned index)
{
    char key[64];
    extent_hooks_t *hooks = NULL, *ours = &huge_hooks;
    size_t size = sizeof hooks;
    snprintf(key, sizeof key, "arena.%u.extent_hooks", index);
    if (mallctl(key, &hooks, &size, NULL, 0) || !hooks) return;
    huge_hooks = *hooks;
    map_extent = hooks->alloc;
    huge_hooks.alloc = map_huge_extent;
    set_of_arena(index, "extent_hooks", &ours, sizeof ours);
}

static void prepare(void)
{
    const char *version = "";
    size_t size = sizeof version;
    mallctl("version", &version, &size, NULL, 0);
    snprintf(name, sizeof name, "jemalloc %.*s", (int)strcspn(version, "-"), version);
    for (int pool = 0; pool < DCSR_I_POOLS; pool++) {
        size = sizeof arena[pool];
        if (mallctl("arenas.create", &arena[pool], &size, NULL, 0)) arena[pool] = 0;
    }
    keep_freed_blocks(arena[DCSR_I_SCRATCH]);
    use_huge_extents(arena[DCSR_I_MATRIX]);
    caching = !pthread_key_create(&thread_end, drop_caches);
}

static void prepare_thread(void)
{
    pthread_once(&prepared, prepare);
    for (int pool = 0; pool < DCSR_I_POOLS; pool++) {
        size_t size = sizeof cache[pool];
        bool cached = caching && !mallctl("tcache.create", &cache[pool], &size, NULL, 0);
        if (!cached) cache[pool] = UINT32_MAX;
        flags[pool] = (int)MALLOCX_ARENA(arena[pool]) |
                      (cached ? (int)MALLOCX_TCACHE(cache[pool]) : (int)MALLOCX_TCACHE_NONE);
    }
    if (caching) pthread_setspecific(thread_end, cache);
}

static int flags_of(dcsr_i_pool pool, size_t bytes)
{
    if (!flags[pool]) prepare_thread();
    return flags[pool] | MALLOCX_ALIGN(alignment_of(bytes));
}

static void *take(dcsr_i_pool pool, size_t bytes, bool zero)
{
    return with_huge_pages(mallocx(bytes, flags_of(pool, bytes) | (zero ? MALLOCX_ZERO : 0)), bytes);
}

static void *retake(dcsr_i_pool pool, void *block, size_t old_bytes, size_t bytes)
{
    (void)old_bytes;
    return with_huge_pages(rallocx(block, bytes, flags_of(pool, bytes)), bytes);
}

static void give(dcsr_i_pool pool, void *block, size_t bytes)
{
    sdallocx(block, bytes, flags_of(pool, bytes));
}

const char *dcsr_i_allocator_name(void)
{
    pthread_once(&prepared, prepare);
    return name;
}

static size_t arena_statistic(unsigned index, const char *what)
{
    char key[64];
    size_t value = 0, size = sizeof value;
    snprintf(key, sizeof key, "stats.arenas.%u.%s", index, what);
    return mallctl(key, &value, &size, NULL, 0) ? 0 : value;
}

void dcsr_i_allocator_usage(uint64_t *active, uint64_t *resident)
{
    pthread_once(&prepared, prepare);
    uint64_t epoch = 1;
    size_t page = 0, size = sizeof page;
    mallctl("epoch", NULL, NULL, &epoch, sizeof epoch); /* statistics are as of the last time this was set */
    if (mallctl("arenas.page", &page, &size, NULL, 0)) page = 0;
    *active = *resident = 0;
    for (int pool = 0; pool < DCSR_I_POOLS; pool++) {
        *active += (uint64_t)arena_statistic(arena[pool], "pactive") * page;
        *resident += arena_statistic(arena[pool], "resident");
    }
}

void dcsr_i_allocator_trim(void)
{
    pthread_once(&prepared, prepare);
    for (int pool = 0; pool < DCSR_I_POOLS; pool++) {
        char key[64];
        snprintf(key, sizeof key, "arena.%u.purge", arena[pool]);
        mallctl(key, NULL, NULL, NULL, 0);
    }
}

#else

static void *take(dcsr_i_pool pool, size_t bytes, bool zero)
{
    (void)pool;
    size_t alignment = alignment_of(bytes);
    void *block = aligned_alloc(alignment, (bytes + alignment - 1) & ~(alignment - 1));
    with_huge_pages(block, bytes);
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

const char *dcsr_i_allocator_name(void)
{
    return "system";
}

void dcsr_i_allocator_usage(uint64_t *active, uint64_t *resident)
{
    *active = *resident = 0;
}

void dcsr_i_allocator_trim(void) {}

#endif

/* -- Blocks
 * ------------------------------------------------------------------------------------------------------ */

static size_t at_least_one(size_t bytes)
{
    return bytes ? bytes : 1;
}

/* The product, or OUT_OF_MEMORY when it is more than an object can have. */
static dcsr_status total_bytes(size_t *bytes, size_t number, size_t size)
{
    if (__builtin_mul_overflow(number, size, bytes) || *bytes > PTRDIFF_MAX - HUGE_PAGE)
        return dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY,
                           "%zu objects of %zu bytes are more than memory can address", number, size);
    return DCSR_OK;
}

static void *allocate(dcsr_context *context, dcsr_i_pool pool, size_t number, size_t size, bool zero)
{
    size_t bytes;
    if (total_bytes(&bytes, number, size) != DCSR_OK) return NULL;
    if (!allowed()) {
        refuse(pool, bytes);
        return NULL;
    }
    if (count(context, pool, bytes) != DCSR_OK) return NULL;
    void *block = take(pool, at_least_one(bytes), zero);
    if (!block) {
        uncount(context, pool, bytes);
        refuse(pool, bytes);
    }
    return block;
}

void *dcsr_i_alloc(dcsr_context *context, dcsr_i_pool pool, size_t number, size_t size)
{
    return allocate(context, pool, number, size, false);
}

bool dcsr_i_alloc_many(dcsr_context *context, dcsr_i_pool pool, size_t n, size_t size, void **blocks)
{
    size_t bytes, made = 0;
    if (total_bytes(&bytes, n, size) != DCSR_OK) return false;
    if (!allowed()) {
        refuse(pool, bytes);
        return false;
    }
    if (count(context, pool, bytes) != DCSR_OK) return false;
    while (made < n && (blocks[made] = take(pool, at_least_one(size), false))) made++;
    if (made == n) return true;
    while (made) give(pool, blocks[--made], at_least_one(size));
    uncount(context, pool, bytes);
    refuse(pool, bytes);
    return false;
}

void *dcsr_i_calloc(dcsr_context *context, dcsr_i_pool pool, size_t number, size_t size)
{
    return allocate(context, pool, number, size, true);
}

void *dcsr_i_realloc(dcsr_context *context, dcsr_i_pool pool, void *block, size_t old_number, size_t number,
                     size_t size)
{
    if (!block) return allocate(context, pool, number, size, false);
    size_t bytes, old_bytes = old_number * size;
    if (total_bytes(&bytes, number, size) != DCSR_OK) return NULL;
    if (!allowed()) {
        refuse(pool, bytes);
        return NULL;
    }
    if (bytes > old_bytes && count(context, pool, bytes - old_bytes) != DCSR_OK) return NULL;
    void *moved = retake(pool, block, at_least_one(old_bytes), at_least_one(bytes));
    if (!moved) {
        if (bytes > old_bytes) uncount(context, pool, bytes - old_bytes);
        refuse(pool, bytes);
    } else if (bytes < old_bytes) {
        uncount(context, pool, old_bytes - bytes);
    }
    return moved;
}

void dcsr_i_free(dcsr_context *context, dcsr_i_pool pool, void *block, size_t number, size_t size)
{
    if (!block) return;
    size_t bytes = number * size;
    give(pool, block, at_least_one(bytes));
    uncount(context, pool, bytes);
}

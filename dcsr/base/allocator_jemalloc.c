/* allocator_jemalloc.c: memory of the host by jemalloc, in processes that have it.
 *
 * Each pool is an arena, made once per process: contexts come and go without leaving arenas behind, and are told apart
 * by their counters. An explicit arena alone would bypass jemalloc's thread caches, so every thread that allocates gets
 * an explicit cache per pool, which goes when the thread ends. */
#include "dcsr/base/allocator.h"
#ifdef DCSR_JEMALLOC
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { HEAPS = 2 }; /* of the pools: MATRIX and SCRATCH */

static pthread_once_t prepared = PTHREAD_ONCE_INIT;
static pthread_key_t thread_end;
static bool caching; /* whether the end of a thread can be noticed, without which caches would leak */
static unsigned arena[HEAPS]; /* 0, jemalloc's own first arena, where none could be made */
static char name[64];

/* jemalloc's flags for the calling thread: the pool's arena and the thread's cache over it; 0 before its
 * first call. */
static _Thread_local int flags[HEAPS];
static _Thread_local unsigned cache[HEAPS];

static void drop_caches(void *unused)
{
    (void)unused;
    for (int pool = 0; pool < HEAPS; pool++) {
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
 * walk, and each new one a fault; and so would LMDB's pages, which are temporary work, when they are filled.
 * So the arenas map their memory in huge pages. */
static extent_hooks_t huge_hooks;
static extent_alloc_t *map_extent; /* jemalloc's own */

static void *map_huge_extent(extent_hooks_t *hooks, void *place, size_t size, size_t align, bool *zero,
                             bool *commit, unsigned index)
{
    bool huge = !place && size >= DCSR_I_HUGE_PAGE;
    void *extent = map_extent(hooks, place, size, huge && align < DCSR_I_HUGE_PAGE ? DCSR_I_HUGE_PAGE : align,
                              zero, commit, index);
    if (extent && huge) madvise(extent, size & ~(DCSR_I_HUGE_PAGE - 1), MADV_HUGEPAGE);
    return extent;
}

static void use_huge_extents(unsigned index)
{
    char key[64];
    extent_hooks_t *hooks = NULL, *ours = &huge_hooks;
    size_t size = sizeof hooks;
    snprintf(key, sizeof key, "arena.%u.extent_hooks", index);
    if (mallctl(key, &hooks, &size, NULL, 0) || !hooks || hooks == ours) return;
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
    for (int pool = 0; pool < HEAPS; pool++) {
        size = sizeof arena[pool];
        if (mallctl("arenas.create", &arena[pool], &size, NULL, 0)) arena[pool] = 0;
    }
    keep_freed_blocks(arena[DCSR_I_SCRATCH]);
    for (int pool = 0; pool < HEAPS; pool++) use_huge_extents(arena[pool]);
    caching = !pthread_key_create(&thread_end, drop_caches);
}

static void prepare_thread(void)
{
    pthread_once(&prepared, prepare);
    for (int pool = 0; pool < HEAPS; pool++) {
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
    return flags[pool] | MALLOCX_ALIGN(dcsr_i_heap_alignment(bytes));
}

static void *take(dcsr_i_pool pool, size_t bytes, bool zero)
{
    return dcsr_i_heap_on_huge_pages(mallocx(bytes, flags_of(pool, bytes) | (zero ? MALLOCX_ZERO : 0)),
                                     bytes);
}

static void *retake(dcsr_i_pool pool, void *block, size_t old_bytes, size_t bytes)
{
    (void)old_bytes;
    return dcsr_i_heap_on_huge_pages(rallocx(block, bytes, flags_of(pool, bytes)), bytes);
}

static void give(dcsr_i_pool pool, void *block, size_t bytes)
{
    sdallocx(block, bytes, flags_of(pool, bytes));
}

static const char *name_and_version(void)
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

static void usage(uint64_t *active, uint64_t *resident)
{
    pthread_once(&prepared, prepare);
    uint64_t epoch = 1;
    size_t page = 0, size = sizeof page;
    mallctl("epoch", NULL, NULL, &epoch, sizeof epoch); /* statistics are as of the last time this was set */
    if (mallctl("arenas.page", &page, &size, NULL, 0)) page = 0;
    for (int pool = 0; pool < HEAPS; pool++) {
        *active += (uint64_t)arena_statistic(arena[pool], "pactive") * page;
        *resident += arena_statistic(arena[pool], "resident");
    }
}

static unsigned enter(dcsr_i_pool pool)
{
    unsigned before = 0, within;
    size_t size = sizeof before;
    pthread_once(&prepared, prepare);
    within = arena[pool];
    if (mallctl("thread.arena", &before, &size, &within, sizeof within)) return 0;
    return before;
}

static void leave(unsigned before)
{
    mallctl("thread.arena", NULL, NULL, &before, sizeof before);
}

static void trim(void)
{
    pthread_once(&prepared, prepare);
    for (int pool = 0; pool < HEAPS; pool++) {
        char key[64];
        snprintf(key, sizeof key, "arena.%u.purge", arena[pool]);
        mallctl(key, NULL, NULL, NULL, 0);
    }
}

const dcsr_i_heap *dcsr_i_jemalloc(void)
{
    static const dcsr_i_heap heap = {name_and_version, take, retake, give, usage, enter, leave, trim};
    return mallocx && rallocx && sdallocx && mallctl ? &heap : NULL;
}

#else

const dcsr_i_heap *dcsr_i_jemalloc(void)
{
    return NULL;
}

#endif

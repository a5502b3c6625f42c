/* pinned_cuda.c: pinned memory of the host, for what a device copies from and to.
 *
 * Pinning costs as much as copying megabytes, so it is done in large pieces. With jemalloc an arena of its
 * own divides them up: it asks for extents through a hook, which pins, and keeps what is freed. Once none of
 * it is in use and it is more than KEPT_BYTES, trimming destroys the arena and unpins the pieces; the next
 * use makes another. What small matrices need stays, however often they come and go, and so does what large
 * batches go through (upload_cuda.c). Without jemalloc (sanitizer builds, which look at each block) every
 * block is pinned by itself. */
#include "dcsr/base/allocator.h"
#include "dcsr/base/cuda.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#ifdef DCSR_JEMALLOC

/* What CUDA pinned at once, in its own first bytes. */
typedef struct piece {
    struct piece *next;
    char *begin; /* of the extent; its pages follow those of this header */
    size_t size;
} piece;

enum { PAGE = 4096, KEPT_BYTES = 40 << 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for the arena */
static bool made;
static unsigned arena;
static uint64_t bytes_in_use, blocks_in_use;

static pthread_mutex_t pieces_lock = PTHREAD_MUTEX_INITIALIZER;
static piece *pieces;
static uint64_t bytes_pinned;
static int open_contexts; /* likewise */

static void *pin_extent(extent_hooks_t *hooks, void *place, size_t size, size_t align, bool *zero,
                        bool *commit, unsigned index)
{
    (void)hooks, (void)index;
    if (place) return NULL; /* CUDA takes no wishes */
    size_t whole = size + (align > PAGE ? align : PAGE);
    piece *pinned = dcsr_i_cuda_pin(whole);
    if (!pinned) return NULL;
    uintptr_t after = (uintptr_t)(pinned + 1), step = align > PAGE ? align : PAGE;
    char *begin = (char *)((after + step - 1) / step * step);
    if (begin + size > (char *)pinned + whole) { /* it is not even page-aligned */
        dcsr_i_cuda_unpin(pinned);
        return NULL;
    }
    pinned->begin = begin;
    pinned->size = size;
    pthread_mutex_lock(&pieces_lock);
    pinned->next = pieces;
    pieces = pinned;
    bytes_pinned += whole;
    pthread_mutex_unlock(&pieces_lock);
    if (*zero) memset(begin, 0, size);
    *commit = true;
    return begin;
}

/* Extents may be divided, and joined again within their piece. Both return true to refuse. */
static bool split_extent(extent_hooks_t *hooks, void *extent, size_t size, size_t first, size_t second,
                         bool committed, unsigned index)
{
    (void)hooks, (void)extent, (void)size, (void)first, (void)second, (void)committed, (void)index;
    return false;
}

static bool merge_extents(extent_hooks_t *hooks, void *first, size_t first_size, void *second,
                          size_t second_size, bool committed, unsigned index)
{
    (void)hooks, (void)first_size, (void)second_size, (void)committed, (void)index;
    bool together = false;
    pthread_mutex_lock(&pieces_lock);
    for (const piece *p = pieces; p && !together; p = p->next)
        together = (char *)first >= p->begin && (char *)second < p->begin + p->size &&
                   (char *)second >= p->begin && (char *)first < p->begin + p->size;
    pthread_mutex_unlock(&pieces_lock);
    return !together;
}

/* Nothing is given back piece by piece: there is no hook to free an extent. */
static extent_hooks_t pinning_hooks = {.alloc = pin_extent, .split = split_extent, .merge = merge_extents};

static bool make_arena(void)
{
    extent_hooks_t *hooks = &pinning_hooks;
    size_t size = sizeof arena;
    if (!made && !mallctl("arenas.create", &arena, &size, &hooks, sizeof hooks)) made = true;
    return made;
}

/* Every call goes to the arena, without a thread's cache: so all is back when nothing is in use. */
static int flags(void)
{
    return (int)MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE | MALLOCX_ALIGN(DCSR_I_ALIGNMENT);
}

static void *arena_take(size_t bytes, bool zero)
{
    pthread_mutex_lock(&lock);
    void *block = make_arena() ? mallocx(bytes, flags() | (zero ? MALLOCX_ZERO : 0)) : NULL;
    if (block) blocks_in_use++, bytes_in_use += bytes;
    pthread_mutex_unlock(&lock);
    return block;
}

static void *arena_retake(void *block, size_t old_bytes, size_t bytes)
{
    pthread_mutex_lock(&lock);
    void *moved = rallocx(block, bytes, flags());
    if (moved) bytes_in_use += bytes - old_bytes;
    pthread_mutex_unlock(&lock);
    return moved;
}

static void arena_give(void *block, size_t bytes)
{
    pthread_mutex_lock(&lock);
    sdallocx(block, bytes, flags());
    blocks_in_use--, bytes_in_use -= bytes;
    pthread_mutex_unlock(&lock);
}

static void arena_trim(void)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_lock(&pieces_lock);
    bool much = bytes_pinned > (open_contexts ? KEPT_BYTES : 0);
    pthread_mutex_unlock(&pieces_lock);
    if (made && much && !blocks_in_use) {
        char key[64];
        snprintf(key, sizeof key, "arena.%u.destroy", arena);
        made = mallctl(key, NULL, NULL, NULL, 0) != 0;
    }
    if (!made) {
        pthread_mutex_lock(&pieces_lock);
        while (pieces) {
            piece *next = pieces->next;
            dcsr_i_cuda_unpin(pieces);
            pieces = next;
        }
        bytes_pinned = 0;
        pthread_mutex_unlock(&pieces_lock);
    }
    pthread_mutex_unlock(&lock);
}

static void arena_keep(int contexts)
{
    pthread_mutex_lock(&pieces_lock);
    open_contexts += contexts;
    pthread_mutex_unlock(&pieces_lock);
}

static void arena_usage(uint64_t *active, uint64_t *resident)
{
    pthread_mutex_lock(&lock);
    *active += bytes_in_use;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&pieces_lock);
    *resident += bytes_pinned;
    pthread_mutex_unlock(&pieces_lock);
}

#define BY_ARENA(call) \
    if (dcsr_i_jemalloc()) call
#else
#define BY_ARENA(call)
#endif

/* -- The allocator: without an arena every block is pinned by itself, and nothing is kept ------------------------ */

static void *take(dcsr_i_pool pool, size_t bytes, bool zero)
{
    (void)pool;
    BY_ARENA(return arena_take(bytes, zero));
    void *block = dcsr_i_cuda_pin(bytes);
    return block && zero ? memset(block, 0, bytes) : block;
}

static void give(dcsr_i_pool pool, void *block, size_t bytes)
{
    (void)pool, (void)bytes;
    BY_ARENA({
        arena_give(block, bytes);
        return;
    });
    dcsr_i_cuda_unpin(block);
}

static void *retake(dcsr_i_pool pool, void *block, size_t old_bytes, size_t bytes)
{
    BY_ARENA(return arena_retake(block, old_bytes, bytes));
    void *moved = take(pool, bytes, false);
    if (!moved) return NULL;
    memcpy(moved, block, old_bytes < bytes ? old_bytes : bytes);
    give(pool, block, old_bytes);
    return moved;
}

/* What the open devices keep goes too. */
static void trim(void)
{
    BY_ARENA(arena_trim());
    dcsr_i_cuda_trim();
}

void dcsr_i_pinned_keep(int contexts)
{
    (void)contexts;
    BY_ARENA(arena_keep(contexts));
}

static void usage(uint64_t *active, uint64_t *resident)
{
    (void)active, (void)resident;
    BY_ARENA(arena_usage(active, resident));
}

const dcsr_i_heap dcsr_i_pinned_heap = {
    .take = take, .retake = retake, .give = give, .usage = usage, .trim = trim};

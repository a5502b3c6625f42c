/* arena.c: address-space reservation, committing, and the block bookkeeping of arena.h. */
#include "dcsr/arena.h"
#include "dcsr/alloc.h"
#include "dcsr/error.h"
#include "dcsr/runtime.h"
#include <assert.h>
#include <string.h>
#include <sys/mman.h>

/* Pages are committed in steps of a huge page, and all but the first one of each array may be huge: small
 * matrices then stay small, large ones get the shorter page walks (measured: 1.3x on SpMV). */
enum { HUGE_PAGE = 2 << 20 };

static uint64_t round_up(uint64_t value, uint64_t step)
{
    return (value + step - 1) / step * step;
}

static uint64_t block_bytes(const dcsr_i_arena *arena)
{
    return (4 + arena->value_size) << DCSR_I_BLOCK_SHIFT;
}

/* Under AddressSanitizer places that are not handed out are poisoned, so that reading what was given back is
 * found as in any other memory. */
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
static void forbid(const dcsr_i_arena *arena, uint64_t begin, uint64_t entries)
{
    ASAN_POISON_MEMORY_REGION(arena->columns + begin, entries * sizeof *arena->columns);
    if (arena->value_size)
        ASAN_POISON_MEMORY_REGION(arena->values + begin * arena->value_size, entries * arena->value_size);
}
static void allow(const dcsr_i_arena *arena, uint64_t begin, uint64_t entries)
{
    ASAN_UNPOISON_MEMORY_REGION(arena->columns + begin, entries * sizeof *arena->columns);
    if (arena->value_size)
        ASAN_UNPOISON_MEMORY_REGION(arena->values + begin * arena->value_size, entries * arena->value_size);
}
#else
#define forbid(arena, begin, entries) ((void)(arena), (void)(begin), (void)(entries))
#define allow                         forbid
#endif

/* A doomed block is not free before its run is, even when nothing in it is in use any more. */
static bool is_free(const dcsr_i_block *block)
{
    return !block->live && !block->doomed;
}

static void advise_huge(char *array, size_t bytes)
{
    if (bytes > HUGE_PAGE) madvise(array + HUGE_PAGE, bytes - HUGE_PAGE, MADV_HUGEPAGE);
}

dcsr_status dcsr_i_arena_init(dcsr_i_arena *arena, dcsr_context *context, size_t value_size)
{
    memset(arena, 0, sizeof *arena);
    arena->context = context;
    arena->value_size = value_size;
    uint64_t blocks = context->reserve_bytes / block_bytes(arena);
    if (blocks < 1) blocks = 1;
    /* A process near its address-space limit gets a smaller reservation rather than none. */
    for (;; blocks /= 2) {
        size_t columns = round_up(blocks << (DCSR_I_BLOCK_SHIFT + 2), HUGE_PAGE);
        size_t values = round_up((blocks << DCSR_I_BLOCK_SHIFT) * value_size, HUGE_PAGE);
        arena->reserved = columns + values + HUGE_PAGE;
        arena->base =
            mmap(NULL, arena->reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (arena->base != MAP_FAILED) {
            char *aligned = (char *)round_up((uintptr_t)arena->base, HUGE_PAGE);
            arena->columns = (uint32_t *)aligned;
            arena->values = value_size ? aligned + columns : NULL;
            advise_huge(aligned, columns);
            if (value_size) advise_huge(arena->values, values);
            break;
        }
        if (blocks < 4096)
            return dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY,
                               "creating a matrix: cannot reserve %zu bytes of address space; raise the "
                               "limit (ulimit -v) or destroy matrices that are not needed",
                               arena->reserved);
    }
    arena->limit = blocks;
    pthread_mutex_init(&arena->lock, NULL);
    return DCSR_OK;
}

void dcsr_i_arena_destroy(dcsr_i_arena *arena)
{
    if (!arena->base || arena->base == MAP_FAILED) return;
    dcsr_i_uncharge(arena->context, DCSR_I_MATRIX, arena->resident_blocks * block_bytes(arena));
    dcsr_i_free(arena->context, DCSR_I_MATRIX, arena->block, arena->block_capacity, sizeof *arena->block);
    allow(arena, 0, arena->block_capacity << DCSR_I_BLOCK_SHIFT);
    munmap(arena->base, arena->reserved);
    pthread_mutex_destroy(&arena->lock);
    arena->base = NULL;
}

static dcsr_status commit_array(char *array, uint64_t *committed, uint64_t needed)
{
    if (needed <= *committed) return DCSR_OK;
    uint64_t target = round_up(needed, HUGE_PAGE);
    if (mprotect(array + *committed, target - *committed, PROT_READ | PROT_WRITE) != 0)
        return dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY, "growing a matrix: the system refused %llu bytes",
                           (unsigned long long)(target - *committed));
    *committed = target;
    return DCSR_OK;
}

/* Makes room for `top` blocks: committed pages and bookkeeping. */
static dcsr_status grow(dcsr_i_arena *arena, uint64_t top)
{
    if (top > arena->limit)
        return dcsr_i_fail(
            DCSR_ERROR_OUT_OF_MEMORY,
            "growing a matrix: its address space of %zu bytes is used up; create the context with a "
            "larger reserve_bytes",
            arena->reserved);
    if (top > arena->block_capacity) {
        uint64_t capacity = arena->block_capacity ? 2 * arena->block_capacity : 16;
        if (capacity < top) capacity = top;
        dcsr_i_block *block = dcsr_i_realloc(arena->context, DCSR_I_MATRIX, arena->block,
                                             arena->block_capacity, capacity, sizeof *block);
        if (!block) return DCSR_ERROR_OUT_OF_MEMORY;
        memset(block + arena->block_capacity, 0, (capacity - arena->block_capacity) * sizeof *block);
        arena->block = block;
        arena->block_capacity = capacity;
    }
    DCSR_TRY(commit_array((char *)arena->columns, &arena->committed[0], top << (DCSR_I_BLOCK_SHIFT + 2)));
    if (arena->value_size)
        DCSR_TRY(commit_array(arena->values, &arena->committed[1],
                              (top << DCSR_I_BLOCK_SHIFT) * arena->value_size));
    return DCSR_OK;
}

/* Next fit among free blocks below top; UINT64_MAX when there is no run of `count`. */
static uint64_t find_free_run(dcsr_i_arena *arena, uint64_t count)
{
    if (arena->free_blocks < count) return UINT64_MAX;
    uint64_t run = 0;
    uint64_t start = arena->search < arena->top ? arena->search : 0;
    for (uint64_t step = 0, b = start; step < arena->top + count && step < 2 * arena->top; step++) {
        run = is_free(&arena->block[b]) ? run + 1 : 0;
        if (run == count) {
            arena->search = b + 1;
            return b + 1 - count;
        }
        if (++b == arena->top) b = 0, run = 0;
    }
    return UINT64_MAX;
}

/* Returns the memory of free blocks to the system. */
static void trim_locked(dcsr_i_arena *arena)
{
    uint64_t dropped = 0;
    for (uint64_t b = 0; b < arena->top; b++) {
        if (!is_free(&arena->block[b]) || !arena->block[b].resident) continue;
        uint64_t first = b;
        while (b < arena->top && is_free(&arena->block[b]) && arena->block[b].resident)
            arena->block[b++].resident = false;
        dropped += b - first;
        madvise((char *)arena->columns + (first << (DCSR_I_BLOCK_SHIFT + 2)),
                (b - first) << (DCSR_I_BLOCK_SHIFT + 2), MADV_DONTNEED);
        if (arena->value_size) {
            /* A block of one-byte values is one page, so block edges are page edges for every type. */
            size_t size = arena->value_size << DCSR_I_BLOCK_SHIFT;
            madvise(arena->values + first * size, (b - first) * size, MADV_DONTNEED);
        }
    }
    arena->resident_blocks -= dropped;
    dcsr_i_uncharge(arena->context, DCSR_I_MATRIX, dropped * block_bytes(arena));
}

static uint64_t absent_blocks(const dcsr_i_arena *arena, uint64_t first, uint64_t count)
{
    uint64_t absent = 0;
    for (uint64_t b = first; b < first + count; b++) absent += !arena->block[b].resident;
    return absent;
}

/* Claims `count` neighbouring blocks, every entry of them counted as handed out. */
static dcsr_status claim_run(dcsr_i_arena *arena, uint64_t count, uint64_t version, bool foreign,
                             uint64_t *first)
{
    uint64_t b = find_free_run(arena, count);
    bool fresh = b == UINT64_MAX;
    if (fresh) {
        /* Free blocks that end at the top are extended rather than left behind. */
        b = arena->top;
        while (b > 0 && is_free(&arena->block[b - 1])) b--;
        DCSR_TRY(grow(arena, b + count));
    }
    uint64_t absent = absent_blocks(arena, b, count);
    if (dcsr_i_charge(arena->context, DCSR_I_MATRIX, absent * block_bytes(arena)) != DCSR_OK) {
        /* What is kept for reuse makes room before anything is refused. */
        trim_locked(arena);
        absent = absent_blocks(arena, b, count);
        DCSR_TRY(dcsr_i_charge(arena->context, DCSR_I_MATRIX, absent * block_bytes(arena)));
    }
    arena->resident_blocks += absent;
    if (b + count > arena->top) {
        arena->free_blocks -= arena->top - b;
        arena->top = b + count;
    } else {
        arena->free_blocks -= count;
    }
    for (uint64_t i = b; i < b + count; i++)
        arena->block[i] =
            (dcsr_i_block){.live = DCSR_I_BLOCK, .resident = true, .foreign = foreign, .born = version};
    arena->used += count << DCSR_I_BLOCK_SHIFT;
    forbid(arena, b << DCSR_I_BLOCK_SHIFT, count << DCSR_I_BLOCK_SHIFT);
    *first = b;
    return DCSR_OK;
}

static void give_locked(dcsr_i_arena *arena, uint64_t begin, uint64_t entries)
{
    forbid(arena, begin, entries);
    arena->used -= entries;
    while (entries) {
        dcsr_i_block *block = &arena->block[begin >> DCSR_I_BLOCK_SHIFT];
        uint64_t here = DCSR_I_BLOCK - (begin & (DCSR_I_BLOCK - 1));
        if (here > entries) here = entries;
        assert(block->live >= here);
        block->live -= (uint32_t)here;
        if (is_free(block)) arena->free_blocks++;
        begin += here;
        entries -= here;
    }
}

dcsr_status dcsr_i_arena_take(dcsr_i_arena *arena, uint64_t entries, uint64_t version, uint64_t *begin)
{
    if (entries > arena->limit << DCSR_I_BLOCK_SHIFT)
        return dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY,
                           "growing a matrix by %llu entries: more than its address space",
                           (unsigned long long)entries);
    dcsr_status status = DCSR_OK;
    pthread_mutex_lock(&arena->lock);
    if (arena->open_end - arena->open < entries) {
        uint64_t blocks = (entries + DCSR_I_BLOCK - 1) >> DCSR_I_BLOCK_SHIFT;
        /* Head room, so that many small batches share a run. */
        uint64_t wanted = arena->top / 64 < 64 ? arena->top / 64 : 64;
        uint64_t first = 0;
        if (blocks < wanted && claim_run(arena, wanted, version, false, &first) == DCSR_OK)
            blocks = wanted;
        else
            status = claim_run(arena, blocks, version, false, &first);
        if (status == DCSR_OK) {
            uint64_t start = first << DCSR_I_BLOCK_SHIFT;
            if (arena->open_end != start) {
                give_locked(arena, arena->open, arena->open_end - arena->open);
                arena->open = start;
            }
            arena->open_end = (first + blocks) << DCSR_I_BLOCK_SHIFT;
        }
    }
    if (status == DCSR_OK) {
        *begin = arena->open;
        arena->open += entries;
        allow(arena, *begin, entries);
    }
    pthread_mutex_unlock(&arena->lock);
    return status;
}

dcsr_status dcsr_i_arena_take_blocks(dcsr_i_arena *arena, uint64_t entries, uint64_t version, bool foreign,
                                     uint64_t *begin)
{
    *begin = 0;
    if (!entries) return DCSR_OK;
    if (entries > arena->limit << DCSR_I_BLOCK_SHIFT)
        return dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY,
                           "moving %llu entries: more than the matrix's address space",
                           (unsigned long long)entries);
    pthread_mutex_lock(&arena->lock);
    uint64_t blocks = (entries + DCSR_I_BLOCK - 1) >> DCSR_I_BLOCK_SHIFT, first = 0;
    dcsr_status status = claim_run(arena, blocks, version, foreign, &first);
    if (status == DCSR_OK) {
        *begin = first << DCSR_I_BLOCK_SHIFT;
        give_locked(arena, *begin + entries, (blocks << DCSR_I_BLOCK_SHIFT) - entries);
        allow(arena, *begin, entries);
    }
    pthread_mutex_unlock(&arena->lock);
    return status;
}

void dcsr_i_arena_give(dcsr_i_arena *arena, uint64_t begin, uint64_t entries)
{
    if (!entries) return;
    pthread_mutex_lock(&arena->lock);
    give_locked(arena, begin, entries);
    pthread_mutex_unlock(&arena->lock);
}

static bool is_home(const dcsr_i_block *block)
{
    return block->live && !block->foreign && !block->doomed;
}

dcsr_status dcsr_i_arena_doom(dcsr_i_arena *arena, dcsr_i_run **runs, uint64_t *count)
{
    pthread_mutex_lock(&arena->lock);
    give_locked(arena, arena->open, arena->open_end - arena->open);
    arena->open = arena->open_end = 0;
    uint64_t n = 0;
    for (uint64_t b = 0; b < arena->top; b++)
        n += is_home(&arena->block[b]) && (b == 0 || !is_home(&arena->block[b - 1]));
    dcsr_status status = DCSR_OK;
    *count = n;
    *runs = dcsr_i_alloc(arena->context, DCSR_I_MATRIX, n, sizeof **runs);
    if (*runs) {
        uint64_t r = 0;
        for (uint64_t b = 0; b < arena->top; b++) {
            if (!is_home(&arena->block[b])) continue;
            uint64_t first = b;
            while (b < arena->top && is_home(&arena->block[b])) b++;
            (*runs)[r++] = (dcsr_i_run){first, b - first};
        }
        for (r = 0; r < n; r++)
            for (uint64_t b = 0; b < (*runs)[r].count; b++) arena->block[(*runs)[r].first + b].doomed = true;
    } else {
        status = DCSR_ERROR_OUT_OF_MEMORY;
    }
    pthread_mutex_unlock(&arena->lock);
    return status;
}

void dcsr_i_arena_spare(dcsr_i_arena *arena, const dcsr_i_run *runs, uint64_t count)
{
    pthread_mutex_lock(&arena->lock);
    for (uint64_t r = 0; r < count; r++)
        for (uint64_t b = runs[r].first; b < runs[r].first + runs[r].count; b++) {
            arena->block[b].doomed = false;
            if (is_free(&arena->block[b])) arena->free_blocks++;
        }
    pthread_mutex_unlock(&arena->lock);
}

void dcsr_i_arena_free_runs(dcsr_i_arena *arena, const dcsr_i_run *runs, uint64_t count)
{
    pthread_mutex_lock(&arena->lock);
    for (uint64_t r = 0; r < count; r++)
        for (uint64_t b = runs[r].first; b < runs[r].first + runs[r].count; b++) {
            forbid(arena, b << DCSR_I_BLOCK_SHIFT, DCSR_I_BLOCK);
            arena->used -= arena->block[b].live;
            arena->block[b].live = 0;
            arena->block[b].doomed = false;
            arena->free_blocks++;
        }
    pthread_mutex_unlock(&arena->lock);
}

uint64_t dcsr_i_arena_born(dcsr_i_arena *arena, uint64_t begin)
{
    pthread_mutex_lock(&arena->lock);
    uint64_t born = arena->block[begin >> DCSR_I_BLOCK_SHIFT].born;
    pthread_mutex_unlock(&arena->lock);
    return born;
}

void dcsr_i_arena_trim(dcsr_i_arena *arena)
{
    pthread_mutex_lock(&arena->lock);
    trim_locked(arena);
    pthread_mutex_unlock(&arena->lock);
}

uint64_t dcsr_i_arena_used(dcsr_i_arena *arena)
{
    pthread_mutex_lock(&arena->lock);
    uint64_t used = arena->used - (arena->open_end - arena->open);
    pthread_mutex_unlock(&arena->lock);
    return used;
}

uint64_t dcsr_i_arena_held(dcsr_i_arena *arena)
{
    pthread_mutex_lock(&arena->lock);
    uint64_t held = (arena->top - arena->free_blocks) << DCSR_I_BLOCK_SHIFT;
    pthread_mutex_unlock(&arena->lock);
    return held;
}

uint64_t dcsr_i_arena_bytes(dcsr_i_arena *arena)
{
    pthread_mutex_lock(&arena->lock);
    uint64_t bytes =
        arena->resident_blocks * block_bytes(arena) + arena->block_capacity * sizeof *arena->block;
    pthread_mutex_unlock(&arena->lock);
    return bytes;
}

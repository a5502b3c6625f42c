/* arena.c: the block bookkeeping of arena.h. */
#include "dcsr/store/arena.h"
#include "dcsr/base/alloc.h"
#include "dcsr/base/error.h"
#include "dcsr/base/runtime.h"
#include "dcsr/store/segment.h"
#include <assert.h>
#include <string.h>

/* Blocks of a GPU's matrix are larger: its memory comes in steps of megabytes, and its batches are larger. */
#ifdef DCSR_SIMT
enum { CPU_SHIFT = 12, CUDA_SHIFT = 12 };
#else
enum { CPU_SHIFT = 12, CUDA_SHIFT = 16 };
#endif

/* Places of the first home and of the last one, which is less than a block. */
enum { FIRST_HOME = 64, LAST_HOME = 512 };

/* Of `blocks` blocks, in each of the two arrays. */
static uint64_t column_bytes(const dcsr_i_arena *arena, uint64_t blocks)
{
    return (blocks << arena->shift) * sizeof *arena->columns;
}
static uint64_t value_bytes(const dcsr_i_arena *arena, uint64_t blocks)
{
    return (blocks << arena->shift) * arena->value_size;
}

static uint64_t blocks_for(const dcsr_i_arena *arena, uint64_t entries)
{
    return (entries + ((uint64_t)1 << arena->shift) - 1) >> arena->shift;
}

/* Places that are not handed out may not be touched. */
static void forbid(const dcsr_i_arena *arena, uint64_t begin, uint64_t entries)
{
    if (arena->in_heap) return;
    dcsr_i_mapping_forbid(&arena->column_memory, begin * sizeof *arena->columns,
                          entries * sizeof *arena->columns);
    dcsr_i_mapping_forbid(&arena->value_memory, begin * arena->value_size, entries * arena->value_size);
}
static void allow(const dcsr_i_arena *arena, uint64_t begin, uint64_t entries)
{
    if (arena->in_heap) return;
    dcsr_i_mapping_allow(&arena->column_memory, begin * sizeof *arena->columns,
                         entries * sizeof *arena->columns);
    dcsr_i_mapping_allow(&arena->value_memory, begin * arena->value_size, entries * arena->value_size);
}

/* A retired block is not free before its extent is, even when nothing in it is in use any more. */
static bool is_free(const dcsr_i_block *block)
{
    return !block->live && !block->retired;
}

/* Address space for both arrays, or none. */
static dcsr_status reserve(dcsr_i_arena *arena, uint64_t blocks)
{
    dcsr_context *context = arena->context;
    DCSR_TRY(dcsr_i_mapping_reserve(&arena->column_memory, context, column_bytes(arena, blocks),
                                    column_bytes(arena, 1)));
    if (!arena->value_size) return DCSR_OK;
    dcsr_status status = dcsr_i_mapping_reserve(&arena->value_memory, context, value_bytes(arena, blocks),
                                                value_bytes(arena, 1));
    if (status != DCSR_OK) dcsr_i_mapping_release(&arena->column_memory);
    return status;
}

/* A process near its address-space limit gets a smaller reservation rather than none. */
static dcsr_status reserve_some(dcsr_i_arena *arena)
{
    enum { FEW = 1 << 24 }; /* entries */
    for (dcsr_status status; (status = reserve(arena, arena->limit)) != DCSR_OK; arena->limit /= 2)
        if (arena->limit << arena->shift < FEW) return status;
    return DCSR_OK;
}

static void use_mapping(dcsr_i_arena *arena)
{
    arena->columns = (uint32_t *)arena->column_memory.start;
    arena->values = arena->value_memory.start;
}

dcsr_status dcsr_i_arena_init(dcsr_i_arena *arena, dcsr_context *context, size_t value_size)
{
    memset(arena, 0, sizeof *arena);
    arena->context = context;
    arena->value_size = value_size;
    arena->shift = context->cuda ? CUDA_SHIFT : CPU_SHIFT;
    arena->in_heap = !context->cuda;
    arena->limit = context->reserve_bytes / (column_bytes(arena, 1) + value_bytes(arena, 1));
    if (arena->limit > DCSR_I_MOST_PLACES >> arena->shift) arena->limit = DCSR_I_MOST_PLACES >> arena->shift;
    if (arena->limit < 1) arena->limit = 1;
    if (arena->in_heap) {
        static uint64_t nowhere; /* arrays without entries are somewhere all the same */
        arena->columns = (uint32_t *)&nowhere;
        arena->values = value_size ? (char *)&nowhere : NULL;
    } else {
        DCSR_TRY(reserve_some(arena));
        use_mapping(arena);
    }
    pthread_mutex_init(&arena->lock, NULL);
    return DCSR_OK;
}

void dcsr_i_arena_destroy(dcsr_i_arena *arena)
{
    if (!arena->context || (!arena->columns && !arena->in_heap)) return;
    dcsr_i_arena_drop_left(arena);
    dcsr_i_home_free(arena->context, arena->home, arena->value_size);
    arena->in_heap = false;
    dcsr_i_free(arena->context, DCSR_I_MATRIX, arena->block, arena->block_capacity, sizeof *arena->block);
    dcsr_i_mapping_release(&arena->column_memory);
    dcsr_i_mapping_release(&arena->value_memory);
    pthread_mutex_destroy(&arena->lock);
    arena->columns = NULL;
}

/* Bookkeeping for `top` blocks. */
static dcsr_status grow(dcsr_i_arena *arena, uint64_t top)
{
    if (top > arena->limit)
        return dcsr_i_fail(
            DCSR_ERROR_OUT_OF_MEMORY,
            "growing a matrix: its address space of %llu bytes is used up; create the context with a "
            "larger reserve_bytes",
            (unsigned long long)(arena->column_memory.length + arena->value_memory.length));
    if (top <= arena->block_capacity) return DCSR_OK;
    uint64_t capacity = arena->in_heap ? 1 : arena->block_capacity > 8 ? 2 * arena->block_capacity : 16;
    if (capacity < top) capacity = top;
    dcsr_i_block *block = dcsr_i_realloc(arena->context, DCSR_I_MATRIX, arena->block, arena->block_capacity,
                                         capacity, sizeof *block);
    if (!block && capacity > top) { /* near the limit there is no head room */
        capacity = top;
        block = dcsr_i_realloc(arena->context, DCSR_I_MATRIX, arena->block, arena->block_capacity, capacity,
                               sizeof *block);
    }
    if (!block) return DCSR_ERROR_OUT_OF_MEMORY;
    memset(block + arena->block_capacity, 0, (capacity - arena->block_capacity) * sizeof *block);
    arena->block = block;
    arena->block_capacity = capacity;
    return DCSR_OK;
}

/* Memory for free blocks, in both arrays or neither. */
static dcsr_status populate(dcsr_i_arena *arena, uint64_t first, uint64_t count)
{
    DCSR_TRY(dcsr_i_mapping_populate(&arena->column_memory, column_bytes(arena, first),
                                     column_bytes(arena, count)));
    if (!arena->value_size) return DCSR_OK;
    dcsr_status status =
        dcsr_i_mapping_populate(&arena->value_memory, value_bytes(arena, first), value_bytes(arena, count));
    if (status != DCSR_OK)
        dcsr_i_mapping_discard(&arena->column_memory, column_bytes(arena, first), column_bytes(arena, count));
    return status;
}

/* ---- In the heap ---- */

static size_t home_bytes(uint64_t places, size_t value_size)
{
    return sizeof(dcsr_i_home) + places * (value_size + sizeof(uint32_t));
}

dcsr_i_home *dcsr_i_home_create(dcsr_context *context, uint64_t places, size_t value_size)
{
    places = dcsr_i_round_up(places, 8); /* so that either array is aligned */
    dcsr_i_home *home = dcsr_i_alloc(context, DCSR_I_MATRIX, 1, home_bytes(places, value_size));
    if (!home) return NULL;
    char *values = (char *)(home + 1);
    *home = (dcsr_i_home){.places = places,
                          .values = value_size ? values : NULL,
                          .columns = (uint32_t *)(values + places * value_size)};
    return home;
}

void dcsr_i_home_free(dcsr_context *context, dcsr_i_home *home, size_t value_size)
{
    if (home) dcsr_i_free(context, DCSR_I_MATRIX, home, 1, home_bytes(home->places, value_size));
}

/* Copies all that is at home to new arrays, and goes there. */
static void move_to(dcsr_i_arena *arena, uint32_t *columns, char *values)
{
    const dcsr_i_home *home = arena->home;
    if (home) memcpy(columns, home->columns, home->places * sizeof *columns);
    if (home && arena->value_size) memcpy(values, home->values, home->places * arena->value_size);
    arena->columns = columns;
    arena->values = values;
}

static void leave_home(dcsr_i_arena *arena)
{
    if (!arena->home) return;
    arena->home->next = arena->left;
    arena->left = arena->home;
    arena->home = NULL;
}

static dcsr_status leave_heap(dcsr_i_arena *arena)
{
    if (!arena->in_heap) return DCSR_OK;
    DCSR_TRY(reserve_some(arena));
    dcsr_status status = populate(arena, 0, arena->top);
    if (status != DCSR_OK) {
        dcsr_i_mapping_release(&arena->column_memory);
        dcsr_i_mapping_release(&arena->value_memory);
        return status;
    }
    move_to(arena, (uint32_t *)arena->column_memory.start, arena->value_memory.start);
    arena->in_heap = false;
    leave_home(arena);
    forbid(arena, arena->open, arena->open_end - arena->open);
    return DCSR_OK;
}

/* Makes the home large enough for places up to `end`, or leaves the heap. */
static dcsr_status make_home(dcsr_i_arena *arena, uint64_t end)
{
    uint64_t places = arena->home ? arena->home->places : FIRST_HOME;
    while (places < end) places *= 2;
    if (places > LAST_HOME) return leave_heap(arena);
    if (arena->home && places == arena->home->places) return DCSR_OK;
    dcsr_i_home *home = dcsr_i_home_create(arena->context, places, arena->value_size);
    if (!home) return DCSR_ERROR_OUT_OF_MEMORY;
    move_to(arena, home->columns, home->values);
    leave_home(arena);
    arena->home = home;
    arena->heap_bytes += home_bytes(places, arena->value_size);
    return DCSR_OK;
}

/* All that was handed out of the home has been given back. */
static void begin_again(dcsr_i_arena *arena)
{
    arena->block[0].live += (uint32_t)arena->open;
    arena->used += arena->open;
    arena->open = 0;
}

dcsr_status dcsr_i_arena_leave_heap(dcsr_i_arena *arena)
{
    pthread_mutex_lock(&arena->lock);
    dcsr_status status = leave_heap(arena);
    pthread_mutex_unlock(&arena->lock);
    return status;
}

void dcsr_i_arena_drop_left(dcsr_i_arena *arena)
{
    if (!arena->left) return;
    pthread_mutex_lock(&arena->lock);
    while (arena->left) {
        dcsr_i_home *home = arena->left;
        arena->left = home->next;
        arena->heap_bytes -= home_bytes(home->places, arena->value_size);
        dcsr_i_home_free(arena->context, home, arena->value_size);
    }
    pthread_mutex_unlock(&arena->lock);
}

/* Next fit among free blocks below top: the next extent of `least` of them, with those behind it, *count in all at
 * most, which is set to how many they are. UINT64_MAX: there is none. */
static uint64_t find_next_run(dcsr_i_arena *arena, uint64_t least, uint64_t *count)
{
    uint64_t b = arena->search < arena->top ? arena->search : 0;
    for (uint64_t looked = 0; looked < arena->top + least; looked++) {
        const uint64_t first = b;
        while (b < arena->top && b - first < *count && is_free(&arena->block[b])) b++;
        if (b - first >= least) {
            *count = b - first;
            arena->search = b;
            return first;
        }
        looked += b - first;
        b = b < arena->top ? b + 1 : 0;
    }
    return UINT64_MAX;
}

/* Best fit for *count, the lowest one; or, if there is none, the longest extent of `least` or more. A device has few
 * blocks, and its batches want large extents: small ones are not to break these up. */
static uint64_t find_best_run(const dcsr_i_arena *arena, uint64_t least, uint64_t *count)
{
    uint64_t best = UINT64_MAX, fits = UINT64_MAX, longest = 0, at = UINT64_MAX;
    for (uint64_t b = 0, first; b < arena->top; b++) {
        for (first = b; b < arena->top && is_free(&arena->block[b]);) b++;
        const uint64_t length = b - first;
        if (length >= *count && length < fits) best = first, fits = length;
        if (length > longest) at = first, longest = length;
    }
    if (best != UINT64_MAX || longest < least) return best;
    *count = longest;
    return at;
}

static uint64_t find_free_run(dcsr_i_arena *arena, uint64_t least, uint64_t *count)
{
    if (arena->free_blocks < least) return UINT64_MAX;
    return arena->context->cuda ? find_best_run(arena, least, count) : find_next_run(arena, least, count);
}

/* Returns the memory of free blocks to the system, from the last ones on, until no more than `kept` blocks without a
 * use have some. Behind the last block nothing is in use either. */
static void trim_locked(dcsr_i_arena *arena, uint64_t kept)
{
    if (arena->in_heap) return;
    for (uint64_t end = arena->limit, b = arena->top;; end = b) {
        while (b && is_free(&arena->block[b - 1])) b--;
        uint64_t there = arena->column_memory.bytes / column_bytes(arena, 1),
                 used = arena->top - arena->free_blocks;
        if (there <= used + kept) return;
        const uint64_t last = end < arena->top ? end : arena->top, excess = there - used - kept,
                       first = kept && last - b > excess ? last - excess : b;
        dcsr_i_mapping_discard(&arena->column_memory, column_bytes(arena, first),
                               column_bytes(arena, end - first));
        if (arena->value_size)
            dcsr_i_mapping_discard(&arena->value_memory, value_bytes(arena, first),
                                   value_bytes(arena, end - first));
        while (b && !is_free(&arena->block[b - 1])) b--;
        if (!b) return;
    }
}

/* Claims *count neighbouring blocks, or fewer, but at least `least`, where no free ones lie so together; every entry of
 * them is counted as handed out. */
static dcsr_status claim_extent(dcsr_i_arena *arena, uint64_t least, uint64_t *count, uint64_t version,
                                bool foreign, uint64_t *first)
{
    uint64_t b = find_free_run(arena, least, count);
    if (b == UINT64_MAX) {
        /* Free blocks that end at the top are extended rather than left behind. */
        b = arena->top;
        while (b > 0 && is_free(&arena->block[b - 1])) b--;
        DCSR_TRY(grow(arena, b + *count));
    }
    /* In the heap the first block gets memory as it is handed out. */
    if (b + *count > 1) DCSR_TRY(leave_heap(arena));
    if (!arena->in_heap && populate(arena, b, *count) != DCSR_OK) {
        /* What is kept for reuse makes room before anything is refused. */
        trim_locked(arena, 0);
        DCSR_TRY(populate(arena, b, *count));
    }
    if (b + *count > arena->top) {
        arena->free_blocks -= arena->top - b;
        arena->top = b + *count;
    } else {
        arena->free_blocks -= *count;
    }
    for (uint64_t i = b; i < b + *count; i++)
        arena->block[i] = (dcsr_i_block){.live = 1u << arena->shift, .foreign = foreign, .born = version};
    arena->used += *count << arena->shift;
    forbid(arena, b << arena->shift, *count << arena->shift);
    *first = b;
    return DCSR_OK;
}

static void give_to_block(dcsr_i_arena *arena, uint64_t b, uint64_t entries)
{
    dcsr_i_block *block = &arena->block[b];
    assert(block->live >= entries);
    block->live -= (uint32_t)entries;
    if (is_free(block)) arena->free_blocks++;
}

static void give_locked(dcsr_i_arena *arena, uint64_t begin, uint64_t entries)
{
    forbid(arena, begin, entries);
    arena->used -= entries;
    while (entries) {
        uint64_t b = begin >> arena->shift, here = ((b + 1) << arena->shift) - begin;
        if (here > entries) here = entries;
        give_to_block(arena, b, here);
        begin += here;
        entries -= here;
    }
}

dcsr_status dcsr_i_arena_take(dcsr_i_arena *arena, uint64_t entries, uint64_t version, uint64_t *begin)
{
    if (entries > arena->limit << arena->shift)
        return dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY,
                           "growing a matrix by %llu entries: more than its address space",
                           (unsigned long long)entries);
    dcsr_status status = DCSR_OK;
    pthread_mutex_lock(&arena->lock);
    if (arena->open_end - arena->open < entries) {
        uint64_t blocks = blocks_for(arena, entries);
        /* Head room, so that many small batches share an extent. */
        uint64_t wanted = arena->top / 64 < 64 ? arena->top / 64 : 64;
        uint64_t first = 0;
        if (blocks < wanted && claim_extent(arena, blocks, &wanted, version, false, &first) == DCSR_OK)
            blocks = wanted;
        else
            status = claim_extent(arena, blocks, &blocks, version, false, &first);
        if (status == DCSR_OK) {
            uint64_t start = first << arena->shift;
            if (arena->open_end != start) {
                give_locked(arena, arena->open, arena->open_end - arena->open);
                arena->open = start;
            }
            arena->open_end = (first + blocks) << arena->shift;
        }
    }
    if (status == DCSR_OK && arena->in_heap && entries) {
        if (arena->used == arena->open_end - arena->open) begin_again(arena);
        status = make_home(arena, arena->open + entries);
    }
    if (status == DCSR_OK) {
        *begin = arena->open;
        arena->open += entries;
        allow(arena, *begin, entries);
    }
    pthread_mutex_unlock(&arena->lock);
    return status;
}

dcsr_status dcsr_i_arena_take_some(dcsr_i_arena *arena, uint64_t least, uint64_t most, uint64_t version,
                                   uint64_t *begin, uint64_t *entries)
{
    pthread_mutex_lock(&arena->lock);
    const uint64_t open = arena->open_end - arena->open;
    pthread_mutex_unlock(&arena->lock);
    /* Nobody else takes places of the open extent meanwhile. */
    *entries = open < least ? least : open < most ? open : most;
    return dcsr_i_arena_take(arena, *entries, version, begin);
}

void dcsr_i_arena_untake(dcsr_i_arena *arena, uint64_t begin, uint64_t entries, uint64_t used)
{
    pthread_mutex_lock(&arena->lock);
    assert(arena->open == begin + entries && used <= entries);
    arena->open = begin + used;
    forbid(arena, arena->open, entries - used);
    pthread_mutex_unlock(&arena->lock);
}

dcsr_status dcsr_i_arena_take_blocks(dcsr_i_arena *arena, uint64_t entries, uint64_t version, bool foreign,
                                     uint64_t *begin)
{
    *begin = 0;
    if (!entries) return DCSR_OK;
    if (entries > arena->limit << arena->shift)
        return dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY,
                           "moving %llu entries: more than the matrix's address space",
                           (unsigned long long)entries);
    if (arena->in_heap && !dcsr_i_arena_used(arena)) return dcsr_i_arena_take(arena, entries, version, begin);
    pthread_mutex_lock(&arena->lock);
    uint64_t blocks = blocks_for(arena, entries), first = 0;
    dcsr_status status = leave_heap(arena);
    if (status == DCSR_OK) status = claim_extent(arena, blocks, &blocks, version, foreign, &first);
    if (status == DCSR_OK) {
        *begin = first << arena->shift;
        give_locked(arena, *begin + entries, (blocks << arena->shift) - entries);
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

void dcsr_i_arena_give_counts(dcsr_i_arena *arena, uint64_t block, uint64_t entries)
{
    if (!entries) return;
    pthread_mutex_lock(&arena->lock);
    arena->used -= entries;
    give_to_block(arena, block, entries);
    if (!arena->block[block].live) forbid(arena, block << arena->shift, (uint64_t)1 << arena->shift);
    pthread_mutex_unlock(&arena->lock);
}

static bool is_home(const dcsr_i_block *block)
{
    return block->live && !block->foreign && !block->retired;
}

/* Whether home blocks b - 1 and b are of one extent. */
static bool run_goes_on(const dcsr_i_arena *arena, uint64_t b)
{
    return b > 0 && is_home(&arena->block[b - 1]) && arena->block[b - 1].born == arena->block[b].born;
}

dcsr_status dcsr_i_arena_retire(dcsr_i_arena *arena, dcsr_i_extent **extents, uint64_t *count)
{
    pthread_mutex_lock(&arena->lock);
    give_locked(arena, arena->open, arena->open_end - arena->open);
    arena->open = arena->open_end = 0;
    uint64_t n = 0;
    for (uint64_t b = 0; b < arena->top; b++) n += is_home(&arena->block[b]) && !run_goes_on(arena, b);
    dcsr_status status = DCSR_OK;
    *count = n;
    *extents = dcsr_i_alloc(arena->context, DCSR_I_MATRIX, n, sizeof **extents);
    if (*extents) {
        uint64_t r = 0;
        for (uint64_t b = 0; b < arena->top; b++) {
            if (!is_home(&arena->block[b])) continue;
            if (run_goes_on(arena, b))
                (*extents)[r - 1].count++;
            else
                (*extents)[r++] = (dcsr_i_extent){b, 1, arena->block[b].born};
        }
        for (r = 0; r < n; r++)
            for (uint64_t b = 0; b < (*extents)[r].count; b++)
                arena->block[(*extents)[r].first + b].retired = true;
    } else {
        status = DCSR_ERROR_OUT_OF_MEMORY;
    }
    pthread_mutex_unlock(&arena->lock);
    return status;
}

void dcsr_i_arena_spare(dcsr_i_arena *arena, const dcsr_i_extent *extents, uint64_t count)
{
    pthread_mutex_lock(&arena->lock);
    for (uint64_t r = 0; r < count; r++)
        for (uint64_t b = extents[r].first; b < extents[r].first + extents[r].count; b++) {
            arena->block[b].retired = false;
            if (is_free(&arena->block[b])) arena->free_blocks++;
        }
    pthread_mutex_unlock(&arena->lock);
}

void dcsr_i_arena_free_extent(dcsr_i_arena *arena, uint64_t first, uint64_t count)
{
    pthread_mutex_lock(&arena->lock);
    forbid(arena, first << arena->shift, count << arena->shift);
    for (uint64_t b = first; b < first + count; b++) {
        arena->used -= arena->block[b].live;
        arena->block[b].live = 0;
        arena->block[b].retired = false;
        arena->free_blocks++;
    }
    pthread_mutex_unlock(&arena->lock);
}

uint64_t dcsr_i_arena_born_locked(const dcsr_i_arena *arena, uint64_t begin, uint64_t entries)
{
    const dcsr_i_block *block = &arena->block[(begin + entries - 1) >> arena->shift];
    return block->live && !block->foreign ? block->born : UINT64_MAX;
}

uint64_t dcsr_i_arena_born(dcsr_i_arena *arena, uint64_t begin, uint64_t entries)
{
    pthread_mutex_lock(&arena->lock);
    uint64_t born = dcsr_i_arena_born_locked(arena, begin, entries);
    pthread_mutex_unlock(&arena->lock);
    return born;
}

uint64_t dcsr_i_arena_run_locked(const dcsr_i_arena *arena, uint64_t begin, uint64_t entries, uint64_t *born)
{
    uint64_t b = begin >> arena->shift, end = (b + 1) << arena->shift;
    *born = arena->block[b].born;
    while (end < begin + entries && arena->block[++b].born == *born) end += (uint64_t)1 << arena->shift;
    return end - begin < entries ? end - begin : entries;
}

bool dcsr_i_arena_is_sparse_locked(const dcsr_i_arena *arena, uint64_t block)
{
    return arena->block[block].live < (3u << arena->shift) / 4;
}

void dcsr_i_arena_trim_to(dcsr_i_arena *arena, uint64_t kept)
{
    pthread_mutex_lock(&arena->lock);
    trim_locked(arena, kept >> arena->shift);
    pthread_mutex_unlock(&arena->lock);
}

void dcsr_i_arena_trim(dcsr_i_arena *arena)
{
    dcsr_i_arena_trim_to(arena, 0);
}

uint64_t dcsr_i_arena_used(dcsr_i_arena *arena)
{
    pthread_mutex_lock(&arena->lock);
    uint64_t used = arena->used - (arena->open_end - arena->open);
    pthread_mutex_unlock(&arena->lock);
    return used;
}

uint64_t dcsr_i_arena_bytes(dcsr_i_arena *arena)
{
    pthread_mutex_lock(&arena->lock);
    uint64_t bytes = dcsr_i_mapping_bytes(&arena->column_memory) +
                     dcsr_i_mapping_bytes(&arena->value_memory) + arena->heap_bytes +
                     arena->block_capacity * sizeof *arena->block;
    pthread_mutex_unlock(&arena->lock);
    return bytes;
}

/* A number that is guarded by the lock. */
static uint64_t read_locked(dcsr_i_arena *arena, const uint64_t *number)
{
    pthread_mutex_lock(&arena->lock);
    uint64_t value = *number;
    pthread_mutex_unlock(&arena->lock);
    return value;
}

uint64_t dcsr_i_arena_idle(dcsr_i_arena *arena)
{
    return read_locked(arena, &arena->free_blocks) << arena->shift;
}

uint64_t dcsr_i_arena_blocks(dcsr_i_arena *arena)
{
    return read_locked(arena, &arena->top);
}

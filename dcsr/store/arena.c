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
    dcsr_i_mapping_forbid(&arena->space->reserved->columns, begin * sizeof *arena->columns,
                          entries * sizeof *arena->columns);
    dcsr_i_mapping_forbid(&arena->space->reserved->values, begin * arena->value_size,
                          entries * arena->value_size);
}
static void allow(const dcsr_i_arena *arena, uint64_t begin, uint64_t entries)
{
    if (arena->in_heap) return;
    dcsr_i_mapping_allow(&arena->space->reserved->columns, begin * sizeof *arena->columns,
                         entries * sizeof *arena->columns);
    dcsr_i_mapping_allow(&arena->space->reserved->values, begin * arena->value_size,
                         entries * arena->value_size);
}

/* A retired block is not free before its extent is, even when nothing in it is in use any more. */
static bool is_free(const dcsr_i_block *block)
{
    return !block->live && !block->retired;
}

/* How many blocks, one at least, the bytes are enough for. */
static uint64_t blocks_in(const dcsr_i_arena *arena, uint64_t bytes)
{
    const uint64_t blocks = bytes / (column_bytes(arena, 1) + value_bytes(arena, 1));
    return blocks ? blocks : 1;
}

/* Address space for both arrays, or none. */
static dcsr_status reserve(dcsr_i_arena *arena, uint64_t blocks)
{
    dcsr_i_reserved *reserved = arena->space->reserved;
    dcsr_context *context = arena->context;
    DCSR_TRY(dcsr_i_mapping_reserve(&reserved->columns, context, column_bytes(arena, blocks),
                                    column_bytes(arena, 1)));
    if (!arena->value_size) return DCSR_OK;
    dcsr_status status =
        dcsr_i_mapping_reserve(&reserved->values, context, value_bytes(arena, blocks), value_bytes(arena, 1));
    if (status != DCSR_OK) dcsr_i_mapping_release(&reserved->columns);
    return status;
}

/* Where many matrices have address space, or the process is near a limit of it, there is less rather than none. */
static dcsr_status reserve_some(dcsr_i_arena *arena)
{
    dcsr_i_space *space = arena->space;
    enum { FEW = 1 << 24 }; /* entries */
    const uint64_t share = blocks_in(arena, dcsr_i_mapping_share_of(arena->context));
    if (space->limit > share) space->limit = share;
    space->reserved = dcsr_i_calloc(arena->context, DCSR_I_MATRIX, 1, sizeof *space->reserved);
    if (!space->reserved) return DCSR_ERROR_OUT_OF_MEMORY;
    for (dcsr_status status; (status = reserve(arena, space->limit)) != DCSR_OK; space->limit /= 2)
        if (space->limit << arena->shift < FEW) {
            dcsr_i_space_unreserve(space);
            return status;
        }
    return DCSR_OK;
}

static void use_mapping(dcsr_i_arena *arena)
{
    arena->columns = (uint32_t *)arena->space->reserved->columns.start;
    arena->values = arena->space->reserved->values.start;
}

dcsr_status dcsr_i_arena_init(dcsr_i_arena *arena, dcsr_i_space *space, size_t value_size)
{
    dcsr_context *context = space->context;
    *arena = (dcsr_i_arena){.context = context,
                            .space = space,
                            .value_size = value_size,
                            .shift = context->cuda ? CUDA_SHIFT : CPU_SHIFT};
    arena->in_heap = !context->cuda;
    atomic_store_explicit(&space->references, 2, memory_order_relaxed); /* nobody else knows it yet */
    space->arenas = 1;
    space->limit = blocks_in(arena, context->reserve_bytes);
    if (space->limit > DCSR_I_MOST_PLACES >> arena->shift) space->limit = DCSR_I_MOST_PLACES >> arena->shift;
    if (arena->in_heap) {
        static uint64_t nowhere; /* arrays without entries are somewhere all the same */
        arena->columns = (uint32_t *)&nowhere;
        arena->values = value_size ? (char *)&nowhere : NULL;
        return DCSR_OK;
    }
    dcsr_status status = reserve_some(arena);
    if (status == DCSR_OK)
        use_mapping(arena);
    else
        dcsr_i_arena_destroy(arena);
    return status;
}

static void free_block(dcsr_i_arena *arena, dcsr_i_block *block)
{
    block->owner = NULL;
    arena->owned--;
    arena->space->free_blocks++;
}

/* Frees the arena's blocks, for the others in its space. */
static void free_blocks(dcsr_i_arena *arena)
{
    dcsr_i_space *space = arena->space;
    for (uint64_t b = 0; b < space->top; b++) {
        if (space->block[b].owner != arena) continue;
        space->block[b].live = 0;
        space->block[b].retired = false;
        free_block(arena, &space->block[b]);
        forbid(arena, b << arena->shift, (uint64_t)1 << arena->shift);
    }
}

void dcsr_i_arena_destroy(dcsr_i_arena *arena)
{
    dcsr_i_space *space = arena->space;
    if (!space) return;
    dcsr_i_arena_drop_left(arena);
    dcsr_i_home_free(arena->context, arena->home, arena->value_size);
    pthread_mutex_lock(&space->lock);
    if (--space->arenas) free_blocks(arena);
    pthread_mutex_unlock(&space->lock);
    memset(arena, 0, sizeof *arena);
    dcsr_i_space_release(space);
}

void dcsr_i_arena_share(dcsr_i_arena *arena, dcsr_i_arena *with)
{
    dcsr_i_arena_destroy(arena);
    pthread_mutex_lock(&with->space->lock);
    assert(!with->in_heap);
    *arena = (dcsr_i_arena){
        .context = with->context, .space = with->space, .value_size = with->value_size, .shift = with->shift};
    use_mapping(arena);
    arena->space->arenas++;
    atomic_fetch_add(&arena->space->references, 1);
    pthread_mutex_unlock(&with->space->lock);
}

/* Bookkeeping for `top` blocks. */
static dcsr_status grow(dcsr_i_arena *arena, uint64_t top)
{
    dcsr_i_space *space = arena->space;
    if (top > space->limit)
        return dcsr_i_fail(
            DCSR_ERROR_OUT_OF_MEMORY,
            "growing a matrix: its address space of %llu entries is used up; create the context with a "
            "larger reserve_bytes",
            (unsigned long long)(space->limit << arena->shift));
    const uint64_t before = space->block_capacity;
    if (top <= before) return DCSR_OK;
    dcsr_i_block *held = space->block == &space->first ? NULL : space->block;
    uint64_t capacity = before > 8 ? 2 * before : 16;
    if (capacity < top) capacity = top;
    dcsr_i_block *block =
        dcsr_i_realloc(arena->context, DCSR_I_MATRIX, held, held ? before : 0, capacity, sizeof *block);
    if (!block && capacity > top) { /* near the limit there is no head room */
        capacity = top;
        block =
            dcsr_i_realloc(arena->context, DCSR_I_MATRIX, held, held ? before : 0, capacity, sizeof *block);
    }
    if (!block) return DCSR_ERROR_OUT_OF_MEMORY;
    if (!held) block[0] = space->first;
    memset(block + before, 0, (capacity - before) * sizeof *block);
    space->block = block;
    space->block_capacity = capacity;
    return DCSR_OK;
}

/* Memory for free blocks, in both arrays or neither. */
static dcsr_status populate(dcsr_i_arena *arena, uint64_t first, uint64_t count)
{
    dcsr_i_space *space = arena->space;
    DCSR_TRY(dcsr_i_mapping_populate(&space->reserved->columns, column_bytes(arena, first),
                                     column_bytes(arena, count)));
    if (!arena->value_size) return DCSR_OK;
    dcsr_status status = dcsr_i_mapping_populate(&space->reserved->values, value_bytes(arena, first),
                                                 value_bytes(arena, count));
    if (status != DCSR_OK)
        dcsr_i_mapping_discard(&space->reserved->columns, column_bytes(arena, first),
                               column_bytes(arena, count));
    return status;
}

/* ---- In the heap ---- */

static dcsr_status leave_heap(dcsr_i_arena *arena)
{
    dcsr_i_space *space = arena->space;
    if (!arena->in_heap) return DCSR_OK;
    DCSR_TRY(reserve_some(arena));
    dcsr_status status = populate(arena, 0, space->top);
    if (status != DCSR_OK) {
        dcsr_i_space_unreserve(space);
        return status;
    }
    dcsr_i_home_move(arena, (uint32_t *)space->reserved->columns.start, space->reserved->values.start, NULL);
    arena->in_heap = false;
    forbid(arena, arena->open, arena->open_end - arena->open);
    return DCSR_OK;
}

/* Makes the home large enough for places up to `end`, or leaves the heap. */
static dcsr_status make_home(dcsr_i_arena *arena, uint64_t end)
{
    if (dcsr_i_home_has_room(arena, end)) return DCSR_OK;
    const uint64_t places = dcsr_i_home_for(arena, end);
    if (!places) return leave_heap(arena);
    dcsr_i_home *home = dcsr_i_home_create(arena->context, places, arena->value_size);
    if (!home) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_i_home_move(arena, home->columns, home->values, home);
    return DCSR_OK;
}

dcsr_status dcsr_i_arena_adopt(dcsr_i_arena *arena, const dcsr_i_home *given, uint64_t version)
{
    dcsr_i_space *space = arena->space;
    const uint64_t blocks = blocks_for(arena, given->places);
    assert(arena->in_heap && !arena->home && given->places);
    DCSR_TRY(grow(arena, blocks));
    dcsr_i_home *home = dcsr_i_alloc(arena->context, DCSR_I_MATRIX, 1, sizeof *home);
    if (!home) return DCSR_ERROR_OUT_OF_MEMORY;
    *home = *given;
    for (uint64_t b = 0; b < blocks; b++)
        space->block[b] = (dcsr_i_block){.live = 1u << arena->shift, .born = version, .owner = arena};
    space->top = arena->owned = blocks;
    arena->used = arena->open_end = blocks << arena->shift;
    arena->open = given->places;
    dcsr_i_home_move(arena, home->columns, home->values, home);
    return DCSR_OK;
}

/* All that was handed out of the home has been given back. */
static void begin_again(dcsr_i_arena *arena)
{
    arena->space->block[0].live += (uint32_t)arena->open;
    arena->used += arena->open;
    arena->open = 0;
}

dcsr_status dcsr_i_arena_leave_heap(dcsr_i_arena *arena)
{
    pthread_mutex_lock(&arena->space->lock);
    dcsr_status status = leave_heap(arena);
    pthread_mutex_unlock(&arena->space->lock);
    return status;
}

/* Next fit among free blocks below top: the next extent of `least` of them, with those behind it, *count in all at
 * most, which is set to how many they are. UINT64_MAX: there is none. */
static uint64_t find_next_run(dcsr_i_space *space, uint64_t least, uint64_t *count)
{
    uint64_t b = space->search < space->top ? space->search : 0;
    for (uint64_t looked = 0; looked < space->top + least; looked++) {
        const uint64_t first = b;
        while (b < space->top && b - first < *count && is_free(&space->block[b])) b++;
        if (b - first >= least) {
            *count = b - first;
            space->search = b;
            return first;
        }
        looked += b - first;
        b = b < space->top ? b + 1 : 0;
    }
    return UINT64_MAX;
}

/* Best fit for *count, the lowest one; or, if there is none, the longest extent of `least` or more. A device has few
 * blocks, and its batches want large extents: small ones are not to break these up. */
static uint64_t find_best_run(const dcsr_i_space *space, uint64_t least, uint64_t *count)
{
    uint64_t best = UINT64_MAX, fits = UINT64_MAX, longest = 0, at = UINT64_MAX;
    for (uint64_t b = 0, first; b < space->top; b++) {
        for (first = b; b < space->top && is_free(&space->block[b]);) b++;
        const uint64_t length = b - first;
        if (length >= *count && length < fits) best = first, fits = length;
        if (length > longest) at = first, longest = length;
    }
    if (best != UINT64_MAX || longest < least) return best;
    *count = longest;
    return at;
}

static uint64_t find_free_run(dcsr_i_space *space, uint64_t least, uint64_t *count)
{
    if (space->free_blocks < least) return UINT64_MAX;
    return space->context->cuda ? find_best_run(space, least, count) : find_next_run(space, least, count);
}

/* Returns the memory of free blocks to the system, from the last ones on, until no more than `kept` blocks without a
 * use have some. Behind the last block nothing is in use either. */
static void trim_locked(dcsr_i_arena *arena, uint64_t kept)
{
    dcsr_i_space *space = arena->space;
    if (arena->in_heap) return;
    for (uint64_t end = space->limit, b = space->top;; end = b) {
        while (b && is_free(&space->block[b - 1])) b--;
        uint64_t there = space->reserved->columns.bytes / column_bytes(arena, 1),
                 used = space->top - space->free_blocks;
        if (there <= used + kept) return;
        const uint64_t last = end < space->top ? end : space->top, excess = there - used - kept,
                       first = kept && last - b > excess ? last - excess : b;
        dcsr_i_mapping_discard(&space->reserved->columns, column_bytes(arena, first),
                               column_bytes(arena, end - first));
        if (arena->value_size)
            dcsr_i_mapping_discard(&space->reserved->values, value_bytes(arena, first),
                                   value_bytes(arena, end - first));
        while (b && !is_free(&space->block[b - 1])) b--;
        if (!b) return;
    }
}

/* Claims *count neighbouring blocks, or fewer, but at least `least`, where no free ones lie so together; every entry of
 * them is counted as handed out. */
static dcsr_status claim_extent(dcsr_i_arena *arena, uint64_t least, uint64_t *count, uint64_t version,
                                bool foreign, uint64_t *first)
{
    dcsr_i_space *space = arena->space;
    uint64_t b = find_free_run(space, least, count);
    if (b == UINT64_MAX) {
        /* Free blocks that end at the top are extended rather than left behind. */
        b = space->top;
        while (b > 0 && is_free(&space->block[b - 1])) b--;
        DCSR_TRY(grow(arena, b + *count));
    }
    /* In the heap the first block gets memory as it is handed out. */
    if (b + *count > 1) DCSR_TRY(leave_heap(arena));
    if (!arena->in_heap && populate(arena, b, *count) != DCSR_OK) {
        /* What is kept for reuse makes room before anything is refused. */
        trim_locked(arena, 0);
        DCSR_TRY(populate(arena, b, *count));
    }
    if (b + *count > space->top) {
        space->free_blocks -= space->top - b;
        space->top = b + *count;
    } else {
        space->free_blocks -= *count;
    }
    for (uint64_t i = b; i < b + *count; i++)
        space->block[i] =
            (dcsr_i_block){.live = 1u << arena->shift, .foreign = foreign, .born = version, .owner = arena};
    arena->owned += *count;
    arena->used += *count << arena->shift;
    forbid(arena, b << arena->shift, *count << arena->shift);
    *first = b;
    return DCSR_OK;
}

static void give_to_block(dcsr_i_arena *arena, uint64_t b, uint64_t entries)
{
    dcsr_i_block *block = &arena->space->block[b];
    assert(block->owner == arena && block->live >= entries);
    arena->used -= entries;
    block->live -= (uint32_t)entries;
    if (is_free(block)) free_block(arena, block);
}

static void give_locked(dcsr_i_arena *arena, uint64_t begin, uint64_t entries)
{
    while (entries) {
        uint64_t b = begin >> arena->shift, here = ((b + 1) << arena->shift) - begin;
        if (here > entries) here = entries;
        if (arena->space->block[b].owner == arena) {
            forbid(arena, begin, here);
            give_to_block(arena, b, here);
        }
        begin += here;
        entries -= here;
    }
}

dcsr_status dcsr_i_arena_take(dcsr_i_arena *arena, uint64_t entries, uint64_t version, uint64_t *begin)
{
    dcsr_i_space *space = arena->space;
    if (entries > space->limit << arena->shift)
        return dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY,
                           "growing a matrix by %llu entries: more than its address space",
                           (unsigned long long)entries);
    dcsr_status status = DCSR_OK;
    pthread_mutex_lock(&space->lock);
    if (arena->open_end - arena->open < entries) {
        uint64_t blocks = blocks_for(arena, entries);
        /* Head room, so that many small batches share an extent. */
        uint64_t wanted = space->top / 64 < 64 ? space->top / 64 : 64;
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
        const bool empty = arena->used == arena->open_end - arena->open;
        if (empty && arena->open < (uint64_t)1 << arena->shift) begin_again(arena);
        status = make_home(arena, arena->open + entries);
    }
    if (status == DCSR_OK) {
        *begin = arena->open;
        arena->open += entries;
        allow(arena, *begin, entries);
    }
    pthread_mutex_unlock(&space->lock);
    return status;
}

dcsr_status dcsr_i_arena_take_some(dcsr_i_arena *arena, uint64_t least, uint64_t most, uint64_t version,
                                   uint64_t *begin, uint64_t *entries)
{
    pthread_mutex_lock(&arena->space->lock);
    const uint64_t open = arena->open_end - arena->open;
    pthread_mutex_unlock(&arena->space->lock);
    /* Nobody else takes places of the open extent meanwhile. */
    *entries = open < least ? least : open < most ? open : most;
    return dcsr_i_arena_take(arena, *entries, version, begin);
}

/* Ends the open extent where another change like the latest would find half as much again as that one took; but after
 * a sixteenth of what is in use at most, as blocks of their own are as good for what is larger. */
static void close_rest(dcsr_i_arena *arena, uint64_t latest)
{
    const uint64_t enough = latest + latest / 2, most = arena->used / 16;
    const uint64_t end = blocks_for(arena, arena->open + (enough < most ? enough : most)) << arena->shift;
    if (end >= arena->open_end) return;
    give_locked(arena, end, arena->open_end - end);
    arena->open_end = end;
}

void dcsr_i_arena_untake(dcsr_i_arena *arena, uint64_t begin, uint64_t entries, uint64_t used)
{
    pthread_mutex_lock(&arena->space->lock);
    assert(arena->open == begin + entries && used <= entries);
    arena->open = begin + used;
    forbid(arena, arena->open, entries - used);
    close_rest(arena, used);
    pthread_mutex_unlock(&arena->space->lock);
}

dcsr_status dcsr_i_arena_take_blocks(dcsr_i_arena *arena, uint64_t entries, uint64_t version, bool foreign,
                                     uint64_t *begin)
{
    dcsr_i_space *space = arena->space;
    *begin = 0;
    if (!entries) return DCSR_OK;
    if (entries > space->limit << arena->shift)
        return dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY,
                           "moving %llu entries: more than the matrix's address space",
                           (unsigned long long)entries);
    if (arena->in_heap && !dcsr_i_arena_used(arena)) return dcsr_i_arena_take(arena, entries, version, begin);
    pthread_mutex_lock(&space->lock);
    uint64_t blocks = blocks_for(arena, entries), first = 0;
    dcsr_status status = leave_heap(arena);
    if (status == DCSR_OK) status = claim_extent(arena, blocks, &blocks, version, foreign, &first);
    if (status == DCSR_OK) {
        *begin = first << arena->shift;
        give_locked(arena, *begin + entries, (blocks << arena->shift) - entries);
        allow(arena, *begin, entries);
    }
    pthread_mutex_unlock(&space->lock);
    return status;
}

void dcsr_i_arena_give(dcsr_i_arena *arena, uint64_t begin, uint64_t entries)
{
    if (!entries) return;
    pthread_mutex_lock(&arena->space->lock);
    give_locked(arena, begin, entries);
    pthread_mutex_unlock(&arena->space->lock);
}

void dcsr_i_arena_give_counts(dcsr_i_arena *arena, uint64_t block, uint64_t entries)
{
    dcsr_i_space *space = arena->space;
    if (!entries) return;
    pthread_mutex_lock(&space->lock);
    give_to_block(arena, block, entries);
    if (!space->block[block].live) forbid(arena, block << arena->shift, (uint64_t)1 << arena->shift);
    pthread_mutex_unlock(&space->lock);
}

/* Whether it has entries of the arena's matrix. */
static bool is_home(const dcsr_i_arena *arena, uint64_t b)
{
    const dcsr_i_block *block = &arena->space->block[b];
    return block->owner == arena && block->live && !block->foreign && !block->retired;
}

/* Whether home blocks b - 1 and b are of one extent. */
static bool run_goes_on(const dcsr_i_arena *arena, uint64_t b)
{
    return b > 0 && is_home(arena, b - 1) && arena->space->block[b - 1].born == arena->space->block[b].born;
}

dcsr_status dcsr_i_arena_retire(dcsr_i_arena *arena, dcsr_i_extent **extents, uint64_t *count)
{
    dcsr_i_space *space = arena->space;
    pthread_mutex_lock(&space->lock);
    give_locked(arena, arena->open, arena->open_end - arena->open);
    arena->open = arena->open_end = 0;
    uint64_t n = 0;
    for (uint64_t b = 0; b < space->top; b++) n += is_home(arena, b) && !run_goes_on(arena, b);
    dcsr_status status = DCSR_OK;
    *count = n;
    *extents = dcsr_i_alloc(arena->context, DCSR_I_MATRIX, n, sizeof **extents);
    if (*extents) {
        uint64_t r = 0;
        for (uint64_t b = 0; b < space->top; b++) {
            if (!is_home(arena, b)) continue;
            if (run_goes_on(arena, b))
                (*extents)[r - 1].count++;
            else
                (*extents)[r++] = (dcsr_i_extent){b, 1, space->block[b].born};
        }
        for (r = 0; r < n; r++)
            for (uint64_t b = 0; b < (*extents)[r].count; b++)
                space->block[(*extents)[r].first + b].retired = true;
    } else {
        status = DCSR_ERROR_OUT_OF_MEMORY;
    }
    pthread_mutex_unlock(&space->lock);
    return status;
}

void dcsr_i_arena_spare(dcsr_i_arena *arena, const dcsr_i_extent *extents, uint64_t count)
{
    dcsr_i_space *space = arena->space;
    pthread_mutex_lock(&space->lock);
    for (uint64_t r = 0; r < count; r++)
        for (uint64_t b = extents[r].first; b < extents[r].first + extents[r].count; b++) {
            space->block[b].retired = false;
            if (is_free(&space->block[b])) free_block(arena, &space->block[b]);
        }
    pthread_mutex_unlock(&space->lock);
}

void dcsr_i_arena_free_extent(dcsr_i_arena *arena, uint64_t first, uint64_t count)
{
    dcsr_i_space *space = arena->space;
    pthread_mutex_lock(&space->lock);
    forbid(arena, first << arena->shift, count << arena->shift);
    for (uint64_t b = first; b < first + count; b++) {
        arena->used -= space->block[b].live;
        space->block[b].live = 0;
        space->block[b].retired = false;
        free_block(arena, &space->block[b]);
    }
    pthread_mutex_unlock(&space->lock);
}

void dcsr_i_arena_trim_to(dcsr_i_arena *arena, uint64_t kept)
{
    pthread_mutex_lock(&arena->space->lock);
    trim_locked(arena, kept >> arena->shift);
    pthread_mutex_unlock(&arena->space->lock);
}

void dcsr_i_arena_trim(dcsr_i_arena *arena)
{
    dcsr_i_arena_trim_to(arena, 0);
}

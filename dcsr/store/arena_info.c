/* arena_info.c: the spaces of arenas, and what an arena tells about its places and its memory (arena.h). */
#include "dcsr/store/arena.h"
#include "dcsr/base/alloc.h"
#include "dcsr/base/runtime.h"

void dcsr_i_space_init(dcsr_i_space *space, dcsr_context *context, void (*free)(dcsr_i_space *space))
{
    *space = (dcsr_i_space){.context = context, .free = free, .block_capacity = 1};
    space->block = &space->first;
    atomic_init(&space->references, 1);
    pthread_mutex_init(&space->lock, NULL);
}

void dcsr_i_space_unreserve(dcsr_i_space *space)
{
    if (!space->reserved) return;
    dcsr_i_mapping_release(&space->reserved->columns);
    dcsr_i_mapping_release(&space->reserved->values);
    dcsr_i_free(space->context, DCSR_I_MATRIX, space->reserved, 1, sizeof *space->reserved);
    space->reserved = NULL;
}

void dcsr_i_space_release(dcsr_i_space *space)
{
    if (!dcsr_i_give_up(&space->references)) return;
    if (space->block != &space->first)
        dcsr_i_free(space->context, DCSR_I_MATRIX, space->block, space->block_capacity, sizeof *space->block);
    dcsr_i_space_unreserve(space);
    pthread_mutex_destroy(&space->lock);
    if (space->free) space->free(space);
}

uint64_t dcsr_i_arena_born_locked(const dcsr_i_arena *arena, uint64_t begin, uint64_t entries)
{
    const dcsr_i_block *block = &arena->space->block[(begin + entries - 1) >> arena->shift];
    if (block->owner && block->owner != arena) return 0;
    return block->live && !block->foreign ? block->born : UINT64_MAX;
}

uint64_t dcsr_i_arena_born(dcsr_i_arena *arena, uint64_t begin, uint64_t entries)
{
    pthread_mutex_lock(&arena->space->lock);
    uint64_t born = dcsr_i_arena_born_locked(arena, begin, entries);
    pthread_mutex_unlock(&arena->space->lock);
    return born;
}

uint64_t dcsr_i_arena_run_locked(const dcsr_i_arena *arena, uint64_t begin, uint64_t entries, uint64_t *born)
{
    uint64_t b = begin >> arena->shift, end = (b + 1) << arena->shift;
    const dcsr_i_block *block = arena->space->block, *first = &block[b];
    while (end < begin + entries && block[++b].born == first->born && block[b].owner == first->owner)
        end += (uint64_t)1 << arena->shift;
    *born = first->owner == arena ? first->born : 0;
    return end - begin < entries ? end - begin : entries;
}

bool dcsr_i_arena_is_sparse_locked(const dcsr_i_arena *arena, uint64_t block)
{
    const dcsr_i_block *looked_at = &arena->space->block[block];
    return looked_at->owner == arena && looked_at->live < (3u << arena->shift) / 4;
}

bool dcsr_i_arena_owns(const dcsr_i_arena *arena, uint64_t place)
{
    dcsr_i_space *space = arena->space;
    pthread_mutex_lock(&space->lock);
    bool owns = space->block[place >> arena->shift].owner == arena;
    pthread_mutex_unlock(&space->lock);
    return owns;
}

uint64_t dcsr_i_arena_used(dcsr_i_arena *arena)
{
    pthread_mutex_lock(&arena->space->lock);
    uint64_t used = arena->used - (arena->open_end - arena->open);
    pthread_mutex_unlock(&arena->space->lock);
    return used;
}

uint64_t dcsr_i_arena_bytes(dcsr_i_arena *arena)
{
    pthread_mutex_lock(&arena->space->lock);
    const dcsr_i_space *space = arena->space;
    uint64_t bytes = arena->heap_bytes;
    if (space->arenas == 1) {
        if (space->reserved)
            bytes += dcsr_i_mapping_bytes(&space->reserved->columns) +
                     dcsr_i_mapping_bytes(&space->reserved->values) + sizeof *space->reserved;
        if (space->block != &space->first) bytes += space->block_capacity * sizeof *space->block;
    } else {
        bytes += (arena->owned << arena->shift) * (sizeof *arena->columns + arena->value_size);
    }
    pthread_mutex_unlock(&arena->space->lock);
    return bytes;
}

/* A number that is guarded by the lock. */
static uint64_t read_locked(dcsr_i_arena *arena, const uint64_t *number)
{
    pthread_mutex_lock(&arena->space->lock);
    uint64_t value = *number;
    pthread_mutex_unlock(&arena->space->lock);
    return value;
}

uint64_t dcsr_i_arena_idle(dcsr_i_arena *arena)
{
    return read_locked(arena, &arena->space->free_blocks) << arena->shift;
}

uint64_t dcsr_i_arena_idle_memory(dcsr_i_arena *arena)
{
    dcsr_i_space *space = arena->space;
    pthread_mutex_lock(&space->lock);
    const uint64_t there = space->reserved ? space->reserved->columns.bytes / sizeof *arena->columns : 0,
                   used = (space->top - space->free_blocks) << arena->shift;
    pthread_mutex_unlock(&space->lock);
    return there > used ? there - used : 0;
}

uint64_t dcsr_i_arena_held(dcsr_i_arena *arena)
{
    return read_locked(arena, &arena->owned) << arena->shift;
}

uint64_t dcsr_i_arena_blocks(dcsr_i_arena *arena)
{
    return read_locked(arena, &arena->space->top);
}

/* arena_home.c: entries of an arena in the heap, or in arrays that a caller has given (arena.h). */
#include "dcsr/store/arena.h"
#include "dcsr/base/alloc.h"
#include "dcsr/base/runtime.h"
#include <string.h>

/* Places of the last home that grows; fewer than a block has. */
enum { LAST_HOME = 512 };

/* In one piece. */
static size_t piece_bytes(uint64_t places, size_t value_size)
{
    return sizeof(dcsr_i_home) + places * (value_size + sizeof(uint32_t));
}

static size_t bytes_of(const dcsr_i_home *home, size_t value_size)
{
    return piece_bytes(home->given ? 0 : home->places, value_size);
}

dcsr_i_home *dcsr_i_home_create(dcsr_context *context, uint64_t places, size_t value_size)
{
    places = dcsr_i_round_up(places, 8); /* so that either array is aligned */
    dcsr_i_home *home = dcsr_i_alloc(context, DCSR_I_MATRIX, 1, piece_bytes(places, value_size));
    if (!home) return NULL;
    char *values = (char *)(home + 1);
    *home = (dcsr_i_home){.places = places,
                          .values = value_size ? values : NULL,
                          .columns = (uint32_t *)(values + places * value_size)};
    return home;
}

void dcsr_i_home_free(dcsr_context *context, dcsr_i_home *home, size_t value_size)
{
    if (!home) return;
    if (home->release) home->release(home->columns, home->values, home->user);
    dcsr_i_free(context, DCSR_I_MATRIX, home, 1, bytes_of(home, value_size));
}

bool dcsr_i_home_has_room(const dcsr_i_arena *arena, uint64_t end)
{
    return arena->home && end <= arena->home->places;
}

uint64_t dcsr_i_home_for(const dcsr_i_arena *arena, uint64_t end)
{
    enum { FIRST_HOME = 64 };
    uint64_t places = arena->home ? arena->home->places : FIRST_HOME;
    while (places < end) places *= 2;
    return places <= LAST_HOME ? places : 0;
}

void dcsr_i_home_move(dcsr_i_arena *arena, uint32_t *columns, char *values, dcsr_i_home *home)
{
    dcsr_i_home *old = arena->home;
    if (old) {
        memcpy(columns, old->columns, old->places * sizeof *columns);
        if (arena->value_size) memcpy(values, old->values, old->places * arena->value_size);
        old->next = arena->left;
        arena->left = old;
    }
    arena->columns = columns;
    arena->values = values;
    arena->home = home;
    if (home) arena->heap_bytes += bytes_of(home, arena->value_size);
}

void dcsr_i_arena_drop_left(dcsr_i_arena *arena)
{
    if (!arena->left) return;
    pthread_mutex_lock(&arena->space->lock);
    dcsr_i_home *left = arena->left;
    arena->left = NULL;
    for (const dcsr_i_home *home = left; home; home = home->next)
        arena->heap_bytes -= bytes_of(home, arena->value_size);
    pthread_mutex_unlock(&arena->space->lock);
    /* Without the lock: a caller's function is called. */
    while (left) {
        dcsr_i_home *home = left;
        left = home->next;
        dcsr_i_home_free(arena->context, home, arena->value_size);
    }
}

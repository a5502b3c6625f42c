/* arena.h: where the column indices and values of a matrix are (internal).
 *
 * Two arrays over one index: columns[i] and values[i], on the context's device. Their address space is
 * reserved once and gets memory as the arena grows (mapping.h), so that growing never moves an entry. Space
 * is handed out in blocks of 4096 entries (65536 on a GPU) and, within the extent of blocks that is open, by a bump
 * pointer:
 *
 *      block    0       1       2       3       4       5
 *             +-------+-------+-------+-------+-------+- - - -
 *             | live  | live  | free  | open......^bump       top
 *             +-------+-------+-------+-------+-------+- - - -
 *
 * Each block counts the entries that are handed out from it; when the count returns to zero the block is free
 * and serves again. Nothing smaller than a block is reused: what a moved row leaves behind waits for its
 * neighbours or for defragmentation.
 *
 * A small matrix has its first places in the heap, in a home that grows by doubling; when it has to hold more than a
 * few kilobytes the arena moves out, for good, into the reserved address space, which is not even reserved before:
 *
 *      home of 64 places  -->  of 128  ...  of 512  -->  the mapping
 *
 * Entries keep their places. Those that somebody reads in the home before stay there as they are, until a change finds
 * that no version is held; so a reader may take the arrays' addresses at any time after it has pinned its version, and
 * keep them as long. Only the one who changes the matrix takes places in the heap, one thread at a time, and has not
 * kept an address from before; views that resolve rows for themselves have a home of their own (rewrite.c). Arrays that
 * a caller has given to a matrix are a home, too, of any size.
 *
 * Blocks and mapping are the space; what a matrix has of it is its arena. A clone has an arena in the space of the
 * matrix that it was made from, so that both read the same places (clone.c). Each block is owned by one arena, in which
 * alone its places are handed out and taken back:
 *
 *      space    | A's | A's | B's | free | A's | B's |       places that B has from A are A's; B reads them, and
 *                                                            giving them back does nothing
 *
 * All functions may be called by any thread; a mutex guards the bookkeeping, never the entries. On a device,
 * places are given back only when no work that uses them is under way. */
#ifndef DCSR_ARENA_H
#define DCSR_ARENA_H

#include "dcsr/base/mapping.h"
#include <pthread.h>

typedef struct dcsr_i_block {
    uint32_t live;                    /* entries handed out and not given back */
    bool retired;                     /* to be freed with its extent by dcsr_i_arena_free_extent() */
    bool foreign;                     /* holds rows that a view resolved for itself, not the store's */
    uint64_t born;                    /* no entry in it was stored before this version */
    const struct dcsr_i_arena *owner; /* NULL: it is free */
} dcsr_i_block;

typedef struct dcsr_i_extent {
    uint64_t first, count; /* blocks */
    uint64_t born;         /* of all of them */
} dcsr_i_extent;

/* Gives back arrays that were a caller's. */
typedef void dcsr_i_release_arrays(uint32_t *columns, void *values, void *user);

/* Entries in the heap: in one piece of memory with this, or in arrays that a caller has given. */
typedef struct dcsr_i_home {
    struct dcsr_i_home *next; /* of those that were left */
    uint64_t places;
    uint32_t *columns;
    char *values;
    bool given;
    dcsr_i_release_arrays *release; /* of arrays that were given; NULL: they were only lent */
    void *user;
} dcsr_i_home;

/* Address space for both arrays. */
typedef struct dcsr_i_reserved {
    dcsr_i_mapping columns, values;
} dcsr_i_reserved;

/* Blocks and mapping, which arenas may share. It is part of a larger object, which lasts as long as it. */
typedef struct dcsr_i_space {
    dcsr_context *context;
    _Atomic uint64_t references;              /* the arenas in it, and the object that it is part of */
    void (*free)(struct dcsr_i_space *space); /* frees that object; NULL: nothing does */
    pthread_mutex_t lock;
    uint64_t arenas;           /* in it */
    uint64_t limit;            /* blocks that fit the reservation */
    uint64_t top;              /* blocks ever used */
    dcsr_i_reserved *reserved; /* NULL as long as all is in the heap */
    dcsr_i_block *block;       /* `block_capacity` of them */
    dcsr_i_block first;        /* where they are as long as one suffices */
    uint64_t block_capacity;
    uint64_t free_blocks; /* below top */
    uint64_t search;      /* where the next search for a free extent begins */
} dcsr_i_space;

typedef struct dcsr_i_arena {
    dcsr_context *context;
    dcsr_i_space *space;
    uint32_t *_Atomic columns; /* the two change together only for who changes the matrix */
    char *_Atomic values;
    size_t value_size;
    int shift;                /* a block is 2^shift entries */
    _Atomic bool in_heap;     /* then the space is not shared */
    dcsr_i_home *home, *left; /* where it is in the heap, or NULL; where it was, and somebody may read */
    uint64_t heap_bytes;      /* of both */
    uint64_t owned;           /* blocks */
    uint64_t open, open_end;  /* entries of the open extent that are still to hand out */
    uint64_t used;            /* entries handed out, slack included */
} dcsr_i_arena;

/* A home, counted as memory of matrices; NULL: no memory. */
dcsr_i_home *dcsr_i_home_create(dcsr_context *context, uint64_t places, size_t value_size);
void dcsr_i_home_free(dcsr_context *context, dcsr_i_home *home, size_t value_size);

/* A space without anything, and a reference to it; with the last one its memory goes, and what it is part of. */
void dcsr_i_space_init(dcsr_i_space *space, dcsr_context *context, void (*free)(dcsr_i_space *space));
void dcsr_i_space_release(dcsr_i_space *space);
/* The first arena in a space. */
dcsr_status dcsr_i_arena_init(dcsr_i_arena *arena, dcsr_i_space *space, size_t value_size);
/* Frees all blocks that it owns, and its reference to the space. */
void dcsr_i_arena_destroy(dcsr_i_arena *arena);
/* Makes an arena that is empty one in the space of another, which is not in the heap. Cannot fail. */
void dcsr_i_arena_share(dcsr_i_arena *arena, dcsr_i_arena *with);
/* Makes arrays of a caller's the home of an arena of the host that is empty: their entries have the first places,
 * handed out to `version`. On failure the arrays are still the caller's. */
dcsr_status dcsr_i_arena_adopt(dcsr_i_arena *arena, const dcsr_i_home *given, uint64_t version);
/* Whether a place that is in use is its own, not of the matrix that this one was cloned from. */
bool dcsr_i_arena_owns(const dcsr_i_arena *arena, uint64_t place);
/* Moves out of the heap, so that several threads may take places at once, and write them. By who changes the matrix. */
dcsr_status dcsr_i_arena_leave_heap(dcsr_i_arena *arena);
/* Frees the homes that were left: nobody reads there any more. Likewise. */
void dcsr_i_arena_drop_left(dcsr_i_arena *arena);

/* ---- arena_info.c, for arena.c ---- */
/* Gives back the address space. */
void dcsr_i_space_unreserve(dcsr_i_space *space);
/* ---- arena_home.c, for arena.c: with the lock ---- */
/* Whether the home has places up to `end`; how many a larger one has, 0: none is that large. */
bool dcsr_i_home_has_room(const dcsr_i_arena *arena, uint64_t end);
uint64_t dcsr_i_home_for(const dcsr_i_arena *arena, uint64_t end);
/* Copies all that is at home to other arrays, those of `home` or of the mapping (NULL), and goes there. */
void dcsr_i_home_move(dcsr_i_arena *arena, uint32_t *columns, char *values, dcsr_i_home *home);

/* ---- arena.c ---- */

/* Hands out `entries` places in one piece, for a change that makes `version`. One bump, or a new extent of
 * blocks. */
dcsr_status dcsr_i_arena_take(dcsr_i_arena *arena, uint64_t entries, uint64_t version, uint64_t *begin);
/* The same for a change that does not know yet what it needs: *entries places, at least `least`, and more if the
 * open extent has them, up to `most`. */
dcsr_status dcsr_i_arena_take_some(dcsr_i_arena *arena, uint64_t least, uint64_t most, uint64_t version,
                                   uint64_t *begin, uint64_t *entries);
/* Of the places that were taken last, gives back those from `used` on: to be taken next, as far as another such change
 * is likely to take them. By who took them. */
void dcsr_i_arena_untake(dcsr_i_arena *arena, uint64_t begin, uint64_t entries, uint64_t used);
/* The same from blocks of its own, so that nothing else shares them; foreign marks them as a view's. */
dcsr_status dcsr_i_arena_take_blocks(dcsr_i_arena *arena, uint64_t entries, uint64_t version, bool foreign,
                                     uint64_t *begin);
/* Takes back places that were handed out. */
void dcsr_i_arena_give(dcsr_i_arena *arena, uint64_t begin, uint64_t entries);
/* Takes back `entries` places of one block, whichever they are: a device adds up per block what a change
 * leaves behind. Nothing in the block is used again before all of it has been given back. */
void dcsr_i_arena_give_counts(dcsr_i_arena *arena, uint64_t block, uint64_t entries);

/* Closes the open extent and retires all blocks of the store that are in use: they are the store's old home once a
 * whole change has moved out. *extents, of the pool of matrices, lists them: neighbours that were taken for one
 * version together. */
dcsr_status dcsr_i_arena_retire(dcsr_i_arena *arena, dcsr_i_extent **extents, uint64_t *count);
/* Undoes that, when the defragmentation has failed. */
void dcsr_i_arena_spare(dcsr_i_arena *arena, const dcsr_i_extent *extents, uint64_t count);
/* Frees retired blocks. */
void dcsr_i_arena_free_extent(dcsr_i_arena *arena, uint64_t first, uint64_t count);

/* The version before which nothing at these places, one at least, was stored. They were taken in one piece,
 * of an extent whose later blocks are not older: so what is told is that of the last, and no block of the places
 * is younger. UINT64_MAX where the block is free, or serves a view: they have been given back; 0 where it is another
 * arena's: they are not to be given back here. */
uint64_t dcsr_i_arena_born(dcsr_i_arena *arena, uint64_t begin, uint64_t entries);
/* The same by a caller that holds the lock. */
uint64_t dcsr_i_arena_born_locked(const dcsr_i_arena *arena, uint64_t begin, uint64_t entries);
/* How many of some places in use, from the first on, are in blocks of one owner before whose version *born, as above,
 * nothing was stored: the same for all of these. For a caller that holds the lock. */
uint64_t dcsr_i_arena_run_locked(const dcsr_i_arena *arena, uint64_t begin, uint64_t entries, uint64_t *born);
/* Whether less than three quarters of a block are in use; never of another arena's. For a caller that holds the lock.
 */
bool dcsr_i_arena_is_sparse_locked(const dcsr_i_arena *arena, uint64_t block);
/* Returns the memory of free blocks of the space to the system: of all, or from the last ones on until those that are
 * left with some have no more than so many places. */
void dcsr_i_arena_trim(dcsr_i_arena *arena);
void dcsr_i_arena_trim_to(dcsr_i_arena *arena, uint64_t kept);
/* Entries handed out and not given back; bytes of memory held, in a shared space those of its own blocks; blocks of the
 * space ever used; log2 of a block's entries. */
uint64_t dcsr_i_arena_used(dcsr_i_arena *arena);
uint64_t dcsr_i_arena_bytes(dcsr_i_arena *arena);
uint64_t dcsr_i_arena_blocks(dcsr_i_arena *arena);
static inline int dcsr_i_arena_shift(const dcsr_i_arena *arena)
{
    return arena->shift;
}
/* Entries in blocks of the space that have been used and are free; those of them for which there is memory, as it was
 * not returned; entries in all of the arena's own blocks. */
uint64_t dcsr_i_arena_idle(dcsr_i_arena *arena);
uint64_t dcsr_i_arena_idle_memory(dcsr_i_arena *arena);
uint64_t dcsr_i_arena_held(dcsr_i_arena *arena);

#endif

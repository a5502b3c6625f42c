/* pinned_cuda.c: pinned memory of the host, for what a device copies from and to.
 *
 * Pinning a megabyte takes a third of a millisecond, longer than copying it, and unpinning waits for the device. So
 * memory is pinned in pieces, from which blocks are cut, and what is freed is kept, in a list of its size:
 *
 *      size    256  320  384  448   512  640  768  896   1024  ...     four in each doubling
 *      freed    |         |                               |
 *              [ ]       [ ]->[ ]                        [ ]
 *
 * Once nothing is in use and more than KEPT_BYTES are pinned, trimming unpins the pieces. So what small matrices need
 * stays, however often they come and go, and what large batches go through (upload_cuda.c). This holds with and without
 * jemalloc: a program that has not got it would pin memory for each batch. AddressSanitizer sees each block by itself,
 * as what is not in use is poisoned. */
#include "dcsr/base/allocator.h"
#include "dcsr/base/asan.h"
#include "dcsr/base/cuda.h"
#include <pthread.h>
#include <string.h>

/* What CUDA pinned at once, in its own first bytes. */
typedef struct piece {
    struct piece *next;
    size_t bytes; /* all of it */
} piece;

/* A block that is free, in its own first bytes. */
typedef struct freed {
    struct freed *next;
} freed;

enum {
    LEAST = 256,              /* bytes of a block */
    LEAST_POWER = 8,          /* 2^8 = LEAST */
    STEPS = 4,                /* sizes in a doubling */
    SIZES = STEPS * (64 - 8), /* more than there can be */
    PIECE = 2 << 20,          /* bytes; blocks of more than an eighth have one of their own */
    KEPT_BYTES = 40 << 20
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for all that follows */
static freed *kept[SIZES];
static piece *pieces;
static char *room, *room_end; /* what is left of the last piece that blocks are cut from */
static uint64_t bytes_pinned, bytes_in_use, blocks_in_use;
static int open_contexts;

/* ---- Sizes ---- */

/* The least size that holds some bytes. */
static unsigned size_number(size_t bytes)
{
    if (bytes <= LEAST) return 0;
    const unsigned power = 63 - (unsigned)__builtin_clzll(bytes - 1);
    const size_t begin = (size_t)1 << power, step = begin / STEPS;
    return STEPS * (power - LEAST_POWER) + (unsigned)((bytes - 1 - begin) / step) + 1;
}

static size_t size_of(unsigned number)
{
    if (!number) return LEAST;
    const size_t begin = (size_t)LEAST << (number - 1) / STEPS;
    return begin + begin / STEPS * ((number - 1) % STEPS + 1);
}

/* ---- Blocks ---- */

static char *pin_piece(size_t bytes)
{
    piece *pinned = dcsr_i_cuda_pin(bytes);
    if (!pinned) return NULL;
    *pinned = (piece){.next = pieces, .bytes = bytes};
    pieces = pinned;
    bytes_pinned += bytes;
    ASAN_POISON_MEMORY_REGION((char *)pinned + DCSR_I_ALIGNMENT, bytes - DCSR_I_ALIGNMENT);
    return (char *)pinned + DCSR_I_ALIGNMENT;
}

/* A block that has not been in use. */
static char *cut(size_t size)
{
    if (size > PIECE / 8) return pin_piece(DCSR_I_ALIGNMENT + size);
    if (size > (size_t)(room_end - room)) {
        char *begin = pin_piece(PIECE);
        if (!begin) return NULL;
        room = begin;
        room_end = begin + PIECE - DCSR_I_ALIGNMENT;
    }
    char *block = room;
    room += size;
    return block;
}

static char *take_kept(unsigned number)
{
    freed *block = kept[number];
    if (!block) return NULL;
    ASAN_UNPOISON_MEMORY_REGION(block, sizeof *block);
    kept[number] = block->next;
    return (char *)block;
}

static void *take(dcsr_i_pool pool, size_t bytes, bool zero)
{
    (void)pool;
    const unsigned number = size_number(bytes);
    if (bytes > SIZE_MAX / 4 || dcsr_i_cuda_forked()) return NULL;
    pthread_mutex_lock(&lock);
    char *block = take_kept(number);
    if (!block) block = cut(size_of(number));
    if (block) blocks_in_use++, bytes_in_use += bytes;
    pthread_mutex_unlock(&lock);
    if (!block) return NULL;
    ASAN_UNPOISON_MEMORY_REGION(block, bytes);
    return zero ? memset(block, 0, bytes) : block;
}

/* In a process that was forked off pinned memory is not there to be touched. */
static void give(dcsr_i_pool pool, void *block, size_t bytes)
{
    (void)pool;
    pthread_mutex_lock(&lock);
    blocks_in_use--, bytes_in_use -= bytes;
    if (!dcsr_i_cuda_forked()) {
        const unsigned number = size_number(bytes);
        freed *first = block;
        ASAN_UNPOISON_MEMORY_REGION(first, sizeof *first); /* there may be fewer bytes */
        first->next = kept[number];
        kept[number] = first;
        ASAN_POISON_MEMORY_REGION(block, size_of(number));
    }
    pthread_mutex_unlock(&lock);
}

static void *retake(dcsr_i_pool pool, void *block, size_t old_bytes, size_t bytes)
{
    void *moved = take(pool, bytes, false);
    if (!moved) return NULL;
    memcpy(moved, block, old_bytes < bytes ? old_bytes : bytes);
    give(pool, block, old_bytes);
    return moved;
}

/* ---- All of them ---- */

static void unpin_pieces(void)
{
    while (pieces) {
        piece *next = pieces->next;
        ASAN_UNPOISON_MEMORY_REGION(pieces, pieces->bytes);
        dcsr_i_cuda_unpin(pieces);
        pieces = next;
    }
    memset(kept, 0, sizeof kept);
    room = room_end = NULL;
    bytes_pinned = 0;
}

/* What the open devices keep goes too. */
static void trim(void)
{
    pthread_mutex_lock(&lock);
    if (!blocks_in_use && bytes_pinned > (open_contexts ? KEPT_BYTES : 0) && !dcsr_i_cuda_forked())
        unpin_pieces();
    pthread_mutex_unlock(&lock);
    dcsr_i_cuda_trim();
}

void dcsr_i_pinned_keep(int contexts)
{
    pthread_mutex_lock(&lock);
    open_contexts += contexts;
    pthread_mutex_unlock(&lock);
}

static void usage(uint64_t *active, uint64_t *resident)
{
    pthread_mutex_lock(&lock);
    *active += bytes_in_use;
    *resident += bytes_pinned;
    pthread_mutex_unlock(&lock);
}

const dcsr_i_heap dcsr_i_pinned_heap = {
    .take = take, .retake = retake, .give = give, .usage = usage, .trim = trim};

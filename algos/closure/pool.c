/* pool.c: many small arrays that double in size. */
#include "algos/closure/pool.h"
#include <assert.h>
#include <string.h>

/* Numbers of the first block; each following one is as large as all before it, so that there are few. */
enum { FIRST_BLOCK = 1 << 16 };

static bool new_block(dcsr_i_words *pool, uint64_t least)
{
    uint64_t words = FIRST_BLOCK;
    while (words * sizeof(uint32_t) < pool->work->used / 4) words *= 2;
    /* Less, where the limit is near. */
    while (words > least && !dcsr_i_work_has(pool->work, words * sizeof(uint32_t))) words /= 2;
    if (words < least) words = least;
    if (dcsr_i_work_take(pool->work, &pool->next, words, sizeof *pool->next, "the pairs")) return false;
    pool->left = words;
    return true;
}

uint32_t *dcsr_i_words_take(dcsr_i_words *pool, int k)
{
    const uint64_t words = (uint64_t)1 << k;
    assert(k >= 2 && k < DCSR_I_POOL_CLASSES);
    uint32_t *room = pool->freed[k];
    if (room) {
        memcpy(&pool->freed[k], room, sizeof(void *));
        return room;
    }
    /* What is left of the last block is of no use any more, at most once for each block. */
    if (pool->left < words && !new_block(pool, words)) return NULL;
    room = pool->next;
    pool->next += words;
    pool->left -= words;
    return room;
}

void dcsr_i_words_give(dcsr_i_words *pool, uint32_t *words, int k)
{
    if (!words) return;
    memcpy(words, &pool->freed[k], sizeof(void *));
    pool->freed[k] = words;
}

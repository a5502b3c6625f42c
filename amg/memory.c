/* memory.c: arrays of the host, sorting them, and the pool that keeps them between setups: what the system hands out
 * has to be zeroed page by page, which takes as long as computing what goes there. So a setup, or an update that
 * computes all anew, writes into the memory that the one before has left. */
#include "amg/hierarchy.h"
#include <stdlib.h>
#include <string.h>

/* Smaller blocks are left to the allocator. */
enum { LEAST_KEPT = 1 << 18 };
/* A block may have so much more room than is asked for: a quarter. */
enum { WASTE = 4 };
/* Setups for which a block is kept that none of them asks for. */
enum { PATIENCE = 2 };

dcsr_status dcsr_i_amg_take(dcsr_i_amg_array *array, dcsr_context *context, uint64_t count, size_t size)
{
    void *data = dcsr_context_allocate(context, count, size);
    if (!data) return dcsr_thread_status();
    *array = (dcsr_i_amg_array){data, count, size, count * size};
    return DCSR_OK;
}

void dcsr_i_amg_drop(dcsr_i_amg_array *array, dcsr_context *context)
{
    dcsr_context_free(context, array->data, array->bytes, 1);
    *array = (dcsr_i_amg_array){0};
}

/* ---- The pool ---- */

void dcsr_i_amg_pool_init(dcsr_i_amg_pool *pool, dcsr_context *context)
{
    *pool = (dcsr_i_amg_pool){.context = context};
    pthread_mutex_init(&pool->mutex, NULL);
}

/* Frees the blocks that nothing has asked for in the last `turns` turns. */
static void shed(dcsr_i_amg_pool *pool, uint64_t turns)
{
    int kept = 0;
    pthread_mutex_lock(&pool->mutex);
    for (int b = 0; b < pool->count; b++) {
        const dcsr_i_amg_block block = pool->block[b];
        if (block.turn + turns > pool->turn)
            pool->block[kept++] = block;
        else
            dcsr_context_free(pool->context, block.data, block.bytes, 1);
    }
    pool->count = kept;
    pthread_mutex_unlock(&pool->mutex);
}

void dcsr_i_amg_pool_turn(dcsr_i_amg_pool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    pool->turn++;
    pthread_mutex_unlock(&pool->mutex);
    shed(pool, PATIENCE);
}

void dcsr_i_amg_pool_end(dcsr_i_amg_pool *pool)
{
    shed(pool, 0);
    pthread_mutex_destroy(&pool->mutex);
}

/* The smallest block that has room and is not too large. */
static dcsr_i_amg_block find(dcsr_i_amg_pool *pool, size_t bytes)
{
    dcsr_i_amg_block found = {0};
    int best = -1;
    if (bytes < LEAST_KEPT) return found;
    pthread_mutex_lock(&pool->mutex);
    for (int b = 0; b < pool->count; b++) {
        const size_t room = pool->block[b].bytes;
        if (room < bytes || room - bytes > bytes / WASTE || (best >= 0 && room >= pool->block[best].bytes))
            continue;
        best = b;
    }
    if (best >= 0) {
        found = pool->block[best];
        pool->block[best] = pool->block[--pool->count];
    }
    pthread_mutex_unlock(&pool->mutex);
    return found;
}

/* *fresh: the block is zeroed. */
static dcsr_status take(dcsr_i_amg_array *array, dcsr_i_amg_pool *pool, uint64_t count, size_t size,
                        bool *fresh)
{
    const dcsr_i_amg_block block =
        count <= SIZE_MAX / size ? find(pool, count * size) : (dcsr_i_amg_block){0};
    *fresh = !block.data;
    if (block.data) {
        *array = (dcsr_i_amg_array){block.data, count, size, block.bytes};
        return DCSR_OK;
    }
    if (!dcsr_i_amg_take(array, pool->context, count, size)) return DCSR_OK;
    shed(pool, 0);
    return dcsr_i_amg_take(array, pool->context, count, size);
}

dcsr_status dcsr_i_amg_borrow(dcsr_i_amg_array *array, dcsr_i_amg_pool *pool, uint64_t count, size_t size)
{
    bool fresh;
    return take(array, pool, count, size, &fresh);
}

dcsr_status dcsr_i_amg_borrow_zeroed(dcsr_i_amg_array *array, dcsr_i_amg_pool *pool, uint64_t count,
                                     size_t size)
{
    bool fresh;
    DCSR_I_AMG_TRY(take(array, pool, count, size, &fresh));
    if (!fresh) memset(array->data, 0, count * size);
    return DCSR_OK;
}

void dcsr_i_amg_give(dcsr_i_amg_array *array, dcsr_i_amg_pool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    const bool kept = array->bytes >= LEAST_KEPT && pool->count < DCSR_I_AMG_MOST_BLOCKS;
    if (kept) pool->block[pool->count++] = (dcsr_i_amg_block){array->data, array->bytes, pool->turn};
    pthread_mutex_unlock(&pool->mutex);
    if (kept)
        *array = (dcsr_i_amg_array){0};
    else
        dcsr_i_amg_drop(array, pool->context);
}

/* ---- Sorting ---- */

static int compare32(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static int compare64(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

void dcsr_i_amg_sort32(uint32_t *numbers, uint64_t count)
{
    if (count) qsort(numbers, count, sizeof *numbers, compare32);
}

void dcsr_i_amg_sort64(uint64_t *numbers, uint64_t count)
{
    if (count) qsort(numbers, count, sizeof *numbers, compare64);
}

/* alloc.c: counted memory: limits, failing on purpose, and blocks from the heaps of allocator.h. */
#include "dcsr/base/allocator.h"
#include "dcsr/base/runtime.h"
#include <dcsr/extend.h>

static const char *const pool_name[DCSR_I_POOLS] = {"matrices", "temporary work", "pinned memory"};

/* -- Failing on purpose
 * ------------------------------------------------------------------------------------------ */

/* Counting for all threads would cost each allocation a line of memory that they share. */
static atomic_bool counting;
static _Atomic uint64_t allocations;
static _Atomic uint64_t fail_from = UINT64_MAX; /* the number of the first allocation that fails */

void dcsr_i_fail_allocations_after(long n)
{
    atomic_store(&counting, true);
    atomic_store(&fail_from, n < 0 ? UINT64_MAX : atomic_load(&allocations) + (uint64_t)n);
}

uint64_t dcsr_i_allocations(void)
{
    atomic_store(&counting, true);
    return atomic_load(&allocations);
}

static bool allowed(void)
{
    if (!atomic_load_explicit(&counting, memory_order_relaxed)) return true;
    uint64_t number = atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    return number < atomic_load_explicit(&fail_from, memory_order_relaxed);
}

/* -- Counting
 * ---------------------------------------------------------------------------------------------------- */

static dcsr_status refuse(dcsr_i_pool pool, uint64_t bytes)
{
    return dcsr_i_fail(
        DCSR_ERROR_OUT_OF_MEMORY,
        "the system refused %llu bytes for %s; free matrices and views, or use a machine with more memory",
        (unsigned long long)bytes, pool_name[pool]);
}

static _Thread_local dcsr_i_set_aside in_use;

dcsr_i_set_aside dcsr_i_use_set_aside(dcsr_i_set_aside part)
{
    dcsr_i_set_aside before = in_use;
    in_use = part;
    return before;
}

/* What the calling thread may not take of the limit. */
static uint64_t out_of_reach(const dcsr_context *context)
{
    return in_use == DCSR_I_ALL_SET_ASIDE    ? 0
           : in_use == DCSR_I_HALF_SET_ASIDE ? context->set_aside / 2
                                             : context->set_aside;
}

/* The total grows only when it may, so that neither two threads slip under the limit together, nor one that
 * asks for too much makes another fail that does not. */
static dcsr_status count(dcsr_context *context, dcsr_i_pool pool, uint64_t bytes)
{
    if (!context) return DCSR_OK;
    uint64_t before = atomic_load_explicit(&context->total, memory_order_relaxed), total;
    const uint64_t beyond = out_of_reach(context);
    do {
        total = before + bytes;
        if (total > context->memory_limit - beyond || total < bytes)
            return dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY,
                               "%llu more bytes for %s would exceed the context's memory limit of %llu (%llu "
                               "are in use, %llu "
                               "set aside for making room); raise the limit, or free matrices and views",
                               (unsigned long long)bytes, pool_name[pool],
                               (unsigned long long)context->memory_limit, (unsigned long long)before,
                               (unsigned long long)beyond);
    } while (!atomic_compare_exchange_weak_explicit(&context->total, &before, total, memory_order_relaxed,
                                                    memory_order_relaxed));
    if (pool != DCSR_I_MATRIX)
        atomic_fetch_add_explicit(&context->temporary[pool], bytes, memory_order_relaxed);
    uint64_t peak = atomic_load_explicit(&context->peak, memory_order_relaxed);
    while (total > peak && !atomic_compare_exchange_weak_explicit(
                               &context->peak, &peak, total, memory_order_relaxed, memory_order_relaxed)) {
    }
    return DCSR_OK;
}

static void uncount(dcsr_context *context, dcsr_i_pool pool, uint64_t bytes)
{
    if (!context) return;
    if (pool != DCSR_I_MATRIX)
        atomic_fetch_sub_explicit(&context->temporary[pool], bytes, memory_order_relaxed);
    atomic_fetch_sub_explicit(&context->total, bytes, memory_order_relaxed);
}

uint64_t dcsr_i_used(const dcsr_context *context, dcsr_i_pool pool)
{
    if (pool != DCSR_I_MATRIX) return atomic_load(&context->temporary[pool]);
    uint64_t rest = atomic_load(&context->total);
    for (int p = 0; p < DCSR_I_POOLS; p++) {
        const uint64_t other = atomic_load(&context->temporary[p]);
        rest = rest > other ? rest - other : 0; /* more may have been taken since the total was read */
    }
    return rest;
}

dcsr_status dcsr_i_charge(dcsr_context *context, dcsr_i_pool pool, uint64_t bytes)
{
    return allowed() ? count(context, pool, bytes) : refuse(pool, bytes);
}

void dcsr_i_uncharge(dcsr_context *context, dcsr_i_pool pool, uint64_t bytes)
{
    uncount(context, pool, bytes);
}

/* -- Blocks
 * ------------------------------------------------------------------------------------------------------ */

/* More than any heap adds to a block. */
#define ROUNDING ((size_t)4 << 20)

static size_t at_least_one(size_t bytes)
{
    return bytes ? bytes : 1;
}

/* The product, or OUT_OF_MEMORY when it is more than an object can have. */
static dcsr_status total_bytes(size_t *bytes, size_t number, size_t size)
{
    if (__builtin_mul_overflow(number, size, bytes) || *bytes > PTRDIFF_MAX - ROUNDING)
        return dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY,
                           "%zu objects of %zu bytes are more than memory can address", number, size);
    return DCSR_OK;
}

/* Linux hands out addresses for more than there is, and ends the process that uses them. */
static bool can_be_had(size_t bytes)
{
    enum { LARGE = 1 << 30 };
    return bytes < LARGE || bytes <= dcsr_machine_memory();
}

static void *allocate(dcsr_context *context, dcsr_i_pool pool, size_t number, size_t size, bool zero)
{
    size_t bytes;
    if (total_bytes(&bytes, number, size) != DCSR_OK) return NULL;
    if (!allowed() || !can_be_had(bytes)) {
        refuse(pool, bytes);
        return NULL;
    }
    if (count(context, pool, bytes) != DCSR_OK) return NULL;
    void *block = dcsr_i_heap_of(pool)->take(pool, at_least_one(bytes), zero);
    if (!block) {
        uncount(context, pool, bytes);
        refuse(pool, bytes);
    }
    return block;
}

void *dcsr_i_alloc(dcsr_context *context, dcsr_i_pool pool, size_t number, size_t size)
{
    return allocate(context, pool, number, size, false);
}

bool dcsr_i_alloc_many(dcsr_context *context, dcsr_i_pool pool, size_t n, size_t size, void **blocks)
{
    const dcsr_i_heap *heap = dcsr_i_heap_of(pool);
    size_t bytes, made = 0;
    if (total_bytes(&bytes, n, size) != DCSR_OK) return false;
    if (!allowed()) {
        refuse(pool, bytes);
        return false;
    }
    if (count(context, pool, bytes) != DCSR_OK) return false;
    while (made < n && (blocks[made] = heap->take(pool, at_least_one(size), false))) made++;
    if (made == n) return true;
    while (made) heap->give(pool, blocks[--made], at_least_one(size));
    uncount(context, pool, bytes);
    refuse(pool, bytes);
    return false;
}

void *dcsr_i_calloc(dcsr_context *context, dcsr_i_pool pool, size_t number, size_t size)
{
    return allocate(context, pool, number, size, true);
}

void *dcsr_i_realloc(dcsr_context *context, dcsr_i_pool pool, void *block, size_t old_number, size_t number,
                     size_t size)
{
    if (!block) return allocate(context, pool, number, size, false);
    size_t bytes, old_bytes = old_number * size;
    if (total_bytes(&bytes, number, size) != DCSR_OK) return NULL;
    if (!allowed() || !can_be_had(bytes)) {
        refuse(pool, bytes);
        return NULL;
    }
    if (bytes > old_bytes && count(context, pool, bytes - old_bytes) != DCSR_OK) return NULL;
    void *moved = dcsr_i_heap_of(pool)->retake(pool, block, at_least_one(old_bytes), at_least_one(bytes));
    if (!moved) {
        if (bytes > old_bytes) uncount(context, pool, bytes - old_bytes);
        refuse(pool, bytes);
    } else if (bytes < old_bytes) {
        uncount(context, pool, old_bytes - bytes);
    }
    return moved;
}

void dcsr_i_free(dcsr_context *context, dcsr_i_pool pool, void *block, size_t number, size_t size)
{
    if (!block) return;
    size_t bytes = number * size;
    dcsr_i_heap_of(pool)->give(pool, block, at_least_one(bytes));
    uncount(context, pool, bytes);
}

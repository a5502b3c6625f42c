/* test_arena.c: the arena uses free blocks again, wherever they are, before it grows. */
#include "tests/support/support.h"

#include "dcsr/store/arena.h"

enum { BLOCKS = 200, ENTRIES = 1000 };

Test(arena, uses_scattered_free_blocks_before_it_grows)
{
    dcsr_context *context = test_context(1);
    dcsr_i_space space;
    dcsr_i_arena arena;
    uint64_t block[BLOCKS], begin, blocks;
    dcsr_i_space_init(&space, context, NULL);
    TEST_OK(dcsr_i_arena_init(&arena, &space, sizeof(double)));
    const uint64_t size = (uint64_t)1 << dcsr_i_arena_shift(&arena);
    for (int i = 0; i < BLOCKS; i++) TEST_OK(dcsr_i_arena_take_blocks(&arena, size, 1, false, &block[i]));
    for (int i = 0; i < BLOCKS; i += 2) dcsr_i_arena_give(&arena, block[i], size);
    blocks = dcsr_i_arena_blocks(&arena);
    const uint64_t times = dcsr_i_arena_idle(&arena) / size * (size / ENTRIES);
    for (uint64_t t = 0; t < times; t++) TEST_OK(dcsr_i_arena_take(&arena, ENTRIES, 2, &begin));
    cr_assert(dcsr_i_arena_blocks(&arena) == blocks, "%lu blocks became %lu", (unsigned long)blocks,
              (unsigned long)dcsr_i_arena_blocks(&arena));
    cr_assert(dcsr_i_arena_idle(&arena) == 0, "%lu places are free",
              (unsigned long)dcsr_i_arena_idle(&arena));
    TEST_OK(dcsr_i_arena_take(&arena, ENTRIES, 2, &begin));
    cr_assert(dcsr_i_arena_blocks(&arena) > blocks);
    dcsr_i_arena_destroy(&arena);
    dcsr_i_space_release(&space);
    test_close(context);
}

/* Places that need several blocks in one piece do not fit holes of one. */
Test(arena, takes_pieces_of_several_blocks_where_they_fit)
{
    dcsr_context *context = test_context(1);
    dcsr_i_space space;
    dcsr_i_arena arena;
    uint64_t block[BLOCKS], begin;
    dcsr_i_space_init(&space, context, NULL);
    TEST_OK(dcsr_i_arena_init(&arena, &space, 0));
    const uint64_t size = (uint64_t)1 << dcsr_i_arena_shift(&arena);
    for (int i = 0; i < BLOCKS; i++) TEST_OK(dcsr_i_arena_take_blocks(&arena, size, 1, false, &block[i]));
    for (int i = 0; i < BLOCKS; i += 4) dcsr_i_arena_give(&arena, block[i], size);
    for (int i = 101; i < 104; i++)
        dcsr_i_arena_give(&arena, block[i], size); /* with 100 and 104 five in a row */
    TEST_OK(dcsr_i_arena_take_blocks(&arena, 4 * size, 2, false, &begin));
    cr_assert(begin == block[100], "at block %lu", (unsigned long)(begin / size));
    TEST_OK(dcsr_i_arena_take_blocks(&arena, 2 * size, 2, false, &begin));
    cr_assert(begin > block[BLOCKS - 1], "at block %lu", (unsigned long)(begin / size));
    dcsr_i_arena_destroy(&arena);
    dcsr_i_space_release(&space);
    test_close(context);
}

/* What one arena does leaves the blocks of the other alone; what is free is for both. */
Test(arena, shares_a_space)
{
    dcsr_context *context;
    dcsr_i_space space;
    dcsr_i_arena arena, other = {0};
    uint64_t mine, its, again, born;
    TEST_OK(dcsr_context_create(&context, &(dcsr_context_options){.device = DCSR_DEVICE_CPU}));
    dcsr_i_space_init(&space, context, NULL);
    TEST_OK(dcsr_i_arena_init(&arena, &space, sizeof(double)));
    TEST_OK(dcsr_i_arena_leave_heap(&arena));
    const uint64_t size = (uint64_t)1 << dcsr_i_arena_shift(&arena);
    TEST_OK(dcsr_i_arena_take_blocks(&arena, 8 * size, 3, false, &mine));
    dcsr_i_arena_share(&other, &arena);
    TEST_OK(dcsr_i_arena_take_blocks(&other, 2 * size, 3, false, &its));
    cr_assert_eq(its, mine + 8 * size);
    cr_assert(dcsr_i_arena_owns(&arena, mine) && !dcsr_i_arena_owns(&other, mine) &&
              dcsr_i_arena_owns(&other, its));
    cr_assert(dcsr_i_arena_born(&arena, mine, size) == 3 && dcsr_i_arena_born(&other, mine, size) == 0);
    pthread_mutex_lock(&space.lock);
    cr_assert(dcsr_i_arena_run_locked(&other, mine + 6 * size, 4 * size, &born) == 2 * size && born == 0);
    cr_assert(dcsr_i_arena_run_locked(&other, its, size, &born) == size && born == 3);
    pthread_mutex_unlock(&space.lock);
    /* Of both only its own goes. */
    dcsr_i_arena_give(&other, mine + 7 * size, 2 * size);
    cr_assert(dcsr_i_arena_held(&arena) == 8 * size && dcsr_i_arena_held(&other) == size);
    dcsr_i_arena_give(&arena, mine + size / 2, size / 2);
    pthread_mutex_lock(&space.lock);
    cr_assert(dcsr_i_arena_is_sparse_locked(&arena, mine / size) &&
              !dcsr_i_arena_is_sparse_locked(&other, mine / size));
    pthread_mutex_unlock(&space.lock);
    dcsr_i_arena_give(&arena, mine + size, 6 * size);
    cr_assert_eq(dcsr_i_arena_idle_memory(&other), dcsr_i_arena_idle_memory(&arena));
    cr_assert_geq(dcsr_i_arena_idle_memory(&other), 7 * size);
    TEST_OK(dcsr_i_arena_take_blocks(&other, 6 * size, 4, false, &again));
    cr_assert_eq(again, mine + size);
    dcsr_i_arena_trim_to(&other, 0);
    cr_assert_eq(dcsr_i_arena_idle_memory(&other), 0);
    dcsr_i_arena_destroy(&arena); /* its blocks are for the other */
    cr_assert_eq(dcsr_i_arena_idle(&other), 3 * size);
    dcsr_i_arena_destroy(&other);
    dcsr_i_space_release(&space);
    test_close(context);
}

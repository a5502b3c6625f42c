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

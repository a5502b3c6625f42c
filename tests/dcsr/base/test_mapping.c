/* test_mapping.c: address space that gets memory unit by unit, and blocks on top of it, on the cpu and on a
 * GPU. */
#include "dcsr/store/arena.h"
#include "dcsr/base/context_gpu.h"
#include "tests/support/support_there.h"
#include <stdlib.h>
#include <string.h>

/* The same tests for each device. */
static void for_each_device(void (*test)(dcsr_context *))
{
    dcsr_context *on;
    dcsr_context_options options = {
        .device = DCSR_DEVICE_CPU, .threads = 1, .reserve_bytes = (uint64_t)1 << 32};
    TEST_OK(dcsr_context_create(&on, &options));
    test(on);
    test_close(on);
    if (!dcsr_i_device_gpu || !dcsr_i_device_gpu->is_usable(0)) return;
    options.device = DCSR_DEVICE_CUDA;
    TEST_OK(dcsr_context_create(&on, &options));
    test(on);
    test_close(on);
}

/* Writes bytes to a place on either device, and reads them back. */
static void write_there(dcsr_context *on, char *place, int byte, size_t bytes)
{
    if (on->cuda)
        test_there->fill(on, place, byte, bytes);
    else
        memset(place, byte, bytes);
}

static bool reads_there(dcsr_context *on, const char *place, int byte, size_t bytes)
{
    char *copy = test_allocate(bytes, 1);
    if (on->cuda)
        test_there->read(on, copy, place, bytes);
    else
        memcpy(copy, place, bytes);
    bool equal = true;
    for (size_t i = 0; i < bytes; i++) equal &= copy[i] == (char)byte;
    free(copy);
    return equal;
}

static uint64_t held(dcsr_context *on)
{
    return test_context_info(on).matrix_bytes;
}

static void grow_and_shrink(dcsr_context *on)
{
    const int units = on->cuda ? 8 : 70; /* the first ones of a device, and more than one word of marks */
    dcsr_i_mapping mapping;
    TEST_OK(dcsr_i_mapping_reserve(&mapping, on, (size_t)1 << 30, 4096));
    size_t unit = mapping.unit;
    char *start = mapping.start;
    cr_assert_eq(held(on), 0, "reserving takes memory");
    for (int u = 0; u < units; u++) {
        TEST_OK(dcsr_i_mapping_populate(&mapping, (uint64_t)u * unit, unit));
        write_there(on, start + (size_t)u * unit, u + 1, unit);
        cr_assert_eq(mapping.bytes, ((uint64_t)u + 1) * unit);
        cr_assert_eq(held(on), dcsr_i_mapping_bytes(&mapping));
    }
    cr_assert_eq(mapping.start, start, "growing moves nothing");
    for (int u = 0; u < units; u++)
        cr_assert(reads_there(on, start + (size_t)u * unit, u + 1, unit), "unit %d", u);
    /* Parts of units stay; what lies within goes and comes back. */
    dcsr_i_mapping_discard(&mapping, unit / 2, unit);
    cr_assert_eq(mapping.bytes, (uint64_t)units * unit);
    dcsr_i_mapping_discard(&mapping, unit / 2, 3 * unit);
    cr_assert_eq(mapping.bytes, ((uint64_t)units - 2) * unit);
    dcsr_i_mapping_discard(&mapping, 0, 6 * unit);
    dcsr_i_mapping_discard(&mapping, 0, 6 * unit);
    cr_assert_eq(mapping.bytes, ((uint64_t)units - 6) * unit);
    TEST_OK(dcsr_i_mapping_populate(&mapping, 3 * unit + 1, 4 * unit));
    cr_assert_eq(mapping.bytes, ((uint64_t)units - 3) * unit, "units 3 to 5 are there again");
    write_there(on, start + 3 * unit, 99, 3 * unit);
    cr_assert(reads_there(on, start + 6 * unit, 7, unit), "unit 6 was there all along");
    TEST_OK(dcsr_i_mapping_populate(&mapping, 0, 0));
    dcsr_i_mapping_discard(&mapping, 0, (uint64_t)units * unit);
    cr_assert_eq(mapping.bytes, 0);
    /* What comes at the same time goes at the same time, on a device. */
    TEST_OK(dcsr_i_mapping_populate(&mapping, 0, 2 * unit));
    TEST_OK(dcsr_i_mapping_populate(&mapping, unit, 4 * unit));
    cr_assert_eq(mapping.bytes, 5 * unit);
    write_there(on, start, 55, 5 * unit);
    dcsr_i_mapping_discard(&mapping, unit, 2 * unit);
    cr_assert_eq(mapping.bytes, on->cuda ? 5 * unit : 3 * unit);
    cr_assert(reads_there(on, start, 55, unit) && reads_there(on, start + 3 * unit, 55, 2 * unit));
    dcsr_i_mapping_discard(&mapping, unit, 4 * unit);
    cr_assert_eq(mapping.bytes, on->cuda ? 2 * unit : unit);
    cr_assert(reads_there(on, start, 55, unit));
    TEST_OK(dcsr_i_mapping_populate(&mapping, 0, 3 * unit));
    cr_assert(reads_there(on, start, 55, unit));
    /* Far behind, units may be larger. One byte takes a unit; all but one byte of it gives nothing back. */
    uint64_t bytes = mapping.bytes, far = 400 * unit + 1;
    TEST_OK(dcsr_i_mapping_populate(&mapping, far, 1));
    uint64_t size = mapping.bytes - bytes;
    cr_assert_geq(size, unit);
    write_there(on, start + far, 77, 1);
    TEST_OK(dcsr_i_mapping_populate(&mapping, far, unit / 2));
    cr_assert_eq(mapping.bytes, bytes + size, "it is there already");
    dcsr_i_mapping_discard(&mapping, far, 2 * size - unit);
    cr_assert(reads_there(on, start + far, 77, 1));
    cr_assert_eq(mapping.bytes, bytes + size);
    dcsr_i_mapping_discard(&mapping, far - size, 3 * size);
    cr_assert_eq(mapping.bytes, bytes);
    dcsr_i_mapping_release(&mapping);
    cr_assert_eq(held(on), 0);
    dcsr_i_mapping_release(&mapping);
}

Test(mapping, grows_in_place_and_gives_back)
{
    for_each_device(grow_and_shrink);
}

/* The countdown stops it at each point: nothing has changed then. */
static void fail_to_grow(dcsr_context *on)
{
    dcsr_i_mapping mapping;
    TEST_OK(dcsr_i_mapping_reserve(&mapping, on, (size_t)1 << 30, 4096));
    TEST_OK(dcsr_i_mapping_populate(&mapping, mapping.unit, mapping.unit));
    write_there(on, mapping.start + mapping.unit, 5, mapping.unit);
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    for (long n = 0; status != DCSR_OK; n++) {
        uint64_t bytes = mapping.bytes;
        dcsr_i_fail_allocations_after(n);
        status = dcsr_i_mapping_populate(&mapping, 0, 8 * mapping.unit);
        dcsr_i_fail_allocations_after(-1);
        cr_assert_eq(mapping.bytes, status == DCSR_OK ? 8 * mapping.unit : bytes);
        cr_assert(reads_there(on, mapping.start + mapping.unit, 5, mapping.unit));
        cr_assert_lt(n, 10);
    }
    dcsr_i_mapping_release(&mapping);
}

Test(mapping, that_cannot_grow_stays)
{
    for_each_device(fail_to_grow);
}

static void give_and_take(dcsr_context *on)
{
    dcsr_i_space space;
    dcsr_i_arena arena;
    uint64_t first, second, third;
    dcsr_i_space_init(&space, on, NULL);
    TEST_OK(dcsr_i_arena_init(&arena, &space, 8));
    const uint64_t block = (uint64_t)1 << dcsr_i_arena_shift(&arena);
    cr_assert_eq(dcsr_i_arena_blocks(&arena), 0);
    TEST_OK(dcsr_i_arena_take_blocks(&arena, 3 * block, 1, false, &first));
    TEST_OK(dcsr_i_arena_take_blocks(&arena, block, 2, false, &second));
    cr_assert_eq(dcsr_i_arena_blocks(&arena), 4);
    cr_assert_eq(second, 3 * block);
    write_there(on, (char *)(arena.columns + second), 3, block * sizeof *arena.columns);
    write_there(on, arena.values + second * 8, 4, block * 8);
    /* Entries that are given back by number make a block free once all of them are. */
    dcsr_i_arena_give_counts(&arena, 1, block - 1);
    dcsr_i_arena_give_counts(&arena, 1, 0);
    cr_assert_eq(dcsr_i_arena_held(&arena), 4 * block);
    cr_assert_eq(dcsr_i_arena_used(&arena), 3 * block + 1);
    dcsr_i_arena_give_counts(&arena, 1, 1);
    cr_assert_eq(dcsr_i_arena_held(&arena), 3 * block);
    TEST_OK(dcsr_i_arena_take_blocks(&arena, 5, 3, false, &third));
    cr_assert_eq(third, block, "a free block serves again");
    cr_assert_eq(dcsr_i_arena_born(&arena, third, 1), 3);
    dcsr_i_arena_give(&arena, third, 5);
    dcsr_i_arena_give(&arena, first, block);
    dcsr_i_arena_give_counts(&arena, 2, block);
    uint64_t before = dcsr_i_arena_bytes(&arena);
    dcsr_i_arena_trim(&arena);
    if (!on->cuda) cr_assert_eq(before - dcsr_i_arena_bytes(&arena), 3 * 12 * block);
    cr_assert_eq(held(on), dcsr_i_arena_bytes(&arena));
    cr_assert(reads_there(on, (char *)(arena.columns + second), 3, block * sizeof *arena.columns));
    cr_assert(reads_there(on, arena.values + second * 8, 4, block * 8));
    /* A large piece beside it, and all of it back. */
    TEST_OK(dcsr_i_arena_take_blocks(&arena, 4 << 20, 4, false, &third));
    write_there(on, (char *)(arena.columns + third), 9, 1000);
    dcsr_i_arena_give(&arena, third, 4 << 20);
    dcsr_i_arena_give(&arena, second, block);
    dcsr_i_arena_trim(&arena);
    cr_assert_eq(space.reserved->columns.bytes + space.reserved->values.bytes, 0);
    dcsr_i_arena_destroy(&arena);
    dcsr_i_space_release(&space);
}

Test(arena, gives_and_takes)
{
    for_each_device(give_and_take);
}

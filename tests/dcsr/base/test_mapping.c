/* test_mapping.c: address space that gets memory unit by unit, and blocks on top of it, on the cpu and on a
 * GPU; of a GPU also temporary and pinned memory. */
#include "dcsr/store/arena.h"
#include "tests/support/support_device.h"
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
#ifdef DCSR_CUDA
    if (!dcsr_i_cuda_usable()) return;
    options.device = DCSR_DEVICE_CUDA;
    TEST_OK(dcsr_context_create(&on, &options));
    test(on);
    test_close(on);
#endif
}

/* Writes bytes to a place on either device, and reads them back. */
static void write_there(dcsr_context *on, char *place, int byte, size_t bytes)
{
    if (!on->cuda) memset(place, byte, bytes);
#ifdef DCSR_CUDA
    if (!on->cuda) return;
    dcsr_i_cuda_stream *with = dcsr_i_stream_borrow(on);
    dcsr_i_cuda_fill(with, place, byte, bytes);
    TEST_OK(dcsr_i_cuda_wait(with, "testing"));
    dcsr_i_stream_return(on, with);
#endif
}

static bool reads_there(dcsr_context *on, const char *place, int byte, size_t bytes)
{
    const char *copy = place;
#ifdef DCSR_CUDA
    dcsr_i_cuda_stream *with = on->cuda ? dcsr_i_stream_borrow(on) : NULL;
    if (with) {
        copy = dcsr_i_cuda_landing(with, bytes);
        dcsr_i_cuda_copy(with, (char *)copy, place, bytes);
        TEST_OK(dcsr_i_cuda_wait(with, "testing"));
    }
#endif
    bool equal = true;
    for (size_t i = 0; i < bytes; i++) equal &= copy[i] == (char)byte;
#ifdef DCSR_CUDA
    dcsr_i_stream_return(on, with);
#endif
    (void)on;
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

#ifdef DCSR_SIMT
/* The driver refuses at each point, also in the middle. */
Test(mapping, that_the_driver_refuses_stays)
{
    enum { UNITS = 7, THERE = 3 }; /* every second one, so that each of the others is a piece */
    open_device();
    NEEDS_GPU();
    dcsr_i_mapping mapping;
    TEST_OK(dcsr_i_mapping_reserve(&mapping, context, (size_t)1 << 30, 4096));
    for (uint64_t u = 1; u < UNITS; u += 2)
        TEST_OK(dcsr_i_mapping_populate(&mapping, u * mapping.unit, mapping.unit));
    write_there(context, mapping.start + 3 * mapping.unit, 5, mapping.unit);
    long n = 0;
    for (dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY; status != DCSR_OK; n++) {
        simt_fail_allocations_after(n);
        status = dcsr_i_mapping_populate(&mapping, 0, UNITS * mapping.unit);
        simt_fail_allocations_after(-1);
        cr_assert_eq(mapping.bytes, (status == DCSR_OK ? UNITS : THERE) * mapping.unit);
        cr_assert_eq(simt_live_bytes(), mapping.bytes);
        cr_assert(reads_there(context, mapping.start + 3 * mapping.unit, 5, mapping.unit));
    }
    cr_assert_eq(n - 1, UNITS - THERE, "refused %ld times", n - 1);
    dcsr_i_mapping_release(&mapping);
    close_device();
}
#endif

static void give_and_take(dcsr_context *on)
{
    dcsr_i_arena arena;
    uint64_t first, second, third;
    TEST_OK(dcsr_i_arena_init(&arena, on, 8));
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
    cr_assert_eq(arena.column_memory.bytes + arena.value_memory.bytes, 0);
    dcsr_i_arena_destroy(&arena);
}

Test(arena, gives_and_takes)
{
    for_each_device(give_and_take);
}

#ifdef DCSR_CUDA

TestSuite(gpu, .init = open_device, .fini = close_device);

Test(gpu, memory_is_counted_and_fails_when_told_to)
{
    NEEDS_GPU();
    static const size_t sizes[] = {0, 1, 255, 256, 4097, 1 << 20, 9 << 20};
    for (int pool = 0; pool < 2; pool++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            void *block = dcsr_i_cuda_alloc(stream, (dcsr_i_pool)pool, sizes[i], 3);
            cr_assert_not_null(block);
            cr_assert_eq(used(pool), 3 * sizes[i]);
            cr_assert_eq(dcsr_i_cuda_where(device, block), DCSR_CUDA_ON_DEVICE);
            dcsr_i_cuda_fill(stream, block, 7, 3 * sizes[i]);
            dcsr_i_cuda_free(stream, (dcsr_i_pool)pool, block, sizes[i], 3);
            cr_assert_eq(used(pool), 0);
        }
    uint64_t before = dcsr_i_allocations();
    dcsr_i_fail_allocations_after(1);
    void *block = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, 10, 1);
    cr_assert_not_null(block);
    cr_assert_null(dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, 10, 1));
    dcsr_i_fail_allocations_after(-1);
    cr_assert_eq(dcsr_i_allocations() - before, 2);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, block, 10, 1);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, NULL, 10, 1);
    cr_assert_null(dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, SIZE_MAX, 2));
    cr_assert(test_says("more than memory can address"));
    TEST_OK(dcsr_i_cuda_wait(stream, "testing"));
}

Test(gpu_limit, holds_on_the_device)
{
    enum { LIMIT = 1 << 20, FOR_ALL = LIMIT - LIMIT / 32 }; /* the rest is set aside for making room */
    open_limited(LIMIT);
    NEEDS_GPU();
    char *most = on_device(FOR_ALL - 10);
    cr_assert_null(dcsr_i_cuda_alloc(stream, DCSR_I_MATRIX, 11, 1));
    cr_assert(test_says("memory limit of 1048576"));
    void *rest = dcsr_i_alloc(context, DCSR_I_MATRIX, 10, 1);
    cr_assert_not_null(rest, "host and device share the limit");
    dcsr_i_free(context, DCSR_I_MATRIX, rest, 10, 1);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, most, FOR_ALL - 10, 1);
    close_device();
}

/* What is freed and kept, or freed behind pending work, is had again before anything is refused. */
Test(gpu, real_exhaustion_is_survived)
{
    NEEDS_GPU();
#ifdef DCSR_SIMT
    simt_set_memory(64 << 20);
    uint64_t whole = dcsr_i_cuda_free_memory(device);
#else
    uint64_t whole = dcsr_i_cuda_free_memory(device) / 64; /* other tests are at work on the same GPU */
#endif
    cr_assert_null(dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, 128 * whole, 1));
    cr_assert(test_says("out of memory while taking temporary memory"));
    for (int round = 0; round < 4; round++) {
        size_t bytes = whole / 8 * (unsigned)(4 + round);
        char *block = on_device(bytes);
        dcsr_i_cuda_fill(stream, block, 1, bytes);
        dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, block, bytes, 1);
    }
    cr_assert_eq(used(DCSR_I_SCRATCH), 0);
    TEST_OK(dcsr_i_cuda_wait(stream, "testing"));
}

Test(gpu, knows_where_memory_is)
{
    NEEDS_GPU();
    int variable = 0;
    char *pinned = dcsr_i_calloc(context, DCSR_I_PINNED, 100, 1);
    cr_assert_not_null(pinned);
    for (int i = 0; i < 100; i++) cr_assert_eq(pinned[i], 0);
    cr_assert_eq(dcsr_i_cuda_where(device, &variable), DCSR_CUDA_HOST);
    cr_assert_eq(dcsr_i_cuda_where(device, pinned), DCSR_CUDA_PINNED);
    cr_assert_eq(dcsr_i_cuda_where(device, pinned + 99), DCSR_CUDA_PINNED);
    dcsr_i_free(context, DCSR_I_PINNED, pinned, 100, 1);
}

Test(gpu, pinned_memory_is_counted_and_given_back)
{
    NEEDS_GPU();
    enum { BLOCKS = 40 };
    char *block[BLOCKS];
    uint64_t sum = 0, free_before = test_context_info(context).allocator_resident;
    for (int i = 0; i < BLOCKS; i++) {
        size_t size = (size_t)1000 << i % 14;
        block[i] = dcsr_i_alloc(context, DCSR_I_PINNED, size, 1);
        cr_assert_not_null(block[i]);
        cr_assert_eq((uintptr_t)block[i] % 64, 0);
        memset(block[i], i, size);
        sum += size;
    }
    cr_assert_eq(test_context_info(context).scratch_bytes, sum);
    block[3] = dcsr_i_realloc(context, DCSR_I_PINNED, block[3], 8000, 3000000, 1);
    cr_assert_eq(used(DCSR_I_PINNED), sum + 3000000 - 8000);
    for (int k = 0; k < 8000; k++) cr_assert_eq(block[3][k], 3);
    for (int i = 0; i < BLOCKS; i++) {
        size_t size = i == 3 ? 3000000 : (size_t)1000 << i % 14;
        if (i != 3)
            for (size_t k = 0; k < size; k += 101) cr_assert_eq(block[i][k], i);
        dcsr_i_free(context, DCSR_I_PINNED, block[i], size, 1);
    }
    char *large = dcsr_i_alloc(context, DCSR_I_PINNED, 100 << 20, 1);
    cr_assert_not_null(large);
    dcsr_i_free(context, DCSR_I_PINNED, large, 100 << 20, 1);
    dcsr_i_allocator_trim();
    cr_assert_leq(test_context_info(context).allocator_resident, free_before + (40 << 20),
                  "pinned memory is still held");
}

#endif

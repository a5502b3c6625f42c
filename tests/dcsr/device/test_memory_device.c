/* test_memory_device.c: temporary and mapped memory of a GPU, and pinned memory of the host. */
#include "dcsr/base/mapping.h"
#include "tests/support/support_device.h"
#include "tests/support/support_there.h"
#include <string.h>

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

/* Pinning takes longer than what goes through it. */
Test(gpu, pinned_memory_that_is_freed_is_had_again)
{
    NEEDS_GPU();
    enum { BLOCKS = 12 };
    static const size_t sizes[] = {1, 250, 257, 4096, 270000, 600000};
    char *block[BLOCKS];
    uint64_t resident = 0;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < BLOCKS; i++) {
            const size_t size = sizes[i % 6];
            block[i] = dcsr_i_calloc(context, DCSR_I_PINNED, size, 1);
            cr_assert_not_null(block[i]);
            for (size_t k = 0; k < size; k++) cr_assert_eq(block[i][k], 0);
            memset(block[i], 7, size);
        }
        if (!round) resident = test_context_info(context).allocator_resident;
        cr_assert_leq(test_context_info(context).allocator_resident, resident, "pinned once more");
        for (int i = 0; i < BLOCKS; i++) dcsr_i_free(context, DCSR_I_PINNED, block[i], sizes[i % 6], 1);
    }
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
    char *kept = mapping.start + 3 * mapping.unit, *fives = test_allocate(mapping.unit, 2),
         *found = fives + mapping.unit;
    memset(fives, 5, mapping.unit);
    test_there->fill(context, kept, 5, mapping.unit);
    long n = 0;
    for (dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY; status != DCSR_OK; n++) {
        simt_fail_allocations_after(n);
        status = dcsr_i_mapping_populate(&mapping, 0, UNITS * mapping.unit);
        simt_fail_allocations_after(-1);
        cr_assert_eq(mapping.bytes, (status == DCSR_OK ? UNITS : THERE) * mapping.unit);
        cr_assert_eq(simt_live_bytes(), mapping.bytes);
        test_there->read(context, found, kept, mapping.unit);
        cr_assert(!memcmp(found, fives, mapping.unit));
    }
    cr_assert_eq(n - 1, UNITS - THERE, "refused %ld times", n - 1);
    free(fives);
    dcsr_i_mapping_release(&mapping);
    close_device();
}
#endif

/* support_device.h: for suites that look below the matrix at a GPU: a context with a stream, and whether all
 * that was taken from it has been given back. They are left out of builds without CUDA; where there is no GPU
 * the tests are skipped. */
#ifndef DCSR_TESTS_SUPPORT_DEVICE_H
#define DCSR_TESTS_SUPPORT_DEVICE_H

#include "dcsr/base/runtime.h"
#include "tests/support/support.h"
#include <stdlib.h>
#include <string.h>
#include "dcsr/base/cuda.h"
#ifdef DCSR_SIMT
#include "tests/simt/simt_control.h"
#endif

/* Suites of the device alone are quick on a GPU. Of their cases one in this many is enough under
 * compute-sanitizer, where DCSR_TEST_SMALL is 2. */
static inline int test_one_in(void)
{
    const char *small = getenv("DCSR_TEST_SMALL");
    return !TEST_EMULATOR && small && !strcmp(small, "2") ? 8 : 1;
}

static dcsr_context *context;
static dcsr_i_cuda_device *device;
static dcsr_i_cuda_stream *stream;

/* A test begins with it; the context is not open where there is no GPU. */
#define NEEDS_GPU()                                    \
    do {                                               \
        if (!context) cr_skip_test("there is no GPU"); \
    } while (0)

static inline void open_limited(uint64_t limit)
{
    if (!dcsr_i_cuda_usable(test_device_number())) return;
    dcsr_context_options options = {.device = DCSR_DEVICE_CUDA,
                                    .threads = 1,
                                    .memory_limit = limit,
                                    .device_number = test_device_number()};
    TEST_OK(dcsr_context_create(&context, &options));
    device = context->cuda;
    TEST_OK(dcsr_i_cuda_stream_create(&stream, device, DCSR_CUDA_TO_READ));
    dcsr_i_cuda_enter(stream);
}

static inline void open_device(void)
{
    open_limited(0);
}

static inline void close_device(void)
{
    if (!context) return;
    dcsr_i_fail_allocations_after(-1);
    dcsr_i_cuda_leave(stream);
    dcsr_i_cuda_stream_destroy(stream);
    test_close(context);
#ifdef DCSR_SIMT
    cr_assert_eq(simt_live_streams(), 0);
    cr_assert_eq(simt_live_events(), 0);
    cr_assert_eq(simt_live_pools(), 0);
    cr_assert_eq(simt_live_allocations(), 0);
    cr_assert_eq(simt_live_reservations(), 0);
    cr_assert_eq(simt_live_pinned(), 0);
#endif
}

static inline uint64_t used(int pool)
{
    return dcsr_i_used(context, (dcsr_i_pool)pool);
}

static inline char *on_device(size_t bytes)
{
    char *block = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, bytes, 1);
    cr_assert_not_null(block, "%s", dcsr_thread_error());
    return block;
}

#endif

/* test_device.c: a GPU: which contexts get one and what they say of it, its streams, memory and failures. */
#include "tests/support/support_device.h"
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "dcsr/device/prim_cuda.h"

static dcsr_status create(dcsr_context **made, dcsr_device wanted)
{
    return dcsr_context_create(made, &(dcsr_context_options){.device = wanted, .threads = 1});
}

Test(choice, of_a_gpu_is_told)
{
    open_device();
    NEEDS_GPU();
    dcsr_context_info info = test_context_info(context);
    cr_assert_eq(info.device, DCSR_DEVICE_CUDA);
    cr_assert_str_neq(info.device_name, "cpu");
    cr_assert_gt(strlen(info.device_name), 0);
    cr_assert_eq(strncmp(info.built_for, "cpu, cuda ", 10), 0, "%s", info.built_for);
    cr_assert_geq(info.device_memory, 1 << 20);
    cr_assert(info.device_free > 0 && info.device_free <= info.device_memory);
    cr_assert_geq(info.driver_version / 1000, info.runtime_version / 1000);
    cr_assert_eq(context->reserve_bytes, 2 * info.device_memory);
    cr_assert_eq(test_device_of_auto(), DCSR_DEVICE_CUDA);
    setenv("DCSR_DEVICE", "cuda", 1);
    cr_assert_eq(test_device_of_auto(), DCSR_DEVICE_CUDA);
    close_device();
}

#ifdef DCSR_SIMT

static void expect_no_device(const char *words)
{
    dcsr_context *none;
    TEST_REFUSED(DCSR_ERROR_NO_DEVICE, words, dcsr_i_cuda_find(0));
    cr_assert(!dcsr_i_cuda_usable(0));
    cr_assert_eq(test_device_of_auto(), DCSR_DEVICE_CPU);
    TEST_REFUSED(DCSR_ERROR_NO_DEVICE, words, create(&none, DCSR_DEVICE_CUDA));
    cr_assert_null(none);
    setenv("DCSR_DEVICE", "cuda", 1);
    TEST_REFUSED(DCSR_ERROR_NO_DEVICE, words, create(&none, DCSR_DEVICE_AUTO));
}

Test(choice, without_a_gpu)
{
    simt_set_devices(0);
    expect_no_device("the driver sees none");
}

Test(choice, with_an_old_driver)
{
    simt_set_driver_insufficient(true);
    expect_no_device("the driver is for CUDA 11.0, and this library needs one for CUDA 13");
}

Test(choice, with_a_gpu_that_the_library_was_not_built_for)
{
    simt_set_code_missing(true);
    expect_no_device("this library has code for the architectures emulator, not for ");
    cr_assert(test_says("build it with CUDA_ARCH="));
}

/* Each thing that CUDA makes for a context, and then for a stream, is refused in turn. */
Test(choice, refused_by_the_driver)
{
    TEST_OK(dcsr_i_cuda_find(0));
    for (long n = 0, made = 0; made < 2; n++) {
        dcsr_context *opened = NULL;
        dcsr_i_cuda_stream *borrowed = NULL;
        simt_fail_allocations_after(n);
        made = create(&opened, DCSR_DEVICE_CUDA) == DCSR_OK;
        if (made) made += (borrowed = dcsr_i_stream_borrow(opened)) != NULL;
        simt_fail_allocations_after(-1);
        if (made < 2) cr_assert(test_says("out of memory while"));
        if (opened) dcsr_i_stream_return(opened, borrowed);
        dcsr_context_destroy(opened);
        cr_assert(!simt_live_pools() && !simt_live_streams() && !simt_live_events());
        cr_assert_lt(n, 10);
    }
}

#endif

TestSuite(device, .init = open_device, .fini = close_device);

/* ---- Streams ---- */

Test(device, streams_follow_each_other_where_told)
{
    NEEDS_GPU();
    enum { ROUNDS = 20, BYTES = 10000 };
    dcsr_i_cuda_stream *other;
    unsigned char *host = dcsr_i_alloc(context, DCSR_I_PINNED, BYTES, 1);
    char *a = on_device(BYTES), *b = on_device(BYTES);
    TEST_OK(dcsr_i_cuda_stream_create(&other, device, DCSR_CUDA_TO_READ));
    cr_assert_eq(dcsr_i_cuda_device_of(other), device);
    for (int round = 0; round < ROUNDS; round++) {
        dcsr_i_cuda_fill(stream, a, round, BYTES);
        dcsr_i_cuda_order(other, stream);
        dcsr_i_cuda_copy(other, b, a, BYTES);
        if (round & 1) /* as a stream of the caller's */
            dcsr_i_cuda_order_caller_after(dcsr_i_cuda_handle(stream), other);
        else
            dcsr_i_cuda_order_after_caller(stream, dcsr_i_cuda_handle(other));
        dcsr_i_cuda_fill(stream, a, 200, BYTES);
        dcsr_i_cuda_copy(stream, host, b, BYTES);
        TEST_OK(dcsr_i_cuda_wait(stream, "testing"));
        for (int i = 0; i < BYTES; i++)
            cr_assert_eq(host[i], round, "round %d: byte %d is %d", round, i, host[i]);
    }
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, a, BYTES, 1);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, b, BYTES, 1);
    dcsr_i_free(context, DCSR_I_PINNED, host, BYTES, 1);
    dcsr_i_cuda_stream_destroy(other);
    dcsr_i_cuda_stream_destroy(NULL);
}

Test(device, streams_are_lent_again)
{
    NEEDS_GPU();
    dcsr_i_cuda_stream *borrowed[DCSR_I_IDLE_STREAMS + 2];
    enum { STREAMS = sizeof borrowed / sizeof *borrowed };
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < STREAMS; i++) {
            cr_assert_not_null(borrowed[i] = dcsr_i_stream_borrow(context));
            for (int k = 0; k < i; k++) cr_assert_neq(borrowed[k], borrowed[i]);
            cr_assert_not_null(dcsr_i_cuda_landing(borrowed[i], 100));
        }
        for (int i = 0; i < STREAMS; i++) dcsr_i_stream_return(context, borrowed[i]);
        cr_assert_eq(context->idle_streams[DCSR_CUDA_TO_READ], DCSR_I_IDLE_STREAMS);
        cr_assert_eq(used(DCSR_I_PINNED), 0, "idle streams hold memory");
    }
    dcsr_i_stream_return(context, NULL);
}

Test(device, numbers_land)
{
    NEEDS_GPU();
    uint64_t *numbers = (uint64_t *)on_device(10 * sizeof *numbers);
    uint64_t *landing = dcsr_i_cuda_landing(stream, sizeof *numbers);
    cr_assert_eq(landing, dcsr_i_cuda_landing(stream, 1));
    *landing = 12345;
    dcsr_i_cuda_copy(stream, numbers, landing, sizeof *numbers);
    TEST_OK(dcsr_i_cuda_wait(stream, "testing"));
    landing = dcsr_i_cuda_landing(stream, 100000); /* another place, perhaps */
    memset(landing, 0, 100000);
    dcsr_i_cuda_copy(stream, landing, numbers, sizeof *numbers);
    TEST_OK(dcsr_i_cuda_wait(stream, "testing"));
    cr_assert_eq(*landing, 12345);
    cr_assert_geq(used(DCSR_I_PINNED), 100000);
    dcsr_i_fail_allocations_after(0);
    cr_assert_null(dcsr_i_cuda_landing(stream, 1000000));
    dcsr_i_fail_allocations_after(-1);
    TEST_REFUSED(DCSR_ERROR_OUT_OF_MEMORY, "out of memory while testing",
                 dcsr_i_cuda_wait(stream, "testing"));
    TEST_OK(dcsr_i_cuda_wait(stream, "testing")); /* told once */
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, numbers, 10, sizeof *numbers);
}

/* ---- Failures ---- */

/* Makes a kernel of this stream fail: on a device it reads where nothing is mapped. */
static void fault(dcsr_i_cuda_stream *on)
{
    uint64_t *sums = dcsr_i_cuda_alloc(on, DCSR_I_SCRATCH, 2, sizeof *sums);
    size_t step = dcsr_i_cuda_granularity(device);
    char *nothing = dcsr_i_cuda_reserve(device, step);
#ifdef DCSR_SIMT
    simt_fault_launch_after(0);
#endif
    TEST_OK(dcsr_i_cuda_scan_u64(on, (uint64_t *)nothing, sums, 1));
    TEST_REFUSED(DCSR_ERROR_DEVICE, "while testing (an illegal memory access",
                 dcsr_i_cuda_wait(on, "testing"));
    dcsr_i_cuda_unreserve(device, nothing, step);
    dcsr_i_cuda_free(on, DCSR_I_SCRATCH, sums, 2, sizeof *sums);
}

Test(failure, breaks_the_context_and_no_more)
{
    open_device();
    NEEDS_GPU();
    dcsr_i_cuda_stream *other;
    dcsr_context *host;
    dcsr_context_info info;
    TEST_OK(dcsr_i_cuda_stream_create(&other, device, DCSR_CUDA_TO_READ));
    char *block = on_device(1000), *pinned = dcsr_i_alloc(context, DCSR_I_PINNED, 1000, 1);
    cr_assert_not_null(dcsr_i_cuda_landing(other, 10));
    fault(stream);
    const char *words = ", the device of this context, has failed while testing (an illegal memory access";
    TEST_REFUSED(DCSR_ERROR_DEVICE, words, dcsr_context_get_info(context, &info));
    TEST_REFUSED(DCSR_ERROR_DEVICE, words, dcsr_i_cuda_wait(other, "something else"));
    TEST_REFUSED(DCSR_ERROR_DEVICE, words, dcsr_i_cuda_check(device));
    cr_assert_null(dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, 10, 1));
    cr_assert_null(dcsr_i_stream_borrow(context));
    cr_assert_null(dcsr_i_cuda_reserve(device, dcsr_i_cuda_granularity(device)));
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, block, 1000, 1);
    dcsr_i_free(context, DCSR_I_PINNED, pinned, 1000, 1);
    dcsr_i_cuda_stream_destroy(other);
    dcsr_i_cuda_stream_destroy(stream);
    for (int pool = 0; pool < DCSR_I_POOLS; pool++) cr_assert_eq(used(pool), 0);
    dcsr_context_destroy(context);
    TEST_OK(create(&host, DCSR_DEVICE_CPU));
    test_close(host);
}

static int in_child(void)
{
    dcsr_context_info info;
    dcsr_context *another = NULL;
    if (dcsr_context_get_info(context, &info) != DCSR_ERROR_DEVICE || !test_says("a child of")) return 1;
    if (dcsr_i_cuda_wait(stream, "testing") != DCSR_ERROR_DEVICE) return 2;
    if (create(&another, DCSR_DEVICE_CUDA) != DCSR_ERROR_NO_DEVICE || !test_says("is a child of")) return 3;
    unsetenv("DCSR_DEVICE"); /* which says what auto is */
    if (create(&another, DCSR_DEVICE_AUTO) != DCSR_OK || another->device != DCSR_DEVICE_CPU) return 4;
    dcsr_context_destroy(another);
    dcsr_i_cuda_stream_destroy(stream);
    if (used(DCSR_I_PINNED)) return 5;
    dcsr_context_destroy(context);
    return 0;
}

/* The child is told; the parent goes on. */
Test(device, is_not_for_children)
{
    NEEDS_GPU();
    cr_assert_not_null(dcsr_i_cuda_landing(stream, 100));
    int status;
    pid_t child = fork();
    if (!child) _exit(in_child());
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with status %x", status);
    char *block = on_device(10);
    dcsr_i_cuda_fill(stream, block, 1, 10);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, block, 10, 1);
    TEST_OK(dcsr_i_cuda_wait(stream, "testing"));
}

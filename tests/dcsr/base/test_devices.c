/* test_devices.c: how many devices there are, and contexts on the one of a number. */
#include "tests/support/support.h"
#include "dcsr/base/runtime.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

static dcsr_status create(dcsr_context **made, dcsr_device device, int number)
{
    return dcsr_context_create(
        made, &(dcsr_context_options){.device = device, .threads = 1, .device_number = number});
}

static int count_of(dcsr_device device)
{
    int count = -1;
    TEST_OK(dcsr_device_get_count(device, &count));
    return count;
}

Test(devices, are_counted)
{
    int count = 7;
    cr_assert_eq(count_of(DCSR_DEVICE_CPU), 1);
    cr_assert_geq(count_of(DCSR_DEVICE_CUDA), 0);
    if (!dcsr_i_gpu_is_built()) cr_assert_eq(count_of(DCSR_DEVICE_CUDA), 0);
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "use DCSR_DEVICE_CPU or _CUDA",
                 dcsr_device_get_count(DCSR_DEVICE_AUTO, &count));
    cr_assert_eq(count, 0);
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "device is 9", dcsr_device_get_count((dcsr_device)9, &count));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "count is NULL", dcsr_device_get_count(DCSR_DEVICE_CPU, NULL));
}

/* All of those that are there, and the first beyond. */
static void try_numbers(dcsr_device device, int first, int last, const char *words)
{
    dcsr_context *made;
    for (int number = first; number <= last; number++) {
        TEST_OK(create(&made, device, number));
        const dcsr_context_info info = test_context_info(made);
        cr_assert_eq(info.device, device);
        cr_assert_eq(info.device_number, number);
        cr_assert_eq(info.device_place[0] != '\0', device == DCSR_DEVICE_CUDA);
        test_close(made);
    }
    TEST_REFUSED(DCSR_ERROR_NO_DEVICE, words, create(&made, device, last + 1));
    cr_assert_null(made);
    TEST_REFUSED(DCSR_ERROR_NO_DEVICE, words, create(&made, device, INT_MAX));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "device_number is -1", create(&made, device, -1));
}

Test(devices, of_the_cpu_by_number)
{
    try_numbers(DCSR_DEVICE_CPU, 0, 0, "all of it is one device, number 0");
}

Test(devices, of_cuda_by_number)
{
    char words[100];
    const int count = count_of(DCSR_DEVICE_CUDA);
    if (!count) cr_skip_test("there is no GPU");
    snprintf(words, sizeof words, "CUDA sees %d, numbered from 0", count);
    try_numbers(DCSR_DEVICE_CUDA, 0, count - 1, words);
}

/* A GPU that is named is not replaced by the cpu. */
Test(devices, of_auto_by_number)
{
    dcsr_context *made;
    unsetenv("DCSR_DEVICE");
    const int gpus = count_of(DCSR_DEVICE_CUDA);
    TEST_REFUSED(DCSR_ERROR_NO_DEVICE, gpus ? "there is no GPU of number" : "there is no cpu of number",
                 create(&made, DCSR_DEVICE_AUTO, gpus + 1));
    if (gpus > 1) {
        TEST_OK(create(&made, DCSR_DEVICE_AUTO, gpus - 1));
        cr_assert_eq(test_context_info(made).device, DCSR_DEVICE_CUDA);
        test_close(made);
    }
}

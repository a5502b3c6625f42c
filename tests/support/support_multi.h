/* support_multi.h: as many devices as suites of several devices use; of the emulator, that it has. */
#ifndef DCSR_SUPPORT_MULTI_H
#define DCSR_SUPPORT_MULTI_H

#include "tests/support/support.h"
#include <dcsr/multi.h>
#include <stdio.h>
#if TEST_EMULATOR
#include "tests/simt/simt_control.h"
#endif

enum { MOST_DEVICES = TEST_EMULATOR ? 3 : 5 };

/* A test of devices that are lost, or alike, begins with it. */
#define NEEDS_EMULATOR() \
    if (!test_on_emulator()) cr_skip_test("the devices are not those of the emulator")

/* TestSuite(NAME, .init = set_devices) */
static inline void set_devices(void)
{
#if TEST_EMULATOR
    simt_set_devices(MOST_DEVICES);
#endif
}

/* The text of so many devices: those of the emulator, or shares of the cpu. */
static inline const char *test_devices_text(char text[32], int count)
{
    const bool there = test_on_emulator();
    snprintf(text, 32, there ? "cuda:0-%d" : "cpu:%d", count - there);
    return text;
}

/* Opens so many devices, of the kind that suites are run on: shares of the cpu, or GPUs, if there are as many. */
static inline dcsr_multi *test_devices(int count, int threads)
{
    dcsr_multi *devices;
    char text[32];
    int there = count;
    const bool gpus = test_device_of_auto() == DCSR_DEVICE_CUDA;
    if (gpus) TEST_OK(dcsr_device_get_count(DCSR_DEVICE_CUDA, &there));
    if (there < count) count = there;
    if (gpus)
        snprintf(text, sizeof text, "cuda:0-%d", count - 1);
    else
        snprintf(text, sizeof text, "cpu:%d", count);
    TEST_OK(dcsr_multi_create(&devices, text, &(dcsr_multi_options){.threads = threads}));
    return devices;
}

#endif

/* nvml.c: a stand-in for NVIDIA's management library, of a GPU that takes 100 watts: what `dcsr tune` asks it. Its
 * counter moves in steps of 20 milliseconds. */
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))
EXPORT int nvmlInit_v2(void);
EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *place, void **device);
EXPORT int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules);

int nvmlInit_v2(void)
{
    return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *place, void **device)
{
    static int gpu;
    *device = &gpu;
    return strchr(place, ':') ? 0 : 2;
}

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules)
{
    struct timespec now;
    enum { WATTS = 100, STEPS = 50 };
    if (!device || clock_gettime(CLOCK_MONOTONIC, &now)) return 1;
    *millijoules =
        ((unsigned long long)now.tv_sec * STEPS + (unsigned long long)now.tv_nsec / (1000000000 / STEPS)) *
        (WATTS * 1000 / STEPS);
    return 0;
}

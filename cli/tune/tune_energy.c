/* tune_energy.c: what the processor takes, by the counters that Linux's powercap has for RAPL, or a GPU, by NVML, which
 * is looked for as the program runs. */
#include "cli/tune/tune.h"
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SYSTEM_FOLDER "/sys/class/powercap"
enum { PACKAGES = 16, PATH = 4200 };

/* ---- The processor ---- */

static const char *folder(void)
{
    const char *chosen = getenv("DCSR_POWERCAP");
    return chosen ? chosen : SYSTEM_FOLDER;
}

/* A number of a package: energy_uj or max_energy_range_uj; NaN where it cannot be read. */
static double read_number(int package, const char *what)
{
    char path[PATH];
    double number = NAN;
    snprintf(path, sizeof path, "%s/intel-rapl:%d/%s", folder(), package, what);
    FILE *file = fopen(path, "re");
    if (!file) return NAN;
    if (fscanf(file, "%lf", &number) != 1) number = NAN;
    fclose(file);
    return number;
}

static double joules_of_packages(void)
{
    static double last[PACKAGES], wrapped[PACKAGES];
    double sum = 0;
    for (int p = 0; p < PACKAGES; p++) {
        const double now = read_number(p, "energy_uj");
        if (isnan(now)) return p ? sum * 1e-6 : NAN;
        if (now < last[p]) wrapped[p] += read_number(p, "max_energy_range_uj");
        last[p] = now;
        sum += now + wrapped[p];
    }
    return sum * 1e-6;
}

/* ---- A GPU ---- */

/* Of NVML: functions return 0 for success. */
typedef struct nvmlDevice_st *nvml_device;
static struct {
    nvml_device device;
    int (*get_millijoules)(nvml_device device, unsigned long long *millijoules);
} gpu;

/* ISO C does not convert what dlsym() gives; POSIX says that this works. */
#define FIND(function, name) (*(void **)&(function) = dlsym(library, name))

/* The GPU by its address on the bus, as CUDA numbers devices otherwise. */
static void open_gpu(const char *place)
{
    const char *chosen = getenv("DCSR_NVML");
    int (*init)(void), (*find)(const char *place, nvml_device *device);
    void *library = dlopen(chosen ? chosen : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library || !FIND(init, "nvmlInit_v2") || !FIND(find, "nvmlDeviceGetHandleByPciBusId_v2") ||
        !FIND(gpu.get_millijoules, "nvmlDeviceGetTotalEnergyConsumption") || init() ||
        find(place, &gpu.device))
        gpu.get_millijoules = NULL;
}

static double joules_of_gpu(void)
{
    unsigned long long millijoules;
    return gpu.get_millijoules(gpu.device, &millijoules) ? NAN : 1e-3 * (double)millijoules;
}

/* ---- Either ---- */

double tune_energy_joules(void)
{
    return gpu.get_millijoules ? joules_of_gpu() : joules_of_packages();
}

bool tune_energy_is_known(cli_state *cli)
{
    dcsr_context_info info;
    if (dcsr_context_get_info(cli->context, &info)) return false;
    if (info.device == DCSR_DEVICE_CUDA) {
        open_gpu(info.device_place);
        if (!gpu.get_millijoules) return false;
    }
    return !isnan(tune_energy_joules());
}

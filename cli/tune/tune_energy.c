/* tune_energy.c: what the processor takes, by the counters that Linux's powercap has for RAPL. */
#include "cli/tune/tune.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SYSTEM_FOLDER "/sys/class/powercap"
enum { PACKAGES = 16, PATH = 4200 };

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

bool tune_energy_is_known(void)
{
    return !isnan(read_number(0, "energy_uj"));
}

double tune_energy_joules(void)
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

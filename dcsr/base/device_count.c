/* device_count.c: how many devices of each kind there are.
 *
 * Of the cpu these are the nodes of memory that Linux lists, "0" or "0-3,8": those with processors of their own are
 * not told from those without, which only machines with memory beside their processors' have. */
#include "dcsr/base/device_count.h"
#include "dcsr/base/context_gpu.h"
#include <stdio.h>

enum { MOST_NODES = 1024 };

/* What is no list counts as one node. */
static int count_nodes(FILE *list)
{
    int nodes = 0, first, last;
    while (nodes < MOST_NODES && fscanf(list, "%d", &first) == 1) {
        last = first;
        int next = getc(list);
        if (next == '-' && fscanf(list, "%d", &last) == 1) next = getc(list);
        if (first < 0 || last < first || last >= MOST_NODES) break;
        nodes += last - first + 1;
        if (next != ',') break;
    }
    return nodes ? nodes : 1;
}

static int cpu_nodes(void)
{
    FILE *list = fopen("/sys/devices/system/node/online", "re");
    if (!list) return 1;
    const int nodes = count_nodes(list);
    fclose(list);
    return nodes;
}

static int gpus(void)
{
    return dcsr_i_device_gpu ? dcsr_i_device_gpu->count() : 0;
}

int dcsr_i_device_count(dcsr_device device)
{
    return device == DCSR_DEVICE_CUDA ? gpus() : cpu_nodes();
}

dcsr_status dcsr_device_count(dcsr_device device, int *count)
{
    if (!count)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_device_count: count is NULL; give it a place");
    *count = 0;
    if (device != DCSR_DEVICE_CPU && device != DCSR_DEVICE_CUDA)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "dcsr_device_count: device is %d; use DCSR_DEVICE_CPU or _CUDA", (int)device);
    *count = dcsr_i_device_count(device);
    return DCSR_OK;
}

dcsr_status dcsr_i_device_check_number(dcsr_device device, int number)
{
    const int count = dcsr_i_device_count(device);
    if (device == DCSR_DEVICE_CUDA) {
        /* Where there are none, opening tells why. */
        if (number < count || !count) return DCSR_OK;
        return dcsr_i_fail(
            DCSR_ERROR_NO_DEVICE,
            "there is no GPU of number %d: CUDA sees %d, numbered from 0; give device_number one of "
            "these, or look whether CUDA_VISIBLE_DEVICES hides it",
            number, count);
    }
    if (number <= count) return DCSR_OK;
    return dcsr_i_fail(
        DCSR_ERROR_NO_DEVICE,
        "there is no NUMA node of number %d: the machine has %d, numbered from 1; give device_number "
        "one of these, or 0 for all of the machine",
        number, count);
}

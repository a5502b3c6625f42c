/* device_text.c: which devices a text names.
 *
 *      text    = "auto" | "cpu" | "cuda" | "cpu:numa" | "cpu:" number [ "x" number ]
 *              | "cuda:" gpus { "," gpus } | "cuda:all" [ "/" number ]
 *      gpus    = number [ "-" number ] [ "/" number ]
 */
#include "multi/device_text.h"
#include "dcsr/base/error.h"
#include <stdio.h>
#include <string.h>

/* ---- The processors of each node of memory, as Linux lists them: "0-3,8" in nodeN/cpulist ---- */

/* Nodes are looked for up to this number: they need not be numbered without gaps. */
enum { MOST_NODES = 1024 };

/* What is no list ends it. */
static void read_list(cpu_set_t *processors, FILE *list)
{
    int first, last;
    CPU_ZERO(processors);
    while (fscanf(list, "%d", &first) == 1) {
        last = first;
        int next = getc(list);
        if (next == '-' && fscanf(list, "%d", &last) == 1) next = getc(list);
        if (first < 0 || last >= CPU_SETSIZE) break;
        for (int processor = first; processor <= last; processor++) CPU_SET(processor, processors);
        if (next != ',') break;
    }
}

uint64_t dcsr_i_numa_nodes(const char *folder, cpu_set_t nodes[DCSR_MAX_DEVICES])
{
    cpu_set_t allowed;
    uint64_t n = 0;
    if (sched_getaffinity(0, sizeof allowed, &allowed)) return 0;
    for (int node = 0; node < MOST_NODES && n < DCSR_MAX_DEVICES; node++) {
        char path[512];
        snprintf(path, sizeof path, "%s/node%d/cpulist", folder, node);
        FILE *list = fopen(path, "re");
        if (!list) continue;
        read_list(&nodes[n], list);
        fclose(list);
        CPU_AND(&nodes[n], &nodes[n], &allowed);
        if (CPU_COUNT(&nodes[n])) n++;
    }
    return n;
}

int dcsr_i_numa_node_of(const char *folder, const char *pci)
{
    char path[512];
    int node = -1;
    snprintf(path, sizeof path, "%s/%s/numa_node", folder, pci);
    for (char *c = path + strlen(folder); *c; c++)
        if (*c >= 'A' && *c <= 'F') *c = (char)(*c - 'A' + 'a'); /* as Linux writes it */
    FILE *file = fopen(path, "re");
    if (!file) return -1;
    if (fscanf(file, "%d", &node) != 1 || node < 0) node = -1;
    fclose(file);
    return node;
}

/* ---- The text ---- */

/* Numbers are read up to this; none of a device is as large. */
enum { MOST_NUMBER = 1 << 20 };

static dcsr_status refuse(const char *text, const char *at, const char *why)
{
    return dcsr_i_fail(
        DCSR_ERROR_INVALID_ARGUMENT,
        "dcsr_multi_create: \"%s\", at character %d: %s; devices are named like auto, cpu:4, cpu:2x3, "
        "cpu:numa, "
        "cuda:all, cuda:0-3, cuda:0,2 or cuda:0/4",
        text, (int)(at - text) + 1, why);
}

/* A number at *at, which moves behind it; false: there is none, or it is too large. */
static bool read_number(const char **at, int *number)
{
    const char *begin = *at;
    *number = 0;
    while (**at >= '0' && **at <= '9' && *number < MOST_NUMBER) *number = *number * 10 + (*(*at)++ - '0');
    return *at > begin && *number < MOST_NUMBER;
}

/* How many devices share a GPU: what follows a slash, or 1. */
static dcsr_status read_shares(const char *text, const char **at, int *shares)
{
    *shares = 1;
    if (**at != '/') return DCSR_OK;
    const char *begin = ++*at;
    if (!read_number(at, shares) || *shares < 1 || *shares > DCSR_MAX_DEVICES)
        return refuse(text, begin, "the number of devices that share a GPU, 1 to 64, is wanted here");
    return DCSR_OK;
}

static dcsr_status add(dcsr_i_named_devices *named, const char *text, const char *at, int number, int shares)
{
    for (uint64_t i = 0; i < named->count; i++)
        if (named->number[i] == number) return refuse(text, at, "this device has been named before");
    for (int share = 0; share < shares; share++) {
        if (named->count == DCSR_MAX_DEVICES) return refuse(text, at, "these are more than 64 devices");
        named->number[named->count++] = number;
    }
    return DCSR_OK;
}

static dcsr_status read_gpus(dcsr_i_named_devices *named, const char *text, const char *at)
{
    for (;; at++) {
        const char *begin = at;
        int first, last, shares;
        if (!read_number(&at, &first)) return refuse(text, begin, "the number of a GPU is wanted here");
        last = first;
        if (*at == '-') {
            const char *second = ++at;
            if (!read_number(&at, &last))
                return refuse(text, second, "the last number of a range is wanted here");
            if (last < first) return refuse(text, second, "a range ends before it begins");
        }
        DCSR_TRY(read_shares(text, &at, &shares));
        for (int number = first; number <= last; number++) DCSR_TRY(add(named, text, begin, number, shares));
        if (!*at) return DCSR_OK;
        if (*at != ',') return refuse(text, at, "a comma or the end is wanted here");
    }
}

static dcsr_status read_cuda(dcsr_i_named_devices *named, const char *text, const char *at)
{
    const char *begin = at;
    int count, shares;
    named->device = DCSR_DEVICE_CUDA;
    if (strncmp(at, "all", 3)) return read_gpus(named, text, at);
    at += 3;
    DCSR_TRY(read_shares(text, &at, &shares));
    if (*at) return refuse(text, at, "the end is wanted here");
    DCSR_TRY(dcsr_device_get_count(DCSR_DEVICE_CUDA, &count));
    /* Where there are none, opening the first tells why. */
    if (count < 1) count = 1;
    for (int number = 0; number < count; number++) DCSR_TRY(add(named, text, begin, number, shares));
    return DCSR_OK;
}

static dcsr_status read_cpu(dcsr_i_named_devices *named, const char *text, const char *at, const char *nodes)
{
    named->device = DCSR_DEVICE_CPU;
    if (!strcmp(at, "numa")) {
        named->count = dcsr_i_numa_nodes(nodes, named->processors);
        named->bound = named->count > 0;
        named->on_node = named->bound;
        if (!named->bound) named->count = 1;
        return DCSR_OK;
    }
    const char *begin = at;
    int nodes_named, on_node = 1;
    if (!read_number(&at, &nodes_named))
        return refuse(text, begin, "a number of devices or \"numa\" is wanted here");
    if (*at == 'x') {
        const char *second = ++at;
        if (!read_number(&at, &on_node))
            return refuse(text, second, "the number of devices of a node is wanted here");
        named->on_node = (uint64_t)on_node;
    }
    if (*at) return refuse(text, at, "the end is wanted here");
    if (nodes_named < 1 || on_node < 1 || (int64_t)nodes_named * on_node > DCSR_MAX_DEVICES)
        return refuse(text, begin, "1 to 64 devices may be asked for");
    named->count = (uint64_t)nodes_named * (uint64_t)on_node;
    return DCSR_OK;
}

dcsr_status dcsr_i_devices_read(dcsr_i_named_devices *named, const char *text, const char *nodes)
{
    memset(named, 0, sizeof *named);
    if (!text)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "dcsr_multi_create: text is NULL; name the devices, \"auto\" say");
    if (!strncmp(text, "cuda:", 5)) return read_cuda(named, text, text + 5);
    if (!strncmp(text, "cpu:", 4)) return read_cpu(named, text, text + 4, nodes);
    named->count = 1;
    if (!strcmp(text, "auto")) return DCSR_OK;
    named->device = DCSR_DEVICE_CPU;
    if (!strcmp(text, "cpu")) return DCSR_OK;
    named->device = DCSR_DEVICE_CUDA;
    return strcmp(text, "cuda") ? refuse(text, text, "there are no devices of this kind") : DCSR_OK;
}

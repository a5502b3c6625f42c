/* numa.c: the processors of each node of memory, as Linux lists them: "0-3,8" in nodeN/cpulist. */
#include "multi/numa.h"
#include <stdio.h>

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

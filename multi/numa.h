/* numa.h: the processors of each node of memory (internal). */
#ifndef DCSR_NUMA_H
#define DCSR_NUMA_H

#include <dcsr/multi.h>
#include <sched.h>

/* The nodes that Linux describes below the folder, "/sys/devices/system/node", those of them with processors that this
 * process may run on: their number, DCSR_MAX_DEVICES at most; 0 where there is no such description. */
uint64_t dcsr_i_numa_nodes(const char *folder, cpu_set_t nodes[DCSR_MAX_DEVICES]);

#endif

/* device_text.h: which devices a text names (internal). */
#ifndef DCSR_DEVICE_TEXT_H
#define DCSR_DEVICE_TEXT_H

#include <dcsr/multi.h>
#include <sched.h>

typedef struct dcsr_i_named_devices {
    dcsr_device device; /* their kind, AUTO where the text leaves it to the library */
    uint64_t count;
    int number[DCSR_MAX_DEVICES]; /* cuda: as CUDA counts */
    bool bound;                   /* cpu: each to the processors of its node */
    uint64_t on_node; /* cpu: so many devices, one behind the other, are on one node; 0: not known */
    cpu_set_t processors[DCSR_MAX_DEVICES];
} dcsr_i_named_devices;

/* The nodes of memory that Linux describes below the folder, "/sys/devices/system/node", those of them with processors
 * that this process may run on: their number, DCSR_MAX_DEVICES at most; 0 where there is no such description. */
uint64_t dcsr_i_numa_nodes(const char *folder, cpu_set_t nodes[DCSR_MAX_DEVICES]);

/* The node that a GPU at this place on the PCI bus ("0000:3B:00.0") is connected to, as Linux says below the folder,
 * "/sys/bus/pci/devices"; -1: not known. */
int dcsr_i_numa_node_of(const char *folder, const char *pci);

/* Reads the text of dcsr_multi_create(), with the machine's nodes as below the folder `nodes`. Errors as there. */
dcsr_status dcsr_i_devices_read(dcsr_i_named_devices *named, const char *text, const char *nodes);

#endif

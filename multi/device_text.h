/* device_text.h: which devices a text names (internal). */
#ifndef DCSR_DEVICE_TEXT_H
#define DCSR_DEVICE_TEXT_H

#include "multi/numa.h"

typedef struct dcsr_i_named_devices {
    dcsr_device device; /* their kind, AUTO where the text leaves it to the library */
    uint64_t count;
    int number[DCSR_MAX_DEVICES]; /* cuda: as CUDA counts */
    bool bound;                   /* cpu: each to the processors of its node */
    cpu_set_t processors[DCSR_MAX_DEVICES];
} dcsr_i_named_devices;

/* Reads the text of dcsr_multi_create(), with the machine's nodes as below `nodes` (numa.h). Errors as there. */
dcsr_status dcsr_i_devices_read(dcsr_i_named_devices *named, const char *text, const char *nodes);

#endif

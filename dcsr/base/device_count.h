/* device_count.h: how many devices of each kind there are (internal). */
#ifndef DCSR_DEVICE_COUNT_H
#define DCSR_DEVICE_COUNT_H

#include <dcsr/context.h>

/* As dcsr_device_count(), of the cpu or of cuda. */
int dcsr_i_device_count(dcsr_device device);

/* NO_DEVICE where there is none of that number, of those that there are any of: with the error set. */
dcsr_status dcsr_i_device_check_number(dcsr_device device, int number);

#endif

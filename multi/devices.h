/* devices.h: the devices of a dcsr_multi, and how all of them run one function (internal). */
#ifndef DCSR_MULTI_DEVICES_H
#define DCSR_MULTI_DEVICES_H

#include "dcsr/base/error.h"
#include <dcsr/multi.h>

/* What a device does of an operation; k is its number. It runs in the device's thread, whose current device is that one,
 * or which is bound to its processors. */
typedef dcsr_status dcsr_i_task(void *user, uint64_t k);

/* Runs the task on all devices at once and waits for them. Fails with what the first device that failed has said, its
 * name before it; every device has returned then. One call at a time: others wait. Tasks must not call it. */
dcsr_status dcsr_i_multi_run(dcsr_multi *devices, dcsr_i_task *task, void *user);

/* In a task: waits until all devices are here. If any of them comes with a failure, all get one, and should return it:
 * those that did not fail themselves DCSR_ERROR_CANCELLED, of which nobody is told. */
dcsr_status dcsr_i_multi_meet(dcsr_multi *devices, dcsr_status mine);

uint64_t dcsr_i_multi_count(const dcsr_multi *devices);
dcsr_context *dcsr_i_multi_context(const dcsr_multi *devices, uint64_t k);
/* DCSR_OK, or INVALID_ARGUMENT for NULL, CONTEXT_DESTROYED. */
dcsr_status dcsr_i_multi_check(const dcsr_multi *devices);
/* Objects hold what they are of. */
void dcsr_i_multi_retain(dcsr_multi *devices);
void dcsr_i_multi_release(dcsr_multi *devices);

#endif

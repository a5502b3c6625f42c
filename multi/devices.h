/* devices.h: the devices of a dcsr_multi, and how all of them run one function (internal).
 *
 *      caller              device 0        device 1        device 2
 *      dcsr_multi_run -> task(user, 0)   task(user, 1)   task(user, 2)      each in its own thread
 *                            compute         compute         compute
 *                          dcsr_multi_meet: nobody goes on before all are here
 *                            compute         compute         compute
 *      <- the first failure, or DCSR_OK */
#ifndef DCSR_MULTI_DEVICES_H
#define DCSR_MULTI_DEVICES_H

#include "dcsr/base/error.h"
#include <dcsr/multi.h>

uint64_t dcsr_i_multi_count(const dcsr_multi *devices);
dcsr_context *dcsr_i_multi_context(const dcsr_multi *devices, uint64_t k);
/* Whether they are GPUs: what is on them is then in their memory. */
bool dcsr_i_multi_is_on_gpus(const dcsr_multi *devices);
/* What borders are multiples of. */
uint64_t dcsr_i_multi_grain(const dcsr_multi *devices);
/* The first device behind k that is not on k's node of memory. */
uint64_t dcsr_i_multi_node_end(const dcsr_multi *devices, uint64_t k);
/* A context on the cpu, without a limit, for what belongs to no device. It is closed before the devices are, so that
 * what joins it (dcsr_i_context_join) may still have them run tasks while it is closed. */
dcsr_context *dcsr_i_multi_home(const dcsr_multi *devices);
/* "device 2 (cuda:5)", for messages. */
const char *dcsr_i_multi_name(const dcsr_multi *devices, uint64_t k);
/* DCSR_OK, or INVALID_ARGUMENT for NULL, CONTEXT_DESTROYED, DEVICE where one has failed, which the message names. */
dcsr_status dcsr_i_multi_check(const dcsr_multi *devices);
/* Objects hold what they are of. */
void dcsr_i_multi_retain(dcsr_multi *devices);
void dcsr_i_multi_release(dcsr_multi *devices);

#endif

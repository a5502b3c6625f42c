/* all_gather_cuda.h: what each of several devices has, brought to all of them (internal).
 *
 *      device 0              device 1              device 2
 *      offer a0              offer a1              offer a2         what is on its stream writes it
 *      -------------------- the threads meet -------------------
 *      gather  . a1 a2       gather  a0 . a2       gather  a0 a1 .
 *      wait for its stream, and say how that ended
 *
 * Each device copies from the others, straight from their memory where they are peers, beginning with the one behind
 * it, so that all links are in use. Large parts go by NCCL instead, if DCSR_NCCL asks for it. */
#ifndef DCSR_ALL_GATHER_CUDA_H
#define DCSR_ALL_GATHER_CUDA_H

#include "dcsr/base/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is used of NVIDIA's NCCL, which is looked for at run time, if DCSR_NCCL names it. Names and numbers are those of
 * its interface, which versions 2.2 and later have. Functions return 0 for success. */
enum { DCSR_NCCL_BYTES = 1 }; /* ncclUint8 */
typedef struct dcsr_i_nccl {
    int (*get_version)(int *version); /* 22807 is 2.28.7 */
    int (*create_all)(void **communicators, int count, const int *devices);
    int (*destroy)(void *communicator);
    int (*abort)(void *communicator);
    int (*all_gather)(const void *from, void *to, size_t count, int type, void *communicator, void *stream);
} dcsr_i_nccl;
/* For tests: what groups that are opened from now on find; NULL: what there is. */
void dcsr_i_nccl_stand_in(const dcsr_i_nccl *library);

/* Devices that gather, each in one group at most. */
typedef struct dcsr_i_cuda_group dcsr_i_cuda_group;

/* OUT_OF_MEMORY, DEVICE; then *group is NULL. */
dcsr_status dcsr_i_cuda_group_open(dcsr_i_cuda_group **group, dcsr_i_cuda_device *const *devices,
                                   uint64_t count);
/* Nothing of it is under way. NULL does nothing. */
void dcsr_i_cuda_group_close(dcsr_i_cuda_group *group);
/* The version of NCCL that large parts are gathered by, as 22807 for 2.28.7; 0: there is none. */
int dcsr_i_cuda_group_nccl(const dcsr_i_cuda_group *group);

/* Of the stream's device, before the meeting: offers take turns, `which` is 0, 1, 0, ..., on all devices alike. What is
 * offered is left alone until the next meeting. */
void dcsr_i_cuda_offer(dcsr_i_cuda_stream *stream, int which, const void *from);
/* By all devices, after it: puts onto the stream what brings `bytes` of each to `to`, in their order; what stands for
 * its own is not to be read. DEVICE, CANCELLED where another has failed meanwhile. */
dcsr_status dcsr_i_cuda_all_gather(dcsr_i_cuda_stream *stream, int which, void *to, size_t bytes);
/* By each device behind that, before the next meeting, with what waiting for the stream came to, or the gathering: so
 * that nobody waits for a device that has failed. Returns it, or CANCELLED where another has failed, and what was
 * brought is not to be used. */
dcsr_status dcsr_i_cuda_all_gathered(dcsr_i_cuda_stream *stream, dcsr_status mine);

#ifdef __cplusplus
}
#endif
#endif

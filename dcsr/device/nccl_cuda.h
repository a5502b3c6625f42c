/* nccl_cuda.h: NVIDIA's NCCL, of which the library is no part: it is looked for when devices are
 * opened, if it is asked for (internal).
 *
 * The names and numbers are those of its interface, which versions 2.2 and later have; its headers are not needed.
 * Functions return 0 for success. A communicator is a pointer to what it keeps to itself. */
#ifndef DCSR_NCCL_CUDA_H
#define DCSR_NCCL_CUDA_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DCSR_NCCL_BYTES = 1 }; /* ncclUint8 */

typedef struct dcsr_i_nccl {
    int (*get_version)(int *version); /* 22807 is 2.28.7 */
    int (*create_all)(void **communicators, int count, const int *devices);
    int (*destroy)(void *communicator);
    int (*abort)(void *communicator);
    int (*all_gather)(const void *from, void *to, size_t count, int type, void *communicator, void *stream);
} dcsr_i_nccl;

/* The library that DCSR_NCCL names; NULL: it names none, or one that is not on this machine. */
const dcsr_i_nccl *dcsr_i_nccl_find(void);
/* For tests: what is found from now on; NULL: what there is. */
void dcsr_i_nccl_stand_in(const dcsr_i_nccl *library);

#ifdef __cplusplus
}
#endif
#endif

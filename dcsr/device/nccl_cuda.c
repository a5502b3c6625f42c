/* nccl_cuda.c: finding NCCL. */
#include "dcsr/device/nccl_cuda.h"
#include "dcsr/base/late_library.h"
#include <pthread.h>
#include <stdbool.h>

static struct {
    pthread_once_t once;
    bool there;
    dcsr_i_nccl functions;
    const dcsr_i_nccl *stand_in;
} found = {.once = PTHREAD_ONCE_INIT};

/* Where each function goes. */
static const dcsr_i_late_function functions[] = {
    {"ncclGetVersion", offsetof(dcsr_i_nccl, get_version)},
    {"ncclCommInitAll", offsetof(dcsr_i_nccl, create_all)},
    {"ncclCommDestroy", offsetof(dcsr_i_nccl, destroy)},
    {"ncclCommAbort", offsetof(dcsr_i_nccl, abort)},
    {"ncclAllGather", offsetof(dcsr_i_nccl, all_gather)},
};

static void look(void)
{
#ifdef DCSR_SIMT
    return; /* it knows nothing of the emulator's memory */
#endif
    static const char *const names[] = {NULL};
    found.there = dcsr_i_late_library(&found.functions, functions, sizeof functions / sizeof *functions, 0,
                                      "DCSR_NCCL", names);
}

const dcsr_i_nccl *dcsr_i_nccl_find(void)
{
    if (found.stand_in) return found.stand_in;
    pthread_once(&found.once, look);
    return found.there ? &found.functions : NULL;
}

void dcsr_i_nccl_stand_in(const dcsr_i_nccl *library)
{
    found.stand_in = library;
}

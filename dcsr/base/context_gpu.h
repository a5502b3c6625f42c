/* context_gpu.h: the GPU of a context, for context.c (internal). */
#ifndef DCSR_CONTEXT_GPU_H
#define DCSR_CONTEXT_GPU_H

#include "dcsr/base/cuda.h"
#include "dcsr/base/runtime.h"

typedef struct dcsr_i_gpu {
    int (*count)(void);            /* how many CUDA sees */
    bool (*is_usable)(int number); /* whether auto should take it */
    /* Sets context->cuda, which the others are for, by context->device_number; NO_DEVICE, OUT_OF_MEMORY, DEVICE. */
    dcsr_status (*open)(dcsr_context *context);
    /* Nothing in the context uses it any more. */
    void (*close)(dcsr_context *context);
    /* DCSR_OK, or DEVICE when it has failed. */
    dcsr_status (*check)(const dcsr_context *context);
    uint64_t (*memory)(const dcsr_context *context); /* its bytes */
    /* Whether its kernels can be let touch the memory of a peer, the GPU of another context. */
    bool (*can_access)(const dcsr_context *context, const dcsr_context *peer);
    /* Sets what of *info is the GPU's. */
    void (*describe)(dcsr_context_info *info, const dcsr_context *context);
    const char *(*built_for)(void); /* "cpu, cuda sm_75 sm_80 ..." */
} dcsr_i_gpu;

/* context_cuda.c; NULL in builds without CUDA. */
extern const dcsr_i_gpu dcsr_i_cuda_gpu;
static const dcsr_i_gpu *const dcsr_i_device_gpu = DCSR_I_IN_CUDA(dcsr_i_cuda_gpu);

#endif

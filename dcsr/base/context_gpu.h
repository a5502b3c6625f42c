/* context_gpu.h: the GPU of a context, for context.c (internal). context->cuda is NULL where there is none.
 */
#ifndef DCSR_CONTEXT_GPU_H
#define DCSR_CONTEXT_GPU_H

#include "dcsr/base/runtime.h"

/* Whether auto should take it. */
bool dcsr_i_gpu_is_usable(void);
/* Sets context->cuda; NOT_BUILT, NO_DEVICE, OUT_OF_MEMORY, DEVICE. */
dcsr_status dcsr_i_gpu_open(dcsr_context *context);
/* Nothing in the context uses it any more. */
void dcsr_i_gpu_close(dcsr_context *context);
/* DCSR_OK, or DEVICE when it has failed. */
dcsr_status dcsr_i_gpu_check(const dcsr_context *context);
/* Its bytes of memory. */
uint64_t dcsr_i_gpu_memory(const dcsr_context *context);
/* Sets what of *info is the GPU's. */
void dcsr_i_gpu_describe(dcsr_context_info *info, const dcsr_context *context);
/* "cpu", or "cpu, cuda sm_75 sm_80 ...". */
const char *dcsr_i_built_for(void);

#endif

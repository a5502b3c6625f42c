/* clock_cuda.h: the clock of a device (internal). */
#ifndef DCSR_CLOCK_CUDA_H
#define DCSR_CLOCK_CUDA_H

#include "dcsr/base/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Seconds by the device's clock from the begin to the end of what `work` puts on the cudaStream_t `on`, which is waited
 * for. Fails as `work` does, or with what the wait tells, in which `operation` is named. */
dcsr_status dcsr_i_cuda_time(double *seconds, dcsr_i_cuda_stream *stream, void *on,
                             dcsr_status (*work)(void *user), void *user, const char *operation);

#ifdef __cplusplus
}
#endif
#endif

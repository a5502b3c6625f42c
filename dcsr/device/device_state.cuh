/* device_state.cuh: what the device and its streams are made of (internal; for device*.cu and stream.cu
 * alone). */
#ifndef DCSR_DEVICE_STATE_CUH
#define DCSR_DEVICE_STATE_CUH

#include "dcsr/base/cuda.h"
#include "dcsr/device/device.cuh"
#include <atomic>
#include <pthread.h>

struct dcsr_i_cuda_device {
    dcsr_context *context;
    dcsr_i_cuda_properties properties;
    int number; /* as CUDA counts devices */
    cudaMemPool_t pool;
    cudaStream_t frees; /* has nothing else on it: dcsr_i_cuda_free_idle() */
    size_t granularity;
    dcsr_i_cuda_device *next; /* in the list of those that are open */

    std::atomic<int> failure; /* the first error that nothing recovers from (a cudaError_t) */
    pthread_mutex_t lock;     /* for what was being done then: */
    char failed_while[64];
};

struct dcsr_i_cuda_stream {
    dcsr_i_cuda_device *device;
    dcsr_i_cuda_use use;
    cudaStream_t raw;
    cudaEvent_t event;  /* to wait for, and to order streams by; sleeps rather than spins */
    int error;          /* the first failure since the last wait (a cudaError_t) */
    int callers_device; /* what was the thread's current one when it borrowed the stream */
    char *landing;
    size_t landing_bytes;
};

/* What dcsr_i_cuda_find() looks at: device number 0, which CUDA_VISIBLE_DEVICES can make any. */
enum { DCSR_CUDA_DEVICE_NUMBER = 0 };

/* Whether this is a child of the process that looked for the device: nothing of CUDA may be called. */
bool dcsr_i_cuda_forked(void);

/* Looks up the driver's functions for mapping memory and the step in which it can be mapped. */
cudaError_t dcsr_i_cuda_open_mapping(size_t *granularity);

#endif

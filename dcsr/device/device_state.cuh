/* device_state.cuh: what the device and its streams are made of (internal; for device*.cu and stream.cu
 * alone). */
#ifndef DCSR_DEVICE_STATE_CUH
#define DCSR_DEVICE_STATE_CUH

#include "dcsr/base/cuda.h"
#include "dcsr/device/device.cuh"
#include <atomic>
#include <pthread.h>

struct dcsr_i_cuda_group; /* all_gather.cu */

struct dcsr_i_cuda_device {
    dcsr_context *context;
    dcsr_i_cuda_properties properties;
    int number; /* as CUDA counts devices, those that CUDA_VISIBLE_DEVICES lets it see */
    cudaMemPool_t pool;
    cudaStream_t frees; /* has nothing else on it: dcsr_i_cuda_free_idle() */
    size_t granularity;
    dcsr_i_cuda_device *next; /* in the list of those that are open */

    dcsr_i_cuda_group *group;     /* with which it gathers; NULL: none */
    uint64_t place;               /* in that */
    std::atomic<uint64_t> guests; /* the numbers of other devices that may touch its pool, a bit each */
    std::atomic<int> failure;     /* the first error that nothing recovers from (a cudaError_t) */
    pthread_mutex_t lock;         /* for what was being done then: */
    char failed_while[64];
};

struct dcsr_i_cuda_stream {
    dcsr_i_cuda_device *device;
    dcsr_i_cuda_use use;
    cudaStream_t raw;
    cudaEvent_t event;  /* to wait for, and to order streams by; sleeps rather than spins */
    int error;          /* the first failure since the last wait (a cudaError_t) */
    int entered;        /* how often its thread has entered it and not left it */
    int callers_device; /* what was the thread's current one when it first did */
    char *landing;
    size_t landing_bytes;
};

/* As long as it lives, a device is the thread's current one. CUDA refuses most of what is asked of any device where the
 * current one has failed, and opens the current one where nobody has. */
class dcsr_i_cuda_current
{
    int own, callers;

  public:
    explicit dcsr_i_cuda_current(int number);
    ~dcsr_i_cuda_current();
    dcsr_i_cuda_current(const dcsr_i_cuda_current &) = delete;
    dcsr_i_cuda_current &operator=(const dcsr_i_cuda_current &) = delete;
};

enum { DCSR_CUDA_MOST_DEVICES = 64 }; /* CUDA's own limit */

/* Looks up the driver's functions for mapping memory and the step in which a device's can be mapped. */
cudaError_t dcsr_i_cuda_open_mapping(size_t *granularity, int number);

/* Gives back what is kept by all that are open under the same number. */
void dcsr_i_cuda_trim_alike(const dcsr_i_cuda_device *device);

/* A device that is open and has not failed, for what is no device's; 0 when there is none. */
int dcsr_i_cuda_any_number(void);

#endif

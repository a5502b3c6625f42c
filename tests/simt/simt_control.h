/* simt_control.h: what a test of C or C++ can ask of the emulated device, and do to it. */
#ifndef DCSR_TESTS_SIMT_CONTROL_H
#define DCSR_TESTS_SIMT_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The schedule's seed (SIMT_SEED). */
uint64_t simt_seed(void);

/* The device as the program finds it; to be called before anything else of CUDA is. */
void simt_set_devices(int devices);            /* 0 or 1; 0 as with SIMT_DEVICES=0 */
void simt_set_driver_insufficient(bool value); /* every call returns cudaErrorInsufficientDriver */
void simt_set_code_missing(bool value); /* launches are refused: the program was compiled for other devices */
/* At any time: the size of the device's memory (SIMT_MEMORY). */
void simt_set_memory(size_t bytes);

/* The (n+1)-th request from now that takes memory fails, and all later ones, until n < 0 ends it. Requests
 * are those for device memory, pinned memory, address space and physical memory, and the creation of streams,
 * events and pools. */
void simt_fail_allocations_after(long n);
/* The (n+1)-th kernel launched from now makes an access that is not allowed, when its turn comes: it and all
 * work after it is lost, and every call from then on returns cudaErrorIllegalAddress. n < 0 takes it back. */
void simt_fault_launch_after(long n);

/* What has been created and not been given back. */
size_t simt_live_allocations(void); /* blocks of device memory and physical handles */
size_t simt_live_bytes(void);       /* in them */
size_t simt_live_reservations(void);
size_t simt_live_pinned(void); /* blocks of pinned memory of the host */
size_t simt_live_streams(void);
size_t simt_live_events(void);
size_t simt_live_pools(void);

/* The number of kernels that have been launched. */
uint64_t simt_launches(void);

#ifdef __cplusplus
}
#endif

#endif

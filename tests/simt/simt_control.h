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
void simt_set_devices(int devices);            /* how many (SIMT_DEVICES) */
void simt_set_driver_insufficient(bool value); /* every call returns cudaErrorInsufficientDriver */
void simt_set_code_missing(bool value); /* launches are refused: the program was compiled for other devices */
void simt_set_peers(bool value);        /* whether devices may touch each other's memory (SIMT_PEERS) */
void simt_set_another_kind(int device); /* that one has another name than the others */
/* At any time: the size of the memory of each device (SIMT_MEMORY), and of one (SIMT_DEVICE_BYTES). */
void simt_set_memory(size_t bytes);
void simt_set_device_memory(int device, size_t bytes);

/* The (n+1)-th request from now that takes memory fails, and all later ones, until n < 0 ends it. Requests
 * are those for device memory, pinned memory, address space and physical memory, and the creation of streams,
 * events and pools. */
void simt_fail_allocations_after(long n);
/* The (n+1)-th kernel launched from now makes an access that is not allowed, when its turn comes: it and all
 * work after it is lost, and every call from then on returns cudaErrorIllegalAddress. n < 0 takes it back. */
void simt_fault_launch_after(long n);

/* A device is lost after n more of its operations (SIMT_FAIL_DEVICE): they and all work after them is lost, and every
 * call for it from then on returns cudaErrorECCUncorrectable; the others go on, but their copies from memory that it
 * has not come to allocate do nothing. n < 0 takes it back. */
void simt_fail_device_after(int device, long n);

/* What has been created and not been given back, by all devices. */
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

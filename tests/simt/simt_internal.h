/* simt_internal.h: what the parts of the emulator share: settings, errors, the lock, random numbers
 * (internal). */
#ifndef DCSR_TESTS_SIMT_INTERNAL_H
#define DCSR_TESTS_SIMT_INTERNAL_H

#include <cstddef>
#include <cstdint>
#include <mutex>
#include "tests/simt/simt_driver.h"
#include "tests/simt/simt_sanitizer.h"
#include "tests/simt/simt_types.h"

namespace simt
{
/* -- Settings, from the environment
 * ---------------------------------------------------------------------------- */
enum { MOST_DEVICES = 16, ALL_DEVICES = -1 };
struct settings {
    uint64_t seed;
    unsigned yield_one_in;
    unsigned resident_blocks; /* 0: drawn for each launch */
    size_t stack_bytes;
    size_t memory_bytes[MOST_DEVICES];
    bool peers;
    bool guard;
};
const settings &options();

/* -- Random numbers (splitmix64)
 * ------------------------------------------------------------------------------- */
struct random_numbers {
    uint64_t state;
    uint64_t next()
    {
        uint64_t x = state += 0x9E3779B97F4A7C15u;
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
        x = (x ^ x >> 27) * 0x94D049BB133111EBu;
        return x ^ x >> 31;
    }
    uint64_t below(uint64_t n) { return (next() >> 32) * n >> 32; } /* n < 2^32 */
};
/* Of the host's calls; used under the lock. */
random_numbers &host_random();

/* -- Reports
 * ---------------------------------------------------------------------------------------------------- */
/* Says what the program under test did wrong, where, and under which seed, and aborts. */
[[noreturn]] void die(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Makes crashes and reports of sanitizers name the seed, the operation and the CUDA thread too. */
void report_install();
/* Once per host thread that runs device code. */
void report_install_thread();

/* -- Calls of the program
 * ---------------------------------------------------------------------------------------- */
/* One lock for everything but the work of operations. */
typedef std::unique_lock<std::mutex> held_lock;
std::mutex &state_lock();
/* This host thread runs an operation now: kernel, copy, or function. */
extern thread_local bool on_device;

int device_count();
/* Of this host thread. */
int current_device();
inline bool is_device(int device)
{
    return device >= 0 && device < device_count();
}
/* Why no call can be served: in device code, after a fork, without driver or device. */
cudaError_t refusal();
/* What has happened to a device, for good. */
cudaError_t device_fault(int device);
void set_device_fault(int device, cudaError_t error);
/* Counts an operation of a device that is about to run; true when the device is to be lost now
 * (simt_fail_device_after). */
bool device_fails(int device);
/* Keeps an error for cudaGetLastError() of this host thread; returns it. */
cudaError_t note_error(cudaError_t error);
/* True when a request for memory is to fail (simt_fail_allocations_after). */
bool request_fails();
/* False when kernels were not compiled for the device (simt_set_code_missing). */
bool has_code();
/* True when the kernel that is launched now is to fault (simt_fault_launch_after). */
bool launch_faults();

/* Closes device memory to the host when no operation runs; opened again by device_open() where the emulator
 * needs it. */
void device_open();
void device_close_if_idle();
/* Before an operation: the memory that kernels of a device may touch is open, and that of others closed; or all is
 * open. */
void device_open_for(int device);

/* Serves one call of the program: body(held_lock &) returns its error. */
template <class F> cudaError_t serve_anyway(F body)
{
    quiet_begin();
    cudaError_t error = refusal();
    if (!error) {
        held_lock held(state_lock());
        error = body(held);
        device_close_if_idle();
    }
    note_error(error);
    quiet_end();
    return error;
}

/* The same, unless the device that the call is about has failed; here the current one. */
template <class F> cudaError_t serve_of(held_lock &held, int device, F body)
{
    if (device_fault(device)) return device_fault(device);
    const cudaError_t error = body(held);
    return device_fault(device) ? device_fault(device) : error;
}
template <class F> cudaError_t serve(F body)
{
    return serve_anyway([&](held_lock &held) { return serve_of(held, current_device(), body); });
}

/* The same for a call of the driver: errors of the device have the same number there. */
template <class F> CUresult drive(F body)
{
    CUresult result = CUDA_SUCCESS;
    quiet_begin();
    const cudaError_t refused = refusal() ? refusal() : device_fault(current_device());
    if (refused) {
        result = static_cast<CUresult>(refused);
    } else {
        held_lock held(state_lock());
        result = body();
        device_close_if_idle();
    }
    quiet_end();
    return result;
}
} // namespace simt

#endif

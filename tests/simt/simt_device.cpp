/* simt_device.cpp: the device itself: settings, properties, errors, and the faults that tests ask for. */
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
#include "tests/simt/simt_control.h"
#include "tests/simt/simt_internal.h"
#include "tests/simt/simt_memory.h"
#include "tests/simt/simt_runtime.h"

namespace simt
{
namespace
{
enum {
    VERSION = 13000,
    OLD_VERSION = 11000,
    WARP = 32,
    FIRST_BUS = 16,
    STACK_BYTES = SIMT_ASAN || SIMT_TSAN ? 256 << 10 : 128 << 10
};

uint64_t from_environment(const char *name, uint64_t otherwise)
{
    const char *const text = getenv(name);
    return text && *text ? strtoull(text, nullptr, 0) : otherwise;
}

/* What tests set, and what happens to the device. */
std::atomic<int> devices{-1}; /* -1: as the environment says */
std::atomic<bool> driver_insufficient, code_missing;
std::atomic<int> another_kind{-1};
std::atomic<int> fault[MOST_DEVICES];
std::atomic<long> requests_left{-1}, launches_left{-1}, operations_left[MOST_DEVICES];
std::atomic<uint64_t> launched;
std::atomic<pid_t> owner; /* the process that made the first call; its children cannot use the device */
thread_local cudaError_t last_error;
thread_local int current;

/* SIMT_DEVICE_BYTES=a,b,c is for devices 0, 1, and 2; SIMT_MEMORY for those that it leaves out. */
void set_sizes(settings *all)
{
    const char *text = getenv("SIMT_DEVICE_BYTES");
    for (size_t &bytes : all->memory_bytes) {
        bytes = from_environment("SIMT_MEMORY", uint64_t(2) << 30);
        if (!text || !*text) continue;
        char *end;
        const uint64_t given = strtoull(text, &end, 0);
        if (end != text) bytes = given;
        text = *end == ',' ? end + 1 : nullptr;
    }
}

settings read_settings()
{
    settings all = {};
    all.seed = from_environment("SIMT_SEED", 0);
    all.yield_one_in = static_cast<unsigned>(from_environment("SIMT_YIELD", 8));
    all.resident_blocks = static_cast<unsigned>(from_environment("SIMT_RESIDENT", 0));
    all.stack_bytes = (from_environment("SIMT_STACK", STACK_BYTES) + 4095) & ~uint64_t(4095);
    all.guard = from_environment("SIMT_GUARD", 1) != 0;
    all.peers = from_environment("SIMT_PEERS", 1) != 0;
    set_sizes(&all);
    return all;
}

/* SIMT_FAIL_DEVICE=k:n. */
void set_failing_device()
{
    int device;
    long operations;
    for (std::atomic<long> &left : operations_left) left = -1;
    const char *const text = getenv("SIMT_FAIL_DEVICE");
    if (!text || sscanf(text, "%d:%ld", &device, &operations) != 2) return;
    if (device >= 0 && device < MOST_DEVICES) operations_left[device] = operations;
}

std::atomic<long> *operations_left_of(int device)
{
    static const bool set = (set_failing_device(), true);
    return set ? &operations_left[device] : nullptr;
}

/* Counts down to -1 - only then it is not counted - and stays at 0 when it has got there. */
bool reached(std::atomic<long> &left)
{
    if (left < 0) return false;
    if (left == 0) return true;
    left--;
    return false;
}

struct error_text {
    cudaError_t error;
    const char *name, *text;
};
const error_text ERRORS[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorCudartUnloading, "cudaErrorCudartUnloading", "driver shutting down"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cudaErrorInvalidHostPointer, "cudaErrorInvalidHostPointer", "invalid host pointer"},
    {cudaErrorInvalidDevicePointer, "cudaErrorInvalidDevicePointer", "invalid device pointer"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {cudaErrorStubLibrary, "cudaErrorStubLibrary", "CUDA driver is a stub library"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorCallRequiresNewerDriver, "cudaErrorCallRequiresNewerDriver",
     "API call is not supported by the driver"},
    {cudaErrorDevicesUnavailable, "cudaErrorDevicesUnavailable",
     "CUDA-capable device(s) is/are busy or unavailable"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorDeviceUninitialized, "cudaErrorDeviceUninitialized", "invalid device context"},
    {cudaErrorNoKernelImageForDevice, "cudaErrorNoKernelImageForDevice",
     "no kernel image is available for execution on the device"},
    {cudaErrorECCUncorrectable, "cudaErrorECCUncorrectable", "uncorrectable ECC error encountered"},
    {cudaErrorPeerAccessUnsupported, "cudaErrorPeerAccessUnsupported",
     "peer access is not supported between these two devices"},
    {cudaErrorPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled",
     "peer access is already enabled"},
    {cudaErrorPeerAccessNotEnabled, "cudaErrorPeerAccessNotEnabled", "peer access has not been enabled"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorIllegalState, "cudaErrorIllegalState",
     "the operation cannot be performed in the present state"},
    {cudaErrorSymbolNotFound, "cudaErrorSymbolNotFound", "named symbol not found"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources",
     "too many resources requested for launch"},
    {cudaErrorLaunchTimeout, "cudaErrorLaunchTimeout", "the launch timed out and was terminated"},
    {cudaErrorContextIsDestroyed, "cudaErrorContextIsDestroyed", "context is destroyed"},
    {cudaErrorAssert, "cudaErrorAssert", "device-side assert triggered"},
    {cudaErrorMisalignedAddress, "cudaErrorMisalignedAddress", "misaligned address"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorNotPermitted, "cudaErrorNotPermitted", "operation not permitted"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorSystemNotReady, "cudaErrorSystemNotReady", "system not yet initialized"},
    {cudaErrorSystemDriverMismatch, "cudaErrorSystemDriverMismatch",
     "system has unsupported display driver / cuda driver combination"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};

const error_text *find_error(cudaError_t error)
{
    for (const error_text &entry : ERRORS) {
        if (entry.error == error) return &entry;
    }
    return nullptr;
}
} // namespace

const settings &options()
{
    static const settings instance = read_settings();
    return instance;
}

random_numbers &host_random()
{
    static random_numbers instance = {options().seed};
    return instance;
}

std::mutex &state_lock()
{
    static std::mutex &instance = *new std::mutex;
    return instance;
}

cudaError_t refusal()
{
    if (on_device) return cudaErrorNotPermitted;
    if (driver_insufficient) return cudaErrorInsufficientDriver;
    if (!device_count()) return cudaErrorNoDevice;
    const pid_t process = getpid();
    pid_t first = 0;
    if (owner.compare_exchange_strong(first, process))
        report_install();
    else if (first != process)
        return cudaErrorInitializationError;
    return cudaSuccess;
}

int device_count()
{
    static const int count =
        static_cast<int>(std::min<uint64_t>(from_environment("SIMT_DEVICES", 1), MOST_DEVICES));
    return devices < 0 ? count : devices.load();
}

int current_device()
{
    return current;
}

cudaError_t device_fault(int device)
{
    return static_cast<cudaError_t>(fault[device].load());
}

void set_device_fault(int device, cudaError_t error)
{
    fault[device] = error;
}

bool device_fails(int device)
{
    return reached(*operations_left_of(device));
}

cudaError_t note_error(cudaError_t error)
{
    if (error && error != cudaErrorNotReady) last_error = error;
    return error;
}

bool request_fails()
{
    return reached(requests_left);
}

bool has_code()
{
    return !code_missing;
}

bool launch_faults()
{
    launched++;
    return reached(launches_left);
}
} // namespace simt

using namespace simt;

extern "C" {
cudaError_t cudaGetDeviceCount(int *count)
{
    if (count) *count = 0;
    return serve_anyway([&](held_lock &) {
        if (!count) return cudaErrorInvalidValue;
        *count = device_count();
        return cudaSuccess;
    });
}

cudaError_t cudaGetDevice(int *device)
{
    return serve_anyway([&](held_lock &) {
        if (!device) return cudaErrorInvalidValue;
        *device = current;
        return cudaSuccess;
    });
}

cudaError_t cudaSetDevice(int device)
{
    return serve_anyway([&](held_lock &) {
        if (!is_device(device)) return cudaErrorInvalidDevice;
        current = device;
        return cudaSuccess;
    });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device)
{
    return serve([&](held_lock &) {
        if (!properties) return cudaErrorInvalidValue;
        if (!is_device(device)) return cudaErrorInvalidDevice;
        memset(properties, 0, sizeof *properties);
        snprintf(properties->name, sizeof properties->name, "emulated%s (seed %llu)",
                 device == another_kind ? ", of another kind" : "",
                 static_cast<unsigned long long>(options().seed));
        properties->totalGlobalMem = memory_limit(device);
        properties->pciBusID = FIRST_BUS + device;
        properties->sharedMemPerBlock = 48 << 10;
        properties->sharedMemPerBlockOptin = 227 << 10;
        properties->sharedMemPerMultiprocessor = 228 << 10;
        properties->warpSize = WARP;
        properties->maxThreadsPerBlock = properties->maxThreadsDim[0] = properties->maxThreadsDim[1] = 1024;
        properties->maxThreadsDim[2] = 64;
        properties->maxGridSize[0] = INT32_MAX;
        properties->maxGridSize[1] = properties->maxGridSize[2] = 65535;
        properties->major = 9;
        properties->multiProcessorCount = 4;
        properties->maxThreadsPerMultiProcessor = 2048;
        properties->maxBlocksPerMultiProcessor = 32;
        properties->concurrentKernels = properties->unifiedAddressing = properties->asyncEngineCount = 1;
        properties->streamPrioritiesSupported = properties->memoryPoolsSupported = 1;
        properties->memoryBusWidth = 512;
        properties->l2CacheSize = 4 << 20;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceGetPCIBusId(char *text, int bytes, int device)
{
    return serve([&](held_lock &) {
        enum { LEAST_BYTES = 13 };
        if (!text || bytes < LEAST_BYTES) return cudaErrorInvalidValue;
        if (!is_device(device)) return cudaErrorInvalidDevice;
        snprintf(text, static_cast<size_t>(bytes), "0000:%02X:00.0", FIRST_BUS + device);
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device)
{
    cudaDeviceProp properties;
    const cudaError_t error = cudaGetDeviceProperties(&properties, device);
    if (error) return error;
    if (!value) return note_error(cudaErrorInvalidValue);
    switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
        *value = properties.maxThreadsPerBlock;
        break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
        *value = static_cast<int>(properties.sharedMemPerBlock);
        break;
    case cudaDevAttrWarpSize:
        *value = properties.warpSize;
        break;
    case cudaDevAttrMultiProcessorCount:
        *value = properties.multiProcessorCount;
        break;
    case cudaDevAttrL2CacheSize:
        *value = properties.l2CacheSize;
        break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
        *value = properties.maxThreadsPerMultiProcessor;
        break;
    case cudaDevAttrAsyncEngineCount:
        *value = properties.asyncEngineCount;
        break;
    case cudaDevAttrUnifiedAddressing:
        *value = properties.unifiedAddressing;
        break;
    case cudaDevAttrComputeCapabilityMajor:
        *value = properties.major;
        break;
    case cudaDevAttrComputeCapabilityMinor:
        *value = properties.minor;
        break;
    case cudaDevAttrStreamPrioritiesSupported:
        *value = properties.streamPrioritiesSupported;
        break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
        *value = static_cast<int>(properties.sharedMemPerMultiprocessor);
        break;
    case cudaDevAttrPageableMemoryAccess:
        *value = properties.pageableMemoryAccess;
        break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        *value = static_cast<int>(properties.sharedMemPerBlockOptin);
        break;
    case cudaDevAttrMemoryPoolsSupported:
        *value = properties.memoryPoolsSupported;
        break;
    default:
        return note_error(cudaErrorInvalidValue);
    }
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    if (!version) return note_error(cudaErrorInvalidValue);
    *version = driver_insufficient ? OLD_VERSION : VERSION;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    if (!version) return note_error(cudaErrorInvalidValue);
    *version = VERSION;
    return cudaSuccess;
}

/* A fault of the device stays. */
cudaError_t cudaGetLastError()
{
    const cudaError_t error = cudaPeekAtLastError();
    last_error = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError()
{
    return device_fault(current) ? device_fault(current) : last_error;
}

const char *cudaGetErrorName(cudaError_t error)
{
    const error_text *const entry = find_error(error);
    return entry ? entry->name : "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
    const error_text *const entry = find_error(error);
    return entry ? entry->text : "unrecognized error code";
}

uint64_t simt_seed(void)
{
    return options().seed;
}

void simt_set_devices(int count)
{
    devices = std::min<int>(count, MOST_DEVICES);
}

void simt_set_driver_insufficient(bool value)
{
    driver_insufficient = value;
}

void simt_set_code_missing(bool value)
{
    code_missing = value;
}

void simt_set_another_kind(int device)
{
    another_kind = device;
}

void simt_fail_allocations_after(long n)
{
    requests_left = n;
}

void simt_fail_device_after(int device, long n)
{
    *operations_left_of(device) = n;
}

void simt_fault_launch_after(long n)
{
    launches_left = n;
}

uint64_t simt_launches(void)
{
    return launched;
}
}

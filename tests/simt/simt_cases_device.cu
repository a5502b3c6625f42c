/* simt_cases_device.cu: cases about the device itself: what it is, faults, and what tests make it do. */
#include <sys/wait.h>
#include <unistd.h>
#include "tests/simt/simt_cases.h"

enum { N = 64 };

static void device_properties()
{
    int count, device, value;
    cudaDeviceProp properties;
    OK(cudaGetDeviceCount(&count));
    OK(cudaGetDevice(&device));
    CHECK(count == 1 && device == 0);
    OK(cudaSetDevice(0));
    CHECK(cudaSetDevice(1) == cudaErrorInvalidDevice);
    OK(cudaGetDeviceProperties(&properties, 0));
    CHECK(properties.warpSize == 32 && properties.totalGlobalMem > 0 && properties.name[0]);
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
    CHECK(value == properties.multiProcessorCount);
    CHECK(strcmp(cudaGetErrorName(cudaErrorInvalidDevice), "cudaErrorInvalidDevice") == 0);
    CHECK(cudaPeekAtLastError() == cudaErrorInvalidDevice && cudaGetLastError() == cudaErrorInvalidDevice);
    CHECK(cudaGetLastError() == cudaSuccess);
}

static void no_device()
{
    int count = 7;
    void *pointer;
    setenv("SIMT_DEVICES", "0", 1);
    CHECK(cudaGetDeviceCount(&count) == cudaErrorNoDevice && count == 0);
    CHECK(cudaMalloc(&pointer, 1) == cudaErrorNoDevice);
    simt_set_devices(1);
    OK(cudaGetDeviceCount(&count));
    CHECK(count == 1);
    simt_set_devices(0);
    CHECK(cudaMalloc(&pointer, 1) == cudaErrorNoDevice);
    simt_set_devices(1);
}

static void old_driver()
{
    int count, driver, runtime;
    simt_set_driver_insufficient(true);
    CHECK(cudaGetDeviceCount(&count) == cudaErrorInsufficientDriver);
    OK(cudaDriverGetVersion(&driver));
    OK(cudaRuntimeGetVersion(&runtime));
    CHECK(driver < runtime);
    simt_set_driver_insufficient(false);
    OK(cudaDriverGetVersion(&driver));
    CHECK(driver >= runtime);
}

/* A child of a process that has used the device cannot. */
static void forked_child()
{
    int count;
    OK(cudaGetDeviceCount(&count));
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) _exit(cudaGetDeviceCount(&count) == cudaErrorInitializationError ? 42 : 1);
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 42);
}

/* The second of three kernels makes an access that is not allowed. */
static void device_fault()
{
    const test_stream *const stream = new test_stream; /* cannot be destroyed any longer */
    unsigned *data, value = 0;
    OK(cudaMalloc(&data, N * sizeof *data));
    OK(cudaMemset(data, 0, N * sizeof *data));
    simt_fault_launch_after(1);
    for (unsigned add = 1; add <= 4; add *= 2)
        simt::launch(add_kernel, 1, 32, 0, stream->handle, data, data, add, N);
    CHECK(cudaStreamSynchronize(stream->handle) == cudaErrorIllegalAddress);
    CHECK(cudaMemcpy(&value, data, sizeof value, cudaMemcpyDeviceToHost) == cudaErrorIllegalAddress &&
          value == 0);
    CHECK(cudaFree(data) == cudaErrorIllegalAddress &&
          cudaStreamDestroy(stream->handle) == cudaErrorIllegalAddress);
    CHECK(cudaGetLastError() == cudaErrorIllegalAddress && cudaGetLastError() == cudaErrorIllegalAddress);
    exit(0);
}

/* Each request for memory fails in turn. */
static bool take_everything()
{
    cudaStream_t stream = nullptr;
    cudaEvent_t event = nullptr;
    void *device = nullptr, *pooled = nullptr, *pinned = nullptr;
    const bool all = cudaStreamCreate(&stream) == cudaSuccess && cudaEventCreate(&event) == cudaSuccess &&
                     cudaMalloc(&device, 100) == cudaSuccess &&
                     cudaMallocAsync(&pooled, 100, stream) == cudaSuccess &&
                     cudaMallocHost(&pinned, 100) == cudaSuccess;
    if (!all) CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
    OK(cudaFreeHost(pinned));
    OK(cudaFreeAsync(pooled, stream));
    OK(cudaFree(device));
    if (event) OK(cudaEventDestroy(event));
    if (stream) OK(cudaStreamDestroy(stream));
    return all;
}

static void failing_requests()
{
    for (long n = 0; n < 5; n++) {
        simt_fail_allocations_after(n);
        CHECK(!take_everything());
        CHECK(simt_live_allocations() == 0 && simt_live_pinned() == 0 && simt_live_streams() == 0);
    }
    simt_fail_allocations_after(5);
    CHECK(take_everything() && !take_everything());
    simt_fail_allocations_after(-1);
    CHECK(take_everything());
}

__global__ void use_shared(unsigned *out, unsigned n)
{
    SIMT_SHARED_DYN(unsigned, values);
    if (threadIdx.x == 0) values[n - 1] = 7;
    __syncthreads();
    if (threadIdx.x == 1) *out = values[n - 1];
}

static void launch_checks()
{
    const device_array<unsigned> out(1);
    const size_t large = size_t(100) << 10;
    simt::launch(use_shared, 1, 1025, 0, nullptr, out.data, 1);
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
    simt::launch(use_shared, 0, 32, 0, nullptr, out.data, 1);
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
    simt::launch(use_shared, 1, 32, large, nullptr, out.data, large / sizeof(unsigned));
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    OK(cudaFuncSetAttribute(use_shared, cudaFuncAttributeMaxDynamicSharedMemorySize,
                            static_cast<int>(large)));
    simt::launch(use_shared, 1, 32, large, nullptr, out.data, large / sizeof(unsigned));
    CHECK(cudaGetLastError() == cudaSuccess && out.values()[0] == 7);
}

__global__ void write_coordinates(uint3 *out)
{
    const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    out[block * 12 + thread] = {blockIdx.z * 100 + threadIdx.z, blockIdx.y * 100 + threadIdx.y,
                                blockIdx.x * 100 + threadIdx.x};
}

static void three_dimensions()
{
    const device_array<uint3> out(8 * 12);
    simt::launch(write_coordinates, dim3(2, 2, 2), dim3(2, 3, 2), 0, nullptr, out.data);
    const std::vector<uint3> at = out.values();
    for (unsigned i = 0; i < 8 * 12; i++) {
        const unsigned block = i / 12, thread = i % 12;
        CHECK(at[i].z == block % 2 * 100 + thread % 2 && at[i].y == block / 2 % 2 * 100 + thread / 2 % 3);
        CHECK(at[i].x == block / 4 * 100 + thread / 6);
    }
}

extern const simt_case DEVICE_CASES[] = {{"clean_properties", device_properties},
                                         {"clean_no_device", no_device},
                                         {"clean_old_driver", old_driver},
                                         {"clean_forked_child", forked_child},
                                         {"clean_device_fault", device_fault},
                                         {"clean_failing_requests", failing_requests},
                                         {"clean_launch_checks", launch_checks},
                                         {"clean_three_dimensions", three_dimensions},
                                         {nullptr, nullptr}};

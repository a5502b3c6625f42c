/* simt_cases.h: what the programs for the emulator's own tests share.
 *
 * A case is a small program: a correct one, or one with a planted bug. `simt_cases NAME` runs one, and lists
 * all without a name; it ends with status 0 when its results are right, with 1 when they are not, and crashes
 * when the emulator or a sanitizer finds something. tests/simt/test_simt.c knows which case has to end how in
 * which variant. */
#ifndef DCSR_TESTS_SIMT_CASES_H
#define DCSR_TESTS_SIMT_CASES_H

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include "dcsr/device/device.cuh"
#include "tests/simt/simt_control.h"

struct simt_case {
    const char *name;
    void (*run)();
};
/* Ended by a case without a name. */
extern const simt_case KERNEL_CASES[], WRONG_KERNEL_CASES[], STREAM_CASES[], MEMORY_CASES[], DEVICE_CASES[],
    PEER_CASES[];

/* Ends the case with status 1 when the condition is false, or when a call of CUDA fails. */
#define CHECK(condition)                                                            \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                                \
        }                                                                           \
    } while (0)
#define OK(call)                                                                                     \
    do {                                                                                             \
        const cudaError_t error_ = (call);                                                           \
        if (error_ != cudaSuccess) {                                                                 \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorName(error_)); \
            exit(1);                                                                                 \
        }                                                                                            \
    } while (0)

/* An array of the device, with what a vector of the host holds. */
template <class T> struct device_array {
    T *data = nullptr;
    size_t n;
    explicit device_array(const std::vector<T> &values) : n(values.size())
    {
        OK(cudaMalloc(&data, n * sizeof(T)));
        OK(cudaMemcpy(data, values.data(), n * sizeof(T), cudaMemcpyHostToDevice));
    }
    explicit device_array(size_t n_) : n(n_) { OK(cudaMalloc(&data, n * sizeof(T))); }
    device_array(const device_array &) = delete;
    device_array &operator=(const device_array &) = delete;
    ~device_array() { OK(cudaFree(data)); }
    std::vector<T> values() const
    {
        std::vector<T> result(n);
        OK(cudaMemcpy(result.data(), data, n * sizeof(T), cudaMemcpyDeviceToHost));
        return result;
    }
};

/* A stream that waits for nothing else. */
struct test_stream {
    cudaStream_t handle = nullptr;
    test_stream() { OK(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking)); }
    test_stream(const test_stream &) = delete;
    test_stream &operator=(const test_stream &) = delete;
    ~test_stream() { OK(cudaStreamDestroy(handle)); }
    void wait() const { OK(cudaStreamSynchronize(handle)); }
};

struct test_event {
    cudaEvent_t handle = nullptr;
    explicit test_event(unsigned flags = cudaEventDisableTiming)
    {
        OK(cudaEventCreateWithFlags(&handle, flags));
    }
    test_event(const test_event &) = delete;
    test_event &operator=(const test_event &) = delete;
    ~test_event() { OK(cudaEventDestroy(handle)); }
};

/* to[i] = from[i] + add, and to[i] = value, in strides of the grid. */
__global__ void add_kernel(unsigned *to, const unsigned *from, unsigned add, size_t n);
__global__ void set_kernel(unsigned *to, unsigned value, size_t n);
/* All of values are equal to value. */
bool all_are(const std::vector<unsigned> &values, unsigned value);

#endif

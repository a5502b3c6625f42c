/* gpu.cu: the GPU for the benchmark programs.
 *
 * Bytes moved when rates are measured: `copy` reads and writes a block that is far larger than any cache,
 * `read` reads one; `upload` and `fetch` move the pinned block each way. */
#include "bench/gpu/gpu.h"
#include "bench/harness.h"
#include "dcsr/device/device.cuh"

#include <algorithm>

#define TRY(call)                                                                                \
    do {                                                                                         \
        cudaError_t error_ = (call);                                                             \
        if (error_ != cudaSuccess) bench_die("CUDA: %s: %s", #call, cudaGetErrorString(error_)); \
    } while (0)

namespace
{
struct {
    cudaStream_t stream;
    cudaEvent_t begin, end;
    char *pinned, *landing; /* on the host and on the device, to copy between */
    size_t pinned_bytes;
    char *other; /* what is read to push everything else out of the cache */
    size_t other_bytes;
    unsigned long long *kept;
    unsigned blocks;
} gpu;

struct alignas(16) word {
    unsigned long long low, high;
};

/* Every thread reads its share. The memory holds zeros, so that nothing is ever kept; the compiler does not
 * know. */
__global__ void read_all(const word *from, size_t n, unsigned long long *kept)
{
    unsigned long long seen = 0;
    const size_t step = (size_t)gridDim.x * blockDim.x;
#pragma unroll 4
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const word each = from[i];
        seen |= each.low | each.high;
    }
    if (seen) *kept = seen;
}

void read_memory(const char *from, size_t bytes)
{
    simt::launch(read_all, dim3(gpu.blocks), dim3(512), 0, gpu.stream, reinterpret_cast<const word *>(from),
                 bytes / sizeof(word), gpu.kept);
    TRY(cudaGetLastError());
}

void begin()
{
    TRY(cudaEventRecord(gpu.begin, gpu.stream));
}

/* Seconds since begin(). */
double end()
{
    float milliseconds;
    TRY(cudaEventRecord(gpu.end, gpu.stream));
    TRY(cudaEventSynchronize(gpu.end));
    TRY(cudaEventElapsedTime(&milliseconds, gpu.begin, gpu.end));
    return 1e-3 * milliseconds;
}

char *zeros(size_t bytes)
{
    void *block;
    TRY(cudaMalloc(&block, bytes));
    TRY(cudaMemsetAsync(block, 0, bytes, gpu.stream));
    return static_cast<char *>(block);
}

/* The best of several, of which the first may find the memory asleep. */
template <class Work> double best_rate(double bytes, Work work)
{
    double best = 0;
    for (int round = 0; round < 10; round++) {
        begin();
        work();
        best = std::max(best, bytes / end());
    }
    return best;
}

void copy(void *to, const void *from, size_t bytes)
{
    TRY(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, gpu.stream));
}
} // namespace

void bench_gpu_start(bench_gpu_rates *rates, bool quick)
{
    const size_t large = (size_t)1 << (quick ? 28 : 30);
    int device, cache, processors;
    TRY(cudaGetDevice(&device));
    TRY(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, device));
    TRY(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
    gpu.blocks = 4 * (unsigned)processors;
    TRY(cudaStreamCreateWithFlags(&gpu.stream, cudaStreamNonBlocking));
    TRY(cudaEventCreate(&gpu.begin));
    TRY(cudaEventCreate(&gpu.end));
    const size_t pinned = gpu.pinned_bytes = (size_t)1 << (quick ? 26 : 28);
    TRY(cudaHostAlloc(reinterpret_cast<void **>(&gpu.pinned), pinned, cudaHostAllocDefault));
    std::fill(gpu.pinned, gpu.pinned + pinned, 0);
    gpu.landing = zeros(pinned);
    gpu.kept = reinterpret_cast<unsigned long long *>(zeros(sizeof *gpu.kept));
    gpu.other_bytes = 4 * (size_t)cache;
    gpu.other = zeros(gpu.other_bytes);
    char *from = zeros(large), *to = zeros(large);
    rates->cache = (size_t)cache;
    rates->copy = best_rate(2.0 * (double)large, [=] { copy(to, from, large); });
    rates->read = best_rate((double)large, [=] { read_memory(from, large); });
    rates->upload = best_rate((double)pinned, [=] { copy(gpu.landing, gpu.pinned, pinned); });
    rates->fetch = best_rate((double)pinned, [=] { copy(gpu.pinned, gpu.landing, pinned); });
    TRY(cudaFree(from));
    TRY(cudaFree(to));
}

void bench_gpu_stop(void)
{
    TRY(cudaStreamSynchronize(gpu.stream));
    TRY(cudaFree(gpu.landing));
    TRY(cudaFree(gpu.other));
    TRY(cudaFree(gpu.kept));
    TRY(cudaFreeHost(gpu.pinned));
    TRY(cudaEventDestroy(gpu.begin));
    TRY(cudaEventDestroy(gpu.end));
    TRY(cudaStreamDestroy(gpu.stream));
}

void *bench_gpu_stream(void)
{
    return gpu.stream;
}

void *bench_gpu_alloc(size_t bytes)
{
    void *block;
    TRY(cudaMalloc(&block, bytes ? bytes : 1));
    return block;
}

void bench_gpu_free(void *block)
{
    TRY(cudaFree(block));
}

void bench_gpu_copy(void *to, const void *from, size_t bytes)
{
    copy(to, from, bytes);
    TRY(cudaStreamSynchronize(gpu.stream));
}

double bench_gpu_seconds(void (*work)(void *), void *argument, size_t times)
{
    begin();
    for (size_t i = 0; i < times; i++) work(argument);
    return end() / (double)times;
}

double bench_gpu_cold_seconds(void (*work)(void *), void *argument)
{
    read_memory(gpu.other, gpu.other_bytes);
    return bench_gpu_seconds(work, argument, 1);
}

double bench_gpu_upload_seconds(size_t bytes)
{
    enum { ROUNDS = 7 };
    double seconds[ROUNDS];
    for (double &each : seconds) {
        begin();
        for (size_t done = 0; done < bytes; done += gpu.pinned_bytes)
            copy(gpu.landing, gpu.pinned, std::min(gpu.pinned_bytes, bytes - done));
        each = end();
    }
    std::sort(seconds, seconds + ROUNDS);
    return seconds[ROUNDS / 2];
}

/* gather_ways.cu: what an all-gather among the GPUs of a machine takes, by NCCL and by copies from peers.
 *
 *      nvcc -arch=native -o gather_ways tools/gather_ways.cu -ldl && ./gather_ways
 *
 * A thread for each GPU. They meet; each puts onto its stream NCCL's all-gather, or, behind an event of each other
 * GPU's, a copy of its part, beginning with the next GPU, so that all links are in use; and they meet again when all is
 * there. The median of 30 rounds, by the clock of the first GPU's thread. NCCL is looked for as libnccl.so.2. */
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <thread>
#include <vector>

enum { MOST_GPUS = 16, ROUNDS = 30, BYTES = 1 /* ncclUint8 */ };
static const size_t LEAST = 16 << 10, MOST = 256 << 20;

static void expect(bool good, const char *what)
{
    if (good) return;
    fprintf(stderr, "gather_ways.cu: %s\n", what);
    exit(2);
}

static void expect_cuda(cudaError_t error)
{
    expect(error == cudaSuccess, cudaGetErrorString(error));
}

static double seconds(void)
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static struct {
    int (*get_version)(int *version);
    int (*create_all)(void **communicators, int count, const int *devices);
    int (*all_gather)(const void *from, void *to, size_t count, int type, void *communicator,
                      cudaStream_t stream);
} nccl;

static void find_nccl(void)
{
    void *library = dlopen("libnccl.so.2", RTLD_NOW);
    expect(library, "there is no libnccl.so.2");
    *(void **)&nccl.get_version = dlsym(library, "ncclGetVersion");
    *(void **)&nccl.create_all = dlsym(library, "ncclCommInitAll");
    *(void **)&nccl.all_gather = dlsym(library, "ncclAllGather");
    expect(nccl.get_version && nccl.create_all && nccl.all_gather, "libnccl.so.2 has not got what is needed");
}

struct gpu {
    char *from, *to; /* a part, and all */
    cudaStream_t stream;
    cudaEvent_t written;
    void *communicator;
};
static gpu gpus[MOST_GPUS];
static int count;
static std::atomic<int> arrived;

static void open_gpus(void)
{
    expect_cuda(cudaGetDeviceCount(&count));
    count = std::min(count, static_cast<int>(MOST_GPUS));
    expect(count > 1, "there are not two GPUs");
    for (int k = 0; k < count; k++) {
        expect_cuda(cudaSetDevice(k));
        expect_cuda(cudaMalloc(&gpus[k].from, MOST));
        expect_cuda(cudaMalloc(&gpus[k].to, MOST * count));
        expect_cuda(cudaMemset(gpus[k].from, k + 1, MOST));
        expect_cuda(cudaStreamCreateWithFlags(&gpus[k].stream, cudaStreamNonBlocking));
        expect_cuda(cudaEventCreateWithFlags(&gpus[k].written, cudaEventDisableTiming));
        /* Where they are no peers the driver copies by way of the host. */
        for (int j = 0; j < count; j++)
            if (j != k && cudaDeviceEnablePeerAccess(j, 0) != cudaSuccess) cudaGetLastError();
    }
}

static void open_nccl(void)
{
    int version, numbers[MOST_GPUS];
    void *made[MOST_GPUS];
    for (int k = 0; k < count; k++) numbers[k] = k;
    find_nccl();
    nccl.get_version(&version);
    const double begin = seconds();
    expect(!nccl.create_all(made, count, numbers), "NCCL refuses communicators");
    for (int k = 0; k < count; k++) gpus[k].communicator = made[k];
    printf("NCCL %d, %d GPUs: communicators %.0f ms\n", version, count, 1e3 * (seconds() - begin));
}

static void meet(int *meetings)
{
    ++*meetings;
    arrived++;
    while (arrived.load() < *meetings * count) {
    }
}

static void gather(int k, bool by_nccl, size_t bytes)
{
    const gpu &mine = gpus[k];
    if (by_nccl) {
        expect(!nccl.all_gather(mine.from, mine.to, bytes, BYTES, mine.communicator, mine.stream),
               "NCCL fails");
        return;
    }
    for (int i = 1; i < count; i++) {
        const int j = (k + i) % count;
        expect_cuda(cudaStreamWaitEvent(mine.stream, gpus[j].written, 0));
        expect_cuda(cudaMemcpyPeerAsync(mine.to + j * bytes, k, gpus[j].from, j, bytes, mine.stream));
    }
}

/* One GPU's side of all rounds; of the first the times are kept, NCCL's and then those of copies for each size. */
static void take_part(int k, std::vector<std::vector<double>> *times)
{
    int meetings = 0;
    expect_cuda(cudaSetDevice(k));
    for (size_t bytes = LEAST; bytes <= MOST; bytes *= 2)
        for (const bool by_nccl : {true, false}) {
            std::vector<double> taken;
            for (int round = 0; round < ROUNDS; round++) {
                expect_cuda(cudaEventRecord(gpus[k].written, gpus[k].stream));
                meet(&meetings);
                const double begin = seconds();
                gather(k, by_nccl, bytes);
                while (cudaStreamQuery(gpus[k].stream) == cudaErrorNotReady) {
                }
                meet(&meetings);
                taken.push_back(seconds() - begin);
            }
            if (!k && by_nccl && bytes == LEAST) printf("the first gathering %.1f ms\n", 1e3 * taken[0]);
            std::sort(taken.begin(), taken.end());
            if (!k) times->push_back(taken);
        }
}

int main(void)
{
    std::vector<std::vector<double>> times;
    std::vector<std::thread> threads;
    open_gpus();
    open_nccl();
    for (int k = 0; k < count; k++) threads.emplace_back(take_part, k, &times);
    for (std::thread &each : threads) each.join();
    size_t bytes = LEAST;
    for (size_t i = 0; i < times.size(); i += 2, bytes *= 2) {
        const double by_nccl = times[i][ROUNDS / 2], copied = times[i + 1][ROUNDS / 2],
                     moved = (count - 1.0) * bytes;
        printf("%9zu KiB a part: NCCL %8.1f us, %5.1f GB/s; copies %8.1f us, %5.1f GB/s; NCCL over copies "
               "%.2f\n",
               bytes >> 10, 1e6 * by_nccl, 1e-9 * moved / by_nccl, 1e6 * copied, 1e-9 * moved / copied,
               by_nccl / copied);
    }
    return 0;
}

/* initcheck.cu: shows that compute-sanitizer's initcheck reports reads of memory that has been written, where several
 * threads of a process launch kernels while other processes use the GPU too.
 *
 *      nvcc -arch=native -o initcheck tools/initcheck.cu
 *      check() { compute-sanitizer --tool initcheck --print-limit 1 --port $1 ./initcheck $2; }
 *      check 50000 6                                                       alone: no report
 *      for port in 50000 50016 50032; do check $port 6 & done; wait        three: thousands each, and 0 wrong values
 *      for port in 50000 50016 50032; do check $port 1 & done; wait        three, of one thread each: no report
 *
 * Each thread, with a stream of its own, takes a block from a pool, has one kernel write all of it and the next, on the
 * same stream, read and compare all of it. So every element that is read has been written, with the value that is found
 * there: what is reported are marks that the tool has lost. With "keep" as the second argument blocks are not freed,
 * so that none has been another thread's: it reports as much. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <thread>
#include <vector>

enum { ROUNDS = 400, ELEMENTS = 1000, BLOCKS = 4, BLOCK_THREADS = 256 };

static void expect(cudaError_t error, int line)
{
    if (error == cudaSuccess) return;
    fprintf(stderr, "initcheck.cu:%d: %s\n", line, cudaGetErrorString(error));
    exit(2);
}
#define EXPECT(call) expect((call), __LINE__)

static __global__ void put(unsigned *to, unsigned value)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < ELEMENTS) to[i] = i + value;
}

static __global__ void compare(const unsigned *from, unsigned value, unsigned *wrong)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < ELEMENTS && from[i] != i + value) atomicAdd(wrong, 1u);
}

static void work(cudaMemPool_t pool, unsigned *wrong, bool keep)
{
    cudaStream_t stream;
    EXPECT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (unsigned round = 0; round < ROUNDS; round++) {
        void *block;
        EXPECT(cudaMallocFromPoolAsync(&block, ELEMENTS * sizeof(unsigned), pool, stream));
        put<<<BLOCKS, BLOCK_THREADS, 0, stream>>>(static_cast<unsigned *>(block), round);
        compare<<<BLOCKS, BLOCK_THREADS, 0, stream>>>(static_cast<unsigned *>(block), round, wrong);
        EXPECT(cudaGetLastError());
        EXPECT(cudaStreamSynchronize(stream));
        if (!keep) EXPECT(cudaFreeAsync(block, stream));
    }
    EXPECT(cudaStreamSynchronize(stream));
}

int main(int count, char **arguments)
{
    const int threads = count > 1 ? atoi(arguments[1]) : 6;
    const bool keep = count > 2 && !strcmp(arguments[2], "keep");
    cudaMemPool_t pool;
    unsigned *wrong, told;
    EXPECT(cudaDeviceGetDefaultMemPool(&pool, 0));
    EXPECT(cudaMalloc(&wrong, sizeof *wrong));
    EXPECT(cudaMemset(wrong, 0, sizeof *wrong));
    std::vector<std::thread> workers;
    for (int i = 0; i < threads; i++) workers.emplace_back(work, pool, wrong, keep);
    for (std::thread &worker : workers) worker.join();
    EXPECT(cudaMemcpy(&told, wrong, sizeof told, cudaMemcpyDeviceToHost));
    printf("%u wrong values\n", told);
    return told != 0;
}

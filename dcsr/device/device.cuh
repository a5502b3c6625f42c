/* device.cuh: what a file with kernels includes to be compiled twice (internal).
 *
 *      nvcc                          CUDA: the runtime's own headers, and the few names below
 *      g++ or clang++, DCSR_SIMT     the emulator of tests/simt: every CUDA thread is a fiber, every stream
 *                                    a queue
 *
 * Kernels keep to what both understand:
 *
 *      SIMT_SHARED(T, name, N)           a shared array; SIMT_SHARED_DYN(T, name) the one sized by the launch
 *      simt::launch(kernel, blocks, threads, shared_bytes, stream, arguments...)      instead of <<<>>>
 *      simt::launch_together(...)        the same, of blocks that wait for each other
 *      DCSR_CUDA_INLINE                  before a function that kernels call
 *      __syncthreads, __syncwarp(mask), warp intrinsics with masks, atomics
 *
 * A kernel may rely on nothing between two barriers but atomics; what another kernel wrote is seen when both
 * are on one stream, or an event lies between. Who looks in a loop for what another block writes calls
 * __nanosleep(). */
#ifndef DCSR_DEVICE_CUH
#define DCSR_DEVICE_CUH

#ifdef DCSR_SIMT
#include <simt.h>
#define DCSR_CUDA_INLINE static inline
#else
#include <cuda.h>
#include <cuda_runtime.h>

#define DCSR_CUDA_INLINE        static __device__ __forceinline__
#define SIMT_SHARED(T, name, N) __shared__ T name[N]
#define SIMT_SHARED_DYN(T, name)                                \
    extern __shared__ __align__(16) unsigned char simt_bytes[]; \
    T *name = reinterpret_cast<T *>(simt_bytes)

namespace simt
{
template <class T> struct same {
    typedef T type;
};
/* The arguments are converted to the kernel's parameters, as in a call. */
template <class... P>
void launch(void (*kernel)(P...), dim3 blocks, dim3 threads, size_t shared_bytes, cudaStream_t stream,
            typename same<P>::type... arguments)
{
    kernel<<<blocks, threads, shared_bytes, stream>>>(arguments...);
}
/* All blocks are on the device at a time, or the launch fails. */
template <class... P>
void launch_together(void (*kernel)(P...), dim3 blocks, dim3 threads, size_t shared_bytes,
                     cudaStream_t stream, typename same<P>::type... arguments)
{
    void *pointers[] = {&arguments...};
    cudaLaunchCooperativeKernel(kernel, blocks, threads, pointers, shared_bytes, stream);
}
/* The same for a kernel that waits by itself for the one before it on the stream, which may still run. */
template <class... P>
void launch_chained(void (*kernel)(P...), dim3 blocks, dim3 threads, size_t shared_bytes, cudaStream_t stream,
                    typename same<P>::type... arguments)
{
    cudaLaunchAttribute chained = {};
    chained.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    chained.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = blocks;
    config.blockDim = threads;
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream;
    config.attrs = &chained;
    config.numAttrs = 1;
    cudaLaunchKernelEx(&config, kernel, arguments...);
}
} // namespace simt
#endif

#endif

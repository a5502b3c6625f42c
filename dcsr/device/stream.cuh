/* stream.cuh: putting kernels on streams (internal; for files with kernels).
 *
 * How many blocks and threads a kernel gets is decided here, from the amount of work; kernels are loops that
 * do whatever share they are given:
 *
 *      __global__ void scale(double *x, uint64_t n)
 *      {
 *          for (uint64_t i = dcsr_i_cuda_first(); i < n; i += dcsr_i_cuda_step()) x[i] *= 2;
 *      }
 *      dcsr_i_cuda_launch(stream, scale, n, x, n);
 *
 * Launching cannot fail for the caller: the first failure is noted on the stream, for dcsr_i_cuda_wait(). */
#ifndef DCSR_STREAM_CUH
#define DCSR_STREAM_CUH

#include "dcsr/base/cuda.h"
#include "dcsr/device/device.cuh"

/* How work becomes blocks. */
struct dcsr_i_cuda_policy {
    int threads; /* in a block */
    int items;   /* that a thread should get, for which it is worth starting */
};

/* Dynamic shared memory that a kernel may have without being asked for; more depends on the device. */
enum { DCSR_CUDA_SHARED_BYTES = 48 << 10 };

cudaStream_t dcsr_i_cuda_raw(dcsr_i_cuda_stream *stream);

/* The threads a block really gets: as asked for; fewer in the emulator, which switches between them one by
 * one. */
unsigned dcsr_i_cuda_threads(dcsr_i_cuda_policy policy);
/* Enough blocks for the work, but no more than keep the device busy. */
unsigned dcsr_i_cuda_blocks(dcsr_i_cuda_stream *stream, uint64_t work, dcsr_i_cuda_policy policy);
/* Notes whether the launch just made was accepted. */
void dcsr_i_cuda_launched(dcsr_i_cuda_stream *stream);

/* Runs the kernel with threads for `work` items; no work launches nothing. */
template <class... P, class... A>
void dcsr_i_cuda_launch_with(dcsr_i_cuda_policy policy, dcsr_i_cuda_stream *stream, void (*kernel)(P...),
                             uint64_t work, A... arguments)
{
    if (!work) return;
    simt::launch(kernel, dim3(dcsr_i_cuda_blocks(stream, work, policy)), dim3(dcsr_i_cuda_threads(policy)), 0,
                 dcsr_i_cuda_raw(stream), arguments...);
    dcsr_i_cuda_launched(stream);
}
template <class... P, class... A>
void dcsr_i_cuda_launch(dcsr_i_cuda_stream *stream, void (*kernel)(P...), uint64_t work, A... arguments)
{
    dcsr_i_cuda_launch_with(dcsr_i_cuda_policy{256, 1}, stream, kernel, work, arguments...);
}

/* Some devices let a block have more shared memory than others. */
template <class... P> void dcsr_i_cuda_ask_for_shared(void (*kernel)(P...), size_t shared_bytes)
{
    if (shared_bytes > DCSR_CUDA_SHARED_BYTES)
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared_bytes);
}

/* Runs the kernel with a warp for each of `items` (dcsr_i_cuda_first_warp), or with a block of exactly
 * `threads` threads, a multiple of 32, and `shared_bytes` of dynamic shared memory for each
 * (dcsr_i_cuda_first_block). */
template <class... P, class... A>
void dcsr_i_cuda_launch_warps(dcsr_i_cuda_stream *stream, void (*kernel)(P...), uint64_t items,
                              A... arguments)
{
    dcsr_i_cuda_launch_with(dcsr_i_cuda_policy{256, 1}, stream, kernel, items * 32, arguments...);
}
template <class... P, class... A>
void dcsr_i_cuda_launch_blocks(dcsr_i_cuda_stream *stream, void (*kernel)(P...), uint64_t items, int threads,
                               size_t shared_bytes, A... arguments)
{
    if (!items) return;
    dcsr_i_cuda_policy one_block_each = {1, 1};
    dcsr_i_cuda_ask_for_shared(kernel, shared_bytes);
    simt::launch(kernel, dim3(dcsr_i_cuda_blocks(stream, items, one_block_each)), dim3((unsigned)threads),
                 shared_bytes, dcsr_i_cuda_raw(stream), arguments...);
    dcsr_i_cuda_launched(stream);
}

/* Chained kernels begin with dcsr_i_cuda_await(). Their blocks go to the multiprocessors while the kernel before them
 * on the stream still runs there, chained or not, and wait for its end, which saves a microsecond or two of each. Such
 * a kernel may also be launched as others are. */
template <class... P, class... A>
void dcsr_i_cuda_launch_chained(dcsr_i_cuda_stream *stream, void (*kernel)(P...), dim3 blocks, int threads,
                                size_t shared_bytes, A... arguments)
{
#ifndef DCSR_SIMT
    if (dcsr_i_cuda_describe(dcsr_i_cuda_device_of(stream))->chains)
        simt::launch_chained(kernel, blocks, dim3((unsigned)threads), shared_bytes, dcsr_i_cuda_raw(stream),
                             arguments...);
    else
#endif
        simt::launch(kernel, blocks, dim3((unsigned)threads), shared_bytes, dcsr_i_cuda_raw(stream),
                     arguments...);
    dcsr_i_cuda_launched(stream);
}
template <class... P, class... A>
void dcsr_i_cuda_chain(dcsr_i_cuda_stream *stream, void (*kernel)(P...), uint64_t work, A... arguments)
{
    const dcsr_i_cuda_policy policy = {256, 1};
    if (!work) return;
    dcsr_i_cuda_launch_chained(stream, kernel, dim3(dcsr_i_cuda_blocks(stream, work, policy)),
                               (int)dcsr_i_cuda_threads(policy), 0, arguments...);
}
template <class... P, class... A>
void dcsr_i_cuda_chain_blocks(dcsr_i_cuda_stream *stream, void (*kernel)(P...), uint64_t items, int threads,
                              size_t shared_bytes, A... arguments)
{
    if (!items) return;
    dcsr_i_cuda_ask_for_shared(kernel, shared_bytes);
    dcsr_i_cuda_launch_chained(stream, kernel, dim3(dcsr_i_cuda_blocks(stream, items, {1, 1})), threads,
                               shared_bytes, arguments...);
}

/* In chained kernels, first of all and by all threads: lets the next kernel come, and waits for all that the one before
 * has written. */
DCSR_CUDA_INLINE void dcsr_i_cuda_await()
{
#if !defined(DCSR_SIMT) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* The same as dcsr_i_cuda_launch_blocks() with just as many blocks as find room on the device at a time: for kernels
 * whose items take equally long, of which a second wave of blocks would leave part of the device idle. */
template <class... P, class... A>
void dcsr_i_cuda_launch_resident(dcsr_i_cuda_stream *stream, void (*kernel)(P...), uint64_t items,
                                 int threads, size_t shared_bytes, A... arguments)
{
    dcsr_i_cuda_ask_for_shared(kernel, shared_bytes);
    int most = 1;
#ifndef DCSR_SIMT
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&most, kernel, threads, shared_bytes);
#endif
    const uint64_t blocks =
        (uint64_t)most * (unsigned)dcsr_i_cuda_describe(dcsr_i_cuda_device_of(stream))->multiprocessors;
    dcsr_i_cuda_launch_blocks(stream, kernel, items < blocks ? items : blocks, threads, shared_bytes,
                              arguments...);
}

/* Blocks that wait for each other (dcsr_i_cuda_meet), one on each multiprocessor at most: the more they are, the longer
 * they wait. */
template <class... P, class... A>
void dcsr_i_cuda_launch_together(dcsr_i_cuda_stream *stream, void (*kernel)(P...), uint64_t items,
                                 int threads, A... arguments)
{
    if (!items) return;
    const uint64_t most = (unsigned)dcsr_i_cuda_describe(dcsr_i_cuda_device_of(stream))->multiprocessors;
    simt::launch_together(kernel, dim3((unsigned)(items < most ? items : most)), dim3((unsigned)threads), 0,
                          dcsr_i_cuda_raw(stream), arguments...);
    dcsr_i_cuda_launched(stream);
}

/* A barrier of all blocks of a launch: what they have written before is seen by all behind it. *arrived counts those
 * that have come, over all barriers; `meeting` is how many there have been with this one. By all threads of all
 * blocks. */
DCSR_CUDA_INLINE void dcsr_i_cuda_meet(unsigned *arrived, unsigned meeting)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1u);
#ifdef DCSR_SIMT /* ThreadSanitizer takes a volatile read for a plain one */
        while (static_cast<int>(atomicAdd(arrived, 0u) - meeting * gridDim.x) < 0) __nanosleep(0);
#else
        while (static_cast<int>(*(volatile unsigned *)arrived - meeting * gridDim.x) < 0) __nanosleep(0);
#endif
        __threadfence();
    }
    __syncthreads();
}

/* What other threads may be changing meanwhile. */
template <class T> DCSR_CUDA_INLINE T dcsr_i_cuda_peek(const T *at)
{
#ifdef DCSR_SIMT /* ThreadSanitizer takes a volatile read for a plain one */
    return __atomic_load_n(at, __ATOMIC_RELAXED);
#else
    return *(const volatile T *)at;
#endif
}

/* To pinned memory, at which threads of the host are looking meanwhile; behind a __threadfence_system(). */
DCSR_CUDA_INLINE void dcsr_i_cuda_show(uint64_t *at, uint64_t what)
{
#ifdef DCSR_SIMT
    __atomic_store_n(at, what, __ATOMIC_RELEASE);
#else
    *(volatile uint64_t *)at = what;
#endif
}

/* The last of n numbers that is not above i, of number(0), which is not, number(1), ..., which ascend: by bisection. */
template <class Number>
DCSR_CUDA_INLINE uint64_t dcsr_i_cuda_last_up_to(uint64_t n, uint64_t i, Number number)
{
    uint64_t low = 0, high = n;
    while (high - low > 1) {
        const uint64_t middle = (low + high) / 2;
        if (number(middle) <= i)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* In kernels: which items are this thread's, this warp's, this block's: first, first + step, ... All lanes of
 * a warp, and all threads of a block, get the same ones of the latter two. */
DCSR_CUDA_INLINE uint64_t dcsr_i_cuda_first()
{
    return (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
}
DCSR_CUDA_INLINE uint64_t dcsr_i_cuda_step()
{
    return (uint64_t)gridDim.x * blockDim.x;
}
DCSR_CUDA_INLINE uint64_t dcsr_i_cuda_first_warp()
{
    return dcsr_i_cuda_first() / 32;
}
DCSR_CUDA_INLINE uint64_t dcsr_i_cuda_warp_step()
{
    return dcsr_i_cuda_step() / 32;
}
DCSR_CUDA_INLINE uint64_t dcsr_i_cuda_first_block()
{
    return blockIdx.x;
}
DCSR_CUDA_INLINE uint64_t dcsr_i_cuda_block_step()
{
    return gridDim.x;
}
DCSR_CUDA_INLINE unsigned dcsr_i_cuda_lane()
{
    return threadIdx.x & 31;
}

#endif

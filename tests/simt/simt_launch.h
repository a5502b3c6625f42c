/* simt_launch.h: putting work into a stream: kernels, and operations of the device that are written as plain
 * loops. */
#ifndef DCSR_TESTS_SIMT_LAUNCH_H
#define DCSR_TESTS_SIMT_LAUNCH_H

#include <functional>
#include <memory>
#include <tuple>
#include <utility>
#include "tests/simt/simt_runtime.h"

namespace simt
{
/* A kernel with the arguments it was launched with; every thread of the launch calls run(). */
struct kernel_call {
    virtual ~kernel_call() = default;
    virtual void run() const = 0;
};
template <class... P> class kernel_call_of final : public kernel_call
{
  public:
    kernel_call_of(void (*kernel_)(P...), P... arguments_) : kernel(kernel_), arguments(arguments_...) {}
    void run() const override { call(std::index_sequence_for<P...>()); }

  private:
    template <size_t... I> void call(std::index_sequence<I...>) const { kernel(std::get<I>(arguments)...); }

    void (*const kernel)(P...);
    const std::tuple<P...> arguments;
};

/* The number of blocks, and where in the source the launch stands: messages name it. */
struct launch_blocks {
    dim3 blocks;
    const char *file;
    int line;
    launch_blocks(dim3 blocks_, const char *file_ = __builtin_FILE(), int line_ = __builtin_LINE())
        : blocks(blocks_), file(file_), line(line_)
    {
    }
    launch_blocks(unsigned x, unsigned y = 1, unsigned z = 1, const char *file_ = __builtin_FILE(),
                  int line_ = __builtin_LINE())
        : blocks(x, y, z), file(file_), line(line_)
    {
    }
};

/* together: all blocks are in flight at a time, so that they may wait for each other. */
void launch_kernel(const void *kernel, const launch_blocks &blocks, dim3 threads, size_t shared_bytes,
                   cudaStream_t stream, bool together, std::unique_ptr<kernel_call> call);

template <class T> struct same {
    typedef T type;
};
/* kernel<<<blocks, threads, shared_bytes, stream>>>(arguments...). The arguments are converted to the
 * kernel's parameters, as in a call, and copied now. What is wrong with the launch shows in
 * cudaGetLastError(). */
template <class... P>
inline void launch(void (*kernel)(P...), launch_blocks blocks, dim3 threads, size_t shared_bytes,
                   cudaStream_t stream, typename same<P>::type... arguments)
{
    launch_kernel(reinterpret_cast<const void *>(kernel), blocks, threads, shared_bytes, stream, false,
                  std::make_unique<kernel_call_of<P...>>(kernel, arguments...));
}
/* cudaLaunchCooperativeKernel() */
template <class... P>
inline void launch_together(void (*kernel)(P...), launch_blocks blocks, dim3 threads, size_t shared_bytes,
                            cudaStream_t stream, typename same<P>::type... arguments)
{
    launch_kernel(reinterpret_cast<const void *>(kernel), blocks, threads, shared_bytes, stream, true,
                  std::make_unique<kernel_call_of<P...>>(kernel, arguments...));
}

/* Lets work run in the stream's order, as work of the device: what stands in for a library of device
 * algorithms. It may use device memory, and make no CUDA calls. */
cudaError_t enqueue(cudaStream_t stream, std::function<void()> work);
} // namespace simt

#endif

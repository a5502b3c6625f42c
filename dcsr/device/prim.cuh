/* prim.cuh: how algorithms over whole arrays are run (internal; for the files that have some): CUB's on a
 * device, plain loops in the emulator. */
#ifndef DCSR_PRIM_CUH
#define DCSR_PRIM_CUH

#include "dcsr/device/stream.cuh"

#ifdef DCSR_SIMT

#include <functional>

static __global__ void dcsr_i_cuda_run_loops(std::function<void()> loops)
{
    loops();
}

/* Puts plain loops on the stream, as a kernel of one thread. */
inline void dcsr_i_cuda_enqueue(dcsr_i_cuda_stream *stream, std::function<void()> loops)
{
    dcsr_i_cuda_launch_with({1, 1}, stream, dcsr_i_cuda_run_loops, 1, loops);
}

#else

/* CUB's algorithms say first how much temporary memory they need. `run` is one, with all arguments but that
 * memory bound. */
template <class Run> dcsr_status dcsr_i_cuda_with_memory(dcsr_i_cuda_stream *stream, Run run)
{
    size_t bytes = 0;
    cudaError_t error = run(nullptr, bytes);
    if (error != cudaSuccess) {
        dcsr_i_cuda_note(stream, error);
        return DCSR_OK;
    }
    void *memory = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, bytes, 1);
    if (!memory) return dcsr_i_no_memory();
    dcsr_i_cuda_note(stream, run(memory, bytes));
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, memory, bytes, 1);
    return DCSR_OK;
}

#endif
#endif

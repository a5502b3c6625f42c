/* clock.cu: the time that work on a stream takes, by two events around it. */
#include "dcsr/device/clock_cuda.h"
#include "dcsr/device/device.cuh"

dcsr_status dcsr_i_cuda_time(double *seconds, dcsr_i_cuda_stream *stream, void *on,
                             dcsr_status (*work)(void *user), void *user, const char *operation)
{
    cudaEvent_t mark[2] = {nullptr, nullptr};
    const cudaStream_t raw = static_cast<cudaStream_t>(on);
    float milliseconds = 0;
    for (cudaEvent_t &event : mark)
        dcsr_i_cuda_note(stream, cudaEventCreateWithFlags(&event, cudaEventBlockingSync));
    if (mark[0]) dcsr_i_cuda_note(stream, cudaEventRecord(mark[0], raw));
    dcsr_status status = work(user);
    if (mark[1]) {
        dcsr_i_cuda_note(stream, cudaEventRecord(mark[1], raw));
        dcsr_i_cuda_note(stream, cudaEventSynchronize(mark[1]));
    }
    if (mark[0] && mark[1]) dcsr_i_cuda_note(stream, cudaEventElapsedTime(&milliseconds, mark[0], mark[1]));
    for (cudaEvent_t event : mark)
        if (event) dcsr_i_cuda_note(stream, cudaEventDestroy(event));
    const dcsr_status waited = dcsr_i_cuda_wait(stream, operation);
    *seconds = 1e-3 * (double)milliseconds;
    return status ? status : waited;
}

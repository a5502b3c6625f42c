/* simt_queue.h: streams as queues of operations (internal). */
#ifndef DCSR_TESTS_SIMT_QUEUE_H
#define DCSR_TESTS_SIMT_QUEUE_H

#include <deque>
#include <memory>
#include <vector>
#include "tests/simt/simt_fiber.h"
#include "tests/simt/simt_internal.h"

namespace simt
{
struct cuda_thread;

/* One entry of a stream. */
struct operation {
    explicit operation(const char *what_, const char *file_ = nullptr, int line_ = 0)
        : what(what_), file(file_), line(line_)
    {
    }
    virtual ~operation() = default;
    /* Does the work, on the stream's fiber, in quiet code. */
    virtual void run() {}

    const char *const what, *const file;
    const int line;
    uint64_t number = 0;              /* in the order of enqueueing, from 1 */
    std::shared_ptr<operation> after; /* cannot run before this one is done: an event's record */
    bool done = false;
    bool of_kernels = false;  /* may touch what kernels of its stream's device may, and no more */
    double seconds = 0;       /* when it was done */
    char enqueued, completed; /* their addresses stand for the order of the two */
};
typedef std::shared_ptr<operation> operation_ref;

/* The stack on which the operations of a stream run, and the CUDA threads that its kernels run on. Handed on
 * to another stream when the stream is gone. */
struct engine {
    fiber runner;
    std::deque<cuda_thread *> idle_threads;
    size_t threads = 0;
};
} // namespace simt

struct CUstream_st {
    uint64_t id;
    int device;
    std::deque<simt::operation_ref> queue; /* the first may be running */
    simt::operation_ref last;              /* the last that was enqueued, done or not */
    simt::engine *engine = nullptr;
    uint64_t launches = 0;
    bool destroyed = false;
};

namespace simt
{
/* The stream of a handle, of whichever device; NULL when there is none. */
CUstream_st *stream_of(cudaStream_t handle);
/* Serves a call about a stream: body(held_lock &, CUstream_st *) returns its error. */
template <class F> cudaError_t serve_on(cudaStream_t handle, F body)
{
    return serve([&](held_lock &held) {
        CUstream_st *const stream = stream_of(handle);
        if (!stream) return cudaErrorInvalidResourceHandle;
        const int device = stream->device; /* it may be gone afterwards */
        return serve_of(held, device, [&](held_lock &lock) { return body(lock, stream); });
    });
}
/* Appends an operation; by the seed some of what waits is run right away. */
void enqueue_operation(held_lock &held, CUstream_st *stream, operation_ref op);
/* Runs what is needed, and what the seed adds, until op is done; its effects are seen by the caller then. */
void wait_for(held_lock &held, const operation_ref &op);
/* Runs a little; true when op is done, as above. */
bool poll(held_lock &held, const operation_ref &op);
/* Some host thread runs an operation. */
bool device_busy();
/* Frees what a destroyed stream has left, once its queue is empty. */
void retire_if_finished(CUstream_st *stream);

/* The operation that runs, and its stream; NULL outside of operations. */
struct position {
    const operation *op;
    CUstream_st *stream;
};
const position &now();
} // namespace simt

#endif

/* simt_streams.cpp: the calls for streams and events. */
#include "tests/simt/simt_streams.h"
#include <algorithm>
#include <functional>
#include <set>
#include "tests/simt/simt_launch.h"

struct CUevent_st {
    simt::operation_ref record; /* the last one; NULL when it has never been recorded */
    bool timing;
    int device;
};

namespace simt
{
namespace
{
enum { LEAST_PRIORITY = 0, GREATEST_PRIORITY = -5 };

struct handles {
    std::vector<CUstream_st *> streams;
    std::set<CUevent_st *> events;
    CUstream_st *null_stream[MOST_DEVICES] = {};
    uint64_t created = 0;
};

handles &existing()
{
    static handles &instance = *new handles;
    return instance;
}

CUstream_st *create_stream()
{
    CUstream_st *const stream = new CUstream_st;
    stream->device = current_device();
    stream->id = ++existing().created;
    existing().streams.push_back(stream);
    return stream;
}

bool exists(cudaEvent_t event)
{
    return existing().events.count(event) != 0;
}

bool is_null_stream(const CUstream_st *stream)
{
    return stream == existing().null_stream[stream->device];
}

/* Serves a call about an event: body(held_lock &) returns its error. */
template <class F> cudaError_t serve_event(cudaEvent_t event, F body)
{
    return serve([&](held_lock &held) {
        return exists(event) ? serve_of(held, event->device, body) : cudaErrorInvalidResourceHandle;
    });
}

struct function_operation final : operation {
    std::function<void()> work;
    function_operation(const char *what_, std::function<void()> work_)
        : operation(what_), work(std::move(work_))
    {
    }
    void run() override
    {
        seen(work);
        work = nullptr; /* what it holds is given back now: a stream keeps its last operation */
    }
};
} // namespace

const std::vector<CUstream_st *> &all_streams()
{
    return existing().streams;
}

CUstream_st *stream_of(cudaStream_t handle)
{
    if (!handle || handle == cudaStreamLegacy) {
        CUstream_st *&of_device = existing().null_stream[current_device()];
        if (!of_device) of_device = create_stream();
        return of_device;
    }
    for (CUstream_st *stream : existing().streams) {
        if (stream == handle) return stream->destroyed ? nullptr : stream;
    }
    return nullptr;
}

void forget_stream(CUstream_st *stream)
{
    std::vector<CUstream_st *> &streams = existing().streams;
    streams.erase(std::find(streams.begin(), streams.end(), stream));
    delete stream;
}

size_t live_streams()
{
    size_t live = 0;
    for (const CUstream_st *stream : existing().streams)
        live += !is_null_stream(stream) && !stream->destroyed;
    return live;
}

size_t live_events()
{
    return existing().events.size();
}

cudaError_t enqueue(cudaStream_t handle, std::function<void()> work)
{
    return serve_on(handle, [&](held_lock &held, CUstream_st *stream) {
        if (!work) return cudaErrorInvalidValue;
        const auto op = std::make_shared<function_operation>("function", std::move(work));
        op->of_kernels = true;
        enqueue_operation(held, stream, op);
        return cudaSuccess;
    });
}
} // namespace simt

using namespace simt;

extern "C" {
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int)
{
    return serve([&](held_lock &) {
        if (!stream || flags > cudaStreamNonBlocking) return cudaErrorInvalidValue;
        if (request_fails()) return cudaErrorMemoryAllocation;
        *stream = create_stream();
        return cudaSuccess;
    });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    return cudaStreamCreateWithPriority(stream, flags, LEAST_PRIORITY);
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return cudaStreamCreateWithPriority(stream, cudaStreamDefault, LEAST_PRIORITY);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    return serve([&](held_lock &) {
        if (least) *least = LEAST_PRIORITY;
        if (greatest) *greatest = GREATEST_PRIORITY;
        return cudaSuccess;
    });
}

cudaError_t cudaStreamDestroy(cudaStream_t handle)
{
    return serve_on(handle, [&](held_lock &, CUstream_st *stream) {
        if (is_null_stream(stream)) return cudaErrorInvalidResourceHandle;
        stream->destroyed = true;
        retire_if_finished(stream);
        return cudaSuccess;
    });
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle)
{
    return serve_on(handle, [&](held_lock &held, CUstream_st *stream) {
        const operation_ref last = stream->last;
        if (last) wait_for(held, last);
        return cudaSuccess;
    });
}

cudaError_t cudaStreamQuery(cudaStream_t handle)
{
    return serve_on(handle, [&](held_lock &held, CUstream_st *stream) {
        const operation_ref last = stream->last;
        return !last || poll(held, last) ? cudaSuccess : cudaErrorNotReady;
    });
}

cudaError_t cudaDeviceSynchronize()
{
    return serve([&](held_lock &held) {
        std::vector<operation_ref> last;
        for (const CUstream_st *stream : all_streams()) {
            if (stream->last && stream->device == current_device()) last.push_back(stream->last);
        }
        for (const operation_ref &op : last) wait_for(held, op);
        return cudaSuccess;
    });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned flags)
{
    return serve_on(handle, [&](held_lock &held, CUstream_st *stream) {
        if (!exists(event)) return cudaErrorInvalidResourceHandle;
        if (flags) return cudaErrorInvalidValue;
        if (!event->record) return cudaSuccess;
        const operation_ref op = std::make_shared<operation>("wait for an event");
        op->after = event->record;
        enqueue_operation(held, stream, op);
        return cudaSuccess;
    });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    return serve([&](held_lock &) {
        if (!event || flags & ~unsigned(cudaEventBlockingSync | cudaEventDisableTiming))
            return cudaErrorInvalidValue;
        if (request_fails()) return cudaErrorMemoryAllocation;
        *event = new CUevent_st{nullptr, !(flags & cudaEventDisableTiming), current_device()};
        existing().events.insert(*event);
        return cudaSuccess;
    });
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    return serve([&](held_lock &) {
        if (!existing().events.erase(event)) return cudaErrorInvalidResourceHandle;
        delete event;
        return cudaSuccess;
    });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle)
{
    return serve_on(handle, [&](held_lock &held, CUstream_st *stream) {
        if (!exists(event) || event->device != stream->device) return cudaErrorInvalidResourceHandle;
        const operation_ref op = std::make_shared<operation>("record of an event");
        event->record = op;
        enqueue_operation(held, stream, op);
        return cudaSuccess;
    });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    return serve_event(event, [&](held_lock &held) {
        const operation_ref record = event->record;
        if (record) wait_for(held, record);
        return cudaSuccess;
    });
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    return serve_event(event, [&](held_lock &held) {
        const operation_ref record = event->record;
        return !record || poll(held, record) ? cudaSuccess : cudaErrorNotReady;
    });
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end)
{
    return serve([&](held_lock &) {
        if (!exists(start) || !exists(end) || !start->timing || !end->timing || start->device != end->device)
            return cudaErrorInvalidResourceHandle;
        if (!milliseconds) return cudaErrorInvalidValue;
        if (!start->record || !end->record) return cudaErrorInvalidResourceHandle;
        if (!start->record->done || !end->record->done) return cudaErrorNotReady;
        *milliseconds = static_cast<float>(1e3 * (end->record->seconds - start->record->seconds));
        return cudaSuccess;
    });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void *data)
{
    return serve_on(handle, [&](held_lock &held, CUstream_st *stream) {
        if (!function) return cudaErrorInvalidValue;
        enqueue_operation(held, stream,
                          std::make_shared<function_operation>("host function", [=] { function(data); }));
        return cudaSuccess;
    });
}
}

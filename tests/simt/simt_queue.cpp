/* simt_queue.cpp: which operation runs when, and on which host thread.
 *
 * There is no thread for the device. A host thread that waits runs operations itself, one at a time: of the
 * streams whose first operation can run, the seed chooses one. Other host threads that wait meanwhile sleep,
 * and go on with the work when the operation is done and theirs is not. */
#include "tests/simt/simt_queue.h"
#include <condition_variable>
#include <ctime>
#include "tests/simt/simt_streams.h"

namespace simt
{
thread_local bool on_device;

namespace
{
enum {
    STREAM_STACK_BYTES = 1 << 20,
    LONGEST_QUEUE = 1000, /* then enqueueing runs what waits, as a GPU's queue is of limited length too */
    LONGEST_BURST = 4
};

struct executor {
    std::condition_variable finished;
    bool busy = false;
    position now = {nullptr, nullptr};
    fiber host;
    uint64_t operations = 0, previous_stream = 0;
    std::vector<engine *> idle_engines;
};

executor &device()
{
    static executor &instance = *new executor;
    return instance;
}

double clock_seconds()
{
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/* Not inlined into the loop below: the fiber may go on in another host thread, whose thread-local variables
 * are others. */
__attribute__((noinline)) void run_current()
{
    operation *const op = const_cast<operation *>(device().now.op);
    order_acquire(&op->enqueued);
    if (op->after) order_acquire(&op->after->completed);
    op->run();
    op->seconds = clock_seconds();
    order_release(&op->completed);
}

void engine_main()
{
    quiet_begin();
    for (;;) {
        run_current();
        fiber_switch(&device().host);
    }
}

engine *take_engine()
{
    if (!device().idle_engines.empty()) {
        engine *const reused = device().idle_engines.back();
        device().idle_engines.pop_back();
        return reused;
    }
    engine *const created = new engine;
    fiber_create(&created->runner, STREAM_STACK_BYTES, engine_main);
    return created;
}

bool runnable(const CUstream_st *stream)
{
    if (stream->queue.empty()) return false;
    const operation *const first = stream->queue.front().get();
    return !first->after || first->after->done;
}

/* Seed 0 takes operations in the order in which they were enqueued. Others mostly stay with a stream, so that
 * it gets far ahead of its neighbours too. */
CUstream_st *choose()
{
    std::vector<CUstream_st *> candidates;
    CUstream_st *oldest = nullptr, *previous = nullptr;
    for (CUstream_st *stream : all_streams()) {
        if (!runnable(stream)) continue;
        candidates.push_back(stream);
        if (!oldest || stream->queue.front()->number < oldest->queue.front()->number) oldest = stream;
        if (stream->id == device().previous_stream) previous = stream;
    }
    if (!options().seed || candidates.empty()) return oldest;
    if (previous && host_random().below(4)) return previous;
    return candidates[host_random().below(candidates.size())];
}

void execute(CUstream_st *stream, operation *op)
{
    if (device_fails(stream->device)) set_device_fault(stream->device, cudaErrorECCUncorrectable);
    if (device_fault(stream->device)) return; /* what waits behind a fault is lost */
    report_install_thread();
    device().now = {op, stream};
    on_device = true;
    device().host.stack = nullptr;
    fiber_adopt(&device().host);
    fiber_switch(&stream->engine->runner);
    on_device = false;
    device().now = {nullptr, nullptr};
}

/* Runs one operation; false when none can run. */
bool step(held_lock &held)
{
    CUstream_st *const stream = choose();
    if (!stream) return false;
    const operation_ref op = stream->queue.front();
    if (!stream->engine) stream->engine = take_engine();
    device().previous_stream = stream->id;
    device().busy = true;
    device_open_for(op->of_kernels ? stream->device : static_cast<int>(ALL_DEVICES));
    held.unlock();
    execute(stream, op.get());
    held.lock();
    device().busy = false;
    op->done = true;
    op->after.reset();
    stream->queue.pop_front();
    retire_if_finished(stream);
    device().finished.notify_all();
    return true;
}

/* For a caller that needs something done: runs an operation, or waits until another host thread has run its
 * one. */
void advance(held_lock &held)
{
    if (device().busy)
        device().finished.wait(held);
    else if (!step(held))
        die("operations wait, but none can run");
}

void run_some(held_lock &held, uint64_t operations)
{
    while (operations-- && !device().busy && step(held)) continue;
}
} // namespace

const position &now()
{
    return device().now;
}

bool device_busy()
{
    return device().busy;
}

/* One seed in four leaves everything until somebody waits, one runs everything at once, the others some of
 * it. */
void enqueue_operation(held_lock &held, CUstream_st *stream, operation_ref op)
{
    op->number = ++device().operations;
    order_release(&op->enqueued);
    stream->queue.push_back(op);
    stream->last = op;
    const uint64_t seed = options().seed;
    if (seed % 4 == 1) run_some(held, LONGEST_QUEUE);
    if (seed % 4 >= 2) run_some(held, host_random().below(3) ? 0 : host_random().below(LONGEST_BURST + 1));
    while (stream->queue.size() > LONGEST_QUEUE) advance(held);
}

void wait_for(held_lock &held, const operation_ref &op)
{
    while (!op->done) advance(held);
    order_acquire(&op->completed);
}

/* Something always runs in the end, so that a loop around a query ends. */
bool poll(held_lock &held, const operation_ref &op)
{
    if (op->done) {
        order_acquire(&op->completed);
        return true;
    }
    run_some(held, options().seed ? host_random().below(3) : 1);
    if (!op->done) return false;
    order_acquire(&op->completed);
    return true;
}

void retire_if_finished(CUstream_st *stream)
{
    if (!stream->destroyed || !stream->queue.empty()) return;
    if (stream->engine) device().idle_engines.push_back(stream->engine);
    forget_stream(stream);
}
} // namespace simt

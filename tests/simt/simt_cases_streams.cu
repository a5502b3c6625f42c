/* simt_cases_streams.cu: cases about the order of work: streams, events, copies, host threads. */
#include <atomic>
#include <chrono>
#include <thread>
#include "tests/simt/simt_cases.h"

enum { N = 64 };

/* -- Correct programs
 * ---------------------------------------------------------------------------------------------- */

/* A value goes from stream to stream, each of which adds 1; WITH_WAIT makes the second wait for the first. */
template <bool WITH_WAIT> static void hand_over()
{
    const test_stream first, second;
    const test_event done;
    const device_array<unsigned> a(std::vector<unsigned>(N, 0)), b(N);
    for (unsigned round = 0; round < 3; round++) {
        simt::launch(add_kernel, 2, 32, 0, first.handle, b.data, a.data, 1, N);
        OK(cudaEventRecord(done.handle, first.handle));
        if (WITH_WAIT) OK(cudaStreamWaitEvent(second.handle, done.handle));
        simt::launch(add_kernel, 2, 32, 0, second.handle, a.data, b.data, 1, N);
        OK(cudaEventRecord(done.handle, second.handle));
        OK(cudaStreamWaitEvent(first.handle, done.handle));
    }
    OK(cudaEventSynchronize(done.handle));
    CHECK(all_are(a.values(), 6));
}

/* Pinned memory of the host, which a copy fills. */
template <bool WITH_WAIT> static void read_copy()
{
    const test_stream stream;
    const device_array<unsigned> a(std::vector<unsigned>(N, 7));
    unsigned *host;
    OK(cudaMallocHost(&host, N * sizeof *host));
    std::fill(host, host + N, 1u);
    OK(cudaMemcpyAsync(host, a.data, N * sizeof *host, cudaMemcpyDeviceToHost, stream.handle));
    if (WITH_WAIT) stream.wait();
    const unsigned first = host[0], last = host[N - 1];
    stream.wait();
    OK(cudaFreeHost(host));
    CHECK(first == 7 && last == 7);
}

/* A source that the host writes to again, while the copy may still be waiting. */
template <bool PINNED, bool WITH_WAIT> static void change_source()
{
    const test_stream stream;
    const device_array<unsigned> a(N);
    std::vector<unsigned> pageable(N);
    unsigned *host = pageable.data();
    if (PINNED) OK(cudaHostAlloc(&host, N * sizeof *host, cudaHostAllocDefault));
    std::fill(host, host + N, 7u);
    OK(cudaMemcpyAsync(a.data, host, N * sizeof *host, cudaMemcpyHostToDevice, stream.handle));
    if (WITH_WAIT) stream.wait();
    std::fill(host, host + N, 8u);
    stream.wait();
    if (PINNED) OK(cudaFreeHost(host));
    CHECK(all_are(a.values(), 7));
}

/* With seed 0 nothing runs before somebody waits. The counter is atomic so that the host may look at it at
 * any time. */
static void work_runs_late()
{
    const test_stream stream, other;
    std::atomic<unsigned> calls(0);
    const cudaHostFn_t count = [](void *counter) {
        static_cast<std::atomic<unsigned> *>(counter)->fetch_add(1);
    };
    for (unsigned k = 0; k < 3; k++) OK(cudaLaunchHostFunc(stream.handle, count, &calls));
    if (simt_seed() == 0) CHECK(calls == 0);
    if (simt_seed() % 4 == 1) CHECK(calls == 3);
    other.wait();
    if (simt_seed() == 0) CHECK(calls == 0);
    stream.wait();
    CHECK(calls == 3);
}

static void queries()
{
    const test_stream stream;
    const test_event event, never;
    const device_array<unsigned> a(N);
    OK(cudaStreamQuery(stream.handle));
    OK(cudaEventQuery(never.handle));
    OK(cudaEventSynchronize(never.handle));
    OK(cudaStreamWaitEvent(stream.handle, never.handle));
    for (unsigned k = 0; k < 4; k++) OK(cudaMemsetAsync(a.data, 1, N * sizeof(unsigned), stream.handle));
    OK(cudaEventRecord(event.handle, stream.handle));
    cudaError_t state;
    unsigned not_ready = 0;
    while ((state = cudaEventQuery(event.handle)) == cudaErrorNotReady) not_ready++;
    OK(state);
    OK(cudaStreamQuery(stream.handle));
    CHECK(cudaGetLastError() == cudaSuccess);
    if (simt_seed() == 0) CHECK(not_ready == 4); /* each query lets one operation run */
    CHECK(all_are(a.values(), 0x01010101));
}

static void elapsed_time()
{
    const test_stream stream;
    const test_event start(cudaEventDefault), end(cudaEventDefault), untimed;
    const device_array<unsigned> a(N);
    float milliseconds = -1;
    CHECK(cudaEventElapsedTime(&milliseconds, start.handle, end.handle) == cudaErrorInvalidResourceHandle);
    OK(cudaEventRecord(start.handle, stream.handle));
    simt::launch(set_kernel, 1, 32, 0, stream.handle, a.data, 1, N);
    OK(cudaEventRecord(end.handle, stream.handle));
    OK(cudaEventRecord(untimed.handle, stream.handle));
    OK(cudaEventSynchronize(end.handle));
    OK(cudaEventElapsedTime(&milliseconds, start.handle, end.handle));
    CHECK(milliseconds > 0 && milliseconds < 60e3f);
    CHECK(cudaEventElapsedTime(&milliseconds, start.handle, untimed.handle) ==
          cudaErrorInvalidResourceHandle);
}

/* Functions run in the stream's order, and the host sees what they did after waiting. */
static void functions()
{
    const test_stream stream;
    const device_array<unsigned> a(N);
    unsigned *const data = a.data;
    unsigned calls = 0;
    simt::launch(set_kernel, 1, 32, 0, stream.handle, data, 5, N);
    OK(simt::enqueue(stream.handle, [data] {
        unsigned sum = 0;
        for (unsigned i = 0; i < N; i++) sum += data[i];
        data[0] = sum;
    }));
    OK(cudaLaunchHostFunc(
        stream.handle,
        [](void *counter) {
            ++*static_cast<unsigned *>(counter);
            CHECK(cudaStreamCreate(nullptr) == cudaErrorNotPermitted);
        },
        &calls));
    stream.wait();
    CHECK(calls == 1 && a.values()[0] == 5 * N);
}

/* A stream that is destroyed does what it was given; an event too. */
static void destroyed_with_work()
{
    const device_array<unsigned> a(std::vector<unsigned>(N, 1));
    const test_stream second;
    {
        const test_stream first;
        const test_event done;
        simt::launch(add_kernel, 1, 32, 0, first.handle, a.data, a.data, 1, N);
        OK(cudaEventRecord(done.handle, first.handle));
        OK(cudaStreamWaitEvent(second.handle, done.handle));
    }
    simt::launch(add_kernel, 1, 32, 0, second.handle, a.data, a.data, 1, N);
    second.wait();
    CHECK(all_are(a.values(), 3));
}

/* More work than a queue holds. */
static void long_queue()
{
    const test_stream stream;
    const device_array<unsigned> a(std::vector<unsigned>(1, 0));
    unsigned *const data = a.data;
    for (unsigned i = 0; i < 3000; i++) OK(simt::enqueue(stream.handle, [data] { ++*data; }));
    stream.wait();
    CHECK(a.values()[0] == 3000);
}

static void work_of_one_thread(unsigned id)
{
    const test_stream stream;
    const test_event event;
    for (unsigned round = 0; round < 4; round++) {
        unsigned *data;
        std::vector<unsigned> host(N, id);
        OK(cudaMallocAsync(&data, N * sizeof *data, stream.handle));
        OK(cudaMemcpyAsync(data, host.data(), N * sizeof *data, cudaMemcpyHostToDevice, stream.handle));
        simt::launch(add_kernel, 2, 32, 0, stream.handle, data, data, round, N);
        OK(cudaMemcpyAsync(host.data(), data, N * sizeof *data, cudaMemcpyDeviceToHost, stream.handle));
        OK(cudaFreeAsync(data, stream.handle));
        OK(cudaEventRecord(event.handle, stream.handle));
        if (round % 2) {
            while (cudaEventQuery(event.handle) == cudaErrorNotReady) std::this_thread::yield();
        } else {
            OK(cudaEventSynchronize(event.handle));
        }
        CHECK(all_are(host, id + round));
    }
}

static void host_threads()
{
    std::vector<std::thread> threads;
    for (unsigned id = 0; id < 4; id++) threads.emplace_back(work_of_one_thread, id);
    for (std::thread &each : threads) each.join();
    CHECK(simt_live_allocations() == 0 && simt_live_streams() == 0 && simt_live_events() == 0);
}

/* -- Planted bugs of the host's code
 * ------------------------------------------------------------------------------- */

/* Two host threads change a variable. The second mostly does so long after the first, and both have called
 * CUDA in between; but that is no order, though the emulator has a lock. */
static void host_threads_race()
{
    const test_stream stream;
    unsigned shared = 0;
    std::thread other([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        OK(cudaStreamQuery(stream.handle));
        shared++;
    });
    shared++;
    OK(cudaStreamQuery(stream.handle));
    other.join();
}

/* Two streams change one array. Whatever runs first, the sum is right. */
static void streams_race()
{
    const test_stream first, second;
    const device_array<unsigned> a(std::vector<unsigned>(N, 0));
    unsigned *const data = a.data;
    simt::launch(add_kernel, 1, 32, 0, first.handle, data, data, 1, N);
    simt::launch(add_kernel, 1, 32, 0, second.handle, data, data, 1, N);
    first.wait();
    second.wait();
    CHECK(all_are(a.values(), 2));
}

extern const simt_case STREAM_CASES[] = {{"clean_events", hand_over<true>},
                                         {"clean_copy", read_copy<true>},
                                         {"clean_source_pinned", change_source<true, true>},
                                         {"clean_source_pageable", change_source<false, true>},
                                         {"clean_late_work", work_runs_late},
                                         {"clean_queries", queries},
                                         {"clean_elapsed_time", elapsed_time},
                                         {"clean_functions", functions},
                                         {"clean_destroyed_with_work", destroyed_with_work},
                                         {"clean_long_queue", long_queue},
                                         {"clean_host_threads", host_threads},
                                         {"event_wait_missing", hand_over<false>},
                                         {"read_before_copy", read_copy<false>},
                                         {"pinned_source_changed", change_source<true, false>},
                                         {"pageable_source_changed", change_source<false, false>},
                                         {"host_threads_race", host_threads_race},
                                         {"streams_race", streams_race},
                                         {nullptr, nullptr}};

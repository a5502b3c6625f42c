/* stream.cu: streams: their order, waiting for them, copies, and how many blocks a kernel gets. */
#include "dcsr/device/stream.cuh"
#include "dcsr/device/device_state.cuh"
#include <sched.h>
#include <string.h>
#include <time.h>

/* A batch waits for the device a few times, mostly for less than it takes to wake a thread. Products with large
 * matrices take some milliseconds, of which waking is some percent: for so long who waits only lets others have the
 * processor. */
enum { SPIN_NANOSECONDS = 1000000, YIELD_NANOSECONDS = 4000000 };

#ifdef DCSR_SIMT
enum { MOST_THREADS = 64, MOST_BLOCKS = 8 };
#else
/* Blocks beyond what runs at once even out differences between them. */
enum { MOST_THREADS = 1024, BLOCKS_PER_MULTIPROCESSOR = 32 };
#endif

/* ---- Coming and going ---- */

/* Where blocks of several kernels wait for a multiprocessor, those of a reader come first: its kernels are short, and
 * it waits for each, while a writer's are many. */
static int priority_of(dcsr_i_cuda_use use)
{
    int least = 0, greatest = 0;
    if (cudaDeviceGetStreamPriorityRange(&least, &greatest) != cudaSuccess) cudaGetLastError();
    return use == DCSR_CUDA_TO_READ ? greatest : least;
}

static cudaError_t create_raw(dcsr_i_cuda_stream *stream)
{
    cudaError_t error =
        cudaStreamCreateWithPriority(&stream->raw, cudaStreamNonBlocking, priority_of(stream->use));
    if (error != cudaSuccess) return error;
    error = cudaEventCreateWithFlags(&stream->event, cudaEventBlockingSync | cudaEventDisableTiming);
    if (error != cudaSuccess) cudaStreamDestroy(stream->raw);
    return error;
}

dcsr_status dcsr_i_cuda_stream_create(dcsr_i_cuda_stream **stream, dcsr_i_cuda_device *device,
                                      dcsr_i_cuda_use use)
{
    *stream = nullptr;
    DCSR_TRY(dcsr_i_cuda_check(device));
    dcsr_i_cuda_stream *created =
        static_cast<dcsr_i_cuda_stream *>(dcsr_i_calloc(nullptr, DCSR_I_SCRATCH, 1, sizeof *created));
    if (!created) return dcsr_i_no_memory();
    created->device = device;
    created->use = use;
    dcsr_i_cuda_enter(created);
    dcsr_status status = dcsr_i_cuda_result(device, create_raw(created), "creating a stream");
    dcsr_i_cuda_leave(created);
    if (status == DCSR_OK)
        *stream = created;
    else
        dcsr_i_free(nullptr, DCSR_I_SCRATCH, created, 1, sizeof *created);
    return status;
}

static void free_landing(dcsr_i_cuda_stream *stream)
{
    dcsr_i_free(stream->device->context, DCSR_I_PINNED, stream->landing, stream->landing_bytes, 1);
    stream->landing = nullptr;
    stream->landing_bytes = 0;
}

void dcsr_i_cuda_stream_destroy(dcsr_i_cuda_stream *stream)
{
    if (!stream) return;
    if (!dcsr_i_cuda_forked()) {
        dcsr_i_cuda_current current(stream->device->number);
        cudaStreamSynchronize(stream->raw);
        cudaEventDestroy(stream->event);
        cudaStreamDestroy(stream->raw);
        cudaGetLastError(); /* of a device that has failed */
    }
    free_landing(stream);
    dcsr_i_free(nullptr, DCSR_I_SCRATCH, stream, 1, sizeof *stream);
}

void dcsr_i_cuda_enter(dcsr_i_cuda_stream *stream)
{
    if (stream->entered++) return;
    cudaGetLastError(); /* what the thread's own calls have left is no failure of ours */
    stream->error = cudaSuccess;
    if (cudaGetDevice(&stream->callers_device) != cudaSuccess)
        stream->callers_device = stream->device->number;
    if (stream->callers_device != stream->device->number)
        dcsr_i_cuda_note(stream, cudaSetDevice(stream->device->number));
}

void dcsr_i_cuda_leave(dcsr_i_cuda_stream *stream)
{
    free_landing(stream);
    dcsr_i_cuda_step_out(stream);
}

void dcsr_i_cuda_step_out(dcsr_i_cuda_stream *stream)
{
    if (--stream->entered) return;
    if (stream->callers_device != stream->device->number)
        dcsr_i_cuda_note(stream, cudaSetDevice(stream->callers_device));
}

dcsr_i_cuda_use dcsr_i_cuda_use_of(const dcsr_i_cuda_stream *stream)
{
    return stream->use;
}

dcsr_i_cuda_device *dcsr_i_cuda_device_of(const dcsr_i_cuda_stream *stream)
{
    return stream->device;
}

void *dcsr_i_cuda_handle(dcsr_i_cuda_stream *stream)
{
    return stream->raw;
}

cudaStream_t dcsr_i_cuda_raw(dcsr_i_cuda_stream *stream)
{
    return stream->raw;
}

/* ---- Failures, and waiting ---- */

void dcsr_i_cuda_note(dcsr_i_cuda_stream *stream, int error)
{
    if (error == cudaSuccess) return;
    cudaGetLastError(); /* else the next launch would be blamed for it */
    if (!stream->error) stream->error = error;
}

static uint64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Looks for a while, with pauses, since looking keeps other threads from what they want of CUDA;
 * cudaErrorNotReady: it is worth sleeping. */
template <class Query> static cudaError_t look(Query query)
{
    const uint64_t begin = nanoseconds();
    uint64_t passed = 0;
    cudaError_t error;
    while ((error = query()) == cudaErrorNotReady &&
           (passed = nanoseconds() - begin) < SPIN_NANOSECONDS + YIELD_NANOSECONDS)
        if (passed < SPIN_NANOSECONDS)
            for (int i = 0; i < 8; i++) __builtin_ia32_pause();
        else
            sched_yield();
    if (error == cudaErrorNotReady) cudaGetLastError(); /* that is no error */
    return error;
}

/* Whether kernels have written all of n words. In the emulator they run while somebody waits. */
static bool is_told(const uint64_t *told, uint64_t n)
{
    enum { TIMES = 32 }; /* that one is looked at before the driver is asked */
#ifdef DCSR_SIMT
    n = 0;
#endif
    if (!n) return false;
    for (int i = 0; i < TIMES;) {
        if (!__atomic_load_n(&told[n - 1], __ATOMIC_ACQUIRE)) {
            __builtin_ia32_pause();
            i++;
        } else if (!--n) {
            return true;
        }
    }
    return false;
}

/* n words, or 0: of dcsr_i_cuda_wait_told(). */
static cudaError_t wait_until_done(dcsr_i_cuda_stream *stream, const uint64_t *told, uint64_t n)
{
    cudaError_t error = look([=] { return is_told(told, n) ? cudaSuccess : cudaStreamQuery(stream->raw); });
    if (error != cudaErrorNotReady) return error;
    error = cudaEventRecord(stream->event, stream->raw);
    return error == cudaSuccess ? cudaEventSynchronize(stream->event) : error;
}

dcsr_status dcsr_i_cuda_wait_told(dcsr_i_cuda_stream *stream, const uint64_t *told, uint64_t n,
                                  const char *operation)
{
    int noted = stream->error;
    stream->error = cudaSuccess;
    DCSR_TRY(dcsr_i_cuda_check(stream->device));
    int waited = wait_until_done(stream, told, n);
    return dcsr_i_cuda_result(stream->device, waited != cudaSuccess ? waited : noted, operation);
}

dcsr_status dcsr_i_cuda_wait(dcsr_i_cuda_stream *stream, const char *operation)
{
    return dcsr_i_cuda_wait_told(stream, NULL, 0, operation);
}

void dcsr_i_cuda_settle(dcsr_i_cuda_stream *stream, const char *operation)
{
    const int noted = stream->error;
    stream->error = cudaSuccess;
    if (dcsr_i_cuda_forked() || stream->device->failure) return;
    const int waited = wait_until_done(stream, NULL, 0);
    dcsr_i_cuda_remember(stream->device, waited != cudaSuccess ? waited : noted, operation);
}

/* ---- Order ---- */

/* The event is of the device of `earlier`. It serves again at once: waiting for it is for what it stands for now. */
static void order(dcsr_i_cuda_stream *noting, cudaEvent_t event, cudaStream_t later, cudaStream_t earlier)
{
    dcsr_i_cuda_note(noting, cudaEventRecord(event, earlier));
    dcsr_i_cuda_note(noting, cudaStreamWaitEvent(later, event, 0));
}

void dcsr_i_cuda_order(dcsr_i_cuda_stream *stream, dcsr_i_cuda_stream *on)
{
    order(stream, on->event, stream->raw, on->raw);
}

void dcsr_i_cuda_order_after_caller(dcsr_i_cuda_stream *stream, void *callers_stream)
{
    order(stream, stream->event, stream->raw, static_cast<cudaStream_t>(callers_stream));
}

void dcsr_i_cuda_order_caller_after(void *callers_stream, dcsr_i_cuda_stream *stream)
{
    order(stream, stream->event, static_cast<cudaStream_t>(callers_stream), stream->raw);
}

bool dcsr_i_cuda_is_idle(void *callers_stream)
{
    const cudaStream_t raw = static_cast<cudaStream_t>(callers_stream);
    if (!raw || raw == cudaStreamLegacy) return false;
    const cudaError_t error = cudaStreamQuery(raw);
    if (error != cudaSuccess)
        cudaGetLastError(); /* that is no error, or will be told by work on the stream */
    return error == cudaSuccess;
}

/* ---- Events ---- */

static const char with_events[] = "keeping track of work";

dcsr_status dcsr_i_cuda_event_create(void **event, dcsr_i_cuda_device *device)
{
    dcsr_i_cuda_current current(device->number);
    cudaEvent_t created = nullptr;
    int error = cudaEventCreateWithFlags(&created, cudaEventBlockingSync | cudaEventDisableTiming);
    *event = error == cudaSuccess ? created : nullptr;
    return dcsr_i_cuda_result(device, error, with_events);
}

void dcsr_i_cuda_event_destroy(void *event, dcsr_i_cuda_device *device)
{
    if (!event || dcsr_i_cuda_forked() || device->failure) return;
    dcsr_i_cuda_current current(device->number);
    dcsr_i_cuda_remember(device, cudaEventDestroy(static_cast<cudaEvent_t>(event)), with_events);
}

void dcsr_i_cuda_event_record(dcsr_i_cuda_stream *stream, void *event, void *raw)
{
    dcsr_i_cuda_note(stream,
                     cudaEventRecord(static_cast<cudaEvent_t>(event), static_cast<cudaStream_t>(raw)));
}

static cudaError_t wait_for_event(void *event, dcsr_i_cuda_device *device)
{
    dcsr_i_cuda_current current(device->number);
    cudaEvent_t awaited = static_cast<cudaEvent_t>(event);
    const cudaError_t error = look([=] { return cudaEventQuery(awaited); });
    return error == cudaErrorNotReady ? cudaEventSynchronize(awaited) : error;
}

dcsr_status dcsr_i_cuda_event_wait(void *event, dcsr_i_cuda_device *device, const char *operation)
{
    DCSR_TRY(dcsr_i_cuda_check(device));
    return dcsr_i_cuda_result(device, wait_for_event(event, device), operation);
}

void dcsr_i_cuda_event_settle(void *event, dcsr_i_cuda_device *device, const char *operation)
{
    if (dcsr_i_cuda_forked() || device->failure) return;
    dcsr_i_cuda_remember(device, wait_for_event(event, device), operation);
}

/* ---- Copies ---- */

/* Memory of a pool or of a mapping is none for CUDA where the thread's current device may not touch it; and threads
 * that help another have not entered its stream. */
void dcsr_i_cuda_copy(dcsr_i_cuda_stream *stream, void *to, const void *from, size_t bytes)
{
    if (!bytes) return;
    dcsr_i_cuda_current current(stream->device->number);
    dcsr_i_cuda_note(stream, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream->raw));
}

void dcsr_i_cuda_fill(dcsr_i_cuda_stream *stream, void *to, int byte, size_t bytes)
{
    if (!bytes) return;
    dcsr_i_cuda_current current(stream->device->number);
    dcsr_i_cuda_note(stream, cudaMemsetAsync(to, byte, bytes, stream->raw));
}

void *dcsr_i_cuda_landing(dcsr_i_cuda_stream *stream, size_t bytes)
{
    if (bytes <= stream->landing_bytes && stream->landing) return stream->landing;
    if (stream->landing)
        dcsr_i_cuda_note(stream, wait_until_done(stream, NULL, 0)); /* copies may be on their way there */
    free_landing(stream);
    size_t enough = 4096;
    while (enough < bytes) enough *= 2;
    stream->landing = static_cast<char *>(dcsr_i_alloc(stream->device->context, DCSR_I_PINNED, enough, 1));
    if (stream->landing)
        stream->landing_bytes = enough;
    else
        dcsr_i_cuda_note(stream, cudaErrorMemoryAllocation);
    return stream->landing;
}

dcsr_status dcsr_i_cuda_read_back(dcsr_i_cuda_stream *stream, void *to, const void *from, size_t bytes,
                                  const char *operation)
{
    void *landing = dcsr_i_cuda_landing(stream, bytes);
    if (landing) dcsr_i_cuda_copy(stream, landing, from, bytes);
    DCSR_TRY(dcsr_i_cuda_wait(stream, operation));
    memcpy(to, landing, bytes);
    return DCSR_OK;
}

/* ---- How kernels are launched ---- */

unsigned dcsr_i_cuda_threads(dcsr_i_cuda_policy policy)
{
    return policy.threads < MOST_THREADS ? (unsigned)policy.threads : (unsigned)MOST_THREADS;
}

unsigned dcsr_i_cuda_blocks(dcsr_i_cuda_stream *stream, uint64_t work, dcsr_i_cuda_policy policy)
{
#ifdef DCSR_SIMT
    (void)stream;
    uint64_t most = MOST_BLOCKS;
#else
    uint64_t most = (uint64_t)stream->device->properties.multiprocessors * BLOCKS_PER_MULTIPROCESSOR;
#endif
    uint64_t share = (uint64_t)dcsr_i_cuda_threads(policy) * (unsigned)policy.items;
    uint64_t blocks = (work + share - 1) / share;
    return (unsigned)(blocks < most ? blocks : most);
}

void dcsr_i_cuda_launched(dcsr_i_cuda_stream *stream)
{
    dcsr_i_cuda_note(stream, cudaGetLastError());
}

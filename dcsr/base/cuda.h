/* cuda.h: the device as C sees it (internal): finding it, streams, memory, mapped address space.
 *
 * Only builds with CUDA (DCSR_CUDA) have what is declared here; context.c decides where it may be called. The
 * functions are written in .cu files and called from C and from other .cu files; no header of CUDA is needed.
 *
 * A context has one of the process's devices, and each thread of CUDA a current one, which is where its kernels run and
 * what most calls of CUDA are about. Between dcsr_i_cuda_enter() and _leave() it is the stream's; all that is called
 * here without a stream that was entered sees to it by itself. Either way the thread gets back the one that it had.
 *
 * Work is ordered by streams and events alone; nothing here waits for the whole device. A stream object
 * belongs to one host thread at a time. Numbers that the host needs come back through copies into the
 * stream's pinned landing area, followed by dcsr_i_cuda_wait().
 *
 * Errors: running out of memory is DCSR_ERROR_OUT_OF_MEMORY and leaves all as it was. Anything that CUDA
 * cannot recover from (a kernel that faulted) is reported once as DCSR_ERROR_DEVICE with the name of the
 * operation; from then on the context refuses all work (dcsr_i_context_check). */
#ifndef DCSR_CUDA_H
#define DCSR_CUDA_H

#include "dcsr/base/alloc.h"
#include "dcsr/base/error.h"

/* What only builds with CUDA have is called by others through tables of functions, or single ones, one for each part of
 * the library: this is the address, or NULL. */
#ifdef DCSR_CUDA
#define DCSR_I_IN_CUDA(name) (&(name))
#else
#define DCSR_I_IN_CUDA(name) NULL
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The device of a context: device.cu ---- */

typedef struct dcsr_i_cuda_device dcsr_i_cuda_device;
typedef struct dcsr_i_cuda_stream dcsr_i_cuda_stream;

typedef struct dcsr_i_cuda_properties {
    char name[256];
    char place[32];      /* on the PCI bus; "" where CUDA does not tell */
    uint64_t memory;     /* bytes */
    int driver, runtime; /* as CUDA counts: 13000 is 13.0 */
    int multiprocessors;
    size_t shared_bytes; /* the most shared memory that a block can have */
    int capability;      /* 90 is 9.0 */
    bool chains;         /* kernels can be chained (stream.cuh) */
} dcsr_i_cuda_properties;

/* How many devices CUDA sees, numbered from 0; 0 where it cannot say. Counts once per process. */
int dcsr_i_cuda_count(void);

/* Whether the device of a number can be used: DCSR_OK, or NO_DEVICE with the reason (none of that number, no driver, a
 * driver that is too old, a device that the library has no code for). Looks at each once per process. Not in a child of
 * a process that has used a device: NO_DEVICE, with advice. */
dcsr_status dcsr_i_cuda_find(int number);

/* The same without setting the error. */
bool dcsr_i_cuda_usable(int number);

/* Whether this is a child of the process that looked for the device: nothing of CUDA may be called, and pinned memory
 * is not there. */
bool dcsr_i_cuda_forked(void);

/* Opens a device for a context; its pool of temporary memory keeps what is freed for the next. */
dcsr_status dcsr_i_cuda_open(dcsr_i_cuda_device **device, dcsr_context *context, int number);
/* Everything of it has been given back. NULL does nothing. */
void dcsr_i_cuda_close(dcsr_i_cuda_device *device);
/* Gives back what the pools of all open devices keep. */
void dcsr_i_cuda_trim(void);
const dcsr_i_cuda_properties *dcsr_i_cuda_describe(const dcsr_i_cuda_device *device);
/* Bytes of device memory that nobody uses, as the driver says; 0 when it does not. */
uint64_t dcsr_i_cuda_free_memory(dcsr_i_cuda_device *device);
/* DCSR_OK, or DCSR_ERROR_DEVICE once something has failed beyond recovery; also in a forked child. */
dcsr_status dcsr_i_cuda_check(dcsr_i_cuda_device *device);
/* "75 80 86 89 90": the architectures that the kernels were compiled for. */
const char *dcsr_i_cuda_architectures(void);

/* Translates what a call or launch on this device returned (a cudaError_t): DCSR_OK for success;
 * OUT_OF_MEMORY; else DCSR_ERROR_DEVICE, and the device refuses work from then on. `operation` names what was
 * being done: "inserting". */
dcsr_status dcsr_i_cuda_result(dcsr_i_cuda_device *device, int error, const char *operation);
/* The same, but sets no error message. A failure of the device is reported by the next call that uses it; running out
 * of memory is not reported. */
void dcsr_i_cuda_remember(dcsr_i_cuda_device *device, int error, const char *operation);

/* ---- Streams: stream.cu ---- */

/* What a stream is for: the blocks of a reader's kernels go before those of a writer's. */
typedef enum dcsr_i_cuda_use { DCSR_CUDA_TO_READ, DCSR_CUDA_TO_WRITE } dcsr_i_cuda_use;
/* A stream that takes no part in the legacy default stream's ordering. */
dcsr_status dcsr_i_cuda_stream_create(dcsr_i_cuda_stream **stream, dcsr_i_cuda_device *device,
                                      dcsr_i_cuda_use use);
dcsr_i_cuda_use dcsr_i_cuda_use_of(const dcsr_i_cuda_stream *stream);
/* Waits for what is on it. NULL does nothing. */
void dcsr_i_cuda_stream_destroy(dcsr_i_cuda_stream *stream);
/* Around the use of a stream by a thread: enter makes the stream's device the thread's current one, leave sets it back
 * and gives the landing area back; step_out keeps that. A thread may enter a stream again that it has entered, but two
 * streams only one within the other. */
void dcsr_i_cuda_enter(dcsr_i_cuda_stream *stream);
void dcsr_i_cuda_leave(dcsr_i_cuda_stream *stream);
void dcsr_i_cuda_step_out(dcsr_i_cuda_stream *stream);
dcsr_i_cuda_device *dcsr_i_cuda_device_of(const dcsr_i_cuda_stream *stream);
/* For callers outside kernels' files: the cudaStream_t. */
void *dcsr_i_cuda_handle(dcsr_i_cuda_stream *stream);

/* Notes the first failure of what has been put on the stream, for the wait that follows; so launchers need
 * not return one. `error` is a cudaError_t. */
void dcsr_i_cuda_note(dcsr_i_cuda_stream *stream, int error);
/* Waits until all that was put on the stream has run; returns the first failure since the last wait, in which
 * `operation` is named. */
dcsr_status dcsr_i_cuda_wait(dcsr_i_cuda_stream *stream, const char *operation);
/* The same, but only until kernels on the stream have written n words of pinned memory that are 0 now, none of them 0:
 * some microseconds before the driver would tell that they have run, and whatever is on the stream behind them. */
dcsr_status dcsr_i_cuda_wait_told(dcsr_i_cuda_stream *stream, const uint64_t *told, uint64_t n,
                                  const char *operation);
/* Waits until all that was put on the stream has run, before memory that it uses is freed. The device remembers a
 * failure for its next call; this thread's last sentence stays as it is. */
void dcsr_i_cuda_settle(dcsr_i_cuda_stream *stream, const char *operation);

/* All later work on `stream` waits for what `on` holds now, also if they are of different devices; the thread has both.
 * `on` may also be a stream of the caller's on the same device. */
void dcsr_i_cuda_order(dcsr_i_cuda_stream *stream, dcsr_i_cuda_stream *on);
void dcsr_i_cuda_order_after_caller(dcsr_i_cuda_stream *stream, void *callers_stream);
/* The other way round: later work on the caller's stream waits for what `stream` holds now. */
void dcsr_i_cuda_order_caller_after(void *callers_stream, dcsr_i_cuda_stream *stream);

/* Whether nothing is left of what the caller's stream was given; not said of the legacy default stream, whose work
 * waits for that of others. The stream's device is the thread's current one. */
bool dcsr_i_cuda_is_idle(void *callers_stream);

/* Events, by which any host thread can wait for what a stream held when they were recorded. */
dcsr_status dcsr_i_cuda_event_create(void **event, dcsr_i_cuda_device *device);
void dcsr_i_cuda_event_destroy(void *event, dcsr_i_cuda_device *device);
/* On this stream or one of the caller's, `raw`; failures are noted on `stream`. */
void dcsr_i_cuda_event_record(dcsr_i_cuda_stream *stream, void *event, void *raw);
dcsr_status dcsr_i_cuda_event_wait(void *event, dcsr_i_cuda_device *device, const char *operation);
/* The same as dcsr_i_cuda_settle(). */
void dcsr_i_cuda_event_settle(void *event, dcsr_i_cuda_device *device, const char *operation);

/* Copies between any two places, in stream order. Host memory should be pinned: else the call may wait. */
void dcsr_i_cuda_copy(dcsr_i_cuda_stream *stream, void *to, const void *from, size_t bytes);
void dcsr_i_cuda_fill(dcsr_i_cuda_stream *stream, void *to, int byte, size_t bytes);

/* Entries that the host has packed in pinned memory. */
typedef struct dcsr_i_cuda_packed {
    const uint64_t *keys;
    const void *values;  /* NULL: none */
    uint32_t value_size; /* bytes */
    uint64_t n;
} dcsr_i_cuda_packed;
/* Once a kernel has read all that it was to read it writes `what` to *told, in pinned memory; NULL: it does not. */
typedef struct dcsr_i_cuda_tell {
    uint64_t *told, what;
    uint32_t *
        arrived; /* blocks of threads that have read theirs; on the device, 0 before the kernel and after it */
} dcsr_i_cuda_tell;
/* Reads them, in stream order: keys, and values as words (NULL: none), to the device. By any thread. unload.cu. */
void dcsr_i_cuda_unload(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_packed *from, uint64_t *keys,
                        uint64_t *words, dcsr_i_cuda_tell tell);

/* `bytes` of pinned memory that belong to the stream: for the numbers that the host needs back, and small
 * tables that go there. The same bytes each time (call it once per step); NULL (noted) when it cannot be made
 * that large. */
void *dcsr_i_cuda_landing(dcsr_i_cuda_stream *stream, size_t bytes);
/* What kernels have written, once they have run; by way of the landing. */
dcsr_status dcsr_i_cuda_read_back(dcsr_i_cuda_stream *stream, void *to, const void *from, size_t bytes,
                                  const char *operation);

/* Copies a result to where a caller wants it, on the device or the host, and waits: deliver_cuda.c. If it fails while
 * it copies to the host, a part may have been written. */
dcsr_status dcsr_i_cuda_deliver(dcsr_i_cuda_stream *stream, void *to, const void *from, size_t bytes,
                                const dcsr_context *context, const char *operation);

/* ---- Memory on the device: device_memory.cu ---- */

/* Memory in stream order: usable by work put on this stream from now on; freed when the work before the free
 * has run. Counted against the context's limit like host memory, and made to fail by the same countdown. NULL
 * with the error set. Zero bytes give a pointer that may be freed. */
void *dcsr_i_cuda_alloc(dcsr_i_cuda_stream *stream, dcsr_i_pool pool, size_t count, size_t size);
void dcsr_i_cuda_free(dcsr_i_cuda_stream *stream, dcsr_i_pool pool, void *block, size_t count, size_t size);
/* The same by any thread, without a stream, where all work on the block has been waited for. */
void dcsr_i_cuda_free_idle(dcsr_i_cuda_device *device, dcsr_i_pool pool, void *block, size_t count,
                           size_t size);

typedef enum dcsr_i_cuda_memory_kind {
    DCSR_CUDA_HOST, /* memory CUDA knows nothing of */
    DCSR_CUDA_PINNED,
    DCSR_CUDA_ON_DEVICE, /* of this context's device */
    DCSR_CUDA_ELSEWHERE  /* of another device: kernels cannot use it */
} dcsr_i_cuda_memory_kind;
dcsr_i_cuda_memory_kind dcsr_i_cuda_where(dcsr_i_cuda_device *device, const void *pointer);

/* ---- Address space that is reserved once and grows in place: device_mapping.cu; users go through mapping.h
 * ---- */

/* The step in which memory is mapped; a power of two. */
size_t dcsr_i_cuda_granularity(dcsr_i_cuda_device *device);
/* Reserves address space; bytes must be a multiple of the granularity. NULL with the error set. */
char *dcsr_i_cuda_reserve(dcsr_i_cuda_device *device, size_t bytes);
void dcsr_i_cuda_unreserve(dcsr_i_cuda_device *device, char *base,
                           size_t bytes); /* nothing is mapped in it any more */
/* Maps one piece of memory to [begin, begin + bytes), both multiples of the granularity: usable by any work
 * put on any stream from now on. It is unmapped as a whole, alone or together with its neighbours. */
dcsr_status dcsr_i_cuda_map(dcsr_i_cuda_device *device, char *begin, size_t bytes);
/* No work that uses it may be under way. */
void dcsr_i_cuda_unmap(dcsr_i_cuda_device *device, char *begin, size_t bytes);

/* ---- Several devices: peers.cu ---- */

/* Whether kernels of `device` can be let touch the memory of `peer`; a device its own. */
bool dcsr_i_cuda_can_access(const dcsr_i_cuda_device *device, const dcsr_i_cuda_device *peer);
/* Lets them: what `peer` has now and takes later by dcsr_i_cuda_alloc(), until it is closed; not what is mapped. Who
 * touches memory sees to the order of streams, also of the one on which it is freed. Any thread, any number of times.
 * NO_DEVICE where they are no peers, DEVICE. */
dcsr_status dcsr_i_cuda_enable_peer(dcsr_i_cuda_device *device, dcsr_i_cuda_device *peer);
/* Copies from the memory of one device to that of another, peers or not, in the order of a stream of one of them. */
void dcsr_i_cuda_copy_peer(dcsr_i_cuda_stream *stream, void *to, const dcsr_i_cuda_device *to_device,
                           const void *from, const dcsr_i_cuda_device *from_device, size_t bytes);

/* ---- Pinned host memory: device_memory.cu ---- */

/* For the allocator's pool of pinned memory (alloc.c), in large pieces that all devices copy from and to. NULL when
 * refused. */
void *dcsr_i_cuda_pin(size_t bytes);
void dcsr_i_cuda_unpin(void *block);

#ifdef __cplusplus
}
#endif
#endif

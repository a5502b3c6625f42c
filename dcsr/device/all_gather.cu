/* all_gather.cu: what each of several devices has, brought to all of them, by copies from peers or by NCCL.
 *
 * Copies need no kernels of the devices that are copied from, and take less time on two GPUs that reach each other
 * (docs/MULTI.md, tools/gather_ways.cu). A communicator is made when something large is first gathered. Its
 * kernels wait for those of the other devices. So who fails ends it for all: own first, whose calls this thread makes,
 * then the others', in whose calls their threads may be; those wait at most until NCCL notices. From then on the group
 * copies. */
#include "dcsr/device/all_gather_cuda.h"
#include "dcsr/base/late_library.h"
#include "dcsr/device/device_state.cuh"
#include <new>
#include <time.h>

/* Smaller parts take as long by NCCL as its kernels do to begin. */
#ifdef DCSR_SIMT
enum { LEAST_BYTES = 64 };
#else
enum { LEAST_BYTES = 1 << 20 };
#endif

namespace
{
/* What a device gives: two, as one is offered while slower devices still copy the one before. */
struct offer {
    const void *from;
    cudaEvent_t written;
};

struct member {
    dcsr_i_cuda_device *device;
    offer offers[2];
    std::atomic<void *> communicator; /* NULL: none */
    pthread_mutex_t in_use;           /* the communicator, by a call */
    bool by_nccl;                     /* the last gathering */
};
} // namespace

struct dcsr_i_cuda_group {
    uint64_t count;
    const dcsr_i_nccl *nccl; /* NULL: there is none */
    pthread_mutex_t lock;    /* for making communicators */
    bool looked;             /* made, or known to be refused */
    std::atomic<bool> ended; /* the communicators, by a device that has failed */
    member members[DCSR_CUDA_MOST_DEVICES];
};

/* ---- Finding NCCL ---- */

static dcsr_i_nccl functions;
static const dcsr_i_nccl *stand_in;
static bool there;
static pthread_once_t looked_for = PTHREAD_ONCE_INIT;

static void look_for_nccl(void)
{
#ifndef DCSR_SIMT /* it knows nothing of the emulator's memory */
    static const dcsr_i_late_function each[] = {{"ncclGetVersion", offsetof(dcsr_i_nccl, get_version)},
                                                {"ncclCommInitAll", offsetof(dcsr_i_nccl, create_all)},
                                                {"ncclCommDestroy", offsetof(dcsr_i_nccl, destroy)},
                                                {"ncclCommAbort", offsetof(dcsr_i_nccl, abort)},
                                                {"ncclAllGather", offsetof(dcsr_i_nccl, all_gather)}};
    static const char *const names[] = {nullptr};
    there = dcsr_i_late_library(&functions, each, sizeof each / sizeof *each, 0, "DCSR_NCCL", names);
#endif
}

static const dcsr_i_nccl *find_nccl(void)
{
    if (stand_in) return stand_in;
    pthread_once(&looked_for, look_for_nccl);
    return there ? &functions : nullptr;
}

void dcsr_i_nccl_stand_in(const dcsr_i_nccl *library)
{
    stand_in = library;
}

/* ---- Groups ---- */

static cudaError_t add_member(dcsr_i_cuda_group *group, dcsr_i_cuda_device *device)
{
    member &one = group->members[group->count];
    dcsr_i_cuda_current current(device->number);
    pthread_mutex_init(&one.in_use, nullptr);
    one.device = device;
    device->group = group;
    device->place = group->count++;
    cudaError_t error = cudaSuccess;
    for (offer &each : one.offers)
        if (error == cudaSuccess) error = cudaEventCreateWithFlags(&each.written, cudaEventDisableTiming);
    return error;
}

/* NCCL wants a GPU for each. */
static bool share_gpus(dcsr_i_cuda_device *const *devices, uint64_t count)
{
    for (uint64_t k = 0; k < count; k++)
        for (uint64_t j = 0; j < k; j++)
            if (devices[j]->number == devices[k]->number) return true;
    return false;
}

dcsr_status dcsr_i_cuda_group_open(dcsr_i_cuda_group **group, dcsr_i_cuda_device *const *devices,
                                   uint64_t count)
{
    *group = nullptr;
    void *memory = dcsr_i_alloc(nullptr, DCSR_I_MATRIX, 1, sizeof **group);
    if (!memory) return dcsr_i_no_memory();
    dcsr_i_cuda_group *opened = new (memory) dcsr_i_cuda_group();
    pthread_mutex_init(&opened->lock, nullptr);
    if (count > 1 && !share_gpus(devices, count)) opened->nccl = find_nccl();
    for (uint64_t k = 0; k < count; k++) {
        const cudaError_t error = add_member(opened, devices[k]);
        if (error == cudaSuccess) continue;
        const dcsr_status status = dcsr_i_cuda_result(devices[k], error, "opening a group of devices");
        dcsr_i_cuda_group_close(opened);
        return status;
    }
    *group = opened;
    return DCSR_OK;
}

static void drop_communicators(dcsr_i_cuda_group *group)
{
    for (uint64_t k = 0; k < group->count; k++) {
        member &one = group->members[k];
        dcsr_i_cuda_current current(one.device->number);
        if (void *communicator = one.communicator.exchange(nullptr)) group->nccl->destroy(communicator);
    }
}

void dcsr_i_cuda_group_close(dcsr_i_cuda_group *group)
{
    if (!group) return;
    if (!dcsr_i_cuda_forked()) drop_communicators(group);
    for (uint64_t k = 0; k < group->count; k++) {
        member &one = group->members[k];
        one.device->group = nullptr;
        pthread_mutex_destroy(&one.in_use);
        if (dcsr_i_cuda_forked()) continue;
        dcsr_i_cuda_current current(one.device->number);
        for (offer &each : one.offers)
            if (each.written && cudaEventDestroy(each.written) != cudaSuccess) cudaGetLastError();
    }
    pthread_mutex_destroy(&group->lock);
    dcsr_i_free(nullptr, DCSR_I_MATRIX, group, 1, sizeof *group);
}

int dcsr_i_cuda_group_nccl(const dcsr_i_cuda_group *group)
{
    int version = 0;
    return group && group->nccl && !group->nccl->get_version(&version) ? version : 0;
}

/* ---- NCCL ---- */

/* By whoever comes first, for all. Where it is refused (a device twice, no memory) the group copies. */
static void make_communicators(dcsr_i_cuda_group *group)
{
    void *made[DCSR_CUDA_MOST_DEVICES] = {};
    int numbers[DCSR_CUDA_MOST_DEVICES];
    for (uint64_t k = 0; k < group->count; k++) numbers[k] = group->members[k].device->number;
    dcsr_i_cuda_current current(numbers[0]);
    const bool refused = group->nccl->create_all(made, static_cast<int>(group->count), numbers) != 0;
    cudaGetLastError();
    for (uint64_t k = 0; k < group->count && !refused; k++) group->members[k].communicator = made[k];
}

/* The same for all, but where one has failed in this gathering already. */
static bool goes_by_nccl(dcsr_i_cuda_group *group, const member &mine, size_t bytes)
{
    if (!group->nccl || bytes < LEAST_BYTES) return false;
    pthread_mutex_lock(&group->lock);
    if (!group->looked) make_communicators(group);
    group->looked = true;
    pthread_mutex_unlock(&group->lock);
    return mine.communicator != nullptr;
}

/* A thread may be in a call with its communicator, which returns once that of who has failed is ended; for a second at
 * most, if NCCL should not notice. */
static void end_communicator(const dcsr_i_nccl *nccl, member *one)
{
    timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    const bool locked = !pthread_mutex_timedlock(&one->in_use, &until);
    dcsr_i_cuda_current current(one->device->number);
    if (void *communicator = one->communicator.exchange(nullptr)) nccl->abort(communicator);
    cudaGetLastError();
    if (locked) pthread_mutex_unlock(&one->in_use);
}

static void end_all(dcsr_i_cuda_group *group, member *mine)
{
    if (group->ended.exchange(true)) return;
    end_communicator(group->nccl, mine);
    for (uint64_t k = 0; k < group->count; k++)
        if (&group->members[k] != mine) end_communicator(group->nccl, &group->members[k]);
}

static dcsr_status another_failed(void)
{
    return dcsr_i_fail(DCSR_ERROR_CANCELLED, "another device has failed");
}

static dcsr_status gather_by_nccl(dcsr_i_cuda_group *group, member *mine, dcsr_i_cuda_stream *stream,
                                  void *to, const void *from, size_t bytes)
{
    dcsr_i_cuda_current current(stream->device->number);
    pthread_mutex_lock(&mine->in_use);
    void *communicator = mine->communicator;
    const int error =
        communicator ? group->nccl->all_gather(from, to, bytes, DCSR_NCCL_BYTES, communicator, stream->raw)
                     : 0;
    pthread_mutex_unlock(&mine->in_use);
    if (group->ended) return another_failed();
    if (!error) return DCSR_OK;
    DCSR_TRY(dcsr_i_cuda_check(mine->device));
    return dcsr_i_fail(
        DCSR_ERROR_DEVICE,
        "NCCL cannot gather what devices have found (its error %d); unset DCSR_NCCL to do without it", error);
}

/* ---- Gathering ---- */

static member *member_of(dcsr_i_cuda_stream *stream)
{
    return &stream->device->group->members[stream->device->place];
}

void dcsr_i_cuda_offer(dcsr_i_cuda_stream *stream, int which, const void *from)
{
    offer &mine = member_of(stream)->offers[which];
    mine.from = from;
    dcsr_i_cuda_current current(stream->device->number);
    dcsr_i_cuda_note(stream, cudaEventRecord(mine.written, stream->raw));
}

static void copy_from(dcsr_i_cuda_stream *stream, void *to, const member &other, int which, size_t bytes)
{
    dcsr_i_cuda_current current(stream->device->number);
    dcsr_i_cuda_note(stream, cudaStreamWaitEvent(stream->raw, other.offers[which].written, 0));
    dcsr_i_cuda_copy_peer(stream, to, stream->device, other.offers[which].from, other.device, bytes);
}

dcsr_status dcsr_i_cuda_all_gather(dcsr_i_cuda_stream *stream, int which, void *to, size_t bytes)
{
    dcsr_i_cuda_group *group = stream->device->group;
    member *mine = member_of(stream);
    mine->by_nccl = goes_by_nccl(group, *mine, bytes);
    if (mine->by_nccl) return gather_by_nccl(group, mine, stream, to, mine->offers[which].from, bytes);
    for (uint64_t i = 1; i < group->count; i++) {
        const uint64_t k = (stream->device->place + i) % group->count;
        copy_from(stream, static_cast<char *>(to) + k * bytes, group->members[k], which, bytes);
    }
    return DCSR_OK;
}

dcsr_status dcsr_i_cuda_all_gathered(dcsr_i_cuda_stream *stream, dcsr_status mine)
{
    dcsr_i_cuda_group *group = stream->device->group;
    if (!member_of(stream)->by_nccl) return mine;
    if (mine != DCSR_OK) end_all(group, member_of(stream));
    if (mine == DCSR_OK && !group->ended) return DCSR_OK;
    dcsr_i_cuda_settle(stream, "gathering"); /* what others offer is read until then */
    return mine == DCSR_OK ? another_failed() : mine;
}

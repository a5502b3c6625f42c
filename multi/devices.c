/* devices.c: the devices of a dcsr_multi, each a context with a thread that works for it.
 *
 * The threads wait for a round: dcsr_multi_run() begins one, in which each calls the task once. Meetings within a
 * round are a barrier that also counts those who have returned already, so that nobody waits for a device that has
 * failed.
 *
 * To wake a thread takes as long as some kernels. So where devices are GPUs, whose threads have nothing else to do, who
 * waits looks for a while before it sleeps, and lets others have the processor meanwhile. */
#include "multi/devices.h"
#include "dcsr/base/runtime.h"
#include "dcsr/base/threads.h"
#include "dcsr/device/all_gather_cuda.h"
#include "multi/device_text.h"
#include "multi/fetch_cuda.h"
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

/* Nanoseconds that a thread looks for the next round, or for the end of what others do. */
enum { LOOK_FOR_ROUND = 200000, LOOK_FOR_OTHERS = 2000000 };

typedef struct worker {
    dcsr_multi *devices;
    uint64_t k;
    char name[32]; /* "device 2 (cuda:5)" */
    int node;      /* of memory, that it is on; -1: not known */
    dcsr_context *context;
    pthread_t thread;
    bool bound;
    cpu_set_t processors;
    dcsr_status status; /* of the round */
    char text[DCSR_I_ERROR_BYTES];
} worker;

struct dcsr_multi {
    _Atomic uint64_t references;
    uint64_t count, started; /* devices; those whose threads run */
    uint64_t grain;
    dcsr_device device;
    dcsr_context *home;
    dcsr_i_cuda_group *group; /* of GPUs, for gathering; NULL: none */
    pthread_mutex_t turn;     /* of who has a round run */
    pthread_mutex_t lock;     /* for what follows */
    pthread_cond_t begun, done, met;
    _Atomic uint64_t round, ended; /* rounds begun, and those that have ended */
    uint64_t running;              /* threads that are still in the last */
    bool ending;
    dcsr_multi_task *task;
    void *user;
    _Atomic uint64_t meeting; /* meetings that have ended */
    uint64_t arrived;         /* threads in the next */
    bool failed, verdict;     /* whether somebody comes to the next with a failure; what came of the last */
    worker worker[DCSR_MAX_DEVICES];
};

/* Whose task the thread runs. */
static _Thread_local const dcsr_multi *at_work;

/* With the lock, which is given up meanwhile: looks whether the count goes beyond what has been seen. */
static void look(dcsr_multi *devices, const _Atomic uint64_t *count, uint64_t seen, uint64_t nanoseconds)
{
    if (devices->device != DCSR_DEVICE_CUDA || atomic_load(count) != seen) return;
    pthread_mutex_unlock(&devices->lock);
    const uint64_t end = dcsr_i_nanoseconds() + nanoseconds;
    while (atomic_load(count) == seen && dcsr_i_nanoseconds() < end) sched_yield();
    pthread_mutex_lock(&devices->lock);
}

/* Ends the meeting if all that are still in the round are there. With the lock. */
static void end_meeting(dcsr_multi *devices)
{
    if (!devices->arrived || devices->arrived < devices->running) return;
    devices->verdict = devices->failed;
    devices->arrived = 0;
    devices->meeting++;
    pthread_cond_broadcast(&devices->met);
}

static void *work(void *argument)
{
    worker *self = argument;
    dcsr_multi *devices = self->devices;
    /* Threads that OpenMP starts from here on inherit it. A machine that refuses is only slower. */
    if (self->bound) sched_setaffinity(0, sizeof self->processors, &self->processors);
    at_work = devices;
    pthread_mutex_lock(&devices->lock);
    for (uint64_t seen = 0;; seen++) {
        if (!devices->ending) look(devices, &devices->round, seen, LOOK_FOR_ROUND);
        while (devices->round == seen && !devices->ending) pthread_cond_wait(&devices->begun, &devices->lock);
        if (devices->round == seen) break;
        dcsr_multi_task *task = devices->task;
        void *user = devices->user;
        pthread_mutex_unlock(&devices->lock);
        self->status = task(user, self->k);
        if (self->status != DCSR_OK) strcpy(self->text, dcsr_i_error_text());
        pthread_mutex_lock(&devices->lock);
        if (self->status != DCSR_OK) devices->failed = true;
        devices->running--;
        end_meeting(devices);
        if (devices->running) continue;
        devices->ended++;
        pthread_cond_signal(&devices->done);
    }
    pthread_mutex_unlock(&devices->lock);
    return NULL;
}

dcsr_status dcsr_multi_meet(dcsr_multi *devices, dcsr_status mine)
{
    if (!devices || at_work != devices)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "multi_meet: %s; devices meet in a task of theirs (dcsr_multi_run)",
                           devices ? "no task of these devices runs here" : "the devices are NULL");
    pthread_mutex_lock(&devices->lock);
    const uint64_t meeting = devices->meeting;
    if (mine != DCSR_OK) devices->failed = true;
    devices->arrived++;
    end_meeting(devices);
    look(devices, &devices->meeting, meeting, LOOK_FOR_OTHERS);
    while (devices->meeting == meeting) pthread_cond_wait(&devices->met, &devices->lock);
    const bool failed = devices->verdict;
    pthread_mutex_unlock(&devices->lock);
    if (mine != DCSR_OK || !failed) return mine;
    return dcsr_i_fail(DCSR_ERROR_CANCELLED, "another device has failed");
}

/* What the round came to: the failure of the first device that failed by itself. */
static dcsr_status outcome(const dcsr_multi *devices)
{
    const worker *first = NULL;
    for (uint64_t k = 0; k < devices->count; k++) {
        const worker *one = &devices->worker[k];
        if (one->status == DCSR_OK) continue;
        if (!first || (first->status == DCSR_ERROR_CANCELLED && one->status != DCSR_ERROR_CANCELLED))
            first = one;
    }
    if (!first) return DCSR_OK;
    return dcsr_i_fail(first->status, "%s: %s", first->name, first->text);
}

dcsr_status dcsr_multi_run(dcsr_multi *devices, dcsr_multi_task *task, void *user)
{
    if (!devices || !task)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "multi_run: %s NULL",
                           task ? "the devices are" : "the task is");
    if (at_work)
        return dcsr_i_fail(
            DCSR_ERROR_DEADLOCK,
            "what runs on several devices (a task, or an operator of an operation) starts another operation "
            "on them, and would wait until the first has ended; make the call afterwards");
    pthread_mutex_lock(&devices->turn);
    pthread_mutex_lock(&devices->lock);
    dcsr_status status = DCSR_OK;
    if (devices->ending) {
        status = dcsr_i_fail(DCSR_ERROR_CONTEXT_DESTROYED,
                             "the devices of this object have been destroyed; all that "
                             "is left is to destroy the object");
    } else {
        devices->task = task;
        devices->user = user;
        devices->running = devices->count;
        devices->failed = false;
        devices->round++;
        pthread_cond_broadcast(&devices->begun);
        look(devices, &devices->ended, devices->round - 1, LOOK_FOR_OTHERS);
        while (devices->running) pthread_cond_wait(&devices->done, &devices->lock);
        status = outcome(devices);
    }
    pthread_mutex_unlock(&devices->lock);
    pthread_mutex_unlock(&devices->turn);
    return status;
}

/* ---- Creating and destroying ---- */

/* GPUs copy from each other without the host where they can, and gather. */
static dcsr_status open_group(dcsr_multi *devices)
{
    static void (*const to_peers)(dcsr_context *const *, uint64_t) =
        DCSR_I_IN_CUDA(dcsr_i_cuda_open_to_peers);
    static dcsr_status (*const open)(dcsr_i_cuda_group **, dcsr_i_cuda_device *const *, uint64_t) =
        DCSR_I_IN_CUDA(dcsr_i_cuda_group_open);
    dcsr_context *contexts[DCSR_MAX_DEVICES];
    dcsr_i_cuda_device *gpus[DCSR_MAX_DEVICES];
    if (!open || devices->device != DCSR_DEVICE_CUDA) return DCSR_OK;
    for (uint64_t k = 0; k < devices->count; k++) {
        contexts[k] = devices->worker[k].context;
        gpus[k] = contexts[k]->cuda;
    }
    to_peers(contexts, devices->count);
    return open(&devices->group, gpus, devices->count);
}

static void close_group(dcsr_multi *devices)
{
    static void (*const close)(dcsr_i_cuda_group *) = DCSR_I_IN_CUDA(dcsr_i_cuda_group_close);
    if (close) close(devices->group);
    devices->group = NULL;
}

static dcsr_status create_contexts(dcsr_multi *devices, const dcsr_i_named_devices *named,
                                   const dcsr_multi_options *options)
{
    const uint64_t threads = (uint64_t)(options->threads ? options->threads : omp_get_max_threads());
    dcsr_context_info first = {0}, info;
    DCSR_TRY(dcsr_context_create(
        &devices->home, &(dcsr_context_options){.device = DCSR_DEVICE_CPU, .threads = options->threads}));
    for (uint64_t k = 0; k < named->count; k++) {
        worker *one = &devices->worker[k];
        const int share = (int)(threads * (k + 1) / named->count - threads * k / named->count);
        dcsr_context_options each = {.device = named->device,
                                     .device_number = named->number[k],
                                     .memory_limit = options->memory_limit,
                                     .threads = share ? share : 1};
        DCSR_TRY(dcsr_context_create(&one->context, &each));
        dcsr_i_context_retain(one->context);
        DCSR_TRY(dcsr_context_get_info(one->context, &info));
        if (!k) first = info;
        if (strcmp(first.device_name, info.device_name))
            return dcsr_i_fail(DCSR_ERROR_NO_DEVICE,
                               "dcsr_multi_create: GPU %d is a %s, but GPU %d a %s; name GPUs of one kind",
                               first.device_number, first.device_name, info.device_number, info.device_name);
        one->node = info.device == DCSR_DEVICE_CUDA
                        ? dcsr_i_numa_node_of("/sys/bus/pci/devices", info.device_place)
                    : named->on_node ? (int)(k / named->on_node)
                                     : -1;
        if (info.device == DCSR_DEVICE_CUDA)
            snprintf(one->name, sizeof one->name, "device %d (cuda:%d)", (int)k, info.device_number);
        else
            snprintf(one->name, sizeof one->name, "device %d (cpu)", (int)k);
    }
    devices->device = first.device;
    return open_group(devices);
}

static dcsr_status start_threads(dcsr_multi *devices, const dcsr_i_named_devices *named)
{
    for (uint64_t k = 0; k < devices->count; k++) {
        worker *one = &devices->worker[k];
        one->devices = devices;
        one->k = k;
        one->bound = named->bound;
        one->processors = named->processors[k];
        if (pthread_create(&one->thread, NULL, work, one))
            return dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY,
                               "dcsr_multi_create: the system refuses a thread for device %d of %d", (int)k,
                               (int)devices->count);
        devices->started++;
    }
    return DCSR_OK;
}

dcsr_status dcsr_multi_create(dcsr_multi **devices, const char *text, const dcsr_multi_options *options)
{
    static const dcsr_multi_options defaults;
    dcsr_i_named_devices named;
    if (!devices)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "dcsr_multi_create: devices is NULL; give it a place");
    *devices = NULL;
    if (!options) options = &defaults;
    DCSR_TRY(dcsr_i_devices_read(&named, text, "/sys/devices/system/node"));
    dcsr_multi *created = dcsr_i_calloc(NULL, DCSR_I_MATRIX, 1, sizeof *created);
    if (!created) return DCSR_ERROR_OUT_OF_MEMORY;
    atomic_init(&created->references, 1);
    created->count = named.count;
    created->grain = options->grain ? options->grain : 1;
    pthread_mutex_init(&created->turn, NULL);
    pthread_mutex_init(&created->lock, NULL);
    pthread_cond_init(&created->begun, NULL);
    pthread_cond_init(&created->done, NULL);
    pthread_cond_init(&created->met, NULL);
    dcsr_status status = create_contexts(created, &named, options);
    if (status == DCSR_OK) status = start_threads(created, &named);
    if (status != DCSR_OK) {
        dcsr_multi_destroy(created);
        return status;
    }
    *devices = created;
    return DCSR_OK;
}

void dcsr_multi_destroy(dcsr_multi *devices)
{
    if (!devices) return;
    if (at_work == devices) {
        dcsr_i_fail(DCSR_ERROR_DEADLOCK,
                    "dcsr_multi_destroy: an operator of an operation on these devices calls it, "
                    "and would wait until that has ended; make the call afterwards");
        return;
    }
    /* What has joined it may want the devices to work meanwhile. */
    if (devices->home) {
        dcsr_i_context_retain(devices->home);
        dcsr_context_destroy(devices->home);
    }
    pthread_mutex_lock(&devices->turn);
    pthread_mutex_lock(&devices->lock);
    devices->ending = true;
    pthread_cond_broadcast(&devices->begun);
    pthread_mutex_unlock(&devices->lock);
    pthread_mutex_unlock(&devices->turn);
    for (uint64_t k = 0; k < devices->started; k++) pthread_join(devices->worker[k].thread, NULL);
    close_group(devices);
    for (uint64_t k = 0; k < devices->count; k++) dcsr_context_destroy(devices->worker[k].context);
    dcsr_i_multi_release(devices);
}

void dcsr_i_multi_retain(dcsr_multi *devices)
{
    atomic_fetch_add(&devices->references, 1);
}

void dcsr_i_multi_release(dcsr_multi *devices)
{
    if (!dcsr_i_give_up(&devices->references)) return;
    for (uint64_t k = 0; k < devices->count; k++)
        if (devices->worker[k].context) dcsr_i_context_release(devices->worker[k].context);
    if (devices->home) dcsr_i_context_release(devices->home);
    pthread_cond_destroy(&devices->met);
    pthread_cond_destroy(&devices->done);
    pthread_cond_destroy(&devices->begun);
    pthread_mutex_destroy(&devices->lock);
    pthread_mutex_destroy(&devices->turn);
    dcsr_i_free(NULL, DCSR_I_MATRIX, devices, 1, sizeof *devices);
}

/* ---- Asking ---- */

bool dcsr_i_multi_is_on_gpus(const dcsr_multi *devices)
{
    return devices->device == DCSR_DEVICE_CUDA;
}

uint64_t dcsr_i_multi_count(const dcsr_multi *devices)
{
    return devices->count;
}

uint64_t dcsr_i_multi_grain(const dcsr_multi *devices)
{
    return devices->grain;
}

dcsr_context *dcsr_i_multi_context(const dcsr_multi *devices, uint64_t k)
{
    return devices->worker[k].context;
}

uint64_t dcsr_i_multi_node_end(const dcsr_multi *devices, uint64_t k)
{
    const int node = devices->worker[k].node;
    while (k < devices->count && devices->worker[k].node == node) k++;
    return k;
}

const char *dcsr_i_multi_name(const dcsr_multi *devices, uint64_t k)
{
    return devices->worker[k].name;
}

dcsr_context *dcsr_i_multi_home(const dcsr_multi *devices)
{
    return devices->home;
}

dcsr_status dcsr_i_multi_check(const dcsr_multi *devices)
{
    if (!devices)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "the devices are NULL; open some with dcsr_multi_create()");
    DCSR_TRY(dcsr_i_context_check(devices->home));
    for (uint64_t k = 0; k < devices->count; k++) {
        dcsr_status status = dcsr_i_context_check(devices->worker[k].context);
        if (status != DCSR_OK)
            return dcsr_i_fail(status, "%s: %s", devices->worker[k].name, dcsr_i_error_text());
    }
    return DCSR_OK;
}

/* A bit for each device that device k reaches. */
static uint64_t peers_of(const dcsr_multi *devices, uint64_t k)
{
    uint64_t peers = 0;
    for (uint64_t j = 0; j < devices->count; j++)
        peers |= (uint64_t)dcsr_i_context_reaches(devices->worker[k].context, devices->worker[j].context)
                 << j;
    return peers;
}

dcsr_status dcsr_multi_get_info(dcsr_multi *devices, dcsr_multi_info *info)
{
    DCSR_TRY(dcsr_i_multi_check(devices));
    if (!info)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_multi_get_info: info is NULL; give it a place");
    memset(info, 0, sizeof *info);
    static int (*const nccl)(const dcsr_i_cuda_group *) = DCSR_I_IN_CUDA(dcsr_i_cuda_group_nccl);
    info->devices = devices->count;
    info->device = devices->device;
    info->host = devices->home;
    info->nccl = nccl ? nccl(devices->group) : 0;
    for (uint64_t k = 0; k < devices->count; k++) {
        info->context[k] = devices->worker[k].context;
        info->node[k] = devices->worker[k].node;
        info->peers[k] = peers_of(devices, k);
    }
    return DCSR_OK;
}

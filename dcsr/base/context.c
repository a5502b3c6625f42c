/* context.c: creating, closing and asking contexts; the members that a context closes. */
#include <dcsr/extend.h>
#include "dcsr/base/context_gpu.h"
#include "dcsr/base/threads.h"
#include "dcsr/base/turn.h"
#include <assert.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* The share of a memory limit that is set aside, and the most bytes that are (context.h). */
enum { SET_ASIDE_SHARE = 32, MOST_SET_ASIDE = 1 << 20 };

static uint64_t set_aside_of(uint64_t memory_limit)
{
    uint64_t share = memory_limit / SET_ASIDE_SHARE;
    return memory_limit == UINT64_MAX ? 0 : share < MOST_SET_ASIDE ? share : MOST_SET_ASIDE;
}

static dcsr_status check_options(const dcsr_context_options *options)
{
    if (options->device != DCSR_DEVICE_AUTO && options->device != DCSR_DEVICE_CPU &&
        options->device != DCSR_DEVICE_CUDA)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "dcsr_context_create: options.device is %d; use DCSR_DEVICE_AUTO, _CPU or _CUDA",
                           (int)options->device);
    if (options->threads < 0)
        return dcsr_i_fail(
            DCSR_ERROR_INVALID_ARGUMENT,
            "dcsr_context_create: options.threads is %d; give a positive number, or 0 for the default",
            options->threads);
    if (options->device_number < 0)
        return dcsr_i_fail(
            DCSR_ERROR_INVALID_ARGUMENT,
            "dcsr_context_create: options.device_number is %d; give the number of a device, or 0",
            options->device_number);
    return DCSR_OK;
}

/* What the environment says in place of auto. */
static dcsr_status device_from_environment(dcsr_device *device)
{
    const char *word = getenv("DCSR_DEVICE");
    if (!word || !*word || !strcmp(word, "auto"))
        *device = DCSR_DEVICE_AUTO;
    else if (!strcmp(word, "cpu"))
        *device = DCSR_DEVICE_CPU;
    else if (!strcmp(word, "cuda"))
        *device = DCSR_DEVICE_CUDA;
    else
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "the environment variable DCSR_DEVICE is \"%s\"; set it to cpu, cuda or auto",
                           word);
    return DCSR_OK;
}

/* A GPU that is named is not replaced by the cpu. */
static dcsr_device device_of_machine(int number)
{
    const dcsr_i_gpu *gpu = dcsr_i_device_gpu;
    return gpu && (number ? gpu->count() > 0 : gpu->is_usable(0)) ? DCSR_DEVICE_CUDA : DCSR_DEVICE_CPU;
}

static int count_devices(dcsr_device device)
{
    if (device == DCSR_DEVICE_CPU) return 1;
    return dcsr_i_device_gpu ? dcsr_i_device_gpu->count() : 0;
}

dcsr_status dcsr_device_get_count(dcsr_device device, int *count)
{
    if (!count)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "dcsr_device_get_count: count is NULL; give it a place");
    *count = 0;
    if (device != DCSR_DEVICE_CPU && device != DCSR_DEVICE_CUDA)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "dcsr_device_get_count: device is %d; use DCSR_DEVICE_CPU or _CUDA", (int)device);
    *count = count_devices(device);
    return DCSR_OK;
}

static dcsr_status check_number(dcsr_device device, int number)
{
    const int count = count_devices(device);
    /* Where there is no GPU, opening it tells why. */
    if (number < count || !count) return DCSR_OK;
    if (device == DCSR_DEVICE_CPU)
        return dcsr_i_fail(
            DCSR_ERROR_NO_DEVICE,
            "there is no cpu of number %d: all of it is one device, number 0; dcsr_multi_create() "
            "opens shares of it, or its NUMA nodes",
            number);
    return dcsr_i_fail(
        DCSR_ERROR_NO_DEVICE,
        "there is no GPU of number %d: CUDA sees %d, numbered from 0; give device_number one of "
        "these, or look whether CUDA_VISIBLE_DEVICES hides it",
        number, count);
}

dcsr_status dcsr_context_create(dcsr_context **context, const dcsr_context_options *options)
{
    static const dcsr_context_options defaults;
    if (!context)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "dcsr_context_create: context is NULL; give it a place");
    *context = NULL;
    if (!options) options = &defaults;
    DCSR_TRY(check_options(options));
    dcsr_device device = options->device;
    if (device == DCSR_DEVICE_AUTO) DCSR_TRY(device_from_environment(&device));
    if (device == DCSR_DEVICE_AUTO) device = device_of_machine(options->device_number);
    if (device == DCSR_DEVICE_CUDA && !dcsr_i_device_gpu)
        return dcsr_i_fail(
            DCSR_ERROR_NOT_BUILT,
            "this library was not built with CUDA; build it with nvcc, or ask for the device auto or cpu");
    DCSR_TRY(check_number(device, options->device_number));

    dcsr_context *created = dcsr_i_calloc(NULL, DCSR_I_MATRIX, 1, sizeof *created);
    if (!created) return DCSR_ERROR_OUT_OF_MEMORY;
    int threads = options->threads ? options->threads : omp_get_max_threads();
    created->device = device;
    created->device_number = options->device_number;
    created->threads = threads < DCSR_I_MAX_THREADS ? threads : DCSR_I_MAX_THREADS;
    created->memory_limit = options->memory_limit ? options->memory_limit : UINT64_MAX;
    created->set_aside = set_aside_of(created->memory_limit);
    dcsr_status status = device == DCSR_DEVICE_CUDA ? dcsr_i_device_gpu->open(created) : DCSR_OK;
    if (status != DCSR_OK) {
        dcsr_i_free(NULL, DCSR_I_MATRIX, created, 1, sizeof *created);
        return status;
    }
    uint64_t memory = created->cuda ? dcsr_i_device_gpu->memory(created) : dcsr_machine_memory();
    created->reserves_as_asked = options->reserve_bytes != 0;
    created->reserve_bytes = options->reserve_bytes ? options->reserve_bytes : 2 * memory;
    pthread_mutex_init(&created->lock, NULL);
    pthread_cond_init(&created->done, NULL);
    atomic_init(&created->closed, false);
    atomic_init(&created->references, 1);
    *context = created;
    return DCSR_OK;
}

/* The next member to close; it is no longer in the list, and leave() waits for it. */
static dcsr_i_member *take_member(dcsr_context *context)
{
    pthread_mutex_lock(&context->lock);
    dcsr_i_member *member = context->members;
    if (member) {
        context->members = member->next;
        if (member->next) member->next->previous = NULL;
        member->joined = false;
        context->matrices--;
    }
    context->closing = member;
    pthread_cond_broadcast(&context->done);
    pthread_mutex_unlock(&context->lock);
    return member;
}

void dcsr_context_destroy(dcsr_context *context)
{
    if (!context) return;
    if (dcsr_i_turn_is_in_context(context)) {
        dcsr_i_fail(DCSR_ERROR_DEADLOCK,
                    "dcsr_context_destroy: an operator of an operation in this context "
                    "calls it, and would wait until that has ended; make the call afterwards");
        return;
    }
    pthread_mutex_lock(&context->lock);
    atomic_store(&context->closed, true);
    pthread_mutex_unlock(&context->lock);
    for (dcsr_i_member *member; (member = take_member(context));) member->close(member);
    dcsr_i_context_release(context);
}

dcsr_status dcsr_context_get_info(dcsr_context *context, dcsr_context_info *info)
{
    DCSR_TRY(dcsr_i_context_check(context));
    if (!info)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "dcsr_context_get_info: info is NULL; give it a place");
    memset(info, 0, sizeof *info);
    info->device = context->device;
    info->threads = context->threads;
    info->device_number = context->device_number;
    info->device_name = "cpu";
    info->device_place = "";
    info->built_for = dcsr_i_device_gpu ? dcsr_i_device_gpu->built_for() : "cpu";
    info->allocator = dcsr_i_allocator_name();
    info->memory_limit = context->memory_limit == UINT64_MAX ? 0 : context->memory_limit;
    info->matrix_bytes = dcsr_i_used(context, DCSR_I_MATRIX);
    for (int pool = 0; pool < DCSR_I_POOLS; pool++)
        if (pool != DCSR_I_MATRIX) info->scratch_bytes += dcsr_i_used(context, (dcsr_i_pool)pool);
    info->peak_bytes = atomic_load(&context->peak);
    if (context->cuda) dcsr_i_device_gpu->describe(info, context);
    dcsr_i_allocator_usage(&info->allocator_active, &info->allocator_resident);
    pthread_mutex_lock(&context->lock);
    info->matrices = context->matrices;
    pthread_mutex_unlock(&context->lock);
    return DCSR_OK;
}

const char *dcsr_version(void)
{
    return DCSR_VERSION;
}

dcsr_status dcsr_i_context_check(const dcsr_context *context)
{
    if (!context)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "the context is NULL; create one with dcsr_context_create()");
    if (atomic_load_explicit(&context->closed, memory_order_acquire))
        return dcsr_i_fail(
            DCSR_ERROR_CONTEXT_DESTROYED,
            "the context of this object has been destroyed; all that is left is to destroy the object");
    return context->cuda ? dcsr_i_device_gpu->check(context) : DCSR_OK;
}

void dcsr_i_context_retain(dcsr_context *context)
{
    atomic_fetch_add_explicit(&context->references, 1, memory_order_relaxed);
}

void dcsr_i_context_release(dcsr_context *context)
{
    if (atomic_fetch_sub_explicit(&context->references, 1, memory_order_acq_rel) != 1) return;
    assert(!context->members);
    if (context->cuda) dcsr_i_device_gpu->close(context);
    pthread_cond_destroy(&context->done);
    pthread_mutex_destroy(&context->lock);
    dcsr_i_free(NULL, DCSR_I_MATRIX, context, 1, sizeof *context);
    dcsr_i_allocator_trim();
}

dcsr_status dcsr_i_context_join(dcsr_context *context, dcsr_i_member *member)
{
    assert(member->close);
    pthread_mutex_lock(&context->lock);
    dcsr_status status = dcsr_i_context_check(context);
    if (status == DCSR_OK) {
        member->previous = NULL;
        member->next = context->members;
        if (member->next) member->next->previous = member;
        context->members = member;
        member->joined = true;
        context->matrices++;
    }
    pthread_mutex_unlock(&context->lock);
    return status;
}

void dcsr_i_context_leave(dcsr_context *context, dcsr_i_member *member)
{
    pthread_mutex_lock(&context->lock);
    while (context->closing == member) pthread_cond_wait(&context->done, &context->lock);
    if (member->joined) {
        if (member->previous)
            member->previous->next = member->next;
        else
            context->members = member->next;
        if (member->next) member->next->previous = member->previous;
        member->joined = false;
        context->matrices--;
    }
    pthread_mutex_unlock(&context->lock);
}

bool dcsr_i_gpu_is_built(void)
{
    return dcsr_i_device_gpu != NULL;
}

bool dcsr_i_context_reaches(const dcsr_context *context, const dcsr_context *other)
{
    return !context->cuda || dcsr_i_device_gpu->can_access(context, other);
}

/* context_gpu.c: the GPU of a context: opening and describing it, and the streams that readers borrow; and
 * what a build without CUDA says instead. */
#include "dcsr/base/context_gpu.h"
#ifdef DCSR_CUDA
#include "dcsr/base/cuda.h"
#include "dcsr/base/allocator.h"
#include <stdio.h>
#include <string.h>

bool dcsr_i_gpu_is_built(void)
{
    return true;
}

bool dcsr_i_gpu_is_usable(void)
{
    return dcsr_i_cuda_usable();
}

dcsr_status dcsr_i_gpu_open(dcsr_context *context)
{
    dcsr_status status = dcsr_i_cuda_open(&context->cuda, context);
    if (status == DCSR_OK) dcsr_i_pinned_keep(1);
    return status;
}

void dcsr_i_gpu_close(dcsr_context *context)
{
    while (context->idle_streams) dcsr_i_cuda_stream_destroy(context->idle[--context->idle_streams]);
    if (context->cuda) dcsr_i_pinned_keep(-1);
    dcsr_i_cuda_close(context->cuda);
}

dcsr_status dcsr_i_gpu_check(const dcsr_context *context)
{
    return context->cuda ? dcsr_i_cuda_check(context->cuda) : DCSR_OK;
}

uint64_t dcsr_i_gpu_memory(const dcsr_context *context)
{
    return dcsr_i_cuda_describe(context->cuda)->memory;
}

void dcsr_i_gpu_describe(dcsr_context_info *info, const dcsr_context *context)
{
    if (!context->cuda) return;
    const dcsr_i_cuda_properties *properties = dcsr_i_cuda_describe(context->cuda);
    info->device_name = properties->name;
    info->device_memory = properties->memory;
    info->device_free = dcsr_i_cuda_free_memory(context->cuda);
    info->driver_version = properties->driver;
    info->runtime_version = properties->runtime;
}

/* "75 80" becomes "cpu, cuda sm_75 sm_80". */
static char built_for_text[200] = "cpu, cuda";

static void make_built_for_text(void)
{
    size_t length = strlen(built_for_text);
    for (const char *word = dcsr_i_cuda_architectures(); *word;) {
        int size = (int)strcspn(word, " ");
        bool number = word[0] >= '0' && word[0] <= '9';
        length += (size_t)snprintf(built_for_text + length, sizeof built_for_text - length, " %s%.*s",
                                   number ? "sm_" : "", size, word);
        word += size;
        word += strspn(word, " ");
    }
}

const char *dcsr_i_built_for(void)
{
    static pthread_once_t made = PTHREAD_ONCE_INIT;
    pthread_once(&made, make_built_for_text);
    return built_for_text;
}

dcsr_i_cuda_stream *dcsr_i_stream_borrow(dcsr_context *context)
{
    dcsr_i_cuda_stream *stream = NULL;
    pthread_mutex_lock(&context->lock);
    if (context->idle_streams) stream = context->idle[--context->idle_streams];
    pthread_mutex_unlock(&context->lock);
    if (!stream && dcsr_i_cuda_stream_create(&stream, context->cuda) != DCSR_OK) return NULL;
    dcsr_i_cuda_enter(stream);
    return stream;
}

void dcsr_i_stream_return(dcsr_context *context, dcsr_i_cuda_stream *stream)
{
    if (!stream) return;
    dcsr_i_cuda_leave(stream);
    pthread_mutex_lock(&context->lock);
    bool kept = context->idle_streams < DCSR_I_IDLE_STREAMS;
    if (kept) context->idle[context->idle_streams++] = stream;
    pthread_mutex_unlock(&context->lock);
    if (!kept) dcsr_i_cuda_stream_destroy(stream);
}

#else

bool dcsr_i_gpu_is_built(void)
{
    return false;
}

bool dcsr_i_gpu_is_usable(void)
{
    return false;
}

dcsr_status dcsr_i_gpu_open(dcsr_context *context)
{
    (void)context;
    return dcsr_i_fail(
        DCSR_ERROR_NOT_BUILT,
        "this library was not built with CUDA; build it with nvcc, or ask for the device auto or cpu");
}

void dcsr_i_gpu_close(dcsr_context *context)
{
    (void)context;
}

dcsr_status dcsr_i_gpu_check(const dcsr_context *context)
{
    (void)context;
    return DCSR_OK;
}

uint64_t dcsr_i_gpu_memory(const dcsr_context *context)
{
    (void)context;
    return 0;
}

void dcsr_i_gpu_describe(dcsr_context_info *info, const dcsr_context *context)
{
    (void)info, (void)context;
}

const char *dcsr_i_built_for(void)
{
    return "cpu";
}

#endif

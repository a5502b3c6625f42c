/* context_cuda.c: the GPU of a context: opening and describing it, and the streams that readers borrow. */
#include "dcsr/base/allocator.h"
#include "dcsr/base/context_gpu.h"
#include <stdio.h>
#include <string.h>

static dcsr_status open(dcsr_context *context)
{
    dcsr_status status = dcsr_i_cuda_open(&context->cuda, context, context->device_number);
    if (status == DCSR_OK) dcsr_i_pinned_keep(1);
    return status;
}

static void close(dcsr_context *context)
{
    for (int use = 0; use < 2; use++)
        while (context->idle_streams[use])
            dcsr_i_cuda_stream_destroy(context->idle[use][--context->idle_streams[use]]);
    dcsr_i_pinned_keep(-1);
    dcsr_i_cuda_close(context->cuda);
}

static dcsr_status check(const dcsr_context *context)
{
    return dcsr_i_cuda_check(context->cuda);
}

static uint64_t memory(const dcsr_context *context)
{
    return dcsr_i_cuda_describe(context->cuda)->memory;
}

static bool can_access(const dcsr_context *context, const dcsr_context *peer)
{
    return dcsr_i_cuda_can_access(context->cuda, peer->cuda);
}

static void describe(dcsr_context_info *info, const dcsr_context *context)
{
    const dcsr_i_cuda_properties *properties = dcsr_i_cuda_describe(context->cuda);
    info->device_name = properties->name;
    info->device_place = properties->place;
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

static const char *built_for(void)
{
    static pthread_once_t made = PTHREAD_ONCE_INIT;
    pthread_once(&made, make_built_for_text);
    return built_for_text;
}

static dcsr_i_cuda_stream *borrow(dcsr_context *context, dcsr_i_cuda_use use)
{
    dcsr_i_cuda_stream *stream = NULL;
    pthread_mutex_lock(&context->lock);
    if (context->idle_streams[use]) stream = context->idle[use][--context->idle_streams[use]];
    pthread_mutex_unlock(&context->lock);
    if (!stream && dcsr_i_cuda_stream_create(&stream, context->cuda, use) != DCSR_OK) return NULL;
    dcsr_i_cuda_enter(stream);
    return stream;
}

dcsr_i_cuda_stream *dcsr_i_stream_borrow(dcsr_context *context)
{
    return borrow(context, DCSR_CUDA_TO_READ);
}

dcsr_i_cuda_stream *dcsr_i_stream_borrow_to_write(dcsr_context *context)
{
    return borrow(context, DCSR_CUDA_TO_WRITE);
}

void dcsr_i_stream_return(dcsr_context *context, dcsr_i_cuda_stream *stream)
{
    if (!stream) return;
    dcsr_i_cuda_leave(stream);
    const dcsr_i_cuda_use use = dcsr_i_cuda_use_of(stream);
    pthread_mutex_lock(&context->lock);
    bool kept = context->idle_streams[use] < DCSR_I_IDLE_STREAMS;
    if (kept) context->idle[use][context->idle_streams[use]++] = stream;
    pthread_mutex_unlock(&context->lock);
    if (!kept) dcsr_i_cuda_stream_destroy(stream);
}

const dcsr_i_gpu dcsr_i_cuda_gpu = {.count = dcsr_i_cuda_count,
                                    .is_usable = dcsr_i_cuda_usable,
                                    .open = open,
                                    .close = close,
                                    .check = check,
                                    .memory = memory,
                                    .can_access = can_access,
                                    .describe = describe,
                                    .built_for = built_for};

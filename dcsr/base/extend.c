/* extend.c: counted memory, threads and failures for algorithms beside the library. */
#include <dcsr/extend.h>
#include "dcsr/base/threads.h"
#include <unistd.h>

/* A block holds a reference, as every object of a context does. */
void *dcsr_context_allocate(dcsr_context *context, uint64_t count, size_t size)
{
    if (dcsr_i_context_check(context)) return NULL;
    void *memory = dcsr_i_calloc(context, DCSR_I_MATRIX, count, size);
    if (memory) dcsr_i_context_retain(context);
    return memory;
}

void dcsr_context_free(dcsr_context *context, void *memory, uint64_t count, size_t size)
{
    if (!memory) return;
    dcsr_i_free(context, DCSR_I_MATRIX, memory, count, size);
    dcsr_i_context_release(context);
}

int dcsr_context_threads(const dcsr_context *context, uint64_t entries)
{
    return context ? dcsr_i_threads(context, entries) : 1;
}

dcsr_status dcsr_thread_fail(dcsr_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    dcsr_i_fail_list(status, format, arguments);
    va_end(arguments);
    return status;
}

uint64_t dcsr_machine_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && bytes > 0 ? (uint64_t)pages * (uint64_t)bytes : (uint64_t)1 << 40;
}

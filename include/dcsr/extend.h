/* extend.h: for algorithms that are written beside the library and want to behave as it does: memory that
 * counts towards a context, its threads, and failures that dcsr_thread_error() tells. */
#ifndef DCSR_EXTEND_H
#define DCSR_EXTEND_H

#include <dcsr/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Memory for `count` objects of `size` bytes, zeroed and aligned to 64; it counts as matrix_bytes, and against
 * the context's limit. Zero bytes give a pointer that may be freed. It may be used and freed after the context
 * was destroyed. NULL on failure, which dcsr_thread_status() tells. Errors: OUT_OF_MEMORY, INVALID_ARGUMENT
 * (context is NULL), CONTEXT_DESTROYED, DEVICE. */
DCSR_API void *dcsr_context_allocate(dcsr_context *context, uint64_t count, size_t size);
/* Frees what was allocated with the same context, count and size. NULL does nothing. */
DCSR_API void dcsr_context_free(dcsr_context *context, void *memory, uint64_t count, size_t size);

/* How many threads of the context a loop over so many entries should use: 1 when that is too little to share, on
 * a busy machine sooner than on others. So a result must not depend on it. 1 for NULL. */
DCSR_API int dcsr_context_threads(const dcsr_context *context, uint64_t entries);

/* Bytes of the machine's memory: for limits that the caller leaves open. */
DCSR_API uint64_t dcsr_machine_memory(void);

/* Keeps a sentence, as printf() makes it, for dcsr_thread_error() of this thread, and the status for
 * dcsr_thread_status(). Returns the status, so that a check reads `return dcsr_thread_fail(...)`. Of a
 * sentence longer than a kilobyte the middle is left out. */
DCSR_API __attribute__((format(printf, 2, 3))) dcsr_status dcsr_thread_fail(dcsr_status status,
                                                                            const char *format, ...);

#ifdef __cplusplus
}
#endif
#endif

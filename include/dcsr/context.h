/* context.h: where matrices live: a device, its threads, its memory and its limits.
 *
 * Every object is created from a context. A context may be used by any number of threads at once. Objects
 * keep the memory of their context alive: after dcsr_context_destroy() an object that is still held answers
 * every call with DCSR_ERROR_CONTEXT_DESTROYED and can only be destroyed.
 *
 * At the memory limit. A call that would exceed dcsr_context_options.memory_limit fails with OUT_OF_MEMORY
 * and leaves everything as it was. A 32nd of the limit, 1 MiB at most, is set aside: only calls that ask or
 * make room may take it, so that a context that is full can be looked at and emptied. On the cpu:
 *
 *   always work       dcsr_matrix_get_info(), _nnz(), _get(), _get_many(), _wait(); tickets; reading a view
 * that is there (dcsr_view_get_info(), _row(), _get_many(), the arrays of CSR and CSC views); all that
 * destroys. They take no memory, but a few bytes where many versions are held. take all of what
 * dcsr_matrix_resize() to no more rows and no more columns. Dropping rows takes 25 kilobytes is set aside at
 * most, twice that with a transpose that is maintained, whatever is dropped, also while views hold it.
 * (Dropping columns moves the rows that reach beyond, and needs room for these.) take half of it
 * dcsr_matrix_remove(), dcsr_matrix_defragment(), and dcsr_view_create() of segments that need not be
 * resolved (DCSR_VIEW_DUPLICATES, or after defragmentation): some hundred bytes each, or what they move. take
 * none of it   everything else: creating, inserting, growing, views that resolve or copy, operations.
 *
 * So with a limit of 4 MiB or more, dropping rows works at any time, and a hundred views can be created and
 * some hundred entries removed before. Reading on a device takes memory there, which may come from what is
 * set aside too. What is dropped is given back when the last view that can see it goes; what the arena of a
 * matrix has free then serves that matrix at once, and others a tenth of a second later. */
#ifndef DCSR_CONTEXT_H
#define DCSR_CONTEXT_H

#include <dcsr/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dcsr_context dcsr_context;

typedef enum dcsr_device {
    /* cuda where a usable GPU is present, else cpu; the environment variable DCSR_DEVICE, set to cpu or cuda,
       decides instead. */
    DCSR_DEVICE_AUTO = 0,
    DCSR_DEVICE_CPU = 1,
    DCSR_DEVICE_CUDA = 2
} dcsr_device;

/* Zero-initialise, then set what should differ from the default. */
typedef struct dcsr_context_options {
    dcsr_device device; /* default DCSR_DEVICE_AUTO */
    int threads; /* threads an operation may use, little work on a busy machine fewer (docs/PERFORMANCE.md);
                    0: as many as OpenMP would (OMP_NUM_THREADS, cores) */
    uint64_t memory_limit;  /* bytes that all objects together may take, on the host and on the device; 0: no
                               limit but the machine's. A part is set aside: see above */
    uint64_t reserve_bytes; /* address space set aside per matrix, which bounds its growth in place; 0: twice
                               the memory of the machine or device. Reserving takes no memory. */
} dcsr_context_options;

typedef struct dcsr_context_info {
    dcsr_device device;
    int threads;
    const char *device_name; /* constant text, while the context lasts: "cpu", or the GPU's name */
    const char *built_for;   /* constant text: "cpu", or "cpu, cuda sm_75 sm_80 ..." */
    const char *allocator;   /* "jemalloc 5.3.0" or "system" */
    uint64_t memory_limit;   /* bytes; 0: none */
    uint64_t matrix_bytes; /* bytes held by matrices: arenas that are committed, row tables, queued batches */
    uint64_t
        scratch_bytes; /* bytes held for temporary work: sort buffers and the like, pinned memory included */
    uint64_t peak_bytes; /* the most that both together have been */
    /* Of the GPU, 0 on the cpu: its bytes of memory, and those that nobody uses; the versions of CUDA that
       the driver and the library support, 13000 for 13.0. */
    uint64_t device_memory, device_free;
    int driver_version, runtime_version;
    /* What the allocator says of all contexts of the process; 0 where it says nothing: bytes in pages that it
       has in use, and bytes that it holds from the system. */
    uint64_t allocator_active;
    uint64_t allocator_resident;
    uint64_t matrices; /* matrices that are alive */
} dcsr_context_info;

/* Creates a context. options may be NULL for the defaults. *context is NULL on failure.
 * Errors: NOT_BUILT (cuda asked of a build without CUDA), NO_DEVICE (no GPU that can be used: the message
 * says why), DEVICE (it failed on first use), INVALID_ARGUMENT (negative threads, DCSR_DEVICE set to
 * something else), OUT_OF_MEMORY. */
DCSR_API dcsr_status dcsr_context_create(dcsr_context **context, const dcsr_context_options *options);

/* Waits until the queued work of its matrices has been applied, then closes the context. Objects that are
 * still held stay valid to destroy, and only that. NULL does nothing, and so does a call by an operator of an
 * operation into a matrix of the context (dcsr/operators.h). */
DCSR_API void dcsr_context_destroy(dcsr_context *context);

/* One sentence about the last failure of a call that the calling thread made, on any object: what failed,
 * where, what to do. Never NULL; empty when nothing has failed yet. The text belongs to the library and lasts
 * until the thread's next failing call. It may be called with NULL, which is how to learn why a context was
 * not created. */
DCSR_API const char *dcsr_context_error(const dcsr_context *context);
/* The status that the call with that sentence returned; DCSR_OK when nothing has failed yet. */
DCSR_API dcsr_status dcsr_context_status(const dcsr_context *context);

/* Fills *info. Any thread, any time. */
DCSR_API dcsr_status dcsr_context_get_info(dcsr_context *context, dcsr_context_info *info);

/* The version of the library as text, "MAJOR.MINOR.PATCH". */
DCSR_API const char *dcsr_version(void);

#ifdef __cplusplus
}
#endif
#endif

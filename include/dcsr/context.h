/* context.h: where matrices live: a device, threads, memory and a limit on it.
 *
 * Every object is created from a context. A context may be used by any number of threads at once. After
 * dcsr_context_destroy() an object that is still held answers every call with DCSR_ERROR_CONTEXT_DESTROYED
 * and can only be destroyed.
 *
 * At the memory limit. A call that would exceed dcsr_context_options.memory_limit fails with OUT_OF_MEMORY
 * and leaves everything as it was. A 32nd of the limit, 1 MiB at most, is set aside: only calls that read or
 * make room may take it, so that a full context can be inspected and emptied. On the cpu:
 *
 *   always work       dcsr_matrix_get_info(), _get_nnz(), _get(), _get_many(), _wait(); tickets; reading an
 *                     existing view (dcsr_view_get_info(), _get_shape(), _get_row(), _get_many(), the arrays of
 *                     CSR and CSC views); everything that destroys. They take no memory, or a few bytes where
 *                     many versions are held.
 *   may take all of   dcsr_matrix_resize() to no more rows and no more columns. Dropping rows takes 25
 *   what is set       kilobytes at most, twice that with a maintained transpose, whatever is dropped, even
 *   aside             while views hold it. (Dropping columns moves the rows that reach beyond the new bound,
 *                     and needs room for these.)
 *   may take half     dcsr_matrix_remove(), dcsr_matrix_defragment(), and dcsr_view_create() of segments that
 *   of it             need not be resolved (DCSR_VIEW_DUPLICATES, or after defragmentation): some hundred
 *                     bytes each, or what they move.
 *   may take none     everything else: creating, inserting, growing, views that resolve or copy, operations.
 *   of it
 *
 * So with a limit of 4 MiB or more, dropping rows works at any time, even after a hundred views have been
 * created and some hundred entries removed. Reading on a device takes memory there, which may also come from
 * what is set aside. What is dropped is freed when the last view that can see it is destroyed; what a
 * matrix's arena has free then serves that matrix at once, and others a tenth of a second later. */
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
    /* That an operation may use; for little work on a busy machine it uses fewer (docs/PERFORMANCE.md). 0: as many as
       OpenMP would (OMP_NUM_THREADS, cores). Each thread that makes calls, and the worker of each matrix that is given
       large batches, has OpenMP start as many: of many such matrices on a large machine some should have a context with
       fewer. */
    int threads;
    uint64_t memory_limit; /* bytes that all objects together may take, on the host and on the device; 0: no
                               limit but the machine's. A part is set aside: see above */
    /* Address space reserved per matrix and dictionary, which bounds its growth. Reserving takes no memory. 0: twice
       the memory of the machine or device; or if that is less, a 32nd of what others leave of 64 TiB, and 256 MiB at
       least; under a limit (ulimit -v) an eighth of what they leave of that, and 32 MiB at least. */
    uint64_t reserve_bytes;
    int device_number; /* cuda: which of the GPUs that CUDA sees, from 0 (CUDA_VISIBLE_DEVICES chooses among
                               those of the machine and orders them). cpu: 0. auto: a number other than 0 is a GPU's
                               where there are any */
} dcsr_context_options;

typedef struct dcsr_context_info {
    dcsr_device device;
    int threads;
    const char *device_name; /* "cpu", or the GPU's name; valid as long as the context */
    int device_number;       /* as in dcsr_context_options */
    /* Where the GPU is: its address on the PCI bus, "0000:3B:00.0"; "" for the cpu, and where CUDA does not tell. Valid
       as long as the context. */
    const char *device_place;
    const char *built_for;  /* constant text: "cpu", or "cpu, cuda sm_75 sm_80 ..." */
    const char *allocator;  /* "jemalloc 5.3.0" or "system" */
    uint64_t memory_limit;  /* bytes; 0: none */
    uint64_t matrix_bytes;  /* held by matrices: committed arenas, row tables, queued batches */
    uint64_t scratch_bytes; /* held for temporary work: sort buffers and the like, pinned memory included */
    uint64_t peak_bytes;    /* the most that both together have been */
    /* Of the GPU, 0 on the cpu: bytes of its memory, and those of them that are free; the versions of CUDA
       that the driver and the library support, 13000 for 13.0. */
    uint64_t device_memory, device_free;
    int driver_version, runtime_version;
    /* From the allocator, for all contexts of the process, 0 where it does not tell: bytes in pages that are
       in use, and bytes that it holds from the system. */
    uint64_t allocator_active;
    uint64_t allocator_resident;
    uint64_t matrices; /* that exist */
} dcsr_context_info;

/* Reports progress of a long call: how much it has done, and of how much; `total` is 0 while that is not known. It must
 * not call the library. */
typedef void (*dcsr_progress)(void *user, uint64_t done, uint64_t total);

/* Creates a context. options may be NULL for the defaults. *context is NULL on failure.
 * Any number of contexts may be open at a time, on the same device or on others; objects of several contexts do not mix
 * in one call. Whichever GPU CUDA takes for the calling thread's current one is that again when a call returns.
 * Errors: NOT_BUILT (cuda in a build without CUDA), NO_DEVICE (no usable GPU, or no device of that number: the message
 * says why, or how many there are), DEVICE (it failed on first use), INVALID_ARGUMENT (negative threads or device
 * number, DCSR_DEVICE set to something else), OUT_OF_MEMORY. */
DCSR_API dcsr_status dcsr_context_create(dcsr_context **context, const dcsr_context_options *options);

/* How many devices of a kind dcsr_context_options.device_number may name, from 0 on. DCSR_DEVICE_CUDA: the GPUs that
 * CUDA sees, whether or not the library can use each; 0 where there are none, no driver, or no CUDA in this build.
 * DCSR_DEVICE_CPU: 1; dcsr/multi.h divides it. Any thread, any time; counted once per process, without a context on any
 * GPU. Errors: INVALID_ARGUMENT (DCSR_DEVICE_AUTO or another device; count is NULL). */
DCSR_API dcsr_status dcsr_device_get_count(dcsr_device device, int *count);

/* Waits until the queued changes of its matrices have been applied, then closes the context. Objects that are
 * still held can only be destroyed. Does nothing when given NULL, or when called by an operator of an
 * operation into a matrix of the context (dcsr/operators.h). */
DCSR_API void dcsr_context_destroy(dcsr_context *context);

/* Fills *info. Any thread, any time. */
DCSR_API dcsr_status dcsr_context_get_info(dcsr_context *context, dcsr_context_info *info);

/* The version of the library as text, "MAJOR.MINOR.PATCH". */
DCSR_API const char *dcsr_version(void);

#ifdef __cplusplus
}
#endif
#endif

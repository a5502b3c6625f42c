/* runtime.h: what a context is made of, and how objects hang on it (internal).
 *
 * A context is counted: its creator holds one reference and every object (matrix, view, ticket) holds one
 * from dcsr_i_context_retain() to dcsr_i_context_release(). dcsr_context_destroy() closes it, which no
 * reference prevents; the last reference frees it.
 *
 * A matrix also joins the list of members, so that closing the context can let it finish its queue and stop
 * its worker without knowing what a matrix is:
 *
 *      dcsr_context_destroy: closed = true -> for each member: close(member), without the lock -> release
 *      dcsr_matrix_destroy:  dcsr_i_context_leave(), which waits while close() runs on this member
 *                            -> stop the worker, if close() has not -> ... -> release
 *
 * Order of locks: the context's lock is the innermost and no function of an object is called under it.
 * leave() may wait for close(), and close() for the member's worker; so never call leave() from that worker,
 * nor with a lock held that the worker or close() takes. close() itself runs with the context closed: it must
 * not go through the checks of the public functions. */
#ifndef DCSR_RUNTIME_H
#define DCSR_RUNTIME_H

#include "dcsr/base/alloc.h"
#include "dcsr/base/error.h"
#include <pthread.h>
#include <stdatomic.h>

#define DCSR_VERSION "0.1.0"

/* More threads than this are never used, whatever is asked for. */
enum { DCSR_I_MAX_THREADS = 4096 };
/* Streams that a context keeps for the next reader. */
enum { DCSR_I_IDLE_STREAMS = 16 };

/* To be put inside an object that the context closes. `close` waits until the object's queued work has been
 * applied, then stops its worker; it is called once at most. */
typedef struct dcsr_i_member {
    struct dcsr_i_member *previous, *next;
    void (*close)(struct dcsr_i_member *member);
    bool joined; /* in the list */
} dcsr_i_member;

struct dcsr_context {
    _Atomic uint64_t references;
    atomic_bool closed;

    dcsr_device device;
    int device_number;               /* as in dcsr_context_options */
    struct dcsr_i_cuda_device *cuda; /* NULL on the cpu */
    int threads;
    uint64_t memory_limit;  /* UINT64_MAX: none */
    uint64_t set_aside;     /* of that, for calls that ask or make room */
    uint64_t reserve_bytes; /* address space per matrix */
    bool reserves_as_asked; /* it was asked for; else it is the most */

    pthread_mutex_t lock; /* for the members, and the idle streams */
    pthread_cond_t done;  /* `closing` has changed */
    dcsr_i_member *members;
    dcsr_i_member *closing; /* the member whose close() runs */
    uint64_t matrices;
    /* Those that no thread has borrowed, by what they are for (dcsr_i_cuda_use). */
    struct dcsr_i_cuda_stream *idle[2][DCSR_I_IDLE_STREAMS];
    int idle_streams[2];

    /* Written by every allocation, so on a cache line of their own. */
    _Alignas(64) _Atomic uint64_t total; /* of all pools: what the limit is for */
    _Atomic uint64_t peak;
    _Atomic uint64_t temporary[DCSR_I_POOLS]; /* of each but that of matrices, which has the rest */
};

/* DCSR_OK when the context may be used; INVALID_ARGUMENT for NULL, CONTEXT_DESTROYED once it is closed,
 * DEVICE once its device has failed, or in a child of the process that opened it; with the error set. */
dcsr_status dcsr_i_context_check(const dcsr_context *context);

/* Gives up one of an object's references; true: it was the last. Who is alone needs no atomic subtraction, since only
 * who has a reference can take another. */
static inline bool dcsr_i_give_up(_Atomic uint64_t *references)
{
    return atomic_load_explicit(references, memory_order_acquire) == 1 ||
           atomic_fetch_sub(references, 1) == 1;
}

void dcsr_i_context_retain(dcsr_context *context);
void dcsr_i_context_release(dcsr_context *context);

/* Adds a member, whose `close` must be set; CONTEXT_DESTROYED when the context is closed. */
dcsr_status dcsr_i_context_join(dcsr_context *context, dcsr_i_member *member);
/* Takes it out again; when it returns, close() has run to its end or will never be called. Harmless when it
 * never joined. */
void dcsr_i_context_leave(dcsr_context *context, dcsr_i_member *member);

/* Whether the library was built with CUDA. */
bool dcsr_i_gpu_is_built(void);
/* Whether one can touch the memory of the other itself: on the cpu, its own, and of GPUs that are peers. Contexts of
 * one kind. */
bool dcsr_i_context_reaches(const dcsr_context *context, const dcsr_context *other);

/* In builds with CUDA. A stream for a thread that reads; NULL with the error set. Work on it may follow no
 * other stream's by itself. It is to be returned by the same thread, with nothing on it that has not been
 * waited for. */
struct dcsr_i_cuda_stream *dcsr_i_stream_borrow(dcsr_context *context);
/* The same for who changes a matrix: its kernels go behind those of readers. */
struct dcsr_i_cuda_stream *dcsr_i_stream_borrow_to_write(dcsr_context *context);
void dcsr_i_stream_return(dcsr_context *context, struct dcsr_i_cuda_stream *stream);

/* What the allocator says about itself: its name, and the bytes of its pages in use and held, over all
 * contexts of the process (0 where it does not say). */
const char *dcsr_i_allocator_name(void);
void dcsr_i_allocator_usage(uint64_t *active, uint64_t *resident);
/* Gives unused pages back to the system: freed blocks of temporary work are kept for the next until this is
 * called (or jemalloc's decay of ten seconds runs, which needs calls to run). Done when a context ends; also
 * right for a worker that has nothing to do. */
void dcsr_i_allocator_trim(void);
/* What the calling thread takes by malloc() from here on, in other libraries that it calls, comes from the
 * pool too, where freed blocks are kept for the next; until it leaves with what entering returned. Without
 * jemalloc nothing changes. */
unsigned dcsr_i_allocator_enter(dcsr_i_pool pool);
void dcsr_i_allocator_leave(unsigned before);

#endif

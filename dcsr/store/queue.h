/* queue.h: the queue of changes of a matrix: operations, the worker, tickets (internal).
 *
 * Calls that change a matrix put an operation into its queue (change.c); a thread of the matrix applies them
 * in order (queue.c), by the engine of its device (engine.h). Operations and tickets are in ticket.c; what
 * becomes of those of a durable matrix, in journal.h. */
#ifndef DCSR_QUEUE_H
#define DCSR_QUEUE_H

#include "dcsr/base/sort.h"
#include "dcsr/base/threads.h"
#include <dcsr/view.h>

typedef enum dcsr_i_kind {
    DCSR_I_INSERT,
    DCSR_I_REMOVE,
    DCSR_I_RESIZE,
    DCSR_I_DEFRAGMENT,
    DCSR_I_SETTLE,     /* resolve all rows, so that views need not */
    DCSR_I_BUILD_TWIN, /* of a matrix that maintains its transpose, and has had to give it up */
    DCSR_I_REPLACE     /* what an operation has computed becomes the content: result.c */
} dcsr_i_kind;

/* A device counts the entries of a batch in 32 bits. */
#define DCSR_I_MOST_DEVICE_ENTRIES ((uint64_t)UINT32_MAX - 1)

/* Computes and publishes a version of a matrix, in its turn. */
typedef dcsr_status dcsr_i_replace(dcsr_matrix *matrix, void *user);

/* Entries in device memory, on a context that has a device: stage_cuda.c. */
typedef struct dcsr_i_arrival {
    uint64_t *keys, *words; /* NULL: none yet, or no values; a word is a value's bytes, then zeros */
    bool ahead;             /* copied on the stream for transfers, not on the worker's own */
    /* Of arrays that the caller has on the device: the event that they have been read, and what was found in
     * them, in pinned memory, after that event. */
    void *packed;
    struct dcsr_i_cuda_verdict *verdict;
    struct dcsr_i_cuda_stream *borrowed; /* between the two steps of the call */
} dcsr_i_arrival;

/* One change that was asked for. Small batches of the same kind that wait one behind the other share an
 * operation. It is counted: the queue holds it, and each ticket does. */
typedef struct dcsr_i_operation {
    struct dcsr_i_operation *next;
    struct dcsr_i_operation *joined; /* on a device: what is applied together with it, linked by `next` */
    dcsr_context *context;
    _Atomic uint32_t references;
    dcsr_i_kind kind;

    /* Insert, remove: n entries, with room for `capacity`: keys (row << column_bits | column), each followed
     * by its value's bytes where `stride` is 2. On a device the values stand apart, behind the room for all
     * keys, value_size bytes each. */
    uint64_t *entries;
    uint64_t n, capacity;
    uint64_t batches; /* calls whose entries are in it */
    int stride, column_bits, row_bits;
    size_t value_size;  /* 0: no values */
    size_t entry_bytes; /* of one entry, all in all */
    int ordered_bits;   /* the keys ascend in so many of their lowest bits */
    bool ascending;     /* the keys ascend strictly: neither sorting nor combining is needed */
    bool sealed;        /* no other batch can join it: it is on its way to the device */
    dcsr_i_arrival arrival;

    uint64_t rows, cols;         /* resize: the new dimensions; else those that were checked against */
    dcsr_defragment_scope scope; /* defragment */
    bool service;                /* the matrix has asked for it itself */
    bool of_twin;                /* it is the twin alone that is to be tidied or built */
    dcsr_i_replace *replace;     /* replace */
    void *user;
    uint64_t matrix; /* the serial number of the one in whose queue it is */

    /* Of a durable matrix: what its journal keeps of it; the version of the matrix that shows it. */
    void *record;
    size_t record_bytes;
    uint64_t version;

    bool watched; /* somebody holds a ticket and will learn of a failure there */
    pthread_mutex_t lock;
    pthread_cond_t finished;
    atomic_bool done;
    dcsr_status status;
    char message[400];
} dcsr_i_operation;

static inline uint64_t *dcsr_i_key(const dcsr_i_operation *operation, uint64_t i)
{
    return operation->entries + i * (uint64_t)operation->stride;
}

/* Values that stand apart: the bytes of each, or 0 where there are none; where they are. */
static inline size_t dcsr_i_size_apart(const dcsr_i_operation *operation)
{
    return operation->stride == 1 ? operation->value_size : 0;
}
static inline char *dcsr_i_values(const dcsr_i_operation *operation)
{
    return (char *)(operation->entries + operation->capacity);
}

/* Where operations keep entries. */
static inline dcsr_i_pool dcsr_i_entries_pool(const dcsr_context *context)
{
#ifdef DCSR_CUDA
    if (context->cuda) return DCSR_I_PINNED;
#endif
    (void)context;
    return DCSR_I_SCRATCH;
}

static inline uint64_t dcsr_i_operation_bytes(const dcsr_i_operation *operation)
{
    return operation->n * (uint64_t)operation->entry_bytes;
}

dcsr_i_operation *dcsr_i_operation_create(dcsr_context *context, dcsr_i_kind kind);
void dcsr_i_operation_release(dcsr_i_operation *operation);
/* Calls replace(matrix, user) in the matrix's turn, which the caller has. */
dcsr_status dcsr_i_queue_replace(dcsr_matrix *matrix, dcsr_i_replace *replace, void *user);
/* Takes off the list what can be applied together with the operation that was taken off it before. The caller
 * holds queue_lock. */
void dcsr_i_operation_join(dcsr_i_operation *operation, dcsr_i_operation **list);
/* Frees its entries, once it has been applied. */
void dcsr_i_operation_drop_entries(dcsr_i_operation *operation);
/* Tells those who hold tickets what has become of it. */
void dcsr_i_operation_finish(dcsr_i_operation *operation, dcsr_status status, const char *message);
/* Appends; takes the reference. With ticket not NULL, *ticket holds the operation. The caller holds
 * queue_lock. */
dcsr_status dcsr_i_enqueue_locked(dcsr_matrix *matrix, dcsr_i_operation *operation);
/* A worker for what a caller that had its place has freed in the arena: where none runs, nothing else would
 * give it back. Small matrices keep it. With queue_lock. */
void dcsr_i_queue_trim_later(dcsr_matrix *matrix);
/* Waits until it has been applied or has failed, and returns what became of it. The caller has seen to it
 * that this ends (turn.h). */
dcsr_status dcsr_i_operation_wait(dcsr_i_operation *operation);
/* Falling asleep and being woken takes some 50 microseconds, ten times what a small batch takes on the cpu.
 * So before they sleep, a worker that has run out of work and a caller that waits for a change look around
 * for about as long as that; they pause between looks, and yield, so that whoever is waited for may have this
 * core if it has no other. On a device the smallest batch takes longer than that, and they do so for as long
 * as a batch of some 100 thousand entries takes. */
enum { DCSR_I_SPIN_NANOSECONDS = 20000, DCSR_I_SPIN_ON_DEVICE = 300000 };
static inline uint64_t dcsr_i_spin_nanoseconds(const dcsr_context *context)
{
#if defined DCSR_CUDA && !defined DCSR_SIMT
    if (context->cuda) return DCSR_I_SPIN_ON_DEVICE;
#endif
    (void)context;
    return DCSR_I_SPIN_NANOSECONDS;
}
/* A ticket on an operation. */
dcsr_ticket *dcsr_i_ticket_create(dcsr_i_operation *operation);
/* Waits until what is queued now has been applied; does not report what failed of it. Fails at once, with
 * DCSR_ERROR_DEADLOCK, where that would never be (turn.h). */
dcsr_status dcsr_i_queue_wait(dcsr_matrix *matrix, const char *call);
/* The same until all of it has been told of: of a durable matrix that is when it is safe. */
dcsr_status dcsr_i_queue_wait_until_told(dcsr_matrix *matrix, const char *call);
/* Stops the worker: with `finish` once the queue is empty, else after the running operation, cancelling the
 * rest. What was applied has been told of then. The caller has seen to it that this ends (turn.h). */
void dcsr_i_queue_stop(dcsr_matrix *matrix, bool finish);
/* Whether nothing is queued or being applied. */
bool dcsr_i_queue_is_idle(dcsr_matrix *matrix);
/* Asks for a settling or defragmentation in the background, unless one is queued already or they are turned
 * off. */
void dcsr_i_request_maintenance(dcsr_matrix *matrix, dcsr_i_kind kind, dcsr_defragment_scope scope);
/* Asks for the twin of a matrix that maintains its transpose, unless it is there or asked for already. */
void dcsr_i_request_twin(dcsr_matrix *matrix);

#endif

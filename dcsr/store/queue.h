/* queue.h: the queue of changes of a matrix: operations, the worker, tickets (internal).
 *
 * Calls that change a matrix put an operation into its queue (change.c); the matrix's worker thread applies
 * them in order (queue.c), through the engine of its device (engine.h). Where maintenance may be due, it is asked
 * to look (maintenance.c). Operations and tickets are in ticket.c; journal.h says what happens to those of a
 * durable matrix. */
#ifndef DCSR_QUEUE_H
#define DCSR_QUEUE_H

#include "dcsr/base/sort.h"
#include "dcsr/base/threads.h"
#include <dcsr/matrix.h>

typedef enum dcsr_i_kind {
    DCSR_I_INSERT,
    DCSR_I_REMOVE,
    DCSR_I_RESIZE,
    DCSR_I_DEFRAGMENT,
    DCSR_I_REPLACE /* the result of an operation becomes the content: result.c */
} dcsr_i_kind;

/* Computes and publishes a version of a matrix, in the matrix's turn. */
typedef dcsr_status dcsr_i_replace(dcsr_matrix *matrix, void *user);

/* Whether a change is to be applied, which is `ready` for it or has failed (agreement.h). */
typedef struct dcsr_i_agreement {
    bool (*agree)(void *user, bool ready);
    void *user;
} dcsr_i_agreement;

/* Entries in device memory, in a context that has a device: stage_cuda.c. */
typedef struct dcsr_i_arrival {
    uint64_t *keys, *words; /* NULL: none yet, or no values; a word is a value's bytes, then zeros */
    bool ahead;             /* copied on the stream for transfers, not on the worker's */
    /* For the caller's arrays on the device: the event that tells that they have been read, and what was
     * found in them, in pinned memory, valid after that event. */
    void *packed;
    struct dcsr_i_cuda_verdict *verdict;
    struct dcsr_i_cuda_stream *borrowed; /* between the two steps of the call */
    /* Or few in the caller's arrays, which are ready there, and are read by its own thread's change. */
    const uint64_t *rows, *cols;
    const void *values;
} dcsr_i_arrival;

/* The entries of a batch, packed: n of them, with room for `capacity`: keys (row << column_bits | column), each
 * followed by its value's bytes where `stride` is 2. On a device the values stand apart, behind the room for all
 * keys, value_size bytes each. */
typedef struct dcsr_i_packed {
    uint64_t *entries;
    uint64_t n, capacity;
    uint64_t calls; /* whose entries it contains */
    int stride, column_bits, row_bits;
    size_t value_size;   /* 0: no values */
    size_t entry_bytes;  /* of one entry, in total */
    int ordered_bits;    /* the number of lowest bits in which the keys ascend */
    bool ascending;      /* the keys ascend strictly: neither sorting nor combining is needed */
    bool sealed;         /* no other batch can join it: it is on its way to the device, or has an agreement */
    uint64_t rows, cols; /* the dimensions that it was checked against */
    dcsr_i_arrival arrival;
} dcsr_i_packed;

enum { DCSR_I_MESSAGE = 400 };

/* What becomes of an operation, for those who wait for it. */
typedef struct dcsr_i_outcome {
    bool watched; /* a ticket is held, which will report a failure */
    pthread_mutex_t lock;
    pthread_cond_t finished;
    atomic_bool done;
    dcsr_status status;
    char message[DCSR_I_MESSAGE];
} dcsr_i_outcome;

/* One requested change. Consecutive small batches of the same kind that wait share an operation. Its
 * references are counted: the queue holds one, and so does each ticket. */
typedef struct dcsr_i_operation {
    struct dcsr_i_operation *next;
    struct dcsr_i_operation *joined; /* on a device: those that are applied with it, linked by `next` */
    dcsr_context *context;
    const struct dcsr_i_engine *engine;
    uint64_t matrix; /* the serial number of the one it is for */
    _Atomic uint32_t references;

    dcsr_i_kind kind;
    bool
        replaces; /* on a device: the insertion replaces what is stored, whatever the policy, which is not keep */
    bool tagged;
    dcsr_tag tag;               /* of the last call that gave one */
    dcsr_i_packed batch;        /* insert, remove */
    dcsr_i_agreement agreement; /* its function is NULL: none, or it has been asked */
    struct {
        uint64_t rows, cols; /* the new dimensions */
        bool grows;          /* they are the least: a matrix that is larger stays so */
    } resize;
    struct {
        dcsr_defragment_scope scope;
    } defragment;
    struct {
        dcsr_i_replace *call;
        void *user;
    } replace;

    /* In a durable matrix: its record, and the version of the matrix that shows it, with its tag. */
    struct {
        void *record;
        size_t bytes;
        uint64_t version;
        bool tagged;
        dcsr_tag tag;
    } journal;
    uint64_t counted; /* of pending_bytes, that are its */
    dcsr_i_outcome outcome;
} dcsr_i_operation;

static inline uint64_t *dcsr_i_key(const dcsr_i_packed *batch, uint64_t i)
{
    return batch->entries + i * (uint64_t)batch->stride;
}

/* Values that are stored apart from their keys: the bytes of each, or 0 if there are none; where they are. */
static inline size_t dcsr_i_size_apart(const dcsr_i_packed *batch)
{
    return batch->stride == 1 ? batch->value_size : 0;
}
static inline char *dcsr_i_values(const dcsr_i_packed *batch)
{
    return (char *)(batch->entries + batch->capacity);
}

/* What it takes while it waits. */
static inline uint64_t dcsr_i_operation_bytes(const dcsr_i_operation *operation)
{
    const dcsr_i_packed *batch = &operation->batch;
    const uint64_t entries =
        batch->n > batch->capacity ? batch->n : batch->capacity; /* or they are on a device */
    return sizeof *operation + entries * (uint64_t)batch->entry_bytes;
}

/* NULL leaves the tag as it is. */
static inline void dcsr_i_operation_tag(dcsr_i_operation *operation, const dcsr_tag *tag)
{
    if (!tag) return;
    operation->tagged = true;
    operation->tag = *tag;
}

/* The queue of a matrix. What is said to be atomic is changed under the lock, and may be read without. */
typedef struct dcsr_i_queue {
    uint64_t limit; /* bytes */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* something has been applied or reported, or the matrix stops */
    /* What an idle worker waits for: an operation, or that the matrix stops; NULL: there has been no worker. */
    pthread_cond_t *filled;
    dcsr_i_operation *first, *last;
    _Atomic uint64_t queued;  /* operations, and looks, ever */
    _Atomic uint64_t applied; /* of them */
    /* Not 0: the worker is to look what maintenance is due, as the queued thing of this number. */
    _Atomic uint64_t look;
    struct dcsr_i_journal *journal; /* of a durable matrix, else NULL */
    uint64_t journaled, reported;   /* operations given to the journal; those of them that it has reported */
    uint64_t pending_bytes;         /* of operations that have not been reported */
    uint64_t rows, cols;            /* the dimensions once the queue is empty */
    uint64_t resizes;               /* waiting or being applied */
    char *unwatched_message; /* of DCSR_I_MESSAGE bytes; NULL: there has been none, or no memory for it */
    dcsr_status unwatched;   /* the first failure that no ticket reports */
    /* Batches that callers have applied themselves since somebody last waited for the queue or held a version;
     * without the lock. */
    _Atomic unsigned unread;
    bool refuse_when_full;
    bool running; /* a thread has the worker's turn, and applies an operation */
    bool worker_runs, stopping;
    bool looking;     /* the worker has the turn and looks */
    pthread_t looker; /* which thread that is */
} dcsr_i_queue;

/* Whether the worker has something to do. With the lock. */
static inline bool dcsr_i_queue_has_work(const dcsr_i_queue *queue)
{
    return queue->first || atomic_load(&queue->look);
}

/* Whether a caller may take the worker's turn: nothing waits, and nobody has it. With the lock. */
static inline bool dcsr_i_queue_is_free(const dcsr_i_queue *queue)
{
    return !queue->running && !queue->stopping && !dcsr_i_queue_has_work(queue);
}

/* Whether all that was ever queued has been applied, so that nobody has the turn. Without the lock. */
static inline bool dcsr_i_queue_is_idle(const dcsr_i_queue *queue)
{
    return atomic_load(&queue->applied) == atomic_load(&queue->queued);
}

/* Somebody waits for what has been queued, or reads. */
static inline void dcsr_i_queue_is_awaited(dcsr_i_queue *queue)
{
    if (atomic_load_explicit(&queue->unread, memory_order_relaxed))
        atomic_store_explicit(&queue->unread, 0, memory_order_relaxed);
}

/* NULL: OUT_OF_MEMORY. */
dcsr_i_operation *dcsr_i_operation_create(const dcsr_matrix *matrix, dcsr_i_kind kind);
void dcsr_i_operation_release(dcsr_i_operation *operation);
/* The same of one that no worker has seen, with what it has staged on a device. NULL is fine. */
void dcsr_i_operation_discard(dcsr_i_operation *operation);
/* Calls replace(matrix, user) in the matrix's turn, which the caller holds. */
dcsr_status dcsr_i_queue_replace(dcsr_matrix *matrix, dcsr_i_replace *replace, void *user);
/* Takes off the list the operations that can be applied together with the one that was taken off it before.
 * The caller holds the queue's lock. */
void dcsr_i_operation_join(dcsr_i_operation *operation, dcsr_i_operation **list);
/* Frees the operation's entries, once it has been applied. */
void dcsr_i_operation_drop_entries(dcsr_i_operation *operation);
/* Reports the operation's status to the holders of its tickets. */
void dcsr_i_operation_finish(dcsr_i_operation *operation, dcsr_status status, const char *message);
/* Appends; takes the reference. With ticket not NULL, *ticket holds the operation. The caller holds the
 * queue's lock. */
dcsr_status dcsr_i_enqueue_locked(dcsr_matrix *matrix, dcsr_i_operation *operation);
/* Takes the worker's turn for the calling thread where the queue is free, perhaps for an operation that has not been
 * queued; end_turn() gives it back. Both with the queue's lock. */
bool dcsr_i_queue_begin_turn(dcsr_matrix *matrix, dcsr_i_operation *operation);
/* Waits until the worker has done what maintenance it is at, unless that is the calling thread or a change waits, too.
 * With the queue's lock. */
void dcsr_i_queue_await_look(dcsr_matrix *matrix);
void dcsr_i_queue_end_turn(dcsr_matrix *matrix);
/* Applies an operation in the calling thread, which has the turn, tells what has become of it, and gives back the turn.
 * Takes the reference. Called without the queue's lock. */
void dcsr_i_queue_apply_here(dcsr_matrix *matrix, dcsr_i_operation *operation);
/* Starts a worker, unless one runs, to return to the system what a caller that had the worker's turn has
 * freed in the arena; nothing else would. Small matrices keep it. The caller holds the queue's lock. */
void dcsr_i_queue_trim_later(dcsr_matrix *matrix);
/* Waits until the operation has been applied or has failed, and returns its status. The caller ensures that
 * this ends (turn.h). */
dcsr_status dcsr_i_operation_wait(dcsr_i_operation *operation);
/* Makes a ticket for an operation. */
dcsr_ticket *dcsr_i_ticket_create(dcsr_i_operation *operation);
/* Whether the calling thread has waited for one since it last asked. */
bool dcsr_i_ticket_has_waited(void);
/* Waits until what is queued now has been applied; does not report failures among it. Fails at once, with
 * DCSR_ERROR_DEADLOCK, if the wait would never end (turn.h). */
dcsr_status dcsr_i_queue_wait(dcsr_matrix *matrix, const char *call);
/* The same until all of it has been reported: in a durable matrix, when it is safe on the disk. */
dcsr_status dcsr_i_queue_wait_until_told(dcsr_matrix *matrix, const char *call);
/* Stops the worker: with `finish` once the queue is empty, else after the running operation, cancelling the
 * rest. What was applied has then been reported. The caller ensures that this ends (turn.h). */
void dcsr_i_queue_stop(dcsr_matrix *matrix, bool finish);
/* Frees what it is made of, when the matrix ends. */
void dcsr_i_queue_free(dcsr_matrix *matrix);
/* Whether nothing is queued, nothing is being applied, and no worker runs, which would trim the matrix. */
bool dcsr_i_queue_is_asleep(dcsr_matrix *matrix);
/* Has the worker look what maintenance is due (dcsr_i_maintain()), behind what is queued now; starts one where
 * none runs. Where that has been asked for already, it costs one load. */
void dcsr_i_queue_look_later(dcsr_matrix *matrix);

#endif

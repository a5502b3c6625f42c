/* upload_cuda.c: bringing a large batch from the host to the device, within the call that gives it.
 *
 *      the caller's arrays     pinned memory             device
 *      [piece|piece|...]  -->  thread 0: [slot][slot] -->  keys, words
 *                              thread 1: [slot][slot]
 *
 * Each thread packs every so-many-th piece into its slots in turn and puts the copy of each onto one stream,
 * which runs while the next is being packed. Slots are small enough that what goes through them stays in the
 * cache of the thread's core, from which the copy engine reads it: memory is read once, for the caller's
 * arrays, and no more pinned memory is needed for a larger batch. */
#include "dcsr/store/cuda/stage_cuda.h"
#include "dcsr/store/cuda/store_cuda.h"

enum { SLOTS = 2 }; /* of each thread */

static const char bringing[] = "transferring a batch";

typedef struct staging {
    dcsr_i_cuda_stream *stream;
    pthread_mutex_t lock; /* for the stream, which one thread at a time may use */
    dcsr_i_operation *operation;
    const dcsr_i_entries *entries;
    uint64_t piece, pieces; /* entries of one; how many there are */
    uint64_t slot_count;
    int threads;
    size_t size;    /* of a value */
    uint64_t *keys; /* on the device, as the following */
    char *values;   /* NULL: none */
    char *slots;    /* pinned: a slot has room for the keys and values of a piece */
    void **copied;  /* by slot: the event that its last copy is done; NULL where no slot is used twice */
} staging;

static size_t slot_bytes(const staging *s)
{
    return s->piece * (sizeof *s->keys + s->size);
}

/* What goes wrong is the device's, and is told by the wait that follows. */
static void copy_piece(staging *s, uint64_t slot, const uint64_t *keys, const char *values, uint64_t first,
                       uint64_t n)
{
    pthread_mutex_lock(&s->lock);
    dcsr_i_cuda_copy(s->stream, s->keys + first, keys, n * sizeof *keys);
    if (values) dcsr_i_cuda_copy(s->stream, s->values + first * s->size, values, n * s->size);
    if (s->copied) dcsr_i_cuda_event_record(s->stream, s->copied[slot], dcsr_i_cuda_handle(s->stream));
    pthread_mutex_unlock(&s->lock);
}

/* A thread's share; returns what was found in the entries. */
static unsigned stage_pieces(staging *s, uint64_t thread)
{
    dcsr_i_cuda_device *device = dcsr_i_cuda_device_of(s->stream);
    unsigned found = 0;
    for (uint64_t p = thread; p < s->pieces; p += (uint64_t)s->threads) {
        uint64_t slot = p % s->slot_count, first = p * s->piece, n = s->operation->batch.n - first;
        uint64_t *keys = (uint64_t *)(s->slots + slot * slot_bytes(s));
        char *values = s->size ? (char *)(keys + s->piece) : NULL;
        if (n > s->piece) n = s->piece;
        if (p >= s->slot_count) dcsr_i_cuda_event_wait(s->copied[slot], device, bringing);
        found |= dcsr_i_entries_pack_slice(keys, values, &s->operation->batch, s->entries, first, first + n);
        copy_piece(s, slot, keys, values, first, n);
    }
    return found;
}

static unsigned stage_all(staging *s)
{
    const int threads = s->threads;
    unsigned found = 0;
#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(| : found) if (threads > 1)
    for (int thread = 0; thread < threads; thread++) found |= stage_pieces(s, (uint64_t)thread);
    return found;
}

/* ---- What it needs ---- */

static dcsr_status make_events(staging *s)
{
    if (s->pieces <= s->slot_count) return DCSR_OK;
    s->copied = dcsr_i_calloc(s->operation->context, DCSR_I_SCRATCH, s->slot_count, sizeof *s->copied);
    if (!s->copied) return DCSR_ERROR_OUT_OF_MEMORY;
    for (uint64_t slot = 0; slot < s->slot_count; slot++)
        DCSR_TRY(dcsr_i_cuda_event_create(&s->copied[slot], dcsr_i_cuda_device_of(s->stream)));
    return DCSR_OK;
}

static void drop_events(staging *s)
{
    for (uint64_t slot = 0; s->copied && slot < s->slot_count; slot++)
        dcsr_i_cuda_event_destroy(s->copied[slot], dcsr_i_cuda_device_of(s->stream));
    dcsr_i_free(s->operation->context, DCSR_I_SCRATCH, s->copied, s->slot_count, sizeof *s->copied);
}

/* Takes slots and events, and puts the batch through them. */
static dcsr_status bring(staging *s, unsigned *found)
{
    s->slots = dcsr_i_alloc(s->operation->context, DCSR_I_PINNED, s->slot_count, slot_bytes(s));
    if (!s->slots) return DCSR_ERROR_OUT_OF_MEMORY;
    DCSR_TRY(make_events(s));
    *found = stage_all(s);
    return DCSR_OK;
}

/* Waits until all is there, and gives back what was taken for it. */
static dcsr_status finish(staging *s)
{
    if (s->values) dcsr_i_cuda_widen_arrival(s->stream, s->operation, s->values);
    dcsr_status status = dcsr_i_cuda_wait(s->stream, bringing);
    drop_events(s);
    dcsr_i_free(s->operation->context, DCSR_I_PINNED, s->slots, s->slot_count, slot_bytes(s));
    return status;
}

/* ---- The whole ---- */

static dcsr_status stage(dcsr_i_cuda_stream *stream, dcsr_i_operation *operation, const dcsr_i_entries *e,
                         int threads)
{
    void *values;
    DCSR_TRY(dcsr_i_cuda_take_arrival(stream, operation, &values));
    const size_t size = operation->batch.value_size;
    const uint64_t piece = dcsr_i_entries_slice(e->n, sizeof(uint64_t) + size, threads),
                   pieces = (e->n + piece - 1) / piece, slots = SLOTS * (uint64_t)threads;
    staging s = {.stream = stream,
                 .lock = PTHREAD_MUTEX_INITIALIZER,
                 .operation = operation,
                 .entries = e,
                 .piece = piece,
                 .pieces = pieces,
                 .threads = threads,
                 .slot_count = slots < pieces ? slots : pieces,
                 .size = size,
                 .keys = operation->batch.arrival.keys,
                 .values = values};
    unsigned found = 0;
    dcsr_status status = bring(&s, &found), finished = finish(&s);
    if (status == DCSR_OK) status = finished;
    if (status == DCSR_OK && found & DCSR_I_OUTSIDE) status = dcsr_i_entries_fail(&operation->batch, e);
    operation->batch.ascending = !(found & DCSR_I_DESCENDS);
    if (status != DCSR_OK) dcsr_i_cuda_drop_arrival(stream, operation);
    return status;
}

dcsr_status dcsr_i_cuda_stage_entries(dcsr_i_operation *operation, const dcsr_i_entries *e, int threads)
{
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(operation->context);
    if (!stream) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_i_cuda_expect_entries(operation, e->n);
    dcsr_status status = stage(stream, operation, e, threads);
    dcsr_i_stream_return(operation->context, stream);
    return status;
}

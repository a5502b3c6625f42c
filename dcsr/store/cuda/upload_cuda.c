/* upload_cuda.c: bringing a large batch from the host to the device, within the call that gives it.
 *
 *      the caller's arrays     pinned memory             device
 *      [piece|piece|...]  -->  thread 0: [slot][slot] -->  keys, words
 *                              thread 1: [slot][slot]
 *
 * Each thread packs every so-many-th piece into its slots in turn, and the copy of each is put onto one stream,
 * where it runs while the next is being packed. Slots are small enough that what goes through them stays in the
 * cache of the thread's core, from which the copy engine reads it: memory is read once, for the caller's
 * arrays, and no more pinned memory is needed for a larger batch.
 *
 * Only one thread at a time may use the stream. Putting a copy there takes some microseconds, and waking a thread that
 * sleeps until it may takes longer. So none waits: who finds the stream in use leaves its slot in a list to whoever
 * uses it. */
#include "dcsr/store/cuda/stage_cuda.h"
#include "dcsr/store/cuda/store_cuda.h"
#include <sched.h>

enum { SLOTS = 2 }; /* of each thread */

static const char bringing[] = "transferring a batch";

typedef struct slot {
    struct slot *next; /* in the list of those that are packed */
    uint64_t piece;    /* that is in it */
    char *memory;      /* pinned, with room for the keys and values of a piece */
    void *copied;      /* the event that its last copy is done; NULL where no slot is used twice */
    atomic_bool put;   /* the copy of its last piece, onto the stream */
} slot;

typedef struct staging {
    dcsr_i_cuda_stream *stream;
    atomic_bool in_use;   /* the stream, by a thread */
    slot *_Atomic packed; /* a list of those whose copies are to be put onto it */
    dcsr_i_operation *operation;
    const dcsr_i_entries *entries;
    uint64_t piece, pieces; /* entries of one; how many there are */
    uint64_t slot_count;
    int threads;
    size_t size;    /* of a value */
    uint64_t *keys; /* on the device, as the following */
    char *values;   /* NULL: none */
    slot *slots;
    char *memory; /* of all slots */
} staging;

static size_t slot_bytes(const staging *s)
{
    return s->piece * (sizeof *s->keys + s->size);
}

/* ---- Pieces ---- */

static uint64_t first_of(const staging *s, uint64_t piece)
{
    return piece * s->piece;
}

static uint64_t end_of(const staging *s, uint64_t piece)
{
    return piece + 1 < s->pieces ? first_of(s, piece + 1) : s->operation->batch.n;
}

static char *values_in(const staging *s, const slot *from)
{
    return s->size ? from->memory + s->piece * sizeof *s->keys : NULL;
}

/* What goes wrong is the device's, and is told by the wait that follows. */
static void copy_piece(staging *s, const slot *from)
{
    const uint64_t first = first_of(s, from->piece), n = end_of(s, from->piece) - first;
    dcsr_i_cuda_copy(s->stream, s->keys + first, from->memory, n * sizeof *s->keys);
    if (s->size) dcsr_i_cuda_copy(s->stream, s->values + first * s->size, values_in(s, from), n * s->size);
    if (from->copied) dcsr_i_cuda_event_record(s->stream, from->copied, dcsr_i_cuda_handle(s->stream));
}

/* What is packed is put onto the stream by this thread, or by another that is about it: that one looks again once it
 * has let go of the stream, so nothing is left behind. */
static void put_copies(staging *s)
{
    while (atomic_load(&s->packed) && !atomic_exchange(&s->in_use, true)) {
        for (slot *from = atomic_exchange(&s->packed, NULL), *next; from; from = next) {
            next = from->next;
            copy_piece(s, from);
            atomic_store(&from->put, true); /* then the slot is its thread's again */
        }
        atomic_store(&s->in_use, false);
    }
}

static void hand_over(staging *s, slot *mine)
{
    atomic_store(&mine->put, false);
    mine->next = atomic_load(&s->packed);
    while (!atomic_compare_exchange_weak(&s->packed, &mine->next, mine)) {
    }
    put_copies(s);
}

/* Until what was in the slot has been copied. */
static void wait_for_slot(staging *s, const slot *mine)
{
    while (!atomic_load(&mine->put)) sched_yield();
    dcsr_i_cuda_event_settle(mine->copied, dcsr_i_cuda_device_of(s->stream), bringing);
}

/* A thread's share; returns what was found in the entries. */
static unsigned stage_pieces(staging *s, uint64_t thread)
{
    unsigned found = 0;
    for (uint64_t p = thread; p < s->pieces; p += (uint64_t)s->threads) {
        slot *mine = &s->slots[p % s->slot_count];
        if (p >= s->slot_count) wait_for_slot(s, mine);
        mine->piece = p;
        found |= dcsr_i_entries_pack_slice((uint64_t *)mine->memory, values_in(s, mine), &s->operation->batch,
                                           s->entries, first_of(s, p), end_of(s, p));
        hand_over(s, mine);
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

static dcsr_status make_slots(staging *s)
{
    dcsr_context *context = s->operation->context;
    s->slots = dcsr_i_calloc(context, DCSR_I_SCRATCH, s->slot_count, sizeof *s->slots);
    s->memory = s->slots ? dcsr_i_alloc(context, DCSR_I_PINNED, s->slot_count, slot_bytes(s)) : NULL;
    if (!s->memory) return DCSR_ERROR_OUT_OF_MEMORY;
    for (uint64_t i = 0; i < s->slot_count; i++) s->slots[i].memory = s->memory + i * slot_bytes(s);
    for (uint64_t i = 0; i < s->slot_count && s->slot_count < s->pieces; i++)
        DCSR_TRY(dcsr_i_cuda_event_create(&s->slots[i].copied, dcsr_i_cuda_device_of(s->stream)));
    return DCSR_OK;
}

static void drop_slots(staging *s)
{
    dcsr_context *context = s->operation->context;
    for (uint64_t i = 0; s->slots && i < s->slot_count; i++)
        dcsr_i_cuda_event_destroy(s->slots[i].copied, dcsr_i_cuda_device_of(s->stream));
    dcsr_i_free(context, DCSR_I_PINNED, s->memory, s->slot_count, slot_bytes(s));
    dcsr_i_free(context, DCSR_I_SCRATCH, s->slots, s->slot_count, sizeof *s->slots);
}

/* Takes slots and puts the batch through them. */
static dcsr_status bring(staging *s, unsigned *found)
{
    DCSR_TRY(make_slots(s));
    *found = stage_all(s);
    return DCSR_OK;
}

/* Waits until all is there, and gives back what was taken for it. */
static dcsr_status finish(staging *s)
{
    if (s->values) dcsr_i_cuda_widen_arrival(s->stream, s->operation, s->values);
    dcsr_status status = dcsr_i_cuda_wait(s->stream, bringing);
    drop_slots(s);
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
